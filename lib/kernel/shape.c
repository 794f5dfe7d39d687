/* shape.c - extents of results, where their dimensions come from, and the reasons when extents do not fit. */
#include "program_int.h"

#include <assert.h>

int64_t tra_elements_of(const tra_dims *d) {
    int64_t n = 0;
    bool fits = tra_dims_product(d, &n);
    assert(fits);
    (void)fits;
    return n;
}

size_t tra_array_bytes(const tra_array *a) { return (size_t)tra_elements_of(&a->ext) * tra_dtype_size(a->dtype); }

/* The kernel as the language writes it, for messages; s is freed by the caller. */
static const char *text(const tra_kernel *k, tra_str *s) {
    tra_kernel_print(k->cls == TRA_K_SCALAR && !k->expr ? k->first : k, s);
    return tra_str_get(s);
}

static const char *extents(const tra_dims *d, char buf[TRA_DIMTEXT]) {
    return d->n ? tra_dims_text(d, "", " x ", "", buf, TRA_DIMTEXT) : "a scalar";
}

/* Refuses a pair of arrays. */
static tra_status misfit2(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const char *why, tra_err *e) {
    char ta[TRA_DIMTEXT], tb[TRA_DIMTEXT];
    tra_str s = {0};
    tra_status st = tra_fail(e, TRA_PROGRAM, "%s does not fit arrays of %s and %s: %s", text(k, &s), extents(a, ta),
                             extents(b, tb), why);
    tra_str_free(&s);
    return st;
}

static tra_status misfit1(const tra_kernel *k, const tra_dims *in, const char *why, tra_err *e) {
    char buf[TRA_DIMTEXT];
    tra_str s = {0};
    tra_status st = tra_fail(e, TRA_PROGRAM, "%s does not fit arrays of %s: %s", text(k, &s), extents(in, buf), why);
    tra_str_free(&s);
    return st;
}

static tra_status not_for(const tra_kernel *k, const char *use, tra_err *e) {
    tra_str s = {0};
    tra_status st = tra_fail(e, TRA_PROGRAM, "%s is not a kernel of %s", text(k, &s), use);
    tra_str_free(&s);
    return st;
}

/* ---- Einstein strings --------------------------------------------------------------------------------------- */

static tra_status shape_einsum(const tra_kernel *k, const tra_dims *const *op, tra_dims *out, tra_dimsrc *src,
                               tra_err *e) {
    int64_t n[2 * TRA_MAXDIM];
    int from[2 * TRA_MAXDIM];
    char why[256];
    for (int l = 0; l < k->nlabels; l++) from[l] = -1;
    for (int o = 0; o < k->nin; o++) {
        if (op[o]->n != k->rank[o]) {
            if (k->row)
                snprintf(why, sizeof(why),
                         "it needs two matrices; a matrix times a vector is \"ij,j->i\", a vector times "
                         "a matrix \"i,ij->j\", two vectors \"i,i->\"");
            else
                snprintf(why, sizeof(why), "operand %d has %d label%s and %d dimension%s", o + 1, k->rank[o],
                         k->rank[o] == 1 ? "" : "s", op[o]->n, op[o]->n == 1 ? "" : "s");
            return k->nin == 2 ? misfit2(k, op[0], op[1], why, e) : misfit1(k, op[0], why, e);
        }
        for (int d = 0; d < op[o]->n; d++) {
            int l = k->in[o][d];
            if (from[l] < 0) {
                from[l] = o * 32 + d;
                n[l] = op[o]->v[d];
            } else if (n[l] != op[o]->v[d]) {
                if (k->row)
                    snprintf(why, sizeof(why),
                             "columns of the left (%" PRId64 ") and rows of the right (%" PRId64 ") differ", n[l],
                             op[o]->v[d]);
                else
                    snprintf(why, sizeof(why), "label '%c' has extents %" PRId64 " and %" PRId64, k->letters[l], n[l],
                             op[o]->v[d]);
                return k->nin == 2 ? misfit2(k, op[0], op[1], why, e) : misfit1(k, op[0], why, e);
            }
        }
    }
    out->n = k->nout;
    for (int d = 0; d < k->nout; d++) {
        out->v[d] = n[k->out[d]];
        if (src) src->from[d] = (int8_t)from[k->out[d]];
    }
    return TRA_OK;
}

/* ---- joins -------------------------------------------------------------------------------------------------- */

static tra_status shape_stretch(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_dims *bound_a,
                                const tra_dims *bound_b, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    int n = a->n > b->n ? a->n : b->n;
    tra_dims r = {.n = n};
    for (int d = 0; d < n; d++) {
        int da = d - (n - a->n), db = d - (n - b->n);
        int64_t na = da < 0 ? 1 : a->v[da], nb = db < 0 ? 1 : b->v[db];
        bool one_a = da < 0 || (na == 1 && bound_a->v[da] == 1), one_b = db < 0 || (nb == 1 && bound_b->v[db] == 1);
        if (na != nb && !one_a && !one_b) {
            char why[256];
            snprintf(why, sizeof(why), "extents %" PRId64 " and %" PRId64 " meet, counted from the last dimension%s",
                     na, nb, na == 1 || nb == 1 ? "; a clipped array does not stretch" : "; they must be equal or 1");
            return misfit2(k, a, b, why, e);
        }
        bool from_b = da < 0 || (one_a && db >= 0);
        r.v[d] = one_a ? nb : na;
        if (src) src->from[d] = (int8_t)(from_b ? 32 + db : da);
    }
    *out = r;
    return TRA_OK;
}

/* By LAPACK, of a matrix and maybe a right side. */
static tra_status shape_lapack(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_dims *out,
                               tra_dimsrc *src, tra_err *e) {
    const char *why = tra_lapack_misfit(k->row->lapack, a, b);
    tra_dims r;
    int8_t from[2];
    if (why) return b ? misfit2(k, a, b, why, e) : misfit1(k, a, why, e);
    tra_lapack_shape(k->row->lapack, k->args[0], a, b, &r, from);
    for (int d = 0; src && d < r.n; d++) src->from[d] = from[d];
    *out = r;
    return TRA_OK;
}

/* The shape of a kernel on rows, for which tables are of rank 1. */
static void shape_rows(const tra_rows_kernel *k, const tra_dims *a, const tra_dims *b, tra_dims *out, tra_dimsrc *src) {
    int64_t n = a->n ? a->v[0] : 1, right = b && b->n ? b->v[0] : 1;
    switch (k->extent) {
    case TRA_ROWS_SAME: break;
    case TRA_ROWS_EITHER:
    case TRA_ROWS_RIGHT:
    case TRA_ROWS_PAIRS: n = k->most; break;
    case TRA_ROWS_PRODUCT:
        n = tra_mul_most(n, k->each > 0 ? tra_min64(right, k->each) : right);
        if (k->most > 0) n = tra_min64(n, k->most);
        break;
    case TRA_ROWS_OUTER:
        n = k->each > 0 ? tra_mul_most(n, tra_max64(1, tra_min64(right, k->each)))
                        : tra_add_most(tra_mul_most(n, right), tra_add_most(n, right));
        break;
    case TRA_ROWS_MOST: n = tra_min64(n, k->most); break;
    case TRA_ROWS_ONE: n = 1; break;
    case TRA_ROWS_FIXED: n = k->most; break;
    case TRA_ROWS_ELEMENTS:
        for (int d = 1; d < a->n; d++) n = tra_mul_most(n, a->v[d]);
        n = tra_min64(n, k->most);
        break;
    case TRA_ROWS_NONE: out->n = 0; return;
    case TRA_ROWS_TAKEN:
        *out = *a;
        out->v[k->width] = right;
        for (int d = 0; src && d < a->n; d++) src->from[d] = (int8_t)(d == k->width ? 32 : d);
        return;
    }
    *out = (tra_dims){.n = k->columns ? 1 : 2, .v = {n, k->width}};
    if (src) src->from[0] = 0; /* rows are cut by the key that cuts those of the left operand */
    if (src) src->from[1] = -1;
}

static tra_status shape_top(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_dims *out, tra_dimsrc *src,
                            tra_err *e) {
    if (a->n == 0) return misfit1(k, a, "it works along the last dimension, and there is none", e);
    int64_t n = a->v[a->n - 1];
    if (b && !tra_dims_eq(a, b) && !(b->n == 1 && b->v[0] == n))
        return misfit2(k, a, b, "the right one has the extents of the left one, or is a row of it", e);
    *out = *a;
    out->v[a->n - 1] = k->args[0] < (double)n ? (int64_t)k->args[0] : n;
    for (int d = 0; src && d < a->n; d++) src->from[d] = (int8_t)d;
    return TRA_OK;
}

static tra_status shape2_step(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_dims *bound_a,
                              const tra_dims *bound_b, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    if (!(k->uses & TRA_USE_JOIN)) return not_for(k, "join: it takes one array", e);
    if (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED)
        return shape_einsum(k, (const tra_dims *const[]){a, b}, out, src, e);
    if (k->cls == TRA_K_LAPACK) return shape_lapack(k, a, b, out, src, e);
    if (k->cls == TRA_K_TOP) return shape_top(k, a, b, out, src, e);
    if (k->cls == TRA_K_ROWS) return shape_rows(k->rows, a, b, out, src), TRA_OK;
    if (tra_kernel_is_program(k)) return tra_program_shape(k, a, b, out, src), TRA_OK;
    if (k->cls == TRA_K_SCALAR && k->stretch) return shape_stretch(k, a, b, bound_a, bound_b, out, src, e);
    tra_dims r = *a;
    if (k->cls == TRA_K_OUTER) {
        if (a->n + b->n > TRA_MAXDIM) return misfit2(k, a, b, "the result would have more than 31 dimensions", e);
        for (int d = 0; d < b->n; d++) r.v[r.n++] = b->v[d];
    } else {
        assert(k->cls == TRA_K_SCALAR);
        if (!tra_dims_eq(a, b))
            return misfit2(
                k, a, b, "their extents must be equal; matvecadd and its kin and functions (x, y) -> ... broadcast", e);
    }
    for (int d = 0; src && d < r.n; d++) src->from[d] = (int8_t)(d < a->n ? d : 32 + d - a->n);
    *out = r;
    return TRA_OK;
}

/* ---- maps --------------------------------------------------------------------------------------------------- */

static tra_status shape1_step(const tra_kernel *k, const tra_dims *in, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    if (!(k->uses & TRA_USE_MAP)) return not_for(k, "transform: it takes two arrays or a group of them", e);
    tra_dims r = {.n = in->n};
    int from[TRA_MAXDIM];
    switch (k->cls) {
    case TRA_K_EINSUM:
    case TRA_K_ALIGNED: return shape_einsum(k, &in, out, src, e);
    case TRA_K_LAPACK: return shape_lapack(k, in, NULL, out, src, e);
    case TRA_K_TOP: return shape_top(k, in, NULL, out, src, e);
    case TRA_K_ROWS: return shape_rows(k->rows, in, NULL, out, src), TRA_OK;
    case TRA_K_DIAG:
        if (in->n != 2) return misfit1(k, in, "it needs matrices", e);
        r.n = 1;
        break;
    case TRA_K_ROW:
    case TRA_K_COL:
        if (in->n == 0) return misfit1(k, in, "there is no dimension to reduce", e);
        r.n = in->n - 1;
        break;
    case TRA_K_SOFTMAX:
        if (in->n == 0) return misfit1(k, in, "it works along the last dimension, and there is none", e);
        break;
    case TRA_K_SCALAR:
    case TRA_K_TRANSPOSE: break;
    case TRA_K_OUTER:
    case TRA_K_FOLD:
    case TRA_K_INDEX:
    case TRA_K_PACK:
    case TRA_K_PROGRAM:
    case TRA_K_THEN: assert(!"a map");
    }
    for (int d = 0; d < r.n; d++) {
        from[d] = k->cls == TRA_K_TRANSPOSE ? in->n - 1 - d : k->cls == TRA_K_COL ? d + 1 : d;
        r.v[d] = in->v[from[d]];
        if (src) src->from[d] = (int8_t)from[d];
    }
    if (k->cls == TRA_K_DIAG) r.v[0] = tra_min64(in->v[0], in->v[1]);
    *out = r;
    return TRA_OK;
}

/* Shapes of the steps from the second on, with `out` and `src` those of the first. */
static tra_status shape_rest(const tra_kernel *const *steps, int n, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    for (int i = 1; i < n; i++) {
        tra_dims in = *out;
        tra_dimsrc before, now;
        if (src) before = *src;
        TRA_TRY(shape1_step(steps[i], &in, out, &now, e));
        for (int d = 0; src && d < out->n; d++)
            src->from[d] = (int8_t)(now.from[d] < 0 ? -1 : before.from[now.from[d]]);
    }
    return TRA_OK;
}

/* ---- the interface ------------------------------------------------------------------------------------------ */

tra_status tra_kernel_shape2(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_dims *bound_a,
                             const tra_dims *bound_b, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    const tra_kernel *const *steps;
    int n = tra_steps(k, &steps, &k);
    TRA_TRY(shape2_step(steps[0], a, b, bound_a, bound_b, out, src, e));
    return shape_rest(steps, n, out, src, e);
}

/* The lesser extent of each label, in both. */
static void meet_by_labels(const tra_kernel *k, tra_dims *const *op) {
    int64_t n[2 * TRA_MAXDIM];
    for (int l = 0; l < k->nlabels; l++) n[l] = INT64_MAX;
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < k->rank[o]; d++) n[k->in[o][d]] = tra_min64(n[k->in[o][d]], op[o]->v[d]);
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < k->rank[o]; d++) op[o]->v[d] = n[k->in[o][d]];
}

void tra_kernel_meet(const tra_kernel *k, tra_dims *a, tra_dims *b) {
    k = tra_kernel_first(k);
    if (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED) {
        meet_by_labels(k, (tra_dims *const[]){a, b});
    } else if (k->cls == TRA_K_LAPACK && a->n == 2) {
        a->v[0] = b->v[0] = tra_min64(a->v[0], b->v[0]);
        if (tra_lapack_misfit(k->row->lapack, a, b)) a->v[1] = a->v[0]; /* it is to be square */
    } else if (k->cls == TRA_K_SCALAR || k->cls == TRA_K_TOP) {
        for (int i = 1; i <= a->n && i <= b->n; i++) {
            int64_t *x = &a->v[a->n - i], *y = &b->v[b->n - i];
            if (!k->stretch || (*x != 1 && *y != 1)) *x = *y = tra_min64(*x, *y);
        }
    }
}

tra_status tra_kernel_shape1(const tra_kernel *k, const tra_dims *in, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    const tra_kernel *const *steps;
    int n = tra_steps(k, &steps, &k);
    TRA_TRY(shape1_step(steps[0], in, out, src, e));
    return shape_rest(steps, n, out, src, e);
}

tra_status tra_kernel_shape_agg(const tra_kernel *k, const tra_dims *in, tra_dims *out, tra_dimsrc *src, tra_err *e) {
    const tra_kernel *const *steps;
    int n = tra_steps(k, &steps, &k);
    if (!(steps[0]->uses & TRA_USE_AGG)) return not_for(steps[0], "agg: it does not reduce a group of arrays", e);
    tra_agg_state_ext(k, in, out);
    for (int d = 0; src && d < out->n; d++) src->from[d] = (int8_t)(steps[0]->cls == TRA_K_INDEX ? -1 : d);
    return shape_rest(steps, n, out, src, e);
}

void tra_step_shape1(const tra_kernel *step, const tra_dims *in, tra_dims *out) {
    tra_status st = shape1_step(step, in, out, NULL, NULL);
    assert(st == TRA_OK);
    (void)st;
}

void tra_step_shape2(const tra_kernel *step, const tra_dims *a, const tra_dims *b, tra_dims *out) {
    tra_status st = shape2_step(step, a, b, a, b, out, NULL, NULL);
    assert(st == TRA_OK);
    (void)st;
}

void tra_agg_state_ext(const tra_kernel *agg, const tra_dims *group, tra_dims *state) {
    *state = *group;
    if (tra_kernel_first(agg)->cls == TRA_K_INDEX) *state = (tra_dims){.n = 1, .v = {2}};
}
