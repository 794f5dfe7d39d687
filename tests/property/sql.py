#!/usr/bin/env python3
"""Random programs on tables, judged by sqlite3, and by DuckDB where it is installed: row by row, the order included.

  sql.py --tra TRA [--seed S] [--batches N] [--programs N] [--keep]

A batch is four tables (NULLs, NaN, -0, duplicate, frequent and absent keys, strings, dates; some without rows; in
each fourth batch one has thousands of rows, in one block perhaps) and a few programs of 1 to 6 operators over them.
They run on 1, 2, 3 and 5 ranks, by messages and by files, in blocks of a few rows, with the least memory and with much.
The databases make a table for each operator, in which each row has its number, since the rows of SQL have no order.

sqlite3 has no NaN: here it is the text 'NaN', which equals itself and is greater than all numbers, as it is in keys and
orders of tra. In predicates tra compares as IEEE 754 says, so both databases get functions or expressions that do.
DuckDB comes from npm (DUCKDB_DIR: the folder where @duckdb/node-api was installed, default /tmp/duck).
"""
import argparse, csv, json, math, os, random, re, shutil, sqlite3, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
DUCK = os.environ.get("DUCKDB_DIR", "/tmp/duck")
INT, REAL, BOOL, TEXT, DAY = "int", "real", "bool", "text", "day"
SQL_TYPES = {INT: "bigint", REAL: "double", BOOL: "boolean", TEXT: "varchar", DAY: "date"}
WORDS = ["a", "B", "ab", "abc", "\u00e9t\u00e9", "x%y", "zz z", "NULL?", "-"]


# ---- sqlite3 --------------------------------------------------------------------------------------------------------

def number_of(x):
    return math.nan if x == "NaN" else x


def stored(x):
    return "NaN" if isinstance(x, float) and math.isnan(x) else x


class Gather:
    """An aggregate of pairs (number of the row, value), in the order of rows, without NULLs."""

    def __init__(self):
        self.rows = []

    def step(self, at, x):
        if x is not None:
            self.rows.append((at, x))

    def finalize(self):
        v = [number_of(x) for _, x in sorted(self.rows, key=lambda p: p[0])]
        return stored(self.of(v)) if v else None


def aggregate(f):
    return type("Aggregate", (Gather,), {"of": staticmethod(f)})


def key(x):  # NaN is the greatest
    return (1, 0) if isinstance(x, float) and math.isnan(x) else (0, x)


def quantile(v, q):
    v = sorted(v, key=key)
    at = q * (len(v) - 1)
    low = int(at)
    if isinstance(v[-1], float) and math.isnan(v[-1]):
        return math.nan
    return float(v[low]) if at == low else v[low] + (v[min(low + 1, len(v) - 1)] - v[low]) * (at - low)


def var(v):
    if len(v) < 2:
        return None
    mean = math.fsum(v) / len(v)
    return math.fsum((x - mean) ** 2 for x in v) / (len(v) - 1)


def std(v):
    x = var(v)
    return None if x is None else math.sqrt(x)


def moment(v, n):
    mean = math.fsum(v) / len(v)
    return math.fsum((x - mean) ** n for x in v) / len(v)


def skewness(v):
    n, square = len(v), moment(v, 2)
    return None if n < 3 else math.nan if square == 0 else math.sqrt(n * (n - 1)) / (n - 2) * moment(v, 3) / square ** 1.5


def kurtosis(v):
    n, square = len(v), moment(v, 2)
    if n < 4 or square == 0:
        return None if n < 4 else math.nan
    return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * moment(v, 4) / square ** 2 - 3 * (n - 1))


def of_pairs(f):
    """Of whole numbers, which are a text: "x,y"."""
    def of(v):
        n, x, y = len(v), *zip(*(map(int, p.split(",")) for p in v))
        sums = [n * sum(a * b for a, b in zip(p, q)) - sum(p) * sum(q) for p, q in ((x, x), (y, y), (x, y))]
        return f(n, *sums, sum(x) / n, sum(y) / n)
    return of


PAIRS = {  # sums: n^2 times the variances and the covariance
    "corr": lambda n, xx, yy, xy, *_: None if n < 2 else xy / math.sqrt(xx) / math.sqrt(yy) if xx and yy else math.nan,
    "covar": lambda n, xx, yy, xy, *_: None if n < 2 else xy / n / (n - 1),
    "covar_pop": lambda n, xx, yy, xy, *_: xy / n / n,
    "regr_slope": lambda n, xx, yy, xy, *_: xy / yy if yy else None,
    "regr_intercept": lambda n, xx, yy, xy, x, y: x - xy / yy * y if yy else None,
}
AGGREGATES = {
    **{f: of_pairs(of) for f, of in PAIRS.items()}, "skewness": skewness, "kurtosis": kurtosis,
    "string_agg": "-".join,
    "sum": sum, "mean": lambda v: sum(v) / len(v), "first": lambda v: v[0], "last": lambda v: v[-1],
    "min": lambda v: min(v) if not any(isinstance(x, float) and math.isnan(x) for x in v) else math.nan,
    "max": lambda v: max(v, key=key), "var": var, "std": std, "any": max, "all": min,
    "median": lambda v: quantile(v, .5), "quantile": lambda v: quantile(v, .25),
}


class Dialect:
    """What both databases share: counts, and a quotient whose remainder is never negative."""

    def modulo(self, a, n):
        return f"((({a}) % {n}) + {n}) % {n}"

    def divided(self, a, n):
        return f"((({a}) - ({self.modulo(a, n)})) {self.quotient} {n})"

    def aggregate(self, f, kind, x, y=None):
        if y is not None:
            return self.aggregate_of(f, kind, x, y)
        if f == "count":
            return "count(*)" if x is None else f"count({x})"
        return f"count(distinct {x})" if f == "distinct" else self.aggregate_of(f, kind, x)


class Sqlite(Dialect):
    name, quotient = "sqlite3", "/"

    def __init__(self, tables):
        self.db = sqlite3.connect(":memory:")
        for name, f in AGGREGATES.items():
            self.db.create_aggregate("agg_" + name, 2, aggregate(f))
        for name, f in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b)):
            self.db.create_function("real_" + name, 2, lambda a, b, f=f: None if a is None or b is None else stored(f(number_of(a), number_of(b))))
        for name, f in COMPARE.items():
            self.db.create_function("real_" + name, 2, lambda a, b, f=f: None if a is None or b is None else int(f(number_of(a), number_of(b))))
        for t in tables:
            columns = ", ".join(f'"{c}"' for c, _ in t.columns)
            self.db.execute(f'create table "{t.name}" (_r, {columns})')
            rows = [(i, *(stored(x) for x in r)) for i, r in enumerate(t.rows)]
            self.db.executemany(f'insert into "{t.name}" values ({", ".join("?" * (1 + len(t.columns)))})', rows)

    def literal(self, kind, v):
        if v is None:
            return "null"
        return repr(v) if kind in (INT, REAL) else str(int(v)) if kind == BOOL else "'" + v.replace("'", "''") + "'"

    def begin_of(self, unit, a):
        return f"date({a}, 'start of {unit}')"

    def arithmetic(self, kind, op, a, b):
        if kind == REAL:
            return f"real_{ {'+': 'add', '-': 'sub', '*': 'mul'}[op]}({a}, {b})"
        return f"({a} {op} {b})"

    def compare(self, kind, op, a, b):
        return f"real_{NAMES[op]}({a}, {b})" if kind == REAL else f"({a} {'<>' if op == '!=' else '=' if op == '==' else op} {b})"

    def aggregate_of(self, f, kind, x, y=None):
        return f"agg_{f}(_r, {x})" if y is None else f"agg_{f}(_r, {x} || ',' || {y})"

    def make(self, name, sql):
        self.db.execute(f'create table "{name}" as {sql}')

    def rows(self, name, columns):
        got = self.db.execute(f'select {", ".join(chr(34) + c + chr(34) for c, _ in columns)} from "{name}" order by _r')
        return [tuple(number_of(x) if k == REAL else x for x, (_, k) in zip(r, columns)) for r in got]


COMPARE = {"lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
           "eq": lambda a, b: a == b, "ne": lambda a, b: a != b}
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


# ---- DuckDB ---------------------------------------------------------------------------------------------------------

class Duck(Dialect):
    """Statements are collected, and then run at once by a process of node."""
    name, quotient = "DuckDB", "//"

    def __init__(self, tables):
        self.sql, self.wanted, self.answers = [], [], None
        for t in tables:
            columns = ", ".join(f'"{c}" {SQL_TYPES[k]}' for c, k in t.columns)
            self.sql.append(f'create table "{t.name}" (_r bigint, {columns})')
            for i, r in enumerate(t.rows):
                values = ", ".join(self.literal(k, x) for x, (_, k) in zip(r, t.columns))
                self.sql.append(f'insert into "{t.name}" values ({i}, {values})')

    def literal(self, kind, v):
        if v is None:
            return "null"
        if kind == REAL:
            return "'NaN'::double" if math.isnan(v) else f"({v!r})::double"
        if kind == BOOL:
            return "true" if v else "false"
        return f"{v}::bigint" if kind == INT else f"date '{v}'" if kind == DAY else "'" + v.replace("'", "''") + "'"

    def begin_of(self, unit, a):
        return f"date_trunc('{unit}', {a})::date"

    def arithmetic(self, kind, op, a, b):
        return f"({a} {op} {b})"

    def compare(self, kind, op, a, b):
        sql = {"==": "=", "!=": "<>"}.get(op, op)
        if kind != REAL:
            return f"({a} {sql} {b})"
        whole = "or" if op == "!=" else "and not"
        return f"(case when {a} is null or {b} is null then null else {a} {sql} {b} {whole} (isnan({a}) or isnan({b})) end)"

    def aggregate_of(self, f, kind, x, y=None):
        if y is not None:  # of one row DuckDB's are not a number, and so is the slope where no line goes through the points
            call = f"{'covar_samp' if f == 'covar' else f}({x}, {y})"
            none = f"regr_count({x}, {y}) < 2" if f == "corr" else f"regr_sxx({x}, {y}) = 0" if f.startswith("regr") else "false"
            return f"(case when {none} then null else {call} end)"
        if f == "string_agg":
            return f"string_agg({x}, '-' order by _r)"
        if f in ("skewness", "kurtosis"):
            least = 3 if f == "skewness" else 4
            return f"(case when count({x}) < {least} then null when var_pop({x}) = 0 then 'NaN'::double else {f}({x}) end)"
        if f == "sum":
            return f"sum({x})" + ("::bigint" if kind == INT else "")
        if f == "mean":
            return f"avg({x})"
        if f in ("first", "last"):
            return f"arg_{'min' if f == 'first' else 'max'}({x}, _r) filter (where {x} is not null)"
        if f == "min" and kind == REAL:  # DuckDB's min ignores NaN
            return f"(case when bool_or(isnan({x})) then 'NaN'::double else min({x}) end)"
        if f in ("var", "std"):
            call = "var_samp" if f == "var" else "stddev_samp"
            return f"(case when bool_or(isnan({x}::double)) then null else {call}(case when isnan({x}::double) then null else {x} end) end)"
        if f in ("median", "quantile"):
            q = .5 if f == "median" else .25
            plain = f"quantile_cont({x}::double, {q})"
            return f"(case when bool_or(isnan({x}::double)) then 'NaN'::double else {plain} end)" if kind == REAL else plain
        return {"any": f"bool_or({x})", "all": f"bool_and({x})"}.get(f, f"{f}({x})")

    def make(self, name, sql):
        self.sql.append(f'create table "{name}" as {sql}')

    def ask(self, name, columns):
        cast = {INT: '"{}"::varchar', REAL: '"{}"::varchar', BOOL: '"{}"::varchar', TEXT: '"{}"', DAY: '"{}"::varchar'}
        self.wanted.append((name, f'select {", ".join(cast[k].format(c) for c, k in columns)} from "{name}" order by _r'))

    def run(self, script):
        text = json.dumps({"sql": self.sql, "ask": [q for _, q in self.wanted]})
        p = subprocess.run(["node", script], input=text, capture_output=True, text=True, env={**os.environ, "DUCKDB_DIR": DUCK})
        if p.returncode:
            sys.exit(f"duckdb: {p.stderr[-2000:]}")
        self.answers = {name: rows for (name, _), rows in zip(self.wanted, json.loads(p.stdout))}

    def rows(self, name, columns):
        read = {INT: int, REAL: float, BOOL: lambda x: int(x == "true"), TEXT: str, DAY: str}
        return [tuple(None if x is None else read[k](x) for x, (_, k) in zip(r, columns)) for r in self.answers[name]]


def missing_duck():
    if not os.path.isdir(os.path.join(DUCK, "node_modules", "@duckdb")):
        return f"no @duckdb/node-api in {DUCK}: npm install it there, or set DUCKDB_DIR"
    return None if shutil.which("node") else "node is not installed"


# ---- tables ---------------------------------------------------------------------------------------------------------

class Table:
    def __init__(self, name, columns, rows=None):
        self.name, self.columns, self.rows = name, columns, rows

    def of(self, kind):
        return [c for c, k in self.columns if k == kind]


def draw_value(r, kind, skewed):
    """A random value; skewed: half of them are the same one."""
    n = 3 if skewed and r.random() < .5 else r.randint(-2, 9)
    if kind == INT:
        return n
    if kind == REAL:
        return r.choice([math.nan, -0.0, 0.0, .5, -2.5]) if r.random() < .3 else r.randint(-80, 80) / 8
    if kind == BOOL:
        return r.random() < .5
    return WORDS[n % len(WORDS)] if kind == TEXT else f"2017-{1 + n % 12:02}-{1 + n % 28:02}"


MANY = 60  # rows that joins may meet


def draw_table(r, number, large):
    columns = [(f"k{number}", INT), (f"x{number}", REAL), (f"s{number}", TEXT), (f"n{number}", INT), (f"f{number}", BOOL),
               (f"d{number}", DAY)]
    columns = [c for i, c in enumerate(columns) if i < 3 or r.random() < .7]
    if r.random() < .3:
        columns[0] = ("k", INT)  # keys of two tables with the same name
    n = r.randint(4000, 10000) if large else 0 if r.random() < .1 else r.randint(1, MANY)
    nulls, skewed = {c: r.random() < .5 for c, _ in columns}, r.random() < .3
    rows = [tuple(None if nulls[c] and r.random() < .2 else draw_value(r, k, skewed) for c, k in columns) for _ in range(n)]
    return Table(f"T{number}", columns, rows)


TYPES = {INT: "i64", REAL: "f64", BOOL: "bool", TEXT: "string", DAY: "date"}


def write(t, block, tra, cwd):
    with open(os.path.join(cwd, t.name + ".csv"), "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(c for c, _ in t.columns)
        for row in t.rows:
            w.writerow("" if x is None else "NaN" if isinstance(x, float) and math.isnan(x) else
                       ("true" if x else "false") if isinstance(x, bool) else repr(x) if isinstance(x, float) else x for x in row)
    types = ",".join(f"{c}={TYPES[k]}" for c, k in t.columns)
    subprocess.run([tra, "import", "-q", "--table", "--types", types, "--block", str(block), "--null", "", t.name + ".csv", "-o", t.name + ".h5"],
                   cwd=cwd, check=True)


# ---- expressions: text of the language, and of SQL as a function of the dialect ------------------------------------------

class Expression:
    def __init__(self, kind, text, sql):
        self.kind, self.text, self.sql = kind, text, sql


LITERAL = {INT: ["3", "-1", "0"], REAL: ["0.5", "-1.25"], TEXT: ["ab", "B"], DAY: ["2017-04-05"], BOOL: [True]}


def leaf(r, t, kind, alias=None):
    names = t.of(kind)
    if names and r.random() < .85:
        c = r.choice(names)
        return Expression(kind, f"`{c}`", lambda d: (f"{alias}." if alias else "") + f'"{c}"')
    v = r.choice(LITERAL[kind])
    text = {INT: str(v), REAL: str(v), TEXT: f'"{v}"', DAY: f'date "{v}"', BOOL: "true"}[kind]
    value = float(v) if kind == REAL else int(v) if kind == INT else v
    return Expression(kind, text if not text.startswith("-") else f"({text})", lambda d: d.literal(kind, value))


def filled(a):
    return Expression(a.kind, f"ifnull({a.text}, 3)", lambda d: f"coalesce({a.sql(d)}, {d.literal(a.kind, 3)})")


def product(a, b):
    return Expression(a.kind, f"({a.text} * {b.text})", lambda d: d.arithmetic(a.kind, "*", a.sql(d), b.sql(d)))


def expression(r, t, kind, depth):
    if kind == BOOL and depth > 0 and r.random() < .6:
        return predicate(r, t, depth)
    if depth <= 0 or kind == BOOL or r.random() < .4:
        return leaf(r, t, kind)
    if kind == DAY:
        a, unit = leaf(r, t, kind), r.choice(["month", "year"])
        return Expression(kind, f'date_trunc("{unit}", {a.text})', lambda d: d.begin_of(unit, a.sql(d)))
    if kind == TEXT or (kind == INT and r.random() < .15):
        return of_strings(r, t, kind)
    a = expression(r, t, kind, depth - 1)
    if kind == INT and r.random() < .4:
        n = r.choice([2, 3, 7])
        op = r.choice(["%", "div"])
        return Expression(kind, f"({a.text} {op} {n})", lambda d: d.modulo(a.sql(d), n) if op == "%" else d.divided(a.sql(d), n))
    op, b = r.choice("+-*"), leaf(r, t, kind)
    return Expression(kind, f"({a.text} {op} {b.text})", lambda d: d.arithmetic(kind, op, a.sql(d), b.sql(d)))


def of_strings(r, t, kind):
    """Strings that rows make, and numbers of strings. (None is empty: in CSV that is a NULL.)"""
    a, b, n, i = leaf(r, t, TEXT), leaf(r, t, TEXT), r.randint(1, 3), leaf(r, t, INT)
    draws = {INT: [("length(%s)", "length(%s)", a), ("position(%s, %s)", "instr(%s, %s)", a, b)],
             TEXT: [(f"substr(%s, 1, {n})", f"substr(%s, 1, {n})", a), ("concat(%s, %s)", "(%s || %s)", a, b),
                    ('replace(%s, "a", "<>")', "replace(%s, 'a', '<>')", a), ("string(%s)", "cast(%s as text)", i),
                    ("concat(%s, %s)", "(%s || cast(%s as text))", a, i)]}
    text, sql, *x = r.choice(draws[kind])
    return Expression(kind, text % tuple(e.text for e in x), lambda d: sql % tuple(e.sql(d) for e in x))


def predicate(r, t, depth=2):
    what = r.random()
    if depth > 0 and what < .35:
        a, b, op = predicate(r, t, depth - 1), predicate(r, t, depth - 1), r.choice(["&&", "||"])
        return Expression(BOOL, f"({a.text} {op} {b.text})", lambda d: f"({a.sql(d)} {'and' if op == '&&' else 'or'} {b.sql(d)})")
    if depth > 0 and what < .45:
        a = predicate(r, t, depth - 1)
        return Expression(BOOL, f"!{a.text}", lambda d: f"(not {a.sql(d)})")
    kind = r.choice([INT, INT, REAL, TEXT, DAY])
    if what < .55:
        a = leaf(r, t, kind)
        return Expression(BOOL, f"isnull({a.text})", lambda d: f"({a.sql(d)} is null)")
    a, b, op = expression(r, t, kind, 1), leaf(r, t, kind), r.choice(list(NAMES))
    return Expression(BOOL, f"({a.text} {op} {b.text})", lambda d: d.compare(kind, op, a.sql(d), b.sql(d)))


# ---- operators: a line of the language, and the SQL of a table ---------------------------------------------------------

class Program:
    def __init__(self, r, tables, number):
        self.r, self.number, self.lines, self.steps, self.names = r, number, [], [], 0
        self.tables = list(tables)
        self.large = len(tables[0].rows) > MANY
        t = tables[0] if self.large and r.random() < .5 else r.choice(tables)
        for _ in range(r.randint(1, 6)):
            t = r.choice([self.select, self.select, self.project, self.join, self.join, self.group, self.order,
                          self.distinct, self.limit, self.union, self.cross] + 5 * self.large * [self.limit])(t)
        self.result = t

    def fresh(self, letter="c"):
        self.names += 1
        return f"{letter}{self.number}_{self.names}"

    def add(self, columns, text, sql):
        """sql(dialect): a select, in which {order} stands for the order in which its rows are numbered."""
        t = Table(f"P{self.number}_{len(self.steps)}", columns)
        self.lines.append(f"{t.name} = {text}")
        self.steps.append((t, sql))
        self.tables.append(t)
        return t

    @staticmethod
    def numbered(order, columns, rest):
        return f"select row_number() over (order by {order}) - 1 as _r, {columns} {rest}"

    @staticmethod
    def listed(columns, alias=None):
        return ", ".join((f"{alias}." if alias else "") + f'"{c}"' for c, _ in columns)

    def select(self, t):
        p = predicate(self.r, t)
        return self.add(t.columns, f"select({t.name}, {p.text})",
                        lambda d: self.numbered("_r", self.listed(t.columns), f'from "{t.name}" where {p.sql(d)}'))

    def project(self, t):
        kept = [c for c in t.columns if self.r.random() < .6]
        new = [(self.fresh(), expression(self.r, t, self.r.choice([INT, REAL, BOOL, TEXT, DAY]), 2)) for _ in range(self.r.randint(1, 2))]
        columns = kept + [(c, x.kind) for c, x in new]
        text = ", ".join([f"`{c}`" for c, _ in kept] + [f"{c} = {x.text}" for c, x in new])
        return self.add(columns, f"project({t.name}, {text})",
                        lambda d: self.numbered("_r", ", ".join([f'"{c}"' for c, _ in kept] + [f'{x.sql(d)} as "{c}"' for c, x in new]), f'from "{t.name}"'))

    def few_rows(self, t):
        """Limits a table that the program has made, or a large one, so that joins stay small."""
        if t.rows is not None and len(t.rows) <= MANY:
            return t
        n, m = self.r.randint(5, MANY), self.r.randint(0, 3)
        if self.large:
            m = self.r.choice([m, self.r.choice([12, 200, 5000])])
        return self.add(t.columns, f"limit({t.name}, {n}, from = {m})",
                        lambda d: self.numbered("_r", self.listed(t.columns), f'from "{t.name}" where _r >= {m} and _r < {m + n}'))

    def limit(self, t):
        t = self.order(t) if self.large and self.r.random() < .7 else t
        return self.few_rows(Table(t.name, t.columns))

    def join(self, l):
        r, right = self.r, self.r.choice(self.tables)
        l, right = self.few_rows(l), self.few_rows(right)
        how = r.choice(["inner", "inner", "left", "semi", "anti", "right", "outer"])
        pairs = []
        for _ in range(2 if r.random() < .3 else 1):
            kind = r.choice([INT, INT, INT, TEXT, REAL, DAY])
            if l.of(kind) and right.of(kind):
                pairs.append((r.choice(l.of(kind)), r.choice(right.of(kind))))
        pairs = list(dict.fromkeys(pairs)) if r.random() < .75 else []
        nulls, prefix = r.random() < .2, self.fresh("p") + "_"
        more = []  # comparisons by ranges, as the language and SQL write them
        while r.random() < (.25 if pairs and not more else .5 if more else 1):
            kind = r.choice([INT, INT, TEXT, DAY])  # NaN is greatest in SQL
            if not (l.of(kind) and right.of(kind)):
                kind = INT
            if not (l.of(kind) and right.of(kind)):
                return l
            a, b, op = r.choice(l.of(kind)), r.choice(right.of(kind)), r.choice(["<", "<=", ">", ">="])
            more.append((f"`{a}` {op} `{prefix}{b}`", f'l."{a}" {op} r."{b}"'))
        shared = {b for a, b in pairs if a == b}
        shown_right = [c for c in right.columns if c[0] not in shared]
        pairing = how in ("inner", "left", "right", "outer")
        columns = l.columns + ([(prefix + c, k) for c, k in shown_right] if pairing else [])
        cond = " && ".join([f"`{a}` == `{b}`" for a, b in pairs] + [x for x, _ in more])
        text = f'join({l.name}, {right.name}, {cond}, how = {how}, prefix = "{prefix}"{", nulls = match" if nulls else ""})'

        def on(d):
            equal = [f'l."{a}" {d.same if nulls else "="} r."{b}"' for a, b in pairs]
            return " and ".join(equal + [x for _, x in more])

        def sql(d):
            out = self.listed(l.columns, "l")
            if not pairing:
                no = "not " if how == "anti" else ""
                return self.numbered("l._r", out, f'from "{l.name}" l where {no}exists (select 1 from "{right.name}" r where {on(d)})')
            out += "".join(f', r."{c}" as "{prefix}{c}"' for c, _ in shown_right)
            inner = f'select l._r as _a, r._r as _b, {out} from "{l.name}" l {"left " if how in ("left", "outer") else ""}join "{right.name}" r on {on(d)}'
            if how in ("right", "outer"):
                of = {a: b for a, b in reversed(pairs) if a == b}
                left = ", ".join((f'r."{of[c]}"' if c in of else f"cast(null as {SQL_TYPES[k]})") + f' as "{c}"' for c, k in l.columns)
                rest = "".join(f', r."{c}" as "{prefix}{c}"' for c, _ in shown_right)
                inner += (f' union all select null as _a, r._r as _b, {left}{rest} from "{right.name}" r '
                          f'where not exists (select 1 from "{l.name}" l where {on(d)})')
            return self.numbered("_a is null, _a, _b is null, _b", self.listed(columns), f"from ({inner})")

        return self.add(columns, text, sql)

    def cross(self, l):
        right = self.r.choice([t for t in self.tables if t.rows is not None])
        l, prefix = self.few_rows(Table(l.name, l.columns)), self.fresh("q") + "_"
        columns = l.columns + [(prefix + c, k) for c, k in right.columns]
        return self.add(columns, f'cross({l.name}, {right.name}, prefix = "{prefix}")',
                        lambda d: self.numbered("l._r, r._r", self.listed(l.columns, "l") + "".join(f', r."{c}" as "{prefix}{c}"' for c, _ in right.columns),
                                                f'from "{l.name}" l, "{right.name}" r'))

    def group(self, t):
        r = self.r
        keys = [(self.fresh("g"), expression(r, t, r.choice([INT, INT, TEXT, BOOL, REAL, DAY]), 1)) for _ in range(r.choice([0, 1, 1, 2]))]
        aggs = [(self.fresh("a"), "count", None, INT)]
        for _ in range(r.randint(0, 4)):
            kind = r.choice([INT, REAL, REAL, BOOL, TEXT, DAY])
            f = r.choice({INT: ["sum", "mean", "var", "std", "median", "quantile", "skewness", "kurtosis", *PAIRS], REAL: ["sum", "mean", "var", "std", "median", "quantile"],
                          BOOL: ["any", "all"], TEXT: ["min", "string_agg"]}.get(kind, ["min"]) + ["count", "distinct"] + (["min", "max", "first", "last"] if kind != BOOL else []))
            gives = INT if f in ("count", "distinct") else kind if f in ("sum", "min", "max", "first", "last", "any", "all", "string_agg") else REAL
            if f in ("var", "std") and kind == REAL:  # of NaN sqlite3's is NaN, DuckDB has none
                kind = INT
            x = leaf(r, t, kind)
            if f in ("sum", "mean", "count") and kind in (INT, REAL) and r.random() < .4:  # perhaps of columns of two joined tables
                x = product(x, leaf(r, t, kind) if r.random() < .7 else filled(leaf(r, t, kind)))
            aggs.append((self.fresh("a"), f, x, gives))
        by = {c: leaf(r, t, INT) for c, f, _, _ in aggs if f in PAIRS}
        columns = [(c, x.kind) for c, x in keys] + [(c, k) for c, _, _, k in aggs]
        text = [f"{c} = {x.text}" for c, x in keys]
        more = {c: ", 0.25" if f == "quantile" else ', "-"' if f == "string_agg" else ", " + by[c].text if f in PAIRS else "" for c, f, _, _ in aggs}
        calls = [f"{c} = {f}({x.text + more[c] if x else ''})" for c, f, x, _ in aggs]

        def sql(d):
            inner = ", ".join([f'{x.sql(d)} as "{c}"' for c, x in keys] + [f'{x.sql(d)} as "of {c}"' for c, _, x, _ in aggs if x]
                              + [f'{x.sql(d)} as "by {c}"' for c, x in by.items()] + ["_r"])
            out = [f'"{c}"' for c, _ in keys] + [
                d.aggregate(f, x.kind if x else None, f'"of {c}"' if x else None, f'"by {c}"' if c in by else None)
                + f' as "{c}"' for c, f, x, _ in aggs]
            grouped = f' group by {", ".join(chr(34) + c + chr(34) for c, _ in keys)}' if keys else ""
            order = ", ".join(f'"{c}" is null, "{c}"' for c, _ in keys) or "1"
            return self.numbered(order, self.listed(columns), f'from (select {", ".join(out)} from (select {inner} from "{t.name}"){grouped})')

        return self.add(columns, f"group({t.name}, [{', '.join(text)}], {', '.join(calls)})", sql)

    def order(self, t):
        keys = [(c, self.r.random() < .4) for c, _ in self.r.sample(t.columns, self.r.randint(1, min(3, len(t.columns))))]
        by = ", ".join(f'"{c}" is null, "{c}"{" desc" if desc else ""}' for c, desc in keys)
        return self.add(t.columns, f"order({t.name}, [{', '.join(f'`{c}`' + (' desc' if desc else '') for c, desc in keys)}])",
                        lambda d: self.numbered(by + ", _r", self.listed(t.columns), f'from "{t.name}"'))

    def distinct(self, t):
        keys = [c for c, _ in self.r.sample(t.columns, self.r.randint(1, min(2, len(t.columns))))]
        listed = ", ".join(f'"{c}"' for c in keys)
        return self.add(t.columns, f"distinct({t.name}, [{', '.join(f'`{c}`' for c in keys)}])",
                        lambda d: self.numbered("_r", self.listed(t.columns), f'from (select *, row_number() over (partition by {listed} order by _r) as _n from "{t.name}") where _n = 1'))

    def union(self, t):
        p = predicate(self.r, t)
        u = self.add(t.columns, f"select({t.name}, {p.text})",
                     lambda d: self.numbered("_r", self.listed(t.columns), f'from "{t.name}" where {p.sql(d)}'))
        listed = self.listed(t.columns)
        return self.add(t.columns, f"union({t.name}, {u.name})",
                        lambda d: self.numbered("_p, _q", listed, f'from (select 0 as _p, _r as _q, {listed} from "{t.name}" union all select 1 as _p, _r as _q, {listed} from "{u.name}")'))


Sqlite.same, Duck.same = "is", "is not distinct from"


# ---- running and comparing ---------------------------------------------------------------------------------------------

def plain(kind, v):
    import numpy as np
    if v is None:
        return None
    if isinstance(v, np.datetime64):
        return str(v)
    return int(v) if kind == BOOL else v


def agree(x, y):
    if x is None or y is None or isinstance(x, str) or isinstance(y, str):
        return x == y
    if isinstance(x, float) or isinstance(y, float):
        if math.isnan(x) or math.isnan(y):
            return math.isnan(x) and math.isnan(y)
        return x == y or abs(x - y) <= 1e-9 * max(1, abs(y))
    return x == y


def compare(program, who, have, want):
    if len(have) != len(want):
        return f"{program.result.name}: {len(have)} rows, {who} has {len(want)}"
    for i, (x, y) in enumerate(zip(have, want)):
        if not all(map(agree, x, y)):
            return f"{program.result.name}: row {i} is {x}, of {who} {y}"
    return None


def read(program, folder):
    import frame
    columns = frame.read(os.path.join(folder, program.result.name + ".h5"))
    if list(columns) != [c for c, _ in program.result.columns]:
        return None
    return list(zip(*([plain(k, v) for v in columns[c]] for c, k in program.result.columns)))


# Any number of ranks on any number of cores, also as root; ranks that wait leave the cores to others.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
                  OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
WAIT = 60
RUNS = [["--memory", "64M"], ["--sites", "2", "--transport", "files"], ["--sites", "3", "--memory", "1G"], ["--sites", "5"]]


def batch(tra, seed, number, count, folder, duck):
    """Returns the first difference, or None, and how many programs were judged."""
    r = random.Random(f"{seed} {number}")
    tables = [draw_table(r, i, number % 4 == 3 and i == 0) for i in range(4)]
    for t in tables:
        write(t, r.choice([1500, 16384]) if len(t.rows) > MANY else r.choice([3, 8, 16, 64]), tra, folder)
    programs = [Program(r, tables, i) for i in range(count)]
    judges = [Sqlite(tables)] + ([Duck(tables)] if duck else [])
    for d in judges:
        for p in programs:
            for t, sql in p.steps:
                d.make(t.name, sql(d))
            if d.name == "DuckDB":
                d.ask(p.result.name, p.result.columns)
    if duck:
        judges[1].run(os.path.join(HERE, "sql_duckdb.mjs"))
    programs = [p for p in programs if p.steps]
    inputs = "".join(f'input {t.name} from "{t.name}.h5"\n' for t in tables)
    for x in programs:
        x.text = inputs + "".join(line + "\n" for line in x.lines) + f"output {x.result.name}\n"
        wrong = judge(tra, folder, x, judges, ["--memory", "least"]) or judge(tra, folder, x, judges, RUNS[x.number % len(RUNS)])
        if wrong:
            return f"{wrong}\n{x.text}", 0
    return None, len(programs)


def run(tra, folder, *args):
    """Returns status, stdout and stderr; the status is 124 after WAIT seconds."""
    try:
        p = subprocess.run([tra, *args, "p.tra"], cwd=folder, capture_output=True, text=True, timeout=WAIT)
    except subprocess.TimeoutExpired:
        return 124, "", f"it takes more than {WAIT} s"
    return p.returncode, p.stdout, p.stderr


def judge(tra, folder, x, judges, options):
    """Returns what differs, or None."""
    with open(os.path.join(folder, "p.tra"), "w") as f:
        f.write(x.text)
    if options == ["--memory", "least"]:
        status, out, err = run(tra, folder, "explain", "--format", "json")
        if status:
            return f"explain: status {status}: {err}"
        options = ["--memory", str(json.loads(out)["plans"][0]["least_memory_bytes"])]
    status, _, err = run(tra, folder, "run", "-q", *options)
    makes = re.search(r"string_agg|string\(|concat\(", x.text)
    if status == 4 and makes:  # what it takes to make strings that rows make, before the plan, is in no plan's least
        status, _, err = run(tra, folder, "run", "-q", "--memory", "512M")
    if status:
        return f"tra run {' '.join(options)}: status {status}: {err}"
    have = read(x, folder)
    if have is None:
        return f"{x.result.name} has other columns than {x.result.columns}"
    for d in judges:
        wrong = compare(x, d.name, have, d.rows(x.result.name, x.result.columns))
        if wrong:
            return f"tra run {' '.join(options)}: {wrong}"
    return None


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--tra", required=True)
    a.add_argument("--seed", default="1")
    a.add_argument("--batches", type=int, default=4)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--programs", type=int, default=8)
    a.add_argument("--keep", action="store_true")
    o = a.parse_args()
    why = missing_duck()
    judged, bad = 0, 0
    for i in range(o.first, o.first + o.batches):
        folder = tempfile.mkdtemp(prefix="tra-sql-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        os.environ["TRA_SCRATCH"] = folder
        wrong, n = batch(os.path.abspath(o.tra), o.seed, i, o.programs, folder, not why)
        judged += n
        if wrong:
            bad += 1
            print(f"# seed {o.seed}, batch {i}" + (f", in {folder}" if o.keep else "") + f": {wrong}".replace("\n", "\n# "))
        if not (wrong and o.keep):
            shutil.rmtree(folder)
    print(f"# {judged} programs agree with sqlite3" + (f"; DuckDB was not asked: {why}" if why else " and DuckDB") + f"; {bad} batches differ")
    return bad > 0


sys.exit(main())
