# 30-check-large.bats - what a program takes to check grows with its length, and not with the square of it.

load helper

# Seconds of CPU that checking PROGRAM takes.
seconds() {
    py 'import resource, subprocess
subprocess.run([sys.argv[1], "check", "-q", sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)' "$TRA" "$1"
}

@test "four times as many statements, values of in, columns of a table take no more than eight times as long" {
    while IFS='|' read -r name few line; do
        for n in "$few" $((4 * few)); do
            py 'n, line = int(sys.argv[1]), sys.argv[2]
print("input A : f64 [4,4]\ninput t : table [x: i64, y: f64] rows 1000 by 100")
print(eval(line))' "$n" "$line" >$n.tra
        done
        small=$(seconds $few.tra)
        large=$(seconds $((4 * few)).tra)
        status 0 py 'assert float(sys.argv[2]) < 8 * float(sys.argv[1]) + 0.5, sys.argv[1:]' "$small" "$large" "$name"
    done <<'END'
statements|5000|"\n".join("B%d[i,j] = A[i,j] + %d" % (i, i) for i in range(n)) + "\noutput B0"
in|25000|"S = select(t, in(x, " + ", ".join(map(str, range(n))) + "))\noutput S"
project|5000|"S = project(t, " + ", ".join("c%d = x + %d" % (i, i) for i in range(n)) + ")\noutput S"
END
}
