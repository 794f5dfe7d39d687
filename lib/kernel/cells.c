/* cells.c - the border of this room: by the layout of what it is given or asked for, the kernels of dense arrays or
 * those of the layout. */
#include "kernel_int.h"

#include <assert.h>
#include <string.h>

int64_t tra_cell_scratch(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                         const tra_type *b, const tra_dims *ext_b, const tra_layout *out) {
    const tra_layout *l = out ? out : a->layout ? a->layout : b ? b->layout : NULL;
    if (k->rows) return k->rows->ops->scratch(k->rows->data, ext_a, ext_b);
    if (l && l->kernels->scratch) return l->kernels->scratch(k, use, a, ext_a, b, ext_b, out);
    return (int64_t)tra_kernel_scratch(k, use, a->dtype, b ? b->dtype : a->dtype, ext_a, ext_b);
}

int64_t tra_cell_map_bytes(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    assert(out->layout);
    if (k->rows) return k->rows->ops->bytes(k->rows->data, in, NULL, out, scratch);
    return out->layout->kernels->map_bytes(k, in, out, scratch);
}

void tra_cell_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    const tra_layout *l = out->layout ? out->layout : in->layout;
    if (k->rows)
        k->rows->ops->run(k->rows->data, in, NULL, out, scratch);
    else if (l)
        l->kernels->map(k, in, out, scratch);
    else
        tra_map_sparse(k, &in->array, in->sparse, &out->array, scratch);
}

int64_t tra_cell_join_bytes(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    assert(out->layout);
    if (k->rows) return k->rows->ops->bytes(k->rows->data, a, b, out, scratch);
    return out->layout->kernels->join_bytes(k, a, b, out, scratch);
}

void tra_cell_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_layout *l = out->layout ? out->layout : a->layout ? a->layout : b->layout;
    if (k->rows)
        k->rows->ops->run(k->rows->data, a, b, out, scratch);
    else if (l)
        l->kernels->join(k, a, b, out, scratch);
    else
        tra_join_sparse(k, &a->array, &b->array, (const bool[2]){a->sparse, b->sparse}, &out->array, scratch);
}

void tra_cell_fma(const tra_kernel *join, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                  void *scratch) {
    const tra_layout *l = a->layout ? a->layout : b->layout;
    if (l)
        l->kernels->fma(join, a, b, acc, tile, first, scratch);
    else
        tra_fma_sparse(join, &a->array, &b->array, (const bool[2]){a->sparse, b->sparse}, acc, tile, first);
}

void tra_cell_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at) {
    if (in->layout)
        in->layout->kernels->fold(agg, state, in, at);
    else
        tra_fold_sparse(agg, state, &in->array, in->sparse, at);
}

int64_t tra_cell_merge_bytes(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    assert(out->layout);
    return out->layout->kernels->merge_bytes(agg, state, term, out);
}

void tra_cell_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    assert(out->layout);
    out->layout->kernels->merge(agg, state, term, out);
}

int64_t tra_cell_finish_bytes(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out,
                              void *scratch) {
    assert(out->layout);
    return out->layout->kernels->finish_bytes(agg, in, state, out, scratch);
}

void tra_cell_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    const tra_layout *l = out->layout ? out->layout : state->layout;
    if (l)
        l->kernels->finish(agg, in, state, out, scratch);
    else
        tra_finish_sparse(agg, in, state->sparse, &state->array, &out->array, scratch);
}

void tra_cell_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext) {
    const tra_layout *l = dst->layout ? dst->layout : src->layout;
    if (l)
        l->kernels->copy(dst, to, src, from, ext);
    else
        tra_array_copy(&dst->array, to, &src->array, from, ext);
}

int64_t tra_cell_gather_bytes(tra_cell_piece *p, int64_t n, tra_cell *out) {
    assert(out->layout);
    return out->layout->kernels->gather_bytes(p, n, out);
}

void tra_cell_gather(tra_cell_piece *p, int64_t n, tra_cell *out) {
    if (out->layout) {
        out->layout->kernels->gather(p, n, out);
        return;
    }
    if (n > 0) memset(out->array.data, 0, tra_array_bytes(&out->array));
    for (int64_t i = 0; i < n; i++) tra_cell_copy(out, &p[i].to, p[i].src, &p[i].from, &p[i].ext);
}
