# tra run: products of a relation with itself, of which one triangle is computed.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    tra gen -q --shape 431x310 --block 80x64 --dist normal --seed 1 -o A.h5
    tra gen -q --shape 431x310 --block 80x64 --dist normal --seed 1 --dtype f32 -o F.h5
    "$PYTHON" -c '
import h5py, numpy as np
rng = np.random.default_rng(3)
with h5py.File("I.h5", "w") as f: f.create_dataset("data", data=rng.integers(-9, 9, (150, 90)), chunks=(40, 32))
with h5py.File("W.h5", "w") as f: f.create_dataset("data", data=rng.integers(-2**28, 2**27, (150, 90)), chunks=(40, 32))
with h5py.File("B.h5", "w") as f: f.create_dataset("data", data=rng.normal(size=(5, 70, 90)), chunks=(2, 30, 32))'
    cat >all.tra <<'EOP'
input A from "A.h5"
input F from "F.h5"
input I from "I.h5"
input W from "W.h5"
input B from "B.h5"
columns[i,j] = sum A[k,i] * A[k,j]
rows[i,j]    = sum A[i,k] * A[j,k]
turned[j,i]  = sum A[k,i] * A[k,j]
scaled[i,j]  = exp(sum[k](A[k,i] * A[k,j]) / 431)
single[i,j]  = sum F[k,i] * F[k,j]
ints[i,j]    = sum I[k,i] * I[k,j]
wide[i,j]    = sum W[k,i] * W[k,j]
batch[b,i,j] = sum B[b,k,i] * B[b,k,j]
cube[i,j]    = sum B[b,i,k] * B[b,j,k]
parts        = agg(filter(join(A, A, [0], [0], "ki,kj->ij"), (k, i, j) -> k != 2), [1, 2], matadd)
output columns
output rows
output turned
output scaled
output single
output ints
output wide
output batch
output cube
output parts
EOP
    tra run -q --reproducible all.tra
    mkdir one && mv columns.h5 rows.h5 turned.h5 scaled.h5 single.h5 ints.h5 wide.h5 batch.h5 cube.h5 parts.h5 one
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

@test "the values are those of the whole product, and symmetric to the bit" {
    py '
a, f, i, w, b = (h5py.File(n + ".h5")["data"][:] for n in "AFIWB")
g = {n: h5py.File("one/" + n + ".h5")["data"][:] for n in
     "columns rows turned scaled single ints wide batch cube parts".split()}
part = np.delete(a, np.s_[160:240], 0)
want = {"columns": a.T @ a, "rows": a @ a.T, "turned": a.T @ a, "scaled": np.exp(a.T @ a / 431),
        "single": f.T @ f, "batch": np.einsum("bki,bkj->bij", b, b), "cube": np.einsum("bik,bjk->ij", b, b),
        "parts": part.T @ part}
for n, x in want.items():
    assert np.allclose(g[n], x, rtol=1e-4 if n == "single" else 1e-11, atol=1e-3 if n == "single" else 1e-11), n
assert (g["ints"] == i.T @ i).all() and g["ints"].dtype == np.int64
assert (g["wide"] == w.T @ w).all()
for n, x in g.items():
    assert (x == np.swapaxes(x, -1, -2)).all(), n'
}

@test "the same bits on one site and several, by either transport, and under a ceiling" {
    for n in 1 2 3 4; do
        for transport in mpi files; do
            tra run -q --reproducible --sites $n --threads 1 --transport $transport all.tra
            for r in one/*.h5; do same_digest "$r" "${r#one/}"; done
        done
    done
    least=$(tra explain --format json --reproducible --threads 1 all.tra |
        py 'print(json.load(sys.stdin)["plans"][0]["least_memory_bytes"])')
    tra run -q --reproducible --threads 1 --memory "$least" all.tra
    for r in one/*.h5; do same_digest "$r" "${r#one/}"; done
}

@test "flops are those of one triangle and its diagonal, on every site what it computes" {
    printf 'input A from "A.h5"\nG[i,j] = sum A[k,i] * A[k,j]\noutput G\n' >g.tra
    tra explain --format json g.tra >e.json
    [ "$(py 'print(int(json.load(open("e.json"))["plans"][0]["flops"]))')" -eq $((431 * 310 * 311)) ]
    tra explain --operators g.tra >text
    grep -q 'join-agg G triangle ' text
    # by whole rows of the result: each site copies what mirrors within its own columns, and computes the rest
    tra explain --alternatives=9 --format json g.tra --sites 2 >e.json
    py '
plans = {p["strategy"]: sum(o["flops"] for o in p["operators"] if o["op"] == "join-agg")
         for p in json.load(open("e.json"))["plans"]}
half = [192, 310 - 192]                                     # blocks 0 to 2 (of 64), and the others
pairs = sum(310 * h - h * (h - 1) // 2 for h in half)
assert plans["cmm"] == 431 * 310 * 311, plans["cmm"]
assert plans["bmm-right"] == 2 * 431 * pairs, (plans["bmm-right"], 2 * 431 * pairs)'
}

@test "a product of two relations, of a relation that is sparse, and of another form, are computed whole" {
    printf 'input A from "A.h5"\ninput B from "one/columns.h5"\nP[i,j] = sum A[k,i] * B[i,j]\nQ[k,j] = sum A[k,i] * B[i,j]\noutput P\noutput Q\n' >p.tra
    tra explain --operators p.tra >text
    [ "$(grep -c triangle text)" -eq 0 ]
    printf 'input A from "A.h5"\nT[i,j] = A[j,i]\nS[i,j] = sum A[k,i] * A[k,j] * A[k,j]\noutput S\n' >s.tra
    tra explain --operators s.tra >text
    [ "$(grep -c triangle text)" -eq 0 ]
}
