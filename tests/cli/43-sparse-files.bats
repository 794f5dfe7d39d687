#!/usr/bin/env bats
# import and export of stored (sparse) relations; judged by scipy.
load helper

# judge FILE NPZ: the file that was exported is the matrix of the archive.
judge() { py '
import scipy.sparse as sp, scipy.io as io
f, a = sys.argv[1], sp.load_npz(sys.argv[2]).toarray()
if f.endswith(".npz"): m = sp.load_npz(f); assert m.has_canonical_format; b = m.toarray()
elif f.endswith(".mtx"): b = io.mmread(f); b = b.toarray() if sp.issparse(b) else b
elif f.endswith(".npy"): b = np.load(f)
elif f.endswith(".csv"): b = np.loadtxt(f, delimiter=",", ndmin=2)
elif f.endswith(".raw"): b = np.fromfile(f, a.dtype).reshape(a.shape)
else:
    b = np.zeros(a.shape); t = [l.split() for l in open(f) if l[0] != "#"]; one = f.endswith(".tns")
    for i, j, v in t[2 * one:]: b[int(i) - one, int(j) - one] += float(v)
assert a.shape == b.shape and np.array_equal(a, b, equal_nan=True), (f, a.shape, b.shape)' "$1" "$2"; }

@test "what scipy saves comes back, whatever the format, the blocks and the storage" {
    py '
import scipy.sparse as sp
r = np.random.default_rng(1); a = sp.random(120, 90, .05, random_state=2).tolil(); a[3, 3] = np.nan; a[119, 89] = -np.inf
for f in ["csr", "csc", "coo", "bsr", "dia"]:
    m = (a if f != "dia" else sp.diags([r.normal(size=120), r.normal(size=90)], [-3, 5], (120, 90))).asformat(f)
    sp.save_npz(f + ".npz", m); sp.save_npz(f + "-raw.npz", m, compressed=False)
m = sp.coo_matrix(a); m.row = m.row.astype("i8"); m.col = m.col.astype("i8"); sp.save_npz("wide.npz", m)
m = sp.csr_matrix(a); m.indices = m.indices.astype("i8"); m.indptr = m.indptr.astype("i8"); sp.save_npz("wider.npz", m)
sp.save_npz("ints.npz", sp.csr_matrix(np.array([[0, 7, 0], [0, 0, -1]], "i4")))
sp.save_npz("f4.npz", sp.csr_matrix(np.array([[0, 7.5, 0, 0, 0, 0, 0, 0, 0], [0] * 9], "f4")))
sp.save_npz("unsorted.npz", sp.csr_matrix((np.array([1., 2, 3, 4]), np.array([5, 2, 2, 0]), np.array([0, 3, 4])), (2, 40)))'
    ways=("--storage csc --block 50x90" "--storage coo --block 31x17" "--storage dcsr --block 120x20" "--storage dense --block 40x40")
    n=0
    for f in {csr,csc,coo,bsr,dia}{,-raw} wide wider ints f4; do
        for how in "--storage auto" "${ways[n++ % 4]}"; do
            # shellcheck disable=SC2086
            status 0 tra import $f.npz $how -q -o x.h5
            status 0 tra verify x.h5
            for to in npz mtx; do tra export -q x.h5 -o y.$to; judge y.$to $f.npz; done
        done
    done
    status 0 tra import unsorted.npz -o x.h5; has "1 added to others"; tra export -q x.h5 -o y.npz; judge y.npz unsorted.npz
    tra import -q csr.npz --block 50x40 -o x.h5
    for to in npz mtx tns edges npy csv raw; do tra export -q x.h5 -o y.$to; judge y.$to csr.npz; done
}

@test "the default storage follows from the density, and is said" {
    py '
import scipy.sparse as sp
for n in [7, 8, 9]: sp.save_npz(f"{n}.npz", sp.csr_matrix(([1.] * n, ([0] * n, list(range(n)))), (1, 64)))'
    status 0 tra import 7.npz -o x.h5; has "7.npz: 0.109 of the elements are entries: stored as csr"; has "storage  csr, 7 entries"
    status 0 tra import 8.npz -o x.h5; lacks "storage"
    status 0 tra import 8.npz --storage csc -o x.h5; has "storage  csc"
    status 0 tra import --format json -q 7.npz -o x.h5
    printf '1 1 1 1\n9 9 9 1\n' > a.tns; status 0 tra import a.tns -o x.h5; has "storage  csf, 2 entries (density 0.00274)"
    told 2 tra import 7.npz --storage scr -o x.h5
    told 2 tra import 7.npz --storage dok -o x.h5
    printf 'storage mine[m, n] = levels(sparse, sparse) order [1, 0]\n' > my.tra
    status 0 tra import 7.npz --storage my.tra:mine -o x.h5; has "storage  dcsc"
    told 2 tra import 7.npz --storage my.tra:yours -o x.h5
}

@test "one digest, whatever storage, blocks and memory; the same bytes whatever memory and threads" {
    py '
r = np.random.default_rng(3); n = 60000
with open("a.mtx", "w") as f:
    f.write(f"%%MatrixMarket matrix coordinate real general\n3000 2000 {n}\n")
    f.writelines(f"{i} {j} {v!r}\n" for i, j, v in zip(r.integers(1, 3001, n).tolist(), r.integers(1, 2001, n).tolist(), r.normal(size=n).tolist()))'
    for how in "" "--block 100x2000" "--block 333x77" "--storage csc" "--storage dense --block 500x500" "--storage coo --memory $(room 4M)"; do
        # shellcheck disable=SC2086
        tra import -q a.mtx $how -o x.h5 2> /dev/null; digest_of x.h5 >> digests
    done
    is 1 eval "sort -u digests | wc -l"
    for how in "--memory 256M" "--memory $(room 4M)"; do
        for n in 1 2; do
            # shellcheck disable=SC2086
            TRA_THREADS=$n tra import -q a.mtx --block 333x77 $how -o "x$n.h5" 2> /dev/null
            cmp "x$n.h5" "${first:=$(cp "x$n.h5" first.h5; echo first.h5)}"
        done
    done
    status 0 tra import --format json a.mtx --block 333x77 --memory "$(room 4M)" -o x.h5
    status 4 tra import a.mtx --block 3000x2000 --memory "$(room 2M)" -o x.h5; has "entries: --block"
    # export sorts bands of blocks that lie side by side
    for m in 256M "$(room 8M)"; do for to in mtx npz; do
        tra export -q first.h5 --memory "$m" -o "$m.$to"; tra import -q "$m.$to" -o y.h5 2> /dev/null
        is "$(head -n 1 digests)" digest_of y.h5
    done; done
    cmp 256M.mtx "$(room 8M).mtx"
}

@test "symmetric triangles become whole; explicit zeros stay entries, NaN too" {
    py '
import scipy.io as io, scipy.sparse as sp
a = sp.random(50, 50, .02, random_state=1); a = a + a.T; io.mmwrite("s.mtx", a, symmetry="symmetric", precision=17); sp.save_npz("s.npz", a.tocsr())
open("z.mtx", "w").write("%%MatrixMarket matrix coordinate real general\n9 9 3\n1 1 0\n2 2 nan\n3 3 1\n")'
    tra import -q s.mtx -o x.h5 2> /dev/null; tra export -q x.h5 -o y.npz; judge y.npz s.npz
    status 0 tra import z.mtx -o x.h5; has "csr, 3 entries"; has "nan      1"
    tra export -q x.h5 -o y.npz; py 'import scipy.sparse as sp; m = sp.load_npz("y.npz"); assert m.nnz == 3 and m.data[0] == 0 and np.isnan(m.data[1]), m.data'
    status 0 tra import z.mtx --drop-zeros -o x.h5; has "csr, 2 entries"
}

@test "shapes beyond 2^32 elements, and beyond what can be counted" {
    printf '%%%%MatrixMarket matrix coordinate real general\n3000000000 4000000000 2\n3000000000 4000000000 5\n1 1 2\n' > a.mtx
    told 3 tra import a.mtx -o x.h5
    sed -i 's/4000000000/100000000/g' a.mtx
    status 0 tra import a.mtx --storage coo -o x.h5; has "2 entries"
    tra export -q x.h5 --to mtx -o - > y.mtx; is "3000000000 100000000 5" tail -n 1 y.mtx
    tra export -q x.h5 -o y.npz; py 'import scipy.sparse as sp; m = sp.load_npz("y.npz"); assert m.format == "coo" and list(m.row) == [0, 2999999999] and list(m.data) == [2, 5]'
}

@test "damaged archives are refused" {
    py '
import scipy.sparse as sp, zipfile
a = sp.random(40, 30, .1, random_state=2, format="csr"); sp.save_npz("a.npz", a); b = open("a.npz", "rb").read()
open("cut.npz", "wb").write(b[:-30]); c = bytearray(b); c[200] ^= 255; open("bits.npz", "wb").write(c)
def save(n, **k): np.savez(n, **{**dict(format=b"csr", shape=np.array(a.shape), data=a.data, indices=a.indices, indptr=a.indptr), **k})
i = a.indptr.copy(); i[3] = 10**6; save("ptr.npz", indptr=i); i = a.indptr.copy(); i[5] = -1; save("neg.npz", indptr=i)
i = a.indices.copy(); i[3] = 30; save("col.npz", indices=i); save("short.npz", data=a.data[:-1]); save("fmt.npz", format=b"lil")
save("rank.npz", shape=np.array([40])); save("cplx.npz", data=a.data * 1j); np.savez("plain.npz", x=np.ones(3), y=np.ones(2))'
    told 3 tra import cut.npz -o x.h5
    status 3 tra import bits.npz -o x.h5
    told 3 tra import ptr.npz -o x.h5
    told 3 tra import neg.npz -o x.h5
    told 3 tra import col.npz -o x.h5
    told 3 tra import short.npz -o x.h5
    told 3 tra import fmt.npz -o x.h5
    told 3 tra import rank.npz -o x.h5
    told 3 tra import cplx.npz -o x.h5
    told 3 tra import plain.npz -o x.h5
    told 3 tra import --from npz - -o x.h5 < <(cat cut.npz)
}

@test "stored relations and groups of other programs are sources, and targets of h5" {
    py '
import scipy.sparse as sp
a = sp.random(70, 60, .05, random_state=2, format="csr"); sp.save_npz("a.npz", a)
with h5py.File("a.h5ad", "w") as f:
    g = f.create_group("X"); g.attrs["encoding-type"] = "csr_matrix"; g.attrs["encoding-version"] = "0.1.0"; g.attrs["shape"] = np.array(a.shape)
    g["data"] = a.data; g["indices"] = a.indices; g["indptr"] = a.indptr'
    tra import -q a.npz --block 20x30 --storage dcsr -o x.h5
    for how in "x.h5" "x.h5 --block 70x60 --storage csc" "x.h5 --storage dense" "--from h5 a.h5ad:X"; do
        # shellcheck disable=SC2086
        tra import -q $how -o y.h5 2> /dev/null; tra export -q y.h5 -o y.npz; judge y.npz a.npz
    done
    status 0 tra import --from h5 a.h5ad:X --dtype f32 -o y.h5; has "csr"; has "type     f32"
    status 0 tra export x.h5 --to h5 -o z.h5; status 0 tra verify z.h5; status 0 tra info z.h5
    tra export -q z.h5 -o z.npz; judge z.npz a.npz
    told 2 tra export x.h5 --to h5 --gzip -o z.h5
    status 0 tra diff x.h5 y.h5 --rtol 1e-6
}

@test "AnnData and binsparse as other programs have them, forth and back" {
    py 'import scipy.sparse as sp; a = sp.random(70, 60, .05, random_state=2, format="csr"); sp.save_npz("a.npz", a)'
    tra import -q a.npz --block 20x30 -o x.h5 2> /dev/null; tra import -q a.npz --storage dense -o d.h5
    for r in x.h5 d.h5; do
        status 0 tra export $r -o a.h5ad; status 0 tra export $r -o a.bsp.h5
        py '
import scipy.sparse as sp
a = sp.load_npz("a.npz"); f = h5py.File("a.h5ad"); g = f["X"]; t = lambda x: x.decode() if isinstance(x, bytes) else x
assert t(f.attrs["encoding-type"]) == "anndata" and t(g.attrs["encoding-type"]) == "csr_matrix" and list(g.attrs["shape"]) == [70, 60]
assert (sp.csr_matrix((g["data"][...], g["indices"][...], g["indptr"][...]), (70, 60)) != a).nnz == 0 and g["indices"].dtype == "i4"
assert t(f["var"].attrs["_index"]) == "_index" and len(f["obs/_index"]) == 70 and t(f["var/_index"][59]) == "59"
b = h5py.File("a.bsp.h5"); j = json.loads(b.attrs["binsparse"])["binsparse"]
assert j["format"] == "CSR" and j["version"] == "0.1.0" and j["shape"] == [70, 60] and j["number_of_stored_values"] == a.nnz == len(b["values"])
assert (sp.csr_matrix((b["values"][...], b["indices_1"][...], b["pointers_to_1"][...]), (70, 60)) != a).nnz == 0'
        for f in a.h5ad a.h5ad:X a.bsp.h5; do
            status 0 tra import $f -q -o y.h5; tra export -q y.h5 -o y.npz; judge y.npz a.npz
        done
    done
    told 2 tra export x.h5 --to h5ad -o -
    tra gen -q --shape 3x4x5 --density 0.1 -o t.h5; told 3 tra export t.h5 --to binsparse -o t.bsp.h5
}

@test "relations of entries that are no tensor: what diff says of them, and their export to HDF5" {
    py '
import scipy.sparse as sp
a = sp.random(23, 17, .15, random_state=1, format="csr"); a.data[:] = np.arange(1, a.nnz + 1); sp.save_npz("a.npz", a)'
    tra import -q a.npz --storage csr --block 8x5 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'S = rekey(A, (i,j) -> i*4 + j)' 'T = transform(S, scale(2))' \
        'output S as csr' 'output T as csr' 'output S to "d.h5" as dense' >p.tra
    status 0 tra run -q p.tra
    status 0 tra diff S.h5 S.h5
    status 0 tra diff S.h5 d.h5
    status 0 tra diff d.h5 S.h5
    status 1 tra diff S.h5 T.h5
    has "different: 59 of 391 elements; largest difference 59 at "
    status 4 tra diff S.h5 d.h5 --memory 1M
    status 0 tra export -q S.h5 --to h5 -o out.h5
    status 0 tra verify out.h5
    status 0 tra diff out.h5 S.h5
    same_digest out.h5 S.h5
}

# dense_tables: d.npy (400 x 70, few elements are not 0), f.npy the same in Fortran order, d.csv, t.npy of 3 dimensions.
dense_tables() {
    py '
r = np.random.default_rng(8)
d = r.integers(-4, 5, (400, 70)) * (r.random((400, 70)) < .05) * 1.; d[7, 3] = np.nan; d[9, 9] = -0.0
np.save("d.npy", d); np.save("f.npy", np.asfortranarray(d)); np.savetxt("d.csv", d, "%.17g", ",")
h5py.File("chunked.h5", "w").create_dataset("d", data=d, chunks=(33, 11))
t = r.integers(-2, 3, (9, 8, 7)) * (r.random((9, 8, 7)) < .2); np.save("t.npy", t.astype("i4"))'
}

@test "files that have all elements are stored by levels and mappings too: what is not 0 are the entries" {
    dense_tables
    tra import -q d.npy -o dense.h5
    for from in d.npy f.npy d.csv chunked.h5:d; do
        for how in "--storage csr" "--storage coo --block 50x30" "--storage csc --memory 26M" "--storage zorder"; do
            # shellcheck disable=SC2086
            status 0 tra import -q "$from" $([[ $from != *.csv ]] || echo --no-header) $how -o x.h5
            status 0 tra diff dense.h5 x.h5
            status 0 tra verify x.h5
            same_digest dense.h5 x.h5
        done
    done
    status 0 tra import d.npy --storage csr -o x.h5
    has "$(py 'd = np.load("d.npy"); print(np.count_nonzero(d))') entries"
    lacks "added to others"
    tra import -q t.npy -o td.h5; tra import -q t.npy --storage csf -o ts.h5; tra diff td.h5 ts.h5
    tra import -q t.npy --storage csf --dtype f32 -o ts.h5; tra export -q ts.h5 -o ts.npy
    py 'a, b = np.load("t.npy"), np.load("ts.npy"); assert b.dtype == "f4" and (a == b).all()'
    told 3 tra import -q d.npy --storage csr --dtype i64 -o ts.h5
    tra import -q - --from csv --no-header --storage csr -o x.h5 < d.csv; tra diff dense.h5 x.h5
    printf '0,0\n0,0\n' > z.csv; status 0 tra import z.csv --no-header --storage csr -o x.h5; has "0 entries"
}

@test "a file that cannot grow: every way to write entries says so, and nothing appears" {
    tra gen -q --shape 2000x2000 --density 0.05 --seed 1 -o s.h5
    tra export -q s.h5 -o s.mtx
    for to in a.h5ad a.bsp.h5 a.npz a.mtx; do
        status 4 bash -c 'ulimit -f 200; exec "$0" export -q s.h5 -o "$1"' "$TRA" $to
        [ ! -e $to ]
    done
    for codec in none zstd; do
        status 4 bash -c 'ulimit -f 200; exec "$0" import -q s.mtx -o x.h5 --codec "$1"' "$TRA" $codec
        [ ! -e x.h5 ]
        status 4 bash -c 'ulimit -f 200; exec "$0" gen -q --shape 2000x2000 --density 0.05 -o x.h5 --codec "$1"' "$TRA" $codec
        [ ! -e x.h5 ]
    done
    [ -z "$(find . -name '.*.tmp' -o -name 'tra-*')" ]
}
