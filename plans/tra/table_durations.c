/* table_durations.c - spans of time in expressions over columns: seconds(5), days(1), t - u. They are whole numbers,
 * and an expression knows whether it counts microseconds or days, so that times never move by numbers of no unit. */
#include "table_build.h"

#include <math.h>
#include <string.h>

static const int64_t day_micros = INT64_C(86400000000);

static const struct duration {
    const char *name;
    tra_time_unit counts;
    int64_t unit;
} durations[] = {{"microseconds", TRA_TIME_MICROS, 1},
                 {"milliseconds", TRA_TIME_MICROS, 1000},
                 {"seconds", TRA_TIME_MICROS, 1000000},
                 {"minutes", TRA_TIME_MICROS, 60000000},
                 {"hours", TRA_TIME_MICROS, INT64_C(3600000000)},
                 {"days", TRA_TIME_DAYS, 1},
                 {"weeks", TRA_TIME_DAYS, 7}};

const char *tra_table_duration(int i) {
    return i < (int)(sizeof durations / sizeof *durations) ? durations[i].name : NULL;
}

static const struct duration *find(const char *name) {
    int i = TRA_FIND_ROW(durations, name);
    return i < 0 ? NULL : &durations[i];
}

static const tra_colexpr *counting(tra_arena *a, const tra_colexpr *x, tra_time_unit counts) {
    if (!x || x->counts == counts) return x;
    tra_colexpr *y = tra_new(a, tra_colexpr);
    *y = *x;
    y->counts = counts;
    return y;
}

/* *x, which stands for the tree *ast, times n; the tree becomes the product. */
static bool multiply(tra_build *b, tra_ast **ast, const tra_colexpr **x, int64_t n) {
    tra_err e = {0};
    if (n == 1) return true;
    tra_ast *number = tra_table_int_ast(b->arena, tra_arena_printf(b->arena, "%" PRId64, n), (*ast)->span);
    *ast = tra_table_ast(b->arena, TRA_AST_BINARY, "*", (*ast)->span, 2, (tra_ast *[]){*ast, number});
    const tra_colexpr *kids[2] = {*x, tra_colexpr_int(b->arena, n)};
    if (tra_colexpr_call(b->arena, TRA_C_MUL, 2, kids, x, &e) == TRA_OK) return true;
    return tra_diag_error(b->d, (*ast)->span, NULL, "%s", e.msg);
}

bool tra_table_is_duration(const tra_ast *x) { return x->kind == TRA_AST_CALL && x->nkids == 1 && find(x->text); }

const tra_colexpr *tra_table_type_duration(const tra_table_scope *sc, tra_ast *x, const tra_colexpr *k) {
    const struct duration *d = find(x->text);
    tra_build *b = sc->b;
    tra_ast *count = x->kids[0];
    if (k->op == TRA_C_CONST && !k->null && tra_coltype_is_float(k->type)) { /* seconds(0.5) */
        double micros = k->value.f * (double)d->unit * (d->counts == TRA_TIME_DAYS ? (double)day_micros : 1);
        if (fabs(micros) < 0x1p62 && micros == rint(micros)) {
            const tra_colexpr *v = tra_colexpr_int(b->arena, (int64_t)micros);
            *x = *tra_table_int_ast(b->arena, tra_arena_printf(b->arena, "%" PRId64, (int64_t)micros), x->span);
            return counting(b->arena, v, TRA_TIME_MICROS);
        }
    }
    if (!k->untyped && k->type > TRA_COL_I64)
        return tra_diag_error(b->d, count->span, "write milliseconds(1500) for 1.5 seconds",
                              "%s takes whole numbers, not %s", x->text, tra_coltype_name(k->type));
    if (!multiply(b, &count, &k, d->unit)) return NULL;
    *x = *count;
    return counting(b->arena, k, d->counts);
}

static bool is_time(const tra_colexpr *x) { return !x->untyped && x->type == TRA_COL_TIMESTAMP; }
static bool is_date(const tra_colexpr *x) { return !x->untyped && x->type == TRA_COL_DATE; }
static bool is_number(const tra_colexpr *x) { return !x->untyped && tra_coltype_is_number(x->type); }

/* The operands that are to agree in what they count: from operand `from` on; -1: none. */
static int comparable_from(tra_colop op) {
    switch ((int)op) {
    case TRA_C_IF: return 1;
    case TRA_C_ADD:
    case TRA_C_SUB:
    case TRA_C_DIV:
    case TRA_C_IDIV:
    case TRA_C_MOD:
    case TRA_C_COMPARISONS:
    case TRA_C_SAME:
    case TRA_C_IFNULL:
    case TRA_C_IN:
    case TRA_C_MIN:
    case TRA_C_MAX: return 0;
    default: return -1;
    }
}

bool tra_table_match_units(const tra_table_scope *sc, tra_ast *x, tra_colop op, int n, const tra_colexpr **kids) {
    int from = comparable_from(op);
    bool micros = false;
    for (int i = from < 0 ? n : from; i < n; i++)
        micros = micros || is_time(kids[i]) || (is_number(kids[i]) && kids[i]->counts == TRA_TIME_MICROS);
    for (int i = from < 0 ? n : from; i < n && micros; i++) {
        if (!is_number(kids[i]) || kids[i]->counts != TRA_TIME_DAYS) continue;
        if (!multiply(sc->b, &x->kids[i], &kids[i], day_micros)) return false;
        kids[i] = counting(sc->b->arena, kids[i], TRA_TIME_MICROS);
    }
    for (int i = 0; i < n && n == 2 && (op == TRA_C_ADD || op == TRA_C_SUB); i++) {
        const tra_colexpr *other = kids[1 - i];
        if (is_time(kids[i]) && is_number(other) && other->counts == TRA_TIME_NONE)
            return tra_diag_error(
                sc->b->d, x->span,
                "write how long it is: seconds(5), minutes(5), hours(5), days(1), weeks(1), milliseconds(5)",
                "a timestamp moves by a duration, and this is a number");
        if (is_date(kids[i]) && is_number(other) && other->counts == TRA_TIME_MICROS)
            return tra_diag_error(sc->b->d, x->span, "write days(1) or weeks(1); timestamp(d) + hours(5) is a time",
                                  "a date moves by whole days");
    }
    return true;
}

const tra_colexpr *tra_table_set_units(const tra_table_scope *sc, tra_colop op, int n, const tra_colexpr *const *kids,
                                       const tra_colexpr *r) {
    tra_time_unit counts = TRA_TIME_NONE;
    bool sum = op == TRA_C_ADD || op == TRA_C_SUB;
    if (!r || !is_number(r)) return r;
    if (op == TRA_C_SUB && n == 2 && is_date(kids[0]) && is_date(kids[1])) counts = TRA_TIME_DAYS;
    if (op == TRA_C_SUB && n == 2 && is_time(kids[0]) && is_time(kids[1])) counts = TRA_TIME_MICROS;
    tra_time_unit first = kids[0]->counts, last = kids[n - 1]->counts;
    if (is_number(kids[0]) || kids[0]->untyped) {
        if (sum || op == TRA_C_MIN || op == TRA_C_MAX || op == TRA_C_IFNULL || op == TRA_C_NEG || op == TRA_C_ABS)
            counts = first ? first : last;
        if (op == TRA_C_MUL) counts = first && last ? TRA_TIME_NONE : first ? first : last;
        if (op == TRA_C_MOD) counts = first;
        if (op == TRA_C_IDIV) counts = last ? TRA_TIME_NONE : first;
        if (op == TRA_C_IF) counts = kids[1]->counts ? kids[1]->counts : last;
    }
    return counting(sc->b->arena, r, counts);
}
