/* tensor_rows.h - tensors back as tables, and tables as tensors by the values of two columns.
 *
 * The operands and results are cells, dense or held by their entries. An element of what is sparse by type is an entry
 * where it is not 0, however it is held.
 *
 * Source: Wen, TensorTable, TBench 2024, section 4 (conversions between tensors and tables).
 */
#ifndef TRA_TABLE_TENSOR_ROWS_H
#define TRA_TABLE_TENSOR_ROWS_H

#include "../kernel/kernel.h"
#include "../model/labels.h"
#include "group.h"

/* The columns of a tensor of that rank: first those of the labels (entries: one of each dimension, positions where it
 * has no labels; table: of the rows, where these have labels), then the values (entries: one column; table: one, or of
 * a matrix one of each of its columns). */
typedef struct tra_border {
    int rank;
    bool sparse; /* by type */
    const tra_dim_labels *label[TRA_MAXDIM];
    int64_t
        origin[TRA_MAXDIM]; /* entries: of what the operand is a slice of, where it begins along all but the first */
    const tra_schema *out;
} tra_border;

/* data: a tra_border. The right operand, where there is one, is an i64 array of the positions of the block's rows. A
 * row of each element, or entry, in row-major order; and a row of each row. */
extern const tra_rows_ops tra_entries_ops, tra_unmatrix_ops;

/* Of a block of a vector or matrix the rows, or the columns as rows, that stand at the positions on the left (i64): a
 * join of these with the block, which begins at a multiple of `block`. Positions ascend. */
typedef struct tra_gather {
    int dim; /* along which the positions count; of a vector 0 */
    int64_t block;
} tra_gather;
extern const tra_rows_ops tra_gather_ops;

/* Of an array the positions along a dimension that a list says, in its order: a join of a block that is whole along it,
 * or has just what a block of the result takes, with the positions of that block (i64). */
typedef struct tra_take {
    int dim;
    const int64_t *from; /* for each position of the result that of the array, -1: there is none */
    double fill;         /* what then stands there */
    bool cut;            /* a block begins at the first position that is taken of it */
} tra_take;
extern const tra_rows_ops tra_take_ops;

/* A dimension of a pivot: where the values of a key stand along it. */
typedef struct tra_pivot_key {
    int64_t n;            /* values, which are all that the key may have */
    const int32_t *place; /* of strings and texts: of each code; NULL: itself */
    const int64_t *whole; /* else: the values, ascending */
} tra_pivot_key;

/* Of rows that are ordered by two keys, and have each pair of them once: a matrix, sparse by type, with the value of a
 * pair at their places. data: a tra_pivot. NULL keys and NULL values are errors (TRA_INPUT). */
typedef struct tra_pivot {
    const tra_schema *in; /* two keys, and the value */
    tra_pivot_key key[2];
    const char *value; /* "std(v)": what it is, and what to do where it is NULL, for messages */
    const char *hint;
} tra_pivot;
extern const tra_rows_ops tra_pivot_ops;

/* Of rows with keys, a column and a value, which have each pair of these once: the states of groups by the keys, whose
 * aggregates are the first values of the column's values. data: a tra_pivot_wide. */
enum { TRA_PIVOT_KEYS = 64 };
typedef struct tra_pivot_wide {
    const tra_schema *in; /* keys, TRA_PIVOT_KEYS at most, the column, the value */
    tra_pivot_key key;    /* of the column */
    const tra_group *g;
    int64_t most; /* groups */
} tra_pivot_wide;
extern const tra_rows_ops tra_pivot_wide_ops;
/* The same for a block of rows of the matrix, of rows that are a part of all: a join of the positions of the block's
 * rows (i64) with these. What a part has no entries for is 0. */
extern const tra_rows_ops tra_pivot_block_ops;

#endif
