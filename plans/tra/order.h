/* order.h - the order in which the factors of a sum of products are contracted. Private to plans/tra. */
#ifndef TRA_ORDER_H
#define TRA_ORDER_H

#include "../../lib/base/base.h"

/* A step: operands a and b are contracted; the result of step i has the number n + i. */
typedef struct tra_merge {
    int a, b;
} tra_merge;

/* Finds the order in which n >= 1 factors are contracted: n - 1 steps in v. labels[i] is the set of labels of factor i,
 * as bits, `out` that of the result; extent[l] is the extent of label l. A label is summed as soon as neither the
 * result nor another factor has it. The order has the fewest multiplications and additions, and among equal ones the
 * fewest elements in intermediate results: of all orders up to TRA_ORDER_EXACT factors, beyond that by taking the
 * cheapest pair again and again. density[i] is the share of the elements of factor i that are entries (NULL: all
 * factors are dense); only entries are multiplied, and those of an intermediate result are estimated as if their places
 * were independent. Returns the number of operations. */
enum { TRA_ORDER_EXACT = 12 };
double tra_order(int n, const uint64_t *labels, uint64_t out, const int64_t *extent, const double *density,
                 tra_merge *v);

#endif
