# tra compile: plan files, and when they are refused.
load helper

@test "a plan goes into a device or a pipe, and behind a link, and takes nothing's place" {
    tra gen -q --shape 9x9 -o a.h5
    printf 'input A from "a.h5"\nB = transform(A, neg)\noutput B\n' >p.tra
    mkfifo pipe
    timeout 10 cat pipe >got &
    status 0 timeout 10 "$TRA" compile -q p.tra -o pipe
    wait $!
    [ -p pipe ]
    is "tra plan 1" head -n 1 got
    echo x >target
    ln -s target link
    status 0 tra compile -q p.tra -o link
    [ -L link ]
    is "tra plan 1" head -n 1 target
    status 4 tra compile -q p.tra -o /dev/full
    [ -c /dev/full ]
    has "No space left"
}

program() {
    tra gen -q --shape 60x40 --block 10x10 -o a.h5
    tra gen -q --shape 40x50 --block 10x10 --seed 1 -o b.h5
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
param c = 2
S = transform(A, x -> c * x)
C = agg(join(S, B, [1], [0], matmul), [0,2], matadd)
output C
END
}

@test "a plan file explains as the program does" {
    program
    status 0 tra compile p.tra -o p.plan --sites 4 --cost tra --threads 1
    [ -z "$output" ]
    [ "$(head -n 1 p.plan)" = "tra plan 1" ]
    status 0 tra explain --format json --sites 4 --cost tra --threads 1 p.tra
    want=$(json plans.0.operators | sed 's/"path": "[^"]*", //g') # in a plan they are absolute
    status 0 tra explain --format json p.plan
    is 4 json sites
    is tra json cost_model
    [ "$(json plans.0.operators | sed 's/"path": "[^"]*", //g')" = "$want" ]
    status 0 tra cost p.plan
    [ ! -e C.h5 ]
    [ "$(ls)" = "$(printf 'a.h5\nb.h5\np.plan\np.tra')" ]
}

@test "a plan file from elsewhere, by another path, with definitions" {
    mkdir sub
    cd sub
    program
    cd ..
    tra gen -q --shape 60x40 --block 20x10 -o other.h5
    status 0 tra compile sub/p.tra -o sub/p.plan --sites 2 -D c=3 -D A=other.h5
    cd sub
    status 0 tra explain --operators p.plan
    has "12 x (20x10) f64"
    status 0 tra explain --operators --tra p.plan
    has "3"
    status 2 tra explain -D c=4 p.plan
    has "compile the program again"
}

@test "the K-th alternative" {
    program
    status 0 tra cost --sites 4 p.tra
    second=$(cut -f 2 <<<"${lines[2]}")
    status 0 tra compile p.tra --plan 2 --sites 4 -o p.plan
    status 0 tra explain --format json p.plan
    is 2 json chosen
    is "$second" json plans.1.strategy
    status 2 tra compile p.tra --plan 99 --sites 4 -o q.plan
    [ ! -e q.plan ]
}

@test "other sites, models and alternatives than the plan's are refused" {
    program
    tra compile p.tra --sites 2 -o p.plan
    status 2 tra explain --sites 3 p.plan
    has "is for 2 sites, not for 3"
    status 2 tra explain --cost tra p.plan
    status 2 tra explain --plan 2 p.plan
    status 0 tra explain --operators --sites 2 --memory 300M p.plan
    has "300 MiB of memory each"
    status 0 tra explain --operators --memory 1M p.plan
    has "DOES NOT FIT"
}

@test "a changed input is refused by name" {
    program
    tra compile p.tra -o p.plan
    tra gen -q --shape 40x50 --block 10x10 --seed 2 -o b.h5
    status 3 tra explain p.plan
    has "input B"
    has "changed since the plan was made: compile the program again"
    rm b.h5
    status 3 tra explain p.plan
    has "b.h5"
}

@test "a changed program does not matter, it is in the plan" {
    program
    tra compile p.tra -o p.plan
    rm p.tra
    status 0 tra explain --operators p.plan
}

@test "damaged plan files" {
    program
    tra compile p.tra -o p.plan
    size=$(stat -c %s p.plan)
    for n in 12 100 $((size / 2)) $((size - 1)); do
        head -c "$n" p.plan >cut.plan
        status 3 tra explain cut.plan
        has "cut.plan is damaged at line"
    done
    sed 's/sites 1/sites 2/' p.plan >garbled.plan
    status 3 tra explain garbled.plan
    sed '1s/1$/9/' p.plan >later.plan
    status 3 tra explain later.plan
    has "plan format 9"
    printf 'garbage\n' >not.plan
    status 2 tra explain not.plan
    : >empty.plan
    status 2 tra explain empty.plan
    has "without an output"
}

@test "a plan that would come out differently is refused" {
    program
    tra compile p.tra -o p.plan
    # another digest under a right checksum
    status 0 "$PYTHON" -c 'import re, sys
t = open("p.plan").read()
t = re.sub(r"digest [0-9a-f]{16}", "digest 0123456789abcdef", t)
open("q.plan", "w").write(t[:t.rindex("checksum")])'
    printf 'checksum %s\n' "$(xxh64 q.plan)" >>q.plan
    status 3 tra explain q.plan
    has "is not what this tra makes of its program"
}

# XXH64 of a file, through the library.
xxh64() { "$PYTHON" -c 'import ctypes, sys
d = open(sys.argv[1], "rb").read()
x = ctypes.CDLL("libxxhash.so.0")
x.XXH64.restype = ctypes.c_uint64
x.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
print("%016x" % x.XXH64(d, len(d), 0))' "$1"; }

@test "compile writes whole files or none" {
    program
    echo old >p.plan
    status 2 tra compile p.tra --cost none -o p.plan
    [ "$(cat p.plan)" = old ]
    status 4 tra compile p.tra --memory 1M -o p.plan
    [ "$(cat p.plan)" = old ]
    run tra compile p.tra -o missing/p.plan
    [ "$status" -ne 0 ]
    has "missing/p.plan"
    if [ -e /dev/full ]; then
        run bash -c '"$TRA" compile p.tra -o - >/dev/full'
        [ "$status" = 4 ]
    fi
    status 0 tra compile p.tra -o p.plan
    [ "$(head -c 8 p.plan)" = "tra plan" ]
    [ "$(ls | grep -c tmp)" = 0 ]
    status 2 tra compile p.tra
    has "-o is missing"
    status 2 tra compile p.plan -o q.plan
    has "is a plan already"
}

@test "plans by way of standard output and input" {
    program
    tra compile p.tra -o - --sites 2 >p.plan
    status 0 bash -c '"$TRA" explain --operators - <p.plan'
    has "for 2 sites"
    status 0 bash -c '"$TRA" compile - -o q.plan --sites 2 <p.tra'
    status 0 tra explain --operators q.plan
}

@test "a plan is run with the codec that it was made for; another is refused as what it is" {
    tra gen -q --shape 400x400 --block 100x100 -o a.h5
    printf 'input A from "a.h5"\nC[i,k] = sum A[i,j] * A[j,k]\noutput C\n' >p.tra
    for sites in 1 4; do
        for codec in none zstd zstd:9; do
            tra compile -q --sites $sites --threads 1 --memory 45M --codec $codec p.tra -o p.plan
            tra run -q p.plan
            want=$(digest_of C.h5)
            for how in '' "--codec $codec" '--memory 60M' '--codegen off'; do
                # shellcheck disable=SC2086
                status 0 tra run -q p.plan $how
                is "$want" digest_of C.h5
            done
            status 2 tra run -q -n p.plan --codec zstd:3
            has "--codec is fixed in the plan p.plan"
            lacks "another version"
        done
    done
}

# The program p.tra, planned anew with these options, has the digest and the results of its plan file.
as_its_plan() {
    local how=$1 out=$2
    # shellcheck disable=SC2086
    status 0 tra compile -q $how p.tra -o p.plan
    # shellcheck disable=SC2086
    status 0 tra explain -q --format json $how p.tra
    local rank=$(json chosen)
    local want=$(json "plans.$((rank - 1)).digest")
    status 0 tra explain -q p.plan --plan-digest "$want"
    has "plan digest $want"
    # shellcheck disable=SC2086
    status 0 tra run -q $how p.tra --plan-digest "$want"
    want=$(digest_of "$out")
    rm "$out"
    status 0 tra run -q p.plan
    is "$want" digest_of "$out"
}

@test "plans of all kinds are made of their choices: loops, tables, sparse tensors, rewritten sums, all optimizers" {
    program
    for how in --sites\ 1 '--sites 3 --reproducible' '--sites 4 --plan 2' '--sites 2 --optimizer eindecomp' \
        '--sites 4 --cost eindecomp' '--sites 1 --codegen off' '--sites 3 --without R1-1,D-2 --memory 60M'; do
        as_its_plan "$how" C.h5
    done
    cat >p.tra <<'END'
input A from "a.h5"
input B from "b.h5"
x0[j] = sum A[i,j] / 60
state x = x0
repeat 3 {
    y[k] = sum x[j] * B[j,k]
    n[] = sum y[k]^2
    z[j] = sum B[j,k] * y[k]
    w[j] = z[j] / n[]
    next x = w
}
output x
END
    as_its_plan '--sites 1' x.h5
    as_its_plan '--sites 2' x.h5
    tra gen -q --shape 300x300 --block 100x100 --density 0.02 -o s.h5
    printf 'input S from "s.h5"\nT[i,l] = sum S[i,j] * S[j,k] * S[k,l]\noutput T\n' >p.tra
    as_its_plan '--sites 1' T.h5
    as_its_plan '--sites 3' T.h5
    seq 1 400 | awk 'BEGIN {print "k,v"} {print $1 % 37 "," $1 * 0.5}' >t.csv
    seq 0 36 | awk 'BEGIN {print "k,w"} {print $1 ",g" $1 % 5}' >u.csv
    tra import -q t.csv -o t.h5
    tra import -q u.csv -o u.h5
    printf 'input T from "t.h5"\ninput U from "u.h5"\nJ = join(T, U, k == k)\nG = group(J, [w], s = sum(v))\noutput G\n' >p.tra
    as_its_plan '--sites 1' G.h5
    as_its_plan '--sites 3' G.h5
}

# p.plan as the program of Python makes it, with its checksum, in q.plan.
changed_plan() {
    "$PYTHON" -c "import re
t = open('p.plan').read()
t = t[:t.rindex('checksum')]
$1
open('q.plan', 'w').write(t)"
    printf 'checksum %s\n' "$(xxh64 q.plan)" >>q.plan
}

@test "the choices of a plan file decide, and no search; without choices, as older files are, the search does" {
    program
    tra compile -q p.tra --sites 4 --plan 2 -o p.plan
    changed_plan 't = t.replace("rank 2", "rank 1")'
    status 0 tra run -q q.plan
    status 3 tra cost q.plan # which searches
    has "is not what this tra makes of its program: compile"
    changed_plan 't = re.sub("choices .*(?=tree )", "", t, flags=re.S)'
    status 0 tra run -q q.plan
    changed_plan 't = re.sub("choices .*(?=tree )", "", t, flags=re.S).replace("rank 2", "rank 1")'
    status 3 tra run -q q.plan
    # choices that are none, or not of this program
    for line in '9999 -1 - - - -' '0 9999 - - - -' '0 -1 c4 c4 - c4' 'x' '0 -1 - - - p4:7=9' '0 -1 - - - c3' '0 -1'; do
        changed_plan "t = re.sub('choices .*(?=tree )', 'choices %d\\n%s\\n\\n' % (len('$line') + 1, '$line'), t, flags=re.S)"
        status 3 tra run -q q.plan
        has "compile the program again"
    done
}

@test "--plan-digest refuses every other plan" {
    program
    digest=$(tra explain p.tra | sed -n 's/plan digest //p')
    for c in run\ -n explain 'compile -o q.plan'; do
        # shellcheck disable=SC2086
        status 0 tra $c -q p.tra --plan-digest "$digest"
        # shellcheck disable=SC2086
        status 3 tra $c -q p.tra -D c=3 --plan-digest "$digest"
        has "not $digest"
        # shellcheck disable=SC2086
        status 2 tra $c -q p.tra --plan-digest "${digest:1}"
    done
    status 0 tra run -q q.plan --plan-digest "$digest"
    status 3 tra run -q --sites 2 p.tra --plan-digest "$digest"
    status 0 tra run -q --sites 2 p.tra --plan-digest "$(tra explain --sites 2 p.tra | sed -n 's/plan digest //p')"
}
