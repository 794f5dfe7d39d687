#!/usr/bin/env bats
# gen of entries: the same whatever the blocks, the storage, the memory and the threads; judged by scipy.
load helper

@test "entries do not depend on blocks, storage, memory and threads" {
    for how in "--shape 300x500 --density 0.01" "--shape 1000x1000 --density 0.02 --pattern rmat" "--shape 77x50 --pattern band:3 --density 0.5" \
        "--shape 60x70 --pattern diag" "--shape 30x40x50 --density 0.003 --dtype i32"; do
        rm -f digests
        r=$(grep -o x <<<"${how%% --density*}" | wc -l)
        for b in "" "--block 7$([ "$r" = 1 ] && echo x13 || echo x13x9)" "--storage coo" "--block 1000$([ "$r" = 1 ] && echo x8 || echo x8x50) --memory 64M"; do
            # shellcheck disable=SC2086
            TRA_THREADS=1 tra gen -q $how $b --seed 5 -o x.h5; tra gen -q $how $b --seed 5 -o y.h5; cmp x.h5 y.h5
            status 0 tra verify x.h5
            digest_of x.h5 >> digests
        done
        is 1 eval "sort -u digests | wc -l"
        # shellcheck disable=SC2086
        tra gen -q $how --seed 6 -o z.h5
        [ "$(digest_of z.h5)" != "$(head -n 1 digests)" ] || [[ $how == *diag ]]
    done
}

@test "uniform, rmat, band and diag are what they are called; values are those of a dense tensor" {
    tra gen -q --shape 400x600 --density 0.05 --seed 3 -o u.h5; tra export -q u.h5 -o u.npz
    tra gen -q --shape 400x600 --seed 3 -o d.h5; tra export -q d.h5 -o d.npy
    tra gen -q --shape 1024x1024 --density 0.01 --pattern rmat --dtype bool -o r.h5; tra export -q r.h5 -o r.npz
    tra gen -q --shape 50x40 --pattern band:2 --dtype i64 -o b.h5; tra export -q b.h5 -o b.npz
    tra gen -q --shape 50x40 --pattern diag -o e.h5; tra export -q e.h5 -o e.npz
    py '
import scipy.sparse as sp
L = sp.load_npz; u, d, r, b, e = L("u.npz"), np.load("d.npy"), L("r.npz"), L("b.npz"), L("e.npz")
n = 240000 * .05; assert abs(u.nnz - n) < 5 * n ** .5, u.nnz
c = u.tocoo(); assert (c.data == d[c.row, c.col]).all()
for h in [c.row < 200, c.col < 300]: assert abs(h.sum() - n / 2) < 5 * (n / 2) ** .5
assert len(set(np.diff(np.sort(c.row.astype(int) * 600 + c.col)))) > 50
x, y = r.tocoo().row < 512, r.tocoo().col < 512; q = [(x & y).sum(), (x & ~y).sum(), (~x & y).sum(), (~x & ~y).sum()]
assert 8000 < r.nnz <= 10486 and .5 < q[0] / r.nnz < .58 and .17 < q[1] / r.nnz < .23 and .17 < q[2] / r.nnz < .23 and .04 < q[3] / r.nnz < .07, (r.nnz, q)
i, j = np.indices(b.shape); assert ((b.toarray() != 0) == (abs(i - j) <= 2)).all() and b.data.min() >= 1
assert ((e.toarray() != 0) == np.eye(50, 40, dtype=bool)).all()'
}

@test "large and nearly empty, full, empty; what cannot be" {
    status 0 tra gen --shape 1000000000x1000000 --density 1e-12 --storage coo -o x.h5; has "entries"
    status 0 tra gen --shape 20x30 --density 1 -o x.h5; has "600 entries"
    status 0 tra gen --shape 20x30 --density 0 -o x.h5; has "0 entries"
    status 0 tra gen --shape 0x30 --density 0.5 -o x.h5; has "0 entries"
    status 0 tra gen --shape 50 --density 0.5 -o x.h5; has "coo"
    told 2 tra gen --shape 9x9 --density 2 -o x.h5
    told 2 tra gen --shape 9x9 --pattern grid -o x.h5
    told 2 tra gen --shape 9x9x9 --pattern rmat --density 0.1 -o x.h5
    told 2 tra gen --shape 9x9 --pattern rmat -o x.h5
    told 2 tra gen --shape 9x9 --density 0.1 --dist identity -o x.h5
    status 4 tra gen --shape 4000x4000 --density 0.5 --block 4000x4000 --memory 64M -o x.h5; has "at least"
}

@test "the same entries densely" {
    for how in "--shape 300x500 --density 0.01" "--shape 1000x1000 --density 0.02 --pattern rmat --dtype i32" \
        "--shape 77x50 --pattern band:3 --density 0.5 --dist range" "--shape 30x40x50 --density 0.003 --dtype f32"; do
        # shellcheck disable=SC2086
        tra gen -q $how --seed 5 -o s.h5
        r=$(grep -o x <<<"${how%% --d*}" | wc -l)
        for more in "" "--codec zstd --memory 64M" "--block 37$([ "$r" = 1 ] && echo x41 || echo x41x7)"; do
            # shellcheck disable=SC2086
            tra gen -q $how --seed 5 --storage dense $more -o d.h5
            status 0 tra diff s.h5 d.h5
            status 0 tra info d.h5
            lacks "  storage  "
            same_digest s.h5 d.h5
        done
    done
    tra gen -q --shape 20x20 --dist identity --storage dense -o i.h5
    tra gen -q --shape 20x20 --dist identity -o j.h5
    tra diff i.h5 j.h5
}
