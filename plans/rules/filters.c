/* filters.c - rules R1-1, R1-3, R1-5 and R1-6: filters among themselves and past maps, aggregations and joins. */
#include <string.h>

#include "rules_int.h"

static bool is(const tra_expr *x, tra_opcode op) { return x && x->node.op == op; }

/* ---- R1-1 --------------------------------------------------------------------------------------------------- */

static bool may_fail(const tra_keyexpr *x) {
    if (x->op == TRA_KEY_INT || x->op == TRA_KEY_VAR) return false;
    bool divides = x->op == TRA_KEY_DIV || x->op == TRA_KEY_MOD;
    if (divides && (x->b->op != TRA_KEY_INT || x->b->value == 0)) return true;
    return may_fail(x->a) || (x->b && may_fail(x->b));
}

/* Claims the filter with its conjuncts sorted, so that all orders are one expression; where the first ones guard the
 * others, they keep their order. */
static void claim_filter(tra_rewriting *w, tra_expr *x, tra_expr *y, conjuncts *c, const tra_node *in) {
    bool guarded = false;
    for (int i = 0; i < c->n; i++) guarded = guarded || may_fail(c->v[i]);
    if (!guarded) tra_sort_conjuncts(c);
    tra_claim(w, x, y, tra_proto_filter(w, c, x->node.keyfn->names, in), NULL, NULL);
}

static void merge_filters(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    conjuncts c, outer;
    if (!is(x, TRA_OP_FILTER)) return;
    tra_split_predicate(x->node.keyfn, &outer);
    if (!y) {
        if (tra_type_eq(&x->node.type, &x->node.in[0]->type, NULL)) tra_claim_same(w, x, x->node.in[0]);
        if (outer.n > 1) claim_filter(w, x, NULL, &outer, x->node.in[0]);
        return;
    }
    if (!is(y, TRA_OP_FILTER)) return;
    tra_split_predicate(y->node.keyfn, &c);
    for (int i = 0; i < outer.n; i++)
        if (!tra_add_conjunct(&c, outer.v[i])) return;
    claim_filter(w, x, y, &c, y->node.in[0]);
}

/* Splits off each conjunct where there are few; else the last one alone. */
static void split_filter(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    enum { FEW = 3 };
    conjuncts c;
    if (!is(x, TRA_OP_FILTER) || y) return;
    tra_split_predicate(x->node.keyfn, &c);
    for (int i = c.n <= FEW ? 0 : c.n - 1; i < c.n && c.n > 1; i++) {
        conjuncts one = {1, {c.v[i]}}, rest = {0};
        for (int j = 0; j < c.n; j++)
            if (j != i) rest.v[rest.n++] = c.v[j];
        tra_expr *inner = tra_make_below(w, x, tra_proto_filter(w, &rest, x->node.keyfn->names, x->node.in[0]));
        if (!inner) continue;
        tra_claim(w, x, NULL, tra_proto_filter(w, &one, x->node.keyfn->names, &inner->node), inner, NULL);
    }
}

const tra_rule tra_rule_r1_1 = {
    .name = "R1-1",
    .equivalence = "filter(p, filter(q, R)) = filter(p and q, R)",
    .condition = "",
    .forth = merge_filters,
    .back = split_filter,
};

/* ---- R1-3 --------------------------------------------------------------------------------------------------- */

static void filter_below_map(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (!is(x, TRA_OP_FILTER)) return;
    if (is(y, TRA_OP_REKEY) || is(y, TRA_OP_TILE)) {
        tra_refuse(w, x, "the key function of the map is not the identity: %s makes other keys",
                   tra_opcode_text(y->node.op));
        return;
    }
    if (!is(y, TRA_OP_TRANSFORM)) return;
    tra_swap(w, x, y);
}

static void map_below_filter(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (is(x, TRA_OP_TRANSFORM) && is(y, TRA_OP_FILTER)) tra_swap(w, x, y);
}

const tra_rule tra_rule_r1_3 = {
    .name = "R1-3",
    .equivalence = "filter(p, map(f, R)) = map(f, filter(p, R))",
    .condition = "the map's key function is the identity",
    .forth = filter_below_map,
    .back = map_below_filter,
};

/* ---- R1-5 --------------------------------------------------------------------------------------------------- */

/* minindex and its kin count places in the whole tensor, holes included. */
static bool counts_places(tra_rewriting *w, const tra_expr *x, const tra_expr *agg) {
    if (!is(agg, TRA_OP_AGG) || !tra_kernel_needs_tensor(agg->node.kernel)) return false;
    tra_refuse(w, x, "%s counts places in the whole tensor, which the filter would change",
               tra_kernel_name(w, agg->node.kernel));
    return true;
}

/* Aggregations, and concatenations, which aggregate over one key: the key dimension of the input that each one of the
 * result is. */
static bool group_dims(const tra_expr *x, int *dim) {
    if (is(x, TRA_OP_AGG)) {
        for (int i = 0; i < x->node.group.n; i++) dim[i] = (int)x->node.group.v[i];
        return true;
    }
    if (!is(x, TRA_OP_CONCAT)) return false;
    for (int i = 0; i < x->node.type.cat->frontier.n; i++) dim[i] = i < x->node.keydim ? i : i + 1;
    return true;
}

static void filter_below_agg(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    int dim[TRA_MAXDIM];
    conjuncts c;
    if (!is(x, TRA_OP_FILTER) || !group_dims(y, dim) || counts_places(w, x, y)) return;
    const char *names[TRA_MAXDIM] = {NULL};
    const tra_keyfn *f = x->node.keyfn;
    tra_split_predicate(f, &c);
    for (int i = 0; i < f->arity; i++) names[dim[i]] = f->names[i];
    for (int i = 0; i < c.n; i++) c.v[i] = tra_rename_vars(w, c.v[i], dim);
    tra_expr *filter = tra_make_below(w, x, tra_proto_filter(w, &c, names, y->node.in[0]));
    tra_claim(w, x, y, tra_over(y, node_of(filter)), filter, NULL);
}

static void agg_below_filter(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    int dim[TRA_MAXDIM], place[TRA_MAXDIM];
    conjuncts c, up = {0}, kept = {0};
    if (!is(y, TRA_OP_FILTER) || !group_dims(x, dim) || counts_places(w, x, x)) return;
    const tra_keyfn *f = y->node.keyfn;
    const char *names[TRA_MAXDIM] = {NULL};
    uint32_t grouped = 0;
    for (int d = 0; d < TRA_MAXDIM; d++) place[d] = 0;
    for (int i = 0; i < x->node.type.cat->frontier.n; i++) {
        grouped |= 1u << dim[i];
        place[dim[i]] = i;
        names[i] = f->names[dim[i]];
    }
    tra_split_predicate(f, &c);
    for (int i = 0; i < c.n; i++) {
        if (tra_keyexpr_vars(c.v[i]) & ~grouped)
            kept.v[kept.n++] = c.v[i];
        else
            up.v[up.n++] = tra_rename_vars(w, c.v[i], place);
    }
    if (up.n == 0) {
        tra_refuse(w, x, "the predicate reads keys that are not grouped, so the filter stays below");
        return;
    }
    const tra_node *in = y->node.in[0];
    if (kept.n) in = node_of(tra_make_below(w, x, tra_proto_filter(w, &kept, f->names, in)));
    tra_expr *agg = tra_make_below(w, x, tra_over(x, in));
    tra_claim(w, x, y, tra_proto_filter(w, &up, names, node_of(agg)), agg, NULL);
}

const tra_rule tra_rule_r1_5 = {
    .name = "R1-5",
    .equivalence = "filter(p, agg(g, R)) = agg(g, filter(p', R)), p'(k) = p(k[g0], k[g1], ...)",
    .condition = "the kernel counts no places in the tensor; from inside out: p' reads group keys alone",
    .forth = filter_below_agg,
    .back = agg_below_filter,
};

/* ---- R1-6 --------------------------------------------------------------------------------------------------- */

/* The key dimension of the join's result that each one of the input is. */
static void places(const tra_expr *join, int side, int place[TRA_MAXDIM]) {
    const tra_node *n = &join->node;
    for (int d = 0; d < TRA_MAXDIM; d++) place[d] = d;
    for (int d = 0; side == 1 && d < n->in[1]->type.cat->frontier.n; d++)
        place[d] = tra_join_key(&n->join.l, &n->join.r, n->in[0]->type.cat->frontier.n, d);
}

static void filter_below_join(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    conjuncts c, kept = {0}, to[2] = {{0}, {0}};
    const char *names[2][TRA_MAXDIM] = {{NULL}, {NULL}};
    if (!is(x, TRA_OP_FILTER) || !is(y, TRA_OP_JOIN)) return;
    tra_split_predicate(x->node.keyfn, &c);
    for (int i = 0; i < c.n; i++) {
        bool pushed = false;
        for (int s = 0; s < 2; s++) {
            int place[TRA_MAXDIM], back[TRA_MAXDIM] = {0};
            uint32_t has = 0;
            places(y, s, place);
            for (int d = 0; d < y->node.in[s]->type.cat->frontier.n; d++) {
                has |= 1u << place[d];
                back[place[d]] = d;
                names[s][d] = x->node.keyfn->names[place[d]];
            }
            if (tra_keyexpr_vars(c.v[i]) & ~has) continue;
            to[s].v[to[s].n++] = tra_rename_vars(w, c.v[i], back);
            pushed = true;
        }
        if (!pushed) kept.v[kept.n++] = c.v[i];
    }
    if (kept.n == c.n) {
        tra_refuse(w, x, "no input of the join has all the keys that the predicate reads");
        return;
    }
    tra_expr *in[2] = {NULL, NULL};
    tra_node n = y->node;
    for (int s = 0; s < 2; s++) {
        if (to[s].n == 0) continue;
        in[s] = tra_make_below(w, x, tra_proto_filter(w, &to[s], names[s], y->node.in[s]));
        if (!in[s]) return;
        n.in[s] = &in[s]->node;
    }
    if (kept.n == 0) {
        tra_claim(w, x, y, n, in[0], in[1]);
        return;
    }
    tra_expr *join = tra_make_below(w, x, n);
    tra_claim(w, x, y, tra_proto_filter(w, &kept, x->node.keyfn->names, node_of(join)), join, NULL);
}

static void join_below_filter(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (!is(x, TRA_OP_JOIN) || !is(y, TRA_OP_FILTER)) return;
    int place[TRA_MAXDIM];
    conjuncts c;
    const char *names[TRA_MAXDIM] = {NULL};
    places(x, w->side, place);
    tra_split_predicate(y->node.keyfn, &c);
    for (int i = 0; i < c.n; i++) c.v[i] = tra_rename_vars(w, c.v[i], place);
    for (int d = 0; d < y->node.keyfn->arity; d++) names[place[d]] = y->node.keyfn->names[d];
    tra_node n = x->node;
    n.in[w->side] = y->node.in[0];
    tra_expr *join = tra_make_below(w, x, n);
    tra_claim(w, x, y, tra_proto_filter(w, &c, names, node_of(join)), join, NULL);
}

const tra_rule tra_rule_r1_6 = {
    .name = "R1-6",
    .equivalence = "filter(p and q and r, join(L, R)) = filter(r, join(filter(p, L), filter(q, R)))",
    .condition = "each conjunct goes to every side that has all the keys it reads, joined keys counting for both",
    .forth = filter_below_join,
    .back = join_below_filter,
};
