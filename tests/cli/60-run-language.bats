# tra run: everything that EinSum statements may have, against numpy, on one site and on three.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$PYTHON" -c '
import numpy as np, h5py
r = np.random.default_rng(1)
X = r.normal(size=(23, 17)); X[3, 4] = np.nan; X[7, 1] = np.inf
Y = r.normal(size=(29, 17)); F = r.random((23, 17)).astype("f4"); I = r.integers(-5, 6, (23, 17))
for n, a in dict(X=X, Y=Y, F=F, I=I).items():
    with h5py.File(n + ".h5", "w") as f: f.create_dataset("data", data=a, chunks=(8, 6))'
    cat >all.tra <<'EOP'
input X from "X.h5"
input Y from "Y.h5"
input F from "F.h5"
input I from "I.h5"
param eta = 0.5
finite[i,j]  = if(isnan(X[i,j]) || isinf(X[i,j]), 0, X[i,j])
rounded[i,j] = sign(finite[i,j]) * floor(finite[i,j]) + ceil(finite[i,j]) - round(2 * finite[i,j]) +
               trunc(3 * finite[i,j]) + mod(finite[i,j], 0.7)
curves[i,j]  = hypot(finite[i,j], 1) + expm1(finite[i,j]) + log1p(abs(finite[i,j])) +
               sin(finite[i,j]) * cos(finite[i,j]) + tan(finite[i,j] / 4) + asin(tanh(finite[i,j])) +
               acos(tanh(finite[i,j])) +
               atan(finite[i,j]) + atan2(finite[i,j], 2) + sinh(finite[i,j]) + cosh(finite[i,j]) + erf(finite[i,j]) +
               relu(finite[i,j]) +
               sigmoid(finite[i,j]) + pow(abs(finite[i,j]), 1.5) + sqrt(abs(finite[i,j])) + min(finite[i,j], 0.1) +
               max(finite[i,j], 0.2) + log(1 + abs(finite[i,j])) + exp(finite[i,j])
causal[i,j]  = if(index(j) <= index(i), eta * finite[i,j], -1e30)
middle[i]    = mean finite[i,j]
largest[i]   = argmax finite[i,j]
least[j]     = argmin I[i,j]
soft[i,j]    = exp(finite[i,j] - max[k](finite[i,k])) / sum[k](exp(finite[i,k] - max[l](finite[i,l])))
whole        = softmax(finite)
unit[i,j]    = finite[i,j] / sqrt(sum[k](finite[i,k]^2))
count[]      = sum F[i,j] > 0.5
total[]      = sum index(i) * I[i,j]
product[i]   = prod I[i,j]
above[i,n]   = sum if(finite[i,k] > Y[n,k], finite[i,k] - Y[n,k], 0)
most[i,n]    = max abs(finite[i,k] * Y[n,k])
nearest[n]   = argmin sum[k]((Y[n,k] - finite[i,k])^2)
logic[i,j]   = !(I[i,j] > 1 && I[i,j] < 4) - -2^2
greatest[i]  = max X[i,j]
first[i]     = argmax X[i,j]
rows         = slice(finite, [2:11, :])
corner       = slice(finite, [:20, 5:])
tall         = stack(rows, finite, Y, 0)
best, where  = topk(finite, 4)
low, at_     = topk(finite, 3, least)
turned       = transpose(finite)
norm[i,j]    = (finite[i,j] - mean[k](finite[i,k])) / sqrt(mean[k]((finite[i,k] - mean[l](finite[i,l]))^2) + 1e-5)
seen[i,j]    = if(index(j) <= index(i), sum[d](finite[i,d] * finite[j,d]) / sqrt(17), -1e30)
attend[i,d]  = sum exp(seen[i,j] - max[k](seen[i,k])) * finite[j,d] / sum[k](exp(seen[i,k] - max[l](seen[i,l])))
gap[i,j]     = if(finite[i,j] > 1, finite[i,j] / 0 * 0, finite[i,j])
known[j]     = sum if(isnan(gap[i,j]), 0, gap[i,j]) / sum[k](!isnan(gap[k,j]))
score[i,j]   = if(isnan(gap[i,j]), 0, gap[i,j] - known[j]) /
               sqrt(mean[k](if(isnan(gap[k,j]), 0, gap[k,j] - known[j])^2) + 1e-12)
away[m,n]    = sum (Y[m,d] - finite[n,d])^2
near, near_at = topk(away, 5, least)
EOP
    sed -n 's/^\([a-z]*\)\(\[[^=]*\]\)\? *=.*/output \1/p
            s/^\([a-z]*\), \([a-z_]*\) *=.*/output \1\noutput \2/p' all.tra >all.tra.out
    cat all.tra.out >>all.tra
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

compare() {
    py '
from math import erf
g = lambda n: h5py.File(n + ".h5")["data"][()]
X, Y, F, I = map(g, "XYFI")
a = np.where(np.isnan(X) | np.isinf(X), 0, X)
def same(n, want):
    got = g(n)
    if np.ndim(want) == 0: got = got.reshape(())
    assert got.shape == np.shape(want) and np.allclose(got, want, rtol=1e-12, atol=1e-12, equal_nan=True), n
t, (i, j) = np.tanh(a), np.indices(a.shape)
same("finite", a)
same("rounded", np.sign(a) * np.floor(a) + np.ceil(a) - np.rint(2 * a) + np.trunc(3 * a) + np.mod(a, .7))
same("curves", np.hypot(a, 1) + np.expm1(a) + np.log1p(abs(a)) + np.sin(a) * np.cos(a) + np.tan(a / 4) + np.arcsin(t) +
     np.arccos(t) + np.arctan(a) + np.arctan2(a, 2) + np.sinh(a) + np.cosh(a) + np.vectorize(erf)(a) +
     np.maximum(a, 0) + 1 / (1 + np.exp(-a)) + abs(a) ** 1.5 + np.sqrt(abs(a)) + np.minimum(a, .1) + np.maximum(a, .2) +
     np.log(1 + abs(a)) + np.exp(a))
same("causal", np.where(j <= i, .5 * a, -1e30))
same("middle", a.mean(1)); same("largest", a.argmax(1)); same("least", I.argmin(0))
e = np.exp(a - a.max(1, keepdims=True))
same("soft", e / e.sum(1, keepdims=True)); same("whole", e / e.sum(1, keepdims=True))
same("unit", a / np.sqrt((a ** 2).sum(1, keepdims=True)))
same("count", (F > .5).sum()); assert g("count").dtype == np.int64
same("total", (i * I).sum()); same("product", I.prod(1))
d = a[:, None] - Y[None]
same("above", np.maximum(d, 0).sum(2)); same("most", abs(a[:, None] * Y[None]).max(2))
same("nearest", (d ** 2).sum(2).argmin(0)); same("logic", 4 + ~((I > 1) & (I < 4)))
same("greatest", X.max(1)); same("first", X.argmax(1))
v = a - a.mean(1, keepdims=True); same("norm", v / np.sqrt((v ** 2).mean(1, keepdims=True) + 1e-5))
s = a @ a.T / np.sqrt(17); s = np.where(np.tri(23, dtype=bool), s, -1e30); same("seen", s)
e = np.exp(s - s.max(1, keepdims=True)); same("attend", e / e.sum(1, keepdims=True) @ a)
p = np.where(a > 1, np.nan, a); m = np.nanmean(p, 0); f = np.where(np.isnan(p), m, p); same("gap", p); same("known", m)
same("score", (f - m) / np.sqrt(((f - m) ** 2).mean(0) + 1e-12))
w = ((Y[:, None] - a[None]) ** 2).sum(2); o = np.argsort(w, 1, kind="stable")[:, :5]
same("away", w); same("near", np.take_along_axis(w, o, 1)); same("near_at", o)
same("rows", a[2:11]); same("corner", a[:20, 5:]); same("tall", np.concatenate([a[2:11], a, Y])); same("turned", a.T)
o = np.argsort(-a, 1, kind="stable")[:, :4]; same("where", o); same("best", np.take_along_axis(a, o, 1))
o = np.argsort(a, 1, kind="stable")[:, :3]; same("at_", o); same("low", np.take_along_axis(a, o, 1))'
}

@test "every function, aggregation and operator of EinSum is numpy's, on one site and on three" {
    [ "$(wc -l <all.tra.out)" -eq 36 ]
    for n in 1 3; do
        tra run -q --sites $n --threads 1 all.tra
        compare
    done
}

@test "with the reference engine too" {
    tra run -q --engine reference all.tra
    compare
}

# STATEMENT WORDS...: is refused, and the message has these words.
refused() {
    printf 'input X from "X.h5"\ninput I from "I.h5"\n%s\noutput Z\n' "$1" >bad.tra
    status 2 tra check bad.tra
    has "bad.tra:3:"
    has "$2"
    status 2 tra run --sites 3 bad.tra
    has "$2"
}

@test "what is wrong is said, and nothing runs" {
    refused 'Z[] = argmax X[i,j]' 'argmax gives the position along one label'
    refused 'Z[i] = X[i,j]' "label 'j' is not on the left"
    refused 'Z[i,j] = X[i,j] / sum(X[i,k])' 'names its labels: sum[k](...)'
    refused 'Z[i,j] = X[i,j] / sum[k] X[i,k]' 'stands in parentheses: sum[k](X[i,k])'
    refused 'Z[i,j] = X[i,j] / sum[k](X[i,j])' "label 'k' is nowhere in what is aggregated"
    refused 'Z[i,j] = X[i,j] * index(k)' "no reference of the statement has the label 'k'"
    refused 'Z[i,j] = X[i,j] + index(i, j)' 'index takes one label'
    refused 'Z[i,j] = if(X[i,j], 1)' 'if takes three arguments, not 2'
    refused 'Z[i,j] = foo(X[i,j])' "there is no scalar function 'foo'"
    refused 'Z[i] = middle X[i,j]' 'aggregations are sum, mean, max, min, prod, argmax and argmin'
    refused 'Z = slice(X, [2:99, :])' '2:99 is no range'
    refused 'Z = slice(X, [2:3])' 'write : for a whole dimension'
    refused 'Z = stack(X, I, 2)' 'dimension 2 of a tensor of 2'
    refused 'Z = topk(X, 3)' 'topk has 2 results'
    refused 'Z, P = topk(X, 0)' 'at least 1, not 0'
    refused 'Z, P = topk(X, 99)' 'topk of 99 places of a last dimension of 17'
    refused 'Z[i,j] = X[i,j] < X[i,j] < 2' 'comparisons do not chain'
    refused 'Z[i,i] = X[i,i]' "label 'i' stands twice on the left"
}

@test "an aggregation whose parenthesis closes early gets a warning; -D gives an output another file" {
    printf 'input I from "I.h5"\nZ[i] = mean (I[i,j]) + 1\noutput Z\n' >warn.tra
    status 0 tra run warn.tra -D Z=other.h5
    has "warning"
    [ ! -e Z.h5 ]
    py 'i = h5py.File("I.h5")["data"][:]; np.testing.assert_allclose(h5py.File("other.h5")["data"][:], (i + 1).mean(1))'
}

@test "statements at the edges of what they mean are numpy's, on one site and on three, and by the reference engine" {
    mkdir -p edges && cd edges
    "$PYTHON" "$BATS_TEST_DIRNAME/edges.py" make
    for how in '--sites 1' '--sites 3' '--engine reference'; do
        # shellcheck disable=SC2086
        tra run -q --threads 1 $how edges.tra
        "$PYTHON" "$BATS_TEST_DIRNAME/edges.py" judge
    done
    # integers that do not fit are an error, whoever computes
    for statement in 'Z[i,j] = J[i,j] + J[i,j]' 'Z[i] = abs(M[i])' 'Z[i] = -M[i]' 'Z[] = sum M[i] * M[i]' \
        'Z[i] = prod J[i,j]' 'Z[] = sum (M[i] - 7)'; do
        printf 'input J from "J.h5"\ninput M from "M.h5"\n%s\noutput Z\n' "$statement" >over.tra
        for how in '--sites 1' '--engine reference'; do
            # shellcheck disable=SC2086
            status 3 tra run -q --threads 1 $how over.tra
            has "does not fit"
        done
    done
}

@test "a statement is sparse by type as its whole expression says, however it is computed" {
    tra gen -q --shape 9 --block 4 --density 0.5 --seed 1 -o s.h5
    printf 'input A from "s.h5"\ninput B from "s.h5"\ninput C from "s.h5"\n%s\noutput Z\noutput Y\n' \
        'Z[i,j,k] = if(A[i], B[j] <= C[k], A[k])
Y[i,j,k] = Z[i,j,k] * (1 / 0)' >whole.tra
    tra check whole.tra >types
    grep -q '^Z: .* sparse: ' types
    tra run -q whole.tra
    cp Y.h5 one.h5
    tra run -q --engine reference whole.tra
    tra diff -q one.h5 Y.h5
}

@test "products of functions of two references are summed in tiles, and numpy says the same" {
    tra gen -q --shape 300x40 --block 70x40 --dist normal --seed 1 -o q.h5
    tra gen -q --shape 500x40 --block 90x40 --dist normal --seed 2 -o x.h5
    cat >p.tra <<'END2'
input Q from "q.h5"
input X from "x.h5"
D[m,n] = sum (Q[m,d] - X[n,d]) * (Q[m,d] + X[n,d])
E[m,n] = sum if(Q[m,d] > X[n,d], 1, 0) * (Q[m,d] - X[n,d])^2
F[m,n] = sum Q[m,d] * abs(Q[m,d] - X[n,d]) * X[n,d] / 3
output D; output E; output F
END2
    status 0 tra explain --operators p.tra
    is 3 grep -c '> #[0-9]* join' <<<"$output" # one for each statement
    for sites in 1 3; do
        status 0 tra run -q --sites $sites --threads 1 --memory 64M p.tra
        py 'q, x, d, e, f = (h5py.File(n + ".h5")["data"][:] for n in ("q", "x", "D", "E", "F"))
u, v = q[:, None, :], x[None]
for got, want in (d, (u - v) * (u + v)), (e, (u > v) * (u - v) ** 2), (f, u * abs(u - v) * v / 3):
    assert np.allclose(got, want.sum(2), rtol=1e-10, atol=1e-10)'
    done
}

@test "sinh and cosh reach as far as their results do, whatever is beside them" {
    printf '710\n1\n-710.4\n711\n0\n' | tra import -q - --from csv --no-header --vector -o v.h5
    printf '89\n1\n-89.4\n90\n0\n' | tra import -q - --from csv --no-header --vector --dtype f32 -o w.h5
    printf '%s\n' 'input V from "v.h5"' 'input W from "w.h5"' 'A = transform(V, sinh)' 'B = transform(V, cosh)' \
        'C = transform(W, sinh)' 'D = transform(W, cosh)' 'output A; output B; output C; output D' >p.tra
    status 0 tra run -q p.tra
    py 'np.seterr(all="ignore")
v, w, a, b, c, d = (h5py.File(n + ".h5")["data"][:] for n in ("v", "w", "A", "B", "C", "D"))
for got, want in (a, np.sinh(v)), (b, np.cosh(v)), (c, np.sinh(w.astype("f8")).astype("f4")), (d, np.cosh(w.astype("f8")).astype("f4")):
    assert np.allclose(got, want, rtol=1e-6 if got.dtype == "f4" else 1e-14), (got, want)'
}

@test "sites of which nothing meets for a sum that others have terms of give nothing to it" {
    tra gen -q --shape 40x40 --block 10x10 --dist normal --seed 1 -o a.h5
    tra gen -q --shape 40x40 --block 10x10 --dist normal --seed 2 -o b.h5
    cat >p.tra <<'END2'
input A from "a.h5"
input B from "b.h5"
F = filter(A, (i,k) -> k == 3 || i == 0 && k == 0 || i == 1 && (k == 1 || k == 2))
G = filter(B, (k,j) -> k >= 1)
C = agg(join(F, G, [1], [0], matmul), [0,2], matadd)
output C
END2
    cmm=$(tra cost p.tra --sites 2 | awk '$0 ~ /cmm/ { print $1; exit }')
    status 0 tra run p.tra --sites 2 --plan "$cmm"
    has "(cmm)"
    py 'a, b, c = (h5py.File(n + ".h5")["data"][:] for n in "abC")
for i, ks in enumerate(([3], [1, 2, 3], [3], [3])):
    want = sum(a[10*i:10*i+10, 10*k:10*k+10] @ b[10*k:10*k+10] for k in ks)
    assert np.allclose(c[10*i:10*i+10], want, rtol=1e-12, atol=1e-12), i'
}

@test "operands whose largest arrays do not fit together, but those that meet do" {
    tra gen -q --shape 12x6 --block 8x4 --seed 1 -o m.h5
    tra gen -q --shape 4x6 --block 4x4 --seed 2 -o r.h5
    printf '%s\n' 'input M from "m.h5"' 'input R from "r.h5"' 'F = filter(M, (i, j) -> i == 1) # 4 of 8 rows' \
        'S = agg(join(F, R, [1], [1], matadd), [1], matadd)' \
        'T = agg(join(F, R, [1], [1], (x, y) -> x * exp(y)), [1], matadd)' 'output S' 'output T' >p.tra
    for sites in 1 2; do
        status 0 tra run -q --sites $sites p.tra
        py 'm, r, s, t = (h5py.File(n + ".h5")["data"][:] for n in "mrST")
assert np.array_equal(s, m[8:] + r) and np.allclose(t, m[8:] * np.exp(r), rtol=1e-14)'
    done
}

@test "tuples that a rekey leaves scattered over the sites stay there through filters, tiles and maps" {
    tra gen -q --shape 40x40 --block 10x10 --dist normal --seed 1 -o a.h5
    cat >p.tra <<'END2'
input A from "a.h5"
R = rekey(A, (i,j) -> ((i * 3 + j) % 4, j))
F = filter(R, (i,j) -> i != 2 || j == 1)
X = transform(tile(F, 0, 5), relu)
output X
END2
    status 0 tra explain --operators p.tra --sites 3
    is 5 grep -c ' owned ' <<<"$output"
    tra run -q --engine reference p.tra
    digest=$(tra digest X.h5)
    for sites in 1 2 3; do
        status 0 tra run -q p.tra --sites $sites
        is "$digest" tra digest X.h5
    done
}

# chain N TEMPLATE: a statement B1, B2 ... for each step, in which $1 is the number of the step and $2 that of the one
# before; the last one is the output Z.
chain() {
    local i
    # shellcheck disable=SC2059
    for ((i = 1; i <= $1; i++)); do printf "$2\n" $i $((i - 1)); done
    printf 'output B%d to "Z.h5"\n' "$1"
}

@test "chains of element-wise steps are as long as a program wants, of floats, integers and entries, and in tables" {
    printf '1,-2\n3,4\n0,0\n' >a.csv
    printf '2,-4\n6,8\n0,0\n' >twice.csv
    tra import -q a.csv --no-header -o a_f64.h5
    tra import -q a.csv --no-header --dtype i64 -o a_i64.h5
    tra import -q a.csv --no-header --storage csr -o a_csr.h5
    for t in f64 i64 csr; do
        printf 'input A from "a_%s.h5"\n' $t >head
        { cat head; echo 'B0[i,j] = A[i,j]'; chain 70 'B%d[i,j] = -B%d[i,j]'; } >neg.tra
        { cat head; echo 'B0[i,j] = A[i,j]'; chain 50 'B%d[i,j] = 2 * B%d[i,j] - A[i,j]'; } >two.tra
        { cat head; echo 'B0[i,j] = A[i,j]'; chain 50 'B%d[i,j] = sign(B%d[i,j]) * abs(A[i,j])'; } >sign.tra
        { cat head; printf 'Z = transform(A, neg'; printf ' . neg%.0s' {1..599}; echo ')'; echo 'output Z'; } >dots.tra
        { cat head; printf 'Z[i,j] = A[i,j]'; printf ' + A[i,j] - A[i,j]%.0s' {1..490}; echo; echo 'output Z'; } >sum.tra
        for p in neg two sign dots sum; do
            rm -f Z.h5
            status 0 tra run -q --no-history $p.tra
            tra export -q Z.h5 --to csv -o z.csv
            status 0 py 'assert (np.loadtxt("z.csv", delimiter=",") == np.loadtxt("a.csv", delimiter=",")).all()'
        done
        { cat head; echo 'B0[i,j] = A[i,j]'; chain 50 'B%d[i,j] = -B%d[i,j]'; echo 'S[j] = sum B50[i,j] * A[i,j]'; } >s.tra
        echo 'output S' >>s.tra
        status 0 tra run -q --no-history --sites 2 s.tra
        is $'10\n20' tra export -q S.h5 --to csv -o -
    done
    { echo 'input A from "a_i64.h5"'; echo 'B0 = table(A)'; chain 50 'B%d = project(B%d, c0 = -c0, c1 = -c1)'; } >t.tra
    status 0 tra run -q --no-history t.tra
    is "$(cat a.csv)" eval 'tra export -q Z.h5 --to csv -o - | tail -n +2'
}

@test "a constant that is computed and infinite: the maximum is not taken before it is added" {
    py "
with h5py.File('a.h5', 'w') as f: f.create_dataset('data', data=np.array([[-np.inf, 5.], [1., 2.]]), chunks=(1, 2))"
    for f in 'x + exp(1000.0)' 'x * exp(800.0)' 'exp(800.0) + tanh(x)'; do
        for m in elemmax elemmin; do
            printf '%s\n' 'input A from "a.h5"' "N = agg(transform(A, x -> $f), [1], $m)" 'output N' >g.tra
            tra run -q g.tra --engine reference
            want=$(tra export -q N.h5 -o - --to csv)
            tra run -q g.tra
            is "$want" tra export -q N.h5 -o - --to csv
        done
    done
}

@test "argmin and argmax along any label, of any type, in one block or in several: the first of equal ones, NaN before all" {
    py '
r = np.random.default_rng(3)
f = r.integers(-2, 3, (40, 11)).astype(float); n = f.copy(); n[r.random(n.shape) < .05] = np.nan
f[5] = np.inf; f[6] = -np.inf
def put(name, a, *blocks):
    for i, b in enumerate(blocks):
        with h5py.File("%s%d.h5" % (name, i), "w") as g: g.create_dataset("data", data=a, chunks=b)
for name, a in (("f", f), ("n", n), ("s", n.astype("f4")), ("i", r.integers(-2, 3, (40, 11))), ("b", f > 0)):
    put(name, a, (40, 11), (7, 11), (40, 4), (7, 4))
put("t", r.integers(-2, 3, (5, 9, 40)).astype("i4"), (5, 9, 40), (2, 9, 40), (5, 4, 40), (5, 9, 7))'
    for k in 0 1 2 3; do
        for x in f $([ $((k % 3)) = 0 ] && echo n s i b); do
            echo "input $x$k from \"$x$k.h5\""
            for w in argmin argmax; do
                echo "${x}_${w}_i$k[i] = $w $x$k[i,j]; ${x}_${w}_j$k[j] = $w $x$k[i,j]"
                echo "${x}_${w}_d$k[i] = $w[j]($x$k[i,j] * 2 - index(j))"
                echo "output ${x}_${w}_i$k to \"all.h5:${x}_${w}_i$k\"; output ${x}_${w}_j$k to \"all.h5:${x}_${w}_j$k\""
                echo "output ${x}_${w}_d$k to \"all.h5:${x}_${w}_d$k\""
            done
        done
        echo "input t$k from \"t$k.h5\"; m$k[k,a] = argmin t$k[a,b,k]; output m$k to \"all.h5:m$k\""
    done >places.tra
    for how in "--engine reference" "--sites 1" "--optimizer eindecomp-any --sites 3 --threads 1"; do
        rm -f all.h5
        status 0 tra run -q --no-history $how places.tra
        status 0 py '
g = h5py.File("all.h5")
for k in range(4):
    for x in "f" if k % 3 else "fnsib":
        a = h5py.File("%s%d.h5" % (x, k))["data"][...]
        for w, at in (("argmin", np.argmin), ("argmax", np.argmax)):
            for l, v in (("i", at(a, 1)), ("j", at(a, 0)), ("d", at(a * 2 - np.arange(11), 1))):
                np.testing.assert_array_equal(g["%s_%s_%s%d" % (x, w, l, k)][...], v, "%s %s %s %d" % (x, w, l, k))
    np.testing.assert_array_equal(g["m%d" % k][...], h5py.File("t%d.h5" % k)["data"][...].argmin(1).T)'
    done
}
