/* table_group_parts.c - group by parts, for aggregates that have no states: how many distinct values a group has, and
 * its quantiles.
 *
 * The keys and the values of each such aggregate become parts by ranges of both (table_parts.c), so that a group may be
 * larger than memory. Each part keeps every distinct value of its range once, and then these rows are counted. For
 * quantiles parts are sorted. Each is told how many values of its first and of its last group are in other parts, and
 * gives the values around the quantile that it has. In the end the aggregates are joined by the keys.
 */
#include "table_parts.h"

#include "lower.h"

#include <math.h>
#include <string.h>

/* ---- columns ------------------------------------------------------------------------------------------------ */

/* A builder of a group by the first columns of s, which is of the keys of w and of values. */
static tra_table_builder group_builder(tra_table_builder *w, const tra_schema *s, int nkeys, int naggs,
                                       const tra_table_agg *agg) {
    tra_table_builder one = {.b = w->b, .call = w->call, .in = w->in, .op.op = TRA_TABLE_GROUP};
    tra_table_term *t = tra_news(w->b->arena, tra_table_term, nkeys + 1);
    for (int k = 0; k < nkeys; k++)
        t[k] =
            (tra_table_term){.name = s->v[k].name, .ast = tra_table_name_ast(w->b->arena, s->v[k].name, w->call->span)};
    one.op.nterms = nkeys;
    one.op.term = t;
    one.op.naggs = naggs;
    one.op.agg = agg;
    return one;
}

/* The keys and one more column of `in`. */
static tra_node *keys_and_column(tra_table_builder *w, tra_node *in, int column) {
    return tra_table_pick(w, in, w->op.nterms + 1, tra_table_counting(w->b->arena, w->op.nterms, column));
}

static tra_part_keys all_columns(tra_arena *a, const tra_schema *s) {
    return (tra_part_keys){s->n, tra_table_counting(a, s->n, 0), NULL};
}

/* Divides a catalog of rows of keys and one value by all of these. numbered: and by the numbers of rows, so that equal
 * rows may be in several parts. */
static bool divide(const tra_catalog *c, const tra_schema *s, bool numbered, tra_division *d) {
    tra_division_input x = {.columns = s, .whole_share = 1, .numbered = numbered, .may_run = true};
    x.key_bytes = tra_schema_row_bytes(s) + (numbered ? (int64_t)sizeof(int64_t) : 0);
    return tra_table_divide(c, &x, d);
}

/* ---- distinct values ---------------------------------------------------------------------------------------- */

/* Each different row once. Where few rows of a block are expected to differ, they are groups by all columns, which are
 * looked up; otherwise rows are sorted, and the first of those that are equal stays. */
static tra_node *each_once(tra_table_builder *w, tra_node *in, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    tra_table_builder one = group_builder(w, s, s->n, 0, NULL);
    if (tra_table_group_share(&one, in) <= TRA_TABLE_HASHED_SHARE) return tra_table_group_rows(&one, in, NULL, true);
    tra_part_keys by = all_columns(a, s);
    tra_arrange x = tra_table_sorting(a, s, false, by.n, by.column, NULL, "of which values are counted");
    x.keep = TRA_ARRANGE_FIRST;
    tra_node *once = tra_table_sort_blocks(w, tra_table_make_runs(w, in, d), &x);
    return once ? tra_table_sort_parts(w, tra_table_make_parts(w, once, &by, d), &x) : NULL;
}

/* The number of distinct values of each group. */
static tra_node *count_distinct(tra_table_builder *w, tra_node *in, const tra_table_agg *agg) {
    tra_division d;
    tra_group_column *v = tra_new(w->b->arena, tra_group_column);
    tra_table_agg *count = tra_new(w->b->arena, tra_table_agg);
    bool parts = divide(in->type.cat, in->type.columns, false, &d);
    *count = (tra_table_agg){agg->name, parts ? TRA_AGGREGATE_COUNT : TRA_AGGREGATE_DISTINCT, .ast = agg->ast};
    *v = (tra_group_column){.name = agg->name, .f = count->f, .column = w->op.nterms};
    tra_table_builder one = group_builder(w, in->type.columns, w->op.nterms, 1, count);
    if (!parts) return tra_table_group_rows(&one, in, v, false);
    tra_node *once = each_once(w, in, &d);
    return once ? tra_table_group_rows(&one, once, v, true) : NULL;
}

/* ---- quantiles ---------------------------------------------------------------------------------------------- */

/* The columns of a quantile (tra_ranking): the values between which it lies, and how far it is between them. */
enum { LOW, HIGH, PART, RANKED };

/* What kernels need to know to find quantile q of the last column of s in groups by the others. */
static const tra_ranking *ranking(tra_arena *a, const tra_schema *s, double q) {
    static const tra_column counts[] = {
        {.name = "0", .type = TRA_COL_I64}, {.name = "1", .type = TRA_COL_I64}, {.name = "2", .type = TRA_COL_I64}};
    static const tra_column ranked[] = {[LOW] = {.name = "0", .type = TRA_COL_F64, .nullable = true},
                                        [HIGH] = {.name = "1", .type = TRA_COL_F64, .nullable = true},
                                        [PART] = {.name = "2", .type = TRA_COL_F64}};
    tra_ranking *x = tra_new(a, tra_ranking);
    tra_column *key = tra_news(a, tra_column, s->n);
    const tra_schema keys = {s->n - 1, key};
    for (int i = 0; i < keys.n; i++) key[i] = s->v[i], key[i].fails = false;
    *x = (tra_ranking){.in = s, .nkeys = keys.n, .q = q};
    x->ends = tra_table_schema(a, &keys, keys.n, NULL, 3, counts);
    x->carry = tra_table_schema(a, &keys, 0, NULL, 3, counts);
    x->out = tra_table_schema(a, &keys, keys.n, NULL, RANKED, ranked);
    return x;
}

/* For each sorted block what other blocks have of its first group and of its last: how many values come before, how
 * many there are in all, how many of them are NaN. */
static tra_node *values_elsewhere(tra_table_builder *w, tra_node *sorted, const tra_ranking *x) {
    tra_node *blocks = tra_positions(w->b, w->call->span, sorted->type.cat->frontier.v[0], 1);
    if (!blocks) return NULL;
    tra_rows_kernel ends = tra_rows_op(&tra_group_ends_ops, x, x->ends);
    ends.extent = TRA_ROWS_MOST, ends.most = 2, ends.counts = true, ends.flops = 1;
    tra_rows_kernel carry = ends;
    carry.columns = x->carry, carry.ops = &tra_group_carry_ops;
    tra_node *all_ends = tra_table_one_block(w, tra_table_kernel(w, sorted, blocks, 0, 0, &ends), 0);
    return tra_table_kernel(w, all_ends, blocks, -1, -1, &carry);
}

/* For each sorted block a row for each group in it, with those of the two values around the quantile that are in the
 * block (lib/table/key_ranges.h). */
static tra_node *ranked_values(tra_table_builder *w, tra_node *sorted, const tra_ranking *x) {
    tra_node *elsewhere = values_elsewhere(w, sorted, x);
    if (!elsewhere) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_group_ranks_ops, x, x->out);
    op.most = 2, op.counts = true, op.share = 0.1, op.divides = true, op.flops = 10;
    return tra_table_kernel(w, sorted, elsewhere, 0, 0, &op);
}

/* Calls of numbers, which never fail. */
static const tra_colexpr *call(tra_arena *a, tra_colop op, const tra_colexpr *x, const tra_colexpr *y) {
    return tra_colexpr_call(a, op, y ? 2 : 1, (const tra_colexpr *const[]){x, y}, &x, NULL) == TRA_OK ? x : NULL;
}

static const tra_colexpr *choose(tra_arena *a, const tra_colexpr *c, const tra_colexpr *x, const tra_colexpr *y) {
    return tra_colexpr_call(a, TRA_C_IF, 3, (const tra_colexpr *const[]){c, x, y}, &x, NULL) == TRA_OK ? x : NULL;
}

/* The quantile, as for whole groups (lib/table/group_result.c): NaN where part is; low where it is 0 or both are equal;
 * low + (high - low) x part, or where that difference is infinite low x (1 - part) + high x part. */
static const tra_colexpr *interpolated(tra_arena *a, const tra_schema *s, int nkeys) {
    const tra_colexpr *low = tra_colexpr_column(a, s, nkeys + LOW), *high = tra_colexpr_column(a, s, nkeys + HIGH),
                      *part = tra_colexpr_column(a, s, nkeys + PART), *rest, *apart, *near, *far;
    apart = call(a, TRA_C_SUB, high, low);
    near = call(a, TRA_C_ADD, low, call(a, TRA_C_MUL, apart, part));
    rest = call(a, TRA_C_SUB, tra_colexpr_float(a, 1), part);
    far = call(a, TRA_C_ADD, call(a, TRA_C_MUL, low, rest), call(a, TRA_C_MUL, high, part));
    near = choose(a, call(a, TRA_C_LT, call(a, TRA_C_ABS, apart, NULL), tra_colexpr_float(a, INFINITY)), near, far);
    near = choose(a, call(a, TRA_C_EQ, low, high), low, near);
    near = choose(a, call(a, TRA_C_EQ, part, tra_colexpr_float(a, 0)), low, near);
    return choose(a, call(a, TRA_C_NE, part, part), part, near);
}

/* A quantile of each group, where rows of keys and values are divided as d says. */
static tra_node *quantile_of_parts(tra_table_builder *w, tra_node *in, const char *name, double q,
                                   const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    int nkeys = w->op.nterms;
    tra_part_keys by = all_columns(a, s);
    tra_table_builder order = {.b = w->b, .call = w->call, .in = in, .op.op = TRA_TABLE_ORDER};
    tra_node *sorted = tra_table_order_parts(&order, &by, d);
    const tra_ranking *x = ranking(a, s, q);
    tra_node *ranked = sorted ? ranked_values(w, sorted, x) : NULL;
    if (!ranked) return NULL;
    /* of the rows that blocks have for a group, the first values that are not NULL */
    tra_group_column *column = tra_news(a, tra_group_column, RANKED);
    tra_table_agg *first = tra_news(a, tra_table_agg, RANKED);
    for (int i = 0; i < RANKED; i++) {
        const char *own = x->out->v[nkeys + i].name;
        first[i] = (tra_table_agg){own, TRA_AGGREGATE_FIRST, .ast = tra_table_name_ast(a, own, w->call->span)};
        column[i] = (tra_group_column){.name = own, .f = TRA_AGGREGATE_FIRST, .column = nkeys + i};
    }
    tra_table_builder one = group_builder(w, x->out, w->op.nterms, RANKED, first);
    tra_node *groups = tra_table_group_rows(&one, ranked, column, true);
    if (!groups) return NULL;
    tra_projection p = {.arena = a};
    for (int k = 0; k < nkeys; k++)
        tra_projection_add(&p, s->v[k].name, tra_colexpr_column(a, groups->type.columns, k));
    tra_projection_add(&p, name, interpolated(a, groups->type.columns, nkeys));
    return tra_table_columns(w, groups, &p);
}

/* A quantile or the median of each group. */
static tra_node *quantile(tra_table_builder *w, tra_node *in, const tra_table_agg *agg) {
    enum { VALUES = 48 }; /* bytes of scratch for each row */
    tra_division d;
    double q = agg->f == TRA_AGGREGATE_MEDIAN ? 0.5 : agg->q;
    if (divide(in->type.cat, in->type.columns, true, &d) && !tra_table_stays_whole(w, in, VALUES))
        return quantile_of_parts(w, in, agg->name, q, &d);
    tra_group_column *column = tra_new(w->b->arena, tra_group_column);
    *column = (tra_group_column){.name = agg->name, .f = agg->f, .column = w->op.nterms, .q = agg->q};
    tra_table_builder one = group_builder(w, in->type.columns, w->op.nterms, 1, agg);
    return tra_table_group_rows(&one, in, column, false);
}

/* ---- all aggregates ----------------------------------------------------------------------------------------- */

bool tra_table_divides_groups(tra_table_builder *w, tra_node *rows, const tra_group_column *columns) {
    tra_division d;
    for (int i = 0; i < w->op.naggs; i++) {
        if (tra_aggregate_has_states(columns[i].f)) continue;
        const int *column = tra_table_counting(w->b->arena, w->op.nterms, columns[i].column);
        const tra_schema *s = tra_table_subschema(w->b->arena, rows->type.columns, w->op.nterms + 1, column, false);
        return divide(rows->type.cat, s, true, &d);
    }
    return false;
}

/* The aggregates that have states; NULL if there are none. */
static tra_node *group_with_states(tra_table_builder *w, tra_node *rows, const tra_group_column *v) {
    tra_arena *a = w->b->arena;
    tra_group_column *own = tra_news(a, tra_group_column, w->op.naggs);
    tra_table_agg *agg = tra_news(a, tra_table_agg, w->op.naggs);
    int n = 0;
    for (int i = 0; i < w->op.naggs; i++)
        if (tra_aggregate_has_states(v[i].f)) own[n] = v[i], agg[n++] = w->op.agg[i];
    if (n == 0) return NULL;
    tra_table_builder one = group_builder(w, rows->type.columns, w->op.nterms, n, agg);
    return tra_table_group_rows(&one, rows, own, true);
}

/* Joins two tables of the same groups by their keys. */
static tra_node *join_groups(tra_table_builder *w, tra_node *left, tra_node *right) {
    tra_table_builder one = {.b = w->b, .call = w->call, .in = left, .right = right, .op.op = TRA_TABLE_JOIN};
    return tra_table_join_by_keys(&one, w->op.nterms);
}

/* An aggregate that has no states, of the last column of `in`. */
static tra_node *by_all_values(tra_table_builder *w, tra_node *in, const tra_table_agg *agg) {
    switch (tra_aggregate_way_of(agg->f)) {
    case TRA_WAY_DIFFERENT: return count_distinct(w, in, agg);
    case TRA_WAY_RANKED: return quantile(w, in, agg);
    case TRA_WAY_COUNT:
    case TRA_WAY_SUM:
    case TRA_WAY_MOMENTS:
    case TRA_WAY_POWERS:
    case TRA_WAY_PAIR:
    case TRA_WAY_EXTREME:
    case TRA_WAY_END:
    case TRA_WAY_BY: break;
    }
    return NULL;
}

tra_node *tra_table_group_parts(tra_table_builder *w, tra_node *rows, const tra_group_column *columns) {
    tra_arena *a = w->b->arena;
    int nkeys = w->op.nterms, n = nkeys + w->op.naggs;
    tra_node *all = group_with_states(w, rows, columns);
    for (int i = 0; i < w->op.naggs; i++) {
        const tra_table_agg *agg = &w->op.agg[i];
        if (tra_aggregate_has_states(agg->f)) continue;
        tra_node *in = keys_and_column(w, rows, columns[i].column);
        tra_node *one = in ? by_all_values(w, in, agg) : NULL;
        if (!one) return NULL;
        all = all ? join_groups(w, all, one) : one;
        if (!all) return NULL;
    }
    int *column = tra_news(a, int, n + 1);
    for (int i = 0; i < n; i++)
        column[i] = tra_schema_find(all->type.columns, i < nkeys ? w->op.term[i].name : w->op.agg[i - nkeys].name);
    tra_node *out = tra_table_pick(w, all, n, column);
    if (out && out->type.bounded) out->rows = tra_table_own_rows(w->b, out);
    return out;
}
