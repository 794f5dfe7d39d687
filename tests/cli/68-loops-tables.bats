# The counter of a loop in expressions over columns.
load helper

@test "the counter in select, project, group and matrix is the turn, on 1 and 3 sites, and by the reference evaluator" {
    py 'r = np.random.default_rng(1); np.savetxt("t.csv", np.column_stack([r.integers(0, 12, 200), r.integers(0, 99, 200) + 2**40]), fmt="%d", delimiter=",", header="a,b", comments="")'
    printf '%s\n' 'input t from "t.csv"' 'param k = 2' 'state S = project(t, a, b)' 'repeat 5 as i {' \
        '  next S = project(select(S, a != i && a < 20 - i), *, b = b + i * a - k)' \
        '  g = group(S, [p = (a + i) % 3], s = sum(b * i))' '  m = matrix(g, [s, p, i2 = i * 2])' '  v[] = sum m[r,c]' \
        '  n[] = rows(S)' '  trace log(v, n)' '}' 'output S' 'output log' >p.tra
    sed -i 's/  n\[\] = rows(S)/  n = rows(S)/' p.tra
    for how in "--sites 1" "--sites 3" "--engine reference"; do
        status 0 tra run -q $how p.tra
        tra export -q S.h5 -o S.csv
        tra export -q log.h5 -o log.csv
        py '
t = np.loadtxt("t.csv", delimiter=",", skiprows=1, dtype=np.int64); log = []
a, b = t.T
for i in range(5):
    p = (a + i) % 3
    log.append((i, sum(int((b * i)[p == q].sum()) + q + 2 * i for q in set(p)), len(a)))
    keep = (a != i) & (a < 20 - i); a, b = a[keep], b[keep]; b = b + i * a - 2
np.testing.assert_array_equal(np.loadtxt("S.csv", delimiter=",", skiprows=1, dtype=np.int64), np.column_stack([a, b]))
np.testing.assert_array_equal(np.loadtxt("log.csv", delimiter=",", skiprows=1), log)
'
    done
}

@test "a column of the counter's name wins; where the counter cannot stand the message says where it can" {
    printf 'i,b\n7,1\n0,2\n' >t.csv
    [ "$(tra eval 'state S = project(t, *)
repeat 2 as i { next S = select(S, i == 7) }
S' t.csv)" = $'i,b\n7,1' ]
    status 2 tra eval 'state S = project(t, *)
repeat 2 as j { next S = limit(S, j + 1) }
S' t.csv
    has "a number of rows is the same in all turns: the turn counter 'j' cannot stand here"
    has 'select(W, r <= t)'
    status 2 tra eval 'state S = gen(1, [3])
repeat 2 as j { next S = gen(uniform, [3], seed = j) }
S'
    has "a seed is the same in all turns: the turn counter 'j' cannot stand here"
}

@test "the counters of two loops in the conditions of joins, windows, distinct, order and pivot" {
    py 'r = np.random.default_rng(2); n = 60
np.savetxt("t.csv", np.column_stack([np.arange(n) + 2**33, r.integers(0, 99, n) + 2**40]), fmt="%d", delimiter=",", header="a,b", comments="")
np.savetxt("u.csv", np.column_stack([np.arange(9), r.integers(0, 9, 9)]), fmt="%d", delimiter=",", header="k,w", comments="")'
    body='  J{x} = join({S}, u, a % 8 == k - {t}, how = left)
  K{x} = join({S}, u, k == {t} && b % 7 >= w + {u})
  A{x} = join({S}, u, a % 9 == k + {t} - {u} && w > {t}, how = anti)
  W{x} = window({S}, [a % ({t} + 2)], [b * ({u} - {t}) desc, a], r = row_number(), s = sum(b * {t}))
  D{x} = order(distinct(W{x}, [r % ({t} + 3), a % 13], order = [a * {t} desc, b], keep = first), [b + {t}])
  P{x} = pivot({S}, [g = a % ({t} + 2)], m = b % 3, a * {u}, sum, values = [0, 1, 2])
  n{x} = rows(J{x})
  c{x} = sum(matrix(K{x}, [m = a + b]))
  p{x} = sum(matrix(project(P{x}, *, x = g), [x]))
  U{x} = limit(union(project(select(A{x}, a % 5 != {t}), a, b), project(D{x}, a, b = b + s % 11 + r)), 60)'
    at() { sed -e "s/{x}/$1/g" -e "s/{S}/$2/g" -e "s/{t}/$3/g" -e "s/{u}/$4/g" <<<"$body"; }
    {
        printf '%s\n' 'input t from "t.csv"' 'input u from "u.csv"' 'state S = project(t, a, b)' 'state v = gen(0, [])' 'repeat 2 as i {' 'state R = S' 'state y = v' 'repeat 2 as j {'
        at '' R i j
        printf '%s\n' 'next R = U' 'next y = y + n + c + p' '}' 'next S = R' 'next v = y' '}' 'output S to "S.h5"' 'output v'
    } >loop.tra
    {
        printf '%s\n' 'input t from "t.csv"' 'input u from "u.csv"' 'S = project(t, a, b)'
        at 1 S 0 0
        at 2 U1 0 1
        at 3 U2 1 0
        at 4 U3 1 1
        printf '%s\n' 'v = n1 + c1 + p1 + n2 + c2 + p2 + n3 + c3 + p3 + n4 + c4 + p4' 'output U4 to "S.h5"' 'output v'
    } >written.tra
    status 0 tra run -q written.tra
    tra export -q S.h5 -o want.csv
    [ "$(wc -l <want.csv)" -gt 9 ]
    v=$(tra head v.h5)
    for how in "--sites 1" "--sites 3" "--engine reference"; do
        status 0 tra run -q $how loop.tra
        tra export -q S.h5 -o S.csv
        status 0 cmp S.csv want.csv
        is "$v" tra head v.h5
    done
}

@test "a profile has the turns of each loop, what the first took, and the mean of the others" {
    cat >p.tra <<'END'
X = gen(normal, [300, 300], by = [100, 300], seed = 1)
state a = gen(uniform, [300], by = [100], seed = 2)
repeat 7 as t {
    state b[i] = a[i]
    repeat 3 { next b[i] = tanh(sum[j](X[i,j] * b[j])) }
    n = norm(b)
    next a[i] = b[i] / n[]
} until n < 0
output a
END
    for sites in 1 3; do
        status 0 tra run -q --sites $sites --profile p.json p.tra
        py '
d = json.load(open("p.json"))["plans"][0]["loops"]
assert [(l["turns"], l["measured"]["turns"], l["converged"]) for l in d] == [(7, 7, False), (3, 21, True)], d
assert all(l["measured"][k]["seconds"] > 0 and l["measured"][k]["disk_read_bytes"] >= 0 for l in d for k in ("first", "others"))
assert (d[0]["measured"]["others"]["sent_bytes"] > 0) == (sys.argv[1] == "3")
' $sites
    done
}

@test "a table state takes fewer rows, and strings by other codes; a string that it cannot hold is named" {
    printf 'a,s\n1,x\n2,y\n3,z\n4,x\n' >t.csv
    printf 'k,u\n1,z\n3,y\n' >u.csv
    loop() { printf 'input t from "t.csv"\ninput u from "u.csv"\nstate S = %s\nrepeat 3 as i {\n    next S = %s\n}\noutput S to "S.csv"\n' "$1" "$2" >p.tra; }
    gives() { # ROWS FIRST NEXT
        loop "$2" "$3"
        for how in "--sites 1" "--sites 2" "--engine reference"; do
            status 0 tra run -q $how p.tra
            is "$(printf "$1")" cat S.csv
        done
    }
    gives 'a,s\n1,x\n2,y\n' 'project(t, a, s)' 'limit(S, 2)'
    gives 'a,s\n4,x\n3,z\n' 'project(t, a, s)' 'limit(order(S, [a desc]), 2)'
    gives 'a,s\n1,z\n3,y\n' 'project(t, a, s)' 'project(u, a = k, s = u)'
    gives 'a,s\n1,new\n2,new\n3,z\n4,x\n' 'project(t, a, s = if(false, "new", s))' 'project(S, a, s = if(a == i, "new", s))'
    gives 's,n\nx,2\ny,1\nz,1\n' 'project(t, s, n = 0 * a)' 'project(group(t, [s], m = count()), s, n = m)'
    loop 'project(t, a, s)' 'project(S, a, s = if(a == i, "new", s))'
    status 2 tra check p.tra
    has 's may become "new", which it is never before the loop; there, s = if(false, "new", s) says that it may'
    has 'p.tra:3:7: note: the state'
}
