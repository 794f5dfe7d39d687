# The optimizers of EinDecomp: tables, JSON, dot, plan files, runs.
load helper

EXAMPLES=$ROOT/share/examples/eindecomp

long() {
    cat <<END
input X : f64 [1000, 100000] by [125, 12500]
input Y : f64 [100000, 1000] by [12500, 125]
Z[i,k] = sum X[i,j] * Y[j,k]
output Z
END
}

@test "explain prints statements with their vectors and costs" {
    status 0 tra explain --operators --sites 8 --optimizer eindecomp --cost eindecomp "$EXAMPLES/chain-skewed.tra"
    has "by cost eindecomp"
    has "Statements, tree for 8 processors: 2.42e10 floats, join 2.27e10, agg 1.12e9, repart 3.2e8"
    grep -Eq '^DE\[i,k\] = D\[i,j\] E\[j,k\] +j=8 +8 +1.76e10 +1.12e9 +0$' <<<"$output"
    grep -Eq '^CDE\[i,k\] = C\[i,j\] DE\[j,k\] +i=4 k=2 +8 +9.6e8 +0 +3.2e8$' <<<"$output"
    for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
    # a graph: what linearisation loses is said; sites that are no power of two
    status 0 tra explain --operators --sites 7 --optimizer eindecomp "$EXAMPLES/attention.tra"
    has "for 8 processors"
    grep -Eq '^linearised as in the paper 1.41e10, 1.0[0-9]+ times the optimum of 1.37e10$' <<<"$output"
    status 0 tra explain --operators --sites 7 --optimizer eindecomp-any "$EXAMPLES/attention.tra"
    has "for 7 processors"
    grep -Eq ' [a-z]=7  ' <<<"$output"
    for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
    # labels that cannot be cut so often
    printf 'input X : f64 [3] by [1]\nY[i] = exp(X[i])\noutput Y\n' >few.tra
    status 0 tra explain --operators --sites 16 --optimizer eindecomp few.tra
    has "1 statement in fewer parts"
    lacks "cut finer"
    # and blocks that sites cannot share
    printf 'input X : f64 [6,6] by [6,6]\nZ[i,k] = sum X[i,j] * X[j,k]\noutput Z\n' >block.tra
    status 0 tra explain --operators --sites 4 --optimizer eindecomp block.tra
    has "1 statement cut finer than its blocks: computed on the nearest grid of sites"
    status 0 tra explain --operators --sites 16 --optimizer eindecomp few.tra
    grep -Eq '^Y\[i\] = X\[i\] +i=2 +2 ' <<<"$output"
    # without it there is no such table
    status 0 tra explain --operators --sites 8 "$EXAMPLES/chain-skewed.tra"
    lacks "Statements"
}

@test "optimizers stand side by side, with what was measured" {
    long >p.tra
    status 0 tra explain --operators --sites 4 --optimizers p.tra
    grep -Eq '^search +placements +2.03e8 +22.9 MiB ' <<<"$output"
    grep -Eq '^eindecomp +tree +2.03e8 +22.9 MiB ' <<<"$output"
    grep -Eq '^sqrt +sqrt +4e8 +1.5 GiB ' <<<"$output"
    grep -Eq '^data +data +5e8 +2.2 GiB ' <<<"$output"
    lacks measured
    status 0 tra explain --sites 4 --optimizers --format json p.tra
    is search json optimizers.0.optimizer
    is sqrt json optimizers.3.labelling
    is 400000000 json optimizers.3.eindecomp_floats
    tra gen -q --shape 40x60 --block 10x10 --seed 1 -o x.h5
    tra gen -q --shape 60x40 --block 10x10 --seed 2 -o y.h5
    printf 'input X from "x.h5" at part(0)\ninput Y from "y.h5" at part(0)\nZ[i,k] = sum X[i,j] * Y[j,k]\noutput Z\n' >q.tra
    tra run -q --sites 2 --memory 100M --optimizer sqrt --profile s.json q.tra
    tra run -q --sites 2 --memory 100M --optimizer data --profile d.json q.tra
    status 0 tra explain --operators --sites 2 --memory 100M --optimizers=s.json,d.json q.tra
    grep -Eq '^sqrt +sqrt .*  ([0-9.]+ KiB) .*  \1 ' <<<"$output"
    status 0 tra explain --sites 2 --memory 100M --optimizers=s.json,d.json --format json q.tra
    is "$(json optimizers.3.network_bytes)" json optimizers.3.measured.network_bytes
    grep -Eq '^ +predicted +measured$' <<<"$(tra explain --operators --sites 2 --memory 100M --optimizers=s.json,,d.json q.tra)"
    is s.json json optimizers.3.measured.file # of runs of one plan that of the optimizer itself
    is d.json json optimizers.4.measured.file
    # options that are not given are those of the first run; a run of another plan is named
    status 0 tra explain --operators --optimizers=s.json,d.json q.tra
    has "for 2 sites"
    grep -Eq '^sqrt +sqrt .*  ([0-9.]+ KiB) .*  \1 ' <<<"$output"
    lacks "is of another plan"
    status 0 tra explain --operators --sites 3 --optimizers=s.json q.tra
    has "s.json is of another plan than these, by sqrt for 2 sites of"
    status 3 tra explain --optimizers=q.tra q.tra
    has "is not what tra run --profile writes"
    # a profile says under which optimizer it was made
    status 0 tra explain --operators --analyze s.json q.tra
    has "Statements, sqrt for 2 processors"
}

@test "alternatives are labellings where the optimizer makes them" {
    status 0 tra explain --operators --sites 8 --optimizer eindecomp --alternatives "$EXAMPLES/attention.tra"
    has "Alternatives: the cheapest plan of each labelling, 3 of 3"
    grep -Eq '^  #  labelling ' <<<"$output"
    for how in moved linearised exact; do grep -Eq "^[* ] [123]  $how " <<<"$output"; done
    grep -Eq '^floats, eindecomp  +1.48e10 +1.41e10 +1.37e10 *$' <<<"$output"
    status 0 tra explain --operators --sites 8 --alternatives=2 "$EXAMPLES/attention.tra"
    has "Alternatives: the cheapest plan of each strategy, 2 of"
}

# Costs of every statement from vectors and extents, by the formulas of the paper, and their sums.
@test "derivations of plans that follow labellings" {
    for o in eindecomp sqrt data; do
        status 0 tra explain --operators --sites 2 --optimizer $o --rules "$EXAMPLES/chain-skewed.tra"
        status 0 tra explain --sites 2 --optimizer $o --rules --format json "$EXAMPLES/chain-skewed.tra"
    done
}

@test "a labelling that does not fit is not shown where another does, as run decides" {
    {
        printf 'input A%d : f64 [4000, 4000] by [1000, 1000]\n' {0..3}
        printf '%s\n' 'B = agg(join(A0, A1, [1], [0], matmul), [0,2], matadd)' \
            'C = agg(join(B, A2, [1], [0], matmul), [0,2], matadd)' \
            'D = agg(join(C, A3, [1], [0], matmul), [0,2], matadd)' 'output D'
    } >p.tra
    for m in 1K 100M 150M 250M 1G; do
        status 0 tra explain --operators p.tra --sites 4 --optimizer eindecomp --memory $m
        if [[ $output == *"DOES NOT FIT"* ]]; then status 4 tra compile p.tra --sites 4 --optimizer eindecomp --memory $m -o q
        else status 0 tra compile p.tra --sites 4 --optimizer eindecomp --memory $m -o q; fi
    done
}

@test "JSON has vectors and costs that follow from them" {
    for f in attention classifier chain-square; do
        for by in eindecomp eindecomp-any sqrt data; do
            status 0 tra explain --sites 12 --optimizer $by --cost eindecomp --format json "$EXAMPLES/$f.tra"
            echo "$output" >x.json
            "$PYTHON" - <<'END'
import json, math
x = json.load(open("x.json"))
for plan in x["plans"]:
    l = plan["labelling"]
    s = l["statements"]
    assert plan["cost"] == l["cost"] and len(s) > 3
    total = {"join": 0, "agg": 0, "repart": 0}
    size = lambda r, d: math.prod(math.ceil(e / d.get(k, 1)) for e, k in zip(r["extents"], r["labels"]))
    for v in s:
        d = v["partition"]
        p = math.prod(d.values())
        assert p == v["kernel_calls"] and p <= l["processors"]
        join = p * sum(size(r, d) for r in v["references"])
        kept = math.prod(d[k] for k in v["result"]["labels"])
        agg = kept * (p // kept - 1) * size(v["result"], d)
        repart = 0
        for r in v["references"]:
            if r["statement"] < 0: continue
            u = s[r["statement"]]
            made = u["result"]
            a = [math.ceil(e / u["partition"][k]) for e, k in zip(made["extents"], made["labels"])]
            b = [math.ceil(e / d[k]) for e, k in zip(r["extents"], r["labels"])]
            n, np, nc, ni = math.prod(r["extents"]), math.prod(a), math.prod(b), math.prod(map(min, a, b))
            repart += (nc / ni - 1) * (n / nc) * (nc + np) + (np * n / nc if np != ni else 0)
        near = lambda x, y: abs(x - y) <= 1e-9 * (1 + abs(y))
        assert near(v["join_cost"], join) and near(v["agg_cost"], agg) and near(v["repart_cost"], repart), (v, join, agg, repart)
        for k, c in ("join", join), ("agg", agg), ("repart", repart): total[k] += c
    for k in total: assert abs(total[k] - l[k + "_cost"]) <= 1e-9 * (1 + total[k])
    assert near(sum(total.values()), l["cost"])
    # the operators that make a statement's result say the same of it
    ops = [o for o in plan["operators"] if "partition" in o]
    assert {o["name"] for o in ops} == {v["result"]["name"] for v in s}, [o["name"] for o in ops]
    for o in ops:
        v = next(v for v in s if v["result"]["name"] == o["name"])
        if o["name"]: assert all(o[k] == v[k] for k in ("partition", "join_cost", "agg_cost", "repart_cost"))
END
        done
    done
}

@test "dot is the graph of statements" {
    status 0 tra explain --sites 8 --optimizer eindecomp --format dot "$EXAMPLES/chain-skewed.tra"
    has 'v1 [label="DE[i,k] = D[i,j] E[j,k]\nj=8\njoin 1.76e10, agg 1.12e9"];'
    has 'v1 -> v2 [label="3.2e8"];'
    has 'r0 -> v0;'
    if command -v dot >/dev/null; then dot -Tsvg <<<"$output" >/dev/null; fi
}

@test "compiled plans keep their optimizer" {
    tra gen -q --shape 40x60 --block 10x10 --seed 1 -o x.h5
    printf 'input X from "x.h5"\nZ[i,k] = sum X[i,j] * X[k,j]\noutput Z\n' >p.tra
    for by in eindecomp eindecomp-any sqrt data; do
        status 0 tra compile -q --sites 3 --optimizer $by p.tra -o p.plan
        status 0 tra explain --operators p.plan
        has "Statements, "
        status 2 tra explain --optimizer search p.plan
        has "fixed in the plan"
        status 0 tra run -q p.plan
        mv Z.h5 $by.h5
    done
    tra run -q p.tra
    for by in eindecomp eindecomp-any sqrt data; do status 0 tra diff Z.h5 $by.h5 --rtol 1e-12; done
}

@test "a model of a thousand statements is planned" {
    "$EXAMPLES/llama.sh" >llama.tra
    for p in 8 64; do
        status 0 timeout 60 "$TRA" explain --operators --sites $p --optimizer eindecomp llama.tra
        [ "$(grep -c ' = ' <<<"$output")" -gt 1000 ]
        has "linearised as in the paper"
    done
}
