"""Shapes of random tables by their definitions: shapes.py draw SEED ROWS writes t.csv, p.tra and want-X.csv of each
output X; shapes.py same compares what runs wrote (X.csv) with these."""
import csv
import glob
import random
import sys


def text(v):
    return "" if v is None else repr(v) if isinstance(v, float) else str(v)


def write(name, columns, rows):
    with open(name, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(columns)
        out.writerows([[text(v) for v in row] for row in rows])


def last_key(v):
    return (v is None, v if v is not None else 0)


def draw(seed, n):
    r = random.Random(seed)
    maybe = lambda v: None if r.random() < 0.3 else v
    def parts():
        return ";".join(r.choice(["a", "bb", "", "ü"]) for _ in range(r.randint(1, 4))) or "a" # "" is NULL in CSV

    rows = [(maybe(r.randint(0, 3)) if r.random() < 0.9 else 0, r.randint(0, n), maybe(r.randint(-5, 5)),
             maybe(r.randint(-8, 8) / 4), maybe(parts()),
             r.choice(["x", "y", "z w"])) for _ in range(n)]
    columns = ["k", "t", "a", "b", "s", "c"]
    write("t.csv", columns, rows)
    want, program = {}, ['input T from "t.h5"']

    def output(name, call, head, body):
        program.append(f"{name} = {call}\noutput {name}")
        want[name] = (head, body)

    output("U", "unpivot(T, [a, b])", ["k", "t", "s", "c", "name", "value"],
           [(k, t, s, c, name, float(v) if v is not None else None) for k, t, a, b, s, c in rows for name, v in (("a", a), ("b", b))])
    output("V", "unpivot(T, [drop(k, t, a, b)], name = which, value = said)", ["k", "t", "a", "b", "which", "said"],
           [(k, t, a, b, name, v) for k, t, a, b, s, c in rows for name, v in (("s", s), ("c", c))])
    output("E", 'explode(T, s, ";")', columns,
           [(k, t, a, b, p, c) for k, t, a, b, s, c in rows for p in ([None] if s is None else s.split(";"))])
    keys = sorted({x[0] for x in rows}, key=last_key)
    values = sorted({x[5] for x in rows})

    def of(k, c):
        return [x[2] for x in rows if x[0] == k and x[5] == c and x[2] is not None]

    output("W", 'pivot(T, [k], c, a, sum, prefix = "c ")', ["k"] + ["c " + c for c in values],
           [[k] + [sum(of(k, c)) if of(k, c) else None for c in values] for k in keys])
    output("N", "pivot(T, [k], c, a, count)", ["k"] + values, [[k] + [len(of(k, c)) for c in values] for k in keys])
    output("M", 'pivot(T, [], c, a, min, values = [one = "x", "nobody"])', ["one", "nobody"],
           [[min((x[2] for x in rows if x[5] == "x" and x[2] is not None), default=None), None]])
    order = sorted(range(n), key=lambda i: (rows[i][1], i))

    def filled(column, by, forward, keyed):
        out, seen = {}, {}
        for i in (by if forward else by[::-1]):
            k = rows[i][0] if keyed else 0
            if rows[i][column] is not None:
                seen[k] = rows[i][column]
            out[i] = seen.get(k)
        return out

    for name, call, forward, by, keyed in (("F", "ffill(T, [k], [t], a, s)", True, order, True),
                                           ("B", "bfill(T, [k], [t], a, s)", False, order, True),
                                           ("G", "ffill(T, [], [], a, s)", True, list(range(n)), False)):
        a, s = filled(2, by, forward, keyed), filled(4, by, forward, keyed)
        output(name, call, columns, [(k, t, a[i], b, s[i], c) for i, (k, t, _, b, _, c) in enumerate(rows)])
    for name, call, rank in (("D", "distinct(T, [k, c], order = [t desc])", lambda i: (-rows[i][1], i)),
                             ("L", "distinct(T, [k, c], keep = last)", lambda i: -i),
                             ("K", "distinct(T, [k, c], order = [t], keep = last)", lambda i: (-rows[i][1], -i))):
        best = {}
        for i in sorted(range(n), key=rank):
            best.setdefault((rows[i][0], rows[i][5]), i)
        output(name, call, columns, [rows[i] for i in sorted(best.values())])
    for name, (head, body) in want.items():
        write(f"want-{name}.csv", head, body)
    with open("p.tra", "w") as f:
        f.write("\n".join(program) + "\n")


def value(text):
    try:
        return float(text)
    except ValueError:
        return text


def rows_of(file):
    with open(file, newline="") as f:
        return [[value(v) for v in row] for row in csv.reader(f)]


def same():
    for file in glob.glob("want-*.csv"):
        want, got = rows_of(file), rows_of(file[5:])
        assert got == want, (file, [(i, x, y) for i, (x, y) in enumerate(zip(got, want)) if x != y][:3], len(got), len(want))


if __name__ == "__main__":
    draw(int(sys.argv[2]), int(sys.argv[3])) if sys.argv[1] == "draw" else same()
