/* group_direct.c - groups that are found by their keys, without sorting rows. The keys of a row become one word. Words
 * of few bits are places of a list; others are looked up in a hash table. Keys too wide for a word are taken in turn,
 * each time with the numbers of the groups that those before have found. Only the groups are sorted, where words do not
 * compare as keys do. Rows then go, in their order, to the totals of their groups (group_add.c). */
#include "group_direct.h"

#include "order.h"

#include <limits.h>

enum { STRIP = 1024, MOST_KEYS = 64, AHEAD = 16 };

/* How scratch is cut, of n rows, in words from the beginning:
 *   lists           [0, n/2) the group of each row; then of each group its first row and its rows, and their order, n/2
 * each to find groups  [2n, 3n) slots, [3n, 3.5n) words of groups that are hashed, which are at most half as many as
 * rows to sort groups  [2n, 3n) first rows; or, of groups that are hashed, [2n, 2.5n) first rows, [2.5n, 3.5n) room to
 * add up       [2n, 3.5n) totals; or values, and where those of each group begin and end */
typedef struct finding {
    const tra_group *g;
    const tra_batch *in;
    int64_t n, groups;
    int32_t *of, *first, *count, *order, *slot;
    uint64_t *key;     /* of each group */
    int from, nkeys;   /* the keys of which words are made, */
    int32_t *numbered; /* and in bits from `shift` on these numbers; NULL: none */
    int32_t *beside;   /* NULL, or in the low bits these */
    int shift;
    tra_key_bits keys[MOST_KEYS];
} finding;

static int words_of(const finding *f, int64_t from, uint64_t *word) {
    int n = (int)tra_min64(STRIP, f->n - from);
    tra_key_words(f->in, f->nkeys, f->g->key + f->from, f->keys + f->from, from, n, word);
    for (int i = 0; f->beside && i < n; i++) word[i] = (uint32_t)f->beside[from + i];
    for (int i = 0; f->numbered && i < n; i++) word[i] += (uint64_t)(uint32_t)f->numbered[from + i] << f->shift;
    return n;
}

static int32_t new_group(finding *f, int64_t row) {
    f->first[f->groups] = (int32_t)row;
    f->count[f->groups] = 0;
    return (int32_t)f->groups++;
}

/* Words are places: at most n of them. */
static void find_by_place(finding *f, int bits) {
    uint64_t word[STRIP];
    memset(f->slot, 0xff, sizeof *f->slot << bits);
    for (int64_t from = 0, n; from < f->n; from += n) {
        n = words_of(f, from, word);
        for (int64_t i = 0; i < n; i++) {
            int32_t k = f->slot[word[i]];
            if (k < 0) f->slot[word[i]] = k = new_group(f, from + i);
            f->of[from + i] = k;
            f->count[k]++;
        }
    }
}

/* False: more than half of the rows are groups of their own. */
static bool find_by_hash(finding *f) {
    int bits = 64 - __builtin_clzll((uint64_t)f->n); /* n < 2^bits <= 2n */
    uint64_t mask = (UINT64_C(1) << bits) - 1, seed = tra_hash_seed() | 1, word[STRIP];
    uint32_t at[STRIP];
    memset(f->slot, 0xff, sizeof *f->slot << bits);
    f->groups = 0;
    for (int64_t from = 0, n; from < f->n; from += n) {
        n = words_of(f, from, word);
        for (int64_t i = 0; i < n; i++) at[i] = (uint32_t)(((word[i] ^ word[i] >> 32) * seed) >> (64 - bits));
        for (int64_t i = 0; i < n; i++) {
            uint64_t s = at[i];
            int32_t k;
            __builtin_prefetch(&f->slot[at[i + AHEAD < n ? i + AHEAD : i]], 1);
            while ((k = f->slot[s]) >= 0 && f->key[k] != word[i]) s = (s + 1) & mask;
            if (k < 0) {
                if (2 * (f->groups + 1) > f->n) return false;
                f->key[f->groups] = word[i];
                f->slot[s] = k = new_group(f, from + i);
            }
            f->of[from + i] = k;
            f->count[k]++;
        }
    }
    return true;
}

/* The same of key `at` alone, and of its groups with those that the keys before it have found. */
static bool find_beside(finding *f, int at) {
    int32_t *of = f->of;
    f->from = at, f->nkeys = 1, f->keys[at].shift = 0, f->numbered = NULL;
    f->of = f->order;
    bool found = find_by_hash(f);
    f->of = of;
    f->nkeys = 0, f->numbered = of, f->beside = f->order, f->shift = 32;
    found = found && find_by_hash(f);
    f->beside = NULL;
    return found;
}

/* The same of keys that together are too wide for a word. */
static bool find_in_turn(finding *f) {
    int all = f->g->nkeys;
    for (int at = 0; at < all; at += f->nkeys ? f->nkeys : 1) {
        int room = at ? 32 : 64, bits = 0, n = 0;
        for (int wide; at + n < all; bits += wide, n++) {
            wide = f->keys[at + n].bits + f->keys[at + n].missing;
            if (bits + wide > room) break;
            f->keys[at + n].shift = bits;
        }
        if (n == 0 && (at == 0 || f->keys[at].bits + f->keys[at].missing > 64)) return false;
        f->from = at, f->nkeys = n, f->numbered = at ? f->of : NULL, f->shift = bits;
        if (!(n ? find_by_hash(f) : find_beside(f, at))) return false;
    }
    return true;
}

/* Groups of words that are places, in the order of these. */
static void take_places(finding *f, int bits, int64_t *first) {
    int64_t at = 0;
    for (int64_t s = 0; s < INT64_C(1) << bits; s++)
        if (f->slot[s] >= 0) f->order[at++] = f->slot[s];
    for (int64_t k = 0; k < f->groups; k++) first[k] = f->first[f->order[k]];
}

/* Groups in the order of their keys. room: 2 words for each group. */
static void sort_groups(finding *f, int64_t *first, int64_t *room) {
    for (int64_t k = 0; k < f->groups; k++) first[k] = f->first[k];
    tra_order_rows(f->in, f->g->nkeys, f->g->key, NULL, first, f->groups, room);
    for (int64_t k = 0; k < f->groups; k++) f->order[k] = f->of[first[k]];
}

bool tra_group_find_direct(const tra_group *g, const tra_batch *in, int64_t *words, tra_group_direct *d) {
    enum { FEW = 32 };
    int64_t n = in->rows, half = tra_ceil_div(n, 2), *rest = words + 4 * half;
    bool ranked = false;
    if (n < FEW || g->nkeys == 0 || g->nkeys > MOST_KEYS) return false;
    for (int i = 0; i < g->n; i++) {
        if (g->v[i].way == TRA_WAY_DIFFERENT) return false;
        ranked |= g->v[i].way == TRA_WAY_RANKED;
    }
    finding f = {.g = g, .in = in, .n = n, .of = (int32_t *)words, .slot = (int32_t *)rest, .nkeys = g->nkeys};
    int bits = tra_key_bits_of(in, g->nkeys, g->key, n, INT_MAX, f.keys);
    f.first = (int32_t *)(words + half);
    f.count = (int32_t *)(words + 2 * half);
    f.order = (int32_t *)(words + 3 * half);
    f.key = (uint64_t *)(rest + 2 * half);
    bool place = bits <= 63 - __builtin_clzll((uint64_t)n),
         sorted = place && !tra_order_looks_up(in->schema, g->nkeys, g->key);
    if (place)
        find_by_place(&f, bits);
    else if (!(bits <= 64 ? find_by_hash(&f) : find_in_turn(&f)))
        return false;
    if ((!sorted || ranked) && 2 * f.groups > n) return false;
    int64_t *first = sorted ? rest + half : rest; /* after the slots that are read still */
    if (sorted)
        take_places(&f, bits, first);
    else
        sort_groups(&f, first, rest + half);
    *d = (tra_group_direct){.g = g, .in = in, .n = n, .groups = f.groups, .first = first, .of = f.of, .order = f.order};
    d->count = f.count;
    d->room = (char *)(((uintptr_t)rest + 15) / 16 * 16);
    d->bytes = (int64_t)((char *)(rest + 3 * half) - d->room);
    return true;
}
