# EinSum statements and macros: against numpy, on one site and several, and by the reference evaluator.
load helper

program() { cat >p.tra; }

# Inputs of 30 x 20, 20 x 25 and 25 in blocks that do not divide them, f64 or f32.
inputs() {
    tra gen -q --dist normal --seed 1 --dtype "$1" --shape 30x20 --block 7x6 -o A.h5
    tra gen -q --dist normal --seed 2 --dtype "$1" --shape 20x25 --block 6x8 -o B.h5
    tra gen -q --dist normal --seed 3 --dtype "$1" --shape 25 --block 8 -o b.h5
}

# The results in out.h5 against expressions of numpy: compare RTOL NAME=EXPRESSION...
compare() {
    py '
g = lambda n: h5py.File(n)["data"][()].astype(float)
A, B, b = g("A.h5"), g("B.h5"), g("b.h5")
f, bad = h5py.File("out.h5"), 0
for arg in sys.argv[2:]:
    name, e = arg.split("=", 1)
    want = np.asarray(eval(e))
    got = f[name][()].reshape(want.shape) if want.ndim == 0 else f[name][()]
    if got.shape != want.shape or not np.allclose(got, want, rtol=float(sys.argv[1]), atol=float(sys.argv[1])):
        bad = 1
        print(name, got, "not", want)
sys.exit(bad)' "$@"
}

@test "contractions of two and of many agree with numpy, on 1, 2 and 3 sites, in f64 and f32" {
    program <<'END'
input A from "A.h5"
input B from "B.h5"
input b from "b.h5"
param c = 0.5
C[i,k]  = sum A[i,j] * B[j,k]
Ct[k,i] = sum c * B[j,k] * A[i,j]
y[i]    = sum A[i,j] * B[j,k] * b[k]
G[i,m]  = sum A[i,j] * A[m,j]
s[]     = sum -A[i,j] * B[j,k] * b[k] / 2
o[j,k]  = sum A[i,j] * b[k]
w[i]    = sum A[i,j] * A[i,j]
e[i,k]  = sum (A[i,j] * B[j,k] / b[k] + b[k] - 1)
output C to "out.h5:C"
output Ct to "out.h5:Ct"
output y to "out.h5:y"
output G to "out.h5:G"
output s to "out.h5:s"
output o to "out.h5:o"
output w to "out.h5:w"
output e to "out.h5:e"
END
    for dtype in f64 f32; do
        inputs $dtype
        for how in "--sites 1" "--sites 2" "--sites 3" "--engine reference"; do
            rm -f out.h5
            # shellcheck disable=SC2086
            status 0 tra run -q p.tra $how
            compare "$([ $dtype = f64 ] && echo 1e-11 || echo 1e-3)" C=A@B "Ct=(A@B).T/2" "y=A@(B@b)" G=A@A.T \
                "s=-np.einsum('ij,jk,k->',A,B,b)/2" "o=np.outer(A.sum(0),b)" "w=(A*A).sum(1)" "e=A@B/b+20*b-20"
        done
    done
}

@test "element-wise expressions and every aggregation agree with numpy" {
    program <<'END'
input A from "A.h5"
input B from "B.h5"
input b from "b.h5"
param eta = 0.1
E[i,j]  = A[i,j] - eta * max(A[i,j]^2, 1)
X[k,j]  = exp(-B[j,k]) + b[k]
D[i,m]  = sum (A[i,j] - A[m,j])^2
F[i,m]  = max abs(A[i,j] - A[m,j])
N[k]    = min B[j,k] * b[k]
P[j]    = prod (1 + A[i,j] / 10)
L[]     = max A[i,j]
R[i,j]  = A[i,j] / L[]
M[i,k]  = sum relu(A[i,j]) * tanh(B[j,k]) * sigmoid(b[k])
Q[j,k]  = B[j,k] > b[k]
V[i,j,k] = A[i,j] * B[j,k] + b[k]
output E to "out.h5:E"
output X to "out.h5:X"
output D to "out.h5:D"
output F to "out.h5:F"
output N to "out.h5:N"
output P to "out.h5:P"
output L to "out.h5:L"
output R to "out.h5:R"
output M to "out.h5:M"
output Q to "out.h5:Q"
output V to "out.h5:V"
END
    inputs f64
    for how in "--sites 1" "--sites 3" "--engine reference"; do
        rm -f out.h5
        # shellcheck disable=SC2086
        status 0 tra run -q p.tra $how
        compare 1e-11 "E=A-.1*np.maximum(A**2,1)" "X=(np.exp(-B)+b).T" "D=((A[:,None]-A)**2).sum(2)" \
            "F=abs(A[:,None]-A).max(2)" "N=(B*b).min(0)" "P=(1+A/10).prod(0)" "L=A.max()" "R=A/A.max()" \
            "M=np.maximum(A,0)@np.tanh(B)/(1+np.exp(-b))" "Q=B>b" "V=A[:,:,None]*B+b"
    done
}

@test "diagonals, holes, other blocks and the macros agree with numpy" {
    inputs f64
    tra gen -q --dist normal --seed 4 --shape 20x20x3 --block 6x5x2 -o S.h5
    tra gen -q --dist normal --seed 5 --shape 30x20 --block 30x3 -o W.h5
    program <<'END'
input A from "A.h5"
input S from "S.h5"
input W from "W.h5"
D[i,k] = S[i,i,k]
t[]    = sum S[i,i,k]
U[i,j] = A[i,j] + W[i,j]
H      = filter(A, (i,j) -> i + j != 3)
Z[i,j] = H[i,j] + 1
m[j]   = max H[i,j]
P      = softmax(A)
Q      = softmax(W)
T      = transpose(S)
d[i]   = sum A[i,j] * S[j,j,k]
best   = agg(m, [], maxindex)
output D to "out.h5:D"
output t to "out.h5:t"
output U to "out.h5:U"
output Z to "out.h5:Z"
output m to "out.h5:m"
output P to "out.h5:P"
output Q to "out.h5:Q"
output T to "out.h5:T"
output d to "out.h5:d"
output best to "out.h5:best"
END
    local wanted=("D=np.einsum('iik->ik',S)" "t=np.einsum('iik->',S)" "U=A+W" "Z=H+1" "m=H.max(0)" "P=soft(A)" "Q=soft(W)" \
        "T=S.T" "d=np.einsum('ij,jjk->i',A,S)" "best=np.array([H.max(0).max(),H.max(0).argmax()])")
    for how in "--sites 1" "--sites 2" "--sites 3" "--engine reference"; do
        rm -f out.h5
        # shellcheck disable=SC2086
        status 0 tra run -q p.tra $how
        py '
g = lambda n: h5py.File(n)["data"][()]
A, S, W = g("A.h5"), g("S.h5"), g("W.h5")
H = A.copy()
for i in range(5):
    for j in range(4):
        if i + j == 3: H[7*i:7*i+7, 6*j:6*j+6] = 0
def soft(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
f, bad = h5py.File("out.h5"), 0
for arg in sys.argv[1:]:
    name, e = arg.split("=", 1)
    want = np.asarray(eval(e))
    if not np.allclose(f[name][()].reshape(want.shape), want, rtol=1e-11, atol=1e-12):
        bad = 1
        print(name, f[name][()], "not", want)
sys.exit(bad)' "${wanted[@]}"
    done
}

@test "softmax does not overflow, and rows of -inf give NaN as the kernel does" {
    py '
x = np.array([[1000., 1001, 999, 998], [-1e300, -9999, 5, 5], [-np.inf] * 4])
h5py.File("x.h5", "w").create_dataset("data", data=x, chunks=(2, 3))'
    program <<'END'
input X from "x.h5"
S = softmax(X)
K = transform(reblock(X, [3, 4]), softmax)
output S
output K
END
    status 0 tra run -q p.tra
    status 0 tra diff -q S.h5 K.h5 --rtol 1e-14
    py 's = h5py.File("S.h5")["data"][()]
sys.exit(not (np.allclose(s[0].sum(), 1) and s[1, 2] == 0.5 and np.isnan(s[2]).all()))'
}

@test "softmax of integers is that of their real values, whatever the blocks" {
    py '
x = np.array([[-2069527477, 81888653, 81888652, 81888653]], np.int32)
h5py.File("x.h5", "w").create_dataset("data", data=x, chunks=(1, 2))'
    program <<'END'
input X from "x.h5"
S = softmax(X)
output S
END
    status 0 tra run -q p.tra
    py 's = h5py.File("S.h5")["data"][()]
e = np.exp([-np.inf, 0, -1, 0])
sys.exit(not np.allclose(s, [e / e.sum()]))'
    status 0 tra run -q --engine reference p.tra
}

@test "random statements agree with numpy, on 1, 2 and 3 sites and by the reference evaluator" {
    for seed in 1 2 3; do
        status 0 "$PYTHON" "$BATS_TEST_DIRNAME/einsum-random" $seed 20 f64
        status 0 "$PYTHON" "$BATS_TEST_DIRNAME/einsum-random" $((seed + 100)) 15 f64 --sites $((seed % 3 + 1))
        status 0 "$PYTHON" "$BATS_TEST_DIRNAME/einsum-random" $((seed + 200)) 10 f32 --sites $((seed % 2 + 2))
    done
    status 0 "$PYTHON" "$BATS_TEST_DIRNAME/einsum-random" 7 20 f64 --engine reference
}

@test "check and explain show what the program names; a contraction is one operator" {
    inputs f64
    program <<'END'
input A from "A.h5"
input B from "B.h5"
C[i,k] = sum A[i,j] * B[j,k]
P = softmax(C)
output P
END
    status 0 tra check p.tra
    [ "${#lines[@]}" -eq 4 ]
    [ "${lines[2]}" = "C: keys 2 <5,4>, f64 7 x 8, tensor 30 x 25, 20 tuples, 5.9 KiB, continuous" ]
    [ "${lines[3]}" = "P: keys 2 <5,4>, f64 7 x 8, tensor 30 x 25, 20 tuples, 5.9 KiB, continuous" ]
    status 0 tra explain --operators p.tra
    has "join-agg C [1]=[0] matmul, group [0,2] ma"
    has '"ij->i" max'
}

@test "check says what is cut anew, so that the fewest bytes move" {
    program <<'END'
input A : f64 [100, 90] by [20, 30]
input B : f64 [90, 10] by [45, 10]
input c : f32 [10] by [4]
H = filter(A, (i,j) -> i != 1)
C[i,k] = sum (A[i,j] * B[j,k] + c[k])
D[i] = sum H[i,j]
END
    status 0 tra check -q p.tra
    [ "${lines[5]}" = "  reads B in blocks 30 x 4, not 45 x 10: 7 KiB" ]
    [ "${lines[7]}" = "  reads H in blocks 20 x 30, not with holes: 56.2 KiB" ]
    [ "${#lines[@]}" -eq 8 ]
    status 0 tra check -q --format json p.tra
    is B json relations.4.recut.0.name
    is 30 json relations.4.recut.0.block.0
    is 4 json relations.4.recut.0.block.1
    is H json relations.5.recut.0.name
}

@test "integers are exact to the last digit, by BLAS and by integer loops" {
    py 'rng = np.random.default_rng(1)
m, n = rng.integers(-1000, 1000, (60, 50)), rng.integers(-1000, 1000, (50, 40))
np.save("m.npy", m.astype(np.int32)); np.save("n.npy", n.astype(np.int32)); np.save("k.npy", m * 2**36)
np.save("c.npy", m @ n); np.save("d.npy", (m * 2**36) @ n)'
    for f in m n k; do tra import -q $f.npy -o $f.h5 --block 17x13; done
    cat >p.tra <<'END'
input M from "m.h5"
input N from "n.h5"
input K from "k.h5"
C[i,k] = sum M[i,j] * N[j,k]
D[i,k] = sum K[i,j] * N[j,k]
output C
output D
END
    tra run -q p.tra --sites 2
    for f in C D; do tra export -q $f.h5 -o $f.npy; done
    py 'for a, b in ("c", "C"), ("d", "D"):
    x, y = np.load(a + ".npy"), np.load(b + ".npy")
    assert y.dtype == np.int64 and (x == y).all(), b'
}

@test "an integer that does not fit: status 3, the statement and the key, no output" {
    py 'np.save("b.npy", np.array([[1, 2], [2**62, 2**62]]))'
    tra import -q b.npy -o b.h5 --block 1x2
    printf 'input B from "b.h5"\n# twice too large\nS = transform(B, rowsum)\noutput S\n' >q.tra
    for sites in 1 2; do
        status 3 tra run -q q.tra --sites $sites
        [[ $output == *"q.tra:3: S: an integer does not fit i64 in the tuple <1,0>"* ]]
        [ ! -e S.h5 ]
    done
}

# Rows of which some parts do not fit i64, by blocks, sites and plans, of dense arrays and of entries. fits.npy: the
# whole of each does; never.npy: of no row but the last.
rows_at_the_limit() {
    py 'b = 2**62
fits = np.zeros((4, 12), np.int64)
fits[0, [0, 4, 5]] = -b, b, b # in this order every part fits, and so do blocks of 5
fits[1, [1, 4, 5]] = b, -b, -b - 1
fits[2] = range(12)
never = np.zeros((4, 12), np.int64)
never[0, ::4] = b, b, b
never[1, 1::5] = -b, -b, -1
never[2, 4:8] = b, b, -1, 1
np.save("fits.npy", fits); np.save("never.npy", never); np.save("one.npy", np.ones(12, np.int32))
np.save("want.npy", np.array([sum(map(int, r)) for r in fits], np.int64))
for name, a in ("fits", fits), ("never", never):
    with open(name + ".tns", "w") as f:
        for i, j in zip(*np.nonzero(a)): print(i + 1, j + 1, a[i, j], file=f)'
    for block in 3x5 2x2; do
        for f in fits never; do
            tra import -q $f.npy -o $f-$block.h5 --block $block
            tra import -q $f.tns -o $f-$block-csr.h5 --shape 4x12 --dtype i64 --block $block --storage csr
        done
        tra import -q one.npy -o one-$block.h5 --block ${block#*x}
    done
    cat >sum.tra <<'END'
input A from "FILE"
S[i] = sum A[i,j]
output S to "s.h5"
END
    cat >product.tra <<'END'
input A from "FILE"
input B from "ONE"
S[i] = sum A[i,j] * B[j]
output S to "s.h5"
END
}

# at_the_limit FILE FUNCTION: runs FUNCTION after each run of a program over FILE.
at_the_limit() {
    local block p sites kind plan
    for block in 3x5 2x2; do
        for kind in "" -csr; do
            for p in sum product; do
                sed "s/FILE/$1-$block$kind.h5/; s/ONE/one-$block.h5/" $p.tra >r.tra
                for sites in 1 3; do
                    plan=$((sites == 3 ? $("$TRA" cost r.tra --sites 3 | tail -n +2 | wc -l) : 1))
                    rm -f s.h5
                    run "$TRA" run -q r.tra --sites $sites --plan $plan
                    $2 || { echo "$1-$block$kind, $p, plan $plan on $sites sites: $status $output"; return 1; }
                done
            done
        done
    done
}

named() { [[ $status = 3 && $output == *"r.tra:"[23]": "*"an integer does not fit i64"*" in the tuple <"* && ! -e s.h5 ]]; }

whole_or_named() {
    ((status == 0)) || { named; return; }
    values=$((values + 1))
    tra export -q s.h5 -o s.npy
    py 'assert (np.load("s.npy") == np.load("want.npy")).all()'
}

@test "a sum of integers that does not fit is always an error; where only parts do not, an error or exact" {
    rows_at_the_limit
    at_the_limit never named
    values=0
    at_the_limit fits whole_or_named
    [ "$values" -gt 0 ]
}

@test "functions of the one table, in statements, in functions of elements and by name" {
    printf '0.5,nan\n-2.5,1e300\n' >x.csv
    $TRA import -q x.csv -o x.h5 --block 1x2
    cat >f.tra <<'END'
input X from "x.h5"
Z[i,j] = if(isnan(X[i,j]) || !(X[i,j] < 1e9), 0, round(X[i,j]) + mod(X[i,j], 2))
L = transform(X, x -> if(x > 0 && x < 1, atan2(0, -x), sign(x)))
N = transform(X, isnan)
C[] = sum isnan(X[i,j])
output Z; output L; output N; output C
END
    $TRA run -q f.tra
    run $TRA export Z.h5 --to csv -o -
    [ "$output" = $'0.5,0\n-0.5,0' ]
    run $TRA export L.h5 --to csv -o -
    [ "${lines[0]}" = "3.141592653589793,nan" ]
    [ "${lines[1]}" = "-1,1" ]
    run $TRA check f.tra
    [[ "$output" == *"N: keys 2 <2,1>, bool"* ]]
    [[ "$output" == *"C: keys 0 <>, i64"* ]]
    run $TRA export C.h5 --to csv -o -
    [ "$output" = 1 ]
}

@test "softmax, layer norm, causal attention and scores with missing values, in one or two statements each" {
    "$PYTHON" - <<'END'
import numpy as np
r = np.random.default_rng(1)
for name, shape in (("q", (9, 4)), ("k", (9, 4)), ("v", (9, 3)), ("x", (9, 5))):
    a = r.normal(size=shape)
    if name == "x":
        a[2, 3] = a[7, 0] = np.nan
    np.save(name + ".npy", a)
END
    $TRA import -q q.npy -o q.h5 --block 4x3
    $TRA import -q k.npy -o k.h5 --block 2x4
    $TRA import -q v.npy -o v.h5 --block 4x3
    $TRA import -q x.npy -o x.h5 --block 4x2
    cat >a.tra <<'END'
input Q from "q.h5"
input K from "k.h5"
input V from "v.h5"
input X from "x.h5"
S[i,j] = if(index(j) <= index(i), sum[d](Q[i,d] * K[j,d]) / 2, -1e30)
A[i,d] = sum[j](exp(S[i,j] - max[l](S[i,l])) * V[j,d]) / sum[j](exp(S[i,j] - max[l](S[i,l])))
L[i,d] = (Q[i,d] - mean[k](Q[i,k])) / sqrt(mean[k]((Q[i,k] - mean[l](Q[i,l]))^2) + 1e-5)
M[d] = sum (if(isnan(X[i,d]), 0, X[i,d])) / sum[k](!isnan(X[k,d]))
Z[i,d] = if(isnan(X[i,d]), 0, X[i,d] - M[d])
P[d] = argmax X[i,d]
N[] = mean (X[i,d] > 0)
output A; output L; output Z; output P; output N
END
    for sites in 1 3; do
        $TRA run -q --sites $sites a.tra -D N=count.h5
        for f in A L Z P count; do $TRA export -q $f.h5 -o $f.npy; done
        "$PYTHON" - <<'END'
import numpy as np
q, k, v, x = (np.load(n + ".npy") for n in "qkvx")
s = np.where(np.tri(9, dtype=bool), q @ k.T / 2, -1e30)
e = np.exp(s - s.max(1, keepdims=True))
z = x - np.nanmean(x, 0)
for name, want in (("A", e / e.sum(1, keepdims=True) @ v), ("P", x.argmax(0)), ("count", (x > 0).mean()),
                   ("L", (q - q.mean(1, keepdims=True)) / np.sqrt(q.var(1, keepdims=True) + 1e-5)),
                   ("Z", np.where(np.isnan(z), 0, z))):
    np.testing.assert_allclose(np.load(name + ".npy"), want, rtol=1e-12, atol=1e-12, err_msg=name)
END
    done
    [ ! -e N.h5 ]
    $TRA compile -q a.tra -o a.plan --sites 1
    $TRA run -q a.plan
    [ -e N.h5 ]
}

@test "what one operand alone is summed over is summed before it is cut for the others" {
    tra gen -q --shape 40x60 --block 10x60 --seed 1 -o a.h5
    tra gen -q --shape 60x50 --block 20x50 --seed 2 -o b.h5
    printf '%s\n' 'input A from "a.h5"' 'input B from "b.h5"' 'Q[] = sum A[i,k] * B[k,j]' 'output Q to "q.h5"' >p.tra
    status 0 tra explain --operators p.tra
    lacks 'repart [10,20]' # of A
    has 'repart [20]'
    status 0 tra run -q p.tra
    py 'import h5py, numpy as np
a, b, q = (h5py.File(f)["data"][()] for f in ("a.h5", "b.h5", "q.h5"))
assert np.allclose(q, a.sum(0) @ b.sum(1)), q'
}

@test "a product of a hundred factors has more labels than a statement: parts of it are computed first" {
    py '
r = np.random.default_rng(1)
A, v = r.standard_normal((12, 12)) / 3.5, r.standard_normal(12)
np.save("A.npy", A), np.save("v.npy", v), np.save("S.npy", A * (r.random((12, 12)) < 0.5))
factors = lambda X, n, order: "*".join(f"{X}[i{k},i{k + 1}]" for k in order)
open("p.tra", "w").write(f"""input A from "A.h5"
input S from "S.h5"
input v from "v.h5"
C[i0,i100] = sum {factors("A", 100, range(100))}
M[i0,i100] = sum {factors("A", 100, r.permutation(100))}
P[i0,i70] = sum {factors("S", 70, range(70))}
W[] = sum 2 * {factors("A", 80, range(80))} * (v[i80] + 1) * v[i0] * exp(v[i40])
O[i0] = sum v[i0] * {"*".join(f"A[a{k},b{k}]" for k in range(40))}
""" + "".join(f"output {x} to \"out.h5:{x}\"\n" for x in "CMPWO"))'
    tra import -q A.npy --block 5x5 -o A.h5
    tra import -q S.npy --block 5x5 --storage csr -o S.h5
    tra import -q v.npy --block 5 -o v.h5
    for sites in 1 3; do
        tra run -q --sites $sites p.tra
        py '
A, S, v, f = np.load("A.npy"), np.load("S.npy"), np.load("v.npy"), h5py.File("out.h5")
p = np.linalg.matrix_power
near = lambda n, want: np.testing.assert_allclose(f[n][()], want, rtol=1e-8)
near("C", p(A, 100)), near("M", p(A, 100)), near("P", p(S, 70))
near("W", 2 * (v @ p(A, 40) * np.exp(v)) @ p(A, 40) @ (v + 1)), near("O", v * A.sum() ** 40)'
    done
    status 4 tra run -q --engine reference p.tra
    has '2^50 combinations of its labels'
}
