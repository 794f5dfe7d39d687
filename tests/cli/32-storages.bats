# Storage and tensor statements: what check says of them, and that a tensor statement runs as the EinSum that it means.
load helper

program() { cat >p.tra; }

@test "check lists the storages of a program, which read back to the same" {
    program <<'END'
storage mine[m, n](w) at [r, c] {
    int array pos(m + 1)   # where each row begins
    real array v(pos(m)*w); sum(<i, _> in 0:m, <j, _> in 0:n)
        if (r + i >= c + j) { @unique (i, j) -> v(pos(i)*w + j) }
}
storage turned[m, n] = levels(dense, sparse) order [1, 0]; storage any[m, ...](o...) = levels(sparse) order o
END
    status 0 tra check p.tra
    has "storage mine[m, n](w) at [r, c] {"
    has "    real array v(pos(m) * w)"
    has "storage turned[m, n] = levels(dense, sparse) order [1, 0]"
    has "storage any[m, ...](o...) = levels(sparse) order o"
    echo "$output" >again.tra
    status 0 tra check again.tra
    [ "$output" = "$(cat again.tra)" ]
    tra check --format json p.tra >p.json
    [ "$(py 'print([s["name"] for s in json.load(open("p.json"))["storages"]])')" = "['mine', 'turned', 'any']" ]
}

@test "what is wrong in a storage or a tensor statement is shown at its place, and the rest is read" {
    program <<'END'
storage a[m, n] {
    real array v(q)
    {(0, 0) -> v(0)}
}
storage b[m n] = levels(dense)
storage c[m, n] {
    real array v(m
input A : f64 [6, 4] by [2, 2] as csrr
input B : f64 [6, 4] as band(1, 2)
input E : f64 [6, 5] by [4, 3]
storage d[m, n] = levels(dense, singleton)
tensor Y[6] = sum(<i, row> in B, <j, b> in row) {i -> floor(b)}
tensor X[3] = sum(<i, row> in B, <j, b> in row) {i -> b}
tensor W = sum(<i, _> in 1:6, <j, _> in 0:4)   {i -> E(i, j)}
tensor U = sum(<(i, j), b> in E)     {i -> E(i, i)}
tensor V[6] = D(
C = transform(e, neg)
storage e[m] = levels(sparse)
D = store
END
    status 2 tra check p.tra
    has "p.tra:2:18: error: there is no 'q' here"
    has "p.tra:5:13: error: ',' or ']' expected, not 'n'"
    has "p.tra:8:35: error: there is no storage 'csrr'"
    has "did you mean csr?"
    has "p.tra:9:25: error: storage band has 1 argument, not 2"
    has "p.tra:11:33: error: a singleton level follows a sparse one"
    has "p.tra:13:10: error: dimension 0 of X has 6 positions by its labels, not 3"
    has "p.tra:14:54: error: dimension 0 of E is cut in blocks of 4, but it is not only looped over at the outside"
    has "use reblock(E, [6, 5])"
    has "p.tra:15:44: error: dimension 1 of E is cut in blocks of 3"
    has "use reblock(E, [4, 5])"
    has "p.tra:17:15: error: 'e' is a storage; a relation is expected here"
}

# same FILE NAME...: the outputs NAME and NAME2 hold the same tensor.
same() { for n in "$@"; do same_digest "$n.h5" "${n}2.h5" || { echo "$n differs"; return 1; }; done; }

@test "a tensor statement that is a sum of products is the EinSum statement that it means" {
    tra gen -q --shape 6x4 --block 4x3 --seed 1 -o a.h5
    tra gen -q --shape 4x5 --block 3x2 --seed 2 -o b.h5
    tra gen -q --shape 4 --block 3 --seed 3 -o x.h5
    tra gen -q --shape 6x6 --block 4x4 --seed 4 -o s.h5
    program <<'END'
param beta = 0.5
param six = 6
input A from "a.h5"
input B from "b.h5"
input x from "x.h5"
input S from "s.h5"
tensor P[six, extent(B, 1)] = sum(<i, row> in A, <j, a> in row, <k, b> in B(j)) {(i, k) -> a * b}
P2[i,k] = sum A[i,j] * B[j,k]
tensor Q = sum(<i, row> in A)
    sum(<j, a> in row, <k, c> in row, <k, y> in x)
        {j -> beta * a * c * y}
Q2[j] = sum beta * A[i,j] * A[i,k] * x[k]
tensor T = -sum(<(i, j), a> in A, <k, y> in x) if (j == k) a * y
T2[] = sum -(A[i,j] * x[j])
tensor D = sum(<(i, i), s> in S) {i -> 2.5 * s}
D2[i] = 2.5 * S[i,i]
tensor R[4, 6] = sum(<i, _> in 0:six, <j, _> in 0:4) {(j, i) -> A(i, j)}
R2[j,i] = A[i,j]
tensor N = sum(<i, row> in A) {i -> sum(<j, a> in row) a * x(j)}
N2[i] = sum A[i,j] * x[j]
output P
output P2
output Q
output Q2
output T
output T2
output D
output D2
output R
output R2
output N
output N2
END
    status 0 tra run -q p.tra
    same P Q T D R N
    py 'a, b, p = [np.array(h5py.File(f)["data"]) for f in ("a.h5", "b.h5", "P.h5")]; assert np.allclose(p, a @ b)'
}

@test "functions of elements are added up where a loop visits all of them, and only there" {
    tra gen -q --shape 6x4 --block 4x3 --seed 1 -o a.h5
    tra gen -q --shape 4 --block 3 --seed 3 -o x.h5
    program <<'END'
input A from "a.h5"
input x from "x.h5"
tensor F = sum(<i, row> in A, <j, a> in row) {i -> exp(a) + x(j)/(2.5 + abs(a)) - max(a, 0.5, x(j))}
F2[i] = sum exp(A[i,j]) + x[j]/(2.5 + abs(A[i,j])) - max(max(A[i,j], 0.5), x[j])
output F
output F2
END
    status 0 tra run -q p.tra
    same F
    printf '%%%%MatrixMarket matrix coordinate real general\n6 5 3\n1 2 0.5\n3 1 2\n3 5 -1\n' >s.mtx
    tra import -q s.mtx -o s.h5
    program <<'END'
input S from "s.h5"
tensor R = sum(<i, row> in S, <j, s> in row) {(j, i) -> s * (s + 1) / 2.0}
R2[j,i] = S[i,j] * (S[i,j] + 1) / 2.0
output R
output R2
END
    status 0 tra run -q p.tra
    same R
    sed -i 's/s \* (s + 1)/(s + 1)/' p.tra
    status 0 tra run -q p.tra # no element is a factor: only the entries count
    tra export -q R.h5 --to npy -o r.npy
    py 'r = np.zeros((5, 6)); r[1, 0], r[0, 2] = .75, 1.5; assert np.array_equal(np.load("r.npy"), r)'
}

@test "a tensor statement is cut as by says" {
    tra gen -q --shape 6x4 --block 4x3 -o a.h5
    program <<'END'
input A from "a.h5"
tensor B[6, 4] by [5, 2] = sum(<(i, j), a> in A) {(i, j) -> a * 2}
END
    status 0 tra check p.tra
    has "B: keys 2 <2,2>, f64 5 x 2, tensor 6 x 4"
}
