# run --deadline: does it fit, and the end with 75 before the time.
load helper

# ends_within SECONDS STATUS COMMAND...
ends_within() {
    local from=$SECONDS
    status "${@:2}"
    ((SECONDS - from <= $1)) || { echo "took $((SECONDS - from)) s"; return 1; }
}

@test "a run that does not fit says so with its figures, saves its progress and ends before the time" {
    long_program 900x900 50x50
    ends_within 6 75 slow 60 "$TRA" run long.tra --deadline 4s --threads 1
    has "are left to --deadline"
    has "stopped before the --deadline"
    [ ! -e c.h5 ]
    # what is saved counts, so that --strict lets the rest go on
    status 75 slow 60 "$TRA" run long.tra --resume --strict --deadline 4s --threads 1
    has "saved already"
    status 0 tra run -q --threads 1 --resume long.tra
    digest=$(digest_of c.h5)
    status 0 tra run -q --threads 1 long.tra
    [ "$digest" = "$(digest_of c.h5)" ]
}

@test "--strict refuses at once, on one site and on several, and --dry-run answers" {
    long_program
    for sites in 1 2 3; do
        ends_within 10 4 tra run --strict --deadline 2s --sites $sites --threads 1 long.tra
        has "to --deadline 2s"
        [ "$(grep -c 'expected to take' <<<"$output")" -eq 1 ]
        status 4 tra run --strict --deadline 2s --sites $sites --threads 1 --dry-run long.tra
        status 0 tra run --strict --deadline 10h --sites $sites --threads 1 --dry-run long.tra
        lacks "expected to take"
    done
    [ -z "$(ls "$TRA_SCRATCH")" ]
}

@test "ranks, those of a user's mpirun too, end before the time and go on later" {
    long_program 4000x4000 200x200 # on many processors too
    status 75 tra run --sites 2 --threads 1 --deadline 4s long.tra
    [ "$(grep -c 'are left to --deadline' <<<"$output")" -eq 1 ]
    has "stopped before the --deadline"
    status 75 mpirun -q -n 3 "$TRA" run --threads 1 --deadline 4s long.tra
    has "stopped before the --deadline"
    [ ! -e c.h5 ]
}

@test "a loop keeps its last turn, and panels what they have written" {
    tra gen -q --shape 300x300 --block 100x300 --dist normal --seed 1 -o a.h5
    cat >loop.tra <<'END'
input A from "a.h5"
state w = gen(zero, [300])
repeat 2000000 as t {
    p[i] = sum[j](A[i,j] * w[j])
    next w[i] = tanh(p[i]) + 1 / (t + 1)
}
output w
END
    status 75 tra run --deadline 2s --threads 1 loop.tra
    has "when its loops take all their turns"
    status 75 tra run -v --deadline 2s --resume --threads 1 loop.tra
    has "goes on"
    tra gen -q --shape 4000x2000 --block 100x500 --dist normal --seed 2 -o b.h5
    printf 'input B from "b.h5"\nC[i,j] = sum[k](tanh(B[i,k] * B[j,k]))\noutput C\n' >panels.tra
    status 75 tra run --memory 60M --threads 1 --deadline 3s panels.tra
    has "--resume goes on"
}

@test "times as people and schedulers write them; others are refused, and --strict alone" {
    tra gen -q --shape 10x10 -o a.h5
    printf 'input A from "a.h5"\nC = transform(A, exp)\noutput C\n' >p.tra
    for t in 10 30s 4h 1h30m 1.5h 2d 4:00:00 1-12:00:00 05:00 "@$(($(date +%s) + 60))"; do
        status 0 tra run -q --deadline "$t" --strict p.tra
    done
    for t in 0 -1 x 4x 1s4h 1h2h 1:90 1-2 "" 1: @5 @x 1e3 nan; do
        status 2 tra run --deadline "$t" p.tra
        has "--deadline $t: "
    done
    status 2 tra run --strict p.tra
    has "give it too"
}

@test "a task that cannot end by the deadline does not begin, and a warning says so" {
    tra gen -q --shape 2500x2500 --block 2500x2500 -o big.h5
    printf 'input A from "big.h5"\nu, s, v = svd(A)\noutput s to "s.h5"\n' >svd.tra
    status 75 tra run --deadline 1s svd.tra
    has "one step is expected to take"
    has "no run in that time gets past it"
    [ ! -e s.h5 ]
}

# in_time MS COMMAND...: it ends with 75 before so many milliseconds have passed.
in_time() {
    local from=${EPOCHREALTIME/[.,]/} took
    status 75 "${@:2}" || return
    took=$(((${EPOCHREALTIME/[.,]/} - from) / 1000))
    ((took < $1)) || { echo "took $took ms"; return 1; }
}

@test "no task begins that would end too late, by what tasks took in this run; saving and ending have their time" {
    tra gen -q --shape 400x400 --block 100x100 --dist normal --seed 3 -o a.h5
    printf 'input A from "a.h5"\nC[i,k] = sum[j](A[i,j] * A[j,k])\noutput C\n' >p.tra
    # a task takes 2 s, and the plan expects milliseconds
    export TRA_SLOW_TASK=2000
    in_time 3500 slow 0 "$TRA" run --threads 1 --deadline 3.5s p.tra
    has "stopped before the --deadline"
    in_time 6000 slow 0 "$TRA" run --sites 2 --threads 1 --deadline 6s p.tra
    has "stopped before the --deadline"
}

@test "tasks that have begun end, and what they made is saved" {
    tra gen -q --shape 1200x100 --block 100x100 --dist normal --seed 3 -o a.h5
    tra gen -q --shape 100x100 --dist normal --seed 4 -o b.h5
    printf 'input A from "a.h5"\ninput B from "b.h5"\nC[i,k] = sum[j](A[i,j] * B[j,k])\noutput C\n' >p.tra
    export TRA_SLOW_TASK=500
    in_time 2500 slow 0 "$TRA" run --threads 2 --deadline 2.5s p.tra
    has "--resume goes on"
    unset TRA_SLOW_TASK
    status 0 tra run -v --threads 2 --resume p.tra
    has "blocks of C are there"
}
