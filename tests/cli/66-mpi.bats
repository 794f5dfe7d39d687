# Programs that were built with another MPI library, or with none: make MPI=mpich, make MPI=no.
load helper

# The program with this MPI is the one under test. make check builds each; builds with sanitizers have one.
with() {
    ours=$TRA
    export TRA=$BUILD/mpi-$1/tra TRA_TEST_MPI=$1
    [ -x "$TRA" ] || skip "no such program; make MPI=$1 $TRA"
}

# product.tra, whose c.h5 is a product of a.h5 with itself; $want is its digest.
product() {
    "$ours" gen -q --shape 120x120 --block 30x30 --dist normal -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'C[i,j] = sum A[i,k] * A[k,j]' 'output C to "c.h5"' >product.tra
    "$ours" run -q product.tra
    want=$(digest_of c.h5)
    rm c.h5
}

# One message, of the process that is the first, and no output.
refused() {
    [ "$(grep -c 'did not join' <<<"$output")" -eq 1 ] || { echo "$output"; return 1; }
    [ ! -e c.h5 ]
}

@test "without MPI: one site; version and doctor say so, and what needs more is refused with what to do" {
    with no
    product
    status 0 tra version
    has "no MPI"
    [[ $(tra doctor --scratch .) == *"one process: this tra was built without MPI"* ]]
    status 0 tra run -q product.tra
    is "$want" digest_of c.h5
    rm c.h5
    for command in 'run -q product.tra' 'eval sum(A[i,j]) A=a.h5' 'calibrate --output m.json'; do
        # shellcheck disable=SC2086
        status 2 tra $command --sites 2
        has "--sites 2: this tra was built without MPI"
        has "leave --sites out"
    done
    [ ! -e c.h5 ]
    status 0 tra cost --sites 3 product.tra
    export TRA_TEST_MPI=openmpi
    status 5 mpirun -q -n 3 "$TRA" run -q product.tra
    has "built with MPI=no"
    refused
    status 0 mpirun -q -n 1 "$TRA" run -q product.tra
    is "$want" digest_of c.h5
}

@test "without MPI: libraries come from their archives, and pkg-config need not be there" {
    with no
    local libraries
    libraries=$(ldd "$TRA" | awk '!/ld-linux|linux-vdso|lib(c|m|sleef)\.so/')
    [ -z "$libraries" ] || { echo "$libraries"; false; }
    mkdir bin
    printf '#!/bin/sh\nexit 1\n' >bin/pkg-config
    chmod +x bin/pkg-config
    PATH=$PWD/bin:$PATH status 0 make -s -C "$ROOT" B="$PWD/b" MPI=no \
        "$PWD/b/lib/h5/h5.o" "$PWD/b/cmd/version.o" "$PWD/b/mpi-no/lib/run/comm.o"
    PATH=$PWD/bin:$PATH status 0 make -n V=1 -C "$ROOT" B="$PWD/b" MPI=no "$PWD/b/mpi-no/tra"
    for library in hdf5 zstd xxhash openblas z pcre2-8; do has "-l:lib$library.a"; done
}

@test "a program that is gone when its ranks are to begin is named, with the host and what to do" {
    tra gen -q --shape 4x4 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'output A to "c.h5"' >p.tra
    cp "$TRA" gone
    printf '%s\n' '#!/bin/sh' 'rm -f gone' "exec $(command -v "$([[ ${MPI-} == mpich ]] && echo mpiexec.mpich || echo mpirun)") \"\$@\"" >launcher
    chmod +x launcher
    TRA_MPIRUN=$PWD/launcher status 5 ./gone run -q p.tra --sites 2
    has "$PWD/gone on $(hostname)"
    has 'install tra there again'
    [ "${#lines[@]}" -eq 1 ]
    [ ! -e c.h5 ]
}

@test "where a program with one MPI library was built, make MPI= another makes it anew" {
    mkdir b
    echo openmpi >b/mpi
    touch b/tra b/libh5zzstd.so
    for mpi in mpich no; do
        status 0 make -n -C "$ROOT" B="$PWD/b" MPI=$mpi
        has "ln -f $PWD/b/mpi-$mpi/tra $PWD/b/tra"
    done
}

@test "MPICH: the same results on any number of ranks, started by tra run --sites or by mpiexec" {
    with mpich
    product
    status 0 tra version
    has MPICH
    for n in 1 2 3 5; do
        status 0 tra run -q product.tra --sites $n
        is "$want" digest_of c.h5
        rm c.h5
        for transport in mpi files; do
            status 0 mpirun -n $n "$TRA" run -q product.tra --transport $transport
            is "" echo "$output"
            is "$want" digest_of c.h5
            rm c.h5
        done
    done
    is "$("$ours" eval 'sum(A[i,j])' A=a.h5 --sites 2)" tra eval 'sum(A[i,j])' A=a.h5 --sites 2
    [[ $(mpirun -n 3 "$TRA" doctor --scratch .) == *"3 ranks joined, 3 on this machine"* ]]
    status 2 mpirun -n 2 "$TRA" run --sites 3 product.tra
}

@test "MPICH: a rank that is killed, a stop, and the way on with fewer ranks" {
    with mpich
    "$TRA" gen -q --shape 1000x1000 --block 100x100 --dist normal -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'C = transform(A, exp)' 'output C to "c.h5"' >long.tra
    "$TRA" run -q long.tra
    want=$(digest_of c.h5)
    rm c.h5
    for how in 'KILL 5 lost' 'TERM 75 stopped'; do
        read -r signal code word <<<"$how"
        slow 200 "$TRA" run long.tra --sites 3 --threads 1 --resume --checkpoint 0.1 >out 2>log &
        run=$!
        meet $run recorded $((64 * 9 + $(recorded)))
        target=$run
        [ "$signal" != KILL ] || target=$(ranks_of $run | tail -1)
        kill -"$signal" "$target"
        got=0
        wait $run || got=$?
        [ "$got" -eq "$code" ] || { echo "status $got after $signal"; cat log; false; }
        [ "$(grep -c "$word" log)" -eq 1 ] || { cat log; false; }
        [ ! -s out ] || { cat out; false; } # Hydra has a lot to say there
        [ ! -e c.h5 ]
    done
    status 0 tra run -v long.tra --sites 2 --threads 1 --resume
    has "going on from"
    is "$want" digest_of c.h5
}

@test "ranks of one MPI library under the launcher of another: each is alone, one says so, nothing is written" {
    with mpich
    product
    mpich=$TRA
    export OMPI_MCA_rmaps_base_oversubscribe=1
    for n in 2 3; do
        status 5 mpiexec.mpich -n $n "$ours" run -q product.tra
        has "$n ranks, which did not join"
        has "Open MPI's mpirun"
        refused
        status 5 command mpirun -q -n $n "$mpich" run -q product.tra
        has "MPICH's mpiexec"
        refused
    done
    run mpiexec.mpich -n 3 "$ours" doctor --scratch .
    [ "$(grep -c 'problem  ranks' <<<"$output")" -eq 1 ] || { echo "$output"; false; }
}

@test "tra run --sites takes the launcher of its own MPI library, whatever mpirun is, or the one that is named" {
    with mpich
    product
    mkdir bin
    ln -s "$(command -v mpiexec.hydra)" bin/mpirun
    PATH=$PWD/bin:$PATH status 0 "$ours" run -q product.tra --sites 2
    is "$want" digest_of c.h5
    rm c.h5 bin/mpirun
    ln -s "$(realpath "$(command -v mpirun)")" bin/mpiexec
    PATH=$PWD/bin:$PATH status 0 "$TRA" run -q product.tra --sites 2
    printf '#!/bin/sh\necho "$@" >said\nexit 3\n' >bin/mine
    chmod +x bin/mine
    TRA_MPIRUN=$PWD/bin/mine status 3 "$TRA" run -q product.tra --sites 2
    grep -q -- '-n 2 ' said
    PATH=$PWD status 5 "$ours" run -q product.tra --sites 2
    has "mpirun is not in PATH; install openmpi-bin, or say in TRA_MPIRUN where it is"
}
