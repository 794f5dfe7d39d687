# Rule Q-10: sums of products of matrices whose rows are joined, by groups; and where an array lies beside these rows:
# X'v and X' diag(w) X, alone and with other sums of one pass.
load helper
load trips

# alike STATEMENTS OUTPUTS: these with and without Q-10, which shapes the plan, on 1 and 3 ranks.
alike() {
    local o
    { printf 'input trip from "trip.h5"\ninput station from "station.h5"\n%s\n' "$1"; printf 'output %s\n' $2; } >p.tra
    tra run -q --without Q-10 p.tra
    for o in $2; do mv $o.h5 $o.without.h5; done
    status 0 tra explain --operators --rules p.tra
    has "Q-10: "
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        for o in $2; do status 0 tra diff --rtol 1e-11 $o.h5 $o.without.h5; done
    done
}

# labels N TEXT: so many operators of the chosen plan of p.tra have that in their label.
labels() {
    tra explain --format json p.tra >p.json
    is "$1" "$PYTHON" -c '
import json, sys
print(sum(sys.argv[1] in o["label"] for o in json.load(open("p.json"))["plans"][0]["operators"]))' "$2"
}

# passes N: so many passes over rows make sums of groups.
passes() { labels "$1" "transform sums of "; }

@test "Q-10: X' diag(w) X of joined rows, with X'v and X'X of the same pass, on one and two foreign keys" {
    trips 30000 8192 3
    local J='J = join(trip, station, start == code)' V='V = matrix(J, [minutes])
p[n] = sum exp(V[n,c] / 50)'
    alike "$J
X = matrix(J, [one = 1, $(many lat lon)lat, minutes, w])
$V
G[i,j] = sum p[n] * X[n,i] * X[n,j]" G
    passes 1
    alike "$J
X = matrix(J, [one = 1, $(many lat lon)lat, minutes, w])
$V
q[n] = p[n] * (1 - p[n])
g[i] = sum X[n,i] * p[n]
G[i,j] = sum X[n,i] * q[n] * X[n,j]
C[i,j] = sum X[n,i] * X[n,j]
y[i,c] = sum p[n] * X[n,i] * V[n,c]
s[i] = sum X[n,i]" "g G C y s"
    passes 1
    alike "J = join(join(trip, station, start == code, prefix = \"a_\", how = left, nulls = match), station, end == code)
K = select(J, minutes > 3 && a_lat != lat)
X = matrix(K, [one = 1, $(many a_lat lat a_lon lon)km = hypot(a_lat - lat, a_lon - lon), minutes], fill = 2)
Y = matrix(K, [w, minutes, lon], fill = 1)
p[n] = sum exp(Y[n,c] / 50)
G[i,j] = sum p[n] * X[n,i] * X[n,j]
H[i,j] = sum p[n] * Y[n,j] * X[n,i]
D[i,j] = sum X[n,i] / (1 + p[n]) * X[n,j]
E[i,j] = sum X[n,i] * (1 / p[n]) * Y[n,j]" "G H D E"
    labels 4 " sums over groups: "
}

@test "Q-10: an array that is computed of a sum over the rows is not summed together with it" {
    trips 12000 1024 3
    alike "J = join(trip, station, start == code)
X = matrix(J, [one = 1, $(many lat lon)minutes, w])
V = matrix(J, [m = minutes / 7])
C[i,j] = sum X[n,i] * X[n,j]
h[] = sum log(C[i,j]^2 + 1)
t[n] = sum 1 / (V[n,c] + h[])
g[i] = sum X[n,i] * t[n]
G[i,j] = sum X[n,i] * t[n] * X[n,j]
k[] = sum G[i,j]
u[n] = sum V[n,c] * k[]
z[i] = sum X[n,i] * u[n]" "C g G z"
    passes 3
}

@test "Q-10: what is infinite in a joined table times weights of both signs is NaN, as row by row" {
    trips 12000 1024 3
    alike "S = project(station, code, lat, up = 1 / lat, none = 0 / lat, lon)
J = join(trip, S, start == code)
X = matrix(J, [one = 1, $(many lat lon)up, none, minutes, m = minutes - 45])
V = matrix(J, [w])
p[n] = sum (V[n,c] - 2.5)
q[n] = sum exp(V[n,c])
G[i,j] = sum p[n] * X[n,i] * X[n,j]
H[i,j] = sum q[n] * X[n,i] * X[n,j]
D[i,j] = sum X[n,i] * X[n,j] / p[n]
g[i] = sum X[n,i] * p[n]" "G H D g"
}

@test "Q-10 says why rows that are weighed are not summed by groups" {
    trips 12000 1024 3 4 4 7
    while IFS='|' read -r p why; do
        printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
            'J = join(trip, station, start == code)' 'X = matrix(J, [one = 1, lat, minutes])' 'V = matrix(J, [w])' \
            "${p//; /$'\n'}" 'output G' >p.tra
        status 0 tra explain --operators --rules p.tra
        printf '%s\n' "$output" | tr -s ' \n' ' ' >flat
        grep -q "Q-10 agg(.*$why" flat
        status 0 tra run -q p.tra
        mv G.h5 G.with.h5
        status 0 tra run -q --without Q-10 p.tra
        status 0 tra diff --rtol 1e-11 G.h5 G.with.h5
    done <<'END2'
p[n] = sum exp(V[n,c]); G[i,j] = sum p[n] * X[n,i] * X[n,j]|a key may be there twice in a joined table
A[n,c] = exp(V[n,c]); p[n] = sum A[n,c]; G[i,k] = sum X[n,i] / p[n] * A[n,k]|with an array that is no matrix of them
END2
}

@test "Q-10: X'X of joined rows by sums over groups, for keys that are absent, there more than once, or NULL" {
    trips
    same Q-10 'J = join(trip, station, start == code)
X = matrix(J, [one = 1, lat, lon, minutes, w])
A[i,j] = sum X[n,i] * X[n,j]
J2 = join(join(trip, station, start == code, prefix = "a_"), station, end == code, prefix = "b_")
K2 = select(J2, a_lat != b_lat && minutes > 3 && a_kind == "a")
P2 = project(K2, km = hypot(a_lat - b_lat, a_lon - b_lon), minutes, w, start)
X2 = matrix(P2, [one = 1, km, start], fill = 1)
Y2 = matrix(P2, [minutes, w, km])
B[i,j] = sum X2[n,i] * Y2[n,j]
J3 = join(trip, station, start == code, how = left, nulls = match)
X3 = matrix(J3, [one = 1, lat, b = if(member == "yes", 1, 0), minutes], fill = 3)
C[i,j] = sum X3[n,i] * X3[n,j]
J4 = join(select(trip, w > 1), select(station, kind == "a"), start == code, how = semi)
X4 = matrix(J4, [start, minutes, w], fill = 1)
D[i,j] = sum X4[n,i] * X4[n,j]' A B C D
}

@test "Q-10: what is infinite or NaN in one table and of both signs in the other is what it is row by row" {
    trips
    local J='S = project(station, code, lat, up = 1 / lat, down = -1 / (lat - 1), none = 0 / lat, big = exp(lat * 40))
J = join(trip, S, start == code, how = left)
'
    for j in J 'select(J, minutes > 1)' 'select(J, end != 3)'; do
        same Q-10 "${J}K = $j
X = matrix(K, [one = 1, $(many lat)up, down, none, big, lat, sin = sin(up)], fill = 2)
Y = matrix(K, [a = minutes - 45, c = w + 0.5, e = if(minutes == 7, 1 / (w - w), w), f = -minutes - 1])
A[i,j] = sum X[n,i] * Y[n,j]
X2 = matrix(K, [one = 1, $(many lat)up, down, big, m = minutes - 45], fill = 2)
B[i,j] = sum X2[n,i] * X2[n,j]
X3 = matrix(K, [$(many lat)up, down, big, none, w, lat], fill = 2)
C[i] = sum X3[n,i]" A B C
    done
}

@test "Q-10 numbers the values of keys that lie far from each other, by the statistics of their file" {
    trips
    for f in trip station; do
        "$PYTHON" -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
far = {"start", "end", "code"} & set(rows[0])
for r in rows[1:]:
    for c in far:
        i = rows[0].index(c)
        if r[i]: r[i] = int(r[i]) * 10007 - 4
csv.writer(open(sys.argv[1], "w"), lineterminator="\n").writerows(rows)' $f.csv
        status 0 tra import -q --table --block 256 $f.csv -o $f.h5
    done
    same Q-10 'J = join(join(trip, station, start == code, prefix = "a_"), station, end == code, prefix = "b_")
X = matrix(J, [one = 1, km = hypot(a_lat - b_lat, a_lon - b_lon), minutes, w])
A[i,j] = sum X[n,i] * X[n,j]
J2 = join(trip, station, start == code, how = left, nulls = match)
X2 = matrix(J2, [one = 1, lat, minutes, start], fill = 3)
B[i,j] = sum X2[n,i] * X2[n,j]' A B
    run tra explain --format json p.tra
    has "sums of 15 + NUL"
}

@test "Q-10 against numpy, with the sums of the rows themselves" {
    trips
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
        'J = join(trip, station, start == code)' 'X = matrix(J, [one = 1, lat, minutes])' \
        'A[i,j] = sum X[n,i] * X[n,j]' 'output A to "a.h5"' >p.tra
    status 0 tra run -q p.tra
    status 0 tra export -q a.h5 -o a.npy
    status 0 "$PYTHON" -c '
import csv, numpy as np
s = [(int(r["code"]), float(r["lat"])) for r in csv.DictReader(open("station.csv"))]
x = np.array([(1, lat, float(r["minutes"])) for r in csv.DictReader(open("trip.csv")) if r["start"]
              for code, lat in s if code == int(r["start"])])
assert np.allclose(x.T @ x, np.load("a.npy"), rtol=1e-12, atol=0)'
}

@test "Q-10: sums of columns and rows of a matrix of joined rows, and its products with weights" {
    trips
    local J='J = join(join(trip, station, start == code, prefix = "a_"), station, end == code)
P = select(J, minutes > 3 && a_lat != lat)' X
    X="X = matrix(P, [$(many a_lat lat)lat, km = hypot(a_lat - lat, a_lon - lon), minutes, w])"
    tra gen -q --shape 22x3 --block 22x3 --seed 1 -o w.h5
    tra gen -q --shape 22 --block 22 --seed 1 -o v.h5
    same Q-10 "J1 = join(trip, station, start == code)
X1 = matrix(J1, [$(many lat)lat, minutes, w])
A[i] = sum X1[n,i]
J2 = join(trip, station, start == code, how = left)
X2 = matrix(J2, [$(many lat)lat, minutes, w], fill = 2)
B[] = sum X2[n,i]" A B
    same Q-10 "$J
$X
A[n] = sum X[n,i]"
    same Q-10 "input W from \"w.h5\"
$J
$X
A[n,k] = sum X[n,i] * W[i,k]"
    same Q-10 "input W from \"v.h5\"
$J
$X
A[n] = sum W[i] * X[n,i]"
}

@test "Q-10: the product of a matrix of joined rows, transposed, with an array beside it, where keys are there once" {
    trips
    local A='A[i] = sum X[n,i] * s[n]'
    tail -n +2 station.csv | sort -u -t , -k 1,1 | { echo code,lat,lon,kind; cat; } >once.csv
    tra import -q --table once.csv -o station.h5
    same Q-10 "J = join(trip, station, start == code)
X = matrix(J, [$(many lat lon)m2 = sin(lat), m3 = cos(lat), m4 = log(lat + 1), m5 = sqrt(lat), m6 = atan(lon), lat, minutes, w])
Y = matrix(J, [minutes])
s[n] = sum exp(Y[n,k] / 10)
$A"
    same Q-10 "J = join(join(trip, station, end == code, how = semi), station, start == code, how = left, nulls = match)
P = select(J, lat != 4 || minutes > 30)
X = matrix(P, [$(many lat lon)$(many lat lon | sed 's/x\(l\)/s\1/g; s/exp/sin/g')lat, minutes, w], fill = 2)
Y = matrix(P, [minutes, w])
s[n,k] = sqrt(Y[n,k])
A[i,k] = sum X[n,i] * s[n,k]"
    trips
    refuses Q-10 'a key may be there twice in a joined table'
    sed -i 's/X\[n,i\] \* s\[n,k\]/X[n,i]/; s/A\[i,k\]/A[n]/' p.tra
    refuses Q-10 'rows may be unmatched'
}

@test "Q-10 adds whole numbers of known ranges in one word for each group" {
    trips
    sed 's/,minutes,/,late,minutes,/; t; s/^\([^,]*,[^,]*,\)\([0-9]*\)/\1-1\2,\2/' trip.csv >late.csv
    status 0 tra import -q --table --block 256 late.csv -o trip.h5
    same Q-10 'J = join(trip, station, start == code)
X = matrix(J, [one = 1, lat])
Y = matrix(J, [minutes, late])
A[i,j] = sum X[n,i] * Y[n,j]'
    run tra explain --format json p.tra
    has "groups in words of 0 + 19 bits, -190 + 20 bits"
}

@test "Q-10: many groups are joined in blocks, with the words of each, or with sums of f64" {
    "$PYTHON" -c '
import random
r = random.Random(7)
with open("trip.csv", "w") as f:
    f.write("start,end,minutes,w\n")
    for i in range(80000):
        f.write(f"{r.randint(0, 299)},{r.randint(0, 299)},{r.randint(-9, 90)},{r.randint(0, 40) / 8}\n")
with open("station.csv", "w") as f:
    f.write("code,lat,kind\n")
    for i in range(290): f.write(f"{i},{i * 7 % 31 / 8},a\n")'
    tra import -q --table --block 16384 trip.csv -o trip.h5
    tra import -q --table station.csv -o station.h5
    local v J='J = join(join(trip, station, start == code, prefix = "a_"), station, end == code, prefix = "b_")'
    for v in minutes w; do
        same Q-10 "$J
X = matrix(J, [one = 1, $(many a_lat b_lat)d = a_lat * b_lat])
Y = matrix(J, [$v])
A[i,j] = sum X[n,i] * Y[n,j]"
        run tra explain --operators p.tra
        has "tile dimension 0 by 16384"
    done
    # words are added by each worker to a sum of its own, as far as memory goes
    sed -i 's/Y = .*/Y = matrix(J, [minutes])/' p.tra
    status 0 tra run -q --threads 1 p.tra
    mv a.h5 one.h5
    for v in 2 3 5; do
        status 0 tra run -q --threads $v p.tra
        status 0 tra diff a.h5 one.h5
    done
    v=$(tra run --threads 3 --memory 1M p.tra 2>&1 | sed 's/.*--memory \([0-9]*M\).*/\1/')
    status 0 tra run -q --threads 3 --memory "$v" p.tra
    status 0 tra diff --rtol 1e-12 a.h5 one.h5
}

@test "Q-10: X'X and X'y of the same rows are sums over the same groups, in one pass over the rows" {
    trips
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
        'J = join(select(trip, w > 1), station, start == code)' 'X = matrix(J, [one = 1, lat, w])' \
        'y = matrix(J, [minutes])' 'XX[i,j] = sum X[n,i] * X[n,j]' 'Xy[i,j] = sum X[n,i] * y[n,j]' \
        'output XX' 'output Xy' >p.tra
    status 0 tra explain --operators p.tra
    is 1 grep -c "transform [A-Za-z ]*sums of [0-9]" <<<"$output"
    status 0 tra run -q --without Q-10 p.tra
    for f in XX Xy; do mv $f.h5 $f.without.h5; done
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        for f in XX Xy; do status 0 tra diff --rtol 1e-12 $f.h5 $f.without.h5; done
    done
}

@test "Q-10: columns that are products of a factor of each table are sums over groups, as numpy has them" {
    trips
    same Q-10 "J = join(join(trip, station, start == code, prefix = \"a_\"), station, end == code, prefix = \"b_\")
K = select(J, a_lat != b_lat)
X = matrix(K, [one = 1, $(many a_lat)i = w * a_lat * b_lon, q = 2 * a_lat * (w + minutes), l = end * a_lat])
Y = matrix(K, [minutes, up = (w - 2) / 2 * (1 / a_lat), none = (w - 2) * (0 / a_lat)])
A[i,j] = sum X[n,i] * Y[n,j]"
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' 'J = join(trip, station, start == code)' \
        "X = matrix(J, [one = 1, $(many lat)i = w * lat, j = lon * minutes])" 'A[i,j] = sum X[n,i] * X[n,j]' \
        'output A to "a.h5"' >p.tra
    status 0 tra explain --operators p.tra
    has "sums of"
    status 0 tra run -q p.tra
    status 0 py '
import csv
s = [(int(r["code"]), float(r["lat"]), float(r["lon"])) for r in csv.DictReader(open("station.csv"))]
x = np.array([(1, lat * float(r["w"]), lon * float(r["minutes"])) for r in csv.DictReader(open("trip.csv")) if r["start"]
              for code, lat, lon in s if code == int(r["start"])])
a = h5py.File("a.h5")["data"][()]
at = [0, 10, 11]
assert np.allclose(x.T @ x, a[np.ix_(at, at)], rtol=1e-12, atol=0)'
    # any other map of columns of both is not
    printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' 'J = join(trip, station, start == code)' \
        'X = matrix(J, [one = 1, i = w + lat])' 'A[i,j] = sum X[n,i] * X[n,j]' 'output A to "a.h5"' >p.tra
    refuses Q-10 'the values of w, .* is no product of one factor of each'
}
