/* table_parts.c - how a table is divided into parts by ranges of keys, and the nodes that do it. */
#include "table_parts.h"

#include "cardinality.h"

#include "lower.h"

#include <math.h>
#include <string.h>

/* ---- divisions ---------------------------------------------------------------------------------------------- */

/* The memory that a division takes, roughly: a key for each slice, and the largest of what is held at one time, which
 * is a run while it is sorted, a part with its index, or all samples. */
static double division_bytes(const tra_division_input *x, const tra_division *d, int64_t run_rows, int64_t samples) {
    enum { SLICE = 130, SORTING = 48, WORKERS = 2 };
    double row = 2.0 * (double)tra_schema_row_bytes(x->columns) + SORTING;
    double sorting = row * (double)tra_max64(run_rows, tra_mul_most(tra_max64(1, x->held), d->part_rows));
    double sampling = (2.0 * (double)x->key_bytes + SORTING) * (double)samples;
    double slices =
        ((double)d->runs + 2 * (double)x->other_blocks + (x->held ? (double)d->parts : 0)) * (double)d->parts;
    double part = (double)d->part_rows * 2 * (double)tra_schema_row_bytes(x->columns);
    if (x->index) part += WORKERS * (double)tra_lookup_keep(x->index, d->part_rows);
    return SLICE * slices + fmax(part, fmax(sorting, sampling));
}

/* Tries runs of run_blocks blocks and parts of at most `rows` rows. Samples show where a part begins in a run only up
 * to the distance of samples, so a part may have up to `unseen` such distances of rows more than its samples show.
 * Samples are so close that this is at most one of `shares` shares of a part. False if that makes no parts. */
static bool try_division(const tra_catalog *c, const tra_division_input *x, int64_t run_blocks, int64_t rows,
                         int64_t shares, tra_division *d, double *bytes) {
    int64_t run_rows = tra_min64(tra_mul_most(run_blocks, c->bound.v[0]), tra_catalog_elements(c));
    int64_t runs = tra_ceil_div(c->frontier.v[0], run_blocks);
    int64_t unseen = runs * (x->numbered ? 1 : run_blocks > 1 ? 3 : 2);
    int64_t every = tra_max64(run_blocks, rows / (shares * unseen));
    int64_t part_samples = rows / every - unseen, samples = tra_mul_most(runs, tra_ceil_div(run_rows, every));
    if (part_samples < 1) return false;
    if (x->likely) samples = tra_min64(samples, tra_add_most(x->likely / every, runs)); /* each run may have one more */
    int64_t parts = tra_max64(x->likely ? 2 : 1, tra_ceil_div(samples, part_samples));
    *d = (tra_division){run_blocks, runs, every, parts, (part_samples + unseen) * every, tra_ceil_div(samples, parts)};
    *bytes = division_bytes(x, d, run_rows, samples);
    return d->parts > 1;
}

bool tra_table_divide(const tra_catalog *c, const tra_division_input *x, tra_division *out) {
    enum { RUN_BLOCKS = 64, LEAST_ROWS = 16, LEAST_SHARES = 2, MOST_SHARES = 16 };
    int64_t blocks = c->frontier.n == 1 ? c->frontier.v[0] : 0, rows = c->bound.v[0], all = tra_catalog_elements(c);
    double best = INFINITY, bytes;
    if (blocks < 2 || rows >= INT64_MAX / blocks) return false;
    int64_t sampled = (int64_t)((double)blocks * sqrt((double)rows)), least = (x->numbered ? 2 : 4) * blocks;
    if (all <= 2 * tra_max64(rows / x->whole_share, tra_max64(least, sampled))) return false;
    for (int64_t run = 1; run <= (x->may_run ? RUN_BLOCKS : 1) && run <= blocks; run *= 2) {
        for (int64_t part = tra_max64(LEAST_ROWS, rows / 16); part <= all; part += tra_ceil_div(part, 8)) {
            for (int64_t shares = LEAST_SHARES; shares <= MOST_SHARES; shares += tra_ceil_div(shares, 2)) {
                tra_division d;
                if (!try_division(c, x, run, part, shares, &d, &bytes) || bytes >= best) continue;
                best = bytes;
                *out = d;
            }
        }
    }
    return best < INFINITY;
}

int64_t tra_table_rows_likely(const tra_table_builder *w, const tra_node *in) {
    enum { LEAST = 1 << 19, TIMES = 8 };
    tra_size rows = tra_type_entries(&in->type);
    int64_t likely = tra_max64(LEAST, tra_mul_most(rows.expected, TIMES));
    return w->b->g->expected_room > 0 && likely < rows.bound ? likely : 0;
}

bool tra_table_stays_whole(tra_table_builder *w, const tra_node *in, int64_t row_scratch) {
    int64_t row = tra_add_most(2 * tra_schema_row_bytes(in->type.columns), row_scratch);
    int64_t rows = tra_rows_together(w->b->g, &in->type);
    return tra_mul_most(rows ? rows : tra_type_entries(&in->type).bound, row) <= w->b->whole;
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

tra_node *tra_table_block_numbers(tra_table_builder *w, const tra_node *in) {
    return tra_positions(w->b, w->call->span, in->type.cat->frontier.v[0], 1);
}

/* Has the result a column for the number of the row? */
static bool is_numbered(const tra_arrange *x) {
    for (int c = 0; c < x->out->n; c++)
        if (x->from[c] < 0) return true;
    return false;
}

tra_node *tra_table_make_runs(tra_table_builder *w, tra_node *in, const tra_division *d) {
    if (!in || d->run_blocks == 1) return in;
    const tra_keyexpr *i = tra_keyexpr_component(w->b->arena, 0), *n = tra_keyexpr_int(w->b->arena, d->run_blocks);
    const tra_keyexpr *key[] = {tra_keyexpr_of(w->b->arena, TRA_KEY_DIV, i, n),
                                tra_keyexpr_of(w->b->arena, TRA_KEY_MOD, i, n)};
    in = tra_build_rekey(w->b, w->call->span, in, (const char *const[]){"i"}, 2, key);
    return tra_table_concat(w, in, 1, 0);
}

tra_arrange tra_table_sorting(tra_arena *a, const tra_schema *s, bool numbered, int n, const int *column,
                              const bool *desc, const char *what) {
    const int *all = tra_table_counting(a, s->n, -1);
    const tra_schema *out = numbered ? tra_table_subschema(a, s, s->n, all, true) : s;
    return (tra_arrange){
        .in = s, .out = out, .from = all, .n = n, .column = column, .desc = desc, .number = -1, .what = what};
}

/* Bits in which the values of a key are expected to differ: those of its range, where that is known. */
static double key_bits(const tra_column *c) {
    enum { UNKNOWN = 24 };
    tra_column_facts f;
    if (c->type == TRA_COL_BOOL) return 1;
    if (tra_coltype_is_float(c->type)) return 8 * (double)tra_coltype_size(c->type);
    if (tra_coltype_is_coded(c->type)) return c->dict ? log2(2 + (double)c->dict->n) : UNKNOWN;
    bool known = tra_table_facts(c->file, c->number, &f) && f.rows > f.nulls;
    return known ? log2(2 + (double)f.max - (double)f.min) : UNKNOWN;
}

double tra_table_sort_flops(const tra_schema *s, int n, const int *column) {
    static const double ROW = 12, BIT = 1.1; /* operations: keys are put in words, which are sorted by digits */
    double bits = 0;
    for (int i = 0; i < n; i++) bits += key_bits(&s->v[column[i]]);
    return ROW + BIT * bits;
}

/* effort: how long sorting takes, in times of sorting rows that come in any order. */
static tra_node *sort_with(tra_table_builder *w, tra_node *in, const tra_arrange *x, double effort) {
    if (!in) return NULL;
    tra_arrange *own = tra_new(w->b->arena, tra_arrange);
    *own = *x;
    own->block = tra_max64(1, in->type.cat->bound.v[0]);
    bool first = x->keep == TRA_ARRANGE_FIRST || x->top > 0, numbered = is_numbered(x), fewer = x->matching || first;
    tra_node *numbers = numbered ? tra_table_block_numbers(w, in) : NULL;
    if (numbered && !numbers) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_arrange_ops, own, x->out);
    op.counts = fewer, op.share = !first ? 1 : x->kept > 0 ? x->kept : TRA_SHARE_ASSUMED;
    double bytes = (double)(tra_schema_row_bytes(x->in) + tra_schema_row_bytes(x->out)); /* rows are put in order */
    op.divides = true, op.flops = effort * tra_table_sort_flops(x->in, x->n, x->column) + bytes / 4;
    return tra_table_kernel(w, in, numbers, 0, 0, &op);
}

tra_node *tra_table_sort_blocks(tra_table_builder *w, tra_node *in, const tra_arrange *x) {
    return sort_with(w, in, x, 1);
}

tra_node *tra_table_sort_parts(tra_table_builder *w, tra_node *parts, const tra_arrange *x) {
    static const double OF_RUNS = 0.5;
    return sort_with(w, parts, x, OF_RUNS);
}

/* The samples of sorted blocks: every so-many-th row, its keys alone. */
static tra_node *take_samples(tra_table_builder *w, tra_node *sorted, const tra_sampling *s) {
    int64_t most = tra_ceil_div(sorted->type.cat->bound.v[0], s->every);
    tra_rows_kernel op = tra_rows_op(&tra_sample_ops, s, s->out);
    op.extent = TRA_ROWS_MOST, op.most = most, op.flops = 1 / (double)s->every;
    op.counts = true; /* the last block may have fewer rows */
    return tra_table_kernel(w, sorted, NULL, 0, 0, &op);
}

/* The splitters between parts, of all samples in one block. */
static tra_node *choose_splitters(tra_table_builder *w, tra_node *samples, const tra_sampling *s) {
    tra_rows_kernel op = tra_rows_op(&tra_splitters_ops, s, s->out);
    op.extent = TRA_ROWS_MOST, op.most = s->parts - 1, op.counts = true, op.flops = TRA_SORT_FLOPS;
    /* a table of no rows has none */
    return tra_table_kernel(w, samples, NULL, 0, 0, &op);
}

tra_node *tra_table_part_ranges(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d) {
    tra_arena *a = w->b->arena;
    if (!sorted) return NULL;
    const tra_schema *keys = tra_table_subschema(a, sorted->type.columns, k->n, k->column, false);
    const tra_column upper = {.name = tra_table_free_name(a, keys, "upper"), .type = TRA_COL_BOOL};
    const tra_schema *range = tra_table_schema(a, keys, k->n, NULL, 1, &upper);
    tra_sampling *s = tra_new(a, tra_sampling);
    *s = (tra_sampling){.in = sorted->type.columns, .out = keys, .n = k->n, .column = k->column, .desc = k->desc};
    s->every = d->sample_every;
    s->parts = d->parts, s->part_samples = d->part_samples;
    s->range = range;
    tra_node *samples = tra_table_one_block(w, take_samples(w, sorted, s), 0);
    tra_node *splitters = choose_splitters(w, samples, s);
    tra_node *parts = splitters ? tra_positions(w->b, w->call->span, d->parts, 1) : NULL;
    if (!parts) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_range_ops, s, range);
    op.extent = TRA_ROWS_MOST, op.most = 2, op.counts = true, op.flops = TRA_SORT_FLOPS;
    return tra_table_kernel(w, splitters, parts, -1, -1, &op);
}

tra_node *tra_table_slice_blocks(tra_table_builder *w, tra_node *sorted, tra_node *ranges, const tra_part_keys *k,
                                 tra_slice_ends ends, const tra_division *d) {
    if (!sorted || !ranges) return NULL;
    tra_slicing *s = tra_new(w->b->arena, tra_slicing);
    *s = (tra_slicing){.in = sorted->type.columns, .range = ranges->type.columns, .n = k->n, .column = k->column};
    s->desc = k->desc;
    s->closed = ends.closed;
    s->open = ends.open;
    s->before = ends.before;
    s->after = ends.after;
    bool once = ends.closed == ends.open; /* each row is in the range of one part */
    int64_t beside = ends.before + ends.after, slices = tra_mul_most(sorted->type.cat->frontier.v[0], d->parts);
    tra_rows_kernel op = tra_rows_op(&tra_slice_ops, s, s->in);
    op.counts = true, op.share = 1 / (double)d->parts, op.divides = once && !beside, op.flops = 1 / (double)d->parts;
    if (once && beside) /* each slice has rows from beside its range too */
        op.all = tra_add_most(tra_type_entries(&sorted->type).bound, tra_mul_most(beside, slices));
    return tra_table_kernel(w, sorted, ranges, -1, -1, &op);
}

tra_node *tra_table_make_parts(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d) {
    tra_node *ranges = tra_table_part_ranges(w, sorted, k, d);
    return tra_table_concat(w, tra_table_slice_blocks(w, sorted, ranges, k, (tra_slice_ends){0}, d), 0, d->part_rows);
}
