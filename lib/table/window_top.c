/* window_top.c - the rows that come among the first ones of their group by the first column of the order, found in one
 * pass: each group has a heap of its first words so far, and a row whose word comes after the last of these is passed
 * by. Pieces are ranges of rows times classes of groups: a class has groups of its own, a range heaps of its own. */
#include "../base/parallel.h"
#include "group_direct.h"
#include "window_int.h"

#include <math.h>
#include <string.h>

enum { STRIP = 256, LEAST = 2 * STRIP, MOST_KEYS = 64, MOST_DENSE = 32, CLASS_BITS = 2, CLASSES = 1 << CLASS_BITS };

typedef struct top {
    const tra_batch *in;
    int nkeys;
    const int *key;
    tra_key_bits keys[MOST_KEYS];
    const int32_t *of; /* NULL, or the group of each row instead */
    int column;        /* of the order */
    uint64_t turn;     /* it descends: all bits */
    int64_t n, most;
    bool one;        /* no row is wanted for being a tie of another one */
    bool dense;      /* words that are equal count as one */
    uint64_t places; /* words of keys are below; 0: they are hashed */
    int ranges, classes;
    uint8_t *marked; /* of each row: is it wanted? */
    uint64_t *room;  /* of each piece so many words, for so many groups */
    int64_t words, groups;
    uint64_t seed;
    bool full[TRA_PIECES]; /* of a piece: it has more groups than there is room for, or than pay */
} top;

/* The groups of a piece, by place or as they were found. */
typedef struct heaps {
    uint64_t *last; /* UINT64_MAX: of fewer words than are wanted */
    uint64_t *heap; /* the greatest is first, once all are there */
    int32_t *count; /* words; at last, how many rows that equal the last one are wanted */
    uint64_t *key;  /* of groups that are hashed; */
    int32_t *slot;
    int bits;
    int64_t n, rows; /* groups, and rows that were looked at */
} heaps;

/* ---- the groups of a strip of rows ------------------------------------------------------------------------------- */

/* Words of rows from .. from + n - 1. */
static void key_words(const top *x, int64_t from, int n, uint64_t *word) {
    if (!x->of) return tra_key_words(x->in, x->nkeys, x->key, x->keys, from, n, word);
    for (int i = 0; i < n; i++) word[i] = (uint32_t)x->of[from + i];
}

static uint64_t hash_of(const top *x, uint64_t word) { return (word ^ word >> 32) * x->seed; }

/* Where the places of class c begin. */
static uint64_t place_of_class(const top *x, int c) {
    return x->places / (uint64_t)x->classes * (uint64_t)c + tra_min64((int64_t)(x->places % (uint64_t)x->classes), c);
}

/* Keeps the words of class c, and which of the rows they are. Returns how many. */
static int take_class(const top *x, int c, int64_t from, int n, uint64_t *word, int64_t *row) {
    int kept = 0;
    uint64_t low = x->places ? place_of_class(x, c) : 0, wide = x->places ? place_of_class(x, c + 1) - low : 0;
    for (int i = 0; i < n; i++) {
        uint64_t w = word[i] - low;
        row[kept] = from + i;
        word[kept] = w;
        if (x->places)
            kept += w < wide;
        else
            kept += x->classes == 1 || (hash_of(x, w) >> (64 - CLASS_BITS)) % (uint64_t)x->classes == (uint64_t)c;
    }
    return kept;
}

static uint64_t slot_of(const heaps *h, uint64_t hash) { return hash << CLASS_BITS >> (64 - h->bits); }

static void put_slots(const top *x, heaps *h) {
    uint64_t mask = (UINT64_C(1) << h->bits) - 1;
    memset(h->slot, 0xff, sizeof *h->slot << h->bits);
    for (int64_t k = 0; k < h->n; k++) {
        uint64_t s = slot_of(h, hash_of(x, h->key[k]));
        while (h->slot[s] >= 0) s = (s + 1) & mask;
        h->slot[s] = (int32_t)k;
    }
}

/* The number of the group; -1: it is a new one, and there is no room. */
static int32_t find_group(const top *x, heaps *h, uint64_t word, uint64_t hash) {
    uint64_t mask = (UINT64_C(1) << h->bits) - 1, s = slot_of(h, hash);
    int32_t k;
    while ((k = h->slot[s]) >= 0 && h->key[k] != word) s = (s + 1) & mask;
    if (k >= 0) return k;
    if (h->n == x->groups) return -1;
    k = (int32_t)h->n++;
    h->key[k] = word;
    h->last[k] = UINT64_MAX;
    h->count[k] = 0;
    h->slot[s] = k;
    if (2 * h->n > (int64_t)mask) h->bits += 2, put_slots(x, h);
    return k;
}

/* The groups of these rows, in place of their words. False: there is no room. */
static bool find_groups(const top *x, heaps *h, int n, uint64_t *word) {
    uint64_t hash[STRIP];
    if (x->places) return true;
    for (int i = 0; i < n; i++) {
        hash[i] = hash_of(x, word[i]);
        __builtin_prefetch(&h->slot[slot_of(h, hash[i])]);
    }
    for (int i = 0; i < n; i++) {
        int32_t k = find_group(x, h, word[i], hash[i]);
        if (k < 0) return false;
        word[i] = (uint64_t)k;
        __builtin_prefetch(&h->last[k]);
    }
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Words of the values of these n rows, in their order; NULLs are last. */
static void value_words(const top *x, const int64_t *row, int n, uint64_t *word) {
    const tra_vector *v = &x->in->v[x->column];
    const tra_column *c = &x->in->schema->v[x->column];
    tra_order_codes(tra_coltype_held(c->type), v->values, row, n, word);
    for (int i = 0; i < n; i++) word[i] ^= x->turn;
    for (int i = 0; v->state && i < n; i++)
        if (v->state[row[i]]) word[i] = UINT64_MAX;
}

/* The root of a heap of n words goes down to its place. */
static void sink(uint64_t *v, int64_t n, int64_t at) {
    uint64_t w = v[at];
    for (int64_t to; (to = 2 * at + 1) < n; at = to) {
        if (to + 1 < n && v[to + 1] > v[to]) to++;
        if (v[to] <= w) break;
        v[at] = v[to];
    }
    v[at] = w;
}

static void add_word(const top *x, heaps *h, int64_t k, uint64_t word) {
    uint64_t *v = h->heap + k * x->most;
    for (int i = 0; x->dense && i < h->count[k]; i++)
        if (v[i] == word) return;
    if (h->count[k] == x->most) {
        if (word == h->last[k]) return;
        v[0] = word;
        sink(v, x->most, 0);
    } else {
        v[h->count[k]++] = word;
        if (h->count[k] < x->most) return;
        for (int64_t i = x->most / 2; i-- > 0;) sink(v, x->most, i);
    }
    h->last[k] = v[0];
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Marks the rows that come among the first ones so far. */
static bool mark_strip(top *x, heaps *h, int class, int64_t from, int n) {
    uint64_t word[STRIP], value[STRIP];
    int64_t row[STRIP];
    key_words(x, from, n, word);
    n = take_class(x, class, from, n, word, row);
    h->rows += n;
    if (!find_groups(x, h, n, word)) return false;
    value_words(x, row, n, value);
    for (int i = 0; i < n; i++) {
        int64_t k = (int64_t)word[i];
        if (value[i] > h->last[k]) continue;
        if (value[i] == h->last[k] && x->one && value[i] < UINT64_MAX) continue;
        x->marked[row[i]] = 1;
        add_word(x, h, k, value[i]);
    }
    return true;
}

/* Of rows that equal the last one so many are wanted; all where NULLs may be among them. */
static void count_ties(const top *x, heaps *h) {
    for (int64_t k = 0; k < h->n; k++) {
        int32_t before = 0;
        for (int64_t i = 0; x->one && i < h->count[k]; i++) before += h->heap[k * x->most + i] < h->last[k];
        h->count[k] = x->one && h->last[k] < UINT64_MAX ? (int32_t)x->most - before : INT32_MAX;
    }
}

/* Unmarks those that later rows have come before. */
static void unmark_strip(top *x, heaps *h, int class, int64_t from, int n) {
    uint64_t word[STRIP], value[STRIP];
    int64_t row[STRIP];
    int marked = 0;
    key_words(x, from, n, word);
    n = take_class(x, class, from, n, word, row);
    for (int i = 0; i < n; i++) {
        row[marked] = row[i];
        word[marked] = word[i];
        marked += x->marked[row[i]];
    }
    if (marked == 0 || !find_groups(x, h, marked, word)) return;
    value_words(x, row, marked, value);
    for (int i = 0; i < marked; i++) {
        int64_t k = (int64_t)word[i];
        if (value[i] == h->last[k] && h->count[k] > 0)
            h->count[k] -= h->count[k] < INT32_MAX;
        else if (value[i] >= h->last[k])
            x->marked[row[i]] = 0;
    }
}

static heaps lay_out(const top *x, int piece, int class) {
    uint64_t *at = x->room + piece * x->words;
    heaps h = {.last = at, .heap = at + x->groups, .bits = 8};
    at = h.heap + x->groups * x->most;
    h.count = (int32_t *)at;
    at += tra_ceil_div(x->groups, 2);
    if (x->places) {
        h.n = (int64_t)(place_of_class(x, class + 1) - place_of_class(x, class));
        memset(h.last, 0xff, (size_t)h.n * sizeof *h.last);
        memset(h.count, 0, (size_t)h.n * sizeof *h.count);
    } else {
        h.key = at;
        h.slot = (int32_t *)(at + x->groups);
        put_slots(x, &h);
    }
    return h;
}

/* Do most rows still open a new group, after a part of the rows? Then a sort of all is cheaper. The rows that
 * expect_groups draws do not tell it where groups differ much in size. */
static bool are_many(const top *x, const heaps *h, const heaps *before) {
    static const double MANY = 0.7;
    return !x->places && (double)(h->n - before->n) > MANY * (double)(h->rows - before->rows);
}

static void run_piece(void *ctx, int piece, void *scratch) {
    top *x = ctx;
    int class = piece % x->classes, range = piece / x->classes;
    int64_t strips = tra_ceil_div(x->n, STRIP), from = strips * range / x->ranges * STRIP;
    int64_t to = tra_min64(x->n, strips * (range + 1) / x->ranges * STRIP);
    int64_t eighth = from + (to - from) / 8 / STRIP * STRIP, quarter = from + (to - from) / 4 / STRIP * STRIP;
    heaps h = lay_out(x, piece, class), before = h;
    (void)scratch;
    for (int64_t at = from; at < to; at += STRIP) {
        if (at == eighth) before = h;
        bool many = at == quarter && quarter > eighth && are_many(x, &h, &before);
        x->full[piece] = many || !mark_strip(x, &h, class, at, (int)tra_min64(STRIP, to - at));
        if (x->full[piece]) return;
    }
    count_ties(x, &h);
    for (int64_t at = from; at < to; at += STRIP) unmark_strip(x, &h, class, at, (int)tra_min64(STRIP, to - at));
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* About how many groups there are, by the keys of some rows; as many as rows where no two are of one group. */
static double expect_groups(const top *x) {
    enum { STRIPS = 32 };
    int64_t strips = tra_min64(STRIPS, x->n / (2 * STRIP));
    uint64_t slots = (uint64_t)(4 * STRIP * strips), word[STRIP], *seen = memset(x->room, 0, slots * sizeof *seen);
    double drawn = 0, found = 0;
    for (int64_t s = 0; s < strips; s++) {
        int64_t from = (x->n - STRIP) / strips * s;
        key_words(x, from, STRIP, word);
        for (int i = 0; i < STRIP; i++) {
            uint64_t at = hash_of(x, word[i]) % slots;
            while (seen[at] && seen[at] != word[i] + 1) at = (at + 1) % slots;
            found += !seen[at];
            drawn++;
            seen[at] = word[i] + 1;
        }
    }
    double low = found, high = (double)x->n; /* so many draws of g groups find g (1 - e^(-drawn / g)) */
    for (int i = 0; i < 64 && high - low > 1; i++) {
        double g = (low + high) / 2;
        *(g * -expm1(-drawn / g) < found ? &low : &high) = g;
    }
    return high;
}

/* Cuts the work: ranges of rows where the heaps of all ranges together are few, else classes of groups, for each of
 * which all keys are read. False: most rows would be kept. */
static bool cut(top *x, double groups) {
    enum { FEW = 64, STEPS = 8 };
    double kept = groups * (double)x->most, rows = (double)x->n;
    if (kept > rows / 2) return false;
    int pieces = tra_parallel_pieces(tra_mul_most(STEPS, x->n));
    x->ranges = (int)fmax(1, fmin(pieces, rows / (FEW * kept)));
    x->classes = x->ranges >= CLASSES ? 1 : (int)tra_max64(1, tra_min64(pieces, CLASSES) / x->ranges);
    return true;
}

/* Room for groups: those of places; of others as many as there is. False: too few. */
static bool make_room(top *x, int64_t words) {
    enum { SLOTS = 4 }; /* words of a group at most, while the slots grow fourfold */
    x->words = words / (x->ranges * x->classes);
    int64_t each = x->most + 2;
    if (x->places) {
        x->groups = tra_ceil_div((int64_t)x->places, x->classes);
        return x->groups <= (x->words - 1) / each;
    }
    x->groups = (x->words - 256) / (each + 1 + SLOTS);
    return x->groups > 0 && x->groups < INT32_MAX / 2;
}

/* The groups of keys too wide for a word, by number. */
static bool find_wide(top *x, int64_t *words, double *groups) {
    tra_group keys = {.in = x->in->schema, .nkeys = x->nkeys, .key = (int *)x->key};
    tra_group_direct d;
    if (!tra_group_find_direct(&keys, x->in, words, &d)) return false;
    x->of = d.of;
    x->places = (uint64_t)d.groups;
    *groups = (double)d.groups;
    return true;
}

/* Where words are, for what is not found by number, and how many groups are expected. */
static void expect_words(top *x, int bits, double *groups) {
    x->places = bits < 62 && INT64_C(1) << bits <= x->n / 4 ? UINT64_C(1) << bits : 0;
    *groups = expect_groups(x);
}

int64_t tra_window_top_rows(const tra_window *t, const tra_batch *in, int64_t *row, int64_t *words, int64_t nwords) {
    top x = {.in = in, .nkeys = t->nkeys, .key = t->column, .column = t->nkeys, .n = in->rows, .most = t->top};
    int64_t found = 0, half = tra_ceil_div(x.n, 2), marks = tra_ceil_div(x.n, 8);
    double groups;
    if (x.n < LEAST || x.n >= INT32_MAX || x.nkeys > MOST_KEYS || x.most > x.n / 2) return -1;
    x.turn = t->desc[x.column] ? UINT64_MAX : 0, x.seed = tra_hash_seed() | 1;
    x.one = t->by == TRA_WINDOW_ROW_NUMBER && t->norder == 1;
    x.dense = t->by == TRA_WINDOW_DENSE_RANK;
    if (x.dense && x.most > MOST_DENSE) return -1;
    x.marked = (uint8_t *)(words + half);
    x.room = (uint64_t *)words + half + marks;
    int64_t room = nwords - half - marks;
    int bits = tra_key_bits_of(in, x.nkeys, x.key, x.n, 64, x.keys);
    if (bits >= 0)
        expect_words(&x, bits, &groups);
    else if (!find_wide(&x, words, &groups))
        return -1;
    if (!cut(&x, groups)) return -1;
    if (!make_room(&x, room)) {
        x.places = 0;
        if (x.of || !make_room(&x, room)) return -1;
    }
    memset(x.marked, 0, (size_t)x.n);
    tra_parallel(x.ranges * x.classes, run_piece, &x, NULL);
    for (int p = 0; p < x.ranges * x.classes; p++)
        if (x.full[p]) return -1;
    for (int64_t i = 0; i < x.n && found < x.n; i++) {
        row[found] = i;
        found += x.marked[i];
    }
    return found;
}
