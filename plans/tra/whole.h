/* whole.h - functions and arithmetic of whole tensors, without labels. Private to plans/tra. */
#ifndef TRA_WHOLE_H
#define TRA_WHOLE_H

#include "slice.h"

/* Functions of one whole tensor: softmax, transpose, diag, trace, norm. */
int tra_whole_find(const char *name); /* -1: it is none of them */
const char *tra_whole_name(int i);    /* NULL after the last */
tra_node *tra_build_whole_function(tra_build *b, int i, const tra_ast *call, tra_build_operand *operand);

/* sum(X), mean(X), ...: an aggregation over all dimensions. */
bool tra_is_whole_aggregation(const tra_ast *x);
tra_node *tra_build_whole_aggregation(tra_build *b, const tra_ast *call, tra_build_operand *operand);

/* Is it an expression of elements: arithmetic, a comparison, a call of a scalar function? */
bool tra_is_elementwise(const tra_ast *x);
/* The tensor of the values of an expression of elements of whole tensors, which have equal shapes or no dimensions.
 * `operand` makes nodes of the relations in it. NULL after a diagnostic. */
tra_node *tra_build_elementwise(tra_build *b, const tra_ast *x, tra_build_operand *operand);

#endif
