#!/usr/bin/python3
"""Random products of sparse matrices beside scipy: products-random.py TRA DRAWS SEED.

A A, A'A, A A', sampled and masked products, the largest and least of these, with operands and results transposed, summed, and triangles; f64, f32 and i64, so small that sums are exact; uniform, banded, hypersparse,
skewed matrices, ones with a dense row, one row or one column; storages, blocks that do not fit, ranks, threads, plans,
compiled and interpreted."""
import os, subprocess, sys
import numpy as np, scipy.sparse as sp

TRA, DRAWS = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(int(sys.argv[3]))
TYPES = {"f64": "f8", "f32": "f4", "i64": "i8", "bool": "?"}


def tra(*words): return subprocess.run((TRA,) + words, capture_output=True, text=True)


def matrix(r, c, t, sign=1):
    kind, k = rng.choice(["uniform", "band", "hypersparse", "dense row", "skewed"]), 4 * r
    if kind == "uniform": m = sp.random(r, c, 3 / max(3, c), random_state=rng)
    elif kind == "band": m = sum(sp.eye(r, c, d) for d in range(-2, 3) if -r < d < c)
    elif kind == "hypersparse": m = sp.coo_matrix((np.ones(3), (rng.integers(0, r, 3), rng.integers(0, c, 3))), (r, c))
    elif kind == "skewed":
        at = (r * rng.random(k)**3).astype(int), (c * rng.random(k)**3).astype(int)
        m = sp.coo_matrix((np.ones(k), at), (r, c))
    else:
        m = sp.random(r, c, 1 / max(2, c), random_state=rng).tolil()
        m[rng.integers(0, r)] = np.ones(c)
    m = m.tocsr()
    m.sum_duplicates()
    m.data = (rng.integers(1, 9, m.nnz) * sign).astype(TYPES[t])
    return m


def put(name, m, block, storage):
    file = name + (".npz" if sp.issparse(m) else ".npy")
    sp.save_npz(file, m) if sp.issparse(m) else np.save(file, m)
    p = tra("import", "-q", file, "--block", "x".join(map(str, block)), "-o", name + ".h5", *(["--storage", storage] if storage else []))
    if p.returncode: sys.exit(f"import of {m.shape} as {storage} in {block}: {p.stderr}")


def cut(n): return max(1, int(rng.choice([n, n, (n + 1) // 2, (n + 2) // 3])))


def draw():
    t, what = rng.choice(list(TYPES)[:3]), rng.choice(["aa", "ata", "aat", "sampled", "masked", "masked", "triangle", "max", "min"])
    r, c = (int(x) for x in rng.choice([1, 2, 50, 301, 1000], 2))
    if what in ("max", "min"): r, c, t = min(r, 50), min(c, 50), rng.choice(["f64", "f32", "i64", "bool"])
    if what in ("aa", "triangle"): c = r
    a = matrix(r, c, t)
    put("a", a, (cut(r), cut(c)), rng.choice(["csr", "csc", "coo", "dcsr"]))
    text, A = 'input A from "a.h5"\n', a.astype("f8")
    if what == "aa": statement, want = "C[i,k] as csr = sum A[i,j] * A[j,k]", A @ A
    elif what == "ata": statement, want = "C[j,k] as csr = sum A[i,j] * A[i,k]", A.T @ A
    elif what == "aat": statement, want = "C[i,k] as csr = sum A[i,j] * A[k,j]", A @ A.T
    elif what in ("max", "min"):  # largest and least products: what is absent is 0, and negative where all are there
        n = int(rng.choice([1, 2, 20]))
        a, b = matrix(r, n, t, rng.choice([-1, 1])), matrix(n, c, t)
        want = np.array(a.astype("f8").toarray()[:, :, None] * b.astype("f8").toarray()[None])
        want = sp.csr_matrix(want.max(1) if what == "max" else want.min(1))
        (x, y), (z, w) = ("ij", "jk")
        if rng.integers(0, 2): a, x, y = a.T.tocsr(), y, x
        if rng.integers(0, 2): b, z, w = b.T.tocsr(), w, z
        for name, m in (("a", a), ("b", b)): put(name, m, tuple(cut(n) for n in m.shape), rng.choice(["csr", "csc", "coo", "dcsr"]))
        text += 'input B from "b.h5"\n'
        statement = f"C[i,k] as csr = {what} A[{x},{y}] * B[{z},{w}]"
    elif what == "triangle" or (what == "masked" and rng.integers(0, 2)):  # by the labels of three matrices
        if what == "triangle": B = D = A
        else: B, D = (matrix(n, 7, t, rng.choice([-1, 1])) for n in (r, c))
        factors, out = [("A", "i", "k"), ("A" if what == "triangle" else "B", "i", "j"), ("A" if what == "triangle" else "D", "k", "j")], "ik"
        if what == "masked":
            for n, (name, x, y) in enumerate(factors[1:]):
                m = (B, D)[n]
                if rng.integers(0, 2): factors[n + 1], m = (name, y, x), m.T.tocsr()
                put(name.lower(), m, tuple(cut(n) for n in m.shape), rng.choice(["csr", "csc", "coo", "dcsr"]))
                text += f'input {name} from "{name.lower()}.h5"\n'
        else:
            for n in range(3):
                if rng.integers(0, 2): factors[n] = (factors[n][0], factors[n][2], factors[n][1])
        dense = {"A": A.toarray(), "B": B.astype("f8").toarray(), "D": D.astype("f8").toarray()}
        for name, x, y in factors[1:] if what == "masked" else []:
            if x == "j": dense[name] = dense[name].T
        out = "".join(rng.permutation(list("ik"))[:rng.integers(0, 3)])
        fold = str(rng.choice(["sum", "max", "min"])) if len(out) == 2 and r * c * D.shape[1] < 1e7 else "sum"
        map_ = str(rng.choice(["{}", "({} != 0)", "({} > 3)", "(2 * {})", "(-{})"]))
        values = {"{}": lambda m: m, "({} != 0)": lambda m: m != 0, "({} > 3)": lambda m: m > 3, "(2 * {})": lambda m: 2 * m, "(-{})": lambda m: -m}
        written = [f"{n}[{x},{y}]" for n, x, y in factors]
        written[0] = map_.format(written[0])
        statement = f"C[{','.join(out)}]{' as csr' if len(out) == 2 else ''} = {fold} {' * '.join(written)}"
        first = values[map_](dense["A"]).astype("f8")
        want = np.einsum(",".join(x + y for _, x, y in factors) + "->" + out + "j" * (fold != "sum"), first, *(dense[n] for n, _, _ in factors[1:]), optimize=True)
        if fold != "sum": want = want.max(2) if fold == "max" else want.min(2)
        if len(out) < 2: want = np.atleast_2d(want)
        want = sp.csr_matrix(want)
    else:
        u, v = ((matrix(n, 7, t) if what == "masked" else rng.integers(1, 5, (n, 7)).astype(TYPES[t])) for n in (r, c))
        for name, m in (("u", u), ("v", v)): put(name, m, (cut(m.shape[0]), 7), "csr" if what == "masked" else None)
        text += 'input U from "u.h5"\ninput V from "v.h5"\n'
        statement, want = "C[i,j] as csr = sum A[i,j] * U[i,k] * V[j,k]", A.multiply(u.astype("f8") @ v.T.astype("f8"))
    with open("p.tra", "w") as f: f.write(text + statement + '\noutput C to "c.h5"\n')
    how = ["--threads", str(rng.integers(1, 3)), "--codegen", str(rng.choice(["off", "off", "auto"]))]
    plans = sum(line[:1].isdigit() for line in tra("cost", *how[:2], "p.tra").stdout.splitlines())
    how += [["--plan", str(rng.integers(1, max(1, plans) + 1))], ["--sites", str(rng.integers(1, 4))]][rng.integers(0, 2)]
    if os.path.exists("c.h5"): os.remove("c.h5")
    p = tra("run", "-q", *how, "p.tra")
    said = f"{what} of {r} x {c} {t}, {' '.join(how)}, {statement}"
    if p.returncode: sys.exit(f"{said}: status {p.returncode}: {p.stderr}")
    kind = "npz" if "as csr" in statement else "npy"
    if tra("export", "-q", "c.h5", "--to", kind, "-o", "c." + kind).returncode: sys.exit(f"{said}: export")
    got = (sp.load_npz("c.npz") if kind == "npz" else sp.csr_matrix(np.atleast_2d(np.load("c.npy")))).tocsr().astype("f8")
    want = want.tocsr()
    want.eliminate_zeros()
    if got.shape != want.shape or got.nnz != want.nnz or (got != want).nnz: sys.exit(f"{said}: not what scipy says")


for _ in range(DRAWS): draw()
