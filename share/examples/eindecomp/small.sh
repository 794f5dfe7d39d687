#!/bin/sh
# The programs of this folder at small sizes: makes their inputs, runs each under every optimizer, compares the results,
# and prints what was predicted and measured.
# usage: small.sh [FOLDER FOR THE RESULTS]; the variable SITES (4) says on how many sites, ONLY names one program
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tra.sh"
SITES=${SITES:-4}
"$here/llama.sh" 1 >llama.tra

# wanted PROGRAM: is it among those to run?
wanted() { [ -z "${ONLY-}" ] || [ "$ONLY" = "$1" ]; }

# inputs PROGRAM PARAM=VALUE ...: makes every input that the program declares, and leaves in $define the options that
# bind inputs and params.
inputs() {
    program=$1
    shift
    define=
    seed=0
    eval "$(sed -n 's/^param \([a-z0-9]*\) *= *\([0-9]*\).*/\1=\2/p' "$program.tra") $*"
    for p in "$@"; do define="$define -D $p"; done
    sed -n 's/^input \([A-Za-z0-9]*\) *: *\([a-z0-9]*\) \[\(.*\)\] by \[\([^]]*\)\].*/\1;\2;\3;\4/p' "$program.tra" >inputs
    while IFS=';' read -r name dtype shape block; do
        seed=$((seed + 1))
        "$tra" gen -q --dist normal --seed $seed --dtype "$dtype" --shape "$(numbers "$shape")" \
            --block "$(numbers "$block")" -o "$program-$name.h5"
        define="$define -D $name=$program-$name.h5"
    done <inputs
}

# numbers 's, (f+t-1)/t': 240x15
numbers() {
    echo "$1" | tr -d ' ' | tr , '\n' | while read -r x; do echo $(($x)); done | paste -s -d x -
}

# compare PROGRAM OUTPUT ...
compare() {
    program=$1
    shift
    profiles=
    printf '\n%s on %s sites\n' "$program" "$SITES"
    for by in search eindecomp eindecomp-any sqrt data; do
        # shellcheck disable=SC2086
        run "$program.tra" $define --memory 1G --optimizer "$by" --profile "$program-$by.json"
        profiles="${profiles:+$profiles,}$program-$by.json"
        for out in "$@"; do
            mv "$out.h5" "$program-$out-$by.h5"
            "$tra" diff -q "$program-$out-search.h5" "$program-$out-$by.h5" --rtol 1e-3 --atol 1e-3 >/dev/null
        done
    done
    # shellcheck disable=SC2086
    "$tra" explain "$program.tra" $define --memory 1G --sites "$SITES" --optimizer eindecomp "--optimizers=$profiles" |
        sed -n '/^Statements/,$p'
}

wanted chain-square && inputs chain-square s=240 t=8 && compare chain-square Z
wanted chain-skewed && inputs chain-skewed s=240 t=8 && compare chain-skewed Z
wanted attention && inputs attention s=48 a=32 h=4 d=8 t=4 && compare attention Y
wanted classifier && inputs classifier n=32 f=120 h=24 l=20 t=4 && compare classifier V1 V2
wanted llama && inputs llama b=2 s=16 a=32 h=4 d=8 f=24 v=40 t=4 u=2 && compare llama L
echo "The results are in $work."
