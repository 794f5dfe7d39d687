# Stored relations whose datasets are compressed: the values, the digest and the checks are those of others.
load helper

# m.mtx: 30,000 entries of a matrix of 400 x 300, in blocks that no chunk of 8192 elements ends with; m.npz beside it.
matrix() {
    py '
import scipy.sparse as sp, scipy.io as io
r = np.random.default_rng(3)
m = sp.random(400, 300, .25, random_state=5, format="csr"); m.data = r.integers(1, 9, m.nnz).astype("f8")
io.mmwrite("m.mtx", m); sp.save_npz("m.npz", m); np.save("m.npy", m.toarray())'
}

# digest_of REL: without its name.

@test "an import compressed at any level is the relation that it is without, and h5py reads it" {
    matrix
    for storage in csr csc coo dcsr lower; do
        if [ "$storage" = lower ]; then
            py 'import scipy.sparse as sp, scipy.io as io; io.mmwrite("m.mtx", sp.tril(sp.load_npz("m.npz")))'
        fi
        tra import -q m.mtx --storage "$storage" -o plain.h5
        for level in 1 9; do
            tra import -q m.mtx --storage "$storage" --codec zstd:$level -o z.h5
            status 0 tra diff plain.h5 z.h5
            status 0 tra verify z.h5
            same_digest plain.h5 z.h5
            status 0 tra info --format json z.h5
            is zstd json relations.0.codec
            [ "$(stat -c %s z.h5)" -lt "$(stat -c %s plain.h5)" ]
        done
        py '
a, b = h5py.File("plain.h5")["data"], h5py.File("z.h5")["data"]
assert list(a) == list(b)
for k in a: assert a[k].dtype == b[k].dtype and np.array_equal(a[k][:], b[k][:]), k'
    done
}

@test "gen is the same, and a ceiling holds it" {
    tra gen -q --shape 30000x2000 --density .01 --storage dcsr -o a.h5
    tra gen -q --shape 30000x2000 --density .01 --storage dcsr --codec zstd --memory 36M -o z.h5
    status 0 tra diff a.h5 z.h5
    same_digest a.h5 z.h5
    # the bytes are those of any number of threads
    TRA_THREADS=1 tra gen -q --no-history --shape 30000x2000 --density .01 --storage dcsr --codec zstd -o one.h5
    TRA_THREADS=2 tra gen -q --no-history --shape 30000x2000 --density .01 --storage dcsr --codec zstd -o two.h5
    cmp one.h5 two.h5
    tra gen -q --no-history --shape 30000x2000 --density .01 --storage dcsr --codec zstd:15 -o best.h5
    [ "$(stat -c %s best.h5)" -lt "$(stat -c %s one.h5)" ]
}

@test "outputs: the same bytes on 1, 2 and 3 sites by both transports, and read again as inputs" {
    matrix
    tra import -q m.mtx --storage csr --block 150x130 --codec zstd:3 -o a.h5
    cat >p.tra <<'END'
input A from "a.h5"
B[i,j] as csr = A[i,j] * A[i,j]
C[j,i] as coo = A[i,j]
output B
output C to "both.h5:c"
output A to "both.h5:a"
END
    status 0 tra run -q p.tra --no-history --codec zstd
    status 0 tra verify B.h5 both.h5:a both.h5:c
    for f in B both; do mv $f.h5 $f.1.h5; done
    for n in 2 3; do
        for transport in mpi files; do
            status 0 mpirun -q -n $n "$TRA" run -q p.tra --no-history --codec zstd --transport $transport
            for f in B both; do cmp $f.h5 $f.1.h5; done
        done
    done
    same_digest a.h5 both.h5:a
    tra export -q B.h5 -o b.npy
    tra export -q both.h5:c -o c.npy
    py 'm = np.load("m.npy"); assert (np.load("b.npy") == m * m).all() and (np.load("c.npy") == m.T).all()'
    status 0 tra run -q p.tra --no-history --codec zstd --engine reference
    status 0 tra verify B.h5
    same_digest B.1.h5 B.h5
    [ -z "$(ls -A | grep '^\.')" ] # nothing is left of what waited
}

@test "a run that was killed goes on to the bytes of the run that was not" {
    tra gen -q --shape 1200x1200 --block 60x60 --density .3 --dist normal -o a.h5
    cat >p.tra <<'END'
input A from "a.h5"
B[i,j] as csr = tanh(tanh(tanh(A[i,j])))
output B
END
    status 0 tra run -q p.tra --no-history --codec zstd
    mv B.h5 want.h5
    slow 20 "$TRA" run -q p.tra --no-history --codec zstd --resume --threads 1 &
    local pid=$!
    saved() { find "$TRA_SCRATCH" -type f -size +20k | grep -q .; }
    meet $pid saved
    kill -9 $pid
    wait $pid || true
    status 0 tra run -q p.tra --no-history --codec zstd --resume
    cmp B.h5 want.h5
}

@test "a damaged byte of a compressed chunk is found, and the dataset and the block are named" {
    matrix
    tra import -q m.mtx --storage csr --codec zstd -o z.h5
    # damage DATASET: flips a bit in the middle of its second chunk
    damage() {
        cp z.h5 s.h5
        py '
f = h5py.File("s.h5", "r"); i = f[sys.argv[1]].id.get_chunk_info(1); f.close()
with open("s.h5", "r+b") as f:
    f.seek(i.byte_offset + i.size // 2); b = f.read(1)[0]; f.seek(-1, 1); f.write(bytes([b ^ 16]))' "$1"
        status 1 tra verify s.h5
        has "block <0,0> of s.h5:data is damaged: ${1#data/}: "
    }
    damage data/values
    damage data/indices_1
}

@test "a chunk that is no compressed chunk at all, or is of another length, is found when it is read" {
    matrix
    # chunk DATASET MASK BYTES: what the second chunk of it is now
    chunk() {
        tra import -q m.mtx --storage csr --codec zstd -o s.h5
        py 'f = h5py.File("s.h5", "r+"); d = f[sys.argv[1]]
d.id.write_direct_chunk((8192,), eval(sys.argv[3]), int(sys.argv[2]))' "$@"
        status 3 tra export -q s.h5 -o s.npy
        [ ! -e s.npy ]
    }
    chunk data/values 0 'b"no frame of zstd" * 20'
    has "s.h5:data: a chunk of it is damaged: "
    chunk data/indices_1 2 'b"12345678" * 100' # it says that nobody has compressed it
    has "s.h5:data: a chunk of it is damaged: it has not the length of a chunk"
}

@test "export --to h5 leaves the filter out" {
    matrix
    tra import -q m.mtx --storage csr --codec zstd -o z.h5
    status 0 tra export -q z.h5 --to h5 -o plain.h5
    status 0 tra info --format json plain.h5
    is none json relations.0.codec
    same_digest z.h5 plain.h5
}
