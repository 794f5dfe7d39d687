#!/usr/bin/env python3
"""The outside judge of the property tests: every operator written once more, with numpy, on dicts of {key: array}.

Reads programs as the driver describes them (one JSON object a file: inputs with their values, operators with their
arguments, and the results of the reference evaluator) and compares. Knows nothing of tra but the language."""

import itertools
import json
import math
import sys

import numpy as np


# ---- element types --------------------------------------------------------------------------------------------------
# Floats are arrays of float64; integers and bools are arrays of Python's own integers, which have no limits, and are
# compared with the limits of their type.

FLOATS = {"f64": np.float64, "f32": np.float32}
LIMITS = {"i64": (-2**63, 2**63 - 1), "i32": (-2**31, 2**31 - 1), "bool": (0, 1)}


class Overflow(Exception):
    pass


def checked(t, a):
    """The elements as type t has them: floats rounded; raises Overflow where an integer does not fit."""
    if t in FLOATS:
        return np.asarray(a, np.float64).astype(FLOATS[t]).astype(np.float64)
    a = np.asarray(a, object)
    least, most = LIMITS[t]
    if a.size and (a.min() < least or a.max() > most):
        raise Overflow()
    return a


def wider_type(a, b):
    """The type that holds values of both types."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    return "f64" if a in FLOATS or b in FLOATS else "i64"


def sum_type(t):
    return t if t in FLOATS else "i64"


def real_type(t):
    return t if t in FLOATS else "f64"


def floats(a):
    return np.asarray(a, np.float64)


def zeros(t, shape):
    return np.zeros(shape) if t in FLOATS else np.full(shape, 0, object)


class Value:
    """An array of elements of type t; t None: a number in the text of the program. sparse: it is of sparse type, and
    where it is 0 as a factor or dividend, the result is 0. only_sparse: it is computed of numbers and arrays of sparse
    type alone; at_zero: its value then where all of these are 0."""

    def __init__(self, t, a, sparse=False):
        self.t, self.a, self.sparse = t, a, sparse
        self.only_sparse = sparse or t is None
        self.at_zero = a if t is None else 0


def number_type(v, t):
    """The type that a number takes beside elements of type t."""
    if t in FLOATS:
        return t
    if v != np.rint(v) or abs(v) >= 2.0**63:
        return "f64"
    return "i64" if t == "i64" or not -2**31 <= v < 2**31 else "i32"


def common_type(x, y):
    tx = number_type(x.a, y.t) if x.t is None else x.t
    ty = number_type(y.a, x.t) if y.t is None else y.t
    return wider_type(tx, ty)


def as_type(x, t):
    """The elements of x, converted to type t."""
    if t in FLOATS:
        v = floats(x.a)
        return v.astype(FLOATS[t]).astype(np.float64) if x.t is None else v
    return np.array(int(x.a), object) if x.t is None else x.a


class Relation:
    """tuples: {key: array}; cut: for each array dimension the set of key dimensions that cut it."""

    def __init__(self, keys, rank, dtype, tuples, cut, bound=None, sparse=False):
        """bound: what the operator makes of the bounds of its inputs, or None. It is used where tuples are missing, so
        that arrays do not show the bound."""
        self.keys, self.rank, self.dtype, self.cut, self.sparse = keys, rank, dtype, cut, sparse
        with np.errstate(all="ignore"):
            self.tuples = {k: checked(dtype, a) for k, a in tuples.items()}
        shapes = [a.shape for a in self.tuples.values()]
        self.bound = tuple(max(s[d] for s in shapes) for d in range(rank)) if shapes else (0,) * rank
        if bound is not None and len(bound) == rank and not self.complete():
            self.bound = tuple(map(max, self.bound, bound))

    def complete(self):
        """Does every key of a box exist, and do extents differ only at the last value of one key?"""
        ends = [max((k[d] for k in self.tuples), default=-1) for d in range(self.keys)]
        if not self.tuples or np.prod([n + 1 for n in ends], dtype=int) != len(self.tuples):
            return False

        def regular(d):
            def shapes(c, last):
                return {a.shape[d] for k, a in self.tuples.items() if (c >= 0 and k[c] == ends[c]) == last}
            return any(all(len(shapes(c, last)) <= 1 for last in (False, True)) for c in range(-1, self.keys))
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


COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
           "!=": np.not_equal}
TRUTH = {"&&": lambda a, b: (a != 0) & (b != 0), "||": lambda a, b: (a != 0) | (b != 0), "!": lambda a: a == 0,
         "isnan": lambda a: a != a, "isinf": lambda a: (a == np.inf) | (a == -np.inf)}
REAL = {"/": np.divide, "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "erf": np.vectorize(math.erf, otypes=[np.float64]),
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
        **{f: getattr(np, f) for f in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
                                       "tanh", "hypot")}}
ROUND = {"floor": np.floor, "ceil": np.ceil, "round": np.round, "trunc": np.trunc}
ANY = {"+": np.add, "-": np.subtract, "*": np.multiply, "max": np.maximum, "min": np.minimum, "neg": np.negative,
       "abs": np.abs, "relu": lambda a: np.maximum(a, 0), "square": lambda a: a * a, "^": np.power,
       "relu_grad": lambda a: np.where(a > 0, 1, 0), "sign": np.sign,
       "mod": lambda a, b: np.mod(a, b) if np.asarray(a).dtype != object else
       np.frompyfunc(lambda m, n: m % n if n else 0, 2, 1)(a, b)}


def choose(c, x, y):
    """if(c, x, y). Two numbers have the types that they have beside bools."""
    if c.t is None and x.t is None and y.t is None:
        return x if c.a != 0 else y
    only_sparse, at_zero = c.only_sparse and x.only_sparse and y.only_sparse, x.at_zero if c.at_zero != 0 else y.at_zero
    if x.t is None and y.t is None:
        x, y = (Value(number_type(v.a, "bool"), as_type(v, number_type(v.a, "bool"))) for v in (x, y))
    t = common_type(x, y)
    z = np.where(np.asarray(c.a != 0, bool), as_type(x, t), as_type(y, t))
    r = Value(t, floats(z) if t in FLOATS else np.asarray(z, object))
    r.only_sparse, r.at_zero = only_sparse, at_zero if only_sparse else 0
    r.sparse = only_sparse and at_zero == 0
    return r


def apply(op, xs, wide=False):
    """Finds, too, whether the result is of sparse type. Where a factor or dividend of sparse type is 0, so is it."""
    y = xs[-1]
    z = element_wise(op, xs, wide)
    if z.t is None:
        return z
    kills = [v for v in (xs if op in ("*", "square") else xs[:1] if op == "/" else []) if v.sparse]
    for v in kills:
        z.a = np.where(np.broadcast_to(v.a == 0, z.a.shape), 0, z.a)
        z.a = floats(z.a) if z.t in FLOATS else np.asarray(z.a, object)
    # mod by 0 gives different values in different types
    z.only_sparse = all(v.only_sparse for v in xs) and not (op == "mod" and y.at_zero == 0)
    if z.only_sparse and not kills:
        f = COMPARE.get(op) or TRUTH.get(op) or REAL.get(op) or ROUND.get(op) or ANY[op]
        z.at_zero = float(f(*[np.float64(v.at_zero) for v in xs]))
    z.sparse = bool(kills) or (z.only_sparse and z.at_zero == 0)
    if z.sparse:
        z.only_sparse, z.at_zero = True, 0
    return z


def element_wise(op, xs, wide):
    """wide: arithmetic of integers gives i64, as it does inside a sum or a product over labels."""
    x, y = xs[0], xs[-1]
    if x.t is None and y.t is None:
        f = COMPARE.get(op) or TRUTH.get(op) or REAL.get(op) or ROUND.get(op) or ANY[op]
        return Value(None, np.float64(f(*[v.a for v in xs]) * 1.0))
    t = common_type(x, y)
    if op in COMPARE:
        return Value("bool", np.asarray(COMPARE[op](as_type(x, t), as_type(y, t)), object) * 1)
    if op in TRUTH:
        return Value("bool", np.asarray(TRUTH[op](*[as_type(v, t) for v in xs]), object) * 1)
    if op in ROUND:
        v = as_type(x, t)
        return Value(t, ROUND[op](v) if t in FLOATS else v)
    if op in REAL:
        t = real_type(t)
        return Value(t, REAL[op](*[as_type(v, t) for v in xs]))
    if op == "^":
        whole = y.t is None and y.a >= 0 and y.a == np.rint(y.a)
        t = x.t if whole and x.t is not None else real_type(t)
    if t not in FLOATS:
        if wide and op in ("+", "-", "*", "neg", "abs", "^", "square"):
            t = "i64"
        elif t == "bool" and op in ("+", "-", "neg"):
            t = "i32"
    z = ANY[op](*[as_type(v, t) for v in xs])
    return Value(t, floats(z) if t in FLOATS else checked(t, z))


def aggregate(word, v, axes, shape, keep):
    """Aggregates over these axes, along which v is stretched to `shape`. keep: they stay, with extent 1."""
    v = Value(v.t, np.broadcast_to(v.a, [n if a in axes else m for a, (n, m) in enumerate(zip(shape, v.a.shape))]),
              v.sparse)
    terms = int(np.prod([shape[a] for a in axes], dtype=int))
    if word == "mean":
        r = reduce("sum", v, axes)
        r = Value(real_type(r.t), as_type(Value(r.t, r.a), real_type(r.t)) / terms)
        r = Value(r.t, checked(r.t, r.a), v.sparse)
    elif word in ("argmin", "argmax"):
        a = v.a if v.t in FLOATS else v.a.astype(object)
        r = Value("i64", np.asarray(getattr(np, word)(a, axis=axes[0]), object))
    else:
        r = reduce(word, v, axes)
    if keep:
        r = Value(r.t, r.a.reshape([1 if a in axes else n for a, n in enumerate(v.a.shape)]), r.sparse)
    return r


def evaluate(x, args, wide):
    if isinstance(x, list) and x[0] == "agg":
        v = evaluate(x[3], args, x[1] in ("sum", "prod", "mean"))
        v = Value(v.t, checked(v.t, v.a), v.sparse)
        r = aggregate(x[1], v, [args.labels.index(c) for c in x[2]], args.shape, True)
        return Value(r.t, checked(r.t, r.a), r.sparse)
    if isinstance(x, list) and x[0] == "index":
        at = args.labels.index(x[1])
        a = np.array(list(range(args.shape[at])), object)
        return Value("i64", a.reshape([len(a) if d == at else 1 for d in range(len(args.shape))]))
    if not isinstance(x, list):
        return Value(None, np.float64(x))
    if x[0] == "x":
        return args[x[1]]
    if x[0] == "if":
        return choose(*[evaluate(a, args, wide) for a in x[1:]])
    return apply(x[0], [evaluate(a, args, wide) for a in x[1:]], wide)


def scalar_value(x, args, wide=False):
    r = evaluate(x, args, wide)
    if r.t is not None:
        return r
    t = args[0].t
    for a in args[1:]:
        t = wider_type(t, a.t)
    t = number_type(r.a, t)
    return Value(t, as_type(r, t))  # an expression that is a number is dense


def fold_type(fold, t):
    return t if fold in ("max", "min") else sum_type(t)


def identity(fold, t):
    if fold in ("sum", "prod"):
        return {"sum": 0, "prod": 1}[fold]
    if t in FLOATS:
        return {"max": -np.inf, "min": np.inf}[fold]
    return LIMITS[t][0 if fold == "max" else 1]


UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def reduce(fold, v, axes):
    """Folds over these axes, the last one first, in the type of the result."""
    t = fold_type(fold, v.t)
    a = v.a
    gone = (a == 0).any(axis=tuple(axes)) if fold == "prod" and v.sparse else False
    for axis in sorted(axes, reverse=True):
        a = UFUNCS[fold].reduce(a, axis=axis, initial=identity(fold, v.t))
    a = np.where(gone, 0, a)
    a = np.asarray(a, object if t not in FLOATS else np.float64)
    return Value(t, checked(t, a) if t not in FLOATS else a, v.sparse)


# ---- kernels: each gives the array, and the cut sets of its dimensions ----------------------------------------------


def map_result(parts, v):
    """What maps make of v, an array of zeros, to learn its extents and type; None: no array can have these extents."""
    try:
        for p in parts:
            v, _ = apply_map(p, v, [set()] * v.a.ndim)
    except ValueError:
        return None
    return v


def zero_array(t, shape, sparse=False):
    return Value(t, zeros(t, shape), sparse)


def einsum(text, *values):
    """All products, then their sum. (np.einsum may sum before it multiplies, which gives other infinities and NaN.)"""
    left, out = text.split("->")
    rest = "".join(sorted(set(left) - set(out) - {","}))
    labels, aligned, extent = out + rest, [], {}
    for v, own in zip(values, left.split(",")):
        if v.a.ndim != len(own) or any(extent.setdefault(c, n) != n for c, n in zip(own, v.a.shape)):
            raise ValueError("extents")
        once = sorted(set(own), key=labels.index)
        at = np.ix_(*[range(extent[c]) for c in once]) if once else ()
        a = v.a[tuple(at[once.index(c)] for c in own)] if own else v.a
        aligned.append(Value(v.t, a.reshape([extent[c] if c in once else 1 for c in labels]), v.sparse))
    v = aligned[0] if len(aligned) == 1 else apply("*", aligned, bool(rest))
    return reduce("sum", v, range(len(out), len(labels))) if rest else v


def apply_map(part, v, cut):
    a = v.a
    if isinstance(part, dict) and "einsum" in part:
        labels, out = part["einsum"].split("->")
        return einsum(part["einsum"], v), [cut[labels.index(c)] for c in out]
    if isinstance(part, dict):
        z = scalar_value(part["fn"], [v])
        return Value(z.t, np.broadcast_to(z.a, a.shape), z.sparse), cut
    if isinstance(part, list):
        return apply("*", [v, Value(None, np.float64(part[1]))]), cut
    if part in ("densify", "sparsify"):
        return Value(v.t, a, part == "sparsify"), cut
    if part == "diag":
        return Value(v.t, np.diagonal(a), v.sparse), [cut[0] or cut[1]]
    if part == "transpose":
        return Value(v.t, a.transpose(), v.sparse), cut[::-1]
    if part in ("rowsum", "rowmax", "rowmin"):
        if not a.ndim:
            raise ValueError("a row of a scalar")
        return reduce(part[3:], v, [a.ndim - 1]), cut[:-1]
    if part == "colsum":
        return reduce("sum", v, [0]), cut[1:]
    if part == "softmax":
        t, a = real_type(v.t), floats(a)
        y = np.exp(a - a.max(axis=-1, keepdims=True, initial=-np.inf))
        return Value(t, y / y.sum(axis=-1, keepdims=True)), cut
    return apply(part, [v]), cut


STRETCH = {"matvecadd": "+", "matvecsub": "-", "matvecmul": "*", "matvecdiv": "/"}
EQUAL = {"matadd": "+", "matsub": "-", "elemmul": "*", "elemdiv": "/", "elemmax": "max", "elemmin": "min"}


def pair_cut(stretch, cx, cy, bx, by):
    n = max(len(cx), len(cy))
    out = []
    for d in range(n):
        dx, dy = d - (n - len(cx)), d - (n - len(cy))
        out.append(cy[dy] if dx < 0 or (stretch and dy >= 0 and bx[dx] == 1) else cx[dx])
    return out


def check_extents(x, y, bx, by):
    """Arrays of extent 1 are stretched only where that is the bound of their relation; numpy would stretch any."""
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
        a = Value(x.t, x.a.reshape(x.a.shape + (1,) * y.a.ndim), x.sparse)
        return apply("*", [a, y]), cx + cy
    check_extents(x.a, y.a, bx, by)
    if isinstance(part, dict):
        z = scalar_value(part["fn"], [x, y])
        z = Value(z.t, np.broadcast_to(z.a, np.broadcast(x.a, y.a).shape), z.sparse)
        return z, pair_cut(True, cx, cy, bx, by)
    if part in EQUAL:
        assert x.a.shape == y.a.shape, "%s of %s and %s" % (part, x.a.shape, y.a.shape)
    return apply(STRETCH.get(part) or EQUAL[part], [x, y]), pair_cut(part in STRETCH, cx, cy, bx, by)


AGGREGATES = {"matadd": "sum", "elemmul": "prod", "elemmax": "max", "elemmin": "min"}


def extreme(which, members, rel):
    """Of members [(key, array)]: the extreme value, and its index in the whole tensor."""
    place, shape = layout(rel)
    best = None
    for key, a in members:
        for at in itertools.product(*[range(n) for n in a.shape]):
            v = float(a[at])
            whole = [place(key)[d] + at[d] for d in range(len(at))]
            index = 0
            for w, n in zip(whole, shape):
                index = index * n + w
            rank = (0 if np.isnan(v) else 1, 0 if np.isnan(v) else v if which == "minindex" else -v, index)
            if best is None or rank < best[0]:
                best = (rank, v, index)
    return np.array([best[1], best[2]], np.float64)


def layout(rel):
    """Of the tensor whose blocks a relation has: where the array of a key begins (a function), and its shape."""
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
    parts = op["kernel"]

    def apply_kernel(a, b):
        z, c = apply_join(parts[0], a, b, x.cut or [set()] * x.rank, cy or [set()] * y.rank, bx, by)
        for p in parts[1:]:
            z, c = apply_map(p, z, c)
        return z, c
    out, cut = {}, None
    for kx, a in x.tuples.items():
        for ky, b in y.tuples.items():
            if [kx[d] for d in l] != [ky[d] for d in r]:
                continue
            z, cut = apply_kernel(Value(x.dtype, a, x.sparse), Value(y.dtype, b, y.sparse))
            out[kx + tuple(ky[d] for d in range(y.keys) if d not in r)] = z.a
    try:
        bound = None
        if x.tuples and y.tuples:
            bound = apply_kernel(zero_array(x.dtype, bx), zero_array(y.dtype, by))[0].a.shape
    except (AssertionError, ValueError):
        bound = None  # no pair of arrays has both bounds
    if out:
        sample = z
    else:
        bx, by = (1,) * x.rank, (1,) * y.rank
        sample = apply_kernel(zero_array(x.dtype, bx, x.sparse), zero_array(y.dtype, by, y.sparse))[0]
    rank = len(op["bound"])
    return Relation(k, rank, sample.t, out, cut if cut is not None else [set()] * rank, bound, sample.sparse)


def do_agg(op, x):
    group, parts = op["group"], op["kernel"]
    index = parts[0] in ("minindex", "maxindex")
    groups = {}
    for key in sorted(x.tuples):
        groups.setdefault(tuple(key[d] for d in group), []).append((key, x.tuples[key]))
    out = {}
    cut0 = [{group.index(k) for k in s} if all(k in group for k in s) else set() for s in x.cut or []]
    cut = [set()] if index else cut0
    fold = AGGREGATES.get(parts[0])
    first = "f64" if index else fold_type(fold, x.dtype)
    for key, members in groups.items():
        if index:
            z = extreme(parts[0], members, x)
        else:
            shape = [max(a.shape[d] for _, a in members) for d in range(x.rank)]
            z = np.full(shape, identity(fold, x.dtype), np.float64 if first in FLOATS else object)
            gone = np.zeros(shape, bool)
            for _, a in members:
                box = tuple(slice(0, n) for n in a.shape)
                z[box] = UFUNCS[fold](z[box], a)
                gone[box] |= (fold == "prod" and x.sparse) & (a == 0).astype(bool)
            z[gone] = 0
            if first not in FLOATS:
                z = checked(first, z)
        c = cut
        v = Value(first, z, x.sparse and not index)
        for p in parts[1:]:
            v, c = apply_map(p, v, c)
        out[key] = v.a
    if groups:
        cut = c
    shape = (2,) if index else x.bound
    bound = map_result(parts[1:], zero_array(first, shape)) if groups else None
    sample = map_result(parts[1:], zero_array(first, [1] * len(shape), x.sparse and not index))
    return Relation(len(group), len(cut), sample.t if sample else first, out, cut, bound.a.shape if bound else None,
                    v.sparse if groups else bool(sample and sample.sparse))


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
    return Relation(len(fs), x.rank, x.dtype, out, cut, x.bound, x.sparse)


def do_filter(op, x):
    kept = {k: a for k, a in x.tuples.items() if key_value(op["keep"], k)}
    return Relation(x.keys, x.rank, x.dtype, kept, x.cut, x.bound, x.sparse)


def do_transform(op, x):
    out, cut = {}, None
    for key, a in x.tuples.items():
        z, cut = Value(x.dtype, a, x.sparse), x.cut
        for p in op["kernel"]:
            z, cut = apply_map(p, z, cut)
        out[key] = z.a
    bound = map_result(op["kernel"], zero_array(x.dtype, x.bound)) if x.tuples else None
    sample = z if out else map_result(op["kernel"], zero_array(x.dtype, [1] * x.rank, x.sparse))
    rank = len(op["bound"])
    return Relation(x.keys, rank, sample.t if sample else x.dtype, out, cut if cut is not None else [set()] * rank,
                    bound.a.shape if bound else None, bool(sample and sample.sparse))


def do_tile(op, x):
    dim, size = op["dim"], op["size"]
    out = {}
    for key, a in x.tuples.items():
        for i, start in enumerate(range(0, a.shape[dim], size)):
            out[key + (i,)] = np.take(a, range(start, min(start + size, a.shape[dim])), axis=dim)
    cut = [s | {x.keys} if d == dim else s for d, s in enumerate(x.cut or [])]
    bound = tuple(min(n, size) if d == dim else n for d, n in enumerate(x.bound))
    return Relation(x.keys + 1, x.rank, x.dtype, out, cut, bound, x.sparse)


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
    bound = tuple(0 if d == dim else n for d, n in enumerate(x.bound))
    return Relation(x.keys - 1, x.rank, x.dtype, out, cut, bound, x.sparse)


def do_repart(op, x):
    cut = [{d} for d in range(x.rank)]
    if not x.tuples and op["bound"]:
        return Relation(x.keys, x.rank, x.dtype, {}, cut, None, x.sparse)
    place, shape = layout(x)
    whole = zeros(x.dtype, shape)
    for key, a in x.tuples.items():
        whole[tuple(slice(o, o + n) for o, n in zip(place(key), a.shape))] = a
    if "parts" in op:
        block = [-(-n // d) for n, d in zip(shape, op["parts"])]
    else:
        block = op["blocks"]
    out = {}
    for key in itertools.product(*[range(-(-n // b)) for n, b in zip(shape, block)]):
        out[key] = whole[tuple(slice(k * b, (k + 1) * b) for k, b in zip(key, block))]
    return Relation(x.rank, x.rank, x.dtype, out, cut, None, x.sparse)


def tensor_of(x, shape):
    """The tensor whose blocks x has, of that shape; missing blocks are zeros."""
    out = zeros(x.dtype, shape)
    if x.tuples:
        place, _ = layout(x)
        for key, a in x.tuples.items():
            out[tuple(slice(o, o + n) for o, n in zip(place(key), a.shape))] = a
    return out


def in_blocks(z, block, dtype, sparse=False):
    keys = itertools.product(*[range(-(-n // b)) for n, b in zip(z.shape, block)])
    tuples = {key: z[tuple(slice(k * b, (k + 1) * b) for k, b in zip(key, block))] for key in keys}
    return Relation(z.ndim, z.ndim, dtype, tuples, [{d} for d in range(z.ndim)], None, sparse)


class Arguments(list):
    """The operands of an EinSum statement, with a dimension for each label."""
    labels, shape = (), ()


def free_labels(x, refs):
    if not isinstance(x, list):
        return set()
    if x[0] == "x":
        return set(refs[x[1]])
    if x[0] == "index":
        return {x[1]}
    if x[0] == "agg":
        return free_labels(x[3], refs) - set(x[2])
    return set().union(*[free_labels(a, refs) for a in x[1:]])


def do_einsum(op, *xs):
    """By the definition: evaluates the expression for every combination of labels, then aggregates."""
    extents = op["extents"]
    labels = sorted({c for ref in op["refs"] for c in ref})
    args = Arguments()
    args.labels, args.shape = labels, [extents[c] for c in labels]
    for x, ref in zip(xs, op["refs"]):
        a = tensor_of(x, [extents[c] for c in ref])
        own = sorted(set(ref))
        at = np.ix_(*[range(extents[c]) for c in own]) if own else ()
        a = a[tuple(at[own.index(c)] for c in ref)] if ref else a
        args.append(Value(x.dtype, a.reshape([extents[c] if c in own else 1 for c in labels]), x.sparse))
    used = free_labels(op["expr"], op["refs"])
    gone = [n for n, c in enumerate(labels) if c in used and c not in op["left"]]
    v = scalar_value(op["expr"], args, bool(gone) and op["fold"] in ("sum", "prod", "mean"))
    v = Value(v.t, np.broadcast_to(v.a, [extents[c] if c in used else 1 for c in labels]), v.sparse)
    if gone:
        v = aggregate(op["fold"], v, gone, args.shape, False)
    elif op["fold"] == "mean":
        v = Value(real_type(v.t), as_type(v, real_type(v.t)))
    kept = [c for c in labels if c in op["left"]]
    z = v.a.reshape([extents[c] for c in kept]).transpose([kept.index(c) for c in op["left"]])
    return in_blocks(z, op["bound"], v.t, v.sparse)


def tensor_shape(x):
    return layout(x)[1]


def do_softmax(op, x):
    if not x.tuples:
        return in_blocks(np.zeros([0] * len(op["bound"])), op["bound"], real_type(x.dtype))
    z = floats(tensor_of(x, tensor_shape(x)))
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    z = z / z.sum(axis=-1, keepdims=True)
    return in_blocks(z, op["bound"], real_type(x.dtype))


def do_slice(op, x):
    if not x.tuples:
        return in_blocks(zeros(x.dtype, [b - a for a, b in op["ranges"]]), op["bound"], x.dtype, x.sparse)
    shape = tensor_shape(x)
    if all(r == [0, n] for r, n in zip(map(list, op["ranges"]), shape)): return x  # of all: missing blocks stay so
    part = tensor_of(x, shape)[tuple(slice(a, b) for a, b in op["ranges"])]
    return in_blocks(part, op["bound"], x.dtype, x.sparse)


def do_topk(op, x):
    """By Python's sort, which is stable: NaN first, then by value, ties by position."""
    dtype = "i64" if op["positions"] else x.dtype
    if not x.tuples:
        return in_blocks(zeros(dtype, [0] * len(op["bound"])), op["bound"], dtype)
    a, k = tensor_of(x, tensor_shape(x)), op["k"]
    rows = a.reshape(-1, a.shape[-1]).tolist()
    sign = 1 if op["least"] else -1
    order = [sorted(range(len(r)), key=lambda i: (r[i] == r[i], sign * r[i] if r[i] == r[i] else 0))[:k] for r in rows]
    picked = [o if op["positions"] else [r[i] for i in o] for r, o in zip(rows, order)]
    z = np.array(picked, np.float64 if dtype in FLOATS else object).reshape(a.shape[:-1] + (k,))
    return in_blocks(z, op["bound"], dtype)


def do_stack(op, x, y):
    t = wider_type(x.dtype, y.dtype)
    parts = [as_type(Value(z.dtype, tensor_of(z, tensor_shape(z))), t) for z in (x, y) if z.tuples]
    if not parts:
        return in_blocks(zeros(t, [0] * len(op["bound"])), op["bound"], t, x.sparse and y.sparse)
    return in_blocks(np.concatenate(parts, axis=op["dim"]), op["bound"], t, x.sparse and y.sparse)


def do_transpose(op, x):
    if not x.tuples and op["bound"]:
        return in_blocks(zeros(x.dtype, [0] * len(op["bound"])), op["bound"], x.dtype, x.sparse)
    return in_blocks(tensor_of(x, tensor_shape(x)).transpose(), op["bound"], x.dtype, x.sparse)


# The functions and conditions of tensor statements: of elements a, b (Python's own numbers) at i, j; s, u: whether a, b
# are of sparse type.


def times(*factors):
    """The product of factors (value, whether of sparse type); a 0 of sparse type annihilates."""
    if any(s and v == 0 for v, s in factors):
        return 0
    z = 1
    for v, _ in factors:
        z = z * v
    return z


def least(a, b):
    return b if b < a or a != a else a  # NaN wins


def most(a, b):
    return b if b > a or a != a else a


FUNCTIONS = {
    "a": lambda a, b, i, j, s, u: a, "2 * a": lambda a, b, i, j, s, u: 2 * a,
    "a * a": lambda a, b, i, j, s, u: times((a, s), (a, s)), "a + 1": lambda a, b, i, j, s, u: a + 1,
    "abs(a)": lambda a, b, i, j, s, u: abs(a), "max(a, 1)": lambda a, b, i, j, s, u: most(a, 1),
    "a * (i + 1)": lambda a, b, i, j, s, u: times((a, s), (i + 1, False)), "a - j": lambda a, b, i, j, s, u: a - j,
    "a * b": lambda a, b, i, j, s, u: times((a, s), (b, u)), "a + b": lambda a, b, i, j, s, u: a + b,
    "a * b + a": lambda a, b, i, j, s, u: times((a, s), (b, u)) + a, "min(a, b)": lambda a, b, i, j, s, u: least(a, b),
    "a * b * (i + 1)": lambda a, b, i, j, s, u: times((a, s), (b, u), (i + 1, False))}
CONDITIONS = {
    "a > 0": lambda a, i, j: a > 0, "a != 2": lambda a, i, j: a != 2, "a <= 1": lambda a, i, j: a <= 1,
    "(i + j) % 2 == 0": lambda a, i, j: (i + j) % 2 == 0, "i <= j": lambda a, i, j: i <= j,
    "a > 0 && i != j": lambda a, i, j: a > 0 and i != j, "a == a": lambda a, i, j: a == a}


def do_tensor(op, x, y=None):
    """A tensor statement. Loops go over all coordinates of a tensor of dense type, over nonzero ones of sparse type."""
    m, n = op["shape"]
    a = tensor_of(x, [m, n]).tolist()
    b = tensor_of(y, [m, n]).tolist() if y else None
    u = y.sparse if y else False
    f, c, form, k = FUNCTIONS[op["f"]], CONDITIONS[op["c"]], op["form"], op["k"]
    real = x.dtype in FLOATS or (y and y.dtype in FLOATS)
    parts = [t.dtype for t in (x, y) if t and t.dtype in FLOATS]
    dtype = "i64" if not real else "f64" if "f64" in parts else "f32"
    shape = [(m, n), (n, m), (n,), (), (k,), (m,), (m, n), (m, n), (m,), (m, n)][form]
    z = zeros(dtype, shape)
    sparse = x.sparse or (u and form in (7, 8))

    def visited(rel, row):
        return [j for j, v in enumerate(row) if not rel.sparse or v != 0]

    rows = [i for i in range(m) if not x.sparse or visited(x, a[i])]
    if form == 7:
        rows = [i for i in rows if not u or visited(y, b[i])]
    for i in rows:
        if form == 5:
            s = sum(a[i][j] for j in visited(x, a[i]))
            z[i] += times((s, x.sparse), (s, x.sparse)) + 1
            continue
        for j in visited(x, a[i]):
            v, w = a[i][j], b[i][j] if form == 7 else 0
            if form == 6:
                v = v + v
                if v == 0:
                    continue  # dictionaries drop keys whose value is 0
            if form == 9:
                z[i, j] += 3 * v
            elif form == 8:
                if u and b[i][j] == 0:
                    continue
                z[i] += f(v, b[i][j], i, j, x.sparse, u)
            elif c(v, i, j):
                at = [(i, j), (j, i), j, (), (i + 2 * j) % k, None, (i, j), (i, j)][form]
                z[at] += f(v, w, i, j, x.sparse or form == 6, u)
    if dtype in FLOATS:
        return in_blocks(z, op["bound"], dtype, sparse)
    return in_blocks(np.asarray(z, object), op["bound"], dtype, sparse)


def do_store(op, x):
    return Relation(x.keys, x.rank, x.dtype, x.tuples, x.cut, x.bound, op["sparse"])


OPERATORS = {"join": do_join, "agg": do_agg, "rekey": do_rekey, "filter": do_filter, "transform": do_transform,
             "tile": do_tile, "concat": do_concat, "repart": do_repart, "reblock": do_repart, "einsum": do_einsum,
             "softmax": do_softmax, "transpose": do_transpose, "slice": do_slice, "stack": do_stack,
             "topk": do_topk, "tensor": do_tensor, "store": do_store}


# ---- comparison -----------------------------------------------------------------------------------------------------


def compare(name, mine, theirs):
    if mine.dtype != theirs["dtype"]:
        return "%s is %s, not %s" % (name, theirs["dtype"], mine.dtype)
    got = {tuple(t["key"]): t for t in theirs["tuples"]}
    if set(got) != set(mine.tuples):
        return "%s has the keys %s, not %s" % (name, sorted(got), sorted(mine.tuples))
    for key, want in mine.tuples.items():
        t = got[key]
        if tuple(t["ext"]) != want.shape:
            return "%s%s is of extents %s, not %s" % (name, key, t["ext"], want.shape)
        if mine.dtype not in FLOATS and "tol" not in t:
            if list(want.ravel()) != t["data"]:
                return "%s%s is %s, not %s" % (name, key, t["data"], list(want.ravel()))
            continue
        v, w = np.array(t["data"], np.float64), floats(want.ravel())
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
        kind = np.float64 if x["dtype"] in FLOATS else object
        tuples = {tuple(t["key"]): np.array(t["data"], kind).reshape(t["ext"]) for t in x["tuples"]}
        cut = [{d} for d in range(x["rank"])]
        have[x["name"]] = Relation(x["keys"], x["rank"], x["dtype"], tuples, cut, x["bound"], x.get("sparse", False))
    try:
        for op in program["operators"]:
            with np.errstate(all="ignore"):
                have[op["name"]] = OPERATORS[op["op"]](op, *[have[i] for i in op["in"]])
    except Overflow:
        return None if program["overflow"] else "an integer does not fit its type here"
    if program["overflow"]:
        return "all integers fit their types here"
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
            wrong = "the judge refuses what the type checker accepts: %s" % e
        judged += 1
        if wrong:
            failed += 1
            print("# %s: seed %d, program %d: %s" % (path, program["seed"], program["index"], wrong))
    print("%d judged, %d failed" % (judged, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
