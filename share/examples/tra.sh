# shellcheck shell=sh disable=SC2154
# Sourced by the scripts of the examples, which set `here` to their folder. Finds the program: TRA, else that of the
# checkout or installation that this file belongs to, else the one in the PATH. Then goes to the folder for the results
# (the script's argument, else a new one) with the programs of the example in it.
if [ -z "${TRA-}" ]; then
    for TRA in "$here/../../../build/tra" "$here/../../../../bin/tra" tra; do
        command -v "$TRA" >/dev/null && break
    done
fi
tra=$(command -v "$TRA") || { echo "$TRA is not there: build it (make), or set TRA" >&2 && exit 1; }
tra=$(realpath "$tra")
work=${1:-$(mktemp -d)}
mkdir -p "$work"
cp "$here"/*.tra "$work"
cd "$work" || exit

# run PROGRAM [OPTIONS]: on SITES sites (1 by default).
run() { "$tra" run -q --no-history --sites "${SITES:-1}" "$@"; }

# value RELATION: its elements as text.
value() { "$tra" export -q --to csv -o - "$1"; }
