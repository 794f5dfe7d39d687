/* calls_build.c - calls of the functions of calls.h in trees over columns: their operands, and the tables that they
 * become.
 *
 * A call of which all that is not constant comes of one column of strings is a table over the entries of its
 * dictionary. So is a call that gives strings, over all that its operands may be: the entries of dictionaries, the
 * numbers of a range, the values that a column of a file has; where these are too many, its strings are made of the
 * rows (made.h). Another call is computed row by row. */
#include "../model/spooled.h"
#include "calls_int.h"

#include "../tablefile/table_file.h"
#include "made.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_FEW = 1 << 16, ENTRIES_MOST = TRA_COMBINATIONS_MOST };

static bool is_constant(const tra_colexpr *x) { return x->op == TRA_C_CONST && !x->untyped; }
static bool is_coded(const tra_colexpr *x) { return !x->untyped && tra_coltype_is_coded(x->type); }

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static const char *letter_text(char letter) {
    switch (letter) {
    case 's': return "a string";
    case 'i': return "a whole number";
    case 'm':
    case 't': return "a date or a timestamp";
    case 'v': return "a string, a number or a bool";
    case 'c': return "a string that stands in the program";
    case 'p': return "a regular expression that stands in the program";
    case 'u': return "a unit of time that stands in the program, as \"month\"";
    case 'z': return "a time zone that stands in the program, as \"Europe/Berlin\"";
    case 'k': return "a whole number that stands in the program";
    case 'f':
    case 'g': return "a format that stands in the program, as \"%Y-%m\"";
    default: return "a value";
    }
}

/* Brings operand i of op to what the letter takes. */
static tra_status operand(tra_arena *a, tra_colop op, int i, const tra_colexpr **x, tra_err *e) {
    char letter = tra_call_takes(op, i);
    const tra_colexpr *y = *x;
    bool constant = tra_call_takes_constant(letter), number = tra_coltype_is_number(y->type), fits;
    bool moment = y->type == TRA_COL_DATE || y->type == TRA_COL_TIMESTAMP;
    if (y->untyped && !constant) {
        bool time = letter == 'm' || letter == 't';
        tra_coltype to = letter == 'i' ? TRA_COL_I64 : time ? TRA_COL_TIMESTAMP : TRA_COL_STRING;
        const tra_colexpr *empty = tra_colexpr_string(a, "", 0);
        *x = tra_colexpr_null_of(a, to, to == TRA_COL_STRING ? empty->dict : NULL);
        return TRA_OK;
    }
    switch (letter) {
    case 's': fits = is_coded(y); break;
    case 'i':
    case 'k': fits = y->type <= TRA_COL_I64; break;
    case 'm':
    case 't': fits = moment; break;
    case 'v': fits = is_coded(y) || number; break;
    case 'x': fits = true; break;
    default: fits = is_coded(y);
    }
    if (!fits || y->untyped || (constant && (!is_constant(y) || y->null)))
        return tra_fail(e, TRA_PROGRAM, "argument %d of %s is %s, not %s", i + 1, tra_colop_text(op),
                        letter_text(letter),
                        fits && constant ? "what rows tell"
                        : y->untyped     ? "null"
                                         : tra_coltype_name(y->type));
    if (letter == 'i' || letter == 'k') return tra_colexpr_convert(a, y, TRA_COL_I64, NULL, x, e);
    if (letter == 't' && y->type == TRA_COL_DATE) return tra_colexpr_call(a, TRA_C_TIMESTAMP, 1, &y, x, e);
    return TRA_OK;
}

tra_call_value tra_call_constant(const tra_colexpr *x) {
    tra_call_value v = {.type = x->type, .i = x->value.i, .f = x->value.f, .state = x->null};
    if (tra_coltype_is_float(x->type)) v.i = 0;
    if (tra_coltype_is_coded(x->type) && !x->null) v.s = tra_dictionary_at(x->dict, x->value.i, &v.n);
    return v;
}

/* ---- what operands may be ---------------------------------------------------------------------------------------- */

/* Days and timestamps are those of the years 1 to 9999. */
static void clamp(const tra_colexpr *x, int64_t *least, int64_t *most) {
    const int64_t first = -719162, last = 2932896, day = TRA_DAY_MICROS;
    bool date = x->type == TRA_COL_DATE, moment = date || x->type == TRA_COL_TIMESTAMP;
    *least = moment ? tra_max64(x->least, date ? first : first * day) : x->least;
    *most = moment ? tra_min64(x->most, date ? last : last * day + day - 1) : x->most;
}

static bool axis_of(const tra_colexpr *x, tra_colaxis *v) {
    tra_colexpr usual = *x;
    clamp(x, &usual.least, &usual.most);
    return tra_colexpr_axis(&usual, v);
}

/* The values that a column of a file has. False: they are too many for a table of strings. */
static bool values_of(tra_arena *a, const tra_colexpr *x, tra_colaxis *v) {
    int64_t most = ENTRIES_MOST;
    tra_err e = {0};
    bool whole = !tra_coltype_is_float(x->type) && !tra_coltype_is_coded(x->type);
    while (x->op == TRA_C_CONVERT) x = x->kids[0];
    if (x->op != TRA_C_COLUMN || !x->file || !whole) return false;
    while (most > ENTRIES_FEW && !tra_affords_results(a, true, most)) most -= most / 8;
    *v = (tra_colaxis){0};
    return tra_rel_column_values(x->file, x->number, most, a, &v->list, &v->count, &e) == TRA_OK;
}

/* The one column that all operands come of; NULL: there is none, or several. */
static const tra_colexpr *only_column(const tra_colexpr *x, const tra_colexpr *so_far, bool *several) {
    if (x->op == TRA_C_ROW) *several = true;
    if (x->op == TRA_C_COLUMN) {
        *several = *several || (so_far && so_far->column != x->column);
        return x;
    }
    for (int i = 0; i < x->nkids; i++) so_far = only_column(x->kids[i], so_far, several);
    return so_far;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The only operand that rows tell, if it is one of strings; else NULL. */
static const tra_colexpr *only_strings(int n, const tra_colexpr *const *kids) {
    const tra_colexpr *x = NULL;
    for (int i = 0; i < n; i++) {
        if (is_constant(kids[i])) continue;
        if (x || !is_coded(kids[i])) return NULL;
        x = kids[i];
    }
    return x;
}

/* Results for all values of the one column, by computing the operands of each; and, where it has NULLs, of NULL.
 * *strict: that is NULL. */
static tra_status tabulate_column(tra_tabulation *t, const tra_operand_axis *x, bool *strict, tra_err *e) {
    if (only_strings(t->call.n, t->kids) == x->column)
        return *strict = true, tra_tabulate(t, 1, x, false, x->v.count, e);
    TRA_TRY(tra_tabulate(t, 1, x, true, x->v.count + 1, e));
    *strict = t->state[--t->n] == TRA_STATE_NULL;
    return TRA_OK;
}

/* Did these strings come in their order, so that none had to be found or moved? */
static bool ascend(const int32_t *code, int64_t n) {
    int64_t up = 1;
    while (up < n && code[up - 1] <= code[up]) up++;
    return up >= n;
}

/* The tree of a table: by the codes of one expression a lookup, else by all axes. */
static const tra_colexpr *finish(tra_tabulation *t, tra_coltype type, int naxes, const tra_operand_axis *x,
                                 int64_t total) {
    tra_arena *a = t->arena;
    bool nulls = t->n > 0 && memchr(t->state, TRA_STATE_NULL, (size_t)t->n);
    bool errors = t->n > 0 && memchr(t->state, TRA_STATE_ERROR, (size_t)t->n);
    const tra_colexpr **kids = tra_news(a, const tra_colexpr *, naxes + 1);
    tra_colaxis *axes = tra_news(a, tra_colaxis, naxes + 1);
    for (int k = 0; k < naxes; k++) kids[k] = x[k].column, axes[k] = x[k].v;
    bool lookup = naxes == 1 && is_coded(kids[0]);
    tra_colexpr *y = tra_colexpr_node(a, lookup ? TRA_C_LOOKUP : TRA_C_PICK, type, naxes, kids);
    y->axis = axes;
    y->entries = total;
    y->tstate = nulls || errors ? t->state : NULL;
    y->nullable = y->nullable || nulls;
    for (int k = 0; k < naxes && !lookup; k++) {
        bool all = !axes[k].list && kids[k]->least >= axes[k].least && kids[k]->most < axes[k].least + axes[k].count;
        y->fails = y->fails || !(is_coded(kids[k]) || all);
    }
    y->fails = y->fails || errors;
    y->table = t->values;
    y->tabulated[0] = t->n;
    if (t->code) {
        y->dict = tra_tabulation_strings(t);
        y->table = t->code;
        y->tabulated[1] = ascend(y->table, t->n) ? 0 : y->dict->n;
    } else if (!tra_coltype_is_float(type)) {
        bool any = false;
        for (int64_t i = 0; i < t->n; i++) {
            if (t->state[i] != TRA_STATE_VALUE) continue;
            int64_t v = tra_element_whole(tra_coltype_held(type), y->table, i);
            y->least = any ? tra_min64(y->least, v) : v, y->most = any ? tra_max64(y->most, v) : v;
            any = true;
        }
    }
    return y;
}

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/* Does the range of a result follow from those of its operands? */
static bool follows(tra_colop op) {
    switch (op) {
    case TRA_C_ADD:
    case TRA_C_SUB:
    case TRA_C_MUL:
    case TRA_C_IDIV:
    case TRA_C_YEAR:
    case TRA_C_ISOYEAR: return true;
    default: return false;
    }
}

/* The expression with the range that follows from what the statistics of files tell of its columns. */
static const tra_colexpr *narrowed(tra_arena *a, const tra_colexpr *x) {
    tra_colaxis v;
    if (follows(x->op)) {
        const tra_colexpr *kids[2] = {NULL}, *new;
        bool fewer = false;
        for (int i = 0; i < x->nkids; i++) kids[i] = narrowed(a, x->kids[i]), fewer |= kids[i] != x->kids[i];
        return fewer && tra_colexpr_call(a, x->op, x->nkids, kids, &new, NULL) == TRA_OK && new->type == x->type ? new
                                                                                                                  : x;
    }
    if ((x->op != TRA_C_COLUMN && x->op != TRA_C_CONVERT) || !axis_of(x, &v) || v.count == 0) return x;
    tra_colexpr *y = tra_new(a, tra_colexpr);
    *y = *x;
    y->least = v.least;
    y->most = v.least + v.count - 1;
    return y;
}

static tra_status call2(tra_arena *a, tra_colop op, const tra_colexpr *x, const tra_colexpr *by,
                        const tra_colexpr **out, tra_err *e) {
    const tra_colexpr *kids[2] = {x, by};
    return tra_colexpr_call(a, op, by ? 2 : 1, kids, out, e);
}

/* The operands of strftime as the numbers that the format needs: of days, and of the time of day. */
static tra_status split_format(tra_arena *a, const tra_colexpr *x, tra_format *f, const tra_colexpr **kids, int *n,
                               tra_err *e) {
    static const int64_t unit[] = {0, INT64_C(3600000000), 60000000, 1000000, 1};
    static const tra_colop part[] = {
        [TRA_DAYS_WEEKDAY] = TRA_C_WEEKDAY, [TRA_DAYS_OF_YEAR_MONTH] = TRA_C_MONTH, [TRA_DAYS_YEAR] = TRA_C_YEAR};
    bool date = x->type == TRA_COL_DATE;
    const tra_colexpr *day = tra_colexpr_int(a, date ? 1 : TRA_DAY_MICROS), *whole, *year, *month;
    x = narrowed(a, x);
    TRA_TRY(call2(a, TRA_C_SUB, x, date ? tra_colexpr_days(a, 0) : tra_colexpr_micros(a, 0), &whole, e));
    if (date) f->times = TRA_TIMES_NONE;
    f->split = true;
    *n = 0;
    if (f->days == TRA_DAYS_DAY) {
        TRA_TRY(call2(a, TRA_C_IDIV, whole, day, &kids[(*n)++], e));
    } else if (f->days == TRA_DAYS_MONTH) {
        TRA_TRY(call2(a, TRA_C_YEAR, x, NULL, &year, e));
        TRA_TRY(call2(a, TRA_C_MONTH, x, NULL, &month, e));
        TRA_TRY(call2(a, TRA_C_MUL, year, tra_colexpr_int(a, 12), &year, e));
        TRA_TRY(call2(a, TRA_C_SUB, month, tra_colexpr_int(a, 1), &month, e));
        TRA_TRY(call2(a, TRA_C_ADD, year, month, &kids[(*n)++], e));
    } else if (f->days != TRA_DAYS_NONE) {
        TRA_TRY(call2(a, part[f->days], x, NULL, &kids[(*n)++], e));
    }
    if (f->times == TRA_TIMES_NONE) return TRA_OK;
    TRA_TRY(call2(a, TRA_C_MOD, whole, day, &whole, e));
    return call2(a, TRA_C_IDIV, whole, tra_colexpr_int(a, unit[f->times]), &kids[(*n)++], e);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* What all the axes have together; INT64_MAX: some have no end. Where that is much, those of columns of files are the
 * values that these have. */
static int64_t axes_of(tra_arena *a, int n, const tra_colexpr *const *kids, bool few, tra_operand_axis *x, int *naxes) {
    int64_t total = 1, listed = 1;
    *naxes = 0;
    for (int i = 0; i < n; i++) {
        if (is_constant(kids[i])) continue;
        tra_operand_axis *one = &x[(*naxes)++];
        one->column = narrowed(a, kids[i]);
        if (!axis_of(one->column, &one->v)) one->v.count = INT64_MAX;
        total = tra_mul_most(total, one->v.count);
    }
    if (total <= ENTRIES_FEW || few) return total;
    for (int k = 0; k < *naxes; k++) {
        tra_colaxis v;
        if (x[k].v.count > ENTRIES_FEW / 16 && values_of(a, x[k].column, &v) && v.count < x[k].v.count) x[k].v = v;
        listed = tra_mul_most(listed, x[k].v.count);
    }
    return listed;
}

/* A call as a node of its own: run row by row; or, of strings, without a dictionary (made.h). */
static const tra_colexpr *as_node(tra_arena *a, const tra_call *c, const tra_colexpr *const *kids, tra_coltype type) {
    tra_colexpr *y = tra_colexpr_node(a, (tra_colop)c->op, type, c->n, kids);
    y->prepared = c->prepared;
    y->nullable = y->nullable || strchr(tra_call_may(c->op), 'n');
    y->fails = y->fails || strchr(tra_call_may(c->op), 'e');
    return y;
}

static tra_bytes bytes_of(const tra_colexpr *constant) {
    tra_call_value v = tra_call_constant(constant);
    return (tra_bytes){v.s, v.n};
}

/* Strings of few rows are wanted, and these operands, which are no column of strings, have more values than few. */
static bool is_left(tra_arena *a, bool few, const tra_colexpr *column, int n, const tra_colexpr *const *kids) {
    tra_operand_axis *x = tra_news(a, tra_operand_axis, n + 1);
    int naxes;
    if (!few || (column && tra_coltype_is_coded(column->type))) return false;
    return axes_of(a, n, kids, few, x, &naxes) > ENTRIES_FEW;
}

/* A call whose result is a string, or that only reads one column of strings; else it is run for each row. */
static tra_status build(tra_arena *a, const tra_call *c, const tra_colexpr *const *kids, tra_coltype type,
                        const tra_beforehand *beforehand, const tra_colexpr **out, tra_err *e) {
    int n = c->n, naxes = 0;
    bool several = false, strict = false, strings = tra_coltype_is_coded(type), known = true;
    const tra_colexpr *column = NULL;
    for (int i = 0; i < n; i++) {
        column = only_column(kids[i], column, &several);
        known = known && tra_colexpr_is_known(kids[i]);
    }
    if (several) column = NULL;
    const tra_colexpr *operand = column ? only_strings(n, kids) : NULL; /* it may have fewer values than the column */
    if (operand && is_coded(column) && known && operand->dict->n <= column->dict->n) column = operand;
    if (!known || (strings && is_left(a, beforehand->few, column, n, kids)))
        return *out = as_node(a, c, kids, type), TRA_OK;
    if (c->op == TRA_C_SPLIT_PART && kids[0]->op == TRA_C_COLUMN && is_constant(kids[1]) && !is_constant(kids[2])) {
        tra_status status = tra_tabulate_parts(a, kids[0], bytes_of(kids[1]), kids[2], out, e);
        if (status != TRA_NO) return status;
    }
    tra_operand_axis one = {.column = column}, *x = tra_news(a, tra_operand_axis, n + 1);
    bool coded = column && tra_coltype_is_coded(column->type);
    if (coded) one.v.count = column->dict->n;
    int64_t total = strings ? axes_of(a, n, kids, beforehand->few, x, &naxes) : INT64_MAX;
    if (strings && !coded && total > ENTRIES_FEW) {
        bool listed = column && values_of(a, column, &one.v);
        if (!listed || one.v.count >= total) column = NULL;
        if (!column && total > (naxes == 1 ? ENTRIES_MOST : beforehand->most))
            return *out = as_node(a, c, kids, type), TRA_OK;
    } else if (!coded) {
        column = NULL;
    }
    if (column && !tra_affords_results(a, strings, one.v.count)) column = NULL;
    uint64_t mark = tra_arena_mark(a);
    if (column) {
        tra_tabulation t;
        tra_tabulation_begin(&t, a, c, kids, type, one.v.count + 1);
        tra_status status = tabulate_column(&t, &one, &strict, e);
        if (status == TRA_OK && strict) *out = finish(&t, type, 1, &one, one.v.count);
        tra_tabulation_free(&t);
        if (status == TRA_OK && strict) return TRA_OK;
        tra_arena_release(a, mark);
        if (status == TRA_NO) return *out = as_node(a, c, kids, type), TRA_OK;
        if (status != TRA_OK) return status;
        if (strings && total > beforehand->most) return *out = as_node(a, c, kids, type), TRA_OK;
    }
    if (!strings || !tra_affords_results(a, true, total)) return *out = as_node(a, c, kids, type), TRA_OK;
    tra_tabulation t;
    tra_tabulation_begin(&t, a, c, kids, type, total);
    tra_status status = tra_tabulate(&t, naxes, x, false, total, e);
    if (status == TRA_OK) *out = finish(&t, type, naxes, x, total);
    tra_tabulation_free(&t);
    if (status != TRA_NO) return status;
    tra_arena_release(a, mark);
    return *out = as_node(a, c, kids, type), TRA_OK;
}

/* A string of constants alone. */
static tra_status constant_string(tra_arena *a, tra_call *c, const tra_colexpr *const *kids, const tra_colexpr **out,
                                  tra_err *e) {
    tra_str text = {0};
    tra_call_value *v = tra_news(a, tra_call_value, c->n + 1);
    for (int i = 0; i < c->n; i++) v[i] = tra_call_constant(kids[i]);
    c->v = v;
    c->text = &text;
    tra_call_run(c);
    if (c->out.state == TRA_STATE_VALUE) *out = tra_colexpr_string(a, c->out.s, c->out.n);
    if (c->out.state == TRA_STATE_NULL)
        *out = tra_colexpr_null_of(a, TRA_COL_STRING, tra_colexpr_string(a, "", 0)->dict);
    tra_str_free(&text);
    if (c->out.state != TRA_STATE_ERROR) return TRA_OK;
    return tra_fail(e, TRA_PROGRAM, "%s has no value here", tra_colop_text((tra_colop)c->op));
}

/* Casts of numbers that other conversions do. */
static bool is_conversion(tra_colop op, const tra_colexpr *x, tra_coltype to) {
    if (op > TRA_C_TO_F64 || op < TRA_C_TO_I32 || !tra_coltype_is_number(x->type)) return false;
    return to == TRA_COL_F64 || (!tra_coltype_is_float(to) && x->type <= TRA_COL_I64);
}

tra_status tra_colexpr_of_call(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids,
                               const tra_beforehand *beforehand, const tra_colexpr **out, tra_err *e) {
    tra_call c = {.op = op, .n = n};
    tra_call_value *v = tra_news(a, tra_call_value, n + 1);
    bool constants = true, null = false;
    for (int i = 0; i < n; i++) {
        TRA_TRY(operand(a, op, i, &kids[i], e));
        if (op != TRA_C_TO_STRING || !is_coded(kids[i])) TRA_TRY(tra_colexpr_read(kids[i], e));
        v[i] = is_constant(kids[i]) ? tra_call_constant(kids[i]) : (tra_call_value){.type = kids[i]->type};
        constants = constants && is_constant(kids[i]);
        null = null || (is_constant(kids[i]) && kids[i]->null);
    }
    tra_coltype type = tra_call_type(op, v);
    TRA_TRY(tra_call_prepare(a, op, n, v, &c.prepared, e));
    if (null) {
        bool coded = tra_coltype_is_coded(type);
        return *out = tra_colexpr_null_of(a, type, coded ? tra_colexpr_string(a, "", 0)->dict : NULL), TRA_OK;
    }
    if (is_conversion(op, kids[0], type)) return tra_colexpr_convert(a, kids[0], type, NULL, out, e);
    if (op == TRA_C_TO_STRING && is_coded(kids[0])) return *out = kids[0], TRA_OK;
    if (constants && tra_coltype_is_coded(type)) return constant_string(a, &c, kids, out, e);
    if (op == TRA_C_STRFTIME && !constants) {
        tra_format *f = tra_new(a, tra_format);
        *f = *(const tra_format *)c.prepared;
        c.prepared = f;
        const tra_colexpr *moment = kids[0];
        kids = tra_news(a, const tra_colexpr *, 3);
        TRA_TRY(split_format(a, moment, f, kids, &c.n, e));
    }
    if (constants && tra_call_takes(op, 1) == 'p') { /* does it take too long? */
        tra_tabulation t;
        tra_tabulation_begin(&t, a, &c, kids, type, 1);
        tra_status status = tra_tabulate_call(&t, v, e);
        tra_tabulation_free(&t);
        TRA_TRY(status);
    }
    TRA_TRY(build(a, &c, kids, type, beforehand, out, e));
    *out = tra_colexpr_fold(a, *out);
    return TRA_OK;
}
