/* slow.c - kernels of rows by way of dense arrays in scratch: for what has no better way. */
#include "sparse.h"

static int64_t round64(int64_t n) { return n >= TRA_SIZE_MOST ? TRA_SIZE_MOST : (n + 63) / 64 * 64; }

int64_t tra_slow_scratch(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                         const tra_type *b, const tra_dims *ext_b, const tra_layout *out) {
    tra_dims ext;
    tra_err e = {0};
    tra_status s = use == TRA_USE_JOIN  ? tra_kernel_shape2(k, ext_a, ext_b, ext_a, ext_b, &ext, NULL, &e)
                   : use == TRA_USE_AGG ? tra_kernel_shape_agg(k, ext_a, &ext, NULL, &e)
                                        : tra_kernel_shape1(k, ext_a, &ext, NULL, &e);
    tra_dtype type_b = b ? b->dtype : a->dtype;
    int64_t most = 0, n = 0;
    if (s != TRA_OK) return 0; /* no arrays of these extents meet */
    if (!tra_dims_product(&ext, &most) || !tra_dims_product(ext_a, &most)) return TRA_SIZE_MOST;
    if (out) n = tra_add_most(n, round64(tra_dense_bytes(tra_kernel_dtype(k, use, a->dtype, type_b), &ext)));
    if (a->layout || use == TRA_USE_AGG) {
        tra_dtype state = use == TRA_USE_AGG ? tra_agg_state_dtype(k, a->dtype) : a->dtype;
        n = tra_add_most(n, round64(tra_dense_bytes(state, ext_a)));
    }
    if (b && b->layout) n = tra_add_most(n, round64(tra_dense_bytes(b->dtype, ext_b)));
    n = tra_add_most(n, round64((int64_t)tra_kernel_scratch(k, use, a->dtype, type_b, ext_a, ext_b)));
    return tra_min64(n, TRA_SIZE_MOST);
}

/* The array of a cell, and where the rest of scratch begins. */
static tra_array dense_in(const tra_cell *c, char **scratch) {
    tra_array a = tra_dense_of(c, *scratch);
    if (c->layout) *scratch += round64((int64_t)tra_array_bytes(&a));
    return a;
}

/* Where a result goes: itself, or an array in scratch that becomes it. */
static tra_array place_of(const tra_cell *out, char **scratch) {
    tra_array a = out->array;
    if (!out->layout) return a;
    a.data = *scratch;
    *scratch += round64((int64_t)tra_array_bytes(&a));
    return a;
}

void tra_slow_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    char *rest = scratch;
    tra_array to = place_of(out, &rest), x = dense_in(in, &rest);
    tra_map_sparse(k, &x, in->sparse, &to, rest);
    if (out->layout) tra_rows_fill(&to, out);
}

void tra_slow_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    char *rest = scratch;
    tra_array to = place_of(out, &rest), x = dense_in(a, &rest), y = dense_in(b, &rest);
    tra_join_sparse(k, &x, &y, (const bool[2]){a->sparse, b->sparse}, &to, rest);
    if (out->layout) tra_rows_fill(&to, out);
}

void tra_slow_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    char *rest = scratch;
    tra_array to = place_of(out, &rest), x = dense_in(state, &rest);
    tra_finish_sparse(agg, in, state->sparse, &x, &to, rest);
    if (out->layout) tra_rows_fill(&to, out);
}
