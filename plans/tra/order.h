/* order.h - the order in which the factors of a sum of products are contracted. Private to plans/tra. */
#ifndef TRA_ORDER_H
#define TRA_ORDER_H

#include "../../lib/base/base.h"

/* Operands a and b become one; the result of step i is operand n + i. */
typedef struct tra_merge {
    int a, b;
} tra_merge;

/* Labels (bits of a set, extent[l] each) of n >= 1 factors; `out`: those of the result. A label is summed as soon as
 * neither the result nor another factor has it. n - 1 steps go to v. Least multiplications and additions, then least
 * elements of intermediate results: the best of all orders up to TRA_ORDER_EXACT factors, the cheapest pair first
 * beyond. held: the share of each factor's elements that are entries (NULL, and of dense ones: 1); only these are
 * multiplied, and intermediate results have as many as independent places give. Returns the operations. */
enum { TRA_ORDER_EXACT = 12 };
double tra_order(int n, const uint64_t *labels, uint64_t out, const int64_t *extent, const double *held, tra_merge *v);

#endif
