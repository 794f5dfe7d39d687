# Joins on ranges: by SQLite on random tables, on any number of sites, under small ceilings.
load helper

# drawn SEED ROWS BLOCK: random tables in blocks of so many rows, a program of six joins, and what they are.
drawn() {
    rm -f want-*.csv
    "$PYTHON" "$ROOT/tests/cli/ranges.py" draw "$1" "$2"
    for t in l r; do tra import -q --table --block "$3" --types "$(cat columns-$t)" $t.csv -o $t.h5; done
}

# ways OPTIONS...: the joins, run with each of these sets of options, are what is wanted.
ways() {
    local o how
    for how in "$@"; do
        rm -f [A-F].h5 [A-F].csv
        # shellcheck disable=SC2086
        status 0 tra run -q $how p.tra
        for o in A B C D E F; do tra export -q $o.h5 -o $o.csv; done
        "$PYTHON" "$ROOT/tests/cli/ranges.py" same || { echo "run $how"; return 1; }
    done
}

@test "joins on ranges of one block are what SQLite says, and the reference evaluator" {
    for seed in $(seq 0 "$([[ ${TRA_TEST_LONG-} ]] && echo 39 || echo 9)"); do
        drawn "$seed" 60 1000
        ways "" "--engine reference"
    done
}

@test "joins on ranges of many blocks are the same on every number of sites, by both transports, under a small ceiling" {
    for seed in 100 106; do
        drawn "$seed" 300 40
        ways "--sites 2" "--sites 3 --transport files" "--sites 5" "--memory 40M --threads 1"
        tra compile p.tra -o p.plan
        status 0 tra run -q p.plan
        for o in A B C D E F; do tra export -q $o.h5 -o $o.csv; done
        "$PYTHON" "$ROOT/tests/cli/ranges.py" same
    done
}

@test "joins on ranges whose right table is in parts are the same, in the order of both tables" {
    for seed in 100 101; do
        drawn "$seed" 300 40
        tra explain --operators --without J-1 p.tra >plan
        [ "$(grep -c "rows that may meet a part" plan)" -ge 2 ]
        ways "--without J-1 --threads 1" "--without J-1 --sites 3"
    done
}

@test "a join on ranges does not look at all pairs, and says by what it finds them and how many it expects" {
    py '
r = np.random.default_rng(5)
n = 200000
x, lo = r.random(n) * n, r.random(n) * n
with open("l.csv", "w") as f: f.write("x\n" + "".join(f"{v:.5f}\n" for v in x))
with open("r.csv", "w") as f: f.write("lo,hi\n" + "".join(f"{v:.5f},{v + w:.5f}\n" for v, w in zip(lo, r.random(n) * 10)))'
    for t in l r; do tra import -q --table $t.csv -o $t.h5; done
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' 'J = join(L, R, lo <= x && x < hi)' \
        'G = group(J, [], n = count())' 'output G' >p.tra
    tra explain --format json p.tra >plan
    grep -q "found by ranges of lo, hi" plan
    "$PYTHON" -c '
import json, re
plan = open("plan").read()
assert float(re.search(r"\"seconds\": *([0-9.e-]+)", plan)[1]) < 10, plan[:300]'
    status 0 tra run -q p.tra --memory 200M
    py '
l, r = np.loadtxt("l.csv", skiprows=1), np.loadtxt("r.csv", skiprows=1, delimiter=",")
l.sort()
with h5py.File("G.h5") as f: got = f["data/n"][0]
assert got == (np.searchsorted(l, r[:, 1]) - np.searchsorted(l, r[:, 0])).sum()'
}

@test "a sum in the condition that overflows is an error of the pair, as without a range; what matches nothing is none" {
    printf 'x,c\n1,a\n9223372036854775807,b\n' | tra import -q --table - -o l.h5
    printf 'y,d\n2,a\n-9223372036854775807,c\n' | tra import -q --table - -o r.h5
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' 'J = join(L, R, x - y < 3)' 'output J' >p.tra
    status 3 tra run -q p.tra
    has "the condition of the join could not be computed"
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' 'J = join(L, R, c == d && x - y < 3)' 'output J' >p.tra
    status 0 tra run -q p.tra
    is "x,c,y,d
1,a,2,a" tra head J.h5
}

@test "a condition that does not compare the tables is refused with its place, and one that looks at all pairs says so" {
    printf 'a,s\n1,x\n' | tra import -q --table - -o l.h5
    printf 'b,t\n1,x\n' | tra import -q --table - -o r.h5
    while IFS='|' read -r join text; do
        printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' "J = $join" 'output J' >p.tra
        status 2 tra check p.tra
        has "p.tra:3:"
        has "$text"
    done <<'END'
join(L, R, a > 3)|no part of this condition is an equality, or another comparison
join(L, R, a > 3 && b < 2)|no part of this condition is an equality, or another comparison
join(L, R, a < t)|a number and a string
join(L, R, a < b, expect = "m:1")|this condition has no equality
join(L, L, L.a < L.a)|both tables have one name
END
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' "J = join(L, R, (a + b) % 2 == 0)" 'output J' >p.tra
    status 0 tra run p.tra
    has "looks at every pair of rows"
    is "a,s,b,t
1,x,1,x" tra head J.h5
}

@test "a row of a join on ranges that has to be matched, and is not, is named" {
    printf 'a\n1\n7\n' | tra import -q --table - -o l.h5
    printf 'b\n5\n' | tra import -q --table - -o r.h5
    for how in inner left; do
        printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' "J = join(L, R, a < b, how = $how, matched = left)" \
            'output J' >p.tra
        status 3 tra run -q p.tra
        has "row 1 of the left table has no partner"
        [ ! -e J.h5 ]
    done
}

# half KEYED NAME ROWS BLOCK: a table of so many rows, half of which have key 7, with times.
half() {
    py "
r = np.random.default_rng(len('$1'))
n = $2
k = np.where(r.random(n) < 0.5, 7, r.integers(0, 1000, n))
with open('$1.csv', 'w') as f:
    f.write('k,t,v\n')
    f.writelines(f'{a},{b},{c}\n' for a, b, c in zip(k, r.integers(0, 10**7, n), range(n)))"
    tra import -q --table --block "$3" "$1.csv" -o "$1.h5"
}

@test "ranges beside a key that half of the rows have do not meet all of them, in parts, at the least ceiling" {
    half l 100000 5000
    half rr 400000 20000
    for how in inner left semi anti; do
        printf '%s\n' 'input L from "l.h5"' 'input R from "rr.h5"' \
            "J = join(L, R, k == k && t <= r_t && r_t < t + 100, how = $how, prefix = \"r_\")" 'output J' >p.tra
        status 0 tra run -q p.tra
        want=$(digest_of J.h5)
        status 4 tra run --memory 1M p.tra
        least=$(sed -n 's/.*(--memory \([0-9.]*[MG]\)).*/\1/p' <<<"$output")
        [ "${least%M}" -lt 400 ]
        if [ $how = semi ] || [ $how = anti ]; then
            tra explain --operators --memory "$least" p.tra >plan
            grep -q "join \[1\]=\[0\] join(k == k" plan
        fi
        status 0 timeout 60 "$TRA" run -q --memory "$least" p.tra
        is "$want" digest_of J.h5
    done
}

@test "a refused join names the least that its best plan needs, in parts or whole, and runs there" {
    half l 40000 20000
    half rr 2200000 100000
    printf '%s\n' 'input L from "l.h5"' 'input R from "rr.h5"' \
        'J = join(L, R, k == k && t <= r_t && r_t < t + 10, prefix = "r_")' 'G = group(J, [], n = count())' 'output G' >p.tra
    status 0 tra run -q p.tra
    want=$(digest_of G.h5)
    status 4 tra run --memory 1M p.tra
    least=$(sed -n 's/.*(--memory \([0-9.]*[MG]\)).*/\1/p' <<<"$output")
    [ "${least%M}" -lt 1000 ]
    status 0 tra run -q --memory "$least" p.tra
    is "$want" digest_of G.h5
}

@test "a selection of all pairs that compares both tables is a join, with the columns of all pairs" {
    "$PYTHON" -c '
import random
r = random.Random(7)
for name, c in ("l", "kx"), ("r", "ky"):
    with open(name + ".csv", "w") as f:
        f.write(",".join(c) + "\n" + "".join(f"{r.choice([*range(9), str()])},{r.randrange(99)}\n" for _ in range(300)))
with open("e.csv", "w") as f:
    f.write("t\n" + "".join(f"{i * 7919 % 100003}\n" for i in range(100000)))
with open("i.csv", "w") as f:
    f.write("a,b\n" + "".join(f"{i},{i + 3}\n" for i in range(0, 100000, 2)))'
    for t in l r e i; do tra import -q --table $t.csv -o $t.h5; done
    local p n=0 outputs=()
    printf '%s\n' 'input l from "l.h5"' 'input r from "r.h5"' >p.tra
    for p in 'k == r_k' 'k == r_k && x < y' 'x < y && k < 2' 'r_k >= k && y <= x && y == 3' \
        'r_k == k && abs(x - y) < 3 || k == 7' 'k == r_k && isnull(k)' 'y == x && r_k > 1'; do
        n=$((n + 1))
        outputs+=("O$n" "Q$n")
        printf '%s\n' "O$n = select(cross(l, project(r, r_k = k, y)), $p)" \
            "Q$n = select(cross(l, r, prefix = \"r_\"), ${p//y/r_y})" "output O$n" "output Q$n" >>p.tra
    done
    status 0 tra run -q --engine reference p.tra
    for p in "${outputs[@]}"; do mv "$p.h5" "$p-want.h5"; done
    for n in 1 2; do
        status 0 tra run -q --sites $n p.tra
        for p in "${outputs[@]}"; do status 0 tra diff "$p.h5" "$p-want.h5"; done
    done
    printf '%s\n' 'input e from "e.h5"' 'input i from "i.h5"' \
        'O = group(select(cross(e, i), a <= t && t < b), [], n = count())' 'output O' >p.tra # 5e9 pairs
    status 0 tra run -q --memory 100M p.tra
    status 0 tra export -q --to csv O.h5 -o -
    is "$("$PYTHON" -c '
ts = (i * 7919 % 100003 for i in range(100000))
print("n\n%d" % sum(1 for t in ts for a in (t, t - 1, t - 2) if a % 2 == 0 and 0 <= a < 100000))')" cat <<<"$output"
}

@test "a join on ranges with more pairs than were expected says what it needs, and has it there" {
    py 'g = np.random.default_rng(3)
x, lo = g.random(30000) * 1000, g.random(2200000) * 1000
hi, x[:3000] = lo + 1e-5, 500 + g.random(3000) * 1e-3 # 220 rows meet each of these
lo[::10000], hi[::10000] = 499.9999, 500.002
np.savetxt("l.csv", np.c_[x, np.arange(len(x))], "%.17g,%d", header="x,i", comments="")
np.savetxt("r.csv", np.c_[lo, hi], "%.17g", ",", header="lo,hi", comments="")'
    tra import -q --block 3000 l.csv -o l.h5
    tra import -q --block 50000 r.csv -o r.h5
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' 'J = join(L, R, lo <= x && x < hi)' \
        'K = project(J, i, hi)' 'output K' >p.tra
    status 0 tra run -q p.tra
    want=$(digest_of K.h5)
    status 4 tra run -q --memory 100M p.tra; has "the least that would do is"
    least=$(sed -n 's/.*(--memory \([0-9.]*[MG]\)).*/\1/p' <<<"$output")
    status 0 tra run -q --memory "$least" p.tra
    is "$want" digest_of K.h5
}
