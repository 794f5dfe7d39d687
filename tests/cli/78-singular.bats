# 78-singular.bats - which matrices are singular: the same for every kernel of BLAS, blocking, ceiling and number of
# ranks, and what is said of their columns.

load helper

# The kernels of OpenBLAS that this processor can run.
kernels() {
    printf '%s\n' Sandybridge Haswell Zen
    if grep -q avx512dq /proc/cpuinfo; then echo SkylakeX; fi
}

# tall NAME TYPE EXPRESSION: 5000 rows, whose columns the expression makes of a, b, c (normal).
tall() {
    py "r = np.random.default_rng(7); a, b, c = r.normal(size=(3, 5000)).astype('$2')
np.save('$1.npy', np.stack($3, axis=1).astype('$2'))"
}

# answer STATUS PROGRAM: each kernel of BLAS gives this status, and the same words.
answer() {
    local k
    rm -f words.txt
    for k in $(kernels); do
        OPENBLAS_CORETYPE=$k status "$1" tra run -q --no-history "${@:3}" - <<<"$2"
        [ -e words.txt ] || printf '%s\n' "$output" >words.txt
        status 0 diff words.txt - <<<"$output"
        run cat words.txt
    done
}

@test "columns that depend on each other are found in whatever blocks, for every kernel of BLAS" {
    py 'np.save("y.npy", np.arange(5000.)); np.save("y32.npy", np.arange(5000, dtype="f4"))'
    tall difference f8 '[a, b, a - b]'
    tall between f8 '[a, c, 3 * a - c, b]'
    tall equal f8 '[a, b, 1e9 * a]'
    tall zero f8 '[a, b * 0, c]'
    tall many f8 '[np.sin(k * a) for k in range(1, 60)] + [sum(np.sin(k * a) for k in range(1, 60)) / 7]'
    tall narrow f4 '[a, b, a - b]'
    tall wide f4 '[np.sin(k * a) for k in range(1, 40)] + [sum(np.sin(k * a) for k in range(1, 40))]'
    while read -r name y said; do
        for block in 5000 700 64; do
            status 0 tra import -q $name.npy -o A.h5 --block ${block}x60
            status 0 tra import -q $y.npy -o y.h5 --block $block
            answer 3 'input A from "A.h5"
input y from "y.h5"
x = solve(A, y)
output x'
            has "x: solve: the matrix is singular${said/#to/ to}"
            [ ! -e x.h5 ]
        done
    done <<'END'
difference y to working precision: column 2 follows from columns 0, 1
between y to working precision: column 2 follows from columns 0, 1
equal y to working precision: column 2 follows from column 0
zero y : column 1 is 0
many y to working precision: column 59 follows from columns 0, 1, 2, 3 and 55 more
narrow y32 to working precision: column 2 follows from columns 0, 1
wide y32 to working precision: column 39 follows from columns 0, 1, 2, 3 and 35 more
END
}

@test "square matrices: solve, inverse and cholesky find the same of them" {
    py 'r = np.random.default_rng(3)
def put(name, x): np.save(name + ".npy", np.ascontiguousarray(x))
put("y", np.arange(4.))
put("whole", np.arange(16.).reshape(4, 4))
put("noise", np.vander([.1, .2, .3, .4], 4) @ np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]]) / 3)
X = r.normal(size=(50, 3)); Z = np.column_stack([X, X @ [1, 2, 3]])
put("gram", Z.T @ Z)
put("ones", np.ones((4, 4)))
L = r.normal(size=(200, 199)); put("half", L @ L.T); put("half_y", np.ones(200))'
    for name in whole noise gram ones; do
        status 0 tra import -q $name.npy -o A.h5 --block 2x3
        status 0 tra import -q y.npy -o y.h5
        answer 3 'input A from "A.h5"
input y from "y.h5"
x = solve(A, y)
output x'
        has "solve: the matrix is singular to working precision: column"
        answer 3 'input A from "A.h5"
x = inverse(A)
output x'
        has "inverse: the matrix is singular to working precision: column"
        status 3 tra run -q --engine reference - <<<'input A from "A.h5"
x = inverse(A)
output x'
    done
    status 0 tra import -q half.npy -o half.h5
    status 0 tra import -q half_y.npy -o y.h5
    answer 3 'input A from "half.h5"
input y from "y.h5"
x = solve(A, y)
output x'
    for case in gram:4 ones:2 half:200; do
        status 0 tra import -q ${case%:*}.npy -o A.h5
        answer 3 'input A from "A.h5"
L = cholesky(A)
output L'
        has "the matrix is not positive definite: its leading ${case#*:} x ${case#*:} part is not, to working precision"
    done
}

@test "how long columns are, and a condition of 1e12, do not make a matrix singular" {
    py 'r = np.random.default_rng(5); A = r.normal(size=(300, 5)) * [1e-200, 1, 1e150, 1e-9, 7]
x = np.arange(1., 6) / [1e-200, 1, 1e150, 1e-9, 7]
S = A[:5]; G = (r.normal(size=(40, 5)) / 6); G = G.T @ G * np.outer([1e-100, 1, 1e90, 1, 1e-9], [1e-100, 1, 1e90, 1, 1e-9])
for name, v in dict(A=A, b=A @ x, S=S, c=S @ x, G=G, x=x).items(): np.save(name + ".npy", v)
H = np.array([[1 / (i + j + 1) for i in range(9)] for j in range(9)]); np.save("H.npy", H)'
    for f in A b S c G H; do status 0 tra import -q $f.npy -o $f.h5; done
    status 0 tra import -q A.npy -o A.h5 --block 40x5
    answer 0 'input A from "A.h5"
input b from "b.h5"
input S from "S.h5"
input c from "c.h5"
input G from "G.h5"
input H from "H.h5"
x = solve(A, b)
s = solve(S, c)
L = cholesky(G)
I = inverse(H)
output x; output s; output L; output I'
    py 'get = lambda f: h5py.File(f + ".h5")["data"][()]
x, G = np.load("x.npy"), np.load("G.npy")
assert abs(get("x") / x - 1).max() < 1e-10
assert abs(get("s") / x - 1).max() < 1e-10
L = get("L"); d = np.sqrt(np.diag(G))
assert abs((L @ L.T - G) / np.outer(d, d)).max() < 1e-13
assert abs(get("I") @ np.load("H.npy") - np.eye(9)).max() < 1e-3'
}

@test "dependent columns are told of by their labels, on any number of ranks and under any ceiling" {
    py 'r = np.random.default_rng(1); a, b, g = r.integers(0, 99, size=(3, 3000))
open("t.csv", "w").write("size,age,half,y\n" + "".join(f"{u},{v},{(u + v) / 2},{w}\n" for u, v, w in zip(a, b, g)))'
    status 0 tra import -q --table t.csv -o t.h5 --block 500
    program='input t from "t.h5"
S = select(t, y > 3)
b = solve(matrix(S, [one = 1, size, age, half]), matrix(S, [y])); output b'
    for n in 1 2 3 5; do
        status 3 tra run -q --no-history --sites $n --threads 1 --memory 48M - <<<"$program"
        has "b: solve: the matrix is singular to working precision: column half follows from columns size, age"
        [ ! -e b.h5 ]
    done
    status 3 tra run -q - <<<'input t from "t.h5"
X = matrix(t, [one = 1, size, age, half])
G[i,j] = sum X[n,i] * X[n,j]; I = inverse(G); output I'
    has "inverse: the matrix is singular to working precision: column half follows from columns size, age"
}
