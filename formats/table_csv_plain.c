/* table_csv_plain.c - pieces without quotes, cut into cells eight bytes at a time, and whole numbers of few digits.
 *
 * Most of the bytes that are imported are numbers between delimiters. What is anything else is refused here, and goes
 * the general way (tra_csv_record), which gives the same.
 */
#include "table_csv_rows.h"

#include <stdlib.h>
#include <string.h>

/* The top bit of each byte of x that is c. */
static inline uint64_t marks(uint64_t x, uint64_t c) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    x ^= c;
    return ~(((x & low) + low) | x | low);
}

static uint64_t in_all_bytes(char c) { return (unsigned char)c * UINT64_C(0x0101010101010101); }

/* Eight bytes, the first in the lowest bits. */
static inline uint64_t load(const char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? x : __builtin_bswap64(x);
}

static void make_room(tra_csv_cells *to, int64_t need) {
    if (need <= to->cap) return;
    to->cap = 2 * need;
    to->v = tra_realloc(to->v, (size_t)to->cap, sizeof *to->v);
}

/* The cells from `first` on are a record, which ends at byte `end`; false: it has not as many as there are columns. */
static inline bool end_record(const tra_csv_dialect *d, const char *text, int64_t columns, int64_t first, uint32_t end,
                              tra_csv_rows *out) {
    tra_csv_cell *last = &out->cells.v[out->cells.n - 1];
    int64_t n = out->cells.n - first;
    while (last->n > 0 && text[last->at + last->n - 1] == '\r') last->n--;
    if (n == 1 && last->n == 0 && !d->blank_is_row) {
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
    const uint64_t delimiter = in_all_bytes(d->delimiter), newline = in_all_bytes('\n');
    uint32_t bytes = (uint32_t)p->bytes, begin = 0;
    int64_t first = 0;
    if (d->comment || d->blanks || d->returns || (d->quote && memchr(text, d->quote, bytes))) return false;
    for (uint32_t i = 0; i < bytes; i += 8) {
        uint64_t x = load(text + i), ends = marks(x, delimiter) | marks(x, newline);
        if (bytes - i < 8) ends &= (UINT64_C(1) << 8 * (bytes - i)) - 1;
        make_room(&out->cells, out->cells.n + 9);
        for (; ends; ends &= ends - 1) {
            uint32_t at = i + (uint32_t)__builtin_ctzll(ends) / 8;
            out->cells.v[out->cells.n++] = (tra_csv_cell){.at = begin, .n = (at - begin) & 0x3fffffff};
            begin = at + 1;
            if (text[at] != '\n') continue;
            if (!end_record(d, text, columns, first, begin, out)) return false;
            first = out->cells.n;
        }
    }
    if (begin == bytes && first == out->cells.n) return true;
    make_room(&out->cells, out->cells.n + 1); /* a record that the text ends */
    out->cells.v[out->cells.n++] = (tra_csv_cell){.at = begin, .n = (bytes - begin) & 0x3fffffff};
    return end_record(d, text, columns, first, bytes, out);
}

/* The number that 1 to 8 digits are; false: they are others. s[8] may be read. */
static inline bool digits(const char *s, size_t n, int32_t *v) {
    const uint64_t zeros = UINT64_C(0x3030303030303030), high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t x = load(s) << (64 - 8 * n); /* they end where a number of eight digits ends, */
    if (n < 8) x |= zeros >> 8 * n;       /* and zeros are before them */
    if ((x & high) != zeros || ((x + UINT64_C(0x0606060606060606)) & high) != zeros) return false;
    x = ((x & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561) >> 8; /* pairs of digits, pairs of these, and of these */
    x = ((x & UINT64_C(0x00ff00ff00ff00ff)) * 6553601) >> 16;
    *v = (int32_t)(((x & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001)) >> 32);
    return true;
}

/* Cells of a column that have none but a few digits: such numbers are no words for NULL, unless the user gave some. */
static inline bool is_short(const tra_csv_cell *x) { return !x->quoted && !x->marked && (uint32_t)x->n - 1 < 8; }

int64_t tra_csv_skip_digits(const tra_csv_piece *p, const tra_csv_rows *r, int64_t column, const bool *bad, int64_t row,
                            int64_t *values) {
    const tra_csv_cell *x = r->cells.v + row * r->columns + column;
    for (; row < r->n; row++, x += r->columns) {
        int32_t v;
        if (bad[row]) continue;
        if (!is_short(x) || !digits(p->text + x->at, x->n, &v)) break;
        ++*values;
    }
    return row;
}

#define TAKE(T)                                                                                                        \
    for (; row < r->n; row++, x += r->columns) {                                                                       \
        int32_t v;                                                                                                     \
        if (bad[row]) continue;                                                                                        \
        if (!is_short(x) || !digits(p->text + x->at, x->n, &v)) break;                                                 \
        ((T *)to->values)[*at] = (T)v;                                                                                 \
        if (to->state) to->state[*at] = TRA_STATE_VALUE;                                                               \
        ++*at;                                                                                                         \
    }                                                                                                                  \
    break;

int64_t tra_csv_take_digits(const tra_csv_piece *p, const tra_csv_rows *r, int64_t column, const bool *bad, int64_t row,
                            tra_coltype t, tra_vector *to, int64_t *at) {
    const tra_csv_cell *x = r->cells.v + row * r->columns + column;
    if (!tra_coltype_is_number(t)) return row;
    switch (tra_coltype_held(t)) {
    case TRA_BOOL: break;
    case TRA_I32: TAKE(int32_t)
    case TRA_I64: TAKE(int64_t)
    case TRA_F32: TAKE(float)
    case TRA_F64: TAKE(double)
    }
    return row;
}
