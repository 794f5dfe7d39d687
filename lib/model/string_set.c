/* string_set.c - sets of strings: open addressing, strings concatenated. */
#include "string_set.h"

#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

uint64_t tra_string_set_hash(const char *s, size_t n) { return XXH3_64bits_withSeed(s, n, tra_hash_seed()); }

static bool is_it(const tra_string_set *w, uint64_t slot, const char *s, size_t n, uint64_t hash) {
    if ((slot ^ hash) >> 32) return false;
    int64_t i = (int64_t)(slot & 0xffffffff) - 1;
    return w->begin[i + 1] - w->begin[i] == (int64_t)n && (n == 0 || memcmp(w->bytes + w->begin[i], s, n) == 0);
}

/* The slot of the string, or the free one where it belongs. */
static int64_t slot_of(const tra_string_set *w, const char *s, size_t n, uint64_t hash) {
    int64_t mask = w->nslots - 1, at = tra_string_set_first(w, hash);
    while (w->slots[at] && !is_it(w, w->slots[at], s, n, hash)) at = (at + 1) & mask;
    return at;
}

void tra_string_set_grow(tra_string_set *w) {
    int64_t before = w->nslots;
    uint64_t *slots = w->slots;
    w->nslots = before ? 2 * before : 8;
    w->slots = tra_calloc((size_t)w->nslots, sizeof *w->slots);
    for (int64_t i = 0; i < before; i++) {
        if (!slots[i]) continue;
        int64_t at = tra_string_set_first(w, slots[i]);
        while (w->slots[at]) at = (at + 1) & (w->nslots - 1);
        w->slots[at] = slots[i];
    }
    free(slots);
}

int64_t tra_string_set_find(const tra_string_set *w, const char *s, size_t n, uint64_t hash) {
    if (!w->nslots) return -1;
    return (int64_t)(w->slots[slot_of(w, s, n, hash)] & 0xffffffff) - 1;
}

int64_t tra_string_set_push(tra_string_set *w, const char *s, size_t n) {
    if (w->n + 1 >= w->cap) {
        w->cap = tra_max64(4, 2 * w->cap);
        w->begin = tra_realloc(w->begin, (size_t)w->cap, sizeof *w->begin);
        if (w->n == 0) w->begin[0] = 0;
    }
    int64_t from = w->begin[w->n], end = from + (int64_t)n;
    if (end > w->bytes_cap) {
        w->bytes_cap = tra_max64(end, tra_max64(16, 2 * w->bytes_cap));
        w->bytes = tra_realloc(w->bytes, (size_t)w->bytes_cap, 1);
    }
    if (n) memcpy(w->bytes + from, s, n);
    w->begin[w->n + 1] = end;
    return w->n++;
}

int64_t tra_string_set_add(tra_string_set *w, const char *s, size_t n, uint64_t hash, bool *fresh) {
    if (2 * (w->n + 1) > w->nslots) tra_string_set_grow(w);
    int64_t at = slot_of(w, s, n, hash);
    *fresh = w->slots[at] == 0;
    if (!*fresh) return (int64_t)(w->slots[at] & 0xffffffff) - 1;
    w->slots[at] = (hash & UINT64_C(0xffffffff00000000)) | (uint64_t)(w->n + 1);
    return tra_string_set_push(w, s, n);
}

void tra_string_set_clear(tra_string_set *w) {
    w->n = 0;
    if (w->begin) w->begin[0] = 0;
    if (w->slots) memset(w->slots, 0, (size_t)w->nslots * sizeof *w->slots);
}

void tra_string_set_free(tra_string_set *w) {
    free(w->begin);
    free(w->bytes);
    free(w->slots);
    *w = (tra_string_set){0};
}

int64_t tra_string_set_bytes(const tra_string_set *w) {
    return w->cap * (int64_t)sizeof *w->begin + w->bytes_cap + w->nslots * (int64_t)sizeof *w->slots;
}
