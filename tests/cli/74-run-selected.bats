# Rows that are selected without a sort, or read since they have partners: the same tables as by other ways.
load helper

# Runs p.tra in several ways beside that one ($@).
same_in_all_ways() {
    local how ways=("" "--without J-1 --threads 1 --memory 64M")
    [[ $(also 3) != *3 ]] || ways+=("--sites 3 --threads 1")
    status 0 tra run -q "$@" p.tra; mv O.h5 wanted.h5
    for how in "${ways[@]}"; do
        status 0 tra run -q $how p.tra
        status 0 tra diff --rtol 1e-12 --atol 1e-12 wanted.h5 O.h5 || { echo "$how"; cat p.tra; tra diff --rtol 1e-12 wanted.h5 O.h5; return 1; }
    done
}

tables() {
    py 'import random
r = random.Random(5)
with open("t.csv", "w") as f:
    f.write("k,l,s,x,n,d\n")
    for i in range(6000):
        row = [r.randrange(400), r.randrange(40), "w%d" % r.randrange(300), r.random(), r.choice(["", r.randrange(-9, 9)]),
               "2020-01-%02d" % r.randrange(1, 29)]
        f.write(",".join(map(str, row)) + "\n")
with open("a.csv", "w") as f:
    f.write("k,w\n" + "".join("%d,%d\n" % (r.randrange(400), i) for i in range(25)))
with open("b.csv", "w") as f:
    f.write("l,s,v\n" + "".join("%d,w%d,%d\n" % (r.randrange(40), r.randrange(400), i) for i in range(12)))'
    for t in t a b; do tra import -q $t.csv -o $t.h5 --block 800; done
}

@test "rows without a partner in a join, or in those that follow, are not read: the same tables" {
    tables
    while read -r p; do
        printf 'input t from "t.h5"\ninput a from "a.h5"\ninput b from "b.h5"\n%s\noutput O\n' "$p" >p.tra
        same_in_all_ways --engine reference
    done <<'END'
O = join(t, a, k == k, how = semi)
O = join(t, a, k == k)
O = join(t, a, k == k, how = anti)
O = join(t, a, k == k, how = left)
O = join(join(t, b, l == l, prefix = "b_"), a, k == k)
O = join(join(t, b, l == l, how = left, prefix = "b_"), a, k == k, how = semi)
O = join(join(t, b, s == s && l == l, prefix = "b_"), a, k == k)
O = join(join(select(t, l < 9 && 7 / (l - 3) < 4), a, k == k, how = semi), b, s == s, prefix = "b_")
O = join(project(t, q = k, r = l, x, n), join(a, b, w == v, prefix = "b_"), q == k && r == b_l)
O = join(t, a, k == k && x * 10.0 < w)
O = group(join(t, a, k == k), [w], m = median(n), s = sum(n), c = count())
O = join(t, select(a, w < 0), k == k)
END
}

@test "quantiles of groups are selected, and the first rows of groups: the same tables" {
    tables
    while read -r p; do
        printf 'input t from "t.h5"\n%s\noutput O\n' "$p" >p.tra
        same_in_all_ways --without J-1 # in sorted parts
    done <<'END'
O = group(t, [l], m = median(x), q = quantile(x, 0.9), a = quantile(n, 0.0), b = quantile(n, 1.0), c = median(n), s = sum(n))
O = group(t, [s, l], m = median(x), q = quantile(n, 0.3), c = count())
O = group(t, [k], m = median(if(n > 3, x / 0.0 * 0.0, x)), q = quantile(-n, 0.25))
O = group(t, [d], m = median(l), u = distinct(k))
O = group(t, [], m = median(x), q = quantile(n, 0.5))
O = select(window(t, [l], [x], r = row_number()), r <= 3)
O = select(window(t, [l], [x desc], r = row_number()), r <= 1)
O = select(window(t, [l, s], [n desc, x], r = rank()), r <= 2)
O = select(window(t, [d], [n], r = rank(), m = row_number()), r < 40)
O = select(window(t, [k], [s desc, d], r = row_number()), r <= 2)
O = select(window(t, [l], [n], r = dense_rank()), r <= 2)
O = select(window(t, [l], [x], r = row_number(), p = lag(x, 1)), r <= 4)
END
}

@test "the first rows of an order, among those that pass, are found before other columns are read: the same tables" {
    tables
    while read -r p; do
        printf 'input t from "t.h5"\n%s\noutput O\n' "$p" >p.tra
        same_in_all_ways --engine reference
    done <<'END'
O = limit(order(select(t, l < 9), [x desc]), 20)
O = limit(order(select(t, s != "w7" && n > 2), [s desc, n, x]), 30, from = 7)
O = limit(order(project(select(t, k > 1900), k, d, q = x * 2, s, x), [d desc, x]), 50)
O = limit(order(select(t, n < 0 || isnull(n)), [n desc, s, x]), 9)
O = limit(order(project(t, k, s, y = -x, d), [y, k]), 5)
O = limit(order(select(t, l < 0), [x]), 5)
O = distinct(select(t, l < 30), [l], order = [x desc], keep = first)
O = distinct(t, [s], order = [n, d], keep = last)
O = distinct(select(t, k < 90), [l - l / 2 * 2, n], order = [length(s), x desc])
END
}
