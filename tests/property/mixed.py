#!/usr/bin/python3
"""Random programs that mix what other generators draw apart: loops, storages, element types, blocks, tables, files.

mixed.py TRA COUNT SEED [SCALE]: each program (mixed_draw.py) is run on 1 and 3 sites, by messages and by files, with much
memory and with the least that is told, and as `tra eval` of the files as they are; results are compared with those of the
reference evaluator (with SCALE 1; above it with those of the first run). Under a ceiling that explain told, a run must end
with 0, hold no more, and use no more scratch than was told. MIXED_ONLY=SEED: that program alone. Files of programs that
were wrong are kept, and named; MIXED_LOOSE=1 lets scratch above its bound pass."""
import json, os, random, shutil, sys, tempfile
import numpy as np
from mixed_draw import SCALE, draw, inputs, tra

COUNT, SEED = int(sys.argv[2]), int(sys.argv[3])


# ---- runs ------------------------------------------------------------------------------------------------------

def compare(outputs, where, exact=False):
    for x in outputs:
        d = tra("diff", "--rtol", "1e-5", "--atol", "1e-5", f"o-{x}.h5", f"{where}/o-{x}.h5")
        if d.returncode: return f"{x} differs: {d.returncode} {d.stdout[:300]} {d.stderr[:300]}"
    return None


def clear(outputs):
    for x in outputs:
        if os.path.exists(f"o-{x}.h5"): os.remove(f"o-{x}.h5")


def figures(words):
    p = tra("explain", "--format", "json", *words, "p.tra")
    if p.returncode: return None, f"explain {words}: {p.returncode} {p.stderr[-400:]}"
    j = json.loads(p.stdout)
    return j["plans"][j["chosen"] - 1], None


def judge(r, outputs, named, text):
    """What was wrong, as text."""
    with open("p.tra", "w") as f: f.write(text)
    clear(outputs)
    shutil.rmtree("want", ignore_errors=True)
    os.mkdir("want")
    first = tra("run", "-q", "--engine", "reference", "p.tra") if SCALE == 1 else tra("run", "-q", "--no-history", "p.tra")
    if first.returncode not in (0, 3): return f"{'reference' if SCALE == 1 else 'run'}: {first.returncode} {first.stderr[-500:]}"
    for x in outputs:
        if os.path.exists(f"o-{x}.h5"): os.rename(f"o-{x}.h5", f"want/o-{x}.h5")
    ways = [[]] if SCALE == 1 else []
    several = [["--sites", 3], ["--sites", 3, "--transport", "files"], ["--sites", 3, "--checkpoint", 0], ["--sites", 2, "--reproducible"],
               ["LEAST", "--sites", 3, "--threads", 1], ["PEAK", "--sites", 3, "--threads", 1], ["REFUSED", "--sites", 3, "--threads", 1, "--transport", "files"]]
    one = [["--threads", 1], ["--codegen", "off"], ["--reproducible"], ["--codec", "zstd"], ["--checkpoint", 0]]
    tight = [[w, "--threads", n] for w in ("LEAST", "PEAK", "REFUSED") + (("BETWEEN",) * 3 if SCALE > 1 else ()) for n in (1, 2)]
    if r.random() < .6: ways.append(r.choice(several))
    if r.random() < .4: ways.append(r.choice(one))
    ways += r.sample(tight, 1 if SCALE == 1 else 4)
    if r.random() < .4: ways.append(["EVAL"])
    for w in ways:
        clear(outputs)
        command, told = list(w), None
        if w and w[0] in ("LEAST", "PEAK", "BETWEEN"):
            told, wrong = figures(w[1:])
            if wrong: return wrong
            least, peak = told["least_memory_bytes"], told["peak_memory_bytes"]
            memory = {"LEAST": least, "PEAK": peak, "BETWEEN": r.randint(min(least, peak), max(least, peak))}[w[0]]
            told, wrong = figures(w[1:] + ["--memory", memory])  # another plan may be chosen
            if wrong and "(--memory " in wrong and any(not f.endswith(".h5") for f, _, _ in named.values()):
                memory = int(wrong.split("(--memory ")[1].split("M)")[0]) << 20
                told, wrong = figures(w[1:] + ["--memory", memory])
            if wrong: return wrong
            command = w[1:] + ["--memory", memory]
        if w and w[0] == "REFUSED":  # a refusal tells what would do
            memory = "10M"
            for step in range(4):  # of the inputs, of parts that are made before, of planning, and of the plan
                p = tra("run", "-q", "--no-history", "--scratch", "scratch", *w[1:], "--memory", memory, "p.tra")
                if p.returncode in (0, first.returncode) and step: break
                if p.returncode != 4 or "(--memory " not in p.stderr: return f"{w} at {memory}: {p.returncode} {p.stderr[-500:]}"
                memory = p.stderr.split("(--memory ")[1].split(")")[0]
            command = w[1:] + ["--memory", memory]
        if w == ["EVAL"] and "entries(" in text: continue  # of what is sparse by type, as a file may not be, it has fewer rows
        if w == ["EVAL"]:
            if any(x not in text.split("\n", len(named))[-1] for x in named): continue
            p = tra("eval", "-q", "\n".join(l for l in text.split("\n") if not l.startswith("input ")), *(f"{x}={f}" for x, (_, f, o) in named.items()))
            # what the files tell is less than what imports do: types of columns, storages, so that it may not compile
            if p.returncode in (2, 3) and first.returncode == 0: continue
        else: p = tra("run", "-q", "--no-history", "--scratch", "scratch", "--profile", "r.json", *command, "p.tra")
        if p.returncode != first.returncode:
            if p.returncode == 3 and "overflow" in p.stderr: continue
            if first.returncode == 3 and p.returncode == 0: continue
            return f"{w} {command}: {p.returncode} {p.stderr[-600:]} where the first gave {first.returncode} {first.stderr[-200:]}"
        if p.returncode: continue
        wrong = compare(outputs, "want")
        if wrong: return f"{w} {command}: {wrong}"
        if told:
            with open("r.json") as f: m = json.load(f)["plans"][0]["measured"]
            held = max(s["peak_memory_bytes"] for s in m["sites"])
            if held > memory: wrong = f"held {held} of {memory} bytes"
            bound = told.get("scratch_bytes_bound", told["scratch_bytes"])
            used = max(s.get("scratch_bytes", 0) for s in m["sites"])
            if used > bound and not os.environ.get("MIXED_LOOSE"): wrong = f"scratch {used} of {bound} bytes"
            if wrong: return f"{w} {command}: {wrong}"
        left = os.listdir("scratch") if os.path.isdir("scratch") else []
        if [x for x in left if not x.startswith("tra-history")]: return f"{w}: left in the scratch directory: {left}"
    return None


def main():
    bad = ran = 0
    only = os.environ.get("MIXED_ONLY")
    base = tempfile.mkdtemp(prefix="mixed-", dir=os.environ.get("BATS_TEST_TMPDIR") or os.environ.get("TMPDIR"))
    for i in range(COUNT):
        seed = SEED + i
        if only and seed != int(only): continue
        where = os.path.join(base, str(seed))
        os.mkdir(where)
        os.chdir(where)
        r, g = random.Random(seed), np.random.default_rng(seed)
        *problems, named = inputs(r, g)
        named = {x: (f, raw, "header = no" if f.endswith(".csv") and x.isupper() else "") for x, (f, raw) in named.items()}
        w, outputs = draw(r, named)
        text = "\n".join(w.lines) + "\n"
        wrong = "\n".join(problems + ([w.problem] if w.problem else []))
        if not wrong and outputs:
            ran += 1
            wrong = judge(r, outputs, named, text)
        if wrong:
            bad += 1
            print(f"--- seed {seed} in {where}\n{text}{wrong}", flush=True)
        else: shutil.rmtree(where)
    os.chdir("/")
    if not bad: shutil.rmtree(base)
    print(f"{COUNT} programs, {ran} ran, {bad} wrong")
    return bad > 0


if __name__ == "__main__": sys.exit(main())
