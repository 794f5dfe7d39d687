/* ref_kernels.c - the reference evaluator's definition of every kernel. */
#include "ref_kernels_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- arrays ---------------------------------------------------------------------------------------------------- */

int64_t ref_count(const tra_dims *ext) {
    int64_t n = 1;
    for (int d = 0; d < ext->n; d++) n *= ext->v[d];
    return n;
}

ref_array ref_array_new(tra_arena *a, const tra_dims *ext) {
    return (ref_array){.ext = *ext, .data = tra_news(a, ref_num, ref_count(ext))};
}

bool ref_step(const tra_dims *ext, tra_dims *at) {
    for (int d = ext->n - 1; d >= 0; d--) {
        if (++at->v[d] < ext->v[d]) return true;
        at->v[d] = 0;
    }
    return false;
}

int64_t ref_place(const tra_dims *ext, const tra_dims *at) {
    int64_t p = 0;
    for (int d = 0; d < ext->n; d++) p = p * ext->v[d] + at->v[d];
    return p;
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    tra_scalar_op op;
} elementwise[] = {
    {"neg", TRA_S_NEG},
    {"square", TRA_S_MUL},
    {"relu_grad", TRA_S_STEP},
    {"abs", TRA_S_ABS},
#define PART(X, name, text, ...)        {text, TRA_S_##name},
#define REAL(X, name, arity, text, ...) {arity == 1 ? text : "", TRA_S_##name},
#define CAST(X, name, type, text, ...)  {text, TRA_S_##name},
    TRA_PARTS(PART, ) TRA_CASTS(CAST, ) TRA_REALS(REAL, )
#undef CAST
#undef PART
#undef REAL
        {"densify", TRA_S_ARG},
    {"sparsify", TRA_S_ARG},
};

/* The join kernels that pair elements: of equal extents, or stretched. */
static const struct {
    const char *name;
    bool stretch;
    tra_scalar_op op;
} pairwise[] = {
    {"matadd", false, TRA_S_ADD},   {"matsub", false, TRA_S_SUB},   {"elemmul", false, TRA_S_MUL},
    {"elemdiv", false, TRA_S_DIV},  {"elemmax", false, TRA_S_MAX},  {"elemmin", false, TRA_S_MIN},
    {"matvecadd", true, TRA_S_ADD}, {"matvecsub", true, TRA_S_SUB}, {"matvecmul", true, TRA_S_MUL},
    {"matvecdiv", true, TRA_S_DIV},
};

bool ref_find1(const char *name, tra_scalar_op *op) {
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
        if (!strcmp(elementwise[i].name, name)) return *op = elementwise[i].op, true;
    return false;
}

static bool find2(const char *name, bool *stretch, tra_scalar_op *op) {
    for (size_t i = 0; i < sizeof pairwise / sizeof *pairwise; i++)
        if (!strcmp(pairwise[i].name, name)) {
            *stretch = pairwise[i].stretch;
            *op = pairwise[i].op;
            return true;
        }
    return false;
}

bool ref_is(const tra_kernel_desc *d, const char *name) { return d->name && !strcmp(d->name, name); }

/* ---- compositions ---------------------------------------------------------------------------------------------- */

int ref_chain(const tra_kernel *k, tra_kernel_desc *out, int n) {
    const tra_kernel *rest = tra_kernel_rest(k);
    if (!rest) {
        assert(n < CHAIN);
        out[n] = tra_kernel_describe(k);
        return n + 1;
    }
    n = ref_chain(tra_kernel_first(k), out, n);
    return ref_chain(rest, out, n);
}

void ref_compose(ref_origin *first, const ref_origin *next) {
    ref_origin r = {.n = next->n};
    for (int d = 0; d < next->n; d++) {
        r.from[d] = first->from[next->from[d]];
        r.also[d] = next->also[d] >= 0 ? first->from[next->also[d]] : first->also[next->from[d]];
    }
    *first = r;
}

void ref_set_origin(ref_origin *o, int n) {
    o->n = n;
    for (int d = 0; d < n; d++) {
        o->from[d] = d;
        o->also[d] = -1;
    }
}

/* ---- Einstein strings ------------------------------------------------------------------------------------------ */

static void read_einstein(const char *text, einstein *s) {
    memset(s, 0, sizeof *s);
    char *part = s->in[0];
    s->operands = 1;
    for (const char *c = text; *c; c++) {
        if (*c == ' ') continue;
        if (*c == ',')
            part = s->in[s->operands++];
        else if (*c == '-')
            part = s->out;
        else if (*c != '>')
            part[strlen(part)] = *c;
    }
}

tra_status ref_einstein_origin(const char *text, int operands, const int *rank, ref_origin *o, tra_err *e) {
    einstein s;
    read_einstein(text, &s);
    if (s.operands != operands) return tra_fail(e, TRA_PROGRAM, "\"%s\" takes %d operands", text, s.operands);
    for (int p = 0; p < operands; p++)
        if ((int)strlen(s.in[p]) != rank[p])
            return tra_fail(e, TRA_PROGRAM, "\"%s\" has %zu labels for an array of rank %d", text, strlen(s.in[p]),
                            rank[p]);
    ref_set_origin(o, (int)strlen(s.out));
    for (int d = 0; d < o->n; d++) {
        o->from[d] = -1;
        for (int p = operands - 1; p >= 0; p--) {
            const char *at = strchr(s.in[p], s.out[d]);
            if (at) o->from[d] = p * 32 + (int)(at - s.in[p]);
        }
        assert(o->from[d] >= 0);
    }
    return TRA_OK;
}

tra_status ref_einstein_eval(const char *text, const tra_scalar *expr, tra_scalar_op fold, tra_dtype tx, tra_dtype ty,
                             const ref_array *x, const ref_array *y, tra_arena *a, ref_array *out, tra_dtype *t,
                             ref_fit *fit, tra_err *e) {
    einstein s;
    read_einstein(text, &s);
    const ref_array *operand[2] = {x, y};
    char labels[3 * TRA_MAXDIM] = "";
    strcpy(labels, s.out);
    for (int p = 0; p < s.operands; p++)
        for (const char *c = s.in[p]; *c; c++)
            if (!strchr(labels, *c)) labels[strlen(labels)] = *c;
    int n = (int)strlen(labels);
    int64_t ext[3 * TRA_MAXDIM], at[3 * TRA_MAXDIM] = {0};
    for (int l = 0; l < n; l++) {
        ext[l] = -1;
        for (int p = 0; p < s.operands; p++)
            for (int d = 0; s.in[p][d]; d++) {
                if (s.in[p][d] != labels[l]) continue;
                if (ext[l] >= 0 && ext[l] != operand[p]->ext.v[d])
                    return tra_fail(e, TRA_PROGRAM, "label %c of \"%s\" has extents %" PRId64 " and %" PRId64,
                                    labels[l], text, ext[l], operand[p]->ext.v[d]);
                ext[l] = operand[p]->ext.v[d];
            }
    }
    tra_dims oext = {.n = (int)strlen(s.out)};
    for (int d = 0; d < oext.n; d++) oext.v[d] = ext[d];
    *out = ref_array_new(a, &oext);
    bool reduces = n > oext.n;
    fit->wide = reduces && (fold == TRA_S_ADD || fold == TRA_S_MUL);
    ref_fit none = {.wide = fit->wide};
    ref_value value[2] = {ref_element(tx, x->sparse), ref_element(ty, y && y->sparse)}, v = value[0];
    if (expr)
        v = ref_scalar(expr, s.operands, value, &none);
    else if (y)
        v = ref_apply(TRA_S_MUL, value[0], value[1], &none);
    tra_dtype one = v.t;
    out->sparse = v.sparse;
    *t = reduces ? ref_sum_begin(fold, one, v.sparse).t : one;
    int64_t m = ref_count(&oext);
    ref_sum *sum = tra_news(a, ref_sum, m);
    for (int64_t i = 0; i < m; i++) sum[i] = ref_sum_begin(fold, one, out->sparse);
    bool empty = false;
    for (int l = 0; l < n; l++) empty = empty || ext[l] == 0;
    for (int l = 0; !empty && l >= 0;) {
        for (int p = 0; p < s.operands; p++) {
            int64_t pos = 0;
            for (int d = 0; s.in[p][d]; d++) pos = pos * operand[p]->ext.v[d] + at[strchr(labels, s.in[p][d]) - labels];
            value[p].v = operand[p]->data[pos];
        }
        v = value[0];
        if (expr)
            v = ref_scalar(expr, s.operands, value, fit);
        else if (y)
            v = ref_apply(TRA_S_MUL, value[0], value[1], fit);
        int64_t pos = 0;
        for (int d = 0; d < oext.n; d++) pos = pos * ext[d] + at[d];
        if (reduces)
            ref_sum_add(&sum[pos], v.v); /* 0 + -0 is not -0 */
        else
            out->data[pos] = v.v;
        l = n - 1;
        while (l >= 0 && ++at[l] == ext[l]) at[l--] = 0;
    }
    for (int64_t i = 0; i < m && reduces; i++) out->data[i] = ref_sum_end(&sum[i], fit);
    fit->wide = false;
    return TRA_OK;
}

/* ---- joins ----------------------------------------------------------------------------------------------------- */

/* matmul and outer are Einstein expressions; outer's labels depend on the ranks. */
static tra_status join_einstein(const tra_kernel_desc *k, int ra, int rb, char *text, tra_err *e) {
    text[0] = 0;
    if (k->einsum) strcpy(text, k->einsum);
    if (ref_is(k, "matmul")) {
        TRA_TRY(ref_need_rank("matmul", ra, 2, 2, e));
        TRA_TRY(ref_need_rank("matmul", rb, 2, 2, e));
        strcpy(text, "ij,jk->ik");
    }
    if (ref_is(k, "outer")) {
        char x[TRA_MAXDIM + 1] = "", y[TRA_MAXDIM + 1] = "";
        TRA_TRY(ref_need_rank("outer", ra + rb, 0, TRA_MAXDIM, e));
        for (int d = 0; d < ra; d++) x[d] = (char)('A' + d);
        for (int d = 0; d < rb; d++) y[d] = (char)('a' + d);
        sprintf(text, "%s,%s->%s%s", x, y, x, y);
    }
    return TRA_OK;
}

/* Element pairs: a dimension of the result, counted from the last, is that of L; where pairs stretch, R's if L lacks it
 * or has bound 1. */
static void pair_origin(bool stretch, const tra_dims *ba, const tra_dims *bb, ref_origin *o) {
    ref_set_origin(o, ba->n > bb->n ? ba->n : bb->n);
    for (int d = 0; d < o->n; d++) {
        int da = d - (o->n - ba->n), db = d - (o->n - bb->n);
        bool right = da < 0 || (stretch && db >= 0 && ba->v[da] == 1);
        o->from[d] = right ? 32 + db : da;
    }
}

/* Pairs of elements, of types value[0].t and value[1].t, under op, or s. */
static tra_status pair_eval(const char *name, tra_scalar_op op, const tra_scalar *s, bool stretch, ref_value *value,
                            const tra_dims *ba, const tra_dims *bb, const ref_array *x, const ref_array *y,
                            tra_arena *a, ref_array *out, tra_dtype *t, ref_fit *fit, tra_err *e) {
    ref_origin o;
    pair_origin(stretch, ba, bb, &o);
    if (!stretch) TRA_TRY(x->ext.n == y->ext.n ? TRA_OK : ref_need_rank(name, y->ext.n, x->ext.n, x->ext.n, e));
    tra_dims ext = {.n = o.n};
    for (int d = 0; d < o.n; d++) {
        int da = d - (o.n - ba->n), db = d - (o.n - bb->n);
        ext.v[d] = o.from[d] >= 32 ? y->ext.v[db] : x->ext.v[da];
        bool may = stretch && (da < 0 || db < 0 || ba->v[da] == 1 || bb->v[db] == 1);
        if (!may && x->ext.v[da] != y->ext.v[db])
            return tra_fail(e, TRA_PROGRAM, "%s of extents %" PRId64 " and %" PRId64 " along a dimension", name,
                            x->ext.v[da], y->ext.v[db]);
    }
    *out = ref_array_new(a, &ext);
    ref_fit none = {0}; /* first for the type */
    ref_value one = s ? ref_scalar(s, 2, value, &none) : ref_apply(op, value[0], value[1], &none);
    *t = one.t;
    out->sparse = one.sparse;
    tra_dims at = {.n = ext.n}, ax = {.n = x->ext.n}, ay = {.n = y->ext.n};
    for (int64_t i = 0, n = ref_count(&ext); i < n; i++, ref_step(&ext, &at)) {
        for (int d = 0; d < ax.n; d++) ax.v[d] = x->ext.v[d] == 1 ? 0 : at.v[d + ext.n - ax.n];
        for (int d = 0; d < ay.n; d++) ay.v[d] = y->ext.v[d] == 1 ? 0 : at.v[d + ext.n - ay.n];
        value[0].v = x->data[ref_place(&x->ext, &ax)];
        value[1].v = y->data[ref_place(&y->ext, &ay)];
        out->data[i] = (s ? ref_scalar(s, 2, value, fit) : ref_apply(op, value[0], value[1], fit)).v;
    }
    return TRA_OK;
}

static bool stretches(const tra_kernel_desc *k) {
    bool stretch = true;
    tra_scalar_op op;
    if (k->name) find2(k->name, &stretch, &op);
    return stretch;
}

tra_status ref_join_origin(const tra_kernel *k, const tra_dims *ba, const tra_dims *bb, ref_origin *out, tra_err *e) {
    tra_kernel_desc ks[CHAIN];
    int n = ref_chain(k, ks, 0), rank[2] = {ba->n, bb->n};
    char text[3 * TRA_MAXDIM + 8];
    TRA_TRY(join_einstein(&ks[0], ba->n, bb->n, text, e));
    if (text[0])
        TRA_TRY(ref_einstein_origin(text, 2, rank, out, e));
    else if (ref_is_top(&ks[0]))
        ref_set_origin(out, ba->n);
    else if (ref_is(&ks[0], "solve")) {
        pair_origin(false, bb, bb, out);
        if (bb->n == 2) out->from[1] = 32 + 1;
    } else if (ref_is(&ks[0], "tall_r"))
        ref_lapack_origin("tall_r", 0, out);
    else
        pair_origin(stretches(&ks[0]), ba, bb, out);
    return ref_rest_origin(ks, 1, n, out, e);
}

tra_status ref_join_pair(const tra_kernel *k, tra_dtype tx, tra_dtype ty, const tra_dims *ba, const tra_dims *bb,
                         const ref_array *x, const ref_array *y, tra_arena *a, ref_array *out, tra_dtype *t,
                         ref_fit *fit, tra_err *e) {
    tra_kernel_desc ks[CHAIN];
    int n = ref_chain(k, ks, 0);
    char text[3 * TRA_MAXDIM + 8];
    ref_array first;
    TRA_TRY(join_einstein(&ks[0], ba->n, bb->n, text, e));
    if (text[0]) {
        tra_scalar_op fold = ks[0].einsum ? ks[0].fold : TRA_S_ADD;
        TRA_TRY(ref_einstein_eval(text, ks[0].scalar, fold, tx, ty, x, y, a, &first, t, fit, e));
    } else if (ref_is_top(&ks[0])) {
        *t = ty;
        TRA_TRY(ref_top_eval(&ks[0], tx, x, y, a, &first, e));
    } else if (ref_is(&ks[0], "solve") || ref_is(&ks[0], "tall_r")) {
        *t = ref_is(&ks[0], "tall_r") ? TRA_F64 : ref_real(ref_both(tx, ty));
        TRA_TRY(ref_lapack(ks[0].name, 0, *t, x, y, a, &first, fit, e));
    } else {
        bool stretch = true;
        tra_scalar_op op = TRA_S_ARG;
        bool known = ks[0].name && find2(ks[0].name, &stretch, &op);
        ref_value value[2] = {ref_element(tx, x->sparse), ref_element(ty, y->sparse)};
        if (!known && !ks[0].scalar) return tra_fail(e, TRA_PROGRAM, "%s is no kernel for join", ks[0].name);
        TRA_TRY(pair_eval(known ? ks[0].name : "the function", op, ks[0].scalar, stretch, value, ba, bb, x, y, a,
                          &first, t, fit, e));
    }
    return ref_map_rest(ks, 1, n, first, a, out, t, fit, e);
}

/* ---- aggregations ---------------------------------------------------------------------------------------------- */

static bool indexing(const tra_kernel_desc *k) { return ref_is(k, "minindex") || ref_is(k, "maxindex"); }

bool ref_is_index(const tra_kernel *k) {
    tra_kernel_desc ks[CHAIN];
    ref_chain(k, ks, 0);
    return indexing(&ks[0]);
}

tra_status ref_agg_origin(const tra_kernel *k, int rank, ref_origin *out, tra_err *e) {
    tra_kernel_desc ks[CHAIN];
    int n = ref_chain(k, ks, 0);
    bool index = indexing(&ks[0]);
    ref_set_origin(out, index ? 1 : rank);
    if (index) out->from[0] = -1;
    return ref_rest_origin(ks, 1, n, out, e);
}

/* The extreme element and its row-major index in the whole tensor: the smallest index wins a tie, the first NaN wins
 * over all. */
static void agg_index(bool least, int64_t n, const ref_array *x, const tra_dims *offset, const tra_dims *shape,
                      ref_num *out) {
    int64_t best = -1;
    double value = 0;
    for (int64_t i = 0; i < n; i++) {
        tra_dims at = {.n = x[i].ext.n}, whole = {.n = x[i].ext.n};
        for (int64_t j = 0, m = ref_count(&x[i].ext); j < m; j++, ref_step(&x[i].ext, &at)) {
            for (int d = 0; d < at.n; d++) whole.v[d] = at.v[d] + offset[i].v[d];
            int64_t index = ref_place(shape, &whole);
            double v = (double)x[i].data[j];
            bool better = isnan(v) ? !isnan(value) : least ? v < value : v > value;
            bool same = isnan(v) ? isnan(value) : v == value;
            if (best < 0 || better || (same && index < best)) {
                best = index;
                value = v;
            }
        }
    }
    out[0] = value;
    out[1] = (double)best;
}

static tra_status agg_fold(const tra_kernel_desc *k, tra_dtype tx, int64_t n, const ref_array *x, tra_arena *a,
                           ref_array *out, tra_dtype *t, ref_fit *fit, tra_err *e) {
    bool stretch;
    tra_scalar_op op = TRA_S_ARG;
    if (!k->name || !find2(k->name, &stretch, &op) || stretch)
        return tra_fail(e, TRA_PROGRAM, "%s is no kernel for agg", k->name);
    tra_dims ext = x[0].ext;
    for (int64_t i = 1; i < n; i++)
        for (int d = 0; d < ext.n; d++) ext.v[d] = tra_max64(ext.v[d], x[i].ext.v[d]);
    *out = ref_array_new(a, &ext);
    *t = ref_sum_begin(op, tx, false).t;
    out->sparse = x[0].sparse;
    int64_t m = ref_count(&ext);
    ref_sum *sum = tra_news(a, ref_sum, m);
    for (int64_t j = 0; j < m; j++) sum[j] = ref_sum_begin(op, tx, out->sparse);
    for (int64_t i = 0; i < n; i++) { /* what an array does not cover counts as the identity */
        tra_dims at = {.n = ext.n};
        for (int64_t j = 0, own = ref_count(&x[i].ext); j < own; j++, ref_step(&x[i].ext, &at))
            ref_sum_add(&sum[ref_place(&ext, &at)], x[i].data[j]);
    }
    for (int64_t j = 0; j < m; j++) out->data[j] = ref_sum_end(&sum[j], fit);
    return TRA_OK;
}

tra_status ref_agg_group(const tra_kernel *k, tra_dtype tx, int64_t n, const ref_array *x, const tra_dims *offset,
                         const tra_dims *shape, tra_arena *a, ref_array *out, tra_dtype *t, ref_fit *fit, tra_err *e) {
    tra_kernel_desc ks[CHAIN];
    int m = ref_chain(k, ks, 0);
    ref_array first;
    assert(n >= 1);
    if (indexing(&ks[0])) {
        first = ref_array_new(a, &(tra_dims){.n = 1, .v = {2}});
        agg_index(ref_is(&ks[0], "minindex"), n, x, offset, shape, first.data);
        *t = TRA_F64;
    } else {
        TRA_TRY(agg_fold(&ks[0], tx, n, x, a, &first, t, fit, e));
    }
    return ref_map_rest(ks, 1, m, first, a, out, t, fit, e);
}
