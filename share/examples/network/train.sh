#!/bin/sh
# Trains a network with 64 hidden units on handwritten digits in batches, and tests it on rows held out.
# usage: train.sh [FOLDER FOR THE RESULTS]; EPOCHS (25) and BATCHES (14, all) shorten it, SITES (1) spreads it
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"

rows() { awk -v rest="$1" '(NR % 6 == 0) == rest' "$here/../digits/$2.csv"; } # every sixth row is held out
for file in pixels labels; do
    case $file in pixels) wide=64 ;; labels) wide=1 ;; esac
    rows 0 $file | "$tra" import -q --from csv --block "107x$wide" -o $file.h5 -
    rows 1 $file | "$tra" import -q --from csv --block "107x$wide" -o held-$file.h5 -
done
"$tra" gen -q --shape 10 --dist range -o digit.h5
"$tra" gen -q --shape 64x64 --block 64x32 --dist normal --seed 1 -o w0.h5
"$tra" gen -q --shape 64x10 --block 32x10 --dist normal --seed 2 -o v0.h5
run network.tra -D epochs="${EPOCHS:-25}" -D batches="${BATCHES:-14}"
value log.h5 | awk -F, 'NR > 1 { print "epoch " NR - 1 ": accuracy " $NF }'
echo "The weights are w.h5 and v.h5 in $work."
