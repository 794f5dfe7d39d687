/* keyform.h - what can be said of a function of keys over a whole grid, without looking at its keys. Private to
 * plans/tra.
 */
#ifndef TRA_KEYFORM_H
#define TRA_KEYFORM_H

#include "../../lib/relation/keyfn.h"

/* The values lo..hi; where may_fail, of those keys for which the expression does not fail (none such: lo > hi). */
typedef struct tra_range {
    int64_t lo, hi;
    bool may_fail;
} tra_range;

/* By interval arithmetic: values and failures that x has on the keys from *lo to *hi are in the result, which may say
 * more than there is; on a single key it is exact. */
tra_range tra_keyexpr_range(const tra_keyexpr *x, const tra_dims *lo, const tra_dims *hi);

/* c0 + sum of c[d] times component d. */
typedef struct tra_keylinear {
    int64_t c0, c[TRA_MAXDIM];
} tra_keylinear;
/* False when x is not built of + - and * by numbers, or when coefficients overflow. Holds where x does not fail. */
bool tra_keyexpr_linear(const tra_keyexpr *x, tra_keylinear *out);

#endif
