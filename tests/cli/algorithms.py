"""Runs the algorithms that come with tra on small data, and compares them with numpy and scipy: algorithms.py (TRA is
the program; works in the current folder)."""
import os
import subprocess

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.csgraph

T = os.environ["TRA"]
rng = np.random.default_rng(0)


def tra(*args):
    p = subprocess.run([T, *args], capture_output=True, text=True)
    assert p.returncode == 0, (args, p.stdout, p.stderr)


def run(*args):
    tra("run", "-q", *args)


def put(name, a, block=None):
    np.save(name + ".npy", a)
    tra("import", "-q", name + ".npy", "-o", name + ".h5", *(["--block", block] if block else []))


def put_sparse(name, a):
    scipy.io.mmwrite(name + ".mtx", a)
    tra("import", "-q", name + ".mtx", "-o", name + ".h5")


def get(name):
    return h5py.File(name + ".h5")["data"][...]


def close(a, b, tolerance):
    assert np.allclose(a, b, rtol=0, atol=tolerance), (a, b)


# k-means
X = np.concatenate([rng.normal(c, 0.3, (60, 3)) for c in (0, 2, 5)])
X = X[rng.permutation(180)]
put("X", X, "70x3")
run("@kmeans", "-D", "k=3")
C = X[:3].copy()
for _ in range(100):
    near = ((X[:, None] - C[None]) ** 2).sum(2).argmin(1)
    new = np.array([X[near == c].mean(0) if (near == c).any() else C[c] for c in range(3)])
    moved, C = abs(new - C).max(), new
    if moved <= 1e-9:
        break
close(get("C"), C, 1e-9)
assert (get("centre") == ((X[:, None] - C[None]) ** 2).sum(2).argmin(1)).all()

# logistic regression, by gradient and by Newton
A = np.c_[np.ones(300), rng.normal(size=(300, 3))]
y = (rng.random(300) < 1 / (1 + np.exp(-(A @ [0.5, 1, -2, 0.3])))).astype(float)
put("A", A, "100x4")
put("y", y)
run("@logistic", "-D", "X=A.h5", "-D", "turns=5000", "-D", "tolerance=1e-9")
by_gradient = get("w")
run("@logistic_newton", "-D", "X=A.h5")
w = np.zeros(4)
for _ in range(25):
    p = 1 / (1 + np.exp(-A @ w))
    w += np.linalg.solve((A * (p * (1 - p))[:, None]).T @ A + 1e-9 * np.eye(4), A.T @ (y - p))
close(by_gradient, w, 1e-6)
close(get("w")[:, 0], w, 1e-8)

# ridge regression, dense and sparse
t = rng.normal(size=300)
put("t", t)
for ridge in (0, 3.5):
    run("@ridge", "-D", "X=A.h5", "-D", "y=t.h5", "-D", f"ridge={ridge}")
    close(get("w"), np.linalg.solve(A.T @ A + ridge * np.eye(4), A.T @ t), 1e-8)
S = sp.random(200, 30, 0.1, random_state=1, format="csr")
put_sparse("S", S)
t = rng.normal(size=200)
put("t", t)
run("@ridge", "-D", "X=S.h5", "-D", "y=t.h5", "-D", "ridge=0.1")
close(get("w"), np.linalg.solve((S.T @ S).toarray() + 0.1 * np.eye(30), S.T @ t), 1e-7)

# PageRank
G = sp.random(100, 100, 0.03, random_state=2, format="csr")
G.data[:] = 1
put_sparse("G", G)
run("@pagerank")
out = np.asarray(G.sum(1)).ravel()
r = np.full(100, 0.01)
for _ in range(200):
    r = 0.85 * (G.T @ np.where(out > 0, r / np.maximum(out, 1), 0) + r[out == 0].sum() / 100) + 0.15 / 100
close(get("rank"), r, 1e-9)

# connected components, label propagation
U = ((G + G.T) > 0).astype(float).tocsr()
put_sparse("U", U)
run("@components", "-D", "G=U.h5")
n, label = sp.csgraph.connected_components(U)
first = {}
for i, l in enumerate(label):
    first.setdefault(l, i)
assert (get("least") == [first[l] for l in label]).all()
F = np.zeros((100, 2))
F[0, 0] = F[1, 1] = F[2, 0] = 1
put("F", F)
run("@propagation", "-D", "G=U.h5", "-D", "turns=300", "-D", "tolerance=1e-12")
P, degree = F.copy(), np.asarray(U.sum(1)).ravel()[:, None]
for _ in range(300):
    P = np.where(degree > 0, (U @ P) / np.maximum(degree, 1), P)
    P[:3] = F[:3]
close(get("S"), P, 1e-8)

# nonnegative factors
V = rng.random((40, 6)) @ rng.random((6, 25))
put("V", V, "20x25")
run("@nmf", "-D", "rank=6", "-D", "turns=400")
W, H = get("W"), get("H")
assert (W >= 0).all() and (H >= 0).all()
assert np.linalg.norm(V - W @ H) < 0.02 * np.linalg.norm(V)
V = V * (rng.random(V.shape) < 0.3) # the same of a sparse matrix as of its dense one
put("V", V, "20x25")
run("@nmf", "-D", "rank=3", "-D", "turns=20")
W, H = get("W"), get("H")
put_sparse("V", scipy.sparse.coo_matrix(V))
run("@nmf", "-D", "rank=3", "-D", "turns=20")
close(get("W"), W, 1e-9)
close(get("H"), H, 1e-9)

# alternating least squares: of the ratings that are there
R = (rng.random((60, 4)) @ rng.random((4, 45))) * (rng.random((60, 45)) < 0.3)
R[7] = 0
put_sparse("R", scipy.sparse.coo_matrix(R))
run("@als", "-D", "rank=4", "-D", "turns=6")
tra("gen", "-q", "--shape", "45x4", "--dist", "uniform", "--seed", "2", "-o", "V0.h5")


def least_squares(R, V):
    U = np.zeros((len(R), V.shape[1]))
    for u, has in enumerate(R != 0):
        v = V[has]
        if len(v): U[u] = np.linalg.solve(v.T @ v + 0.1 * len(v) * np.eye(V.shape[1]), v.T @ R[u, has])
    return U


V = get("V0")
for _ in range(6):
    U = least_squares(R, V)
    V = least_squares(R.T, U)
close(get("U"), U, 1e-9)
close(get("V"), V, 1e-9)
fitted = (get("U"), get("V"))
run("@als", "-D", "rank=4", "-D", "turns=6", "--sites", "2", "--threads", "1")
close(get("U"), fitted[0], 1e-9)
close(get("V"), fitted[1], 1e-9)

# principal components
B = rng.normal(size=(400, 6)) @ np.diag([5, 3, 1, 0.5, 0.2, 0.1])
put("B", B, "150x6")
run("@pca", "-D", "X=B.h5", "-D", "k=2")
values, vectors = np.linalg.eigh(np.cov(B.T))
assert np.allclose(get("variance"), values[::-1][:2], rtol=1e-6)
close(abs((get("component") * vectors[:, ::-1][:, :2]).sum(0)), 1, 1e-5)

# Gaussian mixture
run("@gmm", "-D", "k=3")
m, s, p, before = X[:3].copy(), np.tile(X.var(0), (3, 1)), np.full(3, 1 / 3), -1e300
for _ in range(200):
    a = np.log(p) - 0.5 * (((X[:, None] - m) ** 2 / s).sum(2) + np.log(2 * np.pi * s).sum(1))
    top = a.max(1)
    e = np.exp(a - top[:, None])
    likelihood = (top + np.log(e.sum(1))).mean()
    R = e / e.sum(1)[:, None]
    N = R.sum(0)
    m = R.T @ X / N[:, None]
    s = np.maximum(R.T @ X**2 / N[:, None] - m**2, 1e-6)
    p = N / len(X)
    if abs(likelihood - before) <= 1e-9:
        break
    before = likelihood
close(get("M"), m, 1e-6)
close(get("w"), p, 1e-6)

# CP factors of a tensor, dense and sparse
T3 = np.einsum("ir,jr,kr->ijk", rng.random((12, 3)), rng.random((15, 3)), rng.random((9, 3)))
T3[rng.random(T3.shape) < 0.5] = 0
put("T", T3, "5x15x4")
with open("S.tns", "w", encoding="ascii") as f:
    for at in zip(*np.nonzero(T3)):
        f.write(" ".join(str(x + 1) for x in at) + f" {float(T3[at])!r}\n")
tra("import", "-q", "S.tns", "--shape", "12x15x9", "--storage", "csf", "-o", "S.h5")
for name, size, seed in ("A", 12, 1), ("B", 15, 2), ("C", 9, 3):
    tra("gen", "-q", "--shape", f"3x{size}", "--dist", "uniform", "--seed", str(seed), "-o", name + "0.h5")
A, B, C = (get(n + "0") for n in "ABC")
for _ in range(25):
    A = np.linalg.solve((B @ B.T) * (C @ C.T), np.einsum("ijk,rj,rk->ri", T3, B, C))
    B = np.linalg.solve((A @ A.T) * (C @ C.T), np.einsum("ijk,ri,rk->rj", T3, A, C))
    C = np.linalg.solve((A @ A.T) * (B @ B.T), np.einsum("ijk,ri,rj->rk", T3, A, B))
for file in "TS":
    run("@cp", "-D", f"T={file}.h5", "-D", "rank=3", "-D", "turns=25", "-D", "tolerance=0")
    for name, want in zip("ABC", (A, B, C)):
        close(get(name), want, 1e-9)

# a network, whose batches do not fit the blocks
X = rng.normal(size=(330, 5))
y = (X[:, 0] > 0) + (X[:, 1] > 0.5).astype(float)
put("X", X, "70x5")
put("y", y)
tra("gen", "-q", "--shape", "5x8", "--dist", "normal", "--seed", "1", "-o", "w.h5")
tra("gen", "-q", "--shape", "8x3", "--dist", "normal", "--seed", "2", "-o", "v.h5")
w, v = 0.1 * get("w"), 0.1 * get("v")
for b in 50 * np.tile(np.arange(6), 4):
    x, c = X[b : b + 50], y[b : b + 50]
    a = x @ w
    z = np.maximum(a, 0)
    e = np.exp(z @ v)
    e = (e / e.sum(1)[:, None] - (c[:, None] == np.arange(3))) / 50
    w, v = w - 0.5 * x.T @ ((e @ v.T) * (a > 0)), v - 0.5 * z.T @ e
for sites in "1", "3":
    run("--sites", sites, "@network", "-D", "classes=3", "-D", "hidden=8", "-D", "rows=50", "-D", "turns=4")
    close(get("W"), w, 1e-9)
    close(get("V"), v, 1e-9)
