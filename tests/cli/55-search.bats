# tra explain --search: what the search considers. ARCHITECTURE.md has the examples, which 90-manual.bats runs.
load helper

@test "--search: groups, sets and plans of each search, of which every line that names a group names one that is there" {
    cat >p.tra <<'END'
input X : f64 [600, 400] by [100, 100]
input W0 : f64 [400, 200] by [100, 100]
state W = W0
repeat 3 {
    Y[i,k] = sum X[i,j] * W[j,k]
    next W[j,k] = sum X[i,j] * Y[i,k]
}
output W
END
    for how in "--sites 1" "--sites 3" "--sites 5 --cost tra" "--sites 3 --optimizer eindecomp" "--sites 2 --memory 1K"; do
        # shellcheck disable=SC2086
        status 0 tra explain $how --search p.tra
        py '
groups = sets = plans = 0
numbers = set()
for l in sys.argv[1].splitlines():
    w = l.split()
    if l.startswith("Plan "): break
    assert len(l) <= 100 or l.startswith("tra: "), l
    if l.startswith("search: "): groups, numbers = int(w[1]), set()
    if l.startswith("group "): numbers.add(int(w[1].rstrip(":")))
    if l.startswith("  group "): assert int(w[1].rstrip(":")) in numbers, l
    if l.startswith("set "): sets += 1
    if l.startswith("plan ") and w[1] != "digest": plans += 1
assert groups >= len(numbers) > 2 and sets and plans, (groups, numbers, sets, plans)' "$output"
    done
    told 2 tra explain --search --format json p.tra
}

@test "a chain of sparse products is planned in few groups: no product is distributed over the next one" {
    {
        echo 'input A : f64 [4000, 4000] by [1000, 1000] as csr nnz 40000'
        echo 'B0[i,j] = A[i,j]'
        for n in $(seq 12); do echo "B$n[i,k] = sum B$((n - 1))[i,j] * A[j,k]"; done
        echo 'output B12'
    } >p.tra
    status 0 timeout 60 "$TRA" explain --sites 16 --search p.tra
    [[ $output == "search: "[0-9]*" groups of"* ]]
    groups=${output#search: }
    ((${groups%% *} <= 100)) # 73 of it; distributed, a group for each stretch of the chain, of up to 13 dimensions
}

@test "two outputs whose cheapest sets agree nowhere are planned, with all that the first needs" {
    cat >p.tra <<'END'
input A : f32 [1] by [1]
input B : f32 [13, 2] by [3, 2]
R2[i,j] = 3 * (B[i,j] + argmin[k](A[k])) - 1
R3[j,i] = abs(B[i,j])
R4[j,i] = (isnan(trunc(floor(R3[i,j]))))
R5[i,l,j] = sum ((B[i,j] - index(j)) * A[k] * R3[j,i] * max[i](R4[i,j]) * abs(A[l]))
R6 = join(R5, A, [0], [0], matvecsub)
R7[j,k,i] = -2 * abs(A[i]) * relu(R4[j,k]) * R5[j,i,k] * mean[k,j](R3[k,j])
R8[row,i,j] = mean relu(B[i,j]) * R2[k,j] * R6[l,row,j] * R5[i,row,j]
output R7
output R8
END
    status 0 tra explain --sites 5 --threads 1 p.tra
    has "the search was bounded"
}

@test "a union that grows table by table is planned as one of all of them: rows pass few unions" {
    for i in {0..15}; do echo "input t$i : table [k: i64, v: f64] rows 100000 by 20000"; done >inputs.tra
    { cat inputs.tra && echo 'B1 = union(t0, t1)' && for i in {2..15}; do echo "B$i = union(B$((i - 1)), t$i)"; done &&
        echo 'output B15'; } >grows.tra
    { cat inputs.tra && echo "B15 = union($(echo t{0..15} | tr ' ' ,))" && echo 'output B15'; } >once.tra
    py '
grows, once = (float(x.split("peak memory ")[1].split(" MiB")[0]) for x in sys.argv[1:])
assert grows < 1.1 * once, (grows, once)' "$(tra explain grows.tra)" "$(tra explain once.tra)"
}
