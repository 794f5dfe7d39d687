# What the tests of rules on tables share.
# shellcheck shell=bash

# trips [ROWS BLOCK ENDS [CODE...]]: trips between stations: stations that are there twice (those with the codes), or
# not at all, NULLs among keys.
trips() {
    local block=${2:-256}
    [ $# -gt 0 ] || set -- 3000 "$block" 9 4 4 7
    "$PYTHON" -c '
import random, sys
rows, _, ends, *again = map(int, sys.argv[1:])
r = random.Random(5)
kind = "ab"
member = ["yes", "no", ""]
with open("trip.csv", "w") as f:
    f.write("start,end,minutes,member,w\n")
    for i in range(rows):
        start = "" if r.random() < .05 else r.randint(-2, 12)
        f.write(f"{start},{r.randint(1, ends)},{r.randint(0, 90)},{member[i % 3]},{r.randint(0, 40) / 8}\n")
with open("station.csv", "w") as f:
    f.write("code,lat,lon,kind\n")
    for i in list(range(-2, 11)) + again:
        f.write(f"{i},{i * i / 4},{(i * 7 % 5) / 8},{kind[i % 2]}\n")
' "$@"
    tra import -q --table --block "$block" trip.csv -o trip.h5
    tra import -q --table station.csv -o station.h5
}

# same RULE STATEMENTS [OUTPUT...]: the outputs (A, in a.h5) with and without the rule, which shapes the plan once for
# each of them, on 1 and 3 ranks.
same() {
    local rule=$1 o of=("${@:3}")
    [ ${#of[@]} -gt 0 ] || of=(A)
    {
        printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' "$2"
        for o in "${of[@]}"; do printf 'output %s to "%s.h5"\n' $o ${o,,}; done
    } >p.tra
    tra run -q --without "$rule" p.tra
    for o in "${of[@],,}"; do mv $o.h5 $o.without.h5; done
    status 0 tra explain --operators --rules p.tra
    [ "$(grep -c "$rule: " <<<"$output")" -ge ${#of[@]} ]
    for sites in $(also 3); do
        status 0 tra run -q --sites $sites p.tra
        for o in "${of[@],,}"; do status 0 tra diff --rtol 1e-12 $o.h5 $o.without.h5; done
    done
}

# refuses RULE PATTERN: `explain --rules` of p.tra says why the rule does not apply; lines are broken anywhere.
refuses() {
    status 0 tra explain --operators --rules p.tra
    printf '%s\n' "$output" | tr -s ' \n' ' ' | grep -q "$1 agg(.*$2"
}

# many JOINED COLUMN...: so many columns of a joined table that it is worth while to add them up there.
many() {
    local c i
    for c; do for i in 1 2 3 4 5 6 7 8 9; do printf '%s%d = exp(%s / %d), ' "x$c" $i "$c" $((i + 8)); done; done
}
