/* join_before.c - how many pairs a join makes of the rows before each row of a block, by which the block is cut where
 * these are too many for one block. */
#include "join_int.h"

#include <string.h>

static int64_t vectors(const tra_pairs_before *x) { return tra_vectors_bytes(x->out->n + x->right->n + x->out->n); }

static int64_t before_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_pairs_before *x = data;
    (void)ext_b;
    return tra_add_most(vectors(x), tra_lookup_scratch(x->join, ext_a->v[0]));
}

static int64_t before_keep(const void *data, const tra_dims *ext_b, bool *own) {
    *own = tra_lookup_changes_kept(((const tra_pairs_before *)data)->join);
    return tra_lookup_keep(((const tra_pairs_before *)data)->join, ext_b->v[0]);
}

static int64_t before_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_pairs_before *)data)->out, a->array.ext.v[0]);
}

/* The pairs of the rows before each, of how many each makes; returns those of all. */
static int64_t add_up(const tra_pairs_before *x, int64_t n, int64_t *before) {
    bool all = tra_lookup_spec_of(x->join)->how == TRA_LOOKUP_LEFT; /* rows without partner come out too */
    int64_t pairs = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t own = tra_max64(all, before[i]);
        before[i] = pairs;
        pairs += own;
    }
    return pairs;
}

static void before_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_pairs_before *x = data;
    tra_vector *v = scratch;
    tra_batch left, right, made = {.v = v + x->left->n + x->right->n};
    bool checked = tra_lookup_is_kept(x->join, b->kept);
    bool open =
        tra_open_rows(a, x->left, true, v, &left) && tra_open_rows(b, x->right, !checked, v + x->left->n, &right);
    tra_err e = {0};
    int64_t rows = open ? left.rows : 0, first = tra_max64(0, a->first);
    tra_columns_begin(out, x->out, rows, &made);
    if (rows == 0) return;
    int64_t *before = made.v[x->left->n].values;
    if (tra_lookup_count(x->join, &left, &right, first, before, b->kept, (char *)scratch + vectors(x), &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        return;
    }
    tra_append_rows(x->left, &made, 0, &left);
    int64_t pairs = add_up(x, rows, before);
    if (pairs > x->most)
        tra_kernel_fail("a join makes %" PRId64 " pairs of rows of one block, and its plan has room for %" PRId64
                        "; write one of its tables to a file before, so that its keys are known",
                        pairs, x->most);
}

static void before_reads(const void *data, tra_rows_reads *r) {
    const tra_pairs_before *x = data;
    tra_lookup_reads(x->join, r);
    tra_rows_repeat(r, 0, x->left->n);
}

static const void *before_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_pairs_before *old = data;
    tra_pairs_before *x = tra_new(a, tra_pairs_before);
    *x = (tra_pairs_before){tra_lookup_over(a, old->join, f), f->in[0], f->in[1], f->out, old->most};
    return x->join ? x : NULL;
}

const tra_rows_ops tra_pairs_before_ops = {.scratch = before_scratch,
                                           .keep = before_keep,
                                           .bytes = before_bytes,
                                           .run = before_run,
                                           .reads = before_reads,
                                           .over = before_over};
