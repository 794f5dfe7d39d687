/* lower_int.h - what the files of the lowering share: lower.c (any expression), and lower_sums.c (sums of products).
 *
 * In all of it e is an expression over the operands of w, its labels are those of these operands, and sets of labels
 * are bits. What makes nodes returns NULL after a diagnostic. */
#ifndef TRA_LOWER_INT_H
#define TRA_LOWER_INT_H

#include "lower.h"

#include "order.h"

/* A list of labels in order. */
typedef struct label_list {
    int n, v[TRA_MAXLABELS];
} label_list;

/* An expression times a number. */
typedef struct term {
    const tra_scalar *e; /* NULL: the number alone */
    double times;
} term;

/* The terms of a sum, or the factors of a product. */
typedef struct term_list {
    int n, cap;
    term *v;
} term_list;

/* ---- expressions ----------------------------------------------------------------------------------------------- */

/* May the sum of e be computed term by term, and numbers be taken out of products? For floating types yes, since only
 * roundings change. Integers must come out exactly and in the type of the expression as it is written: so only whole
 * numbers without a point may be taken out, and not one that divides, unless the product is f64 anyway. With operands
 * of f32 beside integers only such a product whose first step is f64, since otherwise its type would depend on which
 * factors meet first. Comparisons and functions count as operands. */
bool tra_lower_may_split(tra_lowering *w, const tra_scalar *e);
/* Writes `times` times e as a sum of terms and appends these to out. */
void tra_lower_split_terms(tra_lowering *w, const tra_scalar *e, double times, term_list *out);
/* Is e a product of references and numbers alone? */
bool tra_lower_is_product(const tra_scalar *e);
uint64_t tra_lower_set_of(int n, const int *v); /* the set of n labels */
uint64_t tra_lower_labels_of(const tra_lowering *w, const tra_scalar *e);
/* Is e 0 where operands of sparse type are; where operand `only` alone is, unless that is -1? */
bool tra_lower_is_sparse(const tra_lowering *w, const tra_scalar *e, int only);
/* Is e a function of two operands (put into pair) neither of which has all its labels, as an outer product is? As a
 * relation of its own it would be larger than both. */
bool tra_lower_is_outer(const tra_lowering *w, const tra_scalar *e, int pair[2]);
/* Counts the distinct arguments of e, up to three, which go to v behind the n that are there. */
int tra_lower_arguments(const tra_scalar *e, int n, int v[3]);
/* Has e no operands but these? */
bool tra_lower_has_only(const tra_scalar *e, const int pair[2]);
/* Are its values bools? Numbers are none. */
bool tra_lower_is_bool(const tra_lowering *w, const tra_scalar *e);
/* The labels of `set`, in the order that they have in the widest operand of e, then as they come first in the
 * statement. */
label_list tra_lower_ordered(const tra_lowering *w, const tra_scalar *e, uint64_t set);

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

/* Nodes for scale times the fold of e over its labels that are not in out, in the best of the ways below. */
tra_node *tra_lower_reduce(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale,
                           const label_list *out);
/* The same by one kernel of one or two operands, which computes e as it is written; parts of e become intermediate
 * results where it has more operands. */
tra_node *tra_lower_apply(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale,
                          const label_list *out);
/* The same for the sum of a product e that has all labels of out, or for the largest of products of bools: factors are
 * contracted two at a time. */
tra_node *tra_lower_sum_product(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale,
                                const label_list *out);
/* The same for the sum of several terms over the labels of the set `all`. A term that lacks some of the labels that are
 * summed counts once for each of their values. */
tra_node *tra_lower_sum_terms(tra_lowering *w, const term_list *terms, uint64_t all, double scale,
                              const label_list *out);
/* Is e an `if` whose condition lacks labels that are summed? Then each of its branches may be summed over these first,
 * and the branch that is not taken still adds nothing. */
bool tra_lower_sums_branches(tra_lowering *w, const tra_scalar *e, uint64_t all, uint64_t want);
tra_node *tra_lower_sum_branches(tra_lowering *w, const tra_scalar *e, uint64_t all, double scale,
                                 const label_list *out);
/* Makes nodes for e, folded over its labels that are not in `keep`, and returns the argument that stands for the
 * result. */
const tra_scalar *tra_lower_materialise(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, uint64_t keep);
/* if(c, a, b) as two expressions, each of which is one branch and 0 elsewhere, and what puts them together: a sum, or
 * of bools a maximum. Branches of bools give bools by `and`, since the number 0 would widen the type. branch: a and b,
 * which become the two. */
tra_scalar_op tra_lower_branches(tra_lowering *w, const tra_scalar *c, const tra_scalar *branch[2]);
/* The same of two intermediate results; NULL after a diagnostic. */
const tra_scalar *tra_lower_split_if(tra_lowering *w, const tra_scalar *c, const tra_scalar *a, const tra_scalar *b);

#endif
