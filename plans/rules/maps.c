/* maps.c - rules R1-2, R1-4 and R1-7: maps among themselves, past aggregations and into joins.
 *
 * The map of the algebra changes keys and arrays at once. Here a rekey has the key function and a transform the kernel;
 * a tile makes several tuples of one. */
#include <string.h>

#include "rules_int.h"

static bool is(const tra_expr *x, tra_opcode op) { return x && x->node.op == op; }

/* Longer compositions come from maps that lead back to where they began. */
enum { MAXPARTS = 16, MAXKEYOPS = 64 };

static int parts(const tra_kernel *k) {
    int n = 0;
    for (; k; k = tra_kernel_rest(k)) n++;
    return n;
}

/* The kernel `next` after `first`; NULL: the composition is too long. */
static const tra_kernel *then(tra_rewriting *w, const tra_kernel *first, const tra_kernel *next) {
    if (parts(first) + parts(next) > MAXPARTS || !tra_kernel_composes(first, next)) return NULL;
    return tra_kernel_then(w->m->arena, first, next);
}

static bool elementwise(const tra_expr *x) { return tra_kernel_props(x->node.kernel) & TRA_P_ELEMENTWISE; }

/* ---- R1-2 --------------------------------------------------------------------------------------------------- */

static int key_ops(const tra_keyfn *f) {
    int n = 0;
    for (int i = 0; i < f->n; i++) n += tra_keyexpr_size(f->expr[i]);
    return n;
}

static void compose_keys(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    tra_keyfn *f = tra_new(w->m->arena, tra_keyfn);
    *f = *y->node.keyfn;
    f->n = x->node.keyfn->n;
    for (int i = 0; i < f->n; i++)
        f->expr[i] = tra_keyexpr_replace(w->m->arena, x->node.keyfn->expr[i], y->node.keyfn->expr);
    tra_node n = tra_over(x, y->node.in[0]);
    n.keyfn = f;
    if (key_ops(f) > MAXKEYOPS) return;
    tra_claim(w, x, y, n, NULL, NULL);
}

/* A map and what it works past only element by element, one over the other; but: what stands in the way else, before
 * the kernel's name. */
static void past(tra_rewriting *w, tra_expr *x, tra_expr *y, const tra_expr *map, const char *but) {
    if (elementwise(map))
        tra_swap(w, x, y);
    else
        tra_refuse(w, x, but, tra_kernel_name(w, map->node.kernel));
}

static const char past_tile[] = "arity: tile makes several tuples of one, and %s does not work element by element";
static const char past_concat[] = "%s does not distribute over concat: it does not work element by element";

/* Did this rule make x of one map over another? What x becomes over a third one, the upper of the two becomes over the
 * other and that one: so a chain of n maps has as many compositions as it has parts, and not as many ways to come to
 * them. */
static bool composed(const tra_memo *m, const tra_expr *x) {
    const tra_equality *q = x->equality >= 0 ? &m->equal[x->equality] : NULL;
    return q && q->rule == &tra_rule_r1_2 && q->below[0] >= 0 && is(m->v[q->a], TRA_OP_TRANSFORM) &&
           is(m->v[q->below[0]], TRA_OP_TRANSFORM);
}

/* Does a map leave arrays of that type as they are, as a transpose of transposed ones does? */
static bool keeps_order(const tra_kernel *map, const tra_type *t) {
    int from[TRA_MAXDIM];
    if (!tra_kernel_permutes(map, t->cat->bound.n, from)) return false;
    for (int d = 0; d < t->cat->bound.n; d++)
        if (from[d] != d) return false;
    return true;
}

static void compose_maps(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (is(x, TRA_OP_REKEY) && is(y, TRA_OP_REKEY)) {
        compose_keys(w, x, y);
    } else if (is(x, TRA_OP_TRANSFORM) && is(y, TRA_OP_REKEY)) { /* one map, its parts in the other order */
        tra_swap(w, x, y);
    } else if (is(x, TRA_OP_TRANSFORM) && is(y, TRA_OP_TILE)) {
        past(w, x, y, x, past_tile);
    } else if (tra_rule_of_passes(x, y)) { /* */
        return;
    } else if (is(x, TRA_OP_TRANSFORM) && is(y, TRA_OP_TRANSFORM) && !composed(w->m, x)) {
        tra_node n = tra_proto_transform(then(w, y->node.kernel, x->node.kernel), y->node.in[0]);
        if (!n.kernel) return;
        if (keeps_order(n.kernel, &y->node.in[0]->type)) {
            tra_claim_same(w, x, y->node.in[0]);
            return;
        }
        tra_claim(w, x, y, n, NULL, NULL);
        if (!tra_kernel_commutes(x->node.kernel, y->node.kernel)) return;
        n.kernel = then(w, x->node.kernel, y->node.kernel);
        tra_claim(w, x, y, n, NULL, NULL);
    }
}

static void split_map(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (is(x, TRA_OP_TRANSFORM) && !y) {
        const tra_kernel *rest = tra_kernel_rest(x->node.kernel);
        if (!rest) return;
        tra_expr *inner = tra_make_below(w, x, tra_proto_transform(tra_kernel_first(x->node.kernel), x->node.in[0]));
        tra_claim(w, x, NULL, tra_proto_transform(rest, node_of(inner)), inner, NULL);
    } else if (is(x, TRA_OP_REKEY) && is(y, TRA_OP_TRANSFORM)) {
        tra_swap(w, x, y);
    } else if (is(x, TRA_OP_TILE) && is(y, TRA_OP_TRANSFORM)) {
        past(w, x, y, y, past_tile);
    }
}

const tra_rule tra_rule_r1_2 = {
    .name = "R1-2",
    .equivalence = "map(f, map(g, R)) = map(f.g, R)",
    .condition = "arity one; or f works element by element",
    .forth = compose_maps,
    .back = split_map,
};

/* ---- R1-4 --------------------------------------------------------------------------------------------------- */

/* Do the groups of an aggregation have cells that none of their arrays covers? Of grids it is known: along each array
 * dimension, the largest extents are at the last key, or at the others. Of lists only when all arrays are alike. */
static bool uncovered(const tra_node *agg) {
    const tra_catalog *c = agg->in[0]->type.cat;
    bool last[TRA_MAXDIM] = {false}, other[TRA_MAXDIM] = {false};
    if (!c->grid) return c->cls && c->nclasses > 1;
    for (int a = 0; a < c->bound.n; a++) {
        int d = c->by[a];
        if (d < 0 || c->last[a] == c->bound.v[a] || c->frontier.v[d] < 2) continue;
        bool grouped = false;
        for (int i = 0; i < agg->group.n; i++) grouped = grouped || agg->group.v[i] == d;
        if (grouped) continue;
        *(c->last[a] > c->bound.v[a] ? &last[d] : &other[d]) = true;
        if (last[d] && other[d]) return true;
    }
    return false;
}

/* May f, with results of type t, be moved? Integers stay where the program computes them, unless f only moves elements:
 * elsewhere other numbers are computed, which might overflow. False after a refusal. */
static bool exact_when_moved(tra_rewriting *w, const tra_expr *x, const tra_kernel *f, tra_dtype t) {
    if (tra_dtype_is_float(t) || (tra_kernel_props(f) & TRA_P_MOVES)) return true;
    return tra_refuse(w, x, "%s computes integers, of which others might overflow elsewhere", tra_kernel_name(w, f));
}

/* agg(g, map(f, R)) for map(f, agg(g, R)): may f go below? */
static bool may_descend(tra_rewriting *w, const tra_expr *x, const tra_kernel *f, const tra_node *agg) {
    if (!exact_when_moved(w, x, f, agg->in[0]->type.dtype)) return false;
    if (!tra_kernel_distributes(f, agg->kernel))
        return tra_refuse(w, x, "%s does not distribute over %s", tra_kernel_name(w, f),
                          tra_kernel_name(w, agg->kernel));
    if (uncovered(agg) && !tra_kernel_keeps_identity(f, agg->kernel))
        return tra_refuse(w, x, "the arrays of a group differ in extents, and %s does not keep the identity of %s",
                          tra_kernel_name(w, f), tra_kernel_name(w, agg->kernel));
    return true;
}

static void map_into_agg(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if ((is(x, TRA_OP_REKEY) || is(x, TRA_OP_TILE)) && is(y, TRA_OP_AGG)) {
        tra_refuse(w, x, "the key function of the map is not the identity: %s makes other keys",
                   tra_opcode_text(x->node.op));
        return;
    }
    if (!is(x, TRA_OP_TRANSFORM)) return;
    if (is(y, TRA_OP_CONCAT)) {
        past(w, x, y, x, past_concat);
        return;
    }
    if (!is(y, TRA_OP_AGG)) return;
    tra_node n = tra_proto_agg(then(w, y->node.kernel, x->node.kernel), &y->node.group, y->node.in[0]);
    /* a sum that is held as rows of entries would become a dense state of as many elements as a block has */
    if (n.kernel && !y->node.type.layout) tra_claim(w, x, y, n, NULL, NULL);
    if (tra_kernel_rest(y->node.kernel) || !may_descend(w, x, x->node.kernel, &y->node)) return;
    tra_expr *map = tra_make_below(w, x, tra_proto_transform(x->node.kernel, y->node.in[0]));
    tra_claim(w, x, y, tra_over(y, node_of(map)), map, NULL);
}

static void map_out_of_agg(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (is(x, TRA_OP_CONCAT) && is(y, TRA_OP_TRANSFORM)) past(w, x, y, y, past_concat);
    if (!is(x, TRA_OP_AGG)) return;
    const tra_kernel *rest = tra_kernel_rest(x->node.kernel), *f = rest;
    tra_node agg = tra_over(x, x->node.in[0]);
    if (!y && rest) {
        agg.kernel = tra_kernel_first(x->node.kernel);
    } else if (is(y, TRA_OP_TRANSFORM) && !rest) {
        agg.in[0] = y->node.in[0];
        f = y->node.kernel;
        if (!may_descend(w, x, f, &agg)) return;
    } else {
        return;
    }
    tra_expr *inner = tra_make_below(w, x, agg);
    tra_claim(w, x, y, tra_proto_transform(f, node_of(inner)), inner, NULL);
}

const tra_rule tra_rule_r1_4 = {
    .name = "R1-4",
    .equivalence = "map(f, agg(g, R)) = agg(f.g, R) = agg(g, map(f, R))",
    .condition =
        "the key function is the identity; second form: f distributes over g, and keeps its identity where padding "
        "leaves cells that no array covers",
    .forth = map_into_agg,
    .back = map_out_of_agg,
};

/* ---- R1-7 --------------------------------------------------------------------------------------------------- */

/* l, r: relations without the map. */
static bool may_enter(tra_rewriting *w, const tra_expr *x, const tra_kernel *map, const tra_kernel *join,
                      const tra_node *l, const tra_node *r) {
    if (!exact_when_moved(w, x, map, l->type.dtype) || !exact_when_moved(w, x, map, r->type.dtype)) return false;
    if (tra_kernel_enters(map, join, &l->type.cat->bound, &r->type.cat->bound)) return true;
    return tra_refuse(w, x, "f(K(a, b)) = K(f(a), f(b)) is not known of f = %s and K = %s", tra_kernel_name(w, map),
                      tra_kernel_name(w, join));
}

static void map_into_join(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (!is(y, TRA_OP_JOIN)) return;
    if (is(x, TRA_OP_REKEY) || is(x, TRA_OP_TILE)) {
        tra_refuse(w, x,
                   x->node.op == TRA_OP_REKEY ? "the key function is not the identity: the rekey stays above the join"
                                              : "arity: tile makes several tuples of one");
        return;
    }
    if (!is(x, TRA_OP_TRANSFORM)) return;
    tra_node n = y->node;
    n.kernel = then(w, y->node.kernel, x->node.kernel);
    if (n.kernel) tra_claim(w, x, y, n, NULL, NULL);
    if (!may_enter(w, x, x->node.kernel, y->node.kernel, y->node.in[0], y->node.in[1])) return;
    tra_expr *in[2];
    n = y->node;
    for (int s = 0; s < 2; s++) {
        in[s] = tra_make_below(w, x, tra_proto_transform(x->node.kernel, y->node.in[s]));
        if (!in[s]) return;
        n.in[s] = &in[s]->node;
    }
    tra_claim(w, x, y, n, in[0], in[1]);
}

static bool same_kernel(tra_rewriting *w, const tra_kernel *f, const tra_kernel *g) {
    return f == g || strcmp(tra_kernel_name(w, f), tra_kernel_name(w, g)) == 0;
}

static void map_out_of_join(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    tra_memo *m = w->m;
    if (!is(x, TRA_OP_JOIN)) return;
    tra_node n = x->node;
    n.name = NULL;
    const tra_kernel *rest = tra_kernel_rest(x->node.kernel);
    if (!y && rest) {
        n.kernel = tra_kernel_first(x->node.kernel);
        tra_expr *join = tra_make_below(w, x, n);
        if (!join) return;
        n = tra_proto_transform(rest, &join->node);
        tra_claim(w, x, NULL, n, join, NULL);
    }
    const tra_memo_group *right =
        w->side == 0 && is(y, TRA_OP_TRANSFORM) ? &m->group[tra_memo_find(m, x->in[1])] : NULL;
    for (int i = 0; right && i < right->n; i++) {
        tra_expr *z = m->v[right->expr[i]];
        if (!is(z, TRA_OP_TRANSFORM) || !same_kernel(w, y->node.kernel, z->node.kernel)) continue;
        if (!may_enter(w, x, y->node.kernel, x->node.kernel, y->node.in[0], z->node.in[0])) return;
        n.in[0] = y->node.in[0];
        n.in[1] = z->node.in[0];
        tra_expr *join = tra_make_below(w, x, n);
        if (!join) continue;
        tra_claim(w, x, y, tra_proto_transform(y->node.kernel, &join->node), join, NULL);
        right = &m->group[tra_memo_find(m, x->in[1])]; /* it may have become part of another */
    }
}

const tra_rule tra_rule_r1_7 = {
    .name = "R1-7",
    .equivalence = "map(f, join(K, L, R)) = join(f.K, L, R) = join(K, map(f, L), map(f, R))",
    .condition = "arity one; the key function is the identity; second form: f(K(a, b)) = K(f(a), f(b))",
    .forth = map_into_join,
    .back = map_out_of_join,
};
