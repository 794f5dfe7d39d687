/* order.c - see order.h: what brings the entries of cells to lib/model/turn.h. */
#include "order.h"

#include <string.h>

typedef struct job {
    const tra_ordering *in;
    int n;
    tra_dtype t;
    int64_t cuts[TRA_PIECES + 1]; /* rows of all cells, one after the other */
    tra_turn turn;
} job;

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
    if (x->in[i].value) v->value = (char *)(uintptr_t)x->in[i].value, v->size = tra_dtype_size(x->in[i].type);
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
        tra_dtype type = in->value ? in->type : in->in->array.dtype;                                                   \
        bool zeros = tra_has_zero(v.value + (size_t)v.begin[0] * v.size, type, v.begin[v.nrows] - v.begin[0]);         \
        for (int64_t r = 0; r < v.nrows; r++) {                                                                        \
            if (!row_at(in, v.row[r], &row0, &column0, &from, &to)) continue;                                          \
            int64_t k = from > 0 ? tra_rows_entry(&v, r, from) : v.begin[r], end = v.begin[r + 1];                     \
            for (; k < end && (int64_t)v.column[k] < to; k++) {                                                        \
                int64_t row = row0 + (int64_t)v.column[k] * mr, column = column0 + (int64_t)v.column[k] * mc;          \
                if (zeros && !tra_not_zero(v.value, type, k)) continue;                                                \
                (void)column;                                                                                          \
                __VA_ARGS__;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

static void count_piece(void *ctx, int piece, void *scratch) {
    const job *x = ctx;
    int64_t *at = x->turn.at[piece];
    int shift = x->turn.shift;
    (void)scratch;
    memset(at, 0, (size_t)x->turn.parts * sizeof *at);
    WALK(x, piece, at[row >> shift]++)
}

static void divide_piece(void *ctx, int piece, void *scratch) {
    const job *x = ctx;
    int64_t *at = x->turn.at[piece];
    int shift = x->turn.shift;
    (void)scratch;
    WALK(x, piece, {
        tra_turn_item *to_ = &x->turn.items[at[row >> shift]++];
        to_->row = (uint32_t)row;
        to_->column = (uint32_t)column;
        if (type == x->t)
            tra_turn_value(&to_->value, v.value + (size_t)k * v.size, v.size);
        else
            tra_pick(&to_->value, 0, x->t, v.value, type, k);
    })
}

/* Cuts the rows of all cells in pieces of about as many entries. */
static void cut(job *x, int64_t entries) {
    int most = tra_parallel_pieces(tra_mul_most(8, entries)), cell = 0;
    int64_t rows = 0, before = 0; /* of the cells before this one */
    x->turn.pieces = 0;
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
        if (rows + r > x->cuts[x->turn.pieces] || p == most) x->cuts[++x->turn.pieces] = rows + r;
    }
}

void tra_order_entries(const tra_ordering *in, int n, int64_t row_box, tra_dtype t, void *room, void *scratch,
                       tra_rows_view *out) {
    job x = {.in = in, .n = n, .t = t};
    int64_t entries = 0;
    for (int i = 0; i < n; i++) entries += tra_rows_of(in[i].in).n;
    tra_turn_begin(&x.turn, entries, row_box, room, scratch);
    cut(&x, entries);
    tra_parallel(x.turn.pieces, count_piece, &x, NULL);
    int64_t all = tra_turn_place(&x.turn);
    tra_parallel(x.turn.pieces, divide_piece, &x, NULL);
    out->nrows = tra_turn_sort(&x.turn);
    out->n = all;
    if (room) tra_turn_lay(&x.turn, t, room, out);
    tra_turn_write(&x.turn, out);
}

int64_t tra_order_count(const tra_ordering *in, int64_t row_box, void *scratch, int64_t *rows) {
    job x = {.in = in, .n = 1, .cuts = {0, tra_rows_of(in->in).nrows}, .turn.pieces = 1};
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
