# Rules on plans of tables: what they make has the same result, on one rank and on several, and they are named.
load helper
load trips

@test "Q-13: products of matrices of columns, of the columns as they are" {
    trips
    tra import -q --table --block 2000 trip.csv -o trip.h5 # more rows than a strip
    local C='one = 1, minutes, w, q = w * w, s = sqrt(w), m = minutes / 7'
    same Q-13 "X = matrix(trip, [$C])
A[i,j] = sum X[n,i] * X[n,j]"
    same Q-13 "P = project(select(trip, minutes > 3 && member == \"yes\"), w, minutes, start)
X = matrix(P, [one = 1, w, start], fill = 2.5)
Y = matrix(P, [minutes, v = exp(w), b = minutes > 30, d = w - 1, start], fill = -1)
A[i,j] = sum X[n,i] * Y[n,j]"
    tra gen -q --shape 6x3 --block 6x3 --seed 1 -o w.h5
    tra gen -q --shape 6 --block 6 --seed 1 -o v.h5
    same Q-13 "X = matrix(trip, [$C])
Y = matrix(trip, [a = minutes / 50, b = w])
V[n,k] = exp(Y[n,k])
A[i,k] = sum X[n,i] * V[n,k]"
    same Q-13 "input W from \"w.h5\"
X = matrix(trip, [$C])
A[n,k] = sum X[n,i] * W[i,k]"
    same Q-13 "input v from \"v.h5\"
X = matrix(trip, [$C])
A[n] = sum v[i] * X[n,i]"
    same Q-13 "X = matrix(select(trip, minutes > 60), [w, minutes, one = 1])
A[i,j] = sum X[n,i] * X[n,j]"
    sed -i 's/minutes > 60/w >= 0/; s/one = 1/start/' p.tra
    status 3 tra run -q p.tra
    has "column \`start\` is NULL"
    refuses Q-13 'or some are not f64, may be NULL'
}

@test "rules that are refused say which condition fails" {
    trips
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
        'J = join(trip, station, start == code, matched = left)' 'X = matrix(J, [one = 1, lat])' \
        'A[i,j] = sum X[n,i] * X[n,j]' 'output A to "a.h5"' >p.tra
    refuses Q-10 'a join checks that all rows are matched'
    sed -i 's/, matched = left/ \&\& w < lat/' p.tra
    refuses Q-10 'a join has further conditions on the pair'
}

@test "rules that are left out stay out of compiled plans, and names that are none are refused" {
    trips
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
        'J = join(trip, station, start == code)' 'X = matrix(J, [one = 1, lat])' \
        'A[i,j] = sum X[n,i] * X[n,j]' 'output A to "a.h5"' >p.tra
    status 0 tra compile -q --without Q-10,F5 p.tra -o p.plan
    status 0 tra run -q p.plan
    status 2 tra run -q --without Q-10 p.plan
    has "--without is fixed in the plan p.plan"
    status 2 tra run -q --without Q-99 p.tra
    has "there is no rule 'Q-99'"
}

@test "Q-6: columns that nobody reads are not read, in as many bytes as predicted" {
    trips
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
        'J = join(trip, station, start == code && w <= s_lat, prefix = "s_")' \
        'A = project(select(J, minutes > 40), s_code, km = s_lon * 2)' 'output A to "a.h5"' >p.tra
    status 0 tra run -q --without Q-6 p.tra
    status 0 mv a.h5 without.h5
    status 0 tra explain --operators p.tra
    has "input trip of start, minutes, w"
    has "input station of code, lat, lon"
    for sites in 1 3; do
        status 0 tra run -q --sites $sites --profile p.json p.tra
        status 0 tra diff a.h5 without.h5
        status 0 py '
p = json.load(open("p.json"))["plans"][0]
read = p["measured"]["disk_read_bytes"]
assert read == p["disk_read_bytes"] > 0, (read, p["disk_read_bytes"])'
    done
}

# narrow COLUMNS STATEMENTS: the table A, of which trip is read in these columns alone, with and without Q-6.
narrow() {
    printf 'input trip from "trip.h5"\n%s\noutput A to "a.h5"\n' "$2" >p.tra
    status 0 tra run -q --without Q-6 p.tra
    status 0 mv a.h5 without.h5
    status 0 tra explain --operators p.tra
    has "input trip of $1 "
    for sites in 1 2; do
        status 0 tra run -q --sites $sites p.tra
        status 0 tra diff a.h5 without.h5
    done
}

@test "Q-6: nor through orders, unions, and joins that are cut into slices" {
    trips
    tra import -q --table --block 300 trip.csv -o trip.h5
    narrow 'minutes, w' 'A = project(order(trip, [w desc, minutes]), m = minutes * 2)'
    narrow 'start, w' 'A = group(union(trip, select(trip, w > 0)), [start], v = sum(w))'
    narrow 'start, minutes, w' 'd = group(trip, [s = start % 7, m = minutes % 5], v = sum(w))
u = project(trip, s = start % 7, start, minutes, w, q = w * w)
J = join(u, d, s == s && minutes > p_m, prefix = "p_")
A = group(J, [minutes], v = sum(p_v))'
}

# same_table RULES STATEMENTS [RULE]: the table A with and without the rules; that rule shapes the plan.
same_table() {
    printf 'input trip from "trip.h5"\ninput station from "station.h5"\n%s\noutput A to "a.h5"\n' "$2" >p.tra
    tra run -q --without "$1" p.tra && mv a.h5 without.h5
    status 0 tra explain --operators --rules p.tra
    [ -z "${3-}" ] || has "$3: "
    for sites in $(also 3); do
        status 0 tra run -q --sites $sites p.tra
        status 0 tra diff a.h5 without.h5
    done
}

@test "Q-14: groups of a pass are made of its operand; rows that selections leave, NULLs, what cannot be computed" {
    trips
    tra import -q --table --block 2000 trip.csv -o trip.h5 # more rows than a strip
    same_table Q-14 'A = group(trip, [start, member], n = count(), s = sum(minutes), m = max(w))' Q-14
    same_table Q-14 'A = group(select(trip, minutes > 40), [member, q = start % 3], n = count(w), s = std(w * minutes), f = first(end))' Q-14
    same_table Q-14 'A = group(select(trip, minutes > 1000000), [member], s = sum(w))'
    same_table Q-14 'A = group(select(trip, isnull(w)), [], n = count(), s = sum(minutes), x = var(minutes))'
    printf 'input trip from "trip.h5"\nA = group(trip, [member], s = sum(9223372036854775807 - 40 + minutes))\noutput A\n' >p.tra
    status 3 tra run -q p.tra
    has 'could not be computed: an integer does not fit its type'
}

@test "Q-1, Q-2, Q-3, Q-7: selections go to the tables that they are of, in one pass with what is computed" {
    trips
    same_table Q-3,Q-2 'J = join(trip, station, start == code)
P = project(J, lat, twice = minutes * 2, kind, w)
A = select(P, twice > 30 && kind == "a" && w < lat)' Q-3
    same_table Q-3 'A = select(join(trip, station, start == code, how = left), minutes > 40 && isnull(lat))' Q-3
    same_table Q-3 'A = select(join(trip, station, start == code, how = anti), minutes > 40)'
    same_table Q-1 'A = select(select(trip, w > 1), minutes < 70)'
    same_table Q-7,Q-6 'A = project(project(trip, start, m = minutes + 1, end), k = m % 7, start)'
    same_table Q-2,Q-6 'A = select(project(trip, m = minutes - 3, w), m % 2 == 1)'
}

# product RULES STATEMENTS: as same_table, and explain shows the sparse product.
product() {
    same_table Q-11 "$1" Q-11
    run "$TRA" explain --operators p.tra
    has "sparse product"
}

@test "Q-6: joins have the columns that are read alone, their keys are done with: chains, several readers, no keys" {
    trips
    same_table Q-6 'J = join(trip, station, start == code)
A = group(project(J, lat, w), [lat], s = sum(w), n = count())'
    printf 'input trip from "trip.h5"\ninput station from "station.h5"\nA = order(project(join(trip, station, start == code), w, lat), [w])\noutput A\n' >p.tra
    status 0 tra explain --operators --format json p.tra
    has 'join(start == code) of w, lat'
    same_table Q-6 'A = project(join(join(trip, station, start == code), station, end == code, prefix = "b_"), x = lat - b_lat, w)' Q-6
    same_table Q-6 'J = join(trip, station, start == code, how = left)
K = join(project(J, kind, m = minutes), group(trip, [minutes], n = count()), m == minutes)
A = union(group(K, [kind], s = sum(n)), group(J, [kind], s = count(lat)))'
    same_table Q-6 'P = group(trip, [], n = count(), k = distinct(end), d = distinct(member))
A = group(P, [g = k div 2], c = count())'
    same_table Q-6 'A = project(select(cross(station, station, prefix = "b_"), lat < b_lat), kind, b_kind)'
}

@test "Q-11: joins that are summed are sparse products: keys there twice, unmatched or NULL, groups of NULLs, factors NULL" {
    trips 3000 256 9 $(seq 1 8) $(seq 1 8) $(seq 1 8) $(seq 1 8) $(seq 1 8) $(seq 1 8) # rows have several partners
    product 'A = group(join(trip, station, start == code), [end, kind], s = sum(w * lat), n = count(), m = mean(minutes))'
    product 'A = group(join(trip, station, start == code), [kind, end], s = sum(lat * minutes))'
    same_table Q-11 'A = group(join(trip, station, start == code), [], s = sum(lat * w), c = count(w * lon))'
    product 'A = group(join(trip, station, start == code, nulls = match), [member, end], s = sum(w * lon * 2))'
    product 'P = project(trip, start, to = end, w = if(w > 4, w, null), m = minutes % 7)
Q = project(trip, start, back = end, v = if(minutes > 50, minutes, null))
A = group(join(P, Q, start == start), [to, back], s = sum(w * v), t = sum(m * v), k = count(m * v), n = count())'
    same_table Q-11 'P = select(project(trip, start, end, w), w > 6)
A = group(join(P, P, start == start && end == end, prefix = "b_"), [w], s = sum(b_w))'
}

# So the choice of blocks is judged: of another cut of the left table only what is done once a block is more.
@test "Q-11: what a product is predicted to take grows with the blocks of the left table by the rows of the right one" {
    "$PYTHON" -c '
import random
r = random.Random(1)
for name, n in ("l", 8000), ("r", 4000):
    with open(name + ".csv", "w") as f:
        f.write(f"k,{name}g,{name}v\n")
        for _ in range(n): f.write(f"{r.randrange(400)},{r.randrange(50)},{r.random()}\n")'
    tra import -q --table --block 4000 r.csv -o r.h5
    for block in 8000 1000; do
        tra import -q --table --block $block l.csv -o l.h5
        printf '%s\n' 'input L from "l.h5"' 'input R from "r.h5"' \
            'G = group(join(L, R, k == k), [lg, rg], s = sum(lv * rv))' 'output G' >p.tra
        tra explain --format json p.tra >$block.json
    done
    py 'best = [json.load(open(f"{n}.json"))["plans"][0]["operators"] for n in (8000, 1000)]
flops = [next(o["flops"] for o in p if "sparse product" in o["label"]) for p in best]
pairs = 8000 * 4000 / 400
assert abs(flops[1] - flops[0] - 45 * 7 * 4000) < 100 and abs(flops[0] - 45 * 12000 - 40 * 4000 - 5 * pairs) < pairs / 4, flops'
}

@test "Q-11 against sqlite3: the product of two sparse matrices as tables, which have much or little in common" {
    for most in 40 600; do # of 600 values of k each row of the product has few of its columns
        "$PYTHON" - $most <<'EOF'
import random, sys
r = random.Random(9)
most = int(sys.argv[1])
for name, cols, a, b in ("a", "i,k,x", 40, most), ("b", "k,j,y", most, most):
    with open(name + ".csv", "w") as f:
        f.write(cols + "\n")
        for _ in range(900):
            f.write(f"{r.randint(0, a)},{r.randint(0, b)},{r.randint(-9, 9)}\n")
EOF
        for f in a b; do status 0 tra import -q --table --block 128 $f.csv -o $f.h5; done
        for keys in j,i i,j; do
            printf '%s\n' 'input a from "a.h5"' 'input b from "b.h5"' \
                "A = group(join(a, b, k == k), [$keys], s = sum(x * y), n = count())" 'output A to "c.h5"' >p.tra
            status 0 tra run -q --sites $((most == 40 ? 3 : 1)) p.tra
            status 0 tra export -q c.h5 -o c.csv
            status 0 "$PYTHON" - $keys <<'EOF'
import csv, sqlite3, sys
d = sqlite3.connect(":memory:")
for name in "ab":
    rows = list(csv.reader(open(name + ".csv")))
    d.execute(f"create table {name} ({', '.join(c + ' integer' for c in rows[0])})")
    d.executemany(f"insert into {name} values (?, ?, ?)", rows[1:])
want = d.execute(f"select {sys.argv[1]}, sum(x * y), count(*) from a join b on a.k = b.k group by 1, 2 order by 1, 2").fetchall()
assert [tuple(map(int, r)) for r in list(csv.reader(open("c.csv")))[1:]] == want
EOF
        done
    done
    sed -i 's/x \* y/x + y/' p.tra
    status 0 tra explain --operators --rules p.tra
    printf '%s\n' "$output" | tr -s ' \n' ' ' >flat
    status 0 grep -q 'Q-11 .*what is summed is no product of one factor from each table' flat
}

@test "Q-11: a product of whole numbers, or a sum, that does not fit is an error as without it" {
    printf 'i,k,x\n1,1,4000000000\n1,2,3\n' >a.csv
    printf 'k,j,y\n1,1,4000000000\n2,1,5\n3,1,9\n' >b.csv
    for i in {1..200}; do echo 2,4,$i >>a.csv; echo 4,2,$i >>b.csv; done # many pairs: a product is worth it
    for f in a b; do status 0 tra import -q --table $f.csv -o $f.h5; done
    printf '%s\n' 'input a from "a.h5"' 'input b from "b.h5"' \
        'A = group(join(a, b, k == k), [i, j], s = sum(x * y))' 'output A to "c.h5"' >p.tra
    status 0 tra explain --operators --rules p.tra
    has "Q-11: "
    for without in Q-11 Q-1; do
        status 3 tra run -q --without $without p.tra
        has "does not fit"
    done
    has "4000000000 * 4000000000; convert one of them"
    sed -i 's/4000000000/3000000000/' a.csv b.csv
    printf '2,1,3000000000\n' >>a.csv
    for f in a b; do status 0 tra import -q --table $f.csv -o $f.h5; done
    status 0 tra run -q p.tra
    is "$(printf 'i,j,s\n1,1,9000000000000000015\n2,1,9000000000000000000\n2,2,404010000')" tra head c.h5
    printf '1,1,3000000000\n' >>a.csv
    status 0 tra import -q --table a.csv -o a.h5
    status 3 tra run -q p.tra
    has "does not fit i64"
}

@test "Q-4: groups, and ordered or distinct rows, are selected before they are made, in one block and in parts" {
    trips
    same_table Q-4 'A = select(group(trip, [start, member], n = count(), s = sum(minutes), m = mean(w)),
    start > 3 && !isnull(member))' Q-4
    same_table Q-4 'A = select(group(trip, [start], m = median(minutes)), start > 3 && m > 40 || start == 1)'
    same_table Q-4 'A = select(group(station, [kind], m = median(code)), kind > "a" && m > 2)' Q-4
    same_table Q-4 'A = select(order(trip, [w desc, start]), start > 3)' Q-4
    same_table Q-4 'A = select(distinct(station, [code]), code > 3)'
    same_table Q-4 'A = select(distinct(trip, [start, minutes]), start > 3)' Q-4
    same_table Q-4 'A = select(group(trip, [w], n = count()), w > 3 && w < 3.5)' Q-4
    tra import -q --table --block 64 trip.csv -o trip.h5
    same_table Q-4 'A = select(group(trip, [start, minutes, w], n = count(), e = max(end)), start > 3 && minutes < 50)' Q-4
    same_table Q-4 'A = select(order(trip, [w desc, start]), start > 3 && w < 2)' Q-4
    sooner() { # the rows are selected before they are divided into parts
        same_table Q-4 "$1" Q-4
        for without in Q-4 Q-1; do "$TRA" explain --format json --without $without p.tra >$without.json; done
        status 0 py '
a, b = (json.load(open(f"{n}.json"))["plans"][0]["flops"] for n in ("Q-4", "Q-1"))
assert b < a * 0.75, (b, a)'
    }
    tra import -q --table --block 256 trip.csv -o trip.h5
    sooner 'A = select(distinct(trip, [start, w]), start > 3 && w < 4)'
    sooner 'A = select(group(trip, [start, member], m = median(minutes)), start > 3 && member == "yes" && m > 30)'
    sooner 'A = select(group(trip, [start], m = quantile(minutes, 0.3)), start > 5)'
}

@test "Q-8: of several tables those that drop rows are joined first, and rows stay in their order" {
    trips
    printf 'code,zone\n3,1\n5,2\n7,1\n' | tra import -q --table - -o few.h5
    few='input few from "few.h5"
'
    same_table Q-8 "${few}J = join(trip, station, start == code, prefix = \"s_\")
A = join(J, few, end == code, prefix = \"f_\")" Q-8
    same_table Q-8 "${few}J = join(trip, station, start == code, how = left, prefix = \"s_\")
A = join(J, few, end == code, how = semi)" Q-8
    same_table Q-8 "${few}J = join(project(trip, code = start, end, w), station, code == code)
A = join(J, few, end == code, how = anti)"
    same_table Q-8 'J = join(trip, station, start == code, prefix = "s_")
A = join(J, station, end == code, prefix = "e_")'
    status 0 tra explain --operators --rules p.tra
    has "Q-8 join"
    printf '%s\n' "$output" | tr -s ' \n' ' ' >flat
    status 0 grep -q 'rows may have several partners in both tables' flat
}

@test "Q-8: of three joins and more the one that leaves fewest rows comes first, past passes between them" {
    trips
    printf 'code,zone\n3,1\n5,2\n7,1\n' | tra import -q --table - -o few.h5
    printf 'code,band\n40,1\n41,2\n' | tra import -q --table - -o fewer.h5
    local in='input few from "few.h5"
input fewer from "fewer.h5"
'
    same_table Q-8 "${in}J = project(join(trip, station, start == code, prefix = \"s_\"), end, m = minutes, s_lat, w)
K = select(join(J, few, end == code, prefix = \"f_\"), f_zone == 1 || w < s_lat)
A = join(K, fewer, m == code, prefix = \"m_\")" Q-8
    run "$TRA" explain --operators p.tra
    is '0.minutes' sed -n '$p' <(grep -o 'join(`*0[.a-z]*' <<<"$output" | sed 's/.*[(`]//')
    same_table Q-8 "${in}J = join(trip, few, end == code, prefix = \"f_\", how = left)
K = join(J, station, f_zone == code, prefix = \"z_\", nulls = match)
A = join(K, fewer, minutes == code, how = semi)" Q-8
}

@test "the sides of a join that is summed are exchanged where that is cheaper, by whatever it is grouped" {
    trips 30000 4096 9
    { head -1 station.csv && tail -n +2 station.csv && printf 'NaN,1,2,\n,3,4,c\n'; } | sed 's/^NaN/77/' |
        tra import -q --table - -o station.h5
    local few
    for few in 'n = count(), lo = min(minutes), hi = max(kind)' 'n = count(kind), s = sum(minutes), f = any(member == "yes")'; do
        for keys in '' kind 'kind, member, m = minutes > 30' 'k = isnull(kind), up = minutes > lat'; do
            for nulls in '' ', nulls = match'; do
                printf 'input trip from "trip.h5"\ninput station from "station.h5"\n%s\noutput A to "a.h5"\n' \
                    "A = group(join(station, select(trip, w > 1), code == start$nulls), [$keys], $few)" >p.tra
                status 0 tra run -q --without Q-9,Q-11 p.tra
                mv a.h5 exchanged.h5
                sed 's/join(station, select(trip, w > 1), code == start/join(select(trip, w > 1), station, start == code/' p.tra >q.tra
                status 0 tra run -q --without Q-9,Q-11 q.tra
                status 0 tra diff a.h5 exchanged.h5
                status 0 tra explain --operators --without Q-9,Q-11 p.tra
                [ "$nulls" ] || has "join(start == code"
            done
        done
    done
    status 0 tra run -q --sites 3 --without Q-9,Q-11 p.tra
    status 0 tra diff a.h5 exchanged.h5
    # the order of rows is seen; the right table is the small one already; the join is no inner one
    for few in 'group(join(station, trip, code == start), [kind], m = first(minutes))' \
        'group(join(trip, station, start == code, prefix = "s_"), [member], n = count())' \
        'group(join(station, trip, code == start, how = left), [kind], n = count())'; do
        printf 'input trip from "trip.h5"\ninput station from "station.h5"\n%s\noutput A to "a.h5"\n' "A = $few" >p.tra
        status 0 tra explain --operators --without Q-9,Q-11 p.tra
        [ "${few/*join(station*/}" ] || lacks "join(start == code"
        [ "${few/*join(trip*/}" ] || lacks "join(code == start"
    done
}

@test "Q-9: rows are aggregated by the keys of the join before it, for keys that are absent, NULL, or there more than once" {
    trips
    for _ in {1..24}; do tail -n +2 station.csv; done >more.csv # many partners: it is worth it
    cat more.csv >>station.csv
    tra import -q --table station.csv -o station.h5
    by() { # by KEYS AGGREGATES HOW...
        same_float Q-9 "J = join(trip, station, start == code, how = $3, prefix = \"s_\"$4)
A = group(J, [$1], $2)"
    }
    same_float() {
        printf 'input trip from "trip.h5"\ninput station from "station.h5"\n%s\noutput A to "a.h5"\n' "$2" >p.tra
        tra run -q --without "$1" p.tra && mv a.h5 without.h5
        status 0 tra explain --operators p.tra
        has "after the join"
        printf '%s\n' "$output" >plan
        for sites in $(also 3); do
            status 0 tra run -q --sites $sites p.tra
            status 0 tra diff --rtol 1e-12 --atol 1e-12 a.h5 without.h5
        done
    }
    by start 'n = count(), c = count(member), s = sum(minutes), m = mean(w)' inner
    by s_lat 'v = var(minutes), lo = min(minutes), hi = max(w), d = std(w)' inner
    by 's_lat, s_lon, s_kind' 'v = var(w), n = count(), f = any(member == "yes"), g = all(w > 1)' left ', nulls = match'
    same_table Q-9 'A = group(join(trip, station, start == code, how = semi), [start], n = count(), s = sum(minutes))'
    for how in inner left "left, nulls = match"; do # what is aggregated is of both tables
        by 'start, s_kind' 'n = count(), c = count(s_lat), s = sum(minutes), m = mean(s_lon), v = var(s_lat), w = std(w)' "$how"
        status 0 grep -q "join of groups" plan
        by 'member, k = isnull(s_kind)' 'n = count(), lo = min(s_kind), hi = max(s_lat), x = max(start), m = mean(minutes)' "$how"
        status 0 grep -q "join of groups" plan
    done
    for how in inner left; do # products of columns of both tables
        by 'start, s_kind' 's = sum(w * s_lat), c = count(minutes * s_lat), m = mean((1 - w) * (2 * s_lat) * s_lon), n = count()' "$how"
        status 0 grep -q "join of groups" plan
    done
    by 'start' 's = sum(w * ifnull(s_lat, 7)), m = mean(w * if(isnull(s_kind), 2, s_lon)), c = count(w * ifnull(s_lat, 7))' left
    head -3 station.csv >one.csv
    tra import -q --table one.csv -o station.h5
    by 's_kind' 's = sum(minutes * s_lat), c = count(w * s_lon), m = mean(s_lat * w), k = max(w)' 'left, expect = "m:1"'
    status 0 grep -q ' before the join' plan
    tra import -q --table station.csv -o station.h5
    tra import -q --table --block 5000 trip.csv -o trip.h5
    by 's_lat, member' 'n = count(), v = var(minutes)' inner
    tra import -q --table --block 30 station.csv -o station.h5
    by 'member' 'n = count(), v = var(s_lon), s = sum(s_lat)' left
    status 0 grep -q "join of groups" plan
}

@test "Q-9: a key that many rows of both tables have makes no pairs of rows where these become groups" {
    "$PYTHON" -c '
n = 120000
for name, c in ("l", "x"), ("r", "y"):
    with open(name + ".csv", "w") as f:
        f.write(f"k,{c}\n" + "".join(f"{3 if i % 6 else i},{i % 11}\n" for i in range(n)))'
    for t in l r; do tra import -q --table $t.csv -o $t.h5; done
    printf 'input l from "l.h5"\ninput r from "r.h5"\n%s\noutput O to "o.h5"\n' \
        'O = select(group(join(l, r, k == k), [k], n = count(), x = sum(x), y = mean(y), m = max(y)), k == 3 || k == 66)' >p.tra
    for sites in 1 2; do
        status 0 tra run -q --memory 200M --sites $sites p.tra
        status 0 tra export -q --to csv o.h5 -o -
        is "$("$PYTHON" -c '
x = sum(i % 11 for i in range(120000) if i % 6)
print("k,n,x,y,m\n3,%d,%d,%r,10\n66,1,0,0,0" % (100000**2, x * 100000, x / 100000))')" cat <<<"$output"
    done
}

@test "Q-9: a sum of products of both tables is a product of sums, unless a factor may be infinite" {
    py 'import random
random.seed(5)
for name, n in ("l", 60000), ("r", 40000):
    with open(name + ".csv", "w") as f:
        f.write("k,v,i\n" + "".join(f"{random.choice((3, 3, i % 500))},{random.random():.3f},{random.randrange(-9, 999)}\n" for i in range(n)))'
    for t in l r; do tra import -q --table $t.csv -o $t.h5; done
    printf 'input l from "l.h5"\ninput r from "r.h5"\n%s\noutput O to "o.h5"\n' \
        'O = group(join(l, r, k == k, prefix = "p_"), [k], s = sum(v * p_v), m = mean(v * p_v), n = count(), t = sum(i * p_i))' >p.tra
    for sites in $(also 2); do
        status 0 tra run -q --memory 100M --sites $sites --profile p.json p.tra
        tra export -q --to csv o.h5 -o o.csv
        status 0 py 'import collections
t = [collections.defaultdict(lambda: [0, 0.0, 0]) for _ in "lr"]
for x, name in zip(t, "lr"):
    for line in list(open(name + ".csv"))[1:]:
        k, v, i = line.split(",")
        x[int(k)][0] += 1; x[int(k)][1] += float(v); x[int(k)][2] += int(i)
l, r = t
o = [line.split(",") for line in list(open("o.csv"))[1:]]
assert [int(k) for k, *_ in o] == sorted(l.keys() & r.keys())
for k, s, m, n, t in o:
    a, b = l[int(k)], r[int(k)]
    assert int(n) == a[0] * b[0] and int(t) == a[2] * b[2] and abs(float(s) / (a[1] * b[1]) - 1) < 1e-9 and abs(float(m) * int(n) / (a[1] * b[1]) - 1) < 1e-9'
        # 40000 times 27000 pairs have one key
        status 0 py 'o = json.load(open("p.json"))["plans"][0]["operators"]; assert max(x["measured"].get("rows", 0) for x in o) < 200000'
    done
    for value in inf 1e200; do # products of such values are infinite
        sed -i "2s/,.*,/,$value,/" l.csv
        tra import -q --table l.csv -o l.h5
        status 0 tra explain --operators --rules p.tra
        printf '%s\n' "$output" | tr -s ' \n' ' ' | grep -q 'Q-9 .*no product of a finite factor of each'
    done
}

@test "Q-9 is chosen where few groups are expected of many rows, and not where there are nearly as many" {
    trips
    "$PYTHON" -c '
print("start,n,minutes")
for i in range(60000): print(f"{i * 7 % 13 - 2},{i},{i % 90}")' | tra import -q --table - -o trip.h5
    for keys in 's_kind early' 'n,s_kind late'; do
        printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
            'J = join(trip, station, start == code, prefix = "s_")' \
            "A = group(J, [${keys% *}], n_ = count(), m = mean(minutes))" 'output A to "a.h5"' >p.tra
        status 0 tra explain --operators p.tra
        if [ "${keys#* }" = early ]; then has "before th"; else lacks "before th"; fi
        lacks " 0 of <="
    done
}

@test "Q-15: of groups that are joined by their keys those are made whose keys the other table has" {
    local few='F = select(station, lat > 20)
' how
    trips 12000 4096 900 4 4 7 # many groups: of few it is cheaper to make them all
    for how in inner left semi anti 'left, nulls = match'; do
        same_table Q-15 "${few}G = group(trip, [start, end], n = count(), lo = min(minutes), m = mean(minutes))
A = join(F, select(G, n > 1), code == start, how = $how)" Q-15
    done
    trips 3000 1000 9 4 4 7
    tra import -q --table --block 5000 trip.csv -o trip.h5
    same_table Q-15 "${few}G = group(trip, [member, start, end], n = count(), m = median(minutes))
A = join(F, project(G, e = end, s = start, n = n * 0.5, m), code == s && code == e)" Q-15
    same_table Q-15 "${few}J = join(trip, F, start == code)
G = group(trip, [start], hi = max(minutes))
A = select(join(J, G, start == start), minutes == hi)"
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' "${few}G = group(trip, [start], n = count())" \
        'A = join(F, G, code == n)' 'output A to "a.h5"' >p.tra
    status 0 tra explain --rules p.tra
    printf '%s\n' "$output" | tr -s ' \n' ' ' >flat
    status 0 grep -q 'Q-15 join(.*a key of the join is an aggregate' flat
}

@test "Q-12: blocks of which no row can be selected are not read, in as many bytes as predicted" {
    "$PYTHON" -c '
with open("trip.csv", "w") as f:
    f.write("day,n,x,word,z,y\n")
    for i in range(4000):
        x = "NaN" if i % 1000 == 999 else "" if 2000 <= i < 2250 or i % 9 == 0 else -0.0 if i < 250 else i / 8
        y = "NaN" if i == 300 else 1.5
        word = ("a", "b", "c", "d")[i // 1000] if i % 7 else ""
        f.write(f"20{10 + i // 500:02}-03-{1 + i % 28:02},{i},{x},{word},{i % 5},{y}\n")
'
    status 0 tra import -q --table --block 250 trip.csv -o trip.h5
    printf 'code\n1\n' | tra import -q --table - -o station.h5
    kept() { # kept BLOCKS PREDICATE: the rows are those of all blocks, of which so many are read
        same_table Q-12 "A = select(trip, $2)"
        run "$TRA" explain --operators p.tra
        if (($1 < 16)); then has "input trip $1 of 16 blocks"; else lacks "of 16 blocks"; fi
        status 0 tra run -q --profile p.json p.tra
        status 0 py '
p = json.load(open("p.json"))["plans"][0]
read = p["measured"]["disk_read_bytes"]
assert read == p["disk_read_bytes"] and p["disk_read_bytes_kind"] == "exact", (read, p["disk_read_bytes"])'
    }
    kept 2 'n >= 1000 && n < 1500'
    kept 1 'n == 3999'
    kept 1 'n >= 3999'
    kept 1 'y != 1.5'
    kept 0 'n > 4000 || n < 0'
    kept 4 'day >= date "2012-01-01" && day < date "2014-01-01"'
    kept 2 'year(day) == 2012'
    kept 4 'word == "c"'
    kept 8 'word == "c" || word == "a"'
    kept 8 '!(word < "c")'
    kept 1 'x < 0.0 || x == 0.0 && n < 4000 && n < 250'
    kept 15 '!isnull(x)'
    kept 14 'x != x'
    kept 16 'n * n > 9000000000000000000 || n > 100'
    kept 16 'z == 3'
    kept 3 'n - 5 > 3 && n < 700'
    # what the statistics say no longer holds where they are damaged: they are not believed
    status 0 tra run -q p.tra
    status 0 mv a.h5 whole.h5
    status 0 py '
with h5py.File("trip.h5", "a") as f: f[".tra/data/blocks"][1, 0, 0] = 100'
    same_table Q-12 'A = select(trip, n - 5 > 3 && n < 700)'
    run "$TRA" explain --operators p.tra
    lacks "of 16 blocks"
    status 0 tra diff a.h5 whole.h5
    # outputs know their blocks too
    status 0 tra import -q --table --block 250 trip.csv -o trip.h5
    printf 'input trip from "trip.h5"\noutput o = order(trip, [z]) to "o.h5"\n' | sed 's/output o = \(.*\) to/o = \1\noutput o to/' >o.tra
    status 0 tra run -q --sites 2 o.tra
    printf 'input o from "o.h5"\nA = select(o, z == 0)\noutput A to "a.h5"\n' >p.tra
    status 0 tra explain --operators p.tra
    has "input o 2 of "
}

@test "a profile has the rows of each table that was counted beside those expected, with their factor" {
    trips
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
        'J = join(trip, station, start == code)' 'A = group(J, [end], n = count(), v = var(w))' \
        'output J to "j.h5"' 'output A to "a.h5"' >p.tra
    for sites in 1 3; do
        status 0 tra run -q --without Q-9 --sites $sites --profile p.json p.tra
        status 0 py '
p = json.load(open("p.json"))["plans"][0]
rows = {o["name"]: o for o in p["operators"] if "q_error" in o["measured"]}
for name, file in ("J", "j.h5"), ("A", "a.h5"):
    o, true = rows[name], int(h5py.File(file)["data"].attrs["tra_shape"][0])
    assert o["measured"]["rows"] == true, (name, o["measured"]["rows"], true)
    assert abs(o["measured"]["q_error"] - max(true / o["rows"], o["rows"] / true)) < 1e-9
    assert o["rows_kind"] == "estimate" and o["rows_bound"] >= true
assert rows["J"]["measured"]["q_error"] < 1.01, "the frequencies of both keys are known"'
        status 0 tra explain --operators --analyze p.json --without Q-9 --sites $sites p.tra
        has "at most      counted       factor"
        grep -qE 'J +[0-9e+.]+ +[0-9e+.]+ +[0-9]+ +1$' <<<"$output"
    done
}

@test "groups over a join of a table in several blocks add states up, whatever rules make them" {
    awk 'BEGIN { print "k,i"; for (n = 0; n < 4000; n++) print "k" n % 5 "," n % 10 }' >t.csv
    printf 'k,nm\nk0,a\nk1,b\nk1,c\nk4,b\n' >u.csv
    tra import -q --table --block 1000 t.csv -o t.h5
    tra import -q --table --header u.csv -o u.h5
    while IFS='|' read -r aggregates want; do
        printf '%s\n' 'input t from "t.h5"' 'input u from "u.h5"' 'J = join(t, u, k == k)' "G = group(J, $aggregates)" \
            'output G' >p.tra
        for sites in $(also 3); do
            for without in "" Q-9 Q-11 Q-9,Q-11; do
                # shellcheck disable=SC2086
                status 0 tra run -q --sites $sites ${without:+--without $without} p.tra
                is "$want" eval "tra export -q G.h5 -o - --to csv | xargs"
            done
        done
    done <<'END2'
[nm], n = count()|nm,n a,800 b,1600 c,800
[nm], n = count(), s = sum(i), x = max(i)|nm,n,s,x a,800,2000,5 b,1600,8000,9 c,800,2800,6
[], n = count()|n 3200
[], n = count(), s = sum(i), m = mean(i), x = min(i)|n,s,m,x 3200,12800,4,0
END2
}

@test "what is known of one table of a union, or of an outer join, is not known of its rows" {
    awk 'BEGIN { print "k,v"; for (n = 1; n < 4; n++) print "1," n }' >a.csv
    awk 'BEGIN { print "k,v"; for (n = 2; n <= 50; n++) print n "," n }' >b.csv
    for f in a b; do tra import -q --table $f.csv -o $f.h5; done
    for u in 'union(a, b)' 'union(b, a)' 'join(a, project(b, k, v), k == k, how = outer, prefix = "b_")'; do
        printf '%s\n' 'input a from "a.h5"' 'input b from "b.h5"' "U = $u" 'G = group(U, [k], n = count())' 'output G' >p.tra
        status 0 tra run -q p.tra
        is 51 eval "tra export -q G.h5 -o - --to csv | wc -l"
    done
}

@test "pairs of a join are expected by the commonest values of its keys, where not all are known" {
    awk 'BEGIN { print "k,c,x"; for (i = 0; i < 82000; i++) print (i < 2000 ? 7 : i) "," i % 3 "," i % 5 }' >l.csv
    awk 'BEGIN { print "k,y"; for (i = 0; i < 70; i++) print i ",1" }' >d.csv
    for f in l d; do tra import -q --table --block 100000 $f.csv -o $f.h5; done
    printf '%s\n' 'input l from "l.h5"' 'input d from "d.h5"' 'J = join(l, l, k == k, prefix = "b_")' \
        'G = group(J, [c, b_c], s = sum(x * b_x))' 'output G' 'A = join(l, d, k == k)' 'B = join(d, l, k == k)' \
        'output A' 'output B' >p.tra
    status 0 tra explain --operators p.tra
    has "sparse product"
    has "join A join(k == k)"
    is 2 eval 'grep -c "join [AB] .* 20[67][0-9] of <= " <<<"$output"'
    status 0 tra explain --operators --without Q-9,Q-11 p.tra
    has "4.08e6 of <="
}

@test "groups of a left join, by a column of the right table, with an aggregate that nobody reads" {
    for ((i = 0; i < 60; i++)); do echo "$((i % 9)),$i"; done | sed '1i n,m' >l.csv
    printf 'k,s,f\n1,a,true\n2,b,false\n3,,\n4,zz,true\n' >r.csv
    for t in l r; do tra import -q --table --block 3 $t.csv -o $t.h5; done
    cat >p.tra <<'END'
input L from "l.h5"
input R from "r.h5"
J = join(L, R, n == k, how = left, prefix = "r_")
G = group(J, [s = r_s], c = count(), d = distinct(r_f))
P = project(G, s, c)
output P
END
    status 0 tra run -q p.tra
    is "s,c a,7 b,7 zz,7 ,39" eval "tra export -q P.h5 -o - --to csv | xargs"
}

@test "of columns of more values than statistics list, rows below a bound are expected by the bounds of equal shares" {
    py 'print("n,q")
for i in range(160000): print(f"{i},{(i * 7919 % 160000) ** 2}")' | tra import -q --table --block 40000 - -o t.h5
    while read -r rows predicate; do
        printf 'input t from "t.h5"\nA = select(t, %s)\noutput A\n' "$predicate" >p.tra
        status 0 tra check p.tra
        about=$(sed -n 's/^A: table of about \([0-9]*\) of .*/\1/p' <<<"$output")
        ((about >= rows - rows / 100 - 1 && about <= rows + rows / 100)) || { echo "$predicate: $about, not $rows"; return 1; }
    done <<'END2'
80000 q < 6400000000
80000 q >= 6400000000
60000 q > 1600000000 && n < 80000
1 q == 49
159999 q != 49
0 q < -5
END2
}

@test "predicates on a string or what stands in place of NULL are expected by how often codes are there" {
    py 'print("n,s,f")
for i in range(4000): print(f"{i},{[chr(97 + i % 5), str()][i % 4 == 0]},{i % 10 == 0}")' |
        tra import -q --table --block 1000 - -o t.h5
    while read -r rows predicate; do
        printf 'input t from "t.h5"\nA = select(t, %s)\noutput A\n' "$predicate" >p.tra
        status 0 tra check p.tra
        about=$(sed -n 's/^A: table of about \([0-9]*\) of .*/\1/p' <<<"$output")
        ((about >= rows - 80 && about <= rows + 80)) || { echo "$predicate: $about, not $rows"; return 1; }
    done <<'END2'
3400 ifnull(s, "z") != "b"
1000 ifnull(s, "z") == "z"
1600 ifnull(s, "a") == "a"
2800 if(n < 2000, s, "q") != "a" && n < 3600
END2
}

@test "a projection that leaves the columns that are read as they are is no operator" {
    py 'print("a,b,c")
for i in range(3000): print(i * 7 % 100, i * 13 % 71, i, sep=",")' >t.csv
    tra import -q t.csv -o t.h5 --block 500
    cat >a.tra <<'END'
input t from "t.h5"
y = project(t, a, b)
A = order(y, [b, a])
B = group(y, [a], s = sum(b))
output A
output B
END
    status 0 tra explain --operators a.tra; lacks "transform y"
    as_reference a.tra A.h5 B.h5
    sed -i 's/a, b)/a = b, b = a)/' a.tra # not under their own names
    status 0 tra explain --operators a.tra; has "transform y"
    as_reference a.tra A.h5 B.h5
    printf 'input t from "t.h5"\nA = project(t, a, b, c)\noutput A\n' >a.tra
    as_reference a.tra A.h5
    is "a b c" py 'print(*h5py.File("A.h5")["data"].attrs["column-order"])'
}
