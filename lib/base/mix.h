/* mix.h - the function that spreads the bits of a word, with which digests of tensors and of tables are formed. Files
 * hold these digests, so it never changes. */
#ifndef TRA_MIX_H
#define TRA_MIX_H

#include <stdint.h>

static inline uint64_t tra_mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebULL;
    return x ^ x >> 32;
}

#endif
