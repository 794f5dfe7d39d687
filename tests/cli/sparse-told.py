"""What is told of results of sparse operations beside what is held: memory, entries, scratch, seconds.

sparse-told.py SEED [DRAWS [SCALE]]   draws matrices and operations; a line for each; fails where more is held than told

Each operation runs with the memory that there is, and under exactly the peak that `tra explain` tells."""
import json, os, random, subprocess, sys
import numpy as np, scipy.sparse as sp

TRA = os.environ.get("TRA", "tra")
KINDS = ["uniform", "banded", "rmat", "arrow", "star", "bipartite", "row", "column", "rows", "blocks", "empty", "flat", "diagonal", "few"]
OPS = {  # statement; the result
    "aa": ("C[i,j] = sum A[i,k] * A[k,j]", "a @ a"), "ata": ("C[i,j] = sum A[k,i] * A[k,j]", "a.T @ a"),
    "aat": ("C[i,j] = sum A[i,k] * A[j,k]", "a @ a.T"), "ab": ("C[i,j] = sum A[i,k] * B[k,j]", "a @ b"),
    "abt": ("C[i,j] = sum A[i,k] * B[j,k]", "a @ b.T"), "masked": ("C[i,j] = sum (B[i,j] != 0) * A[i,k] * A[k,j]", "(a @ a).multiply(b != 0)"),
    "aaa": ("C[i,j] = sum A[i,k] * A[k,l] * A[l,j]", "a @ a @ a"), "reach": ("P[i,j] = sum A[i,k] * A[k,j]\nC[i,j] = P[i,j] > 0", "(a @ a) != 0"),
    "add": ("C[i,j] = A[i,j] + B[i,j]", "a + b"), "times": ("C[i,j] = A[i,j] * B[i,j]", "a.multiply(b)"),
    "many": ("C[i,j] = A[i,j] + B[i,j] + 2 * A[j,i] + 3 * B[j,i]", "a + b + 2 * a.T + 3 * b.T"),
    "map": ("C[i,j] = A[i,j] * 2", "a * 2"), "turned": ("C[j,i] = A[i,j]", "a.T"), "slice": ("C = slice(A, [1:, ::2])", "a[1:, ::2]"),
    "diagonal": ("C[i] = A[i,i]", "sp.csr_matrix(a.diagonal())"), "lower": ("C[i,j] = if(index(i) > index(j), A[i,j], 0)", "sp.tril(a, -1)"),
    "stack": ("C = stack(A, B, 0)", "sp.vstack([a, b])"), "sums": ("C[i] = sum A[i,j] * B[i,j]", "sp.csr_matrix(a.multiply(b).sum(1))"),
    "power": ("P[i,j] = sum A[i,k] * A[k,j]\nC[i,j] = sum P[i,k] * P[k,j]", "a @ a @ a @ a")}


def matrix(kind, n, g):
    """A square matrix of about 8 entries a row."""
    line, m = np.arange(n), 8 * n
    pairs = lambda rows, columns: (np.asarray(rows) % n, np.asarray(columns) % n)
    if kind == "uniform": at = pairs(g.integers(0, n, m), g.integers(0, n, m))
    elif kind == "banded": at = pairs(np.repeat(line, 8), np.clip(np.repeat(line, 8) + g.integers(-12, 13, m), 0, n - 1))
    elif kind == "rmat": at = pairs(*(sum(((g.random(m) < .24).astype(int) << i) for i in range(int(n).bit_length())) for _ in "ij"))
    elif kind == "arrow": at = pairs(np.r_[line, line * 0, line], np.r_[line, line, line * 0])
    elif kind == "star": at = pairs(np.r_[line * 0, line], np.r_[line, line * 0])
    elif kind == "bipartite": at = pairs(g.integers(0, n // 2, m), n // 2 + g.integers(0, n - n // 2, m))
    elif kind == "row": at = pairs(np.r_[g.integers(0, n, m), line * 0 + n // 3], np.r_[g.integers(0, n, m), line])
    elif kind == "column": at = pairs(np.r_[g.integers(0, n, m), line], np.r_[g.integers(0, n, m), line * 0 + n // 3])
    elif kind == "rows": at = pairs(g.integers(0, 20, m), g.integers(0, n, m))
    elif kind == "blocks": at = pairs(np.repeat(line, 8), np.repeat(line, 8) // 16 * 16 + g.integers(0, 16, m))
    elif kind == "diagonal": at = pairs(line, line)
    elif kind == "few": at = pairs(g.integers(0, n, 5), g.integers(0, n, 5))
    else: at = [], []
    return sp.csr_matrix((np.ones(len(at[0])), at), (n, n))


def sh(*words):
    p = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if p.returncode: raise SystemExit("%s\n%s%s" % (" ".join(map(str, words)), p.stdout, p.stderr))
    return p.stdout


def draw(seed, scale):
    r, g = random.Random(seed), np.random.default_rng(seed)
    kind = os.environ.get("TOLD_KIND") or r.choice(KINDS)
    kinds = [kind, kind if r.random() < .5 else r.choice([k for k in KINDS if k != "flat"])]
    full = {"arrow", "star", "row", "column", "rows"} & set(kinds)  # their products have n^2 entries
    n = r.choice([300, 3000] if full else [300, 5000, 20000]) * scale
    if kind == "flat": kinds = ["flat", "flat"]
    blocks, m = [], []
    for f, k in zip("ab", kinds):
        x = sp.random(1, n, .3, "csr", random_state=seed) if k == "flat" else matrix(k, n, g)
        x.data = g.integers(1, 4, x.nnz).astype(float)
        m.append(x)
        sp.save_npz(f, x)
        h, w = x.shape
        blocks.append(r.choice([f"{h}x{w}", f"{-(-h // 4)}x{w}", f"{-(-h // 4)}x{-(-w // 3)}", f"{h}x{-(-w // 5)}"]))
        sh(TRA, "import", "-q", f + ".npz", "-o", f + ".h5", "--storage", r.choice(["csr", "csc", "coo", "dcsr"]), "--block", blocks[-1])
    flat = ("aat", "abt", "add", "times", "map", "turned", "stack", "sums")
    names = [o for o in (os.environ.get("TOLD_OP") or r.choice(list(OPS))).split(",") if kind != "flat" or o in flat] or [r.choice(flat)]
    dtype = r.choice(["f64", "f64", "f32", "i64"])
    return dict(seed=seed, kind="/".join(kinds), n=n, blocks=" ".join(blocks), dtype=dtype, names=names,
                into=r.choice(["csr", "csr", "coo", "csc", "dcsr"]), threads=r.choice([1, 2]), sites=r.choice([1, 1, 3])), m


def one(d, name, a, b):
    statement, want = OPS[name]
    dtype = d["dtype"] if name != "reach" else "bool"
    if name == "reach": change = "A[i,j] = A0[i,j] != 0\nB[i,j] = B0[i,j] != 0\n"
    else: change = "".join(f"{x}[i,j] = {dtype}({x}0[i,j])\n" for x in "AB") if dtype != "f64" else ""
    text = "".join(f'input {x}{"0" if change else ""} from "{x.lower()}.h5"\n' for x in "AB") + change + statement + "\n"
    into = d["into"] if name not in ("diagonal", "sums") else ""
    with open("p.tra", "w") as f: f.write(text + 'output C to "c.h5"' + (f" as {into}" if into else "") + "\n")
    more = ["--threads", d["threads"]] + (["--sites", d["sites"]] if d["sites"] > 1 else [])
    p = subprocess.run([TRA, "explain", "--format", "json", *map(str, more), "p.tra"], capture_output=True, text=True)
    if p.returncode: return print(d, name, "BAD:", p.stderr.strip()[:300]) or ["explain"]
    plan = json.loads(p.stdout)
    told = plan["plans"][plan["chosen"] - 1]["peak_memory_bytes"]
    bad, held, out = [], [], None
    for limit in ([], ["--memory", told]):
        if os.path.exists("c.h5"): os.remove("c.h5")
        p = subprocess.run([TRA, "run", "-q", "--profile", "r.json", *map(str, more), *map(str, limit), "p.tra"], capture_output=True, text=True)
        if p.returncode:
            bad.append("status %d: %s" % (p.returncode, p.stderr.strip()[:300]))
            continue
        with open("r.json") as f: ran = json.load(f)
        out = ran["plans"][0]
        held.append(out["measured"]["peak_memory_bytes"])
        if held[-1] > told: bad.append("held %.1f MiB%s" % (held[-1] / 2**20, " under its ceiling" if limit else ""))
        if out["measured"]["scratch_bytes"] > (out.get("scratch_bytes_bound") or out["scratch_bytes"]): bad.append("scratch %d" % out["measured"]["scratch_bytes"])
        if not limit: free = out
    c = sp.csr_matrix(eval(want, {"a": a, "b": b, "sp": sp}))
    c.eliminate_zeros()
    o = [x for x in plan["relations"] if x["name"] == "C"][0]
    if o.get("entries_bound", o.get("entries", 1 << 62)) < c.nnz: bad.append("bound %d" % o["entries_bound"])
    base = out and out["base_memory_bytes"] or 0
    ratio = (told - base) / max(1 << 20, max(held or [0]) - base)
    print("%5d %-8s %-16s %6d %-10s %-23s %s %s threads %d sites %d: told %.1f held %s MiB, blocks %.2f; entries %d of %d (%.2f), at most %.1f times; %.3f s of %.3f; scratch %.1f at most %.1f held %.1f%s"
          % (d["seed"], name, d["kind"], d["n"], d["dtype"], d["blocks"], d["into"], "", d["threads"], d["sites"], told / 2**20,
             " ".join("%.1f" % (h / 2**20) for h in held), ratio, o.get("entries", -1), c.nnz, o.get("entries", -1) / max(1, c.nnz),
             o.get("entries_bound", o.get("entries", -1)) / max(1, c.nnz), free["seconds"] if out else 0, free["measured"]["seconds"] if out else 0,
             free["scratch_bytes"] / 2**20 if out else 0, free.get("scratch_bytes_bound", free["scratch_bytes"]) / 2**20 if out else 0, free["measured"]["scratch_bytes"] / 2**20 if out else 0,
             "".join("; BAD: " + x for x in bad)), flush=True)
    return bad


bad = 0
first, draws, scale = (list(map(int, sys.argv[1:])) + [1, 1, 1][len(sys.argv) - 1:])[:3]
for seed in range(first, first + draws):
    d, (a, b) = draw(seed, scale)
    for name in d["names"]: bad += len(one(d, name, a, b))
sys.exit(1 if bad else 0)
