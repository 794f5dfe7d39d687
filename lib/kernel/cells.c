/* cells.c - the border of this room: by the layout of what it is given or asked for, the kernels of dense arrays or
 * those of the layout. */
#include "kernel.h"

#include <assert.h>

int64_t tra_cell_map_bytes(const tra_kernel *k, const tra_cell *in, const tra_cell *out, void *scratch) {
    assert(out->layout && out->layout->kernels->map_bytes);
    return out->layout->kernels->map_bytes(k, in, out, scratch);
}

void tra_cell_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    const tra_layout *l = out->layout ? out->layout : in->layout;
    if (l)
        l->kernels->map(k, in, out, scratch);
    else
        tra_kernel_map(k, &in->array, &out->array, scratch);
}

void tra_cell_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_layout *l = out->layout ? out->layout : a->layout ? a->layout : b->layout;
    if (l)
        l->kernels->join(k, a, b, out, scratch);
    else
        tra_kernel_join(k, &a->array, &b->array, &out->array, scratch);
}

void tra_cell_fma(const tra_kernel *join, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first) {
    const tra_layout *l = a->layout ? a->layout : b->layout;
    if (l)
        l->kernels->fma(join, a, b, acc, tile, first);
    else
        tra_kernel_fma(join, &a->array, &b->array, acc, tile, first);
}

void tra_cell_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at) {
    if (in->layout)
        in->layout->kernels->fold(agg, state, in, at);
    else
        tra_agg_fold(agg, state, &in->array, at);
}

void tra_cell_finish(const tra_kernel *agg, tra_dtype in, const tra_array *state, tra_cell *out, void *scratch) {
    if (out->layout)
        out->layout->kernels->finish(agg, in, state, out, scratch);
    else
        tra_agg_finish(agg, in, state, &out->array, scratch);
}

void tra_cell_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext) {
    const tra_layout *l = dst->layout ? dst->layout : src->layout;
    if (l)
        l->kernels->copy(dst, to, src, from, ext);
    else
        tra_array_copy(&dst->array, to, &src->array, from, ext);
}
