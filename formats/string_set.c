/* string_set.c - sets of strings: open addressing, strings concatenated. */
#include "string_set.h"

#include "../lib/model/columns.h"

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
    int64_t mask = w->nslots - 1, at = (int64_t)(hash & (uint64_t)mask);
    while (w->slots[at] && !is_it(w, w->slots[at], s, n, hash)) at = (at + 1) & mask;
    return at;
}

static void rehash(tra_string_set *w) {
    int64_t n = w->nslots ? 2 * w->nslots : 8;
    free(w->slots);
    w->slots = tra_calloc((size_t)n, sizeof *w->slots);
    w->nslots = n;
    for (int64_t i = 0; i < w->n; i++) {
        const char *s = w->bytes + w->begin[i];
        uint64_t hash = tra_string_set_hash(s, (size_t)(w->begin[i + 1] - w->begin[i]));
        int64_t at = (int64_t)(hash & (uint64_t)(n - 1));
        while (w->slots[at]) at = (at + 1) & (n - 1);
        w->slots[at] = (hash & UINT64_C(0xffffffff00000000)) | (uint64_t)(i + 1);
    }
}

int64_t tra_string_set_find(const tra_string_set *w, const char *s, size_t n, uint64_t hash) {
    if (!w->nslots) return -1;
    return (int64_t)(w->slots[slot_of(w, s, n, hash)] & 0xffffffff) - 1;
}

int64_t tra_string_set_add(tra_string_set *w, const char *s, size_t n, uint64_t hash, bool *fresh) {
    if (2 * (w->n + 1) > w->nslots) rehash(w);
    int64_t at = slot_of(w, s, n, hash);
    *fresh = w->slots[at] == 0;
    if (!*fresh) return (int64_t)(w->slots[at] & 0xffffffff) - 1;
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
    w->slots[at] = (hash & UINT64_C(0xffffffff00000000)) | (uint64_t)(w->n + 1);
    return w->n++;
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

typedef struct item {
    uint64_t first; /* the first eight bytes in which strings may differ, as a number of their order */
    int32_t i;
} item;

static int by_bytes(const void *a, const void *b, void *ctx) {
    const item *x = a, *y = b;
    const tra_string_set *w = ctx;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return tra_bytes_cmp(w->bytes + w->begin[x->i], w->begin[x->i + 1] - w->begin[x->i], w->bytes + w->begin[y->i],
                         w->begin[y->i + 1] - w->begin[y->i]);
}

/* How many bytes all strings begin with. */
static int64_t common_bytes(const tra_string_set *w) {
    int64_t n = w->n ? w->begin[1] : 0;
    for (int64_t i = 1; i < w->n && n > 0; i++) {
        const char *s = w->bytes + w->begin[i];
        int64_t k = 0, most = tra_min64(n, w->begin[i + 1] - w->begin[i]);
        while (k < most && s[k] == w->bytes[k]) k++;
        n = k;
    }
    return n;
}

int32_t *tra_string_set_order(const tra_string_set *w) {
    int64_t common = common_bytes(w);
    item *v = tra_malloc((size_t)(w->n + 1) * sizeof *v);
    int32_t *order = tra_malloc((size_t)(w->n + 1) * sizeof *order);
    for (int64_t i = 0; i < w->n; i++) {
        const unsigned char *s = (const unsigned char *)w->bytes + w->begin[i] + common;
        int64_t len = w->begin[i + 1] - w->begin[i] - common;
        v[i] = (item){.i = (int32_t)i};
        for (int64_t k = 0; k < 8; k++) v[i].first = v[i].first << 8 | (k < len ? s[k] : 0);
    }
    qsort_r(v, (size_t)w->n, sizeof *v, by_bytes, (void *)w);
    for (int64_t i = 0; i < w->n; i++) order[i] = v[i].i;
    free(v);
    return order;
}
