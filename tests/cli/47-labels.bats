# Labels of dimensions in files: dimension scales that h5py and xarray show, through import, runs, storages and export.
load helper

# A matrix whose columns have names, and a program on it, whose results carry them on.
matrix() {
    printf 'alpha,beta,gamma\n1,2,3\n4,5,6\n7,8,10\n2,0,1\n' >m.csv
    status 0 tra import -q --matrix --block 2x2 m.csv -o m.h5
    printf '%s\n' 'input M from "m.h5"' 'C[i,j] = sum M[n,i] * M[n,j]' 'D[k,l] as csr = C[k,l] * 2' \
        'output C to "c.h5:C"' 'output D to "d.h5"' >p.tra
}

# shows FILE CODE: python on f, the open file
shows() {
    status 0 "$PYTHON" -c "
import h5py, sys
f = h5py.File(sys.argv[1])
t = lambda s: [x.decode() if isinstance(x, bytes) else x for x in s[()]]
$2" "$1"
}

# changes FILE CODE: python on f, the file open for writing
changes() {
    "$PYTHON" -c "
import h5py, numpy as np, sys
f = h5py.File(sys.argv[1], 'r+')
$2" "$1"
}

@test "the names of a header are labels of dimension 1, which h5py shows as a dimension scale" {
    matrix
    shows m.h5 'X = f["data"]
assert X.dims[1].label == "column", X.dims[1].label
assert t(X.dims[1][0]) == ["alpha", "beta", "gamma"]
assert X.dims[1][0].name == "/data.column"
assert f["data.column"].attrs["CLASS"] == b"DIMENSION_SCALE"
assert f[f["data.column"].attrs["REFERENCE_LIST"][0][0]] == X
assert X.dims[0][0].shape == (4,) and X.dims[0][0].id.get_storage_size() == 0'
    run tra info m.h5
    [[ $output == *"labels      dimension 1, column: alpha, beta, gamma"* ]]
    "$TRA" info --format json m.h5 >m.json
    run "$PYTHON" -c 'import json; print(json.load(open("m.json"))["relations"][0]["labels"][0])'
    [[ $output == *"{'dimension': 1, 'name': 'column', 'type': 'string', 'count': 3, 'first': ['alpha', 'beta', 'gamma']}"* ]]
    is "$(printf 'data')" tra info --names m.h5
    is "$(printf 'alpha,beta,gamma\n1,2,3\n4,5,6\n7,8,10\n2,0,1')" tra head m.h5
    status 0 tra verify -q m.h5
    for options in --no-header "--skip 1"; do
        sed 1d m.csv >n.csv
        [ "$options" = --no-header ] || sed -n p m.csv >n.csv
        status 0 tra import -q --matrix $options n.csv -o n.h5
        shows n.h5 'assert "data.column" not in f'
    done
    status 0 tra import -q --matrix --columns gamma,alpha m.csv -o g.h5
    shows g.h5 'assert t(f["data"].dims[1][0]) == ["gamma", "alpha"]'
}

@test "results carry labels on, also stored by levels, the same bytes on 1, 2 and 3 ranks" {
    matrix
    for sites in 1 2 3; do
        status 0 tra run -q --no-history --sites $sites p.tra
        [ $sites != 1 ] || for f in c d; do cp $f.h5 ${f}1.h5; done
        status 0 cmp c.h5 c1.h5
        status 0 cmp d.h5 d1.h5
    done
    shows c.h5 'X = f["C"]
assert [d.label for d in X.dims] == ["i", "j"]
assert [t(d[0]) for d in X.dims] == 2 * [["alpha", "beta", "gamma"]]'
    shows d.h5 'assert t(f["data.k"]) == t(f["data.l"]) == ["alpha", "beta", "gamma"]'
    status 0 tra run -q --no-history --engine reference p.tra
    shows c.h5 'assert t(f["C"].dims[1][0]) == ["alpha", "beta", "gamma"]'
    for f in c.h5:C; do
        printf '%s\n' "input X from \"$f\"" 'E = entries(X)' 'output E to "e.h5"' >q.tra
        status 0 tra run -q q.tra
        is "$(printf 'i,j,value\nalpha,alpha,70')" sh -c "\"$TRA\" export -q e.h5 -o - --to csv | head -n 2"
    done
}

@test "labels that are whole numbers, dates and booleans are scales of such, and come back as what they are" {
    printf 'who,day,on,at,n\na,2020-02-01,true,2020-02-01 10:00:00,1\nb,2020-01-31,false,2020-02-01 10:00:01,2\n' >t.csv
    status 0 tra import -q --table t.csv -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'A = pivot(t, day, n, n, sum)' 'B = pivot(t, on, at, n, sum)' \
        'output A to "a.h5"' 'output B to "b.h5"' >p.tra
    status 0 tra run -q p.tra
    shows a.h5 'assert f["data.day"].attrs["units"].decode() == "days since 1970-01-01"
assert f["data.day"][()].tolist() == [18292, 18293] and f["data.n"][()].tolist() == [1, 2]'
    printf '%s\n' 'input A from "a.h5"' 'input B from "b.h5"' 'E = entries(A)' 'F = entries(B)' 'output E' 'output F' >p.tra
    status 0 tra run -q p.tra
    is "$(printf 'day,n,value\n2020-01-31,1,0\n2020-01-31,2,2\n2020-02-01,1,1\n2020-02-01,2,0')" tra head E.h5
    is "$(printf 'on,at,value\nfalse,2020-02-01 10:00:00,0\nfalse,2020-02-01 10:00:01,2\ntrue,2020-02-01 10:00:00,1\ntrue,2020-02-01 10:00:01,0')" tra head F.h5
}

@test "import and export to h5 keep labels, and those of other programs' scales are read" {
    matrix
    status 0 tra export -q m.h5 -o x.h5 --to h5
    status 0 tra import -q x.h5 -o y.h5 --block 3x3
    status 0 tra import -q --storage coo y.h5 -o z.h5
    status 0 tra export -q z.h5 -o w.h5 --to h5
    for f in x y z w; do
        run tra info $f.h5
        [[ $output == *"dimension 1, column: alpha, beta, gamma"* ]]
        status 0 tra verify -q $f.h5
    done
    "$PYTHON" -c '
import h5py, numpy as np
f = h5py.File("other.h5", "w")
f["temp"] = np.arange(6.).reshape(2, 3)
f["lat"] = np.array([10, 20], dtype=np.int16)
f["station"] = np.array(["b", "a", "b"], dtype=h5py.string_dtype())
f["height"] = np.array([1.5, 2.5])
for d, s in enumerate(["lat", "station"]):
    f[s].make_scale(s)
    f["temp"].dims[d].attach_scale(f[s])
f["height"].make_scale("height")'
    is temp tra info --names other.h5
    printf '%s\n' 'input T from "other.h5"' 'E = entries(T)' 'output E' >p.tra
    status 0 tra run -q p.tra
    is "$(printf 'lat,station,value\n10,b,0\n10,a,1\n10,b,2\n20,b,3\n20,a,4\n20,b,5')" tra head E.h5
}

@test "what else a file holds keeps its labels when a relation is written into it, and that one's go with it" {
    matrix
    status 0 tra import -q --matrix m.csv -o all.h5:first
    "$PYTHON" -c '
import h5py, numpy as np
f = h5py.File("all.h5", "r+")
for name in ["u", "v"]:
    f[name] = np.arange(6.).reshape(2, 3)
f["x"] = np.arange(3)
f["x"].make_scale("x")
for name in ["u", "v"]:
    f[name].dims[1].attach_scale(f["x"])'
    status 0 tra import -q --matrix m.csv -o all.h5:second
    shows all.h5 'assert t(f["first"].dims[1][0]) == t(f["second"].dims[1][0]) == ["alpha", "beta", "gamma"]
assert f["first"].dims[1][0].name == "/first.column"
assert f["u"].dims[1][0] == f["v"].dims[1][0] == f["x"] and len(f["u"].dims[0]) == 0
assert sorted(f[r[0]].name for r in f["x"].attrs["REFERENCE_LIST"]) == ["/u", "/v"]'
    for r in first second; do status 0 tra verify -q all.h5:$r; done
    is "$(printf 'first\nsecond\nu\nv')" tra info --names all.h5
    sed 1d m.csv >n.csv
    status 0 tra import -q --matrix n.csv -o all.h5:first
    shows all.h5 'assert "first.column" not in f and len(f["first"].dims[1]) == 0 and "second.column" in f'
    status 3 tra import -q --matrix n.csv -o all.h5:second.column
    [[ $output == *"there second.column has the labels of second"* ]]
    status 0 tra import -q --matrix n.csv -o all.h5:third.column
    status 3 tra import -q --matrix m.csv -o all.h5:third
    [[ $output == *"something else has their name, third.column"* ]]
}

@test "what else a file holds keeps its links and attributes when a relation is written into it, also in a group" {
    matrix
    "$PYTHON" -c '
import h5py, numpy as np
with h5py.File("other.h5", "w") as f: f["y"] = np.arange(4)
f = h5py.File("all.h5", "w")
f["g/w"] = np.arange(6.).reshape(2, 3)
f["soft"], f["away"], f["nowhere"] = h5py.SoftLink("/g/w"), h5py.ExternalLink("other.h5", "/y"), h5py.SoftLink("/no/such")
f.attrs["note"], f.attrs["shape"] = "of the root", np.arange(3)
f["g"].attrs["units"] = ["m", "s"]'
    for name in first g/second; do
        status 0 tra import -q --matrix m.csv -o all.h5:$name
        shows all.h5 'links = {k: f.get(k, getlink=True) for k in ("soft", "away", "nowhere")}
assert links["soft"].path == "/g/w" and links["nowhere"].path == "/no/such" and f["soft"][1, 2] == 5
assert (links["away"].filename, links["away"].path) == ("other.h5", "/y") and f["away"][3] == 3
assert f.attrs["note"] == "of the root" and list(f.attrs["shape"]) == [0, 1, 2] and list(f["g"].attrs["units"]) == ["m", "s"]
assert len(f.attrs) == 2 and len(f["g"].attrs) == 1'
    done
    status 0 tra diff all.h5:first all.h5:g/second
}

@test "labels that are damaged, gone or of another length are found before they are used" {
    matrix
    status 0 tra run -q p.tra
    printf '%s\n' 'input X from "bad.h5:C"' 'T = table(X)' 'output T' >q.tra
    n=0
    while IFS='|' read -r code says; do
        cp c.h5 bad.h5
        changes bad.h5 "$code"
        for command in "3 info bad.h5:C" "3 check q.tra" "1 verify -q bad.h5:C"; do
            run tra ${command#* }
            [[ $output == *"$says"* ]] || { echo "$code: $output"; return 1; }
            [[ $says == its\ * || $status == "${command%% *}" ]] || { echo "$code: $command: $status"; return 1; }
        done
        n=$((n + 1))
    done <<'END'
f["C.i"][1] = "zeta"|the labels of its dimension 0 (C.i) are not those that were recorded
del f["C.j"].attrs["tra_xxh64"]|(C.j) are not those that were recorded
del f["C"].attrs["DIMENSION_LIST"], f["C.i"]|the labels of its dimension 0 (C.i) are missing or damaged
del f["C.i"]; f["C.i"] = np.arange(3)|the labels of its dimension 0 (C.i) are damaged
del f["C.i"].attrs["CLASS"]|the labels of its dimension 0 (C.i) are damaged
x = f["C.i"][()]; del f["C.i"]; f["C.i"] = np.array(["a", "b"], dtype=h5py.string_dtype()); f["C.i"].make_scale("i")|(C.i) are damaged
f["C"].attrs["tra_labels"] = "i\nj\nk"|its attributes, type or extents are not those that it was written with
del f["C"].attrs["tra_labels"]|its attributes, type or extents are not those that it was written with
del f["C"].attrs["DIMENSION_LIST"], f["C.i"]; f["C.i"] = h5py.SoftLink("/C.i")|(C.i) are
del f["C.i"]; f.create_group("C.i")|(C.i) are damaged
END
    [ $n = 10 ]
    cp d.h5 bad.h5
    changes bad.h5 'f["data.l"][2] = "zeta"'
    status 1 tra verify -q bad.h5
    [[ $output == *"the labels of its dimension 1 (data.l) are not those"* ]]
    cp c.h5 bad.h5
    changes bad.h5 'f.move("C.i", "elsewhere")'
    status 0 tra verify -q bad.h5:C
}

@test "two columns of one name, and names that HDF5 does not take, are labels as they are" {
    printf 'a/b,a/b,,é\n1,2,3,4\n' >m.csv
    status 0 tra import -q --matrix --header m.csv -o m.h5
    shows m.h5 'assert t(f["data"].dims[1][0]) == ["a/b", "a/b", "", "é"]'
    printf '%s\n' 'input M from "m.h5"' '`x/y`[`.`,n] = M[n,`.`]' 'E = entries(M)' 'output E' >p.tra
    run tra check p.tra
    printf '%s\n' 'input M from "m.h5"' 'T = table(M)' 'output T' >p.tra
    status 2 tra check p.tra
    [[ $output == *"two columns of the table would be called 'a/b'"* ]]
}

@test "xarray shows labels as coordinates" {
    "$PYTHON" -c 'import xarray, h5netcdf' 2>/dev/null || skip "there is no xarray with h5netcdf"
    matrix
    status 0 tra run -q p.tra
    status 0 "$PYTHON" -c '
import xarray
m = xarray.open_dataset("m.h5", engine="h5netcdf")["data"]
assert m.dims == ("data.i0", "data.column"), m.dims
assert m.sel({"data.column": "beta"}).values.tolist() == [2, 5, 8, 0]
c = xarray.open_dataset("c.h5", engine="h5netcdf")["C"]
assert c.sel({"C.i": "alpha", "C.j": "gamma"}) == 1 * 3 + 4 * 6 + 7 * 10 + 2 * 1'
}

@test "labels pass through every operator that keeps a dimension, and parts of a dimension have theirs" {
    matrix
    printf 'who,k,v\na,x,1\nb,y,2\na,y,3\n' >t.csv
    status 0 tra import -q --table t.csv -o t.h5
    cat >all.tra <<'END2'
input M from "m.h5"
input t from "t.h5"
C[i,j] = sum M[n,i] * M[n,j]
P = pivot(t, who, k, v, sum)
T = transpose(M)
S = slice(M, [1:3, 1:3])
ST = stack(slice(C, [0:2, :]), slice(C, [2:3, :]), 0)
SX = stack(M, slice(M, [:, 0:1]), 1)
top, at = topk(C, 2)
SM = softmax(M)
RB = reblock(M, [4, 3])
EX[n,c] = exp(M[n,c])
s[c] = sum M[n,c]
am[c] = argmax[n](M[n,c])
dg[i] = C[i,i]
G[a,b] = sum P[a,x] * P[b,x]
X = matrix(t, [v, w = v * 2])
N = transform(M, relu)
J = join(M, M, [0,1], [0,1], matadd)
F = filter(M, (i,j) -> i == 0)
I = inverse(C)
U, sv, V = svd(C)
Q, R = qr(M)
w, E = eigh(C)
L[i,j] as csr = C[i,j]
cu[n,c] = M[n,c] - s[c] / 4
CC = concat(M, 1, 1)
CT = concat(tile(M, 1, 1), 2, 1)
AG = agg(M, [1], matadd)
RK = rekey(C, (i,j) -> (j,i))
Z = slice(M, [:, 0:2])
ZZ = stack(Z, Z, 1)
mixed = concat(concat(tile(reblock(ZZ, [4, 2]), 1, 1), 1, 1), 1, 1)
END2
    n=0
    while IFS='|' read -r name zero one; do
        { cat all.tra; echo "output $name to \"o.h5\""; } >p.tra
        status 0 tra run -q p.tra
        shows o.h5 "
x = next(f[k] for k in ('$name', 'data') if k in f and (isinstance(f[k], h5py.Dataset) or 'data.i' in f))
got = [f[k] for k in f if k.startswith('data.')]
want = {0: '$zero'.split(), 1: '$one'.split()}
if isinstance(x, h5py.Dataset):
    for d in range(x.ndim):
        own = t(x.dims[d][0]) if len(x.dims[d]) and x.dims[d][0].id.get_storage_size() else []
        assert own == want[d], ('$name', d, own, want[d])
else:
    assert sorted(map(t, got)) == sorted(v for v in want.values() if v), '$name'"
        n=$((n + 1))
    done <<'END2'
C|alpha beta gamma|alpha beta gamma
P|a b|x y
T|alpha beta gamma|
S||beta gamma
ST|alpha beta gamma|alpha beta gamma
SX||alpha beta gamma alpha
top|alpha beta gamma|
at|alpha beta gamma|
SM||alpha beta gamma
RB||alpha beta gamma
EX||alpha beta gamma
s|alpha beta gamma|
am|alpha beta gamma|
dg|alpha beta gamma|
G|a b|a b
X||v w
N||alpha beta gamma
J||alpha beta gamma
F||alpha beta gamma
I|alpha beta gamma|alpha beta gamma
U|alpha beta gamma|
V|alpha beta gamma|
R||alpha beta gamma
E|alpha beta gamma|
cu||alpha beta gamma
CC||alpha beta gamma
CT||alpha beta gamma
AG||alpha beta gamma
RK|alpha beta gamma|alpha beta gamma
ZZ||alpha beta alpha beta
mixed||
END2
    [ $n = 31 ]
}

@test "head shows labels beside and above the numbers on a terminal, and as a header and a first column elsewhere" {
    script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminals here"
    printf 'a,b,v\nx,p,1\nx,qq,2\nyy,p,3\n' | tra import -q --table - -o t.h5
    printf 'input t from "t.h5"\nP = pivot(t, a, b, v, sum)\noutput P\n' >p.tra
    tra run -q p.tra
    is "$(printf 'a,p,qq\nx,1,2\nyy,3,0')" tra head P.h5
    script -qec "'$TRA' head P.h5" /dev/null | tr -d '\r' | tr -s ' ' >shown
    grep -q ' p qq *$' shown
    grep -q '^ *x 1 2 *$' shown
    grep -q '^ *yy 3 0 *$' shown
}

@test "export to CSV has the labels of columns as a header, and those of rows as the first column, quoted as texts are" {
    printf 'id,v,"a ""b"", c"\n"x, y",1,2.5\nz,3,4\n' | tra import -q --table - -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'M = matrix(t, [v, `a "b", c`], rows = id)' 'N = unlabel(M, 0)' \
        'U = unlabel(M, 1)' 'R[i] = sum M[i,j]' 'output M' 'output N' 'output U' 'output R' >p.tra
    status 0 tra run -q p.tra
    is "$(printf 'id,v,"a ""b"", c"\n"x, y",1,2.5\nz,3,4')" tra export -q M.h5 -o - --to csv
    is "$(printf 'v,"a ""b"", c"\n1,2.5\n3,4')" tra export -q N.h5 -o - --to csv
    is "$(printf '"x, y",1,2.5\nz,3,4')" tra export -q U.h5 -o - --to csv
    is "$(printf 'i,value\n"x, y",3.5\nz,7')" tra export -q R.h5 -o - --to csv
    for r in M N U R; do is "$(tra export -q $r.h5 -o - --to csv)" tra head $r.h5; done
    status 0 tra export -q M.h5 -o M.csv
    status 0 tra import -q --table M.csv -o back.h5
    is "$(tra head M.h5)" tra head back.h5
}
