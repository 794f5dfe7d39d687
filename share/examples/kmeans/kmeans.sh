#!/bin/sh
# Ten clusters of the digits, from the first ten images, until no centre moves.
# usage: kmeans.sh [FOLDER FOR THE RESULTS]; STEPS (100) bounds the steps, SITES (1) spreads them
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" import -q --block 300x64 -o x.h5 "$here/../digits/pixels.csv"
head -n 10 "$here/../digits/pixels.csv" | "$tra" import -q --from csv --block 10x64 -o centres.h5 -

run kmeans.tra -D steps="${STEPS:-100}"
value log.h5 | awk -F, 'NR > 1 { print "step " NR - 1 ": sum of squares " $(NF - 1) ", centres moved " $NF }'
echo "The centres are centres.h5 in $work."
