/* string_set.c - sets of strings: open addressing, strings concatenated. */
#include "string_set.h"

#include "../base/radix.h"
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

static void rehash(tra_string_set *w) {
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

/* ---- the order of strings ---------------------------------------------------------------------------------------- */

enum { FEW = 24, TAKEN = 7 };
typedef struct item {
    uint64_t first; /* the next seven bytes, and how many there are of them and more: up to 8 */
    int64_t i;
} item;

static int64_t length_of(const tra_string_set *w, int64_t i) { return w->begin[i + 1] - w->begin[i]; }

static void sort_few(const tra_string_set *w, item *v, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        item x = v[i];
        const char *s = w->bytes + w->begin[x.i];
        int64_t j = i;
        for (; j > 0; j--) {
            const item *y = &v[j - 1];
            if (tra_bytes_cmp(w->bytes + w->begin[y->i], length_of(w, y->i), s, length_of(w, x.i)) <= 0) break;
            v[j] = *y;
        }
        v[j] = x;
    }
}

/* How many bytes all of these strings begin with, which are at least `n`. */
static int64_t common_bytes(const tra_string_set *w, const item *v, int64_t count, int64_t n) {
    const char *s = w->bytes + w->begin[v[0].i];
    int64_t common = length_of(w, v[0].i);
    for (int64_t i = 1; i < count && common > n; i++) {
        const char *t = w->bytes + w->begin[v[i].i];
        int64_t k = n, most = tra_min64(common, length_of(w, v[i].i));
        while (k < most && s[k] == t[k]) k++;
        common = k;
    }
    return common;
}

/* Sorts strings that begin with the same `at` bytes. */
static void sort_from(const tra_string_set *w, item *v, item *other, int64_t n, int64_t at) {
    if (n <= FEW) {
        sort_few(w, v, n);
        return;
    }
    at = common_bytes(w, v, n, at);
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *s = (const unsigned char *)w->bytes + w->begin[v[i].i] + at;
        int64_t left = length_of(w, v[i].i) - at;
        uint64_t first = 0;
        for (int64_t k = 0; k < TAKEN; k++) first = first << 8 | (k < left ? s[k] : 0);
        v[i].first = first << 8 | (uint64_t)tra_min64(left, TAKEN + 1);
    }
    item *sorted = tra_radix_sort(v, other, n, sizeof *v, offsetof(item, first));
    if (sorted != v) memcpy(v, sorted, (size_t)n * sizeof *v);
    for (int64_t from = 0, end; from < n; from = end) {
        for (end = from + 1; end < n && v[end].first == v[from].first;) end++;
        if (end - from > 1) sort_from(w, v + from, other, end - from, at + TAKEN);
    }
}

int32_t *tra_string_set_order(const tra_string_set *w) {
    item *v = tra_malloc(2 * (size_t)(w->n + 1) * sizeof *v);
    int32_t *order = tra_malloc((size_t)(w->n + 1) * sizeof *order);
    for (int64_t i = 0; i < w->n; i++) v[i].i = i;
    sort_from(w, v, v + w->n, w->n, 0);
    for (int64_t i = 0; i < w->n; i++) order[i] = (int32_t)v[i].i;
    free(v);
    return order;
}
