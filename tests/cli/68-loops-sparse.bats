# Loops over sparse matrices: what is brought into another order once, and shared by the threads.
load helper

graph() {
    status 0 tra gen -q --shape 20000x20000 --block "${1:-20000x20000}" --density 0.002 --pattern rmat --storage csr --seed 3 -o g.h5
    cat >walk.tra <<'END'
input G from "g.h5"
param turns = 300
state v = gen(1, [extent(G, 0)], by = [7000])
repeat turns {
    w[j] as dense = sum v[i] * G[i,j]
    top[]         = max w[j]
    next v[j]     = w[j] / top
}
output v
END
}

@test "a sparse matrix that a loop adds up by columns is transposed once, where its turns pay for that" {
    graph
    status 0 tra explain --operators --rules --threads 2 walk.tra
    has "R1-8"
    status 0 tra explain --format json --threads 2 walk.tra
    echo "$output" >plan.json # operand, result, and what one of the threads sorts: the others help without memory
    py 'o = {"t" if "ab->ba" in x["label"] else x["op"]: x for x in json.load(open("plan.json"))["plans"][0]["operators"]}
t, n = o["t"], o["t"]["entries"]
assert n > 5e5 and t["least_memory_bytes"] - o["state"]["least_memory_bytes"] < 64 * n, (n, t["least_memory_bytes"])'
    status 0 tra run -q --threads 2 walk.tra
    cp v.h5 once.h5
    for more in "--without R1-8" "--threads 1" "--sites 2" "--sites 3 --threads 1"; do
        status 0 tra run -q $more walk.tra
        status 0 tra diff --rtol 1e-11 v.h5 once.h5
    done
    status 0 tra explain --operators --rules --threads 2 -D turns=1 walk.tra
    lacks "R1-8"
    cat >rows.tra <<'END' # rows of the result that no cache has cost as much as such rows of the operand
input G : f64 [1048576, 1048576] as csr nnz 16000000
param columns = 4
param turns = 20
state v = gen(1, [extent(G, 0), columns])
repeat turns { w[j,c] as dense = sum v[i,c] * G[i,j]; next v[j,c] = w[j,c] * 0.1 }
output v
END
    for columns in 4 16; do
        status 0 tra explain --operators --threads 2 -D columns=$columns rows.tra
        has "ab->ba"
    done
    status 0 tra explain --operators --threads 2 -D turns=1 rows.tra
    lacks "ab->ba"
}

@test "products of rows of entries in blocks of any shape are shared out by their entries, with the same bits" {
    for block in 20000x20000 4500x20000 20000x6100 7100x7100; do
        graph $block
        status 0 tra gen -q --shape 20000x7 --block 20000x7 --dist normal --seed 4 -o d.h5
        cat >products.tra <<'END'
input G from "g.h5"
input D from "d.h5"
A[i,r] as dense = sum G[i,j] * D[j,r]
B[j,r] as dense = sum G[i,j] * D[i,r]
C[r,j] as dense = sum G[i,j] * D[i,r]
output A
output B
output C
END
        status 0 tra compile products.tra --threads 1 -o products.plan # what is chosen depends on threads
        status 0 tra run -q --threads 1 products.plan
        for x in A B C; do mv $x.h5 one$x.h5; done
        for threads in 2 5; do
            status 0 tra run -q --threads $threads products.plan
            for x in A B C; do status 0 tra diff $x.h5 one$x.h5; done
        done
    done
}

@test "what a loop takes under other keys, and others read, is computed first" {
    tra gen -q --shape 9x9 --block 4x4 --dist range -o a.h5
    tra gen -q --shape 9x9 --block 4x4 --density 0.3 --seed 2 -o b.h5
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
z = transpose(A)
y = transpose(B)
w[i] = sum z[i,j] * y[i,j]
state S = z
state R = y
state Q = z
repeat 3 {
    u = transpose(S)
    v = transpose(R)
    n[i] = sum u[i,j] * v[j,i]
    state P = v
    repeat 2 {
        x = transpose(P)
        m[i] = max x[i,j]
        next P = x
    }
    next S[i,j] = (u[i,j] + Q[i,j] * n[i] + P[i,j]) % 11
    next R = v
    next Q = u
}
output S to "s.h5"
output R to "r.h5"
output Q to "q.h5"
output w to "w.h5"
END
    as_reference p.tra s.h5 r.h5 q.h5 w.h5
}

@test "the last value of a state is an output in other storages, and compressed" {
    tra gen -q --shape 40x40 --block 13x40 --dist range -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'state S = A' 'repeat 2 as t {' 'next S[i,j] = S[i,j] + A[j,i]' 'trace log(t)' '}' \
        'output S to "s.h5" as csc' 'output log to "log.h5"' >p.tra
    as_reference p.tra s.h5 log.h5
    sed -i 's/ as csc//' p.tra
    status 0 timeout 60 "$TRA" run -q --codec zstd p.tra
    status 0 tra diff s.h5 reference-s.h5
}

@test "a state that still has blocks of an input is saved at the end of a turn" {
    tra gen -q --shape 40x40 --block 13x11 --density 0.2 --codec zstd --seed 3 -o b.h5
    printf '%s\n' 'input B from "b.h5"' 'state S = B' 'state v = gen(zero, [9])' 'repeat 3 {' 'next S = S' \
        'next v[i] = v[i] + 1' '}' 'output S to "s.h5"' 'output v to "v.h5"' >p.tra
    status 0 tra run -q --checkpoint 0 p.tra
    status 0 tra diff s.h5 b.h5
}

@test "states that begin with other keys of an input are saved from the first turn on, and resumed" {
    tra gen -q --shape 39x39 --block 13x13 --dist range -o a.h5
    tra gen -q --shape 39x39 --block 13x13 --density 0.2 --codec zstd --seed 3 -o b.h5
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
R = rekey(A, (i,j) -> (2-i, j))
state S = R
state T = transpose(B)
repeat 30 {
    state P = S
    repeat 25 { next P[i,j] = P[j,i] + 1
    }
    next S[i,j] = (P[i,j] + R[i,j]) % 13
    next T = T
}
output S
output T
END
    tra run -q p.tra
    want=$(tra digest S.h5 T.h5)
    for how in '1 KILL 0.15' '3 TERM 0.5'; do
        read -r sites signal after <<<"$how"
        rm S.h5 T.h5
        run timeout -s $signal $after "$TRA" run -q --checkpoint 0 --sites $sites p.tra
        [[ $status = @(0|75|124|137) ]]
        status 0 tra run -q --resume --checkpoint 0 --sites $sites p.tra
        is "$want" tra digest S.h5 T.h5
    done
}
