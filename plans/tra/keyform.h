/* keyform.h - what can be said of a function of keys over a whole grid, without looking at its keys. Private to
 * plans/tra.
 */
#ifndef TRA_KEYFORM_H
#define TRA_KEYFORM_H

#include "../../lib/model/keyfn.h"

/* The values lo..hi that an expression has on the keys for which it does not fail; lo > hi if it fails on all of them.
 * may_fail: it may fail on some key. */
typedef struct tra_range {
    int64_t lo, hi;
    bool may_fail;
} tra_range;

/* Bounds x over the box of keys from *lo to *hi by interval arithmetic: every value is in the range, and may_fail is
 * true if x fails anywhere. The range may be too wide, and may_fail be true without need; for a single key both are
 * exact. */
tra_range tra_keyexpr_range(const tra_keyexpr *x, const tra_dims *lo, const tra_dims *hi);

/* c0 + sum of c[d] times component d. */
typedef struct tra_keylinear {
    int64_t c0, c[TRA_MAXDIM];
} tra_keylinear;
/* Writes x as such a sum, which it equals wherever it does not fail. False when x is not made of +, - and products with
 * numbers, or when a coefficient overflows. */
bool tra_keyexpr_linear(const tra_keyexpr *x, tra_keylinear *out);

#endif
