# The ways out where dimensions do not agree: rows = key, label, align, unlabel; and elements by what they stand for.
load helper

table() { printf 'id,city,v\n3,A,1\n1,B,20\n2,A,300\n' | tra import -q --table - -o t.h5; }

# gives CSV STATEMENT...: what the program says of S, by plan and by the reference
gives() {
    local want=$1
    shift
    printf '%s\n' 'input t from "t.h5"' "$@" 'output S' >p.tra
    status 0 tra run -q p.tra
    is "$want" sh -c "\"$TRA\" head -n 50 S.h5"
    status 0 tra run -q --engine reference p.tra
    is "$want" sh -c "\"$TRA\" head -n 50 S.h5"
    for command in check explain cost; do status 0 tra $command p.tra; done
}

@test "rows = key, label, align, order and unlabel: sums of rows by city are right, or by position where that is said" {
    table
    O='O = pivot(t, id, city, 1, sum)'
    right=$(printf 'c,i,value\nA,v,301\nB,v,20')
    E='R[c,i] = sum O[n,c] * N[n,i]
S = entries(R)'
    gives "$right" "$O" 'M = matrix(t, [v], rows = id)' 'N = align(M, 0, O, 0)' "$E"
    gives "$right" "$O" 'M = matrix(t, [v])' 'L = label(M, 0, t, id)' 'N = align(L, 0, O, 0)' "$E"
    gives "$right" "$O" 'K = order(t, [id])' 'N = matrix(K, [v], rows = id)' "$E"
    gives "$right" "$O" 'N = matrix(t, [v], rows = id)' 'P = align(O, 0, N, 0)' "${E//O\[/P[}"
    gives "$(printf 'c,i,value\nA,v,320\nB,v,1')" 'Q = pivot(t, id, city, 1, sum)' 'O = unlabel(Q, 0)' 'N = matrix(t, [v])' "$E"
    gives "$(printf 'c,i,value\nA,v,320\nB,v,1')" "$O" 'K = matrix(t, [v], rows = id)' 'N = unlabel(K, 0)' "$E"
    printf '%s\n' 'input t from "t.h5"' "$O" 'N = matrix(t, [v], rows = id)' "$E" 'output S' >p.tra
    status 2 tra check p.tra
    [[ $output == *"position 0 is '1' in O, '3' in N"* ]]
    gives "$(printf 'id,v\n3,1\n1,20\n2,300')" 'M = matrix(t, [v], rows = id)' 'S = table(M)'
    gives "$(printf 'id,v\n1,20\n2,300')" 'K = select(t, v > 1)' 'M = matrix(K, [v], rows = id)' 'S = table(M)'
}

@test "labels of computed tables, also where the run counts their rows, pass on and stand in files" {
    table
    printf '%s\n' 'input t from "t.h5"' 'K = select(t, v > 1)' 'M = matrix(K, [v, w = v * 2], rows = id)' \
        'N[n,i] = M[n,i] + 1' 'T = table(N)' 'G = group(t, [city], s = sum(v))' 'H = matrix(G, [s], rows = city)' \
        'J = project(t, k = id * 10, v)' 'L = matrix(J, [v], rows = k)' 'output N' 'output T' 'output H' 'output L' >p.tra
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        is "$(printf 'n,v,w\n1,21,41\n2,301,601')" tra head T.h5
        is "$(py 'f = h5py.File("N.h5"); print(f["data.n"][()].tolist(), f["data"].shape)')" echo "[1, 2] (2, 2)"
        is "$(py 'f = h5py.File("H.h5"); print([x.decode() for x in f["data.city"][()]])')" echo "['A', 'B']"
        is "$(py 'f = h5py.File("L.h5"); print(f["data.k"][()].tolist())')" echo "[30, 10, 20]"
    done
    status 0 tra run -q --engine reference p.tra
    is "$(printf 'n,v,w\n1,21,41\n2,301,601')" tra head T.h5
}

@test "keys of rows = key and label are unique and no NULL, of each type; the error names the value and the rows" {
    printf 's,i,d,ts,f,v\nb,1,2020-01-01,2020-01-01 00:00:01,0.5,1\na,2,2020-01-02,2020-01-01 00:00:02,1.5,2\nb,1,2020-01-01,2020-01-01 00:00:01,0.5,3\n' |
        tra import -q --table - -o t.h5
    for c in s:b i:1 d:2020-01-01 "ts:2020-01-01 00:00:01" f:0.5; do
        for how in "M = matrix(t, [v], rows = ${c%%:*})" "K = matrix(t, [v])
M = label(K, 0, t, ${c%%:*})" "P = order(t, [v desc])
M = matrix(P, [v], rows = ${c%%:*})"; do
            printf '%s\n' 'input t from "t.h5"' "$how" 'output M' >p.tra
            status 3 tra check p.tra
            [[ $output == *"rows 0 and 2 of "*"have the same value in column '${c%%:*}', '${c#*:}'"* ]]
        done
        printf '%s\n' 'input t from "t.h5"' 'D = limit(t, 2)' "M = matrix(D, [v], rows = ${c%%:*})" 'S = table(M)' \
            'output S' >p.tra
        status 0 tra run -q p.tra
        is "$(printf '%s' "${c#*:}")" sh -c "\"$TRA\" head S.h5 | sed -n 2p | cut -d, -f1"
    done
    printf 'k,v\na,1\n,2\n' | tra import -q --table - -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'M = matrix(t, [v], rows = k)' 'output M' >p.tra
    status 3 tra check p.tra
    [[ $output == *"row 1 has NULL in column 'k', which is no label"* ]]
}

@test "align: a label that X lacks is an error, or fill; dtypes, dimensions, blocks, sparse tensors, ranks" {
    table
    gives "$(printf 'n,value\n3,1\n1,-7\n2,-7')" 'D = limit(t, 1)' 'A = matrix(D, [v], rows = id)' \
        'B = matrix(t, [v], rows = id)' 'C = align(A, 0, B, 0, fill = -7)' 'Q[n] = sum C[n,i]' 'S = entries(Q)'
    py 'import scipy.sparse as sp
sp.save_npz("X.npz", sp.csr_matrix(([3.0], ([1], [1])), (3, 2)))'
    tra import -q X.npz -o X.h5:X
    printf 'id\n1\n7\n2\n' | tra import -q --table - -o q.h5
    gives "$(printf 'id,i1,value\n1,0,0\n1,1,3\n7,0,-7\n7,1,-7\n2,0,0\n2,1,0')" 'input X from "X.h5:X"' \
        'input q from "q.h5"' 'A = label(X, 0, t, id)' 'B = matrix(q, [id], rows = id)' \
        'C = align(A, 0, B, 0, fill = -7)' 'D[n,c] as dense = C[n,c]' 'S = entries(D)'
    printf '%s\n' 'input t from "t.h5"' 'D = limit(t, 1)' 'A = matrix(D, [v], rows = id)' 'B = matrix(t, [v], rows = id)' \
        'C = align(A, 0, B, 0)' 'output C' >p.tra
    status 2 tra check p.tra
    [[ $output == *"A has no position that stands for '1', as position 1 of B does"* ]]
    [[ $output == *"fill = v"* ]]
    for bad in 'align(B, 0, B, 5)|dimension 5 of a tensor of 2' 'align(B, 0, t, 0)|this is a table already' \
        'align(B, 0, U, 0)|dimension 0 of U has no labels' 'align(B, 0, B, 0, fil = 1)|has no argument' \
        'align(B, 0)|align has two tensors' 'label(B, 0, t)|label has a tensor' 'label(B, 1, t, id)|1 positions' \
        'label(B, 0, t, 3)|labels are the values of a column' 'unlabel(B)|unlabel has a tensor' \
        'matrix(t, [v], rows = 3)|rows = key' 'matrix(t, [v], rows = no)|no'; do
        printf '%s\n' 'input t from "t.h5"' 'B = matrix(t, [v], rows = id)' 'U = matrix(t, [v])' "C = ${bad%%|*}" \
            'output C' >p.tra
        status 2 tra check p.tra
        [[ $output == *"${bad#*|}"* ]]
    done
}

@test "align against numpy: each type, dimension and block, dense and sparse, on 1 to 5 ranks, at a low ceiling" {
    "$PYTHON" - <<'END'
import h5py, numpy as np
r = np.random.default_rng(7)
def put(f, name, a, labels):
    d = f.create_dataset(name, data=a)
    for i, l in enumerate(labels):
        s = f.create_dataset(f"{name}_{i}", data=l)
        s.make_scale(f"{name}_{i}")
        d.dims[i].attach_scale(s)
for k, t in enumerate(["f8", "f4", "i4", "i8", "?"]):
    with h5py.File(f"x{k}.h5", "w") as f:
        x = r.integers(-9, 9, (40, 30, 7)).astype(t)
        put(f, "x", x, [r.permutation(40), r.permutation(30) + 100, np.array([c for c in "gfedcba"], dtype=h5py.string_dtype())])
    with h5py.File(f"y{k}.h5", "w") as f:
        put(f, "y", np.zeros((40, 33, 5)), [r.permutation(40), r.permutation(33) + 99, np.array([c for c in "acbga"], dtype=h5py.string_dtype())])
END
    local i=0
    for k in 0 1 2 3 4; do
        status 0 tra import -q --block 7x4x3 x$k.h5:x -o b$k.h5
        status 0 tra import -q --storage coo x$k.h5:x -o s$k.h5
        fill=2
        [ $k = 4 ] && fill=1
        for f in x$k.h5:x b$k.h5 s$k.h5; do
            printf '%s\n' "input X from \"$f\"" "input Y from \"y$k.h5:y\"" 'A = align(X, 0, Y, 0)' \
                "B = align(A, 1, Y, 1, fill = $fill)" 'C = align(B, 2, Y, 2)' 'D = align(X, 0, Y, 0, fill = 0)' \
                'output C' 'output D' >p.tra
            i=$((i + 1))
            some $i "--sites 1" "--sites 3" "--sites 5" "--memory 48M" "--engine reference" >ways
            while read -r how; do
                # shellcheck disable=SC2086
                status 0 tra run -q $how p.tra </dev/null
                status 0 "$PYTHON" - $k $fill <<'END'
import h5py, numpy as np, sys
k, fill = sys.argv[1:]
x, y = h5py.File(f"x{k}.h5"), h5py.File(f"y{k}.h5")
a = x["x"][()]
for d in range(3):
    lx, ly = list(x[f"x_{d}"][()]), list(y[f"y_{d}"][()])
    parts = [np.take(a, lx.index(l), d) if l in lx else np.full_like(np.take(a, 0, d), int(fill)) for l in ly]
    a = np.stack(parts, d)
    if d == 0: first = a
c = h5py.File("C.h5")["data"]
assert c.dtype == a.dtype and np.array_equal(c[()], a), (c[()], a)
g = h5py.File("D.h5")["data"]
if isinstance(g, h5py.Dataset): assert np.array_equal(g[()], first)
assert list(h5py.File("C.h5")["data"].dims[2][0][()]) == list(y["y_2"][()])
END
            done <ways
        done
    done
}

@test "an element by what it stands for, or by its position, of each type of label" {
    printf 'day,name,price,qty\n2020-01-05,x,10,1\n2020-02-05,y,20,2\n2020-01-07,z,30,3\n' | tra import -q --table - -o t.h5
    X='X = matrix(t, [price, qty], rows = day)'
    N='N = matrix(t, [price, qty], rows = name)'
    gives "$(printf 'i,value\n2020-01-05,20\n2020-02-05,40\n2020-01-07,60')" "$X" 'Q[i] = X[i,"price"] * 2' 'S = entries(Q)'
    gives "$(printf 'j,value\nprice,20\nqty,2')" "$X" 'Q[j] = X[date "2020-02-05",j]' 'S = entries(Q)'
    gives "$(printf '23')" "$N" 'S[] = N["y","price"] + N[2,1]'
    gives "$(printf 'i,value\nx,1\ny,2\nz,3')" "$N" 'K = store(N, csr)' 'Q[i] = K[i,"qty"]' 'S = entries(Q)'
    gives 6 "$N" 'S[] = sum N[n,"qty"]'
    for bad in 'X[i,"prise"]|did you mean "price"?' 'X[i,"zzz"]|no position of dimension 1' 'X["2020-01-05",j]|no position' \
        'X[i,2]|has 2 positions' 'U["a",i]|dimension 0 of '"'U'"' has no labels' 'X[i+1,j]|an index is a label'; do
        left=${bad%%|*}
        printf '%s\n' 'input t from "t.h5"' "$X" 'U = matrix(t, [price])' "S[] = sum $left" 'output S' >p.tra
        status 2 tra check p.tra
        [[ $output == *"${bad#*|}"* ]]
    done
}

@test "an element by the value of a calendar function of a label: anomalies of a climatology" {
    "$PYTHON" -c '
import datetime as d
for i in range(40): print(d.date(2019, 1, 1) + d.timedelta(days=17 * i), i * i % 23, i, sep=",")' |
        sed '1i day,a,b' | tra import -q --table - -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'X = matrix(t, [a, b], rows = day)' 'P = pivot(t, m = month(day), day, 1, sum)' \
        'n[m] = sum P[m,t]' 'clim[m,j] = sum[t](P[m,t] * X[t,j]) / n[m]' 'R[t,j] = X[t,j] - clim[month(t),j]' \
        'W = pivot(t, w = weekday(day), day, 1, sum)' 'k[w] = sum W[w,t]' 'V[t] = k[weekday(t)] * X[t,"a"]' \
        'output R' 'output V' >p.tra
    for how in "--sites 1" "--sites 2" "--sites 3" "--engine reference"; do
        status 0 tra run -q $how p.tra
        status 0 "$PYTHON" -c '
import h5py, numpy as np, datetime as d
days = [d.date(2019, 1, 1) + d.timedelta(days=17 * i) for i in range(40)]
x = np.array([[i * i % 23, i] for i in range(40)], float)
m, w = np.array([t.month for t in days]), np.array([t.weekday() for t in days])
want = x - np.array([x[m == k].mean(0) for k in m])
r = h5py.File("R.h5")["data"]
assert np.allclose(r[()], want), (r[()], want)
assert r.dims[0][0][()].tolist() == [(t - d.date(1970, 1, 1)).days for t in days]
assert np.array_equal(h5py.File("V.h5")["data"][()], np.array([(w == k).sum() for k in w]) * x[:, 0])'
    done
    printf '%s\n' 'input t from "t.h5"' 'X = matrix(t, [a, b], rows = day)' 'P = pivot(t, m = month(day), day, 1, sum)' \
        'c[m] = sum P[m,t]' 'd = slice(c, [0:11])' 'S[t] = X[t,"a"] * d[month(t)]' 'output S' >p.tra
    status 2 tra check p.tra
    [[ $output == *"no position of 'd' stands for '12', which '2019-12-07' gives"* ]]
    sed -i 's/X\[t,"a"\] \* //' p.tra
    status 2 tra check p.tra
    [[ $output == *"no reference of the statement has the label 't' by itself"* ]]
}

@test "random programs over labelled rows: sums of the rows that belong together, as numpy has them, or an error" {
    status 0 "$PYTHON" "$BATS_TEST_DIRNAME/labels-random.py" "$TRA" 3 15
}
