/* build.c - typed trees over columns: what types operators take, and what they give. */
#include "../model/spooled.h"
#include "table_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *text;
    int least, most;
    tra_colclass class;
} ops[] = {
#define X(name, text, least, most, class) [TRA_C_##name] = {text, least, most, TRA_COLCLASS_##class},
    TRA_COLOPS(X)
#undef X
};
#define OPS ((int)(sizeof ops / sizeof *ops))

static bool is_word(const char *s) { return s[0] >= 'a' && s[0] <= 'z'; }

int tra_colop_find(const char *text, int nargs) {
    for (int i = 0; i < OPS; i++) {
        if (strcmp(ops[i].text, text) == 0 && nargs >= ops[i].least && (ops[i].most < 0 || nargs <= ops[i].most))
            return i;
    }
    return -1;
}

tra_colclass tra_colop_class(tra_colop op) { return ops[op].class; }

const char *tra_colop_text(tra_colop op) { return (int)op < OPS ? ops[op].text : ""; }

const char *tra_colop_function(int i) {
    for (int k = 0; k < OPS; k++) {
        if (is_word(ops[k].text) && i-- == 0) return ops[k].text;
    }
    return NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

tra_colexpr *tra_colexpr_node(tra_arena *a, tra_colop op, tra_coltype type, int n, const tra_colexpr *const *kids) {
    tra_colexpr *x = tra_colexpr_leaf(a, op, type);
    const tra_colexpr **copy = tra_news(a, const tra_colexpr *, n);
    for (int i = 0; i < n; i++) {
        copy[i] = kids[i];
        x->nullable |= kids[i]->nullable;
        x->fails |= kids[i]->fails;
    }
    x->nkids = n;
    x->kids = copy;
    return x;
}

const tra_colexpr *tra_colexpr_fold(tra_arena *a, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN || x->op == TRA_C_CONST || x->op == TRA_C_ROW) return x;
    for (int i = 0; i < x->nkids; i++) {
        if (x->kids[i]->op != TRA_C_CONST) return x;
    }
    if (tra_coltype_is_coded(x->type) && !x->dict) return x;
    tra_arena *own = tra_arena_new();
    tra_colcode *code = tra_colcode_new(own, 1, &x);
    char *scratch = tra_arena_alloc(own, (size_t)tra_colcode_scratch(code) + 64);
    tra_colrun run;
    tra_colrun_begin(&run, code, scratch + (64 - (uintptr_t)scratch % 64) % 64);
    tra_colrun_strip(&run, NULL, 0, 1);
    tra_colvalue v = tra_colrun_result(&run, 0);
    uint8_t state = v.state ? v.state[0] : TRA_STATE_VALUE;
    if (tra_colrun_by_zero(&run, 0, 1).n) return tra_arena_free(own), x; /* the run says so */
    tra_colexpr *c = tra_colexpr_null_of(a, x->type, x->dict);
    c->null = c->nullable = state == TRA_STATE_NULL;
    if (state == TRA_STATE_VALUE) {
        tra_dtype t = tra_coltype_held(x->type);
        if (tra_dtype_is_float(t))
            c->value.f = tra_element_real(t, v.values, 0);
        else
            c->value.i = tra_element_whole(t, v.values, 0);
        if (!tra_coltype_is_float(x->type)) c->least = c->most = c->value.i;
    }
    tra_arena_free(own);
    return state == TRA_STATE_ERROR ? x : c; /* an error is one of the rows that read it */
}

const tra_colexpr *tra_colexpr_lookup(tra_arena *a, const tra_colexpr *x, tra_coltype type, const void *table,
                                      const uint8_t *tstate) {
    tra_colexpr *y = tra_colexpr_node(a, TRA_C_LOOKUP, type, 1, &x);
    y->table = table;
    y->tstate = tstate;
    if (tstate) y->nullable = true;
    return x->dict ? tra_colexpr_fold(a, y) : y;
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

typedef enum kind { NUMBER, DATE, TIMESTAMP, STRING } kind;

static kind kind_of(const tra_colexpr *x) {
    if (tra_coltype_is_number(x->type)) return NUMBER;
    return x->type == TRA_COL_DATE ? DATE : x->type == TRA_COL_TIMESTAMP ? TIMESTAMP : STRING;
}

static const char *kind_text(const tra_colexpr *x) {
    static const char *const text[] = {"a number", "a date", "a timestamp", "a string"};
    return x->untyped ? "null" : x->type == TRA_COL_BOOL ? "a bool" : text[kind_of(x)];
}

static bool is_whole(const tra_colexpr *x) { return x->type <= TRA_COL_I64; } /* bool, i32, i64 */

static const tra_colexpr *convert(tra_arena *a, const tra_colexpr *x, tra_coltype to) {
    if (x->untyped) return tra_colexpr_null_of(a, to, NULL);
    if (x->type == to) return x;
    tra_colexpr *y = tra_colexpr_node(a, TRA_C_CONVERT, to, 1, &x);
    if (!tra_coltype_is_float(to)) {
        y->fails |= x->least < y->least || x->most > y->most;
        y->least = tra_max64(x->least, y->least);
        y->most = tra_min64(x->most, y->most);
    }
    return tra_colexpr_fold(a, y);
}

/* The type that holds the values of two numbers. */
static tra_coltype wider(tra_coltype a, tra_coltype b) {
    if (a == b) return a;
    if (tra_coltype_is_float(a) || tra_coltype_is_float(b)) return TRA_COL_F64;
    return a > b ? a : b;
}

tra_status tra_colexpr_unify(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, bool ordered, tra_err *e) {
    const tra_colexpr *first = NULL;
    for (int i = 0; i < n; i++) {
        if (kids[i]->untyped) continue;
        if (!first) first = kids[i];
        if (kind_of(kids[i]) == kind_of(first)) continue;
        bool times = kind_of(first) != NUMBER && kind_of(kids[i]) != NUMBER && kind_of(first) != STRING &&
                     kind_of(kids[i]) != STRING;
        return tra_fail(e, TRA_PROGRAM, "%s is given %s and %s%s", tra_colop_text(op), kind_text(first),
                        kind_text(kids[i]), times ? "; date(x) and timestamp(x) make one of the other" : "");
    }
    if (!first) return TRA_OK;
    if (kind_of(first) == STRING) {
        const tra_colexpr **typed = tra_news(a, const tra_colexpr *, n);
        int m = 0;
        for (int i = 0; i < n; i++) {
            if (!kids[i]->untyped) typed[m++] = kids[i];
        }
        TRA_TRY(tra_colexpr_unite(a, m, typed, ordered, e));
        m = 0;
        for (int i = 0; i < n; i++) {
            if (!kids[i]->untyped) kids[i] = typed[m++];
        }
        for (int i = 0; i < n; i++) {
            if (kids[i]->untyped) kids[i] = tra_colexpr_null_of(a, typed[0]->type, typed[0]->dict);
        }
        return TRA_OK;
    }
    tra_coltype to = first->type;
    for (int i = 0; i < n && kind_of(first) == NUMBER; i++) {
        if (!kids[i]->untyped) to = wider(to, kids[i]->type);
    }
    for (int i = 0; i < n; i++) kids[i] = convert(a, kids[i], to);
    return TRA_OK;
}

/* The operands must be numbers (whole ones); nulls become such. */
static tra_status numbers(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, bool wholes, tra_err *e) {
    for (int i = 0; i < n; i++) {
        if (kids[i]->untyped) kids[i] = tra_colexpr_null_of(a, TRA_COL_I64, NULL);
        if (kind_of(kids[i]) != NUMBER || (wholes && !is_whole(kids[i])))
            return tra_fail(e, TRA_PROGRAM, "%s takes %s, not %s", tra_colop_text(op),
                            wholes ? "whole numbers" : "numbers",
                            wholes ? tra_coltype_name(kids[i]->type) : kind_text(kids[i]));
    }
    return TRA_OK;
}

static tra_status bools(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, tra_err *e) {
    for (int i = 0; i < n; i++) {
        if (kids[i]->untyped) kids[i] = tra_colexpr_null_of(a, TRA_COL_BOOL, NULL);
        if (kids[i]->type != TRA_COL_BOOL)
            return tra_fail(e, TRA_PROGRAM, "%s takes what is true or false, not %s", tra_colop_text(op),
                            kind_text(kids[i]));
    }
    return TRA_OK;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* The range of a sum, difference or product; false: it may not fit an i64. */
static bool range_of(tra_colop op, const tra_colexpr *l, const tra_colexpr *r, int64_t *least, int64_t *most) {
    __int128 a = l->least, b = l->most, c = r->least, d = r->most, lo, hi;
    if (op == TRA_C_ADD)
        lo = a + c, hi = b + d;
    else if (op == TRA_C_SUB)
        lo = a - d, hi = b - c;
    else {
        __int128 v[4] = {a * c, a * d, b * c, b * d};
        lo = hi = v[0];
        for (int i = 1; i < 4; i++) lo = v[i] < lo ? v[i] : lo, hi = v[i] > hi ? v[i] : hi;
    }
    bool fits = lo >= INT64_MIN && hi <= INT64_MAX;
    *least = lo < INT64_MIN ? INT64_MIN : (int64_t)lo;
    *most = hi > INT64_MAX ? INT64_MAX : (int64_t)hi;
    return fits;
}

/* + - * of whole numbers, in i64, whose result is of a type that may be narrower (dates). */
static const tra_colexpr *whole_arithmetic(tra_arena *a, tra_colop op, const tra_colexpr *l, const tra_colexpr *r,
                                           tra_coltype type) {
    const tra_colexpr *kids[2] = {convert(a, l, TRA_COL_I64), convert(a, r, TRA_COL_I64)};
    tra_colexpr *x = tra_colexpr_node(a, op, TRA_COL_I64, 2, kids);
    x->fails |= !range_of(op, kids[0], kids[1], &x->least, &x->most);
    return convert(a, tra_colexpr_fold(a, x), type);
}

/* A date or timestamp as the number that it is; and back. */
static const tra_colexpr *arithmetic(tra_arena *a, tra_colop op, const tra_colexpr *l, const tra_colexpr *r) {
    if (is_whole(l) && is_whole(r)) return whole_arithmetic(a, op, l, r, TRA_COL_I64);
    const tra_colexpr *kids[2] = {convert(a, l, TRA_COL_F64), convert(a, r, TRA_COL_F64)};
    return tra_colexpr_fold(a, tra_colexpr_node(a, op, TRA_COL_F64, 2, kids));
}

static tra_status add_sub(tra_arena *a, tra_colop op, const tra_colexpr **kids, const tra_colexpr **out, tra_err *e) {
    const tra_colexpr *l = kids[0], *r = kids[1];
    kind kl = l->untyped ? NUMBER : kind_of(l), kr = r->untyped ? NUMBER : kind_of(r);
    bool moves = op == TRA_C_ADD ? (kl == NUMBER) != (kr == NUMBER) : kl != NUMBER && kr == NUMBER;
    bool spans = op == TRA_C_SUB && kl == kr && kl != NUMBER;
    if (kl == STRING || kr == STRING || (kl != NUMBER && !moves && !spans) || (kr != NUMBER && !moves && !spans))
        return tra_fail(e, TRA_PROGRAM, "%s is given %s and %s", tra_colop_text(op), kind_text(l), kind_text(r));
    if (kl == NUMBER) TRA_TRY(numbers(a, op, 1, &l, moves, e));
    if (kr == NUMBER) TRA_TRY(numbers(a, op, 1, &r, moves, e));
    if (spans)
        *out = whole_arithmetic(a, op, l, r, TRA_COL_I64);
    else if (moves)
        *out = whole_arithmetic(a, op, l, r, kl == NUMBER ? r->type : l->type);
    else
        *out = arithmetic(a, op, l, r);
    return TRA_OK;
}

static const tra_colexpr *quotient(tra_arena *a, tra_colop op, const tra_colexpr *l, const tra_colexpr *r) {
    tra_coltype t = is_whole(l) && is_whole(r) ? TRA_COL_I64 : TRA_COL_F64;
    const tra_colexpr *kids[2] = {convert(a, l, t), convert(a, r, t)};
    tra_colexpr *x = tra_colexpr_node(a, op, t, 2, kids);
    x->nullable |= t == TRA_COL_F64 ? true : kids[1]->least <= 0 && kids[1]->most >= 0;
    if (t == TRA_COL_F64) return tra_colexpr_fold(a, x);
    x->fails |= op == TRA_C_IDIV && kids[0]->least == INT64_MIN && kids[1]->least <= -1 && kids[1]->most >= -1;
    if (op == TRA_C_MOD && kids[1]->least > 0) x->least = 0, x->most = kids[1]->most - 1;
    if (op == TRA_C_IDIV && kids[1]->least == kids[1]->most && kids[1]->least > 0) {
        x->least = tra_floor_div(kids[0]->least, kids[1]->least);
        x->most = tra_floor_div(kids[0]->most, kids[1]->least);
    }
    return tra_colexpr_fold(a, x);
}

static tra_status negate(tra_arena *a, tra_colop op, const tra_colexpr *x, const tra_colexpr **out, tra_err *e) {
    TRA_TRY(numbers(a, op, 1, &x, false, e));
    const tra_colexpr *k = convert(a, x, is_whole(x) ? TRA_COL_I64 : x->type);
    tra_colexpr *y = tra_colexpr_node(a, op, k->type, 1, &k);
    if (is_whole(k)) {
        y->fails |= k->least == INT64_MIN;
        int64_t least = tra_max64(k->least, -INT64_MAX);
        y->least = -k->most;
        y->most = -least;
        if (op == TRA_C_ABS) y->most = tra_max64(k->most, -least), y->least = 0;
    }
    *out = tra_colexpr_fold(a, y);
    return TRA_OK;
}

static tra_status real(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, const tra_colexpr **out,
                       tra_err *e) {
    TRA_TRY(numbers(a, op, n, kids, false, e));
    for (int i = 0; i < n; i++) kids[i] = convert(a, kids[i], TRA_COL_F64);
    *out = tra_colexpr_fold(a, tra_colexpr_node(a, op, TRA_COL_F64, n, kids));
    return TRA_OK;
}

/* A function of TRA_PARTS. */
static tra_status part_of_number(tra_arena *a, tra_colop op, const tra_colexpr **kids, const tra_colexpr **out,
                                 tra_err *e) {
    TRA_TRY(numbers(a, op, 1, kids, false, e));
    if (op == TRA_C_ISNAN || op == TRA_C_ISINF) {
        const tra_colexpr *k = convert(a, kids[0], TRA_COL_F64);
        return *out = tra_colexpr_fold(a, tra_colexpr_node(a, op, TRA_COL_BOOL, 1, &k)), TRA_OK;
    }
    const tra_colexpr *k = is_whole(kids[0]) ? convert(a, kids[0], TRA_COL_I64) : kids[0];
    bool itself = is_whole(k) && op != TRA_C_SIGN && op != TRA_C_RELU;
    if (itself) return *out = k, TRA_OK;
    tra_colexpr *x = tra_colexpr_node(a, op, k->type, 1, &k);
    if (is_whole(k)) {
        x->least = op == TRA_C_SIGN ? -1 : tra_max64(0, k->least);
        x->most = op == TRA_C_SIGN ? 1 : tra_max64(0, k->most);
    }
    return *out = tra_colexpr_fold(a, x), TRA_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static bool constant_string(const tra_colexpr *x) {
    return x->op == TRA_C_CONST && !x->untyped && !x->null && tra_coltype_is_coded(x->type);
}

static tra_status compare(tra_arena *a, tra_colop op, const tra_colexpr **kids, const tra_colexpr **out, tra_err *e) {
    bool strings = tra_coltype_is_coded(kids[0]->type) && tra_coltype_is_coded(kids[1]->type);
    if (strings && op != TRA_C_SAME && (constant_string(kids[0]) || constant_string(kids[1])))
        return tra_colexpr_of_strings(a, op, 2, kids, out, e);
    if (kids[0]->untyped && kids[1]->untyped) {
        *out = op == TRA_C_SAME ? tra_colexpr_bool(a, true) : tra_colexpr_null_of(a, TRA_COL_BOOL, NULL);
        return TRA_OK;
    }
    bool ordered = op != TRA_C_EQ && op != TRA_C_NE && op != TRA_C_SAME;
    TRA_TRY(tra_colexpr_unify(a, op, 2, kids, ordered, e));
    if (tra_coltype_is_float(kids[0]->type)) {
        for (int i = 0; i < 2; i++) kids[i] = convert(a, kids[i], TRA_COL_F64);
    }
    tra_colexpr *x = tra_colexpr_node(a, op, TRA_COL_BOOL, 2, kids);
    if (op == TRA_C_SAME) x->nullable = false;
    *out = tra_colexpr_fold(a, x);
    if (op != TRA_C_SAME) *out = tra_colexpr_by_entry(a, *out);
    return TRA_OK;
}

/* if, ifnull, min, max, once their operands that become results are of one type. */
static tra_status choose(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, const tra_colexpr **out,
                         tra_err *e) {
    int from = op == TRA_C_IF;
    if (from) TRA_TRY(bools(a, op, 1, kids, e));
    bool untyped = true;
    for (int i = from; i < n; i++) untyped &= kids[i]->untyped;
    TRA_TRY(tra_colexpr_unify(a, op, n - from, kids + from, op == TRA_C_MIN || op == TRA_C_MAX, e));
    if (untyped) {
        *out = kids[from];
        return TRA_OK;
    }
    tra_colexpr *x = tra_colexpr_node(a, op, kids[from]->type, n, kids);
    x->dict = kids[from]->dict;
    x->least = tra_min64(kids[from]->least, kids[from + 1]->least);
    x->most = tra_max64(kids[from]->most, kids[from + 1]->most);
    if (op == TRA_C_IF) x->nullable = kids[1]->nullable || kids[2]->nullable;
    if (op == TRA_C_IFNULL) x->nullable = kids[1]->nullable && kids[0]->nullable;
    *out = tra_colexpr_fold(a, x);
    return TRA_OK;
}

static tra_status logic(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, const tra_colexpr **out,
                        tra_err *e) {
    TRA_TRY(bools(a, op, n, kids, e));
    *out = tra_colexpr_fold(a, tra_colexpr_node(a, op, TRA_COL_BOOL, n, kids));
    *out = tra_colexpr_by_entry(a, *out);
    return TRA_OK;
}

/* x is one of n > 0 values: a tree of few levels, so that whoever walks it needs a small stack. */
static tra_status is_any(tra_arena *a, const tra_colexpr *x, int n, const tra_colexpr **value, const tra_colexpr **out,
                         tra_err *e) {
    if (n == 1) return compare(a, TRA_C_EQ, (const tra_colexpr *[]){x, value[0]}, out, e);
    const tra_colexpr *half[2];
    TRA_TRY(is_any(a, x, (n + 1) / 2, value, &half[0], e));
    TRA_TRY(is_any(a, x, n / 2, value + (n + 1) / 2, &half[1], e));
    return logic(a, TRA_C_OR, 2, half, out, e);
}

static tra_status in_list(tra_arena *a, int n, const tra_colexpr **kids, const tra_colexpr **out, tra_err *e) {
    bool strings = tra_coltype_is_coded(kids[0]->type);
    for (int i = 1; i < n; i++) strings &= constant_string(kids[i]);
    if (strings) return tra_colexpr_of_strings(a, TRA_C_IN, n, kids, out, e);
    return is_any(a, kids[0], n - 1, kids + 1, out, e);
}

static tra_status calendar(tra_arena *a, tra_colop op, const tra_colexpr *k, const tra_colexpr **out, tra_err *e) {
    static const struct {
        tra_colop op;
        int64_t least, most;
    } ranges[] = {{TRA_C_QUARTER, 1, 4},   {TRA_C_MONTH, 1, 12},  {TRA_C_WEEK, 1, 53},
                  {TRA_C_YEARDAY, 1, 366}, {TRA_C_DAY, 1, 31},    {TRA_C_WEEKDAY, 0, 6},
                  {TRA_C_HOUR, 0, 23},     {TRA_C_MINUTE, 0, 59}, {TRA_C_SECOND, 0, 59}};
    bool times = op == TRA_C_HOUR || op == TRA_C_MINUTE || op == TRA_C_SECOND;
    if (k->untyped) k = tra_colexpr_null_of(a, TRA_COL_TIMESTAMP, NULL);
    if (k->type != TRA_COL_TIMESTAMP && (times || k->type != TRA_COL_DATE))
        return tra_fail(e, TRA_PROGRAM, "%s takes a timestamp%s, not %s", tra_colop_text(op), times ? "" : " or a date",
                        kind_text(k));
    tra_colexpr *x = tra_colexpr_node(a, op, TRA_COL_I64, 1, &k);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].op == op) x->least = ranges[i].least, x->most = ranges[i].most;
    int64_t unit = k->type == TRA_COL_DATE ? 1 : INT64_C(86400000000);
    if (op == TRA_C_YEAR || op == TRA_C_ISOYEAR) {
        x->least = tra_date_part(op, tra_floor_div(k->least, unit), 0);
        x->most = tra_date_part(op, tra_floor_div(k->most, unit), 0);
    }
    *out = tra_colexpr_fold(a, x);
    return TRA_OK;
}

/* date(...) and timestamp(...). */
static tra_status moment(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, const tra_colexpr **out,
                         tra_err *e) {
    tra_coltype to = op == TRA_C_DATE ? TRA_COL_DATE : TRA_COL_TIMESTAMP;
    int parts = op == TRA_C_DATE ? 3 : 6;
    if (n == parts) {
        TRA_TRY(numbers(a, op, n, kids, true, e));
        for (int i = 0; i < n; i++) kids[i] = convert(a, kids[i], TRA_COL_I64);
        tra_colexpr *x = tra_colexpr_node(a, op, to, n, kids);
        x->calendar = x->nullable = true;
        *out = tra_colexpr_fold(a, x);
        return TRA_OK;
    }
    if (n != 1) return tra_fail(e, TRA_PROGRAM, "%s takes 1 or %d arguments, not %d", tra_colop_text(op), parts, n);
    if (kids[0]->untyped) return *out = tra_colexpr_null_of(a, to, NULL), TRA_OK;
    if (kids[0]->type == to) return *out = kids[0], TRA_OK;
    if (tra_coltype_is_coded(kids[0]->type)) return tra_colexpr_of_strings(a, op, n, kids, out, e);
    if (kind_of(kids[0]) == NUMBER)
        return tra_fail(e, TRA_PROGRAM, "%s takes a %s or a string, not %s", tra_colop_text(op),
                        op == TRA_C_DATE ? "timestamp" : "date", kind_text(kids[0]));
    tra_colexpr *x = tra_colexpr_node(a, op, to, 1, kids);
    const int64_t far = INT64_MAX / 86400000000; /* days whose microseconds still fit */
    x->fails |= op == TRA_C_TIMESTAMP && (kids[0]->least < -far || kids[0]->most > far);
    *out = tra_colexpr_fold(a, x);
    return TRA_OK;
}

static tra_status call(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, const tra_beforehand *beforehand,
                       const tra_colexpr **out, tra_err *e) {
    tra_colexpr *x;
    switch (ops[op].class) {
    case TRA_COLCLASS_SUM: return add_sub(a, op, kids, out, e);
    case TRA_COLCLASS_PRODUCT:
        TRA_TRY(numbers(a, op, n, kids, false, e));
        return *out = arithmetic(a, op, kids[0], kids[1]), TRA_OK;
    case TRA_COLCLASS_QUOTIENT:
        TRA_TRY(numbers(a, op, n, kids, false, e));
        return *out = quotient(a, op, kids[0], kids[1]), TRA_OK;
    case TRA_COLCLASS_COMPARISON: return compare(a, op, kids, out, e);
    case TRA_COLCLASS_LOGIC: return logic(a, op, n, kids, out, e);
    case TRA_COLCLASS_SIGN: return negate(a, op, kids[0], out, e);
    case TRA_COLCLASS_TEST:
        x = tra_colexpr_node(a, op, TRA_COL_BOOL, 1, kids);
        x->nullable = false;
        return *out = tra_colexpr_fold(a, x), TRA_OK;
    case TRA_COLCLASS_CHOICE: return choose(a, op, n, kids, out, e);
    case TRA_COLCLASS_LIST: return in_list(a, n, kids, out, e);
    case TRA_COLCLASS_ROUNDING: return part_of_number(a, op, kids, out, e);
    case TRA_COLCLASS_REAL: return real(a, op, n, kids, out, e);
    case TRA_COLCLASS_CALENDAR: return calendar(a, op, kids[0], out, e);
    case TRA_COLCLASS_MOMENT: return moment(a, op, n, kids, out, e);
    case TRA_COLCLASS_CALL: return tra_colexpr_of_call(a, op, n, kids, beforehand, out, e);
    case TRA_COLCLASS_HASH:
        for (int i = 0; i < n; i++) TRA_TRY(tra_dictionary_read(kids[i]->dict, e));
        x = tra_colexpr_node(a, op, TRA_COL_I64, n, kids);
        x->nullable = false;
        x->least = 0;
        return *out = tra_colexpr_fold(a, x), TRA_OK;
    case TRA_COLCLASS_ROW:
        x = tra_colexpr_leaf(a, op, TRA_COL_I64);
        x->least = 0;
        return *out = x, TRA_OK;
    }
    return tra_fail(e, TRA_INTERNAL, "an operator that no program names was called");
}

tra_status tra_colexpr_call_with(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                 const tra_beforehand *beforehand, const tra_colexpr **out, tra_err *e) {
    assert((int)op < OPS);
    if (n < ops[op].least || (ops[op].most >= 0 && n > ops[op].most))
        return tra_fail(e, TRA_PROGRAM, "%s takes %d%s argument%s, not %d", ops[op].text, ops[op].least,
                        ops[op].most != ops[op].least ? " or more" : "", ops[op].least == 1 ? "" : "s", n);
    const tra_colexpr **copy = tra_news(a, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) copy[i] = kids[i];
    return call(a, op, n, copy, beforehand, out, e);
}

tra_status tra_colexpr_convert(tra_arena *a, const tra_colexpr *x, tra_coltype type, const tra_dictionary *dict,
                               const tra_colexpr **out, tra_err *e) {
    if (x->untyped) return *out = tra_colexpr_null_of(a, type, dict), TRA_OK;
    if (tra_coltype_is_coded(type) && tra_coltype_is_coded(x->type)) {
        if (x->type == type && (x->dict == dict || tra_dictionary_eq(x->dict, dict))) return *out = x, TRA_OK;
        TRA_TRY(tra_dictionary_read(x->dict, e));
        TRA_TRY(tra_dictionary_read(dict, e));
        int32_t *table = x->dict && dict ? tra_news(a, int32_t, x->dict->n) : NULL;
        for (int64_t c = 0; table && c < x->dict->n; c++) {
            int64_t len;
            const char *s = tra_dictionary_at(x->dict, c, &len);
            int64_t to = tra_dictionary_find(dict, s, len);
            assert(to >= 0);
            table[c] = (int32_t)to;
        }
        tra_colexpr *y = tra_colexpr_node(a, TRA_C_RECODE, type, 1, &x);
        y->dict = dict;
        y->table = table;
        return *out = table ? tra_colexpr_fold(a, y) : y, TRA_OK;
    }
    bool fits = x->type == type ||
                (tra_coltype_is_number(type) && kind_of(x) == NUMBER && (tra_coltype_is_float(type) || is_whole(x)));
    if (!fits)
        return tra_fail(e, TRA_PROGRAM, "a value of type %s does not become one of type %s", tra_coltype_name(x->type),
                        tra_coltype_name(type));
    return *out = convert(a, x, type), TRA_OK;
}
