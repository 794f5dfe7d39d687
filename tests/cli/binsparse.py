"""A reader of binsparse from its specification alone: to a dense array."""
import json
import sys

import h5py
import numpy as np

ALIASES = {"CVEC": ["s1"], "DVEC": ["d1"], "CSR": ["d1", "s1"], "CSC": ["d1", "s1"], "DCSR": ["s1", "s1"],
           "DCSC": ["s1", "s1"], "COO": ["s2"], "COOR": ["s2"], "COOC": ["s2"], "DMAT": ["d1", "d1"]}


def levels_of(head):
    """Kind and rank of each level, and the order of the dimensions."""
    n = len(head["shape"])
    if "custom" not in head:
        name = head["format"]
        return [(x[0], int(x[1])) for x in ALIASES[name]], [1, 0] if name in ("CSC", "DCSC", "COOC") else list(range(n))
    out, level = [], head["custom"]["level"]
    while level["level_desc"] != "element":
        out.append((level["level_desc"][0], level["rank"]))
        level = level["level"]
    assert sum(r for _, r in out) == n
    return out, head["custom"].get("transpose", list(range(n)))


def read(group):
    head = json.loads(group.attrs["binsparse"])["binsparse"]
    assert head["version"] == "0.1.0"
    levels, order = levels_of(head)
    shape = [head["shape"][d] for d in order]
    names = {"bint8": "uint8"}
    for name, dtype in head["data_types"].items():
        assert group[name].dtype == np.dtype(names.get(dtype, dtype)), name
    values = group["values"][:]
    assert len(values) == head["number_of_stored_values"]
    at = np.zeros((1, 0), dtype=np.int64)  # coordinates of each position of the level above
    depth = 0
    for kind, rank in levels:
        if kind == "d":
            for d in range(depth, depth + rank):
                i = np.tile(np.arange(shape[d]), len(at))
                at = np.column_stack([np.repeat(at, shape[d], axis=0), i])
        else:
            index = np.column_stack([group[f"indices_{d}"][:].astype(np.int64) for d in range(depth, depth + rank)])
            n = np.array([len(index)])
            if depth > 0:
                pointers = group[f"pointers_to_{depth}"][:]
                assert pointers[0] == 0 and pointers[-1] == len(index) and len(pointers) == len(at) + 1
                n = np.diff(pointers)
            assert (index >= 0).all() and (index < np.array(shape[depth:depth + rank])).all()
            at = np.column_stack([np.repeat(at, n, axis=0), index])
            order_of = np.lexsort(at.T[::-1])
            assert (order_of == np.arange(len(at))).all(), "indices ascend"
            assert len(at) == 0 or len(np.unique(at, axis=0)) == len(at), "indices are unique"
        depth += rank
    assert len(at) == len(values)
    out = np.zeros(shape, dtype=values.dtype)
    out[tuple(at.T)] = values
    return np.transpose(out, np.argsort(order)), head


def tensor(group):
    """Of blocks with keys: the tensor that they are together."""
    a, head = read(group)
    r = int(group.attrs["tra_rank"])
    k = a.ndim - r
    shape = [int(x) for x in group.attrs["tra_shape"]]
    if k == 0:
        return a[tuple(slice(n) for n in shape)]
    assert k == r
    axes = [x for d in range(r) for x in (d, k + d)]
    whole = np.transpose(a, axes).reshape([a.shape[d] * a.shape[k + d] for d in range(r)])
    return whole[tuple(slice(n) for n in shape)]


if __name__ == "__main__":  # FILE GROUP: shape, sum, sum of squares and a hash of the places
    with h5py.File(sys.argv[1]) as f:
        t = tensor(f[sys.argv[2]]).astype("f8")
    i = np.arange(t.size, dtype="f8").reshape(t.shape) % 8191
    print(*t.shape, repr(float(t.sum())), repr(float((t * i).sum())))
