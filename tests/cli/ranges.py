"""Joins on ranges of random tables, by SQLite.

ranges.py draw SEED ROWS: l.csv, r.csv, their types in columns-l and columns-r, p.tra, and want-J.csv of each join J of the program.
ranges.py same: compares what runs wrote (J.csv) with these.
"""
import csv
import glob
import random
import sqlite3
import sys

# what the language and SQL write; l is a column of L, r of R (%% is the distance)
CONDITIONS = [
    ("L.s {<} R.e && R.s {<} L.e", "L.s {<} R.e and R.s {<} L.e"),
    ("R.s <= L.x && L.x < R.e", "R.s <= L.x and L.x < R.e"),
    ("L.s <= R.x && R.x {<} L.e", "L.s <= R.x and R.x {<} L.e"),
    ("L.x {<} R.x", "L.x {<} R.x"),
    ("!(L.x {<} R.s) && L.x != R.e", "not (L.x {<} R.s) and L.x != R.e"),
    ("abs(L.x - R.x) {<} {d}", "abs(L.x - R.x) {<} {d}"),
    ("{d} {<} L.x - R.x", "{d} {<} L.x - R.x"),
    ("R.x >= L.x - {d} && R.x <= L.x + {d}", "R.x >= L.x - {d} and R.x <= L.x + {d}"),
    ("L.x + {d} == R.x", "L.x + {d} = R.x"),
    ("abs(L.x - R.x) <= {d} && abs(R.s - L.s) {<} {d}", "abs(L.x - R.x) <= {d} and abs(R.s - L.s) {<} {d}"),
    ("L.w {<} R.w", "L.w {<} R.w"),
    ("L.w >= R.w && L.x {<} R.x && R.s > L.s", "L.w >= R.w and L.x {<} R.x and R.s > L.s"),
    ("(L.x {<} R.x || L.s == R.s) && L.e > R.e", "(L.x {<} R.x or L.s = R.s) and L.e > R.e"),
    ("L.x {<} R.x && (L.i + R.j) % 3 == 1", "L.x {<} R.x and (L.i + R.j) % 3 = 1"),
    ("(L.i + R.j) % 5 == 1", "(L.i + R.j) % 5 = 1"),
    ("-R.x {<} L.x - {d}", "-R.x {<} L.x - {d}"),
]
HOWS = ["inner", "left", "semi", "anti", "right", "outer"]


def table(rng, real, rows, spread, key):
    t = []
    for i in range(rows):
        def value():
            v = rng.randint(0, spread)
            return None if rng.random() < 0.05 else v / 4 - spread / 8 if real else v - spread // 2
        x, s = value(), value()
        e = None if s is None else s + rng.randint(-1, 3 + spread // 10) * (0.5 if real else 1)
        w = None if rng.random() < 0.05 else rng.choice(["", "a", "B", "ab", "z", "\u00e9", "x%d" % rng.randint(0, 9)])
        k = None if rng.random() < 0.05 else 0 if rng.random() < 0.5 else rng.randint(0, key)
        t.append([k, i, x, s, e, w])
    if rng.random() < 0.3:
        t.sort(key=lambda r: (r[3] is None, r[3] or 0))
    return [[r[0], i, *r[2:]] for i, r in enumerate(t)]


def draw(seed, rows):
    rng = random.Random(seed)
    real, spread = seed % 2 == 1, rng.choice([4, rows // 3 + 1, 10 * rows])
    shapes = [(rows, rows), (rows, 1), (1, rows), (rows, 0), (0, rows), (rows, rows // 3)]
    sizes = shapes[0] if rng.random() < 0.6 else rng.choice(shapes)
    number = "f64" if real else "i64"
    base = sqlite3.connect(":memory:")
    for name, n, own in (("L", sizes[0], "i"), ("R", sizes[1], "j")):
        t = table(rng, real, n, spread, max(1, rows // 10))
        base.execute(f"create table {name} (k, {own}, x, s, e, w)")
        base.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?)", t)
        with open(f"columns-{name.lower()}", "w") as f:
            f.write(f"k=i64,{own}=i64,x={number},s={number},e={number},w=string")
        with open(f"{name.lower()}.csv", "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["k", own, "x", "s", "e", "w"])
            out.writerows(t)
    base.execute("update L set w = null where w = ''")  # a CSV file says NULL so
    base.execute("update R set w = null where w = ''")
    program = 'input L from "l.h5"\ninput R from "r.h5"\n'
    for at, (own, sql) in enumerate(rng.sample(CONDITIONS, 6)):
        op, d, how = rng.choice(["<", "<=", ">", ">="]), rng.choice([0, 1, 2, spread // 20]), rng.choice(HOWS)
        if "abs" in own and op in (">", ">="):
            op = "<="
        own, sql = (t.replace("{<}", op).replace("{d}", str(d)) for t in (own, sql))
        if rng.random() < 0.3:
            own, sql = "k == k && " + own, "L.k = R.k and " + sql
        name = "ABCDEF"[at]
        program += f'{name}x = join(L, R, {own}, how = {how}, prefix = "p_")\n'
        pairs = how in ("inner", "left", "right", "outer")
        program += f"{name} = project({name}x, i{', p_j' if pairs else ''})\noutput {name}\n"
        if pairs:
            want = base.execute(f"select i, j from L join R on {sql} order by i, j").fetchall()
            left = base.execute(f"select i, null from L where not exists (select 1 from R where {sql})").fetchall()
            right = base.execute(f"select null, j from R where not exists (select 1 from L where {sql}) order by j").fetchall()
            want = sorted(want + (left if how in ("left", "outer") else []), key=lambda r: (r[0], -1 if r[1] is None else r[1]))
            want += right if how in ("right", "outer") else []
        else:
            not_ = "not " if how == "anti" else ""
            want = base.execute(f"select i from L where {not_}exists (select 1 from R where {sql}) order by i").fetchall()
        with open(f"want-{name}.csv", "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["i", "p_j"] if pairs else ["i"])
            out.writerows(want)
    with open("p.tra", "w") as f:
        f.write(program)


def same():
    for file in sorted(glob.glob("want-*.csv")):
        want, got = (list(csv.reader(open(f, newline=""))) for f in (file, file[5:]))
        for line in open("p.tra"):
            if line.startswith(file[5] + "x"):
                assert got == want, (line, [(i, x, y) for i, (x, y) in enumerate(zip(got, want)) if x != y][:3], len(got), len(want))


if __name__ == "__main__":
    draw(int(sys.argv[2]), int(sys.argv[3])) if sys.argv[1] == "draw" else same()
