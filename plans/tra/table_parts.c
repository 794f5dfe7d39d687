/* table_parts.c - tables divided into parts by ranges of keys: orders and distinct rows. */
#include "table_parts.h"

#include "lower.h"

#include <math.h>
#include <string.h>

/* What a way to divide takes of memory, roughly: a key for each piece, and at once a run that is sorted, or a part, or
 * all samples. */
static double division_bytes(const tra_dividing *x, const tra_division *d, int64_t run, int64_t samples) {
    enum { PIECE = 130, SORTING = 48 };
    double each = 2.0 * (double)tra_schema_row_bytes(x->columns) + SORTING,
           most = each * (double)tra_max64(run, d->most);
    double sampling = (2.0 * (double)x->key_bytes + SORTING) * (double)samples;
    double pieces = ((double)d->runs + 2 * (double)x->others) * (double)d->parts;
    return PIECE * pieces + (most > sampling ? most : sampling);
}

/* Divides into parts of at most `room` rows, with runs of `blocks` blocks. A part may get up to `unknown` distances of
 * samples more rows from each run than its samples show; samples are so close that this is at most one of `shares`
 * shares of the part. */
static bool divide_so(const tra_catalog *c, const tra_dividing *x, int64_t room, int64_t shares, tra_division *d,
                      double *bytes) {
    int64_t run = tra_min64(tra_mul_most(d->blocks, c->bound.v[0]), tra_catalog_elements(c));
    d->runs = tra_ceil_div(c->frontier.v[0], d->blocks);
    int64_t unknown = d->runs * (x->ties ? 1 : d->blocks > 1 ? 3 : 2);
    d->every = tra_max64(d->blocks, room / (shares * unknown));
    int64_t each = room / d->every - unknown, samples = tra_mul_most(d->runs, tra_ceil_div(run, d->every));
    if (each < 1) return false;
    d->parts = tra_ceil_div(samples, each);
    d->most = (each + unknown) * d->every;
    *bytes = division_bytes(x, d, run, samples);
    return d->parts > 1;
}

bool tra_table_divide(const tra_catalog *c, const tra_dividing *x, tra_division *out) {
    int64_t blocks = c->frontier.n == 1 ? c->frontier.v[0] : 0, rows = c->bound.v[0], all = tra_catalog_elements(c);
    double best = INFINITY, bytes;
    if (blocks < 2 || rows >= INT64_MAX / blocks) return false;
    int64_t sampled = (int64_t)((double)blocks * sqrt((double)rows)), least = (x->ties ? 2 : 4) * blocks;
    if (all <= 2 * tra_max64(rows / x->share, tra_max64(least, sampled))) return false;
    for (int64_t k = 1; k <= (x->runs ? 64 : 1) && k <= blocks; k *= 2) {
        for (int64_t room = tra_max64(16, rows / 16); room <= all; room += tra_ceil_div(room, 8)) {
            for (int64_t shares = 2; shares <= 16; shares += tra_ceil_div(shares, 2)) {
                tra_division d = {.blocks = k};
                if (!divide_so(c, x, room, shares, &d, &bytes) || bytes >= best) continue;
                best = bytes;
                *out = d;
            }
        }
    }
    return best < INFINITY;
}

/* ---- nodes ---------------------------------------------------------------------------------------------------- */

/* `name`, with apostrophes until none of the columns is named so. */
static const char *free_name(tra_arena *a, const tra_schema *s, const char *name) {
    while (tra_schema_find(s, name) >= 0) name = tra_arena_printf(a, "%s'", name);
    return name;
}

const tra_schema *tra_table_some(tra_arena *a, const tra_schema *s, int n, const int *column, bool numbered) {
    tra_schema *out = tra_new(a, tra_schema);
    tra_column *v = tra_news(a, tra_column, n + 1);
    for (int i = 0; i < n; i++) v[i] = s->v[column[i]];
    *out = (tra_schema){n, v};
    if (!numbered) return out;
    v[n] = (tra_column){.name = free_name(a, s, "row"), .type = TRA_COL_I64};
    out->n = n + 1;
    return out;
}

tra_node *tra_table_kernel(tra_table_builder *w, tra_node *left, tra_node *right, int lkey, int rkey,
                           const tra_rows_kernel *k) {
    if (!left) return NULL;
    tra_node fields = {.in = {left, right}, .kernel = tra_kernel_of_rows(w->b->arena, k)};
    if (right && lkey >= 0) fields.joinl = (tra_dims){1, {lkey}}, fields.joinr = (tra_dims){1, {rkey}};
    tra_node *n = tra_build_made(w->b, right ? TRA_OP_JOIN : TRA_OP_TRANSFORM, w->call->span, &fields);
    if (n) n->rows = n->type.bounded ? tra_table_rows_of(w->b, n) : NULL;
    return n;
}

/* The first row number of each block, that of block i being i x the bound of rows. */
static tra_node *block_numbers(tra_table_builder *w, const tra_node *in) {
    const tra_catalog *c = in->type.cat;
    int64_t block = tra_max64(1, c->bound.v[0]);
    return tra_positions(w->b, w->call->span, tra_mul_most(c->frontier.v[0], block), block);
}

static bool is_numbered(const tra_arrange *x) {
    for (int c = 0; c < x->out->n; c++)
        if (x->from[c] < 0) return true;
    return false;
}

/* i -> (i div n, i mod n) */
static tra_node *keys_of_runs(tra_table_builder *w, tra_node *in, int64_t n) {
    tra_arena *a = w->b->arena;
    tra_keyfn *f = tra_new(a, tra_keyfn);
    tra_keyexpr *x = tra_news(a, tra_keyexpr, 4);
    x[0] = (tra_keyexpr){.op = TRA_KEY_VAR, .var = 0};
    x[1] = (tra_keyexpr){.op = TRA_KEY_INT, .value = n};
    x[2] = (tra_keyexpr){.op = TRA_KEY_DIV, .a = &x[0], .b = &x[1]};
    x[3] = (tra_keyexpr){.op = TRA_KEY_MOD, .a = &x[0], .b = &x[1]};
    *f = (tra_keyfn){.arity = 1, .n = 2, .names = {"i"}, .expr = {&x[2], &x[3]}};
    tra_node fields = {.in = {in}, .keyfn = f};
    return tra_build_made(w->b, TRA_OP_REKEY, w->call->span, &fields);
}

tra_node *tra_table_runs(tra_table_builder *w, tra_node *in, const tra_division *d) {
    if (!in || d->blocks == 1) return in;
    return tra_table_together(w, keys_of_runs(w, in, d->blocks), 1, 0);
}

tra_node *tra_table_arrange(tra_table_builder *w, tra_node *in, const tra_arrange *x, const char *text) {
    if (!in) return NULL;
    tra_arrange *own = tra_new(w->b->arena, tra_arrange);
    *own = *x;
    bool numbered = is_numbered(x), fewer = x->matching || x->keep == TRA_ARRANGE_FIRST;
    tra_node *numbers = numbered ? block_numbers(w, in) : NULL;
    if (numbered && !numbers) return NULL;
    return tra_table_kernel(w, in, numbers, 0, 0,
                            &(tra_rows_kernel){.text = text,
                                               .use = numbered ? TRA_USE_JOIN : TRA_USE_MAP,
                                               .columns = x->out,
                                               .dtype = TRA_F64,
                                               .rows = TRA_ROWS_SAME,
                                               .counts = fewer,
                                               .share = x->keep == TRA_ARRANGE_FIRST ? 0.5 : 1,
                                               .divides = true,
                                               .flops = 100,
                                               .ops = &tra_arrange_ops,
                                               .data = own});
}

static tra_sampling *sampling(tra_table_builder *w, const tra_node *sorted, const tra_part_keys *k,
                              const tra_division *d) {
    tra_arena *a = w->b->arena;
    tra_sampling *s = tra_new(a, tra_sampling);
    const tra_schema *out = tra_table_some(a, sorted->type.columns, k->n, k->column, false);
    tra_column *v = tra_news(a, tra_column, k->n + 1);
    tra_schema *range = tra_new(a, tra_schema);
    memcpy(v, out->v, (size_t)k->n * sizeof *v);
    v[k->n] = (tra_column){.name = free_name(a, out, "upper"), .type = TRA_COL_BOOL};
    *range = (tra_schema){k->n + 1, v};
    *s = (tra_sampling){.in = sorted->type.columns, .out = out, .n = k->n, .column = k->column, .desc = k->desc};
    s->every = d->every;
    s->parts = d->parts;
    s->range = range;
    return s;
}

tra_node *tra_table_ranges(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d) {
    tra_arena *a = w->b->arena;
    if (!sorted) return NULL;
    const tra_sampling *s = sampling(w, sorted, k, d);
    tra_rows_kernel f = {.use = TRA_USE_MAP, .dtype = TRA_F64, .rows = TRA_ROWS_MOST, .share = 1, .data = s};
    f.text = tra_arena_printf(a, "sample(%s, 1 of %" PRId64 ")", k->text, d->every);
    f.columns = s->out;
    f.most = tra_ceil_div(sorted->type.cat->bound.v[0], d->every);
    f.counts = true; /* the last block may have fewer rows than the others */
    f.flops = 1;
    f.ops = &tra_sample_ops;
    tra_node *all = tra_table_kernel(w, sorted, NULL, 0, 0, &f);
    all = all ? tra_table_whole(w, all, 0) : NULL;
    f.text = tra_arena_printf(a, "splitters(%s, %" PRId64 ")", k->text, d->parts - 1);
    f.most = d->parts - 1;
    f.counts = true; /* none of no rows */
    f.flops = 100;
    f.ops = &tra_splitters_ops;
    tra_node *splitters = tra_table_kernel(w, all, NULL, 0, 0, &f);
    tra_node *parts = splitters ? tra_positions(w->b, w->call->span, d->parts, 1) : NULL;
    if (!parts) return NULL;
    f.use = TRA_USE_JOIN;
    f.text = "range of splitters";
    f.columns = s->range;
    f.most = 2;
    f.ops = &tra_range_ops;
    return tra_table_kernel(w, splitters, parts, -1, -1, &f);
}

tra_node *tra_table_slices(tra_table_builder *w, tra_node *sorted, tra_node *ranges, const tra_part_keys *k,
                           bool closed, const tra_division *d) {
    if (!sorted || !ranges) return NULL;
    tra_slicing *s = tra_new(w->b->arena, tra_slicing);
    *s = (tra_slicing){.in = sorted->type.columns, .range = ranges->type.columns, .n = k->n, .column = k->column};
    s->desc = k->desc;
    s->closed = closed;
    return tra_table_kernel(w, sorted, ranges, -1, -1,
                            &(tra_rows_kernel){.text = tra_arena_printf(w->b->arena, "rows in %srange(%s)",
                                                                        closed ? "closed " : "", k->text),
                                               .use = TRA_USE_JOIN,
                                               .columns = s->in,
                                               .dtype = TRA_F64,
                                               .rows = TRA_ROWS_SAME,
                                               .counts = true,
                                               .share = 1 / (double)d->parts,
                                               .divides = !closed,
                                               .flops = 1 / (double)d->parts,
                                               .ops = &tra_slice_ops,
                                               .data = s});
}

tra_node *tra_table_together(tra_table_builder *w, tra_node *pieces, int keydim, int64_t most) {
    tra_node fields = {.in = {pieces}, .keydim = keydim, .most = most};
    tra_node *n = pieces ? tra_build_made(w->b, TRA_OP_CONCAT, w->call->span, &fields) : NULL;
    if (n) n->rows = n->type.bounded ? tra_table_rows_of(w->b, n) : NULL;
    return n;
}

tra_node *tra_table_in_parts(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d) {
    tra_node *ranges = tra_table_ranges(w, sorted, k, d);
    return tra_table_together(w, tra_table_slices(w, sorted, ranges, k, false, d), 0, d->most);
}

/* ---- order ---------------------------------------------------------------------------------------------------- */

/* 0, 1, ... n - 1, and then one more number. */
static int *counting(tra_arena *a, int n, int more) {
    int *v = tra_news(a, int, n + 1);
    for (int i = 0; i < n; i++) v[i] = i;
    v[n] = more;
    return v;
}

/* The keys, and after them the number of the row. */
static tra_part_keys with_number(tra_arena *a, const tra_part_keys *k, int number, const char *name) {
    int *column = tra_news(a, int, k->n + 1);
    bool *desc = tra_news(a, bool, k->n + 1);
    memcpy(column, k->column, (size_t)k->n * sizeof *column);
    for (int i = 0; i < k->n; i++) desc[i] = k->desc && k->desc[i];
    column[k->n] = number;
    size_t len = strlen(k->text) - 1; /* without the closing bracket */
    const char *text = tra_arena_printf(a, "%.*s%s%s]", (int)len, k->text, k->n ? ", " : "", name);
    return (tra_part_keys){k->n + 1, column, desc, text};
}

tra_node *tra_table_order_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    const int *all = counting(a, s->n, -1);
    const tra_schema *numbered = tra_table_some(a, s, s->n, all, true);
    tra_arrange x = {.in = s, .out = numbered, .from = all, .n = k->n, .column = k->column, .desc = k->desc};
    x.number = -1;
    x.what = "by which rows are ordered";
    tra_node *sorted =
        tra_table_arrange(w, tra_table_runs(w, w->in, d), &x, tra_arena_printf(a, "sort(%s), numbered", k->text));
    tra_part_keys ties = with_number(a, k, s->n, numbered->v[s->n].name);
    tra_node *parts = tra_table_in_parts(w, sorted, &ties, d);
    x.in = numbered;
    x.out = s;
    return tra_table_arrange(w, parts, &x, tra_arena_printf(a, "sort(%s), not numbered", k->text));
}

/* ---- distinct ------------------------------------------------------------------------------------------------- */

/* The rows of each block whose numbers are among those of a table that is sorted by its one column. */
static tra_node *numbers_of_blocks(tra_table_builder *w, tra_node *sorted, const tra_node *blocks) {
    tra_number_slicing *s = tra_new(w->b->arena, tra_number_slicing);
    tra_node *numbers = sorted ? block_numbers(w, blocks) : NULL;
    if (!numbers) return NULL;
    *s = (tra_number_slicing){.in = sorted->type.columns, .column = 0, .rows = blocks->type.cat->bound.v[0]};
    double share = 1 / (double)tra_max64(1, blocks->type.cat->frontier.v[0]);
    tra_node *slices = tra_table_kernel(
        w, sorted, numbers, -1, -1,
        &(tra_rows_kernel){.text = tra_arena_printf(w->b->arena, "rows of blocks of %" PRId64, s->rows),
                           .use = TRA_USE_JOIN,
                           .columns = s->in,
                           .dtype = TRA_F64,
                           .rows = TRA_ROWS_SAME,
                           .counts = true,
                           .share = share,
                           .divides = true,
                           .flops = share,
                           .ops = &tra_number_slice_ops,
                           .data = s});
    return tra_table_together(w, slices, 0, s->rows);
}

tra_node *tra_table_distinct_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    int *from = tra_news(a, int, k->n + 1);
    memcpy(from, k->column, (size_t)k->n * sizeof *from);
    from[k->n] = -1;
    const tra_schema *keys = tra_table_some(a, s, k->n, k->column, true);
    tra_arrange x = {.in = s, .out = keys, .from = from, .n = k->n, .column = k->column, .keep = TRA_ARRANGE_FIRST};
    x.number = -1;
    x.what = "by which rows are distinct";
    tra_node *first = tra_table_arrange(w, w->in, &x, tra_arena_printf(a, "first of each %s, numbered", k->text));
    const int *all = counting(a, k->n, k->n);
    tra_part_keys by = {k->n, all, NULL, k->text};
    x.in = keys;
    x.column = all;
    x.out = tra_table_some(a, keys, 1, all + k->n, false);
    x.from = all + k->n;
    tra_node *numbers = tra_table_arrange(w, tra_table_in_parts(w, first, &by, d), &x,
                                          tra_arena_printf(a, "first of each %s", k->text));
    static const int zero[] = {0};
    x = (tra_arrange){.in = x.out, .out = x.out, .from = zero, .n = 1, .column = zero, .number = -1, .what = ""};
    numbers = tra_table_arrange(w, numbers, &x, "sort([row])");
    tra_node *found = numbers_of_blocks(w, numbers, w->in);
    if (!found) return NULL;
    tra_placing *p = tra_new(a, tra_placing);
    *p = (tra_placing){.left = s, .right = x.out, .out = s, .how = TRA_PLACE_SEMI, .rows = w->in->type.cat->bound.v[0]};
    return tra_table_kernel(w, w->in, found, 0, 0,
                            &(tra_rows_kernel){.text = tra_table_text(w),
                                               .use = TRA_USE_JOIN,
                                               .columns = s,
                                               .dtype = TRA_F64,
                                               .rows = TRA_ROWS_SAME,
                                               .counts = true,
                                               .share = 0.5,
                                               .divides = true,
                                               .flops = 4,
                                               .ops = &tra_place_ops,
                                               .data = p});
}

/* ---- numbers of rows ------------------------------------------------------------------------------------------ */

/* For each block a row with the number of its first row, for which all blocks before it are counted. Sets the schemas
 * of x. */
static tra_node *starts_of(tra_table_builder *w, tra_node *in, tra_limiting *x) {
    tra_arena *a = w->b->arena;
    tra_column *v = tra_new(a, tra_column);
    tra_schema *count = tra_new(a, tra_schema);
    *v = (tra_column){.name = "rows", .type = TRA_COL_I64};
    *count = (tra_schema){1, v};
    x->in = in->type.columns;
    x->count = count;
    tra_rows_kernel f = {.text = "rows of a block", .use = TRA_USE_MAP, .columns = count, .dtype = TRA_F64, .data = x};
    f.rows = TRA_ROWS_ONE;
    f.ops = &tra_limit_count_ops;
    tra_node *counts = tra_table_kernel(w, in, NULL, 0, 0, &f);
    counts = counts ? tra_table_whole(w, counts, 0) : NULL;
    tra_node *blocks = counts ? tra_positions(w->b, w->call->span, in->type.cat->frontier.v[0], 1) : NULL;
    if (!blocks) return NULL;
    f.text = "first row of a block";
    f.use = TRA_USE_JOIN;
    f.ops = &tra_limit_start_ops;
    return tra_table_kernel(w, counts, blocks, -1, -1, &f);
}

tra_node *tra_table_row_numbers(tra_table_builder *w, tra_node *in, const char *name) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    tra_limiting *counting = tra_new(a, tra_limiting);
    tra_row_numbering *x = tra_new(a, tra_row_numbering);
    tra_column *v = tra_news(a, tra_column, s->n + 1);
    tra_schema *out = tra_new(a, tra_schema);
    tra_node *starts = starts_of(w, in, counting);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    v[s->n] = (tra_column){.name = name, .type = TRA_COL_I64};
    *out = (tra_schema){s->n + 1, v};
    *x = (tra_row_numbering){s, counting->count, out};
    if (!starts) return NULL;
    return tra_table_kernel(w, in, starts, 0, 0,
                            &(tra_rows_kernel){.text = tra_arena_printf(a, "number rows as `%s`", name),
                                               .use = TRA_USE_JOIN,
                                               .columns = out,
                                               .dtype = TRA_F64,
                                               .rows = TRA_ROWS_SAME,
                                               .share = 1,
                                               .divides = true,
                                               .flops = 1,
                                               .ops = &tra_row_numbers_ops,
                                               .data = x});
}

/* ---- limit ---------------------------------------------------------------------------------------------------- */

tra_node *tra_table_limit_parts(tra_table_builder *w, int64_t from, int64_t most) {
    tra_arena *a = w->b->arena;
    tra_limiting *x = tra_new(a, tra_limiting);
    *x = (tra_limiting){.from = from, .most = most};
    tra_node *starts = starts_of(w, w->in, x);
    tra_rows_kernel f = {.text = tra_table_text(w), .use = TRA_USE_JOIN, .columns = x->in, .dtype = TRA_F64, .data = x};
    f.rows = TRA_ROWS_SAME;
    f.counts = f.divides = true;
    double all = (double)tra_type_entries(&w->in->type).expected, wanted = (double)most;
    f.share = all > wanted ? wanted / all : 1;
    f.flops = 1;
    f.ops = &tra_limit_cut_ops;
    tra_node *cut = starts ? tra_table_kernel(w, w->in, starts, 0, 0, &f) : NULL;
    if (!cut || most > w->in->type.cat->bound.v[0]) return cut;
    tra_node *one = tra_table_one(w, tra_table_together(w, cut, 0, tra_max64(1, most)));
    if (one) one->rows = tra_table_rows_of(w->b, one);
    return one;
}
