# tra digest, diff and verify, on relations of tra and of h5py.
load helper

# ---- digest ----

@test "diff of tables: what differs is named, and -q says nothing" {
    printf 'k,a\n1,x\n2,y\n' | tra import -q --table - -o a.h5
    printf 'k,b\n1,x\n3,y\n' | tra import -q --table - -o b.h5
    status 1 tra diff a.h5 b.h5
    is "column k: 1 value differs, in row 1: 2 and 3
column a is not in b.h5
column b is not in a.h5" echo "$output"
    status 1 tra diff -q a.h5 b.h5
    is "" echo "$output"
    status 0 tra diff a.h5 a.h5
    is "equal: 2 rows of 2 columns" echo "$output"
    status 0 tra diff -q a.h5 a.h5
    is "" echo "$output"
}

@test "the digest is one of the tensor, not of how it is stored" {
    tra gen -q --shape 37x41 --block 10x10 -o a.h5
    tra gen -q --shape 37x41 --block 37x3 --codec zstd:3 -o b.h5:other
    py '
with h5py.File("c.h5", "w") as f:
    f.create_dataset("gz", data=h5py.File("a.h5")["data"][:], chunks=(5, 41), compression="gzip")
    f["plain"] = h5py.File("a.h5")["data"][:]'
    status 0 tra digest a.h5 b.h5:other c.h5:gz c.h5:plain
    [ "${#lines[@]}" = 4 ]
    [[ ${lines[0]} =~ ^[0-9a-f]{32}\ \ a\.h5$ ]]
    [[ ${lines[1]} == *"  b.h5:other" ]]
    [ "$(cut -c1-32 <<<"$output" | sort -u | wc -l)" = 1 ]
    status 0 tra digest --format json a.h5 b.h5:other
    is "$(digest_of a.h5)" json digests.0.digest
    is b.h5:other json digests.1.name
}

@test "the digest is the same by the loops of each kind of processor, and so is what a selection lets through" {
    for t in f64 f32 i64 i32 bool; do tra gen -q --dtype $t --shape 61x53 --block 20x17 --seed 3 -o $t.h5; done
    tra gen -q --shape 61x53 --density .1 --storage csr -o s.h5
    seq 1000 | awk 'BEGIN { print "a,b,c" } { print $1 % 97 "," $1 / 7 "," "w" $1 % 13 }' >t.csv
    tra import -q --table --block 300 t.csv -o t.h5
    printf 'input T from "t.h5"\nS = select(T, a %% 5 != 2 && b < 120)\noutput S\n' >p.tra
    for simd in '' avx2 base; do
        TRA_SIMD=$simd tra run -q p.tra
        TRA_SIMD=$simd tra digest {f64,f32,i64,i32,bool,s,t,S}.h5 >"d$simd"
        diff d "d$simd"
    done
    [ "$(wc -l <d)" = 8 ]
    TRA_SIMD=mmx status 0 tra digest f64.h5
    has "TRA_SIMD is 'mmx', none of base, avx2, avx512"
}

@test "the digest changes with any value, the shape and the type" {
    py '
a = np.random.default_rng(0).normal(size=(20, 30)); b = a.copy(); b[7, 9] = np.nextafter(b[7, 9], 9)
c = a.copy(); c[[3, 4]] = c[[4, 3]]; d = a.copy(); d[:, [3, 4]] = d[:, [4, 3]]
with h5py.File("a.h5", "w") as f:
    for k, v in dict(a=a, b=b, c=c, d=d, e=a.reshape(30, 20), f=a.reshape(600), g=a.astype("f4")).items(): f[k] = v
    f["z1"] = np.zeros((2, 3)); f["z2"] = np.zeros((3, 2))'
    status 0 tra digest a.h5:{a,b,c,d,e,f,g,z1,z2}
    [ "$(cut -c1-32 <<<"$output" | sort -u | wc -l)" = 9 ]
}

@test "one NaN, one zero; integers digest by their type" {
    py '
x = np.array([np.nan, 0.0, 3.0]); y = np.array([0x7ff8000000000123, 1 << 63, 0x4008 << 48], dtype="u8").view("f8")
i = np.arange(-2, 3)
with h5py.File("a.h5", "w") as f:
    f["x"] = x; f["y"] = y; f["i"] = i; f["be"] = i.astype(">i8"); f["b"] = i > 0
    f["s"] = i.astype("i1"); f["t"] = i.astype(">i4"); f["d"] = i.astype("f8")'
    for pair in "x y" "i be" "s t"; do
        read -r one other <<<"$pair"
        status 0 tra digest a.h5:"$one" a.h5:"$other"
        [ "${lines[0]%% *}" = "${lines[1]%% *}" ]
    done
    status 0 tra digest a.h5:{i,s,b,d}
    [ "$(cut -c1-32 <<<"$output" | sort -u | wc -l)" = 4 ]
}

@test "digest does not trust the attribute" {
    tra gen -q --shape 8x8 --block 4x4 -o a.h5
    before=$(tra digest a.h5)
    py 'f = h5py.File("a.h5", "a"); f["data"].attrs["tra_digest"] = "0" * 32'
    [ "$(tra digest a.h5)" = "$before" ]
}

# ---- diff ----

@test "diff of integers is exact, also beside floats" {
    py '
with h5py.File("a.h5", "w") as f:
    a = np.array([[1, 2**53], [-2**63, 2**63 - 1]]); b = a.copy(); b[0, 1] += 1
    f["a"] = a; f["b"] = b; f["c"] = a.astype("f8"); f["d"] = np.array([[1.0, 2**53], [-2**63, 0]])
    f["e"] = -a[:, ::-1]; f["t"] = np.array([True, False]); f["u"] = np.array([1, 0], "i1"); f["n"] = np.array([1, np.nan])
    one = np.array([[1.0, 0], [0, 0]]); f["one"] = one; f["bits"] = one.view("i8")'
    status 0 tra diff a.h5:a a.h5:a
    has "equal: 4 elements"
    status 1 tra diff a.h5:a a.h5:b
    has "different: 1 of 4 elements; largest difference 1 at [0,1]: 9007199254740992 and 9007199254740993"
    status 1 tra diff --format json a.h5:b a.h5:a
    is 9007199254740993 json a
    is 9007199254740992 json b
    is 1 json max_abs
    status 0 tra diff --atol 1 a.h5:a a.h5:b
    status 1 tra diff a.h5:a a.h5:c # 2^63 - 1 is none of f64
    has "different: 1 of 4 elements; largest difference 1 at [1,1]: 9223372036854775807 and 9.2233720368547758e+18"
    status 1 tra diff a.h5:c a.h5:b
    has "different: 2 of 4 elements; largest difference 1 at [0,1]: 9007199254740992 and 9007199254740993"
    status 1 tra diff a.h5:a a.h5:e # the largest difference that there is
    has "largest difference 1.84467e+19 at [1,1]: 9223372036854775807 and -9223372036854775808"
    status 1 tra diff a.h5:bits a.h5:one # the same bytes
    has "different: 1 of 4 elements; largest difference 4.60718e+18 at [0,0]: 4607182418800017408 and 1"
    status 0 tra diff a.h5:t a.h5:u
    status 1 tra diff a.h5:t a.h5:n
    has "largest difference inf at [1]: 0 and nan"
}

@test "diff: equal whatever blocks, codec and type" {
    tra gen -q --shape 50x60 --block 16x16 --dist range -o a.h5
    tra gen -q --shape 50x60 --block 7x60 --dist range --codec zstd -o b.h5
    tra gen -q --shape 50x60 --block 50x1 --dist range --dtype f32 -o c.h5
    status 0 tra diff a.h5 b.h5
    has "equal: 3000 elements"
    status 0 tra diff a.h5 c.h5
    status 0 tra diff c.h5 b.h5
    status 0 tra diff a.h5 c.h5 --memory "$(room 40K)"
    status 0 tra diff -q a.h5 b.h5
    [ -z "$output" ]
}

@test "diff: names the largest difference and its place" {
    py '
a = np.random.default_rng(0).normal(size=(30, 40)); b = a.copy(); b[3, 5] += 1e-3; b[17, 29] += 0.5; b[29, 39] -= 0.25
with h5py.File("a.h5", "w") as f:
    f.create_dataset("a", data=a, chunks=(8, 8)); f.create_dataset("b", data=b, chunks=(30, 7))'
    status 1 tra diff a.h5:a a.h5:b
    has "different: 3 of 1200 elements; largest difference 0.5 at [17,29]"
    status 1 tra diff --format json a.h5:a a.h5:b
    is false json equal
    is 3 json different
    is 1200 json elements
    is "[17, 29]" json at
    py 'a = h5py.File("a.h5"); r = json.loads(sys.argv[1])
assert r["a"] == a["a"][17, 29] and r["b"] == a["b"][17, 29] and r["max_abs"] == abs(a["a"][:] - a["b"][:]).max()' "$output"
    for memory in "$(room 10K)" "$(room 100K)"; do
        status 1 tra diff --memory $memory --format json a.h5:a a.h5:b
        is "[17, 29]" json at
        is 3 json different
    done
}

@test "diff: tolerances as numpy.isclose has them" {
    py '
r = np.random.default_rng(5); a = r.normal(size=2000); b = a + r.normal(size=2000) * 1e-3
with h5py.File("a.h5", "w") as f: f["a"] = a; f["b"] = b'
    for t in "0 0" "1e-3 0" "0 1e-3" "1e-3 1e-3" "1e9 0" "0 1"; do
        read -r rtol atol <<<"$t"
        run tra diff --rtol "$rtol" --atol "$atol" --format json a.h5:a a.h5:b
        py '
f = h5py.File("a.h5"); r = json.loads(sys.argv[1]); want = (~np.isclose(f["a"], f["b"], float(sys.argv[2]), float(sys.argv[3]))).sum()
assert r["different"] == want and int(sys.argv[4]) == (want > 0), (r, want)' "$output" "$rtol" "$atol" "$status"
    done
    status 2 tra diff --rtol -1 a.h5:a a.h5:b
}

@test "diff: NaN equals NaN, infinities equal themselves, neither is within a tolerance of a number" {
    py '
n, i = np.nan, np.inf
with h5py.File("a.h5", "w") as f:
    f["a"] = np.array([n, i, -i, 1]); f["same"] = np.array([n, i, -i, 1.0])
    f["nan"] = np.array([1, i, -i, 1]); f["inf"] = np.array([n, i, i, 1]); f["num"] = np.array([n, i, 5, 1])'
    status 0 tra diff a.h5:a a.h5:same
    for other in nan inf num; do
        status 1 tra diff --rtol 1e9 --atol 1e300 a.h5:a a.h5:$other
        has "different: 1 of 4"
        status 1 tra diff --rtol 1e9 --atol 1e300 a.h5:$other a.h5:a
    done
}

@test "diff: shapes that differ, scalars, nothing at all" {
    tra gen -q --shape 3x4 -o a.h5:x
    tra gen -q --shape 4x3 -o a.h5:y
    tra gen -q --shape 12 -o a.h5:z
    tra gen -q --shape '' -o a.h5:s
    tra gen -q --shape 0x3 -o a.h5:e
    status 1 tra diff a.h5:x a.h5:y
    has "a.h5:x is 3 x 4, a.h5:y is 4 x 3"
    status 1 tra diff a.h5:x a.h5:z
    status 0 tra diff a.h5:s a.h5:s
    is "equal: 1 element" echo "$output"
    status 0 tra diff a.h5:e a.h5:e
    has "equal: 0 elements"
    status 1 tra diff --format json a.h5:x a.h5:y
    is true json shapes_differ
}

@test "diff: holes are zeros" {
    py '
with h5py.File("a.h5", "w") as f:
    d = f.create_dataset("a", shape=(20, 20), chunks=(5, 5), dtype="f8"); d[5:10, 0:5] = 1; d[15:, 15:] = 2
    d.attrs["tra_format"] = np.int64(1); d.attrs["tra_rank"] = np.int64(2)
    b = np.zeros((20, 20)); b[5:10, 0:5] = 1; b[15:, 15:] = 2; f["b"] = b'
    status 0 tra diff a.h5:a a.h5:b
    status 0 tra diff a.h5:b a.h5:a
    status 0 tra digest a.h5:a a.h5:b
    [ "$(cut -c1-32 <<<"$output" | sort -u | wc -l)" = 1 ]
    status 0 tra info a.h5:a
    has "2 tuples, 14 holes"
}

@test "diff of stored relations goes by entries, whatever their blocks, storages and types" {
    py '
import scipy.sparse as sp
rng = np.random.default_rng(3)
a = np.where(rng.random((40, 33)) < 0.1, rng.integers(-9, 9, (40, 33)), 0)
b = np.where(rng.random((40, 33)) < 0.03, rng.integers(-40, 40, (40, 33)), a)
b[30, 4] = a[30, 4] + 50; b[7, 31] = a[7, 31] - 50 # of equal differences the first
for name, x in (("a", a), ("b", b)):
    np.save(name, x.astype("i8"))
    sp.save_npz(name, sp.csr_matrix(x.astype("i8")))
size = np.abs(a - b); at = np.unravel_index(size.argmax(), size.shape)
rel = max(d / abs(y) if y else np.inf for d, y in zip(size.flat, b.flat) if d)
json.dump(dict(different=int((size > 0).sum()), max_abs=float(size.max()), at=[int(i) for i in at],
               a=float(a[at]), b=float(b[at]), max_rel=None if rel == np.inf else float(rel)), open("want", "w"))'
    local x y kind
    for x in a b; do
        tra import -q $x.npy --block 9x10 --dtype i32 -o $x.h5:dense
        tra import -q $x.npz --storage csr --dtype f64 -o $x.h5:csr
        tra import -q $x.npz --storage csr --block 9x10 --dtype i64 -o $x.h5:blocks
        tra import -q $x.npz --storage csc --block 9x10 --dtype f32 -o $x.h5:csc
        tra import -q $x.npz --storage coo --block 40x7 --dtype i64 -o $x.h5:coo
        tra import -q $x.npz --storage dcsr --block 11x33 -o $x.h5:dcsr || return
    done
    for x in dense csr blocks csc coo dcsr; do
        for y in dense csr blocks csc coo dcsr; do
            status 0 tra diff a.h5:$x a.h5:$y
            has "equal: 1320 elements"
            status 1 tra diff --format json a.h5:$x b.h5:$y
            py 'r = json.loads(sys.argv[1]); want = json.load(open("want"))
for k, v in want.items(): assert r[k] == v, (k, r[k], v)
assert r["elements"] == 1320' "$output" || return
            status 1 tra diff --atol 49 a.h5:$x b.h5:$y
            has "different: 2 of 1320 elements"
        done
    done
}

@test "diff of stored relations: NaN, zeros that are stored, tensors of other ranks, shapes that differ" {
    printf '1 1 3\n2 4 nan\n3 1 0\n' >a.tns
    printf '1 1 3\n2 4 nan\n3 2 0\n' >b.tns
    printf '1 1 3\n2 3 nan\n2 4 nan\n3 3 1\n' >c.tns
    local x
    for x in a b c; do
        tra import -q $x.tns --shape 3x4 --storage csr -o $x.h5:csr
        tra import -q $x.tns --shape 3x4 --storage coo --block 2x2 -o $x.h5:coo || return
    done
    for x in csr coo; do
        status 0 tra diff a.h5:$x b.h5:coo
        status 1 tra diff a.h5:$x c.h5:coo
        has "different: 2 of 12 elements; largest difference inf at [1,2]: 0 and nan"
        status 1 tra diff c.h5:coo a.h5:$x
        has "different: 2 of 12 elements; largest difference inf at [1,2]: nan and 0"
    done
    printf '1 1 1 1\n2 3 4 5\n1 3 2 7\n' >t.tns
    printf '1 1 1 1\n2 3 4 5\n1 3 2 8\n' >u.tns
    tra import -q t.tns --storage csf -o t.h5
    tra import -q u.tns --storage coo --block 2x2x3 -o u.h5
    status 1 tra diff t.h5 u.h5
    has "different: 1 of 24 elements; largest difference 1 at [0,2,1]: 7 and 8"
    printf '3 1\n90 2\n' >v.tns
    tra import -q v.tns --storage csf -o v.h5
    tra import -q v.tns --storage coo --block 7 -o w.h5
    status 0 tra diff v.h5 w.h5
    status 1 tra diff v.h5 t.h5
}

@test "diff of a large stored matrix is quick, and stays below --memory" {
    tra gen -q --shape 60000x60000 --density 0.0002 --storage csr --block 6000x60000 -o a.h5
    tra gen -q --shape 60000x60000 --density 0.0002 --storage csc --block 60000x6000 -o b.h5
    tra gen -q --shape 60000x60000 --density 0.0002 --seed 1 --storage csc --block 60000x6000 -o c.h5
    status 0 timeout 60 "$TRA" diff a.h5 b.h5
    has "equal: 3600000000 elements"
    status 0 timeout 60 "$TRA" diff a.h5 b.h5 --memory "$(room 16M)" # through the scratch file
    tra gen -q --shape 60000x60000 --density 0.0002 --seed 1 --storage coo --block 5000x7000 -o d.h5
    status 0 timeout 60 "$TRA" diff c.h5 d.h5
    status 1 timeout 60 "$TRA" diff a.h5 d.h5
    local whole=$output
    has "different: "
    status 1 timeout 60 "$TRA" diff a.h5 d.h5 --memory "$(room 16M)" # in several bands
    [ "$output" = "$whole" ]
    (($(peak "$TRA" diff a.h5 b.h5 --memory "$(room 16M)") < $(room 14M)))
}

@test "diff of a stored and a dense relation in other blocks goes by entries" {
    how="--shape 900x700 --density 0.01 --seed 4"
    # shellcheck disable=SC2086
    tra gen -q $how --storage csr --block 70x50 -o s.h5
    for block in 256x300 900x13 11x700; do
        # shellcheck disable=SC2086
        tra gen -q $how --storage dense --block $block -o d.h5
        for pair in "s.h5 d.h5" "d.h5 s.h5"; do
            # shellcheck disable=SC2086
            is "equal: 630000 elements" tra diff $pair
        done
    done
    tra export -q d.h5 -o d.npy
    py 'd = np.load("d.npy"); d[7, 9] += 3; d[899, 699] = -2; d[500] *= 2; np.save("e.npy", d)'
    tra import -q e.npy --block 64x64 -o e.h5
    n=$(py 'print((np.load("d.npy") != np.load("e.npy")).sum())')
    status 1 tra diff s.h5 e.h5
    has "different: $n of 630000 elements; largest difference 3 at [7,9]"
    status 1 tra diff e.h5 s.h5
    has "different: $n of 630000 elements; largest difference 3 at [7,9]"
    # one that is stored, but of nearly all elements, is compared element by element
    tra gen -q --shape 60x50 --density 0.9 --storage csr -o s.h5
    tra gen -q --shape 60x50 --density 0.9 --storage dense --block 7x50 -o d.h5
    is "equal: 3000 elements" tra diff s.h5 d.h5
}

@test "diff: a missing operand is status 3" {
    tra gen -q --shape 3 -o a.h5
    told 3 tra diff a.h5 missing.h5
    status 2 tra diff a.h5
}

# ---- verify ----

# Turns one byte of the chunk whose first element is at the given index of a relation in another.
damage() {
    py '
from h5py import h5f
f = h5py.File(sys.argv[1]); d = f[sys.argv[2]].id
want = tuple(json.loads(sys.argv[3]))
at = [d.get_chunk_info(i) for i in range(d.get_num_chunks()) if d.get_chunk_info(i).chunk_offset == want][0]
f.close()
with open(sys.argv[1], "r+b") as b:
    b.seek(at.byte_offset + at.size // 2); x = b.read(1)[0]; b.seek(-1, 1); b.write(bytes([x ^ 1]))' "$@"
}

@test "verify: sound relations" {
    tra gen -q --shape 20x20 --block 5x5 -o a.h5
    tra gen -q --shape 20x20 --block 5x5 --codec zstd --dist range -o b.h5
    status 0 tra verify a.h5 b.h5
    has "a.h5: ok, 16 chunks, checksums match, digest matches"
    has "b.h5: ok, 16 chunks"
    status 0 tra verify -q a.h5 b.h5
    [ -z "$output" ]
    py 'h5py.File("c.h5", "w")["x"] = np.arange(3.0)'
    status 0 tra verify c.h5
    has "no checksums"
}

@test "verify: names every damaged chunk, status 1" {
    for codec in none zstd; do
        tra gen -q --shape 20x20 --block 5x5 --codec $codec --dist range -o a.h5
        damage a.h5 data "[5, 10]"
        damage a.h5 data "[15, 0]"
        status 1 tra verify a.h5
        has "chunk <1,2>"
        has "chunk <3,0>"
        has "a.h5: 2 of 16 chunks damaged"
        status 1 tra verify --format json a.h5
        is false json relations.0.ok
        is "[1, 2]" json relations.0.damaged.0.key
        is "[3, 0]" json relations.0.damaged.1.key
        told 3 tra digest a.h5
        status 3 tra info --stats a.h5
        status 3 tra diff a.h5 a.h5
    done
}

@test "verify: values that do not fit the digest of the file" {
    tra gen -q --shape 8x8 --block 4x4 -o a.h5
    py 'f = h5py.File("a.h5", "a"); f["data"].attrs["tra_digest"] = "0" * 32'
    status 1 tra verify a.h5
    has "the file says 00000000000000000000000000000000"
    status 1 tra verify --format json a.h5
    is false json relations.0.digest_matches
}

@test "verify: a relation of tra that has lost its checksums is not sound" {
    tra gen -q --shape 8x8 --block 4x4 -o a.h5
    tra export -q a.h5 --to h5 --gzip -o z.h5
    py 'f = h5py.File("a.h5", "a"); del f[".tra"]; del f["data"].attrs["tra_digest"]'
    status 1 tra verify a.h5
    has "a.h5: its checksums are gone, with which tra wrote it"
    lacks ok
    status 1 tra verify --format json a.h5 2>/dev/null
    output=$(tail -n 1 <<<"$output")
    is true json relations.0.checksums_lost
    is false json relations.0.ok
    status 0 tra verify z.h5 # written by HDF5, never had any
    has "readable; the file has no checksums"
    py '
with h5py.File("h.h5", "w") as f:
    d = f.create_dataset("data", data=np.ones((4, 4)), chunks=(2, 2)); d.attrs["tra_format"] = 1; d.attrs["tra_rank"] = 2'
    status 0 tra verify h.h5
    has "readable; the file has no checksums"
}

@test "verify: a file cut short, and one that is no relation" {
    tra gen -q --shape 200x200 --block 50x50 -o a.h5
    truncate -s -5000 a.h5
    run tra verify a.h5
    [[ $status == 1 || $status == 3 ]]
    has "a.h5"
    echo junk >b.h5
    status 3 tra verify b.h5
}

# ---- memory ----

@test "--memory is a ceiling of the process, and the least is 64 MB and three blocks at most" {
    for codec in none zstd; do for dtype in f64 f32; do
        [ $dtype = f64 ] && block=1024x1024 || block=2048x1024
        tra gen -q --shape 2000x1100 --block $block --dtype $dtype --codec $codec -o $dtype.h5
        bounded $((8 << 20)) digest $dtype.h5
        bounded $((8 << 20)) verify $dtype.h5
        bounded $((8 << 20)) info --stats $dtype.h5
        bounded $((8 << 20)) diff f64.h5 $dtype.h5
    done; done
    tra gen -q --shape 2100x4000 --block 2048x2048 --dist zero --codec zstd -o large.h5
    bounded $((32 << 20)) verify large.h5
    bounded $((32 << 20)) diff large.h5 large.h5
}

@test "diff: of compressed chunks none is read again and again, however little memory there is" {
    tra gen -q --shape 2048x2048 --block 1024x1024 --dist normal --codec zstd -o a.h5
    tra gen -q --shape 2048x2048 --block 2048x512 --dist normal --codec zstd -o b.h5
    tra gen -q --shape 2048x2048 --block 512x512 --dist normal --dtype f32 --codec zstd -o c.h5
    for pair in "a a" "a b" "b a" "a c" "c b"; do
        read -r x y <<<"$pair"
        run tra diff -v --memory 1K $x.h5 $y.h5
        least=$(exactly)
        [[ $pair == *c* ]] && want=1 || want=0
        for more in 0 20000 300000; do status $want timeout 30 "$TRA" diff $x.h5 $y.h5 --memory $((least + more)); done
        [ $want = 0 ] || is "$(tra diff $x.h5 $y.h5)" echo "$output" # the place too
    done
}

@test "whole numbers of tables are compared exactly, also with floats" {
    printf 'x,n\n9007199254740993,1\n3,2\n' >ti.csv
    printf 'x,n\n9007199254740992.0,1\n3.0,2\n' >tf.csv
    tra import -q --table ti.csv -o ti.h5
    tra import -q --table tf.csv -o tf.h5
    for pair in 'ti tf' 'tf ti'; do
        # shellcheck disable=SC2086
        set -- $pair
        status 1 tra diff "$1.h5" "$2.h5"
        has "column x: 1 value differs, in row 0"
        status 0 tra diff --atol 1 "$1.h5" "$2.h5"
        status 0 tra diff --rtol 1e-15 "$1.h5" "$2.h5"
    done
    status 0 tra diff ti.h5 ti.h5
}
