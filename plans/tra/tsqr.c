/* tsqr.c - QR and singular value decompositions, and least squares, of matrices of many rows, by their row blocks:
 * TSQR.
 *
 * Each block of rows has its own Q and R. The R of several blocks, one below the other, are a matrix of fewer rows,
 * which is decomposed in the same way, level by level, until one block is left: its R is that of the whole. Q is found
 * from the last level back to the first one: the Q of each block is multiplied with its part of the Q of the next
 * level. For least squares the right sides are further columns of the matrix, so that R also has Q' times these. Which
 * blocks are combined follows from the extents alone, so that the bits do not depend on ranks or memory.
 *
 * Perhaps only the run tells how many rows a block has (of a matrix of selected rows). So what the kernels make of a
 * block (lib/kernel/tsqr.c) has the same extents whatever number of rows it has.
 *
 * Source: Demmel, Grigori, Hoemmen, Langou: Communication-optimal parallel and sequential QR and LU factorizations,
 * SIAM J. Sci. Comput. 34 (2012).
 */
#include "build.h"

#include <string.h>

enum {
    LEVELS = 64,   /* at most */
    TOGETHER = 4,  /* the R of at least so many blocks are decomposed together */
    COLUMNS = 8000 /* at most: LAPACK counts in int */
};

/* n transformed by a kernel; NULL if either is NULL. */
static tra_node *map(tra_tall *t, tra_node *n, const tra_kernel *k) {
    tra_node fields = {.in = {n}, .kernel = k};
    return n && k ? tra_build_made(t->b, TRA_OP_TRANSFORM, t->span, &fields) : NULL;
}

static tra_node *map_by(tra_tall *t, tra_node *n, const char *name) {
    return map(t, n, tra_build_kernel_named(t->b, t->span, name, TRA_USE_MAP, 0, 0));
}

/* The matrix in blocks of so many whole rows; rows that only the run counts stay in their blocks. */
static tra_node *in_row_blocks(tra_tall *t, tra_node *n, int64_t rows) {
    tra_dims shape;
    if (!n || n->type.bounded) return n;
    tra_type_shape(&n->type, &shape);
    tra_node fields = {.in = {n}, .block = shape};
    fields.block.v[0] = tra_min64(rows, shape.v[0]);
    if (n->type.cat->grid && tra_dims_eq(&n->type.cat->bound, &fields.block)) return n;
    return tra_build_made(t->b, TRA_OP_REPART, t->span, &fields);
}

/* Each block of l with the block of r that has the same keys. */
static tra_node *join_blocks(tra_tall *t, tra_node *l, tra_node *r, const char *kernel) {
    tra_node fields = {.in = {l, r},
                       .kernel = l && r ? tra_build_kernel_named(t->b, t->span, kernel, TRA_USE_JOIN, 0, 0) : NULL};
    if (!fields.kernel) return NULL;
    int rank = r->type.cat->bound.n;
    fields.join.l = fields.join.r = (tra_dims){.n = rank, .v = {0, 1}};
    return tra_build_made(t->b, TRA_OP_JOIN, t->span, &fields);
}

/* How many rows blocks of the first level have: as many as they have, but enough that R is smaller than a block. */
static int64_t rows_of_block(const tra_node *a, const tra_dims *shape) {
    int64_t n = shape->v[1], have = a->type.cat->bound.v[0];
    return have >= 2 * n ? have : TOGETHER * n;
}

bool tra_is_tall(const tra_node *a) {
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(&a->type, &why) || a->type.cat->bound.n != 2) return false;
    tra_type_shape(&a->type, &shape);
    if (a->type.bounded) return a->type.bounded == 1 && a->type.cat->frontier.v[1] == 1;
    return shape.v[1] > 0 && shape.v[1] <= COLUMNS && shape.v[0] > rows_of_block(a, &shape);
}

/* The matrix, dense, in blocks of so many whole rows. */
static tra_node *dense_row_blocks(tra_tall *t, tra_node *a, int64_t rows) {
    return in_row_blocks(t, tra_build_dense(t->b, a, t->span), rows);
}

/* Combines the R of all blocks of the first level, of w columns each, to one, and gives that to the kernel `last`.
 * rows: of the blocks of the first level. q (if not NULL) gets the Q of each level from the second one on. */
static tra_node *combine_r(tra_tall *t, tra_node *r, int64_t w, int64_t rows, const tra_kernel *last, tra_node **q,
                           int *levels) {
    int64_t group = tra_max64(TOGETHER, rows / tra_max64(1, w)) * w;
    for (*levels = 1; r && *levels < LEVELS;) {
        r = in_row_blocks(t, r, group);
        bool end = r && r->type.cat->n == 1;
        if (q) q[(*levels)++] = map_by(t, r, end ? "tall_end_q" : "tall_more_q");
        if (end) return map(t, r, last);
        r = map_by(t, r, "tall_more_r");
    }
    return NULL;
}

/* The product of the Q of all levels, and of a matrix x of n rows, if that is not NULL. */
static tra_node *multiply_q(tra_tall *t, tra_node *const *q, int levels, tra_node *x, int64_t n) {
    tra_node *below = q[levels - 1];
    if (x) below = join_blocks(t, below, x, "matmul");
    for (int i = levels - 2; i >= 0; i--) below = join_blocks(t, q[i], in_row_blocks(t, below, n), "matmul");
    return below;
}

tra_node *tra_build_tall(tra_tall *t, tra_node *a, const char *result) {
    tra_node *q[LEVELS] = {NULL};
    tra_dims shape;
    int levels;
    bool wants_q = strcmp(result, "qr_q") == 0 || strcmp(result, "svd_u") == 0;
    tra_type_shape(&a->type, &shape);
    int64_t n = shape.v[1], rows = rows_of_block(a, &shape);
    a = dense_row_blocks(t, a, rows);
    if (wants_q) q[0] = map_by(t, a, "tall_q");
    tra_node *r =
        combine_r(t, map_by(t, a, "tall_r"), n, rows,
                  tra_build_kernel_named(t->b, t->span, "tall_end_r", TRA_USE_MAP, 0, 0), wants_q ? q : NULL, &levels);
    if (!r || strcmp(result, "qr_r") == 0) return r;
    if (strcmp(result, "qr_q") == 0) return multiply_q(t, q, levels, NULL, n);
    tra_node *part = map_by(t, r, result);
    return wants_q && part ? multiply_q(t, q, levels, part, n) : part;
}

tra_node *tra_build_least(tra_tall *t, tra_node *a, tra_node *b) {
    tra_dims shape, right;
    int levels;
    tra_type_shape(&a->type, &shape);
    tra_type_shape(&b->type, &right);
    int64_t w = shape.v[1] + (right.n == 2 ? right.v[1] : 1), rows = tra_max64(rows_of_block(a, &shape), 2 * w);
    tra_node *r = join_blocks(t, dense_row_blocks(t, a, rows), dense_row_blocks(t, b, rows), "tall_r");
    bool narrow = tra_dtype_join(a->type.dtype, b->type.dtype) == TRA_F32;
    const tra_kernel *last = tra_build_kernel_named(t->b, t->span, narrow ? "tall_end_x32" : "tall_end_x", TRA_USE_MAP,
                                                    1, right.n == 2 ? (double)right.v[1] : 0);
    if (last && a->labels) last = tra_kernel_labelled(t->b->arena, last, a->labels[1]);
    return combine_r(t, r, w, rows, last, NULL, &levels);
}
