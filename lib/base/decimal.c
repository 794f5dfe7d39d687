/* decimal.c - floats from and to decimal digits: fast where the fast way is exact, the C library's where it is not. */
#include "base.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double power10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#if LDBL_MANT_DIG >= 64
static const long double power10l[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                       1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                       1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#endif
enum { EXACT10 = 22, EXACT10L = 27 }; /* largest exact powers of ten in double and in an 80-bit long double */

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* m * 10^exponent by way of an 80-bit long double, of whose one rounding the double can be told, unless it falls near
 * the middle of two doubles. False there, and where the power of ten is not exact. */
static bool rounded_once(uint64_t m, int exponent, double *v) {
#if LDBL_MANT_DIG == 64
    if (exponent < -EXACT10L || exponent > EXACT10L || m == 0) return false;
    long double x = exponent < 0 ? (long double)m / power10l[-exponent] : (long double)m * power10l[exponent];
    uint64_t mantissa;
    memcpy(&mantissa, &x, sizeof mantissa);
    unsigned below = mantissa & 0x7ff; /* the bits that a double does not have */
    if (below >= 0x3ff && below <= 0x401) return false;
    *v = (double)x;
    return true;
#else
    (void)m, (void)exponent, (void)v;
    return false;
#endif
}

bool tra_decimal_num(bool negative, uint64_t m, int exponent, double *v) {
    double x;
    if (m <= (UINT64_C(1) << 53) && exponent >= -EXACT10 && exponent <= EXACT10) /* one rounding of exact factors */
        x = exponent < 0 ? (double)m / power10[-exponent] : (double)m * power10[exponent];
    else if (!rounded_once(m, exponent, &x))
        return false;
    *v = negative ? -x : x;
    return true;
}

/* m, of `digits` decimal digits, times 10^(e10 - digits + 1): e10 is the exponent of the first digit. As %g does it,
 * with an exponent below 1e-4 and from 10^longest on. */
static size_t put_decimal(char *to, bool negative, uint64_t m, int digits, int e10, int longest) {
    while (digits > 1 && m % 10 == 0) m /= 10, digits--;
    char d[20] = {0};
    for (int i = digits - 1; i >= 0; i--, m /= 10) d[i] = (char)('0' + m % 10);
    char *p = to;
    if (negative) *p++ = '-';
    if (e10 >= digits - 1 && e10 < longest) { /* whole number */
        for (int i = 0; i <= e10; i++) *p++ = i < digits ? d[i] : '0';
    } else if (e10 >= 0 && e10 < longest) {
        for (int i = 0; i < digits; i++) {
            if (i == e10 + 1) *p++ = '.';
            *p++ = d[i];
        }
    } else if (e10 < 0 && e10 >= -4) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > e10; i--) *p++ = '0';
        for (int i = 0; i < digits; i++) *p++ = d[i];
    } else {
        *p++ = d[0];
        if (digits > 1) *p++ = '.';
        for (int i = 1; i < digits; i++) *p++ = d[i];
        p += sprintf(p, "e%+03d", e10);
    }
    return (size_t)(p - to);
}

static size_t put_special(char *to, double v) {
    const char *t = isnan(v) ? "nan" : v < 0 ? "-inf" : v > 0 ? "inf" : signbit(v) ? "-0" : "0";
    size_t n = strlen(t);
    memcpy(to, t, n);
    return n;
}

/* The first `digits` decimal digits of x > 0, rounded, and the exponent of the first; off by less than 0.51 in the last
 * one, and by no more than 0.5 if *nearest. False outside the range where the scaling is one rounding of a 64-bit
 * mantissa. */
static bool first_digits(double x, int digits, uint64_t *m, int *e10, bool *nearest) {
#if LDBL_MANT_DIG >= 64
    int e2;
    frexp(x, &e2);
    int e = (int)floor((e2 - 1) * 0.30102999566398120);
    uint64_t top = (uint64_t)power10l[digits];
    for (int again = 0; again < 2; again++, e++) {
        int k = digits - 1 - e;
        if (k > EXACT10L || k < -EXACT10L) return false;
        long double y = k < 0 ? x / power10l[-k] : x * power10l[k];
        *m = (uint64_t)llrintl(y);
        *nearest = fabsl(y - (long double)*m) < 0.48L;
        *e10 = e;
        if (*m < top) return true; /* the estimate is low by one at most */
    }
#else
    (void)x, (void)digits, (void)m, (void)e10, (void)nearest;
#endif
    return false;
}

/* The same by the C library, of any x > 0. */
static void any_digits(double x, int digits, uint64_t *m, int *e10) {
    char text[48], *e;
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    *e10 = (int)strtol((e = strchr(text, 'e')) + 1, NULL, 10);
    *m = 0;
    for (char *p = text; p < e; p++)
        if (is_digit(*p)) *m = *m * 10 + (uint64_t)(*p - '0');
}

/* Does x lie in the middle of two normal floats, so that the digits it was rounded from decide which is nearer? */
static bool is_halfway(double x) {
    enum { REST = DBL_MANT_DIG - FLT_MANT_DIG };
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & ((UINT64_C(1) << REST) - 1)) == UINT64_C(1) << (REST - 1);
}

/* Is m * 10^exponent read as x? */
static bool reads_back(uint64_t m, int exponent, bool single, double x) {
    char text[48];
    double back;
    if (tra_decimal_num(false, m, exponent, &back) && (!single || (x >= FLT_MIN && !is_halfway(back))))
        return (single ? (double)(float)back : back) == x;
    snprintf(text, sizeof text, "%" PRIu64 "e%d", m, exponent);
    return (single ? (double)strtof(text, NULL) : strtod(text, NULL)) == x;
}

/* The fewest digits that are read as v again, at least `least` but of numbers that are not normal, and at most `most`,
 * which always do. Below a power of two the next number is nearer than above: there the digits above may do alone. */
static size_t put_shortest(char *to, double v, bool single, bool normal, int least, int most) {
    double x = fabs(v);
    int e2, e10, e;
    uint64_t all, m, power = 1;
    bool nearest = true, fast = first_digits(x, most, &all, &e10, &nearest), edge = frexp(x, &e2) == 0.5;
    if (!fast) any_digits(x, most, &all, &e10);
    for (int digits = normal ? least : 1; digits < most; digits++) {
        power = (uint64_t)power10[most - digits];
        m = (all + power / 2) / power;
        e = e10;
        if (!fast) any_digits(x, digits, &m, &e);
        bool middle = fast && all % power == power / 2; /* `all` was rounded: its last digit may have been below 5 */
        m -= middle;
        for (int up = 0; up < 3; up++, m++) {
            if (up > 0 && !edge && !middle) break;
            if (!reads_back(m, e - digits + 1, single, x)) continue;
            if (middle && up == 0 && reads_back(m + 1, e - digits + 1, single, x)) any_digits(x, digits, &m, &e);
            bool carried = m == (uint64_t)power10[digits];
            return put_decimal(to, v < 0, m, digits + carried, e + carried, most);
        }
    }
    if (!nearest) any_digits(x, most, &all, &e10);
    return put_decimal(to, v < 0, all, most, e10, most);
}

size_t tra_print_f64(char *to, double v) {
    if (!isfinite(v) || v == 0) return put_special(to, v);
    return put_shortest(to, v, false, fabs(v) >= DBL_MIN, 15, 17);
}

size_t tra_print_f32(char *to, float v) {
    if (!isfinite(v) || v == 0) return put_special(to, (double)v);
    return put_shortest(to, (double)v, true, fabsf(v) >= FLT_MIN, 6, 9);
}

char *tra_exactly(double v, char *buf) {
    buf[tra_print_f64(buf, v)] = '\0';
    return buf;
}
