/* gen_values.c - the values of elements that are made, not stored, each a function of the seed and the element's
 * row-major index alone. */
#include "gen_values.h"

#include <math.h>
#include <string.h>

/* Two rounds of multiply, fold and shift. */
uint64_t gen_mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

gen_values gen_values_of(gen_dist dist, int64_t seed) {
    return (gen_values){.dist = dist, .key = gen_mix((uint64_t)seed + 0xbf58476d1ce4e5b9u)};
}

/* 64 bits from a counter, keyed by the seed. Neighbouring indices and seeds give unrelated bits, so that every element
 * can be made by itself. */
static uint64_t bits(uint64_t key, uint64_t index, uint64_t stream) {
    return gen_mix(gen_mix(index + 0x9e3779b97f4a7c15u * stream) ^ key);
}

static double uniform(uint64_t key, int64_t index, uint64_t stream) {
    return (double)(bits(key, (uint64_t)index, stream) >> 11) * 0x1p-53;
}

static double uniform_f64(uint64_t key, int64_t index) { return uniform(key, index, 1); }

/* Box and Muller, one value from two uniform ones; 1 - u keeps the logarithm finite. */
static double normal(uint64_t key, int64_t index) {
    return sqrt(-2 * log(1 - uniform(key, index, 1))) * cos(2 * M_PI * uniform(key, index, 2));
}

/* f32 values in [0, 1) have 24 bits, so that none is rounded up to 1. */
static float uniform_f32(uint64_t key, int64_t index) {
    return (float)(bits(key, (uint64_t)index, 1) >> 40) * 0x1p-24f;
}

enum { INTEGERS = 100 }; /* uniform integers are less */

static int uniform_int(uint64_t key, int64_t index) {
    return (int)((bits(key, (uint64_t)index, 1) >> 32) * INTEGERS >> 32);
}

static uint8_t uniform_bool(uint64_t key, int64_t index) { return (uint8_t)(bits(key, (uint64_t)index, 1) >> 63); }

#define UNIFORM_FLOAT(ctype, key, index)                                                                               \
    (sizeof(ctype) == sizeof(double) ? uniform_f64(key, index) : uniform_f32(key, index))
#define UNIFORM_INT(ctype, key, index)  uniform_int(key, index)
#define UNIFORM_BOOL(ctype, key, index) uniform_bool(key, index)

#define CONSTANT_FLOAT(v) (v)->real
#define CONSTANT_INT(v)   (v)->whole
#define CONSTANT_BOOL(v)  ((v)->whole != 0)

/* A run of n elements of a type from row-major index `at`; `diagonal` is the index in the run that identity sets, or
 * -1. */
#define X(name, text, ctype, class, ...)                                                                               \
    static void fill_##name(const gen_values *v, ctype *out, int64_t at, int64_t n, int64_t diagonal) {                \
        switch (v->dist) {                                                                                             \
        case GEN_DIST_UNIFORM:                                                                                         \
            for (int64_t i = 0; i < n; i++) out[i] = (ctype)UNIFORM_##class(ctype, v->key, at + i);                    \
            break;                                                                                                     \
        case GEN_DIST_NORMAL:                                                                                          \
            for (int64_t i = 0; i < n; i++) out[i] = (ctype)normal(v->key, at + i);                                    \
            break;                                                                                                     \
        case GEN_DIST_RANGE:                                                                                           \
            for (int64_t i = 0; i < n; i++) out[i] = (ctype)(at + i);                                                  \
            break;                                                                                                     \
        case GEN_DIST_CONSTANT:                                                                                        \
            for (int64_t i = 0; i < n; i++) out[i] = (ctype)CONSTANT_##class(v);                                       \
            break;                                                                                                     \
        default:                                                                                                       \
            memset(out, 0, (size_t)n * sizeof *out);                                                                   \
            if (diagonal >= 0) out[diagonal] = 1;                                                                      \
        }                                                                                                              \
    }
TRA_DTYPES(X)
#undef X

static void fill_run(const gen_values *v, tra_dtype t, void *out, int64_t at, int64_t n, int64_t diagonal) {
    switch (t) {
#define X(name, ...)                                                                                                   \
    case TRA_##name: fill_##name(v, out, at, n, diagonal); return;
        TRA_DTYPES(X)
#undef X
    }
}

/* In the row (all coordinates but the last) that begins at `at`: where the element of equal coordinates is in a run of
 * n, or -1. */
static int64_t diagonal_of(const gen_values *v, const tra_dims *at, int64_t n) {
    if (v->dist != GEN_DIST_IDENTITY) return -1;
    for (int d = 1; d < at->n - 1; d++) {
        if (at->v[d] != at->v[0]) return -1;
    }
    int64_t i = at->v[0] - at->v[at->n - 1];
    return i >= 0 && i < n ? i : -1;
}

void gen_values_fill(const gen_values *v, const tra_type *type, const tra_dims *shape, int64_t ordinal, void *out) {
    tra_dims key, ext, offset;
    tra_catalog_key(type->cat, ordinal, &key);
    tra_catalog_ext(type->cat, ordinal, &ext);
    tra_type_offset(type, &key, &offset);
    int r = shape->n;
    int64_t run = r ? ext.v[r - 1] : 1;
    tra_dims rows = ext, row = {.n = 0};
    if (r) rows.n = r - 1;
    row.n = rows.n;
    memset(row.v, 0, sizeof row.v);
    char *to = out;
    do {
        tra_dims at = offset;
        for (int d = 0; d < rows.n; d++) at.v[d] += row.v[d];
        int64_t index = tra_linear(shape, &at), diagonal = diagonal_of(v, &at, run);
        fill_run(v, type->dtype, to, index, run, diagonal);
        to += (size_t)run * tra_dtype_size(type->dtype);
    } while (tra_next(&rows, &row));
}

void gen_values_entry(const gen_values *v, tra_dtype t, void *to, int64_t index) {
    fill_run(v, t, to, index, 1, -1);
    switch (t) {
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        if (*(ctype *)to == 0) *(ctype *)to = 1;                                                                       \
        return;
        TRA_DTYPES(X)
#undef X
    }
}
