# Aggregates and arithmetic on columns at the borders of floats: infinities, NaN, overflow, zero.
load helper

@test "quantiles and variances of infinities, NaN and what overflows are those of numpy; div and % by zero are NULL" {
    cat >make.py <<'END'
import numpy as np
inf, nan = np.inf, np.nan
groups = [[inf, inf], [-inf] * 4, [-inf, 1], [1, inf], [-inf, inf], [-inf, -inf, 5, inf, inf], [nan, 1], [nan, inf],
          [-1.6e308, 1.6e308], [1.6e308, 1.6e308, -1.6e308, 0.], [1e200, -1e200], [1e200, 1e200], [7.], [inf], [nan],
          [1e308, -1e308, 0., 0., 5.], [nan, 2., 2.], [2., nan, 2., 2., 2.], [5e-324, 0.], [3., -0., 0., -2.5, 8.]]
with open("v.csv", "w") as f:
    f.write("g,x,w\n")
    for i in range(max(map(len, groups))):
        for g, v in enumerate(groups):
            if i < len(v): f.write(f"{g},{v[i]!r},{i * 10 ** 17 + g}\n")
END
    "$PYTHON" make.py
    tra import -q --table --block 5 v.csv -o v.h5
    cat >p.tra <<'END'
input T from "v.h5"
G = group(T, [g], m = median(x), q = quantile(x, 0.3), r = quantile(x, 0.75), v = var(x), s = std(x), z = quantile(x, 1), a = min(x), b = max(x))
W = group(T, [], m = median(x), v = var(w), q = quantile(w, 0.25))
output G
output W
END
    cat >judge.py <<'END'
import csv, warnings, numpy as np
exec(open("make.py").read().split("with open")[0])
warnings.simplefilter("ignore")
def quantile(v, q): # by its definition, in numbers that are large enough
    v = np.sort(np.array(v, np.longdouble))
    if np.isnan(v[-1]): return np.nan
    place = q * (len(v) - 1)
    low, high, share = v[int(place)], v[min(int(place) + 1, len(v) - 1)], place - int(place)
    return float(low if share == 0 or low == high else low * (1 - share) + high * share)
def same(got, want, what):
    got = float(got) if got else None
    assert got is None if want is None else np.allclose(got, want, 1e-12, 0, True), (what, got, want)
for r in csv.DictReader(open("g.csv")):
    v = groups[int(r["g"])]
    same(r["m"], quantile(v, .5), v); same(r["q"], quantile(v, .3), v); same(r["r"], quantile(v, .75), v)
    same(r["z"], quantile(v, 1), v)
    d = np.array(v, np.longdouble)
    var = float(((d - d.mean()) ** 2).sum() / (len(v) - 1)) if len(v) > 1 else None
    same(r["v"], var, v); same(r["s"], None if var is None else float(np.sqrt(var)), v)
    same(r["a"], np.min(v), v); same(r["b"], np.max(v), v)
END
    for o in "" "--sites 3" "--engine reference"; do
        # shellcheck disable=SC2086
        status 0 tra run -q --no-history $o p.tra
        tra export -q G.h5 --to csv -o g.csv
        status 0 "$PYTHON" judge.py
    done
    printf 'a,b,i,j,k\n7.5,0,7,0,0\n-1.5,2,-3,2,1\n0,0,0,0,0\nnan,0,5,-2,1\ninf,-0.0,9,0,0\n-inf,4,8,3,1\n5,nan,2,1,1\n5,inf,2,1,1\n' >d.csv
    tra import -q --table d.csv -o d.h5
    cat >d.tra <<'END'
input T from "d.h5"
P = project(T, a = a div b, b = a % b, c = i div j, d = i % j, e = a div j, f = i % b, g = a / b, h = i / j)
M = project(T, a = a div k, b = a % k, c = i div k, d = i % k, e = a % null, f = ifnull(a div b, -1.0))
output P
output M
END
    for e in tra reference; do
        status 0 tra run --no-history --engine $e d.tra
        [ $e = reference ] || has 'd.tra:2: P: 21 values of column `a` and others are NULL, since a number was divided by zero'
        is "a,b,c,d,e,f,g,h
,,,,,,inf,inf
-1,0.5,-2,1,-1,1,-0.75,-1.5
,,,,,,nan,nan
,,-3,-1,nan,,nan,-2.5
,,,,,,-inf,inf
-inf,nan,2,2,-inf,0,-inf,2.6666666666666665
nan,nan,2,0,5,nan,nan,2
0,5,2,0,5,2,0,2" tra export -q P.h5 --to csv -o -
        is ",,,,,-1" eval 'tra export -q M.h5 --to csv -o - | sed -n 2p'
    done
}

@test "substr counts from 1 and takes places that there are, however far beyond they are asked for" {
    printf 'k,s\n1,h\xc3\xa9llo\n2,\n3,x\n' >s.csv
    tra import -q --table --header s.csv -o s.h5
    far=9223372036854775807
    cat >p.tra <<END
input t from "s.h5"
Q = project(t, k, a = substr(s, -$far, $far), b = substr(s, -3, 5), c = substr(s, 2, $far), d = substr(s, $far, $far), e = substr(s, 0, 3), f = substr(s, -$far, 2), g = substr(s, 3, -1), h = substr(s, -$far), i = substr(s, 1 - 2, $far))
output Q
END
    for e in tra reference; do
        status 0 tra run -q --no-history --engine $e p.tra
        tra export -q Q.h5 --to csv -o q.csv
        status 0 py 'import csv
far = 2**63 - 1
def cut(s, at, n=far): return s[max(at, 1) - 1:max(at + n, 1) - 1] if n > 0 else ""
for r, s in zip(csv.DictReader(open("q.csv")), ("h\u00e9llo", "", "x")):
    want = [cut(s, -far, far), cut(s, -3, 5), cut(s, 2), cut(s, far), cut(s, 0, 3), cut(s, -far, 2), "", cut(s, -far), cut(s, -1)]
    assert [r[c] for c in "abcdefghi"] == want or s == "", (r, want)'
    done
}
