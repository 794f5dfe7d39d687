/* elem.c - element types of other programs' files, and their conversion to those of relations. */
#include "io.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

size_t tra_elem_size(tra_elem k) {
    static const size_t size[] = {
#define X(name, text, ctype, kind) [TRA_ELEM_##name] = sizeof(ctype),
        TRA_ELEMS(X)
#undef X
    };
    return size[k];
}

const char *tra_elem_name(tra_elem k) {
    static const char *const name[] = {
#define X(name, text, ...) [TRA_ELEM_##name] = text,
        TRA_ELEMS(X)
#undef X
    };
    return name[k];
}

bool tra_elem_parse(const char *s, tra_elem *k) {
#define X(name, text, ...)                                                                                             \
    if (strcmp(s, text) == 0) return *k = TRA_ELEM_##name, true;
    TRA_ELEMS(X)
#undef X
    return false;
}

tra_dtype tra_elem_dtype(tra_elem k) {
#define DTYPE_FLOAT(ctype) (sizeof(ctype) > sizeof(float) ? TRA_F64 : TRA_F32)
#define DTYPE_HALF(ctype)  TRA_F32
#define DTYPE_INT(ctype)   tra_dtype_of_bits(8 * sizeof(ctype) - ((ctype)-1 < (ctype)1)) /* signed: less one bit */
#define DTYPE_BOOL(ctype)  TRA_BOOL
#define X(name, text, ctype, kind)                                                                                     \
    case TRA_ELEM_##name: return DTYPE_##kind(ctype);
    switch (k) { TRA_ELEMS(X) }
#undef X
    return TRA_F64;
}

tra_elem tra_elem_of(tra_dtype t) {
    static const tra_elem elem[] = {
#define X(name, ...) [TRA_##name] = TRA_ELEM_##name,
        TRA_DTYPES(X)
#undef X
    };
    return elem[t];
}

#define TURN(p, size, n, bits)                                                                                         \
    for (int64_t i = 0; (size) == bits / 8 && i < (n); i++) {                                                          \
        uint##bits##_t x;                                                                                              \
        memcpy(&x, (char *)(p) + sizeof x * (size_t)i, sizeof x);                                                      \
        x = __builtin_bswap##bits(x);                                                                                  \
        memcpy((char *)(p) + sizeof x * (size_t)i, &x, sizeof x);                                                      \
    }
/* Turns the bytes of n elements. */
static void turn(void *p, size_t size, int64_t n) {
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    TURN(p, size, n, 16);
    TURN(p, size, n, 32);
    TURN(p, size, n, 64);
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

/* ---- conversion ---------------------------------------------------------------------------------------------- */

/* The number that is stored as x, by the kind of its type; and as a whole one to *v: false where it is none, or none of
 * i64. Where a double is whole and of that range, casting there and back leaves it. */
static inline bool whole(double x, int64_t *v) {
    if (!(x >= -0x1p63 && x < 0x1p63)) return false;
    *v = (int64_t)x;
    return (double)*v == x;
}
static inline bool whole_long(long double x, int64_t *v) {
    if (!(x >= -0x1p63L && x < 0x1p63L)) return false;
    *v = (int64_t)x;
    return (long double)*v == x;
}
#define NUMBER_FLOAT(x)   (x)
#define NUMBER_HALF(x)    half(x)
#define NUMBER_INT(x)     (x)
#define NUMBER_BOOL(x)    ((x) != 0)
#define WHOLE_FLOAT(x, v) (sizeof(x) > sizeof(double) ? whole_long(x, v) : whole((double)(x), v))
#define WHOLE_HALF(x, v)  whole((double)half(x), v)
#define WHOLE_INT(x, v)   (!__builtin_add_overflow(x, 0, v))
#define WHOLE_BOOL(x, v)  (*(v) = (x) != 0, true)

/* What a float of `digits` bits loses of a number. A long double holds every 64-bit integer, so equality there is
 * equality. Types that are narrow enough are not looked at. */
#define INEXACT_FLOAT(x, y)  0
#define INEXACT_HALF(x, y)   0
#define INEXACT_INT(x, y)    (8 * sizeof(x) > (size_t)digits && (long double)(y) != (long double)(x))
#define INEXACT_BOOL(x, y)   0
#define OVERFLOW_FLOAT(x, y) (sizeof(x) > sizeof(y) && isfinite(x) && !isfinite(y))
#define OVERFLOW_HALF(x, y)  0
#define OVERFLOW_INT(x, y)   0
#define OVERFLOW_BOOL(x, y)  0

/* For each type that is read a loop, into elements of type `target`. */
#define TO_FLOAT(name, text, ctype, kind)                                                                              \
    case TRA_ELEM_##name:                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            ctype x;                                                                                                   \
            memcpy(&x, in + i * (int64_t)sizeof x, sizeof x);                                                          \
            target y = (target)NUMBER_##kind(x);                                                                       \
            memcpy(out + i * (int64_t)sizeof y, &y, sizeof y);                                                         \
            loss->inexact += INEXACT_##kind(x, y);                                                                     \
            loss->overflow += OVERFLOW_##kind(x, y);                                                                   \
        }                                                                                                              \
        break;
#define TO_WHOLE(name, text, ctype, kind)                                                                              \
    case TRA_ELEM_##name:                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            ctype x;                                                                                                   \
            int64_t v;                                                                                                 \
            memcpy(&x, in + i * (int64_t)sizeof x, sizeof x);                                                          \
            if (!WHOLE_##kind(x, &v) || v < least || v > most) return i;                                               \
            target y = (target)v;                                                                                      \
            memcpy(out + i * (int64_t)sizeof y, &y, sizeof y);                                                         \
        }                                                                                                              \
        break;

/* Of each type that relations have, from any type. Whole numbers: the first element that it does not hold, or -1. */
#define X(name, text, ctype, ...)                                                                                      \
    static int64_t to_##name(tra_elem k, const char *in, char *out, int64_t n, tra_losses *loss) {                     \
        typedef ctype target;                                                                                          \
        enum { digits = sizeof(ctype) == sizeof(double) ? DBL_MANT_DIG : FLT_MANT_DIG };                               \
        switch (k) { TRA_ELEMS(TO_FLOAT) }                                                                             \
        return -1;                                                                                                     \
    }
TRA_FLOAT_DTYPES(X)
#undef X
#define X(name, text, ctype, ...)                                                                                      \
    static int64_t to_##name(tra_elem k, const char *in, char *out, int64_t n, tra_losses *loss) {                     \
        typedef ctype target;                                                                                          \
        const int64_t least = tra_dtype_least(TRA_##name), most = tra_dtype_most(TRA_##name);                          \
        (void)loss;                                                                                                    \
        switch (k) { TRA_ELEMS(TO_WHOLE) }                                                                             \
        return -1;                                                                                                     \
    }
TRA_WHOLE_DTYPES(X)
#undef X

int64_t tra_elem_convert(tra_elem k, bool swap, void *from, tra_dtype t, void *to, int64_t n, tra_losses *loss) {
    if (swap) turn(from, tra_elem_size(k), n);
    if (k == tra_elem_of(t) && k != TRA_ELEM_BOOL) { /* of which other programs may write any byte that is not 0 */
        if (from != to) memcpy(to, from, (size_t)n * tra_elem_size(k));
        return -1;
    }
#define X(name, ...)                                                                                                   \
    case TRA_##name: return to_##name(k, from, to, n, loss);
    switch (t) { TRA_DTYPES(X) }
#undef X
    return -1;
}

/* The number at p as text. */
static void number_text(tra_elem k, const void *p, char text[TRA_NUMTEXT + 1]) {
    tra_losses loss = {0};
    double x;
    uint64_t u;
    int64_t i;
    if (k == TRA_ELEM_U64) {
        memcpy(&u, p, sizeof u);
        snprintf(text, TRA_NUMTEXT, "%" PRIu64, u);
    } else if (to_I64(k, p, (char *)&i, 1, &loss) < 0) {
        snprintf(text, TRA_NUMTEXT, "%" PRId64, i);
    } else {
        (void)to_F64(k, p, (char *)&x, 1, &loss);
        text[tra_print_f64(text, x)] = '\0';
    }
}

tra_status tra_elem_refuse(const char *spec, const tra_dims *place, tra_elem k, const void *p, tra_dtype t,
                           tra_err *e) {
    char text[TRA_NUMTEXT + 1], where[TRA_DIMTEXT];
    number_text(k, p, text);
    return tra_fail(e, TRA_INPUT, "%s: element %s is %s, which %s does not hold (--dtype f64 takes any number)", spec,
                    tra_dims_text(place, "[", ",", "]", where, sizeof where), text, tra_dtype_name(t));
}
