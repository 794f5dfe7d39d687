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
