/* type_within.c - entries that lie where those of another relation do, as of what is computed under a mask: estimates
 * do not take the places of both to be independent. */
#include "type.h"

#include <math.h>

static tra_within within_of(const tra_type *t) {
    const tra_entries *e = t->entries;
    double n = (double)tra_catalog_elements(t->cat);
    if (!t->sparse || !e || n == 0) return (tra_within){NULL, 0, 0};
    if (e->within.of) return e->within;
    return (tra_within){e->of ? (const void *)e->of : e, t->cat->bound.n, (double)e->all.expected / n};
}

/* Where the entries of an operand of a join lie, if their labels there are the first ones of the result. */
static tra_within of_operand(const tra_node *n, int side) {
    const tra_type *t = &n->in[side]->type;
    tra_within w = within_of(t);
    bool leads = w.of && tra_kernel_leads(n->kernel, side, w.rank);
    if (leads && !tra_kernel_describe(n->kernel).einsum) leads = t->cat->bound.n == n->type.cat->bound.n;
    return leads ? w : (tra_within){NULL, 0, 0};
}

/* Is the result of a join 0 wherever that operand is? */
static bool annihilates(const tra_node *n, int side) {
    return n->in[side]->type.sparse && tra_kernel_sparse(n->kernel, TRA_USE_JOIN, side == 0, side == 1);
}

void tra_within_shares(const tra_node *n, tra_filled *in) {
    tra_within w = of_operand(n, 0), v = of_operand(n, 1);
    if (!w.of || w.of != v.of || w.share <= 0) return;
    int other = annihilates(n, 0) ? 1 : 0;
    if (other || annihilates(n, 1)) in[other].share = fmin(1, in[other].share / w.share);
}

/* Does an aggregation fold what lies in another relation, whose dimensions all stay? */
static bool folds_within(const tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    tra_dims from, to;
    if (!x->entries || !x->entries->within.of || !x->cat->grid || !n->type.cat->grid) return false;
    tra_type_shape(x, &from);
    tra_type_shape(&n->type, &to);
    return tra_dims_eq(&from, &to);
}

static tra_within within(const tra_node *n) {
    const tra_within none = {NULL, 0, 0}, in = within_of(&n->in[0]->type);
    tra_within w = none, v = none;
    switch (n->op) {
    case TRA_OP_JOIN:
        w = of_operand(n, 0), v = of_operand(n, 1);
        if (w.of && (w.of == v.of || annihilates(n, 0))) return w;
        return v.of && annihilates(n, 1) ? v : none;
    case TRA_OP_AGG: return folds_within(n) ? in : none;
    case TRA_OP_TRANSFORM: return tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE ? in : none;
    case TRA_OP_REPART: return n->slice.origin.n == 0 ? in : none;
    case TRA_OP_INPUT:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT: break;
    }
    return none;
}

void tra_within_set(tra_arena *a, tra_node *n) {
    tra_within w = within(n);
    if (!w.of || !n->type.entries || n->type.entries->of) return;
    tra_entries *e = tra_new(a, tra_entries);
    *e = *n->type.entries;
    e->within = w;
    if (w.rank == n->type.cat->bound.n) {
        double most = w.share * (double)tra_catalog_elements(n->type.cat);
        e->all = tra_size_about(fmin((double)e->all.expected, most), e->all.bound);
    }
    n->type.entries = e;
}
