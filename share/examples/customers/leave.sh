#!/bin/sh
# Who leaves? A logistic regression on joined tables: Newton's method.
# usage: leave.sh [FOLDER FOR THE RESULTS]; CUSTOMERS (2000), STEPS (20), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
. "$here/data.inc"
run leave.tra -D steps="${STEPS:-20}"
value log.h5 | awk -F, 'NR > 1 { print "step " NR - 1 ": loss " $(NF - 1) ", moved " $NF }'
echo "The coefficients are w.h5 in $work."
