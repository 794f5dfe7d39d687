# tra run --sites N whose processes are killed: one status, one message, nobody left, the earlier output intact.
load helper

# Starts a run of some seconds, waits until it has made its temporary file, and sends signal $2 to $1: tra, mpirun or a rank.
# shellcheck disable=SC2034
kill_run() {
    local run target i
    [ -e long.tra ] || long_program
    for i in $(seq 100); do # the ranks of the run before may still be about to end
        tra gen -q --shape 10x10 --dist normal -o c.h5 2>/dev/null && break
        sleep 0.1
    done
    before=$(tra digest c.h5)
    "$TRA" run long.tra --sites 2 --threads 1 2>log &
    run=$!
    for i in $(seq 100); do
        compgen -G '.c.h5.tra-*.tmp' >/dev/null && break
        sleep 0.05
    done
    mpirun=$(pgrep -P $run mpirun)
    case $1 in
    tra) target=$run ;;
    mpirun) target=$mpirun ;;
    rank) target=$(pgrep -P "$mpirun" | head -1) ;;
    esac
    kill -"$2" "$target"
    got=0
    wait $run || got=$?
    for i in $(seq 100); do
        kill -0 "$mpirun" 2>/dev/null || break
        sleep 0.05
    done
    [ "$i" -lt 100 ] || { echo "mpirun is still there"; return 1; }
    [ "$(tra digest c.h5)" = "$before" ]
}

@test "a killed rank or mpirun: status 5 and a message" {
    for who in rank mpirun; do
        for signal in KILL TERM; do
            kill_run $who $signal
            [ "$got" -eq 5 ] || { echo "status $got after $signal to $who"; cat log; false; }
            [ "$(grep -c 'a rank was lost' log)" -eq 1 ]
        done
    done
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
