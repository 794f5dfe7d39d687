# What a CSV file is, a table or a matrix, what its numbers become, and the one standing for the other in programs.
load helper

# is_what WANT [OPTION...]: x.csv is a table of so many columns ("3 columns") or a matrix ("2 x 3"), from a file, packed,
# through a pipe and as a named pipe.
is_what() {
    local from want=$1
    shift
    gzip -kf x.csv
    rm -f x.fifo
    mkfifo x.fifo
    for from in x.csv x.csv.gz - x.fifo; do
        rm -f x.h5
        [ "$from" != x.fifo ] || { cat x.csv >x.fifo & }
        output=$(tra import --format json "$from" -o x.h5 --from csv "$@" <x.csv 2>/dev/null)
        [ "$from" != x.fifo ] || wait
        is "$want" py 'j = json.loads(sys.argv[1])
print(f"{len(j[chr(99) + chr(111) + chr(108) + chr(117) + chr(109) + chr(110) + chr(115)])} columns" if "columns" in j else " x ".join(map(str, j["shape"])))' "$output"
    done
}

@test "a header line makes a table, numbers alone without one a matrix, and nothing else decides" {
    printf 'a,b\n1,2\n3,4\n' >x.csv
    is_what "2 columns"
    is_what "2 x 2" --matrix
    is_what "2 columns" --skip 0 --delimiter , --quote none --null NA --columns a,b --no-history
    printf 'a,b\n' >x.csv
    is_what "2 columns"
    is_what "0 x 2" --matrix
    printf '1,2\n3,4\n' >x.csv
    is_what "2 x 2"
    is_what "2 columns" --table
    is_what "2 x 2" --delimiter , --quote none --null NA --columns 1,2 --pad-short
    is_what "1 x 2" --header --matrix
    printf '1,2\n3,x\n' >x.csv
    is_what "2 columns"
    py 'open("x.csv", "w").write("1,2\n" * 400000 + "1,x\n")' # beyond the bytes that are looked at first
    is_what "2 columns"
    py 'open("x.csv", "w").write("1,2\n" * 400000 + "1,3\n")'
    is_what "400001 x 2"
}

@test "options that only tables have, or only matrices, are refused for the other, and the way out is said" {
    printf 'a,b\n1,2\n' >t.csv
    printf '1,2\n3,4\n' >m.csv
    for o in "--dtype i32" --vector --empty-nan "--storage csr"; do
        # shellcheck disable=SC2086
        told 2 tra import t.csv $o -o x.h5
    done
    for o in "--types 1=f32" "--date-format %Y" "--rejects r.csv"; do
        # shellcheck disable=SC2086
        told 2 tra import m.csv $o -o x.h5
    done
    told 2 tra import t.csv --block 2x2 -o x.h5
    status 2 tra import t.csv --table --matrix -o x.h5
    [ ! -e x.h5 ]
}

# column CELLS TYPE VALUES [OPTION...]: a column of a table with these cells has the type, and its values are exported so.
column() {
    printf 'c,s\n' >c.csv
    for x in $1; do printf '%s,x\n' "$x" >>c.csv; done
    status 0 tra import c.csv -o c.h5 "${@:4}"
    said=$output
    has "c  $2"
    is "$3" eval "tra export -q c.h5 -o - --to csv | tail -n +2 | cut -d, -f1 | tr '\n' ' ' | sed 's/ $//'"
}

@test "numbers of tables: no type that changes one of them is chosen in silence" {
    column "12345678901234567890 12345678901234567891" string "12345678901234567890 12345678901234567891"
    [[ $said == *"is text: it has whole numbers that i64 does not hold"* ]]
    column "9223372036854775807 -9223372036854775808" i64 "9223372036854775807 -9223372036854775808"
    column "9223372036854775808 1" string "9223372036854775808 1"
    column "9007199254740993 0.5" string "9007199254740993 0.5"
    [[ $said == *"beside fractions"* ]]
    column "9007199254740992 0.5" f64 "9007199254740992 0.5"
    [[ $said != *warning* ]]
    column "9007199254740993 nan" string "9007199254740993 nan"
    column "9007199254740993 7" i64 "9007199254740993 7"
    column "9007199254740993 0.5" f64 "9007199254740992 0.5" --types c=f64
    [[ $said == *"1 integers cannot be held exactly in f64"* ]]
    column "16777217 2" f32 "16777216 2" --types c=f32
    [[ $said == *"1 integers cannot be held exactly in f32"* ]]
    column "1e400 2" f64 "inf 2"
    [[ $said == *"1 finite values are too large for f64"* ]]
    column "inf 2" f64 "inf 2"
    [[ $said != *warning* ]]
    column "1e39 2" f32 "inf 2" --types c=f32
    [[ $said == *"1 finite values are too large for f32"* ]]
    column "02139 10001" string "02139 10001"
    [[ $said == *"begin with zeros"* ]]
    column "0213 10001" i32 "213 10001"
    column "000 001" string "000 001"
    column "0.5 1.5" f64 "0.5 1.5"
    column "0 1" i32 "0 1"
    column "-01 -02" i32 "-1 -2"
    column "02139 10001" i32 "2139 10001" --types c=i32
    column "1000000000000000000000000 1" string "1000000000000000000000000 1"
    column "20200131 20201231" date "2020-01-31 2020-12-31" --date-format %Y%m%d
    column "20200131 20201231" date "2020-01-31 2020-12-31" --date-format %Y%m%d --types c=date
    column "20200131 20201331" i32 "20200131 20201331" --date-format %Y%m%d
    column "202001311530 202012310000" timestamp "2020-01-31 15:30:00 2020-12-31 00:00:00" --timestamp-format %Y%m%d%H%M
}

@test "borders of numbers: each text format and npy, into each type: kept, counted, or refused with the place" {
    py '
import itertools, struct, subprocess
tra = sys.argv[1]
def run(*a): return subprocess.run([tra, *a], capture_output=True, text=True)
values = ["0", "-1", "255", "16777216", "16777217", "2147483647", "2147483648", "9007199254740992", "9007199254740993",
          "9223372036854775807", "9223372036854775808", "18446744073709551615", "0.5", "1e39", "1e400", "nan"]
forms = {"csv": "{}\n{}\n", "mtx": "%%MatrixMarket matrix array real general\n2 1\n{}\n{}\n", "tns": "1 {}\n2 {}\n",
         "edges": "0 1 {}\n1 0 {}\n"}
f32 = lambda x: np.float32(x)
bad = []
for (form, text), dtype, value in itertools.product(forms.items(), ["f64", "f32", "i64", "i32"], values):
    open("v." + form, "w").write(text.format(value, "1"))
    r = run("import", "--format", "json", "v." + form, "--dtype", dtype, "-o", "v.h5", *(["--matrix"] if form == "csv" else []))
    whole = value.lstrip("-").isdigit()
    fits = whole and {"i64": -2**63 <= int(value) < 2**63, "i32": -2**31 <= int(value) < 2**31}.get(dtype, True)
    if dtype[0] == "i" and not fits:
        if r.returncode != 3 or value not in r.stderr: bad.append((form, dtype, value, r.returncode, r.stderr))
        continue
    if r.returncode != 0: bad.append((form, dtype, value, r.stderr)); continue
    j = json.loads(r.stdout)
    d = run("export", "-q", "v.h5", "-o", "-", "--to", "csv").stdout.replace("\n", ",").split(",")
    got = [x for x in d if x not in ("1", "0", "")] or [value if value in ("0", "1") else "0"]
    want = np.float32(value) if dtype == "f32" else np.float64(value) if dtype == "f64" else int(value)
    if dtype[0] == "f":
        with np.errstate(all="ignore"): rounded = whole and int(want) != int(value)
        over = np.isinf(want) and value != "inf"
        if (j["inexact"], j["overflow"]) != (int(rounded), int(over)): bad.append((form, dtype, value, "counts", j["inexact"], j["overflow"]))
        if not (np.isnan(want) or type(want)(got[0]) == want): bad.append((form, dtype, value, got))
    elif int(got[0]) != want: bad.append((form, dtype, value, got))
assert not bad, "\n".join(map(str, bad[:20]))' "$TRA"
}

@test "whole numbers go from each format to each other one as they are" {
    py 'np.save("i.npy", np.array([[9007199254740993, -9007199254740993], [9223372036854775807, -9223372036854775808]]))'
    tra import -q i.npy -o i.h5
    want=$(digest_of i.h5)
    for f in npy npz mtx tns csv raw h5; do
        tra export -q i.h5 -o "o.$f"
        case $f in
        raw) how="--dtype i64 --shape 2x2" ;;
        csv | mtx | tns) how="--dtype i64 --storage dense" ;;
        *) how="--storage dense" ;;
        esac
        # shellcheck disable=SC2086
        tra import -q "o.$f" $how -o b.h5
        is "$want" digest_of b.h5 || { echo "$f"; return 1; }
    done
    printf '9007199254740993,1\n' >m.csv
    told 3 tra import m.csv -o m.h5
    printf 'k,id\n1,9007199254740993\n2,\n3,5\n' >n.csv
    tra import -q n.csv -o n.h5
    status 0 tra export n.h5 -o n.npy
    has "1 integers beside NULLs cannot be held exactly in f64"
    status 0 tra export n.h5 -o n2.csv
    lacks warning
}

@test "numbers are written with the fewest digits that are read back, as Python does" {
    py '
import random, struct, subprocess
r = random.Random(3)
v = [91630.599999999991, 5e-324, 1.1e-310, 0.1, 1 / 3, 2.0**-44, 9007199254740993.0, 1e22, 1.7976931348623157e308]
v += [2.0**k for k in range(-1074, 1024, 7)] + [r.uniform(0, 1e5) for _ in range(2000)]
v += [x for x in (struct.unpack("d", struct.pack("Q", r.getrandbits(63)))[0] for _ in range(3000)) if x == x and abs(x) < 1e308]
np.save("v.npy", np.array(v)); np.save("w.npy", np.array([x for x in v if 1e-44 < abs(x) < 3e38], "f4"))'
    for f in v w; do
        tra import -q $f.npy -o $f.h5
        for to in csv tns mtx; do tra export -q $f.h5 -o $f.$to; done
        tra head --rows 9000 $f.h5 >$f.head 2>/dev/null || tra head $f.h5 >$f.head
        py '
digits = lambda s: len(s.lower().split("e")[0].replace(".", "").replace("-", "").strip("0"))
a = np.load(sys.argv[1] + ".npy"); wide = a.dtype == np.float64
shown = lambda x: repr(x.item()) if wide else np.format_float_scientific(x)
for name in ("csv", "tns", "mtx"):
    words = [l.split()[-1] for l in open(f"{sys.argv[1]}.{name}") if l.strip() and not l.startswith("%")]
    words = words[len(words) - len(a):]
    for w, x in zip(words, a): assert a.dtype.type(w) == x and digits(w) == digits(shown(x)), (name, w, shown(x))' $f
    done
}

@test "a quote that is not closed is an error in a file of any length, and so is one fault" {
    for t in 'a,b\n1,"y\n' 'a,b\n1,"x"\n2,"y\n' '"a","b"\n"1","x"\n"2","y\n' 'a;b\n1;"x\n'; do
        printf "$t" >q.csv
        told 3 tra import q.csv -o q.h5
    done
    printf 'a,b\n1,"x" y\n' >q.csv
    told 3 tra import q.csv -o q.h5
    printf 'a,b\n1,5" pipe\n2,6"\n' >q.csv # a quote within a cell is text
    status 0 tra import q.csv -o q.h5
    printf 'a,b\n1,"y\n' >q.csv
    status 0 tra import q.csv --quote none -o q.h5
}

@test "files of other kinds are named by their content, whatever their name" {
    py '
import zipfile, tarfile, io
open("l.csv", "w").write("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n")
open("j.csv", "w").write("{\"a\": 1}\n{\"a\": 2}\n"); open("k.csv", "w").write(" [{\"a\": 1}]\n"); open("e.csv", "w").write("[\n[1, 2]]\n")
open("p.csv", "wb").write(b"PAR1" + bytes(100)); open("a.csv", "wb").write(b"ARROW1\0\0" + bytes(100))
open("s.csv", "wb").write(b"SQLite format 3\0" + bytes(100)); open("h.csv", "w").write("<!DOCTYPE html>\n<html>\n")
open("u.csv", "w", encoding="utf-32").write("a,b\n1,2\n"); open("w.csv", "w", encoding="utf-16").write("a,b\n1,2\n")
open("f.csv", "wb").write(bytes([14, 3, 19, 1]) + bytes(100))
zipfile.ZipFile("z.csv", "w").writestr("x", "1,2\n")
t = tarfile.open("t.csv", "w"); i = tarfile.TarInfo("x"); i.size = 4; t.addfile(i, io.BytesIO(b"1,2\n")); t.close()
import scipy.io; scipy.io.savemat("m.csv", {"a": np.eye(2)}, format="4")'
    while read -r f what; do
        for from in $f.csv -; do
            status 3 tra import $from -o x.h5 <$f.csv; has "$what"
        done
    done <<'END'
l a pointer of Git LFS
j JSON
k JSON
e JSON
p a Parquet file
a an Arrow or Feather file
s an SQLite database
h a page of HTML
u UTF-32
w UTF-16
f an HDF4 file
z a zip archive
t a tar archive
m a MAT-file of version 4
END
    status 0 tra import --from csv j.csv -o x.h5 # who says so is believed
}

@test "a table of numbers stands where a matrix may, and a matrix where a table may" {
    printf 'a,b,ok\n1,2.5,true\n3,4,false\n5,6,true\n' >t.csv
    printf '1,2\n3,4\n5,1\n' >x.csv
    printf '5\n11\n17\n' >y.csv
    tra import -q t.csv -o t.h5; tra import -q x.csv -o x.h5; tra import -q y.csv --vector -o y.h5
    tra import -q t.csv --matrix --columns a,b -o m.h5
    printf '%s\n' 'input t from "t.h5"' 'input x from "x.h5"' 'input y from "y.h5"' 'input m from "m.h5"' \
        'G[i,j] = sum t[n,i] * t[n,j]' 'w = solve(t, y)' 'K = stack(t, x, 1)' 'T = transpose(t)' 'E = entries(t)' \
        'S = select(x, c0 > 1)' 'J = project(join(t, x, a == c0), a, d = c1)' 'Q = group(x, [c0], s = sum(c1))' \
        'O = order(x, [c1 desc])' 'U = union(x, x)' 'D = distinct(m, [a])' 'L = limit(order(m, [b desc]), 1)' \
        >p.tra
    for name in G w K T E S J Q O U D L; do echo "output $name"; done >>p.tra
    status 0 tra run -q p.tra
    py '
t, x, y = np.array([[1, 2.5, 1], [3, 4, 0], [5, 6, 1]]), np.array([[1, 2], [3, 4], [5, 1.]]), np.array([5, 11, 17.])
v = lambda n: h5py.File(n + ".h5")["data"][()]
assert np.allclose(v("G"), t.T @ t) and np.allclose(v("w"), np.linalg.solve(t, y))
assert (v("K") == np.hstack([t, x])).all() and (v("T") == t.T).all()'
    is "c0,c1 3,4 5,1" eval "tra head S.h5 | tr '\n' ' ' | sed 's/ $//'"
    is "a,d 1,2 3,4 5,1" eval "tra head J.h5 | tr '\n' ' ' | sed 's/ $//'"
    is "c0,s 1,2 3,4 5,1" eval "tra head Q.h5 | tr '\n' ' ' | sed 's/ $//'"
    is "c0,c1 3,4 1,2 5,1" eval "tra head O.h5 | tr '\n' ' ' | sed 's/ $//'"
    is "a,b 5,6" eval "tra head L.h5 | tr '\n' ' ' | sed 's/ $//'"
    is "i0,column,value" eval "tra head E.h5 | head -1"
    for name in G w K T S Q; do cp $name.h5 before-$name.h5; done
    for ranks in 1 3; do
        status 0 tra run -q --sites $ranks p.tra
        for name in G w K T S Q; do status 0 tra diff --rtol 1e-12 $name.h5 before-$name.h5; done
    done
    status 0 tra run -q --engine reference p.tra
    for name in G w K T S Q; do status 0 tra diff --rtol 1e-9 $name.h5 before-$name.h5; done
}

@test "what of a table stands for no matrix is said" {
    printf 'a,b\n1,x\n' >s.csv
    printf 'a,b\n1,2\n3,\n' >n.csv
    tra import -q s.csv -o s.h5; tra import -q n.csv -o n.h5
    printf '%s\n' 'input s from "s.h5"' 'G[i,j] = sum s[n,i] * s[n,j]' 'output G' >p.tra
    told 2 tra check p.tra
    printf '%s\n' 'input n from "n.h5"' 'G[i,j] = sum n[k,i] * n[k,j]' 'output G' >p.tra
    told 3 tra run -q p.tra
}

@test "names and values of files are shown without control characters" {
    py 'open("n.csv", "w", newline="").write("\"a\x1b[31m\",\"b\nc\",d\xe9\n1,\x1b]0;x\x07,y\x9b2J\n")'
    shows_none() {
        printf '%s' "$output" >shown
        py 'b = open("shown", "rb").read().decode(); bad = [c for c in b if (c < " " and c != "\n" and c != "\t") or "\x7f" <= c < "\xa0"]
assert not bad, (bad, b)'
    }
    status 0 tra import n.csv -o n.h5; shows_none; has "a?[31m"; has "b?c"
    status 0 tra info n.h5; shows_none; has "b?c"
    status 0 tra info n.h5 --format json; shows_none
    printf '%s\n' 'input n from "n.h5"' 'm = select(n, `dé` == "x")' 'output m' >p.tra
    status 0 tra check p.tra; shows_none
    status 0 tra explain --operators p.tra; shows_none
    status 3 tra import --types '1=date' n.csv -o x.h5; shows_none
    printf '%s\n' 'input n from "n.h5"' 'm = matrix(n, [`b?c`])' 'output m' >p.tra
    status 2 tra check p.tra; shows_none
    printf '"a\033[31m"\n1\n' | tra import -q - --from csv --matrix -o l.h5
    status 0 tra info l.h5; shows_none
    status 3 tra info $'no\033[31m.h5'; shows_none
    status 0 script -qec "'$TRA' head n.h5" /dev/null
    output=$(tr -d '\r' <<<"$output")
    shows_none
}

@test "the columns of a very wide table count: the ceiling is kept, or the least is said" {
    py 'n = 100000
open("commas.csv", "w").write("," * 3000000 + "\n")
open("wide.csv", "w").write(",".join(f"c{i}" for i in range(n)) + "\n" + ",".join(["1"] * n) + "\n")
open("some.csv", "w").write(",".join(f"c{i}" for i in range(5000)) + "\n" + ",".join(["1"] * 5000) + "\n")'
    for f in commas wide some; do
        "$PYTHON" -c 'import resource, subprocess, sys
r = subprocess.run(sys.argv[2:], capture_output=True, text=True)
assert r.returncode in (0, 4), r
assert r.returncode == 0 or "--memory" in r.stderr, r
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
assert sys.argv[1] or most < 64 << 20, most' "${SAN-}" "$TRA" import -q --table --memory 64M $f.csv -o $f.h5
    done
    [ -e some.h5 ]
}

@test "an error about a column where no row has a value says that its type is not known, from every source" {
    printf 'shop,qty\n' >day.csv
    printf 'shop,qty\na,\nb,\n' >none.csv
    "$TRA" import -q none.csv -o stored.h5
    for t in 'group(X, [shop], s = sum(qty))' 'select(X, qty > 3)' 'project(X, c = qty * 2)' 'matrix(X, [qty])'; do
        for f in day.csv none.csv stored.h5; do
            told 2 tra eval "$t" X=$f
        done
    done
    status 2 bash -c "'$TRA' eval 'group(X, [shop], s = sum(qty))' X=- <day.csv"
    has "--types qty=f64"
    status 0 tra eval 'group(X, [shop], s = sum(qty))' X=day.csv --types qty=f64
    [ "$output" = "shop,s" ]
    printf 'shop,qty\na,b\n' >some.csv
    status 2 tra eval 'group(X, [shop], s = sum(qty))' X=some.csv
    lacks "no row has a value"
}
