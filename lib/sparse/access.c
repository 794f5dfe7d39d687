/* access.c - cells read and written row by row, however they are held. */
#include "sparse.h"

#include "../base/simd.h"

#include <assert.h>
#include <string.h>

int64_t tra_most_entries(const tra_type *t, const tra_dims *ext) {
    int64_t n = 0;
    if (!tra_dims_product(ext, &n)) n = INT64_MAX;
    return t->entries && t->sparse ? tra_min64(n, t->entries->most) : n;
}

tra_rows_view tra_rows_within(const tra_rows_view *v, const tra_dims *ext, const int64_t panel[2]) {
    tra_rows_view part = *v;
    int64_t each = 1;
    for (int d = 1; d + 1 < ext->n; d++) each *= ext->v[d];
    int64_t from = tra_rows_from(v, tra_mul_most(panel[0], each)), to = tra_rows_from(v, tra_mul_most(panel[1], each));
    part.row += from;
    part.begin += from;
    part.nrows = to - from;
    return part;
}

TRA_ANY_TARGET __attribute__((optimize("O3"))) bool tra_has_zero(const void *values, tra_dtype t, int64_t n) {
    int64_t zeros = 0;
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < n; i++) zeros += ((const type *)values)[i] == 0;                                       \
        break;
        TRA_DTYPES(X)
#undef X
    }
    return zeros > 0;
}

bool tra_same_columns(const uint32_t *x, const uint32_t *y, int64_t n) {
    return n == 0 || (x[0] == y[0] && x[n - 1] == y[n - 1] && memcmp(x, y, (size_t)n * sizeof *x) == 0);
}

/* Several columns of one row are compared at once with each of the other. Those that are read after the row's end count
 * for nothing. */
enum { LANES = 8 };
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));
TRA_ANY_TARGET static int64_t common_in_lanes(const uint32_t *x, int64_t nx, const uint32_t *y, int64_t ny) {
    const lanes number = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t n = 0;
    for (int64_t a = 0, b = 0; a < nx && b < ny;) {
        int64_t na = tra_min64(LANES, nx - a), nb = tra_min64(LANES, ny - b);
        lanes some, hit = {0};
        memcpy(&some, x + a, sizeof some);
        for (int64_t i = 0; i < nb; i++) hit |= (lanes)(some == y[b + i]);
        hit &= (lanes)(number < (uint32_t)na);
        for (int i = 0; i < LANES; i++) n += hit[i] & 1;
        uint32_t last_x = x[a + na - 1], last_y = y[b + nb - 1];
        a += last_x <= last_y ? na : 0;
        b += last_y <= last_x ? nb : 0;
    }
    return n;
}

int64_t tra_common_columns(const uint32_t *x, int64_t nx, int64_t after, const uint32_t *y, int64_t ny) {
    int64_t n = 0, a = 0, b = 0;
    if (nx == 0 || ny == 0) return 0;
    if (tra_ceil_div(nx, LANES) * LANES <= nx + after) return common_in_lanes(x, nx, y, ny);
    while (a < nx && b < ny) {
        uint32_t p = x[a], q = y[b];
        n += p == q;
        a += p <= q;
        b += q <= p;
    }
    return n;
}

tra_reader tra_read_cell(const tra_cell *c) {
    tra_reader r = {.cell = c, .dense = !c->layout, .columns = tra_last_extent(&c->array.ext)};
    r.rows = tra_rows_box(&c->array.ext);
    if (c->layout) r.v = tra_rows_of(c);
    return r;
}

void tra_row_strip(const uint32_t *column, int64_t count, const void *value, tra_dtype t, int64_t first, int64_t from,
                   int64_t n, tra_dtype to, void *buf, int64_t *at) {
    if (!column) { /* a dense row */
        const void *got = tra_load(value, t, first + from, 1, n, to, buf);
        if (got != buf) memcpy(buf, got, (size_t)n * tra_dtype_size(to));
        return;
    }
    double own[TRA_STRIP];
    int64_t begin = *at, end = begin;
    while (end < count && column[end] < from + n) end++;
    *at = end;
    memset(buf, 0, (size_t)n * tra_dtype_size(to));
    const void *got = tra_load(value, t, first + begin, 1, end - begin, to, own);
    if (tra_dtype_size(to) == 8)
        for (int64_t i = begin; i < end; i++) ((uint64_t *)buf)[column[i] - from] = ((const uint64_t *)got)[i - begin];
    else
        for (int64_t i = begin; i < end; i++) ((uint32_t *)buf)[column[i] - from] = ((const uint32_t *)got)[i - begin];
}

/* ---- dense arrays and rows ---------------------------------------------------------------------------------- */

tra_array tra_dense_of(const tra_cell *c, void *room) {
    tra_array a = c->array;
    if (!c->layout) return a;
    a.data = room;
    memset(room, 0, tra_array_bytes(&a));
    tra_rows_view v = tra_rows_of(c);
    int64_t columns = tra_last_extent(&a.ext);
#define SCATTER(type)                                                                                                  \
    for (int64_t r = 0; r < v.nrows; r++) {                                                                            \
        type *to = (type *)room + v.row[r] * columns;                                                                  \
        for (int64_t k = v.begin[r]; k < v.begin[r + 1]; k++) to[v.column[k]] = ((const type *)v.value)[k];            \
    }
    switch (a.dtype) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: SCATTER(type) break;
        TRA_DTYPES(X)
#undef X
    }
#undef SCATTER
    return a;
}

/* Entries of a row of a dense array. */
static int64_t count_row(const tra_array *a, int64_t at, int64_t n) {
    int64_t count = 0;
    switch (a->dtype) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < n; i++) count += ((const type *)a->data)[at + i] != 0;                                 \
        break;
        TRA_DTYPES(X)
#undef X
    }
    return count;
}

static void count(const tra_array *a, int64_t *nrows, int64_t *n) {
    int64_t columns = tra_last_extent(&a->ext), rows = columns ? tra_rows_box(&a->ext) : 0;
    *nrows = *n = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t here = count_row(a, r * columns, columns);
        *nrows += here > 0;
        *n += here;
    }
}

void tra_rows_fill(const tra_array *a, tra_cell *out) {
    int64_t columns = tra_last_extent(&a->ext), rows = columns ? tra_rows_box(&a->ext) : 0, nrows, n;
    size_t size = tra_dtype_size(a->dtype);
    assert(a->dtype == out->array.dtype);
    count(a, &nrows, &n);
    if (!tra_rows_take(out, nrows, n)) return;
    tra_rows_maker m = tra_rows_make(out, nrows, n);
    for (int64_t r = 0; r < rows; r++) {
        if (count_row(a, r * columns, columns) == 0) continue;
        tra_rows_open(&m, r);
        for (int64_t c = 0; c < columns; c++)
            if (tra_not_zero(a->data, a->dtype, r * columns + c))
                memcpy(tra_rows_next(&m, (uint32_t)c), (const char *)a->data + (size_t)(r * columns + c) * size, size);
        tra_rows_close(&m);
    }
    tra_rows_made(&m);
}

/* ---- results element by element -------------------------------------------------------------------------------- */

void tra_writer_begin(tra_rows_writer *w, tra_rows_maker *to, const tra_unary *after, tra_dtype t, tra_dtype type) {
    w->to = to, w->after = after, w->t = t, w->type = type;
    w->row = -1, w->n = w->nrows = w->entries = 0;
}

/* Appends those of n values at these columns of a row that are not 0 as entries. */
static void put_strip(tra_rows_maker *to, tra_dtype t, int64_t row, const uint32_t *column, const void *value,
                      int64_t n) {
    int64_t first = 0, at = to->v.n;
    while (first < n && !tra_not_zero(value, t, first)) first++;
    if (first == n) return; /* there is no room for a row without entries */
    if (to->v.nrows == 0 || to->v.row[to->v.nrows - 1] != row) tra_rows_open(to, row);
#define PUT(type)                                                                                                      \
    for (int64_t i = first; i < n; i++) {                                                                              \
        if (((const type *)value)[i] == 0) continue;                                                                   \
        to->v.column[at] = column[i];                                                                                  \
        ((type *)(void *)to->v.value)[at++] = ((const type *)value)[i];                                                \
    }
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: PUT(type) break;
        TRA_DTYPES(X)
#undef X
    }
#undef PUT
    to->v.n = at;
}

void tra_writer_flush(tra_rows_writer *w) {
    double own[TRA_STRIP];
    if (w->n == 0) return;
    tra_unary_strip(w->after, w->value, w->t, w->n, own, w->type);
    put_strip(w->to, w->type, w->row, w->column, own, w->n);
    w->n = 0;
}
