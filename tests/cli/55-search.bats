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
