/* select_below_groups.c - rule Q-4: selections of groups by their keys, and of ordered or distinct rows, are selections
 * of the rows.
 *
 * All rows of a group agree in its keys, so a predicate on these keeps or drops the group as a whole; an order, being
 * stable, has the rows that are left in the order that they had. Between the rows and the groups are the operators that
 * bring rows together, or divide them into parts: these stay what they are, over fewer rows.
 */
#include <math.h>

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/kernels.h"
#include "select_below_groups.h"

/* ---- where the rows are ------------------------------------------------------------------------------------------ */

bool tra_find_rows(selecting *p) {
    const tra_memo *m = p->w->m;
    const tra_made_rows *made = tra_memo_made(m, p->y);
    const tra_schema *out = p->y->node.type.columns;
    bool order = made && made->op->op == TRA_TABLE_ORDER, distinct = made && made->op->op == TRA_TABLE_DISTINCT;
    p->g = made && made->op->op == TRA_TABLE_GROUP ? made->op : NULL;
    if (!order && !distinct && !p->g) return false;
    p->from = made->rows;
    p->one = !order;
    int *at = tra_news(m->arena, int, out->n + 1);
    for (int i = 0; i < out->n; i++) at[i] = order ? i : -1;
    for (int k = 0; k < made->op->nterms && !order; k++) {
        int i = tra_schema_find(out, made->op->term[k].name);
        if (i >= 0) at[i] = tra_schema_find(first_of(m, p->from)->node.type.columns, made->op->term[k].name);
    }
    p->at = at;
    return true;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* Does the expression tell -0 from 0? They are one key, for which one row of the group stands. */
static bool sees_sign(const tra_colexpr *x) {
    bool sees = x->op == TRA_C_DIV || x->op == TRA_C_POW || x->op == TRA_C_ATAN2;
    for (int i = 0; i < x->nkids && !sees; i++) sees = sees_sign(x->kids[i]);
    return sees;
}

/* Are columns read that are no keys; are floats? */
static void read_columns(const selecting *p, const tra_colexpr *x, bool *others, bool *floats) {
    if (x->op == TRA_C_COLUMN) {
        *others |= p->at[x->column] < 0;
        *floats |= tra_coltype_is_float(x->type);
    }
    for (int i = 0; i < x->nkids; i++) read_columns(p, x->kids[i], others, floats);
}

/* May the sum of so many values of that column not fit i64? */
static bool sum_may_fail(const tra_column *c, double rows) {
    tra_column_facts f;
    double most = tra_coltype_held(c->type) == TRA_I64 ? 0x1p63 : 0x1p31;
    if (tra_coltype_is_float(c->type)) return false;
    if (c->file && tra_rel_column_facts(c->file, c->number, &f))
        most = f.rows > f.nulls ? fmax(fabs((double)f.min), fabs((double)f.max)) : 0;
    return rows * most >= 0x1p63;
}

const char *tra_groups_refused(const selecting *p) {
    const tra_expr *from = first_of(p->w->m, p->from);
    const tra_schema *in = from->node.type.columns;
    double rows = (double)tra_catalog_elements(from->node.type.cat);
    if (p->g->nterms == 0) return "without keys there is a row whatever is selected";
    for (int i = 0; i < in->n; i++)
        if (in->v[i].fails) return "a key, or what is aggregated, may not be computed: an error in any group";
    for (int i = 0; i < p->g->naggs; i++) {
        const tra_group_column *c = &p->g->aggregated[i];
        if (c->f == TRA_AGGREGATE_SUM && sum_may_fail(&p->g->rows->type.columns->v[c->column], rows))
            return "a sum may not fit i64, which is an error in any group";
    }
    return NULL;
}

static const char *refused(const selecting *p, const tra_colexpr *x) {
    bool others = false, floats = false;
    read_columns(p, x, &others, &floats);
    if (others) return p->g ? "the predicate reads an aggregate" : "the predicate reads a column that is no key";
    if (tra_may_fail(x)) return "the predicate may not be computed";
    if (floats && p->one && sees_sign(x)) return "the predicate tells -0 from 0, which are one key";
    return NULL;
}

/* Pushes those parts of the predicate x to the rows that can be; the others stay in p->rest. cur: the columns that x
 * reads, as expressions over the columns of y; NULL: x reads these directly. */
static void push_part(selecting *p, const tra_colexpr *x, const tra_colexpr *const *cur, const tra_colexpr *const *by) {
    if (x->op == TRA_C_AND && !x->fails) {
        for (int i = 0; i < x->nkids; i++) push_part(p, x->kids[i], cur, by);
        return;
    }
    const tra_colexpr *own = cur ? tra_colexpr_substitute(p->w->m->arena, x, cur) : x;
    const char *why = refused(p, own);
    if (why) {
        tra_refuse(p->w, p->x, "%s", why);
        tra_rowwise_select(p->rest, x);
        return;
    }
    tra_rowwise_select(p->rows, tra_colexpr_substitute(p->w->m->arena, own, by));
    p->pushed++;
}

/* Selections go to the rows, with what they read of the projections before them; the rest stays. */
static void push_steps(selecting *p, int n, const tra_rowwise_step *v, const tra_colexpr *const *by) {
    tra_arena *a = p->w->m->arena;
    const tra_colexpr *const *cur = NULL;
    for (int i = 0; i < n; i++) {
        if (v[i].selects) {
            push_part(p, v[i].x[0], cur, by);
            continue;
        }
        const tra_colexpr **now = tra_news(a, const tra_colexpr *, v[i].n + 1);
        for (int k = 0; k < v[i].n; k++) now[k] = cur ? tra_colexpr_substitute(a, v[i].x[k], cur) : v[i].x[k];
        tra_add_steps(p->rest, 1, &v[i]);
        cur = now;
    }
}

/* ---- what is made ------------------------------------------------------------------------------------------------ */

static tra_expr *selected_rows(selecting *p) {
    const tra_expr *rows = first_of(p->w->m, p->from);
    tra_rows_kernel k = *tra_rows_op_of(&p->x->node);
    k.counts = true;
    k.flops = 2 * p->pushed + TRA_COLUMN_FLOPS * rows->node.type.columns->n;
    return tra_make_below(p->w, p->x, tra_proto_transform(tra_pass_kernel(p->w, &k, p->rows), &rows->node));
}

tra_expr *tra_over_selected(selecting *p, int group) {
    group = tra_memo_find(p->w->m, group);
    if (group == tra_memo_find(p->w->m, p->from)) return p->to;
    if (p->made[group]) return p->made[group];
    tra_expr *x = (tra_expr *)first_of(p->w->m, group);
    tra_node n = x->node;
    bool changed = false;
    for (int i = 0; i < 2 && x->in[i] >= 0; i++) {
        int in = tra_memo_find(p->w->m, x->in[i]);
        tra_expr *over = tra_over_selected(p, in);
        if (!over) return NULL;
        changed |= tra_memo_find(p->w->m, over->group) != in;
        n.in[i] = &over->node;
    }
    return p->made[group] = changed ? tra_make_below(p->w, p->x, n) : x;
}

/* y over the selected rows, and what else x does. */
static void claim(selecting *p) {
    tra_node n = p->y->node;
    const tra_rowwise_step *left;
    p->made = tra_news(p->w->m->arena, tra_expr *, p->w->m->limit + 1);
    if (!(p->to = selected_rows(p))) return;
    tra_expr *in = tra_over_selected(p, p->y->in[0]), *all;
    tra_expr *other = in && p->y->in[1] >= 0 ? tra_over_selected(p, p->y->in[1]) : NULL;
    if (!in || (p->y->in[1] >= 0 && !other)) return;
    bool changed = tra_memo_find(p->w->m, in->group) != tra_memo_find(p->w->m, p->y->in[0]);
    if (!changed && !(other && tra_memo_find(p->w->m, other->group) != tra_memo_find(p->w->m, p->y->in[1]))) return;
    n.in[0] = &in->node;
    n.in[1] = other ? &other->node : NULL;
    if (tra_rowwise_steps(p->rest, &left) == 0) {
        tra_claim(p->w, p->x, p->y, n, in, NULL);
        return;
    }
    if (!(all = tra_make_below(p->w, p->x, n))) return;
    tra_rows_kernel k = *tra_rows_op_of(&p->x->node);
    k.share = 1;
    tra_claim(p->w, p->x, p->y, tra_proto_transform(tra_pass_kernel(p->w, &k, p->rest), &all->node), all, NULL);
}

static void select_before_group(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_rowwise *r = y && w->side == 0 ? tra_rowwise_of_expr(x) : NULL;
    const tra_rowwise_step *v;
    selecting p = {.w = w, .x = x, .y = y};
    int steps = r ? tra_rowwise_steps(r, &v) : 0;
    if (!r || !tra_rowwise_selects(r) || tra_rowwise_uses_row(r) || tra_rowwise_is_matrix(r, NULL) ||
        !tra_find_rows(&p))
        return;
    if (tra_refused(w, x, p.g ? tra_groups_refused(&p) : NULL)) return;
    const tra_schema *rows = first_of(w->m, p.from)->node.type.columns, *out = y->node.type.columns;
    const tra_colexpr **by = tra_news(w->m->arena, const tra_colexpr *, out->n + 1);
    for (int i = 0; i < out->n; i++)
        if (p.at[i] >= 0) by[i] = tra_colexpr_column(w->m->arena, rows, p.at[i]);
    p.rows = tra_rowwise_new(w->m->arena, rows);
    p.rest = tra_rowwise_new(w->m->arena, out);
    push_steps(&p, steps, v, by);
    if (p.pushed) claim(&p);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

const tra_rule tra_rule_q_4 = {
    .name = "Q-4",
    .equivalence = "select(p, group(T, keys, ...)) = group(select(p, T), keys, ...); so of order and distinct",
    .condition = "p reads keys alone; the group has keys; no key, aggregate or part of p may fail",
    .forth = select_before_group,
};
