/* elementary.h - functions of real numbers, many at a time: those that kernels compute with, within 1 ULP. */
#ifndef TRA_ELEMENTARY_H
#define TRA_ELEMENTARY_H

#include "kernel.h"

/* d[i] = op(a[i], b[i]); d may be a or b. With arity 1 b is ignored. */
void tra_elementary(tra_scalar_op op, double *d, const double *a, const double *b, int64_t n);

#endif
