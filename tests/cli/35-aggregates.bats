# Aggregates of several operators (corr, mode, arg_min, ...) against numpy and scipy, on several sites and under small
# ceilings.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    py '
r = np.random.default_rng(11)
n = 6000
k, l = r.integers(0, 40, n), r.choice(list("abcd"), n)
x = np.where(r.random(n) < .3, 1e6 + r.normal(size=n), r.normal(size=n) * 3).round(6)
y = (x * .01 + r.normal(size=n)).round(6)
i = r.integers(-3, 9, n)
s = r.choice(["", "x", "yy", "zz z", "Ü"], n)
none = r.random((6, n)) < .08
none[0] |= k == 39; none[1, k == 38] = True; none[2, k == 37] = True; none[2, np.flatnonzero(k == 37)[:2]] = False
np.savez("d.npz", k=k, l=l, x=x, y=y, i=i, s=s, none=none)
with open("t.csv", "w") as f:
    f.write("k,l,x,y,i,s\n")
    for j in range(n):
        v = [str(k[j]), l[j], repr(float(x[j])), repr(float(y[j])), str(i[j]), "\"%s\"" % s[j]]
        f.write(",".join("" if none[c, j] and c != 1 else v[c] for c in range(6)) + "\n")
'
    "$TRA" import -q --table t.csv -o t.h5 --block 700
}

@test "correlation, covariance, skewness, kurtosis, mode, weighted means, arg_min and arg_max are those of numpy and scipy" {
    ln -s "$BATS_FILE_TMPDIR"/t.h5 "$BATS_FILE_TMPDIR"/d.npz .
    cat >g.tra <<'END'
input t from "t.h5"
A = group(t, [k, l], n = count(), corr(x, y), covar(x, y), p = covar_pop(x, i), skewness(x), u = kurtosis(y * 2), w = wmean(x, i), m = mode(s), e = mode(i), lo = arg_min(s, y), hi = arg_max(y, x), md = median(x), q = quantile(y, 0.25), f = first(s), d = approx_distinct(s), b = regr_slope(y, x), c = regr_intercept(y, x))
B = group(t, [], c = corr(x, y), m = mode(i), hi = arg_max(s, x), a = approx_distinct(y), s = sum(i))
C = group(t, [odd = k % 2 == 1], m = mode(l))
E = group(select(t, k > 1000), [], c = corr(x, y), m = mode(i), a = approx_distinct(y), n = count())
output A to "A.csv"
output B to "B.csv"
output C to "C.csv"
output E to "E.csv"
output A to "A.h5"
END
    py '
import csv, subprocess, scipy.stats as st, warnings
tra = sys.argv[1]; warnings.simplefilter("ignore"); np.seterr(all="ignore")
z = np.load("d.npz"); none = z["none"]; none[1] = False
c = {n: z[n].astype(object) for n in "klxyis"}
for j, n in enumerate("klxyis"): c[n][none[j]] = None
def have(rows, *names):
    ok = np.array([all(c[n][r] is not None for n in names) for r in rows], bool)
    return [np.array([c[n][r] for r in rows[ok]]) for n in names]
def mode(v):
    v = list(v)
    return min((x for x in set(v) if v.count(x) == max(map(v.count, set(v)))), key=lambda s: s.encode() if isinstance(s, str) else s) if v else None
def corr(x, y): return np.corrcoef(x.astype(float), y.astype(float))[0, 1] if len(x) > 1 else None
def cov(x, y, d): return np.cov(x.astype(float), y.astype(float), ddof=d)[0, 1] if len(x) > d else None
def best(x, by, f): return x[f(by)] if len(by) else None
def check(got, want, what):
    if want is None: assert got == "", (what, got)
    elif isinstance(want, str): assert got == want, (what, got, want)
    else: assert got != "" and (abs(float(got) - want) <= 1e-8 * max(1, abs(want)) or (np.isnan(want) and np.isnan(float(got)))), (what, got, want)
keys = {}
for r in range(len(c["k"])): keys.setdefault((c["k"][r], c["l"][r]), []).append(r)
order = sorted(keys, key=lambda k: (k[0] is None, k[0] or 0, k[1]))
def rows(f): return list(csv.DictReader(open(f)))
def group(g, r):
    F = float
    check(g["n"], len(r), "n")
    check(g["corr_x"], corr(*have(r, "x", "y")), "corr"); check(g["covar_x"], cov(*have(r, "x", "y"), 1), "covar")
    check(g["p"], cov(*have(r, "x", "i"), 0), "covar_pop")
    x, = have(r, "x"); y, = have(r, "y"); x, y = x.astype(float), y.astype(float)
    check(g["skewness_x"], st.skew(x, bias=False) if len(x) > 2 else None, "skewness")
    check(g["u"], st.kurtosis(y * 2, bias=False) if len(y) > 3 else None, "kurtosis")
    a, d = (v.astype(float) for v in have(r, "x", "y")); line = np.polyfit(a - a.mean(), d, 1) if len(set(a)) > 1 else None
    check(g["b"], None if line is None else line[0], "regr_slope"); check(g["c"], None if line is None else line[1] - line[0] * a.mean(), "regr_intercept")
    a, w = have(r, "x", "i"); check(g["w"], (np.sum(a * w) / F(np.sum(w)) if np.sum(w) else np.nan if np.sum(a * w) == 0 else np.inf * np.sum(a * w)) if len(a) else None, "wmean")
    s, = have(r, "s"); i, = have(r, "i")
    check(g["m"], mode(s), "mode"); check(g["e"], mode(i), "mode of integers")
    check(g["lo"], best(*have(r, "s", "y"), np.argmin), "arg_min"); check(g["hi"], best(*have(r, "y", "x"), np.argmax), "arg_max")
    check(g["md"], np.median(x) if len(x) else None, "median"); check(g["q"], np.quantile(y, .25) if len(y) else None, "quantile")
    check(g["f"], s[0] if len(s) else None, "first"); check(g["d"], len(set(s)), "approx_distinct of few")
digests = set()
for how in (["--engine", "reference"], [], ["--sites", "2"], ["--sites", "3", "--memory", "64M"], ["--sites", "5"]):
    if how[:1] == ["--engine"]:
        small = open("g.tra").read().replace("input t from \"t.h5\"", "input u from \"t.h5\"\nt = limit(u, 900)")
        open("r.tra", "w").write(small)
        subprocess.run([tra, "run", "-q", "r.tra"], check=True); a = [open(f + ".csv").read() for f in "BCE"]
        subprocess.run([tra, "run", "-q", *how, "r.tra"], check=True); b = [open(f + ".csv").read() for f in "BCE"]
        for u, v in zip(a, b):
            for p, q in zip(u.replace("\n", ",").split(","), v.replace("\n", ",").split(",")):
                assert p == q or abs(float(p) - float(q)) < 1e-9 * abs(float(q)), (p, q)
        continue
    subprocess.run([tra, "run", "-q", *how, "g.tra"], check=True)
    got = rows("A.csv")
    assert len(got) == len(order)
    for g, k in zip(got, order): group(g, np.array(keys[k]))
    every = np.arange(len(c["k"])); g = rows("B.csv")[0]
    check(g["c"], corr(*have(every, "x", "y")), "corr of all"); check(g["m"], mode(have(every, "i")[0]), "mode of all")
    check(g["hi"], best(*have(every, "s", "x"), np.argmax), "arg_max of all")
    many = len(set(have(every, "y")[0])); assert abs(float(g["a"]) / many - 1) < .05, (g["a"], many)
    assert open("E.csv").read().split() == ["c,m,a,n", ",,0,0"], open("E.csv").read()
    digests.add(subprocess.run([tra, "digest", "A.h5"], capture_output=True, text=True).stdout)
assert len(digests) == 1, digests
' "$TRA"
}

@test "moments of values far from 0, of infinite ones and of equal ones are sound in every way that groups are found" {
    ln -s "$BATS_FILE_TMPDIR"/t.h5 "$BATS_FILE_TMPDIR"/d.npz .
    cat >g.tra <<'END'
input t from "t.h5"
u = project(t, k, far = 1e9 + y, same = 1e9 + k * 0.1, big = if(row() % 1000 == 0, 1e308, x), odd = if(row() % 1000 == 0, 1.0 / 0.0, x), y, i)
A = group(u, [k], v = var(far), std(far), c = covar(far, y), r = corr(far, y), s = skewness(far), b = regr_slope(far, y), e = var(same), z = covar(same, y), n = regr_slope(y, same), m = mean(far), o = var(odd), p = covar(odd, y), g = var(big), sum(i), mean(i), count(i))
B = group(u, [k, y], v = covar(far, far), c = count())
F = group(B, [], s = sum(c))
output A to "A.csv"
output F to "F.csv"
END
    py '
import csv, subprocess
tra = sys.argv[1]
z = np.load("d.npz"); none = z["none"]; k, x, y, i = z["k"], z["x"].astype(float), z["y"].astype(float), z["i"]
for how in ([], ["--sites", "3"]):
    subprocess.run([tra, "run", "-q", *how, "g.tra"], check=True)
    for g in csv.DictReader(open("A.csv")):
        if g["k"] == "": continue
        of = ~none[0] & (k == int(g["k"])); r = of & ~none[3]; far = 1e9 + y[r]
        for name, want in dict(v=far.var(ddof=1), std_far=far.std(ddof=1), c=np.cov(far, y[r])[0, 1], r=1, b=1, m=far.mean()).items():
            assert abs(float(g[name]) / want - 1) < 1e-6, (name, g[name], want)
        assert float(g["e"]) == 0 and float(g["z"]) == 0 and g["n"] == "", g
        w = i[of & ~none[4]].astype(object); assert int(g["sum_i"]) == w.sum() and int(g["count_i"]) == len(w), g
        assert abs(float(g["mean_i"]) - w.sum() / len(w)) < 1e-9 * abs(w).max()
        assert (np.flatnonzero(of) % 1000 == 0).any() == (g["o"] == "nan"), g
    assert int(open("F.csv").read().split()[1]) == len(k)
' "$TRA"
}

@test "what such aggregates do not take is told at their place" {
    ln -s "$BATS_FILE_TMPDIR"/t.h5 .
    refused() {
        printf 'input t from "t.h5"\nR = group(t, [k], %s)\noutput R\n' "$1" >e.tra
        status 2 tra check e.tra
        has 'e.tra:2:'
        has "$2"
    }
    refused 'a = corr(x)' 'corr has 2 arguments, not 1'
    refused 'a = corr(x, s)' 'corr does not take values of type string'
    refused 'a = regr_slope(s, x)' 'regr_slope does not take values of type string'
    refused 'corr(x * 2, y)' 'an aggregate has a name'
    refused 'a = corr(x, y), b = summ(x)' 'an aggregate is expected here'
    refused 'a = skew(x)' 'write skewness(x)'
    refused 'a = mode(zz)' "has no column 'zz'"
    printf 'input t from "t.h5"\nR = project(t, a = mode(x))\noutput R\n' >e.tra
    status 2 tra check e.tra
    has 'mode is an aggregate, which stands in group'
}

@test "keys that are too wide for a word together, with NULLs, and aggregates that count the same rows" {
    cat >wide.tra <<'END2'
input t from "wide.h5"
G = group(t, [a, b, c, d], n = count(), s = sum(d), m = mean(d), o = sum(o), l = count(o), k = max(c))
output G to "wide.csv"
END2
    py '
import csv, subprocess, collections
tra = sys.argv[1]
r = np.random.default_rng(5)
n = 9000
a = r.integers(-3, 4, n) * 0.1; b = r.integers(-2, 3, n) / 3.0; c = r.integers(-3, 3, n) * (2**60); d = r.integers(0, 3, n)
o, none = r.integers(-9, 9, n), r.random((2, n)) < .2
rows = [[None if none[0, i] else float(a[i]), float(b[i]), int(c[i]), int(d[i]), None if none[1, i] else int(o[i])] for i in range(n)]
with open("wide.csv", "w") as f:
    f.write("a,b,c,d,o\n" + "".join(",".join("" if v is None else repr(v) for v in x) + "\n" for x in rows))
subprocess.run([tra, "import", "-q", "--table", "wide.csv", "-o", "wide.h5", "--block", "2500"], check=True)
want = collections.defaultdict(list)
for x in rows: want[tuple(x[:4])].append(x)
for ranks in (1, 3):
    run = ["mpirun", "-q", "--oversubscribe", "--allow-run-as-root", "-n", "3"] if ranks > 1 else []
    subprocess.run(run + [tra, "run", "-q", "wide.tra"], check=True)
    have = {}
    for x in list(csv.reader(open("wide.csv")))[1:]:
        have[tuple(None if v == "" else float(v) if i < 2 else int(v) for i, v in enumerate(x[:4]))] = x[4:]
    assert len(have) == len(want) > 500
    for key, group in want.items():
        n, s, m, o, l, k = have[key]
        values = [x[4] for x in group if x[4] is not None]
        assert [int(n), int(s), int(l)] == [len(group), key[3] * len(group), len(values)], key
        assert o == (str(sum(values)) if values else "") and abs(float(m) - key[3]) < 1e-12, key
        assert int(k) == key[2], key
' "$TRA"
}

@test "aggregates of sums with constants and keys that others determine are those of each row, also at the ends of i64" {
    py '
r = np.random.default_rng(5)
with open("t.csv", "w") as f, open("big.csv", "w") as g:
    f.write("k,s,x\n"), g.write("k,x\n")
    for i in range(900):
        k, x = i * 7 % 5, int(r.integers(-50, 50))
        f.write("%s,%s,%s\n" % (k if i % 11 else "", "abc"[k % 3] * 2 if i % 13 else "", x if i % 3 and k != 4 else ""))
        g.write("%d,%d\n" % (k, 2**62 + i))
'
    tra import -q --table t.csv -o t.h5 --block 128
    tra import -q --table big.csv -o big.h5 --block 128
    cat >p.tra <<'END_OF_PROGRAM'
param c = 3
input t from "t.h5"
input big from "big.h5"
A = group(t, [k, s, one = 1, a = k + 1, b = -k, u = upper(s)], n = count(), x = sum(x), p = sum(x + 1), q = mean(c - x), r = sum(2 * (x - 4) + c), y = sum(x + 1), d = distinct(5 - x), lo = min(-x), hi = max(1 - 2 * x), m = mean(x + 0.5), w = count(x + 9))
B = group(select(t, k > 99), [], x = sum(x), p = sum(x + 1), q = mean(c - x), w = count(-x))
C = group(select(t, k > 99), [one = 1], x = sum(x), p = sum(x + 1))
D = group(big, [k], x = min(x), y = mean(x - 4611686018427387904), s = sum(x - 4611686018427387904), z = sum(x - 4611686018427387905))
output A to "A.csv"
output B to "B.csv"
output C to "C.csv"
output D to "D.csv"
END_OF_PROGRAM
    status 0 tra explain --format json p.tra
    [[ $output == *'group([k, s], n = count(), x = sum(x), '* ]]
    local n
    for n in 1 3; do
        rm -f [ABCD].csv
        if ((n == 1)); then tra run -q --no-history p.tra; else mpirun -n 3 "$TRA" run -q --no-history p.tra; fi
        py '
import csv
def read(name): return list(csv.DictReader(open(name)))
def num(v): return None if v == "" else float(v) if "." in v or "e" in v else int(v)
rows = [(num(r["k"]), r["s"] or None, num(r["x"])) for r in read("t.csv")]
keys = sorted({r[:2] for r in rows}, key=lambda k: (k[0] is None, k[0] or 0, k[1] is None, k[1] or ""))
got = read("A.csv")
assert [(num(g["k"]), g["s"] or None) for g in got] == keys
for g, (k, s) in zip(got, keys):
    here = [r[2] for r in rows if r[:2] == (k, s)]
    x = [v for v in here if v is not None]
    def of(f, v): return f(v) if v else None
    def mean(v): return sum(v) / len(v)
    want = {"n": len(here), "one": 1, "a": None if k is None else k + 1, "b": None if k is None else -k, "x": of(sum, x), "p": of(sum, [v + 1 for v in x]),
            "y": of(sum, [v + 1 for v in x]), "q": of(mean, [3 - v for v in x]), "r": of(sum, [2 * (v - 4) + 3 for v in x]), "d": len(set(x)), "w": len(x),
            "lo": of(min, [-v for v in x]), "hi": of(max, [1 - 2 * v for v in x]), "m": of(mean, [v + .5 for v in x])}
    for c in want: assert num(g[c]) == want[c] or c == "m" and abs(num(g[c]) - want[c]) < 1e-9, (k, s, c, g[c], want[c])
    assert g["u"] == (s or "").upper()
assert read("B.csv") == [dict(x="", p="", q="", w="0")], read("B.csv")
assert read("C.csv") == []
big = [(int(r["k"]), int(r["x"])) for r in read("big.csv")]
for g in read("D.csv"):
    v = [x - 2**62 for k, x in big if k == int(g["k"])]
    assert int(g["x"]) == min(v) + 2**62 and int(g["s"]) == sum(v) and int(g["z"]) == sum(v) - len(v) and float(g["y"]) == sum(v) / len(v), g
'
    done
}

@test "a key that follows from others means the param, also where a key has its name" {
    printf 'k,s\n1,5\n1,6\n2,5\n,5\n' >t.csv
    is $'k,c,u\n1,5,3\n1,6,3\n2,5,6\n,5,' tra eval 'param c = 3; group(t, [k, c = s, u = k * c])' t.csv
    is $'k,c,u\n1,1,3\n2,1,6\n,1,' tra eval 'param c = 3; project(group(t, [k, u = k * c], c = count(s) / count(s)), k, c, u)' t.csv
}
