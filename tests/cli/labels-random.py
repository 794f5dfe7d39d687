"""Random programs over labelled tensors, beside numpy: what pivot, rows = key, align, order and files give must be the
sums of the rows that belong together, or an error where labels differ. Arguments: the program, a seed, a number."""
import subprocess, sys
import h5py
import numpy as np

tra, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = np.random.default_rng(seed)

def keys(kind, n):
    """n different keys, and how pivot orders them."""
    if kind == "text":
        return [f"k{x:03d}" for x in r.permutation(900)[:n]]
    if kind == "date":
        return [str(np.datetime64("2020-01-01") + int(x)) for x in r.permutation(900)[:n]]
    return [int(x) for x in r.permutation(900)[:n] - 300]

def run(text, *options):
    with open("p.tra", "w") as f:
        f.write(text)
    return subprocess.run([tra, "run", "-q", *options, "p.tra"], capture_output=True, text=True)


for i in range(count):
    n, kind = int(r.integers(1, 40)), r.choice(["whole", "text", "date"])
    key, city, v = keys(kind, n), r.integers(0, 4, n), r.integers(-50, 50, n)
    with open("t.csv", "w") as f:
        f.write("k,city,v\n" + "".join(f"{a},c{b},{c}\n" for a, b, c in zip(key, city, v)))
    subprocess.run([tra, "import", "-q", "--table", "t.csv", "-o", "t.h5"], check=True)
    by_key = np.argsort(np.array(key))
    left = r.choice(["O = pivot(t, k, city, 1, sum)", "Q = pivot(t, k, city, 1, sum)\nO = align(Q, 0, M, 0)",
                     "Q = pivot(t, k, city, 1, sum)\nO = unlabel(Q, 0)"])
    right, order = [("M = matrix(t, [v], rows = k)", np.arange(n)),
                    ("s = order(t, [k])\nM = matrix(s, [v], rows = k)", by_key),
                    ("s = order(t, [v desc])\nM = matrix(s, [v], rows = k)", np.argsort(-v, kind="stable")),
                    ("L = matrix(t, [v])\nM = label(L, 0, t, k)", np.arange(n))][r.integers(0, 4)]
    agrees = "align" in left or np.array_equal(order, by_key)
    program = (f'input t from "t.h5"\n{right}\n{left}\nN[n,i] = M[n,i] * 2\nR = transpose(O)\n'
               "S[c,i] = sum R[c,n] * N[n,i]\noutput S\n")
    for options in [("--sites", str(r.integers(1, 4))), ("--engine", "reference")]:
        done = run(program, *options)
        want = [2 * sum(v[j] for j in range(n) if city[j] == c) for c in sorted(set(city))]
        if "unlabel" in left:
            want = [2 * sum(v[order[p]] for p in range(n) if city[by_key[p]] == c) for c in sorted(set(city))]
        elif not agrees:
            assert done.returncode == 2 and "stands for different things" in done.stderr, (program, done)
            continue
        assert done.returncode == 0, (program, done)
        with h5py.File("S.h5") as f:
            got = f["data"][()] if isinstance(f["data"], h5py.Dataset) else None
        assert got is not None and np.array_equal(got[:, 0], want), (program, got, want)
