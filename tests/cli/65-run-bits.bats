# The same bits: without more of one plan by any transport, ceiling and threads; with --reproducible on any number of
# ranks, too.
load helper

# Sums over one key, over several, products, a mean, in both types, and EinSum; extents that no number of ranks divides.
programs() {
    tra gen -q --shape 130x1170 --block 30x40 --dist normal --seed 1 -o a.h5
    tra gen -q --shape 1170x70 --block 40x30 --dist normal --seed 2 -o b.h5
    tra gen -q --shape 130x1170 --block 30x40 --dist normal --seed 3 --dtype f32 -o a4.h5
    tra gen -q --shape 1170x70 --block 40x30 --dist normal --seed 4 --dtype f32 -o b4.h5
    cat >mm.tra <<'END'
input A from "a.h5"
input B from "b.h5"
C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)
output C to "o1.h5"
END
    sed 's/a.h5/a4.h5/; s/b.h5/b4.h5/' mm.tra >mm4.tra
    cat >agg.tra <<'END'
input A from "a.h5"
input F from "a4.h5"
B = transform(A, rowsum)
R = agg(B, [0], matadd)
P = agg(transform(A, x -> 1 + 1e-3 * x), [1], elemmul)
S = agg(A, [], matadd)
T = transform(agg(F, [0], matadd), x -> x / 7)
J = agg(join(A, F, [0,1], [0,1], (x, y) -> exp(x) * y), [0], matadd)
output R to "o1.h5"
output P to "o2.h5"
output S to "o3.h5"
output T to "o4.h5"
output J to "o5.h5"
END
    cat >einsum.tra <<'END'
input A from "a.h5"
input B from "b.h5"
C[i,j] = sum A[i,k] * B[k,j]
D[i] = sum (A[i,k] - B[k,j])^2
E[k] = sum A[i,k] * A[i,k]
output C to "o1.h5"
output D to "o2.h5"
output E to "o3.h5"
END
}

# bits PROGRAM OPTIONS...: digests of what it makes, on a line.
bits() {
    rm -f o?.h5
    "$TRA" run -q "$@" || return
    "$TRA" digest o?.h5 | tr '\n' ' '
    echo
}

@test "--reproducible: the same digests on 1, 2, 3, 4, 5 and 8 ranks, by every plan" {
    local i=0
    programs
    for p in mm mm4 agg einsum; do
        want=$(bits $p.tra --reproducible)
        [ -n "$want" ]
        i=$((i + 1))
        for n in $(some $i 2 3 4 5 8); do
            plans=$("$TRA" cost $p.tra --sites $n --reproducible | tail -n +2 | wc -l)
            [ "$plans" -ge 1 ]
            plans=$((plans > 4 ? 4 : plans))
            for k in $(some "$n" $(seq "$plans")); do
                got=$(bits $p.tra --reproducible --sites $n --plan "$k")
                [ "$got" = "$want" ] || { echo "$p on $n ranks by plan $k: $got, not $want"; false; }
            done
        done
    done
}

@test "--reproducible: plans of summands are among them, and without it they give other bits" {
    programs
    status 0 tra cost mm.tra --sites 4 --reproducible
    has $'\tcmm\t'
    [ "$(bits mm.tra --sites 4)" != "$(bits mm.tra)" ]
    [ "$(bits mm.tra --sites 3)" != "$(bits mm.tra --sites 2)" ]
}

@test "--reproducible: the same digests by both transports, under the least ceiling, with one thread and with two" {
    programs
    for p in mm mm4 agg einsum; do
        want=$(bits $p.tra --reproducible)
        for n in 1 2 3; do
            status 4 tra run -v $p.tra --reproducible --sites $n --threads 1 --memory 1M
            least=$(exactly)
            is "$want" bits $p.tra --reproducible --sites $n --threads 1 --memory "$least"
            is "$want" bits $p.tra --reproducible --sites $n --threads 2 --transport files --scratch .
        done
    done
}

# Terms of small sums are computed ahead of their turn, and the first of a branch clears what the one before left there.
@test "--reproducible: sums of tall matrices, one after the other in the same memory, are what they are without it" {
    for i in 1 2 3 4; do
        tra gen -q --shape 3x4000x6 --block 3x250x6 --seed $i -o X$i.h5
        printf 'input X from "X.h5"\nG[i,j] = sum X[b,n,i] * X[b,n,j]\nH[b,i,j] = sum X[b,n,i] * X[b,n,j]\n' |
            sed "s/\([XGH]\)\([ .[]\)/\1$i\2/g"
        printf 'output G%d\noutput H%d\n' $i $i
    done >p.tra
    tra run -q p.tra
    for r in {G,H}{1,2,3,4}; do mv $r.h5 usual-$r.h5; done
    for how in "--sites 1" "--sites 3"; do
        tra run -q --reproducible $how p.tra
        for r in {G,H}{1,2,3,4}; do status 0 tra diff --rtol 1e-12 $r.h5 usual-$r.h5; done
    done
}

@test "without it: one plan gives the same digests by both transports, any ceiling and threads" {
    local i=0
    programs
    for p in mm mm4 agg einsum; do
        for n in $(some $((i++)) 1 2 3); do
            want=$(bits $p.tra --sites $n --threads 1 --memory 900M)
            strategy=$("$TRA" cost $p.tra --sites $n --threads 1 --memory 900M | sed -n 2p | cut -f2)
            # of this plan: under a lower ceiling others may do, which compute less on the way
            least=$("$TRA" explain $p.tra --sites $n --threads 2 --memory 900M --format json |
                "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["plans"][0]["least_memory_bytes"])')
            for how in "--threads 2 --memory 900M" "--threads 2 --memory $least" \
                "--threads 1 --memory 900M --transport files --scratch ."; do
                [[ $n == 1 && $how == *files* ]] && continue # nothing is exchanged
                # shellcheck disable=SC2086
                k=$("$TRA" cost $p.tra --sites $n ${how%% --transport*} | awk -F'\t' -v s="$strategy" '$2 == s { print $1 }')
                # shellcheck disable=SC2086
                is "$want" bits $p.tra --sites $n --plan "$k" $how
            done
        done
    done
}

@test "what it costs is said" {
    programs
    status 0 tra explain --operators mm.tra --reproducible
    has " times the cost of the best plan without"
    printf '%s\n' 'input A : f64 [6000, 6000] by [500, 500]' 'B[i,j] = sum A[i,k] * A[k,j]' 'output B' >sums.tra
    status 0 tra explain --operators sums.tra --sites 1 --threads 1 --reproducible --memory 2G
    has "reproducible sums: 1.2" # times the cost of the best plan without; 1.2 was measured
    status 0 tra explain mm.tra --sites 3 --reproducible --cost tra --format json
    is true json reproducible
    py 'd = json.loads(sys.argv[1]); assert 0 < d["cost_without"] < d["plans"][0]["cost"]' "$output"
    status 0 tra explain mm.tra --sites 3 --cost tra --format json
    is false json reproducible
    status 0 tra run mm.tra --sites 3 --reproducible
    has "tra: reproducible sums: a cost of"
    # its memory is that of the sums which are held beside each other
    printf '%s\n' 'input A : f64 [4000,16000] by [1000,1000]' 'input B : f64 [16000,4000] by [1000,1000]' \
        'C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)' 'output C' >big.tra
    memory() { "$TRA" explain big.tra --format json --memory 300M "$@" | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)["plans"][0]["least_memory_bytes"])'; }
    [ "$(memory --reproducible)" -eq $(($(memory) + 4 * 8003584)) ]
}

@test "a compiled plan keeps it, and a profile tells" {
    programs
    want=$(bits mm.tra --reproducible)
    status 0 tra compile -q mm.tra --reproducible --sites 2 -o mm.plan
    is "$want" bits mm.plan
    status 0 tra compile -q mm.tra --sites 2 -o free.plan
    status 2 tra run free.plan --reproducible
    has "--reproducible is fixed in the plan"
    status 0 tra run -q mm.tra --reproducible --sites 2 --profile m.json
    status 0 tra explain --operators mm.tra --analyze m.json
    has "reproducible sums"
}
