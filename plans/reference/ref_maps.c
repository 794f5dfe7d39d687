/* ref_maps.c - kernels of one array, by their definitions. */
#include "ref_kernels_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

tra_status ref_need_rank(const char *name, int rank, int least, int most, tra_err *e) {
    if (rank >= least && rank <= most) return TRA_OK;
    return tra_fail(e, TRA_PROGRAM, "%s does not take an array of rank %d", name, rank);
}

static bool folds_rows(const tra_kernel_desc *k) {
    return ref_is(k, "rowsum") || ref_is(k, "rowmax") || ref_is(k, "rowmin");
}

static tra_status map_origin(const tra_kernel_desc *k, int rank, ref_origin *o, tra_err *e) {
    if (k->einsum) return ref_einstein_origin(k->einsum, 1, &rank, o, e);
    ref_set_origin(o, rank);
    if (ref_is_lapack(k->name)) {
        ref_lapack_origin(k->name, k->arg, o);
    } else if (ref_is(k, "diag")) {
        TRA_TRY(ref_need_rank("diag", rank, 2, 2, e));
        o->n = 1;
        o->also[0] = 1;
    } else if (ref_is(k, "transpose")) {
        for (int d = 0; d < rank; d++) o->from[d] = rank - 1 - d;
    } else if (folds_rows(k)) {
        TRA_TRY(ref_need_rank(k->name, rank, 1, TRA_MAXDIM, e));
        o->n = rank - 1;
    } else if (ref_is(k, "colsum")) {
        TRA_TRY(ref_need_rank("colsum", rank, 1, TRA_MAXDIM, e));
        o->n = rank - 1;
        for (int d = 0; d < o->n; d++) o->from[d] = d + 1;
    } else if (ref_is(k, "softmax")) {
        TRA_TRY(ref_need_rank("softmax", rank, 1, TRA_MAXDIM, e));
    }
    return TRA_OK;
}

/* The last dimension as rows of m elements. */
static void softmax_row(const ref_num *x, ref_num *y, int64_t m) {
    ref_sum top = ref_sum_begin(TRA_S_MAX, TRA_F64, false);
    double sum = 0;
    for (int64_t j = 0; j < m; j++) ref_sum_add(&top, x[j]);
    for (int64_t j = 0; j < m; j++) {
        double v = exp((double)x[j] - top.real);
        y[j] = v;
        sum += v;
    }
    for (int64_t j = 0; j < m; j++) y[j] = (double)y[j] / sum;
}

/* n folds of m elements, of which the first ones of fold i are `step` apart from those of fold i + 1 and its own `by`
 * from each other. */
static void fold_lines(const tra_kernel_desc *k, tra_dtype tx, const ref_num *x, int64_t n, int64_t step, int64_t m,
                       int64_t by, ref_num *out, tra_dtype *t, ref_fit *fit) {
    tra_scalar_op fold = ref_is(k, "rowmax") ? TRA_S_MAX : ref_is(k, "rowmin") ? TRA_S_MIN : TRA_S_ADD;
    *t = ref_sum_begin(fold, tx, false).t; /* no product */
    for (int64_t i = 0; i < n; i++) {
        ref_sum s = ref_sum_begin(fold, tx, false);
        for (int64_t j = 0; j < m; j++) ref_sum_add(&s, x[i * step + j * by]);
        out[i] = ref_sum_end(&s, fit);
    }
}

/* A function of each element. */
static tra_status each_element(const tra_kernel_desc *k, tra_dtype tx, const ref_array *x, ref_array *out, tra_dtype *t,
                               ref_fit *fit, tra_err *e) {
    tra_scalar_op op = TRA_S_ARG;
    bool known = k->name && ref_find1(k->name, &op), scale = ref_is(k, "scale");
    if (!known && !k->scalar && !scale) return tra_fail(e, TRA_PROGRAM, "%s is no kernel for transform", k->name);
    for (int64_t i = -1, n = ref_count(&x->ext); i < n; i++) { /* first for the type */
        ref_value v = ref_element(tx, x->sparse), c = {.v = k->arg, .number = true};
        if (i >= 0) v.v = x->data[i];
        ref_fit none = {0}, *f = i < 0 ? &none : fit;
        ref_value r = known       ? ref_apply(op, v, v, f)
                      : k->scalar ? ref_scalar(k->scalar, 1, &v, f)
                                  : ref_apply(TRA_S_MUL, v, c, f);
        if (ref_is(k, "densify") || ref_is(k, "sparsify")) r.sparse = ref_is(k, "sparsify");
        if (i < 0)
            *t = r.t, out->sparse = r.sparse;
        else
            out->data[i] = r.v;
    }
    return TRA_OK;
}

bool ref_is_top(const tra_kernel_desc *k) { return ref_is(k, "topk") || ref_is(k, "leastk"); }

tra_status ref_top_eval(const tra_kernel_desc *k, tra_dtype tx, const ref_array *x, const ref_array *y, tra_arena *a,
                        ref_array *out, tra_err *e) {
    TRA_TRY(ref_need_rank(k->name, x->ext.n, 1, TRA_MAXDIM, e));
    int64_t m = x->ext.v[x->ext.n - 1], most = tra_min64((int64_t)k->arg, m), n = m ? ref_count(&x->ext) / m : 0;
    tra_dims ext = x->ext;
    ext.v[ext.n - 1] = most;
    *out = ref_array_new(a, &ext);
    bool *taken = tra_news(a, bool, m);
    for (int64_t r = 0; r < n; r++) {
        for (int64_t i = 0; i < m; i++) taken[i] = false;
        for (int64_t i = 0; i < most; i++) {
            int64_t best = -1;
            for (int64_t j = 0; j < m; j++) {
                ref_num v = x->data[r * m + j], w = x->data[r * m + (best < 0 ? 0 : best)];
                bool nan = ref_is_float(tx) && isnan((double)v),
                     held = best >= 0 && ref_is_float(tx) && isnan((double)w);
                bool first = best < 0 || (nan && !held) || (!nan && !held && (ref_is(k, "topk") ? v > w : v < w));
                if (!taken[j] && first) best = j;
            }
            taken[best] = true;
            int64_t at = y && ref_count(&y->ext) != ref_count(&x->ext) ? best : r * m + best;
            out->data[r * most + i] = (y ? y : x)->data[at];
        }
    }
    return TRA_OK;
}

static tra_status map_eval(const tra_kernel_desc *k, tra_dtype tx, const ref_array *x, tra_arena *a, ref_array *out,
                           tra_dtype *t, ref_fit *fit, tra_err *e) {
    ref_origin o;
    TRA_TRY(map_origin(k, x->ext.n, &o, e));
    if (k->einsum) return ref_einstein_eval(k->einsum, k->scalar, k->fold, tx, tx, x, NULL, a, out, t, fit, e);
    if (ref_is_top(k)) {
        *t = tx;
        return ref_top_eval(k, tx, x, NULL, a, out, e);
    }
    if (ref_is_lapack(k->name)) {
        *t = ref_is(k, "tall_end_x32") ? TRA_F32 : ref_real(tx);
        return ref_lapack(k->name, k->arg, *t, x, NULL, a, out, fit, e);
    }
    tra_dims ext = {.n = o.n};
    for (int d = 0; d < o.n; d++) ext.v[d] = x->ext.v[o.from[d]];
    if (ref_is(k, "diag")) ext.v[0] = tra_min64(x->ext.v[0], x->ext.v[1]);
    *out = ref_array_new(a, &ext);
    out->sparse = x->sparse;
    *t = tx;
    int64_t n = ref_count(&ext), m = x->ext.n ? x->ext.v[x->ext.n - 1] : 1;
    if (ref_is(k, "diag")) {
        for (int64_t i = 0; i < n; i++) out->data[i] = x->data[i * x->ext.v[1] + i];
    } else if (ref_is(k, "transpose")) {
        tra_dims at = {.n = ext.n}, from = {.n = ext.n};
        for (int64_t i = 0; i < n; i++, ref_step(&ext, &at)) {
            for (int d = 0; d < ext.n; d++) from.v[d] = at.v[ext.n - 1 - d];
            out->data[i] = x->data[ref_place(&x->ext, &from)];
        }
    } else if (folds_rows(k)) {
        fold_lines(k, tx, x->data, n, m, m, 1, out->data, t, fit);
    } else if (ref_is(k, "colsum")) {
        fold_lines(k, tx, x->data, n, 1, x->ext.v[0], n, out->data, t, fit);
    } else if (ref_is(k, "softmax")) {
        *t = ref_real(tx);
        out->sparse = false;
        for (int64_t i = 0; i < n; i += m) softmax_row(x->data + i, out->data + i, m);
    } else {
        return each_element(k, tx, x, out, t, fit, e);
    }
    return TRA_OK;
}

tra_status ref_map_rest(const tra_kernel_desc *ks, int from, int to, ref_array x, tra_arena *a, ref_array *out,
                        tra_dtype *t, ref_fit *fit, tra_err *e) {
    *out = x;
    for (int i = from; i < to; i++) {
        TRA_TRY(map_eval(&ks[i], *t, &x, a, out, t, fit, e));
        x = *out;
    }
    return TRA_OK;
}

tra_status ref_rest_origin(const tra_kernel_desc *ks, int from, int to, ref_origin *o, tra_err *e) {
    for (int i = from; i < to; i++) {
        ref_origin next;
        TRA_TRY(map_origin(&ks[i], o->n, &next, e));
        ref_compose(o, &next);
    }
    return TRA_OK;
}

tra_status ref_map_origin(const tra_kernel *k, int rank, ref_origin *out, tra_err *e) {
    tra_kernel_desc ks[CHAIN];
    int n = ref_chain(k, ks, 0);
    ref_set_origin(out, rank);
    return ref_rest_origin(ks, 0, n, out, e);
}

tra_status ref_map_one(const tra_kernel *k, tra_dtype tx, const ref_array *x, tra_arena *a, ref_array *out,
                       tra_dtype *t, ref_fit *fit, tra_err *e) {
    tra_kernel_desc ks[CHAIN];
    int n = ref_chain(k, ks, 0);
    *t = tx;
    return ref_map_rest(ks, 0, n, *x, a, out, t, fit, e);
}
