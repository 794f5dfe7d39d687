# The language itself: names, macros, numbers, terms, and what is answered to words of other languages.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    py 'np.save("L.npy", np.array([[2**62, 2**62], [1, 2]]))
np.save("B.npy", np.array([2**63 - 1, -2**63, 5]))
np.save("S.npy", np.array([1, 2, 3], "i4"))
np.save("F.npy", np.array([[1.5, 2], [3, 4]]))'
    for x in L B S F; do "$TRA" import -q $x.npy -o $x.h5; done
    printf 'a,output,desc\n-9223372036854775808,1,2\n5,3,1\n9223372036854775807,2,5\n' |
        "$TRA" import -q --table - -o T.h5
}

# gives WANT TYPE STATEMENTS...: the last of these, Y, has those elements in CSV and that type, by both engines.
gives() {
    local x want=$1 type=$2
    rm -f p.tra
    for x in L B S F T; do echo "input $x from \"$BATS_FILE_TMPDIR/$x.h5\"" >>p.tra; done
    printf '%b\n' "${@:3}" 'output Y' >>p.tra
    for how in '' '--engine reference'; do
        rm -f Y.h5
        # shellcheck disable=SC2086
        status 0 tra run -q $how ${define:+-D "$define"} p.tra
        [ "$(tra export -q Y.h5 -o - --to csv | tr '\n' ' ')" = "$want " ] ||
            { echo "${*:3} $how: $(tra export -q Y.h5 -o - --to csv)"; return 1; }
        [ -z "$type" ] || tra info Y.h5 | grep -q " $type" || { echo "${*:3}: not $type"; tra info Y.h5; return 1; }
    done
}

# refused TEXT STATEMENTS...: the program does not compile, and says TEXT.
refused() {
    rm -f p.tra
    for x in L B S F T; do echo "input $x from \"$BATS_FILE_TMPDIR/$x.h5\"" >>p.tra; done
    printf '%b\n' "${@:2}" >>p.tra
    status 2 tra check p.tra
    has "$1"
}

@test "a number with a point or an exponent is a float beside integers" {
    gives '2 0' f64 'Y[i] = floor(sum[j](L[i,j] * 1.0) / 4611686018427387904)'
    gives '0,0 1,4' f64 'Y[i,j] = if(L[i,j] > 5, 0, L[i,j] * 1.0 * L[i,j])'
    gives '1 2 3' f64 'Y[i] = S[i] * 1e0'
    gives '3 4 5' f64 'Y[i] = S[i] + 2.0'
    gives '1 4 9' f64 'Y[i] = S[i] ^ 2.0'
    gives '1 2 3' f64 'Y[i] = max(S[i], 1.0)'
    gives '0 1 1' f64 'Y[i] = if(S[i] > 1, 1.0, 0)'
    gives '2 4 6' f64 'Y = transform(S, x -> x * 2.0)'
    gives '2 4 6' f64 'Y = transform(S, scale(2.0))'
    gives '2 4 6' f64 'param k = 2.0' 'Y[i] = S[i] * k'
    define=k=2.0 gives '2 4 6' f64 'param k = 2' 'Y[i] = S[i] * k'
    define=k=2 gives '2 4 6' i32 'param k = 2.0' 'Y[i] = S[i] * k'
    gives '0 1 1' bool 'Y[i] = S[i] >= 2.0'
    # whole numbers stay whole
    gives '1 4 9' i32 'Y[i] = S[i] ^ 2'
    gives '2 4 6' i32 'Y = transform(S, scale(2))'
    gives '6' i64 'Y[] = sum 1 * S[i]'
}

@test "all whole numbers of 64 bits can be written, in tensors, tables, keys, params and -D" {
    gives '1 0 0' bool 'Y[i] = B[i] == 9223372036854775807'
    gives '0 1 0' bool 'Y[i] = B[i] == -9223372036854775808'
    gives '9007199254740993 7 9007199254740993' i64 'Y[i] = if(B[i] == -9223372036854775808, 7, 9007199254740993)'
    gives '9007199254740994 9007199254740995 9007199254740996' i64 'Y[i] = S[i] + 9007199254740993'
    gives '9007199254740994 9007199254740995 9007199254740996' i64 'Y[i] = S[i] + (9007199254740992 + 1)'
    gives '9007199254740994 9007199254740995 9007199254740996' i64 'Y = transform(S, x -> x + 9007199254740993)'
    gives '3 -9223372036854775808 -9223372036854775808' i64 'param k = -9223372036854775808' \
        'Y[i] = if(S[i] > 1, k, 3)'
    define=k=-9223372036854775808 gives '3 -9223372036854775808 -9223372036854775808' i64 'param k = 0' \
        'Y[i] = if(S[i] > 1, k, 3)'
    gives '1 2 3' i32 'Y = filter(S, (i) -> i < 9223372036854775807 && i > -9223372036854775808)'
    gives 'a,output,desc -9223372036854775808,1,2' '' 'Y = select(T, a == -9223372036854775808)'
    gives 'a,output,desc -9223372036854775808,1,2' '' 'param k = -9223372036854775808' 'Y = select(T, a == k)'
    refused 'smaller than -2^63' 'Y = select(T, a == -9223372036854775809)' 'output Y'
    refused 'larger than 2^63 - 1' 'Y = select(T, a == 9223372036854775808)' 'output Y'
    refused 'smaller than -2^63' 'Y = filter(S, (i) -> i > -9223372036854775809)' 'output Y'
}

@test "macros have names of their own: labels and parameters of functions are not those of the caller" {
    local gram='def gram(A, B, i, j) = A[n,i] * B[n,j]'
    gives '11.25,15 15,20' f64 "$gram" 'Y[n,m] = sum gram(F, F, n, m)'
    refused "label 'n' of a macro is not on the left" "$gram" 'Y[n,m] = gram(F, F, n, m)' 'output Y'
    gives '126.5625,225 225,400' f64 "$gram" 'Y[a,b] = sum gram(F, F, a, b) * gram(F, F, a, b)'
    gives '1.5,2 3,4' f64 'param i = 2' 'def below(X, n) = filter(X, (i, j) -> j < n)' 'Y = below(F, i)'
    gives '11 12 13' i32 'param x = 10' 'def plus(X, n) = transform(X, x -> x + n)' 'Y = plus(S, x)'
    gives '1 3 5' '' 'def up(X, i) = X[i] + index(i)' 'Y[j] = up(S, j)'
    gives '22.5,30 30,40' f64 'def gram(A, B, i, j) = sum[n](A[n,i] * B[n,j])' 'Y[n,m] = gram(F,F,n,m) + gram(F,F,m,n)'
    refused 'labels of a macro are its own' 'def sq(X) = X[i,j]^2' 'Y[i,j] = sq(F)' 'output Y'
}

@test "a param or a relation of rank 0 is not named like an aggregation; others are" {
    for word in sum mean max min prod argmax argmin; do
        refused "'$word' is the word of an aggregation" "param $word = 2.5" "Y[i] = $word - S[i]" 'output Y'
        refused "'$word' is the word of an aggregation" "$word[] = sum S[i]" 'output S'
        refused "'$word' is the word of an aggregation" "$word = det(F)" "output $word"
    done
    gives '3 5 7' i32 'mean[i] = S[i] * 2' 'Y[i] = mean[i] + 1'
    gives '0.5 1 1.5' f64 'def mean(X, i) = X[i] / 2' 'Y[i] = mean(S, i)'
}

@test "a term of a sum or product that lacks an aggregated label is refused with both ways to write it" {
    local b='b[j] = F[j,j]'
    refused 'write Y[i,k] = sum[j](F[i,j] * F[j,k]) + b[k], or, if that is meant, Y[i,k] = sum (F[i,j] * F[j,k] + b[k])' \
        "$b" 'Y[i,k] = sum F[i,j] * F[j,k] + b[k]' 'output Y'
    gives '9.75,15 18,26' f64 "$b" 'Y[i,k] = sum[j](F[i,j] * F[j,k]) + b[k]'
    gives '11.25,19 19.5,30' f64 "$b" 'Y[i,k] = sum (F[i,j] * F[j,k] + b[k])'
    refused "no label 'j': sum would add it once" 'Y[i] = sum F[i,j] - 1' 'output Y'
    refused "no label 'j': sum would add it once" 'Y[i] = sum (F[i,j]) - 1' 'output Y'
    refused "no label 'j': sum would add it once" 'Y[i] = sum index(i) + F[i,j]' 'output Y'
    refused "no label 'j': sum would add it once" 'T0[] = sum S[i]' 'Y[] = sum F[i,j] - F[i,i]' 'output Y'
    refused 'write Y[i] = 1 + prod[j](F[i,j] / 10)' 'Y[i] = prod 1 + F[i,j] / 10' 'output Y'
    refused "no label 'i': sum would add it once" 'T0[] = sum S[i]' 'Y[] = sum T0[] - S[i]' 'output Y'
    refused "no label 'j': sum" 'def g(X, i, j) = X[i,j] + 1' 'Y[i] = sum g(F, i, j) + 1' 'output Y'
    # one term, or terms that all have it, and aggregations that no term changes
    gives '7 14' f64 'Y[i] = sum F[i,j] * 2'
    gives '0' f64 'Y[] = sum F[i,j] - 2 * F[j,i] + F[i,j]'
    gives '5.5 9' f64 'def g(X, i, j) = X[i,j] + 1' 'Y[i] = sum g(F, i, j)'
    gives '3 5' f64 'Y[i] = max F[i,j] + 1'
}

@test "words that begin statements are names inside of brackets" {
    gives 'a,output,desc 5,3,1 9223372036854775807,2,5 -9223372036854775808,1,2' '' \
        'Y = order(T, [\n  output desc])'
    gives 'output,input,tensor 2,1,1 4,1,1 3,1,1' '' 'def one() = 1' \
        'Y = project(T,\n  output = output + 1,\n  input = one(),\n  tensor =\n  one())'
    # what is not indented ends a statement that is not closed
    printf 'input D from "%s"\nS = order(D, [\noutput S\n' "$BATS_FILE_TMPDIR/T.h5" >open.tra
    status 2 tra check open.tra
    [ "$(grep -c error: <<<"$output")" = 1 ]
    has "this '(' is not closed"
}
