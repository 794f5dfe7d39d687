# tra run: inputs that each site reads, in place of an exchange.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    tra gen -q --shape 410x330 --block 50x40 --dist normal --seed 1 -o A.h5
    tra gen -q --shape 330x290 --block 40x70 --dist normal --seed 2 -o B.h5
    tra gen -q --shape 290 --block 70 --dist normal --seed 3 -o v.h5
    tra gen -q --shape 330x290 --block 40x70 --density 0.1 --seed 4 -o S.h5
    tra import -q B.h5 --codec zstd -o Z.h5
    printf 'input A from "A.h5"\ninput B from "B.h5"\nC[i,k] = sum A[i,j] * B[j,k]\noutput C\n' >product.tra
    sed 's/B.h5"/B.h5" at part(0)/' product.tra >placed.tra
    sed 's/B.h5"/Z.h5"/' product.tra >packed.tra
    cat >several.tra <<'EOP'
input A from "A.h5"
input B from "B.h5"
input v from "v.h5"
C[i,k]  = sum A[i,j] * B[j,k]
D[i,k]  = exp(C[i,k] / 100) + v[k]
E[k,i]  = sum B[j,k] * A[i,j]
F       = transpose(B)
G[i,j]  = sum C[i,k] * F[k,j]
m[j,l]  = max abs(B[j,k] - B[l,k])
R[j,k]  = B[j,k] * v[k]
output C
output D
output E
output G
output m
output R
EOP
    printf 'input A from "A.h5"\ninput S from "S.h5"\nY[i,k] = sum A[i,j] * S[j,k]\noutput Y\n' >sparse.tra
    mkdir one plain
    tra run -q product.tra && mv C.h5 plain
    tra run -q --reproducible several.tra && mv C.h5 D.h5 E.h5 G.h5 m.h5 R.h5 one
    tra run -q --reproducible sparse.tra && mv Y.h5 one
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

# plan NAME of the profile
figure() { py 'print(json.load(open("p.json"))["plans"][0]'"$1"')'; }
operators() { tra explain --format json "$@" | py 'print(*[o["op"] for o in json.load(sys.stdin)["plans"][0]["operators"]])'; }

@test "an input is read by all sites that want it; each counts what it reads, as predicted, and nothing moves" {
    for n in 2 3 5; do
        tra run -q --sites $n --threads 1 product.tra --profile p.json
        [ "$(figure '["network_bytes"]')" -eq 0 ]
        [ "$(figure '["measured"]["network_bytes"]')" -eq 0 ]
        [ "$(figure '["disk_read_bytes_kind"]')" = exact ]
        [ "$(figure '["disk_read_bytes"]')" -eq "$(figure '["measured"]["disk_read_bytes"]')" ]
        # one operand by one site, the other by each
        py 'a, b, n = 81 * 50 * 40 * 8, 45 * 40 * 70 * 8, '$n'
read = json.load(open("p.json"))["plans"][0]["disk_read_bytes"]
assert read == a + n * b or n == 5 and read == n * a + b, (n, read)'
        same_digest C.h5 plain/C.h5
    done
    [[ " $(operators --sites 3 product.tra) " = *" read-all "* ]]
    tra explain --operators --sites 3 product.tra >text
    grep -q 'read-all B  *all ' text
}

@test "grids of sites: each site reads the copies of its row and column" {
    plan=$(tra cost --sites 4 --threads 1 product.tra | awk '$2 ~ /rmm.2,1,2/ {print $1}')
    tra run -q --sites 4 --threads 1 --plan "$plan" product.tra --profile p.json
    [ "$(figure '["network_bytes"]')" -eq 0 ]
    [ "$(figure '["disk_read_bytes"]')" -eq $((2 * 81 * 50 * 40 * 8 + 2 * 45 * 40 * 70 * 8)) ]
    [ "$(figure '["measured"]["disk_read_bytes"]')" -eq "$(figure '["disk_read_bytes"]')" ]
    same_digest C.h5 plain/C.h5
}

@test "the floats of the paper, what is declared or placed, and compressed files know exchanges alone" {
    [[ " $(operators --sites 2 product.tra) " = *" read-all "* ]]
    [[ " $(operators --sites 2 --cost tra product.tra) " = *" bcast "* ]]
    [[ " $(operators --sites 2 --cost eindecomp product.tra) " != *" read-all "* ]]
    [[ " $(operators --sites 2 placed.tra) " = *" bcast "* ]]
    [[ " $(operators --sites 2 packed.tra) " != *" read-all "* ]] # it is one block, which is cut for all sites at once
    [ "$(tra cost --sites 2 packed.tra | sed -n 2p | cut -f 5)" -gt 0 ]
    sed 's/from "B.h5"/: f64 [330, 290] by [40, 70]/; s/from "A.h5"/: f64 [410, 330] by [50, 40]/' product.tra >declared.tra
    [[ " $(operators --sites 2 declared.tra) " = *" bcast "* ]]
    [[ " $(operators --sites 1 product.tra) " != *" read-all "* ]]
}

@test "a slow disk and a fast network: it is sent" {
    mkdir -p slow/tra fast/tra
    for which in slow fast; do
        rate=$([ $which = slow ] && echo 1e7 || echo 1e11)
        cat >$which/tra/machine.json <<EOP
{"tra_machine": 1, "host": "h", "cpu": "c", "blas_kernel": "k", "when": "w", "ranks": 1, "threads": 2,
 "network_bytes_per_second": 5e9, "network_one_way_bytes_per_second": 5e9,
 "disk_read_bytes_per_second": $rate, "disk_write_bytes_per_second": 1e9, "flops_f64_per_second": 1e11,
 "flops_f32_per_second": 2e11, "memory_bytes_per_second": 1e10, "first_touch_bytes_per_second": 0,
 "network_unhidden_share": 1, "disk_read_unhidden_share": 0.1}
EOP
    done
    [[ " $(XDG_CONFIG_HOME=$PWD/slow operators --sites 2 product.tra) " = *" bcast "* ]]
    [[ " $(XDG_CONFIG_HOME=$PWD/fast operators --sites 2 product.tra) " = *" read-all "* ]]
}

@test "the same bits on several sites, by either transport, and under a ceiling, whatever is read or sent" {
    for n in 2 3 5; do
        for transport in mpi files; do
            tra run -q --reproducible --sites $n --threads 1 --transport $transport several.tra
            for r in C D E G m R; do
                same_digest $r.h5 one/$r.h5
            done
        done
    done
    least=$(tra explain --format json --reproducible --sites 2 --threads 1 several.tra |
        py 'print(json.load(sys.stdin)["plans"][0]["least_memory_bytes"])')
    tra run -q --reproducible --sites 2 --threads 1 --memory "$least" several.tra
    for r in C D E G m R; do
        same_digest $r.h5 one/$r.h5
    done
}

@test "sparse inputs are read by all as well" {
    for n in 2 3; do
        tra run -q --reproducible --sites $n --threads 1 sparse.tra --profile p.json
        same_digest Y.h5 one/Y.h5
        [ "$(figure '["measured"]["disk_read_bytes"]')" -le "$(figure '.get("disk_read_bytes_bound", 0) or json.load(open("p.json"))["plans"][0]["disk_read_bytes"]')" ]
    done
}

@test "an input that was saved by one number of sites is known to another" {
    command -v mpirun >/dev/null || skip "no mpirun"
    mkdir -p scratch
    tra run -q --sites 3 --threads 1 --scratch scratch several.tra
    run tra run --sites 2 --threads 1 --scratch scratch --resume several.tra
    [ "$status" -eq 0 ]
}
