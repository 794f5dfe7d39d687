# Tensors of rows that a predicate selects from a table, of which only the run tells how many there are: what they are
# beside the rows that were kept, as numpy has it.
load helper

# rows N: a table t.h5 of N rows in blocks of 7, with columns g (0 to 9), a, b (small whole numbers) and r (floats).
rows() {
    "$PYTHON" -c '
import random, sys
r = random.Random(5)
with open("t.csv", "w") as f:
    f.write("g,a,b,r\n")
    for i in range(int(sys.argv[1])):
        f.write(f"{r.randrange(10)},{r.randrange(-9, 9)},{r.randrange(-9, 9)},{r.gauss(0, 1)}\n")' "$1"
    tra import -q --table --block 7 t.csv -o t.h5
    printf '3\n-5\n' >v.csv
    for t in f64 f32 i64; do tra import -q --no-header --vector --dtype $t v.csv -o v_$t.h5; done
    cat >judge.py <<'END'
import csv, h5py, numpy as np
table = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(open("t.csv"))]
def rows(where, *names): return np.array([[r[n] for n in names] for r in table if where(r)]).reshape(-1, len(names))
v = np.array([3., -5.])
def near(file, x, dtype=None):
    y = h5py.File(file + ".h5")["data"][...]
    x = np.asarray(x, float)
    assert y.shape == x.shape, (file, y.shape, x.shape)
    assert np.allclose(x, y, 1e-5, 1e-9, equal_nan=True), (file, x, y)
    assert dtype is None or y.dtype == dtype, (file, y.dtype)
END
}

@test "a term that lacks the label of counted rows counts once for each row, in each type and on 1, 2 and 3 sites" {
    rows 60
    for t in f64 f32 i64; do
        cat >p.tra <<END
input t from "t.h5"
input v from "v_$t.h5"
X = matrix(select(t, g < 4), [a, b], type = $t)
Y = matrix(select(t, g > 6), [b, a], type = $t)
N = matrix(select(t, g > 99), [a, b], type = $t)
A[i,j] = sum (v[j] + X[n,i])
B[i,j] = sum (X[n,i] - 2 * v[j] * Y[m,j] + 4)
C[i,j] = sum (v[j] + N[n,i])
D[i] = sum (X[n,i] * v[k] + v[i])
E[i,j] = mean (v[j] + X[n,i])
F[i,j] = mean (X[n,i] * Y[m,j] - v[k])
G[n,i] = X[n,i] - mean[m](X[m,i])
H[i] = mean N[n,i]
END
        for o in A B C D E F G H; do echo "output $o" >>p.tra; done
        cat judge.py - >j.py <<END
X, Y, t = rows(lambda r: r["g"] < 4, "a", "b"), rows(lambda r: r["g"] > 6, "b", "a"), "$t"
n, m = len(X), len(Y)
f = "f4" if t == "f32" else "f8"
s = f if t != "i64" else "i8"
near("A", X.sum(0)[:, None] + n * v, s)
near("B", m * X.sum(0)[:, None] - 2 * n * v * Y.sum(0) + 4 * n * m, s)
near("C", np.zeros((2, 2)), s)
near("D", X.sum(0) * v.sum() + 2 * n * v, s)
near("E", X.mean(0)[:, None] + v, f)
near("F", X.mean(0)[:, None] * Y.mean(0) - v.mean(), f)
near("G", X - X.mean(0), f)
near("H", [np.nan, np.nan], f)
END
        for s in 1 2 3; do
            status 0 tra run -q --no-history --sites $s p.tra
            status 0 "$PYTHON" j.py
        done
        status 0 tra run -q --no-history --engine reference p.tra
        status 0 "$PYTHON" j.py
    done
}

@test "rows that only the run counts are stored in every storage that results have, compressed too, on 1 to 5 sites" {
    rows 100
    printf '3,0\n0,-5\n' >l.csv
    tra import -q --no-header --storage csr l.csv -o l.h5
    cat >p.tra <<'END'
input t from "t.h5"
input L from "l.h5"
S = select(t, g < 6)
G = matrix(select(t, g > 6), [p = a, q = b])
H = matrix(select(t, g > 99), [a, b])
X = matrix(S, [a, b, r])
P = project(S, p = a, q = max(b, 0))
M = matrix(P, [p, q])
Y[n,i] as coo = 2 * X[n,i]
W[n,k] = sum M[n,i] * L[i,k]
K[n,m] as dcsr = sum M[n,i] * M[m,i]
U[n,m] = sum M[n,i] * G[m,i]
V[n] as csf = sum M[n,i]
T[n,m,i] as csf = M[n,i] * M[m,i]
B = store(X, band(200))
N = store(matrix(select(t, g > 99), [a, b]), csr)
F[n,k] = sum H[n,i] * L[i,k]
END
    for o in Y W K U V T B N F; do echo "output $o" >>p.tra; done
    for s in csr csc coo csf dcsr dcsc colmajor dense; do printf 'X_%s = store(X, %s)\noutput X_%s\n' $s $s $s >>p.tra; done
    cat judge.py - >j.py <<'END'
import subprocess, os
def near(name, x):
    subprocess.run([os.environ["TRA"], "export", "-q", name + ".h5", "-o", "x.npy"], check=True)
    y = np.load("x.npy")
    assert y.shape == x.shape, (name, y.shape, x.shape)
    assert np.allclose(x, y, 1e-12, 1e-12), (name, x, y)
X, G = rows(lambda r: r["g"] < 6, "a", "b", "r"), rows(lambda r: r["g"] > 6, "a", "b")
M = np.c_[X[:, 0], np.maximum(X[:, 1], 0)]
none = np.zeros((0, 2))
for name, x in (("Y", 2 * X), ("W", M * v), ("K", M @ M.T), ("U", M @ G.T), ("V", M.sum(1)), ("B", X),
                ("T", np.einsum("ni,mi->nmi", M, M)), ("N", none), ("F", none)):
    near(name, x)
for s in "csr csc coo csf dcsr dcsc colmajor dense".split(): near("X_" + s, X)
END
    for s in 1 2 3 5; do
        status 0 tra run -q --no-history --sites $s p.tra
        status 0 "$PYTHON" j.py
        tra digest ./[A-Z].h5 X_*.h5 >$s.txt
        status 0 cmp 1.txt $s.txt
        [ -z "$(find . -name '.*tmp*')" ]
    done
    status 0 tra run -q --no-history --codec zstd p.tra
    status 0 "$PYTHON" j.py
    for f in [A-Z].h5 X_*.h5; do status 0 tra verify -q "$f"; done
    status 0 tra run -q --no-history --engine reference p.tra
    status 0 "$PYTHON" j.py
}

@test "folds of counted rows over a label that sites share are merged, whatever the sites have of it" {
    rows 40
    printf '1\n2\n3\n4\n5\n6\n' >w.csv
    tra import -q w.csv --no-header --vector --block 2 -o w.h5
    cat >p.tra <<'END'
input t from "t.h5"
input W from "w.h5"
X = matrix(select(t, g < 4), [a, b])
I = matrix(select(t, g < 4), [a, b], type = i64)
V[n,w,i] = X[n,i] * W[w]
U[n,w,i] as csf = I[n,i] * floor(W[w])
A[n,i] = max floor(V[n,w,i])
B[n,i] = min floor(V[n,w,i])
C[n,i] = sum floor(V[n,w,i])
D[n,i] = prod floor(V[n,w,i] / 4)
E[n,i] = mean floor(V[n,w,i])
F[n,i] as csr = max U[n,w,i]
G[n,i] = argmax floor(V[n,w,i])
H[n,i,m] = max (V[n,w,i] - X[m,i] * W[w])
END
    for o in A B C D E F G H; do echo "output $o" >>p.tra; done
    cat judge.py - >j.py <<'END'
import os, subprocess
X, W = rows(lambda r: r["g"] < 4, "a", "b"), np.arange(1, 7.)
V = np.floor(X[:, None, :] * W[None, :, None])
near("A", V.max(1)); near("B", V.min(1)); near("C", V.sum(1)); near("D", np.floor(V / 4).prod(1)); near("E", V.mean(1))
near("G", V.argmax(1)); near("H", (V[:, :, :, None] - np.einsum("mi,w->wim", X, W)).max(1))
subprocess.run([os.environ["TRA"], "export", "-q", "F.h5", "-o", "f.npy"], check=True)
assert (np.load("f.npy") == V.max(1)).all()
END
    for s in 1 2 3 5; do
        status 0 tra run -q --no-history --sites $s p.tra
        status 0 "$PYTHON" j.py
    done
}

@test "counted rows keep their blocks in products with matrices cut in others; empty products have their extents" {
    rows 50
    printf '1,2\n3,-4\n5,6\n' >w.csv
    tra import -q --no-header --block 2x1 w.csv -o w.h5
    tra import -q --no-header --block 1x2 --storage csr w.csv -o c.h5
    cat >p.tra <<'END'
input t from "t.h5"
input w from "w.h5"
input c from "c.h5"
X = matrix(select(t, g < 5), [a, b, r])
N = matrix(select(t, g > 99), [a, b, r])
A[n,k] = sum X[n,i] * w[i,k]
B[n,k] = sum X[n,i] * c[i,k] + X[n,i] * w[i,k]
C[n,m] = sum X[n,i] * N[m,i]
D[n] = sum C[n,m]
E[n,k] = sum N[n,i] * w[i,k]
END
    for o in A B C D E; do echo "output $o" >>p.tra; done
    cat judge.py - >j.py <<'END'
X, w = rows(lambda r: r["g"] < 5, "a", "b", "r"), np.loadtxt("w.csv", delimiter=",")
near("A", X @ w); near("B", 2 * X @ w); near("C", np.zeros((len(X), 0))); near("D", np.zeros(len(X)))
near("E", np.zeros((0, 2)))
END
    for o in "--sites 1" "--sites 3" "--engine reference"; do
        # shellcheck disable=SC2086
        status 0 tra run -q --no-history $o p.tra
        status 0 "$PYTHON" j.py
    done
}
