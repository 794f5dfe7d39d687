# Results stored by mappings whose positions follow from coordinates: band, lower, symmetric, zorder, one's own.
load helper

# p.tra: results in every such storage, of dense and of sparse operands, in several blocks; NAME.want.npy is what numpy
# says each is.
program() {
    py '
import subprocess
r = np.random.default_rng(5)
n = 41
a = np.round(r.standard_normal((n, n)), 3)
i, j = np.ogrid[:n, :n]
want = {"band": a * (abs(i - j) <= 2), "lower": np.tril(a), "upper": np.triu(a), "diagonal": a * (i == j),
        "symmetric": np.tril(a) + np.tril(a, -1).T, "zorder": a, "colmajor": a, "own": a, "stripes": a * ((i + j) % 3 == 0)}
def tra(*c): subprocess.run([sys.argv[1], *c], check=True)
text = """storage own[m, n] at [r, c] {
    real array even(m*n)
    real array odd(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n)
        (if ((r + i + c + j) % 2 == 0) {(i, j) -> even(j*m + i)}) + if ((r + i + c + j) % 2 == 1) {(i, j) -> odd(j*m + i)}
}
storage stripes[m, n](every) at [r, c] {
    real array v(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n) if ((r + i + c + j) % every == 0) {@unique (i, j) -> v(i*n + j)}
}
"""
for k, (name, x) in enumerate(want.items()):
    np.save(f"{name}.npy", x); np.save(f"{name}.want.npy", x * 2)
    block = "41x41" if name == "symmetric" else "16x13"
    stored = "dense" if k % 2 else "csr"
    tra("import", "-q", f"{name}.npy", "-o", f"in.{name}.h5", "--block", block, "--storage", stored)
    use = {"band": "band(2)", "stripes": "stripes(3)"}.get(name, name)
    text += f"""input I{name} from "in.{name}.h5"
{name}_[i,j] as {use} = 2 * I{name}[i,j]
output {name}_ to "{name}.h5"
"""
open("p.tra", "w").write(text)
open("names", "w").write("\n".join(want) + "\n")' "$TRA"
}

as_numpy() {
    local name
    while read -r name; do
        tra verify -q "$name.h5" || return
        tra export -q "$name.h5" -o got.npy || return
        py 'a, b = np.load(sys.argv[1] + ".want.npy"), np.load("got.npy")
assert a.dtype == b.dtype and np.array_equal(a, b), sys.argv[1]' "$name" || return
    done <names
}

@test "results in every mapping that can hold them are those of numpy, and the same bytes on 1, 2 and 3 sites" {
    program
    tra run -q --no-history p.tra
    as_numpy
    status 0 tra info band.h5
    has "storage     band"
    has "frontier <3,4>"
    mkdir one
    while read -r name; do cp "$name.h5" one/; done <names
    for how in "--sites 2" "--sites 3" "--threads 1 --memory 36M" "--engine reference"; do
        while read -r name; do rm -f "$name.h5"; done <names
        # shellcheck disable=SC2086
        tra run -q --no-history p.tra $how
        while read -r name; do cmp "$name.h5" "one/$name.h5"; done <names
    done
    # the positions are those of the storage: of each block the elements of its diagonal, one block after the other
    py 'x = np.load("diagonal.want.npy"); v = h5py.File("diagonal.h5")["data/v"]
assert (v[()] == x.diagonal()[np.argsort(np.arange(41) // 16 * 100 + np.arange(41) // 13, kind="stable")]).all()
assert h5py.File("symmetric.h5")["data/v"].shape == (41 * 42 // 2,)'
}

@test "compressed, of other types, with NaN and infinity, empty, and in blocks that hold nothing" {
    py '
i, j = np.ogrid[:30, :30]
a = np.where(abs(i - j) <= 1, i * 30 + j, 0)
f = a.astype("f4"); f[3, 3] = np.nan; f[4, 5] = np.inf
np.save("i64.npy", a); np.save("i32.npy", a.astype("i4")); np.save("bool.npy", a > 100); np.save("f32.npy", f)
np.save("none.npy", a * 0.0)'
    for t in i64 i32 bool f32 none; do
        tra import -q $t.npy -o in.$t.h5 --block 7x11
        printf 'input A from "in.%s.h5"\nB = store(A, band(1))\noutput B to "%s.h5"\n' $t $t >$t.tra
        tra run -q --no-history $t.tra --codec zstd
        mv $t.h5 first.h5
        tra run -q --no-history $t.tra --codec zstd --sites 3
        cmp $t.h5 first.h5
        tra verify $t.h5
        tra export -q $t.h5 -o got.npy
        py 'a, b = np.load(sys.argv[1] + ".npy"), np.load("got.npy")
assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")' $t
        same_digest in.$t.h5 $t.h5
    done
}

@test "a stored result is an input like any other: of products, sums and maps, on 3 sites" {
    program
    tra run -q p.tra
    {
        while read -r name; do echo "input $name from \"$name.h5\""; done <names
        echo 'input x from "in.lower.h5"
P[i,k] = sum band[i,j] * x[j,k]
Q[i,k] as lower = sum lower[i,j] * lower[j,k]
R[i] = sum symmetric[i,j]
S[i,j] as stripes2 = stripes[i,j] * zorder[i,j] + stripes[i,j]'
        echo 'storage stripes2[m, n] at [r, c] {
    real array v(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n) if ((r + i + c + j) % 3 == 0) {@unique (i, j) -> v(i*n + j)}
}'
        printf 'output %s\n' P Q R S
    } >q.tra
    tra run -q q.tra --sites 3
    for r in P Q R S; do tra verify -q $r.h5; tra export -q $r.h5 -o $r.npy; done
    py 'w = lambda n: np.load(n + ".want.npy")
g = lambda n: np.load(n + ".npy")
assert np.allclose(g("P"), w("band") @ g("lower")) and np.allclose(g("Q"), w("lower") @ w("lower"))
assert np.allclose(g("R"), w("symmetric").sum(1)) and np.allclose(g("S"), w("stripes") * w("zorder") + w("stripes"))'
}

@test "what a mapping cannot hold is told with the statement and the element, and nothing is left" {
    py 'a = np.zeros((30, 30)); a[20, 17] = 7; a[3, 4] = 2; np.save("a.npy", a)'
    tra import -q a.npy -o a.h5 --block 10x10
    tra import -q a.npy -o one.h5 --block 30x30
    printf 'input A from "a.h5"\nB[i,j] as band(2) = A[i,j] + A[i,j]\noutput B to "b.h5"\n' >band.tra
    printf 'input A from "one.h5"\nB[i,j] as symmetric = A[i,j] + A[i,j]\noutput B to "b.h5"\n' >symmetric.tra
    printf 'storage twice[m, n] {\n real array v(m*n)\n real array w(m*n)\n sum(<i, _> in 0:m, <j, _> in 0:n) {(i, j) -> v(i*n + j)} + if (i < 0) {(i, j) -> w(i*n + j)}\n}\ninput A from "a.h5"\nB = store(A, twice)\noutput B to "b.h5"\n' >twice.tra
    for sites in 1 3; do
        status 3 tra run band.tra --sites $sites
        has "band.tra:2: B: element (20,17) is 14, for which storage band has no place: the result cannot be stored as band(2)"
        status 3 tra run symmetric.tra --sites $sites
        has "symmetric.tra:2: B: element"
        has "but storage symmetric has one place for it and another element"
        [ ! -e b.h5 ]
        [ -z "$(ls -A "$TRA_SCRATCH")" ]
    done
    status 0 tra run -q twice.tra # the second place is none, as i is not negative
}

@test "a storage that cannot hold results is refused before anything runs, with the reason" {
    cat >p.tra <<'END'
storage double[m, n] {
    real array v(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n) {@unique (i, j) -> 2*v(i*n + j)}
}
storage both[m, n] {
    real array v(m*n)
    real array w(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n) {(i, j) -> v(i*n + j)} + {(i, j) -> w(i*n + j)}
}
input A : f64 [40, 30] by [8, 8]
B1 = store(A, ell)
B2 = store(A, bsr(2, 2))
B3 = store(A, dok)
B4 = store(A, double)
B5 = store(A, both)
B6 = store(A, symmetric)
output B1
output B2
output B3
output B4
output B5
output B6
END
    status 2 tra check p.tra
    has "p.tra:11:15: error: a result cannot be stored as ell: storage ell: where elements are depends on what its component width holds"
    has "p.tra:12:15: error: a result cannot be stored as bsr(2, 2): storage bsr: where elements are depends on"
    has "p.tra:13:15: error: a result cannot be stored as dok: storage dok: where elements are depends on"
    has "p.tra:14:15: error: a result cannot be stored as double"
    has "p.tra:15:15: error: a result cannot be stored as both: storage both adds up several elements in one coordinate"
    has "p.tra:16:15: error: a result cannot be stored as symmetric: storage symmetric is for blocks of equal extents"
    local long=an_array_whose_name_has_more_letters_than_there_are_for_it_in_a_file_that_has_a_table_of_its_components
    cat >p.tra <<END
storage placed[m, n] at [r, c] {
    real array v(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n) if (r + i >= c + j) {@unique (i, j) -> v(i*n + j)}
}
storage named[m, n] {
    real array $long(m*n)
    sum(<i, _> in 0:m, <j, _> in 0:n) {@unique (i, j) -> $long(j*m + i)}
}
storage none[m, n] { sum(<i, _> in 0:m, <j, _> in 0:n) {@unique (i, j) -> 1.0} }
input A : f64 [40, 30] by [8, 8]
input Q : f64 [30, 30] by [8, 8]
B2 = store(rekey(filter(Q, (i, j) -> i == j), (i, j) -> (i)), placed)
B3 = store(A, named)
B4 = store(A, none)
output B2
output B3
output B4
END
    status 2 tra check p.tra
    has "stored as placed: storage placed: it asks where blocks begin, and these are not the blocks of a tensor"
    has "stored as named: storage named: the name of a component is too long for a result's file"
    has "stored as none: storage none: it has no, or too many components"
}

@test "bytes are predicted, and are those of the file" {
    program
    status 0 tra explain --format json p.tra
    predicted=$(json plans.0.disk_write_bytes)
    is exact json plans.0.disk_write_bytes_kind
    tra run -q p.tra --profile p.json
    is "$predicted" py 'print(json.load(open("p.json"))["plans"][0]["measured"]["disk_write_bytes"])'
    is "$predicted" py 'print(sum(v.size * 8 for n in open("names").read().split() for v in h5py.File(n + ".h5")["data"].values()))'
}

@test "a run that is killed is gone on with, on as many sites or others" {
    tra gen -q --shape 1000x300 --block 50x50 --dist normal --seed 1 -o a.h5
    tra gen -q --shape 300x1000 --block 50x50 --dist normal --seed 2 -o b.h5
    printf 'input A from "a.h5"\ninput B from "b.h5"\nC[i,k] as zorder = sum A[i,j] * B[j,k]\noutput C to "c.h5"\n' >p.tra
    tra run -q --no-history --reproducible p.tra
    mv c.h5 want.h5
    for sites in '1 3' '3 2'; do
        read -r before after <<<"$sites"
        slow 10 "$TRA" run -q p.tra --no-history --reproducible --sites "$before" --threads 1 2>log &
        run=$!
        meet $run recorded $((64 * 30))
        kill -KILL $run
        wait $run || true
        [ ! -e c.h5 ]
        status 0 tra run p.tra --resume --no-history --reproducible --sites "$after" --threads 1
        [[ $output == *" blocks of C are there"* ]] || { echo "$output"; false; }
        cmp c.h5 want.h5
        rm c.h5
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    done
}

@test "damage in components and tables is found and named" {
    program
    tra run -q p.tra
    for what in 'data/even' 'data/odd' '.tra/data/components' '.tra/data/entries' '.tra/data/xxh64'; do
        cp own.h5 bad.h5
        py 'f = h5py.File("bad.h5", "r+"); d = f[sys.argv[1]]; v = d[()]
v.flat[len(v.flat) // 2] += 1; d[...] = v' "$what"
        run tra verify bad.h5 # 1: of a block; 3: it cannot be opened
        [[ $status == [13] ]]
        [[ $output == *"${what##*/}"* ]] || { echo "$what: $output"; false; }
    done
    cp own.h5 bad.h5
    py 'f = h5py.File("bad.h5", "r+"); s = f["data"].attrs["tra_storage"]; s = s.decode() if isinstance(s, bytes) else s
f["data"].attrs["tra_storage"] = s.replace("% 2", "% 3")'
    status 3 tra verify bad.h5
    has "attributes"
    for how in 'del f["data/odd"]' 'del f[".tra/data/components"]' 'del f[".tra/data"]' 'del f["data"].attrs["tra_block"]'; do
        cp own.h5 bad.h5
        py 'f = h5py.File("bad.h5", "r+"); exec(sys.argv[1])' "$how"
        status 3 tra info bad.h5
    done
}

@test "of large blocks it is not tried element by element whether a mapping can hold them" {
    printf '%s\n' 'input A : f64 [200000, 200000] by [100000, 100000] as csr nnz 1000' \
        'B[i,j] as lower = 2 * A[i,j]' 'output B' >p.tra
    status 0 timeout 20 "$TRA" check p.tra
    has "stored as lower"
}
