#!/bin/sh
# Authors and conferences: a table of counts becomes a sparse matrix, its covariance a table again, which is joined with
# the ranks of the conferences.
# usage: dblp.sh [FOLDER FOR THE RESULTS]; AUTHORS (3000), CONFERENCES (60), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
awk -v authors="${AUTHORS:-3000}" -v conferences="${CONFERENCES:-60}" -v ranking=ranking.csv -f "$here/data.awk" >papers.csv
"$tra" import -q --table papers.csv -o papers.h5
"$tra" import -q --table --header ranking.csv -o ranking.h5

run dblp.tra
"$tra" head top.h5
echo "The covariance is C.h5 in $work."
