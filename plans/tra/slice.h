/* slice.h - the operators slice, stack and topk. Private to plans/tra. */
#ifndef TRA_SLICE_H
#define TRA_SLICE_H

#include "build.h"

/* Builds the node of an operand; NULL after a diagnostic. */
typedef tra_node *tra_build_operand(tra_build *b, const tra_ast *x);

/* slice(X, [from:to, ...]) and stack(A, B, ..., dim). The result has blocks as large as those of X, or of A. NULL after
 * a diagnostic. */
bool tra_is_slice(const char *name);
const char *tra_slice_name(int i); /* NULL after the last */
tra_node *tra_build_slice(tra_build *b, const tra_ast *call, tra_build_operand *operand);
/* Result `part` of `values, positions = topk(X, k)` or topk(X, k, least), over the last dimension; NULL after a
 * diagnostic. */
/* The k greatest (least) values of each row of x, in order, NaN first, or their positions. NULL after a diagnostic. */
tra_node *tra_top_of(tra_build *b, tra_span span, tra_node *x, bool positions, bool least, int64_t k);
tra_node *tra_build_top(tra_build *b, const tra_ast *call, tra_build_operand *operand, int part, int nparts);

#endif
