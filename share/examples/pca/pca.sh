#!/bin/sh
# The first principal components of the digits, by power iteration and deflation.
# usage: pca.sh [FOLDER FOR THE RESULTS]; COMPONENTS (3) to find, SITES (1) to spread it on
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" import -q --block 300x32 -o x.h5 "$here/../digits/pixels.csv"
run covariance.tra

component=1
while [ $component -le "${COMPONENTS:-3}" ]; do
    "$tra" gen -q --shape 64 --block 32 --dist normal --seed 1 -o v.h5
    change=1 steps=0
    while awk -v c="$change" 'BEGIN { exit !(c > 1e-24) }' && [ $steps -lt 100 ]; do
        run step.tra
        change=$(value change.h5) steps=$((steps + 1))
    done
    run deflate.tra
    cp v.h5 "component$component.h5"
    echo "component $component: variance $(value variance.h5), after $steps steps"
    component=$((component + 1))
done
echo "The directions are component1.h5, ... in $work."
