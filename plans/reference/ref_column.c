/* ref_column.c - expressions over columns, value by value. */
#include "ref_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static bool is(const tra_ast *x, const char *name) { return strcmp(x->text, name) == 0; }

static bool whole(const ref_item *x) { return x->type <= TRA_COL_I64; }
static bool number(const ref_item *x) { return x->type <= TRA_COL_F64; }
static bool text_type(tra_coltype t) { return t == TRA_COL_STRING || t == TRA_COL_TEXT; }
static bool text(const ref_item *x) { return text_type(x->type); }
static double real(const ref_item *x) { return whole(x) ? (double)x->c.i : x->c.f; }

static ref_item made(tra_coltype type, int state) { return (ref_item){.type = type, .c.state = state}; }
static ref_item of_int(tra_coltype type, int64_t v) { return (ref_item){.type = type, .c.i = v}; }
static ref_item of_float(double v) { return (ref_item){.type = TRA_COL_F64, .c.f = v}; }
static ref_item of_bool(bool v) { return of_int(TRA_COL_BOOL, v); }
static ref_item of_text(const char *s, int64_t n) { return (ref_item){.type = TRA_COL_STRING, .c.s = s, .c.len = n}; }

/* ---- days --------------------------------------------------------------------------------------------------- */

static bool leap(int64_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }
static int month_days(int64_t y, int64_t m) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[m - 1] + (m == 2 && leap(y));
}

/* Year, month and day of a number of days since 1970, found by counting year by year and month by month. */
static void calendar(int64_t days, int64_t *y, int64_t *m, int64_t *d) {
    *y = 1970;
    while (days < 0) days += leap(--*y) ? 366 : 365;
    for (; days >= (leap(*y) ? 366 : 365); ++*y) days -= leap(*y) ? 366 : 365;
    for (*m = 1; days >= month_days(*y, *m); ++*m) days -= month_days(*y, *m);
    *d = days + 1;
}

static bool day_number(int64_t y, int64_t m, int64_t d, int64_t *days) {
    if (y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > month_days(y, m)) return false;
    *days = d - 1;
    for (int64_t i = 1; i < m; i++) *days += month_days(y, i);
    for (int64_t i = 1970; i < y; i++) *days += leap(i) ? 366 : 365;
    for (int64_t i = y; i < 1970; i++) *days -= leap(i) ? 366 : 365;
    return true;
}

enum { HOUR = 3600, DAY = 86400 };
#define MICRO INT64_C(1000000)

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static ref_item date_part(const tra_ast *x, const ref_item *v) {
    int64_t days = v->type == TRA_COL_DATE ? v->c.i : floor_div(v->c.i, DAY * MICRO), y, m, d;
    int64_t second = v->type == TRA_COL_DATE ? 0 : (v->c.i - days * DAY * MICRO) / MICRO;
    if (is(x, "hour")) return of_int(TRA_COL_I64, second / HOUR);
    if (is(x, "minute")) return of_int(TRA_COL_I64, second % HOUR / 60);
    if (is(x, "weekday")) return of_int(TRA_COL_I64, ((days + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    if (is(x, "second")) return of_int(TRA_COL_I64, second % 60);
    bool week = is(x, "week"), of_year = week || is(x, "yearday"), iso = week || is(x, "isoyear");
    if (iso) days += 3 - ((days + 3) % 7 + 7) % 7; /* the Thursday of its week */
    calendar(days, &y, &m, &d);
    for (int64_t i = 1; of_year && i < m; i++) d += month_days(y, i);
    if (is(x, "quarter")) return of_int(TRA_COL_I64, (m + 2) / 3);
    if (week) return of_int(TRA_COL_I64, (d + 6) / 7);
    return of_int(TRA_COL_I64, is(x, "year") || iso ? y : is(x, "month") ? m : d);
}

/* Reads exactly n digits at *s, and moves *s past them. */
static bool digits(const char **s, int n, int64_t *v) {
    for (*v = 0; n > 0; n--, ++*s) {
        if (**s < '0' || **s > '9') return false;
        *v = *v * 10 + (**s - '0');
    }
    return true;
}

/* yyyy-mm-dd, then, of a timestamp, maybe hh:mm, :ss, .f, Z. */
static bool read_moment(const char *s, bool time, int64_t *days, int64_t *micros) {
    int64_t y, m, d, h = 0, min = 0, sec = 0;
    *micros = 0;
    if (!digits(&s, 4, &y) || *s++ != '-' || !digits(&s, 2, &m) || *s++ != '-' || !digits(&s, 2, &d)) return false;
    if (!day_number(y, m, d, days)) return false;
    if (*s && time) {
        if (*s != ' ' && *s != 'T') return false;
        s++;
        if (!digits(&s, 2, &h) || *s++ != ':' || !digits(&s, 2, &min) || h > 23 || min > 59) return false;
        if (*s == ':') {
            s++;
            if (!digits(&s, 2, &sec) || sec > 59) return false;
            if (*s == '.')
                for (int64_t unit = MICRO / 10; *++s >= '0' && *s <= '9'; unit /= 10) *micros += unit * (*s - '0');
        }
        if (*s == 'Z') s++;
    }
    *micros += ((h * 60 + min) * 60 + sec) * MICRO;
    return *s == 0;
}

static ref_item literal(const tra_ast *x) {
    int64_t days = 0, micros = 0;
    (void)read_moment(x->kids[0]->text, *x->text == 't', &days, &micros);
    return *x->text == 'd' ? of_int(TRA_COL_DATE, days) : of_int(TRA_COL_TIMESTAMP, days * DAY * MICRO + micros);
}

static ref_item to_moment(const tra_ast *x, const ref_item *k, tra_arena *a) {
    bool time = *x->text == 't';
    tra_coltype type = time ? TRA_COL_TIMESTAMP : TRA_COL_DATE;
    int64_t days = 0, micros = 0, part[6] = {0};
    bool ok = true;
    if (x->nkids > 1) {
        for (int i = 0; i < x->nkids; i++) part[i] = k[i].c.i;
        ok = day_number(part[0], part[1], part[2], &days) && part[3] >= 0 && part[3] < 24 && part[4] >= 0 &&
             part[4] < 60 && part[5] >= 0 && part[5] < 60;
        micros = ((part[3] * 60 + part[4]) * 60 + part[5]) * MICRO;
    } else if (text(k)) {
        ok = read_moment(tra_arena_strndup(a, k->c.s, (size_t)k->c.len), time, &days, &micros);
    } else {
        days = k->type == TRA_COL_DATE ? k->c.i : floor_div(k->c.i, DAY * MICRO);
        micros = k->type == TRA_COL_DATE ? 0 : k->c.i - days * DAY * MICRO;
    }
    if (!ok) return made(type, REF_NULL);
    return of_int(type, time ? days * DAY * MICRO + micros : days);
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

static ref_item fits(tra_coltype type, __int128 v) {
    bool date = type == TRA_COL_DATE;
    if (v > (date ? INT32_MAX : INT64_MAX) || v < (date ? INT32_MIN : INT64_MIN)) return made(type, REF_ERROR);
    return of_int(type, (int64_t)v);
}

/* + and - of dates, timestamps and whole numbers. */
static ref_item moved(const tra_ast *x, const ref_item *a, const ref_item *b) {
    tra_coltype type = number(a) == number(b) ? TRA_COL_I64 : number(a) ? b->type : a->type;
    return fits(type, *x->text == '+' ? (__int128)a->c.i + b->c.i : (__int128)a->c.i - b->c.i);
}

/* The function or operator of numbers that elements of tensors have too; -1: it is none. */
static int numeric(const tra_ast *x) {
    static const tra_scalar_op signs[] = {TRA_S_ADD, TRA_S_SUB, TRA_S_MUL, TRA_S_DIV, TRA_S_POW};
    if (x->nkids == 1 && is(x, "-")) return TRA_S_NEG;
    for (size_t i = 0; i < sizeof signs / sizeof *signs && x->nkids == 2; i++)
        if (is(x, tra_scalar_text(signs[i]))) return (int)signs[i];
    int op = tra_scalar_find(x->text, x->nkids);
    bool other = op < 0 || op == TRA_S_MAX || op == TRA_S_MIN || op == TRA_S_IF;
    return other || tra_scalar_class_of((tra_scalar_op)op) == TRA_SC_CAST ? -1 : op;
}

/* In i64 or f64; what rounds or has a sign, and no other, in f32 too. */
static ref_item of_numbers(tra_scalar_op op, int n, const ref_item *k) {
    bool single = n == 1 && tra_scalar_class_of(op) != TRA_SC_REAL;
    ref_value v[2];
    ref_fit fit = {0};
    if ((op == TRA_S_IDIV || op == TRA_S_MOD) && real(&k[1]) == 0)
        return made(whole(&k[0]) && whole(&k[1]) ? TRA_COL_I64 : TRA_COL_F64, REF_NULL);
    for (int i = 0; i < n; i++) {
        tra_dtype t = whole(&k[i]) ? TRA_I64 : single && k[i].type == TRA_COL_F32 ? TRA_F32 : TRA_F64;
        v[i] = (ref_value){.v = whole(&k[i]) ? (ref_num)k[i].c.i : (ref_num)k[i].c.f, .t = t};
    }
    ref_value r = ref_apply(op, v[0], v[n - 1], &fit);
    ref_item out = made(tra_coltype_of(r.t), fit.over ? REF_ERROR : REF_VALUE);
    if (ref_is_float(r.t))
        out.c.f = (double)r.v;
    else if (!fit.over)
        out.c.i = (int64_t)r.v;
    return out;
}

/* ---- comparisons -------------------------------------------------------------------------------------------- */

/* Compares two values: negative, 0 or positive; 2 where they cannot be compared, since one is NaN. */
static int compare(const ref_item *a, const ref_item *b) {
    if (text(a)) {
        int c = memcmp(a->c.s, b->c.s, (size_t)tra_min64(a->c.len, b->c.len));
        return c ? (c < 0 ? -1 : 1) : (a->c.len > b->c.len) - (a->c.len < b->c.len);
    }
    if (number(a) && (!whole(a) || !whole(b))) {
        double x = real(a), y = real(b);
        return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
    }
    return (a->c.i > b->c.i) - (a->c.i < b->c.i);
}

static bool holds(const char *op, int c) {
    if (!strcmp(op, "==")) return c == 0;
    if (!strcmp(op, "!=")) return c != 0;
    if (c == 2) return false;
    return !strcmp(op, "<") ? c < 0 : !strcmp(op, "<=") ? c <= 0 : !strcmp(op, ">") ? c > 0 : c >= 0;
}

static ref_item either(const ref_item *a, const ref_item *b, bool strong) {
    for (int i = 0; i < 2; i++) {
        const ref_item *x = i ? b : a;
        if (x->c.state == REF_VALUE && (x->c.i != 0) == strong) return of_bool(strong);
    }
    if (a->c.state == REF_ERROR || b->c.state == REF_ERROR) return made(TRA_COL_BOOL, REF_ERROR);
    if (a->c.state == REF_NULL || b->c.state == REF_NULL) return made(TRA_COL_BOOL, REF_NULL);
    return of_bool(!strong);
}

static ref_item same(const ref_item *a, const ref_item *b) {
    if (a->c.state == REF_ERROR || b->c.state == REF_ERROR) return made(TRA_COL_BOOL, REF_ERROR);
    if (a->c.state != REF_VALUE || b->c.state != REF_VALUE) return of_bool(a->c.state == b->c.state);
    int c = compare(a, b);
    return of_bool(c == 0 || (c == 2 && isnan(real(a)) && isnan(real(b))));
}

/* The type that holds both, of what is not NULL without a type. */
static ref_item as_both(const ref_item *v, const ref_item *other) {
    ref_item r = *v;
    if (other->any) return r;
    if (v->any) {
        r.type = other->type;
        r.any = false;
    } else if (number(v) && v->type != other->type) {
        bool f = !whole(v) || !whole(other);
        bool single = (v->type == TRA_COL_F32 && other->type == TRA_COL_BOOL) ||
                      (v->type == TRA_COL_BOOL && other->type == TRA_COL_F32);
        r.type = single ? TRA_COL_F32 : f ? TRA_COL_F64 : v->type > other->type ? v->type : other->type;
        r.c.f = real(v);
    }
    return r;
}

/* ---- functions of strings and dates, and casts ---------------------------------------------------------------- */

static tra_call_value value_of(const ref_item *x) {
    return (tra_call_value){.type = x->type, .state = x->c.state, .i = x->c.i, .f = x->c.f, .s = x->c.s, .n = x->c.len};
}

/* The function of calls.h, or -1. */
static int called(const tra_ast *x) {
    int op = x->kind == TRA_AST_CALL ? tra_colop_find(x->text, x->nkids) : -1;
#define OP(X, name, ...) || op == TRA_C_##name
    return false TRA_CALLS(OP, ) ? op : -1;
#undef OP
}

static ref_item run_call(int op, const tra_ast *x, const ref_item *k, tra_arena *a) {
    tra_call_value *v = tra_news(a, tra_call_value, x->nkids + 1);
    tra_str text = {0};
    tra_call c = {.op = op, .n = x->nkids, .v = v, .text = &text};
    tra_err e = {0};
    for (int i = 0; i < x->nkids; i++) {
        v[i] = value_of(&k[i]);
        if (tra_call_takes(op, i) == 't' && v[i].type == TRA_COL_DATE)
            v[i].type = TRA_COL_TIMESTAMP, v[i].i *= DAY * MICRO;
    }
    if (tra_call_prepare(a, op, c.n, v, &c.prepared, &e) != TRA_OK) return made(TRA_COL_BOOL, REF_ERROR);
    tra_call_run(&c);
    ref_item r = {.type = c.out.type, .c = {.state = c.out.state, .i = c.out.i}};
    if (tra_coltype_is_float(r.type)) r.c.f = c.out.f;
    if (text_type(r.type)) r.c.s = tra_arena_strndup(a, c.out.s ? c.out.s : "", (size_t)c.out.n), r.c.len = c.out.n;
    tra_str_free(&text);
    return r;
}

static tra_coltype type_of_call(int op, const tra_ast *x, const ref_item *k) {
    tra_call_value v[2] = {value_of(&k[0]), value_of(&k[x->nkids > 1])};
    return tra_call_type(op, v);
}

static uint64_t hash(const ref_item *v, uint64_t seed) {
    if (v->c.state != REF_VALUE) return XXH64("", 0, seed);
    if (text(v)) return XXH64(v->c.s, (size_t)v->c.len, seed);
    if (v->type != TRA_COL_F32 && v->type != TRA_COL_F64) return XXH64(&v->c.i, 8, seed);
    double f = v->c.f == 0 ? 0 : v->c.f;
    uint64_t bits;
    memcpy(&bits, &f, 8);
    if (isnan(f)) bits = UINT64_C(0x7ff8000000000000);
    return XXH64(&bits, 8, seed);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static ref_item extreme(const tra_ast *x, const ref_item *k) {
    ref_item best = as_both(&k[0], &k[1]);
    for (int i = 1; i < x->nkids; i++) {
        ref_item v = as_both(&k[i], &best);
        best = as_both(&best, &v);
        int c = compare(&v, &best);
        if (c == 2)
            best = isnan(real(&best)) ? best : v;
        else if (is(x, "max") ? c > 0 : c < 0)
            best = v;
    }
    return best;
}

/* Evaluates the functions that do not become NULL just because an operand is NULL: &&, ||, isnull, ifnull, same, if,
 * in, hash. False for any other. */
static bool sees_null(const tra_ast *x, const ref_item *k, ref_item *out) {
    if (is(x, "&&") || is(x, "||")) return *out = either(&k[0], &k[1], x->text[0] == '|'), true;
    if (is(x, "isnull"))
        *out = k->c.state == REF_ERROR ? made(TRA_COL_BOOL, REF_ERROR) : of_bool(k->c.state == REF_NULL);
    else if (is(x, "ifnull"))
        *out = k[0].c.state == REF_NULL ? as_both(&k[1], &k[0]) : as_both(&k[0], &k[1]);
    else if (is(x, "same"))
        *out = same(&k[0], &k[1]);
    else if (is(x, "if")) {
        bool yes = k[0].c.state == REF_VALUE && k[0].c.i;
        *out = as_both(&k[yes ? 1 : 2], &k[yes ? 2 : 1]);
        if (k[0].c.state == REF_ERROR) out->c.state = REF_ERROR;
    } else if (is(x, "in")) {
        *out = of_bool(false);
        for (int i = 1; i < x->nkids; i++) {
            int state = k[0].c.state > k[i].c.state ? (int)k[0].c.state : (int)k[i].c.state;
            ref_item one = state ? made(TRA_COL_BOOL, state) : of_bool(compare(&k[0], &k[i]) == 0);
            *out = either(out, &one, true);
        }
    } else if (is(x, "hash")) {
        uint64_t h = 0;
        bool failed = false;
        for (int i = 0; i < x->nkids; i++) h = hash(&k[i], h), failed = failed || k[i].c.state == REF_ERROR;
        *out = failed ? made(TRA_COL_I64, REF_ERROR) : of_int(TRA_COL_I64, (int64_t)(h & INT64_MAX));
    } else {
        return false;
    }
    return true;
}

static tra_coltype type_when_null(const tra_ast *x, const ref_item *k) {
    if (x->kind == TRA_AST_BINARY && strchr("<>=!", *x->text)) return TRA_COL_BOOL;
    int op = called(x);
    if (op >= 0) return type_of_call(op, x, k);
    if (is(x, "!")) return TRA_COL_BOOL;
    if (is(x, "date")) return TRA_COL_DATE;
    if (is(x, "timestamp")) return TRA_COL_TIMESTAMP;
    static const char *const whole_parts[] = {"year", "quarter", "month", "week",   "isoyear", "yearday",
                                              "day",  "weekday", "hour",  "minute", "second"};
    for (size_t i = 0; i < sizeof whole_parts / sizeof *whole_parts; i++)
        if (is(x, whole_parts[i])) return TRA_COL_I64;
    if (is(x, "min") || is(x, "max")) return as_both(&k[0], &k[1]).type;
    int of = numeric(x);
    bool numbers = number(&k[0]) && number(&k[x->nkids - 1]);
    if (of < 0) return TRA_COL_F64;
    return (numbers ? of_numbers((tra_scalar_op)of, x->nkids, k) : moved(x, &k[0], &k[1])).type;
}

static ref_item call(const tra_ast *x, const ref_item *k, tra_arena *a) {
    ref_item r;
    if (sees_null(x, k, &r)) return r;
    int state = REF_VALUE;
    for (int i = 0; i < x->nkids; i++) state = (int)k[i].c.state > state ? (int)k[i].c.state : state;
    if (state) return made(type_when_null(x, k), state);
    int of = numeric(x);
    if (of >= 0 && number(&k[0]) && number(&k[x->nkids - 1])) return of_numbers((tra_scalar_op)of, x->nkids, k);
    if (is(x, "+") || is(x, "-")) return moved(x, &k[0], &k[1]);
    if (is(x, "!")) return of_bool(!k->c.i);
    if (x->kind == TRA_AST_BINARY) return of_bool(holds(x->text, compare(&k[0], &k[1])));
    if (is(x, "min") || is(x, "max")) return extreme(x, k);
    if (is(x, "date") || is(x, "timestamp")) return to_moment(x, k, a);
    int op = called(x);
    if (op >= 0) return run_call(op, x, k, a);
    return date_part(x, k);
}

ref_item ref_column_value(const tra_ast *x, const ref_table *t, int64_t row, tra_arena *a) {
    switch ((int)x->kind) {
    case TRA_AST_NUMBER: return x->integer ? of_int(TRA_COL_I64, strtoll(x->text, NULL, 10)) : of_float(x->value);
    case TRA_AST_UNARY: /* the sign is read with the digits, for -2^63 */
        if (*x->text != '-' || x->kids[0]->kind != TRA_AST_NUMBER || !x->kids[0]->integer) break;
        return of_int(TRA_COL_I64, strtoll(tra_arena_printf(a, "-%s", x->kids[0]->text), NULL, 10));
    case TRA_AST_STRING: return of_text(x->text, (int64_t)strlen(x->text));
    case TRA_AST_LITERAL: return literal(x);
    case TRA_AST_NAME:
        for (int c = 0; x->quoted && c < t->n; c++)
            if (strcmp(t->column[c].name, x->text) == 0)
                return (ref_item){.type = t->column[c].type, .c = *ref_at(t, row, c)};
        if (*x->text != 'n') return of_bool(*x->text == 't');
        return (ref_item){.any = true, .c.state = REF_NULL};
    }
    if (x->nkids == 0) return of_int(TRA_COL_I64, row);           /* row() */
    ref_item *kids = tra_malloc((size_t)x->nkids * sizeof *kids); /* `in` may have many */
    for (int i = 0; i < x->nkids; i++) kids[i] = ref_column_value(x->kids[i], t, row, a);
    ref_item value = call(x, kids, a);
    free(kids);
    return value;
}
