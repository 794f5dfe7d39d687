#!/bin/sh
# Trips between bicycle stations: two joins, a distance, a regression, and its test on trips that it has not seen.
# usage: bixi.sh [FOLDER FOR THE RESULTS]; ROWS (20000) are how many trips, SITES (1) spreads them
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
awk -v rows="${ROWS:-20000}" -v stations=stations.csv -f "$here/data.awk" >trips.csv
"$tra" import -q --table trips.csv -o trips.h5
"$tra" import -q --table stations.csv -o stations.h5

run bixi.tra
value beta.h5 | tail -n +2 | cut -d, -f2 | paste -s -d ' ' | while read -r base slope; do
    echo "a trip takes $base s, and $slope s for each km"
done
echo "on the trips held out: root of mean squares $(value rmse.h5) s, R2 $(value r2.h5)"
echo "The coefficients are beta.h5 in $work."
