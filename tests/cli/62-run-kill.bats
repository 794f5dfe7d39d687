# tra run whose processes are killed or asked to stop: one status, one message, nobody left, the earlier output intact,
# and --resume goes on from what was done.
load helper

# Starts a run of some seconds, waits until it has made its temporary file, and sends signal $2 to $1: tra, mpirun or a
# rank.
# shellcheck disable=SC2034
kill_run() {
    local run target i
    [ -e long.tra ] || long_program
    for i in $(seq 100); do # the ranks of the run before may still be about to end
        tra gen -q --shape 10x10 --dist normal -o c.h5 2>/dev/null && break
        sleep 0.1
    done
    before=$(tra digest c.h5)
    env --default-signal=HUP "$TRA" run long.tra --sites 2 --threads 1 2>log & # under nohup it would not hear that
    run=$!
    meet $run compgen -G '.c.h5.tra-*.tmp' # before that mpirun does not listen
    mpirun=$(launcher_of $run)
    case $1 in
    tra) target=$run ;;
    mpirun) target=$mpirun ;;
    rank) target=$(ranks_of $run | head -1) ;;
    esac
    kill -"$2" "$target"
    got=0
    wait $run || got=$?
    for i in $(seq 400); do
        kill -0 "$mpirun" 2>/dev/null || break
        sleep 0.05
    done
    [ "$i" -lt 400 ] || { echo "mpirun is still there"; return 1; }
    is "$before" tra digest c.h5 || { cat log; return 1; }
}

@test "a killed rank or mpirun: status 5 and a message" {
    for how in 'rank KILL' 'mpirun KILL'; do
        # shellcheck disable=SC2086
        kill_run $how
        [ "$got" -eq 5 ] || { echo "status $got after $how"; cat log; false; }
        [ "$(grep -c 'a rank was lost' log)" -eq 1 ]
    done
}

@test "who is asked to stop does so soon: status 75 and a message" {
    for how in 'tra TERM' 'tra INT' 'tra USR1' 'tra HUP' 'rank TERM' 'rank USR1' 'mpirun USR1'; do
        # shellcheck disable=SC2086
        kill_run $how
        [ "$got" -eq 75 ] || { echo "status $got after $how"; cat log; false; }
        [ "$(grep -c 'tra: stopped' log)" -eq 1 ]
    done
}

@test "a rank that is asked to stop before it can hear it: status 75 too" {
    long_program 10x10 5x5
    mkdir bin
    for signal in TERM USR1; do # the status by which mpirun tells of it
        printf '#!/bin/sh\nexit %d\n' $((128 + $(kill -l $signal))) >bin/mpirun
        chmod +x bin/mpirun
        TRA_MPIRUN=$PWD/bin/mpirun status 75 tra run -q long.tra --sites 2
        has 'tra: stopped'
    done
}

@test "an mpirun whose ranks were gone before they could be seen is ended too" {
    long_program 10x10 5x5
    mkdir bin
    printf '#!%s\nimport os, signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(1))\n%s\n' \
        "$("$PYTHON" -c 'import sys; print(sys.executable)')" 'if os.fork() > 0: time.sleep(1000)' >bin/mpirun
    chmod +x bin/mpirun
    TRA_MPIRUN=$PWD/bin/mpirun status 5 timeout 60 "$TRA" run -q long.tra --sites 2
    has 'or did not end with them'
}

# resume_until_done OPTION...: runs long.tra with --resume, killing it by signal $how before it is ready and then each time
# when some more blocks are saved, until it gets through; its first messages of each round are in log.N.
resume_until_done() {
    local round=0 got from
    until [ $round -eq 30 ]; do
        round=$((round + 1))
        from=$(recorded)
        slow 60 "$TRA" run long.tra --resume "$@" 2>log.$round &
        run=$!
        if ((round == 1)); then
            sleep 0.2
        else
            meet $run recorded $((from + 64 * 30)) >/dev/null || true
        fi
        kill -"$how" $run 2>/dev/null || true
        got=0
        wait $run || got=$?
        [ $got -eq 0 ] && break
        case $how in
        KILL) [ $got -eq 137 ] ;;
        *) [ $got -eq 75 ] || [ $got -eq $((128 + $(kill -l "$how"))) ] ;; # before the program could begin
        esac || { echo "status $got in round $round"; cat log.$round; return 1; }
    done
    [ $got -eq 0 ]
    [ $round -gt 1 ]
}

@test "killed again and again, --resume gets through with the same digest and leaves nothing behind" {
    long_program 630x630 70x70
    while read -r long how options; do
        [[ ${TRA_TEST_LONG-} || $long != long ]] || continue
        # shellcheck disable=SC2086
        tra run -q long.tra --threads 1 $options # another plan may add in another order
        want=$(tra digest c.h5)
        rm -f c.h5
        # shellcheck disable=SC2086
        resume_until_done --threads 1 $options
        is "$want" tra digest c.h5
        status 0 tra verify c.h5
        grep -q 'going on from .* blocks of C are there' log.*
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
        [ -z "$(ls -A | grep tmp)" ]
        rm log.*
    done <<'END'
- KILL --sites 1 --memory 30M
long TERM --sites 1 --memory 30M --codec zstd
long KILL --sites 2 --memory 56M
- TERM --sites 2 --memory 56M --codec zstd
long TERM --sites 3 --memory 56M
- KILL --sites 3 --memory 56M --codec zstd
END
}

@test "the ranks of a killed tra run end too, and the next run takes its files away" {
    kill_run tra KILL
    [ "$got" -eq 137 ]
    printf 'input C from "c.h5"\nD = transform(C, neg)\noutput D to "c.h5"\n' >q.tra
    for _ in $(seq 100); do # the ranks hear of it in a moment
        run tra run -q q.tra
        # shellcheck disable=SC2154
        [ "$status" -eq 0 ] && break
        sleep 0.1
    done
    [ "$status" -eq 0 ]
    [ "$(find . -name '.c.h5.tra-*.tmp' | wc -l)" -eq 0 ]
}

@test "asked to stop in the middle of one large block, a run does so soon" {
    tra gen -q --shape 3000x3000 --block 3000x3000 --dist normal -o big.h5 # its one pair takes many seconds
    printf 'input A from "big.h5"\nD[i,j] = max A[i,k] + A[k,j]\noutput D to "d.h5"\n' >big.tra
    for n in 1 2; do
        "$TRA" run -q big.tra --sites $n --threads 1 2>log &
        run=$!
        sleep 1
        begun=${EPOCHREALTIME/./}
        kill -TERM $run
        got=0
        wait $run || got=$?
        took=$((${EPOCHREALTIME/./} - begun))
        [ "$got" -eq 75 ] || { echo "status $got"; cat log; false; }
        [ "$took" -lt 4000000 ] || { echo "$took us"; false; }
    done
}

@test "an mpirun that does not end with its ranks is ended" {
    mkdir fake
    { echo "#!$("$PYTHON" -c 'import sys; print(sys.executable)')"; cat <<'EOF2'; } >fake/mpirun
import os, time
if os.fork() == 0: time.sleep(0.5); os._exit(0)
time.sleep(1000)
EOF2
    chmod +x fake/mpirun
    tra gen -q --shape 10x10 -o a.h5
    printf 'input A from "a.h5"\noutput A to "c.h5"\n' >p.tra
    TRA_MPIRUN=$PWD/fake/mpirun status 5 timeout 60 "$TRA" run p.tra --sites 2
    has 'or did not end with them'
}

@test "a signal that comes while the libraries begin is heard" {
    cat >early.c <<'EOF2'
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void at_once(void) {
    if (strcmp(program_invocation_short_name, "tra") == 0 && !getenv("TRA_LAUNCHED")) raise(atoi(getenv("SIGNAL")));
}
EOF2
    cc -D_GNU_SOURCE -shared -fPIC -o early.so early.c
    long_program
    for how in "15 --sites 1" "10 --sites 1" "2 --sites 1" "15 --sites 2" "10 --sites 2"; do
        # shellcheck disable=SC2086
        status 75 env SIGNAL=${how%% *} LD_PRELOAD="$PWD/early.so" ASAN_OPTIONS=verify_asan_link_order=0 \
            timeout 20 "$TRA" run -q long.tra ${how#* }
        has "stopped by a signal"
    done
    status 143 env SIGNAL=15 LD_PRELOAD="$PWD/early.so" ASAN_OPTIONS=verify_asan_link_order=0 "$TRA" info long.h5
    [ ! -e c.h5 ]
}
