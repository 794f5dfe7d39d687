# share/examples/eindecomp: the small versions run under every optimizer, and compute what numpy does.
load helper

small() { status 0 env TRA="$TRA" ONLY="$1" SITES="$2" "$ROOT/share/examples/eindecomp/small.sh" "$1"; }

# numpy FOLDER PROGRAM...: with the relation N of the example as r("N"), its result under optimizer o as got(o, "N").
numpy() {
    py 'folder = sys.argv[1]
def r(name): return h5py.File(f"{folder}/{folder}-{name}.h5")["data"][()].astype(float)
def check(name, want):
    for o in "search", "eindecomp", "eindecomp-any", "sqrt", "data":
        got = h5py.File(f"{folder}/{folder}-{name}-{o}.h5")["data"][()]
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * abs(want).max(), err_msg=o)
def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)
sigmoid = lambda x: 1 / (1 + np.exp(-x))
es = np.einsum
'"$2" "$1"
}

@test "the README shows what is printed" {
    status 0 env TRA_SHARE="$ROOT/share" PYTHON="$PYTHON" "$PYTHON" "$ROOT/tests/cli/manual-examples" \
        "$ROOT/share/examples/eindecomp/README.md"
}

@test "chains of matrices" {
    for f in chain-square chain-skewed; do
        small $f 4
        numpy $f 'A, B, C, D, E = map(r, "ABCDE")
check("Z", A @ B + C @ (D @ E))'
        grep -q '^eindecomp .* [KM]iB ' <<<"$output"
    done
}

@test "attention" {
    small attention 5
    numpy attention 'q, k, v = (es("sa,ahd->shd", r(x), r("W" + x)) for x in "QKV")
p = softmax(es("shd,thd->hst", q, k) / 8 ** 0.5)
check("Y", es("hst,thd,ahd->sa", p, v, r("WO")))'
}

@test "a step of a classifier" {
    small classifier 3
    numpy classifier 'X, T, W, V = map(r, ("X", "T", "W1", "W2"))
H = X @ W
A = np.maximum(H, 0)
D = sigmoid(A @ V) - T
check("V2", V - 0.01 * A.T @ D)
check("V1", W - 0.01 * X.T @ (D @ V.T * (H > 0)))'
}

@test "a layer of a model like LLaMA" {
    small llama 4
    numpy llama 'norm = lambda x, g: x * g / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
turn = lambda x: x * r("CS")[:, None] + x @ r("RT") * r("SN")[:, None]
x = r("X0")
y = norm(x, r("NA1"))
q, k, v = (es("bsa,ahd->bshd", y, r(f"W{n}1")) for n in "QKV")
p = softmax(es("bshd,bthd->bhst", turn(q), turn(k)) / 8 ** 0.5 + r("MK"))
x = x + es("bhst,bthd,hda->bsa", p, v, r("WO1"))
y = norm(x, r("NF1"))
g = y @ r("WG1")
x = x + (g * sigmoid(g) * (y @ r("WU1"))) @ r("WD1")
check("L", norm(x, r("NL")) @ r("WL"))'
}
