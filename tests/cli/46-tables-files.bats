# tra import --table, and what commands make of tables. frame.py reads files by AnnData's rules alone; Python's csv
# module, sqlite3 and numpy judge the rest.
load helper

frame() { PYTHONPATH=$ROOT/tests/cli py "import frame, csv, math, random, sqlite3
$1" "${@:2}"; }

people() {
    printf '%s\n' 'name,age,when,score,ok,note' 'Ann,34,2020-01-05,1.5,true,"hello, ""you"""' \
        'Bob,,2021-12-31,NA,false,"two' 'lines"' 'Zoë,7,1999-02-28,3e2,TRUE,' > p.csv
}

@test "a CSV file with a header line is a table, whatever is below it; --matrix reads it as a matrix" {
    people
    status 0 tra import p.csv -o p.h5
    has "rows     3"
    has "name   string"
    has "age    i32, 1 NULL"
    frame 't = frame.read("p.h5")
assert t["name"] == ["Ann", "Bob", "Zoë"] and t["age"] == [34, None, 7] and t["score"] == [1.5, None, 300.0]
assert t["when"] == [np.datetime64(x) for x in ("2020-01-05", "2021-12-31", "1999-02-28")], t
assert t["ok"] == [True, False, True] and t["note"] == ["hello, \"you\"", "two\nlines", None]'
    printf 'a,b\n1,2\n3,4\n' > m.csv
    tra import -q m.csv -o t.h5
    frame 'assert frame.read("t.h5") == {"a": [1, 3], "b": [2, 4]}'
    tra import -q --matrix m.csv -o m.h5
    is "(2, 2)" py 'print(h5py.File("m.h5")["data"].shape)'
    for how in "" --table; do
        # shellcheck disable=SC2086
        told 2 tra import $how --dtype f32 m.csv -o t.h5
    done
}

@test "the narrowest type that holds all of a column, whatever comes late" {
    py 'n = 60000
with open("w.csv", "w") as f:
    f.write("i,big,f,late,d,t,b\n")
    for k in range(n):
        last = k == n - 1
        f.write(f"{k},{2**40 if last else k},{k}{.5 if last else str()},{chr(120) if last else k},2020-01-{k % 28 + 1:02},"
                f"2020-01-01 00:{k % 60:02}:00{str() if k % 2 else chr(46) + str(25)},{(chr(116) + chr(114) + chr(117) + chr(101)) if k % 3 else str()}\n")'
    status 0 tra import w.csv -o w.h5 --block 1000 --memory 64M
    for c in "i     i32" "big   i64" "f     f64" "late  string" "d     date" "t     timestamp" "b     bool, 20000 NULL"; do has "$c"; done
    frame 't = frame.read("w.h5")
assert t["i"] == list(range(60000)) and t["big"][-1] == 2**40 and t["f"][-1] == 599990.5
assert t["late"][:3] == ["0", "1", "2"] and t["late"][-1] == "x"
assert t["t"][2] == np.datetime64("2020-01-01T00:02:00.250000")
assert h5py.File("w.h5")["data/i"].chunks == (1000,)'
    status 0 tra verify w.h5
    has "digest matches"
}

@test "random tables: as Python's csv module reads them, in pieces of any size, packed or not" {
    frame 'r = random.Random(7)
words = ["a", "b,c", "q\"q", "l\nl", "", "Zoë", "x y", "\r\n", "7", "long " * 30]
for t in range(4):
    n = r.choice([0, 1, 400, 5000])
    with open(f"r{t}.csv", "w", newline="") as f:
        w = csv.writer(f, lineterminator=r.choice(["\n", "\r\n"]), delimiter=[",", ";", "\t", "|"][t])
        w.writerow(["k", "s", "x", "y"])
        for i in range(n): w.writerow([i, "w" + r.choice(words), r.choice(["", r.gauss(0, 1), i]), r.choice(words + ["t"])])'
    for t in 0 1 2 3; do
        tra import -q --table r$t.csv -o r$t.h5
        tra import -q --table r$t.csv -o s$t.h5 --memory 48M --block 100
        status 0 tra diff r$t.h5 s$t.h5
        gzip -k r$t.csv
        tra import -q --table r$t.csv.gz -o z$t.h5
        same_digest r$t.h5 z$t.h5
        tra import -q --table - -o - < r$t.csv 2>/dev/null || true
        cat r$t.csv | tra import -q --table - -o q$t.h5
        status 0 tra diff q$t.h5 r$t.h5
        frame 't = sys.argv[1]
rows = list(csv.DictReader(open(f"r{t}.csv", newline=""), delimiter=[",", ";", "\t", "|"][int(t)]))
a = frame.read(f"r{t}.h5")
assert list(a) == ["k", "s", "x", "y"]
for c in a:
    want = [x[c] for x in rows]
    assert len(a[c]) == len(want)
    for got, w in zip(a[c], want):
        if isinstance(got, str): assert got == w, (got, w)
        elif got is None: assert w == "", w
        else: assert got == float(w), (got, w)' $t
    done
}

@test "export: CSV that reads back to the same, numpy's records, HDF5" {
    people
    tra import -q p.csv -o p.h5
    for m in 64M 256M; do
        tra export -q p.h5 -o b.csv --memory $m
        tra import -q b.csv -o b.h5
        status 0 tra diff p.h5 b.h5
        has "equal: 3 rows of 6 columns"
    done
    frame 'rows = list(csv.reader(open("b.csv", newline="")))
assert rows[0] == ["name", "age", "when", "score", "ok", "note"]
assert rows[2] == ["Bob", "", "2021-12-31", "", "false", "two\nlines"]'
    tra export -q p.h5 -o p.npy
    py 'a = np.load("p.npy")
assert a.dtype.names == ("name", "age", "when", "score", "ok", "note") and a["age"][0] == 34 and np.isnan(a["age"][1])
assert a["when"].dtype == "M8[D]" and a["name"][2] == "Zoë" and a["ok"].dtype == bool'
    tra export -q p.h5 -o c.h5:x
    status 0 tra diff p.h5 c.h5:x
    told 3 tra export p.h5 -o x.mtx
}

@test "info, head, digest and diff" {
    people
    tra import -q p.csv -o p.h5
    status 0 tra info --format json p.h5
    is 3 json relations.0.rows
    is age json relations.0.columns.1.name
    is i32 json relations.0.columns.1.type
    is 1 json relations.0.columns.1.nulls
    is 2 json relations.0.columns.1.distinct
    is 7 json relations.0.columns.1.min
    is 2021-12-31 json relations.0.columns.2.max
    is "name,age,when,score,ok,note" eval "tra head p.h5 | head -1"
    is 4 eval "tra head -n 2 p.h5 | grep -c ."
    status 0 script -qec "'$TRA' head p.h5" /dev/null
    has "name  age        when  score     ok  note"
    tra gen -q --shape 20x3 --dist range -o g.h5
    is "3,4,5" eval "tra head g.h5 | sed -n 2p"
    is 10 eval "tra head g.h5 | wc -l"
    sed 's/34/35/' p.csv > o.csv
    tra import -q o.csv -o o.h5
    status 1 tra diff p.h5 o.h5
    has "column age: 1 value differs, in row 0: 34 and 35"
    status 0 tra diff p.h5 o.h5 --atol 1
    tra import -q p.csv -o n.h5 --columns name,age
    status 1 tra diff p.h5 n.h5
    has "column when is not in n.h5"
    status 3 tra diff p.h5 g.h5
}

@test "statistics of columns and blocks, against numpy" {
    py 'r = np.random.default_rng(3); n = 200000
with open("s.csv", "w") as f:
    f.write("few,many,x,s\n")
    for a, b, c in zip(r.integers(0, 50, n), r.integers(0, 10**9, n), r.normal(size=n)):
        f.write(f"{a},{b},{c:.17g},w{b % 9}\n")'
    tra import -q s.csv -o s.h5 --block 65536
    frame 'st, bl, fr = frame.stored("s.h5")
t = {k: np.array(v) for k, v in frame.read("s.h5").items()}
for c, name in enumerate(["few", "many"]):
    v = t[name]
    assert list(st[c][:4]) == [len(v), 0, v.min(), v.max()], st[c]
    for b in range(4):
        part = v[b * 65536:(b + 1) * 65536]
        assert list(bl[c][b][:3]) == [part.min(), part.max(), 0]
    n = len(np.unique(v))
    assert st[c][4] == n if c == 0 else abs(st[c][4] / n - 1) < .06, (st[c][4], n)
u, k = np.unique(t["few"], return_counts=True)
at, count = st[0][6], st[0][7]
assert [list(p) for p in fr[at:at + count]] == [list(p) for p in zip(u, k)]
assert st[0][5] & 8 and not st[1][5] & 8
x = st[2][2:4].view("f8"); assert x[0] == t["x"].min() and x[1] == t["x"].max()
h = h5py.File("s.h5")[".tra/data/histograms"][0]
v = np.sort(t["many"]); q = v[(np.arange(257) * (len(v) - 1)) // 256]
assert np.abs(np.searchsorted(v, h) - np.arange(257) * len(v) / 256).max() < len(v) * .02'
}

@test "what is wrong in a file is named by line, byte, column and text; --rejects goes on" {
    printf 'a,b\n1,x\n2\n3,y\n' > s.csv
    told 3 tra import s.csv -o s.h5
    [ ! -e s.h5 ]
    status 0 tra import --pad-short s.csv -o s.h5
    has "b  string, 1 NULL"
    printf 'a,b\n1,x\n2,y,z\n3,"u"v\nq,w\n\xff,k\n5,"open\n' > t.csv
    told 3 tra import t.csv --types a=i32 -o t.h5
    status 0 tra import t.csv --types a=i32 --rejects r.csv -o t.h5
    has "rejected 5"
    frame 'r = list(csv.DictReader(open("r.csv", newline="", errors="surrogateescape")))
assert [(x["line"], x["error_type"]) for x in r] == [("3", "TOO MANY COLUMNS"), ("4", "UNQUOTED VALUE"), ("5", "CAST"),
    ("6", "INVALID ENCODING"), ("7", "UNCLOSED QUOTE")], r
assert r[2]["column_name"] == "a" and r[2]["csv_line"] == "q,w" and r[2]["byte_position"] == "22", r[2]
assert frame.read("t.h5") == {"a": [1], "b": ["x"]}'
    told 3 tra import t.csv --types a=i32 --rejects r.csv --rejects-limit 2 -o u.h5
    [ ! -e u.h5 ]
    status 0 tra import --drop-long --lenient --rejects r.csv t.csv -o v.h5
    frame 'assert frame.read("v.h5")["b"][:3] == ["x", "y", "uv"]'
    # text after a closing quote; and where a quote ends it, those inside are text
    printf '%s\n' a,b '1,"He said "hello" to me"' '2,"u"v' '3,"x ""y"" z"' '4,"q"r""' '5,"a""b" c' '6,"end"""' '7,"a"b,' >l.csv
    tra import -q --lenient --quote '"' l.csv -o l.h5
    frame 'assert frame.read("l.h5")["b"] == ["He said \"hello\" to me", "uv", "x \"y\" z", "q\"r\"", "a\"b c", "end\"", "ab"]'
    status 3 tra import --strict --table -o w.h5 <(printf 'a,b\n1,x"y\n')
}

@test "of several faults the first of the file is told, with any number of threads" {
    local t o
    py 'lines = ["a,b,c"] + [f"{k},{k},x{k}" for k in range(40000)]
lines[30000] = "1,no,x"; lines[30001] = "no,1,x"; lines[30007] = "1,2"; lines[20] = lines[21]
open("f.csv", "w").write("\n".join(lines) + "\n")
lines[29990] = "1"; lines[39999] = "no,1,x"
open("g.csv", "w").write("\n".join(lines) + "\n")
lines = [f"{k},{k}" for k in range(40000)]
lines[30000] = "1,x"; lines[30001] = "x,1"; lines[30002] = "1"
open("m.csv", "w").write("\n".join(lines) + "\n")'
    for t in 1 2 3; do
        for o in "--memory 48M" "--memory 256M"; do
            # shellcheck disable=SC2086
            TRA_THREADS=$t told 3 tra import f.csv --types a=i32,b=i32 -o f.h5 $o
            # shellcheck disable=SC2086
            TRA_THREADS=$t told 3 tra import g.csv --types b=i32,a=i32 -o f.h5 $o
            TRA_THREADS=$t told 3 tra import m.csv --null NA --no-header --matrix -o f.h5
        done
    done
}

@test "dates: their order is found, or must be said" {
    printf 'd,n\n13/01/2020,a\n02/01/2020,b\n' > e.csv
    tra import -q e.csv -o e.h5
    frame 'assert frame.read("e.h5")["d"] == [np.datetime64("2020-01-13"), np.datetime64("2020-01-02")]'
    printf 'd,n\n03/01/2020,a\n02/01/2020,b\n' > f.csv
    told 3 tra import f.csv -o f.h5
    tra import -q f.csv --date-format %m/%d/%Y -o f.h5
    frame 'assert frame.read("f.h5")["d"] == [np.datetime64("2020-03-01"), np.datetime64("2020-02-01")]'
    tra import -q f.csv --types d=string -o f.h5
    printf 't,n\n"Apr 15, 2017 3:07 PM",a\n"Dec 1, 2017 12:00 AM",b\n' > g.csv
    tra import -q g.csv --timestamp-format '%b %d, %Y %I:%M %p' -o g.h5
    frame 'assert frame.read("g.h5")["t"] == [np.datetime64("2017-04-15T15:07", "us"), np.datetime64("2017-12-01", "us")]'
    printf 't,n\n2017-04-15T10:00:00+02:00,a\n' > z.csv
    tra import -q z.csv -o z.h5
    frame 'assert frame.read("z.h5")["t"] == [np.datetime64("2017-04-15T08:00", "us")]'
    status 2 tra import f.csv --date-format %q -o f.h5
}

@test "dates and times as most programs write them, and what only looks like one" {
    py 'import random, datetime as dt
r = random.Random(4); t = [dt.datetime(1904, 2, 29, 23, 59, 59), dt.datetime(2000, 2, 29), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)]
t += [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=r.randrange(-2**33, 2**34)) for _ in range(3000)]
with open("m.csv", "w") as f:
    f.write("t,u,s\n" + "".join(f"{x:%Y-%m-%dT%H:%M:%S},{x:%Y-%m-%d %H:%M},{x.year:04}-{x:%m-%d}\n".replace(f"{x.year}-", f"{x.year:04}-")
        for x in t[:2] + t[3:]))
for i, x in enumerate(["2021-02-29", "1900-02-29 10:00", "2020-01-01 24:00", "2020-01-01 10:60:00", "2020-01-01 10:00:60", "2020-00-10",
                       "2020-01-00", "2020-13-01", "202a-01-01", "2020-01-01x10:00", "2020-01-01 1o:00", "2020-01-01 10-00"]):
    open(f"b{i}.csv", "w").write(f"d,n\n2020-01-02 11:00:00,1\n{x},2\n")
np.save("t.npy", np.array(t[:2] + t[3:], "M8[us]"))'
    tra import -q --table m.csv -o m.h5
    frame 't, x = np.load("t.npy"), frame.read("m.h5")
assert list(x["t"]) == list(t) and list(x["u"]) == list(t.astype("M8[m]")) and list(x["s"]) == list(t.astype("M8[D]"))'
    for i in {0..11}; do
        tra import -q --table --header b$i.csv -o b.h5
        frame 'assert isinstance(frame.read("b.h5")["d"][0], str), sys.argv[1]' b$i
    done
}

@test "no row of a table is lost: a header that may be data is one only when the user says so" {
    for t in '1O,2,x\n10,3,y\n' '1O,x\n10,y\n' '2020-13-01,x\n2020-01-02,y\n' '"1","x"\n"2","y"\n'; do
        printf "$t" > n.csv
        for from in n.csv -; do
            told 3 tra import --table $from --from csv -o n.h5 < n.csv
            [ ! -e n.h5 ]
            tra import -q --table $from --from csv --no-header -o n.h5 < n.csv
            is "$(grep -c . n.csv)" frame 't = frame.read("n.h5"); print(len(next(iter(t.values()))))'
            tra import -q --table $from --from csv --header -o n.h5 < n.csv
            rm n.h5
        done
    done
    printf '1O,2\n10,4\n' > n.csv
    told 3 tra import --columns 1 n.csv -o n.h5
    printf 'a,b\nx,y\nz,y\n' > n.csv
    status 0 tra import -q n.csv -o n.h5
    has "line 1 is taken as a header, though what is below it are texts as well"
    is "" eval "tra import -q --header n.csv -o n.h5 2>&1"
    printf 'a,b\nx,1\n' > n.csv
    is "" eval "tra import -q n.csv -o n.h5 2>&1"
}

@test "titles above a table, as spreadsheets write them, are left out, and said" {
    local f
    printf '%s\n' 'Report of May,,' ',,' 'day,who,n' '2020-05-01,a,1' '2020-05-02,,2' >t.csv
    status 0 tra import t.csv -o t.h5; has "above the header in line 3"
    frame 't = frame.read("t.h5"); assert list(t) == ["day", "who", "n"] and t["n"] == [1, 2] and len(t["day"]) == 2, t'
    printf '%s\n' 'Report of May,,' ',,' 'day,who,n' '2020-05-01,a,x' '2020-05-02,b' >u.csv
    told 3 tra import u.csv -o u.h5
    # the first line is a header when the user says so; rows with one value are rows, below what is no header or below one
    status 0 tra import --header t.csv -o t.h5; lacks "titles"
    for f in 'a,,\n1,x,y\n2,z,w\n' 'a,b,c\nx,,\np,q,r\n' ',,z\nq,2,r\n'; do
        # shellcheck disable=SC2059
        printf "$f" >v.csv
        status 0 tra import --table v.csv -o v.h5; lacks "titles"
    done
}

@test "edges of the format: BOM, ends of lines, names, encodings, numbers" {
    printf '\xef\xbb\xbfa;a;;"x ""y"""\r\n1;2;3;p\r\r\n4,5;5;6;q' > b.csv
    status 0 tra import b.csv -o b.h5 --decimal ,
    has 'two columns are called "a"'
    frame 'assert frame.read("b.h5") == {"a": [1.0, 4.5], "a_2": [2, 5], "column_3": [3, 6], "x \"y\"": ["p", "q"]}'
    printf 'a,b\r1,x\r2,y\r' > c.csv
    tra import -q c.csv -o c.h5
    frame 'assert frame.read("c.h5") == {"a": [1, 2], "b": ["x", "y"]}'
    printf 'n,p\nJos\xe9,1.234\n' > l.csv
    tra import -q l.csv --encoding latin1 --thousands . --decimal , -o l.h5
    frame 'assert frame.read("l.h5") == {"n": ["José"], "p": [1234]}'
    printf 'only,header\n' > h.csv
    tra import -q --table h.csv -o h.h5
    frame 'assert frame.read("h.h5") == {"only": [], "header": []}'
    printf 'x\nq\n\nr\n' > o.csv
    tra import -q o.csv -o o.h5
    frame 'assert frame.read("o.h5") == {"x": ["q", None, "r"]}'
    printf 'junk\n# more\na/b,.\n1,NA\n2,-9\n' > s.csv
    tra import -q --skip 2 --header --null=-9,NA s.csv --types .=text -o s.h5
    frame 'assert frame.read("s.h5") == {"a/b": [1, 2], ".": [None, None]}'
    status 0 tra verify s.h5
    printf 'a,b\n1,x\n' > t.csv
    tra import -q t.csv --no-header --names u,v --columns v -o t.h5
    frame 'assert frame.read("t.h5") == {"v": ["b", "x"]}'
    printf 'a,b\n1,"x\\"y"\n2,"z"\n' > k.csv
    tra import -q k.csv -o k.h5
    frame 'assert frame.read("k.h5")["b"] == ["x\"y", "z"]'
    printf 'a, "b, c", d\n1, "x, y", z\n2, "p" , q\n' > i.csv
    tra import -q i.csv -o i.h5
    frame 'assert frame.read("i.h5") == {"a": [1, 2], "b, c": ["x, y", "p"], "d": ["z", "q"]}'
    status 3 tra import --table -o n.h5 <(printf 'a,b\n1,x\0y\n')
}

@test "frames that AnnData wrote are read in place" {
    py 's = h5py.string_dtype()
f = h5py.File("a.h5ad", "w"); g = f.create_group("obs")
def put(g, n, v, kind="array", version="0.2.0", **k):
    d = g.create_dataset(n, data=v, **k); d.attrs["encoding-type"], d.attrs["encoding-version"] = kind, version
g.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
g.attrs["column-order"] = np.array(["n", "x", "c", "m"], dtype=s)
put(g, "_index", np.array(["c1", "c2", "c3"], dtype=object), "string-array", dtype=s)
put(g, "n", np.array([1, 2, 3], "i2")); put(g, "x", np.array([.5, np.nan, 2]), compression="gzip", chunks=(2,))
c = g.create_group("c"); c.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
put(c, "codes", np.array([1, -1, 0], "i1")); put(c, "categories", np.array(["p", "q"], dtype=object), "string-array", dtype=s)
m = g.create_group("m"); m.attrs.update({"encoding-type": "nullable-integer", "encoding-version": "0.1.0"})
put(m, "values", np.array([7, 8, 9])); put(m, "mask", np.array([False, True, False]))'
    is "_index,n,x,c,m" eval "tra head a.h5ad:obs | head -1"
    is "c2,2,nan,,"  eval "tra head a.h5ad:obs | sed -n 3p"
    is "c3,3,2,p,9"  eval "tra head a.h5ad:obs | sed -n 4p"
    status 0 tra verify a.h5ad:obs
    tra export -q a.h5ad:obs -o o.h5
    status 0 tra diff a.h5ad:obs o.h5
}

@test "damage is found, and nothing is there after a failure" {
    people
    tra import -q p.csv -o p.h5 --block 2
    cp p.h5 q.h5
    py 'f = h5py.File("q.h5", "r+"); f["data/age/values"][0] = 35'
    status 1 tra verify q.h5
    has "block 0 of data/age/values is damaged"
    status 3 tra export q.h5 -o x.csv
    [ ! -e x.csv ]
    cp p.h5 q.h5
    py 'f = h5py.File("q.h5", "r+"); f["data/name/categories"][0] = "Eve"'
    status 1 tra verify q.h5
    has "its categories are not those"
    cp p.h5 q.h5
    py 'f = h5py.File("q.h5", "r+"); f["data/age/mask"][1] = False'
    status 1 tra verify q.h5
    cp p.h5 q.h5
    py 'f = h5py.File("q.h5", "r+"); f[".tra/data/statistics"][0, 3] = 99'
    status 1 tra verify q.h5
    has "statistics"
    cp p.h5 q.h5
    py 'f = h5py.File("q.h5", "r+"); f["data"].attrs["tra_shape"] = np.array([2])'
    status 3 tra verify q.h5
    cp p.h5 q.h5
    py 'f = h5py.File("q.h5", "r+"); del f[".tra/data"]'
    status 3 tra info q.h5
}

@test "other relations of a file are kept, and tables replaced" {
    people
    tra gen -q --shape 4x4 --dist range -o f.h5:m
    tra import -q p.csv -o f.h5:t
    tra import -q p.csv -o f.h5:t --columns name
    is "(4, 4)" py 'print(h5py.File("f.h5")["m"].shape)'
    status 0 tra verify f.h5:m f.h5:t
    is "name" eval "tra head f.h5:t | head -1"
}

@test "matrices are read by the same options" {
    printf 'junk\na;b;c\n1,5;2;-\n1.000;-;3\n' > m.csv
    status 0 tra import m.csv --matrix --skip 1 --decimal , --thousands . --null=- -o m.h5
    has "shape    2 x 3"
    is "[[1.5, 2.0, nan], [1000.0, nan, 3.0]]" py 'print(h5py.File("m.h5")["data"][()].tolist())'
    tra import -q m.csv --matrix --skip 1 --decimal , --thousands . --columns a --vector -o v.h5
    is "[1.5, 1000.0]" py 'print(h5py.File("v.h5")["data"][()].tolist())'
    told 3 tra import m.csv --matrix --skip 1 --decimal , --dtype f64 -o x.h5
    py 'a = np.random.default_rng(1).normal(size=(3000, 7)); np.savetxt("r.csv", a, delimiter=",", fmt="%.17g"); np.save("r.npy", a[:, [2, 0]])'
    gzip -k r.csv
    for f in r.csv r.csv.gz; do
        tra import -q $f --columns 3,1 --block 100x2 --memory 48M -o r.h5
        py 'assert np.array_equal(h5py.File("r.h5")["data"][()], np.load("r.npy"))'
    done
    cat r.csv | tra import -q - --from csv --columns 3,1 -o p.h5
    status 0 tra diff p.h5 r.h5
}

@test "plain cells are read eight bytes at a time, and as others are" {
    py 'import random
r = random.Random(7)
word = lambda: r.choice(["", "-", "+3", "007", "0", "-0", "1.5", ".5", "-2.25", "1e3", "9", "99999999", "100000000"]) if r.random() < .1 \
    else str(r.randrange(-10 ** r.randrange(1, 12), 10 ** r.randrange(1, 17)))
rows = [[r.randrange(10 ** r.randrange(1, 9)), word(), r.randrange(100), r.choice("xyz")] for _ in range(30000)]
for name, quote, end in (("p", "", "\n"), ("q", "\"", "\n"), ("w", "", "\r\n"), ("l", "", "\n\n")):
    lines = end.join(",".join(f"{quote}{c}{quote}" if c != "" else "" for c in row) for row in rows)
    with open(name + ".csv", "w", newline="") as f: f.write("a,b,c,d" + end + lines + ("" if name == "p" else end))
open("want", "w").write("\n".join(str(row[0]) for row in rows))'
    for f in p q w l; do
        tra import -q --table $f.csv -o $f.h5
        status 0 tra verify $f.h5
        status 0 tra digest $f.h5
        [ "${output%% *}" = "$(digest_of p.h5)" ]
    done
    frame 't = frame.read("p.h5"); assert t["a"] == [int(x) for x in open("want")] and t["d"][0] in "xyz"'
    printf 'a,b\n1,2\n3\n' >short.csv
    told 3 tra import --table short.csv -o s.h5
}

@test "many columns of many strings" {
    py 'n, rows = 3500, 4
with open("w.csv", "w") as f:
    f.write(",".join(f"c{i}" for i in range(n)) + "\n")
    for r in range(rows): f.write(",".join(f"s{i}_{r}" for i in range(n)) + "\n")
with open("d.csv", "w") as f:
    f.write("a,b,c\n" + "".join(f"a{k},{k},c{k}\n" for k in range(60000)))'
    tra import -q w.csv -o w.h5
    status 0 tra verify w.h5
    frame 't = frame.read("w.h5"); assert len(t) == 3500 and t["c3499"] == [f"s3499_{r}" for r in range(4)]'
    tra import -q d.csv -o d.h5 --block 5000
    status 0 tra verify d.h5
    frame 't = frame.read("d.h5"); assert t["c"] == [f"c{k}" for k in range(60000)] and t["b"] == list(range(60000))'
    status 4 tra import d.csv -o e.h5 --memory 25M
}

@test "texts that do not fit the memory are sorted through the scratch file: the same table, below the ceiling" {
    local n=120000 least t m
    [ -z "${TRA_TEST_LONG-}" ] || n=3000000
    py 'import random
r = random.Random(5); n = int(sys.argv[1])
with open("e.csv", "w") as f:
    f.write("a,b,c,late,few\n")
    for k in range(5 * n // 2):
        i = r.randrange(n); c = r.randrange(n)
        a = "" if i % 50 == 0 else f"\"text, {i * 7919 % n} of é\"" if i % 3 else "x" * (i % 30) + str(i)
        if k == n: a = "long" * 150000
        f.write(f"{a},{k},c{c:09d},{k if k < 9 * n // 4 else chr(97 + i % 7) + str(i)},w{i % 9}\n")' $n
    status 4 tra import e.csv -o e.h5 --memory 1K -v
    least=$(exactly)
    tra import -q e.csv -o whole.h5 --types c=text --memory 4G --block 50000
    for t in 1 2; do
        m=$(TRA_THREADS=$t peak "$TRA" import -q e.csv -o e$t.h5 --types c=text --block 50000 --memory "$least")
        ((m <= least)) || [ -n "${SAN:-}" ] || { echo "$m bytes with a ceiling of $least and $t threads"; return 1; }
        same_digest whole.h5 e$t.h5
        status 0 tra verify e$t.h5
        py 'a, b = h5py.File("whole.h5"), h5py.File(sys.argv[1])
for g in "a", "c", "late", "few":
    assert b[f"data/{g}/codes"].dtype == a[f"data/{g}/codes"].dtype, g
    assert (a[f"data/{g}/codes"][:] == b[f"data/{g}/codes"][:]).all(), g
    assert (a[f"data/{g}/categories"][:] == b[f"data/{g}/categories"][:]).all(), g
for t in a[".tra/data"]:
    x, y = a[".tra/data"][t], b[".tra/data"][t]
    assert x.attrs["tra_seal"] == y.attrs["tra_seal"] and (x[:] == y[:]).all(), t' e$t.h5
    done
    [[ $(ls -A "$TRA_SCRATCH") == "" ]]
    # who only reads such a table says how much memory its dictionaries take; who needs no more than codes, none
    status 4 tra head whole.h5 --memory 30M; has "at least"
    printf 'input t from "whole.h5"\ng = project(t, b)\noutput g to "g.h5"\n' >p.tra
    m=$(peak "$TRA" run -q --threads 1 --memory 40M p.tra)
    ((m <= 40 << 20)) || [ -n "${SAN:-}" ] || { echo "$m bytes with a ceiling of 40M"; return 1; }
    printf 'input t from "whole.h5"\ng = project(t, a, b, c, late)\noutput g to "g.h5"\n' >p.tra
    m=$(peak "$TRA" run -q --threads 1 --memory 40M p.tra)
    ((m <= 40 << 20)) || [ -n "${SAN:-}" ] || { echo "$m bytes with a ceiling of 40M"; return 1; }
    status 4 tra run -v --threads 1 --memory 1M p.tra; has "the least that would do"
    least=$(exactly)
    m=$(peak "$TRA" run -q --threads 1 --memory "$least" p.tra)
    ((m <= least)) || [ -n "${SAN:-}" ] || { echo "$m bytes with a ceiling of $least"; return 1; }
}

@test "a table of an HDF5 file is not imported, but read in place and copied" {
    printf 'a,s\n1,x\n2,y\n' >t.csv
    status 0 tra import -q t.csv -o t.h5
    told 3 tra import t.h5 -o u.h5
    [ ! -e u.h5 ]
    printf 'input T from "t.h5"\noutput T to "u.h5"\n' >p.tra
    status 0 tra run -q p.tra
    status 0 tra diff t.h5 u.h5
}

# mixed N: a table of all types, with NULLs, in m.csv.
mixed() {
    frame 'r = random.Random(11)
bools = ["", "true", "false"]
with open("m.csv", "w") as f:
    f.write("k,big,s,x,y,d,t,b\n")
    for i in range(int(sys.argv[1])):
        f.write(f"{i % 977},{chr(45) if i % 3 else str()}{i * 10**10},w{r.randrange(300)},{r.gauss(0, 1):.3f},"
                f"{str() if i % 7 else r.random()},2020-01-{i % 28 + 1:02},2021-03-04 05:06:{i % 60:02},{bools[i % 3]}\n")' "$1"
}

@test "compressed tables: the same at any level, for h5py too; info, head, export and statistics" {
    mixed 30000
    tra import -q m.csv -o p.h5 --block 7000
    for level in 1 9; do
        status 0 tra import m.csv --codec zstd:$level -o z.h5 --block 7000
        status 0 tra diff p.h5 z.h5
        status 0 tra verify z.h5
        has "digest matches"
        same_digest p.h5 z.h5
        same_output "tra head -n 9000 p.h5 | md5sum" "tra head -n 9000 z.h5 | md5sum"
        tra export -q z.h5 -o z.csv
        tra export -q p.h5 -o p.csv
        cmp p.csv z.csv
        [ $((3 * $(stat -c %s z.h5))) -lt $((2 * $(stat -c %s p.h5))) ]
        frame 'import numpy
assert frame.read("p.h5") == frame.read("z.h5")
for a, b in zip(frame.stored("p.h5"), frame.stored("z.h5")): assert numpy.array_equal(a, b)
f = h5py.File("z.h5"); d = f["data/k"]; n = -(-30000 // 7000)
assert 32015 in [d.id.get_create_plist().get_filter(i)[0] for i in range(2)]
assert f[".tra/data/xxh64"].shape[1] == n == d.id.get_num_chunks()'
    done
    status 0 tra info z.h5
    has "codec       zstd"
    has "zstd filter 32015"
    status 0 tra info --format json z.h5
    is zstd json relations.0.codec
    # the bytes do not depend on threads
    TRA_THREADS=1 tra import -q --no-history m.csv --codec zstd -o one.h5 --block 1000
    TRA_THREADS=2 tra import -q --no-history m.csv --codec zstd -o two.h5 --block 1000
    cmp one.h5 two.h5
    tra export -q z.h5 -o plain.h5
    status 0 tra diff p.h5 plain.h5
    status 0 tra info plain.h5
    lacks "codec"
    status 2 tra import m.csv --codec zstd:77 -o x.h5
    printf 'k,s\n' > none.csv
    tra import -q --table none.csv --codec zstd -o none.h5
    status 0 tra verify none.h5
    [ -z "$(ls -A | grep '^\.')" ] # nothing is left of what waited
}

@test "compressed tables: damage is found and named; what another program compressed is refused" {
    mixed 3000
    tra import -q m.csv --codec zstd -o a.h5 --block 1000
    frame 'import subprocess
tra = sys.argv[1]
whole = open("a.h5", "rb").read()
f = h5py.File("a.h5")
sets = []
f["data"].visititems(lambda n, d: sets.append(d) if isinstance(d, h5py.Dataset) and d.chunks else None)
places = [(d.name, c.byte_offset + k) for d in sets for i in range(d.id.get_num_chunks())
          for c in [d.id.get_chunk_info(i)] for k in (0, c.size // 2, c.size - 1)]
masks = [d.id.get_chunk_info(0).filter_mask for d in sets]
f.close()
assert len(sets) == 9 and len(places) == 81 and len(set(masks)) > 1, (len(sets), masks)
for name, at in places[::7]:
    bad = bytearray(whole); bad[at] ^= 0x10
    open("bad.h5", "wb").write(bad)
    for command in ("verify", "digest", "head"):
        r = subprocess.run([tra, command, "bad.h5"], capture_output=True, text=True)
        said = r.stdout + r.stderr
        if command == "head": assert r.returncode in (0, 3), said
        else: assert r.returncode in (1, 3) and name[1:] in said and "damaged" in said, (command, name, at, said)' "$TRA"
    # the index says that a chunk went through no filter
    frame 'import shutil
shutil.copy("a.h5", "mask.h5")
f = h5py.File("mask.h5", "r+"); d = f["data/k"].id
d.write_direct_chunk((0,), d.read_direct_chunk((0,))[1] + b"x", filter_mask=2); f.close()'
    told 3 tra digest mask.h5
    tra import -q m.csv -o plain.h5 --block 1000
    frame 'f = h5py.File("plain.h5", "r+"); d = f["data/k"]; v = d[()]; a = dict(d.attrs); del f["data/k"]
d = f["data"].create_dataset("k", data=v, chunks=(1000,), shuffle=True, compression=32015, compression_opts=(3,))
d.attrs.update(a)'
    told 3 tra digest plain.h5
}

@test "compressed tables: outputs have the same bytes on 1, 2 and 3 sites by both transports, and are read as inputs" {
    mixed 8000
    tra import -q m.csv --codec zstd -o m.h5 --block 1200
    cat >p.tra <<'END'
input T from "m.h5"
S = select(T, x > 0)
G = group(T, [s], n = count(), big = sum(big), x = mean(x))
O = order(T, [d desc, x])
output S
output G
output O to "both.h5:o"
END
    tra run -q p.tra --no-history
    for f in S G both; do mv $f.h5 $f.0.h5; done
    status 0 tra run -q p.tra --no-history --codec zstd
    status 0 tra diff S.h5 S.0.h5
    status 0 tra diff G.h5 G.0.h5
    status 0 tra diff both.h5:o both.0.h5:o
    status 0 tra verify S.h5 G.h5 both.h5:o
    [ "$(stat -c %s S.h5)" -lt "$(stat -c %s S.0.h5)" ]
    for f in S G both; do mv $f.h5 $f.1.h5; done
    for n in 2 3; do
        for transport in mpi files; do
            status 0 mpirun -q -n $n "$TRA" run -q p.tra --no-history --codec zstd --transport $transport
            status 0 tra diff S.h5 S.1.h5
            cmp S.h5 S.1.h5
            cmp both.h5 both.1.h5
        done
    done
    status 0 tra run -q p.tra --no-history --codec zstd --engine reference
    status 0 tra diff S.h5 S.0.h5
    [ -z "$(ls -A | grep '^\.')" ]
}

@test "compressed tables: import and run keep their ceilings" {
    mixed 300000
    (($(peak "$TRA" import -q m.csv --codec zstd:9 -o z.h5 --memory 48M) < (48 << 20)))
    printf 'input T from "z.h5"\nO = order(T, [x])\noutput O\n' > p.tra
    (($(peak "$TRA" run -q p.tra --codec zstd:9 --memory 96M) < (96 << 20)))
    (($(peak "$TRA" verify z.h5 --memory 48M) < (48 << 20)))
}

@test "an output has of a large dictionary the strings of its rows; strings that no program uses are not read" {
    py 'with open("t.csv", "w") as f:
    f.write("id,name,note\n")
    for i in range(3000):
        name = "" if i % 7 == 3 else f"n{i * 37 % 3000:05d}"
        f.write(f"{i},{name},{i % 5}x{i}\n")'
    tra import -q t.csv -o t.h5 --types note=text --block 500
    cat >p.tra <<'END'
input T from "t.h5"
few = order(select(T, id % 400 == 10), [name desc])
none = select(T, id < 0)
many = select(T, id % 2 == 0)
count = project(select(T, id < 5), id)
output few to "few.h5"
output none to "none.h5"
output many to "many.h5"
output count to "count.h5"
END
    tra run -q --engine reference p.tra
    for o in few none many count; do mv $o.h5 ref_$o.h5; done
    for n in 1 2 3 5; do
        tra run -q --sites $n p.tra
        for o in few none many count; do
            same_digest $o.h5 ref_$o.h5
            status 0 tra verify $o.h5
        done
        py 'f = h5py.File("few.h5")["data"]
have = [None if c < 0 else f["name/categories"][c].decode() for c in f["name/codes"][:]]
ids = f["id"][:]
assert have == [None if i % 7 == 3 else f"n{i * 37 % 3000:05d}" for i in ids], have
assert len(f["name/categories"]) == sum(x is not None for x in have) and len(f["note/categories"]) == len(ids) == 8
assert len(h5py.File("none.h5")["data/name/categories"]) == 0
assert len(h5py.File("many.h5")["data/note/categories"]) == 3000'
    done
}
