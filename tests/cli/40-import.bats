# tra import: files that numpy, scipy, h5py and Octave wrote.
load helper

# same [REL FILE.npy]...: each relation, as h5py sees it, is the numpy array, to the bit.
same() {
    [ $# -gt 1 ]
    py '
for rel, npy in zip(sys.argv[1::2], sys.argv[2::2]):
    a = np.load(npy); f, _, n = rel.partition(":")
    b = h5py.File(f)[n or "data"][...].reshape(a.shape)
    assert np.array_equal(b, a.astype(b.dtype), equal_nan=a.dtype.kind == "f"), (rel, npy, a.shape, b)' "$@"
}

# The ways that memory can be short: none, panels of a few blocks, one block and no threads.
budgets=("$(room 232M)" "$(room 200K)" "$(room 110K)")

@test "npy in both orders, by file and by stream, under every budget" {
    py '
a = np.random.default_rng(1).normal(size=(257, 131))
a[3, 4], a[5, 6], a[256, 130] = np.nan, np.inf, -np.inf
np.save("c.npy", a); np.save("f.npy", np.asfortranarray(a))'
    local i=0 pairs=()
    for f in c f; do for m in "${budgets[@]}"; do for codec in none zstd:3; do
        [ $codec = none ] || m=$((m + 320000)) # what compressing takes
        i=$((i + 1))
        status 0 tra import $f.npy --block 50x40 --memory $m --codec $codec -o file$i.h5
        has "shape    257 x 131"
        has "24 of 50 x 40"
        has "nan      1"
        has "inf      2"
        tra import -q - --block 50x40 --memory $m --codec $codec -o stream$i.h5 < <(cat $f.npy)
        pairs+=(file$i.h5 c.npy stream$i.h5 c.npy)
    done; done; done
    same "${pairs[@]}"
    same_digest file1.h5 stream1.h5
    status 0 tra info --format json stream1.h5
    is "$(digest_of file1.h5)" json relations.0.digest
}

@test "npy of every type, rank and byte order" {
    py '
r = np.random.default_rng(2); n = 0
for t in "<f8 >f8 <f4 >f4 <f2 >f2 g i1 <i2 >i2 <i4 >i4 <i8 >i8 u1 <u2 >u2 <u4 >u4 <u8 >u8 ?".split():
    a = r.integers(0, 99, (5, 7)).astype(t) if "u" in t else (r.normal(size=(5, 7)) * 50).astype(t)
    np.save(f"t{n}.npy", a); n += 1
np.save("r0.npy", np.array(2.5)); np.save("r1.npy", np.arange(11)); np.save("e.npy", np.zeros((0, 3)))
np.save("r4.npy", np.asfortranarray(r.normal(size=(3, 1, 7, 5))))
np.save("r15.npy", r.normal(size=(1,) * 13 + (2, 3))); np.save("x16.npy", r.normal(size=(1,) * 14 + (2, 3)))'
    local pairs=()
    for f in t*.npy r*.npy e.npy; do
        status 0 tra import $f -o ${f%npy}h5
        pairs+=(${f%npy}h5 $f)
    done
    same "${pairs[@]}"
    status 0 tra info r15.h5
    told 3 tra import x16.npy -o x.h5
    status 0 tra import --format json t0.npy -o x.h5
    is f64 json dtype
    for f in t2 t3 t4 t5; do
        status 0 tra import --format json $f.npy -o x.h5
        is f32 json dtype
    done
    status 0 tra import --format json t2.npy --dtype f64 -o x.h5
    is f64 json dtype
    status 0 tra import r4.npy --block 2x1x3x2 --memory "$(room 20K)" -o x.h5
    same x.h5 r4.npy
}

@test "integers that a float cannot hold and values that f32 cannot are counted" {
    py 'np.save("i.npy", np.array([2**53 + 1, 3, 2**63 - 1])); np.save("d.npy", np.array([1e300, np.inf, 1]))'
    status 0 tra import --format json --dtype f64 i.npy -o x.h5
    has "i.npy: 2 integers cannot be held exactly in f64"
    tra import -q i.npy -o i.h5
    status 0 tra import --dtype f64 i.h5 -o x.h5
    has "i.h5: 2 integers cannot be held exactly in f64"
    status 0 tra import --dtype f32 i.h5 -o x.h5
    has "i.h5: 2 integers cannot be held exactly in f32"
    run bash -c '"$TRA" import --format json d.npy --dtype f32 -o x.h5 2>/dev/null'
    is 1 json overflow
    is 2 json inf
}

# kept SOURCE WANT OPTION...: what is imported has the type WANT, and the values of want.npy.
kept() {
    rm -f kept.h5
    tra import -q "$1" -o kept.h5 --block 3x2 "${@:3}"
    py 'd, want = h5py.File("kept.h5")["data"], np.load("want.npy")
assert d.dtype == np.dtype(sys.argv[2]) and (d[...] == want).all(), (sys.argv, d.dtype, d[...])' "$1" "$2"
}

@test "integers and booleans keep their type: npy, raw, HDF5, in every byte order, by file and by stream" {
    py '
types = "bool i1 u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8".split()
for n, t in enumerate(map(np.dtype, types)):
    if t == bool: a = np.arange(35).reshape(5, 7) % 3 > 0; name = "bool"
    else:
        a = np.arange(35, dtype="i8").reshape(5, 7) * 3 % 8; name = t.kind + str(8 * t.itemsize)
        a[4, 6] = min(np.iinfo(t).max, 2**63 - 1); a[0, 1] = np.iinfo(t).min
    a = a.astype(t); f = np.asfortranarray(a); np.save(f"{n}.npy", a); np.save(f"{n}f.npy", f); a.tofile(f"{n}.raw"); f.T.tofile(f"{n}f.raw")
    with h5py.File(f"{n}.h5", "w") as h:
        h["plain"] = a; h.create_dataset("chunks", data=a, chunks=(4, 3)); h.create_dataset("gz", data=a, chunks=(2, 7), compression="gzip")
    print(n, name, "big" if ">" in types[n] else "little")' >types
    while read -r n type endian; do
        import() { tra import -q "$1" -o "out-$n-$((++m)).h5" --block 3x2 "${@:2}"; }
        local m=0 raw="--shape 5x7 --dtype $type --endian $endian"
        import $n.npy
        import ${n}f.npy
        import - --from npy --memory "$(room 40K)" < <(cat ${n}f.npy)
        import $n.raw $raw
        import ${n}f.raw $raw --order F
        import - --from raw $raw < <(cat $n.raw)
        for name in plain chunks gz; do import $n.h5:$name --codec zstd; done
        [ $type != u64 ] || import $n.h5:gz --dtype i64
    done <types
    py '
import glob
files = sorted(glob.glob("out-*.h5")); assert len(files) == 15 * 9 + 2
for f in files:
    a, d = np.load(f.split("-")[1] + ".npy"), h5py.File(f)["data"]
    want = bool if a.dtype == bool else "i4" if np.can_cast(a.dtype, "i4") else "i8"
    assert d.dtype == want and (d[...] == a.astype(want)).all(), (f, a.dtype, d.dtype, d[...])'
}

@test "--dtype converts what fits, and names the first element that does not" {
    py '
a = np.zeros((5, 7)); a[3, 4] = 2.5; np.save("half.npy", a); a[3, 4] = 3e9; np.save("large.npy", a); a[3, 4] = np.nan; np.save("nan.npy", a)
a[3, 4] = -7; np.save("good.npy", a); np.save("want.npy", a.astype(int))
b = np.zeros((5, 7), "u8"); b[3, 4] = 2**63 + 1; np.save("u.npy", b); np.save("uf.npy", np.asfortranarray(b)); b.tofile("u.raw")
for n in "half", "large", "nan", "good":
    with h5py.File(n + ".h5", "w") as f: f.create_dataset("data", data=np.load(n + ".npy"), chunks=(2, 3))
with h5py.File("u.h5", "w") as f: f.create_dataset("data", data=b, chunks=(2, 3))'
    for type in i64 i32; do for suffix in npy h5; do kept good.$suffix ${type/[0-9]*/}$((${type:1} / 8)) --dtype $type; done; done
    for suffix in npy h5; do
        told 3 tra import half.$suffix --dtype i64 --block 2x2 -o x.h5
        told 3 tra import large.$suffix --dtype i32 -o x.h5
        told 3 tra import nan.$suffix --dtype i32 -o x.h5
        told 3 tra import good.$suffix --dtype bool -o x.h5
        told 3 tra import u.$suffix -o x.h5
        status 0 tra import u.$suffix --dtype f64 -o x.h5; has "1 integers cannot be held exactly in f64"
        py 'assert h5py.File("x.h5")["data"][3, 4] == 2.0**63'
        status 0 tra import -q u.$suffix --dtype f32 -o x.h5
        py 'assert h5py.File("x.h5")["data"][3, 4] == 2.0**63'
    done
    told 3 tra import uf.npy -o y.h5
    told 3 tra import - --from npy -o y.h5 < <(cat uf.npy)
    py 'b = np.zeros((5000, 3), "u8"); b[4321, 1] = 2**63; np.save("long.npy", b)'
    status 3 tra import - --from npy --block 100x3 --memory "$(room 40K)" -o y.h5 < <(cat long.npy)
    has "element [4321,1] is 9223372036854775808"
    told 3 tra import u.raw --shape 5x7 --dtype u64 -o y.h5
    [ ! -e y.h5 ]
}

@test "text of whole numbers is f64, and exact integers where --dtype asks" {
    printf '9007199254740993,-9223372036854775808
9223372036854775807,1e3
' >a.csv
    printf '%%%%MatrixMarket matrix coordinate integer skew-symmetric
2 2 1
2 1 9007199254740993
' >a.mtx
    printf '%%%%MatrixMarket matrix array real general
2 2
9007199254740993
9223372036854775807
-9223372036854775808
1000.00
' >b.mtx
    py 'np.save("want.npy", np.array([[2**53 + 1, -2**63], [2**63 - 1, 1000]]))'
    for from in a.csv b.mtx; do kept $from i8 --dtype i64; done
    status 0 tra import --format json --dtype i64 a.mtx -o x.h5
    is 0 json inexact
    kept - i8 --from csv --dtype i64 < <(cat a.csv)
    py 'np.save("want.npy", np.array([[0, -2**53 - 1], [2**53 + 1, 0]]))'
    kept a.mtx i8 --dtype i64
    told 3 tra import a.csv -o x.h5
    for how in "a.csv --dtype f64" a.mtx; do
        # shellcheck disable=SC2086
        status 0 tra import $how -o x.h5; has "type     f64"; has "integers cannot be held exactly in f64"
    done
    printf '1,0
0,1
' >a.csv
    py 'np.save("want.npy", np.eye(2))'
    kept a.csv ? --dtype bool
    printf '1,2
3,4.5
' >a.csv
    told 3 tra import a.csv --dtype i32 -o y.h5
    printf '1.5,2
3,4
' >a.csv # a row of numbers is no header
    told 3 tra import a.csv --dtype i32 -o y.h5
    printf 'a,b
3,9223372036854775808
' >a.csv
    told 3 tra import a.csv --matrix --dtype i64 -o y.h5
    printf '1,
3,4
' >a.csv
    told 3 tra import a.csv --dtype i64 --empty-nan --no-header -o y.h5
    printf '%%%%MatrixMarket matrix coordinate integer skew-symmetric
2 2 1
2 1 -2147483648
' >a.mtx
    told 3 tra import a.mtx --dtype i32 -o y.h5
    printf '%%%%MatrixMarket matrix array integer general
1 1
2
' >a.mtx
    told 3 tra import a.mtx --dtype bool -o y.h5
    [ ! -e y.h5 ]
}

@test "npy files that hold no numbers, or not what they say" {
    py '
np.save("o.npy", np.array([None, 1]), allow_pickle=True); np.save("c.npy", np.ones(3, complex))
np.save("s.npy", np.array(["a"])); np.save("r.npy", np.zeros(2, [("a", "f8")]))
np.save("a.npy", np.ones((3, 4)))
b = open("a.npy", "rb").read(); open("short.npy", "wb").write(b[:-1]); open("long.npy", "wb").write(b + b"x")
open("huge.npy", "wb").write(b.replace(b"(3, 4), ", b"(99999999999999, 99999999999999), ")[:200])
open("neg.npy", "wb").write(b.replace(b"(3, 4)", b"(-3, 4)"))'
    told 3 tra import o.npy -o x.h5
    told 3 tra import c.npy -o x.h5
    told 3 tra import s.npy -o x.h5
    told 3 tra import r.npy -o x.h5
    for f in short long huge neg; do told 3 tra import $f.npy -o x.h5; done
    told 3 tra import - -o x.h5 < <(cat short.npy)
    told 3 tra import - -o x.h5 < <(cat long.npy)
    told 3 tra import missing.npy -o x.h5
    told 3 tra import . -o x.h5
    [ ! -e x.h5 ]
    is "" find . -name '.x.h5*tmp'
}

@test "tables of text by numpy.savetxt and others" {
    py '
a = np.random.default_rng(3).normal(size=(61, 17)); np.save("a.npy", a)
np.savetxt("blank.txt", a); np.savetxt("comma.csv", a, delimiter=",", header="one,two"); np.savetxt("tab.tsv", a, delimiter="\t")
np.savetxt("crlf.csv", a, delimiter=";", newline="\r\n")
with open("head.csv", "w") as f:
    f.write(",".join(f"\"c, {i}\"" for i in range(17)) + "\n")
    for r in a: f.write(",".join(f"\"{x!r}\"" if i % 3 else f" {x!r} " for i, x in enumerate(r.tolist())) + "\n")
    f.write("\n\n")'
    local pairs=()
    for f in blank.txt comma.csv tab.tsv crlf.csv head.csv; do for m in "${budgets[@]}"; do
        status 0 tra import $f --matrix --block 9x4 --memory $m -o $f-$m.h5
        tra import -q - --matrix --block 9x4 --memory $m -o $f-$m-stream.h5 < <(cat $f)
        pairs+=($f-$m.h5 a.npy $f-$m-stream.h5 a.npy)
    done; done
    same "${pairs[@]}"
    status 0 tra import --format json head.csv --matrix -o x.h5
    is 1 json header_lines
    status 0 tra import --header --matrix blank.txt -o x.h5
    has "60 x 17"
    printf 'nan;inf\n-Inf;1e5\n' | tra import -q - -o x.h5
    py 'a = h5py.File("x.h5")["data"][...]; assert np.isnan(a[0, 0]) and a[0, 1] == np.inf and a[1, 0] == -np.inf and a[1, 1] == 1e5'
}

@test "a table far wider than the memory" {
    py '
a = np.arange(6 * 20000.).reshape(6, 20000) / 7; np.save("a.npy", a); np.savetxt("a.csv", a, delimiter=",", fmt="%r")'
    status 0 tra import --format json a.csv --block 4x100 --memory "$(room 400K)" -o x.h5
    same x.h5 a.npy
    py 'assert json.loads(sys.argv[1])["spilled_bytes"] == 6 * 20000 * 8' "$output"
    is "" find . -name '.tra*'
}

@test "bad tables name line and column" {
    printf '1,2\n3,x\n' > a.csv; told 3 tra import --matrix a.csv -o x.h5
    printf '1,2\n3\n' > a.csv; told 3 tra import a.csv -o x.h5
    printf '1,2\n3,4,5\n' > a.csv; told 3 tra import a.csv -o x.h5
    printf '1,2\n,4\n' > a.csv; told 3 tra import --matrix a.csv -o x.h5
    status 0 tra import --empty-nan a.csv -o x.h5; has "nan      1"
    printf '1,2\n\n3,4\n' > a.csv; status 0 tra import a.csv -o x.h5; has "shape    2 x 2"
    printf '1,b\n3,4\n' > a.csv; told 3 tra import --no-header --matrix a.csv -o x.h5
    : > a.csv; told 3 tra import a.csv -o x.h5
}

@test "no row of a table is lost: what may be data is a header only when the user says so" {
    table() { printf "$1" > a.csv; rm -f x.h5; } # TEXT, and after it WANT OPTIONS...: of the file, and through a pipe
    both() {
        status "$1" tra import a.csv -o x.h5 "${@:2}"
        status "$1" tra import - --from csv -o y.h5 "${@:2}" < <(cat a.csv)
    }
    for t in '1O,2\n3,4\n' '"1,234.5"\n1\n' '1.5D+03\n1\n' '10%%\n1\n' 'a,2\n3,4\n'; do
        table "$t"; both 3; has "say --header if the line is one"
        both 3 --no-header --matrix; has "line 1, column"; lacks "--header"
        both 0 --header --matrix; has "1 header line"
    done
    for t in 'NA,1,2\n3,4,5\n' '\N\n1\n'; do # a word for what is missing is no name
        table "$t"; both 0; has "rows     2"
        both 3 --matrix; has "line 1, column 1"
    done
    table 'a,b\n1,2\n'; is "" eval "tra import -q a.csv -o x.h5 2>&1"
    table 'b,b\n1,2\n'; both 0 -q; has 'two columns are called "b"'
    table 'a,b\n'; both 0; has "rows     0"; both 0 --matrix; has "shape    0 x 2"
    table '1,2\n'; both 0 --header; has "rows     0"
    table '1,2\r3,4\r5,6\r'; both 0; has "shape    3 x 2"
    table '1e400,1\n-inf,2\n'; both 0; has "1 finite values are too large for f64"
}

@test "files that must be unpacked or written anew: what to do" {
    printf '1,2\n3,4\n' > a.csv
    py 'np.savez("a.npz", x=np.ones((2, 2)), y=np.ones(3)); import scipy.io; scipy.io.savemat("a.mat", {"x": np.ones((2, 2))})'
    gzip -c a.csv > b.csv
    told 3 tra import a.npz -o x.h5
    status 0 tra import a.npz:x -o x.h5
    told 3 tra import a.mat -o x.h5
    truncate -s 64 b.csv
    status 0 tra import b.csv --from raw --dtype f32 --shape 16 -o x.h5 # raw elements may be anything
}

@test "MatrixMarket by scipy: dense, coordinate, symmetric, skew, pattern" {
    py '
import scipy.io as io, scipy.sparse as sp
r = np.random.default_rng(4); a = r.normal(size=(41, 23)); s = r.normal(size=(30, 30)); c = sp.random(60, 50, 0.1, random_state=5).tocoo()
for n, m, w in [("dense", a, a), ("sym", s + s.T, s + s.T), ("skew", s - s.T, s - s.T), ("coo", c, c.toarray()),
                ("symcoo", sp.coo_matrix(np.where(abs(s + s.T) > 1, s + s.T, 0)), np.where(abs(s + s.T) > 1, s + s.T, 0)),
                ("int", sp.coo_matrix((c.toarray() * 10).astype(int)), (c.toarray() * 10).astype(int))]:
    io.mmwrite(n + ".mtx", m, precision=17); np.save(n + ".npy", w)
io.mmwrite("pat.mtx", c, field="pattern"); np.save("pat.npy", (c.toarray() != 0) * 1.)'
    local pairs=()
    for f in dense sym skew coo symcoo int pat; do for m in 256M "$(room 2M)"; do
        status 0 tra import $f.mtx --storage dense --block 13x7 --memory $m -o $f-$m.h5
        tra import -q - --storage dense --block 13x7 --memory $m -o $f-$m-stream.h5 < <(cat $f.mtx)
        pairs+=($f-$m.h5 $f.npy $f-$m-stream.h5 $f.npy)
    done; done
    same "${pairs[@]}"
    status 0 tra import symcoo.mtx --format json -o x.h5
    py '
r = json.loads(sys.argv[1]); a = np.load("symcoo.npy"); d = np.count_nonzero(np.diag(a)); n = np.count_nonzero(a)
assert r["entries"] == (n - d) // 2 + d and r["mirrored"] == (n - d) // 2, r' "$output"
    status 0 tra info x.h5; has "no holes"
}

@test "coordinates that do not fit the memory are sorted through the scratch file" {
    py '
r = np.random.default_rng(6); n = 20000; k = r.permutation(300 * 400)[:n]; a = np.zeros((300, 400)); v = r.normal(size=n)
a.flat[k] = v; np.save("a.npy", a)
with open("a.mtx", "w") as f:
    f.write(f"%%MatrixMarket matrix coordinate real general\n300 400 {n}\n")
    for i, x in zip(k.tolist(), v.tolist()): f.write(f"{i // 400 + 1} {i % 400 + 1} {x!r}\n")'
    mkdir scratch
    TRA_SCRATCH=scratch status 0 tra import --format json a.mtx --block 32x32 --memory "$(room 500K)" -o x.h5
    same x.h5 a.npy
    py 'assert json.loads(sys.argv[1])["spilled_bytes"] == 20000 * 16' "$output"
    echo "7 7 1" >> a.mtx
    told 3 tra import a.mtx -o x.h5
    TRA_SCRATCH=/nowhere/at/all status 4 tra import a.mtx --block 32x32 --memory "$(room 500K)" -o y.h5; has "/nowhere/at"
    [ ! -e y.h5 ]
}

@test "bad MatrixMarket files name the line" {
    mm() { printf '%%%%MatrixMarket matrix %s\n' "$1" > a.mtx; printf "$2" >> a.mtx; status 3 tra import a.mtx -o x.h5; }
    mm "coordinate real general" "2 2 1\n3 1 5\n"; has "line 3: entry (3,1) is outside"
    mm "coordinate real general" "2 2 2\n1 1 5\n"; has "ends at line 3 after 1 of 2 entries"
    mm "coordinate complex general" "2 2 0\n"; has "complex"
    mm "array complex hermitian" "1 1\n1\n"; has "complex"
    mm "coordinate real hermitian" "1 1 0\n"; has "hermitian"
    mm "array real general" "2 2\n1\n2\n3\n"; has "after 3 of 4 values"
}

@test "raw elements" {
    py '
a = np.random.default_rng(7).normal(size=(19, 23)); np.save("a.npy", a); a.tofile("le.raw"); a.astype(">f8").tofile("be.raw")
np.asfortranarray(a).T.tofile("f.raw"); f = a.astype("f4"); np.save("s.npy", f); f.tofile("s.bin")'
    tra import -q le.raw --shape 19x23 --dtype f64 --block 5x7 --memory "$(room 30K)" -o x.h5; same x.h5 a.npy
    tra import -q be.raw --shape 19x23 --dtype f64 --endian big -o x.h5; same x.h5 a.npy
    tra import -q f.raw --shape 19x23 --dtype f64 --order F --block 5x7 -o x.h5; same x.h5 a.npy
    tra import -q s.bin --shape 19,23 --dtype f32 -o x.h5; same x.h5 s.npy
    tra import -q - --from raw --shape 19x23 --dtype f64 -o x.h5 < le.raw; same x.h5 a.npy
    tra import -q - --from raw --shape 19x23 --dtype f64 --order F --block 5x7 -o x.h5 < <(cat f.raw); same x.h5 a.npy
    told 2 tra import le.raw -o x.h5
    told 3 tra import le.raw --shape 19x22 --dtype f64 -o x.h5
    told 3 tra import - --from raw --shape 19x24 --dtype f64 -o y.h5 < <(cat le.raw)
    [ ! -e y.h5 ]
}

@test "HDF5 datasets by h5py: contiguous, chunked, gzip, big-endian, integers" {
    py '
r = np.random.default_rng(8); a = r.normal(size=(123, 77)); i = r.integers(-9, 9, (20, 30, 4))
np.save("a.npy", a); np.save("i.npy", i); p = np.full((50, 40), 2.5); p[:10, :10] = 1; np.save("p.npy", p)
with h5py.File("src.h5", "w") as f:
    f["cont"] = a; f["deep/er"] = a; f.create_dataset("gz", data=a, chunks=(20, 30), compression="gzip", shuffle=True)
    f["be"] = a.astype(">f8"); f.create_dataset("cols", data=a, chunks=(123, 1)); f.create_dataset("i", data=i, chunks=(7, 30, 3))
    f.create_dataset("p", shape=p.shape, chunks=(15, 15), fillvalue=2.5, dtype="f8")[:10, :10] = 1; f["text"] = "x"'
    local pairs=()
    for n in cont deep/er gz be cols; do for m in 256M "$(room 1500K)"; do # HDF5 takes 1 MiB
        status 0 tra import src.h5:$n --block 31x17 --memory $m -o ${n%/*}-$m.h5:out
        pairs+=(${n%/*}-$m.h5:out a.npy)
    done; done
    same "${pairs[@]}"
    tra import -q src.h5:i --block 6x7x3 -o x.h5; same x.h5 i.npy
    tra import -q src.h5:p -o y.h5; same y.h5 p.npy
    told 3 tra import src.h5:text -o x.h5
    told 3 tra import src.h5:none -o x.h5
    told 3 tra import - -o z.h5 < src.h5
}

@test "files by GNU Octave" {
    command -v octave > /dev/null || skip "octave is not installed"
    octave -q --eval 'x = reshape(1:12, 3, 4) / 8; save("-hdf5", "o.h5", "x"); dlmwrite("o.csv", x, "precision", 17); csvwrite("o2.csv", x)' \
        > /dev/null
    py 'np.save("x.npy", np.arange(1, 13).reshape(4, 3).T / 8)'
    for f in o.csv o2.csv; do status 0 tra import $f -o y.h5; same y.h5 x.npy; done
    # Octave keeps the first dimension fastest, so that HDF5 shows the transpose, in a dataset "value".
    status 0 tra import o.h5:x/value -o y.h5
    has "4 x 3"
    py 'assert np.array_equal(h5py.File("y.h5")["data"][...].T, np.load("x.npy"))'
}

@test "the block is chosen and said, or given" {
    tra gen -q --shape 3000x2000 -o g.h5
    tra export -q g.h5 -o g.npy
    status 0 tra import g.npy -o x.h5; has "chosen"
    status 0 tra import --format json g.npy --block 9999x100 -o x.h5
    is "[3000, 100]" json block
    status 2 tra import g.npy --block 10 -o x.h5
    status 2 tra import g.npy --block 0x10 -o x.h5
    status 2 tra import g.npy --block ten -o x.h5
}

@test "usage" {
    py 'np.save("a.npy", np.ones((2, 2)))'
    told 2 tra import a.npy
    status 2 tra import -o x.h5
    told 2 tra import a.npy -o x.h5 --from xls
    told 2 tra import a.npy -o x.h5 --dtype i33
    told 2 tra import a.npy -o x.h5 --dtype u16
    status 2 tra import a.npy -o x.h5 --codec lzma
    status 2 tra import a.npy -o x.h5 --header --no-header
    status 2 tra import a.npy -o x.h5 --delimiter 5
    status 4 tra import a.npy -o x.h5 --memory 10; has "at least"
    status 4 env TRA_MEMORY=10 "$TRA" import a.npy -o x.h5; has "at least"
    is "" tra import -q a.npy -o x.h5
    head -c 100 /dev/urandom > noise; status 3 tra import noise -o x.h5; has "--from"
    status 0 tra import --help; has "--block"
}

@test "an import replaces a relation and keeps the others, and a failed one changes nothing" {
    py 'np.save("a.npy", np.ones((4, 4))); np.save("b.npy", np.zeros((3, 3)))'
    tra import -q a.npy -o x.h5:a
    tra import -q b.npy -o x.h5:b
    same x.h5:a a.npy; same x.h5:b b.npy
    cp x.h5 before.h5
    printf '1,2\n3,x\n' > bad.csv
    status 3 tra import bad.csv --matrix -o x.h5:a
    cmp x.h5 before.h5
    is "" find . -name '.x.h5.*tmp'
    status 3 tra import a.npy -o no/such/x.h5
    told 2 tra import a.npy -o ./a.npy
    tra import -q x.h5:a -o x.h5:c; same x.h5:c a.npy; same x.h5:b b.npy
    told 3 tra import - -o x.h5 < /dev/null
}

@test "options of another format are warned of" {
    printf '1,2\n3,4\n' > t.csv
    status 0 tra import t.csv -o t.h5 --shape 3x3; has "warning: --shape is for tns, edges, raw, components and does nothing here: t.csv is csv"
    status 0 tra import -q t.csv -o t.h5 --header; lacks warning
    status 0 tra export t.h5 -o t.npy --gzip --coordinate; has "--gzip is for h5"; has "--coordinate is for mtx"
    status 0 tra export t.h5 -o t.tsv --delimiter ';'; lacks warning
}

@test "the same import gives the same bytes, whatever the threads" {
    py 'np.save("a.npy", np.random.default_rng(9).normal(size=(300, 300)).round(2))'
    for codec in none zstd; do
        TRA_THREADS=1 tra import -q a.npy --block 40x40 --codec $codec -o x.h5
        tra import -q a.npy --block 40x40 --codec $codec -o y.h5
        cmp x.h5 y.h5
    done
}

@test "--memory is a ceiling of the process, and the least is 64 MB and three blocks at most" {
    tra gen -q --shape 1100x1030 --block 1024x1024 --dist normal -o a.h5
    tra gen -q --shape 1100x1030 --block 1024x1024 --dist normal --codec zstd -o z.h5
    for f in npy raw csv; do tra export -q a.h5 -o a.$f; done
    tra export -q a.h5 -o a.mtx
    tra export -q a.h5 --coordinate -o c.mtx
    want=$(digest_of a.h5)
    imports() { # CODEC SOURCE...
        for f in "${@:2}"; do
            bounded $((8 << 20)) import $f --block 1024x1024 --codec "$1" -o x.h5
            [[ $f == *f32 ]] || is "$want" digest_of x.h5
        done
    }
    # of text, which takes longest, each kind by one codec
    imports none a.npy a.csv a.h5 z.h5 "a.raw --shape 1100x1030 --dtype f64"
    imports zstd a.npy c.mtx a.mtx a.h5 z.h5 "z.h5 --dtype f32"
    bounded $((8 << 20)) import z.h5 --block 100x300 --codec zstd -o x.h5
    is "$want" digest_of x.h5
}

@test "a first row that is longer than memory is refused before it takes more than there is" {
    py 'open("wide.csv", "w").write("1," * 6000000 + "1\n")'
    for how in wide.csv '--from csv -'; do
        # shellcheck disable=SC2086
        "$PYTHON" -c 'import resource, subprocess, sys
r = subprocess.run(sys.argv[2:], stdin=open("wide.csv"), capture_output=True, text=True)
assert r.returncode == 4 and "line 1 has more than" in r.stderr, r
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
assert sys.argv[1] or most < 32 << 20, most' "${SAN-}" "$TRA" import $how --memory 32M -o x.h5
        [ ! -e x.h5 ]
    done
    status 0 tra import wide.csv -q --memory 512M --block 1x1000000 -o x.h5
}

@test "blocks too large for the memory are refused before all rows of a table have come" {
    yes 1,2,3 2>/dev/null | { head -n 8000000 2>/dev/null && touch all || true; } |
        status 4 tra import - --from csv --block 10000000x3 --memory 64M -o x.h5
    [ ! -e all ]
    seq 30000 | sed 's/$/,2,3/' | status 0 tra import - --from csv --block 10000000x3 --memory 64M -o x.h5 # fewer do
}

@test "--progress: lines where there is no terminal, a bar on one, nothing under -q" {
    lines_of() { grep -c '^tra: [0-9]* %, .*, [0-9]* s' <<<"$output"; }
    tra gen -q --shape 300x300 --block 10x10 -o a.h5
    for what in "gen --shape 300x300 --block 10x10 -o b.h5" "verify a.h5" "digest a.h5" "export a.h5 -o a.csv" \
        "import a.csv --block 10x300 -o b.h5" "export a.h5 --to mtx -o a.mtx" "import a.mtx --block 100x300 -o b.h5"; do
        # shellcheck disable=SC2086
        status 0 tra $what --progress always
        [ "$(lines_of)" -ge 1 ] || { echo "$what: $output"; return 1; }
        # shellcheck disable=SC2086
        status 0 tra $what
        [ "$(lines_of)" = 0 ]
        # shellcheck disable=SC2086
        status 0 tra $what -q --progress always
        [ "$(lines_of)" = 0 ]
    done
    for extent in 3000 6000 12000; do # a bar is drawn from the first quarter of a second on
        TERM=xterm script -qec "'$TRA' gen --shape 3000x$extent --block 30x30 -o b.h5" /dev/null >drawn
        ! grep -q '%  b.h5' drawn || return 0
    done
    return 1
}

@test "an option of tables is refused for a file of another format, before anything is read or written" {
    "$PYTHON" -c 'import numpy; numpy.save("a.npy", numpy.eye(3))'
    status 2 tra import a.npy --types a=i32 -o x.h5
    is "tra: --types is for tables of CSV files, and a.npy is npy by its name (--from csv reads it as CSV)" echo "$output"
    printf 'a\n1\n' >t
    told 2 tra import t --from npy --table -o x.h5
    [ ! -e x.h5 ]
    status 0 tra import -q t --types a=i32 -o x.h5 # no suffix: text
    tra import -q t --from csv --types a=i32 -o x.h5
    status 0 tra info t # and a file of another format for a relation
    status 3 tra info h5:t
    is "tra: t is not an HDF5 file (tra import makes a relation of files of other formats)" echo "$output"
}

@test "an output in a directory that is missing is refused, and the directory named" {
    printf '1,2\n' >t.csv
    status 3 tra import t.csv -o no/x.h5
    is "tra: cannot write no/.x.h5.tra-lock: there is no directory no" echo "$output"
    tra import -q t.csv -o x.h5
    status 3 tra export x.h5 -o no/x.npy
    is "tra: cannot write no/x.npy: there is no directory no" echo "$output"
}
