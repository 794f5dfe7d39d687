/* kernels.h - what the executor calls for kernels on rows (tra_rows_kernel): cells of the layout tra_columns in, cells
 * of rows, of counted or of dense arrays out.
 */
#ifndef TRA_TABLE_KERNELS_H
#define TRA_TABLE_KERNELS_H

#include "../kernel/kernel.h"
#include "table.h"

/* data: a tra_rowwise. As a join the right operand is an i64 array whose first element is the number of the first row
 * (row()). */
extern const tra_rows_ops tra_rowwise_ops;
/* The number of rows, an i64 of rank 0; data: none. */
extern const tra_rows_ops tra_rows_count_ops;

#endif
