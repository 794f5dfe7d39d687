#!/bin/sh
# PageRank of the packages of Debian 12, linked to those that they depend on: a graph of 63666 vertices and 245087 edges
# that is stored as csr, in which a step looks at the edges alone.
# usage: pagerank.sh [FOLDER FOR THE RESULTS]; STEPS (100) bounds the steps, SITES (1) spreads them
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
zcat "$here/packages.txt.gz" >packages.txt
n=$(wc -l <packages.txt)
"$tra" import -q --storage csr --block 16384x16384 -o links.h5 "$here/depends.mtx.gz"
awk -v n="$n" 'BEGIN { for (i = 0; i < n; i++) printf "%.17g\n", 1 / n }' |
    "$tra" import -q --from csv --no-header --block 16384x1 -o column.h5 -
cat >begin.tra <<'EOF2'
input c from "column.h5"
r[i] = sum c[i,u]
output r to "rank.h5"
EOF2
run begin.tra

step=1
while [ $step -le "${STEPS:-100}" ]; do
    run step.tra -D n="$n"
    change=$(value change.h5)
    awk -v c="$change" 'BEGIN { exit !(c < 1e-10) }' && break
    step=$((step + 1))
done
echo "$step steps, last change $change"
value rank.h5 | paste - packages.txt | sort -rg | head -n 5
echo "The ranks are rank.h5 in $work."
