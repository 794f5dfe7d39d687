/* take.c - arrays whose positions along one dimension are others, in another order. */
#include "border.h"

#include "../model/rows.h"

#include <stdlib.h>
#include <string.h>

/* An array as `outer` times n times `inner` elements, of which the middle one is the dimension. */
typedef struct taking {
    const tra_take *t;
    const int64_t *position; /* of the block of the result */
    int64_t outer, inner, n, old;
    tra_dtype dtype;
    size_t size;
} taking;

static taking taking_of(const tra_take *t, const tra_cell *a, const tra_cell *b) {
    const tra_dims *ext = &a->array.ext;
    taking w = {.t = t, .position = b->array.data, .outer = 1, .inner = 1, .n = b->array.ext.v[0]};
    for (int d = 0; d < ext->n; d++) *(d < t->dim ? &w.outer : d > t->dim ? &w.inner : &w.old) *= ext->v[d];
    w.old = ext->v[t->dim];
    w.dtype = a->array.dtype;
    w.size = tra_dtype_size(w.dtype);
    return w;
}

static int64_t from_of(const taking *w, int64_t i) { return w->t->from[w->position[i]]; }

static void set_element(tra_dtype t, void *to, double v) {
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name: *(ctype *)to = (ctype)v; return;
    switch (t) { TRA_DTYPES(X) }
#undef X
}

/* For each old position the new ones that it comes to: next[first[old]], ..., -1 ends them. In the scratch memory. */
typedef struct comes_to {
    int64_t *first, *next;
} comes_to;

static comes_to where(const taking *w, void *buf) {
    comes_to c = {buf, (int64_t *)buf + w->old};
    for (int64_t i = 0; i < w->old; i++) c.first[i] = -1;
    for (int64_t i = w->n; i-- > 0;) {
        int64_t from = from_of(w, i);
        if (from < 0) continue;
        c.next[i] = c.first[from];
        c.first[from] = i;
    }
    return c;
}

TRA_ROWS_REST(rest, tra_take, (int64_t)sizeof(int64_t) * (a->v[x->dim] + b->v[0]))

/* ---- dense results ---------------------------------------------------------------------------------------------- */

static void fill(const taking *w, tra_array *out) {
    int64_t all = w->outer * w->n * w->inner;
    if (w->t->fill == 0) {
        memset(out->data, 0, (size_t)all * w->size);
        return;
    }
    for (int64_t i = 0; i < all; i++) set_element(out->dtype, (char *)out->data + (size_t)i * w->size, w->t->fill);
}

static void dense_of_dense(const taking *w, const tra_array *a, tra_array *out) {
    size_t piece = (size_t)w->inner * w->size;
    for (int64_t o = 0; o < w->outer && !tra_cancelled(); o++)
        for (int64_t i = 0; i < w->n; i++) {
            int64_t from = from_of(w, i);
            if (from >= 0)
                memcpy((char *)out->data + (size_t)(o * w->n + i) * piece,
                       (const char *)a->data + (size_t)(o * w->old + from) * piece, piece);
        }
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

/* An entry of the result: its place, row-major, and where its value is. */
typedef struct entry {
    int64_t place;
    const char *value;
} entry;

static int by_place(const void *x, const void *y) {
    int64_t a = ((const entry *)x)->place, b = ((const entry *)y)->place;
    return (a > b) - (a < b);
}

static bool is_zero(const taking *w, const void *v) { return tra_element_real(w->dtype, v, 0) == 0; }

/* Goes through the entries that the result has of an array that is held by its entries: counts them, or, if v is not
 * NULL, also puts them there. Of taken columns; those of rows are copied row by row. */
static int64_t entries_of(const taking *w, const comes_to *to, const tra_cell *a, entry *v) {
    tra_rows_view r = tra_rows_of(a);
    int64_t last = a->array.ext.v[a->array.ext.n - 1], n = 0;
    for (int64_t i = 0; i < r.nrows; i++)
        for (int64_t p = r.begin[i]; p < r.begin[i + 1]; p++) {
            const char *value = r.value + (size_t)p * w->size;
            int64_t old = r.column[p], out = r.row[i], in = 0;
            if (w->t->dim + 1 < a->array.ext.n) {
                int64_t place = r.row[i] * last + old;
                in = place % w->inner, old = place / w->inner % w->old, out = place / w->inner / w->old;
            }
            if (is_zero(w, value)) continue;
            for (int64_t at = to->first[old]; at >= 0; at = to->next[at], n++)
                if (v) v[n] = (entry){(out * w->n + at) * w->inner + in, value};
        }
    return n;
}

/* The first stored row not below `row`; most often it comes soon after row number r. */
static int64_t find_from(const tra_rows_view *v, int64_t r, int64_t row) {
    enum { SOON = 16 };
    if (r > 0 && v->row[r - 1] >= row) return tra_rows_from(v, row);
    for (int64_t end = tra_min64(v->nrows, r + SOON); r < end; r++)
        if (v->row[r] >= row) return r;
    return r < v->nrows ? tra_rows_from(v, row) : r;
}

/* Rows are taken: of each position of the result those of the old one. Appends them, or (to NULL) counts their entries,
 * of which some may be 0. */
static int64_t take_rows(const taking *w, const tra_cell *a, tra_rows_maker *to) {
    tra_rows_view v = tra_rows_of(a);
    int64_t each = w->inner / a->array.ext.v[a->array.ext.n - 1], n = 0, r = 0;
    for (int64_t o = 0; o < w->outer && !tra_cancelled(); o++)
        for (int64_t i = 0; i < w->n; i++) {
            int64_t from = from_of(w, i), first = (o * w->old + from) * each;
            if (from < 0) continue;
            r = find_from(&v, r, first);
            for (; r < v.nrows && v.row[r] < first + each; r++) {
                int64_t k = v.begin[r], end = v.begin[r + 1];
                n += end - k;
                if (!to) continue;
                tra_rows_open(to, (o * w->n + i) * each + v.row[r] - first);
                for (; k < end; k++) {
                    const char *value = v.value + (size_t)k * w->size;
                    if (!is_zero(w, value)) memcpy(tra_rows_next(to, v.column[k]), value, w->size);
                }
                tra_rows_close(to);
            }
        }
    return n;
}

static bool takes_rows(const taking *w, const tra_cell *a) {
    return a->layout == &tra_rows && w->t->dim + 1 < a->array.ext.n && w->inner > 0;
}

static void dense_of_entries(const taking *w, const comes_to *to, const tra_cell *a, tra_array *out) {
    int64_t n = entries_of(w, to, a, NULL);
    entry *v = tra_calloc((size_t)n + 1, sizeof *v);
    entries_of(w, to, a, v);
    for (int64_t i = 0; i < n; i++) memcpy((char *)out->data + (size_t)v[i].place * w->size, v[i].value, w->size);
    free(v);
}

static void put(tra_rows_maker *m, int64_t place, int64_t last, int64_t *row, const char *value, size_t size) {
    if (place / last != *row) {
        if (*row >= 0) tra_rows_close(m);
        tra_rows_open(m, *row = place / last);
    }
    memcpy(tra_rows_next(m, (uint32_t)(place % last)), value, size);
}

static int64_t count_dense(const taking *w, const tra_array *a) {
    int64_t n = 0;
    for (int64_t o = 0; o < w->outer; o++)
        for (int64_t i = 0; i < w->n * w->inner; i++) {
            int64_t from = from_of(w, i / w->inner);
            const char *value =
                (const char *)a->data + (size_t)((o * w->old + from) * w->inner + i % w->inner) * w->size;
            n += from >= 0 && !is_zero(w, value);
        }
    return n;
}

static void entries_of_dense(const taking *w, const tra_array *a, tra_rows_maker *m, int64_t last, int64_t *row) {
    for (int64_t o = 0; o < w->outer; o++)
        for (int64_t i = 0; i < w->n * w->inner; i++) {
            int64_t from = from_of(w, i / w->inner);
            const char *value =
                (const char *)a->data + (size_t)((o * w->old + from) * w->inner + i % w->inner) * w->size;
            if (from >= 0 && !is_zero(w, value)) put(m, o * w->n * w->inner + i, last, row, value, w->size);
        }
}

static int64_t count_all(const taking *w, const tra_cell *a, void *buf) {
    if (a->layout != &tra_rows) return count_dense(w, &a->array);
    if (takes_rows(w, a)) return take_rows(w, a, NULL);
    comes_to to = where(w, buf);
    return entries_of(w, &to, a, NULL);
}

static void make_entries(const taking *w, const tra_cell *a, tra_cell *out, void *buf) {
    const tra_dims *ext = &out->array.ext;
    int64_t n = count_all(w, a, buf), rows = tra_min64(n, tra_rows_box(ext)), last = ext->v[ext->n - 1], row = -1;
    if (!tra_rows_take(out, rows, n)) return;
    tra_rows_maker m = tra_rows_make(out, rows, n);
    if (takes_rows(w, a)) {
        take_rows(w, a, &m);
    } else if (a->layout == &tra_rows) {
        comes_to to = where(w, buf);
        entry *v = tra_calloc((size_t)n + 1, sizeof *v);
        entries_of(w, &to, a, v);
        bool sorted = true;
        for (int64_t i = 1; i < n; i++) sorted = sorted && v[i - 1].place < v[i].place;
        if (!sorted) qsort(v, (size_t)n, sizeof *v, by_place);
        for (int64_t i = 0; i < n; i++) put(&m, v[i].place, last, &row, v[i].value, w->size);
        free(v);
    } else {
        entries_of_dense(w, &a->array, &m, last, &row);
    }
    if (row >= 0) tra_rows_close(&m);
    tra_rows_made(&m);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static void run(const void *data, tra_rows_io *io) {
    const tra_cell *a = io->a;
    tra_cell *out = io->out;
    taking w = taking_of(data, a, io->b);
    if (out->layout == &tra_rows) {
        make_entries(&w, a, out, io->rest);
        return;
    }
    if (out->layout) {
        tra_dims ext = a->array.ext;
        ext.v[w.t->dim] = w.n;
        if (!tra_counted_take(out, &ext)) return;
        tra_counted_begin(out, &ext);
    }
    fill(&w, &out->array);
    if (a->layout == &tra_rows) {
        comes_to to = where(&w, io->rest);
        dense_of_entries(&w, &to, a, &out->array);
    } else {
        dense_of_dense(&w, &a->array, &out->array);
    }
}

const tra_rows_ops tra_take_ops = {.rest = rest, .run = run};
