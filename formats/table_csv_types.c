/* table_csv_types.c - the narrowest type that holds all cells of a column, and cells as values. */
#include "table_csv_types.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static void trim(const char **s, size_t *n) {
    while (*n > 0 && is_blank(**s)) ++*s, --*n;
    while (*n > 0 && is_blank((*s)[*n - 1])) --*n;
}

static bool is_word(const char *const *words, int n, const char *s, size_t len) {
    for (int i = 0; i < n; i++)
        if (strlen(words[i]) == len && memcmp(words[i], s, len) == 0) return true;
    return false;
}

bool tra_csv_is_usual_null(const char *s, size_t n) {
    static const char *const words[] = {"na",  "n/a",     "<na>",    "null",  "none",  "nil",    "-",       "--",
                                        "---", "?",       ".",       "*",     "\\n",   "n.a.",   "missing", "#n/a",
                                        "#na", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"};
    if (n > 8) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], s, n) == 0) return true;
    return false;
}

bool tra_csv_is_null(const tra_csv_reading *r, const char *s, size_t n, bool quoted, bool words) {
    if (n == 0) return !quoted || words;
    if (r->nnulls > 0) return is_word(r->nulls, r->nnulls, s, n);
    if (!words || n > 8) return false;
    trim(&s, &n);
    return n == 0 || (r->nnulls < 0 && tra_csv_is_usual_null(s, n));
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool begins_number(char c) {
    return is_digit(c) || c == '-' || c == '+' || c == '.' || (c | 0x20) == 'n' || (c | 0x20) == 'i';
}

/* With a decimal point, and without signs between thousands, in buf; false: these are not where they should be. */
static bool plain_number(const tra_csv_reading *r, const char **s, size_t *n, char buf[64]) {
    if (*n >= 64) return false;
    size_t k = 0, since = 0;
    bool behind = false, any = false;
    for (size_t i = 0; i < *n; i++) {
        char c = (*s)[i];
        if (r->thousands && c == r->thousands) {
            if (behind || k == 0 || (any && since != 3)) return false;
            any = true;
            since = 0;
            continue;
        }
        if (c == r->decimal) {
            if (any && since != 3) return false;
            behind = true;
            c = '.';
        } else if (c == '.') {
            return false;
        } else if ((c | 0x20) == 'e') {
            behind = true;
        }
        since += !behind && is_digit(c);
        buf[k++] = c;
    }
    if (any && !behind && since != 3) return false;
    *s = buf;
    *n = k;
    buf[k] = 0;
    return true;
}

static bool usual_numbers(const tra_csv_reading *r) { return r->decimal == '.' && !r->thousands; }

/* A whole number of few digits, without more ado. */
static bool short_int(const char *s, size_t n, int64_t *v) {
    bool negative = n > 0 && *s == '-';
    size_t i = negative;
    int64_t x = 0;
    if (n - negative == 0 || n > 18) return false;
    for (; i < n; i++) {
        unsigned digit = (unsigned)(s[i] - '0');
        if (digit > 9) return false;
        x = x * 10 + digit;
    }
    *v = negative ? -x : x;
    return true;
}

/* Is it a number? *whole: and an integer of i64, *v. */
static bool number_of(const tra_csv_reading *r, const char *s, size_t n, bool *whole, int64_t *v, double *x) {
    char buf[64];
    if (short_int(s, n, v)) return *whole = true;
    trim(&s, &n);
    if (n == 0 || !begins_number(*s)) return false;
    if (!usual_numbers(r) && !plain_number(r, &s, &n, buf)) return false;
    *whole = tra_scan_int(s, n, v);
    return *whole || tra_scan_num(s, n, x);
}

/* Of a text that is a number: digits alone, perhaps with a sign and signs between thousands? */
static bool has_digits_alone(const tra_csv_reading *r, const char *s, size_t n) {
    trim(&s, &n);
    if (n > 0 && (*s == '-' || *s == '+')) s++, n--;
    for (size_t i = 0; i < n; i++)
        if (!is_digit(s[i]) && s[i] != r->thousands) return false;
    return n > 0;
}

static bool is_finite_text(const char *s, size_t n) { return !memchr(s, 'n', n) && !memchr(s, 'N', n); }

static bool is_bool(const char *s, size_t n, bool *v) {
    *v = n == 4;
    return (n == 4 && strncasecmp(s, "true", 4) == 0) || (n == 5 && strncasecmp(s, "false", 5) == 0);
}

/* ---- guesses --------------------------------------------------------------------------------------------------- */

tra_csv_kind tra_csv_kind_of(const tra_csv_reading *r, const char *s, size_t n) {
    static const tra_csv_reading usual = {.decimal = '.', .nnulls = -1};
    bool whole, time, truth;
    int64_t v;
    double x;
    int64_t micros;
    if (!r) r = &usual;
    if (tra_csv_is_null(r, s, n, false, true)) return TRA_CSV_NOTHING;
    if (number_of(r, s, n, &whole, &v, &x)) return TRA_CSV_NUMBER;
    trim(&s, &n);
    if (is_bool(s, n, &truth)) return TRA_CSV_BOOL;
    if (r->date_format && tra_date_by(r->date_format, s, n, &micros)) return TRA_CSV_DAY;
    if (r->timestamp_format && tra_date_by(r->timestamp_format, s, n, &micros)) return TRA_CSV_DAY;
    return tra_date_orders(s, n, &time) ? TRA_CSV_DAY : TRA_CSV_OTHER;
}

tra_csv_guess tra_csv_no_guess(void) { return (tra_csv_guess){.orders = TRA_DATE_ANY}; }

void tra_csv_guess_add(tra_csv_guess *to, const tra_csv_guess *g) {
    to->kinds |= g->kinds;
    to->fraction |= g->fraction;
    to->wide |= g->wide;
    to->huge |= g->huge;
    to->zero |= g->zero;
    to->uneven |= g->uneven || (g->width && to->width && g->width != to->width);
    if (g->width) to->width = g->width;
    to->by_format += g->by_format;
    for (int i = 0; i < 2; i++) to->rounded[i] += g->rounded[i], to->overflow[i] += g->overflow[i];
    to->time |= g->time;
    to->formatted |= g->formatted;
    to->usual |= g->usual;
    to->orders &= g->orders;
    if (g->separator > to->separator) to->separator = g->separator;
    to->values += g->values;
    to->empty += g->empty;
    to->words += g->words;
}

enum { NUMBERS = 1 << TRA_CSV_NUMBER, BOOLS = 1 << TRA_CSV_BOOL, DAYS = 1 << TRA_CSV_DAY, OTHERS = 1 << TRA_CSV_OTHER };

/* A day by the formats that were given, or by those that are usual. */
static bool guess_day(const tra_csv_reading *r, tra_csv_guess *g, const char *s, size_t n) {
    int64_t micros;
    bool time = false;
    if (r->date_format && tra_date_by(r->date_format, s, n, &micros)) return g->formatted = true;
    if (r->timestamp_format && tra_date_by(r->timestamp_format, s, n, &micros)) return g->formatted = g->time = true;
    if (n == 0 || !is_digit(*s)) return false;
    unsigned orders = tra_date_orders(s, n, &time);
    g->orders &= orders;
    if (orders != 0 && g->separator == 0) g->separator = s[strspn(s, "0123456789")]; /* a date has one */
    g->time |= time;
    g->usual = true;
    return orders != 0;
}

/* A cell that is a number, and what it is. */
static void guess_number(const tra_csv_reading *r, tra_csv_guess *g, const char *s, size_t n, bool whole, int64_t v,
                         double x) {
    int64_t micros;
    bool digits = n > 0 && n < 256;
    for (size_t i = 0; i < n && digits; i++) digits = is_digit(s[i]);
    g->kinds |= NUMBERS;
    g->values++;
    if (digits) {
        g->zero |= n > 1 && *s == '0';
        g->uneven |= g->width && g->width != n;
        g->width = (uint8_t)n;
    } else {
        g->uneven = true;
    }
    g->fraction |= !whole;
    g->wide |= whole && v != (int32_t)v;
    if (whole) {
        g->rounded[0] += (long double)(double)v != (long double)v;
        g->rounded[1] += (long double)(float)v != (long double)v;
    } else if (has_digits_alone(r, s, n)) {
        const char *p = s;
        size_t len = n;
        trim(&p, &len);
        g->huge = true;
        g->rounded[0] += r->thousands || tra_rounds_whole(TRA_F64, p, len, x);
        g->rounded[1] += r->thousands || tra_rounds_whole(TRA_F32, p, len, x);
    }
    if (!whole && is_finite_text(s, n)) g->overflow[0] += isinf(x), g->overflow[1] += isinf((float)x);
    if (!r->date_format && !r->timestamp_format) return;
    trim(&s, &n);
    if (r->date_format && tra_date_by(r->date_format, s, n, &micros))
        g->by_format++;
    else if (r->timestamp_format && tra_date_by(r->timestamp_format, s, n, &micros))
        g->by_format++, g->time = true;
}

void tra_csv_guess_cell(const tra_csv_reading *r, tra_csv_guess *g, const char *s, size_t n, bool quoted) {
    bool whole, truth;
    int64_t v;
    double x;
    if (n == 0 && !quoted) {
        g->empty++;
        return;
    }
    if (r->nnulls > 0 && is_word(r->nulls, r->nnulls, s, n)) {
        g->empty++;
        return;
    }
    if (!(g->kinds & ~NUMBERS) && number_of(r, s, n, &whole, &v, &x)) {
        guess_number(r, g, s, n, whole, v, x);
        return;
    }
    if (g->kinds & OTHERS) { /* a string: words are values, and nothing else is to be found out */
        g->values++;
        return;
    }
    if (tra_csv_is_null(r, s, n, quoted, true)) { /* of a string it would be a value */
        g->words++;
        return;
    }
    g->values++;
    trim(&s, &n);
    if (is_bool(s, n, &truth))
        g->kinds |= BOOLS;
    else if (guess_day(r, g, s, n))
        g->kinds |= DAYS;
    else
        g->kinds |= number_of(r, s, n, &whole, &v, &x) ? NUMBERS : OTHERS;
}

static tra_status ambiguous(const tra_csv_guess *g, const char *spec, const tra_csv_column *c, tra_err *e) {
    static const char *const formats[] = {"%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y", "%y-%m-%d", "%d-%m-%y", "%m-%d-%y"};
    char two[2][16] = {"", ""}, between = g->separator ? g->separator : '-';
    for (int i = 0, n = 0; i < 6 && n < 2; i++) {
        if (!(g->orders >> i & 1)) continue;
        for (int k = 0; formats[i][k]; k++) two[n][k] = formats[i][k] == '-' ? between : formats[i][k];
        n++;
    }
    const char *option = g->time ? "--timestamp-format" : "--date-format", *time = g->time ? " ..." : "";
    return tra_fail(e, TRA_INPUT,
                    "%s: column \"%s\": its dates can be read in more than one order: say %s '%s%s' or %s '%s%s'%s, or "
                    "read them as text by --types '%s=string'",
                    spec, c->name, option, two[0], time, option, two[1], time,
                    g->time ? " (... stands for the time as it is written)" : "", c->name);
}

/* The type of a column of numbers; one of which some would be another number is text, and that is said. */
static tra_coltype number_type(const tra_csv_guess *g, const char *spec, const tra_csv_column *c) {
    char shown[TRA_SHOWN];
    const char *why = g->huge                        ? "it has whole numbers that i64 does not hold"
                      : g->fraction && g->rounded[0] ? "beside fractions it has whole numbers that f64 does not hold"
                      : g->zero && !g->uneven        ? "its numbers begin with zeros and have as many digits each"
                                                     : NULL;
    if (!why) return g->fraction ? TRA_COL_F64 : g->wide ? TRA_COL_I64 : TRA_COL_I32;
    const char *other = g->huge || g->fraction ? "f64" : "i64";
    tra_shown(c->name, strlen(c->name), shown);
    tra_warn("%s: column \"%s\" is text: %s (--types '%s=%s' makes numbers of it)", spec, shown, why, shown, other);
    return TRA_COL_STRING;
}

static void warn_losses(const tra_csv_guess *g, const char *spec, const tra_csv_column *c) {
    char shown[TRA_SHOWN];
    if (!tra_coltype_is_float(c->type)) return;
    int64_t rounded = g->rounded[c->type == TRA_COL_F32], overflow = g->overflow[c->type == TRA_COL_F32];
    const char *type = tra_coltype_name(c->type);
    tra_shown(c->name, strlen(c->name), shown);
    if (rounded > 0)
        tra_warn("%s: column \"%s\": %" PRId64 " integers cannot be held exactly in %s and were rounded", spec, shown,
                 rounded, type);
    if (overflow > 0)
        tra_warn("%s: column \"%s\": %" PRId64 " finite values are too large for %s and became infinite", spec, shown,
                 overflow, type);
}

tra_status tra_csv_decide_type(const tra_csv_reading *r, const tra_csv_guess *g, const char *spec, tra_csv_column *c,
                               tra_err *e) {
    bool coded = false, days = false, formatted = g->formatted || (g->by_format > 0 && g->by_format == g->values);
    if (!c->given) {
        switch (g->kinds) {
        case NUMBERS:
            c->type = formatted ? (g->time ? TRA_COL_TIMESTAMP : TRA_COL_DATE) : number_type(g, spec, c);
            break;
        case BOOLS: c->type = TRA_COL_BOOL; break;
        case DAYS: c->type = g->time ? TRA_COL_TIMESTAMP : TRA_COL_DATE; break;
        default: c->type = TRA_COL_STRING; break;
        }
        if (g->kinds == DAYS && (formatted ? g->usual : g->orders == 0)) c->type = TRA_COL_STRING;
    }
    warn_losses(g, spec, c);
    coded = tra_coltype_is_coded(c->type);
    days = c->type == TRA_COL_DATE || c->type == TRA_COL_TIMESTAMP;
    c->nullable = g->empty + (coded ? 0 : g->words) > 0;
    c->format = c->type == TRA_COL_DATE ? r->date_format : c->type == TRA_COL_TIMESTAMP ? r->timestamp_format : NULL;
    if (!days || formatted || g->values == 0) return TRA_OK;
    c->format = NULL;
    c->order = g->orders;
    if (c->order == 0)
        return tra_fail(e, TRA_INPUT, "%s: column \"%s\": no one order of year, month and day fits all its dates", spec,
                        c->name);
    return (c->order & (c->order - 1)) == 0 ? TRA_OK : ambiguous(g, spec, c, e);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static bool day_value(const tra_csv_reading *r, const tra_csv_column *c, const char *s, size_t n, int64_t *micros) {
    trim(&s, &n);
    if (c->order) return tra_date_scan(s, n, c->order, micros);
    if (c->format && tra_date_by(c->format, s, n, micros)) return true;
    if (c->type == TRA_COL_TIMESTAMP && r->date_format && tra_date_by(r->date_format, s, n, micros)) return true;
    return !c->format && tra_date_scan(s, n, TRA_DATE_YMD, micros);
}

static bool days_value(const tra_csv_reading *r, const tra_csv_column *c, const char *s, size_t n, int32_t *days) {
    static const int64_t day = INT64_C(86400000000);
    int64_t micros;
    if (!day_value(r, c, s, n, &micros) || micros % day != 0) return false;
    *days = (int32_t)(micros / day);
    return true;
}

static bool number_value(const tra_csv_reading *r, const char *s, size_t n, double *x) {
    bool whole;
    int64_t v;
    if (!number_of(r, s, n, &whole, &v, x)) return false;
    if (whole) {
        *x = (double)v;
        if (v == 0 && memchr(s, '-', n)) *x = -0.0;
    }
    return true;
}

/* Also "3.0" and "1e3", which --types may ask for as integers. */
static bool whole_value(const tra_csv_reading *r, const char *s, size_t n, int64_t *v) {
    char buf[64];
    if (short_int(s, n, v)) return true;
    trim(&s, &n);
    if (n == 0 || !begins_number(*s)) return false;
    if (!usual_numbers(r) && !plain_number(r, &s, &n, buf)) return false;
    return tra_scan_whole(s, n, v);
}

static bool bool_value(const tra_csv_reading *r, const char *s, size_t n, bool *v) {
    int64_t i;
    trim(&s, &n);
    if (is_bool(s, n, v)) return true;
    if (!whole_value(r, s, n, &i) || (i != 0 && i != 1)) return false;
    *v = i == 1;
    return true;
}

bool tra_csv_value(const tra_csv_reading *r, const tra_csv_column *c, const char *s, size_t n, void *values,
                   int64_t i) {
    int64_t v;
    double x;
    bool b;
#define VALUE_FLOAT(T) return number_value(r, s, n, &x) && (((T *)values)[i] = (T)x, true);
#define VALUE_INT(T)   return whole_value(r, s, n, &v) && v == (T)v && (((T *)values)[i] = (T)v, true);
#define VALUE_BOOL(T)  return bool_value(r, s, n, &b) && (((T *)values)[i] = (T)b, true);
#define X(name, text, T, class, ...)                                                                                   \
    case TRA_COL_##name: VALUE_##class(T)
    switch (c->type) {
        TRA_DTYPES(X)
#undef X
    case TRA_COL_DATE: return days_value(r, c, s, n, (int32_t *)values + i);
    case TRA_COL_TIMESTAMP: return day_value(r, c, s, n, (int64_t *)values + i);
    case TRA_COL_STRING:
    case TRA_COL_TEXT: return false;
    }
    return false;
}
