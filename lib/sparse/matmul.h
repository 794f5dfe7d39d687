/* matmul.h - the product of two matrices that are rows of entries, row by row of the result (Gustavson's order): what
 * every product of two sparse operands comes to, whatever its labels. Pieces of the result's rows are shared by all
 * threads. Products are added to an element's state in the order of the
 * outer matrix's columns, however the work is cut. */
#ifndef TRA_SPARSE_MATMUL_H
#define TRA_SPARSE_MATMUL_H

#include "project.h"

/* Both matrices may have several entries at one place. An entry of value 0 meets finite numbers alone. */
typedef struct tra_matmul {
    tra_dtype t;                /* of both, and in which is computed: f64, f32, i64 */
    tra_rows_view a, b;         /* outer: row, shared; inner: shared, place */
    tra_scalar_op fold;         /* ADD, MAX or MIN */
    int64_t shared, box;        /* how many shared coordinates, and places of a row, there are */
    int64_t rows_each, columns; /* row r, place p is row r*rows_each + p/columns, column p%columns of the result */
    const tra_cell *state;      /* rows of the result, of type t or bool, that are one term more; NULL */
    const tra_unary *after;     /* of each element */
    int64_t from, to;           /* rows of the outer matrix that are computed */
    int64_t each;               /* of them: of one coordinate of the result's first dimension */
    int64_t *known; /* the two rows of the outer matrix between which room knows the products; equal: it knows none */
} tra_matmul;

/* Bytes of room for an outer matrix of at most so many rows and an inner one of so many entries; of scratch of each
 * piece. */
int64_t tra_matmul_room(int64_t rows, int64_t entries, int64_t shared);
int64_t tra_matmul_scratch(int64_t box);
/* Makes the result. out->enough: see there. */
void tra_matmul_run(const tra_matmul *m, tra_cell *out, void *room, void *scratch);

/* ---- operands as matrices (matrices.c) ------------------------------------------------------------------------- */

/* tra_prefix_in: how many of the result's first labels operand o has, but the last. tra_in_order: are these its own
 * first ones in this order, if it is rows? tra_outer_of: which operand is the outer one: that of more labels of the
 * result, rows (rows[o]) and what is in order before others. */
int tra_prefix_in(const tra_contraction *x, int o);
bool tra_in_order(const tra_contraction *x, int o, int np);
int tra_outer_of(const tra_contraction *x, const bool *rows);
int64_t tra_entries_of(const tra_cell *c); /* or elements */

/* How the operands of a contraction are matrices. */
typedef struct tra_matrices {
    const tra_contraction *x;
    int outer, np;      /* the outer operand; how many of the result's first labels number its rows */
    tra_route route[2]; /* of the outer and the inner operand */
    int64_t parts, shared, box, rows_each, columns;
    bool natural[2]; /* the entries of the outer and the inner one are in that order as they are */
} tra_matrices;
/* False: they are none, as the outer operand has labels of the result besides the first ones, or numbers are too
 * large. */
bool tra_matrices_of(const tra_contraction *x, int outer, int np, const tra_dims *out, tra_matrices *m);
/* Bytes of room for the operands of products that are added up, with so many entries in all: outer, inner; shared: of
 * all. */
int64_t tra_matrices_room(const tra_matrices *m, int64_t shared, const int64_t entries[2]);
/* Makes the sum of n products, as tra_rows_product does, and of a state as in tra_matmul. The products agree in parts
 * and box. Pieces use the first tra_matmul_scratch bytes of their thread's scratch. again: room is as a call with the
 * same operands left it, which need not be there any more unless n is 1. */
void tra_matrices_sum(const tra_matrices *m, int n, const tra_unary *after, const tra_cell *state, tra_cell *out,
                      bool again, void *room, void *scratch);

#endif
