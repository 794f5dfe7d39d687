/* egraph.c - nodes, classes, congruence. */
#include "storel_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int st_find(st_graph *g, int cls) {
    while (g->canonical[cls] != cls) {
        g->canonical[cls] = g->canonical[g->canonical[cls]];
        cls = g->canonical[cls];
    }
    return cls;
}

static int most_nodes(const st_graph *g) { return g->p->most_nodes ? g->p->most_nodes : TRA_STOREL_NODES; }

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const st_node *x) {
    uint64_t h = (uint64_t)x->op * 0x9e3779b97f4a7c15u + (uint64_t)x->nkids;
    for (int i = 0; i < x->ndata; i++) h = (h ^ (uint64_t)x->data[i]) * 0xbf58476d1ce4e5b9u, h ^= h >> 29;
    for (int i = 0; i < x->nkids; i++) h = (h ^ (uint64_t)x->kids[i]) * 0x94d049bb133111ebu, h ^= h >> 32;
    return h;
}

static bool same(const st_node *x, const st_node *y) {
    return x->hash == y->hash && x->op == y->op && x->nkids == y->nkids && x->ndata == y->ndata &&
           memcmp(x->kids, y->kids, (size_t)x->nkids * sizeof *x->kids) == 0 &&
           memcmp(x->data, y->data, (size_t)x->ndata * sizeof *x->data) == 0;
}

static void put_slot(st_graph *g, int node) {
    uint64_t at = g->node[node].hash;
    while (g->slot[at & (uint64_t)(g->nslots - 1)] >= 0) at++;
    g->slot[at & (uint64_t)(g->nslots - 1)] = node;
    g->used++;
}

static int lookup(const st_graph *g, const st_node *x) {
    if (!g->nslots) return -1;
    for (uint64_t at = x->hash;; at++) {
        int i = g->slot[at & (uint64_t)(g->nslots - 1)];
        if (i < 0 || same(&g->node[i], x)) return i;
    }
}

bool st_is_again(st_graph *g, int node) { return lookup(g, &g->node[node]) != node; }

/* Grows the hash table. Until then a node that was hashed again has two slots in it. */
static void make_room(st_graph *g) {
    if (2 * g->used < g->nslots) return;
    g->nslots = g->nslots ? 2 * g->nslots : 1024;
    g->slot = tra_news(g->arena, int, g->nslots);
    memset(g->slot, 0xff, (size_t)g->nslots * sizeof *g->slot);
    g->used = 0;
    /* of nodes that became equal, the first one is found */
    for (int i = 0; i < g->nnodes; i++)
        if (lookup(g, &g->node[i]) < 0) put_slot(g, i);
}

/* By insertion: there are few, and mostly sorted already. */
static void sort_ints(int *v, int64_t n) {
    for (int64_t i = 1, k; i < n; i++) {
        int x = v[i];
        for (k = i; k > 0 && v[k - 1] > x; k--) v[k] = v[k - 1];
        v[k] = x;
    }
}

static void canonical(st_graph *g, st_node *x) {
    for (int i = 0; i < x->nkids; i++) x->kids[i] = st_find(g, x->kids[i]);
    if (x->op == ST_ADD || x->op == ST_MUL) sort_ints(x->kids, x->nkids);
    if (x->op == ST_NEST) {
        /* conditions and factors are sets: data holds the counts of generators, conditions, factors, keys */
        int *cond = x->kids + x->data[0], *factor = cond + x->data[1];
        sort_ints(cond, x->data[1]);
        sort_ints(factor, x->data[2]);
    }
    x->hash = hash_of(x);
}

static void add_parent(st_graph *g, int cls, int node) {
    st_class *c = &g->class[cls];
    if (c->nparents == c->cap) {
        int *v = tra_news(g->arena, int, c->cap ? 2 * c->cap : 4);
        if (c->nparents) memcpy(v, c->parents, (size_t)c->nparents * sizeof *v);
        c->parents = v;
        c->cap = c->cap ? 2 * c->cap : 4;
    }
    c->parents[c->nparents++] = node;
}

static int new_class(st_graph *g) {
    if (g->nclasses == g->class_cap) {
        int cap = g->class_cap ? 2 * g->class_cap : 256;
        st_class *v = tra_news(g->arena, st_class, cap);
        int *whole = tra_news(g->arena, int, cap);
        if (g->nclasses) memcpy(v, g->class, (size_t)g->nclasses * sizeof *v);
        if (g->nclasses) memcpy(whole, g->canonical, (size_t)g->nclasses * sizeof *whole);
        g->class = v;
        g->canonical = whole;
        g->class_cap = cap;
    }
    int i = g->nclasses++;
    g->canonical[i] = i;
    g->class[i] = (st_class){.first = -1, .last = -1, .below = -1, .value = NAN};
    g->live++;
    return i;
}

static int add_node(st_graph *g, const st_node *x) {
    if (g->nnodes == g->node_cap) {
        int cap = g->node_cap ? 2 * g->node_cap : 512;
        st_node *v = tra_news(g->arena, st_node, cap);
        if (g->nnodes) memcpy(v, g->node, (size_t)g->nnodes * sizeof *v);
        g->node = v;
        g->node_cap = cap;
    }
    g->node[g->nnodes] = *x;
    return g->nnodes++;
}

static st_set free_of(st_graph *g, const st_node *x) {
    st_set in = 0;
    switch ((int)x->op) {
    case ST_VAR: return st_bit((int)x->data[0]);
    case ST_LET: return st_at(g, x->kids[0])->free | (st_at(g, x->kids[1])->free & ~st_bit((int)x->data[0]));
    case ST_SUM:
        in = st_at(g, x->kids[1])->free & ~st_bit((int)x->data[0]) & ~st_bit((int)x->data[1]);
        return in | st_at(g, x->kids[0])->free;
    case ST_MERGE:
        in = st_at(g, x->kids[2])->free;
        for (int i = 0; i < 3; i++) in &= ~st_bit((int)x->data[i]);
        return in | st_at(g, x->kids[0])->free | st_at(g, x->kids[1])->free;
    }
    for (int i = 0; i < x->nkids; i++) in |= st_at(g, x->kids[i])->free;
    for (int i = 0; x->op == ST_NEST && i < x->data[0]; i++)
        in &= ~st_bit((int)x->data[5 + 3 * i]) & ~st_bit((int)x->data[6 + 3 * i]);
    return in;
}

static int count_bits(st_set v) {
    return __builtin_popcountll((uint64_t)v) + __builtin_popcountll((uint64_t)(v >> 64));
}

/* Adds a new node to an existing class. */
static void add_to(st_graph *g, int cls, st_node *x) {
    x->cls = cls;
    st_set free = free_of(g, x);
    int i = add_node(g, x);
    put_slot(g, i);
    for (int k = 0; k < x->nkids; k++) add_parent(g, x->kids[k], i);
    st_class *c = &g->class[cls];
    g->node[c->last].next = i;
    c->last = i;
    if (count_bits(free) < count_bits(c->free)) c->free = free;
}

int st_make_as(st_graph *g, int as, st_op op, int ndata, const int64_t *data, int nkids, const int *kids) {
    /* most nodes that rules make exist already: memory is allocated only for a new one */
    int sorted[ST_GENS + 2 * ST_PARTS + TRA_CALC_MAXRANK];
    int64_t copy[4 + 3 * ST_GENS + TRA_CALC_MAXRANK];
    st_node x = {.op = op, .nkids = nkids, .ndata = ndata, .kids = sorted, .data = copy, .next = -1};
    if (nkids) memcpy(sorted, kids, (size_t)nkids * sizeof *kids);
    if (ndata) memcpy(copy, data, (size_t)ndata * sizeof *data);
    canonical(g, &x);
    make_room(g);
    int found = lookup(g, &x);
    if (found >= 0) return st_find(g, g->node[found].cls);
    x.kids = tra_news(g->arena, int, nkids);
    x.data = tra_news(g->arena, int64_t, ndata);
    if (nkids) memcpy(x.kids, sorted, (size_t)nkids * sizeof *kids);
    if (ndata) memcpy(x.data, copy, (size_t)ndata * sizeof *data);
    if (g->nnodes >= most_nodes(g)) g->limited = true;
    if (as >= 0) {
        add_to(g, st_find(g, as), &x);
        return st_find(g, as);
    }
    x.cls = new_class(g);
    int i = add_node(g, &x);
    put_slot(g, i);
    for (int k = 0; k < nkids; k++) add_parent(g, g->node[i].kids[k], i);
    st_class c = g->class[x.cls];
    c.first = c.last = i;
    c.free = free_of(g, &x);
    st_describe(g, &c, &g->node[i]);
    g->class[x.cls] = c;
    return x.cls;
}

int st_make(st_graph *g, st_op op, int ndata, const int64_t *data, int nkids, const int *kids) {
    return st_make_as(g, -1, op, ndata, data, nkids, kids);
}

/* ---- congruence ------------------------------------------------------------------------------------------------- */

void st_union(st_graph *g, int a, int b) {
    a = st_find(g, a);
    b = st_find(g, b);
    if (a == b) return;
    if (b < a) {
        int swap = a;
        a = b;
        b = swap;
    }
    st_class *x = &g->class[a], *y = &g->class[b];
    g->canonical[b] = a;
    g->live--;
    for (int i = y->first; i >= 0; i = g->node[i].next) g->node[i].cls = a;
    g->node[x->last].next = y->first;
    x->last = y->last;
    /* the smaller one of two sets of free variables: some node of the class has it */
    if (count_bits(y->free) < count_bits(x->free)) x->free = y->free;
    x->fails &= y->fails;
    if (x->below < 0) x->below = y->below;
    if (isnan(x->value)) x->value = y->value;
    for (int i = 0; i < y->nparents; i++) add_parent(g, a, y->parents[i]);
    if (g->ndirty == g->dirty_cap) {
        int *v = tra_news(g->arena, int, g->dirty_cap ? 2 * g->dirty_cap : 16);
        if (g->ndirty) memcpy(v, g->dirty, (size_t)g->ndirty * sizeof *v);
        g->dirty = v;
        g->dirty_cap = g->dirty_cap ? 2 * g->dirty_cap : 16;
    }
    g->dirty[g->ndirty++] = a;
}

/* Hashes the nodes above merged classes again; where two of them have become equal, merges their classes too. */
void st_rebuild(st_graph *g) {
    while (g->ndirty) {
        int cls = st_find(g, g->dirty[--g->ndirty]);
        for (int i = 0; i < g->class[cls].nparents; i++) {
            int node = g->class[cls].parents[i];
            canonical(g, &g->node[node]);
            make_room(g);
            int found = lookup(g, &g->node[node]);
            if (found < 0)
                put_slot(g, node);
            else if (found != node)
                st_union(g, g->node[found].cls, g->node[node].cls);
        }
    }
}

/* ---- small things ----------------------------------------------------------------------------------------------- */

int st_whole(st_graph *g, int64_t v) { return st_make(g, ST_NUM, 2, (int64_t[]){0, v}, 0, NULL); }

int st_variable(st_graph *g, int v) { return st_make(g, ST_VAR, 1, (int64_t[]){v}, 0, NULL); }

int st_new_var(st_graph *g, const char *name, tra_calc_type type) {
    if (g->nvars == ST_MOSTVARS) {
        g->full = true;
        return 0;
    }
    g->var[g->nvars] = (st_var){.name = name, .real = type.real, .sparse = type.sparse, .depth = type.depth};
    g->var[g->nvars].below = -1;
    g->var[g->nvars].value = NAN;
    return g->nvars++;
}

st_memo *st_memo_of(st_graph *g, int cls, unsigned notes, bool *made) {
    for (int i = 0; i < g->nmemos; i++)
        if (st_find(g, g->memo[i].cls) == st_find(g, cls) && g->memo[i].notes == notes) {
            *made = false;
            return &g->memo[i];
        }
    if (g->nmemos == g->memo_cap) {
        int cap = g->memo_cap ? 2 * g->memo_cap : 16;
        st_memo *v = tra_news(g->arena, st_memo, cap);
        if (g->nmemos) memcpy(v, g->memo, (size_t)g->nmemos * sizeof *v);
        g->memo = v;
        g->memo_cap = cap;
    }
    *made = true;
    g->memo[g->nmemos] = (st_memo){.cls = cls, .notes = notes};
    return &g->memo[g->nmemos++];
}

int st_first(st_graph *g, int cls, st_op op) {
    int i = st_at(g, cls)->first;
    return g->node[i].op == op ? i : -1;
}

bool st_number(st_graph *g, int cls, int64_t *out) {
    int i = st_first(g, cls, ST_NUM);
    if (i < 0 || g->node[i].data[0]) return false;
    *out = g->node[i].data[1];
    return true;
}

bool st_is_var(st_graph *g, int cls, int var) {
    int i = st_first(g, cls, ST_VAR);
    return i >= 0 && g->node[i].data[0] == var;
}

/* Replaces kids of the same operator by their kids. */
static int flatten(st_graph *g, st_op op, int n, const int *v, int *out, int most) {
    int m = 0;
    for (int i = 0; i < n; i++) {
        int node = st_first(g, v[i], op);
        int kids = node < 0 ? 1 : g->node[node].nkids;
        if (m + kids > most) {
            g->full = true;
            return m;
        }
        if (node < 0)
            out[m++] = v[i];
        else
            for (int k = 0; k < kids; k++) out[m++] = g->node[node].kids[k];
    }
    return m;
}

/* A sum or a product, whose whole numbers become one; none: the number that changes nothing. */
static int combined(st_graph *g, st_op op, int64_t none, int n, const int *v) {
    int all[2 * ST_PARTS], kept[2 * ST_PARTS], m = flatten(g, op, n, v, all, 2 * ST_PARTS), k = 0;
    int64_t one, number = none;
    for (int i = 0; i < m; i++) {
        if (st_number(g, all[i], &one) && (op == ST_MUL ? tra_mul(number, one, &one) : tra_add(number, one, &one)))
            number = one;
        else
            kept[k++] = all[i];
    }
    if (number != none || k == 0) kept[k++] = st_whole(g, number);
    return k == 1 ? kept[0] : st_make(g, op, 0, NULL, k, kept);
}

int st_product(st_graph *g, int n, const int *v) { return combined(g, ST_MUL, 1, n, v); }
int st_sum(st_graph *g, int n, const int *v) { return combined(g, ST_ADD, 0, n, v); }

int st_compare(st_graph *g, tra_calc_kind k, int a, int b) {
    bool either = k == TRA_CALC_EQ || k == TRA_CALC_NE;
    int kids[2] = {st_find(g, a), st_find(g, b)};
    if (either && kids[1] < kids[0]) {
        kids[0] = st_find(g, b);
        kids[1] = st_find(g, a);
    }
    return st_make(g, ST_CMP, 1, (int64_t[]){k}, 2, kids);
}

static int replace_nest(st_graph *g, int node, int var, int by) {
    st_nest n;
    st_load(g, node, &n);
    st_nest_replace(g, &n, var, by);
    return st_nest_class(g, &n);
}

int st_replace(st_graph *g, int cls, int var, int by) {
    cls = st_find(g, cls);
    if (!(g->class[cls].free & st_bit(var))) return cls;
    int i = g->class[cls].first, kids[2 * ST_PARTS];
    while (i >= 0 && free_of(g, &g->node[i]) & ~g->class[cls].free) i = g->node[i].next;
    if (i < 0) i = g->class[cls].first;
    st_node x = g->node[i];
    if (x.op == ST_VAR) return by;
    if (x.op == ST_NEST) return replace_nest(g, i, var, by);
    if (x.nkids > 2 * ST_PARTS) {
        g->full = true;
        return cls;
    }
    for (int k = 0; k < x.nkids; k++) kids[k] = st_replace(g, x.kids[k], var, by);
    if (x.op == ST_MUL) return st_product(g, x.nkids, kids);
    if (x.op == ST_ADD) return st_sum(g, x.nkids, kids);
    if (x.op == ST_CMP) return st_compare(g, (tra_calc_kind)x.data[0], kids[0], kids[1]);
    return st_make(g, x.op, x.ndata, x.data, x.nkids, kids);
}
