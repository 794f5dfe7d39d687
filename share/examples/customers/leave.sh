#!/bin/sh
# Who leaves? A logistic regression on joined tables: Newton's method, whose loop is this script's.
# usage: leave.sh [FOLDER FOR THE RESULTS]; CUSTOMERS (2000), STEPS (20), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
. "$here/data.inc"
printf '0\n0\n0\n0\n' | "$tra" import -q --from csv -o w.h5 -

step=1
while [ $step -le "${STEPS:-20}" ]; do
    run newton.tra
    moved=$(value moved.h5)
    echo "step $step: loss $(value loss.h5), moved $moved"
    if awk -v m="$moved" 'BEGIN { exit !(m < 1e-9) }'; then break; fi
    step=$((step + 1))
done
echo "The coefficients are w.h5 in $work."
