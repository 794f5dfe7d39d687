/* join_index.c - the index of a join's right table by key: a table, a hash table, or the keys in order. */
#include "join_int.h"

#include <stdlib.h>
#include <string.h>

#include "../kernel/kernel.h"

enum { STRIP = TRA_COLSTRIP };

/* Keys that lie so close together, for so many rows, are their own slots. */
static int64_t direct_slots(int64_t rows) { return 4 * rows + (1 << 16); }

static int64_t hash_slots(int64_t rows) {
    int64_t n = 16;
    while (n < 2 * rows) n *= 2;
    return n;
}

/* Bits for values that lie within so many, or for hashes: a power of 2. */
static int64_t most_bits(int64_t rows) { return 64 * rows + (1 << 16); }
static int64_t hash_bits(int64_t rows) { return 8 * hash_slots(rows); }

static int64_t most_slots(int64_t rows) { return tra_max64(direct_slots(rows), hash_slots(rows)); }

int64_t tra_finder_bytes(const tra_lookup *l, int64_t rows) {
    if (l->s.nkeys == 0) return 64 + tra_round64(4 * rows);
    return tra_round64(rows * tra_keys_words(l->s.nkeys) * 8) + tra_round64(4 * (most_slots(rows) + 1)) +
           tra_round64(4 * hash_slots(rows)) + 2 * tra_round64(4 * rows) + tra_round64(most_bits(rows) / 8 + 8);
}

static bool can_match(const tra_lookup *l, const uint64_t *words) {
    uint64_t nulls = 0;
    for (int i = 0; i < tra_keys_null_words(l->s.nkeys); i++) nulls |= words[i];
    return l->s.nulls_match || nulls == 0;
}

bool tra_finder_is_whole(const tra_lookup *l) {
    return l->s.nkeys == 1 && !l->s.nulls_match && !tra_coltype_is_float(l->right.x[0]->type);
}

/* The range of keys that are whole numbers: how far the greatest lies above the least; -1: there are none. */
static int64_t range_of(const tra_lookup *l, const tra_finder *x, int64_t rows, int64_t *least) {
    int64_t most = INT64_MIN;
    *least = INT64_MAX;
    for (int64_t r = 0; r < rows; r++) {
        const uint64_t *w = x->word + r * x->words;
        if (!can_match(l, w)) continue;
        *least = tra_min64(*least, (int64_t)w[1]);
        most = tra_max64(most, (int64_t)w[1]);
    }
    if (*least > most) return -1;
    uint64_t range = (uint64_t)most - (uint64_t)*least;
    return range < INT64_MAX ? (int64_t)range : INT64_MAX - 1;
}

static int compare_key(const tra_finder *x, int32_t row, const uint64_t *words) {
    return memcmp(x->word + (int64_t)row * x->words, words, (size_t)x->words * 8);
}

/* The bit of a key; -1: the key lies outside. */
static int64_t bit_of(const tra_finder *x, const uint64_t *words, uint64_t hash) {
    if (!x->close) return (int64_t)(hash >> 32 & (uint64_t)(x->nbits - 1));
    uint64_t b = words[1] - (uint64_t)x->least;
    return b < (uint64_t)x->nbits ? (int64_t)b : -1;
}

static bool has_bit(const tra_finder *x, int64_t b) { return b >= 0 && (x->bit[b / 64] >> (b % 64) & 1); }

/* The slot of a key: where it is, or would be (then head is -1). */
static int64_t hashed(tra_finder *x, const uint64_t *words, uint64_t hash) {
    int64_t mask = x->nslots - 1, first = (int64_t)(hash & (uint64_t)mask), s = first;
    while (x->head[s] >= 0 && compare_key(x, x->head[s], words) != 0) s = (s + 1) & mask;
    x->probes += (s - first) & mask;
    return s;
}

/* The slot of a key among those in order, or -1. */
static int64_t bisected(const tra_finder *x, const uint64_t *words) {
    int64_t lo = 0;
    TRA_BISECT(lo, x->nslots, mid, compare_key(x, x->head[mid], words) < 0);
    return lo < x->nslots && compare_key(x, x->head[lo], words) == 0 ? lo : -1;
}

int64_t tra_finder_find(const tra_lookup *l, tra_finder *x, const uint64_t *words) {
    if (x->nkeys == 0) return 0;
    if (!can_match(l, words)) return -1;
    if (x->exists) return has_bit(x, bit_of(x, words, 0)) ? 0 : -1;
    if (x->sorted) return bisected(x, words);
    if (x->direct) {
        uint64_t s = words[1] - (uint64_t)x->least;
        return s < (uint64_t)x->nslots ? (int64_t)s : -1;
    }
    if (x->close && !has_bit(x, bit_of(x, words, 0))) return -1;
    uint64_t hash = tra_keys_hash(words, x->nkeys);
    if (!x->close && !has_bit(x, bit_of(x, words, hash))) return -1;
    int64_t s = hashed(x, words, hash);
    return x->head[s] < 0 ? -1 : s;
}

/* Sets the bits of all keys. */
static void set_bits(const tra_lookup *l, tra_finder *x, int64_t rows) {
    memset(x->bit, 0, (size_t)(x->nbits / 8 + 8));
    for (int64_t r = 0; r < rows; r++) {
        const uint64_t *w = x->word + r * x->words;
        if (!can_match(l, w)) continue;
        int64_t b = bit_of(x, w, x->close ? 0 : tra_keys_hash(w, x->nkeys));
        x->bit[b / 64] |= UINT64_C(1) << b % 64;
    }
}

/* Do so many probes meet other keys that this is no chance? Then the keys were made to collide. */
static bool too_many_probes(const tra_finder *x, int64_t rows) { return x->probes > 64 * (rows + 1024); }

static int by_key(const void *a, const void *b, void *ctx) {
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    const tra_finder *x = ctx;
    int order = compare_key(x, i, x->word + (int64_t)j * x->words);
    return order ? order : (i > j) - (i < j);
}

/* Puts the keys that can match in order, in place of the hash table. Their slots are their places among them. */
static void sort_keys(const tra_lookup *l, tra_finder *x, int64_t rows) {
    int64_t n = 0, keys = 0;
    for (int64_t r = 0; r < rows; r++)
        if (can_match(l, x->word + r * x->words)) x->head[n++] = (int32_t)r;
    qsort_r(x->head, (size_t)n, sizeof *x->head, by_key, x);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || compare_key(x, x->head[keys - 1], x->word + (int64_t)x->head[i] * x->words) != 0)
            x->head[keys++] = x->head[i];
    x->sorted = true;
    x->nslots = keys;
}

static tra_status find_slots(const tra_lookup *l, const tra_batch *right, tra_finder *x, tra_err *e) {
    char key[TRA_ROWTEXT];
    for (int64_t rows = right->rows, r = 0; r < rows; r++) {
        const uint64_t *w = x->word + r * x->words;
        x->slot[r] = -1;
        if (r % STRIP == 0 && tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        if (!can_match(l, w)) continue;
        int64_t s = x->direct   ? (int64_t)(w[1] - (uint64_t)x->least)
                    : x->sorted ? bisected(x, w)
                                : hashed(x, w, tra_keys_hash(w, x->nkeys));
        if (!x->direct && x->head[s] < 0) x->head[s] = (int32_t)r;
        if (!x->direct && !x->sorted && too_many_probes(x, rows)) {
            sort_keys(l, x, rows);
            memset(x->begin, 0, (size_t)(x->nslots + 1) * sizeof *x->begin);
            r = -1; /* all again */
            continue;
        }
        x->slot[r] = (int32_t)s;
        if (x->begin[s + 1]++ == 0 || !l->s.unique) continue;
        int64_t before = 0;
        while (x->slot[before] != s) before++;
        return tra_fail(e, TRA_INPUT,
                        "row %" PRId64 " of the %s table has the key that row %" PRId64
                        " has, %s, but no two are expected to (expect)",
                        r, tra_lookup_name(l, 1), before, tra_row_text(right, r, l->s.nkeys, l->s.rkey, key));
    }
    return TRA_OK;
}

/* Of a join that asks only whether a key is there, the bits are enough, if keys lie close together. They are found
 * without room for the keys. *made: it is so. */
static tra_status make_bits(const tra_lookup *l, const tra_batch *right, tra_finder *x, uint64_t *strip, bool *made,
                            void *scratch, tra_err *e) {
    int64_t rows = right->rows, least = INT64_MAX, most = INT64_MIN, n;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t r = 0; r < rows; r += n) {
            n = tra_min64(STRIP, rows - r);
            if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
            TRA_TRY(tra_keys_of(&l->right, right, r, (int)n, strip, scratch, 0, e));
            for (int64_t i = 0; i < n; i++) {
                int64_t v = (int64_t)strip[2 * i + 1], b = pass ? (int64_t)((uint64_t)v - (uint64_t)least) : 0;
                if (strip[2 * i]) continue; /* NULL */
                if (pass) x->bit[b / 64] |= UINT64_C(1) << b % 64;
                least = pass ? least : tra_min64(least, v);
                most = pass ? most : tra_max64(most, v);
            }
        }
        if (pass) break;
        *made = least > most || (uint64_t)most - (uint64_t)least < (uint64_t)most_bits(rows);
        if (!*made) return TRA_OK;
        x->least = least > most ? 0 : least;
        x->nbits = least > most ? 0 : most - least + 1;
        memset(x->bit, 0, (size_t)(x->nbits / 8 + 8));
    }
    x->exists = x->close = x->single = true;
    return TRA_OK;
}

/* Of a join without keys: all rows are in one list. */
static void list_all(tra_finder *x, int64_t rows, void **room) {
    *x = (tra_finder){.nslots = 1, .begin = *room, .list = (int32_t *)((char *)*room + 64)};
    x->begin[0] = 0;
    x->begin[1] = (int32_t)rows;
    for (int64_t r = 0; r < rows; r++) x->list[r] = (int32_t)r;
    *room = (char *)x->list + tra_round64(4 * rows);
}

tra_status tra_finder_make(const tra_lookup *l, const tra_batch *right, bool lists, tra_finder *x, void **room,
                           void *scratch, tra_err *e) {
    int64_t rows = right->rows, range = -1;
    char *p = *room;
    if (rows >= INT32_MAX / 8) return tra_fail(e, TRA_INPUT, "the right table of a join has too many rows");
    if (l->s.nkeys == 0) return list_all(x, rows, room), TRA_OK;
    *x = (tra_finder){.nkeys = l->s.nkeys, .words = tra_keys_words(l->s.nkeys), .word = (uint64_t *)p};
    p += tra_round64(rows * x->words * 8);
    x->begin = (int32_t *)p;
    p += tra_round64(4 * (most_slots(rows) + 1));
    x->head = (int32_t *)p;
    p += tra_round64(4 * hash_slots(rows));
    x->slot = (int32_t *)p;
    p += tra_round64(4 * rows);
    x->list = (int32_t *)p;
    p += tra_round64(4 * rows);
    x->bit = (uint64_t *)p;
    *room = p + tra_round64(most_bits(rows) / 8 + 8);
    bool asks = !lists && (l->s.how == TRA_LOOKUP_SEMI || l->s.how == TRA_LOOKUP_ANTI) && !l->where && !l->s.unique &&
                !l->s.asof;
    bool made = false;
    if (asks && tra_finder_is_whole(l) && rows > STRIP) TRA_TRY(make_bits(l, right, x, x->word, &made, scratch, e));
    if (made) return TRA_OK;
    for (int64_t r = 0; r < rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, rows - r);
        TRA_TRY(tra_keys_of(&l->right, right, r, n, x->word + r * x->words, scratch, 0, e));
    }
    bool whole = tra_finder_is_whole(l);
    if (whole) range = range_of(l, x, rows, &x->least);
    x->direct = whole && range < direct_slots(rows);
    x->close = whole && range < most_bits(rows);
    x->nslots = x->direct ? range + 1 : hash_slots(rows);
    x->nbits = x->close ? range + 1 : hash_bits(rows);
    memset(x->begin, 0, (size_t)(x->nslots + 1) * sizeof *x->begin);
    if (!x->direct) memset(x->head, -1, (size_t)x->nslots * sizeof *x->head);
    TRA_TRY(find_slots(l, right, x, e));
    if (!x->direct) set_bits(l, x, rows);
    x->single = true;
    for (int64_t s = 0; s < x->nslots; s++) {
        x->single = x->single && x->begin[s + 1] <= 1;
        x->begin[s + 1] += x->begin[s];
    }
    for (int64_t r = rows - 1; r >= 0; r--) { /* backwards, so that begin[s + 1] becomes where s begins */
        if (x->slot[r] >= 0) x->list[--x->begin[x->slot[r] + 1]] = (int32_t)r;
    }
    memmove(x->begin, x->begin + 1, (size_t)x->nslots * sizeof *x->begin);
    int64_t all = 0;
    for (int64_t r = 0; r < rows; r++) all += x->slot[r] >= 0;
    x->begin[x->nslots] = (int32_t)all;
    return TRA_OK;
}
