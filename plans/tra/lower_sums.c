/* lower_sums.c - sums of products: taken apart into terms and factors, and contracted two operands at a time. */
#include "lower_int.h"
#include "table_build.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void add_term(tra_lowering *w, term_list *p, const tra_scalar *e, double times) {
    TRA_ARENA_ROOM(w->b->arena, p->v, p->n, p->cap);
    p->v[p->n++] = (term){e, times};
}

static bool is_number(const tra_scalar *e) { return e->op == TRA_S_CONST; }

/* Is e divided by a number that is not 0? */
static bool by_number(const tra_scalar *e) { return e->op == TRA_S_DIV && is_number(e->b) && e->b->value != 0; }

static bool is_whole(const tra_scalar *e) { return tra_scalar_is_plain(e) && e->value == rint(e->value); }

/* Has e no operands of integers, and no comparisons? */
static bool is_of_floats(const tra_lowering *w, const tra_scalar *e) {
    if (!e || is_number(e)) return true;
    if (e->op == TRA_S_ARG) return tra_dtype_is_float(w->operand[e->arg].node->type.dtype);
    return !tra_scalar_has_own_type(e->op) && is_of_floats(w, e->a) && is_of_floats(w, e->b) && is_of_floats(w, e->c);
}

/* Finds the type of an expression of references, comparisons and numbers by + - * /; factors that are numbers may make
 * it wider. */
static bool type_of(const tra_lowering *w, const tra_scalar *e, tra_dtype *t) {
    tra_dtype x, y;
    if (is_number(e)) return *t = TRA_BOOL, true;
    if (e->op == TRA_S_ARG) return *t = w->operand[e->arg].node->type.dtype, true;
    if (tra_scalar_class_of(e->op) == TRA_SC_BOOL) return *t = TRA_BOOL, true;
    bool sum = e->op == TRA_S_ADD || e->op == TRA_S_SUB;
    if (!sum && e->op != TRA_S_MUL && e->op != TRA_S_DIV) return false;
    if (sum && ((is_number(e->a) && !is_whole(e->a)) || (is_number(e->b) && !is_whole(e->b)))) return false;
    if (!type_of(w, e->a, &x) || !type_of(w, e->b, &y)) return false;
    *t = tra_dtype_join(x, y);
    if (sum && *t == TRA_BOOL) *t = TRA_I32;
    if (e->op == TRA_S_DIV && !tra_dtype_is_float(*t)) *t = TRA_F64;
    return true;
}

void tra_lower_split_terms(tra_lowering *w, const tra_scalar *e, double times, term_list *out) {
    if (e->op == TRA_S_ADD || e->op == TRA_S_SUB) {
        tra_lower_split_terms(w, e->a, times, out);
        tra_lower_split_terms(w, e->b, e->op == TRA_S_ADD ? times : -times, out);
    } else if (e->op == TRA_S_NEG) {
        tra_lower_split_terms(w, e->a, -times, out);
    } else if (e->op == TRA_S_MUL && is_number(e->a)) {
        tra_lower_split_terms(w, e->b, times * e->a->value, out);
    } else if (e->op == TRA_S_MUL && is_number(e->b)) {
        tra_lower_split_terms(w, e->a, times * e->b->value, out);
    } else if (by_number(e)) {
        tra_lower_split_terms(w, e->a, times / e->b->value, out);
    } else if (is_number(e)) {
        add_term(w, out, NULL, times * e->value);
    } else {
        add_term(w, out, e, times);
    }
}

/* Takes e apart as a product: numbers are multiplied into *times, factors and divisors go to `above` and `below`. */
static void split_factors(tra_lowering *w, const tra_scalar *e, double *times, term_list *above, term_list *below) {
    if (e->op == TRA_S_MUL) {
        split_factors(w, e->a, times, above, below);
        split_factors(w, e->b, times, above, below);
    } else if (e->op == TRA_S_NEG) {
        *times = -*times;
        split_factors(w, e->a, times, above, below);
    } else if (by_number(e)) {
        *times /= e->b->value;
        split_factors(w, e->a, times, above, below);
    } else if (e->op == TRA_S_DIV && !is_number(e->b)) {
        split_factors(w, e->a, times, above, below);
        add_term(w, below, e->b, 1);
    } else if (is_number(e)) {
        *times *= e->value;
    } else {
        add_term(w, above, e, 1);
    }
}

/* The first factor that has all labels of the set, and whole elements if that is asked; the number of factors: none. */
static int factor_with(const tra_lowering *w, const term_list *f, uint64_t set, bool whole) {
    tra_dtype t;
    for (int i = 0; i < f->n; i++)
        if ((set & ~tra_lower_labels_of(w, f->v[i].e)) == 0 &&
            (!whole || (type_of(w, f->v[i].e, &t) && !tra_dtype_is_float(t))))
            return i;
    return f->n;
}

/* Is e f64 because a divisor of whole elements stands below a factor of such ones? place_divisors divides that first,
 * and all that follows is f64. */
static bool divides_whole(tra_lowering *w, const tra_scalar *e) {
    term_list f = {0}, below = {0};
    double times = 1;
    tra_dtype t;
    split_factors(w, e, &times, &f, &below);
    for (int i = 0; i < below.n; i++)
        if (type_of(w, below.v[i].e, &t) && !tra_dtype_is_float(t) &&
            factor_with(w, &f, tra_lower_labels_of(w, below.v[i].e), true) < f.n)
            return true;
    return false;
}

bool tra_lower_may_split(tra_lowering *w, const tra_scalar *e) {
    tra_dtype t;
    if (is_number(e)) return is_whole(e) || (!w->integers && !w->compares);
    if (is_of_floats(w, e)) return true;
    if (type_of(w, e, &t) && t == TRA_F64 && (!w->f32 || divides_whole(w, e))) return true;
    if (w->integers && w->f32) return false;
    switch (e->op) {
    case TRA_S_ARG: return true;
    case TRA_S_NEG: return tra_lower_may_split(w, e->a);
    case TRA_S_ADD:
    case TRA_S_SUB:
    case TRA_S_MUL: return tra_lower_may_split(w, e->a) && tra_lower_may_split(w, e->b);
    case TRA_S_DIV: return !w->f32 && !is_number(e->b) && tra_lower_may_split(w, e->a);
    default: return !w->f32;
    }
}

bool tra_lower_is_product(const tra_scalar *e) {
    if (e->op == TRA_S_MUL) return tra_lower_is_product(e->a) && tra_lower_is_product(e->b);
    if (e->op == TRA_S_NEG || by_number(e)) return tra_lower_is_product(e->a);
    return e->op == TRA_S_ARG || is_number(e);
}

/* Nodes for scale times the fold of a product of two or more arguments. Each of their labels is in out, or two of the
 * arguments have it. */
static tra_node *contract(tra_lowering *w, const term_list *f, tra_scalar_op fold, double scale,
                          const label_list *out) {
    int n = f->n, *arg = tra_news(w->b->arena, int, 2 * n);
    uint64_t *set = tra_news(w->b->arena, uint64_t, 2 * n), want = tra_lower_set_of(out->n, out->v);
    tra_merge *step = tra_news(w->b->arena, tra_merge, n);
    double *held = tra_news(w->b->arena, double, n);
    for (int i = 0; i < n; i++) {
        arg[i] = f->v[i].e->arg;
        set[i] = tra_lower_labels_of(w, f->v[i].e);
        held[i] = tra_type_held_share(&w->operand[arg[i]].node->type);
    }
    tra_order(n, set, want, w->extent, held, step);
    for (int i = 0;; i++) {
        int x = step[i].a, y = step[i].b;
        const tra_scalar *e = tra_scalar_of(w->b->arena, TRA_S_MUL, tra_scalar_argument(w->b->arena, arg[x]),
                                            tra_scalar_argument(w->b->arena, arg[y]));
        bool last = i == n - 2;
        uint64_t both = set[x] | set[y], need = want;
        set[x] = set[y] = 0;
        for (int j = 0; j < n + i; j++) need |= set[j];
        label_list keep = last ? *out : tra_lower_ordered(w, e, both & need);
        tra_node *node = tra_lower_apply(w, e, fold, last ? scale : 1, &keep);
        if (!node || last) return node;
        tra_operand z = {.node = node, .n = keep.n};
        memcpy(z.label, keep.v, (size_t)keep.n * sizeof z.label[0]);
        arg[n + i] = tra_lower_operand(w, &z);
        set[n + i] = both & need;
    }
}

/* Leaves in `below` the divisors that the sum as a whole can be divided by, whose labels are all in the set `want`.
 * Divides a factor that has all labels of the divisor by each of the others. With operands of f32 beside integers also
 * a factor of whole elements is divided: then all that follows is f64, as the quotient is. */
static void place_divisors(tra_lowering *w, uint64_t want, term_list *f, term_list *below) {
    int left = 0;
    for (int i = 0; i < below->n; i++) {
        const tra_scalar *d = below->v[i].e;
        uint64_t set = tra_lower_labels_of(w, d);
        int at = w->integers && w->f32 ? factor_with(w, f, set, true) : f->n;
        if ((set & ~want) == 0 && at == f->n) {
            below->v[left++] = below->v[i];
            continue;
        }
        if (at == f->n) at = factor_with(w, f, set, false);
        if (at == f->n) add_term(w, f, tra_scalar_number(w->b->arena, 1), 1);
        f->v[at].e = tra_scalar_of(w->b->arena, TRA_S_DIV, f->v[at].e, d);
    }
    below->n = left;
}

/* Makes one factor of those that are functions of the same two operands. It can be summed as it is computed, so that no
 * relation with the labels of both operands is made. */
static void merge_factors(tra_lowering *w, term_list *f) {
    int pair[2];
    for (int i = 0; i < f->n; i++) {
        if (!tra_lower_is_outer(w, f->v[i].e, pair)) continue;
        int left = 0, merged = -1;
        for (int j = 0; j < f->n; j++) {
            term x = f->v[j];
            if (merged >= 0 && tra_lower_has_only(x.e, pair)) {
                f->v[merged].e = tra_scalar_of(w->b->arena, TRA_S_MUL, f->v[merged].e, x.e);
                continue;
            }
            if (tra_lower_has_only(x.e, pair)) merged = left;
            f->v[left++] = x;
        }
        f->n = left;
        i = merged;
    }
}

tra_node *tra_lower_sum_product(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale,
                                const label_list *out) {
    term_list f = {0}, below = {0};
    uint64_t want = tra_lower_set_of(out->n, out->v);
    split_factors(w, e, &scale, &f, &below);
    place_divisors(w, want, &f, &below);
    merge_factors(w, &f);
    if (below.n) {                      /* divides the sum */
        const tra_scalar *q = f.v[0].e; /* the product, its sum, the quotient of that */
        for (int i = 1; i < f.n; i++) q = tra_scalar_of(w->b->arena, TRA_S_MUL, q, f.v[i].e);
        q = tra_lower_materialise(w, q, TRA_S_ADD, want);
        for (int i = 0; q && i < below.n; i++) q = tra_scalar_of(w->b->arena, TRA_S_DIV, q, below.v[i].e);
        return q ? tra_lower_reduce(w, q, TRA_S_ADD, scale, out) : NULL;
    }
    if (f.n == 1) return tra_lower_apply(w, f.v[0].e, fold, scale, out);
    uint64_t one = 0, two = 0; /* the labels that at least one factor has, and at least two */
    for (int i = 0; i < f.n; i++) {
        uint64_t set = tra_lower_labels_of(w, f.v[i].e);
        two |= one & set;
        one |= set;
    }
    for (int i = 0; i < f.n; i++) { /* folds each factor over the labels that no other one has */
        f.v[i].e = tra_lower_materialise(w, f.v[i].e, fold, want | two);
        if (!f.v[i].e) return NULL;
    }
    return contract(w, &f, fold, scale, out);
}

/* e, or the number 1 where it is NULL, times the numbers of rows that the labels of the set stand for, which only the
 * run counts. Over no rows it is 0, whatever e is. NULL after a diagnostic. */
static const tra_scalar *times_rows(tra_lowering *w, const tra_scalar *e, uint64_t set) {
    for (; set; set &= set - 1) {
        tra_node *count = tra_table_count_rows(w->b, w->span, w->rows[__builtin_ctzll(set)], w->type);
        if (!count) return NULL;
        const tra_scalar *n = tra_scalar_argument(w->b->arena, tra_lower_operand(w, &(tra_operand){.node = count}));
        e = !e ? n
               : tra_scalar_of3(w->b->arena, TRA_S_IF, n, tra_scalar_of(w->b->arena, TRA_S_MUL, n, e),
                                tra_scalar_number(w->b->arena, 0));
    }
    return e;
}

/* The sum of terms over the labels of `all` that are not in `want`, whose parts are intermediate results. */
static const tra_scalar *summed_terms(tra_lowering *w, const term_list *terms, uint64_t all, uint64_t want) {
    const tra_scalar *sum = NULL;
    for (int i = 0; i < terms->n; i++) {
        const tra_scalar *e = terms->v[i].e;
        double times = terms->v[i].times;
        uint64_t counted = 0;
        for (uint64_t rest = all & ~want & ~(e ? tra_lower_labels_of(w, e) : 0); rest; rest &= rest - 1) {
            int label = __builtin_ctzll(rest);
            if (w->rows[label])
                counted |= rest & -rest;
            else
                times *= (double)w->extent[label];
        }
        bool minus = sum && times < 0;
        if (minus) times = -times;
        if (e && !(e = tra_lower_materialise(w, e, TRA_S_ADD, want))) return NULL;
        if (counted && !(e = times_rows(w, e, counted))) return NULL;
        e = !e           ? tra_scalar_number(w->b->arena, times)
            : times == 1 ? e
                         : tra_scalar_of(w->b->arena, TRA_S_MUL, tra_scalar_number(w->b->arena, times), e);
        sum = sum ? tra_scalar_of(w->b->arena, minus ? TRA_S_SUB : TRA_S_ADD, sum, e) : e;
    }
    return sum;
}

tra_node *tra_lower_sum_terms(tra_lowering *w, const term_list *terms, uint64_t all, double scale,
                              const label_list *out) {
    const tra_scalar *sum = summed_terms(w, terms, all, tra_lower_set_of(out->n, out->v));
    return sum ? tra_lower_reduce(w, sum, TRA_S_ADD, scale, out) : NULL;
}

bool tra_lower_sums_branches(tra_lowering *w, const tra_scalar *e, uint64_t all, uint64_t want) {
    if (e->op != TRA_S_IF || (all & ~want & ~tra_lower_labels_of(w, e->a)) == 0) return false;
    return tra_lower_may_split(w, e->b) && tra_lower_may_split(w, e->c);
}

tra_node *tra_lower_sum_branches(tra_lowering *w, const tra_scalar *e, uint64_t all, double scale,
                                 const label_list *out) {
    const tra_scalar *branch[2] = {e->b, e->c};
    uint64_t keep = tra_lower_set_of(out->n, out->v) | tra_lower_labels_of(w, e->a);
    for (int i = 0; i < 2; i++) {
        term_list terms = {0};
        tra_lower_split_terms(w, branch[i], 1, &terms);
        branch[i] = summed_terms(w, &terms, all, keep);
        if (!branch[i]) return NULL;
    }
    return tra_lower_reduce(w, tra_scalar_of3(w->b->arena, TRA_S_IF, e->a, branch[0], branch[1]), TRA_S_ADD, scale,
                            out);
}

/* ---- conjunctions ------------------------------------------------------------------------------------------------ */

static bool has_two(const tra_scalar *e) {
    int v[3];
    return tra_lower_arguments(e, 0, v) > 1;
}

/* A bool that is true where e is not 0. */
static const tra_scalar *truth(tra_lowering *w, const tra_scalar *e) {
    tra_arena *a = w->b->arena;
    if (!has_two(e)) return tra_lower_is_bool(w, e) ? e : tra_scalar_of(a, TRA_S_NE, e, tra_scalar_number(a, 0));
    if (e->op == TRA_S_NE && tra_scalar_is_plain(e->b) && e->b->value == 0 && tra_lower_is_bool(w, e->a))
        return truth(w, e->a);
    if (e->op == TRA_S_AND || (e->op == TRA_S_MUL && tra_lower_is_bool(w, e)))
        return tra_scalar_of(a, TRA_S_MUL, truth(w, e->a), truth(w, e->b));
    return tra_lower_is_bool(w, e) ? e : tra_scalar_of(a, TRA_S_NE, e, tra_scalar_number(a, 0));
}

/* e with `and` as products: of factors and terms, wherever they stand. */
static const tra_scalar *as_products(tra_lowering *w, const tra_scalar *e) {
    bool adds = e->op == TRA_S_ADD || e->op == TRA_S_SUB || e->op == TRA_S_MUL || e->op == TRA_S_NEG;
    if (e->op == TRA_S_AND || e->op == TRA_S_NE) return has_two(e) && tra_lower_is_bool(w, e) ? truth(w, e) : e;
    if (!adds || !has_two(e)) return e;
    return tra_scalar_of(w->b->arena, e->op, as_products(w, e->a), e->b ? as_products(w, e->b) : NULL);
}

const tra_scalar *tra_lower_conjunctions(tra_lowering *w, const tra_einsum *s) {
    bool folds = s->fold == TRA_S_MAX ? tra_lower_is_bool(w, s->expr) : s->fold == TRA_S_ADD;
    return folds && s->nlabels > s->nout ? as_products(w, s->expr) : s->expr;
}
