#!/bin/sh
# Nearest neighbour among random rows, in a random metric B B'.
# usage: nearest.sh [FOLDER FOR THE RESULTS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" gen -q --shape 1x60 --block 1x20 --dist normal --seed 1 -o q.h5
"$tra" gen -q --shape 5000x60 --block 1000x20 --dist normal --seed 2 -o x.h5
"$tra" gen -q --shape 60x60 --block 20x20 --dist normal --seed 3 -o b.h5
cat >metric.tra <<'EOF'
input B from "b.h5"
M[i,j] = sum B[i,k] * B[j,k]
output M to "m.h5"
EOF
run metric.tra
run nearest.tra
run einsum.tra
"$tra" diff best.h5 best-einsum.h5 --rtol 1e-12
echo "distance and row: $(value best.h5 | tr '\n' ' ')"
echo "They are best.h5 in $work."
