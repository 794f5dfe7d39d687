/* simd.h - which vector instructions loops use that are compiled for several kinds of processor. */
#ifndef TRA_SIMD_H
#define TRA_SIMD_H

#include "base.h"

typedef enum tra_simd { TRA_SIMD_BASE, TRA_SIMD_AVX2, TRA_SIMD_AVX512 } tra_simd;

/* The attribute of functions that are compiled for each. */
#define TRA_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define TRA_TARGET_AVX2   __attribute__((target("avx2,fma")))

/* The attribute of a function that is compiled for several kinds of processor, of which the loader takes that for this
 * one. They differ in speed alone. Not with sanitizers, which are not ready yet when the loader chooses. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRA_ANY_TARGET __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRA_ANY_TARGET
#endif

/* The most that this processor has, or less if TRA_SIMD in the environment says so (base, avx2, avx512). Found out
 * once. */
tra_simd tra_simd_here(void);

#endif
