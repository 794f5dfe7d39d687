/* program_operand.c - operands of a program as compiled kernels and the interpreter of the calculus see them: elements
 * of the arrays that meet, by the coordinates that they have in their tensors. */
#include "program_int.h"

#include <string.h>

static tra_calc_number number_at(const tra_operand_view *v, int64_t i) {
    double r;
    if (v->packed && tra_dtype_is_float(v->dtype)) {
        memcpy(&r, (const char *)v->at.value + i * 8, sizeof r);
        return tra_calc_real(r);
    }
    if (v->packed) return tra_calc_int(((const int64_t *)v->at.value)[i]);
    if (tra_dtype_is_float(v->dtype)) return tra_calc_real(tra_element_real(v->dtype, v->at.value, i));
    return tra_calc_int(tra_element_whole(v->dtype, v->at.value, i));
}

/* The place of the first row that is held and is not below this one. */
static int64_t place_of(const tra_operand_view *v, int64_t row) {
    int64_t r = 0;
    TRA_BISECT(r, v->at.nrows, mid, v->at.row[mid] < row);
    return r;
}

/* The row of the first n coordinates, n < rank, and of 0 from there on. */
static int64_t row_of(const tra_operand_view *v, int n, const int64_t *at) {
    int64_t row = v->at.first;
    for (int d = 0; d < n; d++) row += (at[d] - v->at.origin[d]) * v->at.stride[d];
    return row;
}

/* The place of the first entry of a row from that column on, and where the row ends. */
static int64_t entry_from(const tra_operand_view *v, int64_t row, int64_t column, int64_t *end) {
    int64_t r = place_of(v, row), i;
    if (r == v->at.nrows || v->at.row[r] != row) return *end = 0;
    i = v->at.begin[r], *end = v->at.begin[r + 1];
    TRA_BISECT(i, *end, mid, (int64_t)v->at.column[mid] < column);
    return i;
}

tra_status tra_operand_get(void *ctx, const int64_t *at, tra_calc_number *out, tra_err *e) {
    const tra_operand_view *v = ctx;
    *out = tra_dtype_is_float(v->dtype) ? tra_calc_real(0) : tra_calc_int(0);
    if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
    for (int d = 0; d < v->rank; d++)
        if (at[d] < v->at.origin[d] || at[d] >= v->at.origin[d] + v->at.length[d]) return TRA_OK;
    int last = v->rank - 1;
    int64_t row = row_of(v, last, at), column = v->rank ? at[last] - v->at.origin[last] : 0, end;
    int64_t i = v->rows ? entry_from(v, row, column, &end) : row * v->at.width + column;
    if (!v->rows || (i < end && (int64_t)v->at.column[i] == column)) *out = number_at(v, i);
    return TRA_OK;
}

/* The first column from `column` on of a row that is not 0; -1: none. */
static int64_t next_column(const tra_operand_view *v, int64_t row, int64_t column) {
    int64_t end = v->rank ? v->at.length[v->rank - 1] : 1, from = row * v->at.width, i = column;
    if (v->rows) i = entry_from(v, row, column, &end), from = 0;
    for (; i < end; i++)
        if (!tra_calc_number_is_zero(number_at(v, from + i))) return v->rows ? (int64_t)v->at.column[i] : i;
    return -1;
}

/* The first row from `row` on, below `end`, that is not 0; -1: none. */
static int64_t next_row(const tra_operand_view *v, int64_t row, int64_t end) {
    for (int64_t r = v->rows ? place_of(v, row) : row; r < (v->rows ? v->at.nrows : end); r++) {
        int64_t at = v->rows ? v->at.row[r] : r;
        if (at >= end) break;
        if (next_column(v, at, 0) >= 0) return at;
    }
    return -1;
}

bool tra_operand_next(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    const tra_operand_view *v = ctx;
    int64_t from = tra_max64(*key - v->at.origin[n], 0), found, stride = v->at.stride[n];
    if (from >= v->at.length[n] || tra_cancelled()) return false;
    int64_t row = row_of(v, n, prefix);
    if (n == v->rank - 1) {
        found = next_column(v, row, from);
    } else {
        found = next_row(v, row + from * stride, row + v->at.length[n] * stride);
        if (found >= 0) found = (found - row) / stride;
    }
    if (found >= 0) *key = v->at.origin[n] + found;
    return found >= 0;
}

void tra_operand_view_of(const tra_kernel *k, int o, const tra_cell *a, const tra_cell *b, tra_operand_view *v) {
    const tra_calc_program *p = k->program;
    const tra_program_operand *x = &p->operand[o];
    const tra_cell *cell = o == k->packed ? b : a;
    *v = (tra_operand_view){.dtype = x->dtype, .rank = x->block.n, .rows = cell->layout};
    v->packed = o < k->packed && k->packed > 1;
    const tra_dims *ext = &cell->array.ext, *rows = v->packed ? &x->block : ext;
    v->at = (tra_codegen_operand){.value = cell->array.data, .width = ext->n ? ext->v[ext->n - 1] : 1};
    if (v->rows) {
        tra_rows_view r = tra_rows_of(cell);
        v->at.value = r.value, v->at.row = r.row, v->at.begin = r.begin, v->at.column = r.column;
        v->at.nrows = r.nrows;
    }
    if (v->packed) v->at.first = tra_program_row(p, o);
    int64_t stride = 1;
    for (int d = v->rank - 2; d >= 0; stride *= rows->v[d--]) v->at.stride[d] = stride;
    for (int d = 0; d < v->rank; d++) {
        int label = x->label[d];
        v->at.length[d] = label < 0 ? x->block.v[d] : tra_program_length(k, label, &a->array.ext, &b->array.ext);
        if (x->name >= 0) v->at.extent[d] = p->scope[x->name].operand->extent[d];
    }
}

tra_status tra_operand_origins(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int64_t *origin, tra_err *e) {
    const tra_calc_program *p = k->program;
    for (int o = 0; o < p->noperands; o++) {
        int label = p->operand[o].number;
        tra_operand_view v;
        tra_calc_number n;
        if (label < 0) continue;
        tra_operand_view_of(k, o, a, b, &v);
        v.at.length[0] = 1;
        TRA_TRY(tra_operand_get(&v, (const int64_t[]){0}, &n, e));
        origin[label] = n.i * p->label[label].block;
    }
    return TRA_OK;
}
