/* strip_int.h - included by strip.c once for each instruction set: loops over integers, which note what does not fit.
 * ISA: target attribute; NAME(f): the function's name here, undefined at the end.
 *
 * A sum wraps, and has overflowed where its sign is that of neither operand. Products have no such test that is a
 * vector instruction: where all factors fit 32 bits there is nothing to test, else each is tested by itself. */

#define LOOP(expr)                                                                                                     \
    do {                                                                                                               \
        IVDEP for (int64_t i = 0; i < n; i++) d[i] = (expr);                                                           \
        return;                                                                                                        \
    } while (0)

VECTORISED ISA static bool NAME(fits_32)(const int64_t *a, int64_t n) {
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++) beyond |= ((uint64_t)a[i] + ((uint64_t)1 << 31)) >> 32;
    return !beyond;
}

VECTORISED ISA static void NAME(multiply)(int64_t *d, const int64_t *a, const int64_t *b, int64_t n) {
    if (NAME(fits_32)(a, n) && NAME(fits_32)(b, n)) LOOP(a[i] * b[i]);
    bool over = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t r; /* not d[i], which may be a[i] or b[i]: gcc reads these again after the store */
        over |= __builtin_mul_overflow(a[i], b[i], &r);
        d[i] = r;
    }
    tra_overflow |= over;
}

VECTORISED ISA static void NAME(add)(int64_t *d, const int64_t *a, const int64_t *b, int64_t n) {
    uint64_t over = 0;
    IVDEP for (int64_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)a[i], y = (uint64_t)b[i], r = x + y;
        over |= (x ^ r) & (y ^ r);
        d[i] = (int64_t)r;
    }
    tra_overflow |= over >> 63;
}

VECTORISED ISA static void NAME(subtract)(int64_t *d, const int64_t *a, const int64_t *b, int64_t n) {
    uint64_t over = 0;
    IVDEP for (int64_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)a[i], y = (uint64_t)b[i], r = x - y;
        over |= (x ^ y) & (x ^ r);
        d[i] = (int64_t)r;
    }
    tra_overflow |= over >> 63;
}

VECTORISED ISA static void NAME(negate)(int64_t *d, const int64_t *a, int64_t n, bool all) {
    int64_t over = 0; /* below 0 where a[i] and what is made of it are */
    IVDEP for (int64_t i = 0; i < n; i++) {
        uint64_t turned = (uint64_t)(all || a[i] < 0 ? -1 : 0), v = ((uint64_t)a[i] ^ turned) - turned;
        over |= a[i] & (int64_t)v;
        d[i] = (int64_t)v;
    }
    tra_overflow |= over < 0;
}

VECTORISED ISA static void NAME(strip)(tra_scalar_op op, void *dv, const void *av, const void *bv, double value,
                                       int64_t n) {
    int64_t *d = dv, number = tra_int_of(value);
    const int64_t *a = av, *b = tra_scalar_arity(op) == 2 ? bv : av;
    switch (op) {
    case TRA_S_CONST: LOOP(number);
    case TRA_S_WIDE:
    case TRA_S_ARG: LOOP(a[i]);
    case TRA_S_ADD: NAME(add)(d, a, b, n); return;
    case TRA_S_SUB: NAME(subtract)(d, a, b, n); return;
    case TRA_S_MUL: NAME(multiply)(d, a, b, n); return;
    case TRA_S_LT: LOOP(a[i] < b[i]);
    case TRA_S_LE: LOOP(a[i] <= b[i]);
    case TRA_S_GT: LOOP(a[i] > b[i]);
    case TRA_S_GE: LOOP(a[i] >= b[i]);
    case TRA_S_EQ: LOOP(a[i] == b[i]);
    case TRA_S_NE: LOOP(a[i] != b[i]);
    case TRA_S_MAX: LOOP(a[i] > b[i] ? a[i] : b[i]);
    case TRA_S_MIN: LOOP(a[i] < b[i] ? a[i] : b[i]);
    case TRA_S_NEG: NAME(negate)(d, a, n, true); return;
    case TRA_S_ABS: NAME(negate)(d, a, n, false); return;
    case TRA_S_RELU: LOOP(a[i] > 0 ? a[i] : 0);
    case TRA_S_STEP: LOOP(a[i] > 0);
    case TRA_S_POW:
        for (int64_t i = 0; i < n; i++) d[i] = power(a[i], b[i]);
        return;
    case TRA_S_AND: LOOP(a[i] != 0 && b[i] != 0);
    case TRA_S_OR: LOOP(a[i] != 0 || b[i] != 0);
    case TRA_S_NOT: LOOP(a[i] == 0);
    case TRA_S_SOME:
        for (int64_t i = 0; i < n; i++)
            if (a[i] == 0) tra_kernel_fail("there is no max and no min of no rows");
        LOOP(a[i] != 0);
    case TRA_S_ISNAN:
    case TRA_S_ISINF: LOOP(0);
    case TRA_S_SIGN: LOOP((a[i] > 0) - (a[i] < 0));
    case TRA_S_TO_BOOL: LOOP(a[i] != 0);
    case TRA_S_TO_I32:
    case TRA_S_TO_I64:
    case TRA_S_TO_F32:
    case TRA_S_TO_F64:
    case TRA_S_FLOOR:
    case TRA_S_CEIL:
    case TRA_S_ROUND:
    case TRA_S_TRUNC: LOOP(a[i]);
    case TRA_S_MOD:
        for (int64_t i = 0; i < n; i++) d[i] = modulo(a[i], b[i]);
        return;
    case TRA_S_IDIV:
        for (int64_t i = 0; i < n; i++) d[i] = quotient(a[i], b[i]);
        return;
#define F(X, name, ...) case TRA_S_##name:
        TRA_REALS(F, )
#undef F
    case TRA_S_DIV:
    case TRA_S_IF:
    case TRA_S_ARGMAX:
    case TRA_S_ARGMIN:
    case TRA_S_COUNT: break;
    }
    assert(!"an operator of integers");
}

VECTORISED ISA static void NAME(select)(void *dv, const void *cv, const void *av, const void *bv, int64_t n) {
    int64_t *d = dv;
    const int64_t *c = cv, *a = av, *b = bv;
    LOOP(c[i] != 0 ? a[i] : b[i]);
}

VECTORISED ISA static void NAME(first)(tra_dtype t, void *acc, int64_t *place, const void *value, int64_t at,
                                       int64_t step, bool least, int64_t n) {
    const double *x = value;
    const int64_t *k = value;
    if (t == TRA_F64) /* what compares false with itself is NaN */
        for (int64_t i = 0; i < n; i++) {
            double a = ((double *)acc)[i];
            bool takes = (least ? !(x[i] >= a) : !(x[i] <= a)) & (a == a);
            ((double *)acc)[i] = takes ? x[i] : a;
            place[i] = takes ? at + i * step : place[i];
        }
    else
        for (int64_t i = 0; i < n; i++) {
            int64_t a = ((int64_t *)acc)[i];
            bool takes = least ? k[i] < a : k[i] > a;
            ((int64_t *)acc)[i] = takes ? k[i] : a;
            place[i] = takes ? at + i * step : place[i];
        }
}

VECTORISED ISA static void NAME(muladd)(int64_t *acc, const int64_t *x, const int64_t *y, int64_t n, bool wide) {
    if (!wide) {
        IVDEP for (int64_t i = 0; i < n; i++) acc[i] += x[i] * y[i];
        return;
    }
    bool over = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t product;
        over |= __builtin_mul_overflow(x[i], y[i], &product);
        over |= __builtin_add_overflow(acc[i], product, &acc[i]);
    }
    tra_overflow |= over;
}

VECTORISED ISA static int64_t NAME(dot)(const int64_t *x, const int64_t *y, int64_t n, bool wide) {
    int64_t sum = 0;
    bool over = false;
    for (int64_t i = 0; i < n && !wide; i++) sum += x[i] * y[i];
    for (int64_t i = 0; i < n && wide; i++) {
        int64_t product;
        over |= __builtin_mul_overflow(x[i], y[i], &product);
        over |= __builtin_add_overflow(sum, product, &sum);
    }
    tra_overflow |= over;
    return sum;
}

/* c (m x n) += a (m x k) b (k x n), all dense. */
VECTORISED ISA static void NAME(gemm)(int64_t m, int64_t n, int64_t k, const int64_t *a, const int64_t *b, int64_t *c) {
    for (int64_t i = 0; i < m; i++, a += k, c += n) {
        int64_t l = 0;
        for (; l + 4 <= k; l += 4) {
            const int64_t *y = b + l * n, u = a[l], v = a[l + 1], w = a[l + 2], x = a[l + 3];
            IVDEP for (int64_t j = 0; j < n; j++) c[j] += u * y[j] + v * y[n + j] + w * y[2 * n + j] + x * y[3 * n + j];
        }
        for (; l < k; l++) {
            const int64_t *y = b + l * n, x = a[l];
            IVDEP for (int64_t j = 0; j < n; j++) c[j] += x * y[j];
        }
    }
}

#undef LOOP
#undef NAME
