/* gen_values.h - the values of elements that tra gen makes. */
#ifndef TRA_GEN_VALUES_H
#define TRA_GEN_VALUES_H

#include "../lib/relation/relation.h"

typedef enum gen_dist { GEN_DIST_UNIFORM, GEN_DIST_NORMAL, GEN_DIST_IDENTITY, GEN_DIST_RANGE, GEN_DIST_ZERO } gen_dist;

typedef struct gen_values {
    gen_dist dist;
    uint64_t key; /* of the seed */
} gen_values;
gen_values gen_values_of(gen_dist dist, int64_t seed);
/* The array of one tuple of a tensor of that shape. */
void gen_values_fill(const gen_values *v, const tra_type *type, const tra_dims *shape, int64_t ordinal, void *out);
/* The value at an index: as in a dense tensor of the same seed, but 1 where that is 0, so that all entries count. */
void gen_values_entry(const gen_values *v, tra_dtype t, void *to, int64_t index);

#endif
