# Programs over tables, run: rows selected, computed, made into matrices, written; the same on every number of ranks.
load helper

# A table of 5000 rows in 8 blocks, by a generator of its own: integers, floats, NULLs, strings, dates.
table() {
    "$PYTHON" - <<'END'
import random
random.seed(7)
with open("t.csv", "w") as f:
    f.write("g,u,v,name,day,y\n")
    for i in range(5000):
        u, v = random.uniform(-3, 3), random.uniform(0, 9)
        g = "" if i % 17 == 0 else random.randint(0, 9)
        f.write(f"{g},{u:.6f},{v:.6f},{random.choice('abc')},2017-0{1 + i % 9}-11,{2 + 3 * u - v:.9f}\n")
END
    tra import --table --block 700 t.csv -o t.h5 >/dev/null
}

# of EXPRESSION: what numpy makes of the rows of t.csv that stay, as columns g (NULL: nan), u, v, y and name.
of() {
    "$PYTHON" - "$1" <<'END'
import csv, sys, numpy as np
rows = list(csv.DictReader(open("t.csv")))
g, u, v, y = (np.array([float(r[c] or "nan") for r in rows]) for c in "guvy")
name = np.array([r["name"] for r in rows])
month = np.array([int(r["day"][5:7]) for r in rows])
np.set_printoptions(precision=12)
print(eval(sys.argv[1]))
END
}

# close A B: two lists of numbers, to 7 digits; names of rows and columns among them do not count.
close() {
    "$PYTHON" -c 'import re, sys, numpy as np
word = re.compile("(?!nan|inf)[A-Za-z]")
a, b = ([float(x) for x in re.split(r"[][,\s]+", s) if x and not word.match(x)] for s in sys.argv[1:])
sys.exit(0 if len(a) == len(b) and np.allclose(a, b, rtol=1e-7) else f"{a} is not {b}")' "$1" "$2"
}

@test "a regression over the rows that a predicate lets through finds its coefficients" {
    table
    cat >p.tra <<'END'
input T from "t.h5"
R = select(T, g != 3 && v > 1)
P = project(R, one = 1, u, w = v * 2, y)
X = matrix(P, [one, u, w])
y = matrix(P, [y])
XX[a,b] = sum X[n,a] * X[n,b]
Xy[a,c] = sum X[n,a] * y[n,c]
beta = solve(XX, Xy)
N = rows(R)
output beta to "beta.h5"
output XX to "xx.h5"
output N to "n.h5"
END
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        close "$(tra head beta.h5)" "2 3 -0.5"
        close "$(tra head xx.h5)" \
            "$(of '(lambda X: X.T @ X)(np.stack([u * 0 + 1, u, 2 * v], 1)[(g == g) & (g != 3) & (v > 1)])')"
        is "$(of 'int(((g == g) & (g != 3) & (v > 1)).sum())')" tra head n.h5
    done
}

@test "sums over rows have the same bits for every ceiling, and on every number of ranks that is reproducible" {
    table
    cat >p.tra <<'END'
input T from "t.h5"
X = matrix(select(T, like(name, "a%") || month(day) > 4), [u, v, q = u / v])
XX[a,b] = sum X[n,a] * X[n,b]
output XX to "xx.h5"
END
    status 0 tra run -q --threads 1 p.tra
    one=$(digest_of xx.h5)
    status 0 tra run -q --threads 4 --memory 48M p.tra
    [ "$(digest_of xx.h5)" = "$one" ]
    status 0 tra run -q --reproducible p.tra
    one=$(digest_of xx.h5)
    for sites in 2 3; do
        status 0 tra run -q --reproducible --sites $sites p.tra
        [ "$(digest_of xx.h5)" = "$one" ]
    done
    close "$(tra head xx.h5)" \
        "$(of '(lambda X: X.T @ X)(np.stack([u, v, u / v], 1)[(name == "a") | (month > 4)])')"
}

@test "tensors whose rows only the run tells are computed with as any others" {
    table
    cat >p.tra <<'END'
input T from "t.h5"
X = matrix(select(T, v > 4), [u, v])
S[n] = sum X[n,a] * X[n,a]
C[n,a] = X[n,a] * 2 + X[n,a] * S[n]
M[a,n] = X[n,a]
G[a,b] = sum M[a,n] * C[n,b]
Y[n,b] = sum X[n,a] * G[a,b]
z[b] = sum Y[n,b]
m[] = max S[n]
output G to "o.h5:G"
output z to "o.h5:z"
output m to "o.h5:m"
END
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        close "$(tra head o.h5:G)" \
            "$(of '(lambda X: X.T @ (X * 2 + X * (X * X).sum(1)[:, None]))(np.stack([u, v], 1)[v > 4])')"
        close "$(tra head o.h5:z)" \
            "$(of '(lambda X: (X @ (X.T @ (X * 2 + X * (X * X).sum(1)[:, None]))).sum(0))(np.stack([u, v], 1)[v > 4])')"
        close "$(tra head o.h5:m)" "$(of '(lambda X: (X * X).sum(1).max())(np.stack([u, v], 1)[v > 4])')"
    done
}

@test "a table of rows that stay is written without gaps, the same by every number of ranks" {
    table
    cat >p.tra <<'END'
input T from "t.h5"
R = project(select(T, g > 4 || name == "c"), name, w = u - v, g, later = day + 1, NAME = upper(name))
output R to "r.h5"
END
    first=
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        status 0 tra verify -q r.h5
        digest=$(tra digest r.h5)
        [ "${first:=$digest}" = "$digest" ]
    done
    tra export r.h5 -o r.csv >/dev/null
    "$PYTHON" - <<'END'
import csv, datetime
a = [r for r in csv.DictReader(open("t.csv")) if (r["g"] and int(r["g"]) > 4) or r["name"] == "c"]
b = list(csv.DictReader(open("r.csv")))
assert len(a) == len(b) > 0
for x, y in zip(a, b):
    assert x["name"] == y["name"] and x["g"] == y["g"] and y["NAME"] == x["name"].upper(), (x, y)
    assert float(x["u"]) - float(x["v"]) == float(y["w"]), (x, y)
    assert datetime.date.fromisoformat(x["day"]) + datetime.timedelta(1) == datetime.date.fromisoformat(y["later"])
END
}

@test "a matrix of rows that stay is written without gaps, also as a vector and with its dimensions exchanged" {
    table
    cat >p.tra <<'END'
input T from "t.h5"
X = matrix(select(T, v > 4), [u, v, y])
S[n] = sum X[n,a] * X[n,a]
M[a,n] = X[n,a]
output X to "o.h5:X"
output S to "o.h5:S"
output M to "o.h5:M"
END
    first=
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        status 0 tra verify -q o.h5:X o.h5:S o.h5:M
        digest=$(tra digest o.h5:X o.h5:M)
        [ "${first:=$digest}" = "$digest" ]
    done
    "$PYTHON" - <<'END'
import csv, h5py, numpy as np
rows = [r for r in csv.DictReader(open("t.csv")) if float(r["v"]) > 4]
X = np.array([[float(r[c]) for c in "uvy"] for r in rows])
f = h5py.File("o.h5")
assert f["X"].shape == X.shape and (f["X"][:] == X).all()
assert (f["M"][:] == X.T).all()
assert np.allclose(f["S"][:], (X * X).sum(1), rtol=1e-14)
END
}

@test "no rows at all: sums are 0, a table of none is written" {
    table
    cat >p.tra <<'END'
input T from "t.h5"
R = select(T, u > 100)
X = matrix(R, [u, v])
XX[a,b] = sum X[n,a] * X[n,b]
N = rows(R)
output XX to "o.h5:XX"
output N to "o.h5:N"
output R to "r.h5"
output X to "x.h5"
END
    for sites in 1 2; do
        status 0 tra run -q --sites $sites p.tra
        close "$(tra head o.h5:XX)" "0 0 0 0"
        is 0 tra head o.h5:N
        status 0 tra verify -q r.h5 x.h5
        py 'assert h5py.File("x.h5")["data"].shape == (0, 2)'
        is 1 grep -c . <(tra head r.h5)
    done
}

@test "a file without rows is a table as others: one group of nothing, sums of 0, joins, outputs of no rows" {
    printf 'a,b\n' >e.csv
    printf 'a,b\n1,x\n2,y\n2,z\n' >f.csv
    tra import -q --table --types a=i64,b=string e.csv -o e.h5
    tra import -q --table f.csv -o f.h5
    cat >p.tra <<'END'
input E from "e.h5"
input F from "f.h5"
N = rows(E)
G = group(E, [], n = count(), s = sum(a), m = median(a))
Z = select(F, a > 5)
H = group(Z, [], n = count(), s = sum(a))
K = group(E, [a], n = count())
J = join(F, E, a == a, how = left, prefix = "e_")
I = join(E, F, a == a, prefix = "f_")
R = project(E, r = row())
X = matrix(E, [a])
XX[i,j] = sum X[n,i] * X[n,j]
output N to "o.h5:N"
output G to "o.h5:G"
output H to "o.h5:H"
output K to "o.h5:K"
output J to "o.h5:J"
output I to "o.h5:I"
output R to "o.h5:R"
output XX to "o.h5:XX"
output Z to "z.h5"
END
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        is 0 tra head o.h5:N
        is $'n,s,m\n0,,' tra head o.h5:G
        is $'n,s\n0,' tra head o.h5:H
        is 'a,n' tra head o.h5:K
        is $'a,b,e_b\n1,x,\n2,y,\n2,z,' tra head o.h5:J
        is 'a,b,f_b' tra head o.h5:I
        is r tra head o.h5:R
        is $'i,a\na,0' tra head o.h5:XX
    done
    printf 'input Z from "z.h5"\nN = rows(Z)\nU = group(Z, [], n = count(b))\noutput N to "n.h5:n"\n' >p.tra
    printf 'output U to "n.h5:u"\n' >>p.tra
    status 0 tra run -q p.tra
    is 0 tra head n.h5:n
    is $'n\n0' tra head n.h5:u
    status 0 tra verify -q z.h5 e.h5
    tra info e.h5 | grep -q 'blocks *0 of'
}

@test "over no rows sum is 0 and prod 1, and max and min are an error when it runs" {
    seq 40 | awk 'BEGIN { print "a,b" } { print $1 "," $1 % 7 - 3 }' >t.csv
    tra import -q --table --block 8 t.csv -o t.h5
    cat >p.tra <<'END'
input T from "t.h5"
param least = 0
S = select(T, a > least)
X = matrix(S, [a, b])
F = matrix(S, [b], type = f32)
G = matrix(T, [a, b])
I = matrix(S, [a, b], type = i64)
Z = matrix(limit(T, 0), [a, b])
Q[k] = sum X[n,k]
P[k] = prod F[n,k]
E[] = sum Z[n,k]
output Q
output P
output E
END
    for how in "--sites 1" "--sites 3" "--engine reference"; do
        status 0 tra run -q $how -D least=40 p.tra
        py 'assert (h5py.File("Q.h5")["data"][()] == [0, 0]).all()'
        py 'assert (h5py.File("P.h5")["data"][()] == [1]).all()'
        py 'assert h5py.File("E.h5")["data"][()] == 0'
        for line in 'M[k] = max X[n,k]' 'M[k] = min F[n,k]' 'M[] = max I[n,k] * I[n,k]' \
            'M[n,k] = X[n,k] - min[n](X[n,k])' 'M[m] = max X[n,k] * G[m,k]'; do
            { cat p.tra; echo "$line"; echo 'output M'; } >q.tra
            echo "$how: $line"
            rm -f M.h5
            status 3 tra run -q $how -D least=40 q.tra
            has "there is no max and no min of no rows"
            [ ! -e M.h5 ]
        done
        { cat p.tra; echo 'M[k] = max Z[n,k]'; echo 'output M'; } >q.tra
        status 3 tra run -q $how q.tra
        # where there are some, they are what they are
        { cat p.tra; echo 'M[k] = max X[n,k] - 50'; echo 'output M'; } >q.tra
        status 0 tra run -q $how -D least=37 q.tra
        py 'assert (h5py.File("M.h5")["data"][()] == np.array([[38, 0], [39, 1], [40, 2]]).max(0) - 50).all()'
        { cat p.tra; echo 'M[] = min F[n,j] * I[n,k]'; echo 'output M'; } >q.tra
        status 0 tra run -q $how -D least=20 q.tra
        py 'a = np.arange(21, 41); b = a % 7 - 3; assert h5py.File("M.h5")["data"][()] == np.minimum(b * a, b * b).min()'
    done
}

# Two tables in blocks, with NULL and absent keys and duplicates, as files and in the database joins.db.
joined() {
    "$PYTHON" - <<'END'
import random, sqlite3, csv
random.seed(5)
db = sqlite3.connect("joins.db")
for name, n, cols in (("l", 300, "a,b,s"), ("r", 200, "a,b,t")):
    db.execute(f"create table {name} ({cols.split(',')[0]} integer, b integer, {cols[-1]} text)")
    rows = [(random.choice([None, *range(90)]), random.randrange(40), random.choice("uvwxyz")) for i in range(n)]
    db.executemany(f"insert into {name} values (?, ?, ?)", rows)
    with open(name + ".csv", "w") as f:
        f.write(cols + "\n" + "".join(",".join("" if v is None else str(v) for v in r) + "\n" for r in rows))
db.commit()
END
    tra import -q --table --block 64 l.csv -o l.h5
    tra import -q --table --block 48 r.csv -o r.h5
}

@test "right and outer joins, and unions, have the rows that SQL gives them, in the order that is promised" {
    joined
    cat >p.tra <<'END'
input L from "l.h5"
input R from "r.h5"
right = join(L, R, a == a, how = right, prefix = "r_")
outer = join(L, R, a == a && r_b > b, how = outer, prefix = "r_")
whole = union(project(L, a, b), select(project(R, b, a), b > 5), project(L, a, b))
G = group(whole, [a], n = count(), s = sum(b))
numbered = project(whole, id = number(b, a), *)
output numbered to "o.h5:numbered"
output right to "o.h5:right"
output outer to "o.h5:outer"
output whole to "o.h5:whole"
output G to "o.h5:G"
END
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        for i in right outer whole G numbered; do tra export -q --to csv o.h5:$i -o $i.csv; done
        "$PYTHON" - <<'END'
import csv, sqlite3
db = sqlite3.connect("joins.db")
def same(name, sql):
    want = [["" if v is None else str(v) for v in r] for r in db.execute(sql)]
    have = list(csv.reader(open(name + ".csv")))[1:]
    assert have == want, (name, len(have), len(want), [x for x in zip(have, want) if x[0] != x[1]][:3])
last = "order by l.rowid is null, l.rowid, r.rowid"
same("right", f"select coalesce(l.a, r.a), l.b, l.s, r.b, r.t from l right join r on l.a = r.a {last}")
same("outer", f"select coalesce(l.a, r.a), l.b, l.s, r.b, r.t from l full join r on l.a = r.a and r.b > l.b {last}")
both = "select 0 k, rowid i, a, b from l union all select 1, rowid, a, b from r where b > 5 union all select 2, rowid, a, b from l"
same("whole", f"select a, b from ({both}) order by k, i")
rank = "dense_rank() over (order by b, a is null, a) - 1"
same("numbered", f"select {rank}, a, b from ({both}) order by k, i")
same("G", f"select a, count(*), sum(b) from ({both}) group by a order by a is null, a")
END
    done
}

@test "expect and matched name the first row of either table that breaks them" {
    printf 'a,v\n1,10\n2,20\n3,30\n2,40\n' >l.csv
    printf 'a,w\n2,1\n1,2\n3,3\n9,4\n1,5\n' >r.csv
    tra import -q --table --block 2 l.csv -o l.h5
    tra import -q --table --block 2 r.csv -o r.h5
    tried() {
        printf 'input L from "l.h5"\ninput R from "r.h5"\nJ = join(L, R, a == a, %s)\noutput J to "j.h5"\n' "$2" >p.tra
        status "$1" tra run -q p.tra
    }
    tried 3 'expect = "m:1"'
    has 'row 4 of the right table has the key that row 1 has'
    tried 3 'expect = "1:m"'
    has 'row 3 of the left table has the key that row 1 has'
    tried 3 'expect = "1:1"'
    tried 3 'matched = right'
    has 'row 3 of the right table has no partner'
    tried 3 'matched = all, how = outer'
    tried 0 'matched = left, how = outer'
    tried 2 'expect = "2:1"'
}

@test "what a matrix cannot hold, and what could not be computed, names row and column" {
    table
    printf 'input T from "t.h5"\nX = matrix(T, [g, u])\noutput X to "x.h5"\n' >p.tra
    status 3 tra run -q p.tra
    row=$(sed -n 's/.*row \([0-9]*\): column `g` is NULL.*/\1/p' <<<"$output")
    [ -n "$row" ]
    [ $((row % 17)) = 0 ]
    [ ! -e x.h5 ]
    printf 'input T from "t.h5"\nX = matrix(T, [g, u], fill = -1)\ns[a] = sum X[n,a]\noutput s to "s.h5"\n' >p.tra
    status 0 tra run -q p.tra
    close "$(tra head s.h5)" "$(of '[np.where(g == g, g, -1).sum(), u.sum()]')"
    printf 'input T from "t.h5"\nR = project(T, big = (g + 4611686018427387904) * 2)\noutput R to "r.h5"\n' >p.tra
    status 3 tra run -q p.tra
    has "big"
    [ ! -e r.h5 ]
    printf 'input T from "t.h5"\nR = project(T, u, big = (g + 4611686018427387904) * 2)\n' >p.tra
    printf 'S = project(R, u)\noutput S to "r.h5"\n' >>p.tra
    status 0 tra run -q p.tra
}

@test "a row is named by its place in the file, through projections and several selections" {
    for i in {0..9999}; do echo "$i,$((i == 7777 ? 0 : 5))"; done | sed 's/,0$/,/' | (echo i,v && cat) >t.csv
    tra import -q --table --block 5000 t.csv -o t.h5
    cat >p.tra <<'END2'
input T from "t.h5"
A = select(T, i >= 0)
B = select(A, i % 7 == 0)
P = project(B, i, v, j = i div 7)
S = select(P, j % 11 == 0 && j % 2 == 1)
X = matrix(S, [v])
output X
END2
    status 3 tra run -q p.tra
    has 'row 7777: column `v` is NULL'
}

@test "a run says how many values are NULL since an integer was divided by zero: a tuple once, whoever computes it" {
    for i in {0..999}; do echo "$i,$((i % 10)),$((i % 4))"; done | (echo a,b,c && cat) >t.csv
    for i in {0..9}; do echo "$i,$((i % 3))"; done | (echo k,w && cat) >k.csv
    tra import -q --table --block 100 t.csv -o t.h5
    tra import -q --table --block 5 k.csv -o k.h5
    cat >p.tra <<'END2'
input T from "t.h5"
input K from "k.h5"
P = project(T, a, q = a % b, r = if(b == 0, 0, a div b), x = a / b)
S = select(P, q == 1)
C = select(T, a % c == 1)
G = group(T, [k = a div b], n = count(), m = sum(a % c))
J = join(T, K, b == k && a % w == 0)
X = matrix(P, [a], fill = 0)
s[j] = sum X[n,j]
output P
output S
output C
output G
output J
output s
END2
    for sites in 1 3; do
        for ceiling in 512M 64M; do
            rm -f [A-Zs].h5
            status 0 tra run --sites $sites --memory $ceiling --threads 1 p.tra --profile p.json
            echo "$output"
            [ "$(grep -c 'divided by zero' <<<"$output")" = 4 ]
            has 'p.tra:3: P: 100 values of column `q` are NULL, since an integer was divided by zero'
            has "p.tra:5: C: 250 values of a condition are NULL"
            has 'p.tra:6: G: 350 values of column `k` and others are NULL'
            has "p.tra:7: J: 400 values of a condition are NULL"
            py 'm = json.load(open("p.json"))["plans"][0]
assert sum(o["measured"].get("divided_by_zero", 0) for o in m["operators"]) == 1100, m'
        done
    done
    printf 'input T from "t.h5"\nP = project(T, q = ifnull(a %% b, 0))\noutput P\n' >p.tra
    status 0 tra run p.tra
    lacks "zero"
}

@test "groups by few values fit the least ceiling, whatever the rows of a block" {
    awk 'BEGIN { print "few,k"; for (i = 0; i < 120000; i++) print substr("aabbcc", i % 3 * 2 + 1, 2) "," i }' >t.csv
    tra import -q t.csv --block 20000 -o t.h5
    printf 'input t from "t.h5"\ng = group(t, [few], n = count(), s = sum(k))\noutput g\n' >p.tra
    for threads in 1 2; do
        status 4 tra run -v --threads $threads --memory 1K p.tra
        status 0 tra run -q --threads $threads --memory "$(exactly)" p.tra
        is "few,n,s aa,40000,2399940000 bb,40000,2399980000 cc,40000,2400020000" eval "tra export -q g.h5 -o - --to csv | xargs"
    done
}

@test "the first row that cannot be computed is named, with the statement, whatever threads fail first" {
    py 'with open("t.csv", "w") as f:
    f.write("a,b,g\n")
    for i in range(2000): f.write(f"{i},{9 * 10**18 if i in (137, 555, 1999) else i},{i % 7}\n")'
    tra import -q --block 100 t.csv --table -o t.h5
    fails() { # STATEMENT MESSAGE SITES...
        local how
        printf 'input T from "t.h5"\nP = project(T, a, c = b * 2, g)   # (not "here: [\n%s\noutput R\n' "$1" >p.tra
        for how in "${@:3}"; do
            for _ in 1 2 3; do
                status 3 tra run -q p.tra --sites "${how% *}" --threads "${how#* }"
                has "$2"
                rm -rf "$TRA_SCRATCH"/tra-*
            done
        done
    }
    fails 'R = select(T, b * 2 > 5)' "p.tra:3: R: row 137: the predicate could not be computed" "1 2" "3 1"
    fails 'R = group(P, [g],
    s = sum(c))' "p.tra:3: R: row 137: \`s\`, by which rows are grouped or which is aggregated" "1 1" "1 2"
    fails 'R = order(P, [g, c])' "p.tra:3: R: row 137: \`c\`, by which rows are ordered, could not be computed" "1 2" "3 1"
    fails 'R = matrix(P, [c])' "p.tra:3: R: row 137: column c could not be computed" "1 2" "3 1"
    fails 'R = group(T, [g], s = sum(b))' "p.tra:3: R: sum: the total \`s\` of group 4" "1 2" "3 1"
    tra import -q t.csv --table -o t.h5 # whole tables are joined by another kernel than parts
    for s in 'P, T, c == a' 'T, P, a == c' 'P, T, g == g && c == a' 'T, P, g == g && a == c, how = semi'; do
        fails "R = join($s, prefix = \"r_\")" "p.tra:3: R: row 137: a key of the join could not be computed" "1 2"
    done
}

@test "of a block of which few rows are selected the other columns are read for these rows: the same tables" {
    py 'import random
r = random.Random(3)
with open("t.csv", "w") as f:
    f.write("k,q,s,u,b,d,x,n,f\n")
    for i in range(6000):
        row = [r.randrange(900), i // 5, "w%d" % r.randrange(700), "v%d" % r.randrange(9), r.choice(["true", "false"]),
               "2020-01-%02d" % r.randrange(1, 29), r.random(), r.choice(["", str(r.randrange(2**40))]), r.choice(["", "1.5", "2.25"])]
        f.write(",".join(map(str, row)) + "\n")'
    for codec in none zstd; do
        tra import -q t.csv -o t.h5 --block 1000 --codec $codec
        for p in 'k == 17' 'k < 20 && s != "w5"' 'k < 0' 'q < 30' 'isnull(n) && k == 5' 'u == "v3" && 1 / (k - 17) == 0' 'k < 800'; do
            printf 'input t from "t.h5"\nA = select(t, %s)\ng = group(select(t, %s), [u], m = max(x), c = count(), l = max(s))\noutput A to "A.h5"\n' \
                "$p" "$p" >a.tra
            printf 'input t from "t.h5"\ng = group(select(t, %s), [u], m = max(x), c = count(), l = max(s))\noutput g to "A.h5"\n' "$p" >g.tra
            for program in a g; do
                status 0 tra run $program.tra; cp A.h5 own.h5
                told=$(grep -c "divided by zero" <<<"$output" || true)
                status 0 tra run --engine reference $program.tra
                [[ $told == $(grep -c "divided by zero" <<<"$output" || true) ]]
                status 0 tra diff own.h5 A.h5
                status 0 tra run -q --sites 2 --threads 1 $program.tra
                status 0 tra diff own.h5 A.h5
            done
        done
    done
}

@test "of a block whose first rows by an order are wanted the other columns are read for these rows: the same tables" {
    py 'import random
r = random.Random(4)
with open("t.csv", "w") as f:
    f.write("k,s,w,x,n\n")
    for i in range(5000):
        f.write("%d,%s,w%d,%r,%s\n" % (r.randrange(60), r.choice("zebra apple quince".split()), r.randrange(900), r.random(), r.choice(["", "3", "9"])))'
    for types in k=i64 s=text,w=text; do
        tra import -q t.csv -o t.h5 --block 1000 --types $types
        for o in '[k desc]), 7' '[s, k]), 20, from = 3' '[n desc, w]), 5' '[x]), 1' '[k]), 900'; do
            printf 'input t from "t.h5"\nA = limit(order(t, %s)\noutput A to "A.h5"\n' "$o" >a.tra
            status 0 tra run -q a.tra; cp A.h5 own.h5
            status 0 tra run -q --engine reference a.tra
            status 0 tra diff own.h5 A.h5
            status 0 tra run -q --sites 2 --threads 1 a.tra
            status 0 tra diff own.h5 A.h5
        done
    done
}

@test "only the strings of columns that a program uses are read, and they are checked" {
    printf 'a,b,x\n' >t.csv
    for i in {1..3000}; do echo "left $i,right $i,$i"; done >>t.csv
    tra import -q t.csv -o t.h5
    printf 'input t from "t.h5"\nO = group(t, [a], s = sum(x))\noutput O\n' >a.tra
    printf 'input t from "t.h5"\nO = group(t, [b], s = sum(x))\noutput O\n' >b.tra
    py 'with h5py.File("t.h5", "r+") as f: # strings of b are the last ones
    s = f[".tra/data/strings"]
    s[len(s) - 2] ^= 1'
    status 0 tra run -q a.tra
    status 3 tra run -q b.tra; has "dictionaries"
    py 'with h5py.File("t.h5", "r+") as f:
    del f[".tra/data/string_sums"]'
    status 3 tra run -q a.tra; has "dictionaries"
}

# strings OPERATOR LEAST MOST: what OPERATOR makes of t.h5: the bytes that explain tells and those that the run counts
# are the file's without its statistics, but for 5 in 100 and what each file has; they are LEAST to MOST.
strings() {
    printf 'input t from "t.h5"\nO = %s\noutput O\n' "$1" >s.tra
    for sites in 1 2; do
        status 0 tra explain --sites $sites --format json s.tra
        told=$(json plans.0.disk_write_bytes)
        status 0 tra run -q --sites $sites --threads 1 s.tra --profile s.json
        status 0 py 'import os
counted = json.load(open("s.json"))["plans"][0]["measured"]["disk_write_bytes"]
told, least, most = map(int, sys.argv[1:])
with h5py.File("O.h5") as f:
    known = sum(v.nbytes for n, v in f[".tra/data"].items() if not n.startswith("string"))
file = os.path.getsize("O.h5") - known
assert least <= counted <= most, counted
assert abs(told - counted) <= max(4096, 0.05 * counted) and -16384 <= file - counted <= 0.05 * file + 65536, (told, counted, file)' \
            "$told" "$2" "$3"
    done
}

@test "the strings that a table's file holds are among the bytes that are told and counted" {
    py 'with open("t.csv", "w") as f:
    f.write("k,s,t\n")
    for i in range(40000): f.write(f"{i},{i * 7919 % 40000} of them,kind {i % 5}\n")'
    tra import -q t.csv -o t.h5 --block 10000
    strings 'order(t, [k desc])' 2600000 3600000
    strings 'limit(order(t, [k desc]), 100)' 5000 30000
}
