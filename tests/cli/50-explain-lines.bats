# tra explain: a line for each statement, and what would change it.
load helper

ridge() { # A in ten blocks, y in one
    tra gen -q --shape 20000x256 --block 2000x256 -o A.h5
    tra gen -q --shape 20000 --block 20000 -o y.h5
    cat >p.tra <<'END'
# ridge regression
input A from "A.h5"
input y from "y.h5"
G[i,j] = sum A[n,i] * A[n,j]   # a comment
b[i] = sum A[n,i] *
       y[n]
w = solve(G, b)
output w
END
}

# Bytes read by the plan under a ceiling.
read_under() { tra explain --format json --threads 2 --memory "$1" "${2:-p.tra}" |
    "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["plans"][0]["disk_read_bytes"])'; }

@test "explain has a line for each statement, with its place and its text, and marks the peak" {
    ridge
    status 0 tra explain --threads 2 --memory 1G p.tra
    grep -Eq '^line +statement +seconds +memory +read +written$' <<<"$output"
    grep -Eq '^   4  G\[i,j\] = sum A\[n,i\] \* A\[n,j\] .* MiB +<- peak$' <<<"$output"
    grep -Eq '^   5  b\[i\] = sum A\[n,i\] \* y\[n\] ' <<<"$output"
    grep -Eq '^   7  w = solve\(G, b\) ' <<<"$output"
    grep -Eq '^   8  output w .* KiB$' <<<"$output"
    is 1 grep -c '<- peak' <<<"$output"
    lacks "placement"
    lacks "join-agg"
    lacks "local"
    lacks "What would change"
    status 0 tra explain --threads 2 --memory 1G --operators p.tra
    has "join-agg G"
    lacks "placement"
    lacks "local"
    status 0 tra explain --threads 2 --memory 1G --operators --sites 2 p.tra
    has "placement"
    has "strategy "
    grep -Eq '^line .* moved$' <<<"$output"
}

@test "the figures of the statements are those of the operators, with all turns of loops" {
    tra gen -q --shape 500x40 --block 100x40 -o X.h5
    cat >p.tra <<'END'
input X from "X.h5"
G[i,j] = sum X[n,i] * X[n,j]
state v[i] = sum G[i,j]
repeat 7 {
    u[i] = sum G[i,j] * v[j]
    s[]  = max abs(u[i])
    next v[i] = u[i] / s[]
} until s < 1e-30
output v
END
    status 0 tra explain p.tra
    grep -Eq '^   4  repeat 7 \{' <<<"$output"
    grep -Eq '^   5    u\[i\] = sum G\[i,j\] \* v\[j\] ' <<<"$output"
    tra explain --format json p.tra >p.json
    "$PYTHON" - "$output" <<'END'
import json, re, sys
unit = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
told = sum(float(v) * unit[u] for v, u in re.findall(r"^ +\d+  .*?  +([\d.e-]+) (us|ms|s|min)\b", sys.argv[1], re.M))
plan = json.load(open("p.json"))["plans"][0]
assert abs(told - plan["seconds"]) < 0.02 * plan["seconds"], (told, plan["seconds"])
END
}

@test "what would change the picture is what planning again gives" {
    ridge
    status 0 tra explain --threads 2 --memory 48M p.tra
    grep -Eq -- '--memory [0-9]+M would read A once instead of twice: ' <<<"$output"
    m=$(sed -n 's/.*--memory \([0-9]*\)M would .*/\1/p' <<<"$output")
    best=$(read_under 4G)
    [ "$(read_under 48M)" -gt "$best" ]
    is "$best" read_under ${m}M
    [ "$(read_under $((m * 9 / 10))M)" -gt "$best" ]
    # blocks of another input: as they are said, they do
    grep -q 'y in blocks of 2000 (tra import --block 2000) would share the scan of A' <<<"$output"
    tra gen -q --shape 20000 --block 2000 -o z.h5
    sed 's/y.h5/z.h5/' p.tra >z.tra
    is "$best" read_under 48M z.tra
    status 0 tra explain --threads 2 --memory 48M z.tra
    lacks "What would change"
    # a ceiling that is too low
    status 0 tra explain --threads 2 --memory 30M p.tra
    has "DOES NOT FIT"
    grep -Eq -- '--memory [0-9]+M would ' <<<"$output"
}

@test "hints of random programs and options: done as they say, they give what they say" {
    status 0 "$PYTHON" "$BATS_TEST_DIRNAME/hints.py" "$TRA" 8 4
    has would
    has "nothing uses the column"
}

@test "threads, and options that take time, are named; so are columns that nothing uses, and nothing is read that gen makes" {
    printf '%s\n' 'input A : f64 [8000, 8000] by [1000, 1000]' 'C[i,j] = sum A[i,k] * A[k,j]' 'output C' >p.tra
    TRA_THREADS=4 status 0 tra explain --threads 1 --memory 8G p.tra
    has "--threads 4 would take "
    TRA_THREADS=4 status 0 tra explain --threads 4 --memory 8G p.tra
    lacks "--threads"
    # what is given takes longer than what would be found
    printf '%s\n' 'input A : f64 [40000, 4000] by [1000, 1000]' 'G[i,j] = sum A[n,i] * A[n,j]' 'output G' >q.tra
    status 0 tra explain --sites 3 --threads 1 --memory 8G --reproducible q.tra
    has "without --reproducible it would take "
    py 'open("t.csv", "w").write("k,unused,v\n" + "".join(f"{i % 7},{i},{i / 3}\n" for i in range(5000)))'
    tra import -q --table t.csv -o t.h5
    printf '%s\n' 'input t from "t.h5"' 'g = group(t, [k], s = sum(v))' 'output g' >t.tra
    status 0 tra explain t.tra
    has "nothing uses the column unused of t, and nothing reads it: tra import --columns k,v would"
    tra import -q --table --columns k,v t.csv -o t.h5
    status 0 tra explain t.tra
    lacks "nothing uses"
    printf '%s\n' 'x = gen(uniform, [3000, 100], by = [300, 100], seed = 4)' 'y[j] = sum[i](x[i,j])' 'output y' >g.tra
    status 0 tra run -q --profile m.json g.tra
    py 'm = json.load(open("m.json"))["plans"][0]
assert m["disk_read_bytes"] == 0 and m["measured"]["disk_read_bytes"] == 0, m["disk_read_bytes"]'
}

@test "a file that is converted before each run, and the heaviest of many inputs, are named" {
    py 'open("t.csv", "w").write("k,unused,v\n" + "".join(f"{i % 7},text that nobody reads {i},{i / 3}\n" for i in range(600000)))'
    printf '%s\n' 'input t from "t.csv"' 'g = group(t, [k], s = sum(v))' 'output g' >t.tra
    status 0 tra explain t.tra
    has "tra import --table --columns k,v, once, would spare each run the "
    tra import -q --table --columns k,v t.csv -o t.h5
    sed 's/t.csv/t.h5/' t.tra >once.tra
    status 0 tra explain once.tra
    lacks converted
    # the thirtieth of forty inputs is the one that matters; a thousand that weigh the same are not tried
    py 'n = lambda i: "[20000, 20000] by [20000, 4]" if i == 30 else "[100, 100] by [100, 100]"
open("many.tra", "w").write("".join(f"input x{i} : f64 {n(i)}\n" for i in range(40)) + "".join(f"s{i}[i] = max x{i}[i,j]\noutput s{i}\n" for i in range(40)))'
    status 0 tra explain --threads 1 many.tra
    has "x30 as f32, which keeps 7 digits"
}

@test "a sparse matrix in one block, with all of which each site computes, is told what smaller blocks would give" {
    printf '%s\n' 'input V : f64 [100000,1000] by [100000,1000] as csr nnz 10000000' \
        'state T = gen(uniform, [1000, 16], seed = 1)' 'repeat 20 {' 'W[i,r] as dense = sum V[i,j] * T[j,r]' \
        'n[] = max abs(W[i,r])' 'next T[j,r] = T[j,r] / (1 + n)' '}' 'output T' >p.tra
    status 0 tra explain --sites 2 p.tra
    has "V in blocks of 25000x1000 (tra import --block 25000x1000) would"
    sed 's/by \[[0-9,]*\]/by [25000,1000]/' p.tra >blocks.tra
    status 0 tra explain --sites 2 blocks.tra
    lacks "blocks of"
}

@test "factors and terms of maxima that do not depend on what is aggregated are named, with what they cost" {
    tra gen -q --shape 8000x70 --block 2000x70 -o X.h5
    tra gen -q --shape 8000x50 --block 2000x50 -o R.h5
    tra gen -q --shape 50 --dist range -o s.h5
    while IFS='|' read -r what over text positive statement; do
        program() { printf 'input %s from "%s.h5"\n' X X R R s s && printf '%s\noutput Z\n' "$1"; }
        program "$statement" >p.tra
        status 0 tra explain --threads 1 p.tra
        said=$(tr -s '\n ' '  ' <<<"$output" | sed 's/.*What would change this: //')
        if [ -z "$what" ]; then
            lacks "does not depend"
            continue
        fi
        [[ $said == "line 4: the $what does not depend on $over: $text"* ]] || { echo "$said"; false; }
        is "$positive" eval 'grep -c "where the factor is positive" <<<"$said" || true'
        # what it says that the other text takes is what is expected of that, and it gives the same
        program "Z[c,d] = $text" >q.tra
        [[ $said == *"would take $(tra explain -q --threads 1 q.tra | sed -n '2s/; disk.*//p') instead of "* ]] ||
            { echo "$said"; tra explain q.tra; false; }
        tra run -q --no-history p.tra
        cp Z.h5 first.h5
        tra run -q --no-history q.tra
        status 0 tra diff --rtol 1e-14 first.h5 Z.h5
    done <<'END'
factor / (s[c] + 1)|n|max[n](R[n, c] * X[n, d]) / (s[c] + 1)|1|Z[c,d] = max R[n,c] * X[n,d] / (s[c] + 1)
factor / (s[c] + 1)|n|max[n](X[n, d]) / (s[c] + 1)|1|Z[c,d] = max[n](X[n,d] / (s[c] + 1))
term s[c]|n|max[n](R[n, c] * X[n, d]) + s[c]|0|Z[c,d] = max[n](s[c] + R[n,c] * X[n,d])
term - s[c]|n|min[n](R[n, c] * X[n, d]) - s[c]|0|Z[c,d] = min[n](R[n,c] * X[n,d] - s[c])
||||Z[c,d] = max R[n,c] * X[n,d] / 2
||||Z[c,d] = sum R[n,c] * X[n,d] / s[c]
||||Z[c] = max[n]((R[n,c] ^ 1.5 + 1) ^ 0.7 ^ 1.3 - s[c])
END
}

@test "scratch that a higher ceiling spares is named; a compiled plan and a second choice are told of too" {
    cat >p.tra <<'END'
input A : f64 [6000, 6000] by [500, 500]
B[i,k] = sum A[i,j] * A[j,k]
C[i,k] = sum B[i,j] * B[j,k]
output C
END
    status 0 tra explain --threads 1 --memory 200M p.tra
    hint=$(tr -s ' \n' ' ' <<<"$output" | grep -Eo -- '--memory [0-9]+M would .*of scratch instead of ')
    m=$(sed 's/--memory \([0-9]*\)M .*/\1/' <<<"$hint")
    status 0 tra explain --threads 1 --memory ${m}M p.tra
    has "no scratch"
    tra gen -q --shape 600x600 --block 50x50 -o A.h5
    sed -i 's/^input.*/input A from "A.h5"/' p.tra
    tra compile -q --memory 64M --threads 1 p.tra -o p.plan
    status 0 tra explain p.plan
    grep -Eq '^   2  B\[i,k\] = sum A\[i,j\] \* A\[j,k\] ' <<<"$output"
}

@test "explain is as wide as the terminal, and has 100 columns elsewhere" {
    ridge
    long="C[i,j] = sum A[n,i] * A[n,j] + 0 * (A[n,i] + A[n,j]) + 0 * (A[n,i] - A[n,j]) + 0 * (A[n,i] * 2 - A[n,j] * 3)"
    printf 'input A from "A.h5"\n%s\noutput C\n' "$long" >l.tra
    for columns in 60 80 100 200; do
        for sites in 1 2; do
            COLUMNS=$columns "$PYTHON" -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$TRA" explain l.tra --sites $sites |
                tr -d '\r' >seen
            mapfile -t lines <seen
            for l in "${lines[@]}"; do [ "${#l}" -le $columns ] || { echo "too long: $l"; false; }; done
        done
        is $((columns == 200)) eval 'grep -cF "$long" seen || true'
    done
    COLUMNS=300 status 0 tra explain l.tra
    for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
}

@test "explain --analyze has what was measured in the same lines" {
    ridge
    for sites in 1 2; do
        tra run -q --sites $sites --memory 200M --threads 1 --profile m.json p.tra
        status 0 tra explain --analyze m.json p.tra
        has "Measured: "
        grep -Eq '^line +statement +plan +run +plan +run ' <<<"$output"
        grep -Eq '^   4  G\[i,j\] = .* [0-9.]+(us|ms|s) +[0-9.]+(us|ms|s) +[0-9.]+M +[0-9.]+M ' <<<"$output"
        lacks "operator "
        for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
    done
    status 0 tra explain --analyze m.json --operators p.tra
    has "the first"
}

@test "the least memory that is told also does for inputs that are converted, and for strings that are made first" {
    local what
    py 'r = np.random.default_rng(1)
with open("g.mtx", "w") as f:
    at = np.unique(r.integers(0, 900, (3000, 2)) + 1, axis=0)
    print("%%MatrixMarket matrix coordinate real general\n900 900", len(at), file=f)
    for i, j in at: print(i, j, i % 7 + 1, file=f)
with open("t.csv", "w") as f:
    print("k,x", file=f)
    for i in range(40): print(i % 5, i, sep=",", file=f)'
    status 0 tra import -q --table t.csv -o t.h5
    printf '%s\n' 'input G from "g.mtx"' 's[i] = sum G[i,j]' 'output s to "s.h5"' >mtx.tra
    printf '%s\n' 'input t from "t.csv"' 'o = order(t, [x desc])' 'output o to "o.h5"' >csv.tra
    printf '%s\n' 'input t from "t.h5"' 'o = group(t, [k], s = string_agg(string(x), ";"))' 'output o to "o.h5"' >strings.tra
    for what in mtx csv strings; do
        tra explain -q --format json --threads 1 $what.tra >plan.json
        least=$(py 'print(json.load(open("plan.json"))["plans"][0]["least_memory_bytes"])')
        status 0 tra explain -q --threads 1 --memory $least $what.tra
        status 0 tra run -q --threads 1 --memory $least $what.tra
    done
}
