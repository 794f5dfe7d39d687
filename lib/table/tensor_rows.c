/* tensor_rows.c - the elements of arrays as rows. */
#include "tensor_rows.h"

#include "../model/columns.h"
#include "../model/rows.h"

#include <string.h>

static bool is_zero(const void *x, tra_dtype t) { return tra_element_real(t, x, 0) == 0; }

/* The positions of the block's rows; NULL: nobody asks. */
static const int64_t *positions_of(const tra_cell *b) { return b ? b->array.data : NULL; }

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

TRA_ROWS_FORM(border_form, tra_border, .out = x->out)

static void entries_run(const void *data, tra_rows_io *io) {
    const tra_border *k = data;
    const tra_batch *made = &io->made;
    const int64_t *rows = positions_of(io->b);
    int64_t i = 0;
    const tra_dims *ext = &io->a->array.ext;
    walk w = walk_of(k, io->a);
    if (!tra_rows_result(io, count(k, io->a))) return;
    for (; walk_next(&w); i++) {
        int64_t place = w.place;
        for (int d = k->rank - 1; d >= 0; d--) {
            int64_t at = place % ext->v[d];
            at = d == 0 ? rows[at] : at + k->origin[d];
            place /= ext->v[d];
            if (k->label[d])
                tra_dim_labels_put(k->label[d], at, made->v[d].values, i);
            else
                ((int64_t *)made->v[d].values)[i] = at;
        }
        memcpy((char *)made->v[k->rank].values + (size_t)i * w.size, w.value, w.size);
    }
}

const tra_rows_ops tra_entries_ops = {.form = border_form, .run = entries_run};

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static void unmatrix_run(const void *data, tra_rows_io *io) {
    const tra_border *k = data;
    const tra_batch *made = &io->made;
    const int64_t *position = positions_of(io->b);
    int64_t rows = io->a->array.ext.v[0];
    int labels = k->label[0] ? 1 : 0;
    tra_border all = *k;
    all.sparse = io->a->layout == &tra_rows; /* of a dense array every element is copied */
    walk w = walk_of(&all, io->a);
    if (!tra_rows_result(io, rows)) return;
    for (int64_t i = 0; labels && i < rows; i++) tra_dim_labels_put(k->label[0], position[i], made->v[0].values, i);
    for (int c = labels; all.sparse && c < k->out->n; c++) memset(made->v[c].values, 0, (size_t)rows * w.size);
    int64_t width = k->out->n - labels;
    while (walk_next(&w)) {
        char *column = made->v[labels + w.place % width].values;
        memcpy(column + (size_t)(w.place / width) * w.size, w.value, w.size);
    }
}

const tra_rows_ops tra_unmatrix_ops = {.form = border_form, .run = unmatrix_run};

/* ---- rows by their positions ------------------------------------------------------------------------------------- */

static tra_dims gather_extents(const tra_gather *g, const tra_cell *a, const tra_cell *b) {
    return (tra_dims){2, {a->array.ext.v[0], b->array.ext.n > 1 ? b->array.ext.v[1 - g->dim] : 1}};
}

/* Which of n ascending positions is `at`, -1: none. */
static int64_t find_position(const int64_t *position, int64_t n, int64_t at) {
    int64_t from = 0;
    TRA_BISECT(from, n, middle, position[middle] < at);
    return from < n && position[from] == at ? from : -1;
}

/* Of a block that is held by its entries. first: its first position. */
static void gather_entries(const tra_gather *g, const tra_cell *b, const int64_t *position, const tra_dims *ext,
                           int64_t first, char *to) {
    tra_rows_view v = tra_rows_of(b);
    bool vector = b->array.ext.n == 1;
    memset(to, 0, (size_t)(ext->v[0] * ext->v[1]) * v.size);
    for (int64_t i = 0; i < v.nrows; i++) {
        bool by_row = !vector && g->dim == 0;
        int64_t row = by_row ? find_position(position, ext->v[0], first + v.row[i]) : 0;
        for (int64_t p = v.begin[i]; row >= 0 && p < v.begin[i + 1]; p++) {
            int64_t c = (int64_t)v.column[p], at = by_row ? row : find_position(position, ext->v[0], first + c);
            int64_t across = by_row ? c : vector ? 0 : v.row[i];
            if (at >= 0) memcpy(to + (size_t)(at * ext->v[1] + across) * v.size, v.value + (size_t)p * v.size, v.size);
        }
    }
}

static void gather_run(const void *data, tra_rows_io *io) {
    const tra_gather *g = data;
    const tra_cell *a = io->a, *b = io->b;
    tra_dims ext = gather_extents(g, a, b);
    const int64_t *position = a->array.data;
    size_t size = tra_dtype_size(b->array.dtype);
    if (io->out->layout && !tra_counted_take(io->out, &ext)) return;
    if (io->out->layout) tra_counted_begin(io->out, &ext);
    char *to = io->out->array.data;
    if (ext.v[0] == 0 || ext.v[1] == 0) return;
    int64_t first = position[0] - position[0] % g->block, across = b->array.ext.n > 1 ? b->array.ext.v[1] : 1;
    if (b->layout == &tra_rows) {
        gather_entries(g, b, position, &ext, first, to);
        return;
    }
    for (int64_t i = 0; i < ext.v[0]; i++) {
        const char *from = b->array.data;
        from += (size_t)((position[i] - first) * (g->dim ? 1 : across)) * size;
        for (int64_t c = 0; g->dim && c < ext.v[1]; c++)
            memcpy(to + (size_t)(i * ext.v[1] + c) * size, from + (size_t)(c * across) * size, size);
        if (!g->dim) memcpy(to + (size_t)(i * ext.v[1]) * size, from, (size_t)ext.v[1] * size);
    }
}

const tra_rows_ops tra_gather_ops = {.run = gather_run};
