/* eval.h - parts of the interpreter: arithmetic, and what @unique has seen. Private to lib/calculus. */
#ifndef TRA_CALC_EVAL_H
#define TRA_CALC_EVAL_H

#include "value.h"

tra_calc_number calc_zero_number(bool real);
tra_calc_number calc_as_type(tra_calc_number v, bool real);
bool calc_same_number(tra_calc_number a, tra_calc_number b);
/* a op b, as a real if `real`. sl, sr: a, b is of sparse type, so that a 0 there makes a product 0. */
tra_calc_wrong calc_arithmetic(tra_calc_kind op, bool real, tra_calc_number a, bool sl, tra_calc_number b, bool sr,
                               tra_calc_number *out);
tra_calc_wrong calc_negative(tra_calc_number *v);
/* A function of n numbers, of the type real. */
tra_calc_wrong calc_function(tra_calc_fn fn, bool real, int n, const tra_calc_number *v, tra_calc_number *out);
bool calc_compare(tra_calc_kind op, tra_calc_number a, tra_calc_number b);

/* The keys that a DICT with @unique has had within its sums; a list of such. */
typedef struct calc_seen {
    const tra_calc *dict;
    struct calc_seen *next;
    int nkeys;
    int64_t n, cap, nslots;
    int64_t *key, *slot;
} calc_seen;
void calc_seen_free(calc_seen *s);                    /* all of the list */
bool calc_seen_add(calc_seen *s, const int64_t *key); /* false where it was there */

/* A sink: adds to the calc_dict at ctx. */
tra_status calc_add_to_dict(void *ctx, const tra_calc_entry *x, tra_err *e);

#endif
