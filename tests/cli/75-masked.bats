# Statements in which an operand of sparse type masks what is large and dense: that is computed at its entries alone,
# however it is written. The reference evaluator computes the whole.
load helper

inputs() {
    tra gen -q --shape 150x130 --block 64x50 --density 0.01 --seed 1 -o A.h5:A
    tra gen -q --shape 150x130 --block 64x50 --density 0.012 --seed 2 -o B.h5:B
    tra gen -q --shape 130x130 --block 50x50 --density 0.03 --seed 3 -o G.h5:G
    tra gen -q --shape 150x6 --block 64x3 --seed 4 -o U.h5:U
    tra gen -q --shape 130x6 --block 50x3 --seed 5 -o V.h5:V
    tra gen -q --shape 150 --block 64 --seed 6 -o X.h5:X
    tra gen -q --shape 130 --block 50 --seed 7 -o Y.h5:Y
    for x in A B G U V X Y; do echo "input $x from \"$x.h5:$x\""; done >head.tra
    echo 'S[i,j] = sum U[i,k] * V[j,k]' >>head.tra
}

# beside_reference SITES: the statements of lines.txt, with C as their results, are what the reference evaluator says.
beside_reference() {
    for e in own ref; do
        cp head.tra $e.tra
        awk -v e="$e" '{ sub(/^C/, "C" NR); print; printf "output C%d to \"%s.h5:C%d\"\n", NR, e, NR }' \
            lines.txt >>$e.tra
    done
    tra run -q --sites "$1" own.tra
    tra run -q --engine reference ref.tra
    for n in $(seq "$(wc -l <lines.txt)"); do
        tra diff --rtol 1e-9 --atol 1e-12 "own.h5:C$n" "ref.h5:C$n" >diff && continue
        sed -n "${n}p" lines.txt
        cat diff
        return 1
    done
}

@test "functions of sums under a mask, in products, quotients, branches and sums, on 3 sites" {
    inputs
    cat >lines.txt <<'END'
C[i,j] = A[i,j] * exp(sum[k](U[i,k] * V[j,k]))
C[i,j] = if(A[i,j] != 0, exp(S[i,j]), 0)
C[i,j] = X[i] * exp(S[i,j]) * A[i,j]
C[i,j] = sqrt(A[i,j]) * tanh(S[i,j]) * X[i] * Y[j]
C[i,j] = (A[i,j] - B[i,j]) * exp(S[i,j])
C[i,j] = A[i,j] / (X[i] + Y[j] + S[i,j])
C[i,j] = A[i,j] * (A[i,j] - S[i,j])
C[j,i] = A[i,j] * log(1 + exp(-(A[i,j] * S[i,j])))
C[] = sum if(A[i,j] != 0, (A[i,j] - S[i,j])^2, 0)
C[] = sum (A[i,j] - if(A[i,j] != 0, S[i,j], 0))^2
C[j] = max A[i,j] * exp(S[i,j])
C[i,l] = sum A[i,j] / S[i,j] * V[j,l]
C[i,l] = sum A[i,j] * V[j,l] * exp(S[i,j])
C[k,l] = sum U[i,k] * (A[i,j] / S[i,j]) * V[j,l]
C[i,j] = A[i,j] * exp(-(sum[k]((U[i,k] - V[j,k])^2)))
C[i,j] = A[i,j] * (sum[k](max(U[i,k], V[j,k])))
C[i,j] = A[i,j] * exp(mean[k](U[i,k] * V[j,k]))
C[i,j] = A[i,j] * sqrt(sum[k](A[i,k] * G[k,j]))
C[i,j] = if(A[i,j] != 0, (sum[k](A[i,k] * G[k,j])) + 1, 0)
END
    beside_reference 3
}

@test "triangles, bands, blocks and other choices by labels or dense relations stay sparse, on 3 sites" {
    inputs
    cat >lines.txt <<'END'
C[i,j] = if(index(i) < index(j), A[i,j], 0)
C[i,j] = A[i,j] * (index(i) <= index(j)) * X[i]
C[i,j] = if(abs(index(i) - index(j)) > 9, 0, A[i,j])
C[i,j] = if(floor(index(i) / 16) == floor(index(j) / 16), A[i,j] * Y[j], 0)
C[i,j] = A[i,j] - A[i,j] * (index(i) == index(j))
C[i,j] = A[i,j] * (1 - (index(i) >= index(j)))
C[i,j] = if(index(i) < index(j), A[i,j], B[i,j])
C[i,j] = if(X[i] >= Y[j], A[i,j] > 0, B[i,j] > 0)
C[i,j] = A[i,j] * X[i] ^ Y[j]
C[i,j] = A[i,j] * (index(i) % (index(j) - 5))
C[i,j] = if(Y[j] > 0, A[i,j], 0)
C[i,j] = if(A[i,j] > Y[j] && Y[j] > 0, A[i,j], 0)
C[j,i] = if(index(j) <= index(i), min(A[i,j], abs(B[i,j])), 0)
C[i] = max if(index(j) >= index(i), A[i,j] * Y[j], 0)
END
    beside_reference 3
    tra gen -q --shape 200000x200000 --density 1e-6 --seed 8 -o L.h5:A
    cat >large.tra <<'END'
input A from "L.h5:A"
U[i,j] = if(index(i) < index(j), A[i,j], 0)
D[i,j] = A[i,j] * (index(i) == index(j))
L[i,j] = if(index(i) > index(j), A[i,j], 0)
C[i,j] = U[i,j] + D[i,j] + L[i,j]
output C to "l.h5:A"
END
    tra run -q --memory 200M large.tra
    tra diff l.h5 L.h5:A
}

@test "functions of vectors under a mask, in one step and in several" {
    inputs
    cat >lines.txt <<'END'
C[i,j] = A[i,j] * exp(X[i] * Y[j])
C[i,j] = A[i,j] / (X[i] + Y[j])
C[i,j] = A[i,j] * B[i,j] * exp(X[i] * Y[j])
C[i,j] = A[i,j] * (exp(X[i]) + exp(Y[j]))
C[i,j] = A[i,j] * (X[i] / Y[j])
C[i,j] = A[i,j] * X[i] ^ Y[j]
C[i,j] = A[i,j] * if(X[i] > Y[j], X[i], Y[j])
C[i,j] = if(A[i,j] > 0.5, X[i] + Y[j], B[i,j])
C[i,j] = A[i,j] && X[i] > Y[j]
C[i,j] = A[i,j] * exp(-(index(i) - index(j))^2)
C[] = sum A[i,j] * log(X[i] + Y[j])
END
    beside_reference 2
}

@test "maxima, products, counts and places under a mask, on 3 sites" {
    inputs
    cat >lines.txt <<'END'
C[i,j] = A[i,j] * (max[k](U[i,k] + V[j,k]))
C[i,j] = A[i,j] * (min[k](U[i,k] * V[j,k])) * X[i]
C[i,j] = A[i,j] * (prod[k](U[i,k] + V[j,k]))
C[i,j] = A[i,j] * (mean[k](abs(U[i,k] - V[j,k])))
C[i,j] = A[i,j] * (sum[k](U[i,k] > V[j,k]))
C[i,j] = A[i,j] * (any[k](U[i,k] > V[j,k]))
C[i,j] = A[i,j] * (all[k](U[i,k] > 0.2 * V[j,k]))
C[i,j] = A[i,j] * (var[k](U[i,k] + V[j,k]))
C[i,j] = A[i,j] * exp(std[k](U[i,k] * V[j,k]))
C[i,j] = max[k](A[i,j] * U[i,k] * V[j,k])
C[i,j] = min[k](A[i,j] * (U[i,k] - V[j,k]))
C[i,j] = max[k](A[i,j] * U[i,k] + B[i,j] * A[i,j] * V[j,k])
C[j,i] = if(A[i,j] > 0.5, max[k](U[i,k] + V[j,k]), 0)
C[i] = sum[j](A[i,j] * (max[k](U[i,k] + V[j,k])))
C[j] = max[i](A[i,j] * (min[k](U[i,k] + V[j,k]) - 1))
C[i,j] = A[i,j] * log(max[k](U[i,k] + V[j,k])) / (min[k](U[i,k] * V[j,k]) + 1)
C[i,j] = (A[i,j] - B[i,j]) * (max[k](U[i,k] - V[j,k]))
C[i,j] = A[i,j] * (max[k](tanh(U[i,k]) + index(k) * V[j,k]))
END
    beside_reference 3
}

@test "places and products of what is whole, other types and ranks under a mask" {
    py 'import numpy as np, scipy.sparse as sp
r = np.random.default_rng(5)
u, v = r.random((40, 7)), r.random((30, 7))
for t in "float32", "int64", "int32", "bool":
    np.save("U" + t + ".npy", (u * 9 - 4).astype(t)); np.save("V" + t + ".npy", (v * 9 - 4).astype(t))
np.save("W.npy", r.random((40, 30, 3, 2)))'
    for t in float32 int64 int32 bool; do
        tra import -q U$t.npy -o U$t.h5:A
        tra import -q V$t.npy -o V$t.h5:A
    done
    tra import -q W.npy -o W.h5:A
    tra gen -q --shape 40x30 --block 16x30 --density 0.05 --seed 1 -o A.h5:A
    tra gen -q --shape 40x30x3 --block 40x30x2 --density 0.05 --seed 2 -o T.h5:A
    tra gen -q --shape 30 --density 0.2 --seed 3 -o S.h5:A
    printf 'input A from "A.h5:A"\ninput T from "T.h5:A"\ninput W from "W.h5:A"\ninput S from "S.h5:A"\n' >head.tra
    for t in float32 int64 int32 bool; do
        printf 'input U%s from "U%s.h5:A"\ninput V%s from "V%s.h5:A"\n' $t $t $t $t >>head.tra
    done
    cat >lines.txt <<'END'
C[i,j] = A[i,j] * (argmax[k](Uint64[i,k] * Vint64[j,k]))
C[i,j] = A[i,j] * (argmin[k](Ufloat32[i,k] + Vfloat32[j,k]))
C[i,j] = (A[i,j] != 0) * (max[k](Uint64[i,k] * Vint64[j,k]))
C[i,j] = (A[i,j] != 0) * (prod[k](Uint32[i,k] + Vint32[j,k]))
C[i,j] = (A[i,j] != 0) && (any[k](Ubool[i,k] && Vbool[j,k]))
C[i,j] = (A[i,j] != 0) * (min[k](Ufloat32[i,k] * Vint64[j,k]))
C[i,j] = (A[i,j] != 0) * (sum[k](Ubool[i,k] != Vbool[j,k]))
C[i,j,l] = T[i,j,l] * (max[m](W[i,j,l,m] * A[i,j] + W[i,j,l,m]))
C[i,j] = A[i,j] * (max[l,m](W[i,j,l,m]))
C[i,l,j] = T[i,j,l] * (min[k](Uint64[i,k] + Vint64[j,k]))
C[j] = S[j] * (max[k](Vint64[j,k] * Vint64[j,k]))
C[i] = max[j,k](A[i,j] * (Uint64[i,k] - Vint64[j,k]))
END
    beside_reference 2
}

@test "a mask of several operands: products, sums, maxima, quotients and branches of them" {
    inputs
    tra gen -q --shape 130x150 --block 50x64 --density 0.01 --seed 8 -o T.h5:T
    echo 'input T from "T.h5:T"' >>head.tra
    cat >lines.txt <<'END'
C[i,j] = A[i,j] * B[i,j] * sum[k](U[i,k] * V[j,k])
C[i,j] = (A[i,j] + B[i,j]) * sum[k](U[i,k] * V[j,k])
C[i,j] = (A[i,j] - 2 * B[i,j]) * X[i] * max[k](U[i,k] * V[j,k])
C[i,j] = max(A[i,j], B[i,j]) / S[i,j]
C[i,j] = if(A[i,j] > B[i,j], S[i,j], 0)
C[j,i] = (A[i,j] + T[j,i]) * exp(S[i,j])
C[i] = sum (A[i,j] + T[j,i]) * S[i,j]
C[] = min (A[i,j] + B[i,j]) * prod[k](U[i,k] + V[j,k])
C[i,l] = sum (A[i,j] - B[i,j]) * S[i,j] * V[j,l]
C[i] = max[j](if(A[i,j] != 0, X[i] + Y[j], -1))
C[j] = min[i](if(A[i,j] > 0.5, S[i,j] - A[i,j], 3))
C[] = prod (if(A[i,j] != 0, X[i] + Y[j], 1))
C[i,j] = if(index(i) < index(j), A[i,j] + T[j,i], 0)
C[i,j] = if(X[i] > Y[j], max(A[i,j], B[i,j]), A[i,j] - T[j,i])
C[i,j] = (A[i,j] + B[i,j] > 0.5) && (X[i] > Y[j])
C[i,j] = if(A[i,j] + B[i,j] > 1 || X[i] > Y[j], A[i,j] + B[i,j], 0)
C = slice(A, [::-1, 129:2:-3])
C[i] = min[j](if(X[i] > Y[j], if(A[i,j] > Y[j], A[i,j] + B[i,j], T[j,i]), 0))
END
    for sites in 1 3; do beside_reference $sites; done
    # 400 GB as a whole
    for x in A B; do tra gen -q --shape 200000x200000 --density 1e-7 --seed 1 -o L$x.h5:L$x; done
    tra gen -q --shape 200000x4 --seed 3 -o LU.h5:LU
    printf 'input LA from "LA.h5:LA"\ninput LB from "LB.h5:LB"\ninput LU from "LU.h5:LU"\n' >l.tra
    printf 'D[i,j] = LA[i,j] * LB[i,j] * sum[k](LU[i,k] * LU[j,k])\n' >>l.tra
    printf 'C[i,j] = (LA[i,j] + LB[j,i]) * max[k](LU[i,k] * LU[j,k])\noutput C\noutput D\n' >>l.tra
    tra run -q --memory 512M l.tra
}

@test "what is masked needs no room for the whole; an if of a sparse condition is sparse by type" {
    tra gen -q --shape 20000x20000 --block 5000x20000 --density 1e-6 --seed 1 -o A.h5:A
    tra gen -q --shape 20000x3 --block 5000x3 --seed 2 -o U.h5:U
    printf 'input A from "A.h5"\ninput U from "U.h5"\nS[i,j] = sum U[i,k] * U[j,k]\n' >p.tra
    printf 'T[i,j] = exp(S[i,j])\nC[i,j] = if(A[i,j] > 0, T[i,j], 0)\noutput C to "C.h5"\n' >>p.tra
    tra check p.tra | grep -E '^C: .*sparse: .* entries'
    tra run -q --memory 64M p.tra
    tra info C.h5 | grep -q '^  storage *csr\|^  storage *dcsr'
    # so what several sparse operands make, in each branch of an if and in the other operand of &&
    tra gen -q --shape 20000x20000 --block 5000x20000 --density 1e-6 --seed 3 --storage coo -o B.h5:B
    for e in 'if(index(i) < index(j), A[i,j] + B[i,j], 0)' \
        'if(index(i) < index(j), max(A[i,j], B[i,j]), A[i,j] - B[i,j])' \
        '(A[i,j] + B[i,j] > 0.5) && (index(i) < index(j))'; do
        printf 'input A from "A.h5"\ninput B from "B.h5"\nC[i,j] = %s\noutput C\n' "$e" >q.tra
        tra run -q --memory 64M q.tra
    done
}

@test "infinities and NaN where the mask has entries come out, and 0 / 0" {
    py 'import scipy.sparse as sp
n = 40
a = np.zeros((n, n)); a[::2, 1] = 2; a[3, ::3] = 1
x = np.arange(n) / 7.0; x[[0, 4]] = 0, np.inf; x[6] = np.nan
sp.save_npz("A.npz", sp.csr_matrix(a)); np.save("X.npy", x)'
    tra import -q A.npz -o A.h5:A
    tra import -q X.npy -o X.h5:X
    printf 'input A from "A.h5:A"\ninput X from "X.h5:X"\n' >head.tra
    cat >lines.txt <<'END'
C[i,j] = A[i,j] * (X[i] / X[j])
C[i,j] = A[i,j] * (X[i] + X[j])
C[i,j] = A[i,j] / (X[i] * X[j])
C[i,j] = if(A[i,j] > 1, X[i] - X[j], 0)
END
    beside_reference 1
}

@test "a chain of forty products under a mask is planned in a moment: each statement is looked at once" {
    tra gen -q --shape 300x300 --block 100x100 --density 0.01 --seed 1 -o A.h5:A
    tra gen -q --shape 300x4 --block 100x4 --seed 2 -o U.h5:A
    {
        printf 'input A from "A.h5:A"\ninput U from "U.h5:A"\nx0[i,j] = sum[k](U[i,k] * U[j,k])\n'
        for i in $(seq 1 40); do echo "x$i[i,j] = sum[k](x$((i - 1))[i,k] * x$((i - 1))[k,j])"; done
        printf 'O[i,j] = sum[k](A[i,k] * x40[k,j])\nP[i,j] = A[i,j] * x40[i,j]\noutput O\noutput P\n'
    } >p.tra
    status 0 timeout 30 "$TRA" explain p.tra
}

@test "what several steps compute under a mask is expected to have its entries, not those of independent places" {
    inputs
    cat head.tra - >p.tra <<'END'
C[i,j] = A[i,j] * (var[k](U[i,k] + V[j,k]))
D[i,j] = A[i,j] * sqrt(A[i,j]) + A[i,j]
E[i,j] = A[i,j] * B[i,j]
output C
output D
output E
END
    tra explain --tra p.tra >types
    has() { grep -A3 " $1 = " types | tr '\n' ' ' | grep -oE 'about [0-9]+ entries' | head -n 1 | tr -dc 0-9; }
    for x in C D; do [ "$(has $x)" -gt 150 ] && [ "$(has $x)" -lt 240 ]; done
    [ "$(has E)" -lt 10 ]
}
