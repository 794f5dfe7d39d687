# Sparse by type, as, store: what programs say of how relations are stored, from check to files.
load helper

# Inputs: A.h5 is stored by csr, Ad.h5 is the same densely.
make_inputs() {
    "$PYTHON" - <<'PY'
import numpy as np
rng = np.random.default_rng(5)
def sparse(m, n, d):
    return rng.integers(-4, 5, (m, n)) * (rng.random((m, n)) < d) * 1.0
np.save("A.npy", sparse(50, 40, 0.06))
np.save("F.npy", sparse(50, 40, 0.5))
np.save("B.npy", rng.integers(-4, 5, (40, 7)) * 1.0)
PY
    tra import -q A.npy -o Ad.h5 --block 20x16
    tra import -q F.npy -o F.h5 --block 20x16
    tra import -q B.npy -o B.h5 --block 16x4
    echo 'input Ad from "Ad.h5"
A = store(Ad, csr)
output A to "A.h5"' >store.tra
    tra run -q store.tra
}

declared='input A : f64 [62451, 62451] by [8192, 62451] as csr nnz 2034917
input B : f64 [62451, 8] by [62451, 8]'

@test "store makes a stored file of a dense one, and back: one digest" {
    make_inputs
    echo 'input A from "A.h5"
B = store(A, dense)
output B' >back.tra
    tra run -q back.tra
    [ "$(tra info A.h5 | grep -c 'storage     csr')" = 1 ]
    [ "$(tra info B.h5 | grep -c 'storage     csr')" = 0 ]
    same_digest A.h5 Ad.h5
    same_digest A.h5 B.h5
}

@test "check says what is sparse, its entries, and by which storage it is stored" {
    echo "$declared
C[i,j] = A[i,j] * 2
D[i,k] = sum A[i,j] * B[j,k]
E[i,j] as dense = A[i,j] + A[i,j]
G[i,j] as csc = A[i,j]
output C
output D
output E
output G" >p.tra
    run tra check p.tra
    [ "$status" = 0 ]
    grep -q "^A: .*sparse: about 2034917 entries, density 0.000522, stored as csr" <<<"$output"
    grep -q "^C: .*sparse: about 2034917 entries, .*stored as csr" <<<"$output"
    grep -q "^D: .*density 1, held densely, stored as dense" <<<"$output"
    grep -q "^G: .*stored as csc" <<<"$output"
    [ -z "$(grep "^E: .*sparse" <<<"$output")" ]
    tra check --format json p.tra | "$PYTHON" -c '
import json, sys
r = {x["name"]: x for x in json.load(sys.stdin)["relations"]}
assert r["A"]["sparse"] and r["A"]["held"] == "rows" and r["A"]["storage"] == "csr"
assert r["A"]["entries"] == 2034917 and r["A"]["entries_kind"] == "estimate" and r["A"]["entries_bound"] == 2034917
assert not r["B"]["sparse"] and r["B"]["entries_kind"] == "exact" and r["B"]["density"] == 1
assert r["D"]["entries"] <= r["D"]["entries_bound"] and r["D"]["storage"] == "dense"
assert not r["E"]["sparse"]
'
}

@test "entries of a file are exact" {
    make_inputs
    echo 'input A from "A.h5"
T = rekey(A, (i,j) -> (j,i))
output T' >p.tra
    want=$("$PYTHON" -c 'import numpy as np; print(np.count_nonzero(np.load("A.npy")))')
    tra check --format json p.tra | "$PYTHON" -c '
import json, sys
for x in json.load(sys.stdin)["relations"]:
    assert x["entries"] == int(sys.argv[1]) and x["entries_kind"] == "exact", x' "$want"
}

@test "what must be dense is warned of with its size, and counted in the plan" {
    echo "$declared
G[i,j] = exp(A[i,j])
output G" >p.tra
    run tra check p.tra
    grep -q "p.tra:3:1: warning: the result is dense: 29.1 GiB, of sparse operands of 24.2 MiB" <<<"$output"
    tra explain --operators p.tra 2>/dev/null | grep -q "densify: 1 operator makes dense what is sparse"
    [ "$(tra explain --format json p.tra 2>/dev/null | "$PYTHON" -c '
import json, sys
p = json.load(sys.stdin)["plans"][0]
print(p["densify"], sum(o["densify"] for o in p["operators"]))')" = "1 1" ]
    sed -i 's/G\[i,j\] =/G[i,j] as dense =/' p.tra
    run tra check p.tra
    grep -q "the result is dense" <<<"$output"
}

@test "an operator that fits a sparse result warns of nothing" {
    echo "$declared
G[i,j] = tanh(A[i,j]) - 2 * A[i,j]
S[i] = sum A[i,j]
output G
output S" >p.tra
    run tra check p.tra
    lacks "result is dense"
}

@test "what is wrong in as, nnz and store is told at its place" {
    echo 'input A : f64 [100, 100] by [10, 100] as csr nnz 20000
input B : f64 [100, 100] by [10, 100] as sparsely
input C : f64 [100, 100] by [10, 100] nnz 7
input D : f64 [100, 100] by [10, 100]
E[i,j] as ell = D[i,j]
F[i] as csr = sum D[i,j]
G = store(D)
H = store(D, nope)
output D as bsr(2, 2)' >p.tra
    run tra check p.tra
    [ "$status" = 2 ]
    grep -q "p.tra:1:.*20000 entries in a tensor of 10000 elements" <<<"$output"
    grep -q "p.tra:2:.*there is no storage 'sparsely'" <<<"$output"
    grep -q "p.tra:3:.*nnz is of an input that is stored by its entries\|p.tra:3:.*write as csr nnz N" <<<"$output"
    grep -q "p.tra:5:.*a result cannot be stored as ell" <<<"$output"
    grep -q "p.tra:6:" <<<"$output"
    grep -q "p.tra:7:.*store has 2 arguments, not 1" <<<"$output"
    grep -q "p.tra:8:.*there is no storage 'nope'" <<<"$output"
    grep -q "p.tra:9:.*a result cannot be stored as bsr(2, 2)" <<<"$output"
    for how in csr coo dcsr; do
        printf '%s\n' 'input T : table [k: i32, s: string] rows 9 by 9' "S = store(T, $how)" 'output S' >p.tra
        status 2 tra check p.tra
        grep -q "p.tra:2:11: error: store takes tensors, and this is a table" <<<"$output"
    done
    printf 'a,b\n1,0\n0,4\n' | tra import -q --table - -o n.h5 # of numbers: its matrix
    printf '%s\n' 'input n from "n.h5"' 'S = store(n, csr)' 'T[] = sum S[i,j]' 'output T to "T.npy"' >p.tra
    tra run -q p.tra
    py 'assert np.load("T.npy") == 5'
}

@test "operators on stored operands give what they give on dense ones, on 1 and 3 sites" {
    make_inputs
    echo 'input A from "A.h5"
input F from "F.h5"
input B from "B.h5"
C[i,k] = sum A[i,j] * B[j,k]
D[i,k] as csr = sum A[i,j] * A[k,j]
E[i,j] = A[i,j] * F[i,j]
G[i,j] = A[i,j] + F[i,j]
H = store(transpose(A), dcsr)
S[i] = max A[i,j]
R = reblock(A, [7, 11])
K = filter(A, (i,j) -> i < j)
output C
output D
output E
output G
output H
output S
output R
output K as coo' >p.tra
    names="C D E G H S R K"
    tra run -q --engine reference p.tra
    for x in $names; do digest_of $x.h5; done >want
    for sites in 1 3; do
        rm -f [CDEGHSRK].h5
        tra run -q --sites $sites p.tra
        for x in $names; do digest_of $x.h5; done >got
        diff want got
    done
    rm -f [CDEGHSRK].h5
    sed 's/"A.h5"/"Ad.h5"/; s/ as csr//; s/ as coo//; s/store(transpose(A), dcsr)/transpose(A)/' p.tra >dense.tra
    tra run -q dense.tra
    for x in $names; do digest_of $x.h5; done >got
    diff want got
}

@test "an output without as is sparse below a density of 1/8, whatever the sites" {
    make_inputs
    echo 'input A from "A.h5"
input F from "F.h5"
E[i,j] = A[i,j] * F[i,j]
G = store(F, csr)
output E
output A to "A2.h5"
output G' >p.tra
    tra run -q --sites 3 p.tra
    tra info E.h5 | grep -q "storage     csr"
    tra info A2.h5 | grep -q "storage     csr"
    tra info G.h5 | grep -q "storage     csr"
    echo 'input G from "G.h5"
output G to "G2.h5"' >q.tra
    tra run -q q.tra
    run tra info G2.h5
    lacks "storage"
}

@test "a zero of sparse type annihilates in a product over labels, also of summands of several sites" {
    "$PYTHON" -c '
import numpy as np
a = np.full((60, 5), 2.0)
a[:20] = np.nan
a[50, :3] = 0
np.save("P.npy", a)
np.save("O.npy", np.ones((60, 5)))'
    tra import -q P.npy -o P.h5 --block 10x5
    tra import -q O.npy -o O.h5 --block 10x5
    echo 'input P from "P.h5"
input O from "O.h5"
A = store(P, csr)
Z[j] as dense = prod A[i,j]
Y = store(agg(join(A, O, [0,1], [0,1], elemmul), [1], elemmul), dense)
X[j] as dense = prod P[i,j]
output Z
output Y to "y.h5"
output X' >p.tra
    for sites in 1 3; do
        tra run -q --sites $sites p.tra
        [ "$(tra export -q Z.h5 -o - --to csv | tr "\\n" " ")" = "0 0 0 nan nan " ]
        [ "$(tra export -q X.h5 -o - --to csv | tr "\\n" " ")" = "nan nan nan nan nan " ]
        digest_of y.h5 >got
        tra run -q --engine reference p.tra
        digest_of y.h5 | diff - got
    done
}

@test "a zero of sparse type annihilates, however it is held" {
    make_inputs
    "$PYTHON" - <<'PY'
import numpy as np
x = np.ones((50, 40)); x[::3] = np.inf; x[1::3] = np.nan
np.save("X.npy", x)
PY
    tra import -q X.npy -o X.h5 --block 20x16
    echo 'input A from "A.h5"
input X from "X.h5"
C[i,j] as dense = A[i,j] * X[i,j]
D[i,j] as dense = A[i,j] / X[i,j]
output C
output D' >p.tra
    for engine in tra reference; do
        rm -f C.npy D.npy
        tra run -q --engine $engine p.tra
        tra export -q C.h5 -o C.npy
        tra export -q D.h5 -o D.npy
        "$PYTHON" -c '
import numpy as np
a, x = np.load("A.npy"), np.load("X.npy")
with np.errstate(all="ignore"):
    for name, w in (("C", a * x), ("D", a / x)):
        w[a == 0] = 0
        np.testing.assert_array_equal(np.load(name + ".npy"), w)'
    done
}

@test "a large matrix of more empty rows than entries is stored as dcsr unless the program says how" {
    tra gen -q --shape 300000x300000 --density 4e-7 --block 100000x300000 --seed 3 -o A.h5:x
    echo 'input A from "A.h5:x"
C[j,i] = A[i,j]
D[i,j] as csr = C[j,i]
E[j,i] as csc = A[i,j]
F[i,j] as csr = E[j,i]
output C
output D
output F' >p.tra
    tra run -q p.tra
    status 0 tra info C.h5
    has "storage     dcsr"
    status 0 tra info D.h5
    has "storage     csr"
    tra diff -q A.h5:x D.h5
    tra diff -q A.h5:x F.h5
    tra verify -q C.h5
}

@test "counts of columns that are damaged are said, and plans are made as without them" {
    tra gen -q --shape 300x300 --block 100x100 --density 0.03 --seed 2 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'C[i,j] = sum A[i,k] * A[k,j]' 'output C to "c.h5"' >p.tra
    plan=$(tra explain p.tra | grep 'plan digest')
    tra run -q p.tra
    digest=$(tra digest c.h5)
    for count in 0 1000000000; do
        py 'd = h5py.File("a.h5", "a")[".tra/data/columns"]; d[...] = np.full(d.shape, int(sys.argv[1]), d.dtype)' $count
        status 0 tra explain p.tra
        has 'counts of columns (.tra/data/columns) are damaged: plans are made without them'
        has "$plan"
        status 0 tra run -q p.tra
        is "$digest" tra digest c.h5
        status 1 tra verify a.h5
    done
}

@test "a relation without tuples is stored by levels and read, however large its blocks were" {
    tra gen -q --shape 900x900 --block 401x300 --density 0.01 --seed 2 -o a.h5
    for storage in csr csc coo dcsr csf; do
        printf '%s\n' 'input A from "a.h5"' 'C = filter(A, (i, j) -> i < 0)' "output C to \"c.h5\" as $storage" >p.tra
        for engine in tra reference; do
            tra run -q --engine $engine p.tra
            status 0 tra verify c.h5
        done
        printf '%s\n' 'input C from "c.h5"' 'D = transpose(C)' 'n = rows(entries(D))' 'output n to "n.csv"' >q.tra
        status 0 tra run -q q.tra
        is 0 cat n.csv
    done
}
