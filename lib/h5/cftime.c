/* cftime.c - "UNIT since MOMENT" of the CF conventions as timestamps. */
#include "../model/dates.h"
#include "decode.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const int64_t second = 1000000, day = INT64_C(86400) * 1000000;

/* The microseconds of a unit, as UDUNITS spells it; 0: it has no fixed length, or is none. */
static int64_t unit_of(const char *s, size_t n) {
    static const struct {
        const char *names;
        int64_t micros;
    } units[] = {{" microsecond microseconds microsec microsecs us ", 1},
                 {" millisecond milliseconds millisec millisecs msec msecs ms ", 1000},
                 {" second seconds sec secs s ", 1000000},
                 {" minute minutes min mins ", INT64_C(60) * 1000000},
                 {" hour hours hr hrs h ", INT64_C(3600) * 1000000},
                 {" day days d ", INT64_C(86400) * 1000000},
                 {" week weeks ", INT64_C(7 * 86400) * 1000000}};
    char name[16] = " ";
    if (n == 0 || n > sizeof name - 3) return 0;
    for (size_t i = 0; i < n; i++) name[i + 1] = (char)tolower((unsigned char)s[i]);
    name[n + 1] = ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strstr(units[i].names, name)) return units[i].micros;
    return 0;
}

static void spaces(const char **s) {
    while (isspace((unsigned char)**s)) ++*s;
}

/* A number of at most `most` digits; false: there is none. */
static bool number(const char **s, int most, int64_t *v) {
    const char *from = *s;
    for (*v = 0; isdigit((unsigned char)**s) && *s - from < most; ++*s) *v = *v * 10 + (**s - '0');
    return *s > from;
}

/* Hours, minutes and seconds, of which the latter may be missing, as microseconds. */
static bool clock_of(const char **s, int64_t *micros) {
    int64_t hour, minute = 0, of_minute = 0;
    if (!number(s, 2, &hour) || hour > 24) return false;
    if (**s == ':' && (++*s, !number(s, 2, &minute) || minute > 59)) return false;
    if (**s == ':' && (++*s, !number(s, 2, &of_minute) || of_minute > 59)) return false;
    *micros = ((hour * 60 + minute) * 60 + of_minute) * second;
    if (**s != '.') return true;
    ++*s;
    for (int64_t place = second / 10; isdigit((unsigned char)**s); ++*s, place /= 10) *micros += (**s - '0') * place;
    return true;
}

/* "UTC", "Z", "+01:00", "-6", "+0530": how much earlier than UTC the clock is. */
static bool zone_of(const char **s, int64_t *micros) {
    int64_t hour, minute = 0, sign = **s == '-' ? -1 : 1;
    *micros = 0;
    if (**s == 'Z' || **s == 'z') return ++*s, true;
    if (strncasecmp(*s, "utc", 3) == 0 || strncasecmp(*s, "gmt", 3) == 0) return *s += 3, true;
    if (**s != '+' && **s != '-') return true;
    ++*s;
    if (!number(s, 2, &hour) || hour > 14) return false;
    if (**s == ':') ++*s;
    if (isdigit((unsigned char)**s) && (!number(s, 2, &minute) || minute > 59)) return false;
    *micros = sign * (hour * 60 + minute) * 60 * second;
    return true;
}

/* The day number in the Julian calendar, counted as days since 1970-01-01 are. */
static int64_t julian_days(int64_t year, int64_t month, int64_t of_month) {
    int64_t y = month <= 2 ? year + 4799 : year + 4800, m = month <= 2 ? month + 9 : month - 3;
    return of_month + (153 * m + 2) / 5 + 365 * y + y / 4 - 32083 - 2440588;
}

static bool date_of(const char **s, bool mixed, int64_t *micros) {
    int64_t year, month, of_month;
    int32_t days;
    if (!number(s, 4, &year) || *(*s)++ != '-' || !number(s, 2, &month) || *(*s)++ != '-' || !number(s, 2, &of_month))
        return false;
    bool julian = mixed && (year < 1582 || (year == 1582 && (month < 10 || (month == 10 && of_month < 15))));
    bool leap = year % 4 == 0 && month == 2 && of_month == 29;
    if (!tra_days_of(year, month, julian && leap ? 28 : of_month, &days)) return false;
    *micros = (julian ? julian_days(year, month, of_month) : days) * day;
    return true;
}

tra_status tra_cf_time_parse(const char *units, const char *calendar, tra_cf_time *t, tra_err *e) {
    static const char *const calendars[] = {"standard", "gregorian", "proleptic_gregorian"};
    const char *s = units;
    spaces(&s);
    size_t n = strcspn(s, " \t");
    const char *unit = s;
    s += n;
    spaces(&s);
    if (strncasecmp(s, "since", 5) != 0 || !isspace((unsigned char)s[5])) return TRA_NO;
    s += 5;
    spaces(&s);
    int known = 0;
    while (calendar && known < 3 && strcasecmp(calendar, calendars[known]) != 0) known++;
    if (known == 3)
        return tra_fail(e, TRA_INPUT,
                        "timestamps are of the calendars standard, gregorian and proleptic_gregorian, "
                        "and its attribute calendar is \"%.40s\"",
                        calendar);
    t->mixed = known < 2;
    t->unit = unit_of(unit, n);
    if (t->unit == 0)
        return tra_fail(e, TRA_INPUT, "\"%.*s\" in its attribute units has no fixed length",
                        (int)tra_min64(40, (int64_t)n), unit);
    int64_t clock = 0, zone = 0;
    bool ok = date_of(&s, t->mixed, &t->origin);
    if (ok && (*s == 'T' || *s == 't')) s++;
    spaces(&s);
    if (ok && isdigit((unsigned char)*s)) ok = clock_of(&s, &clock);
    spaces(&s);
    ok = ok && zone_of(&s, &zone);
    spaces(&s);
    if (!ok || *s) return tra_fail(e, TRA_INPUT, "its attribute units, \"%.60s\", does not name a moment", units);
    t->origin += clock - zone;
    return TRA_OK;
}

/* Timestamps are of the years 1 to 9999; those before the Gregorian reform are other days in a mixed calendar. */
static bool has_text(const tra_cf_time *t, int64_t micros) {
    int32_t first, last, reform;
    (void)(tra_days_of(1, 1, 1, &first) && tra_days_of(9999, 12, 31, &last) && tra_days_of(1582, 10, 15, &reform));
    return micros >= (t->mixed ? reform : first) * day && micros < (last + INT64_C(1)) * day;
}

bool tra_cf_time_of_whole(const tra_cf_time *t, int64_t v, int64_t *micros) {
    return tra_mul(v, t->unit, micros) && tra_add(*micros, t->origin, micros) && has_text(t, *micros);
}

bool tra_cf_time_of_real(const tra_cf_time *t, double v, int64_t *micros) {
    long double since = (long double)v * (long double)t->unit;
    if (!isfinite(v) || fabsl(since) > 4e18L) return false;
    *micros = llrintl(since);
    return tra_add(*micros, t->origin, micros) && has_text(t, *micros);
}
