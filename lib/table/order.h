/* order.h - the order of rows. Private to lib/table. */
#ifndef TRA_TABLE_ORDER_H
#define TRA_TABLE_ORDER_H

#include "table.h"

/* How two values of a column compare: NULL is last whatever `desc` says, NaN greatest, -0 as 0, strings by bytes. */
int tra_value_compare(const tra_column *c, const tra_vector *v, int64_t i, int64_t j, bool desc);

/* Rows by these columns; NULL: by the first ones. */
typedef struct tra_row_view {
    const tra_batch *b;
    const int *column;
} tra_row_view;
/* How row i of x and row j of y compare by n columns each, of the same types and dictionaries. desc may be NULL. */
int tra_rows_compare(const tra_row_view *x, int64_t i, const tra_row_view *y, int64_t j, int n, const bool *desc);

/* Are strings looked up to compare rows by these columns (NULL: the first n)? Then codes must be checked before. */
bool tra_order_looks_up(const tra_schema *s, int n, const int *column);

/* The numbers at[0..n) of rows of b in the order of these columns, stably; spare has room for TRA_ORDER_SPARE times as
 * many. desc may be NULL. */
enum { TRA_ORDER_SPARE = 2 };
void tra_order_rows(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                    int64_t *spare);
/* The same where strings need not be looked up (radix.c). */
void tra_order_by_digits(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                         int64_t *spare);
/* Words that are ordered as the first n rows are by these columns, equal where rows are, below 2 to the number of bits
 * that is returned; -1 where that would be more than `most`, or strings must be looked up. at, other: n words each that
 * are overwritten, the first with 0, 1, ... n - 1. */
int tra_order_codes(const tra_batch *b, int ncolumns, const int *column, int64_t n, int most, uint64_t *word,
                    int64_t *at, uint64_t *other);
/* Of sorted rows at[0..n) where those begin that differ from the ones before, and n; how many. begin: n + 1, and one at
 * least. */
int64_t tra_order_runs(const tra_batch *b, int ncolumns, const int *column, const int64_t *at, int64_t n,
                       int64_t *begin);
/* Are rows i and j equal in these columns? */
bool tra_rows_equal(const tra_batch *b, int ncolumns, const int *column, int64_t i, int64_t j);
/* Rows at[0..n) of a batch, to rows [0..n) of columns of the same types. */
void tra_take_rows(const tra_batch *from, const int64_t *at, int64_t n, tra_batch *to);
/* Is there a value among these columns that could not be computed? Then its row, else -1. */
int64_t tra_find_error(const tra_batch *b, int column);
/* Fails (tra_kernel_fail) when a value of n columns (NULL: of the first n) could not be computed, naming the first row,
 * by its number in the table where the cell that the rows are of knows it; what: "by which rows are ordered". */
void tra_refuse_errors(const tra_cell *of, const tra_batch *b, int n, const int *column, const char *what);

#endif
