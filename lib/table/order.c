/* order.c - the order of rows: stable merges, and what is made of sorted rows. */
#include "order.h"

#include "../base/parallel.h"
#include "group.h"
#include "table_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int compare_whole(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int compare_real(double x, double y) {
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare_codes(const tra_dictionary *d, int32_t x, int32_t y) {
    if (x == y || d->sorted) return (x > y) - (x < y);
    int64_t nx, ny;
    const char *sx = tra_dictionary_at(d, x, &nx), *sy = tra_dictionary_at(d, y, &ny);
    return tra_bytes_cmp(sx, nx, sy, ny);
}

static int compare_values(const tra_column *c, const tra_vector *v, int64_t i, const tra_vector *w, int64_t j) {
    if (tra_coltype_is_coded(c->type))
        return compare_codes(c->dict, ((const int32_t *)v->values)[i], ((const int32_t *)w->values)[j]);
#define WHOLE(name, text, T, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        return compare_whole(((const T *)v->values)[i], ((const T *)w->values)[j]);
#define REAL(name, text, T, ...)                                                                                       \
    case TRA_##name: return compare_real((double)((const T *)v->values)[i], (double)((const T *)w->values)[j]);
    switch (tra_coltype_held(c->type)) { TRA_WHOLE_DTYPES(WHOLE) TRA_FLOAT_DTYPES(REAL) }
#undef WHOLE
#undef REAL
    return 0;
}

static int compare_two(const tra_column *c, const tra_vector *v, int64_t i, const tra_vector *w, int64_t j, bool desc) {
    bool x = v->state && v->state[i], y = w->state && w->state[j];
    if (x || y) return x - y;
    int r = compare_values(c, v, i, w, j);
    return desc ? -r : r;
}

int tra_value_compare(const tra_column *c, const tra_vector *v, int64_t i, int64_t j, bool desc) {
    return compare_two(c, v, i, v, j, desc);
}

int tra_values_compare(const tra_column *c, const tra_vector *v, int64_t i, const tra_vector *w, int64_t j) {
    return compare_two(c, v, i, w, j, false);
}

int tra_rows_compare(const tra_row_view *x, int64_t i, const tra_row_view *y, int64_t j, int n, const bool *desc) {
    for (int k = 0; k < n; k++) {
        int c = x->column ? x->column[k] : k, d = y->column ? y->column[k] : k;
        int r = compare_two(&x->b->schema->v[c], &x->b->v[c], i, &y->b->v[d], j, desc && desc[k]);
        if (r) return r;
    }
    return 0;
}

typedef struct order {
    const tra_batch *b;
    int n;
    const int *column;
    const bool *desc;
} order;

static int compare_rows(const order *o, int64_t i, int64_t j) {
    for (int k = 0; k < o->n; k++) {
        int c = o->column ? o->column[k] : k;
        int r = tra_value_compare(&o->b->schema->v[c], &o->b->v[c], i, j, o->desc && o->desc[k]);
        if (r) return r;
    }
    return 0;
}

bool tra_order_looks_up(const tra_schema *s, int n, const int *column) {
    for (int k = 0; k < n; k++) {
        const tra_column *c = &s->v[column ? column[k] : k];
        if (tra_coltype_is_coded(c->type) && c->dict && !c->dict->sorted) return true;
    }
    return false;
}

bool tra_rows_equal(const tra_batch *b, int ncolumns, const int *column, int64_t i, int64_t j) {
    const order o = {b, ncolumns, column, NULL};
    return compare_rows(&o, i, j) == 0;
}

/* Runs of `length` become runs twice as long. */
static void merge_runs(const order *o, const int64_t *from, int64_t n, int64_t length, int64_t *to) {
    for (int64_t begin = 0; begin < n; begin += 2 * length) {
        int64_t i = begin, middle = tra_min64(begin + length, n), j = middle, end = tra_min64(middle + length, n);
        for (int64_t k = begin; k < end; k++) {
            bool left = j == end || (i < middle && compare_rows(o, from[i], from[j]) <= 0);
            to[k] = left ? from[i++] : from[j++];
        }
    }
}

void tra_order_by_merging(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                          int64_t *spare) {
    const order o = {b, ncolumns, column, desc};
    int64_t *from = at, *to = spare;
    for (int64_t length = 1; length < n; length *= 2) {
        merge_runs(&o, from, n, length, to);
        int64_t *t = from;
        from = to;
        to = t;
    }
    if (from != at) memcpy(at, from, (size_t)n * sizeof *at);
}

void tra_order_first(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                     int64_t most, int64_t *spare) {
    if (tra_order_looks_up(b->schema, ncolumns, column))
        tra_order_by_merging(b, ncolumns, column, desc, at, n, spare);
    else
        tra_order_by_digits(b, ncolumns, column, desc, at, n, most, spare);
}

void tra_order_rows(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                    int64_t *spare) {
    tra_order_first(b, ncolumns, column, desc, at, n, n, spare);
}

/* (a whole number is equal to itself) */
#define CHANGES(name, text, T, ...)                                                                                    \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 1; i < n; i++) {                                                                              \
            T x = ((const T *)v->values)[at[i - 1]], y = ((const T *)v->values)[at[i]];                                \
            begins[i] |= x != y && (x == x || y == y);                                                                 \
        }                                                                                                              \
        break;

/* begins[i]: does row at[i] differ from the one before? NULLs have equal values. */
static void mark_changes(const tra_vector *v, tra_coltype t, const int64_t *at, int64_t n, int64_t *begins) {
    switch (tra_coltype_held(t)) { TRA_DTYPES(CHANGES) }
    for (int64_t i = 1; v->state && i < n; i++) begins[i] |= !v->state[at[i - 1]] != !v->state[at[i]];
}

typedef struct marking {
    const tra_batch *b;
    int n, pieces;
    const int *column;
    const int64_t *at;
    int64_t rows, *begins;
    const int64_t *known; /* where runs begin whatever these columns have, ascending; NULL: not given */
    int64_t nknown;
} marking;

static void mark_known(const marking *x, int64_t from, int64_t to) {
    int64_t i = 0; /* the first of them that is not before `from` */
    TRA_BISECT(i, x->nknown, mid, x->known[mid] < from);
    for (; i < x->nknown && x->known[i] < to; i++) x->begins[x->known[i]] = 1;
}

static void mark_piece(void *ctx, int p, void *scratch) {
    const marking *x = ctx;
    int64_t from = tra_piece_begin(x->rows, x->pieces, p), to = tra_piece_begin(x->rows, x->pieces, p + 1);
    int64_t before = from > 0; /* the row before the first one is compared with it */
    (void)scratch;
    memset(x->begins + from, 0, (size_t)(to - from) * sizeof *x->begins);
    mark_known(x, from, to);
    for (int k = 0; k < x->n; k++)
        mark_changes(&x->b->v[x->column[k]], x->b->schema->v[x->column[k]].type, x->at + from - before,
                     to - from + before, x->begins + from - before);
}

int64_t tra_order_runs_within(const tra_batch *b, int ncolumns, const int *column, const int64_t *at, int64_t n,
                              const int64_t *known, int64_t nknown, int64_t *begin) {
    enum { STEPS = 2 };
    int64_t runs = 0;
    int pieces = tra_parallel_pieces(tra_mul_most(STEPS * (int64_t)ncolumns, n));
    marking x = {b, ncolumns, pieces, column, at, n, begin, known, nknown};
    tra_parallel(pieces, mark_piece, &x, NULL);
    if (n > 0) begin[0] = 1;
    for (int64_t i = 0; i < n; i++)
        if (begin[i]) begin[runs++] = i;
    begin[runs] = n;
    return runs;
}

int64_t tra_order_runs(const tra_batch *b, int ncolumns, const int *column, const int64_t *at, int64_t n,
                       int64_t *begin) {
    return tra_order_runs_within(b, ncolumns, column, at, n, NULL, 0, begin);
}

int64_t tra_order_count_runs(const tra_batch *b, int ncolumns, const int *column) {
    enum { STRIP = 512 };
    int64_t at[STRIP + 1], begins[STRIP + 1], runs = b->rows > 0;
    for (int64_t from = 0; from + 1 < b->rows; from += STRIP) {
        int64_t n = tra_min64(STRIP + 1, b->rows - from);
        for (int64_t i = 0; i < n; i++) at[i] = from + i, begins[i] = 0;
        for (int k = 0; k < ncolumns; k++) {
            int c = column ? column[k] : k;
            mark_changes(&b->v[c], b->schema->v[c].type, at, n, begins);
        }
        for (int64_t i = 1; i < n; i++) runs += begins[i];
    }
    return runs;
}

void tra_gather_columns(tra_rows_io *io, int ncolumns, const int *column, const int64_t *at, int64_t n) {
    for (int c = 0; c < ncolumns; c++)
        tra_gather_rows(&io->made.v[c], 0, &io->in[0].v[column ? column[c] : c], io->made.schema->v[c].type, at, n);
}

/* The first row in which the value of this column could not be computed, or -1. */
static int64_t find_error(const tra_batch *b, int column) {
    const uint8_t *state = b->v[column].state, *at = state ? memchr(state, TRA_STATE_ERROR, (size_t)b->rows) : NULL;
    return at ? at - state : -1;
}

void tra_refuse_errors(const tra_cell *of, const tra_batch *b, int n, const int *column, const char *what) {
    int64_t row = -1;
    int bad = -1;
    for (int k = 0; k < n; k++) {
        int c = column ? column[k] : k;
        int64_t at = find_error(b, c);
        if (at >= 0 && (row < 0 || at < row)) row = at, bad = c;
    }
    if (row >= 0)
        tra_kernel_fail("row %" PRId64 "%s: `%s`, %s, could not be computed: an integer does not fit its type",
                        tra_max64(0, of->first) + row, of->first < 0 ? " of a block" : "", b->schema->v[bad].name,
                        what);
}
