# Every scalar function in EinSum, functions of elements and tables, and every aggregation, against numpy and scipy.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    py '
r = np.random.default_rng(7)
x = np.concatenate([[0., -0.5, 0.5, 1., -1., 2.5, -2.5, 0.3, 700., -700.], r.normal(size=90)])
i = np.concatenate([[0, 1, -1, 2, -7, 5, 9, 3], r.integers(-20, 20, 92)])
k = np.where(r.integers(-5, 5, 100) == 0, 3, r.integers(-5, 5, 100))
data = {"f8": x, "f4": x.astype("f4"), "i8": i, "i4": i.astype("i4"), "b1": i > 0, "k": np.where(k == 0, 2, k)}
for n, v in data.items(): np.save(n + ".npy", v)
m = r.normal(size=(12, 9)); m[2, 3] = m[5, 0] = np.nan; m[7] = np.nan
np.save("M.npy", m); np.save("N.npy", np.nan_to_num(m)); np.save("J.npy", r.integers(-9, 9, (12, 9)))
np.savetxt("t.csv", np.column_stack([x, i, data["k"]]), delimiter=",", header="x,i,k", comments="", fmt=["%.17g", "%d", "%d"])
'
    for n in f8 f4 i8 i4 b1 k; do "$TRA" import -q --block 40 $n.npy -o $n.h5; done
    for n in M N J; do "$TRA" import -q --block 5x4 $n.npy -o $n.h5; done
    "$TRA" import -q --table t.csv -o t.h5
}

@test "each function is numpy's in EinSum, in functions of elements and in tables, of every type" {
    ln -s "$BATS_FILE_TMPDIR"/*.h5 "$BATS_FILE_TMPDIR"/*.npy .
    py '
import re, subprocess, scipy.special as sp
tra = sys.argv[1]
one = dict(abs=np.abs, sign=np.sign, floor=np.floor, ceil=np.ceil, round=np.rint, trunc=np.trunc, sqrt=np.sqrt, exp=np.exp,
    expm1=np.expm1, log=np.log, log1p=np.log1p, log10=np.log10, sin=np.sin, cos=np.cos, tan=np.tan, asin=np.arcsin,
    acos=np.arccos, atan=np.arctan, sinh=np.sinh, cosh=np.cosh, tanh=np.tanh, erf=sp.erf, relu=lambda v: np.maximum(v, 0),
    sigmoid=lambda v: 1 / (1 + np.exp(-v)), radians=np.radians, isnan=np.isnan, isinf=np.isinf)
two = {"mod(%s, %s)": np.mod, "%s %% %s": np.mod, "%s div %s": np.floor_divide, "min(%s, %s)": np.minimum,
    "max(%s, %s)": np.maximum, "hypot(%s, %s)": np.hypot, "atan2(%s, %s)": np.arctan2, "%s / %s": np.true_divide, "pow(%s, 2 + 0 * %s)": lambda v, k: v.astype(float) ** 2,
    "clip(%s, -1, %s)": lambda v, k: np.minimum(np.maximum(v, -1), k), "if(%s > 0, %s, -1)": lambda v, k: np.where(v > 0, k, -1)}
np.seterr(all="ignore")
k = np.load("k.npy")
# every function of tensors has a line here or above: the program lists them
listed = {f["name"] for f in json.loads(subprocess.run([tra, "help", "functions", "--format", "json"], capture_output=True).stdout) if "tensors" in f["in"]}
tested = set(one) | {re.match(r"(%s )?([a-z0-9]+)", e)[2] for e in two if re.match(r"(%s )?([a-z0-9]+)", e)} 
casts = {"bool", "i32", "i64", "f32", "f64"} # in a test of their own
assert listed <= tested | casts, listed - tested - casts
def run(text, *names):
    open("p.tra", "w").write(text)
    for how in ([], ["--engine", "reference"]):
        subprocess.run([tra, "run", "-q", *how, "p.tra"], check=True)
        yield how, h5py.File("out.h5")
def near(got, want, what):
    want = np.asarray(want, float)
    np.testing.assert_allclose(np.asarray(got, float), want, rtol=3e-6 if "f4" in what else 1e-12, atol=1e-6 if "f4" in what else 1e-13, err_msg=what)
for n in ("f8", "f4", "i8", "i4", "b1"):
    x = np.load(n + ".npy")
    v = x.astype(n) if n != "b1" else x.astype("i4")
    text, want = [f"input x from \"{n}.h5\"\ninput k from \"k.h5\""], {}
    def add(e, w, lam=None):
        name = f"r{len(want)}"
        text.append(f"{name}[i] = {e}" if lam is None else f"{name} = transform(x, x -> {lam})")
        text.append(f"output {name} to \"out.h5:{name}\"")
        want[name] = (w, f"{n}: {lam or e}")
    for f, w in one.items():
        ref = v.astype(float) if n[0] in "ib" else v
        ref = w(ref)
        add(f"{f}(x[i])", ref); add(None, ref, f"{f}(x)")
    for f, w in two.items(): add(f.replace("%%", "%") % ("x[i]", "k[i]") if "%%" not in f else "x[i] % k[i]", w(v, k))
    for how, out in run("\n".join(text) + "\n"):
        for name, (w, what) in want.items(): near(out[name][()], w, what + str(how))
        out.close()
# tables
x, i = np.load("f8.npy"), np.load("i8.npy")
text, want = [], {}
for f, w in one.items():
    for c, v in (("x", x), ("i", i.astype(float))): want[f"{f}_{c}"] = (w(v), f"{f}({c})")
for g, (f, w) in enumerate(two.items()):
    for c, v in (("x", x), ("i", i)): want[f"two{g}_{c}"] = (w(v, k), (f % (c, "k")) if "%%" in f or "%s" in f else f)
cols = ", ".join(f"{n} = {e}" for n, (_, e) in want.items())
for how, out in run(f"input t from \"t.h5\"\nR = project(t, {cols})\noutput R to \"out.h5:R\"\n"):
    for n, (w, e) in want.items():
        c = out["R"][n]
        near(c["values"][()] if isinstance(c, h5py.Group) else c[()], w, "table: " + e + str(how))
    out.close()
' "$TRA"
}

@test "casts of elements give that type, in EinSum, in functions of elements, in loops; what does not fit is an error" {
    ln -s "$BATS_FILE_TMPDIR"/*.h5 "$BATS_FILE_TMPDIR"/*.npy .
    py '
import subprocess
tra = sys.argv[1]
kinds = dict(bool="?", i32="<i4", i64="<i8", f32="<f4", f64="<f8")
for n in ("f8", "f4", "i8", "i4", "b1"):
    x = np.load(n + ".npy")
    text, want = [f"input x from \"{n}.h5\""], {}
    for c, d in kinds.items():
        w = (x != 0) if c == "bool" else x.astype(d)
        for k, (e, v) in enumerate({f"{c}(x[i])": w, f"{c}(x[i] * 2 + 1) + {c}(x[i])": None, f"i64({c}(x[i])) + 1": None}.items()):
            if k == 1: v = (x * 2 + 1 != 0) + (x != 0).astype("i4") if c == "bool" else (x.astype("f8") * 2 + 1).astype(d) + x.astype(d)
            if k == 2: v = w.astype("i8") + 1
            text += [f"{c}{k}[i] = {e}", f"output {c}{k} to \"out.h5:{c}{k}\""]
            want[f"{c}{k}"] = (v, e)
        text += [f"{c}t = transform(x, v -> {c}(v))", f"output {c}t to \"out.h5:{c}t\"", f"{c}s[] = sum {c}(x[i])", f"output {c}s to \"out.h5:{c}s\""]
        want[f"{c}t"] = (w, "transform " + c)
        want[f"{c}s"] = (w.sum(dtype="f8" if c[0] == "f" else "i8"), "sum " + c)
    open("p.tra", "w").write("\n".join(text) + "\n")
    for how in ([], ["--engine", "reference"], ["--sites", "3"]):
        subprocess.run([tra, "run", "-q", *how, "p.tra"], check=True)
        with h5py.File("out.h5") as out:
            for k, (v, e) in want.items():
                g = out[k]
                if k[-1] in "0t": assert g.dtype == v.dtype, (k, g.dtype, v.dtype, n)
                np.testing.assert_allclose(np.asarray(g[()], float).reshape(np.shape(v)), np.asarray(v, float), rtol=2e-6 if "f4" in n or "f32" in e else 1e-13, err_msg=f"{n} {e} {how}")
' "$TRA"
    printf '%s\n' 'input x from "f4.h5"' 'state S = x' 'repeat 3 as k { next S[i] = f32(S[i] + k) }' 'output S' >l.tra
    status 0 tra run -q l.tra
    py 'x = np.load("f4.npy"); s = h5py.File("S.h5")["data"]; assert s.dtype == "f4"; np.testing.assert_allclose(s[()], x + np.float32(3), rtol=1e-5, atol=1e-4)'
    for e in 'i64(x[i] / 0)' 'i32(x[i] * 1e9)' 'i64(nan + 0 * x[i])'; do
        printf '%s\n' 'input x from "f8.h5"' "Y[i] = $e" 'output Y' >e.tra
        told 3 tra run -q e.tra
        status 3 tra run -q --engine reference e.tra
    done
}

@test "each aggregation is numpy's after = and inside, with missing values, of floats and integers, on several sites" {
    ln -s "$BATS_FILE_TMPDIR"/*.h5 "$BATS_FILE_TMPDIR"/*.npy .
    py '
import subprocess, warnings
tra = sys.argv[1]
warnings.simplefilter("ignore"); np.seterr(all="ignore")
agg = dict(sum=np.sum, mean=np.mean, var=lambda a, axis: a.var(axis, ddof=1), std=lambda a, axis: a.std(axis, ddof=1),
    count=lambda a, axis: (~np.isnan(a)).sum(axis), any=lambda a, axis: (a != 0).any(axis), all=lambda a, axis: (a != 0).all(axis),
    nansum=np.nansum, nanmean=np.nanmean, max=np.max, min=np.min, median=np.median)
text = ["input %s from \"%s.h5\"" % (n, n) for n in "MNJ"]
want = {}
for n in "MNJ":
    a = np.load(n + ".npy")
    for f, w in agg.items():
        for left, axis in (("i", 1), ("j", 0), ("", None))[:2 if f == "median" else 3]:
            name = f"{f}{n}{left}"
            text += [f"{name}[{left}] = {f} {n}[i,j]", f"output {name} to \"out.h5:{name}\""]
            want[name] = w(a, axis)
        text += [f"in{f}{n}[i,j] = {n}[i,j] - {f}[k]({n}[i,k])", f"output in{f}{n} to \"out.h5:in{f}{n}\""]
        want[f"in{f}{n}"] = a - w(a.astype(float), 1)[:, None]
    for k, q in enumerate((0, 0.1, 0.5, 0.77, 1)):
        for left, axis in (("i", 1), ("j", 0)):
            text += [f"q{k}{n}{left}[{left}] = quantile[{chr(105 + axis)}]({n}[i,j] * 2, {q})", f"output q{k}{n}{left} to \"out.h5:q{k}{n}{left}\""]
            want[f"q{k}{n}{left}"] = np.quantile(a * 2, q, axis)
open("p.tra", "w").write("\n".join(text) + "\n")
for how in ([], ["--sites", "2"], ["--sites", "3"], ["--engine", "reference"]):
    subprocess.run([tra, "run", "-q", *how, "p.tra"], check=True)
    with h5py.File("out.h5") as out:
        for n, w in want.items(): np.testing.assert_allclose(out[n][()].reshape(np.shape(w)), w, rtol=1e-11, atol=1e-12, err_msg=n + str(how))
' "$TRA"
}

@test "nan, inf and pi are words, where no other thing has the name; names of aggregates, and of relations in tables" {
    ln -s "$BATS_FILE_TMPDIR"/*.h5 .
    program() { printf '%b\n' 'input t from "t.h5"' 'input x from "f8.h5"' "$@" 'output Y' >p.tra; }
    program 'Y[i] = if(x[i] > 0, pi, nan) * 0 + inf'
    status 0 tra run -q p.tra
    py 'y = h5py.File("Y.h5")["data"][()]; x = h5py.File("f8.h5")["data"][()]; assert (np.isinf(y) == (x > 0)).all() and (np.isnan(y) == ~(x > 0)).all()'
    program 'param pi = 3' 'Y[i] = 0 * x[i] + pi'
    status 0 tra run -q p.tra
    py 'assert (h5py.File("Y.h5")["data"][()] == 3).all()'
    program 'T = project(t, a = if(i > 0, 1, null))' 'Y = matrix(T, [a], fill = nan)'
    status 0 tra run -q p.tra
    py 'y = h5py.File("Y.h5")["data"][:, 0]; i = h5py.File("t.h5")["data"]["i"][()]; assert (np.isnan(y) == ~(i > 0)).all()'
    program 'Y = group(t, [], count(), mean(x), sum(i), q = quantile(x, 0.5))'
    status 0 tra run -q p.tra
    is 'count,mean_x,sum_i,q' bash -c '"$0" export -q Y.h5 -o - --to csv | head -1' "$TRA"
    program 'Y = group(t, [], mean(x * 2))'
    told 2 tra check p.tra
    program 'Y = select(t, x > 0)' 'Z = project(t, a = Y + 1)'
    told 2 tra check p.tra
    program 'W = project(t, i, big = i * 5000000000)' 'V = project(t, i, big = i)' 'Y = union(limit(W, 3), limit(V, 3))'
    status 0 tra run -q p.tra
}

@test "each function that help lists gives what help says, where help says that it stands" {
    printf '%s\n' x,y,s 1,1,b 2,3,a 4,5,c 8,8,a >t.csv
    py 'np.save("X.npy", [1., 2, 4, 8]); np.save("O.npy", [0.])'
    printf 'one\n1\n' >one.csv
    "$TRA" help functions --format json >help.json
    py '
import csv, subprocess
tra, rows = sys.argv[1], json.load(open("help.json"))
assert len(rows) > 120
def same(got, want, what):
    try: ok = got == want or abs(float(got) - float(want)) < 1e-9 * max(1, abs(float(want)))
    except ValueError: ok = got == want
    assert ok, (what, "gives", got, "not", want)
def table(statement, values):
    names = ", ".join(f"r{k} = {v}" for k, v in enumerate(values))
    open("p.tra", "w").write("input one from \"one.csv\"\ninput t from \"t.csv\"\nR = " + statement % names + "\noutput R to \"r.csv\"\n")
    for how in ([], ["--engine", "reference"], ["--sites", "2"]):
        subprocess.run([tra, "run", "-q", *how, "p.tra"], check=True)
        yield list(csv.reader(open("r.csv")))[1]
def each(place): return [r for r in rows if place in r["in"] and r["example"]]
for got in table("project(one, %s)", [r["example"] for r in each("tables")]):
    for g, r in zip(got, each("tables")): same(g, r["gives"], r["example"])
for got in table("group(t, [], %s)", [r["example"] for r in each("group")]):
    for g, r in zip(got, each("group")): same(g, r["gives"], r["example"])
text = ["input X from \"X.npy\"", "input O from \"O.npy\""]
tensors = each("tensors") + each("einsum")
for k, r in enumerate(tensors):
    text += [f"r{k}[i] = 0 * O[i] + " + r["example"] if "tensors" in r["in"] else f"r{k}[] = " + r["example"], f"output r{k} to \"out.h5:r{k}\""]
open("q.tra", "w").write("\n".join(text) + "\n")
for how in ([], ["--engine", "reference"], ["--sites", "2"]):
    subprocess.run([tra, "run", "-q", *how, "q.tra"], check=True)
    with h5py.File("out.h5") as f:
        for k, r in enumerate(tensors): same(float(f[f"r{k}"][()].reshape(-1)[0]), {"true": 1, "false": 0}.get(r["gives"], r["gives"]), r["example"])
' "$TRA"
}

@test "tra-functions(7) is what the table of functions makes; help knows words of other languages" {
    "$TRA" help functions.7 >page
    cmp page "$ROOT/man/tra-functions.7"
    status 0 tra help functions strftime
    has 'strftime(date "2024-02-29", "%d.%m.%Y") is 29.02.2024'
    told 2 tra help functions strftim
    told 2 tra help functions coalesce
    status 2 tra help run now
}

@test "a quantile has its share, and goes along one label" {
    refused() {
        printf '%s\n' 'input X : f64 [9,9] by [3,3]' "$1" 'output q' >e.tra
        told 2 tra check e.tra
    }
    refused 'q[i] = quantile[j](X[i,j])' 'a quantile has its share'
    refused 'q[i] = quantile[j](X[i,j], 1.5)' 'a number from 0 to 1'
    refused 'q[] = median X[i,j]' 'median gives the value along one label'
    refused 'q[i] = std X[i,j] + skew(X[i,j])' "there is no scalar function 'skew'"
}

@test "tra help names operators, functions and words of other languages; a file in the place of a command is told" {
    is 'group(T, [a, m = month(day)], n = count(), mean(x))' bash -c '"$0" help group | head -n 1' "$TRA"
    is '2' bash -c '"$0" help join | grep -c "an operator"' "$TRA"
    status 0 tra help sum
    has 'in group and pivot'
    told 2 tra help coalesce
    told 2 tra help groupp
    printf 'a\n1\n' >x.csv
    told 2 tra x.csv
    told 2 tra eval x.csv
}

@test "functions of many different strings are python's and the same by any threads: long ones, and an empty one" {
    cat >strings.py <<'END'
import csv, re, sys
csv.field_size_limit(10**6)
if sys.argv[1] == "make":
    rows = [f"{'é' if i % 7 == 0 else ''}Site{i * 7919 % 90000}.org/{'page/' * (i % 5)}{i % 13}" for i in range(80000)]
    rows[777] = "x" * 300000 + "/9"  # more than a piece holds
    rows[5] = ""
    csv.writer(open("s.csv", "w")).writerows([["s"]] + [[r] for r in rows])
    sys.exit()
rows = [r[0] for r in csv.reader(open("s.csv"))][1:]
for have, s in zip(csv.DictReader(open("o.csv")), rows, strict=True):
    last = s.rsplit("/", 1)[-1]
    want = {"n": str(len(s)), "u": "".join(c.upper() if c.isascii() else c for c in s),
            "q": re.sub(r"^([^/]+)/.*$", r"\1", s),
            "g": str("page" in s).lower(), "k": str("a" <= s < "Site5").lower(), "t": last if last.isdigit() else "",
            "h": str(bool(re.search("e/[0-5]$", s))).lower()}
    if have != want: sys.exit(f"{s[:50]}: {have}, not {want}"[:500])
END
    status 0 "$PYTHON" strings.py make
    status 0 tra import -q s.csv -o s.h5 --types s=string
    printf '%s\n' 'input T from "s.h5"' 'A = project(T, n = length(s), u = upper(s),@' \
        '    q = regex_replace(s, "^([^/]+)/.*$", "\\1"),@' \
        '    g = like(s, "%page%"), k = s >= "a" && s < "Site5", t = try_i32(split_part(s, "/", -1)),@' \
        '    h = matches(s, "e/[0-5]$"))' 'output A to "o.csv"' | sed -z 's/@\n   //g' >s.tra
    for n in 1 4; do
        status 0 tra run -q s.tra --threads $n
        status 0 "$PYTHON" strings.py judge
    done
    status 0 tra run -q s.tra --sites 3 --memory 100M
    status 0 "$PYTHON" strings.py judge
    sed -i 's/^A.*/A = project(T, n = matches(s, "^(x+x+)+[yz]"))/' s.tra
    status 2 tra run -q s.tra --threads 4
    has "takes too many steps"
}
