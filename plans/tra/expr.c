/* expr.c - scalar functions inside arguments. Integers and functions of keys are in key_expr.c. */
#include "build.h"
#include "function_help.h"
#include "table_build.h"

#include <math.h>
#include <string.h>

const char *tra_number_beyond(const tra_ast *x) {
    return x->kind == TRA_AST_UNARY ? "this number is smaller than -2^63" : "this number is larger than 2^63 - 1";
}

bool tra_is_number(const tra_ast *x) {
    return x->kind == TRA_AST_NUMBER ||
           (x->kind == TRA_AST_UNARY && *x->text == '-' && x->kids[0]->kind == TRA_AST_NUMBER);
}

/* ---- scalar functions --------------------------------------------------------------------------------------- */

typedef struct arg_scope {
    int n;
    const char *const *names; /* of the arguments */
    tra_build_ref *ref;       /* EinSum: the number of a reference as an argument; else NULL */
    void *ctx;                /* of ref */
} arg_scope;

static const tra_scalar *scalar_expr(tra_build *b, const tra_ast *x, const arg_scope *sc);

static const tra_scalar *scalar_node(tra_arena *a, tra_scalar fields) {
    tra_scalar *s = tra_new(a, tra_scalar);
    *s = fields;
    return s;
}

const tra_scalar *tra_scalar_of3(tra_arena *a, tra_scalar_op op, const tra_scalar *x, const tra_scalar *y,
                                 const tra_scalar *z) {
    return scalar_node(a, (tra_scalar){.op = op, .a = x, .b = y, .c = z});
}

const tra_scalar *tra_scalar_of(tra_arena *a, tra_scalar_op op, const tra_scalar *x, const tra_scalar *y) {
    return tra_scalar_of3(a, op, x, y, NULL);
}

const tra_scalar *tra_scalar_number(tra_arena *a, double v) {
    return scalar_node(a, (tra_scalar){.op = TRA_S_CONST, .value = v});
}

/* A number that the program writes: the whole one, or a float. */
static const tra_scalar *scalar_whole(tra_arena *a, int64_t v) { return scalar_node(a, tra_scalar_of_whole(v)); }
static const tra_scalar *scalar_real(tra_arena *a, double v) { return scalar_node(a, tra_scalar_of_real(v)); }

bool tra_scalar_is_plain(const tra_scalar *e) { return e->op == TRA_S_CONST && e->form == TRA_NUMBER_PLAIN; }

const tra_scalar *tra_scalar_argument(tra_arena *a, int i) {
    return scalar_node(a, (tra_scalar){.op = TRA_S_ARG, .arg = i});
}

static const tra_scalar *scalar_ref(tra_build *b, const tra_ast *x, const arg_scope *sc) {
    int arg = sc->ref(sc->ctx, x);
    return arg < 0 ? NULL : tra_scalar_argument(b->arena, arg);
}

static const tra_scalar *scalar_name(tra_build *b, const tra_ast *x, const arg_scope *sc) {
    for (int i = 0; i < sc->n; i++)
        if (strcmp(sc->names[i], x->text) == 0) return tra_scalar_argument(b->arena, i);
    int at = tra_names_find(&b->symbols, x->text);
    double named;
    if (at < 0 && tra_build_named_number(x->text, &named)) return scalar_real(b->arena, named);
    if (at < 0)
        return tra_diag_error(
            b->d, x->span, tra_build_near(b, x->text, true, sc->n, sc->names),
            sc->n ? "'%s' is neither an argument of the function nor a param" : "there is no param '%s'", x->text);
    const tra_symbol *symbol = b->symbols.value[at];
    bool number = symbol->node && !symbol->node->type.columns && symbol->node->type.cat->bound.n == 0;
    if (sc->ref && number) { /* of rank 0, as a turn counter is: X is X[] */
        const tra_ast ref = {.kind = TRA_AST_INDEX, .span = x->span, .name_span = x->span, .text = x->text};
        return scalar_ref(b, &ref, sc);
    }
    if (sc->ref && !symbol->param && symbol->seen && !symbol->ok) return NULL; /* its definition has an error */
    if (sc->ref && !symbol->param)
        return tra_diag_error(b->d, x->span,
                              tra_arena_printf(b->arena,
                                               "write %s[i,j], with a label for each dimension; %s[] when it has none",
                                               x->text, x->text),
                              "the relation '%s' has no labels here", x->text);
    tra_symbol *s = tra_build_param(b, x);
    if (!s) return NULL;
    return s->exact ? scalar_whole(b->arena, s->whole) : scalar_real(b->arena, s->value);
}

static const tra_scalar *scalar_number(tra_build *b, const tra_ast *x) {
    int64_t v;
    if (tra_build_exact(b, x, &v)) return scalar_whole(b->arena, v);
    return scalar_real(b->arena, x->kind == TRA_AST_UNARY ? -x->kids[0]->value : x->value);
}

/* A call of a function that is not in the table. */
static const tra_scalar *unknown_function(tra_build *b, const tra_ast *x, const arg_scope *sc) {
    const char *names[TRA_S_COUNT + 4];
    int n = 0;
    if (sc->ref && tra_is_aggregation(x->text))
        return tra_diag_error(
            b->d, x->name_span,
            tra_arena_printf(b->arena, "inside an expression it names its labels: %s[k](...)", x->text),
            "'%s' aggregates a whole right side, not a part of it", x->text);
    tra_str all = {0};
    for (const char *name; (name = tra_scalar_function(n)); n++) {
        names[n] = name;
        tra_str_printf(&all, " %s", name);
    }
    const char *near = tra_nearest(x->text, n, names), *here = tra_build_named_here(b->arena, x->text);
    const tra_operator_help *whole = here ? NULL : tra_operator_help_find(x->text, 0);
    if (sc->ref && tra_whole_find(x->text) >= 0)
        here = tra_arena_printf(
            b->arena, "it takes a whole relation: n = %s(X), and here n[i] with its labels, or n alone", x->text);
    else if (sc->ref && whole)
        here =
            tra_arena_printf(b->arena, "a statement of its own makes that, without labels: %s%s; here its name stands",
                             strcspn(whole->form, "=") < strcspn(whole->form, "(") ? "" : "n = ", whole->form);
    tra_diag_error(b->d, x->name_span,
                   here   ? here
                   : near ? tra_arena_printf(b->arena, "did you mean %s?", near)
                          : tra_arena_printf(b->arena, "scalar functions are%s", tra_str_get(&all)),
                   "there is no scalar function '%s'", x->text);
    tra_str_free(&all);
    return NULL;
}

/* max and min of two or more operands, as a chain of operators of two. */
static const tra_scalar *scalar_extreme(tra_build *b, const tra_ast *x, const arg_scope *sc, tra_scalar_op op) {
    const tra_scalar *s = scalar_expr(b, x->kids[0], sc);
    for (int i = 1; i < x->nkids; i++) {
        const tra_scalar *y = scalar_expr(b, x->kids[i], sc);
        s = s && y ? tra_scalar_of(b->arena, op, s, y) : NULL;
    }
    return s;
}

const char tra_of_node[] = "a node";

/* What has the rows that extent(X, d) counts, if only the run does; else NULL. */
static const tra_node *counted_rows(tra_build *b, const tra_ast *x) {
    int at = x->nkids == 2 && x->kids[0]->kind == TRA_AST_NAME ? tra_names_find(&b->symbols, x->kids[0]->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    const tra_node *n = s && s->ok ? s->node : NULL;
    int64_t d;
    if (!n || !n->type.bounded || !tra_build_exact(b, x->kids[1], &d) || d < 0 || d >= n->type.cat->bound.n)
        return NULL;
    return !(n->type.bounded >> d & 1) ? NULL : n->rows && n->rows[d] ? n->rows[d] : n;
}

/* extent(X, d) of such rows: their number, a relation of rank 0. */
static const tra_scalar *scalar_rows(tra_build *b, const tra_ast *x, const tra_node *rows, const arg_scope *sc) {
    tra_node *n = tra_table_count_rows(b, x->span, rows, rows->type.columns ? TRA_I64 : rows->type.dtype);
    if (!n) return NULL;
    int at = tra_names_find(&b->symbols, x->kids[0]->text);
    ((tra_symbol *)b->symbols.value[at])->used = true;
    const tra_ast ref = {
        .kind = TRA_AST_INDEX, .span = x->span, .name_span = x->span, .text = tra_of_node, .value = n->id};
    return scalar_ref(b, &ref, sc);
}

static const tra_scalar *scalar_call(tra_build *b, const tra_ast *x, const arg_scope *sc) {
    int64_t extent;
    const tra_node *rows = sc->ref && strcmp(x->text, "extent") == 0 ? counted_rows(b, x) : NULL;
    if (rows) return scalar_rows(b, x, rows, sc);
    if (strcmp(x->text, "extent") == 0)
        return tra_build_extent(b, x, &extent) ? tra_scalar_number(b->arena, (double)extent) : NULL;
    if (sc->ref && strcmp(x->text, "index") == 0) return scalar_ref(b, x, sc);
    if (strcmp(x->text, "clip") == 0 && x->nkids == 3) { /* a NaN stays */
        const tra_scalar *v[3];
        for (int i = 0; i < 3; i++) v[i] = scalar_expr(b, x->kids[i], sc);
        if (!v[0] || !v[1] || !v[2]) return NULL;
        return tra_scalar_of(b->arena, TRA_S_MIN, tra_scalar_of(b->arena, TRA_S_MAX, v[0], v[1]), v[2]);
    }
    static const char *const counts[] = {NULL, "one argument", "two arguments", "three arguments"};
    int arity = 1, op = -1;
    while (arity <= 3 && (op = tra_scalar_find(x->text, arity)) < 0) arity++;
    if (op < 0) return unknown_function(b, x, sc);
    bool extreme = op == TRA_S_MAX || op == TRA_S_MIN;
    if (extreme ? x->nkids < 2 : x->nkids != arity)
        return tra_diag_error(
            b->d, x->span,
            sc->ref && extreme ? "as an aggregation it stands directly after '=', or names its labels: max[k](...)"
            : op == TRA_S_IF   ? "if(c, a, b) is a where c is not 0, else b"
                               : NULL,
            "%s takes %s, not %d", x->text, extreme ? "two or more arguments" : counts[arity], x->nkids);
    if (extreme) return scalar_extreme(b, x, sc, (tra_scalar_op)op);
    const tra_scalar *kid[3] = {NULL};
    bool ok = true;
    for (int i = 0; i < arity; i++) {
        kid[i] = scalar_expr(b, x->kids[i], sc);
        ok = ok && kid[i];
    }
    return ok ? tra_scalar_of3(b->arena, (tra_scalar_op)op, kid[0], kid[1], kid[2]) : NULL;
}

static const tra_scalar *scalar_binary(tra_build *b, const tra_ast *x, const arg_scope *sc) {
    static const tra_scalar_op ops[] = {TRA_S_ADD, TRA_S_SUB, TRA_S_MUL, TRA_S_DIV, TRA_S_POW, TRA_S_LT, TRA_S_LE,
                                        TRA_S_GT,  TRA_S_GE,  TRA_S_EQ,  TRA_S_NE,  TRA_S_AND, TRA_S_OR};
    const tra_scalar *l = scalar_expr(b, x->kids[0], sc), *r = scalar_expr(b, x->kids[1], sc);
    int named = tra_scalar_find(x->text, 2); /* % and div */
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(tra_scalar_text(ops[i]), x->text) == 0) named = (int)ops[i];
    if (named >= 0) return l && r ? tra_scalar_of(b->arena, (tra_scalar_op)named, l, r) : NULL;
    return tra_diag_error(b->d, x->span, NULL, "scalar functions have no operator '%s'", x->text);
}

static const tra_scalar *scalar_expr(tra_build *b, const tra_ast *x, const arg_scope *sc) {
    switch (x->kind) {
    case TRA_AST_NAME: return scalar_name(b, x, sc);
    case TRA_AST_NUMBER: return scalar_number(b, x);
    case TRA_AST_CALL: return scalar_call(b, x, sc);
    case TRA_AST_BINARY: return scalar_binary(b, x, sc);
    case TRA_AST_UNARY: {
        if (tra_is_number(x)) return scalar_number(b, x);
        const tra_scalar *s = scalar_expr(b, x->kids[0], sc);
        return s ? tra_scalar_of(b->arena, *x->text == '-' ? TRA_S_NEG : TRA_S_NOT, s, NULL) : NULL;
    }
    case TRA_AST_INDEX:
    case TRA_AST_AGGREGATE:
        if (sc->ref) return scalar_ref(b, x, sc);
        break;
    case TRA_AST_PARTS:
    case TRA_AST_STRING:
    case TRA_AST_LITERAL: break;
    }
    return tra_diag_error(b->d, x->span, tra_build_equals_advice(x),
                          "this has no place here; a number or a scalar expression is expected");
}

const tra_scalar *tra_build_indexed(tra_build *b, const tra_ast *x, tra_build_ref *ref, void *ctx) {
    arg_scope sc = {.ref = ref, .ctx = ctx};
    return scalar_expr(b, x, &sc);
}

const tra_scalar *tra_build_function(tra_build *b, const tra_ast *x, int n, const char *const *names) {
    arg_scope sc = {.n = n, .names = names};
    return scalar_expr(b, x, &sc);
}

bool tra_build_number(tra_build *b, const tra_ast *x, double *out) {
    const tra_scalar *s = tra_build_function(b, x, 0, NULL);
    if (s) *out = tra_scalar_eval(s, NULL);
    return s != NULL;
}
