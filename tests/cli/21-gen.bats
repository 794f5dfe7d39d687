# tra gen, judged by numpy and h5py.
load helper

@test "the regular distributions" {
    tra gen -q --shape 11x7 --block 4x3 --dist range -o a.h5:range
    tra gen -q --shape 9x12 --block 4x5 --dist identity -o a.h5:identity
    tra gen -q --shape 5x5x5 --block 2x3x4 --dist identity -o a.h5:cube
    tra gen -q --shape 5x5 --block 2x2 --dist zero --dtype f32 -o a.h5:zero
    tra gen -q --shape 5x7 --block 2x2 --dist range --dtype f32 -o a.h5:range32
    tra gen -q --shape '' --dist range -o a.h5:scalar
    py '
f = h5py.File("a.h5")
assert (f["range"][:] == np.arange(77).reshape(11, 7)).all() and f["range"].chunks == (4, 3)
assert (f["identity"][:] == np.eye(9, 12)).all()
c = np.zeros((5, 5, 5)); c[range(5), range(5), range(5)] = 1
assert (f["cube"][:] == c).all()
assert (f["zero"][:] == 0).all() and f["zero"].dtype == np.float32
assert (f["range32"][:] == np.arange(35).reshape(5, 7)).all() and f["range32"].dtype == np.float32
assert f["scalar"][:].tolist() == [0]'
}

@test "identity is 1 only where all coordinates agree" {
    tra gen -q --shape 4x9x4x4 --block 3x2x4x1 --dist identity -o a.h5
    py '
a = h5py.File("a.h5")["data"][:]; i = np.indices(a.shape)
assert (a == ((i[0] == i[1]) & (i[1] == i[2]) & (i[2] == i[3]))).all()'
}

@test "uniform and normal have their distributions" {
    tra gen -q --shape 500x600 --seed 7 -o a.h5:u
    tra gen -q --shape 500x600 --seed 7 --dtype f32 -o a.h5:u32
    tra gen -q --shape 500x600 --dist normal --seed 7 -o a.h5:n
    py '
from scipy import stats
f = h5py.File("a.h5"); u, u32, n = (f[k][:].astype(float) for k in ("u", "u32", "n"))
for x in u, u32:
    assert x.min() >= 0 and x.max() < 1
    assert stats.kstest(x.ravel(), "uniform").pvalue > 1e-4
assert stats.kstest(n.ravel(), "norm").pvalue > 1e-4
assert len(np.unique(u)) == u.size
for x in u, n:  # neighbours along both dimensions are unrelated
    for a, b in (x[:, 1:], x[:, :-1]), (x[1:], x[:-1]): assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.01'
}

@test "integers and booleans: every distribution, any block and codec" {
    for dtype in i64 i32 bool; do
        [ $dtype = bool ] || tra gen -q --shape 11x7 --block 4x3 --dist range --dtype $dtype -o $dtype.h5:range
        tra gen -q --shape 9x12 --block 4x5 --dist identity --dtype $dtype -o $dtype.h5:identity
        tra gen -q --shape 50x60 --block 7x60 --dist zero --dtype $dtype --codec zstd -o $dtype.h5:zero
        tra gen -q --shape 500x600 --seed 7 --dtype $dtype -o $dtype.h5:a
        TRA_THREADS=1 tra gen -q --shape 500x600 --block 333x64 --seed 7 --dtype $dtype --codec zstd -o $dtype.h5:b
        same_digest $dtype.h5:a $dtype.h5:b
        py '
f, t = h5py.File(sys.argv[1] + ".h5"), dict(i64="<i8", i32="<i4", bool="|b1")[sys.argv[1]]
assert all(d.dtype.str == t for k, d in f.items() if k != ".tra"), list(f)
if t != "|b1": assert (f["range"][:] == np.arange(77).reshape(11, 7)).all()
assert (f["identity"][:] == np.eye(9, 12)).all() and (f["zero"][:] == 0).all()
a, b = f["a"][:], f["b"][:]; n = 2 if t == "|b1" else 100
assert (a == b).all() and a.min() == 0 and a.max() == n - 1
counts = np.bincount(a.ravel().astype(int)); assert len(counts) == n and abs(counts - a.size / n).max() < 6 * (a.size / n) ** 0.5' $dtype
    done
}

@test "the same seed gives the same values whatever the block, codec, threads and memory" {
    for dist in uniform normal; do
        tra gen -q --shape 130x171 --block 130x171 --dist $dist --seed 3 -o a.h5
        TRA_THREADS=1 tra gen -q --shape 130x171 --block 7x100 --dist $dist --seed 3 --codec zstd -o b.h5
        TRA_THREADS=5 tra gen -q --shape 130x171 --block 33x2 --dist $dist --seed 3 --memory "$(room 2M)" -o c.h5
        py 'a, b, c = (h5py.File(k + ".h5")["data"][:] for k in "abc"); assert (a == b).all() and (a == c).all()'
        tra gen -q --shape 130x171 --dist $dist --seed 4 -o d.h5
        py 'a, d = (h5py.File(k + ".h5")["data"][:] for k in "ad"); assert (a != d).mean() > 0.99'
        py 'a, d = (h5py.File(k + ".h5")["data"][:].ravel() for k in "ad"); assert abs(np.corrcoef(a, d)[0, 1]) < 0.04'
    done
}

@test "the same command gives the same bytes" {
    for codec in none zstd; do
        TRA_THREADS=1 tra gen -q --shape 300x200 --block 64x64 --codec $codec -o a.h5
        TRA_THREADS=4 tra gen -q --shape 300x200 --block 64x64 --codec $codec -o b.h5
        cmp a.h5 b.h5
    done
    tra gen -q --shape 300x200 --block 64x64 --no-history -o a.h5
    py 'assert "tra_history" not in h5py.File("a.h5")["data"].attrs and "tra_history" in h5py.File("b.h5")["data"].attrs'
}

@test "a block is chosen and said, reduced to the tensor, refused when it does not fit" {
    status 0 tra gen --shape 3000x10 -o a.h5
    has "f64 3000 x 10 in blocks of 3000 x 10 (chosen), 1 block,"
    status 0 tra gen --shape 2100x2100 --dist zero -o a.h5
    has "blocks of 700 x 700 (chosen), 9 blocks"
    status 0 tra gen --shape 30x10 --block 1000x4 -o a.h5
    has "in blocks of 30 x 4, 3 blocks"
    told 2 tra gen --shape 30x10 --block 5 -o a.h5
    status 0 tra gen -q --shape 3 -o a.h5
    [ -z "$output" ]
}

@test "wrong usage" {
    told 2 tra gen --shape 3x3
    told 2 tra gen -o a.h5
    for shape in 3x 3xx3 -1 3.5 a 99999999999x99999999999; do
        told 2 tra gen --shape "$shape" -o a.h5
    done
    status 2 tra gen --shape 3 --block 0 -o a.h5
    told 2 tra gen --shape 3 --dtype f16 -o a.h5
    told 2 tra gen --shape 3 --dist normal --dtype i64 -o a.h5
    told 2 tra gen --shape 3 --dist range --dtype bool -o a.h5
    told 2 tra gen --shape 2147483649 --dist range --dtype i32 -o a.h5
    status 2 tra gen --shape 3 --codec lz4 -o a.h5
    told 2 tra gen --shape 3 --dist poisson -o a.h5
    told 2 tra gen --shape 3 --dist identity -o a.h5
    status 2 tra gen --shape 3 --seed x -o a.h5
    status 2 tra gen --shape 3 -o a.h5 b.h5
    [ ! -e a.h5 ]
}

@test "too little memory is status 4 with what would do, and leaves the earlier file" {
    tra gen -q --shape 3 --dist range -o a.h5
    status 4 tra gen --shape 1000x1000 --block 1000x1000 --memory 1M -o a.h5
    has "need"
    py 'assert (h5py.File("a.h5")["data"][:] == [0, 1, 2]).all()'
    [ "$(find . -type f)" = ./a.h5 ]
}

@test "other relations of the file are kept" {
    tra gen -q --shape 3 --dist range -o a.h5:x
    tra gen -q --shape 4 --dist range -o a.h5:y
    tra gen -q --shape 5 --dist range -o a.h5:x
    py 'f = h5py.File("a.h5"); assert f["x"].shape == (5,) and f["y"].shape == (4,)'
    tra gen -q --shape 6 --dist range -o a.h5 # named as a whole, the file is replaced as a whole
    py 'f = h5py.File("a.h5"); assert f["data"].shape == (6,) and len(f) == 2, list(f)'
}

@test "a place that cannot be written is named" {
    told 3 tra gen --shape 3 -o missing/a.h5
}

@test "interrupted, it leaves no temporary files" {
    tra gen -q --shape 3 --dist range -o a.h5
    "$TRA" gen -q --shape 20000x20000 --dist normal -o a.h5 &
    pid=$!
    meet $pid compgen -G '.a.h5.tra-*.tmp'
    kill -TERM $pid
    rc=0
    wait $pid || rc=$?
    [ "$rc" = 143 ]
    [ "$(find . -type f)" = ./a.h5 ]
    py 'assert (h5py.File("a.h5")["data"][:] == [0, 1, 2]).all()'
}

@test "--memory is a ceiling of the process, and the least is 64 MB and three blocks at most" {
    for codec in none zstd zstd:9; do
        bounded $((8 << 20)) gen --shape 1100x2000 --block 1024x1024 --codec $codec -o a.h5
    done
    bounded $((32 << 20)) gen --shape 4100x2048 --block 4096x2048 --dtype f32 --dist zero --codec zstd -o a.h5
}

@test "what a symbolic link leads to is written, there or not; a circle of links is nothing to write to" {
    mkdir far d
    ln -s ../far/x.h5 d/x.h5
    ln -s d/x.h5 y.h5
    ln -s far/x.npy x.npy
    ln -s loop loop
    for shape in 5 6; do
        status 0 tra gen -q -s $shape -o y.h5
        status 0 tra export -q y.h5 -o x.npy
        [ -f far/x.h5 ]
        [ -L d/x.h5 ]
        [ -L y.h5 ]
        [ -f far/x.npy ]
        [ -L x.npy ]
        status 0 tra info far/x.h5
        has "tensor      f64 $shape"
        [ "$(ls -A far)" = $'x.h5\nx.npy' ]
    done
    status 3 tra gen -q -s 5 -o loop
    status 3 tra export -q y.h5 --to npy -o loop
    [ -L loop ]
}

@test "a ceiling that is too low for the blocks: what to type, and which blocks would fit" {
    fits() { # COMMAND...: refused with a ceiling and blocks that are then taken
        status 4 tra "$@" --memory 60M --block 3000x3000
        [[ $output =~ "(--memory "([0-9]+M)"); smaller blocks would fit (--block "([0-9x]+)")" ]]
        local memory=${BASH_REMATCH[1]} block=${BASH_REMATCH[2]}
        status 0 tra "$@" -q --memory "$memory" --block 3000x3000
        status 0 tra "$@" -q --memory 60M --block "$block"
    }
    fits gen --shape 3000x3000 --dist range -o a.h5
    fits gen --shape 3000x3000 --dist range --codec zstd -o a.h5
    tra export -q a.h5 -o a.npy
    fits import a.npy -o b.h5
    fits import a.npy --codec zstd -o b.h5
    py 'np.save("t.npy", np.asfortranarray(np.load("a.npy")))'
    fits import t.npy -o b.h5
    status 0 tra diff a.h5 b.h5
}
