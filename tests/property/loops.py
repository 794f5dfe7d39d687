"""Random programs with loops, against the same program with its loops written out, and the reference evaluator.

loops.py TRA COUNT SEED: prints a line for each program that differs, and ends with 1 if any does. Under several sites and
ceilings the results of a loop are compared with those of the program without it, to 1e-9 (integers and tables of them
to the last digit).
"""
import random, subprocess, sys, tempfile, os
import numpy as np

tra, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

# What a body may compute: kind of the result, its text. {D} {N} {I} {P} {T} are the states (matrix 6x5, vector 5, i64
# vector 6, sparse 6x6, table), {t} is the counter, {x} the name of the result.
BODY = {
    "D": ["{x}[i,j] = tanh({D}[i,j] * 0.7 + A[i,j] * {c})", "{x}[i,j] = tanh(sum[k]({D}[i,k] * B[k,j]) / 3)",
          "{x} = tanh({D} + A / ({t} + 1))", "{x}[i,j] = {D}[i,j] - max[k]({D}[i,k]) * 0.5",
          "{x}[i,j] = if(index(i) == {t} % 6, A[i,j], {D}[i,j] * 0.9)", "{x} = slice(stack({D}, A, 0), [{t}:6+{t}, :])",
          "{x}[i,j] = tanh({D}[i,j] + {N}[j])", "{x}[i,j] = {D}[i,j] + sum[k](Q[i,k] * A[k,j]) / 50",
          "{x} = softmax({D})", "{x}[i,j] = {D}[i,j] * {I}[i] % 3"],
    "N": ["{x}[j] = mean {D}[i,j]", "{x}[j] = tanh({N}[j] * 0.5 + {t})", "{x} = {N} / (1 + norm({N}))",
          "{x} = {N} - mean({N})", "{x}[j] = sum[i]({I}[i] * A[i,j]) / (10 + {t})"],
    "I": ["{x}[i] = ({I}[i] * 3 + {t}) % 17", "{x}[i] = sum[j](E[i,j] * {I}[j]) % 13", "{x}[i] = {I}[i] + index(i) - {t}"],
    "P": ["{x}[i,j] as csr = {P}[i,j] * Q[i,j] + Q[i,j] * 0.1", "{x}[i,j] as csr = sum Q[i,k] * {P}[k,j] / 9",
          "{x}[i,j] as csr = {P}[i,j] / 2"],
    "T": ["{x} = project(select({T}, a != {t}), a, b = (b * 2 + {t}) % 101)", "{x} = order(project({T}, a, b = b + 1), [b, a])",
          "{x} = limit(order({T}, [a desc, b]), 20)", "{x} = project(join({T}, tab, a == k), a, b = b + v * {t})"],
}
SCALARS = ["{x}[] = max abs({D}[i,j])", "{x} = norm({N})", "{x}[] = sum {I}[i]", "{x}[] = sum {P}[i,j]", "{x}[] = min {N}[j]"]
STATES = {"D": "D = gen(uniform, [6, 5], by = [4, 3], seed = 3)", "N": "N = gen(uniform, [5], seed = 4)",
          "I": "I[i] = sum E[i,j]", "P": "P[i,j] as csr = Q[i,j]", "T": "T = project(tab, a = k, b = v)"}
HEAD = ['input A from "A.npy"', 'input B from "B.npy"', 'input E from "E.npy"', 'input Q from "Q.mtx"', 'input tab from "tab.csv"']


def draw(r):
    """A loop: turns, statements of its body [(kind, template, name)], next values, trace, until, an inner loop."""
    turns, body = r.randint(0, 5) if r.random() < .2 else r.randint(2, 5), []
    for i in range(r.randint(1, 4)):
        kind = r.choice("DDNIPT")
        text = r.choice(BODY[kind]).replace("{c}", f"{r.random():.2f}")
        body.append((kind, text, f"x{i}"))
    inner = None
    if r.random() < .3:
        inner = (r.randint(1, 3), r.choice(["next w[j] = tanh(w[j] + {N}[j] * u)", "next w[j] = w[j] * 0.5 + {t}"]))
    trace = r.choice(SCALARS) if r.random() < .7 else None
    until = r.choice(["{s} > 0.9", "{s} < 0.1", "{t} >= 2", "{s} > 8"]) if trace and r.random() < .5 else None
    return turns, body, inner, trace, until


def names(state, turn):
    f = dict(state)
    f["t"] = "t" if turn is None else str(turn)
    return f


def body_text(loop, state, turn):
    """The statements of one turn, and the next value of each state."""
    _, body, inner, trace, _ = loop
    f, end, lines, new = names(state, turn), "" if turn is None else f"_{turn}", [], {}
    for kind, text, x in body:
        lines.append(text.format(x=x + end, **f))
        new[kind] = x + end
    if inner and turn is None:
        lines += [f"state w = gen(0.5, [5])", f"repeat {inner[0]} as u {{", "  " + inner[1].format(**f), "}", "wz = tanh(w)"]
        new["N"] = "wz"
    elif inner:
        lines.append(f"w{end}_0 = gen(0.5, [5])")
        for u in range(inner[0]):
            text = inner[1].format(**f).replace("next ", "").replace(" * u", f" * {u}")
            left, right = text.split(" = ", 1)
            lines.append(left.replace("w[", f"w{end}_{u + 1}[") + " = " + right.replace("w[", f"w{end}_{u}["))
        lines.append(f"wz{end} = tanh(w{end}_{inner[0]})")
        new["N"] = f"wz{end}"
    if trace: lines.append(trace.format(x="s" + end, **f))
    return lines, new


def with_loop(loop):
    turns, _, _, trace, until = loop
    state = {k: k for k in STATES}
    lines, new = body_text(loop, state, None)
    text = HEAD + ["state " + s for s in STATES.values()] + [f"repeat {turns} as t {{"] + ["  " + l for l in lines]
    text += [f"  next {k} = {v}" for k, v in new.items()]
    if trace: text.append("  trace log(s)")
    text.append("} until " + until.format(s="s", t="t") if until else "}")
    return text + [f'output {k} to "L.h5:{k}"' for k in STATES] + (['output log to "L.h5:log"'] if trace else []), new


def written_out(loop, turns):
    state = {k: k for k in STATES}
    text = HEAD + list(STATES.values())
    for turn in range(turns):
        lines, new = body_text(loop, state, turn)
        text += lines
        state.update(new)
    return text + [f"out_{k} = {v}" for k, v in state.items()] + [f'output out_{k} to "U.h5:{k}"' for k in STATES] + [
        f'output s_{i} to "U.h5:s_{i}"' for i in range(turns) if loop[3]]


def run(text, *how):
    open("p.tra", "w").write("\n".join(text) + "\n")
    return subprocess.run([tra, "run", "-q", *how, "p.tra"], capture_output=True, text=True)


def read(spec):
    subprocess.run([tra, "export", "-q", spec, "-o", "r.csv"], check=True)
    lines = [l for l in open("r.csv") if l.strip()]
    table = lines and any(c.isalpha() for c in lines[0].replace("nan", "").replace("inf", "").replace("e", ""))
    return np.array([[float(c) for c in l.split(",")] for l in lines[1 if table else 0:]])


r, bad, done, refused = random.Random(seed), 0, 0, 0
os.chdir(tempfile.mkdtemp(dir=os.environ.get("BATS_TEST_TMPDIR")))
g = np.random.default_rng(seed)
np.save("A.npy", g.normal(size=(6, 5))), np.save("B.npy", g.normal(size=(5, 5))), np.save("E.npy", g.integers(-3, 4, (6, 6)))
open("Q.mtx", "w").write("%%MatrixMarket matrix coordinate real general\n6 6 9\n" + "".join(
    f"{p // 6 + 1} {p % 6 + 1} {v:.3f}\n" for p, v in zip(sorted(g.permutation(36)[:9]), g.normal(size=9))))
big = 2**40  # so that the columns are i64
open("tab.csv", "w").write("k,v\n" + "".join(f"{a},{b}\n" for a, b in enumerate(g.integers(0, 60, 12))) + f"{big},{big}\n")
while done < count:
    loop = draw(r)
    text, _ = with_loop(loop)
    first = run(text)
    if first.returncode == 2 and "without a bound" not in first.stderr:
        print("a program does not compile:\n" + "\n".join(text) + "\n" + first.stderr)
        bad += 1
    done += 1
    if first.returncode:
        refused += 1
        if first.returncode != 2: print("\n".join(text) + "\n" + first.stderr); bad += 1
        continue
    log = read("L.h5:log") if loop[3] else None
    turns = len(log) if loop[3] and loop[0] else loop[0]
    want = {k: read(f"L.h5:{k}") for k in STATES}
    second = run(written_out(loop, turns))
    if second.returncode:
        print("written out it fails:\n" + "\n".join(written_out(loop, turns)) + "\n" + second.stderr)
        bad += 1
        continue
    plain = {k: read(f"U.h5:{k}") for k in STATES}
    same = all(want[k].shape == plain[k].shape and np.allclose(want[k], plain[k], 1e-9, 1e-12, True) for k in STATES)
    if loop[3]: same = same and all(np.allclose(read(f"U.h5:s_{i}").ravel(), log[i][1], 1e-9, 1e-12, True) for i in range(turns))
    ways = [("--engine", "reference"), ("--sites", "3"), ("--memory", "48M", "--sites", "2"), ("--codegen", "off", "--threads", "1")]
    for how in r.sample(ways, 2):
        if not same: break
        other = run(text, *how)
        same = other.returncode == 0 and all(np.allclose(read(f"L.h5:{k}"), want[k], 1e-9, 1e-12, True) for k in STATES)
        if loop[3] and same: same = np.allclose(read("L.h5:log"), log, 1e-9, 1e-12, True)
        if not same: print(how, other.stderr)
    if not same:
        print("differs:\n" + "\n".join(text) + "\nwritten out:\n" + "\n".join(written_out(loop, turns)))
        bad += 1
print(f"{done} programs with loops, {refused} refused, {bad} wrong")
sys.exit(bad > 0)
