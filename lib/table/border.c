/* border.c - the elements of arrays as rows. */
#include "border.h"

#include "../relation/rows.h"

#include <string.h>

static bool is_zero(const void *x, tra_dtype t) { return tra_element_real(t, x, 0) == 0; }

/* The position of the block's first row. */
static int64_t first_of(const tra_cell *b) {
    return b && b->array.ext.v[0] > 0 ? ((const int64_t *)b->array.data)[0] : 0;
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* Goes through the elements of an array in row-major order, or through its entries. */
typedef struct walk {
    const tra_cell *cell;
    tra_rows_view rows; /* held by entries */
    bool sparse;
    size_t size;
    int64_t all, last, at, row; /* elements there are; along the last dimension; the next one, and its row */
    int64_t place;              /* of the element, row-major, and */
    const char *value;
} walk;

static walk walk_of(const tra_border *k, const tra_cell *c) {
    const tra_dims *ext = &c->array.ext;
    walk w = {.cell = c, .sparse = k->sparse, .size = tra_dtype_size(c->array.dtype), .all = 1, .last = 1};
    for (int d = 0; d < ext->n; d++) w.all *= ext->v[d];
    if (ext->n) w.last = ext->v[ext->n - 1];
    if (c->layout == &tra_rows) w.rows = tra_rows_of(c), w.all = w.rows.n;
    return w;
}

static bool walk_next(walk *w) {
    for (; w->at < w->all; w->at++) {
        w->place = w->at;
        if (w->rows.value) {
            while (w->at >= w->rows.begin[w->row + 1]) w->row++;
            w->place = w->rows.row[w->row] * w->last + (int64_t)w->rows.column[w->at];
        }
        w->value = (w->rows.value ? w->rows.value : (const char *)w->cell->array.data) + (size_t)w->at * w->size;
        if (w->sparse && is_zero(w->value, w->cell->array.dtype)) continue;
        w->at++;
        return true;
    }
    return false;
}

static int64_t count(const tra_border *k, const tra_cell *c) {
    walk w = walk_of(k, c);
    if (!k->sparse) return w.all;
    int64_t n = 0;
    while (walk_next(&w)) n++;
    return n;
}

static int64_t scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_border *k = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(k->out->n);
}

static int64_t entries_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *buf) {
    const tra_border *k = data;
    (void)b, (void)buf;
    out->counted[0] = count(k, a) + 1;
    return tra_columns_room(k->out, out->counted[0] - 1);
}

static void entries_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *buf) {
    const tra_border *k = data;
    tra_batch made = {.v = buf};
    int64_t first = first_of(b), i = 0;
    const tra_dims *ext = &a->array.ext;
    walk w = walk_of(k, a);
    tra_columns_begin(out, k->out, out->counted[0] ? out->counted[0] - 1 : count(k, a), &made);
    for (; walk_next(&w); i++) {
        int64_t place = w.place;
        for (int d = k->rank - 1; d >= 0; d--) {
            int64_t at = place % ext->v[d] + (d == 0 ? first : k->origin[d]);
            place /= ext->v[d];
            if (k->label[d])
                tra_dim_labels_put(k->label[d], at, made.v[d].values, i);
            else
                ((int64_t *)made.v[d].values)[i] = at;
        }
        memcpy((char *)made.v[k->rank].values + (size_t)i * w.size, w.value, w.size);
    }
}

const tra_rows_ops tra_entries_ops = {.scratch = scratch, .bytes = entries_bytes, .run = entries_run};

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static int64_t unmatrix_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *buf) {
    const tra_border *k = data;
    (void)b, (void)out, (void)buf;
    return tra_columns_room(k->out, a->array.ext.v[0]);
}

static void unmatrix_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *buf) {
    const tra_border *k = data;
    tra_batch made = {.v = buf};
    int64_t rows = a->array.ext.v[0], first = first_of(b);
    int labels = k->label[0] ? 1 : 0;
    tra_border all = *k;
    all.sparse = a->layout == &tra_rows; /* of a dense array every element is copied */
    walk w = walk_of(&all, a);
    tra_columns_begin(out, k->out, rows, &made);
    for (int64_t i = 0; labels && i < rows; i++) tra_dim_labels_put(k->label[0], first + i, made.v[0].values, i);
    for (int c = labels; all.sparse && c < k->out->n; c++) memset(made.v[c].values, 0, (size_t)rows * w.size);
    int64_t width = k->out->n - labels;
    while (walk_next(&w)) {
        char *column = made.v[labels + w.place % width].values;
        memcpy(column + (size_t)(w.place / width) * w.size, w.value, w.size);
    }
}

const tra_rows_ops tra_unmatrix_ops = {.scratch = scratch, .bytes = unmatrix_bytes, .run = unmatrix_run};
