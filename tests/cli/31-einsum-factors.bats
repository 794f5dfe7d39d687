# 31-einsum-factors.bats - what of a sum does not depend on the labels that are summed is taken out of it.

load helper

tensors() {
    py 'r = np.random.default_rng(1)
def put(name, x): np.save(name + ".npy", x)
put("X", r.normal(size=(200, 30)).astype(sys.argv[1])); put("own", r.random((200, 20)) < .3)
put("R", r.normal(size=(200, 20)).astype(sys.argv[1])); put("W", r.normal(size=200).astype(sys.argv[1]))
put("size", np.arange(20) % 7 + 1); put("s", (np.arange(20) % 5 - 2).astype(sys.argv[1]))' "$1"
    for f in X own R; do status 0 tra import -q $f.npy -o $f.h5 --block 100x15; done
    for f in W size s; do status 0 tra import -q $f.npy -o $f.h5 --block $([ $f = W ] && echo 100 || echo 15); done
}

# statement TEXT: the program of it.
statement() {
    for f in X own R W size s; do echo "input $f from \"$f.h5\""; done >p.tra
    printf 'param p = 2\n%s\noutput Z\n' "$1" >>p.tra
}

@test "a factor, a divisor and a condition without the summed label make no array of all labels, in any type" {
    local i=0
    for type in f4 f8; do
        tensors $type
        while IFS= read -r text; do
            # each statement of one type; make check-long takes both
            i=$((i + 1))
            [[ ${TRA_TEST_LONG-} || $((i % 2)) == "$([ $type = f8 ] && echo 1 || echo 0)" ]] || continue
            statement "$text"
            status 0 tra explain -q --format json p.tra
            # of 200 x 30 x 20 elements
            status 0 py 'ops = json.loads(sys.argv[1])["plans"][0]["operators"]
most = max(np.prod(o["bound"]) * o["tuples"] for o in ops)
assert most <= 200 * 30 * 2, (sys.argv[2], most)' "$output" "$type $text"
            status 0 tra run -q --no-history p.tra
            cp Z.h5 run.h5
            status 0 tra run -q --no-history --engine reference p.tra
            status 0 py 'a, b = (h5py.File(f)["data"] for f in ("run.h5", "Z.h5"))
assert a.dtype == b.dtype, (a.dtype, b.dtype)
assert np.allclose(a[()], b[()], rtol=1e-10 if a.dtype == "f8" and not "W[" in sys.argv[1] else 1e-3,
                   atol=1e-9 if a.dtype == "f8" else 1e-3, equal_nan=True)' "$text"
        done <<'END'
Z[c,d] = sum own[n,c] * X[n,d] / size[c]
Z[c,d] = sum p * own[n,c] * X[n,d] / size[c]
Z[c,d] = sum 0.5 * own[n,c] * X[n,d] / (size[c] + 1) / 3
Z[c,d] = mean own[n,c] * X[n,d] / (size[c] + 1)
Z[c,d] = sum[n](own[n,c] * X[n,d] / (size[c] + 1))
Z[c,d] = sum own[n,c] * X[n,d] / sum[m](own[m,c])
Z[c,d] = sum (own[n,c] == 1) * X[n,d] / size[c]
Z[c,d] = sum if(s[c] > 0, R[n,c] * X[n,d] / s[c], 0)
Z[c,d] = sum if(size[c] > 0, own[n,c] * X[n,d] / size[c], 0)
Z[c,d] = sum if(s[c] > 0, R[n,c] * X[n,d], W[n] * X[n,d])
Z[c,d] = mean if(s[c] > 0, R[n,c] * X[n,d], 1)
Z[c,d] = sum if(size[c] > 3, R[n,c] * X[n,d], 0)
END
    done
}

@test "what is not taken of an if stays untaken, and what is summed of integers keeps its type" {
    tensors f4
    while IFS= read -r text; do
        statement "$text"
        status 0 tra run -q --no-history p.tra
        cp Z.h5 run.h5
        status 0 tra run -q --no-history --engine reference p.tra
        status 0 py 'a, b = (h5py.File(f)["data"] for f in ("run.h5", "Z.h5"))
assert a.dtype == b.dtype, (a.dtype, b.dtype)
assert np.allclose(a[()], b[()], rtol=1e-4, atol=1e-3, equal_nan=True)'
    done <<'END'
Z[c,d] = sum if(size[c] > 3, own[n,c], X[n,d])
Z[c,d] = sum if(s[c] > 1, X[n,d] * R[n,c], own[n,c] * 2)
Z[c] = sum if(size[c] > 3, own[n,c], 2)
Z[c] = sum if(size[c] > 3, own[n,c], 0.5)
Z[c] = sum if(s[c] > 1, X[n,d] * W[n], R[n,c])
Z[d] = sum if(W[n] > 0, X[n,d] * R[n,c], s[c])
Z[c,d] = max if(s[c] > 0, R[n,c] * W[n], X[n,d])
END
}
