/* simd.h - which vector instructions loops use that are compiled for several kinds of processor. */
#ifndef TRA_SIMD_H
#define TRA_SIMD_H

#include "base.h"

typedef enum tra_simd { TRA_SIMD_BASE, TRA_SIMD_AVX2, TRA_SIMD_AVX512 } tra_simd;

/* What functions are compiled with for each: */
#define TRA_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define TRA_TARGET_AVX2   __attribute__((target("avx2,fma")))

/* The most that this processor has, or less if TRA_SIMD in the environment names less (base, avx2, avx512). It is found
 * out once. */
tra_simd tra_simd_here(void);

#endif
