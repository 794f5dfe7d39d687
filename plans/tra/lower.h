/* lower.h - from EinSum expressions over tensors in blocks to joins and aggregations. Private to plans/tra. */
#ifndef TRA_LOWER_H
#define TRA_LOWER_H

#include "build.h"

/* A tensor in blocks whose dimension d is cut by key d and has label[d]. Its labels are distinct, and operands that
 * share a label have the same blocks along it. */
typedef struct tra_operand {
    tra_node *node;
    int n, label[TRA_MAXDIM];
} tra_operand;

typedef struct tra_lowering {
    tra_build *b;
    tra_span span; /* of the nodes made */
    int nlabels;
    const char *const *name; /* of labels */
    const int64_t *extent;
    bool sums;                       /* the statement sums or multiplies over labels, so integers are computed as i64 */
    bool integers, single, compares; /* it has operands of integers or bools; operands of f32; comparisons */
    int n, cap; /* the arguments of expressions: first what the statement refers to, then intermediate results */
    tra_operand *op;
} tra_lowering;

/* Makes a typed node with the inputs and arguments of `fields`. NULL after a diagnostic. */
tra_node *tra_lower_node(tra_lowering *w, tra_opcode op, const tra_node *fields);
/* Notes the label of each key dimension of a node that was made for the statement. Returns n, which may be NULL. */
tra_node *tra_lower_labels(tra_lowering *w, tra_node *n, const int *label);
int tra_lower_operand(tra_lowering *w, const tra_operand *x); /* adds one; its number */

/* Nodes for expr (ARG i: operand i; no other leaves than numbers, at least one ARG), reduced by fold over the labels
 * that are not among the n of out, which are in the order of the result's dimensions. NULL after a diagnostic. May be
 * the node of an operand itself.
 *
 * A sum of products becomes contractions of two operands each (order.h), with numbers in one factor of the last; a
 * sum of terms that no operand's labels cover becomes the sums of its terms; every other expression is joins of two
 * operands, left to right, each one element-wise pass, the last one with the reduction inside. Arrays are reduced
 * before they are aggregated over keys, so that no clipped array is padded. */
tra_node *tra_lower(tra_lowering *w, const tra_scalar *expr, tra_scalar_op fold, int n, const int *out);

/* Builds a statement in which everything is filled but node, block and the nodes that index(i) stands for. aggregate.c
 * also makes statements that are not in the program. */
tra_node *tra_statement(tra_build *b, tra_span span, tra_einsum *s);
/* Builds the statement aggregated by a word of the language (sum, prod, max, min, mean, argmin, argmax) over its labels
 * that are not in out. s is as above, and its fold is set here. */
tra_node *tra_aggregation(tra_build *b, tra_span span, tra_einsum *s, const char *word);
/* The positions along a label of that extent, in blocks: an input that is computed. */
tra_node *tra_positions(tra_build *b, tra_span span, int64_t extent, int64_t block);

#endif
