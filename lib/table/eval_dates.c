/* eval_dates.c - parts of dates and times, and beginnings of units, of a strip of rows. What lies far from 1970 is left
 * to the functions of single values (dates.c, calls_dates.c). */
#include "../base/simd.h"
#include "calls_int.h"
#include "eval_int.h"

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* Days and microseconds of which this is true go through vectors. */
enum { FAR_DAYS = 1000000000 };
#define FAR_MICROS (INT64_C(1) << 60)

#define IS_NEAR(name, T, far)                                                                                          \
    VECTORS static bool name(const T *v, int n) {                                                                      \
        int out = 0;                                                                                                   \
        for (int i = 0; i < n; i++) out |= (v[i] >= (far)) | (v[i] <= -(far));                                         \
        return !out;                                                                                                   \
    }
IS_NEAR(are_near_days, int32_t, FAR_DAYS)
IS_NEAR(are_near_micros, int64_t, FAR_MICROS)

/* ---- days -------------------------------------------------------------------------------------------------------- */

/* What tra_civil_of says of a near day, in 32 bits without a sign, which vectors have. All but the year count from 0.
 */
typedef struct civil {
    int32_t year, month, day, yearday, of_quarter;
} civil;

static inline civil civil_of(int32_t days) {
    const uint32_t eras = FAR_DAYS / 146097 + 1;
    uint32_t z = (uint32_t)days + 719468 + eras * 146097, era = z / 146097, of_era = z - era * 146097;
    uint32_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153; /* from the first of March */
    uint32_t leap = (y % 4 == 0) & ((y % 100 != 0) | (y == 0)), march = 59 + leap, late = m >= 10;
    uint32_t begun = m < 1 ? 0 - march : m < 4 ? 31 : m < 7 ? 122 : m < 10 ? 214 : 306;
    return (civil){.year = (int32_t)(y + late + era * 400) - (int32_t)eras * 400,
                   .month = (int32_t)(late ? m - 10 : m + 2),
                   .day = (int32_t)(of_year - (153 * m + 2) / 5),
                   .yearday = (int32_t)(late ? of_year - 306 : of_year + march),
                   .of_quarter = (int32_t)(of_year - begun)};
}

static inline int32_t weekday_of(int32_t days) { /* 1970 began on a Thursday; 7 divides what is added */
    return (int32_t)(((uint32_t)days + 3 + 7 * (FAR_DAYS / 7 + 1)) % 7);
}
static inline civil civil_of_thursday(int32_t days) { return civil_of(days - weekday_of(days) + 3); }

#define EACH(expr)                                                                                                     \
    for (int i = 0; i < n; i++) {                                                                                      \
        int32_t d = days[i];                                                                                           \
        to[i] = (expr);                                                                                                \
    }                                                                                                                  \
    break

VECTORS static void parts_of_days(tra_colop op, const int32_t *restrict days, int n, int64_t *restrict to) {
    switch (op) {
    case TRA_C_YEAR: EACH(civil_of(d).year);
    case TRA_C_QUARTER: EACH(civil_of(d).month / 3 + 1);
    case TRA_C_MONTH: EACH(civil_of(d).month + 1);
    case TRA_C_DAY: EACH(civil_of(d).day + 1);
    case TRA_C_YEARDAY: EACH(civil_of(d).yearday + 1);
    case TRA_C_WEEK: EACH(civil_of_thursday(d).yearday / 7 + 1);
    case TRA_C_ISOYEAR: EACH(civil_of_thursday(d).year);
    default: EACH(weekday_of(d));
    }
}

VECTORS static void first_days(tra_unit unit, const int32_t *restrict days, int n, int32_t *restrict to) {
    switch (unit) {
    case TRA_UNIT_WEEK: EACH(d - weekday_of(d));
    case TRA_UNIT_MONTH: EACH(d - civil_of(d).day);
    case TRA_UNIT_QUARTER: EACH(d - civil_of(d).of_quarter);
    case TRA_UNIT_YEAR: EACH(d - civil_of(d).yearday);
    default: EACH(d);
    }
}

/* ---- microseconds ------------------------------------------------------------------------------------------------ */

/* The floor of v / unit, which is at least a thousand: so the quotient of floats is at most one off. */
static inline int64_t whole_units(int64_t v, int64_t unit, double each) {
    int64_t q = (int64_t)((double)v * each), rest = v - q * unit;
    return q + (rest >= unit) - (rest < 0);
}

VECTORS static void days_of(const int64_t *restrict v, int n, int32_t *restrict to) {
    for (int i = 0; i < n; i++) to[i] = (int32_t)whole_units(v[i], TRA_DAY_MICROS, 1.0 / (double)TRA_DAY_MICROS);
}

VECTORS static void begin_units(const int64_t *restrict v, int n, int64_t unit, int64_t *restrict to) {
    for (int i = 0; i < n; i++) to[i] = unit * whole_units(v[i], unit, 1.0 / (double)unit);
}

/* every: seconds of the unit; most: how many there are of it. */
VECTORS static void parts_of_times(const int64_t *restrict v, int n, uint32_t every, uint32_t most,
                                   int64_t *restrict to) {
    for (int i = 0; i < n; i++) {
        int64_t day = whole_units(v[i], TRA_DAY_MICROS, 1.0 / (double)TRA_DAY_MICROS);
        uint32_t second = (uint32_t)(int32_t)(((double)(v[i] - day * TRA_DAY_MICROS) + 0.5) * 1e-6);
        to[i] = second / every % most;
    }
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* The days of dates, or of timestamps in `strip`. NULL: one is far from 1970. */
static const int32_t *near_days(const tra_colvalue *v, tra_coltype t, int n, int32_t *strip) {
    if (t == TRA_COL_DATE) return are_near_days(v->values, n) ? v->values : NULL;
    if (!are_near_micros(v->values, n)) return NULL;
    days_of(v->values, n, strip);
    return strip;
}

static void far_parts(const tra_colstep *s, int64_t *to) {
    for (int i = 0; i < s->n; i++) {
        bool date = s->x->kids[0]->type == TRA_COL_DATE;
        int64_t v = date ? ((const int32_t *)s->kid[0]->values)[i] : ((const int64_t *)s->kid[0]->values)[i];
        int64_t days = date ? v : tra_floor_div(v, TRA_DAY_MICROS);
        to[i] = tra_date_part(s->x->op, days, date ? 0 : v - days * TRA_DAY_MICROS);
    }
}

void tra_colstep_calendar(tra_colstep *s) {
    int32_t strip[TRA_COLSTRIP];
    int64_t *to = s->out->values;
    const int32_t *days = near_days(s->kid[0], s->x->kids[0]->type, s->n, strip);
    if (!days)
        far_parts(s, to);
    else if (s->x->op == TRA_C_HOUR)
        parts_of_times(s->kid[0]->values, s->n, 3600, 24, to);
    else if (s->x->op == TRA_C_MINUTE)
        parts_of_times(s->kid[0]->values, s->n, 60, 60, to);
    else if (s->x->op == TRA_C_SECOND)
        parts_of_times(s->kid[0]->values, s->n, 1, 60, to);
    else
        parts_of_days(s->x->op, days, s->n, to);
}

bool tra_colstep_begin_units(tra_colstep *s) {
    int32_t strip[TRA_COLSTRIP], first[TRA_COLSTRIP];
    tra_unit unit = *(const tra_unit *)s->x->prepared;
    const int32_t *days = near_days(s->kid[1], s->x->type, s->n, strip);
    if (!days) return false;
    if (s->x->type == TRA_COL_DATE) {
        first_days(unit, days, s->n, s->out->values);
    } else if (unit == TRA_UNIT_MICROSECOND) {
        memcpy(s->out->values, s->kid[1]->values, (size_t)s->n * sizeof(int64_t));
    } else if (unit <= TRA_UNIT_DAY) {
        begin_units(s->kid[1]->values, s->n, tra_unit_micros(unit), s->out->values);
    } else {
        first_days(unit, days, s->n, first);
        for (int i = 0; i < s->n; i++) ((int64_t *)s->out->values)[i] = first[i] * TRA_DAY_MICROS;
    }
    return true;
}

static void moment_of_parts(tra_colstep *s) {
    for (int i = 0; i < s->n; i++) {
        int64_t part[6] = {0}, micros = 0;
        int32_t days = 0;
        for (int k = 0; k < s->x->nkids; k++) part[k] = ((int64_t *)s->run->at[s->insn->kid[k]].values)[i];
        bool is = s->x->op == TRA_C_DATE ? tra_days_of(part[0], part[1], part[2], &days) : tra_micros_of(part, &micros);
        if (s->x->op == TRA_C_DATE)
            ((int32_t *)s->out->values)[i] = days;
        else
            ((int64_t *)s->out->values)[i] = micros;
        if (is || tra_colstep_states(s)[i] != TRA_STATE_VALUE) continue;
        tra_colstep_states(s)[i] = TRA_STATE_NULL;
        tra_colstep_note(s, i, TRA_NULL_NO_DATE);
    }
}

void tra_colstep_moment(tra_colstep *s) {
    const int32_t *date = s->kid[0]->values;
    const int64_t *time = s->kid[0]->values;
    if (s->x->calendar) {
        moment_of_parts(s);
    } else if (s->x->op == TRA_C_TIMESTAMP) { /* of a date */
        int64_t *d = s->out->values;
        for (int i = 0; i < s->n; i++) {
            d[i] = 0;
            if (__builtin_mul_overflow((int64_t)date[i], TRA_DAY_MICROS, &d[i])) tra_colstep_fail(s, i);
        }
    } else if (are_near_micros(time, s->n)) {
        days_of(time, s->n, s->out->values);
    } else {
        for (int i = 0; i < s->n; i++) ((int32_t *)s->out->values)[i] = (int32_t)tra_floor_div(time[i], TRA_DAY_MICROS);
    }
}
