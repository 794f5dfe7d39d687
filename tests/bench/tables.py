"""Operators on tables compared with DuckDB and pandas, after figure 7 of TensorTable (Wen 2024): select, project, join,
group and aggregate trips between 600 stations, 1e3 to 1e7 rows. The case `tables` of tests/bench/run, which passes
itself (as a module) as `b`.

tra and DuckDB are new processes each time, each on its own file, on two threads, in turn; the result goes to a file,
which DuckDB checkpoints. The seconds without start-up, taken inside the process, are printed, too. pandas has tables and
results in memory. DuckDB comes from npm (DUCKDB_DIR: the folder where @duckdb/node-api was installed, default
/tmp/duck); what is not installed is left out. TRA_BENCH_ROWS=1e3,1e4: other sizes."""
import json, os, statistics, subprocess, sys, time

SIZES = [int(float(x)) for x in os.environ.get("TRA_BENCH_ROWS", "1e3,1e4,1e5,1e6,1e7").split(",")]
DUCK = os.environ.get("DUCKDB_DIR", "/tmp/duck")
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "duckdb_each.mjs")
# name: statement, SQL, pandas
OPERATORS = {
    "select": ("select(trip, start != end)", 'select * from trip where start <> "end"', "t[t.start != t.end]"),
    "project": ("project(trip, start, duration)", "select start, duration from trip", "t[['start', 'duration']].copy()"),
    "join": ('join(trip, station, start == code, expect = "m:1")',
             'select t.*, s.lat, s.lon from trip t join station s on t.start = s.code',
             "t.merge(s, left_on='start', right_on='code', validate='m:1').drop(columns='code')"),
    "group": ("group(trip, [start], n = count(), m = mean(duration))",
              "select start, count(*) n, avg(duration) m from trip group by start",
              "t.groupby('start').duration.agg(['size', 'mean'])"),
    "aggregate": ("group(trip, [], n = count(), s = sum(duration), a = min(duration), b = max(duration), m = mean(duration))",
                  "select count(*) n, sum(duration) s, min(duration) a, max(duration) b, avg(duration) m from trip",
                  "t.duration.agg(['count', 'sum', 'min', 'max', 'mean'])")}
PANDAS = """import json, sys, time
try: import pandas as pd
except ImportError: sys.exit(77)
t, s = pd.read_csv(sys.argv[1]), pd.read_csv('stations.csv')
seconds = []
for _ in range(int(sys.argv[2])):
    seconds.append([])
    for text in sys.argv[3:]:
        begin = time.perf_counter()
        r = eval(text)
        seconds[-1].append(time.perf_counter() - begin)
print(json.dumps(seconds))"""


def frame(path, columns, rows=1 << 18):
    """Writes a table as AnnData does, which tra reads in place. rows: in a chunk."""
    import h5py
    with h5py.File(path, "w") as f:
        g = f.create_group("data")
        g.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": list(columns)[0], "column-order": list(columns)})
        for name, values in columns.items():
            d = g.create_dataset(name, data=values, chunks=(min(len(values), rows),))
            d.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def make(b):
    """Writes trips_N.csv and stations.csv."""
    import numpy as np
    made = {"stations": lambda r: {"code": np.arange(600), "lat": 45 + r.random(600), "lon": -73 + r.random(600)}}
    for n in SIZES:
        made[f"trips_{n}"] = lambda r, n=n: {"start": r.integers(0, 600, n), "end": r.integers(0, 600, n), "duration": r.integers(60, 7200, n)}
    for name, columns in made.items():
        path = os.path.join(b.DIR, name)
        if os.path.exists(path + ".csv"): continue
        frame(path + "_frame.h5", columns(np.random.default_rng(len(name))))
        b.sh(b.TRA, "export", "-q", name + "_frame.h5", "-o", name + ".csv")
        os.remove(path + "_frame.h5")


def duck(b, file, *sql):
    """Runs statements. Returns the seconds of the process, those of each statement, and the rows of the last."""
    t = time.perf_counter()
    p = subprocess.run(["node", SCRIPT, file, "2", "8GB", *sql], cwd=b.DIR, capture_output=True, text=True, env={**os.environ, "DUCKDB_DIR": DUCK})
    if p.returncode: sys.exit(f"duckdb {sql}: {p.stderr}")
    out = json.loads(p.stdout)
    return time.perf_counter() - t, out["seconds"], out["rows"]


def has_duck(b):
    if not os.path.isdir(os.path.join(DUCK, "node_modules", "@duckdb")): return f"no @duckdb/node-api in {DUCK}: npm install it there, or set DUCKDB_DIR"
    try: p = subprocess.run(["node", SCRIPT, ":memory:", "2", "1GB", "select version()"], capture_output=True, text=True, env={**os.environ, "DUCKDB_DIR": DUCK})
    except FileNotFoundError: return "node is not installed"
    return None if p.returncode == 0 else p.stderr.strip().splitlines()[-1]


def imported(b, n, with_duck):
    """Seconds in which tra and DuckDB import the CSV files: medians of three."""
    own, theirs = [], []
    db = os.path.join(b.DIR, f"trips_{n}.duckdb")
    for _ in range(3 if n > 100000 else b.REPEATS):
        for name in (f"trips_{n}", "stations"):
            seconds = b.sh(b.TRA, "import", "-q", "--table", name + ".csv", "-o", name + "_table.h5")[0]
            if name != "stations": own.append(seconds)
        if not with_duck: continue
        for end in ("", ".wal"):
            if os.path.exists(db + end): os.remove(db + end)
        theirs.append(duck(b, db, f"create table trip as from read_csv('trips_{n}.csv')", "create table station as from read_csv('stations.csv')", "checkpoint")[0])
    return statistics.median(own), statistics.median(theirs) if theirs else None


def measured(b, n, name, with_duck):
    text, sql, _ = OPERATORS[name]
    own, theirs, file = [], [], f"trips_{n}_out.h5"
    with open(os.path.join(b.DIR, "tables.tra"), "w") as f:
        f.write(f'input trip from "trips_{n}_table.h5"\n' + ('input station from "stations_table.h5"\n' if name == "join" else "") + f'R = {text}\noutput R to "{file}"\n')
    for _ in range(b.REPEATS):
        if os.path.exists(os.path.join(b.DIR, file)): os.remove(os.path.join(b.DIR, file))
        seconds, p = b.sh(b.TRA, "run", "tables.tra", "--threads", "2", "--memory", "8G", "--codegen", "auto")
        own.append((seconds, b.inside(p)[0]))
        if with_duck:
            whole, each, rows = duck(b, os.path.join(b.DIR, f"trips_{n}.duckdb"), "drop table if exists r", "checkpoint", f"create table r as {sql}", "checkpoint", "select count(*) from r")
            theirs.append((whole, each[2] + each[3]))
    if with_duck:
        info = json.loads(b.sh(b.TRA, "info", "--format", "json", file)[1].stdout)["relations"][0]
        if str(info["rows"]) != rows[0][0]: sys.exit(f"{name} of {n} rows: tra has {info['rows']}, DuckDB {rows[0][0]}")
    middle = lambda v, i: statistics.median(x[i] for x in v) if v else None
    return middle(own, 0), middle(own, 1), middle(theirs, 0), middle(theirs, 1)


def of_pandas(b, n):
    p = subprocess.run(["/usr/bin/python3", "-c", PANDAS, f"trips_{n}.csv", str(b.REPEATS), *[x[2] for x in OPERATORS.values()]], cwd=b.DIR, capture_output=True, text=True)
    if p.returncode == 77: return None
    if p.returncode: sys.exit(f"pandas: {p.stderr}")
    return dict(zip(OPERATORS, (statistics.median(v) for v in zip(*json.loads(p.stdout)))))


def tables(b):
    why = has_duck(b)
    cell = lambda x: "-" if x is None else f"{x:.3f}"
    ratio = lambda x, y: "-" if y is None else f"{x / y:.2f}"
    make(b)
    print("\n### Tables: select, project, join, group, aggregate trips (figure 7 of TensorTable), seconds, 2 threads, medians\n")
    if why: print(f"DuckDB is left out: {why}.\n")
    print("| operator | rows | tra | DuckDB | ratio | tra inside | DuckDB inside | ratio | pandas, in memory |\n|---|---|---|---|---|---|---|---|---|")
    for n in SIZES:
        own, theirs = imported(b, n, not why)
        print(f"| import of CSV | {n:.0e} | {cell(own)} | {cell(theirs)} | {ratio(own, theirs)} | | | | |", flush=True)
        pandas = of_pandas(b, n)
        for name in OPERATORS:
            a, inside, d, dinside = measured(b, n, name, not why)
            print(f"| {name} | {n:.0e} | {cell(a)} | {cell(d)} | {ratio(a, d)} | {cell(inside)} | {cell(dinside)} | {ratio(inside, dinside)} | "
                  f"{cell(pandas and pandas[name]) if pandas else 'not installed'} |", flush=True)
