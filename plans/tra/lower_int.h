/* lower_int.h - what the files of the lowering share: lower.c (any expression), and lower_sums.c (sums of products). */
#ifndef TRA_LOWER_INT_H
#define TRA_LOWER_INT_H

#include "lower.h"

#include "order.h"

/* A list of labels in order. */
typedef struct labels {
    int n, v[TRA_MAXLABELS];
} labels;

/* Terms or factors. */
typedef struct parts {
    int n, cap;
    struct part {
        const tra_scalar *e; /* NULL: a number alone */
        double times;
    } * v;
} parts;

/* May the sum of e be computed term by term, and numbers be taken out of products? For floating types yes, since only
 * roundings change. Integers must come out exactly and in the type of the expression as it is written: so only whole
 * numbers may be taken out, and not one that divides. With operands of f32 no, where the type of a product would depend
 * on which factors meet first. Comparisons and functions count as operands. */
bool tra_lower_comes_apart(const tra_lowering *w, const tra_scalar *e);
/* Writes `times` times e as a sum of terms, each with a number before it, and appends them to out. */
void tra_lower_split_terms(tra_lowering *w, const tra_scalar *e, double times, parts *out);
/* Is e a product of references and numbers alone? */
bool tra_lower_is_product(const tra_scalar *e);
/* Nodes for scale times the sum of a term e over its labels that are not in out; e has all labels of out. */
tra_node *tra_lower_sum_product(tra_lowering *w, const tra_scalar *e, double scale, const labels *out);
/* Nodes for the sum of several terms over the labels of the set `all` that are not in out. A term that lacks some of
 * these labels counts once for every value of them. */
tra_node *tra_lower_sum_terms(tra_lowering *w, const parts *terms, uint64_t all, double scale, const labels *out);
uint64_t tra_lower_set_of(int n, const int *v);
uint64_t tra_lower_labels_of(const tra_lowering *w, const tra_scalar *e);
/* Is e a function of two operands (put into pair), neither of which has all its labels? As a relation of its own it
 * would be larger than both. */
bool tra_lower_meets(const tra_lowering *w, const tra_scalar *e, int pair[2]);
/* Has e no operands but these? */
bool tra_lower_is_of(const tra_scalar *e, const int pair[2]);
/* The labels of `set`, in the order of the widest operand, then as they were first written. */
labels tra_lower_natural(const tra_lowering *w, const tra_scalar *e, uint64_t set);
/* Makes nodes for e, summed over its labels that are not in `keep`, and returns the argument that stands for the
 * result; NULL after a diagnostic. */
const tra_scalar *tra_lower_materialise(tra_lowering *w, const tra_scalar *e, uint64_t keep);
tra_node *tra_lower_apply(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale, const labels *out);
/* Nodes for scale times the fold of e over its labels that are not in out. */
tra_node *tra_lower_eval(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale, const labels *out);

#endif
