#!/bin/sh
# A report that ends as CSV: two tables joined, grouped, ordered.
# usage: report.sh [FOLDER FOR THE RESULTS]; CUSTOMERS (2000), SITES (1)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
. "$here/data.inc"
run report.tra
"$tra" export -q report.h5 -o report.csv --to csv
cat report.csv
echo "The report is report.csv in $work."
