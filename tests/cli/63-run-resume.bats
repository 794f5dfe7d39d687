# tra run --resume: what is taken over, when it is refused, what damage does.
load helper

teardown() {
    if mountpoint -q "$BATS_TEST_TMPDIR/small"; then umount "$BATS_TEST_TMPDIR/small"; fi
}

# p.tra, a product of 400 output blocks of 80 kB; its output is c.h5.
product() {
    "$TRA" gen -q --shape 2000x400 --block 100x100 --dist normal --seed 1 -o a.h5
    printf 'input A from "a.h5"\nC = agg(join(A, A, [1], [1], "ik,jk->ij"), [0,2], matadd)\noutput C to "c.h5"\n' >p.tra
}

# slowly OPTION...: a run, in $run, to which each block that it writes takes some time.
slowly() {
    slow "${TRA_SLOW_MS:-10}" "$TRA" run -q "$@" 2>log &
    run=$!
}

# cut_short SIGNAL BLOCKS OPTION...: a run that gets the signal when so many blocks are recorded.
cut_short() {
    local run
    slowly "${@:3}"
    meet $run recorded $((64 * ($2 + 3)))
    kill -"$1" $run
    wait $run || true
}

# reused: how many blocks of C the run said it found.
reused() { sed -n 's/.* \([0-9]*\) of [0-9]* blocks of C are there/\1/p' <<<"$output"; }

small="--threads 1 --memory 28M" # a group is a few blocks

# p.tra, whose output is made of results that no output takes.
products() {
    "$TRA" gen -q --shape 1400x1400 --block 70x70 --dist normal --seed 1 -o a.h5
    cat >p.tra <<'EOF2'
input A from "a.h5"
T = agg(join(A, A, [1], [0], matmul), [0,2], matadd)
U = agg(join(T, A, [1], [0], matmul), [0,2], matadd)
C = agg(join(U, T, [1], [0], matmul), [0,2], matadd)
output C to "c.h5"
EOF2
}

@test "a killed run is gone on with, on as many sites or others, and says how much of it is there" {
    product
    tra run -q p.tra
    want=$(tra digest c.h5)
    for sites in '1 1' '1 3' '2 1'; do
        read -r before after <<<"$sites"
        rm -f c.h5
        # shellcheck disable=SC2086
        cut_short KILL 10 p.tra --sites "$before" --threads 1 --memory 42M
        [ ! -e c.h5 ]
        status 0 tra run p.tra --resume --sites "$after" --threads 1 --memory 42M
        [ "$(reused)" -ge 10 ] || { echo "$output"; false; }
        is "$want" tra digest c.h5
        [ -z "$(ls -A | grep tmp)" ]
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    done
}

@test "what is saved of a compressed output counts as room in the scratch directory, which it takes" {
    product
    mkdir small
    mount -t tmpfs -o size=36m tmpfs small 2>/dev/null || skip "needs the right to mount"
    export TRA_SCRATCH=$PWD/small
    status 0 tra run -q p.tra --no-history # 32 MB when none is compressed
    want=$(tra digest c.h5)
    for again in --resume ''; do
        cut_short KILL 120 p.tra --threads 1 --codec zstd
        head -c 24M /dev/zero >small/filler
        status 4 tra run p.tra --threads 1 --codec zstd $again
        has "of scratch, but"
        rm small/filler
        status 0 tra run p.tra --threads 1 --codec zstd $again
        [ -z "$again" ] || [ "$(reused)" -ge 120 ]
        is "$want" tra digest c.h5
        [ -z "$(ls -A small)" ]
    done
}

@test "what is saved for --resume leaves room in the scratch directory for all that the run may spill" {
    py '
r = np.random.default_rng(5)
np.savetxt("t.csv", np.c_[np.arange(600000), r.integers(0, 10**9, (600000, 2))], "%d", ",", header="a,b,c", comments="")'
    tra import -q --table --block 20000 --types a=i64,b=i64,c=i64 t.csv -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'J = join(t, project(t, k = b, d = a), b == k, how = semi)' 'O = order(J, [c])' \
        'output O' >p.tra
    status 0 tra explain p.tra --memory 16G --format json
    memory=$((($(json plans.0.least_memory_bytes) >> 20) + 1))M
    status 0 tra explain p.tra --memory "$memory" --format json
    mkdir small
    mount -t tmpfs -o size=$(($(json plans.0.scratch_bytes_bound) + (4 << 20))) tmpfs small 2>/dev/null ||
        skip "needs the right to mount"
    TRA_CHECKPOINT_SECONDS=0.0001 TRA_SCRATCH=$PWD/small status 0 tra run p.tra --memory "$memory"
    lacks "cannot write"
}

@test "refused: another program, other inputs, other options, each with its status; without --resume it begins anew" {
    product
    # shellcheck disable=SC2086
    cut_short TERM 10 p.tra $small
    sed 's/matmul/matmul/; s/\[0,2\]/[2,0]/' p.tra >q.tra
    status 2 tra run -q q.tra --resume
    has "--resume: the program is not the one whose progress is in $TRA_SCRATCH/tra-"
    status 2 tra run -q p.tra --resume --codec zstd
    has "of a run with --codec none"
    touch a.h5
    status 3 tra run -q p.tra --resume
    has "--resume: input A (a.h5) is not what it was"
    [ ! -e c.h5 ]
    [ "$(ls "$TRA_SCRATCH")" ]
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small
    lacks "are there"
    has ".tmp, which an unfinished run had written of c.h5"
    [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    [ -z "$(ls -A | grep tmp)" ]
}

@test "gone on with on any number of sites, also where sums are divided among them: the rest is computed again" {
    "$TRA" gen -q --shape 400x1600 --block 50x50 --dist normal -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'B = transform(A, sin)' \
        'C = agg(join(B, B, [1], [1], (x, y) -> tanh(tanh(x * y))), [0,2], matadd)' \
        'D = agg(join(C, A, [1], [0], matmul), [0,2], matadd)' 'output C to "c.h5"' 'output D to "d.h5"' >p.tra
    local k cmm
    k=$(tra cost p.tra --sites 3 --threads 1 | awk -F'\t' '$2 ~ /cmm/ { print $1; exit }')
    export TRA_CHECKPOINT_SECONDS=0.01
    for after in 1 2 5; do
        tra run -q p.tra --sites $after --threads 1 # the bits of sums are those of so many sites
        mkdir -p want
        mv c.h5 d.h5 want/
        # shellcheck disable=SC2086
        cut_short TERM 40 p.tra --sites 3 --threads 1 --plan "$k"
        status 0 tra run p.tra --resume --sites $after --threads 1
        has "the progress is of a run with"
        has "--sites 3"
        same_digest c.h5 want/c.h5
        same_digest d.h5 want/d.h5
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
        [ -z "$(ls -A | grep tmp)" ]
    done
    # a rank that is killed, and the way back to as many
    rm c.h5 d.h5
    slow 30 "$TRA" run -q p.tra --sites 3 --threads 1 --plan "$k" 2>log &
    run=$!
    meet $run recorded 1500
    victim=$(ranks_of $run | tail -1)
    kill -KILL "$victim"
    wait $run || true
    TRA_SLOW_MS=30 slowly p.tra --resume --sites 2 --threads 1
    sleep 0.7
    kill -KILL $run || true
    wait $run || true
    [ ! -e c.h5 ] # else there is nothing to go on with
    status 0 tra run p.tra --resume --sites 5 --threads 1
    same_digest c.h5 want/c.h5
    same_digest d.h5 want/d.h5
}

@test "refused: another level of the codec, another kernel of BLAS" {
    product
    local other=Haswell
    tra version | grep -q 'kernel Haswell$' && other=Sandybridge
    # shellcheck disable=SC2086
    cut_short TERM 10 p.tra $small --codec zstd:1
    status 2 tra run -q p.tra --resume --codec zstd:9
    has "of a run with --codec zstd:1"
    OPENBLAS_CORETYPE=$other status 2 tra run -q p.tra --resume --codec zstd:1
    has "of a run with BLAS kernel $(tra version | sed -n 's/^OpenBLAS.* kernel //p')"
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small --resume --codec zstd:1
    [ "$(reused)" -ge 10 ]
}

@test "nothing saved: from the beginning, and it says so" {
    product
    status 0 tra run p.tra --resume
    has "--resume: nothing is saved in $TRA_SCRATCH"
}

@test "damaged blocks, of the output and of the scratch directory, are noticed and computed again" {
    product
    tra run -q p.tra
    want=$(tra digest c.h5)
    for codec in none zstd; do
        rm -f c.h5
        # shellcheck disable=SC2086
        cut_short KILL 12 p.tra $small --codec $codec
        case $codec in
        none) file=$(echo .c.h5.tra-r*.tmp) ;;
        zstd) file=$(echo "$TRA_SCRATCH"/tra-*/*.dat) ;;
        esac
        py 'f = open(sys.argv[1], "r+b"); f.seek(100000); f.write(b"damage")' "$file"
        # shellcheck disable=SC2086
        status 0 tra run p.tra $small --codec $codec --resume
        has "warning: 1 of the saved blocks of this output are damaged or gone"
        is "$want" tra digest c.h5
    done
}

@test "a damaged record is not believed" {
    product
    tra run -q p.tra
    want=$(tra digest c.h5)
    rm c.h5
    # shellcheck disable=SC2086
    cut_short KILL 12 p.tra $small --codec zstd
    # one block says that it is the last, which nobody has made: of compressed blocks no address tells
    py 'f = open(sys.argv[1], "r+b"); f.seek(6 * 64); f.write(np.int64(399).tobytes())' "$TRA_SCRATCH"/tra-*/*.log
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small --codec zstd --resume
    [ "$(reused)" -ge 8 ]
    is "$want" tra digest c.h5
}

# begin_and_hold OPTION...: a run, in $run, that is held when ten blocks are recorded.
begin_and_hold() {
    slowly p.tra "$@"
    meet $run recorded $((64 * 13))
    kill -STOP $run
    : >quick
}

@test "blocks that wait compressed and are damaged meanwhile are noticed before the output is made" {
    product
    # shellcheck disable=SC2086
    begin_and_hold $small --codec zstd
    py 'f = open(sys.argv[1], "r+b"); f.seek(200000); f.write(b"damage")' "$TRA_SCRATCH"/tra-*/*.dat
    kill -CONT $run
    got=0
    wait $run || got=$?
    [ $got -eq 4 ]
    grep -q 'the scratch file of the output is damaged' log
    [ ! -e c.h5 ]
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small --codec zstd --resume
    has "warning: 1 of the saved blocks"
    status 0 tra verify c.h5
}

@test "who goes on waits for ranks of the run before that still write, though rank 0 is gone" {
    command -v flock >/dev/null || skip "flock (util-linux) is not there"
    product
    # shellcheck disable=SC2086
    cut_short KILL 10 p.tra $small --codec zstd
    flock "$TRA_SCRATCH"/tra-*/*.log sleep 60 3>&- &
    local holder=$!
    while flock -n "$TRA_SCRATCH"/tra-*/*.log true; do sleep 0.05; done # until it has the lock
    # shellcheck disable=SC2086
    status 124 timeout 3 "$TRA" run -q p.tra $small --codec zstd --resume
    pkill -P $holder
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small --codec zstd --resume
    [ "$(reused)" -ge 10 ]
}

@test "results that no output takes are saved and taken over too" {
    products
    export TRA_CHECKPOINT_SECONDS=0.01
    for sites in 1 2; do
        status 0 tra run -q p.tra --sites $sites --threads 1 --memory 42M # plans multiply in other orders
        want=$(tra digest c.h5)
        rm -f c.h5
        TRA_SLOW_MS=2 cut_short KILL 100 p.tra --sites $sites --threads 1 --memory 42M
        status 0 tra run p.tra --sites $sites --threads 1 --memory 42M --resume
        grep -q "of [48]00 blocks of T are there" <<<"$output"
        is "$want" tra digest c.h5
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    done
}

@test "two relations of one file, and an output that is in its place already" {
    product
    cat >p.tra <<'EOF2'
input A from "a.h5"
B = transform(A, neg)
C = agg(join(A, A, [1], [1], "ik,jk->ij"), [0,2], matadd)
output B to "c.h5:b"
output C to "c.h5:c"
EOF2
    # shellcheck disable=SC2086
    status 0 tra run -q p.tra $small
    want=$(tra digest c.h5:b c.h5:c)
    rm c.h5
    # shellcheck disable=SC2086
    cut_short KILL 90 p.tra $small
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small --resume
    has "80 of 80 blocks of B are there"
    is "$want" tra digest c.h5:b c.h5:c
    [ -z "$(ls -A | grep tmp)" ]
}

@test "two runs: of the same outputs the second is refused, of others it goes on, in one scratch directory" {
    product
    sed 's/c.h5/d.h5/' p.tra >q.tra
    # shellcheck disable=SC2086
    slowly p.tra $small
    meet $run recorded 640
    kill -STOP $run
    : >quick
    # shellcheck disable=SC2086
    status 0 tra run -q q.tra $small
    status 4 tra run -q p.tra
    has "c.h5 is being written by process $run on $(hostname) (tra run"
    has " p.tra"
    kill -CONT $run
    wait $run
    status 0 tra diff c.h5 d.h5
    [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
}

@test "a file system without hard links and files without names: the same results, locks that hold, nothing left" {
    local lib=$PWD/plainfs.so
    cc -D_GNU_SOURCE -shared -fPIC -o "$lib" "$ROOT/tests/cli/plainfs.c"
    tra gen -q --shape 1200x1200 --block 100x100 --dist normal --seed 1 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'C[i,j] = sum A[i,k] * A[j,k]' 'D[i,j] = sum C[i,k] * A[k,j]' 'output D' >p.tra
    tra run -q p.tra --memory 36M --threads 1 && mv D.h5 want.h5 # which spills
    plainly() { LD_PRELOAD=$lib ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 "$TRA" "$@"; }
    status 0 plainly run -q p.tra --memory 36M --threads 1
    status 0 tra diff D.h5 want.h5
    printf '%s 1 -1 - 0 tra run other.tra\n' "$(hostname)" >.D.h5.tra-lock # process 1 is always there
    status 4 plainly run -q p.tra
    has "D.h5 is being written by process 1 on $(hostname) (tra run other.tra)"
    rm .D.h5.tra-lock
    [ -z "$(ls -A . "$TRA_SCRATCH" | grep 'tra-')" ]
}

@test "a scratch directory that cannot be written is no reason not to run" {
    product
    status 0 tra run p.tra --scratch /nowhere/at/all
    has "warning: the scratch directory /nowhere/at/all cannot be written"
    status 0 tra run p.tra --scratch /nowhere/at/all --resume
}

@test "a scratch directory that is missing is made, but not those above it, nor by a dry run" {
    product
    tra run -q -n p.tra --scratch new >/dev/null
    [ ! -e new ]
    for n in 1 2; do
        status 0 tra run p.tra --threads 1 --memory 40M --scratch new$n --sites $n
        lacks warning
        [ -d new$n ]
    done
    TRA_SCRATCH=$PWD/imports status 0 tra import - --from csv -o i.h5 < <(echo 1,2)
    [ -d imports ]
    [ ! -e no ]
    status 0 tra run p.tra --scratch no/such
    has "no/such cannot be written"
}

@test "a long stage ends blocks as it goes, though all of it would fit" {
    [ -n "${TRA_TEST_LONG-}" ] || skip "a long test"
    "$TRA" gen -q --shape 7600x7600 --block 200x200 --dist normal --seed 1 -o a.h5
    printf 'input A from "a.h5"\nC = agg(join(A, A, [1], [0], matmul), [0,2], matadd)\noutput C to "c.h5"\n' >p.tra
    local begun=$SECONDS first
    cut_short KILL 1 p.tra --threads 1 --memory 4G
    first=$((SECONDS - begun)) begun=$SECONDS
    status 0 tra run p.tra --resume --threads 1 --memory 4G
    [ "$(reused)" -ge 1 ]
    [ $((SECONDS - begun)) -gt $((2 * first)) ] # the first blocks came early
}

@test "of results that no output takes no more is saved than --scratch-limit leaves" {
    products
    export TRA_CHECKPOINT_SECONDS=0.01
    cut_short KILL 8 p.tra --threads 1 --memory 1G --scratch-limit 300K # blocks of 39 kB
    kept=$(find "$TRA_SCRATCH"/tra-* -type f ! -name '*.log' -printf '%s\n' | awk '{ n += $1 } END { print n }')
    [ "$kept" -gt 0 ]
    [ "$kept" -le $((300 << 10)) ]
    status 0 tra run p.tra --threads 1 --memory 1G --scratch-limit 300K --resume
    status 4 tra run p.tra --threads 1 --memory 30M --scratch-limit 300K
    has "over --scratch-limit"
}

@test "what is spilled takes of --scratch-limit too: no more is saved than it leaves" {
    products
    export TRA_CHECKPOINT_SECONDS=0.01 TRA_SLOW_MS=3
    output=$(tra explain p.tra --threads 1 --memory 30M --format json)
    local spilled left=$((200 << 10)) kept
    spilled=$(json plans.0.scratch_bytes)
    [ "$spilled" -gt $((1 << 20)) ]
    cut_short KILL 30 p.tra --threads 1 --memory 30M --scratch-limit $((spilled + left)) # blocks of 39 kB
    kept=$(find "$TRA_SCRATCH"/tra-* -type f ! -name '*.log' -printf '%s\n' | awk '{ n += $1 } END { print n }')
    [ "$kept" -gt 0 ]
    [ "$kept" -le "$left" ]
    status 0 tra run p.tra --threads 1 --memory 30M --scratch-limit $((spilled + left)) --resume
}

@test "an entry of which nothing is left: from the beginning, and it says so" {
    product
    # shellcheck disable=SC2086
    cut_short KILL 3 p.tra $small
    rm -f .c.h5.tra-r*.tmp
    # shellcheck disable=SC2086
    status 0 tra run p.tra $small --resume
    has "--resume: nothing is saved in $TRA_SCRATCH"
    status 0 tra run p.tra --resume --scratch "$PWD/nowhere/yet"
    has "--resume: nothing is saved in $PWD/nowhere/yet"
}

@test "an entry that does not say whose it is any more: from the beginning, and it says so" {
    product
    # shellcheck disable=SC2086
    for damage in 'truncate -s 7' 'truncate -s 0' 'sed -i s/^run/ruN/'; do
        cut_short KILL 3 p.tra $small
        $damage "$TRA_SCRATCH"/*/about
        status 0 tra run p.tra $small --resume
        has "--resume: nothing is saved in $TRA_SCRATCH"
    done
}

@test "gone on with in another way: sums as --reproducible makes them, whatever the run before did" {
    product
    status 0 tra run -q p.tra --reproducible
    want=$(digest_of c.h5)
    rm c.h5
    # shellcheck disable=SC2086
    cut_short KILL 3 p.tra $small
    # shellcheck disable=SC2086
    status 0 tra run p.tra --resume --reproducible $small
    has "the progress is of a run with no --reproducible: what this one makes in another way is computed again"
    is "$want" digest_of c.h5
}

@test "TRA_CHECKPOINT_SECONDS: what is no number is ignored, and said" {
    tra gen -q --shape 9x9 -o a.h5
    printf 'input A from "a.h5"\noutput A to "b.h5"\n' >p.tra
    TRA_CHECKPOINT_SECONDS=often status 0 tra run p.tra --sites 2
    is 1 grep -c "TRA_CHECKPOINT_SECONDS is 'often', no number above 0: it is ignored" <<<"$output"
    TRA_CHECKPOINT_SECONDS=0.5 status 0 tra run p.tra
    lacks TRA_CHECKPOINT_SECONDS
}
