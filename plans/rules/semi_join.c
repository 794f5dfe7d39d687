/* semi_join.c - rule Q-15: of the right table of a join those rows alone are brought together, or made into groups,
 * whose keys the left table has, where that has far fewer rows.
 *
 * The left rows are made once, for their keys and for the join itself. All threads look up rows of the right table in
 * the set of these keys. Without the rule, one thread copies each row and puts it into an index.
 */
#include <math.h>

#include "../../lib/table/kernels.h"
#include "select_below_groups.h"

/* Follows n columns through a pass down to those that they are; false: one is computed, or rows may not be left out. */
static bool follow_columns(const tra_rowwise *r, int n, int *column) {
    const tra_rowwise_step *v;
    if (tra_rowwise_uses_row(r) || tra_rowwise_is_matrix(r, NULL)) return false;
    for (int i = tra_rowwise_steps(r, &v) - 1; i >= 0; i--) {
        for (int k = 0; k < (v[i].selects ? 1 : v[i].n); k++)
            if (tra_may_fail(v[i].x[k])) return false;
        for (int k = 0; k < n && !v[i].selects; k++) {
            const tra_colexpr *x = v[i].x[column[k]];
            if (x->op != TRA_C_COLUMN) return false;
            column[k] = x->column;
        }
    }
    return true;
}

/* Finds the groups below passes over them, and the rows of these; column: of the join's keys those of the groups, which
 * become those of the rows. False: there are none, or (*why) no rows may be left out. */
static bool find_rows_of_keys(selecting *p, int group, int n, int *column, const char **why) {
    const tra_expr *y = first_of(p->w->m, group);
    for (; gathers(y) || tra_rowwise_of_expr(y); y = first_of(p->w->m, y->in[0]))
        if (!gathers(y) && !follow_columns(tra_rowwise_of_expr(y), n, column)) return false;
    p->y = (tra_expr *)y;
    if (!tra_find_rows(p) || !p->g || (*why = tra_groups_refused(p))) return false;
    for (int k = 0; k < n; k++) {
        if ((column[k] = p->at[column[k]]) < 0) *why = "a key of the join is an aggregate";
        if (*why) return false;
    }
    return true;
}

/* The keys of the left rows of a join, in one block. */
static tra_expr *left_keys(selecting *p, const tra_lookup_spec *s) {
    tra_arena *a = p->w->m->arena;
    tra_projection keys_of = {.arena = a};
    for (int k = 0; k < s->nkeys; k++)
        tra_projection_add(&keys_of, tra_arena_printf(a, "key %d", k), tra_colexpr_column(a, s->left, s->lkey[k]));
    const tra_rowwise *r = tra_projection_pass(&keys_of, s->left);
    tra_rows_kernel k = tra_rows_op(&tra_rowwise_ops, r, tra_rowwise_out(r));
    k.flops = TRA_COLUMN_FLOPS * s->nkeys;
    tra_expr *keys = tra_make_below(p->w, p->x, tra_proto_rows(p->w, &k, p->x->node.in[0], NULL));
    if (!keys) return NULL;
    tra_node n = (tra_node){.op = TRA_OP_CONCAT, .in = {&keys->node}};
    n.most = tra_rows_together(p->w->m->g, &keys->node.type);
    return tra_make_below(p->w, p->x, n);
}

/* The rows whose keys, which are these columns, the left rows of a join have. */
static tra_expr *rows_with_keys(selecting *p, const tra_lookup_spec *join, const int *column) {
    tra_arena *a = p->w->m->arena;
    const tra_expr *rows = first_of(p->w->m, p->from);
    tra_expr *keys = left_keys(p, join);
    int n = join->nkeys, *own = tra_news(a, int, n + 1);
    double values = 1, all = tra_rows_expected(&rows->node);
    const tra_facts *of = tra_memo_facts(p->w->m, p->from);
    tra_lookup *l;
    if (!keys) return NULL;
    tra_lookup_spec s = {.left = rows->node.type.columns, .right = keys->node.type.columns, .how = TRA_LOOKUP_SEMI};
    s.nkeys = n, s.lkey = column, s.rkey = own, s.nulls_match = join->nulls_match;
    for (int k = 0; k < n; k++) {
        own[k] = k;
        values = fmin(all, values * tra_values_expected(of, tra_colexpr_column(a, s.left, column[k]), all));
    }
    if (tra_lookup_new(a, &s, &l, NULL) != TRA_OK) return NULL;
    tra_rows_kernel k = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    k.counts = true, k.flops = tra_rows_op_of(&p->x->node)->flops;
    k.share = fmin(1, tra_rows_expected(p->x->node.in[0]) / fmax(1, values));
    return tra_make_below(p->w, p->x, tra_proto_rows(p->w, &k, &rows->node, &keys->node));
}

/* The kernel of the join, of which as many rows are expected as before: those that are left out meet nothing. */
static const tra_kernel *of_as_many(selecting *p, const tra_node *right) {
    tra_rows_kernel k = *tra_rows_op_of(&p->x->node);
    double had = tra_share_expected(&p->x->node.in[1]->type), has = fmax(1e-12, tra_share_expected(&right->type));
    double left = tra_share_expected(&p->x->node.in[0]->type);
    if (k.kept != TRA_KEPT_MET && (k.extent == TRA_ROWS_PRODUCT || k.extent == TRA_ROWS_OUTER))
        k.share *= had / has;
    else if (k.kept == TRA_KEPT_ALWAYS && k.extent == TRA_ROWS_PAIRS)
        k.share *= fmin(left, had) / fmin(left, has);
    else
        tra_rows_meet_as_many(&k, had / has);
    return tra_rows_kernel_of(p->w->m->arena, &k);
}

static void keys_before(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    enum { FEWER = 8, MANY = 1 << 15 };
    const tra_lookup *l = y && w->side == 1 && y->node.op == TRA_OP_CONCAT ? tra_lookup_of_expr(x) : NULL;
    const tra_lookup_spec *s = l ? tra_lookup_spec_of(l) : NULL;
    selecting p = {.w = w, .x = x};
    const char *why = NULL;
    if (x->rule && x->rule != &tra_rule_q_6 && x->rule != w->rule) return; /* rows of other rules stay */
    if (!l || s->nkeys == 0 || s->asof || s->unique || s->how > TRA_LOOKUP_ANTI) return;
    int *column = tra_news(w->m->arena, int, s->nkeys + 1);
    for (int k = 0; k < s->nkeys; k++) column[k] = s->rkey[k];
    bool groups = find_rows_of_keys(&p, y->in[0], s->nkeys, column, &why);
    if (!groups) p.from = y->in[0];
    const tra_expr *rows = first_of(w->m, p.from);
    if (why) tra_refuse(w, x, "%s", why);
    if (rows->rule == w->rule) return; /* that was done */
    for (int k = 0; k < s->nkeys; k++) {
        if (!groups) column[k] = s->rkey[k];
        if (s->left->v[s->lkey[k]].fails || rows->node.type.columns->v[column[k]].fails) return;
    }
    double all = tra_rows_expected(&rows->node), left = tra_rows_expected(x->node.in[0]);
    if (groups && FEWER * left > all)
        tra_refuse(w, x, "the left table is not expected to have far fewer rows than the groups are made of");
    if (FEWER * left > all || (!groups && all < MANY)) return;
    p.made = tra_news(w->m->arena, tra_expr *, w->m->limit + 1);
    if (!(p.to = rows_with_keys(&p, s, column))) return;
    tra_expr *in = tra_over_selected(&p, y->in[0]);
    tra_node n = y->node;
    n.in[0] = in ? &in->node : NULL;
    tra_expr *right = in ? tra_make_below(w, x, n) : NULL;
    if (!right) return;
    n = x->node;
    n.in[1] = &right->node;
    n.kernel = of_as_many(&p, &right->node);
    tra_claim(w, x, y, n, NULL, right);
}

const tra_rule tra_rule_q_15 = {
    .name = "Q-15",
    .equivalence =
        "join(L, T, l == k) = join(L, join(T, L, k == l, how = semi), l == k), also where T is below a group",
    .condition = "k are keys of the group, which may have selections and projections after it; far fewer rows of L are "
                 "expected than of T; nothing may fail for groups that are left out",
    .forth = keys_before,
};
