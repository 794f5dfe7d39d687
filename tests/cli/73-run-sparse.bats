# tra run on stored operands: products, sums and masks on any number of sites, by both transports, under any ceiling;
# judged by scipy.
load helper

# a.h5 (csr), m.h5 (coo), b.h5 and x.h5 (dense), as scipy has them in *.npz, *.npy; whole numbers, so that every order of
# sums gives the same bits.
operands() {
    py '
import scipy.sparse as sp, scipy.io as io
r = np.random.default_rng(7)
def some(m, n, d, seed):
    a = sp.random(m, n, d, random_state=seed, format="csr"); a.data = r.integers(1, 9, a.nnz).astype("f8"); return a
a = some(210, 210, .03, 1); a[100:140] = 0; a.eliminate_zeros()
io.mmwrite("a.mtx", a); sp.save_npz("a.npz", a)
m = some(210, 210, .1, 2); io.mmwrite("m.mtx", m); sp.save_npz("m.npz", m)
np.save("b.npy", r.integers(-4, 5, (210, 17)).astype("f8")); np.save("x.npy", r.integers(-4, 5, 210).astype("f8"))'
    tra import -q a.mtx --storage csr --block 60x50 -o a.h5
    tra import -q m.mtx --storage coo --block 70x80 -o m.h5
    tra import -q b.npy --block 50x10 -o b.h5
    tra import -q x.npy --block 50 -o x.h5
    cat >p.tra <<'END'
input A from "a.h5"
input M from "m.h5"
input B from "b.h5"
input x from "x.h5"
y[i] = sum A[i,j] * x[j]
Y[i,k] = sum A[i,j] * B[j,k]
P[i,k] as csr = sum A[i,j] * A[j,k]
S[i,j] as csr = A[i,j] + A[j,i]
Q[i,j] as coo = M[i,j] * P[i,j]
D[i,j] as dense = A[i,j] - M[i,j]
output y
output Y
output P
output S
output Q
output D
END
}

# judged: the outputs are what scipy makes.
judged() {
    for f in P S Q; do tra export -q $f.h5 -o $f.npz; done
    for f in y Y D; do tra export -q $f.h5 -o $f.npy; done
    py '
import scipy.sparse as sp
a, m, b, x = sp.load_npz("a.npz"), sp.load_npz("m.npz"), np.load("b.npy"), np.load("x.npy")
p = a @ a
for f, want in ("y", a @ x), ("Y", a @ b), ("D", (a - m).toarray()): assert np.array_equal(np.load(f + ".npy"), want), f
for f, want in ("P", p), ("S", a + a.T), ("Q", m.multiply(p)):
    got = sp.load_npz(f + ".npz"); want = want.tocsr(); want.eliminate_zeros()
    assert got.nnz == want.nnz and (got != want).nnz == 0, f'
}

@test "SpMV, SpMM, A A, A + A-transposed and a mask: what scipy says, the same bytes on 1, 2 and 3 sites by both transports" {
    operands
    status 0 tra run -q p.tra --no-history
    judged
    for f in P S Q; do
        status 0 tra verify $f.h5
        mv $f.h5 $f.one
    done
    for n in 2 3; do
        for by in mpi files; do
            status 0 tra run -q p.tra --no-history --sites $n --transport $by --scratch "$TRA_SCRATCH"
            judged
            for f in P S Q; do
                status 0 tra verify $f.h5
                cmp $f.h5 $f.one
            done
        done
    done
}

@test "under the least ceiling that will do, the same bytes" {
    operands
    status 0 tra run -q p.tra --no-history
    for f in P S Q; do mv $f.h5 $f.one; done
    for n in 1 3; do
        status 4 tra run -v p.tra --sites $n --threads 1 --memory 1M
        least=$(exactly)
        status 0 tra run -q p.tra --no-history --sites $n --threads 1 --memory "$least"
        judged
        for f in P S Q; do cmp $f.h5 $f.one; done
    done
}

# product N [BLOCK]: p.tra, the product of a full column and a full row, of N squared entries where N are expected.
product() {
    py '
import scipy.sparse as sp
n = int(sys.argv[1]); o = np.ones(n); i = np.arange(n); z = np.zeros(n, int)
sp.save_npz("a.npz", sp.csr_matrix((o, (i, z)), (n, n))); sp.save_npz("b.npz", sp.csr_matrix((o, (z, i)), (n, n)))' "$1"
    for f in a b; do tra import -q $f.npz --storage csr --block "${2:-$1}x${2:-$1}" -o $f.h5; done
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
C[i,k] as csr = sum A[i,j] * B[j,k]
output C to "c.h5"
END
}

# held COMMAND...: runs it, and prints its exit status and the most that it held at once, in KiB.
held() {
    py '
import resource, subprocess
s = subprocess.run(sys.argv[1:], stderr=open("said", "w")).returncode
print(s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

@test "a product of far more entries than were expected ends below its ceiling in blocks that fit, with what is made waiting in scratch" {
    product 3000 500
    read -r code kib < <(held "$TRA" run -q p.tra --threads 2 --memory 100M)
    cat said
    [ "$code" = 0 ]
    [ "$kib" -lt $((100 * 1024)) ]
    py 'f = h5py.File("c.h5")["data/values"]; assert f.size == 9000000 and (f[:] == 1).all()'
}

@test "a killed run whose output is stored by levels is gone on with, on as many sites or others: the same bytes" {
    product 1500 100
    status 0 tra run -q p.tra --no-history
    mv c.h5 want
    for sites in '1 1' '1 3' '2 1'; do
        read -r before after <<<"$sites"
        # without --checkpoint 0 they may wait in memory for some seconds
        slow 20 "$TRA" run -q p.tra --no-history --sites "$before" --threads 1 --checkpoint 0 2>log &
        run=$!
        meet $run recorded $((64 * 20))
        kill -KILL $run
        wait $run || true
        [ ! -e c.h5 ]
        status 0 tra run p.tra --no-history --resume --sites "$after" --threads 1
        has "blocks of C are there"
        cmp c.h5 want
        rm c.h5
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    done
}

@test "a sum, a difference and a maximum of a matrix and its transpose take what entries take, in blocks of 9e12 elements" {
    printf '3000000 2999999 2\n5 7 3\n7 5 4\n3000000 5 1\n9 9 -1\n' >a.tns
    tra import -q a.tns --shape 3000000x3000000 --storage coo -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'S[i,j] as coo = A[i,j] + A[j,i]' 'D[j,i] as coo = A[i,j] - 2*A[j,i]' \
        'M[i,j] as coo = max(A[j,i], A[i,j])' 'output S' 'output D' 'output M' >p.tra
    status 0 tra run -q p.tra --memory 100M
    for f in S D M; do tra export -q $f.h5 --to tns -o - | tail -n +4 >$f.tns; done
    diff - S.tns <<<$'5 7 7\n5 3000000 1\n7 5 7\n9 9 -2\n2999999 3000000 2\n3000000 5 1\n3000000 2999999 2'
    diff - D.tns <<<$'5 7 -2\n5 3000000 1\n7 5 -5\n9 9 1\n2999999 3000000 2\n3000000 5 -2\n3000000 2999999 -4'
    diff - M.tns <<<$'5 7 4\n5 3000000 1\n7 5 4\n9 9 -1\n2999999 3000000 2\n3000000 5 1\n3000000 2999999 2'
}

@test "a matrix times its transpose, element by element, is transposed first: no plan looks entries up one by one" {
    tra gen -q --shape 3000x3000 --block 800x800 --density 0.003 --storage csr -o a.h5:A
    printf '%s\n' 'input A from "a.h5"' 'C[i,j] = A[i,j] * A[j,i]' 'D[] as dense = sum A[i,j] * A[j,i]' \
        'output C' 'output D' >p.tra
    tra explain --operators p.tra >plan
    grep -q ' join C .* elemmul' plan
    grep -q ' join-agg D .* "ij,ij->"' plan
    tra export -q a.h5:A -o a.npz
    for how in "--threads 1" "--threads 4" "--sites 3"; do
        status 0 tra run -q $how p.tra
        tra export -q C.h5 -o c.npz
        tra export -q D.h5 -o d.npy
        py '
import scipy.sparse as sp
a, c = (sp.load_npz(x + ".npz").tocsr() for x in "ac")
want = a.multiply(a.T).tocsr()
assert abs(want - c).max() == 0 and c.nnz == want.nnz > 0
assert np.isclose(np.load("d.npy"), want.sum())'
    done
}

@test "the diagonal of a matrix in blocks of csc, and its sum, take what its entries take" {
    tra gen -q --shape 40000x40000 --block 8000x8000 --pattern band:3 --storage csc -o a.h5:A
    printf '%s\n' 'input A from "a.h5"' 'D[i] as dense = A[i,i]' 'output D' >p.tra
    tra explain --memory 8G --threads 1 --format json p.tra >plan.json
    py 'import json; assert json.load(open("plan.json"))["plans"][0]["peak_memory_bytes"] < 100e6'
    printf '%s\n' 'T[] as dense = sum A[i,i]' 'output T' >>p.tra
    tra export -q a.h5:A -o a.npz
    for how in "--threads 1" "--threads 4" "--sites 3"; do
        status 0 tra run -q $how --memory 8G p.tra
        for x in D T; do tra export -q $x.h5 -o $x.npy; done
        py '
import scipy.sparse as sp
d = sp.load_npz("a.npz").diagonal()
assert (np.load("D.npy") == d).all() and np.isclose(np.load("T.npy"), d.sum())'
    done
}

@test "what meets at one place, in any order of the operands and types, is what numpy says: products, folded and not" {
    local n=0
    tra gen -q --shape 150 --block 64 --seed 6 --dist normal -o X.h5:X
    for t in f64 f32 i64 i32 bool; do
        tra gen -q --shape 150x130 --block 64x50 --density 0.2 --dtype $t --seed 1 -o A.h5:A
        tra gen -q --shape 150x130 --block 40x130 --density 0.25 --dtype $t --seed 2 -o B.h5:B
        tra gen -q --shape 130x150 --block 50x64 --density 0.2 --dtype $t --seed 3 -o T.h5:T
        for x in A B T X; do tra export -q $x.h5:$x --to npy -o $x.npy && echo "input $x from \"$x.h5:$x\""; done >p.tra
        cat >lines.txt <<'END'
A[i,j] * B[i,j]|i,j|A * B
A[i,j] * T[j,i]|i,j|A * T.T
A[i,j] * T[j,i]|j,i|A.T * T
A[i,j] * X[i]|i,j|A * X[:, None]
A[i,j] * X[i]|j,i|A.T * X
T[j,i] / (X[i] + 9)|i,j|T.T / (X[:, None] + 9)
sum A[i,j] * B[i,j]|i|(A * B).sum(1)
sum A[i,j] * B[i,j]|j|(A * B).sum(0)
sum A[i,j] * B[i,j]||(A * B).sum()
sum A[i,j] * T[j,i]|j|(A * T.T).sum(0)
sum A[i,j] * T[j,i]||(A * T.T).sum()
max A[i,j] * T[j,i]|i|(A * T.T).max(1)
END
        awk -F'|' '{ printf "C%d[%s] = %s\noutput C%d to \"C.h5:C%d\"\n", NR, $2, $1, NR, NR }' lines.txt >>p.tra
        n=$((n + 1))
        while read -r run; do
            rm -f C.h5
            tra run -q $run p.tra
            for c in $(seq "$(wc -l <lines.txt)"); do tra export -q C.h5:C$c --to npy -o C$c.npy; done
            py "
t = np.float64 if '$t'[0] == 'f' else np.int64
A, B, T, X = (np.load(f + '.npy') for f in 'ABTX')
A, B, T = (x.astype(t) for x in (A, B, T))
for n, line in enumerate(open('lines.txt'), 1):
    want, got = eval(line.split('|')[2]), np.load(f'C{n}.npy')
    assert np.allclose(got, want, rtol=2e-6 if '$t' == 'f32' else 1e-11), (line, '$t $run', got, want)"
        done < <(some $n "--sites 1" "--sites 3" "--without S-1" "--codegen off")
    done
}

@test "a sum held by entries whose first terms are smaller than itself" {
    py 'r = np.random.default_rng(5)
for name in "a", "b":
    m = r.integers(1, 9, (20, 70, 50)) * (r.random((20, 70, 50)) < .1)
    np.save(name + ".npy", m.astype("f8"))
    with open(name + ".tns", "w") as f:
        for at in zip(*np.nonzero(m)): print(*(i + 1 for i in at), m[at], file=f)'
    for f in a b; do tra import -q $f.tns --shape 20x70x50 --storage coo --block 20x30x50 -o $f.h5; done
    # the blocks of 10 along j come first
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
AR = rekey(A, (i,j,k) -> (i, 2-j, k))
BR = rekey(B, (i,j,k) -> (i, 2-j, k))
S = agg(join(AR, BR, [0,1,2], [0,1,2], elemmul), [0,2], matadd)
output S as coo
END
    tra explain --operators p.tra >plan.txt
    grep -q 'agg S.* rows' plan.txt
    for sites in 1 3; do
        tra run -q p.tra --sites $sites
        tra export -q S.h5 -o s.npy
        py 'p = np.pad(np.load("a.npy") * np.load("b.npy"), ((0, 0), (0, 20), (0, 0)))
assert np.array_equal(np.load("s.npy"), p[:, :30] + p[:, 30:60] + p[:, 60:])'
    done
}

@test "what a plan says that is read of stored inputs is what the profile measures, where it is exact" {
    tra gen -q --shape 300 --block 70 -o x.h5
    tra gen -q --shape 300x300 --density 0.05 --seed 2 -o d.h5 --storage dense --block 64x300
    local storage statement sites i=0
    for storage in "csr --block 60x80" "csc --block 60x300 --codec zstd" "coo" "dcsr --block 300x90"; do
        # shellcheck disable=SC2086
        tra gen -q --shape 300x300 --density 0.05 --seed 1 -o a.h5 --storage $storage
        for statement in "C[i] = sum A[i,j] * x[j]" "C[j,i] as csr = A[i,j] + A[j,i]" "C = filter(A, (i,j) -> i == 0)" \
            "C[i,j] as csr = A[i,j] * D[i,j]" "C[i] as dense = sum A[i,i]" "C[i,k] as csr = sum A[i,j] * A[j,k]"; do
            printf 'input A from "a.h5"\ninput x from "x.h5"\ninput D from "d.h5"\n%s\noutput C to "c.h5"\n' "$statement" >p.tra
            for sites in 1 2; do
                status 0 tra run -q p.tra --sites $sites --profile "$((++i)) $storage: $statement, $sites.json"
            done
        done
    done
    py '
assert len(sys.argv) == 1 + 48
for name in sys.argv[1:]:
    d = json.load(open(name)); p = d["plans"][0]; m = sum(s["disk_read_bytes"] for s in p["measured"]["sites"])
    kind, said = p["disk_read_bytes_kind"], p["disk_read_bytes"]
    assert m == said if kind == "exact" else m <= p["disk_read_bytes_bound"], (kind, said, m, name)' ./*.json
}

@test "products of matrices of 1e9 rows and columns, of which few elements are there" {
    py '
r = np.random.default_rng(3); n = 10**9; m = 400
i, j = r.integers(1, n + 1, m), r.integers(1, 30, m) * 33333333
open("a.mtx", "w").write(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {m}\n" + "".join(
    f"{x} {y} {z}\n" for x, y, z in zip(i, j, r.integers(1, 9, m))))'
    tra import -q a.mtx --storage dcsr -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'C[i,k] as dcsr = sum A[i,j] * A[k,j]' 'D[i,k] as coo = sum A[j,i] * A[j,k]' \
        'output C' 'output D' >p.tra
    for sites in 1 3; do
        status 0 tra run -q p.tra --memory 200M --sites $sites
        tra export -q C.h5 -o C.mtx
        tra export -q D.h5 -o D.mtx
        py '
import scipy.io
def read(f): x = scipy.io.mmread(f); return x.row, x.col, x.data
def entries(i, j, v): return dict(zip(zip(i.tolist(), j.tolist()), v.tolist()))
i, j, v = read("a.mtx")
for name, rows, keys in ("C", i, j), ("D", j, i):
    want = {}
    for a in range(len(v)):
        for b in np.flatnonzero(keys == keys[a]):
            at = (int(rows[a]), int(rows[b])); want[at] = want.get(at, 0) + v[a] * v[b]
    assert entries(*read(name + ".mtx")) == want, name'
    done
}

@test "no zero of a sparse type has a sign in a dense dataset, however its arrays are held" {
    py '
import scipy.sparse as sp, scipy.io as io
a = sp.random(40, 40, .3, random_state=2, format="lil"); a[3:9] = 0; a = a.tocsr(); a.data = -np.ceil(9 * a.data)
a.eliminate_zeros(); io.mmwrite("a.mtx", a); np.save("x.npy", np.ones(40))'
    tra import -q a.mtx --storage csr --block 10x20 -o a.h5
    tra import -q x.npy --block 20 -o x.h5
    printf '%s\n' 'input A from "a.h5"' 'input x from "x.h5"' 'y[i] = sum A[i,j] * x[j]' 'V[i] = -y[i]' \
        'T[] = max A[i,j]' 'S[] = -T[]' 'N[i,j] = -A[i,j]' 'output V' 'output S' 'output N' >p.tra
    for sites in 1 3; do
        status 0 tra run -q p.tra --sites $sites
        py '
import scipy.io as io
a = io.mmread("a.mtx").toarray()
for name, want in ("V", -a.sum(1)), ("S", 0), ("N", -a):
    x = h5py.File(name + ".h5")["data"][()]
    assert (x == want).all() and not np.signbit(x).any(), name'
    done
}

@test "tuples that come while they are written take their own bytes, not those of their bound" {
    tra gen -q --shape 4000x4000 --block 400x1000 --storage csr --density 0.01 --seed 3 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'B = reblock(A, [700, 500])' 'output B' >p.tra
    status 0 tra run p.tra --sites 3
    # a third of 160,000 entries, twice; a block of its bound has as many as all of the input's that it meets
    written=$(grep -oE '[0-9.]+ [KM]iB written' <<<"$output")
    [[ $written == *KiB* || ${written%%.*} -lt 5 ]]
    status 0 tra diff -q a.h5 B.h5
}

@test "entries times rows of a dense matrix, result by entries: many columns, zeros and infinities among them" {
    tra gen -q --shape 40x50x60 --density 0.002 --storage csf --seed 3 -o a.h5
    tra export -q a.h5 -o a.npy
    py 'import numpy as np
d = np.random.default_rng(1).random((60, 130)) - 0.5
d[:, 60:70] = 0
d[::7, 128] = 0
d[3, 127] = np.inf
np.save("d.npy", d)'
    tra import -q d.npy -o d.h5
    printf '%s\n' 'input A from "a.h5"' 'input D from "d.h5"' 'Q[i,j,r] as csf = sum A[i,j,l] * D[l,r]' \
        'output Q to "q.h5"' >p.tra
    for plan in 1 2; do # fused, and by a contraction of two
        status 0 tra run -q p.tra --plan $plan
        tra export -q q.h5 -o q.npy
        py 'import numpy as np
a, d, q = np.load("a.npy"), np.load("d.npy"), np.load("q.npy")
want = np.zeros(q.shape)
for i, j, l in zip(*np.nonzero(a)): want[i, j] += a[i, j, l] * d[l]
assert np.array_equal(np.isinf(q), np.isinf(want)) and np.isinf(want).any()
assert np.allclose(q[np.isfinite(want)], want[np.isfinite(want)]) and q.any()'
    done
    output=$("$TRA" explain --operators p.tra --alternatives=2 | grep -c '^[* ] [12]  \(fused \)\?local ')
    is 2 echo "$output"
}

@test "sums of f32 along rows, along columns and of all are formed in f64, dense or held as rows" {
    py '
import scipy.sparse as sp
a = np.zeros((300, 300), "f4"); a[7], a[:, 9] = 2.0 ** -25, 2.0 ** -25; a[7, 0] = a[0, 9] = 1
sp.save_npz("f.npz", sp.csr_matrix(a)); np.save("f.npy", a)'
    for block in 300x300 300x150; do
        tra import -q f.npz --storage csr --block $block -o f.h5
        for s in dense coo; do
            printf 'input A from "f.h5"\nr[i] as %s = sum A[i,j]\nc[j] as %s = sum A[i,j]\nt[] = sum A[i,j]\n' $s $s >f.tra
            printf 'output r\noutput c\noutput t\n' >>f.tra
            status 0 tra run -q f.tra
            for f in r c t; do tra export -q $f.h5 --to npy -o $f.npy; done
            py '
a = np.load("f.npy").astype("f8")
for f, want in ("r", a.sum(1)), ("c", a.sum(0)), ("t", a.sum()):
    got = np.load(f + ".npy"); assert got.dtype == "f4" and np.allclose(got, want, rtol=2.5e-7, atol=0), (f, got, want)'
        done
    done
}

@test "sums of many products of f32 have as many digits as one; a stored 0 meets what is no number and adds nothing" {
    py '
import scipy.sparse as sp
r = np.random.default_rng(5)
for n in "a", "b": sp.save_npz(n + ".npz", sp.diags(list(r.random((61, 20000)).astype("f4")), range(-30, 31), shape=(20000, 20000), format="csr", dtype="f4"))
z = sp.csr_matrix(np.array([[0, 2, 3], [1, 0, 0]], "f4")); z.data[0] = 0; sp.save_npz("z.npz", z)
w = sp.csr_matrix(np.array([[0, 1, 1], [1, 0, 0]], "f4")); w.data[0] = np.inf; sp.save_npz("w.npz", w)'
    for block in 20000x20000 4000x7000; do
        for n in a b; do tra import -q $n.npz --storage csr --block $block -o $n.h5; done
        printf 'input A from "a.h5"\ninput B from "b.h5"\nt[] = sum A[i,j]*B[i,j]\nc[j] = sum A[i,j]*B[i,j]\noutput t\noutput c\n' >f.tra
        status 0 tra run -q f.tra
        for f in t c; do tra export -q $f.h5 --to npy -o $f.npy; done
        py '
import scipy.sparse as sp
p = sp.load_npz("a.npz").astype("f8").multiply(sp.load_npz("b.npz").astype("f8"))
t, c = np.load("t.npy"), np.load("c.npy")
assert t.dtype == c.dtype == "f4" and abs(t - p.sum()) < 1e-6 * p.sum() and np.allclose(c, np.asarray(p.sum(0))[0], rtol=1e-6), (t, p.sum())'
    done
    for n in z w; do tra import -q $n.npz --storage csr -o $n.h5; done
    printf 'input Z from "z.h5"\ninput W from "w.h5"\nt[] = sum Z[i,j]*W[i,j]\noutput t\n' >f.tra
    status 0 tra run -q f.tra
    [ "$(tra export -q t.h5 --to csv -o - | tail -n 1)" = 4 ]
}

@test "products of sparse matrices: pairs that meet bound the result and are the work, however blocks are cut" {
    py "
import numpy as np, scipy.sparse as s
r = np.random.default_rng(3)
i, j = (np.minimum((600 * r.random(9000) ** 3).astype(int), 599) for _ in range(2))
a = s.coo_matrix((np.ones(9000), (i, j)), (600, 600)).tocsr()
a.data[:] = 1
b = a[::-1].tocsr()
s.save_npz('a.npz', a)
s.save_npz('b.npz', b)
x, y = [m.getnnz(0).astype(int) for m in (a, b)], [m.getnnz(1).astype(int) for m in (a, b)]
for name, c, pairs in (('A[i,k] * B[k,j]', a @ b, x[0] @ y[1]), ('A[k,i] * A[k,j]', a.T @ a, y[0] @ y[0]),
                       ('A[k,i] * B[k,j]', a.T @ b, y[0] @ y[1]), ('A[i,k] * B[j,k]', a @ b.T, x[0] @ x[1])):
    print(c.nnz, pairs, name)" >truth
    while read -r cut storage; do
        tra import -q a.npz -o a.h5 --storage "$storage" --block "$cut"
        tra import -q b.npz -o b.h5 --storage "$storage" --block "${cut#*x}x${cut%x*}"
        while read -r entries pairs product; do
            printf 'input A from "a.h5"\ninput B from "b.h5"\nQ[i,j] = sum %s\noutput Q as csr\n' "$product" >p.tra
            tra check -q --format json p.tra >check
            tra explain -q --format json p.tra >plans
            PAIRS=$pairs ENTRIES=$entries py "
import json, os
q = [r for r in json.load(open('check'))['relations'] if r['name'] == 'Q'][0]
plans = json.load(open('plans'))['plans']
pairs, entries = int(os.environ['PAIRS']), int(os.environ['ENTRIES'])
print('$cut $storage $product', entries, pairs, q, [(p['strategy'], p['flops']) for p in plans])
assert entries <= q['entries_bound'] <= min(pairs, 360000) and q['entries_bound'] >= .98 * min(pairs, 360000)
assert .6 * entries <= q['entries'] <= 1.5 * entries
assert all(p['flops'] >= 1.7 * pairs for p in plans) # of the smaller last blocks fused plans expect less
assert any(p['flops'] <= 2.05 * pairs for p in plans if 'fused' not in p['strategy'])"
        done <truth
    done <<<$'200x600 csr\n200x600 dcsr\n150x170 csr\n600x200 dcsr'
    tra import -q b.npz -o b.h5 --storage csc --block 600x600 # whose rows are counted by its coordinates
    printf 'input A from "a.h5"\ninput B from "b.h5"\nQ[i,j] = sum A[i,k] * B[k,j]\noutput Q as csr\n' >p.tra
    read -r entries pairs _ <truth
    tra check --format json p.tra >check
    is "$pairs" py 'print(json.load(open("check"))["relations"][-1]["entries_bound"])'
}

@test "sums of the rows or columns of a sparse matrix in large blocks take memory for entries, not for blocks" {
    tra gen -q --shape 20000x20000 --density 1e-4 --storage csr --block 10000x10000 --seed 5 -o A.h5 # of 800 MB each
    printf '%s\n' 'input A from "A.h5"' 'r[i] as dense = sum A[i,j]' 'c[j] as dense = sum A[i,j]' 'output r' 'output c' >p.tra
    status 0 tra explain --format json p.tra
    [ "$(json plans.0.peak_memory_bytes)" -lt 200000000 ]
    tra run -q p.tra
    tra export -q A.h5 --to mtx -o A.mtx
    py 'import scipy.io
a = scipy.io.mmread("A.mtx").tocsr()
for axis, name in (1, "r"), (0, "c"):
    np.testing.assert_allclose(h5py.File(name + ".h5")["data"][()], np.asarray(a.sum(axis)).ravel(), rtol=1e-12, atol=1e-13)'
}

@test "sums of columns and of rows of many sparse blocks fold each block first: blocks are not added up as matrices" {
    py '
import scipy.sparse as sp
r = np.random.default_rng(4); n = 72000
a = sp.csr_matrix((np.rint(9 * r.random(n)), (r.integers(0, 4000, n), r.integers(0, 90000, n))), (4000, 90000))
sp.save_npz("a.npz", a)
np.save("c.npy", a.sum(0).A1); np.save("r.npy", a.sum(1).A1)'
    for block in 500x90000 1000x30000; do
        tra import -q a.npz --storage csr --block "$block" -o a.h5
        printf 'input A from "a.h5"\nc[j] = sum A[i,j]\nr[i] = sum A[i,j]\noutput c\noutput r\n' >p.tra
        tra explain --operators p.tra >plan
        ! grep -E 'agg .*(\([0-9]+x[0-9]+\) f64 rows|"ij->[ij]" \.)' plan || { cat plan; false; }
        for sites in 1 3; do
            rm -f c.h5 r.h5
            tra run -q --no-history --sites $sites p.tra
            tra export -q c.h5 -o cc.npy
            tra export -q r.h5 -o rr.npy
            py 'assert all((np.load(x + x + ".npy") == np.load(x + ".npy")).all() for x in "cr")'
        done
    done
}

@test "a vector times the rows of a sparse matrix: zeros, infinities and NaN on both sides, sparse and dense vectors" {
    py '
import scipy.io, scipy.sparse as sp
r = np.random.default_rng(4)
m = sp.random(90, 70, 0.15, format="coo", random_state=5)
m.data = r.choice([0.0, -0.0, 1.5, -2.0, 1e3], m.nnz)
odd = m.copy()
odd.data = np.where(r.random(m.nnz) < 0.05, r.choice([np.inf, -np.inf, np.nan], m.nnz), m.data)
ints = m.copy()
ints.data = r.integers(-3, 4, m.nnz)
for name, a in (("m", m), ("odd", odd), ("ints", ints)): scipy.io.mmwrite(name + ".mtx", a)
v = np.where(r.random(90) < 0.3, 0, r.normal(size=90))
np.save("v.npy", v)
np.save("o.npy", np.where(r.random(90) < 0.2, r.choice([np.inf, np.nan, -0.0], 90), v))
np.save("k.npy", r.integers(-3, 4, 90))'
    for f in m odd ints; do tra import -q $f.mtx -o $f.h5 --block 40x70; done
    for f in v o k; do
        tra import -q $f.npy -o $f.h5 --block 40
        tra import -q $f.npy -o s$f.h5 --block 40 --storage csr 2>/dev/null || cp $f.h5 s$f.h5
    done
    for G in m odd ints; do
        for x in v o k sv so sk; do
            printf '%s\n' "input G from \"$G.h5\"" "input x from \"$x.h5\"" 'y[j] as dense = sum x[i] * G[i,j]' \
                'output y to "y.h5"' >p.tra
            status 0 tra run -q --engine reference p.tra
            mv y.h5 want.h5
            for more in "" $(some $((++i)) "--memory=40M --threads=1" "--sites=2 --threads=1" | head -1 | tr ' ' ';'); do
                # shellcheck disable=SC2086
                status 0 tra run -q ${more/;/ } p.tra
                status 0 tra diff --rtol 1e-12 y.h5 want.h5 || { echo "$G $x $more"; false; }
            done
        done
    done
    # a result of several tiles
    py '
import scipy.io, scipy.sparse as sp
r = np.random.default_rng(6)
at = np.unique(r.integers(0, 90 * 1300000, 2340)) # sp.random would permute all of them
m = sp.coo_matrix((r.random(at.size), divmod(at, 1300000)), (90, 1300000))
m.data[::50] = 0
scipy.io.mmwrite("wide.mtx", m)
np.save("want.npy", np.load("v.npy") @ m.tocsr())'
    tra import -q wide.mtx -o wide.h5 --memory 1G
    tra import -q want.npy -o want.h5
    for x in v sv; do
        printf '%s\n' 'input G from "wide.h5"' "input x from \"$x.h5\"" 'y[j] as dense = sum x[i] * G[i,j]' 'output y to "y.h5"' >p.tra
        status 0 tra run -q --threads 2 p.tra
        status 0 tra diff --rtol 1e-12 y.h5 want.h5
    done
}

@test "what becomes dense beyond the ceiling is told of: operand, statement, size, what to write instead" {
    tra gen -q --shape 1000000x1000000 --density 1e-8 -o g.h5:A
    printf 'input G from "g.h5:A"\nP[i] = median[j](G[i,j])\noutput P\n' >p.tra
    status 4 tra run p.tra --memory 1G
    [[ $output == *"G is sparse and becomes dense"*"TiB, in 'median[j](G[i,j])'"* ]]
    printf 'input G from "g.h5:A"\nP[i,j] = exp(G[i,j])\noutput P\n' >p.tra
    status 4 tra run p.tra --memory 1G
    [[ $output == *"G is sparse and becomes dense"*"TiB, in 'P[i,j] = exp(G[i,j])'"* ]]
    printf 'input G from "g.h5:A"\nP[i,j] = G[i,j] >= 0\noutput P\n' >p.tra
    status 4 tra run p.tra --memory 1G
    [[ $output == *"G is sparse and becomes dense"*"GiB, in 'P[i,j] = G[i,j] >= 0'"* ]]
    printf 'input G from "g.h5:A"\nP[i,j] = if(G[i,j] > 0.5, exp(G[i,j]), 0) + max(G[i,j], 0) + (G[i,j] != 0)\noutput P\n' >p.tra
    status 0 tra run p.tra --memory 1G
    # memory that is short for another reason is not put down to this
    printf 'input G from "g.h5:A"\nP[i,k] = sum G[i,j] * G[j,k]\noutput P\n' >p.tra
    status 4 tra run p.tra --memory 24M
    [[ $output != *"becomes dense"* ]]
}

@test "a product under a mask, and triangles, are made without the product" {
    tra gen -q --shape 20000x20000 --density 0.001 --seed 1 --storage csr -o g.h5:A
    printf 'input A from "g.h5:A"\nT[] = sum A[i,j] * A[j,k] * A[k,i]\noutput T to "t.h5"\n' >t.tra
    printf 'input A from "g.h5:A"\nC[i,k] = sum (A[i,k] != 0) * A[j,i] * A[j,k]\noutput C to "c.h5"\n' >c.tra
    printf 'input A from "g.h5:A"\nM[i,k] = min -2 * A[i,k] * A[j,i] * A[j,k]\nN[i,k] = min A[i,k] * A[j,i] * A[j,k]\n' >m.tra
    printf 'output %s to "%s.npz"\n' M m N n >>m.tra
    for p in t c m; do
        status 0 tra run $p.tra --memory 96M # the product has 8e6 entries
        status 0 tra explain --operators $p.tra
        [[ $output == *"masked "*" by"* ]]
    done
    [[ $output == *"masked min -2 by"* ]]
    status 0 tra export -q g.h5:A --to npz -o g.npz
    status 0 tra export -q c.h5 --to npz -o c.npz
    status 0 tra export -q t.h5 --to npy -o t.npy
    status 0 "$PYTHON" - <<'END'
import numpy as np, scipy.sparse as sp
a, c = sp.load_npz("g.npz").tocsr(), sp.load_npz("c.npz").tocsr()
want = (a.T.tocsr() @ a).multiply(a != 0).tocsr()
assert c.nnz == want.nnz and abs(c - want).max() < 1e-12, (c.nnz, want.nnz)
m, b = sp.load_npz("m.npz").tocsr(), a.T.tocsr()
assert m.nnz == want.nnz and sp.load_npz("n.npz").nnz == 0  # no two columns have all rows: 0 is among the products
for i in range(0, 20000, 999):
    for k in m[i].indices: assert abs(m[i, k] + 2 * a[i, k] * b[i].multiply(b[k]).max()) < 1e-12
t = a.multiply((a @ a).T).sum()
assert abs(np.load("t.npy") / t - 1) < 1e-12, (np.load("t.npy"), t)
END
}

@test "sums under a mask whose rows lie near each other, and of rows far longer than those of the mask, by each plan" {
    "$PYTHON" -c 'import numpy as np, scipy.sparse as sp
r = np.random.default_rng(3)
for n, share in (("m", .012), ("a", .03), ("b", .03)):
    x = sp.random(400, 400, share, "lil", random_state=r, data_rvs=lambda n: r.integers(1, 9, n).astype(float))
    if n != "m": x[r.integers(0, 400, 9)] = 3
    sp.save_npz(n, x.tocsr())'
    for m in m a b; do tra import -q $m.npz --block 400x400 -o $m.h5; done
    for b in 'B[j,k]' 'B[k,j]'; do
        printf '%s\n' 'input M from "m.h5"' 'input A from "a.h5"' 'input B from "b.h5"' \
            "C[i,k] as csr = sum M[i,k] * A[i,j] * $b" 'output C to "c.npz"' >p.tra
        plans=$(tra cost p.tra | grep -c '^[0-9]') masked=0
        for ((k = 1; k <= plans; k++)); do
            status 0 tra explain --operators --plan $k p.tra
            [[ $output != *"masked "* ]] || masked=1
            status 0 tra run -q --plan $k p.tra
            status 0 "$PYTHON" -c 'import sys, scipy.sparse as sp
m, a, b, c = (sp.load_npz(n + ".npz").tocsr() for n in "mabc")
want = (a @ (b if sys.argv[1] == "B[j,k]" else b.T)).multiply(m).tocsr()
assert (c != want).nnz == 0, sys.argv' "$b"
        done
        [ $masked = 1 ]
    done
}

@test "largest products of entries stay sparse: paths of two steps" {
    tra gen -q --shape 20000x20000 --density 0.0005 --seed 1 --dtype bool --storage csr -o g.h5:A
    printf 'input A from "g.h5:A"\nC[i,k] = max A[i,j] * A[j,k]\noutput C to "c.h5"\n' >c.tra
    status 0 tra run c.tra --memory 128M
    status 0 tra export -q g.h5:A --to npz -o g.npz
    status 0 tra export -q c.h5 --to npz -o c.npz
    status 0 "$PYTHON" - <<'END'
import numpy as np, scipy.sparse as sp
a, c = (sp.load_npz(f).tocsr().astype("f4") for f in ("g.npz", "c.npz"))
assert ((a @ a > 0) != (c > 0)).nnz == 0 and c.max() == 1
END
}

@test "random products of all transposes, masks, types, storages, blocks, ranks and plans are what scipy says" {
    status 0 "$PYTHON" "$BATS_TEST_DIRNAME/products-random.py" "$TRA" "$([[ ${TRA_TEST_LONG-} ]] && echo 200 || echo 10)" 5
}

@test "rows that one operand alone has are taken at once: zeros among them are no entries, values are numpy's" {
    status 0 "$PYTHON" - <<'END'
import numpy as np, scipy.sparse as sp
g = np.random.default_rng(1)
a, b = (sp.random(900, 40, 0.05, "csr", random_state=i, data_rvs=lambda n: g.integers(1, 9, n).astype(float)) for i in (1, 2))
a.data[::97], a.data[5::301], a.data[7::500] = 0, np.nan, -0.0  # zeros that are stored
a, b = a.tolil(), b.tolil()
a[100:700], b[:60], b[80:110], b[400:405], b[800:] = 0, 0, 0, 0, 0
for name, m in (("a", a), ("b", b)): sp.save_npz(name + ".npz", m.tocsr())
END
    tra import -q a.npz -o a.h5
    tra import -q b.npz -o b.h5
    printf 'input A from "a.h5"\ninput B from "b.h5"\nP[i,j] as csr = A[i,j] + B[i,j]\nM[i,j] as csr = A[i,j] - B[i,j]\nT[i,j] as csr = if(B[i,j] > 4, B[i,j], 0)\nS = store(stack(A, B, 0), csr)\nX[i,j] as csr = max(0, min(A[i,j], B[i,j]) + B[i,j])\n' >p.tra
    printf 'output %s to "%s.npz"\n' P p M m T t S s X x >>p.tra
    for threads in 1 2; do
        status 0 tra run p.tra --threads "$threads"
        status 0 "$PYTHON" - <<'END'
import numpy as np, scipy.sparse as sp
a, b = (sp.load_npz(f).toarray() for f in ("a.npz", "b.npz"))
want = {"p": a + b, "m": a - b, "t": np.where(b > 4, b, 0), "s": np.concatenate([a, b]), "x": np.maximum(0, np.minimum(a, b) + b)}
for name, w in want.items():
    c = sp.load_npz(name + ".npz")
    assert c.nnz == np.count_nonzero(w) and np.array_equal(c.toarray(), w, equal_nan=True), (name, c.nnz, np.count_nonzero(w))
END
    done
}

@test "a repartition into single elements of a large matrix is planned at once, and refused" {
    tra gen -q --shape 100000x100000 --density 1e-7 --storage csr -o a.h5:A
    printf 'input A from "a.h5:A"\nB = repart(A, [100000, 100000])\noutput B to "b.h5"\n' >p.tra
    status 4 timeout 20 "$TRA" run p.tra
    [[ $output == *"no plan fits"* ]]
}

@test "shortest ways of two steps, as the manual writes them, are sparse" {
    status 0 "$PYTHON" - <<'END'
import numpy as np, scipy.sparse as sp
a = sp.random(2000, 2000, 0.002, "csr", random_state=3)
a.data = np.ceil(a.data * 20)
sp.save_npz("a.npz", a)
END
    tra import -q a.npz -o a.h5
    sed -n '/^W\[i,j\]/,/^D\[i,k\]/{s/\\-/-/g;p}' "$ROOT/man/tra-storage.5" >ways
    { echo 'input A from "a.h5"'; cat ways; echo 'output D to "d.npz"'; } >p.tra
    status 0 tra run p.tra --memory 64M
    status 0 "$PYTHON" - <<'END'
import numpy as np, scipy.sparse as sp
a, d = (sp.load_npz(f).tocsr() for f in ("a.npz", "d.npz"))
for i in range(0, 2000, 99):
    want = {}
    for j, x in zip(a[i].indices, a[i].data):
        for k, y in zip(a[j].indices, a[j].data): want[k] = min(want.get(k, np.inf), x + y)
    got = dict(zip(d[i].indices, d[i].data))
    assert got.keys() == want.keys() and all(abs(got[k] - want[k]) < 1e-9 for k in want), i
END
}

@test "largest and least products stay sparse whatever the types of their operands" {
    py '
import scipy.sparse as sp
g = np.random.default_rng(5)
for x, n, m in ("a", 3000, 400000), ("b", 400000, 3000):
    sp.save_npz(x + ".npz", sp.csr_matrix((g.integers(-4, 5, 9000), (g.integers(0, n, 9000), g.integers(0, m, 9000))), (n, m)))'
    printf '%s\n' 'input A from "a.h5"' 'input B from "b.h5"' 'C[i,k] = max A[i,j] * B[j,k]' \
        'D[i,k] = min A[i,j] * B[j,k]' 'output C' 'output D' >p.tra
    for types in "i64 i64" "f32 f64" "i32 i32" "i64 f32" "i32 i64"; do
        read -r left right <<<"$types"
        tra import -q a.npz --dtype "$left" --storage csr --block 3000x400000 -o a.h5
        tra import -q b.npz --dtype "$right" --storage csr --block 400000x3000 -o b.h5
        tra run -q --memory 200M p.tra # with dense operands these were 27 GB
        for x in C D; do
            tra export -q $x.h5 -o $x.npz
            if [ "$types" = "i64 i64" ]; then cp $x.npz want$x.npz; fi
            py 'import scipy.sparse as sp; c, d = (sp.load_npz(f) for f in sys.argv[1:]); assert c.nnz == d.nnz > 0 and (c != d).nnz == 0' \
                want$x.npz $x.npz
        done
    done
}

@test "a matrix by columns is read as the transposed one by rows, where that is what is wanted" {
    py '
import scipy.sparse as sp
a = sp.random(70, 50, .1, "csc", random_state=3)
sp.save_npz("a.npz", a)'
    cat >p.tra <<'END'
input A from "a.h5"
T[j,i] = A[i,j]
S[j] = sum A[i,j]
R[i] = sum A[i,j]
G[j,k] = sum A[i,j] * A[i,k]
P[i,k] = sum A[i,j] * A[k,j]
output T
output S
output R
output G
output P
END
    for how in "csc 70x50" "csc 20x50" "dcsc 30x20"; do
        tra import -q a.npz -o a.h5 --storage "${how% *}" --block "${how#* }"
        tra compile -q p.tra -o p.plan
        for more in p.tra p.plan "--without R1-9 p.tra" "--sites 3 p.tra"; do
            tra run -q $more
            for f in T S R G P; do tra export -q $f.h5 -o $f.npy; done
            py '
import scipy.sparse as sp
a = sp.load_npz("a.npz").toarray()
same = lambda f, x: np.testing.assert_allclose(np.load(f + ".npy"), x, rtol=1e-12)
same("T", a.T), same("S", a.sum(0)), same("R", a.sum(1)), same("G", a.T @ a), same("P", a @ a.T)'
        done
    done
    tra import -q a.npz -o a.h5 --storage csc
    run tra explain --operators - <<<$'input A from "a.h5"\nT[j,i] = A[i,j]\noutput T'
    has "input A by columns"
    lacks '"ij->ji"'
}

@test "what is stored by columns is computed by columns: the same files as of matrices that are imported so" {
    py '
import scipy.sparse as sp
r = np.random.default_rng(3)
a, b = (sp.random(70, 50, .1, "csr", random_state=i, data_rvs=lambda n: r.integers(-4, 5, n).astype("f8")) for i in (3, 4))
a.eliminate_zeros(); b.eliminate_zeros()
sp.save_npz("a.npz", a), sp.save_npz("b.npz", b)'
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
P[i,k] as csc = sum A[i,j] * B[k,j]
G[j,k] as dcsc = max A[i,j] * B[i,k]
M[i,j] as csc = abs(A[i,j])
S[i,j] as csc = A[i,j] + 2 * A[i,j] * A[i,j]
output P
output G
output M
output S
END
    for how in "csr 20x30 i64" "csc 20x30 f32" "csc 70x50 f64"; do
        read -r storage block type <<<"$how"
        for x in a b; do tra import -q $x.npz -o $x.h5 --storage "$storage" --block "$block" --dtype "$type"; done
        for sites in 1 3; do
            tra run -q --sites $sites p.tra
            for x in P:csc G:dcsc M:csc S:csc; do
                f=${x%:*}
                tra verify -q $f.h5
                tra export -q $f.h5 -o $f.npz
                block=$(tra info $f.h5 | sed -n 's/ *blocks *\([0-9]*\) x \([0-9]*\),.*/\1x\2/p')
                tra import -q $f.npz -o want.h5 --storage ${x#*:} --block "$block" --dtype "$type"
                py '
import h5py
def all_of(path):
    found = {}
    with h5py.File(path) as f: f.visititems(lambda n, x: found.update({n.partition("/")[2]: x[()]}) if hasattr(x, "dtype") else None)
    return found
got, want = all_of(sys.argv[1] + ".h5"), all_of("want.h5")
assert got.keys() == want.keys() and all(np.array_equal(got[k], want[k]) for k in want), (sys.argv, got, want)' $f
            done
        done
    done
    run tra explain --operators - <<<$'input A from "a.h5"\nP[i,k] as csc = sum A[i,j] * A[k,j]\noutput P'
    has "output P by columns as csc"
    lacks '"ij->ji"'
}

@test "functions of a transposed matrix, and outer products of its rows, of so many entries that they are counted first" {
    status 0 "$PYTHON" - "$TRA" <<'EOF'
import numpy as np, scipy.sparse as sp, subprocess, sys
tra = lambda *words: subprocess.run((sys.argv[1],) + words, check=True)
g = np.random.default_rng(7)
at = g.integers(0, 40, 200000), g.integers(0, 90000, 200000)
for t, d in (("f64", "f8"), ("f32", "f4"), ("i32", "i4"), ("bool", "?")):
    a = sp.coo_matrix((g.integers(-3, 6, 200000), at), (40, 90000)).tocsr()
    a.data = a.data.astype(d)  # some entries are 0
    sp.save_npz("a.npz", a)
    tra("import", "-q", "a.npz", "--block", "40x90000", "--storage", "csc" if t == "f32" else "csr", "-o", "a.h5")
    with open("p.tra", "w") as f:
        f.write('input A from "a.h5"\nC[j,i] as csr = if(A[i,j] > 0, 2 * A[i,j], 0)\nD[i,k] as dense = sum A[i,j] * A[k,j]\n'
                'output C to "c.h5"\noutput D to "d.h5"\n')
    tra("run", "-q", "p.tra")
    for x in "c.npz", "d.npy": tra("export", "-q", x[0] + ".h5", "-o", x)
    want, got = a.astype("f8").toarray(), sp.load_npz("c.npz")
    assert (got.data != 0).all() and (got.toarray() == (np.where(want > 0, 2 * want, 0)).T).all(), t
    assert (np.load("d.npy") == want @ want.T).all(), t
EOF
}
