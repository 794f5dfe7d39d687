/* radix.c - rows brought into order with few comparisons: values become whole numbers that are ordered as they are. The
 * highest bits of the keys of a row, above its number, make a word. Words are sorted by their digits; rows whose words
 * have the same bits of keys are ordered by the keys that follow. */
#include "../base/simd.h"
#include "order.h"

#include <string.h>

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* Of n rows, `at` of which are at[i] of the batch. */
typedef struct words {
    int64_t *at, n;
    bool plain;             /* at[i] is i */
    uint64_t *word, *other; /* n each */
    int row_bits, used;     /* used: bits of keys, the highest of a word */
} words;

static int bits_of(uint64_t most) { return most ? 64 - __builtin_clzll(most) : 0; }
static uint64_t low_bits(int n) { return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1; }

/* ---- sorting words ----------------------------------------------------------------------------------------------- */

enum { WIDEST = 11, MOST_DIGITS = 1 << WIDEST };

static bool is_ascending(const words *w) {
    for (int64_t i = 1; i < w->n; i++)
        if (w->word[i - 1] > w->word[i]) return false;
    return true;
}

/* Scatters n words by the digit from `shift` on; end[d] becomes the end of those of digit d. */
static void scatter(const uint64_t *v, uint64_t *to, int64_t n, int shift, int width, uint32_t *end) {
    uint64_t mask = low_bits(width);
    uint32_t sum = 0;
    memset(end, 0, sizeof *end << width);
    for (int64_t i = 0; i < n; i++) end[v[i] >> shift & mask]++;
    for (uint64_t d = 0; d <= mask; d++) {
        uint32_t count = end[d];
        end[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) to[end[v[i] >> shift & mask]++] = v[i];
}

static void insert_words(uint64_t *v, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        int64_t j = i;
        for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

/* Sorts words by their highest digit, and those of each digit in the same way. `lowest` bits are in order among words
 * that are equal above them. They end in v; away: in other. */
static void sort_from_top(uint64_t *v, uint64_t *other, int64_t n, int lowest, bool away) {
    enum { FEW = 24 };
    uint64_t all = UINT64_MAX, any = 0;
    uint32_t end[MOST_DIGITS];
    for (int64_t i = 0; i < n && n > FEW; i++) all &= v[i], any |= v[i];
    int top = bits_of(all ^ any), log = 63 - __builtin_clzll((uint64_t)n | 1);
    if (n <= FEW || top <= lowest) {
        if (n <= FEW) insert_words(v, n);
        if (away) memcpy(other, v, (size_t)n * sizeof *v);
        return;
    }
    /* as many places to write to as the caches hold; of many words as the table of pages (TLB) holds */
    int width = n > 1 << 20 ? 8 : (int)tra_min64(WIDEST, log - 2);
    width = (int)tra_min64(width, top - lowest);
    scatter(v, other, n, top - width, width, end);
    for (int64_t d = 0, from = 0; d < INT64_C(1) << width; from = end[d++])
        if (end[d] > from) sort_from_top(other + from, v + from, end[d] - from, lowest, !away);
}

/* A word at which the least `most` of n end, about: of some in no order of the rows. */
static uint64_t pivot_of(const uint64_t *v, int64_t n, int64_t most, uint64_t *place) {
    enum { SAMPLES = 15 };
    uint64_t sample[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        *place = *place * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sample[i] = v[(*place >> 32) * (uint64_t)n >> 32];
    }
    insert_words(sample, SAMPLES);
    return sample[(uint64_t)most * SAMPLES / (uint64_t)(n + 1)];
}

/* Brings words below the pivot (equal: or equal to it) before others, without a branch that data decide; how many. */
static int64_t part_words(uint64_t *v, int64_t n, uint64_t pivot, bool equal) {
    int64_t m = 0;
    uint64_t last = pivot + (equal && pivot < UINT64_MAX);
    if (equal && pivot == UINT64_MAX) return n;
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = v[i];
        v[i] = v[m];
        v[m] = x;
        m += x < last;
    }
    return m;
}

void tra_select_words(uint64_t *v, int64_t n, int64_t most) {
    enum { FEW = 24 };
    uint64_t place = tra_hash_seed();
    while (most > 0 && most < n) {
        if (n <= FEW) {
            insert_words(v, n);
            return;
        }
        uint64_t pivot = pivot_of(v, n, most, &place);
        int64_t below = part_words(v, n, pivot, false);
        if (most <= below) {
            n = below;
            continue;
        }
        v += below, n -= below, most -= below;
        if (below > 0) continue;
        int64_t same = part_words(v, n, pivot, true); /* the pivot is the least */
        v += same, n -= same, most -= same;
    }
}

/* Only the least `most` words stay, and those with the same bits of keys as one of them, which the keys that follow
 * may bring before it. */
static void keep_least(words *w, int64_t most) {
    uint64_t last = 0;
    int64_t n = most;
    tra_select_words(w->word, w->n, most);
    for (int64_t i = 0; i < most; i++) last = w->word[i] > last ? w->word[i] : last;
    for (int64_t i = most; i < w->n; i++)
        if (w->word[i] >> w->row_bits == last >> w->row_bits) w->word[n++] = w->word[i];
    w->n = n;
}

/* Rows in the order of the words, which is stable; the first `most` at least. */
static void sort_words(words *w, int64_t most) {
    uint64_t mask = low_bits(w->row_bits);
    if (w->used == 0 || is_ascending(w)) return;
    if (most < w->n) {
        keep_least(w, most);
        sort_from_top(w->word, w->other, w->n, 0, false);
    } else if (w->used <= 2 * WIDEST && w->n <= 1 << 20) {
        uint32_t end[MOST_DIGITS];
        int width = (w->used + 1) / 2;
        for (int shift = 64 - w->used; shift < 64; shift += width) {
            scatter(w->word, w->other, w->n, shift, (int)tra_min64(width, 64 - shift), end);
            uint64_t *t = w->word;
            w->word = w->other;
            w->other = t;
        }
    } else {
        sort_from_top(w->word, w->other, w->n, w->row_bits, false);
    }
    for (int64_t i = 0; i < w->n; i++) w->other[i] = (uint64_t)w->at[w->word[i] & mask];
    memcpy(w->at, w->other, (size_t)w->n * sizeof *w->at);
}

/* ---- making words ------------------------------------------------------------------------------------------------ */

#define CODE_FLOAT(x) tra_order_of_real(x)
#define CODE_INT(x)   tra_order_of_whole(x)
#define CODE_BOOL(x)  tra_order_of_whole(x)
#define CODES(name, text, T, class, ...)                                                                               \
    VECTORS static void codes_of_##name(const T *restrict v, int64_t n, uint64_t *restrict to) {                       \
        for (int64_t i = 0; i < n; i++) to[i] = CODE_##class(v[i]);                                                    \
    }                                                                                                                  \
    static void codes_at_##name(const T *v, const int64_t *at, int64_t n, uint64_t *to) {                              \
        for (int64_t i = 0; i < n; i++) to[i] = CODE_##class(v[at[i]]);                                                \
    }
TRA_DTYPES(CODES)
#undef CODES

void tra_order_codes(tra_dtype t, const void *v, const int64_t *at, int64_t n, uint64_t *to) {
#define CODES(name, text, ...)                                                                                         \
    case TRA_##name: at ? codes_at_##name(v, at, n, to) : codes_of_##name(v, n, to); break;
    switch (t) { TRA_DTYPES(CODES) }
}

VECTORS static void range_of(const uint64_t *v, int64_t n, uint64_t *least, uint64_t *most) {
    uint64_t low = UINT64_MAX, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    *least = low;
    *most = high;
}

/* The highest `room` bits of what has n bits join the words; base: what is 0, or from where they descend. */
VECTORS static void join_bits(uint64_t *restrict word, const uint64_t *restrict v, int64_t n, uint64_t base, bool desc,
                              int down, int up) {
    for (int64_t i = 0; i < n; i++) word[i] |= (desc ? base - v[i] : v[i] - base) >> down << up;
}

/* False: not all bits have room. */
static bool add_bits(words *w, int bits, uint64_t base, bool desc) {
    int room = (int)tra_min64(bits, 64 - w->row_bits - w->used);
    if (room > 0) join_bits(w->word, w->other, w->n, base, desc, bits - room, 64 - w->used - room);
    w->used += room;
    return room == bits;
}

/* A column joins the words: a bit where there are rows without a value and others, then values, counted from the least,
 * or where rows descend from the greatest. False: not all of it has room. */
static bool add_column(words *w, const tra_column *c, const tra_vector *v, bool desc) {
    uint64_t least, most;
    int64_t missing = 0;
    for (int64_t i = 0; v->state && i < w->n; i++) {
        w->other[i] = v->state[w->at[i]] != TRA_STATE_VALUE;
        missing += (int64_t)w->other[i];
    }
    if (missing == w->n) return true;
    if (missing > 0 && !add_bits(w, 1, 0, false)) return false;
    tra_order_codes(tra_coltype_held(c->type), v->values, w->plain ? NULL : w->at, w->n, w->other);
    if (missing > 0) { /* a row without a value takes the least value of the others: its own bit orders it already */
        least = UINT64_MAX, most = 0;
        for (int64_t i = 0; i < w->n; i++) {
            if (v->state[w->at[i]]) continue;
            least = w->other[i] < least ? w->other[i] : least;
            most = w->other[i] > most ? w->other[i] : most;
        }
        for (int64_t i = 0; i < w->n; i++)
            if (v->state[w->at[i]]) w->other[i] = least;
    } else {
        range_of(w->other, w->n, &least, &most);
    }
    return add_bits(w, bits_of(most - least), desc ? most : least, desc);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool is_plain(const int64_t *at, int64_t n) {
    int64_t differ = 0;
    for (int64_t i = 0; i < n; i++) differ |= at[i] ^ i;
    return differ == 0;
}

static void order_rows(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t most, words w) {
    if (w.n <= TRA_ORDER_FEW || w.n > UINT32_MAX) {
        tra_order_by_merging(b, ncolumns, column, desc, w.at, w.n, (int64_t *)w.word);
        return;
    }
    int k = 0;
    w.row_bits = bits_of((uint64_t)w.n - 1);
    w.plain = is_plain(w.at, w.n);
    for (int64_t i = 0; i < w.n; i++) w.word[i] = (uint64_t)i;
    while (k < ncolumns && add_column(&w, &b->schema->v[column[k]], &b->v[column[k]], desc && desc[k])) k++;
    sort_words(&w, most);
    for (int64_t from = 0, end; k < ncolumns && from < tra_min64(most, w.n); from = end) {
        for (end = from + 1; end < w.n && w.word[from] >> w.row_bits == w.word[end] >> w.row_bits;) end++;
        if (end - from > 1)
            order_rows(b, ncolumns - k, column + k, desc ? desc + k : NULL, most - from,
                       (words){.at = w.at + from, .n = end - from, .word = w.word + from, .other = w.other + from});
    }
}

/* Leaves out rows that, by the first column alone, come after `most` others; returns how many stay, in their order. */
static int64_t keep_near(const tra_column *c, const tra_vector *v, bool desc, int64_t *at, int64_t n, int64_t most,
                         uint64_t *near) {
    enum { STRIP = 1024 };
    uint64_t word[STRIP], last = UINT64_MAX, turn = desc ? UINT64_MAX : 0;
    int64_t kept = 0, nnear = 0, room = 2 * most + STRIP;
    for (int64_t from = 0; from < n; from += STRIP) {
        int64_t own = tra_min64(STRIP, n - from), *row = at + from;
        tra_order_codes(tra_coltype_held(c->type), v->values, row, own, word);
        for (int64_t i = 0; i < own; i++) word[i] ^= turn;
        for (int64_t i = 0; v->state && i < own; i++)
            if (v->state[row[i]]) word[i] = UINT64_MAX;
        for (int64_t i = 0; i < own; i++) {
            bool is = word[i] <= last;
            at[kept] = row[i];
            near[nnear] = word[i];
            kept += is, nnear += is;
        }
        if (nnear + STRIP < room) continue;
        tra_select_words(near, nnear, most);
        nnear = most, last = 0;
        for (int64_t i = 0; i < most; i++) last = near[i] > last ? near[i] : last;
    }
    return kept;
}

void tra_order_by_digits(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                         int64_t most, int64_t *spare) {
    enum { LEAST = 4096, FEW = 8 };
    if (ncolumns > 0 && n >= LEAST && most < n / FEW) {
        int c = column ? column[0] : 0;
        n = keep_near(&b->schema->v[c], &b->v[c], desc && desc[0], at, n, most, (uint64_t *)spare);
    }
    order_rows(b, ncolumns, column, desc, most,
               (words){.at = at, .n = n, .word = (uint64_t *)spare, .other = (uint64_t *)spare + n});
}
