/* select_project.c - rules: selections and projections of tables among themselves, and past
 * joins. */
#include "../../lib/table/kernels.h"
#include "pipeline.h"

static const tra_rowwise_step *last_of(const tra_rowwise *r) {
    const tra_rowwise_step *v;
    int n = tra_rowwise_steps(r, &v);
    return n ? &v[n - 1] : NULL;
}

static const tra_rowwise_step *first_of(const tra_rowwise *r) {
    const tra_rowwise_step *v;
    return tra_rowwise_steps(r, &v) ? &v[0] : NULL;
}

/* The passes of x and of y below it; false where they are none, or have no steps. */
static bool passes(const tra_expr *x, const tra_expr *y, const tra_rowwise **r, const tra_rowwise **s) {
    *r = x ? tra_rowwise_of_expr(x) : NULL;
    *s = y ? tra_rowwise_of_expr(y) : NULL;
    return *r && *s && !tra_rowwise_is_matrix(*s, NULL) && first_of(*r) && last_of(*s);
}

static const tra_rule *rule_of(const tra_rowwise *r, const tra_rowwise *s) {
    if (first_of(r)->selects) return last_of(s)->selects ? &tra_rule_q_1 : &tra_rule_q_2;
    return last_of(s)->selects ? NULL : &tra_rule_q_7;
}

const tra_rule *tra_rule_of_passes(const tra_expr *x, const tra_expr *y) {
    const tra_rowwise *r, *s;
    return passes(x, y, &r, &s) ? rule_of(r, s) : NULL;
}

/* A pass that is a join with the numbers of rows stays one. */
static void refuse_numbers(tra_rewriting *w, const tra_expr *x, const tra_expr *y) {
    const tra_rowwise *r = tra_rowwise_of_expr(x);
    const tra_rows_kernel *k = y && w->side == 0 && y->node.op == TRA_OP_JOIN ? tra_kernel_rows(y->node.kernel) : NULL;
    const tra_rowwise *s = k && k->ops == &tra_rowwise_ops ? k->data : NULL;
    if (r && s && first_of(r) && last_of(s) && rule_of(r, s) == w->rule)
        tra_refuse(w, x, "row() numbers the rows of the pass below it");
}

/* ---- passes over rows -------------------------------------------------------------------------------------------- */

/* What was composed is not composed again: its parts are matched by themselves. A pass of more steps than MOST is not
 * worth the room of all the passes between. */
static void compose(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    enum { MOST = 32 };
    const tra_rowwise_step *v;
    const tra_rowwise *r, *s;
    const tra_equality *q = x->equality >= 0 ? &w->m->equal[x->equality] : NULL;
    if ((x->rule == &tra_rule_q_1 || x->rule == &tra_rule_q_7) && q && q->below[0] >= 0) return;
    if (passes(x, y, &r, &s) && tra_rowwise_steps(r, &v) + tra_rowwise_steps(s, &v) > MOST) return;
    if (!tra_kernel_composes(y->node.kernel, x->node.kernel)) return;
    tra_claim(w, x, y, tra_proto_transform(tra_kernel_then(w->m->arena, y->node.kernel, x->node.kernel), y->node.in[0]),
              NULL, NULL);
}

static void merge_passes(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (tra_rule_of_passes(x, y) == w->rule) compose(w, x, y);
    refuse_numbers(w, x, y);
}

/* select(p, project(T)) = project(select(p', T)) */
static void select_before_project(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_rowwise *r, *s;
    const tra_rowwise_step *v, *u;
    tra_arena *a = w->m->arena;
    refuse_numbers(w, x, y);
    if (!passes(x, y, &r, &s) || tra_rule_of_passes(x, y) != w->rule) return;
    int n = tra_rowwise_steps(r, &v), m = tra_rowwise_steps(s, &u);
    if (n != 1) return; /* the parts of a composition are matched by themselves */
    tra_rowwise *made = tra_rowwise_new(a, tra_rowwise_in(s));
    tra_add_steps(made, m - 1, u);
    tra_rowwise_select(made, tra_colexpr_substitute(a, v[0].x[0], u[m - 1].x));
    tra_add_steps(made, 1, &u[m - 1]);
    const tra_rows_kernel *k = tra_kernel_rows(x->node.kernel), *l = tra_kernel_rows(y->node.kernel);
    tra_rows_kernel both = *k;
    both.counts = true;
    both.share = (k->counts ? k->share : 1) * (l->counts ? l->share : 1);
    both.flops = k->flops + both.share * l->flops;
    tra_claim(w, x, y, tra_proto_transform(tra_pass_kernel(w, &both, made), y->node.in[0]), NULL, NULL);
}

/* ---- past joins -------------------------------------------------------------------------------------------------- */

typedef struct pushing {
    tra_rewriting *w;
    tra_expr *x, *y;
    const tra_lookup *l;
    const tra_lookup_spec *s;
    const tra_colexpr **by; /* columns of the join's result, over those of the side that they come from */
    tra_rowwise *side[2], *rest;
    int pushed;
} pushing;

/* Which sides an expression over the join's result reads: 1 left, 2 right, 4 neither's column. */
static int sides_of(const pushing *p, const tra_colexpr *x) {
    int sides = 0;
    if (x->op == TRA_C_COLUMN) {
        int from = tra_lookup_from(p->l)[x->column];
        return from < 0 ? 4 : from < p->s->left->n ? 1 : 2;
    }
    for (int i = 0; i < x->nkids; i++) sides |= sides_of(p, x->kids[i]);
    return sides;
}

/* NULL: a predicate on these columns may be asked before the join. */
static const char *refused(const pushing *p, const tra_colexpr *x, int sides) {
    tra_lookup_how how = p->s->how;
    if (sides != 1 && sides != 2) return "the predicate reads both tables, or none";
    if (tra_may_fail(x)) return "the predicate may not be computed for rows that the join drops";
    if (p->s->matched) return "the join checks that all rows are matched";
    if (how == TRA_LOOKUP_KEEP) return "the join checks or numbers all rows";
    if (sides == 2 && how != TRA_LOOKUP_INNER) return "rows without partner are kept, whatever the right table has";
    if (sides == 2 && p->s->asof) return "an as-of join chooses among all rows of the right table";
    if (sides == 2 && p->s->unique) return "the join checks that no key is there twice on the right";
    return NULL;
}

static void push_part(pushing *p, const tra_colexpr *x) {
    if (x->op == TRA_C_AND && !x->fails) {
        for (int i = 0; i < x->nkids; i++) push_part(p, x->kids[i]);
        return;
    }
    int sides = sides_of(p, x);
    const char *why = refused(p, x, sides);
    if (why) {
        tra_refuse(p->w, p->x, "%s", why);
        tra_rowwise_select(p->rest, x);
        return;
    }
    tra_rowwise_select(p->side[sides - 1], tra_colexpr_substitute(p->w->m->arena, x, p->by));
    p->pushed++;
}

/* The rows of one side that are selected: of the first that has predicates, as many as of the join. */
static tra_expr *selected(pushing *p, int side) {
    const tra_rowwise_step *v;
    tra_rows_kernel k = *tra_kernel_rows(p->x->node.kernel);
    if (tra_rowwise_steps(p->side[side], &v) == 0) return tra_memo_expr(p->y->node.in[side]);
    if (side == 1 && tra_rowwise_steps(p->side[0], &v) > 0) k.share = 1;
    k.counts = true;
    k.flops = 2 * p->pushed + TRA_COLUMN_FLOPS * tra_rowwise_in(p->side[side])->n;
    return tra_make_below(p->w, p->x,
                          tra_proto_transform(tra_pass_kernel(p->w, &k, p->side[side]), p->y->node.in[side]));
}

/* What the pass does after its first selections; false where that cannot be. */
static bool take_rest(pushing *p, const tra_rowwise *r, int from) {
    const tra_rowwise_step *v;
    tra_dtype t;
    int n = tra_rowwise_steps(r, &v);
    if (!tra_rowwise_is_matrix(r, &t)) {
        tra_add_steps(p->rest, n - from, v + from);
        return true;
    }
    tra_add_steps(p->rest, n - 1 - from, v + from);
    return tra_rowwise_matrix(p->rest, v[n - 1].n, v[n - 1].names, v[n - 1].x, t, tra_rowwise_fill(r), NULL) == TRA_OK;
}

static void select_before_join(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_rowwise *r = tra_rowwise_of_expr(x);
    const tra_rowwise_step *v;
    tra_arena *a = w->m->arena;
    pushing p = {.w = w, .x = x, .y = y, .l = y && w->side == 0 ? tra_lookup_of_expr(y) : NULL};
    int steps = r && p.l ? tra_rowwise_steps(r, &v) : 0, selects = 0;
    while (selects < steps && v[selects].selects) selects++;
    if (selects == 0) return;
    p.s = tra_lookup_spec_of(p.l);
    const tra_schema *out = tra_lookup_out(p.l);
    p.by = tra_news(a, const tra_colexpr *, out->n + 1);
    for (int i = 0; i < out->n; i++) {
        int from = tra_lookup_from(p.l)[i], left = p.s->left->n;
        if (from >= 0)
            p.by[i] =
                from < left ? tra_colexpr_column(a, p.s->left, from) : tra_colexpr_column(a, p.s->right, from - left);
    }
    p.side[0] = tra_rowwise_new(a, p.s->left);
    p.side[1] = tra_rowwise_new(a, p.s->right);
    p.rest = tra_rowwise_new(a, out);
    for (int i = 0; i < selects; i++) push_part(&p, v[i].x[0]);
    if (!p.pushed || !take_rest(&p, r, selects)) return;
    tra_expr *in[2] = {selected(&p, 0), NULL}, *join;
    if (!in[0] || !(in[1] = selected(&p, 1))) return;
    tra_node n = y->node;
    n.in[0] = &in[0]->node;
    n.in[1] = &in[1]->node;
    if (tra_rowwise_steps(p.rest, &v) == 0) {
        tra_claim(w, x, y, n, in[0], in[1]);
        return;
    }
    if (!(join = tra_make_below(w, x, n))) return;
    tra_rows_kernel k = *tra_kernel_rows(x->node.kernel);
    k.share = 1;
    k.flops = k.flops > p.pushed ? k.flops - p.pushed : 1;
    tra_claim(w, x, y, tra_proto_transform(tra_pass_kernel(w, &k, p.rest), &join->node), join, NULL);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

const tra_rule tra_rule_q_1 = {
    .name = "Q-1",
    .equivalence = "select(p, select(q, T)) = select(q && p, T), in one pass",
    .condition = "neither asks for row()",
    .forth = merge_passes,
};

const tra_rule tra_rule_q_2 = {
    .name = "Q-2",
    .equivalence = "select(p, project(T)) = project(select(p', T)), p' being p of what the columns are computed from",
    .condition = "neither asks for row()",
    .forth = select_before_project,
};

const tra_rule tra_rule_q_3 = {
    .name = "Q-3",
    .equivalence = "select(p && q, join(L, R)) = join(select(p, L), select(q, R))",
    .condition =
        "p reads the left table alone, and it can be computed for all of its rows; q the right one of an inner "
        "join; not past a check of unmatched rows, nor on the right past one of duplicate keys",
    .forth = select_before_join,
};

const tra_rule tra_rule_q_7 = {
    .name = "Q-7",
    .equivalence = "project(project(T)), and matrix(project(T)), in one pass",
    .condition = "neither asks for row()",
    .forth = merge_passes,
};
