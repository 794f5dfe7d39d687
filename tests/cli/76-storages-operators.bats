# Every operator takes operands in every storage: what numpy says, on 1 and on 3 sites.
load helper

# Matrices that storages can hold: x.npy, b.npy, and a.STORAGE.h5 with a.STORAGE.npy, 24 x 24, of whole numbers.
operands() {
    py '
import scipy.io, scipy.sparse, subprocess
r = np.random.default_rng(3)
n = 24
a = r.integers(-4, 5, (n, n)) * (r.random((n, n)) < 0.25) * 1.0
a[5] = a[:, 7] = 0
i, j = np.ogrid[:n, :n]
held = {"band(2)": a * (abs(i - j) <= 2), "lower": np.tril(a), "upper": np.triu(a), "diagonal": a * (i == j) + (i == j),
        "symmetric": np.tril(a) + np.tril(a, -1).T}
one = ["bsr(2,2)", "band(2)", "lower", "upper", "diagonal", "symmetric", "zorder", "own.tra:strided"]
names = ["csr", "csc", "coo", "dcsr", "dcsc", "csf", "own.tra:rows", "own.tra:columns"]
open("own.tra", "w").write("""storage rows[m, n] = levels(sparse, dense)
storage columns[m, n] = levels(sparse, dense) order [1, 0]
storage strided[m, n] {
    real array v(m*n)
    sum(<i,_> in 0:m, <j,_> in 0:n) if ((i + j) % 2 == 0) { @unique (i,j) -> v(j*m + i) }
}
""")
held["own.tra:strided"] = a * ((i + j) % 2 == 0)
np.save("b.npy", r.integers(-3, 4, (n, 5)) * 1.0); np.save("x.npy", r.integers(-3, 4, n) * 1.0)
def tra(*c): subprocess.run([sys.argv[1], "import", "-q", *c], check=True)
tra("b.npy", "-o", "b.h5", "--block", "9x5"); tra("x.npy", "-o", "x.h5", "--block", "9")
for k, name in enumerate(names + one + ["dense", "dense"]):
    m = held.get(name, a)
    np.save(f"a{k}.npy", m)
    scipy.io.mmwrite(f"a{k}.mtx", scipy.sparse.coo_matrix(m), symmetry="general")
    block = [] if name in one or k % 2 else ["--block", "9x10"]
    more = []
    if name == "bsr(2,2)":
        s = scipy.sparse.bsr_matrix(scipy.sparse.csr_matrix(m), blocksize=(2, 2)); s.sort_indices()
        np.save("pos.npy", s.indptr); np.save("idx.npy", s.indices)
        more = ["--component", "pos=pos.npy", "--component", "idx=idx.npy"]
    tra(f"a{k}.mtx", "-o", f"a{k}.h5", "--storage", name, *block, *more)
open("storages", "w").write("\n".join(names + one + ["dense", "dense"]) + "\n")' "$TRA"
}

# operators K: p.tra, on aK.h5.
operators() {
    {
        echo "input A0 from \"a$1.h5\""
        cat <<'END'
input b from "b.h5"
input x from "x.h5"
A = reblock(A0, [9, 10])
product[i,k] = sum A[i,j] * b[j,k]
gram[i,k] = sum A[i,j] * A[k,j]
outer[j,k] = sum A[i,j] * A[i,k]
square[i,k] = sum A[i,j] * A[j,k]
mv[i] = sum A[i,j] * x[j]
vm[j] = sum index(i) * A[i,j]
triple[i,l] = sum A[i,j] * A[k,j] * A[k,l]
rows[i] = sum A[i,j]
columns[j] = sum A[i,j]
most[i] = max A[i,j]
least[j] = min A[i,j]
mean[i] = mean A[i,j]
many[j] = prod A[i,j]
twice[i,j] = A[i,j] + A[i,j]
minus[i,j] = A[i,j] - 2 * A[j,i]
times[i,j] = A[i,j] * A[j,i]
larger[i,j] = max(A[i,j], A[j,i])
mask[i,j] = A[i,j] * (A[i,j] > 2)
scaled[i,j] = A[i,j] * x[j]
quotient[i,j] = A[i,j] / 4
plus[i,j] = A[i,j] + 1
power[i,j] = abs(A[i,j]) ^ 2
growth[i,j] = exp(A[i,j]) - 1
turned[j,i] = A[i,j]
shares[i,j] = exp(A[i,j] - most[i])
whole[i] = sum shares[i,j]
softmax[i,j] = shares[i,j] / whole[i]
best[i] = argmax A[i,j]
total[] = sum A[i,j]
diagonal[i] = A[i,i]
tiled = concat(tile(A, 1, 3), 2, 1)
parts = repart(A, [2, 5])
doubled = transform(A, x -> 2 * x)
hadamard = join(A, A, [0,1], [0,1], (x, y) -> min(x, 2) * y)
apart = join(A, A, [0,1], [0,1], (x, y) -> x * x + y * y)
again = store(A, dcsr)
output product
output gram
output outer
output square
output mv
output vm
output triple
output rows
output columns
output most
output least
output mean
output many
output twice
output minus
output times
output larger
output mask
output scaled
output quotient
output plus
output power
output growth
output turned
output softmax
output best
output total
output diagonal
output tiled
output parts
output doubled
output hadamard
output apart
output again
output twice to "csc.h5" as csc
output minus to "coo.h5" as coo
END
    } >p.tra
}

# judged K: the outputs are what numpy makes of aK.npy.
judged() {
    py '
import subprocess
a, b, x = np.load(f"a{sys.argv[2]}.npy"), np.load("b.npy"), np.load("x.npy")
e = np.exp(a - a.max(1)[:, None])
want = dict(
    product=a @ b, gram=a @ a.T, outer=a.T @ a, square=a @ a, mv=a @ x, vm=np.arange(len(a)) @ a, triple=a @ a.T @ a,
    rows=a.sum(1), columns=a.sum(0), most=a.max(1), least=a.min(0), mean=a.mean(1), many=a.prod(0), twice=2 * a,
    minus=a - 2 * a.T, times=a * a.T, larger=np.maximum(a, a.T), mask=a * (a > 2), scaled=a * x, quotient=a / 4,
    plus=a + 1, power=a ** 2, growth=np.expm1(a), turned=a.T, softmax=e / e.sum(1)[:, None], best=a.argmax(1),
    total=a.sum(), diagonal=np.diag(a), tiled=a, parts=a, doubled=2 * a, hadamard=np.minimum(a, 2) * a,
    apart=2 * a * a, again=a, csc=2 * a, coo=a - 2 * a.T)
for name, w in want.items():
    subprocess.run([sys.argv[1], "export", "-q", name + ".h5", "-o", "got.npy"], check=True)
    assert np.allclose(np.load("got.npy").reshape(np.shape(w)), w, rtol=1e-12, atol=1e-14), (name, np.load("got.npy"), w)' "$TRA" "$1"
}

# of SITES [EACH]: every storage, or each so many-th of them.
of() {
    local k=0 storage
    operands
    while read -r storage; do
        if [ $((k % ${2:-1})) = 0 ]; then
            echo "$storage"
            operators $k
            status 0 tra run -q p.tra --sites "$1" --threads 1
            judged $k
        fi
        k=$((k + 1))
    done <storages
    [ $k = 18 ]
}

@test "every operator on operands in every storage is what numpy makes, on 1 site" {
    if [ "${TRA_TEST_LONG:-}" ]; then of 1; else of 1 2; fi
}

@test "every operator on operands in every storage is what numpy makes, on 3 sites" {
    if [ "${TRA_TEST_LONG:-}" ]; then of 3; else of 3 5; fi
}

@test "functions of two sparse operands that are 0 where both are, folded: by entries, in blocks that have no room densely" {
    cat >p.tra <<'END'
input A from "A.h5"
input B from "B.h5"
d[] = sum (A[i,j] - B[i,j])^2
r[i] = sum abs(A[i,j] - B[i,j])
c[j] = max abs(A[i,j] - B[i,j])
l[i] = min (A[i,j] + 2 * B[i,j])
q[i] = sum max(2 * A[i,j], B[i,j])
t[i] = sum abs(A[i,j] - B[j,i])
output d
output r
output c
output l
output q
output t
END
    for type in f8 f4 i8 i4; do
        py 't = sys.argv[1]; r = np.random.default_rng(2)
for x in "AB":
    a = (r.integers(-5, 6, (60, 60)) * (r.random((60, 60)) < .08)).astype(t)
    if t[0] == "f": a[3 if x == "A" else 5, 4] = np.nan if x == "A" else np.inf
    np.save(x + ".npy", a)' $type
        for x in A B; do tra import -q $x.npy -o $x.h5 --block 17x23 --storage csr; done
        for sites in 1 3; do
            tra run -q p.tra --sites $sites
            for x in d r c l q t; do tra export -q $x.h5 -o $x.npy; done
            py 'a, b = (np.load(x + ".npy") for x in "AB")
a, b = (x.astype("f8" if x.dtype.kind == "f" else "i8") for x in (a, b))
with np.errstate(all="ignore"):
    want = dict(d=((a - b) ** 2).sum(), r=abs(a - b).sum(1), c=abs(a - b).max(0), l=(a + 2 * b).min(1),
                q=np.maximum(2 * a, b).sum(1),
                t=abs(a - b.T).sum(1))
for k, w in want.items(): assert np.allclose(np.load(k + ".npy"), w, equal_nan=True, rtol=1e-5), k'
        done
    done
    # one block of 1.2 TiB if it were dense
    tra gen -q --shape 400000x400000 --density 5e-7 --seed 1 --block 400000x400000 -o A.h5
    tra gen -q --shape 400000x400000 --density 5e-7 --seed 2 --block 400000x400000 -o B.h5
    for x in A B; do tra export -q $x.h5 -o $x.npz; done
    grep -v ' [clqt]$\|^[clqt]' p.tra >large.tra
    tra run -q large.tra --memory 128M
    for x in d r; do tra export -q $x.h5 -o $x.npy; done
    py 'import scipy.sparse as sp
a, b = (sp.load_npz(x + ".npz").tocsr() for x in "AB")
assert np.allclose(np.load("d.npy"), ((a - b).multiply(a - b)).sum())
assert np.allclose(np.load("r.npy"), abs(a - b).sum(1).A1)'
}

@test "what is made of zeros before a result is stored sparsely counts among its entries" {
    tra gen -q --shape 200x600 --block 200x200 --density .0001 --seed 3 --storage coo -o C.h5
    printf 'input C from "C.h5"\nL = store(transform(C, log), dcsr)\nR = transform(L, rowsum)\noutput R\n' >p.tra
    tra explain -q --format json p.tra >out
    py 'for o in json.load(open("out"))["plans"][0]["operators"]:
    if o["op"] == "transform" and "rowsum" in o["label"]: assert o.get("entries_bound", o.get("entries", 600)) == 600, o'
    tra run -q p.tra
    py 'assert (h5py.File("R.h5")["data"][...] == -np.inf).all()'
}

@test "many short rows: with nothing in common, with zeros that were stored, of every type; alone, by blocks, by threads" {
    py '
import scipy.sparse as sp
g = np.random.RandomState(5)
for t in ("f8", "f4", "i8", "?"):
    a, b = (sp.random(5000, 400, .01, "csr", random_state=g, data_rvs=lambda n: g.randint(1, 4, n)).astype(t) for _ in "ab")
    a[:1500] = 0  # these have nothing in common
    a.eliminate_zeros()
    a.data[::7] = 0  # zeros that are stored
    t = np.dtype(t).name
    sp.save_npz(f"a_{t}.npz", a), sp.save_npz(f"b_{t}.npz", b)'
    local t storage block
    while read -r t storage block; do
        for x in a b; do tra import -q ${x}_$t.npz -o $x.h5 --storage $storage --block $block; done
        cat >p.tra <<'PROGRAM'
input A from "a.h5"
input B from "b.h5"
M[i,j] as csr = A[i,j] * B[i,j]
P[i,j] as csr = A[i,j] > 1
S = stack(A, B, 0)
T = stack(A, B, 1)
K = slice(A, [::3, :])
L = store(A, coo)
N[] as dense = min A[i,j]
X[j] as dense = max A[i,j]
PROGRAM
        for r in M P S T K L N X; do echo "output $r to \"$r.npy\"" >>p.tra; done
        tra run -q p.tra --threads 2
        py '
import scipy.sparse as sp
a, b = (sp.load_npz(f"{x}_{sys.argv[1]}.npz").toarray() for x in "ab")
want = {"M": a * b, "P": a > 1, "S": np.concatenate([a, b]), "T": np.concatenate([a, b], 1), "K": a[::3], "L": a, "N": a.min(), "X": a.max(0)}
for n, w in want.items(): assert np.array_equal(np.load(f"{n}.npy"), w), (n, sys.argv[1:])' $t $storage $block
    done <<<'float64 csc 5000x90
float32 csr 5000x400
int64 coo 700x400
bool dcsr 5000x90'
}

@test "a diagonal is cut of the blocks on it alone, however the matrix is cut" {
    tra gen -q --shape 400x400 --block 50x400 --density .1 --seed 3 -o a.h5
    printf 'input A from "a.h5"\nC[i] as dense = A[i,i]\noutput C to "c.npy"\n' >p.tra
    tra export -q a.h5 -o a.npy
    for sites in 1 3; do
        tra run -q p.tra --sites $sites --profile p.json
        py 'assert np.array_equal(np.load("c.npy"), np.diag(np.load("a.npy")))
p = json.load(open("p.json"))["plans"][0]["operators"]
assert [o["tuples"] for o in p if o["op"] == "repart"] == [8], p'
    done
}

@test "results that wait in memory, those that are saved at once, and those of little memory are the same bytes" {
    tra gen -q --shape 3000x3000 --block 200x3000 --density .02 --seed 4 -o a.h5
    printf 'input A from "a.h5"\nC[i,j] as csr = A[i,j] + A[j,i]\noutput C to "c.h5"\n' >p.tra
    tra run -q p.tra --no-history
    mv c.h5 want.h5
    for how in '--checkpoint 0' '--memory 56M' '--resume'; do
        # shellcheck disable=SC2086
        tra run -q p.tra --no-history $how
        cmp c.h5 want.h5
        [ -z "$(find "$TRA_SCRATCH" -type f)" ]
    done
}
