/* order.h - the order of rows. Private to lib/table. */
#ifndef TRA_TABLE_ORDER_H
#define TRA_TABLE_ORDER_H

#include "table.h"

/* How two values of a column compare: NULL is last whatever `desc` says, NaN greatest, -0 as 0, strings by bytes. */
int tra_value_compare(const tra_column *c, const tra_vector *v, int64_t i, int64_t j, bool desc);

/* The same of values of two vectors of the column, ascending. */
int tra_values_compare(const tra_column *c, const tra_vector *v, int64_t i, const tra_vector *w, int64_t j);

/* Rows by these columns; NULL: by the first ones. */
typedef struct tra_row_view {
    const tra_batch *b;
    const int *column;
} tra_row_view;
/* How row i of x and row j of y compare by n columns each, of the same types and dictionaries. desc may be NULL. */
int tra_rows_compare(const tra_row_view *x, int64_t i, const tra_row_view *y, int64_t j, int n, const bool *desc);

/* Are strings looked up to compare rows by these columns (NULL: the first n)? Then codes must be checked before. */
bool tra_order_looks_up(const tra_schema *s, int n, const int *column);

/* Sorts the numbers at[0..n) of rows of b by these columns, stably; spare has room for TRA_ORDER_SPARE * n words. desc
 * may be NULL. */
enum { TRA_ORDER_SPARE = 2 };
void tra_order_rows(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                    int64_t *spare);
/* The same where strings need not be looked up (radix.c). */
void tra_order_by_digits(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                         int64_t *spare);
/* Gives each of the first n rows a word, such that words are equal where rows are in these columns, and compare as rows
 * do unless strings must be looked up (tra_order_looks_up). Returns how many bits the words have; -1 where these would
 * be more than `most`. other has n words, which are overwritten. */
int tra_order_codes(const tra_batch *b, int ncolumns, const int *column, int64_t n, int most, uint64_t *word,
                    uint64_t *other);
/* Finds the runs of equal rows among sorted rows at[0..n): sets begin[0..runs) to where each begins in `at`, and
 * begin[runs] to n; returns the number of runs. begin has room for n + 1 numbers. */
int64_t tra_order_runs(const tra_batch *b, int ncolumns, const int *column, const int64_t *at, int64_t n,
                       int64_t *begin);
/* Are rows i and j equal in these columns? */
bool tra_rows_equal(const tra_batch *b, int ncolumns, const int *column, int64_t i, int64_t j);
/* Rows at[0..n) of a batch, to rows [0..n) of columns of the same types. */
void tra_take_rows(const tra_batch *from, const int64_t *at, int64_t n, tra_batch *to);
/* Fails (tra_kernel_fail) when a value of n columns (NULL: of the first n) could not be computed, naming the first row,
 * by its number in the table where the cell that the rows are of knows it; what: "by which rows are ordered". */
void tra_refuse_errors(const tra_cell *of, const tra_batch *b, int n, const int *column, const char *what);

#endif
