# Kernels that are compiled: the same results as without them, a folder that only its user has, no compiler.
load helper

# P = a program on a csr matrix of 300 squared, transposed; numbers that are not whole.
program() {
    export TRA_CACHE=$BATS_TEST_TMPDIR/cache
    py '
import scipy.sparse as sp, scipy.io as io
a = sp.random(300, 300, .05, random_state=3, format="csr"); io.mmwrite("a.mtx", a, precision=17); sp.save_npz("a.npz", a)'
    tra import -q a.mtx --storage csr --block 100x120 -o a.h5
    cat >p.tra <<'END'
input A from "a.h5"
R = reblock(A, [100, 300])
tensor P as csr = sum(<i, row> in R, <j, a> in row) if (a > 0.25) { (j, i) -> a * (1 + a) }
output P
END
}

@test "compiled kernels give what scipy gives, and the bits of those that are built in" {
    program
    tra run -q p.tra --codegen off
    [ -z "$(find . -name '*.so')" ]
    without=$(digest_of P.h5)
    tra run -q p.tra --codegen require
    [ "$(digest_of P.h5)" = "$without" ]
    [ "$(stat -c %a cache)" = 700 ]
    tra export -q P.h5 --to npz -o p.npz
    py '
import scipy.sparse as sp
a, p = sp.load_npz("a.npz"), sp.load_npz("p.npz")
d = a.toarray()
assert np.array_equal(p.toarray(), np.where(d > .25, d * (1 + d), 0).T)'
}

@test "a kernel that was compiled is not compiled again, on several sites by one" {
    program
    status 0 tra run -v p.tra --sites 2 --codegen require
    [ "$(grep -c 's spent in the compiler' <<<"$output")" = 1 ]
    [ "$(find cache -name '*.so' | wc -l)" = 1 ]
    [ "$(find cache -name 'tmp*' | wc -l)" = 0 ]
    before=$(stat -c %Y.%i cache/*.so)
    status 0 tra run -v p.tra --sites 2 --codegen require
    lacks 's spent in the compiler'
    [ "$(stat -c %Y.%i cache/*.so)" = "$before" ]
}

@test "without a compiler or a folder a run warns once and computes, unless it is told to require them" {
    program
    tra run -q p.tra --codegen off
    without=$(digest_of P.h5)
    TRA_CC=/bin/false status 0 tra run p.tra
    [ "$(grep -c 'kernels are not compiled' <<<"$output")" = 1 ]
    [ "$(digest_of P.h5)" = "$without" ]
    TRA_CC=/bin/false status 4 tra run p.tra --codegen require
    [[ $output == *"/bin/false ended with status 1"*"--codegen require"* ]]
    chmod 755 cache
    status 0 tra run p.tra
    [[ $output == *"can be used by others: chmod 700"* ]]
    [ "$(digest_of P.h5)" = "$without" ]
    TRA_CACHE=/dev/null/x status 4 tra run p.tra --codegen require
    [[ $output == *"folder of compiled kernels"* ]]
    TRA_CC=/bin/false status 0 tra run p.tra --codegen off
    [[ $output != *"not compiled"* ]]
}

@test "programs of the calculus are compiled too, whatever their operands are held as" {
    program
    py 'np.save("d.npy", np.random.default_rng(5).standard_normal((300, 200)))'
    tra import -q d.npy --block 100x200 -o d.h5
    cat >t.tra <<'END'
input A from "a.h5"
input D from "d.h5"
R = reblock(A, [100, 300])
W = reblock(D, [300, 200])
tensor Z[300, 200] = sum(<i, row> in D, <j, d> in row) if (d > 0.5) { (i, j) -> sqrt(d) }
tensor Y = sum(<i, row> in R, <j, a> in row) if (a > 0.25) { (j, i) -> a * W(j, 3) }
tensor X = sum(<i, row> in D, <k, s> in D) if (i == k) sum(<j, a> in row) { j -> a * s(j) / (1 + a) }
output Z
output Y
output X
END
    for mode in off require; do
        tra run -q t.tra --codegen $mode
        cat <(tra digest Z.h5) <(tra digest Y.h5) <(tra digest X.h5) >$mode
    done
    diff off require
    [ "$(find cache -name '*.so' | wc -l)" = 2 ]
    status 0 tra explain --operators t.tra --code
    [[ $output == *"Compiled kernels"*"sum(<i, row> in D, <j, d> in row)"*"int tra_kernel(struct kernel_args"* ]]
    tra export -q Z.h5 --to npy -o z.npy
    py '
d, z = np.load("d.npy"), np.load("z.npy")
assert np.array_equal(z, np.where(d > .5, np.sqrt(np.abs(d)), 0))'
    sed 's/{ (i, j) -> sqrt(d) }/{@unique (i, j) -> sqrt(d) }/' t.tra >u.tra
    tra run -q u.tra --codegen require # what says @unique is checked, and so interpreted
    diff <(tra digest Z.h5) <(head -1 off)
}

@test "a damaged object in the folder is made again" {
    program
    tra run -q p.tra --codegen require
    digest=$(digest_of P.h5)
    so=$(echo cache/*.so)
    truncate -s 4000 "$so"
    status 0 tra run -v p.tra --codegen require
    [[ $output == *"is made again"* ]]
    [ "$(digest_of P.h5)" = "$digest" ]
    [ "$(stat -c %s "$so")" -gt 4000 ]
}

@test "explain --kernels shows the plan of a kernel in the calculus, --code its C, which compiles" {
    program
    status 0 tra explain --operators p.tra --kernels
    [[ $output == *"Compiled kernels"*"sum(<i, row> in R, <j, a> in row)"* ]]
    [[ $output != *"int tra_kernel("* ]]
    tra explain --operators p.tra --code | sed -n '/^\/\* /,$p' >k.c
    grep -q 'int tra_kernel(struct kernel_args \*a) {' k.c
    cc -std=c11 -Wall -Wno-unused -Werror -c k.c -o k.o
    tra explain p.tra --code --format json >k.json
    py '
p = json.load(open("k.json"))
k = p["kernels"][0]
assert p["plans"][p["chosen"] - 1]["operators"][k["operator"]]["op"] in ("join", "join-agg"), k
assert "in row) if (a > 0.25)" in k["plan"] and "tra_kernel" in k["code"]'
    [ -z "$(find . -name '*.so')" ]
    printf 'input A from "a.h5"\nB[i] as dense = sum A[i,j]\noutput B\n' >none.tra
    status 0 tra explain --operators none.tra --kernels
    [[ $output == *"No kernel of this plan is compiled"* ]]
    tra run -q none.tra --codegen require
    [ -z "$(find . -name '*.so')" ]
}
