/* strip.c - vector loops over strips of elements, built for several instruction sets and chosen at run time, and the
 * programs of scalar.c run with them.
 *
 * Elementary functions come from SLEEF (within 1 ULP); everything else the compiler vectorises. */
#include "kernel_int.h"

#include "../base/simd.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
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

bool tra_kernel_overflowed(void) {
    bool over = tra_overflow;
    tra_overflow = false;
    return over;
}

/* a to the power of n, which is not negative. */
static int64_t power(int64_t a, int64_t n) {
    int64_t r = 1;
    bool over = false;
    for (; n > 0; n >>= 1) {
        if (n & 1) over |= __builtin_mul_overflow(r, a, &r);
        if (n > 1) over |= __builtin_mul_overflow(a, a, &a);
    }
    tra_overflow |= over;
    return r;
}

/* Of the sign of b; 0 where b is 0. */
static int64_t modulo(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* 0 where b is 0. */
static int64_t quotient(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) {
        tra_overflow |= a == INT64_MIN;
        return (int64_t)(0 - (uint64_t)a);
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

#ifdef __x86_64__
#include <immintrin.h>

/* Declared here because sleef.h hides the variants that the whole file is not compiled for. */
#define SLEEF(vec, suffix, isa, target)                                                                                \
    target vec Sleef_exp##suffix##_u10##isa(vec);                                                                      \
    target vec Sleef_expm1##suffix##_u10##isa(vec);                                                                    \
    target vec Sleef_log##suffix##_u10##isa(vec);                                                                      \
    target vec Sleef_log1p##suffix##_u10##isa(vec);                                                                    \
    target vec Sleef_log10##suffix##_u10##isa(vec);                                                                    \
    target vec Sleef_sin##suffix##_u10##isa(vec);                                                                      \
    target vec Sleef_cos##suffix##_u10##isa(vec);                                                                      \
    target vec Sleef_tan##suffix##_u10##isa(vec);                                                                      \
    target vec Sleef_asin##suffix##_u10##isa(vec);                                                                     \
    target vec Sleef_acos##suffix##_u10##isa(vec);                                                                     \
    target vec Sleef_atan##suffix##_u10##isa(vec);                                                                     \
    target vec Sleef_sinh##suffix##_u10##isa(vec);                                                                     \
    target vec Sleef_cosh##suffix##_u10##isa(vec);                                                                     \
    target vec Sleef_tanh##suffix##_u10##isa(vec);                                                                     \
    target vec Sleef_erf##suffix##_u10##isa(vec);                                                                      \
    target vec Sleef_pow##suffix##_u10##isa(vec, vec);                                                                 \
    target vec Sleef_atan2##suffix##_u10##isa(vec, vec);                                                               \
    target vec Sleef_hypot##suffix##_u05##isa(vec, vec);

#define AVX512 TRA_TARGET_AVX512
#define AVX2   TRA_TARGET_AVX2
SLEEF(__m512d, d8, avx512f, AVX512)
SLEEF(__m512, f16, avx512f, AVX512)
SLEEF(__m256d, d4, avx2, AVX2)
SLEEF(__m256, f8, avx2, AVX2)
SLEEF(__m128d, d2, sse2, )
SLEEF(__m128, f4, sse2, )

#define ISA              AVX512
#define T                double
#define VEC              __m512d
#define NAME(f)          f##_f64_avx512
#define ROOT             _mm512_sqrt_pd
#define ELEMENTARY(f, u) Sleef_##f##d8_##u##avx512f
#include "strip_body.h"
#define T                float
#define VEC              __m512
#define NAME(f)          f##_f32_avx512
#define ROOT             _mm512_sqrt_ps
#define ELEMENTARY(f, u) Sleef_##f##f16_##u##avx512f
#include "strip_body.h"
#define NAME(f) f##_int_avx512
#include "strip_int.h"
#undef ISA

#define ISA              AVX2
#define T                double
#define VEC              __m256d
#define NAME(f)          f##_f64_avx2
#define ROOT             _mm256_sqrt_pd
#define ELEMENTARY(f, u) Sleef_##f##d4_##u##avx2
#include "strip_body.h"
#define T                float
#define VEC              __m256
#define NAME(f)          f##_f32_avx2
#define ROOT             _mm256_sqrt_ps
#define ELEMENTARY(f, u) Sleef_##f##f8_##u##avx2
#include "strip_body.h"
#define NAME(f) f##_int_avx2
#include "strip_int.h"
#undef ISA

#define ISA
#define T                double
#define VEC              __m128d
#define NAME(f)          f##_f64_base
#define ROOT             _mm_sqrt_pd
#define ELEMENTARY(f, u) Sleef_##f##d2_##u##sse2
#include "strip_body.h"
#define T                float
#define VEC              __m128
#define NAME(f)          f##_f32_base
#define ROOT             _mm_sqrt_ps
#define ELEMENTARY(f, u) Sleef_##f##f4_##u##sse2
#include "strip_body.h"
#define NAME(f) f##_int_base
#include "strip_int.h"
#undef ISA

#define PICK(f)                                                                                                        \
    (tra_simd_here() == TRA_SIMD_AVX512 ? f##_avx512 : tra_simd_here() == TRA_SIMD_AVX2 ? f##_avx2 : f##_base)

#else /* other machines: one element at a time through the scalar functions of SLEEF */
#include <sleef.h>
#define ISA
#define T                double
#define VEC              double
#define NAME(f)          f##_f64_base
#define ROOT             sqrt
#define ELEMENTARY(f, u) Sleef_##f##_##u
#include "strip_body.h"
#define T                float
#define VEC              float
#define NAME(f)          f##_f32_base
#define ROOT             sqrtf
#define ELEMENTARY(f, u) Sleef_##f##f_##u
#include "strip_body.h"
#define NAME(f) f##_int_base
#include "strip_int.h"
#undef ISA
#define PICK(f) f##_base
#endif

tra_strip_fn *tra_strip(tra_dtype t) {
    switch (t) {
    case TRA_F64: return PICK(strip_f64);
    case TRA_F32: return PICK(strip_f32);
    case TRA_WHOLES: return PICK(strip_int);
    }
    assert(!"an element type");
    return NULL;
}

/* d[i] = cond[i] != 0 ? a[i] : b[i], all in the type in which t is computed. */
static void select_values(tra_dtype t, void *d, const void *cond, const void *a, const void *b, int64_t n) {
    switch (t) {
    case TRA_F64: PICK(select_f64)(d, cond, a, b, n); return;
    case TRA_F32: PICK(select_f32)(d, cond, a, b, n); return;
    case TRA_WHOLES: PICK(select_int)(d, cond, a, b, n); return;
    }
}

void tra_add_f32(double *acc, const float *x, int64_t n) { PICK(addup_f32)(acc, x, n); }

void tra_fill_strip(void *d, tra_dtype t, const void *one, int64_t n) {
    switch (tra_dtype_size(t)) { /* bits alone: nothing is computed with them */
    case 8: PICK(fill_f64)(d, *(const double *)one, n); return;
    case 4: PICK(fill_f32)(d, *(const float *)one, n); return;
    case 2:
        for (int64_t i = 0; i < n; i++) ((uint16_t *)d)[i] = *(const uint16_t *)one;
        return;
    default: memset(d, *(const uint8_t *)one, (size_t)n);
    }
}

void tra_muladd(double *acc, const double *x, const double *y, int64_t n) { PICK(muladd_f64)(acc, x, y, n); }
double tra_dot(const double *x, const double *y, int64_t n) { return PICK(dot_f64)(x, y, n); }
void tra_strip_first(tra_dtype t, void *acc, int64_t *place, const void *value, int64_t at, int64_t step, bool least,
                     int64_t n) {
    PICK(first_int)(t, acc, place, value, at, step, least, n);
}
void tra_muladd_int(int64_t *acc, const int64_t *x, const int64_t *y, int64_t n, bool wide) {
    PICK(muladd_int)(acc, x, y, n, wide);
}
int64_t tra_dot_int(const int64_t *x, const int64_t *y, int64_t n, bool wide) { return PICK(dot_int)(x, y, n, wide); }

void tra_gemm_int(int64_t m, int64_t n, int64_t k, const int64_t *a, const int64_t *b, int64_t *c, bool wide) {
    if (!wide) {
        PICK(gemm_int)(m, n, k, a, b, c);
        return;
    }
    bool over = false;
    for (int64_t i = 0; i < m; i++, a += k, c += n)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) {
                int64_t product;
                over |= __builtin_mul_overflow(a[l], b[l * n + j], &product);
                over |= __builtin_add_overflow(c[j], product, &c[j]);
            }
    tra_overflow |= over;
}

double tra_identity(double identity, tra_dtype t) {
    if (tra_dtype_is_float(t) || tra_dtype_size(t) == 8) return identity;
    return fmin(fmax(identity, (double)tra_dtype_least(t)), (double)tra_dtype_most(t));
}

/* ---- loading ------------------------------------------------------------------------------------------------ */

/* Elements of one type to any other, at strides: a function for each type of src. What is no number of a narrower type
 * of integers is noted. */
#define IS_NARROW(dtype)                                                                                               \
    (sizeof(dtype) < 8 && (double)(dtype)0.5 == 0 && (dtype)-1 < (dtype)1)                  /* no float, no bool       \
                                                                                             */
#define LOST(dtype, v) (IS_NARROW(dtype) ? (int64_t)(v) ^ (int64_t)(dtype)(int64_t)(v) : 0) /* 0: it fits */
#define MOVE(name, dtype)                                                                                              \
    case TRA_##name: {                                                                                                 \
        dtype *d = dst;                                                                                                \
        int64_t lost = 0;                                                                                              \
        if (sd == 1 && ss == 1)                                                                                        \
            for (int64_t i = 0; i < n; i++) d[i] = (dtype)s[i], lost |= LOST(dtype, s[i]);                             \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) d[i * sd] = (dtype)s[i * ss], lost |= LOST(dtype, s[i * ss]);              \
        tra_overflow |= lost != 0;                                                                                     \
        return;                                                                                                        \
    }
#define X(name, text, stype, ...)                                                                                      \
    TRA_ANY_TARGET VECTORISED static void from_##name(void *dst, tra_dtype to, int64_t sd, const stype *s, int64_t ss, \
                                                      int64_t n) {                                                     \
        switch (to) { TRA_CTYPES(MOVE) }                                                                               \
    }
TRA_DTYPES(X)
#undef X

static void move(void *dst, tra_dtype to, int64_t sd, const void *src, tra_dtype from, int64_t ss, int64_t n) {
    switch (from) {
#define X(name, ...)                                                                                                   \
    case TRA_##name: from_##name(dst, to, sd, src, ss, n); return;
        TRA_DTYPES(X)
#undef X
    }
}

/* Whole rows of a nest whose rows are short, one after the other: `rows` of n elements each, at strides sr and s. */
#define SPREAD(name, dtype)                                                                                            \
    case TRA_##name:                                                                                                   \
        for (int64_t r = 0; r < rows; r++, s += sr)                                                                    \
            for (int64_t i = 0; i < n; i++) ((dtype *)dst)[r * n + i] = (dtype)s[i * ss];                              \
        return true;
#define X(name, text, stype, ...)                                                                                      \
    VECTORISED static bool spread_##name(void *dst, tra_dtype to, const stype *s, int64_t sr, int64_t rows,            \
                                         int64_t ss, int64_t n) {                                                      \
        switch (to) {                                                                                                  \
            SPREAD(F64, double)                                                                                        \
            SPREAD(F32, float)                                                                                         \
            SPREAD(I64, int64_t)                                                                                       \
        default: return false;                                                                                         \
        }                                                                                                              \
    }
TRA_DTYPES(X)
#undef X

/* False, and nothing is done, if it has no loops for these types. */
static bool spread(void *dst, tra_dtype to, const void *src, tra_dtype from, int64_t sr, int64_t rows, int64_t ss,
                   int64_t n) {
    switch (from) {
#define X(name, ...)                                                                                                   \
    case TRA_##name: return spread_##name(dst, to, src, sr, rows, ss, n);
        TRA_DTYPES(X)
#undef X
    }
    return false;
}

static const void *element(const void *data, tra_dtype t, int64_t at) {
    return (const char *)data + at * (int64_t)tra_dtype_size(t);
}

void tra_convert(void *dst, tra_dtype to, const void *src, tra_dtype from, int64_t n) {
    if (to != from)
        move(dst, to, 1, src, from, 1, n);
    else if (n)
        memcpy(dst, src, (size_t)n * tra_dtype_size(to));
}

void tra_store(void *dst, tra_dtype to, int64_t at, int64_t s, const void *src, tra_dtype from, int64_t n) {
    move((char *)dst + at * (int64_t)tra_dtype_size(to), to, s, src, from, 1, n);
}

const void *tra_load(const void *data, tra_dtype t, int64_t at, int64_t s, int64_t n, tra_dtype to, void *buf) {
    if (s == 1 && t == to) return element(data, t, at);
    if (s == 0 && n > 0 && tra_dtype_is_float(to))
        tra_strip(to)(TRA_S_CONST, buf, NULL, NULL, tra_get(data, t, at), n);
    else
        move(buf, to, 1, element(data, t, at), t, s, n);
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
    tra_loop *next = &rows.v[rows.n - 1]; /* whose steps are rows */
    for (int64_t done = 0; done < n; tra_nest_next(&rows, off)) {
        int64_t len = tra_min64(n - done, row.n - in_row);
        void *to = (char *)buf + (size_t)done * tra_dtype_size(t);
        int64_t whole = in_row || row.n >= TRA_SHORT ? 0 : tra_min64((n - done) / row.n, next->n - next->at);
        const void *from = element(a->data, a->dtype, off[0]);
        if (whole > 1 && spread(to, t, from, a->dtype, next->s[0], whole, row.s[0], row.n)) {
            done += whole * row.n;
            off[0] += (whole - 1) * next->s[0];
            next->at += whole - 1;
            continue;
        }
        const void *got = tra_load(a->data, a->dtype, off[0] + in_row * row.s[0], row.s[0], len, t, to);
        if (got != to) memcpy(to, got, (size_t)len * tra_dtype_size(t));
        done += len;
        in_row = 0;
    }
    return buf;
}

/* The operand of an instruction as elements of type `in`: where it is, or in buf. */
static const void *source(const tra_insn_read *x, tra_dtype in, double (*regs)[TRA_STRIP], const void *const *arg,
                          int64_t n, void *buf) {
    if (x->is_number) {
        if (in == TRA_I64)
            tra_fill_strip(buf, TRA_I64, &x->whole, n);
        else
            tra_strip(in)(TRA_S_CONST, buf, NULL, NULL, x->number, n);
        return buf;
    }
    const void *at = x->at < 0 ? arg[~x->at] : regs[x->at];
    if (x->from == in) return at;
    tra_convert(buf, in, at, x->from, n);
    return buf;
}

/* Does every result fit the type of the operands? The operator chooses one of them, or its result is no larger. */
static bool stays(tra_scalar_op op) {
    tra_scalar_class class = tra_scalar_class_of(op);
    return class == TRA_SC_IF || (class == TRA_SC_SAME && op != TRA_S_IDIV);
}

static void run_typed(const tra_typed *code, double (*regs)[TRA_STRIP], const void *const *in, int64_t n, void *d,
                      tra_dtype to) {
    double abuf[TRA_STRIP], bbuf[TRA_STRIP], cbuf[TRA_STRIP];
    for (int i = 0; i < code->n; i++) {
        const tra_typed_insn *c = &code->v[i];
        bool last = i == code->n - 1, binary = tra_scalar_arity(c->op) >= 2;
        void *to_reg = last && to == c->in ? d : regs[c->d];
        bool number = c->op == TRA_S_CONST;
        const void *a = number ? source(&c->a, c->in, NULL, NULL, n, to_reg) : source(&c->a, c->in, regs, in, n, abuf);
        const void *b = binary ? source(&c->b, c->in, regs, in, n, bbuf) : NULL;
        if (number)
            ; /* it is there */
        else if (c->op == TRA_S_IF)
            select_values(c->in, to_reg, a, b, source(&c->c, c->in, regs, in, n, cbuf), n);
        else if (code->kill && code->kill[c->from])
            tra_strip_kill(c->in, c->op, to_reg, a, b, c->a.number, n, code->kill[c->from]);
        else
            tra_strip(c->in)(c->op, to_reg, a, b, c->a.number, n);
        if (last && to_reg != d) tra_convert(d, to, to_reg, c->in, n);
        /* a narrow integer is computed as i64, in which nothing of this overflows: does it fit? */
        if (tra_dtype_rows[c->type].class == TRA_CLASS_INT && tra_dtype_size(c->type) < 8 && !stays(c->op)) {
            int32_t narrow[TRA_STRIP];
            if (!last || to != c->type) tra_convert(narrow, c->type, to_reg, c->in, n);
        }
    }
}

void tra_typed_strip(const tra_typed *p, double (*regs)[TRA_STRIP], const void *const *in, int64_t n, void *d,
                     tra_dtype to) {
    if (!p->alike) {
        run_typed(p, regs, in, n, d, to);
        return;
    }
    const tra_code *code = p->code; /* without conditions, which are bools */
    tra_strip_fn *strip = tra_strip(p->type);
    double own[TRA_STRIP];
    for (int i = 0; i < code->n; i++) {
        const tra_insn *c = &code->v[i];
        void *last = p->type == to ? d : own, *to_reg = i == code->n - 1 ? last : regs[c->d];
        const void *a = c->a < 0 ? in[~c->a] : regs[c->a], *b = c->b < 0 ? in[~c->b] : regs[c->b];
        if (p->kill && p->kill[i])
            tra_strip_kill(p->type, c->op, to_reg, a, b, c->value, n, p->kill[i]);
        else
            strip(c->op, to_reg, a, b, c->value, n);
    }
    if (p->type != to) tra_convert(d, to, own, p->type, n);
}

void tra_code_nests(const tra_code *code, int nargs, const tra_array *const *arg, tra_nest *nest, const tra_array *out,
                    const bool *sparse) {
    assert(code->nregs <= TRA_MAXREGS && nargs <= 2);
    double regs[code->nregs + 2][TRA_STRIP] __attribute__((aligned(64)));
    tra_dtype types[2] = {arg[0]->dtype, arg[nargs - 1]->dtype};
    int64_t n = tra_elements_of(&out->ext);
    if (n == 0) return;
    tra_typed *typed = tra_code_ready(code, nargs, types, false, sparse);
    for (int i = 0; i < nargs; i++) tra_nest_coalesce(&nest[i]);
    for (int64_t pos = 0; pos < n; pos += TRA_STRIP) {
        int64_t len = tra_min64(TRA_STRIP, n - pos);
        const void *in[2] = {NULL, NULL};
        for (int i = 0; i < nargs; i++)
            in[i] = operand_load(arg[i], &nest[i], pos, len, typed->load[i], regs[code->nregs + i]);
        tra_typed_strip(typed, regs, in, len, (char *)out->data + (size_t)pos * tra_dtype_size(out->dtype), out->dtype);
    }
    free(typed);
}

void tra_code_run(const tra_code *code, const tra_array *a, const tra_array *b, const tra_array *out,
                  const bool *sparse) {
    const tra_array *arg[2] = {a, b};
    tra_nest nest[2];
    for (int i = 0; i < 2 && arg[i]; i++) broadcast(arg[i], &out->ext, &nest[i]);
    tra_code_nests(code, b ? 2 : 1, arg, nest, out, sparse);
}
