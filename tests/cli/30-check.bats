# tra check: types of programs, diagnostics, rebinding.
load helper

@test "whole params are exact in key expressions, or refused" {
    tra gen -q --shape 20x20 --block 7x7 -o w.h5
    printf '%s\n' 'param n = 9007199254740993' 'param m = n - 1 + 1' 'input A from "w.h5"' \
        'B = filter(A, (i,j) -> m % 2 == 1 && n % 2 == 1)' 'output B' >p.tra
    status 0 tra check p.tra
    has "B: keys 2 <3,3>"
    status 0 tra check p.tra -D n=9007199254740992
    has "B: keys 2 <0,0>"
    status 0 tra check p.tra -D n=3 -D m=9223372036854775807
    has "B: keys 2 <3,3>"
    for v in 9007199254740993.0 9.1e15 9223372036854775809; do
        told 2 tra check p.tra -D m=$v
    done
}

@test "outputs: no unknown format, none inside another, no more dimensions than a file can have; the end of a program without" {
    tra gen -q --shape 4x4 -o w.h5
    outputs() { printf '%s\n' 'input A from "w.h5"' "${@:2}" >p.tra; status "$1" tra check p.tra; }
    outputs 2 'output A to "a.xyz"'
    has "p.tra:2:13: error: no format has the suffix .xyz: write h5:a.xyz for HDF5"
    outputs 2 'output A to "f.h5:x"' 'B = transform(A, neg)' 'output B to "f.h5:x/z"'
    has "p.tra:4:13: error: f.h5:x/z cannot be a relation and hold another one"
    outputs 2 'output A to "f.h5:x/y/z"' 'B = transform(A, neg)' 'output B to "f.h5:x"'
    has "cannot be a relation and hold another one"
    outputs 0 'output A to "f.h5:x"' 'B = transform(A, neg)' 'output B to "f.h5:xz"'
    outputs 0
    told 2 tra run p.tra
    told 2 tra gen --shape 3 -o -
    [ ! -e ./- ]
}

program() { cat >p.tra; }

@test "check prints a line for each relation, text and JSON" {
    program <<'END'
input A : f64 [40000, 35000] by [4000, 4000]
input B : f32 [35000, 1001] by [4000, 500]
C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)
T = tile(C, 0, 1000)
output C
output T
END
    status 0 tra check p.tra
    [ "${#lines[@]}" -eq 4 ]
    [ "${lines[0]}" = "A: keys 2 <10,9>, f64 4000 x 4000, tensor 40000 x 35000, 90 tuples, 10.4 GiB, continuous" ]
    [ "${lines[2]}" = "C: keys 2 <10,3>, f64 4000 x 500, tensor 40000 x 1001, 30 tuples, 305.5 MiB, continuous" ]
    [ "${lines[3]}" = "T: keys 3 <10,3,4>, f64 1000 x 500, tuple layout, 120 tuples, 305.5 MiB, continuous" ]
    status 0 tra check --format json p.tra
    is p.tra json program
    is C json relations.2.name
    is 2 json relations.2.keys
    is 2 json relations.2.rank
    is "[10, 3]" json relations.2.frontier
    is "[4000, 500]" json relations.2.bound
    is f64 json relations.2.dtype
    is 30 json relations.2.tuples
    is 40040000 json relations.2.floats
    is "[40000, 1001]" json relations.2.tensor
    is null json relations.3.tensor
    [ ! -e C.h5 ]
}

@test "check reads a program from standard input and inputs relative to the program's folder" {
    mkdir sub && cd sub
    tra gen -q --shape 10x7 --block 4x3 --dtype f32 -o a.h5:left
    cd ..
    echo 'input A from "a.h5:left"' >sub/p.tra
    status 0 tra check sub/p.tra
    [ "$output" = "A: keys 2 <3,3>, f32 4 x 3, tensor 10 x 7, 9 tuples, 280 B, continuous" ]
    status 0 bash -c 'echo "input A from \"sub/a.h5\"; B = agg(A, [], matadd)" | "$TRA" check -'
    has "B: keys 0 <>, f32 4 x 3, tensor 4 x 3, 1 tuple, 48 B, continuous"
}

@test "-D rebinds inputs, relative to the working directory, and sets params" {
    mkdir sub
    tra gen -q --shape 6x6 --block 3x3 -o other.h5
    echo 'input A from "missing.h5"; param n = 2; B = tile(A, 0, n)' >sub/p.tra
    status 0 tra check sub/p.tra -D A=other.h5 -D n=3
    has "A: keys 2 <2,2>, f64 3 x 3"
    has "B: keys 3 <2,2,1>, f64 3 x 3"
    told 2 tra check sub/p.tra -D AA=other.h5
    status 2 tra check sub/p.tra -D B=other.h5
    told 2 tra check sub/p.tra -D A=other.h5 -D n=two
    status 2 tra check sub/p.tra -D n
}

@test "all independent errors, each with place, line, caret and advice" {
    program <<'END'
input A : f64 [10, 9] by [4, 3]
B = join(A, AA, [1], [0], matmul)
C = agg(A, [0,2], matadd)
D = agg(B, [0], matadd)
E = transform(A, sofmax)
F = rekey(A, (i,j) -> i/2)
output D
END
    told 2 tra check p.tra
    lacks "p.tra:4"
    lacks "p.tra:7"
    status 2 bash -c '"$TRA" check p.tra 2>/dev/null'
    [ -z "$output" ]
    status 2 bash -c '"$TRA" check - <p.tra'
    has "<stdin>:2:13: error"
}

@test "one status for each class of failure" {
    status 3 tra check missing.tra
    echo 'input A from "missing.h5"' >p.tra
    told 3 tra check p.tra
    echo 'this is not HDF5' >bad.h5
    told 3 tra check p.tra -D A=bad.h5
    printf 'input A from "missing.h5"\nB = 3 +\n' >p.tra
    told 2 tra check p.tra
    status 2 tra check
    status 2 tra check p.tra q.tra
    [ "$(ls)" = "$(printf 'bad.h5\np.tra')" ]
}

@test "warnings do not fail, and -q is quiet about them" {
    program <<'END'
input A : f64 [10, 9] by [4, 3]
input B : f64 [4, 9] by [4, 3]
C = join(A, B, [0], [0], outer)
D = agg(A, [0], matadd)
output C
END
    status 0 tra check p.tra
    has "p.tra:3:5: warning: the joined keys differ in frontier: 3 in key dimension 0 on the left, 1 in 0 on the right"
    has "p.tra:4:1: warning: 'D' is not used"
    status 0 tra check -q p.tra
    lacks warning
}

@test "colour only on demand" {
    echo 'A = B' >p.tra
    status 2 tra check p.tra
    lacks $'\033'
    told 2 tra check --color always p.tra
}

@test "the types of a file of 1e5 blocks, and of a grid of 1e12, come at once" {
    tra gen -q --shape 1000x1000 --block 3x3 --dist zero -o a.h5
    program <<'END'
input A from "a.h5"
input B : f64 [3000000, 3000000] by [3, 3]
C = agg(join(A, A, [1], [0], matmul), [0,2], matadd)
D = agg(join(B, B, [1], [0], matmul), [0,2], matadd)
output C
END
    tra check p.tra >/dev/null
    local TIMEFORMAT=%3U used
    used=$( { time tra check -q p.tra >/dev/null 2>&1; } 2>&1)
    status 0 tra check -q p.tra
    has "C: keys 2 <334,334>, f64 3 x 3, tensor 1000 x 1000, 111556 tuples, 7.6 MiB, continuous"
    has "D: keys 2 <1000000,1000000>"
    echo "$used s of a processor"
    ((10#${used/./} < 500)) # 0.1 s on a quiet machine
}

@test "an output that would replace the file of another is refused" {
    program <<'END'
input A : f64 [4, 4] by [2, 2]
B = transform(A, neg)
output A to "o.h5:a"
output B to "./o.h5"
END
    told 2 tra check p.tra
    sed -i 's/o.h5"/o.h5:b"/' p.tra
    status 0 tra check p.tra
    # by another name: through a folder, then through the file
    mkdir real
    ln -s real link
    sed -i 's#to "o.h5:a"#to "real/o.h5"#; s#to ".*:b"#to "link/o.h5"#' p.tra
    told 2 tra check p.tra
    touch real/o.h5
    ln -s o.h5 real/other.h5
    sed -i 's#link/o#real/other#' p.tra
    for _ in there gone; do
        told 2 tra check p.tra
        rm -f real/o.h5
    done
}

@test "relations of more than 2^63 elements or bytes are sized as that, and refused with their place where they are planned" {
    program <<'END'
input A : f64 [3100000000,3100000000]
output A
END
    status 0 tra check p.tra
    has "1 tuple, more than 2 EiB, continuous"
    status 0 tra check --format json p.tra
    is 9223372036854775807 json relations.0.floats
    for c in explain cost run; do
        told 2 tra "$c" p.tra
    done
    status 2 tra explain --sites 3 --memory 1G --format json p.tra
    has "on 3 sites"
    for block in "" " by [1000]"; do
        program <<END
input x : f64 [3100000000]$block
input y : f64 [3100000000]$block
Z[i,j] = x[i] * y[j]
output Z
END
        status 0 tra check p.tra
        [[ "${lines[2]}" == "Z: "*" more than 2 EiB, continuous" ]]
        for c in explain cost run; do
            told 2 tra "$c" p.tra
        done
    done
    program <<'END'
input A : f64 [1000000,1000000] by [1000,1000]
B = rekey(A, (i,j) -> (i*9000000000000, j))
output B
END
    status 0 tra check p.tra
    lacks "tensor -"
}
