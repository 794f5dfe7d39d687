# What the suites of fused statements share: operands, and comparing every plan with numpy.
# shellcheck shell=bash

inputs() {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    tra gen -q --shape 70x50 --density .1 --block 30x50 --seed 1 -o A.h5
    tra gen -q --shape 50 --block 50 --seed 2 --dist normal -o x.h5
    tra gen -q --shape 20x30x25 --density .05 --block 8x30x10 --seed 3 -o T.h5
    tra gen -q --shape 30x6 --block 30x4 --seed 4 -o B.h5
    tra gen -q --shape 25x6 --block 10x4 --seed 5 -o C.h5
    for r in A x T B C; do tra export -q $r.h5 --to npy -o $r.npy; done
}

# all_plans SITES EXPRESSION [LEAST]: runs every plan of p.tra on so many sites and compares Y with what numpy says; at
# least so many plans (1) are fused.
all_plans() {
    fused=0
    rm -f Y-*.npy
    for k in 1 2 3 4 5 6 7 8; do
        rm -f Y.h5
        tra run -q --sites "$1" --plan $k p.tra 2>err || { grep -q 'there' err && break; cat err; return 1; }
        tra explain --operators --sites "$1" --plan $k p.tra >plan
        ! grep -q '^strategy.*fused' plan || fused=$((fused + 1))
        tra export -q Y.h5 --to npy -o Y-$k.npy
    done
    py "
A, x, T, B, C = (np.load(f + '.npy') for f in 'AxTBC')
for f in sys.argv[1:]:
    Y = np.load(f)
    assert np.allclose(Y, $2, rtol=1e-12), (f, abs(Y - $2).max())" Y-*.npy
    echo "$fused fused"
    [ "$fused" -ge "${3:-1}" ]
}

# interpreted PROGRAM [OPTIONS]: runs the plan that the options choose without a compiler. It is saved first: where
# nothing is compiled, plans have other costs and so other numbers.
interpreted() {
    tra compile -q "$@" -o interpreted.plan
    tra run -q interpreted.plan --codegen off
}
