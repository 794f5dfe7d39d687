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
