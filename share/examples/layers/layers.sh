#!/bin/sh
# A chain of sparse layers: rows of activations go through layers of 2 % of their weights; what stays below a threshold
# becomes 0, so that activations stay sparse.
# usage: layers.sh [FOLDER FOR THE RESULTS]; LAYERS (6), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" gen -q --shape 2000x1024 --block 500x1024 --density 0.05 --dist uniform --seed 1 --storage csr -o y0.h5
layer=1
while [ $layer -le "${LAYERS:-6}" ]; do
    "$tra" gen -q --shape 1024x1024 --density 0.02 --dist uniform --seed $((layer + 1)) --storage csr -o w$layer.h5
    run layer.tra -D Y=y$((layer - 1)).h5 -D W=w$layer.h5
    mv z.h5 y$layer.h5
    echo "layer $layer: $("$tra" info y$layer.h5 | grep entries)"
    layer=$((layer + 1))
done
echo "The activations are y1.h5 to y$((layer - 1)).h5 in $work."
