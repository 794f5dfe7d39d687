# Arithmetic and functions of whole tensors, without labels, and slices with steps: against numpy.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    py '
import scipy.sparse as sp, scipy.io
r = np.random.default_rng(36)
A, B = r.normal(size=(13, 7)), r.normal(size=(13, 7))
A[2, 3] = np.nan
data = dict(A=A, B=B, Q=r.normal(size=(9, 9)), I=r.integers(-9, 9, (13, 7)), F=A.astype("f4"), v=r.normal(size=11), u=r.integers(0, 5, 6), T=r.normal(size=(3, 4, 5)), s=np.array(2.5), b=A > 0)
for n, x in data.items(): np.save(n + ".npy", x)
S = sp.random(40, 30, 0.1, random_state=1); scipy.io.mmwrite("S.mtx", S)
'
    for n in A B I F b; do "$TRA" import -q --block 5x4 $n.npy -o $n.h5; done
    "$TRA" import -q --block 4x4 Q.npy -o Q.h5
    "$TRA" import -q --block 4 v.npy -o v.h5
    "$TRA" import -q --block 4 u.npy -o u.h5
    "$TRA" import -q --block 2x2x3 T.npy -o T.h5
    "$TRA" import -q S.mtx -o S.h5
    cp s.npy s0.npy
}

@test "expressions of whole tensors are numpy's, on 1, 2, 3 sites and by the reference evaluator" {
    ln -s "$BATS_FILE_TMPDIR"/*.h5 "$BATS_FILE_TMPDIR"/*.npy "$BATS_FILE_TMPDIR"/*.mtx .
    py '
import subprocess, warnings, scipy.io
warnings.simplefilter("ignore"); np.seterr(all="ignore")
tra = sys.argv[1]
x = {n: np.load(n + ".npy") for n in "A B I F b Q v u T s".split()}
x["S"] = scipy.io.mmread("S.mtx").toarray()
A, B, I, F, b, Q, v, u, T, s, S = (x[n] for n in "A B I F b Q v u T s S".split())
cases = [("A + 1", A + 1), ("exp(A)", np.exp(A)), ("A * B", A * B), ("-A", -A), ("A > 0", A > 0), ("if(A > 0, A, 0)", np.where(A > 0, A, 0)),
    ("2 - A / B", 2 - A / B), ("max(A, B, 0)", np.maximum(np.maximum(A, B), 0)), ("A^2 + B^2 <= 1 && !(A < 0)", (A**2 + B**2 <= 1) & ~(A < 0)),
    ("clip(A, -k, k)", np.clip(A, -0.5, 0.5)), ("I % 4 - I div 3", I % 4 - I // 3), ("I * I", I * I), ("I / 2", I / 2), ("I + 1.0", I + 1.0),
    ("F * 2", F * 2), ("F + A", F + A), ("b + b", b.astype(int) * 2), ("b * A", b * A), ("A * s", A * s), ("s * s", s * s),
    ("transpose(A) - transpose(B)", (A - B).T), ("A / norm(B)", A / np.linalg.norm(B)), ("T * T - 1", T * T - 1), ("v - 1", v - 1),
    ("S * 2", S * 2), ("S + 1", S + 1), ("S * S", S * S), ("sqrt(abs(slice(A, [0:3, :])))", np.sqrt(np.abs(A[:3]))),
    ("isnan(A)", np.isnan(A)), ("A - nan", A * np.nan), ("slice(A * B, [1:5, 2:3])", (A * B)[1:5, 2:3]),
    ("diag(A)", np.diag(A)), ("diag(Q)", np.diag(Q)), ("diag(v)", np.diag(v)), ("diag(u)", np.diag(u)), ("diag(transpose(A))", np.diag(A.T)),
    ("trace(Q)", np.trace(Q)), ("trace(I)", np.trace(I)), ("trace(S)", np.trace(S)), ("norm(Q)", np.linalg.norm(Q)), ("norm(v)", np.linalg.norm(v)),
    ("norm(A)", np.linalg.norm(A)), ("norm(I)", np.linalg.norm(I)), ("norm(T)", np.linalg.norm(T.ravel())), ("norm(S)", np.linalg.norm(S)), ("norm(s)", 2.5),
    ("transpose(T)", T.T), ("diag(diag(Q)) - Q", np.diag(np.diag(Q)) - Q)]
text = ["input %s from \"%s.h5\"" % (n, n) for n in "A B I F b Q v u T S".split()] + ["input s from \"s.npy\"", "param k = 0.5"]
for i, (e, w) in enumerate(cases): text += [f"r{i} = {e}", f"output r{i} to \"out.h5:r{i}\""]
open("p.tra", "w").write("\n".join(text) + "\n")
for how in ([], ["--sites", "2"], ["--sites", "3"], ["--engine", "reference"]):
    subprocess.run([tra, "run", "-q", *how, "p.tra"], check=True)
    for i, (e, w) in enumerate(cases):
        got = subprocess.run([tra, "export", "-q", f"out.h5:r{i}", "-o", "r.npy"], check=True) and np.load("r.npy")
        assert got.shape == np.shape(w), (e, got.shape)
        np.testing.assert_allclose(got.astype(float), np.asarray(w, float), rtol=2e-6 if "F" in e else 1e-12, atol=1e-14, err_msg=e + str(how))
    if how == []:
        with h5py.File("out.h5") as f: assert [f[f"r{i}"].dtype.kind for i in (11, 12, 13)] == ["i", "f", "f"]
' "$TRA"
}

@test "eval takes expressions of whole tensors, and labels of the operands stand in the result" {
    printf 'a,b\n1,2\n3,4\n' >t.csv
    [ "$(tra eval 't * 2 - 1' t.csv)" = $'a,b\n1,3\n5,7' ]
    [ "$(tra eval 'n = norm(t); (t / n)^2 > 0.5' t.csv)" = $'a,b\n0,0\n0,1' ]
    [ "$(tra eval 'trace(t)' t.csv)" = 5 ]
    printf '1,2\n3,4\n' >A.csv
    [ "$(tra eval 'sum(A)' A.csv)" = 10 ]
    [ "$(tra eval 'max(A) - mean(A) * A' A.csv)" = $'1.5,-1\n-3.5,-6' ]
    [ "$(tra eval 'max A[i,j] * 0 + max(A[0,0], 2)' A.csv)" = 2 ]
    [ "$(tra eval 'sum(max(A[i,j], 2))' A.csv)" = 11 ]
    [ "$(tra eval -- '-t' t.csv)" = $'a,b\n-1,-2\n-3,-4' ]
    told 2 tra eval '-t' t.csv
    printf 'x,y\n1,2\n3,4\n' >u.csv
    told 2 tra eval 't + u' t.csv u.csv
}

@test "the matrix with a sparse vector on its diagonal has its entries alone, its blocks and its type" {
    tra gen -q --shape 1000000 --block 300000 --density 1e-4 --seed 1 --storage coo -o v.h5:v
    printf 'input v from "v.h5:v"\nD = diag(v)\ns = sum(D)\noutput D\noutput s\n' >p.tra # 8 TB as a whole
    tra run -q --memory 64M p.tra
    tra info D.h5 | grep -q 'blocks *300000 x 300000'
    [ "$(tra info D.h5 | grep -o 'entries *[0-9]*' | tr -dc 0-9)" = "$(tra info v.h5 | grep -o 'entries *[0-9]*' | tr -dc 0-9)" ]
    for t in f64 f32 i64 bool; do
        tra gen -q --shape 90 --block 40 --density 0.2 --seed 2 --dtype $t --storage coo -o w.h5:w
        for e in own reference; do
            printf 'input w from "w.h5:w"\nD = diag(w)\nd = diag(D)\noutput D to "%s.h5:D"\noutput d to "%s.h5:d"\n' $e $e >$e.tra
        done
        tra run -q --engine reference reference.tra
        tra info reference.h5:D | grep -q "tensor *$t 90 x 90"
        for sites in 1 3; do
            tra run -q --sites $sites own.tra
            for x in D d; do tra diff own.h5:$x reference.h5:$x; done
            tra diff own.h5:d w.h5:w
        done
    done
}

@test "messages of whole tensors name the shapes, the table's column and what to write" {
    printf '1,2\n3,4\n' >A.csv
    printf '1\n2\n3\n' >v.csv
    printf 'a,b\n1,x\n' >t.csv
    told 2 tra eval 'A + v' A.csv v.csv
    told 2 tra eval 'R = A + A[i,j]' A.csv
    told 2 tra eval 't * 2' t.csv
    told 2 tra eval 'lgo(A)' A.csv
    told 2 tra eval 'count(t)' t.csv
    told 2 tra eval 'sum(A, 0)' A.csv
    told 2 tra eval '1 + 2'
    told 2 tra eval 'R = 2 * A[i,j]' A.csv
    told 2 tra eval 'trace(gen(zero, [2, 2, 2]))'
    told 2 tra eval 'input t from "t.csv"; M = matrix(select(t, a > 0), [a]); diag(M)'
}

@test "slices with steps, also back, are numpy's, of dense and sparse tensors, with the labels of what is left" {
    ln -s "$BATS_FILE_TMPDIR"/*.h5 "$BATS_FILE_TMPDIR"/*.npy "$BATS_FILE_TMPDIR"/*.mtx .
    py '
import subprocess, scipy.io
tra = sys.argv[1]
A, I, v, T, S = np.load("A.npy"), np.load("I.npy"), np.load("v.npy"), np.load("T.npy"), scipy.io.mmread("S.mtx").toarray()
cases = [("A", "::2, 1:7:3", A[::2, 1:7:3]), ("A", "::-1, :", A[::-1]), ("A", "12:0:-5, ::-2", A[12:0:-5, ::-2]), ("I", "3::-1, 2:4", I[3::-1, 2:4]),
    ("v", "::4", v[::4]), ("v", "10:2:-3", v[10:2:-3]), ("T", "::2, ::-1, 1::2", T[::2, ::-1, 1::2]), ("A", "5:5:2, :", A[5:5:2]), ("A", "::100, ::7", A[::100, ::7]),
    ("S", "::3, ::-1", S[::3, ::-1]), ("S", "39:10:-7, 2:20", S[39:10:-7, 2:20]), ("A", "k:2*k:k-2, :", A[3:6:1]), ("I", ": , ::2", I[:, ::2])]
text = ["input %s from \"%s.h5\"" % (n, n) for n in "A I v T S".split()] + ["param k = 3"]
for i, (n, e, w) in enumerate(cases): text += [f"r{i} = slice({n}, [{e}])", f"output r{i} to \"out.h5:r{i}\""]
open("p.tra", "w").write("\n".join(text) + "\n")
for how in ([], ["--sites", "2"], ["--sites", "3"], ["--engine", "reference"]):
    subprocess.run([tra, "run", "-q", *how, "p.tra"], check=True)
    for i, (n, e, w) in enumerate(cases):
        subprocess.run([tra, "export", "-q", f"out.h5:r{i}", "-o", "r.npy"], check=True)
        np.testing.assert_array_equal(np.load("r.npy"), w, err_msg=e + str(how))
' "$TRA"
    printf 'a,b,c\n1,2,7\n3,4,8\n5,6,9\n' >t.csv
    [ "$(tra eval 'slice(t, [::2, ::-2])' t.csv)" = $'c,a\n7,1\n9,5' ]
    told 2 tra eval 'slice(t, [0:3:0, :])' t.csv
    told 2 tra eval 'slice(t, [0:3:-1, :])' t.csv
    told 2 tra eval 'state w = gen(zero, [8]); repeat 2 as t { next w = slice(w, [t:4+t:2]) }'
}

@test "what numpy and pandas users type is answered by what does it here" {
    printf '1,2\n3,4\n' >A.csv
    printf 'a,s\n1,x\n-3,y\n' >t.csv
    answers() { status 2 tra eval "$1" A.csv; has "$2"; }
    answers 'A.T' 'write transpose(A)'
    answers 'A[0:2,:]' 'slice(A, [0:2, :])'
    answers 'A[:,0]' 'slice(A, [0:2, :])'
    answers 'norm(A) + zeros(3) + A' 'gen(zero, [3, 4])'
    answers 'x = eye(3); A' 'gen(identity, [3, 3])'
    answers 'reshape(A, [4])' 'entries(X)'
    answers 'y[i] = norm(A) + A[i,0]' 'n = norm(X)'
    answers 'describe(A)' 'tra info -s FILE'
    told 2 tra eval 'project(t, u = round(a / 3, 2), v = s + "z")' t.csv
    told 2 tra eval 'mean(t.a)' t.csv
}

@test "keys of order and distinct may be computed, and drop beside * leaves columns out" {
    printf 'a,s\n1,x\n-3,y\n2,xa\n' >t.csv
    for how in "" "--sites 3"; do
        [ "$(tra eval $how 'order(t, [abs(a) desc])' t.csv)" = $'a,s\n-3,y\n2,xa\n1,x' ]
        [ "$(tra eval $how 'order(t, [length(s) desc, -a])' t.csv)" = $'a,s\n2,xa\n1,x\n-3,y' ]
        [ "$(tra eval $how 'distinct(t, [substr(s, 1, 1)])' t.csv)" = $'a,s\n1,x\n-3,y' ]
    done
    printf 'input t from "t.csv"\nR = order(t, [a %% 2, s desc])\noutput R to "csv:R.csv"\n' >p.tra
    status 0 tra run -q --engine reference p.tra
    is $'a,s\n2,xa\n-3,y\n1,x' cat R.csv
    [ "$(tra eval 'project(t, *, drop(s), b = a * 2)' t.csv | head -2)" = $'a,b\n1,2' ]
    [ "$(tra eval 'project(t, drop(s), *, b = a * 2)' t.csv | head -2)" = $'a,b\n1,2' ]
    [ "$(tra eval 'matrix(t, [*, drop(a), b = a * 2])' t.csv | head -2)" = $'b\n2' ]
}

@test "extent of rows that only the run counts is their number in EinSum and in arithmetic of whole tensors" {
    printf 'k,v\n1,2\n3,4\n5,9\n' >t.csv
    for how in "" "--sites 3" "--engine reference"; do
        [ "$(tra eval $how 's = select(t, v > 3); M = matrix(s, [v]); m[j] = sum[i](M[i,j]) / extent(M, 0)' t.csv)" = $'j,value\nv,6.5' ]
        [ "$(tra eval $how 's = select(t, v > 3); M = matrix(s, [v]); sum(M) / extent(M, 0) - extent(s, 0)' t.csv)" = 4.5 ]
        [ "$(tra eval $how 's = select(t, v > 30); M = matrix(s, [v]); M / extent(M, 0)' t.csv)" = v ]
    done
    told 2 tra eval 's = select(t, v > 3); gen(zero, [extent(s, 0)])' t.csv
}

@test "count of a condition is warned of: it is the number of elements" {
    printf '1\n-2\n%.0s' 1 2 3 4 5 >v.csv
    status 0 tra eval 'count(v > 0)' v.csv
    has 'warning: count counts what is not NaN: every element, of a condition'
    has 'sum counts the elements of which it is true'
    is '10' bash -c '"$0" eval "count(v)" v.csv 2>&1' "$TRA"
}

@test "products of rows that are divided and mapped, as of a softmax that is rounded" {
    tra gen -q --shape 9x9 --block 4x4 --dist normal -o a.h5
    printf '%s\n' 'input A from "a.h5"' 's = softmax(A)' 'z = round(s * 8)' 'r[i] = sum exp(A[i,j])' \
        'y[i,j] = abs(A[i,j] / r[i])' 'G[i,j] = sum z[k,i] * z[k,j]' 'H[i,j] = sum y[k,i] * y[k,j]' 'output G to "g.h5"' \
        'output H to "h.h5"' >p.tra
    as_reference p.tra g.h5 h.h5
}
