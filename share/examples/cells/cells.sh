#!/bin/sh
# Statistics of cells x genes from an .h5ad file that is read in place: counts and genes of each cell, mean and variance
# of each gene, and the genes that vary most for their mean.
# usage: cells.sh [FOLDER FOR THE RESULTS]; SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
cp "$here/cells.h5ad" .
run cells.tra
echo "counts of the first cells: $(value depth.h5 | sed -n '2,6p' | paste -sd' ' -)"
echo "genes that vary most for their mean:"
value dispersion.h5 | tail -n +2 | sort -t, -k2 -rg | head -n 5
echo "The statistics are depth.h5, found.h5, mean.h5, variance.h5 and dispersion.h5 in $work."
