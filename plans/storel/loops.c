/* loops.c - rules that take a loop of a nest: as the outermost one (S1), as a lookup (F1), with another one as a merge
 * (F4) or as one loop (F5). */
#include "storel_int.h"

#include <string.h>

static void remove_gen(st_nest *n, int i) {
    memmove(n->gen + i, n->gen + i + 1, (size_t)(n->ngens - i - 1) * sizeof *n->gen);
    n->ngens--;
}

static void remove_cond(st_nest *n, int i) {
    memmove(n->cond + i, n->cond + i + 1, (size_t)(n->nconds - i - 1) * sizeof *n->cond);
    n->nconds--;
}

/* The variables of a generator and of those that depend on it. */
static st_set dependents(st_graph *g, const st_nest *n, int i) {
    st_set all = st_bit(n->gen[i].key) | st_bit(n->gen[i].value), before = 0;
    while (before != all) {
        before = all;
        for (int k = 0; k < n->ngens; k++)
            if (st_at(g, n->gen[k].over)->free & all) all |= st_bit(n->gen[k].key) | st_bit(n->gen[k].value);
    }
    return all;
}

/* The class that a condition says is equal to the key of a generator, and that does not depend on it; -1: none. */
static int key_given(st_graph *g, const st_nest *n, int i, int *cond) {
    st_set after = dependents(g, n, i);
    for (int k = 0; k < n->nconds; k++) {
        int node = st_first(g, n->cond[k], ST_CMP);
        if (node < 0 || g->node[node].data[0] != TRA_CALC_EQ) continue;
        for (int side = 0; side < 2; side++) {
            int key = g->node[node].kids[side], other = g->node[node].kids[1 - side];
            if (!st_is_var(g, key, n->gen[i].key) || st_at(g, other)->free & after || st_at(g, other)->real) continue;
            *cond = k;
            return st_find(g, other);
        }
    }
    return -1;
}

bool st_has_lookup(st_graph *g, const st_nest *n) {
    for (int i = 0; i < n->ngens; i++) {
        int cond;
        if (!n->gen[i].let && st_first(g, n->gen[i].over, ST_RANGE) >= 0 && key_given(g, n, i, &cond) >= 0) return true;
    }
    return false;
}

static bool ascending(st_graph *g, const st_gen *x) {
    const st_shape *s = st_at(g, x->over)->shape;
    return x->value >= 0 && s && s->depth == 1 && s->ascending;
}

/* The condition that the values of two generators are equal; -1: there is none. */
static int equal_values(st_graph *g, const st_nest *n, const st_gen *x, const st_gen *y) {
    for (int k = 0; k < n->nconds; k++) {
        int node = st_first(g, n->cond[k], ST_CMP);
        if (node < 0 || g->node[node].data[0] != TRA_CALC_EQ) continue;
        const int *kids = g->node[node].kids;
        if ((st_is_var(g, kids[0], x->value) && st_is_var(g, kids[1], y->value)) ||
            (st_is_var(g, kids[1], x->value) && st_is_var(g, kids[0], y->value)))
            return k;
    }
    return -1;
}

/* F5: two loops over one array without duplicates, of equal values, are one. */
bool st_same_loop(st_graph *g, int cls, const st_nest *from) {
    for (int i = 0; i < from->ngens; i++)
        for (int k = i + 1; k < from->ngens; k++) {
            const st_gen *x = &from->gen[i], *y = &from->gen[k];
            int cond = x->over == y->over && ascending(g, x) && ascending(g, y) ? equal_values(g, from, x, y) : -1;
            if (cond < 0) continue;
            st_nest n = *from;
            remove_cond(&n, cond);
            remove_gen(&n, k);
            st_nest_replace(g, &n, y->value, st_variable(g, x->value));
            st_nest_replace(g, &n, y->key, st_variable(g, x->key));
            st_equal_nest(g, cls, ST_F5, &n);
            return true;
        }
    return false;
}

bool st_look_up(st_graph *g, int cls, const st_nest *from) {
    for (int i = 0; i < from->ngens; i++) {
        int cond, range = from->gen[i].let ? -1 : st_first(g, from->gen[i].over, ST_RANGE);
        int key = range < 0 ? -1 : key_given(g, from, i, &cond);
        if (key < 0) continue;
        int lo = st_find(g, g->node[range].kids[0]), hi = st_find(g, g->node[range].kids[1]), below;
        st_nest n = *from;
        int64_t zero;
        remove_cond(&n, cond);
        remove_gen(&n, i);
        st_nest_replace(g, &n, from->gen[i].key, key);
        if (from->gen[i].value >= 0) st_nest_replace(g, &n, from->gen[i].value, key);
        below = st_at(g, key)->below;
        if (below < 0 || !st_number(g, lo, &zero) || zero != 0) st_add_cond(g, &n, st_compare(g, TRA_CALC_GE, key, lo));
        if (below < 0 || st_find(g, below) != hi) st_add_cond(g, &n, st_compare(g, TRA_CALC_LT, key, hi));
        st_equal_nest(g, cls, ST_F1, &n);
        return true;
    }
    return false;
}

/* Is the nest 0 where the value of the generator is 0? */
static bool vanishes(st_graph *g, const st_nest *n, int i) {
    int v = n->gen[i].value;
    if (v < 0) return false;
    for (int k = 0; k < n->nfactors; k++)
        if (st_is_var(g, n->factor[k], v)) return true;
    for (int k = 0; k < n->ngens; k++)
        if (!n->gen[k].let && st_is_var(g, n->gen[k].over, v)) return true;
    return false;
}

static void look_up_dictionary(st_graph *g, int cls, const st_nest *from, int i) {
    int cond, key = key_given(g, from, i, &cond);
    if (key < 0 || !vanishes(g, from, i)) return;
    st_nest n = *from;
    remove_cond(&n, cond);
    remove_gen(&n, i);
    int value = st_make(g, ST_APPLY, 0, NULL, 2, (int[]){from->gen[i].over, key});
    st_nest_replace(g, &n, from->gen[i].value, value);
    st_nest_replace(g, &n, from->gen[i].key, key);
    st_equal_nest(g, cls, ST_F1, &n);
}

static bool ready(st_graph *g, const st_nest *n, int i) {
    return !n->gen[i].let && !(st_at(g, n->gen[i].over)->free & st_bound(n));
}

static void merge(st_graph *g, int cls, const st_nest *from, int p, int q) {
    const st_gen *x = &from->gen[p], *y = &from->gen[q];
    int cond = ascending(g, x) && ascending(g, y) ? equal_values(g, from, x, y) : -1;
    if (cond < 0) return;
    st_nest n = *from;
    remove_cond(&n, cond);
    remove_gen(&n, p > q ? p : q);
    remove_gen(&n, p > q ? q : p);
    st_nest_replace(g, &n, y->value, st_variable(g, x->value));
    int kid[3] = {x->over, y->over, st_nest_class(g, &n)};
    st_equal_node(g, cls, ST_F4, ST_MERGE, 3, (int64_t[]){x->key, y->key, x->value}, 3, kid);
}

void st_take_loops(st_graph *g, int cls, const st_nest *from) {
    bool taken = false;
    for (int i = 0; i < from->ngens && !g->full; i++) {
        if (st_on(g, ST_F1) && !from->gen[i].let) look_up_dictionary(g, cls, from, i);
        if (!ready(g, from, i) || (taken && !st_on(g, ST_S1))) continue;
        st_nest n = *from;
        remove_gen(&n, i);
        /* a loop over the same part inside: the part is one that an element was found in */
        bool again = false;
        for (int k = 0; k < n.ngens; k++) again |= n.gen[k].over == from->gen[i].over;
        int kids[2] = {from->gen[i].over, st_nest_class(g, &n)};
        int64_t data[3] = {from->gen[i].key, from->gen[i].value, again};
        int before = g->applied[ST_S1];
        st_equal_node(g, cls, ST_S1, ST_SUM, 3, data, 2, kids);
        if (!taken) g->applied[ST_S1] = before; /* no other order: S1 was not applied */
        taken = true;
        for (int k = i + 1; k < from->ngens && st_on(g, ST_F4); k++)
            if (ready(g, from, k)) merge(g, cls, from, i, k);
    }
}
