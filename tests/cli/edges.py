"""EinSum statements at the edges of what they mean, each beside what numpy makes of it: NaN, infinities, -0, ties,
bools, the ends of integers, extents of 0 and 1, ragged blocks, mixed types, aggregations within aggregations.

usage: edges.py make      writes the inputs and edges.tra
       edges.py judge     compares all outputs; prints those that differ"""
import sys
from math import erf

import h5py
import numpy as np

np.seterr(all="ignore")
f8, i8, i4 = "f8", "i8", "i4"


def inputs():
    r = np.random.default_rng(9)
    X = np.round(r.normal(size=(7, 5)), 3)
    X[1, 2], X[2, 0], X[2, 3], X[6, 4] = np.nan, np.inf, -np.inf, np.inf
    X[3], X[5], X[4, 1], X[4, 3] = -0.0, np.nan, 9, 9
    I = r.integers(-3, 4, (7, 5))
    I[0, :2], I[1] = (2**62, -2**62), 3
    J = r.integers(-3, 4, (7, 5)).astype(i4)
    J[6, :2] = 2**31 - 1, -2**31
    B = r.random((7, 5)) < .5
    B[2], B[3] = False, True
    return dict(X=X, I=I, J=J, B=B, F=np.round(r.normal(size=(7, 5)), 2).astype("f4"),
                Q=r.integers(-3, 4, (5, 5)).astype(float), E=np.zeros((0, 5)), O=np.array([[3.0]]),
                L=r.integers(0, 5, (7, 1)).astype(float), M=np.array([-2**63, 2**63 - 1, -1, 0, 7]),
                K=np.array([[9, 7, 9, 1, 7], [2, 2, 2, 2, 2]], i4), C=r.integers(-2, 3, (3, 4, 6)).astype(float))


def top(x, k, least):
    """Values and positions: NaN first, ties by position, which Python's sort keeps."""
    order = [sorted(range(len(r)), key=lambda c: (r[c] == r[c], (r[c] if least else -r[c]) if r[c] == r[c] else 0))[:k]
             for r in x.tolist()]
    return np.take_along_axis(x, np.array(order), 1), np.array(order)


def soft(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# Statement, what numpy says (b, W: B and F as numbers that do not round; i, j: positions), the type where it matters.
CASES = """
a[] = sum X[i,j]                             ; X.sum()
a[i] = max X[i,j]                            ; X.max(1)
a[i] = argmax X[i,j]                         ; X.argmax(1)                                 ; i8
a[i] = argmin X[i,j]                         ; X.argmin(1)                                 ; i8
a[j] = argmin B[i,j]                         ; B.argmin(0)                                 ; i8
a[i] = argmax B[i,j]                         ; B.argmax(1)                                 ; i8
a[i] = argmin[j](abs(F[i,j]))                ; abs(F).argmin(1)                            ; i8
a[] = argmax M[i]                            ; M.argmax()                                  ; i8
a[] = argmin M[i]                            ; M.argmin()                                  ; i8
a[i] = mean B[i,j]                           ; b.mean(1)                                   ; f8
a[i] = mean J[i,j]                           ; J.astype(f8).mean(1)                        ; f8
a[] = sum B[i,j]                             ; b.sum()                                     ; i8
a[] = sum J[i,j]                             ; J.astype(i8).sum()                          ; i8
a[i] = min J[i,j]                            ; J.min(1)                                    ; i4
a[] = prod B[i,j]                            ; b.prod()                                    ; i8
a[i] = prod J[i,j] == J[i,j]                 ; (J == J).prod(1)                            ; i8
a[i] = sum X[i,j] == X[i,j]                  ; (X == X).sum(1)                             ; i8
a[i] = sum F[i,j] * B[i,j] > 0               ; (W * b > 0).sum(1)                          ; i8
a[] = sum M[i] > 0                           ; (M > 0).sum()                               ; i8
a[i,k] = sum B[i,j] * B[k,j]                 ; b @ b.T                                     ; i8
a[i] = sum relu(I[i,j]) * 0                  ; np.zeros(7, i8)                             ; i8
a[i,j] = -B[i,j]                             ; -b                                          ; i4
a[i,j] = B[i,j] + B[i,j]                     ; b + b                                       ; i4
a[i,j] = B[i,j] * B[i,j]                     ; b
a[i,j] = B[i,j] && !B[i,j] || X[i,j] > 0   ; X > 0
a[i,j] = B[i,j] < I[i,j]                     ; b < I
a[i,j] = !X[i,j]                             ; X == 0
a[i] = Q[i,i]                                ; np.diag(Q)
a[] = sum Q[i,i] * Q[i,i]                    ; (np.diag(Q) ** 2).sum()
a[i,j] = -Q[i,j]^2 - -2^2                    ; 4 - Q ** 2
a[i,j] = min(max(X[i,j], 0), Q[j,j])         ; np.minimum(np.maximum(X, 0), np.diag(Q))
a[i,j] = min(X[i,j], 0, F[i,j])              ; np.minimum(np.minimum(X, 0), W)
a[i,j] = if(isnan(X[i,j]), index(j), X[i,j]) ; np.where(np.isnan(X), j, X)                 ; f8
a[i,j] = if(B[i,j], X[i,j] / 0, 7)           ; np.where(B, X / 0, 7)
a[i,j] = exp(E[i,j])                         ; np.zeros((0, 5))
a = stack(E, X, 0)                           ; X
a[i,j] = sum X[i,j] * O[k,l]                 ; X * 3
a[i,j] = X[i,j] ^ 0                          ; np.ones((7, 5))
a[i,j] = 2 ^ F[i,j]                          ; 2 ** W
a[i,j] = pow(X[i,j], 1/3)                    ; np.power(X, 1 / 3)
a[i,j] = mod(I[i,j], -3)                     ; np.mod(I, -3)                               ; i8
a[i,j] = sum mod(X[i,j], O[k,l] * 0 + 2)     ; np.mod(X, 2)
a[i,j] = J[i,j] / 2                          ; J / 2                                       ; f8
a[i,j] = J[i,j] / 0                          ; J / 0                                       ; f8
a[i] = M[i] / 1                              ; M / 1                                       ; f8
a[i] = max(M[i], 0)                          ; np.maximum(M, 0)                            ; i8
a[i,j] = abs(J[i,j] * 1.5)                   ; abs(J * 1.5)                                ; f8
a[i,j] = round(F[i,j] * 0.5)                 ; np.round(F * np.float32(.5))                ; f4
a[i,j] = floor(X[i,j]) + ceil(X[i,j])        ; np.floor(X) + np.ceil(X)
a[i,j] = sign(X[i,j]) + trunc(X[i,j])        ; np.sign(X) + np.trunc(X)
a[i,j] = hypot(X[i,j], 1)                    ; np.hypot(X, 1)
a[i,j] = atan2(X[i,j], -1)                   ; np.arctan2(X, -1)
a[i,j] = erf(X[i,j]) + tanh(X[i,j])          ; np.vectorize(erf)(X) + np.tanh(X)
a[i,j] = sigmoid(1000 * X[i,j])              ; 1 / (1 + np.exp(-1000 * X))
a[i,j] = log1p(-abs(sign(X[i,j]))) + expm1(X[i,j]) ; np.log1p(-abs(np.sign(X))) + np.expm1(X)
a, c = topk(X, 5)                            ; top(X, 5, 0)
a, c = topk(X, 1, least)                     ; top(X, 1, 1)
a, c = topk(B, 3)                            ; top(b, 3, 0)
a, c = topk(J, 4, least)                     ; top(J, 4, 1)
a, c = topk(K, 5)                            ; top(K, 5, 0)
a, c = topk(L, 1)                            ; top(L, 1, 0)
a = stack(I, X, 0)                           ; np.vstack([I.astype(f8), X])                ; f8
a = stack(B, J, 1)                           ; np.hstack([b.astype(i4), J])                ; i4
a = stack(B, B, 0)                           ; np.vstack([B, B])
a = stack(F, X, 1)                           ; np.hstack([W, X])                           ; f8
a = stack(J, F, 0)                           ; np.vstack([J.astype(f8), W])                ; f8
a = slice(C, [1:2, :, 5:])                   ; C[1:2, :, 5:]
a[j] = mean (F[i,j] - mean[k](F[k,j]))^2 / sum[k,l](abs(F[k,l])) ; ((W - W.mean(0)) ** 2).mean(0) / abs(W).sum() ; f4
a[i] = index(i) - argmax[j](F[i,j])          ; np.arange(7) - F.argmax(1)                  ; i8
a[i] = sum (F[i,k] - max[k](F[i,k]))         ; (W - W.max(1, keepdims=True)).sum(1)        ; f4
a[k] = mean C[i,j,k] - max[l](C[i,l,k])      ; (C - C.max(1, keepdims=True)).mean((0, 1))
a[i,k] = sum if(index(j) < p, C[i,j,k], 0) * index(j) ; C[:, 1]
a[i,j] = F[i,j] / max[k,l](F[k,l])           ; W / W.max()                                 ; f4
a[i] = sum abs(F[i,j] - X[k,j]) * B[k,j]     ; (abs(W[:, None] - X[None]) * b[None]).sum((1, 2))
a[i,k] = max if(X[k,j] > F[i,j], 1, 0)       ; (X[None] > W[:, None]).max(2)
a[i,k] = sum min(F[i,j], F[k,j])             ; np.minimum(W[:, None], W[None]).sum(2)      ; f4
a = softmax(X)                               ; soft(X)
a = softmax(Q)                               ; soft(Q)
"""


def cases():
    """(number, statement, numpy's expression, type or None)"""
    for n, line in enumerate(CASES.strip().splitlines()):
        parts = [x.strip() for x in line.split(";")]
        yield n, parts[0], parts[1], parts[2] if len(parts) > 2 else None


def make():
    for name, a in inputs().items():
        with h5py.File(name + ".h5", "w") as f:
            chunks = tuple((3, 2, 4)[:a.ndim])
            f.create_dataset("data", data=a, chunks=chunks, maxshape=(None,) * a.ndim)
    with open("edges.tra", "w") as f:
        f.write("param p = 2\n" + "".join(f'input {n} from "{n}.h5"\n' for n in inputs()))
        for n, statement, _, _ in cases():
            names = [f"a{n}", f"c{n}"][:1 + statement.startswith("a, c")]
            rest = statement.removeprefix("a, c").removeprefix("a")
            f.write(", ".join(names) + rest + "\n" + "".join(f"output {x}\n" for x in names))


def differs(name, want, dtype):
    with h5py.File(name + ".h5") as f:
        got = f["data"][()]
    want = np.asarray(want)
    got = got.reshape(want.shape) if got.size == want.size == 1 else got
    if got.shape != want.shape or (dtype and got.dtype != np.dtype(dtype)):
        return f"{got.dtype} {got.shape}"
    if got.dtype.kind != "f" and want.dtype.kind != "f":
        return None if (got.astype(object) == want.astype(object)).all() else got.tolist()
    tol = 1e-5 if got.dtype == np.float32 else 1e-12
    good = np.allclose(got.astype(f8), want.astype(f8), rtol=tol, atol=tol, equal_nan=True)
    return None if good else got.tolist()


def judge():
    i, j = np.indices((7, 5))
    have = {**globals(), **inputs(), "i": i, "j": j}
    have.update(b=have["B"].astype(i8), W=have["F"].astype(f8))
    wrong = 0
    for n, statement, expression, dtype in cases():
        want = eval(expression, have)
        results = list(zip("ac", want)) if isinstance(want, tuple) else [("a", want)]
        for letter, w in results:
            why = differs(f"{letter}{n}", w, i8 if letter == "c" else dtype)
            if why is not None:
                print(f"{statement}: {letter} is {why}, not {np.asarray(w).dtype} {np.asarray(w).tolist()}")
                wrong += 1
    return wrong > 0


if __name__ == "__main__":
    sys.exit(make() if sys.argv[1] == "make" else judge())
