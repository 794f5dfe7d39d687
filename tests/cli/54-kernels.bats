# tra explain --kernels, --storages, --without: statements composed with storages, and their physical plans.
load helper

declared() { # STORAGE
    cat <<END
param beta = 2
input A : f64 [60000, 60000] by [8000, 60000] as $1 nnz 2000000
input x : f64 [60000] by [60000]
Q[j] = sum beta * A[i,j] * A[i,k] * x[k]
output Q
END
}

# kernel KEY: a value of the first kernel in the JSON of $output.
kernel() { "$PYTHON" -c 'import json, sys
k = [k for k in json.loads(sys.argv[1])["kernels"] if "name" in k][0]
print(eval(sys.argv[2], {"k": k}))' "$output" "$1"; }

@test "explain --kernels shows naive plan, stages, physical plan, cardinalities and operations" {
    declared csr >p.tra
    status 0 tra explain --operators --kernels p.tra
    has "Q: A as csr, x as dense"
    has "let A = sum(<i0, _> in 0:n_i, <p1, i1> in A_indices_1("
    has "in sum(<(i, j), v> in A, <(i, k), v_2> in A) {j -> 2.0"
    grep -Eq '^  the statement: [0-9]+ iterations, [0-9]+ nodes, [0-9]+ classes, [0-9.]+ ms$' <<<"$output"
    grep -Eq '^  with storages: [0-9]+ iterations, [0-9]+ nodes, [0-9]+ classes, [0-9.]+ ms$' <<<"$output"
    has "sum(<i, _> in 0:n_i) let w = sum(<p1, k> in"
    has "A_indices_1: 250000[s] in parts of"
    # at most 4 for each entry and 1 for each row
    awk '/ operations on 8 combinations of arrays,/ { n = $1 } END { exit !(n > 0 && n <= 8.06e6) }' <<<"$output"
    for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
    # no such part without the option, nor without a stored operand
    status 0 tra explain --operators p.tra
    lacks "composed with storages"
    printf 'input A : f64 [20, 20] by [5, 5]\nC[i] = sum A[i,j]\noutput C\n' >dense.tra
    status 0 tra explain --operators --kernels dense.tra
    has "no statement has a stored operand"
}

@test "explain --kernels as JSON: plans, the cheapest first, the same each time" {
    declared csr >p.tra
    status 0 tra explain --kernels --format json p.tra
    is Q kernel 'k["name"]'
    is "['the statement', 'with storages']" kernel '[s["name"] for s in k["stages"]]'
    is True kernel 'k["plans"][0]["plan"] == k["stages"][1]["program"]'
    is True kernel 'len(k["plans"]) > 1 and len(set(p["plan"] for p in k["plans"])) == len(k["plans"])'
    is True kernel '[p["nanoseconds"] for p in k["plans"]] == sorted(p["nanoseconds"] for p in k["plans"])'
    is True kernel '0 < k["plans"][0]["operations"] < 4 * 250000 + 7501'
    is "60000" kernel 'k["cardinalities"]["n_j"]'
    local first=$output
    status 0 tra explain --kernels --format json p.tra
    is "$(output=$first kernel '[p["plan"] for p in k["plans"]]')" kernel '[p["plan"] for p in k["plans"]]'
}

@test "explain --without leaves rules out of kernels" {
    declared csr >p.tra
    status 0 tra explain --kernels --format json p.tra
    local all
    all=$(kernel 'k["plans"][0]["operations"]')
    # without factors taken out of loops the row is visited for each of its entries
    status 0 tra explain --kernels --without D2,D3,M1,M2 --format json p.tra
    is True kernel "k['plans'][0]['operations'] > 10 * $all"
    # without fusion the matrix is materialised first
    status 0 tra explain --operators --kernels --without F3 p.tra
    has "let A = sum(<i0, _> in 0:n_i) {@hash i0 -> "
    status 2 tra explain --kernels --without D9 p.tra
    has "there is no rule 'D9'"
    status 2 tra explain --kernels --without A1 p.tra
    has "rule A1 is built into the normal form and cannot be left out"
    for rule in R2-1 D-1; do
        status 2 tra explain --without "$rule" p.tra
        is "tra: rule $rule says where operators are placed, and cannot be left out" echo "$output"
    done
}

@test "without S-1 a statement is no fused one, also as a compiled plan" {
    cat >p.tra <<'END'
input G : f64 [9000, 9000] as csr nnz 50000
input x : f64 [9000]
like[j] = sum G[i,j] * G[i,k] * x[k]
output like
END
    status 0 tra explain --operators p.tra
    has "strategy fused"
    status 0 tra explain --operators --rules --without S-1 p.tra
    lacks "strategy fused"
    lacks "S-1"
    tra compile -q --without S-1,D2 p.tra -o p.plan
    grep -x 'without D2,S-1' p.plan
    status 0 tra explain --operators p.plan
    lacks "fused"
}

@test "statistics of kernels come from the files of their operands" {
    # one full row, and one entry in each of the others
    py 'import scipy.sparse as s
a = s.lil_matrix((400, 400)); a[0, :] = 1; a[:, 0] = 1
s.save_npz("a.npz", a.tocsr())'
    tra import -q --storage csr a.npz -o a.h5
    tra gen -q --shape 400 --seed 1 -o x.h5
    printf 'input A from "a.h5"\ninput x from "x.h5"\nQ[j] = sum A[i,j] * A[i,k] * x[k]\noutput Q to "q.h5"\n' >p.tra
    status 0 tra explain --kernels --format json p.tra
    is "Q A as csr, x as dense" kernel 'k["name"] + " " + k["operands"]'
    is "799[s] in parts of 1.9975" kernel 'k["cardinalities"]["A_indices_1"]'
    # taken apart the rows cost their entries; as one loop in the other the sum of their squares, 160399
    status 0 tra explain --kernels --without D2,D3,M1,M2 --format json p.tra
    is True kernel '0 < min(p["operations"] for p in k["plans"]) <= 3 * 160399'
    status 0 tra explain --operators --storages A=dcsr p.tra
    has "A as dcsr"
}

@test "explain --storages puts storages side by side, the cheapest first" {
    declared csr >p.tra
    status 0 tra explain --operators --storages 'A=dense,csc,csr,band(5)' p.tra
    is "csr csc dense" echo $(grep -Eo '^A as (csr|csc|dense)' <<<"$output" | cut -d' ' -f3)
    has "A as band(5)"
    for l in "${lines[@]}"; do [ "${#l}" -le 100 ] || { echo "too long: $l"; false; }; done
    status 0 tra explain --storages A=csr,coo --format json p.tra
    is csr "$PYTHON" -c 'import json, sys
s = json.loads(sys.argv[1])["storages"]
print(s[0]["storages"].split()[-1] if s[0]["seconds"] < s[1]["seconds"] else s)' "$output"
    status 2 tra explain --storages B=csr p.tra
    has "B is no operand of a statement"
    status 2 tra explain --storages A=nosuch p.tra
    has "there is no storage 'nosuch'"
    status 2 tra explain --storages csr p.tra
    has "write A=csr,csc,B=csr,dense"
}

@test "explain --kernels: functions of an expression are those of the calculus, and what is too large is said" {
    cat >p.tra <<'END'
input A : f64 [60000, 60000] as csr nnz 2000000
input M : i64 [60000, 60000] as csr nnz 2000000
R[i,j] = max(A[i,j], 0) / 2 - abs(A[i,j]) + exp(A[i,j]) * min(A[i,j], 2) - sqrt(A[i,j]) + log(-A[i,j])
S[i,j] = M[i,j] / 3 - min(M[i,j], 2)
output R; output S
END
    status 0 tra explain --operators --kernels p.tra
    plans=$(tr -s ' \n' ' ' <<<"$output")
    [[ $plans == *"max(A(i, j), 0.0) / 2.0 - abs(A(i, j)) + exp(A(i, j)) * min(A(i, j), 2.0) - sqrt(A(i, j)) + log("* ]]
    [[ $plans == *"real(M(i, j)) / 3 - min(M(i, j), 2)"* ]]
    status 2 tra explain --storages 'A=band(x)' p.tra
    has "band(x): a storage has whole numbers in its parentheses"
    for i in {1..100}; do echo "input A$i : f64 [600, 600] as csr nnz 2000"; done >p.tra
    echo "S[i,j] = $(seq -s ' + ' -f 'A%g[i,j]' 100)" >>p.tra
    echo 'output S' >>p.tra
    status 0 tra explain --operators --kernels p.tra
    has "a statement over more than 256 components"
}

# how LINES: the implementations of the operators of a program.
how() {
    printf '%s\n' "$@" 'output C' >how.tra
    "$TRA" explain --operators --kernels --format json how.tra | "$PYTHON" -c 'import json, sys
print(", ".join(i["implementation"] for i in json.load(sys.stdin)["implementations"]))'
}

@test "explain --kernels says which code computes the blocks of each operator, by layouts, types and extents" {
    local a='input A : f64 [900, 800] by [900, 800]' b='input B : f64 [800, 700] by [800, 700]'
    local s='input S : f64 [900, 800] by [900, 800] as csr nnz 4000' x='input x : f64 [800] by [800]'
    local k='input K : f64 [900, 900] by [900, 900] as csr nnz 2000'
    is "matrix products of BLAS" how "$a" "$b" 'C[i,j] = sum A[i,k] * B[k,j]'
    is "matrix products of BLAS; one triangle" how "$a" 'C[i,j] = sum A[i,k] * A[j,k]'
    is "matrix-vector products of BLAS" how "$a" "$x" 'C[i] = sum A[i,k] * x[k]'
    is "matrix products of whole numbers" how "${a/f64/i64}" "${b/f64/i64}" 'C[i,j] = sum A[i,k] * B[k,j]'
    is "tiles in registers" how "$a" 'C[i,j] = sum abs(A[i,k] - A[j,k])'
    is "strips of columns, for many rows" how "$a" 'C[i,j] = sum hypot(A[i,k], A[j,k])'
    is "strips of elements" how "$a" 'C[i,j] = exp(A[i,j])'
    is "softmax of rows" how "$a" 'C = softmax(A)'
    is "entries times a dense array, into a dense array" how "$s" "$x" 'C[i] = sum S[i,k] * x[k]'
    is "entry by entry" how "$s" "$a" 'C[i,j] = S[i,j] * A[i,j]'
    is "entries folded into a dense array, strips of elements, folded" how "$s" 'C[] = sum abs(S[i,k])'
    is "entries moved and folded" how "$s" 'C[j,i] = S[i,j]'
    is "strips of elements, folded" how "${a/by \[900/by [300}" 'C = agg(A, [1], matadd)'
    is "entries of both merged, and folded" how "${s/by \[900/by [300}" 'C = agg(S, [1], elemmax)'
    grep -Eq "^matrix product (of entries|under a mask)" <<<"$(how "$k" "$s" 'C[i,j] = sum K[i,j] * S[i,k] * S[j,k]')"
    printf 'input t : table [k: i64, v: f64] rows 500 by 500\nC = project(t, w = v + 1)\noutput C\n' >table.tra
    status 0 tra explain --operators --kernels table.tra
    has "Kernels of operators"
    grep -q '^#[0-9]* transform: rows of tables$' <<<"$output"
}
