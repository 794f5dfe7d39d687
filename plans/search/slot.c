/* slot.c - makings with the placements that are demanded of them, and the exchanges that serve these. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search_int.h"

/* ---- exchanges -------------------------------------------------------------------------------------------------- */

/* What bringing the relation to `to` costs; from ANY: an input that is, of itself, where it saves one copy. */
static spent exchange(search *s, const making *m, int from, int to) {
    const tra_node *n = &m->f->x->node;
    spent c = {0};
    if (from == ANY) {
        double f = (double)tra_catalog_floats(n->type.cat), k = tra_place_copies(&s->places.v[to]);
        int64_t moved = (int64_t)(f * (k - 1)), most = moved / s->o->sites;
        tra_traffic t = {.floats = k * f, .moved = moved, .most = most, .both = most};
        tra_add_traffic(s, &c, t, &n->type);
    } else {
        tra_add_traffic(s, &c, tra_move_traffic(s, n, false, from, to), &n->type);
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
           n->at == TRA_AT_ANY && n->rel && !t->columns && !t->bounded && tra_rel_unpacks(n->rel) == 0 &&
           tra_rel_library(n->rel) == 0;
}

/* What it costs that all sites read their copies, beyond what one copy takes. */
static spent copies_read(const search *s, const tra_node *n, int place) {
    double more = tra_place_copies(&s->places.v[place]) - 1, bytes = (double)tra_type_bytes_all(&n->type).expected;
    return (spent){.seconds = more * bytes / s->o->sites / s->o->rates.disk_read};
}

/* Serves the wants in this order, each from what is there and costs least; the input is of itself as want `own`, -1: as
 * where it is made. */
static spent serve_from(search *s, const making *m, int n, const int *want, const int *order, int own, int *from) {
    spent sum = {0};
    for (int k = 0; k < n; k++) {
        int i = order[k];
        from[i] = own;
        if (i == own) continue;
        spent least = exchange(s, m, own >= 0 ? want[own] : m->out, want[i]);
        for (int j = 0; j < k; j++) {
            if (order[j] == own) continue;
            spent c = exchange(s, m, want[order[j]], want[i]);
            if (less(s, &c, &least)) least = c, from[i] = order[j];
        }
        add_spent(&sum, &least);
    }
    return sum;
}

/* Serves the wants, those of most copies first. from and own as of a slot. */
static spent serve(search *s, const making *m, int n, const int *want, int *from, int *own) {
    int order[n + 1], other[n + 1];
    order[0] = 0;
    for (int i = 0; i < n; i++) {
        int c = tra_place_copies(&s->places.v[want[i]]), j = i;
        for (; j > 0 && tra_place_copies(&s->places.v[want[order[j - 1]]]) < c; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    *own = -1;
    for (int i = 0; i < n && m->out == ANY && *own < 0; i++) {
        if (tra_place_copies(&s->places.v[want[i]]) == 1) *own = i;
    }
    spent sum = serve_from(s, m, n, want, order, *own, from);
    const tra_node *node = &m->f->x->node;
    if (n == 0 || m->out != ANY || tra_place_copies(&s->places.v[want[order[0]]]) == 1 || !tra_may_read_all(s, node))
        return sum;
    spent read = serve_from(s, m, n, want, order, order[0], other), copies = copies_read(s, node, want[order[0]]);
    add_spent(&read, &copies);
    if (!less(s, &read, &sum)) return sum;
    memcpy(from, other, (size_t)n * sizeof *from);
    *own = order[0];
    return read;
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

enum { LEAST = 1024 };

/* Room for so many, a power of two. */
static void resize(search *s, int cap) {
    s->slots.cap = cap;
    s->slots.v = tra_realloc(s->slots.v, (size_t)cap, sizeof *s->slots.v);
    s->slots.score = tra_realloc(s->slots.score, (size_t)cap, sizeof *s->slots.score);
    s->slots.ntable = 2 * cap;
    s->slots.table = tra_realloc(s->slots.table, (size_t)s->slots.ntable, sizeof *s->slots.table);
    memset(s->slots.table, 0, (size_t)s->slots.ntable * sizeof *s->slots.table);
    for (int i = 1; i < s->slots.n; i++) {
        uint64_t at = s->slots.score[i].open;
        while (s->slots.table[at & (uint64_t)(s->slots.ntable - 1)]) at++;
        s->slots.table[at & (uint64_t)(s->slots.ntable - 1)] = i;
    }
}

static void grow(search *s) {
    if (s->slots.n < s->slots.cap) return;
    resize(s, s->slots.cap ? 2 * s->slots.cap : LEAST);
    if (s->slots.n > 0) return;
    s->slots.v[0] = (slot){.m = NULL}; /* the empty one */
    s->slots.score[0] = (score){.scalar = 0};
    s->slots.n = 1;
}

/* Wants and where they come from, in one. */
static void set_wants(search *s, slot *x, int n, const int *want, const int *from) {
    int *v = n ? tra_news(s->kept, int, 2 * n) : NULL;
    assert(n <= INT16_MAX);
    x->n = (int16_t)n;
    x->want = v;
    if (n) memcpy(v, want, (size_t)n * sizeof *v), memcpy(v + n, from, (size_t)n * sizeof *v);
}

/* Serves what is wanted. *t becomes what the slot costs alone. */
static void settle(search *s, slot *x, int n, const int *want, score *t) {
    int v[n + 1], from[n + 1], m = n;
    if (n) memcpy(v, want, (size_t)n * sizeof *v);
    spent sum = serve(s, x->m, n, v, from, &x->own), cost = x->m->cost;
    if (n > 2) { /* perhaps once to all sites, and everything from there */
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
    set_wants(s, x, m, v, from);
    add_spent(&cost, &sum);
    t->scalar = spent_scalar(s, &cost);
    t->flops = cost.flops;
    t->bytes = cost.bytes;
    t->memory = x->m->memory;
    if (n > (x->own >= 0)) t->memory = tra_max64(t->memory, s->group[x->m->group].move_memory);
}

/* The slot of a making with these wants. */
static int find(search *s, const making *m, int n, const int *want) {
    uint64_t h = XXH64(&m->id, sizeof m->id, 0);
    h = XXH64(want, (size_t)n * sizeof *want, h);
    grow(s);
    for (uint64_t at = h;; at++) {
        int *i = &s->slots.table[at & (uint64_t)(s->slots.ntable - 1)];
        if (*i) {
            const slot *x = &s->slots.v[*i];
            if (s->slots.score[*i].open == h && x->m == m && x->n - x->extra == n &&
                (n == 0 || memcmp(x->want, want, (size_t)n * sizeof *want) == 0))
                return *i;
            continue;
        }
        slot x = {.m = m};
        score t = {.open = h, .strategy = m->strategy};
        settle(s, &x, n, want, &t);
        s->slots.v[s->slots.n] = x;
        s->slots.score[s->slots.n] = t;
        return *i = s->slots.n++;
    }
}

int tra_slot_of(search *s, int making) { return find(s, s->makings.v[making], 0, NULL); }

int tra_slot_demand(search *s, int i, int place) {
    const slot *x = &s->slots.v[i];
    int n = x->n - x->extra, want[n + 1], at = 0;
    if (place == x->m->out) return i;
    while (at < n && x->want[at] < place) at++;
    if (at < n && x->want[at] == place) return i;
    if (n) memcpy(want, x->want, (size_t)at * sizeof *want);
    want[at] = place;
    if (n) memcpy(want + at + 1, x->want + at, (size_t)(n - at) * sizeof *want);
    return find(s, x->m, n + 1, want);
}

int tra_slot_union(search *s, int a, int b) {
    if (s->slots.v[a].m != s->slots.v[b].m) return -1;
    const int *want = s->slots.v[b].want; /* in an arena: stays where it is */
    for (int i = 0, n = s->slots.v[b].n - s->slots.v[b].extra; i < n; i++) a = tra_slot_demand(s, a, want[i]);
    return a;
}

void tra_slots_sweep(search *s, int *to) {
    int cap = s->slots.cap;
    tra_arena *old = s->kept;
    making **moved = tra_calloc((size_t)s->makings.n + 1, sizeof *moved);
    int n = 1;
    s->kept = tra_arena_new();
    for (int i = 1; i < s->slots.n; i++) {
        if (!to[i]) continue;
        slot x = s->slots.v[i];
        making **m = &moved[x.m->id];
        if (!*m) {
            *m = tra_new(s->kept, making);
            **m = *x.m;
        }
        x.m = *m;
        set_wants(s, &x, x.n, x.want, slot_from(&x));
        s->slots.v[n] = x;
        s->slots.score[n] = s->slots.score[i];
        to[i] = n++;
    }
    to[0] = 0;
    s->slots.n = n;
    while (cap > LEAST && cap > 4 * n) cap /= 2;
    resize(s, cap);
    free(s->makings.v);
    s->makings.v = moved;
    s->makings.cap = s->makings.n;
    tra_arena_free(old);
}
