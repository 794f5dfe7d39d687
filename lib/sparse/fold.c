/* fold.c - rows of entries folded into dense states. */
#include "sparse.h"

#include <assert.h>

/* state[column] += value: of state's types, f64 and i64. */
static void add_entries(tra_array *state, int64_t at, const uint32_t *column, const void *value, tra_dtype t,
                        int64_t first, int64_t count) {
    double buf[TRA_STRIP];
    bool over = false;
    for (int64_t i = 0; i < count; i += TRA_STRIP) {
        int64_t n = tra_min64(TRA_STRIP, count - i);
        const void *got = tra_load(value, t, first + i, 1, n, state->dtype, buf);
        if (state->dtype == TRA_F64) {
            double *to = (double *)state->data + at;
            for (int64_t j = 0; j < n; j++) to[column[i + j]] += ((const double *)got)[j];
        } else {
            int64_t *to = (int64_t *)state->data + at;
            for (int64_t j = 0; j < n; j++)
                over |= __builtin_add_overflow(to[column[i + j]], ((const int64_t *)got)[j], &to[column[i + j]]);
        }
    }
    tra_overflow |= over;
}

static void fold_sum(tra_array *state, const tra_cell *in, const int64_t *stride) {
    tra_rows_view v = tra_rows_of(in);
    for (int64_t r = 0; r < v.nrows; r++)
        add_entries(state, tra_row_offset(&in->array.ext, v.row[r], stride), v.column + v.begin[r], v.value,
                    in->array.dtype, v.begin[r], v.begin[r + 1] - v.begin[r]);
}

/* What sees the zeros: every element of the box. */
static void fold_all(tra_scalar_op fold, tra_array *state, const tra_cell *in, const int64_t *stride) {
    tra_reader r = tra_read_cell(in);
    tra_dtype t = tra_strip_type(state->dtype);
    tra_strip_fn *strip = tra_strip_fold(t, fold, in->sparse);
    double x[TRA_STRIP], buf[TRA_STRIP];
    for (int64_t row = 0; row < r.rows && r.columns > 0 && !tra_cancelled(); row++) {
        const uint32_t *column = r.v.column;
        int64_t first = 0, k = 0, count = tra_read_row(&r, row, &column, &first);
        int64_t to = tra_row_offset(&in->array.ext, row, stride);
        for (int64_t i = 0; i < r.columns; i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, r.columns - i);
            tra_row_strip(column, count, tra_read_values(&r), in->array.dtype, first, i, n, t, x, &k);
            const void *s = tra_load(state->data, state->dtype, to + i, 1, n, t, buf);
            strip(fold, x, s, x, 0, n);
            tra_store(state->data, state->dtype, to + i, 1, x, t, n);
        }
    }
}

/* Every entry, and of those that are none the first, which has the least index. */
static void fold_index(const tra_kernel *k, double *state, const tra_cell *in, const tra_agg_at *at) {
    const tra_dims *shape = at ? &at->shape : &in->array.ext;
    tra_rows_view v = tra_rows_of(in);
    int64_t stride[TRA_MAXDIM], first = 0, gap_row = 0, gap_column = 0;
    int64_t columns = tra_last_extent(&in->array.ext), rows = tra_rows_box(&in->array.ext);
    if (columns == 0 || rows == 0) return;
    tra_strides(shape, stride);
    for (int d = 0; at && d < at->offset.n; d++) first += at->offset.v[d] * stride[d];
    for (int64_t r = 0; r < v.nrows; r++) {
        int64_t from = first + tra_row_offset(&in->array.ext, v.row[r], stride);
        for (int64_t e = v.begin[r]; e < v.begin[r + 1]; e++) {
            double value = tra_get(v.value, in->array.dtype, e), i = (double)(from + v.column[e]);
            if (tra_index_before(k, value, i, state)) state[0] = value, state[1] = i;
            if (v.row[r] != gap_row || v.column[e] != gap_column) continue;
            gap_column++;
            if (gap_column == columns) gap_row++, gap_column = 0;
        }
    }
    double i = (double)(first + tra_row_offset(&in->array.ext, gap_row, stride) + gap_column);
    if (gap_row < rows && tra_index_before(k, 0, i, state)) state[0] = 0, state[1] = i;
}

void tra_rows_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at) {
    const tra_kernel *k = tra_kernel_first(agg);
    int64_t stride[TRA_MAXDIM];
    assert(in->layout == &tra_rows);
    if (k->cls == TRA_K_INDEX) {
        fold_index(k, state->data, in, at);
        return;
    }
    tra_strides(&state->ext, stride);
    if (k->fold == TRA_S_ADD)
        fold_sum(state, in, stride);
    else
        fold_all(k->fold, state, in, stride);
}
