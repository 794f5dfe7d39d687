# Data frames between tra and AnnData: by its encodings, made by hand, and by the package itself where it is installed.
load helper

@test "frames of AnnData: repeated strings, NULL strings, categories of numbers and of before version 0.2.0" {
    py 's = h5py.string_dtype()
f = h5py.File("a.h5ad", "w")
def kind(d, name, version="0.2.0"): d.attrs.update({"encoding-type": name, "encoding-version": version}); return d
def texts(g, n, v): return kind(g.create_dataset(n, data=np.array(v, dtype=object), dtype=s), "string-array")
def frame(n, order, version="0.2.0"):
    g = kind(f.create_group(n), "dataframe", version)
    g.attrs["_index"], g.attrs["column-order"] = "_index", np.array(order, dtype=s)
    texts(g, "_index", ["c1", "c2", "c3", "c4"])
    return g
g = frame("obs", ["t", "u", "k", "r", "b"])
texts(g, "t", ["x", "y", "x", "y"])
u = kind(g.create_group("u"), "nullable-string-array", "0.1.0")
texts(u, "values", ["p", "", "q", ""]), kind(u.create_dataset("mask", data=np.array([False, True, False, False])), "array")
for n, v in ("k", np.array([7, -1, 30])), ("r", np.array([.5, 2, 1e300])), ("b", np.array([False, True])):
    c = kind(g.create_group(n), "categorical"); c.attrs["ordered"] = True
    kind(c.create_dataset("codes", data=np.array([1, 0, -1, 1], "i1")), "array"), kind(c.create_dataset("categories", data=v), "array")
g = frame("var", ["old", "n"], "0.1.0")
d = g.create_dataset("old", data=np.array([1, -1, 0, 1], "i1"))
names = texts(g.create_group("__categories"), "old", ["p", "q"]); names.attrs["ordered"] = False
d.attrs["categories"] = names.ref
g.create_dataset("n", data=np.arange(4))'
    is "$(printf '%s\n' '_index,t,u,k,r,b' 'c1,x,p,-1,2,true' 'c2,y,,7,0.5,false' 'c3,x,q,,,' 'c4,y,"",-1,2,true')" \
        eval "tra export -q a.h5ad:obs -o - --to csv"
    is "$(printf '%s\n' '_index,old,n' 'c1,q,0' 'c2,,1' 'c3,p,2' 'c4,q,3')" eval "tra export -q a.h5ad:var -o - --to csv"
    cat >p.tra <<'END2'
input t from "a.h5ad:obs"
g = group(t, [t], n = count(), u = count(u))
output g
END2
    tra run -q p.tra
    is "$(printf '%s\n' 't,n,u' 'x,2,2' 'y,2,1')" eval "tra export -q g.h5 -o - --to csv"
    py 'f = h5py.File("a.h5ad", "a"); del f["obs/u/mask"]; f["obs/u/mask"] = np.array([True])'
    status 3 tra head a.h5ad:obs
    [[ $output == *'column "u": its values or their mask are damaged'* ]]
    py 'f = h5py.File("a.h5ad", "a"); f["var/old"].attrs["categories"] = f["var"].ref'
    status 3 tra head a.h5ad:var
    [[ $output == *'column "old": its codes or categories are damaged'* ]]
}

@test "read_elem of anndata opens tables as data frames, and tra what it writes" {
    "$PYTHON" -c 'import anndata' 2>/dev/null || skip "anndata is not installed"
    printf '%s\n' 'name,age,when,score,ok,n' 'Ann,34,2020-01-05,1.5,true,1' 'Bob,,2021-12-31,,false,2' 'Zoe,7,1999-02-28,3e2,,3' >p.csv
    tra import -q p.csv -o p.h5
    py 'import warnings; warnings.simplefilter("ignore")
try: import anndata.io as io
except ImportError: import anndata.experimental as io
import pandas as pd
t = io.read_elem(h5py.File("p.h5")["data"])
assert list(t) == ["name", "age", "when", "score", "ok", "n"] and list(t.index) == ["Ann", "Bob", "Zoe"]
assert [str(x) for x in t.dtypes] == ["category", "Int32", "int32", "float64", "boolean", "int32"], t.dtypes
assert t.age.isna().tolist() == [False, True, False] and t.ok.tolist()[:2] == [True, False] and t.ok.isna()[2]
n = 300
r = np.random.default_rng(1)
t = pd.DataFrame({"c": pd.Categorical(r.choice(["z", "a", "m"], n), ["z", "a", "m"], ordered=True), "i": pd.Categorical(r.choice([3, 1, 2], n)),
    "n": pd.array(np.where(r.random(n) < .5, None, 5), dtype="Int64"), "b": pd.array(np.where(r.random(n) < .5, None, True), dtype="boolean"),
    "u": np.arange(n).astype("u1"), "x": r.random(n), "s": [f"t{i % 7}" for i in range(n)]}, index=[f"c{i}" for i in range(n)])
with h5py.File("a.h5ad", "w") as f: io.write_elem(f, "obs", t)
t.to_pickle("want")'
    tra export -q a.h5ad:obs -o got.csv --to csv
    py 'import csv, pandas as pd
t, got = pd.read_pickle("want"), list(csv.reader(open("got.csv")))
assert got[0] == ["_index", *t] and len(got) == 1 + len(t)
for name, *row in zip(t.index, *(t[c] for c in t)):
    i = 1 + list(t.index).index(name)
    for want, x in zip([name] + row, got[i]):
        assert x == "" if want is pd.NA else float(x) == want if isinstance(want, float) else x == str(want).replace("True", "true"), (i, want, x)'
}
