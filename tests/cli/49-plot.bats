# Data as pictures: tra info --plot, and tra head for people.
load helper

# The longest line of $output, in characters.
widest() { "$PYTHON" -c 'import sys; print(max(len(l) for l in sys.argv[1].splitlines()))' "$output"; }

trips() {
    py '
r = np.random.default_rng(5)
with open("t.csv", "w") as f:
    print("day,when,x,k,name,ok,late", file=f)
    for i in range(3000):
        print("2021-03-%02d" % (1 + i % 28), "2021-03-01 %02d:%02d:00" % (i % 24, i % 60), "%.6f" % r.normal(),
              r.integers(-3, 9), ("Ann", "Bob <&>", "Zoë")[r.integers(3)], ("true", "false")[i % 3 == 0],
              "" if i % 10 == 0 else r.integers(0, 10**6), sep=",", file=f)'
}

@test "histograms of all kinds of columns count what numpy counts" {
    trips
    status 0 tra info -q --plot t.csv --format json
    py '
import csv, datetime
rows = list(csv.DictReader(open("t.csv")))
plots = {p["title"].split(": ")[1].split(",")[0]: p for p in json.loads(sys.argv[1])["plots"]}
assert list(plots) == ["day", "when", "x", "k", "name", "ok", "late"], plots
for name, read in (("x", float), ("k", float), ("late", float), ("day", lambda s: datetime.date.fromisoformat(s)),
                   ("when", lambda s: datetime.datetime.fromisoformat(s))):
    p = plots[name]
    values = [read(r[name]) for r in rows if r[name]]
    for i, (label, n) in enumerate(zip(p["labels"], p["counts"])):
        low, _, high = label.partition(" to ")
        inside = [v for v in values if v >= read(low) and (v < read(high) if high else v == read(low))]
        assert len(inside) == n, (name, label, n, len(inside))
    assert sum(p["counts"]) == len(values) and 5 <= len(p["counts"]) <= 32, p
assert plots["late"]["note"] == "300 NULL" and plots["x"]["note"] is None
for name, of in (("name", lambda r: r["name"]), ("ok", lambda r: r["ok"])):
    want = {}
    for r in rows: want[of(r)] = want.get(of(r), 0) + 1
    assert dict(zip(plots[name]["labels"], plots[name]["counts"])) == want, plots[name]
assert plots["name"]["counts"] == sorted(plots["name"]["counts"], reverse=True)' "$output"
}

@test "text is as wide as asked for, in ASCII where the locale is not UTF-8" {
    trips
    tra gen -q --shape 400x900 --density 0.02 --seed 1 -o s.h5
    for w in 40 80 132; do
        for l in C C.UTF-8; do
            status 0 env LC_ALL=$l COLUMNS=$w "$TRA" info --plot=x t.csv
            output=$(sed -n '/t.csv: x/,$p' <<<"$output")
            [ "$(widest)" -le $w ]
            [ "$(widest)" -ge $((w - 4)) ]
            status 0 env LC_ALL=$l COLUMNS=$w "$TRA" info --plot s.h5
            output=$(sed -n '/^s.h5: /,$p' <<<"$output")
            [ "$(widest)" -le $w ]
            if [ $l = C ]; then
                LC_ALL=C status 1 grep -q $'[\x80-\xff]' <<<"$output"
            else
                has █
            fi
        done
    done
    status 0 env LC_ALL= LC_CTYPE= LANG=de_DE.utf8 "$TRA" info --plot=x t.csv
    has █
    status 0 env -u LC_ALL -u LC_CTYPE -u LANG "$TRA" info --plot=x t.csv
    has "###"
    if script -qec true /dev/null >/dev/null 2>&1; then # the terminal's own width comes first
        status 0 env LC_ALL=C COLUMNS=200 script -qec "stty cols 57; '$TRA' info --plot=x t.csv | cat; '$TRA' info --plot=x t.csv" /dev/null
        output=$(sed -n '/t.csv: x/,$p' <<<"${output//$'\r'/}" | tail -n 16)
        [ "$(widest)" -le 57 ]
    fi
}

@test "maps of sparse and dense tensors, of all storages and formats: what numpy finds in each cell" {
    py '
import scipy.sparse as sp, scipy.io
m = sp.random(300, 500, 0.03, format="csr", random_state=3)
m = sp.vstack([m, sp.csr_matrix((300, 500))]).tocsr()   # nothing in the lower half
scipy.io.mmwrite("m.mtx", m)
np.save("dense.npy", m.toarray())'
    for s in csr csc coo dcsr; do tra import -q m.mtx --storage $s --block 128x200 -o $s.h5; done
    for f in m.mtx csr.h5 csc.h5 coo.h5 dcsr.h5; do
        status 0 tra info -q --plot $f --format json
        py '
import scipy.io
m = scipy.io.mmread("m.mtx").toarray() != 0
p = json.loads(sys.argv[1])["plots"][0]
assert p["kind"] == "heat" and p["of"] == "density" and p["shape"] == [600, 500]
cells = np.array([[np.nan if x is None else x for x in r] for r in p["cells"]])
R, C = cells.shape
assert R <= 128 and C <= 128
r, c = np.arange(600) * R // 600, np.arange(500) * C // 500
n, all = np.zeros((R, C)), np.zeros((R, C))
np.add.at(n, (r[:, None], c[None, :]), m); np.add.at(all, (r[:, None], c[None, :]), 1)
assert np.allclose(np.nan_to_num(cells), n / all), abs(np.nan_to_num(cells) - n / all).max()
assert np.isnan(cells[R // 2 + 1:]).all()' "$output"
    done
    status 0 tra info -q --plot dense.npy --format json
    py '
m = np.load("dense.npy")
heat, bars = json.loads(sys.argv[1])["plots"]
cells = np.array(heat["cells"])
R, C = cells.shape
r, c = np.arange(600) * R // 600, np.arange(500) * C // 500
s, n = np.zeros((R, C)), np.zeros((R, C))
np.add.at(s, (r[:, None], c[None, :]), m); np.add.at(n, (r[:, None], c[None, :]), 1)
assert heat["of"] == "mean" and np.allclose(cells, s / n)
assert sum(bars["counts"]) == m.size' "$output"
}

@test "tensors of any rank, integers, bools, netCDF, values that no bin holds, one value, none" {
    py '
np.save("v.npy", np.array([1.0, np.nan, np.inf, -np.inf, 2.0, 2.0]))
np.save("one.npy", np.full((3, 4), 7.5)); np.save("zero.npy", np.zeros(5, dtype="i4"))
np.save("cube.npy", np.arange(24).reshape(2, 3, 4)); np.save("ok.npy", np.array([True, False, True]))
np.save("wide.npy", np.array([-2**62, 2**62])); np.save("tiny.npy", np.array([1e-300, 2e-300])); np.save("scalar.npy", np.array(3.0))
np.save("huge.npy", np.array([-1.7e308, 1.7e308])); np.save("none.npy", np.array([np.nan, np.nan]))
open("empty.csv", "w").write("a,b\n"); open("null.csv", "w").write("a,b\n,x\n,y\n")'
    for f in v one zero cube ok wide tiny scalar huge none; do
        status 0 env LC_ALL=C "$TRA" info --plot $f.npy
        lacks nan
    done
    status 0 tra info --plot v.npy
    has "1 NaN, 2 infinite"
    status 0 tra info --plot ok.npy
    has true
    status 0 tra info --plot empty.csv
    status 0 tra info --plot null.csv
    has "2 NULL"
    tra gen -q --shape 20x30x40 --density 0.01 --seed 2 -o s3.h5
    status 0 tra info --plot s3.h5
    has "by the first two dimensions"
    tra gen -q --shape 5000 --density 0.01 --seed 2 -o s1.h5
    status 0 tra info --plot s1.h5
    has "entries"
    status 0 tra info --plot v.npy cube.npy null.csv -o all.svg
}

@test "-o draws SVG of all that is shown; nothing else, and only with --plot" {
    trips
    tra gen -q --shape 400x900 --density 0.02 --seed 1 -o s.h5
    cp t.csv 'a <&> "b".csv'
    status 0 tra info --plot 'a <&> "b".csv' s.h5 -o x.svg
    lacks █
    py '
import xml.etree.ElementTree as T
t = T.parse("x.svg"); ns = "{http://www.w3.org/2000/svg}"
texts = [e.text for e in t.iter(ns + "text")]
assert any("a <&> \"b\".csv: x" in s for s in texts) and any(s.startswith("s.h5: entries") for s in texts), texts
assert "Bob <&>" in texts and len(list(t.iter(ns + "path"))) > 3'
    [ "$(stat -c %s x.svg)" -lt 300000 ]
    status 2 tra info --plot t.csv -o x.png
    has "NAME.svg"
    status 2 tra info t.csv -o y.svg
    has "--plot"
    status 3 tra info --plot t.csv -o no/such/x.svg
    [ ! -e y.svg ]
    status 2 tra info --plot=nmae t.csv
    has "did you mean name?"
    status 2 tra info --plot=name s.h5
    has "is no table"
    status 4 tra info --plot s.h5 --memory 1M
}

@test "a large column is read in bounded memory" {
    tra gen -q --shape 4000000 --block 500000 --dist normal -o big.h5
    command -v /usr/bin/time >/dev/null || skip "no /usr/bin/time"
    /usr/bin/time -f %M -o peak "$TRA" info --plot big.h5 --memory 40M >/dev/null
    [ "$(tail -n 1 peak)" -le 40960 ]
}

@test "head: the first elements of tensors of more than two dimensions, with their labels" {
    py 'a = np.arange(24.).reshape(2, 3, 4); np.save("a.npy", a)'
    is "dim0,dim1,dim2,value 0,0,0,0 0,0,1,1 0,0,2,2 0,0,3,3 0,1,0,4 " eval "tra head -n 5 a.npy | tr '\n' ' '"
    is 25 eval "tra head -n 100 a.npy | wc -l"
    is "dim0,dim1,dim2,value " eval "tra head -n 0 a.npy | tr '\n' ' '"
    tra gen -q --shape 20x30x40 --density 0.001 --block 10x10x10 --seed 2 -o s.h5
    status 0 tra head -n 1000 s.h5
    [ "$(($(wc -l <<<"$output") - 1))" -eq "$(tra info s.h5 --format json | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["relations"][0]["entries"])')" ]
}

@test "head on a terminal: a corner with labels, points for what is not stored, and where the entries are" {
    script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminals here"
    tra gen -q --shape 400x900 --density 0.02 --seed 1 -o s.h5
    tra gen -q --shape 2x3x4 --seed 1 -o d.h5
    status 0 env LC_ALL=C.UTF-8 script -qec "'$TRA' head -n 3 s.h5" /dev/null
    has ".  .  ."
    has "... (397 more rows, 881 more columns)"
    has "s.h5: entries of 400 x 900"
    status 0 env LC_ALL=C.UTF-8 script -qec "'$TRA' head d.h5" /dev/null
    has "[0, :, :] of 2 x 3 x 4"
    [ "$(grep -c '0\.' <<<"$output")" -eq 3 ]
    lacks entries
}

@test "letters that are wide, marks, control characters and texts of a megabyte disturb no terminal; nor does a narrow one" {
    script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminals here"
    py '
open("odd.csv", "w").write("k,名前\n1,日本語テキスト\n2,e\u0301\n3,\x1b[31mred\n4,\"a\nb\tc\"\n5," + "x" * 1000000 + "\n")'
    tra import -q odd.csv -o odd.h5
    tra gen -q --shape 100000x100000 --density 1e-9 --seed 1 -o s.h5
    printf '%%%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 0\n' >none.mtx
    tra import -q none.mtx -o none.h5
    for width in 20 40 80; do
        for file in odd.h5 s.h5 none.h5; do
            for what in head 'info --plot'; do
                LC_ALL=C.UTF-8 TERM=xterm script -qec "stty cols $width; '$TRA' $what $file" /dev/null >"$file.$width.${what%% *}"
            done
        done
    done
    py '
import re, unicodedata
def width(s):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
for n in (20, 40, 80):
    for f in ("odd.h5", "s.h5", "none.h5"):
        for what in ("head", "info"):
            t = open(f"{f}.{n}.{what}", newline="").read().replace("\r\n", "\n").split("\x1b[K")[-1]
            assert "\x1b" not in t and "\t" not in t and "inf" not in t, t
            if what == "info": t = t[t.index(f"\n\n{f}: ") + 2:] # the pictures
            for line in t.split("\n"):
                if not re.match(r"\.\.\. \(|\S+h5: |  (dots|density) ?:?", line): assert width(line) <= n, (f, n, what, line)'
    grep -q 'no entries' none.h5.40.info
    grep -q 'no entries' none.h5.40.head
    grep -q '?\[31mred' odd.h5.80.info
    LC_ALL=C.UTF-8 tra info --plot none.h5 -o n.svg
    grep -q 'no entries' n.svg
}
