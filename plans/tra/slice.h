/* slice.h - parts of tensors, and tensors put together. Private to plans/tra. */
#ifndef TRA_SLICE_H
#define TRA_SLICE_H

#include "build.h"

typedef tra_node *tra_build_operand(tra_build *b, const tra_ast *x);

/* slice(X, [from:to, ...]), and stack(A, B, ..., dim): cut in the blocks of X, of A, from the origin of the result. */
bool tra_is_slice(const char *name);
const char *tra_slice_name(int i); /* NULL after the last */
tra_node *tra_build_slice(tra_build *b, const tra_ast *call, tra_build_operand *operand);
/* Result `part` of `values, positions = topk(X, k)` or topk(X, k, least), over the last dimension. */
tra_node *tra_build_top(tra_build *b, const tra_ast *call, tra_build_operand *operand, int part, int nparts);

#endif
