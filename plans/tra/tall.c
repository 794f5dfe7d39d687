/* tall.c - QR and singular value decompositions of matrices of many rows, by their row blocks: TSQR.
 *
 * Each block of rows has its own Q and R; the R of several blocks, one below the other, are a matrix of fewer rows,
 * which is decomposed in the same way, until one block is left, whose R is that of the whole. Q follows downwards: each
 * block's own Q times its part of the Q of the level above. Which blocks come together follows from the extents alone,
 * so that the bits do not depend on ranks or memory.
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

static const tra_kernel *kernel_of(tra_tall *t, const char *name, tra_kernel_use use) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    if (tra_kernel_named(t->b->arena, name, use, 0, NULL, &k, &e) != TRA_OK)
        tra_diag_error(t->b->d, t->span, NULL, "%s", e.msg);
    return k;
}

static tra_node *each(tra_tall *t, tra_node *n, const char *name) {
    tra_node fields = {.in = {n}, .kernel = n ? kernel_of(t, name, TRA_USE_MAP) : NULL};
    return fields.kernel ? tra_build_made(t->b, TRA_OP_TRANSFORM, t->span, &fields) : NULL;
}

/* In blocks of so many whole rows. */
static tra_node *cut(tra_tall *t, tra_node *n, int64_t rows) {
    tra_dims shape;
    if (!n) return NULL;
    tra_type_shape(&n->type, &shape);
    tra_node fields = {.in = {n}, .block = {.n = 2, .v = {tra_min64(rows, shape.v[0]), shape.v[1]}}};
    if (n->type.cat->grid && tra_dims_eq(&n->type.cat->bound, &fields.block)) return n;
    return tra_build_made(t->b, TRA_OP_REPART, t->span, &fields);
}

/* Block by block. */
static tra_node *times(tra_tall *t, tra_node *l, tra_node *r) {
    tra_node fields = {.in = {l, r}, .kernel = l && r ? kernel_of(t, "matmul", TRA_USE_JOIN) : NULL};
    fields.joinl = fields.joinr = (tra_dims){.n = 2, .v = {0, 1}};
    return fields.kernel ? tra_build_made(t->b, TRA_OP_JOIN, t->span, &fields) : NULL;
}

/* Rows of a block of the first level: those that it has, but enough that its R is smaller. */
static int64_t rows_of_block(const tra_node *a, const tra_dims *shape) {
    int64_t n = shape->v[1], have = a->type.cat->bound.v[0];
    return have >= 2 * n ? have : TOGETHER * n;
}

bool tra_is_tall(const tra_node *a) {
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(&a->type, &why) || a->type.bounded || a->type.cat->bound.n != 2) return false;
    tra_type_shape(&a->type, &shape);
    return shape.v[1] > 0 && shape.v[1] <= COLUMNS && shape.v[0] > rows_of_block(a, &shape);
}

/* R of the whole; q, if it is not NULL, gets Q of each level. */
static tra_node *go_up(tra_tall *t, tra_node *a, tra_node **q, int *levels) {
    tra_dims shape;
    tra_type_shape(&a->type, &shape);
    int64_t n = shape.v[1], rows = rows_of_block(a, &shape), group = tra_max64(TOGETHER, rows / n) * n;
    for (*levels = 0; a && *levels < LEVELS; rows = group) {
        a = cut(t, a, rows);
        if (q) q[*levels] = each(t, a, "qr_q");
        ++*levels;
        bool last = a && a->type.cat->n == 1;
        a = each(t, a, "qr_r");
        if (last) return a;
    }
    return NULL;
}

/* The Q of all levels together, times a matrix x of n rows, or NULL. */
static tra_node *go_down(tra_tall *t, tra_node *const *q, int levels, tra_node *x, int64_t n) {
    tra_node *below = q[levels - 1];
    if (x) below = times(t, below, x);
    for (int i = levels - 2; i >= 0; i--) below = times(t, q[i], cut(t, below, n));
    return below;
}

tra_node *tra_build_tall(tra_tall *t, tra_node *a, const char *result) {
    tra_node *q[LEVELS] = {NULL};
    tra_dims shape;
    int levels;
    bool wants_q = strcmp(result, "qr_q") == 0 || strcmp(result, "svd_u") == 0;
    if (a->type.sparse) a = each(t, a, "densify");
    if (!a) return NULL;
    tra_type_shape(&a->type, &shape);
    tra_node *r = go_up(t, a, wants_q ? q : NULL, &levels);
    if (!r || strcmp(result, "qr_r") == 0) return r;
    if (strcmp(result, "qr_q") == 0) return go_down(t, q, levels, NULL, shape.v[1]);
    tra_node *part = each(t, r, result);
    return wants_q && part ? go_down(t, q, levels, part, shape.v[1]) : part;
}
