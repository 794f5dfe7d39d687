# What is written first by who has not read the manual: it runs, or the message says how to write it.
load helper

@test "a state begins with a number, and a next value is one: Newton's root, an epidemic, bits of every kind" {
    cat >p.tra <<'END'
param rate = 0.5
state x = 1.0
state r = rate / 2 + sqrt(4)
state n[] = 3
repeat 20 as t {
    next x = x - (x^2 - 2) / (2 * x)
    next r = rate
    next n[] = -1
    trace log(x, r, n)
} until abs(x^2 - 2) < 1e-12
both[] = x * 1000 + r + n
output both to "csv:-"
output log to "log.csv"
END
    is 1413.7135623730949 tra run -q p.tra
    is 1413.7135623730949 tra run -q --sites 2 p.tra
    is 1413.7135623730949 tra run -q --engine reference p.tra
    is $'turn,x,r,n\n0,1,2.25,3\n1,1.5,0.5,-1' head -3 log.csv
}

@test "errors of loops say what would do" {
    while IFS='|' read -r text what; do
        printf 'X = gen(range, [4, 5], type = i32)\nW = gen(range, [4, 4])\n%b\noutput X\n' "$text" >p.tra
        status 2 tra check p.tra
        has "$what"
    done <<'END'
N[i,j] = X[i-1,j] + X[i,j]|shift it before, with 0 at the border: slice(stack(gen(0, [1, 5]), X, 0), [:4, :])
N[i,j] = X[i,j+1] + X[i,j]|shift it before, with 0 at the border: slice(stack(X, gen(0, [4, 1]), 1), [:, 1:])
state D = W; repeat 4 as k { next D[i,j] = min(D[i,j], D[i,k] + D[k,j]) }|slice(X, [k:k+1]) is the part of X that the counter k stands for
state D = X; repeat 4 as k { next D[i,j] = D[i,j] + k }|write i32(..) around the next value, or i64(..) around the first
repeat rows(X) { trace n(X) }|extent(T, 0) is how many rows T has
state level[i] = -1|gen(0, [10]) is ten zeros
END
}
