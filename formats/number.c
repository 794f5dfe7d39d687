/* number.c - numbers as text: fast where the fast way is exact, the C library's where it is not. */
#include "io.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double power10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#if LDBL_MANT_DIG >= 64
static const long double power10l[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                       1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                       1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#endif
enum { EXACT10 = 22, EXACT10L = 27 }; /* largest exact powers of ten in double and in an 80-bit long double */

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool scan_slow(const char *s, size_t n, double *v) {
    char small[128], *t = n < sizeof small ? small : tra_malloc(n + 1), *end;
    memcpy(t, s, n);
    t[n] = '\0';
    *v = strtod(t, &end);
    bool ok = end == t + n;
    if (t != small) free(t);
    return ok;
}

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

bool tra_scan_num(const char *s, size_t n, double *v) {
    const char *p = s, *end = s + n;
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p < end && !is_digit(*p) && *p != '.') {
        size_t left = (size_t)(end - p);
        if (left == 3 && strncasecmp(p, "nan", 3) == 0)
            *v = NAN;
        else if ((left == 3 && strncasecmp(p, "inf", 3) == 0) || (left == 8 && strncasecmp(p, "infinity", 8) == 0))
            *v = negative ? -INFINITY : INFINITY;
        else
            return false;
        return true;
    }
    uint64_t m = 0;
    int significant = 0, point = 0;
    bool any = false;
    for (; p < end && is_digit(*p); p++, any = true) {
        if (significant < 19)
            m = m * 10 + (uint64_t)(*p - '0'), significant += m != 0;
        else
            significant = 20, point++; /* too long for the fast way */
    }
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++, any = true) {
            if (significant < 19)
                m = m * 10 + (uint64_t)(*p - '0'), significant += m != 0, point--;
            else
                significant = 20;
        }
    if (!any) return false;
    int exponent = 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool down = false;
        if (p < end && (*p == '-' || *p == '+')) down = *p++ == '-';
        if (p == end) return false;
        for (; p < end && is_digit(*p); p++)
            if (exponent < 100000) exponent = exponent * 10 + (*p - '0');
        if (down) exponent = -exponent;
    }
    if (p != end) return false;
    exponent += point;
    if (significant < 20 && tra_decimal_num(negative, m, exponent, v)) return true;
    return scan_slow(s, n, v);
}

bool tra_scan_int(const char *s, size_t n, int64_t *v) {
    const char *p = s, *end = s + n;
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == end) return false;
    int64_t x = 0;
    for (; p < end; p++) {
        if (!is_digit(*p) || !tra_mul(x, 10, &x) || !tra_add(x, negative ? '0' - *p : *p - '0', &x)) return false;
    }
    *v = x;
    return true;
}

bool tra_scan_whole(const char *s, size_t n, int64_t *v) {
    const char *p = s, *end = s + n;
    bool negative = false, any = false, point = false;
    int64_t x = 0, zeros = 0, behind = 0, exponent = 0; /* x, then so many zeros, of all digits `behind` the point */
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        behind += point;
        zeros++;
        for (; *p != '0' && zeros > 0; zeros--) {
            if (!tra_mul(x, 10, &x)) return false;
        }
        if (*p != '0' && !tra_add(x, negative ? '0' - *p : *p - '0', &x)) return false;
    }
    if (any && p < end && (*p == 'e' || *p == 'E') && !tra_scan_int(p + 1, (size_t)(end - p) - 1, &exponent))
        return false;
    if (!any || (p < end && *p != 'e' && *p != 'E')) return false;
    if (x != 0 && (exponent < behind - zeros || exponent > behind - zeros + 18)) return false;
    for (int64_t i = x != 0 ? exponent + zeros - behind : 0; i > 0; i--) {
        if (!tra_mul(x, 10, &x)) return false;
    }
    *v = x;
    return true;
}

bool tra_rounds_whole(tra_dtype t, const char *s, size_t n, double v) {
    char digits[400];
    int64_t whole;
    if (n < (t == TRA_F32 ? 8 : 16)) return false;
    for (size_t i = *s == '-' || *s == '+'; i < n; i++)
        if (!is_digit(s[i])) return false;
    double held = t == TRA_F32 ? (double)(float)v : v;
    if (tra_scan_int(s, n, &whole)) return (long double)held != (long double)whole;
    if (!isfinite(held)) return false; /* that is an overflow */
    snprintf(digits, sizeof digits, "%.0f", fabs(held));
    if (*s == '-' || *s == '+') s++, n--;
    while (n > 0 && *s == '0') s++, n--;
    return strlen(digits) != n || memcmp(digits, s, n) != 0;
}

void tra_count_losses(tra_dtype t, const char *s, size_t n, double v, int64_t *inexact, int64_t *overflow) {
    *inexact += tra_rounds_whole(t, s, n, v);
    *overflow += isinf(v) && !memchr(s, 'n', n) && !memchr(s, 'N', n);
}

bool tra_scan_value(tra_dtype t, const char *s, size_t n, tra_number *v) {
    if (tra_dtype_is_float(t)) return tra_scan_num(s, n, &v->real);
    return tra_scan_whole(s, n, &v->whole) && tra_dtype_holds(t, v->whole);
}

bool tra_put_value(tra_dtype t, void *data, int64_t i, tra_number v) {
#define REAL(name, text, ctype, ...)                                                                                   \
    case TRA_##name:                                                                                                   \
        ((ctype *)data)[i] = (ctype)v.real;                                                                            \
        return isfinite(v.real) && !isfinite(((ctype *)data)[i]);
#define WHOLE(name, text, ctype, ...)                                                                                  \
    case TRA_##name: ((ctype *)data)[i] = (ctype)v.whole; return false;
    switch (t) { TRA_FLOAT_DTYPES(REAL) TRA_WHOLE_DTYPES(WHOLE) }
#undef REAL
#undef WHOLE
    return false;
}

tra_number tra_number_of(tra_dtype t, const void *data, int64_t i) {
    if (tra_dtype_is_float(t)) return (tra_number){.real = tra_element_real(t, data, i)};
    return (tra_number){.whole = tra_element_whole(t, data, i)};
}

const char *tra_shown(const char *s, size_t n, char buf[TRA_SHOWN]) {
    size_t len = n < 40 ? n : 40;
    for (size_t i = 0; i < len; i++) buf[i] = (unsigned char)s[i] < ' ' || s[i] == 127 ? '?' : s[i];
    strcpy(buf + len, len < n ? "..." : "");
    return buf;
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

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
 * one. False outside the range where the scaling is one rounding of a 64-bit mantissa. */
static bool first_digits(double x, int digits, uint64_t *m, int *e10) {
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
        *e10 = e;
        if (*m < top) return true; /* the estimate is low by one at most */
    }
#else
    (void)x, (void)digits, (void)m, (void)e10;
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

/* Is m * 10^exponent read as x? */
static bool reads_back(uint64_t m, int exponent, bool single, double x) {
    char text[48];
    double back;
    if (!single && tra_decimal_num(false, m, exponent, &back)) return back == x;
    snprintf(text, sizeof text, "%" PRIu64 "e%d", m, exponent);
    return (single ? (double)strtof(text, NULL) : strtod(text, NULL)) == x;
}

/* The fewest digits that are read as v again, at least `least` but of numbers that are not normal, and at most `most`,
 * which always do. Below a power of two the next number is nearer than above: there the digits above may do alone. */
static size_t put_shortest(char *to, double v, bool single, bool normal, int least, int most) {
    double x = fabs(v);
    int e2, e10, e;
    uint64_t all, m, power = 1;
    bool fast = first_digits(x, most, &all, &e10), edge = frexp(x, &e2) == 0.5;
    if (!fast) any_digits(x, most, &all, &e10);
    for (int digits = normal ? least : 1; digits < most; digits++) {
        power = (uint64_t)power10[most - digits];
        m = (all + power / 2) / power;
        e = e10;
        if (!fast) any_digits(x, digits, &m, &e);
        if (fast && all % power == power / 2) m--; /* `all` was rounded: its last digit may have been below 5 */
        for (int up = 0; up < 3; up++, m++) {
            if (up > 0 && !edge && all % power != power / 2) break;
            if (!reads_back(m, e - digits + 1, single, x)) continue;
            bool carried = m == (uint64_t)power10[digits];
            return put_decimal(to, v < 0, m, digits + carried, e + carried, most);
        }
    }
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

bool tra_value_is_zero(tra_dtype t, const void *data, int64_t i) {
    switch (t) {
#define X(id, text, ctype, ...)                                                                                        \
    case TRA_##id: return ((const ctype *)data)[i] == 0;
        TRA_DTYPES(X)
#undef X
    }
    return false;
}

static size_t print_int(char *to, int64_t v) {
    char digits[20], *p = digits + sizeof digits;
    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do *--p = (char)('0' + m % 10);
    while ((m /= 10) > 0);
    size_t n = (size_t)(digits + sizeof digits - p);
    if (v < 0) *to++ = '-';
    memcpy(to, p, n);
    return n + (v < 0);
}

size_t tra_print_value(tra_dtype t, const void *data, int64_t i, char *to) {
    if (t == TRA_F32) return tra_print_f32(to, ((const float *)data)[i]);
    if (tra_dtype_is_float(t)) return tra_print_f64(to, tra_element_real(t, data, i));
    return print_int(to, tra_element_whole(t, data, i));
}
