# The examples that are installed: each runs, and computes what numpy does.
load helper

EXAMPLES=$ROOT/share/examples

# example FOLDER [VARIABLE=VALUE ...]: runs its script; the results are in ./FOLDER.
example() {
    local name=$1 script
    shift
    for script in "$EXAMPLES/$name"/*.sh; do status 0 env TRA="$TRA" "$@" "$script" "$name" || return; done
    has " in $name."
}

@test "every example is in the README with the command that runs it, and is tested here" {
    for file in "$EXAMPLES"/*/*.sh; do
        path=${file#"$ROOT/"}
        grep -q -F -e "$path" "$ROOT/README.md" || { echo "README.md lacks $path"; return 1; }
    done
    for folder in "$EXAMPLES"/*/; do
        name=$(basename "$folder")
        grep -q -F -e "](share/examples/$name)" -e "](share/examples/$name/README.md)" "$ROOT/README.md" ||
            { echo "README.md lacks share/examples/$name"; return 1; }
        grep -q -e "^    example $name" -e "examples/$name" "$BATS_TEST_DIRNAME"/7*.bats ||
            { echo "$name is not tested"; return 1; }
    done
}

@test "scripts find the program of a checkout, of an installation and in the PATH" {
    mkdir -p co/build co/share pre/bin pre/share/tra path
    printf '#!/bin/sh\n[ "$1" = gen ] || echo %s >>"%s/used"\nexec "%s" "$@"\n' checkout "$PWD" "$TRA" >co/build/tra
    sed 's/echo checkout/echo installed/' co/build/tra >pre/bin/tra
    sed 's/echo checkout/echo path/' co/build/tra >path/tra
    chmod +x co/build/tra pre/bin/tra path/tra
    cp -R "$EXAMPLES" co/share/
    cp -R "$EXAMPLES" pre/share/tra/
    cp -R "$EXAMPLES" alone
    for script in co/share/examples pre/share/tra/examples alone; do
        rm -f used
        (unset TRA && PATH=$PWD/path:$PATH status 0 $script/diag/diag.sh)
        sort -u used
    done >got
    [ "$(tr '\n' ' ' <got)" = "checkout installed path " ]
    rm -f used
    TRA=path/tra status 0 co/share/examples/diag/diag.sh
    [ "$(sort -u used)" = path ]
}

@test "matmul: the shapes of the paper" {
    example matmul
    has "square: 400 x 400 by 400 x 400"
    has $'cmm\t20000'
    has $'bmm-left\t160000'
    py 'for n in "square", "inner", "outer":
    a, b, c = (h5py.File(f"matmul/{n}-{x}.h5")["data"][()] for x in "abc")
    np.testing.assert_allclose(c, a @ b, rtol=1e-11, atol=1e-11)'
}

@test "diag: the diagonal of a sum" {
    example diag
    has "equal: 1000 elements"
    py 'x, y, d = (h5py.File(f"diag/{n}.h5")["data"][()] for n in "xyd")
assert d.shape == (1000,) and (d == np.diag(x + y)).all()'
}

@test "digits: the demo" {
    example digits
    has "The covariance agrees with the stored one"
}

@test "nearest: the nearest row in a metric" {
    example nearest SITES=2
    py 'q, x, m = (h5py.File(f"nearest/{n}.h5")["data"][()] for n in "qxm")
y = q - x
d = np.einsum("nd,de,ne->n", y, m, y)
b = h5py.File("nearest/best.h5")["data"][()]
np.testing.assert_allclose(b, [d.min(), d.argmin()], rtol=1e-11)'
}

# What network/train.sh does, in numpy: W and V after so many batches, and the accuracy.
network() {
    py 'root, batches, epochs, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
x = np.loadtxt(root + "/digits/pixels.csv", delimiter=",") / 16
t = np.loadtxt(root + "/digits/labels.csv").astype(int)
held = np.arange(len(x)) % 6 == 5
w, v = (0.15 * h5py.File(f"{folder}/{n}0.h5")["data"][()] for n in "wv")
y = np.eye(10)[t]
for e in range(epochs):
    for b in range(batches):
        bx, by = (z[~held][107 * b:107 * b + 107] for z in (x, y))
        a = bx @ w
        z = np.maximum(a, 0)
        p = np.exp(z @ v)
        p /= p.sum(1, keepdims=True)
        d = (p - by) / 107
        dw, dv = bx.T @ (d @ v.T * (a > 0)), z.T @ d
        w, v = w - dw, v - dv
for want, n in (w, "w"), (v, "v"):
    got = h5py.File(f"{folder}/{n}.h5")["data"][()]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
found = (np.maximum(x[held] @ w, 0) @ v).argmax(1)
np.testing.assert_allclose(float(sys.argv[-1]), (found == t[held]).mean(), rtol=1e-12)' \
        "$EXAMPLES" "$@" "$(sed -n 's/^epoch .* accuracy //p' <<<"$output" | tail -n 1)"
}

@test "network: a few steps of training" {
    example network EPOCHS=1 BATCHES=4
    has "epoch 1: accuracy 0."
    network 4 1 network
    cp -R network one
    example network EPOCHS=1 BATCHES=1 SITES=3
    network 1 1 network
}

@test "network: learns the digits" {
    example network
    has "epoch 25"
    accuracy=$(sed -n 's/^epoch 25: accuracy //p' <<<"$output")
    awk -v a="$accuracy" 'BEGIN { exit !(a > 0.95) }'
    network 14 25 network
}

@test "kmeans: a few steps, and to the end" {
    example kmeans STEPS=3
    py 'x = np.loadtxt(sys.argv[1], delimiter=",")
c = x[:10]
for step in range(3):
    d = ((x[:, None, :] - c[None]) ** 2).sum(2)
    n = d <= d.min(1, keepdims=True)
    size = n.sum(0)
    new = np.where(size[:, None] > 0, n.T.astype(float) @ x / np.maximum(size, 1)[:, None], c)
    moved, c = ((new - c) ** 2).sum(), new
np.testing.assert_allclose(h5py.File("kmeans/centres.h5")["data"][()], c, rtol=1e-10)
np.testing.assert_allclose(float(sys.argv[2]), d.min(1).sum(), rtol=1e-10)
np.testing.assert_allclose(float(sys.argv[3]), moved, rtol=1e-8)' "$EXAMPLES/digits/pixels.csv" \
        $(sed -n 's/^step 3: sum of squares \(.*\), centres moved \(.*\)/\1 \2/p' <<<"$output")
    example kmeans
    has "centres moved 0"
}

@test "kmeans: a centre without rows stays" {
    printf '1,1\n2,2\n9,9\n' | tra import -q --from csv -o x.h5 -
    printf '0,0\n9,9\n50,50\n' | tra import -q --from csv -o centres.h5 -
    cp "$EXAMPLES/kmeans/kmeans.tra" .
    status 0 tra run -q kmeans.tra -D steps=1
    is "1.5,1.5
9,9
50,50" tra export -q --to csv -o - centres.h5
}

@test "pca: directions and variances" {
    example pca COMPONENTS=2
    py 'x = np.loadtxt(sys.argv[1], delimiter=",")
w, v = np.linalg.eigh(np.cov(x, rowvar=False))
for n in 1, 2:
    got = h5py.File("pca/components.h5")["data"][n - 1]
    assert abs(abs(got @ v[:, -n]) - 1) < 1e-9
    assert f"component {n}: variance {w[-n]:.6f}"[:-2] in sys.argv[2]' "$EXAMPLES/digits/pixels.csv" "$output"
}

# share/examples/bixi and share/examples/dblp, on one site and on three.

# tables: reads the CSV files of an example by their headers.
tables='import csv
def table(path):
    rows = list(csv.DictReader(open(path)))
    return {k: np.array([r[k] for r in rows]) for k in rows[0]}
def floats(x): return x.astype(float)
'

@test "bixi: coefficients, and how well they do on trips held out, on 1 and 3 sites" {
    for sites in 1 3; do
        rm -rf bixi
        example bixi ROWS=6000 SITES=$sites TRA_MEMORY=64M
        py "$tables"'s, t = table("bixi/stations.csv"), table("bixi/trips.csv")
at = {c: (a, o) for c, a, o in zip(s["code"], floats(s["lat"]), floats(s["lon"]))}
a, b = (np.array([at[c] for c in t[k]]) for k in ("start", "end"))
km = np.hypot(*((a - b) * [111.2, 78]).T)
y, other = floats(t["duration"]), t["start"] != t["end"]
get = lambda n: h5py.File(f"bixi/{n}.h5")["data"][()].ravel()
beta, rmse, r2 = get("beta"), get("rmse"), get("r2")
X = np.stack([np.ones(len(y)), km], 1)
# which rows were held out the hash says: the sums of all, and what generated them, hold all the same
full = np.linalg.lstsq(X[other], y[other], rcond=None)[0]
assert abs(beta - full).max() < 8 and abs(beta[1] - 240) < 2 and abs(beta[0] - 240) < 10, (beta, full)
assert 60 < rmse < 80 and r2 > .99
f = h5py.File("bixi/beta.h5")
assert [list(map(bytes.decode, d[0][()])) for d in f["data"].dims] == [["one", "km"], ["seconds"]]'
    done
    printf '%s\n' 'input trip from "bixi/trips.h5"' 'ride = select(trip, start != end && duration > 0)' \
        't = project(ride, *, held = hash(start, end, duration) % 5 == 0)' 'output t' >held.tra
    status 0 tra run -q held.tra
    status 0 tra export -q t.h5 -o held.csv
    py "$tables"'s, t = table("bixi/stations.csv"), table("held.csv")
at = {c: (a, o) for c, a, o in zip(s["code"], floats(s["lat"]), floats(s["lon"]))}
a, b = (np.array([at[c] for c in t[k]]) for k in ("start", "end"))
X = np.stack([np.ones(len(a)), np.hypot(*((a - b) * [111.2, 78]).T)], 1)
y, held = floats(t["duration"]), t["held"] == "true"
beta = np.linalg.lstsq(X[~held], y[~held], rcond=None)[0]
miss = y[held] - X[held] @ beta
get = lambda n: h5py.File(f"bixi/{n}.h5")["data"][()].ravel()
np.testing.assert_allclose(get("beta"), beta, rtol=1e-9)
np.testing.assert_allclose(get("rmse"), np.sqrt((miss ** 2).mean()), rtol=1e-9)
np.testing.assert_allclose(get("r2"), 1 - miss @ miss / ((y[held] - y[held].mean()) ** 2).sum(), rtol=1e-9)'
}

@test "dblp: the covariance of conferences, and the pairs of rank A++ that have most in common, on 1 and 3 sites" {
    for sites in 1 3; do
        rm -rf dblp
        example dblp AUTHORS=700 CONFERENCES=40 SITES=$sites TRA_MEMORY=64M
        py "$tables"'t, r = table("dblp/papers.csv"), table("dblp/ranking.csv")
authors, i = np.unique(t["author"], return_inverse=True)
conf, j = np.unique(t["conf"], return_inverse=True)
x = np.zeros((len(authors), len(conf)))
np.add.at(x, (i, j), floats(t["papers"]))
c = np.cov(x, rowvar=False)
f = h5py.File("dblp/C.h5")
np.testing.assert_allclose(f["data"][()], c, atol=1e-12)
assert [b.decode() for b in f["data"].dims[1][0]] == conf.tolist()
rank = dict(zip(r["conf"], r["rank"]))
want = sorted(((-c[a, b], conf[a], conf[b]) for a in range(len(conf)) if rank[conf[a]] == "A++"
               for b in range(len(conf)) if a != b))[:10]
got = [l.split(",") for l in sys.argv[1].splitlines()[1:-1]]
assert [g[:2] for g in got] == [list(w[1:]) for w in want]
np.testing.assert_allclose([float(g[2]) for g in got], [-w[0] for w in want], rtol=1e-9)' "$output"
    done
}

@test "customers: who leaves, kinds of customers, and a report" {
    example customers CUSTOMERS=300
    py "$tables"'import collections
c, s = table("customers/customers.csv"), table("customers/sales.csv")
buys = collections.Counter(s["customer"])
spent = collections.defaultdict(float)
for k, v in zip(s["customer"], floats(s["price"])): spent[k] += v
n = np.array([buys[i] for i in c["id"]], float)
X = np.stack([np.ones(len(n)), c["monthly"] == "true", n - 8, floats(c["age"]) - 40], 1).astype(float)
y, w = (c["left"] == "true").astype(float), np.zeros(4)
for step in range(30):
    p = 1 / (1 + np.exp(-X @ w))
    w += np.linalg.solve(X.T * (p * (1 - p)) @ X, X.T @ (y - p))
np.testing.assert_allclose(h5py.File("customers/w.h5")["data"][()].ravel(), w, rtol=1e-7)
Z = np.stack([(floats(c["age"]) - 40) / 15, (n - 8) / 5, (np.array([spent[i] for i in c["id"]]) - 90) / 40], 1)
centres = np.array([[-1, 1, -1], [0, 0, 0], [1, -1, 1]], float)
for step in range(60):
    near = ((Z[:, None] - centres[None]) ** 2).sum(2).argmin(1)
    centres = np.array([Z[near == k].mean(0) for k in range(3)])
np.testing.assert_allclose(h5py.File("customers/centres.h5")["data"][()], centres, rtol=1e-9)
report = list(csv.DictReader(open("customers/report.csv")))
where, rows = dict(zip(c["id"], c["region"])), collections.defaultdict(list)
for k, day, price in zip(s["customer"], s["day"], floats(s["price"])):
    rows[(int(day[5:7]) - 1) // 3 + 1, where[k]].append(price)
assert len(report) == len(rows) == 12
for r in report:
    v = rows[int(r["quarter"]), r["region"]]
    assert (int(r["sales"]), float(r["best"])) == (len(v), max(v)) and abs(float(r["revenue"]) - sum(v)) <= .5001
    assert abs(float(r["share"]) - 100 * sum(v) / sum(sum(x) for q, x in rows.items() if q[0] == int(r["quarter"]))) < .051
    order = [(int(x["quarter"]), -float(x["revenue"])) for x in report]
    assert order == sorted(order)'
    size=$(cut -d, -f1 customers/sales.csv | sort -u | wc -l)
    ((size > 250))
}
