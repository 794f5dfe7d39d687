# Matrices that stand in many blocks, of every storage, compared with numpy.

load helper

@test "functions, slices and stacks of matrices in many blocks, of every storage, are what numpy makes" {
    status 0 "$PYTHON" - "$TRA" <<'EOF'
import itertools, numpy as np, scipy.sparse as sp, subprocess, sys
tra = lambda *words: subprocess.run((sys.argv[1],) + words, check=True)
r = np.random.default_rng(5)
N, M = 97, 61
operations = {
    "compare": ("if(A[i,j] > 2, A[i,j], 0)", lambda a, b, x, y: np.where(a > 2, a, 0)),
    "less": ("if(A[i,j] < B[i,j], A[i,j], 0)", lambda a, b, x, y: np.where(a < b, a, 0)),
    "rows": ("A[i,j] * (X[i] + 1)", lambda a, b, x, y: a * (x[:, None] + 1)),
    "columns": ("A[i,j] / (Y[j] + 1)", lambda a, b, x, y: a / (y[None, :] + 1)),
    "some": ("if(A[i,j] > Y[j], A[i,j], 0)", lambda a, b, x, y: np.where((a != 0) & (a > y[None, :]), a, 0)),
    "both": ("A[i,j] + B[i,j]", lambda a, b, x, y: a + b),
    "least": ("max(A[i,j], 0) - max(B[i,j], 0)", lambda a, b, x, y: np.maximum(a, 0) - np.maximum(b, 0)),
    "product": ("A[i,j] * B[i,j]", lambda a, b, x, y: a * b),
}
calls = {
    "left": ("slice(A, [:, 7:44])", lambda a, b, x, y: a[:, 7:44]), "top": ("slice(A, [5:71, :])", lambda a, b, x, y: a[5:71]),
    "inner": ("slice(A, [20:21, 30:])", lambda a, b, x, y: a[20:21, 30:]), "on": ("stack(A, B, 0)", lambda a, b, x, y: np.vstack([a, b])),
    "beside": ("stack(A, B, 1)", lambda a, b, x, y: np.hstack([a, b])), "cut": ("repart(A, [17, 23])", lambda a, b, x, y: a),
}
x, y = r.integers(0, 5, N).astype("f8"), r.integers(0, 5, M).astype("f8")
np.save("x.npy", x), np.save("y.npy", y)
for number, (storage, block, dtype, sites, threads) in enumerate((
        ("csr", "20x13", "f64", 1, 4), ("csc", "20x13", "f64", 1, 4), ("csc", "97x61", "f32", 1, 1), ("csc", "13x50", "i64", 3, 1),
        ("coo", "40x9", "f32", 1, 4), ("dcsr", "30x30", "f64", 3, 1), ("csf", "25x25", "i64", 1, 1), ("dcsc", "9x40", "f64", 3, 1))):
    a, b = (sp.random(N, M, .1, "csr", random_state=3 * number + i, data_rvs=lambda n: r.integers(-4, 6, n).astype("f8")).toarray() for i in (0, 1))
    a[20:40] = 0       # blocks without entries, and rows
    b[:, 13:26] = 0
    for n, v in ("a", a), ("b", b):
        m = sp.csr_matrix(v)
        sp.save_npz(n + ".npz", m)
        tra("import", "-q", n + ".npz", "--storage", storage, "--block", block, "--dtype", dtype, "-o", n + ".h5")
    whole = dtype == "i64"
    with open("p.tra", "w") as f:
        f.write('input A from "a.h5"\ninput B from "b.h5"\ninput X from "x.npy"\ninput Y from "y.npy"\n')
        for k, (text, _) in operations.items():
            for s in ("csr", "csc"):
                f.write(f'{k}_{s}[i,j] as {s} = {text}\noutput {k}_{s} to "{k}_{s}.h5"\n')
        for k, (text, _) in calls.items():
            for s in ("csr", "csc"): f.write(f'{k}_{s} = store({text}, {s})\noutput {k}_{s} to "{k}_{s}.h5"\n')
    tra("run", "-q", *(("--sites", str(sites)) if sites > 1 else ()), "--threads", str(threads), "p.tra")
    for k, (_, f) in {**operations, **calls}.items():
        want = f(a, b, x, y)
        for s in ("csr", "csc"):
            tra("verify", "-q", f"{k}_{s}.h5")
            tra("export", "-q", f"{k}_{s}.h5", "-o", "got.npz")
            got = sp.load_npz("got.npz")
            assert got.shape == want.shape and (got.data != 0).all(), (k, s, storage, block, dtype)
            np.testing.assert_allclose(got.toarray(), want, rtol=1e-6 if dtype == "f32" else 1e-12, err_msg=f"{k} {s} {storage} {block} {dtype}")
EOF
}

@test "what is cut, scaled or stacked by columns of files by columns is not put in order by rows" {
    py '
import scipy.sparse as sp
sp.save_npz("a.npz", sp.random(70, 50, .1, "csc", random_state=3)), np.save("x.npy", np.arange(50.))'
    tra import -q a.npz -o a.h5 --storage csc --block 20x30
    for what in "A[i,j] / (X[j] + 1)" "if(A[i,j] > X[j], A[i,j], 0)"; do
        run tra explain --operators - <<<$'input A from "a.h5"\ninput X from "x.npy"\nC[i,j] as csc = '"$what"$'\noutput C'
        has "output C by columns as csc"
        lacks '"ij->ji"'
    done
    for what in "slice(A, [:, 7:44])" "slice(A, [5:, :])" "stack(A, A, 0)" "repart(A, [7, 7])"; do
        run tra explain --operators - <<<$'input A from "a.h5"\nC = store('"$what"$', csc)\noutput C'
        has "output C by columns as csc"
        lacks '"ij->ji"'
    done
}

@test "products of matrices in many blocks are made in wider ones, and are what scipy makes" {
    status 0 "$PYTHON" - "$TRA" <<'EOF'
import numpy as np, scipy.sparse as sp, subprocess, sys
tra = lambda *words: subprocess.run((sys.argv[1],) + words, check=True, stdout=subprocess.PIPE, text=True).stdout
r = np.random.default_rng(7)
N = 900
a = sp.random(N, N, 6 / N, "csr", random_state=1, data_rvs=lambda n: r.integers(-4, 6, n).astype("f8"))
a = sp.csr_matrix(sp.diags((np.arange(N) % 600 < 400).astype("f8")) @ a)  # blocks and rows without entries
a.eliminate_zeros()
products = {"aa": ("sum A[i,j] * A[j,k]", "any (A[i,j] && A[j,k])", lambda a: a @ a),
            "aat": ("sum A[i,j] * A[k,j]", "any (A[i,j] && A[k,j])", lambda a: a @ a.T),
            "ata": ("sum A[j,i] * A[j,k]", "any (A[j,i] && A[j,k])", lambda a: a.T @ a)}
made = 0
for dtype, storage, block, sites, threads in (
        ("f64", "csr", "100x100", 1, 4), ("f32", "csc", "100x130", 1, 1), ("i64", "coo", "170x170", 1, 4),
        ("f64", "dcsr", "100x100", 3, 1), ("bool", "csf", "100x100", 1, 1), ("bool", "csc", "300x100", 3, 1)):
    m = a if dtype != "bool" else sp.csr_matrix((a != 0).astype("f8"))
    sp.save_npz("a.npz", m)
    tra("import", "-q", "a.npz", "--storage", storage, "--block", block, "--dtype", dtype, "-o", "a.h5")
    with open("p.tra", "w") as f:
        f.write('input A from "a.h5"\n')
        for k, v in products.items():
            for s in {storage, "csr", "dense"}:
                f.write(f'{k}_{s}[i,k] as {s} = {v[dtype == "bool"]}\noutput {k}_{s} to "{k}_{s}.h5"\n')
    how = (*(("--sites", str(sites)) if sites > 1 else ()), "--threads", str(threads), "p.tra")
    made += tra("explain", "--operators", *how).count("repart [")
    tra("run", "-q", *how)
    for k, v in products.items():
        want = v[2](m).toarray()
        if dtype == "bool": want = want != 0
        for s in {storage, "csr", "dense"}:
            tra("verify", "-q", f"{k}_{s}.h5")
            tra("export", "-q", f"{k}_{s}.h5", "-o", "got.npy" if s == "dense" else "got.npz")
            got = np.load("got.npy") if s == "dense" else sp.load_npz("got.npz")
            assert s == "dense" or (got.data != 0).all()
            assert ((got if s == "dense" else got.toarray()) == want).all(), (k, s, dtype, storage, block, sites)
assert made > 6, made
EOF
}

@test "a product in wider blocks is the same as without D-3, and in less memory in less wide ones, or none" {
    tra gen -q --shape 30000x30000 --density 0.0003 --block 3000x3000 -o a.h5
    printf 'input A from "a.h5"\nC[i,k] = sum A[i,j] * A[j,k]\noutput C to "c.h5"\n' >p.tra
    run tra explain --operators --memory 2G p.tra
    has "repart [3000,30000]"
    tra run -q --memory 2G --without D-3 p.tra
    run tra digest c.h5
    want=$output
    for memory in 2G 60M 45M 32M; do
        tra run -q --memory $memory p.tra
        run tra digest c.h5
        [ "$output" = "$want" ]
    done
    run tra explain --operators --memory 45M p.tra
    has "repart [3000,6000]"
    run tra explain --operators --memory 31M p.tra
    lacks "repart ["
}
