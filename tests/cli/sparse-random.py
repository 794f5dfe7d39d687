"""Random operations on sparse tensors, as numpy has them.

sparse-random.py make SEED    writes a.npy, b.npy, d.npy, v.npy, w.npy and ops.json (storage, blocks, statements) here
sparse-random.py program      prints the program: all statements, each to its file
sparse-random.py judge        compares the files with numpy"""
import json, random, sys
import numpy as np

OPS = [  # statement; numpy's result; square matrices only
    ("C[i,j] = A[i,j] + B[i,j]", "a + b"), ("C[i,j] = A[i,j] - B[i,j]", "a - b"), ("C[i,j] = A[i,j] * B[i,j]", "a * b"),
    ("C[i,j] = max(A[i,j], B[i,j])", "np.maximum(a, b)"), ("C[i,j] = A[i,j] > 0", "a > 0"),
    ("C[i,j] = A[i,j] != B[i,j]", "a != b"), ("C[i,j] = if(A[i,j] > 1, A[i,j], 0)", "np.where(a > 1, a, 0)"),
    ("C[i,j] = min(A[i,j], 2)", "np.minimum(a, 2)"), ("C[i,j] = A[i,j] / (D[j] + 9)", "a / (d + 9.0)"),
    ("C[i,j] = if(index(i) < index(j), A[i,j], 0)", "np.triu(a, 1)"), ("C[i,j] = A[i,j] * (index(i) == index(j))", "np.where(np.eye(*a.shape), a, 0)"),
    ("C[i,j] = if(D[j] > 0, A[i,j], B[i,j])", "np.where(d > 0, a, b)"), ("C[j] = sum if(V[i] > 0, A[i,j], 0)", "a[v > 0].sum(0)"),
    ("C[i,j] = exp(A[i,j]) - 1", "np.exp(a) - 1"), ("C[j,i] = A[i,j]", "a.T"), ("C = transpose(A)", "a.T"),
    ("C[i] = sum A[i,j]", "a.sum(1)"), ("C[j] = sum A[i,j]", "a.sum(0)"), ("C[] = sum A[i,j]", "a.sum()"),
    ("C[i] = max A[i,j]", "a.max(1)"), ("C[j] = max A[i,j]", "a.max(0)"), ("C[j] = min A[i,j]", "a.min(0)"),
    ("C[] = min A[i,j]", "a.min()"), ("C[j] = prod A[i,j]", "a.prod(0)"), ("C[i] = sum (A[i,j] > 0)", "(a > 0).sum(1)"),
    ("C[i] = sum exp(A[i,j])", "np.exp(a).sum(1)"), ("C[j] = sum cosh(A[i,j] - B[i,j])", "np.cosh(a - b).sum(0)"),
    ("C[] = max (3 - A[i,j])", "(3 - a).max()"), ("C[i] = all(A[i,j] >= 0)", "(a >= 0).all(1)"),
    ("C[] = count(A[i,j] > 0)", "np.array(a.size)"), ("C = sum(exp(A))", "np.exp(a).sum()"), ("C[j] = prod (A[i,j] + 1)", "(a + 1).prod(0)"),
    ("C[i] = sum (A[i,j] - V[i])^2", "((a - v[:, None]) ** 2).sum(1)"), ("C[j] = max abs(A[i,j] - D[j])", "abs(a - d).max(0)"),
    ("C[i] = sum abs(A[i,j] - D[j])", "abs(a - d).sum(1)"), ("C[] = sum A[i,j] * B[i,j]", "(a * b).sum()"),
    ("C[i] = sum A[i,j] * D[j]", "a @ d"), ("C[j] = sum V[i] * A[i,j]", "v @ a"), ("C[i,k] = sum A[i,j] * W[j,k]", "a @ w"),
    ("C[k,j] = sum V[i] * A[i,j] * W[j,k]", "((v @ a)[:, None] * w).T"), ("C[i,k] = sum A[i,j] * B[k,j]", "a @ b.T"),
    ("C[i,k] = any(A[i,j] && B[k,j])", "tie(a != 0, b.T != 0) > 0"), ("C[i,k] = max ((A[i,j] > 0) && (W[j,k] > 0))", "tie(a > 0, w > 0) > 0"),
    ("C[i,l] = any((A[i,j] != 0) && B[k,j] && (A[k,l] > 1))", "tie(tie(a != 0, b.T != 0) > 0, a > 1) > 0"),
    ("C[i,k] = sum ((A[i,j] > 0) && (B[k,j] > 0))", "tie(a > 0, b.T > 0)"), ("C[i] = sum (A[i,j] && B[k,j])", "tie(a != 0, b.T != 0).sum(1)"),
    ("C[k] = any((A[i,j] != 0) * (B[k,j] != 0) && V[i])", "((a != 0) & (v != 0)[:, None]).any(0) @ (b != 0).T.astype(int) > 0"),
    ("C[i,j] = A[i,j] / sqrt(abs((sum[k](A[i,k])) * (sum[l](A[l,j]))) + 1)", "a / np.sqrt(abs(np.outer(a.sum(1), a.sum(0))) + 1)"),
    ("C[i] = A[i,i]", "np.diag(a)", 1), ("C[] = sum A[i,i]", "np.trace(a)", 1), ("C[i] = sum exp(A[i,i])", "np.exp(np.diag(a))", 1),
    ("C[i,j] = A[i,j] + A[j,i]", "a + a.T", 1), ("C = slice(A, [1:, :])", "a[1:]"), ("C = slice(A, [::3, ::-2])", "a[::3, ::-2]"),
    ("C = slice(A, [:, 1:])", "a[:, 1:]"), ("C = stack(A, B, 0)", "np.concatenate([a, b])"), ("C = stack(A, B, 1)", "np.concatenate([a, b], 1)"),
    ("C = repart(A, [2, 3])", "a"), ("C = repart(A, [1, 1])", "a"), ("C = store(A, csc)", "a"), ("C = store(A, dcsr)", "a"), ("C = store(A, coo)", "a"),
    ("C = store(A, csf)", "a"), ("C[i,j] as csc = A[i,j] * 2", "a * 2"), ("C[j,i] as coo = A[i,j]", "a.T")]
tie = lambda x, y: x.astype(int) @ y.astype(int)
NAMES = {"A": "a", "B": "b", "D": "d", "V": "v", "W": "w"}


def make(seed):
    r = random.Random(seed)
    g = np.random.default_rng(seed)
    m, n = r.choice([(1, r.randint(1, 40)), (r.randint(1, 40), 1), (r.randint(2, 60), r.randint(2, 60)), (30, 30), (7, 300), (1300, 5)])
    if r.random() < .4 and m < 100: n = m
    t = r.choice(["float64", "float32", "int64", "bool"])
    draw = lambda *s: g.integers(-3, 4, s).astype("float64" if t == "bool" else t)
    for f in "ab":
        density = r.choice([0, .02, .2, .5, 1])
        x = np.where(g.random((m, n)) < density, g.integers(-3, 4, (m, n)), 0)
        if r.random() < .3: x[g.integers(0, m)] = 0
        np.save(f, x.astype(t))
    np.save("d", draw(n)), np.save("v", draw(m)), np.save("w", draw(n, 3))
    ops = [o for o in OPS if len(o) == 2 or m == n]
    if t == "bool": ops = [o for o in ops if not any(w in o[0] for w in ("max(", "min(", " - B", "+ A", "prod A", "max A", "min A", "* 2", "A[i,j] + B"))]
    json.dump({"storage": [r.choice(["csr", "csc", "coo", "dcsr", "dcsc", "csf"]) for _ in "ab"], "type": t,
               "block": [f"{r.randint(max(1, m // 60), m)}x{r.randint(1, n)}" if r.random() < .6 else f"{m}x{n}" for _ in "ab"],
               "ops": r.sample(ops, 18)}, open("ops.json", "w"))


what = json.load(open("ops.json")) if sys.argv[1] != "make" else None
if sys.argv[1] == "make": make(int(sys.argv[2]))
elif sys.argv[1] == "program":
    text = "".join(s[0] for s in what["ops"])
    for x, f in NAMES.items():
        if f"{x}[" in text or f"({x}" in text or f", {x}," in text: print(f'input {x} from "{f}.h5"')
    for i, o in enumerate(what["ops"]): print("C%d" % i + o[0][1:] + f'\noutput C{i} to "c{i}.npy"')
else:
    a, b, d, v, w = (np.load(f + ".npy") for f in "abdvw")
    if a.dtype == bool: a, b = a.astype(np.int64), b.astype(np.int64)
    for i, o in enumerate(what["ops"]):
        got, want = np.load(f"c{i}.npy").astype(float), np.asarray(eval(o[1])).astype(float)
        assert got.shape == want.shape, (o, got.shape, want.shape)
        assert np.allclose(got, want, rtol=2e-5 if what["type"] == "float32" else 1e-9, atol=1e-5 if what["type"] == "float32" else 1e-9), (o, what, got, want)
