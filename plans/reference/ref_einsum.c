/* ref_einsum.c - EinSum statements by their definition: a loop over every combination of the labels. */
#include "reference_int.h"

#include <math.h>
#include <string.h>

/* The tensors that the statement refers to, and their element types. */
static tra_status read_refs(const tra_einsum *s, const tra_ref_rel *const *v, tra_arena *a, const int64_t *extent,
                            ref_array *whole, ref_value *args, tra_err *e) {
    for (int i = 0; i < s->nrefs; i++) {
        const tra_ref_rel *x = v[s->ref[i].node->id];
        tra_dims ext = {.n = s->ref[i].n};
        for (int d = 0; d < ext.n; d++) ext.v[d] = extent[s->ref[i].label[d]];
        whole[i] = ref_array_new(a, &ext); /* of an empty relation */
        if (x->n) TRA_TRY(ref_assemble(x, a, &whole[i], e));
        if (!tra_dims_eq(&ext, &whole[i].ext)) {
            char has[TRA_DIMTEXT], want[TRA_DIMTEXT];
            return tra_fail(e, TRA_INTERNAL, "a reference is a tensor of %s, its labels say %s",
                            tra_shape_text(&whole[i].ext, has), tra_shape_text(&ext, want));
        }
        args[i] = ref_element(x->dtype, x->sparse);
    }
    return TRA_OK;
}

/* Extents of labels, of which only the run tells those of counted rows, and their blocks: these are one. */
static void count_labels(const tra_einsum *s, const tra_ref_rel *const *v, int64_t *extent, int64_t *block,
                         bool *counted) {
    memcpy(extent, s->extent, sizeof s->extent);
    memcpy(block, s->block, sizeof s->block);
    *counted = false;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_ref_rel *x = v[s->ref[i].node->id];
        for (int d = 0; x->counted && d < s->ref[i].n; d++) {
            int l = s->ref[i].label[d];
            if (!(s->ref[i].node->type.bounded >> d & 1)) continue;
            extent[l] = 0;
            for (int64_t t = 0; t < x->n; t++) extent[l] = tra_max64(extent[l], x->v[t].ext.v[d]);
            block[l] = tra_max64(1, extent[l]);
            for (int o = 0; o < s->nout; o++) *counted = *counted || s->out[o] == l;
        }
    }
}

tra_status ref_einsum(const tra_einsum *s, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    ref_array *whole = tra_news(a, ref_array, s->nrefs);
    ref_value *args = tra_news(a, ref_value, s->nrefs);
    bool sums = s->nlabels > s->nout && (s->fold == TRA_S_ADD || s->fold == TRA_S_MUL);
    ref_fit fit = {.wide = sums}, none = fit;
    int64_t extent[TRA_MAXLABELS], blocks[TRA_MAXLABELS];
    bool counted;
    count_labels(s, v, extent, blocks, &counted);
    TRA_TRY(read_refs(s, v, a, extent, whole, args, e));
    ref_value first = ref_scalar(s->expr, s->nrefs, args, &none);
    tra_dtype one = first.t;
    bool reduces = s->nlabels > s->nout, whole_numbers = false;
    for (int i = 0; i < s->nrefs; i++) whole_numbers = whole_numbers || !ref_is_float(args[i].t);
    tra_dims ext = {.n = s->nout}, block = {.n = s->nout};
    for (int d = 0; d < s->nout; d++) {
        ext.v[d] = extent[s->out[d]];
        block.v[d] = blocks[s->out[d]];
    }
    ref_array result = ref_array_new(a, &ext);
    result.sparse = first.sparse;
    int64_t n = ref_count(&ext);
    ref_sum *sum = tra_news(a, ref_sum, n);
    ref_num *size = tra_news(a, ref_num, n); /* of what any order of products and sums may make */
    for (int64_t i = 0; i < n; i++) sum[i] = ref_sum_begin(s->fold, one, first.sparse);
    int64_t at[TRA_MAXLABELS] = {0}, total = 1;
    for (int l = 0; l < s->nlabels; l++) total = tra_mul_most(total, extent[l]);
    if (total > (int64_t)1 << 50)
        return tra_fail(e, TRA_RESOURCE,
                        "the reference engine would compute a statement for more than 2^50 "
                        "combinations of its labels: give parts of it names of their own");
    for (int64_t i = 0; i < total; i++) {
        if (i % 65536 == 0) TRA_TRY(tra_stop_check(e));
        for (int r = 0; r < s->nrefs; r++) {
            int64_t place = 0;
            for (int d = 0; d < s->ref[r].n; d++) place = place * whole[r].ext.v[d] + at[s->ref[r].label[d]];
            args[r].v = whole[r].data[place];
        }
        int64_t place = 0;
        for (int d = 0; d < s->nout; d++) place = place * ext.v[d] + at[s->out[d]];
        ref_num value = ref_scalar(s->expr, s->nrefs, args, &fit).v;
        size[place] = s->fold == TRA_S_MUL ? fmaxl(1, size[place]) * ref_magnitude(s->expr, args)
                                           : size[place] + ref_magnitude(s->expr, args);
        if (reduces)
            ref_sum_add(&sum[place], value);
        else
            result.data[place] = value;
        for (int l = s->nlabels - 1; l >= 0 && ++at[l] == extent[l]; l--) at[l] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        if (reduces) result.data[i] = ref_sum_end(&sum[i], &fit);
        fit.loose = fit.loose || (whole_numbers && size[i] > INT64_MAX);
    }
    TRA_TRY(ref_fits(&fit, e));
    TRA_TRY(ref_in_blocks(&result, &block, reduces ? ref_sum_begin(s->fold, one, false).t : one, a, out, e));
    out->loose = fit.loose;
    out->counted = counted;
    if (counted && out->n == 0) { /* an array without elements, which tells the extents */
        out->n = 1;
        out->v = tra_new(a, tra_ref_tuple);
        out->v[0] = (tra_ref_tuple){.key.n = ext.n, .ext = ext};
    }
    return TRA_OK;
}
