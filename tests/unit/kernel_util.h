/* kernel_util.h - for the tests of kernels: arrays, kernels and expressions in a line each, and arrays compared. */
#ifndef TRA_KERNEL_UTIL_H
#define TRA_KERNEL_UTIL_H

#include "../../lib/kernel/kernel_int.h"
#include "check.h"

static tra_arena *arena;

__attribute__((constructor)) static void start(void) { arena = tra_arena_new(); }
__attribute__((destructor)) static void stop(void) { tra_arena_free(arena); }

#define DIMS(...) ((tra_dims){.n = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .v = {__VA_ARGS__}})
static const tra_dims scalar = {.n = 0};

static inline int64_t size_of(const tra_dims *d) {
    int64_t n = 1;
    for (int i = 0; i < d->n; i++) n *= d->v[i];
    return n;
}

static inline double get(const tra_array *a, int64_t i) { return tra_get(a->data, a->dtype, i); }
static inline void put(tra_array *a, int64_t i, double v) {
    if (!tra_dtype_is_float(a->dtype) && !(fabs(v) < 0x1p62)) v = 77; /* a value that is not to be used */
    tra_store(a->data, a->dtype, i, 1, &v, TRA_F64, 1);
}

/* Arrays end where their memory ends, so that valgrind and the sanitizers see one element too many. */
static inline tra_array make(tra_dtype t, tra_dims ext) {
    tra_array a = {t, ext, NULL};
    size_t n = (size_t)size_of(&ext) * tra_dtype_size(t);
    a.data = malloc(n ? n : 1);
    return a;
}
static inline tra_array filled(tra_dtype t, tra_dims ext, double v) {
    tra_array a = make(t, ext);
    for (int64_t i = 0; i < size_of(&ext); i++) put(&a, i, v);
    return a;
}
/* Integers -3..3: products and sums of few are exact in both types. */
static inline tra_array small_integers(tra_dtype t, tra_dims ext) {
    tra_array a = make(t, ext);
    for (int64_t i = 0; i < size_of(&ext); i++) put(&a, i, (double)(check_draw(7) - 3));
    return a;
}
static inline tra_array uniform(tra_dtype t, tra_dims ext, double lo, double hi) {
    tra_array a = make(t, ext);
    for (int64_t i = 0; i < size_of(&ext); i++) put(&a, i, lo + (hi - lo) * (double)check_draw(1 << 24) / (1 << 24));
    return a;
}
static inline tra_array copy_of(const tra_array *a) {
    tra_array c = make(a->dtype, a->ext);
    if (size_of(&a->ext)) memcpy(c.data, a->data, tra_array_bytes(a));
    return c;
}

static inline const tra_kernel *named(const char *name, tra_kernel_use use) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    double c = 2.5;
    CHECK_OK(tra_kernel_named(arena, name, use, strcmp(name, "scale") == 0, &c, &k, &e), e);
    return k;
}
static inline const tra_kernel *scaled(double c) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    CHECK_OK(tra_kernel_named(arena, "scale", TRA_USE_MAP, 1, &c, &k, &e), e);
    return k;
}
static inline const tra_kernel *einsum(const char *text) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    CHECK_OK(tra_kernel_einsum(arena, text, &k, &e), e);
    return k;
}

static const char *const xy[] = {"x", "y"};
static inline tra_scalar *leaf(tra_scalar_op op, double value, int arg) {
    tra_scalar *s = tra_new(arena, tra_scalar);
    *s = (tra_scalar){.op = op, .value = value, .arg = arg};
    return s;
}
static inline tra_scalar *num(double v) { return leaf(TRA_S_CONST, v, 0); }
static inline tra_scalar *arg(int i) { return leaf(TRA_S_ARG, 0, i); }
static inline tra_scalar *op2(tra_scalar_op op, const tra_scalar *a, const tra_scalar *b) {
    tra_scalar *s = leaf(op, 0, 0);
    s->a = a;
    s->b = b;
    return s;
}
static inline tra_scalar *op1(tra_scalar_op op, const tra_scalar *a) { return op2(op, a, NULL); }
static inline tra_scalar *op3(const tra_scalar *a, const tra_scalar *b, const tra_scalar *c) {
    tra_scalar *s = op2(TRA_S_IF, a, b);
    s->c = c;
    return s;
}
static inline const tra_kernel *lambda1(const tra_scalar *s) { return tra_kernel_lambda(arena, s, 1, xy); }
static inline const tra_kernel *lambda2(const tra_scalar *s) { return tra_kernel_lambda(arena, s, 2, xy); }

static inline const char *printed(const tra_kernel *k) {
    tra_str s = {0};
    tra_kernel_print(k, &s);
    const char *r = tra_arena_strndup(arena, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return r;
}

static inline void *scratch_for(const tra_kernel *k, tra_kernel_use use, const tra_array *a, const tra_array *b) {
    size_t n = tra_kernel_scratch(k, use, a->dtype, b ? b->dtype : a->dtype, &a->ext, b ? &b->ext : NULL);
    return n ? aligned_alloc(64, n) : NULL;
}

static inline tra_array map(const tra_kernel *k, const tra_array *in) {
    tra_err e = {0};
    tra_dims ext = {0};
    CHECK_OK(tra_kernel_shape1(k, &in->ext, &ext, NULL, &e), e);
    tra_array out = filled(tra_kernel_dtype(k, TRA_USE_MAP, in->dtype, in->dtype), ext, NAN);
    void *scratch = scratch_for(k, TRA_USE_MAP, in, NULL);
    tra_map_sparse(k, in, false, &out, scratch);
    free(scratch);
    return out;
}

static inline tra_array join(const tra_kernel *k, const tra_array *a, const tra_array *b) {
    tra_err e = {0};
    tra_dims ext = {0};
    CHECK_OK(tra_kernel_shape2(k, &a->ext, &b->ext, &a->ext, &b->ext, &ext, NULL, &e), e);
    tra_array out = filled(tra_kernel_dtype(k, TRA_USE_JOIN, a->dtype, b->dtype), ext, NAN);
    void *scratch = scratch_for(k, TRA_USE_JOIN, a, b);
    tra_kernel_join(k, a, b, &out, scratch);
    free(scratch);
    return out;
}

/* Is every element within tol of the expected one, relative to it (or to the least normal number, if that is larger),
 * and NaN where NaN is expected? */
static inline bool close_to(const tra_array *got, const tra_array *want, double tol, const char *what) {
    if (!tra_dims_eq(&got->ext, &want->ext)) {
        check_report("%s: wrong extents", what);
        return false;
    }
    for (int64_t i = 0; i < size_of(&got->ext); i++) {
        double g = get(got, i), w = get(want, i);
        double least = got->dtype == TRA_F64 ? 0x1p-1022 : 0x1p-126;
        if (g == w || (isnan(g) && isnan(w)) || fabs(g - w) <= tol * fmax(fabs(w), least)) continue;
        check_report("%s: element %" PRId64 " is %.17g, not %.17g", what, i, g, w);
        return false;
    }
    return true;
}
static inline void same_and_free(tra_array got, tra_array want, double tol, const char *what) {
    close_to(&got, &want, tol, what);
    free(got.data);
    free(want.data);
}

/* Functions of elements by their definition. */
static inline double slow_scalar(tra_scalar_op op, double a, double b, double c) {
    switch (op) {
#define CASE_0(name, def) case TRA_S_##name:
#define CASE_1(name, def)                                                                                              \
    case TRA_S_##name:                                                                                                 \
        return def;
#define CASE_2                         CASE_1
#define CASE_3                         CASE_1
#define X(name, arity, text, cls, def) CASE_##arity(name, def)
        TRA_SCALARS(X)
#undef X
    case TRA_S_ARGMAX:
    case TRA_S_ARGMIN:
    case TRA_S_COUNT: break;
    }
    return (void)b, (void)c, a;
}

#endif
