#!/usr/bin/python3
"""Random programs are run with exactly the memory, sites and threads of each point of tra explain --request.

usage: tests/property/request.py PROGRAMS SEED [SITES]     (TRA: the program)

Each run must end with 0 and hold no more than was asked. Programs read CSV and HDF5 tables, dense and sparse tensors, make
strings, group, join, sort, number and window, loop, multiply, decompose, and write HDF5, CSV and npy."""
import json, os, random, subprocess, sys, tempfile

TRA = os.path.abspath(os.environ.get("TRA", os.path.join(os.path.dirname(__file__), "../../build/tra")))


def run(*args, **kw): return subprocess.run([TRA, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL, **kw)


def tables(r, n):
    """A CSV file t and a table u of HDF5; ids of u are a part of those of t."""
    with open("t.csv", "w") as f:
        f.write("id,g,name,v,w\n")
        names = r.choice([10, n // 50 + 1, n])
        for i in range(n):
            f.write(f"{i},{r.randrange(50)},{'' if r.random() < .02 else 'n' * r.randrange(1, 9)}{r.randrange(names)},{r.random():.4f},{r.randrange(1000)}\n")
    with open("u.csv", "w") as f:
        f.write("id,name,x\n")
        for i in range(n // 3): f.write(f"{3 * i},m{r.randrange(n)},{r.random():.5f}\n")
    for name in "tu": subprocess.run([TRA, "import", "-q", name + ".csv", "--block", str(r.choice([n, n // 7 + 1])), "-o", name + ".h5"], check=True)


def table_program(r):
    text = [f'input t from "t.{r.choice(["csv", "h5"])}"', f'input u from "u.{r.choice(["csv", "h5"])}"']
    at, columns, strings = "t", {"id", "g", "name", "v", "w"}, {"name"}
    for k in range(r.randrange(1, 5)):
        to, numbers = f"s{k}", sorted(columns - strings)
        what = r.choice("made made made split group group_strings join order window distinct select string_agg".split())
        num = r.choice(numbers)
        if what == "made":
            a = r.choice(sorted(columns))
            b = r.choice(numbers)
            call = r.choice([f'concat(string({a}), "-", string({b}))', f"string({a})", f'concat("k", string({b}))'])
            text.append(f"{to} = project({at}, *, m{k} = {call})")
            columns.add(f"m{k}"), strings.add(f"m{k}")
        elif what == "split" and strings:
            a = r.choice(sorted(strings))
            text.append(f"{to} = project({at}, *, m{k} = upper(concat({a}, \"_\", {a})))")
            columns.add(f"m{k}"), strings.add(f"m{k}")
        elif what in ("group", "group_strings"):
            key = r.choice(sorted(strings) if what == "group_strings" and strings else numbers)
            text.append(f"{to} = group({at}, [{key}], a{k} = sum({num}), b{k} = max({num}), n{k} = count())")
            columns, strings = {key, f"a{k}", f"b{k}", f"n{k}"}, strings & {key}
        elif what == "string_agg" and strings:
            a = r.choice(sorted(strings))
            key = r.choice([c for c in numbers] or ["id"])
            text.append(f'{to} = group({at}, [{key}], a{k} = string_agg({a}, ","), n{k} = count())')
            columns, strings = {key, f"a{k}", f"n{k}"}, {f"a{k}"}
        elif what == "join" and "id" in columns:
            text.append(f"u{k} = project(u, uid{k} = id, x{k} = x, q{k} = name)\n{to} = join({at}, u{k}, id == uid{k}, how = \"{r.choice(['inner', 'left'])}\")")
            columns |= {f"x{k}", f"q{k}"}
            strings |= {f"q{k}"}
        elif what == "order":
            text.append(f"{to} = order({at}, [{r.choice(sorted(columns))}{r.choice(['', ' desc'])}, {num}])")
        elif what == "window":
            text.append(f"{to} = window({at}, [{r.choice(sorted(columns))}], [{num}], r{k} = row_number(), c{k} = sum({num}))")
            columns |= {f"r{k}", f"c{k}"}
        elif what == "distinct":
            two = r.sample(sorted(columns), min(2, len(columns)))
            text.append(f"{to} = distinct(project({at}, {', '.join(two)}))")
            columns, strings = set(two), strings & set(two)
        else:
            text.append(f"{to} = select({at}, {num} > 3)")
        at = to
    more = []
    if r.random() < .3: more = [f"e = group({at}, [], n = count())", f'output e to "e.csv"']
    return text + [f'output {at} to "o.{r.choice(["h5", "csv"])}"'] + more


def tensors(r):
    for name, more in {"A": "", "B": "", "S": "--density 0.01", "T": "--density 0.003"}.items():
        block = r.choice([50, 100, 150, 300])
        subprocess.run([TRA, "gen", "-q", "--shape", "600x600", "--block", f"{block}x{block}", "--seed", "1", *more.split(), "-o", name + ".h5"], check=True)


def tensor_program(r):
    text = [f'input {x} from "{x}.h5"' for x in "ABST"]
    at = r.choice("ABST")
    for k in range(r.randrange(1, 5)):
        other, to = r.choice("ABST"), f"p{k}"
        text.append(r.choice([
            f"{to}[i,k] = sum {at}[i,j] * {other}[j,k]", f"{to}[i,j] = {at}[i,j] + {other}[j,i]",
            f"{to}[i,j] = {at}[i,j] * (sum[k](A[i,k] * {other}[k,j]))", f"{to}[i,j] = exp(A[i,j] - {at}[j,i])",
            f"m{k}[j] = max {at}[i,j]\n{to}[i,j] = {at}[i,j] / (1 + abs(m{k}[j]))",
            f"{to}[i,j] = min[k]({at}[i,k] + {other}[k,j])",
            f"state z{k}[i] = sum[j](A[i,j])\nrepeat {r.randrange(2, 6)} {{\nf{k}[i] = sum[j]({at}[i,j] * z{k}[j])\nnext z{k}[i] = f{k}[i] / 600\n}}\n"
            f"{to}[i,j] = {at}[i,j] * z{k}[i]",
            f"g{k}[i,j] = {at}[i,j] + if(index(i) == index(j), 900, 0)\nb{k}[i] = sum[j](A[i,j])\ny{k} = solve(g{k}, b{k})\n{to}[i,j] = {at}[i,j] * y{k}[j]"]))
        at = to
    more = [f"w[i] = sum[j]({at}[i,j])", f'output w to "w.{r.choice(["npy", "csv", "h5"])}"'] if r.random() < .5 else []
    return text + [f'output {at} to "o.{r.choice(["h5", "h5", "npy", "csv"])}"'] + more


def judge(r, sites, name):
    """Runs each point. What was wrong, as text."""
    p = run("explain", "--request", "--sites", sites, "--format", "json", name)
    if p.returncode:
        return f"request: {p.returncode} {p.stderr.strip()[:300]}\n" if p.returncode not in (2, 3) else None
    points = {(x["sites"], x["threads"], x["memory_bytes"]) for x in json.loads(p.stdout)["points"]}
    wrong = ""
    for s, t, memory in sorted(points):
        more = r.choice([[], ["--report", "r.html", "--metrics", "m.prom"], ["--transport", "files"]])
        q = run("run", "-q", "--no-history", "--scratch", "scratch", "--profile", "run.json", "--sites", s, "--threads", t, "--memory", memory, *more, name)
        if q.returncode in (2, 3): return None  # the program was wrong
        if q.returncode:
            wrong += f"{s} sites, {t} threads, {memory / 2**20:.1f}M: {q.returncode} {q.stderr.strip()[-300:]}\n"
            continue
        peak = max(x["peak_memory_bytes"] for x in json.load(open("run.json"))["plans"][0]["measured"]["sites"])
        if peak > memory: wrong += f"{s} sites, {t} threads, {memory / 2**20:.1f}M: held {peak / 2**20:.1f}M\n"
    return wrong


def main():
    n, seed, sites = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3
    rows = int(os.environ.get("TRA_REQUEST_ROWS", 100000))
    r, bad, ran = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="request-") as d:
        os.chdir(d)
        os.environ["TRA_CACHE"] = d + "/cache"
        tables(r, rows), tensors(r)
        for i in range(n):
            subprocess.run("rm -rf scratch cache o.* e.* w.*", shell=True)
            text = "\n".join((table_program if r.random() < .65 else tensor_program)(r)) + "\n"
            open("p.tra", "w").write(text)
            wrong = judge(r, sites, "p.tra")
            ran += wrong is not None
            if wrong:
                bad += 1
                print(f"--- program {i} of seed {seed}\n{text}{wrong}", flush=True)
        print(f"{n} programs, {ran} ran at each point, {bad} wrong")
    return bad > 0 or ran < n // 2


if __name__ == "__main__": sys.exit(main())
