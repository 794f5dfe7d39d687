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

/* The numbers at[0..n) of rows of b in the order of these columns, stably; spare has room for as many. desc may be
 * NULL. */
void tra_order_rows(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                    int64_t *spare);
/* Are rows i and j equal in these columns? */
bool tra_rows_equal(const tra_batch *b, int ncolumns, const int *column, int64_t i, int64_t j);
/* Rows at[0..n) of a batch, to rows [0..n) of columns of the same types. */
void tra_take_rows(const tra_batch *from, const int64_t *at, int64_t n, tra_batch *to);
/* Is there a value among these columns that could not be computed? Then its row, else -1. */
int64_t tra_find_error(const tra_batch *b, int column);

#endif
