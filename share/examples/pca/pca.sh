#!/bin/sh
# The first principal components of the digits, by power iteration and deflation.
# usage: pca.sh [FOLDER FOR THE RESULTS]; COMPONENTS (3) to find, SITES (1) to spread it on
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
"$tra" import -q --block 300x32 -o x.h5 "$here/../digits/pixels.csv"
run pca.tra -D components="${COMPONENTS:-3}"
value log.h5 | awk -F, 'NR > 1 { print "component " NR - 1 ": variance " $NF }'
echo "The directions are components.h5 in $work."
