#!/usr/bin/python3
"""Loops: whole processes from files to files beside numpy, scipy and scikit-learn; what a turn costs; ceilings; figures.

tests/bench/run loops. TRA_BENCH_SCALE: shares of the sizes (1), as 0.05 to see that all works.
TRA_BENCH_CASES=pagerank,nmf: only these beside their peers. Peers run as
`loops.py CASE` in processes of their own; those that are not installed are left out."""
import json, os, resource, statistics, subprocess, sys, time

SCALE = float(os.environ.get("TRA_BENCH_SCALE", "1"))
LOGISTIC, KMEANS, NMF, PAGES = 1000000, 1000000, (100000, 10000), 1 << 20


# ---- peers, each from files to files

def read(name):
    import h5py
    with h5py.File(name, "r") as f:
        return f["data"][...]


def csr(name):
    import h5py, scipy.sparse as sp
    with h5py.File(name, "r") as f:
        g = f["data"]
        return sp.csr_matrix((g["values"][...], g["indices_1"][...], g["pointers_to_1"][...]),
                             shape=tuple(json.loads(g.attrs["binsparse"])["binsparse"]["shape"]))


def peer_logistic():
    import numpy as np
    x, y = read("loops_x.h5"), read("loops_y.h5")
    w = np.zeros(x.shape[1])
    for _ in range(20):
        w -= x.T @ (1 / (1 + np.exp(-(x @ w))) - y) / len(y)
    np.save("loops_peer.npy", w)


def peer_kmeans():
    import numpy as np
    from sklearn.cluster import KMeans
    x = read("loops_points.h5")
    m = KMeans(10, init=x[:10], n_init=1, max_iter=20, tol=0, algorithm="lloyd").fit(x)
    np.save("loops_peer.npy", m.cluster_centers_), np.save("loops_peer_of.npy", m.labels_)


def peer_nmf():
    import numpy as np
    from sklearn.decomposition import NMF as Model
    v = csr("loops_v.h5")
    r = np.random.default_rng(1)
    m = Model(16, init="custom", solver="mu", max_iter=20, tol=0)
    w = m.fit_transform(v, W=r.random((v.shape[0], 16)), H=r.random((16, v.shape[1])))
    np.save("loops_peer.npy", w), np.save("loops_peer_h.npy", m.components_)


def peer_binary():
    import numpy as np
    g = csr("loops_g.h5")
    with open("loops_g.bin", "wb") as f:
        for x in ([g.shape[0], g.nnz], g.indptr, g.indices): np.asarray(x, dtype=np.int64).tofile(f)
        np.asarray(g.data, dtype=np.float64).tofile(f)


def peer_pagerank():
    import numpy as np
    g = csr("loops_g.h5")
    n = g.shape[0]
    out = np.asarray(g.sum(axis=1)).ravel()
    share, none = np.divide(1, out, where=out > 0, out=np.zeros(n)), out == 0
    rank, t = np.full(n, 1 / n), g.T
    for _ in range(50):
        rank = 0.85 * (t @ (rank * share) + rank[none].sum() / n) + 0.15 / n
    np.save("loops_peer.npy", rank)


# ---- measuring

def timed(b, words):
    """Seconds of the process, and of the processor in it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t = time.perf_counter()
    p = subprocess.run(words, cwd=b.DIR, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if p.returncode == 77: return None
    if p.returncode: sys.exit(f"{' '.join(words)}: status {p.returncode}\n{p.stderr}")
    return time.perf_counter() - t, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def middle(v, i=0): return None if v[0] is None else statistics.median(x[i] for x in v)


def inside(b, *words):
    """Seconds of the run itself, from its profile, which is returned too."""
    b.sh(b.TRA, "run", "-q", "--threads", "2", "--profile", "loops.json", *words)
    with open(os.path.join(b.DIR, "loops.json")) as f: plan = json.load(f)["plans"][0]
    return plan["measured"]["seconds"], plan


def make(b, names):
    rows = lambda n: max(int(n * SCALE), 200)
    n, whole = rows(PAGES), ("--storage", "csr", "--memory", "3G")
    graph = ("--density", f"{1.5e-5 / SCALE:.4g}", "--pattern", "rmat", *whole)
    inputs = {"logistic": [("x", f"{rows(LOGISTIC)}x40", "20000x40"), ("y", f"{rows(LOGISTIC)}", "20000")],
              "kmeans": [("points", f"{rows(KMEANS)}x20", "20000x20")],
              "nmf": [("v", *2 * [f"{rows(NMF[0])}x{rows(NMF[1])}"], "--density", "0.01", *whole)],
              "pagerank": [("g", *2 * [f"{n}x{n}"], *graph)],
              "blocks": [("b", f"{n}x{n}", f"{n // 128 + 1}x{n}", *graph)]}
    for case in names:
        for name, shape, block, *more in inputs[case]: b.gen(f"loops_{name}.h5", shape, block, 1 + len(name), *more)


# name: turns, the most that tra may take of the peer's time, words of the run
CASES = {"logistic": ("numpy", 1.0, ["@logistic", "-D", "X=loops_x.h5", "-D", "y=loops_y.h5", "-D", "turns=20", "-D", "tolerance=0"]),
         "kmeans": ("scikit-learn", 1.0, ["@kmeans", "-D", "X=loops_points.h5", "-D", "k=10", "-D", "turns=20", "-D", "tolerance=0"]),
         "nmf": ("scikit-learn", 1.0, ["@nmf", "-D", "V=loops_v.h5", "-D", "turns=20", "-D", "rank=16"]),
         "pagerank": ("scipy", 0.6, ["@pagerank", "-D", "G=loops_g.h5", "-D", "turns=50", "-D", "tolerance=0"])}
PCA = ["@pca", "-D", "X=loops_x.h5", "-D", "k=4", "-D", "turns=10", "-D", "tolerance=0"]
STEP = """input X from "loops_x.h5"
input y from "loops_y.h5"
w = gen(zero, [extent(X, 1)])
p[n]  = sigmoid(sum[j](X[n,j] * w[j]))
g[j]  = mean[n](X[n,j] * (p[n] - y[n]))
v[j]  = w[j] - g[j]
output v to "loops_step.h5"
"""
EMPTY = """param turns = 10
state s = gen(zero, [])
repeat turns {
    next s[] = s[] + 1
}
output s to "loops_s.h5"
"""


def beside_peers(b, names):
    print("\n### Loops: whole processes from files to files, 2 threads, medians; processor seconds in parentheses\n")
    print("| case | peer | tra | of the peer's time | target | of its processor time |\n|---|---|---|---|---|---|")
    for name in names:
        peer, target, words = CASES[name]
        own, theirs = [], []
        for r in range(b.REPEATS + 1):
            a = timed(b, [b.TRA, "run", "-q", "--threads", "2", *words])
            p = timed(b, ["/usr/bin/python3", os.path.abspath(__file__), name])
            if r: own.append(a), theirs.append(p)
        s, cpu = middle(own), middle(own, 1)
        if theirs[0] is None:
            print(f"| {name} | {peer} is not installed | {s:.3f} s ({cpu:.2f}) | | {target} | |", flush=True)
            continue
        t, theirs_cpu = middle(theirs), middle(theirs, 1)
        print(f"| {name} | {peer} {t:.3f} s ({theirs_cpu:.2f}) | {s:.3f} s ({cpu:.2f}) | {s / t:.2f} | {target} | {cpu / theirs_cpu:.2f} |", flush=True)


def beside_graphblas(b):
    """PageRank by graphblas.c, from a file of its own to the ranks in memory."""
    import sparse
    program = sparse.graphblas(b)
    if not program: return print("\nGraphBLAS is not installed.")
    subprocess.run(["/usr/bin/python3", os.path.abspath(__file__), "binary"], cwd=b.DIR, check=True)
    own, theirs = [], []
    for _ in range(b.REPEATS):
        own.append(timed(b, [b.TRA, "run", "-q", "--threads", "2", *CASES["pagerank"][2]]))
        theirs.append(timed(b, [program, "pagerank", "50", "loops_g.bin"]))
    s, t = middle(own), middle(theirs)
    print(f"\nPageRank beside GraphBLAS: {t:.3f} s ({middle(theirs, 1):.2f}), tra {s:.3f} s ({middle(own, 1):.2f}): {s / t:.2f} of its time (target 1.25)", flush=True)


def turns(b):
    """What a turn costs: of k turns and of 3 k, the difference."""
    print("\n### What a turn costs\n\n| what | seconds | target |\n|---|---|---|")
    with open(os.path.join(b.DIR, "loops_step.tra"), "w") as f: f.write(STEP)
    with open(os.path.join(b.DIR, "loops_empty.tra"), "w") as f: f.write(EMPTY)
    few, many = [], []
    for _ in range(b.REPEATS):
        few.append(inside(b, *CASES["logistic"][2][:-4], "-D", "turns=10", "-D", "tolerance=0")[0])
        many.append(inside(b, *CASES["logistic"][2][:-4], "-D", "turns=40", "-D", "tolerance=0")[0])
    turn = (statistics.median(many) - statistics.median(few)) / 30
    step = statistics.median(inside(b, "loops_step.tra")[0] for _ in range(b.REPEATS))
    print(f"| a turn of logistic regression | {turn:.4f} | |\n| its body as a program, with what it reads | {step:.4f} | a turn: 1.05 of it; {turn / step:.2f} |", flush=True)
    for ranks, target in ((1, 20), (2, 200)):
        k = 20000 if ranks == 1 else 2000
        least = []
        for _ in range(b.REPEATS):
            pair = [inside(b, "loops_empty.tra", "-D", f"turns={n}", "--sites", str(ranks))[0] for n in (k, 3 * k)]
            least.append((pair[1] - pair[0]) / (2 * k))
        print(f"| an empty turn, {ranks} rank{'s' if ranks > 1 else ''} | {1e6 * statistics.median(least):.1f} microseconds | {target} |", flush=True)


def ceilings(b):
    print("\n### A quarter of the data as the ceiling\n\n| case | ceiling | with it | with all memory | ratio | target |\n|---|---|---|---|---|---|")
    blocks = [w.replace("loops_g", "loops_b") for w in CASES["pagerank"][2]]
    for name, words, file in (("pagerank", blocks, "loops_b.h5"), ("pca", PCA, "loops_x.h5")):
        memory = max(os.path.getsize(os.path.join(b.DIR, file)) // 4, 64 << 20)
        own = [(timed(b, [b.TRA, "run", "-q", "--threads", "2", "--memory", str(memory), *words])[0],
                timed(b, [b.TRA, "run", "-q", "--threads", "2", *words])[0]) for _ in range(b.REPEATS)]
        print(f"| {name} | {memory >> 20} MiB | {middle(own):.3f} s | {middle(own, 1):.3f} s | {middle(own) / middle(own, 1):.2f} | 1.25 |", flush=True)


def figures(b):
    print("\n### Predicted and counted, 30 turns\n\n| case | ranks | bytes read, predicted | counted | bytes sent, predicted | counted | seconds, predicted | measured |\n|---|---|---|---|---|---|---|---|")
    ones = {name: ["30" if w == "turns" else w for w in CASES[name][2]] for name in CASES}
    for name in CASES:
        words = [w if not w.startswith("turns=") else "turns=30" for w in ones[name]]
        for ranks in (1, 2):
            more = ["--sites", str(ranks)] + (["--threads", "1"] if ranks > 1 else [])
            seconds, p = inside(b, *words, *more)
            m = p["measured"]
            print(f"| {name} | {ranks} | {p['disk_read_bytes']} | {m['disk_read_bytes']} | {p['network_bytes']} | {m['network_bytes']} | {p['seconds']:.3f} | {seconds:.3f} |", flush=True)


def loops(b):
    only = os.environ.get("TRA_BENCH_CASES")
    names = only.split(",") if only else list(CASES)
    make(b, names)
    beside_peers(b, names)
    if "pagerank" in names: beside_graphblas(b)
    if only: return
    make(b, ["blocks"])
    turns(b)
    ceilings(b)
    figures(b)


if __name__ == "__main__":
    try:
        globals()["peer_" + sys.argv[1]]()
    except ImportError:
        sys.exit(77)
