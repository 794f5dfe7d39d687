/* order.c - see order.h. Entries are first divided by the high bits of their rows, which threads share by rows of the
 * operand; then those of each part, which stays in the second cache, are counted by row and put to their places, and
 * parts are shared. */
#include "order.h"

#include "../base/simd.h"
#include "../kernel/share.h"

#include <string.h>

enum { PARTS = 1 << 10, EACH = 1 << 13, LEAST = 1 << 6, DIGIT = 11, BUCKETS = 1 << DIGIT };

/* An entry on its way; its value is of the type that is wanted. */
typedef struct item {
    uint32_t row, column;
    uint64_t value;
} item;

typedef struct job {
    const tra_ordering *in;
    int n;
    tra_dtype t;
    int64_t cuts[TRA_PIECES + 1]; /* rows of all cells, one after the other */
    int pieces, shift;
    int64_t parts, groups; /* groups: of parts, each of which one piece of work sorts */
    int64_t (*at)[PARTS];  /* of each piece: how many entries it has of each part, then where these go */
    int64_t *first;        /* of each part and the end: its first entry */
    int64_t *rows;         /* of each part and the end: its first row */
    item *items, *other;
    tra_rows_view *out;
} job;

static int64_t fixed_room(void) { return tra_round64(TRA_PIECES * PARTS * 8) + 2 * tra_round64((PARTS + 1) * 8); }

int64_t tra_order_room(int64_t entries, int64_t rows) {
    int64_t n = tra_add_most(tra_mul_most(4 + 8, entries), tra_mul_most(16, tra_min64(rows, entries)));
    n = tra_max64(n, tra_mul_most(sizeof(item), entries)); /* which are sorted there before */
    return tra_min64(TRA_SIZE_MOST, tra_add_most(n, 8 * 64));
}

int64_t tra_order_scratch(int64_t entries, bool room) {
    int64_t n = tra_mul_most((room ? 1 : 2) * (int64_t)sizeof(item), entries);
    return tra_min64(TRA_SIZE_MOST, tra_add_most(n, fixed_room() + 128));
}

/* The coordinates that the leading dimensions of a row of the operand give its entries; false: none of them stays.
 * *from and *to: columns that stay. */
static bool row_at(const tra_ordering *in, int64_t rest, int64_t *row, int64_t *column, int64_t *from, int64_t *to) {
    const tra_route *route = &in->route;
    const tra_dims *ext = &in->in->array.ext;
    int last = ext->n - 1;
    int64_t c[TRA_MAXDIM], only = -1;
    *row = in->row;
    *column = in->column;
    *from = 0;
    *to = tra_last_extent(ext);
    if (route->from && ext->n)
        *from = route->from[route->label[last]], *to = tra_min64(*to, route->to[route->label[last]]);
    for (int d = last - 1; d >= 0; d--) {
        int l = route->label[d];
        c[d] = d ? rest % ext->v[d] : rest;
        if (d) rest /= ext->v[d];
        *row += c[d] * route->row[d];
        *column += c[d] * route->column[d];
        if (route->from && (c[d] < route->from[l] || c[d] >= route->to[l])) return false;
        if (l == route->label[last] && only >= 0 && only != c[d]) return false;
        if (l == route->label[last]) only = c[d];
        for (int i = d + 1; i < last; i++)
            if (route->label[i] == l && c[i] != c[d]) return false;
    }
    if (only >= 0) *from = tra_max64(*from, only), *to = tra_min64(*to, only + 1);
    return *from < *to;
}

/* The rows of a cell that a piece has; false: none. */
static bool rows_in(const job *x, int piece, int i, int64_t *before, tra_rows_view *v) {
    *v = tra_rows_of(x->in[i].in);
    int64_t first = *before, from = tra_max64(0, x->cuts[piece] - first), to = x->cuts[piece + 1] - first;
    *before += v->nrows;
    to = tra_min64(to, v->nrows);
    if (from >= to) return false;
    v->row += from;
    v->begin += from;
    v->nrows = to - from;
    return true;
}

/* Is one of the values 0? */
TRA_ANY_TARGET __attribute__((optimize("O3"))) static bool holds_zero(const tra_rows_view *v, tra_dtype t) {
    const char *value = v->value + (size_t)v->begin[0] * v->size;
    int64_t n = v->begin[v->nrows] - v->begin[0], zeros = 0;
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < n; i++) zeros += ((const type *)(const void *)value)[i] == 0;                          \
        break;
        TRA_DTYPES(X)
#undef X
    }
    return zeros > 0;
}

/* Runs a statement with cell i, its view v, entry k, and the row and column of each entry of a piece that stays. */
#define WALK(x, piece, ...)                                                                                            \
    for (int64_t i = 0, before = 0; i < (x)->n; i++) {                                                                 \
        const tra_ordering *in = &(x)->in[i];                                                                          \
        tra_rows_view v;                                                                                               \
        int64_t row0, column0, from, to;                                                                               \
        int last = in->in->array.ext.n - 1;                                                                            \
        int64_t mr = last >= 0 ? in->route.row[last] : 0, mc = last >= 0 ? in->route.column[last] : 0;                 \
        if (!rows_in(x, piece, (int)i, &before, &v)) continue;                                                         \
        bool zeros = holds_zero(&v, in->in->array.dtype);                                                              \
        for (int64_t r = 0; r < v.nrows; r++) {                                                                        \
            if (!row_at(in, v.row[r], &row0, &column0, &from, &to)) continue;                                          \
            int64_t k = from > 0 ? tra_rows_entry(&v, r, from) : v.begin[r], end = v.begin[r + 1];                     \
            for (; k < end && (int64_t)v.column[k] < to; k++) {                                                        \
                int64_t row = row0 + (int64_t)v.column[k] * mr, column = column0 + (int64_t)v.column[k] * mc;          \
                if (zeros && !tra_not_zero(v.value, in->in->array.dtype, k)) continue;                                 \
                (void)column;                                                                                          \
                __VA_ARGS__;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

static void count_piece(void *ctx, int piece, void *scratch) {
    const job *x = ctx;
    int64_t *at = x->at[piece];
    int shift = x->shift;
    (void)scratch;
    memset(at, 0, (size_t)x->parts * sizeof *at);
    WALK(x, piece, at[row >> shift]++)
}

/* Copies a value of at most eight bytes. */
static inline void copy_value(void *to, const void *from, size_t size) {
    if (size == 8)
        memcpy(to, from, 8);
    else if (size == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, size);
}

static void divide_piece(void *ctx, int piece, void *scratch) {
    const job *x = ctx;
    int64_t *at = x->at[piece];
    int shift = x->shift;
    (void)scratch;
    WALK(x, piece, {
        item *to_ = &x->items[at[row >> shift]++];
        to_->row = (uint32_t)row;
        to_->column = (uint32_t)column;
        if (in->in->array.dtype == x->t)
            copy_value(&to_->value, v.value + (size_t)k * v.size, v.size);
        else
            tra_pick(&to_->value, 0, x->t, v.value, in->in->array.dtype, k);
    })
}

/* One pass over BUCKETS values of the column or row; stable. */
static void pass(const item *from, item *to, int64_t n, bool column, int shift) {
    uint32_t at[BUCKETS], sum = 0;
    memset(at, 0, sizeof at);
#define DIGIT_OF(e) ((column ? (e).column : (e).row) >> shift & (BUCKETS - 1))
    for (int64_t i = 0; i < n; i++) at[DIGIT_OF(from[i])]++;
    for (int d = 0; d < BUCKETS; d++) {
        uint32_t here = at[d];
        at[d] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++) to[at[DIGIT_OF(from[i])]++] = from[i];
#undef DIGIT_OF
}

/* Sorts items by the bits of columns, then by those of rows from `shift` on, in which they differ; other: room for as
 * many. */
static void sort_items(item *e, item *other, int64_t n, uint32_t columns, uint32_t rows, int row_shift) {
    item *begin = e;
    for (int column = 1; column >= 0; column--) {
        uint32_t bits = column ? columns : rows;
        for (int shift = column ? 0 : row_shift; shift < 32 && bits >> shift; shift += DIGIT) {
            if (!((bits >> shift) & (BUCKETS - 1))) continue;
            pass(e, other, n, column, shift);
            item *swap = e;
            e = other;
            other = swap;
        }
    }
    if (e != begin) memcpy(begin, e, (size_t)n * sizeof *e);
}

/* The entries of a part from `from` on whose rows agree but for the last DIGIT bits; all those of a part of that many
 * rows, else the part is sorted so far. Returns where they end. */
static int64_t run_end(const job *x, int64_t from, int64_t to) {
    if (x->shift <= DIGIT) return to;
    uint32_t high = x->items[from].row >> DIGIT;
    int64_t at = from + 1;
    while (at < to && x->items[at].row >> DIGIT == high) at++;
    return at;
}

/* Brings the entries of each part into an order in which those of one row have ascending columns, and those whose rows
 * agree but for the last DIGIT bits are together; counts rows. */
static void sort_parts(void *ctx, int group, void *scratch) {
    const job *x = ctx;
    struct {
        uint32_t part, column; /* 1 + the run that had an entry of this row last, and its column */
    } last[BUCKETS];
    uint32_t run = 0;
    (void)scratch;
    memset(last, 0, sizeof last);
    for (int64_t p = x->parts * group / x->groups; p < x->parts * (group + 1) / x->groups; p++) {
        int64_t from = x->first[p], to = x->first[p + 1], rows = 0;
        uint32_t row_bits = 0, column_bits = 0;
        for (int64_t i = from + 1; i < to; i++) {
            row_bits |= x->items[i].row ^ x->items[from].row;
            column_bits |= x->items[i].column ^ x->items[from].column;
        }
        if (row_bits >> DIGIT) sort_items(x->items + from, x->other + from, to - from, 0, row_bits, DIGIT);
        for (int64_t i = from; i < to;) {
            bool ascends = true;
            int64_t end = run_end(x, i, to), begin = i;
            if (++run == 0) memset(last, 0, sizeof last), run = 1;
            for (; i < end; i++) {
                const item *e = &x->items[i];
                uint32_t at = e->row & (BUCKETS - 1);
                bool again = last[at].part == run;
                rows += !again;
                ascends &= !again || e->column >= last[at].column;
                last[at].part = run;
                last[at].column = e->column;
            }
            if (!ascends) sort_items(x->items + begin, x->other + begin, end - begin, column_bits, 0, 0);
        }
        x->rows[p + 1] = rows;
    }
}

/* Puts entries to their places by counting those of each row. */
static void write_run(const tra_rows_view *v, const item *e, int64_t n, int64_t at, int64_t *row, uint32_t *count) {
    uint64_t has[BUCKETS / 64] = {0};
    size_t size = v->size;
    int64_t sum = at, high = (int64_t)(e->row & ~(uint32_t)(BUCKETS - 1));
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = e[i].row & (BUCKETS - 1);
        count[r]++;
        has[r / 64] |= (uint64_t)1 << (r & 63);
    }
    uint32_t here[BUCKETS];
    for (int w = 0; w < BUCKETS / 64; w++)
        for (uint64_t left = has[w]; left; left &= left - 1) {
            uint32_t r = (uint32_t)w * 64 + (uint32_t)__builtin_ctzll(left);
            v->row[*row] = high + r, v->begin[(*row)++] = sum;
            here[r] = (uint32_t)(sum - at);
            sum += count[r];
            count[r] = 0;
        }
    for (int64_t i = 0; i < n; i++) {
        int64_t k = at + here[e[i].row & (BUCKETS - 1)]++;
        v->column[k] = e[i].column;
        copy_value(v->value + (size_t)k * size, &e[i].value, size);
    }
}

static void write_parts(void *ctx, int group, void *scratch) {
    const job *x = ctx;
    uint32_t count[BUCKETS] = {0};
    (void)scratch;
    for (int64_t p = x->parts * group / x->groups; p < x->parts * (group + 1) / x->groups; p++) {
        int64_t row = x->rows[p], end;
        for (int64_t i = x->first[p]; i < x->first[p + 1]; i = end) {
            end = run_end(x, i, x->first[p + 1]);
            write_run(x->out, x->items + i, end - i, i, &row, count);
        }
    }
}

/* Where each piece's entries of each part go, in the order of the operand. */
static int64_t place(job *x) {
    int64_t n = 0;
    for (int64_t p = 0; p < x->parts; p++) {
        x->first[p] = n;
        for (int i = 0; i < x->pieces; i++) {
            int64_t here = x->at[i][p];
            x->at[i][p] = n;
            n += here;
        }
    }
    return x->first[x->parts] = n;
}

static void *take(char **room, int64_t bytes) {
    void *p = *room;
    *room += tra_round64(bytes);
    return p;
}

/* Cuts the rows of all cells in pieces of about as many entries. */
static void cut(job *x, int64_t entries) {
    int most = tra_share_pieces(tra_mul_most(8, entries)), cell = 0;
    int64_t rows = 0, before = 0; /* of the cells before this one */
    x->pieces = 0;
    x->cuts[0] = 0;
    for (int p = 1; p <= most; p++) {
        int64_t want = (int64_t)((__int128)entries * p / most), r = 0;
        tra_rows_view v = tra_rows_of(x->in[cell].in);
        while (cell + 1 < x->n && before + v.n < want) {
            rows += v.nrows;
            before += v.n;
            v = tra_rows_of(x->in[++cell].in);
        }
        TRA_BISECT(r, v.nrows, mid, before + v.begin[mid] < want);
        if (p == most) r = v.nrows;
        if (rows + r > x->cuts[x->pieces] || p == most) x->cuts[++x->pieces] = rows + r;
    }
}

void tra_order_entries(const tra_ordering *in, int n, int64_t row_box, tra_dtype t, void *room, void *scratch,
                       tra_rows_view *out) {
    job x = {.in = in, .n = n, .t = t, .out = out, .parts = 1};
    char *at = scratch;
    int64_t entries = 0;
    int bits = 0;
    while (row_box > 1 && (row_box - 1) >> bits) bits++;
    for (int i = 0; i < n; i++) entries += tra_rows_of(in[i].in).n;
    x.at = take(&at, TRA_PIECES * PARTS * 8);
    x.first = take(&at, (PARTS + 1) * 8);
    x.rows = take(&at, (PARTS + 1) * 8);
    x.items = take(&at, entries * (int64_t)sizeof(item));
    x.other = room ? room : take(&at, entries * (int64_t)sizeof(item)); /* until the result is written there */
    /* so many parts that each stays in the cache, and has few enough rows to be counted at once if that is no more than
     * the entries are worth */
    while (x.parts < PARTS && x.parts < row_box &&
           (x.parts * EACH < entries || (bits - x.shift > DIGIT && x.parts * LEAST < entries)))
        x.parts *= 2, x.shift++;
    x.shift = (int)tra_max64(0, bits - x.shift);
    cut(&x, entries);
    x.groups = tra_min64(x.parts, tra_share_pieces(tra_mul_most(16, entries)));
    tra_share(x.pieces, count_piece, &x, NULL);
    int64_t all = place(&x);
    if (room) *out = (tra_rows_view){.size = tra_dtype_size(t)};
    out->n = all;
    tra_share(x.pieces, divide_piece, &x, NULL);
    tra_share((int)x.groups, sort_parts, &x, NULL);
    x.rows[0] = 0;
    for (int64_t p = 0; p < x.parts; p++) x.rows[p + 1] += x.rows[p];
    out->nrows = x.rows[x.parts];
    if (room) {
        at = room;
        out->column = take(&at, 4 * out->n);
        out->value = take(&at, 8 * out->n);
        out->row = take(&at, 8 * out->nrows);
        out->begin = take(&at, 8 * (out->nrows + 1));
    }
    tra_share((int)x.groups, write_parts, &x, NULL);
    out->begin[out->nrows] = out->n;
}

int64_t tra_order_count(const tra_ordering *in, int64_t row_box, void *scratch, int64_t *rows) {
    job x = {.in = in, .n = 1, .cuts = {0, tra_rows_of(in->in).nrows}, .pieces = 1};
    uint64_t *seen = memset(scratch, 0, (size_t)(tra_ceil_div(row_box, 64) * 8));
    int64_t n = 0;
    *rows = 0;
    WALK(&x, 0, {
        uint64_t bit = (uint64_t)1 << (row & 63);
        *rows += !(seen[row >> 6] & bit);
        seen[row >> 6] |= bit;
        n++;
    })
    return n;
}
