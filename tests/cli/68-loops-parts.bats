# States of several blocks that are divided among the sites from turn to turn.
load helper

program() {
    cat >p.tra <<'END'
X = gen(normal, [300, 20], by = [40, 20], seed = 1)
M = gen(normal, [20, 20], seed = 2)
G = gen(normal, [300, 300], by = [40, 100], seed = 5)
E[i,j] as csr = if(G[i,j] > 2, G[i,j], 0)
state Y = gen(uniform, [300, 20], by = [40, 20], seed = 3)
state Z = gen(uniform, [300, 20], by = [100, 7], seed = 3)
state v = gen(uniform, [300], by = [50], seed = 4)
state S[i,j] as csr = E[i,j]
state n = gen(1, [])
repeat 6 as t {
    P[i,j] = tanh(sum[k](Y[i,k] * M[k,j]) + X[i,j])
    next Y[i,j] = P[i,j] + Z[i,j] / 100
    next Z[i,j] = tanh(sum[k](G[i,k] * Y[k,j])) + v[i]
    w[i] = sum G[i,j] * v[j]
    next n = norm(w)
    next v[i] = w[i] / n + t / 100
    next S[i,j] as csr = S[i,j] / (t + 2) + E[i,j]
    trace log(n)
}
u[i] = sum S[i,k]
Q[i,j] = Y[i,j] + Z[i,j] * v[i] + u[i]
output Q
output log
END
}

@test "divided states give what whole ones do, on any number of sites and by both transports, and bytes are as predicted" {
    program
    status 0 tra run -q --engine reference p.tra
    mv Q.h5 wantQ.h5
    mv log.h5 wantlog.h5
    for how in "--sites 1" "--sites 2" "--sites 3" "--sites 5" "--sites 3 --transport files" "--sites 3 --reproducible"; do
        status 0 tra run -q $how --threads 1 --profile run.json p.tra
        for o in Q log; do status 0 tra diff --rtol 1e-10 $o.h5 want$o.h5; done
        py 'p = json.load(open("run.json"))["plans"][0]
where = {s["name"]: s["placement"] for s in p["loops"][0]["states"]}
parted = sys.argv[2] != "1"
assert all(w.startswith("part(0") == parted for s, w in where.items() if s != "n"), where
assert p["network_bytes"] == p["measured"]["network_bytes"], (p["network_bytes"], p["measured"]["network_bytes"])' $how
    done
}

@test "a state that each turn makes where it is moves no bytes; one that all sites read stays whole, where that is cheaper" {
    cat >p.tra <<'END'
X = gen(normal, [4000, 20], by = [500, 20], seed = 1)
M = gen(normal, [20, 20], seed = 2)
state Y = gen(uniform, [4000, 20], by = [500, 20], seed = 3)
state c = gen(1, [20])
repeat 20 as t {
    next Y[i,j] = tanh(sum[k](Y[i,k] * M[k,j]) + X[i,j] * c[j])
    next c[j] = mean Y[i,j]
}
output Y
output c
END
    status 0 tra run -q --sites 3 --threads 1 --profile run.json p.tra
    py 'p = json.load(open("run.json"))["plans"][0]
where = {s["name"]: s["placement"] for s in p["loops"][0]["states"]}
assert where["Y"] == "part(0)", where
assert p["network_bytes"] == p["measured"]["network_bytes"] < 20 * 3 * 20 * 8 * 4, p["network_bytes"]'
}

@test "divided tables; and a run on three sites that is stopped goes on with the same digest on one and on five" {
    "$PYTHON" -c 'print("a,b\n" + "\n".join(f"{2**33 + i * 31 % 997},{2**33 + i}" for i in range(270000)))' >t.csv
    cat >t.tra <<'END'
input t from "t.csv"
X = gen(normal, [600, 600], by = [100, 600], seed = 1)
state S = project(t, a, b)
state a = gen(uniform, [600, 30], by = [100, 30], seed = 2)
repeat 12 as i {
    next S = project(select(S, b % 13 != i), a = (a * 7 + i) % 1009, b = (b + a) % 1000003)
    next a[i,k] = tanh(sum[j](X[i,j] * a[j,k]) / 20) + 0.1 * a[i,k]
}
output S
output a
END
    status 0 tra run -q t.tra
    want=$(tra digest S.h5 a.h5)
    for sites in 1 5; do
        rm S.h5 a.h5
        run timeout -s TERM 0.7 "$TRA" run -q --checkpoint 0 --sites 3 --threads 1 t.tra
        status 0 tra run -q --resume --checkpoint 0 --sites $sites t.tra
        is "$want" tra digest S.h5 a.h5
    done
}
