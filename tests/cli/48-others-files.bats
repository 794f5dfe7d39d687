# Files of other programs into which relations are written: what is in them stays what it is, or nothing is written.
load helper

# Writes B, of A, into r.h5.
program() { printf 'input A from "r.h5:A"\nB[i,j] = A[i,j] * 2\noutput B to "r.h5:%s"\n' "${1-B}" >p.tra; }

# makes CODE: python on f, the new file r.h5, which has the matrix A
makes() {
    "$PYTHON" -c "
import h5py, numpy as np, sys
with h5py.File('r.h5', 'w', **eval(sys.argv[1])) as f:
    f['A'] = np.arange(6.).reshape(2, 3)
$(sed 's/^/    /' <<<"$1")" "${2-{\}}"
}

# holds CODE: python on f, r.h5 with the relation B
holds() {
    status 0 "$PYTHON" -c "
import h5py, numpy as np
with h5py.File('r.h5') as f:
    assert f['B'][1, 2] == 10 and f['A'][1, 2] == 5
$(sed 's/^/    /' <<<"$1")"
}

@test "references of other programs lead where they led, in attributes and datasets, alone and in compounds and lists" {
    makes '
c = f.create_dataset("obs/cat", data=np.array([b"a", b"b"]))
f["obs/kind"] = np.array([0, 1], "i1")
f["obs/kind"].attrs["categories"] = c.ref
f.attrs["main"] = f["obs"].ref
f.attrs["self"] = f.ref
f["cells"] = np.array([c.ref, f["A"].ref, h5py.Reference()], dtype=h5py.ref_dtype)
pair = np.dtype([("n", "i4"), ("to", h5py.ref_dtype), ("two", h5py.ref_dtype, (2,))])
f["pairs"] = np.array([(1, c.ref, [c.ref, f["obs"].ref])], dtype=pair)
f["A"].attrs["pair"] = np.array([(2, f["obs/kind"].ref, [c.ref, c.ref])], dtype=pair)
lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
lists[0] = np.array([c.ref, f["obs"].ref], dtype=h5py.ref_dtype)
f["regions"] = np.array([f["A"].regionref[1, 0:2]], dtype=h5py.regionref_dtype)
f["A"].attrs["part"] = f["A"].regionref[:, 2]
big = f.create_dataset("many", (300000,), dtype=h5py.ref_dtype)
big[299999] = c.ref'
    program
    for name in B g/B B; do
        program $name
        status 0 tra run -q p.tra
    done
    holds '
name = lambda r: f[r].name
assert name(f["obs/kind"].attrs["categories"]) == "/obs/cat" and name(f.attrs["main"]) == "/obs" and name(f.attrs["self"]) == "/"
assert [name(r) for r in f["cells"][:2]] == ["/obs/cat", "/A"] and not f["cells"][2]
p = f["pairs"][0]
assert p["n"] == 1 and name(p["to"]) == "/obs/cat" and [name(r) for r in p["two"]] == ["/obs/cat", "/obs"]
assert name(f["A"].attrs["pair"][0]["to"]) == "/obs/kind"
assert [name(r) for r in f["lists"][0]] == ["/obs/cat", "/obs"] and len(f["lists"][1]) == 0
r = f["regions"][0]
assert f[r].name == "/A" and f["A"][r].ravel().tolist() == [3, 4]
assert f["A"][f["A"].attrs["part"]].ravel().tolist() == [2, 5]
assert name(f["many"][299999]) == "/obs/cat" and not f["many"][0]'
}

@test "an object with several names stays one object, also a group, and types with names stay those of their datasets" {
    makes '
f["g/x"] = np.arange(3)
f["h/y"] = f["g/x"]
f["again"] = f["g"]
f["g/up"] = f["/"]
f["soft"] = h5py.SoftLink("/g/x")
f["z_type"] = np.dtype([("a", "i4")])
f.create_dataset("of_type", (2,), dtype=f["z_type"])'
    program
    status 0 tra run -q p.tra
    holds '
assert f["g/x"] == f["h/y"] == f["again/x"] == f["soft"] and f["again"] == f["g"] and f["g/up"] == f["/"]
assert h5py.h5o.get_info(f["g/x"].id).rc == 2
t = f["of_type"].id.get_type()
assert t.committed() and h5py.h5o.get_info(t).addr == h5py.h5o.get_info(f["z_type"].id).addr'
}

@test "what is referred to and is replaced is what the reference leads to; what has no name any more is refused" {
    makes '
f["B"] = np.zeros((2, 3))
f.attrs["result"] = f["B"].ref'
    program
    status 0 tra run -q p.tra
    holds 'assert f[f.attrs["result"]].name == "/B" and f[f.attrs["result"]][1, 2] == 10'
    makes '
f["gone"] = np.arange(3)
f.attrs["keep"] = f["gone"].ref
del f["gone"]'
    cp r.h5 before.h5
    run tra run -q p.tra
    if [ "$status" = 0 ]; then # the reference led nowhere before
        holds 'assert True'
    else
        [ "$status" = 3 ]
        cmp r.h5 before.h5
    fi
}

@test "a file with a user block, as MATLAB writes it, is not rewritten" {
    makes 'f.attrs["x"] = 1' '{"userblock_size": 512}'
    printf 'MATLAB 7.3 MAT-file' | dd of=r.h5 conv=notrunc status=none
    cp r.h5 before.h5
    program
    status 3 tra run -q p.tra
    [[ $output == *"user block of 512 bytes"* ]]
    cmp r.h5 before.h5
}

# py CODE: python with h5py and numpy
py() { "$PYTHON" -c "
import h5py, numpy as np
$1"; }

# equals SPEC NPY: the relation is the array
equals() {
    status 0 tra export -q "$1" -o got.npy
    status 0 "$PYTHON" -c '
import numpy as np, sys
a, b = np.load("got.npy"), np.load(sys.argv[1])
assert a.shape == b.shape and np.array_equal(a, b), (a.shape, b.shape)' "$2"
}

@test "a virtual dataset of its own file is read by runs, beside its parts, on several sites" {
    py '
with h5py.File("v.h5", "w") as f:
    f["d"] = np.arange(6.)
    for name, source, step in (("own", ".", 1), ("byname", "v.h5", 1), ("stride", ".", 2)):
        l = h5py.VirtualLayout((6 // step,), dtype="f8")
        l[:] = h5py.VirtualSource(source, "d", shape=(6,))[::step]
        f.create_virtual_dataset(name, l)'
    printf 'input A from "v.h5:own"\ninput B from "v.h5:byname"\ninput D from "v.h5:d"\ninput S from "v.h5:stride"\n' >p.tra
    printf 'C[i] = A[i] + B[i] * D[i]\nT[i] = S[i] * 2\noutput C\noutput T\noutput C to "w.h5:x"\noutput T to "w.h5:y"\n' >>p.tra
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        is "$(printf '%s\n' 0 2 6 12 20 30)" eval 'tra export -q w.h5:x -o - --to csv'
        is "$(printf '%s\n' 0 4 8)" eval 'tra export -q T.h5 -o - --to csv'
    done
}

@test "a filter that is not installed is named for sparse matrices, columns and labels too" {
    py '
S = h5py.string_dtype()
def enc(g, t): g.attrs["encoding-type"] = t; g.attrs["encoding-version"] = "0.2.0"
n = 4000
with h5py.File("l.h5ad", "w") as f:
    X = f.create_group("X"); enc(X, "csr_matrix"); X.attrs["shape"] = np.array([n, 2])
    for k, d in (("data", np.ones(n, "f4")), ("indices", np.zeros(n, "i4"))): X.create_dataset(k, data=d, compression="lzf")
    X["indptr"] = np.arange(n + 1)
    for name, column in (("obs", "v"), ("var", "c"), ("uns", "n")):
        g = f.create_group(name); enc(g, "dataframe"); g.attrs["column-order"] = np.array([column], dtype=S)
        g.attrs["_index"] = column
    enc(f["obs"].create_dataset("v", data=np.zeros(n), compression="lzf"), "array")
    c = f["var"].create_group("c"); enc(c, "categorical")
    c.create_dataset("codes", data=np.zeros(n, "i1"), compression="lzf"); c["categories"] = np.array(["a"], dtype=object)
    c = f["uns"].create_group("n"); enc(c, "nullable-integer")
    c.create_dataset("values", data=np.zeros(n, "i4"), compression="lzf"); c["mask"] = np.zeros(n, bool)'
    for name in X obs var uns; do
        status 3 tra head l.h5ad:$name
        [[ $output == *"32000 (lzf), whose plugin is not installed"* ]]
        [[ $output != *damaged* ]]
    done
}

@test "columns of u64 are read as far as i64 holds them, with and without NULLs" {
    py '
S = h5py.string_dtype()
with h5py.File("d.h5", "w") as f:
    for name, big in (("ok", 7), ("wide", 2**63 + 1)):
        g = f.create_group(name); g.attrs["encoding-type"] = "dataframe"; g.attrs["encoding-version"] = "0.2.0"
        g.attrs["column-order"] = np.array(["v", "w"], dtype=S); g.attrs["_index"] = "v"
        n = g.create_group("v"); n.attrs["encoding-type"] = "nullable-integer"; n.attrs["encoding-version"] = "0.1.0"
        n["values"] = np.array([5, 2**64 - 1, 1], "u8"); n["mask"] = np.array([False, True, False])
        g["w"] = np.array([1, 2, big], "u8")'
    is "$(printf '%s\n' v,w 5,1 ,2 1,7)" eval 'tra export -q d.h5:ok -o - --to csv'
    status 3 tra export -q d.h5:wide -o - --to csv
    [[ $output == *'column "w": it is of u64, and a value is more than i64 holds'* ]]
}

@test "a dictionary that has a string twice is refused, whatever its categories are, and a name of two columns" {
    py '
def frame(f, name, columns):
    g = f.create_group(name); g.attrs["encoding-type"] = "dataframe"; g.attrs["encoding-version"] = "0.2.0"
    g.attrs["column-order"] = np.array(columns, dtype=object); g.attrs["_index"] = columns[0]
    return g
with h5py.File("t.h5", "w") as f:
    for name, values in (("text", np.array(["b", "a", "b"], dtype=object)), ("number", np.array([1.0, 2.0, 1.0]))):
        c = frame(f, name, ["s"]).create_group("s"); c.attrs["encoding-type"] = "categorical"
        c["codes"], c["categories"] = np.array([0, 1, 2, 0], "i1"), values
    g = frame(f, "old", ["s"]); g["__categories/s"] = np.array([b"a", b"a"]); g["s"] = np.array([0, 1], "i1")
    g["s"].attrs["categories"] = g["__categories/s"].ref
    g = frame(f, "good", ["s"]).create_group("s"); g.attrs["encoding-type"] = "categorical"
    g["codes"], g["categories"] = np.array([0, 1, 0], "i1"), np.array(["b", "a"], dtype=object)
    names = ["c%d" % i for i in range(2500)]
    g = frame(f, "wide", names + ["c7"])
    for n in names: g[n] = np.arange(2)'
    for name in text number old wide; do
        for command in head verify; do
            run tra $command t.h5:$name
            [ "$status" != 0 ]
            [[ $output == *twice* ]] || { echo "$name: $output"; return 1; }
        done
    done
    is "$(printf '%s\n' s b a b)" eval 'tra export -q t.h5:good -o - --to csv'
}

@test "files that are no HDF5 files are told for what they are" {
    py '
from scipy.io import netcdf_file, savemat
f = netcdf_file("a.nc", "w"); f.createDimension("x", 3); v = f.createVariable("v", "f8", ("x",)); v[:] = [1, 2, 3]; f.close()
savemat("b.mat", {"a": np.eye(2)}, format="4"); savemat("c.mat", {"a": np.eye(2)}, format="5")
for name, head in (("d.hdf", b"\x0e\x03\x13\x01"), ("e.nc", b"CDF\x05"), ("f.h5", b"PAR1"), ("g.h5ad", b"\x1f\x8b\x08"), ("h.nc", b"GRIB"),
                   ("i.h5", b"version https://git-lfs.github.com/spec/v1\n"), ("j.h5", b"<!DOCTYPE html>"), ("k.loom", b"PK\x03\x04")):
    open(name, "wb").write(head + bytes(200))'
    while read -r file says; do
        for command in "import -q -o x.h5" info; do
            status 3 tra $command $file
            [[ $output == *"$says"* ]] || { echo "$file: $output"; return 1; }
        done
    done <<'END'
a.nc netCDF-3
b.mat a MAT-file of version 4
c.mat a MAT-file of version
d.hdf an HDF4 file
e.nc netCDF
f.h5 a Parquet file
g.h5ad compressed by gzip
h.nc a GRIB file
i.h5 Git LFS
j.h5 a page of HTML
k.loom a zip archive
END
}

@test "a wrong count of stored values, and a scale of another length, are found" {
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 5\n3 2 7\n' >m.mtx
    status 0 tra import -q --storage csr m.mtx -o own.h5
    cp own.h5 other.h5
    py '
import json
for name in ("own.h5", "other.h5"):
    with h5py.File(name, "r+") as f:
        g = f["data"]; j = json.loads(g.attrs["binsparse"]); j["binsparse"]["number_of_stored_values"] = 3
        if name == "other.h5":
            for k in [k for k in g.attrs if k.startswith("tra_")]: del g.attrs[k]
            del f[".tra"]
        del g.attrs["binsparse"]; g.attrs["binsparse"] = json.dumps(j)
with h5py.File("s.h5", "w") as f:
    f["x"] = np.arange(4); f["x"].make_scale("x")
    for name, n, most in (("long", 3, 3), ("short", 5, 5), ("grows", 3, None)):
        d = f.create_dataset(name, data=np.arange(n), maxshape=(most,)); d.dims[0].attach_scale(f["x"])'
    for name in own other; do
        status 3 tra export -q $name.h5 -o - --to csv
        [[ $output == *number_of_stored_values* || $output == *"not those that it was written with"* ]]
    done
    for name in long short; do
        status 3 tra info s.h5:$name
        [[ $output == *"positions, but its scale x has 4"* ]]
    done
    run tra info s.h5:grows
    [[ $output == *"dimension 0, x: 0, 1, 2"* ]]
}

@test "MATLAB's arrays have the shape that MATLAB shows; logical, integer, empty and sparse ones are what they are" {
    py '
import scipy.sparse as sp
rng = np.random.default_rng(0)
A, B, S = rng.normal(size=(70, 30)), rng.integers(-5, 5, (4, 3, 2)).astype("i2"), sp.random(50, 30, 0.1, random_state=1).tocsc()
with h5py.File("m.mat", "w", userblock_size=512) as f:
    def put(n, x, c, **o):
        d = f.create_dataset(n, data=x.T, **o); d.attrs["MATLAB_class"] = np.bytes_(c); np.save(n.replace("/", "_"), x)
    put("A", A, "double"); put("C", A, "double", chunks=(7, 32)); put("Z", A, "single", chunks=(10, 70), compression=3, shuffle=True)
    put("B", B, "int16"); put("L", (A[:5, :4] > 0).astype("u1"), "logical"); put("T", np.array([[72, 105]], "u2"), "char")
    put("s/a", A[:2, :3], "double"); np.save("L", A[:5, :4] > 0)
    for name, shape in (("E", [0, 3]), ("F", [2, 0, 4])):
        d = f.create_dataset(name, data=np.array(shape, "u8")); d.attrs["MATLAB_class"] = np.bytes_("double"); d.attrs["MATLAB_empty"] = np.uint8(1)
        np.save(name, np.zeros(shape))
    for name, c, x in (("S", "double", S.data), ("G", "logical", np.ones(S.nnz, "u1"))):
        g = f.create_group(name); g.attrs["MATLAB_class"] = np.bytes_(c); g.attrs["MATLAB_sparse"] = np.uint64(50)
        g["data"], g["ir"], g["jc"] = x, S.indices.astype("u8"), S.indptr.astype("u8")
    g = f.create_group("N"); g.attrs["MATLAB_class"] = np.bytes_("double"); g.attrs["MATLAB_sparse"] = np.uint64(5); g["jc"] = np.zeros(4, "u8")
    f["#refs#/a"] = np.arange(3)
np.save("S", S.toarray()); np.save("G", S.toarray() != 0); np.save("N", np.zeros((5, 3)))
with h5py.File("o.h5", "w") as f:
    for name, x in (("x", A), ("e", None)):
        g = f.create_group(name); g.attrs["OCTAVE_NEW_FORMAT"] = np.uint8(1); g["type"] = np.bytes_("matrix")
        g["value"] = x.T if x is not None else np.array([0, 3], "i4")
        if x is None: g["value"].attrs["OCTAVE_EMPTY_MATRIX"] = np.uint8(1)'
    for name in A C B L s/a S G N Z; do equals m.mat:$name "${name//\//_}.npy"; done
    equals o.h5:x A.npy
    for spec in m.mat:E o.h5:e; do
        run tra info $spec
        [[ $output == *"0 x 3"* ]]
    done
    run tra info m.mat:F
    [[ $output == *"2 x 0 x 4"* ]]
    status 3 tra info m.mat:T
    [[ $output == *"text (MATLAB_class char)"* ]]
    run tra info --names m.mat
    [[ $output != *refs* ]]
    printf '%s\n' 'input A from "m.mat:A"' 'input C from "m.mat:C"' 'input Z from "m.mat:Z"' 'input S from "m.mat:S"' \
        'D[i,j] = A[i,j] - C[i,j]' 'G[i,j] = sum A[i,k] * Z[j,k]' 'Q[j] = sum S[i,j] * A[i,j]' 'output D' 'output G' 'output Q' >p.tra
    sed -i 's/Q\[j\].*/Q[j] = sum S[i,j] * S[i,j]/' p.tra
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites --memory 64M p.tra
        py '
A, S = np.load("A.npy"), np.load("S.npy")
assert not h5py.File("D.h5")["data"][()].any()
assert np.allclose(h5py.File("G.h5")["data"], A @ A.T) and np.allclose(h5py.File("Q.h5")["data"], (S * S).sum(0))'
    done
}

@test "names of cells and genes are labels: of AnnData, 10x and loom, and pass through" {
    "$PYTHON" -c 'import anndata' 2>/dev/null || skip "there is no anndata for python"
    "$PYTHON" -W ignore -c '
import anndata, h5py, numpy as np, pandas as pd, scipy.sparse as sp
n, m = 60, 40
X = sp.random(n, m, 0.2, format="csr", random_state=1, dtype="f4")
cells, genes = [f"c{i}" for i in range(n)][::-1], [f"g{i}" for i in range(m)]
a = anndata.AnnData(X, obs=pd.DataFrame({"q": np.arange(n)}, index=cells), var=pd.DataFrame(index=genes))
a.raw = a[:, :30]
a.layers["norm"] = X.toarray() * 2; a.obsm["pca"] = np.ones((n, 5)); a.obsp["d"] = sp.eye(n, format="csr"); a.varm["l"] = np.ones((m, 3))
a.write_h5ad("a.h5ad")
S = h5py.string_dtype()
with h5py.File("l.loom", "w") as f:
    f["matrix"] = X.toarray().T; f["row_attrs/Gene"] = np.array(genes, dtype=S); f["col_attrs/CellID"] = np.array(cells, dtype="S5")
C = X.T.tocsc()
for file, group, names in (("t3.h5", "matrix", "features/name"), ("t2.h5", "GRCh38", "gene_names")):
    with h5py.File(file, "w") as f:
        g = f.create_group(group); g["data"], g["indices"], g["indptr"], g["shape"] = C.data, C.indices, C.indptr, np.array([m, n], "i4")
        g["barcodes"] = np.array(cells, "S8"); g[names] = np.array(genes, "S8")'
    while read -r spec labels; do
        run tra info $spec
        [ "$(grep -o 'dimension [0-9], [a-zA-Z]*: [a-z0-9]*' <<<"$output" | tr '\n' ' ')" = "$labels " ] || { echo "$spec: $output"; return 1; }
    done <<'END'
a.h5ad dimension 0, obs: c59 dimension 1, var: g0
a.h5ad:layers/norm dimension 0, obs: c59 dimension 1, var: g0
a.h5ad:raw/X dimension 0, obs: c59 dimension 1, var: g0
a.h5ad:obsm/pca dimension 0, obs: c59
a.h5ad:varm/l dimension 0, var: g0
a.h5ad:obsp/d dimension 0, obs: c59 dimension 1, obs: c59
l.loom dimension 0, Gene: g0 dimension 1, CellID: c59
t3.h5 dimension 0, feature: g0 dimension 1, barcode: c59
t2.h5 dimension 0, feature: g0 dimension 1, barcode: c59
END
    printf '%s\n' 'input X from "a.h5ad"' 'total[g] = sum X[c,g]' 'E = entries(total)' 'B = entries(X)' 'output E' 'output B' 'output total' >p.tra
    for sites in 1 2; do
        status 0 tra run -q --sites $sites p.tra
        status 0 "$PYTHON" -W ignore -c '
import anndata, subprocess, os, io, pandas as pd, numpy as np
read = lambda f: pd.read_csv(io.StringIO(subprocess.run([os.environ["TRA"], "export", "-q", f, "--to", "csv", "-o", "-"], capture_output=True, text=True).stdout))
a = anndata.read_h5ad("a.h5ad").to_df()
e = read("E.h5").set_index("g")["value"]
assert np.allclose(e.reindex(a.columns), a.sum(0))
b = read("B.h5")
assert np.allclose(a.stack()[a.stack() != 0].values, b["value"]) and list(b.columns) == ["obs", "var", "value"]'
    done
}

@test "arrays are written into AnnData files in their encoding: names are kept or checked, all else stays" {
    "$PYTHON" -c 'import anndata' 2>/dev/null || skip "there is no anndata for python"
    "$PYTHON" -W ignore -c '
import anndata, numpy as np, pandas as pd, scipy.sparse as sp
X = sp.random(60, 40, 0.1, format="csr", random_state=1, dtype="f4")
a = anndata.AnnData(X, obs=pd.DataFrame({"kind": pd.Categorical(["T", "B"] * 30)}, index=[f"c{i}" for i in range(60)][::-1]),
                    var=pd.DataFrame({"len": np.arange(40)}, index=[f"g{i}" for i in range(40)]))
a.raw = a; a.layers["norm"] = X.toarray(); a.obsm["pca"] = np.ones((60, 3))
a.write_h5ad("a.h5ad"); np.save("w.npy", np.random.default_rng(0).normal(size=(40, 5)))'
    status 0 tra import -q w.npy -o w.h5
    printf '%s\n' 'input X from "a.h5ad"' 'input W from "w.h5"' 'L[c,g] as csr = log1p(X[c,g])' 'N[c,g] = X[c,g] + 0.5' \
        'P[c,k] = sum N[c,g] * W[g,k]' 's[c] = sum X[c,g]' 'b[c,g] = X[c,g] > 0' 'R = slice(X, [1:60, :])' 'Q = slice(X, [0:60, 0:39])' \
        'output L' 'output N' 'output P' 'output s' 'output b' 'output R' 'output Q' >p.tra
    status 0 tra run -q p.tra
    cp a.h5ad b.h5ad
    while read -r from to; do status 0 tra export -q $from.h5 -o b.h5ad:$to; done <<'END'
L layers/log
N layers/dense
b layers/any
P obsm/P
s obs/total
s uns/total
L X
s obs/total
END
    status 0 tra export -q L.h5 -o new.h5ad
    status 0 tra export -q N.h5 -o layer.h5ad:layers/n
    status 0 "$PYTHON" -W ignore -c '
import anndata, numpy as np
a, o = anndata.read_h5ad("b.h5ad"), anndata.read_h5ad("a.h5ad")
X = o.X.toarray()
assert a.obs_names.equals(o.obs_names) and a.var_names.equals(o.var_names) and (a.obs["kind"] == o.obs["kind"]).all() and list(a.var) == ["len"]
assert np.allclose(a.layers["log"].toarray(), np.log1p(X)) and np.allclose(a.layers["dense"], X + 0.5) and np.array_equal(a.layers["any"].toarray(), X > 0)
assert np.allclose(a.obsm["P"], (X + 0.5) @ np.load("w.npy")) and np.allclose(a.obs["total"], X.sum(1)) and np.allclose(a.uns["total"], X.sum(1))
assert list(a.obs) == ["kind", "total"] and np.allclose(a.X.toarray(), np.log1p(X)) and (a.raw.X != o.X).nnz == 0 and "norm" in a.layers and "pca" in a.obsm
for f in ("new.h5ad", "layer.h5ad"):
    n = anndata.read_h5ad(f)
    assert n.obs_names.equals(o.obs_names) and n.var_names.equals(o.var_names), f
assert np.allclose(n.layers["n"], X + 0.5)'
    for spec in b.h5ad:layers/log b.h5ad:layers/dense b.h5ad:X; do
        run tra info $spec
        [[ $output == *"dimension 0, obs: c59"*"dimension 1, var: g0"* ]]
    done
    cp b.h5ad before.h5ad
    while read -r from to says; do
        run tra export -q $from.h5 -o b.h5ad:$to
        [ "$status" != 0 ]
        [[ $output == *"$says"* ]] || { echo "$from $to: $output"; return 1; }
        cmp b.h5ad before.h5ad
    done <<'END'
P layers/P var of b.h5ad has 40 names, but dimension 1 of layers/P has 5 positions
R layers/R obs of b.h5ad has 60 names, but dimension 0 of layers/R has 59 positions
P foo an AnnData file has arrays at X, layers/NAME
s obsm/s obsm/s of an AnnData file has 2 dimensions, and this tensor 1
END
    "$PYTHON" -W ignore -c 'import anndata; anndata.read_h5ad("a.h5ad")[::-1].copy().write_h5ad("turned.h5ad")'
    status 3 tra export -q L.h5 -o turned.h5ad:layers/x
    [[ $output == *'position 0 of dimension 0 of layers/x is "c59", but "c0" in obs of turned.h5ad'* ]]
    printf '%s\n' 'input X from "a.h5ad"' 'Y[c,g] = X[c,g] * 2' 'output Y to "b.h5ad:layers/y"' >q.tra
    printf '%s\n' 'z[c] = sum X[c,g]' 'output z to "b.h5ad:obs/z"' 'output Y to "fresh.h5ad"' >>q.tra
    for sites in 1 2; do
        status 0 tra run -q --sites $sites q.tra
        status 0 "$PYTHON" -W ignore -c '
import anndata, numpy as np
a, b, f = (anndata.read_h5ad(x) for x in ("a.h5ad", "b.h5ad", "fresh.h5ad"))
y = b.layers["y"]
assert np.allclose(y.toarray() if hasattr(y, "toarray") else y, 2 * a.X.toarray()) and np.allclose(b.obs["z"], a.X.sum(1).ravel())
assert np.allclose(f.X.toarray(), 2 * a.X.toarray()) and f.obs_names.equals(a.obs_names)'
    done
    cp b.h5ad before.h5ad
    printf '%s\n' 'input X from "a.h5ad"' 'Y[c,g] = X[c,g] * 2' 'output Y to "b.h5ad:nowhere"' >q.tra
    run tra run -q q.tra
    [ "$status" != 0 ]
    cmp b.h5ad before.h5ad
    cp a.h5ad hidden.h5
    status 3 tra import -q w.npy -o hidden.h5:w
    [[ $output == *"is a file of AnnData"* ]]
    cmp a.h5ad hidden.h5
}
