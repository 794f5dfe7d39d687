# Windows: random ones are judged by sqlite3; what check refuses; ceilings, sites, plans and runs that are killed.
load helper

# windows SEED ROWS BLOCK SHAPE OPTION...: random windows over a random table, judged.
windows() {
    local w
    "$PYTHON" "$BATS_TEST_DIRNAME/windows.py" make "$1" "$2" "$4" || return
    tra import -q --table --block "$3" --types i=i32,k=string,n=i32,x=f64,d=date,t=timestamp,s=string t.csv -o t.h5 ||
        return
    rm -f W*.h5
    tra run -q w.tra "${@:5}" || return
    for w in W*.h5; do tra export -q "$w" -o "${w%.h5}.csv" || return; done
    "$PYTHON" "$BATS_TEST_DIRNAME/windows.py" judge
}

@test "random windows are as sqlite3 has them, of one block and of several" {
    for seed in 1 2 ${TRA_TEST_LONG:+3 4 5 6}; do
        status 0 windows $seed 60 100 ""
        status 0 windows 1$seed 60 13 ""
    done
}

@test "windows of tables without rows, of one row, of one group, and of groups of one row" {
    local i=0
    for shape in one each half; do
        i=$((i + 1))
        for rows in $(some $i 0 1 2 40); do
            status 0 windows $rows $rows 7 $shape
        done
    done
}

@test "windows are the same on 1, 2, 3 and 5 sites and by the reference evaluator" {
    status 0 windows 21 80 9 half
    mkdir one
    mv W*.h5 one
    for n in 2 3 5; do
        status 0 tra run -q w.tra --sites $n
        for w in W*.h5; do status 0 tra diff "$w" "one/$w"; done
    done
    status 0 tra run -q w.tra --engine reference
    for w in W*.h5; do status 0 tra diff --rtol 1e-12 "$w" "one/$w"; done
}

# refused TEXT WHY: the window of the text is an error at the place of its @, and says so.
refused() {
    local before=${1%%@*}
    printf '%s\n' 'input T : table [k: string, n: i32, x: f64, d: date, t: timestamp] rows 9' "W = ${1/@/}" 'output W' >p.tra
    status 2 tra check p.tra
    has "p.tra:2:$((${#before} + 5)): error: "
    has "$2"
}

@test "what a window cannot be is refused at its place" {
    refused 'window(T, [k], r = sum(n), frame = @rows(-1, 0))' "a frame needs an order"
    refused 'window(T, [n], [k], r = sum(n, frame = range(@-1, 0)))' "a range is over numbers, dates or timestamps"
    refused 'window(T, [k], [n, x], r = sum(n, frame = range(@-1, 0)))' "has one column of the order"
    refused 'window(T, [k], [n], r = ntile(@0))' "at least 1, not 0"
    refused 'window(T, [k], [n], r = @row_nummber())' "did you mean row_number?"
    refused 'window(T, [k], [n], r = sum(@k))' "sum does not take values of type string"
    refused 'window(T, [k], [n], r = rank(), @r = sum(n))' "there is a column 'r' already"
    refused 'window(T, [k], [n], @x = sum(n))' "there is a column 'x' already"
    refused 'window(T, [k], [n], r = rank(@frame = rows(0, 1)))' "rank has no frame"
    refused 'window(T, [k], [n], r = lag(n, 1, @"x"))' "a number and a string"
    refused 'window(T, [k], [n], r = nth(n, @0))' "at least 1, not 0"
    refused 'window(T, [k], [n], r = quantile(x, @2))' "a quantile is from 0 to 1"
    refused 'window(T, [k], [n], r = sum(n, frame = rows(@0.5, 1)))' "needs integers"
    refused 'window(T, [k], [t], r = sum(n, frame = range(@-5, 0)))' "a range over timestamps has durations"
    refused 'window(T, [k], [d], r = sum(n, frame = range(@-hours(5), 0)))' "a date moves by whole days"
    refused 'window(T, [k], [n], r = sum(n, frame = range(@-days(5), 0)))' "and this a duration"
    refused '@window(T, [k], [n])' "a window has functions"
    refused 'window(T, @k, r = rank())' "stand in a list"
    refused 'window(T, [k], [n], @rank)' "a function has a name"
    refused 'window(T, [@q], r = rank())' "T has no column 'q'"
    refused 'window(T, [k], [n], r = sum(n, frame = @groups(1, 2)))' "a frame is rows(-2, 0)"
    refused 'window(T, [k], [n], r = @lag(n, 1, 2, 3))' "lag has at most 3 arguments"
    refused 'window(T, [@k desc], r = rank())' "keys of groups have no direction"
    refused 'window(T, [k], [n], r = sum(n, frame = range(@x, 0)))' "the ends of a range are"
}

@test "a NaN and an infinity leave a frame with their row; a total that does not fit names its row" {
    printf 'i,x\n1,1\n2,nan\n3,2\n4,inf\n5,3\n6,-inf\n7,4\n8,5\n' | tra import -q --table - -o t.h5
    printf 'input T from "t.h5"\nW = window(T, [], [i], frame = rows(-1, 0), %s)\noutput W\n' \
        's = sum(x), v = var(x), m = max(x), l = min(x), q = median(x)' | tra run -q -
    status 0 tra head W.h5
    [ "${lines[1]}" = 1,1,1,,1,1,1 ]
    [ "${lines[2]}" = 2,nan,nan,nan,nan,nan,nan ]
    [ "${lines[3]}" = 3,2,nan,nan,nan,nan,nan ]
    [ "${lines[4]}" = 4,inf,inf,nan,inf,2,inf ]
    [ "${lines[7]}" = 7,4,-inf,nan,4,-inf,-inf ]
    [ "${lines[8]}" = 8,5,9,0.5,5,4,4.5 ]
    printf 'i,n\n1,9223372036854775800\n2,7\n3,1\n4,-1\n' | tra import -q --table - -o t.h5
    printf 'input T from "t.h5"\nW = window(T, [], [i], s = sum(n), m = mean(n))\noutput W\n' >p.tra
    status 3 tra run -q p.tra
    has 'the total `s` of the frame of row 2 does not fit i64'
    sed -i 's/s = sum(n)/s = sum(n, frame = rows(-1, 0))/' p.tra
    status 0 tra run -q p.tra
    status 0 tra head W.h5
    [ "${lines[2]%,*}" = 2,7,9223372036854775807 ]
    [ "${lines[3]%,*}" = 3,1,8 ]
}

@test "windows of divided tables, whose groups may have many parts, are as sqlite3 has them" {
    local i=0
    for shape in "" half one each; do
        [[ ! ${TRA_TEST_LONG-} && $((i++ % 2)) == 1 ]] || status 0 windows 31 1000 20 "$shape"
        [[ ! ${TRA_TEST_LONG-} && $((i % 2)) == 1 ]] || status 0 windows 32 1000 31 "$shape" --sites 3
    done
    mkdir one
    mv W*.h5 one
    for n in 1 2 5; do
        status 0 tra run -q w.tra --sites $n
        for w in W*.h5; do status 0 tra diff "$w" "one/$w"; done
    done
}

# many ROWS BLOCK: a table of so many rows, half of which are one group.
many() {
    py 'n = int(sys.argv[1])
r = np.random.default_rng(3)
k = np.where(r.random(n) < 0.5, 7, r.integers(0, n // 10, n))
np.savetxt("t.csv", np.c_[k, r.integers(0, n, n), r.integers(-999, 999, n)], "%d", ",", header="k,t,x", comments="")' "$1"
    tra import -q --table --block "$2" t.csv -o t.h5
    printf '%s\n' 'input T from "t.h5"' 'W = window(T, [k], [t], r = row_number(), d = dense_rank(), s = sum(x),' \
        '    m = max(x, frame = rows(-100000, -50000)), b = mean(x, frame = range(-5000, 0)), g = lag(x, 3000))' \
        'output W' >p.tra
    sed -i ':a;N;$!ba;s/,\n    /, /' p.tra
}

@test "a group of half of all rows, and frames longer than memory, keep the least ceiling" {
    many 600000 8192
    status 0 tra run -q p.tra
    mv W.h5 want.h5
    status 4 tra run p.tra --memory 1M
    least=$(sed -n 's/.*(--memory \([0-9]*\)M).*/\1/p' <<<"$output")
    [ "$least" -lt 64 ]
    status 0 tra run p.tra --memory "${least}M"
    used=$(sed -n 's/.* \([0-9.]*\) MiB of memory at most.*/\1/p' <<<"$output")
    [ "${used%.*}" -le "$least" ]
    status 0 tra diff W.h5 want.h5
    status 0 tra run -q p.tra --sites 2 --memory "$((least + 24))M"
    status 0 tra diff W.h5 want.h5
    "$PYTHON" - <<'END'
import h5py, numpy as np
w = h5py.File("want.h5")["data"]
c = {n: w[n]["values"][:] if isinstance(w[n], h5py.Group) else w[n][:] for n in ("k", "t", "x", "r", "s", "m", "g")}
at = np.flatnonzero(c["k"] == 7)
at = at[np.argsort(c["t"][at], kind="stable")]
x = c["x"][at].astype(int)
assert (c["r"][at] == np.arange(1, len(at) + 1)).all()
last = np.flatnonzero(np.r_[np.diff(c["t"][at]) != 0, True])
assert (c["s"][at][last] == np.cumsum(x)[last]).all()
assert (c["g"][at][3000:] == x[:-3000]).all()
assert c["m"][at][200000] == x[100000:150001].max()
END
}

@test "runs of windows that are killed at random moments are gone on with" {
    local run killed=0 sites
    many 40000 1000
    tra run -q p.tra
    want=$(tra digest W.h5)
    for sites in 1 3; do
        rm -f W.h5
        TRA_CHECKPOINT_SECONDS=0.01 slow 60 "$TRA" run -q p.tra --threads 1 --memory 50M --sites $sites 2>log &
        run=$!
        sleep "0.$((RANDOM % 5 + 3))"
        if kill -KILL $run 2>/dev/null; then killed=$((killed + 1)); fi
        wait $run || true
        status 0 tra run p.tra --resume --threads 1 --memory 50M --sites $sites
        [ "$(tra digest W.h5)" = "$want" ]
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    done
    ((killed > 0))
}

@test "windows of computed tables, whose blocks are not full: ordered, selected, joined, grouped, in parts" {
    status 0 windows 41 900 20 ""
    cat >p.tra <<'END'
input T from "t.h5"
O = order(select(T, n > -2), [s, x desc])
A = window(O, [k], [t], r = row_number(), l = lag(i), m = max(n, frame = rows(-2, 2)))
G = group(T, [n, d], c = count(), s = sum(x))
B = window(window(G, [n], [s desc], r = rank()), [], [c], f = first(r), p = share(c), q = median(c))
J = join(T, G, n == n && d == d, prefix = "g_")
C = select(window(J, [k], [g_s desc], r = dense_rank(), a = mean(x, frame = range(-0.5, null))), r <= 30)
X = matrix(window(T, [k], [i], v = sum(ifnull(n, 0))), [v, i])
Y[a,b] = sum X[r,a] * X[r,b]
output A
output B
output C
output Y
END
    status 0 tra run -q p.tra
    mkdir want
    mv [ABCY].h5 want
    status 0 tra run -q p.tra --sites 3 --memory 60M
    for f in A B C Y; do status 0 tra diff --rtol 1e-12 $f.h5 want/$f.h5; done
    status 0 tra run -q p.tra --engine reference
    for f in A B C Y; do status 0 tra diff --rtol 1e-9 $f.h5 want/$f.h5; done
    # compiled, and run from the plan
    status 0 tra compile -q p.tra -o p.plan
    rm [ABCY].h5
    status 0 tra run -q p.plan
    for f in A B C Y; do status 0 tra diff $f.h5 want/$f.h5; done
    status 0 tra check p.tra
    status 0 tra explain p.tra --operators
    has "window of"
    status 0 tra cost p.tra
}

@test "of the first rows of each group alone are kept while rows are sorted, and rows and functions are the same" {
    cat >p.tra <<'END'
input T from "t.h5"
W = window(T, [k], [n desc], r = row_number(), e = dense_rank(), q = rank(), a = sum(x), l = lag(i), m = max(x),
    z = count(frame = rows(null, null)))
A = select(W, r <= 2)
B = select(W, 3 > e && n > 0)
C = select(W, q == 1)
D = select(W, r < 2 && e <= 5)
E = select(window(T, [], [x], r = row_number()), r <= 7)
F = select(window(T, [k, s], [], r = row_number(), after = lead(i)), r <= 1)
output A
output B
output C
output D
output E
output F
END
    sed -i ':a;N;$!ba;s/,\n    /, /' p.tra
    mkdir want
    for block in 1000 90 13; do
        [[ ${TRA_TEST_LONG-} || $block != 90 ]] || continue
        status 0 windows 5 400 $block ""
        rm -f W*.h5
        status 0 tra run -q p.tra --engine reference
        mv [A-F].h5 want
        for n in 1 3; do
            status 0 tra run -q p.tra --sites $n
            for f in A B C D E F; do status 0 tra diff --rtol 1e-9 $f.h5 want/$f.h5; done
        done
    done
    status 0 tra explain p.tra --operators
    has "first of window beside rows"
}

@test "of the first rows of each group as many are expected as there are groups, and all of them pass the selection" {
    awk 'BEGIN { print "g,x"; for (i = 0; i < 6000; i++) print i % 40 "," i * 7919 % 6000 }' >t.csv
    status 0 tra import -q --table --block 700 t.csv -o t.h5
    local rows
    for rows in "n <= 2|80" "n < 2|40" "n == 2|40"; do
        cat >p.tra <<P
input t from "t.h5"
w = window(t, [g], [x], n = row_number())
O = select(w, ${rows%|*})
output O to "O.h5"
P
        status 0 tra check p.tra
        has "O: table of about ${rows#*|} of <= 6000 rows"
        status 0 tra run -q p.tra
        is "${rows#*|}" eval 'tra export -q --to csv O.h5 -o - | tail -n +2 | wc -l'
    done
}

@test "columns that only the table of a window has are not read" {
    status 0 windows 51 300 20 ""
    printf '%s\n' 'input T from "t.h5"' 'W = window(T, [k], [n], r = row_number(), a = sum(x))' \
        'P = project(select(W, r > 1), i, r, a)' 'output P' >p.tra
    status 0 tra explain p.tra --operators
    has "input T of i, k, n, x"
    status 0 tra run -q p.tra
    mv P.h5 want.h5
    status 0 tra run -q p.tra --engine reference
    status 0 tra diff --rtol 1e-9 P.h5 want.h5
}

@test "the first rows of each group of a large block are those of sqlite3, whatever their keys, ties and NULLs" {
    cat >firsts.py <<'END'
import csv, random, sqlite3, sys
r, n = random.Random(7), 70000
CASES = [("g", "x desc", "row_number", 2), ("g", "v", "row_number", 3), ("g", "v desc, x", "rank", 2),
         ("k", "x", "row_number", 90), ("k", "v desc", "dense_rank", 2), ("h", "x desc", "row_number", 1),
         ("h, u", "v, i desc", "rank", 2), ("u, h, z", "x", "row_number", 1), ("s", "d desc", "row_number", 2),
         ("", "x desc", "row_number", 9), ("i", "x", "row_number", 1), ("g, k", "d", "dense_rank", 1)]
if sys.argv[1] == "make":
    far = [r.randrange(-2**62, 2**62) for _ in range(400)]
    none = lambda v: "" if r.random() < 0.1 else v
    date = lambda: f"20{r.randrange(10, 30)}-01-{r.randrange(10, 30)}"
    rows = [(i, r.randrange(2000), none(r.randrange(3)), r.choice(far), none(r.choice(far)), r.choice(far) / 7e9,
             none(r.randrange(4)), none(r.randrange(10**6) / 8), f"s{r.randrange(500)}", none(date())) for i in range(n)]
    csv.writer(open("f.csv", "w")).writerows([["i", "g", "k", "h", "u", "z", "v", "x", "s", "d"]] + rows)
    with open("f.tra", "w") as f:
        print('input T from "f.h5"', file=f)
        for c, (keys, by, rank, top) in enumerate(CASES):
            print(f"W{c} = window(T, [{keys}], [{by}], r = {rank}())", file=f)
            print(f"O{c} = project(select(W{c}, r <= {top}), i, r)", file=f)
            print(f'output O{c} to "O{c}.csv"', file=f)
    sys.exit()
q = sqlite3.connect(":memory:")
q.execute("create table t (i int, g int, k int, h int, u int, z real, v int, x real, s text, d text)")
rows = list(csv.reader(open("f.csv")))[1:]
q.executemany("insert into t values (?,?,?,?,?,?,?,?,?,?)", [[v or None for v in row] for row in rows])
for c, (keys, by, rank, top) in enumerate(CASES):
    order = ", ".join(f"{b} nulls last" for b in by.split(", ")) + (", i" if rank == "row_number" else "")
    part = f"partition by {keys} " if keys else ""
    inner = f"select i, {rank}() over ({part}order by {order}) r from t"
    want = q.execute(f"select i, r from ({inner}) where r <= {top} order by i").fetchall()
    have = [tuple(map(int, row)) for row in list(csv.reader(open(f"O{c}.csv")))[1:]]
    if have != want: sys.exit(f"{CASES[c]}: {len(have)} rows, sqlite3 has {len(want)}")
END
    status 0 "$PYTHON" firsts.py make
    status 0 tra import -q f.csv -o f.h5 --block 100000 \
        --types i=i32,g=i32,k=i32,h=i64,u=i64,z=f64,v=i32,x=f64,s=string,d=date
    status 0 tra run -q f.tra --threads 2
    status 0 "$PYTHON" firsts.py judge
    status 0 tra run -q f.tra --sites 3
    status 0 "$PYTHON" firsts.py judge
}

@test "groups by what a window counts or adds up in them are expected to be as many as rows, or half as many" {
    cat >p.tra <<'P'
input t : table [k: i32, t: i64, x: i32] rows 1000000 by 100000
w = window(t, [k], [t], s = sum(x), r = row_number(), l = max(x))
A = group(w, [k, s], n = count())
B = group(select(project(w, l, r, key = k), l > 3), [r, key], n = count())
C = group(w, [s], n = count())
D = group(w, [k, l], n = count())
output A
output B
output C
output D
P
    status 0 tra check p.tra
    local of
    for of in A:500000 B:333332 C:100000 D:100000; do has "${of%:*}: table of about ${of#*:} of <= 1000000 rows"; done
}

@test "windows over windows by the same keys and order sort the rows once, and are as sqlite3 has them" {
    cat >chain.py <<'END'
import csv, random, sqlite3, sys
random.seed(9)
rows = [(i, random.choice("abc"), random.choice([None, *range(40)]), random.choice([None, *range(9)])) for i in range(400)]
if sys.argv[1] == "make":
    csv.writer(open("t.csv", "w")).writerows([("i", "k", "d", "n"), *rows])
    sys.exit()
q = sqlite3.connect(":memory:")
q.execute("create table t(i, k, d, n)")
q.executemany("insert into t values (?, ?, ?, ?)", rows)
over = "over (partition by k order by d is null, d desc, i rows between unbounded preceding and current row)"
ties = "over (partition by k order by d is null, d desc)"
want = q.execute(f"""with w as (select *, count(n) {over} c, lag(n) {over} p, row_number() {over} r from t),
 x as (select *, sum(c + coalesce(n - p, 0)) {over} s, rank() {ties} a from w),
 y as (select *, first_value(n) over (partition by k, c order by d is null, d desc, i) f, lag(s, 1, -1) {over} b from x)
 select i, c, r, s, a, f, b from y order by i""").fetchall()
have = [tuple(int(v) if v else None for v in row) for row in list(csv.reader(open("O.csv")))[1:]]
if have != want: sys.exit([(h, w) for h, w in zip(have, want) if h != w][:3])
END
    cat >p.tra <<'P'
input t from "t.h5"
w = window(t, [k], [d desc], c = count(n, frame = rows(null, 0)), p = lag(n), r = row_number())
m = project(w, i, key = k, d, n, r, c, more = c + ifnull(n - p, 0))
x = window(m, [key], [d desc], s = sum(more, frame = rows(null, 0)), a = rank())
z = window(x, [key, c], [d desc], f = first(n, frame = rows(null, null)))
y = window(z, [key], [d desc], b = lag(s, 1, -1))
O = project(y, i, c, r, s, a, f, b)
output O
P
    status 0 "$PYTHON" chain.py make
    status 0 tra import -q --block 30 --types i=i32,k=string,d=i32,n=i32 t.csv -o t.h5
    status 0 tra explain --operators p.tra
    [ "$(grep -c 'splitters(\[' <<<"$output")" = 1 ] # of the parts that are sorted
    for how in "--threads 1" "--threads 4 --memory 64M" "--sites 3" "--engine reference"; do
        status 0 tra run -q p.tra $how
        status 0 tra export -q O.h5 -o O.csv
        status 0 "$PYTHON" chain.py judge
    done
}
