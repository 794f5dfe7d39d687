/* weighted.h - two kernels by which a product with a matrix of a table's columns is computed on the table (rule Q-10,
 * plans/rules): weighted sums of columns, and an array's columns put beside those of a table.
 */
#ifndef TRA_TABLE_WEIGHTED_H
#define TRA_TABLE_WEIGHTED_H

#include "../kernel/kernel.h"
#include "table.h"

/* r: selects no rows; columns that are kept, then n of f64 that are never NULL. Column i of these is weighed by row
 * at[i] of the right operand, f64 of rank 2 or, of width 1, of rank 1, and the sums of that are `width` columns. */
typedef struct tra_weighted {
    const tra_rowwise *r;
    int nkept, n;
    const int *at;
    int width;
    /* The columns that are kept, then the sums; or NULL: an array [rows, width] of the sums, to which the columns that
     * are kept, f64 and never NULL, are added: column i to sum i % width. */
    const tra_schema *out;
} tra_weighted;

/* data: a tra_weighted. Of rows, and an array. */
extern const tra_rows_ops tra_weighted_ops;

/* data: the tra_schema of the result, which begins with the columns of the left operand: rows, and an array of f64 with
 * as many rows, whose columns the others are. */
extern const tra_rows_ops tra_beside_ops;

#endif
