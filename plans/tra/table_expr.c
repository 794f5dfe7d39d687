/* table_expr.c - expressions over columns: names are resolved, then types are found. */
#include "../../lib/table/made.h"
#include "table_build.h"
#include "table_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- names -------------------------------------------------------------------------------------------------- */

static tra_ast *copy_of(tra_build *b, const tra_ast *x) {
    tra_ast *y = tra_new(b->arena, tra_ast);
    *y = *x;
    return y;
}

/* Advice for a name that no column has: the column whose name is near, or all columns. */
static const char *columns_advice(const tra_table_scope *sc, const char *name) {
    const tra_schema *s = sc->columns;
    const char **names = tra_news(sc->b->arena, const char *, s->n);
    tra_str text = {0};
    for (int i = 0; i < s->n; i++) names[i] = s->v[i].name;
    const char *near = tra_nearest(name, s->n, names);
    if (s->n == 0) return NULL;
    if (near) {
        tra_str_add(&text, "did you mean ");
        tra_name_print(near, &text);
        tra_str_add(&text, "?");
    } else {
        tra_str_add(&text, "its columns are ");
        for (int i = 0; i < s->n && i < 12; i++) {
            if (i) tra_str_add(&text, ", ");
            tra_name_print(names[i], &text);
        }
        if (s->n > 12) tra_str_printf(&text, " and %d more", s->n - 12);
    }
    return tra_arena_take(sc->b->arena, &text);
}

static void report_no_column(const tra_table_scope *sc, const tra_ast *x) {
    tra_diag_error(sc->b->d, x->span, columns_advice(sc, x->text), "%s has no column '%s'",
                   sc->table ? sc->table : "this table", x->text);
}

int tra_table_find_column(const tra_table_scope *sc, const tra_ast *x) {
    if (x->kind != TRA_AST_NAME) {
        tra_diag_error(sc->b->d, x->span, NULL, "the name of a column is expected here");
        return -1;
    }
    int i = tra_schema_find(sc->columns, x->text);
    if (i < 0) report_no_column(sc, x);
    return i;
}

/* A param as a number, or as the string, date or timestamp that it is. */
static tra_ast *param_number(tra_build *b, const tra_ast *x) {
    const tra_symbol *s = tra_build_any_param(b, x);
    if (!s) return NULL;
    tra_ast *n = copy_of(b, s->literal ? s->literal : x);
    n->span = x->span;
    if (s->literal) return n;
    bool negative = s->exact ? s->whole < 0 : s->value < 0;
    n->kind = TRA_AST_NUMBER;
    n->integer = s->exact;
    n->value = negative ? -s->value : s->value;
    n->text = s->exact ? tra_arena_printf(b->arena, "%" PRIu64, negative ? -(uint64_t)s->whole : (uint64_t)s->whole)
                       : tra_arena_printf(b->arena, "%.17g", n->value);
    if (!negative) return n;
    tra_ast *minus = copy_of(b, x);
    minus->kind = TRA_AST_UNARY;
    minus->text = "-";
    minus->nkids = 1;
    minus->kids = tra_new(b->arena, tra_ast *);
    minus->kids[0] = n;
    return minus;
}

static bool is_word(const tra_ast *x, const char *word) {
    return x->kind == TRA_AST_NAME && !x->quoted && strcmp(x->text, word) == 0;
}

static tra_ast *resolve_name(const tra_table_scope *sc, const tra_ast *x) {
    tra_ast *y = copy_of(sc->b, x);
    int at;
    bool word = is_word(x, "null") || is_word(x, "true") || is_word(x, "false");
    bool column = tra_schema_find(sc->columns, x->text) >= 0;
    if (word && column)
        return tra_diag_error(sc->b->d, x->span,
                              tra_arena_printf(sc->b->arena,
                                               "write `%s` in backquotes for the column; rename it to have the value",
                                               x->text),
                              "'%s' is a column of this table, and a value", x->text);
    if (column) return y->quoted = true, y;
    if (word) return y;
    if (!x->quoted && (at = tra_names_find(&sc->b->symbols, x->text)) >= 0) {
        const tra_symbol *s = sc->b->symbols.value[at];
        if (s->param) return param_number(sc->b, x);
        if (s->node && s->stmt->kind != TRA_STMT_DEF)
            return tra_diag_error(sc->b->d, x->span,
                                  s->node->type.columns || s->node->type.cat->bound.n > 0
                                      ? "expressions over columns read columns and params"
                                      : "one = gen(1, [1]); v[i] = one[i] * s; cross(T, table(v)) has it as a column",
                                  "'%s' is a relation, not a column", x->text);
    }
    if (!x->quoted && tra_build_named_number(x->text, &y->value)) {
        y->kind = TRA_AST_NUMBER;
        y->integer = false;
        return y;
    }
    report_no_column(sc, x);
    return NULL;
}

/* A copy of the expression in which names are resolved. */
static tra_ast *resolve(const tra_table_scope *sc, const tra_ast *x) {
    switch (x->kind) {
    case TRA_AST_NAME: return resolve_name(sc, x);
    case TRA_AST_NUMBER:
    case TRA_AST_STRING:
    case TRA_AST_LITERAL: return copy_of(sc->b, x);
    case TRA_AST_CALL:
    case TRA_AST_UNARY:
    case TRA_AST_BINARY: {
        tra_ast *y = copy_of(sc->b, x);
        bool ok = true;
        y->kids = tra_news(sc->b->arena, tra_ast *, x->nkids);
        for (int i = 0; i < x->nkids; i++) ok = (y->kids[i] = resolve(sc, x->kids[i])) && ok;
        return ok ? y : NULL;
    }
    case TRA_AST_INDEX:
    case TRA_AST_AGGREGATE:
    case TRA_AST_PARTS: break;
    }
    if (x->kind == TRA_AST_COMPOSE && x->kids[0]->kind == TRA_AST_NAME && x->kids[1]->kind == TRA_AST_NAME)
        return tra_diag_error(sc->b->d, x->span, columns_advice(sc, x->kids[1]->text),
                              "'%s.%s' stands for no column of %s, or for several", x->kids[0]->text, x->kids[1]->text,
                              sc->table ? sc->table : "this table");
    return tra_diag_error(sc->b->d, x->span, tra_build_equals_advice(x),
                          "this has no place in an expression over columns");
}

/* ---- types -------------------------------------------------------------------------------------------------- */

static const tra_colexpr *type_expr(const tra_table_scope *sc, tra_ast *x);

/* date "..." or timestamp "...". */
static const tra_colexpr *type_literal(const tra_table_scope *sc, const tra_ast *x) {
    const char *s = x->kids[0]->text;
    int32_t days;
    int64_t micros;
    if (*x->text == 'd' && tra_parse_date(s, (int64_t)strlen(s), &days)) return tra_colexpr_days(sc->b->arena, days);
    if (*x->text == 't' && tra_parse_timestamp(s, (int64_t)strlen(s), &micros))
        return tra_colexpr_micros(sc->b->arena, micros);
    return tra_diag_error(sc->b->d, x->kids[0]->span,
                          *x->text == 'd' ? "write date \"2017-04-15\"" : "write timestamp \"2017-04-15 08:15:00\"",
                          "this is no %s", x->text);
}

static const tra_colexpr *type_number(const tra_table_scope *sc, const tra_ast *x) {
    int64_t v;
    const tra_ast *digits = x->kind == TRA_AST_UNARY ? x->kids[0] : x;
    if (!digits->integer)
        return tra_colexpr_float(sc->b->arena, x->kind == TRA_AST_UNARY ? -digits->value : digits->value);
    if (tra_build_exact(sc->b, x, &v)) return tra_colexpr_int(sc->b->arena, v);
    return tra_diag_error(sc->b->d, x->span, "a number with a point, or an exponent, is a float", "%s",
                          tra_number_beyond(x));
}

/* A column; or null, true or false, which are not quoted. */
static const tra_colexpr *type_name(const tra_table_scope *sc, const tra_ast *x) {
    tra_arena *a = sc->b->arena;
    if (x->quoted) return tra_colexpr_column(a, sc->columns, tra_schema_find(sc->columns, x->text));
    return *x->text == 'n' ? tra_colexpr_null(a) : tra_colexpr_bool(a, *x->text == 't');
}

/* Reports that there is no such function, or none with so many arguments. */
static void report_no_function(const tra_table_scope *sc, const tra_ast *x) {
    const char *names[136];
    int n = 0;
    bool exists = false; /* with another number of arguments */
    tra_build *b = sc->b;
    bool extreme = !strcmp(x->text, "min") || !strcmp(x->text, "max");
    if ((tra_aggregate_find(x->text) >= 0 || tra_is_composed_aggregate(x->text)) && (!extreme || x->nkids == 1)) {
        tra_diag_error(
            b->d, x->name_span,
            tra_arena_printf(b->arena, "write group(T, [key], name = %s(...)), then use its columns", x->text),
            "%s is an aggregate, which stands in group", x->text);
        return;
    }
    if (strcmp(x->text, "number") == 0) {
        tra_diag_error(b->d, x->name_span, "write N = project(T, id = number(a, b), *), then use id of N",
                       "number stands in project");
        return;
    }
    for (const char *f; n < 128 && (f = tra_colop_function(n)); n++) {
        names[n] = f;
        exists = exists || strcmp(f, x->text) == 0;
    }
    const char *near = exists ? NULL : tra_nearest(x->text, n, names);
    const char *advice = tra_build_named_here(b->arena, x->text);
    if (!advice && near) advice = tra_arena_printf(b->arena, "did you mean %s?", near);
    if (exists)
        tra_diag_error(b->d, x->span,
                       strcmp(x->text, "round") == 0 ? "to two places: round(x * 100) / 100"
                                                     : "tra help functions lists the functions",
                       "%s does not take %d argument%s", x->text, x->nkids, x->nkids == 1 ? "" : "s");
    else
        tra_diag_error(b->d, x->name_span, advice, "there is no function '%s' of columns", x->text);
}

/* An operator applied to typed operands. */
static const tra_colexpr *apply(const tra_table_scope *sc, tra_ast *x, tra_colop op, int n, const tra_colexpr **kids) {
    const tra_colexpr *r = NULL;
    tra_err e = {0};
    bool ok = tra_colexpr_call_with(sc->b->arena, op, n, kids, &sc->b->beforehand, &r, &e) == TRA_OK;
    if (ok && tra_colexpr_can_be_made(r)) sc->b->deferred++;
    if (ok) return n ? tra_table_set_units(sc, op, n, kids, r) : r;
    const char *advice = NULL; /* where a date meets something else, or strings are added */
    for (int i = 0; i < n && n == 2; i++) {
        if (op == TRA_C_ADD && tra_coltype_is_coded(kids[i]->type)) advice = "concat(a, b) puts strings together";
        if (kids[i]->type == kids[1 - i]->type) continue;
        if (kids[i]->type == TRA_COL_DATE) advice = "write date \"2017-04-15\" for a day";
        if (kids[i]->type == TRA_COL_TIMESTAMP) advice = "write timestamp \"2017-04-15 08:15:00\" for a time";
    }
    if (e.status == TRA_RESOURCE) return tra_build_unreadable(sc->b, x->span, NULL, &e);
    return tra_diag_error(sc->b->d, x->span, advice, "%s", e.msg);
}

/* pow(x, y) is x ^ y, mod(x, y) is x % y, clip(x, lo, hi) is min(max(x, lo), hi). */
static void rewrite_alias(const tra_table_scope *sc, tra_ast *x) {
    bool pow = strcmp(x->text, "pow") == 0, mod = strcmp(x->text, "mod") == 0;
    if (x->kind != TRA_AST_CALL) return;
    if ((pow || mod) && x->nkids == 2) x->kind = TRA_AST_BINARY, x->text = pow ? "^" : "%";
    if (strcmp(x->text, "clip") != 0 || x->nkids != 3) return;
    tra_ast *inner = copy_of(sc->b, x), **kids = tra_news(sc->b->arena, tra_ast *, 2);
    inner->text = "max";
    inner->nkids = 2;
    kids[0] = inner, kids[1] = x->kids[2];
    x->text = "min";
    x->nkids = 2;
    x->kids = kids;
}

static const tra_colexpr *type_call(const tra_table_scope *sc, tra_ast *x) {
    rewrite_alias(sc, x);
    if (tra_table_is_duration(x)) {
        const tra_colexpr *k = type_expr(sc, x->kids[0]);
        return k ? tra_table_type_duration(sc, x, k) : NULL;
    }
    /* min and max take any number of arguments, two at a time */
    bool extreme = x->kind == TRA_AST_CALL && (!strcmp(x->text, "min") || !strcmp(x->text, "max")) && x->nkids > 2;
    int op = tra_colop_find(x->text, extreme ? 2 : x->nkids);
    bool function = x->kind == TRA_AST_CALL && strcmp(x->text, "div") != 0;
    if (op < 0 || (function && !tra_is_plain_name(tra_colop_text((tra_colop)op)))) {
        if (function)
            report_no_function(sc, x);
        else
            tra_diag_error(sc->b->d, x->span, "man tra-table lists the operators",
                           "expressions over columns have no operator '%s'", x->text);
        return NULL;
    }
    if (op == TRA_C_ROW && !sc->row_allowed)
        return tra_diag_error(
            sc->b->d, x->span,
            "project(T, *, i = number(a, b)) numbers rows by the order of columns, from 0; or write the rows "
            "to a file first",
            "row() stands where rows are counted already: those of a file, and of project and matrix of it");
    const tra_colexpr **kids = tra_news(sc->b->arena, const tra_colexpr *, x->nkids + 1);
    bool ok = true;
    for (int i = 0; i < x->nkids; i++) ok = (kids[i] = type_expr(sc, x->kids[i])) && ok;
    if (!ok || !tra_table_match_units(sc, x, (tra_colop)op, x->nkids, kids)) return NULL;
    if (!extreme) return apply(sc, x, (tra_colop)op, x->nkids, kids);
    const tra_colexpr *r = kids[0];
    for (int i = 1; i < x->nkids && r; i++) r = apply(sc, x, (tra_colop)op, 2, (const tra_colexpr *[]){r, kids[i]});
    return r;
}

/* The typed expression of one whose names are resolved. */
static const tra_colexpr *type_expr(const tra_table_scope *sc, tra_ast *x) {
    switch (x->kind) {
    case TRA_AST_NAME: return type_name(sc, x);
    case TRA_AST_NUMBER: return type_number(sc, x);
    case TRA_AST_STRING: return tra_colexpr_string(sc->b->arena, x->text, (int64_t)strlen(x->text));
    case TRA_AST_LITERAL: return type_literal(sc, x);
    case TRA_AST_UNARY:
        if (tra_is_number(x)) return type_number(sc, x);
        return type_call(sc, x);
    case TRA_AST_CALL:
    case TRA_AST_BINARY: return type_call(sc, x);
    case TRA_AST_INDEX:
    case TRA_AST_AGGREGATE:
    case TRA_AST_PARTS: break;
    }
    return NULL; /* resolve has refused it */
}

/* Adds what the tables of the tree took while it was built. */
static void note_tables(tra_graph *g, const tra_colexpr *x) {
    g->tabulated[0] += (double)x->tabulated[0];
    g->tabulated[1] += (double)x->tabulated[1];
    for (int i = 0; i < x->nkids; i++) note_tables(g, x->kids[i]);
}

bool tra_table_build_term(const tra_table_scope *sc, const char *name, const tra_ast *x, tra_table_term *out) {
    tra_ast own = *x;
    if (x->kind == TRA_AST_NAME && name && strcmp(x->text, name) == 0 && tra_schema_find(sc->columns, name) >= 0)
        own.quoted = true; /* by itself in a list it has no other meaning: true, of a pivoted table */
    tra_ast *resolved = resolve(sc, &own);
    *out = (tra_table_term){.name = name, .ast = resolved, .x = resolved ? type_expr(sc, resolved) : NULL};
    if (out->x) note_tables(sc->b->g, out->x);
    return out->x != NULL;
}

bool tra_table_build_predicate(const tra_table_scope *sc, const tra_ast *x, tra_table_term *out) {
    if (!tra_table_build_term(sc, NULL, x, out)) return false;
    if (out->x->type == TRA_COL_BOOL || out->x->untyped) return true;
    return tra_diag_error(sc->b->d, x->span, "compare with something: a != 0", "a predicate is a bool, and this is %s",
                          tra_coltype_name(out->x->type));
}
