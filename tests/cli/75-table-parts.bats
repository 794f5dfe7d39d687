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
    same Q "select * from l where v > 0 order by rowid limit 900 offset 400"
}

digests() {
    for o in O G D J K S A N P B Q; do tra digest $o.h5; done
}

@test "groups, orders, distinct rows and joins of many blocks are what sqlite3 finds, on every number of sites" {
    tables 6000 500
    programs
    tra explain p.tra >plan
    grep -q "rows in range" plan
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

# Bytes of all logs of progress: 64 for each block that is recorded, and as many for each log.
recorded() { cat "$TRA_SCRATCH"/tra-*/*.log 2>/dev/null | wc -c; }

# killed OPTION...: a run of p.tra, to which each block that it writes takes some time, killed when some are recorded.
killed() {
    local run i
    TRA_KEEP_SECONDS=0.01 slow 4 "$TRA" run -q p.tra "$@" 2>log &
    run=$!
    for i in $(seq 4000); do
        [ "$(recorded)" -ge $((64 * 40)) ] && break
        kill -0 $run 2>/dev/null || break
        sleep 0.01
    done
    kill -KILL $run || { echo "it was over before"; cat log; return 1; }
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
    tra explain p.tra >plan
    [ "$(grep -c "join local .*rows in ran" plan)" -ge 3 ]
    tra run -q p.tra
    want=$(for o in O G J; do tra digest $o.h5; done)
    for sites in '1 1' '3 3' '3 1'; do
        read -r before after <<<"$sites"
        rm -f [OGJ].h5
        killed --sites "$before" --threads 1 --memory 48M
        [ -z "$(ls [OGJ].h5 2>/dev/null)" ]
        status 0 tra run p.tra --resume --sites "$after" --threads 1 --memory 48M --profile p.json
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
