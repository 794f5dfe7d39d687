# Loops in loops: their counters together, their traces, and names of bodies.
load helper

# everywhere PROGRAM FILE..: the program gives these files the same content under sites, transports, ceilings and the
# reference evaluator as alone.
everywhere() {
    status 0 tra run -q "$1"
    mkdir -p want
    cp "${@:2}" want
    for how in "--engine reference" "--sites 2" "--sites 3 --transport files" "--sites 5 --threads 1" "--memory 48M"; do
        rm -f "${@:2}"
        # shellcheck disable=SC2086
        status 0 tra run -q $how "$1"
        for f in "${@:2}"; do
            cmp "$f" "want/$f" || { echo "$f differs: $how"; return 1; }
        done
    done
}

@test "slices and functions of keys read the counters of several loops" {
    cat >two.tra <<'END'
A = gen(range, [24, 2], by = [5, 2])
state w = gen(zero, [2, 2])
state deep = gen(zero, [])
repeat 4 as t {
    state v = w
    repeat 3 as u {
        x = slice(A, [t*6 + u*2 : t*6 + u*2 + 2, :])
        y = slice(A, [u*2 + t : u*2 + t + 2, :])
        f = filter(A, (i,j) -> i >= 0 && t + u < 9)
        next v = v * 2 + x - y + slice(f, [t : t + 2, :])
    }
    next w = v
    state a = deep
    repeat 2 {
        state b = a
        repeat 5 as k { x = slice(A, [3*t + k : 3*t + k + 1, 1:2]); next b[] = b[] + x[0,0] }
        next a = b
    }
    next deep = a
}
output w to "w.csv"
output deep to "deep.csv"
END
    everywhere two.tra w.csv deep.csv
    py 'A = np.arange(48.).reshape(24, 2); w = np.zeros((2, 2)); deep = 0
for t in range(4):
    for u in range(3): w = w * 2 + A[t*6+u*2:t*6+u*2+2] - A[u*2+t:u*2+t+2] + A[t:t+2]
    deep += 2 * sum(A[3*t + k, 1] for k in range(5))
assert (np.loadtxt("w.csv", delimiter=",") == w).all() and float(open("deep.csv").read()) == deep, (w, deep)'
    check() { # MESSAGE STATEMENTS
        printf 'A = gen(range, [10])\nstate w = gen(zero, [])\nrepeat 2 as t {\nstate a = w\nrepeat 4 as u {\n%b\n}\nnext w = a\n}\noutput w\n' "$2" >p.tra
        status 2 tra check p.tra
        has "$1"
    }
    check "p.tra:6:15: error: where t = 1, u = 2 this dimension has 10 positions, of which 10:11 is no range" \
        'x = slice(A, [8*t+u : 8*t+u+1])\nnext a[] = a[] + x[0]'
    check "where t = 0, u = 1 the range has 2 positions, where t = 0, u = 0 1" \
        'x = slice(A, [5*t+u : 5*t+2*u+1])\nnext a[] = a[] + x[0]'
    check "where t = 1, u = 1 this is another function of the keys than where t = 0, u = 0: of <0>" \
        'x = filter(A, (i) -> t*u < 1)\nnext a[] = a[] + x[0]'
    printf 'A = gen(range, [10])\nstate w = gen(zero, [])\nrepeat 2000000000 as t { x = slice(A, [t%%3 : t%%3+1]); next w[] = w[] + x[0] }\noutput w\n' >p.tra
    status 2 tra check p.tra
    has "this is evaluated for all turns"
}

@test "a trace of a loop in a loop stands after both, with the last turn of the outer one, and a warning" {
    cat >traces.tra <<'END'
state w = gen(1, [])
repeat 3 as t {
    state v = gen(0, [])
    repeat 4 as u { next v[] = v + u + t; b[] = v > 3; trace inner(v, t, b) } until v > 4
    repeat 2 as a { state d = gen(0, []); repeat 3 as e { next d[] = d + e; trace deep(d, t, a) }; trace unread(d) }
    next w[] = w + v
}
more = project(inner, turn, v = v + 0.5, t, b) # not unread, which is a label here
z = gen(range, [2]); deep2[unread] = z[unread]
repeat 0 { repeat 2 as u { trace never(u) } }
output w to "w.csv"
output more to "inner.csv"
output deep to "deep.csv"
output never to "never.csv"
output deep2 to "csv:-"
END
    everywhere traces.tra w.csv inner.csv deep.csv never.csv
    is $'turn,v,t,b\n0,0.5,2,false\n1,2.5,2,false\n2,5.5,2,true' cat inner.csv
    is $'turn,d,t,a\n0,0,2,1\n1,0,2,1\n2,1,2,1' cat deep.csv
    is "turn,u" cat never.csv
    status 0 tra check traces.tra
    has "traces.tra:4:62: warning: after the loop around it 'inner' has the rows of the last turn of that"
    has "'unread' is not used"
    lacks "'unread' has the rows"
}

@test "names of a body are free again after its loop, for relations, states, counters and other loops" {
    cat >free.tra <<'END'
state w = gen(zero, [3])
repeat 2 as t { repeat 1 as u { trace z(u) }; a = w + 1; b = a * t; next w = b }
a = w * 2
repeat 2 as t { b = w + 1; next w = b }
repeat 1 as t {
    repeat 1 as u { c = w + 1; state d = c; repeat 2 as v { e = d * 2; next d = e }; f = d }
    next w = w + 1
}
b[i] = w[i]
t = b + w
state d = t * 2
repeat 1 as u { next d = d + 1 }
output a to "a.csv"
output b to "b.csv"
output d to "d.csv"
END
    everywhere free.tra a.csv b.csv d.csv
    is $'2\n2\n2' cat a.csv
    is $'4\n4\n4' cat b.csv
    is $'17\n17\n17' cat d.csv
    for use in 'c = b + 1' 'c[i] = b[i] + 1' 'c = abs(b)' 'c = transpose(b)'; do
        printf 'state w = gen(zero, [3])\nrepeat 2 { b = w + 1; next w = b }\n%s\noutput c\n' "$use" >p.tra
        status 2 tra check p.tra
        has "there is no relation 'b'"
        has "it is of one turn of a loop that has ended"
    done
    printf 'state w = gen(zero, [3])\nrepeat 2 { b = a + 1; next w = b }\na = w\noutput a\n' >p.tra
    status 2 tra check p.tra
    has "'a' is used before its definition"
    printf 'A = gen(range, [4])\nstate T = table(A)\nrepeat 2 as t { next T = select(T, value != t) } until rows(T) < 3\noutput T\n' >p.tra
    status 2 tra check p.tra
    has "a statement of its own makes that, without labels: n = rows(T); here its name stands"
    printf 'state v[j] = gen([10])\nrepeat 2 { next v[j] = v[j] }\noutput v\n' >p.tra
    status 2 tra check p.tra
    has "without labels: n = gen(uniform, [3, 4], seed = 1)"
    printf 'a,b\n1,2\n,3\n' >s.csv
    printf 'input s from "s.csv"\nstate T = s\nrepeat 3 as t { next T = project(T, a = if(isnull(a), t, a), b) }\noutput T to "T.csv"\n' >p.tra
    status 2 tra run p.tra
    has "a is i32 in the state, i64 in its next value; before the loop, project(T, a = i64(a), *) begins with i64"
    sed -i 's/T = s$/T = project(s, a = i64(a), *)/' p.tra
    status 0 tra run -q p.tra
    [ "$(cat T.csv)" = "$(printf 'a,b\n1,2\n0,3')" ]
}

@test "what is saved of states is not taken for what they began with, nor for other states that began alike" {
    cat >p.tra <<'END'
X = gen(uniform, [6], seed = 1)
d[i] = X[i] * 2
state a = gen(0, [6], type = f64)
state c = gen(0, [6], type = f64)
state b = d
state e = d
repeat 20000 {
    next a = b
    next c = e
    next b[i] = (b[i] + 1) % 7
    next e[i] = (e[i] * 2) % 5
}
f[i] = a[i] + 10 * b[i] + 100 * d[i]
state y[i] = f[i] - c[i] * e[i]
repeat 20000 { next y[i] = y[i] * 0.999 + d[i]
}
output y
END
    tra run -q p.tra
    want=$(tra digest y.h5)
    for after in 0.1 0.3 0.5; do
        rm y.h5
        run timeout -s KILL $after "$TRA" run -q --checkpoint 0 p.tra
        [[ $status = @(0|137) ]]
        status 0 tra run -q --resume --checkpoint 0 p.tra
        is "$want" tra digest y.h5
    done
    sed 's/20000/19999/' p.tra >other.tra
    rm y.h5
    run timeout -s KILL 0.2 "$TRA" run -q --checkpoint 0 p.tra
    [[ $status = 137 ]] || return 0
    status 2 tra run -q --resume other.tra
    has "the program is not the one"
    status 0 tra run -q --resume p.tra
}
