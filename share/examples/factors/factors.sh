#!/bin/sh
# Nonnegative factors (CP) of a sparse tensor of three dimensions: which package of Debian's section science refers to
# which package, and how (1 Depends, 2 Recommends, 3 Suggests). Each step is three MTTKRPs.
# usage: factors.sh [FOLDER FOR THE RESULTS]; STEPS (20), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" import -q --storage csf --shape 1654x3116x3 --block 512x1024x3 -o t.h5 "$here/references.tns.gz"
"$tra" gen -q --shape 1654x4 --block 512x4 --dist uniform --seed 1 -o a.h5
"$tra" gen -q --shape 3116x4 --block 1024x4 --dist uniform --seed 2 -o b.h5
"$tra" gen -q --shape 3x4 --dist uniform --seed 3 -o c.h5
run factors.tra -D steps="${STEPS:-20}"
value log.h5 | awk -F, 'END { print NR - 1 " steps; what is left of the squared norm: " $NF }'
for r in 1 2 3 4; do
    echo "factor $r: $(value b.h5 | cut -d, -f$r | paste - "$here/to.txt" | sort -rg | head -n 5 | cut -f2 | paste -sd' ' -)"
done
echo "The factors are a.h5, b.h5 and c.h5 in $work."
