/* layout.c - the row of the layout: which file here does what. */
#include "sparse.h"

/* Is the join a product that is added up over its labels, of what is not all dense? */
static bool multiplies(const tra_kernel *k, const tra_dims *a, const tra_dims *b) {
    return !tra_kernel_rest(k) && tra_rows_contracts(k, a, b);
}

static int64_t scratch_of(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                          const tra_type *b, const tra_dims *ext_b, const tra_layout *out) {
    if (use == TRA_USE_JOIN && multiplies(k, ext_a, ext_b) && (a->layout || b->layout))
        return out ? tra_rows_product_scratch(k, a, ext_a, b, ext_b) : tra_rows_contract_scratch(k, a, ext_a, b, ext_b);
    return tra_slow_scratch(k, use, a, ext_a, b, ext_b, out);
}

static int64_t map_bytes(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    return tra_slow_map(k, in, out, true, scratch);
}

static void map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    tra_slow_map(k, in, out, false, scratch);
}

static int64_t join_bytes(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    if (multiplies(k, &a->array.ext, &b->array.ext) && (a->layout || b->layout))
        return tra_rows_product(k, a, b, out, true, scratch);
    return tra_slow_join(k, a, b, out, true, scratch);
}

static void join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    bool multiplied = multiplies(k, &a->array.ext, &b->array.ext) && (a->layout || b->layout);
    if (multiplied && out->layout)
        tra_rows_product(k, a, b, out, false, scratch);
    else if (multiplied)
        tra_rows_contract(k, a, b, &out->array, false, -1, scratch);
    else
        tra_slow_join(k, a, b, out, false, scratch);
}

static void fma_(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                 void *scratch) {
    tra_rows_contract(k, a, b, acc, !first, tile, scratch);
}

static int64_t finish_bytes(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    return tra_slow_finish(agg, in, state, out, true, scratch);
}

static void finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    tra_slow_finish(agg, in, state, out, false, scratch);
}

static const tra_layout_kernels kernels = {
    .scratch = scratch_of,
    .map_bytes = map_bytes,
    .map = map,
    .join_bytes = join_bytes,
    .join = join,
    .fma = fma_,
    .fold = tra_rows_fold,
    .merge_bytes = tra_rows_merge_bytes,
    .merge = tra_rows_merge,
    .finish_bytes = finish_bytes,
    .finish = finish,
    .gather_bytes = tra_rows_gather_bytes,
    .gather = tra_rows_gather,
    .copy = tra_rows_copy,
};

const tra_layout tra_rows = {
    .name = "rows", .id = 1, .nparts = TRA_ROWS_PARTS, .bytes = tra_rows_bytes, .kernels = &kernels};
