#!/bin/sh
# diag(X + Y), written in two ways.
# usage: diag.sh [FOLDER FOR THE RESULTS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" gen -q --shape 1000x1000 --block 90x90 --seed 1 -o x.h5
"$tra" gen -q --shape 1000x1000 --block 90x90 --seed 2 -o y.h5
run diag.tra
run einsum.tra
"$tra" diff d.h5 d-einsum.h5
echo "The diagonal is d.h5 in $work."
