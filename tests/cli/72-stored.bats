# Sparse tensors that other programs wrote, read in place; scipy and h5py judge.
load helper

# scipy's matrices as groups, and the same values as datasets.
PRELUDE='
import scipy.sparse as sp
rng = np.random.default_rng(7)
def matrix(m, n, density, dtype="f8"):
    a = sp.random(m, n, density, format="csr", random_state=rng)
    a.data = np.round(a.data * 100 + 1).astype(dtype)
    a = a.astype(dtype)
    return a
def group(f, name, arrays, **attrs):
    g = f.create_group(name)
    for k, v in arrays.items(): g.create_dataset(k, data=v)
    for k, v in attrs.items(): g.attrs[k.replace("_type", "-type").replace("_version", "-version")] = v
    return g
def anndata(f, name, a, kind="csr"):
    a = a.asformat(kind)
    return group(f, name, dict(data=a.data, indices=a.indices, indptr=a.indptr), encoding_type=kind + "_matrix",
                 encoding_version="0.1.0", shape=np.array(a.shape))
def binsparse(f, name, format, shape, arrays, outer=True, version="0.1.0", **more):
    types = {k: str(v.dtype) for k, v in arrays.items()}
    types.update(more.pop("types", {}))
    head = dict(version=version, format=format, shape=list(shape), data_types=types,
                number_of_stored_values=len(arrays["values"]), **more)
    g = group(f, name, arrays)
    g.attrs["binsparse"] = json.dumps({"binsparse": head} if outer else head)
    return g
'
made() { py "$PRELUDE$1"; }
# same A B...: all have one digest.
same() {
    tra digest "$@" >digests
    [ "$(cut -c1-32 <digests | sort -u | wc -l)" = 1 ] || { cat digests; return 1; }
}

@test "groups of AnnData are relations, cut along rows or columns" {
    made '
a = matrix(300, 200, 0.05); b = matrix(100, 50, 0.2, "i4"); b.indices = b.indices.astype("i8")
with h5py.File("a.h5ad", "w") as f:
    anndata(f, "X", a); anndata(f, "layers/c", a, "csc"); anndata(f, "layers/i", b, "csc"); f["d"] = a.toarray()
    f["i"] = b.toarray()'
    same a.h5ad:X a.h5ad:layers/c a.h5ad:d
    same a.h5ad:layers/i a.h5ad:i
    status 0 tra info a.h5ad:layers/c
    [[ $output == *"storage     csc"* ]]
    [[ $output == *"entries     3000 "* ]]
    status 0 tra verify a.h5ad:X
    status 3 tra info a.h5ad
    [[ $output == *"several relations: X, d, i, layers/c, layers/i;"* ]]
}

@test "indices in any order are sorted, and duplicates added" {
    made '
a = matrix(200, 90, 0.1)
with h5py.File("a.h5", "w") as f:
    f["d"] = a.toarray()
    for kind in "csr", "csc":
        b = a.asformat(kind); data = b.data.copy(); indices = b.indices.copy()
        for i in range(len(b.indptr) - 1):
            s = slice(b.indptr[i], b.indptr[i + 1])
            data[s] = data[s][::-1]; indices[s] = indices[s][::-1]
        group(f, "down/" + kind, dict(data=data, indices=indices, indptr=b.indptr), encoding_type=kind + "_matrix",
              shape=np.array(a.shape))
        twice = dict(data=np.repeat(data, 2) / 2, indices=np.repeat(indices, 2), indptr=b.indptr * 2)
        group(f, "twice/" + kind, twice, encoding_type=kind + "_matrix", shape=np.array(a.shape))'
    same a.h5:d a.h5:down/csr a.h5:down/csc a.h5:twice/csr a.h5:twice/csc
}

@test "groups of 10x are read as they are: columns, gzip, indices downwards" {
    made '
a = matrix(700, 300, 0.05, "i4").tocsc()
data, indices = a.data.copy(), a.indices.astype("i8")
for i in range(300):
    s = slice(a.indptr[i], a.indptr[i + 1]); data[s] = data[s][::-1]; indices[s] = indices[s][::-1]
with h5py.File("ten.h5", "w") as f:
    g = f.create_group("matrix")
    for k, v in dict(data=data, indices=indices, indptr=a.indptr.astype("i8")).items():
        g.create_dataset(k, data=v, chunks=(777,), compression="gzip", shuffle=True, maxshape=(None,))
    g["shape"] = np.array(a.shape, "i4")
    g["barcodes"] = np.array([b"x%d" % i for i in range(300)])
    g.create_group("features")["id"] = np.array([b"g%d" % i for i in range(700)])
h5py.File("d.h5", "w")["data"] = a.toarray()'
    same ten.h5 ten.h5:matrix d.h5
    status 0 tra info --format json ten.h5
    is csc json relations.0.storage
    is 10500 json relations.0.entries
    is i32 json relations.0.dtype
}

@test "binsparse of every format, with and without the outer key, is read" {
    made '
a = matrix(150, 120, 0.06); c = a.tocsc(); o = a.tocoo(); v = matrix(1, 500, 0.2).tocoo()
rows = np.flatnonzero(np.diff(a.indptr)); cols = np.flatnonzero(np.diff(c.indptr))
with h5py.File("b.h5", "w") as f:
    f["d"] = a.toarray(); f["v"] = v.toarray()[0]
    csr = dict(pointers_to_1=a.indptr, indices_1=a.indices, values=a.data)
    csc = dict(pointers_to_1=c.indptr, indices_1=c.indices, values=c.data)
    binsparse(f, "m/csr", "CSR", a.shape, csr); binsparse(f, "m/csc", "CSC", a.shape, csc, outer=False)
    binsparse(f, "m/old", "CSR", a.shape, csr, version="0.1", fill=True)["fill_value"] = np.zeros(1)
    binsparse(f, "m/dcsr", "DCSR", a.shape, dict(indices_0=rows, pointers_to_1=a.indptr[np.r_[rows, 150]],
                                                 indices_1=a.indices.astype("u2"), values=a.data))
    binsparse(f, "m/dcsc", "DCSC", a.shape, dict(indices_0=cols, pointers_to_1=c.indptr[np.r_[cols, 120]],
                                                 indices_1=c.indices.astype("u1"), values=c.data))
    for name in "COO", "COOR":
        binsparse(f, "m/" + name, name, a.shape, dict(indices_0=o.row, indices_1=o.col, values=o.data))
    p = np.lexsort((o.row, o.col))
    binsparse(f, "m/cooc", "COOC", a.shape, dict(indices_0=o.col[p], indices_1=o.row[p], values=o.data[p]))
    p = rng.permutation(o.nnz)
    binsparse(f, "m/any", "COO", a.shape, dict(indices_0=o.row[p], indices_1=o.col[p], values=o.data[p]))
    binsparse(f, "m/dmat", "DMAT", a.shape, dict(values=a.toarray().ravel()))
    binsparse(f, "m/dmatc", "DMATC", a.shape, dict(values=a.toarray().T.ravel()))
    e = dict(level_desc="element"); s1 = dict(level_desc="sparse", rank=1, level=e)
    binsparse(f, "m/own", "custom", a.shape, csc, custom=dict(transpose=[1, 0], level=dict(level_desc="dense", rank=1,
                                                                                         level=s1)))
    binsparse(f, "w/cvec", "CVEC", v.shape[1:], dict(indices_0=v.col, values=v.data))
    binsparse(f, "w/dvec", "DVEC", v.shape[1:], dict(values=v.toarray()[0]))'
    same b.h5:{d,m/csr,m/csc,m/old,m/dcsr,m/dcsc,m/COO,m/COOR,m/cooc,m/any,m/dmat,m/dmatc,m/own}
    same b.h5:{v,w/cvec,w/dvec}
}

@test "one value for all, booleans, and triangles of symmetric matrices" {
    made '
a = matrix(90, 90, 0.1); low = sp.tril(a).tocsr(); up = sp.triu(a).tocsc(); strict = sp.tril(a, -1).tocsr()
def parts(x): return dict(pointers_to_1=x.indptr, indices_1=x.indices, values=x.data)
with h5py.File("s.h5", "w") as f:
    f["ones"] = (a.toarray() != 0) * 3.0
    binsparse(f, "iso", "CSR", a.shape, dict(parts(a), values=np.array([3.0])), types=dict(values="iso[float64]"))
    f["bool"] = a.toarray() != 0
    binsparse(f, "bint", "CSR", a.shape, dict(parts(a), values=np.ones(a.nnz, "u1")), types=dict(values="bint8"))
    f["sym"] = (low + sp.tril(a, -1).T).toarray()
    binsparse(f, "lower", "CSR", a.shape, parts(low), structure="symmetric_lower")
    f["sym2"] = (up + sp.triu(a, 1).T).toarray()
    binsparse(f, "upper", "CSC", a.shape, parts(up), structure="hermitian_upper")
    f["skew"] = (strict - strict.T).toarray()
    binsparse(f, "skewed", "CSR", a.shape, parts(strict), structure="skew_symmetric_lower")'
    same s.h5:ones s.h5:iso
    same s.h5:bool s.h5:bint
    same s.h5:sym s.h5:lower
    same s.h5:sym2 s.h5:upper
    same s.h5:skew s.h5:skewed
}

@test "many entries are cut in blocks; a triangle and its mirror are found in all of them" {
    made '
a = matrix(4000, 4000, 0.1); low = sp.tril(a).tocsr()
with h5py.File("l.h5", "w") as f:
    anndata(f, "r", a); anndata(f, "c", a, "csc"); f.create_dataset("d", data=a.toarray(), chunks=(500, 4000))
    binsparse(f, "low", "CSR", a.shape, dict(pointers_to_1=low.indptr, indices_1=low.indices, values=low.data),
              structure="symmetric_lower")
    f.create_dataset("both", data=(low + sp.tril(a, -1).T).toarray(), chunks=(500, 4000))'
    same l.h5:r l.h5:c l.h5:d
    same l.h5:low l.h5:both
    status 0 tra info --format json l.h5:c
    is 4 json relations.0.tuples
    is '[4000, 1024]' json relations.0.bound
    status 0 tra info --format json l.h5:low
    is 4 json relations.0.tuples
}

@test "tensors of other programs by levels" {
    made '
t = np.where(rng.random((12, 9, 31)) < 0.1, rng.integers(1, 99, (12, 9, 31)), 0).astype("f4")
i, j, k = np.nonzero(t); e = dict(level_desc="element")
with h5py.File("t.h5", "w") as f:
    f["d"] = t
    coo = dict(indices_0=i, indices_1=j, indices_2=k, values=t[i, j, k])
    binsparse(f, "coo", "custom", t.shape, coo, custom=dict(level=dict(level_desc="sparse", rank=3, level=e)))
    p = np.searchsorted(i * 9 + j, np.arange(109))
    binsparse(f, "dds", "custom", t.shape, dict(pointers_to_2=p, indices_2=k, values=t[i, j, k]),
              custom=dict(level=dict(level_desc="dense", rank=2, level=dict(level_desc="sparse", rank=1, level=e))))
    s = np.flatnonzero(t.any(axis=(1, 2)))
    binsparse(f, "sdd", "custom", t.shape, dict(indices_0=s, values=t[s].ravel()),
              custom=dict(level=dict(level_desc="sparse", rank=1, level=dict(level_desc="dense", rank=2, level=e))))
    u = np.transpose(t, (2, 0, 1)); x, y, z = np.nonzero(u)
    binsparse(f, "moved", "custom", t.shape, dict(indices_0=x, indices_1=y, indices_2=z, values=u[x, y, z]),
              custom=dict(transpose=[2, 0, 1], level=dict(level_desc="sparse", rank=3, level=e)))'
    same t.h5:{d,coo,dds,sdd,moved}
}

@test "what cannot be read is refused with the reason" {
    made '
a = matrix(20, 20, 0.2)
def parts(**k): return dict(dict(pointers_to_1=a.indptr, indices_1=a.indices, values=a.data), **k)
with h5py.File("x.h5", "w") as f:
    binsparse(f, "complex", "CSR", a.shape, parts(), types=dict(values="complex[float64]"))
    binsparse(f, "fill", "CSR", a.shape, parts(), fill=True)["fill_value"] = np.array([1.5])
    binsparse(f, "version", "CSR", a.shape, parts(), version="2.0.0")
    binsparse(f, "format", "XYZ", a.shape, parts())
    binsparse(f, "shape", "CSR", (20, 20, 20), parts())
    binsparse(f, "short", "CSR", a.shape, parts(pointers_to_1=a.indptr[:-1]))
    binsparse(f, "more", "CSR", a.shape, parts(values=a.data[:-1]))
    p = a.indptr.copy(); p[3], p[4] = 99, 0
    binsparse(f, "pointers", "CSR", a.shape, parts(pointers_to_1=p))
    i = a.indices.copy(); i[7] = 20
    binsparse(f, "index", "CSR", a.shape, parts(indices_1=i))
    i[7] = -1
    binsparse(f, "negative", "CSR", a.shape, parts(indices_1=i))
    binsparse(f, "real", "CSR", a.shape, parts(indices_1=a.indices * 1.0))
    b = binsparse(f, "bad", "CSR", a.shape, parts()); b.attrs["binsparse"] = "{\"binsparse\": {"
    big = a.data.astype("u8"); big[3] = 1 << 63
    binsparse(f, "big", "CSR", a.shape, parts(values=big))
    del binsparse(f, "gone", "CSR", a.shape, parts())["values"]'
    refused() { # NAME WORDS
        status 3 tra digest "x.h5:$1"
        [[ $output == *"x.h5:$1"*"$2"* ]] || { echo "$output"; return 1; }
    }
    refused complex 'complex'
    refused fill 'not stored are 1.5 there'
    refused version 'version 2.0.0 of binsparse'
    refused format 'XYZ'
    refused shape 'rank of its format'
    refused short 'pointers_to_1 has 20 elements, but should have 21'
    refused more 'values has'
    refused pointers 'pointers_to_1 does not ascend'

    for name in index negative; do
        status 3 tra digest x.h5:$name
        [[ $output == *"block <0,0> of x.h5:$name is damaged: indices_1: it has an index out of range"* ]]
    done
    refused real 'whole numbers'
    refused bad 'version unknown'
    refused big '9223372036854775807'
    refused gone 'values is missing'
    status 3 tra info x.h5:nosuch
}

@test "indices that are wrong are told in files without checksums too, whatever their type" {
    for n in 200 9000 70000; do # of one, two and four bytes; rows within a piece of what is read, and across pieces
        tra gen -q --shape 3x$n --block 3x$n --density .3 --storage csr --seed 3 -o i.h5
        digest_of i.h5 >digest
        py '
import h5py, shutil
for at in (7, 8192):
    for name, v in dict(good=None, range='$n', twice=0, down=-1).items():
        shutil.copy("i.h5", f"{name}{at}.h5")
        with h5py.File(f"{name}{at}.h5", "r+") as f:
            del f[".tra/data/xxh64"]
            i = f["data/indices_1"]
            if name == "range": i[len(i) - 1] = v
            elif v is not None and at < len(i): i[at] = i[at - 1] + v'
        for at in 7 8192; do
            is "$(cat digest)" digest_of good$at.h5
            [ $at = 7 ] || [ $n = 70000 ] || continue
            for name in range twice down; do
                status 3 tra digest -q $name$at.h5
                case $name in
                range) [[ $output == *"indices_1: it has an index out of range"* ]] ;;
                twice) [[ $output == *"indices_1: it has an index twice"* ]] ;;
                down) [[ $output == *"indices_1: its indices do not ascend"* ]] ;;
                esac
            done
        done
    done
}

@test "a mapping in a file makes a tensor of components" {
    made '
lower = """storage lower[n, n] {
    real array v(n*(n + 1)/2)
    sum(<i, _> in 0:n, <j, _> in 0:i + 1) {@unique (i, j) -> v(i*(i + 1)/2 + j)}
}"""
def program(f, name, text, shape, **arrays):
    g = group(f, name, arrays); g.attrs["tra_storage"] = text; g.attrs["tra_shape"] = np.array(shape)
a = np.tril(np.arange(1.0, 401).reshape(20, 20)); x = np.array([3, 0, 7]); y = np.array([1.5, 2.5, -1.0])
with h5py.File("p.h5", "w") as f:
    f["a"] = a
    program(f, "lower", lower, (20, 20), v=a[np.tril_indices(20)])
    f["twice"] = np.array([0.0, 4.0, 0.0, -1.0]); f["rank1"] = np.outer(x, y)
    program(f, "scattered", "storage s[n] {int scalar k\nint array at(k)\nreal array v(k)\nsum(<p, i> in at) {i -> v(p)}}",
            (4,), k=3, at=np.array([1, 3, 1]), v=y[[0, 2, 1]])
    program(f, "outer", "storage o[m, n] {real array x(m)\nreal array y(n)\n"
            "sum(<i, u> in x, <j, v> in y) {(i, j) -> u * v}}", (3, 3), x=x.astype("f8"), y=y)
    program(f, "map", "storage d[m, n] {real hashmap h(m, n)\nh}", (3, 3), h_key0=np.array([0, 2]),
            h_key1=np.array([2, 1]), h_value=np.array([5, 6]))
    f["mapped"] = np.array([[0, 0, 5], [0, 0, 0], [0, 6, 0]])
    program(f, "bad/short", lower, (20, 20), v=np.ones(209))
    program(f, "bad/text", "storage lower[n, n] { real array v(n) sum(", (3, 3), v=np.ones(3))
    program(f, "bad/out", "storage s[n] {int array at(2)\nsum(<p, i> in at) {i -> 1}}", (4,), at=np.array([1, 4]))
    program(f, "bad/steps", "storage s[n] {real array v(n)\nsum(<i, _> in 0:99999999999) if (i > 99999999998) {0 -> v(0)}}",
            (4,), v=np.ones(4))
    program(f, "bad/gone", lower, (20, 20))
    program(f, "bad/shape", lower, (20, 21), v=np.ones(210))'
    same p.h5:a p.h5:lower
    same p.h5:twice p.h5:scattered
    same p.h5:rank1 p.h5:outer
    same p.h5:mapped p.h5:map
    status 0 tra info --format json p.h5:lower
    is lower json relations.0.storage
    is 210 json relations.0.entries
    status 0 tra diff p.h5:a p.h5:lower
    status 0 tra verify p.h5:lower
    refused() { # NAME WORDS
        status 3 tra digest "p.h5:bad/$1"
        [[ $output == *"p.h5:bad/$1"*"$2"* ]] || { echo "$output"; return 1; }
    }
    refused short 'component v'
    refused text 'its storage cannot be read, at byte'
    refused out '4'
    refused steps 'steps'
    refused gone 'its component v is missing'
    refused shape 'extents'
}

# ---- what tra stores ----

# A matrix as MatrixMarket, and as a dense relation.
matrix_file() {
    made '
import scipy.io as io
a = matrix(230, 170, 0.08); io.mmwrite("m.mtx", a)
h5py.File("d.h5", "w")["data"] = a.toarray()'
}

@test "stored relations are binsparse to a reader of its specification, and open in h5dump" {
    matrix_file
    for storage in csr csc coo dcsr dcsc; do
        for block in 230x170 100x60; do
            tra import -q m.mtx -o s.h5 --storage $storage --block $block
            same s.h5 d.h5
            PYTHONPATH=$ROOT/tests/cli py '
import binsparse
with h5py.File("s.h5") as f, h5py.File("d.h5") as d: assert (binsparse.tensor(f["data"]) == d["data"][:]).all()'
            status 0 h5dump -H s.h5
            status 0 tra verify s.h5
        done
    done
}

@test "info tells storage, entries, density and rows" {
    matrix_file
    tra import -q m.mtx -o s.h5 --storage csc --block 100x170
    status 0 tra info --format json --mapping --statistics s.h5
    is csc json relations.0.storage
    is 'levels(dense, sparse) order [1, 0]' json relations.0.mapping
    echo "$output" >info
    py '
import scipy.io as io
i = json.load(open("info"))["relations"][0]; a = io.mmread("m.mtx").tocsr(); n = np.diff(a.indptr)
assert i["entries"] == a.nnz and i["entries_kind"] == "exact"
assert abs(i["density"] - a.nnz / 230 / 170) < 1e-12
r = i["rows"]
assert r["all"] == 230 and r["with_entries"] == (n > 0).sum() and r["max"] == n.max()
assert r["squares"] == (n * n).sum() and r["median"][0] <= np.median(n) <= r["median"][1]
assert sum(r["logs"]) == 230 and r["logs"][0] == (n == 0).sum() and r["finite"]'
    status 0 tra info s.h5
    [[ $output == *"storage     csc"* ]]
    [[ $output == *"  by row      min "* ]]
    status 0 tra info --stats --format json d.h5
    local min max
    min=$(json relations.0.stats.min) max=$(json relations.0.stats.max)
    status 0 tra info --stats --format json s.h5
    is "$min" json relations.0.stats.min
    is "$max" json relations.0.stats.max
}

@test "verify names what is damaged, also what only other programs read" {
    matrix_file
    damage() { # DATASET INDEX WORDS
        tra import -q m.mtx -o s.h5 --storage csr --block 100x60
        py '
with h5py.File("s.h5", "r+") as f: d = f[sys.argv[1]]; d[int(sys.argv[2])] = d[int(sys.argv[2])] + 1' "$1" "$2"
        status 1 tra verify s.h5
        [[ $output == *"$3"* ]] || { echo "$output"; return 1; }
    }
    damage data/values 5 'block <0,0> of s.h5:data is damaged: values'
    damage data/indices_3 3 'block <0,0> of s.h5:data is damaged: indices_3'
    damage data/pointers_to_3 150 'block <0,1> of s.h5:data is damaged: pointers_to_3'
    damage data/indices_1 2 'indices_1 is damaged: element 2'
    damage data/pointers_to_3 0 'pointers_to_3 does not begin with 0'
    damage .tra/data/columns 9 'counts of columns (.tra/data/columns) are damaged'
}
