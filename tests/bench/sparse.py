#!/usr/bin/python3
"""Operations on sparse matrices beside scipy (one thread) and SuiteSparse:GraphBLAS (two; graphblas.c).

tests/bench/run sparse. Four matrices of `gen`: uniform 1e6 x 10 a row, banded 1e5 x 61, R-MAT 2^20 with 1.6e7 entries,
R-MAT 2^16 with 7.3e5. Columns: seconds inside the run, from files to the durable file; those in which its operators
compute; those predicted; the whole process; scipy's computation, and with loading .npz and saving; GraphBLAS's
computation. Medians of TRA_BENCH_REPEATS (3) in turn; what takes long runs once. TRA_BENCH_ONLY="fem-aa uni": only
these. TRA_BENCH_SCALE: the share of rows (1), as 0.01 to see that all works. Peers run as `sparse.py peer OPERATION
MATRIX` in processes of their own."""
import json, os, statistics, subprocess, sys, time

SCALE = float(os.environ.get("TRA_BENCH_SCALE", "1"))
HERE = os.path.dirname(os.path.abspath(__file__))
MATRICES = {"uni": (1000000, ["--density", "{:.9f}".format(1e-5 / SCALE)]), "fem": (100000, ["--pattern", "band:30"]),
            "rmat": (1 << 20, ["--pattern", "rmat", "--density", "{:.9f}".format(1.5e-5 / SCALE)]),
            "rs": (1 << 16, ["--pattern", "rmat", "--density", "{:.9f}".format(1.85e-4 / SCALE)])}
A, B, X, U, V = ('input {0} from "sparse_%s_{1}.h5:A"\n'.format(*p) for p in ("Aa", "Bb", "Xx", "Uu", "Vv"))
X16, X64 = X.replace("_x.", "_x16."), X.replace("_x.", "_x64.")
# operation: inputs, statement, what scipy computes
OPERATIONS = {
    "aa": (A, "C[i,k] = sum A[i,j] * A[j,k]", "a @ a"), "ata": (A, "C[j,k] = sum A[i,j] * A[i,k]", "a.T.tocsr() @ a"),
    "aat": (A, "C[i,k] = sum A[i,j] * A[k,j]", "a @ a.T.tocsr()"), "add": (A + B, "C[i,j] = A[i,j] + B[i,j]", "a + b"),
    "sub": (A + B, "C[i,j] = A[i,j] - B[i,j]", "a - b"), "mul": (A + B, "C[i,j] = A[i,j] * B[i,j]", "a.multiply(b)"),
    "scale": (A + X, "C[i,j] = A[i,j] / (X[j] + 1)", "a @ sp.diags(1 / (x + 1))"),
    "map": (A, "C[i,j] = sqrt(A[i,j])", "a.sqrt()"), "compare": (A, "C[i,j] = if(A[i,j] > 0.5, A[i,j], 0)", "a.multiply(a > 0.5)"),
    "t": (A, "C[j,i] = A[i,j]", "a.T.tocsr()"), "spmv": (A + X, "C[i] = sum A[i,j] * X[j]", "a @ x"),
    "xa": (A + X, "C[j] = sum X[i] * A[i,j]", "a.T @ x"), "x16": (A + X16, "C[i,k] = sum A[i,j] * X[j,k]", "a @ x"),
    "x64": (A + X64, "C[i,k] = sum A[i,j] * X[j,k]", "a @ x"), "rowsum": (A, "C[i] as dense = sum A[i,j]", "a.sum(1)"),
    "colsum": (A, "C[j] as dense = sum A[i,j]", "a.sum(0)"), "rowmax": (A, "C[i] = max A[i,j]", "a.max(1)"),
    "dot": (A + B, "C[] as dense = sum A[i,j] * B[i,j]", "a.multiply(b).sum()"),
    "sddmm": (A + U + V, "C[i,j] = sum A[i,j] * U[i,k] * V[j,k]", "sampled(a, u, v)"),
    "csc": (A, "C = store(A, csc)", "a.tocsc()")}
GRAPHBLAS = {"aa", "ata", "aat", "add", "mul", "t", "spmv", "rowsum"}
LARGE = {("rmat", o) for o in ("aa", "ata", "aat")} | {("uni", "aat")}  # results of 1e9 entries and more; minutes
ONCE = {"aa", "ata", "aat", "sddmm", "x64"}


def peer(what, name):
    """Prints the seconds of scipy's computation, and with loading and saving."""
    import numpy as np, scipy.sparse as sp
    start = time.perf_counter()
    values = {}
    for n in "ab":
        if what not in "add sub mul dot".split() and n == "b": continue
        values[n] = sp.load_npz(f"sparse_{name}_{n}.npz")
    for n in "xuv":
        file = f"sparse_{name}_{what if what in ('x16', 'x64') else n}.npy"
        if n == "x" or what == "sddmm": values[n] = np.load(file)

    def sampled(a, u, v):
        c = a.copy()
        rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
        for i in range(0, a.nnz, 1 << 20):
            at = slice(i, i + (1 << 20))
            c.data[at] *= np.einsum("ek,ek->e", u[rows[at]], v[a.indices[at]])
        return c
    t = time.perf_counter()
    c = eval(OPERATIONS[what][2], {"sp": sp, "np": np, "sampled": sampled, **values})
    t = time.perf_counter() - t
    sp.save_npz("sparse_peer.npz", c, compressed=False) if sp.issparse(c) else np.save("sparse_peer.npy", c)
    print(t, time.perf_counter() - start)


def made(b, name):
    """Makes the files of a matrix where they are not there."""
    n, more = MATRICES[name]
    n = max(64, int(n * SCALE))
    file = lambda what: os.path.join(b.DIR, f"sparse_{name}_{what}")
    if os.path.exists(file("a.bin")): return
    for x, seed in (("a", "1"), ("b", "2")):
        b.sh(b.TRA, "gen", "-q", "--memory", "1G", "--shape", f"{n}x{n}", "--seed", seed, *more, "-o", file(x + ".h5:A"))
        b.sh(b.TRA, "export", "-q", file(x + ".h5:A"), "--to", "npz", "-o", file(x + ".npz"))
    for x, columns in (("x", ""), ("x16", "x16"), ("x64", "x64"), ("u", "x16"), ("v", "x16")):
        b.sh(b.TRA, "gen", "-q", "--memory", "1G", "--shape", f"{n}{columns}", "--seed", str(len(x)), "-o", file(x + ".h5:A"))
        b.sh(b.TRA, "export", "-q", "--memory", "2G", file(x + ".h5:A"), "--to", "npy", "-o", file(x + ".npy"))
    code = ("import sys, numpy as np, scipy.sparse as sp\nfor f in sys.argv[1:]:\n a = sp.load_npz(f); a.sort_indices()\n"
            " with open(f[:-3] + 'bin', 'wb') as o:\n"
            "  for x in ([a.shape[0], a.nnz], a.indptr, a.indices): np.asarray(x, np.int64).tofile(o)\n"
            "  a.data.astype(np.float64).tofile(o)")
    b.sh("/usr/bin/python3", "-c", code, file("b.npz"), file("a.npz"))


def graphblas(b):
    """The program, compiled; None where GraphBLAS is not installed."""
    out = os.path.join(b.DIR, "graphblas")
    made = subprocess.run(["cc", "-O2", "-o", out, os.path.join(HERE, "graphblas.c"), "-lgraphblas"], capture_output=True)
    return None if made.returncode else out


def one(b, program):
    """A run of tra: inside, kernels, predicted, whole process; or what it says."""
    if os.path.exists(os.path.join(b.DIR, "sparse_o.h5")): os.remove(os.path.join(b.DIR, "sparse_o.h5"))
    t = time.perf_counter()
    p = subprocess.run([b.TRA, "run", program, "--threads", "2", "--profile", "sparse.json"], cwd=b.DIR, capture_output=True,
                       text=True)
    t = time.perf_counter() - t
    if p.returncode: return p.stderr.strip().splitlines()[-1][:60]
    inside, used = b.seconds_and_peak(p)
    with open(os.path.join(b.DIR, "sparse.json")) as f: plan = json.load(f)["plans"][0]
    kernels = sum(o["measured"]["kernel_seconds"] for o in plan["operators"] if o["op"] not in ("input", "output"))
    return inside, kernels, plan["seconds"], t, used


def run(b):
    only = os.environ.get("TRA_BENCH_ONLY", "").split()
    repeats, peers = min(b.REPEATS, 3), graphblas(b)
    print("\n### Operations on sparse matrices, seconds\n\n| case | inside | kernels | predicted | whole | scipy | scipy whole |"
          " GraphBLAS | inside / scipy | whole / whole | kernels / GraphBLAS | memory |\n|---" + "|---" * 11 + "|")
    for name in MATRICES:
        for what, (inputs, statement, _) in OPERATIONS.items():
            if (name, what) in LARGE and SCALE == 1: continue
            if only and not {name, what, f"{name}-{what}"} & set(only): continue
            made(b, name)
            with open(os.path.join(b.DIR, "sparse.tra"), "w") as f:
                f.write(inputs.replace("%s", name) + statement + '\noutput C to "sparse_o.h5"\n')
            own, others, third = [], [], []
            for _ in range(1 if what in ONCE else repeats):
                own.append(one(b, "sparse.tra"))
                p = subprocess.run(["/usr/bin/python3", os.path.join(HERE, "sparse.py"), "peer", what, name], cwd=b.DIR,
                                   capture_output=True, text=True)
                if p.returncode == 0: others.append([float(x) for x in p.stdout.split()])
                if not peers or what not in GRAPHBLAS: continue
                p = subprocess.run([peers, what, "1", f"sparse_{name}_a.bin", f"sparse_{name}_b.bin"], cwd=b.DIR,
                                   capture_output=True, text=True)
                if p.returncode == 0: third.append(float(p.stdout))
            if isinstance(own[0], str):
                print(f"| {name} {what} | {own[0]} |" + " |" * 10, flush=True)
                continue
            inside, kernels, predicted, whole = (statistics.median(o[i] for o in own) for i in range(4))
            s, w = (statistics.median(o[i] for o in others) if others else float("nan") for i in range(2))
            g = statistics.median(third) if third else float("nan")
            print(f"| {name} {what} | {inside:.3f} | {kernels:.3f} | {predicted:.3f} | {whole:.3f} | {s:.3f} | {w:.3f} | {g:.3f} |"
                  f" {inside / s:.2f} | {whole / w:.2f} | {kernels / g:.2f} | {own[-1][4]} |".replace("nan", "-"), flush=True)


if __name__ == "__main__": peer(sys.argv[2], sys.argv[3])
