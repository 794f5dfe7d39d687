/* contract.h - what contractions into dense arrays and into rows share. */
#ifndef TRA_SPARSE_CONTRACT_H
#define TRA_SPARSE_CONTRACT_H

#include "sparse.h"

/* Labels are numbered as in p. */
typedef struct tra_contraction {
    tra_product p;
    const tra_cell *in[2];
    tra_array *out;
    tra_dtype t;        /* in which is computed: f64, f32, i64 */
    tra_scalar_op fold; /* over the labels that the result does not have */
    const tra_row_loops *loops;
    int64_t extent[2 * TRA_MAXDIM], from[2 * TRA_MAXDIM], to[2 * TRA_MAXDIM]; /* of the tile: within the extents */
    int64_t s[2][2 * TRA_MAXDIM], sc[2 * TRA_MAXDIM]; /* strides in operands (as if dense) and the result */
    bool has[2][2 * TRA_MAXDIM];                      /* which labels operands have */
} tra_contraction;
void tra_contraction_of(tra_contraction *x, const tra_kernel *step, const tra_cell *a, const tra_cell *b,
                        tra_array *out, int tile);

/* Sets at[] to the values of the labels of row `number` of operand o, which is held as rows, but the last. False: the
 * row is not in the tile, or a label that the operand has twice has two values. */
bool tra_row_at(const tra_contraction *x, int o, int64_t number, int64_t *at);
/* Sets *first and *end to the entries of the row at place r that are in the tile, and on the diagonal where the
 * operand has its last label twice. */
void tra_entries_at(const tra_contraction *x, int o, const tra_rows_view *v, int64_t r, const int64_t *at,
                    int64_t *first, int64_t *end);
/* Sets *first and *end to a range of rows that has all rows of the tile. */
void tra_row_range(const tra_contraction *x, int o, const tra_rows_view *v, int64_t *first, int64_t *end);

/* Entries of a row, none of them 0, with values of type t. */
typedef struct tra_row_part {
    const uint32_t *column;
    const void *value;
    int64_t n;
    double own[TRA_STRIP];
    uint32_t columns[TRA_STRIP];
} tra_row_part;
void tra_row_values(const void *value, tra_dtype from, const uint32_t *column, int64_t first, int64_t n, tra_dtype t,
                    tra_row_part *part);

/* Each row of a view makes `width` elements of the result, one after the other in its order: element j is the sum of
 * v[k] inner[column[k] * step + j]. */
typedef struct tra_lines_of {
    tra_rows_view v;
    tra_dtype t; /* of all: f64, f32, i64 */
    const void *inner;
    int64_t step, width, columns; /* columns: of the result */
    bool sparse;                  /* a 0 of the inner operand adds nothing, as an entry of value 0 does */
} tra_lines_of;
void tra_rows_lines(const tra_lines_of *of, tra_cell *out);

/* Both operands are rows. */
void tra_contract_pairs(const tra_contraction *x, void *scratch);

#endif
