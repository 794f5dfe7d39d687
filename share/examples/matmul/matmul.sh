#!/bin/sh
# The three shapes of products of the TRA paper, each extent a hundredth: their plans, and runs.
# usage: matmul.sh [FOLDER FOR THE RESULTS]; the variable SITES (2) says on how many sites
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
SITES=${SITES:-2}

product() { # NAME I K J BLOCKS
    "$tra" gen -q --shape "$2x$3" --block "$(($2 / 10))x$(($3 / 10))" --dist normal --seed 1 -o "$1-a.h5"
    "$tra" gen -q --shape "$3x$4" --block "$(($3 / 10))x$(($4 / 10))" --dist normal --seed 2 -o "$1-b.h5"
    printf '%s: %s x %s by %s x %s\n' "$1" "$2" "$3" "$3" "$4"
    "$tra" cost matmul.tra --sites "$SITES" --cost tra -D A="$1-a.h5" -D B="$1-b.h5" | cut -f 1,2,4
    run matmul.tra --cost tra -D A="$1-a.h5" -D B="$1-b.h5"
    mv c.h5 "$1-c.h5"
}
product square 400 400 400
product inner 100 6400 100
product outer 800 100 800
echo "The products are in $work."
