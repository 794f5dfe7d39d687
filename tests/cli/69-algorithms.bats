# Programs that come with tra, run by name.
load helper

@test "algorithms give what numpy and scipy give" {
    status 0 "$PYTHON" "$ROOT/tests/cli/algorithms.py"
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
