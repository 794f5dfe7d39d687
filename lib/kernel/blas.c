/* blas.c - which of its kernels BLAS uses, and whether the processor could do better. */
#include "kernel.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *tra_blas_kernel(void) { return openblas_get_corename(); }

#if defined(__x86_64__)
/* Vector instructions of OpenBLAS's kernels and of the processor, from the least to the most. */
typedef enum simd { SIMD_SSE, SIMD_AVX, SIMD_AVX2, SIMD_AVX512 } simd;

static const struct {
    const char *name;
    simd has;
} kernels[] = {
    {"Sandybridge", SIMD_AVX},       {"Bulldozer", SIMD_AVX},   {"Piledriver", SIMD_AVX},
    {"Steamroller", SIMD_AVX},       {"Haswell", SIMD_AVX2},    {"Zen", SIMD_AVX2},
    {"Excavator", SIMD_AVX},         {"SkylakeX", SIMD_AVX512}, {"Cooperlake", SIMD_AVX512},
    {"SapphireRapids", SIMD_AVX512},
};

static simd of_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcasecmp(kernels[i].name, name) == 0) return kernels[i].has;
    }
    return SIMD_SSE;
}

static simd of_processor(void) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return SIMD_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SIMD_AVX2;
    return __builtin_cpu_supports("avx") ? SIMD_AVX : SIMD_SSE;
}

static const char *const fit[] = {"", "SANDYBRIDGE", "HASWELL", "SKYLAKEX"};

bool tra_blas_advice(char *buf, size_t n) {
    static const char *const names[] = {"SSE", "AVX", "AVX2", "AVX-512"};
    const char *kernel = tra_blas_kernel(), *forced = getenv("OPENBLAS_CORETYPE");
    simd has = of_kernel(kernel), could = of_processor();
    if (has >= could) return false;
    int at = snprintf(buf, n, "BLAS uses its kernel %s (%s), though this processor has %s: ", kernel, names[has],
                      names[could]);
    if (at < (int)n && forced && *forced)
        snprintf(buf + at, n - (size_t)at, "OPENBLAS_CORETYPE=%s asks for it; unset that", forced);
    else if (at < (int)n)
        snprintf(buf + at, n - (size_t)at, "products may be faster with OPENBLAS_CORETYPE=%s", fit[could]);
    return true;
}

/* The first chooses OpenBLAS's kernels, unless they are chosen already; the second forgets the choice. Builds of
 * OpenBLAS for one processor have neither. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

void tra_blas_fit(char **argv) {
    simd could = of_processor();
    if (getenv("OPENBLAS_CORETYPE") || of_kernel(tra_blas_kernel()) >= could) return;
    if (setenv("OPENBLAS_CORETYPE", fit[could], 0) == 0) {
        if (gotoblas_dynamic_init && gotoblas_dynamic_quit) {
            gotoblas_dynamic_quit();
            gotoblas_dynamic_init();
        } else
            execv("/proc/self/exe", argv);
    }
    if (of_kernel(tra_blas_kernel()) < could) unsetenv("OPENBLAS_CORETYPE"); /* go on with what there is */
}
#else
bool tra_blas_advice(char *buf, size_t n) {
    (void)buf;
    (void)n;
    return false; /* OpenBLAS's kernels of other processors differ in other ways */
}

void tra_blas_fit(char **argv) { (void)argv; }
#endif
