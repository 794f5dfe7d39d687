/* table_group_parts.c - aggregates that have no states: how many values a group has, and the value at a place of it.
 *
 * The keys and the values of one such aggregate become parts by ranges of both (table_parts.c), so that a group may be
 * larger than memory. Of distinct values each part has those of its range once, and they are counted as rows are. For
 * quantiles the parts are sorted: each is told how many values of its first group and of its last are in other parts,
 * and gives the values at the place that is asked for. All aggregates together are then joined by the keys.
 */
#include "table_parts.h"

#include "lower.h"

#include <string.h>

/* ---- columns --------------------------------------------------------------------------------------------------- */

static const tra_ast *name_of(tra_table_builder *w, const char *name) {
    tra_ast *x = tra_new(w->b->arena, tra_ast);
    *x = (tra_ast){.kind = TRA_AST_NAME, .span = w->call->span, .name_span = w->call->span, .text = name};
    x->quoted = true;
    return x;
}

/* A group over a table whose first columns are the keys of w, by name. */
static tra_table_builder grouping(tra_table_builder *w, const tra_schema *s, int naggs, const tra_table_agg *agg) {
    tra_table_builder one = {.b = w->b, .call = w->call, .in = w->in, .op.op = TRA_TABLE_GROUP};
    tra_table_term *t = tra_news(w->b->arena, tra_table_term, w->op.nterms + 1);
    for (int k = 0; k < w->op.nterms; k++)
        t[k] = (tra_table_term){.name = s->v[k].name, .ast = name_of(w, s->v[k].name)};
    one.op.nterms = w->op.nterms;
    one.op.term = t;
    one.op.naggs = naggs;
    one.op.agg = agg;
    return one;
}

/* These columns of a table, under these names. */
static tra_node *columns_of(tra_table_builder *w, tra_node *in, int n, const char *const *names,
                            const tra_colexpr *const *x) {
    tra_table_builder one = {.b = w->b, .call = w->call, .in = in, .op.op = TRA_TABLE_PROJECT};
    tra_rowwise *r = tra_rowwise_new(w->b->arena, in->type.columns);
    tra_str text = {0};
    tra_rowwise_project(r, n, names, x);
    tra_rowwise_print(r, &text);
    const char *copy = tra_arena_strndup(w->b->arena, tra_str_get(&text), text.n);
    tra_str_free(&text);
    return tra_table_rowwise(&one, r, copy, false, 1);
}

static tra_node *keys_and(tra_table_builder *w, tra_node *in, int column) {
    tra_arena *a = w->b->arena;
    int n = w->op.nterms;
    const char **names = tra_news(a, const char *, n + 1);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, n + 1);
    for (int k = 0; k <= n; k++) {
        int c = k < n ? k : column;
        names[k] = in->type.columns->v[c].name;
        x[k] = tra_colexpr_column(a, in->type.columns, c);
    }
    return columns_of(w, in, n + 1, names, x);
}

static tra_part_keys all_columns(tra_arena *a, const tra_schema *s) {
    int *column = tra_news(a, int, s->n);
    tra_str text = {0};
    for (int i = 0; i < s->n; i++) {
        column[i] = i;
        tra_str_add(&text, i ? ", " : "[");
        tra_name_print(s->v[i].name, &text);
    }
    tra_str_add(&text, "]");
    tra_part_keys k = {s->n, column, NULL, tra_arena_strndup(a, tra_str_get(&text), text.n)};
    tra_str_free(&text);
    return k;
}

/* Keys and one value as parts by both; ties: equal rows are cut apart too. */
static bool divides(const tra_node *in, bool ties, tra_division *d) {
    tra_dividing x = {.columns = in->type.columns, .share = 1, .ties = ties, .runs = true};
    x.key_bytes = tra_schema_row_bytes(in->type.columns) + (ties ? (int64_t)sizeof(int64_t) : 0);
    return tra_table_divide(in->type.cat, &x, d);
}

/* ---- distinct values --------------------------------------------------------------------------------------------- */

/* Each different row once, in the order of rows. */
static tra_node *each_once(tra_table_builder *w, tra_node *in, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    tra_part_keys by = all_columns(a, s);
    tra_arrange x = {.in = s, .out = s, .from = by.column, .n = by.n, .column = by.column};
    x.keep = TRA_ARRANGE_FIRST;
    x.number = -1;
    x.what = "of which values are counted";
    const char *text = tra_arena_printf(a, "each %s once", by.text);
    tra_node *once = tra_table_arrange(w, tra_table_runs(w, in, d), &x, text);
    return once ? tra_table_arrange(w, tra_table_in_parts(w, once, &by, d), &x, text) : NULL;
}

static tra_node *distinct(tra_table_builder *w, tra_node *in, const tra_table_agg *agg) {
    tra_division d;
    tra_group_column *v = tra_new(w->b->arena, tra_group_column);
    tra_table_agg *count = tra_new(w->b->arena, tra_table_agg);
    bool parts = divides(in, false, &d);
    *count = (tra_table_agg){agg->name, parts ? TRA_AGGREGATE_COUNT : TRA_AGGREGATE_DISTINCT, .ast = agg->ast};
    *v = (tra_group_column){.name = agg->name, .f = count->f, .column = w->op.nterms};
    tra_table_builder one = grouping(w, in->type.columns, 1, count);
    if (!parts) return tra_table_groups(&one, in, v, false);
    tra_node *once = each_once(w, in, &d);
    return once ? tra_table_groups(&one, once, v, true) : NULL;
}

/* ---- quantiles --------------------------------------------------------------------------------------------------- */

/* The first n columns of s, and more. */
static const tra_schema *with(tra_arena *a, const tra_schema *s, int n, int nmore, const tra_column *more) {
    tra_column *v = tra_news(a, tra_column, n + nmore);
    tra_schema *out = tra_new(a, tra_schema);
    for (int i = 0; i < n; i++) v[i] = s->v[i], v[i].fails = false;
    for (int i = 0; i < nmore; i++) v[n + i] = more[i];
    *out = (tra_schema){n + nmore, v};
    return out;
}

enum { LOW, HIGH, PART, PLACES };

static const tra_ranking *ranking(tra_arena *a, const tra_schema *s, double q) {
    static const tra_column ends[] = {{.name = "0", .type = TRA_COL_I64},
                                      {.name = "1", .type = TRA_COL_I64},
                                      {.name = "2", .type = TRA_COL_I64}},
                            places[] = {{.name = "0", .type = TRA_COL_F64, .nullable = true},
                                        {.name = "1", .type = TRA_COL_F64, .nullable = true},
                                        {.name = "2", .type = TRA_COL_F64}};
    tra_ranking *x = tra_new(a, tra_ranking);
    *x = (tra_ranking){.in = s, .nkeys = s->n - 1, .q = q};
    x->ends = with(a, s, x->nkeys, 3, ends);
    x->carry = with(a, s, 0, 3, ends);
    x->out = with(a, s, x->nkeys, PLACES, places);
    return x;
}

/* For each group, from every sorted block that has rows of it, a row with those of the two values around the quantile
 * that are in the block. */
static tra_node *values_at(tra_table_builder *w, tra_node *sorted, const tra_ranking *x) {
    tra_rows_kernel f = {.text = tra_arena_printf(w->b->arena, "groups at ends, of %d keys", x->nkeys), .data = x};
    tra_node *blocks = tra_positions(w->b, w->call->span, sorted->type.cat->frontier.v[0], 1);
    f.use = TRA_USE_JOIN;
    f.dtype = TRA_F64;
    f.columns = x->ends;
    f.rows = TRA_ROWS_MOST;
    f.most = 2;
    f.counts = true;
    f.share = 1;
    f.flops = 1;
    f.ops = &tra_group_ends_ops;
    tra_node *ends = blocks ? tra_table_kernel(w, sorted, blocks, 0, 0, &f) : NULL;
    ends = ends ? tra_table_whole(w, ends, 0) : NULL;
    f.text = tra_arena_printf(w->b->arena, "values in other blocks, of %d keys", x->nkeys);
    f.columns = x->carry;
    f.ops = &tra_group_carry_ops;
    tra_node *carry = ends ? tra_table_kernel(w, ends, blocks, -1, -1, &f) : NULL;
    f.text = tra_arena_printf(w->b->arena, "values at %.17g of each group, of %d keys", x->q, x->nkeys);
    f.columns = x->out;
    f.rows = TRA_ROWS_SAME;
    f.share = 0.1;
    f.divides = true;
    f.flops = 10;
    f.ops = &tra_group_ranks_ops;
    return carry ? tra_table_kernel(w, sorted, carry, 0, 0, &f) : NULL;
}

/* low, or what lies between low and high, as for whole groups (lib/table/group_run.c). */
static const tra_colexpr *between(tra_arena *a, const tra_schema *s, int nkeys) {
    const tra_colexpr *low = tra_colexpr_column(a, s, nkeys + LOW), *high = tra_colexpr_column(a, s, nkeys + HIGH),
                      *part = tra_colexpr_column(a, s, nkeys + PART), *x, *y;
    tra_err e = {0};
    bool ok = tra_colexpr_call(a, TRA_C_SUB, 2, (const tra_colexpr *const[]){high, low}, &x, &e) == TRA_OK &&
              tra_colexpr_call(a, TRA_C_MUL, 2, (const tra_colexpr *const[]){x, part}, &x, &e) == TRA_OK &&
              tra_colexpr_call(a, TRA_C_ADD, 2, (const tra_colexpr *const[]){low, x}, &x, &e) == TRA_OK &&
              tra_colexpr_call(a, TRA_C_EQ, 2, (const tra_colexpr *const[]){part, tra_colexpr_float(a, 0)}, &y, &e) ==
                  TRA_OK &&
              tra_colexpr_call(a, TRA_C_IF, 3, (const tra_colexpr *const[]){y, low, x}, &x, &e) == TRA_OK;
    return ok ? x : low; /* numbers are calculated with */
}

static tra_node *quantile(tra_table_builder *w, tra_node *in, const tra_table_agg *agg) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    tra_division d;
    int nkeys = w->op.nterms;
    double q = agg->f == TRA_AGGREGATE_MEDIAN ? 0.5 : agg->q;
    if (!divides(in, true, &d)) {
        tra_group_column *v = tra_new(a, tra_group_column);
        *v = (tra_group_column){.name = agg->name, .f = agg->f, .column = nkeys, .q = agg->q};
        tra_table_builder one = grouping(w, s, 1, agg);
        return tra_table_groups(&one, in, v, false);
    }
    tra_part_keys by = all_columns(a, s);
    tra_table_builder order = {.b = w->b, .call = w->call, .in = in, .op.op = TRA_TABLE_ORDER};
    tra_node *sorted = tra_table_order_parts(&order, &by, &d);
    const tra_ranking *x = ranking(a, s, q);
    tra_node *places = sorted ? values_at(w, sorted, x) : NULL;
    if (!places) return NULL;
    tra_group_column *v = tra_news(a, tra_group_column, PLACES);
    tra_table_agg *first = tra_news(a, tra_table_agg, PLACES);
    for (int i = 0; i < PLACES; i++) {
        const char *name = x->out->v[nkeys + i].name;
        first[i] = (tra_table_agg){.name = name, .f = TRA_AGGREGATE_FIRST, .ast = name_of(w, name)};
        v[i] = (tra_group_column){.name = name, .f = TRA_AGGREGATE_FIRST, .column = nkeys + i};
    }
    tra_table_builder one = grouping(w, x->out, PLACES, first);
    tra_node *groups = tra_table_groups(&one, places, v, true);
    if (!groups) return NULL;
    const char **names = tra_news(a, const char *, nkeys + 1);
    const tra_colexpr **columns = tra_news(a, const tra_colexpr *, nkeys + 1);
    for (int k = 0; k < nkeys; k++) {
        names[k] = s->v[k].name;
        columns[k] = tra_colexpr_column(a, groups->type.columns, k);
    }
    names[nkeys] = agg->name;
    columns[nkeys] = between(a, groups->type.columns, nkeys);
    return columns_of(w, groups, nkeys + 1, names, columns);
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

bool tra_table_group_divides(tra_table_builder *w, tra_node *rows, const tra_group_column *v) {
    tra_division d;
    for (int i = 0; i < w->op.naggs; i++) {
        if (tra_aggregate_has_states(v[i].f)) continue;
        int column[w->op.nterms + 1];
        for (int k = 0; k < w->op.nterms; k++) column[k] = k;
        column[w->op.nterms] = v[i].column;
        const tra_schema *s = tra_table_some(w->b->arena, rows->type.columns, w->op.nterms + 1, column, false);
        tra_dividing x = {.columns = s, .share = 1, .ties = true, .runs = true};
        x.key_bytes = tra_schema_row_bytes(s) + (int64_t)sizeof(int64_t);
        return tra_table_divide(rows->type.cat, &x, &d);
    }
    return false;
}

/* The aggregates that have states, computed as usual; NULL if there are none. */
static tra_node *with_states(tra_table_builder *w, tra_node *rows, const tra_group_column *v) {
    tra_arena *a = w->b->arena;
    tra_group_column *own = tra_news(a, tra_group_column, w->op.naggs);
    tra_table_agg *agg = tra_news(a, tra_table_agg, w->op.naggs);
    int n = 0;
    for (int i = 0; i < w->op.naggs; i++)
        if (tra_aggregate_has_states(v[i].f)) own[n] = v[i], agg[n++] = w->op.agg[i];
    if (n == 0) return NULL;
    tra_table_builder one = grouping(w, rows->type.columns, n, agg);
    return tra_table_groups(&one, rows, own, true);
}

/* Adds the columns of one more aggregate to those of the same groups. */
static tra_node *with_aggregate(tra_table_builder *w, tra_node *left, tra_node *right) {
    int n = w->op.nterms, *key = tra_news(w->b->arena, int, n + 1);
    for (int k = 0; k < n; k++) key[k] = k;
    tra_table_builder one = {.b = w->b, .call = w->call, .in = left, .right = right, .op.op = TRA_TABLE_JOIN};
    return tra_table_joined(&one, n, key);
}

/* An aggregate that has no states. */
static tra_node *by_all_values(tra_table_builder *w, tra_node *in, const tra_table_agg *agg) {
    switch (tra_aggregate_way_of(agg->f)) {
    case TRA_WAY_DIFFERENT: return distinct(w, in, agg);
    case TRA_WAY_RANKED: return quantile(w, in, agg);
    case TRA_WAY_COUNT:
    case TRA_WAY_SUM:
    case TRA_WAY_MOMENTS:
    case TRA_WAY_EXTREME:
    case TRA_WAY_END: break;
    }
    return NULL;
}

tra_node *tra_table_group_parts(tra_table_builder *w, tra_node *rows, const tra_group_column *v) {
    tra_arena *a = w->b->arena;
    int nkeys = w->op.nterms, n = nkeys + w->op.naggs;
    tra_node *all = with_states(w, rows, v);
    for (int i = 0; i < w->op.naggs; i++) {
        const tra_table_agg *agg = &w->op.agg[i];
        if (tra_aggregate_has_states(agg->f)) continue;
        tra_node *in = keys_and(w, rows, v[i].column);
        tra_node *one = in ? by_all_values(w, in, agg) : NULL;
        if (!one) return NULL;
        all = all ? with_aggregate(w, all, one) : one;
        if (!all) return NULL;
    }
    const char **names = tra_news(a, const char *, n);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, n);
    for (int i = 0; i < n; i++) {
        names[i] = i < nkeys ? w->op.term[i].name : w->op.agg[i - nkeys].name;
        x[i] = tra_colexpr_column(a, all->type.columns, tra_schema_find(all->type.columns, names[i]));
    }
    tra_node *out = columns_of(w, all, n, names, x);
    if (out && out->type.bounded) out->rows = tra_table_rows_of(w->b, out);
    return out;
}
