#!/bin/sh
# A chain of sparse layers: rows of activations go through layers of 2 % of their weights; what stays below a threshold
# becomes 0, so that activations stay sparse.
# usage: layers.sh [FOLDER FOR THE RESULTS]; LAYERS (6), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
layers=${LAYERS:-6}
"$tra" gen -q --shape 2000x1024 --block 500x1024 --density 0.05 --dist uniform --seed 1 --storage csr -o y0.h5
"$tra" gen -q --shape $((layers * 1024))x1024 --density 0.02 --dist uniform --seed 2 --storage csr -o w.h5
run layers.tra -D layers="$layers"
"$tra" head log.h5
echo "The activations are y.h5, and how many there are in each layer log.h5, in $work."
