"""What the benchmarks of tables share (h2o, tpch): tra and DuckDB run the same query in turn, each as a new process on its
own file, and their answers are compared. Inside: tra's clock from planning to the durable output; DuckDB's `create table
as` and its checkpoint. Whole: processes."""
import json, os, statistics, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
TRA = os.path.abspath(os.environ.get("TRA", os.path.join(HERE, "../../build/tra")))
DIR = os.environ.get("TRA_BENCH_DIR", "/tmp/tra-bench")
REPEATS = int(os.environ.get("TRA_BENCH_REPEATS", "5"))
MEMORY = os.environ.get("TRA_BENCH_MEMORY")


def duck(base, *sql):
    """Seconds of the process, and what duckdb_each.mjs prints. base: the database, in DIR."""
    t = time.perf_counter()
    p = subprocess.run(["node", os.path.join(HERE, "duckdb_each.mjs"), base, "2", MEMORY + "B" if MEMORY else "8GB", *sql],
                       cwd=DIR, capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"DuckDB: {sql}: {p.stderr}")
    return time.perf_counter() - t, json.loads(p.stdout)


def tra(*words):
    t = time.perf_counter()
    p = subprocess.run([TRA, *words], cwd=DIR, capture_output=True, text=True)
    return time.perf_counter() - t, p


def make(base, tables, suffix):
    """Makes each table by its statement, in DuckDB and, through a CSV file, as NAMEsuffix.h5, unless that is there."""
    os.makedirs(DIR, exist_ok=True)
    for name, sql in tables.items():
        h5, csv = suffix.format(name) + ".h5", suffix.format(name) + ".csv"
        if os.path.exists(os.path.join(DIR, h5)):
            continue
        duck(base, f"create or replace table {name} as {sql}", "checkpoint", f"copy {name} to '{csv}' (header)")
        seconds, p = tra("import", "-q", csv, "-o", h5)
        if p.returncode:
            sys.exit(p.stderr)
        print(f"{name}: imported in {seconds:.2f} s", flush=True)
        os.unlink(os.path.join(DIR, csv))


def inside(stderr):
    """Seconds and memory of the last line that tra run prints."""
    line = [l for l in stderr.splitlines() if "of memory at most" in l][-1]
    return float(line.split("tra: ")[1].split(" s;")[0]), " ".join(line.split(" of memory")[0].split()[-2:])


def compare(base, names, query, suffix, differs):
    """Prints a row for each query. query(name): the program, whose result is O, SQL, and the tables. differs(name): what is
    wrong with the answers, which are in beside_o.h5 and the table o; "" if nothing is."""
    print("| query | tra inside | DuckDB inside | ratio | tra whole | DuckDB whole | ratio | memory |\n|---|---|---|---|---|---|---|---|")
    total = [0, 0]
    for name in names:
        text, sql, tables = query(name)
        with open(os.path.join(DIR, "beside.tra"), "w") as f:
            f.write("".join(f'input {t} from "{suffix.format(t)}.h5"\n' for t in tables) + text + '\noutput O to "beside_o.h5"\n')
        seconds, memory = [], ""
        for _ in range(REPEATS + 1):  # the first one is left out
            whole, p = tra("run", "--no-history", *(["--memory", MEMORY] if MEMORY else []), "beside.tra")
            if p.returncode:
                break
            own, memory = inside(p.stderr)
            theirs, d = duck(base, f"create or replace table o as {sql}", "checkpoint")
            seconds.append((own, sum(d["seconds"]), whole, theirs))
        if p.returncode:
            print(f"| {name} | status {p.returncode}: {p.stderr.splitlines()[0][:160]} |", flush=True)
            continue
        a, b, c, d = (statistics.median(x) for x in zip(*seconds[1:]))
        total[0] += a
        total[1] += b
        wrong = differs(name)
        print(f"| {name} | {a:.3f} | {b:.3f} | {a / b:.2f} | {c:.3f} | {d:.3f} | {c / d:.2f} | {memory} |"
              + (f" DIFFERS: {wrong[:300]}" if wrong else ""), flush=True)
    if total[1]:
        print(f"| sum | {total[0]:.3f} | {total[1]:.3f} | {total[0] / total[1]:.2f} | | | | |")
    duck(base, "drop table if exists o", "checkpoint")
