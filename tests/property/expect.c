/* expect.c - what a program must give: the reference's results, and how far a right answer may be from them.
 *
 * Where all values are small integers that no order of summation can round, a right answer is exactly the reference's.
 * Elsewhere the tolerance is measured: the reference runs again with every result of every operator disturbed by a few
 * thousand roundings, and what that does to an element, scaled back, is what roundings may do to it; and by a few dozen
 * roundings, of which the effect counts as it is: a comparison may fall the other way.
 *
 * A plan may compute any of the expressions that the rules make of the program. So all of them are evaluated: they must
 * agree, and what roundings may do in any of them is allowed. */
#include "property.h"

#include "../../lib/kernel/program.h"
#include "../../plans/reference/reference_int.h"
#include "../../plans/rules/rules.h"

#include <math.h>
#include <string.h>

enum { RUNS = 3, SMALL_RUNS = 2 };
static const double AMPLIFY = 4096, SMALL = 64; /* how large disturbances are, in units of rounding */

/* ---- small integers ----------------------------------------------------------------------------------------- */

/* A bound on the magnitude of s and of everything inside it, given bounds of the arguments; infinity where s may leave
 * the integers. */
static double scalar_bound(const tra_scalar *s, const double *args) {
    double a = s->a ? scalar_bound(s->a, args) : 0, b = s->b ? scalar_bound(s->b, args) : 0;
    double c = s->c ? scalar_bound(s->c, args) : 0;
    if (isinf(a) || isinf(b) || isinf(c)) return INFINITY;
    switch (s->op) {
    case TRA_S_CONST: return s->value == rint(s->value) ? fabs(s->value) : INFINITY;
    case TRA_S_ARG: return args[s->arg];
    case TRA_S_ADD:
    case TRA_S_SUB: return a + b;
    case TRA_S_MUL: return fmax(fmax(a, b), a * b);
    case TRA_S_POW:
        if (s->b->op != TRA_S_CONST || s->b->value != rint(s->b->value) || s->b->value < 0) return INFINITY;
        return fmax(fmax(1, a), pow(a, s->b->value));
    case TRA_S_LT:
    case TRA_S_LE:
    case TRA_S_GT:
    case TRA_S_GE:
    case TRA_S_EQ:
    case TRA_S_NE:
    case TRA_S_AND:
    case TRA_S_OR:
    case TRA_S_NOT:
    case TRA_S_ISNAN:
    case TRA_S_ISINF:
    case TRA_S_SIGN: return fmax(1, fmax(a, b));
    case TRA_S_IF: return fmax(a, fmax(b, c));
    case TRA_S_IDIV:
    case TRA_S_MOD:
    case TRA_S_MAX:
    case TRA_S_MIN: return fmax(a, b);
    case TRA_S_NEG:
    case TRA_S_ABS:
    case TRA_S_FLOOR:
    case TRA_S_CEIL:
    case TRA_S_ROUND:
    case TRA_S_TRUNC:
    case TRA_S_RELU: return a;
    default: return INFINITY;
    }
}

static bool among(const char *name, const char *words) {
    char w[64];
    snprintf(w, sizeof w, " %s ", name);
    return strstr(words, w) != NULL;
}

/* The same for a kernel: a, b bounds of the operands' elements (b 0: none), n at least the terms of any sum in it. */
static double kernel_bound(const tra_kernel *k, double a, double b, double n) {
    if (tra_kernel_rest(k)) return kernel_bound(tra_kernel_rest(k), kernel_bound(tra_kernel_first(k), a, b, n), 0, n);
    tra_kernel_desc d = tra_kernel_describe(k);
    if (isinf(a) || isinf(b)) return INFINITY;
    double terms = n * fmax(1, a) * fmax(1, b);
    if (d.scalar || d.einsum) { /* aligned: the function of the elements, then the reduction */
        double one = d.scalar ? scalar_bound(d.scalar, (double[]){a, b}) : fmax(1, a) * fmax(1, b);
        if (!d.einsum || d.fold == TRA_S_MAX || d.fold == TRA_S_MIN) return one;
        return d.fold == TRA_S_MUL ? pow(fmax(1, one), n) : n * one;
    }
    if (among(d.name, " matmul rowsum colsum ")) return terms;
    if (among(d.name, " matadd matsub matvecadd matvecsub ")) return fmax(a + b, terms);
    if (among(d.name, " elemmul matvecmul outer square ")) return fmax(a * fmax(b, a), terms);
    if (!strcmp(d.name, "scale")) return d.arg == rint(d.arg) ? a * fmax(1, fabs(d.arg)) : INFINITY;
    if (among(d.name, " elemmax elemmin neg abs relu floor ceil round trunc transpose diag rowmax rowmin topk leastk "))
        return fmax(a, b);
    if (among(d.name, " relu_grad sign isnan isinf ")) return fmax(a, 1);
    return INFINITY;
}

/* The largest magnitude, infinities and NaN aside; infinity when not all are integers. */
static double largest(const tra_ref_rel *r) {
    double m = 0;
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < elements_of(&r->v[i].ext); j++) {
            double v = (double)r->v[i].data[j];
            if (!isfinite(v)) continue;
            if (v != rint(v)) return INFINITY;
            m = fmax(m, fabs(v));
        }
    return m;
}

static double largest_array(const tra_ref_rel *r) {
    double m = 1;
    for (int64_t i = 0; i < r->n; i++) m = fmax(m, (double)elements_of(&r->v[i].ext));
    return m;
}

static bool is_exact(const tra_node *n, const expected *x) {
    const tra_ref_rel *r = x->v[n->id],
                      *in[2] = {n->in[0] ? x->v[n->in[0]->id] : NULL, n->in[1] ? x->v[n->in[1]->id] : NULL};
    double m = largest(r), terms = 1;
    for (int i = 0; i < 2; i++) {
        if (n->in[i] && !x->exact[n->in[i]->id]) return false;
        if (in[i]) terms *= largest_array(in[i]);
    }
    if (n->op == TRA_OP_AGG) {
        tra_kernel_desc d = tra_kernel_describe(tra_kernel_first(n->kernel));
        double a = largest(in[0]), tuples = (double)tra_max64(1, in[0]->n);
        if (among(d.name, " minindex maxindex ")) return !tra_kernel_rest(n->kernel);
        if (!strcmp(d.name, "elemmul")) a = pow(fmax(1, a), tuples);
        m = fmax(m, tra_kernel_rest(n->kernel) ? kernel_bound(tra_kernel_rest(n->kernel), a * tuples, 0, terms)
                                               : a * tuples);
    } else if (n->kernel) {
        m = fmax(m, kernel_bound(n->kernel, largest(in[0]), in[1] ? largest(in[1]) : 0, terms));
    }
    if (!ref_is_float(r->dtype)) return isfinite(m); /* integers of which no part was ever rounded */
    return m < (r->dtype == TRA_F32 ? 0x1p24 : 0x1p53);
}

/* ---- tolerances --------------------------------------------------------------------------------------------- */

static double disturbance(rng *g, double by) { /* a factor; at least half of what it may be */
    double u = (double)(int64_t)(rng_next(g) >> 11) * 0x1p-52 - 1;
    return 1 + by * (u < 0 ? u - 1 : u + 1) / 2;
}

static double eps_of(const tra_ref_rel *r) {
    return !ref_is_float(r->dtype) ? 0 : r->dtype == TRA_F32 ? 0x1p-23 : 0x1p-52;
}

/* signs: zeros get a random sign, since sums may begin with a 0 or not. */
static void disturb(rng *g, double by, bool signs, tra_ref_rel *r) {
    for (int64_t i = 0; i < r->n && ref_is_float(r->dtype); i++)
        for (int64_t j = 0; j < elements_of(&r->v[i].ext); j++) {
            ref_num *v = &r->v[i].data[j];
            *v = *v == 0 && signs ? (rng_chance(g, 50) ? 0.0 : -0.0) : *v * disturbance(g, by);
        }
}

/* Disturbs the literals of a function, which stands for the roundings inside it. */
static const tra_scalar *disturb_scalar(rng *g, const tra_scalar *s, double by, tra_arena *a) {
    if (!s) return NULL;
    tra_scalar *t = tra_new(a, tra_scalar);
    *t = *s;
    t->a = disturb_scalar(g, s->a, by, a);
    t->b = disturb_scalar(g, s->b, by, a);
    t->c = disturb_scalar(g, s->c, by, a);
    if (s->op == TRA_S_CONST) t->value *= disturbance(g, by);
    return t;
}

/* The kernel; if it is a function of elements, with that disturbed. */
static tra_status disturb_kernel(rng *r, const tra_node *n, double by, tra_arena *a, const tra_kernel **out,
                                 tra_err *e) {
    static const char *const names[] = {"x", "y"};
    *out = n->kernel;
    if (!n->kernel || tra_kernel_rest(n->kernel)) return TRA_OK;
    tra_kernel_desc d = tra_kernel_describe(n->kernel);
    const tra_scalar *s = disturb_scalar(r, d.scalar, by, a);
    if (s && d.einsum) return tra_kernel_aligned(a, d.einsum, s, d.fold, names, out, e);
    if (s) *out = tra_kernel_lambda(a, s, n->op == TRA_OP_JOIN ? 2 : 1, names);
    return TRA_OK;
}

/* The value of an input: that of any expression of its group, in this run or the one before. Without a memo: the
 * node's.
 */
static const tra_ref_rel *pick(const tra_memo *m, rng *r, const tra_node *in, tra_ref_rel *const *v,
                               const tra_ref_rel *const *before) {
    if (!in) return NULL;
    int i = in->id;
    if (m) {
        const tra_memo_group *g = &m->group[tra_memo_find(m, m->v[i]->group)];
        i = g->expr[rng_below(r, g->n)];
    }
    return v[i] ? v[i] : before[i];
}

static tra_status disturbed(const tra_graph *g, const tra_memo *m, rng *r, double amplify, const expected *x,
                            tra_arena *a, tra_ref_rel **v, const tra_ref_rel *const *before, tra_err *e) {
    for (int i = 0; i < g->n; i++) v[i] = NULL;
    for (int i = 0; i < g->n; i++) {
        tra_node n = *g->v[i];
        const tra_ref_rel *in[2];
        for (int j = 0; j < 2; j++) in[j] = pick(m, r, n.in[j], v, before);
        v[i] = tra_new(a, tra_ref_rel);
        double eps = eps_of(x->v[i]); /* of a function of f32 alone inside a result of f64, too */
        for (int j = 0; j < 2; j++)
            if (in[j]) eps = fmax(eps, eps_of(in[j]));
        if (!x->exact[i]) TRA_TRY(disturb_kernel(r, g->v[i], amplify * eps, a, &n.kernel, e));
        TRA_TRY(tra_reference_apply(&n, in[0], in[1], a, v[i], e));
        if (v[i]->dtype != x->v[i]->dtype) { /* a disturbed integer is no integer any more */
            n.kernel = g->v[i]->kernel;
            TRA_TRY(tra_reference_apply(&n, in[0], in[1], a, v[i], e));
        }
        /* what only moves values rounds nothing, and may share its arrays with its operand */
        bool moves = n.op != TRA_OP_INPUT && n.op != TRA_OP_JOIN && n.op != TRA_OP_AGG && n.op != TRA_OP_TRANSFORM;
        if (!moves && !x->exact[i]) disturb(r, amplify * eps, (m ? m->g : g)->neinsums > 0, v[i]);
    }
    return TRA_OK;
}

static bool same_kind(double a, double b) { return isnan(a) == isnan(b) && isinf(a) == isinf(b); }

/* Raises tolerances to `times` the effect of a disturbance: that on each element, or (all) the largest on any element
 * of its array, where an element may have stayed the same by chance. */
static void widen(const tra_ref_rel *r, const tra_ref_rel *other, double times, bool all, double **tol) {
    for (int64_t i = 0; i < r->n; i++) {
        double most = 0;
        int64_t n = elements_of(&r->v[i].ext);
        for (int64_t j = 0; j < n; j++) {
            double a = (double)r->v[i].data[j], b = (double)other->v[i].data[j];
            double d = !same_kind(a, b) ? INFINITY : a == b || isnan(a) ? 0 : times * fabs(a - b);
            tol[i][j] = fmax(tol[i][j], d);
            if (isfinite(d)) most = fmax(most, d);
        }
        for (int64_t j = 0; j < n && all; j++) tol[i][j] = fmax(tol[i][j], most);
    }
}

/* Makes tolerances of the largest effects: an element that changed little by chance gets a share of its neighbours'. */
static void scale(const tra_ref_rel *r, double **tol) {
    double eps = eps_of(r);
    for (int64_t i = 0; i < r->n; i++) {
        double most = 0;
        int64_t n = elements_of(&r->v[i].ext);
        for (int64_t j = 0; j < n; j++)
            if (isfinite(tol[i][j])) most = fmax(most, tol[i][j]);
        for (int64_t j = 0; j < n; j++)
            tol[i][j] =
                tol[i][j] + most / 16 + 16 * eps * (isfinite(r->v[i].data[j]) ? fabs((double)r->v[i].data[j]) : 0);
    }
}

static bool is_finite(const tra_ref_rel *r) {
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < elements_of(&r->v[i].ext); j++)
            if (!isfinite(r->v[i].data[j])) return false;
    return true;
}

/* ---- tensor statements ------------------------------------------------------------------------------------------ */

static const tra_tensor *tensor_of(const tra_graph *g, const tra_node *n) {
    for (int i = 0; i < g->ntensors; i++)
        if (g->tensors[i].node == n) return &g->tensors[i];
    return NULL;
}

static bool has_programs(const tra_graph *g) {
    for (int i = 0; i < g->n; i++)
        if (g->v[i]->kernel && tra_kernel_is_program(g->v[i]->kernel)) return true;
    return false;
}

/* By what the statements that are drawn compute: sums over all elements of products of three of them and a position. */
static bool is_exact_program(const tra_tensor *t, const tra_node *n, const expected *x) {
    double m = 4, elements = 1;
    for (int i = 0; i < t->n; i++) {
        if (!t->relation[i]) continue;
        int id = t->relation[i]->id;
        if (!x->exact[id]) return false;
        m = fmax(m, largest(x->v[id]));
        double all = 0;
        for (int64_t k = 0; k < x->v[id]->n; k++) all += (double)elements_of(&x->v[id]->v[k].ext);
        elements *= fmax(all, 1);
    }
    return elements * elements * m * m * m < (n->type.dtype == TRA_F32 ? 0x1p24 : 0x1p53);
}

/* Makes all tolerances infinite, where it is not known how far plans may be from the program: then keys and extents are
 * compared, but no values. all: also where all values are small integers. */
static void leave_open(const tra_graph *g, bool all, expected *out) {
    for (int i = 0; i < g->n; i++) {
        if (out->exact[i] && !all) continue;
        out->exact[i] = false;
        for (int64_t t = 0; out->v[i] && t < out->v[i]->n; t++)
            for (int64_t j = 0, n = elements_of(&out->v[i]->v[t].ext); j < n; j++) out->tol[i][t][j] = INFINITY;
    }
}

/* ---- measuring -------------------------------------------------------------------------------------------------- */

/* m: the memo whose expressions g has, so that each may take its inputs from any equal expression; NULL: there is none.
 */
static tra_status measure(const tra_graph *g, const tra_memo *m, uint64_t seed, tra_arena *a, expected *out,
                          tra_err *e) {
    out->tol = tra_news(a, double **, g->n);
    out->exact = tra_news(a, bool, g->n);
    TRA_TRY(tra_reference_run(g, true, a, &out->v, e));
    bool all = !m, finite = true;
    out->finite = true;
    for (int i = 0; i < g->n; i++) out->finite = out->finite && (!out->v[i] || is_finite(out->v[i]));
    finite = out->finite || !g->neinsums;
    for (int i = 0; i < g->n; i++) {
        const tra_ref_rel *r = out->v[i];
        const tra_tensor *t = tensor_of(g, g->v[i]);
        if (!r) continue; /* an operator that only a program has */
        out->exact[i] = finite && (t ? is_exact_program(t, g->v[i], out) : is_exact(g->v[i], out));
        all = all && out->exact[i];
        out->tol[i] = tra_news(a, double *, r->n);
        for (int64_t t = 0; t < r->n; t++) out->tol[i][t] = tra_news(a, double, elements_of(&r->v[t].ext));
        TRA_TRY(tra_reference_matches(r, &g->v[i]->type, e));
    }
    if (!m && has_programs(g)) return leave_open(g, false, out), TRA_OK;
    rng r = rng_seed(seed, 77);
    const tra_ref_rel *const *before = out->v;
    for (int run = 0; run < RUNS + SMALL_RUNS && !all; run++) {
        bool small = run >= RUNS;
        tra_ref_rel **v = tra_news(a, tra_ref_rel *, g->n);
        if (run == RUNS) before = out->v;
        TRA_TRY(disturbed(g, m, &r, small ? SMALL : AMPLIFY, out, a, v, before, e));
        for (int i = 0; i < g->n; i++) widen(out->v[i], v[i], small ? 4 : 256 / AMPLIFY, small, out->tol[i]);
        before = (const tra_ref_rel *const *)v;
    }
    for (int i = 0; i < g->n; i++)
        if (!out->exact[i]) scale(out->v[i], out->tol[i]);
    return TRA_OK;
}

/* Checks that expression i gives what the first one of its group gives. reordered: a sum of products is in another
 * order, in which an infinity may meet another infinity or a zero, and so become NaN. */
static tra_status same_value(const tra_memo *m, int first, int i, bool reordered, const expected *x, tra_err *e) {
    const tra_ref_rel *r = x->v[first], *q = x->v[i];
    for (int64_t t = 0; t < r->n; t++)
        for (int64_t j = 0, n = elements_of(&r->v[t].ext); j < n; j++) {
            ref_num v = q->v[t].data[j], w = r->v[t].data[j];
            double tol = x->tol[first][t][j] + x->tol[i][t][j];
            char key[TRA_DIMTEXT];
            if (close_enough(v, w, tol) || (reordered && !(isfinite(v) && isfinite(w)))) continue;
            tra_str how = {0};
            tra_node_print(&m->v[i]->node, &how);
            tra_str_printf(&how, " by %s for ", m->v[i]->rule ? m->v[i]->rule->name : "congruence");
            tra_node_print(&m->v[first]->node, &how);
            tra_status s = tra_fail(e, TRA_NO, "%s: element %" PRId64 " of %s is %.19Lg, not %.19Lg (tolerance %g)",
                                    tra_str_get(&how), j, tra_key_text(&r->v[t].key, key), v, w, tol);
            tra_str_free(&how);
            return s;
        }
    return TRA_OK;
}

enum {
    MOST_WORK = 4000000
}; /* operations and elements that the reference, which is slow, may take for all expressions */

/* About the work of all expressions, which the reference evaluates one after the other, keeping their results. */
static double work_of(const tra_memo *m) {
    double all = 0;
    for (int i = 0; i < m->n; i++) {
        const tra_node *n = &m->v[i]->node;
        const tra_dims *l = n->in[0] ? &n->in[0]->type.cat->bound : NULL,
                       *r = n->in[1] ? &n->in[1]->type.cat->bound : l;
        tra_dims out;
        tra_err none = {0};
        bool joins = n->op == TRA_OP_JOIN && tra_kernel_shape2(n->kernel, l, r, l, r, &out, NULL, &none) == TRA_OK;
        if (joins) all += tra_kernel_flops(n->kernel, TRA_USE_JOIN, l, r) * (double)n->type.cat->n;
        all += (double)tra_catalog_elements(n->type.cat);
    }
    return all;
}

/* Measures with all expressions that the rules make of the program. */
static tra_status measure_rewritten(const tra_graph *g, uint64_t seed, tra_arena *a, expected *out, tra_err *e) {
    tra_refusals refusals = {0};
    tra_memo *m = tra_memo_new(g, a);
    tra_rules_apply(m, NULL, 0, &refusals);
    if (work_of(m) > MOST_WORK) return leave_open(g, true, out), TRA_OK;
    tra_graph all = {.arena = a, .n = m->n, .v = tra_news(a, tra_node *, m->n)};
    expected x;
    bool reordered = false;
    for (int i = 0; i < m->n; i++) {
        all.v[i] = &m->v[i]->node;
        reordered = reordered || (m->v[i]->rule && strcmp(m->v[i]->rule->name, "D-2") == 0);
    }
    TRA_TRY(measure(&all, m, seed, a, &x, e));
    for (int i = 0; i < m->n; i++) {
        int first = m->group[tra_memo_find(m, m->v[i]->group)].expr[0];
        if (first < i) TRA_TRY(same_value(m, first, i, reordered, &x, e));
    }
    for (int i = 0; i < g->n; i++) {
        if (m->of_node[i] < 0) continue;
        int group = tra_memo_find(m, m->v[m->of_node[i]]->group);
        for (int k = 0; k < m->n; k++) {
            if (tra_memo_find(m, m->v[k]->group) != group) continue;
            out->exact[i] = out->exact[i] && x.exact[k];
            for (int64_t t = 0; t < x.v[k]->n; t++)
                for (int64_t j = 0, n = elements_of(&x.v[k]->v[t].ext); j < n; j++) {
                    bool same = same_kind((double)x.v[k]->v[t].data[j],
                                          (double)out->v[i]->v[t].data[j]); /* same_value accepts both values */
                    out->tol[i][t][j] = fmax(out->tol[i][t][j], same ? x.tol[k][t][j] : INFINITY);
                }
        }
    }
    return TRA_OK;
}

static bool overflowed(tra_status s, const tra_err *e) { return s == TRA_INPUT && e->kind == TRA_KIND_OVERFLOW; }

/* Can there be a plan that never computes the integer that does not fit? Products that are added up at once are not
 * stored, those of a statement may be taken in another order, and what a filter or slice drops need not be computed. */
static bool may_get_by(const tra_graph *g) {
    bool may = false;
    for (int i = 0; i < g->neinsums; i++) may = may || g->einsums[i]->nrefs > 1;
    for (int i = 0; i < g->n; i++)
        may = may || g->v[i]->op == TRA_OP_FILTER || (g->v[i]->op == TRA_OP_REPART && g->v[i]->slice.extent.n > 0) ||
              (g->v[i]->op == TRA_OP_JOIN && (tra_kernel_props(g->v[i]->kernel) & TRA_P_CONTRACTION));
    return may;
}

tra_status expect(const tra_graph *g, uint64_t seed, tra_arena *a, expected *out, tra_err *e) {
    tra_err misfit = {0};
    tra_status s = tra_reference_run(g, false, a, &out->v, &misfit);
    *out = (expected){.v = out->v, .overflow = overflowed(s, &misfit), .may = may_get_by(g)};
    if (out->overflow) return TRA_OK;
    s = measure(g, NULL, seed, a, out, &misfit);
    if (overflowed(s, &misfit)) { /* perhaps only when its inputs were disturbed */
        out->v = NULL;
        return tra_fail(e, TRA_NO, "an intermediate result of a statement does not fit");
    }
    for (int i = 0; i < g->n && s == TRA_OK; i++) out->loose = out->loose || (out->v[i] && out->v[i]->loose);
    if (s == TRA_OK && has_programs(g)) return TRA_OK; /* the rules do not rewrite these */
    if (s == TRA_OK) s = measure_rewritten(g, seed, a, out, &misfit);
    if (s == TRA_OK || (overflowed(s, &misfit) && out->loose)) return TRA_OK;
    *e = misfit;
    return s;
}
