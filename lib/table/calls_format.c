/* calls_format.c - dates and times as text by a format, and back: strftime and strptime of C and Python. */
#include "calls_int.h"

#include <string.h>
#include <strings.h>

static const char *const weekdays[7] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const months[12] = {"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};

/* What stands after a %: whether it can be read, and what it tells of a moment. */
static const struct part {
    char letter;
    bool reads;
    tra_format_days days;
    tra_format_times times;
} parts[] = {{'Y', true, TRA_DAYS_YEAR, 0},          {'y', true, TRA_DAYS_YEAR, 0},
             {'m', true, TRA_DAYS_OF_YEAR_MONTH, 0}, {'b', true, TRA_DAYS_OF_YEAR_MONTH, 0},
             {'B', true, TRA_DAYS_OF_YEAR_MONTH, 0}, {'a', true, TRA_DAYS_WEEKDAY, 0},
             {'A', true, TRA_DAYS_WEEKDAY, 0},       {'u', false, TRA_DAYS_WEEKDAY, 0},
             {'w', false, TRA_DAYS_WEEKDAY, 0},      {'d', true, TRA_DAYS_DAY, 0},
             {'e', true, TRA_DAYS_DAY, 0},           {'j', true, TRA_DAYS_DAY, 0},
             {'U', false, TRA_DAYS_DAY, 0},          {'W', false, TRA_DAYS_DAY, 0},
             {'V', false, TRA_DAYS_DAY, 0},          {'G', false, TRA_DAYS_DAY, 0},
             {'F', true, TRA_DAYS_DAY, 0},           {'H', true, 0, TRA_TIMES_HOUR},
             {'I', true, 0, TRA_TIMES_HOUR},         {'p', true, 0, TRA_TIMES_HOUR},
             {'M', true, 0, TRA_TIMES_MINUTE},       {'R', true, 0, TRA_TIMES_MINUTE},
             {'S', true, 0, TRA_TIMES_SECOND},       {'T', true, 0, TRA_TIMES_SECOND},
             {'f', true, 0, TRA_TIMES_MICRO},        {'%', true, 0, 0}};

static const struct part *part_of(char letter) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].letter == letter) return &parts[i];
    return NULL;
}

/* Days by which both are told: the year and the month of it are a month, other pairs take the day. */
static tra_format_days both(tra_format_days a, tra_format_days b) {
    if (a == b || b == TRA_DAYS_NONE) return a;
    if (a == TRA_DAYS_NONE) return b;
    bool weekday = a == TRA_DAYS_WEEKDAY || b == TRA_DAYS_WEEKDAY, day = a == TRA_DAYS_DAY || b == TRA_DAYS_DAY;
    return weekday || day ? TRA_DAYS_DAY : TRA_DAYS_MONTH;
}

tra_status tra_format_prepare(tra_arena *a, const char *name, tra_bytes text, bool reads, const void **out,
                              tra_err *e) {
    tra_format *f = tra_new(a, tra_format);
    f->text = (tra_bytes){tra_arena_strndup(a, text.s, (size_t)text.n), text.n};
    *out = f;
    for (int64_t i = 0; i < text.n; i++) {
        if (text.s[i] != '%') continue;
        char letter = i + 1 < text.n ? text.s[i + 1] : 0;
        const struct part *p = reads && letter == 'z' ? part_of('%') : part_of(letter);
        if (!p || (reads && !p->reads))
            return tra_fail(e, TRA_PROGRAM,
                            "%s: '%%%.*s' at character %" PRId64 " of the format is none that it %s; it knows "
                            "%%Y %%m %%d %%H %%M %%S %%f %%y %%j %%b %%B %%a %%A %%I %%p %%e %%F %%T %%R %s",
                            name, letter ? 1 : 0, &letter, tra_points((tra_bytes){text.s, i}) + 1,
                            reads ? "reads" : "writes", reads ? "%z %%" : "%u %w %U %W %V %G %%");
        f->days = both(f->days, p->days);
        f->times = p->times > f->times ? p->times : f->times;
        i++;
    }
    return TRA_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct moment {
    int64_t days, of_day, year;
    int month, day;
} moment;

/* A day of which the format tells the same as of those for which the number stands. */
static int64_t day_for(tra_format_days kind, int64_t n) {
    int32_t days = 0;
    int64_t year = tra_floor_div(n, 12);
    switch (kind) {
    case TRA_DAYS_NONE: break;
    case TRA_DAYS_WEEKDAY: return 4 + n; /* 1970-01-05 was a Monday */
    case TRA_DAYS_OF_YEAR_MONTH: (void)tra_days_of(2000, n, 1, &days); break;
    case TRA_DAYS_YEAR: (void)tra_days_of(n, 1, 1, &days); break;
    case TRA_DAYS_MONTH: (void)tra_days_of(year, n - 12 * year + 1, 1, &days); break;
    case TRA_DAYS_DAY: return n;
    }
    return days;
}

static moment moment_of(const tra_call *c, const tra_format *f) {
    moment m = {0};
    if (f->split) {
        int at = 0;
        m.days = f->days ? day_for(f->days, c->v[at++].i) : 0;
        static const int64_t unit[] = {0, INT64_C(3600000000), 60000000, 1000000, 1};
        m.of_day = f->times ? c->v[at].i * unit[f->times] : 0;
    } else {
        m.days = c->v[0].type == TRA_COL_DATE ? c->v[0].i : tra_floor_div(c->v[0].i, TRA_DAY_MICROS);
        m.of_day = c->v[0].type == TRA_COL_DATE ? 0 : c->v[0].i - m.days * TRA_DAY_MICROS;
    }
    tra_civil_of(m.days, &m.year, &m.month, &m.day);
    return m;
}

static void write_part(char letter, const moment *m, tra_str *to) {
    int weekday = (int)tra_date_part(TRA_C_WEEKDAY, m->days, 0);
    int yearday = (int)tra_date_part(TRA_C_YEARDAY, m->days, 0);
    int second = (int)(m->of_day / 1000000), hour = second / 3600, minute = second / 60 % 60;
    int64_t iso_year, week = tra_iso_week(m->days, &iso_year);
    switch (letter) {
    case 'Y': tra_str_printf(to, "%04" PRId64, m->year); break;
    case 'y': tra_str_printf(to, "%02d", (int)(m->year - 100 * tra_floor_div(m->year, 100))); break;
    case 'm': tra_str_printf(to, "%02d", m->month); break;
    case 'd': tra_str_printf(to, "%02d", m->day); break;
    case 'e': tra_str_printf(to, "%2d", m->day); break;
    case 'F': tra_str_printf(to, "%04" PRId64 "-%02d-%02d", m->year, m->month, m->day); break;
    case 'b': tra_str_printf(to, "%.3s", months[m->month - 1]); break;
    case 'B': tra_str_add(to, months[m->month - 1]); break;
    case 'a': tra_str_printf(to, "%.3s", weekdays[weekday]); break;
    case 'A': tra_str_add(to, weekdays[weekday]); break;
    case 'u': tra_str_printf(to, "%d", weekday + 1); break;
    case 'w': tra_str_printf(to, "%d", (weekday + 1) % 7); break;
    case 'j': tra_str_printf(to, "%03d", yearday); break;
    case 'U': tra_str_printf(to, "%02d", (yearday + 6 - (weekday + 1) % 7) / 7); break;
    case 'W': tra_str_printf(to, "%02d", (yearday + 6 - weekday) / 7); break;
    case 'V': tra_str_printf(to, "%02d", (int)week); break;
    case 'G': tra_str_printf(to, "%04" PRId64, iso_year); break;
    case 'H': tra_str_printf(to, "%02d", hour); break;
    case 'I': tra_str_printf(to, "%02d", (hour + 11) % 12 + 1); break;
    case 'p': tra_str_add(to, hour < 12 ? "AM" : "PM"); break;
    case 'M': tra_str_printf(to, "%02d", minute); break;
    case 'R': tra_str_printf(to, "%02d:%02d", hour, minute); break;
    case 'S': tra_str_printf(to, "%02d", second % 60); break;
    case 'T': tra_str_printf(to, "%02d:%02d:%02d", hour, minute, second % 60); break;
    case 'f': tra_str_printf(to, "%06d", (int)(m->of_day % 1000000)); break;
    case '%': tra_str_add(to, "%"); break;
    }
}

void tra_call_strftime(tra_call *c) {
    const tra_format *f = c->prepared;
    moment m = moment_of(c, f);
    if (m.year < 1 || m.year > 9999) return (void)(c->out.state = TRA_STATE_ERROR);
    for (int64_t i = 0; i < f->text.n; i++) {
        if (f->text.s[i] == '%')
            write_part(f->text.s[++i], &m, c->text);
        else
            tra_str_addn(c->text, f->text.s + i, 1);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const char *s, *end;
    int64_t year, month, day, hour, minute, second, micro, yearday, east; /* seconds east of UTC */
    bool twelve, after_noon;
} reading;

/* A number of at most so many digits, in this range. */
static bool read_number(reading *r, int most, int64_t least, int64_t greatest, int64_t *v) {
    int n = 0;
    for (*v = 0; n < most && r->s < r->end && *r->s >= '0' && *r->s <= '9'; n++) *v = *v * 10 + (*r->s++ - '0');
    return n > 0 && *v >= least && *v <= greatest;
}

/* One of the names, in any case, whole or its first three letters. */
static bool read_name(reading *r, const char *const *names, int n, bool whole, int64_t *v) {
    for (int i = 0; i < n; i++) {
        size_t len = whole ? strlen(names[i]) : 3;
        if ((size_t)(r->end - r->s) < len || strncasecmp(r->s, names[i], len) != 0) continue;
        r->s += len;
        return *v = i + 1, true;
    }
    return false;
}

static bool read_zone(reading *r) {
    int64_t hours, minutes = 0;
    if (r->s < r->end && *r->s == 'Z') return r->s++, true;
    if (r->s == r->end || (*r->s != '+' && *r->s != '-')) return false;
    int64_t sign = *r->s++ == '-' ? -1 : 1;
    if (!read_number(r, 2, 0, 23, &hours)) return false;
    if (r->s < r->end && *r->s == ':') r->s++;
    if (!read_number(r, 2, 0, 59, &minutes)) return false;
    r->east = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_literal(reading *r, char c) { return r->s < r->end && *r->s == c && r->s++; }

static bool read_part(reading *r, char letter) {
    int64_t v;
    switch (letter) {
    case 'Y': {
        const char *from = r->s;
        return read_number(r, 4, 1, 9999, &r->year) && r->s - from == 4;
    }
    case 'y':
        if (!read_number(r, 2, 0, 99, &v)) return false;
        return r->year = v < 69 ? 2000 + v : 1900 + v, true;
    case 'm': return read_number(r, 2, 1, 12, &r->month);
    case 'e':
        while (r->s < r->end && *r->s == ' ') r->s++;
        return read_number(r, 2, 1, 31, &r->day);
    case 'd': return read_number(r, 2, 1, 31, &r->day);
    case 'j': return read_number(r, 3, 1, 366, &r->yearday);
    case 'b': return read_name(r, months, 12, false, &r->month);
    case 'B': return read_name(r, months, 12, true, &r->month);
    case 'a': return read_name(r, weekdays, 7, false, &v);
    case 'A': return read_name(r, weekdays, 7, true, &v);
    case 'H': return read_number(r, 2, 0, 23, &r->hour);
    case 'I': return r->twelve = true, read_number(r, 2, 1, 12, &r->hour);
    case 'p': {
        static const char *const halves[2] = {"AM", "PM"};
        if (r->end - r->s < 2 || (strncasecmp(r->s, halves[0], 2) != 0 && strncasecmp(r->s, halves[1], 2) != 0))
            return false;
        r->after_noon = *r->s == 'P' || *r->s == 'p';
        return r->s += 2, true;
    }
    case 'M': return read_number(r, 2, 0, 59, &r->minute);
    case 'S': return read_number(r, 2, 0, 59, &r->second);
    case 'f': {
        const char *from = r->s;
        if (!read_number(r, 6, 0, 999999, &r->micro)) return false;
        for (int64_t n = r->s - from; n < 6; n++) r->micro *= 10;
        return true;
    }
    case 'F':
        return read_part(r, 'Y') && read_literal(r, '-') && read_part(r, 'm') && read_literal(r, '-') &&
               read_part(r, 'd');
    case 'R': return read_part(r, 'H') && read_literal(r, ':') && read_part(r, 'M');
    case 'T': return read_part(r, 'R') && read_literal(r, ':') && read_part(r, 'S');
    case 'z': return read_zone(r);
    default: return read_literal(r, '%');
    }
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool read_all(reading *r, tra_bytes format) {
    for (int64_t i = 0; i < format.n; i++) {
        if (format.s[i] == '%') {
            if (!read_part(r, format.s[++i])) return false;
        } else if (is_blank(format.s[i])) { /* as in Python: some blanks for some */
            if (r->s == r->end || !is_blank(*r->s)) return false;
            while (i + 1 < format.n && is_blank(format.s[i + 1])) i++;
            while (r->s < r->end && is_blank(*r->s)) r->s++;
        } else if (!read_literal(r, format.s[i])) {
            return false;
        }
    }
    return r->s == r->end;
}

void tra_call_strptime(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0);
    reading r = {.s = t.s, .end = t.s + t.n, .year = 1900, .month = 1, .day = 1};
    int32_t days = 0;
    bool ok = read_all(&r, ((const tra_format *)c->prepared)->text);
    if (ok && r.yearday) {
        ok = tra_days_of(r.year, 1, 1, &days) && (r.yearday < 366 || tra_days_of(r.year, 2, 29, &days));
        ok = ok && tra_days_of(r.year, 1, 1, &days);
        days += (int32_t)r.yearday - 1;
    } else {
        ok = ok && tra_days_of(r.year, r.month, r.day, &days);
    }
    if (r.twelve) r.hour = r.hour % 12 + (r.after_noon ? 12 : 0);
    c->out.i = ((days * INT64_C(24) + r.hour) * 60 + r.minute) * 60 + r.second - r.east;
    c->out.i = c->out.i * 1000000 + r.micro;
    if (!ok) c->out.state = TRA_STATE_NULL;
}
