"""Sparse kernels compared with scipy, and with kernels found without some rules, after the experiments of STOREL
(Schleich, Shaikhha, Suciu 2023). Cases of tests/bench/run, which passes itself (as a module) as `b`: `kernels` (figure 7:
its programs over random matrices and tensors of the sizes and densities of its table 2), `density` (figure 8), `rules`
(figure 9) and `search` (table 4).

Case `fast`: the same programs in turn with scipy, torch (A times dense columns) and taco (products of tensors, factors
as csr), over banded matrices and one like a web graph, and a tiny run from start to end. TRA_BENCH_ONLY="SpMM MMM": only
these. TACO_DIR: the prefix under which taco was installed. Peers that are missing are named.

Kernel seconds of tra are those in which the operators of a run compute (kernel_seconds of --profile), on two threads;
peers' are of the computation alone, on what is in memory already, on one thread (scipy) or two. Products of two
sparse matrices and TTM, whose results are large, run once in `kernels`. TRA_BENCH_SHRINK=N: extents and entries divided
by N, to try the script."""
import json, os, statistics, subprocess, sys, time

SHRINK = int(os.environ.get("TRA_BENCH_SHRINK", "1"))
# name: extents, entries (table 2); NIPS and NELL take an hour to make, and stand for those who have it
MATRICES = {"cant": (62451, 2034917), "consph": (83334, 3046907), "cop20k_A": (121192, 1362087), "pdb1HYS": (36417, 2190591),
            "rma10": (46835, 2374001), "webbase": (1000005, 3105536)}
TENSORS = {"facebook": ((1592, 63891, 63890), 737778), "enron": ((6066, 5699, 244268), 3101609)}
LARGE = {"nips": ((2482, 2862, 14036), 31000000), "nell": ((12092, 9184, 28818), 76879419)}
COLUMNS = 64


def made(b, name, extents, entries, storage, seed):
    """A tensor with entries at uniformly random places, as NAME.h5; a dense one where entries is None."""
    extents = [max(4, e // SHRINK) for e in extents]
    file = f"k_{name}_{storage}.h5" if SHRINK == 1 else f"k_{name}_{storage}_{SHRINK}.h5"
    if not os.path.exists(os.path.join(b.DIR, file)):
        words = [b.TRA, "gen", "-q", "--memory", "2G", "--shape", "x".join(map(str, extents)), "--seed", str(seed), "--dist", "uniform", "-o", file]
        if entries is None:
            words += ["--block", "x".join(map(str, extents))]
        else:
            size = 1.0
            for e in extents: size *= e
            words += ["--density", repr(min(1.0, max(4, entries // SHRINK) / size)), "--storage", storage]
        b.sh(*words)
    return file


def kernel_seconds(b, inputs, statement, *more, repeats=None):
    """Median seconds of the operators that compute, and of the whole process, and the strategy. Where it fails: None,
    None, the error."""
    text = "".join(f'input {n} from "{f}"\n' for n, f in inputs.items()) + statement + '\noutput Q to "k_out.h5"\n'
    with open(os.path.join(b.DIR, "kernel.tra"), "w") as f: f.write(text)
    seconds, whole, strategy = [], [], ""
    for _ in range(repeats or b.REPEATS):
        if os.path.exists(os.path.join(b.DIR, "k_out.h5")): os.remove(os.path.join(b.DIR, "k_out.h5"))
        t = time.perf_counter()
        p = subprocess.run([b.TRA, "run", "-q", "kernel.tra", "--threads", "2", "--profile", "k.json", *more], cwd=b.DIR,
                           capture_output=True, text=True, timeout=600)
        whole.append(time.perf_counter() - t)
        if p.returncode: return None, None, p.stderr.strip().splitlines()[-1][:80]
        with open(os.path.join(b.DIR, "k.json")) as f: profile = json.load(f)
        seconds.append(sum(o["measured"]["kernel_seconds"] for o in profile["plans"][0]["operators"] if o["op"] not in ("input", "output")))
        strategy = profile["plans"][0].get("strategy", "")
    return statistics.median(seconds), statistics.median(whole), strategy


def scipy_seconds(b, what, *files):
    """Median seconds of scipy on the same entries (peers.py kernel); None: not installed."""
    for f in files:
        out = f[:-3] + (".npy" if "_dense" in f else ".npz")
        if not os.path.exists(os.path.join(b.DIR, out)): b.sh(b.TRA, "export", "-q", "--memory", "2G", f, "-o", out)
    p = subprocess.run(["/usr/bin/python3", b.PEERS, "scipy_kernel", what, str(b.REPEATS), *files], cwd=b.DIR,
                       capture_output=True, text=True)
    if p.returncode == 77: return None
    if p.returncode: sys.exit(f"peers.py scipy_kernel {what}: {p.stderr}")
    return statistics.median(float(x) for x in p.stdout.split())


def line(b, program, name, inputs, statement, peer, repeats=None):
    t, whole, strategy = kernel_seconds(b, inputs, statement, repeats=repeats)
    s = scipy_seconds(b, peer, *inputs.values()) if peer and t is not None else None
    print(f"| {program} | {name} | " + (f"{1e3 * t:.2f} | {whole:.3f} | " if t is not None else f"- | - | ") +
          (f"{1e3 * s:.2f} | {t / s:.2f} | " if s else f"{'not installed' if peer else '-'} | | ") + f"{strategy} |", flush=True)


def kernels(b):
    print("\n### Kernels: tra on 2 threads beside scipy on one (figure 7), medians, entries uniform\n\n| program | matrix | tra ms |"
          " whole process s | scipy ms | ratio | plan |\n|---|---|---|---|---|---|---|")
    for name, (n, entries) in MATRICES.items():
        a = made(b, name, (n, n), entries, "csr", 1)
        x, wide = made(b, f"x{n}", (n,), None, "dense", 2), made(b, f"d{n}", (n, COLUMNS), None, "dense", 3)
        few = made(b, f"few{n}", (n, 250), n * 250 // 32, "csr", 4)
        line(b, "BATAX", name, {"A": a, "X": x}, "Q[j] = sum 2 * A[i,j] * A[i,k] * X[k]", "batax")
        line(b, "SumMMM", name, {"A": a, "B": few}, "Q[] = sum A[i,k] * B[k,j]", "summmm")
        line(b, f"A times {COLUMNS} dense columns", name, {"A": a, "D": wide}, "Q[i,j] = sum A[i,k] * D[k,j]", "spmm")
        if name != "webbase" or SHRINK == 1: line(b, "A A to csr", name, {"A": a}, "Q[i,j] as csr = sum A[i,k] * A[k,j]", "spgemm", 1)
    for name, (extents, entries) in {**TENSORS, **(LARGE if os.environ.get("TRA_BENCH_LARGE") else {})}.items():
        t = made(b, name, extents, entries, "csf", 1)
        c, d = made(b, f"c_{name}", (extents[1], 25), None, "dense", 2), made(b, f"d_{name}", (extents[2], 25), None, "dense", 3)
        line(b, "TTM", name, {"A": t, "D": d}, "Q[i,j,r] as csf = sum A[i,j,l] * D[l,r]", None, 1)
        line(b, "MTTKRP", name, {"A": t, "C": c, "D": d}, "Q[i,r] = sum A[i,k,l] * C[k,r] * D[l,r]", None)


def density(b):
    print("\n### Densities (figure 8): 1000 x 1000, ms of kernels\n\n| density | MMM csr | MMM dense | scipy | SumMMM csr | scipy | BATAX"
          " csr | scipy |\n|---|---|---|---|---|---|---|---|")
    for k in range(0, 9, 2):
        n, cells = 1000, []
        a = made(b, f"m{k}a", (n, n), int(n * n * 2.0 ** -k), "csr", 1)
        c = made(b, f"m{k}b", (n, n), int(n * n * 2.0 ** -k), "csr", 2)
        x = made(b, "x1000", (n,), None, "dense", 3)
        for inputs, statement, peer in (({"A": a, "B": c}, "Q[i,j] = sum A[i,k] * B[k,j]", "mmm"),
                                        ({"A": a, "B": c}, "Q[i,j] as dense = sum A[i,k] * B[k,j]", None),
                                        ({"A": a, "B": c}, "Q[] = sum A[i,k] * B[k,j]", "summmm"),
                                        ({"A": a, "X": x}, "Q[j] = sum 2 * A[i,j] * A[i,k] * X[k]", "batax")):
            t = kernel_seconds(b, inputs, statement)[0]
            cells.append("-" if t is None else f"{1e3 * t:.2f}")
            if peer:
                s = scipy_seconds(b, peer, *inputs.values())
                cells.append("not installed" if s is None else f"{1e3 * s:.2f}")
        cells[1], cells[2] = cells[2], cells[1]
        print(f"| 2^-{k} | " + " | ".join(cells) + " |", flush=True)


def rules(b):
    print("\n### Rules left out of BATAX (figure 9), csr; whole process with optimization and compilation, kernel alone\n\n"
          "| left out | extent | kernel ms | process, kernel new s | process, kernel seen s |\n|---|---|---|---|---|")
    for n in (1000, 10000, 100000):
        a, x = made(b, f"r{n}", (n, n), 30 * n, "csr", 1), made(b, f"x{n}", (n,), None, "dense", 2)
        for left in ("", "D2,D3,M1,M2", "F3", "D2,D3,M1,M2,F3"):
            more = ["--without", left] if left else []
            os.environ["TRA_CACHE"] = os.path.join(b.DIR, f"cache-{os.getpid()}-{n}-{left}")
            new = kernel_seconds(b, {"A": a, "X": x}, "Q[j] = sum 2 * A[i,j] * A[i,k] * X[k]", *more, repeats=1)[1]
            t, whole, why = kernel_seconds(b, {"A": a, "X": x}, "Q[j] = sum 2 * A[i,j] * A[i,k] * X[k]", *more)
            print(f"| {left or 'none'} | {n} | " + (f"{1e3 * t:.2f} | {new:.3f} | {whole:.3f} |" if t is not None else f"{why} | | |"),
                  flush=True)
            subprocess.run(["rm", "-rf", os.environ.pop("TRA_CACHE")])


def like_peers(b, name, n, entries):
    """A matrix for all peers, as NAME.npz and .h5: banded; that of webbase with most entries in the first columns."""
    file = f"f_{name}.h5" if SHRINK == 1 else f"f_{name}_{SHRINK}.h5"
    if not os.path.exists(os.path.join(b.DIR, file)):
        n, entries = max(64, n // SHRINK), max(64, entries // SHRINK)
        b.sh("/usr/bin/python3", b.PEERS, "scipy_matrix", name, "1", file[:-3] + ".npz", str(n), str(entries))
        b.sh(b.TRA, "import", "-q", file[:-3] + ".npz", "-o", file, "--storage", "csr")
    return file


class Peer:
    """A process of scipy, torch or taco, which keeps its operands in memory and does one computation when asked."""

    def __init__(self, b, who, what, files):
        self.who, self.why, self.p = who, None, None
        for f in files:
            out = f[:-3] + (".npy" if "_dense" in f else ".tns" if "_csf" in f or who == "taco" else ".npz")
            if not os.path.exists(os.path.join(b.DIR, out)): b.sh(b.TRA, "export", "-q", "--memory", "2G", f, "-o", out)
        words = ["/usr/bin/python3", b.PEERS, f"{who}_server", what, "1", *files]
        if who == "taco":
            program, self.why = taco(b)
            words = [program, what, *[f[:-3] + ".tns" for f in files]]
        if not self.why: self.p = subprocess.Popen(words, cwd=b.DIR, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def seconds(self):
        """Seconds of one computation. None: the peer is missing, and self.why says why."""
        if self.why: return None
        try:
            self.p.stdin.write("\n")
            self.p.stdin.flush()
            answer = self.p.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer.strip():
            status = self.p.wait()
            if status != 77: sys.exit(f"{self.who} ended with status {status}")
            self.why = "not installed"
            return None
        time.sleep(0.05) # threads of its BLAS wait for more work busily, for some 25 ms
        return float(answer)

    def end(self):
        if not self.p: return
        self.p.stdin.close()
        self.p.wait()


def taco(b):
    """Builds the program that runs taco's kernels (taco.cpp) with the taco in TACO_DIR. Returns it, or None and why."""
    folder, program = os.environ.get("TACO_DIR"), os.path.join(b.DIR, "taco")
    if not folder: return program, "TACO_DIR is not set: a folder with include/taco.h and lib/libtaco.so"
    source = os.path.join(os.path.dirname(b.PEERS), "taco.cpp")
    p = subprocess.run(["c++", "-O2", "-std=c++14", "-w", f"-I{folder}/include", source, f"-L{folder}/lib", f"-Wl,-rpath,{folder}/lib",
                        "-ltaco", "-o", program], capture_output=True, text=True)
    os.environ.setdefault("TACO_CFLAGS", "-w -O3 -march=native -ffast-math -std=c99 -fopenmp")
    return program, f"taco.cpp does not compile with {folder}: {p.stderr.splitlines()[0]}" if p.returncode else None


def beside(b, program, name, inputs, statement, what, targets, *more):
    """Runs tra and its peers in turn, and prints medians, a line for each peer. targets: {peer: wanted ratio}."""
    peers = [Peer(b, who, what, list(inputs.values())) for who in targets]
    ours, wholes, theirs = [], [], {p.who: [] for p in peers}
    for r in range(b.REPEATS + 1):
        t, whole, why = kernel_seconds(b, inputs, statement, *more, repeats=1)
        if t is None: break
        for p in peers:
            s = p.seconds()
            if r and s is not None: theirs[p.who].append(s) # the first compiles, and warms up
        if r: ours.append(t), wholes.append(whole)
    for p in peers:
        p.end()
        t = statistics.median(ours) if ours else None
        s = statistics.median(theirs[p.who]) if theirs[p.who] else None
        print(f"| {program} | {name} | " + (f"{1e3 * t:.2f} | {statistics.median(wholes):.3f} | " if ours else f"{why} | | ") + f"{p.who} | " +
              (f"{1e3 * s:.2f} | {t / s:.2f} | {targets[p.who]} | {why} |" if s and ours else f"{p.why or ''} | | | |"), flush=True)


def fast(b):
    print("\n### Kernels beside peers: tra, torch and taco on 2 threads, scipy on one, in turn, medians\n\n| program | operands |"
          " tra ms | whole process s | peer | its ms | ratio | target | plan |\n|---|---|---|---|---|---|---|---|---|")
    only = os.environ.get("TRA_BENCH_ONLY", "").split()
    def wanted(program): return not only or program in only
    for name in ("cant", "pdb1HYS", "webbase"):
        n, entries = MATRICES[name]
        a, n = like_peers(b, name, n, entries), max(64, n // SHRINK)
        x, wide = made(b, f"x{n}", (n * SHRINK,), None, "dense", 2), made(b, f"d{n}", (n * SHRINK, COLUMNS), None, "dense", 3)
        few = made(b, f"w{n}", (n * SHRINK, 1000), n * SHRINK * (4 if n > 100000 else 31), "csr", 4)
        for program, inputs, statement, what, target in (
                ("BATAX", {"A": a, "X": x}, "Q[j] = sum 2 * A[i,j] * A[i,k] * X[k]", "batax", {"scipy": 0.6}),
                ("SumMMM", {"A": a, "B": few}, "Q[] = sum A[i,k] * B[k,j]", "summmm", {"scipy": 0.6}),
                ("SpMM", {"A": a, "D": wide}, "Q[i,j] = sum A[i,k] * D[k,j]", "spmm", {"scipy": 0.6, "torch": 1.0}),
                ("SpGEMM", {"A": a}, "Q[i,j] as csr = sum A[i,k] * A[k,j]", "spgemm", {"scipy": 0.6})):
            if wanted(program): beside(b, program, name, inputs, statement, what, target, *(["--memory", "4G"] if what == "spgemm" else []))
    extents, entries = (1600, 64000, 64000), 740000
    t = made(b, "t3", extents, entries, "csf", 1)
    ttm, mttkrp = "Q[i,j,r] as csf = sum A[i,j,l] * D[l,r]", "Q[i,r] as dense = sum A[i,k,l] * C[k,r] * D[l,r]"
    for rank in (16, 25):
        c, d = made(b, f"c{rank}", (extents[1], rank), None, "dense", 2), made(b, f"d{rank}", (extents[2], rank), None, "dense", 3)
        few_c, few_d = (made(b, f"{x}{rank}", (e, rank), e * rank // 32, "csr", seed) for x, e, seed in (("c", extents[1], 2), ("d", extents[2], 3)))
        if wanted("TTM"):
            beside(b, "TTM", f"t3, {rank} columns", {"A": t, "D": d}, ttm, "ttm", {"scipy": 1.0})
            beside(b, "TTM", f"t3, {rank} columns as csr", {"A": t, "D": few_d}, ttm, "ttm", {"taco": ""})
        if wanted("MTTKRP"):
            beside(b, "MTTKRP", f"t3, {rank} columns", {"A": t, "C": c, "D": d}, mttkrp, "mttkrp", {"scipy": ""})
            beside(b, "MTTKRP", f"t3, {rank} columns as csr", {"A": t, "C": few_c, "D": few_d}, mttkrp, "mttkrp", {"taco": 1.0})
    for k in range(0, 9, 2) if wanted("MMM") else ():
        n = 1000
        storage = "dense" if k <= 3 else "csr" # as import chooses it
        p, q = (made(b, f"m{k}{w}", (n, n), int(n * n * 2.0 ** -k), storage, seed) for w, seed in (("a", 1), ("b", 2)))
        beside(b, "MMM", f"1000 squared, 2^-{k}", {"A": p, "B": q}, "Q[i,j] = sum A[i,k] * B[k,j]", "mmm_best", {"scipy": 1.25})
    if wanted("start"): start(b)


def start(b):
    """Seconds of a tiny run as a whole process: with a kernel that must be compiled, and with one that was before."""
    with open(os.path.join(b.DIR, "tiny.txt"), "w") as f: f.write("".join(f"{i} {(7 * i) % 10} {i}.5\n" for i in range(10)))
    b.sh(b.TRA, "import", "-q", "tiny.txt", "-o", "tiny.h5", "--from", "edges", "--shape", "10x10", "--storage", "csr")
    b.sh(b.TRA, "gen", "-q", "--shape", "10", "-o", "tinyx.h5")
    with open(os.path.join(b.DIR, "tiny.tra"), "w") as f:
        f.write('input A from "tiny.h5"\ninput X from "tinyx.h5"\nQ[j] = sum 2 * A[i,j] * A[i,k] * X[k]\noutput Q to "tinyq.h5"\n')
    os.environ["TRA_CACHE"] = cache = os.path.join(b.DIR, f"cache-{os.getpid()}")
    new, seen = [], []
    for _ in range(b.REPEATS):
        subprocess.run(["rm", "-rf", cache])
        for to in (new, seen):
            out = os.path.join(b.DIR, "tinyq.h5")
            if os.path.exists(out): os.remove(out)
            to.append(b.sh(b.TRA, "run", "-q", "tiny.tra")[0])
    subprocess.run(["rm", "-rf", os.environ.pop("TRA_CACHE")])
    for name, v, target in (("new", new, 200), ("seen", seen, 40)):
        print(f"| tiny run, kernel {name} | 10 x 10 | | {statistics.median(v):.3f} | | | | {target} ms | |", flush=True)


def search(b):
    print("\n### What the optimizer does (table 4): explain --kernels\n\n| program | stage | ms | iterations | nodes | classes |\n"
          "|---|---|---|---|---|---|")
    programs = {"BATAX": ("A:2 X:1", "Q[j] = sum 2 * A[i,j] * A[i,k] * X[k]", "csr"),
                "SumMMM": ("A:2 B:2", "Q[] = sum A[i,k] * B[k,j]", "csc csr"), "MMM": ("A:2 B:2", "Q[i,j] = sum A[i,k] * B[k,j]", "csr csr"),
                "TTM": ("A:3 B:2", "Q[i,j,k] = sum A[i,j,l] * B[k,l]", "csf csc"),
                "MTTKRP": ("A:3 B:2 C:2", "Q[i,j] = sum A[i,k,l] * B[k,j] * C[l,j]", "csf csr csc")}
    for name, (operands, statement, storages) in programs.items():
        stored, text = storages.split(), ""
        for i, operand in enumerate(operands.split()):
            n, r = operand.split(":")
            how = f" as {stored[i]} nnz 10000" if i < len(stored) else ""
            text += f"input {n} : f64 [{','.join(['1000'] * int(r))}] by [{','.join(['1000'] * int(r))}]{how}\n"
        with open(os.path.join(b.DIR, "kernel.tra"), "w") as f: f.write(text + statement + "\noutput Q\n")
        p = b.sh(b.TRA, "explain", "--kernels", "--format", "json", "kernel.tra")[1]
        for k in json.loads(p.stdout)["kernels"]:
            for s in k.get("stages", []):
                print(f"| {name} | {s['name']} | {s['milliseconds']:.2f} | {s['iterations']} | {s['nodes']} | {s['classes']} |", flush=True)
