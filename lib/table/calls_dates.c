/* calls_dates.c - dates and times in units: beginnings, differences, months. */
#include "calls_int.h"

#include <string.h>

/* Names and microseconds; of weeks and longer these are not used. */
static const struct {
    const char *name;
    int64_t micros;
} units[TRA_UNITS] = {[TRA_UNIT_MICROSECOND] = {"microsecond", 1},
                      [TRA_UNIT_MILLISECOND] = {"millisecond", 1000},
                      [TRA_UNIT_SECOND] = {"second", 1000000},
                      [TRA_UNIT_MINUTE] = {"minute", 60000000},
                      [TRA_UNIT_HOUR] = {"hour", INT64_C(3600000000)},
                      [TRA_UNIT_DAY] = {"day", TRA_DAY_MICROS},
                      [TRA_UNIT_WEEK] = {"week", 0},
                      [TRA_UNIT_MONTH] = {"month", 0},
                      [TRA_UNIT_QUARTER] = {"quarter", 0},
                      [TRA_UNIT_YEAR] = {"year", 0}};

int64_t tra_unit_micros(tra_unit unit) { return units[unit].micros; }

tra_status tra_unit_prepare(tra_arena *a, const char *name, tra_bytes text, const void **out, tra_err *e) {
    tra_unit *unit = tra_new(a, tra_unit);
    for (int u = 0; u < TRA_UNITS; u++) {
        size_t n = strlen(units[u].name);
        bool same = text.n >= (int64_t)n && memcmp(text.s, units[u].name, n) == 0;
        if (!same || (text.n != (int64_t)n && !(text.n == (int64_t)n + 1 && text.s[n] == 's'))) continue;
        *unit = (tra_unit)u;
        *out = unit;
        return TRA_OK;
    }
    return tra_fail(e, TRA_PROGRAM,
                    "%s: '%.*s' is no unit of time: year, quarter, month, week, day, hour, minute, second, "
                    "millisecond, microsecond",
                    name, (int)tra_min64(text.n, 40), text.s);
}

/* The first day of the unit, which is a day or longer. */
static int64_t first_day(tra_unit unit, int64_t days) {
    int64_t year;
    int month, day;
    if (unit <= TRA_UNIT_DAY) return days;
    if (unit == TRA_UNIT_WEEK) return days - tra_date_part(TRA_C_WEEKDAY, days, 0);
    tra_civil_of(days, &year, &month, &day);
    int before = unit == TRA_UNIT_MONTH ? 0 : unit == TRA_UNIT_QUARTER ? (month - 1) % 3 : month - 1;
    days -= day - 1;
    for (int m = month - before; m < month; m++) {
        static const int8_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        days -= lengths[m - 1] + (m == 2 && (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)));
    }
    return days;
}

/* Sets a moment of days and microseconds as the type of the result has it. */
static void put(tra_call *c, int64_t days, int64_t of_day) {
    bool fits = true;
    if (c->out.type == TRA_COL_DATE)
        c->out.i = days, fits = days >= INT32_MIN && days <= INT32_MAX;
    else
        fits = !__builtin_mul_overflow(days, TRA_DAY_MICROS, &c->out.i) &&
               !__builtin_add_overflow(c->out.i, of_day, &c->out.i);
    if (!fits) c->out.state = TRA_STATE_ERROR;
}

static int64_t days_of(const tra_call_value *v, int64_t *of_day) {
    int64_t days = v->type == TRA_COL_DATE ? v->i : tra_floor_div(v->i, TRA_DAY_MICROS);
    *of_day = v->type == TRA_COL_DATE ? 0 : v->i - days * TRA_DAY_MICROS;
    return days;
}

void tra_call_date_trunc(tra_call *c) {
    tra_unit unit = *(const tra_unit *)c->prepared;
    int64_t of_day, days = days_of(&c->v[1], &of_day);
    put(c, first_day(unit, days), unit < TRA_UNIT_DAY ? of_day - of_day % units[unit].micros : 0);
}

/* The number of the unit that has the moment, counted from any fixed one. */
static int64_t number_of(tra_unit unit, const tra_call_value *v) {
    int64_t of_day, days = days_of(v, &of_day), year;
    int month, day;
    if (unit <= TRA_UNIT_DAY) return tra_floor_div(v->i, units[unit].micros);
    if (unit == TRA_UNIT_WEEK) return tra_floor_div(days + 3, 7);
    tra_civil_of(days, &year, &month, &day);
    return unit == TRA_UNIT_YEAR ? year : unit == TRA_UNIT_QUARTER ? 4 * year + (month - 1) / 3 : 12 * year + month;
}

void tra_call_date_diff(tra_call *c) {
    tra_unit unit = *(const tra_unit *)c->prepared;
    if (__builtin_sub_overflow(number_of(unit, &c->v[2]), number_of(unit, &c->v[1]), &c->out.i))
        c->out.state = TRA_STATE_ERROR;
}

void tra_call_add_months(tra_call *c) {
    int64_t of_day, days = days_of(&c->v[0], &of_day), year, by = c->v[1].i;
    int month, day;
    int32_t moved = 0;
    tra_civil_of(days, &year, &month, &day);
    if (by < -1000000 || by > 1000000) return (void)(c->out.state = TRA_STATE_ERROR);
    int64_t months = 12 * year + month - 1 + by, to = tra_floor_div(months, 12);
    while (day > 28 && !tra_days_of(to, months - 12 * to + 1, day, &moved)) day--;
    if (!tra_days_of(to, months - 12 * to + 1, day, &moved)) return (void)(c->out.state = TRA_STATE_ERROR);
    put(c, moved, of_day);
}
