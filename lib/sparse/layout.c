/* layout.c - the row of the layout: which file here does what. */
#include "project.h"

#include <string.h>

/* What takes a join or map of one step. */
typedef enum way { ELEMENTS, PRODUCT, REDUCE, SLOW } way;

static way way_of(const tra_kernel *k, tra_kernel_use use, const tra_dims *a, const tra_dims *b, bool rows) {
    const tra_kernel *const *steps;
    const tra_kernel *self = k;
    if (tra_steps(k, &steps, &self) != 1) return SLOW;
    if (steps[0]->cls == TRA_K_SCALAR) return ELEMENTS;
    if (use == TRA_USE_JOIN && rows && tra_rows_contracts(k, a, b)) return PRODUCT;
    if (use == TRA_USE_MAP && rows && tra_rows_reduces(k, a->n)) return REDUCE;
    return SLOW;
}

static const tra_code *code_of(const tra_kernel *k) {
    const tra_kernel *const *steps;
    tra_steps(k, &steps, &k);
    return steps[0]->code;
}

/* ---- scratch ------------------------------------------------------------------------------------------------- */

static int64_t scratch_of(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                          const tra_type *b, const tra_dims *ext_b, const tra_layout *out) {
    if (use == TRA_USE_AGG) {
        const tra_kernel *rest = tra_kernel_rest(k);
        bool index = tra_kernel_first(k)->cls == TRA_K_INDEX;
        if (!index && (!rest || way_of(rest, TRA_USE_MAP, ext_a, NULL, true) == ELEMENTS)) return 0;
        return tra_slow_scratch(k, use, a, ext_a, b, ext_b, out);
    }
    switch (way_of(k, use, ext_a, ext_b, a->layout || (b && b->layout))) {
    case ELEMENTS: return 0;
    case PRODUCT:
        return out ? tra_rows_product_scratch(k, a, ext_a, b, ext_b) : tra_rows_contract_scratch(k, a, ext_a, b, ext_b);
    case REDUCE: return tra_project_scratch(tra_most_entries(a, ext_a));
    case SLOW: break;
    }
    return tra_slow_scratch(k, use, a, ext_a, b, ext_b, out);
}

/* ---- maps and joins ------------------------------------------------------------------------------------------ */

static int64_t run_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, bool count, void *scratch) {
    switch (way_of(k, TRA_USE_MAP, &in->array.ext, NULL, in->layout)) {
    case ELEMENTS: return tra_rows_elementwise(code_of(k), &in->array.dtype, 1, &in, out, count);
    case REDUCE: return tra_rows_reduce(k, in, out, count, scratch);
    case PRODUCT:
    case SLOW: break;
    }
    return tra_slow_map(k, in, out, count, scratch);
}

static int64_t map_bytes(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    return run_map(k, in, out, true, scratch);
}

static void map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    run_map(k, in, out, false, scratch);
}

static int64_t run_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, bool count,
                        void *scratch) {
    const tra_cell *in[2] = {a, b};
    const tra_dtype types[2] = {a->array.dtype, b->array.dtype};
    switch (way_of(k, TRA_USE_JOIN, &a->array.ext, &b->array.ext, a->layout || b->layout)) {
    case ELEMENTS: return tra_rows_elementwise(code_of(k), types, 2, in, out, count);
    case PRODUCT:
        if (out->layout) return tra_rows_product(k, a, b, out, count, scratch);
        tra_rows_contract(k, a, b, &out->array, false, -1, scratch);
        return 0;
    case REDUCE:
    case SLOW: break;
    }
    return tra_slow_join(k, a, b, out, count, scratch);
}

static int64_t join_bytes(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    return run_join(k, a, b, out, true, scratch);
}

static void join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    run_join(k, a, b, out, false, scratch);
}

static void fma_(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                 void *scratch) {
    tra_rows_contract(k, a, b, acc, !first, tile, scratch);
}

/* ---- aggregations -------------------------------------------------------------------------------------------- */

static int64_t run_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, bool count,
                          void *scratch) {
    const tra_kernel *rest = tra_kernel_rest(agg), *first = tra_kernel_first(agg);
    bool index = first->cls == TRA_K_INDEX;
    if (index || (rest && way_of(rest, TRA_USE_MAP, &state->array.ext, NULL, true) != ELEMENTS))
        return tra_slow_finish(agg, in, state, out, count, scratch);
    /* a dense state may be the memory of the result, of which no element is read after it is written */
    tra_dtype type = tra_step_dtype(first, TRA_USE_AGG, in, in);
    return tra_rows_elementwise(rest ? code_of(rest) : NULL, &type, 1, &state, out, count);
}

static int64_t finish_bytes(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    return run_finish(agg, in, state, out, true, scratch);
}

static void finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    run_finish(agg, in, state, out, false, scratch);
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
