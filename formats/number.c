/* number.c - numbers as text: fast where the fast way is exact, the C library's where it is not. */
#include "io.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
