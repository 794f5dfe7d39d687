/* table_asof.c - as-of joins in programs: asof = L.t >= R.t, or nearest(L.t, R.t), and within = d. */
#include "table_build.h"

#include <math.h>
#include <string.h>

static const char form[] =
    "write join(L, R, a == b, asof = L.t >= R.t, within = 5); or L.t <= R.t, or nearest(L.t, R.t)";

/* What comparison the asof argument is: *way, whether it is strict, and which operand comes first in the text. */
static bool comparison_of(const tra_ast *x, tra_asof *out) {
    static const struct {
        const char *text;
        tra_asof a;
    } ops[] = {{">=", {.way = TRA_ASOF_BEFORE}},
               {">", {.way = TRA_ASOF_BEFORE, .strict = true}},
               {"<=", {.way = TRA_ASOF_AFTER}},
               {"<", {.way = TRA_ASOF_AFTER, .strict = true}}};
    if (x->kind == TRA_AST_CALL && strcmp(x->text, "nearest") == 0 && x->nkids == 2)
        return *out = (tra_asof){.way = TRA_ASOF_NEAREST}, true;
    int i = x->kind == TRA_AST_BINARY ? TRA_FIND_ROW(ops, x->text) : -1;
    if (i >= 0) *out = ops[i].a;
    return i >= 0;
}

static bool is_time(tra_coltype t) {
    return t == TRA_COL_DATE || t == TRA_COL_TIMESTAMP || (tra_coltype_is_number(t) && t != TRA_COL_BOOL);
}

/* The number of the column of a table that the comparison reads; -1 after a diagnostic. */
static bool times_of(tra_table_builder *w, const tra_ast *x, tra_asof *a, int *l, int *r) {
    *l = tra_join_column_of(w, 0, x->kids[0]);
    *r = *l < 0 ? -1 : tra_join_column_of(w, 1, x->kids[1]);
    if (*l < 0 || *r < 0) {
        *l = tra_join_column_of(w, 0, x->kids[1]);
        *r = *l < 0 ? -1 : tra_join_column_of(w, 1, x->kids[0]);
        if (a->way != TRA_ASOF_NEAREST) a->way = a->way == TRA_ASOF_BEFORE ? TRA_ASOF_AFTER : TRA_ASOF_BEFORE;
    }
    if (*l < 0 || *r < 0) {
        const char *of_one_name = tra_join_of_one_name(w);
        return tra_diag_error(w->b->d, x->span,
                              of_one_name ? of_one_name
                                          : tra_arena_printf(w->b->arena, "the left table has %s; the right one has %s",
                                                             tra_join_column_names(w, w->in->type.columns),
                                                             tra_join_column_names(w, w->right->type.columns)),
                              "asof compares a column of the left table with one of the right");
    }
    const tra_column *v[2] = {&w->in->type.columns->v[*l], &w->right->type.columns->v[*r]};
    for (int i = 0; i < 2; i++) {
        if (is_time(v[i]->type)) continue;
        return tra_diag_error(w->b->d, x->span, "an as-of join goes by numbers, dates or timestamps",
                              "asof does not go by '%s', which is a %s", v[i]->name, tra_coltype_name(v[i]->type));
    }
    return true;
}

/* The constant that within = x is. */
static const tra_colexpr *constant_of(tra_table_builder *w, const tra_ast *x) {
    static const tra_schema none = {0};
    const tra_table_scope sc = {w->b, &none, "within, which is a constant,", .row_allowed = false};
    tra_table_term t;
    if (!tra_table_build_term(&sc, NULL, x, &t)) return NULL;
    if (t.x->op == TRA_C_CONST && !t.x->null && tra_coltype_is_number(t.x->type)) return t.x;
    return tra_diag_error(w->b->d, x->span, "write within = 5, or of timestamps within = seconds(5)",
                          "within is a number or a duration");
}

static bool read_within(tra_table_builder *w, const tra_ast *at, const tra_coltype *type, tra_asof *a) {
    enum { DAY = 86400 };
    const tra_colexpr *x = constant_of(w, at);
    const char *why = NULL, *advice = NULL;
    if (!x) return false;
    bool real = tra_coltype_is_float(x->type), dates = type[0] == TRA_COL_DATE, stamps = type[0] == TRA_COL_TIMESTAMP;
    double value = real ? x->value.f : (double)x->value.i;
    if (!(value >= 0))
        why = "within is not negative";
    else if (stamps && x->counts == TRA_TIME_NONE)
        why = "timestamps are a duration apart, and this is a number",
        advice = "write how long it is: seconds(5), minutes(5), hours(5), days(1), weeks(1), milliseconds(5)";
    else if (dates && x->counts == TRA_TIME_MICROS)
        why = "dates are whole days apart", advice = "write days(1) or weeks(1)";
    else if (!dates && !stamps && x->counts != TRA_TIME_NONE)
        why = "numbers are a number apart, and this is a duration";
    if (why) return tra_diag_error(w->b->d, at->span, advice, "%s", why);
    a->limited = true;
    a->real = value;
    a->whole = !real ? x->value.i : value < 0x1p63 ? (int64_t)floor(value) : INT64_MAX;
    if (stamps && x->counts == TRA_TIME_DAYS) a->whole = tra_mul_most(a->whole, INT64_C(1000000) * DAY);
    return true;
}

bool tra_join_asof(tra_table_builder *w, const tra_ast *asof, const tra_ast *within, int *lkey, int *rkey) {
    tra_lookup_spec *s = &w->op.lookup;
    tra_asof *a = tra_new(w->b->arena, tra_asof);
    int l, r;
    if (!comparison_of(asof, a))
        return tra_diag_error(w->b->d, asof->span, form, "asof is a comparison of two columns");
    if (!times_of(w, asof, a, &l, &r)) return false;
    const tra_coltype type[2] = {s->left->v[l].type, s->right->v[r].type};
    if (within && !read_within(w, within, type, a)) return false;
    if (s->how != TRA_LOOKUP_INNER && s->how != TRA_LOOKUP_LEFT)
        return tra_diag_error(w->b->d, w->call->span, NULL, "an as-of join is inner or left");
    if (s->unique || s->unique_left)
        return tra_diag_error(w->b->d, w->call->span, NULL,
                              "expect is no argument of an as-of join: a row of the right table may be taken often");
    if (s->matched_right)
        return tra_diag_error(w->b->d, w->call->span, "write matched = left",
                              "an as-of join does not check that rows of the right table are matched");
    lkey[s->nkeys] = l;
    rkey[s->nkeys] = r;
    s->asof = a;
    return true;
}
