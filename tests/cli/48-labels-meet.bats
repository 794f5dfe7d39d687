# Dimensions that meet stand for the same things in one order: labels are equal, and what pivot has put in the order of
# its keys meets no rows of a table.
load helper

# t.h5: three rows whose ids do not ascend; f.h5: a matrix of three rows without labels.
table() {
    printf 'id,city,v\n3,A,1\n1,B,20\n2,A,300\n' | tra import -q --table - -o t.h5
    printf '1\n20\n300\n' | tra import -q - -o f.h5
}

# statement TEXT: a program with O, by pivot, and M, of rows, and that statement
statement() {
    printf '%s\n' 'input t from "t.h5"' 'input F from "f.h5"' 'O = pivot(t, id, city, 1, sum)' 'M = matrix(t, [v])' \
        "$@" 'output S' >p.tra
}

@test "the keys of a pivot meet no rows of a table, through whatever carries either dimension" {
    table
    for s in 'S[c,i] = sum O[n,c] * M[n,i]' 'S[c,i] = mean O[n,c] * M[n,i]' 'S[n,c,i] = max(O[n,c], M[n,i])' \
        'S = solve(O, M)' 'S = solve(M, O)' 'S = stack(O, M, 1)' 'S = stack(M, O, 1)' \
        'P[n] = argmax O[n,c]
S[i] = sum P[n] * M[n,i]'; do
        statement "$s"
        status 2 tra check p.tra
        [[ $output == *"'id' in ascending order"* ]]
        [[ $output == *"the rows of t in their order"* ]]
        [[ $output == *"matrix(T, [..], rows = id)"* ]]
        [[ $output == *"align("* ]]
        [[ $output == *"unlabel("* ]]
        status 2 tra run -q p.tra
        [ ! -e S.h5 ]
    done
    for s in 'N[i,n] = 2 * M[n,i] + 1' 'N = transpose(M)' 'Q = slice(M, [0:3, 0:1])
N = transpose(Q)' 'Q = reblock(M, [2, 1])
N = transpose(Q)' 'Q = store(M, csr)
N = transpose(Q)' 'T = table(M)
Q = matrix(T, [v])
N = transpose(Q)' 'Q = stack(M, M, 1)
R = slice(Q, [:, 1:2])
N = transpose(R)' 'q, p = topk(M, 1)
N = transpose(q)' 'Q = softmax(M)
N = transpose(Q)' 'Q, R = qr(M)
N = transpose(Q)' 'K = project(t, w = v * 2)
Q = matrix(K, [w])
N = transpose(Q)'; do
        statement "$s" 'S[c,i] = sum O[n,c] * N[i,n]'
        status 2 tra check p.tra
        [[ $output == *"'id' in ascending order"* ]]
    done
    for s in 'P = transpose(O)' 'Q = slice(O, [:, 0:1])
P = transpose(Q)' 'Q = reblock(O, [1, 1])
P = transpose(Q)' 'Q[n,c] = sqrt(O[n,c])
P = transpose(Q)'; do
        statement "$s" 'S[c,i] = sum P[c,n] * M[n,i]'
        status 2 tra check p.tra
        [[ $output == *"'id' in ascending order"* ]]
    done
}

@test "keys of any type meet no rows: strings, dates, bools, numbers that are computed; nor the columns of a pivot" {
    printf 'k,d,b,ts,v\nz,2020-03-01,true,2020-01-01 00:00:03,1\na,2020-01-01,false,2020-01-01 00:00:01,20\n' |
        tra import -q --table - -o t.h5
    for k in k d b ts; do
        printf '%s\n' 'input t from "t.h5"' "O = pivot(t, $k, v, 1, sum)" 'M = matrix(t, [v])' \
            'S[c,i] = sum O[n,c] * M[n,i]' 'output S' >p.tra
        status 2 tra check p.tra
        [[ $output == *"the values of '$k' in ascending order"* ]]
        printf '%s\n' 'input t from "t.h5"' "O = pivot(t, v, $k, 1, sum)" 'M = matrix(t, [v])' \
            'S[c,i] = sum O[c,n] * M[n,i]' 'output S' >p.tra
        status 2 tra check p.tra
    done
    printf '%s\n' 'input t from "t.h5"' "O = pivot(t, m = month(d), v, 1, sum)" 'M = matrix(t, [v])' \
        'S[c,i] = sum O[n,c] * M[n,i]' 'output S' >p.tra
    status 2 tra check p.tra
    [[ $output == *"the values of 'm' in ascending order"* ]]
}

@test "keys that meet positions of a file are a warning, also under -q; gen and computed tensors are none" {
    table
    statement 'S[c,i] = sum O[n,c] * F[n,i]'
    for command in "run" "run -q" "check" "explain" "cost"; do
        status 0 tra $command p.tra
        [[ $output == *"warning: label 'n' stands for the values of 'id'"* ]]
        [[ $output == *"positions that f.h5 does not label in F"* ]]
        [[ $output == *"label(X, d, T, column)"* ]]
    done
    statement 'G[n,i] = 2 * F[n,i]' 'S = stack(G, O, 1)'
    status 0 tra run -q p.tra
    [[ $output == *"f.h5 does not label in G"* ]]
    tra gen --shape 3x1 -o g.h5
    printf '%s\n' 'input t from "t.h5"' 'input F from "g.h5"' 'O = pivot(t, id, city, 1, sum)' \
        'P[n] = sum O[n,c] * index(c)' 'S[c,i] = sum O[n,c] * F[n,i] * index(n)' 'output S' >p.tra
    status 0 tra run -q p.tra
    [ -z "$output" ]
    # labels in the order of a file or a projection meet positions without a word
    printf 'a,b\n1,2\n3,4\n' | tra import -q --matrix - -o m.h5
    tra gen --shape 2 -o v.h5
    printf '1\n2\n' | tra import -q - -o w.h5
    printf '%s\n' 'input M from "m.h5"' 'input w from "w.h5"' 'input t from "t.h5"' 'N = matrix(t, [v, w = v])' \
        'S[n] = sum M[n,c] * w[c,i] ' 'R[n] = sum N[n,c] * w[c,i]' 'output S' 'output R' >p.tra
    status 0 tra run -q p.tra
    [ -z "$output" ]
}

@test "that pivot made a dimension is known of what a file holds, also by levels, and after import and export" {
    table
    printf '%s\n' 'input t from "t.h5"' 'O = pivot(t, id, city, 1, sum)' 'P[n,c] as csr = O[n,c] * 2' 'output O' \
        'output P' >p.tra
    status 0 tra run -q p.tra
    status 0 tra verify -q O.h5 P.h5
    status 0 tra export -q O.h5 -o x.h5 --to h5
    status 0 tra import -q x.h5 -o y.h5
    for f in O P x y; do
        printf '%s\n' 'input t from "t.h5"' "input O from \"$f.h5\"" 'M = matrix(t, [v])' 'S[c,i] = sum O[n,c] * M[n,i]' \
            'output S' >p.tra
        status 2 tra check p.tra
        [[ $output == *"in ascending order"* ]]
    done
}

@test "labels that differ are an error in solve and stack as in EinSum, with both sides in order or not" {
    printf 'id,city,v\n3,A,1\n1,B,20\n2,A,300\n' | tra import -q --table - -o t.h5
    printf 'id,city,v\n3,A,1\n1,B,20\n4,A,300\n' | tra import -q --table - -o u.h5
    for s in 'S = stack(O, P, 1)' 'S = solve(O, P)' 'S[c,d] = sum O[n,c] * P[n,d]' 'S[n,c] = O[n,c] + P[n,c]'; do
        printf '%s\n' 'input t from "t.h5"' 'input u from "u.h5"' 'O = pivot(t, id, city, 1, sum)' \
            'P = pivot(u, id, city, 1, sum)' "$s" 'output S' >p.tra
        status 2 tra check p.tra
        [[ $output == *"stands for different things: position 1 is '2' in O, '3' in P"* ]]
    done
    printf '%s\n' 'input t from "t.h5"' 'M = matrix(t, [a = v, b = v])' 'N = matrix(t, [b = v, a = v])' \
        'S = stack(M, N, 0)' 'output S' >p.tra
    status 2 tra check p.tra
    [[ $output == *"position 0 is 'a' in M, 'b' in N"* ]]
}
