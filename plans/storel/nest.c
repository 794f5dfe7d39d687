/* nest.c - nests as nodes of the graph, and back. */
#include "storel_int.h"

#include <string.h>

st_set st_bound(const st_nest *n) {
    st_set all = 0;
    for (int i = 0; i < n->ngens; i++) all |= st_bit(n->gen[i].key) | st_bit(n->gen[i].value);
    return all;
}

void st_add_gen(st_graph *g, st_nest *n, bool let, int key, int value, int over) {
    if (n->ngens == ST_GENS)
        g->full = true;
    else
        n->gen[n->ngens++] = (st_gen){let, key, value, over};
}

void st_add_cond(st_graph *g, st_nest *n, int cond) {
    int and = st_first(g, cond, ST_AND);
    /* a condition that may fail is checked after the one that it was written after */
    if (and >= 0 && !st_at(g, cond)->fails) {
        for (int i = 0; i < 2; i++) st_add_cond(g, n, g->node[and].kids[i]);
        return;
    }
    for (int i = 0; i < n->nconds; i++)
        if (n->cond[i] == st_find(g, cond)) return;
    if (n->nconds == ST_PARTS)
        g->full = true;
    else
        n->cond[n->nconds++] = st_find(g, cond);
}

void st_add_factor(st_graph *g, st_nest *n, int factor) {
    int product = st_first(g, factor, ST_MUL);
    for (int i = 0; product >= 0 && i < g->node[product].nkids; i++) st_add_factor(g, n, g->node[product].kids[i]);
    if (product >= 0) return;
    if (n->nfactors == ST_PARTS)
        g->full = true;
    else
        n->factor[n->nfactors++] = st_find(g, factor);
}

void st_add_key(st_graph *g, st_nest *n, int key, unsigned note) {
    if (n->nkeys == TRA_CALC_MAXRANK) {
        g->full = true;
        return;
    }
    n->note[n->nkeys] = note;
    n->key[n->nkeys++] = st_find(g, key);
}

/* By their variables, which differ. */
static void sort_gens(st_nest *n) {
    for (int i = 1; i < n->ngens; i++) {
        st_gen x = n->gen[i];
        int k = i, by = x.key >= 0 ? x.key : x.value;
        for (; k > 0 && (n->gen[k - 1].key >= 0 ? n->gen[k - 1].key : n->gen[k - 1].value) > by; k--)
            n->gen[k] = n->gen[k - 1];
        n->gen[k] = x;
    }
}

/* The value of a nest. If it is a dictionary, the factors are multiplied into each addend, since a product with a
 * dictionary cannot be executed. */
static int value_of(st_graph *g, const st_nest *n, int *factors) {
    int m = n->nfactors;
    memcpy(factors, n->factor, (size_t)m * sizeof *factors);
    if (!n->nadds) return m;
    int add[2];
    for (int i = 0; i < n->nadds; i++) {
        st_nest one = *n->add[i];
        for (int k = 0; k < n->nfactors; k++) st_add_factor(g, &one, n->factor[k]);
        add[i] = st_nest_class(g, &one);
    }
    factors[0] = st_sum(g, n->nadds, add);
    return 1;
}

static int nest_class(st_graph *g, int as, const st_nest *from) {
    st_nest n = *from;
    int factors[ST_PARTS], kids[ST_GENS + 2 * ST_PARTS + TRA_CALC_MAXRANK], k = 0, d = 0;
    int64_t data[4 + 3 * ST_GENS + TRA_CALC_MAXRANK];
    n.nfactors = value_of(g, &n, factors);
    memcpy(n.factor, factors, (size_t)n.nfactors * sizeof *factors);
    if (n.ngens + n.nconds + n.nkeys == 0) return n.nadds ? n.factor[0] : st_product(g, n.nfactors, n.factor);
    if (n.nfactors == 0) n.factor[n.nfactors++] = st_whole(g, 1);
    sort_gens(&n);
    data[d++] = n.ngens, data[d++] = n.nconds, data[d++] = n.nfactors, data[d++] = n.nkeys;
    for (int i = 0; i < n.ngens; i++) {
        data[d++] = n.gen[i].let, data[d++] = n.gen[i].key, data[d++] = n.gen[i].value;
        kids[k++] = n.gen[i].over;
    }
    for (int i = 0; i < n.nconds; i++) kids[k++] = n.cond[i];
    for (int i = 0; i < n.nfactors; i++) kids[k++] = n.factor[i];
    for (int i = 0; i < n.nkeys; i++) data[d++] = n.note[i], kids[k++] = n.key[i];
    return st_make_as(g, as, ST_NEST, d, data, k, kids);
}

int st_nest_class(st_graph *g, const st_nest *n) { return nest_class(g, -1, n); }

void st_equal_nest(st_graph *g, int cls, st_rule r, const st_nest *n) {
    int before = g->nnodes, other = nest_class(g, cls, n);
    if (st_find(g, other) == st_find(g, cls) && g->nnodes > before) st_applied(g, r);
    st_equal(g, cls, other, r);
}

void st_load(st_graph *g, int node, st_nest *out) {
    const st_node *x = &g->node[node];
    const int *k = x->kids;
    *out = (st_nest){
        .ngens = (int)x->data[0], .nconds = (int)x->data[1], .nfactors = (int)x->data[2], .nkeys = (int)x->data[3]};
    for (int i = 0; i < out->ngens; i++) {
        const int64_t *d = x->data + 4 + 3 * i;
        out->gen[i] = (st_gen){d[0] != 0, (int)d[1], (int)d[2], st_find(g, *k++)};
    }
    for (int i = 0; i < out->nconds; i++) out->cond[i] = st_find(g, *k++);
    for (int i = 0; i < out->nfactors; i++) out->factor[i] = st_find(g, *k++);
    for (int i = 0; i < out->nkeys; i++) {
        out->note[i] = (unsigned)x->data[4 + 3 * out->ngens + i];
        out->key[i] = st_find(g, *k++);
    }
}

void st_nest_replace(st_graph *g, st_nest *n, int var, int by) {
    st_nest from = *n;
    n->nconds = n->nfactors = 0;
    for (int i = 0; i < n->ngens; i++) n->gen[i].over = st_replace(g, n->gen[i].over, var, by);
    for (int i = 0; i < from.nconds; i++) st_add_cond(g, n, st_replace(g, from.cond[i], var, by));
    for (int i = 0; i < from.nfactors; i++) st_add_factor(g, n, st_replace(g, from.factor[i], var, by));
    for (int i = 0; i < n->nkeys; i++) n->key[i] = st_replace(g, n->key[i], var, by);
}
