/* join_index.c - the index of a join's right table by key: a table, a hash table, or the keys in order.
 *
 * Keys that are whole numbers are one word wherever it holds all of them: how far each lies above the least of the
 * right table, times a stride of its own. A left row with a key outside of these ranges has no partner. Words that lie
 * close together need no hashes: a key's slot is its word, or how many of the bits that are set come before its own.
 */
#include "join_int.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mix.h"
#include "../kernel/kernel.h"

enum { STRIP = TRA_COLSTRIP };

static int64_t strip_words(const tra_lookup *l) { return tra_round64(tra_finder_words(l) * STRIP * 8); }

int64_t tra_finder_scratch(const tra_lookup *l) {
    return strip_words(l) + STRIP + tra_max64(tra_keys_scratch(&l->left), tra_keys_scratch(&l->right));
}

/* ---- the words of a strip ---------------------------------------------------------------------------------------- */

/* The keys of the rows of a strip: words, and whether a row has none that could match. In scratch. */
typedef struct strip {
    const tra_finder *x;
    const tra_keys *keys;
    const tra_batch *rows;
    int64_t first; /* the number of the batch's first row */
    uint64_t *word;
    uint8_t *none;
    void *rest;
} strip;

static strip strip_in(const tra_lookup *l, const tra_finder *x, const tra_keys *keys, const tra_batch *b, int64_t first,
                      void *scratch) {
    char *p = scratch;
    return (strip){.x = x,
                   .keys = keys,
                   .rows = b,
                   .first = first,
                   .word = (uint64_t *)p,
                   .none = (uint8_t *)p + strip_words(l),
                   .rest = p + strip_words(l) + STRIP};
}

/* Evaluates the keys of n rows from `row` on. */
static void evaluate(const strip *s, int64_t row, int n, tra_colrun *run) {
    tra_vector *column = tra_keys_begin(s->keys, s->rest, run);
    tra_strip_of(s->rows, row, column);
    tra_colrun_strip(run, column, s->first + row, n);
}

static tra_status refuse_errors(const uint8_t *state, int n, int64_t first, tra_err *e) {
    for (int i = 0; state && i < n; i++)
        if (state[i] == TRA_STATE_ERROR) return tra_key_failed(first + i, e);
    return TRA_OK;
}

#define DISTANCE(name, text, T, ...)                                                                                   \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < n; i++) far[i] = (uint64_t)(int64_t)((const T *)v.values)[i] - (uint64_t)r->least;         \
        break;
#define REAL(name, text, T, ...)                                                                                       \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < n; i++) far[i] = tra_float_word((double)((const T *)v.values)[i]);                         \
        break;

/* Adds a key's part of the words. */
static tra_status add_key(strip *s, int c, tra_colvalue v, int n, int64_t first, tra_err *e) {
    const tra_key_range *r = &s->x->key[c];
    uint64_t far[STRIP], *word = s->word, range = r->range, stride = r->stride;
    uint8_t *restrict none = s->none; /* in locals, which no write through a pointer can change */
    switch (tra_coltype_held(s->keys->x[c]->type)) { TRA_WHOLE_DTYPES(DISTANCE) TRA_FLOAT_DTYPES(REAL) }
    for (int i = 0; !v.state && i < n; i++) none[i] |= far[i] > range;
    for (int i = 0; !v.state && i < n; i++) word[i] += far[i] * stride;
    for (int i = 0; v.state && i < n; i++) {
        bool null = v.state[i] != TRA_STATE_VALUE;
        none[i] |= null ? !s->x->nulls_match : far[i] > range;
        word[i] += (null ? r->null : far[i]) * stride;
    }
    return refuse_errors(v.state, n, first, e);
}

static tra_status take_strip(strip *s, int64_t row, int n, tra_err *e) {
    const tra_finder *x = s->x;
    if (!x->packed) {
        TRA_TRY(tra_keys_of(s->keys, s->rows, row, n, s->word, s->rest, s->first, e));
        for (int i = 0; i < n; i++) {
            uint64_t nulls = 0;
            for (int k = 0; k < tra_keys_null_words(x->nkeys); k++) nulls |= s->word[(int64_t)i * x->words + k];
            s->none[i] = nulls != 0 && !x->nulls_match;
        }
        return TRA_OK;
    }
    tra_colrun run;
    evaluate(s, row, n, &run);
    memset(s->word, 0, (size_t)n * sizeof *s->word);
    memset(s->none, 0, (size_t)n);
    for (int c = 0; c < x->nkeys; c++) TRA_TRY(add_key(s, c, tra_colrun_result(&run, c), n, s->first + row, e));
    return TRA_OK;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

#define RANGE(name, text, T, ...)                                                                                      \
    case TRA_##name: {                                                                                                 \
        T low = ((const T *)v.values)[0], high = low;                                                                  \
        for (int i = 0; i < n; i++) {                                                                                  \
            T w = ((const T *)v.values)[i];                                                                            \
            low = w < low ? w : low;                                                                                   \
            high = w > high ? w : high;                                                                                \
        }                                                                                                              \
        *least = tra_min64(*least, (int64_t)low);                                                                      \
        *most = tra_max64(*most, (int64_t)high);                                                                       \
        break;                                                                                                         \
    }

/* Widens a range by whole numbers. */
static void widen(tra_dtype t, tra_colvalue v, int n, int64_t *least, int64_t *most) {
    for (int i = 0; v.state && i < n; i++) {
        int64_t w = tra_element_whole(t, v.values, i);
        if (v.state[i] == TRA_STATE_VALUE) *least = tra_min64(*least, w), *most = tra_max64(*most, w);
    }
    if (v.state || n == 0) return;
    switch (t) {
        TRA_WHOLE_DTYPES(RANGE)
    case TRA_FLOATS: break;
    }
}

/* Finds whether the keys are one word, and how it is made. */
static tra_status find_ranges(const tra_lookup *l, const tra_batch *right, tra_finder *x, void *scratch, tra_err *e) {
    strip s = strip_in(l, x, &l->right, right, 0, scratch);
    unsigned __int128 total = 1;
    bool real = false;
    for (int k = 0; k < x->nkeys; k++) {
        x->key[k] = (tra_key_range){.least = INT64_MAX, .range = UINT64_MAX, .stride = 1, .null = UINT64_MAX};
        real = real || tra_coltype_is_float(l->right.x[k]->type);
    }
    x->packed = !real || x->nkeys == 1;
    x->total = INT64_MAX;
    if (real) return TRA_OK;
    int64_t *most = (int64_t *)s.word; /* as many words as there are keys */
    for (int k = 0; k < x->nkeys; k++) most[k] = INT64_MIN;
    for (int64_t row = 0; row < right->rows; row += STRIP) {
        int n = (int)tra_min64(STRIP, right->rows - row);
        tra_colrun run;
        evaluate(&s, row, n, &run);
        for (int k = 0; k < x->nkeys; k++) {
            tra_colvalue v = tra_colrun_result(&run, k);
            TRA_TRY(refuse_errors(v.state, n, row, e));
            widen(tra_coltype_held(l->right.x[k]->type), v, n, &x->key[k].least, &most[k]);
        }
    }
    for (int k = 0; k < x->nkeys && x->packed; k++) {
        tra_key_range *r = &x->key[k];
        if (r->least > most[k]) r->least = most[k] = 0;
        r->range = (uint64_t)most[k] - (uint64_t)r->least;
        r->null = r->range + 1;
        r->stride = (uint64_t)total;
        total *= (unsigned __int128)r->range + 1 + x->nulls_match;
        x->packed = total - 1 <= UINT64_MAX;
    }
    if (x->packed && total < INT64_MAX) x->total = (int64_t)total;
    return TRA_OK;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const tra_finder *x, const uint64_t *words) {
    return x->words == 1 ? tra_mix(*words ^ x->seed) : tra_keys_hash(words, x->nkeys);
}

static int compare_key(const tra_finder *x, int32_t row, const uint64_t *words) {
    const uint64_t *w = x->word + (int64_t)row * x->words;
    if (x->words == 1) return (*w > *words) - (*w < *words);
    return memcmp(w, words, (size_t)x->words * 8);
}

static bool is_key(const tra_finder *x, int32_t row, const uint64_t *words) {
    const uint64_t *w = x->word + (int64_t)row * x->words;
    return x->words == 1 ? *w == *words : memcmp(w, words, (size_t)x->words * 8) == 0;
}

static bool has_bit(const tra_finder *x, int64_t b) { return x->bit[b / 64] >> (b % 64) & 1; }
static void set_bit(tra_finder *x, int64_t b) { x->bit[b / 64] |= UINT64_C(1) << b % 64; }

/* The tag of a key: bits of its hash by which its slot is not found. Never 0. */
static uint8_t tag_of(uint64_t hash) { return (uint8_t)(hash >> 57 | 128); }

/* The first slot from s on that is free or has the tag. */
static int64_t tagged(const tra_finder *x, int64_t s, uint8_t tag) {
    for (;; s = 0)
        for (; s < x->nslots; s++)
            if (x->tag[s] == tag || x->tag[s] == 0) return s;
}

/* The slot of a key: where it is, or would be (then that is free). */
static int64_t hashed(const tra_finder *x, const uint64_t *words, uint64_t hash) {
    int64_t mask = x->nslots - 1, s = (int64_t)(hash & (uint64_t)mask);
    for (;; s = (s + 1) & mask) {
        s = tagged(x, s, tag_of(hash));
        if (x->tag[s] == 0 || is_key(x, x->head[s], words)) return s;
    }
}

/* The slot of a key among those in order, or -1. */
static int64_t bisected(const tra_finder *x, const uint64_t *words) {
    int64_t lo = 0;
    TRA_BISECT(lo, x->nslots, mid, compare_key(x, x->head[mid], words) < 0);
    return lo < x->nslots && is_key(x, x->head[lo], words) ? lo : -1;
}

/* The rank of a word whose bit is set: how many are set before. */
static int32_t ranked(const tra_finder *x, uint64_t word) {
    uint64_t before = x->bit[word / 64] & ((UINT64_C(1) << word % 64) - 1);
    return x->rank[word / 64] + __builtin_popcountll(before);
}

static int64_t hashed_slot(const tra_finder *x, const uint64_t *words, uint64_t hash) {
    int64_t s = hashed(x, words, hash);
    return x->tag[s] == 0 ? -1 : s;
}

/* Hashes of the keys of n rows. What the table has of them is wanted soon: of all rows it is fetched at once. */
static void hash_strip(const tra_finder *x, const uint64_t *words, int n, uint64_t *hash) {
    int64_t mask = x->nslots - 1, at[STRIP];
    for (int i = 0; i < n; i++) {
        hash[i] = hash_of(x, words + (int64_t)i * x->words);
        __builtin_prefetch(x->tag + ((int64_t)hash[i] & mask));
    }
    for (int i = 0; i < n; i++) {
        at[i] = tagged(x, (int64_t)hash[i] & mask, tag_of(hash[i]));
        __builtin_prefetch(x->head + at[i]);
    }
    for (int i = 0; i < n; i++)
        if (x->tag[at[i]]) __builtin_prefetch(x->word + (int64_t)x->head[at[i]] * x->words);
}

tra_status tra_finder_slots(const tra_lookup *l, const tra_finder *x, const tra_batch *left, int64_t row, int n,
                            int64_t first, int32_t *slot, void *scratch, tra_err *e) {
    strip s = strip_in(l, x, &l->left, left, first, scratch);
    uint64_t hash[STRIP];
    if (x->nkeys == 0) return memset(slot, 0, (size_t)n * sizeof *slot), TRA_OK;
    TRA_TRY(take_strip(&s, row, n, e));
    const uint64_t *word = s.word, *bit = x->bit;
    const uint8_t *none = s.none;
    if (x->direct) {
        for (int i = 0; i < n; i++) slot[i] = none[i] ? -1 : (int32_t)word[i];
    } else if (x->exists) {
        for (int i = 0; i < n; i++) { /* without a branch, which would be mispredicted */
            uint64_t w = none[i] ? 0 : word[i];
            slot[i] = (int32_t)(bit[w / 64] >> (w % 64) & !none[i]) - 1;
        }
    } else if (x->close) {
        for (int i = 0; i < n; i++) slot[i] = s.none[i] || !has_bit(x, (int64_t)s.word[i]) ? -1 : ranked(x, s.word[i]);
    } else if (x->sorted) {
        for (int i = 0; i < n; i++) slot[i] = s.none[i] ? -1 : (int32_t)bisected(x, s.word + (int64_t)i * x->words);
    } else {
        hash_strip(x, s.word, n, hash);
        for (int i = 0; i < n; i++)
            slot[i] = s.none[i] ? -1 : (int32_t)hashed_slot(x, s.word + (int64_t)i * x->words, hash[i]);
    }
    return TRA_OK;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Sets the bits of all keys, which lie close together. */
static tra_status make_bits(tra_finder *x, strip *s, tra_err *e) {
    memset(x->bit, 0, (size_t)tra_finder_bit_words(x->nbits) * sizeof *x->bit);
    for (int64_t rows = s->rows->rows, r = 0; r < rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        TRA_TRY(take_strip(s, r, n, e));
        for (int i = 0; i < n; i++)
            if (!s->none[i]) set_bit(x, (int64_t)s->word[i]);
    }
    int32_t rank = 0;
    for (int64_t i = 0; !x->exists && i < tra_finder_bit_words(x->nbits); i++) {
        x->rank[i] = rank;
        rank += __builtin_popcountll(x->bit[i]);
    }
    x->nslots = tra_max64(1, rank);
    return TRA_OK;
}

static tra_status refuse_twice(const tra_lookup *l, const tra_batch *right, int64_t before, int64_t r, tra_err *e) {
    char key[TRA_ROWTEXT];
    return tra_fail(e, TRA_INPUT,
                    "row %" PRId64 " of the %s table has the key that row %" PRId64
                    " has, %s, but no two are expected to (expect)",
                    tra_lookup_row(l, 1, right, 0, r), tra_lookup_name(l, 1), tra_lookup_row(l, 1, right, 0, before),
                    tra_row_text(right, r, l->s.nkeys, l->s.rkey, key));
}

/* Do so many probes meet other keys that this is no chance? Then the keys were made to collide. */
static bool too_many_probes(int64_t probes, int64_t rows) { return probes > 64 * (rows + 1024); }

static int64_t slot_for(const tra_finder *x, const uint64_t *w, uint64_t hash, int64_t *probes) {
    if (x->direct) return (int64_t)*w;
    if (x->close) return ranked(x, *w);
    if (x->sorted) return bisected(x, w);
    int64_t s = hashed(x, w, hash);
    *probes += (s - (int64_t)hash) & (x->nslots - 1);
    return s;
}

/* The index of a table in which no key is there twice, or of whose rows the first of each key is enough: the head of
 * each slot is its row. *made is false where one is there twice, and where keys collide. */
static tra_status make_single(const tra_lookup *l, tra_finder *x, strip *s, bool *made, tra_err *e) {
    int64_t rows = s->rows->rows, probes = 0;
    bool by_hash = !x->close && !x->direct;
    uint64_t hash[STRIP];
    *made = false;
    for (int64_t r = 0; r < rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        TRA_TRY(take_strip(s, r, n, e));
        if (by_hash) memcpy(x->word + r * x->words, s->word, (size_t)(n * x->words) * sizeof *s->word);
        if (by_hash) hash_strip(x, s->word, n, hash);
        for (int i = 0; i < n; i++) {
            if (s->none[i]) continue;
            int64_t at = slot_for(x, s->word + (int64_t)i * x->words, by_hash ? hash[i] : 0, &probes);
            bool there = by_hash ? x->tag[at] != 0 : x->head[at] >= 0;
            if (there && l->s.unique) return refuse_twice(l, s->rows, x->head[at], r + i, e);
            if (there && x->first) continue;
            if (there) return TRA_OK;
            x->head[at] = (int32_t)(r + i);
            if (by_hash) x->tag[at] = tag_of(hash[i]);
        }
        if (too_many_probes(probes, rows)) return TRA_OK;
    }
    *made = x->single = true;
    return TRA_OK;
}

static int by_key(const void *a, const void *b, void *ctx) {
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    const tra_finder *x = ctx;
    int order = compare_key(x, i, x->word + (int64_t)j * x->words);
    return order ? order : (i > j) - (i < j);
}

/* Puts the keys that can match in order, in place of the hash table. Their slots are their places among them. */
static void sort_keys(tra_finder *x, int64_t rows) {
    int64_t n = 0, keys = 0;
    for (int64_t r = 0; r < rows; r++)
        if (x->slot[r] >= 0) x->head[n++] = (int32_t)r;
    qsort_r(x->head, (size_t)n, sizeof *x->head, by_key, x);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || compare_key(x, x->head[keys - 1], x->word + (int64_t)x->head[i] * x->words) != 0)
            x->head[keys++] = x->head[i];
    x->sorted = true;
    x->nslots = keys;
}

/* Puts n rows from `first` on into the hash table, or finds them among the keys in order. False where too many collide.
 */
static bool put_strip(tra_finder *x, int64_t first, int n, int64_t *probes, int64_t rows) {
    uint64_t hash[STRIP] = {0};
    if (!x->sorted) hash_strip(x, x->word + first * x->words, n, hash);
    for (int64_t r = first; r < first + n; r++) {
        if (x->slot[r] < 0) continue;
        int64_t at = slot_for(x, x->word + r * x->words, hash[r - first], probes);
        if (!x->sorted && x->tag[at] == 0) x->head[at] = (int32_t)r, x->tag[at] = tag_of(hash[r - first]);
        x->slot[r] = (int32_t)at;
        __builtin_prefetch(x->begin + at + 1, 1);
    }
    return x->sorted || !too_many_probes(*probes, rows);
}

/* Sets the slot of each right row, -1: it matches nothing, and begin[s + 1] to how many rows slot s has. */
static tra_status find_slots(const tra_lookup *l, tra_finder *x, strip *s, tra_err *e) {
    int64_t rows = s->rows->rows, probes = 0;
    bool by_hash = !x->close && !x->direct;
    for (int64_t r = 0; r < rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, rows - r);
        TRA_TRY(take_strip(s, r, n, e));
        if (by_hash) memcpy(x->word + r * x->words, s->word, (size_t)(n * x->words) * sizeof *s->word);
        for (int i = 0; i < n; i++)
            x->slot[r + i] = s->none[i] ? -1 : by_hash ? 0 : (int32_t)slot_for(x, s->word + i, 0, &probes);
    }
    memset(x->begin, 0, (size_t)(x->nslots + 1) * sizeof *x->begin);
    for (int64_t r = 0; r < rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        if (by_hash && !put_strip(x, r, n, &probes, rows)) {
            sort_keys(x, rows);
            memset(x->begin, 0, (size_t)(x->nslots + 1) * sizeof *x->begin);
            r = -STRIP; /* all again */
            continue;
        }
        for (int64_t i = r; i < r + n; i++) {
            int64_t at = x->slot[i], before = 0;
            if (at < 0 || x->begin[at + 1]++ == 0 || !l->s.unique) continue;
            while (x->slot[before] != at) before++;
            return refuse_twice(l, s->rows, before, i, e);
        }
    }
    return TRA_OK;
}

/* Lists the rows of each slot. */
static tra_status make_lists(const tra_lookup *l, tra_finder *x, strip *s, tra_err *e) {
    int64_t rows = s->rows->rows, all = 0;
    TRA_TRY(find_slots(l, x, s, e));
    for (int64_t i = 0; i < x->nslots; i++) x->begin[i + 1] += x->begin[i];
    for (int64_t r = rows - 1; r >= 0; r--) { /* backwards, so that begin[s + 1] becomes where s begins */
        enum { SOON = 16 };
        if (r >= 2 * SOON && x->slot[r - 2 * SOON] >= 0) __builtin_prefetch(x->begin + x->slot[r - 2 * SOON] + 1, 1);
        if (r >= SOON && x->slot[r - SOON] >= 0)
            __builtin_prefetch(x->list + x->begin[x->slot[r - SOON] + 1] - 1, 1);
        if (x->slot[r] >= 0) x->list[--x->begin[x->slot[r] + 1]] = (int32_t)r, all++;
    }
    memmove(x->begin, x->begin + 1, (size_t)x->nslots * sizeof *x->begin);
    x->begin[x->nslots] = (int32_t)all;
    return TRA_OK;
}

/* Empties the slots: of a hash table their tags say that they are free. */
static void clear(tra_finder *x) {
    if (x->close || x->direct)
        memset(x->head, -1, (size_t)x->nslots * sizeof *x->head);
    else
        memset(x->tag, 0, (size_t)x->nslots);
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
    int64_t rows = right->rows;
    bool made = false;
    if (rows >= INT32_MAX / 8) return tra_fail(e, TRA_INPUT, "the right table of a join has too many rows");
    if (l->s.nkeys == 0) return list_all(x, rows, room), TRA_OK;
    *x = (tra_finder){.nkeys = l->s.nkeys, .nulls_match = l->s.nulls_match, .seed = tra_hash_seed(), .key = *room};
    TRA_TRY(find_ranges(l, right, x, scratch, e));
    if (x->total > l->total)
        return tra_fail(
            e, TRA_INPUT,
            "keys of the %s table lie outside of the range that was known of them (damaged statistics of a file?)",
            tra_lookup_name(l, 1));
    x->words = x->packed ? 1 : tra_finder_words(l);
    strip s = strip_in(l, x, &l->right, right, 0, scratch);
    tra_finder_choose(l, lists, rows, x);
    char *end = tra_finder_place(l, x, rows, *room + tra_round64(l->s.nkeys * (int64_t)sizeof *x->key));
    if (end - (char *)*room > tra_finder_bytes(l, rows))
        return tra_fail(e, TRA_INTERNAL, "the index of the %s table of a join is larger than there is room for",
                        tra_lookup_name(l, 1));
    *room = end;
    if (x->close && !x->direct) TRA_TRY(make_bits(x, &s, e));
    x->single = x->exists;
    x->first = tra_lookup_asks(l) && !lists;
    if (x->exists) return TRA_OK;
    clear(x);
    if (!l->s.asof && !l->band) TRA_TRY(make_single(l, x, &s, &made, e));
    if (made) return x->list = x->head, TRA_OK;
    x->first = false;
    clear(x);
    return make_lists(l, x, &s, e);
}
