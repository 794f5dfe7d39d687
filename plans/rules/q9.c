/* q9.c - rule Q-9: rows are aggregated before they are joined.
 *
 * A group of the rows of a join of L with R is made of groups of L's rows, by the keys of the join and by what of the
 * group's keys is L's: all rows of such a group have the same partners. So L is aggregated to states by these keys;
 * what is joined is one row for each group, and the states of the pairs are put together by the keys of the whole:
 * a state that has several partners is there several times, as its rows would be.
 *
 * Source: Yan and Larson, Eager aggregation and lazy aggregation, VLDB 1995 (eager group-by).
 */
#include <math.h>
#include <string.h>

#include "../../lib/relation/table_file.h"
#include "../../lib/table/group.h"
#include "../../lib/table/kernels.h"
#include "q9.h"

enum { LEFT = 1, RIGHT = 2 };

typedef struct early {
    tra_rewriting *w;
    tra_arena *a;
    const tra_expr *group, *pass, *join; /* group(pass(join)) */
    const tra_group *g;
    const tra_rowwise_step *step; /* the keys, then what is aggregated, over the columns of the join */
    const tra_lookup *l;
    const tra_lookup_spec *s;
    const tra_colexpr **by; /* columns of the join, over the left table; NULL: columns of the right table */
    /* of the groups of the left table */
    int nkeys, n;            /* how many keys; how many columns with what is aggregated */
    const tra_colexpr **key; /* over the left table */
    int *at;                 /* for each key of the group its number among these keys; -1: it is of the right table */
    int *joined;             /* the same for each key of the join */
    const tra_group *first;
    const tra_schema *columns; /* its states, under names that differ */
} early;

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static int sides_of(const early *p, const tra_colexpr *x) {
    int sides = 0;
    if (x->op == TRA_C_COLUMN) return p->by[x->column] ? LEFT : RIGHT;
    for (int i = 0; i < x->nkids; i++) sides |= sides_of(p, x->kids[i]);
    return sides;
}

static const char *join_refused(const early *p) {
    if (p->s->nkeys == 0) return "the join has no keys";
    for (int k = 0; k < p->s->nkeys; k++)
        if (p->s->left->v[p->s->lkey[k]].fails) return "a key of the join may not be computed";
    return tra_lookup_refused(p->l);
}

static const char *aggregates_refused(const early *p) {
    for (int i = 0; i < p->step->n; i++)
        if (tra_may_fail(p->step->x[i])) return "a key, or what is aggregated, may fail in rows that the join drops";
    const tra_group_column *c;
    for (int i = 0, n = tra_group_columns(p->g, &c); i < n; i++, c++) {
        if (!tra_aggregate_has_states(c->f)) return "an aggregate has no partial results";
        if (tra_aggregate_way_of(c->f) == TRA_WAY_END || tra_aggregate_way_of(c->f) == TRA_WAY_BY)
            return "first, last, arg_min and arg_max go by the order of the joined rows";
    }
    return NULL;
}

static const char *columns_refused(const early *p) {
    int keys = tra_group_keys(p->g);
    for (int k = 0; k < keys; k++) {
        int sides = sides_of(p, p->step->x[k]);
        if (sides == (LEFT | RIGHT)) return "a key is computed of columns of both tables";
        if (sides != RIGHT && tra_coltype_is_float(p->step->x[k]->type))
            return "a key of floats has the zero, or minus zero, of the first row";
    }
    for (int i = keys; i < p->step->n; i++) /* also where nobody wants the aggregate any more */
        if (sides_of(p, p->step->x[i]) & RIGHT) return "what is aggregated is of the right table";
    return NULL;
}

/* ---- groups of the left table ------------------------------------------------------------------------------------ */

static int add_key(early *p, const tra_colexpr *x) {
    for (int k = 0; k < p->nkeys; k++)
        if (tra_colexpr_same(p->s->left, p->key[k], x)) return k;
    p->key[p->nkeys] = x;
    return p->nkeys++;
}

static void set_keys(early *p) {
    int keys = tra_group_keys(p->g), n = keys + p->s->nkeys;
    p->key = tra_news(p->a, const tra_colexpr *, n + 1);
    p->at = tra_news(p->a, int, keys + 1);
    p->joined = tra_news(p->a, int, p->s->nkeys + 1);
    for (int k = 0; k < p->s->nkeys; k++)
        p->joined[k] = add_key(p, tra_colexpr_column(p->a, p->s->left, p->s->lkey[k]));
    for (int k = 0; k < keys; k++) {
        const tra_colexpr *x = p->step->x[k];
        p->at[k] = sides_of(p, x) == RIGHT ? -1 : add_key(p, tra_colexpr_substitute(p->a, x, p->by));
    }
}

/* The keys and what is aggregated, of each left row. */
static tra_expr *make_columns(early *p) {
    int n = p->nkeys + p->step->n;
    const char **names = tra_news(p->a, const char *, n + 1);
    const tra_colexpr **x = tra_news(p->a, const tra_colexpr *, n + 1);
    tra_rowwise *r = tra_rowwise_new(p->a, p->s->left);
    for (p->n = 0; p->n < p->nkeys; p->n++) {
        names[p->n] = tra_arena_printf(p->a, "key %d", p->n);
        x[p->n] = p->key[p->n];
    }
    for (int i = tra_group_keys(p->g); i < p->step->n; i++, p->n++) {
        names[p->n] = tra_arena_printf(p->a, "of %d", i);
        x[p->n] = tra_colexpr_substitute(p->a, p->step->x[i], p->by);
    }
    tra_rowwise_project(r, p->n, names, x);
    tra_rows_kernel k = *tra_kernel_rows(p->pass->node.kernel);
    tra_node t = tra_proto_transform(tra_pass_kernel(p->w, &k, r), p->join->node.in[0]);
    return tra_make_below(p->w, p->group, &t);
}

/* The columns of the states, renamed so that no two have one name. */
static const tra_schema *named_states(early *p) {
    const tra_schema *s = tra_group_out(p->first);
    tra_schema *out = tra_new(p->a, tra_schema);
    tra_column *v = tra_news(p->a, tra_column, s->n + 1);
    for (int i = 0; i < s->n; i++) {
        v[i] = s->v[i];
        v[i].name = tra_arena_printf(p->a, i < p->nkeys ? "key %d" : "state %d", i);
    }
    *out = (tra_schema){s->n, v};
    return out;
}

static tra_expr *make_groups(early *p, const tra_expr *columns) {
    const tra_group_column *old;
    int n = tra_group_columns(p->g, &old), shift = p->nkeys - tra_group_keys(p->g);
    tra_group_column *v = tra_news(p->a, tra_group_column, n + 1);
    tra_group *g;
    for (int i = 0; i < n; i++) {
        v[i] = old[i];
        if (v[i].column >= 0) v[i].column += shift, v[i].second += shift;
    }
    if (tra_group_new(p->a, columns->node.type.columns, p->nkeys, n, v, TRA_GROUP_PARTIAL, &g, NULL) != TRA_OK)
        return NULL;
    p->first = g;
    p->columns = named_states(p);
    tra_rows_kernel k = *tra_kernel_rows(p->group->node.kernel);
    k.text = tra_arena_printf(p->a, "before the join, by %d keys: %s", p->nkeys, k.text);
    k.columns = p->columns;
    k.rows = TRA_ROWS_MOST;
    k.most = INT64_MAX; /* as many as there are rows, so that all bounds stay */
    k.counts = true;
    k.share = tra_share_of_groups(tra_memo_facts(p->w->m, p->join->in[0]), p->nkeys, p->key,
                                  (double)p->join->node.in[0]->type.cat->bound.v[0]);
    k.flops = 20.0 * (1 + p->nkeys + n);
    k.data = g;
    tra_node t = tra_proto_transform(tra_kernel_of_rows(p->a, &k), &columns->node);
    return tra_make_below(p->w, p->group, &t);
}

/* ---- the join of groups ------------------------------------------------------------------------------------------ */

static tra_expr *make_join(early *p, const tra_expr *groups, tra_lookup **l) {
    tra_lookup_spec s = *p->s;
    s.left = p->columns;
    s.lkey = p->joined;
    s.prefix = "right ";
    if (tra_lookup_new(p->a, &s, l, NULL) != TRA_OK) return NULL;
    tra_rows_kernel k = *tra_kernel_rows(p->join->node.kernel);
    k.text = tra_lookup_text(p->a, tra_lookup_spec_of(*l), &k);
    k.columns = tra_lookup_out(*l);
    k.data = *l;
    tra_node n = {
        .op = TRA_OP_JOIN, .in = {(tra_node *)&groups->node, p->join->node.in[1]}, .span = p->group->node.span};
    n.kernel = tra_kernel_of_rows(p->a, &k);
    return tra_make_below(p->w, p->group, &n);
}

/* What the columns of the join of rows are, in that of groups; those of the left table NULL. */
static const tra_colexpr **right_columns(const early *p, const tra_lookup *l) {
    const tra_schema *out = tra_lookup_out(p->l), *now = tra_lookup_out(l);
    const tra_colexpr **by = tra_news(p->a, const tra_colexpr *, out->n + 1);
    for (int i = 0; i < out->n; i++) {
        int right = tra_lookup_from(p->l)[i] - p->s->left->n;
        for (int k = 0; right >= 0 && k < now->n; k++)
            if (tra_lookup_from(l)[k] == p->columns->n + right) by[i] = tra_colexpr_column(p->a, now, k);
    }
    return by;
}

/* The keys and states as the group has them; NULL where they would not be held so. */
static const tra_rowwise *states_of_pairs(early *p, const tra_lookup *l) {
    const tra_schema *states = tra_group_states(p->g), *now = tra_lookup_out(l);
    const tra_colexpr **by = right_columns(p, l), **x = tra_news(p->a, const tra_colexpr *, states->n + 1);
    const char **names = tra_news(p->a, const char *, states->n + 1);
    const tra_group_column *all;
    int keys = tra_group_keys(p->g), n = tra_group_columns(p->g, &all);
    for (int k = 0; k < keys; k++)
        x[k] = p->at[k] < 0 ? tra_colexpr_substitute(p->a, p->step->x[k], by) : tra_colexpr_column(p->a, now, p->at[k]);
    for (int i = 0; i < n; i++) {
        int to = tra_group_state(p->g, i), first = tra_group_state(p->first, i);
        for (int k = 0; k < tra_group_nstates(p->g, i); k++) x[to + k] = tra_colexpr_column(p->a, now, first + k);
    }
    for (int i = 0; i < states->n; i++) {
        names[i] = tra_arena_printf(p->a, i < keys ? "key %d" : "state %d", i);
        tra_column c = tra_colexpr_result(x[i], names[i]);
        if (c.type != states->v[i].type || c.fails || c.nullable != states->v[i].nullable) return NULL;
    }
    tra_rowwise *r = tra_rowwise_new(p->a, now);
    tra_rowwise_project(r, states->n, names, x);
    return r;
}

static void put_together(early *p, const tra_expr *pairs, const tra_rowwise *r) {
    tra_rows_kernel k = *tra_kernel_rows(p->pass->node.kernel);
    tra_node n = tra_proto_transform(tra_pass_kernel(p->w, &k, r), &pairs->node);
    tra_expr *states = tra_make_below(p->w, p->group, &n);
    bool partial = tra_group_pass_of(p->g) == TRA_GROUP_PARTIAL;
    if (!states) return;
    k = *tra_kernel_rows(p->group->node.kernel);
    k.text = tra_arena_printf(p->a, "after the join: %s", k.text);
    k.data = tra_group_as(p->a, p->g, partial ? TRA_GROUP_MERGE : TRA_GROUP_FINAL);
    double had = (double)tra_type_entries(&p->group->node.type).expected;
    k.share = fmin(1, had / fmax(1, (double)tra_catalog_elements(p->group->node.type.cat)));
    n = tra_proto_transform(tra_kernel_of_rows(p->a, &k), &states->node);
    tra_claim(p->w, p->group, p->pass, 0, &n, states, NULL);
}

static void aggregate_early(tra_rewriting *w, const tra_expr *group, const tra_expr *pass, const tra_expr *join) {
    early p = {.w = w, .a = w->m->arena, .group = group, .pass = pass, .join = join, .l = tra_lookup_of_expr(join)};
    tra_lookup *l;
    p.g = tra_kernel_rows(group->node.kernel)->data;
    p.s = tra_lookup_spec_of(p.l);
    (void)tra_rowwise_steps(tra_rowwise_of_expr(pass), &p.step);
    p.by = tra_news(p.a, const tra_colexpr *, tra_lookup_out(p.l)->n + 1);
    for (int i = 0; i < tra_lookup_out(p.l)->n; i++) {
        int from = tra_lookup_from(p.l)[i];
        if (from >= 0 && from < p.s->left->n) p.by[i] = tra_colexpr_column(p.a, p.s->left, from);
    }
    const char *why = join_refused(&p);
    if (!why) why = aggregates_refused(&p);
    if (!why && !tra_lookup_once(w->m, join->in[1], p.s)) tra_aggregate_both(w, group, pass, join);
    if (!why) why = columns_refused(&p);
    if (why) {
        tra_refuse(w, group, "%s", why);
        return;
    }
    set_keys(&p);
    tra_expr *columns = make_columns(&p), *groups = columns ? make_groups(&p, columns) : NULL;
    tra_expr *pairs = groups ? make_join(&p, groups, &l) : NULL;
    const tra_rowwise *r = pairs ? states_of_pairs(&p, l) : NULL;
    if (r) put_together(&p, pairs, r);
}

/* x is the pass that makes the columns, y the join; the groups are among what is made of x. */
static void before_join(tra_rewriting *w, tra_expr *x, tra_expr *y, int side) {
    const tra_rowwise *r = y && side == 0 && tra_lookup_of_expr(y) ? tra_rowwise_of_expr(x) : NULL;
    const tra_rowwise_step *v;
    if (!r || tra_rowwise_is_matrix(r, NULL) || tra_rowwise_steps(r, &v) != 1 || v[0].selects) return;
    for (int i = 0, n = w->m->n; i < n; i++) {
        const tra_expr *g = w->m->v[i];
        const tra_rows_kernel *k = g->node.op == TRA_OP_TRANSFORM ? tra_kernel_rows(g->node.kernel) : NULL;
        if (!k || k->ops != &tra_group_ops || tra_memo_find(w->m, g->in[0]) != tra_memo_find(w->m, x->group)) continue;
        tra_group_pass pass = tra_group_pass_of(k->data);
        if (pass == TRA_GROUP_PARTIAL || pass == TRA_GROUP_WHOLE) aggregate_early(w, g, x, y);
    }
}

const tra_rule tra_rule_q_9 = {
    .name = "Q-9",
    .equivalence = "group(join(L, R), keys, ...) = states of L by its keys and the join's, joined, and put together",
    .condition =
        "aggregates have states that do not go by the order of rows, and are each of one table: of the left one, or, "
        "where a row may have several partners, of either, and both tables are aggregated; each key is of one table; "
        "the join checks nothing of rows; nothing may fail",
    .forth = before_join,
    .cases = {
        {.program = "P = group(join(trip, shop, k == k), [k], x = sum(x), n = count())\n" SUM_OF("x, n"),
         .makes = "after the join: partial group"},
        {.program = "P = group(join(trip, shop, k == k, how = left), [j, v], x = var(x), n = min(n))\n" SUM_OF("j"),
         .makes = "before the join, by 2 keys"},
        {.program = "P = group(join(shop, zone, k == j), [b, u], v = mean(v))\n" SUM_OF("u"),
         .makes = "after the join: group"},
        {.program = "P = group(join(trip, shop, k == k, expect = \"m:1\"), [k], v = sum(v))\n" SUM_OF("v"),
         .refused = "of the right table",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k, how = left), [j, b], v = mean(v), n = sum(n))\n" SUM_OF("v"),
         .makes = "after the join of groups"},
        {.program = "P = group(join(trip, shop, k == k, how = left), [j], v = sum(ifnull(v, 1.0)))\n" SUM_OF("v"),
         .refused = "NULL in rows without partner",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k), [k], x = first(x))\n" SUM_OF("x"),
         .refused = "order of the joined rows",
         .tables = true},
        {.program = "P = group(join(shop, zone, k == j), [k], v = median(v))\n" SUM_OF("v"),
         .refused = "no partial results",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k), [q = x < v], n = count())\n" SUM_OF("n"),
         .refused = "columns of both tables",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k), [x], n = count())\n" SUM_OF("n"),
         .refused = "minus zero",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k), [k], n = sum(n * n))\n" SUM_OF("n"),
         .refused = "may fail in rows that the join drops",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k, matched = left), [k], n = count())\n" SUM_OF("n"),
         .refused = "all rows are matched",
         .tables = true},
        {.program = "P = group(join(trip, shop, k == k && x < v), [k], n = count())\n" SUM_OF("n"),
         .refused = "further conditions",
         .tables = true},
    }};
