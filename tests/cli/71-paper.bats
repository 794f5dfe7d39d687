# The values of the TRA paper (algebra.md section 6), by the cost model `tra`, of the programs in share/examples/paper.
load helper

# costs PROGRAM SITES [-D NAME=VALUE ...] -- STATEMENTS: python, where floats["STRATEGY"] are those of that alternative,
# plan is the first, and best its cost.
costs() {
    local program=$1 sites=$2 given=()
    shift 2
    while [ "$1" != -- ]; do given+=("$1") && shift; done
    status 0 tra explain --cost tra --sites "$sites" --format json --alternatives "${given[@]}" \
        "$ROOT/share/examples/paper/$program.tra"
    printf '%s' "$output" >explained.json
    py 'import re
e = json.load(open("explained.json"))
sites, plans = e["sites"], e["plans"]
floats = {p["strategy"]: p["network_floats"] for p in plans}
plan, best = plans[0], plans[0]["cost"]
assert best == min(floats.values()) == plan["network_floats"]
for p in plans: assert p["network_floats"] == sum(o["network_floats"] for o in p["operators"])
# All sites of the first plan work: what its joins read is spread over all of them, or both are there already.
for o in plan["operators"]:
    if not o["op"].startswith("join"): continue
    spread = 1
    for i in o["inputs"]:
        x = plan["operators"][i]
        m = re.fullmatch(r"part\(([\d,]+)\)", x["placement"])
        grid = re.findall(r"((?:\d+,)*\d+|\*):(\d+)", x["placement"])
        axes = [(m[1], sites)] if m else [(d, int(g)) for d, g in grid]
        held = np.prod([g for d, g in axes if d[0] != "*"], initial=1)
        for d, g in axes:
            if d[0] == "*": continue
            assert np.prod([x["frontier"][int(k)] for k in d.split(",")]) >= g, (o["label"], x["placement"])
        spread = max(spread, held * np.prod([g for d, g in axes if d[0] == "*"], initial=1))
    assert spread == sites, (o["label"], spread)
'"$2" "${@:3}"
}

@test "matmul of the paper: BMM, CMM, RMM and the best grids" {
    costs matmul 10 -- 'assert floats["bmm-left"] == floats["bmm-right"] == floats["cmm"] == 1.6e10
i = k = j = 4e4
for x, y in (2, 5), (5, 2): assert floats[f"rmm({x},1,{y})"] == i * k * y + k * j * x   # xDups, yDups of the paper
assert best == 1.12e10'
    costs matmul 10 -D I=10000 -D K=640000 -D J=10000 -- 'assert floats["bmm-left"] == 6.4e10
assert floats["cmm"] == best == 1.0e9 and plan["strategy"] == "cmm"'
    costs matmul 10 -D I=80000 -D K=10000 -D J=80000 -- 'assert floats["bmm-left"] == 8.0e9
assert floats["cmm"] == 6.4e10 and best == 5.6e9'
}

# The paper counts the largest exchange alone; the query, the distances and the index are the rest.
@test "nearest neighbour of the paper: the metric broadcast, and partitioned" {
    for shape in "1500000 6000" "6000 100000"; do
        read -r n d <<<"$shape"
        costs nearest 8 -D N="$n" -D D="$d" -- 'n, d, s = int(sys.argv[1]), int(sys.argv[2]), 8
broadcast, partitioned = floats["bmm-left bmm-right local"], floats["local cmm cmm"]
assert broadcast == s * d * d + s * d + s * 2       # and the query, and an index of each site
assert partitioned == s * n * d + s * n + s * 2     # and the summands of the distances
assert best <= min(broadcast, partitioned)
if n > d: assert f"{broadcast:.1e} {partitioned:.1e}" == "2.9e+08 7.2e+10" and best == broadcast
else: assert f"{broadcast:.1e} {partitioned:.1e}" == "8.0e+10 4.8e+09" and best <= 3600048016' "$n" "$d"
    done
}

@test "the network of the paper: data parallel and model parallel" {
    for batch in 1000 300000 1000000; do
        costs network 5 -D N=$batch -- 'n, d, h, l = int(sys.argv[1]), 597540, 100000, 14588
data, model = 10 * (d * h + h * l), 20 * n * h
rows = "bmm-right bmm-right local cmm bmm-right local cmm local local"     # W and V broadcast, dW and dV reduced
labels = "cmm bmm-left local bmm-left cmm local bmm-right local local"     # X and W by features, V by labels
if n >= 300000: assert floats[rows] == data
if n <= 300000: assert floats[labels] == model
assert floats.get(rows, data) == data and floats.get(labels, model) == model
assert best <= min(data, model)
assert best <= {1000: 10 * n * h + 10 * n * l, 300000: 10 * n * h + 10 * h * l, 1000000: data}[n]' "$batch"
    done
}
