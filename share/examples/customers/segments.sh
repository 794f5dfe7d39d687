#!/bin/sh
# Kinds of customers: k-means on columns of a table, and the table of what each kind is like.
# usage: segments.sh [FOLDER FOR THE RESULTS]; CUSTOMERS (2000), STEPS (50), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
. "$here/data.inc"
printf 'age,buys,spent\n-1,1,-1\n0,0,0\n1,-1,1\n' | "$tra" import -q --from csv -o centres.h5 -

step=1
while [ $step -le "${STEPS:-50}" ]; do
    run step.tra
    moved=$(value moved.h5)
    echo "step $step: sum of squares $(value error.h5), centres moved $moved"
    [ "$moved" != 0 ] || break
    step=$((step + 1))
done
"$tra" head segments.h5
echo "The kinds are segments.h5 in $work."
