# The outputs of a run appear together, whatever it is killed in; --resume never does a step twice, or half.
load helper

# step.tra, whose outputs go to s.h5:w and to $1, and replace the inputs; earlier/ has what it begins with.
make_step() {
    mkdir -p earlier
    [ "$1" != kinds ] || { make_kinds; return; }
    case $1 in
    one) t=s.h5:t more= ;;
    separate) t=t.h5 more= ;;
    both) t=t.h5:t more='u2[i] = sum w[i,j]\noutput u2 to "t.h5:u"\n' ;;
    esac
    tra gen -q --shape 40x30 --block 16x16 --seed 1 -o earlier/s.h5:w
    tra gen -q --shape 40x30 --block 16x16 --seed 2 -o "earlier/$t"
    printf 'input w from "s.h5:w"\ninput t from "%s"
w2[i,j] = 0.5*w[i,j] + 0.25*t[i,j]
t2[i,j] = t[i,j] - 0.5*w[i,j]
output w2 to "s.h5:w"\noutput t2 to "%s"\n'"$more" "$t" "$t" >step.tra
    to_earlier
    before=$(state)
}
# A stored relation, a table and a dense tensor, of which each is made of others: these wait in scratch until their
# sizes are known.
make_kinds() {
    t="t.h5:people t.h5:d"
    tra gen -q --shape 40x30 --block 16x16 --density 0.2 --seed 1 -o earlier/s.h5:w
    tra gen -q --shape 40x30 --block 16x16 --seed 2 -o earlier/t.h5:d
    for i in {1..40}; do echo "$i,name $((i % 7)),$((i * 100))"; done >people.csv
    tra import -q --no-header --names n,name,pay --block 9 people.csv -o earlier/t.h5:people
    printf '%s\n' 'input w from "s.h5:w"' 'input p from "t.h5:people"' 'input d from "t.h5:d"' \
        'w2[i,j] as csr = 0.5*w[i,j]*d[i,j]' 'p2 = select(project(p, n = n + 1, name, pay), n % 9 != 4)' \
        'd2[i,j] = d[i,j] - 0.5*w[i,j]' 'output w2 to "s.h5:w"' 'output p2 to "t.h5:people"' 'output d2 to "t.h5:d"' \
        >step.tra
    to_earlier
    before=$(state)
}
to_earlier() { rm -f ./*.h5 .*.tra-*; rm -rf "${TRA_SCRATCH:?}"/*; cp earlier/*.h5 .; }
# shellcheck disable=SC2086
state() { tra digest s.h5:w $t; }

# The shim, and a command under it: dies N COMMAND...
dies() {
    local lib=$BATS_FILE_TMPDIR/die.so
    [ -e "$lib" ] || cc -std=gnu11 -D_GNU_SOURCE -shared -fPIC -o "$lib" "$ROOT/tests/faults/die.c" -ldl
    touch calls
    TRA_DIE=$1 TRA_DIE_LOG=$PWD/calls LD_PRELOAD=$lib ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 "${@:2}"
}

# Kills the run before each stride-th of its calls from the first fsync on: afterwards the outputs are all old or all
# new, and --resume brings the step to its end once. sweep STRIDE COMMAND...
sweep() {
    local stride=$1 n most now seen_old= seen_new=
    shift
    dies 0 "$@" 2>log || { cat log; return 1; }
    after=$(state)
    [ "$before" != "$after" ]
    most=$(grep -vc /dev/shm calls) # that is MPI's, when all has been said
    cat calls
    [ "$most" -ge 5 ]
    for ((n = 1; n <= most; n += stride)); do
        to_earlier
        rm calls
        if dies "$n" "$@" 2>log; then # of several ranks it depends on timing which removes a file of the journal
            [ "$(grep -vc /dev/shm calls)" -lt "$n" ] || { echo "call $n of $most did not kill it"; return 1; }
            is "$after" state
            continue
        fi
        now=$(state) || { echo "after call $n:"; state; return 1; }
        if [ "$now" = "$before" ]; then seen_old=1
        elif [ "$now" = "$after" ]; then seen_new=1
        else echo "torn by call $n: $(tail -1 calls)"; echo "$before / $now / $after"; return 1; fi
        status 0 "$@" --resume || { echo "after call $n of $most"; return 1; }
        is "$after" state || { echo "not once, after call $n: $(tail -1 calls); $output"; return 1; }
        [ -z "$(find . "$TRA_SCRATCH" -name '*tra-*' | head -3)" ] || {
            echo "left after call $n:"; find . "$TRA_SCRATCH" -name '*tra-*'; return 1; }
    done
    [ "$seen_old$seen_new" = 11 ]
}

@test "killed at every call of the commit: outputs to one file" {
    make_step one
    sweep 1 "$TRA" run -q step.tra
}

@test "killed at every call of the commit: outputs to separate files" {
    make_step separate
    sweep 1 "$TRA" run -q step.tra
}

@test "killed at every call of the commit: outputs to one file and to another, compressed" {
    make_step both
    sweep 1 "$TRA" run -q --codec zstd step.tra
}

@test "killed at every call of the commit: a stored relation, a table and a tensor" {
    make_step kinds
    sweep "$([ "${TRA_TEST_LONG-}" ] && echo 1 || echo 3)" "$TRA" run -q step.tra
    tra verify -q s.h5:w t.h5:people t.h5:d
}

@test "rank 0 of 3 killed in the commit" {
    make_step both
    export TRA_DIE_RANK=0
    sweep "$([ "${TRA_TEST_LONG-}" ] && echo 1 || echo 7)" "$TRA" run -q --sites 3 --threads 1 step.tra
}

@test "rank 0 of 3 killed in the commit of a stored relation, a table and a tensor" {
    make_step kinds
    export TRA_DIE_RANK=0
    sweep "$([ "${TRA_TEST_LONG-}" ] && echo 1 || echo 14)" "$TRA" run -q --sites 3 --threads 1 step.tra
}

@test "who launched the ranks is killed after they are done" {
    make_step separate
    export TRA_DIE_AFTER=all TRA_DIE_RANK=none
    dies 0 "$TRA" run -q --sites 2 --threads 1 step.tra
    after=$(state)
    n=$(grep 'unlink .*tra-commit$' calls | tail -1 | cut -d' ' -f1)
    [ "$n" ]
    to_earlier
    status 137 dies "$n" "$TRA" run -q --sites 2 --threads 1 step.tra
    status 0 tra run --resume step.tra
    [[ $output == *"nothing is left to do"* ]]
    is "$after" state
}

@test "a plan file whose inputs its outputs have replaced is done, too" {
    make_step separate
    tra compile -q step.tra -o step.plan
    dies 0 "$TRA" run -q step.plan
    after=$(state)
    for call in rename unlink; do
        n=$(awk -v call=$call '$2 == call && / .*\.h5(.tra-lock)?$/ { last = $1 } END { print last }' calls)
        to_earlier
        tra compile -q step.tra -o step.plan
        status 137 dies "$n" "$TRA" run -q step.plan
        status 0 tra run --resume step.plan
        [[ $output == *"nothing is left to do"* ]]
        is "$after" state
    done
}

@test "--resume of a step that is done says so; a plain run does the next step" {
    make_step separate
    status 0 tra run -q step.tra
    once=$(state)
    status 0 tra run -q step.tra
    twice=$(state)
    to_earlier
    dies 0 "$TRA" run -q step.tra
    n=$(grep 'unlink .*tra-commit' calls | tail -1 | cut -d' ' -f1)
    to_earlier
    status 137 dies "$n" "$TRA" run -q step.tra
    is "$once" state
    status 0 tra run --resume step.tra
    [[ $output == *"had put all outputs in place: nothing is left to do"* ]]
    is "$once" state
    status 0 tra run --resume step.tra # that one is over: this is the next step
    is "$twice" state
    to_earlier
    status 137 dies "$n" "$TRA" run -q step.tra
    status 0 tra run -q step.tra
    is "$twice" state
    [ -z "$(find . -name '.*tra-*')" ]
}

@test "--resume of a step whose outputs were replaced since is not taken for done" {
    make_step separate
    dies 0 "$TRA" run -q step.tra
    n=$(grep 'unlink .*tra-commit' calls | tail -1 | cut -d' ' -f1)
    to_earlier
    status 137 dies "$n" "$TRA" run -q step.tra
    cp t.h5 other.h5
    mv other.h5 t.h5
    run tra run --resume step.tra
    lacks "nothing is left to do"
}

@test "the outputs of a run that was killed between its renames appear for other commands" {
    make_step separate
    dies 0 "$TRA" run -q step.tra
    after=$(state)
    n=$(awk '/ rename .*\.h5$/ { last = $1 } END { print last }' calls) # the second of two renames
    to_earlier
    status 137 dies "$n" "$TRA" run -q step.tra
    [ -e .s.h5.tra-commit ]
    status 0 tra info t.h5
    [[ $output == *"put 2 files in place"* ]]
    is "$after" state
}

@test "a commit record that is damaged is refused, with what to do" {
    make_step separate
    dies 0 "$TRA" run -q step.tra
    n=$(awk '/ rename .*\.h5$/ { print $1; exit }' calls)
    to_earlier
    status 137 dies "$n" "$TRA" run -q step.tra
    sed -i 's/rename/remane/' .s.h5.tra-commit
    for f in s.h5:w t.h5; do
        status 3 tra info "$f"
        [[ $output == *".s.h5.tra-commit"*"remove it"* ]]
    done
    rm .s.h5.tra-commit
    is "$before" state
}

# loop KIND STEPS OPTIONS...: steps with kills end as steps without.
loop() {
    local steps=$2 i
    make_step "$1"
    for ((i = 0; i < steps; i++)); do status 0 tra run -q step.tra "${@:3}"; done
    want=$(state)
    to_earlier
    RANDOM=7 killed=0
    for ((i = 0; i < steps; i++)); do
        until TRA_DIE_AFTER=$( ((RANDOM % 2)) && echo all) dies $((RANDOM % 60)) "$TRA" run -q --resume step.tra "${@:3}" 2>log; do
            killed=$((killed + 1))
            [ "$killed" -lt 1000 ]
        done
    done
    [ "$killed" -gt $((steps / 3)) ]
    is "$want" state
}

@test "fifty steps with kills end as fifty without" {
    loop both "$([ "${TRA_TEST_LONG-}" ] && echo 50 || echo 12)"
}

@test "fifty steps of a stored relation, a table and a tensor, with kills, end as fifty without" {
    loop kinds "$([ "${TRA_TEST_LONG-}" ] && echo 50 || echo 6)"
}

@test "the reference engine's outputs appear together, too" {
    make_step separate
    sweep 3 "$TRA" run -q --engine reference step.tra
}

@test "tra clean puts the outputs of a killed run in place, and removes its record" {
    make_step separate
    dies 0 "$TRA" run -q step.tra
    after=$(state)
    second=$(awk '/ rename .*\.h5$/ { last = $1 } END { print last }' calls)
    done=$(grep 'unlink .*tra-commit' calls | tail -1 | cut -d' ' -f1)
    record=$(awk '/ rename .*tra-commit$/ { last = $1 } END { print last }' calls) # the lines that lead to it are there
    for n in $second $done $record; do
        to_earlier
        status 137 dies "$n" "$TRA" run -q step.tra
        status 0 tra clean -n
        has ".tra-commit (record of outputs that are complete"
        status 0 tra clean
        is "$([ "$n" = "$record" ] && echo "$before" || echo "$after")" state
        is "" find . "$TRA_SCRATCH" -name '*tra-*'
        status 0 tra clean
        has "nothing is left"
    done
    to_earlier
    status 137 dies "$(awk '/ rename .*\.h5$/ { print $1; exit }' calls)" "$TRA" run -q step.tra
    sed -i 's/rename/remane/' .s.h5.tra-commit
    status 4 tra clean
    has ".h5.tra-commit cannot be removed: Bad message"
    ls .s.h5.tra-r* .t.h5.tra-r* # what a record may need stays
}

# A rank that does nothing to the files of others may still end in the middle of it, with all that mpirun does then.
@test "ranks 1 and 2 of 3 killed in the commit" {
    others both 5
}

@test "ranks 1 and 2 of 3 killed in the commit of a stored relation, a table and a tensor" {
    others kinds 14
}

# others KIND STRIDE
others() {
    make_step "$1"
    dies 0 "$TRA" run -q --sites 3 --threads 1 step.tra
    after=$(state)
    export TRA_DIE_AFTER=all
    for rank in 1 2; do
        export TRA_DIE_RANK=$rank
        to_earlier
        rm calls
        dies 0 "$TRA" run -q --sites 3 --threads 1 step.tra
        most=$(wc -l <calls)
        [ "$most" -ge 2 ]
        for ((n = most; n >= 1; n -= $([ "${TRA_TEST_LONG-}" ] && echo 1 || echo "$2"))); do
            to_earlier
            run dies "$n" "$TRA" run -q --sites 3 --threads 1 step.tra
            now=$(state)
            if [ "$status" = 0 ]; then # all was done, and rank 0 had told so
                is "$after" echo "$now"
                continue
            fi
            [ "$now" = "$before" ] || [ "$now" = "$after" ] || { echo "torn by call $n of rank $rank"; return 1; }
            status 0 "$TRA" run -q --sites 3 --threads 1 --resume step.tra
            is "$after" state
            [ -z "$(find . "$TRA_SCRATCH" -name '*tra-*' | head -3)" ]
        done
    done
}

@test "--resume of a step whose output was removed makes it anew, and reads its earlier progress as a new run does" {
    make_step separate
    sed -i 's/output t2.*/output t2 to "other.h5"/; s/output w2.*/output w2 to "more.h5"/' step.tra
    state() { tra digest more.h5 other.h5; }
    dies 0 "$TRA" run -q step.tra
    after=$(state)
    for n in $(grep -n 'unlink\|rmdir' calls | cut -d: -f2 | cut -d' ' -f1); do
        rm -f more.h5 other.h5
        status 137 dies "$n" "$TRA" run -q step.tra
        rm -f other.h5
        status 0 tra run -q --resume step.tra
        is "$after" state
        [ -z "$(find . "$TRA_SCRATCH" -name '*tra-*' | head -3)" ]
    done
}

@test "who finishes a killed commit is killed, too" {
    make_step both
    dies 0 "$TRA" run -q step.tra
    after=$(state)
    first=$(awk '/ rename .*\.h5$/ { print $1; exit }' calls)
    last=$(awk '/ rename .*\.h5$/ { last = $1 } END { print last }' calls)
    for n in $first $last; do
        for how in "info t.h5:t" "clean" "gen -q --shape 3 -o t.h5:other" "run -q --resume step.tra"; do
            for ((m = 1; m < 100; m += $([ "${TRA_TEST_LONG-}" ] && echo 1 || echo 7))); do
                to_earlier
                status 137 dies "$n" "$TRA" run -q step.tra
                # shellcheck disable=SC2086
                TRA_DIE_AFTER=all run dies "$m" "$TRA" $how
                local it=$status
                if [[ $how == run* ]] || [ -e .s.h5.tra-commit ]; then
                    status 0 tra run -q --resume step.tra
                    [[ $it != 0 ]] || break # that one had done it, and this was the next step
                fi
                is "$after" state || { echo "after call $m of $how"; return 1; }
                [[ $it != 0 ]] || break
            done
            [ "$m" -gt 3 ]
        done
    done
}

@test "who waits for another program to put outputs in place says for which" {
    make_step separate
    dies 0 "$TRA" run -q step.tra
    after=$(state)
    n=$(awk '/ rename .*\.h5$/ { last = $1 } END { print last }' calls)
    to_earlier
    status 137 dies "$n" "$TRA" run -q step.tra
    printf 'elsewhere 4711 1 aaaa 1 tra run other.tra' >.t.h5.tra-lock
    tra info t.h5 >log 2>&1 &
    meet $! grep -q "waiting: " log
    rm .t.h5.tra-lock
    wait $!
    output=$(<log)
    has "t.h5 is being written by process 4711 on elsewhere (tra run other.tra)"
    is "$after" state
}

@test "killed when outputs are in place: --resume takes away what the exchange by files left, too" {
    make_step both
    options=(--sites 2 --threads 1 --transport files)
    dies 0 "$TRA" run -q step.tra "${options[@]}" 2>log
    after=$(state)
    last=$(awk '/ rename .*\.h5$/ { last = $1 } END { print last + 1 }' calls)
    to_earlier
    rm calls
    ! dies "$last" "$TRA" run -q step.tra "${options[@]}" 2>log || return 1
    compgen -G "$TRA_SCRATCH/tra-exchange-*"
    status 0 tra run -q --resume step.tra "${options[@]}"
    is "$after" state
    is "" find . "$TRA_SCRATCH" -name '*tra-*'
}

@test "a disk that is full when an output is closed: nothing of it stays but what --resume goes on from" {
    mkdir -p small
    mount -t tmpfs tmpfs small 2>/dev/null || skip "needs the right to mount"
    awk 'BEGIN { print "n,s"; for (i = 0; i < 20000; i++) printf "%d,w%07d\n", i * 7919 % 20011, i * 31 % 20011 }' >n.csv
    tra import -q --table n.csv -o n.h5
    printf '%s\n' 'input n from "n.h5"' 'P = order(n, [s])' 'output P to "small/P.h5"' >one.tra
    printf '%s\n' 'X = matrix(n, [n])' 'output X to "small/X.h5"' | cat one.tra - >two.tra
    tra run -q two.tra
    want=$(tra digest small/P.h5 small/X.h5)
    of_one=$(du -k small/P.h5 | cut -f1) of_two=$(du -ck small/*.h5 | tail -n 1 | cut -f1)
    umount small
    for how in '' '--sites 2' '--sites 2 --transport files'; do
        for less in 4 24 130; do # kilobytes: of what is written when all rows are
            mount -t tmpfs -o size=$((of_one - less))k tmpfs small
            # shellcheck disable=SC2086
            status 4 tra run -q $how one.tra
            left=$(ls -A small; ls -A "$TRA_SCRATCH")
            umount small
            has "No space left"
            is "" echo "$left"
        done
        mount -t tmpfs -o size=$((of_two - 24))k tmpfs small
        # shellcheck disable=SC2086
        status 4 tra run -q $how two.tra
        mount -o remount,size=9m small
        # shellcheck disable=SC2086
        tra run -q $how --resume two.tra
        left=$(ls -A "$TRA_SCRATCH"; find small -name '.*.tmp') got=$(tra digest small/P.h5 small/X.h5)
        umount small
        is "" echo "$left"
        is "$want" echo "$got"
    done
}
