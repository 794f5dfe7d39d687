# Names from files: vertices of a list of edges, arrays of an archive, enumerations, coordinates, cells and genes.
load helper

@test "vertices of edges may be names: both dimensions have all of them, in ascending order, from files and pipes" {
    py '
r = np.random.default_rng(5); names = [f"v{i:04d}é" if i % 3 else str(i) for i in range(800)]
e = [(names[a], names[b], w) for a, b, w in zip(r.integers(0, 800, 20000), r.integers(0, 800, 20000), r.integers(1, 9, 20000))]
open("g.el", "w").write("# a comment\n" + "".join(f"{a}\t{b} {w}\n" if w > 2 else f"{a}  {b}\n" for a, b, w in [("v0001é", "3", 4)] + e))
d = {}
for a, b, w in [("v0001é", "3", 4)] + e: d[a, b] = d.get((a, b), 0) + (w if w > 2 else 1)
v = sorted({x for p in d for x in p}, key=lambda s: s.encode())
open("want.csv", "w").write("from,to,value\n" + "".join(f"{a},{b},{d[a, b]}\n" for a in v for b in v if (a, b) in d))
deg = {a: sum(w for (x, _), w in d.items() if x == a) for a in v}
open("degree.csv", "w").write("i,value\n" + "".join(f"{a},{deg[a]}\n" for a in v))
'
    tra eval 'G = store(g, csr); entries(G)' g.el >got.csv
    cmp got.csv want.csv
    for sites in 1 3; do tra eval --sites $sites 'd[i] = sum g[i,j]; table(d)' g.el | cmp - degree.csv; done
    tra eval 'd[i] = sum g[i,j]; table(d)' g=edges:- <g.el | cmp - degree.csv
    gzip -k g.el
    tra eval --memory 64M 'd[i] = sum g[i,j]; table(d)' g=edges:g.el.gz | cmp - degree.csv
    tra import -q g.el -o g.h5
    tra export -q g.h5 -o back.el
    [ "$(head -1 back.el)" = '# Vertices: names' ]
    tra eval 'd[i] = sum g[i,j]; table(d)' g=back.el | cmp - degree.csv
    status 0 tra run -q @pagerank -D G=g.el -D turns=20
    [ "$(tra export -q rank.h5 -o - --to csv | cut -d, -f1 | tail -n +2)" = "$(tail -n +2 degree.csv | cut -d, -f1)" ]
    printf 'from to\n1 2\n2 3\n' >h.el
    told 3 tra eval h h.el
    printf '1 2\nbob 3\n' >h.el
    told 3 tra eval h h.el
    printf 'ann bob\nbob\n' >h.el
    told 3 tra eval h h.el
    printf 'ann bob x\n' >h.el
    told 3 tra eval h h.el
    told 2 tra import --shape 9x9 back.el -o no.h5
}

@test "an array of an archive of numpy is read by its name, compressed or not, in all commands" {
    py '
x = np.arange(1e5).reshape(100, 1000)
np.savez("a.npz", x=x, i=np.arange(4), f=np.asfortranarray(np.arange(6.).reshape(2, 3)), t=np.array(["a"]))
np.savez_compressed("c.npz", x=x, y=x[:2, :3] > 2)
np.savez("one.npz", np.arange(3))
'
    for f in a c; do
        [ "$(tra eval 'sum(x)' x=$f.npz:x)" = 4999950000 ]
        [ "$(tra eval --sites 2 --memory 64M 's[i] = sum x[i,j]; max(s)' x=$f.npz:x)" = 99499500 ]
    done
    [ "$(tra eval f f=a.npz:f)" = $'0,1,2\n3,4,5' ]
    [ "$(tra eval y y=c.npz:y)" = $'0,0,0\n1,1,1' ]
    [ "$(tra eval 'one + 1' one.npz)" = $'1\n2\n3' ]
    [ "$(tra head a.npz:i)" = $'0\n1\n2\n3' ]
    status 0 tra diff a.npz:x c.npz:x
    status 0 tra import -q c.npz:x -o x.h5
    status 0 tra diff x.h5 a.npz:x
    printf '%s\n' 'input x from "a.npz:x"' 'y[j] = sum x[i,j]' 'output y' >p.tra
    status 0 tra run -q p.tra
    told 3 tra eval x x=a.npz
    told 3 tra eval q q=a.npz:q
    told 3 tra eval t t=a.npz:t
    py 'd = bytearray(open("c.npz", "rb").read()); d[300] ^= 255; open("bad.npz", "wb").write(d)'
    status 3 tra eval 'sum(x)' x=bad.npz:x
}

@test "an enumeration is read as its numbers, which info names; a coordinate of netCDF labels itself" {
    py '
with h5py.File("e.h5", "w") as f:
    t = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": -42}, basetype="i2")
    f.create_dataset("e", data=np.array([0, 1, -42, 1], dtype="i2"), dtype=t)
    f.create_dataset("c", data=np.array([[0, 1], [-42, 1]], dtype="i2"), dtype=t, chunks=(1, 2), compression="gzip")
    t = f.create_dataset("time", data=np.array([0, 1, 31]))
    t.attrs["units"] = "days since 2020-01-01"; t.make_scale("time")
    v = f.create_dataset("v", data=np.array([1., 2., 3.])); v.dims[0].attach_scale(t)
'
    [ "$(tra eval e e=e.h5:e)" = $'0\n1\n-42\n1' ]
    [ "$(tra eval 'c + c' c=e.h5:c)" = $'0,2\n-84,2' ]
    status 0 tra info e.h5:e
    has 'an enumeration: BLUE = -42, GREEN = 1, RED = 0'
    [ "$(tra eval v v=e.h5:v | tail -1)" = '2020-02-01 00:00:00,3' ]
    [ "$(tra eval time time=e.h5:time)" = $'time,value\n2020-01-01 00:00:00,0\n2020-01-02 00:00:00,1\n2020-02-01 00:00:00,31' ]
}

@test "groups of cells meet an AnnData matrix by align, dense and sparse, whatever the order of the names" {
    py '
import anndata as ad, pandas as pd, scipy.sparse as sp, warnings
warnings.simplefilter("ignore")
r = np.random.default_rng(0); n = 60
obs = pd.DataFrame({"type": pd.Categorical(r.choice(["B", "NK", "T"], n)), "q": r.normal(size=n)}, index=[f"cell{i}" for i in r.permutation(n)])
var = pd.DataFrame(index=["g1", "g2", "g3"]); X = r.poisson(1, (n, 3)).astype("f4")
ad.AnnData(X=sp.csr_matrix(X), obs=obs, var=var).write_h5ad("s.h5ad"); ad.AnnData(X=X, obs=obs, var=var).write_h5ad("d.h5ad")
m = pd.DataFrame(X, columns=var.index).groupby(obs["type"].values).sum()
open("want.csv", "w").write("c,g1,g2,g3\n" + "".join(f"{k},{int(a)},{int(b)},{int(c)}\n" for k, (a, b, c) in zip(m.index, m.values)))
'
    for f in s d; do
        for how in "" "--sites 3"; do
            tra eval $how 'O = pivot(obs, _index, type, 1, sum); P = align(O, 0, X, 0); S[c,g] = sum P[n,c] * X[n,g]' obs=$f.h5ad:obs X=$f.h5ad:X >got.csv
            cmp got.csv want.csv
        done
        told 2 tra eval 'O = pivot(obs, _index, type, 1, sum); S[c,g] = sum O[n,c] * X[n,g]' obs=$f.h5ad:obs X=$f.h5ad:X
    done
    [ "$(tra eval 'matrix(limit(obs, 2), [onehot(type)])' obs=s.h5ad:obs | head -1)" = 'type_B,type_NK,type_T' ]
}

@test "errors of a run name the line that was typed, and the least memory never reads as less than the ceiling" {
    printf 'a,b\n1,x\n,y\n' >t.csv
    told 3 tra eval 'M = matrix(t, [a]); M' t.csv
    tra gen -q --shape 3000x3000 --block 1000x1000 --seed 1 -o A.h5
    printf '%s\n' 'input A from "A.h5"' 'B = inverse(A)' 'output B' >p.tra
    least=$(tra run --memory 30M p.tra 2>&1 | grep -o 'least that would do is .*' || true)
    [[ $least =~ ([0-9]+)M\) ]] || { echo "$least"; return 1; }
    lesser=$((BASH_REMATCH[1] - 1))
    status 4 tra run --memory ${lesser}M p.tra
    lacks "is ${lesser} MiB"
}
