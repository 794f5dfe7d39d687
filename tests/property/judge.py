#!/usr/bin/env python3
"""The outside judge of the property tests: every operator once more, with numpy, on dicts of {key: array}.

Reads programs as the driver describes them (one JSON object a file: inputs with their values, operators with their
arguments, and the results of the reference evaluator) and compares. Knows nothing of tra but the language."""

import itertools
import json
import sys

import numpy as np


class Relation:
    """tuples: {key: array}; cut: for each array dimension the set of key dimensions that cut it."""

    def __init__(self, keys, rank, dtype, tuples, cut, bound=None):
        """bound: what the operator makes of its inputs' bounds (None: nothing). It counts where tuples may be missing."""
        self.keys, self.rank, self.dtype, self.cut = keys, rank, dtype, cut
        with np.errstate(all="ignore"):
            self.tuples = {k: np.asarray(a, np.float64).astype(dtype).astype(np.float64) for k, a in tuples.items()}
        shapes = [a.shape for a in self.tuples.values()]
        self.bound = tuple(max(s[d] for s in shapes) for d in range(rank)) if shapes else (0,) * rank
        if bound is not None and len(bound) == rank and not self.complete():
            self.bound = tuple(map(max, self.bound, bound))

    def complete(self):
        """Every key of the box exists; extents differ only at the last value of one key."""
        ends = [max((k[d] for k in self.tuples), default=-1) for d in range(self.keys)]
        if not self.tuples or np.prod([n + 1 for n in ends], dtype=int) != len(self.tuples):
            return False

        def regular(d):
            return any(all(len({a.shape[d] for k, a in self.tuples.items() if (c >= 0 and k[c] == ends[c]) == last}) <= 1
                           for last in (False, True)) for c in range(-1, self.keys))
        return all(regular(d) for d in range(self.rank))


# ---- expressions --------------------------------------------------------------------------------------------------


def key_value(x, key):
    if not isinstance(x, list):
        return int(x)
    op, *args = x
    if op == "x":
        return key[args[0]]
    if op == "&&":
        return int(bool(key_value(args[0], key)) and bool(key_value(args[1], key)))
    if op == "||":
        return int(bool(key_value(args[0], key)) or bool(key_value(args[1], key)))
    v = [key_value(a, key) for a in args]
    return int({
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b,
        "%": lambda a, b: a % b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "min": min, "max": max,
        "neg": lambda a: -a, "!": lambda a: not a, "abs": abs}[op](*v))


def key_variables(x):
    if not isinstance(x, list):
        return set()
    return {x[1]} if x[0] == "x" else set().union(*[key_variables(a) for a in x[1:]])


SCALARS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power, "max": np.maximum, "min": np.minimum,
    "<": lambda a, b: np.less(a, b) * 1.0, "<=": lambda a, b: np.less_equal(a, b) * 1.0,
    ">": lambda a, b: np.greater(a, b) * 1.0, ">=": lambda a, b: np.greater_equal(a, b) * 1.0,
    "==": lambda a, b: np.equal(a, b) * 1.0, "!=": lambda a, b: np.not_equal(a, b) * 1.0,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "relu": lambda a: np.maximum(a, 0.0), "square": lambda a: a * a,
    "relu_grad": lambda a: (a > 0) * 1.0}


def scalar_value(x, args):
    if not isinstance(x, list):
        return np.float64(x)
    if x[0] == "x":
        return args[x[1]]
    return SCALARS[x[0]](*[scalar_value(a, args) for a in x[1:]])


# ---- kernels: each gives the array, and the cut sets of its dimensions ------------------------------------------------


def map_shape(parts, z):
    try:
        for p in parts:
            z, _ = apply_map(p, z, [set()] * z.ndim)
    except ValueError:
        return None  # no array has these extents
    return z.shape


def einsum(text, *arrays):
    """All products, then their sum. (np.einsum alone may sum before it multiplies, which differs for infinities.)"""
    left, out = text.split("->")
    rest = "".join(sorted(set(left) - set(out) - {","}))
    products = np.einsum(left + "->" + out + rest, *arrays)
    return products.sum(axis=tuple(range(len(out), len(out) + len(rest))))


def apply_map(part, a, cut):
    if isinstance(part, dict) and "einsum" in part:
        labels, out = part["einsum"].split("->")
        return einsum(part["einsum"], a), [cut[labels.index(c)] for c in out]
    if isinstance(part, dict):
        return np.broadcast_to(scalar_value(part["fn"], [a]), a.shape), cut
    if isinstance(part, list):
        return a * part[1], cut
    if part == "diag":
        return np.diagonal(a), [cut[0] or cut[1]]
    if part == "transpose":
        return a.transpose(), cut[::-1]
    if part in ("rowsum", "rowmax", "rowmin"):
        return {"rowsum": np.sum, "rowmax": np.max, "rowmin": np.min}[part](a, axis=-1), cut[:-1]
    if part == "colsum":
        return a.sum(axis=0), cut[1:]
    if part == "softmax":
        y = np.exp(a - a.max(axis=-1, keepdims=True))
        return y / y.sum(axis=-1, keepdims=True), cut
    return SCALARS[part](a), cut


STRETCH = {"matvecadd": np.add, "matvecsub": np.subtract, "matvecmul": np.multiply, "matvecdiv": np.divide}
EQUAL = {"matadd": np.add, "matsub": np.subtract, "elemmul": np.multiply, "elemdiv": np.divide, "elemmax": np.maximum,
         "elemmin": np.minimum}


def pair_cut(stretch, cx, cy, bx, by):
    n = max(len(cx), len(cy))
    out = []
    for d in range(n):
        dx, dy = d - (n - len(cx)), d - (n - len(cy))
        out.append(cy[dy] if dx < 0 or (stretch and dy >= 0 and bx[dx] == 1) else cx[dx])
    return out


def may_meet(x, y, bx, by):
    """numpy also stretches what the language does not: an array of one element in a relation whose bound is more."""
    n = max(x.ndim, y.ndim)
    for d in range(n):
        dx, dy = d - (n - x.ndim), d - (n - y.ndim)
        if dx >= 0 and dy >= 0 and x.shape[dx] != y.shape[dy]:
            assert bx[dx] == 1 or by[dy] == 1, "extents %s and %s" % (x.shape, y.shape)


def apply_join(part, x, y, cx, cy, bx, by):
    if isinstance(part, dict) and "einsum" in part:
        left, out = part["einsum"].split("->")
        lx, ly = left.split(",")
        return einsum(part["einsum"], x, y), [cx[lx.index(c)] if c in lx else cy[ly.index(c)] for c in out]
    if part == "matmul":
        return einsum("ij,jk->ik", x, y), [cx[0], cy[1]]
    if part == "outer":
        return np.multiply.outer(x, y), cx + cy
    may_meet(x, y, bx, by)
    if isinstance(part, dict):
        z = scalar_value(part["fn"], [x, y])
        return np.broadcast_to(z, np.broadcast(x, y).shape), pair_cut(True, cx, cy, bx, by)
    if part in EQUAL:
        assert x.shape == y.shape, "%s of %s and %s" % (part, x.shape, y.shape)
    return (STRETCH.get(part) or EQUAL[part])(x, y), pair_cut(part in STRETCH, cx, cy, bx, by)


AGGREGATES = {"matadd": (np.add, 0.0), "elemmul": (np.multiply, 1.0), "elemmax": (np.maximum, -np.inf),
              "elemmin": (np.minimum, np.inf)}


def extreme(which, members, rel):
    """members: [(key, array)]; the extreme value and its index in the whole tensor."""
    place, shape = layout(rel)
    best = None
    for key, a in members:
        for at in itertools.product(*[range(n) for n in a.shape]):
            v = a[at]
            whole = [place(key)[d] + at[d] for d in range(len(at))]
            index = 0
            for w, n in zip(whole, shape):
                index = index * n + w
            rank = (0 if np.isnan(v) else 1, 0 if np.isnan(v) else v if which == "minindex" else -v, index)
            if best is None or rank < best[0]:
                best = (rank, v, index)
    return np.array([best[1], best[2]], np.float64)


def layout(rel):
    """The tensor that a relation in tensor layout stands for: where a key's array begins in it, and its shape."""
    bound = rel.bound
    by, shape = [], []
    for d in range(rel.rank):
        assert len(rel.cut[d]) <= 1, "not in tensor layout"
        k = next(iter(rel.cut[d]), None)
        by.append(k)
        if k is None:
            shape.append(bound[d])
        else:
            last = max((key[k] for key in rel.tuples), default=0)
            ends = [a.shape[d] for key, a in rel.tuples.items() if key[k] == last]
            shape.append(last * bound[d] + (ends[0] if ends else 0))
    return lambda key: [0 if by[d] is None else key[by[d]] * bound[d] for d in range(rel.rank)], shape


# ---- operators ------------------------------------------------------------------------------------------------------


def do_join(op, x, y):
    l, r = op["l"], op["r"]
    place, k = {}, x.keys
    for d in range(y.keys):
        if d in r:
            place[d] = l[r.index(d)]
        else:
            place[d] = k
            k += 1
    cy = [{place[key] for key in s} for s in y.cut or []]
    bx, by = x.bound, y.bound
    dtype = x.dtype if x.dtype == y.dtype else np.float64
    parts = rounded(op["kernel"], dtype)
    out, cut = {}, None
    for kx, a in x.tuples.items():
        for ky, b in y.tuples.items():
            if [kx[d] for d in l] != [ky[d] for d in r]:
                continue
            z, cut = apply_join(parts[0], a, b, x.cut, cy, bx, by)
            for p in parts[1:]:
                z, cut = apply_map(p, z, cut)
            out[kx + tuple(ky[d] for d in range(y.keys) if d not in r)] = z
    try:
        assert x.tuples and y.tuples
        z, c = apply_join(parts[0], np.zeros(bx), np.zeros(by), x.cut or [set()] * x.rank, cy or [set()] * y.rank, bx, by)
        for p in parts[1:]:
            z, c = apply_map(p, z, c)
        bound = z.shape
    except (AssertionError, ValueError):
        bound = None  # bounds that no pair of arrays has together
    return Relation(k, len(cut) if cut is not None else 0, dtype, out, cut, bound)


def do_agg(op, x):
    group, parts = op["group"], rounded(op["kernel"], x.dtype)
    index = parts[0] in ("minindex", "maxindex")
    groups = {}
    for key in sorted(x.tuples):
        groups.setdefault(tuple(key[d] for d in group), []).append((key, x.tuples[key]))
    out = {}
    cut0 = [{group.index(k) for k in s} if all(k in group for k in s) else set() for s in x.cut or []]
    cut = [set()] if index else cut0
    for key, members in groups.items():
        if index:
            z = extreme(parts[0], members, x)
        else:
            f, identity = AGGREGATES[parts[0]]
            z = np.full([max(a.shape[d] for _, a in members) for d in range(x.rank)], identity)
            for _, a in members:
                box = tuple(slice(0, n) for n in a.shape)
                z[box] = f(z[box], a)
        c = cut
        for p in parts[1:]:
            z, c = apply_map(p, z, c)
        out[key] = z
    if groups:
        cut = c
    bound = None
    if groups:
        z = np.zeros(2 if index else x.bound)
        bound = map_shape(parts[1:], z)
    return Relation(len(group), len(cut), np.float64 if index else x.dtype, out, cut, bound)


def do_rekey(op, x):
    fs = op["key"]
    out = {}
    for key, a in x.tuples.items():
        new = tuple(key_value(f, key) for f in fs)
        assert new not in out and all(v >= 0 for v in new), "rekey of %s to %s" % (key, new)
        out[new] = a
    cut = []
    for s in x.cut or []:
        hits = [i for i, f in enumerate(fs) if s and key_variables(f) == s]
        cut.append({hits[0]} if hits else set())
    return Relation(len(fs), x.rank, x.dtype, out, cut, x.bound)


def do_filter(op, x):
    return Relation(x.keys, x.rank, x.dtype, {k: a for k, a in x.tuples.items() if key_value(op["keep"], k)}, x.cut, x.bound)


def do_transform(op, x):
    out, cut = {}, None
    for key, a in x.tuples.items():
        z, cut = a, x.cut
        for p in rounded(op["kernel"], x.dtype):
            z, cut = apply_map(p, z, cut)
        out[key] = z
    bound = None
    if x.tuples:
        z = np.zeros(x.bound)
        bound = map_shape(op["kernel"], z)
    return Relation(x.keys, len(cut) if cut is not None else 0, x.dtype, out, cut, bound)


def do_tile(op, x):
    dim, size = op["dim"], op["size"]
    out = {}
    for key, a in x.tuples.items():
        for i, start in enumerate(range(0, a.shape[dim], size)):
            out[key + (i,)] = np.take(a, range(start, min(start + size, a.shape[dim])), axis=dim)
    cut = [s | {x.keys} if d == dim else s for d, s in enumerate(x.cut or [])]
    bound = tuple(min(n, size) if d == dim else n for d, n in enumerate(x.bound))
    return Relation(x.keys + 1, x.rank, x.dtype, out, cut, bound)


def do_concat(op, x):
    kd, dim = op["keydim"], op["dim"]
    groups = {}
    for key in x.tuples:
        groups.setdefault(key[:kd] + key[kd + 1:], []).append(key)
    out = {}
    for rest, members in groups.items():
        members.sort(key=lambda k: k[kd])
        assert [k[kd] for k in members] == list(range(len(members))), "concat over a gap"
        out[rest] = np.concatenate([x.tuples[k] for k in members], axis=dim)
    cut = [{k - (k > kd) for k in s if k != kd} for s in x.cut or []]
    return Relation(x.keys - 1, x.rank, x.dtype, out, cut, tuple(0 if d == dim else n for d, n in enumerate(x.bound)))


def do_repart(op, x):
    cut = [{d} for d in range(x.rank)]
    if not x.tuples and op["bound"]:
        return Relation(x.keys, x.rank, x.dtype, {}, cut)
    place, shape = layout(x)
    whole = np.zeros(shape)
    for key, a in x.tuples.items():
        whole[tuple(slice(o, o + n) for o, n in zip(place(key), a.shape))] = a
    if "parts" in op:
        block = [-(-n // d) for n, d in zip(shape, op["parts"])]
    else:
        block = op["blocks"]
    out = {}
    for key in itertools.product(*[range(-(-n // b)) for n, b in zip(shape, block)]):
        out[key] = whole[tuple(slice(k * b, (k + 1) * b) for k, b in zip(key, block))]
    return Relation(x.rank, x.rank, x.dtype, out, cut)


def whole(x, shape):
    """The tensor that x stands for; holes are zeros."""
    out = np.zeros(shape)
    if x.tuples:
        place, _ = layout(x)
        for key, a in x.tuples.items():
            out[tuple(slice(o, o + n) for o, n in zip(place(key), a.shape))] = a
    return out


def in_blocks(z, block, dtype):
    keys = itertools.product(*[range(-(-n // b)) for n, b in zip(z.shape, block)])
    tuples = {key: z[tuple(slice(k * b, (k + 1) * b) for k, b in zip(key, block))] for key in keys}
    return Relation(z.ndim, z.ndim, dtype, tuples, [{d} for d in range(z.ndim)])


FOLDS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def do_einsum(op, *xs):
    """By the definition: the expression for every combination of the labels, then the aggregation."""
    extents = op["extents"]
    labels = sorted({c for ref in op["refs"] for c in ref})
    args, used = [], set()
    types = {xs[i].dtype for i in key_variables(op["expr"])}
    dtype = types.pop() if len(types) == 1 else np.float64
    for x, ref in zip(xs, op["refs"]):
        a = whole(x, [extents[c] for c in ref])
        own = sorted(set(ref))
        a = np.einsum(a, [labels.index(c) for c in ref], [labels.index(c) for c in own])
        args.append(a.reshape([extents[c] if c in own else 1 for c in labels]))
    expr = rounded([op["expr"]], dtype)[0]
    for i in key_variables(op["expr"]):
        used |= set(op["refs"][i])
    z = np.broadcast_to(scalar_value(expr, args), [extents[c] if c in used else 1 for c in labels])
    gone = tuple(n for n, c in enumerate(labels) if c in used and c not in op["left"])
    if gone:
        z = FOLDS[op["fold"]](z, axis=gone, keepdims=True)
    kept = [c for c in labels if c in op["left"]]
    z = z.reshape([extents[c] for c in kept]).transpose([kept.index(c) for c in op["left"]])
    return in_blocks(z, op["bound"], dtype)


def tensor_shape(x):
    return layout(x)[1]


def do_softmax(op, x):
    if not x.tuples:
        return in_blocks(np.zeros([0] * len(op["bound"])), op["bound"], x.dtype)
    z = whole(x, tensor_shape(x))
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    z = z / z.sum(axis=-1, keepdims=True)
    return in_blocks(z, op["bound"], x.dtype)


def do_transpose(op, x):
    if not x.tuples and op["bound"]:
        return in_blocks(np.zeros([0] * len(op["bound"])), op["bound"], x.dtype)
    return in_blocks(whole(x, tensor_shape(x)).transpose(), op["bound"], x.dtype)


def rounded(parts, dtype):
    """Numbers that a program writes take the relation's type."""
    def walk(p):
        if isinstance(p, list) and p and p[0] == "x":
            return p
        if isinstance(p, list):
            return [walk(v) for v in p]
        if isinstance(p, dict):
            return {k: walk(v) for k, v in p.items()}
        return float(dtype(p)) if isinstance(p, (int, float)) else p
    return [walk(p) for p in parts]


OPERATORS = {"join": do_join, "agg": do_agg, "rekey": do_rekey, "filter": do_filter, "transform": do_transform,
             "tile": do_tile, "concat": do_concat, "repart": do_repart, "reblock": do_repart, "einsum": do_einsum,
             "softmax": do_softmax, "transpose": do_transpose}


# ---- comparison -----------------------------------------------------------------------------------------------------


def compare(name, mine, theirs):
    dtype = {"f64": np.float64, "f32": np.float32}[theirs["dtype"]]
    if mine.dtype != dtype:
        return "%s is %s, not %s" % (name, theirs["dtype"], np.dtype(mine.dtype).name)
    got = {tuple(t["key"]): t for t in theirs["tuples"]}
    if set(got) != set(mine.tuples):
        return "%s has the keys %s, not %s" % (name, sorted(got), sorted(mine.tuples))
    for key, want in mine.tuples.items():
        t = got[key]
        if tuple(t["ext"]) != want.shape:
            return "%s%s is of extents %s, not %s" % (name, key, t["ext"], want.shape)
        v, w = np.array(t["data"], np.float64), want.ravel()
        tol = np.array(t.get("tol", np.zeros(v.shape)), np.float64)
        with np.errstate(all="ignore"):
            good = (v == w) | (np.isnan(v) & np.isnan(w)) | (np.abs(v - w) <= tol) | np.isinf(tol)
        if not good.all():
            i = int(np.argmin(good))
            return "%s%s element %d is %.17g, not %.17g (tolerance %g)" % (name, key, i, v[i], w[i], tol[i])
    return None


def judge(program):
    have = {}
    for x in program["inputs"]:
        dtype = {"f64": np.float64, "f32": np.float32}[x["dtype"]]
        tuples = {tuple(t["key"]): np.array(t["data"], np.float64).reshape(t["ext"]) for t in x["tuples"]}
        have[x["name"]] = Relation(x["keys"], x["rank"], dtype, tuples, [{d} for d in range(x["rank"])], x["bound"])
    for op in program["operators"]:
        with np.errstate(all="ignore"):
            have[op["name"]] = OPERATORS[op["op"]](op, *[have[i] for i in op["in"]])
    for name, theirs in program["results"].items():
        wrong = compare(name, have[name], theirs)
        if wrong:
            return wrong
    return None


def main():
    failed = judged = 0
    for path in sys.argv[1:] or sys.stdin.read().split():
        with open(path, encoding="utf-8") as f:
            program = json.load(f)
        try:
            wrong = judge(program)
        except AssertionError as e:
            wrong = "the judge refuses what the type checker took: %s" % e
        judged += 1
        if wrong:
            failed += 1
            print("# %s: seed %d, program %d: %s" % (path, program["seed"], program["index"], wrong))
    print("%d judged, %d failed" % (judged, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
