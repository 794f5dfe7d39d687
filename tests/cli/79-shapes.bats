# Shapes of tables: unpivot, pivot to a table, explode, sample, series, ffill and bfill, distinct with an order. Random
# tables by the definitions, the reference evaluator, several ranks, small blocks and ceilings.
load helper

drawn() {
    rm -f want-* ./*.h5
    "$PYTHON" "$ROOT/tests/cli/shapes.py" draw "$1" "$2"
    tra import -q --table --block "$3" --types k=i64,t=i64,a=i64,b=f64,s=string,c=string t.csv -o t.h5
}

ways() {
    local o how
    for how in "$@"; do
        # shellcheck disable=SC2086
        status 0 tra run -q $how p.tra
        for o in want-*.csv; do
            o=${o#want-}
            tra export -q "${o%.csv}.h5" -o "$o"
            rm "${o%.csv}.h5"
        done
        "$PYTHON" "$ROOT/tests/cli/shapes.py" same || { echo "run $how"; return 1; }
    done
}

@test "shapes of random tables are what their definitions say; the reference evaluator agrees" {
    for seed in 1 2 3; do
        drawn $seed 60 1000
        ways "" "--engine reference"
    done
    drawn 4 1 10
    ways "" "--engine reference"
}

@test "shapes of tables of many blocks are the same on every number of sites and under a small ceiling" {
    drawn 5 600 40
    ways "--sites 1" "--sites 2" "--sites 3 --transport files" "--sites 5" "--memory 60M --threads 1"
}

# table_of EXPRESSION: the table as CSV.
table_of() {
    printf '%s\n' 'input T from "t.h5"' "J = $1" 'output J' >q.tra
    rm -f J.h5
    tra run -q "${@:2}" q.tra || return
    tra export -q J.h5 -o - --to csv
}

@test "series of numbers, dates and timestamps end where they are told to" {
    printf 'a\n1\n' | tra import -q --table - -o t.h5
    is $'value\n1\n2\n3' table_of 'series(1, 3)'
    is $'n\n10\n6\n2' table_of 'series(10, 1, -4, name = n)'
    is $'value\n0\n0.25\n0.5\n0.75' table_of 'series(0, 0.8, step = 0.25)'
    is $'day\n2024-02-28\n2024-02-29\n2024-03-01' table_of 'series(date "2024-02-28", date "2024-03-01", name = day)'
    is $'value\n2024-01-01\n2024-01-08' table_of 'series(date "2024-01-01", date "2024-01-14", weeks(1))'
    is $'value\n2024-01-01 00:00:00\n2024-01-01 12:00:00\n2024-01-02 00:00:00' \
        table_of 'series(timestamp "2024-01-01 00:00:00", timestamp "2024-01-02 00:00:00", hours(12))'
    is 'value' table_of 'series(5, 1)'
    printf 'S = series(1, 1000000)\nG = group(S, [], n = count(), s = sum(value))\noutput G\n' >q.tra
    status 0 tra run -q --sites 3 q.tra
    is $'n,s\n1000000,500000500000' tra head G.h5
}

@test "a sample is the same on any number of ranks and in any blocks, has as many rows as were asked for, in their order" {
    py 'open("t.csv", "w").write("a\n" + "".join(f"{i}\n" for i in range(20000)))'
    tra import -q --table t.csv -o t.h5
    one=$(table_of 'sample(T, 0.1, seed = 5)')
    n=$(wc -l <<<"$one")
    [ "$n" -gt 1800 ]
    [ "$n" -lt 2200 ]
    [ "$(tail -n +2 <<<"$one" | sort -n)" = "$(tail -n +2 <<<"$one")" ]
    some=$(table_of 'sample(T, 100)')
    [ "$(wc -l <<<"$some")" = 101 ]
    [ "$(tail -n +2 <<<"$some" | sort -n)" = "$(tail -n +2 <<<"$some")" ]
    [ "$(table_of 'sample(T, 100, seed = 1)')" != "$some" ]
    computed=$(table_of 'sample(select(T, a % 2 == 0), n = 50)')
    [ "$(wc -l <<<"$computed")" = 51 ]
    tra import -q --table --block 700 t.csv -o t.h5
    for sites in 1 3; do
        [ "$(table_of 'sample(T, 0.1, seed = 5)' --sites $sites)" = "$one" ]
        [ "$(table_of 'sample(T, fraction = 0.1, seed = 5)' --sites $sites)" = "$one" ]
        [ "$(table_of 'sample(T, n = 100)' --sites $sites)" = "$some" ]
        [ "$(table_of 'sample(select(T, a % 2 == 0), n = 50)' --sites $sites)" = "$computed" ]
    done
    is a table_of 'sample(T, 0)'
    [ "$(table_of 'sample(T, 30000)' | wc -l)" = 20001 ]
}

wrong() {
    printf '%s\n' 'input T from "t.h5"' "J = $1" 'output J' >p.tra
    status 2 tra check p.tra
    has "p.tra:2:"
    has "$2"
}

@test "a column that a pivot called true, false or null is read in backquotes, and by itself in a list" {
    printf 'k,b,x\n1,true,2\n1,false,3\n2,true,4\n' | tra import -q --table - -o t.h5
    pivoted() { table_of "project(select(pivot(T, [k], b, x, sum), $1), $2)"; }
    is $'k,true\n2,4' pivoted '`true` > 2' 'k, true'
    is $'k,y\n1,6' pivoted '!isnull(`false`)' 'k, y = `true` + 1 + `false`'
    is $'k,y\n2,true' table_of 'project(select(T, x > 3), k, y = true)'
    wrong 'select(pivot(T, [k], b, x, sum), true > 2)' "'true' is a column of this table, and a value"
    has "write \`true\` in backquotes"
    wrong 'project(pivot(T, [k], b, x, sum), k, y = false)' "'false' is a column"
    wrong 'group(pivot(T, [k], b, x, sum), [], y = sum(true))' "'true' is a column"
}

@test "shapes that cannot be are refused with their place, and words of others are answered" {
    printf 'k,t,s,name\n1,2024-01-01,x,y\n' | tra import -q --table - -o t.h5
    wrong "unpivot(T, k)" "stand in a list"
    wrong "unpivot(T, [])" "no column becomes rows"
    wrong "unpivot(T, [k, s])" "do not become one column"
    wrong "unpivot(T, [k, zz])" "no column 'zz'"
    wrong "unpivot(T, [k, k])" "twice"
    wrong "unpivot(T, [k])" "has a column 'name' already"
    wrong "unpivot(T, [k], names = a)" "no argument 'names'"
    wrong "explode(T, k, \";\")" "not one of strings"
    wrong "explode(T, s)" "what stands between"
    wrong "sample(T, 1.5)" "from 0.0 to 1.0"
    wrong "sample(T, -3)" "is whole"
    wrong "sample(T)" "a number of rows or a fraction"
    wrong "sample(T, 5, seed = k)" "no column 'k'"
    wrong "ffill(T, k, t, s)" "stand in lists"
    wrong "series(1, 5, 0)" "the step is 0"
    wrong "series(date \"2024-01-01\", 5)" "from a number, a date or a timestamp"
    wrong "series(date \"2024-01-01\", date \"2024-02-01\", hours(1))" "whole days apart"
    wrong "series(timestamp \"2024-01-01 00:00:00\", timestamp \"2024-02-01 00:00:00\")" "has a step"
    wrong "distinct(T, [k], keep = best)" "keep is first or last"
    wrong "pivot(T, [k], s, 1, quantile)" "single argument"
    wrong "pivot(T, [s], m = k + 1, 1, count, values = [k + 1])" "constants"
    wrong "pivot(T, [s], m = k / 2, 1, count)" "not known before the program runs"
    wrong "melt(T, [k])" "unpivot"
    wrong "drop_duplicates(T, [k])" "distinct"
    wrong "fillna(T, 0)" "ffill"
    wrong "date_range(1, 2)" "series"
    wrong "generate_series(1, 2)" "series"
    wrong "pivot_table(T, k)" "pivot(T, [key]"
}

@test "a pivot with thousands of columns takes the memory of its result, not a column of all rows for each" {
    awk 'BEGIN { print "k,c,v"; for (i = 0; i < 20000; i++) print i % 50 ",n" (i * 7) % 3000 "," i % 11 }' >t.csv
    tra import -q --table t.csv -o t.h5
    echo 'input t from "t.h5"
P = pivot(t, [k], c, v, sum)
R = group(unpivot(project(P, k, n0, n7, n2999), [n0, n7, n2999], name = c, value = v), [k, c], v = max(v))
S = select(R, !isnull(v))
W = order(select(group(t, [k, c], v = sum(v)), in(c, "n0", "n7", "n2999")), [k, c])
output P
output S
output W' >p.tra
    status 0 tra run -q --memory 128M p.tra
    tra head -n 500 S.h5 >got
    tra head -n 500 W.h5 | diff - got
    [ "$(tra info --format json P.h5 | grep -o '"name"' | wc -l)" -ge 3001 ]
}

@test "explode of one string with thousands of parts beside short ones, empty ones and NULL, on 1 and 3 sites" {
    "$PYTHON" - <<'END'
import csv
rows = [("a::b", 1), ("", 2), (None, 3), ("::", 4), ("::".join(f"p{i % 1700}" for i in range(5000)), 5), ("x:y", 6)]
rows += [(f"k{i}::k{i % 7}::v", 10 + i) for i in range(3000)]
with open("t.csv", "w") as f:
    f.write("s,k\n" + "".join(("" if s is None else f'"{s}"') + f",{k}\n" for s, k in rows))
with open("want.csv", "w") as f:
    f.write("s,k\n")
    for s, k in rows:
        for part in [None] if s is None else s.split("::"): f.write(("" if part is None else part or '""') + f",{k}\n")
END
    "$TRA" import -q --table t.csv -o t.h5 --block 500
    printf 'input t from "t.h5"\nE = explode(t, s, "::")\noutput E to "e.csv"\n' >p.tra
    for sites in 1 3; do
        "$TRA" run -q --sites "$sites" p.tra
        cmp e.csv want.csv
    done
}
