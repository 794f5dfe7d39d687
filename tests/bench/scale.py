"""Operators on tables that are much larger than the ceiling: a join of 2e7 with 1e7 rows, a grouping into 1e7 groups, a
sort of 5e7 rows, each under --memory 64M; and all three in one program. The case `scale` of tests/bench/run, which
passes itself (as a module) as `b`.

Every row of every result is compared with numpy's. Peak memory is the most that a process of the run held (ru_maxrss),
which must be below the ceiling; predicted scratch is printed beside what was spilled. Each runs once: the result
matters, more than the seconds. TRA_BENCH_SCALE=0.1: a tenth of the rows. TRA_BENCH_SITES=2: on so many sites."""
import json, os, subprocess, sys, time

import tables

SCALE = float(os.environ.get("TRA_BENCH_SCALE", "1"))
SITES = os.environ.get("TRA_BENCH_SITES", "1")
MEMORY = os.environ.get("TRA_BENCH_MEMORY", "64M")
LEFT, RIGHT, SORTED = (int(n * SCALE) for n in (2e7, 1e7, 5e7))
PROGRAMS = {
    "join": f"join of {LEFT:.0e} with {RIGHT:.0e} rows",
    "group": f"{LEFT:.0e} rows in {RIGHT:.0e} groups",
    "order": f"sort of {SORTED:.0e} rows",
    "all": "join, then group, then order"}
TEXT = {
    "join": 'J = join(L, R, k == c, expect = "m:1")\noutput J to "scale_o.h5"\n',
    "group": 'G = group(L, [k], n = count(), s = sum(v))\noutput G to "scale_o.h5"\n',
    "order": 'O = order(S, [k])\noutput O to "scale_o.h5"\n',
    "all": 'J = join(L, R, k == c, expect = "m:1")\nG = group(J, [d], n = count(), s = sum(v), m = max(k))\nO = order(G, [s, d desc])\n'
           'output O to "scale_o.h5"\n'}


def columns_of(name):
    """L: each key of R at least once, and one key in a tenth of the rows; R: keys in random order; S: keys that repeat."""
    import numpy as np
    r = np.random.default_rng(ord(name))
    if name == "R":
        return {"c": r.permutation(RIGHT), "d": r.integers(0, RIGHT // 2, RIGHT), "w": r.random(RIGHT)}
    if name == "S":
        return {"k": r.integers(0, SORTED // 3, SORTED), "i": np.arange(SORTED, dtype=np.int32)}
    k = r.integers(0, RIGHT, LEFT)
    k[:RIGHT] = np.arange(RIGHT)
    k[RIGHT:RIGHT + LEFT // 10] = RIGHT // 7
    return {"k": r.permutation(k), "v": r.integers(-1000, 1000, LEFT, dtype=np.int32)}


def wanted(name):
    """The columns of the result, computed by numpy in memory."""
    import numpy as np
    if name == "order":
        s = columns_of("S")
        at = np.argsort(s["k"], kind="stable")
        return {c: x[at] for c, x in s.items()}
    l, r = columns_of("L"), columns_of("R")
    if name == "group":
        n, s = (np.bincount(l["k"], w, RIGHT).astype(np.int64) for w in (None, l["v"]))
        return {"k": np.arange(RIGHT), "n": n, "s": s}
    where = np.empty(RIGHT, np.int64)
    where[r["c"]] = np.arange(RIGHT)
    at = where[l["k"]]
    if name == "join":
        return {**l, "d": r["d"][at], "w": r["w"][at]}
    d = r["d"][at]
    n, s = (np.bincount(d, w, RIGHT).astype(np.int64) for w in (None, l["v"]))
    most = np.zeros(RIGHT, np.int64)
    np.maximum.at(most, d, l["k"])
    groups = np.flatnonzero(n)
    groups = groups[np.lexsort((-groups, s[groups]))]
    return {"d": groups, "n": n[groups], "s": s[groups], "m": most[groups]}


def compare(b, name):
    """Compares with the result; exits where it differs. Returns the number of rows."""
    import h5py, numpy as np
    want = wanted(name)
    with h5py.File(os.path.join(b.DIR, "scale_o.h5")) as f:
        g = f["data"] if "data" in f else f[[n for n in f if not n.startswith(".")][0]]
        names = [n for n in g.attrs["column-order"]]
        for c, x in want.items():
            d = g[c] if isinstance(g[c], h5py.Dataset) else g[c]["values"]
            if len(d) != len(x): sys.exit(f"{name}: column {c} has {len(d)} rows, not {len(x)}")
            for at in range(0, len(x), 1 << 22):
                if not np.array_equal(d[at:at + (1 << 22)], x[at:at + (1 << 22)]): sys.exit(f"{name}: column {c} differs from row {at} on")
        if not set(want) <= set(names): sys.exit(f"{name}: columns {names}")
    return len(next(iter(want.values())))


def run(b, name):
    """Runs a program. Returns seconds, peak memory of a process in bytes, and the profile."""
    out, program = os.path.join(b.DIR, "scale_o.h5"), f"scale_{name}.tra"
    inputs = "S" if name == "order" else "L" if name == "group" else "LR"
    with open(os.path.join(b.DIR, program), "w") as f:
        f.write("".join(f'input {x} from "scale_{x}_{SCALE:g}.h5"\n' for x in inputs) + TEXT[name])
    if os.path.exists(out): os.remove(out)
    words = [b.TRA, "run", program, "--memory", MEMORY, "--threads", "2" if SITES == "1" else "1", "--sites", SITES, "--no-history", "--profile", "scale.json"]
    # a process of its own, of whose descendants the most is asked
    code = "import resource, subprocess, sys\np = subprocess.run(sys.argv[1:])\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)\nsys.exit(p.returncode)"
    t = time.perf_counter()
    p = subprocess.run([sys.executable, "-c", code, *words], cwd=b.DIR, capture_output=True, text=True, env={**os.environ, "TRA_SCRATCH": b.DIR})
    t = time.perf_counter() - t
    if p.returncode: sys.exit(f"{' '.join(words)}: status {p.returncode}\n{p.stderr}")
    with open(os.path.join(b.DIR, "scale.json")) as f: plan = json.load(f)["plans"][0]
    return t, int(p.stdout), plan


def scale(b):
    print(f"\n### Tables under --memory {MEMORY}, {SITES} site{'s' if SITES != '1' else ''}, every row compared with numpy's\n\n"
          "| case | rows out | seconds | peak of a process | scratch predicted, at most | scratch | spilled | read | written |\n|---|---|---|---|---|---|---|---|---|")
    for x in "LRS":
        path = os.path.join(b.DIR, f"scale_{x}_{SCALE:g}.h5")
        if os.path.exists(path): continue
        tables.frame(path + ".frame", columns_of(x), 1 << 16)
        with open(os.path.join(b.DIR, "scale_copy.tra"), "w") as f: # tra's own file has statistics
            f.write(f'input T from "{path}.frame"\nC = project(T, *)\noutput C to "{path}"\n')
        b.sh(b.TRA, "run", "-q", "scale_copy.tra", "--memory", MEMORY)
        os.remove(path + ".frame")
    mib = lambda n: f"{n / 2**20:.0f} MiB"
    for name in os.environ.get("TRA_BENCH_ONLY", ",".join(PROGRAMS)).split(","):
        seconds, peak, plan = run(b, name)
        sites = plan["measured"]["sites"]
        total = lambda what: sum(s[what] for s in sites)
        said = {"expected": plan["scratch_bytes"], "bound": plan.get("scratch_bytes_bound", plan["scratch_bytes"])}
        held = max(s["scratch_bytes"] for s in sites)
        rows = compare(b, name)
        print(f"| {PROGRAMS[name]} | {rows} | {seconds:.1f} | {mib(peak)} | {mib(said['expected'])}, {mib(said['bound'])} | {mib(held)} | {mib(total('spilled_bytes'))} |"
              f" {mib(total('disk_read_bytes'))} | {mib(total('disk_write_bytes'))} |", flush=True)
        if MEMORY.endswith("M") and peak > int(MEMORY[:-1]) << 20 and SITES == "1": sys.exit(f"{name}: {mib(peak)} of memory, more than {MEMORY}")
