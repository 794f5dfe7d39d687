# Programs that come with tra, run by name.
load helper

@test "algorithms give what numpy and scipy give" {
    status 0 "$PYTHON" "$ROOT/tests/cli/algorithms.py"
}

@test "algorithms refuse wrong inputs in the words of their arguments, and take what only looks wrong" {
    status 0 "$PYTHON" "$ROOT/tests/cli/algorithms_inputs.py"
}

# beside LIBRARY: skips where it is not installed.
beside() {
    local got=0
    "$PYTHON" "$ROOT/tests/cli/algorithms_peers.py" "$1" || got=$?
    [ $got -ne 77 ] || skip "python has no $1"
    [ $got -eq 0 ]
}

@test "algorithms give what scikit-learn gives" { beside sklearn; }

@test "algorithms give what networkx gives" { beside networkx; }

@test "tra help algorithms lists them with their arguments, and an unknown name suggests the nearest" {
    status 0 tra help algorithms
    for f in "$ROOT"/share/algorithms/*.tra; do
        name=$(basename "$f" .tra)
        grep -q -x "@$name" <<<"$output" || { echo "no $name"; return 1; }
        [ "$(wc -l <"$f")" -le 30 ] || { echo "$name has more than 30 lines"; return 1; }
        for argument in $(sed -n 's/^input \([A-Za-z]*\) .*/\1/p; s/^param \([a-z]*\) .*/\1/p' "$f"); do
            grep -q -e "-D $argument=" <<<"$output" || { echo "$name: $argument"; return 1; }
        done
    done
    status 2 tra run @kmean
    has "did you mean @kmeans?"
    status 3 tra run @kmeans
    has "X.h5"
}

@test "a param has bounds, which -D is held to: numbers, params above, extents" {
    py 'np.save("A.npy", np.arange(12.).reshape(3, 4))'
    cat >p.tra <<'END'
input A from "A.npy"
param most = 0.5
param k = 2 from 1 to extent(A, 1) - 1   # columns
param low = 0.25 from -1 to most
param high = 7 to 10 * extent(A, 0)
B = slice(A, [:, :k]) * low + high
output B to "csv:-"
END
    is $'7,7.25\n8,8.25\n9,9.25' tra run -q p.tra
    is $'-1,-2\n-5,-6\n-9,-10' tra run -q -D low=-1 -D high=-1 p.tra
    while read -r define what; do
        status 2 tra run -q -D "$define" p.tra
        has "$what"
    done <<'END'
k=4 p.tra:3:7: error: 'k' is 4, but must be from 1 to 3
k=0 'k' is 0, but must be from 1 to 3
low=0.75 'low' is 0.75, but must be from -1 to 0.5
most=0 'low' is 0.25, but must be from -1 to 0
low=nan 'low' is nan, but must be
high=31 'high' is 31, but must be at most 30
END
    printf 'param who = "Ann" from 1\nA = gen(zero, [2])\noutput A\n' >p.tra
    status 2 tra check p.tra
    has "only a number has bounds"
}

@test "algorithms take CSV files, whole numbers and f32; what they cannot take is told with what they do take" {
    py 'r = np.random.default_rng(1)
X = np.vstack([r.normal(size=(30, 3)), r.normal(size=(30, 3)) + 5]); y = X.sum(1) > 7
np.save("X.npy", X), np.save("Xf.npy", X.astype("f4")), np.save("Xi.npy", (9 * X).astype(int)), np.save("y.npy", y.astype(int))
np.savetxt("X.csv", X, delimiter=",", header="a,b,c", comments=""), np.savetxt("y.csv", y, "%d", header="y", comments="")
np.save("F.npy", np.eye(60, 2, dtype=int)), np.save("G.npy", (r.random((60, 60)) < .1) * 1), np.save("T.npy", r.integers(1, 9, (5, 4, 3)))
np.save("one.npy", X[:1]); np.save("V.npy", abs(X).astype("f4")); np.save("Vi.npy", abs(9 * X).astype(int))'
    for x in X.csv Xi.npy Xf.npy one.npy; do
        k=2
        [ $x != one.npy ] || k=1
        for a in "kmeans -D k=$k" "gmm -D k=$k"; do status 0 tra run -q @$a -D X=$x; done
        [ $x != one.npy ] || continue
        status 0 tra run -q @pca -D k=9 -D X=$x
        for a in logistic "network -D rows=20 -D turns=1 -D classes=2" ridge; do
            status 0 tra run -q @$a -D X=$x -D y=y.csv
        done
    done
    for v in V Vi; do status 0 tra run -q @nmf -D V=$v.npy -D rank=2 -D turns=3; done
    status 0 tra run -q @propagation -D G=G.npy -D F=F.npy
    py 'T = np.load("T.npy"); np.save("Tf.npy", T.astype("f4")), np.save("Tb.npy", T > 4)
np.save("flat.npy", np.ones((9, 3))), np.save("zero.npy", np.zeros(9))'
    for t in T Tf Tb; do status 0 tra run -q @cp -D T=$t.npy -D turns=3 -D rank=2; done
    status 0 tra run -q @gmm -D X=flat.npy -D k=2 # columns of one value have the least variance
    is $'1,1,1\n1,1,1' tra head M.h5
    status 0 tra run @ridge -D X=flat.npy -D y=zero.npy
    lacks "NaN"
    is $'turn,left\n0,0' tra head log.h5
    status 2 tra run @kmeans -D X=X.npy -D k=100
    has "@kmeans:4:7: error: 'k' is 100, but must be from 1 to 60"
    has "centres"
    has "@kmeans does not compile: 1 error; 'tra help algorithms' tells what it takes"
    status 2 tra run @network -D X=X.npy -D y=y.npy
    has "'rows' is 100, but must be from 1 to 60"
    for a in "gmm -D k=0" "pca -D k=0" "kmeans -D k=0" "nmf -D V=X.npy -D rank=0" "als -D R=G.npy -D rank=-1" \
        "cp -D T=T.npy -D rank=nan" "pagerank -D G=G.npy -D damping=1.5" "ridge -D y=y.npy -D ridge=-1"; do
        # shellcheck disable=SC2086
        status 2 tra run @$a $([[ $a == *=*.npy* && $a != ridge* ]] || echo -D X=X.npy)
        has "but must be"
    done
    status 2 tra run @ridge -D X=one.npy -D y=y.npy
    has "y must have an element for each row of X: extent(y, 0) is 60, extent(X, 0) is 1"
}
