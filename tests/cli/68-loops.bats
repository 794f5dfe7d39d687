# Loops: repeat, state, next, until, trace, gen, extent.
load helper

data() {
    status 0 tra gen -q --shape 100x4 --block 50x4 --dist normal --seed 1 -o x.h5
    status 0 tra gen -q --shape 100 --block 50 --seed 2 -o y.h5
    cat >fit.tra <<'END'
input X from "x.h5"
input y from "y.h5"
param eta = 0.1
state w = gen(zero, [extent(X, 1)])
repeat 30 as t {
    p[n]   = sigmoid(sum[j](X[n,j] * w[j]))
    g[j]   = mean[n](X[n,j] * (p[n] - y[n]))
    next w[j] = w[j] - eta * g[j] / (t + 1)
    size[] = max abs(g[j])
    trace log(size, t)
} until size < 0.0778
output w
output log
END
}

@test "a loop ends when its condition is met, and gives what its turns written out give" {
    data
    status 0 tra run fit.tra
    lacks "warning"
    status 0 tra head log.h5
    has "turn,size,t"
    turns=$(tra head -n 100 log.h5 | tail -n +2 | wc -l)
    [ "$turns" -gt 2 ]
    [ "$turns" -lt 30 ]
    {
        echo 'input X from "x.h5"'
        echo 'input y from "y.h5"'
        echo 'w0 = gen(zero, [4])'
        for ((t = 0; t < turns; t++)); do
            echo "p${t}[n] = sigmoid(sum[j](X[n,j] * w${t}[j]))"
            echo "g${t}[j] = mean[n](X[n,j] * (p${t}[n] - y[n]))"
            echo "w$((t + 1))[j] = w${t}[j] - 0.1 * g${t}[j] / ($t + 1)"
        done
        echo "output w$turns to \"written.h5\""
    } >written.tra
    status 0 tra run -q written.tra
    status 0 tra diff --rtol 1e-12 w.h5 written.h5
    cp w.h5 one.h5
    for sites in 2 3; do
        status 0 tra run -q --sites $sites fit.tra
        status 0 tra diff --rtol 1e-12 w.h5 one.h5
    done
    status 0 tra run -q --engine reference fit.tra
    status 0 tra diff --rtol 1e-12 w.h5 one.h5
}

@test "inputs stay in memory from turn to turn, and what does not change is computed once" {
    data
    sed -i 's/ until.*//' fit.tra
    sed -i 's/^repeat 30 as t/Z[n,j] = exp(X[n,j])\nrepeat 30 as t/; s/mean\[n\](X/mean[n](Z/' fit.tra
    status 0 tra run -q --profile run.json fit.tra
    status 0 "$PYTHON" - <<'END'
import json
r = json.load(open("run.json"))
p = r["plans"][0]
assert p["measured"]["disk_read_bytes"] <= 5000, p["measured"]
loop = p["loops"][0]
assert loop["turns_most"] == 30 and loop["until"] is None
assert [s["name"] for s in loop["states"]] == ["w"]
assert loop["states"][0]["bytes"] == 32
exp = [o for o in p["operators"] if "exp" in o["label"]]
assert exp and all("loop" not in o for o in exp), exp
inside = [o for o in p["operators"] if o.get("loop") == 0]
total = sum(o["flops"] for o in p["operators"] if "loop" not in o) + 30 * sum(o["flops"] for o in inside)
assert abs(total - p["flops"]) < 1e-6 * total
assert abs(loop["once"]["flops"] + 30 * loop["turn"]["flops"] - p["flops"]) < 1e-6 * total
END
}

@test "loops stand in loops, and begin anew in each turn of the one around" {
    cat >nested.tra <<'END'
state a = gen(1, [3])
repeat 4 as t {
    state b[i] = a[i]
    repeat 3 {
        next b[i] = 2 * b[i]
    }
    next a[i] = b[i] + t
}
output a
END
    for sites in 1 2; do
        status 0 tra run -q --sites $sites nested.tra
        is $'4179\n4179\n4179' tra head a.h5
    done
    status 0 tra run -q --engine reference nested.tra
    is $'4179\n4179\n4179' tra head a.h5
}

@test "all states change together, and no turns leave them as they were" {
    cat >swap.tra <<'END'
param n = 3
state a = gen(1, [2])
state b = gen(2, [2])
repeat n { next a = b
    next b = a }
output a
output b
END
    status 0 tra run -q swap.tra
    is $'2\n2' tra head a.h5
    is $'1\n1' tra head b.h5
    status 0 tra run -q -D n=0 swap.tra
    is $'1\n1' tra head a.h5
}

@test "a condition that is never met, and values that become NaN, are told" {
    cat >never.tra <<'END'
state x = gen(1, [])
repeat 5 {
    next x[] = x - 1
    r[] = log(x)
    trace log(r, x)
} until r > 10
output x
END
    status 0 tra run never.tra
    has "never.tra:6: the condition was not met in 5 turns; at the end r = "
    has "NaN in turn 2 of the loop"
    is "-4" tra head x.h5
    cat >read.tra <<'END'
state S = gen(1, [3])
q = gen(2, [])
repeat 4 {
    state b = gen(1, [])
    repeat 2 {
        next b = b - 2
    } until b > 10
    next S[i] = log(S[i] - 2) + b
    m[] = max S[i]
} until m > 100 && q > 3
output S
END
    for sites in 1 3; do
        status 0 tra run --sites $sites read.tra
        has "read.tra:9: m: what the condition reads is NaN in turn 1 of the loop"
        has "read.tra:10: the condition was not met in 4 turns; at the end m = nan, q = 2"
        has "read.tra:7: the condition was not met in 2 turns; at the end b = -1"
        [ "$(grep -c 'was not met in 2 turns' <<<"$output")" = 1 ]
    done
}

@test "errors of loops name their place" {
    check() { # MESSAGE PROGRAM
        printf '%b\n' "$2" >p.tra
        status 2 tra check p.tra
        has "$1"
    }
    check "p.tra:2:17: error: 'x' is no state" 'x = gen(1, [2])\nrepeat 3 { next x[i] = x[i] }'
    check "'a' has two next values" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i]\nnext a[i] = 2 * a[i] }'
    check "the state is 2, its next value 3" 'state a = gen(1, [2])\nb = gen(1, [3])\nrepeat 3 { next a[i] = b[i] }'
    check "the state has elements of f64, its next value of i64" \
        'state a = gen(1, [2])\nb = gen(1, [2], type = i64)\nrepeat 3 { next a[i] = b[i] }'
    check "next stands in a loop" 'state a = gen(1, [2])\nnext a[i] = a[i]'
    check "p.tra does not compile: 1 error" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = 2 * (sum a[i]) }'
    check "trace stands in a loop" 'state a = gen(1, [2])\ntrace log(a)'
    check "write repeat 100 as t" 'state a = gen(1, [2])\nwhile max(a) > 1 { next a[i] = a[i] }'
    check "the most turns of the loop expected" 'state a = gen(1, [2])\nrepeat { next a[i] = a[i] }'
    check "write repeat 100 as t" 'state a = gen(1, [2])\nrepeat t to 3 { next a[i] = a[i] }'
    check "an output cannot stand in a loop" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i]\noutput a }'
    check "an input cannot stand in a loop" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i]\ninput b from "b.h5" }'
    check "this '{' is not closed" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i]'
    check "'b' is defined twice" 'state a = gen(1, [2])\nb = gen(1, [2])\nrepeat 3 { b[i] = a[i]\nnext a[i] = b[i] }'
    check "the counter has the name of another relation or param" 'state a = gen(1, [2])\nrepeat 3 as a { next a[i] = a[i] }'
    check "'a' is not one number" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i]\ntrace log(a) }'
    check "is defined outside of the loop around this one" \
        'state a = gen(1, [2])\nrepeat 3 { repeat 2 { next a[i] = a[i] } }'
    check "p.tra:2:37: error: the condition reads no relation, so it is the same in all turns" \
        'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i] } until 1 > 2'
    check "there is no param 'missing'" 'state a = gen(1, [2])\nrepeat 3 { next a[i] = a[i] } until missing > 2'
    check "until stands after the '}' of a loop" 'state a = gen(1, [2])\nuntil a > 1'
    check "there is no relation 'b'" 'state a = gen(1, [2])\nrepeat 3 { b[i] = a[i]\nnext a[i] = b[i] }\noutput b'
    has "make it a state"
    has "p.tra:2:12: note: in the loop"
}

@test "-D of a turn counter, and of a name of a body, is an error at its place" {
    printf 'state a = gen(0, [2])\nrepeat 3 as t {\n    b[i] = a[i] + t\n    next a = b\n}\noutput a\n' >p.tra
    status 2 tra run -D t=3 p.tra
    has "p.tra:2:13: error: -D t=3: 't' counts the turns of a loop"
    status 2 tra run -D b=3 p.tra
    has "p.tra:3:5: error: -D b=3: 'b' is computed in a loop"
    status 2 tra run -D c=3 p.tra
    has "the program has no input, param or output 'c'"
}

@test "words of loops are names where no statement of a loop begins" {
    printf 'state = gen(2, [2])\nnext[i] = state[i] + 1\nrepeat[i] = next[i] * state[i]\noutput repeat\n' >names.tra
    status 0 tra run -q names.tra
    is $'6\n6' tra head repeat.h5
}

@test "gen in a program has the values of tra gen" {
    for dist in uniform normal range identity zero; do
        status 0 tra gen -q --shape 7x5 --block 3x5 --dist $dist --seed 4 -o file.h5
        printf 'A = gen(%s, [7, 5], by = [2, 3], seed = 4)\noutput A\n' $dist >gen.tra
        status 0 tra run -q gen.tra
        status 0 tra diff A.h5 file.h5
    done
    printf 'A = gen(3, [2], type = i64)\nn[] = sum A[i] * extent(A, 0)\noutput A\noutput n\n' >gen.tra
    status 0 tra run -q gen.tra
    is $'3\n3' tra head A.h5
    is 12 tra head n.h5
    printf 'A = gen(normal, [2], type = i64)\noutput A\n' >gen.tra
    status 2 tra run -q gen.tra
    has "normal makes no whole numbers"
}

@test "a loop that is killed goes on from its last saved turn, on one rank and on three" {
    cat >long.tra <<'END'
X = gen(normal, [600, 600], by = [200, 600], seed = 1)
state a = gen(uniform, [600], by = [200], seed = 2)
repeat 4 as t {
    state b[i] = a[i]
    repeat 40 {
        y[i] = sum X[i,j] * b[j]
        n[] = sum y[i]^2
        next b[i] = y[i] / sqrt(n) + 0.01 * a[i]
    }
    next a[i] = b[i] + 0.1 * a[i] / (t + 1)
    trace log(t)
}
output a
output log
END
    for sites in 1 3; do
        status 0 tra run -q --sites $sites long.tra
        want=$(tra digest a.h5 log.h5)
        [ -n "$want" ]
        for after in 0.2 0.4 0.6; do
            rm -f a.h5 log.h5
            timeout -s KILL $after setsid --wait "$TRA" run -q --checkpoint 0 --sites $sites long.tra || true
            pkill -KILL -f "run -q --checkpoint 0 --sites $sites long.tra" || true
            status 0 tra run -q --resume --checkpoint 0 --sites $sites long.tra
            is "$want" tra digest a.h5 log.h5
        done
    done
}

@test "a loop that is told to stop saves its states and says so; with --require-convergence status 1" {
    cat >endless.tra <<'END'
state x = gen(0, [])
repeat 100000000 { next x[] = x + 1
}
output x
END
    run timeout -s TERM 1 "$TRA" run endless.tra
    [ "$status" = 75 ] || [ "$status" = 124 ]
    has "what is done is saved"
    run timeout -s TERM 1 "$TRA" run --resume endless.tra
    has "turns of a loop are done"
    printf 'state x = gen(0, [])\nrepeat 3 { next x[] = x + 1\n} until x > 5\noutput x\n' >short.tra
    status 1 tra run --require-convergence short.tra
    has "condition"
    is 3 tra head x.h5
}

@test "slices move with the turn: minibatches" {
    cat >batches.tra <<'END'
X = gen(normal, [100, 4], by = [30, 4], seed = 1)
y = gen(uniform, [100], by = [30], seed = 2)
state w = gen(zero, [4])
repeat 3 {
    state v[j] = w[j]
    repeat 5 as t {
        A = slice(X, [t*20 : (t+1)*20, :])
        b = slice(y, [t*20 : (t+1)*20])
        g[j] = mean[n](A[n,j] * (sum[k](A[n,k] * v[k]) - b[n]))
        next v[j] = v[j] - 0.1 * g[j]
    }
    next w[j] = v[j]
}
output w
END
    status 0 tra run -q --engine reference batches.tra
    cp w.h5 reference.h5
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites batches.tra
        status 0 tra diff --rtol 1e-12 w.h5 reference.h5
    done
    sed -i 's/(t+1)\*20, :/(t+1)*20 + t, :/' batches.tra
    status 2 tra check batches.tra
    has "in turn 1 the range has 21 positions, in turn 0 20"
    sed -i 's/(t+1)\*20 + t, :/(t+2)*20, :/; s/t\*20 : (t+2)/(t+1)*20 : (t+2)/' batches.tra
    status 2 tra check batches.tra
    has "in turn 4 this dimension has 100 positions, of which 100:120 is no range"
    printf 'state a = gen(1, [3])\nrepeat 3 as t {\n    next a = filter(a, (i) -> i < t)\n}\noutput a\n' >keys.tra
    status 2 tra check keys.tra
    has "keys.tra:3:31: error: in turn 1 this is another function of the keys than in turn 0: of <0>"
    has "slice(X, "
    sed -i 's/i < t/i < 2 + t/' keys.tra # the one key fulfils it in all turns
    status 0 tra run -q keys.tra
    sed -i 's/repeat 3/repeat 1/; s/i < 2 + t/i < 1 - t/' keys.tra
    status 0 tra run -q keys.tra
    sed -i 's/filter.*/rekey(a, (i) -> (i \/ t))/' keys.tra
    status 2 tra check keys.tra
    has "in turn 0:"
}

@test "states are sparse tensors and tables too" {
    status 0 tra gen -q --shape 50x50 --density 0.1 --storage csr --seed 3 -o graph.h5
    cat >power.tra <<'END'
input S from "graph.h5"
state A[i,j] as csr = S[i,j]
repeat 3 {
    next A[i,k] as csr = sum A[i,j] * S[j,k]
    n[] = sum A[i,j]
    trace log(n)
}
output A
output log
END
    printf 'k,v\n1,2\n2,3\n3,4\n' | tra import -q --table - -o t.h5
    cat >rows.tra <<'END'
input t from "t.h5"
state s = project(t, k, v = v + 0)
state all = gen(0, [], type = i64)
repeat 5 {
    g = group(s, [k], v = sum(v))
    next s = project(select(g, v > 1), k, v = v - 1)
    M = matrix(s, [v], type = i64)
    m[] = sum M[n,c]
    next all[] = all + m
}
output s
output all
END
    for program in power rows; do
        rm -f A.h5 log.h5 s.h5 all.h5
        status 0 tra run -q --engine reference $program.tra
        for f in A log s all; do [ ! -e $f.h5 ] || mv $f.h5 $f.reference; done
        for sites in 1 2; do
            status 0 tra run -q --sites $sites $program.tra
            for f in A log s all; do
                [ -e $f.reference ] || continue
                status 0 tra diff --rtol 1e-12 $f.h5 $f.reference
            done
        done
        rm -f *.reference
    done
    is 19 tra head all.h5
    printf 'input t from "t.h5"\nstate s = t\nrepeat 2 { next s = project(s, k, v = v + 1) }\noutput s\n' >types.tra
    status 2 tra check types.tra
    has "v is i32 in the state, i64 in its next value"
}

@test "a compiled plan has the loop: the same bits on 1 and 3 sites, and what it costs once and in each turn" {
    tra gen -q --shape 300x4 --block 70x4 --dist normal --seed 3 -o X.h5
    cat >p.tra <<'END'
input X from "X.h5"
state w = gen(zero, [extent(X, 1)])
repeat 40 as t {
    r[n]      = sum X[n,j] * w[j]
    g[j]      = mean[n](X[n,j] * (r[n] - 1))
    next w[j] = w[j] - g[j] / (t + 1)
    size[]    = max abs(g[j])
    trace log(size)
} until size < 1e-3
output w
output log
END
    for sites in 1 3; do
        tra run -q --sites $sites --threads 1 p.tra
        want=$(tra digest w.h5 log.h5)
        rm w.h5 log.h5
        tra compile -q --sites $sites --threads 1 p.tra -o p.plan
        tra explain --operators p.plan >plan
        grep -q '^loop 0 (line 3): at most 40 turns, until size < ' plan
        tra run -q p.plan
        is "$want" tra digest w.h5 log.h5
    done
    tra gen -q --shape 300x4 --block 70x4 --dist normal --seed 4 -o X.h5
    status 3 tra run p.plan
    has "changed since the plan was made"
}

@test "the last value of eval may be a state of a loop; a misplaced until says where it stands" {
    [ "$(tra eval -q 'state w = gen(zero, [2]); repeat 3 as t { next w[i] = w[i] + t }')" = $'3\n3' ]
    [ "$(tra eval -q 'state w = gen(zero, [2]); repeat 9 as t { v[i] = w[i] + t; next w = v; s[] = sum w[i] }; until s > 2' | head -1)" = 6 ]
    [ "$(tra eval -q $'state w = gen(zero, [2])\nrepeat 3 as t {\n s[] = sum w[i]\n next w[i] = w[i] + t\n trace log(s)\n}\nlog')" = $'turn,s\n0,0\n1,0\n2,2' ]
    [ "$(tra eval -q $'state w = gen(zero, [2])\nrepeat 3 as t {\n next w[i] = w[i] + t\n}\nw * 2')" = $'6\n6' ]
    status 2 tra eval 'state w = gen(zero, [2]); repeat 3 as t { next w[i] = w[i] + t; until t > 1 }'
    has "until stands after the '}' of a loop"
    status 2 tra eval $'state w = gen(zero, [2])\nrepeat 3 {\n v[i] = w[i] + 1; next w = v\n} until max v[i] > 2'
    has 'write x[] = max .. in the loop, and until x < 1e-6'
}

@test "bytes that ranks send are those of all turns, as predicted, also where an exchange overlaps a stage" {
    data
    status 0 tra gen -q --shape 60000x40 --block 10000x40 --dist normal --seed 1 -o x.h5
    status 0 tra gen -q --shape 60000 --block 10000 --seed 2 -o y.h5
    sed -i 's/ until.*//' fit.tra
    for ranks in 2 3; do
        status 0 tra run -q --sites $ranks --threads 1 --profile run.json fit.tra
        py 'p = json.load(open("run.json"))["plans"][0]
assert p["network_bytes"] == p["measured"]["network_bytes"] > 0, (p["network_bytes"], p["measured"]["network_bytes"])'
    done
}

@test "a turn that does next to nothing wakes no thread" {
    printf 'state s = gen(zero, [])\nrepeat 20000 {\nnext s[] = s[] + 1\n}\noutput s\n' >empty.tra
    command -v strace >/dev/null || skip "no strace"
    status 0 strace -f -c -e trace=futex -o calls "$TRA" run -q --threads 2 empty.tra
    [ "$(awk '$NF == "futex" { print $4 }' calls)" -lt 5000 ]
    is 20000 tra head s.h5
}

@test "what a turn takes that does next to nothing is predicted too, more on two sites" {
    printf 'state s = gen(zero, [])\nrepeat 200 {\n    next s[] = s[] + 1\n}\noutput s\n' >empty.tra
    status 0 tra explain --format json empty.tra
    echo "$output" >one.json
    status 0 tra explain --format json --sites 2 empty.tra
    echo "$output" >two.json
    status 0 "$PYTHON" -c 'import json
one, two = (json.load(open(f))["plans"][0] for f in ("one.json", "two.json"))
a, b = one["loops"][0]["turn"]["seconds"], two["loops"][0]["turn"]["seconds"]
assert 1e-6 <= a < b < 1e-4, (a, b)
assert one["seconds"] > 199 * a'
}

@test "what was computed before a loop and does not stay in memory is read once a turn, which its seconds tell" {
    cat >p.tra <<'END'
input X from "x.h5"
H[n,j] = exp(X[n,j])
state w = gen(1, [200])
repeat 5 {
    q[n] = sum H[n,j] * w[j]
    p[n] = tanh(q[n])
    s[]  = sum H[n,j] * p[n] * w[j]
    next w[j] = w[j] / s
}
output w
END
    tra gen -q --shape 40000x200 --block 1000x200 --seed 1 -o x.h5
    tra run -q p.tra --profile all.json
    tra digest w.h5 >digest
    tra run -q p.tra --memory 60M --profile little.json
    tra digest w.h5 | cmp - digest
    py '
all, little = (json.load(open(x + ".json"))["plans"][0] for x in ("all", "little"))
n = 40000 * 200 * 8
assert little["measured"]["unspilled_bytes"] < 5.5 * n, little["measured"]
a, b = (x["loops"][0]["turn"]["seconds"] for x in (all, little))
assert b > 2 * a, (a, b)'
}

@test "values of a sparse state are held alike in all turns, however full the next value is" {
    local next density
    printf 'input A from "G.h5"\nstate S = A\nrepeat 3 {\nnext S[i,j] = NEXT\n}\nR[i] = sum S[i,j]\noutput S to "s.h5"\noutput R to "r.h5"\n' >l.tra
    for density in 0.02 0.3; do
        tra gen -q --shape 60x60 --block 60x60 --density $density --seed 3 -o G.h5:A
        for next in 'sum S[i,k] * A[k,j]' 'sum S[i,k] * S[k,j]' 'S[j,i] + 0.5 * A[i,j]' 'if(S[i,j] > 0.9, S[i,j], 0)'; do
            sed "s/NEXT/$next/" l.tra >p.tra
            as_reference p.tra s.h5 r.h5
            sed -i /R/d p.tra # the last value goes to its file alone
            as_reference p.tra s.h5
        done
    done
}
