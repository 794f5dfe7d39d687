/* table_derived.c - operators on tables that consist of other operators: what these are derived with, and the shorter
 * ones. */
#include "cardinality.h"
#include "table_derived.h"

#include "lower.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *form;
} words[] = {
#define X(name, form) {#name, form},
    TRA_TABLE_DERIVED(X)
#undef X
};
enum { NWORDS = sizeof words / sizeof *words };

bool tra_is_table_derived(const char *name) { return TRA_FIND_ROW(words, name) >= 0; }
const char *tra_table_derived_name(int i) { return i < NWORDS ? words[i].name : NULL; }

/* ---- with what they are derived ----------------------------------------------------------------------------- */

tra_ast *tra_derive_ast(const tra_deriving *d, tra_ast_kind kind, const char *text, int n, tra_ast *const *kids) {
    tra_ast *x = tra_table_ast(d->b->arena, kind, text, d->call->span, n, kids);
    x->name_span = d->call->name_span;
    return x;
}

tra_ast *tra_derive_name(const tra_deriving *d, const char *column) {
    return tra_table_name_ast(d->b->arena, column, d->call->span);
}

tra_ast *tra_derive_int(const tra_deriving *d, int64_t v) {
    return tra_table_int_ast(d->b->arena, tra_arena_printf(d->b->arena, "%" PRId64, v), d->call->span);
}

tra_ast *tra_derive_named(const tra_deriving *d, const char *name, const tra_ast *x) {
    return tra_derive_ast(d, TRA_AST_NAMED, name, 1, (tra_ast *[]){(tra_ast *)x});
}

tra_ast *tra_derive_call(const tra_deriving *d, const char *f, int n, tra_ast *const *kids) {
    return tra_derive_ast(d, TRA_AST_CALL, f, n, kids);
}

tra_ast *tra_derive_binary(const tra_deriving *d, const char *op, const tra_ast *l, const tra_ast *r) {
    return tra_derive_ast(d, TRA_AST_BINARY, op, 2, (tra_ast *[]){(tra_ast *)l, (tra_ast *)r});
}

tra_node *tra_derive_op(const tra_deriving *d, tra_table_opcode op, tra_node *in, tra_node *right, int n,
                        tra_ast *const *args) {
    bool two = op == TRA_TABLE_JOIN || op == TRA_TABLE_CROSS;
    if (!in || (two && !right)) return NULL;
    tra_ast **kids = tra_news(d->b->arena, tra_ast *, n + 2);
    int k = 0;
    kids[k++] = tra_derive_ast(d, TRA_AST_STRING, "", 0, NULL); /* stands for the nodes */
    if (two) kids[k++] = kids[0];
    for (int i = 0; i < n; i++) kids[k++] = args[i];
    tra_table_builder w = {.b = d->b, .in = in, .right = right, .op.op = op};
    w.call = tra_derive_call(d, tra_table_op_text(op), k, kids);
    w.in_name = d->in_name;
    return tra_table_built(&w);
}

/* The table without columns that its operand d->in does not have. */
static tra_node *own_columns(const tra_deriving *d, tra_node *n) {
    const tra_schema *s = d->in->type.columns;
    tra_ast **args = tra_news(d->b->arena, tra_ast *, s->n + 1);
    for (int c = 0; c < s->n; c++) args[c] = tra_derive_name(d, s->v[c].name);
    return tra_derive_op(d, TRA_TABLE_PROJECT, n, NULL, s->n, args);
}

/* The table with the numbers of its rows in a column of that name. */
static tra_node *numbered(const tra_deriving *d, tra_node *in, const char *name) {
    const tra_table_builder w = {.b = d->b, .in = in};
    tra_ast *star = tra_derive_ast(d, TRA_AST_STAR, "*", 0, NULL),
            *none = tra_derive_ast(d, TRA_AST_LIST, NULL, 0, NULL);
    if (tra_table_scope_of(&w).row_allowed)
        return tra_derive_op(d, TRA_TABLE_PROJECT, in, NULL, 2,
                             (tra_ast *[]){star, tra_derive_named(d, name, tra_derive_call(d, "row", 0, NULL))});
    tra_ast *number = tra_derive_named(d, name, tra_derive_call(d, "row_number", 0, NULL));
    return tra_derive_op(d, TRA_TABLE_WINDOW, in, NULL, 3, (tra_ast *[]){none, none, number});
}

tra_node *tra_derive_numbers(const tra_deriving *d, int64_t n, const char *name) {
    tra_node *at = tra_positions(d->b, d->call->span, n, TRA_TABLE_BLOCK_ROWS);
    tra_node *t = tra_derive_op(d, TRA_TABLE_TABLE, at, NULL, 0, NULL);
    if (!t) return NULL;
    tra_ast *value = tra_derive_name(d, t->type.columns->v[t->type.columns->n - 1].name);
    return tra_derive_op(d, TRA_TABLE_PROJECT, t, NULL, 1, (tra_ast *[]){tra_derive_named(d, name, value)});
}

void *tra_derive_refuse(const tra_deriving *d, const tra_ast *at, const char *why) {
    int i = TRA_FIND_ROW(words, d->call->text);
    return tra_diag_error(d->b->d, at->span, i < 0 ? NULL : words[i].form, "%s", why);
}

/* ---- arguments ---------------------------------------------------------------------------------------------- */

bool tra_derive_named_args(const tra_deriving *d, int from, int n, const char *const *names, const tra_ast **value,
                           int *plain) {
    const tra_ast *call = d->call;
    *plain = from;
    while (*plain < call->nkids && call->kids[*plain]->kind != TRA_AST_NAMED) ++*plain;
    for (int i = *plain; i < call->nkids; i++) {
        const tra_ast *x = call->kids[i];
        int at = 0;
        if (x->kind != TRA_AST_NAMED) return tra_derive_refuse(d, x, "what has a name stands last");
        while (at < n && strcmp(names[at], x->text) != 0) at++;
        if (at == n || value[at])
            return tra_derive_refuse(d, x,
                                     tra_arena_printf(d->b->arena,
                                                      at == n ? "%s has no argument '%s'" : "%s has two arguments '%s'",
                                                      call->text, x->text));
        value[at] = x->kids[0];
    }
    return true;
}

int tra_derive_column(const tra_deriving *d, const tra_ast *x) {
    const tra_table_scope sc = {d->b, d->in->type.columns, d->in_name, .row_allowed = false};
    return tra_table_find_column(&sc, x);
}

const char *tra_derive_word(const tra_deriving *d, const tra_ast *x, const char *other) {
    if (!x) return other;
    if (x->kind == TRA_AST_NAME) return x->text;
    return tra_derive_refuse(d, x, "the name of a column is expected here");
}

/* The constant that x is. NULL after a diagnostic. */
static const tra_colexpr *constant_of(const tra_deriving *d, const tra_ast *x, const char *what) {
    static const tra_schema none = {0};
    const tra_table_scope sc = {d->b, &none, d->call->text, .row_allowed = false};
    tra_table_term t;
    if (!tra_table_build_term(&sc, NULL, x, &t)) return NULL;
    if (t.x->op == TRA_C_CONST && !t.x->null) return t.x;
    return tra_derive_refuse(d, x, what);
}

/* ---- sample ------------------------------------------------------------------------------------------------- */

/* Rows are taken by the hash of their number and of the seed, so that every run of the program takes the same. */
tra_node *tra_derive_sample(tra_deriving *d) {
    enum { ROWS, FRACTION, SEED, OPTIONS };
    static const char *const options[] = {"n", "fraction", "seed"};
    const tra_ast *v[OPTIONS] = {NULL}, *at;
    tra_arena *a = d->b->arena;
    int plain;
    if (!tra_derive_named_args(d, 1, OPTIONS, options, v, &plain)) return NULL;
    if (plain + (v[ROWS] != NULL) + (v[FRACTION] != NULL) != 2)
        return tra_derive_refuse(d, d->call, "sample has a table, and a number of rows or a fraction of them");
    at = v[ROWS] ? v[ROWS] : v[FRACTION] ? v[FRACTION] : d->call->kids[1];
    const tra_colexpr *x = constant_of(d, at, "a number is expected here");
    if (!x || (v[SEED] && !constant_of(d, v[SEED], "a seed is a whole number"))) return NULL;
    bool number = tra_coltype_is_number(x->type) && x->type != TRA_COL_BOOL, real = tra_coltype_is_float(x->type);
    bool rows = number && !real && !v[FRACTION];
    double share = !number ? -1 : real ? x->value.f : (double)x->value.i;
    if (rows ? x->value.i < 0 : v[ROWS] || !(share >= 0 && share <= 1))
        return tra_derive_refuse(d, at, "a number of rows is whole; a fraction of them has a point, from 0.0 to 1.0");
    const char *i = tra_table_free_name(a, d->in->type.columns, "i"),
               *h = tra_table_free_name(a, d->in->type.columns, "h");
    tra_ast *number_of = tra_derive_name(d, i), *seed = v[SEED] ? (tra_ast *)v[SEED] : tra_derive_int(d, 0);
    tra_ast *hash = tra_derive_call(d, "hash", 2, (tra_ast *[]){number_of, seed});
    tra_node *t = numbered(d, d->in, i);
    if (!rows) {
        int64_t below = share * 0x1p63 < 0x1p63 ? (int64_t)(share * 0x1p63) : INT64_MAX;
        tra_ast *taken = tra_derive_binary(d, share < 1 ? "<" : "<=", hash, tra_derive_int(d, below));
        return own_columns(d, tra_derive_op(d, TRA_TABLE_SELECT, t, NULL, 1, &taken));
    }
    tra_ast *star = tra_derive_ast(d, TRA_AST_STAR, "*", 0, NULL), *key = tra_derive_name(d, h);
    t = tra_derive_op(d, TRA_TABLE_PROJECT, t, NULL, 2, (tra_ast *[]){star, tra_derive_named(d, h, hash)});
    tra_ast *by_hash = tra_derive_ast(d, TRA_AST_LIST, NULL, 2, (tra_ast *[]){key, number_of});
    tra_ast *by_number = tra_derive_ast(d, TRA_AST_LIST, NULL, 1, &number_of);
    t = tra_derive_op(d, TRA_TABLE_ORDER, t, NULL, 1, &by_hash);
    t = tra_derive_op(d, TRA_TABLE_LIMIT, t, NULL, 1, (tra_ast *[]){tra_derive_int(d, x->value.i)});
    return own_columns(d, tra_derive_op(d, TRA_TABLE_ORDER, t, NULL, 1, &by_number));
}

/* ---- fill --------------------------------------------------------------------------------------------------- */

/* A value and the NULLs that it fills have the same number of values up to them: they are a group, whose first row (or
 * last) has the value. */
static tra_node *fill(tra_deriving *d, bool forward) {
    const tra_ast *call = d->call;
    const tra_schema *s = d->in->type.columns;
    tra_arena *a = d->b->arena;
    if (call->nkids < 4 || call->kids[1]->kind != TRA_AST_LIST || call->kids[2]->kind != TRA_AST_LIST)
        return tra_derive_refuse(d, call,
                                 "its keys and its order stand in lists, which may be empty, before the columns");
    bool *filled = tra_news(a, bool, s->n + 1);
    for (int k = 3; k < call->nkids; k++) {
        int c = tra_derive_column(d, call->kids[k]);
        if (c < 0) return NULL;
        filled[c] = true;
    }
    tra_ast *keys = call->kids[1], *order = call->kids[2], **args = tra_news(a, tra_ast *, s->n + 1);
    tra_ast *null = tra_derive_ast(d, TRA_AST_NAME, "null", 0, NULL), *zero = tra_derive_int(d, 0);
    tra_ast *so_far = tra_derive_call(d, "rows", 2, forward ? (tra_ast *[]){null, zero} : (tra_ast *[]){zero, null});
    tra_ast *all = tra_derive_call(d, "rows", 2, (tra_ast *[]){null, null});
    tra_node *t = d->in;
    if (order->nkids == 0) { /* the order of the rows */
        const char *i = tra_table_free_name(a, s, "i");
        t = numbered(d, t, i);
        order = tra_derive_ast(d, TRA_AST_LIST, NULL, 1, (tra_ast *[]){tra_derive_name(d, i)});
    }
    for (int c = 0; c < s->n; c++) {
        args[c] = tra_derive_name(d, s->v[c].name);
        if (!filled[c] || !s->v[c].nullable || !t) continue;
        const char *n = tra_table_free_name(a, t->type.columns, "n");
        tra_ast *count = tra_derive_call(d, "count", 2, (tra_ast *[]){args[c], tra_derive_named(d, "frame", so_far)});
        t = tra_derive_op(d, TRA_TABLE_WINDOW, t, NULL, 3, (tra_ast *[]){keys, order, tra_derive_named(d, n, count)});
        if (!t) return NULL;
        const char *v = tra_table_free_name(a, t->type.columns, "v");
        tra_ast **by = tra_news(a, tra_ast *, keys->nkids + 1);
        for (int k = 0; k < keys->nkids; k++) by[k] = keys->kids[k];
        by[keys->nkids] = tra_derive_name(d, n);
        tra_ast *group = tra_derive_ast(d, TRA_AST_LIST, NULL, keys->nkids + 1, by);
        tra_ast *value = tra_derive_call(d, forward ? "first" : "last", 2,
                                         (tra_ast *[]){args[c], tra_derive_named(d, "frame", all)});
        t = tra_derive_op(d, TRA_TABLE_WINDOW, t, NULL, 3, (tra_ast *[]){group, order, tra_derive_named(d, v, value)});
        args[c] = tra_derive_named(d, s->v[c].name, tra_derive_name(d, v));
    }
    return tra_derive_op(d, TRA_TABLE_PROJECT, t, NULL, s->n, args);
}

/* ---- series ------------------------------------------------------------------------------------------------- */

/* How many values there are from x to y by steps; -1: too many. */
static int64_t steps(const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr *by) {
    bool real = tra_coltype_is_float(x->type) || tra_coltype_is_float(y->type) || tra_coltype_is_float(by->type);
    if (real) {
        double v[3];
        const tra_colexpr *const c[3] = {x, y, by};
        for (int i = 0; i < 3; i++) v[i] = tra_coltype_is_float(c[i]->type) ? c[i]->value.f : (double)c[i]->value.i;
        double n = floor((v[1] - v[0]) / v[2] + 1e-9);
        return n < 0 ? 0 : n < 0x1p40 ? (int64_t)n + 1 : -1;
    }
    __int128 n = ((__int128)y->value.i - x->value.i) / by->value.i;
    bool none = by->value.i > 0 ? y->value.i < x->value.i : y->value.i > x->value.i;
    return none ? 0 : n < ((__int128)1 << 40) ? (int64_t)n + 1 : -1;
}

/* The step as the values of the series count it; false after a diagnostic. */
static bool step_of(const tra_deriving *d, const tra_ast *at, const tra_colexpr *x, tra_colexpr *by) {
    static const int64_t day = INT64_C(86400000000);
    bool dates = x->type == TRA_COL_DATE, stamps = x->type == TRA_COL_TIMESTAMP, real = tra_coltype_is_float(by->type);
    const char *why =
        !tra_coltype_is_number(by->type) || by->type == TRA_COL_BOOL         ? "a step is a number or a duration"
        : (real ? by->value.f == 0 || isnan(by->value.f) : by->value.i == 0) ? "the step is 0"
        : stamps && by->counts == TRA_TIME_NONE ? "timestamps are a duration apart: seconds(5), hours(1), days(1)"
        : dates && (real || by->counts == TRA_TIME_MICROS) ? "dates are whole days apart: days(1), weeks(1)"
        : !dates && !stamps && by->counts != TRA_TIME_NONE ? "numbers are a number apart"
                                                           : NULL;
    if (why) return tra_derive_refuse(d, at, why);
    if (stamps && by->counts == TRA_TIME_DAYS) by->value.i *= day;
    return true;
}

/* project(numbers, name = from + i * step) */
tra_node *tra_derive_series(tra_deriving *d) {
    static const char *const options[] = {"name", "step"};
    const tra_ast *v[2] = {NULL}, *call = d->call;
    int plain;
    if (!tra_derive_named_args(d, 0, 2, options, v, &plain)) return NULL;
    if (plain == 3 && !v[1]) v[1] = call->kids[--plain];
    if (plain != 2) return tra_derive_refuse(d, call, "series has a first value, a last one, and a step");
    const char *name = tra_derive_word(d, v[0], "value");
    const tra_colexpr *x = constant_of(d, call->kids[0], "a constant is expected here"),
                      *y = x ? constant_of(d, call->kids[1], "a constant is expected here") : NULL,
                      *step = v[1] ? constant_of(d, v[1], "a constant is expected here") : NULL;
    if (!name || !y || (v[1] && !step)) return NULL;
    bool times = x->type == TRA_COL_DATE || x->type == TRA_COL_TIMESTAMP;
    bool fits = times ? x->type == y->type
                      : tra_coltype_is_number(x->type) && tra_coltype_is_number(y->type) && x->type != TRA_COL_BOOL &&
                            y->type != TRA_COL_BOOL;
    if (!fits) return tra_derive_refuse(d, call, "a series goes from a number, a date or a timestamp to another one");
    if (!step && x->type == TRA_COL_TIMESTAMP)
        return tra_derive_refuse(d, call, "a series of timestamps has a step, which is a duration");
    tra_colexpr by = step ? *step : *tra_colexpr_int(d->b->arena, 1);
    if (!step_of(d, step ? v[1] : call, x, &by)) return NULL;
    int64_t n = steps(x, y, &by);
    if (n < 0) return tra_derive_refuse(d, call, "a series has 2^40 values at most");
    tra_node *t = tra_derive_numbers(d, tra_max64(1, n), "i");
    tra_ast *at = tra_derive_name(d, "i"), *count;
    if (x->type == TRA_COL_TIMESTAMP) {
        count = tra_derive_binary(d, "*", at, tra_derive_int(d, by.value.i));
        count = tra_derive_call(d, "microseconds", 1, &count);
    } else {
        count = tra_derive_binary(d, "*", at, step ? (tra_ast *)v[1] : tra_derive_int(d, 1));
    }
    tra_ast *value = tra_derive_named(d, name, tra_derive_binary(d, "+", call->kids[0], count));
    t = tra_derive_op(d, TRA_TABLE_PROJECT, t, NULL, 1, &value);
    return n ? t : tra_derive_op(d, TRA_TABLE_LIMIT, t, NULL, 1, (tra_ast *[]){tra_derive_int(d, 0)});
}

/* ---- distinct ----------------------------------------------------------------------------------------------- */

tra_node *tra_table_distinct_of(tra_table_builder *w) {
    enum { ORDER, KEEP, OPTIONS };
    static const char *const options[] = {"order", "keep"};
    const tra_deriving d = {w->b, w->call, w->in, w->in_name};
    tra_arena *a = w->b->arena;
    const tra_ast *v[OPTIONS] = {NULL};
    int plain;
    if (!tra_derive_named_args(&d, 1, OPTIONS, options, v, &plain)) return NULL;
    if (v[ORDER] && v[ORDER]->kind != TRA_AST_LIST)
        return tra_table_refuse(w, v[ORDER], "the order stands in a list: order = [t desc]");
    bool word = v[KEEP] && v[KEEP]->kind == TRA_AST_NAME, last = word && strcmp(v[KEEP]->text, "last") == 0;
    if (v[KEEP] && !last && !(word && strcmp(v[KEEP]->text, "first") == 0))
        return tra_table_refuse(w, v[KEEP], "keep is first or last");
    const char *i = tra_table_free_name(a, w->in->type.columns, "i");
    tra_ast *at = tra_derive_name(&d, i), *back = tra_derive_ast(&d, TRA_AST_DESC, "desc", 1, &at);
    tra_ast **columns = tra_news(a, tra_ast *, w->in->type.columns->n + 1), *list = plain > 1 ? w->call->kids[1] : NULL;
    for (int c = 0; c < w->in->type.columns->n; c++) columns[c] = tra_derive_name(&d, w->in->type.columns->v[c].name);
    if (!list) list = tra_derive_ast(&d, TRA_AST_LIST, NULL, w->in->type.columns->n, columns);
    if (plain > 2) return tra_table_refuse(w, w->call->kids[2], "this argument has no name, and is one too many");
    /* the first of each group, in the order, then by number; and these as they stood */
    int norder = v[ORDER] ? v[ORDER]->nkids : 0;
    tra_ast **keys = tra_news(a, tra_ast *, norder + 1);
    for (int k = 0; k < norder; k++) {
        tra_ast *x = v[ORDER]->kids[k];
        bool desc = x->kind == TRA_AST_DESC;
        keys[k] = !last ? x : desc ? x->kids[0] : tra_derive_ast(&d, TRA_AST_DESC, "desc", 1, &x);
    }
    keys[norder] = last ? back : at;
    tra_node *t = numbered(&d, w->in, i);
    if (!t) return NULL;
    const char *n = tra_table_free_name(a, t->type.columns, "n");
    tra_ast *number = tra_derive_named(&d, n, tra_derive_call(&d, "row_number", 0, NULL)),
            *order = tra_derive_ast(&d, TRA_AST_LIST, NULL, norder + 1, keys);
    tra_ast *first = tra_derive_binary(&d, "<=", tra_derive_name(&d, n), tra_derive_int(&d, 1));
    t = tra_derive_op(&d, TRA_TABLE_WINDOW, t, NULL, 3, (tra_ast *[]){list, order, number});
    t = t ? tra_derive_op(&d, TRA_TABLE_SELECT, t, NULL, 1, &first) : NULL;
    tra_ast *as_stood = tra_derive_ast(&d, TRA_AST_LIST, NULL, 1, &at);
    return t ? own_columns(&d, tra_derive_op(&d, TRA_TABLE_ORDER, t, NULL, 1, &as_stood)) : NULL;
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

tra_node *tra_derive_ffill(tra_deriving *d) { return fill(d, true); }
tra_node *tra_derive_bfill(tra_deriving *d) { return fill(d, false); }

tra_node *tra_build_table_derived(tra_build *b, const tra_ast *call,
                                  tra_node *(*relation)(tra_build *, const tra_ast *)) {
    static tra_node *(*const build[])(tra_deriving *) = {
#define X(name, form) tra_derive_##name,
        TRA_TABLE_DERIVED(X)
#undef X
    };
    int word = TRA_FIND_ROW(words, call->text);
    tra_deriving d = {.b = b, .call = call};
    if (strcmp(call->text, "series") == 0) return tra_derive_series(&d);
    if (call->nkids == 0) return tra_derive_refuse(&d, call, "its first argument is missing, a table");
    d.in = tra_matrix_as_table(b, call->kids[0], relation(b, call->kids[0]));
    d.in_name = call->kids[0]->kind == TRA_AST_NAME ? call->kids[0]->text : NULL;
    return d.in ? build[word](&d) : NULL;
}

tra_node *tra_table_different_rows(tra_table_builder *w) {
    const tra_deriving d = {.b = w->b, .call = w->call};
    const tra_table_op *op = w->in->table;
    const tra_schema *s = w->in->type.columns;
    if (!op || op->op != TRA_TABLE_DISTINCT || op->nterms != s->n || tra_table_is_shared(w->b, w->in)) return NULL;
    tra_ast **key = tra_news(w->b->arena, tra_ast *, s->n + 1);
    for (int c = 0; c < s->n; c++) {
        if (tra_coltype_is_float(s->v[c].type)) return NULL;
        key[c] = tra_derive_name(&d, s->v[c].name);
    }
    tra_ast *keys = tra_derive_ast(&d, TRA_AST_LIST, NULL, s->n, key);
    return tra_derive_op(&d, TRA_TABLE_GROUP, (tra_node *)op->in[0], NULL, 1, &keys);
}
