# tra explain --request: what to ask a machine or a scheduler for, and jobs that do.
load helper

product() {
    tra gen -q --shape 1200x600 --block 200x200 --dist normal --seed 1 -o a.h5
    tra gen -q --shape 600x900 --block 200x200 --dist normal --seed 2 -o b.h5
    printf 'input A from "a.h5"\ninput B from "b.h5"\nparam f = 1\nC[i,j] = sum[k](A[i,k]*B[k,j]) * f\noutput C to "c.h5"\n' \
        >"${1:-p.tra}"
}

# machine FILE [WITHOUT]: what calibrate writes of a machine of 8 cores, but for one line.
machine() {
    cat >"$1" <<'END'
{"tra_machine": 1, "host": "node", "cpu": "c", "blas_kernel": "k", "when": "w", "ranks": 2, "threads": 8,
"memory_bytes": 17179869184,
"network_bytes_per_second": 1e9,
"network_one_way_bytes_per_second": 1.5e9,
"disk_read_bytes_per_second": 1e9,
"disk_write_bytes_per_second": 5e8,
"memory_bytes_per_second": 8e9,
"flops_f64_per_second": 2e11,
"flops_f32_per_second": 4e11,
"last": 0}
END
    [ -z "${2-}" ] || sed -i "/^\"$2\"/d" "$1"
}

@test "the points of least memory, time and machine-hours, as a table and as JSON" {
    product
    machine m.json
    status 0 tra explain --request p.tra --machine m.json --sites 4
    has "machine-hours  tra run"
    has "node"
    status 0 tra explain --request p.tra --machine m.json --sites 4 --format json
    py 'd = json.loads(sys.argv[1]); v = d["plans"]
best = {p["least"]: p for p in d["points"]}
assert list(best) == ["memory", "time", "hours"], best
near = lambda x, least: x <= 1.01 * least
assert near(best["memory"]["memory_bytes"] * best["memory"]["sites"], min(p["memory_bytes"] * p["sites"] for p in v))
assert near(best["time"]["seconds"], min(p["seconds"] for p in v))
assert near(best["hours"]["machine_hours"], min(p["machine_hours"] for p in v))
assert {p["sites"] for p in v} == {1, 2, 4} and {p["threads"] for p in v} == {1, 4, 8}
assert all(p["sites"] <= p["machines"] * p["sites_per_machine"] and p["sites_per_machine"] * p["threads"] <= 8 for p in v)
assert len({p["memory_bytes"] for p in v if p["sites"] == 1 and p["threads"] == 1}) > 1' "$output"
    # without files of machines and --sites: on this one
    status 0 tra explain --request p.tra --format json
    py 'assert all(p["machines"] == 1 for p in json.loads(sys.argv[1])["plans"])' "$output"
    status 0 tra explain --request p.tra --memory 30M --format json
    py 'assert all(p["memory_bytes"] <= 30 << 20 for p in json.loads(sys.argv[1])["plans"])' "$output"
    local asked cores
    # no ceiling below the most that is allowed is better than that one
    cores=$(nproc)
    status 0 tra explain --request p.tra --memory 40M --format json
    asked=$output
    status 0 tra explain p.tra --memory 40M --threads "$cores" --format json
    py 'least = min(p["seconds"] for p in json.loads(sys.argv[1])["plans"])
assert least <= 1.0001 * json.loads(sys.argv[2])["plans"][0]["seconds"], least' "$asked" "$output"
    status 4 tra explain --request p.tra --memory 3M
    has "no plan fits in --memory 3 MiB: the least that a site needs is "
}

@test "machines of one host are told apart by their files, others are not" {
    product
    mkdir -p far
    machine m.json
    machine far/m.json
    machine other.json
    sed -i 's/"threads": 8/"threads": 2/' far/m.json
    sed -i 's/"host": "node"/"host": "big"/' other.json
    status 0 tra explain --request p.tra --machine m.json --machine far/m.json --machine other.json --format json
    py 'names = {p["machine"]: p["threads"] for p in json.loads(sys.argv[1])["plans"]}
assert set(names) == {"node (m.json)", "node (far/m.json)", "big"} and names["node (far/m.json)"] == 2, names' "$output"
    status 0 tra explain --request p.tra --machine m.json --machine far/m.json --threads 2 --sites 1
    has "node (m.json)"
    [ "$(sed -n 's/ *[0-9].*//; /^machine-hours  *node/p' <<<"$output" | wc -l)" = 1 ]
}

# measured FILE BYTES: no site of the run held more.
measured() {
    py 'm = json.load(open(sys.argv[1]))["plans"][0]["measured"]["sites"]
peak = max(s["peak_memory_bytes"] for s in m)
assert peak <= int(sys.argv[2]), (peak, sys.argv[2])' "$@"
}

@test "runs with what was proposed pass no ceiling: examples, each point" {
    local all="kmeans customers network diag"
    [[ ! ${TRA_TEST_LONG-} ]] || all+=" pagerank pca bixi dblp nearest factors digits cells"
    for x in $all; do
        mkdir $x
        scripts=("$ROOT/share/examples/$x/"*.sh)
        bash "${scripts[0]}" "$PWD/$x" >log 2>&1 || { cat log; false; }
        for p in "$x"/*.tra; do
            [[ $p != */segments.tra ]] || continue # another script makes its inputs
            "$TRA" explain "$p" --request --sites 3 --format json >points.json
            py 'for p in json.load(open("points.json"))["points"]: print(p["sites"], p["threads"], p["memory_bytes"])' >points
            sort -u points >each
            while read -r sites threads memory; do
                status 0 tra run -q --profile run.json --sites "$sites" --threads "$threads" --memory "$memory" "$p" </dev/null
                measured run.json "$memory"
            done <each
        done
        rm -r $x
    done
}

@test "--deadline leaves points that are done by then; when none is, the answer is no" {
    product
    machine m.json
    status 0 tra explain --request --deadline 4h p.tra --machine m.json
    has "done within 4 h 0 min"
    status 1 tra explain --request --deadline 0.0001s p.tra
    has "no plan is done within"
    has "the fastest takes"
    status 1 tra explain --request --deadline 0.0001s --job slurm p.tra
    lacks "SBATCH"
    status 0 tra explain --deadline 4h --job slurm p.tra
    has "#SBATCH --time=0-04:00:00"
    status 0 tra explain --deadline 1.5s --job mpirun p.tra # as it was asked for, and not more
    has "--deadline 1.5s"
    status 0 tra explain --deadline 90s --job cron p.tra
    has " 0.025000 --threads"
    for t in 0 -1 x; do
        status 2 tra explain --request --deadline "$t" p.tra
        has "--deadline $t"
    done
}

# A stand-in for mpirun and for tra, that prints its arguments.
stand_in() {
    mkdir -p bin
    printf '#!/bin/bash\nprintf "<%%s>" "$@" >%q/seen\n' "$PWD" >bin/mpirun
    chmod +x bin/mpirun
    sed '1a [ "$1" != version ] || { echo Open MPI; exit; }' bin/mpirun >bin/tra
    chmod +x bin/tra
}

@test "jobs: what is printed is bash, and runs the program whatever its name" {
    stand_in
    machine m.json
    for name in plain.tra "it's \"a\" \$(touch x) \`touch x\`.tra" '-n.tra' $'new\nline.tra' 'a;touch x #.tra' '100%.tra' 'é ü.tra' \
        $'\xff\x01.tra' '*.tra' 'a\b.tra'; do
        product "./$name"
        given=$name
        [[ $name != -* ]] || given=./$name
        tra explain --job slurm --request=time -D "f=2" -- "$name" >job
        bash -n job
        PATH=$PWD/bin:$PATH bash job
        [[ $(cat seen) == *"<tra><run><--resume><--memory>"*"<-D><f=2><$given>" ]]
        tra explain --job mpirun --codec zstd --machine m.json -- "$name" >job
        bash -n job
        PATH=$PWD/bin:$PATH bash job
        [[ $(cat seen) == "<--bind-to><none><-n><1><tra><run><--resume>"*"<--codec><zstd><$given>" ]]
        if [[ $name == *$'\n'* ]]; then
            status 2 tra explain --job cron -- "$name"
            has "newline"
        else
            tra explain --job cron -- "$name" >job
            bash -n job
            [ "$(wc -l <job)" -eq 1 ]
            # cron: five fields, then what sh gets; \% is %
            sed -E 's/^([^ ]+ ){5}//; s/\\%/%/g' job >command
            TRA=$PWD/bin/tra TRA_SCRATCH=$PWD/scratch sh command
            [[ $(cat seen) == "<run><-q><--resume><$given><--threads>"* ]]
            rm -f "done"
        fi
        rm "./$name"
        [ ! -e x ]
    done
}

@test "jobs ask for what the point takes" {
    product
    machine m.json
    status 0 tra explain --request=time p.tra --machine m.json --sites 4 --threads 8 --job slurm
    has "#SBATCH --nodes=4"
    has "#SBATCH --ntasks-per-node=1"
    has "#SBATCH --ntasks=4"
    has "#SBATCH --cpus-per-task=8"
    has "#SBATCH --signal=B:USR1@120"
    mem=$(sed -n 's/#SBATCH --mem=\(.*\)M/\1/p' <<<"$output")
    ceiling=$(sed -n 's/set -- --memory \([0-9]*\)M.*/\1/p' <<<"$output")
    [ "$mem" -eq $((ceiling + 64)) ]
    status 0 tra explain --request=time p.tra --machine m.json --sites 4 --threads 8 --job mpirun
    has "-n 4 --map-by ppr:1:node tra run"
    status 2 tra explain --request=time p.tra --machine m.json --sites 4 --threads 8 --job cron
    has "one machine"
    status 0 tra explain --request=memory p.tra --job mpirun
    eval "$(tail -n 1 <<<"${output/exec mpirun/PATH=$(dirname "$TRA"):\$PATH mpirun}")"
    [ -e c.h5 ]
    # of several machines: with one, mpirun says what is wrong; where all ranks are on it, they join
    local whole=$(tra digest c.h5)
    rm c.h5
    sed -i 's/"threads": 8/"threads": 1/' m.json
    tra explain --request=time p.tra --machine m.json --sites 3 --job mpirun >job
    grep -q -- "-n 3 --map-by ppr:1:node tra" job
    run env PATH="$(dirname "$TRA"):$PATH" bash job
    [ "$status" -ne 0 ]
    has "requested more processes"
    sed -i 's/--map-by ppr:1:node/--host localhost:3/' job
    status 0 env PATH="$(dirname "$TRA"):$PATH" bash job
    has "3 sites of 1 thread"
    [ "$(tra digest c.h5)" = "$whole" ]
}

@test "a machine's file that lacks a rate, or is none: which, and what to do" {
    product
    for lack in network_bytes_per_second disk_read_bytes_per_second disk_write_bytes_per_second memory_bytes_per_second \
        flops_f64_per_second flops_f32_per_second; do
        machine m.json $lack
        status 3 tra explain --request --machine m.json p.tra
        has "m.json lacks \"$lack\""
        has "tra calibrate -o"
    done
    machine m.json memory_bytes # files of earlier versions
    status 0 tra explain --request --machine m.json p.tra
    machine m.json
    sed -i 's/"threads": 8/"threads": 0/' m.json
    status 3 tra explain --request --machine m.json p.tra
    has '"threads"'
    echo '{}' >m.json
    status 3 tra explain --request --machine m.json p.tra
    has 'm.json is no file of tra calibrate'
    lacks "calibrate -o m.json"
    status 3 tra explain --request --machine none.json p.tra
    has "none.json"
}

@test "of plans, standard input and pictures there is no request" {
    product
    tra compile -q p.tra -o p.plan
    status 2 tra explain --request p.plan
    has "for its program"
    status 0 tra explain --request - <p.tra
    status 2 tra explain --job slurm - <p.tra
    has "needs the program in a file"
    status 2 tra explain --request --format dot p.tra
    status 2 tra explain --request=best p.tra
    has "memory, time or hours"
    status 2 tra explain --request --plan 2 p.tra
}

@test "loops, tables and files of other formats" {
    printf 'a,b\n1,2\n1,3\n2,5\n' >t.csv
    printf 'input t from "t.csv"\ng = group(t, [a], s = sum(b))\noutput g\n' >t.tra
    status 0 tra explain --request t.tra --format json
    py 'assert len(json.loads(sys.argv[1])["points"]) == 3' "$output"
    tra gen -q --shape 100x100 --block 50x50 -o a.h5
    printf 'input A from "a.h5"\nstate w = gen(zero, [100])\nrepeat 30 {\np[i] = sum[j](A[i,j] * w[j])\nnext w[i] = p[i] + 1\n}\noutput w\n' >l.tra
    status 0 tra explain --request l.tra
    status 3 tra explain --request none.tra
}

@test "jobs begin with the launcher of the program's MPI library, and run by it" {
    product
    machine m.json
    for mpi in mpich no; do
        export TRA=$BUILD/mpi-$mpi/tra
        [ -x "$TRA" ] || skip "no such program; make MPI=$mpi $TRA"
        tra explain --request=memory p.tra --sites 1 --job mpirun >job
        PATH=$(dirname "$TRA"):$PATH bash job
        [ -e c.h5 ]
        rm c.h5
    done
    is 1 grep -c '^exec tra run --resume' job
    for kind in mpirun slurm cron; do
        status 2 tra explain --request=time p.tra --machine m.json --sites 4 --threads 8 --job $kind
        has "built without MPI"
    done
    export TRA=$BUILD/mpi-mpich/tra
    status 0 tra explain --request=time p.tra --machine m.json --sites 4 --threads 8 --job mpirun
    has "exec mpiexec -n 4 -ppn 1 tra run --resume"
    status 0 tra explain --request=time p.tra --machine m.json --sites 4 --threads 8
    has "mpiexec -n 4 -ppn 1 tra run"
}

@test "random programs, which make strings, read CSV and write other formats, run with exactly what each point says" {
    TRA_REQUEST_ROWS=15000 /usr/bin/python3 "$ROOT/tests/property/request.py" 6 7 1 >log 2>&1 || { cat log; false; }
}

@test "a run holds no more than was asked where long strings are made of others while its program is read" {
    py 'r = np.random.default_rng(3)
open("t.csv", "w").write("g,name\n" + "".join(f"{g},nnnnn{k}\n" for g, k in zip(r.integers(0, 50, 40000), r.integers(0, 30000, 40000))))'
    cat >p.tra <<'END'
input t from "t.csv"
s = group(t, [g], a = string_agg(name, ","), n = count())
w = window(s, [a], [n], c = sum(n))
o = project(w, *, m = concat(string(a), "-", string(c)))
output o
END
    tra explain --request --sites 1 --threads 1 --format json p.tra >r.json
    asked=$("$PYTHON" -c 'import json; print(min(p["memory_bytes"] for p in json.load(open("r.json"))["points"]))')
    tra run -q --threads 1 --memory "$asked" --profile m.json p.tra
    held=$("$PYTHON" -c 'import json; print(json.load(open("m.json"))["plans"][0]["measured"]["peak_memory_bytes"])')
    [ "$held" -le "$asked" ] || { echo "$held of $asked"; false; }
}
