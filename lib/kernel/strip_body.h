/* strip_body.h - included by strip.c once for each element type and instruction set.
 * T: the element; VEC: a vector of them; ISA: target attribute; NAME(f): the function's name here; ELEMENTARY(f): f of
 * SLEEF on VEC; ROOT: square root of VEC. All but ISA are undefined at the end. */

#define LOOP(expr)                                                                                                     \
    do {                                                                                                               \
        IVDEP for (int64_t i = 0; i < n; i++) d[i] = (T)(expr);                                                        \
        return;                                                                                                        \
    } while (0)

/* A function of the C library for T, which the compiler turns into instructions. */
#define REAL(name, x) (sizeof(T) == sizeof(float) ? (T)name##f((float)(x)) : (T)name((double)(x)))
#define ABS(x)        REAL(fabs, x)

/* The last vector is filled up with zeros; x is a's, y is b's. */
#define VECTORS(expr)                                                                                                  \
    do {                                                                                                               \
        enum { LANES = sizeof(VEC) / sizeof(T) };                                                                      \
        for (int64_t i = 0; i < n; i += LANES) {                                                                       \
            size_t bytes = (size_t)(n - i < LANES ? n - i : LANES) * sizeof(T);                                        \
            VEC x = {0}, y = {0};                                                                                      \
            if (bytes == sizeof(VEC)) {                                                                                \
                memcpy(&x, a + i, sizeof(VEC));                                                                        \
                memcpy(&y, b + i, sizeof(VEC));                                                                        \
                VEC r = (expr);                                                                                        \
                memcpy(d + i, &r, sizeof(VEC));                                                                        \
            } else {                                                                                                   \
                memcpy(&x, a + i, bytes);                                                                              \
                memcpy(&y, b + i, bytes);                                                                              \
                VEC r = (expr);                                                                                        \
                memcpy(d + i, &r, bytes);                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        return;                                                                                                        \
    } while (0)

#define UNARY(name)     VECTORS(((void)y, ELEMENTARY(name, u10)(x)))
#define BINARY(name, u) VECTORS(ELEMENTARY(name, u)(x, y))

/* SLEEF's sinh and cosh return infinity for arguments near the end of the range whose results are still finite; the C
 * library's do not, so such arguments go to them. An element's bits do not depend on the others of its vector. */
#define HYPERBOLIC(name)                                                                                               \
    do {                                                                                                               \
        const T most = sizeof(T) == sizeof(float) ? (T)88 : (T)709;                                                    \
        bool beyond = false;                                                                                           \
        for (int64_t i = 0; i < n; i++) beyond |= ABS(a[i]) > most;                                                    \
        if (!beyond) VECTORS(((void)y, ELEMENTARY(name, u10)(x)));                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            VEC x = {0};                                                                                               \
            memcpy(&x, a + i, sizeof(T));                                                                              \
            if (ABS(a[i]) > most) {                                                                                    \
                d[i] = REAL(name, a[i]);                                                                               \
                continue;                                                                                              \
            }                                                                                                          \
            x = ELEMENTARY(name, u10)(x);                                                                              \
            memcpy(d + i, &x, sizeof(T));                                                                              \
        }                                                                                                              \
        return;                                                                                                        \
    } while (0)

VECTORISED ISA static void NAME(strip)(tra_scalar_op op, void *dv, const void *av, const void *bv, double value,
                                       int64_t n) {
    T *d = dv;
    const T *a = av, *b = tra_scalar_arity(op) == 2 ? bv : av;
    switch (op) {
    case TRA_S_CONST: LOOP(value);
    case TRA_S_WIDE: /* of integers alone */
    case TRA_S_ARG: LOOP(a[i]);
    case TRA_S_ADD: LOOP(a[i] + b[i]);
    case TRA_S_SUB: LOOP(a[i] - b[i]);
    case TRA_S_MUL: LOOP(a[i] * b[i]);
    case TRA_S_DIV: LOOP(a[i] / b[i]);
    case TRA_S_LT: LOOP(a[i] < b[i] ? (T)1 : (T)0);
    case TRA_S_LE: LOOP(a[i] <= b[i] ? (T)1 : (T)0);
    case TRA_S_GT: LOOP(a[i] > b[i] ? (T)1 : (T)0);
    case TRA_S_GE: LOOP(a[i] >= b[i] ? (T)1 : (T)0);
    case TRA_S_EQ: LOOP(a[i] == b[i] ? (T)1 : (T)0);
    case TRA_S_NE: LOOP(a[i] != b[i] ? (T)1 : (T)0);
    case TRA_S_MAX: LOOP(a[i] != a[i] ? a[i] : b[i] != b[i] ? b[i] : a[i] > b[i] ? a[i] : b[i]);
    case TRA_S_MIN: LOOP(a[i] != a[i] ? a[i] : b[i] != b[i] ? b[i] : a[i] < b[i] ? a[i] : b[i]);
    case TRA_S_AND: LOOP(a[i] != 0 && b[i] != 0 ? (T)1 : (T)0);
    case TRA_S_OR: LOOP(a[i] != 0 || b[i] != 0 ? (T)1 : (T)0);
    case TRA_S_NOT: LOOP(a[i] == 0 ? (T)1 : (T)0);
    case TRA_S_SOME: LOOP(a[i] != 0 ? (T)1 : (T)0); /* of integers alone: nothing is noted */
    case TRA_S_ISNAN: LOOP(a[i] != a[i] ? (T)1 : (T)0);
    case TRA_S_ISINF: LOOP(ABS(a[i]) == (T)INFINITY ? (T)1 : (T)0);
    case TRA_S_MOD:
        for (int64_t i = 0; i < n; i++) d[i] = (T)tra_mod((double)a[i], (double)b[i]);
        return;
    case TRA_S_NEG: LOOP(-a[i]);
    case TRA_S_ABS: LOOP(ABS(a[i]));
    case TRA_S_SIGN: LOOP(a[i] > 0 ? (T)1 : a[i] < 0 ? (T)-1 : a[i]);
    case TRA_S_FLOOR: LOOP(REAL(floor, a[i]));
    case TRA_S_CEIL: LOOP(REAL(ceil, a[i]));
    case TRA_S_ROUND: LOOP(REAL(rint, a[i]));
    case TRA_S_TRUNC: LOOP(REAL(trunc, a[i]));
    case TRA_S_TO_BOOL: LOOP(a[i] != 0 ? (T)1 : (T)0);
    case TRA_S_TO_F32:
    case TRA_S_TO_F64: LOOP(a[i]);
    case TRA_S_TO_I32:
    case TRA_S_TO_I64: {
        double end = op == TRA_S_TO_I32 ? 0x1p31 : 0x1p63; /* what is no such number is noted, and 0 */
        bool fits = true;
        for (int64_t i = 0; i < n; i++) {
            double whole = trunc((double)a[i]);
            bool inside = whole >= -end && whole < end;
            fits &= inside;
            d[i] = inside ? (T)whole : (T)0;
        }
        tra_overflow |= !fits;
        return;
    }
    case TRA_S_RELU: LOOP(a[i] != a[i] ? a[i] : a[i] > 0 ? a[i] : (T)0);
    case TRA_S_STEP: LOOP(a[i] > 0 ? (T)1 : (T)0);
    case TRA_S_IDIV: LOOP(floor((double)a[i] / (double)b[i])); /* as defined, also of f32 */
    case TRA_S_POW: VECTORS(ELEMENTARY(pow, u10)(x, y));
#define F(X, name, arity, text, def, loop)                                                                             \
    case TRA_S_##name: loop;
        TRA_REALS(F, )
#undef F
    case TRA_S_IF: /* select_values */
    case TRA_S_ARGMAX:
    case TRA_S_ARGMIN:
    case TRA_S_COUNT: break;
    }
    assert(!"a scalar operator");
}

VECTORISED ISA static void NAME(select)(void *dv, const void *cv, const void *av, const void *bv, int64_t n) {
    T *d = dv;
    const T *c = cv, *a = av, *b = bv;
    LOOP(c[i] != 0 ? a[i] : b[i]);
}

/* Sums are in f64 whatever the element, so these exist for it alone; lanes are fixed, not the machine's. */
VECTORISED ISA __attribute__((unused)) static void NAME(muladd)(T *acc, const T *x, const T *y, int64_t n) {
    IVDEP for (int64_t i = 0; i < n; i++) acc[i] += x[i] * y[i];
}

VECTORISED ISA __attribute__((unused)) static void NAME(addup)(double *acc, const T *x, int64_t n) {
    IVDEP for (int64_t i = 0; i < n; i++) acc[i] += (double)x[i];
}

VECTORISED ISA __attribute__((unused)) static void NAME(fill)(T *d, T x, int64_t n) {
    IVDEP for (int64_t i = 0; i < n; i++) d[i] = x;
}

VECTORISED ISA __attribute__((unused)) static T NAME(dot)(const T *x, const T *y, int64_t n) {
    T sum[16] = {0}; /* no vector: those larger than a register the compiler keeps in memory */
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int l = 0; l < 16; l++) sum[l] += x[i + l] * y[i + l];
    T total = 0;
    for (int l = 0; l < 16; l++) total += sum[l];
    for (; i < n; i++) total += x[i] * y[i];
    return total;
}

#undef LOOP
#undef REAL
#undef ABS
#undef VECTORS
#undef UNARY
#undef BINARY
#undef HYPERBOLIC
#undef T
#undef VEC
#undef NAME
#undef ROOT
#undef ELEMENTARY
