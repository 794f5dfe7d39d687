#!/usr/bin/env bats
# import of coordinates: MatrixMarket, .tns, lists of edges, compressed or not; judged by scipy.
load helper

same() { # REL NPY...
    local i
    for ((i = 1; i < $#; i += 2)); do
        tra export -q "${!i}" -o got.npy
        py 'a, b = np.load("got.npy"), np.load(sys.argv[1]); assert a.shape == b.shape and np.array_equal(a, b, equal_nan=True), (a, b)' \
            "${@:i+1:1}"
    done
}

@test "text of millions of bytes is read by all threads, compressed too, and through a pipe" {
    py '
import scipy.sparse as sp
r = np.random.default_rng(1); n = 150000; i = r.integers(0, 300, n); j = r.integers(0, 400, n); v = r.normal(size=n)
np.save("a.npy", sp.coo_matrix((v, (i, j)), (300, 400)).toarray())
with open("a.mtx", "w") as f:
    f.write(f"%%MatrixMarket matrix coordinate real general\n%c\n300 400 {n}\n")
    f.writelines(f"{a + 1} {b + 1} {x!r}\n" for a, b, x in zip(i.tolist(), j.tolist(), v.tolist()))'
    gzip -k a.mtx
    "$PYTHON" -c 'import gzip; t = open("a.mtx", "rb").read(); open("b.mtx.gz", "wb").write(gzip.compress(t[:99999]) + gzip.compress(t[99999:]))'
    command -v zstd && zstd -q a.mtx
    for f in a.mtx a.mtx.gz b.mtx.gz $(ls a.mtx.zst 2> /dev/null); do
        status 0 tra import $f --block 70x90 -o x.h5; has "150000 read"; has "were given before, and were added"
        for m in 256M "$(room $([[ $f == *.zst ]] && echo 8M || echo 1M))"; do
            tra import -q $f --block 70x90 --memory $m -o y.h5
            tra import -q --from mtx - --block 70x90 --memory $m --no-history -o z.h5 < <(cat $f)
            digest_of y.h5 >>digests
            digest_of z.h5 >>digests
        done
        py 'a = np.load("a.npy"); import h5py; b = h5py.File("y.h5")["data"][...]; assert np.allclose(a, b, atol=1e-12), abs(a - b).max()'
    done
    is 1 eval "sort -u digests | wc -l" # three and more of a place add up in one order, whatever the runs
    head -c 500000 a.mtx.gz > cut.mtx.gz; status 3 tra import cut.mtx.gz -o x.h5; has "end too early"
    printf 'x' | dd of=a.mtx.gz bs=1 seek=400000 conv=notrunc status=none; status 3 tra import a.mtx.gz -o x.h5; has "gzip data are damaged"
}

@test "a frame of zstd that is one segment has a window as large as its content" {
    command -v zstd || skip "no zstd"
    seq 1 1300000 > a.csv
    zstd -q -1 --zstd=wlog=24 a.csv # 9 MiB in one segment: more than the 8 MiB of frames that do not tell
    tra import -q --no-header a.csv.zst -o x.h5; tra import -q --no-header a.csv -o y.h5
    same_digest y.h5 x.h5
    tra import -q --table --no-header a.csv.zst -o t.h5; status 0 tra info t.h5; has "1300000"
    seq 1 5300000 > b.csv
    zstd -q -1 --zstd=wlog=26 b.csv
    for how in "" --table; do status 4 tra import $how --no-header b.csv.zst --memory 48M -o z.h5; has "takes a window of"; done
}

@test "errors name the line wherever it is, whatever the threads" {
    for n in 1 2; do
        { printf '%%%%MatrixMarket matrix coordinate real general\n9 9 300000\n'; yes '1 2 3.25' | head -n 299000; echo "4 5 6x"
          yes '1 10 3' | head -n 1000; } > a.mtx
        TRA_THREADS=$n told 3 tra import a.mtx -o x.h5
        sed -i 299003d a.mtx; TRA_THREADS=$n told 3 tra import a.mtx -o x.h5
        { head -n 299002 a.mtx; yes '' | head -n 3000; yes '2 1 3' | head -n 1001; } > b.mtx
        TRA_THREADS=$n told 3 tra import b.mtx -o x.h5
        head -n 302002 b.mtx > c.mtx; TRA_THREADS=$n told 3 tra import c.mtx -o x.h5
    done
    { printf '%%%%MatrixMarket matrix coordinate real general\n9 9 1\n'; head -c 20000 /dev/zero | tr '\0' ' '; echo '1 1 1'; } > a.mtx
    told 3 tra import a.mtx -o x.h5
}

@test "duplicates are added in the order of the file, or an error; whole numbers exactly" {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1e17\n2 1 3\n1 1 1\n1 1 -1e17\n' > a.mtx
    status 0 tra import a.mtx -o x.h5; has "2 entries are of elements that were given before"; has "2 added to others"
    is "0,0
3,0" tra export x.h5 --to csv -o - # as 1e17 + 1 - 1e17 is
    py 'rng = np.random.default_rng(1); v = rng.normal(size=1001) * 10.0 ** rng.integers(-8, 8, 1001)
open("d.tns", "w").write("".join(f"{1 + i % 2} {float(x)!r}\n" for i, x in enumerate(v)))
for k in 0, 1:
    s = 0.0
    for x in v[k::2]: s += float(x)
    print(repr(s))' >want
    for n in 1 2 3; do # each thread sorts a part
        TRA_THREADS=$n tra import -q d.tns -o x.h5
        tra export x.h5 --to csv -o - | py 'for a, b in zip(sys.stdin, open("want"), strict=True): assert float(a) == float(b)'
    done
    status 0 tra import a.mtx --format json -q -o x.h5
    told 3 tra import a.mtx --duplicates error -o x.h5
    printf '%%%%MatrixMarket matrix coordinate integer general\n1 2 4\n1 1 9007199254740993\n1 1 1\n1 2 9223372036854775807\n1 2 1\n' > b.mtx
    told 3 tra import b.mtx --dtype i64 -o x.h5
    sed -i 's/^1 2 1$/1 2 0/' b.mtx; tra import -q b.mtx --dtype i64 -o x.h5
    is "9007199254740994,9223372036854775807" tra export x.h5 --to csv -o -
    printf '0 1\n0 1\n1 1\n' > a.edges
    tra import -q a.edges --dtype i32 -o x.h5; is "0,2
0,1" tra export x.h5 --to csv -o -
    tra import -q a.edges --dtype bool -o x.h5; is "0,1
0,1" tra export x.h5 --to csv -o -
    printf '1 1 2000000000\n1 1 2000000000\n' > a.tns
    told 3 tra import a.tns --dtype i32 -o x.h5
}

@test "explicit zeros are kept, or dropped" {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 0\n2 1 3\n2 2 -0\n' > a.mtx
    status 0 tra import a.mtx -o x.h5; has "0 zeros left out"
    status 0 tra import a.mtx --drop-zeros -o x.h5; has "2 zeros left out"
}

@test "NaN and infinity are values; empty matrices are matrices" {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 1 -inf\n' > a.mtx
    status 0 tra import a.mtx -o x.h5; has "nan      1"; has "inf      1"
    for s in '0 0 0' '5 0 0' '0 7 0' '3 4 0'; do
        printf '%%%%MatrixMarket matrix coordinate real general\n%s\n' "$s" > e.mtx
        tra import -q e.mtx -o x.h5 2> /dev/null
        read -r r c _ <<<"$s"
        status 0 tra export x.h5 -o e.npy
        py 'a = np.load("e.npy"); assert a.shape == (int(sys.argv[1]), int(sys.argv[2])) and not a.any(), a' "$r" "$c"
    done
}

@test ".tns of rank 3 and 4, with and without headers" {
    py '
r = np.random.default_rng(2)
for name, shape in [("a", (7, 11, 13)), ("b", (3, 4, 5, 6))]:
    a = r.normal(size=shape) * (r.random(shape) < .2); a[tuple(-1 for _ in shape)] = 1; np.save(name + ".npy", a)
    x = [" ".join(map(str, i + 1)) + f" {a[tuple(i)]!r}\n" for i in np.argwhere(a)]; r.shuffle(x)
    open(name + ".tns", "w").writelines(["# c\n"] + x)
    open(name + "x.tns", "w").writelines(["# extended FROSTT format\n", f"{len(shape)} {len(x)}\n", " ".join(map(str, shape)) + "\n"] + x)
    open(name + "s.tns", "w").writelines(["sptensor\n", f"{len(shape)}\n", " ".join(map(str, shape)) + "\n", f"{len(x)}\n"] + x)
    open(name + "t.ttx", "w").writelines(["%%MatrixMarket tensor coordinate real general\n%\n", " ".join(map(str, shape)), f" {len(x)}\n"] + x)'
    for f in a b; do
        for g in $f.tns ${f}x.tns ${f}s.tns ${f}t.ttx; do
            tra import -q $g -o x.h5; same x.h5 $f.npy
            tra import -q --from "$(case $g in *.ttx) echo mtx ;; *) echo tns ;; esac)" - -o x.h5 < <(cat $g); same x.h5 $f.npy
        done
        tra import -q $f.npy -o x.h5; tra export -q x.h5 -o y.tns; tra import -q y.tns -o y.h5; same y.h5 $f.npy
    done
    status 0 tra import a.tns --shape 9x11x20 -o x.h5; has "9 x 11 x 20"
    told 3 tra import a.tns --shape 7x11x12 -o x.h5
    told 2 tra import a.tns --shape 7x11 -o x.h5
    told 3 tra import a.tns --base 0 --shape 7x11x13 -o x.h5
}

@test "lists of edges: comments, tabs, weights, vertices that are not there" {
    printf '# Directed graph\r\n# Nodes: 4 Edges: 3\r\n# FromNodeId\tToNodeId\r\n0\t3\r\n3\t1\r\n\r\n1\t0\t2.5\r\n' > g.txt
    for how in g.txt "--from edges -"; do
        # shellcheck disable=SC2086
        tra import -q $how -o x.h5 < <(cat g.txt)
        is "0,0,0,1
2.5,0,0,0
0,0,0,0
0,1,0,0" tra export x.h5 --to csv -o -
    done
    gzip g.txt; status 0 tra import --from edges g.txt.gz --shape 5x6 -o x.h5; has "5 x 6"
    printf '1 2\n' > h.edges; tra import -q --base 1 h.edges -o x.h5
    is "0,1
0,0" tra export x.h5 --to csv -o -
    tra export -q x.h5 -o y.edges; tra import -q y.edges --shape 2x2 -o y.h5; status 0 tra diff x.h5 y.h5
}

@test "an index that no extent holds, and a window that no memory holds, are refused" {
    printf '0 9223372036854775807\n' >far.edges
    told 3 tra import far.edges -o x.h5
    printf '9223372036854775807 1\n' >far.tns
    told 3 tra import --base 0 far.tns -o x.h5
    printf '\x28\xb5\x2f\xfd\x04\xa8\x01\x00\x00' >window.tns # 2 GiB
    status 4 tra import window.tns -o x.h5
    has "window.tns: to unpack it takes a window of"
}

@test "a matrix of 1e18 elements and three entries: stored, transposed, exported; densely it is refused" {
    printf '%%%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 3\n1 1 5\n1000000000 7 2\n500000000 999999999 4\n' > big.mtx
    status 0 tra import big.mtx -o big.h5
    has "stored as dcsr"
    has "storage  dcsr, 3 entries"
    [ "$(stat -c %s big.h5)" -lt 20000 ]
    for s in coo dcsc csf; do
        tra import -q big.mtx --storage $s -o other.h5
        status 0 tra verify other.h5
        status 0 tra diff big.h5 other.h5
        same_digest big.h5 other.h5
    done
    printf 'input A from "big.h5"\nB[j,i] as coo = A[i,j] * 2\ns[] = sum A[i,j]\noutput B\noutput s\n' > p.tra
    status 0 tra run -q p.tra
    is "1000000000 1000000000 3
1 1 10
7 1000000000 4
999999999 500000000 8" eval "tra export -q B.h5 --to mtx -o - | tail -n 4"
    status 4 tra import big.mtx --storage dense -o d.h5
    has "too little"
    sed -i 's/1000000000 1000000000 3/10000000000 1000000000 3/' big.mtx
    told 3 tra import big.mtx -o x.h5
}

@test "MatrixMarket as scipy, SuiteSparse and LAGraph write it: words in any case, types, comments, blank lines" {
    # reads WANT TEXT: the text (with \n) imports, and its elements are these
    reads() {
        printf "$2" >v.mtx
        status 0 tra import -q v.mtx --storage csr -o v.h5
        is "$1" eval "tra head v.h5 | tr '\n' ' '"
    }
    local head='%%%%MatrixMarket matrix coordinate'
    reads '3,0 0,4.5 ' '%%%%matrixmarket MATRIX Coordinate REAL General\n%% c\n\n   \n2 2 2\n\n1 1 3\n  2\t2 4.5  \n'
    reads '0,3 0,0 ' "$head"' double general\n2 2 1\n1 2 3\n'
    reads '0,3 0,0 ' "$head"' unsigned-integer general\n2 2 1\n1 2 3\n'
    reads '0,3 0,0 ' "$head"' real general\n%%%%GraphBLAS type double\n2 2 1\n1 2 3\n'
    reads '0,1 0,0 ' "$head"' pattern general\n%%%%GraphBLAS type bool\n2 2 1\n1 2\n'
    reads '0,-7 0,0 ' "$head"' integer general\n%%%%GraphBLAS type int8_t\n2 2 1\n1 2 -7\n'
    reads '0,3 0,0 ' "$head"' real general\r\n2 2 1\r\n1 2 3\r\n'
    reads '0,3,0 3,0,0 0,0,1 ' "$head"' real symmetric\n3 3 2\n1 2 3\n3 3 1\n'
    printf "$head"' real general\n2 2 3\n1 2 3\n' >v.mtx
    told 3 tra import v.mtx -o v.h5
    printf "$head"' real general\n2 2 1\n1 2 3\n2 2 2\n' >v.mtx
    told 3 tra import v.mtx -o v.h5
    printf "$head"' real general\n2 2 1\n0 2 3\n' >v.mtx
    told 3 tra import v.mtx -o v.h5
    printf "$head"' real skew-symmetric\n3 3 1\n2 2 3\n' >v.mtx
    told 3 tra import v.mtx -o v.h5
}
