#!/bin/sh
# PageRank of this manual: its pages, linked where one refers to another.
# usage: pagerank.sh [FOLDER FOR THE RESULTS]; STEPS (100) bounds the steps, SITES (1) spreads them
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
n=$(wc -l <"$here/pages.txt")
"$tra" import -q --storage dense --block 8x8 -o links.h5 "$here/links.mtx"
awk -v n="$n" 'BEGIN { for (i = 0; i < n; i++) print 1 / n }' | "$tra" import -q --from csv -o column.h5 -
cat >begin.tra <<'EOF'
input c from "column.h5"
r[i] = sum c[i,u]
output r to "rank.h5"
EOF
run begin.tra

step=1
while [ $step -le "${STEPS:-100}" ]; do
    run step.tra -D n="$n"
    change=$(value change.h5)
    awk -v c="$change" 'BEGIN { exit !(c < 1e-10) }' && break
    step=$((step + 1))
done
echo "$step steps, last change $change"
value rank.h5 | paste - "$here/pages.txt" | sort -rg | head -n 5
echo "The ranks are rank.h5 in $work."
