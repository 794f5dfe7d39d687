# Statements of several factors that are computed at once on each combination of arrays that meet (fused), beside their
# contractions of two: every plan gives what numpy gives, and fused ones the same bits compiled and interpreted. Sparse
# results and several sparse operands are in 75-fused-rows.
load helper
load fused

@test "two uses of a sparse matrix and a vector, in rows of blocks and in columns" {
    inputs
    printf 'input A from "A.h5"\ninput x from "x.h5"\nY[j] = sum 2.5 * A[i,j] * A[i,k] * x[k]\noutput Y\n' >p.tra
    all_plans 1 '2.5 * A.T @ (A @ x)'
    all_plans 3 '2.5 * A.T @ (A @ x)'
    printf 'input A0 from "A.h5"\ninput x from "x.h5"\nA = reblock(A0, [30, 20])\n' >p.tra
    printf 'Y[j] = sum A[i,j] * A[i,k] * x[k]\noutput Y\n' >>p.tra
    all_plans 2 'A.T @ (A @ x)' 0
}

@test "a tensor of rank 3 with two matrices, all in blocks of which the last are clipped" {
    inputs
    printf 'input T from "T.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,r] = sum T[i,j,k] * B[j,r] * C[k,r]\noutput Y\n' >>p.tra
    all_plans 1 'np.einsum("ijk,jr,kr->ir", T, B, C)'
    all_plans 2 'np.einsum("ijk,jr,kr->ir", T, B, C)'
}

@test "a scalar, a result with its dimensions turned, a result that is no entry of the sparse factor" {
    inputs
    printf 'input A from "A.h5"\nY[] = sum A[i,k] * A[j,k]\noutput Y\n' >p.tra
    all_plans 2 '(A.sum(0) ** 2).sum()'
    printf 'input T from "T.h5"\ninput C from "C.h5"\nY[r,j,i] = sum T[i,j,k] * C[k,r]\noutput Y as dense\n' >p.tra
    all_plans 3 'np.einsum("ijk,kr->rji", T, C)'
}

@test "fused statements have the bits of the interpreter" {
    inputs
    printf 'input T from "T.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,r] = sum T[i,j,k] * B[j,r] * C[k,r]\noutput Y\n' >>p.tra
    for k in 1 2 3 4; do
        tra explain --operators --plan $k p.tra >plan
        ! grep -q '^strategy.*fused' plan || break
    done
    grep -q '^strategy.*fused' plan
    tra run -q --plan $k p.tra --codegen require
    bits=$(digest_of Y.h5)
    [ "$(find cache -name '*.so' | wc -l)" = 1 ]
    TRA_CACHE=$PWD/none interpreted p.tra --plan $k
    [ "$(digest_of Y.h5)" = "$bits" ]
    [ ! -e none ] # it keeps nothing
    TRA_CACHE=$PWD/none tra run -q --plan $k p.tra
    [ -e none ]
}

@test "a large block is computed in pieces: what numpy says, the same bits by 1 and 3 threads, compiled and interpreted" {
    tra gen -q --shape 3000x2500 --density .03 --block 3000x2500 --seed 1 --dist normal -o A.h5
    tra gen -q --shape 2500 --block 2500 --seed 2 --dist normal -o x.h5
    tra gen -q --shape 2500x5 --block 2500x5 --seed 3 --dist normal -o D.h5
    for r in A x D; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input A from "A.h5"\ninput x from "x.h5"\nY[j] = sum 2 * A[i,j] * A[i,k] * x[k]\noutput Y\n' >sums.tra
    printf 'input A from "A.h5"\ninput D from "D.h5"\nY[i,r] = sum A[i,k] * D[k,r]\noutput Y\n' >apart.tra
    for p in sums apart; do
        fused() { tra cost --threads $1 $p.tra | awk '$2 == "fused" { print $1; exit }'; } # its rank
        tra run -q --plan "$(fused 1)" $p.tra --threads 1 --codegen require
        bits=$(tra digest Y.h5)
        tra export -q Y.h5 --to npy -o $p.npy
        tra run -q --plan "$(fused 3)" $p.tra --threads 3
        is "$bits" tra digest Y.h5
        interpreted $p.tra --plan "$(fused 2)" --threads 2
        is "$bits" tra digest Y.h5
    done
    py 'import numpy as np
A, x, D = (np.load(f + ".npy") for f in "AxD")
assert np.allclose(np.load("sums.npy"), 2 * A.T @ (A @ x), rtol=1e-9, atol=1e-9)
assert np.allclose(np.load("apart.npy"), A @ D, rtol=1e-9, atol=1e-9)'
}

@test "blocks with few entries for each element of a sum are added up in it, and what is large is asked for ahead" {
    tra gen -q --shape 900x150000 --density .002 --block 100x150000 --seed 1 --dist normal --storage csr -o A.h5
    tra gen -q --shape 150000 --block 150000 --seed 2 --dist normal -o x.h5
    tra gen -q --shape 150000x4000 --density .0006 --seed 3 --dist normal --storage csr -o C.h5
    tra export -q x.h5 -o x.npy
    for r in A C; do tra export -q $r.h5 -o $r.npz; done
    printf 'input A from "A.h5"\ninput x from "x.h5"\nY[j] = sum 2 * A[i,j] * A[i,k] * x[k]\noutput Y\n' >p.tra
    tra explain --operators p.tra | grep -q '^strategy.*fused'
    tra explain --operators --kernels --code p.tra >code
    grep -q 'prefetch(&out' code
    tra run -q p.tra --threads 1 --codegen require
    bits=$(tra digest Y.h5)
    tra export -q Y.h5 --to npy -o Y.npy
    tra run -q p.tra --threads 3
    is "$bits" tra digest Y.h5
    interpreted p.tra --threads 2
    is "$bits" tra digest Y.h5
    tra run -q p.tra --reproducible
    bits=$(tra digest Y.h5)
    tra run -q p.tra --reproducible --sites 3
    is "$bits" tra digest Y.h5
    printf 'input A from "A.h5"\nS[j] = sum A[i,j]\noutput S\n' >s.tra
    tra run -q s.tra
    tra export -q S.h5 -o S.npy
    printf 'input A from "A.h5"\ninput C from "C.h5"\nP[i,j] as csr = sum A[i,k] * C[k,j]\noutput P\n' >q.tra
    tra run -q q.tra
    bits=$(tra digest P.h5)
    interpreted q.tra
    is "$bits" tra digest P.h5
    tra export -q P.h5 -o P.npz
    py 'import scipy.sparse
A, C, P = (scipy.sparse.load_npz(f + ".npz").tocsr() for f in "ACP")
x, Y = np.load("x.npy"), np.load("Y.npy")
assert np.allclose(Y, 2 * A.T @ (A @ x), rtol=1e-9, atol=1e-9)
assert abs(P - A @ C).max() < 1e-9
assert np.allclose(np.load("S.npy"), np.asarray(A.sum(0)).ravel(), rtol=1e-12, atol=1e-12)'
}

@test "what a product takes at most follows from the pairs that meet, which are counted, however it is computed" {
    tra gen -q --shape 900x1500 --density .004 --block 300x1500 --seed 1 --storage csr -o A.h5
    tra gen -q --shape 1500x4000 --density .0006 --seed 3 --storage csr -o C.h5
    printf 'input A from "A.h5"\ninput C from "C.h5"\nP[i,j] as csr = sum A[i,k] * C[k,j]\noutput P\n' >p.tra
    tra explain --format json --alternatives p.tra >plans.json
    tra run -q p.tra
    py 'import os
plans = json.load(open("plans.json"))["plans"]
assert {"fused" in p["strategy"] for p in plans} == {True, False}, plans
most, there = {p["disk_write_bytes_bound"] for p in plans}, os.path.getsize("P.h5")
assert len(most) == 1 and there / 4 < min(most) < 4 * there, (most, there)'
}

@test "rules of kernels are left out of run and of compiled plans, as of explain; a kernel that was seen has its plan" {
    inputs
    printf 'input A from "A.h5"\ninput x from "x.h5"\nY[j] = sum A[i,j] * A[i,k] * x[k]\noutput Y\n' >p.tra
    flops() { "$TRA" explain --format json "$@" | "$PYTHON" -c 'import json, sys
print(max(p["flops"] for p in json.load(sys.stdin)["plans"] if "fused" in p["strategy"]))'; }
    all=$(flops --plan 1 p.tra)
    none=$(flops --plan 1 --without D2,D3,M1,M2 p.tra)
    py 'a, b = map(float, sys.argv[1:]); assert b > 1.5 * a, (a, b)' "$all" "$none"
    tra run -q p.tra
    tra export -q Y.h5 --to npy -o all.npy
    tra run -q p.tra --without D2,D3,M1,M2
    tra export -q Y.h5 --to npy -o none.npy
    py 'import numpy as np; assert np.allclose(np.load("all.npy"), np.load("none.npy"), rtol=1e-12)'
    status 2 tra run p.tra --without D9
    has "no rule 'D9'"
    status 2 tra run p.tra --without A1
    has "built into the normal form"
    # a compiled plan keeps them
    tra compile -q p.tra --without D2,D3,M1,M2 -o p.plan
    grep -q '^without D2,D3,M1,M2$' p.plan
    is "$none" flops p.plan
    status 0 tra run -q p.plan
    status 2 tra run p.plan --without F3
    has "--without is fixed in the plan p.plan"
}

@test "a relation times itself in one block: a label of the result that only its second use has" {
    tra gen -q --shape 40x40 --density .1 --seed 1 -o A.h5
    tra export -q A.h5 --to npy -o A.npy
    printf 'input A from "A.h5"\nY[i,j] as csr = sum A[i,k] * A[k,j]\noutput Y\n' >p.tra
    status 0 tra run -q p.tra
    tra export -q Y.h5 --to npy -o Y.npy
    py 'import numpy as np; A, Y = np.load("A.npy"), np.load("Y.npy"); assert np.allclose(A @ A, Y, rtol=1e-12)'
}

@test "a label that only packed operands have, and the last block of which is clipped" {
    inputs
    tra gen -q --shape 25x7 --block 10x3 --seed 6 -o D.h5
    tra export -q D.h5 --to npy -o D.npy
    printf 'input T from "T.h5"\ninput B from "B.h5"\ninput C from "C.h5"\ninput D from "D.h5"\n' >p.tra
    printf 'Y[i,j] = sum T[i,j,k] * C[k,r] * D[k,q] * B[j,r]\noutput Y\n' >>p.tra
    all_plans 1 'np.einsum("ijk,kr,kq,jr->ij", T, C, np.load("D.npy"), B)'
}

@test "what a fused statement takes is predicted by its plan, and decides" {
    cat >p.tra <<'END'
input A : f64 [6000,5000] by [2000,5000] as csr nnz 30000
input P : f64 [6000,32] by [2000,32]
input Q : f64 [5000,32] by [5000,32]
Y[i,j] = sum A[i,j] * P[i,k] * Q[j,k]
output Y as csr
END
    tra explain --operators p.tra >plan
    grep -q '^strategy.*fused' plan
    tra explain --operators --code p.tra >plan
    grep -q '^   sum(<q, i> in A_c0)' plan
    # each factor's row sum once beats all pairs of rows
    printf 'input A : f64 [6000,500] by [600,500] as csr nnz 300000\nY[] = sum A[i,k] * A[j,k]\n' >p.tra
    echo 'output Y' >>p.tra
    tra explain --operators p.tra >plan
    [ "$(grep -c "^strategy.*fused" plan)" = 0 ]
    # rows of Q that no cache holds, gathered for each element, take more time than all of P Q-transposed
    cat >p.tra <<'END'
input A : f32 [6000,5000] by [2000,5000] as csr nnz 3000000
input P : f32 [6000,256] by [2000,256]
input Q : f32 [5000,256] by [5000,256]
Y[i,j] = sum A[i,j] * P[i,k] * Q[j,k]
output Y as csr
END
    tra cost p.tra | cut -f2 >plan
    [ "$(grep -n -x 'local\* local\*' plan | cut -d: -f1)" -lt "$(grep -n -x 'local fused local' plan | cut -d: -f1)" ]
    [ "$(grep -n -x 'local fused local' plan | cut -d: -f1)" -lt "$(grep -n -x 'local local' plan | cut -d: -f1)" ]
}

@test "diagonals and integers: every plan gives what numpy gives, and interpreted the same bits" {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    tra gen -q --shape 50x50 --density .1 --block 20x20 --seed 9 -o S.h5
    tra gen -q --shape 50x50x50 --density .05 --block 50x20x20 --seed 8 -o R.h5
    tra gen -q --shape 50x40 --dtype i64 --density .1 --storage csr --block 20x40 --seed 9 -o I.h5
    tra gen -q --shape 40 --dtype i32 --seed 3 -o n.h5
    for r in S R I n; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input S from "S.h5"\ninput R from "R.h5"\ninput I from "I.h5"\ninput n from "n.h5"\n' >inputs
    {
        cat inputs
        echo 'D[i] = sum S[i,i] * S[i,k] * S[k,l]'
        echo 'E[j] = sum 3 * I[i,j] * I[i,k] * n[k]'
        echo 'F[i,k] = sum R[i,k,k] * S[i,l] * S[l,k]'
        echo 'G[i,j] = sum I[i,j] * I[i,k] * n[k]'
        printf 'output D\noutput E\noutput F as csr\noutput G as csr\n'
    } >p.tra
    cat >judge.py <<'END'
S, R, I, n = (np.load(f + '.npy') for f in 'SRIn')
for run in sys.argv[1:]:
    D, E, F, G = (np.load(f'{run}-{f}.npy') for f in 'DEFG')
    assert np.allclose(D, np.diag(S) * (S @ S.sum(1)), rtol=1e-12), run
    assert E.dtype == np.int64 and np.array_equal(E, 3 * I.T @ (I @ n)), run
    assert np.allclose(F, np.einsum('ikk->ik', R) * (S @ S), rtol=1e-12), run
    assert G.dtype == np.int64 and np.array_equal(G, I * (I @ n)[:, None]), run
END
    fused=0 runs=()
    for sites in 1 3; do
        for k in 1 2 3 4 5 6; do
            tra run -q --sites $sites --plan $k p.tra 2>err || { grep -q 'there' err && break; cat err; return 1; }
            tra explain --operators --sites $sites --plan $k p.tra >plan
            fused=$((fused + $(grep -c 'fused' plan)))
            for r in D E F G; do tra export -q $r.h5 --to npy -o run$sites$k-$r.npy; done
            runs+=(run$sites$k)
            tra digest D.h5 E.h5 F.h5 G.h5 >compiled
            interpreted p.tra --sites $sites --plan $k
            tra digest D.h5 E.h5 F.h5 G.h5 | diff compiled -
        done
    done
    py "$(cat judge.py)" "${runs[@]}"
    [ "$fused" -gt 8 ]
}

@test "sums of integers that do not fit are refused, fused too" {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    py "
import numpy as np
a = np.zeros((30, 30), np.int64)
a[3, 4] = a[3, 5] = 2 ** 40
np.save('a.npy', a)"
    tra import -q a.npy -o a.h5 --storage csr
    printf 'input A from "a.h5"\nQ[j] = sum A[i,j] * A[i,k]\noutput Q\n' >p.tra
    tra explain --operators p.tra | grep -q fused
    for how in auto off; do
        run tra run --codegen $how p.tra
        [ "$status" -eq 3 ]
        has "p.tra:2: Q: an integer does not fit i64"
        lacks "64 bits"
        [ ! -e Q.h5 ]
    done
}

@test "other folds are left to other plans, and explain says why" {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    tra gen -q --shape 50x50 --density .1 --block 20x20 --seed 9 -o S.h5
    tra export -q S.h5 --to npy -o S.npy
    printf 'input S from "S.h5"\nF[k] = max S[i,k] * S[i,j]\noutput F\n' >p.tra
    tra explain --operators --rules p.tra | tr -s '\n ' ' ' >plan
    grep -q 'S-1 [^:]*: it does not add up, and is no product of two matrices under a mask' plan
    tra run -q p.tra
    tra export -q F.h5 --to npy -o F.npy
    py "
import numpy as np
S, F = np.load('S.npy'), np.load('F.npy')
assert np.array_equal(F, (S[:, :, None] * S[:, None, :]).max((0, 2)))"
}

@test "zeros that are stored annihilate what is not finite, compiled and interpreted" {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    py "
import numpy as np, scipy.sparse as s
a = s.random(40, 30, .2, 'csr', random_state=np.random.default_rng(6))
x = np.arange(30.)
x[[3, 17]] = np.inf, np.nan
a.data[np.isin(a.indices, [3, 17])] = 0
s.save_npz('a.npz', a)
np.save('x.npy', x)"
    tra import -q a.npz -o a.h5 --storage csr
    tra import -q x.npy -o x.h5
    printf 'input A from "a.h5"\ninput x from "x.h5"\nQ[j] = sum A[i,j] * A[i,k] * x[k]\noutput Q\n' >p.tra
    tra explain --without D-2 --operators p.tra | grep -q '^strategy.*fused'
    for how in require off; do
        tra run -q --without D-2 --codegen $how p.tra
        tra export -q Q.h5 -o q.npy
        py "
import numpy as np, scipy.sparse as s
a, x, q = s.load_npz('a.npz').tocsr(), np.load('x.npy'), np.load('q.npy')
x[[3, 17]] = 0
assert np.allclose(q, a.T @ (a @ x), rtol=1e-12)"
    done
}

@test "what the interpreter holds of a result is within the ceiling, or the run ends with status 4" {
    tra gen -q --shape 1x400000 --density .12 --storage csr --seed 1 -o A.h5
    tra gen -q --shape 1x2 --seed 2 -o B.h5
    tra gen -q --shape 2x400000 --seed 3 -o C.h5
    for r in A B C; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input A from "A.h5"\ninput B from "B.h5"\ninput C from "C.h5"\n' >p.tra
    printf 'Y[i,j] = sum A[i,j] * B[i,k] * C[k,j]\noutput Y as csr\n' >>p.tra
    fused_at() { "$TRA" cost --memory "$1" --threads 1 p.tra | awk -F'\t' '$2 ~ /fused/ { print $1; exit }'; }
    status 4 tra run -q --plan "$(fused_at 44M)" --memory 44M --threads 1 --codegen off p.tra
    has "the interpreter's dictionaries take more memory than is set aside"
    [ ! -e Y.h5 ]
    status 0 tra run -q --plan "$(fused_at 128M)" --memory 128M --threads 1 --codegen off p.tra
    tra export -q Y.h5 --to npy -o Y.npy
    py 'import numpy as np; A, B, C, Y = (np.load(f + ".npy") for f in "ABCY"); assert np.allclose(Y, A * (B @ C), rtol=1e-12)'
}

@test "a sampled product packs rows of the mask where pairs of the factors' blocks would be much more" {
    tra gen -q --shape 40000x30000 --block 2000x30000 --density .0005 --storage csr --seed 1 -o M.h5
    tra gen -q --shape 40000x16 --block 5000x16 --seed 2 -o U.h5
    tra gen -q --shape 30000x16 --block 5000x16 --seed 3 -o V.h5
    tra export -q M.h5 --to npz -o M.npz
    for r in U V; do tra export -q $r.h5 --to npy -o $r.npy; done
    printf 'input M from "M.h5"\ninput U from "U.h5"\ninput V from "V.h5"\n' >p.tra
    printf 'Y[i,j] = sum M[i,j] * U[i,k] * V[j,k]\noutput Y\n' >>p.tra
    tra explain --operators p.tra >plan
    grep -q '^strategy.*fused' plan
    grep -q 'pack 2 of fused .* i64 rows ' plan # pairs of blocks of U and V would be 94 MB in all, for 7 MB of entries
    # the interpreter, which takes long: the rows of packed factors in 75-fused-rows are its bits too
    for how in "--codegen require --threads 2" ${TRA_TEST_LONG:+"--codegen off --threads 1"}; do
        # shellcheck disable=SC2086
        status 0 tra run -q $how --memory 1G p.tra
        tra export -q Y.h5 --to npz -o Y.npz
        py 'import scipy.sparse as s; m, y = (s.load_npz(f + ".npz").tocsr() for f in "MY"); u, v = np.load("U.npy"), np.load("V.npy")
m, y = m.tocoo(), y.tocoo(); assert m.nnz == y.nnz and np.array_equal(m.col, y.col)
assert np.allclose(y.data, m.data * (u[m.row] * v[m.col]).sum(1), rtol=1e-12)'
    done
    mv Y.h5 Y1.h5
    status 0 tra run -q --sites 3 --memory 1G p.tra
    status 0 tra diff --rtol 1e-12 Y.h5 Y1.h5
}
