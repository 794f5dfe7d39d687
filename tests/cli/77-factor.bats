# Rule Q-10 where an array lies beside the rows of joins: X'v and X' diag(w) X, alone and with other sums of one pass.
load helper

# Trips between stations: stations that are there twice, or not at all, NULLs among keys, and NaN among measurements.
trips() {
    "$PYTHON" -c '
import random
r = random.Random(5)
import sys
twice = len(sys.argv) > 1
kind = "ab"
member = ["yes", "no", ""]
with open("trip.csv", "w") as f:
    f.write("start,end,minutes,member,w\n")
    for i in range(12000):
        start = "" if r.random() < .05 else r.randint(-2, 12)
        f.write(f"{start},{r.randint(1, 3)},{r.randint(0, 90)},{member[i % 3]},{r.randint(0, 40) / 8}\n")
with open("station.csv", "w") as f:
    f.write("code,lat,lon,kind\n")
    for i in list(range(-2, 11)) + ([4, 4, 7] if twice else []):
        f.write(f"{i},{i * i / 4},{(i * 7 % 5) / 8},{kind[i % 2]}\n")
' "$@"
    tra import -q --table --block 1024 trip.csv -o trip.h5
    tra import -q --table station.csv -o station.h5
}

# same STATEMENTS OUTPUTS: these with and without Q-10, which shapes the plan, on 1 and 3 ranks.
same() {
    local o
    { printf 'input trip from "trip.h5"\ninput station from "station.h5"\n%s\n' "$1"; printf 'output %s\n' $2; } >p.tra
    tra run -q --without Q-10 p.tra
    for o in $2; do mv $o.h5 $o.without.h5; done
    status 0 tra explain --rules p.tra
    has "Q-10: "
    for sites in 1 3; do
        status 0 tra run -q --sites $sites p.tra
        for o in $2; do status 0 tra diff --rtol 1e-11 $o.h5 $o.without.h5; done
    done
}

# passes N: so many passes over rows make sums of groups.
passes() {
    tra explain --format json p.tra >p.json
    # of the chosen plan alone, once each
    is "$1" "$PYTHON" -c '
import json, sys
plan = json.load(open("p.json"))["plans"][0]
print(sum(o["label"].startswith("transform sums of ") for o in plan["operators"]))'
}

# many COLUMN...: so many columns of a joined table that it is worth while to add them up there.
many() {
    local c i
    for c; do for i in 1 2 3 4 5 6 7 8 9; do printf '%s%d = exp(%s / %d), ' "x$c" $i "$c" $((i + 8)); done; done
}

@test "Q-10: X' diag(w) X of joined rows, with X'v and X'X of the same pass, on one and two foreign keys" {
    trips
    local J='J = join(trip, station, start == code)' V='V = matrix(J, [minutes])
p[n] = sum exp(V[n,c] / 50)'
    same "$J
X = matrix(J, [one = 1, $(many lat lon)lat, minutes, w])
$V
G[i,j] = sum p[n] * X[n,i] * X[n,j]" G
    passes 1
    same "$J
X = matrix(J, [one = 1, $(many lat lon)lat, minutes, w])
$V
q[n] = p[n] * (1 - p[n])
g[i] = sum X[n,i] * p[n]
G[i,j] = sum X[n,i] * q[n] * X[n,j]
C[i,j] = sum X[n,i] * X[n,j]
y[i,c] = sum p[n] * X[n,i] * V[n,c]
s[i] = sum X[n,i]" "g G C y s"
    passes 1
    same "J = join(join(trip, station, start == code, prefix = \"a_\", how = left, nulls = match), station, end == code)
K = select(J, minutes > 3 && a_lat != lat)
X = matrix(K, [one = 1, $(many a_lat lat a_lon lon)km = hypot(a_lat - lat, a_lon - lon), minutes], fill = 2)
Y = matrix(K, [w, minutes, lon], fill = 1)
p[n] = sum exp(Y[n,c] / 50)
G[i,j] = sum p[n] * X[n,i] * X[n,j]
H[i,j] = sum p[n] * Y[n,j] * X[n,i]" "G H"
}

@test "Q-10: an array that is computed of a sum over the rows is not summed together with it" {
    trips
    same "J = join(trip, station, start == code)
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
    trips
    same "S = project(station, code, lat, up = 1 / lat, none = 0 / lat, lon)
J = join(trip, S, start == code)
X = matrix(J, [one = 1, $(many lat lon)up, none, minutes, m = minutes - 45])
V = matrix(J, [w])
p[n] = sum V[n,c] - 2.5
q[n] = sum exp(V[n,c])
G[i,j] = sum p[n] * X[n,i] * X[n,j]
H[i,j] = sum q[n] * X[n,i] * X[n,j]
g[i] = sum X[n,i] * p[n]" "G H g"
}

@test "Q-10 says why rows that are weighed are not summed by groups" {
    trips twice
    while IFS='|' read -r p why; do
        printf '%s\n' 'input trip from "trip.h5"' 'input station from "station.h5"' \
            'J = join(trip, station, start == code)' 'X = matrix(J, [one = 1, lat, minutes])' 'V = matrix(J, [w])' \
            "$p" 'G[i,j] = sum p[n] * X[n,i] * X[n,j]' 'output G' >p.tra
        status 0 tra explain --rules p.tra
        printf '%s\n' "$output" | tr -s ' \n' ' ' >flat
        grep -q "Q-10 agg(.*$why" flat
        status 0 tra run -q p.tra
        mv G.h5 G.with.h5
        status 0 tra run -q --without Q-10 p.tra
        status 0 tra diff --rtol 1e-11 G.h5 G.with.h5
    done <<'END2'
p[n] = sum exp(V[n,c])|a key may be there twice in a joined table: rows of one group differ in what lies beside them
END2
}
