# Faults in the middle of a run, and what others do meanwhile: nothing wrong is taken over, nobody's lock or file is
# taken away, and what is said is true.
load helper

teardown() {
    [ -z "${run-}" ] || kill -KILL "$run" 2>/dev/null || true
}

# S is sparse, and its tanh is computed when it is sent to the other sites; each block of C takes one of its arrays.
exchange() {
    "$TRA" gen -q --shape 2000x400 --block 40x400 --density 0.02 --seed 1 -o x.h5
    "$TRA" gen -q --shape 400x400 --block 400x400 --density 0.02 --seed 3 -o y.h5
    "$TRA" gen -q --shape 400x400 --block 400x40 --dist normal --seed 2 -o b.h5
    printf '%s\n' 'input X from "x.h5"' 'input Y from "y.h5"' 'input B from "b.h5"' 'S[i,j] = sum X[i,l] * Y[l,j]' \
        "C[i,k] = sum $1 * B[j,k]" 'output C to "c.h5"' >p.tra
    "$TRA" run -q p.tra
    want=$(digest_of c.h5)
    for k in 1 2 3 4 5 6 7 8 9; do
        options="--sites $2 --threads 1 --plan $k --codegen off"
        # shellcheck disable=SC2086
        "$TRA" explain --operators p.tra $options | grep -A1 'bcast' | grep -q transform && return
    done
    echo "no plan sends what a transform makes"
    return 1
}

# fails_amid RANK: a run in which a worker of that rank cannot write, while its main thread sends to others.
fails_amid() {
    local lib=$BATS_FILE_TMPDIR/overlap.so
    [ -e "$lib" ] || mpicc -std=gnu11 -D_GNU_SOURCE -shared -fPIC -o "$lib" "$ROOT/tests/cli/overlap.c" ||
        skip "mpicc does not build a library"
    rm -f c.h5 log
    # shellcheck disable=SC2086
    TRA_CHECKPOINT_SECONDS=0.001 TRA_OVERLAP_RANK=$1 TRA_OVERLAP_LOG=$PWD/log LD_PRELOAD=$lib \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 status 4 tra run p.tra $options
    [ -s log ] || { echo "no worker failed in the exchange"; return 1; }
    has "No space left on device"
    [ ! -e c.h5 ]
}

@test "arrays that a failed stage left unfinished are not sent to other sites, and not taken over" {
    for case in 'tanh(S[i,j]) 2' 'tanh(S[i,j]) 3'; do
        read -r of sites <<<"${case% *} ${case##* }"
        # shellcheck disable=SC2086
        exchange "${case% *}" ${case##* }
        for rank in 0 1 0 1; do # other threads are where they are at that moment: not each time an array is sent
            fails_amid $rank
            # shellcheck disable=SC2086
            status 0 tra run p.tra --resume $options
            is "$want" digest_of c.h5
        done
    done
}

# A run that takes some seconds to write and holds the lock on slow.h5, in $run; its scratch is its own.
writer() {
    [ -e s.h5 ] || "$TRA" gen -q --shape 2000x2000 --block 100x100 -o s.h5
    printf 'input A from "s.h5"\nB = transform(A, exp)\noutput B to "slow.h5"\n' >slow.tra
    (cd "$PWD" && slow 150 "$@" "$TRA" run -q --threads 1 slow.tra) 2>log &
    run=$!
    meet $run test -e .slow.h5.tra-lock
}

@test "a lock stays its owner's when the clock is set" {
    unshare -m true 2>/dev/null || skip "needs the right to make namespaces"
    writer
    sed 's/^btime .*/btime 1000000000/' /proc/stat >stat
    status 4 unshare -m sh -c 'mount --bind stat /proc/stat && exec "$1" run -q slow.tra' sh "$TRA"
    has "slow.h5 is being written by process"
    if unshare --time --boottime 86400 true 2>/dev/null; then # another time since boot for the same processes
        status 4 unshare --time --boottime 86400 "$TRA" run -q slow.tra
        has "slow.h5 is being written by process"
    fi
    [ -e "/proc/$run" ]
    [ ! -e slow.h5 ]
    kill -TERM "$run"
    wait "$run" || true
    run=
    # who owns it no more is found out, whatever has its number now, and in whatever container it was
    printf '%s %d ofd %s %s tra run x\n' "$(uname -n)" $$ "$(cat /proc/sys/kernel/random/boot_id)" \
        "$(stat -L -c %i /proc/self/ns/pid)" >.slow.h5.tra-lock
    status 0 tra run -q slow.tra
    # and one of an earlier version is not taken from a process that lives
    printf '%s %d t1000 %s %s tra run x\n' "$(uname -n)" $$ "$(cat /proc/sys/kernel/random/boot_id)" \
        "$(stat -L -c %i /proc/self/ns/pid)" >.slow.h5.tra-lock
    status 4 tra run -q slow.tra
    rm .slow.h5.tra-lock
}

@test "a lock holds where the file system has no locks, or those of one host alone" {
    local lib=$PWD/plainfs.so
    cc -D_GNU_SOURCE -shared -fPIC -o "$lib" "$ROOT/tests/cli/plainfs.c"
    without() { env TRA_NO_LOCKS="$1" LD_PRELOAD="$lib${LD_PRELOAD:+:$LD_PRELOAD}" "${@:2}"; }
    writer env TRA_NO_LOCKS=1 "LD_PRELOAD=$BATS_FILE_TMPDIR/slow.so:$lib"
    run bash -c 'kill -0 '"$run"' && cat .slow.h5.tra-lock'
    lacks " ofd "
    for other in 1 ''; do # a process that has locks sees it, too
        status 4 env ${other:+"TRA_NO_LOCKS=$other"} ${other:+"LD_PRELOAD=$lib"} "$TRA" run -q slow.tra
        has "slow.h5 is being written by process"
    done
    kill -KILL "$(pgrep -P "$run")" "$run" 2>/dev/null || kill -KILL "$run"
    wait "$run" || true
    run=
    [ -e .slow.h5.tra-lock ]
    status 0 without 1 "$TRA" run -q --resume slow.tra
    [ ! -e .slow.h5.tra-lock ]
    # locks are granted, but another host's are not seen: what it has is not taken
    printf 'elsewhere 4711 ofd another-boot 4026531836 tra run x\n' >.slow.h5.tra-lock
    status 4 without 2 "$TRA" run -q slow.tra
    has "slow.h5 is being written by process 4711 on elsewhere (tra run x)"
    rm .slow.h5.tra-lock
    is "" ls -A "$TRA_SCRATCH"
}

@test "clean and doctor leave alone what a process of another container writes, for an hour" {
    unshare -pf --mount-proc true 2>/dev/null || skip "needs the right to make namespaces"
    "$TRA" gen -q --shape 800x800 --block 100x100 -o s.h5
    slow 150 unshare -pf --mount-proc "$TRA" export -q s.h5 -o t.h5 &
    run=$!
    meet $run compgen -G '.t.h5.tra-*.tmp'
    temp=$(compgen -G '.t.h5.tra-*.tmp')
    kill -STOP "$(pgrep -P "$run")"
    status 0 tra clean .
    [ -e "$temp" ]
    status 0 tra clean --dry-run .
    lacks "$temp"
    touch -d '2 hours ago' "$temp"
    status 0 tra clean --dry-run .
    has "$temp"
    kill -KILL "$(pgrep -P "$run")"
    wait "$run" || true
    run=
    status 0 tra clean .
    [ ! -e "$temp" ]
    [ ! -e .t.h5.tra-lock ] # the other container's, whose process is gone
    "$TRA" export -q s.h5 -o t.h5 # and such a file of this host's own namespace goes at once
    : >.t.h5.tra-99999999.tmp
    status 0 tra clean .
    [ ! -e .t.h5.tra-99999999.tmp ]
}

@test "--resume after the renames: inputs that were made anew are computed again" {
    local lib=$BATS_FILE_TMPDIR/die.so
    cc -std=gnu11 -D_GNU_SOURCE -shared -fPIC -o "$lib" "$ROOT/tests/faults/die.c" -ldl
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0
    "$TRA" gen -q --shape 60x40 --block 20x20 --seed 1 -o a.h5
    printf 'input A from "a.h5"\nB = transform(A, exp)\noutput B to "b.h5"\n' >p.tra
    for program in p.tra p.plan; do
        "$TRA" compile -q p.tra -o p.plan
        : >calls
        TRA_DIE_LOG=$PWD/calls LD_PRELOAD=$lib "$TRA" run -q $program
        n=$(grep 'unlink .*tra-commit$' calls | tail -1 | cut -d' ' -f1)
        rm -f b.h5
        TRA_DIE=$n LD_PRELOAD=$lib status 137 tra run -q $program
        [ -e b.h5 ]
        [ -e .b.h5.tra-commit ]
        was=$(digest_of b.h5)
        status 0 tra run --resume -n $program
        if [ $program = p.tra ]; then "$TRA" gen -q --shape 60x40 --block 20x20 --seed 2 -o a.h5; else touch a.h5; fi
        if [ $program = p.tra ]; then
            status 0 tra run --resume $program
            lacks "nothing is left to do"
            [ "$(digest_of b.h5)" != "$was" ]
        else
            status 3 tra run --resume $program
            has "changed since the plan was made"
        fi
        [ -z "$(ls -A | grep tmp)" ]
    done
}

@test "an error that the values cause would come again: no word of --resume, nothing left in scratch" {
    export TRA_CHECKPOINT_SECONDS=0.001
    for i in $(seq 400); do echo "9223372036854775$((407 + i)),9999-12-31,$((i % 7))"; done >t.csv
    "$TRA" import -q t.csv --table --no-header --names a,d,k --block 50 -o t.h5
    "$TRA" gen -q --shape 90x90 --block 30x30 --dtype i64 --dist range -o n.h5
    cases=('Q = project(T, r = a + 1)' 'Q = project(T, k, r = d + 3000000000)' 'Q = group(T, [k], s = sum(a))'
        'Q = order(project(T, a, r = a + k + 1), [a])' 'Q = join(T, T, k == k, prefix = "r_", expect = unique)'
        'Q[i,j] = sum N[i,k] * N[k,j] * N[k,j] * N[i,k] * N[i,k] * 1000')
    for q in "${cases[@]}"; do
        printf '%s\n' 'input T from "t.h5"' 'input N from "n.h5"' "$q" 'output Q to "q.h5"' >q.tra
        "$TRA" check -q q.tra 2>/dev/null || continue
        for how in '--sites 1' '--sites 2 --codec zstd' '--sites 3 --threads 1'; do
            # shellcheck disable=SC2086
            run tra run -q q.tra $how
            # shellcheck disable=SC2154
            [ "$status" -eq 3 ] || { echo "$q $how: status $status: $output"; return 1; }
            lacks "--resume"
            [ -z "$(ls -A "$TRA_SCRATCH")" ] || { ls -A "$TRA_SCRATCH"; return 1; }
            [ -z "$(ls -A | grep tra-)" ] || { ls -A; return 1; }
        done
        checked=$((${checked-0} + 1))
    done
    [ "$checked" -ge 4 ]
    # a full disk is another thing: what is done is saved, and said
    writer
    meet "$run" recorded 600
    kill -TERM "$run"
    wait "$run" || true
    run=
    grep -q -- "--resume goes on" log
}

@test "the rank is known under the launchers of other MPI libraries; ranks that do not join are told once" {
    "$TRA" gen -q --shape 20x20 -o a.h5
    printf 'input A from "a.h5"\nB = transform(A, exp)\noutput B to "b.h5"\n' >p.tra
    for of in OMPI_COMM_WORLD PMIX PMI SLURM; do
        rank=${of}_RANK
        size=${of}_SIZE
        [ $of != SLURM ] || { rank=SLURM_PROCID; size=SLURM_STEP_NUM_TASKS; }
        [ $of != PMIX ] || size=SLURM_STEP_NUM_TASKS
        is "" env "$rank=1" "$size=3" "$TRA" digest a.h5
        is "$(tra digest a.h5)" env "$rank=0" "$size=3" "$TRA" digest a.h5
        begin=$SECONDS
        is "" env "$rank=1" "$size=3" "$TRA" digest --no-such-option
        [ $((SECONDS - begin)) -le 3 ]
        # one process of three that cannot find the others must not do the work of all
        status 5 env "$rank=0" "$size=3" timeout 20 "$TRA" run -q p.tra
        has "3 ranks"
        [ ! -e b.h5 ]
    done
    status 0 env SLURM_PROCID=0 SLURM_JOB_ID=1 "$TRA" run -q p.tra # the script of a batch job
    [ -e b.h5 ]
}

@test "workers have a stack of their own, whatever ulimit -s says" {
    "$TRA" gen -q --shape 300x300 --block 50x50 --density 0.1 -o s.h5
    for i in $(seq 2000); do echo "$((i * 7919 % 911)),$i,$((i % 3))"; done >t.csv
    "$TRA" import -q t.csv --table --no-header --names a,b,c --block 300 -o t.h5
    printf '%s\n' 'input S from "s.h5"' 'input T from "t.h5"' 'C[i,k] = sum tanh(S[i,j]) * S[j,k]' \
        'D[i,j] = S[i,j] * S[i,j] + exp(S[i,j])' 'J = group(join(T, T, a == a, prefix = "r_"), [a], n = count(), s = sum(b))' \
        'O = order(T, [a desc, b])' 'output C' 'output D' 'output J' 'output O' >p.tra
    tra run -q p.tra
    for n in C D J O; do mv $n.h5 $n.want.h5; done
    for kib in 600 300 250; do
        for threads in 1 2; do
            status 0 bash -c "ulimit -s $kib; exec '$TRA' run -q --threads $threads --codec zstd p.tra"
            for n in C D J O; do same_digest $n.h5 $n.want.h5; done
            status 0 bash -c "ulimit -s $kib; exec '$TRA' run -q --threads $threads --codegen off p.tra"
        done
        status 0 bash -c "ulimit -s $kib; exec '$TRA' import -q t.csv --table --no-header --names a,b,c -o u.h5"
        status 0 bash -c "ulimit -s $kib; exec '$TRA' run -q --sites 2 p.tra"
    done
}

@test "statistics of a table that are damaged are said, and plans made without them; verify finds them" {
    for i in $(seq 3000); do echo "$((i % 40)),name$((i % 9)),$i"; done >t.csv
    "$TRA" import -q t.csv --table --no-header --names a,b,c --block 500 -o t.h5
    printf '%s\n' 'input T from "t.h5"' 'G = group(select(T, a < 3), [b], n = count())' 'output G' >p.tra
    status 0 tra run p.tra
    lacks "statistics"
    mv G.h5 want.h5
    cp t.h5 whole.h5
    for table in statistics frequencies histograms sketches blocks; do
        cp whole.h5 t.h5
        py "f = h5py.File('t.h5', 'r+')
def find(n, o):
    global d
    if n.endswith('/$table') and isinstance(o, h5py.Dataset): d = o
f['.tra'].visititems(find)
v = d[...]; v.flat[v.size // 2] ^= 1; d[...] = v" || continue
        status 0 tra run p.tra
        has "t.h5:data: its statistics (.tra/data) are missing or damaged: plans are made without them"
        same_digest G.h5 want.h5
        status 1 tra verify t.h5
    done
}

# Keys of 64 bits whose hashes agree in the low 40 bits, where they are hashed with a seed that is known (0).
@test "a join whose keys were made to collide is as fast as others" {
    py "
P1, P2, P3, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
M = (1 << 64) - 1
inv = lambda x: pow(x, -1, 1 << 64)
rotl = lambda x, r: (x << r | x >> (64 - r)) & M
rotr = lambda x, r: rotl(x, 64 - r)
def unshift(h, r):
    x = h
    for _ in range(64 // r): x = h ^ x >> r
    return x
round0 = lambda k: rotl(k * P2 & M, 31) * P1 & M
h0 = rotl((P5 + 16 & M) ^ round0(0), 27) * P1 + P4 & M
for i in range(60000):
    h = unshift(i << 40 | 12345, 32) * inv(P3) & M # the end of XXH64, backwards
    h = unshift(h, 29) * inv(P2) & M
    h = unshift(h, 33)
    r = rotr((h - P4) * inv(P1) & M, 27) ^ h0
    k = rotr(r * inv(P1) & M, 31) * inv(P2) & M
    print(k - (1 << 64) if k >> 63 else k, i, sep=',')" >t.csv
    "$TRA" import -q t.csv --table --no-header --names k,i --block 60000 -o t.h5
    printf '%s\n' 'input T from "t.h5"' 'J = group(join(T, T, k == k, prefix = "r_"), [], n = count(), s = sum(r_i))' \
        'output J' >p.tra
    status 0 timeout 20 "$TRA" run -q p.tra
    is "n,s 60000,1799970000" eval "tra export -q J.h5 -o - --to csv | xargs"
}

@test "a compiler that hangs is ended with the run" {
    printf '#!/bin/sh\necho $$ >%s/compiler.pid\nexec sleep 100\n' "$PWD" >cc
    chmod +x cc
    "$TRA" gen -q --shape 300x300 --block 50x50 --density 0.1 -o s.h5
    printf '%s\n' 'input S from "s.h5"' 'R = reblock(S, [50, 300])' \
        'tensor P as csr = sum(<i, row> in R, <j, a> in row) if (a > 0.25) { (j, i) -> a * (1 + a) }' 'output P' >p.tra
    TRA_CACHE=$PWD/cache TRA_CC=$PWD/cc "$TRA" run p.tra --codegen require 2>log &
    run=$!
    meet "$run" test -s compiler.pid
    kill -TERM "$run"
    for _ in $(seq 300); do kill -0 "$run" 2>/dev/null || break; sleep 0.05; done
    if kill -0 "$run" 2>/dev/null; then kill -KILL "$(cat compiler.pid)"; echo "it waits for the compiler"; return 1; fi
    if kill -0 "$(cat compiler.pid)" 2>/dev/null; then echo "the compiler was left"; return 1; fi
    run=
}

@test "a run that goes on may open the files of many ranks; too many open files are not called damage" {
    "$TRA" gen -q --shape 1200x1200 --block 60x60 --dist normal --seed 1 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'T = agg(join(A, A, [1], [0], matmul), [0,2], matadd)' \
        'U = agg(join(T, A, [1], [0], matmul), [0,2], matadd)' 'C = agg(join(U, T, [1], [0], matmul), [0,2], matadd)' \
        'output T' 'output U' 'output C to "c.h5"' >p.tra
    TRA_CHECKPOINT_SECONDS=0.001 slow 20 "$TRA" run -q --codec zstd --sites 3 --threads 1 p.tra 2>log &
    run=$!
    saved() { [ "$(find "$TRA_SCRATCH" -name '*.log' -size +400c | wc -l)" -ge 3 ]; } # of an output, on each rank
    meet "$run" saved
    kill -TERM "$run"
    wait "$run" || true
    run=
    [ "$(find "$TRA_SCRATCH" -name '*.dat' | wc -l)" -ge 9 ]
    status 0 bash -c "ulimit -Sn 13; exec '$TRA' run p.tra --codec zstd --threads 1 --resume"
    has "blocks of"
    lacks "damaged"
}
