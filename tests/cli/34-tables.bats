# Tables and linear algebra: what check says of them, their errors, and results against numpy.
load helper

program() { cat >p.tra; }

matrices() {
    py '
np.random.seed(1)
X = np.random.randn(40, 5)
np.save("x.npy", X), np.save("a.npy", X.T @ X), np.save("b.npy", np.random.randn(5, 2))
np.save("v.npy", np.random.randn(5)), np.save("g.npy", np.random.randn(5, 5)), np.save("o.npy", np.ones((5, 5)))'
    for f in x a b g o; do tra import -q $f.npy -o $f.h5 --block 3x2; done
    tra import -q v.npy -o v.h5 --block 2
}

# The results against expressions of numpy in A, B, G, X, v and, by their names, the results.
compare() {
    py '
env = {n.upper() if n != "v" else n: np.load(n + ".npy") for n in "abgxv"}
env.update(np=np)
class Result(dict):
    def __missing__(self, name): return h5py.File(name + ".h5")["data"][()]
r, bad = Result(env), 0
for arg in sys.argv[1:]:
    left, right = arg.split("=", 1)
    x, y = eval(left, {}, r), eval(right, {}, r)
    if not np.allclose(x, y, rtol=1e-9, atol=1e-9): bad = 1; print(left, x, "is not", y)
sys.exit(bad)' "$@"
}

@test "solve, inverse, det and the decompositions agree with numpy, on 1, 2 and 3 sites" {
    matrices
    program <<'END'
input A from "a.h5"
input B from "b.h5"
input v from "v.h5"
input G from "g.h5"
input X from "x.h5"
S = solve(A, B)
T = solve(G, v)
I = inverse(G)
d = det(G)
L = cholesky(A)
w, V = eigh(A)
Q, R = qr(X)
U, s, W = svd(X)
output S
output T
output I
output d
output L
output w
output V
output Q
output R
output U
output s
output W
END
    for n in 1 2 3; do
        rm -f [A-Z].h5 d.h5 w.h5 s.h5
        status 0 tra run -q p.tra --sites $n
        status 0 compare 'S=np.linalg.solve(A,B)' 'T=np.linalg.solve(G,v)' 'I=np.linalg.inv(G)' \
            'd[0]=np.linalg.det(G)' 'L=np.linalg.cholesky(A)' 'w=np.linalg.eigvalsh(A)' 'V*w@V.T=A' 'Q@R=X' \
            'Q.T@Q=np.eye(5)' 's=np.linalg.svd(X)[1]' 'U*s@W.T=X' 'W.T@W=np.eye(5)'
    done
}

@test "a matrix that is singular, or nearly, or not positive definite, is said to be" {
    matrices
    printf 'input O from "o.h5"\ninput B from "b.h5"\nS = solve(O, B)\noutput S\n' | program
    status 3 tra run -q p.tra
    has "S: solve: the matrix is singular"
    [ ! -e S.h5 ]
    printf 'input G from "g.h5"\nL = cholesky(G)\noutput L\n' | program
    status 3 tra run -q p.tra
    has "L: cholesky needs a symmetric matrix, but element [1,0] is "
    printf 'input A from "a.h5"\nM[i,j] = 0 - A[i,j]\nL = cholesky(M)\noutput L\n' | program
    status 3 tra run -q p.tra --sites 2
    has "L: cholesky: the matrix is not positive definite: its leading 1 x 1 part is not"
    py 'np.save("h.npy", np.array([[1 / (i + j + 1) for i in range(9)] for j in range(9)]))'
    tra import -q h.npy -o h.h5
    printf 'input H from "h.h5"\nS = inverse(H)\noutput S\n' | program
    status 0 tra run p.tra
    has "warning: inverse: the condition of the matrix is about "
}

@test "operators of linear algebra say what they take" {
    matrices
    program <<'END'
input A from "x.h5"
input v from "v.h5"
L = cholesky(A)
x = eigh(A)
a, b = inverse(A)
q = solve(A)
w, V = A
r = det(v)
c = inverze(A)
END
    status 2 tra check p.tra
    has "3:5: error: cholesky does not fit arrays of 40 x 5: it needs a square matrix"
    has "4:5: error: eigh has 2 results, not 1"
    has "write w, V = eigh(A)"
    has "5:8: error: inverse has 1 result, not 2"
    has "6:5: error: solve has 2 arguments, not 1"
    has "7:8: error: several results are those of eigh, qr and svd"
    has "8:9: error: det takes a matrix here, not a tensor of rank 1"
    has "did you mean inverse?"
    has "7 errors"
    status 0 tra check - <<<'input A : f64 [30, 30] by [10, 10]
B = inverse(A)'
    has "B: keys 2 <1,1>, f64 30 x 30"
}
