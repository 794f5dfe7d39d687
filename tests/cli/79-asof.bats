# As-of joins: by their definition and by pandas on random tables, on any number of sites, under small ceilings.
load helper

# drawn SEED ROWS BLOCK: random tables in blocks of so many rows, a program of five joins, and what they are.
drawn() {
    rm -f want-* how-*
    "$PYTHON" "$ROOT/tests/cli/asof.py" draw "$1" "$2"
    for t in l r; do tra import -q --table --block "$3" --types "$(cat columns)" $t.csv -o $t.h5; done
}

# ways OPTIONS...: the joins, run with each of these sets of options, are what is wanted.
ways() {
    local o how
    for how in "$@"; do
        rm -f [A-E].h5 [A-E].csv
        # shellcheck disable=SC2086
        status 0 tra run -q $how p.tra
        for o in A B C D E; do tra export -q $o.h5 -o $o.csv; done
        "$PYTHON" "$ROOT/tests/cli/asof.py" same || { echo "run $how"; return 1; }
    done
}

@test "as-of joins of one block are what their definition says, and pandas; the reference evaluator agrees" {
    for seed in {0..11}; do
        drawn "$seed" 90 1000
        ways "" "--engine reference"
        for python in "$PYTHON" /usr/bin/python3; do
            "$python" -c 'import pandas' 2>/dev/null || continue
            "$python" "$ROOT/tests/cli/asof.py" pandas
            break
        done
    done
}

@test "as-of joins of many blocks are the same on every number of sites, by both transports, under a small ceiling" {
    for seed in 1 14; do
        drawn "$seed" 700 30
        tra explain --operators --without J-1 p.tra >plan
        grep -q "rows in range" plan
        ways "--sites 1" "--without J-1" "--sites 2 --without J-1" "--sites 3 --transport files --without J-1" "--sites 5" \
            "--memory 34M --threads 1"
        tra compile p.tra -o p.plan
        status 0 tra run -q p.plan
        for o in A B C D E; do tra export -q $o.h5 -o $o.csv; done
        "$PYTHON" "$ROOT/tests/cli/asof.py" same
    done
}

@test "an as-of join of tables that do not fit into the ceiling spills; one key has half of the rows" {
    py '
r = np.random.default_rng(4)
for name, n in (("l", 150000), ("r", 150000)):
    k = np.where(r.random(n) < 0.5, 7, r.integers(0, 1000, n))
    with open(name + ".csv", "w") as f:
        f.write("k,t,v\n")
        f.writelines(f"{a},{b},{c}\n" for a, b, c in zip(k, r.integers(0, 10**6, n), range(n)))'
    for t in l r; do tra import -q --table --block 5000 $t.csv -o $t.h5; done
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' \
        'J = join(L, R, k == k, asof = L.t >= R.t, how = left)' 'output J' >p.tra
    status 0 tra run -q p.tra
    want=$(digest_of J.h5)
    least=$(tra run --memory 1M p.tra 2>&1 | sed -n 's/.*(--memory \(.*\))/\1/p')
    status 0 tra run -q --memory "$least" p.tra
    is "$want" digest_of J.h5
    py '
L, R = (np.loadtxt(f, delimiter=",", skiprows=1, dtype=np.int64) for f in ("l.csv", "r.csv"))
o = np.lexsort((R[:, 2], R[:, 1], R[:, 0]))
S = R[o]
at = np.searchsorted(S[:, 0] * 10**7 + S[:, 1], L[:, 0] * 10**7 + L[:, 1], "right") - 1
want = np.where((at >= 0) & (S[at, 0] == L[:, 0]), S[at, 2], -1)
with h5py.File("J.h5") as f:
    v = f["data/R_v"]
    got = np.where(v["mask"][()], -1, v["values"][()]) if isinstance(v, h5py.Group) else v[()]
assert (got == want).all()'
}

@test "an as-of join in parts is promised no more scratch than its rows take, a few times" {
    printf '%s\n' 'input l : table [k: i32, t: i64] rows 500000000 by 262144' \
        'input r : table [k: i32, u: i64, w: i32] rows 500000000 by 262144' \
        'O = group(join(l, r, k == k, asof = l.t >= r.u), [k], n = count(), s = sum(w))' 'output O' >p.tra
    status 0 tra explain p.tra --memory 512M --format json
    [ "$(json plans.0.scratch_bytes_bound)" -lt $((5 * 500000000 * 28)) ]
}

@test "a selection of the left table moves before an as-of join, one of the right table does not" {
    printf 'k,t,v\n1,5,1\n1,7,2\n' | tra import -q --table - -o l.h5
    printf 'k,t,w\n1,4,1\n1,6,-1\n' | tra import -q --table - -o r.h5
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' 'J = join(L, R, k == k, asof = L.t >= R.t)' \
        'S = select(J, v > 1 && w > 0)' 'output S' 'A = select(J, v > 0 && w > 0)' 'output A' >p.tra
    status 0 tra run -q p.tra
    is "k,t,v,R_t,w" tra head S.h5
    is "k,t,v,R_t,w
1,5,1,4,1" tra head A.h5
    status 0 tra explain --rules p.tra
    has "chooses among all rows of the right table"
}

# wrong JOIN TEXT: the program with that join does not compile, and the message has the text.
wrong() {
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' "J = $1" 'output J' >p.tra
    status 2 tra check p.tra
    has "p.tra:3:"
    has "$2"
}

@test "what is no as-of join is refused with its place" {
    printf 'k,t,d,s\nx,5,2024-01-01,2024-01-01 10:00:00\n' | tra import -q --table - -o l.h5
    cp l.h5 r.h5
    wrong "join(L, R, k == k, asof = L.t)" "asof is a comparison of two columns"
    wrong "join(L, R, k == k, asof = L.t == R.t)" "asof is a comparison of two columns"
    wrong "join(L, R, k == k, asof = L.k >= R.k)" "'k', which is a string"
    wrong "join(L, R, k == k, asof = L.t >= R.d)" ">= is given a number and a date"
    wrong "join(L, R, k == k, asof = L.t >= R.u)" "the right one has k, t, d, s"
    wrong "join(L, R, k == k, asof = L.t >= R.t, within = -1)" "not negative"
    wrong "join(L, R, k == k, asof = L.t >= R.t, within = t)" "which is a constant"
    wrong "join(L, R, k == k, asof = L.t >= R.t, within = seconds(1))" "this is a duration"
    wrong "join(L, R, k == k, asof = L.s >= R.s, within = 1)" "write how long it is"
    wrong "join(L, R, k == k, asof = L.d >= R.d, within = hours(1))" "write days(1)"
    wrong "join(L, R, k == k, within = 5)" "within stands beside asof"
    wrong "join(L, R, k == k && L.t > 5, asof = L.t >= R.t)" "this is none"
    wrong "join(L, R, k == k, asof = L.t >= R.t, how = outer)" "inner or left"
    wrong "join(L, R, k == k, asof = L.t >= R.t, expect = \"m:1\")" "expect"
    wrong "join(L, R, k == k, asof = L.t >= R.t, matched = all)" "matched = left"
    wrong "join(L, L, k == k, asof = L.t >= L.t)" "both tables have one name"
    wrong "merge_asof(L, R)" "asof = L.t >= R.t"
}

@test "a row of an as-of join that has to be matched, and is not, is named" {
    printf 'k,t\n1,5\n1,2\n' | tra import -q --table - -o l.h5
    printf 'k,t\n1,4\n' | tra import -q --table - -o r.h5
    printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' \
        'J = join(L, R, k == k, asof = L.t >= R.t, matched = left)' 'output J' >p.tra
    status 3 tra run -q p.tra
    has "row 1 of the"
    [ ! -e J.h5 ]
}

@test "infinite times, and times that are as far apart as floats tell, meet those that the definition says" {
    printf 't,n\n-inf,1\ninf,2\n1,3\n-0.0,4\n9007199254740993,5\nNaN,6\n' >l.csv
    printf 'u,m\n7,1\n-inf,2\n0,3\n-1e-310,4\ninf,5\n9007199254740992,6\n-3,7\n' >r.csv
    for t in l r; do tra import -q --table --types "$(head -n 1 $t.csv | sed 's/,/=f64,/')=i64" $t.csv -o $t.h5; done
    i=0
    for x in 'l.t >= r.u' 'l.t < r.u' 'nearest(l.t, r.u)' 'nearest(l.t, r.u), within = 3'; do
        printf '%s\n' 'input l from "l.h5"' 'input r from "r.h5"' "J = join(l, r, asof = $x, how = left)" \
            'P = project(J, n, m)' 'output P' >p.tra
        for how in '' '--engine reference' '--sites 2'; do
            # shellcheck disable=SC2086
            tra run -q $how p.tra
            tra head P.h5 | tail -n +2 | tr '\n' ' ' >got
            is "$(sed -n "$((i + 1))p" <<'WANT'
1,2 2,5 3,3 4,3 5,6 6, 
1,7 2, 3,1 4,1 5,5 6, 
1,2 2,5 3,3 4,3 5,6 6, 
1,2 2,5 3,3 4,3 5,6 6, 
WANT
)" cat got
        done
        i=$((i + 1))
    done
    # whole numbers meet floats as the f64 that is nearest
    printf 'i,n\n9007199254740993,1\n9007199254740992,2\n9223372036854775807,3\n' >i.csv
    tra import -q --table --types i=i64,n=i64 i.csv -o i.h5
    for x in 'i == u' 'i >= u && i <= u'; do
        printf '%s\n' 'input i from "i.h5"' 'input r from "r.h5"' "P = project(join(i, r, $x), n, m)" 'output P' >p.tra
        for how in '' '--engine reference' '--sites 2'; do
            # shellcheck disable=SC2086
            tra run -q $how p.tra
            is $'n,m\n1,6\n2,6' tra head P.h5
        done
    done
}
