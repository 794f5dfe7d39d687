# tra run: stages that read an input in one pass.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    tra gen -q --shape 200011x40 --block 500x40 --dist normal --seed 1 -o X.h5
    tra gen -q --shape 200011x1 --block 500x1 --dist normal --seed 2 -o y.h5
    cat >several.tra <<'EOP'
input X from "X.h5"
input y from "y.h5"
G[i,j] = sum X[n,i] * X[n,j]
b[i,c] = sum X[n,i] * y[n,c]
m[i] = max X[n,i]
d[n] = sum X[n,i] * X[n,i]
output G
output b
output m
output d
EOP
    for r in G b m d; do grep -v output several.tra | { cat; echo "output $r to \"one-$r.h5\""; } >$r.tra; done
    for r in G b m d; do tra run -q --memory 1G $r.tra; done
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

# The results are numpy's.
right() {
    py 'x, y, g, b, m, d = (h5py.File(f + ".h5")["data"][:] for f in "XyGbmd")
assert np.allclose(g, x.T @ x, rtol=1e-12, atol=1e-7) and np.allclose(b, x.T @ y, rtol=1e-12, atol=1e-8)
assert (m == x.max(0)).all() and np.allclose(d, (x * x).sum(1), rtol=1e-12)'
}

# plan NAME of the profile
figure() { py 'print(json.load(open("p.json"))["plans"][0]'"$1"')'; }

@test "several results of an input: it is read once, and does not stay in memory, whatever the ceiling" {
    local bytes=$((200011 * 41 * 8)) chunks=$((401 * 500 * 41 * 8))
    for memory in 64M 8G; do
        tra run -q --threads 2 --memory $memory several.tra --profile p.json
        [ "$(figure '["measured"]["disk_read_bytes"]')" -eq $chunks ]
        [ "$(figure '["disk_read_bytes"]')" -eq $chunks ]
        [ "$(figure '["peak_memory_bytes"]')" -lt $((64 << 20)) ]
        [ "$(figure '["measured"]["peak_memory_bytes"]')" -lt $((64 << 20)) ]
        for r in G b m d; do
            same_digest $r.h5 one-$r.h5
        done
    done
    right
    for threads in 1 4; do # which compute what some steps add at the same time
        tra run -q --threads $threads several.tra
        for r in G b m d; do same_digest $r.h5 one-$r.h5; done
    done
    [ $chunks -gt $bytes ]
    [ "$(py 'print(len({o["scan"] for o in json.load(open("p.json"))["plans"][0]["operators"] if "scan" in o}))')" -eq 1 ]
    tra explain --operators several.tra >text
    grep -q 'scan of #' text
}

@test "an input that every stage of a scan reads by a map: its blocks do not stay in memory" {
    tra gen -q --dtype i64 --shape 100000x60 --block 500x60 --seed 3 -o I.h5
    cat >maps.tra <<'EOP'
input I from "I.h5"
a[j] = max[i](I[i,j] * 3 - 1)
b[i] = min[j](I[i,j])
O[] = sum[j](a[j]) + sum[i](b[i])
output O
EOP
    mkdir -p machine/tra # at whose rates both maps come before the first stage that reads them
    cat >machine/tra/machine.json <<'EOP'
{"tra_machine": 1, "host": "h", "cpu": "c", "blas_kernel": "k", "when": "w", "ranks": 1, "threads": 1,
 "network_bytes_per_second": 0, "network_one_way_bytes_per_second": 0,
 "disk_read_bytes_per_second": 1e12, "disk_write_bytes_per_second": 3e10, "flops_f64_per_second": 6.8e10,
 "flops_f32_per_second": 1.4e11, "memory_bytes_per_second": 5e9, "first_touch_bytes_per_second": 1.2e9,
 "network_unhidden_share": 1, "disk_read_unhidden_share": 1}
EOP
    export XDG_CONFIG_HOME=$PWD/machine
    tra run -q --threads 1 --memory 8G maps.tra --profile p.json
    [ "$(figure '["measured"]["peak_memory_bytes"]')" -lt $((40 << 20)) ]
    tra explain --operators --memory 8G maps.tra >text
    grep -q 'scan of #' text
    py 'x, o = (h5py.File(f + ".h5")["data"][()] for f in "IO")
assert o == (x.max(0) * 3 - 1).sum() + x.min(1).sum()'
}

@test "several results of an input on several ranks, by either transport, and reproducibly" {
    tra run -q --reproducible several.tra
    right
    for r in G b m d; do cp $r.h5 same-$r.h5; done
    for n in 2 3; do
        for transport in mpi files; do
            tra run -q --sites $n --threads 1 --reproducible --transport $transport several.tra
            for r in G b m d; do tra diff -q $r.h5 same-$r.h5; done
        done
    done
}

@test "a product of an input with itself streams past memory" {
    tra run -q --threads 2 --memory 8G G.tra --profile p.json
    [ "$(figure '["measured"]["disk_read_bytes"]')" -eq $((401 * 500 * 40 * 8)) ]
    [ "$(figure '["measured"]["peak_memory_bytes"]')" -lt $((64 << 20)) ]
}

@test "an input that is cut along two dimensions, or that a later stage reads, is not scanned" {
    tra gen -q --shape 900x900 --block 300x300 --seed 3 -o Y.h5
    printf 'input Y from "Y.h5"\nr[i] = sum Y[i,j]\nc[j] = sum Y[i,j]\noutput r\noutput c\n' >two.tra
    tra explain --format json two.tra >e.json
    [ "$(py 'print(sum("scan" in o for o in json.load(open("e.json"))["plans"][0]["operators"]))')" -eq 0 ]
    printf 'input X from "X.h5"\nm[i] = max X[n,i]\nE[n,i] = X[n,i] - m[i]\nv[i] = sum E[n,i]^2\noutput v\n' >later.tra
    tra run -q later.tra --profile p.json
    # v may go along with E, or E be computed in v, but neither goes with m
    py 'scans = [o["name"] for o in json.load(open("p.json"))["plans"][0]["operators"] if "scan" in o]
assert scans in ([], ["E", "v"]), scans'
    py 'x = h5py.File("X.h5")["data"][:]; v = h5py.File("v.h5")["data"][:]
assert np.allclose(v, ((x - x.max(0)) ** 2).sum(0))'
}

@test "a logistic step: what a stage makes of a block goes to the next while the block is there" {
    tra gen -q --shape 40 --block 40 --dist normal --seed 5 -o w.h5
    tra gen -q --shape 200011 --block 500 --dist normal --seed 6 -o t.h5
    cat >step.tra <<'EOP'
input X from "X.h5"
input t from "t.h5"
input w from "w.h5"
p[n] = sum X[n,i] * w[i]
g[i] = sum X[n,i] * (sigmoid(p[n]) - t[n])
v[i] = w[i] - 0.01 * g[i]
output v
EOP
    for memory in 64M 8G; do
        tra run -q --threads 2 --memory $memory step.tra --profile p.json
        [ "$(figure '["measured"]["disk_read_bytes"]')" -eq $((401 * 500 * 41 * 8 + 40 * 8)) ]
        [ "$(figure '["measured"]["peak_memory_bytes"]')" -lt $((64 << 20)) ]
        py 'x, t, w, v = (h5py.File(f + ".h5")["data"][:] for f in "Xtwv")
assert np.allclose(v, w - 0.01 * x.T @ (1 / (1 + np.exp(-(x @ w))) - t))'
    done
    for n in 2 3; do
        mv v.h5 one.h5
        tra run -q --sites $n --threads 1 step.tra
        tra diff -q --rtol 1e-12 v.h5 one.h5
    done
}

@test "a loop reads an input that does not fit once a turn, also where it is read after the loop, and on several ranks" {
    tra gen -q --shape 40000x64 --block 2000x64 --seed 3 -o A.h5
    cat >turns.tra <<'END'
input A from "A.h5"
state w = gen(0.5, [64])
repeat 3 {
    p[n] = sum[j](A[n,j] * w[j])
    g[j] = mean[n](A[n,j] * tanh(p[n]))
    next w[j] = w[j] - 0.1 * g[j]
}
B[i] = max[n](A[n,i] * w[i])
output w
output B
END
    for how in "1 28M" "1 32M" "2 34M" "2 40M" "1 44M --sites 3"; do
        # shellcheck disable=SC2086
        tra run -q --no-history --threads ${how% *M*} --memory ${how#* } turns.tra --profile p.json
        # three turns, and B
        status 0 py 'm = json.load(open("p.json"))["plans"][0]["measured"]
assert sum(s["disk_read_bytes"] for s in m["sites"]) < 4.1 * 40000 * 64 * 8, (sys.argv[1], m["disk_read_bytes"])' "$how"
    done
}

@test "a killed scan goes on where it was" {
    tra gen -q --shape 400000x40 --block 500x40 --dist normal --seed 4 -o Z.h5
    sed 's/X.h5/Z.h5/; /y/d; /output b/d' several.tra >kill.tra
    tra run -q --reproducible kill.tra
    for r in G m d; do mv $r.h5 same-$r.h5; done
    for delay in 0.05 0.15 0.3; do
        timeout -s KILL $delay "$TRA" run -q --reproducible kill.tra || true
        tra run -q --resume --reproducible kill.tra
        for r in G m d; do
            tra diff -q $r.h5 same-$r.h5
            rm $r.h5
        done
    done
}

# Bytes of records in the journals under the scratch directory.
@test "a scan with a triangle and distances is gone on with when it was killed" {
    export TRA_SCRATCH=$BATS_TEST_TMPDIR/scratch
    mkdir -p "$TRA_SCRATCH"
    tra gen -q --shape 12000x60 --block 100x60 --dist normal --seed 3 -o K.h5
    tra gen -q --shape 40x60 --block 40x60 --dist normal --seed 4 -o Q.h5
    cat >k.tra <<'EOP'
input K from "K.h5"
input Q from "Q.h5"
G[i,j] = sum K[n,i] * K[n,j]
E[n,i] = exp(K[n,i])
D[n,m] = sum abs(K[n,d] - Q[m,d])
output G
output E
output D
EOP
    tra run -q k.tra
    for r in G E D; do mv $r.h5 want-$r.h5; done
    for sites in 1 2 3; do
        rm -f [GED].h5
        TRA_CHECKPOINT_SECONDS=0.01 slow 10 "$TRA" run -q k.tra --threads 1 --sites $sites 2>log &
        run=$!
        meet $run recorded $((64 * 30))
        kill -KILL $run
        wait $run || true
        [ -z "$(ls [GED].h5 2>/dev/null)" ]
        status 0 tra run k.tra --resume --threads 1 --sites $sites
        [[ "$output" == *"are there"* ]]
        for r in E D; do status 0 tra diff --rtol 0 $r.h5 want-$r.h5; done
        status 0 tra diff --rtol 1e-12 --atol 1e-9 G.h5 want-G.h5
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
    done
}
