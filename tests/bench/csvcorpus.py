"""Reads DuckDB's own CSV files (data/csv of its repository) with tra and with DuckDB, and compares the cells.

    csvcorpus.py DATA [TESTS] [PATTERN]

DATA: the folder data/csv of a checkout, TESTS: its test/sql/copy/csv. Both read each file without options; with TESTS
also by the options of each call of read_csv there that names one file of DATA, as far as tra has these options. Cells
are equal if their text is, or the number, truth value, day or time for which it stands. NULL equals the empty text, and
generated names of columns are equal. Needs @duckdb/node-api in DUCKDB_DIR (default /tmp/duck). TRA: the program."""
import collections, csv, functools, json, os, re, subprocess, sys, tempfile
import dateutil.parser

import duckdb

HERE = os.path.dirname(os.path.abspath(__file__))
TRA = os.environ.get("TRA", os.path.join(HERE, "../../build/tra"))
csv.field_size_limit(1 << 30)

TYPES = {"BIGINT": "i64", "INT64": "i64", "INTEGER": "i32", "INT": "i32", "SMALLINT": "i32", "TINYINT": "i32", "DOUBLE": "f64",
         "FLOAT": "f64", "DECIMAL": "f64", "BOOLEAN": "bool", "BOOL": "bool", "DATE": "date", "TIMESTAMP": "timestamp"}


def by_duckdb(call, to):
    return duckdb.run(f"copy (select * from {call}) to '{to}' (format csv, header, force_quote *)")


def by_tra(source, options, to):
    run = subprocess.run([TRA, "import", "-q", "--table", source, "-o", to + ".h5", *options], capture_output=True, errors="replace")
    if run.returncode == 0:
        run = subprocess.run([TRA, "export", "-q", to + ".h5", "-o", to, "--to", "csv"], capture_output=True, errors="replace")
    if run.returncode == 0: return None
    if run.returncode != 3: print(f"STATUS {run.returncode}: {source} {options}")
    return run.stderr.strip()


@functools.lru_cache(None)
def plain(cell):
    cell = cell.strip()
    if cell.lower() in ("true", "false"): return cell.lower()
    try: return float(cell)
    except ValueError: pass
    t = re.fullmatch(r"(?:(\d{4}-\d\d-\d\d)[ T]?)?(?:(\d{1,2}):(\d\d)(?::(\d\d)(\.\d+)?)?(?:Z|[+]00(?::00)?)?)?", cell)
    if not t or not cell: return cell
    h, m, s = int(t[2] or 0), int(t[3] or 0), float((t[4] or "0") + (t[5] or ""))
    return t[1] or "", (h * 60 + m) * 60 + s


def same(a, b):
    a, b = a.replace("\r\n", "\n"), b.replace("\r\n", "\n")
    if a == b or plain(a) == plain(b) or (a != a and b != b): return True
    if not re.search(r"\d", a) or len(a) > 40: return False
    for first in False, True:
        try:
            if dateutil.parser.parse(a, dayfirst=first, ignoretz=False) == dateutil.parser.parse(b, dayfirst=first): return True
        except Exception: pass
    return False


def rows_of(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as f: return list(csv.reader(f))


def verdict(source, call, options, tmp):
    """A word for how the two agree, and why not."""
    a, b = tmp + "/duckdb.csv", tmp + "/tra.csv"
    why = by_duckdb(call, a)
    if callable(options): options = options(len(rows_of(a)[0]) if not why else 0)
    not_read = by_tra(source, options, b)
    if why and not_read: return "both refuse", ""
    if why: return "tra reads it", why[:150].replace("\n", " ")
    if not_read: return "tra refuses", not_read
    right, got = rows_of(a), rows_of(b)
    right, got = [[r or [""] for r in x] for x in (right, got)]
    if len(right[0]) != len(got[0]): return "columns", f"{len(right[0])} {len(got[0])}: {right[0][:8]} {got[0][:8]}"
    if len(right) != len(got): return "rows", f"{len(right) - 1} {len(got) - 1}: {right[0][:4]} {got[0][:4]}"
    generated = lambda x: bool(re.fullmatch(r"column_?\d*|", x))
    for x, y in zip(right[0], got[0]):
        if x.strip() != y.strip() and not (generated(x) and generated(y)) and not re.fullmatch(re.escape(x.strip()).replace("_1", r"_\d"), y):
            return "names", f"{x!r} {y!r}"
    for i, (x, y) in enumerate(zip(right[1:], got[1:])):
        for n, p, q in zip(right[0], x, y):
            if not same(p, q): return "cells", f"row {i + 1} of {len(right) - 1}, {n}: {p[:60]!r} {q[:60]!r}"
    return "the same", ""


# ---- calls of the tests ----

def literal(s):
    s = s.strip()
    if s[:1] == "'": return re.sub("''", "'", s[1:-1])
    if s[:1] == "[": return [literal(x) for x in parts(s[1:-1])]
    if s[:1] == "{": return {literal(k): literal(v) for k, v in (cut(x, ":") for x in parts(s[1:-1]))}
    return s


def parts(s, by=","):
    out, depth, text, now = [], 0, False, ""
    for c in s:
        if c == "'": text = not text
        if not text: depth += (c in "([{") - (c in ")]}")
        if c == by and not text and depth == 0: out.append(now); now = ""
        else: now += c
    return out + [now] if now.strip() else out


def cut(s, by):
    v = parts(s, by)
    return v[0], by.join(v[1:])


def argument(text):
    depth, inside = 0, False
    for i, c in enumerate(text):
        if c == "'": inside = not inside
        if not inside: depth += (c == "(") - (c == ")")
        if depth == 0: return text[1:i]


def character(s): return {"\t": "tab", "\\t": "tab", " ": "space", "": "none"}.get(s, s)


def quoted(name): return '"' + name.replace('"', '""') + '"'


def translated(options, tmp):
    """Options of tra, or None: there are some that it has not."""
    out, all_text, types = [], False, {}
    true = lambda v: str(v).lower() in ("true", "1", "t")
    for name, v in options.items():
        if isinstance(v, (dict, list)) and name not in ("columns", "types", "dtypes", "column_types", "names", "column_names", "nullstr", "null"): return None
        if name in ("delim", "sep", "delimiter", "quote", "escape", "comment", "decimal_separator", "thousands"):
            option = {"delim": "delimiter", "sep": "delimiter", "decimal_separator": "decimal"}.get(name, name)
            if len(v.replace("\\t", "\t")) > 1: return None
            if v or option in ("quote", "escape"): out += ["--" + option, character(v)]
        elif name == "header": out += ["--header" if true(v) else "--no-header"]
        elif name == "skip": out += ["--skip", v]
        elif name in ("nullstr", "null") and not isinstance(v, dict): out += ["--null", ",".join(v if isinstance(v, list) else [v])]
        elif name in ("dateformat", "date_format"): out += ["--date-format", v] if v != "auto" else []
        elif name in ("timestampformat", "timestamp_format"): out += ["--timestamp-format", v] if v != "auto" else []
        elif name in ("names", "column_names") and isinstance(v, list): out += ["--names", ",".join(map(quoted, v))]
        elif name in ("types", "dtypes", "column_types", "columns"):
            if isinstance(v, list): v = {str(i + 1): t for i, t in enumerate(v)}
            if not isinstance(v, dict): return None
            if name == "columns": out += ["--names", ",".join(map(quoted, v))]
            if not all(isinstance(t, str) for t in v.values()): return None
            for k, t in v.items(): out += ["--types", quoted(f"{k}={TYPES.get(t.upper().split('(')[0], 'string')}")]
        elif name == "all_varchar": all_text = true(v)
        elif name in ("ignore_errors", "store_rejects"): out += ["--rejects", tmp + "/rejects.csv"] if true(v) else []
        elif name == "null_padding": out += ["--pad-short"] if true(v) else []
        elif name == "strict_mode": out += ["--lenient"] if not true(v) else []
        elif name == "encoding": out += ["--encoding", {"latin-1": "latin1", "utf-16": "utf-16"}.get(v.lower(), v.lower())]
        elif name not in ("auto_detect", "buffer_size", "sample_size", "parallel", "new_line", "max_line_size", "maximum_line_size",
                          "compression", "rejects_table", "rejects_scan", "rejects_limit", "nfc"): return None
    if "columns" in options and "header" not in options and str(options.get("auto_detect", "")).lower() in ("false", "0"):
        out += ["--no-header"]
    seen = set()
    out = [x for i, x in enumerate(out) if not (x in ("--rejects", tmp + "/rejects.csv") and (x in seen or seen.add(x)))]
    return (lambda n: out + ["--types", ",".join(f"{i + 1}=string" for i in range(n))] if n else out) if all_text else out


def calls(tests, data, tmp):
    seen = set()
    for folder, _, files in sorted(os.walk(tests)):
        for f in sorted(files):
            text = open(os.path.join(folder, f), errors="replace").read().replace("{DATA_DIR}/csv/", data + "/").replace("'data/csv/", f"'{data}/")
            for m in re.finditer(r"read_csv(?:_auto)?(?=\()", text, re.I):
                inside = argument(text[m.end():])
                if inside is None or inside in seen: continue
                seen.add(inside)
                v = parts(inside)
                source = literal(v[0]) if v else ""
                if not isinstance(source, str) or not os.path.isfile(source): continue
                try: options = {k.strip().lower(): literal(x) for k, x in (cut(y.replace(":=", "="), "=") for y in v[1:])}
                except Exception: continue
                if not options: continue
                yield source, f"read_csv({inside})", translated(options, tmp)


def report(kind, results, data):
    n = collections.Counter(word for word, _, _, _ in results)
    for word, why, source, call in sorted(results, key=lambda x: x[:3]):
        if word not in ("the same", "both refuse"):
            print(f"{kind}: {word}: {call.replace(data + '/', '') if kind == 'given' else source[len(data) + 1:]}: {why.replace(data + '/', '')[:300]}")
    read = sum(n.values()) - n["both refuse"] - n["tra reads it"]
    print(f"{kind}: {len(results)}: " + ", ".join(f"{v} {k}" for k, v in n.most_common()) + f"; {n['the same']} of {read} that DuckDB reads")


def main(data, tests=None, pattern=""):
    data = os.path.abspath(data)
    with tempfile.TemporaryDirectory() as tmp:
        files = sorted(os.path.join(d, f) for d, _, v in os.walk(data) for f in v)
        files = [f for f in files if re.search(pattern, f) and not f.endswith((".test", ".py", ".sql", ".json", ".md", ".sh", ".parquet"))]
        if os.environ.get("KIND", "plain") == "plain":
            report("plain", [(*verdict(f, "read_csv('%s', hive_partitioning=false)" % f.replace("'", "''"), [], tmp), f, "") for f in files], data)
        if not tests: return
        results, without = [], 0
        for source, call, options in calls(tests, data, tmp):
            if not re.search(pattern, call): continue
            if options is None: without += 1
            else: results.append((*verdict(source, call, options, tmp), source, call))
        report("given", results, data)
        print(f"given: {without} calls with options that tra has not")


main(*sys.argv[1:])
