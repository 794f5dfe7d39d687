/* gen_values.h - values of elements that are made, not stored: those of tra gen, of gen(..) in a program, and
 * positions. */
#ifndef TRA_GEN_VALUES_H
#define TRA_GEN_VALUES_H

#include "../model/relation.h"

typedef enum gen_dist {
    GEN_DIST_UNIFORM,
    GEN_DIST_NORMAL,
    GEN_DIST_IDENTITY,
    GEN_DIST_RANGE,
    GEN_DIST_ZERO,
    GEN_DIST_CONSTANT
} gen_dist;

typedef struct gen_values {
    gen_dist dist;
    uint64_t key;  /* of the seed */
    double real;   /* CONSTANT: of floats, */
    int64_t whole; /* and of integers and bools */
} gen_values;
gen_values gen_values_of(gen_dist dist, int64_t seed);
/* The array of one tuple of a tensor of that shape. */
void gen_values_fill(const gen_values *v, const tra_type *type, const tra_dims *shape, int64_t ordinal, void *out);
/* The value at an index: as in a dense tensor of the same seed, but 1 where that is 0, so that all entries count. */
void gen_values_entry(const gen_values *v, tra_dtype t, void *to, int64_t index);

/* 64 bits from a counter and a key. */
uint64_t gen_mix(uint64_t x);

#endif
