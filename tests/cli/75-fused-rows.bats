# Fused statements whose results are made row by row, and those with several sparse operands: every plan gives what numpy
# gives, and fused ones the same bits compiled and interpreted. The others are in 75-fused.
load helper
load fused

@test "rows of a result with many columns of a dense factor: the bits of the interpreter, and what numpy says" {
    tra gen -q --shape 20x30x25 --density .05 --seed 3 --storage csf -o T.h5
    tra gen -q --shape 25x150 --block 25x150 --seed 4 --dist normal -o D.h5
    for r in T D; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input T from "T.h5"\ninput D from "D.h5"\nY[i,j,r] as csf = sum T[i,j,k] * D[k,r]\noutput Y\n' >p.tra
    for k in 1 2 3; do
        tra explain --operators --plan $k p.tra >plan
        ! grep -q '^strategy.*fused' plan || break
    done
    grep -q '^strategy.*fused' plan
    tra run -q --plan $k p.tra --codegen require
    bits=$(tra digest Y.h5)
    tra export -q Y.h5 --to npy -o Y.npy
    interpreted p.tra --plan $k
    is "$bits" tra digest Y.h5
    py 'import numpy as np
T, D, Y = (np.load(f + ".npy") for f in "TDY")
assert np.allclose(Y, np.einsum("ijk,kr->ijr", T, D), rtol=1e-12)'
}

@test "rows of a result are written many columns at once, without those whose sum is 0" {
    tra gen -q --shape 20x300x25 --density .002 --seed 3 --storage csf -o T.h5
    tra export -q T.h5 --to npy -o T.npy
    py 'D = np.random.default_rng(1).integers(1, 9, (25, 150)).astype(float)
D[:, 30:40] = 0; D[np.random.default_rng(2).random(D.shape) < .02] = 0
np.save("D.npy", D)'
    tra import -q D.npy -o D.h5
    printf 'input T from "T.h5"\ninput D from "D.h5"\nY[i,j,r] as csf = sum T[i,j,k] * D[k,r]\noutput Y\n' >p.tra
    for k in 1 2 3; do
        tra explain --operators --plan $k p.tra >plan
        ! grep -q '^strategy.*fused' plan || break
    done
    grep -q '^strategy.*fused' plan
    grep -q 'f64 rows .*[0-9]$' plan
    tra run -q --plan $k p.tra --codegen require
    bits=$(tra digest Y.h5)
    tra export -q Y.h5 --to npy -o Y.npy
    status 0 tra info --format json Y.h5
    py 'import json
T, D, Y = (np.load(f + ".npy") for f in "TDY")
Z = np.einsum("ijk,kr->ijr", T, D)
assert np.allclose(Y, Z, rtol=1e-12)
assert json.loads(sys.argv[1])["relations"][0]["entries"] == np.count_nonzero(Z)' "$output"
    interpreted p.tra --plan $k
    is "$bits" tra digest Y.h5
}

@test "sparse results are made row by row, in little memory" {
    inputs
    tra gen -q --shape 70x9 --block 30x9 --seed 7 -o P.h5
    tra gen -q --shape 50x9 --block 50x9 --seed 8 -o Q.h5
    for r in P Q; do tra export -q $r.h5 --to npy -o $r.npy; done
    tra gen -q --shape 70x50 --density .02 --block 30x50 --seed 1 -o A.h5
    tra export -q A.h5 --to npy -o A.npy
    printf 'input A from "A.h5"\ninput P from "P.h5"\ninput Q from "Q.h5"\n' >p.tra
    printf 'Y[i,j] = sum A[i,j] * P[i,k] * Q[j,k]\noutput Y as csr\n' >>p.tra
    all_plans 1 'A * (np.load("P.npy") @ np.load("Q.npy").T)'
    all_plans 2 'A * (np.load("P.npy") @ np.load("Q.npy").T)'
}

@test "several sparse operands: those but the last are packed with their entries" {
    inputs
    tra gen -q --shape 30x6 --density .1 --storage csr --block 30x4 --seed 4 -o B.h5
    tra gen -q --shape 25x6 --density .1 --storage csr --block 10x4 --seed 5 -o C.h5
    for r in B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input T from "T.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,r] = sum T[i,j,k] * B[j,r] * C[k,r]\noutput Y as dense\n' >>p.tra
    for sites in 1 3; do all_plans $sites 'np.einsum("ijk,jr,kr->ir", T, B, C)'; done
    # and one of them that is denser than most, which is packed densely, beside one of dense type
    tra gen -q --shape 30x6 --density .9 --storage csr --block 30x4 --seed 4 -o B.h5
    tra gen -q --shape 25x6 --block 10x4 --seed 5 -o C.h5
    for r in B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    all_plans 2 'np.einsum("ijk,jr,kr->ir", T, B, C)'
}

@test "a masked product of sparse matrices, whole and cut along the label that is summed over" {
    inputs
    tra gen -q --shape 70x50 --density .04 --block 30x50 --seed 1 -o A.h5
    tra gen -q --shape 70x40 --density .1 --storage csr --block 30x40 --seed 4 -o B.h5
    tra gen -q --shape 40x50 --density .1 --storage csr --block 40x50 --seed 5 -o C.h5
    for r in A B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input A from "A.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,j] = sum A[i,j] * B[i,k] * C[k,j]\noutput Y as csr\n' >>p.tra
    all_plans 1 'A * (B @ C)'
    tra gen -q --shape 70x40 --density .1 --storage csr --block 30x15 --seed 4 -o B.h5
    tra gen -q --shape 40x50 --density .1 --storage csr --block 15x50 --seed 5 -o C.h5
    for sites in 1 3; do all_plans $sites 'A * (B @ C)'; done
}

@test "a sampled product of dense matrices that are cut along the label that is summed over" {
    inputs
    tra gen -q --shape 70x50 --density .02 --block 30x50 --seed 1 -o A.h5
    tra gen -q --shape 70x9 --block 30x4 --seed 4 -o B.h5
    tra gen -q --shape 50x9 --block 50x4 --seed 5 -o C.h5
    for r in A B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input A from "A.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,j] = sum A[i,j] * B[i,k] * C[j,k]\noutput Y as csr\n' >>p.tra
    for sites in 1 3; do all_plans $sites 'A * (B @ C.T)'; done
    # one of them is cut otherwise than the other
    tra gen -q --shape 50x9 --block 20x9 --seed 5 -o C.h5
    all_plans 2 'A * (B @ C.T)'
}

@test "sparse results whose rows come in another order are made in that and turned" {
    inputs
    tra gen -q --shape 70x50 --density .02 --block 30x50 --seed 1 -o A.h5
    tra export -q A.h5 --to npy -o A.npy
    printf 'input A from "A.h5"\ninput x from "x.h5"\nY[j,i] = sum A[i,j] * x[j] * x[k]\noutput Y as csr\n' >p.tra
    all_plans 2 '(A * x).T * x.sum()'
    # of rank 3: in the order of the tensor, and turned
    tra gen -q --shape 20x30x25 --density .003 --block 8x30x10 --seed 3 -o T.h5
    tra export -q T.h5 --to npy -o T.npy
    printf 'input T from "T.h5"\ninput C from "C.h5"\ninput B from "B.h5"\nY[i,j,k] = sum T[i,j,k] * B[j,r] * C[k,r]\n' >p.tra
    echo 'output Y as csf' >>p.tra
    all_plans 1 'T * (B @ C.T)'
    sed -i 's/Y.i,j,k./Y[k,i,j]/' p.tra
    all_plans 3 '(T * (B @ C.T)).transpose(2, 0, 1)'
}

@test "bounds and estimates of products of sparse matrices follow from their rows" {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    # one long row and many short ones: second moments, not means, say how many there will be
    py "
import numpy as np, scipy.sparse as s
r = np.random.default_rng(1)
row = np.concatenate([np.full(60, 7), r.integers(0, 400, 300)])
col = np.concatenate([r.permutation(400)[:60], r.integers(0, 400, 300)])
a = s.coo_matrix((np.ones(360), (row, col)), (400, 400)).tocsr()
a.data[:] = 1
s.save_npz('a.npz', a)
print((a.T @ a).nnz, (a @ a).nnz, a.nnz * np.diff(a.indptr).max())" >truth
    read -r own chain most <truth
    tra import -q a.npz --storage csr -o a.h5
    printf 'input A from "a.h5"\nY[j,k] = sum A[i,j] * A[i,k]\nZ[i,k] = sum A[i,j] * A[j,k]\noutput Y\noutput Z\n' >p.tra
    tra check --format json p.tra >check.json
    tra run -q p.tra
    tra info --format json Y.h5 >info.json
    py "
import json
own, chain, most = $own, $chain, $most
print(json.load(open('info.json')))
all = {r['name']: r for r in json.load(open('check.json'))['relations']}
y, z = all['Y'], all['Z']
assert y['entries_bound'] <= most and z['entries_bound'] <= most, (y, z, most)
assert own <= y['entries_bound'] and chain <= z['entries_bound'], (y, z, own, chain)
assert 0.7 * own <= y['entries'] <= 1.4 * own, (y['entries'], own)"
    tra check p.tra | grep -q 'Y: .*sparse: about [0-9]* entries'
}

@test "rows of very wide results: scipy's entries, and the bits of the interpreter" {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    py "
import numpy as np, scipy.sparse as s
r = np.random.default_rng(5)
s.save_npz('a.npz', s.random(60, 50, .2, 'csr', random_state=r))
s.save_npz('b.npz', s.random(50, 900000, 1e-4, 'csr', random_state=r))"
    for m in a b; do tra import -q $m.npz -o $m.h5 --storage csr; done
    printf 'input A from "a.h5"\ninput B from "b.h5"\nQ[i,j] = sum A[i,k] * B[k,j]\noutput Q as csr\n' >p.tra
    tra run -q --codegen require p.tra
    bits=$(tra digest Q.h5)
    tra export -q Q.h5 -o q.npz
    py "
import scipy.sparse as s
a, b, q = (s.load_npz(f + '.npz').tocsr() for f in 'abq')
d = (a @ b) - q
assert q.nnz == (a @ b).nnz and abs(d).max() < 1e-12"
    interpreted p.tra
    is "$bits" tra digest Q.h5
}

@test "rows of packed sparse factors are found by their numbers: numpy's result, the bits of the interpreter" {
    inputs
    tra gen -q --shape 30x9 --block 30x5 --density .2 --seed 6 --storage csr -o B.h5
    tra gen -q --shape 25x9 --block 10x5 --density .15 --seed 7 --storage csr -o C.h5
    for r in B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input T from "T.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,r] = sum T[i,j,k] * B[j,r] * C[k,r]\noutput Y\n' >>p.tra
    all_plans 1 'np.einsum("ijk,jr,kr->ir", T, B, C)'
    all_plans 2 'np.einsum("ijk,jr,kr->ir", T, B, C)'
    # one is fused and has no list of the rows of B and C
    for k in 1 2 3 4; do
        tra explain --operators --code --plan $k p.tra >plan
        ! grep -q '^strategy.*fused' plan || break
    done
    grep -q 'B_begin(T_c1' plan
    grep -q 'C_begin(k)' plan
    [ -z "$(grep '[BC]_c0' plan)" ]
    tra run -q --plan $k p.tra --codegen require
    bits=$(digest_of Y.h5)
    interpreted p.tra --plan $k
    [ "$(digest_of Y.h5)" = "$bits" ]
    # its rows as entries, which are fewer than those that meet: by one thread, and by several in pieces
    tra gen -q --shape 20x300x250 --block 20x300x250 --density .02 --seed 3 -o T.h5
    tra gen -q --shape 300x9 --block 300x9 --density .02 --seed 6 --storage csr -o B.h5
    tra gen -q --shape 250x9 --block 250x9 --density .01 --seed 7 --storage csr -o C.h5
    for r in T B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input T from "T.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,r] as csr = sum T[i,j,k] * B[j,r] * C[k,r]\noutput Y\n' >>p.tra
    all_plans 1 'np.einsum("ijk,jr,kr->ir", T, B, C)'
    tra run -q --threads 3 p.tra
    bits=$(digest_of Y.h5)
    tra run -q --threads 1 p.tra
    [ "$(digest_of Y.h5)" = "$bits" ]
    # where few of many rows have entries these are listed
    for nnz in 20 2000; do
        cat >p.tra <<END
input T : f64 [40,30000,50] by [40,30000,50] as csf nnz 20000
input S : f64 [30000,6] by [30000,6] as dcsr nnz $nnz
input C : f64 [50,6] by [50,6] as csr nnz 100
Y[i,r] = sum T[i,j,k] * S[j,r] * C[k,r]
output Y
END
        for k in 1 2 3 4; do
            tra explain --operators --code --plan $k p.tra >plan
            ! grep -q '^strategy.*fused' plan || break
        done
        grep -q 'C_begin(k)' plan
        if [ $nnz = 20 ]; then grep -q 'in S_c0' plan; else grep -q 'S_begin(T_c1' plan; fi
    done
}
