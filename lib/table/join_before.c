/* join_before.c - how many pairs a join makes of the rows before each row of a block, by which the block is cut where
 * these are too many for one block. */
#include "join_int.h"

#include <string.h>

TRA_ROWS_FORM(before_form, tra_pairs_before, .in = {x->left, x->right}, .out = x->out, .closed = true)

TRA_ROWS_REST(before_rest, tra_pairs_before, tra_lookup_scratch(x->join, a->v[0], b->v[0]))

static int64_t before_keep(const void *data, const tra_dims *ext_b) {
    return tra_lookup_keep(((const tra_pairs_before *)data)->join, ext_b->v[0]);
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

static void before_run(const void *data, tra_rows_io *io) {
    const tra_pairs_before *x = data;
    const tra_batch *left = &io->in[0];
    tra_err e = {0};
    int64_t first = tra_max64(0, io->a->first);
    if (!tra_lookup_open(x->join, io) || !tra_rows_result(io, left->rows) || left->rows == 0) return;
    int64_t *before = io->made.v[x->left->n].values;
    if (tra_lookup_count(x->join, left, &io->in[1], first, before, io->b->kept, io->rest, &e) != TRA_OK)
        return tra_kernel_fail("%s", e.msg);
    tra_append_rows(x->left, &io->made, 0, left);
    int64_t pairs = add_up(x, left->rows, before);
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

const tra_rows_ops tra_pairs_before_ops = {.form = before_form,
                                           .rest = before_rest,
                                           .keep = before_keep,
                                           .run = before_run,
                                           .reads = before_reads,
                                           .over = before_over};
