"""mixed_draw.py - draws the programs of mixed.py, statement by statement, of which `tra check` refuses those that are wrong.

Files of inputs are made in the current folder: dense and sparse tensors of all element types, in all storages, in ragged
blocks, and tables with strings and NULLs, each also as a file of another format. Values are small whole numbers in every
type, so that sums are the same in any order."""
import json, os, random, subprocess, sys
import numpy as np

TRA, SCALE = os.path.abspath(sys.argv[1]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
STORAGES = ["csr", "csc", "coo", "dcsr", "dcsc", "csf", "dense", "csf(1, 0)", "dok", "ell", "bsr(2,3)", "band(3)", "zorder", "trie", "colmajor"]
WRITTEN = ["dense", "csr", "csc", "coo", "dcsr", "dcsc", "csf"]  # as which results are written
LIMIT = 120 if SCALE == 1 else 600  # seconds


def tra(*words, text=None, limit=LIMIT):
    """Runs the program; a status of -99 is a hang."""
    end = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
    try: return subprocess.run([TRA, *map(str, words)], capture_output=True, text=True, timeout=limit, errors="replace", **end)
    except subprocess.TimeoutExpired: return subprocess.CompletedProcess(words, -99, "", "it hangs")


# ---- inputs ---------------------------------------------------------------------------------------------------

def extents(r, rank):
    if SCALE > 1:
        base = [r.choice([1, 7, 97, 400, 900]) * (1 if rank > 2 else SCALE) for _ in range(3)]
        return base if rank < 3 else [min(b, 120) for b in base]
    return [r.choice([1, 2, 3, 5, 7, 8, 11, 13, 24, 40]) for _ in range(3)]


def values(g, shape, dtype, density):
    x = np.where(g.random(shape) < density, g.integers(-3, 4, shape), 0)
    return (x > 0) if dtype == "bool" else x.astype({"f64": "f8", "f32": "f4", "i64": "i8", "i32": "i4"}[dtype])


def block_of(r, shape):
    kind = r.choice(["whole", "one", "ragged", "prime", "larger", "rows"])
    if SCALE > 1 and kind == "one": kind = "ragged"
    one = {"whole": lambda n: n, "one": lambda n: 1 if n < 12 else max(1, n // 5), "ragged": lambda n: max(1, n // 2 + 1),
           "prime": lambda n: r.choice([p for p in (2, 3, 5, 7, 89, 211) if n < 40 * p]), "larger": lambda n: n + 3}
    if kind == "rows": return [max(1, (shape[0] + 2) // 3)] + list(shape[1:])
    return [one[kind](n) for n in shape]


def inputs(r, g):
    """Files of tensors and tables in this folder: for each name its file to read, the file that it came from, and options."""
    dims = extents(r, 2)
    named = {}
    for name in r.sample(["A", "B", "C", "D", "E"], r.randint(2, 4)):
        rank = r.choice([1, 2, 2, 2, 2, 3])
        pool = dims if rank < 3 or SCALE == 1 else extents(r, 3)
        shape = [r.choice(pool) for _ in range(rank)]
        if rank == 2 and r.random() < .4: shape = [shape[0]] * 2
        dtype = r.choice(["f64", "f64", "f64", "f32", "i64", "i32", "bool"])
        sparse = r.random() < .6
        density = r.choice([0, .03, .1, .3, .6, 1]) if sparse else 1
        if SCALE > 1 and sparse: density = r.choice([.001, .01, .05, .2])
        x = values(g, shape, dtype, density)
        if sparse and rank == 2 and r.random() < .3: x[g.integers(0, shape[0])] = 0
        if sparse and rank == 2 and r.random() < .3: x[:, g.integers(0, shape[1])] = 1
        np.save(name, x)
        words = ["import", "-q", name + ".npy", "-o", name + ".h5", "--block", "x".join(map(str, block_of(r, shape)))]
        if r.random() < .3: words += ["--codec", r.choice(["zstd", "zstd:3"])]
        storage = r.choice(STORAGES) if sparse else None
        done = tra(*words, *(["--storage", storage] if storage else []))
        if done.returncode == 2 and storage: done, storage = tra(*words, *(["--storage", r.choice(WRITTEN[:-1]) if rank == 2 else "csf"])), "?"
        if done.returncode == 2: done = tra(*words)
        if done.returncode not in (0, 3): yield f"import {words} {storage}: {done.returncode} {done.stderr}"
        if done.returncode: done = tra(*words)
        raw = name + ".npy"
        if rank == 2 and dtype != "bool" and r.random() < .5:
            raw = name + r.choice([".mtx", ".npz", ".csv", ".tns"] if dtype in ("f64", "i64") else [".npz"])
            made = tra("export", "-q", name + ".h5", "-o", raw, *(["--to", raw[-3:]]))
            if made.returncode or (raw[-3:] in ("tns", "csv") and (0 in shape or not x.any() or dtype != "f64")): raw = name + ".npy"
        named[name] = (name + (".h5" if r.random() < .75 else raw[len(name):]), raw)
    rows = r.choice([0, 1, 2, 9, 30]) if SCALE == 1 else r.choice([1000, 30000, 100000])
    for name in r.sample(["t", "u", "v"], r.randint(0, 2)):
        with open(name + ".csv", "w") as f:
            f.write("k,s,a,x,d\n")
            words = [f"w{i}" for i in range(r.choice([1, 5, rows // 2 + 1]))] + ['"a,b"', "\u00e4\u00f6"]
            keys = r.choice([3, 11, max(1, rows)])
            for i in range(rows + 1 if name == "t" else max(1, rows // 2)):
                null = lambda w: "" if r.random() < .1 else w
                f.write(",".join(map(str, [r.randrange(keys), null(r.choice(words)), null(r.randrange(-3, 9)), null(r.randrange(-9, 9) / 2),
                                           null(f"2020-0{r.randint(1, 9)}-1{r.randint(0, 9)}")])) + "\n")
        types = "k=i64,s=string,a=i64,x=f64,d=date"
        made = tra("import", "-q", "--table", "--types", types, name + ".csv", "-o", name + ".h5", "--block", r.choice([1, 2, 7, 1000]) if SCALE == 1 else rows // 5 + 1)
        if made.returncode: yield f"import of {name}.csv: {made.returncode} {made.stderr}"
        else: named[name] = (name + ".h5", name + ".csv")
    yield named


# ---- statements ------------------------------------------------------------------------------------------------

class Known:
    """What a program has so far: tensors as name -> (extents, type, sparse), tables as name -> {column: type}."""
    def __init__(self): self.tensors, self.tables, self.lists, self.open = {}, {}, {}, {}

    def learn(self, relations):
        self.tensors, self.tables = {}, {}
        for x in relations:
            if x["dtype"] == "table": self.tables[x["name"]] = {c["name"]: c["type"] for c in x["columns"]}
            elif "tensor" in x and x["tensor"] is not None: self.tensors[x["name"]] = (tuple(x["tensor"]), x["dtype"], x["sparse"])

    def of_rank(self, r, rank, shape=None, recent=True):
        fit = [n for n, t in self.tensors.items() if len(t[0]) == rank and (shape is None or t[0] == tuple(shape))]
        if not fit: return None
        return r.choice(fit[-4:] if recent and r.random() < .7 else fit)


L = "ijkl"
KEEP = ["{0}", "2 * {0}", "-{0}", "abs({0})", "clip({0}, -2, 3)", "min({0}, 2)", "{0} * {0} % 5", "({0} > 0) * {0}", "sign({0})", "if({0} > 1, {0}, 0)"]
FILL = ["{0} + 1", "max({0}, 1)", "{0} == 0", "{0} <= 1", "3 - {0}", "if({0} > 0, 1, {0} - 1)", "isnan({0})", "cos(0 * {0})"]
PAIR = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "max({0}, {1})", "min({0}, {1})", "{0} > {1}", "{0} != {1}", "if({0} > 0, {1}, {0})", "{0} * ({1} + 1)",
        "{0} / (abs({1}) * 0 + 2)", "({0} != 0) * {1}", "({0} != 0) && ({1} != 0)", "({0} > 0) || ({1} > 0)"]
AGG = ["sum", "sum", "sum", "max", "min", "mean", "any", "all", "count", "prod"]


def ref(x, labels): return f"{x}[{','.join(labels)}]"


def tensor_statement(r, K, z):
    """A statement that makes tensor z, as text."""
    kind = r.choice("map map pair pair pair broad agg agg agg product product product chain minplus index whole whole whole key key filter trace border border rank3 algebra masked".split())
    x = K.of_rank(r, r.choice([2, 2, 2, 1, 3]))
    if x is None: x = r.choice(list(K.tensors)) if K.tensors else None
    if x is None: return None
    e, _, sparse = K.tensors[x]
    n = len(e)
    lab = list(L[:n])
    to = lab[:]
    how = "" if r.random() < .6 else " as " + r.choice(WRITTEN if n == 2 else ["dense", "csf", "coo"])
    left = lambda labels: f"{z}[{','.join(labels)}]{how if len(labels) == n or 'dense' in how else ''}"
    if kind == "map":
        if r.random() < .3: r.shuffle(to)
        return f"{left(to)} = {r.choice(KEEP + FILL[:2] if r.random() < .7 else FILL).format(ref(x, lab))}"
    if kind == "pair":
        y = K.of_rank(r, n, e) or x
        if n == 2 and r.random() < .3:
            t = K.of_rank(r, 2, e[::-1])
            if t: return f"{left(to)} = {r.choice(PAIR).format(ref(x, lab), ref(t, lab[::-1]))}"
        if r.random() < .2:
            w = K.of_rank(r, n, e) or y
            return f"{left(to)} = {r.choice(PAIR).format('(' + r.choice(PAIR).format(ref(x, lab), ref(y, lab)) + ')', ref(w, lab))}"
        return f"{left(to)} = {r.choice(PAIR).format(ref(x, lab), ref(y, lab))}"
    if kind == "broad" and n >= 1:
        d = r.randrange(n)
        y = K.of_rank(r, 1, [e[d]])
        if y: return f"{left(to)} = {r.choice(PAIR).format(*r.sample([ref(x, lab), ref(y, [lab[d]])], 2))}"
    if kind == "agg" and n >= 1:
        keep = [l for l in lab if r.random() < .45]
        if len(keep) == n: keep.pop(r.randrange(n))
        word = r.choice(AGG + ["argmax", "argmin"]) if len(keep) == n - 1 else r.choice(AGG)
        e1 = r.choice(["{0}", "{0}", "{0} * {0}", "abs({0})", "({0} > 0)", "({0} + 1)", "({0} != 0) * 2"]).format(ref(x, lab))
        if word in ("any", "all", "count"): e1 = f"({e1} > 0)"
        if word == "prod": e1 = f"sign({ref(x, lab)})"
        gone = [l for l in lab if l not in keep]
        if word in ("argmax", "argmin") or r.random() < .4:
            extra = r.choice(["", "", " + 1", " * 2"]) if word != "count" else ""
            return f"{left(keep)} = {word}[{','.join(gone)}]({e1}){extra}"
        return f"{left(keep)} = {word}({e1})"
    if kind in ("product", "chain", "minplus", "masked"):
        a = K.of_rank(r, 2)
        if not a: return None
        ea = K.tensors[a][0]
        la = r.choice(["ij", "ji"])
        mid = ea[la.index("j")]
        fit = [(b, o) for b, t in K.tensors.items() if len(t[0]) == 2 for o in (0, 1) if t[0][o] == mid] + [(b, 0) for b, t in K.tensors.items() if t[0] == (mid,)]
        b, o = r.choice(fit)
        eb = K.tensors[b][0]
        one = len(eb) == 1
        lb = "j" if one else ("jk" if o == 0 else "kj")
        out = ["i"] if one else r.choice([["i", "k"], ["i", "k"], ["k", "i"], ["i"], ["k"], []])
        how = "" if r.random() < .6 else " as " + r.choice(WRITTEN if len(out) == 2 else ["dense"])
        zz = f"{z}[{','.join(out)}]{how}"
        f = f"{ref(a, la)} * {ref(b, lb)}"
        if kind == "product": return f"{zz} = {r.choice(['sum', 'sum', 'sum', 'max', 'min'])} {f}"
        if kind == "minplus":
            if out and r.random() < .3: return f"{zz} = {r.choice(['any', 'max'])} ({ref(a, la)} > 0) && ({ref(b, lb)} > 0)"
            return f"{zz} = {r.choice(['min', 'max'])} ({ref(a, la)} + {ref(b, lb)})"
        if one: return f"{zz} = sum {f} * 2"
        third = [(c, p) for c, t in K.tensors.items() if len(t[0]) == 2 for p in (0, 1) if t[0][p] == eb[1 - o]]
        if kind == "masked":
            shape = (ea[la.index("i")], eb[1 - o])
            m = K.of_rank(r, 2, shape)
            if m: return f"{z}[i,k]{how if len(out) == 2 else ''} = sum[j]({f}) * {ref(m, 'ik')}" if r.random() < .5 else f"{z}[i,k] = sum ({ref(m, 'ik')} != 0) * {f}"
        if third:
            c, p = r.choice(third)
            lc = "kl" if p == 0 else "lk"
            return f"{z}[{','.join(r.choice([['i', 'l'], ['i'], ['l'], ['l', 'i'], []]))}] = sum {f} * {ref(c, lc)}"
    if kind == "index" and n >= 1:
        a, b = r.choice(lab), r.choice(lab)
        cond = r.choice([f"index({a}) <= index({b})", f"index({a}) == index({b})", f"index({a}) % 2 == 0", f"index({a}) > {r.randint(0, 3)}"])
        return f"{left(to)} = {r.choice(['{0} * ({1})', 'if({1}, {0}, 0)', 'if({1}, {0}, 1)', '{0} + index(' + a + ') % 3'] ).format(ref(x, lab), cond)}"
    if kind == "whole":
        q = r.choice(["slice", "slice", "slice", "stack", "stack", "reblock", "reblock", "repart", "store", "store", "transpose", "topk", "softmax", "op"])
        if q == "slice" and n >= 1:
            def cut(m):
                if m == 0: return ":"
                a, b = sorted(r.sample(range(m + 1), 2))
                return r.choice([":", ":", f"{a}:{b}", f"{a}:{b}", f"{r.randint(0, m - 1)}:", "::2", "::-1", f"{a}:{b}:3"])
            return f"{z} = slice({x}, [{', '.join(cut(m) for m in e)}])"
        if q == "stack" and n >= 1:
            d = r.randrange(n)
            ys = [y for y, t in K.tensors.items() if len(t[0]) == n and all(t[0][k] == e[k] for k in range(n) if k != d)]
            return f"{z} = stack({', '.join([x] + [r.choice(ys) for _ in range(r.choice([1, 1, 2]))])}, {d})"
        if q == "reblock" and n >= 1: return f"{z} = reblock({x}, [{', '.join(map(str, block_of(r, [max(1, m) for m in e])))}])"
        if q == "repart" and n >= 1: return f"{z} = repart({x}, [{', '.join(str(r.randint(1, 4)) for _ in e)}])"
        if q == "store": return f"{z} = store({x}, {r.choice(WRITTEN + ['levels(sparse, dense)', 'levels(dense, dense)'] if n == 2 else ['csf', 'coo', 'dense'])})"
        if q == "transpose" and n == 2: return f"{z} = transpose({x})"
        if q == "topk" and n >= 1: return f"{z}, {z}p = topk({x}, {r.randint(1, max(1, min(3, e[-1])))}{r.choice(['', ', least'])})"
        if q == "softmax" and n >= 1 and SCALE == 1: return f"{z}s = softmax({x})\n{z} = round({z}s * 8)"
        return f"{z} = {r.choice(['abs', 'sign', '-', '2 * '])}({x})"
    if kind == "key" and n >= 1:
        q = r.choice(["transform", "agg", "tile", "join", "rekey"])
        if q == "transform": return f"{z} = transform({x}, {r.choice(['abs', 'neg', 'square', 'relu', 'relu_grad', 'scale(3)', 'abs . neg', 'x -> max(x, 1)', 'x -> clip(x, -1, 1)'] + (['transpose', 'rowsum', 'colsum', 'diag', 'rowmax'] if n == 2 else []))})"
        if q == "agg": return f"{z} = agg({x}, [{r.choice([str(k) for k in range(n)])}], {r.choice(['matadd', 'elemmax', 'elemmin'])})"
        if q == "tile":
            d = r.randrange(n)
            return f"{z}t = tile({x}, {d}, {r.randint(1, 3)})\n{z} = concat({z}t, {n}, {d})"
        if q == "join":
            y = K.of_rank(r, n, e) or x
            keys = ", ".join(str(k) for k in range(n))
            return f"{z} = join({x}, {y}, [{keys}], [{keys}], {r.choice(['matadd', 'matsub', 'elemmul', 'elemmax', 'elemmin', '(x,y) -> (x-y)^2'])})"
        if n == 2: return f"{z}r = rekey({x}, (i,j) -> (j,i))\n{z} = transform({z}r, transpose)"
    if kind == "filter" and n >= 1:
        ks = "ijk"[:n]
        return f"{z} = filter({x}, ({','.join(ks)}) -> {r.choice(['{0} % 2 == 0', '{0} > 0', '{0} <= {1}', '{0} != {1}', '{0} < 0']).format(r.choice(ks), r.choice(ks))})"
    if kind == "trace":
        a = K.of_rank(r, 2)
        if a and K.tensors[a][0][0] == K.tensors[a][0][1]: return r.choice([f"{z}[i] = {a}[i,i]", f"{z}[] = sum {a}[i,i]", f"{z}[i,j] = {a}[i,i] * {a}[i,j]"])
    if kind == "rank3":
        a = K.of_rank(r, 3)
        if a:
            ea = K.tensors[a][0]
            c = [(b, d, p) for b, t in K.tensors.items() if len(t[0]) == 2 for d in range(3) for p in (0, 1) if t[0][p] == ea[d]]
            if c:
                b, d, p = r.choice(c)
                lb = (L[d] + "l") if p == 0 else ("l" + L[d])
                out = ["l" if k == d else L[k] for k in range(3)]
                if r.random() < .4: out.pop(r.randrange(3))
                return f"{z}[{','.join(out)}] = sum {ref(a, 'ijk')} * {ref(b, lb)}"
            return f"{z}[{r.choice(['i,j', 'j,k', 'k,i', 'i,k,j', 'k'])}] = sum {ref(a, 'ijk')}" if r.random() < .5 else f"{z}[k,i,j] = {ref(a, 'ijk')}"
        a = K.of_rank(r, 1)
        if a and r.random() < .5: return f"{z}[i,j] = {a}[i] * {a}[j]"
    if kind == "algebra" and n == 2 and SCALE == 1:
        return f"{z}g[i,j] = sum {x}[k,i] * {x}[k,j]\n{z}h[i,j] = {z}g[i,j] + 500 * (index(i) == index(j))\n{z}y = {r.choice(['inverse', 'cholesky'])}({z}h)\n{z} = round({z}y * 1000)"
    if kind == "border" and K.tables:
        t = r.choice(list(K.tables))
        cols = K.tables[t]
        num = [c for c, y in cols.items() if y in ("i64", "i32", "f64", "f32", "bool")]
        if not num: return None
        q = r.choice(["matrix", "matrix", "pivot", "pivot", "rows", "summed"])
        fill = r.choice([", fill = 0", ", fill = 0", ", fill = -1, type = f32", ", fill = 0, type = i64", ""])
        some = r.sample(num, r.randint(1, len(num)))
        if q == "matrix": return f"{z} = matrix({t}, [{', '.join(some)}]{fill})"
        if q == "summed": return f"{z}m = matrix({t}, [{', '.join(some)}]{fill})\n" + r.choice([f"{z}[a,b] = sum {z}m[n,a] * {z}m[n,b]", f"{z}[a] = sum {z}m[n,a]", f"{z}[a,b] = sum ({z}m[n,a] > 0) * {z}m[n,b]"])
        if q == "rows": return f"{z} = rows({t})"
        keys = [c for c, y in cols.items() if y in ("i64", "i32", "string", "bool")]
        if len(keys) > 1:
            a, b = r.sample(keys, 2)
            return f"{z}q = select({t}, !isnull({a}) && !isnull({b}) && !isnull({num[0]}))\n{z} = pivot({z}q, {a}, {b}, {num[0]}, {r.choice(['sum', 'count', 'max', 'min'])})"
    return None


def table_statement(r, K, z):
    made = r.choice("entries entries table select project group group order limit distinct union join join join cross window semi asof unpivot pivot sample".split())
    if made in ("entries", "table") or not K.tables:
        x = K.of_rank(r, r.choice([1, 2, 2, 3]))
        if x is None: return None
        return f"{z} = {made if made == 'table' and len(K.tensors[x][0]) < 3 and K.tensors[x][0][-1] < 50 else 'entries'}({x})"
    t = r.choice(list(K.tables))
    cols = K.tables[t]
    names = list(cols)
    if not names: return None
    q = lambda c: c if c.isidentifier() else f"`{c}`"
    num = [c for c, y in cols.items() if y in ("i64", "i32", "f64", "f32")]
    c, k = r.choice(names), r.choice(names)
    if made == "select":
        return f"{z} = select({t}, {r.choice(['!isnull({0})', '{1} > 0', '{1} % 2 == 0', '{1} < 0', 'isnull({0}) || {1} != 1', 'row() % 3 != 0', 'false']).format(q(c), q(r.choice(num or names)))})"
    if made == "project" and num:
        a = r.choice(num)
        return f"{z} = project({t}, {', '.join(q(x) for x in r.sample(names, r.randint(1, len(names))))}, n{z} = {r.choice(['{0} * 2', 'if({0} > 0, {0}, 0)', '{0} % 3', 'abs({0})', 'if(isnull({0}), 0, {0})', 'number({1})', 'string({0})', 'concat(string({1}), {2})', 'hash({1}) % 5', 'row()', 'null + {0}', '{0} > 0']).format(q(a), q(k), chr(34) + 'z' + chr(34))})"
    if made == "group" and num:
        a, b = r.choice(num), r.choice(num)
        keys = r.sample(names, r.choice([0, 1, 1, 2]) if len(names) > 1 else 1)
        agg = [f"a{z} = {r.choice(['sum', 'min', 'max', 'mean', 'count', 'first', 'last', 'distinct', 'median', 'any'])}({q(a)}{' > 0' if False else ''})".replace("any(" + q(a), "any(" + q(a) + " > 0"), f"n{z} = count()"]
        if r.random() < .4: agg.append(f"b{z} = {r.choice(['sum({0} * {1})', 'var({0})', 'max({0} + {1})', 'count({0})', 'quantile({0}, 0.25)', 'first({0})', 'string_agg(string({0}), {2})']).format(q(a), q(b), chr(34) + ';' + chr(34))}")
        return f"{z} = group({t}, [{', '.join(map(q, keys))}], {', '.join(agg)})"
    if made == "order": return f"{z} = order({t}, [{', '.join(q(x) + r.choice(['', ' desc']) for x in r.sample(names, r.randint(1, min(3, len(names)))))}])"
    if made == "limit": return f"{z} = limit({t}, {r.choice([0, 1, 3, 10, 1000])}{r.choice(['', ', from = 2'])})"
    if made == "distinct": return f"{z} = distinct({t}{r.choice(['', f', [{q(c)}]', f', [{q(c)}], order = [{q(k)} desc], keep = last'])})"
    if made == "union":
        fit = [u for u, o in K.tables.items() if o == cols]
        return f"{z} = union({t}, {r.choice(fit)}{', ' + r.choice(fit) if r.random() < .2 else ''})"
    if made == "unpivot" and len(num) > 1: return f"{z} = unpivot({t}, [{', '.join(map(q, r.sample(num, 2)))}], name = n{z}, value = v{z})"
    if made == "sample": return f"{z} = sample({t}, {r.choice(['0.5', '3'])}, seed = {r.randint(0, 9)})"
    if made == "pivot" and num:
        return f"{z} = pivot({t}, [{q(c)}], m{z} = {q(r.choice(num))} % 2, {q(r.choice(num))}, {r.choice(['sum', 'count', 'max'])}, values = [0, 1], prefix = \"c\")"
    u = r.choice(list(K.tables))
    other = K.tables[u]
    pairs = [(a, b) for a in names for b in other if cols[a] == other[b] or {cols[a], other[b]} <= {"i64", "i32", "f64"}]
    if made in ("join", "semi") and pairs:
        a, b = r.choice(pairs)
        how = r.choice(["inner", "left", "right", "outer"]) if made == "join" else r.choice(["semi", "anti"])
        more = ""
        if r.random() < .25:
            a2, b2 = r.choice(pairs)
            more = f" && {q(a2)} == {q(b2)}"
        body = f"join({t}, {u}, {q(a)} == {q(b)}{more}, how = {how}{', prefix = ' + chr(34) + z + '_' + chr(34) if made == 'join' else ''}{r.choice(['', '', ', nulls = match'])})"
        return f"{z}j = {body}\n{z} = limit({z}j, {r.choice([40, 300])})" if SCALE == 1 or r.random() < .7 else f"{z} = {body}"
    if made == "cross": return f"{z}l = limit({u}, 3)\n{z}c = cross({t}, {z}l, prefix = \"{z}_\")\n{z} = limit({z}c, 50)"
    if made == "asof" and num:
        fit = [(a, b) for a, b in pairs if cols[a] in ("i64", "i32", "f64")]
        if fit:
            a, b = r.choice(fit)
            if t == u: return None
            return f"{z} = join({t}, {u}, asof = {t}.{q(a)} {r.choice(['>=', '<=', '>', '<'])} {u}.{q(b)}, how = {r.choice(['inner', 'left'])}, prefix = \"{z}_\")"
    if made == "window" and num:
        f = r.choice(["row_number()", "rank()", "lag({0})", "lead({0}, 2)", "sum({0})", "max({0})", "count()", "first({0})", "mean({0})", "dense_rank()", "ntile(3)"]).format(q(r.choice(num)))
        order = ", ".join(q(x) for x in r.sample(names, min(2, len(names))))
        return f"{z} = window({t}, [{r.choice(['', q(c)])}], [{order}], f{z} = {f}{r.choice(['', ', frame = rows(-1, 1)', ', frame = rows(null, 0)'])})"
    return None


# ---- programs --------------------------------------------------------------------------------------------------

def checked(text):
    """The relations that the program has, or None where it does not compile; problems as text."""
    p = tra("check", "--format", "json", "-", text=text)
    if p.returncode not in (0, 2): return None, f"check ends with {p.returncode}: {p.stderr[-600:]}"
    return (json.loads(p.stdout)["relations"] if p.returncode == 0 else None), None


class Writer:
    def __init__(self, r, head):
        self.r, self.lines, self.K, self.problem, self.count = r, head[:], Known(), None, 0
        self.try_lines([], [])

    def try_lines(self, more, end):
        """Takes the lines if the program still compiles; end: what closes what is open, in this check only."""
        relations, problem = checked("\n".join(self.lines + more + end) + "\n")
        if problem: self.problem = problem + "\n" + "\n".join(self.lines + more + end)
        if relations is None: return False
        self.lines += more
        self.K.learn(relations)
        return True

    def name(self):
        self.count += 1
        return f"z{self.count}"

    def statement(self, end, tables=.35, indent=""):
        for _ in range(12):
            z = self.name()
            s = (table_statement if self.r.random() < tables and (self.K.tables or self.r.random() < .5) else tensor_statement)(self.r, self.K, z)
            if s and self.try_lines([indent + l for l in s.split("\n")], end): return z
            if self.problem: return None
        return None

    def loop(self, depth=0, indent="", outer_end=()):
        """A loop over some states, each of a value that is there."""
        r, K, states, end = self.r, self.K, [], list(outer_end)
        for _ in range(r.choice([1, 1, 2, 3])):
            s = self.name().upper()
            if K.tables and r.random() < .3:
                t = r.choice(list(K.tables))
                text = f"state {s} = {r.choice(['{0}', '{0}', 'limit({0}, 20)', 'order({0}, [{1}])']).format(t, next(iter(K.tables[t])))}"
            else:
                x = K.of_rank(r, r.choice([0, 1, 2, 2, 2, 3])) or K.of_rank(r, 2)
                if x is None: continue
                n = len(K.tensors[x][0])
                lab = ",".join(L[:n])
                how = "" if n == 0 or r.random() < .6 else " as " + r.choice(WRITTEN if n == 2 else ["dense", "csf", "coo"])
                text = r.choice([f"state {s} = {x}", f"state {s}[{lab}]{how} = {x}[{lab}]", f"state {s}[{lab}]{how} = {x}[{lab}] * 2"])
            if self.try_lines([indent + text], end): states.append(s)
        if not states: return
        turns = r.choice([0, 1, 1, 2, 2, 3, 4])
        counter = "tuvw"[depth] + "t"
        begin = f"{indent}repeat {turns}{' as ' + counter if r.random() < .5 else ''} {{"
        keep = [f"{indent}  next {s} = {s}" for s in states]
        close = keep + [indent + "}"] + end
        if not self.try_lines([begin], close): return
        before, start = set(self.K.tensors) | set(self.K.tables), len(self.lines)
        left, inner, uses = list(states), [f"{indent}}}"] + end, counter if " as " in begin else None
        for _ in range(r.choice([0, 1, 2, 3])): self.statement(close, indent=indent + "  ")
        if depth == 0 and r.random() < .3: self.loop(1, indent + "  ", close)
        for k, s in enumerate(states):
            rest = [f"{indent}  next {x} = {x}" for x in states[k + 1:]] + inner
            self.next_of(s, uses, indent + "  ", rest, before)
        if uses and r.random() < .3:
            scalars = [x for x, t in self.K.tensors.items() if t[0] == () and x.upper() != x]
            self.try_lines([f"{indent}  trace log{s}({uses}{', ' + r.choice(scalars) if scalars else ''})"], inner)
        until = f" until {uses} >= {r.randint(0, 3)}" if uses and r.random() < .3 else ""
        if not self.try_lines([indent + "}" + until], end): self.try_lines([indent + "}"], end)
        if r.random() < .3: self.statement(end, indent=indent)

    def next_of(self, s, uses, indent, end, before):
        r, K = self.r, self.K
        tries = []
        if s in K.tables:
            t = [x for x, c in K.tables.items() if c == K.tables[s] and x != s]
            c = next(iter(K.tables[s]))
            tries = [f"next {s} = limit({r.choice(t)}, 20)" for _ in range(2) if t] + [f"next {s} = {r.choice(t)}" for _ in range(2) if t]
            tries += [f"next {s} = order({s}, [{c} desc])", f"next {s} = limit(union({s}, {s}), 20)", f"next {s} = select({s}, row() > 0)", f"next {s} = limit({s}, 5)"]
        elif s in K.tensors:
            e, dtype, sparse = K.tensors[s]
            lab = list(L[:len(e)])
            me = ref(s, lab)
            y = K.of_rank(r, len(e), e)
            how = "" if not e or r.random() < .6 else " as " + r.choice(WRITTEN if len(e) == 2 else ["dense", "csf", "coo"])
            zz = f"next {s}[{','.join(lab)}]{how}"
            tries += [f"next {s} = {y}", f"{zz} = {ref(y, lab)}", f"{zz} = {me} + {ref(y, lab)}", f"{zz} = {me} * {ref(y, lab)}", f"{zz} = clip({me} - 2 * {ref(y, lab)}, -5, 5)"]
            tries += [f"{zz} = max({me}, {ref(y, lab)})", f"{zz} = {me} * ({ref(y, lab)} > 0)", f"{zz} = {dtype}({me} * 2 + {ref(y, lab)})"]
            if len(e) == 2:
                fit = [x for x, t in K.tensors.items() if t[0] == (e[1], e[1])]
                if fit: tries += [f"{zz} = sum {s}[i,k] * {r.choice(fit)}[k,j]", f"{zz} = sum[k]({s}[i,k] * {r.choice(fit)}[j,k]) % 5", f"{zz} = max {s}[i,k] * {r.choice(fit)}[k,j]"] * 2
                fit = [x for x, t in K.tensors.items() if t[0] == (e[0], e[0])]
                if fit: tries += [f"{zz} = sum {r.choice(fit)}[i,k] * {s}[k,j]", f"{zz} = sum {r.choice(fit)}[k,i] * {s}[k,j]"]
                if e[0] == e[1]: tries += [f"next {s} = transpose({s})", f"{zz} = {s}[j,i]", f"{zz} = {s}[i,j] + {s}[j,i]"]
                tries += [f"next {s} = slice(stack({s}, {y}, 0), [1:{e[0] + 1}, :])", f"next {s} = reblock({y}, [2, 3])", f"next {s} = filter({s}, (i,j) -> i <= j)"]
            if len(e) == 1:
                fit = [x for x, t in K.tensors.items() if t[0] == (e[0], e[0])]
                if fit: tries += [f"{zz} = sum {r.choice(fit)}[i,k] * {s}[k]", f"{zz} = min {r.choice(fit)}[i,k] + {s}[k]", f"{zz} = sum {r.choice(fit)}[k,i] * {s}[k]"] * 2
            if uses: tries += [f"{zz} = {me} * ({uses} % 2)", f"{zz} = if({uses} == 1, {ref(y, lab)}, {me})"]
            tries.append(f"{zz} = {me} * 2")
        r.shuffle(tries)
        for t in tries[:8]:
            if self.try_lines([indent + t], end): return
        self.try_lines([f"{indent}next {s} = {s}"], end)


def draw(r, named):
    head = [f'input {x} from "{f}"' + (f' ({o})' if o else "") for x, (f, _, o) in named.items()]
    w = Writer(r, head)
    if w.problem or not w.K.tensors and not w.K.tables: return w, []
    for _ in range(r.randint(1, 3)): w.statement([])
    for _ in range(r.choice([0, 1, 1, 1, 2])):
        w.loop()
        for _ in range(r.choice([0, 0, 1, 2])): w.statement([])
        if w.problem: return w, []
    # outputs: what nobody reads, states alone, values from before loops, some of them in a storage
    every = [x for x in list(w.K.tensors) + list(w.K.tables) if x not in named]
    every = every or list(named)
    alone = [x for x in every if x.isupper()]
    chosen = set(r.sample(every, min(len(every), r.choice([1, 1, 2, 3]))) + (r.sample(alone, 1) if alone and r.random() < .6 else []))
    outputs = []
    for x in sorted(chosen):
        how = ""
        if x in w.K.tensors and w.K.tensors[x][0] and r.random() < .4: how = " as " + r.choice(WRITTEN if len(w.K.tensors[x][0]) == 2 else ["dense", "csf", "coo"])
        if w.try_lines([f'output {x} to "o-{x}.h5"{how}'], []): outputs.append(x)
    return w, outputs
