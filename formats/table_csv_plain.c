/* table_csv_plain.c - pieces without quotes, cut into cells 64 bytes at a time, and numbers of a few digits.
 *
 * Most of the bytes that are imported are numbers between delimiters. What is anything else is refused here, and goes
 * the general way (tra_csv_record), which gives the same.
 */
#include "table_csv_rows.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Eight bytes, the first in the lowest bits. */
static inline uint64_t load(const char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? x : __builtin_bswap64(x);
}

enum { STRIP = 64 };

/* A bit for each of 64 bytes: whether it is c. */
#ifdef __SSE2__
static inline uint64_t places_of(const char *p, char c) {
    uint64_t set = 0;
    for (int i = 0; i < STRIP; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        set |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c))) << i;
    }
    return set;
}
#else
static inline uint64_t places_of(const char *p, char c) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), all = (unsigned char)c * UINT64_C(0x0101010101010101);
    uint64_t set = 0;
    for (int i = 0; i < STRIP; i += 8) {
        uint64_t x = load(p + i) ^ all, marks = ~(((x & low) + low) | x | low); /* the top bit of each byte that is c */
        set |= (marks >> 7) * UINT64_C(0x0102040810204080) >> 56 << i;
    }
    return set;
}
#endif

static void make_room(tra_csv_cells *to, int64_t need) {
    if (need <= to->cap) return;
    to->cap = 2 * need;
    to->v = tra_realloc(to->v, (size_t)to->cap, sizeof *to->v);
}

/* Are these blanks alone, with which no cell can be meant? */
static inline bool is_blank(const tra_csv_dialect *d, const char *s, size_t n) {
    if (n > 0 && (d->delimiter == ' ' || d->delimiter == '\t')) return false;
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
    return n == 0;
}

/* The cells from `first` on are a record, which ends at byte `end`; false: it has not as many as there are columns. */
static inline bool end_record(const tra_csv_dialect *d, const char *text, int64_t columns, int64_t first, uint32_t end,
                              tra_csv_rows *out) {
    tra_csv_cell *last = &out->cells.v[out->cells.n - 1];
    int64_t n = out->cells.n - first;
    while (last->n > 0 && text[last->at + last->n - 1] == '\r') last->n--;
    if (n == 1 && !d->blank_is_row && is_blank(d, text + last->at, last->n)) {
        out->cells.n--;
        return true;
    }
    if (n != columns) return false;
    if (out->n == out->cap) {
        out->cap = tra_max64(256, 2 * out->cap);
        out->place = tra_realloc(out->place, (size_t)out->cap, sizeof *out->place);
    }
    out->place[out->n][0] = out->cells.v[first].at;
    out->place[out->n++][1] = end;
    return true;
}

bool tra_csv_split_plain(const tra_csv_dialect *d, const tra_csv_piece *p, int64_t columns, tra_csv_rows *out) {
    const char *text = p->text;
    uint32_t bytes = (uint32_t)p->bytes, begin = 0;
    int64_t first = 0;
    char tail[STRIP];
    if (d->comment || d->blanks || d->runs || d->returns || (d->quote && memchr(text, d->quote, bytes))) return false;
    for (uint32_t i = 0; i < bytes; i += STRIP) {
        const char *strip = text + i;
        uint32_t left = bytes - i;
        if (left < STRIP) {
            memset(tail, 0, STRIP);
            strip = memcpy(tail, strip, left);
        }
        uint64_t lines = places_of(strip, '\n'), ends = places_of(strip, d->delimiter) | lines;
        if (left < STRIP) ends &= (UINT64_C(1) << left) - 1;
        make_room(&out->cells, out->cells.n + STRIP + 1);
        for (; ends; ends &= ends - 1) {
            uint32_t at = i + (uint32_t)__builtin_ctzll(ends);
            out->cells.v[out->cells.n++] = (tra_csv_cell){.at = begin, .n = (at - begin) & 0x3fffffff};
            begin = at + 1;
            if (!(lines & ends & -ends)) continue;
            if (!end_record(d, text, columns, first, begin, out)) return false;
            first = out->cells.n;
        }
    }
    if (begin == bytes && first == out->cells.n) return true;
    make_room(&out->cells, out->cells.n + 1); /* a record that the text ends */
    out->cells.v[out->cells.n++] = (tra_csv_cell){.at = begin, .n = (bytes - begin) & 0x3fffffff};
    return end_record(d, text, columns, first, bytes, out);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* The number that the first n digits of eight bytes are. */
static inline uint64_t value_of(uint64_t x, int n) {
    if (n == 0) return 0;
    x <<= 64 - 8 * n;                                     /* the digits end where eight would, and before them is 0 */
    x = ((x & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561) >> 8; /* pairs of digits, pairs of these, and of these */
    x = ((x & UINT64_C(0x00ff00ff00ff00ff)) * 6553601) >> 16;
    return ((x & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001)) >> 32;
}

/* How many of the first bytes are digits. */
static inline int digits_of(uint64_t x) {
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), zeros = UINT64_C(0x3030303030303030);
    uint64_t ten = (x & ~high) + UINT64_C(0x0606060606060606); /* of a nibble above 9 it has one of the high bits */
    uint64_t others = ((x & high) ^ zeros) | (ten & high);
    return others ? __builtin_ctzll(others) / 8 : 8;
}

/* A number as people write most: a sign perhaps, digits, and perhaps a point among them. */
typedef struct number {
    bool negative;
    uint64_t digits;
    int behind; /* digits behind the point; -1: there is none */
} number;

enum { MOST_DIGITS = 18 };

/* The bytes of a cell that is at most eight digits; false: it is something else. */
static inline bool read_short(const tra_csv_piece *p, const tra_csv_cell *x, uint64_t *bytes) {
    if (x->quoted || x->marked || (uint32_t)x->n - 1 >= 8) return false;
    *bytes = load(p->text + x->at);
    return digits_of(*bytes) >= (int)x->n;
}

/* False: the cell is none, or a longer one. */
static inline bool read_number(const tra_csv_piece *p, const tra_csv_cell *x, number *to) {
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const char *s = p->text + x->at, *end = s + x->n, *point = NULL;
    if (x->quoted || x->marked || x->n > MOST_DIGITS + 2) return false;
    to->negative = x->n > 0 && *s == '-';
    to->digits = 0;
    s += to->negative;
    int n = 0;
    for (;;) {
        uint64_t bytes = load(s);
        int k = digits_of(bytes);
        if (k > end - s) k = (int)(end - s);
        to->digits = to->digits * power[k] + value_of(bytes, k);
        n += k;
        s += k;
        if (s == end) break;
        if (k == 8) continue;
        if (*s != '.' || point) return false;
        point = ++s;
        if (s == end) break;
    }
    to->behind = point ? (int)(end - point) : -1;
    return n > 0 && n <= MOST_DIGITS;
}

static int64_t whole_of(const number *x) { return x->negative ? -(int64_t)x->digits : (int64_t)x->digits; }

int64_t tra_csv_skip_numbers(const tra_csv_piece *p, const tra_csv_rows *r, int64_t column, const bool *bad,
                             int64_t row, tra_csv_guess *g) {
    const tra_csv_cell *x = r->cells.v + row * r->columns + column;
    int64_t values = 0, rounded = 0, small = 0;
    bool fraction = false, wide = false, zero = false, uneven = false;
    unsigned width = row < r->n ? x->n : 0;
    for (; row < r->n; row++, x += r->columns) {
        uint64_t bytes;
        number v;
        if (bad && bad[row]) continue;
        if (!read_short(p, x, &bytes) || x->n == 8) {
            if (!read_number(p, x, &v)) break;
            bool whole = v.behind < 0;
            fraction |= !whole;
            uneven |= v.negative || !whole;
            wide |= whole && whole_of(&v) != (int32_t)whole_of(&v);
            rounded += whole && (uint64_t)(double)v.digits != v.digits;
            small += whole && (uint64_t)(float)v.digits != v.digits;
        }
        uneven |= x->n != width;
        zero |= p->text[x->at] == '0' && x->n > 1;
        values++;
    }
    if (values && !uneven) uneven = g->width && g->width != width;
    if (values) g->width = (uint8_t)width;
    g->zero |= zero;
    g->uneven |= uneven;
    g->rounded[0] += rounded;
    g->rounded[1] += small;
    if (values) g->kinds |= 1 << TRA_CSV_NUMBER;
    g->values += values;
    g->fraction |= fraction;
    g->wide |= wide;
    return row;
}

/* What eight digits are fits any double, and any integer of 32 bits. */
#define FITS_FLOAT(T, v) (sizeof(T) == sizeof(double) || (v) <= 1 << FLT_MANT_DIG)
#define FITS_INT(T, v)   (sizeof(T) >= 4 || (int64_t)(T)(v) == (int64_t)(v))
#define FITS_BOOL(T, v)  false
static inline bool put_short(tra_coltype t, uint64_t v, void *values, int64_t at) {
#define X(name, text, T, class, ...)                                                                                   \
    if (t == TRA_COL_##name && FITS_##class(T, v)) return ((T *)values)[at] = (T)v, true;
    TRA_DTYPES(X)
#undef X
    return false;
}

static bool real_of(const number *x, double *v) {
    if (x->behind >= 0) return tra_decimal_num(x->negative, x->digits, -x->behind, v);
    *v = x->negative ? -(double)x->digits : (double)x->digits;
    return true;
}

/* Puts it to a place of a column; false: it is no value of that type, or has to be looked at again. */
static inline bool put_number(tra_coltype t, const number *x, void *values, int64_t at) {
    double v;
#define PUT_FLOAT(T)                                                                                                   \
    return (x->behind >= 0 || x->digits == (uint64_t)(T)x->digits) && real_of(x, &v) &&                                \
           (((T *)values)[at] = (T)v, true);
#define FITS(T)     (x->behind < 0 && whole_of(x) == (T)whole_of(x))
#define PUT_INT(T)  return FITS(T) && (((T *)values)[at] = (T)whole_of(x), true);
#define PUT_BOOL(T) return false;
#define X(name, text, T, class, ...)                                                                                   \
    case TRA_COL_##name: PUT_##class(T)
    switch (t) {
        TRA_DTYPES(X)
#undef X
    case TRA_COL_DATE:
    case TRA_COL_TIMESTAMP:
    case TRA_COL_STRING:
    case TRA_COL_TEXT: break;
    }
    return false;
}

int64_t tra_csv_take_numbers(const tra_csv_piece *p, const tra_csv_rows *r, int64_t column, const bool *bad,
                             int64_t row, tra_coltype t, tra_vector *to, int64_t *at) {
    const tra_csv_cell *x = r->cells.v + row * r->columns + column;
    for (; row < r->n; row++, x += r->columns) {
        uint64_t bytes;
        number v;
        if (bad && bad[row]) continue;
        bool done = read_short(p, x, &bytes) && put_short(t, value_of(bytes, (int)x->n), to->values, *at);
        if (!done && (!read_number(p, x, &v) || !put_number(t, &v, to->values, *at))) break;
        if (to->state) to->state[*at] = TRA_STATE_VALUE;
        ++*at;
    }
    return row;
}
