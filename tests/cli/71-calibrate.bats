# tra calibrate: what it measures, where it keeps it, and that predictions follow it.
load helper

@test "--sites that are not those of an mpirun, or none, and other numbers that cannot be" {
    status 2 mpirun -q -n 3 "$TRA" calibrate --sites 2 --output m.json
    has "under an mpirun of 3 ranks"
    status 2 tra calibrate --sites 0
    has "--sites 0: from 1 to"
    for s in 0 -1 61 nan; do
        status 2 tra calibrate --seconds "$s"
        has seconds
    done
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export XDG_CONFIG_HOME=$PWD/config
}

# Where it does not matter which disk is measured: memory, where there is some.
quick=$([ -w /dev/shm ] && echo /dev/shm || echo .)

# rates NETWORK READ WRITE MEMORY F64 F32 THREADS [TOUCH]: a file of rates.
rates() {
    mkdir -p config/tra
    printf '{"tra_machine": 1, "host": "h", "cpu": "c", "blas_kernel": "k", "when": "w", "ranks": 1, "threads": %s,
"network_bytes_per_second": %s, "disk_read_bytes_per_second": %s, "disk_write_bytes_per_second": %s,
"memory_bytes_per_second": %s, "flops_f64_per_second": %s, "flops_f32_per_second": %s%s}\n' \
        "$7" "$1" "$2" "$3" "$4" "$5" "$6" "${8:+, \"first_touch_bytes_per_second\": $8}" >config/tra/machine.json
}

seconds() { "$TRA" explain p.tra --format json "$@" | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)["plans"][0]["seconds"])'; }

@test "measures, prints and keeps the rates; --show prints them again" {
    status 0 tra calibrate --threads 1 --seconds 0.1
    lacks "in and out"
    has "not measured"
    has "written to $PWD/config/tra/machine.json"
    [ "$(ls config/tra)" = machine.json ]
    first=$(grep -v written <<<"$output")
    status 0 tra calibrate --show
    [ "$(sed 's/ (.*machine.json)//' <<<"$output")" = "$first" ]
    has "($PWD/config/tra/machine.json)"
    status 0 tra calibrate --show --format json
    py 'd = json.loads(sys.argv[1])
assert d == json.load(open("config/tra/machine.json")) and d["threads"] == 1 and d["network_bytes_per_second"] == 0
for k, v in d.items():
    if "per_second" in k and "network" not in k: assert 1e5 < v < 1e15, (k, v)
assert d["flops_f32_per_second"] > d["flops_f64_per_second"]' "$output"
}

@test "under mpirun all ranks measure at once, the network too, and rank 0 writes" {
    status 0 mpirun -q -n 3 --bind-to none "$TRA" calibrate --threads 1 --seconds 0.05 --directory "$quick" --output m.json
    [ "$(grep -c 'in and out' <<<"$output")" -eq 1 ]
    [ "$(grep -c 'written to m.json' <<<"$output")" -eq 1 ]
    py 'd = json.load(open("m.json")); assert d["ranks"] == 3 and d["threads"] == 3 and d["network_bytes_per_second"] > 1e6'
    [ ! -e config ]
}

@test "nothing measured, a place that cannot be written, a file that is something else" {
    status 3 tra calibrate --show
    has "$PWD/config/tra/machine.json"
    # what cannot be done is said before anything is measured
    status 3 tra calibrate -v --output nowhere/m.json
    has "nowhere/m.json"
    lacks products
    status 4 tra calibrate -v --directory nowhere
    has "cannot make a file in nowhere"
    lacks products
    status 2 tra calibrate --threads 0
    TRA_THREADS=-3 status 2 tra calibrate
    has "TRA_THREADS: '-3' is not a number of threads"
    mkdir -p config/tra
    printf 'input A : f64 [9,9] by [3,3]\nB = transform(A, neg)\noutput B\n' >p.tra
    for text in '' '{}' '{"tra_machine": 2}' 'rates'; do
        echo "$text" >config/tra/machine.json
        status 0 tra explain --operators p.tra
        has "machine.json is not what tra calibrate writes"
    done
    for r in '1 1 1 0 1 1 1' '-1 1 1 1 1 1 1' '"fast" 1 1 1 1 1 1'; do # a rate of nothing, and what is none
        # shellcheck disable=SC2086
        rates $r
        status 0 tra explain --operators p.tra
        has "machine.json is not what tra calibrate writes"
    done
}

@test "predicted seconds follow the rates, by sites and threads" {
    printf '%s\n' 'input A : f64 [8000,8000] by [1000,1000]' 'C = agg(join(A, A, [1], [0], matmul), [0,2], matadd)' \
        'output C' >p.tra
    close() { py 'a, b = map(float, sys.argv[1:3]); assert abs(a / b - 1) < .01, (a, b)' "$1" "$2"; }
    # 1.024e12 operations and nothing else that counts
    rates 1e15 1e15 1e15 1e15 1e11 2e11 2
    close "$(seconds --threads 2)" 10.24
    close "$(seconds --threads 1)" 20.48
    # 2 sites of 1 thread each
    close "$(seconds --threads 1 --sites 2)" 10.24
    # the disk, which the sites share: 512 MB in and out
    rates 1e15 1e9 1e15 1e15 1e20 1e20 2
    close "$(seconds)" 0.512
    close "$(seconds --sites 2)" 0.512
    rates 1e15 1e15 1e9 1e15 1e20 1e20 2
    close "$(seconds)" 0.512
    # what run plans with is what explain plans with, and a compiled plan keeps its rates
    status 0 tra compile -q p.tra -o p.plan
    rates 1e15 1e15 1e8 1e15 1e20 1e20 2
    close "$(seconds)" 5.12
    mv p.tra q.tra
    mv p.plan p.tra
    close "$(seconds)" 0.512
    # memory that is used for the first time
    mv q.tra p.tra
    rates 1e15 1e15 1e15 1e15 1e20 1e20 2 1e9
    new() { # GB/S OPTION...: of each site
        "$TRA" explain p.tra --format json "${@:2}" >p.json
        py 'p = json.load(open("p.json"))["plans"][0]; new = p["peak_memory_bytes"] - p["base_memory_bytes"]
def cost(new): return (min(new, 2**31) / 5 + max(0, new - 2**31)) / 1e9 # others freed 2 GiB a moment ago
took = p["seconds"] * float(sys.argv[1])
assert .99 * cost(new / 2) < took < 1.01 * cost(new) + .002, (took, new) # 2 ms: what does not touch memory' "$1"
    }
    new 1 --threads 2
    new 1 --threads 2 --memory 200M
    new .5 --threads 1
    new .5 --sites 2
}

@test "predicted seconds of kernels follow the rates of their loops, by sites and threads" {
    printf '%s\n' 'input A : f64 [10000,1000] by [100,1000] as csr nnz 100000' 'C[j] as dense = sum A[i,j] * A[i,k]' \
        'output C' >p.tra
    kernel() { # OPTION...: seconds
        "$TRA" explain --kernels p.tra --format json "$@" | "$PYTHON" -c 'import json, sys
print([k for k in json.load(sys.stdin)["kernels"] if "name" in k][0]["plans"][0]["seconds"])'
    }
    loops() { # ENTRIES GATHERS INSERTS MERGES HASHES OPERATIONS, of one thread: beside other rates
        rates 1e15 1e15 1e15 "${7:-1e15}" 1e11 2e11 1
        sed -i "s/}/, \"kernel_entries_per_second\": $1, \"kernel_gathers_per_second\": $2, \
\"kernel_inserts_per_second\": $3, \"kernel_merge_steps_per_second\": $4, \
\"kernel_hash_inserts_per_second\": $5, \"kernel_operations_per_second\": $6}/" config/tra/machine.json
    }
    plan() { # OPTION...: seconds of the whole plan, whose statement is fused
        "$TRA" explain p.tra --format json "$@" | "$PYTHON" -c 'import json, sys
p = json.load(sys.stdin)["plans"][0]
assert "fused" in p["strategy"], p["strategy"]
print(p["seconds"])'
    }
    ratio() { py 'a, b, want = map(float, sys.argv[1:]); assert abs(a / b / want - 1) < .01, (a, b)' "$@"; }
    loops 1e9 1e9 1e9 1e9 1e9 1e9
    one=$(kernel --threads 1)
    ratio "$one" "$(kernel --threads 1 --sites 2)" 2
    loops 1e8 1e8 1e8 1e8 1e8 1e8
    ratio "$(kernel --threads 1)" "$one" 10
    loops 1e9 1e9 1e9 1e9 1e9 1e8
    is "$one" kernel --threads 1 # it has no loop that becomes vectors
    loops 1e9 1e8 1e9 1e9 1e9 1e9
    py 'assert 1.05 < float(sys.argv[1]) / float(sys.argv[2]) < 10, sys.argv' "$(kernel --threads 1)" "$one"
    # so do those of plans with fused statements, beside what blocks take
    local fused=()
    for rate in 1e9 1e8 1e7; do
        loops $rate $rate $rate $rate $rate $rate 1e6
        fused+=("$(plan --threads 1)")
    done
    py 'a, b, c = map(float, sys.argv[1:]); assert abs((c - b) / (b - a) / 10 - 1) < .01, (a, b, c)' "${fused[@]}"
    # none measured: as built in
    rates 1e15 1e15 1e15 1e15 1e11 2e11 1
    first=$(kernel --threads 1)
    rm -r config
    is "$first" kernel --threads 1
}

@test "the choice follows the rates" {
    printf '%s\n' 'input A : f64 [500,300] by [100,100]' 'input B : f64 [300,700] by [100,100]' \
        'C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)' 'output C' >p.tra
    chosen() { "$TRA" cost p.tra --sites 4 | sed -n 2p | cut -f2; }
    rates 1e3 1e15 1e15 1e15 1e20 1e20 4
    is "rmm(2,1,2)" chosen # no site sends or receives more than needed
    rates 1e15 1e15 1e15 1e15 1e3 1e3 4
    is bmm-left chosen # the work is shared most evenly
}

@test "--sites starts the ranks; one that waits for another leaves it the processor" {
    "$TRA" calibrate --sites 2 --threads 1 --seconds 0.05 --directory "$quick" --output m.json -v >log 2>&1 &
    meet $! grep -q 'disk at' log # messages were measured before: there ranks wait as MPI does
    ranks=($(for p in $(pgrep -f "^$TRA calibrate --sites 2"); do
        [[ $(tr '\0' '\n' <"/proc/$p/environ") =~ (OMPI_COMM_WORLD|PMI)_RANK= && $(readlink "/proc/$p/cwd") == "$PWD" ]] && echo "$p"
    done))
    [ "${#ranks[@]}" = 2 ]
    ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
    kill -STOP "${ranks[1]}"
    for _ in $(seq 20); do # the other one ends what it is at
        from=$(ticks "${ranks[0]}")
        sleep 1
        used=$(($(ticks "${ranks[0]}") - from))
        [ "$used" -ge $(($(getconf CLK_TCK) / 4)) ] || break
    done
    kill -CONT "${ranks[1]}"
    wait $!
    [ "$used" -lt $(($(getconf CLK_TCK) / 4)) ] || { echo "$used ticks"; return 1; }
    is 2 "$PYTHON" -c 'import json; print(json.load(open("m.json"))["ranks"])'
}
