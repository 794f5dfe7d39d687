#!/bin/sh
# Kinds of customers: k-means on columns of a table, and the table of what each kind is like.
# usage: segments.sh [FOLDER FOR THE RESULTS]; CUSTOMERS (2000), STEPS (50), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
. "$here/data.inc"
printf 'age,buys,spent\n-1,1,-1\n0,0,0\n1,-1,1\n' | "$tra" import -q --from csv -o centres.h5 -

run segments.tra -D steps="${STEPS:-50}"
value log.h5 | awk -F, 'NR > 1 { print "step " NR - 1 ": sum of squares " $(NF - 1) ", centres moved " $NF }'
"$tra" head segments.h5
echo "The kinds are segments.h5 in $work."
