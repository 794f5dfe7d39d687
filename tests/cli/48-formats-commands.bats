# Every format that 'tra help formats' lists, with every command that takes files: one table.
load helper

formats() { tra help formats | sed -n 's/^\([a-z0-9]\+\) .*/\1/p'; }

# How a file of the format is named when it is read: what it does not tell itself is said.
spec() { # FORMAT FILE
    case $1 in
    raw) echo "raw(dtype=f64,shape=[3,4]):$2" ;;
    edges) echo "edges(shape=[3,4]):$2" ;;
    *) echo "$1:$2" ;;
    esac
}

# The suffix that tells the format, without the point.
suffix() { tra help formats | awk -v f="$1" '$1 == f {sub(/^\./, "", $2); sub(/;$/, "", $2); print $2}'; }

commands='head info info-s digest diff verify export import check explain cost eval eval-pipe input sites output eval-o'

# cell FORMAT SPEC FILE COMMAND: fails unless the command does what it does of a.h5.
cell() {
    local f=$1 s=$2 file=$3
    printf 'input A from "%s"\nT[] = sum A[i,j]\noutput T to "csv:-"\n' "$s" >p.tra
    case $4 in
    head) status 0 tra head "$s" && has 11.5 ;;
    info) status 0 tra info "$s" && has "3 x 4" ;;
    info-s) status 0 tra info -s "$s" && has "3 x 4" && has 11.5 ;;
    digest) is "$want" digest_of "$s" ;;
    diff) status 0 tra diff "$s" a.h5 && status 1 tra diff "$s" b.h5 ;;
    verify) status 0 tra verify "$s" ;;
    export) tra export -q "$s" -o out.npy && is "$want" digest_of out.npy ;;
    import) import "$f" "$file" && is "$want" digest_of imported.h5 ;;
    check) status 0 tra check p.tra ;;
    explain) status 0 tra explain --operators p.tra && has T ;;
    cost) status 0 tra cost p.tra ;;
    eval) is 72 tra eval 'sum A[i,j]' "A=$s" ;;
    eval-pipe) pipe "$f" "$s" "$file" ;;
    input) is 72 tra run -q p.tra ;;
    sites) is 72 tra run -q p.tra --sites 2 ;;
    output) printf 'input A from "a.h5"\noutput A to "%s:out"\n' "$f" >o.tra; rm -f out
        tra run -q o.tra && is "$want" digest_of "$(spec "$f" out)" ;;
    eval-o) rm -f "out.$x"; tra eval A A=a.h5 -o "out.$x" &&
        is "$want" digest_of "$(spec "$f" "out.$x")" ;;
    esac
}

import() {
    rm -f imported.h5
    case $1 in
    raw) tra import -q --from raw --dtype f64 --shape 3x4 "$2" -o imported.h5 ;;
    edges) tra import -q --from edges --shape 3x4 "$2" -o imported.h5 ;;
    *) tra import -q --from "$1" "$2" -o imported.h5 ;;
    esac
}

# Through a pipe; HDF5 files cannot come from one, which is told.
pipe() {
    local of=${2%:*}:-
    case $1 in
    h5 | h5ad | binsparse) status 3 eval 'cat "$3" | tra eval "sum A[i,j]" "A=$of"' ;;
    npz) [ 72 = "$(tra eval 'sum A[i,j]' "A=$of" <"$3")" ] ;;
    *) [ 72 = "$(cat "$3" | tra eval 'sum A[i,j]' "A=$of")" ] ;;
    esac
}

@test "every format that help lists is taken by every command, as input and as output" {
    export TRA_SCRATCH=$PWD/scratch
    mkdir scratch
    py 'A = np.arange(12.).reshape(3, 4) + .5; h5py.File("a.h5", "w")["data"] = A; A[1, 1] = 7; h5py.File("b.h5", "w")["data"] = A'
    want=$(digest_of a.h5)
    local n=0 wrong=
    for f in $(formats); do
        x=$(suffix "$f")
        tra export -q a.h5 --to "$f" -o "in.$x"
        for c in $commands; do
            cell "$f" "$(spec "$f" "in.$x")" "in.$x" "$c" >out.txt 2>&1 ||
                { wrong+=" $f:$c"; echo "--- $f $c"; cat out.txt; }
            n=$((n + 1))
        done
    done
    is "" echo "${wrong# }"
    is "$((17 * 10))" echo "$n"
    is "" find scratch -mindepth 1
}

@test "a pipe that ends too early, a signal and a full scratch directory: an error, and nothing is left" {
    export TRA_SCRATCH=$PWD/scratch
    mkdir scratch
    "$PYTHON" -c 'print("a,b,c"); [print(i, i * 7 % 1000, "text", sep=",") for i in range(400000)]' >n.csv
    gzip -1 -k n.csv
    status 3 eval 'head -c 100000 n.csv.gz | tra eval "group(t, [b], count())" t=-' # cut off where it is packed
    is "" find scratch -mindepth 1
    status 3 eval '{ cat n.csv; printf "1,2"; } | tra eval "group(t, [b], count())" t=-' # and in a record
    has "line 400002"
    is "" find scratch -mindepth 1
    for signal in INT TERM HUP; do
        mkfifo pipe
        "$TRA" eval 'order(t, [b])' t=csv:pipe >out.csv 2>err & pid=$!
        { head -n 100000 n.csv; sleep 0.3; kill -s $signal "$pid" || true; sleep 0.2; } >pipe || true
        wait "$pid" && return 1
        rm pipe
        is "" find scratch -mindepth 1
    done
    status 4 bash -c 'ulimit -f 300; "$TRA" eval "group(n, [b], s = sum(a))" n.csv' # of columns that are used
    is "" find scratch -mindepth 1
    status 4 bash -c 'ulimit -f 300; cat n.csv | "$TRA" eval "group(n, [b], s = sum(a))" n=-' # of a pipe
    is "" find scratch -mindepth 1
    status 3 tra eval 'group(n, [b], s = sum(a))' n=npy:n.csv
    status 3 tra eval 'sum n[i,j]' n=mtx:n.csv
    is "" find scratch -mindepth 1
}

@test "head on a terminal has the columns that fit its width, and says how many do not" {
    script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminals here"
    py 'np.save("a.npy", np.arange(120).reshape(4, 30) % 7); open("t.csv", "w").write(",".join(f"name{i}" for i in range(30)) + "\n" + ",".join(map(str, range(30))) + "\n")'
    for width in 40 100; do
        for f in a.npy t.csv; do
            script -qec "stty cols $width; '$TRA' head -n 2 $f" /dev/null | tr -d '\r' >shown
            is "" awk -v w=$width 'length > w' shown
            n=$(awk 'NR == 1 {print NF}' shown)
            [ "$n" -ge $((width / 10)) ]
            is 30 eval 'sed -n "s/.* \([0-9]*\) more columns.*/\1/p; s/.*(\([0-9]*\) more columns.*/\1/p" shown | head -n 1 | { read -r more; echo $((more + n)); }'
        done
    done
    script -qec "stty cols 200; '$TRA' head -n 2 a.npy" /dev/null | tr -d '\r' >shown
    is 0 eval 'grep -c "more column" shown || true'
    script -qec "stty cols 40; '$TRA' eval t t.csv" /dev/null | grep 'more columns'
}
