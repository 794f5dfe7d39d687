#!/bin/sh
# The main job on real data: import, check, compile, explain, run on two ranks, export, compare.
# usage: demo.sh [FOLDER FOR THE RESULTS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"

step() {
    printf '\n$ tra'
    printf ' %s' "$@"
    printf '\n'
    "$tra" "$@"
}

step import "$here/pixels.csv" -o pixels.h5 --block 256x32
step info pixels.h5
step check covariance.tra
step explain covariance.tra --sites 2
step compile covariance.tra -o covariance.plan --sites 2
step run covariance.plan
step export covariance.h5 -o covariance.npy
step import "$here/covariance.csv" -o expected.h5 --block 32x32
step diff covariance.h5 expected.h5 --rtol 1e-12
printf '\nThe covariance agrees with the stored one; the results are in %s.\n' "$work"
