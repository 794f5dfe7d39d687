# What a run shows of itself: --profile, explain --analyze, --progress, -v.
load helper

@test "--format json: what --profile writes, on standard output and nothing else there" {
    tra gen -q --shape 40x40 --block 10x10 -o a.h5
    printf 'input A from "a.h5"\nC = agg(join(A, A, [1], [0], matmul), [0,2], matadd)\noutput C\n' >p.tra
    for n in 1 2; do
        tra run --format json --sites $n --threads 1 p.tra >out.json
        py 'p = json.load(open("out.json"))["plans"][0]; assert p["measured"]["seconds"] > 0'
    done
    status 2 tra run --format json --engine reference p.tra
    has "--engine reference has none"
}

# Products whose plans are all kinds of joins, exchanges and repartitions.
program() {
    tra gen -q --shape 130x110 --block 30x20 --dist normal --seed 1 -o a.h5
    tra gen -q --shape 110x70 --block 20x30 --dist normal --seed 2 -o b.h5
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)
D = reblock(C, [130, 7])
S = transform(agg(D, [], matadd), rowsum)
output D to "d.h5"
output S to "s.h5"
END
}

@test "--profile: measured stands beside predicted, and network and written bytes are equal" {
    program
    for n in 1 2 3 5; do
        status 0 tra run -q p.tra --sites $n --memory 200M --threads 1 --profile m.json
        py 'd = json.load(open("m.json")); n = int(sys.argv[1])
assert d["sites"] == n and len(d["run"]["hosts"]) == n and d["run"]["blas_kernel"]
assert 0 < d["run"]["seconds"] <= d["run"]["process_seconds"] < 60
(p,) = d["plans"]; moved = 0
assert p["rank"] == d["chosen"]
for o in p["operators"] + [p]:
    m = o["measured"]
    assert m["network_bytes"] == m["received_bytes"] == o["network_bytes"], o
    assert m["disk_write_bytes"] == o["disk_write_bytes"], o
    assert m["disk_read_bytes"] == o["disk_read_bytes"], o
    assert [s["site"] for s in m["sites"]] == list(range(n))
    for k in "network_bytes", "received_bytes", "disk_read_bytes", "disk_write_bytes", "spilled_bytes":
        assert sum(s[k] for s in m["sites"]) == m[k], (k, m)
    for k in "seconds", "peak_memory_bytes":
        assert max(s[k] for s in m["sites"]) == m[k] > 0, (k, m)
    moved += m["network_bytes"]
assert (moved > 0) == (n > 1) and p["measured"]["disk_write_bytes"] >= (130 * 70 + 130) * 8
assert p["measured"]["peak_memory_bytes"] <= 200 << 20 or "SAN" in __import__("os").environ' $n
    done
}

@test "--profile: of the plan that was run, which need not be the first" {
    program
    plans=$("$TRA" cost p.tra --sites 3 | tail -n +2 | wc -l)
    [ "$plans" -ge 2 ]
    status 0 tra run -q p.tra --sites 3 --plan 2 --profile m.json
    py 'd = json.load(open("m.json")); assert d["chosen"] == 2 and [p["rank"] for p in d["plans"]] == [2]'
    status 0 tra explain --operators p.tra --analyze m.json
    has "Plan 2 of $plans for 3 sites"
}

@test "--profile: spilled bytes are counted, and - is standard output" {
    tra gen -q --shape 1000x1000 --block 100x100 --dist normal -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'T = agg(join(A, A, [1], [0], matmul), [0,2], matadd)' \
        'V = agg(join(T, T, [1], [0], matmul), [0,2], matadd)' 'output V to "v.h5"' >q.tra
    status 4 tra run -v q.tra --memory 1M --threads 1
    least=$(exactly)
    status 0 tra run -q q.tra --memory "$least" --threads 1 --profile -
    py 'd = json.loads(sys.argv[1]); m = d["plans"][0]["measured"]
assert m["spilled_bytes"] > 0 and m["unspilled_bytes"] > 0, m
assert 0 < m["kernel_seconds"] <= m["seconds"], m' "$output"
}

@test "--profile: what cannot be written is refused before the run begins" {
    program
    status 4 tra run p.tra --profile nowhere/m.json
    has "--profile nowhere/m.json"
    [ ! -e d.h5 ]
    status 4 tra run p.tra --sites 2 --profile nowhere/m.json
    [ "$(grep -c 'nowhere/m.json' <<<"$output")" -eq 1 ]
    status 2 tra run p.tra --engine reference --profile m.json
    status 4 tra run -q p.tra --profile /dev/full
}

@test "explain --analyze: measured beside predicted, with the options of the run" {
    program
    status 0 tra run -q p.tra --sites 2 --memory 300M --cost tra --threads 1 --profile m.json
    status 0 tra explain --operators p.tra --analyze m.json
    has "for 2 sites of 1 thread, 300 MiB of memory each, by cost tra"
    has "BLAS kernel $("$TRA" version | sed -n 's/.*kernel //p')"
    for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
    # the last line: all moved bytes twice, alike
    read -r -a all <<<"${lines[-1]}"
    [ "${all[0]}" = all ]
    [ "${all[1]} ${all[2]}" = "${all[3]} ${all[4]}" ]
    [ "${all[1]}" != 0 ]
    # JSON: what run wrote
    "$TRA" explain p.tra --analyze m.json --format json >again.json
    cmp m.json again.json
}

@test "explain --analyze: other plans, other programs and other files are told apart" {
    program
    status 0 tra run -q p.tra --sites 2 --profile m.json
    status 3 tra explain p.tra --sites 3 --analyze m.json
    has "m.json"
    sed -i 's/130, 7/130, 8/' p.tra
    status 3 tra explain p.tra --analyze m.json
    status 3 tra explain p.tra --analyze p.tra
    has "not what tra run --profile writes"
    status 3 tra explain p.tra --analyze nothing.json
    echo '{"sites": 2, "threads": 1}' >short.json
    status 3 tra explain p.tra --analyze short.json
    for cut in 300 1000 3000 6000; do
        head -c $cut m.json >cut.json
        status 3 tra explain p.tra --analyze cut.json
    done
}

@test "-v tells the operators, -vv their beginning and loops, -vvv blocks, -vvvv messages" {
    program
    status 0 tra run p.tra --sites 2
    lacks " 0 B read"
    status 0 tra run p.tra --sites 2 -v
    has "BLAS kernel"
    has "join-agg C: 0."
    lacks "begins"
    status 0 tra run p.tra --sites 2 -vv
    has "join-agg C begins"
    has "results in super-blocks of"
    lacks "super-block at"
    status 0 tra run p.tra --sites 2 -vvv
    has "super-block at 0,0"
    has "batch of"
    lacks "sent to site 1"
    status 0 tra run p.tra --sites 2 -vvvv
    has "sent to site 1"
    has "received from site 1"
    # rank 0 alone speaks
    lacks "sent to site 0"
}

@test "--progress: lines where there is no terminal, a bar where there is one, none with never" {
    program
    status 0 tra run p.tra
    lacks "%"
    status 0 tra run p.tra --progress always
    has "tra: 0 %, operator 1 of"
    status 0 tra run p.tra --progress always --sites 2
    has "tra: 0 %, operator 1 of"
    terminal() { script -qec "$*" /dev/null </dev/null; }
    terminal true || skip "no pseudo-terminals"
    for n in 1 2; do
        status 0 terminal "$TRA" run p.tra --sites $n
        has $'\r\e[K[....'
        has $'\r\e[Ktra: D written'
        status 0 terminal "$TRA" run p.tra --sites $n --progress never
        lacks $'\e[K'
    done
}

@test "--profile: memory of each operator is within what was predicted for it, and that of the last is the plan's" {
    tra gen -q --shape 2000x1500 --block 250x250 --dist normal --seed 1 -o a.h5
    tra gen -q --shape 1500x2000 --block 250x250 --dist normal --seed 2 -o b.h5
    cat >q.tra <<'END'
input A from "a.h5"
input B from "b.h5"
C[i,j] = sum A[i,k] * B[k,j]
S = softmax(C)
R = reblock(A, [70, 1500])
M = agg(A, [], minindex)
output S to "s.h5"
output R to "r.h5"
output M to "m.h5"
END
    local args
    for args in "--sites 1 --memory 80M" "--sites 1" "--sites 2 --memory 90M" "--sites 2 --transport files"; do
        # shellcheck disable=SC2086
        status 0 tra run -q q.tra --threads 1 $args --profile m.json
        py '(p,) = json.load(open("m.json"))["plans"]
last = [0, 0]
for o in p["operators"] + [p]:
    now = [o["peak_memory_bytes"], o["measured"]["peak_memory_bytes"]]
    assert now[1] <= now[0] or "SAN" in __import__("os").environ, (o["id"], now)
    assert now[0] >= last[0] and now[1] >= last[1], (o, last)
    assert o is p or o["least_memory_bytes"] <= p["least_memory_bytes"]
    assert o["measured"]["disk_read_bytes"] == o["disk_read_bytes"] or not o["disk_read_bytes_kind"] == "exact", o
    assert o["measured"]["disk_read_bytes"] <= o["disk_read_bytes"], o
    last = now
assert p["operators"][-1]["peak_memory_bytes"] == p["peak_memory_bytes"]
assert max(o["least_memory_bytes"] for o in p["operators"]) == p["least_memory_bytes"]
assert (p["disk_read_bytes_kind"] == "exact") == (p["measured"]["disk_read_bytes"] == p["disk_read_bytes"])'
    done
    status 0 tra explain --operators q.tra --memory 80M --threads 1
    has "; disk up to "
    status 0 tra explain --operators q.tra --memory 1G --threads 1
    lacks "up to"
}
