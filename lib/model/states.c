/* states.c - see states.h. */
#include "states.h"

#include "../base/simd.h"

#define CLEAR(T)                                                                                                       \
    for (int64_t i = 0; i < n; i++) ((T *)values)[i] = state[i] ? 0 : ((T *)values)[i]

TRA_ANY_TARGET __attribute__((optimize("O3"))) uint8_t tra_values_clear(void *restrict values, size_t size,
                                                                        const uint8_t *restrict state, int64_t n) {
    uint8_t all = 0;
    for (int64_t i = 0; i < n; i++) all |= state[i];
    if (!all) return all;
    switch (size) {
    case 1: CLEAR(uint8_t); break;
    case 4: CLEAR(uint32_t); break;
    default: CLEAR(uint64_t); break;
    }
    return all;
}
