/* simd.c - which vector instructions there are. */
#include "simd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static tra_simd of_processor(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma"))
        return TRA_SIMD_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return TRA_SIMD_AVX2;
#endif
    return TRA_SIMD_BASE;
}

static tra_simd find(void) {
    static const char *const names[] = {"base", "avx2", "avx512"};
    const char *most = getenv("TRA_SIMD");
    tra_simd has = of_processor();
    if (!most || !*most) return has;
    for (int i = 0; i < 3; i++)
        if (strcmp(most, names[i]) == 0) return (tra_simd)i < has ? (tra_simd)i : has;
    tra_warn("TRA_SIMD is '%s', none of base, avx2, avx512: it is ignored", most);
    return has;
}

tra_simd tra_simd_here(void) {
    static atomic_int known; /* one more than the value; 0: not yet */
    int v = atomic_load_explicit(&known, memory_order_relaxed);
    if (v == 0) atomic_store_explicit(&known, v = (int)find() + 1, memory_order_relaxed);
    return (tra_simd)(v - 1);
}
