/* strip.c - vector loops over strips of elements, built for several instruction sets and chosen at run time, and the
 * programs of scalar.c run with them.
 *
 * Elementary functions come from SLEEF (within 1 ULP); everything else the compiler vectorises. */
#include "kernel_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The compiler may assume that nobody watches floating-point exceptions or errno; values stay IEEE. */
#ifdef __clang__
#define VECTORISED
#define IVDEP
#else
#define VECTORISED __attribute__((optimize("O3", "no-trapping-math", "no-math-errno")))
#define IVDEP      _Pragma("GCC ivdep")
#endif
#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)

#ifdef __x86_64__
#include <immintrin.h>

/* Declared here because sleef.h hides the variants that the whole file is not compiled for. */
#define SLEEF(vec, suffix, target)                                                                                     \
    target vec Sleef_exp##suffix(vec);                                                                                 \
    target vec Sleef_log##suffix(vec);                                                                                 \
    target vec Sleef_tanh##suffix(vec);                                                                                \
    target vec Sleef_pow##suffix(vec, vec);

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define AVX2   __attribute__((target("avx2,fma")))
SLEEF(__m512d, d8_u10avx512f, AVX512)
SLEEF(__m512, f16_u10avx512f, AVX512)
SLEEF(__m256d, d4_u10avx2, AVX2)
SLEEF(__m256, f8_u10avx2, AVX2)
SLEEF(__m128d, d2_u10sse2, )
SLEEF(__m128, f4_u10sse2, )

#define ISA           AVX512
#define T             double
#define VEC           __m512d
#define NAME(f)       f##_f64_avx512
#define ROOT          _mm512_sqrt_pd
#define ELEMENTARY(f) Sleef_##f##d8_u10avx512f
#include "strip_body.h"
#define T             float
#define VEC           __m512
#define NAME(f)       f##_f32_avx512
#define ROOT          _mm512_sqrt_ps
#define ELEMENTARY(f) Sleef_##f##f16_u10avx512f
#include "strip_body.h"
#undef ISA

#define ISA           AVX2
#define T             double
#define VEC           __m256d
#define NAME(f)       f##_f64_avx2
#define ROOT          _mm256_sqrt_pd
#define ELEMENTARY(f) Sleef_##f##d4_u10avx2
#include "strip_body.h"
#define T             float
#define VEC           __m256
#define NAME(f)       f##_f32_avx2
#define ROOT          _mm256_sqrt_ps
#define ELEMENTARY(f) Sleef_##f##f8_u10avx2
#include "strip_body.h"
#undef ISA

#define ISA
#define T             double
#define VEC           __m128d
#define NAME(f)       f##_f64_base
#define ROOT          _mm_sqrt_pd
#define ELEMENTARY(f) Sleef_##f##d2_u10sse2
#include "strip_body.h"
#define T             float
#define VEC           __m128
#define NAME(f)       f##_f32_base
#define ROOT          _mm_sqrt_ps
#define ELEMENTARY(f) Sleef_##f##f4_u10sse2
#include "strip_body.h"
#undef ISA

#define PICK(f) (has_avx512() ? f##_avx512 : has_avx2() ? f##_avx2 : f##_base)
static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma");
}
static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#else /* other machines: one element at a time through the scalar functions of SLEEF */
#include <sleef.h>
#define ISA
#define T             double
#define VEC           double
#define NAME(f)       f##_f64_base
#define ROOT          sqrt
#define ELEMENTARY(f) Sleef_##f##_u10
#include "strip_body.h"
#define T             float
#define VEC           float
#define NAME(f)       f##_f32_base
#define ROOT          sqrtf
#define ELEMENTARY(f) Sleef_##f##f_u10
#include "strip_body.h"
#undef ISA
#define PICK(f) f##_base
#endif

tra_strip_fn *tra_strip(tra_dtype t) { return t == TRA_F64 ? PICK(strip_f64) : PICK(strip_f32); }
void tra_muladd(double *acc, const double *x, const double *y, int64_t n) { PICK(muladd_f64)(acc, x, y, n); }
double tra_dot(const double *x, const double *y, int64_t n) { return PICK(dot_f64)(x, y, n); }

/* ---- loading ------------------------------------------------------------------------------------------------ */

VECTORISED void tra_convert(void *dst, tra_dtype to, const void *src, tra_dtype from, int64_t n) {
    if (to == from) {
        if (n) memcpy(dst, src, (size_t)n * tra_dtype_size(to));
    } else if (to == TRA_F64) {
        double *d = dst;
        const float *s = src;
        for (int64_t i = 0; i < n; i++) d[i] = s[i];
    } else {
        float *d = dst;
        const double *s = src;
        for (int64_t i = 0; i < n; i++) d[i] = (float)s[i];
    }
}

static void gather(void *dst, tra_dtype to, const void *src, tra_dtype from, int64_t at, int64_t s, int64_t n) {
#define GATHER(dtype, stype)                                                                                           \
    for (int64_t i = 0; i < n; i++) ((dtype *)dst)[i] = (dtype)((const stype *)src)[at + i * s];
    if (to == TRA_F64 && from == TRA_F64) {
        GATHER(double, double)
    } else if (to == TRA_F64) {
        GATHER(double, float)
    } else if (from == TRA_F64) {
        GATHER(float, double)
    } else {
        GATHER(float, float)
    }
#undef GATHER
}

const void *tra_load(const void *data, tra_dtype t, int64_t at, int64_t s, int64_t n, tra_dtype to, void *buf) {
    if (s == 1 && t == to) return (const char *)data + (size_t)at * tra_dtype_size(t);
    if (s == 1)
        tra_convert(buf, to, (const char *)data + (size_t)at * tra_dtype_size(t), t, n);
    else if (s == 0 && n > 0)
        tra_strip(to)(TRA_S_CONST, buf, NULL, NULL, tra_get(data, t, at), n);
    else
        gather(buf, to, data, t, at, s, n);
    return buf;
}

/* ---- programs ----------------------------------------------------------------------------------------------- */

/* How the offset of an operand that is broadcast to the extents of the result steps along them. */
static void broadcast(const tra_array *a, const tra_dims *out, tra_nest *nest) {
    int64_t stride[TRA_MAXDIM];
    nest->n = 0;
    tra_strides(&a->ext, stride);
    for (int d = 0; d < out->n; d++) {
        int da = d - (out->n - a->ext.n);
        bool still = da < 0 || (a->ext.v[da] == 1 && out->v[d] != 1);
        tra_nest_add(nest, out->v[d], still ? 0 : stride[da], 0, 0);
    }
}

/* The n elements from position pos of the result on, as type t: in place, or in buf. nest is coalesced; it is empty for
 * a single element. */
static const void *operand_load(const tra_array *a, const tra_nest *nest, int64_t pos, int64_t n, tra_dtype t,
                                void *buf) {
    if (nest->n == 0) return tra_load(a->data, a->dtype, 0, 0, n, t, buf);
    if (nest->n == 1) return tra_load(a->data, a->dtype, pos * nest->v[0].s[0], nest->v[0].s[0], n, t, buf);
    /* row by row of the last loop, from pos on */
    tra_nest rows;
    rows.n = 0;
    tra_nest_append(&rows, nest);
    tra_loop row = rows.v[--rows.n];
    int64_t rest = pos / row.n, in_row = pos % row.n, off[3] = {0};
    for (int d = rows.n - 1; d >= 0; rest /= rows.v[d].n, d--) {
        rows.v[d].at = rest % rows.v[d].n;
        off[0] += rows.v[d].at * rows.v[d].s[0];
    }
    for (int64_t done = 0; done < n; tra_nest_next(&rows, off)) {
        int64_t len = tra_min64(n - done, row.n - in_row);
        void *to = (char *)buf + (size_t)done * tra_dtype_size(t);
        const void *got = tra_load(a->data, a->dtype, off[0] + in_row * row.s[0], row.s[0], len, t, to);
        if (got != to) memcpy(to, got, (size_t)len * tra_dtype_size(t));
        done += len;
        in_row = 0;
    }
    return buf;
}

void tra_code_strip(const tra_code *code, double (*regs)[TRA_STRIP], const void *const *in, tra_dtype t, int64_t n,
                    void *d) {
    tra_strip_fn *strip = tra_strip(t);
    for (int i = 0; i < code->n; i++) {
        const tra_insn *c = &code->v[i];
        strip(c->op, i == code->n - 1 ? d : regs[c->d], c->a < 0 ? in[~c->a] : regs[c->a],
              c->b < 0 ? in[~c->b] : regs[c->b], c->value, n);
    }
}

void tra_code_nests(const tra_code *code, int nargs, const tra_array *const *arg, tra_nest *nest,
                    const tra_array *out) {
    assert(code->nregs <= TRA_MAXREGS && nargs <= 2);
    double regs[code->nregs + 2][TRA_STRIP] __attribute__((aligned(64)));
    tra_dtype t = out->dtype;
    int64_t n = tra_elements(&out->ext);
    if (n == 0) return;
    for (int i = 0; i < nargs; i++) tra_nest_coalesce(&nest[i]);
    for (int64_t pos = 0; pos < n; pos += TRA_STRIP) {
        int64_t len = tra_min64(TRA_STRIP, n - pos);
        const void *in[2] = {NULL, NULL};
        for (int i = 0; i < nargs; i++) in[i] = operand_load(arg[i], &nest[i], pos, len, t, regs[code->nregs + i]);
        tra_code_strip(code, regs, in, t, len, (char *)out->data + (size_t)pos * tra_dtype_size(t));
    }
}

void tra_code_run(const tra_code *code, const tra_array *a, const tra_array *b, const tra_array *out) {
    const tra_array *arg[2] = {a, b};
    tra_nest nest[2];
    for (int i = 0; i < 2 && arg[i]; i++) broadcast(arg[i], &out->ext, &nest[i]);
    tra_code_nests(code, b ? 2 : 1, arg, nest, out);
}
