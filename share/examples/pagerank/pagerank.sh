#!/bin/sh
# PageRank of the packages of Debian 12, linked to those that they depend on: a graph of 63666 vertices and 245087 edges
# that is stored as csr, in which a step looks at the edges alone.
# usage: pagerank.sh [FOLDER FOR THE RESULTS]; STEPS (100) bounds the steps, SITES (1) spreads them
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
zcat "$here/packages.txt.gz" >packages.txt
"$tra" import -q --storage csr --block 16384x16384 -o links.h5 "$here/depends.mtx.gz"
run pagerank.tra -D steps="${STEPS:-100}"
value log.h5 | awk -F, 'END { print NR - 1 " steps, last change " $NF }'
value rank.h5 | paste - packages.txt | sort -rg | head -n 5
echo "The ranks are rank.h5 in $work."
