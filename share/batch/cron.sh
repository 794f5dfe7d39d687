#!/bin/bash
# tra run from cron, for at most so long at a time: 0 22 * * * cron.sh DIRECTORY PROGRAM HOURS [OPTION...]
#
# Every night goes on from where the last one stopped (--resume), until the outputs are there; then it writes
# DIRECTORY/done and does nothing any more. One at a time: who comes while another is at it leaves at once.
#
# cron has a PATH of its own: tra is that of the variable TRA, of this script's installation or checkout, or of the PATH.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for tra in "${TRA:-$here/../../../bin/tra}" "$here/../../build/tra" tra; do
    tra=$(command -v "$tra") && tra=$(realpath "$tra") && break
done
[ -n "$tra" ] || { echo "$0: there is no tra in the PATH ($PATH): set TRA to the program" >&2; exit 2; }
dir=${1:?usage: cron.sh DIRECTORY PROGRAM HOURS [OPTION...]} program=${2:?} hours=${3:?}
shift 3
cd "$dir" || exit 2
[ -e "done" ] && exit 0
exec 9>.cron.lock
flock -n 9 || exit 0
export TRA_SCRATCH=${TRA_SCRATCH:-$PWD/scratch}
mkdir -p "$TRA_SCRATCH"
timeout --preserve-status --signal=USR1 "${hours}h" "$tra" run -q --resume "$program" "$@" 9>&- >>tra.log 2>&1
status=$?
[ $status -eq 0 ] && touch "done"
[ $status -eq 75 ] && exit 0 # the time was over, and progress is saved
exit $status
