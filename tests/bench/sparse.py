#!/usr/bin/python3
"""Operations on sparse matrices beside scipy (one thread), SuiteSparse:GraphBLAS (two; graphblas.c) and torch (two).

tests/bench/run sparse. Four matrices of `gen`: uniform 1e6 x 10 a row, banded 1e5 x 61, R-MAT 2^20 with 1.6e7 entries,
R-MAT 2^16 with 7.3e5; of the first also f32, i64 and bool. Columns: seconds inside the run, from files to the durable file;
those in which its operators compute, with two threads and with one; those predicted; the whole
process; scipy's computation, and with loading .npz and saving; GraphBLAS's and torch's computation; memory; whether the
results agree to 1e-6 (their sums). Medians of TRA_BENCH_REPEATS (3) in turn, fewer where it takes long or time is short.
TRA_BENCH_ONLY="fem-aa uni": only these. TRA_BENCH_SCALE: the share of rows (1), as 0.01 to see that all works.
TRA_BENCH_SECONDS (600): what is not begun by then is left out, and said, and where the run is behind each operation runs
once, on two threads alone; matrices that are there are not made again.
scipy runs in one process for each matrix (`sparse.py peer MATRIX`), which holds it."""
import glob, json, os, statistics, subprocess, sys, time

SCALE = float(os.environ.get("TRA_BENCH_SCALE", "1"))
HERE = os.path.dirname(os.path.abspath(__file__))
MATRICES = {"uni": (1000000, ["--density", "{:.9f}".format(1e-5 / SCALE)]), "fem": (100000, ["--pattern", "band:30"]),
            "rmat": (1 << 20, ["--pattern", "rmat", "--density", "{:.9f}".format(1.5e-5 / SCALE)]),
            "rs": (1 << 16, ["--pattern", "rmat", "--density", "{:.9f}".format(1.85e-4 / SCALE)])}
TYPES = {"uni32": ("uni", "f32"), "uni64": ("uni", "i64"), "unib": ("uni", "bool")}
A, B, X, U, V, E = ('input {0} from "sparse_%s_{1}.h5:A"\n'.format(*p) for p in ("Aa", "Bb", "Xx", "Uu", "Vv", "Ae"))
X16, X64 = X.replace("_x.", "_x16."), X.replace("_x.", "_x64.")
# operation: inputs, statement, what scipy computes
OPERATIONS = {
    "spmv": (A + X, "C[i] = sum A[i,j] * X[j]", "a @ x"), "xa": (A + X, "C[j] = sum X[i] * A[i,j]", "a.T @ x"),
    "x16": (A + X16, "C[i,k] = sum A[i,j] * X[j,k]", "a @ x16"), "x64": (A + X64, "C[i,k] = sum A[i,j] * X[j,k]", "a @ x64"),
    "xta": (A + X16, "C[j,k] = sum X[i,k] * A[i,j]", "a.T @ x16"),
    "rowsum": (A, "C[i] as dense = sum A[i,j]", "a.sum(1)"), "colsum": (A, "C[j] as dense = sum A[i,j]", "a.sum(0)"),
    "sum": (A, "C[] as dense = sum A[i,j]", "a.sum()"), "rowmax": (A, "C[i] as dense = max A[i,j]", "a.max(1).toarray()"),
    "colmax": (A, "C[j] as dense = max A[i,j]", "a.max(0).toarray()"), "min": (A, "C[] as dense = min A[i,j]", "a.min()"),
    "count": (A, "C[i] as dense = sum (A[i,j] > 0.5)", "(a > 0.5).sum(1)"),
    "sumexp": (A, "C[] = sum exp(A[i,j])", "np.exp(a.data).sum() + (float(a.shape[0]) * a.shape[1] - a.nnz)"),
    "dot": (A + B, "C[] as dense = sum A[i,j] * B[i,j]", "a.multiply(b).sum()"),
    "add": (A + B, "C[i,j] = A[i,j] + B[i,j]", "a + b"), "sub": (A + B, "C[i,j] = A[i,j] - B[i,j]", "a - b"),
    "mul": (A + B, "C[i,j] = A[i,j] * B[i,j]", "a.multiply(b)"), "scale": (A + X, "C[i,j] = A[i,j] / (X[j] + 1)", "a @ sp.diags(1 / (x + 1))"),
    "map": (A, "C[i,j] = sqrt(A[i,j])", "a.sqrt()"), "compare": (A, "C[i,j] = if(A[i,j] > 0.5, A[i,j], 0)", "a.multiply(a > 0.5)"),
    "positive": (A, "C[i,j] = A[i,j] > 0.5", "a > 0.5"), "diag": (A, "C[i] as dense = A[i,i]", "a.diagonal()"),
    "t": (A, "C[j,i] = A[i,j]", "a.T.tocsr()"), "rows": (A, "C = slice(A, [100:$H, :])", "a[100:$H]"),
    "step": (A, "C = slice(A, [::3, :])", "a[::3]"), "columns": (A, "C = slice(A, [:, 100:$H])", "a[:, 100:$H]"),
    "row": (A, "C = slice(A, [$H:$H+1, :])", "a[$H]"), "stack": (A + B, "C = stack(A, B, 0)", 'sp.vstack([a, b], "csr")'),
    "beside": (A + B, "C = stack(A, B, 1)", 'sp.hstack([a, b], "csr")'),
    "blocks": (A, "C = repart(A, [8, 8])", 'a.tocsc().tocsr()'), "csc": (A, "C = store(A, csc)", "a.tocsc()"),
    "coo": (A, "C = store(A, coo)", "a.tocoo()"), "dcsr": (A, "C = store(A, dcsr)", "a.tocoo()"), "csf": (A, "C = store(A, csf)", "a.tocoo()"),
    "aa": (A, "C[i,k] = sum A[i,j] * A[j,k]", "a @ a"), "ata": (A, "C[j,k] = sum A[i,j] * A[i,k]", "a.T.tocsr() @ a"),
    "aat": (A, "C[i,k] = sum A[i,j] * A[k,j]", "a @ a.T.tocsr()"),
    "masked": (A, "C[i,k] = sum (A[i,k] != 0) * A[i,j] * A[j,k]", "(a @ a).multiply(a != 0)"),
    "sddmm": (A + U + V, "C[i,j] = sum A[i,j] * U[i,k] * V[j,k]", "sampled(a, u, v)")}
GRAPHBLAS = {"aa", "ata", "aat", "masked", "add", "mul", "t", "spmv", "rowsum"}
TORCH = {"spmv": "ta @ tx", "x16": "ta @ tx16", "x64": "ta @ tx64"}
LARGE = {("rmat", o) for o in ("aa", "ata", "aat", "masked")} | {("uni", "aat")}  # 1e9 products and more; minutes
ONCE = {"aa", "ata", "aat", "masked", "sddmm"}
TYPED = "spmv rowsum colmax dot add map positive t rows stack csc".split()  # of other types
FEW = {"rmat": "spmv xa x16 x64 rowsum colsum rowmax sumexp dot add mul scale compare t stack blocks csc dcsr sddmm".split()}


def expression(what, n):
    return OPERATIONS[what][2].replace("$H", str(n // 2 + n // 4))


def peer(name):
    """Reads names of operations; prints for each the seconds of scipy's computation, those with loading and saving, torch's,
    and the sum, least and largest of the result."""
    import numpy as np, scipy.sparse as sp
    loading, values = {}, {"np": np, "sp": sp}

    def get(n):
        if n in values: return loading.get(n, 0)
        t = time.perf_counter()
        if n in "abe": values[n] = sp.load_npz(f"sparse_{name}_{n}.npz")
        else: values[n] = np.load(f"sparse_{TYPES.get(name, (name,))[0]}_{n}.npy")
        loading[n] = time.perf_counter() - t
        return loading[n]

    def sampled(a, u, v):
        c = a.copy()
        rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
        for i in range(0, a.nnz, 1 << 20):
            at = slice(i, i + (1 << 20))
            c.data[at] *= np.einsum("ek,ek->e", u[rows[at]], v[a.indices[at]])
        return c
    values["sampled"] = sampled
    for line in sys.stdin:
        what = line.strip()
        inputs = OPERATIONS[what][0]
        load = sum(get(n) for n in ("a", "b", "u", "v") if f"_{n}.h5" in inputs)
        load += sum(get(n) for n in ("x", "x16", "x64") if f"_{n}.h5" in inputs)
        third = float("nan")
        try:
            t, cpu = time.perf_counter(), time.process_time()
            c = eval(expression(what, values["a"].shape[0]), values)
            t, cpu = time.perf_counter() - t, time.process_time() - cpu
            if what in TORCH:
                try:
                    import torch
                    torch.set_num_threads(2)
                    a = values["a"]
                    if "ta" not in values: values["ta"] = torch.sparse_csr_tensor(torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape)
                    for n in ("x", "x16", "x64"):
                        if n in values: values["t" + n] = torch.from_numpy(values[n])
                    third = time.perf_counter()
                    eval(TORCH[what], values)
                    third = time.perf_counter() - third
                except (ImportError, RuntimeError): third = float("nan")
            w = time.perf_counter()
            sp.save_npz("sparse_peer.npz", c, compressed=False) if sp.issparse(c) else np.save("sparse_peer.npy", c)
            w = time.perf_counter() - w
            v = c.data if sp.issparse(c) else np.asarray(c)
            total = float(v.sum(dtype=np.float64)) if v.size else 0.0
            print(t, load + t + w, third, total, cpu, flush=True)
        except Exception as e:
            print("-", str(e).splitlines()[0][:60], flush=True)


def made(b, name):
    """Makes the files of a matrix where they are not there."""
    base, dtype = TYPES.get(name, (name, "f64"))
    n, more = MATRICES[base]
    n = max(64, int(n * SCALE))
    file = lambda what: os.path.join(b.DIR, f"sparse_{name}_{what}")
    if os.path.exists(file("made")):
        for f in glob.glob(file("*.h5")):  # into the cache of pages: the first operation reads no disk, as those after it
            with open(f, "rb") as o:
                while o.read(1 << 24): pass
        return n
    for x, seed in (("a", "1"), ("b", "2")):
        b.sh(b.TRA, "gen", "-q", "--memory", "1G", "--shape", f"{n}x{n}", "--seed", seed, "--dtype", dtype, *more, "-o", file(x + ".h5:A"))
        if dtype == "i64":  # numbers up to 1e12, whose products no i64 holds
            with open(os.path.join(b.DIR, "sparse.tra"), "w") as f:
                f.write(f'input G from "{file(x + ".h5")}:A"\nA[i,j] = G[i,j] % 1000\noutput A to "{file(x + "_.h5")}:A"\n')
            b.sh(b.TRA, "run", "-q", os.path.join(b.DIR, "sparse.tra"))
            os.replace(file(x + "_.h5"), file(x + ".h5"))
        b.sh(b.TRA, "export", "-q", file(x + ".h5:A"), "--to", "npz", "-o", file(x + ".npz"))
    for x, columns in (("x", ""), ("x16", "x16"), ("x64", "x64"), ("u", "x16"), ("v", "x16")) if name == base else ():
        b.sh(b.TRA, "gen", "-q", "--memory", "1G", "--shape", f"{n}{columns}", "--seed", str(len(x)), "-o", file(x + ".h5:A"))
        b.sh(b.TRA, "export", "-q", "--memory", "2G", file(x + ".h5:A"), "--to", "npy", "-o", file(x + ".npy"))
    open(file("made"), "w").close()
    return n


def graphblas(b):
    """The program, compiled; None where GraphBLAS is not installed."""
    out = os.path.join(b.DIR, "graphblas")
    made = subprocess.run(["cc", "-O2", "-o", out, os.path.join(HERE, "graphblas.c"), "-lgraphblas"], capture_output=True)
    return None if made.returncode else out


def flat(b, name):
    """The matrices as graphblas.c reads them."""
    if os.path.exists(os.path.join(b.DIR, f"sparse_{name}_a.bin")): return
    code = ("import sys, numpy as np, scipy.sparse as sp\nfor f in sys.argv[1:]:\n a = sp.load_npz(f); a.sort_indices()\n"
            " with open(f[:-3] + 'bin', 'wb') as o:\n"
            "  for x in ([a.shape[0], a.nnz], a.indptr, a.indices): np.asarray(x, np.int64).tofile(o)\n"
            "  a.data.astype(np.float64).tofile(o)")
    b.sh("/usr/bin/python3", "-c", code, *(os.path.join(b.DIR, f"sparse_{name}_{x}.npz") for x in "ab"))


def one(b, program, threads):
    """A run of tra: inside, kernels, predicted, whole process, memory, processor seconds; or what it says."""
    if os.path.exists(os.path.join(b.DIR, "sparse_o.h5")): os.remove(os.path.join(b.DIR, "sparse_o.h5"))
    t, before = time.perf_counter(), os.times()
    p = subprocess.run([b.TRA, "run", program, "--threads", str(threads), "--profile", "sparse.json"], cwd=b.DIR,
                       capture_output=True, text=True)
    t, after = time.perf_counter() - t, os.times()
    if p.returncode: return p.stderr.strip().splitlines()[-1][:60]
    inside, used = b.seconds_and_peak(p)
    with open(os.path.join(b.DIR, "sparse.json")) as f: plan = json.load(f)["plans"][0]
    kernels = sum(o["measured"]["kernel_seconds"] for o in plan["operators"] if o["op"] not in ("input", "output"))
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return inside, kernels, plan["seconds"], t, used, cpu


def total_of(b):
    """The sum of the result's elements."""
    program = "T[] = sum f64(C[i,j])"
    for labels in ("i,j", "i", ""):
        text = f'input C from "sparse_o.h5"\nT[] as dense = sum f64(C[{labels}])\n' if labels else 'input C from "sparse_o.h5"\nT[] as dense = f64(C[])\n'
        with open(os.path.join(b.DIR, "sparse_t.tra"), "w") as f: f.write(text + 'output T to "csv:-"\n')
        p = subprocess.run([b.TRA, "run", "-q", "sparse_t.tra"], cwd=b.DIR, capture_output=True, text=True)
        if p.returncode == 0: return float(p.stdout)
    return float("nan")


def run(b):
    only = os.environ.get("TRA_BENCH_ONLY", "").split()
    repeats, third, end = min(b.REPEATS, 3), graphblas(b), time.time() + float(os.environ.get("TRA_BENCH_SECONDS", "600"))
    begin, done, left = time.time(), 0, []
    order = ["uni", "fem", "rs", "rmat", *TYPES]
    wanted = {}
    for name in order:
        names = [o for o in TYPED if (name, o) != ("unib", "add")] if name in TYPES else FEW.get(name, OPERATIONS)
        wanted[name] = [o for o in names if (not only and ((name, o) not in LARGE or SCALE < 1)) or {name, o, f"{name}-{o}"} & set(only)]
    every = sum(len(v) for v in wanted.values())
    print("\n### Operations on sparse matrices, seconds\n\n| case | inside | kernels | one thread | predicted | whole | processor |"
          " scipy's | scipy | scipy whole | GraphBLAS | torch | inside / scipy | whole / whole | kernels / GraphBLAS | memory | agrees |\n|---" + "|---" * 16 + "|")
    for name, names in wanted.items():
        if not names: continue
        n = made(b, name)
        p = subprocess.Popen(["/usr/bin/python3", os.path.join(HERE, "sparse.py"), "peer", name], cwd=b.DIR, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for what in names:
            inputs, statement, _ = OPERATIONS[what]
            behind = (time.time() - begin) / (end - begin) > (done + 1) / every
            done += 1
            if time.time() > end:
                left.append(f"{name}-{what}")
                continue
            base = TYPES.get(name, (name,))[0]
            for x in ("x", "x16", "x64", "u", "v"): inputs = inputs.replace(f"%s_{x}.", f"{base}_{x}.")
            with open(os.path.join(b.DIR, "sparse.tra"), "w") as f:
                f.write(inputs.replace("%s", name) + statement.replace("$H+1", str(n // 2 + n // 4 + 1)).replace("$H", str(n // 2 + n // 4)) + '\noutput C to "sparse_o.h5"\n')
            own, others, one_thread, began = [], [], float("nan"), time.time()
            for i in range(1 if what in ONCE or behind else repeats):
                own.append(one(b, "sparse.tra", 2))
                p.stdin.write(what + "\n")
                p.stdin.flush()
                others.append(p.stdout.readline().split())
                if isinstance(own[0], str) or time.time() - began > 8: break
            if isinstance(own[0], str):
                print(f"| {name} {what} | {own[0]} |" + " |" * 15, flush=True)
                continue
            others = [[float(x) for x in o] for o in others if o and o[0] != "-"] or [[float("nan")] * 5]
            total, want = total_of(b), others[0][3]
            agrees = "-" if want != want else "yes" if abs(total - want) <= 1e-6 * max(1, abs(want)) else f"NO {total:.9g} {want:.9g}"
            if not behind:
                said = one(b, "sparse.tra", 1)
                one_thread = said[1] if not isinstance(said, str) else one_thread
            g = float("nan")
            if third and what in GRAPHBLAS and name in MATRICES:
                flat(b, name)
                q = subprocess.run([third, what, "1" if what in ONCE else str(repeats), f"sparse_{name}_a.bin", f"sparse_{name}_b.bin"],
                                   cwd=b.DIR, capture_output=True, text=True)
                if q.returncode == 0: g = statistics.median(float(x) for x in q.stdout.split())
            inside, kernels, predicted, whole, used, cpu = (statistics.median(o[i] for o in own) if i != 4 else own[-1][4] for i in range(6))
            s, w, t, c = (statistics.median(o[i] for o in others) for i in (0, 1, 2, 4))
            ratio = lambda x, y: x / y if y > 0 else float("nan")
            print(f"| {name} {what} | {inside:.3f} | {kernels:.3f} | {one_thread:.3f} | {predicted:.3f} | {whole:.3f} | {cpu:.3f} | {c:.3f} | {s:.3f} | {w:.3f} |"
                  f" {g:.3f} | {t:.3f} | {ratio(inside, s):.2f} | {ratio(whole, w):.2f} | {ratio(kernels, g):.2f} | {used} | {agrees} |".replace("nan", "-"), flush=True)
        p.stdin.close()
        p.wait()
    if left: print("\nLeft out, since there was no time (TRA_BENCH_SECONDS): " + ", ".join(left) + ".", flush=True)


if __name__ == "__main__": peer(sys.argv[2])
