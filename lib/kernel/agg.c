/* agg.c - aggregations: state, fold, merge. The state of sums and products is in f64, of integers in i64, of maxima and
 * minima in the type of the relation; minindex and maxindex keep {value, index}, with index -1 while they have seen
 * nothing. */
#include "kernel_int.h"

#include <assert.h>
#include <math.h>

tra_dtype tra_agg_state_dtype(const tra_kernel *agg, tra_dtype in) {
    const tra_kernel *k = tra_kernel_first(agg);
    if (k->cls == TRA_K_INDEX) return TRA_F64;
    return k->fold == TRA_S_MAX || k->fold == TRA_S_MIN ? in : tra_dtype_rows[in].sum;
}

void tra_agg_init(const tra_kernel *agg, tra_array *state) {
    const tra_kernel *k = tra_kernel_first(agg);
    tra_fill(state, k->identity);
    if (k->cls == TRA_K_INDEX) ((double *)state->data)[1] = -1;
}

/* ---- element by element ------------------------------------------------------------------------------------- */

/* state's corner of in's extents = fold of itself and in. */
static void fold_box(tra_scalar_op fold, tra_array *state, const tra_array *in, bool sparse) {
    int64_t ss[TRA_MAXDIM], si[TRA_MAXDIM];
    assert(state->ext.n == in->ext.n);
    if (tra_elements_of(&in->ext) == 0) return;
    tra_strides(&state->ext, ss);
    tra_strides(&in->ext, si);
    tra_nest nest;
    nest.n = 0;
    for (int d = 0; d < in->ext.n; d++) {
        assert(in->ext.v[d] <= state->ext.v[d]);
        tra_nest_add(&nest, in->ext.v[d], si[d], ss[d], 0);
    }
    tra_nest_coalesce(&nest);
    tra_loop row = {1, {1, 1, 0}, 0};
    if (nest.n && nest.v[nest.n - 1].s[0] == 1 && nest.v[nest.n - 1].s[1] == 1) row = nest.v[--nest.n];
    tra_dtype t = tra_strip_type(state->dtype);
    tra_strip_fn *strip = tra_strip_fold(t, fold, sparse);
    double buf[TRA_STRIP], own[TRA_STRIP];
    int64_t off[3] = {0};
    do {
        for (int64_t i = 0; i < row.n; i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, row.n - i);
            const void *x = tra_load(in->data, in->dtype, off[0] + i, 1, n, t, buf);
            const void *s = tra_load(state->data, state->dtype, off[1] + i, 1, n, t, own);
            void *to = t == state->dtype ? (char *)state->data + (size_t)(off[1] + i) * tra_dtype_size(t) : (void *)own;
            strip(fold, to, s, x, 0, n);
            if (to == own) tra_store(state->data, state->dtype, off[1] + i, 1, own, t, n);
        }
    } while (tra_nest_next(&nest, off));
}

/* ---- index of the extreme ----------------------------------------------------------------------------------- */

/* Does v at index i take the place of the state? NaN does before any number, then the more extreme value, then the
 * smaller index. */
bool tra_index_before(const tra_kernel *k, double v, double i, const double *state) {
    if (state[1] < 0) return true;
    bool nan_v = isnan(v), nan_s = isnan(state[0]);
    if (nan_v != nan_s) return nan_v;
    if (nan_v || v == state[0]) return i < state[1];
    return k->fold == TRA_S_MIN ? v < state[0] : v > state[0];
}

static void fold_index(const tra_kernel *k, double *state, const tra_array *in, const tra_agg_at *at) {
    const tra_dims *shape = at ? &at->shape : &in->ext;
    int64_t stride[TRA_MAXDIM], first = 0;
    if (tra_elements_of(&in->ext) == 0) return;
    tra_strides(shape, stride);
    for (int d = 0; at && d < at->offset.n; d++) first += at->offset.v[d] * stride[d];
    int r = in->ext.n;
    int64_t row = r ? in->ext.v[r - 1] : 1, pos = 0;
    tra_nest nest; /* rows */
    nest.n = 0;
    for (int d = 0; d < r - 1; d++) tra_nest_add(&nest, in->ext.v[d], stride[d], 0, 0);
    int64_t off[3] = {0};
    do {
        for (int64_t j = 0; j < row; j++, pos++) {
            double v = tra_get(in->data, in->dtype, pos);
            /* most elements lose by value alone */
            if (k->fold == TRA_S_MIN ? v > state[0] : v < state[0]) continue;
            double i = (double)(first + off[0] + j);
            if (tra_index_before(k, v, i, state)) state[0] = v, state[1] = i;
        }
    } while (tra_nest_next(&nest, off));
}

/* ---- the interface ------------------------------------------------------------------------------------------ */

void tra_fold_sparse(const tra_kernel *agg, tra_array *state, const tra_array *in, bool sparse, const tra_agg_at *at) {
    const tra_kernel *k = tra_kernel_first(agg);
    if (k->cls == TRA_K_INDEX)
        fold_index(k, state->data, in, at);
    else
        fold_box(k->fold, state, in, sparse);
}

void tra_agg_merge(const tra_kernel *agg, tra_array *state, const tra_array *other, bool sparse) {
    const tra_kernel *k = tra_kernel_first(agg);
    if (k->cls != TRA_K_INDEX) {
        fold_box(k->fold, state, other, sparse);
        return;
    }
    double *s = state->data;
    const double *o = other->data;
    if (o[1] >= 0 && tra_index_before(k, o[0], o[1], s)) s[0] = o[0], s[1] = o[1];
}
