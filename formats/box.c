/* box.c - a relation read by boxes. */
#include "../lib/model/rows.h"
#include "io.h"

#include <stdlib.h>
#include <string.h>

tra_dims tra_reversed(const tra_dims *d) {
    tra_dims r = {.n = d->n};
    for (int i = 0; i < d->n; i++) r.v[i] = d->v[d->n - 1 - i];
    return r;
}

tra_status tra_view_open(tra_view *v, tra_rel *rel, const char *spec, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    const char *why = NULL;
    *v = (tra_view){.rel = rel};
    if (!tra_type_is_tensor(t, &why))
        return tra_fail(
            e, TRA_INPUT,
            "%s has tuple layout (%s), so it stands for no plain tensor: export it with --to h5, or bring it "
            "to tensor layout with rekey or agg first",
            spec, why);
    int k = t->cat->frontier.n, r = t->cat->bound.n, n = 0;
    uint32_t cutting = 0;
    for (int a = 0; a < r; a++) cutting |= t->cut[a];
    tra_dims ext;
    tra_type_shape(t, &ext);
    for (int d = 0; d < k; d++)
        if (!(cutting & 1u << d)) {
            v->shape.v[n] = t->cat->frontier.v[d];
            v->chunk.v[n] = 1;
            v->key[n++] = d;
        }
    for (int a = 0; a < r; a++) {
        v->shape.v[n] = ext.v[a];
        v->chunk.v[n] = tra_max64(1, t->cat->bound.v[a]);
        v->key[n++] = t->cut[a] ? __builtin_ctz(t->cut[a]) : -1;
    }
    v->shape.n = v->chunk.n = n;
    int64_t elements;
    if (!tra_dims_product(&v->shape, &elements))
        return tra_fail(e, TRA_INPUT, "%s has more elements than can be counted", spec);
    v->array_bytes = tra_rel_buffer_bytes(rel);
    v->scratch_bytes = tra_rel_scratch_bytes(rel);
    v->held = -1;
    return TRA_OK;
}

/* Never NULL; aligned as blocks of entries must be. */
static void *aligned_room(size_t n) {
    void *p = aligned_alloc(TRA_CELL_ALIGN, (n + TRA_CELL_ALIGN) / TRA_CELL_ALIGN * TRA_CELL_ALIGN);
    return p ? p : tra_malloc(n + 1);
}

void tra_view_room(tra_view *v, void *array, void *scratch) {
    v->array = array ? array : (v->own[0] = aligned_room(v->array_bytes));
    v->scratch = scratch ? scratch : (v->own[1] = aligned_room(v->scratch_bytes));
}

void tra_view_close(tra_view *v) {
    free(v->own[0]);
    free(v->own[1]);
    v->array = v->scratch = v->own[0] = v->own[1] = NULL;
}

/* The ordinal of a chunk, -1 for a hole; its extents. */
static int64_t chunk_of(const tra_view *v, const tra_dims *at, tra_dims *ext) {
    const tra_catalog *cat = tra_rel_type(v->rel)->cat;
    tra_dims key = {.n = cat->frontier.n};
    ext->n = at->n;
    for (int d = 0; d < at->n; d++) {
        if (v->key[d] >= 0) key.v[v->key[d]] = at->v[d];
        ext->v[d] = tra_min64(v->chunk.v[d], v->shape.v[d] - at->v[d] * v->chunk.v[d]);
    }
    return tra_catalog_find(cat, &key);
}

tra_status tra_view_load(tra_view *v, int64_t ordinal, tra_err *e) {
    if (v->held == ordinal) return TRA_OK;
    v->held = -1;
    TRA_TRY(tra_rel_read(v->rel, ordinal, v->array, v->scratch, e));
    v->held = ordinal;
    return TRA_OK;
}

bool tra_view_sparse(const tra_view *v) { return tra_rel_type(v->rel)->layout != NULL; }

tra_cell tra_view_cell(const tra_view *v) { return tra_cell_new(tra_rel_type(v->rel), v->held, v->array); }

void tra_view_offset(const tra_view *v, int64_t ordinal, tra_dims *offset) {
    tra_dims key;
    tra_catalog_key(tra_rel_type(v->rel)->cat, ordinal, &key);
    offset->n = v->shape.n;
    for (int d = 0; d < v->shape.n; d++) offset->v[d] = v->key[d] < 0 ? 0 : key.v[v->key[d]] * v->chunk.v[d];
}

/* The first of the columns from..to-1 that is not below `least`. */
static int64_t first_column(const uint32_t *column, int64_t from, int64_t to, int64_t least) {
    TRA_BISECT(from, to, mid, (int64_t)column[mid] < least);
    return from;
}

/* Entries of the block of entries that is held to where they are in buf, which has zeros: those from lo on, part of
 * them along each dimension, in coordinates of the array, whose dimensions are the last ones of the view. */
static void scatter(const tra_view *v, const tra_dims *lo, const tra_dims *part, char *to, const int64_t *stride) {
    tra_cell cell = tra_view_cell(v);
    tra_rows_view rows = tra_rows_of(&cell);
    int r = cell.array.ext.n, lead = v->shape.n - r;
    tra_dims box = cell.array.ext, at, least = {.n = r - 1}, most = {.n = r - 1};
    if (r == 0) {
        if (rows.n > 0) memcpy(to, rows.value, rows.size);
        return;
    }
    box.n = r - 1;
    for (int d = 0; d < r - 1; d++) {
        least.v[d] = lo->v[lead + d];
        most.v[d] = least.v[d] + part->v[lead + d] - 1;
    }
    int64_t first = tra_linear(&box, &least), last = tra_linear(&box, &most), i = 0;
    TRA_BISECT(i, rows.nrows, mid, rows.row[mid] < first); /* the first row from there on */
    int64_t from = lo->v[lead + r - 1], until = from + part->v[lead + r - 1], step = stride[lead + r - 1];
    for (; i < rows.nrows && rows.row[i] <= last; i++) {
        int64_t offset = 0;
        bool inside = true;
        tra_unlinear(&box, rows.row[i], &at);
        for (int d = 0; d < r - 1; d++) {
            inside &= at.v[d] >= least.v[d] && at.v[d] <= most.v[d];
            offset += (at.v[d] - least.v[d]) * stride[lead + d];
        }
        if (!inside) continue;
        for (int64_t k = first_column(rows.column, rows.begin[i], rows.begin[i + 1], from);
             k < rows.begin[i + 1] && (int64_t)rows.column[k] < until; k++)
            memcpy(to + (size_t)(offset + ((int64_t)rows.column[k] - from) * step) * rows.size,
                   rows.value + (size_t)k * rows.size, rows.size);
    }
}

tra_status tra_view_chunk(tra_view *v, const tra_dims *at, tra_dims *ext, tra_err *e) {
    int64_t ordinal = chunk_of(v, at, ext), n = 0;
    if (ordinal >= 0) return tra_view_load(v, ordinal, e);
    v->held = -1;
    tra_dims_product(ext, &n);
    memset(v->array, 0, (size_t)n * tra_dtype_size(tra_rel_type(v->rel)->dtype));
    return TRA_OK;
}

tra_status tra_view_box(tra_view *v, const tra_dims *start, const tra_dims *count, void *buf, const int64_t *stride,
                        tra_err *e) {
    size_t size = tra_dtype_size(tra_rel_type(v->rel)->dtype);
    int n = v->shape.n;
    tra_dims first = {.n = n}, chunks = {.n = n}, i = {.n = n};
    for (int d = 0; d < n; d++) {
        if (count->v[d] == 0) return TRA_OK;
        first.v[d] = start->v[d] / v->chunk.v[d];
        chunks.v[d] = (start->v[d] + count->v[d] - 1) / v->chunk.v[d] - first.v[d] + 1;
    }
    static const uint64_t zero = 0;
    static const int64_t nowhere[TRA_MAXDIM];
    int64_t astride[TRA_MAXDIM];
    do {
        tra_dims at = {.n = n}, ext, part = {.n = n}, inner = {.n = n};
        int64_t from = 0, to = 0;
        for (int d = 0; d < n; d++) at.v[d] = first.v[d] + i.v[d];
        int64_t ordinal = chunk_of(v, &at, &ext);
        tra_strides(&ext, astride);
        for (int d = 0; d < n; d++) {
            int64_t lo = at.v[d] * v->chunk.v[d];
            int64_t a = tra_max64(lo, start->v[d]), b = tra_min64(lo + ext.v[d], start->v[d] + count->v[d]);
            part.v[d] = b - a;
            inner.v[d] = a - lo;
            from += (a - lo) * astride[d];
            to += (a - start->v[d]) * stride[d];
        }
        char *dst = (char *)buf + (size_t)to * size;
        if (ordinal < 0 || tra_view_sparse(v)) {
            tra_copy_strided(size, &part, dst, stride, &zero, nowhere);
        } else {
            TRA_TRY(tra_view_load(v, ordinal, e));
            tra_copy_strided(size, &part, dst, stride, (char *)v->array + (size_t)from * size, astride);
        }
        if (ordinal >= 0 && tra_view_sparse(v)) {
            TRA_TRY(tra_view_load(v, ordinal, e));
            scatter(v, &inner, &part, dst, stride);
        }
    } while (tra_next(&chunks, &i));
    return TRA_OK;
}
