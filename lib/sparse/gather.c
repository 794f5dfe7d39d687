/* gather.c - boxes of cells copied to others; a cell that is put together from pieces in any order. */
#include "sparse.h"

#include <assert.h>
#include <string.h>

/* Indices into what a piece keeps while pieces are merged: the place of its next row in src, the end of its rows, the
 * number of the next row in the result. HEAP: element i of the heap, which is kept with piece i. */
enum { NEXT, END, ROW, HEAP };

static bool empty(const tra_dims *ext) {
    for (int d = 0; d < ext->n; d++)
        if (ext->v[d] == 0) return true;
    return false;
}

/* Columns of the piece in src. */
static int64_t column_from(const tra_cell_piece *p) { return p->from.n ? p->from.v[p->from.n - 1] : 0; }
static int64_t column_to(const tra_cell_piece *p) { return p->to.n ? p->to.v[p->to.n - 1] : 0; }

/* The number in the result of row `number` of src; -1: it is not in the piece. */
static int64_t row_in_result(const tra_cell_piece *p, const tra_dims *out, int64_t number) {
    const tra_dims *ext = &p->src->array.ext;
    int64_t row = 0, times = 1;
    for (int d = ext->n - 2; d >= 0; d--) {
        int64_t c = number % ext->v[d] - p->from.v[d];
        if (c < 0 || c >= p->ext.v[d]) return -1;
        row += (c + p->to.v[d]) * times;
        times *= out->v[d];
        number /= ext->v[d];
    }
    return row;
}

/* Rows of src from the first to the last corner of the box. */
static void range_of(const tra_cell_piece *p, int64_t *first, int64_t *last) {
    const tra_dims *ext = &p->src->array.ext;
    *first = *last = 0;
    for (int d = 0; d + 1 < ext->n; d++) {
        *first = *first * ext->v[d] + p->from.v[d];
        *last = *last * ext->v[d] + p->from.v[d] + p->ext.v[d] - 1;
    }
}

/* Puts the piece before its next row from NEXT on; false: there is none. */
static bool next_row(tra_cell_piece *p, const tra_dims *out) {
    tra_rows_view v;
    if (p->src->layout) v = tra_rows_of(p->src);
    for (; p->at[NEXT] < p->at[END]; p->at[NEXT]++) {
        p->at[ROW] = row_in_result(p, out, p->src->layout ? v.row[p->at[NEXT]] : p->at[NEXT]);
        if (p->at[ROW] >= 0) return true;
    }
    return false;
}

static bool begin(tra_cell_piece *p, const tra_dims *out) {
    int64_t first, last;
    if (empty(&p->ext)) return false;
    range_of(p, &first, &last);
    if (p->src->layout) {
        tra_rows_view v = tra_rows_of(p->src);
        first = tra_rows_from(&v, first);
        last = tra_rows_from(&v, last + 1) - 1;
    }
    p->at[NEXT] = first;
    p->at[END] = last + 1;
    return next_row(p, out);
}

/* Appends the piece's row that is next, or counts its entries (to NULL). */
static int64_t put_row(const tra_cell_piece *p, tra_rows_maker *to) {
    int64_t from = column_from(p), shift = column_to(p) - from, n = 0;
    int64_t end = from + (p->ext.n ? p->ext.v[p->ext.n - 1] : 1);
    tra_dtype t = p->src->array.dtype;
    size_t size = tra_dtype_size(t);
    if (!p->src->layout) {
        int64_t first = p->at[NEXT] * tra_last_extent(&p->src->array.ext);
        const char *data = p->src->array.data;
        for (int64_t c = from; c < end; c++) {
            if (!tra_not_zero(data, t, first + c)) continue;
            n++;
            if (to)
                memcpy(tra_rows_put(to, p->at[ROW], (uint32_t)(c + shift)), data + (size_t)(first + c) * size, size);
        }
        return n;
    }
    tra_rows_view v = tra_rows_of(p->src);
    int64_t r = p->at[NEXT];
    for (int64_t k = tra_rows_entry(&v, r, from); k < v.begin[r + 1] && v.column[k] < end; k++) {
        if (!tra_not_zero(v.value, t, k)) continue;
        n++;
        if (to) memcpy(tra_rows_put(to, p->at[ROW], (uint32_t)(v.column[k] + shift)), v.value + (size_t)k * size, size);
    }
    return n;
}

/* ---- pieces by the row that is next ------------------------------------------------------------------------- */

static bool before(const tra_cell_piece *p, int64_t a, int64_t b) {
    if (p[a].at[ROW] != p[b].at[ROW]) return p[a].at[ROW] < p[b].at[ROW];
    return column_to(&p[a]) < column_to(&p[b]);
}

static void sink(tra_cell_piece *p, int64_t n, int64_t i) {
    for (;;) {
        int64_t least = i;
        for (int64_t c = 2 * i + 1; c <= 2 * i + 2 && c < n; c++)
            if (before(p, p[c].at[HEAP], p[least].at[HEAP])) least = c;
        if (least == i) return;
        int64_t t = p[i].at[HEAP];
        p[i].at[HEAP] = p[least].at[HEAP];
        p[least].at[HEAP] = t;
        i = least;
    }
}

/* Counts rows and entries of the result. Rows of several pieces are counted several times, so that there may be fewer.
 */
static void count(tra_cell_piece *p, int64_t n, const tra_dims *out, int64_t *nrows, int64_t *entries) {
    *nrows = *entries = 0;
    for (int64_t i = 0; i < n; i++) {
        for (bool more = begin(&p[i], out); more; p[i].at[NEXT]++, more = next_row(&p[i], out)) {
            int64_t here = put_row(&p[i], NULL);
            *nrows += here > 0;
            *entries += here;
        }
    }
    *nrows = tra_min64(*nrows, tra_rows_box(out));
}

int64_t tra_rows_gather_bytes(tra_cell_piece *p, int64_t n, tra_cell *out) {
    int64_t nrows, entries;
    count(p, n, &out->array.ext, &nrows, &entries);
    return tra_rows_counted(out, nrows, entries);
}

void tra_rows_gather(tra_cell_piece *p, int64_t n, tra_cell *out) {
    const tra_dims *ext = &out->array.ext;
    int64_t nrows, entries, left = 0;
    if (out->counted[1] == 0) count(p, n, ext, &out->counted[0], &out->counted[1]);
    nrows = out->counted[0], entries = out->counted[1];
    tra_rows_maker m = tra_rows_make(out, nrows, entries);
    for (int64_t i = 0; i < n; i++)
        if (begin(&p[i], ext)) p[left++].at[HEAP] = i;
    for (int64_t i = left / 2; i >= 0 && left > 0; i--) sink(p, left, i);
    while (left > 0 && m.v.n < entries) {
        tra_cell_piece *x = &p[p[0].at[HEAP]];
        put_row(x, &m);
        x->at[NEXT]++;
        if (!next_row(x, ext)) p[0].at[HEAP] = p[--left].at[HEAP];
        sink(p, left, 0);
    }
    tra_rows_made(&m);
}

/* ---- one piece ---------------------------------------------------------------------------------------------- */

static void clear_box(tra_array *dst, const tra_dims *to, const tra_dims *ext) {
    int64_t stride[TRA_MAXDIM], at = 0;
    static const double zero;
    tra_nest nest;
    nest.n = 0;
    tra_strides(&dst->ext, stride);
    for (int d = 0; d < ext->n; d++) {
        at += to->v[d] * stride[d];
        tra_nest_add(&nest, ext->v[d], 0, stride[d], 0);
    }
    tra_strided_copy((char *)dst->data + (size_t)at * tra_dtype_size(dst->dtype), dst->dtype, &zero, TRA_F64, &nest);
}

void tra_rows_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext) {
    tra_cell_piece p = {.src = src, .from = *from, .to = *to, .ext = *ext};
    if (dst->layout) {
        tra_rows_gather(&p, 1, dst);
        return;
    }
    assert(dst->array.dtype == src->array.dtype);
    if (empty(ext)) return;
    clear_box(&dst->array, to, ext);
    tra_rows_view v = tra_rows_of(src);
    size_t size = v.size;
    int64_t columns = tra_last_extent(&dst->array.ext), first = column_from(&p), shift = column_to(&p) - first;
    int64_t end = first + (ext->n ? ext->v[ext->n - 1] : 1);
    for (bool more = begin(&p, &dst->array.ext); more; p.at[NEXT]++, more = next_row(&p, &dst->array.ext)) {
        int64_t r = p.at[NEXT];
        int64_t row = p.at[ROW] * columns + shift;
        for (int64_t k = tra_rows_entry(&v, r, first); k < v.begin[r + 1] && v.column[k] < end; k++)
            memcpy((char *)dst->array.data + (size_t)(row + v.column[k]) * size, v.value + (size_t)k * size, size);
    }
}
