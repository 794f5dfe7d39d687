# Files that anndata writes, as anndata shows them: values with the names of cells and genes, and their frames.
load helper

@test "five files of anndata are its view of them: X, layers, obsm, raw, obs and var, with names, and back" {
    "$PYTHON" -c 'import anndata' 2>/dev/null || skip "anndata is not installed"
    py '
import warnings; warnings.simplefilter("ignore")
import anndata as ad, pandas as pd, scipy.sparse as sp, subprocess, io
tra = sys.argv[1]
r = np.random.default_rng(7)
def frame(n, names, kind):
    t = pd.DataFrame({"count": r.integers(0, 90, n), "score": r.normal(size=n).round(3)}, index=names)
    c = pd.Categorical(r.choice(["B", "NK", "T cell"], n), ["B", "NK", "T cell", "unused"])
    if kind % 2: c[::5] = None
    t["type"], t["flag"], t["note"] = c, r.random(n) < .5, [f"n, {i % 4}" for i in range(n)]
    return t
def make(kind):
    n, m = 40 + kind, 12 + kind
    X = sp.random(n, m, .3, random_state=kind, dtype="f4" if kind < 3 else "f8")
    X = [X.tocsr(), X.tocsc(), X.toarray(), X.tocsr(), X.toarray()][kind]
    a = ad.AnnData(X, frame(n, [f"AACT-{r.integers(10**6)}-{i}" for i in range(n)], kind), frame(m, [f"GENE {i}" for i in r.permutation(m)], kind + 1))
    a.layers["counts"] = sp.random(n, m, .2, format="csr", random_state=1)
    a.layers["dense"] = r.normal(size=(n, m))
    a.obsm["X_pca"] = r.normal(size=(n, 3))
    if kind in (2, 3): a.raw = a
    return a
def table(program, spec, header=0):
    p = subprocess.run([tra, "eval", "-q", program, "X=" + spec], capture_output=True, text=True)
    assert p.returncode == 0, (program, spec, p.stderr)
    return pd.read_csv(io.StringIO(p.stdout), index_col=0, header=header, keep_default_na=False)
def same(got, want, what):
    assert list(got.index) == list(want.index), what
    np.testing.assert_allclose(got.to_numpy(), want.to_numpy(), rtol=1e-6, err_msg=what)
for kind in range(5):
    a, f = make(kind), f"{kind}.h5ad"
    a.write_h5ad(f)
    want = a.to_df()
    got = table("Y[i,j] as dense = X[i,j]; Y", f)
    assert list(got.columns) == list(want.columns), f
    same(got, want, f)
    for layer in a.layers: same(table("Y[i,j] as dense = X[i,j]; Y", f"{f}:layers/{layer}"), a.to_df(layer), f + layer)
    pca = table("Y[i,j] = X[i,j]; Y", f"{f}:obsm/X_pca", None) # rows have names, columns none: no header
    same(pca, pd.DataFrame(a.obsm["X_pca"], index=a.obs_names), f + " obsm")
    if a.raw is not None: same(table("Y[i,j] as dense = X[i,j]; Y", f"{f}:raw/X"), pd.DataFrame(a.raw.to_adata().to_df()), f + " raw")
    for part in ("obs", "var"):
        t, got = getattr(a, part), table("X", f"{f}:{part}")
        assert list(got.index) == list(t.index) and list(got.columns) == list(t.columns), (f, part)
        for c in t:
            w = ["" if x is None or x != x else str(x).lower() if t[c].dtype == bool else x for x in t[c]]
            g = [str(x).lower() if t[c].dtype == bool else x for x in got[c]]
            assert g == w, (f, part, c, g[:5], w[:5])
    # sums by the names of cells and genes
    s = table("S[j] = sum X[i,j]; S", f)
    same(s, want.sum(0).to_frame(), f + " sums")
    one = table("V[i] = X[i,\"GENE 3\"]; V", f)
    same(one, want[["GENE 3"]], f + " one gene")
    # a result in the file is a layer with the same names
    subprocess.run([tra, "eval", "-q", "log1p(X)", "X=" + f, "-o", f + ":layers/log"], check=True)
    b = ad.read_h5ad(f)
    assert list(b.obs_names) == list(a.obs_names) and list(b.var_names) == list(a.var_names) and b.obs.equals(ad.read_h5ad(f).obs)
    np.testing.assert_allclose(b.to_df("log").to_numpy(), np.log1p(want.to_numpy()), rtol=1e-5, err_msg=f)
    assert set(b.layers) == {"counts", "dense", "log"} and "X_pca" in b.obsm
' "$TRA"
}
