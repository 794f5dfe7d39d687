/* prune.c - which of many candidates for a set of supplies stay: those that no cheaper one replaces, up to a number. */
#include "search_int.h"

#include <stdlib.h>

/* Ties as plans are ranked, and nothing of the machine: by floats the plan must not depend on threads or rates. */
static int compare_scores(const search *s, const score *x, const score *y) {
    bool a = x->memory <= s->limits.room, b = y->memory <= s->limits.room;
    if (a != b) return a ? -1 : 1;
    if ((s->limits.by_memory || !a) && x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    if (x->scalar != y->scalar) return x->scalar < y->scalar ? -1 : 1;
    if (x->flops != y->flops) return x->flops < y->flops ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return 0;
}

static int by_score(const void *a, const void *b, void *s) {
    const candidate *x = a, *y = b;
    int c = compare_scores(s, &x->s, &y->s);
    return c ? c : x->seq - y->seq;
}

/* Numbers of candidates, which are sorted by score. */
static int by_tier(const void *a, const void *b, void *of) {
    const candidate *v = of, *x = &v[*(const int *)a], *y = &v[*(const int *)b];
    if (x->tier != y->tier) return x->tier - y->tier;
    return x->rank != y->rank ? x->rank - y->rank : (int)(x - y);
}

/* Chains of candidates that are alike: a hash table from what they have in common to the latest of a chain. */
typedef struct chains {
    uint64_t mask, *key;
    int *last; /* one more than the candidate */
    int *prev; /* by candidate: the one before it in its chain; -1: none */
} chains;

static chains new_chains(int n) {
    chains c = {.mask = 63};
    while (c.mask < 3 * (uint64_t)n) c.mask = 2 * c.mask + 1;
    c.key = tra_calloc((size_t)c.mask + 1, sizeof *c.key);
    c.last = tra_calloc((size_t)c.mask + 1, sizeof *c.last);
    c.prev = tra_calloc((size_t)n + 1, sizeof *c.prev);
    return c;
}

static void free_chains(chains *c) {
    free(c->key);
    free(c->last);
    free(c->prev);
}

static int *chain(const chains *c, uint64_t key) {
    key += key == 0;
    for (uint64_t at = key;; at++) {
        uint64_t *k = &c->key[at & c->mask];
        if (*k && *k != key) continue;
        *k = key;
        return &c->last[at & c->mask];
    }
}

/* Would x cost no more than y if an exchange brought its relation to where y has it? Both are of one group, and their
 * supplies are the same wherever other groups use them. */
static bool replaces(search *s, const candidate *x, const candidate *y) {
    if (x->place == y->place) return true;
    if (y->place == ANY || s->places.v[y->place].owner) return false; /* nothing is brought to such a placement */
    int supply = tra_supply_add_demand(s, x->supply, y->place);
    const score *a = &s->supplies.score[x->supply], *b = &s->supplies.score[supply];
    score t = x->s;
    t.scalar += b->scalar - a->scalar;
    t.bytes += b->bytes - a->bytes;
    t.memory = tra_max64(t.memory, b->memory);
    return compare_scores(s, &t, &y->s) <= 0;
}

static bool is_replaced(search *s, const chains *c, const candidate *v, int i, uint64_t key) {
    int *here = chain(c, (key + (uint64_t)v[i].place + 2) * UINT64_C(0x9e3779b97f4a7c15)), *last;
    if (*here) return true; /* one at the same place is in the chain */
    last = chain(c, key);
    for (int j = *last - 1; j >= 0; j = c->prev[j]) {
        if (replaces(s, &v[j], &v[i])) return true;
    }
    c->prev[i] = *last - 1;
    *last = *here = i + 1;
    return false;
}

/* Keeps `most` candidates: up to half of them from the first tier, the cheapest of each placement in turn, then the
 * second cheapest of each, and so on; then the cheapest of each strategy; then others of the first tier, and of the
 * second. */
static void keep_most(search *s, candidates *x, int most) {
    chains c = new_chains(x->n);
    int kept = 0;
    for (int i = 0; i < x->n; i++) { /* they are sorted by score */
        int *last = chain(&c, x->v[i].s.strategy);
        x->v[i].first = *last == 0;
        *last = 1;
    }
    free_chains(&c);
    int *order = tra_malloc((size_t)x->n * sizeof *order), n = 0;
    for (int i = 0; i < x->n; i++) order[i] = i;
    qsort_r(order, (size_t)x->n, sizeof *order, by_tier, x->v);
    for (int i = 0; i < x->n; i++) {
        candidate *y = &x->v[order[i]];
        y->kept = y->tier == 0 && kept < most / 2 && ++kept;
    }
    for (int i = 0; i < x->n; i++) x->v[i].kept = x->v[i].kept || (x->v[i].first && kept < most && ++kept);
    for (int i = 0; i < x->n; i++) {
        candidate *y = &x->v[order[i]];
        y->kept = y->kept || (kept < most && ++kept);
        s->limits.bounded |= !y->kept && y->tier == 0;
    }
    for (int i = 0; i < x->n; i++) {
        if (x->v[i].kept) x->v[n++] = x->v[i];
    }
    x->n = n;
    free(order);
}

void tra_search_prune(search *s, candidates *x, int most) {
    chains c = new_chains(x->n), other = new_chains(x->n);
    int n = 0, m = x->n;
    if (x->n > 0) qsort_r(x->v, (size_t)x->n, sizeof *x->v, by_score, s);
    for (int i = 0; i < x->n; i++) x->v[i].tier = 2;
    for (int i = 0; i < x->n; i++) {
        candidate *y = &x->v[i];
        bool alike = is_replaced(s, &other, x->v, i, y->s.open + y->s.strategy * 31);
        if (!is_replaced(s, &c, x->v, i, y->s.open))
            y->tier = 0;
        else if (!alike)
            y->tier = 1;
    }
    /* sorted by pointers */
    enum { CHAIN = sizeof *c.key + sizeof *c.last, EACH = 2 * sizeof *c.prev + 2 * sizeof(void *) };
    int64_t mine = x->cap * (int64_t)sizeof(candidate) + m * EACH + 2 * ((int64_t)c.mask + 1) * CHAIN;
    s->bytes.most = tra_max64(s->bytes.most, tra_search_bytes(s) + s->bytes.pending + mine);
    free_chains(&c);
    free_chains(&other);
    chains ranks = new_chains(x->n);
    for (int i = 0; i < x->n; i++) {
        candidate *y = &x->v[i];
        if (y->tier == 2) continue;
        y->rank = (*chain(&ranks, 2 * (uint64_t)(y->place + 2) + (uint64_t)y->tier))++;
        x->v[n++] = *y;
    }
    x->n = n;
    free_chains(&ranks);
    if (n > most) keep_most(s, x, most);
}
