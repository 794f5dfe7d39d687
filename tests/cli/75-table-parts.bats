# Tables that become parts: groups, orders, distinct rows and joins of many blocks, judged by sqlite3; the same bytes on
# every number of sites, under every ceiling, by both transports.
load helper

# tables ROWS BLOCK: l.csv has keys that are NULL, and one that a third of the rows have; r.csv a row for most keys; and
# both in sqlite3.
tables() {
    "$PYTHON" - "$1" <<'END'
import csv, random, sqlite3, sys
random.seed(11)
n = int(sys.argv[1])
def key(): return None if random.random() < 0.05 else 77 if random.random() < 0.33 else random.randint(0, n // 4)
l = [(key(), random.choice(["a", "b", "longer", "Ä"]), random.uniform(-5, 5), random.randint(-9, 9))
     for _ in range(n)]
keys = random.sample(range(n // 4 + 1), n // 5)
r = [(k, k % 7, random.choice("xyz")) for k in keys]
m = [(key(), random.randint(0, 99)) for _ in range(n // 10)]
db = sqlite3.connect("t.db")
for name, columns, rows in (("l", "g,s,u,v", l), ("r", "k,w,z", r), ("m", "g,q", m)):
    with open(name + ".csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(columns.split(","))
        out.writerows([["" if x is None else repr(x) if isinstance(x, float) else x for x in row] for row in rows])
    db.execute(f"drop table if exists {name}")
    db.execute(f"create table {name}({columns})")
    db.executemany(f"insert into {name} values({','.join('?' * len(rows[0]))})", rows)
db.execute("create index mg on m(g)")
db.execute("create index rk on r(k)")
db.commit()
END
    tra import -q --table --block "$2" l.csv -o l.h5
    tra import -q --table --block "$2" r.csv -o r.h5
    tra import -q --table --block "$(($2 / 5))" m.csv -o m.h5
}

# same FILE SQL: the rows of FILE, in their order, are what sqlite3 answers.
same() {
    tra export -q "$1.h5" -o got.csv
    "$PYTHON" - "$1" "$2" <<'END'
import csv, sqlite3, sys
want = sqlite3.connect("t.db").execute(sys.argv[2]).fetchall()
got = list(csv.reader(open("got.csv")))[1:]
assert len(got) == len(want) > 0, (sys.argv[1], len(got), len(want))
for i, (a, b) in enumerate(zip(got, want)):
    assert len(a) == len(b), (a, b)
    for x, y in zip(a, b):
        ok = x == "" if y is None else abs(float(x) - y) <= 1e-9 * max(1, abs(y)) if isinstance(y, float) else x == str(y)
        assert ok, (sys.argv[1], i, a, b)
END
}

programs() {
    cat >p.tra <<'END'
input L from "l.h5"
input R from "r.h5"
input M from "m.h5"
O = order(L, [s desc, g, v])
G = group(L, [g, s], n = count(), t = sum(v), m = mean(u), a = first(v), b = last(v))
D = distinct(L, [g, v])
J = join(L, R, g == k, expect = "m:1")
K = join(L, R, g == k, how = left, expect = "m:1")
S = join(L, M, g == g, how = semi)
A = join(L, M, g == g, how = anti)
N = join(select(L, v > 7), M, g == g && v < 9, prefix = "m_")
P = join(select(L, v > 7), M, g == g, how = left)
B = limit(order(L, [v]), 20, from = 3000)
F = limit(order(L, [s desc, abs(v), g]), 30, from = 5)
Q = limit(select(L, v > 0), 900, from = 400)
output O
output G
output D
output J
output K
output S
output A
output N
output P
output B
output F
output Q
END
}

judge() {
    same O "select * from l order by s desc, g is null, g, v, rowid"
    same G "select g, s, count(*), sum(v), avg(u), first, last from (select *, first_value(v) over w as first,
            last_value(v) over w as last from l window w as (partition by g, s order by rowid
            rows between unbounded preceding and unbounded following)) group by g, s order by g is null, g, s"
    same D "select * from l where rowid in (select min(rowid) from l group by g, v) order by rowid"
    same J "select l.*, k, w, z from l join r on g = k order by l.rowid"
    same K "select l.*, k, w, z from l left join r on g = k order by l.rowid"
    same S "select * from l where exists (select 1 from m where m.g = l.g)"
    same A "select * from l where not exists (select 1 from m where m.g = l.g)"
    same N "select l.*, q from l join m on l.g = m.g where v > 7 and v < 9 order by l.rowid, m.rowid"
    same P "select l.*, q from l left join m on l.g = m.g where v > 7 order by l.rowid, m.rowid"
    same B "select * from l order by v, rowid limit 20 offset 3000"
    same F "select * from l order by s desc, abs(v), g is null, g, rowid limit 30 offset 5"
    same Q "select * from l where v > 0 order by rowid limit 900 offset 400"
}

digests() {
    for o in O G D J K S A N P B F Q; do tra digest $o.h5; done
}

@test "groups, orders, distinct rows and joins of many blocks are what sqlite3 finds, on every number of sites" {
    tables 6000 500
    programs
    tra explain --operators p.tra >plan
    grep -q "rows in range" plan
    grep -q "first 35 rows by" plan
    status 0 tra run -q p.tra
    judge
    want=$(digests)
    for sites in 2 3 5; do
        rm -f [A-Z].h5
        status 0 tra run -q --sites $sites p.tra
        [ "$(digests)" = "$want" ]
    done
    rm -f [A-Z].h5
    status 0 tra run -q --sites 3 --transport files p.tra
    [ "$(digests)" = "$want" ]
}

@test "a key that two right rows have, and a left row without partner, are errors in parts too" {
    tables 3000 300
    cat >p.tra <<'END'
input L from "l.h5"
input M from "m.h5"
J = join(L, M, g == g, expect = "m:1")
output J
END
    status 3 tra run -q p.tra
    [[ "$output" == *"has the key that row"* ]]
    cat >p.tra <<'END'
input L from "l.h5"
input R from "r.h5"
J = join(L, R, g == k, expect = "m:1", matched = left)
output J
END
    status 3 tra run -q p.tra
    [[ "$output" == *"of the left table has no partner"* ]]
}

# The aggregates, joins and numbers that need what other parts have.
across() {
    cat >p.tra <<'END'
input L from "l.h5"
input R from "r.h5"
input M from "m.h5"
E = group(L, [g], n = count(), m = median(u), d = distinct(v), q = quantile(v, 0.9), s = sum(v), c = distinct(s))
F = group(L, [], m = median(v), d = distinct(g), q = quantile(u, 0.25), h = distinct(v), i = distinct(u), k = distinct(s),
    z = distinct(u * 0), c = distinct(g div 100))
B = group(L, [s], d = distinct(v), n = count(), e = distinct(g div 100), f = distinct(g))
U = project(L, g, v, i = number(g, v), j = number(u))
W = join(L, R, g == k && v > r_w, prefix = "r_")
X = join(L, R, g == k && u * 2 > w, how = left)
Y = join(L, M, g == g && q > v + 60, how = semi)
Z = join(L, M, g == g && q > v + 60, how = anti)
C = join(select(L, v > 7), M, g == g && m_q < v * 3, how = left, prefix = "m_")
output E
output F
output B
output U
output W
output X
output Y
output Z
output C
END
}

# The quantile of a column of sorted values as the manual has it; NULLs are no values.
judge_across() {
    "$PYTHON" - <<'END'
import sqlite3
db = sqlite3.connect("t.db")
class quantile:
    def __init__(self): self.v, self.q = [], 0
    def step(self, x, q):
        self.q = q
        if x is not None: self.v.append(x)
    def finalize(self):
        if not self.v: return None
        v, at = sorted(self.v), self.q * (len(self.v) - 1)
        i = int(at)
        return float(v[i] if i == at else v[i] + (v[i + 1] - v[i]) * (at - i))
db.create_aggregate("quantile", 2, quantile)
db.execute("drop table if exists e")
db.execute("""create table e as select g, count(*), quantile(u, 0.5), count(distinct v), quantile(v, 0.9), sum(v),
              count(distinct s) from l group by g order by g is null, g""")
db.execute("drop table if exists f")
db.execute("""create table f as select quantile(v, 0.5), count(distinct g), quantile(u, 0.25), count(distinct v),
              count(distinct u), count(distinct s), count(distinct u * 0), count(distinct g / 100) from l""")
db.commit()
END
    same E "select * from e"
    same F "select * from f"
    same B "select s, count(distinct v), count(*), count(distinct g / 100), count(distinct g) from l group by s order by s"
    same U "select g, v, dense_rank() over (order by g is null, g, v) - 1, dense_rank() over (order by u) - 1 from l
            order by rowid"
    same W "select l.*, k, w, z from l join r on g = k and v > w order by l.rowid"
    same X "select l.*, k, w, z from l left join r on g = k and u * 2 > w order by l.rowid"
    same Y "select * from l where exists (select 1 from m where m.g = l.g and q > v + 60)"
    same Z "select * from l where not exists (select 1 from m where m.g = l.g and q > v + 60)"
    same C "select l.*, q from l left join m on l.g = m.g and q < v * 3 where v > 7 order by l.rowid, m.rowid"
}

@test "medians, distinct values, numbers of groups and joins with conditions are found across parts" {
    tables 4000 400
    across
    tra explain --without J-1 --format json p.tra >plan
    [ "$(grep -o "values at 0" plan | wc -l)" -ge 4 ]
    grep -q "number rows as" plan
    # values that are expected to repeat in a block are looked up, others sorted
    for one in '[k]' '[z]' '[s, d]'; do grep -qF "partial group($one)" plan; done
    for one in '[q]' '[g, d]'; do grep -qF "first of each $one" plan; done
    [ "$(grep -o 'prefix = ."r\. ' plan | wc -l)" -ge 5 ]
    status 0 tra run -q --without J-1 p.tra
    judge_across
    want=$(for o in E F B U W X Y Z C; do tra digest $o.h5; done)
    for sites in 3; do
        rm -f [A-Z].h5
        status 0 tra run -q --without J-1 --sites $sites p.tra
        [ "$(for o in E F B U W X Y Z C; do tra digest $o.h5; done)" = "$want" ]
    done
}

@test "groups and pairs are estimated within a factor of 2 of what there are, and bounded by how often keys repeat" {
    "$PYTHON" - <<'END'
import random
random.seed(3)
with open("s.csv", "w") as f:
    f.write("u,z,w,name,day\n")
    for i in range(30000):
        z = min(int(random.paretovariate(1.0)), 10 ** 6) # skewed: half of them are 1
        f.write(f"{random.randint(0, 19999)},{z},{random.randint(0, 300)},n{random.randint(0, 499)},2017-0{1 + i % 9}-11\n")
with open("q.csv", "w") as f:
    f.write("k,x\n" + "".join(f"{random.randint(0, 1999)},{i}\n" for i in range(8000)))
END
    tra import -q --table --block 3000 s.csv -o s.h5
    tra import -q --table --block 1000 q.csv -o q.h5
    cat >p.tra <<'END'
input S from "s.h5"
input Q from "q.h5"
A = group(S, [u], n = count())
B = group(S, [z], n = count())
C = group(S, [u, w], n = count())
D = group(S, [name, m = month(day)], n = count())
J = join(S, Q, u == k)
K = group(J, [w], s = sum(x))
I = join(project(select(S, w < 100), v = u), order(Q, [x desc]), v == k)
H = join(Q, A, k == u, prefix = "a_")
output A
output B
output C
output D
output J
output K
output I
output H
END
    tra check p.tra >types
    status 0 tra run -q p.tra --memory 64M --threads 2
    for o in A B C D J K H I; do tra info --format json $o.h5; done >got
    "$PYTHON" - <<'END'
import json, re
text = open("got").read()
dec, at, rows = json.JSONDecoder(), 0, []
while at < len(text.rstrip()):
    x, at = dec.raw_decode(text, at)
    while at < len(text) and text[at].isspace(): at += 1
    rows += [r["rows"] for r in (x if isinstance(x, list) else x.get("relations", [x]))]
said = dict(re.findall(r"^(\w): table of about (\d+ of <= \d+) rows", open("types").read(), re.M))
for name, n in zip("ABCDJKHI", rows):
    about, most = map(int, said[name].split(" of <= "))
    assert n / 2 <= about <= 2 * n and n <= most, (name, n, about, most)
most = {name: int(s.split(" of <= ")[1]) for name, s in said.items()}
assert most["J"] == rows[4] == most["I"] > rows[7], (most, rows) # pairs are counted by the frequencies of both
assert most["H"] <= 8000 and most["K"] <= 301 and most["D"] <= 30000, most
END
}

@test "every pair of rows comes in blocks of usual size, in the order of the left table, then of the right one" {
    "$PYTHON" - <<'END'
with open("a.csv", "w") as f:
    f.write("i,p\n" + "".join(f"{i},{i * 37 % 101}\n" for i in range(900)))
with open("b.csv", "w") as f:
    f.write("j,q\n" + "".join(f"{j},{j * 53 % 997}\n" for j in range(1200)))
with open("c.csv", "w") as f:
    f.write("k,r\n" + "".join(f"{k},{k * 7919 % 100003}\n" for k in range(300000)))
END
    for t in a b c; do tra import -q --table --block 40000 $t.csv -o $t.h5; done
    tra import -q --table --block 300 a.csv -o a.h5
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
input C from "c.h5"
X = select(cross(A, B), if(p * 10 == q + 3, true, false))
Y = select(cross(limit(A, 5), C), if(p == r, true, false))
N = rows(cross(A, B))
M = rows(cross(limit(A, 5), C))
output X
output Y
output N
output M
END
    tra check p.tra >types
    grep -q "^X: .* of up to 262[0-9]* rows\|^X: .* of up to 261[0-9]* rows" types
    grep -q "^Y: .* of up to 40000 rows" types
    want=
    for sites in 1 3; do
        status 0 tra run -q --sites $sites --memory 64M p.tra
        is 1080000 tra head N.h5
        is 1500000 tra head M.h5
        for o in X Y; do tra export -q $o.h5 -o $o.csv; done
        "$PYTHON" - <<'END'
import csv
X, Y = ([tuple(map(int, r)) for r in list(csv.reader(open(n)))[1:]] for n in ("X.csv", "Y.csv"))
a = [(i, i * 37 % 101) for i in range(900)]
assert X == [(*x, j, j * 53 % 997) for x in a for j in range(1200) if x[1] * 10 == j * 53 % 997 + 3] and X
assert Y == [(*x, k, k * 7919 % 100003) for x in a[:5] for k in range(300000) if x[1] == k * 7919 % 100003] and Y
END
    done
}

# killed OPTION...: a run of p.tra, to which each block that it writes takes some time, killed when some are recorded.
killed() {
    local run
    TRA_CHECKPOINT_SECONDS=0.01 slow 4 "$TRA" run -q p.tra "$@" 2>log &
    run=$!
    meet $run recorded $((64 * 40))
    kill -KILL $run
    wait $run || true
}

@test "groups, orders and joins in parts are gone on with when they were killed; no ceiling is passed" {
    tables 60000 2000
    cat >p.tra <<'END'
input L from "l.h5"
input R from "r.h5"
O = order(L, [g, v desc])
G = group(L, [u], n = count(), t = sum(v), a = first(g))
J = join(L, R, g == k, expect = "m:1")
output O
output G
output J
END
    tra explain --without J-1 --operators p.tra >plan
    [ "$(grep -c "join .*rows in ran" plan)" -ge 3 ]
    tra run -q p.tra
    want=$(for o in O G J; do tra digest $o.h5; done)
    for sites in '1 1' '3 3' '3 1' '1 3'; do
        read -r before after <<<"$sites"
        rm -f [OGJ].h5
        killed --without J-1 --sites "$before" --threads 1 --memory 48M
        [ -z "$(ls [OGJ].h5 2>/dev/null)" ]
        status 0 tra run p.tra --without J-1 --resume --sites "$after" --threads 1 --memory 48M --profile p.json
        [[ "$output" == *"are there"* ]]
        [ "$(for o in O G J; do tra digest $o.h5; done)" = "$want" ]
        [ -z "$(ls -A "$TRA_SCRATCH" | grep tra-)" ]
        "$PYTHON" -c 'import json; m = json.load(open("p.json"))["plans"][0]["measured"]
assert all(s["peak_memory_bytes"] <= 48 << 20 for s in m["sites"]), m'
    done
}

@test "a block that is damaged is an error of the input, and nothing is written" {
    tables 6000 500
    programs
    "$PYTHON" - <<'END'
import h5py
with h5py.File("l.h5") as f:
    at = f["data/u"].id.get_chunk_info(3).byte_offset
with open("l.h5", "r+b") as f:
    f.seek(at + 100)
    b = f.read(1)
    f.seek(at + 100)
    f.write(bytes([b[0] ^ 8]))
END
    for sites in 1 3; do
        status 3 tra run -q --sites $sites p.tra
        [[ "$output" == *"l.h5"* ]]
        [ -z "$(ls [OGDJKSANPBQ].h5 2>/dev/null)" ]
    done
}

@test "a table is joined with itself in parts, with a further condition: both sides are sorted, with numbers at other places" {
    "$PYTHON" -c '
print("k,n")  # few blocks: no runs of several
for i in range(600): print(f"{i * 7 % 50},{i * 13 % 40}")' >t.csv
    tra import -q --table --block 300 t.csv -o t.h5
    for how in anti semi; do
        printf 'input t from "t.h5"\nr = join(t, t, k == k && n < p_n, how = %s, prefix = "p_")\noutput r\n' $how >p.tra
        status 0 tra run -q p.tra
        tra export -q --to csv r.h5 -o r.csv
        "$PYTHON" -c '
import csv, sys
t = [tuple(map(int, r)) for r in list(csv.reader(open("t.csv")))[1:]]
most = {}
for k, n in t: most[k] = max(n, most.get(k, n))
want = [r for r in t if (r[1] < most[r[0]]) == (sys.argv[1] == "semi")]
assert [tuple(map(int, r)) for r in list(csv.reader(open("r.csv")))[1:]] == want' $how
    done
}

@test "joins give the same rows whether the right table stays whole, as memory allows, or is in parts" {
    py '
r = np.random.RandomState(3)
def write(name, columns, rows):
    with open(name, "w") as f:
        f.write(",".join(columns) + "\n")
        f.writelines(",".join(map(str, row)) + "\n" for row in rows)
texts = lambda n: ["a%d" % x for x in r.randint(0, 9000, n)]
often = lambda n, one_in: np.where(r.randint(0, one_in, n) == 0, 7, r.randint(0, 60000, n)) # the key 7 is in many rows
small = lambda n: r.randint(0, 99, n)
write("l.csv", "ksvh", zip(r.randint(0, 60000, 30000), texts(30000), small(30000), often(30000, 600)))
write("r.csv", "kswh", zip(r.permutation(40000)[:20000], texts(20000), small(20000), often(20000, 2)))'
    for t in l r; do tra import -q --table --block 1000 $t.csv -o $t.h5; done
    cat >p.tra <<'END2'
input l from "l.h5"
input r from "r.h5"
A = join(l, r, k == k)
B = join(l, r, s == s, how = left)
C = join(l, r, k == k, how = anti)
D = join(l, r, k == k && s == s, how = semi)
E = join(l, r, s == s && v < w, how = semi)
F = join(l, r, k == k, how = outer)
G = join(l, r, h == h)
H = join(l, r, h == h && h == h, how = left)
I = group(join(project(l, *, a = v % 5), project(r, *, b = w % 5), a == b && s == s), [a, v], n = count(), w = sum(w))
output A
output B
output C
output D
output E
output F
output G
output H
output I
END2
    [ "$(tra explain --format json --memory 4G p.tra | grep -o 'prefix = ."r\. ' | wc -l)" -eq 0 ]
    tra run -q --memory 4G p.tra
    for o in A B C D E F G H I; do digest_of $o.h5 || return 1; done >whole
    for sites in 1 3; do
        [ "$(tra explain --format json --without J-1 --sites $sites p.tra | grep -o 'prefix = ."r\. ' | wc -l)" -ge 5 ]
        for options in "--without J-1" "--memory 4G"; do
            tra run -q --sites $sites $options p.tra
            for o in A B C D E F G H I; do digest_of $o.h5; done | diff whole -
        done
    done
}

@test "where a table has few rows of those it might have, most parts have none, and no work is done for these" {
    seq 0 199999 | awk 'BEGIN { print "g,v" } { print ($1 * 7919) % 200000 "," $1 % 1000 }' >t.csv
    tra import -q --table --block 500 t.csv -o t.h5
    cat >p.tra <<'END2'
input T from "t.h5"
S = select(T, v % 100 == 7 && v > 300)
G = group(S, [g], n = count(), t = max(v))
O = order(S, [g])
output G
output O
END2
    status 0 tra run -vv --memory 4G p.tra
    grep -o '[0-9]* x [0-9]* results' <<<"$output" | sort | uniq -c >units
    grep -q '2 25 x 16 results' units
    tra digest G.h5 >want && tra digest O.h5 >>want
    tra export -q G.h5 -o g.csv && tra export -q O.h5 -o o.csv
    "$PYTHON" -c '
import csv
rows = lambda name: [tuple(map(int, r)) for r in list(csv.reader(open(name)))[1:]]
want = sorted((g, v) for g, v in rows("t.csv") if v % 100 == 7 and v > 300)
assert rows("o.csv") == want and rows("g.csv") == [(g, 1, v) for g, v in want]'
    rm G.h5 O.h5
    tra run -q --sites 3 --without J-1 p.tra
    { tra digest G.h5 && tra digest O.h5; } | diff want -
}

@test "the index that is kept of a right table: keys at the ends of i64, times, bools, NULLs, and a state that turns change" {
    "$PYTHON" - <<'END2'
import random
r = random.Random(2)
ends = [-2**63, -2**63 + 1, 2**63 - 1, 0, 5] + [r.randint(-2**63, 2**63 - 1) for _ in range(2000)]
def write(name, head, n, low):
    with open(name, "w") as f:
        f.write(head + "\n")
        for _ in range(n):
            k = r.choice(ends) if r.random() > .1 else ""
            f.write(f"{k},x{r.randint(low, low + 4000)},2024-01-{r.randint(1, 28):02} {r.randint(0, 23):02}:00:00,{r.choice(['true', 'false', ''])}\n")
write("l.csv", "k,s,t,b", 4000, 0), write("r.csv", "k,s,t,v", 3000, 2000)
open("b.csv", "w").write("b,w\ntrue,1\n,3\n")
END2
    for t in l r; do tra import -q --table --block 400 $t.csv -o $t.h5; done
    cat >p.tra <<'END2'
input l from "l.h5"
input r from "r.h5"
input b from "b.csv"
A = join(l, r, k == k, how = anti)
B = join(l, r, s == s, how = semi)
C = join(l, distinct(r, [t]), t == t)
D = join(l, b, b == b, nulls = match, how = left)
E = join(l, r, k == k && s == s, how = left)
state S = limit(r, 1500)
state N = rows(l)
repeat 3 as i {
  next N = N + rows(join(l, S, k == k, how = semi))
  next S = select(S, s > "x30")
}
output A
output B
output C
output D
output E
output N
END2
    tra run -q --engine reference p.tra
    mkdir ref
    mv [A-EN].h5 ref
    for options in "" "--without J-1" "--sites 3"; do
        tra run -q $options p.tra
        for o in A B C D E N; do tra diff ref/$o.h5 $o.h5; done
    done
}

@test "first rows of few different keys in large blocks: NULLs, both zeros, NaN, strings; what a group leaves is narrow" {
    py '
r = np.random.RandomState(5)
a, b, s = r.randint(0, 9, 60000), r.randint(0, 4, 60000), r.randint(0, 5, 60000)
with open("t.csv", "w") as f:
    f.write("a,b,s,n\n")
    for i in range(60000):
        f.write("%s,%s,%s,%d\n" % (a[i] or "", ["-0.0", "0.0", "1.5", "nan"][b[i]], ["", "x", "y", "z", "zz"][s[i]], i))'
    tra import -q --table --block 4000 t.csv -o t.h5
    cat >p.tra <<'END2'
input t from "t.h5"
D = distinct(t, [s, b, a])
S = join(t, select(t, n % 2 == 0), a == a && s == s, how = semi)
N = project(join(t, group(t, [a], m = mean(n)), a == a), n, m)
output D
output S
output N
END2
    status 0 tra explain --operators p.tra
    grep -q "at most 9 rows" <<<"$output"
    for options in "--without J-1" "--sites 3"; do
        tra run -q $options p.tra
        for o in D S; do tra export -q --to csv $o.h5 -o $o.csv; done
        py '
import csv
rows = [x for x in csv.reader(open("t.csv"))][1:]
same = lambda x: str(float(x) + 0.0) if x else ""
seen, want = set(), []
for x in rows:
    key = x[0], same(x[1]), x[2]
    if key not in seen: want.append(x[3])
    seen.add(key)
assert [x[3] for x in csv.reader(open("D.csv"))][1:] == want, len(want)
want = [x[3] for x in rows if x[0] and x[2]]
assert [x[3] for x in csv.reader(open("S.csv"))][1:] == want, len(want)'
    done
}

@test "of a right table only rows with keys of a small table are joined, where the left keys are all there: equal keys make classes" {
    py '
r = np.random.RandomState(5)
def write(name, columns, *v):
    with open(name + ".csv", "w") as f:
        f.write(",".join(columns) + "\n")
        f.writelines(",".join(map(str, row)) + "\n" for row in zip(*v))
gaps = lambda v, n: ["" if i % n == 0 else x for i, x in enumerate(v)]
texts = lambda v: ["a%d" % x for x in v]
few, k, all = r.permutation(3000)[:60], r.randint(0, 3000, 20000), r.permutation(3000).repeat(4)
write("f", ["fk", "fs", "fw"], gaps(few, 20), texts(few), r.randint(0, 9, 60))
m = r.permutation(few)[r.randint(0, 60, 20000)]
write("l", ["lk", "ls", "lv", "lm"], gaps(k, 50), texts(k), r.randint(0, 99, 20000), m)
some = r.randint(0, 20000, 12000)
write("w", ["wk", "wm", "wv"], np.where(some % 3, k[some], 1), np.where(some % 4, m[some], 1), some)
write("r", ["rk", "rs", "rw"], gaps(all, 70), texts(all), r.randint(0, 99, 12000))
write("u", ["uk", "uw"], r.permutation(5000), r.randint(0, 99, 5000))'
    for t in f l r u w; do tra import -q --table --block 1000 $t.csv -o $t.h5; done
    cat >p.tra <<'END'
input f from "f.h5"
input w from "w.h5"
input l from "l.h5"
input r from "r.h5"
input u from "u.h5"
S = join(l, f, lk == fk, how = semi)
A = join(S, r, lk == rk && lv < rw)
B = join(select(join(f, l, fk == lk), fw > 3), r, fk == rk, how = left)
C = join(order(S, [lv desc]), r, lk == rk, how = anti)
D = join(project(join(l, f, lk == fk && ls == fs), u = ls, w = lk, fw), r, u == rs && w == rk, how = outer)
E = join(join(l, f, lk == fk, how = semi, nulls = match), r, lk == rk, nulls = match)
F = join(join(l, f, ls == fs), r, ls == rs, how = semi)
G = join(group(join(l, f, ls == fs), [ls], n = count()), project(r, rs, rk), ls == rs)
H = join(join(l, f, lk == fk, how = left), r, fk == rk)
I = join(S, u, lk == uk, how = left, expect = "m:1")
# the table of keys stands twice: the keys are in two of its rows
M = join(join(l, f, lk == fk), f, lm == fk, prefix = "p_")
J = join(M, w, lk == wk && lm == wm)
K = join(join(S, f, lm == fk, how = semi), w, lk == wk && lm == wm, how = anti)
L = join(join(f, f, fw == fw, prefix = "p_"), w, fk == wk && p_fk == wm)
output J
output K
output L
output A
output B
output C
output D
output E
output F
output G
output H
output I
END
    tra explain --format json --memory 4G p.tra | grep -o 'join([ru][ks] == f[^)]*)' | sort -u |
        diff - <(printf 'join(%s)\n' 'rk == fk, how = semi' 'rk == fk, how = semi, nulls = match' \
            'rs == fs && rk == fk, how = semi' 'rs == fs, how = semi' 'uk == fk, how = semi')
    tra run -q --engine reference p.tra
    for o in A B C D E F G H I J K L; do mv $o.h5 $o.reference.h5; done
    for options in "--memory 4G" "--sites 3" "--without J-1"; do
        tra run -q $options p.tra
        for o in A B C D E F G H I J K L; do status 0 tra diff $o.h5 $o.reference.h5 || return 1; done
    done
}

@test "groups of few rows, as is expected, have few parts; where there are more rows the run is planned again" {
    local n=800000
    awk -v n=$n 'BEGIN { print "k,v,w"; for (i = 0; i < n; i++) print (i * 7919) % n "," i % 7 "," (i * 7919) % n }' >t.csv
    tra import -q --table --block 4000 t.csv -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'F = select(t, k == w)' \
        'A = group(F, [k], n = count(), s = sum(v))' 'output A' >p.tra
    parts() { tra explain --format json "$@" p.tra | grep -o 'splitters([^)]*)' | sed 's/.*, //; s/ .*//' | head -n 1; }
    [ "$(parts --memory 1G)" -lt "$(parts --without J-1)" ]
    status 0 tra explain --memory 1G p.tra
    has "more rows than are expected would make the run begin again"
    for sites in 1 3; do
        status 0 tra run --sites $sites --memory 1G p.tra
        has "by what was expected"
        [ "$(tra run -q --sites $sites --without J-1 -D A=b.h5 p.tra && tra diff A.h5 b.h5)" = "equal: $n rows of 3 columns" ]
    done
    sed -i 's/^F = .*/F = select(t, k % 100 == 3 \&\& v < 7)/' p.tra # not more than there is room for
    status 0 tra run --memory 1G p.tra
    lacks "by what was expected"
    status 0 tra explain --without J-1 p.tra
    lacks "begin again"
    tra run -q --without J-1 -D A=b.h5 p.tra
    [ "$(tra diff A.h5 b.h5)" = "equal: $((n / 100)) rows of 3 columns" ]
}

@test "groups by a moment that is cut off, or by steps of it, are bounded by the range of the file" {
    printf 't,u\n' >m.csv
    for i in {0..599}; do printf '2024-05-%02d %02d:%02d:30,%d\n' $((1 + i / 300)) $((i % 24)) $((i % 60)) $i; done >>m.csv
    tra import -q --table --block 50 m.csv -o m.h5
    printf '%s\n' 'input m from "m.h5"' 'A = group(m, [h = date_trunc("hour", t)], n = count())' \
        'B = group(m, [d = date(t)], n = count())' 'C = group(m, [w = (date_trunc("week", date(t)) - date "2024-01-01") div 7], n = count())' \
        'D = group(m, [q = (t - timestamp "2024-01-01 00:00:00") div minutes(15)], n = count())' \
        'E = group(m, [y = date_trunc("year", t)], n = count())' 'output A' 'output B' 'output C' 'output D' 'output E' >p.tra
    status 0 tra check p.tra
    for bound in 'A:49 ' 'B:3 ' 'C:3 ' 'D:193 ' 'E:2 '; do
        [[ $output =~ ${bound%:*}:' table of about '[0-9]+' of <= '${bound#*:}rows ]]
    done
    status 0 tra run -q --sites 3 p.tra
    is $'d,n\n2024-05-01,300\n2024-05-02,300' tra head B.h5
    is $'w,n\n17,600' tra head C.h5
    is $'y,n\n2024-01-01 00:00:00,600' tra head E.h5
    is 'h,n'$'\n''2024-05-01 00:00:00,13' head -n 2 <(tra export -q A.h5 -o - --to csv)
}

@test "the first rows of an ordered table in one block are chosen before any other column is moved" {
    printf '%s\n' 'r = series(1, 30000, name = b)' 'o = project(r, a = b * 7 % 30, b, c = b * 0.5, d = b + 1, e = b + 2, f = b + 3)' 'output o' >o.tra
    tra run -q o.tra
    for from in 0 2 11 5000; do # the file is read for as many rows more
        printf '%s\n' 'input o from "o.h5"' "L = limit(order(o, [a desc, b]), 3, from = $from)" 'output L' >p.tra
        status 0 tra explain --operators p.tra
        lacks "transform order"
        for sites in 1 3; do
            status 0 tra run -q --sites $sites p.tra
            is "$(py "rows = sorted((-(b * 7 % 30), b) for b in range(1, 30001))
print(*['a,b'] + ['%d,%d' % (-a, b) for a, b in rows[$from:$from + 3]], sep='\n')")" \
                cut -d, -f1,2 <(tra export -q L.h5 -o - --to csv)
        done
    done
}

@test "workers share the index of a right table in one block: of more threads it takes no more" {
    for o in 'group(join(l, r, t == u, expect = "m:1"), [k], n = count(), s = sum(w))' \
        'group(join(l, r, k == k2, asof = l.t >= r.u), [k], n = count(), s = sum(w))' \
        'join(l, r, k == k2 && u <= t && t < u + 5)' 'join(l, r, u <= t && t < u + 5, how = semi)'; do
        printf '%s\n' 'input l : table [k: i32, t: i64] rows 3000000 by 262144' \
            'input r : table [k2: i32, u: i64, w: i32] rows 3000000 by 262144' "O = $o" 'output O' >p.tra
        for threads in 1 8; do
            status 0 tra explain p.tra --memory 16G --threads $threads --format json
            least[threads]=$(json plans.0.least_memory_bytes)
        done
        more=$([[ $o == *'t < u'* ]] && echo 192 || echo 64) # what workers ask for in ranges is their own
        [ "${least[8]}" -lt $((least[1] * 5 / 4 + (more << 20))) ] || { echo "$o: ${least[1]}, ${least[8]}"; return 1; }
    done
    # and so much does, also where one scan serves two joins, each of which has an index of its own
    py '
r = np.random.default_rng(3)
for name, n, k in (("l", 300000, 200000), ("r", 200000, 200000), ("q", 150000, 200000)):
    with open(name + ".csv", "w") as f:
        f.write(f"{name}k,{name}v\n")
        f.writelines(f"{a},{b}\n" for a, b in zip(r.permutation(k)[:n] if n <= k else r.integers(0, k, n), r.integers(0, 9, n)))'
    tra import -q --table --block 20000 l.csv -o l.h5
    for t in r q; do tra import -q --table --block 200000 $t.csv -o $t.h5; done
    printf '%s\n' 'input l from "l.h5"' 'input r from "r.h5"' 'input q from "q.h5"' \
        'O = group(join(l, r, lk == rk), [rv], n = count(), s = sum(lv))' \
        'P = group(join(l, q, lk == qk), [qv], n = count(), s = sum(lv))' 'output O' 'output P' >p.tra
    status 0 tra run -q --threads 1 p.tra
    want="$(digest_of O.h5) $(digest_of P.h5)"
    for threads in 1 4 8; do
        status 0 tra explain p.tra --memory 1G --threads $threads --format json
        status 0 tra run -q --threads $threads --memory $((($(json plans.0.least_memory_bytes) >> 20) + 1))M p.tra
        is "$want" bash -c "$(declare -f digest_of); TRA='$TRA'; echo \"\$(digest_of O.h5) \$(digest_of P.h5)\""
    done
}
