/* entries.c - how many entries the results of kernels have: bounds that always hold, and estimates that take the places
 * of entries for independent of each other. */
#include "../base/chance.h"
#include "program_int.h"

#include <math.h>
#include <string.h>

/* ---- scalar expressions ------------------------------------------------------------------------------------------ */

static tra_known known_of(const tra_scalar *s, const bool *arg) {
    if (s->op == TRA_S_CONST) return tra_known_number(s->value);
    if (s->op == TRA_S_ARG) return tra_known_argument(arg[s->arg]);
    const tra_scalar *const kid[3] = {s->a, s->b, s->c};
    tra_known x[3] = {{0}};
    for (int o = 0; o < tra_scalar_arity(s->op); o++) x[o] = known_of(kid[o], arg);
    return tra_known_result(s->op, x);
}

bool tra_scalar_sparse(const tra_scalar *s, const bool *arg) { return known_of(s, arg).sparse; }

/* How many entries a part of an expression has, among the elements over all labels of the whole expression. */
typedef struct filled {
    double share;  /* of the elements that are entries, estimated */
    int64_t bound; /* entries at most; INT64_MAX: no more is known than the extents */
} filled;

static unsigned arguments(const tra_scalar *s) {
    if (s->op == TRA_S_ARG) return 1u << s->arg;
    return (s->a ? arguments(s->a) : 0) | (s->b ? arguments(s->b) : 0) | (s->c ? arguments(s->c) : 0);
}

/* Of elements at the same place: where both operands have entries, and where either has. Operands that read the same
 * elements have their entries at the same places. */
static filled both(filled a, filled b, bool apart) {
    double share = apart ? a.share * b.share : a.share < b.share ? a.share : b.share;
    return (filled){share, tra_min64(a.bound, b.bound)};
}
static filled either(filled a, filled b, bool apart) {
    double share = apart ? 1 - (1 - a.share) * (1 - b.share) : a.share > b.share ? a.share : b.share;
    return (filled){share, tra_add_most(a.bound, b.bound)};
}

/* Where any argument of sparse type has an entry. */
static filled of_arguments(const tra_scalar *s, const bool *sparse, const filled *arg) {
    filled r = {0, 0};
    for (unsigned i = 0, left = arguments(s); left; i++, left >>= 1)
        if (left & 1 && sparse[i]) r = either(r, arg[i], true);
    return r;
}

/* The entries of an expression. arg: what is known of its arguments, with how many elements of the result an entry of
 * each meets. */
static filled of_expr(const tra_scalar *s, const bool *sparse, const filled *arg) {
    tra_known k = known_of(s, sparse);
    if (s->op == TRA_S_CONST) return (filled){0, 0};
    if (s->op == TRA_S_ARG) return k.sparse ? arg[s->arg] : (filled){1, INT64_MAX};
    if (!tra_known_is_fixed(&k)) return (filled){1, INT64_MAX};
    /* where it is sparse, or reads nothing else (exp(x) in exp(x) - 1): the places at which it is not as it is at 0 */
    filled a = of_expr(s->a, sparse, arg), b = s->b ? of_expr(s->b, sparse, arg) : (filled){0, 0};
    if (s->c) { /* where the condition is, or the branch that is taken elsewhere */
        tra_known c = known_of(s->a, sparse);
        filled no = of_expr(s->c, sparse, arg);
        if (!tra_known_is_fixed(&c)) return either(b, no, false);
        return either(a, c.low != 0 ? b : no, false);
    }
    bool apart = s->b && !(arguments(s->a) & arguments(s->b)), x = known_of(s->a, sparse).sparse;
    if (s->op == TRA_S_DIV && x) return a;
    bool y = s->b && known_of(s->b, sparse).sparse, times = s->op == TRA_S_MUL || s->op == TRA_S_AND;
    if (times && k.sparse && (x || y)) return x && y ? both(a, b, apart) : x ? a : b;
    filled all = of_arguments(s, sparse, arg), r = either(a, b, apart); /* of max(0, min(A, d)) d alone is everywhere */
    return (filled){fmin(r.share, all.share), tra_min64(r.bound, all.bound)};
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

/* Folds `terms` elements to one. A maximum of no entries is infinite, a product of none 1, so these are no sparse
 * results. */
static void fold(tra_scalar_op op, double terms, tra_filled *x) {
    if (!x->sparse) return;
    if (terms < 1) {
        x->share = op != TRA_S_ADD;
        if (op != TRA_S_ADD) x->bound = INT64_MAX;
        return;
    }
    x->share = op == TRA_S_MUL ? pow(x->share, terms) : tra_any_of(x->share, terms);
}

/* The labels' extents of an Einstein string's operands. */
static void label_extents(const tra_kernel *k, const tra_dims *const *ext, int64_t *n) {
    for (int l = 0; l < k->nlabels; l++) n[l] = 1;
    for (int o = 0; o < k->nin; o++)
        for (int d = 0; d < k->rank[o] && d < ext[o]->n; d++) n[(int)k->in[o][d]] = ext[o]->v[d];
}

/* Each entry of an operand meets so many elements of the result. */
static filled spread(const tra_filled *x, int64_t meets) { return (filled){x->share, tra_mul_most(x->bound, meets)}; }

static tra_filled combined(const tra_scalar *e, const tra_filled *in, int nin, const int64_t *meets) {
    static const tra_scalar x = {.op = TRA_S_ARG, .arg = 0}, y = {.op = TRA_S_ARG, .arg = 1};
    static const tra_scalar product = {.op = TRA_S_MUL, .a = &x, .b = &y};
    bool sparse[2] = {in[0].sparse, nin == 2 && in[1].sparse};
    filled arg[2] = {spread(&in[0], meets[0]), nin == 2 ? spread(&in[1], meets[1]) : (filled){0, 0}};
    if (!e) e = nin == 2 ? &product : &x;
    filled f = of_expr(e, sparse, arg);
    bool pairs = nin == 2 && sparse[0] && sparse[1] && e->op == TRA_S_MUL && e->a->op == TRA_S_ARG &&
                 e->b->op == TRA_S_ARG && e->a->arg != e->b->arg;
    if (pairs) f.bound = tra_min64(f.bound, tra_mul_most(in[0].bound, in[1].bound)); /* of entries that meet */
    return (tra_filled){.sparse = tra_scalar_sparse(e, sparse),
                        .share = f.share,
                        .bound = f.bound,
                        .work = f.share,
                        .exact = !(sparse[0] && sparse[1])};
}

/* Has operand y, but for its last dimension, only labels that operand x has too? Then each entry of x meets no more of
 * y's than one row has. */
static bool meets_a_row(const tra_kernel *k, int x, int y) {
    for (int d = 0; d + 1 < k->rank[y]; d++)
        if (!memchr(k->in[x], k->in[y][d], (size_t)k->rank[x])) return false;
    return k->rank[y] > 0;
}

/* Does the product meet rows with rows of the same number, as A[i,j] * B[i,k] does, and keep all that comes of it apart
 * but for the rows? */
static bool meets_rows(const tra_kernel *k) {
    int n = k->rank[0];
    if (n != k->rank[1] || n < 2 || k->nout != 2) return false;
    for (int d = 0; d + 1 < n; d++)
        if (k->in[0][d] != k->in[1][d] || memchr(k->out, k->in[0][d], 2)) return false;
    return k->in[0][n - 1] != k->in[1][n - 1] && memchr(k->out, k->in[0][n - 1], 2) &&
           memchr(k->out, k->in[1][n - 1], 2);
}

static bool is_pairs(const tra_kernel *k, const tra_filled *in) {
    const tra_scalar *e = k->expr;
    bool folds = k->fold == TRA_S_ADD || k->fold == TRA_S_MAX || k->fold == TRA_S_MIN;
    if (k->nin != 2 || !in[0].sparse || !in[1].sparse || !folds) return false;
    return !e || (e->op == TRA_S_MUL && e->a->op == TRA_S_ARG && e->b->op == TRA_S_ARG && e->a->arg != e->b->arg);
}

/* Bounds a product of entries with entries by the number of pairs that meet. */
static void count_pairs(const tra_kernel *k, const tra_filled *in, tra_filled *r) {
    for (int y = 0; y < 2; y++)
        if (in[y].fullest > 0 && meets_a_row(k, !y, y))
            r->bound = tra_min64(r->bound, tra_mul_most(in[!y].bound, in[y].fullest));
    r->squared = meets_rows(k);
}

/* EINSUM, ALIGNED */
static tra_filled of_labels(const tra_kernel *k, const tra_dims *const *ext, const tra_filled *in) {
    int64_t n[2 * TRA_MAXDIM], meets[2] = {1, 1};
    double terms = 1;
    label_extents(k, ext, n);
    for (int l = 0; l < k->nlabels; l++) {
        bool kept = memchr(k->out, l, (size_t)k->nout);
        if (!kept) terms *= (double)n[l];
        for (int o = 0; o < k->nin && kept; o++)
            if (!memchr(k->in[o], l, (size_t)k->rank[o])) meets[o] = tra_mul_most(meets[o], n[l]);
    }
    tra_filled r = combined(k->expr, in, k->nin, meets);
    if (k->nlabels > k->nout) fold(k->fold, terms, &r);
    if (is_pairs(k, in) && (terms >= 1 || k->fold == TRA_S_ADD)) count_pairs(k, in, &r);
    return r;
}

/* An entry for each row. */
static tra_filled of_rows(const tra_rows_kernel *k, const tra_dims *ext) {
    double all = (double)tra_mul_most(k->most, k->width), rows = (double)ext->v[0] * k->share;
    return (tra_filled){
        .sparse = true, .share = all > 0 ? fmin(1, rows / all) : 0, .bound = ext->v[0], .work = 1, .exact = true};
}

/* The entries of a join's result: one for each row of the right operand, as far as these are expected to be there. */
static tra_filled of_rows2(const tra_rows_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *right) {
    double all = (double)tra_mul_most(a->n ? a->v[0] : 1, k->width), rows = (double)b->v[0] * right->share * k->share;
    return (tra_filled){
        .sparse = true, .share = all > 0 ? fmin(1, rows / all) : 0, .bound = right->bound, .work = 1, .exact = false};
}

static tra_filled of_step1(const tra_kernel *k, const tra_dims *ext, const tra_filled *in) {
    static const int64_t once[2] = {1, 1};
    static const tra_filled dense = {.share = 1, .bound = INT64_MAX, .work = 1, .exact = true};
    tra_filled r = *in;
    r.work = in->share, r.exact = true;
    if (k->row && k->row->type < 0) return dense;
    if (k->row &&
        k->row->type > 0) { /* of what is dense by type any element may be an entry, as in log(x) where x is 0 */
        if (!in->sparse) r = dense;
        return r.sparse = true, r;
    }
    switch (k->cls) {
    case TRA_K_SCALAR: return combined(k->expr, in, 1, once);
    case TRA_K_EINSUM:
    case TRA_K_ALIGNED: return of_labels(k, &ext, in);
    case TRA_K_ROW: fold(k->fold, ext->n ? (double)ext->v[ext->n - 1] : 1, &r); return r;
    case TRA_K_COL: fold(k->fold, ext->n ? (double)ext->v[0] : 1, &r); return r;
    case TRA_K_TRANSPOSE:
    case TRA_K_DIAG: return r;
    case TRA_K_SOFTMAX:
    case TRA_K_TOP:
    case TRA_K_LAPACK:
    case TRA_K_FOLD:
    case TRA_K_INDEX: return dense;
    case TRA_K_ROWS: return k->rows->sparse ? of_rows(k->rows, ext) : dense;
    case TRA_K_OUTER: /* of two operands */
    case TRA_K_PACK:
    case TRA_K_PROGRAM:
    case TRA_K_THEN: break;
    }
    return dense;
}

/* Elements of the result that one of operand o of an element-wise kernel meets: where it is stretched. */
static int64_t stretched(const tra_dims *const *ext, int o) {
    const tra_dims *x = ext[o], *y = ext[!o];
    int64_t n = 1;
    for (int d = 1; d <= y->n; d++)
        if (d > x->n || x->v[x->n - d] == 1) n = tra_mul_most(n, y->v[y->n - d]);
    return n;
}

static tra_filled of_step2(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *in) {
    const tra_dims *ext[2] = {a, b};
    if (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED) return of_labels(k, ext, in);
    if (k->cls == TRA_K_ROWS && k->rows->extent == TRA_ROWS_TAKEN && k->rows->sparse)
        return (tra_filled){.sparse = true,
                            .share = in[0].share,
                            .bound = tra_mul_most(in[0].bound, k->rows->each),
                            .work = in[0].share};
    if (k->cls == TRA_K_ROWS && k->rows->sparse) return of_rows2(k->rows, a, b, &in[1]);
    if (k->cls == TRA_K_LAPACK || k->cls == TRA_K_ROWS || k->cls == TRA_K_TOP)
        return (tra_filled){.share = 1, .bound = INT64_MAX, .work = 1, .exact = true};
    if (tra_kernel_is_program(k)) return tra_program_filled(k, a, b, in);
    bool outer = k->cls == TRA_K_OUTER;
    int64_t meets[2];
    for (int o = 0; o < 2; o++) meets[o] = outer ? tra_elements_of(ext[!o]) : k->stretch ? stretched(ext, o) : 1;
    return combined(outer ? NULL : k->expr, in, 2, meets);
}

/* ---- kernels ------------------------------------------------------------------------------------------------- */

static tra_filled then(const tra_kernel *k, tra_dims at, tra_filled r) {
    double work = r.work;
    bool exact = r.exact && (!tra_kernel_rest(k) || work == 1);
    for (k = tra_kernel_rest(k); k; k = tra_kernel_rest(k)) {
        const tra_kernel *step = tra_kernel_first(k);
        tra_dims next;
        r = of_step1(step, &at, &r);
        tra_step_shape1(step, &at, &next);
        at = next;
    }
    r.work = work, r.exact = exact;
    return r;
}

bool tra_kernel_leads(const tra_kernel *k, int side, int rank) {
    if (k->cls == TRA_K_SCALAR) return true;
    bool labels = (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED) && rank <= k->rank[side] && rank <= k->nout;
    return labels && memcmp(k->in[side], k->out, (size_t)rank) == 0;
}

tra_filled tra_kernel_filled1(const tra_kernel *k, const tra_dims *ext, const tra_filled *in) {
    tra_dims at;
    tra_step_shape1(tra_kernel_first(k), ext, &at);
    return then(k, at, of_step1(tra_kernel_first(k), ext, in));
}

tra_filled tra_kernel_filled2(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled in[2]) {
    tra_dims at;
    tra_step_shape2(tra_kernel_first(k), a, b, &at);
    return then(k, at, of_step2(tra_kernel_first(k), a, b, in));
}

tra_filled tra_kernel_filled_agg(const tra_kernel *k, const tra_dims *ext, double terms, bool covered,
                                 const tra_filled *in) {
    const tra_kernel *agg = tra_kernel_first(k);
    tra_filled r = *in;
    r.work = in->share, r.exact = true;
    if (agg->cls != TRA_K_FOLD) r = (tra_filled){.share = 1, .bound = INT64_MAX, .work = in->share, .exact = true};
    fold(agg->fold, terms, &r);
    if (!covered && agg->fold != TRA_S_ADD && r.sparse) r.bound = INT64_MAX;
    r = then(k, *ext, r);
    r.exact = true; /* a map after it runs once for a group, which is not counted */
    return r;
}
