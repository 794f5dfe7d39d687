/* num.c - checked arithmetic, numbers from text and to text, time. */
#include "base.h"
#include "limits.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool tra_mul(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool tra_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

int64_t tra_mul_most(int64_t a, int64_t b) { return tra_mul(a, b, &a) ? a : INT64_MAX; }
int64_t tra_add_most(int64_t a, int64_t b) { return tra_add(a, b, &a) ? a : INT64_MAX; }

bool tra_parse_int(const char *s, int64_t *v) {
    const char *digits = *s == '-' || *s == '+' ? s + 1 : s;
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    if (*end || errno) return false;
    *v = n;
    return true;
}

bool tra_parse_num(const char *s, double *v) {
    if (!*s || isspace((unsigned char)*s) || strpbrk(s, "xX(")) return false; /* no hexadecimal, no nan(...) */
    char *end;
    errno = 0;
    double x = strtod(s, &end);
    if (end == s || *end || (errno == ERANGE && isinf(x))) return false;
    *v = x;
    return true;
}

bool tra_parse_size(const char *s, int64_t *bytes) {
    size_t n = strspn(s, "0123456789.");
    char number[64];
    if (n == 0 || n >= sizeof number) return false;
    memcpy(number, s, n);
    number[n] = 0;

    static const char units[] = "KMGTP";
    const char *unit = s[n] ? strchr(units, toupper((unsigned char)s[n])) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    const char *rest = s + n + (unit ? 1 : 0);
    if (unit && *rest == 'i') {
        if (rest[1] != 'B') return false;
        rest++;
    }
    if (*rest == 'B') rest++;
    if (*rest) return false;

    int64_t whole;
    if (tra_parse_int(number, &whole)) return tra_mul(whole, (int64_t)1 << shift, bytes);
    double x;
    if (!tra_parse_num(number, &x)) return false;
    x = floor(ldexp(x, shift));
    if (!(x < 9223372036854775808.0)) return false;
    *bytes = (int64_t)x;
    return true;
}

char *tra_human(int64_t bytes, char *buf) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int u = 0;
    while (fabs(v) >= (u ? 1023.95 : 1024)) { /* what would be printed as 1024 belongs to the next unit */
        v /= 1024;
        u++;
    }
    int n = snprintf(buf, 24, "%.*f", u && fabs(v) < 999.95 ? 1 : 0, v);
    if (n > 2 && strcmp(buf + n - 2, ".0") == 0) n -= 2;
    sprintf(buf + n, " %s", units[u]);
    return buf;
}

double tra_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* D-HH:MM:SS, HH:MM:SS or MM:SS. */
static bool parse_clock(const char *s, double *seconds) {
    double part = 0;
    int parts = 0;
    for (*seconds = 0;; s++) {
        size_t n = strspn(s, "0123456789");
        if (n == 0 || n > 9) return false;
        part = strtod(s, NULL);
        s += n;
        *seconds = 60 * *seconds + part;
        if (*s == '-' && parts == 0) {
            *seconds *= 24;
            double rest;
            if (!parse_clock(s + 1, &rest)) return false;
            *seconds = 3600 * *seconds + rest;
            return true;
        }
        if (++parts > 3 || (parts > 1 && part >= 60)) return false;
        if (!*s) return parts > 1;
        if (*s != ':') return false;
    }
}

bool tra_parse_span(const char *s, double *seconds) {
    static const char units[] = "dhms";
    static const double size[] = {86400, 3600, 60, 1};
    const char *from = units; /* a unit comes after larger ones */
    if (strchr(s, ':')) return parse_clock(s, seconds);
    for (*seconds = 0; *s;) {
        char number[32];
        double v;
        size_t n = strspn(s, "0123456789.");
        if (n == 0 || n >= sizeof number) return false;
        snprintf(number, sizeof number, "%.*s", (int)n, s);
        const char *unit = s[n] ? strchr(from, s[n]) : from == units ? units + 3 : NULL;
        if (!unit || !tra_parse_num(number, &v)) return false;
        *seconds += v * size[unit - units];
        from = unit + 1;
        s += n + (s[n] ? 1 : 0);
    }
    return from != units;
}

char *tra_span_text(double seconds, char buf[TRA_SPANTEXT]) {
    int64_t s = seconds < 1e15 ? (int64_t)(seconds + 0.5) : INT64_C(1000000000000000);
    if (seconds < 60)
        snprintf(buf, TRA_SPANTEXT, "%.3g s", seconds);
    else if (s < 3600)
        snprintf(buf, TRA_SPANTEXT, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    else
        snprintf(buf, TRA_SPANTEXT, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
    return buf;
}

/* A number of bytes that is at least so large and is printed as it is, so that it never reads as less. */
static int64_t printed_above(int64_t bytes) {
    int64_t unit = 1;
    if (bytes > INT64_MAX >> 10) return bytes; /* such a number is not rounded up: the products below would overflow */
    while (unit < bytes >> 10) unit <<= 10;
    bool tenths = unit > 1 && bytes < 999 * unit;
    int64_t steps = tra_ceil_div(tenths ? bytes * 10 : bytes, unit);
    return tenths ? tra_ceil_div(steps * unit, 10) : steps * unit;
}

char *tra_ceiling_text(int64_t bytes, const char *what, char buf[TRA_CEILINGTEXT]) {
    char size[32], exact[40] = "";
    if (tra_log_level > 0) snprintf(exact, sizeof exact, ", exactly %" PRId64, bytes);
    snprintf(buf, TRA_CEILINGTEXT, "%s%s (--memory %" PRId64 "M%s)", tra_human(printed_above(bytes), size), what,
             tra_ceil_div(bytes, 1 << 20), exact);
    return buf;
}

enum { PROCESS = 24 << 20 }; /* measured: 17 to 18 MiB resident with tiny blocks */

int64_t tra_buffer_bytes(int64_t ceiling) {
    int64_t job = tra_job_memory(NULL);
    return (job ? tra_min64(ceiling, job) : ceiling) - PROCESS;
}

int64_t tra_ceiling;

tra_status tra_ceiling_check(int64_t more, const char *what, tra_err *e) {
    char have[32], least[TRA_CEILINGTEXT];
    int64_t job = tra_ceiling ? tra_job_memory(NULL) : 0, most = job ? tra_min64(tra_ceiling, job) : tra_ceiling;
    if (most < PROCESS || more <= most / 64) return TRA_OK; /* a small step; or the plan says the least */
    int64_t need = tra_resident_bytes() + more;
    if (need <= most) return TRA_OK;
    return tra_fail(e, TRA_RESOURCE, "%s do not fit below --memory %s: with what was read so far at least %s", what,
                    tra_human(most, have), tra_ceiling_text(need, " are needed", least));
}

static _Atomic int64_t checked;

int64_t tra_buffer_checked(void) { return checked; }

void tra_buffer_note(int64_t need) {
    if (need + PROCESS > checked) checked = need + PROCESS;
}

tra_status tra_buffer_check(int64_t ceiling, int64_t need, tra_err *e) {
    char have[32], least[TRA_CEILINGTEXT], what[TRA_LIMIT_TEXT];
    tra_buffer_note(need);
    if (need <= tra_buffer_bytes(ceiling)) return TRA_OK;
    if (need <= ceiling - PROCESS)
        return tra_fail(e, TRA_RESOURCE, "with blocks of this size at least %s, but this job has %s (%s): ask for more",
                        tra_ceiling_text(need + PROCESS, " of memory are needed", least),
                        tra_human(tra_job_memory(what), have), what);
    return tra_fail(e, TRA_RESOURCE, "--memory %s is too little: with blocks of this size at least %s",
                    tra_human(ceiling, have), tra_ceiling_text(need + PROCESS, " are needed", least));
}
