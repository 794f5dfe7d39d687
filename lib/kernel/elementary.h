/* elementary.h - functions of real numbers, many at a time: those that kernels compute with, within 1 ULP. */
#ifndef TRA_ELEMENTARY_H
#define TRA_ELEMENTARY_H

#include "kernel.h"

/* d[i] = op(a[i], b[i]) for elements of type t: f64, f32 or i64, of which i64 has no functions of TRA_REALS. d may be a
 * or b. With arity 1 b is ignored. */
void tra_elementary_of(tra_dtype t, tra_scalar_op op, void *d, const void *a, const void *b, int64_t n);

#endif
