/* sets.c - sets of supplies: their unions, and what is chosen for good below a group. */
#include "search_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_open(const search *s, scope at, int i) {
    if (i < 0) return false;
    if (at.g < 0) return at.last_root[i] > at.root;
    const dominated *g = &s->dominated[at.g];
    return s->dominated[i].from < g->from || s->dominated[i].from >= g->to;
}

bool tra_is_open(const search *s, scope at, int i) { return is_open(s, at, i); }

static void add_score(score *t, const score *c, bool open) {
    t->scalar += c->scalar;
    t->flops += c->flops;
    t->bytes += c->bytes;
    t->memory = c->memory > t->memory ? c->memory : t->memory;
    t->open += open ? c->open : 0;
    t->strategy += c->strategy;
}

void tra_count_supply(const search *s, int supply, bool open, score *t) {
    add_score(t, &s->supplies.score[supply], open);
}

static void count_member(const search *s, const member *x, scope at, score *t) {
    bool open = is_open(s, at, x->group);
    tra_count_supply(s, x->supply, open, t);
    if (x->inside) add_score(t, &x->inside->s, open);
}

score tra_set_score(const search *s, const set *x, scope at) {
    score t = {0};
    for (int i = x->n - 1; i >= 0; i--) count_member(s, &x->v[i], at, &t);
    return t;
}

/* The member of the group; NULL: there is none. */
static member *member_of(int n, member *v, int group) {
    int low = 0, high = n;
    while (low < high) {
        int mid = (low + high) / 2;
        if (v[mid].group == group) return &v[mid];
        if (v[mid].group < group)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

int tra_set_supply(const set *x, int group) {
    const member *m = member_of(x->n, x->v, group);
    return m ? m->supply : 0;
}

static bool same_inside(const closed *a, const closed *b) { return a == b || (a && b && a->s.open == b->s.open); }

bool tra_sets_unite(search *s, const set *a, const set *b, scope at, set *out) {
    int i = a->n - 1, j = b->n - 1, n = a->n + b->n, k = n;
    member *v = out->v;
    out->s = (score){0};
    /* from the end, where the groups are that both sets are about: so a difference is found soon */
    while (i >= 0 || j >= 0) {
        const member *x = i >= 0 ? &a->v[i] : NULL, *y = j >= 0 ? &b->v[j] : NULL;
        member m = *(!y || (x && x->group >= y->group) ? x : y);
        if (x && y && x->group == y->group && !(x->supply == y->supply && x->inside == y->inside)) {
            m.supply = tra_supply_union(s, x->supply, y->supply);
            if (m.supply < 0 || !same_inside(x->inside, y->inside)) return false;
        }
        i -= x && x->group == m.group;
        j -= y && y->group == m.group;
        v[--k] = m;
        count_member(s, &m, at, &out->s);
    }
    out->n = n - k;
    if (k > 0) memmove(v, v + k, (size_t)out->n * sizeof *v);
    return true;
}

/* Demands the root of its member among v[n], which is then needed. */
static void demand(search *s, int n, member *v, int *supply, root r) {
    member *m = member_of(n, v, r.group);
    assert(m);
    int *x = &supply[m - v];
    if (!*x) *x = tra_supply_of(s, s->supplies.v[m->supply].m->id);
    if (r.place >= 0) *x = tra_supply_add_demand(s, *x, r.place);
}

/* Demands what member i takes. */
static void demand_inputs(search *s, int n, member *v, int *supply, int i) {
    const implementation *x = s->supplies.v[v[i].supply].m;
    const closed *inside = v[i].inside;
    for (int j = 0; x && j < 2 && x->f->in[j] >= 0; j++)
        if (member_of(n, v, x->f->in[j])) demand(s, n, v, supply, (root){x->f->in[j], x->in[j]});
    for (int j = 0; inside && j < inside->nneeds; j++) demand(s, n, v, supply, inside->needs[j]);
}

void tra_sets_reconcile(search *s, const set *a, const set *b, int nroots, const root *roots, scope at, set *out) {
    int n = 0, m = 0;
    member *v = out->v;
    for (int i = 0, j = 0; i < a->n || j < b->n;) {
        const member *x = i < a->n ? &a->v[i] : NULL, *y = j < b->n ? &b->v[j] : NULL;
        bool both = x && y && x->group == y->group, first = !y || (x && x->group < y->group);
        if (both) first = x->group < 0 || !s->supplies.v[x->supply].m->inlined;
        i += both || (x && first);
        j += both || !first;
        v[n++] = *(first ? x : y);
    }
    int *supply = tra_calloc((size_t)n + 1, sizeof *supply);
    for (int i = 0; i < nroots; i++) demand(s, n, v, supply, roots[i]);
    bool outputs = n > 0 && v[0].group < 0; /* what these need comes first, then consumers before their inputs */
    if (outputs) demand_inputs(s, n, v, supply, 0);
    for (int i = n - 1; i >= outputs; i--)
        if (supply[i]) demand_inputs(s, n, v, supply, i);
    out->s = (score){0};
    for (int i = 0; i < n; i++) {
        if (v[i].group >= 0 && !supply[i]) continue;
        v[m] = v[i];
        v[m++].supply = supply[i];
    }
    free(supply);
    out->n = m;
    out->s = tra_set_score(s, out, at);
}

/* ---- what is chosen for good ------------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b) {
    const root *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                : (x->place > y->place) - (x->place < y->place);
}

int tra_roots_once(int n, root *v) {
    int m = 0;
    if (n) qsort(v, (size_t)n, sizeof *v, by_group);
    for (int i = 0; i < n; i++)
        if (m == 0 || by_group(&v[m - 1], &v[i])) v[m++] = v[i];
    return m;
}

static uint64_t hash_of(const search *s, const member *x) {
    return s->supplies.score[x->supply].open + (x->inside ? x->inside->s.open : 0);
}

closed *tra_close_members(search *s, scope at, int from, int *n, member *v) {
    int m = 0, k = 0, most = 0;
    uint64_t hash = 0;
    for (int i = 0; i < *n; i++) {
        if (is_open(s, at, v[i].group)) continue;
        m++, hash += hash_of(s, &v[i]);
        most += (v[i].group >= 0 ? 2 : 0) + (v[i].inside ? v[i].inside->nneeds : 0);
    }
    if (m == 0 || (m == 1 && v[0].group < 0)) return m ? v[0].inside : NULL;
    for (int j = s->nclosed - 1; j >= from; j--) {
        if (s->closed[j]->s.open != hash || s->closed[j]->n != m) continue;
        for (int i = 0; i < *n; i++)
            if (is_open(s, at, v[i].group)) v[k++] = v[i];
        *n = k;
        return s->closed[j];
    }
    closed *c = tra_new(s->closed_room, closed);
    root *needs = tra_malloc((size_t)(most + 1) * sizeof *needs);
    c->v = tra_news(s->closed_room, member, m);
    for (int i = 0; i < *n; i++) {
        if (is_open(s, at, v[i].group)) {
            v[k++] = v[i];
            continue;
        }
        const implementation *x = s->supplies.v[v[i].supply].m;
        const closed *in = v[i].inside;
        c->v[c->n++] = v[i];
        count_member(s, &v[i], at, &c->s);
        for (int j = 0; x && j < 2 && x->f->in[j] >= 0; j++) needs[c->nneeds++] = (root){x->f->in[j], x->in[j]};
        for (int j = 0; in && j < in->nneeds; j++) needs[c->nneeds++] = in->needs[j];
    }
    c->s.open = hash;
    int outside = 0;
    for (int i = 0; i < c->nneeds; i++)
        if (is_open(s, at, needs[i].group)) needs[outside++] = needs[i];
    c->nneeds = tra_roots_once(outside, needs);
    c->needs = tra_news(s->closed_room, root, c->nneeds);
    if (c->nneeds) memcpy(c->needs, needs, (size_t)c->nneeds * sizeof *needs);
    free(needs);
    *n = k;
    TRA_ROOM(s->closed, s->nclosed, s->capclosed);
    return s->closed[s->nclosed++] = c;
}

void tra_set_spread(const search *s, const set *x, int *out) {
    int n = 0, cap = 0;
    const closed **stack = NULL;
    memset(out, 0, (size_t)s->ngroups * sizeof *out);
    closed whole = {.n = x->n, .v = x->v};
    for (const closed *c = &whole; c; c = n > 0 ? stack[--n] : NULL) {
        for (int i = 0; i < c->n; i++) {
            if (c->v[i].group >= 0) out[c->v[i].group] = c->v[i].supply;
            TRA_ROOM(stack, n, cap);
            if (c->v[i].inside) stack[n++] = c->v[i].inside;
        }
    }
    free(stack);
}
