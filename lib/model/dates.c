/* dates.c - the civil calendar, proleptic Gregorian, as days and microseconds since 1970. */
#include "dates.h"

#include <inttypes.h>
#include <stdio.h>

static const int64_t day_micros = 86400000000;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static bool leaps(int64_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

static int64_t days_in(int64_t year, int64_t month) {
    static const int8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && leaps(year));
}

/* Years begin in March here, so that the leap day is their last; 400 of them have 146097 days. */
static int64_t days_from(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year, era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool tra_days_of(int64_t year, int64_t month, int64_t day, int32_t *days) {
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return false;
    *days = (int32_t)days_from(year, month, day);
    return true;
}

void tra_civil_of(int64_t days, int64_t *year, int *month, int *day) {
    int64_t z = days + 719468, era = floor_div(z, 146097), of_era = z - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

bool tra_micros_of(const int64_t part[6], int64_t *micros) {
    int32_t days;
    if (!tra_days_of(part[0], part[1], part[2], &days) || part[3] < 0 || part[3] > 23 || part[4] < 0 || part[4] > 59 ||
        part[5] < 0 || part[5] > 59)
        return false;
    *micros = days * day_micros + ((part[3] * 60 + part[4]) * 60 + part[5]) * 1000000;
    return true;
}

/* So many digits as a number; -1 unless they are there. */
static int64_t digits(const char **s, const char *end, int n) {
    int64_t v = 0;
    if (end - *s < n) return -1;
    for (int i = 0; i < n; i++) {
        if ((*s)[i] < '0' || (*s)[i] > '9') return -1;
        v = v * 10 + ((*s)[i] - '0');
    }
    *s += n;
    return v;
}

static bool one_of(const char **s, const char *end, const char *chars) {
    if (*s == end) return false;
    for (; *chars; chars++) {
        if (**s == *chars) return (*s)++, true;
    }
    return false;
}

static bool date_part(const char **s, const char *end, int64_t part[6]) {
    part[0] = digits(s, end, 4);
    if (part[0] < 0 || !one_of(s, end, "-")) return false;
    part[1] = digits(s, end, 2);
    if (part[1] < 0 || !one_of(s, end, "-")) return false;
    part[2] = digits(s, end, 2);
    return part[2] >= 0;
}

bool tra_parse_date(const char *s, int64_t len, int32_t *days) {
    int64_t part[6];
    const char *end = s + len;
    return date_part(&s, end, part) && s == end && tra_days_of(part[0], part[1], part[2], days);
}

bool tra_parse_timestamp(const char *s, int64_t len, int64_t *micros) {
    int64_t part[6] = {0}, fraction = 0;
    const char *end = s + len;
    if (!date_part(&s, end, part)) return false;
    if (one_of(&s, end, " T")) {
        part[3] = digits(&s, end, 2);
        if (!one_of(&s, end, ":")) return false;
        part[4] = digits(&s, end, 2);
        if (one_of(&s, end, ":")) {
            part[5] = digits(&s, end, 2);
            if (one_of(&s, end, ".")) {
                int64_t unit = 100000, one = digits(&s, end, 1);
                if (one < 0) return false;
                for (; one >= 0; one = digits(&s, end, 1), unit /= 10)
                    fraction += one * unit; /* below a microsecond: 0 */
            }
        }
        one_of(&s, end, "Z");
    }
    if (s != end || !tra_micros_of(part, micros)) return false;
    *micros += fraction;
    return true;
}

/* Writes n digits of v; more where it has more. Returns the end. */
static char *put_digits(char *to, int64_t v, int n) {
    char digit[24];
    int k = 0;
    for (uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v; u > 0 || k < n; u /= 10) digit[k++] = (char)('0' + u % 10);
    if (v < 0) *to++ = '-';
    while (k > 0) *to++ = digit[--k];
    return to;
}

static char *put_date(char *to, int64_t days) {
    int64_t year;
    int month, day;
    tra_civil_of(days, &year, &month, &day);
    to = put_digits(to, year, year < 0 ? 3 : 4); /* a sign is one of the four */
    *to++ = '-';
    to = put_digits(to, month, 2);
    *to++ = '-';
    return put_digits(to, day, 2);
}

char *tra_date_text(int32_t days, char buf[TRA_DATETEXT]) {
    *put_date(buf, days) = 0;
    return buf;
}

char *tra_timestamp_text(int64_t micros, char buf[TRA_DATETEXT]) {
    int64_t days = floor_div(micros, day_micros), of_day = micros - days * day_micros, s = of_day / 1000000;
    char *to = put_date(buf, days);
    *to++ = ' ';
    to = put_digits(to, s / 3600, 2);
    *to++ = ':';
    to = put_digits(to, s / 60 % 60, 2);
    *to++ = ':';
    to = put_digits(to, s % 60, 2);
    if (of_day % 1000000) {
        *to++ = '.';
        to = put_digits(to, of_day % 1000000, 6);
    }
    *to = 0;
    return buf;
}
