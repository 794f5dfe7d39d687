/* take.c - arrays whose positions along one dimension are others, in another order: in pieces of the result, row by
 * row, however the arrays are held. */
#include "tensor_rows.h"

#include "../sparse/sparse.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* An array as `outer` times n times `inner` elements, of which the middle one is the dimension. */
typedef struct taking {
    const tra_take *t;
    const int64_t *position; /* of the block of the result */
    tra_cell *out;
    tra_reader in;
    int64_t outer, inner, n, old;
    int64_t begin;       /* of the operand's block along the dimension */
    int64_t each, width; /* rows of a position, of so many elements, where rows are taken; else each is 0 */
    tra_dtype dtype;
    size_t size;
    /* Of columns: to which new positions an old one comes, next[first[old]], ..., NONE ends them; they ascend where old
     * ones do. */
    uint32_t *first, *next;
    bool ascends, descends, several; /* several: an old one comes to several */
    int pieces;
    int64_t at[TRA_PIECES + 1]; /* where they begin: positions, of all outer ones; or stored rows */
    bool count;
    tra_rows_pieces rows;
} taking;

static int64_t from_of(const taking *w, int64_t i) { return w->t->from[w->position[i]] - w->begin; }

TRA_ROWS_REST(rest, tra_take, (int64_t)sizeof(uint32_t) * (a->v[x->dim] + b->v[0]))

/* Is the result held as rows of entries? */
static bool by_rows(const taking *w) { return w->out->layout == &tra_rows; }

/* A row of the result has n values at columns (NULL: 0, 1, ...): appends, puts, or counts them. Returns how many are
 * counted. */
static int64_t emit(const taking *w, tra_rows_maker *to, int64_t row, const uint32_t *column, const char *value,
                    int64_t n) {
    if (w->count && column) return n;
    if (w->count) {
        int64_t here = 0;
        for (int64_t i = 0; i < n; i++) here += tra_not_zero(value, w->dtype, i);
        return here;
    }
    if (by_rows(w)) return tra_rows_append(to, row, column, 0, value, w->dtype, n), n;
    char *data = (char *)w->out->array.data + (size_t)(row * tra_last_extent(&w->out->array.ext)) * w->size;
    if (!column) memcpy(data, value, (size_t)n * w->size);
    for (int64_t i = 0; column && i < n; i++) memcpy(data + column[i] * w->size, value + (size_t)i * w->size, w->size);
    return n;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* The first stored row not below `row`; most often it comes soon after row number r. */
static int64_t find_from(const tra_rows_view *v, int64_t r, int64_t row) {
    enum { SOON = 16 };
    if (r > 0 && v->row[r - 1] >= row) return tra_rows_from(v, row);
    for (int64_t end = tra_min64(v->nrows, r + SOON); r < end; r++)
        if (v->row[r] >= row) return r;
    return r < v->nrows ? tra_rows_from(v, row) : r;
}

/* The positions of a piece, each with its rows. */
static void take_rows(const taking *w, int piece, tra_rows_maker *to, int64_t *counted) {
    const tra_rows_view *v = &w->in.v;
    const char *value = tra_read_values(&w->in);
    int64_t all = w->old * w->each, r = 0;
    for (int64_t at = w->at[piece]; at < w->at[piece + 1] && !tra_cancelled(); at++) {
        int64_t o = at / w->n, from = from_of(w, at - o * w->n), first = (o * w->old + from) * w->each;
        if (!w->in.dense && (at == w->at[piece] || at == o * w->n)) { /* on to an outer position with rows */
            r = tra_rows_from(v, o * all);
            if (r == v->nrows) return;
            if (v->row[r] / all > o) {
                at = v->row[r] / all * w->n - 1;
                continue;
            }
        }
        if (from < 0) continue;
        for (int64_t e = 0; w->in.dense && e < w->each; e++) {
            const char *from_row = value + (size_t)((first + e) * w->width) * w->size;
            int64_t n = emit(w, to, at * w->each + e, NULL, from_row, w->width);
            counted[1] += n, counted[0] += n > 0;
        }
        if (w->in.dense) continue;
        for (r = find_from(v, r, first); r < v->nrows && v->row[r] < first + w->each; r++, counted[0]++) {
            int64_t k = v->begin[r], row = at * w->each + v->row[r] - first;
            counted[1] += emit(w, to, row, v->column + k, value + (size_t)k * w->size, v->begin[r + 1] - k);
        }
    }
}

/* ---- columns ---------------------------------------------------------------------------------------------------- */

static void find_columns(taking *w, void *room) {
    int64_t before = -1;
    w->first = room;
    w->next = w->first + w->old;
    w->ascends = w->descends = true;
    w->several = false;
    for (int64_t i = 0; i < w->old; i++) w->first[i] = NONE;
    for (int64_t i = w->n; i-- > 0;) {
        int64_t from = from_of(w, i);
        if (from < 0) continue;
        w->ascends = w->ascends && (before < 0 || from <= before);
        w->descends = w->descends && from > before;
        w->several = w->several || w->first[from] != NONE;
        before = from;
        w->next[i] = w->first[from];
        w->first[from] = (uint32_t)i;
    }
}

typedef struct place {
    uint32_t column;
    int64_t entry;
} place;

static int by_column(const void *x, const void *y) {
    uint32_t a = ((const place *)x)->column, b = ((const place *)y)->column;
    return (a > b) - (a < b);
}

static void put_columns(const taking *w, int64_t row, const char *value) {
    char *to = (char *)w->out->array.data + (size_t)(row * w->n) * w->size;
    for (int64_t i = 0; i < w->n; i++)
        if (from_of(w, i) >= 0) memcpy(to + (size_t)i * w->size, value + (size_t)from_of(w, i) * w->size, w->size);
}

static void copy_value(char *to, int64_t i, const char *from, int64_t k, size_t size) {
    if (size == 8)
        memcpy(to + i * 8, from + k * 8, 8);
    else
        memcpy(to + (size_t)i * size, from + (size_t)k * size, size);
}

/* The rows of a piece, each with those of its columns that are taken. */
static void take_columns(const taking *w, int piece, tra_rows_maker *to, int64_t *counted) {
    place *v = NULL;
    uint32_t *column = NULL; /* those of v, */
    char *taken = NULL;      /* and their values */
    int64_t cap = 0, room = 0;
    const char *value = tra_read_values(&w->in);
    for (int64_t r = w->at[piece]; r < w->at[piece + 1] && !tra_cancelled(); r++) {
        int64_t row = w->in.dense ? r : w->in.v.row[r], m = 0;
        int64_t k = w->in.dense ? r * w->in.columns : w->in.v.begin[r];
        int64_t end = w->in.dense ? k + w->in.columns : w->in.v.begin[r + 1];
        if (w->in.dense && !by_rows(w)) {
            put_columns(w, r, value + (size_t)k * w->size);
            continue;
        }
        for (int64_t first = k; k < end; k++) {
            uint32_t at = w->first[w->in.dense ? k - first : w->in.v.column[k]];
            if (at == NONE || !tra_not_zero(value, w->dtype, k)) continue;
            for (; at != NONE; at = w->several ? w->next[at] : NONE, m++) {
                if (w->count) continue;
                TRA_ROOM(v, m, cap);
                v[m] = (place){at, k};
            }
        }
        counted[1] += m, counted[0] += m > 0;
        if (w->count || m == 0) continue;
        if (!w->ascends && !w->descends) qsort(v, (size_t)m, sizeof *v, by_column);
        if (room < cap) {
            room = cap;
            column = tra_realloc(column, (size_t)room, sizeof *column);
            taken = tra_realloc(taken, (size_t)room, w->size);
        }
        for (int64_t i = 0; i < m; i++) {
            const place *x = &v[w->descends ? m - 1 - i : i];
            column[i] = x->column;
            copy_value(taken, i, value, x->entry, w->size);
        }
        emit(w, to, row, column, taken, m);
    }
    free(taken);
    free(column);
    free(v);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static void run_piece(void *ctx, int piece, void *scratch) {
    taking *w = ctx;
    int64_t counted[2] = {0, 0};
    bool made = by_rows(w) && !w->count;
    tra_rows_maker to = {.cell = w->out};
    (void)scratch;
    if (made) to.v = w->rows.piece[piece], to.v.nrows = to.v.n = 0;
    (w->each ? take_rows : take_columns)(w, piece, &to, counted);
    if (w->count) memcpy(w->rows.most[piece], counted, sizeof counted);
    if (!made) return;
    to.v.begin[to.v.nrows] = to.v.n;
    w->rows.piece[piece].nrows = to.v.nrows;
    w->rows.piece[piece].n = to.v.n;
}

static void cut(taking *w) {
    enum { STEPS = 4 }; /* of an element */
    int64_t rows = w->in.dense ? w->in.rows : w->in.v.nrows, all = w->each ? w->outer * w->n : rows;
    int64_t elements = w->in.dense ? tra_mul_most(rows, w->in.columns) : w->in.v.n;
    w->pieces = (int)tra_max64(1, tra_min64(all, tra_parallel_pieces(tra_mul_most(STEPS, elements))));
    for (int i = 0; i <= w->pieces; i++) w->at[i] = (int64_t)((__int128)all * i / w->pieces);
}

/* Clears a dense result, and fills positions that are not there. */
static void clear(const taking *w) {
    const tra_array *a = &w->out->array;
    memset(a->data, 0, tra_array_bytes(a));
    if (w->t->fill == 0) return;
    for (int64_t at = 0; at < w->outer * w->n; at++) {
        if (from_of(w, at % w->n) >= 0) continue;
        char *v = (char *)a->data + (size_t)(at * w->inner) * w->size;
        for (int64_t i = 0; i < w->inner; i++) tra_convert(v + (size_t)i * w->size, a->dtype, &w->t->fill, TRA_F64, 1);
    }
}

static void run(const void *data, tra_rows_io *io) {
    const tra_dims *ext = &io->a->array.ext;
    tra_dims to = *ext;
    taking w; /* not initialised as a whole: it is large */
    tra_cell in = *io->a;
    if (in.layout != &tra_rows) in.layout = NULL; /* it is dense, though its block may tell its extents */
    w.t = data, w.position = io->b->array.data, w.out = io->out, w.in = tra_read_cell(&in);
    w.outer = w.inner = 1, w.n = io->b->array.ext.v[0], w.old = ext->v[w.t->dim];
    for (int d = 0; d < ext->n; d++)
        if (d != w.t->dim) *(d < w.t->dim ? &w.outer : &w.inner) *= ext->v[d];
    w.begin = w.t->cut && w.n > 0 ? w.t->from[w.position[0]] : 0;
    w.dtype = io->a->array.dtype, w.size = tra_dtype_size(w.dtype);
    w.width = w.in.columns;
    w.each = w.t->dim + 1 < ext->n && w.width > 0 ? w.inner / w.width : 0;
    w.count = by_rows(&w);
    to.v[w.t->dim] = w.n;
    if (w.out->layout && !w.count) {
        if (!tra_counted_take(w.out, &to)) return;
        tra_counted_begin(w.out, &to);
    }
    if (!w.count) clear(&w);
    if (w.each == 0 && (!w.in.dense || w.out->layout == &tra_rows)) find_columns(&w, io->rest);
    cut(&w);
    tra_parallel(w.pieces, run_piece, &w, NULL);
    if (!w.count) return;
    w.count = false;
    tra_rows_pieces_add(&w.rows, w.out, w.pieces);
    if (!tra_rows_pieces_begin(&w.rows, w.out)) return;
    tra_parallel(w.pieces, run_piece, &w, NULL);
    tra_rows_pieces_end(&w.rows);
}

const tra_rows_ops tra_take_ops = {.rest = rest, .run = run};
