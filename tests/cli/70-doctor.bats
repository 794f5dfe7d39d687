# tra doctor: what it finds where something is wrong, and that it finds nothing where nothing is.
load helper

teardown() {
    if mountpoint -q "$BATS_TEST_TMPDIR/small"; then umount "$BATS_TEST_TMPDIR/small"; fi
    for g in "${groups[@]}"; do rmdir "$g" 2>/dev/null || true; done
}

# found CHECK: state and finding of a check.
found() { "$PYTHON" -c 'import json, sys
for c in json.loads(sys.argv[1])["checks"]:
    if c["check"] == sys.argv[2]: print(c["state"], c["found"])' "$output" "$1"; }

doctor() { "$TRA" doctor --scratch . --format json "$@"; }

@test "a line for each check, in text and in JSON, and status 0" {
    status 0 tra doctor --scratch .
    for check in ranks memory cores scratch locks left filter blas rates; do
        [ "$(grep -c "^[a-z]* *$check " <<<"$output")" -eq 1 ]
    done
    status 0 doctor
    py 'd = json.loads(sys.argv[1])
assert [c["check"] for c in d["checks"]] == "ranks memory cores scratch locks left filter blas rates".split()
assert d["state"] in ("ok", "warning")
for c in d["checks"]: assert (c["advice"] is None) == (c["state"] == "ok"), c' "$output"
    [[ $(found scratch) == *" . has"*"writes"* ]]
    [ -z "$(ls -A)" ]
}

@test "scratch: the directory that a run would take" {
    mkdir -p t
    for given in "TMPDIR=$PWD/t" "TMPDIR="; do
        status 0 env -u TRA_SCRATCH "$given" "$TRA" doctor --format json
        dir=${given#TMPDIR=}
        [[ $(found scratch) == *" ${dir:-/var/tmp} "* ]]
    done
}

@test "ranks: joined, alone, and launched by what does not join them" {
    status 0 mpirun -q -n 3 --bind-to none "$TRA" doctor --scratch . --format json
    [[ $(found ranks) == "ok 3 ranks joined, 3 on this machine" ]]
    [[ $(found memory) == *"each of 3 ranks here"* ]]
    # a launcher of another MPI: each process is told that there are two, and finds itself alone
    status 1 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$TRA" doctor --scratch . --format json
    [[ $(found ranks) == problem*"did not join"* ]]
    status 1 env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 "$TRA" doctor --scratch . --format json
    [[ $(found ranks) == problem*"4 ranks"* ]]
    status 0 env SLURM_NTASKS=4 "$TRA" doctor --scratch . --format json
    [[ $(found ranks) == warning*"4 tasks"* ]]
}

@test "memory: limits of Slurm, and more than there is" {
    SLURM_MEM_PER_NODE=1000 status 0 doctor
    [[ $(found memory) == "ok 1000 MiB"*SLURM_MEM_PER_NODE* ]]
    SLURM_MEM_PER_CPU=300 SLURM_CPUS_ON_NODE=2 status 0 doctor
    [[ $(found memory) == "ok 600 MiB"*SLURM_MEM_PER_CPU* ]]
    SLURM_MEM_PER_NODE=1000 status 0 mpirun -q -n 10 --bind-to none "$TRA" doctor --scratch . --format json
    [[ $(found memory) == "warning 100 MiB"* ]]
    SLURM_MEM_PER_NODE=1000 TRA_MEMORY=2G status 1 doctor
    [[ $(found memory) == "problem TRA_MEMORY is 2G"* ]]
}

@test "memory and cores: limits of the cgroup, of either version, are what runs take" {
    # a group below our own, of the memory and of the cpu controller
    memory=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/tra-test-$$ file=memory.limit_in_bytes
    cpu=/sys/fs/cgroup/cpu$(sed -n 's/^[0-9]*:cpu://p' /proc/self/cgroup)/tra-test-$$
    if [ ! -d /sys/fs/cgroup/memory ]; then
        memory=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/tra-test-$$ file=memory.max cpu=$memory
    fi
    mkdir "$memory" 2>/dev/null || skip "no right to make a cgroup"
    groups=("$memory" "$cpu")
    echo 700M >"$memory/$file" 2>/dev/null || skip "the memory of a cgroup cannot be limited"
    inside() { bash -c 'for g in $1; do echo $$ >"$g/cgroup.procs"; done; shift; exec "$@"' - "${groups[*]}" "$@"; }
    if mkdir -p "$cpu" 2>/dev/null && [ -e "$cpu/cpu.cfs_quota_us" ]; then
        echo 100000 >"$cpu/cpu.cfs_quota_us"
    elif [ -e "$cpu/cpu.max" ]; then
        echo "100000 100000" >"$cpu/cpu.max"
    else
        groups=("$memory")
    fi
    status 0 inside "$TRA" doctor --scratch . --format json
    [[ $(found memory) == "ok 700 MiB for each"*"$file"* ]]
    if [ ${#groups[@]} -gt 1 ]; then [[ $(found cores) == *"1 thread on 1 core" ]]; fi
    tra gen -q --shape 9x9 -o a.h5
    printf 'input A from "a.h5"\nB = transform(A, neg)\noutput B\n' >p.tra
    status 0 inside "$TRA" run p.tra
    has "(ceiling 700 MiB)"
    status 0 inside "$TRA" run p.tra --sites 2
    has "(ceiling 350 MiB)"
    # and nothing is killed: data of twice the limit, which all ranks share
    [ -z "${SAN:-}" ] || return 0
    echo 160M >"$memory/$file"
    # a ceiling above the limit is refused where the plan would take it, with the one to give
    tra gen -q --shape 4000x4000 --block 4000x4000 --dist range -o big.h5
    printf '%s\n' 'input A from "big.h5"' 'B = transform(A, neg)' 'output B to "b.h5"' >big.tra
    for n in 1 2; do
        status 4 inside "$TRA" run -q big.tra --memory 3G --sites $n
        has "but this job has 160 MiB ("
        has "give --memory $((160 / n))M"
        [ "${#lines[@]}" -eq 1 ]
        [ ! -e b.h5 ]
        status 0 inside "$TRA" run -q p.tra --memory 3G --sites $n
    done
    SLURM_MEM_PER_NODE=150 status 4 "$TRA" run -q big.tra --memory 3G
    has "150 MiB (SLURM_MEM_PER_NODE)"
    echo 140M >"$memory/$file" # nor does what only streams take more, by itself or where it is told to
    for command in "digest big.h5" "verify big.h5 --memory 3G" "diff big.h5 big.h5 --memory 3G" "head big.h5" \
        "export big.h5 -o big.npy --memory 3G" "gen --shape 4000x4000 --block 4000x4000 -o g.h5 --memory 3G"; do
        # shellcheck disable=SC2086
        status 4 inside "$TRA" $command
        has "but this job has 140 MiB ("
        [ "${#lines[@]}" -eq 1 ]
    done
    [ ! -e g.h5 ]
    [ ! -e big.npy ]
    echo 160M >"$memory/$file"
    tra gen -q --shape 4000x5000 --block 250x5000 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'C = reblock(transform(A, exp), [4000, 250])' 'output C to "c.h5"' >p.tra
    for n in 1 2; do
        status 0 inside "$TRA" run p.tra --sites $n --threads 1
        has "(ceiling $((160 / n)) MiB)"
    done
}

@test "memory and cores: the second version of cgroups, a limit of the group or of one above it" {
    mkdir -p group/job/step
    echo max >group/job/step/memory.max
    echo $((900 << 20)) >group/job/memory.max
    echo "100000 100000" >group/job/cpu.max
    echo 0::/job/step >here
    # what a process of that group sees, in a mount namespace of its own
    inside() {
        unshare -m bash -c 'mount --bind group /sys/fs/cgroup && mount --bind here /proc/$$/cgroup && exec "$@"' - "$@"
    }
    inside true 2>/dev/null || skip "no right to make a mount namespace"
    status 0 inside "$TRA" doctor --scratch . --format json
    [[ $(found memory) == "ok 900 MiB for each"*/job/memory.max* ]]
    [[ $(found cores) == *"1 thread on 1 core" ]]
    echo $((700 << 20)) >group/job/step/memory.max
    tra gen -q --shape 9x9 -o a.h5
    printf 'input A from "a.h5"\nB = transform(A, neg)\noutput B\n' >p.tra
    status 0 inside "$TRA" run p.tra --sites 2
    has "(ceiling 350 MiB)"
    echo 0::/ >here # as in a container, which sees its group as the root
    echo $((500 << 20)) >group/memory.max
    status 0 inside "$TRA" run p.tra
    has "(ceiling 500 MiB)"
}

@test "cores: more threads than cores, and ranks that are bound" {
    cores=$(nproc)
    TRA_THREADS=$((cores + 1)) status 0 doctor
    [[ $(found cores) == warning*"1 rank of $((cores + 1)) threads on $cores core"* ]]
    status 0 taskset -c 0 "$TRA" doctor --scratch . --format json
    if [ "$cores" -gt 1 ]; then [[ $(found cores) == "warning each of 1 rank is bound to one core"* ]]; fi
}

@test "scratch: missing, full, in memory" {
    status 1 tra doctor --scratch no/where --format json
    [[ $(found scratch) == "problem no/where: No such file"* ]]
    status 0 tra doctor --scratch new --format json
    [[ $(found scratch) == "ok new is not there yet; a run makes it" ]]
    [ ! -e new ]
    mkdir small
    mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || skip "needs the right to mount"
    status 1 tra doctor --scratch small --format json
    [[ $(found scratch) == "problem small is full" ]]
    umount small
    mount -t tmpfs -o size=100m tmpfs small
    status 0 tra doctor --scratch small --format json
    [[ $(found scratch) == "warning small is in memory"* ]]
}

@test "locks: a directory that cannot be written is no problem of locks" {
    mkdir ro
    unshare -m true 2>/dev/null || skip "no right to make a mount namespace"
    status 0 unshare -m bash -c 'mount -t tmpfs -o ro tmpfs ro && cd ro && exec "$@"' - "$TRA" doctor --scratch .. --format json
    [[ $(found locks) == "warning the current directory cannot be written, so nothing can be locked there: Read-only"* ]]
    has "name outputs in a directory that can be written"
}

@test "clean: what killed processes have left is listed by doctor and removed, what is in use is not" {
    export TRA_SCRATCH=$PWD/scratch
    mkdir scratch
    long_program
    "$TRA" run -q long.tra --threads 1 &
    run=$!
    meet $run compgen -G 'scratch/tra-*/*.log'
    status 0 tra clean # it is in use
    has "nothing is left"
    kill -9 $run
    wait $run || true
    : >.x.h5.tra-999999999.tmp
    : >mine.tmp
    mkdir scratch/tra-exchange-0123456789abcdef
    : >scratch/tra-exchange-0123456789abcdef/lock
    : >scratch/tra-exchange-0123456789abcdef/0-1-0
    status 0 tra doctor --format json
    [[ $(found left) == "warning files of processes that are gone"* ]]
    status 0 tra clean -n
    has ".x.h5.tra-999999999.tmp (unfinished file, 0 B)"
    has ".c.h5.tra-lock (lock"
    has "from which --resume can go on"
    has "exchange-0123456789abcdef (blocks of an exchange"
    [ -e .x.h5.tra-999999999.tmp ]
    status 0 tra clean --format json
    is removed json done
    is "c.tra long.h5 long.tra mine.tmp scratch" eval "touch c.tra; ls -A | tr '
' ' ' | sed 's/ \$//'"
    is "" ls -A scratch
    status 0 tra clean
    has "nothing is left"
    status 0 tra doctor --format json
    [[ $(found left) == "ok nothing by processes that are gone" ]]
    mkdir other
    : >other/.y.tra-999999999.tmp
    status 0 tra clean other
    has "removed other/.y.tra-999999999.tmp"
    status 3 tra clean none
    has none
}

@test "filter: where the plugin is and where it is not" {
    mkdir empty
    echo no >empty/libzstd-not-a-plugin.so
    HDF5_PLUGIN_PATH=$PWD/empty status 0 doctor
    [[ $(found filter) == "warning other HDF5 programs find no zstd filter"* ]]
    HDF5_PLUGIN_PATH=$BUILD status 0 doctor
    [[ $(found filter) == *"$BUILD/libh5zzstd.so" ]]
}

@test "blas: a kernel that is forced below the processor is named" {
    grep -q '^flags.*avx2' /proc/cpuinfo || skip "needs a processor with AVX2"
    OPENBLAS_CORETYPE=Nehalem status 0 doctor
    [[ $(found blas) == "warning BLAS uses its kernel Nehalem (SSE)"* ]]
    has "OPENBLAS_CORETYPE=Nehalem asks for it; unset that"
    # a run that has much to multiply says so, too
    printf 'input A : f64 [9000,9000] by [1000,1000]\nC = agg(join(A, A, [1], [0], matmul), [0,2], matadd)\noutput C\n' >p.tra
    tra gen -q --shape 2000x2000 --block 500x500 -o a.h5
    sed -i 's/input A.*/input A from "a.h5"/' p.tra
    OPENBLAS_CORETYPE=Nehalem status 0 tra run p.tra --threads 1
    has "warning: BLAS uses its kernel Nehalem"
    OPENBLAS_CORETYPE=Nehalem status 0 tra run -q p.tra --threads 1
    [ -z "$output" ]
}

@test "blas: where nothing is set, the kernel fits the processor, also one that OpenBLAS does not know" {
    unset OPENBLAS_CORETYPE
    status 0 doctor
    [[ $(found blas) == "ok kernel "* ]]
    kernel=$("$TRA" version | sed -n 's/.*kernel //p')
    tra gen -q --shape 100x100 --block 50x50 -o a.h5
    printf 'input A from "a.h5"\nC = agg(join(A, A, [1], [0], matmul), [0,2], matadd)\noutput C\n' >p.tra
    for n in 1 2; do
        status 0 tra run -v p.tra --sites $n --threads 1
        has "BLAS kernel $kernel;"
    done
}

@test "rates: of another BLAS kernel" {
    mkdir -p config/tra
    sed 's/^ *//' >config/tra/machine.json <<'END'
{"tra_machine": 1, "host": "h", "cpu": "c", "blas_kernel": "Another", "when": "2026-01-01T00:00:00Z", "ranks": 1,
 "threads": 2, "network_bytes_per_second": 0, "disk_read_bytes_per_second": 1e9, "disk_write_bytes_per_second": 1e9,
 "memory_bytes_per_second": 1e10, "flops_f64_per_second": 1e11, "flops_f32_per_second": 2e11}
END
    XDG_CONFIG_HOME=$PWD/config status 0 doctor
    [[ $(found rates) == warning*"kernel Another"* ]]
}
