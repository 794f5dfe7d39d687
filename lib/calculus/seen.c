/* seen.c - the keys that @unique has seen. */
#include "eval.h"
#include "../base/mix.h"

#include <stdlib.h>
#include <string.h>

void calc_seen_free(calc_seen *s) {
    while (s) {
        calc_seen *next = s->next;
        free(s->key);
        free(s->slot);
        free(s);
        s = next;
    }
}

static uint64_t hash_keys(const int64_t *key, int n) {
    uint64_t h = tra_hash_seed();
    for (int i = 0; i < n; i++) h = tra_mix(h ^ (uint64_t)key[i]);
    return h;
}

static uint64_t seen_slot(const calc_seen *s, const int64_t *key) {
    uint64_t mask = (uint64_t)s->nslots - 1, at = hash_keys(key, s->nkeys) & mask;
    while (s->slot[at] && memcmp(s->key + (s->slot[at] - 1) * s->nkeys, key, (size_t)s->nkeys * sizeof *key) != 0)
        at = (at + 1) & mask;
    return at;
}

/* Notes the key; false where it was there. */
bool calc_seen_add(calc_seen *s, const int64_t *key) {
    if (2 * s->n >= s->nslots) {
        free(s->slot);
        s->nslots = s->nslots ? 2 * s->nslots : 16;
        s->slot = tra_calloc((size_t)s->nslots, sizeof *s->slot);
        for (int64_t i = 0; i < s->n; i++) s->slot[seen_slot(s, s->key + i * s->nkeys)] = i + 1;
    }
    uint64_t at = seen_slot(s, key);
    if (s->slot[at]) return false;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 8;
        s->key = tra_realloc(s->key, (size_t)s->cap * (size_t)s->nkeys, sizeof *s->key);
    }
    memcpy(s->key + s->n * s->nkeys, key, (size_t)s->nkeys * sizeof *key);
    s->slot[at] = ++s->n;
    return true;
}
