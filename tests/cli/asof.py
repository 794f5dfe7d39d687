"""As-of joins of random tables, by their definition, and by pandas.merge_asof where that says the same.

asof.py draw SEED ROWS: l.csv, r.csv, p.tra, and want-J.csv of each join J of the program.
asof.py pandas: compares these files with pandas.
asof.py same: compares what runs wrote (J.csv) with them.
"""
import csv
import datetime
import glob
import random
import sys

WAYS = [">=", ">", "<=", "<", "nearest"]


def time_of(kind, rng, spread):
    v = rng.randint(0, spread)
    if kind == "i":
        return v - spread // 2
    if kind == "f":
        return v / 4 - spread / 8
    if kind == "d":
        return datetime.date(2020, 1, 1) + datetime.timedelta(days=v)
    return datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=v, microseconds=v % 3)


def number(t):
    """A time as a number, in which distances are exact."""
    if isinstance(t, datetime.datetime):
        return (t - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    return t.toordinal() if isinstance(t, datetime.date) else t


def text(v):
    return "" if v is None else v.isoformat(" ") if isinstance(v, datetime.datetime) else str(v)


def key_of(kind, rng, n):
    if rng.random() < 0.05:
        return None
    k = 0 if rng.random() < 0.5 else rng.randint(0, max(1, n // 20))
    return f"name {k}" if kind == "s" else k


def write(name, columns, rows):
    with open(name, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(columns)
        out.writerows([[text(v) for v in row] for row in rows])


def partner(way, keys, limit, l, right):
    best = None
    for j, r in enumerate(right):
        if l[1] is None or r[1] is None or (keys and (l[0] is None or l[0] != r[0])):
            continue
        d = number(r[1]) - number(l[1])
        if (way == ">=" and d > 0) or (way == ">" and d >= 0) or (way == "<=" and d < 0) or (way == "<" and d <= 0):
            continue
        if limit is not None and abs(d) > limit:
            continue
        last = d < 0 or (d == 0 and way in (">=", "nearest"))
        if best is None or abs(d) < best[0] or (abs(d) == best[0] and last):
            best = (abs(d), j)
    return None if best is None else best[1]


def draw(seed, rows):
    rng = random.Random(seed)
    kind, keys = "ifdt"[seed % 4], "snk"[seed // 4 % 3]
    spread = rng.choice([3, rows // 4 + 1, 10 * rows])
    left_rows, right_rows = rng.choice([(rows, rows), (rows, 1), (1, rows), (rows, 0), (rows, rows // 3)])
    tables = []
    for n in (left_rows, right_rows):
        t = [[key_of(keys, rng, rows), None if rng.random() < 0.04 else time_of(kind, rng, spread), i]
             for i in range(n)]
        if rng.random() < 0.4:
            t.sort(key=lambda r: (r[1] is None, r[1] or 0) if kind in "if" else (r[1] is None, str(r[1])))
        tables.append(t)
    left, right = tables
    write("l.csv", ["k", "t", "i"], left)
    write("r.csv", ["k", "t", "j"], right)
    column = {"i": "i64", "f": "f64", "d": "date", "t": "timestamp"}[kind]
    key = "string" if keys == "s" else "i64"
    with open("columns", "w") as f:
        f.write(f"k={key},t={column}")
    program = 'input L from "l.h5"\ninput R from "r.h5"\n'
    for at, way in enumerate(WAYS):
        limit = rng.choice([None, spread // 7])
        within = "" if limit is None else ", within = " + {"t": f"seconds({limit})", "d": f"days({limit})"}.get(kind, str(limit))
        how = rng.choice(["inner", "left"])
        asof = "nearest(L.t, R.t)" if way == "nearest" else f"L.t {way} R.t"
        condition = "" if keys == "n" else "k == k, "
        name = "ABCDE"[at]
        program += f"{name} = join(L, R, {condition}asof = {asof}{within}, how = {how})\noutput {name}\n"
        exact = limit if kind != "t" or limit is None else limit * 1000000
        want = []
        for l in left:
            j = partner(way, keys != "n", exact, l, right)
            if j is not None:
                r = right[j]
                want.append(l + ([] if keys != "n" else [r[0]]) + [r[1], r[2]])
            elif how == "left":
                want.append(l + [None] * (2 if keys != "n" else 3))
        head = ["k", "t", "i"] + ([] if keys != "n" else ["R_k"]) + ["R_t", "j"]
        write(f"want-{name}.csv", head, want)
        with open(f"how-{name}", "w") as f:
            f.write(f"{way} {keys} {'-' if limit is None else limit} {how} {kind}")
    with open("p.tra", "w") as f:
        f.write(program)


def value(text):
    try:
        return float(text)
    except ValueError:
        return text.replace("T", " ")


def rows_of(file):
    with open(file, newline="") as f:
        return [[value(v) for v in row] for row in csv.reader(f)]


def same():
    for file in glob.glob("want-*.csv"):
        want, got = rows_of(file), rows_of(file[5:])
        assert got == want, (file, open(f"how-{file[5]}").read(), [(i, x, y) for i, (x, y) in enumerate(zip(got, want)) if x != y][:3], len(got), len(want))


def judge():
    import pandas as pd
    ways = {">=": ("backward", True), ">": ("backward", False), "<=": ("forward", True), "<": ("forward", False),
            "nearest": ("nearest", True)}
    for file in sorted(glob.glob("want-*.csv")):
        way, keys, limit, how, kind = open(f"how-{file[5]}").read().split()
        left, right = pd.read_csv("l.csv"), pd.read_csv("r.csv")
        unit = {"t": "s", "d": "D"}.get(kind)
        for t in (left, right):
            if unit:
                t["t"] = pd.to_datetime(t["t"])
            t["u"] = t["t"]
        left, right = (t[t["t"].notna() & (t["k"].notna() | (keys == "n"))].sort_values("t", kind="stable") for t in (left, right))
        if not len(left) or not len(right):
            continue
        for t in (left, right):
            if kind in "if":
                t["t"] = t["t"].astype(float)
            if keys == "k":
                t["k"] = t["k"].astype(int)
        direction, exact = ways[way]
        tolerance = None if limit == "-" else pd.Timedelta(int(limit), unit) if unit else float(limit)
        if tolerance is not None and not unit and tolerance == 0:
            tolerance = 1e-9 # pandas wants one above 0
        by = {} if keys == "n" else {"by": "k"}
        got = pd.merge_asof(left, right, on="t", direction=direction, allow_exact_matches=exact, tolerance=tolerance,
                            suffixes=("", "_r"), **by)
        got = sorted((int(i), int(j)) for i, j in zip(got["i"], got["j"]) if j == j)
        rows = rows_of(file)
        i, j = rows[0].index("i"), rows[0].index("j")
        want = sorted((int(r[i]), int(r[j])) for r in rows[1:] if r[j] != "")
        assert got == want, (file, way, keys, limit, kind, [x for x in zip(got, want) if x[0] != x[1]][:3])


if __name__ == "__main__":
    if sys.argv[1] == "draw":
        draw(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "pandas":
        judge()
    else:
        same()
