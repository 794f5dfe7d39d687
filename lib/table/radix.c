/* radix.c - rows brought into order with few comparisons: values become whole numbers that are ordered as they are. The
 * highest bits of the keys of a row, above its number, make a word. Words are sorted by their digits; rows whose words
 * have the same bits of keys are ordered by the keys that follow. Long work is cut in pieces (base/parallel.h). */
#include "../base/parallel.h"
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

/* In how many pieces work on n words is cut. */
static int pieces_of(int64_t n) {
    enum { STEPS = 2 };
    return tra_parallel_pieces(STEPS * n);
}

/* ---- sorting words ----------------------------------------------------------------------------------------------- */

enum { WIDEST = 11, MOST_DIGITS = 1 << WIDEST, SHARED_WIDTH = 8, SHARED_DIGITS = 1 << SHARED_WIDTH, MANY = 1 << 20 };

static bool is_ascending(const words *w) {
    for (int64_t i = 1; i < w->n; i++)
        if (w->word[i - 1] > w->word[i]) return false;
    return true;
}

static void count_digits(const uint64_t *v, int64_t n, int shift, int width, uint32_t *count) {
    memset(count, 0, sizeof *count << width);
    for (int64_t i = 0; i < n; i++) count[v[i] >> shift & low_bits(width)]++;
}

/* at[d]: where the next word of digit d goes. */
static void place_digits(const uint64_t *v, uint64_t *to, int64_t n, int shift, int width, uint32_t *at) {
    for (int64_t i = 0; i < n; i++) to[at[v[i] >> shift & low_bits(width)]++] = v[i];
}

/* Scatters n words by the digit from `shift` on; end[d] becomes the end of those of digit d. */
static void scatter(const uint64_t *v, uint64_t *to, int64_t n, int shift, int width, uint32_t *end) {
    uint32_t sum = 0;
    count_digits(v, n, shift, width, end);
    for (int64_t d = 0; d < INT64_C(1) << width; d++) {
        uint32_t count = end[d];
        end[d] = sum;
        sum += count;
    }
    place_digits(v, to, n, shift, width, end);
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
    int width = n > MANY ? SHARED_WIDTH : (int)tra_min64(WIDEST, log - 2);
    width = (int)tra_min64(width, top - lowest);
    scatter(v, other, n, top - width, width, end);
    for (int64_t d = 0, from = 0; d < INT64_C(1) << width; from = end[d++])
        if (end[d] > from) sort_from_top(other + from, v + from, end[d] - from, lowest, !away);
}

/* Words that are sorted by the digit from `shift` on in pieces, whose digits are sorted further by pieces then. */
typedef struct sorting {
    uint64_t *v, *other;
    int64_t n;
    int lowest, shift, width, pieces;
    uint64_t all[TRA_PIECES], any[TRA_PIECES];
    uint32_t end[TRA_PIECES][SHARED_DIGITS]; /* of a piece: where its words of each digit are, at last their end */
} sorting;

static void see_bits(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    uint64_t all = UINT64_MAX, any = 0;
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->n, x->pieces, p); i < tra_piece_begin(x->n, x->pieces, p + 1); i++)
        all &= x->v[i], any |= x->v[i];
    x->all[p] = all, x->any[p] = any;
}

static void count_piece(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    int64_t from = tra_piece_begin(x->n, x->pieces, p), to = tra_piece_begin(x->n, x->pieces, p + 1);
    (void)scratch;
    count_digits(x->v + from, to - from, x->shift, x->width, x->end[p]);
}

static void place_piece(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    int64_t from = tra_piece_begin(x->n, x->pieces, p), to = tra_piece_begin(x->n, x->pieces, p + 1);
    (void)scratch;
    place_digits(x->v + from, x->other, to - from, x->shift, x->width, x->end[p]);
}

/* Words of one digit are few enough for one piece. */
static bool is_small(const sorting *x, int64_t n) { return n <= x->n / 4; }

static void sort_digits(void *ctx, int p, void *scratch) {
    sorting *x = ctx;
    const uint32_t *end = x->end[x->pieces - 1];
    int64_t low = tra_piece_begin(x->n, x->pieces, p), high = tra_piece_begin(x->n, x->pieces, p + 1);
    (void)scratch;
    for (int64_t d = 0, from = 0; d < INT64_C(1) << x->width; from = end[d++])
        if (from >= low && from < high && is_small(x, end[d] - from))
            sort_from_top(x->other + from, x->v + from, end[d] - from, x->lowest, true);
}

/* As sort_from_top, in pieces where there are very many words: fewer are sorted by wider digits in less time than
 * handing pieces over spares. The words end in v. */
static void sort_shared(uint64_t *v, uint64_t *other, int64_t n, int lowest) {
    sorting x = {.v = v, .other = other, .n = n, .lowest = lowest, .pieces = pieces_of(n)};
    uint64_t all = UINT64_MAX, any = 0;
    uint32_t sum = 0;
    if (n <= MANY) {
        sort_from_top(v, other, n, lowest, false);
        return;
    }
    tra_parallel(x.pieces, see_bits, &x, NULL);
    for (int p = 0; p < x.pieces; p++) all &= x.all[p], any |= x.any[p];
    int top = bits_of(all ^ any);
    if (top <= lowest) return;
    x.width = (int)tra_min64(SHARED_WIDTH, top - lowest);
    x.shift = top - x.width;
    tra_parallel(x.pieces, count_piece, &x, NULL);
    for (int64_t d = 0; d < INT64_C(1) << x.width; d++) {
        for (int p = 0; p < x.pieces; p++) {
            uint32_t count = x.end[p][d];
            x.end[p][d] = sum;
            sum += count;
        }
    }
    tra_parallel(x.pieces, place_piece, &x, NULL);
    tra_parallel(x.pieces, sort_digits, &x, NULL);
    const uint32_t *end = x.end[x.pieces - 1];
    for (int64_t d = 0, from = 0; d < INT64_C(1) << x.width; from = end[d++]) {
        if (is_small(&x, end[d] - from)) continue;
        memcpy(v + from, other + from, (size_t)(end[d] - from) * sizeof *v);
        sort_shared(v + from, other + from, end[d] - from, lowest);
    }
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

static void number_piece(void *ctx, int p, void *scratch) {
    words *w = ctx;
    uint64_t mask = low_bits(w->row_bits);
    (void)scratch;
    for (int64_t i = tra_piece_begin(w->n, pieces_of(w->n), p); i < tra_piece_begin(w->n, pieces_of(w->n), p + 1); i++)
        w->other[i] = (uint64_t)w->at[w->word[i] & mask];
}

static void copy_piece(void *ctx, int p, void *scratch) {
    words *w = ctx;
    int64_t from = tra_piece_begin(w->n, pieces_of(w->n), p), to = tra_piece_begin(w->n, pieces_of(w->n), p + 1);
    (void)scratch;
    memcpy(w->at + from, w->other + from, (size_t)(to - from) * sizeof *w->at);
}

/* Rows in the order of the words, which is stable; the first `most` at least. */
static void sort_words(words *w, int64_t most) {
    if (w->used == 0 || is_ascending(w)) return;
    if (most < w->n) {
        keep_least(w, most);
        sort_shared(w->word, w->other, w->n, 0);
    } else if (w->used <= 2 * WIDEST && w->n <= MANY) {
        uint32_t end[MOST_DIGITS];
        int width = (w->used + 1) / 2;
        for (int shift = 64 - w->used; shift < 64; shift += width) {
            scatter(w->word, w->other, w->n, shift, (int)tra_min64(width, 64 - shift), end);
            uint64_t *t = w->word;
            w->word = w->other;
            w->other = t;
        }
    } else {
        sort_shared(w->word, w->other, w->n, w->row_bits);
    }
    tra_parallel(pieces_of(w->n), number_piece, w, NULL);
    tra_parallel(pieces_of(w->n), copy_piece, w, NULL);
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

/* A column that joins the words: first its values become numbers, in `other`, then these become bits. */
typedef struct joining {
    words *w;
    const tra_column *c;
    const tra_vector *v;
    int pieces;
    int64_t missing[TRA_PIECES]; /* rows of a piece without a value; of the others the least number and the greatest */
    uint64_t least[TRA_PIECES], most[TRA_PIECES];
    int flag; /* the bit of rows without a value; -1: none has one */
    uint64_t base;
    bool desc;
    int down, up; /* of a number so many bits are left out, and so high are the others */
} joining;

static void make_numbers(void *ctx, int p, void *scratch) {
    joining *x = ctx;
    words *w = x->w;
    int64_t from = tra_piece_begin(w->n, x->pieces, p), to = tra_piece_begin(w->n, x->pieces, p + 1);
    const char *values = (const char *)x->v->values + (w->plain ? (size_t)from * tra_coltype_size(x->c->type) : 0);
    uint64_t least = UINT64_MAX, most = 0;
    (void)scratch;
    for (int64_t i = from; w->used == 0 && i < to; i++) w->word[i] = (uint64_t)i;
    tra_order_codes(tra_coltype_held(x->c->type), values, w->plain ? NULL : w->at + from, to - from, w->other + from);
    x->missing[p] = 0;
    if (x->v->state) {
        for (int64_t i = from; i < to; i++) {
            bool is = x->v->state[w->at[i]] == TRA_STATE_VALUE;
            x->missing[p] += !is;
            least = is && w->other[i] < least ? w->other[i] : least;
            most = is && w->other[i] > most ? w->other[i] : most;
        }
    } else {
        range_of(w->other + from, to - from, &least, &most);
    }
    x->least[p] = least, x->most[p] = most;
}

/* Rows without a value take the base: their own bit orders them already. */
static void join_piece(void *ctx, int p, void *scratch) {
    joining *x = ctx;
    words *w = x->w;
    int64_t from = tra_piece_begin(w->n, x->pieces, p), to = tra_piece_begin(w->n, x->pieces, p + 1);
    (void)scratch;
    for (int64_t i = from; x->flag >= 0 && i < to; i++) {
        bool missing = x->v->state[w->at[i]] != TRA_STATE_VALUE;
        w->word[i] |= (uint64_t)missing << x->flag;
        w->other[i] = missing ? x->base : w->other[i];
    }
    if (x->up < 64) join_bits(w->word + from, w->other + from, to - from, x->base, x->desc, x->down, x->up);
}

/* A column joins the words: a bit where there are rows without a value and others, then values, counted from the least,
 * or where rows descend from the greatest. False: not all of it has room. */
static bool add_column(words *w, const tra_column *c, const tra_vector *v, bool desc) {
    joining x = {.w = w, .c = c, .v = v, .pieces = pieces_of(w->n), .flag = -1, .desc = desc};
    uint64_t least = UINT64_MAX, most = 0;
    int64_t missing = 0;
    tra_parallel(x.pieces, make_numbers, &x, NULL);
    for (int p = 0; p < x.pieces; p++) {
        missing += x.missing[p];
        least = x.least[p] < least ? x.least[p] : least;
        most = x.most[p] > most ? x.most[p] : most;
    }
    if (missing == w->n) return true;
    int room = 64 - w->row_bits - w->used, bits = bits_of(most - least);
    if (missing > 0 && room == 0) return false;
    if (missing > 0) x.flag = 63 - w->used++, room--;
    int taken = (int)tra_min64(bits, room);
    x.base = desc ? most : least;
    x.down = bits - taken;
    x.up = 64 - w->used - taken;
    if (taken == 0) x.up = 64;
    if (taken > 0 || missing > 0) tra_parallel(x.pieces, join_piece, &x, NULL);
    w->used += taken;
    return taken == bits;
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
