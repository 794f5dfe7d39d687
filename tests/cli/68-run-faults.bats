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
    for k in 1 2 3 4 5 6; do
        if "$TRA" explain p.tra --sites "$2" --threads 1 --plan $k | grep -q 'bcast'; then break; fi
    done
    "$TRA" explain p.tra --sites "$2" --threads 1 --plan $k | grep -q 'bcast'
    options="--sites $2 --threads 1 --plan $k --codegen off"
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
    for case in 'tanh(S[i,j]) 2' '(S[i,j] * S[i,j]) 3'; do
        read -r of sites <<<"${case% *} ${case##* }"
        # shellcheck disable=SC2086
        exchange "${case% *}" ${case##* }
        for rank in 0 1; do
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
    for _ in $(seq 300); do [ -e .slow.h5.tra-lock ] && return; sleep 0.02; done
    echo "the writer did not begin"
    cat log
    return 1
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
    wait "$run"
    run=
    [ -e slow.h5 ]
    # who owns it no more is found out, whatever the clock says: the process of that number began at another time
    printf '%s %d t1 %s %s tra run x\n' "$(uname -n)" $$ "$(cat /proc/sys/kernel/random/boot_id)" \
        "$(stat -L -c %i /proc/self/ns/pid)" >.slow.h5.tra-lock
    status 0 tra run -q slow.tra
    # and one of an earlier version, which says it by the clock, is not taken from a process that lives
    printf '%s %d 1000000000 %s %s tra run x\n' "$(uname -n)" $$ "$(cat /proc/sys/kernel/random/boot_id)" \
        "$(stat -L -c %i /proc/self/ns/pid)" >.slow.h5.tra-lock
    status 4 tra run -q slow.tra
    rm .slow.h5.tra-lock
}

@test "clean and doctor leave alone what a process of another container writes, for an hour" {
    unshare -pf --mount-proc true 2>/dev/null || skip "needs the right to make namespaces"
    "$TRA" gen -q --shape 800x800 --block 100x100 -o s.h5
    slow 150 unshare -pf --mount-proc "$TRA" export -q s.h5 -o s.csv &
    run=$!
    for _ in $(seq 300); do compgen -G '.s.csv.tra-*.tmp' >/dev/null && break; sleep 0.02; done
    temp=$(compgen -G '.s.csv.tra-*.tmp')
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
    "$TRA" export -q s.h5 -o s.csv # and such a file of this host's own namespace goes at once
    : >.s.csv.tra-99999999.tmp
    status 0 tra clean .
    [ ! -e .s.csv.tra-99999999.tmp ]
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
