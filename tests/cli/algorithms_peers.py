"""Algorithms that come with tra beside scikit-learn and networkx: algorithms_peers.py sklearn|networkx

Status 77 where that library is not installed."""
import importlib.util, os, subprocess, sys

which = sys.argv[1]
if not importlib.util.find_spec(which): sys.exit(77)
import h5py, numpy as np, scipy.io, scipy.sparse as sp

TRA, rng = os.environ["TRA"], np.random.default_rng(11)


def put(**arrays):
    for name, a in arrays.items():
        np.save(name + ".npy", a)
        subprocess.run([TRA, "import", "-q", name + ".npy", "-o", name + ".h5"], check=True)


def run(name, **values):
    subprocess.run([TRA, "run", "-q", "@" + name, *[w for k, v in values.items() for w in ("-D", f"{k}={v}")]], check=True)


def get(name): return h5py.File(name + ".h5")["data"][...]


def close(a, b, tolerance): assert np.allclose(a, b, rtol=0, atol=tolerance), abs(a - b).max()


def sklearn():
    from sklearn.cluster import KMeans
    from sklearn.decomposition import NMF, PCA
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.mixture import GaussianMixture
    X = np.concatenate([rng.normal(c, 0.4, (150, 4)) for c in (0, 2, 5)])[rng.permutation(450)]
    put(X=X)
    run("kmeans", k=3)
    peer = KMeans(3, init=X[:3], n_init=1, max_iter=100, tol=0).fit(X)
    close(get("C"), peer.cluster_centers_, 1e-9)
    assert (get("centre") == peer.labels_).all()
    put(B=rng.normal(size=(400, 5)) @ np.diag([6, 4, 2, 0.5, 0.2]))
    run("pca", X="B.h5", k=3)
    peer = PCA(3).fit(np.load("B.npy"))
    close(get("variance"), peer.explained_variance_, 1e-6)
    close(abs((get("component") * peer.components_.T).sum(0)), 1, 1e-5)
    run("gmm", k=3)
    peer = GaussianMixture(3, covariance_type="diag", tol=1e-12, max_iter=1000, reg_covar=0, means_init=X[:3],
                           weights_init=np.full(3, 1 / 3), precisions_init=np.tile(1 / X.var(0), (3, 1))).fit(X)
    close(get("M"), peer.means_, 1e-3)
    close(get("w"), peer.weights_, 1e-3)
    y = (X @ [1, -1, 0.5, 0.2] + rng.logistic(size=450) > 1).astype(float)
    put(D=np.c_[np.ones(450), X], y=y)
    run("logistic_newton", X="D.h5")
    peer = LogisticRegression(penalty=None, fit_intercept=False, tol=1e-10, max_iter=10000).fit(np.load("D.npy"), y)
    close(get("w").ravel(), peer.coef_.ravel(), 1e-4)
    put(y=X @ [1, -1, 0.5, 0.2] + rng.normal(size=450))
    run("ridge", X="D.h5", ridge=2)
    close(get("w"), Ridge(2, fit_intercept=False, solver="cholesky").fit(np.load("D.npy"), np.load("y.npy")).coef_, 1e-7)
    V = rng.random((60, 5)) @ rng.random((5, 40))
    put(V=V)
    run("nmf", rank=5, turns=30)
    for name, shape, seed in (("W0", "60x5", 1), ("H0", "5x40", 2)):
        subprocess.run([TRA, "gen", "-q", "--shape", shape, "--dist", "uniform", "--seed", str(seed), "-o", name + ".h5"], check=True)
    peer = NMF(5, init="custom", solver="mu", max_iter=30, tol=0)
    W = peer.fit_transform(V, W=get("W0"), H=get("H0"))
    close(get("W") @ get("H"), W @ peer.components_, 1e-6)


def networkx():
    import networkx as nx
    A = sp.random(200, 200, 0.01, random_state=3, format="coo")
    A.data[:] = 1
    S = ((A + A.T) > 0).astype(float).tocoo()
    for name, m in (("A", A), ("S", S)):
        scipy.io.mmwrite(name + ".mtx", m)
        subprocess.run([TRA, "import", "-q", name + ".mtx", "-o", name + ".h5"], check=True)
    run("pagerank", G="A.h5", tolerance="1e-12", turns=1000)
    peer = nx.pagerank(nx.from_scipy_sparse_array(A, create_using=nx.DiGraph), alpha=0.85, tol=1e-14, max_iter=1000)
    close(get("rank"), [peer[i] for i in range(200)], 1e-9)
    run("components", G="S.h5")
    label = get("least")
    for c in nx.connected_components(nx.from_scipy_sparse_array(S)): assert (label[list(c)] == min(c)).all()


globals()[which]()
