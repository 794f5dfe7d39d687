/* sums_before_joins.c - rule Q-9: rows are aggregated before they are joined.
 *
 * A group of the rows of a join of L with R is made of groups of L's rows, by the keys of the join and by what of the
 * group's keys is L's: all rows of such a group have the same partners. So L is aggregated to states by these keys;
 * what is joined is one row for each group, and the states of the pairs are put together by the keys of the whole:
 * a state that has several partners is there several times, as its rows would be.
 *
 * Where rows of either table have several partners, a key that many rows of both have makes as many pairs as the
 * product of their numbers. So both tables become groups; with each group stands how many rows it has, and what is
 * known of the values of one table counts as often as the group of the other table has rows (lib/table/pair_states.h).
 * A sum of products of a factor of each table is the product of their sums.
 * A join whose pairs are counted before (plans/tra/table_join_slices.c) gets the same operators over groups.
 */
#include "matrix_sums.h"
#include "sum_query.h"

#include <math.h>
#include <string.h>

#include "../../lib/table/kernels.h"
#include "../../lib/table/pair_states.h"
#include "../../lib/table/key_ranges.h"
#include "../tra/cardinality.h"

/* ---- groups of a table ------------------------------------------------------------------------------------------- */

static const tra_node *below(query *q, tra_node n) {
    const tra_expr *x = tra_make_below(q->w, q->group, n);
    return x ? &x->node : NULL;
}

static tra_rows_kernel kernel_of(const tra_expr *x) { return *tra_kernel_rows(x->node.kernel); }

static const tra_node *pass_over(query *q, const tra_node *in, const tra_rowwise *r, bool counts) {
    tra_rows_kernel k = kernel_of(q->pass);
    k.counts |= counts;
    return in ? below(q, tra_proto_transform(tra_pass_kernel(q->w, &k, r), in)) : NULL;
}

static int add_key(side *x, const tra_colexpr *key) {
    for (int k = 0; k < x->nkeys; k++)
        if (tra_colexpr_same(x->in, x->key[k], key)) return k;
    x->key[x->nkeys] = key;
    return x->nkeys++;
}

/* Adds the columns of a table that an expression over the join's columns reads. */
static void add_columns(side *x, const tra_colexpr *key) {
    if (key->op == TRA_C_COLUMN && x->by[key->column]) add_key(x, x->by[key->column]);
    for (int i = 0; i < key->nkids; i++) add_columns(x, key->kids[i]);
}

/* Which keys a table is grouped by: of the left one alone those of the whole that it has, else the columns of both that
 * these read, since the keys themselves are made after the join. */
static void set_keys(query *q, side *x, int own, bool both) {
    const int *key = own == LEFT ? q->s->lkey : q->s->rkey;
    x->nkeys = 0;
    x->key = tra_news(q->a, const tra_colexpr *, x->in->n + q->s->nkeys + q->nkeys + 1);
    x->joined = tra_news(q->a, int, q->s->nkeys + 1);
    x->column = tra_news(q->a, int, q->n + 1);
    for (int k = 0; k < q->s->nkeys; k++) x->joined[k] = add_key(x, tra_colexpr_column(q->a, x->in, key[k]));
    for (int k = 0; k < q->nkeys; k++) {
        x->column[k] = -1;
        if (both)
            add_columns(x, q->x[k]);
        else if (q->reads[k] != READS_RIGHT)
            x->column[k] = add_key(x, tra_colexpr_substitute(q->a, q->x[k], x->by));
    }
}

/* The keys of a table, and what is aggregated of it, of each of its rows. */
static const tra_node *make_columns(query *q, side *x, int own) {
    tra_projection p = {.arena = q->a};
    tra_rowwise *r = x->pass ? x->pass : tra_rowwise_new(q->a, x->in);
    for (int k = 0; k < x->nkeys; k++) tra_projection_add(&p, tra_arena_printf(q->a, "key %d", k), x->key[k]);
    for (int i = q->nkeys; i < q->n; i++) {
        x->column[i] = -1;
        if (!q->factor[own][i] && side_of_column(q, i) != own) continue;
        const tra_colexpr *v = tra_colexpr_substitute(q->a, q->factor[own][i] ? q->factor[own][i] : q->x[i], x->by);
        x->column[i] = tra_projection_add(&p, tra_arena_printf(q->a, "of %d", i), v);
    }
    tra_rowwise_project(r, p.n, p.names, p.x);
    return pass_over(q, x->rows, r, x->pass != NULL);
}

static const tra_node *group_node(query *q, const side *x, const tra_node *in, const char *what, tra_group_pass pass,
                                  double rows) {
    tra_rows_kernel k = kernel_of(q->group);
    k.label = tra_arena_printf(q->a, "%s the join, by %d keys: %s", what, x->nkeys, k.text);
    k.columns = x->columns;
    k.extent = TRA_ROWS_MOST;
    k.most = INT64_MAX;            /* as many as there are rows, so that all bounds stay */
    int64_t all = in->type.cat->n; /* each block has as many groups as the keys have values, at most */
    for (int i = 0; i < x->nkeys; i++) {
        tra_column c = tra_colexpr_result(x->key[i], "");
        all = tra_mul_most(all, tra_table_values_most(&c, x->key[i]));
    }
    k.all = all < tra_catalog_elements(in->type.cat) ? all : 0;
    k.counts = true;
    k.share = tra_share_of_groups(x->facts, x->nkeys, x->key, rows);
    k.flops = 3.5 * (1 + (x->counted < 0 ? x->nkeys + q->naggregates : x->columns->n)) * (1 + 5 * fmin(1, k.share));
    k.data = pass == TRA_GROUP_PARTIAL ? x->first : tra_group_as(q->a, x->first, pass);
    return below(q, tra_proto_transform(tra_rows_kernel_of(q->a, &k), in));
}

/* The groups of each block of a table: states of the aggregates that are of it, and, if both tables become groups, how
 * many rows there are. The columns are renamed so that no two of both tables have one name. */
static const tra_node *make_groups(query *q, side *x, int own, bool both) {
    const tra_node *columns = make_columns(q, x, own);
    int n = 0;
    bool counts = both;
    tra_group_column *v = tra_news(q->a, tra_group_column, q->naggregates + 2);
    tra_group *g;
    x->number = tra_news(q->a, int, q->naggregates + 1);
    for (int i = 0; i < q->naggregates; i++) {
        const tra_group_column *old = &q->aggregate[i];
        bool is_own = old->column < 0 ? own == LEFT : x->column[old->column] >= 0;
        counts |= is_product(q, i);
        x->number[i] = is_own ? n : -1;
        if (!is_own) continue;
        v[n] = *old;
        if (old->column >= 0) v[n].column = x->column[old->column];
        if (tra_aggregate_has_two(old->f)) v[n].second = x->column[old->second];
        n++;
    }
    if (counts) v[n++] = (tra_group_column){.name = "rows", .f = TRA_AGGREGATE_COUNT, .column = -1};
    if (!columns || tra_group_new(q->a, columns->type.columns, x->nkeys, n, v, TRA_GROUP_PARTIAL, &g, NULL) != TRA_OK)
        return NULL;
    x->first = g;
    x->counted = counts ? tra_group_count_state(g, n - 1) : -1;
    const tra_schema *s = tra_group_out(g);
    const tra_schema *out;
    tra_column *c = tra_schema_beside(q->a, NULL, s->n, &out);
    for (int i = 0; i < s->n; i++) {
        c[i] = s->v[i];
        c[i].name = tra_arena_printf(q->a, "%s%s %d",
                                     !both         ? ""
                                     : own == LEFT ? "left "
                                                   : "right ",
                                     i < x->nkeys ? "key" : "state", i);
    }
    x->columns = out;
    return group_node(q, x, columns, both ? "of each before" : "before", TRA_GROUP_PARTIAL,
                      (double)columns->type.cat->bound.v[0]);
}

/* The groups of the right table in one block. */
static const tra_node *all_groups(query *q, side *x, const tra_node *groups) {
    tra_node n = *q->right;
    if (!groups || n.op != TRA_OP_CONCAT) return groups;
    n.in[0] = (tra_node *)groups;
    const tra_node *all = below(q, n);
    if (!all || groups->type.cat->n == 1) return all;
    return group_node(q, x, all, "all of each before", TRA_GROUP_MERGE, tra_rows_expected(all));
}

/* ---- joins whose pairs are counted before ------------------------------------------------------------------------ */

static const tra_node *over(query *q, const tra_node *like, const tra_kernel *k, const tra_node *l, const tra_node *r) {
    tra_node n = *like;
    n.in[0] = (tra_node *)l;
    n.in[1] = (tra_node *)r;
    if (k) n.kernel = k;
    return l ? below(q, n) : NULL;
}

/* The left groups in the slices that the left rows are in, which are cut by the pairs of groups. */
static const tra_node *slice_groups(query *q, const tra_lookup *l, const tra_node *left, const tra_node *right) {
    const tra_schema *s = q->of[LEFT].columns;
    tra_rows_kernel k = *tra_kernel_rows(q->before->kernel);
    const tra_pairs_before *old = k.data;
    tra_pairs_before *b = tra_new(q->a, tra_pairs_before);
    const tra_schema *out;
    *tra_schema_beside(q->a, s, 1, &out) = old->out->v[old->out->n - 1];
    *b = (tra_pairs_before){l, s, q->of[RIGHT].columns, out, old->most};
    k.label = tra_arena_printf(q->a, "groups: %s", k.text);
    k.columns = out, k.data = b;
    const tra_node *n = over(q, q->before, tra_rows_kernel_of(q->a, &k), left, right);
    tra_number_slicing *cut = tra_new(q->a, tra_number_slicing);
    k = *tra_kernel_rows(q->slices->kernel);
    *cut = (tra_number_slicing){out, s->n, ((const tra_number_slicing *)k.data)->rows};
    k.columns = out, k.data = cut;
    n = over(q, q->slices, tra_rows_kernel_of(q->a, &k), n, q->slices->in[1]);
    n = over(q, q->rekey, NULL, n, NULL);
    tra_projection p = {.arena = q->a};
    for (int i = 0; i < s->n; i++) tra_projection_keep(&p, out, i);
    return pass_over(q, n, tra_projection_pass(&p, out), false);
}

/* ---- the join of groups ------------------------------------------------------------------------------------------ */

/* The same join of left groups with groups, or rows, of the right table. */
static const tra_node *make_join(query *q, const tra_node *left, const tra_node *right, bool both, tra_lookup **l) {
    side *x = &q->of[LEFT], *y = &q->of[RIGHT];
    const tra_node *old = &q->join->node;
    tra_lookup_spec s = *q->s;
    tra_rows_kernel k = kernel_of(q->join);
    if (!both) y->columns = s.right;
    s.left = x->columns, s.right = y->columns;
    s.lkey = x->joined, s.rkey = both ? y->joined : s.rkey;
    s.prefix = both ? NULL : "right ";
    if (!right || tra_lookup_new(q->a, &s, l, NULL) != TRA_OK) return NULL;
    double pairs = tra_rows_expected(left), had = tra_rows_expected(old),
           fewer = pairs / fmax(1, tra_rows_expected(x->rows)),
           less = tra_rows_expected(right) / fmax(1, tra_rows_expected(y->rows));
    if (both && q->before && !(left = slice_groups(q, *l, left, right))) return NULL;
    if (y->nkeys > q->s->nkeys) pairs = fmin(had, pairs * fmax(1, had / fmax(1, tra_rows_expected(x->rows))));
    if (both) k.share = fmin(1, k.share * pairs / fmax(1, had * fewer * less));
    k.columns = tra_lookup_out(*l);
    k.data = *l;
    if (both && y->nkeys == q->s->nkeys && q->group->node.type.cat->bound.v[0] <= left->type.cat->bound.v[0]) {
        k.extent = TRA_ROWS_SAME; /* one partner at most, and the result of the group is bounded by less than pairs */
        k.most = k.each = k.all = 0;
        k.share = fmin(1, pairs / fmax(1, tra_rows_expected(left)));
    }
    return over(q, old, tra_rows_kernel_of(q->a, &k), left, right);
}

/* The column of the join of groups that is column `column` of one side; -1: it has none. */
static int place_of(const query *q, const tra_lookup *l, int own, int column) {
    return tra_lookup_place(l, own == LEFT ? column : q->of[LEFT].columns->n + column);
}

/* The state of a table's groups with the number of their values of aggregate i. */
static int values_of(const side *x, int i) {
    int count = tra_group_count_state(x->first, x->number[i]);
    return count < 0 ? x->counted : count;
}

/* What x, over the columns of the join of rows, is over those of the join of groups: its columns are there if they are
 * keys, or columns of right rows. */
static const tra_colexpr *over_pairs(const query *q, const tra_lookup *l, const tra_colexpr *x, bool both) {
    const tra_schema *now = tra_lookup_out(l);
    const tra_colexpr **by = tra_news(q->a, const tra_colexpr *, tra_lookup_out(q->l)->n + 1);
    for (int i = 0; i < tra_lookup_out(q->l)->n; i++)
        for (int d = both ? LEFT : RIGHT; d <= RIGHT; d++) {
            const side *x = &q->of[d];
            int at = x->by[i] && !both ? place_of(q, l, d, x->by[i]->column) : -1;
            for (int c = 0; c < x->nkeys && both && x->by[i] && at < 0; c++)
                if (tra_colexpr_same(x->in, x->key[c], x->by[i])) at = place_of(q, l, d, c);
            if (at >= 0) by[i] = tra_colexpr_column(q->a, now, at);
        }
    return tra_colexpr_substitute(q->a, x, by);
}

/* Key k of the groups over the join of groups: a key of the left groups, or computed of what is there. */
static const tra_colexpr *key_of_pairs(const query *q, const tra_lookup *l, int k, bool both) {
    if (!both && q->of[LEFT].column[k] >= 0)
        return tra_colexpr_column(q->a, tra_lookup_out(l), place_of(q, l, LEFT, q->of[LEFT].column[k]));
    return over_pairs(q, l, q->x[k], both);
}

/* Makes the states of aggregate i, over products of the values of a left group and the value of a right row: their
 * number, 0 where the right value is NULL, and their sum. x of a state that cannot be made stays NULL. */
static void multiply_states(const query *q, const tra_lookup *l, int i, const tra_colexpr **x) {
    const side *own = &q->of[LEFT];
    const tra_schema *now = tra_lookup_out(l);
    const tra_colexpr *y = over_pairs(q, l, q->factor[RIGHT][q->aggregate[i].column], false),
                      *n = tra_colexpr_column(q->a, now, place_of(q, l, LEFT, values_of(own, i))),
                      *zero = tra_colexpr_int(q->a, 0), *none = tra_colexpr_float(q->a, 0), *is, *any, *v[3];
    int count = tra_group_count_state(q->g, i), sum = tra_group_state(q->g, i);
    bool ok = tra_colexpr_call(q->a, TRA_C_ISNULL, 1, &y, &is, NULL) == TRA_OK;
    ok = ok && tra_colexpr_call(q->a, TRA_C_EQ, 2, (const tra_colexpr *[]){n, zero}, &any, NULL) == TRA_OK;
    ok = ok && tra_colexpr_call(q->a, TRA_C_OR, 2, (const tra_colexpr *[]){is, any}, &any, NULL) == TRA_OK;
    v[0] = is, v[1] = zero, v[2] = n;
    if (ok && count >= 0) ok = tra_colexpr_call(q->a, TRA_C_IF, 3, v, &x[count], NULL) == TRA_OK;
    if (tra_group_nstates(q->g, i) == 0) return;
    v[0] = any, v[1] = none;
    v[2] = tra_colexpr_column(q->a, now, place_of(q, l, LEFT, tra_group_state(own->first, own->number[i])));
    ok = ok && tra_factor_multiply(q->a, v[2], y, &v[2]) && tra_colexpr_call(q->a, TRA_C_IF, 3, v, &y, NULL) == TRA_OK;
    if (!ok || tra_colexpr_call(q->a, TRA_C_IFNULL, 2, (const tra_colexpr *[]){y, none}, &x[sum], NULL) != TRA_OK)
        x[sum] = NULL;
}

/* The keys of the whole, and the states of left groups, or all columns of the pairs. NULL where the states would not be
 * held so. */
static const tra_node *columns_of_pairs(query *q, const tra_lookup *l, const tra_node *pairs, bool both) {
    const tra_schema *states = tra_group_states(q->g), *now = tra_lookup_out(l);
    int n = both ? q->nkeys + now->n : states->n;
    const char **names = tra_news(q->a, const char *, n + 1);
    const tra_colexpr **x = tra_news(q->a, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        names[i] = tra_arena_printf(q->a, i < q->nkeys ? "key %d" : "state %d", i);
        if (i < q->nkeys) x[i] = key_of_pairs(q, l, i, both);
        if (i >= q->nkeys && both)
            names[i] = now->v[i - q->nkeys].name, x[i] = tra_colexpr_column(q->a, now, i - q->nkeys);
    }
    for (int i = 0; i < q->naggregates && !both; i++) {
        const tra_group *own = q->of[LEFT].first;
        int count = tra_group_count_state(q->g, i);
        if (is_product(q, i)) {
            multiply_states(q, l, i, x);
            continue;
        }
        if (count >= 0) x[count] = tra_colexpr_column(q->a, now, place_of(q, l, LEFT, tra_group_count_state(own, i)));
        for (int k = 0; k < tra_group_nstates(q->g, i); k++)
            x[tra_group_state(q->g, i) + k] =
                tra_colexpr_column(q->a, now, place_of(q, l, LEFT, tra_group_state(own, i) + k));
    }
    for (int i = 0; i < (both ? q->nkeys : n); i++) {
        tra_column c = x[i] ? tra_colexpr_result(x[i], names[i]) : (tra_column){0};
        if (!x[i] || c.type != states->v[i].type || (c.fails && !both) || c.nullable != states->v[i].nullable)
            return NULL;
    }
    tra_rowwise *r = tra_rowwise_new(q->a, now);
    tra_rowwise_project(r, n, names, x);
    return pass_over(q, pairs, r, false);
}

/* The states of the pairs of rows that each pair of groups stands for. */
static const tra_node *states_of_pairs(query *q, const tra_lookup *l, const tra_node *pairs) {
    tra_pair_states *x = tra_new(q->a, tra_pair_states);
    tra_pair_state *v = tra_news(q->a, tra_pair_state, q->naggregates + 1);
    tra_rows_kernel k = kernel_of(q->pass);
    tra_str text = {0};
    *x = (tra_pair_states){pairs->type.columns, tra_group_states(q->g), q->nkeys, q->naggregates, v};
    tra_str_printf(&text, "states of pairs, %d keys:", q->nkeys);
    for (int i = 0; i < q->naggregates; i++) {
        int d = q->of[LEFT].number[i] >= 0 ? LEFT : RIGHT;
        const side *own = &q->of[d], *other = &q->of[1 - d];
        bool product = is_product(q, i);
        int count = product ? values_of(own, i) : tra_group_count_state(own->first, own->number[i]);
        v[i] =
            (tra_pair_state){.way = tra_aggregate_way_of(q->aggregate[i].f),
                             .count = count < 0 ? -1 : q->nkeys + place_of(q, l, d, count),
                             .counts = tra_group_count_state(q->g, i),
                             .from = q->nkeys + place_of(q, l, d, tra_group_state(own->first, own->number[i])),
                             .to = tra_group_state(q->g, i),
                             .n = tra_group_nstates(q->g, i),
                             .times = q->nkeys + place_of(q, l, 1 - d, product ? values_of(other, i) : other->counted),
                             .product = product};
        tra_str_printf(&text, " %s %d x %d", tra_aggregate_text(q->aggregate[i].f), v[i].from, v[i].times);
        if (!product || v[i].n == 0) continue;
        v[i].other = q->nkeys + place_of(q, l, 1 - d, tra_group_state(other->first, other->number[i]));
        v[i].nown = tra_group_nstates(own->first, own->number[i]);
        v[i].nother = tra_group_nstates(other->first, other->number[i]);
    }
    k.label = tra_arena_take(q->a, &text);
    k.columns = x->out;
    k.ops = &tra_pair_states_ops;
    k.data = x;
    return below(q, tra_proto_transform(tra_rows_kernel_of(q->a, &k), pairs));
}

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

/* Sums the left table before the join, or both. */
static void sum_before(query q, bool both) {
    side *x = &q.of[LEFT], *y = &q.of[RIGHT];
    const char *why = tra_sums_refused(&q, both ? BOTH_FIRST : LEFT_FIRST);
    tra_lookup *l;
    if (tra_refused(q.w, q.group, why)) return;
    const tra_node *right = q.right;
    if (both) tra_find_slices(&q);
    if (both && right->op == TRA_OP_CONCAT) y->rows = right->in[0];
    for (int d = LEFT; d <= (both ? RIGHT : LEFT); d++) set_keys(&q, &q.of[d], d, both);
    const tra_node *left = make_groups(&q, x, LEFT, both);
    if (both && left) right = all_groups(&q, y, make_groups(&q, y, RIGHT, both));
    const tra_node *n = left ? make_join(&q, left, right, both, &l) : NULL;
    if (n) n = columns_of_pairs(&q, l, n, both);
    if (n && both) n = states_of_pairs(&q, l, n);
    if (!n) return;
    bool partial = tra_group_pass_of(q.g) == TRA_GROUP_PARTIAL;
    tra_rows_kernel k = kernel_of(q.group);
    k.label = tra_arena_printf(q.a, "after the join%s: %s", both ? " of groups" : "", k.text);
    k.data = tra_group_as(q.a, q.g, partial ? TRA_GROUP_MERGE : TRA_GROUP_FINAL);
    double had = (double)tra_type_entries(&q.group->node.type).expected;
    k.share = fmin(1, had / fmax(1, (double)tra_catalog_elements(q.group->node.type.cat)));
    tra_claim(q.w, q.group, q.pass, tra_proto_transform(tra_rows_kernel_of(q.a, &k), n), tra_memo_expr(n), NULL);
}

/* Where a left row has one partner, and all values are its own, groups of the right table are of no use. */
static void sum_group(tra_rewriting *w, tra_expr *group, tra_expr *pass, tra_expr *join) {
    query q;
    if (!tra_read_query(&q, w, group, pass, join)) return;
    bool once = tra_lookup_once(w->m, join->in[1], q.s), of_right = false;
    for (int c = q.nkeys; c < q.n; c++) of_right |= q.reads[c] == READS_RIGHT || q.factor[RIGHT][c];
    if (!once || (of_right && !q.s->unique)) sum_before(q, true);
    sum_before(q, false);
}

/* x is the pass that makes the columns, y the join. */
static void before_join(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (y && w->side == 0 && tra_lookup_of_expr(y) && tra_rowwise_of_expr(x)) tra_each_group(w, x, y, sum_group);
}

const tra_rule tra_rule_q_9 = {
    .name = "Q-9",
    .equivalence = "group(join(L, R), keys, ...) = states of L by its keys and the join's, joined, and put together",
    .condition =
        "aggregates have states that do not go by the order of rows, and are each of one table: of the left one, or, "
        "where a row may have several partners, of either, and both tables are aggregated; or they are sums, means and "
        "counts of products of a factor of each table, finite or whole; each key is of one table; "
        "the join checks nothing of rows; nothing may fail",
    .forth = before_join,
};
