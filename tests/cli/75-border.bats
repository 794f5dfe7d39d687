# Across the border between tables and tensors: matrices back as tables, labels that come with them.
load helper

table() {
    printf 'city,a,b,c\nX,1,2.5,7\nY,3,4,8\nX,5,6,9\nZ,7,8.5,1\n' >t.csv
    tra import -q t.csv -o t.h5
}

# program SITES TEXT: runs it on so many sites.
program() {
    printf '%s\n' "$2" >p.tra
    status 0 tra run -q --sites "$1" p.tra
}

@test "the covariance of columns comes back as a table that says which columns, and joins with others" {
    table
    printf 'column,unit\na,m\nc,kg\n' >units.csv
    status 0 tra import -q units.csv -o units.h5
    for sites in 1 3; do
        program $sites 'input t from "t.h5"
input units from "units.h5"
M = matrix(t, [a, b, c])
C[i,j] = sum M[n,i] * M[n,j]
E = project(join(entries(C), units, i == column), drop(column))
W = table(C)
output E to "e.h5"
output W to "w.h5"'
        is "$(printf 'i,j,value,unit\na,a,84,m\na,b,104,m\na,c,83,m\nc,a,83,kg\nc,b,112,kg\nc,c,195,kg')" tra head e.h5
        is "$(printf 'i,a,b,c\na,84,104,83\nb,104,130.5,112\nc,83,112,195')" tra head w.h5
    done
}

@test "entries of tensors of every rank are their elements with positions, whatever their blocks" {
    "$PYTHON" -c '
import numpy as np
np.save("s.npy", np.array(2.5))
np.save("v.npy", np.arange(7) * 1.5)
np.save("m.npy", np.arange(30).reshape(5, 6))
np.save("k.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))'
    for x in "s 0 -" "v 1 3" "m 2 2x4" "k 3 2x2x3"; do
        set -- $x
        block=()
        [ "$3" = - ] || block=(--block "$3")
        status 0 tra import -q "${block[@]}" "$1.npy" -o "$1.h5"
        for sites in 1 3; do
            program $sites "input X from \"$1.h5\"
E = entries(X)
output E to \"e.h5\""
            status 0 tra export -q e.h5 -o e.csv
            status 0 "$PYTHON" -c '
import csv, sys, numpy as np
x = np.load(sys.argv[1] + ".npy")
rows = list(csv.reader(open("e.csv")))
assert rows[0] == [f"i{d}" for d in range(x.ndim)] + ["value"], rows[0]
want = [[str(i) for i in at] + [float(v)] for at, v in np.ndenumerate(x)]
assert [r[:-1] + [float(r[-1])] for r in rows[1:]] == want, rows' "$1"
        done
    done
}

@test "of what is sparse by type entries are those elements that are not 0, stored zeros are none" {
    "$PYTHON" -c '
import scipy.sparse as sp, scipy.io as io
a = sp.random(40, 70, density=0.03, random_state=1, format="coo")
a.data[:5] = 0
io.mmwrite("a.mtx", a)'
    status 0 tra import -q --storage csr --block 16x30 a.mtx -o a.h5
    for sites in 1 3; do
        program $sites 'input A from "a.h5"
B[i,j] = A[i,j] * 2
E = entries(B)
N = rows(E)
output E to "e.h5"
output N to "n.h5"'
        status 0 tra export -q e.h5 -o e.csv
        status 0 "$PYTHON" -c '
import csv, numpy as np, scipy.io as io
a = np.asarray(io.mmread("a.mtx").todense()) * 2
rows = list(csv.reader(open("e.csv")))
want = [(i, j, a[i, j]) for i in range(40) for j in range(70) if a[i, j] != 0]
assert rows[0] == ["i", "j", "value"], rows[0]
assert [(int(r[0]), int(r[1]), float(r[2])) for r in rows[1:]] == want'
    done
}

@test "a matrix of rows that only the run counts becomes a table again, which makes a matrix again" {
    table
    program 2 'input t from "t.h5"
S = select(t, a > 1)
T = table(matrix(S, [a, d = b * 2]))
M = matrix(T, [d])
N = matrix(S, [b])
D[i,j] = sum M[n,i] * N[n,j]
output T to "t2.h5"
output D to "d.h5"'
    is "$(printf 'a,d\n3,8\n5,12\n7,17')" tra head t2.h5
    is "$(printf '248.5')" tra head d.h5
}

@test "labels pass through solve, and two orders of columns in one label are an error that names the first" {
    table
    program 1 'input t from "t.h5"
X = matrix(t, [a, b])
y = matrix(t, [c])
XX[i,j] = sum X[n,i] * X[n,j]
Xy[i,k] = sum X[n,i] * y[n,k]
T = table(solve(XX, Xy))
output T to "beta.h5"'
    status 0 tra export -q beta.h5 -o beta.csv
    is "$(printf 'column\na\nb')" cut -d, -f1 beta.csv
    is c sh -c 'head -n 1 beta.csv | cut -d, -f2'
    printf '%s\n' 'input t from "t.h5"' 'A = matrix(t, [a, b])' 'B = matrix(t, [b, a])' \
        'C[n,i] = A[n,i] + B[n,i]' 'output C to "c.h5"' >p.tra
    status 2 tra check p.tra
    [[ $output == *"label 'i' stands for different things: position 0 is 'a' in A, 'b' in B"* ]]
}

@test "what is no table, or too wide a one, is refused with what to do" {
    table
    printf '%s\n' 'input t from "t.h5"' 'E = entries(t)' 'output E to "e.h5"' >p.tra
    status 2 tra check p.tra
    [[ $output == *"this is a table already"* ]]
    status 0 tra gen -q --shape 2x3x4 --seed 1 -o k.h5
    printf '%s\n' 'input X from "k.h5"' 'E = table(X)' 'output E to "e.h5"' >p.tra
    status 2 tra check p.tra
    [[ $output == *"not a tensor of rank 3"* ]]
}
