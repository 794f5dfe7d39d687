# Products of which one block has no room in memory: made in panels and written from scratch, or stopped with status 4
# and blocks that would do; never above the ceiling.
load helper

# product N BLOCK_A BLOCK_B [TIMES]: a.h5, b.h5 and c.npz, their product: N x N, full, of two matrices of about 2 N
# entries each. They have 6 N columns and rows (TIMES N); blocks are given as if these were N. Of what is cut along the
# columns of A planning expects few entries. Whole numbers.
product() {
    local times=${4:-6}
    py '
import scipy.sparse as sp
n, m = int(sys.argv[1]), int(sys.argv[1]) * int(sys.argv[2]); r = np.random.default_rng(5); i = np.arange(n); z = np.zeros(n, int)
def value(): return r.integers(1, 9, n).astype("f8")
a = sp.csr_matrix((value(), (i, z)), (n, m)) + sp.csr_matrix((value(), (i, r.permutation(m)[:n])), (n, m))
b = sp.csr_matrix((value(), (z, i)), (m, n)) + sp.csr_matrix((value(), (r.permutation(m)[:n], i)), (m, n))
sp.save_npz("a.npz", a); sp.save_npz("b.npz", b); sp.save_npz("c.npz", (a @ b).tocsr(), compressed=False)' "$1" "$times"
    tra import -q a.npz --storage csr --block "${2%x*}x$((times * ${2#*x}))" -o a.h5
    tra import -q b.npz --storage csr --block "$((times * ${3%x*}))x${3#*x}" -o b.h5
}

# program STATEMENT...: p.tra.
program() {
    printf '%s\n' 'input A from "a.h5"' 'input B from "b.h5"' "$@" 'output C to "c.h5"' >p.tra
}

# A storage whose columns are not written one by one.
columns='storage columns[m, n] = levels(sparse, dense) order [1, 0]'

# below MIB ARGUMENT...: runs p.tra below that ceiling, which holds; $code is its status, `said` what it printed.
below() {
    rm -f c.h5
    read -r code kib < <("$PYTHON" -c '
import resource, subprocess, sys # and no more: what is forked begins as large as this
s = subprocess.run(sys.argv[1:], stderr=open("said", "w")).returncode
print(s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$TRA" run -q p.tra --no-history --threads 2 \
        --memory "$1M" "${@:2}")
    cat said
    echo "status $code, $kib KiB"
    [ "$kib" -lt $(($1 * 1024)) ]
}

# refused MIB ARGUMENT...: p.tra is refused below that ceiling, beforehand; $least is the one that is named, in MiB.
refused() {
    below "$@"
    [ "$code" = 4 ]
    [ ! -e c.h5 ]
    least=$(sed -n 's/.*no plan fits in .* least that would do is .*(--memory \([0-9]*\)M).*/\1/p' said)
    [ "$least" -gt "$1" ]
}

# right [FUNCTION]: c.h5 is c.npz, or that function of it.
right() {
    tra export -q c.h5 -o got.npz
    py '
import scipy.sparse as sp
want, got = sp.load_npz("c.npz"), sp.load_npz("got.npz").tocsr()
if len(sys.argv) > 1: want.data = eval(sys.argv[1])(want.data)
want.eliminate_zeros()
assert got.nnz == want.nnz and (got != want).nnz == 0' "$@"
}

@test "a block that has no room is made in panels: the same bytes as with all memory, in every order of levels" {
    product 1500 1500x1500 1500x1500 # 26 MB, of which 13 MB are for blocks
    for storage in csr dcsr coo; do
        program "C[i,k] as $storage = sum A[i,j] * B[j,k]"
        below 1000
        [ "$code" = 0 ]
        mv c.h5 whole.h5
        below 44
        [ "$code" = 0 ]
        cmp c.h5 whole.h5
        status 0 tra verify c.h5
    done
    right
    below 44 --codec zstd
    [ "$code" = 0 ]
    right
    below 44 --codegen off
    [ "$code" = 0 ]
    cmp c.h5 whole.h5 # coo, too
}

@test "sums of several meetings grow panel by panel, also those of a tree, and with a function after them" {
    product 1200 1200x300 300x1200
    program 'C[i,k] as csr = sum A[i,j] * B[j,k]'
    below 1000
    mv c.h5 whole.h5
    below 44
    [ "$code" = 0 ]
    cmp c.h5 whole.h5
    right
    below 44 --reproducible
    [ "$code" = 0 ]
    right
    program 'C = transform(agg(join(A, B, [1], [0], matmul), [0,2], matadd), x -> min(x, 50) * 2)'
    sed -i 's/"c.h5"/"c.h5" as csr/' p.tra
    refused 44 # the sum is put together, for the function
    below "$least"
    [ "$code" = 0 ]
    right 'lambda x: np.minimum(x, 50) * 2'
}

@test "transposed operands and operands of rank 3: panels of whatever order a kernel goes in" {
    product 1200 1200x1200 1200x1200
    py '
import scipy.sparse as sp
sp.save_npz("at.npz", sp.load_npz("a.npz").T.tocsr())'
    tra import -q at.npz --storage csr --block 1200x1200 -o a.h5
    program 'C[i,k] as csr = sum A[j,i] * B[j,k]'
    below 44
    [ "$code" = 0 ]
    right
    tra export -q b.h5 -o b.npy
    tra import -q b.npy --storage dense --block 1200x1200 -o b.h5
    below 64
    [ "$code" = 0 ]
    right
}

@test "on 2 and 3 sites by both transports, in blocks that each have no room" {
    for cut in '1000x1000 1000x1000' '1000x2000 2000x1000'; do # few are expected of the first, all of the second
        read -r a b <<<"$cut"
        product 2000 "$a" "$b" 1
        program 'C[i,k] as csr = sum A[i,j] * B[j,k]'
        below 1000
        mv c.h5 whole.h5
        for how in '2 mpi' '3 files'; do
            read -r sites transport <<<"$how"
            below 60 --sites "$sites" --transport "$transport"
            [ "$code" = 0 ]
            cmp c.h5 whole.h5
        done
    done
}

# wider: a.h5 has three more columns, without entries. Of a slice of it planning does not see that few columns are full.
wider() {
    py '
import scipy.sparse as sp
a = sp.load_npz("a.npz"); sp.save_npz("a.npz", sp.hstack([a, sp.csr_matrix((a.shape[0], 3))]).tocsr())'
    tra import -q a.npz --storage csr --block 1500x3000 -o a.h5
}

# advised MIB ARGUMENT...: p.tra stops below that ceiling, with status 4 and blocks in which it ends.
advised() {
    below "$@"
    [ "$code" = 4 ]
    [ ! -e c.h5 ]
    [ -z "$(ls -A | grep tmp)" ]
    read -r rows columns < <(sed -n 's/.*out of block memory: .* in blocks of \([0-9]*\) x \([0-9]*\)\(;.*\)*$/\1 \2/p' said)
    tra import -q a.npz --storage csr --block "${rows}x500" -o a.h5
    tra import -q b.npz --storage csr --block "500x$columns" -o b.h5
    below "$@"
    [ "$code" = 0 ]
    right
}

@test "what cannot be made in panels is refused beforehand where its entries are known, and ends with what that names" {
    product 1500 1500x500 500x1500
    program "$columns" 'C[i,k] as columns = sum A[i,j] * B[j,k]' # sorted as a whole
    refused 90
    below "$least"
    [ "$code" = 0 ]
    right
    tra import -q a.npz --storage csr --block 375x500 -o a.h5
    tra import -q b.npz --storage csr --block 500x375 -o b.h5
    below 90
    [ "$code" = 0 ]
    right
}

@test "what cannot be made in panels stops with status 4 and blocks in which it ends" {
    product 1500 1500x500 500x1500
    # of what is computed entry by entry planning counts as of a file; sorted as a whole
    program "$columns" 'D[i,j] = max(A[i,j], 0)' 'C[i,k] as columns = sum D[i,j] * B[j,k]'
    refused 90
    wider
    program "$columns" 'D = slice(A, [:, :9000])' 'C[i,k] as columns = sum D[i,j] * B[j,k]'
    advised 60
    product 1500 1500x500 500x1500
    program 'S[i,k] = sum A[i,j] * B[j,k]' 'C[i,k] as csr = S[i,k] * 2 + S[k,i] - S[i,k] - S[k,i]' # read as a whole
    printf 'output S to "s.h5" as csr\n' >>p.tra
    refused 90 # what reads it is counted beforehand
    below "$least"
    [ "$code" = 0 ]
}

@test "partial sums that have no room stop on 2 and 3 sites, and end in the blocks that are told" {
    for how in '2 mpi' '3 files'; do
        read -r sites transport <<<"$how"
        product 1500 1500x500 500x1500
        program 'C[i,k] as csr = sum A[i,j] * B[j,k]' # of which entries are known beforehand
        refused 56 --sites "$sites" --transport "$transport"
        wider
        program 'D = slice(A, [:, :9000])' 'C[i,k] as csr = sum D[i,j] * B[j,k]'
        advised 56 --sites "$sites" --transport "$transport"
    done
}

@test "a killed run goes on from panels that wait in scratch" {
    product 2000 1000x2000 2000x2000
    program 'C[i,k] as csr = sum A[i,j] * B[j,k]'
    status 0 tra run -q p.tra --no-history --threads 1 --memory 44M
    mv c.h5 whole.h5
    slow 30 "$TRA" run -q p.tra --no-history --threads 1 --memory 44M 2>log &
    run=$!
    meet $run recorded $((64 * 2))
    kill -KILL $run
    wait $run || true
    [ ! -e c.h5 ]
    status 0 tra run p.tra --no-history --resume --threads 1 --memory 44M
    has "blocks of "
    cmp c.h5 whole.h5
}

@test "the scratch that panels may take is predicted, holds, and is refused beforehand where it is more than allowed" {
    product 1500 1500x1500 1500x1500
    program 'C[i,k] as csr = sum A[i,j] * B[j,k]'
    status 0 tra explain --memory 44M --threads 2 --format json p.tra
    scratch=$(json plans.0.scratch_bytes_bound)
    [ "$(json plans.0.scratch_bytes)" -lt "$scratch" ]
    is "$scratch" bash -c "'$TRA' cost --memory 44M --threads 2 p.tra | tail -1 | cut -f 11"
    # what of the bound of the result has no room in memory, and all of it for what waits for its place in the file
    [ "$scratch" -ge $((7 * 1500 * 1500 * 12 / 5)) ] || { echo "$scratch"; false; }
    status 4 tra run -q p.tra --memory 44M --threads 2 --scratch-limit $((scratch - 1))
    has "of scratch, over --scratch-limit"
    [ ! -e c.h5 ]
    status 0 tra run -q p.tra --memory 44M --threads 2 --scratch-limit "$scratch" --profile p.json
    spilled=$(py 'print(sum(o["measured"]["spilled_bytes"] for o in json.load(open("p.json"))["plans"][0]["operators"]))')
    [ "$spilled" -le "$scratch" ]
    right
    # with room for all of it there are no panels
    status 0 tra explain --memory 1G --threads 2 --format json p.tra
    [ "$(json plans.0.scratch_bytes)" -lt $((3 * 1500 * 1500 * 12 / 2)) ]
}

@test "a fused result takes no more than its entries where no more is planned: each plan runs at its least ceiling" {
    tra gen -q --shape 500x500 --block 250x250 --density .0003 --seed 3 -o M.h5
    tra gen -q --shape 500x300 --block 250x300 --seed 6 -o A.h5
    tra gen -q --shape 300x500 --block 300x250 --seed 7 -o B.h5
    for r in M A B; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input %s from "%s.h5"\n' M M A A B B >p.tra
    printf 'Y[i,j] as csr = sum M[i,j] * A[i,k] * B[k,j]\noutput Y\n' >>p.tra
    fused=0
    for k in 1 2 3 4; do
        tra explain --memory 36M --threads 1 --plan $k --format json p.tra >out 2>err || break
        least=$(py 'print([p["least_memory_bytes"] for p in json.load(open("out"))["plans"] if "fused" in p["strategy"]][-1])') ||
            continue
        fused=$((fused + 1))
        status 0 tra run -q --memory "$least" --threads 1 --plan $k p.tra
        tra export -q Y.h5 --to npy -o Y.npy
        py 'M, A, B, Y = (np.load(f + ".npy") for f in "MABY"); assert np.allclose(Y, M * (A @ B), rtol=1e-12)'
    done
    [ $fused -gt 0 ]
}

@test "where memory ends the message says which statement wanted it, whatever ran out of it" {
    tra gen -q --shape 3000x3000 --block 3000x1500 --density 0.01 --pattern rmat --seed 1 -o A.h5
    tra gen -q --shape 3000x3000 --block 750x750 --density 0.01 --pattern rmat --seed 2 -o B.h5
    printf 'input A from "A.h5"\ninput B from "B.h5"\nS[i,j] = A[i,j] + B[j,i]\n' >p.tra
    printf 'C[i,k] as csr = sum S[i,j] * B[j,k]\noutput S\noutput C\n' >>p.tra
    status 4 tra run -q --threads 1 --memory 29M p.tra
    grep -q '^tra: p.tra:[34]: [CS]: out of block memory: ' <<<"$output"
    # what is queued leaves room for results that are larger than was estimated
    for mib in 32 38; do status 0 tra run -q --threads 1 --memory ${mib}M p.tra; done
    cp C.h5 one.h5
    # two workers have no room beside each other: one goes on
    status 0 tra run --threads 2 --memory 35000K p.tra
    has "one thread goes on"
    status 0 tra diff --rtol 1e-12 C.h5 one.h5
    # of several sites one fails: the ceiling of each is said, and the least that would do
    status 4 tra run -q --sites 2 --threads 2 --memory 47M p.tra
    has "; each site has 47 MiB, and the least that would do is about "
    least=$(sed -n 's/.*that would do is about .*(--memory \([0-9]*M\)).*/\1/p' <<<"$output")
    status 0 tra run -q --sites 2 --threads 2 --memory "$least" p.tra
    # what is said to do has room for results that are larger
    status 4 tra run -q --threads 1 --memory 24M p.tra
    least=$(sed -n 's/.*that would do is about .*(--memory \([0-9]*M\)).*/\1/p' <<<"$output")
    status 0 tra run -q --threads 1 --memory "$least" p.tra
}

@test "a worker that has no result to add to needs no room for sums" {
    for x in a b; do tra gen -q --shape 4000x4000 --block 4000x4000 --density 0.004 --storage csr --seed ${#x} -o $x.h5; done
    program "$columns" 'C[i,k] as columns = sum A[i,j] * B[j,k]'
    least=()
    for threads in 1 2; do
        status 0 tra explain --without S-1 --format json --threads $threads p.tra
        least+=("$(json plans.0.least_memory_bytes)")
    done
    # of one result 12 MB: scratch for sorting it, 4.8 times as much; a sum and a term would be twice more
    [ $((least[1] - least[0])) -lt 70000000 ]
    [ $((least[1] - least[0])) -gt 50000000 ]
    status 0 tra run -q --without S-1 --threads 2 --memory "${least[1]}" p.tra
}

@test "sums and largest products of many small blocks run with the least that is told, however much is queued" {
    tra gen -q --shape 6000x300 --block 81x81 --density .2 --seed 1 --storage coo -o a.h5
    py 'import scipy.sparse as sp; sp.save_npz("b.npz", sp.csr_matrix((300, 7)))'
    tra import -q b.npz --block 3x7 --storage coo -o b.h5
    for fold in max sum; do
        program "C[i,j] = $fold A[i,k] * B[k,j]"
        refused 24
        for _ in 1 2 3; do
            below "$least"
            [ "$code" = 0 ]
        done
    done
}

# strips STATEMENT SCIPY: a product of the matrix of s.h5 with itself, whose result is several strips or panels.
strips() {
    printf 'input A from "s.h5"\n%s\noutput C to "c.h5"\n' "$1" >p.tra
    for how in "--threads 2 --memory 2G" "--threads 1 --memory 90M"; do
        # shellcheck disable=SC2086
        status 0 tra run -q $how --profile p.json p.tra
        tra export -q c.h5 --memory 2G --to npz -o c.npz
        py 'import scipy.sparse as s; a = s.load_npz("s.npz").tocsr(); c = s.load_npz("c.npz").tocsr(); w = ('"$2"').tocsr()
assert c.shape == w.shape and c.nnz == w.nnz and (np.abs(c - w) > 1e-9 * (1 + np.abs(w).max())).nnz == 0, (c.nnz, w.nnz)'
    done
}

@test "products of a large result are made and written in strips, and no more is held, whatever is transposed" {
    tra gen -q --shape 60000x60000 --block 8000x60000 --density .00017 --seed 4 --storage csr -o s.h5
    tra export -q s.h5 --to npz -o s.npz
    strips 'C[j,k] as csr = sum A[i,j] * A[i,k]' 'a.T @ a'
    tra gen -q --shape 60000x60000 --block 60000x60000 --density .00017 --seed 4 --storage csr -o s.h5
    tra export -q s.h5 --to npz -o s.npz
    strips 'C[i,k] as csr = sum A[i,j] * A[k,j]' 'a @ a.T'
    strips 'C[i,k] as csr = sum A[i,j] * A[j,k]' 'a @ a'
    # stored by columns: the transposed product is made, whose strips are columns of the file
    strips 'M[i,j] = max(A[i,j], 0)'$'\n''C[i,k] as csc = sum M[i,j] * A[j,k]' 'a.multiply(a > 0).tocsr() @ a'
}

@test "a product of a matrix with itself holds its operands in order and a strip, not its result" {
    tra gen -q --shape 300000x300000 --block 40000x300000 --density .0000334 --seed 4 --storage csr -o s.h5
    printf 'input A from "s.h5"\nC[j,k] = sum A[i,j] * A[i,k]\noutput C to "c.h5"\n' >p.tra
    status 0 tra run -q --threads 2 --memory 4G --profile p.json p.tra
    # operands of 44 MB, a result of 350
    peak=$(py 'print(json.load(open("p.json"))["plans"][0]["measured"]["peak_memory_bytes"])')
    [ "$peak" -lt 280000000 ] || { echo "$peak"; false; }
    status 0 tra explain --threads 2 --memory 4G --format json p.tra
    [ "$(json plans.0.peak_memory_bytes)" -lt 800000000 ] # with the result it was 1.9 GiB
    [ "$(json plans.0.peak_memory_bytes)" -ge "$peak" ]
}
