"""Inputs that the algorithms which come with tra cannot take, or that seem so: each is refused in the words of their
arguments, or gives the right answer. algorithms_inputs.py (TRA is the program; works in the current folder)."""
import os, subprocess
import h5py, numpy as np, scipy.io, scipy.sparse as sp, scipy.sparse.csgraph

T = os.environ["TRA"]
r = np.random.default_rng(1)
bad = 0


def run(*args):
    p = subprocess.run([T, "run", "-q", *args], capture_output=True, text=True)
    return p.returncode, p.stderr


def put(**arrays):
    for name, a in arrays.items():
        if sp.issparse(a):
            scipy.io.mmwrite(name + ".mtx", a)
            subprocess.run([T, "import", "-q", name + ".mtx", "-o", name + ".h5"], check=True)
        else:
            np.save(name + ".npy", a)


def get(name): return h5py.File(name + ".h5")["data"][...]


def check(holds, what):
    global bad
    if not holds: bad += 1; print(what)


def refused(status, text, algorithm, **arguments):
    got = run("@" + algorithm, *(v for k, x in arguments.items() for v in ("-D", f"{k}={x}")))
    check(got[0] == status and text in got[1] and f"@{algorithm}:" in got[1], (algorithm, arguments, got))


X = np.vstack([r.normal(size=(30, 3)), r.normal(size=(30, 3)) + 5])
y = (X.sum(1) > 7) * 1.0
Xnan, Xinf, Xmost, ynan = X.copy(), X.copy(), X.copy(), y.copy()
Xnan[4, 1], Xinf[4, 1], ynan[3] = np.nan, np.inf, np.nan
put(X=X, y=y, Xnan=Xnan, Xinf=Xinf, ynan=ynan, one=X[:1], none=X[:, :0], few=y[:59], y2=y + 1, yhalf=y / 2)
open("text.csv", "w").write("a,b\n1,x\n2,y\n")

# rows and columns, and what stands in them
finite = "must have no element that is NaN or infinite"
for x in ("Xnan", "Xinf"):
    for a in ("kmeans", "gmm", "pca"): refused(3, "X " + finite, a, X=x + ".npy", k=2)
    for a in ("logistic", "logistic_newton"): refused(3, "X " + finite, a, X=x + ".npy", y="y.npy")
    refused(3, "X and y " + finite, "ridge", X=x + ".npy", y="y.npy")
    refused(3, "X " + finite, "network", X=x + ".npy", y="y.npy", rows=20, turns=2)
    refused(3, "V must have no element that is negative, NaN or infinite", "nmf", V=x + ".npy")
refused(3, "V must have no element that is negative", "nmf", V="X.npy")
refused(2, "two rows", "pca", X="one.npy")
refused(2, "X must have rows and columns: extent(X, 0) is 60, extent(X, 1) is 0", "kmeans", X="none.npy")
refused(2, "column 'b' of this table is no number but string", "gmm", X="text.csv")
refused(2, "y must have an element for each row of X: extent(y, 0) is 59, extent(X, 0) is 60", "ridge", X="X.npy", y="few.npy")
for a in ("logistic", "logistic_newton"):
    for labels in ("y2", "ynan"): refused(3, "y must have labels from 0 to 1", a, X="X.npy", y=labels + ".npy")
for labels in ("y2", "ynan", "yhalf"):
    refused(3, "y must have classes 0, 1", "network", X="X.npy", y=labels + ".npy", rows=20, turns=1, classes=2)

# graphs
G = sp.random(40, 40, 0.03, random_state=2, format="csr")
G = ((G + G.T) > 0) * 1.0
directed, wide = sp.random(40, 40, 0.06, random_state=3, format="csr"), sp.random(40, 30, 0.1, random_state=3)
i, j = G.nonzero()[0][0], G.nonzero()[1][0]
less = G.copy()
less[i, j] = less[j, i] = -2
F = np.eye(40, 2)
put(G=G, Gdirected=directed, Gwide=wide, Gless=less, F=F, Ffew=F[:39], Fless=F - 1)
for a in ("pagerank", "components"): refused(2, "G must be square", a, G="Gwide.h5")
refused(2, "G must be square", "propagation", G="Gwide.h5", F="F.npy")
refused(2, "F must have a row for each vertex", "propagation", G="G.h5", F="Ffew.npy")
refused(3, "G must have no weight that is negative", "pagerank", G="Gless.h5")
refused(3, "G must have no weight that is negative", "propagation", G="Gless.h5", F="F.npy")
refused(3, "F must have no element that is negative", "propagation", G="G.h5", F="Fless.npy")
np.save("Gdense.npy", less.toarray() * 2.5)
for g, edges in (("Gless.h5", G), ("Gdense.npy", G), ("Gdirected.h5", directed)):  # of any weight, in any direction
    got = run("@components", "-D", "G=" + g)
    part = scipy.sparse.csgraph.connected_components(edges)[1]
    least = [np.nonzero(part == p)[0].min() for p in part]
    check(got[0] == 0 and (get("least") == least).all(), ("components", g, got))

# dense algorithms of sparse rows and columns
S = sp.random(60, 6, 0.4, random_state=5, format="csr")
put(sparse=S, dense=S.toarray())
for a, names in (("kmeans", ("C", "centre")), ("gmm", ("M", "w")), ("pca", ("variance",))):
    got = [(run("@" + a, "-D", f"X={x}", "-D", "k=3"), [get(n) for n in names]) for x in ("sparse.h5", "dense.npy")]
    same = all(np.allclose(p, q, rtol=0, atol=1e-8) for p, q in zip(got[0][1], got[1][1]))
    check(got[0][0][0] == got[1][0][0] == 0 and same, (a, got[0][0], got[1][0]))

# tensors and ratings
C = np.einsum("ri,rj,rk->ijk", r.random((2, 6)), r.random((2, 5)), r.random((2, 4)))
put(C=C, C0=C * 0, Cnan=C / C * np.nan, R=sp.random(9, 8, 0.5, random_state=1))
refused(3, "T must have no element that is NaN", "cp", T="Cnan.npy")
for name, rank in (("C", 9), ("C0", 2)):
    got = run("@cp", "-D", f"T={name}.npy", "-D", f"rank={rank}")
    model = np.einsum("ri,rj,rk->ijk", get("A"), get("B"), get("C"))
    check(got[0] == 0 and np.abs(model - (C if name == "C" else 0)).max() < 1e-3, ("cp", name, got))
rating = sp.random(9, 8, 0.5, random_state=1)
rating.data[3] = np.inf
put(Rinf=rating)
refused(3, "R must have no rating that is NaN or infinite", "als", R="Rinf.h5", rank=2, turns=2)
print(bad, "wrong")
raise SystemExit(bad > 0)
