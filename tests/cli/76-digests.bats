# The digest of a tensor is the same in every storage and in all blocks, over random tensors.
# SEED=N draws others.
load helper

@test "random tensors have one digest: types, NaN, infinities, -0, stored zeros, none at all, whatever storage and blocks" {
    py '
import scipy.io, scipy.sparse as sp, subprocess
tra = sys.argv[1]
seed = int(__import__("os").environ.get("SEED", 1)); r = np.random.default_rng(seed)
def digest(*c):
    subprocess.run([tra, "import", "-q", *c, "-o", "x.h5"], check=True)
    return subprocess.run([tra, "digest", "x.h5"], check=True, capture_output=True, text=True).stdout.split()[0]
def tensor(shape, t, density):
    a = r.integers(-3, 4, shape) if t != "?" else r.integers(0, 2, shape)
    a = (a * (r.random(shape) < density)).astype(t)
    if t[0] == "f" and a.size > 3 and density > 0:
        for v in (np.nan, np.inf, -np.inf, -0.0): a.flat[r.integers(a.size)] = v
        a *= a.dtype.type(1.37)
    return a
def blocks(shape): return "x".join(str(int(r.integers(1, n + 1))) for n in shape)
names = {1: ["csf", "dok"], 2: ["csr", "csc", "dcsr", "dcsc", "coo", "csf(1,0)"], 3: ["coo", "csf", "csf(2,0,1)"]}
whole = {2: ["zorder", "colmajor", "band(40)"]}
for shape in [(23,), (17, 23), (9, 7, 8), (30, 30)]:
    for t, density in [("f8", .3), ("f4", 1), ("i8", .05), ("i4", 0), ("?", .3)]:
        a = tensor(shape, t, density); np.save("a.npy", a)
        want = digest("a.npy")
        for k in range(2): assert digest("a.npy", "--block", blocks(shape)) == want, (seed, shape, t, "dense")
        for s in r.permutation(names[len(shape)])[:3]:
            if s == "dok": continue
            assert digest("a.npy", "--storage", s, "--block", blocks(shape)) == want, (seed, shape, t, s)
        for s in whole.get(len(shape), []):
            assert digest("a.npy", "--storage", s) == want, (seed, shape, t, s)
# entries of value 0, and of duplicates that add up to 0 or not, are the elements that they stand for
for k in range(4):
    n = int(r.integers(0, 60)); i, j = r.integers(0, 12, n), r.integers(0, 15, n)
    v = r.integers(-1, 2, n).astype(float)
    m = sp.coo_matrix((v, (i, j)), (12, 15)); np.save("a.npy", m.toarray())
    open("a.mtx", "w").write(f"%%MatrixMarket matrix coordinate real general\n12 15 {n}\n" +
                             "".join(f"{x + 1} {y + 1} {z:g}\n" for x, y, z in zip(i, j, v)))
    want = digest("a.npy")
    for s in ["csr", "csc", "coo", "zorder", "dense"]:
        more = [] if s == "zorder" else ["--block", blocks((12, 15))]
        assert digest("a.mtx", "--storage", s, *more) == want, (seed, s)' "$TRA"
}

@test "what a run stores in any storage and blocks has the digest of what it read" {
    py '
import subprocess
tra = sys.argv[1]
seed = int(__import__("os").environ.get("SEED", 1)); r = np.random.default_rng(seed)
a = r.standard_normal((31, 31)) * (r.random((31, 31)) < .4); a[1, 2] = np.nan; a[2, 1] = np.nan; a = np.tril(a) + np.tril(a, -1).T
np.save("a.npy", a)
subprocess.run([tra, "import", "-q", "a.npy", "-o", "a.h5", "--block", "8x31"], check=True)
text = "input A from \"a.h5\"\nW = reblock(A, [31, 31])\n"
names = ["csr", "csc", "dcsr", "coo", "csf", "dense", "colmajor", "zorder", "band(31)", "symmetric"]
for k, s in enumerate(names):
    b = [int(x) for x in r.integers(1, 32, 2)]
    text += f"B{k} = reblock(A, {b})\n" if s != "symmetric" else ""
    source = "W" if s == "symmetric" else f"B{k}"
    text += f"S{k} = store({source}, {s})\noutput S{k}\n"
open("p.tra", "w").write(text)
for sites in ("1", "3"):
    subprocess.run([tra, "run", "-q", "p.tra", "--sites", sites], check=True)
    out = subprocess.run([tra, "digest", "a.h5"] + [f"S{k}.h5" for k in range(len(names))], check=True, capture_output=True, text=True).stdout
    assert len({l.split()[0] for l in out.splitlines()}) == 1, (seed, sites, out)' "$TRA"
}
