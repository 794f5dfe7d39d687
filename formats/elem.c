/* elem.c - element types of other programs' files, and their conversion to f64 and f32. */
#include "io.h"

#include <assert.h>
#include <math.h>
#include <string.h>

size_t tra_elem_size(tra_elem k) {
    static const size_t size[] = {
#define X(name, text, ctype) [TRA_ELEM_##name] = sizeof(ctype),
        TRA_ELEMS(X)
#undef X
    };
    return size[k];
}

const char *tra_elem_name(tra_elem k) {
    static const char *const name[] = {
#define X(name, text, ctype) [TRA_ELEM_##name] = text,
        TRA_ELEMS(X)
#undef X
    };
    return name[k];
}

tra_dtype tra_elem_dtype(tra_elem k) { return k == TRA_ELEM_F32 || k == TRA_ELEM_F16 ? TRA_F32 : TRA_F64; }

/* Turns the bytes of n elements. */
static void turn(void *p, size_t size, int64_t n) {
    char *b = p;
    if (size == 8)
        for (int64_t i = 0; i < n; i++) {
            uint64_t x;
            memcpy(&x, b + 8 * i, 8);
            x = __builtin_bswap64(x);
            memcpy(b + 8 * i, &x, 8);
        }
    else if (size == 4)
        for (int64_t i = 0; i < n; i++) {
            uint32_t x;
            memcpy(&x, b + 4 * i, 4);
            x = __builtin_bswap32(x);
            memcpy(b + 4 * i, &x, 4);
        }
    else if (size == 2)
        for (int64_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, b + 2 * i, 2);
            x = __builtin_bswap16(x);
            memcpy(b + 2 * i, &x, 2);
        }
    else
        assert(size == 1);
}

static float half(uint16_t h) {
    unsigned exponent = h >> 10 & 31, mantissa = h & 1023;
    float x;
    if (exponent == 31)
        x = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        x = ldexpf((float)mantissa, -24);
    else
        x = ldexpf((float)(mantissa | 1024), (int)exponent - 25);
    return h & 0x8000 ? -x : x;
}

/* One row for each source type: how a value becomes a number, and what may be lost on the way to a narrower type. A
 * long double holds every 64-bit integer and every double, so equality there is equality. */
#define VALUE(x)       (x)
#define NONZERO(x)     ((x) != 0)
#define NEVER(x, y)    0
#define ROUNDED(x, y)  ((long double)(y) != (long double)(x))
#define GONE_INF(x, y) (isfinite(x) && !isfinite(y))

#define CONVERT(ctype, to_ctype, get, inexact_, overflow_)                                                             \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        ctype x;                                                                                                       \
        memcpy(&x, in + i * (int64_t)sizeof x, sizeof x);                                                              \
        to_ctype y = (to_ctype)get(x);                                                                                 \
        memcpy(out + i * (int64_t)sizeof y, &y, sizeof y);                                                             \
        loss->inexact += inexact_(x, y);                                                                               \
        loss->overflow += overflow_(x, y);                                                                             \
    }                                                                                                                  \
    break

/* Signed conversions are not exact where the source has more digits than the target's mantissa. */
static void to_f64(tra_elem k, const char *in, char *out, int64_t n, tra_losses *loss) {
    switch (k) {
    case TRA_ELEM_F64:
        if (in != out) memcpy(out, in, (size_t)n * 8);
        break;
    case TRA_ELEM_F32: CONVERT(float, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_F16: CONVERT(uint16_t, double, half, NEVER, NEVER);
    case TRA_ELEM_F80: CONVERT(long double, double, VALUE, NEVER, GONE_INF);
    case TRA_ELEM_I8: CONVERT(int8_t, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_I16: CONVERT(int16_t, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_I32: CONVERT(int32_t, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_I64: CONVERT(int64_t, double, VALUE, ROUNDED, NEVER);
    case TRA_ELEM_U8: CONVERT(uint8_t, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_U16: CONVERT(uint16_t, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_U32: CONVERT(uint32_t, double, VALUE, NEVER, NEVER);
    case TRA_ELEM_U64: CONVERT(uint64_t, double, VALUE, ROUNDED, NEVER);
    case TRA_ELEM_BOOL: CONVERT(uint8_t, double, NONZERO, NEVER, NEVER);
    }
}

static void to_f32(tra_elem k, const char *in, char *out, int64_t n, tra_losses *loss) {
    switch (k) {
    case TRA_ELEM_F64: CONVERT(double, float, VALUE, NEVER, GONE_INF);
    case TRA_ELEM_F32:
        if (in != out) memcpy(out, in, (size_t)n * 4);
        break;
    case TRA_ELEM_F16: CONVERT(uint16_t, float, half, NEVER, NEVER);
    case TRA_ELEM_F80: CONVERT(long double, float, VALUE, NEVER, GONE_INF);
    case TRA_ELEM_I8: CONVERT(int8_t, float, VALUE, NEVER, NEVER);
    case TRA_ELEM_I16: CONVERT(int16_t, float, VALUE, NEVER, NEVER);
    case TRA_ELEM_I32: CONVERT(int32_t, float, VALUE, ROUNDED, NEVER);
    case TRA_ELEM_I64: CONVERT(int64_t, float, VALUE, ROUNDED, NEVER);
    case TRA_ELEM_U8: CONVERT(uint8_t, float, VALUE, NEVER, NEVER);
    case TRA_ELEM_U16: CONVERT(uint16_t, float, VALUE, NEVER, NEVER);
    case TRA_ELEM_U32: CONVERT(uint32_t, float, VALUE, ROUNDED, NEVER);
    case TRA_ELEM_U64: CONVERT(uint64_t, float, VALUE, ROUNDED, NEVER);
    case TRA_ELEM_BOOL: CONVERT(uint8_t, float, NONZERO, NEVER, NEVER);
    }
}

void tra_elem_convert(tra_elem k, bool swap, void *from, tra_dtype t, void *to, int64_t n, tra_losses *loss) {
    if (swap) turn(from, tra_elem_size(k), n);
    if (t == TRA_F64)
        to_f64(k, from, to, n, loss);
    else
        to_f32(k, from, to, n, loss);
}
