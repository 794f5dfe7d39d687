/* border.h - tensors back as tables, and tables as tensors by the values of two columns.
 *
 * The operands and results are cells, dense or held by their entries. An element of what is sparse by type is an entry
 * where it is not 0, however it is held.
 *
 * Source: Wen, TensorTable, TBench 2024, section 4 (conversions between tensors and tables).
 */
#ifndef TRA_TABLE_BORDER_H
#define TRA_TABLE_BORDER_H

#include "../kernel/kernel.h"
#include "../relation/labels.h"

/* The columns of a tensor of that rank: first those of the labels (entries: one of each dimension, positions where it
 * has no labels; table: of the rows, where these have labels), then the values (entries: one column; table: one, or of
 * a matrix one of each of its columns). */
typedef struct tra_border {
    int rank;
    bool sparse; /* by type */
    const tra_dim_labels *label[TRA_MAXDIM];
    const tra_schema *out;
} tra_border;

/* data: a tra_border. The right operand, where there is one, is an i64 array whose first element is the position of the
 * block's first row. A row of each element, or entry, in row-major order; and a row of each row. */
extern const tra_rows_ops tra_entries_ops, tra_unmatrix_ops;

#endif
