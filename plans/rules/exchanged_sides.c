/* exchanged_sides.c - rule Q-8 for one join: the sides of a join whose rows are aggregated are exchanged.
 *
 * The right table of a join is brought together, and gets an index. Where no two rows of the left table have one key,
 * that table may be the right one: each row of the other has one partner at most. The rows come in another order, which
 * groups by exact keys, and aggregates that do not go by the order of rows, do not see; sums of floats are added in
 * another order, as when rows are aggregated before a join.
 */
#include "../../lib/table/kernels.h"
#include "../../lib/table/key_ranges.h"
#include "../tra/table_build.h"
#include "select_below_groups.h"
#include "sum_query.h"

/* The columns of one table that the keys of the join and the query read; at[i]: the number of each column of the join
 * there. */
static tra_expr *take_table(query *q, int d, int *at) {
    side *s = &q->of[d];
    const tra_schema *out = tra_lookup_out(q->l);
    bool *used = tra_news(q->a, bool, out->n + 1);
    tra_projection p = {.arena = q->a};
    tra_rowwise *r = s->pass ? s->pass : tra_rowwise_new(q->a, s->in);
    for (int i = 0; i < q->n; i++) tra_colexpr_columns(q->x[i], used);
    for (int k = 0; k < q->s->nkeys; k++)
        tra_projection_add(&p, side_name(q, d, p.n),
                           tra_colexpr_column(q->a, s->in, d == LEFT ? q->s->lkey[k] : q->s->rkey[k]));
    for (int i = 0; i < out->n; i++)
        if (used[i] && s->by[i]) at[i] = tra_projection_add(&p, side_name(q, d, p.n), s->by[i]);
    tra_rowwise_project(r, p.n, p.names, p.x);
    return tra_make_below(q->w, q->group, tra_proto_pass(q->w, s->rows, r));
}

static tra_expr *in_one_block(query *q, const tra_expr *x) {
    if (!x) return NULL;
    tra_node n = {.op = TRA_OP_CONCAT, .in = {(tra_node *)&x->node}};
    n.most = tra_rows_together(q->w->m->g, &x->node.type);
    return tra_make_below(q->w, q->group, n);
}

static tra_expr *join_exchanged(query *q, tra_expr *const *of, const tra_lookup *l) {
    tra_expr *all = in_one_block(q, of[LEFT]);
    double rows = tra_rows_expected(&of[RIGHT]->node), pairs = tra_rows_expected(&q->join->node);
    tra_rows_kernel k = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    k.use = TRA_USE_JOIN, k.counts = true, k.share = pairs < rows ? pairs / rows : 1, k.flops = TRA_LOOKUP_FLOPS;
    tra_node n = {.op = TRA_OP_JOIN, .in = {&of[RIGHT]->node, all ? &all->node : NULL}};
    n.kernel = tra_rows_kernel_of(q->a, &k);
    return all ? tra_make_below(q->w, q->group, n) : NULL;
}

/* The group over the exchanged join, which is made of the groups of its blocks. whole: the group that is claimed. */
static void claim(query *q, tra_expr *whole, const tra_lookup *l, const tra_expr *joined, const int *at) {
    const tra_schema *out = tra_lookup_out(q->l), *now = tra_lookup_out(l);
    const tra_rowwise *old = tra_rowwise_of_expr(q->pass);
    tra_projection p = {.arena = q->a};
    const tra_colexpr **by = tra_news(q->a, const tra_colexpr *, out->n + 1);
    int nright = tra_lookup_spec_of(l)->left->n;
    for (int i = 0; i < out->n; i++) /* all columns have names of their own, and so stay where they are in the pair */
        if (at[i] >= 0) by[i] = tra_colexpr_column(q->a, now, q->of[LEFT].by[i] ? nright + at[i] : at[i]);
    for (int i = 0; i < q->n; i++)
        tra_projection_add(&p, tra_rowwise_out(old)->v[i].name, tra_colexpr_substitute(q->a, q->x[i], by));
    const tra_kernel *pass = tra_pass_kernel(q->w, tra_kernel_rows(q->pass->node.kernel), tra_projection_pass(&p, now));
    tra_expr *e = tra_make_below(q->w, q->group, tra_proto_transform(pass, &joined->node));
    tra_rows_kernel k = *tra_kernel_rows(q->group->node.kernel);
    if (!e) return;
    k.data = tra_group_as(q->a, q->g, TRA_GROUP_PARTIAL);
    k.columns = tra_group_out(k.data);
    k.label = tra_arena_printf(q->a, "of exchanged sides: %s", k.text);
    k.all = 0;
    if (!(e = tra_make_below(q->w, q->group, tra_proto_transform(tra_rows_kernel_of(q->a, &k), &e->node))) ||
        !(e = in_one_block(q, e)))
        return;
    const tra_keyexpr *zero = tra_keyexpr_int(q->a, 0);
    e = tra_make_below(q->w, q->group, tra_proto_rekey(q->w, &e->node, NULL, 1, &zero));
    k = *tra_kernel_rows(whole->node.kernel);
    k.data = tra_group_as(q->a, q->g, TRA_GROUP_FINAL);
    k.label = tra_arena_printf(q->a, "after exchange: %s", k.text);
    k.share = tra_rows_expected(&whole->node) / (double)tra_max64(1, tra_catalog_elements(whole->node.type.cat));
    tra_claim(q->w, whole, NULL, tra_proto_transform(tra_rows_kernel_of(q->a, &k), node_of(e)), e, NULL);
}

/* The last pass of a group, in one block, of the states that `group` is; NULL: there is none. */
static tra_expr *final_over(const tra_memo *m, int group, int depth) {
    int n;
    const int *user = tra_memo_users(m, group, &n);
    tra_expr *found = NULL;
    for (int i = 0; i < n && !found; i++) {
        tra_expr *x = m->v[user[i]];
        if (tra_memo_find(m, x->in[0]) != tra_memo_find(m, group)) continue;
        const tra_group *g = x->node.op == TRA_OP_TRANSFORM ? tra_rows_args(&x->node, &tra_group_ops) : NULL;
        bool moves = gathers(x) || tra_rows_args(&x->node, &tra_arrange_ops) || tra_rows_args(&x->node, &tra_slice_ops);
        if (g && tra_group_pass_of(g) == TRA_GROUP_FINAL && x->node.type.cat->n == 1)
            found = x;
        else if (depth > 0 && moves && first_of(m, x->group) == x)
            found = final_over(m, x->group, depth - 1);
    }
    return found;
}

/* The group of all rows that is made of these states, or is this one itself; NULL: it is in several blocks. */
static tra_expr *whole_of(const tra_memo *m, tra_expr *group) {
    enum { DEEPEST = 16 };
    if (tra_group_pass_of(tra_group_of_rows(group)) == TRA_GROUP_WHOLE)
        return group->node.type.cat->n == 1 ? group : NULL;
    return final_over(m, group->group, DEEPEST);
}

static void exchange_below(tra_rewriting *w, tra_expr *group, tra_expr *pass, tra_expr *join) {
    query q;
    tra_expr *of[2];
    tra_lookup *l;
    tra_expr *whole = group->rule == w->rule ? NULL : whole_of(w->m, group);
    if (!whole || !tra_read_query(&q, w, group, pass, join)) return;
    const char *why = tra_sums_refused(&q, EXCHANGED);
    bool divided = q.right != join->node.in[1]; /* by keys, as the left one is: the tables themselves are joined now */
    if (!why && !divided && q.right->op != TRA_OP_CONCAT) why = "the right table is not brought together for the join";
    if (tra_refused(w, group, why)) return;
    tra_find_slices(&q);
    if (!divided) q.of[RIGHT].rows = q.right->in[0];
    int *at = tra_news(q.a, int, tra_lookup_out(q.l)->n + 1), *key = tra_news(q.a, int, q.s->nkeys + 1);
    for (int i = 0; i < tra_lookup_out(q.l)->n; i++) at[i] = -1;
    for (int k = 0; k < q.s->nkeys; k++) key[k] = k;
    if (!(of[LEFT] = take_table(&q, LEFT, at))) return;
    tra_lookup_spec s = *q.s;
    s.right = of[LEFT]->node.type.columns;
    s.lkey = s.rkey = key;
    s.prefix = NULL;
    if (!tra_lookup_once(w->m, of[LEFT]->group, &s)) {
        tra_refuse(w, group, "rows of the left table may have one key: exchanged, they would be several partners");
        return;
    }
    if (!(of[RIGHT] = take_table(&q, RIGHT, at))) return;
    if (tra_memo_facts(w->m, of[LEFT]->group)->rows >= tra_memo_facts(w->m, of[RIGHT]->group)->rows) {
        tra_refuse(w, group, "the left table, which would be indexed, is not expected to have fewer rows");
        return;
    }
    s.left = of[RIGHT]->node.type.columns;
    if (tra_lookup_new(q.a, &s, &l, NULL) != TRA_OK) return;
    tra_expr *joined = join_exchanged(&q, of, l);
    if (joined) claim(&q, whole, l, joined, at);
}

void tra_exchange_sides(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_node *right;
    if (tra_rowwise_of_expr(x) && tra_join_of(w->m, y, &right) && y->rule != w->rule)
        tra_each_group(w, x, y, exchange_below);
}
