/* radix.c - rows brought into order without comparing them: values become whole numbers that are ordered as they are,
 * and these are sorted digit by digit, from the last key to the first. */
#include "order.h"

#include <string.h>

/* A word is the number of a row, in the order so far, below as many bits of keys as have room: of the last key the
 * lowest bits lie lowest. When a word is full the rows are sorted by it, which is stable, and the next bits begin. */
typedef struct words {
    int64_t *at, n;
    uint64_t *word, *other; /* n each */
    int row_bits, used;     /* used: bits of keys */
} words;

static int bits_of(uint64_t most) { return most ? 64 - __builtin_clzll(most) : 0; }
static uint64_t low_bits(int n) { return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1; }

static void begin_words(words *w) {
    for (int64_t i = 0; i < w->n; i++) w->word[i] = (uint64_t)i;
    w->used = 0;
}

static bool is_ascending(const words *w) {
    for (int64_t i = 1; i < w->n; i++)
        if (w->word[i - 1] > w->word[i]) return false;
    return true;
}

/* One digit, of so many bits from `shift` on. */
static void sort_digit(words *w, int shift, int width) {
    enum { MOST = 1 << 11 };
    int64_t place[MOST] = {0}, sum = 0;
    uint64_t mask = low_bits(width);
    for (int64_t i = 0; i < w->n; i++) place[w->word[i] >> shift & mask]++;
    if (place[w->word[0] >> shift & mask] == w->n) return;
    for (uint64_t d = 0; d <= mask; d++) {
        int64_t count = place[d];
        place[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < w->n; i++) w->other[place[w->word[i] >> shift & mask]++] = w->word[i];
    uint64_t *t = w->word;
    w->word = w->other;
    w->other = t;
}

/* Rows in the order of the words, of which there are none then. */
static void sort_words(words *w) {
    if (w->used == 0) return;
    if (!is_ascending(w)) {
        int widest = w->n < 1 << 13 || w->n > 1 << 20 ? 8 : 11; /* what caches hold of places, and of pages */
        int passes = (int)tra_ceil_div(w->used, widest), width = (int)tra_ceil_div(w->used, passes);
        for (int from = 0; from < w->used; from += width)
            sort_digit(w, w->row_bits + from, tra_min64(width, w->used - from));
        uint64_t mask = low_bits(w->row_bits);
        for (int64_t i = 0; i < w->n; i++) w->other[i] = (uint64_t)w->at[w->word[i] & mask];
        memcpy(w->at, w->other, (size_t)w->n * sizeof *w->at);
    }
    begin_words(w);
}

#define CODE_FLOAT(x) tra_order_of_real(x)
#define CODE_INT(x)   tra_order_of_whole(x)
#define CODE_BOOL(x)  tra_order_of_whole(x)
#define CODES(name, text, T, class, ...)                                                                               \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < w->n; i++) w->other[i] = CODE_##class(((const T *)v->values)[w->at[i]]);               \
        break;

/* Of every row a number that is ordered as its value is, into w->other. */
static void take_codes(words *w, tra_coltype t, const tra_vector *v) {
    switch (tra_coltype_held(t)) { TRA_DTYPES(CODES) }
}

typedef struct range {
    uint64_t least, most;
    int bits;
    bool some_missing; /* there are rows without a value, and others */
} range;

static range range_of(words *w, const tra_column *c, const tra_vector *v) {
    range r = {.least = UINT64_MAX};
    int64_t missing = 0;
    take_codes(w, c->type, v);
    for (int64_t i = 0; v->state && i < w->n; i++) {
        bool none = v->state[w->at[i]];
        missing += none;
        if (none) continue;
        if (w->other[i] < r.least) r.least = w->other[i];
        if (w->other[i] > r.most) r.most = w->other[i];
    }
    for (int64_t i = 0; !v->state && i < w->n; i++) {
        r.least = w->other[i] < r.least ? w->other[i] : r.least;
        r.most = w->other[i] > r.most ? w->other[i] : r.most;
    }
    r.bits = missing == w->n ? 0 : bits_of(r.most - r.least);
    r.some_missing = missing > 0 && missing < w->n;
    return r;
}

/* Codes, counted from the least, or where rows descend from the greatest; what has no value is 0. */
static void count_codes(words *w, const tra_vector *v, bool desc, const range *r) {
    for (int64_t i = 0; i < w->n; i++) w->other[i] = desc ? r->most - w->other[i] : w->other[i] - r->least;
    for (int64_t i = 0; v->state && i < w->n; i++)
        if (v->state[w->at[i]]) w->other[i] = 0;
}

/* Bits `from` to from + n of w->other join the words. */
static void add_bits(words *w, int from, int n) {
    uint64_t mask = low_bits(n);
    int shift = w->row_bits + w->used;
    for (int64_t i = 0; i < w->n; i++) w->word[i] |= (w->other[i] >> from & mask) << shift;
    w->used += n;
}

/* Another bit, above those of the value. */
static void add_missing(words *w, const tra_vector *v) {
    for (int64_t i = 0; i < w->n; i++) w->other[i] = v->state[w->at[i]] != TRA_STATE_VALUE;
    add_bits(w, 0, 1);
}

static void add_column(words *w, const tra_column *c, const tra_vector *v, bool desc) {
    range r = range_of(w, c, v);
    int room = 64 - w->row_bits;
    bool fresh = true; /* w->other has codes */
    for (int from = 0, n; from < r.bits; from += n, fresh = false) {
        if (w->used == room) sort_words(w), fresh = false;
        n = (int)tra_min64(r.bits - from, room - w->used);
        if (!fresh) take_codes(w, c->type, v);
        count_codes(w, v, desc, &r);
        add_bits(w, from, n);
    }
    if (r.some_missing && w->used == room) sort_words(w);
    if (r.some_missing) add_missing(w, v);
}

void tra_order_by_digits(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                         int64_t *spare) {
    words w = {.at = at, .n = n, .word = (uint64_t *)spare, .other = (uint64_t *)spare + n};
    w.row_bits = bits_of((uint64_t)n);
    begin_words(&w);
    for (int k = ncolumns - 1; k >= 0; k--) add_column(&w, &b->schema->v[column[k]], &b->v[column[k]], desc && desc[k]);
    sort_words(&w);
}
