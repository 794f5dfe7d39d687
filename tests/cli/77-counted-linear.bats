# qr, svd and least squares of matrices whose rows a predicate selects from a table: only the run tells how many.
load helper

# A table of 5000 rows in 17 blocks, of whose groups g of 50 rows each block has three.
measures() {
    "$PYTHON" -c '
import random
r = random.Random(3)
with open("t.csv", "w") as f:
    f.write("n,g,a,b,c,y,z\n")
    for i in range(5000):
        a, b, c = (r.gauss(0, 1) for _ in range(3))
        f.write(f"{i},{i % 100},{a},{b},{c},{a - 2 * b + 0.5 * c + 3 + r.gauss(0, .1)},{r.gauss(0, 1)}\n")'
    tra import -q --table --block 300 t.csv -o t.h5
}

# selected PREDICATE STATEMENT...: the program p.tra, with matrix X of the rows, its right sides y and Y, a vector v.
selected() {
    printf '%s\n' 'input t from "t.h5"' "S = select(t, $1)" 'X = matrix(S, [one = 1, a, b, c])' 'y = matrix(S, [y])' \
        'Y = matrix(S, [y, z])' 'v[n] = sum y[n,j]' "${@:2}" >p.tra
}

@test "qr, svd and solve of selected rows are as numpy has them, the same bits on 1, 2, 3 and 5 sites" {
    measures
    selected 'g < 5 && a > -1' 'Q, R = qr(X)' 'U, s, V = svd(X)' 'B = solve(X, Y)' 'b = solve(X, v)' \
        'T = table(solve(X, y))' 'E[i,j] = sum Q[n,i] * Q[n,j]' 'F[n,i] = 2 * X[n,i]' 'P, L = qr(F)' \
        'A = solve(matrix(t, [one = 1, a, b]), matrix(t, [y, z]))'
    printf 'output %s\n' Q R U s V B b T E L A >>p.tra
    for n in 1 2 3 5; do
        status 0 tra run -q --no-history p.tra --sites $n --threads 1
        tra digest [A-DF-Z].h5 b.h5 s.h5 >$n.txt # E adds what the sites have of it
        status 0 cmp $n.txt 1.txt
    done
    cat >judge.py <<'END'
import csv, h5py, numpy as np
def rows(of, *names): return np.array([[1 if c == "one" else float(r[c]) for c in names] for r in of])
all = list(csv.DictReader(open("t.csv")))
chosen = [r for r in all if int(r["g"]) < 5 and float(r["a"]) > -1]
X, Y = rows(chosen, "one", "a", "b", "c"), rows(chosen, "y", "z")
def near(f, x):
    got = h5py.File(f + ".h5")["data"][()]
    assert got.shape == x.shape and abs(got - x).max() < 1e-11, (f, got.shape, x.shape)
def qr(x):
    q, r = np.linalg.qr(x)
    return q * np.sign(np.diag(r)), r * np.sign(np.diag(r))[:, None]
Q, R = qr(X)
near("Q", Q); near("R", R); near("E", np.eye(4)); near("L", 2 * R)
u, s, vt = np.linalg.svd(X, full_matrices=False)
sign = np.sign(vt[range(4), abs(vt).argmax(axis=1)])
near("U", u * sign); near("s", s); near("V", vt.T * sign)
least = lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0]
near("B", least(X, Y)); near("b", least(X, Y[:, 0])); near("A", least(rows(all, "one", "a", "b"), rows(all, "y", "z")))
END
    status 0 "$PYTHON" judge.py
    is "column one a b c" eval "tra export -q T.h5 -o - --to csv | cut -d, -f1 | xargs"
    status 0 tra run -q --engine reference p.tra
    status 0 "$PYTHON" judge.py
}

@test "least squares and Q of more selected rows than memory holds have the same bits as with enough of it" {
    status 0 tra gen -q --shape 400000x9 --block 20000x9 --seed 4 -o x.h5
    printf '%s\n' 'input X from "x.h5"' 'T = table(X)' 'output T to "t.h5"' >p.tra
    status 0 tra run -q p.tra
    printf '%s\n' 'input t from "t.h5"' 'S = select(t, c0 > 0.3)' \
        'X = matrix(S, [one = 1, c1, c2, c3, c4, c5, c6, c7])' 'y = matrix(S, [c0, c8])' 'b = solve(X, y)' \
        'Q, R = qr(X)' 'output b' 'output Q' 'output R' >p.tra
    status 0 tra run -q p.tra
    tra digest [bQR].h5 >all.txt
    for n in 1 2; do
        status 0 tra run --no-history --sites $n --threads 1 --memory 44M p.tra
        lacks "none of scratch"
        status 0 eval "tra digest [bQR].h5 | cmp - all.txt"
    done
}

@test "as many selected rows as columns are enough, in whatever blocks they lie; fewer, one or none are an error" {
    measures
    selected 'n == 0 || n == 700 || n == 4000 || n == 4999' 'Q, R = qr(X)' 'U, s, V = svd(X)' 'b = solve(X, v)' \
        'r[n] = sum X[n,i] * b[i]' 'd[n] = abs(r[n] - v[n])' \
        'm[] = max d[n]' 'D[i,j] = sum Q[n,i] * U[n,j]' 'I[i,j] = sum D[i,k] * D[j,k]' 'output m' 'output I'
    for engine in tra reference; do
        status 0 tra run -q --engine $engine p.tra
        status 0 py 'assert h5py.File("m.h5")["data"][()] < 1e-12
assert abs(h5py.File("I.h5")["data"][()] - np.eye(4)).max() < 1e-12'
    done
    while IFS='|' read -r rows predicate statement output engines; do
        selected "$predicate" "$statement" "output $output"
        for engine in $engines; do
            status 3 tra run -q --engine $engine p.tra
            [ $engine = reference ] || has "the matrix has $rows, fewer than its 4 columns"
            [ ! -e "$output.h5" ]
        done
    done <<'END'
3 rows|n > 4996|Q, R = qr(X)|R|tra
3 rows|n > 4996|Q, R = qr(X)|Q|tra
3 rows|n > 4996|U, s, V = svd(X)|s|tra
3 rows|n > 4996|U, s, V = svd(X)|U|tra reference
3 rows|n > 4996|b = solve(X, v)|b|tra
1 row|n == 2000|b = solve(X, y)|b|tra
1 row|n == 2000|Q, R = qr(X)|Q|tra
0 rows|n < 0|b = solve(X, y)|b|tra reference
0 rows|n < 0|Q, R = qr(X)|Q|tra reference
END
    selected 'g < 5' 'Z = matrix(S, [a, b, d = a - b])' 'b = solve(Z, y)' 'output b'
    status 3 tra run -q p.tra
    has "solve: the matrix is singular to working precision"
}

@test "a last block of fewer rows than columns, whose first column is 0, has its part in R, and in that of the reference" {
    py 'np.save("A.npy", np.array([[2, 7], [2, 3], [-7, 1], [-2, 3], [1, 7], [0, 3], [-7, 2], [0, 0], [0, 3.]]))'
    tra import -q --block 2x2 A.npy -o A.h5
    printf '%s\n' 'input A from "A.h5"' 'U, s, V = svd(A)' 'Q, R = qr(A)' 'output s' 'output R' >p.tra
    for engine in tra reference; do
        status 0 tra run -q --engine $engine p.tra
        status 0 py 'a = np.load("A.npy")
np.testing.assert_allclose(h5py.File("s.h5")["data"][()], np.linalg.svd(a)[1], rtol=1e-12)
R = h5py.File("R.h5")["data"][()]
np.testing.assert_allclose(R.T @ R, a.T @ a, atol=1e-10)'
    done
}

@test "what of selected rows has no result is refused with what to do" {
    measures
    while IFS='|' read -r statement message; do
        selected 'g < 5' 'W = matrix(select(t, g < 4), [y])' 'O = matrix(t, [y])' "r = $statement" 'output r'
        status 2 tra check p.tra
        has "p.tra:9:$message"
    done <<'END'
solve(X, W)|5: error: the matrix and its right side have rows of different tables
solve(X, O)|5: error: the matrix and its right side have rows of different tables
solve(O, X)|5: error: the matrix and its right side have rows of different tables
inverse(X)|13: error: inverse takes a matrix of known extents
cholesky(X)|14: error: cholesky takes a matrix of known extents
solve(O, slice(O, [0:9, 0:1]))|5: error: the right side has 9 rows, and the matrix 5000
END
}
