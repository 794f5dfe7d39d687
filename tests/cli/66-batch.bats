# The job scripts of share/batch, with a stand-in for the scheduler: they end, begin again, and get through.
load helper

setup_file() { PATH=$(dirname "${TRA:-$BATS_TEST_DIRNAME/../../build/tra}"):$PATH; }

# job.tra, which makes c.h5: for some seconds when each of its 200 blocks takes 100 ms to write.
job() {
    tra gen -q --shape 2000x1000 --block 100x100 --dist normal -o a.h5
    printf 'input A from "a.h5"\nC = transform(A, exp)\noutput C to "c.h5"\n' >job.tra
    tra run -q job.tra
    want=$(tra digest c.h5)
    rm c.h5
}

@test "cron: every night goes on, the last one says that all is done, then nothing happens any more" {
    job
    for night in $(seq 30); do # of two seconds and more
        status 0 slow 100 "$ROOT/share/batch/cron.sh" . job.tra "$(printf 0.%04d $((5 + night)))" --sites 2 --threads 1
        [ -e "done" ] && break
        [ ! -e c.h5 ]
        grep -q 'tra: stopped' tra.log
    done
    [ -e "done" ]
    [ "$night" -gt 1 ]
    is "$want" tra digest c.h5
    rm c.h5
    status 0 "$ROOT/share/batch/cron.sh" . job.tra 1
    [ ! -e c.h5 ]
    rm "done"
    printf 'output X\n' >wrong.tra
    status 2 "$ROOT/share/batch/cron.sh" . wrong.tra 1
}

@test "cron: the program is found without a PATH: of an installation, a checkout, or what TRA says" {
    mkdir -p pre/bin pre/share/tra co/build co/share other
    printf '#!/bin/sh\necho "$0" >>%s/used\n' "$PWD" >pre/bin/tra
    chmod +x pre/bin/tra
    cp pre/bin/tra co/build/tra
    cp pre/bin/tra other/tra
    cp -R "$ROOT/share/batch" pre/share/tra/batch
    cp -R "$ROOT/share/batch" co/share/batch
    cp -R "$ROOT/share/batch" alone
    cron() { rm -f "done" used; status "$1" env -u TRA "PATH=/usr/bin:/bin" "${@:2}" . p.tra 1; }
    cron 0 pre/share/tra/batch/cron.sh
    is "$PWD/pre/bin/tra" cat used
    cron 0 co/share/batch/cron.sh
    is "$PWD/co/build/tra" cat used
    cron 0 TRA=other/tra co/share/batch/cron.sh
    is "$PWD/other/tra" cat used
    ! command -v /usr/bin/tra /bin/tra >/dev/null || return 0
    cron 2 alone/cron.sh
    has "set TRA to the program"
}

# slurm FOLDER: the template on job.tra with the program of that folder, by stand-ins for scontrol and srun. Asked to stop
# it puts itself back into the queue, and goes on when it begins again.
slurm() {
    mkdir -p bin
    printf '#!/bin/sh\necho "$@" >>%s/queue\n' "$PWD" >bin/scontrol
    printf '#!/bin/bash\n[ "$1 $2" = "--mpi=pmi2 --kill-on-bad-exit" ] || exit 9\nexec "$3" run --sites 2 "${@:5}"\n' >bin/srun
    chmod +x bin/scontrol bin/srun
    export SLURM_JOB_ID=17 SLURM_NTASKS=2
    for round in $(seq 30); do
        rm -f queue
        from=$(recorded)
        PATH=$PWD/bin:$1:$PATH slow 100 bash "$ROOT/share/batch/slurm.sh" job.tra --threads 1 >log 2>&1 &
        run=$!
        meet $run recorded $((from + 64 * 40)) >/dev/null || true
        kill -USR1 $run || true
        got=0
        wait $run || got=$?
        [ $got -eq 0 ] && break
        [ $got -eq 75 ] || { echo "status $got"; cat log; return 1; }
        grep -q 'tra: stopped' log || return 1
        is 'requeue 17' cat queue || return 1
    done
    is 0 echo $got
    [ ! -e queue ] || return 1
    [ "$round" -gt 1 ] || { cat log; return 1; }
    is "$want" tra digest c.h5
}

@test "Slurm: asked to stop it puts itself back into the queue, and goes on when it begins again" {
    job
    slurm "$(dirname "$TRA")"
    # a launcher that does not hear the signal yet, or no more, ends by it
    printf '#!/bin/sh\nkill -USR1 $$\n' | tee bin/mpirun >bin/srun
    chmod +x bin/mpirun
    PATH=$PWD/bin:$PATH status 75 bash "$ROOT/share/batch/slurm.sh" job.tra
    is 'requeue 17' cat queue
}

@test "Slurm: the template starts the program by the launcher of its MPI library, or alone without one" {
    for mpi in mpich no; do
        [ -x "$BUILD/mpi-$mpi/tra" ] || skip "no such program; make MPI=$mpi $BUILD/mpi-$mpi/tra"
        job
        slurm "$BUILD/mpi-$mpi"
        grep -q "^tra: $([ $mpi = no ] || echo "2 sites of ")1 thread, plan 1" log || { cat log; false; }
        rm c.h5
    done
}
