#!/usr/bin/env python3
"""Random programs that make strings of rows: tra run on several ranks, with much memory and with the least, against
tra run --engine reference, which evaluates each string by its definition, row by row, and knows no dictionary before.

  strings.py --tra TRA [--seed S] [--programs N] [--keep]

Prints the seed of each program that differs, with what differs; the status is 1 then."""
import argparse, os, random, re, shutil, subprocess, sys, tempfile

WORDS = ["a", "B", "ab", "", "\u00e9t\u00e9", "x-y", "zz z", "1", "-", "a,b", 'q"q']
TEXT, WHOLE, REAL, DAY = "text", "whole", "real", "day"
COLUMNS = {"i": WHOLE, "k": WHOLE, "s": TEXT, "u": TEXT, "x": REAL, "d": DAY}


def table(r, rows):
    def maybe(v):
        return "" if r.random() < 0.15 else v

    def text(v):
        return '"' + v.replace('"', '""') + '"'

    out = [",".join(COLUMNS)]
    for i in range(rows):
        half = r.random() < 0.5
        out.append(",".join(str(v) for v in (i, maybe(3 if half else r.randint(-2, 9)), maybe(text(r.choice(WORDS))),
                                             maybe(text(r.choice(WORDS))), maybe(r.randint(-40, 40) / 8),
                                             maybe(f"2020-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}"))))
    return "\n".join(out) + "\n"


class Program:
    def __init__(self, r):
        self.r, self.text, self.n = r, ['input T from "T.h5"', 'input U from "U.h5"'], 0

    def column(self, t, kind=None):
        names = [c for c, k in t.items() if kind in (None, k)]
        constant = {TEXT: '"w"', WHOLE: "7", REAL: "0.5", DAY: 'date "2020-02-29"'}
        return self.r.choice(names) if names else constant[kind]

    def made(self, t, depth):
        """A string that only rows tell."""
        r = self.r
        if depth == 0 or r.random() < 0.3:
            return r.choice([
                lambda: f"concat({self.column(t)}, {self.column(t)})",
                lambda: f'concat({self.column(t)}, "-", {self.column(t)}, "/", {self.column(t)})',
                lambda: f"string({self.column(t, REAL)})", lambda: f"string({self.column(t, WHOLE)} * 3 + 1)",
                lambda: f'strftime({self.column(t, DAY)}, "%d/%m/%Y")',
                lambda: f'concat(strftime({self.column(t, DAY)}, "%b"), {self.column(t, WHOLE)})',
                lambda: f"repeat({self.column(t, TEXT)}, {self.column(t, WHOLE)} % 3)"])()
        a, b = self.made(t, depth - 1), self.column(t, TEXT)
        n, m = r.randint(1, 3), r.randint(2, 9)
        return r.choice([f"upper({a})", f"lower({a})", f"reverse({a})", f'replace({a}, "1", "<>")', f"concat({a}, {b})",
                         f'replace({a}, "-", {b})', f"substr({a}, {n}, {m})", f"substr({a}, {self.column(t, WHOLE)} % 3 + 1)",
                         f'split_part({r.choice([a, b])}, "-", {r.choice([n, self.column(t, WHOLE)])})',
                         f'trim({a}, "a1 ")', f'lpad({a}, {m}, "*")', f"rpad({a}, {m})",
                         f'extract({a}, "[0-9]+")', f'regex_replace({a}, "[a-z]+", "<\\\\0>")', f'ifnull({a}, "none")',
                         f"if({self.truth(t, 0)}, {a}, {b})", f"concat({a}, {self.made(t, depth - 1)})"])

    def truth(self, t, depth):
        r, a = self.r, self.made(t, depth)
        return r.choice([f'contains({a}, "1")', f'startswith({a}, "a")', f"isnull({a})", f'matches({a}, "[0-9]$")',
                         f"length({a}) > {r.randint(0, 6)}", f"{a} == {self.column(t, TEXT)}", f'{a} < "b"',
                         f'like({a}, "%-%")', f"{self.column(t, WHOLE)} > 2", f'count_parts({a}, "-") == 2'])

    def name(self):
        self.n += 1
        return f"c{self.n}"

    def step(self, of, t):
        """A statement over the table `of`, whose columns are t; its name and columns."""
        r, c, m = self.r, self.name(), self.made(t, 2)
        whole, own = self.column(t, WHOLE), self.column(t)
        kind = r.choice(["project", "project", "select", "group", "group", "order", "distinct", "join", "union",
                         "window"])
        out = dict(t)
        if kind == "project":
            text = f"project({of}, {c} = {m}, *)"
            out[c] = TEXT
        elif kind == "select":
            text = f"select({of}, {self.truth(t, 1)})"
        elif kind == "group":
            a, b = self.name(), self.name()
            f, gives = r.choice([(f"count({m})", WHOLE), (f"min({m})", TEXT), (f"max({m})", TEXT), (f"mode({m})", TEXT),
                                 (f"first({m})", TEXT), (f"last({m})", TEXT), (f"distinct({m})", WHOLE),
                                 (f"arg_max({m}, {whole})", TEXT), (f"arg_min({whole}, {m})", WHOLE),
                                 (f'string_agg({m}, ";", order = [{whole}])', TEXT),
                                 (f'string_agg({m}, "+", distinct = true)', TEXT)])
            key = r.choice([f"{c} = {self.made(t, 1)}", f"{c} = {own}"])
            text = f"group({of}, [{key}], {a} = count(), {b} = {f})"
            out = {c: t.get(own, TEXT) if key == f"{c} = {own}" else TEXT, a: WHOLE, b: gives}
        elif kind == "order":
            self.text.append(f"P{c} = project({of}, {c} = {m}, *)")
            text = f"order(P{c}, [{c}{r.choice(['', ' desc'])}])"
            out[c] = TEXT
        elif kind == "distinct":
            self.text.append(f"P{c} = project({of}, {c} = {m}, *)")
            text = f"distinct(P{c}, [{c}])"
            out[c] = TEXT
        elif kind == "join":
            self.text.append(f"P{c} = project({of}, {c} = {m}, *)")
            self.text.append(f"Q{c} = group(U, [{c} = {self.made(COLUMNS, 1)}], {c}n = count())")
            text = f"join(P{c}, Q{c}, {c} == {c}, how = {r.choice(['inner', 'left', 'semi', 'anti'])})"
            out[c] = TEXT
            if "semi" not in text and "anti" not in text:
                out[c + "n"] = WHOLE
        elif kind == "union":
            v = self.made(COLUMNS, 1)
            self.text.append(f"P{c} = project({of}, {c} = {m}, i{c} = {whole})")
            self.text.append(f"Q{c} = project(U, {c} = {v}, i{c} = i)")
            text, out = f"union(P{c}, Q{c})", {c: TEXT, "i" + c: WHOLE}
        else:
            a = self.name()
            text = f"window({of}, [{c}k = {self.made(t, 1)}], [{whole}], {c} = lag({m}), {a} = row_number())"
            text = text.replace(f"{c}k = ", "")
            out[c], out[a] = TEXT, WHOLE
        name = f"R{c}"
        self.text.append(f"{name} = {text}")
        return name, out


def program(r):
    p = Program(r)
    of, t = "T", dict(COLUMNS)
    for k in range(r.randint(1, 3)):
        of, t = p.step(of, t)
        p.text.append(f'output {of} to "{of}.csv"')
    return "\n".join(p.text) + "\n"


def run(tra, folder, *how):
    for f in os.listdir(folder):
        if f.startswith("R"):
            os.unlink(os.path.join(folder, f))
    p = subprocess.run([tra, "run", "-q", "--no-history", *how, "p.tra"], cwd=folder, capture_output=True, text=True)
    files = sorted(f for f in os.listdir(folder) if f.startswith("R") and f.endswith(".csv"))
    return p.returncode, {f: open(os.path.join(folder, f)).read() for f in files}, p.stderr


def difference(want, got, how):
    if got[0] != want[0]:
        return f"{how}: status {got[0]}, the reference's is {want[0]}: {got[2][:300]}{want[2][:300]}"
    for name in want[1]:
        a, b = want[1][name].splitlines(), got[1].get(name, "").splitlines()
        if a != b:
            i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            return f"{how}: {name} line {i + 1} is {b[i:i + 1]}, the reference has {a[i:i + 1]}"
    return ""


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--tra", required=True)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--programs", type=int, default=10)
    a.add_argument("--keep", action="store_true")
    o = a.parse_args()
    tra, bad, runs, refused = os.path.abspath(o.tra), 0, 0, 0
    for seed in range(o.seed, o.seed + o.programs):
        r, folder = random.Random(seed), tempfile.mkdtemp(prefix="strings-")
        block = r.choice([3, 11, 100])
        for name, rows in (("T", r.choice([0, 1, 20, 40])), ("U", 15)):
            with open(f"{folder}/{name}.csv", "w") as f:
                f.write(table(r, rows))
            subprocess.run([tra, "import", "-q", "--table", "--block", str(block), "--types",
                            "i=i64,k=i64,s=string,u=string,x=f64,d=date", f"{name}.csv", "-o", f"{name}.h5"],
                           cwd=folder, check=True)
        with open(f"{folder}/p.tra", "w") as f:
            f.write(program(r))
        want, wrong = run(tra, folder, "--engine", "reference"), ""
        for how in ([], ["--sites", r.choice("235")]):
            runs += 1
            wrong = wrong or difference(want, run(tra, folder, *how), " ".join(how))
        most = 1
        for _ in range(9):  # parts of the program are planned one after the other, and each says the least for itself
            got, runs = run(tra, folder, "--memory", f"{most}M"), runs + 1
            least = re.search(r"\(--memory (\d+)M\)", got[2])
            if got[0] != 4 or not least or int(least[1]) <= most:
                break
            most = int(least[1])
        wrong = wrong or difference(want, got, f"--memory {most}M")
        refused += want[0] != 0
        if wrong or want[0] not in (0, 2, 3):
            bad += 1
            print(f"seed {seed}: {wrong or want[2][:300]}\n" + open(f"{folder}/p.tra").read(), flush=True)
        if o.keep and wrong:
            print(folder)
        else:
            shutil.rmtree(folder)
    print(f"{o.programs} programs in {runs} runs, {refused} refused by both, {bad} differ")
    return 1 if bad else 0


sys.exit(main())
