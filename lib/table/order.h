/* order.h - the order of rows. Private to lib/table. */
#ifndef TRA_TABLE_ORDER_H
#define TRA_TABLE_ORDER_H

#include "table.h"

/* How two values of a column compare: NULL is last whatever `desc` says, NaN greatest, -0 as 0, strings by bytes. */
int tra_value_compare(const tra_column *c, const tra_vector *v, int64_t i, int64_t j, bool desc);

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
