#!/usr/bin/python3
"""One command on files as they are: tra eval beside DuckDB, numpy and scipy, whole processes, in turn.

tests/bench/run eval. TRA_BENCH_SCALE: shares of the sizes (1). DUCKDB_DIR: a folder with `npm install @duckdb/node-api`
(default /tmp/duck). Peers run as `evals.py CASE`; what is not installed is left out, with the reason."""
import os, resource, shutil, statistics, subprocess, sys, time

SCALE = float(os.environ.get("TRA_BENCH_SCALE", "1"))
ROWS, SIDE, ENTRIES = int(1e7 * SCALE), max(int(4000 * SCALE ** (1 / 3)), 64), int(1e7 * SCALE)
CSV, MTX = f"eval_trips_{ROWS}.csv", f"eval_{ENTRIES}.mtx"
GROUPED = "group(t, [start], n = count(), m = mean(duration))"
SQL = f"copy (select start, count(*) n, avg(duration) m from read_csv('{CSV}') group by start) to '/dev/stdout' (format csv)"
NODE = """import { createRequire } from "module";
const { DuckDBInstance } = createRequire(process.argv[2] + "/package.json")("@duckdb/node-api");
if (process.argv[3]) {
  const c = await (await DuckDBInstance.create(":memory:", { threads: "2" })).connect();
  await c.run(process.argv[3]);
}
process.exit(0);
"""


def peer_product():
    import numpy as np
    np.save("eval_peer.npy", np.load("eval_a.npy") @ np.load("eval_b.npy"))


def peer_mtx():
    import numpy as np, scipy.io
    np.save("eval_peer.npy", np.asarray(scipy.io.mmread(MTX).sum(axis=1)))


def make(b):
    import random
    if not os.path.exists(os.path.join(b.DIR, CSV)):
        r = random.Random(1)
        lines = ["%d,%d,%d,2017-%02d-%02d 08:%02d:00\n" % (r.randrange(600), r.randrange(600), r.randrange(60, 7200), 1 + i % 12, 1 + i % 28, i % 60)
                 for i in range(min(ROWS, 100000))]
        with open(os.path.join(b.DIR, CSV), "w") as f:
            f.write("start,end,duration,at\n")
            for _ in range(ROWS // len(lines)): f.write("".join(lines))
    b.gen("eval_s.h5", f"{max(ENTRIES // 100, 1)}x10000", f"{max(ENTRIES // 100, 1)}x10000", 7, "--density", "0.01", "--storage", "csr")
    if not os.path.exists(os.path.join(b.DIR, MTX)): b.sh(b.TRA, "export", "-q", "--memory", "4G", "eval_s.h5", "-o", MTX)
    for name, seed in (("a", 1), ("b", 2)):
        b.gen(f"eval_{name}.h5", f"{SIDE}x{SIDE}", f"{SIDE}x{SIDE}", seed)
        if not os.path.exists(os.path.join(b.DIR, f"eval_{name}.npy")): b.sh(b.TRA, "export", "-q", "--memory", "4G", f"eval_{name}.h5", "-o", f"eval_{name}.npy")
    with open(os.path.join(b.DIR, "eval_small.csv"), "w") as f: f.write("k,v\n" + "".join(f"{i % 7},{i}\n" for i in range(100)))
    with open(os.path.join(b.DIR, "eval.mjs"), "w") as f: f.write(NODE)


def timed(b, words, file=None):
    """Seconds of the process, of the processor in it, and what it prints; None: it is not installed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t = time.perf_counter()
    if file: # through a pipe
        with subprocess.Popen(["cat", file], cwd=b.DIR, stdout=subprocess.PIPE) as cat:
            p = subprocess.run(words, cwd=b.DIR, stdin=cat.stdout, capture_output=True, text=True)
    else:
        p = subprocess.run(words, cwd=b.DIR, capture_output=True, text=True)
    seconds = time.perf_counter() - t
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if p.returncode == 77: return None
    if p.returncode: sys.exit(f"{' '.join(words)}: status {p.returncode}\n{p.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, p.stdout


def duckdb():
    """Its folder, or why there is none."""
    if not shutil.which("node"): return None, "there is no node"
    for d in (os.environ.get("DUCKDB_DIR"), "/tmp/duck"):
        if d and os.path.isdir(os.path.join(d, "node_modules/@duckdb/node-api")): return d, None
    return None, "npm install @duckdb/node-api in DUCKDB_DIR was not run"


def rows(text): return sorted(line.split(",")[:2] for line in text.split()[1:])


def evals(b):
    make(b)
    here = ["/usr/bin/python3", os.path.abspath(__file__)]
    folder, why = duckdb()
    eval_ = [b.TRA, "eval", "-q", "--threads", "2"]
    grouped = eval_ + ["--memory", "64M", GROUPED]
    node = ["node", "eval.mjs", folder or ""]
    # name: tra's words and its pipe, the peer and its words, the target
    cases = {f"CSV of {ROWS:.0e} rows grouped to CSV, 64M": (grouped + [f"t={CSV}"], None, "DuckDB", node + [SQL] if folder else None, 1.0),
             "the same beside DuckDB without node's start": (grouped + [f"t={CSV}"], None, "DuckDB", "less start", None),
             "the same through a pipe, beside the file": (grouped + ["t=-"], CSV, "tra on the file", grouped + [f"t={CSV}"], 1.1),
             f"npy times npy, {SIDE} x {SIDE}": (eval_ + ["C[i,k] = sum A[i,j] * B[j,k]", "A=eval_a.npy", "B=eval_b.npy", "-o", "eval_c.npy"], None, "numpy", here + ["product"], 1.05),
             "a small CSV grouped": (eval_ + ["group(t, [k], s = sum(v))", "t=eval_small.csv"], None, None, None, "0.030 s"),
             f"row sums of a .mtx of {ENTRIES:.0e} entries": (eval_ + ["R[i] as dense = sum G[i,j]", f"G={MTX}", "-o", "eval_r.npy"], None, "scipy", here + ["mtx"], 0.5)}
    print("\n### One command on files as they are, whole processes, 2 threads, medians; processor seconds in parentheses\n")
    if why: print(f"DuckDB is left out: {why}.\n")
    print("| case | peer | tra | of the peer's time | target | of its processor time |\n|---|---|---|---|---|---|")
    start = 0
    for name, (words, pipe, peer, theirs, target) in cases.items():
        if theirs == "less start":
            if not folder: continue
            start, theirs = statistics.median(timed(b, node)[0] for _ in range(b.REPEATS)), node + [SQL]
        own, others = [], []
        for r in range(b.REPEATS + 1):
            a, p = timed(b, words, pipe), timed(b, theirs) if theirs else None
            if r: own.append(a), others.append(p)
            if r == 1 and p and "grouped" in name and rows(a[2]) != rows(p[2]): sys.exit(f"{name}: other groups than {peer}'s")
        middle = lambda v, i: statistics.median(x[i] for x in v)
        s, cpu = middle(own, 0), middle(own, 1)
        if others[0] is None:
            print(f"| {name} | {f'{peer} is not installed' if peer else ''} | {s:.3f} s ({cpu:.2f}) | | {target} | |", flush=True)
            continue
        t, theirs_cpu = middle(others, 0) - start, middle(others, 1)
        start = 0
        print(f"| {name} | {peer} {t:.3f} s ({theirs_cpu:.2f}) | {s:.3f} s ({cpu:.2f}) | {s / t:.2f} | {target or ''} | {cpu / theirs_cpu:.2f} |", flush=True)


if __name__ == "__main__":
    try:
        globals()["peer_" + sys.argv[1]]()
    except ImportError:
        sys.exit(77)
