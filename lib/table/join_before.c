/* join_before.c - how many pairs a join makes of the rows before each row of a block, by which the block is cut where
 * these are too many for one block. */
#include "join_int.h"

#include <string.h>

static int64_t vectors(const tra_pairs_before *x) { return tra_vectors_bytes(x->out->n + x->right->n + x->out->n); }

static int64_t before_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_pairs_before *x = data;
    int64_t numbers = tra_mul_most(ext_a->v[0], 2 * (int64_t)sizeof(int32_t));
    (void)ext_b;
    return tra_add_most(tra_add_most(vectors(x), tra_round64(numbers)), tra_lookup_scratch(x->join));
}

static int64_t before_keep(const void *data, const tra_dims *ext_b) {
    return tra_lookup_keep(((const tra_pairs_before *)data)->join, ext_b->v[0]);
}

static int64_t before_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_pairs_before *)data)->out, a->array.ext.v[0]);
}

/* The pairs of the rows before each; returns those of all. */
static int64_t add_up(const tra_pairs_before *x, int64_t n, const int32_t *from, const int32_t *to, int64_t *before) {
    bool all = tra_lookup_spec_of(x->join)->how == TRA_LOOKUP_LEFT; /* rows without partner come out too */
    int64_t pairs = 0;
    for (int64_t i = 0; i < n; i++) {
        before[i] = pairs;
        pairs += all && from[i] == to[i] ? 1 : to[i] - from[i];
    }
    return pairs;
}

static void before_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_pairs_before *x = data;
    tra_vector *v = scratch;
    tra_batch left, right, made = {.v = v + x->left->n + x->right->n};
    bool open = tra_open_rows(a, x->left, true, v, &left) && tra_open_rows(b, x->right, true, v + x->left->n, &right);
    tra_err e = {0};
    int64_t rows = open ? left.rows : 0;
    int32_t *from = (int32_t *)((char *)scratch + vectors(x)), *to = from + rows;
    const int32_t *list;
    char *rest = (char *)scratch + vectors(x) + tra_round64(rows * 2 * (int64_t)sizeof *from);
    tra_columns_begin(out, x->out, rows, &made);
    if (rows == 0) return;
    int64_t first = tra_max64(0, a->first);
    if (tra_lookup_partners(x->join, &left, &right, first, &list, from, to, b->kept, rest, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        return;
    }
    tra_append_rows(x->left, &made, 0, &left);
    int64_t pairs = add_up(x, rows, from, to, made.v[x->left->n].values);
    if (pairs > x->most)
        tra_kernel_fail("a join makes %" PRId64 " pairs of rows of one block, and its plan has room for %" PRId64
                        "; write one of its tables to a file before, so that its keys are known",
                        pairs, x->most);
}

const tra_rows_ops tra_pairs_before_ops = {
    .scratch = before_scratch, .keep = before_keep, .bytes = before_bytes, .run = before_run};
