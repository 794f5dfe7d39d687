/* compare.c - whether a result is the one that is expected. */
#include "property.h"

#include <math.h>

int64_t elements_of(const tra_dims *ext) {
    int64_t n = 1;
    for (int d = 0; d < ext->n; d++) n *= ext->v[d];
    return n;
}

bool close_enough(ref_num v, ref_num w, double tol) {
    if (isinf(tol)) return true;
    if (isnan(w)) return isnan(v);
    return v == w || fabsl(v - w) <= tol;
}

bool same_numbers(const ref_num *v, const ref_num *w, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(v[i] == w[i] && signbit(v[i]) == signbit(w[i])) && !(isnan(v[i]) && isnan(w[i]))) return false;
    return true;
}

bool same_but_signs_of_zeros(const ref_num *v, const ref_num *w, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (v[i] != w[i] && !(isnan(v[i]) && isnan(w[i]))) return false;
    return true;
}

tra_status compare_values(const char *name, const tra_ref_rel *got, const tra_ref_rel *want, double **tol, tra_err *e) {
    char key[TRA_DIMTEXT];
    for (int64_t i = 0; i < want->n; i++) {
        int64_t n = elements_of(&want->v[i].ext);
        if (got->n <= i || elements_of(&got->v[i].ext) != n)
            return tra_fail(e, TRA_NO, "%s%s has not the %" PRId64 " elements that the reference gives", name,
                            tra_key_text(&want->v[i].key, key), n);
        for (int64_t j = 0; j < n; j++) {
            ref_num v = got->v[i].data[j], w = want->v[i].data[j];
            double t = tol[i][j];
            if (close_enough(v, w, t)) continue;
            return tra_fail(e, TRA_NO, "%s%s element %" PRId64 " is %.19Lg, the reference gives %.19Lg (tolerance %g)",
                            name, tra_key_text(&want->v[i].key, key), j, v, w, t);
        }
    }
    return TRA_OK;
}

tra_status compare_bits(const char *name, const tra_ref_rel *x, const tra_ref_rel *y, tra_err *e) {
    char key[TRA_DIMTEXT];
    for (int64_t i = 0; i < x->n; i++)
        if (!same_numbers(x->v[i].data, y->v[i].data, elements_of(&x->v[i].ext)))
            return tra_fail(e, TRA_NO, "%s%s: not the bits that more memory and fewer threads gave", name,
                            tra_key_text(&x->v[i].key, key));
    return TRA_OK;
}

/* Makes one array of the blocks of a tensor of which only the run told the extents, as the reference has it. */
static void join_blocks(tra_ref_rel *x, tra_arena *a) {
    tra_ref_tuple *all = tra_new(a, tra_ref_tuple);
    all->key.n = all->ext.n = x->r;
    for (int64_t i = 0; i < x->n; i++)
        for (int d = 0; d < x->r; d++)
            all->ext.v[d] = tra_max64(all->ext.v[d], x->v[i].key.v[d] * x->bound.v[d] + x->v[i].ext.v[d]);
    all->data = tra_news(a, ref_num, elements_of(&all->ext));
    for (int64_t i = 0; i < x->n; i++) {
        tra_dims at = {.n = x->r};
        for (int64_t j = 0, n = elements_of(&x->v[i].ext); j < n; j++, (void)tra_next(&x->v[i].ext, &at)) {
            int64_t place = 0;
            for (int d = 0; d < x->r; d++) place = place * all->ext.v[d] + x->v[i].key.v[d] * x->bound.v[d] + at.v[d];
            all->data[place] = x->v[i].data[j];
        }
    }
    x->n = 1;
    x->v = all;
}

tra_status read_back(const char *spec, const tra_type *type, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    tra_node n = {.op = TRA_OP_INPUT, .name = spec, .input.path = spec};
    tra_err differs = {0};
    TRA_TRY(tra_rel_open(spec, NULL, &n.input.rel, e));
    tra_status s = tra_reference_apply(&n, NULL, NULL, a, out, e);
    if (s == TRA_OK) out->sparse = type->sparse; /* which follows from the program, not from how it was stored */
    bool counted = type->bounded && !type->columns;
    if (s == TRA_OK && counted) join_blocks(out, a);
    if (s == TRA_OK && !counted && tra_reference_matches(out, type, &differs) != TRA_OK)
        s = tra_fail(e, TRA_NO, "%s, read back: %s", spec, differs.msg);
    tra_rel_close(n.input.rel);
    return s;
}
