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

/* May the sum of e be taken apart? Where all is of floating types it may, but for roundings. Integers must come out as
 * written, and of the type that is written: whole numbers alone go with them, and a number that divides stays where it
 * is. Comparisons and functions are like operands; beside f32 the type of a product depends on which factors meet. */
bool tra_lower_comes_apart(const tra_lowering *w, const tra_scalar *e);
/* e as a sum of terms with numbers before them. */
void tra_lower_split_terms(tra_lowering *w, const tra_scalar *e, double times, parts *out);
/* A product of references and numbers. */
bool tra_lower_is_product(const tra_scalar *e);
/* scale times the sum of a term e that has labels besides those of out, and these. */
tra_node *tra_lower_sum_product(tra_lowering *w, const tra_scalar *e, double scale, const labels *out);
/* The sum of several terms: each is summed over its own labels, and counts once for every value of the others. */
tra_node *tra_lower_sum_terms(tra_lowering *w, const parts *terms, uint64_t all, double scale, const labels *out);
uint64_t tra_lower_set_of(int n, const int *v);
const tra_scalar *tra_lower_make(tra_lowering *w, tra_scalar_op op, const tra_scalar *a, const tra_scalar *b);
const tra_scalar *tra_lower_number(tra_lowering *w, double v);
const tra_scalar *tra_lower_argument(tra_lowering *w, int i);
uint64_t tra_lower_labels_of(const tra_lowering *w, const tra_scalar *e);
/* Is e a function of two operands (put into pair), neither of which has all its labels? As a relation of its own it
 * would be larger than both. */
bool tra_lower_meets(const tra_lowering *w, const tra_scalar *e, int pair[2]);
/* Has e no operands but these? */
bool tra_lower_is_of(const tra_scalar *e, const int pair[2]);
/* The labels of `set`, in the order of the widest operand, then as they were first written. */
labels tra_lower_natural(const tra_lowering *w, const tra_scalar *e, uint64_t set);
/* The value of e, reduced by sum to those of its labels that `keep` has, as an argument; NULL after a diagnostic. */
const tra_scalar *tra_lower_materialise(tra_lowering *w, const tra_scalar *e, uint64_t keep);
tra_node *tra_lower_apply(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale, const labels *out);
/* scale times the fold of e. */
tra_node *tra_lower_eval(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale, const labels *out);

#endif
