# More than 2^31 entries: a file whose datasets say so, of which only the last rows are really there.
load helper

@test "3e9 entries: counted, and the last of them read, computed with and stored, on 1 and 3 sites" {
    py '
rows, per, cols, last = 1000000, 3000, 5000, 200
n = rows * per
f = h5py.File("big.h5", "w"); g = f.create_group("data")
g.attrs["binsparse"] = json.dumps({"binsparse": {"version": "0.1.0", "format": "CSR", "shape": [rows, cols],
    "number_of_stored_values": n, "data_types": {"pointers_to_1": "int64", "indices_1": "uint32", "values": "float64"}}})
g["pointers_to_1"] = np.arange(rows + 1, dtype="i8") * per
ix = g.create_dataset("indices_1", (n,), "u4", chunks=(1 << 20,))
v = g.create_dataset("values", (n,), "f8", chunks=(1 << 20,)) # only these chunks are there:
ix[-last * per:] = np.tile(np.arange(per) + 1000, last).astype("u4")
v[-last * per:] = np.repeat(np.arange(last) + 1.0, per)'
    status 0 tra info --format json big.h5
    is 3000000000 json relations.0.entries
    block=$(json relations.0.chunk.0)
    status 0 tra info big.h5
    has "density 0.6"
    # products of all of it are counted beyond 2^32, and nothing of a plan is negative
    printf 'input A from "big.h5"\ninput X : f64 [5000, 8] by [5000, 8]\nY[i,k] = sum A[i,j] * X[j,k]\noutput Y\n' >count.tra
    status 0 tra explain --format json count.tra --memory 1G
    is 48000000000 py 'print(int(json.loads(sys.argv[1])["plans"][0]["flops"]))' "$output"
    [[ $output != *": -"[0-9]* ]]
    # the last blocks, whose entries begin beyond 2^31
    printf 'input A from "big.h5"\nL0 = filter(A, (i, j) -> i >= %s)\nL = store(L0, csr)\nR = agg(transform(L0, rowsum), [0], matadd)\noutput L\noutput R\n' \
        $((1000000 / block)) >p.tra
    for sites in 1 3; do
        rm -f L.h5 R.h5
        tra run -q p.tra --sites $sites --memory 256M
        tra verify -q L.h5
        py 'g = h5py.File("L.h5")["data"]; rows = 1000000 % int(sys.argv[1]); w = np.arange(200 - rows, 200) + 1.0
assert (g["values"][()] == np.repeat(w, 3000)).all() and (g["indices_3"][()].reshape(rows, 3000) == np.arange(3000) + 1000).all()
r = h5py.File("R.h5")["data"][()].ravel(); assert (r[-rows:] == 3000 * w).all()' "$block"
    done
}

@test "matrices are appended to one another and put side by side on disk, beyond what their blocks are, as scipy does" {
    tra gen -q --shape 300x200 --density 0.05 --seed 1 --storage csr --block 64x200 -o a.h5
    tra gen -q --shape 170x200 --density 0.02 --seed 2 --storage coo --block 50x70 -o b.h5
    tra gen -q --shape 300x90 --density 0.1 --seed 3 --storage dcsc --block 100x90 -o c.h5
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
input C from "c.h5"
V = stack(A, B, 0)
H = stack(A, C, 1)
W = store(stack(A, B, A, 0), dcsr)
output V
output H
output W
END
    for x in a b c; do tra export -q $x.h5 -o $x.npz; done
    for sites in 1 3; do
        tra run -q p.tra --sites $sites --memory 64M
        for x in V H W; do tra verify -q $x.h5; tra export -q $x.h5 -o $x.npz; done
        py 'import scipy.sparse as sp
l = lambda n: sp.load_npz(n + ".npz").tocsr()
for got, want in ("V", sp.vstack([l("a"), l("b")])), ("H", sp.hstack([l("a"), l("c")])), ("W", sp.vstack([l("a"), l("b"), l("a")])):
    want = want.tocsr(); assert l(got).shape == want.shape and l(got).nnz == want.nnz and abs(l(got) - want).nnz == 0, got'
        status 0 tra info V.h5
        has "storage     csr"
    done
    # once more to what is there: the file grows by what is appended
    printf 'input V from "V.h5"\ninput B from "b.h5"\nV2 = stack(V, B, 0)\noutput V2 to "V.h5"\n' >more.tra
    tra run -q more.tra
    tra export -q V.h5 -o V.npz
    py 'import scipy.sparse as sp
l = lambda n: sp.load_npz(n + ".npz").tocsr()
want = sp.vstack([l("a"), l("b"), l("b")]).tocsr(); assert l("V").shape == want.shape and abs(l("V") - want).nnz == 0'
}
