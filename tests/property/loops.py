"""Random programs with loops, against the same program with its loops written out, and the reference evaluator.

loops.py TRA COUNT SEED: prints a line for each program that differs, and ends with 1 if any does. Bodies have statements
of every kind: EinSum, whole tensors, sparse ones, operators on tables, strings, dates and NULLs, windows, joins. Under
several sites, transports and ceilings, as a compiled plan, and killed and resumed, the results of a loop are compared
with those of the program without it, to 1e-9 (whole numbers and strings to the last character).
"""
import random, subprocess, sys, tempfile, time, os
import numpy as np
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from killing import kill_here

tra, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

# What a body may compute: kind of the result, its text. {D} {N} {I} {P} {F} {T} {W} are the states (matrix 6x5, vector 5,
# i64 vector 6, sparse 6x6, f32 vector 4, table of whole numbers, table with strings; {G} bools 6, {Z} table with dates and
# NULLs), {t} is the counter, {x} the name of the result; ";" separates statements.
BODY = {
    "D": ["{x}[i,j] = tanh({D}[i,j] * 0.7 + A[i,j] * {c})", "{x}[i,j] = tanh(sum[k]({D}[i,k] * B[k,j]) / 3)",
          "{x} = tanh({D} + A / ({t} + 1))", "{x}[i,j] = {D}[i,j] - max[k]({D}[i,k]) * 0.5",
          "{x}[i,j] = if(index(i) == {t} % 6, A[i,j], {D}[i,j] * 0.9)", "{x} = slice(stack({D}, A, 0), [{t}:6+{t}, :])",
          "{x}[i,j] = tanh({D}[i,j] + {N}[j])", "{x}[i,j] = {D}[i,j] + sum[k](Q[i,k] * A[k,j]) / 50",
          "{x} = softmax({D})", "{x}[i,j] = {D}[i,j] * {I}[i] % 3", "{x} = reblock({D}, [5, 2])",
          "{x} = filter({D}, (i,j) -> i < 6 + {t})", "{x} = transpose(transpose({D}) * 0.5)",
          "{x}[i,j] as dense = sum[k]({P}[i,k] * {D}[k,j]) / 7", "{x}v[k,j] = sum {D}[i,k] * {D}[i,j]; {x}w = inverse({x}v + identity5);"
          " {x}[i,j] = tanh(sum[k](A[i,k] * {x}w[k,j]))", "{x}g = group({T}, [], s = sum(b % 7), m = count());"
          " {x}m = matrix({x}g, [s, m]); {x}s[] = sum {x}m[r,c]; {x}[i,j] = {D}[i,j] + {x}s % 5",
          "{x}o[i] = argmax {D}[i,j]; {x}[i,j] = {D}[i,j] + ({x}o[i] == index(j))", "{x}[i,j] = {D}[i,j] * {F}[2]"],
    "N": ["{x}[j] = mean {D}[i,j]", "{x}[j] = tanh({N}[j] * 0.5 + {t})", "{x} = {N} / (1 + norm({N}))",
          "{x} = {N} - mean({N})", "{x}[j] = sum[i]({I}[i] * A[i,j]) / (10 + {t})", "{x} = solve(B, {N})",
          "{x}[j] = prod[i](1 + {D}[i,j] / 10)", "{x}v, {x}p = topk({D}, 2); {x}[j] = {N}[j] + max[i,k]({x}v[i,k])"],
    "I": ["{x}[i] = ({I}[i] * 3 + {t}) % 17", "{x}[i] = sum[j](E[i,j] * {I}[j]) % 13", "{x}[i] = {I}[i] + index(i) - {t}",
          "{x}[i] = argmin {D}[i,j]", "{x}[i] = max({I}[i], sum[j](E[j,i])) div 2"],
    "P": ["{x}[i,j] as csr = {P}[i,j] * Q[i,j] + Q[i,j] * 0.1", "{x}[i,j] as csr = sum Q[i,k] * {P}[k,j] / 9",
          "{x}[i,j] as csr = {P}[i,j] / 2", "{x}[i,j] as csr = if({P}[i,j] > 0.05, {P}[i,j], 0)",
          "{x}[i,j] as csr = {P}[j,i] - Q[i,j] / ({t} + 3)", "{x}[i,j] as csr = {P}[i,j] * (index(i) != {t})",
          "{x}r[i] as dense = sum {P}[i,j]; {x}[i,j] as csr = {P}[i,j] / (abs({x}r[i]) + 1)"],
    "G": ["{x}[i] = {G}[i] != ({I}[i] % 2 == {t} % 2)", "{x}[i] = {G}[i] && {D}[i,0] > 0.3 || {I}[i] > 7",
          "{x}[i] = max[j]({D}[i,j]) > 0.5", "{x}[i] = if({G}[i], index(i) < {t}, {I}[i] > 3)", "{x}[i] = max[j](E[i,j] > 0 && {G}[j])"],
    "Z": ["{x} = project({Z}, d = d + days({t} + 1), n, s)", "{x} = project({Z}, d, n = if(isnull(n), n + 1, if(n % 3 == {t}, n + 2, n)), s)",
          "{x} = project({Z}, d, n = if(n > 4, n - 5, n) + {t}, s)", "{x} = order({Z}, [n desc, d, s])", "{x} = select({Z}, isnull(d) || day(d) != {t} + 3)",
          "{x}g = group({Z}, [s], d = max(d), n = max(n)); {x} = project({x}g, d, n, s)", "{x} = distinct({Z}, [d], order = [n, s], keep = first)",
          "{x}w = window({Z}, [s], [d, n], f = lag(d, 1), c = max(n), frame = rows(-1, 0)); {x} = project({x}w, d = ifnull(f, d), n = c, s)",
          "{x} = project({Z}, d = if({t} == 1, d, d + days(2)), n, s = if(isnull(n), \"q\", s))"],
    "F": ["{x}[i] = {F}[i] * 0.5", "{x}[i] = max({F}[i], {F}[0]) * 0.5", "{x} = sqrt(abs({F}))"],
    "T": ["{x} = project(select({T}, a != {t}), a, b = (b * 2 + {t}) % 101)", "{x} = order(project({T}, a, b = b + 1), [b, a])",
          "{x} = limit(order({T}, [a desc, b]), 20)", "{x} = project(join({T}, tab, a == k), a, b = b + v * {t})",
          "{x}w = window({T}, [a % ({t} + 2)], [b, a], r = row_number(), s = sum(b)); {x} = project({x}w, a, b = (b + s * r) % 1009)",
          "{x}w = window({T}, [], [b desc, a], r = lag(b, 1), c = max(a), frame = rows(-2, 0));"
          " {x} = project({x}w, a = c, b = if(isnull(r), b, (r + b) % 997))",
          "{x}w = window({T}, [], [a, b], r = row_number()); {x} = project(select({x}w, r > {t}), a, b)",
          "{x} = limit(project(join({T}, tab, a == k + {t}, how = left), a, b = ifnull(b + v, b)), 13)",
          "{x} = join({T}, tab, a % 12 == k - {t} && v > b % 60, how = {semi})",
          "{x} = limit(project(cross({T}, limit(tab, 2)), a, b = (b + v) % 1013), 13)",
          "{x}g = group({T}, [g = (a + {t}) % 5], c = sum(b), m = max(a)); {x} = project({x}g, a = m, b = c % 10007 + g)",
          "{x} = distinct({T}, [b % ({t} + 3)], order = [a desc, b], keep = first)",
          "{x} = limit(union(select({T}, a % 2 == {t} % 2), project({T}, a = a + 1, b)), 13)",
          "{x} = order({T}, [b % ({t} + 2), a desc, b])", "{x}g = pivot({T}, [g = a % 4], m = b % 3, a, sum, values = [0, 1, 2],"
          " prefix = \"c\"); {x} = project({x}g, a = g + 0, b = ifnull(c0, 0) + ifnull(c1, {t}) - ifnull(c2, 1))",
          "{x} = project(join({T}, tab, asof = {T}.a >= tab.k), a, b = ifnull(v, 0) + b)",
          "{x}e = project(table({I}), v1 = value); {x} = limit(project(join({T}, {x}e, a % 17 == v1, how = left), a, b = b + ifnull(v1, {t})), 13)",
          "{x} = project({T}, a, b = number(a % 3) + b % 50)"],
    "W": ["{x} = project({W}, k, s = if(k % 3 == {t}, \"one\", s))", "{x} = project({W}, k = k + 1, s = if(startswith(s, \"a\"), \"bb\", s))",
          "{x} = select({W}, s != \"cc\" || k > {t})", "{x} = order({W}, [s desc, k])",
          "{x} = limit(project(join({W}, dic, s == name, how = left), k = k + ifnull(q, {t}), s), 9)",
          "{x}w = window({W}, [s], [k], r = row_number(), f = first(s)); {x} = project({x}w, k = k * 2 % 101 + r, s = f)",
          "{x}g = group({W}, [s], m = max(k), c = count()); {x} = project({x}g, k = m + c * {t}, s)",
          "{x} = project({W}, k = k + length(s), s = if(k > 5 + {t}, lower(upper(s)), s))",
          "{x} = join({W}, dic, s == name && q > k % 7 - {t}, how = {semi})", "{x} = distinct({W}, [s], order = [k desc], keep = last)",
          "{x} = limit(union(select({W}, like(s, \"%b\")), {W}), 9)"],
}
SCALARS = ["{x}[] = max abs({D}[i,j])", "{x} = norm({N})", "{x}[] = sum {I}[i]", "{x}[] = sum {P}[i,j]", "{x}[] = min {N}[j]",
           "{x} = rows({Z})", "{x}[] = sum {G}[i]", "{x} = rows({T})", "{x}m = matrix({T}, [a, b]); {x}[] = sum {x}m[r,c]", "{x} = rows({W}) + {t}", "{x}[] = max {F}[i]"]
STATES = {"D": "D = gen(uniform, [6, 5], by = [4, 3], seed = 3)", "N": "N = gen(uniform, [5], by = [2], seed = 4)",
          "I": "I[i] = sum E[i,j]", "P": "P[i,j] as csr = Q[i,j]", "F": "F = gen(uniform, [4], type = f32, seed = 5)",
          "G": "G[i] = E[i,0] > 0", "Z": "Z = project(dates, d, n, s = if(false, \"q\", s))",
          "T": "T = project(tab, a = k, b = v)", "W": "W = project(words, k, s = if(false, \"one\", if(false, \"bb\", s)))"}
HEAD = ['input A from "A.npy"', 'input B from "B.npy"', 'input E from "E.npy"', 'input Q from "Q.mtx"', 'input tab from "tab.csv"',
        'input words from "words.csv"', 'input dates from "dates.csv"', 'input dic from "dic.csv"', "identity5 = gen(identity, [5, 5])"]
FILE = {k: "csv" if k in "TWPZ" else "npy" for k in STATES}


def draw(r):
    """A loop: turns, statements of its body [(kind, template, name)], next values, trace, until, an inner loop."""
    turns, body = r.randint(0, 5) if r.random() < .2 else r.randint(2, 5), []

    def text_of(kind):
        return r.choice(BODY[kind]).replace("{c}", f"{r.random():.2f}").replace("{semi}", r.choice(["semi", "anti"]))
    for i in range(r.randint(1, 5)):
        kind = r.choice("DDNIPFTTTWWGZZ")
        body.append((kind, text_of(kind), f"x{i}"))
    inner = None
    if r.random() < .4:
        kind = r.choice("DDNTWPGZ")
        text = text_of(kind)
        inner = (r.randint(1, 3), kind, text.replace("{t}", r.choice(["{u}", "{u}", "{t}", "({t} + {u})"])))
    trace = r.choice(SCALARS) if r.random() < .7 else None
    until = r.choice(["{s} > 0.9", "{s} < 0.1", "{t} >= 2", "{s} > 8"]) if trace and r.random() < .5 else None
    return turns, body, inner, trace, until


def lines_of(text, **names):
    return text.format(**names).split("; ")


def body_text(loop, state, turn):
    """The statements of one turn, and the next value of each state."""
    _, body, inner, trace, _ = loop
    f, end, lines, new = dict(state, t="t" if turn is None else str(turn)), "" if turn is None else f"_{turn}", [], {}
    for kind, text, x in body:
        lines += lines_of(text, x=x + end, **f)
        new[kind] = x + end
    if inner:
        most, kind, text = inner
        if turn is None:
            lines += [f"state w = {f[kind]}", f"repeat {most} as u {{"]
            lines += ["  " + l for l in lines_of(text, x="wx", u="u", **dict(f, **{kind: "w"}))] + ["  next w = wx", "}"]
            new[kind] = "wz"
            lines.append("wz = w")
        else:
            last = f[kind]
            for u in range(most):
                lines += lines_of(text, x=f"wx{end}_{u}", u=str(u), **dict(f, **{kind: last}))
                last = f"wx{end}_{u}"
            new[kind] = last
    if trace: lines += lines_of(trace, x="s" + end, **f)
    return lines, new


def with_loop(loop):
    turns, _, _, trace, until = loop
    state = {k: k for k in STATES}
    lines, new = body_text(loop, state, None)
    text = HEAD + ["state " + s for s in STATES.values()] + [f"repeat {turns} as t {{"] + ["  " + l for l in lines]
    text += [f"  next {k} = {v}" for k, v in new.items()]
    if trace: text.append("  trace log(s)")
    text.append("} until " + until.format(s="s", t="t") if until else "}")
    return text + [f'output {k} to "L{k}.{FILE[k]}"' for k in STATES] + (['output log to "Llog.csv"'] if trace else [])


def written_out(loop, turns):
    state = {k: k for k in STATES}
    text = HEAD + list(STATES.values())
    for turn in range(turns):
        lines, new = body_text(loop, state, turn)
        text += lines
        state.update(new)
    return text + [f"out_{k} = {v}" for k, v in state.items()] + [f'output out_{k} to "U{k}.{FILE[k]}"' for k in STATES] + [
        f'output s_{i} to "Us_{i}.csv"' for i in range(turns) if loop[3]]


def run(text, *how):
    open("p.tra", "w").write("\n".join(text) + "\n")
    return subprocess.run([tra, "run", "-q", *how, "p.tra"], capture_output=True, text=True)


def compiled(text, how):
    """As a plan file, which another command runs."""
    open("p.tra", "w").write("\n".join(text) + "\n")
    made = subprocess.run([tra, "compile", "-q", *how, "p.tra", "-o", "p.plan"], capture_output=True, text=True)
    return made if made.returncode else subprocess.run([tra, "run", "-q", "p.plan"], capture_output=True, text=True)


def killed(text, seconds, first, *then):
    """Killed at some moment, if it has not ended before, and resumed on as many or other sites."""
    open("p.tra", "w").write("\n".join(text) + "\n")
    p = subprocess.Popen([tra, "run", "-q", "--checkpoint", "0", "--sites", first, "p.tra"], stderr=subprocess.PIPE, text=True)
    try:
        p.wait(r.uniform(0, 1.5 * seconds))
    except subprocess.TimeoutExpired:
        kill_here(os.getcwd())
    p.communicate()
    return run(text, "--resume", "--checkpoint", "0", "--sites", *then)


def read(file):
    if file.endswith(".npy"): return np.load(file) * 1
    rows = [l.split(",") for l in open(file).read().splitlines() if l.strip()]
    try:
        return np.array([[float(c) for c in r] for r in rows])
    except ValueError:  # a table, with its names
        try:
            return np.array([[float(c or "nan") for c in r] for r in rows[1:]]).reshape(len(rows) - 1, len(rows[0]))
        except ValueError:
            return rows


def same_values(x, y, kind):
    if isinstance(x, list) or isinstance(y, list): return x == y
    return x.shape == y.shape and np.allclose(x, y, 1e-5 if kind == "F" else 1e-9, 1e-6 if kind == "F" else 1e-12, True)


r, bad, done, refused = random.Random(seed), 0, 0, 0
os.chdir(os.path.realpath(tempfile.mkdtemp(dir=os.environ.get("BATS_TEST_TMPDIR"))))
g = np.random.default_rng(seed)
np.save("A.npy", g.normal(size=(6, 5))), np.save("B.npy", g.normal(size=(5, 5))), np.save("E.npy", g.integers(-3, 4, (6, 6)))
open("Q.mtx", "w").write("%%MatrixMarket matrix coordinate real general\n6 6 9\n" + "".join(
    f"{p // 6 + 1} {p % 6 + 1} {v:.3f}\n" for p, v in zip(sorted(g.permutation(36)[:9]), g.normal(size=9))))
big = 2**40  # so that the columns are i64
open("tab.csv", "w").write("k,v\n" + "".join(f"{a},{b}\n" for a, b in enumerate(g.integers(0, 60, 12))) + f"{big},{big}\n")
open("words.csv", "w").write("k,s\n" + "".join(f"{a},{b}\n" for a, b in zip(g.integers(0, 9, 8), g.choice(["a", "ab", "bb", "cc"], 8))) + f"{big},a\n")
open("dates.csv", "w").write("d,n,s\n" + "".join(f"2020-02-{a:02d},{b},{c}\n" for a, b, c in zip(
    g.integers(20, 29, 7), g.integers(0, 9, 7), g.choice(["a", "b", ""], 7))) + f",3,a\n2020-02-28,,b\n2020-03-01,{big},\n")
open("dic.csv", "w").write(f"name,q\na,1\nab,5\ncc,{big}\nzz,4\n")
while done < count:
    loop = draw(r)
    text = with_loop(loop)
    at = time.time()
    first = run(text)
    took = time.time() - at
    done += 1
    if first.returncode:
        refused += 1
        if first.returncode != 2 or "gives a bound" not in first.stderr:
            print(f"it ends with {first.returncode}:\n" + "\n".join(text) + "\n" + first.stderr); bad += 1
        continue
    log = read("Llog.csv") if loop[3] else None
    turns = len(log) if loop[3] and loop[0] else loop[0]
    want = {k: read(f"L{k}.{FILE[k]}") for k in STATES}
    second = run(written_out(loop, turns))
    if second.returncode:
        print("written out it fails:\n" + "\n".join(written_out(loop, turns)) + "\n" + second.stderr)
        bad += 1
        continue
    differs = [k for k in STATES if not same_values(want[k], read(f"U{k}.{FILE[k]}"), k)]
    if loop[3]: differs += [f"s_{i}" for i in range(turns) if not np.allclose(read(f"Us_{i}.csv").ravel(), log[i][1], 1e-6, 1e-9, True)]
    ways = [("--engine", "reference"), ("--sites", "2"), ("--sites", "3"), ("--sites", "5", "--threads", "1"),
            ("--memory", "56M", "--sites", "2"), ("--codegen", "off", "--threads", "1"), ("--sites", "3", "--reproducible"),
            ("--sites", "2", "--transport", "files"), ("--sites", "3", "--transport", "files", "--memory", "56M"),
            ("--sites", "3", "--checkpoint", "0"), "compiled 1", "compiled 3", "killed 1 1", "killed 3 3", "killed 2 1"]
    for how in r.sample(ways, 2):
        if differs: break
        other = (compiled(text, ("--sites", how.split()[1])) if how[0] == "c" else
                 killed(text, took, *how.split()[1:]) if how[0] == "k" else run(text, *how))
        differs = [k for k in STATES if other.returncode or not same_values(read(f"L{k}.{FILE[k]}"), want[k], k)]
        if loop[3] and not differs and not np.allclose(read("Llog.csv"), log, 1e-6, 1e-9, True): differs = ["log"]
        if differs:  # a run that a signal ended says nothing itself
            print(how, "status", other.returncode, other.stderr)
            print(*(f"{k}: {read(f'L{k}.{FILE[k]}')} where {want[k]} were" for k in differs[:2] if k in FILE), sep="\n")
    if differs:
        print("differs in", *differs, ":\n" + "\n".join(text) + "\nwritten out:\n" + "\n".join(written_out(loop, turns)))
        bad += 1
print(f"{done} programs with loops, {refused} refused, {bad} wrong")
sys.exit(bad > 0)
