/* values.h - what `tra info --stats` finds of the elements of a tensor. */
#ifndef TRA_VALUES_H
#define TRA_VALUES_H

#include "../lib/relation/store.h"

typedef struct tra_values {
    double min, max; /* floats: of what is not NaN; NaN when there is nothing */
    int64_t least, most;
    long double sum; /* wide, so that the order in which workers add hardly shows */
    int64_t numbers, nans;
} tra_values;

/* Reads all of the tensor, in at most so much memory. Holes do not count; what a sparse array does not store is 0. */
TRA_MUSTUSE tra_status tra_values_of(tra_rel *rel, int64_t memory, tra_values *s, tra_err *e);
/* The mean. With both +inf and -inf there is none: always the same NaN, without a sign. */
double tra_values_mean(const tra_values *s);

#endif
