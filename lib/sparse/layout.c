/* layout.c - the row of the layout: which file here does what. */
#include "sparse.h"

static int64_t map_bytes(const tra_kernel *k, const tra_cell *in, const tra_cell *out, void *scratch) {
    tra_cell to = *out;
    return tra_slow_map(k, in, &to, true, scratch);
}

static void map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    tra_slow_map(k, in, out, false, scratch);
}

static int64_t join_bytes(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out,
                          void *scratch) {
    tra_cell to = *out;
    return tra_slow_join(k, a, b, &to, true, scratch);
}

static void join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    tra_slow_join(k, a, b, out, false, scratch);
}

static int64_t finish_bytes(const tra_kernel *agg, tra_dtype in, const tra_cell *state, const tra_cell *out,
                            void *scratch) {
    tra_cell to = *out;
    return tra_slow_finish(agg, in, state, &to, true, scratch);
}

static void finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    tra_slow_finish(agg, in, state, out, false, scratch);
}

static const tra_layout_kernels kernels = {
    .scratch = tra_slow_scratch,
    .map_bytes = map_bytes,
    .map = map,
    .join_bytes = join_bytes,
    .join = join,
    .fma = tra_slow_fma,
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
