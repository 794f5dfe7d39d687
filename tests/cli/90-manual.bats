# The manual: every example runs, every option is there, every page is sound.
load helper

# Names of all commands; the loops below would pass without any.
commands() { "$TRA" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep . || echo none; }

examples() { TRA_SHARE=$ROOT/share PYTHON=$PYTHON "$PYTHON" "$ROOT/tests/cli/manual-examples" "$@"; }

# Options of a help text, "-q --quiet" or "--format" a line; those of tra(1)'s common options are left out.
of_help() {
    sed -n 's/^  \(-.\), \(--[a-z-]*\).*/\1 \2/p; s/^      \(--[a-z-]*\).*/\1/p' |
        grep -v -x -e '-q --quiet' -e '-v --verbose' -e '--color' -e '-h --help' | sort
}

# Options of a page's section: those in the tags (the line after .TP).
of_page() {
    awk -v section="$2" '
        /^\.SH / { inside = $0 == ".SH " section }
        inside && tag { print }
        { tag = /^\.TP/ }' "$1" |
        sed 's/\\-/-/g; s/\\f[A-Z]//g; s/"//g; s/^\.[A-Z]* *//' |
        sed -n 's/^\(-.\) *, *\(--[a-z-]*\).*/\1 \2/p; s/^\(--[a-z-]*\).*/\1/p' | sort
}

@test "every example of the manual pages runs and prints what the page says" {
    status 0 examples "$ROOT"/man/*.[157]
    [ "$(grep -c ' commands, 0 failed$' <<<"$output")" = "$(find "$ROOT/man" -name '*.[157]' | wc -l)" ]
}

@test "every example of the README runs and prints what it says" {
    status 0 examples "$ROOT/README.md"
    has "README.md: "
}

@test "every example of ARCHITECTURE.md, and of the plans of the TRA paper, runs and prints what it says" {
    status 0 examples "$ROOT"/ARCHITECTURE.md "$ROOT"/share/examples/paper/README.md
}

@test "the runner of examples sees what is wrong" {
    page() { printf '.TH X 1\n.SH EXAMPLES\n.EX\n%s\n.EE\n' "$1" >x.1; }
    page $'$ echo a; echo b\na\nb'
    status 0 examples x.1
    has "x.1: 1 commands, 0 failed"
    page $'$ echo a; echo b\na\nc'
    status 1 examples x.1
    has "x.1:4: $ echo a; echo b"
    page $'$ echo one two three; seq 9\none ... three\n1\n...\n9'
    status 0 examples x.1
    page $'$ seq 9\n1\n...\n8'
    status 1 examples x.1
    page $'$ echo unsaid'
    status 1 examples x.1
    page $'$ false'
    status 1 examples x.1
    has "exit status 1"
    page $'$ false; echo $?\n1\n$ cat <<END >f\n> it\\(aqs\n> END\n$ cat f\nit\\(aqs'
    status 0 examples x.1
    has "3 commands"
    page 'tra SYNTAX'
    status 1 examples x.1
    has "0 commands"
    printf '.EX\n$ echo a\n' >x.1
    status 1 examples x.1
    has "does not end"
}

@test "every display of an EXAMPLES section is an example" {
    for page in "$ROOT"/man/*.[157]; do
        bad=$(awk '/^\.SH /{ inside = $2 == "EXAMPLES" } begins && inside && !/^\$ /{ print FILENAME ":" FNR ": " $0 }
            { begins = /^\.EX/ }' "$page")
        [ -z "$bad" ] || { echo "$bad"; return 1; }
    done
}

# Does the page leave the option ("-D --define") to another, "... are those of tra-explain(1)", which has it?
is_left_to_other() {
    local text other
    text=$(awk '/^\.SH /{ inside = $2 == "OPTIONS" } inside' "$1" | sed 's/\\-/-/g')
    grep -q -e "^\.BR* ${2%% *}\( ,\)*$" <<<"$text" || return 1
    for other in $(tr '\n' ' ' <<<"$text" | grep -o 'are those of \.BR tra-[a-z]* (1)' | sed 's/.*tra-\([a-z]*\) .*/\1/'); do
        ! of_page "$ROOT/man/tra-$other.1" OPTIONS | grep -q -x -e "$2" || return 0
    done
    return 1
}

@test "tra help and the manual page of each command agree in their options" {
    for c in $(commands); do
        page=$ROOT/man/tra-$c.1
        tra help "$c" | of_help >helped
        of_page "$page" OPTIONS >paged
        while read -r o; do
            is_left_to_other "$page" "$o" || { echo "${page##*/} lacks $o"; return 1; }
        done < <(comm -23 helped paged)
        [ -z "$(comm -13 helped paged)" ] || { echo "tra help $c lacks what ${page##*/} has:"; comm -13 helped paged; return 1; }
        grep -q 'described in$' "$page" || { echo "${page##*/} does not point to the common options"; return 1; }
    done
    # The comparison compares something.
    [ "$(of_page "$ROOT/man/tra-gen.1" OPTIONS | grep -c -x -e '-o --output' -e '--seed')" = 2 ]
    [ "$(tra help gen | of_help | grep -c -x -e '-o --output' -e '--seed')" = 2 ]
    is_left_to_other "$ROOT/man/tra-cost.1" '-D --define'
    run is_left_to_other "$ROOT/man/tra-cost.1" --seed
    [ "$status" -ne 0 ]
    run is_left_to_other "$ROOT/man/tra-gen.1" --sites
    [ "$status" -ne 0 ]
    [ "$(of_page "$ROOT/man/tra.1" 'COMMON OPTIONS')" = "$(printf '%s\n' '-q --quiet' '-v --verbose' --color '-h --help' \
        --format '-D --define' | sort)" ]
}

@test "tra help, tra(1) and the page of each command say the same of it, in the same order" {
    plain() { sed 's/\\-/-/g; s/\\(aq/'"'"'/g'; }
    for c in $(commands); do
        brief=$("$TRA" help | sed -n "s/^  $c  *//p")
        [ "$(plain <"$ROOT/man/tra-$c.1" | sed -n '/^\.SH NAME/{n;p;}')" = "tra-$c - $brief" ] || { echo "NAME of tra-$c.1"; return 1; }
        plain <"$ROOT/man/tra.1" | grep -q -x -A 1 -e "\.BR tra-$c (1)" || { echo "tra.1 lacks $c"; return 1; }
        [ "$(plain <"$ROOT/man/tra.1" | grep -x -m 1 -A 1 -e "\.BR tra-$c (1)" | tail -n 1)" = "$brief" ] || { echo "$c in tra.1"; return 1; }
    done
    [ "$(plain <"$ROOT/man/tra.1" | sed -n '/^\.SH COMMANDS/,/^\.SH CONV/s/^\.BR tra-\([a-z]*\) (1)$/\1/p')" = "$(commands)" ]
    for page in "$ROOT"/man/*.5; do
        name=$(basename "$page" .5)
        grep -q -x -e "\.BR ${name/-/\\\\-} (5)" "$ROOT/man/tra.1" || { echo "tra.1 lacks $name"; return 1; }
    done
}

@test "every name in the JSON of a command is in its page" {
    tra gen -q --shape 40x30 --block 20x30 -o f.h5
    tra gen -q --shape 60x60 --density 0.1 -o s.h5
    printf 'k,a,b\n1,2.5,x\n2,3.5,\n1,,y\n' >t.csv
    tra import -q --format json t.csv -o t.h5
    printf 'k,a,c\n1,2.5,x\n2,4.5,\n' | tra import -q --table - -o u.h5
    printf '%%%%MatrixMarket matrix coordinate real general\n9 9 2\n1 1 1\n3 1 2\n' >m.mtx
    cat >p.tra <<'END'
storage mine[m, n] = levels(dense, sparse)
input F from "f.h5" at part(0)
input S from "s.h5"
input t from "t.h5"
G[i,j] = sum F[n,i] * F[n,j]
Y[i,j] as mine = sum S[i,k] * S[k,j]
g = group(select(t, !isnull(a)), [k], n = count(), s = sum(a))
M = matrix(g, [n, s])
output G; output Y; output g; output M
END
    tra run -q --sites 2 --profile run.json p.tra
    names() { # page, then commands
        local page=$1 n=0 c
        shift
        rm -f out.*.json
        for c in "$@"; do n=$((n + 1)); eval "tra $c --format json" >"out.$n.json" 2>err || [ $? -le 1 ]; done
        "$PYTHON" - "$ROOT/man/$page" out.*.json <<'END'
import json, re, sys

words = set(re.findall(r"[A-Za-z0-9_]+", open(sys.argv[1]).read().replace("\\-", "-")))
keys = set()

def walk(x, under=""):
    for k, v in x.items() if isinstance(x, dict) else [(under, v) for v in x] if isinstance(x, list) else []:
        if isinstance(x, dict) and under not in ("partition", "cardinalities"):  # names of the program
            keys.add(re.sub("_(kind|bound)$", "", k))
        walk(v, k)

for f in sys.argv[2:]: walk(json.load(open(f)))
lacks = sorted(k for k in keys if k not in words)
print(sys.argv[1], len(keys), "names; lacks", lacks)
sys.exit(bool(lacks) or len(keys) < 3)
END
    }
    names tra-check.1 'check p.tra'
    names tra-explain.1 'explain --rules --kernels --code --storages S=csr,csc p.tra' 'explain --optimizers=run.json p.tra' \
        'explain --sites 4 --optimizer eindecomp p.tra' 'explain --analyze run.json p.tra' 'cost p.tra' \
        'explain --reproducible --alternatives --sites 2 --memory 1G p.tra' 'run --dry-run p.tra' 'run -q p.tra'
    names tra-import.1 'import t.csv -o o.h5' 'import m.mtx -o o.h5' 'import - -o o.h5 <<<1,2 --from csv'
    names tra-export.1 'export s.h5 -o o.npz' 'export t.h5 -o o.csv'
    names tra-info.1 'info --stats --statistics --mapping f.h5 s.h5' 'info t.h5'
    names tra-verify.1 'verify f.h5 s.h5 t.h5'
    names tra-digest.1 'digest f.h5'
    names tra-diff.1 'diff f.h5 s.h5' 'diff f.h5 G.h5' 'diff s.h5 Y.h5' 'diff t.h5 u.h5'
    names tra-doctor.1 'doctor --scratch .'
    names tra-clean.1 'clean -n --scratch . .'
    names tra-version.1 'version'
    names tra-calibrate.1 'calibrate --seconds 0.01 -o machine.json'
}

# Values that an option of a help text takes its choice from: the words of "text|json".
choices() { awk '$1 ~ /^-/ { v = $1 ~ /,$/ ? $3 : $2; if (v ~ /[|]/) { gsub(/[][|]/, " ", v); print v } }'; }

@test "every value of an option with choices is in its manual page" {
    for c in $(commands); do
        pages=("$ROOT/man/tra-$c.1" "$ROOT/man/tra.1")
        for other in $(grep -A1 'are those of$' "$ROOT/man/tra-$c.1" | sed -n 's/^\.BR tra\\-\([a-z]*\) (1).*/\1/p'); do
            pages+=("$ROOT/man/tra-$other.1")
        done
        for word in $(tra help "$c" | choices); do
            sed 's/\\-/-/g; s/\\f[A-Z]//g' "${pages[@]}" | grep -q -w -e "${word#:}" || { echo "tra-$c.1 lacks '$word'"; return 1; }
        done
    done
    [ "$(tra help gen | choices | tr ' ' '\n' | sort -u | grep -c -x -e f32 -e identity -e json -e never)" = 3 ]
}

@test "mandoc finds nothing wrong with any page" {
    command -v mandoc >/dev/null || skip "mandoc is missing"
    for page in "$ROOT"/man/*.[157]; do
        status 0 mandoc -T lint -W warning "$page"
        [ -z "$output" ] || { echo "$output"; return 1; }
    done
}

@test "references between pages lead to pages that exist" {
    for page in "$ROOT"/man/*.[157]; do
        for ref in $(sed 's/\\-/-/g' "$page" | grep -o 'tra\(-[a-z]*\)\? ([15])' | tr -d ' '); do
            name=${ref%(*} section=${ref#*(}
            [ -e "$ROOT/man/$name.${section%)}" ] || { echo "${page##*/} refers to $ref"; return 1; }
        done
    done
    grep -q 'tra\\-lang (5)' "$ROOT/man/tra-check.1"
}

@test "every kernel and operator is in tra-lang(5)" {
    kernels=$(sed -n 's/^    {\.name = "\([a-z_]*\)".*/\1/p' "$ROOT/lib/kernel/table.c")
    operators=$(sed -n 's/^    {"\([a-z]*\)", TRA_OP_[A-Z]*,.*/\1/p' "$ROOT/plans/tra/graph_calls.c")
    [ "$(wc -l <<<"$kernels")" -gt 30 ]
    [ "$(wc -l <<<"$operators")" -gt 8 ]
    for word in $kernels $operators; do
        grep -q -w -e "$word" "$ROOT/man/tra-lang.5" || { echo "tra-lang.5 lacks $word"; return 1; }
    done
}

@test "the digest is what tra-relation(5) says" {
    tra gen -q --shape 5x4x3 --block 2x3x3 --dist normal -o a.h5
    tra gen -q --shape 33 --block 7 --seed 9 --dtype f32 --dist normal -o b.h5
    py '
a = np.array([[1, np.nan, -0.0], [-2, np.inf, -np.nan]])
with h5py.File("c.h5", "w") as f: f["data"] = a
with h5py.File("d.h5", "w") as f: f["data"] = a.astype("f4")
i = np.arange(-9, 9).reshape(3, 6)
with h5py.File("e.h5", "w") as f: f["data"] = i * 2**59 + 1
with h5py.File("f.h5", "w") as f: f["data"] = i.astype("i4")
with h5py.File("g.h5", "w") as f: f["data"] = i % 3 > 0'
    cat >digest.py <<'END'
import struct, sys, h5py, numpy as np

U = np.uint64
M = 2**64 - 1

def mix(x):
    x = (x ^ x >> U(32)) * U(0xbf58476d1ce4e5b9)
    x = (x ^ x >> U(29)) * U(0x94d049bb133111eb)
    return x ^ x >> U(32)

def xxh64(data, seed):  # of a multiple of 8 bytes, at least 32
    p = [11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579]
    rotate = lambda x, n: (x << n | x >> 64 - n) & M
    turn = lambda acc, word: rotate((acc + word * p[1]) & M, 31) * p[0] & M
    words = struct.unpack("<%dQ" % (len(data) // 8), data)
    acc = [(seed + p[0] + p[1]) & M, (seed + p[1]) & M, seed, (seed - p[0]) & M]
    full = len(words) // 4 * 4
    for i in range(full):
        acc[i % 4] = turn(acc[i % 4], words[i])
    h = sum(rotate(a, n) for a, n in zip(acc, (1, 7, 12, 18))) & M
    for a in acc:
        h = ((h ^ turn(0, a)) * p[0] + p[3]) & M
    h = (h + len(data)) & M
    for word in words[full:]:
        h = (rotate(h ^ turn(0, word), 27) * p[0] + p[3]) & M
    h = (h ^ h >> 33) * p[1] & M
    h = (h ^ h >> 29) * p[2] & M
    return h ^ h >> 32

np.seterr(over="ignore")
for name in sys.argv[1:]:
    a = h5py.File(name)["data"][...]
    name_of_type = {"f8": "f64", "f4": "f32", "i8": "i64", "i4": "i32", "b1": "bool"}[a.dtype.str[1:]]
    flat = a.ravel()
    w = flat.view({"f8": "i8", "f4": "i4"}.get(a.dtype.str[1:], flat.dtype)).astype("i8").view("u8")
    w = np.where(np.isnan(flat), U(0x7fc00000 if a.dtype == "f4" else 0x7ff8000000000000), w)
    i = np.arange(1, flat.size + 1, dtype="u8")
    lo = mix(w + i * U(0x9e3779b97f4a7c15))[flat != 0].sum(dtype="u8")
    hi = mix((w << U(32) | w >> U(32)) ^ i * U(0xd1b54a32d192ed03))[flat != 0].sum(dtype="u8")
    rest = [a.ndim, *a.shape] + [0] * (31 - a.ndim)
    data = struct.pack("<QQ8s32q", int(lo), int(hi), name_of_type.encode(), *rest)
    print("%016x%016x  %s" % (xxh64(data, 1), xxh64(data, 2), name))
END
    [ "$("$PYTHON" digest.py [a-g].h5)" = "$(tra digest [a-g].h5)" ]
}

@test "ARCHITECTURE.md names files and folders that exist, and every room" {
    names=$(grep -o '`[A-Za-z0-9_/.-]*`' "$ROOT/ARCHITECTURE.md" | tr -d '`' | grep -e '/' -e '\.[chy15]*$' | grep -v NAME | sort -u)
    [ "$(wc -l <<<"$names")" -gt 50 ]
    for name in $names; do
        [ -e "$ROOT/$name" ] || [ -n "$(find "$ROOT"/{cmd,plans,formats,lib,tests,share} -path "*/${name%/}" -print -quit)" ] ||
            { echo "there is no $name"; return 1; }
    done
    for room in "$ROOT"/lib/*/ "$ROOT"/plans/*/; do
        room=${room#"$ROOT/"}
        grep -q -x "### ${room%/}" "$ROOT/ARCHITECTURE.md" || { echo "it does not tell of $room"; return 1; }
    done
}

@test "ARCHITECTURE.md's call trees: each function is defined in the file that it names" {
    sed -n 's/^ *\([a-z_]*\)  *\([a-z/_0-9]*\.c\)  .*/\1 \2/p' "$ROOT/ARCHITECTURE.md" >tree
    [ "$(wc -l <tree)" -gt 40 ]
    while read -r name file; do
        grep -q "^[a-z].*[ *]$name(" "$ROOT/$file" || { echo "$file does not define $name"; return 1; }
    done <tree
}
