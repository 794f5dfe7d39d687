/* table_order.c - order, distinct and limit, of tables in one block and of tables in parts; and numbers of rows. */
#include <math.h>
#include <string.h>

#include "cardinality.h"
#include "lower.h"
#include "table_parts.h"

/* ---- order -------------------------------------------------------------------------------------------------- */

static tra_arrange sorting(const tra_table_builder *w, const tra_schema *s, const tra_part_keys *k) {
    return tra_table_sorting(w->b->arena, s, false, k->n, k->column, k->desc, "by which rows are ordered");
}

/* The keys, and after them the number of the row, which is column `number`. */
static tra_part_keys with_number(tra_arena *a, const tra_part_keys *k, int number) {
    int *column = tra_news(a, int, k->n + 1);
    bool *desc = tra_news(a, bool, k->n + 1);
    memcpy(column, k->column, (size_t)k->n * sizeof *column);
    for (int i = 0; i < k->n; i++) desc[i] = k->desc && k->desc[i];
    column[k->n] = number;
    return (tra_part_keys){k->n + 1, column, desc};
}

tra_node *tra_table_order_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    tra_arrange x = tra_table_sorting(a, s, true, k->n, k->column, k->desc, "by which rows are ordered");
    tra_node *sorted = tra_table_sort_blocks(w, tra_table_make_runs(w, w->in, d), &x);
    tra_part_keys ties = with_number(a, k, s->n);
    tra_node *parts = tra_table_make_parts(w, sorted, &ties, d);
    x.in = x.out;
    x.out = s;
    return tra_table_sort_parts(w, parts, &x);
}

/* ---- distinct ----------------------------------------------------------------------------------------------- */

tra_node *tra_table_split_numbers(tra_table_builder *w, tra_node *sorted, const tra_node *blocks) {
    tra_number_slicing *s = tra_new(w->b->arena, tra_number_slicing);
    tra_node *numbers = sorted ? tra_table_block_numbers(w, blocks) : NULL;
    if (!numbers) return NULL;
    *s = (tra_number_slicing){.in = sorted->type.columns, .column = 0, .rows = blocks->type.cat->bound.v[0]};
    double share = 1 / (double)tra_max64(1, blocks->type.cat->frontier.v[0]);
    tra_rows_kernel op = tra_rows_op(&tra_number_slice_ops, s, s->in);
    op.counts = true, op.share = share, op.divides = true, op.flops = share;
    tra_node *slices = tra_table_kernel(w, sorted, numbers, -1, -1, &op);
    return tra_table_concat(w, slices, 0, s->rows);
}

/* Distinct rows, of a table that is divided. The parts have the numbers of the rows that come first; sorted, these are
 * split by blocks, and each block keeps its rows, so that these stay in their order. */
static tra_node *distinct_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    int *from = tra_news(a, int, k->n + 1);
    memcpy(from, k->column, (size_t)k->n * sizeof *from);
    from[k->n] = -1;
    const tra_schema *keys = tra_table_subschema(a, s, k->n, k->column, true);
    tra_arrange x = {.in = s, .out = keys, .from = from, .n = k->n, .column = k->column, .keep = TRA_ARRANGE_FIRST};
    x.number = -1;
    x.what = "by which rows are distinct";
    double rows = fmax(1, (double)tra_type_entries(&w->in->type).expected),
           blocks = fmax(1, (double)w->in->type.cat->n);
    double all_kept = tra_table_groups_expected(keys, k->n, w->in, k->column, NULL, rows) / rows;
    double kept =
        fmax(all_kept, tra_table_groups_expected(keys, k->n, w->in, k->column, NULL, rows / blocks) * blocks / rows);
    x.kept = kept;
    tra_node *first = tra_table_sort_blocks(w, w->in, &x);
    const int *all = tra_table_counting(a, k->n, k->n);
    tra_part_keys by = {k->n, all, NULL};
    x.in = keys;
    x.column = all;
    x.kept = all_kept / kept;
    x.out = tra_table_subschema(a, keys, 1, all + k->n, false);
    x.from = all + k->n;
    tra_node *numbers = tra_table_sort_parts(w, tra_table_make_parts(w, first, &by, d), &x);
    static const int zero[] = {0};
    x = tra_table_sorting(a, x.out, false, 1, zero, NULL, "");
    numbers = tra_table_sort_blocks(w, numbers, &x);
    tra_node *found = tra_table_split_numbers(w, numbers, w->in);
    if (!found) return NULL;
    tra_placing *p = tra_new(a, tra_placing);
    *p = (tra_placing){.left = s, .right = x.out, .out = s, .how = TRA_PLACE_SEMI, .rows = w->in->type.cat->bound.v[0]};
    tra_rows_kernel op = tra_rows_op(&tra_place_ops, p, s);
    op.label = tra_table_call_text(w), op.counts = true, op.share = all_kept, op.divides = true, op.flops = 4;
    return tra_table_kernel(w, w->in, found, 0, 0, &op);
}

/* ---- numbers of rows ---------------------------------------------------------------------------------------- */

/* For each block a row with the number of its first row: the rows of all blocks before it are counted. Sets the schemas
 * of x. */
static tra_node *first_rows(tra_table_builder *w, tra_node *in, tra_limiting *x) {
    const tra_column rows = {.name = "rows", .type = TRA_COL_I64};
    const tra_schema *count = tra_table_schema(w->b->arena, NULL, 0, NULL, 1, &rows);
    x->in = in->type.columns;
    x->count = count;
    tra_rows_kernel op = tra_rows_op(&tra_limit_count_ops, x, count);
    op.extent = TRA_ROWS_ONE;
    tra_node *counts = tra_table_kernel(w, in, NULL, 0, 0, &op);
    counts = tra_table_one_block(w, counts, 0);
    tra_node *blocks = counts ? tra_positions(w->b, w->call->span, in->type.cat->frontier.v[0], 1) : NULL;
    if (!blocks) return NULL;
    op.ops = &tra_limit_start_ops;
    return tra_table_kernel(w, counts, blocks, -1, -1, &op);
}

tra_node *tra_table_number_rows(tra_table_builder *w, tra_node *in, const char *name) {
    return tra_table_add_up_rows(w, in, name, &(tra_row_numbering){.weight = -1});
}

tra_node *tra_table_add_up_rows(tra_table_builder *w, tra_node *in, const char *name, const tra_row_numbering *by) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    tra_limiting *counting = tra_new(a, tra_limiting);
    tra_row_numbering *x = tra_new(a, tra_row_numbering);
    const tra_column number = {.name = name, .type = TRA_COL_I64};
    const tra_schema *out = tra_table_schema(a, s, s->n, NULL, 1, &number);
    counting->weight = by->weight;
    tra_node *starts = first_rows(w, in, counting);
    *x = (tra_row_numbering){s, counting->count, out, by->weight, by->most, by->each};
    if (!starts) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_row_numbers_ops, x, out);
    op.divides = true, op.flops = 1;
    return tra_table_kernel(w, in, starts, 0, 0, &op);
}

/* ---- limit -------------------------------------------------------------------------------------------------- */

/* Rows [from, from + most) of a table of several blocks; in one block if so many rows have room in one. */
static tra_node *limit_parts(tra_table_builder *w, int64_t from, int64_t most) {
    tra_arena *a = w->b->arena;
    tra_limiting *x = tra_new(a, tra_limiting);
    *x = (tra_limiting){.weight = -1, .from = from, .most = most};
    tra_node *starts = first_rows(w, w->in, x);
    if (!starts) return NULL;
    double all = (double)tra_type_entries(&w->in->type).expected, wanted = (double)most;
    tra_rows_kernel op = tra_rows_op(&tra_limit_cut_ops, x, x->in);
    op.label = tra_table_call_text(w), op.counts = true, op.share = all > wanted ? wanted / all : 1, op.divides = true;
    op.flops = 1;
    tra_node *kept = tra_table_kernel(w, w->in, starts, 0, 0, &op);
    if (!kept || most > w->in->type.cat->bound.v[0]) return kept;
    tra_node *one = tra_table_add_key(w, tra_table_concat(w, kept, 0, tra_max64(1, most)));
    if (one) one->rows = tra_table_own_rows(w->b, one);
    return one;
}

/* ---- the operators ------------------------------------------------------------------------------------------ */

/* A sort of all rows in one block. */
static tra_node *sort_rows(tra_table_builder *w, const tra_arrange *s) {
    tra_arrange *own = tra_new(w->b->arena, tra_arrange);
    bool distinct = s->keep == TRA_ARRANGE_DISTINCT;
    *own = *s;
    tra_rows_kernel op = tra_rows_op(&tra_arrange_ops, own, w->in->type.columns);
    op.label = tra_table_call_text(w), op.extent = s->cut ? TRA_ROWS_MOST : TRA_ROWS_SAME, op.flops = TRA_SORT_FLOPS;
    /* a block of no rows has room for one, as everywhere */
    if (s->cut) op.most = tra_max64(1, tra_add_most(s->skip, s->most));
    op.counts = distinct || s->cut, op.share = distinct ? TRA_SHARE_ASSUMED : 1;
    return tra_table_kernel(w, tra_table_one_block(w, w->in, 1), NULL, 0, 0, &op);
}

/* Fills the terms of order or distinct, and the numbers of their columns, from a list (NULL: all columns). */
static bool add_keys(tra_table_builder *w, const tra_ast *list, int n, int *column, bool *desc) {
    tra_table_scope sc = tra_table_scope_of(w);
    const tra_schema *s = w->in->type.columns;
    tra_table_term *term = tra_news(w->b->arena, tra_table_term, n + 1);
    bool ok = true;
    for (int i = 0; i < n; i++) {
        column[i] = i;
        if (list) {
            const tra_ast *x = list->kids[i];
            desc[i] = w->op.op == TRA_TABLE_ORDER && x->kind == TRA_AST_DESC;
            column[i] = tra_table_find_column(&sc, desc[i] ? x->kids[0] : x);
        }
        ok = ok && column[i] >= 0;
        if (!ok) continue;
        const char *name = s->v[column[i]].name;
        term[i] = (tra_table_term){name, tra_table_name_ast(w->b->arena, name, (tra_span){0}), .desc = desc[i]};
    }
    w->op.term = term;
    w->op.nterms = n;
    return ok;
}

tra_node *tra_table_order(tra_table_builder *w) {
    const tra_ast *list = w->call->nkids == 2 ? w->call->kids[1] : NULL;
    bool distinct = w->op.op == TRA_TABLE_DISTINCT;
    const tra_schema *s = w->in->type.columns;
    if (!(list && list->kind == TRA_AST_LIST) && !(distinct && w->call->nkids == 1))
        return tra_table_refuse(w, list ? list : w->call, "its columns stand in a list");
    int n = list ? list->nkids : s->n, *column = tra_news(w->b->arena, int, n + 1);
    bool *desc = tra_news(w->b->arena, bool, n + 1);
    if (!add_keys(w, list, n, column, desc)) return NULL;
    w->op.rows = w->in;
    tra_part_keys by = {n, column, desc};
    tra_division_input x = {.columns = s, .whole_share = 1, .numbered = !distinct};
    x.key_bytes = tra_schema_row_bytes(tra_table_subschema(w->b->arena, s, n, column, true));
    x.may_run = !distinct; /* distinct finds rows in their blocks again, by their numbers */
    tra_division d;
    if (tra_table_divide(w->in->type.cat, &x, &d))
        return tra_table_record(w, distinct ? distinct_parts(w, &by, &d) : tra_table_order_parts(w, &by, &d));
    tra_arrange sort = sorting(w, s, &by);
    if (distinct) sort.keep = TRA_ARRANGE_DISTINCT;
    return tra_table_record(w, sort_rows(w, &sort));
}

static tra_node *limit_ordered(tra_table_builder *w, const tra_node *of);

/* The same columns of rows [from, from + count) of an ordered table. */
static tra_node *limit_projected(tra_table_builder *w, const tra_table_op *op) {
    tra_projection p = {.arena = w->b->arena};
    for (int i = 0; i < op->nterms; i++) {
        if (!op->term[i].x || op->term[i].x->op != TRA_C_COLUMN) return NULL;
        tra_projection_add(&p, op->term[i].name, op->term[i].x);
    }
    tra_node *n = limit_ordered(w, w->b->g->v[op->in[0]->id]);
    return n ? tra_table_columns(w, n, &p) : NULL;
}

/* Rows [from, from + count) of a table that order made, or columns of it: of one block, or, where so many rows of each
 * block have room in a few blocks, of those that are first in each. NULL: otherwise. */
static tra_node *limit_ordered(tra_table_builder *w, const tra_node *of) {
    enum { BLOCKS = 4, PART = 8 };
    const tra_table_op *op = of->table;
    if (op && op->op == TRA_TABLE_PROJECT) return limit_projected(w, op);
    if (!op || op->op != TRA_TABLE_ORDER) return NULL;
    tra_node *in = w->b->g->v[op->in[0]->id];
    const tra_schema *s = in->type.columns;
    int64_t most = tra_max64(1, tra_add_most(w->op.from, w->op.count)), block = in->type.cat->bound.v[0];
    bool whole = in->type.cat->n < 2;
    if (!whole && (most > block / PART || tra_mul_most(most, in->type.cat->n) > BLOCKS * block)) return NULL;
    tra_arrange *first = tra_new(w->b->arena, tra_arrange);
    int *column = tra_news(w->b->arena, int, op->nterms + 1);
    bool *desc = tra_news(w->b->arena, bool, op->nterms + 1);
    for (int i = 0; i < op->nterms; i++) column[i] = tra_schema_find(s, op->term[i].name), desc[i] = op->term[i].desc;
    *first = sorting(w, s, &(tra_part_keys){op->nterms, column, desc});
    first->cut = true, first->most = most;
    tra_arrange all = *first;
    all.skip = w->op.from, all.most = w->op.count;
    tra_table_builder one = *w;
    tra_rows_kernel top = tra_rows_op(&tra_arrange_ops, first, s);
    top.extent = TRA_ROWS_MOST, top.most = most, top.counts = true, top.divides = true, top.flops = 10;
    one.in = whole ? in : tra_table_kernel(w, in, NULL, 0, 0, &top);
    return one.in ? sort_rows(&one, &all) : NULL;
}

tra_node *tra_table_limit(tra_table_builder *w) {
    static const char *const names[] = {"from"};
    const tra_ast *from = NULL;
    if (w->call->nkids < 2) return tra_table_refuse(w, w->call, "limit has a table and a number of rows");
    if (!tra_build_int(w->b, w->call->kids[1], "a number of rows", 0, &w->op.count)) return NULL;
    if (!tra_table_named_args(w, 2, 1, names, &from)) return NULL;
    if (from && !tra_build_int(w->b, from, "the number of a row", 0, &w->op.from)) return NULL;
    tra_node *top = limit_ordered(w, w->in);
    if (top) return tra_table_record(w, top);
    if (w->in->type.cat->grid && w->in->type.cat->n > 1)
        return tra_table_record(w, limit_parts(w, w->op.from, w->op.count));
    tra_arrange rows = sorting(w, w->in->type.columns, &(tra_part_keys){0});
    rows.cut = true, rows.skip = w->op.from, rows.most = w->op.count;
    return tra_table_record(w, sort_rows(w, &rows));
}
