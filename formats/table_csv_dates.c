/* table_csv_dates.c - days and times of the day as text. */
#include "formats.h"
#include "table_csv.h"

#include "../lib/table/table.h"

#include <string.h>
#include <strings.h>

static const int64_t DAY = INT64_C(86400000000); /* microseconds */

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool days_of(int64_t year, int64_t month, int64_t day, int64_t *days) {
    int32_t v;
    if (!tra_days_of(year, month, day, &v)) return false;
    *days = v;
    return true;
}

/* ---- times of the day ------------------------------------------------------------------------------------------ */

/* Digits, `least` to `most` of them. */
static bool digits(const char **p, const char *end, int least, int most, int64_t *v) {
    int n = 0;
    for (*v = 0; *p < end && n < most && is_digit(**p); ++*p, n++) *v = *v * 10 + (**p - '0');
    return n >= least;
}

/* ".25": as many digits as there are, of which six count. */
static bool fraction(const char **p, const char *end, int64_t *micros) {
    int64_t v = 0;
    int n = 0;
    for (; *p < end && is_digit(**p); ++*p, n++)
        if (n < 6) v = v * 10 + (**p - '0');
    for (int i = n; i < 6; i++) v *= 10;
    *micros = v;
    return n > 0;
}

/* "Z", "+02:00", "-0530", "+02": what is to be taken off. */
static bool zone(const char **p, const char *end, int64_t *micros) {
    int64_t hours, minutes = 0;
    *micros = 0;
    if (*p < end && (**p == 'Z' || **p == 'z')) return ++*p, true;
    if (*p == end || (**p != '+' && **p != '-')) return false;
    int64_t sign = *(*p)++ == '-' ? -1 : 1;
    if (!digits(p, end, 2, 2, &hours)) return false;
    if (*p < end && **p == ':') ++*p;
    if (*p < end && is_digit(**p) && !digits(p, end, 2, 2, &minutes)) return false;
    *micros = sign * (hours * 60 + minutes) * 60 * 1000000;
    return hours < 24 && minutes < 60;
}

/* hh:mm[:ss[.f]][zone], to the end. */
static bool time_of(const char *p, const char *end, int64_t *micros) {
    int64_t h, m, s = 0, f = 0, off = 0;
    if (!digits(&p, end, 1, 2, &h) || p == end || *p++ != ':' || !digits(&p, end, 2, 2, &m)) return false;
    if (p < end && *p == ':') {
        p++;
        if (!digits(&p, end, 2, 2, &s)) return false;
        if (p < end && (*p == '.' || *p == ',')) {
            p++;
            if (!fraction(&p, end, &f)) return false;
        }
    }
    if (p < end && *p == ' ') p++;
    if (p < end && !zone(&p, end, &off)) return false;
    *micros = ((h * 60 + m) * 60 + s) * 1000000 + f - off;
    return p == end && h < 24 && m < 60 && s < 60;
}

/* ---- dates ----------------------------------------------------------------------------------------------------- */

typedef struct parts {
    int64_t v[3];
    int n[3]; /* digits */
    const char *rest;
} parts;

static bool split(const char *s, const char *end, parts *p) {
    const char *at = s;
    char between = 0;
    for (int i = 0; i < 3; i++) {
        const char *begin = at;
        if (!digits(&at, end, 1, 4, &p->v[i])) return false;
        p->n[i] = (int)(at - begin);
        if (i == 2) break;
        if (at == end || (*at != '-' && *at != '/' && *at != '.') || (i == 1 && *at != between)) return false;
        between = *at++;
    }
    p->rest = at;
    return at == end || !is_digit(*at);
}

static bool day_by_order(const parts *p, unsigned order, int64_t *days) {
    int y = order == TRA_DATE_YMD || order == TRA_DATE_SHORT_YMD ? 0 : 2;
    bool month_first = order == TRA_DATE_MDY || order == TRA_DATE_SHORT_MDY;
    int m = y == 0 || !month_first ? 1 : 0, d = 3 - y - m, width = order < TRA_DATE_SHORT_YMD ? 4 : 2;
    int64_t year = p->v[y];
    if (p->n[y] != width || p->n[m] > 2 || p->n[d] > 2) return false;
    if (width == 2 && (p->n[m] != 2 || p->n[d] != 2)) return false; /* 1.2.13 is no date */
    if (width == 2) year += year < 69 ? 2000 : 1900;
    return days_of(year, p->v[m], p->v[d], days);
}

/* What follows a date: nothing, or a blank or T and a time. */
static bool rest_of(const char *rest, const char *end, bool *time, int64_t *micros) {
    *micros = 0;
    *time = rest < end;
    if (!*time) return true;
    if (*rest != ' ' && *rest != 'T' && *rest != 't') return false;
    return time_of(rest + 1, end, micros);
}

/* The number that two digits are, or more than 99. */
static inline unsigned two(const char *s) {
    unsigned a = (unsigned char)*s - '0', b = (unsigned char)s[1] - '0';
    return a > 9 || b > 9 ? 100 : 10 * a + b;
}

/* "2017-04-15", also with " 07:30" or " 07:30:59", as most programs write them. False: it is something else, or none.
 */
static bool common_form(const char *s, size_t n, bool *time, int64_t *micros) {
    int64_t days;
    if ((n != 10 && n != 16 && n != 19) || s[4] != '-' || s[7] != '-') return false;
    unsigned century = two(s), year = two(s + 2), month = two(s + 5), day = two(s + 8), h = 0, m = 0, sec = 0;
    *time = n > 10;
    if (*time) {
        if ((s[10] != ' ' && s[10] != 'T') || s[13] != ':' || (n > 16 && s[16] != ':')) return false;
        h = two(s + 11);
        m = two(s + 14);
        sec = n > 16 ? two(s + 17) : 0;
    }
    if (century > 99 || year > 99 || h > 23 || m > 59 || sec > 59) return false;
    if (!days_of(100 * century + year, month, day, &days)) return false;
    *micros = days * DAY + ((h * 60 + m) * 60 + (int64_t)sec) * 1000000;
    return true;
}

unsigned tra_date_orders(const char *s, size_t n, bool *time) {
    parts p;
    int64_t days, micros;
    unsigned set = 0;
    if (common_form(s, n, time, &micros)) return TRA_DATE_YMD;
    if (n < 6 || !is_digit(*s) || !split(s, s + n, &p) || !rest_of(p.rest, s + n, time, &micros)) return 0;
    for (unsigned order = 1; order < TRA_DATE_ANY; order *= 2)
        if (day_by_order(&p, order, &days)) set |= order;
    return set;
}

bool tra_date_scan(const char *s, size_t n, unsigned order, int64_t *micros) {
    parts p;
    int64_t days;
    bool time;
    if (order == TRA_DATE_YMD && common_form(s, n, &time, micros)) return true;
    if (n < 6 || !split(s, s + n, &p) || !day_by_order(&p, order, &days) || !rest_of(p.rest, s + n, &time, micros))
        return false;
    *micros += days * DAY;
    return true;
}

/* ---- formats of the user --------------------------------------------------------------------------------------- */

static bool month_name(const char **p, const char *end, int64_t *month) {
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    for (int i = 0; i < 12; i++) {
        size_t whole = strlen(names[i]), left = (size_t)(end - *p);
        size_t n = left >= whole && strncasecmp(*p, names[i], whole) == 0 ? whole
                   : left >= 3 && strncasecmp(*p, names[i], 3) == 0       ? 3
                                                                          : 0;
        if (n == 0) continue;
        *p += n;
        *month = i + 1;
        return true;
    }
    return false;
}

typedef struct moment {
    int64_t year, month, day, in_year, hour, minute, second, micros, off;
    int am_or_pm; /* 1: am, 2: pm */
} moment;

static bool take_field(moment *t, const char **p, const char *end, char what) {
    int64_t v;
    switch (what) {
    case 'Y': return digits(p, end, 4, 4, &t->year);
    case 'y':
        if (!digits(p, end, 2, 2, &v)) return false;
        t->year = v + (v < 69 ? 2000 : 1900);
        return true;
    case 'm': return digits(p, end, 1, 2, &t->month);
    case 'e':
        while (*p < end && **p == ' ') ++*p;
        return digits(p, end, 1, 2, &t->day);
    case 'd': return digits(p, end, 1, 2, &t->day);
    case 'j': return digits(p, end, 1, 3, &t->in_year) && t->in_year >= 1 && t->in_year <= 366;
    case 'b':
    case 'B': return month_name(p, end, &t->month);
    case 'H': return digits(p, end, 1, 2, &t->hour) && t->hour < 24;
    case 'I': return digits(p, end, 1, 2, &t->hour) && t->hour >= 1 && t->hour <= 12;
    case 'M': return digits(p, end, 1, 2, &t->minute) && t->minute < 60;
    case 'S': return digits(p, end, 1, 2, &t->second) && t->second < 60;
    case 'f': return fraction(p, end, &t->micros);
    case 'z': return zone(p, end, &t->off);
    case 'p':
        if (end - *p < 2 || (strncasecmp(*p, "am", 2) != 0 && strncasecmp(*p, "pm", 2) != 0)) return false;
        t->am_or_pm = (**p | 0x20) == 'a' ? 1 : 2;
        *p += 2;
        return true;
    default: return false;
    }
}

static bool take_fields(moment *t, const char *format, const char **p, const char *end) {
    for (const char *f = format; *f; f++) {
        if (*f == ' ') {
            while (*p < end && **p == ' ') ++*p;
            continue;
        }
        if (*f != '%' || f[1] == '%') {
            if (*p == end || **p != *f) return false;
            ++*p;
            f += *f == '%';
            continue;
        }
        f += f[1] == '-' ? 2 : 1; /* %-d: zeros before a number may be missing, as they always may */
        if (*f == 'T' || *f == 'D' || *f == 'F') {
            if (!take_fields(t, *f == 'T' ? "%H:%M:%S" : *f == 'D' ? "%m/%d/%y" : "%Y-%m-%d", p, end)) return false;
        } else if (!*f || !take_field(t, p, end, *f)) {
            return false;
        }
    }
    return true;
}

bool tra_date_by(const char *format, const char *s, size_t n, int64_t *micros) {
    moment t = {.year = 1970, .month = 1, .day = 1};
    const char *p = s;
    int64_t days, leap;
    if (!take_fields(&t, format, &p, s + n) || p != s + n || !days_of(t.year, t.month, t.day, &days)) return false;
    if (t.in_year > 0) {
        if (!days_of(t.year, 1, 1, &days) || t.in_year > 365 + days_of(t.year, 2, 29, &leap)) return false;
        days += t.in_year - 1;
    }
    if (t.am_or_pm) t.hour = t.hour % 12 + (t.am_or_pm == 2 ? 12 : 0);
    *micros = days * DAY + ((t.hour * 60 + t.minute) * 60 + t.second) * 1000000 + t.micros - t.off;
    return true;
}

tra_status tra_csv_check_format(const char *option, const char *format, bool date, tra_err *e) {
    bool year = false;
    for (const char *f = format; *f; f++) {
        if (*f != '%') continue;
        f += f[1] == '-' ? 2 : 1;
        if (!*f || !strchr("YymdejbBHIMSfpzTDF%", *f))
            return tra_fail(e, TRA_USAGE,
                            "%s %s: %%%.1s is not known; there are %%Y %%y %%m %%d %%e %%j %%b %%B %%H %%I %%M %%S %%f "
                            "%%p %%z %%T %%D %%F %%%%",
                            option, format, f);
        year = year || strchr("YyDF", *f);
        if (date && strchr("HIMSfpzT", *f))
            return tra_fail(e, TRA_USAGE, "%s %s: a date has no time of the day: use --timestamp-format", option,
                            format);
    }
    return year ? TRA_OK : tra_fail(e, TRA_USAGE, "%s %s: there is no year in it (%%Y or %%y)", option, format);
}
