/* string_sort.c - strings in any order, some of them several times: their order, and the dictionary of them.
 *
 * A sample of the strings cuts their order in parts of about as many each, which threads sort. Strings are mostly made
 * of those of a sorted dictionary. So they often come in their order already, or equal ones beside each other: that is
 * looked at first. Where few differ, a set of those so far finds the others; where most differ, sorting all costs less.
 */
#include "../base/radix.h"
#include "../base/parallel.h"
#include "columns.h"
#include "string_set.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 24, TAKEN = 7, PARTS = TRA_PIECES, SAMPLE = 16 * PARTS, PARTS_FROM = 1 << 15, DIFFER_SAMPLE = 1 << 13 };
#define LOW UINT64_C(0xffffffff)

typedef struct item {
    uint64_t first; /* the next seven bytes, and how many there are of them and more: up to 8 */
    int64_t i;
} item;
typedef struct strings {
    int64_t n;
    const int64_t *begin;
    const char *bytes;
} strings;

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

static int64_t length_of(const strings *w, int64_t i) { return w->begin[i + 1] - w->begin[i]; }

static int compare(const strings *w, int64_t i, int64_t k) {
    return tra_bytes_cmp(w->bytes + w->begin[i], length_of(w, i), w->bytes + w->begin[k], length_of(w, k));
}

static void sort_few(const strings *w, item *v, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        item x = v[i];
        int64_t j = i;
        for (; j > 0 && compare(w, v[j - 1].i, x.i) > 0; j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

/* How many bytes all of these strings begin with, which are at least `n`. */
static int64_t common_bytes(const strings *w, const item *v, int64_t count, int64_t n) {
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
static void sort_from(const strings *w, item *v, item *other, int64_t n, int64_t at) {
    if (n <= FEW) {
        sort_few(w, v, n);
        return;
    }
    at = common_bytes(w, v, n, at);
    bool longer = false;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *s = (const unsigned char *)w->bytes + w->begin[v[i].i] + at;
        int64_t left = length_of(w, v[i].i) - at;
        uint64_t first = 0;
        for (int64_t k = 0; k < TAKEN; k++) first = first << 8 | (k < left ? s[k] : 0);
        longer |= left > TAKEN;
        v[i].first = first << 8 | (uint64_t)tra_min64(left, TAKEN + 1);
    }
    item *sorted = tra_radix_sort(v, other, n, sizeof *v, offsetof(item, first));
    if (sorted != v) memcpy(v, sorted, (size_t)n * sizeof *v);
    for (int64_t from = 0, end; longer && from < n; from = end) {
        for (end = from + 1; end < n && v[end].first == v[from].first;) end++;
        if (end - from > 1 && (v[from].first & 0xff) > TAKEN)
            sort_from(w, v + from, other + from, end - from, at + TAKEN);
    }
}

/* Items that are sorted in parts. */
typedef struct sorting {
    const strings *w;
    item *v, *other; /* the result is in other */
    uint8_t *part;   /* of each item */
    int64_t n, count[PARTS][PARTS], begin[PARTS + 1];
    int64_t cut[PARTS - 1]; /* strings: part k has those that are at least cut k - 1, and less than cut k */
} sorting;

static void find_parts(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->n, PARTS, p); i < tra_piece_begin(x->n, PARTS, p + 1); i++) {
        int64_t part = 0;
        TRA_BISECT(part, PARTS - 1, mid, compare(x->w, x->cut[mid], x->v[i].i) <= 0);
        x->part[i] = (uint8_t)part;
        x->count[p][part]++;
    }
}

static void place_items(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->n, PARTS, p); i < tra_piece_begin(x->n, PARTS, p + 1); i++)
        x->other[x->count[p][x->part[i]]++] = x->v[i];
}

static void sort_part(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    int64_t from = x->begin[p], n = x->begin[p + 1] - from;
    (void)scratch;
    sort_from(x->w, x->other + from, x->v + from, n, 0);
}

/* Sorts n items, in v or in other, which is returned; begin: where the PARTS parts begin, equal strings in one. */
static item *sort_items(const strings *w, item *v, item *other, int64_t n, int64_t begin[PARTS + 1]) {
    sorting x = {.w = w, .v = v, .other = other, .n = n};
    for (int p = 0; p <= PARTS; p++) begin[p] = p == 0 ? 0 : n;
    if (n < PARTS_FROM) {
        if (n > 0) sort_from(w, v, other, n, 0);
        return v;
    }
    item sample[SAMPLE], more[SAMPLE];
    for (int k = 0; k < SAMPLE; k++) sample[k].i = v[n / SAMPLE * k + n / SAMPLE / 2].i;
    sort_from(w, sample, more, SAMPLE, 0);
    for (int p = 1; p < PARTS; p++) x.cut[p - 1] = sample[p * (SAMPLE / PARTS)].i;
    x.part = tra_malloc((size_t)n);
    tra_parallel(PARTS, find_parts, &x, NULL);
    int64_t at = 0;
    for (int part = 0; part < PARTS; part++) {
        x.begin[part] = at;
        for (int p = 0; p < PARTS; p++) {
            int64_t here = x.count[p][part];
            x.count[p][part] = at;
            at += here;
        }
    }
    x.begin[PARTS] = n;
    tra_parallel(PARTS, place_items, &x, NULL);
    tra_parallel(PARTS, sort_part, &x, NULL);
    free(x.part);
    memcpy(begin, x.begin, sizeof x.begin);
    return other;
}

int32_t *tra_strings_order(int64_t n, const int64_t *begin, const char *bytes) {
    strings w = {n, begin, bytes};
    int64_t parts[PARTS + 1];
    item *v = tra_malloc(2 * (size_t)(n + 1) * sizeof *v);
    tra_expect_filled(v, 2 * (size_t)n * sizeof *v);
    int32_t *order = tra_malloc((size_t)(n + 1) * sizeof *order);
    for (int64_t i = 0; i < n; i++) v[i].i = i;
    const item *sorted = sort_items(&w, v, v + n, n, parts);
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)sorted[i].i;
    free(v);
    return order;
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

/* A dictionary of strings in their order, of which equal ones stand beside each other. */
typedef struct joining {
    const strings *w;
    const item *v; /* NULL: the strings as they come */
    int32_t *code;
    int64_t part[PARTS + 1]; /* where parts begin: a string has all that are equal in one */
    int64_t fresh[PARTS], bytes[PARTS], longest[PARTS];
    int64_t *begin;
    char *to;
} joining;

static int64_t number_of(const joining *x, int64_t k) { return x->v ? x->v[k].i : k; }

static bool is_fresh(const joining *x, int64_t k) {
    if (k == 0) return true;
    int64_t i = number_of(x, k - 1), j = number_of(x, k), n = length_of(x->w, i);
    return n != length_of(x->w, j) ||
           memcmp(x->w->bytes + x->w->begin[i], x->w->bytes + x->w->begin[j], (size_t)n) != 0;
}

/* Codes from 0 on in each part. */
static void count_part(void *ctx, int p, void *scratch) {
    joining *x = ctx;
    int64_t n = 0, bytes = 0, longest = 0;
    (void)scratch;
    for (int64_t k = x->part[p]; k < x->part[p + 1]; k++) {
        int64_t i = number_of(x, k);
        if (k == x->part[p] || is_fresh(x, k)) {
            n++;
            bytes += length_of(x->w, i);
            longest = tra_max64(longest, length_of(x->w, i));
        }
        x->code[i] = (int32_t)(n - 1);
    }
    x->fresh[p] = n;
    x->bytes[p] = bytes;
    x->longest[p] = longest;
}

static void fill_part(void *ctx, int p, void *scratch) {
    joining *x = ctx;
    int64_t base = 0, at = 0, last = -1;
    (void)scratch;
    for (int q = 0; q < p; q++) base += x->fresh[q], at += x->bytes[q];
    for (int64_t k = x->part[p]; k < x->part[p + 1]; k++) {
        int64_t i = number_of(x, k), len = length_of(x->w, i);
        int32_t code = x->code[i];
        x->code[i] = (int32_t)(base + code);
        if (code == last) continue;
        last = code;
        if (len > 0) memcpy(x->to + at, x->w->bytes + x->w->begin[i], (size_t)len);
        at += len;
        x->begin[base + code + 1] = at;
    }
}

static const tra_dictionary *join_parts(tra_arena *a, joining *x) {
    tra_dictionary *d = tra_new(a, tra_dictionary);
    int64_t n = 0, bytes = 0, longest = 0;
    tra_parallel(PARTS, count_part, x, NULL);
    for (int p = 0; p < PARTS; p++) n += x->fresh[p], bytes += x->bytes[p], longest = tra_max64(longest, x->longest[p]);
    x->begin = tra_news(a, int64_t, n + 1);
    x->to = tra_arena_alloc(a, (size_t)bytes);
    tra_expect_filled(x->begin, 8 * (size_t)n);
    tra_expect_filled(x->to, (size_t)bytes);
    tra_parallel(PARTS, fill_part, x, NULL);
    *d = (tra_dictionary){.n = n, .begin = x->begin, .bytes = x->to, .sorted = true, .longest = longest};
    return d;
}

/* Do most of the strings differ, by a sample of m of them? If each of n strings stood there twice, the sample would be
 * expected to have m * m / (2 * n) of them twice. Up to twice as many count as few. */
static bool most_differ(const strings *w) {
    tra_string_set set = {0};
    uint64_t at = 0;
    int64_t twice = 0;
    bool fresh;
    for (int64_t k = 0; k < DIFFER_SAMPLE; k++) {
        at = at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t i = w->n / DIFFER_SAMPLE * k + (int64_t)((at >> 33) % (uint64_t)(w->n / DIFFER_SAMPLE));
        const char *s = w->bytes + w->begin[i];
        size_t n = (size_t)length_of(w, i);
        (void)tra_string_set_add(&set, s, n, tra_string_set_hash(s, n), &fresh);
        twice += !fresh;
    }
    tra_string_set_free(&set);
    return twice * w->n <= (int64_t)DIFFER_SAMPLE * DIFFER_SAMPLE;
}

/* Numbers strings, equal ones alike. The first bits of their hashes divide them into parts. Each part has a table of
 * its own, so that threads fill several at the same time. */
typedef struct numbering {
    const strings *w;
    int parts;
    uint32_t *hash;                                /* of each string: the high half */
    uint64_t *item;                                /* of each part: hash and number of its strings, in their order */
    int64_t count[PARTS][PARTS], begin[PARTS + 1]; /* of a piece of the strings, in a part: where the next one goes */
    int64_t fresh[PARTS];                          /* different strings of a part */
    int32_t *code, *first; /* their numbers in the part; first: at begin, where each one stands */
    const int32_t *final;  /* the codes of strings that are different */
} numbering;

static int part_of(const numbering *x, int64_t i) { return (int)((uint64_t)x->hash[i] * (uint64_t)x->parts >> 32); }

static bool are_equal(const strings *w, int64_t i, int64_t k) {
    int64_t n = length_of(w, i);
    return n == length_of(w, k) && memcmp(w->bytes + w->begin[i], w->bytes + w->begin[k], (size_t)n) == 0;
}

/* A string that equals the one before it, in its piece, has code -1 at first, and is in no part. */
static void hash_piece(void *ctx, int p, void *scratch) {
    numbering *x = ctx;
    const strings *w = x->w;
    int64_t from = tra_piece_begin(w->n, x->parts, p);
    (void)scratch;
    for (int64_t i = from; i < tra_piece_begin(w->n, x->parts, p + 1); i++) {
        x->code[i] = i > from && are_equal(w, i - 1, i) ? -1 : 0;
        if (x->code[i] < 0) continue;
        x->hash[i] = (uint32_t)(tra_string_set_hash(w->bytes + w->begin[i], (size_t)length_of(w, i)) >> 32);
        x->count[p][part_of(x, i)]++;
    }
}

static void share_piece(void *ctx, int p, void *scratch) {
    numbering *x = ctx;
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->w->n, x->parts, p); i < tra_piece_begin(x->w->n, x->parts, p + 1); i++)
        if (x->code[i] >= 0) x->item[x->count[p][part_of(x, i)]++] = (uint64_t)x->hash[i] << 32 | (uint64_t)i;
}

/* The string that the item is perhaps equal to, or -1. */
static int64_t candidate(const tra_string_set *t, const int32_t *first, uint64_t item) {
    uint64_t slot = t->slots[tra_string_set_first(t, item)];
    return slot && (slot ^ item) >> 32 == 0 ? first[(slot & LOW) - 1] : -1;
}

/* Prefetches what later items will read: their slots, then where the strings begin, then their bytes. */
static void prefetch(const strings *w, const tra_string_set *t, const int32_t *first, const uint64_t *item,
                     int64_t left) {
    enum { AHEAD = TRA_STRINGS_AHEAD };
    int64_t k;
    if (left > 3 * AHEAD) tra_string_set_expect(t, item[3 * AHEAD]);
    if (left > 2 * AHEAD) {
        __builtin_prefetch(w->begin + (item[2 * AHEAD] & LOW));
        if ((k = candidate(t, first, item[2 * AHEAD])) >= 0) __builtin_prefetch(w->begin + k);
    }
    if (left > AHEAD && (k = candidate(t, first, item[AHEAD])) >= 0) {
        __builtin_prefetch(w->bytes + w->begin[k]);
        __builtin_prefetch(w->bytes + w->begin[item[AHEAD] & LOW]);
    }
}

/* A slot has the high half of the hash, and in the low half the number + 1 of a string in the part. */
static void number_part(void *ctx, int p, void *scratch) {
    numbering *x = ctx;
    const strings *w = x->w;
    const uint64_t *item = x->item + x->begin[p];
    int32_t *first = x->first + x->begin[p];
    int64_t n = x->begin[p + 1] - x->begin[p];
    tra_string_set t = {0}; /* of which only the slots are used: the strings are there already */
    (void)scratch;
    tra_string_set_grow(&t);
    for (int64_t k = 0; k < n; k++) {
        if (2 * (x->fresh[p] + 1) > t.nslots) tra_string_set_grow(&t);
        prefetch(w, &t, first, item + k, n - k);
        int64_t i = (int64_t)(item[k] & LOW), at = tra_string_set_first(&t, item[k]);
        for (uint64_t slot; (slot = t.slots[at]) != 0; at = (at + 1) & (t.nslots - 1))
            if ((slot ^ item[k]) >> 32 == 0 && are_equal(w, i, first[(slot & LOW) - 1])) break;
        if (!t.slots[at]) {
            first[x->fresh[p]++] = (int32_t)i;
            t.slots[at] = (item[k] & ~LOW) | (uint64_t)x->fresh[p];
        }
        x->code[i] = (int32_t)(t.slots[at] & LOW) - 1;
    }
    tra_string_set_free(&t);
}

/* Numbers the strings. Returns how many different ones there are, and where they stand: from first[0] on. */
static int64_t number_strings(numbering *x) {
    const strings *w = x->w;
    int64_t at = 0;
    x->parts = w->n < PARTS_FROM ? 1 : PARTS;
    x->hash = tra_malloc((size_t)w->n * sizeof *x->hash);
    x->item = tra_malloc((size_t)w->n * sizeof *x->item);
    x->first = tra_malloc((size_t)w->n * sizeof *x->first);
    tra_parallel(x->parts, hash_piece, x, NULL);
    for (int part = 0; part < x->parts; part++) {
        x->begin[part] = at;
        for (int p = 0; p < x->parts; p++) {
            int64_t here = x->count[p][part];
            x->count[p][part] = at;
            at += here;
        }
    }
    x->begin[x->parts] = at;
    tra_parallel(x->parts, share_piece, x, NULL);
    tra_parallel(x->parts, number_part, x, NULL);
    int64_t n = 0;
    for (int p = 0; p < x->parts; p++) {
        memmove(x->first + n, x->first + x->begin[p], (size_t)x->fresh[p] * sizeof *x->first);
        int64_t here = x->fresh[p];
        x->fresh[p] = n; /* how many stand before those of the part */
        n += here;
    }
    free(x->item);
    return n;
}

static void put_final(void *ctx, int p, void *scratch) {
    const numbering *x = ctx;
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->w->n, x->parts, p); i < tra_piece_begin(x->w->n, x->parts, p + 1); i++)
        x->code[i] = x->code[i] < 0 ? x->code[i - 1] : x->final[x->first[x->fresh[part_of(x, i)] + x->code[i]]];
}

const tra_dictionary *tra_strings_distinct(tra_arena *a, int64_t n, const int64_t *begin, const char *bytes,
                                           int32_t *code) {
    strings w = {n, begin, bytes};
    joining x = {.w = &w, .code = code};
    int64_t up = 1, items = n;
    numbering few = {.w = &w, .code = code};
    while (up < n && compare(&w, up - 1, up) <= 0) up++;
    if (up >= n) {
        for (int p = 1; p <= PARTS; p++) {
            x.part[p] = tra_max64(x.part[p - 1], tra_piece_begin(n, PARTS, p));
            while (x.part[p] < n && !is_fresh(&x, x.part[p])) x.part[p]++;
        }
        return join_parts(a, &x);
    }
    bool numbered = n < PARTS_FROM || !most_differ(&w);
    if (numbered) items = number_strings(&few);
    item *v = tra_malloc(2 * (size_t)(items + 1) * sizeof *v);
    tra_expect_filled(v, 2 * (size_t)items * sizeof *v);
    for (int64_t k = 0; k < items; k++) v[k].i = numbered ? few.first[k] : k;
    x.v = sort_items(&w, v, v + items, items, x.part);
    if (numbered) x.code = tra_malloc((size_t)n * sizeof *code);
    const tra_dictionary *d = join_parts(a, &x);
    if (numbered) {
        few.final = x.code;
        tra_parallel(few.parts, put_final, &few, NULL);
        free(x.code);
    }
    free(few.first);
    free(few.hash);
    free(v);
    return d;
}
