# tra export: files that numpy, scipy, h5py and Octave read.
load helper

make() {
    py '
r = np.random.default_rng(1); a = r.normal(size=(57, 31)) * 10.0 ** r.integers(-9, 9, (57, 31)); a[1, 1], a[2, 2], a[3, 3] = np.nan, np.inf, 0
np.save("a.npy", a); np.save("f.npy", a.astype("f4")); np.save("t.npy", r.normal(size=(5, 6, 7))); np.save("v.npy", np.arange(9.))
np.save("s.npy", np.array(2.5)); np.save("e.npy", np.zeros((0, 4)))'
    for f in a f t v s e; do tra import -q $f.npy -o $f.h5 $(case $f in a|f) echo --block 10x8 ;; t) echo --block 2x4x3 ;; esac); done
}

@test "npy and raw, under every budget, by file and by stream" {
    make
    for m in 256M "$(room 40K)" "$(room 12K)"; do
        for f in a f t v s e; do
            status 0 tra export $f.h5 --memory $m -o x-$f.npy
            has "from     $f.h5"
            tra export $f.h5 --memory $m --to npy -o - | cmp - x-$f.npy
            tra export -q $f.h5 --memory $m -o x-$f.raw
        done
        py 'for f in "aftvse":
    a, b = np.load(f"{f}.npy"), np.load(f"x-{f}.npy")
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), f
    assert a.tobytes() == open(f"x-{f}.raw", "rb").read(), f
    assert (10 + int.from_bytes(open(f"x-{f}.npy", "rb").read(10)[8:], "little")) % 64 == 0, f  # as the format asks'
    done
}

@test "csv reads back to the bit, here and in numpy" {
    make
    for f in a f; do for m in 256M "$(room 12K)"; do
        tra export -q $f.h5 --memory $m -o x.csv
        py 'a = np.load(sys.argv[1]); assert np.array_equal(np.loadtxt("x.csv", delimiter=",", dtype=a.dtype), a, equal_nan=True)' $f.npy
        tra import -q x.csv --dtype $([ $f = a ] && echo f64 || echo f32) --block 10x8 -o y.h5
        status 0 tra diff $f.h5 y.h5
    done; done
    tra export -q a.h5 -o x.tsv; [[ $(head -1 x.tsv) == *$'\t'* ]]
    tra export -q a.h5 -o x.csv --delimiter ';'; [[ $(head -1 x.csv) == *';'* ]]
    tra export v.h5 --to csv -o - > v.csv; is "9" eval "wc -l < v.csv"; is 3 sed -n 4p v.csv
    is 2.5 tra export s.h5 --to csv -o -
    is "" tra export e.h5 --to csv -o -
    tra export -q t.h5 -o t.csv
    is "i0,i1,i2,value" sed -n 1p t.csv
    is 211 eval "wc -l <t.csv"
}

@test "MatrixMarket, array and coordinate, as scipy reads them" {
    make
    for m in 256M "$(room 12K)"; do
        tra export -q a.h5 --memory $m -o x.mtx
        tra export -q a.h5 --memory $m --coordinate -o c.mtx
        py '
import scipy.io as io
a = np.load("a.npy"); assert np.array_equal(io.mmread("x.mtx"), a, equal_nan=True)
c = io.mmread("c.mtx"); assert c.nnz == a.size - 1 and np.array_equal(c.toarray(), a, equal_nan=True)'
        tra import -q x.mtx --block 10x8 -o y.h5
        status 0 tra diff a.h5 y.h5
        tra import -q c.mtx --block 10x8 -o y.h5
        status 0 tra diff a.h5 y.h5
    done
}

@test "integers to the last digit, booleans as such, in every format and under every budget" {
    py '
r = np.random.default_rng(5); i = r.integers(-2**63, 2**63 - 1, (57, 31)); i[0, :3] = 0, -2**63, 2**63 - 1
np.save("i64.npy", i); np.save("i32.npy", (i >> 32).astype("i4")); np.save("bool.npy", i > 0)
np.save("t.npy", r.integers(-2**63, 2**63 - 1, (5, 6, 7)))'
    for type in i64 i32 bool; do for m in 256M "$(room 12K)"; do
        tra import -q $type.npy --block 10x8 -o a.h5
        for to in npy raw csv mtx h5; do tra export -q a.h5 --memory $m -o x.$to; done
        tra export -q a.h5 --memory $m --coordinate -o c.mtx
        tra export -q a.h5 --gzip -o g.h5
        py '
import scipy.io as io
a = np.load(sys.argv[1] + ".npy"); b = np.load("x.npy"); assert b.dtype == a.dtype and (a == b).all() and open("x.npy", "rb").read(200) == open(sys.argv[1] + ".npy", "rb").read(200)
assert a.tobytes() == open("x.raw", "rb").read()
assert (np.loadtxt("x.csv", delimiter=",", dtype="i8") == a).all()
m = io.mmread("x.mtx"); assert m.dtype.kind == "i" and (m == a).all()
c = io.mmread("c.mtx"); assert c.dtype.kind == "i" and (c.toarray() == a).all() and c.nnz == (a != 0).sum()
for f in "x.h5", "g.h5":
    d = h5py.File(f)["data"]; assert d.dtype == a.dtype and (d[...] == a).all(), f' $type
        for from in x.npy x.csv x.mtx c.mtx x.h5 g.h5 "x.raw --shape 57x31"; do
            tra import -q $from --dtype $type --block 9x9 -o y.h5
            status 0 tra diff a.h5 y.h5
            same_digest a.h5 y.h5
        done
        status 0 tra verify a.h5 g.h5 x.h5
    done; done
    tra import -q t.npy --block 2x4x3 -o t.h5
    tra export -q t.h5 -o u.npy
    cmp t.npy u.npy
}

@test "h5: without filters or with gzip, readable without a plugin" {
    make
    tra import -q a.npy --block 10x8 --codec zstd -o z.h5
    status 0 tra export z.h5 -o plain.h5
    status 0 tra export z.h5 --gzip -o gz.h5:g
    status 0 tra export z.h5 --gzip=9 -o gz9.h5
    HDF5_PLUGIN_PATH=/nowhere py '
a = np.load("a.npy")
for f, n, c in [("plain.h5", "data", None), ("gz.h5", "g", "gzip"), ("gz9.h5", "data", "gzip")]:
    d = h5py.File(f)[n]; assert d.compression == c and d.chunks == (10, 8) and np.array_equal(d[...], a, equal_nan=True)'
    for f in plain.h5 gz.h5 gz9.h5; do
        status 0 tra diff z.h5 $f
        same_digest z.h5 $f
        status 0 tra info $f
        has "readable by any HDF5 program"
    done
    for f in t v s e; do
        tra export -q $f.h5 --gzip -o x.h5
        status 0 tra diff $f.h5 x.h5
    done
    told 2 tra export a.h5 --to h5 -o -
    status 2 tra export a.h5 --gzip=10 -o x.h5
}

@test "holes are zeros; tuple layout goes to h5 as it is, and nowhere else" {
    tra gen -q --shape 10x7 --block 4x3 --dist range -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'B = tile(A, 1, 2)' 'C = filter(A, (i,j) -> i != j)' 'D = filter(B, (i,j,k) -> i != 1)' \
        'output B' 'output C' 'output D' > p.tra
    tra run -q p.tra
    tra export -q C.h5 -o C.npy
    py '
w = np.arange(70.).reshape(10, 7); w[0:4, 0:3] = 0; w[4:8, 3:6] = 0; w[8:, 6:] = 0
assert np.array_equal(np.load("C.npy"), w)'
    for r in B C D; do for g in "" --gzip; do
        status 0 tra export $r.h5 -o x.h5 $g
        same_digest $r.h5 x.h5
        same_output "tra info $r.h5 | grep tuples" "tra info x.h5 | grep tuples"
        status 0 tra diff $r.h5 x.h5
    done; done
    told 3 tra export B.h5 -o B.npy
}

@test "GNU Octave reads what is exported" {
    command -v octave > /dev/null || skip "octave is not installed"
    make
    tra export -q a.h5 -o x.csv; tra export -q a.h5 -o x.h5
    octave -q --eval 'a = dlmread("x.csv"); b = load("x.h5").data; a(2, 2) = 0; b(2, 2) = 0;
        if (! (isequal(a, b) || isequal(a, b.'"'"'))) error("differs"); end'
}

@test "a dataset of another program is exported too" {
    py '
a = np.arange(63).reshape(9, 7); np.save("a.npy", a)
with h5py.File("x.h5", "w") as f: f.create_dataset("m", data=a.astype(">i4"), chunks=(4, 3), compression="gzip")'
    tra export -q x.h5:m -o y.npy
    py 'assert np.array_equal(np.load("y.npy"), np.load("a.npy"))'
}

@test "outputs are atomic and every write is checked" {
    make
    echo old > x.npy
    status 3 tra export missing.h5 -o x.npy
    is old cat x.npy
    [ -e /dev/full ] || skip "/dev/full is missing"
    for f in npy csv mtx raw; do
        told 4 tra export a.h5 --to $f -o /dev/full
        run bash -c '"$TRA" export a.h5 --to '$f' -o - > /dev/full'
        [ "$status" = 4 ]
    done
    is "" find . -name '.x*tmp'
    status 3 tra export a.h5 -o no/such/x.npy
    status 3 tra export a.h5 --to npy -o .
}

@test "a pipe that closes early ends quietly" {
    tra gen -q --shape 2000x500 -o g.h5
    run bash -c '"$TRA" export g.h5 --to csv -o - | head -1 | wc -l'
    [ "$output" = 1 ]
}

@test "binary is not written to a terminal" {
    script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminals here"
    command -v script > /dev/null || skip "script is not installed"
    make
    status 2 script -qec "$TRA export a.h5 --to npy -o -" /dev/null
    has "terminal"
}

@test "receipt and usage" {
    make
    status 0 tra export a.h5 --format json -o x.npy
    is npy json format
    is "[57, 31]" json shape
    py 'import os; assert json.loads(sys.argv[1])["bytes"] == os.path.getsize("x.npy")' "$output"
    is "" tra export -q a.h5 -o x.npy
    told 2 tra export a.h5
    told 2 tra export a.h5 -o x.xyz
    told 2 tra export a.h5 -o -
    status 2 tra export a.h5 -o x --to doc
    status 4 tra export a.h5 --memory 1K -o x.npy; has "at least"
    status 0 tra export --help; has "--coordinate"
}

@test "--memory is a ceiling of the process, and the least is 64 MB and three blocks at most" {
    for codec in none zstd; do
        tra gen -q --shape 1100x1030 --block 1024x1024 --dist normal --codec $codec -o a.h5
        # of text, which takes longest, each kind from one codec
        for f in npy raw h5 $([ $codec = none ] && echo mtx || echo csv); do
            bounded $((8 << 20)) export a.h5 -o x.$f
        done
        [ $codec = none ] || bounded $((8 << 20)) export a.h5 --coordinate -o x.mtx
        bounded $((8 << 20)) export a.h5 --gzip=1 -o x.h5
    done
    tra gen -q --shape 2100x4000 --block 2048x2048 --dist zero --codec zstd -o large.h5
    bounded $((32 << 20)) export large.h5 --gzip=1 -o x.h5
    bounded $((32 << 20)) export large.h5 -o x.raw
}

@test "with gzip as without: links are followed, what is no file is left alone, rights and other relations are kept" {
    tra gen -q --shape 40x30 --block 8x8 -o a.h5
    ln -s t.h5 l.h5
    status 0 tra export -q a.h5 --gzip -o l.h5
    [ -L l.h5 ]
    [ -f t.h5 ]
    chmod 600 t.h5
    for to in l.h5 t.h5; do
        status 0 tra export -q a.h5 --gzip -o $to
        is 600 stat -c %a t.h5
    done
    status 0 tra diff a.h5 l.h5
    mkfifo pipe
    status 3 tra export -q a.h5 --to h5 --gzip -o pipe
    [ -p pipe ]
    tra gen -q --shape 9 -o two.h5:x
    status 0 tra export -q a.h5 --gzip -o two.h5:n
    status 0 tra info two.h5:x
    status 0 tra diff a.h5 two.h5:n
    status 0 tra export -q a.h5 --gzip -o new.h5:n
    status 0 tra diff a.h5 new.h5:n
    status 3 tra export -q a.h5 --to h5 --gzip -o ''
    status 3 tra export -q a.h5 --to npy -o ''
    status 3 tra gen -q --shape 9 -o ''
    [ -z "$(ls -A | grep -e tmp -e lock)" ]
}

@test "a file that is replaced by an export keeps its rights" {
    tra gen -q --shape 4 -o a.h5
    for f in m.csv m.npy m.raw m.mtx; do
        touch $f
        chmod 600 $f
        status 0 tra export -q a.h5 -o $f
        is 600 stat -c %a $f
    done
}

@test "links of /proc lead to what is open, whose name is none: a pipe is written, what was removed is told" {
    tra gen -q --shape 5 -o a.h5
    tra export -q a.h5 -o a.csv
    tra export -q a.h5 --to csv -o /dev/stdout | cmp - a.csv
    exec 9>gone.csv
    rm gone.csv
    status 3 tra export -q a.h5 --to csv -o /proc/self/fd/9
    exec 9>&-
    is $'a.csv\na.h5' ls -A
}

@test "digits are the fewest that read back, of those the nearest: numpy's, of export and of string()" {
    py '
import struct, random
r = random.Random(3)
v = [struct.unpack("d", struct.pack("Q", r.getrandbits(64)))[0] for _ in range(5000)] + [r.uniform(0, 1e6) for _ in range(5000)]
v += [round(r.uniform(0, 1e5), r.randrange(9)) for _ in range(3000)] + [2.0**k for k in range(-1074, 1024)] + [933210.4104970714, 326505.05853827693]
x = np.array([t for t in v if np.isfinite(t)])
np.save("x.npy", x); np.save("f.npy", x[(abs(x) < 3e38) & (abs(x) > 1e-38)].astype("f4"))
'
    tra export -q x.npy --to csv -o x.csv
    tra export -q f.npy --to csv -o f.csv
    tra eval 'project(table(x), s = string(value))' x.npy -o s.csv
    tra eval 'project(table(x), s = string(value))' x=f.npy -o sf.csv
    py '
def digits(t): return t.strip("\"").lower().lstrip("-").split("e")[0].replace(".", "").strip("0")
for file, data in ("x.csv", "x"), ("f.csv", "f"), ("s.csv", "x"), ("sf.csv", "f"):
    x = np.load(data + ".npy")
    got = open(file).read().split()[-len(x):]
    for s, v in zip(got, x):
        assert digits(s) == digits(np.format_float_scientific(v, unique=True)), (file, s, repr(v))
        assert x.dtype.type(s.strip("\"")) == v, (file, s, repr(v))
'
}
