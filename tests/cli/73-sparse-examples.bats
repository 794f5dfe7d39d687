# The examples that are stored sparsely: each runs, and computes what scipy does.
load helper

EXAMPLES=$ROOT/share/examples

# example FOLDER [VARIABLE=VALUE ...]: runs its script; the results are in ./FOLDER.
example() {
    local name=$1 script
    shift
    for script in "$EXAMPLES/$name"/*.sh; do status 0 env TRA="$TRA" "$@" "$script" "$name" || return; done
    has " in $name."
}

@test "pagerank: of Debian's packages, and of a graph with a page that leads nowhere" {
    example pagerank STEPS=3 SITES=2
    tra info --format json pagerank/links.h5 >info.json
    py 'assert json.load(open("info.json"))["relations"][0]["storage"] == "csr"'
    py 'import gzip, scipy.io
g = scipy.io.mmread(gzip.open(sys.argv[1] + "/pagerank/depends.mtx.gz")).tocsr().astype(float)
n = g.shape[0]
degree = np.asarray(g.sum(1)).ravel()
r = np.full(n, 1 / n)
for step in range(3):
    r = 0.15 / n + 0.85 * (g.T @ (r / np.maximum(degree, 1)) + r[degree == 0].sum() / n)
np.testing.assert_allclose(h5py.File("pagerank/rank.h5")["data"][()], r, rtol=1e-9)' "$EXAMPLES"
    has libc6
    printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 3' '1 2 1' '1 3 1' '2 3 1' | tra import -q --from mtx - -o links.h5 --storage csr
    cp "$EXAMPLES/pagerank/pagerank.tra" .
    status 0 tra run -q pagerank.tra -D steps=2
    py 'g = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0.0]])
r, d = np.full(3, 1 / 3), g.sum(1)
for step in range(2):
    r = 0.05 + 0.85 * (g.T @ (r / np.maximum(d, 1)) + r[2] / 3)
np.testing.assert_allclose(h5py.File("rank.h5")["data"][()], r, rtol=1e-12)'
}

@test "factors: steps of a nonnegative decomposition, by MTTKRP" {
    example factors STEPS=2 SITES=2
    has "factor 4: "
    mkdir start
    tra gen -q --shape 1654x4 --block 512x4 --dist uniform --seed 1 -o start/a.h5
    tra gen -q --shape 3116x4 --block 1024x4 --dist uniform --seed 2 -o start/b.h5
    tra gen -q --shape 3x4 --dist uniform --seed 3 -o start/c.h5
    py 'import gzip
t = np.loadtxt(gzip.open(sys.argv[1] + "/factors/references.tns.gz"), dtype=int)
i, j, k, v = *(t[:, :3].T - 1), t[:, 3].astype(float)
a, b, c = (h5py.File(f"start/{n}.h5")["data"][()] for n in "abc")
for step in range(2):
    for f, x, (g, gx), (h, hx) in ((a, i, (b, j), (c, k)), (b, j, (a, i), (c, k)), (c, k, (a, i), (b, j))):
        m = np.zeros_like(f)
        np.add.at(m, x, v[:, None] * g[gx] * h[hx])
        f *= m / (f @ ((g.T @ g) * (h.T @ h)) + 1e-12)
for n, want in zip("abc", (a, b, c)):
    np.testing.assert_allclose(h5py.File(f"factors/{n}.h5")["data"][()], want, rtol=1e-9, atol=1e-12)
model = ((a.T @ a) * (b.T @ b) * (c.T @ c)).sum() - 2 * (v * (a[i] * b[j] * c[k]).sum(1)).sum()
np.testing.assert_allclose(float(sys.argv[2]), 1 + model / (v ** 2).sum(), rtol=1e-9)' "$EXAMPLES" \
        "$(sed -n 's/^2 steps.*: //p' <<<"$output")"
}

@test "cells: statistics of an .h5ad file that is read in place" {
    example cells SITES=2
    has S100B
    py 'import scipy.sparse as sp
f = h5py.File("cells/cells.h5ad")["X"]
x = sp.csr_matrix((f["data"][:], f["indices"][:], f["indptr"][:]), shape=tuple(f.attrs["shape"])).astype(float)
mean, square = (np.asarray(z.mean(0)).ravel() for z in (x, x.multiply(x)))
want = {"depth": np.asarray(x.sum(1)).ravel(), "found": np.diff(x.indptr), "mean": mean, "variance": square - mean ** 2,
        "dispersion": (square - mean ** 2) / np.maximum(mean, 1e-9)}
for n, w in want.items():
    np.testing.assert_allclose(h5py.File(f"cells/{n}.h5")["data"][()], w, rtol=1e-5, atol=1e-7, err_msg=n)'
}

@test "layers: a chain of sparse layers" {
    example layers LAYERS=3 SITES=2
    has "turn,active"
    py 'import scipy.sparse as sp
def read(p):
    import subprocess
    subprocess.run([sys.argv[1], "export", "-q", "--to", "npz", p, "-o", p + ".npz"], check=True)
    return sp.load_npz(p + ".npz").tocsr()
y, w = read("layers/y0.h5"), read("layers/w.h5")
assert 0.04 < y.nnz / y.shape[0] / y.shape[1] < 0.06 and w.shape == (3072, 1024)
for n in range(3):
    y = y @ w[n * 1024:(n + 1) * 1024]
    y.data = np.maximum(y.data - 0.6, 0)
    y.eliminate_zeros()
got = read("layers/y.h5")
assert abs(got - y).max() < 1e-9 and got.nnz == y.nnz > 0
' "$TRA"
}
