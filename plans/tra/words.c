/* words.c - what words of other languages are called here. */
#include "build.h"

#include <math.h>
#include <string.h>

bool tra_build_named_number(const char *name, double *v) {
    static const struct {
        const char *name;
        double v;
    } numbers[] = {{"nan", NAN}, {"inf", INFINITY}, {"pi", 3.14159265358979323846}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, name) == 0) return *v = numbers[i].v, true;
    return false;
}

const char *tra_build_named_here(const char *function) {
    static const char *const meant[][2] = {
        {"where", "write if(c, a, b)"},
        {"ifelse", "write if(c, a, b)"},
        {"case", "write if(c, a, b)"},
        {"avg", "write mean(x)"},
        {"average", "write mean(x)"},
        {"ln", "write log(x)"},
        {"log2", "write log(x) / log(2)"},
        {"cbrt", "write x^(1/3)"},
        {"square", "write x^2"},
        {"coalesce", "write ifnull(x, y)"},
        {"nvl", "write ifnull(x, y)"},
        {"isna", "write isnull(x), or isnan(x) for a NaN"},
        {"stddev", "write std(x)"},
        {"sd", "write std(x)"},
        {"variance", "write var(x)"},
        {"power", "write pow(x, y) or x^y"},
        {"len", "write length(x)"},
        {"int", "write trunc(x), or a div b"},
        {"float", "write x * 1.0"},
        {"fabs", "write abs(x)"},
        {"maximum", "write max(x, y)"},
        {"minimum", "write min(x, y)"},
        {"datediff", "write a - b, and compare with days(3) or hours(5)"},
        {"dateadd", "write t + days(3) or t + hours(5)"},
        {"interval", "write seconds(5), minutes(5), hours(5), days(1) or weeks(1)"},
        {"now", "a program has no clock: param now = .., and -D now=.."},
        {"lag", "number(keys) numbers the rows, and a join with row number - 1 brings the row before"},
        {"lead", "number(keys) numbers the rows, and a join with row number + 1 brings the next row"},
        {"rank", "number(keys) numbers groups of rows in the order of the keys, from 0"},
        {"row_number", "number(keys) numbers rows in the order of the keys, from 0"},
        {"cumsum", "join the table with itself on rows that are not later, and group"},
    };
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
        if (strcmp(meant[i][0], function) == 0) return meant[i][1];
    return NULL;
}

const char *tra_build_operator_here(const char *name) {
    static const char *const meant[][2] = {
        {"sort", "write order(T, [a, b desc])"},
        {"sort_by", "write order(T, [a, b desc])"},
        {"orderby", "write order(T, [a, b desc])"},
        {"order_by", "write order(T, [a, b desc])"},
        {"arrange", "write order(T, [a, b desc])"},
        {"unique", "write distinct(T, [a, b])"},
        {"dedup", "write distinct(T, [a, b])"},
        {"drop_duplicates", "write distinct(T, [a, b])"},
        {"rename", "write project(T, new = old, *)"},
        {"drop", "write project(T, drop(a, b))"},
        {"mutate", "write project(T, *, new = a + b)"},
        {"assign", "write project(T, *, new = a + b)"},
        {"with_columns", "write project(T, *, new = a + b)"},
        {"head", "write limit(T, 10)"},
        {"tail", "write limit(order(T, [a desc]), 10)"},
        {"top", "write limit(order(T, [a desc]), 10), or v, p = topk(X, k) of a tensor"},
        {"where", "write select(T, a > 0 && b < 1)"},
        {"sample", "write select(T, hash(key) % 100 == 0)"},
        {"groupby", "write group(T, [key], n = count(), m = mean(x))"},
        {"group_by", "write group(T, [key], n = count(), m = mean(x))"},
        {"summarise", "write group(T, [key], n = count(), m = mean(x))"},
        {"summarize", "write group(T, [key], n = count(), m = mean(x))"},
        {"aggregate", "write group(T, [key], n = count(), m = mean(x))"},
        {"value_counts", "write group(T, [key], n = count())"},
        {"count", "write rows(T), or group(T, [key], n = count())"},
        {"merge", "write join(L, R, a == b)"},
        {"merge_asof", "write join(L, R, key == key, asof = L.t >= R.t)"},
        {"asof_join", "write join(L, R, key == key, asof = L.t >= R.t)"},
        {"join_asof", "write join(L, R, key == key, asof = L.t >= R.t)"},
        {"left_join", "write join(L, R, a == b, how = left)"},
        {"over", "write window(T, [k], [t], r = row_number(), s = sum(x))"},
        {"partition", "write window(T, [k], [t], r = row_number(), s = sum(x))"},
        {"append", "write union(A, B)"},
        {"rbind", "write union(A, B)"},
        {"vstack", "write stack(A, B, 0), or union(A, B) of tables"},
        {"hstack", "write stack(A, B, 1)"},
        {"melt", "write entries(matrix(T, [a, b])), a row for each element"},
        {"unpivot", "write entries(matrix(T, [a, b])), a row for each element"},
        {"pivot_table", "write pivot(T, row, column, value, sum)"},
        {"dot", "write C[i,k] = sum A[i,j] * B[j,k]"},
        {"matmul", "write C[i,k] = sum A[i,j] * B[j,k]"},
        {"einsum", "write C[i,k] = sum A[i,j] * B[j,k]"},
        {"inv", "write inverse(A)"},
        {"pinv", "write solve(A, B): least squares where A has more rows than columns"},
        {"lstsq", "write solve(A, B): least squares where A has more rows than columns"},
        {"eig", "write w, V = eigh(A), of a symmetric matrix"},
        {"chol", "write cholesky(A)"},
        {"zeros", "tra gen makes tensors of numbers: man tra-gen"},
        {"ones", "tra gen makes tensors of numbers: man tra-gen"},
        {"random", "tra gen makes tensors of numbers: man tra-gen"},
        {"eye", "write I[i,j] = if(index(i) == index(j), 1, 0 * A[i,j])"},
    };
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
        if (strcmp(meant[i][0], name) == 0) return meant[i][1];
    const char *function = tra_build_named_here(name);
    return function && tra_is_aggregation(name) ? NULL : function;
}
