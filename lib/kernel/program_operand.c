/* program_operand.c - operands of a program as the interpreter of the calculus and compiled kernels see them: elements
 * of the arrays that meet, by the coordinates that they have in their tensors. */
#include "program_operand.h"

#include <string.h>

static tra_calc_number number_at(const tra_operand_view *v, int64_t i) {
    const void *data = v->cell->layout ? v->rows.value : v->cell->array.data;
    double r;
    if (v->packed) {
        int64_t bits = ((const int64_t *)data)[i];
        if (!tra_dtype_is_float(v->dtype)) return tra_calc_int(bits);
        memcpy(&r, &bits, sizeof r);
        return tra_calc_real(r);
    }
    if (tra_dtype_is_float(v->dtype)) return tra_calc_real(tra_element_real(v->dtype, data, i));
    return tra_calc_int(tra_element_whole(v->dtype, data, i));
}

static int64_t first_column(const tra_rows_view *v, int64_t r, int64_t column) {
    int64_t from = v->begin[r], to = v->begin[r + 1];
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if ((int64_t)v->column[middle] < column)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The row of the first n coordinates, n < rank, and of 0 from there on. */
static int64_t row_of(const tra_operand_view *v, int n, const int64_t *at) {
    int64_t row = v->row;
    for (int d = 0; d < n; d++) row += (at[d] - v->origin[d]) * v->stride[d];
    return row;
}

tra_status tra_operand_get(void *ctx, const int64_t *at, tra_calc_number *out, tra_err *e) {
    const tra_operand_view *v = ctx;
    *out = tra_dtype_is_float(v->dtype) ? tra_calc_real(0) : tra_calc_int(0);
    if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
    for (int d = 0; d < v->rank; d++)
        if (at[d] < v->origin[d] || at[d] >= v->origin[d] + v->length[d]) return TRA_OK;
    int last = v->rank - 1;
    int64_t row = row_of(v, last, at), column = v->rank ? at[last] - v->origin[last] : 0;
    if (!v->cell->layout) {
        *out = number_at(v, row * v->width + column);
        return TRA_OK;
    }
    int64_t r = tra_rows_find(&v->rows, row);
    if (r == v->rows.nrows || v->rows.row[r] != row) return TRA_OK;
    int64_t i = first_column(&v->rows, r, column);
    if (i < v->rows.begin[r + 1] && (int64_t)v->rows.column[i] == column) *out = number_at(v, i);
    return TRA_OK;
}

/* The first column from `column` on of a row that is not 0; -1: none. */
static int64_t next_column(const tra_operand_view *v, int64_t row, int64_t column) {
    int64_t columns = v->rank ? v->length[v->rank - 1] : 1;
    if (!v->cell->layout) {
        for (; column < columns; column++)
            if (!tra_calc_number_is_zero(number_at(v, row * v->width + column))) return column;
        return -1;
    }
    int64_t r = tra_rows_find(&v->rows, row);
    if (r == v->rows.nrows || v->rows.row[r] != row) return -1;
    for (int64_t i = first_column(&v->rows, r, column); i < v->rows.begin[r + 1]; i++)
        if (!tra_calc_number_is_zero(number_at(v, i))) return (int64_t)v->rows.column[i];
    return -1;
}

/* The first row from `row` on, below `end`, that is not 0; -1: none. */
static int64_t next_row(const tra_operand_view *v, int64_t row, int64_t end) {
    if (!v->cell->layout) {
        for (; row < end; row++)
            if (next_column(v, row, 0) >= 0) return row;
        return -1;
    }
    for (int64_t r = tra_rows_find(&v->rows, row); r < v->rows.nrows && v->rows.row[r] < end; r++)
        for (int64_t i = v->rows.begin[r]; i < v->rows.begin[r + 1]; i++)
            if (!tra_calc_number_is_zero(number_at(v, i))) return v->rows.row[r];
    return -1;
}

bool tra_operand_next(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    const tra_operand_view *v = ctx;
    int64_t from = tra_max64(*key - v->origin[n], 0), found;
    if (from >= v->length[n] || tra_cancelled()) return false;
    int64_t row = row_of(v, n, prefix);
    if (n == v->rank - 1) {
        found = next_column(v, row, from);
    } else {
        found = next_row(v, row + from * v->stride[n], row + v->length[n] * v->stride[n]);
        if (found >= 0) found = (found - row) / v->stride[n];
    }
    if (found >= 0) *key = v->origin[n] + found;
    return found >= 0;
}

void tra_operand_view_of(const tra_kernel *k, int o, const tra_cell *a, const tra_cell *b, tra_operand_view *v) {
    const tra_calc_program *p = k->program;
    const tra_program_operand *x = &p->operand[o];
    *v = (tra_operand_view){.cell = o == k->packed ? b : a, .dtype = x->dtype, .rank = x->block.n};
    v->packed = o < k->packed && k->packed > 1;
    const tra_dims *ext = &v->cell->array.ext, *rows = v->packed ? &x->block : ext;
    v->width = ext->n ? ext->v[ext->n - 1] : 1;
    v->row = v->packed ? tra_program_row(p, o) : 0;
    if (v->cell->layout) v->rows = tra_rows_of(v->cell);
    int64_t stride = 1;
    for (int d = v->rank - 2; d >= 0; d--) {
        v->stride[d] = stride;
        stride *= rows->v[d];
    }
    for (int d = 0; d < v->rank; d++) {
        int label = x->label[d];
        v->length[d] = label < 0 ? x->block.v[d] : tra_program_length(k, label, &a->array.ext, &b->array.ext);
    }
}

tra_codegen_operand tra_operand_held_of(const tra_operand_view *v, const tra_calc_operand *o) {
    tra_codegen_operand h = {.value = v->cell->layout ? (const void *)v->rows.value : v->cell->array.data,
                             .row = v->rows.row,
                             .begin = v->rows.begin,
                             .column = v->rows.column,
                             .nrows = v->rows.nrows,
                             .first = v->row,
                             .width = v->width};
    for (int d = 0; d < v->rank; d++) {
        h.extent[d] = o->extent[d];
        h.origin[d] = v->origin[d];
        h.length[d] = v->length[d];
        h.stride[d] = d + 1 < v->rank ? v->stride[d] : 0;
    }
    return h;
}

tra_status tra_operand_origins(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int64_t *origin, tra_err *e) {
    const tra_calc_program *p = k->program;
    for (int o = 0; o < p->noperands; o++) {
        int label = p->operand[o].number;
        tra_operand_view v;
        tra_calc_number n;
        if (label < 0) continue;
        tra_operand_view_of(k, o, a, b, &v);
        v.length[0] = 1;
        TRA_TRY(tra_operand_get(&v, (const int64_t[]){0}, &n, e));
        origin[label] = n.i * p->label[label].block;
    }
    return TRA_OK;
}

static tra_status get_none(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    (void)ctx, (void)at, (void)v;
    return tra_fail(e, TRA_INTERNAL, "an element of a relation that has none");
}

static bool next_none(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    (void)ctx, (void)n, (void)prefix, (void)key;
    return false;
}

tra_calc_operand tra_operand_empty(const tra_calc_operand *o, tra_codegen_operand *held) {
    tra_calc_operand x = *o;
    x.ctx = NULL;
    x.get = get_none;
    x.next = next_none;
    for (int d = 0; d < o->rank; d++) held->extent[d] = held->length[d] = o->extent[d];
    held->width = o->rank ? o->extent[o->rank - 1] : 1;
    return x;
}
