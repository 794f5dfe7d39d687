# The command table, help, options, statuses, standard output, mpirun.
load helper

# Names of all commands; the loops below would pass without any.
commands() { "$TRA" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep . || echo none; }

@test "help lists the commands" {
    status 0 tra help
    has "Usage: tra COMMAND"
    [ "$(commands | grep -c '^help$\|^version$')" = 2 ]
    [ "$(tra --help)" = "$(tra help)" ]
    [ "$(tra -h)" = "$(tra help)" ]
}

@test "every command answers --help and names itself" {
    for c in $(commands); do
        status 0 tra "$c" --help
        has "Usage: tra $c"
        has "--quiet"
        [ "$(tra help "$c")" = "$output" ]
    done
}

@test "help fits in 80 columns" {
    for c in $(commands); do
        status 0 tra help "$c"
        long=$(awk 'length > 80' <<<"$output")
        [ -z "$long" ] || { echo "tra help $c: $long"; return 1; }
    done
}

@test "every command has a manual page, listed in tra.1" {
    for c in $(commands); do
        [ -e "$ROOT/man/tra-$c.1" ] || { echo "no man/tra-$c.1"; return 1; }
        grep -q "^\.BR tra.*-$c (1)" "$ROOT/man/tra.1" || { echo "tra.1 does not name tra-$c"; return 1; }
    done
}

@test "every option of a command stands in its manual page" {
    for c in $(commands); do
        [ "$c" != none ]
        for o in $(tra help "$c" | sed -n '/^Options:/,/^Common/s/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p'); do
            # roff writes hyphens of options as \-
            sed 's/\\-/-/g; s/\\&//g' "$ROOT/man/tra-$c.1" | grep -q -e "$o" || { echo "tra-$c.1 lacks --$o"; return 1; }
        done
    done
}

@test "no source has more than 500 lines" {
    cd "$ROOT"
    long=$(find cmd formats lib plans tests -name '*.[ch]' -exec awk 'FNR == 501 {print FILENAME}' {} +)
    [ -z "$long" ] || { echo "$long"; return 1; }
}

@test "no line of a source or of the pages for readers has more than 120 columns" {
    cd "$ROOT"
    long=$(find cmd formats lib plans tests \( -name '*.[ch]' \) -exec awk 'length > 120 {print FILENAME ":" FNR}' {} + &&
        awk 'length > 120 {print FILENAME ":" FNR}' Makefile README.md ARCHITECTURE.md)
    [ -z "$long" ] || { echo "$long"; return 1; }
}

# vacuous FILE...: lines that look like a check and fail no test: bash goes on when in `a && b` not the last command
# fails, and after `! a`. What is done where something holds (break, an assignment) is no check.
vacuous() {
    "$PYTHON" - "$@" <<'END'
import re, sys
check = r"(\[ |T\b|! |test |grep |cmp |diff |has |lacks |is |status |json )"
done = r"(break|continue|return|exec|echo|[a-zA-Z_]+(\[\w+\])?\+?=)"
for file in sys.argv[1:]:
    for at, line in enumerate(open(file), 1):
        text = re.sub(r"\\.|'[^']*'", "", line.strip())
        while text != (text := re.sub(r"\$\([^()]*\)|\"[^\"]*\"", "", text)): pass
        text = re.sub(r"\[\[ .*? \]\]|\(\(.*?\)\)", "T", text)
        last = text.split(" || ")[0].split(" && ")[-1].strip()
        chained = re.match(check, text) and (" && " in text or text.endswith("&&")) and not re.match(done, last)
        if chained or text.startswith("! ") and " || " not in text: print(f"{file}:{at}: {line.strip()}")
END
}

@test "no test has a check that does not count" {
    printf '%s\n' '[ -e a ] && [ -e b ]' '    [[ $x == "a && b" ]] && ((y)) ' '! grep -q x y' 'has "x" &&' \
        '[ "$(wc -l <a)" = 1 ] && cmp a b || return 1' >bad
    is 5 grep -c . <(vacuous bad)
    printf '%s\n' '[[ -e a && -e b ]]' '((x && y))' '[ -e a ] && break' '[ -e a ] || [ -e b ]' '((x)) && y=1 || y=2' \
        'cd a && make' "has ' && '" '[ "$(cd a && ls)" = b ]' >good
    [ -z "$(vacuous good)" ]
    bad=$(vacuous "$ROOT"/tests/cli/*.bats)
    [ -z "$bad" ] || { echo "$bad"; return 1; }
}

@test "the mistakes that make check-mutants puts in still apply to the sources" {
    status 0 "$ROOT/tests/mutants/run" --apply "$BUILD"
}

@test "includes keep the law of dependence, and no files include each other in circles" {
    status 0 "$PYTHON" "$ROOT/tests/lint/law.py" "$ROOT"
}

@test "no two types share a public name" {
    cd "$ROOT"
    twice=$(grep -rhoE '^typedef (struct|enum|union) tra_\w+ \{' --include='*.[ch]' lib plans formats cmd | sort | uniq -d)
    is "" echo "$twice"
}

@test "no two headers have one guard: the second would be left out where both are included" {
    cd "$ROOT"
    twice=$(grep -rhoE '^#ifndef TRA_\w+_H$' --include='*.h' lib plans formats cmd | sort | uniq -d)
    is "" echo "$twice"
}

# What a tuple takes is asked of tra_type_bytes: these alone go element by element, or count work by their size.
@test "nobody in lib/run, plans and cmd multiplies by the size of an element, but those who stream elements" {
    cd "$ROOT"
    found=$(grep -lr 'tra_dtype_size' lib/run plans cmd | sort | tr '\n' ' ')
    is "cmd/diff.c cmd/diff_tables.c cmd/gen.c cmd/import.c lib/run/output_compact.c lib/run/superblock_tasks.c plans/reference/ref_scalar.c plans/search/seconds.c " echo "$found"
}

@test "every command refuses an unknown option with status 2" {
    for c in $(commands); do
        status 2 tra "$c" --no-such-option-at-all
        has "$c has no option --no-such-option-at-all"
    done
}

@test "an unknown command suggests the nearest" {
    status 2 tra vresion
    has "did you mean version?"
    status 2 tra help vresion
    has "did you mean version?"
    status 2 tra qqqqqqqqqq
    lacks "did you mean"
    status 2 tra
    has "usage: tra COMMAND"
    status 2 tra --quiet version
    has "the command comes first"
}

@test "options: prefixes, values, groups, end" {
    status 0 tra version --form json
    [ "$(json tra)" = 0.1.0 ]
    status 0 tra version --format=json
    status 0 tra version -qvv --format text
    status 2 tra version --format
    has "--format needs a value (text|json)"
    status 2 tra version --format xml
    has "'xml' is none of text|json"
    status 2 tra version --frmat json
    has "did you mean --format?"
    status 2 tra version --quiet=yes
    has "--quiet takes no value"
    status 2 tra version -- --quiet
    has "'--quiet' is one argument too many"
    status 2 tra version -x
    has "no option -x"
}

@test "version names the libraries" {
    status 0 tra version
    for name in tra HDF5 "Open MPI" OpenBLAS kernel zstd; do has "$name"; done
    [ "$(tra --version)" = "$output" ]
    status 0 tra version --format json
    for key in tra hdf5 mpi blas blas_kernel zstd; do [ -n "$(json $key)" ]; done
}

@test "errors go to standard error, results to standard output" {
    [ -z "$(tra vresion 2>/dev/null)" ]
    [ -z "$(tra version 2>&1 >/dev/null)" ]
    [ -n "$(tra version 2>/dev/null)" ]
}

@test "standard output that cannot be written is an error" {
    status 4 bash -c '"$TRA" help >/dev/full'
    has "cannot write standard output: No space left"
    status 4 bash -c '"$TRA" help version >/dev/full'
    status 4 bash -c '"$TRA" version --help >/dev/full'
    status 4 bash -c '"$TRA" version --format json >/dev/full'
}

@test "an option beats its variable, whatever that says, and so does --help" {
    tra gen -q --shape 4x4 -o a.h5
    TRA_MEMORY=much status 2 tra digest a.h5
    has "TRA_MEMORY: 'much' is not a size"
    TRA_MEMORY=much status 0 tra digest a.h5 --memory 64M
    TRA_MEMORY=much status 0 tra digest --help
}

@test "messages to a stream that is closed go into no file" {
    tra gen -q --shape 400x400 --block 100x100 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'B = transform(A, exp)' 'output B to "b.h5"' >p.tra
    status 0 bash -c '"$TRA" run -vvvv p.tra --profile m.json <&- >&- 2>&-'
    py 'assert json.load(open("m.json"))["run"]["seconds"] > 0'
    status 0 tra verify b.h5
    status 4 bash -c '"$TRA" version >&-'
    has "cannot write standard output: Bad file descriptor"
    rm b.h5
    status 0 bash -c '"$TRA" run --sites 2 p.tra <&- >&- 2>&-'
    status 0 tra verify b.h5
}

@test "too few descriptors are a lack of resources, status 4" {
    tra gen -q --shape 40x40 --block 10x10 -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'B = transform(A, exp)' 'output B to "b.h5"' >p.tra
    local n lacked=0
    for n in $(seq 6 16); do
        run bash -c 'for i in 3 4 5 6 7 8 9; do eval "exec $i>&-"; done; ulimit -n '"$n"'; "$TRA" run p.tra'
        lacks "Bad file descriptor"
        if ((status == 4)); then
            has "Too many open files"
            lacked=1
        else
            ((status == 0))
        fi
    done
    ((lacked))
}

@test "a closed pipe is quiet" {
    run bash -c '"$TRA" version 2>err | true; echo "${PIPESTATUS[0]}"; cat err'
    [[ $output == 0 || $output == 141 ]]
}

@test "under mpirun other commands run on one rank" {
    status 0 mpirun -n 3 "$TRA" version
    [ "$(grep -c '^tra ' <<<"$output")" = 1 ]
    run mpirun -n 3 "$TRA" vresion
    [ "$status" -ne 0 ]
    [ "$(grep -c 'did you mean' <<<"$output")" = 1 ]
}

@test "completion offers commands and options" {
    # shellcheck disable=SC1091
    source "$ROOT/share/completion/tra.bash"
    compopt() { :; }
    COMP_WORDS=("$TRA" ver) COMP_CWORD=1
    _tra
    [[ " ${COMPREPLY[*]} " == *" version "* ]]
    COMP_WORDS=("$TRA" version --fo) COMP_CWORD=2
    _tra
    [ "${COMPREPLY[*]}" = --format ]
    COMP_WORDS=("$TRA" version --format "") COMP_CWORD=3
    _tra
    [ "${COMPREPLY[*]}" = "text json" ]
    COMP_WORDS=("$TRA" run --cost = t) COMP_CWORD=4
    _tra
    [ "${COMPREPLY[*]}" = "time tra" ]
    printf 'param eta = 1\ninput A from "a.h5"\nB = transform(A, neg)\n' >p.tra
    COMP_WORDS=("$TRA" run p.tra -D "") COMP_CWORD=4
    _tra
    [ "${COMPREPLY[*]}" = "eta= A=" ]
}

@test "completion offers the relations of a file" {
    # shellcheck disable=SC1091
    source "$ROOT/share/completion/tra.bash"
    compopt() { :; }
    tra gen -q --shape 3x3 -o f.h5:first
    tra gen -q --shape 30x30 --density 0.1 -o f.h5:in/sparse
    is "first
in/sparse" tra info --names f.h5
    # as bash cuts the words of a line: at each colon
    COMP_WORDS=("$TRA" info f.h5 :) COMP_CWORD=3
    _tra
    [ "${COMPREPLY[*]}" = "first in/sparse" ]
    COMP_WORDS=("$TRA" info f.h5 : in) COMP_CWORD=4
    _tra
    [ "${COMPREPLY[*]}" = in/sparse ]
    # or not
    COMP_WORDS=("$TRA" info f.h5:fi) COMP_CWORD=2
    _tra
    [ "${COMPREPLY[*]}" = f.h5:first ]
    status 3 tra info --names no.h5
}

@test "help of the language: its operators check, and all kernels are listed" {
    status 0 tra help lang
    for o in $(sed -n 's/^    {"\([a-z]*\)", TRA_OP_[A-Z]*,.*/\1/p' "$ROOT/plans/tra/graph_calls.c") \
        store slice stack topk softmax transpose \
        $(sed -n 's/^    {"\([a-z]*\)", "[^"]*(A.*/\1/p' "$ROOT/plans/tra/linear.c") \
        $(sed -n 's/.*TRA_TABLE_[A-Z]*\] = "write \([a-z]*\)(.*/\1/p' "$ROOT/plans/tra/table.c") unpivot explode sample ffill series; do
        has "$o("
    done
    [ -z "$(awk 'length > 80' <<<"$output")" ]
    status 0 tra help kernels
    for k in $(sed -n 's/.*{\.name = "\([a-z_]*\)".*/\1/p' "$ROOT/lib/kernel/table.c"); do has " $k"; done
    [ -z "$(awk "length > 95" <<<"$output")" ]
}

@test "make help lists the targets" {
    run make -C "$ROOT" --no-print-directory help
    for t in all check check-long check-property check-asan check-valgrind check-mutants fuzz demo bench install uninstall deps clean; do
        has "make $t "
    done
}

@test "install and uninstall leave nothing behind" {
    cd "$ROOT" || return
    status 0 make --no-print-directory B="${BUILD#"$ROOT"/}" install PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/root"
    cd "$BATS_TEST_TMPDIR/root" || return
    [ "$(usr/bin/tra version)" = "$(tra version)" ]
    [ -e usr/share/bash-completion/completions/tra ]
    [ -n "$(find . -path '*/hdf5/serial/plugins/libh5zzstd.so')" ]
    for page in "$ROOT"/man/*.[15]; do [ ! -e "$page" ] || [ -n "$(find . -name "${page##*/}")" ]; done
    cd "$ROOT" || return
    status 0 make --no-print-directory uninstall PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/root"
    [ -z "$(find "$BATS_TEST_TMPDIR/root" -type f)" ]
}

@test "install under a prefix of one's own writes nothing elsewhere, and says what else to set" {
    root=$BATS_TEST_TMPDIR/root
    mkdir "$root"
    cd "$ROOT" || return
    status 0 make --no-print-directory -n B="${BUILD#"$ROOT"/}" install PREFIX="$root"
    output=$(grep -w install <<<"$output") # not what would compile: a trial run of make makes all anew
    has "$root/bin"
    lacks /usr/lib
    status 0 make --no-print-directory B="${BUILD#"$ROOT"/}" install PREFIX="$root"
    has "export HDF5_PLUGIN_PATH=$root/lib/hdf5/plugins"
    [ -e "$root/lib/hdf5/plugins/libh5zzstd.so" ]
    cd "$root" || return
    bin/tra gen -q --shape 9x9 --codec zstd -o z.h5
    HDF5_PLUGIN_PATH=$root/lib/hdf5/plugins py 'assert h5py.File("z.h5")["data"][0, 0] is not None'
    rm z.h5
    cd "$ROOT" || return
    status 0 make --no-print-directory uninstall PREFIX="$root"
    [ -z "$(find "$root" -type f)" ]
}

@test "the filter plugin depends on no HDF5 library" {
    status 0 ldd "$BUILD/libh5zzstd.so"
    lacks hdf5
}

@test "the test runner counts what fails, crashes and is skipped" {
    mkdir -p tree/tests/unit build/tests
    cp "$ROOT/tests/run" tree/tests/
    touch tree/tests/unit/test_{a,b,c,d}.c
    printf '#!/bin/sh\necho "ok 1 - x"; echo "ok 2 - y # skip why"; echo "1..2"\n' >build/tests/test_a
    printf '#!/bin/sh\necho "# place"; echo "not ok 1 - x"; echo "1..1"; exit 1\n' >build/tests/test_b
    printf '#!/bin/sh\necho "ok 1 - x"; kill -SEGV $$\n' >build/tests/test_c
    printf '#!/bin/sh\necho "1..0"\n' >build/tests/test_d
    chmod +x build/tests/*
    status 1 bash tree/tests/run build unit
    [ "${lines[-1]}" = "2 passed, 3 failed, 1 skipped" ]
    has "# place"
    rm tree/tests/unit/test_[bcd].c
    status 0 bash tree/tests/run build unit
    [ "${lines[-1]}" = "1 passed, 0 failed, 1 skipped" ]
    rm tree/tests/unit/test_a.c
    status 1 bash tree/tests/run build fuzz
    [ "${lines[-1]}" = "0 passed, 0 failed" ]
}
