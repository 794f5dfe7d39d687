from judge import *
def order(v, *keys):
    for key, desc in reversed(keys):
        there = sorted([r for r in v if key(r) != ""], key=lambda r: key(r) if isinstance(key(r), int) else key(r).encode(),
                       reverse=desc)
        if desc: there = [r for _, g in itertools.groupby(there, key=key) for r in sorted(g, key=v.index)]
        v = there + [r for r in v if key(r) == ""]
    return v
t = [r + (n,) for n, r in enumerate(rows)]
whole = lambda v: int(v) if v else ""
A = [(cat(k, "-", w) if k and w else "", i, n) for k, i, x, w, s, n in t]
same("A.csv", [r[:2] for r in order(A, (lambda r: r[0], False), (lambda r: whole(r[1]), False))[:40]])
same("B.csv", [r[:5] for r in order(t, (lambda r: cat(r[2], r[4]), True), (lambda r: cat(r[0], r[1]).upper(), False))[5:35]])
P = [(k, i, cat(k, i, x), w, n) for k, i, x, w, s, n in t if i and int(i) > 0]
same("C.csv", [r[:4] for r in order(P, (lambda r: whole(r[1]), True), (lambda r: r[2], False))[:25]])
same("D.csv", [(cat(x, w), s) for k, i, x, w, s, n in t[3:10]])
E = order(t, (lambda r: whole(r[3]), False))[:3]
assert all(r[1] != "8" for r in E)
same("E.csv", [(cat(r[4], r[2]) if r[1] else "", r[3]) for r in E])
R = [(cat(s, x),) for k, i, x, w, s, n in t]
same("F.csv", order(R, (lambda r: r[0], False))[:10])
same("G.csv", [(str(len({r for r in R if r[0]})),)])
