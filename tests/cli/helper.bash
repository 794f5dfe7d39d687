# helper.bash - what every bats file loads: `load helper`.
#
# TRA is the program under test (tests/run sets it), BUILD its folder; each test runs in an empty folder of its own.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
TRA=${TRA:-$BUILD/tra}
export ROOT BUILD TRA

# mpirun as root in a container, with more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# Rates that were measured on this machine would choose other plans.
export XDG_CONFIG_HOME=${BATS_RUN_TMPDIR:-/tmp}/config

# The filter of this build, for h5py and h5dump.
export HDF5_PLUGIN_PATH=$BUILD

# A python with numpy, h5py and scipy: looked for once, not in each test.
if [ -z "${PYTHON-}" ]; then
    for PYTHON in python3 /usr/bin/python3; do
        if "$PYTHON" -c 'import importlib.util as u, sys
sys.exit(not all(u.find_spec(m) for m in ("numpy", "h5py", "scipy")))' 2>/dev/null; then break; fi
    done
    export PYTHON
fi

# What a test leaves in the scratch directory is its own.
setup() {
    export TRA_SCRATCH=$BATS_TEST_TMPDIR.scratch
    export TRA_CACHE=$BATS_RUN_TMPDIR/kernels
    mkdir -p "$TRA_SCRATCH"
    cd "$BATS_TEST_TMPDIR" || return
}

tra() { "$TRA" "$@"; }
# What the code does not name is not imported: numpy and h5py take five times as long to start as python itself.
py() {
    local use="json, sys"
    [[ $* != *np.* ]] || use+=", numpy as np"
    [[ $* != *h5py* ]] || use+=", h5py"
    "$PYTHON" -c "import $use
$1" "${@:2}"
}

# status WANT COMMAND...: runs the command (output in $output, its lines in $lines); fails unless it exits with WANT.
status() {
    local want=$1
    shift
    run "$@"
    # shellcheck disable=SC2154
    if ((status != want)); then
        echo "exit status $status, not $want, of: $*"
        echo "$output"
        return 1
    fi
}

# as_reference PROGRAM OUTPUT...: runs on 1 and 3 sites write what the reference evaluator does.
as_reference() {
    local program=$1 sites output
    shift
    tra run -q --no-history "$program" --engine reference || return 1
    for output; do mv "$output" "reference-$output" || return 1; done
    for sites in 1 3; do
        status 0 tra run -q --no-history --sites $sites "$program" || return 1
        for output; do tra diff -q --rtol 1e-9 "$output" "reference-$output" || return 1; done
    done
}

# told WANT COMMAND...: `status`, and the command says what the snapshot of this file of tests has for it: messages/FILE,
# a section for each test, in the order of its commands. So the prose of messages stands in one place: whoever changes a
# message runs the file with TRA_TEST_WRITE=1, which writes the snapshot, and reads the difference.
told() {
    local file=$BATS_TEST_DIRNAME/messages/${BATS_TEST_FILENAME##*/} made=$BATS_TEST_TMPDIR.told title="@ $BATS_TEST_DESCRIPTION"
    file=${file%.bats}
    status "$@" || return
    local text=${output//"$PWD"/.}
    printf '$ %s\n%s\n' "${*:2}" "${text//"$TRA"/tra}" >>"$made"
    if [[ ${TRA_TEST_WRITE-} ]]; then
        { [ ! -e "$file" ] || awk -v t="$title" '/^@ / { out = $0 == t } !out' "$file"; echo "$title"; cat "$made"; } >"$made.all"
        mkdir -p "${file%/*}" && mv "$made.all" "$file"
        return
    fi
    awk -v t="$title" '/^@ / { in_it = $0 == t; next } in_it' "$file" | head -n "$(wc -l <"$made")" | diff - "$made"
}

# slow MS COMMAND...: a command, to be begun with &, to which a block that it writes takes so many milliseconds and more
# (slow.c), until there is a file named quick.
slow() {
    local lib=$BATS_FILE_TMPDIR/slow.so
    [ -e "$lib" ] || cc -D_GNU_SOURCE -shared -fPIC -o "$lib" "$ROOT/tests/cli/slow.c"
    # the library comes before the sanitizer's
    TRA_SLOW_MS=$1 LD_PRELOAD=$lib ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 exec "${@:2}"
}

# pause SECONDS: sleep, without a process: nobody writes to the pipe.
pause() {
    [ -p "$BATS_TEST_TMPDIR.pipe" ] || mkfifo "$BATS_TEST_TMPDIR.pipe"
    read -rt "$1" <>"$BATS_TEST_TMPDIR.pipe" || true
}

# meet PID COMMAND...: waits until the command succeeds while the process runs, which is then killed, say. Where it ends
# before, the test fails, with its messages in log. TRA_TEST_LATE=SECONDS: as on a machine that lets the test wait.
meet() {
    local i
    for ((i = 0; i < 6000; i++)); do
        kill -0 "$1" 2>/dev/null || break
        "${@:2}" && { sleep "${TRA_TEST_LATE:-0}"; return; }
        pause 0.02
    done
    echo "process $1 was over, or two minutes passed, before: ${*:2}"
    [ ! -e log ] || cat log
    return 1
}

# recorded: bytes of all logs in the scratch directory: 64 for each block that is recorded, and as many for each log.
# recorded BYTES: are there so many?
recorded() {
    local n=0 size
    for size in $(stat -c %s "$TRA_SCRATCH"/tra-*/*.log 2>/dev/null); do n=$((n + size)); done
    if (($#)); then ((n >= $1)); else echo "$n"; fi
}

# long_program [SHAPE BLOCK]: long.tra, which takes a quarter of a minute on two ranks whatever the machine, and its
# input; its output is c.h5.
long_program() {
    "$TRA" gen -q --shape "${1:-2000x2000}" --block "${2:-100x100}" --dist normal --seed 9 -o long.h5
    printf '%s\n' 'input A from "long.h5"' \
        'C = agg(join(A, A, [], [], (x, y) -> tanh(tanh(tanh(tanh(tanh(x * y)))))), [0,1], matadd)' \
        'output C to "c.h5"' >long.tra
}

# The MPI library of the program under test.
TRA_TEST_MPI=${TRA_TEST_MPI:-${MPI:-openmpi}}

# mpirun -q -n N --bind-to none COMMAND...: the launcher of that library, which may have other options.
mpirun() {
    local words=()
    [[ $TRA_TEST_MPI == openmpi ]] && { command mpirun "$@"; return; }
    while (($#)); do
        case $1 in
        -q) ;;
        --bind-to) shift ;;
        -n) words+=(-n "$2"); shift ;;
        -*) words+=("$1") ;;
        *) break ;;
        esac
        shift
    done
    mpiexec.mpich "${words[@]}" "$@"
}

# launcher_of RUN: the process by which a tra run --sites, given by its process, started its ranks; ranks_of RUN: these.
launcher_of() { pgrep -P "$1" 'mpirun|mpiexec'; }
ranks_of() {
    local p
    p=$(launcher_of "$1") || return
    p=$(pgrep -P "$p" hydra_pmi_proxy || echo "$p")
    pgrep -P "$p"
}

# running PROGRAM: the processes here that run it.
running() {
    local pid
    for pid in $(pgrep -f "$TRA run $1"); do
        [[ $(readlink "/proc/$pid/cwd") == "$PWD" ]] && echo "$pid"
    done
}

# some I WAY...: prints two of the ways, others for each I, so that many tests with different I have all of them together;
# with TRA_TEST_LONG all.
some() {
    local i=$1 n=$(($# - 1))
    shift
    [[ ${TRA_TEST_LONG-} ]] && { printf '%s\n' "$@"; return; }
    printf '%s\n' "${@:i % n + 1:1}"
    ((n == 1)) || printf '%s\n' "${@:(i + n / 2) % n + 1:1}"
}

# also SITES...: 1 and, in every second call of a test, the others; with TRA_TEST_LONG in each.
also() {
    local calls=$BATS_TEST_TMPDIR.calls
    echo 1
    echo >>"$calls"
    [[ ! ${TRA_TEST_LONG-} && $(($(wc -l <"$calls") % 2)) == 1 ]] || printf '%s\n' "$@"
}

# has TEXT: $output contains it. lacks TEXT: it does not.
has() { [[ $output == *"$1"* ]] || { echo "no '$1' in: $output"; return 1; }; }
lacks() { [[ $output != *"$1"* ]] || { echo "'$1' in: $output"; return 1; }; }

# json PATH: the value in the JSON of $output, as python writes it.
json() { "$PYTHON" -c 'import json, sys
v = json.loads(sys.argv[1])
for k in sys.argv[2].split("."): v = v[int(k)] if isinstance(v, list) else v[k]
print(v if isinstance(v, str) else json.dumps(v))' "$output" "$1"; }

# is VALUE COMMAND...: the command prints exactly that.
is() {
    local want=$1 got
    shift
    got=$("$@") || return
    [[ $got == "$want" ]] || { echo "$* gives '$got', not '$want'"; return 1; }
}

# digest_of RELATION: its digest alone. Fails where `tra digest` does, as a pipe to cut would not.
digest_of() {
    local line
    line=$("$TRA" digest "$1") || return
    echo "${line%% *}"
}

# same_digest RELATION RELATION: both can be read, and have the same digest.
same_digest() {
    local one other
    one=$(digest_of "$1") || return
    other=$(digest_of "$2") || return
    [[ $one == "$other" ]] || { echo "$1 has the digest $one, $2 $other"; return 1; }
}

# same_output SCRIPT SCRIPT: each succeeds, all commands of its pipes too, and both print the same.
same_output() {
    local one other
    one=$(set -o pipefail; eval "$1") || { echo "fails: $1"; return 1; }
    other=$(set -o pipefail; eval "$2") || { echo "fails: $2"; return 1; }
    [[ $one == "$other" ]] || { echo "'$one', but '$other'"; return 1; }
}

# room SIZE: a ceiling that leaves a command that streams so many bytes (or 20K, 1M) for buffers, besides what the
# process takes.
room() {
    local process
    process=$("$TRA" version --verbose | sed -n 's/^bytes of a process that streams: //p')
    [ -n "$process" ] || { echo "tra version --verbose does not say what a process takes" >&2; return 1; }
    echo $((process + $(numfmt --from=iec "$1")))
}

# peak COMMAND...: runs it; the most memory that it held, in bytes. Fails unless it exits with 0 or 1.
peak() {
    "$PYTHON" -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(status > 1 or status < 0)' "$@"
}

# exactly: the bytes of the least ceiling, as the refusal in $output of a command with -v says.
exactly() { grep -o -- '--memory [0-9]*M, exactly [0-9]*' <<<"$output" | head -1 | grep -o '[0-9]*$'; }

# bounded BLOCK COMMAND...: tra refuses to run the command with 1K and says the least ceiling, which is at most 64 MB
# and three blocks of so many bytes; it stays below it with one thread and with two, and below a higher one with two.
bounded() {
    local least how m n got
    status 4 tra "${@:2}" -v --memory 1K
    least=$(exactly)
    ((least <= 64000000 + 3 * $1)) || { echo "the least ceiling of $* is $least"; return 1; }
    status 4 tra "${@:2}" --memory $((least - 1))
    for how in "1 $least" "2 $least" "2 $((least + $1 * 5 / 2))"; do
        read -r n m <<<"$how"
        got=$(TRA_THREADS=$n peak "$TRA" "${@:2}" --memory "$m") || { echo "$*: fails with --memory $m"; return 1; }
        ((got <= m)) || [ -n "${SAN:-}" ] || { # sanitizers take memory of their own
            echo "$*: $got bytes with $n threads and --memory $m"
            return 1
        }
    done
}
