/* supply.c - implementations with the placements that are demanded of them, and the exchanges that serve these. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search_int.h"

/* ---- exchanges -------------------------------------------------------------------------------------------------- */

/* What an exchange of the relation from one placement to another costs. from ANY: an input without a given place, which
 * is then read where one of the copies is wanted, so that this copy need not be sent. */
static spent exchange(search *s, const implementation *m, int from, int to) {
    const tra_node *n = &m->f->x->node;
    spent c = {0};
    if (from == ANY) {
        double f = (double)tra_catalog_elements(n->type.cat), k = tra_place_copies(&s->places.v[to]);
        int64_t moved = (int64_t)(f * (k - 1)), most = moved / s->o->sites;
        tra_traffic t = {.floats = k * f, .moved = moved, .most = most, .both = most};
        tra_add_traffic(s, &c, t, &n->type);
    } else {
        tra_add_move(s, &c, n, from, to);
    }
    return c;
}

static bool less(const search *s, const spent *a, const spent *b) {
    double x = spent_scalar(s, a), y = spent_scalar(s, b);
    return x != y ? x < y : a->bytes < b->bytes;
}

static void add_spent(spent *a, const spent *b) {
    a->floats += b->floats;
    a->seconds += b->seconds;
    a->flops += b->flops;
    a->bytes += b->bytes;
}

bool tra_may_read_all(const search *s, const tra_node *n) {
    const tra_type *t = &n->type;
    return n->op == TRA_OP_INPUT && s->o->sites > 1 && s->o->cost == TRA_COST_TIME && !s->o->by_eindecomp &&
           n->input.at == TRA_AT_ANY && n->input.rel && !t->columns && !t->bounded &&
           tra_rel_unpack_bytes(n->input.rel) == 0 && tra_rel_library_bytes(n->input.rel) == 0;
}

/* What it costs more if every site reads its own copy of an input than if one copy is read. */
static spent copies_read(const search *s, const tra_node *n, int place) {
    double more = tra_place_copies(&s->places.v[place]) - 1, bytes = (double)tra_type_bytes_all(&n->type).expected;
    return (spent){.seconds = more * bytes / s->o->sites / s->o->rates.disk_read};
}

/* Serves the demands in this order, each by the cheapest exchange from a placement that is there already. own: the
 * demand at which an input is read from its file; -1: the relation is where it is made. Returns the cost. */
static spent serve_from(search *s, const implementation *m, int n, const int *demand, const int *order, int own,
                        int *from) {
    spent sum = {0};
    for (int k = 0; k < n; k++) {
        int i = order[k];
        from[i] = own;
        if (i == own) continue;
        spent least = exchange(s, m, own >= 0 ? demand[own] : m->out, demand[i]);
        for (int j = 0; j < k; j++) {
            if (order[j] == own) continue;
            spent c = exchange(s, m, demand[order[j]], demand[i]);
            if (less(s, &c, &least)) least = c, from[i] = order[j];
        }
        add_spent(&sum, &least);
    }
    return sum;
}

/* Chooses from and own of a supply (search_int.h): demands with the most copies are served first. */
static spent serve(search *s, const implementation *m, int n, const int *demand, int *from, int *own) {
    int order[n + 1], other[n + 1];
    order[0] = 0;
    for (int i = 0; i < n; i++) {
        int c = tra_place_copies(&s->places.v[demand[i]]), j = i;
        for (; j > 0 && tra_place_copies(&s->places.v[demand[order[j - 1]]]) < c; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    *own = -1;
    for (int i = 0; i < n && m->out == ANY && *own < 0; i++) {
        if (tra_place_copies(&s->places.v[demand[i]]) == 1) *own = i;
    }
    spent sum = serve_from(s, m, n, demand, order, *own, from);
    const tra_node *node = &m->f->x->node;
    if (n == 0 || m->out != ANY || tra_place_copies(&s->places.v[demand[order[0]]]) == 1 || !tra_may_read_all(s, node))
        return sum;
    spent read = serve_from(s, m, n, demand, order, order[0], other), copies = copies_read(s, node, demand[order[0]]);
    add_spent(&read, &copies);
    if (!less(s, &read, &sum)) return sum;
    memcpy(from, other, (size_t)n * sizeof *from);
    *own = order[0];
    return read;
}

/* ---- supplies ---------------------------------------------------------------------------------------------------- */

enum { LEAST = 1024 };

/* Makes room for `cap` supplies, a power of two. */
static void resize(search *s, int cap) {
    s->supplies.cap = cap;
    s->supplies.v = tra_realloc(s->supplies.v, (size_t)cap, sizeof *s->supplies.v);
    s->supplies.score = tra_realloc(s->supplies.score, (size_t)cap, sizeof *s->supplies.score);
    s->supplies.ntable = 2 * cap;
    s->supplies.table = tra_realloc(s->supplies.table, (size_t)s->supplies.ntable, sizeof *s->supplies.table);
    memset(s->supplies.table, 0, (size_t)s->supplies.ntable * sizeof *s->supplies.table);
    for (int i = 1; i < s->supplies.n; i++) {
        uint64_t at = s->supplies.score[i].open;
        while (s->supplies.table[at & (uint64_t)(s->supplies.ntable - 1)]) at++;
        s->supplies.table[at & (uint64_t)(s->supplies.ntable - 1)] = i;
    }
}

static void grow(search *s) {
    if (s->supplies.n < s->supplies.cap) return;
    resize(s, s->supplies.cap ? 2 * s->supplies.cap : LEAST);
    if (s->supplies.n > 0) return;
    s->supplies.v[0] = (supply){.m = NULL}; /* the empty one */
    s->supplies.score[0] = (score){.scalar = 0};
    s->supplies.n = 1;
}

/* Sets the demands of a supply, and after them in the same array where each comes from. */
static void set_demands(search *s, supply *x, int n, const int *demand, const int *from) {
    int *v = n ? tra_news(s->kept, int, 2 * n) : NULL;
    assert(n <= INT16_MAX);
    x->n = (int16_t)n;
    x->demand = v;
    if (n) memcpy(v, demand, (size_t)n * sizeof *v), memcpy(v + n, from, (size_t)n * sizeof *v);
}

/* Chooses the exchanges that bring the result to each placement of demand[n]. *t becomes what the supply costs alone.
 */
static void choose_exchanges(search *s, supply *x, int n, const int *demand, score *t) {
    int v[n + 1], from[n + 1], m = n;
    if (n) memcpy(v, demand, (size_t)n * sizeof *v);
    spent sum = serve(s, x->m, n, v, from, &x->own), cost = x->m->cost;
    if (n > 2) { /* or one exchange to all sites, and everything else from there */
        tra_placement all = tra_place_all(s->o->sites);
        int other[n + 1], own;
        v[n] = tra_place_intern(s, &all);
        spent c = serve(s, x->m, n + 1, v, other, &own);
        if (less(s, &c, &sum)) {
            sum = c;
            x->extra = true;
            m = n + 1;
            x->own = own;
            memcpy(from, other, (size_t)m * sizeof *from);
        }
    }
    set_demands(s, x, m, v, from);
    add_spent(&cost, &sum);
    double times = s->group[x->m->group].times;
    t->scalar = times * spent_scalar(s, &cost);
    t->flops = times * cost.flops;
    t->bytes = times * cost.bytes;
    t->memory = x->m->memory;
    if (n > (x->own >= 0)) t->memory = tra_max64(t->memory, s->group[x->m->group].move_memory);
}

/* The supply of an implementation with these demands. */
static int find(search *s, const implementation *m, int n, const int *demand) {
    uint64_t h = XXH64(&m->id, sizeof m->id, 0);
    h = XXH64(demand, (size_t)n * sizeof *demand, h);
    grow(s);
    for (uint64_t at = h;; at++) {
        int *i = &s->supplies.table[at & (uint64_t)(s->supplies.ntable - 1)];
        if (*i) {
            const supply *x = &s->supplies.v[*i];
            if (s->supplies.score[*i].open == h && x->m == m && x->n - x->extra == n &&
                (n == 0 || memcmp(x->demand, demand, (size_t)n * sizeof *demand) == 0))
                return *i;
            continue;
        }
        supply x = {.m = m};
        score t = {.open = h, .strategy = m->strategy};
        choose_exchanges(s, &x, n, demand, &t);
        s->supplies.v[s->supplies.n] = x;
        s->supplies.score[s->supplies.n] = t;
        return *i = s->supplies.n++;
    }
}

int tra_supply_of(search *s, int implementation) { return find(s, s->implementations.v[implementation], 0, NULL); }

int tra_supply_add_demand(search *s, int i, int place) {
    const supply *x = &s->supplies.v[i];
    int n = x->n - x->extra, demand[n + 1], at = 0;
    if (place == x->m->out) return i;
    while (at < n && x->demand[at] < place) at++;
    if (at < n && x->demand[at] == place) return i;
    if (n) memcpy(demand, x->demand, (size_t)at * sizeof *demand);
    demand[at] = place;
    if (n) memcpy(demand + at + 1, x->demand + at, (size_t)(n - at) * sizeof *demand);
    return find(s, x->m, n + 1, demand);
}

int tra_supply_union(search *s, int a, int b) {
    if (s->supplies.v[a].m != s->supplies.v[b].m) return -1;
    const int *demand = s->supplies.v[b].demand; /* in an arena: stays where it is */
    for (int i = 0, n = s->supplies.v[b].n - s->supplies.v[b].extra; i < n; i++)
        a = tra_supply_add_demand(s, a, demand[i]);
    return a;
}

void tra_supplies_sweep(search *s, int *to) {
    int cap = s->supplies.cap;
    tra_arena *old = s->kept;
    implementation **moved = tra_calloc((size_t)s->implementations.n + 1, sizeof *moved);
    int n = 1;
    s->kept = tra_arena_new();
    for (int i = 1; i < s->supplies.n; i++) {
        if (!to[i]) continue;
        supply x = s->supplies.v[i];
        implementation **m = &moved[x.m->id];
        if (!*m) {
            *m = tra_new(s->kept, implementation);
            **m = *x.m;
        }
        x.m = *m;
        set_demands(s, &x, x.n, x.demand, supply_from(&x));
        s->supplies.v[n] = x;
        s->supplies.score[n] = s->supplies.score[i];
        to[i] = n++;
    }
    to[0] = 0;
    s->supplies.n = n;
    while (cap > LEAST && cap > 4 * n) cap /= 2;
    resize(s, cap);
    free(s->implementations.v);
    s->implementations.v = moved;
    s->implementations.cap = s->implementations.n;
    tra_arena_free(old);
}
