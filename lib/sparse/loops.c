/* loops.c - the innermost loops over the entries of a row, built for several instruction sets and chosen at run time.
 * Those of integers note what does not fit. */
#include "sparse.h"

#include "../base/simd.h"

#include <assert.h>

enum { AHEAD = 64 }; /* entries: what they look for, beyond the caches, is asked for before its turn */

#ifdef __x86_64__
#define BYTES   64
#define ISA     TRA_TARGET_AVX512
#define T       double
#define SUM     double
#define NAME(f) f##_f64_avx512
#include "loops_body.h"
#define T       float
#define SUM     double
#define NAME(f) f##_f32_avx512
#include "loops_body.h"
#undef ISA
#undef BYTES

#define BYTES   32
#define ISA     TRA_TARGET_AVX2
#define T       double
#define SUM     double
#define NAME(f) f##_f64_avx2
#include "loops_body.h"
#define T       float
#define SUM     double
#define NAME(f) f##_f32_avx2
#include "loops_body.h"
#undef ISA
#undef BYTES
#endif

#define BYTES 16
#define ISA
#define T       double
#define SUM     double
#define NAME(f) f##_f64_base
#include "loops_body.h"
#define T       float
#define SUM     double
#define NAME(f) f##_f32_base
#include "loops_body.h"
#undef ISA
#undef BYTES

/* c += x y */
static inline bool add_product(int64_t *c, int64_t x, int64_t y) {
    int64_t product;
    bool over = __builtin_mul_overflow(x, y, &product);
    return over | __builtin_add_overflow(*c, product, c);
}

static void dot_int(const void *vv, const uint32_t *column, int64_t n, const void *dd, int64_t sd, void *c) {
    const int64_t *v = vv, *d = dd;
    bool over = false;
    for (int64_t i = 0; i < n; i++) over |= add_product(c, v[i], d[column[i] * sd]);
    tra_overflow |= over;
}

static int64_t dots_int(const tra_rows_view *v, int64_t r, int64_t end, const void *d, int64_t sd, int64_t row_d,
                        void *c, int64_t row_c, bool far) {
    (void)far;
    for (; r < end; r++)
        dot_int((const int64_t *)(const void *)v->value + v->begin[r], v->column + v->begin[r],
                v->begin[r + 1] - v->begin[r], (const int64_t *)d + v->row[r] * row_d, sd,
                (int64_t *)c + v->row[r] * row_c);
    return end;
}

static void scatter_int(const void *vv, const uint32_t *column, int64_t n, const void *x, void *cc, int64_t sc) {
    const int64_t *v = vv, y = *(const int64_t *)x;
    int64_t *c = cc;
    bool over = false;
    for (int64_t i = 0; i < n; i++) over |= add_product(c + column[i] * sc, v[i], y);
    tra_overflow |= over;
}

static int64_t scatters_int(const tra_rows_view *v, int64_t r, int64_t end, const void *d, int64_t row_d, void *c,
                            int64_t sc, int64_t row_c, bool far, bool skip) {
    (void)far;
    (void)skip;
    for (; r < end; r++)
        scatter_int((const int64_t *)(const void *)v->value + v->begin[r], v->column + v->begin[r],
                    v->begin[r + 1] - v->begin[r], (const int64_t *)d + v->row[r] * row_d,
                    (int64_t *)c + v->row[r] * row_c, sc);
    return end;
}

enum { LANES = 4 };
typedef uint64_t lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* c[j] += the sum over k of v[k] d[column[k] * sd + j], of LANES elements, whose products fit as all factors have 32
 * bits. False: they have more, or a sum does not fit; then c is as it was. */
TRA_ANY_TARGET static bool add_lanes(const int64_t *v, const uint32_t *column, int64_t n, const int64_t *d, int64_t sd,
                                     int64_t *c) {
    const uint64_t half = UINT64_C(1) << 31;
    lanes sum = *(const lanes *)c, wide = {0}, signs = {0};
    for (int64_t k = 0; k < n; k++) {
        const lanes y = *(const lanes *)(d + column[k] * sd), product = y * (uint64_t)v[k], after = sum + product;
        wide |= (y + half) | ((uint64_t)v[k] + half);
        signs |= (sum ^ after) & (product ^ after);
        sum = after;
    }
    wide = (wide >> 32) | (signs >> 63);
    uint64_t any = (wide[0] | wide[1]) | (wide[2] | wide[3]);
    if (any == 0) *(lanes *)c = sum;
    return any == 0;
}

static void add_rows_int(const void *vv, const uint32_t *column, int64_t n, const void *dd, int64_t sd, void *cc,
                         int64_t width) {
    const int64_t *v = vv, *d = dd;
    int64_t *c = cc;
    bool over = false;
    for (int64_t j = 0, here; j < width; j += here) {
        here = tra_min64(LANES, width - j);
        if (here == LANES && add_lanes(v, column, n, d + j, sd, c + j)) continue;
        for (int64_t i = j; i < j + here; i++) {
            int64_t sum = c[i];
            for (int64_t k = 0; k < n; k++) over |= add_product(&sum, v[k], d[column[k] * sd + i]);
            c[i] = sum;
        }
    }
    tra_overflow |= over;
}

static void spread_rows_int(const void *vv, const uint32_t *column, int64_t n, const void *dd, int64_t sd, void *cc,
                            int64_t sc, int64_t width) {
    const int64_t *v = vv, *d = dd;
    int64_t *c = cc;
    bool over = false;
    for (int64_t k = 0; k < n; k++) {
        int64_t *to = c + column[k] * sc;
        if (width >= LANES)
            add_rows_int(v + k, column + k, 1, dd, sd, to, width);
        else
            for (int64_t j = 0; j < width; j++) over |= add_product(to + j, v[k], d[column[k] * sd + j]);
    }
    tra_overflow |= over;
}

#define LOOPS(suffix)                                                                                                  \
    {                                                                                                                  \
        dot_##suffix, dots_##suffix, scatter_##suffix, scatters_##suffix, add_rows_##suffix, spread_rows_##suffix      \
    }

const tra_row_loops *tra_row_loops_of(tra_dtype t) {
    static const tra_row_loops base[] = {LOOPS(f64_base), LOOPS(f32_base)}, ints = LOOPS(int);
    if (t == TRA_I64) return &ints;
    assert(tra_dtype_is_float(t));
#ifdef __x86_64__
    static const tra_row_loops avx512[] = {LOOPS(f64_avx512), LOOPS(f32_avx512)};
    static const tra_row_loops avx2[] = {LOOPS(f64_avx2), LOOPS(f32_avx2)};
    if (tra_simd_here() == TRA_SIMD_AVX512) return &avx512[t == TRA_F32];
    if (tra_simd_here() == TRA_SIMD_AVX2) return &avx2[t == TRA_F32];
#endif
    return &base[t == TRA_F32];
}
