/* lower.h - from EinSum expressions over tensors in blocks to joins and aggregations. Private to plans/tra. */
#ifndef TRA_LOWER_H
#define TRA_LOWER_H

#include "build.h"

/* A tensor in blocks: dimension d is cut by key dimension d and has the label label[d]. The n labels are distinct, and
 * operands that share a label have the same blocks along it. */
typedef struct tra_operand {
    tra_node *node;
    int n, label[TRA_MAXDIM];
} tra_operand;

/* A statement that is being lowered. */
typedef struct tra_lowering {
    tra_build *b;
    tra_span span; /* of the nodes that are made */
    int nlabels;
    const char *const *name;     /* of each label */
    const int64_t *extent;       /* of each label; of one that stands for rows which only the run counts, a bound */
    const tra_node *const *rows; /* of each label: what has these rows; NULL: the extent is exact */
    bool sums;                   /* it sums or multiplies over labels, so integers are computed as i64 */
    bool integers;               /* it has operands of integers or bools */
    bool f32;                    /* it has operands of f32 */
    tra_dtype type;              /* that holds the elements of all its operands */
    bool compares;               /* it has comparisons */
    int noperands, cap;
    tra_operand *operand; /* argument i of expressions: first what the statement refers to, then intermediate results */
} tra_lowering;

/* A typed node with the inputs and arguments of `fields`: an equal one of the graph, or a new one. NULL after a
 * diagnostic. */
tra_node *tra_lower_node(tra_lowering *w, tra_opcode op, const tra_node *fields);
/* Notes the label of each key dimension of a node that was made for the statement. Returns n, which may be NULL. */
tra_node *tra_lower_set_labels(tra_lowering *w, tra_node *n, const int *label);
int tra_lower_operand(tra_lowering *w, const tra_operand *x); /* adds an operand; returns its number */

/* Makes nodes for expr, reduced by fold over the labels that are not among the n labels of out, which the dimensions of
 * the result have in that order. The leaves of expr are numbers and at least one ARG i, which is operand i. Returns the
 * result, which may be the node of an operand itself; NULL after a diagnostic.
 *
 * A sum of products becomes contractions of two operands each (order.h), with numbers in one factor of the last; a
 * sum of terms that no operand's labels cover becomes the sums of its terms; every other expression is joins of two
 * operands, left to right, each one element-wise pass, the last one with the reduction inside. Arrays are reduced
 * before they are aggregated over keys, so that no clipped array is padded. */
tra_node *tra_lower(tra_lowering *w, const tra_scalar *expr, tra_scalar_op fold, int n, const int *out);

/* The expression of a statement, whose references are operands 0, 1, .. of w, with products of bools in place of `and`
 * of several operands, where these are summed or any of them is asked for (lower_sums.c). */
const tra_scalar *tra_lower_conjunctions(tra_lowering *w, const tra_einsum *s);

/* The expression of a statement, whose references are operands 0, 1, .. of w, with parts that are large, but matter
 * only where an operand of sparse type has entries, as operands that are computed there alone (lower_masked.c). */
const tra_scalar *tra_lower_masked(tra_lowering *w, const tra_einsum *s);

/* Is a reference of the statement, which is not lowered yet, large and computed at the entries of another one alone? */
bool tra_lower_is_sampled(const tra_einsum *s, int ref);
/* Is the statement a sum of products, whose factors are such sums too? Those before it have been asked. */
bool tra_lower_is_one_sum(const tra_einsum *s);

/* Refuses a sum or product without labels over terms on the top level of its right side, one of which lacks a label
 * that is aggregated (einsum_terms.c). */
bool tra_check_terms(tra_build *b, const tra_stmt *st);
/* The labels in x that no aggregation inside of it takes away, each where it stands first: at most TRA_MAXLABELS into
 * v. Returns how many. */
int tra_labels_of(const tra_ast *x, const tra_ast **v);
/* Extent and block of a label by the first reference X[.., label, ..] in x; false: there is none. */
bool tra_find_extent(const tra_build *b, const tra_ast *x, const char *label, int64_t *extent, int64_t *block);
/* The right side of the statement. If it is a product of factors with more labels than a statement may have, parts of
 * it are aggregations of their own, in an order with few operations (einsum_factors.c). */
const tra_ast *tra_split_factors(tra_build *b, const tra_stmt *st);

/* Chooses the blocks of each label of a statement such that reblocking costs least: the set of references that agree,
 * and would cost most, keep theirs. A label that none of these has is cut as the largest of the others has it. */
void tra_choose_blocks(tra_build *b, tra_einsum *s);
/* Builds the nodes of a statement of which all is set but `node`, `block` and the nodes of references to positions, and
 * returns the result; NULL after a diagnostic. aggregate.c also makes statements that are not in the program. */
tra_node *tra_statement(tra_build *b, tra_span span, tra_einsum *s);
/* The same for a statement whose fold is that of an aggregation of the language (sum, prod, max, min, mean, argmin,
 * argmax), over the labels that are not in s->out. Sets s->fold. */
tra_node *tra_aggregation(tra_build *b, tra_span span, tra_einsum *s, const char *name);
/* The positions 0, 1, ... along a label of that extent, in blocks: an input that is computed; NULL after a diagnostic.
 */
tra_node *tra_positions(tra_build *b, tra_span span, int64_t extent, int64_t block);

#endif
