/* matmul_fold.h - what matmul.c does with a product, for each type: adds it, or folds it to the largest or least. */
#ifndef TRA_MATMUL_FOLD_H
#define TRA_MATMUL_FOLD_H

#include "../base/parallel.h"

#include <stdint.h>

#define MATMUL_FLOAT(T, TYPE)                                                                                          \
    static inline T times_##TYPE(T x, T y) { return x * y; }                                                           \
    static inline void add_##TYPE(T *sum, T x, T y) { *sum += x * y; }                                                 \
    static inline void plus_##TYPE(T *sum, T x) { *sum += x; }
MATMUL_FLOAT(double, f64)
MATMUL_FLOAT(float, f32)
#undef MATMUL_FLOAT
static inline int64_t times_i64(int64_t x, int64_t y) {
    int64_t product;
    tra_overflow |= __builtin_mul_overflow(x, y, &product);
    return product;
}
static inline void plus_i64(int64_t *sum, int64_t x) { tra_overflow |= __builtin_add_overflow(*sum, x, sum); }
static inline void add_i64(int64_t *sum, int64_t x, int64_t y) { plus_i64(sum, times_i64(x, y)); }

/* As the functions max and min of kernel.h. */
#define LARGER(a, b)  ((a) != (a) || (b) != (b) ? (a) + (b) : (a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) != (a) || (b) != (b) ? (a) + (b) : (a) < (b) ? (a) : (b))

#endif
