/* ref_einsum.c - EinSum statements by their definition: a loop over every combination of the labels. */
#include "reference_int.h"

/* The tensors that the statement refers to; its element type. */
static tra_status read_refs(const tra_einsum *s, const tra_ref_rel *const *v, tra_arena *a, ref_array *whole,
                            tra_dtype *t, tra_err *e) {
    for (int i = 0; i < s->nrefs; i++) {
        const tra_ref_rel *x = v[s->ref[i].node->id];
        tra_dims ext = {.n = s->ref[i].n};
        for (int d = 0; d < ext.n; d++) ext.v[d] = s->extent[s->ref[i].label[d]];
        whole[i] = ref_array_new(a, &ext); /* of an empty relation */
        if (x->n) TRA_TRY(ref_assemble(x, a, &whole[i], e));
        if (!tra_dims_eq(&ext, &whole[i].ext)) {
            char has[TRA_DIMTEXT], want[TRA_DIMTEXT];
            return tra_fail(e, TRA_INTERNAL, "a reference is a tensor of %s, its labels say %s",
                            tra_shape_text(&whole[i].ext, has), tra_shape_text(&ext, want));
        }
        *t = i == 0 || x->dtype == *t ? x->dtype : TRA_F64;
    }
    return TRA_OK;
}

tra_status ref_einsum(const tra_einsum *s, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    ref_array *whole = tra_news(a, ref_array, s->nrefs);
    double *args = tra_news(a, double, s->nrefs);
    tra_dtype t = TRA_F64;
    TRA_TRY(read_refs(s, v, a, whole, &t, e));
    tra_dims ext = {.n = s->nout}, block = {.n = s->nout};
    for (int d = 0; d < s->nout; d++) {
        ext.v[d] = s->extent[s->out[d]];
        block.v[d] = s->block[s->out[d]];
    }
    ref_array result = ref_array_new(a, &ext);
    for (int64_t i = 0, n = ref_count(&ext); i < n; i++) result.data[i] = ref_fold_identity(s->fold);
    int64_t at[TRA_MAXLABELS] = {0}, total = 1;
    for (int l = 0; l < s->nlabels; l++) total *= s->extent[l];
    for (int64_t i = 0; i < total; i++) {
        if (i % 65536 == 0) TRA_TRY(tra_stop_check(e));
        for (int r = 0; r < s->nrefs; r++) {
            int64_t place = 0;
            for (int d = 0; d < s->ref[r].n; d++) place = place * whole[r].ext.v[d] + at[s->ref[r].label[d]];
            args[r] = whole[r].data[place];
        }
        int64_t place = 0;
        for (int d = 0; d < s->nout; d++) place = place * ext.v[d] + at[s->out[d]];
        double value = ref_scalar(s->expr, t, args);
        result.data[place] = s->nlabels > s->nout ? ref_fold(s->fold, result.data[place], value) : value;
        for (int l = s->nlabels - 1; l >= 0 && ++at[l] == s->extent[l]; l--) at[l] = 0;
    }
    return ref_in_blocks(&result, &block, t, a, out, e);
}
