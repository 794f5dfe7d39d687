"""What `tra explain` says would change a plan, for random programs with random options: each hint is done as it says,
and the program is planned again; its seconds and the bytes that it reads must be those of the hint. Some are of tables
whose keys are skewed, from CSV files and files that were imported from these.

    hints.py TRA COUNT SEED
"""
import json, os, random, re, subprocess, sys

TRA, COUNT, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SECONDS, SIZE = r"([\d.e+-]+) (us|ms|s|min|h)\b", r"([\d.]+) (B|KiB|MiB|GiB|TiB)"


def explain(program, options, form):
    r = subprocess.run([TRA, "explain", *options, "--format", form, "-"], input=program, text=True, capture_output=True)
    assert r.returncode == 0, (program, options, r.stderr)
    return r.stdout


def plan(program, options):
    return json.loads(explain(program, options, "json"))["plans"][0]


def program(r):
    """Declared tensors, of which nothing is read; a statement of each of several kinds."""
    n, m, k = (r.choice([2000, 8000, 30000, 100000]) for _ in range(3))
    k = min(k, 20000)
    by = lambda e: r.choice([b for b in (100, 500, 1000, 4000, 50000) if b <= e])
    lines = [f"input A : f64 [{n}, {k}] by [{by(n)}, {by(k)}]", f"input B : f64 [{k}, {m}] by [{by(k)}, {by(m)}]",
             f"input y : f64 [{n}] by [{by(n)}]", f"input s : f64 [{k}] by [{by(k)}]"]
    lines += r.choice([["C[i,j] = sum A[i,l] * B[l,j]", "output C"],
                       ["G[i,j] = sum A[n,i] * A[n,j]", "b[i] = sum A[n,i] * y[n]", "output G", "output b"],
                       ["Z[i] = max[j](A[i,j] * y[i])", "output Z"],
                       ["Z[j] = sum[i](A[i,j] / s[j])", "output Z"],
                       ["D[i,j] = A[i,j] * s[j] + y[i]", "m[j] = mean[i](D[i,j])", "output D", "output m"]])
    return "\n".join(lines) + "\n"


def tables(r):
    """Two tables whose keys are skewed, one key having most rows, as CSV and imported, and a program over some."""
    for name, rows, more in (("t", 120000, ",a,note"), ("u", 40000, ",w")):
        with open(f"{name}.csv", "w") as f:
            f.write("k,v" + more + "\n")
            for i in range(rows):
                key = 0 if r.random() < .8 else int(r.paretovariate(1)) % 5000
                f.write(f"{key},{i / 2}" + (f",{i},text that is long {i}" if name == "t" else f",{i % 9}") + "\n")
        subprocess.run([TRA, "import", "-q", "--table", "--block", "10000", f"{name}.csv", "-o", f"{name}.h5"], check=True)
    at = lambda n: f'input {n} from "{n}.{r.choice(["csv", "h5", "h5"])}"'
    lines = [at("t"), at("u")]
    lines += r.choice([["O = group(t, [k], s = sum(v), n = count())"], ["O = group(t, [a], s = sum(v), m = median(k))"],
                       ["O = window(project(t, k, v), [k], [v], n = row_number())"], ["O = order(t, [k, v])"],
                       ["g = group(u, [k], s = sum(v))", "O = join(t, project(g, l = k, s), k == l)"],
                       ["O = join(t, project(u, l = k, w), v == l)"]])
    used = [l for l in lines if l[:6] != "input "]
    return "\n".join([l for l in lines[:2] if any(f"({l[6]}," in x or f" project({l[6]}," in x for x in used)] + used + ['output O to "o.h5"']) + "\n"


def options(r):
    sites = r.choice([1, 1, 1, 2, 3, 5])
    o = ["--sites", str(sites), "--threads", r.choice(["1", "2", "4"]),
         "--memory", r.choice(["64M", "200M", "1G", "8G", "64G"])]
    if r.random() < 0.2: o.append("--reproducible")
    if r.random() < 0.2: o += ["--optimizer", r.choice(["sqrt", "data", "eindecomp"])]
    if r.random() < 0.2: o += ["--without", "Q-10"]
    return o


def without(o, name, values=1):
    if name not in o: return list(o)
    at = o.index(name)
    return o[:at] + o[at + 1 + values:]


def follow(hint, text, o):
    """The program and the options that the hint asks for; None: it asks for neither."""
    if m := re.match(r"--memory (\d+M) would", hint): return text, without(o, "--memory") + ["--memory", m[1]]
    if m := re.match(r"--threads (\d+) would", hint): return text, without(o, "--threads") + ["--threads", m[1]]
    if hint.startswith("without --reproducible it"): return text, without(o, "--reproducible", 0)
    if hint.startswith("without --without it"): return text, without(o, "--without")
    if hint.startswith("--cost time --optimizer search"): return text, without(o, "--optimizer")
    if m := re.match(r"(\w+) in blocks of ([\dx]+) ", hint):
        block = m[2].replace("x", ", ")
        return re.sub(rf"(input {m[1]} : .*? by )\[.*?\]", rf"\g<1>[{block}]", text), o
    if m := re.match(r"(\w+) as f32, which keeps 7 digits of 16 ", hint): return text.replace(f"input {m[1]} : f64", f"input {m[1]} : f32"), o
    if m := re.match(r"line (\d+): the \w+ (.+?) does not depend on \w+: (.*?)(, which is the same .*?,)? would take", hint):
        lines = text.split("\n")
        at = int(m[1]) - 1
        lines[at] = lines[at].split("=")[0] + "= " + m[3]
        return "\n".join(lines), o
    if m := re.match(rf"nothing uses the columns? \S+ of (\w), .*tra import --columns (\S+) would make the file (at least )?{SIZE} smaller", hint):
        subprocess.run([TRA, "import", "-q", "--table", "--block", "10000", "--columns", m[2], f"{m[1]}.csv", "-o", f"few_{m[1]}.h5"], check=True)
        less = os.path.getsize(f"{m[1]}.h5") - os.path.getsize(f"few_{m[1]}.h5")
        told = float(m[4]) * BYTES[m[5]]  # a file grows by pages of half a mebibyte
        assert told <= 1.1 * less and (m[3] or told >= .8 * less - 2**20), (hint, less)
        return text.replace(f'"{m[1]}.h5"', f'"few_{m[1]}.h5"'), o
    if m := re.match(r"tra import --table --columns (\S+), once, would spare each run the .* in which (\w).csv is conv", hint):
        subprocess.run([TRA, "import", "-q", "--table", "--columns", m[1], f"{m[2]}.csv", "-o", f"once_{m[2]}.h5"], check=True)
        again = text.replace(f'"{m[2]}.csv"', f'"once_{m[2]}.h5"')
        assert f"{m[2]}.csv" not in explain(again, o, "text"), hint
        return again, o
    raise AssertionError(f"nobody knows how to follow: {hint}")


def near(value, unit, of, figure, what):
    v = float(value) * of[unit]
    assert abs(v - figure) <= 0.006 * max(v, figure) + (0.06 * of[unit] if of is BYTES else 0), (what, v, figure)


seen = {}
for number in range(COUNT):
    r = random.Random(SEED * 1000003 + number)
    text, o = tables(r) if number % 4 == 3 else program(r), options(r)
    out = explain(text, o, "text")
    if "What would change this:" not in out: continue
    hints = re.sub(r"\n    ", " ", out.split("What would change this:\n")[1]).strip("\n").split("\n")
    now = plan(text, o)
    for hint in (h.strip() for h in hints if h.startswith("  ")):
        what = (hint, text, o)
        if hint.startswith("more rows than are expected would make the run begin again"): continue  # nobody can follow it
        then = plan(*follow(hint, text, o))
        if m := re.search(SECONDS + " instead of " + SECONDS, hint):
            near(m[1], m[2], UNIT, then["seconds"], what)
            near(m[3], m[4], UNIT, now["seconds"], what)
            assert then["seconds"] < now["seconds"], what
        if m := re.search(SIZE + " instead of " + SIZE, hint):
            scratch = "of scratch instead" in hint and "read" not in hint
            if not scratch:
                near(m[1], m[2], BYTES, then["disk_read_bytes"], what)
                near(m[3], m[4], BYTES, now["disk_read_bytes"], what)
        kind = re.sub(r"\b\w+ in |line \d+: |[\d.]+\S*", "", hint)[:24]
        seen[kind] = seen.get(kind, 0) + 1
print(json.dumps(seen))
