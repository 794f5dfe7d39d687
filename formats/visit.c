/* visit.c - what visit.h promises. */
#include "visit.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, LEAST = 4 << 20 };

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static void set_array(tra_visit *w, const tra_cell *cell, const tra_dims *start) {
    w->at = w->start = *start;
    w->array = cell->array;
    w->rows_of = cell->array.ext;
    if (w->rows_of.n > 0) w->rows_of.n--;
    w->row = w->n = -1;
    w->next = w->row_end = 0;
    w->end = false;
    if (cell->layout)
        w->rows = tra_rows_of(cell);
    else if (!tra_dims_product(&cell->array.ext, &w->n))
        w->n = 0;
}

tra_visit tra_visit_cell(const tra_cell *cell, const tra_dims *start, const tra_dims *shape) {
    tra_visit w = {.end = !cell, .shape = shape};
    if (cell) set_array(&w, cell, start);
    return w;
}

static void begin_row(tra_visit *w, int64_t row) {
    tra_dims in;
    int lead = w->start.n - w->array.ext.n;
    tra_unlinear(&w->rows_of, row, &in);
    for (int d = 0; d < in.n; d++) w->at.v[lead + d] = w->start.v[lead + d] + in.v[d];
    if (w->array.ext.n > 0) w->at.v[w->at.n - 1] = w->start.v[w->at.n - 1];
    if (w->shape) w->row_index = tra_linear(w->shape, &w->at);
}

/* The next entry of the array; w->end: there is none. */
static void next_of_array(tra_visit *w) {
    int64_t width = w->array.ext.n > 0 ? w->array.ext.v[w->array.ext.n - 1] : 1;
    if (w->end) return;
    if (w->n < 0) {
        if (w->next == w->row_end) {
            w->end = ++w->row >= w->rows.nrows;
            if (w->end) return;
            begin_row(w, w->rows.row[w->row]);
            w->row_end = w->rows.begin[w->row + 1];
        }
        (void)!tra_visit_next(w, NULL);
        return;
    }
    while (w->next < w->n && tra_value_is_zero(w->array.dtype, w->array.data, w->next)) w->next++;
    w->end = w->next >= w->n;
    if (w->end) return;
    if (w->next / width != w->row) begin_row(w, w->row = w->next / width);
    w->index = w->row_index + w->next % width;
    w->value = (const char *)w->array.data + (size_t)w->next++ * tra_dtype_size(w->array.dtype);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

tra_visit tra_visit_blocks(tra_view *v) { return (tra_visit){.end = true, .view = v}; }

static tra_status load_block(tra_visit *w, int64_t tuple, tra_err *e) {
    tra_dims at;
    tra_view_offset(w->view, tuple, &at);
    TRA_TRY(tra_view_load(w->view, tuple, e));
    tra_cell cell = tra_view_cell(w->view);
    set_array(w, &cell, &at);
    return TRA_OK;
}

static tra_status next_of_blocks(tra_visit *w, tra_err *e) {
    next_of_array(w);
    while (w->end && w->view && w->tuple < tra_rel_type(w->view->rel)->cat->n) {
        TRA_TRY(load_block(w, w->tuple++, e));
        next_of_array(w);
    }
    return TRA_OK;
}

/* Do all tuples lie one after the other in the order of their keys? */
static bool in_order(const tra_view *v) {
    int k = -1; /* keys along the view's dimensions must ascend, for the order of tuples to be that of the view */
    for (int d = 0; d < v->shape.n; d++) {
        if (v->key[d] < 0) continue;
        if (v->key[d] < k) return false;
        k = v->key[d];
    }
    return tra_rel_type(v->rel)->cat->n <= 1 || tra_block_in_order(&v->shape, &v->chunk);
}

int64_t tra_visit_least(const tra_view *v) { return in_order(v) ? 0 : LEAST; }

int64_t tra_view_entries(const tra_view *v) {
    const tra_type *t = tra_rel_type(v->rel);
    int64_t each = (int64_t)(sizeof(uint32_t) + tra_dtype_size(t->dtype)), n = 0;
    if (!t->entries || !t->entries->of) return tra_mul_most(t->cat->n, (int64_t)v->array_bytes / each);
    for (int64_t i = 0; i < t->cat->n; i++) n = tra_add_most(n, t->entries->of[i]);
    return n;
}

/* ---- bands ------------------------------------------------------------------------------------------------------ */

/* Rows of the first dimension in a band: whole blocks, and so many that it can on average be sorted without a scratch
 * file. */
static int64_t height_of(const tra_view *v, int64_t memory) {
    int64_t fit = memory / (2 * (int64_t)sizeof(tra_item)), blocks = tra_ceil_div(v->shape.v[0], v->chunk.v[0]);
    int64_t bands = tra_min64(blocks, tra_ceil_div(tra_view_entries(v), tra_max64(1, fit)));
    return tra_mul_most(v->chunk.v[0], tra_ceil_div(blocks, tra_max64(1, bands)));
}

tra_status tra_visit_in_order(tra_view *v, int64_t memory, const char *output, tra_visit *w, tra_err *e) {
    int64_t elements;
    *w = tra_visit_blocks(v);
    w->shape = &v->shape;
    if (in_order(v)) return TRA_OK;
    w->end = false;
    w->memory = memory;
    w->height = height_of(v, memory);
    w->output = output;
    w->batch = tra_calloc(BATCH, sizeof *w->batch);
    if (tra_dims_product(&v->shape, &elements)) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: it has more elements than can be counted", output);
}

/* The entries of the array to the sorter. */
static tra_status sort_array(tra_visit *w, tra_err *e) {
    int64_t room = 0, n = 0;
    tra_item *to = NULL;
    size_t size = tra_dtype_size(w->array.dtype);
    for (next_of_array(w); !w->end; next_of_array(w)) {
        if (n == room) {
            tra_sorter_added(w->sorter, n);
            n = 0;
            TRA_TRY(tra_sorter_room(w->sorter, &to, &room, e));
        }
        to[n] = (tra_item){(uint64_t)w->index, {0}};
        memcpy(&to[n++].value, w->value, size);
    }
    tra_sorter_added(w->sorter, n);
    w->end = false;
    return TRA_OK;
}

static tra_status sort_band(tra_visit *w, tra_err *e) {
    const tra_view *v = w->view;
    int64_t elements = 0, from = w->from;
    w->from = tra_add_most(from, w->height);
    tra_dims_product(&v->shape, &elements);
    tra_sorter_options o = {.places = (uint64_t)elements,
                            .memory = w->memory,
                            .most = -1,
                            .least = 1,
                            .ranges = 1,
                            .output = w->output,
                            .workers = 1,
                            .no_duplicate = true};
    w->sorter = tra_sorter_new(&o);
    for (int64_t i = 0; i < tra_rel_type(v->rel)->cat->n; i++) {
        tra_dims at;
        tra_view_offset(v, i, &at);
        if (at.v[0] < from || at.v[0] >= w->from) continue;
        TRA_TRY(load_block(w, i, e));
        TRA_TRY(sort_array(w, e));
    }
    TRA_TRY(tra_sorter_sort(w->sorter, e));
    return tra_sorter_merge(w->sorter, w->memory, e);
}

static tra_status next_of_bands(tra_visit *w, tra_err *e) {
    while (w->taken == w->got && !w->end) {
        w->taken = w->got = 0;
        if (w->sorter) TRA_TRY(tra_sorter_take(w->sorter, UINT64_MAX - 1, w->batch, BATCH, &w->got, e));
        if (w->got > 0) break;
        tra_sorter_free(w->sorter);
        w->sorter = NULL;
        w->end = w->from >= w->view->shape.v[0];
        if (!w->end) TRA_TRY(sort_band(w, e));
    }
    if (w->end) return TRA_OK;
    w->index = (int64_t)w->batch[w->taken].place;
    w->value = (const char *)&w->batch[w->taken++].value;
    return TRA_OK;
}

tra_status tra_visit_beyond(tra_visit *w, tra_err *e) { return w->height ? next_of_bands(w, e) : next_of_blocks(w, e); }

const tra_dims *tra_visit_at(tra_visit *w) {
    int last = w->at.n - 1;
    if (w->height)
        tra_unlinear(&w->view->shape, w->index, &w->at);
    else if (w->array.ext.n > 0)
        w->at.v[last] = w->start.v[last] + w->index - w->row_index;
    return &w->at;
}

void tra_visit_end(tra_visit *w) {
    tra_sorter_free(w->sorter);
    free(w->batch);
    w->sorter = NULL;
    w->batch = NULL;
}
