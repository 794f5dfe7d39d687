"""Random windows, judged by sqlite3 (medians, quantiles, var and std by numpy over the frames that sqlite3 finds).

usage: windows.py make SEED ROWS [one|each]   writes t.csv, w.tra and want.json; all rows are one group, or each its own
       windows.py judge                       compares W0.csv, W1.csv, ... with what is wanted; prints what differs"""
import csv, json, math, random, sqlite3, sys

import numpy as np

STATEMENTS = 6
WORDS = ["", "a", "B", "ab", "zz z", "é"]


def table(r, rows, shape):
    def maybe(v):
        return None if r.random() < 0.15 else v

    out = []
    for i in range(rows):
        k = "all" if shape == "one" else f"g{i}" if shape == "each" else r.choice(["a", "b", "c", None])
        if shape == "half" and r.random() < 0.5:
            k = "a"
        day = f"2020-{r.randint(1, 2):02d}-{r.randint(1, 28):02d}"
        out.append((i, k, maybe(r.randint(-3, 6)), maybe(r.randint(-40, 40) / 8), maybe(day),
                    maybe(f"{day}T{r.randint(0, 23):02d}:00:{r.randint(0, 3):02d}"), maybe(r.choice(WORDS[1:]))))
    return out


COLUMNS = ["i", "k", "n", "x", "d", "t", "s"]
# of an order: the column, how sqlite3 counts in it, the unit of distances in both languages
ORDERS = {"n": ("n", 1, "{}"), "x": ("x", 0.125, "{}"),
          "d": ("julianday(d)", 1, "days({})"), "t": ("round((julianday(t)-2458849.5)*86400)", 7200, "seconds({})")}


def end(v, other):
    return other if v is None else "current row" if v == 0 else f"{abs(v)} {'preceding' if v < 0 else 'following'}"


def frame(r, orders):
    """The text of a frame in both languages, and whether the order of rows decides."""
    a, b = sorted([r.randint(-4, 4), r.randint(-4, 4)])
    a, b = (None if r.random() < 0.25 else a), (None if r.random() < 0.25 else b)
    kind = r.choice(["none", "rows", "range"])
    if not orders or kind == "none":
        return "", "", False
    ends = lambda f, x, y: f"{kind} between {end(x, 'unbounded preceding')} and {end(y, 'unbounded following')}"
    text = lambda v, form: "null" if v is None else form.format(v) if v >= 0 else "-" + form.format(-v)
    if kind == "rows":
        return f"rows({text(a, '{}')}, {text(b, '{}')})", ends(kind, a, b), True
    if len(orders) > 1:
        a, b = (None if a else 0, None if b else 0)
        return f"range({text(a, '{}')}, {text(b, '{}')})", ends(kind, a, b), False
    _, unit, form = ORDERS[orders[0].split()[0]]
    m = lambda v: None if v is None else v * unit
    return f"range({text(m(a), form)}, {text(m(b), form)})", ends(kind, m(a), m(b)), False


def function(r, orders):
    """One function: its text in both languages, what is made of the frame's values, and whether the order of rows
    decides."""
    c = r.choice(["n", "x"])
    any_c = r.choice(["n", "x", "s", "d"])
    n = r.randint(1, 4)
    f, sql, ties = frame(r, orders)
    own = ", frame = " + f if f else ""
    q = r.choice([0, 0.25, 0.5, 0.9, 1])
    choices = [
        ("row_number()", "row_number()", None, True, ""), ("rank()", "rank()", None, False, ""),
        ("dense_rank()", "dense_rank()", None, False, ""), (f"ntile({n})", f"ntile({n})", None, True, ""),
        (f"lag({any_c})", f"lag({any_c})", None, True, ""),
        (f"lead({any_c}, {n})", f"lead({any_c}, {n})", None, True, ""),
        (f"lag({c}, {n}, -1)", f"lag({c}, {n}, -1)", None, True, ""),
        (f"first({any_c}{own})", f"first_value({any_c})", None, ties, sql),
        (f"last({any_c}{own})", f"last_value({any_c})", None, ties, sql),
        (f"nth({any_c}, {n}{own})", f"nth_value({any_c}, {n})", None, ties, sql),
        (f"count({own[2:]})", "count(*)", None, ties, sql),
        (f"count({any_c}{own})", f"count({any_c})", None, ties, sql),
        (f"sum({c}{own})", f"sum({c})", None, ties, sql), (f"mean({c}{own})", f"avg({c})", None, ties, sql),
        (f"min({any_c}{own})", f"min({any_c})", None, ties, sql),
        (f"max({any_c}{own})", f"max({any_c})", None, ties, sql),
        (f"var({c}{own})", f"json_group_array({c})", "var", ties, sql),
        (f"std({c}{own})", f"json_group_array({c})", "std", ties, sql),
        (f"median({c}{own})", f"json_group_array({c})", "0.5", ties, sql),
        (f"quantile({c}, {q}{own})", f"json_group_array({c})", str(q), ties, sql)]
    return r.choice(choices)


def of_values(text, what):
    v = np.array([x for x in json.loads(text or "[]") if x is not None], float)
    if what in ("var", "std"):
        return None if len(v) < 2 else float(getattr(np, what)(v, ddof=1))
    return None if len(v) == 0 else float(np.quantile(v, float(what)))


def make(seed, rows, shape):
    r = random.Random(seed)
    data = table(r, rows, shape)
    with open("t.csv", "w", newline="") as f:
        csv.writer(f).writerows([COLUMNS] + [["" if v is None else v for v in row] for row in data])
    db = sqlite3.connect(":memory:")
    db.execute(f"create table t({','.join(COLUMNS)})")
    db.executemany(f"insert into t values({','.join('?' * len(COLUMNS))})", data)
    program, want = ['input T from "t.h5"'], []
    for w in range(STATEMENTS):
        keys = ["k"] if shape else r.choice([["k"], ["k"], ["s", "k"], [], ["n"]])
        orders = r.choice([["n"], ["x desc"], ["d"], ["t"], ["d desc"], ["n desc", "x"], ["s", "t"], []])
        over = "partition by " + ",".join(keys) if keys else ""
        by = [" ".join([ORDERS.get(o.split()[0], (o.split()[0],))[0]] + o.split()[1:]) + " nulls last" for o in orders]
        functions, columns, made = [], [], []
        for j in range(r.randint(1, 6)):
            tra, sql, what, ties, rows_sql = function(r, orders)
            order = by + ["i"] if ties or not by else by
            if not by and not ties:
                order = []
            functions.append(f"f{j} = {tra}")
            columns.append(f"{sql} over ({over} {'order by ' + ', '.join(order) if order else ''} {rows_sql})")
            made.append(what)
        order_text = f", [{', '.join(orders)}]" if orders else r.choice(["", ", []"])
        program += [f"W{w} = window(T, [{', '.join(keys)}]{order_text}, {', '.join(functions)})", f"output W{w}"]
        got = db.execute(f"select {', '.join(columns)} from t order by i").fetchall()
        want.append([[of_values(v, m) if m else v for v, m in zip(row, made)] for row in got])
    open("w.tra", "w").write("\n".join(program) + "\n")
    json.dump(want, open("want.json", "w"))


def same(got, want):
    if want is None or got == "":
        return got == "" and want in (None, "")
    if isinstance(want, str):
        return got.replace(" ", "T") == want.replace(" ", "T")
    return math.isclose(float(got), want, rel_tol=1e-9, abs_tol=1e-9)


def judge():
    program, bad = open("w.tra").read().splitlines(), 0
    for w, rows in enumerate(json.load(open("want.json"))):
        with open(f"W{w}.csv", newline="") as f:
            got = list(csv.reader(f))[1:]
        if len(got) != len(rows):
            print(f"W{w} has {len(got)} rows, not {len(rows)}")
            bad += 1
        for i, (a, b) in enumerate(zip(got, rows)):
            a = a[len(COLUMNS):]
            if not all(same(x, y) for x, y in zip(a, b)):
                print(program[1 + 2 * w], f"row {i}: {a}, not {b}", sep="\n")
                bad += 1
                break
    sys.exit(bad > 0)


if sys.argv[1] == "make":
    make(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "")
else:
    judge()
