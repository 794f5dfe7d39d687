# Across the border between tables and tensors: matrices back as tables, labels that come with them.
load helper

table() {
    printf 'city,a,b,c\nX,1,2.5,7\nY,3,4,8\nX,5,6,9\nZ,7,8.5,1\n' >t.csv
    tra import -q t.csv -o t.h5
}

# program SITES TEXT: runs it on so many sites.
program() {
    printf '%s\n' "$2" >p.tra
    status 0 tra run -q --sites "$1" p.tra
}

@test "the covariance of columns comes back as a table that says which columns, and joins with others" {
    table
    printf 'column,unit\na,m\nc,kg\n' >units.csv
    status 0 tra import -q units.csv -o units.h5
    for sites in 1 3; do
        program $sites 'input t from "t.h5"
input units from "units.h5"
M = matrix(t, [a, b, c])
C[i,j] = sum M[n,i] * M[n,j]
E = project(join(entries(C), units, i == column), drop(column))
W = table(C)
output E to "e.h5"
output W to "w.h5"'
        is "$(printf 'i,j,value,unit\na,a,84,m\na,b,104,m\na,c,83,m\nc,a,83,kg\nc,b,112,kg\nc,c,195,kg')" tra head e.h5
        is "$(printf 'i,a,b,c\na,84,104,83\nb,104,130.5,112\nc,83,112,195')" tra head w.h5
    done
}

@test "entries of tensors of every rank are their elements with positions, whatever their blocks" {
    "$PYTHON" -c '
import numpy as np
np.save("s.npy", np.array(2.5))
np.save("v.npy", np.arange(7) * 1.5)
np.save("m.npy", np.arange(30).reshape(5, 6))
np.save("k.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))'
    for x in "s 0 -" "v 1 3" "m 2 2x4" "k 3 2x2x3"; do
        set -- $x
        block=()
        [ "$3" = - ] || block=(--block "$3")
        status 0 tra import -q "${block[@]}" "$1.npy" -o "$1.h5"
        for sites in 1 3; do
            program $sites "input X from \"$1.h5\"
E = entries(X)
output E to \"e.h5\""
            status 0 tra export -q e.h5 -o e.csv
            status 0 "$PYTHON" -c '
import csv, sys, numpy as np
x = np.load(sys.argv[1] + ".npy")
rows = list(csv.reader(open("e.csv")))
assert rows[0] == [f"i{d}" for d in range(x.ndim)] + ["value"], rows[0]
want = [[str(i) for i in at] + [float(v)] for at, v in np.ndenumerate(x)]
assert [r[:-1] + [float(r[-1])] for r in rows[1:]] == want, rows' "$1"
        done
    done
}

@test "of what is sparse by type entries are those elements that are not 0, stored zeros are none" {
    "$PYTHON" -c '
import scipy.sparse as sp, scipy.io as io
a = sp.random(40, 70, density=0.03, random_state=1, format="coo")
a.data[:5] = 0
io.mmwrite("a.mtx", a)'
    status 0 tra import -q --storage csr --block 16x30 a.mtx -o a.h5
    for sites in 1 3; do
        program $sites 'input A from "a.h5"
B[i,j] = A[i,j] * 2
E = entries(B)
N = rows(E)
output E to "e.h5"
output N to "n.h5"'
        status 0 tra export -q e.h5 -o e.csv
        status 0 "$PYTHON" -c '
import csv, numpy as np, scipy.io as io
a = np.asarray(io.mmread("a.mtx").todense()) * 2
rows = list(csv.reader(open("e.csv")))
want = [(i, j, a[i, j]) for i in range(40) for j in range(70) if a[i, j] != 0]
assert rows[0] == ["i", "j", "value"], rows[0]
assert [(int(r[0]), int(r[1]), float(r[2])) for r in rows[1:]] == want'
    done
}

@test "a matrix of rows that only the run counts becomes a table again, which makes a matrix again" {
    table
    program 2 'input t from "t.h5"
S = select(t, a > 1)
T = table(matrix(S, [a, d = b * 2]))
M = matrix(T, [d])
N = matrix(S, [b])
D[i,j] = sum M[n,i] * N[n,j]
output T to "t2.h5"
output D to "d.h5"'
    is "$(printf 'a,d\n3,8\n5,12\n7,17')" tra head t2.h5
    is $'i,b\nd,248.5' tra head d.h5
}

@test "labels pass through solve, and two orders of columns in one label are an error that names the first" {
    table
    program 1 'input t from "t.h5"
X = matrix(t, [a, b])
y = matrix(t, [c])
XX[i,j] = sum X[n,i] * X[n,j]
Xy[i,k] = sum X[n,i] * y[n,k]
T = table(solve(XX, Xy))
output T to "beta.h5"'
    status 0 tra export -q beta.h5 -o beta.csv
    is "$(printf 'column\na\nb')" cut -d, -f1 beta.csv
    is c sh -c 'head -n 1 beta.csv | cut -d, -f2'
    printf '%s\n' 'input t from "t.h5"' 'A = matrix(t, [a, b])' 'B = matrix(t, [b, a])' \
        'C[n,i] = A[n,i] + B[n,i]' 'output C to "c.h5"' >p.tra
    status 2 tra check p.tra
    [[ $output == *"label 'i' stands for different things: position 0 is 'a' in A, 'b' in B"* ]]
}

@test "columns whose blocks a rekey exchanges have the names of others no more" {
    printf 'a,b\n1,10\n2,20\n3,30\n' >u.csv
    tra import -q --table u.csv -o u.h5
    printf '%s\n' 'input T from "u.h5"' 'X = reblock(matrix(T, [a, b]), [2, 1])' \
        'R = rekey(X, (i, j) -> (i, 1 - j))' \
        'U = table(X)' 'V = table(R)' 'output U' 'output V' >p.tra
    status 0 tra run -q p.tra
    is $'a,b\n1,10\n2,20\n3,30' tra head U.h5
    is $'c0,c1\n10,1\n20,2\n30,3' tra head V.h5
}

@test "what is no table, or too wide a one, is refused with what to do" {
    table
    printf '%s\n' 'input t from "t.h5"' 'E = entries(t)' 'output E to "e.h5"' >p.tra
    status 2 tra check p.tra
    [[ $output == *"this is a table already"* ]]
    status 0 tra gen -q --shape 2x3x4 --seed 1 -o k.h5
    printf '%s\n' 'input X from "k.h5"' 'E = table(X)' 'output E to "e.h5"' >p.tra
    status 2 tra check p.tra
    [[ $output == *"not a tensor of rank 3"* ]]
}

@test "pivot is a matrix labelled by the values of two keys, sparse, as numpy makes it, on 1 and 3 ranks" {
    "$PYTHON" - <<'EOF'
import random
random.seed(5)
with open("r.csv", "w") as f:
    f.write("who,day,n,w\n")
    for i in range(4000):
        f.write(f"p{random.randint(0, 299):03d},{random.choice([-5, 3, 8, 100, 7000]) + random.randint(0, 60)},"
                f"{random.randint(-3, 9)},{random.random():.6f}\n")
EOF
    status 0 tra import -q --table --block 700 r.csv -o r.h5
    for sites in 1 3; do
        program $sites 'input r from "r.h5"
P = pivot(select(r, n != 4), who, day, n, sum)
Q = pivot(r, day, who, w, mean)
E = entries(P)
R[d] = sum P[p,d]
T = table(R)
S[d,e] = sum Q[d,p] * Q[e,p]
output P to "p.h5"
output Q to "q.h5"
output E to "e.h5"
output T to "t.h5"
output S to "s.h5"'
        for f in e t; do status 0 tra export -q $f.h5 -o $f.csv; done
        for f in p q s; do status 0 tra export -q $f.h5 -o $f.npy; done
        status 0 "$PYTHON" - <<'EOF'
import csv, numpy as np
rows = [(r["who"], int(r["day"]), int(r["n"]), float(r["w"])) for r in csv.DictReader(open("r.csv"))]
who, day = sorted({r[0] for r in rows}), sorted({r[1] for r in rows})
p, q, count = (np.zeros((len(who), len(day))) for _ in range(3))
for a, b, n, w in rows:
    i, j = who.index(a), day.index(b)
    p[i, j] += n if n != 4 else 0
    q[i, j] += w
    count[i, j] += 1
q[count > 0] /= count[count > 0]
assert (np.load("p.npy") == p).all()
assert np.allclose(np.load("q.npy"), q.T, rtol=1e-12)
assert np.allclose(np.load("s.npy"), q.T @ q, rtol=1e-12)
e = list(csv.reader(open("e.csv")))
assert e[0] == ["who", "day", "value"]
assert [(r[0], int(r[1]), int(r[2])) for r in e[1:]] == \
    [(a, b, p[i, j]) for i, a in enumerate(who) for j, b in enumerate(day) if p[i, j]]
t = list(csv.reader(open("t.csv")))
assert [[int(v) for v in r] for r in t[1:]] == [[b, p[:, j].sum()] for j, b in enumerate(day)]
EOF
    done
    run tra info p.h5
    [[ $output == *"csr"* ]]
}

@test "keys of pivot may have more values than statistics list" {
    "$PYTHON" -c '
import random
r = random.Random(3)
with open("r.csv", "w") as f:
    f.write("who,k,n\n")
    for i in r.sample(range(90000), 90000): f.write(f"{i * 7 - 1000},{i % 3},{i % 5 + 1}\n")
    f.write(",1,2\n")'
    status 0 tra import -q --table --block 4096 r.csv -o r.h5
    printf '%s\n' 'input r from "r.h5"' 'P = pivot(select(r, !isnull(who)), who, k, n, sum)' 'output P to "p.h5"' >p.tra
    status 0 tra run -q --sites 2 p.tra
    status 0 "$PYTHON" -c '
import h5py, numpy as np
f = h5py.File("p.h5")
assert (f["data.who"][()] == np.arange(90000) * 7 - 1000).all()'
    status 0 tra export -q p.h5 -o p.npy
    status 0 "$PYTHON" -c '
import numpy as np
i = np.arange(90000)
want = np.zeros((90000, 3))
want[i, i % 3] = i % 5 + 1
assert (np.load("p.npy") == want).all()'
}

@test "a NULL key or value of pivot, and keys whose values nobody knows, are errors that say what to do" {
    printf 'a,b,v\nx,y,1\n,y,2\nz,y,\n' >n.csv
    status 0 tra import -q --table n.csv -o n.h5
    printf '%s\n' 'input n from "n.h5"' 'P = pivot(n, a, b, v, sum)' 'output P to "p.h5"' >p.tra
    status 3 tra run -q p.tra
    [[ $output == *'a value of pivot, sum(v), is NULL; ifnull'* ]]
    sed -i 's/b, v, sum/b, ifnull(v, 0), sum/' p.tra
    status 3 tra run -q p.tra
    [[ $output == *'a key of pivot is NULL in column `a`; select'* ]]
    sed -i 's/pivot(n,/pivot(select(n, !isnull(a)),/' p.tra
    status 0 tra run -q p.tra
    sed -i 's/P = pivot.*/P = pivot(n, k = row() % 3, b, v, sum)/' p.tra
    tra check p.tra # the values of keys that only a run tells are found by one
    sed -i 's/P = pivot.*/P = pivot(project(n, k = ifnull(v, 7) * 2, b), k, b, 1, sum)/' p.tra
    tra run -q p.tra
    py 'assert h5py.File("p.h5")["data"].shape == (3, 1)'
    sed -i 's/P = pivot.*/P = pivot(n, k = v * 0.5, b, v, sum)/' p.tra
    status 2 tra check p.tra
    [[ $output == *"is not known before the program runs"* ]]
    has "such keys are strings, integers, bools, dates and timestamps"
}

@test "a pivot by a column that has no values is an error that names the column" {
    printf 's,k,v\n,1,1\n,2,2\n' >n.csv
    status 0 tra import -q --table --types s=string n.csv -o n.h5
    printf 's,k,v\n' >e.csv
    status 0 tra import -q --table --types s=string,k=i32,v=f64 e.csv -o e.h5
    for how in "n s k rows s" "n k s columns s" "e s k rows s" "e k s rows k"; do
        set -- $how
        printf '%s\n' "input t from \"$1.h5\"" "P = pivot(select(t, !isnull(s)), $2, $3, v, sum)" \
            'Q[i,j] = sum P[i,k] * P[j,k]' 'E = entries(P)' 'output Q to "q.h5"' 'output E to "f.h5"' >p.tra
        for engine in tra reference; do
            status 2 tra run -q --engine $engine p.tra
            has "column '$5' has no values, so the matrix would have no $4"
        done
    done
}

@test "the reference engine writes tables, and matrices of rows that only the run counts, as the executor does" {
    table
    printf '%s\n' 'input t from "t.h5"' 'S = select(t, a > 1)' 'X = matrix(S, [a, b])' 'N = select(t, a > 100)' \
        'Z = matrix(N, [a, b])' 'G = group(S, [city], n = count(), v = sum(c))' 'E = entries(matrix(t, [a, c], type = i64))' \
        'output S to "s.h5"' 'output X to "x.h5"' 'output N to "n.h5"' 'output G to "g.h5"' 'output E to "e.h5"' 'output Z to "z.h5"' >p.tra
    for engine in executor reference; do
        rm -f [sxngez].h5
        if [ $engine = reference ]; then status 0 tra run -q --engine reference p.tra; else status 0 tra run -q p.tra; fi
        for f in s x n g e z; do
            status 0 tra verify -q $f.h5
            tra digest $f.h5
        done >$engine.txt
        mv z.h5 $engine.h5
    done
    status 0 cmp executor.txt reference.txt
    status 0 "$PYTHON" -c '
import h5py
for engine in "executor", "reference":
    assert h5py.File(engine + ".h5")["data"].shape == (0, 2), engine'
}

@test "pivot of groups that come in parts has blocks of rows: any aggregate, labels, entries, tables and products of it" {
    "$PYTHON" - <<'EOF'
import random
r = random.Random(3)
with open("r.csv", "w") as f:
    f.write("who,k,n,on,v\n")
    for _ in range(8000):
        on = random.Random(r.random()).choice(["true", "false"])
        f.write(f"p{r.randint(0, 999):03d},{r.randint(-9, 9)},{r.randint(-2, 5)},{on},{r.randint(-9, 9) / 8}\n")
EOF
    status 0 tra import -q --table --block 256 r.csv -o r.h5
    program_text='input r from "r.h5"
P = pivot(r, who, k, n, sum)
Q = pivot(r, k, who, v, max)
B = pivot(r, who, k, on, any)
E = entries(P)
S[w] = sum P[w,k]
T = table(S)
C[i,j] = sum P[w,i] * P[w,j]
'
    for x in P Q B E T C; do program_text+="output $x to \"$x.h5\""$'\n'; done
    for sites in 1 3; do
        rm -f [PQBETC].h5
        program $sites "$program_text"
        [ $sites != 1 ] || tra digest [PQBETC].h5 >one.txt
    done
    status 0 sh -c "\"$TRA\" digest [PQBETC].h5 | cmp - one.txt"
    run tra info P.h5
    has "blocks      "
    lacks " 1 tuple,"
    status 0 tra run -q --engine reference p.tra
    status 0 sh -c "\"$TRA\" digest [PQBETC].h5 | cmp - one.txt"
    for f in P Q B C; do status 0 tra export -q $f.h5 -o $f.npy; done
    for f in E T; do status 0 tra export -q $f.h5 -o $f.csv; done
    status 0 "$PYTHON" - <<'EOF'
import csv, numpy as np
rows = list(csv.DictReader(open("r.csv")))
who, k = sorted({r["who"] for r in rows}), sorted({int(r["k"]) for r in rows})
p, b = np.zeros((len(who), len(k))), np.zeros((len(who), len(k)), bool)
q = np.full((len(k), len(who)), -np.inf)
for r in rows:
    i, j = who.index(r["who"]), k.index(int(r["k"]))
    p[i, j] += int(r["n"])
    b[i, j] |= r["on"] == "true"
    q[j, i] = max(q[j, i], float(r["v"]))
q[np.isinf(q)] = 0
for name, want in ("P", p), ("B", b), ("Q", q), ("C", p.T @ p):
    got = np.load(name + ".npy")
    assert got.shape == want.shape and (got == want).all(), name
assert np.load("B.npy").dtype == bool
e = list(csv.reader(open("E.csv")))
assert [(r[0], int(r[1]), int(r[2])) for r in e[1:]] == \
    [(w, x, p[i, j]) for i, w in enumerate(who) for j, x in enumerate(k) if p[i, j]]
assert [(r[0], int(r[1])) for r in list(csv.reader(open("T.csv")))[1:]] == list(zip(who, p.sum(1)))
EOF
    printf 'p000,,1,true,0\n' >>r.csv
    status 0 tra import -q --table --block 256 r.csv -o r.h5
    printf '%s\n' 'input r from "r.h5"' 'P = pivot(r, who, k, n, sum)' 'output P' >p.tra
    status 3 tra run -q p.tra
    has 'a key of pivot is NULL in column `k`'
    sed -i 's/who, k/k, who/' p.tra
    status 3 tra run -q p.tra
    has 'a key of pivot is NULL in column `k`'
}

@test "columns that are made of labels get names of their own" {
    printf 'v,w\n1,2\n3,4\n' >t.csv
    tra import -q --table t.csv -o t.h5
    cat >p.tra <<'END2'
input t from "t.h5"
X = matrix(t, [i0 = v, w = v])
C[i0,b] = sum X[n,i0] * X[n,b]
T = table(C)
D[i1,value] = C[i1,value]
E = entries(D)
output T; output E
END2
    status 0 tra run -q p.tra
    is "i1,i0,w i0,10,10 w,10,10" eval "tra export -q T.h5 -o - --to csv | xargs"
    names=$(tra export -q E.h5 -o - --to csv | head -1)
    is 3 eval "tr , '\n' <<<'$names' | sort -u | wc -l"
}

@test "dates, timestamps and bools as keys of pivot come back as such, and as names of columns" {
    printf 'who,day,ts,on,v,value\na,2020-01-01,2020-01-01 10:00:00,true,1,5\nb,2020-01-02,2020-01-01 11:00:00,false,2,6\na,2020-01-02,2020-01-01 10:00:00,true,3,7\n' >t.csv
    tra import -q --table t.csv -o t.h5
    while IFS='|' read -r key names entries; do
        program 2 "input t from \"t.h5\"
P = pivot(t, who, $key, v, sum)
T = table(P)
E = entries(P)
W = table(pivot(t, $key, who, v, sum))
output P; output T; output E; output W"
        is "who,$names" eval "tra export -q T.h5 -o - --to csv | head -n 1"
        is "$entries" eval "tra export -q E.h5 -o - --to csv | tr '\n' ';'"
        is "$names" eval "tra export -q W.h5 -o - --to csv | tail -n +2 | cut -d , -f 1 | paste -sd ,"
        run tra info P.h5
        has ": ${names//,/, }"
    done <<'END2'
day|2020-01-01,2020-01-02|who,day,value;a,2020-01-01,1;a,2020-01-02,3;b,2020-01-02,2;
ts|2020-01-01 10:00:00,2020-01-01 11:00:00|who,ts,value;a,2020-01-01 10:00:00,4;b,2020-01-01 11:00:00,2;
on|false,true|who,on,value;a,true,4;b,false,2;
value|5,6,7|who,i1,value;a,5,1;a,7,3;b,6,2;
END2
    program 1 'input t from "t.h5"
P = entries(pivot(t, day, day2 = day, v, sum))
output P'
    is "day,day2,value 2020-01-01,2020-01-01,1 2020-01-02,2020-01-02,5" eval "tra export -q P.h5 -o - --to csv | xargs"
}

@test "what pivot does not take is said in its own words" {
    printf 'who,k,v\na,1,1\nb,2,2\n' >t.csv
    tra import -q --table t.csv -o t.h5
    while IFS='|' read -r call at message; do
        printf 'input t from "t.h5"\nP = %s\noutput P\n' "$call" >p.tra
        status 2 tra check p.tra
        has "p.tra:2:$at: error: $message"
    done <<'END2'
pivot(t, length(who), k, v, sum)|14|a key of pivot that is computed has a name: name = expression
pivot(t, who, who, v, sum)|19|both keys of the pivot are called 'who'
pivot(t, who, k, v, quantile)|25|pivot takes aggregates of one argument, and quantile has two
pivot(t, who, k, v, total)|25|there is no aggregate 'total'
END2
    printf 'input t from "t.h5"\nP = pivot(t, who, k, v, std)\noutput P\n' >p.tra
    for engine in tra reference; do
        status 3 tra run -q --engine $engine p.tra
        has "a value of pivot, std(v), is NULL; of fewer than two values there is none: group the table first"
    done
}

@test "nearly as many groups as rows are made without states; pivoted, their sums and what does not fit" {
    "$PYTHON" -c '
import random
random.seed(5)
print("a,b,n")
for i in range(900): print(f"{random.randint(0, 5000)},k{random.randint(0, 40):02d},{random.randint(-9, 9)}")' >e.csv
    tra import -q --table --block 500 e.csv -o e.h5
    local text='input E from "e.h5"
X    = pivot(E, a, b, n, sum)
s[b] = sum X[a,b]
t[a] = sum X[a,b]
S = table(s)
G = group(E, [b], n = sum(n))
H = group(E, [a, b], n = sum(n), m = min(n), f = first(n), k = count())
output S to "o.h5:S"
output t to "o.h5:t"
output G to "o.h5:G"
output H to "o.h5:H"'
    printf '%s\n' "$text" >p.tra
    status 0 tra explain --operators --color never p.tra
    [[ $output != *"partial group([a"* && $output == *"partial group([b"* ]]
    for sites in 1 2; do
        program $sites "$text"
        for i in S G H; do tra export -q --to csv o.h5:$i -o $i.csv; done
        status 0 "$PYTHON" -c '
import csv, h5py
rows = [(int(r["a"]), r["b"], int(r["n"])) for r in csv.DictReader(open("e.csv"))]
have = lambda f: [tuple(r) for r in list(csv.reader(open(f + ".csv")))[1:]]
def groups(key):
    g = {}
    for r in rows: g.setdefault(key(r), []).append(r[2])
    return sorted(g.items())
b = [(k, str(sum(v))) for k, v in groups(lambda r: r[1])]
assert have("G") == b and have("S") == b, (have("S"), b)
assert have("H") == [(str(k[0]), k[1], str(sum(v)), str(min(v)), str(v[0]), str(len(v)))
                     for k, v in groups(lambda r: r[:2])], have("H")
with h5py.File("o.h5") as f: assert f["t"][()].tolist() == [sum(v) for k, v in groups(lambda r: r[0])]'
    done
    printf '6001,k00,9223372036854775807\n6002,k00,900\n' >>e.csv
    tra import -q --table e.csv -o e.h5
    printf '%s\n' 'input E from "e.h5"
X    = pivot(E, a, b, n, sum)
s[b] = sum X[a,b]
output s' >p.tra
    status 3 tra run -q p.tra
    [[ $output == *"does not fit"* ]]
}

@test "a matrix of selected rows may have all elements of all rows" {
    printf '%s\n' 'input T : table [a: f64, b: f64, c: f64, d: f64] rows 12000 by 1024' \
        'X = matrix(select(select(T, a > 0), b > 0), [a, b, c, d])' 'output X' >p.tra
    status 0 tra check p.tra
    has "at most 378 KiB" # 12000 x 4 elements, and what says how many
}

@test "keys of pivot that are computed have the values that come of those of their columns, as numpy has it" {
    "$PYTHON" -c '
import random
r = random.Random(8)
print("day,k,on,n")
for i in range(900):
    print(f"{r.choice([2017, 2019])}-{r.randint(1, 12):02}-11,{r.choice([-7, -2, 4, 5, 90, str()])},{r.choice([str(), 0, 1])},{i}")' >t.csv
    status 0 tra import -q --table --block 100 --types on=bool t.csv -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'P = pivot(t, m = month(day), k = ifnull(k, 3) % 4, n, sum)' \
        'Q = pivot(t, later = year(day) > 2017, s = ifnull(k, 0) * 10 + if(ifnull(on, true), 1, 0), n, max)' \
        'E = entries(Q)' 'output P' 'output Q' 'output E' >p.tra
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        for name in P Q; do status 0 tra export -q $name.h5 -o $name.npy; done
        status 0 py '
t = [l.split(",") for l in open("t.csv").read().split()[1:]]
P, Q = {}, {}
for day, k, on, n in t:
    key = int(day[5:7]), int(k or 3) % 4
    P[key] = P.get(key, 0) + int(n)
    key = day[:4] > "2017", int(k or 0) * 10 + (on != "0")
    Q[key] = max(Q.get(key, 0), int(n))
for name, want in ("P", P), ("Q", Q):
    rows, columns = (sorted({k[i] for k in want}) for i in (0, 1))
    have = np.load(f"{name}.npy")
    assert have.shape == (len(rows), len(columns)), have.shape
    assert all(have[rows.index(r), columns.index(c)] == v for (r, c), v in want.items())
    assert have.sum() == sum(want.values())'
        status 0 tra run -q --engine reference p.tra
    done
    run bash -c '"$1" head -n 1 E.h5' - "$TRA"
    has "later,s,value"
}
