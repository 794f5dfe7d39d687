/* table_window_parts.c - the functions of a window: over all rows in one block, or, where the table is divided, over
 * its sorted parts, each with its context (lib/table/window_context.h). */
#include "table_parts.h"

#include "../../lib/table/window_context.h"
#include "lower.h"

#include <math.h>

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Operations of a function for each row. What folds adds up the items of each frame, but where frames begin as the one
 * before did; of many items, sums of some at once. */
static double flops_of_function(const tra_window_column *v) {
    enum { MOVE = 8, FOLD = 20, TIES = 15, ITEM = 4, RANKED = 100, USUAL = 16, MOST = 40 };
    const tra_window_frame *f = &v->frame;
    tra_window_way way = tra_window_way_of(v->f);
    if (way == TRA_WINDOW_RANKED) return RANKED;
    if (way != TRA_WINDOW_FOLD) return MOVE;
    double items = f->open[0] || f->open[1] ? 0 : f->range ? USUAL : (double)f->whole[1] - (double)f->whole[0] + 1;
    return FOLD + (f->range ? TIES : 0) + ITEM * fmax(0, fmin(items, MOST));
}

/* The functions of all rows of `in`, which are whole groups, or the context of a part, with what that reaches; by
 * number of the row. kept: the share of rows that is expected to have results. */
static tra_node *window_kernel(tra_table_builder *w, tra_node *in, tra_node *reached, const tra_window *x,
                               double kept) {
    static const double PLACED = 60; /* runs of equal keys are found, and results go back to the order of the table */
    tra_rows_kernel op = tra_rows_op(&tra_window_ops, x, x->out);
    op.extent = reached ? TRA_ROWS_MOST : TRA_ROWS_SAME, op.most = reached ? x->context->part_rows : 0;
    op.counts = reached != NULL || x->top > 0, op.share = kept, op.divides = op.sorts = true;
    op.flops =
        PLACED + (reached ? 0 : tra_table_sort_flops(x->in, x->nkeys + x->norder, x->column)); /* parts are sorted */
    for (int i = 0; i < x->n; i++) op.flops += flops_of_function(&x->v[i]);
    return tra_table_kernel(w, in, reached, 0, 0, &op);
}

static const int zero[] = {0};

/* The rows of each block as they are, and after them their numbers. */
static tra_node *number_blocks(tra_table_builder *w, tra_node *in) {
    tra_arrange x = tra_table_sorting(w->b->arena, in->type.columns, true, 0, zero, NULL, "");
    return tra_table_sort_blocks(w, in, &x);
}

/* Have all blocks but the last as many rows, so that the place of a row among all is its number? */
static bool numbered_by_place(const tra_node *in) { return !in->type.bounded && in->type.cat->grid; }

/* The rows sorted by keys and order, in parts; after them the number of the row, and its place in the order. */
static tra_node *sorted_parts(tra_table_builder *w, tra_node *in, const tra_window *x, const tra_division *d,
                              const tra_window_kept *kept) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    int nby = x->nkeys + x->norder, *by = tra_table_counting(a, nby, s->n);
    bool *desc = tra_news(a, bool, nby + 1);
    for (int k = 0; k < x->norder; k++) desc[x->nkeys + k] = x->desc[k];
    tra_arrange sort = tra_table_sorting(a, s, true, nby, by, desc, "a key or the order of a window");
    sort.top = x->top; /* by rank, so that ties of what is kept are there, unless rows are numbered */
    sort.of_keys = x->nkeys;
    sort.dense = x->by == TRA_WINDOW_DENSE_RANK;
    sort.kept = kept->of_blocks;
    sort.numbered = true; /* nothing else of the window asks for ties */
    for (int i = 0; i < x->n; i++) sort.numbered = sort.numbered && x->v[i].f == TRA_WINDOW_ROW_NUMBER;
    if (!numbered_by_place(in)) { /* runs do not tell of which block a row is */
        in = number_blocks(w, in);
        sort.in = sort.out;
        sort.from = tra_table_counting(a, s->n + 1, -1);
    }
    tra_node *sorted = tra_table_sort_blocks(w, tra_table_make_runs(w, in, d), &sort);
    tra_part_keys keys = {nby + 1, by, desc};
    tra_node *parts = sorted ? tra_table_make_parts(w, sorted, &keys, d) : NULL;
    sort.in = sort.out;
    sort.from = tra_table_counting(a, s->n + 1, -1);
    sort.kept = kept->of_all / kept->of_blocks;
    parts = tra_table_sort_parts(w, parts, &sort);
    return parts ? tra_table_number_rows(w, parts, "place") : NULL;
}

/* The context of each part, and in *reached what the part reaches. */
static tra_node *contexts(tra_table_builder *w, tra_node *parts, const tra_window *x, const tra_division *d,
                          tra_node **reached) {
    const struct tra_window_context *c = x->context;
    tra_node *numbers = tra_positions(w->b, w->call->span, d->parts, 1);
    if (!numbers) return NULL;
    tra_rows_kernel k = tra_rows_op(&tra_window_summary_ops, x, c->summary);
    k.extent = TRA_ROWS_MOST, k.most = TRA_WINDOW_SUMMARY_ROWS, k.counts = true, k.flops = 10;
    tra_node *all = tra_table_one_block(w, tra_table_kernel(w, parts, numbers, 0, 0, &k), 0);
    k.ops = &tra_window_reach_ops, k.extent = TRA_ROWS_SAME, k.share = 1 / (double)d->parts, k.flops = 1;
    *reached = tra_table_kernel(w, all, numbers, -1, -1, &k);
    if (!*reached) return NULL;
    k = tra_rows_op(&tra_window_pick_ops, x, x->in);
    k.counts = true, k.all = tra_mul_most(d->parts, c->most), k.share = 1 / (double)d->parts, k.flops = k.share;
    return tra_table_concat(w, tra_table_kernel(w, parts, *reached, -1, -1, &k), 0, c->most);
}

tra_node *tra_table_window_sorted(tra_table_builder *w, tra_node *in, const tra_window *fields, const tra_division *d) {
    return sorted_parts(w, in, fields, d, &(tra_window_kept){1, 1});
}

tra_node *tra_table_window_of_parts(tra_table_builder *w, tra_node *parts, tra_window *fields, const tra_division *d) {
    tra_arena *a = w->b->arena;
    tra_err e = {0};
    tra_node *reached;
    fields->in = parts->type.columns;
    fields->number = fields->in->n - 2;
    int64_t all = tra_catalog_elements(w->in->type.cat);
    if (tra_window_context_new(a, fields, d->part_rows, d->parts, all, &fields->context, &e) != TRA_OK) return NULL;
    const tra_window *x = tra_window_new(a, fields);
    tra_node *context = contexts(w, parts, x, d, &reached);
    return context ? window_kernel(w, context, reached, x, 1) : NULL;
}

tra_node *tra_table_window_by_rows(tra_table_builder *w, tra_node *n) {
    tra_arrange sort = tra_table_sorting(w->b->arena, n->type.columns, false, 1, zero, NULL, "");
    return tra_table_split_numbers(w, tra_table_sort_blocks(w, n, &sort), w->in);
}

/* How many parts of one size the context of a part may have, with all that its frames reach; 1 where that is all. */
static int64_t parts_held(tra_table_builder *w, const tra_window *fields, const tra_schema *columns) {
    enum { ROWS = 1 << 18, MOST = 64 };
    const struct tra_window_context *c;
    tra_window x = *fields;
    tra_err e = {0};
    x.in = columns;
    if (tra_window_context_new(w->b->arena, &x, ROWS, 1, INT64_MAX / 2, &c, &e) != TRA_OK) return 1;
    int64_t held = tra_max64(1, (c->most + ROWS / 2) / ROWS);
    return held > MOST ? 1 : held;
}

bool tra_table_divides_window(tra_table_builder *w, int n, const tra_window *const *fields,
                              const tra_schema *const *columns, tra_division *d) {
    tra_division_input x = {.columns = columns[0], .whole_share = 1, .numbered = true, .may_run = true};
    const int *by = tra_table_counting(w->b->arena, columns[0]->n, -1);
    if (w->in->type.cat->frontier.v[0] == 1) return false;
    x.key_bytes = tra_schema_row_bytes(
        tra_table_subschema(w->b->arena, columns[0], fields[0]->nkeys + fields[0]->norder, by, true));
    for (int i = 0; i < n; i++) x.held = tra_max64(x.held, parts_held(w, fields[i], columns[i]));
    return tra_table_divide(w->in->type.cat, &x, d);
}

tra_node *tra_table_window_functions(tra_table_builder *w, tra_node *in, tra_window *fields,
                                     const tra_window_kept *kept) {
    enum { SELECTING = 96 }; /* bytes of scratch for each row, and its number */
    bool one = in->type.cat->frontier.v[0] == 1;
    tra_division d;
    if (tra_table_divides_window(w, 1, (const tra_window *[]){fields}, (const tra_schema *[]){in->type.columns}, &d) &&
        !(tra_window_selects(fields) && tra_table_stays_whole(w, in, SELECTING))) {
        tra_node *parts = sorted_parts(w, in, fields, &d, kept);
        parts = parts ? tra_table_window_of_parts(w, parts, fields, &d) : NULL;
        return parts ? tra_table_window_by_rows(w, parts) : NULL;
    }
    bool placed = one || numbered_by_place(in);
    if (!placed && !(in = number_blocks(w, in))) return NULL;
    fields->in = in->type.columns;
    fields->number = placed ? -1 : fields->in->n - 1;
    tra_node *n =
        window_kernel(w, tra_table_one_block(w, in, 1), NULL, tra_window_new(w->b->arena, fields), kept->of_all);
    return one || !n ? n : tra_table_split_numbers(w, n, w->in);
}
