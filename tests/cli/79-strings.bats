# Strings that only the run makes: of numbers, of pairs of columns, of groups; their dictionaries, judged by Python.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    cat >rows.py <<'END'
import csv, random
r = random.Random(3)
null = lambda v: "" if r.random() < 0.1 else v
rows = [(null(r.choice("abcdef")), null(str(r.randrange(-5, 9))), null(repr(round(r.uniform(-1e6, 1e6), 5))),
         null(str(r.randrange(10**12))), r.choice(["x", "yy", "zzz", "ä\U0001F600", "-"]) + str(r.randrange(300)))
        for _ in range(4000)]
END
    cat >make.py <<'END'
from rows import *
with open("t.csv", "w", newline="") as f: csv.writer(f).writerows([("k", "i", "x", "w", "s"), *rows])
END
    "$PYTHON" make.py
    "$TRA" import -q --table t.csv -o t.h5 --block 600
    cat >judge.py <<'END'
import csv, itertools, sys
from rows import rows
def read(name): return [tuple(v) for v in csv.reader(open(name, encoding="utf-8"))][1:]
def cat(*v): return "" if "" in v else "".join(v)
def same(name, want):
    got, want = read(name), [tuple(w) for w in want]
    differs = next((x for x in itertools.zip_longest(got, want) if x[0] != x[1]), None)
    assert got == want, (name, differs)
END
}

setup_data() { ln -s "$BATS_FILE_TMPDIR"/{t.h5,rows.py,judge.py} .; }

# on_ranks: p.tra gives the same on any number of ranks and under a tight ceiling, and check.py finds it right.
on_ranks() {
    local how
    for how in "--sites 1" "--sites 2" "--sites 3" "--sites 5" "--memory 48M"; do
        # shellcheck disable=SC2086
        tra run -q $how p.tra
        "$PYTHON" check.py
        rm ./*.csv
    done
    [ -z "$(ls -A "$TRA_SCRATCH")" ]
}

@test "a string that cannot be made is an error where it is read, as any value, on any number of ranks" {
    "$PYTHON" -c '
print("s,i,n")
for j in range(70000): print(f"w{j},{9223372036854775807 if j == 60000 else j},{j}")' | tra import -q --table - -o t.h5
    cat >p.tra <<'END'
input t from "t.h5"
P = project(t, n, q = concat(s, string(i + 1)))
A = project(P, n)
B = group(select(P, n != 60000), [], m = max(q), c = count(q))
C = select(project(P, z = if(n == 60000, "none", q)), z == "none" || z == "w34")
D = select(t, n < 2 && concat(s, string(i + 1)) != "w01")
output A to "A.csv"
output B to "B.csv"
output C to "C.csv"
output D to "D.csv"
END
    for how in "--sites 1" "--sites 3"; do
        # shellcheck disable=SC2086
        tra run -q $how p.tra
        [ "$(wc -l <A.csv)" = 70001 ]
        [ "$(cat B.csv C.csv D.csv)" = $'m,c\nw999910000,69999\nz\nw34\nnone\ns,i,n\nw1,1,1' ]
        rm ./*.csv
    done
    for read in 'O = project(P, q)' 'O = group(P, [q], c = count())' 'O = select(P, q != "w01")'; do
        printf '%s\n' 'input t from "t.h5"' 'P = project(t, n, q = concat(s, string(i + 1)))' "$read" 'output O' >p.tra
        status 3 tra run -q p.tra
        has 'row 60000'
        has 'could not be computed'
    done
}

@test "strings of numbers, of several columns and of strings that are made themselves, on any number of ranks" {
    setup_data
    cat >p.tra <<'END'
input t from "t.h5"
A = select(t, i > 0)
P = project(A, k, c = concat(s, "-", w, "-", x), u = upper(concat(string(x), s)), n = length(concat(x, w)))
S = select(A, startswith(concat(x, s), "1"))
G = group(A, [q = concat(substr(string(w), 1, 1), k)], n = count(), m = max(concat(w, s)))
O = order(A, [concat(w, "z") desc])
W = window(A, [k], [w], l = lag(concat(k, ":", x)))
J = join(project(A, c = concat(s, x, w)), project(t, d = concat(s, x, w), v = i), c == d)
F = project(t, s = string(x), d = strftime(timestamp "2020-01-01" + seconds(1) * (w % 1000000000), "%Y-%m-%d %H:%M:%S"))
output P to "P.csv"
output S to "S.csv"
output G to "G.csv"
output O to "O.csv"
output W to "W.csv"
output J to "J.csv"
output F to "F.csv"
END
    cat >check.py <<'END'
from judge import *
import datetime
A = [r for r in rows if r[1] and int(r[1]) > 0]
upper = lambda s: "".join(c.upper() if c.isascii() else c for c in s)
same("P.csv", [(k, cat(s, "-", w, "-", x) if w and x else "", upper(cat(x, s)) if x else "",
                str(len(x + w)) if x and w else "") for k, i, x, w, s in A])
same("S.csv", [r for r in A if r[2] and (r[2] + r[4]).startswith("1")])
groups = {}
for k, i, x, w, s in A: groups.setdefault(w[:1] + k if w and k else None, []).append(w + s if w else None)
key = lambda v: (v is None, (v or "").encode())
same("G.csv", [(g or "", str(len(groups[g])), max((v for v in groups[g] if v), key=str.encode, default=""))
               for g in sorted(groups, key=key)])
there = sorted([r for r in A if r[3]], key=lambda r: (r[3] + "z").encode(), reverse=True)
same("O.csv", there + [r for r in A if not r[3]])
last, at = {}, {}
for n in sorted(range(len(A)), key=lambda n: (A[n][3] == "", int(A[n][3] or 0))):
    k, i, x, w, s = A[n]
    at[n] = last.get(k, "")
    last[k] = f"{k}:{x}" if k and x else ""
same("W.csv", [A[n] + (at[n],) for n in range(len(A))])
whole = {}
for k, i, x, w, s in rows:
    if x and w: whole.setdefault(s + x + w, []).append(i)
same("J.csv", [(c, c, v) for c in (s + x + w for k, i, x, w, s in A if x and w) for v in whole[c]])
later = lambda w: str(datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=int(w) % 10**9)) if w else ""
same("F.csv", [(r[2], later(r[3])) for r in rows])
END
    on_ranks
}

@test "strings of groups are put together: orders, distinct values, NULLs, no keys, beside other aggregates" {
    setup_data
    cat >p.tra <<'END'
input t from "t.h5"
param comma = "; "
A = group(t, [k, p = i % 3], n = count(), a = string_agg(s), b = string_agg(x, comma, order = [w desc, s]),
    c = string_agg(i, "", distinct = true), d = string_agg(k, "+", distinct = true, order = [x]), m = mode(i))
B = group(t, [], a = string_agg(concat(i, "/", k), " "))
C = group(select(t, i > 100), [], a = string_agg(s), n = count())
D = group(select(t, i > 100), [k], a = string_agg(s))
E = project(A, k, long = length(a), j = upper(a))
output A to "A.csv"
output B to "B.csv"
output C to "C.csv"
output D to "D.csv"
output E to "E.csv"
END
    cat >check.py <<'END'
from judge import *
order = lambda v: (v == "", v.encode())
number = lambda v: (v == "", float(v or 0))
groups = {}
for r in rows: groups.setdefault((r[0], str(int(r[1]) % 3) if r[1] else ""), []).append(r)
def mode(v):
    v = [int(x) for x in v if x]
    return str(min(set(v), key=lambda x: (-v.count(x), x))) if v else ""
want = []
for (k, p), g in sorted(groups.items(), key=lambda x: (order(x[0][0]), number(x[0][1]))):
    by = sorted(sorted(g, key=lambda r: order(r[4])), key=lambda r: -int(r[3]) if r[3] else 1)
    want.append((k, p, str(len(g)), ",".join(r[4] for r in g), "; ".join(r[2] for r in by if r[2]),
                 "".join(dict.fromkeys(r[1] for r in g if r[1])), k, mode([r[1] for r in g])))
same("A.csv", want)
same("B.csv", [(" ".join(f"{r[1]}/{r[0]}" for r in rows if r[0] and r[1]),)])
assert read("C.csv") == [("", "0")] and read("D.csv") == []
upper = lambda s: "".join(c.upper() if c.isascii() else c for c in s)
same("E.csv", [(w[0], str(len(w[3])), upper(w[3])) for w in want])
END
    on_ranks
    tra run -q --engine reference p.tra
    "$PYTHON" check.py
    is "" ls -A "$TRA_SCRATCH" # nor a record of what the reference evaluator has made
}

@test "a program with such strings is checked and explained without being run; what cannot be is said" {
    setup_data
    printf '%s\n' 'input t from "t.h5"' 'P = project(t, c = concat(w, x), n = 2 * i)' \
        'G = group(P, [n], j = string_agg(c))' 'output G to "G.csv"' >p.tra
    tra check p.tra
    tra explain p.tra >/dev/null
    tra run -q --dry-run p.tra >/dev/null
    [ ! -e G.csv ]
    [ -z "$(ls -A "$TRA_SCRATCH")" ]
    status 2 tra compile p.tra -o plan
    [[ $output == *"makes strings that only a run tells"* ]]
    printf '%s\n' 'input t from "t.h5"' 'state S = t' 'repeat 2 {' \
        '  next S = project(S, k, i, x = x + 1, w, s = concat(x, w))' '}' 'output S' >loop.tra
    status 2 tra run -q loop.tra
    [[ $output == *"cannot be made of what a loop changes"* ]]
    status 2 tra eval 'group(t, [k], string_agg(x, 3))' t.h5
    [[ $output == *'write string_agg(x, ", ")'* ]]
    status 2 tra eval 'join(t, project(t, a = s, b = x), s == a && concat(x, b) != "1")' t.h5
    [[ $output == *"make a column of them first"* ]]
    status 3 tra eval 'project(t, a = repeat(concat(x, w), 99999999))' t.h5
    [[ $output == *"row 1: column a could not be computed: an integer does not fit, or a string is too long"* ]]
}

@test "labels of tables that only the run computes: of any size, in what is written, and checked where they meet" {
    setup_data
    cat >make.py <<'END'
import csv, random
r = random.Random(4)
rows = [(r.randrange(70000), r.randrange(5), r.randrange(1000)) for _ in range(150000)]
END
    py 'from make import *
with open("u.csv", "w", newline="") as f: csv.writer(f).writerows([("a", "b", "v"), *rows])'
    tra import -q --table u.csv -o u.h5 --block 20000
    cat >p.tra <<'END'
input u from "u.h5"
T = union(u, u, u, u, u, u, u, u, u, u)
G = group(T, [k = a * 7 % 50021, c = b], s = sum(v))
P = pivot(G, k, c, s, sum)
Q = pivot(project(G, k = k + 1, c, s), k, c, s, sum)
M = matrix(group(T, [q = a * 7 % 50021], n = count()), [n], rows = q)
S = pivot(project(G, k = concat(k, "-", s / 2), c), k, c, 1, count)
Y[c] = sum[k](P[k,c])
output P to "P.h5"
output M to "M.h5"
output Y to "Y.h5"
output S to "S.h5"
END
    cat >check.py <<'END'
import collections
from make import rows
sums, counts = collections.Counter(), collections.Counter()
for a, b, v in rows:
    sums[a * 7 % 50021, b] += 10 * v
    counts[a * 7 % 50021] += 10
def labels(f, d): return [x.decode() if isinstance(x, bytes) else x for x in f["data"].dims[d][0][()]]
with h5py.File("P.h5") as f:
    assert labels(f, 0) == sorted({k for k, c in sums}) and labels(f, 1) == [0, 1, 2, 3, 4]
    at = {k: i for i, k in enumerate(labels(f, 0))}
    want = np.zeros((len(at), 5))
    for (k, c), s in sums.items(): want[at[k], c] = s
    assert (f["data"][()] == want).all()
with h5py.File("M.h5") as f: assert dict(zip(labels(f, 0), f["data"][()][:, 0])) == counts
with h5py.File("Y.h5") as f: assert f["data"][()].tolist() == want.sum(0).tolist() and labels(f, 0) == [0, 1, 2, 3, 4]
number = lambda x: str(int(x)) if x == int(x) else str(x)
with h5py.File("S.h5") as f:
    assert labels(f, 0) == sorted({f"{k}-{number(s / 2)}" for (k, c), s in sums.items()}, key=str.encode)
END
    for n in 1 3; do
        tra run -q --sites "$n" --memory 300M p.tra
        py "$(cat check.py)"
    done
    printf '%s\n' 'D[k,c] = P[k,c] - Q[k,c]' 'output D' >>p.tra
    status 2 tra run -q p.tra
    [[ $output == *"label 'k' stands for different things"* ]]
    [ -z "$(ls -A "$TRA_SCRATCH")" ]
}

@test "like, contains, position and length are those of python, whatever stands around % and _, at any length" {
    py '
import csv, random, re, subprocess
r = random.Random(3)
pieces = ["a", "b", "ab", "é", "日", "aab", "ba", "%", "_", "a" * 17, "xyzzy"]
strings = sorted({"".join(r.choice(pieces) for _ in range(r.randrange(0, 9))) for _ in range(600)})
patterns = ["".join(r.choice(["a", "b", "%", "_", "ab", "é", "%", "aa", "y", "a" * 16]) for _ in range(r.randrange(0, 7))) for _ in range(40)]
with open("s.csv", "w") as f: csv.writer(f, quoting=csv.QUOTE_ALL).writerows([["s"]] + [[s] for s in strings])
columns = ", ".join(f"l{i} = like(s, \"{p}\"), c{i} = contains(s, \"{p}\"), p{i} = position(s, \"{p}\")" for i, p in enumerate(patterns))
open("p.tra", "w").write(f"input t from \"s.csv\" (header = yes)\nO = project(t, s, n = length(s), {columns})\noutput O to \"o.csv\"\n")
subprocess.run([sys.argv[1], "run", "-q", "--no-history", "p.tra"], check=True)
for row in csv.DictReader(open("o.csv")):
    s = row["s"]
    assert len(s) == int(row["n"])
    for i, p in enumerate(patterns):
        like = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in p)
        want = (re.fullmatch(like, s, re.S) is not None, p in s, s.find(p) + 1 if p else 1)
        got = (row[f"l{i}"] == "true", row[f"c{i}"] == "true", int(row[f"p{i}"]))
        assert got == want, (s, p, got, want)
' "$TRA"
}

@test "_ is a whole character after % too, however many bytes that has" {
    printf 's\n日\n日本\né\nab\n😀\n日bc\n' >u.csv
    is $'s,a,b,c,d\n日,false,false,true,false\n日本,true,false,true,false\né,false,false,true,false\nab,true,false,true,true\n😀,false,false,true,false\n日bc,true,true,true,true' \
        tra eval 'project(t, s, a = like(s, "%__"), b = like(s, "%___"), c = like(s, "%_%"), d = like(s, "%_b%"))' t=u.csv
    is $'s,a\n日,false\n日本,false\né,false\nab,false\n😀,false\n日bc,false' tra eval 'project(t, s, a = like(s, "%__b%"))' t=u.csv
}

@test "strings of two columns are computed before the rows where they have no more combinations than rows, and runs do as explain says" {
    /usr/bin/python3 -c '
print("a,b")
for i in range(80000): print(f"x{i % 270},y{i // 270 % 270}")' >w.csv # 270 * 270 of the 2^16 and more
    tra import -q --header w.csv -o w.h5
    printf 'input w from "w.h5"\nO = project(w, s = concat(b, ":", a))\noutput O to "o.h5"\n' >w.tra
    status 0 tra explain w.tra
    digest=$(grep -o 'plan digest .*' <<<"$output")
    status 0 tra run -q --no-history --plan-digest "${digest##* }" w.tra
    tra export -q o.h5 -o o.csv
    cmp <(tail -n +2 w.csv | awk -F, '{print $2 ":" $1}') <(tail -n +2 o.csv)
}

@test "strings of years, sums and quotients of columns are computed before the rows where the values of the columns leave few" {
    /usr/bin/python3 -c '
print("a,d,n")
for i in range(5000): print(f"x{i % 7},{2019 + i % 5}-03-{1 + i % 28:02},{i * 37 % 1000 - 300}" if i % 50 else f"x{i % 7},,")' >y.csv
    tra import -q --header y.csv -o y.h5
    printf 'input y from "y.h5"\nO = project(y, s = concat(a, year(d), "/", (n div 100 + 1) * 2 - 5))\noutput O to "o.h5"\n' >y.tra
    status 0 tra explain y.tra
    digest=$(grep -o 'plan digest .*' <<<"$output")
    status 0 tra run -q --no-history --plan-digest "${digest##* }" y.tra
    tra export -q o.h5 -o o.csv
    cmp <(/usr/bin/python3 -c '
for i in range(5000): print(f"x{i % 7}{2019 + i % 5}/{((i * 37 % 1000 - 300) // 100 + 1) * 2 - 5}" if i % 50 else "")') <(tail -n +2 o.csv)
}

@test "strings of many whole numbers: near each other, of the whole range of i64, with NULLs" {
    /usr/bin/python3 -c '
print("n,m")
for i in range(90000): print(f"{i * 7919 % 70001 * 11 - 300000},{(i * 7919 % 70001 * 263524915338707 - 2**63) if i % 9 else (-2**63, 2**63 - 1)[i % 2]}" if i % 50 else ",")' >z.csv
    tra import -q --header z.csv -o z.h5
    printf 'input z from "z.h5"\nO = project(z, a = concat("a", n), b = concat(m, "b"))\noutput O to "o.h5"\n' >z.tra
    for n in 1 3; do
        status 0 tra run -q --sites $n z.tra
        tra export -q o.h5 -o o.csv
        cmp <(awk -F, 'NR > 1 {print $1 == "" ? "," : "a" $1 "," $2 "b"}' z.csv) <(tail -n +2 o.csv)
    done
}

@test "the seconds in which planning computes functions of all strings of a column are told, and more for more of them" {
    py 'open("t.csv", "w").write("s\n" + "".join(f"{i * 7919 % 100003}-a\n" for i in range(50000)))'
    tra import -q --table t.csv -o t.h5
    before() {
        printf 'input t from "t.h5"\nO = group(project(t, %s), [], m = max(x))\noutput O\n' "$1" >p.tra
        tra explain --format json p.tra | py 'print(json.load(sys.stdin)["seconds_before"])'
    }
    py "import sys; one, two, none = $(before 'x = length(s)'), $(before 'x = reverse(s)'), $(before 'x = s'); \
        sys.exit(not 0 == none < one < two < 5)"
}

@test "tables of many columns of strings hold no more than is told" {
    py 'r = range
print(",".join(f"c{c}" for c in r(50)))
for i in r(10): print(",".join("" if i == 3 else f"a{i % 3}" for c in r(50)))' >t.csv
    status 0 tra import -q --table --header t.csv -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'o = order(t, [c0])' 'p = limit(t, 5)' 'output o to "o.h5"' 'output p to "p.h5"' >p.tra
    status 0 tra run -q --threads 1 --profile run.json p.tra
    py 'p = json.load(open("run.json"))["plans"][0]
assert p["measured"]["peak_memory_bytes"] <= p["peak_memory_bytes"], (p["measured"]["peak_memory_bytes"], p["peak_memory_bytes"])'
}

@test "strings of a file that is large beside the ceiling are made of it: its other columns are not written away first" {
    "$PYTHON" -c '
print("s,i,n")
for j in range(1000000): print(f"w{j},{j},{j * 3}")' | tra import -q --table - -o t.h5
    cat >p.tra <<'END'
input t from "t.h5"
P = project(t, q = concat(s, string(i)), i)
output P to "P.h5"
END
    tra run -v p.tra --memory 64M 2>said
    [ "$(grep -c "output strings" said)" = 0 ]
    tra digest P.h5 >narrow
    tra run -q p.tra
    tra digest P.h5 | diff narrow -
}

@test "strings of one column are made once of each of its strings where the ceiling is tight: NULLs, pieces, several at once" {
    "$PYTHON" -c '
import random
r = random.Random(7)
words = ["".join(r.choices("abcXYZ 09-", k=r.randrange(4, 30))).strip() for _ in range(300000)]
print("s,i")
for j in range(400000): print(f"{r.choice(words) if j % 20 else str()},{j}")' | tra import -q --table - -o t.h5
    cat >p.tra <<'END'
input t from "t.h5"
P = project(t, i, u = upper(s), v = substr(s, if(isnull(s), 1, 3), 5), w = if(isnull(s), "none", lower(trim(s))), s)
Q = group(select(t, like(upper(s), "%AB%")), [g = substr(upper(s), 1, 2)], n = count(), m = max(concat(s, "-", s)))
output P to "P.h5"
output Q to "Q.h5"
END
    tra run -q p.tra
    tra digest P.h5 Q.h5 >wide
    for how in "--threads 1" "--threads 2" "--sites 3"; do
        # shellcheck disable=SC2086
        tra run -q $how --memory 80M p.tra
        tra digest P.h5 Q.h5 | diff wide -
    done
}

@test "of strings that only the run makes a limit computes those of its rows: orders, NULLs, ties, selections" {
    setup_data
    cat >p.tra <<'END'
input t from "t.h5"
A = limit(order(project(t, c = concat(k, "-", w), i), [c, i]), 40)
B = limit(order(t, [concat(x, s) desc, upper(concat(k, i))]), 30, from = 5)
P = project(select(t, i > 0), k, i, c = concat(k, i, x), w)
Q = order(P, [i desc, c])
C = limit(project(Q, *), 25)
D = limit(project(t, c = concat(x, w), s), 7, from = 3)
# what only other rows have is not made: some gigabytes
E = limit(order(project(t, r = repeat(concat(s, x), if(i == 8, 999999, 1)), w), [w]), 3)
R = project(t, c = concat(s, x))
F = limit(order(R, [c]), 10)
G = group(R, [], n = distinct(c))
output A to "A.csv"
output B to "B.csv"
output C to "C.csv"
output D to "D.csv"
output E to "E.csv"
output F to "F.csv"
output G to "G.csv"
END
    cat >check.py <<'END'
from judge import *
def order(v, *keys):
    for key, desc in reversed(keys):
        byte = lambda r: key(r) if isinstance(key(r), int) else key(r).encode()
        v = sorted([r for r in v if key(r) != ""], key=byte, reverse=desc) + [r for r in v if key(r) == ""]
    return v
whole = lambda v: int(v) if v else ""
A = [(cat(k, "-", w) if k and w else "", i) for k, i, x, w, s in rows]
same("A.csv", order(A, (lambda r: r[0], False), (lambda r: whole(r[1]), False))[:40])
same("B.csv", order(rows, (lambda r: cat(r[2], r[4]), True), (lambda r: cat(r[0], r[1]).upper(), False))[5:35])
P = [(k, i, cat(k, i, x), w) for k, i, x, w, s in rows if i and int(i) > 0]
same("C.csv", order(P, (lambda r: whole(r[1]), True), (lambda r: r[2], False))[:25])
same("D.csv", [(cat(x, w), s) for k, i, x, w, s in rows[3:10]])
E = order(rows, (lambda r: whole(r[3]), False))[:3]
assert all(r[1] != "8" for r in E)
same("E.csv", [(cat(r[4], r[2]) if r[1] else "", r[3]) for r in E])
R = [(cat(s, x),) for k, i, x, w, s in rows]
same("F.csv", order(R, (lambda r: r[0], False))[:10])
same("G.csv", [(str(len({r for r in R if r[0]})),)])
END
    on_ranks
}

@test "check refuses strings of what a loop changes, as the run does; a trace of a loop with errors is no other error" {
    printf 'k,x\n1,2\n1,3\n2,4\n' >u.csv
    printf '%s\n' 'input u from "u.csv"' 'state Z = order(u, [k])' 'repeat 2 {' \
        'g = group(Z, [k], s = string_agg(string(x), ";"))' 'next Z = join(u, g, k == k, how = semi)' '}' 'output Z' >p.tra
    for command in check explain run; do
        status 2 tra $command p.tra
        has "strings that only the run makes cannot be made of what a loop changes"
    done
    printf '%s\n' 'input A from "missing.h5"' 'state S = A' 'repeat 2 {' 'state T = S' 'repeat 2 as t {' 'next T[i] = T[i] + S[i]' \
        'm = max(T)' 'trace log(t, m)' '}' 'next S = T' '}' 'R = project(log, m)' 'output R' >q.tra
    status 3 tra check q.tra
    lacks "there is no relation"
}

@test "where the first rows of made strings cannot be found by heaps the whole order is made: the same rows, or the same error" {
    py '
with open("v.csv", "w") as f: f.write("a,s\n" + "".join(f"{n * 7919 % 20000},{n}\n" for n in range(20000)))
with open("l.csv", "w") as f: f.write("a,s\n" + "".join(f"x{n}" + "y" * 40000 + "," + f"{n}" + "z" * 9000 + "\n" for n in range(600)))
with open("w.csv", "w") as f: f.write("k,x,w\n" + "".join(f"{chr(97 + n % 3)},{(n * 7 % 1000) / 8},{1000 - n}\n" for n in range(1000)))'
    for t in v l w; do tra import -q $t.csv -o $t.h5; done
    # keys that take too much memory
    printf '%s\n' 'input t from "v.h5"' 'L = limit(order(project(t, a, s), [repeat(concat(a, s), 1500)]), 5000)' 'output L to "L.csv"' >p.tra
    tra run -q --memory 2G p.tra
    mv L.csv want.csv
    tra run -q --memory 64M p.tra
    cmp L.csv want.csv
    # a key that one row does not have, on any number of threads
    printf '%s\n' 'input t from "v.h5"' 'L = limit(order(t, [a div 100, repeat(concat(a, s), if(s == 19999, 99999999, 1))]), 20)' \
        'output L to "L.csv"' >p.tra
    for threads in 1 4 8; do status 3 tra run -q --threads $threads p.tra; done
    # rows whose strings take more than there is
    printf '%s\n' 'input t from "l.h5"' 'L = limit(order(project(t, a, s, c = concat(a, "x", s)), [c]), 150)' 'output L to "L.h5"' >p.tra
    (($(peak "$TRA" run -q --memory 40M p.tra) <= 40 << 20)) || [ -n "${SAN:-}" ]
    # a name that no column of the projection has is the param's, not a column's of its operand
    printf '%s\n' 'param w = 1' 'input t from "w.h5"' 'P = project(t, c = concat(k, x), x)' 'L = limit(order(P, [w * x, c]), 5)' \
        'output L to "L.csv"' >p.tra
    as_reference p.tra L.csv
    # a key that asks for the number of the row, which is another one among the first rows
    printf '%s\n' 'input t from "w.h5"' 'P = project(t, c = concat(k, x), w)' 'L = limit(order(P, [row() % 7 desc, c]), 5)' \
        'output L to "L.csv"' >p.tra
    as_reference p.tra L.csv
    # an operand without values
    printf 'k,s,x\na,,1.5\nb,,2.5\n' >n.csv
    is 3 eval 'tra eval -q "project(t, c = concat(s, x))" t=n.csv | wc -l'
    is 2 eval 'tra eval -q "select(project(t, c = concat(s, x)), isnull(c))" t=n.csv | grep -c "^$"'
}
