/* tall.c - QR and singular value decompositions, and least squares, of matrices of many rows, by their row blocks:
 * TSQR.
 *
 * Each block of rows has its own Q and R; the R of several blocks, one below the other, are a matrix of fewer rows,
 * which is decomposed in the same way, until one block is left, whose R is that of the whole. Q follows downwards: each
 * block's own Q times its part of the Q of the level above. Of least squares the right sides stand beside the matrix,
 * so that R has Q' times them too. Which blocks come together follows from the extents alone, so that the bits do not
 * depend on ranks or memory.
 *
 * How many rows a block has only the run may tell (of a matrix of selected rows): what the kernels make of blocks
 * (lib/kernel/tall.c) is as large whatever they have.
 *
 * Source: Demmel, Grigori, Hoemmen, Langou: Communication-optimal parallel and sequential QR and LU factorizations,
 * SIAM J. Sci. Comput. 34 (2012).
 */
#include "linear.h"

#include <string.h>

enum {
    LEVELS = 64,
    TOGETHER = 4,  /* blocks whose R are decomposed together, at least */
    COLUMNS = 8000 /* at most: LAPACK counts in int */
};

static const tra_kernel *kernel_of(tra_tall *t, const char *name, tra_kernel_use use, int nargs, double arg) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    if (tra_kernel_named(t->b->arena, name, use, nargs, &arg, &k, &e) != TRA_OK)
        tra_diag_error(t->b->d, t->span, NULL, "%s", e.msg);
    return k;
}

static tra_node *map(tra_tall *t, tra_node *n, const tra_kernel *k) {
    tra_node fields = {.in = {n}, .kernel = k};
    return n && k ? tra_build_made(t->b, TRA_OP_TRANSFORM, t->span, &fields) : NULL;
}

static tra_node *each(tra_tall *t, tra_node *n, const char *name) {
    return map(t, n, kernel_of(t, name, TRA_USE_MAP, 0, 0));
}

/* In blocks of so many whole rows; rows that only the run counts stay in the blocks that they are in. */
static tra_node *cut(tra_tall *t, tra_node *n, int64_t rows) {
    tra_dims shape;
    if (!n || n->type.bounded) return n;
    tra_type_shape(&n->type, &shape);
    tra_node fields = {.in = {n}, .block = shape};
    fields.block.v[0] = tra_min64(rows, shape.v[0]);
    if (n->type.cat->grid && tra_dims_eq(&n->type.cat->bound, &fields.block)) return n;
    return tra_build_made(t->b, TRA_OP_REPART, t->span, &fields);
}

/* Block by block. */
static tra_node *both(tra_tall *t, tra_node *l, tra_node *r, const char *kernel) {
    tra_node fields = {.in = {l, r}, .kernel = l && r ? kernel_of(t, kernel, TRA_USE_JOIN, 0, 0) : NULL};
    if (!fields.kernel) return NULL;
    int rank = r->type.cat->bound.n;
    fields.joinl = fields.joinr = (tra_dims){.n = rank, .v = {0, 1}};
    return tra_build_made(t->b, TRA_OP_JOIN, t->span, &fields);
}

/* Rows of a block of the first level: those that it has, but enough that its R is smaller. */
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

/* Dense, and of whole rows. */
static tra_node *prepared(tra_tall *t, tra_node *a, int64_t rows) {
    if (a && a->type.sparse) a = each(t, a, "densify");
    return cut(t, a, rows);
}

/* From R of each block of the first level, of w columns, to that of the whole, by the kernel `last`. Of each level q
 * gets Q, if it is not NULL; the first one is the caller's. */
static tra_node *go_up(tra_tall *t, tra_node *r, int64_t w, int64_t rows, const tra_kernel *last, tra_node **q,
                       int *levels) {
    int64_t group = tra_max64(TOGETHER, rows / tra_max64(1, w)) * w;
    for (*levels = 1; r && *levels < LEVELS;) {
        r = cut(t, r, group);
        bool end = r && r->type.cat->n == 1;
        if (q) q[(*levels)++] = each(t, r, end ? "tall_end_q" : "tall_more_q");
        if (end) return map(t, r, last);
        r = each(t, r, "tall_more_r");
    }
    return NULL;
}

/* The Q of all levels together, times a matrix x of n rows, or NULL. */
static tra_node *go_down(tra_tall *t, tra_node *const *q, int levels, tra_node *x, int64_t n) {
    tra_node *below = q[levels - 1];
    if (x) below = both(t, below, x, "matmul");
    for (int i = levels - 2; i >= 0; i--) below = both(t, q[i], cut(t, below, n), "matmul");
    return below;
}

tra_node *tra_build_tall(tra_tall *t, tra_node *a, const char *result) {
    tra_node *q[LEVELS] = {NULL};
    tra_dims shape;
    int levels;
    bool wants_q = strcmp(result, "qr_q") == 0 || strcmp(result, "svd_u") == 0;
    tra_type_shape(&a->type, &shape);
    int64_t n = shape.v[1], rows = rows_of_block(a, &shape);
    a = prepared(t, a, rows);
    if (wants_q) q[0] = each(t, a, "tall_q");
    tra_node *r = go_up(t, each(t, a, "tall_r"), n, rows, kernel_of(t, "tall_end_r", TRA_USE_MAP, 0, 0),
                        wants_q ? q : NULL, &levels);
    if (!r || strcmp(result, "qr_r") == 0) return r;
    if (strcmp(result, "qr_q") == 0) return go_down(t, q, levels, NULL, n);
    tra_node *part = each(t, r, result);
    return wants_q && part ? go_down(t, q, levels, part, n) : part;
}

tra_node *tra_build_least(tra_tall *t, tra_node *a, tra_node *b) {
    tra_dims shape, right;
    int levels;
    tra_type_shape(&a->type, &shape);
    tra_type_shape(&b->type, &right);
    int64_t w = shape.v[1] + (right.n == 2 ? right.v[1] : 1), rows = tra_max64(rows_of_block(a, &shape), 2 * w);
    tra_node *r = both(t, prepared(t, a, rows), prepared(t, b, rows), "tall_r");
    return go_up(t, r, w, rows, kernel_of(t, "tall_end_x", TRA_USE_MAP, 1, right.n == 2 ? (double)right.v[1] : 0), NULL,
                 &levels);
}
