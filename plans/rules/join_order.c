/* join_order.c - rule Q-8: the order of joins of one table with several: any two that follow each other are exchanged,
 * and of three or more the order by the share of the rows that each leaves is tried as well.
 *
 * The rows of join(join(T, D), E) come by the row of T, then of D, then of E. Exchanged they come by T, then E, then D:
 * the same rows in the same order where no row of T has partners in both more than one.
 */
#include <math.h>

#include "matrix_sums.h"
#include "sum_query.h"

static const char *join_refused(const tra_lookup *l) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    for (int k = 0; k < s->nkeys; k++)
        if (s->left->v[s->lkey[k]].fails || s->right->v[s->rkey[k]].fails) return "a key may not be computed";
    return tra_lookup_refused(l);
}

typedef struct exchanging {
    tra_rewriting *w;
    tra_expr *x, *y;                                  /* join(join(T, D), E), and join(T, D) */
    const tra_lookup *outer, *inner, *first, *second; /* first, second: with E, then with D */
    const tra_lookup_spec *so, *si;
} exchanging;

/* Makes the join of T with E, which is to come first; false after a refusal. */
static bool make_first(exchanging *p) {
    tra_arena *a = p->w->m->arena;
    tra_lookup_spec s = *p->so;
    tra_lookup *l;
    int *lkey = tra_news(a, int, s.nkeys + 1);
    for (int k = 0; k < s.nkeys; k++) {
        lkey[k] = tra_lookup_from(p->inner)[s.lkey[k]];
        if (lkey[k] >= p->si->left->n) return tra_refuse(p->w, p->x, "the key of one join is of the other's table");
    }
    s.left = p->si->left;
    s.lkey = lkey;
    s.prefix = tra_arena_printf(a, "%d.", p->w->m->n);
    if (tra_lookup_new(a, &s, &l, NULL) != TRA_OK) return false;
    p->first = l;
    return true;
}

static bool make_second(exchanging *p) {
    tra_arena *a = p->w->m->arena;
    tra_lookup_spec s = *p->si;
    tra_lookup *l;
    int *lkey = tra_news(a, int, s.nkeys + 1);
    for (int k = 0; k < s.nkeys; k++) lkey[k] = tra_lookup_place(p->first, s.lkey[k]);
    s.left = tra_lookup_out(p->first);
    s.lkey = lkey;
    s.prefix = tra_arena_printf(a, "%d..", p->w->m->n);
    if (tra_lookup_new(a, &s, &l, NULL) != TRA_OK) return false;
    p->second = l;
    return true;
}

/* The column of the second join that is column i of the outer one. */
static int column_of(const exchanging *p, int i) {
    int from = tra_lookup_from(p->outer)[i], between = p->so->left->n, own = p->si->left->n;
    if (from >= between) return tra_lookup_place(p->second, tra_lookup_place(p->first, own + from - between));
    from = tra_lookup_from(p->inner)[from];
    return tra_lookup_place(p->second,
                            from < own ? tra_lookup_place(p->first, from) : tra_lookup_out(p->first)->n + from - own);
}

static tra_expr *join_node(exchanging *p, const tra_expr *like, const tra_lookup *l, const tra_node *left) {
    tra_rows_kernel k = *tra_kernel_rows(like->node.kernel);
    k.columns = tra_lookup_out(l);
    k.data = l;
    tra_node n = {.op = TRA_OP_JOIN};
    n.in[0] = (tra_node *)left;
    n.in[1] = like->node.in[1];
    n.kernel = tra_rows_kernel_of(p->w->m->arena, &k);
    return tra_make_below(p->w, p->x, n);
}

/* The columns of the outer join, in their order. */
static const tra_rowwise *columns_back(exchanging *p) {
    tra_arena *a = p->w->m->arena;
    const tra_schema *out = tra_lookup_out(p->outer), *in = tra_lookup_out(p->second);
    tra_projection back = {.arena = a};
    for (int i = 0; i < out->n; i++) {
        int at = column_of(p, i);
        if (at < 0) return NULL;
        tra_projection_add(&back, out->v[i].name, tra_colexpr_column(a, in, at));
    }
    return tra_projection_pass(&back, in);
}

/* How many rows a join is expected to leave for a row of its left side. */
static double growth(const tra_node *join) { return tra_rows_expected(join) / fmax(1, tra_rows_expected(join->in[0])); }

static void exchange(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    exchanging p = {.w = w, .x = x, .y = y};
    if (!y || w->side != 0 || !(p.outer = tra_lookup_of_expr(x)) || !(p.inner = tra_lookup_of_expr(y))) return;
    if (x->rule == w->rule || y->rule == w->rule) return;
    if (x->rule == &tra_rule_q_15 || y->rule == &tra_rule_q_15) return; /* as many orders as of the joins they are of */
    p.so = tra_lookup_spec_of(p.outer);
    p.si = tra_lookup_spec_of(p.inner);
    const char *why = join_refused(p.inner);
    if (!why) why = join_refused(p.outer);
    if (!why && !tra_lookup_once(w->m, y->in[1], p.si) && !tra_lookup_once(w->m, x->in[1], p.so))
        why = "rows may have several partners in both tables: they would come in another order";
    if (tra_refused(w, x, why)) return;
    if (growth(&x->node) > 1.01 * growth(&y->node)) return; /* the other order leaves fewer rows in between */
    if (!make_first(&p) || !make_second(&p)) return;
    const tra_rowwise *back = columns_back(&p);
    tra_expr *first = back ? join_node(&p, x, p.first, y->node.in[0]) : NULL;
    tra_expr *second = first ? join_node(&p, y, p.second, &first->node) : NULL;
    if (!second) return;
    tra_claim(w, x, y, tra_proto_pass(w, &second->node, back), second, NULL);
}

/* ---- several joins ----------------------------------------------------------------------------------------------- */

/* Does the key of join j read columns of tables that are not joined yet? */
static bool waits(const tra_pipe *p, int j, const bool *done) {
    for (int k = 0; k < p->join[j].s->nkeys; k++) {
        const tra_colexpr *x = p->join[j].key[k]; /* of a right table: a column */
        if (!tra_pipe_reads(p, x, 1)) continue;
        for (int i = 0; i < p->njoins; i++) {
            int end = p->join[i].first + p->join[i].s->right->n;
            if (x->column >= p->join[i].first && x->column < end && !done[i]) return true;
        }
    }
    return false;
}

/* Orders joins by how many rows each leaves for a row of its left side, the fewest first; false: they are in that order
 * already. */
static bool set_order(const tra_pipe *p, int *order) {
    bool done[TRA_PIPE_JOINS] = {false}, changed = false;
    for (int n = 0; n < p->njoins; n++) {
        double least = 0;
        int found = -1;
        for (int j = 0; j < p->njoins; j++) {
            double grows = growth(&p->join[j].x->node);
            if (done[j] || waits(p, j, done) || (found >= 0 && grows >= least)) continue;
            least = grows, found = j;
        }
        if (found < 0) return false;
        done[order[n] = found] = true;
        changed |= found != n;
    }
    return changed;
}

/* Of three joins or more, among which there may be passes, one order besides those that exchanging two makes. */
static void reorder(tra_rewriting *w, tra_expr *x) {
    tra_pipe *p = tra_lookup_of_expr(x) && x->rule != w->rule ? tra_pipe_of(w, x->group) : NULL;
    int order[TRA_PIPE_JOINS], many = 0, *of[TRA_PIPE_JOINS] = {0};
    tra_expr *right[TRA_PIPE_JOINS] = {0};
    if (!p || p->refused || p->njoins < 3) return;
    for (int j = 0; j < p->njoins; j++) many += !tra_lookup_once(w->m, p->join[j].x->in[1], p->join[j].s);
    if (many > 1 || !set_order(p, order)) return;
    factoring *f = tra_new(w->m->arena, factoring);
    *f = (factoring){.w = w, .a = w->m->arena, .x = x, .join = x, .pipe = p, .order = order};
    const tra_schema *s = x->node.type.columns;
    tra_projection back = {.arena = f->a};
    bool *used = tra_news(f->a, bool, p->all->n + 1);
    joining g;
    for (int i = 0; i < s->n; i++) tra_colexpr_columns(p->column[i], used);
    tra_factor_mark_selects(f, used);
    if (!tra_factor_join_keys(f) || !tra_factor_rows(f, &g, used, right, of) || !tra_factor_select(f, &g)) return;
    for (int i = 0; i < s->n; i++)
        tra_projection_add(&back, s->v[i].name, tra_colexpr_substitute(f->a, p->column[i], g.by));
    const tra_rowwise *r = tra_projection_pass(&back, g.x->node.type.columns);
    tra_claim(w, x, NULL, tra_proto_pass(w, &g.x->node, r), g.x, NULL);
}

static void exchange_or_reorder(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (y)
        exchange(w, x, y);
    else
        reorder(w, x);
}

const tra_rule tra_rule_q_8 = {
    .name = "Q-8",
    .equivalence = "join(join(T, D), E) = the columns of join(join(T, E), D)",
    .condition = "E's key is T's; not both may have several partners for a row; neither join checks rows, has further "
                 "conditions, or keys that may fail",
    .forth = exchange_or_reorder,
};
