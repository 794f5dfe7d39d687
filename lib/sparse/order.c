/* order.c - see order.h. Entries are first divided by the high bits of their rows, which threads share by rows of the
 * operand; then each part, which stays in the second cache, is sorted by counting, and parts are shared. */
#include "order.h"

#include "../kernel/share.h"

#include <string.h>

enum { PARTS = 1 << 10, EACH = 1 << 13, DIGIT = 11, BUCKETS = 1 << DIGIT, FEW = 48 };

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
    for (int d = last - 1; d >= 0; rest /= ext->v[d], d--) {
        int l = route->label[d];
        c[d] = d ? rest % ext->v[d] : rest;
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

/* Runs a statement with cell i, its view v, entry k, and the row and column of each entry of a piece that stays. */
#define WALK(x, piece, ...)                                                                                            \
    for (int64_t i = 0, before = 0; i < (x)->n; i++) {                                                                 \
        const tra_ordering *in = &(x)->in[i];                                                                          \
        tra_rows_view v;                                                                                               \
        int64_t row0, column0, from, to;                                                                               \
        int last = in->in->array.ext.n - 1;                                                                            \
        int64_t mr = last >= 0 ? in->route.row[last] : 0, mc = last >= 0 ? in->route.column[last] : 0;                 \
        if (!rows_in(x, piece, (int)i, &before, &v)) continue;                                                         \
        for (int64_t r = 0; r < v.nrows; r++) {                                                                        \
            if (!row_at(in, v.row[r], &row0, &column0, &from, &to)) continue;                                          \
            int64_t k = from > 0 ? tra_rows_entry(&v, r, from) : v.begin[r], end = v.begin[r + 1];                     \
            for (; k < end && (int64_t)v.column[k] < to; k++) {                                                        \
                int64_t row = row0 + (int64_t)v.column[k] * mr, column = column0 + (int64_t)v.column[k] * mc;          \
                if (!tra_not_zero(v.value, in->in->array.dtype, k)) continue;                                          \
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

static void divide_piece(void *ctx, int piece, void *scratch) {
    const job *x = ctx;
    int64_t *at = x->at[piece];
    int shift = x->shift;
    (void)scratch;
    WALK(x, piece, {
        item *to_ = &x->items[at[row >> shift]++];
        to_->row = (uint32_t)row;
        to_->column = (uint32_t)column;
        if (v.size == 8 && in->in->array.dtype == x->t)
            memcpy(&to_->value, v.value + (size_t)k * 8, 8);
        else
            tra_pick(&to_->value, 0, x->t, v.value, in->in->array.dtype, k);
    })
}

/* One pass over a digit; stable. column: of the column, else of the row. */
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

static void sort_few(item *e, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        item x = e[i];
        int64_t j = i;
        for (; j > 0 && (e[j - 1].row > x.row || (e[j - 1].row == x.row && e[j - 1].column > x.column)); j--)
            e[j] = e[j - 1];
        e[j] = x;
    }
}

/* Sorts the entries of a part, which stay where they are; other: room for as many. */
static void sort_part(item *e, item *other, int64_t n) {
    uint32_t rows = 0, columns = 0;
    bool sorted = true, columns_sorted = true;
    for (int64_t i = 1; i < n; i++) {
        rows |= e[i].row ^ e[i - 1].row;
        columns |= e[i].column ^ e[i - 1].column;
        columns_sorted &= e[i].column >= e[i - 1].column;
        sorted &= e[i].row > e[i - 1].row || (e[i].row == e[i - 1].row && e[i].column >= e[i - 1].column);
    }
    if (sorted) return;
    if (n < FEW) {
        sort_few(e, n);
        return;
    }
    item *begin = e;
    for (int column = 1; column >= 0; column--) {
        uint32_t bits = column ? (columns_sorted ? 0 : columns) : rows;
        for (int shift = 0; shift < 32 && bits >> shift; shift += DIGIT) {
            if (!((bits >> shift) & (BUCKETS - 1))) continue;
            pass(e, other, n, column, shift);
            item *swap = e;
            e = other;
            other = swap;
        }
    }
    if (e != begin) memcpy(begin, e, (size_t)n * sizeof *e);
}

static void sort_parts(void *ctx, int group, void *scratch) {
    const job *x = ctx;
    (void)scratch;
    for (int64_t p = x->parts * group / x->groups; p < x->parts * (group + 1) / x->groups; p++) {
        int64_t from = x->first[p], to = x->first[p + 1], rows = to > from;
        sort_part(x->items + from, x->other + from, to - from);
        for (int64_t i = from + 1; i < to; i++) rows += x->items[i].row != x->items[i - 1].row;
        x->rows[p + 1] = rows;
    }
}

static void write_parts(void *ctx, int group, void *scratch) {
    const job *x = ctx;
    const tra_rows_view *v = x->out;
    size_t size = v->size;
    (void)scratch;
    for (int64_t p = x->parts * group / x->groups; p < x->parts * (group + 1) / x->groups; p++) {
        int64_t row = x->rows[p];
        for (int64_t i = x->first[p]; i < x->first[p + 1]; i++) {
            const item *e = &x->items[i];
            if (i == x->first[p] || e->row != e[-1].row) v->row[row] = e->row, v->begin[row++] = i;
            v->column[i] = e->column;
            if (size == 8)
                ((uint64_t *)(void *)v->value)[i] = e->value;
            else
                memcpy(v->value + (size_t)i * size, &e->value, size);
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
    while (x.parts < PARTS && x.parts * EACH < entries && x.parts < row_box) x.parts *= 2, x.shift++;
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
