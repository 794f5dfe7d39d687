"""Peers of tests/bench/run: peers.py WHAT NAME REPEATS [FILE...]. Prints the seconds of each run on a line of its own.
Status 77: the peer is not installed."""
import os, sys, time

what, name, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
if what.startswith("dask"):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
import h5py
import numpy as np

try:
    import dask, dask.array as da
    dask.config.set(scheduler="threads", num_workers=len(os.sched_getaffinity(0)))
except ImportError:
    da = None
try:
    import torch
except ImportError:
    torch = None
if (what.startswith("dask") and not da) or (what.startswith("torch") and not torch):
    print("not installed", file=sys.stderr)
    sys.exit(77)


def timed(f, before=lambda: None):
    for _ in range(repeats):
        before()
        t = time.perf_counter()
        f()
        print(time.perf_counter() - t, flush=True)


def remove():
    if os.path.exists("peer_o.h5"):
        os.remove("peer_o.h5")


def product_numpy(): # in memory already, into memory that was used before
    a, b = (h5py.File(f"{name}_{x}.h5")["data"][:] for x in "ab")
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    np.matmul(a, b, out=c)
    timed(lambda: np.matmul(a, b, out=c))


def product_dask(): # file to file, in the page cache
    def run():
        with h5py.File(f"{name}_a.h5") as fa, h5py.File(f"{name}_b.h5") as fb, h5py.File("peer_o.h5", "w") as fo:
            a, b = (da.from_array(f["data"], chunks=f["data"].chunks) for f in (fa, fb))
            c = fo.create_dataset("data", (a.shape[0], b.shape[1]), a.dtype, chunks=fa["data"].chunks)
            da.store(a @ b, c)
    timed(run, remove)


def stream_dask():
    def run():
        with h5py.File("st_x.h5") as fx, h5py.File("st_c.h5") as fc:
            x = da.from_array(fx["data"], chunks=fx["data"].chunks)
            if name == "max":
                return x.max(1).compute()
            if name == "sum":
                return x.sum().compute()
            with h5py.File("peer_o.h5", "w") as fo:
                to = fo.create_dataset("data", x.shape, "f8", chunks=fx["data"].chunks)
                if name == "exp":
                    return da.store(da.exp(x - da.from_array(fc["data"], chunks=fx["data"].chunks[1])), to)
                e = da.exp(x - x.max(1, keepdims=True))
                dask.compute(da.store(e, to, compute=False), e.sum(1))
    timed(run, remove)


def stream_torch():
    x = torch.from_numpy(h5py.File("st_x.h5")["data"][:])
    f = {"max": lambda: x.max(1).values, "sum": lambda: x.sum()}[name]
    f()
    timed(f)


def sparse_scipy(): # in memory already, but for the import: from MatrixMarket to a file
    import scipy.io, scipy.sparse
    if name == "import":
        return timed(lambda: scipy.sparse.save_npz("peer_o.npz", scipy.io.mmread("sp_a.mtx").tocsr(), compressed=False))
    a = scipy.sparse.load_npz("sp_a.npz")
    x = h5py.File("sp_x.h5" if name == "spmv" else "sp_b.h5")["data"][:]
    f = {"spmv": lambda: a @ x, "spmm": lambda: a @ x, "sums": lambda: a.sum(1)}[name]
    f()
    timed(f)


def kernel_scipy(): # of STOREL's experiments; factored by hand where that is better
    import scipy.sparse
    def load(file):
        stem = file[:-3]
        return scipy.sparse.load_npz(stem + ".npz").tocsr() if os.path.exists(stem + ".npz") else np.load(stem + ".npy")
    a, *more = [load(f) for f in sys.argv[4:]]
    at = a.T if name == "batax" else None
    timed({"batax": lambda: 2 * (at @ (a @ more[0])), "summmm": lambda: np.asarray(a.sum(0)).ravel() @ np.asarray(more[0].sum(1)).ravel(),
           "spmm": lambda: a @ more[0], "spgemm": lambda: a @ a, "mmm": lambda: a @ more[0]}[name])


def matrix_scipy(): # of the peers' kind: FILE, extent, entries
    import scipy.sparse, zlib
    file, n, entries = sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
    r = np.random.default_rng(zlib.crc32(name.encode()))
    i = r.integers(0, n, int(entries * 1.15))
    if name == "webbase":
        j = np.minimum((n * r.random(i.size) ** 3).astype(np.int64), n - 1)
    else:
        j = np.clip(i + r.integers(-200, 201, i.size), 0, n - 1)
    key = np.unique(i * n + j)
    key = np.sort(r.choice(key, min(entries, key.size), replace=False))
    scipy.sparse.save_npz(file, scipy.sparse.csr_matrix((r.random(key.size) - 0.5, (key // n, key % n)), shape=(n, n)), compressed=False)


def load_sparse(file):
    import scipy.sparse
    stem = file[:-3]
    if os.path.exists(stem + ".npz"): return scipy.sparse.load_npz(stem + ".npz").tocsr()
    return np.load(stem + ".npy") if os.path.exists(stem + ".npy") else np.loadtxt(stem + ".tns", skiprows=3, ndmin=2)


def serve(*ways): # seconds of one computation for each line that comes, by the best way
    for way in ways: way()
    for _ in sys.stdin:
        best = np.inf
        for way in ways:
            t = time.perf_counter()
            way()
            best = min(best, time.perf_counter() - t)
        print(best, flush=True)


def server_torch(): # a matrix stored as csr times a dense one, on two threads
    import warnings
    warnings.simplefilter("ignore") # that such matrices are new
    torch.set_num_threads(2)
    a, b = [load_sparse(f) for f in sys.argv[4:]]
    a = torch.sparse_csr_tensor(torch.from_numpy(a.indptr.astype(np.int64)), torch.from_numpy(a.indices.astype(np.int64)),
                                torch.from_numpy(a.data), size=a.shape)
    b = torch.from_numpy(b)
    serve(lambda: a @ b)


def server_scipy():
    import scipy.sparse
    a, *more = [load_sparse(f) for f in sys.argv[4:]]
    if name in ("ttm", "mttkrp"):
        i, k, l = (a[:, d].astype(np.int64) - 1 for d in range(3))
        v = a[:, 3]
    if name == "ttm":
        fibre, at = np.unique(i * (k.max() + 1) + k, return_inverse=True)
        matrix = scipy.sparse.csr_matrix((v, (at, l)), shape=(fibre.size, more[0].shape[0]))
    if name == "mttkrp":
        matrix = scipy.sparse.csr_matrix((v, (i, np.arange(v.size))), shape=(i.max() + 1, v.size))
    if name == "batax": at = a.T
    if name == "mmm_best":
        a, more[0] = scipy.sparse.csr_matrix(a), scipy.sparse.csr_matrix(more[0])
        full = [x.toarray() for x in (a, more[0])]
    ways = {"batax": [lambda: 2 * (at @ (a @ more[0]))], "spmm": [lambda: a @ more[0]], "spgemm": [lambda: a @ a],
            "summmm": [lambda: np.asarray(a.sum(0)).ravel() @ np.asarray(more[0].sum(1)).ravel()], "ttm": [lambda: matrix @ more[0]],
            "mttkrp": [lambda: matrix @ (more[0][k] * more[1][l])],
            "mmm_best": [lambda: a @ more[0], lambda: full[0] @ full[1]]}[name]
    serve(*ways)


globals()[what.replace("scipy_", "").replace("dask_", "").replace("torch_", "").replace("numpy_", "") + "_" + what.split("_")[0]]()
remove()
