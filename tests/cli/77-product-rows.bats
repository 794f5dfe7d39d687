# Rule Q-5: rows and columns of products that are selected, of operands from which the others were left out.
load helper

@test "Q-5: a slice of a product is a product of slices" {
    status 0 tra gen -q --shape 60x40 --block 10x20 --seed 1 -o a.h5
    status 0 tra gen -q --shape 40x50 --block 20x10 --seed 2 -o b.h5
    printf '%s\n' 'input A from "a.h5"' 'input B from "b.h5"' 'C[i,j] = sum A[i,k] * B[k,j]' \
        'D[i,j] = exp(C[i,j] / 100)' 'Z = slice(D, [7:23, 30:50])' 'output Z to "z.h5"' >p.tra
    status 0 tra run -q --without Q-5 p.tra
    status 0 mv z.h5 without.h5
    status 0 tra explain --without J-1 --operators --rules p.tra
    has "Q-5"
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        status 0 tra diff z.h5 without.h5
    done
    for without in Q-5 Q-1; do
        "$TRA" explain --format json --without $without p.tra >$without.json
    done
    status 0 py '
a, b = (json.load(open(f"{n}.json"))["plans"][0] for n in ("Q-5", "Q-1"))
assert b["flops"] < a["flops"] / 4, (b["flops"], a["flops"])'
}

# left PATTERN STATEMENTS OUTPUT...: these with and without the rule, on 1 and 3 ranks, by a plan in which as many
# operators as there are outputs have the pattern.
left() {
    local pattern=$1 o
    { printf '%s\n' "$2"; printf 'output %s\n' "${@:3}"; } >p.tra
    shift 2
    tra run -q --without Q-5 p.tra
    for o; do mv $o.h5 $o.without.h5; done
    status 0 tra explain --format json p.tra
    printf '%s' "$output" >p.json
    is "$#" "$PYTHON" -c '
import json, re, sys
print(sum(bool(re.search(sys.argv[1], o["label"])) for o in json.load(open("p.json"))["plans"][0]["operators"]))' "$pattern"
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        for o; do status 0 tra diff --rtol 1e-11 $o.h5 $o.without.h5; done
    done
}

@test "Q-5: of entries that are selected by their labels a slice of the product is enough" {
    status 0 tra gen -q --shape 60x40 --block 10x20 --seed 1 -o x.h5
    status 0 tra gen -q --shape 40x50 --block 20x10 --seed 2 -o y.h5
    "$PYTHON" -c '
import random
r = random.Random(3)
print("author,conf,papers")
for a in range(300):
    for c in sorted(r.sample(range(40), 5)): print(f"a{a:03},c{c:02},{r.randint(1, 9)}")' >papers.csv
    tra import -q --table --block 200 papers.csv -o papers.h5
    # a product for each of them, of which nothing else wants more
    left 'repart \[[0-9]+\] from|rows at these positions' "input X from \"x.h5\"
input Y from \"y.h5\"
$(for f in A=abs B=exp D=sin E=cos F=atan; do echo "C${f%=*}[i,j] = sum ${f#*=}(X[i,k]) * Y[k,j]"; done)
A = select(entries(CA), i >= 15 && i < 42 && j > 47)
B = select(entries(CB), i == 59 && value > 0)
D = select(entries(CD), j < 3)
E = select(entries(CE), i < 0)
F = select(entries(CF), $(printf 'value != -%d && ' $(seq 40)) i == 58)" A B D E F
    tra explain --format json --without Q-5 p.tra >without.json
    status 0 py '
a, b = (json.load(open(f))["plans"][0]["flops"] for f in ("p.json", "without.json"))
assert a < b / 4, (a, b)'
    is 54 grep -c . <(tra export -q A.h5 -o - --to csv | tail -n +2)
    left 'repart \[[0-9]+\] from' 'input papers from "papers.h5"
X = pivot(papers, author, conf, papers, sum)
C[c,d] = sum X[a,c] * X[a,d]
D[c,d] = sum X[a,c] * X[a,d] * X[a,d]
A = select(entries(C), c >= "c30" && d != c)
B = select(entries(D), d == "c07")' A B
}

# Matrices a and b, sparse papers (authors, conferences), and ranks of codes and conferences; some match nothing, some
# are there twice.
matrices() {
    tra gen -q --shape 150x400 --block 20x90 --seed 1 -o a.h5
    tra gen -q --shape 400x130 --block 90x50 --seed 2 -o b.h5
    tra gen -q --shape 150x400 --block 150x90 --seed 3 -o c.h5
    "$PYTHON" -c '
import random
r = random.Random(3)
with open("papers.csv", "w") as f:
    f.write("author,conf,papers\n")
    for a in range(900):
        for c in sorted(r.sample(range(150), 40)): f.write(f"a{a:03},c{c:03},{r.randint(1, 9)}\n")
with open("rank.csv", "w") as f:
    f.write("code,conf,rank\n")
    for c in [*range(3, 150, 7), 10, 10, 152, 155]: f.write("%d,c%03d,%s\n" % (c, c, ["A++", "A", ""][c % 3]))'
    tra import -q --table papers.csv -o papers.h5
    tra import -q --table rank.csv -o rank.h5
}

@test "Q-5: rows of a product that a join leaves, wherever they are, are gathered from the operand before" {
    matrices
    left 'rows at these positions' 'input A from "a.h5"
input B from "b.h5"
input rank from "rank.h5"
P[i,j] = sum A[i,k] * B[k,j]
R[i,j] = sum abs(A[i,k]) * B[k,j]
S = join(entries(P), rank, i == code, how = semi)
Z = select(join(entries(R), rank, i == code && value > 95), rank == "A++" && j != 3)
V[i] = sum A[i,k]
Q[i,j] = exp(P[i,j] / 100) - V[i]
U = select(join(entries(Q), rank, i == code), isnull(rank) && value > -199)
W = select(entries(P), in(i, 0, 41, 149) && value > 95)
N = join(entries(P), select(rank, code > 150), i == code)' S Z U W N
    is 1 eval "tra export -q N.h5 -o - --to csv | wc -l" # the names of its columns
}

@test "Q-5: rows and columns of operands that are stored by their entries are gathered too" {
    matrices
    "$PYTHON" -c '
import scipy.sparse as sp, scipy.io as io
a = sp.random(150, 400, density=0.2, random_state=1)
io.mmwrite("s.mtx", a)
io.mmwrite("t.mtx", a.T)'
    tra import -q --storage csr --block 20x90 s.mtx -o s.h5
    tra import -q --storage csr --block 90x20 t.mtx -o t.h5
    left '(rows|columns) at these positions' 'input A from "s.h5"
input T from "t.h5"
input B from "b.h5"
input rank from "rank.h5"
P[i,j] = sum A[i,k] * B[k,j]
R[i,j] = sum T[k,i] * B[k,j]
S = join(entries(P), rank, i == code, how = semi)
U = join(entries(R), rank, i == code, how = semi)' S U
}

@test "Q-5: rows of a product that is the right table of a join are those that have a partner on the left" {
    matrices
    left 'rows at these positions' 'input C from "c.h5"
input B from "b.h5"
input rank from "rank.h5"
P[i,j] = sum C[i,k] * B[k,j]
S = join(project(rank, conf, code, rank), entries(P), code == i && value > 100, how = left)' S
}

@test "Q-5: the covariance of conferences of one rank with all others, of those columns alone" {
    matrices
    left 'columns at these positions' 'input papers from "papers.h5"
input rank from "rank.h5"
X = pivot(papers, author, conf, papers, sum)
n[c] = sum X[a,c]
XX[c,d] = sum X[a,c] * X[a,d]
C[c,d] = (XX[c,d] - n[c] * n[d] / 900) / 899
S = select(join(entries(C), rank, c == conf), rank == "A++" && c != d)
Y[c,d] = sum abs(X[a,c]) * X[a,d]
U = select(table(Y), (c == "c007" || c > "c145") && c020 > 3)' S U
    is "c007 c146 c147 c148 c149" eval "tra export -q U.h5 -o - --to csv | tail -n +2 | cut -d, -f1 | xargs"
}

@test "Q-5 says why all rows of a product are computed" {
    matrices
    local j
    while IFS='|' read -r j why; do
        printf '%s\n' 'input A from "a.h5"' 'input B from "b.h5"' 'input rank from "rank.h5"' \
            'P[i,j] = sum A[i,k] * B[k,j]' 'E = entries(P)' 'input C from "c.h5"' \
            'D[i,j] = sum C[i,k] * B[k,j]' 'F = entries(D)' 'input papers from "papers.h5"' \
            'X = pivot(papers, author, conf, papers, sum)' 'XX[c,d] = sum X[a,c] * X[a,d]' "S = $j" 'output S' >p.tra
        status 0 tra explain --without J-1 --operators --rules p.tra
        printf '%s\n' "$output" | tr -s ' \n' ' ' >flat
        status 0 grep -q "Q-5 .*$why" flat
    done <<'CASES'
join(E, rank, i == code, how = left)|the join keeps rows that have no partner
join(F, E, i == i, prefix = "f_")|rows of a product in several blocks are sorted by the keys of a join before any are left out
join(rank, F, code == j)|the labels of the rows of the right table, which is a product, are no key of the join
join(rank, F, code == i, matched = left)|the join checks that all rows are matched
join(rank, F, code == i && code == j, expect = "m:1")|the join checks that keys of the right table, which is a
join(E, rank, j == code)|the labels of the rows are no key of the join
select(table(XX), c001 > 3)|no part of the predicate, which reads the labels of the rows alone, leaves out a row
join(entries(A), rank, i0 == code)|no product of two tensors in blocks is below
select(join(E, rank, i == code), code * 4611686018427387904 > 1)|may not be computed for rows that would be left out
CASES
}

@test "products of every transpose, storage and type, in one block and many, as scipy has them, on 1, 2, 3, 5 sites" {
    py '
import scipy.sparse as sp, scipy.io as io
r = np.random.default_rng(8)
for name, seed in (("a", 1), ("b", 2)):
    m = sp.random(130, 130, .06, random_state=seed, format="coo")
    m.data = r.integers(-4, 5, m.nnz).astype(float) # some of them 0, and sums that cancel
    io.mmwrite(name + ".mtx", m, precision=17)'
    cat >t.tra <<'END'
input A from "a.h5"
input B from "b.h5"
P[i,k] as csr = sum A[i,j] * B[j,k]
Q[j,k] as csc = sum A[i,j] * B[i,k]
R[i,k] as dcsr = sum A[i,j] * B[k,j]
S[j,i] as coo = sum A[i,k] * B[k,j]
T[j,k] as csr = sum A[i,j] * A[i,k]
U[i,k] as csr = sum A[i,j] * A[k,j]
V[i,j] as csr = A[i,j] + B[i,j]
W[i,j] as csr = A[i,j] - B[j,i]
X[i,j] as csr = A[i,j] * B[i,j]
output P to "P.h5"
output Q to "Q.h5"
output R to "R.h5"
output S to "S.h5"
output T to "T.h5"
output U to "U.h5"
output V to "V.h5"
output W to "W.h5"
output X to "X.h5"
END
    n=0
    for how in "csr f64 130x130" "csc f32 40x130" "coo i64 50x30" "dcsr f64 130x25" "csf f32 60x60" "csr i64 130x130"; do
        read -r storage type block <<<"$how"
        for x in a b; do
            tra import -q $x.mtx --storage $storage --dtype $type --block $block -o $x.h5
        done
        for sites in 1 $(some $((n++)) 2 3 5 | head -n ${TRA_TEST_LONG:+3}1); do
            tra run -q t.tra --sites $sites $( ((sites == 1)) && echo --codegen off)
            tra digest [P-X].h5 >digests.$sites
            diff digests.1 digests.$sites
        done
        for x in P Q R S T U V W X; do tra export -q $x.h5 --to npz -o $x.npz; done
        py '
import scipy.sparse as sp, scipy.io as io
a, b = (io.mmread(x).tocsr() for x in ("a.mtx", "b.mtx"))
want = dict(P=a @ b, Q=a.T @ b, R=a @ b.T, S=(a @ b).T, T=a.T @ a, U=a @ a.T, V=a + b, W=a - b.T, X=a.multiply(b))
for name, w in want.items():
    g = sp.load_npz(name + ".npz")
    assert np.array_equal(g.toarray(), w.toarray()), name
    assert g.nnz == np.count_nonzero(w.toarray()), name'
    done
}

@test "terms of a sum of products are added at once, or one by one where memory is short: the same bits" {
    tra gen -q --shape 3000x2000 --density .01 --block 100x2000 -o a.h5:A
    printf 'input A from "a.h5:A"\nC[j,k] as csr = sum A[i,j] * A[i,k]\noutput C\n' >p.tra
    tra run -q p.tra --memory 2G
    digest=$(digest_of C.h5)
    for memory in 60M 90M 200M; do
        tra run -q p.tra --memory $memory --scratch .
        [ "$(digest_of C.h5)" = "$digest" ]
    done
    TRA_CACHE=$PWD/none tra run -q p.tra --threads 1
    [ "$(digest_of C.h5)" = "$digest" ]
    tra export -q C.h5 --to npz -o c.npz
    tra export -q a.h5:A --to npz -o a.npz
    py '
import scipy.sparse as sp
a, c = sp.load_npz("a.npz"), sp.load_npz("c.npz")
assert abs(c - a.T @ a).max() < 1e-12'
}

@test "a comparison of a sparse operand times a dense one is summed by entries, whatever labels the dense one has" {
    tra gen -q --shape 300x200 --density .05 --block 100x70 -o a.h5:A
    tra gen -q --shape 200 --block 70 -o x.h5:x
    tra gen -q --shape 300 --block 100 -o z.h5:z
    cat >t.tra <<'END'
input A from "a.h5:A"
input x from "x.h5:x"
input z from "z.h5:z"
P[i] = sum (A[i,j] > 0.5) * x[j]
Q[j] = sum (A[i,j] != 0) * z[i]
R[j] = sum z[i] * abs(A[i,j])
S[i] = max (A[i,j] > 0.5) * x[j]
output P to "P.h5"
output Q to "Q.h5"
output R to "R.h5"
output S to "S.h5"
END
    tra run -q t.tra
    for x in P Q R S; do cp $x.h5 $x-run.h5; done
    tra run -q --engine reference t.tra
    for x in P Q R S; do tra diff --rtol 1e-12 $x.h5 $x-run.h5; done
    tra gen -q --shape 1000000x1000000 --density 1e-8 -o g.h5:A
    tra gen -q --shape 1000000 -o w.h5:x
    printf 'input A from "g.h5:A"\ninput x from "w.h5:x"\nP[i] = sum (A[i,j] > 0.5) * x[j]\noutput P\n' >l.tra
    tra run -q l.tra --memory 300M
}

@test "dimensions of many entries in another order, of every type, in one block and many: what numpy says" {
    py '
r = np.random.default_rng(4)
a = r.integers(-3, 4, (60, 70, 50)) * (r.random((60, 70, 50)) < .3)
np.save("a.npy", a.astype(float)); np.save("m.npy", a.reshape(600, 350).astype(float))'
    cat >t.tra <<'END'
input A from "a.h5"
input M from "m.h5"
P[k,j,i] = A[i,j,k]
Q[j,i,k] = A[i,j,k]
R[k,i,j] = A[i,j,k]
S[j,i] = M[i,j]
output P
output Q
output R
output S
END
    for how in "f64 60x70x50 600x350" "f32 60x70x50 600x350" "i64 60x70x50 600x350" "f64 30x70x25 600x100"; do
        read -r type block of_matrix <<<"$how"
        tra import -q a.npy --storage csf --dtype $type --block $block -o a.h5
        tra import -q m.npy --storage csr --dtype $type --block $of_matrix -o m.h5
        for sites in 1 3; do
            tra run -q t.tra --sites $sites
            for x in P Q R S; do tra export -q $x.h5 -o $x.npy; done
            py '
a, m = np.load("a.npy"), np.load("m.npy")
for name, want in dict(P=a.transpose(2, 1, 0), Q=a.transpose(1, 0, 2), R=a.transpose(2, 0, 1), S=m.T).items():
    assert np.array_equal(np.load(name + ".npy"), want), name'
        done
    done
}

@test "products of wide bands in blocks have as many entries as some of their places tell, and need no scratch" {
    tra gen -q --shape 8000x8000 --pattern band:150 --density 1 --block 2000x2000 -o a.h5:A
    printf 'input A from "a.h5:A"\nC[i,k] = sum[j](A[i,j] * A[j,k])\noutput C\n' >p.tra
    tra explain --format json p.tra >p.json
    py '
import json, sys
for plan in json.load(open("p.json"))["plans"]:
    made = [o["entries"] for o in plan["operators"] if o.get("name") == "C"]
    assert all(.75 < n / (8000 * 601) < 1.3 for n in made) and made, made'
}
