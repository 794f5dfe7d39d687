# slice and stack: parts of tensors, and tensors put together.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    tra gen -q --shape 93x70 --block 20x16 --dist normal --seed 1 -o A.h5
    tra gen -q --shape 31x70 --block 7x70 --dist normal --seed 2 -o B.h5
    tra gen -q --shape 93x70 --block 20x16 --density 0.1 --seed 3 -o S.h5
    tra gen -q --shape 5x8x9 --block 2x3x4 --dist normal --seed 4 -o T.h5
    "$PYTHON" -c '
import h5py, numpy as np
rng = np.random.default_rng(5)
with h5py.File("I.h5", "w") as f: f.create_dataset("data", data=rng.integers(-2**62, 2**62, (93, 9)), chunks=(10, 9))'
    cat >parts.tra <<'EOP'
input A from "A.h5"
input B from "B.h5"
input S from "S.h5"
input T from "T.h5"
input I from "I.h5"
param n = 37
mid     = slice(A, [n:n+30, :])
corner  = slice(A, [91:, 64:])
column  = slice(A, [:, 17:18])
none    = slice(A, [5:5, :])
sparse  = slice(S, [3:81, 1:60])
cube    = slice(T, [1:4, :, 2:9])
ints    = slice(I, [1:, :])
tall    = stack(A, B, slice(A, [90:, :]), 0)
wide    = stack(A, slice(A, [:, 3:4]), 1)
sparser = stack(S, S, 0)
whole   = stack(slice(I, [:40, :]), slice(I, [40:, :]), 0)
sum[i]  = sum tall[i,j]
output mid
output corner
output column
output none
output sparse
output cube
output ints
output tall
output wide
output sparser
output whole
output sum
EOP
    tra run -q parts.tra
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

@test "values, against numpy, and the blocks of the operand from the origin of the result" {
    for r in sparse sparser S; do tra export -q $r.h5 -o $r.npy; done
    py '
a, b, t, i = (h5py.File(n + ".h5")["data"][:] for n in "ABTI")
s = np.load("S.npy")
want = {"mid": a[37:67], "corner": a[91:, 64:], "column": a[:, 17:18], "none": a[5:5], "cube": t[1:4, :, 2:9],
        "ints": i[1:], "tall": np.vstack([a, b, a[90:]]), "wide": np.hstack([a, a[:, 3:4]]), "whole": i}
for n, x in want.items():
    y = h5py.File(n + ".h5")["data"][()] if n != "none" else np.zeros((0, 70))
    assert y.dtype == x.dtype and (y == x).all() and y.shape == x.shape, n
assert (np.load("sparse.npy") == s[3:81, 1:60]).all()
assert (np.load("sparser.npy") == np.vstack([s, s])).all()
assert h5py.File("mid.h5")["data"].chunks == (20, 16)'
    tra check parts.tra >types
    grep -q 'none: keys 2 <0,5>' types
}

@test "the same on several sites by either transport, under a ceiling, and by the reference evaluator" {
    mkdir -p one
    for r in mid corner column sparse cube ints tall wide sparser whole; do cp $r.h5 one/; done
    for args in '--sites 2' '--sites 3 --transport files' '--sites 2 --transport files' '--memory 40M' '--engine reference'; do
        # shellcheck disable=SC2086
        tra run -q --threads 1 $args parts.tra
        for r in one/*.h5; do
            same_digest "$r" "${r#one/}"
        done
    done
}

@test "network bytes of a slice are those of what it keeps, as predicted" {
    printf 'input A from "A.h5"\nM = slice(A, [40:60, :])\nG[i,j] = sum M[i,k] * A[j,k]\noutput G\n' >g.tra
    tra run -q --sites 3 --threads 1 g.tra --profile p.json
    py '
p = json.load(open("p.json"))["plans"][0]
assert p["network_bytes"] == p["measured"]["network_bytes"], (p["network_bytes"], p["measured"])
a = h5py.File("A.h5")["data"][:]
assert np.allclose(h5py.File("G.h5")["data"][:], a[40:60] @ a.T)'
}

@test "ranges and operands that do not fit are told at their place" {
    bad() { printf 'input A from "A.h5"\ninput B from "B.h5"\n%s\noutput C\n' "$1" >bad.tra; status 2 tra check bad.tra; has "$2"; }
    bad 'C = slice(A, [0:94, :])' '93 positions, of which 0:94 is no range'
    bad 'C = slice(A, [9:3, :])' 'is no range'
    bad 'C = slice(A, [3, :])' 'bad.tra:3:15: error: slice takes a range of each dimension'
    bad 'C = slice(A, [:])' '1 ranges for a tensor of 2 dimensions'
    bad 'C = slice(A)' 'slice has a relation and a list of ranges'
    bad 'C = stack(A, B, 1)' 'stack takes tensors that differ along dimension 1 alone, not 31 x 70 beside 93 x 70'
    bad 'C = stack(A, B, 2)' 'dimension 2 of a tensor of 2'
    bad 'C = stack(A)' 'stack has 1 to 64 relations'
    bad 'C = rekey(A, (i,j) -> (i:2, j))' 'error'
    bad 'C = agg(A, [0:1], matadd)' 'error'
}

@test "topk: values and positions, ties by position, NaN first, whole integers, against numpy and over blocks" {
    "$PYTHON" -c '
import h5py, numpy as np
rng = np.random.default_rng(7)
x = rng.integers(0, 9, (23, 50)).astype(float); x[3, [7, 30]] = np.nan; x[4, :] = -0.0
with h5py.File("X.h5", "w") as f: f.create_dataset("data", data=x, chunks=(6, 11))
with h5py.File("F.h5", "w") as f: f.create_dataset("data", data=x.astype(np.float32), chunks=(6, 50))
with h5py.File("V.h5", "w") as f: f.create_dataset("data", data=2**62 + rng.integers(0, 5, 40), chunks=(9,))
with h5py.File("C.h5", "w") as f: f.create_dataset("data", data=rng.normal(size=(3, 4, 17)), chunks=(2, 3, 5))'
    cat >top.tra <<'EOP'
input X from "X.h5"
input F from "F.h5"
input V from "V.h5"
input C from "C.h5"
input S from "S.h5"
xv, xp = topk(X, 4)
lv, lp = topk(X, 14, least)
fv, fp = topk(F, 50)
vv, vp = topk(V, 3, least)
cv, cp = topk(C, 5)
sv, sp = topk(S, 2)
H = filter(X, (i,j) -> i != 1 && j != 2)
hv, hp = topk(H, 2)
D[m,n] = sum (X[m,d] - X[n,d])^2
nv, np = topk(D, 2, least)
EOP
    for r in xv xp lv lp fv fp vv vp cv cp sv sp hv hp nv np; do echo "output $r" >>top.tra; done
    tra run -q top.tra
    tra export -q S.h5 -o S.npy
    py '
def top(x, k, least):
    rows = x.reshape(-1, x.shape[-1])
    order = []
    for r in rows.tolist():
        key = lambda i: (0 if r[i] != r[i] else 1, (r[i] if least else -r[i]) if r[i] == r[i] else 0, i)
        order.append(sorted(range(len(r)), key=key)[:k])
    p = np.array(order)
    v = np.take_along_axis(rows, p, 1)
    return v.reshape(*x.shape[:-1], k), p.reshape(*x.shape[:-1], k)
f = lambda n: h5py.File(n + ".h5")["data"][:]
x = f("X")
h = x.copy(); h[6:12] = 0; h[:, 22:33] = 0
d = ((x[:, None, :] - x[None, :, :]) ** 2).sum(2)
cases = {"x": (x, 4, False), "l": (x, 14, True), "f": (f("F"), 50, False), "v": (f("V"), 3, True),
         "c": (f("C"), 5, False), "s": (np.load("S.npy"), 2, False), "h": (h, 2, False), "n": (d, 2, True)}
for n, (a, k, least) in cases.items():
    v, p = top(a, k, least)
    assert np.array_equal(f(n + "v"), v, equal_nan=a.dtype.kind == "f"), n
    assert f(n + "p").dtype == np.int64 and (f(n + "p") == p).all(), (n, f(n + "p"), p)
    assert f(n + "v").dtype == a.dtype, n'
    mkdir -p top && cp xv.h5 xp.h5 lv.h5 lp.h5 fv.h5 fp.h5 vv.h5 vp.h5 cv.h5 cp.h5 sv.h5 sp.h5 top/
    for args in '--sites 2' '--sites 3 --transport files' '--engine reference'; do
        # shellcheck disable=SC2086
        tra run -q --threads 1 $args top.tra
        for r in top/*.h5; do
            same_digest "$r" "${r#top/}"
        done
    done
    bad() { printf 'input X from "X.h5"\n%s\noutput v\n' "$1" >bad.tra; status 2 tra check bad.tra; has "$2"; }
    bad 'v, p = topk(X, 51)' 'topk of 51 places of a last dimension of 50'
    bad 'v, p = topk(X, 0)' 'at least 1'
    bad 'v = topk(X, 3)' 'topk has 2 results'
    bad 'v = transform(X, topk(1.5))' 'takes a number of places'
}

@test "topk of no rows has as many places as it is asked for, however it is cut" {
    py 'np.save("z.npy", np.zeros((0, 4)))'
    printf 'input Z from "z.h5"\nv, p = topk(Z, 3)\noutput v; output p\n' >p.tra
    for block in 2x2 2x4; do
        tra import -q z.npy --block $block -o z.h5
        for sites in 1 2; do
            status 0 tra run -q --sites $sites p.tra
            py 'assert [h5py.File(n)["data"].shape for n in ("v.h5", "p.h5")] == [(0, 3)] * 2'
        done
    done
}

@test "topk and median of long rows, also in order already, equal, or made to split badly: numpy's" {
    py '
rng = np.random.default_rng(8)
m = 3000
x = rng.normal(size=(7, m)); x[0] = np.arange(m); x[1] = -np.arange(m); x[2] = 1; x[3] = np.arange(m) % 2
x[4, ::2], x[4, 1::2] = np.arange(m // 2), np.arange(m // 2)[::-1]; x[5, ::7] = np.nan; x[5, 1::7] = -0.0; x[5, 2::7] = 0
x[6, :5] = np.inf, -np.inf, np.nan, 5e-324, -5e-324
np.save("X.npy", x); np.save("I.npy", rng.integers(-9, 9, (4, m)) * 2**58); np.save("F.npy", x.astype("f4"))
'
    { printf 'input X from "X.npy"\ninput I from "I.npy"\ninput F from "F.npy"\nm[i] = median X[i,j]\noutput m to "o.h5:m"\n'
      for n in X I F; do
          for k in 1 40 187 188 1501 2999 3000; do
              printf 'v%s%d, p%s%d = topk(%s, %d)\nl%s%d, q%s%d = topk(%s, %d, least)\n' $n $k $n $k $n $k $n $k $n $k $n $k
              for o in v p l q; do printf 'output %s%s%d to "o.h5:%s%s%d"\n' $o $n $k $o $n $k; done
          done
      done; } >p.tra
    tra run -q p.tra
    py '
import h5py
o = h5py.File("o.h5")
for n in "XIF":
    x = np.load(n + ".npy")
    for least in (False, True):
        key = x.astype(float) if n != "I" else x
        nan = np.isnan(key) if n != "I" else np.zeros(x.shape, bool)
        order = np.stack([np.lexsort((np.arange(x.shape[1]), r if least else -r, ~b)) for r, b in zip(np.where(nan, 0, key), nan)])
        for k in (1, 40, 187, 188, 1501, 2999, 3000):
            v, p = ("l", "q") if least else ("v", "p")
            got = o[f"{p}{n}{k}/data"][...].reshape(len(x), k) if f"{p}{n}{k}/data" in o else o[f"{p}{n}{k}"][...]
            assert np.array_equal(got, order[:, :k]), (n, least, k)
            val = o[f"{v}{n}{k}/data"][...].reshape(len(x), k) if f"{v}{n}{k}/data" in o else o[f"{v}{n}{k}"][...]
            assert np.array_equal(val, np.take_along_axis(x, order[:, :k], 1), equal_nan=True), (n, least, k)
m = o["m/data"][...] if "m/data" in o else o["m"][...]
w = np.median(np.load("X.npy"), axis=1)
assert np.allclose(m.ravel(), w, equal_nan=True), (m, w)
'
}
