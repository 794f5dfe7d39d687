# tra import to storages that are no levels: mappings run backwards, and components from files.
load helper

# made CODE: python with numpy, after which the files are there.
made() { "$PYTHON" -c "import numpy as np, scipy.io as io, scipy.sparse as sp
rng = np.random.default_rng(11)
def matrix(m, n, d): return rng.integers(-9, 10, (m, n)) * (rng.random((m, n)) < d) * 1.0
def mtx(name, a): io.mmwrite(name, sp.coo_matrix(a), symmetry='general')
$1"; }

# same A.npy REL: the tensor that is stored, exported, is that of numpy.
same() {
    tra export -q "$2" -o got.npy || return
    py 'a, b = np.load(sys.argv[1]), np.load("got.npy")
assert a.shape == b.shape and a.dtype == b.dtype and (a == b).all(), (a, b)' "$1"
}

@test "what each mapping of the library that runs backwards holds comes back" {
    made '
i, j = np.ogrid[:13, :9]
a = matrix(13, 9, 0.7)
s = matrix(12, 12, 0.5)
for name, x in dict(lower=a * (i >= j), upper=a * (i <= j), band=a * (abs(i - j) <= 2), diagonal=a * (i == j), zorder=a,
                    symmetric=np.tril(s) + np.tril(s, -1).T).items():
    mtx(name + ".mtx", x); np.save(name + ".npy", x)'
    for storage in lower upper 'band(2)' diagonal zorder symmetric; do
        name=${storage%(*}
        tra import -q "$name.mtx" --storage "$storage" -o "$name.h5"
        same "$name.npy" "$name.h5"
        tra verify "$name.h5"
        status 0 tra info --format json "$name.h5"
        is "$name" json relations.0.storage
        is true json relations.0.checksums
        tra import -q "$name.mtx" --storage dense -o dense.h5
        same_digest dense.h5 $name.h5
    done
    # the components are those of the storage, and nothing of a file depends on when it was made
    py 'x = np.load("lower.npy")
v = h5py.File("lower.h5")["data/v"]
assert (v[()] == np.concatenate([x[r, :r + 1] for r in range(13)])).all()
assert h5py.File("symmetric.h5")["data/v"].shape == (78,) and h5py.File("diagonal.h5")["data/v"].shape == (9,)'
    mkdir other
    tra import -q lower.mtx --storage lower -o other/lower.h5
    cmp lower.h5 other/lower.h5
}

@test "integers and booleans, and other relations of the file, which are kept" {
    made 'a = np.tril(rng.integers(-5, 6, (6, 6))); np.save("i.npy", a.astype("i4")); np.save("b.npy", a != 0)
mtx("a.mtx", a.astype(float)); mtx("b.mtx", 1.0 * (a != 0))'
    tra import -q a.mtx --dtype i32 --storage lower -o f.h5:i
    tra import -q b.mtx --dtype bool --storage lower -o f.h5:b
    tra import -q a.mtx --storage csr -o f.h5:csr
    same i.npy f.h5:i
    same b.npy f.h5:b
    told 3 tra import -q a.mtx --storage upper --dtype i32 -o f.h5:i
    same i.npy f.h5:i # what failed has changed nothing
    tra import -q a.mtx --dtype i32 --storage csr -o f.h5:i
    same i.npy f.h5:i # of levels now, in the place of the mapping
    same b.npy f.h5:b
}

@test "an element that a storage cannot hold is named" {
    made 'a = np.zeros((4, 4)); a[1, 0] = 2; a[0, 1] = 2; a[3, 2] = 5; mtx("a.mtx", a); np.save("a.npy", a)
b = np.zeros((4, 4)); b[2, 0] = 7; b[3, 3] = 1; mtx("b.mtx", b)'
    told 3 tra import a.mtx --storage lower -o x.h5
    told 3 tra import a.mtx --storage symmetric -o x.h5
    told 3 tra import b.mtx --storage 'band(1)' -o x.h5
    [ ! -e x.h5 ]
    # an entry of 0 is none
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 4\n1 3 0\n3 2 6\n' >zero.mtx
    tra import -q zero.mtx --storage lower -o x.h5
    # duplicates are added before they are put in their place
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 3 4\n1 3 -4\n3 2 6\n' >twice.mtx
    tra import -q twice.mtx --storage lower -o y.h5
    told 3 tra import twice.mtx --storage lower --duplicates error -o z.h5
}

@test "a storage of one's own, with components from files, goes from import to a result on 3 sites" {
    made '
m, n, k = 40, 30, 4
cols = np.array([np.sort(rng.choice(n, k, replace=False)) for _ in range(m)])
v = rng.integers(-9, 10, (m, k)) * 0.5
a = np.zeros((m, n)); np.put_along_axis(a, cols, v, 1)
x = rng.integers(-5, 6, n) * 1.0
np.save("idx.npy", cols.ravel().astype("u2")); np.save("v.npy", v.ravel()); np.save("a.npy", a); np.save("x.npy", x)
np.save("base.npy", np.int64(1)); np.save("y.npy", a @ x)'
    cat >mine.tra <<'END'
storage rows[m, n](k) {
    int scalar base
    int array idx(m*k)
    real array v(m*k)
    sum(<i, _> in 0:m, <p, j> in idx(i*k:(i + 1)*k)) {@unique (i, j + base - 1) -> v(p)}
}
END
    tra import -q --storage 'mine.tra:rows(4)' --component base=base.npy --component idx=idx.npy --component v=v.npy \
        --shape 40x30 -o a.h5
    same a.npy a.h5
    tra import -q --storage 'mine.tra:rows(4)' --component base=1 --component idx=idx.npy --component v=v.npy \
        --shape 40x30 -o b.h5
    same a.npy b.h5
    tra import -q x.npy -o x.h5
    echo 'input A from "a.h5"
input x from "x.h5"
y[i] = sum A[i,j] * x[j]
output y to "y.h5"' >p.tra
    tra run -q --sites 3 p.tra
    same y.npy y.h5
    # of components that are given some the rest is filled from a source
    made 'mtx("a.mtx", np.load("a.npy"))'
    tra import -q a.mtx --storage 'mine.tra:rows(4)' --component base=1 --component idx=idx.npy -o c.h5
    same a.npy c.h5
}

@test "hash maps, tries and ell are made of components" {
    made '
np.save("k0.npy", np.array([0, 2])); np.save("k1.npy", np.array([1, 0])); np.save("val.npy", np.array([5, 6], "i4"))
a = np.zeros((3, 2), "i4"); a[0, 1] = 5; a[2, 0] = 6; np.save("a.npy", a)
np.save("idx.npy", np.array([1, -1, 0])); np.save("v.npy", np.array([5, 0, 6], "i4"))'
    tra import -q --storage trie --component t_key0=k0.npy --component t_key1=k1.npy --component t_value=val.npy \
        --shape 3x2 -o t.h5
    same a.npy t.h5
    tra import -q --storage dok --component values_key0=k0.npy --component values_key1=k1.npy \
        --component values_value=val.npy --shape 3x2 -o d.h5
    same a.npy d.h5
    tra import -q --storage ell --component width=1 --component idx=idx.npy --component v=v.npy --shape 3x2 -o e.h5
    same a.npy e.h5
}

@test "components that do not fit are refused with what is wrong" {
    made '
np.save("at.npy", np.array([0, 3])); np.save("v.npy", np.array([1.0, 2.0])); np.save("three.npy", np.ones(3))
np.save("twice.npy", np.array([2, 2])); np.save("out.npy", np.array([0, 4])); np.save("real.npy", np.array([0.0, 3.0]))
np.save("flat.npy", np.ones((1, 2))); np.save("a.npy", np.array([1.0, 0, 0, 2]))
open("cut.npy", "wb").write(open("v.npy", "rb").read()[:-8]); mtx("m.mtx", np.ones((2, 2)))'
    echo 'storage s[n] {int array at(2)
real array v(2)
sum(<p, i> in at) {@unique i -> v(p)}}' >s.tra
    of() { tra import --storage s.tra:s --shape 4 -o x.h5 "$@"; }
    refused() { # STATUS WORDS COMPONENT...
        local want=$1 words=$2
        shift 2
        status "$want" of "$@"
        has "$words"
        [ ! -e x.h5 ]
    }
    refused 3 'component v has 3 elements, not 2' --component at=at.npy --component v=three.npy
    refused 3 'holds f64, but component at of storage s is of integers' --component at=real.npy --component v=v.npy
    refused 3 'gives key (4), which is outside of a block of 4' --component at=out.npy --component v=v.npy
    refused 3 'twice' --component at=twice.npy --component v=v.npy
    refused 3 'has shape 1 x 2, but component v of storage s is an array' --component at=at.npy --component v=flat.npy
    refused 3 'ends before the last of its 2 elements' --component at=at.npy --component v=cut.npy
    refused 2 'give its component v' --component at=at.npy
    refused 2 'storage s has at, v' --component at=at.npy --component w=v.npy
    refused 2 'given twice' --component at=at.npy --component at=at.npy
    refused 2 'NAME=FILE.npy' --component at
    refused 3 'none.npy' --component at=none.npy --component v=v.npy
    told 2 tra import -o x.h5
    told 2 tra import m.mtx --storage csr --component v=v.npy -o x.h5
    told 2 tra import m.mtx --storage ell -o x.h5
    told 2 tra import m.mtx --storage dok -o x.h5
    told 2 tra import m.mtx --storage zorder --block 1x2 -o x.h5
    of -q --component at=at.npy --component v=v.npy
    same a.npy x.h5
    # a component that was changed is found
    py 'h5py.File("x.h5", "r+")["data/v"][1] = 3.0'
    told 3 tra verify x.h5
    # so are a storage and extents that were changed
    of -q --component at=at.npy --component v=v.npy
    status 0 tra info --format json x.h5
    is false json relations.0.foreign
    py 'h5py.File("x.h5", "r+")["data"].attrs["tra_shape"] = np.array([5])'
    told 3 tra info x.h5
    # without seal and format it is one that another program wrote
    py 'a = h5py.File("x.h5", "r+")["data"].attrs; del a["tra_seal"], a["tra_format"]; a["tra_shape"] = np.array([4])'
    same a.npy x.h5
}

@test "import to a mapping stays below the ceiling, or says what would do" {
    "$PYTHON" -c 'print("%%MatrixMarket matrix coordinate real general\n200000 200000 2\n5 3 1\n9 2 4")' >big.mtx
    status 4 tra import big.mtx --storage lower -o x.h5
    has '--memory'
    told 3 tra import big.mtx --storage diagonal -o x.h5
}

# Every mapping of the library, on one matrix of 24 x 24 that it can hold: how it is filled is a line of this table, and a
# mapping without one fails.
table='band     band(2)   band
bsr      bsr(3,4)  general  pos=pos.npy idx=idx.npy
colmajor colmajor  general
coo      coo       general
csc      csc       general
csf      csf       general
csr      csr       general
dcsc     dcsc      general
dcsr     dcsr      general
dense    dense     general
diagonal diagonal  diagonal
dok      dok       general  values_key0=k0.npy values_key1=k1.npy values_value=val.npy
ell      ell       general  width=width.npy idx=ell.npy
lower    lower     lower
symmetric symmetric symmetric
trie     trie      general  t_key0=k0.npy t_key1=k1.npy t_value=val.npy
upper    upper     upper
zorder   zorder    general'

@test "each mapping of the library goes from import by verify, digest and a product on 3 ranks to export" {
    made '
n = 24; i, j = np.ogrid[:n, :n]
a = matrix(n, n, 0.2); a[5] = 0; s = matrix(n, n, 0.3)
b = sp.bsr_matrix(sp.csr_matrix(a), blocksize=(3, 4)); b.sort_indices()
np.save("pos.npy", b.indptr); np.save("idx.npy", b.indices)
c = sp.coo_matrix(a); np.save("k0.npy", c.row); np.save("k1.npy", c.col); np.save("val.npy", c.data)
w = int((a != 0).sum(1).max()); e = np.full((n, w), -1)
for r in range(n): k = np.flatnonzero(a[r]); e[r, :len(k)] = k
np.save("width.npy", np.int64(w)); np.save("ell.npy", e.ravel())
x = rng.integers(-5, 6, n) * 1.0; np.save("x.npy", x)
for name, m in dict(general=a, lower=a * (i >= j), upper=a * (i <= j), band=a * (abs(i - j) <= 2), diagonal=a * (i == j),
                    symmetric=np.tril(s) + np.tril(s, -1).T).items():
    mtx(name + ".mtx", m); np.save(name + ".npy", m); np.save(name + ".y.npy", m @ x)'
    tra import -q x.npy -o x.h5 --block 7
    printf 'input A from "a.h5"\ninput x from "x.h5"\ny[i] as dense = sum A[i,j] * x[j]\noutput y to "y.h5"\n' >p.tra
    local file name storage matrix components part i=0
    for file in "$ROOT"/share/storage/*.tra; do
        name=$(basename "$file" .tra)
        read -r _ storage matrix components <<<"$(grep "^$name " <<<"$table")"
        [ -n "$storage" ] || { echo "no line for $name"; return 1; }
        i=$((i + 1))
        # every second with each codec; make check-long takes both
        for codec in none zstd; do
            [[ ${TRA_TEST_LONG-} || $((i % 2)) == "$([ $codec = zstd ] && echo 1 || echo 0)" ]] || continue
            local args=(--storage "$storage" --codec $codec -o a.h5) from=$matrix.mtx
            for part in $components; do args+=(--component "$part"); done
            [[ $components == *value=* ]] && args+=(--shape 24x24) from=
            # shellcheck disable=SC2086
            status 0 tra import -q $from "${args[@]}"
            status 0 tra verify a.h5
            has "a.h5: ok"
            has "digest matches"
            tra import -q "$matrix.npy" -o dense.h5
            same_digest dense.h5 a.h5
            status 0 tra info --format json a.h5
            is "$codec" json relations.0.codec
            status 0 tra run -q --sites "$([ $codec = zstd ] && echo 3 || echo 1)" p.tra
            same "$matrix.y.npy" y.h5
            same "$matrix.npy" a.h5
            sed 's/"a.h5"/"bad.h5"/' p.tra >damaged.tra
            [[ $codec == zstd && $name != csr && $name != lower ]] ||
                is 1 eval "'$PYTHON' '$ROOT/tests/cli/damage.py' '$TRA' damaged.tra | tee damage.txt | wc -l" || {
                cat damage.txt
                return 1
            }
            tra export -q a.h5 --to mtx -o out.mtx
            py 'import scipy.io as io, scipy.sparse as sp
m = io.mmread("out.mtx"); assert ((m.toarray() if sp.issparse(m) else m) == np.load(sys.argv[1])).all()' "$matrix.npy"
        done
    done
}
