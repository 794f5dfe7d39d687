/* operator_help.c - the table of operators. */
#include "function_help.h"

#include <stddef.h>
#include <string.h>

#define TABLES  "tra-table(5)"
#define TENSORS "tra-lang(5)"

static const tra_operator_help rows[] = {
    {"select", "select(T, km > 2 && who != \"ann\")", "the rows that fulfil a condition", TABLES},
    {"project", "project(T, a, b = x + y, *)", "these columns, in this order; * is all others, drop(c) takes away",
     TABLES},
    {"join", "join(L, R, a == b && c == d, how = left)", "pairs of rows that fulfil a condition; asof: the last before",
     TABLES},
    {"cross", "cross(L, R)", "all pairs of rows", TABLES},
    {"group", "group(T, [a, m = month(day)], n = count(), mean(x))", "a row for each value of the keys", TABLES},
    {"window", "window(T, [a], [day], r = rank(), s = sum(x), frame = rows(-2, 0))",
     "all rows, with columns computed over the rows around each", TABLES},
    {"order", "order(T, [a, b desc])", "the rows in this order", TABLES},
    {"limit", "limit(T, 10)", "the first rows", TABLES},
    {"distinct", "distinct(T, [a, b])", "one row for each value of the keys; order = [..], keep = last choose it",
     TABLES},
    {"union", "union(A, B)", "the rows of both, by the names of their columns", TABLES},
    {"sample", "sample(T, 0.1, seed = 1)", "some rows: a share, or n = 100 of them", TABLES},
    {"pivot", "pivot(T, [key], column, value, sum)",
     "a column for each value of a column; pivot(T, row, column, value, sum) is a matrix", TABLES},
    {"unpivot", "unpivot(T, [a, b], name = month, value = sales)", "a row for each of these columns", TABLES},
    {"explode", "explode(T, tags, \";\")", "a row for each part of a string", TABLES},
    {"ffill", "ffill(T, [key], [order], a, b)", "NULLs get the last value before", TABLES},
    {"bfill", "bfill(T, [key], [order], a, b)", "NULLs get the next value", TABLES},
    {"series", "series(date \"2024-01-01\", date \"2024-12-31\", days(1), name = day)",
     "a table of numbers or times in steps", TABLES},
    {"matrix", "matrix(T, [a, b], fill = 0)", "a matrix of columns; [*] is all, onehot(c) a column for each value",
     TABLES},
    {"rows", "rows(T)", "the number of rows", TABLES},
    {"table", "table(X)", "the rows of a matrix as those of a table", TABLES},
    {"entries", "entries(X)", "a row for each element, with its place", TABLES},
    {"label", "label(X, d, T, column)", "X with a column of T as what the positions of dimension d stand for", TABLES},
    {"unlabel", "unlabel(X, d)", "X without the labels of dimension d", TABLES},
    {"align", "align(X, d, Y, e, fill = v)", "X in the order of the labels of Y", TABLES},
    {"slice", "slice(X, [0:10, :])", "a part of a tensor; [0:10:2] goes in steps", TENSORS},
    {"stack", "stack(A, B, 0)", "A, and B after it along a dimension", TENSORS},
    {"transpose", "transpose(A)", "A with its dimensions turned", TENSORS},
    {"diag", "diag(A)", "the diagonal of a matrix, or the matrix with this diagonal", TENSORS},
    {"trace", "trace(A)", "the sum of the diagonal", TENSORS},
    {"norm", "norm(A)", "the root of the sum of squares", TENSORS},
    {"softmax", "softmax(X)", "exp(x) of each element by the sum along the last dimension", TENSORS},
    {"topk", "values, places = topk(X, k)", "the greatest k of each row, or the least: topk(X, k, least)", TENSORS},
    {"solve", "X = solve(A, B)", "A X = B; least squares where A has more rows than columns", TENSORS},
    {"inverse", "inverse(A)", "the inverse", TENSORS},
    {"det", "det(A)", "the determinant", TENSORS},
    {"cholesky", "cholesky(A)", "L, lower, with L L' = A", TENSORS},
    {"eigh", "w, V = eigh(A)", "eigenvalues and eigenvectors of a symmetric matrix", TENSORS},
    {"qr", "Q, R = qr(A)", "A = Q R, with R upper", TENSORS},
    {"svd", "U, s, V = svd(A)", "singular values and vectors: A = U diag(s) V'", TENSORS},
    {"gen", "gen(uniform, [3, 4], seed = 1)", "a tensor made of zero, a number, identity, range, uniform or normal",
     TENSORS},
    {"store", "store(X, csr)", "X in another storage", "tra-storage(5)"},
    {"join", "join(L, R, [0], [1], \"ij,jk->ik\")", "of tensors: pairs of arrays whose keys are equal", TENSORS},
    {"agg", "agg(X, [0], matadd)", "arrays with the same keys become one", TENSORS},
    {"rekey", "rekey(X, (i, j) -> (j, i))", "other keys", TENSORS},
    {"filter", "filter(X, (i, j) -> i < j)", "the arrays whose keys fulfil a condition", TENSORS},
    {"transform", "transform(X, kernel)", "a function of each array", TENSORS},
    {"tile", "tile(X, 0, 100)", "each array cut in tiles, which a new key counts", TENSORS},
    {"concat", "concat(X, 1, 0)", "arrays joined along a dimension, which a key counted", TENSORS},
    {"repart", "repart(X, [2, 2])", "the same tensor in this many blocks", TENSORS},
    {"reblock", "reblock(X, [500, 500])", "the same tensor in blocks of these extents", TENSORS},
};

int tra_operator_helps(const tra_operator_help **v) {
    *v = rows;
    return (int)(sizeof rows / sizeof *rows);
}

const tra_operator_help *tra_operator_help_find(const char *name, int from) {
    for (size_t i = (size_t)from; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}
