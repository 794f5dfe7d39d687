/* table_within.c - group and window with expressions of their functions, x = sum(a) / count(): the operator with each
 * function by itself, and a projection that computes the expressions. */
#include "table_derived.h"
#include "table_parts.h"

#include <string.h>

/* A function that stands in expressions, as the program has it; and the name of its column, which no other column,
 * key or argument has. */
typedef struct inner {
    const char *text, *name;
} inner;

typedef struct splitting {
    tra_table_builder *w;
    tra_deriving d;
    tra_names taken;
    int n; /* arguments of the operator with each function by itself */
    tra_ast **column;
    int ninner;
    inner *inner;
} splitting;

static bool is_function(const splitting *s, const tra_ast *x) {
    if (x->kind != TRA_AST_CALL) return false;
    bool extreme = strcmp(x->text, "min") == 0 || strcmp(x->text, "max") == 0;
    if (extreme && x->nkids > 1 && x->kids[1]->kind != TRA_AST_NAMED) return false; /* of two values */
    if (s->w->op.op == TRA_TABLE_WINDOW) return tra_window_find(x->text) >= 0;
    return tra_aggregate_find(x->text) >= 0 || tra_is_composed_aggregate(x->text);
}

static int functions_in(const splitting *s, const tra_ast *x) {
    if (is_function(s, x)) return 1;
    int n = 0;
    for (int i = 0; i < x->nkids; i++) n += functions_in(s, x->kids[i]);
    return n;
}

/* Is argument x an expression of functions, which is none itself? */
static bool is_expression(const splitting *s, const tra_ast *x) {
    bool frame = s->w->op.op == TRA_TABLE_WINDOW && x->kind == TRA_AST_NAMED && strcmp(x->text, "frame") == 0;
    return x->kind == TRA_AST_NAMED && !frame && !is_function(s, x->kids[0]) && functions_in(s, x->kids[0]) > 0;
}

/* Notes the names of columns, keys and arguments. */
static void note_taken(splitting *s) {
    const tra_ast *call = s->w->call;
    for (int i = 1; i < call->nkids; i++) {
        const tra_ast *x = call->kids[i];
        if (x->kind == TRA_AST_NAMED) tra_names_add(&s->taken, x->text, NULL);
        for (int k = 0; x->kind == TRA_AST_LIST && k < x->nkids; k++)
            if (x->kids[k]->text) tra_names_add(&s->taken, x->kids[k]->text, NULL);
    }
    tra_table_note_columns(&s->taken, s->w->in->type.columns);
}

/* The expression with columns in place of functions. */
static tra_ast *of_columns(splitting *s, const tra_ast *x) {
    tra_arena *a = s->w->b->arena;
    if (is_function(s, x)) {
        tra_str text = {0};
        tra_ast_print(x, &text);
        inner f = {.text = tra_arena_take(a, &text)};
        int i = 0;
        while (i < s->ninner && strcmp(s->inner[i].text, f.text) != 0) i++;
        if (i == s->ninner) {
            f.name = tra_names_fresh(&s->taken, f.text);
            s->inner[s->ninner++] = f;
            s->column[s->n++] = tra_derive_named(&s->d, f.name, x);
        }
        return tra_table_name_ast(a, s->inner[i].name, x->span);
    }
    tra_ast *y = tra_table_ast_copy(a, x);
    if (x->nkids > 0) y->kids = tra_news(a, tra_ast *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = of_columns(s, x->kids[i]);
    return y;
}

bool tra_table_has_within(tra_table_builder *w) {
    splitting s = {.w = w};
    for (int i = 1; i < w->call->nkids; i++)
        if (is_expression(&s, w->call->kids[i])) return true;
    return false;
}

tra_node *tra_table_within(tra_table_builder *w) {
    const tra_ast *call = w->call;
    tra_arena *a = w->b->arena;
    splitting s = {.w = w, .d = {w->b, call, w->in, w->in_name}, .taken = {.arena = a}};
    int most = 1, nresults = 0, lists = 1;
    note_taken(&s);
    for (int i = 1; i < call->nkids; i++) most += tra_max64(1, functions_in(&s, call->kids[i]));
    s.column = tra_news(a, tra_ast *, most + 1);
    s.inner = tra_news(a, inner, most + 1);
    while (lists < call->nkids && call->kids[lists]->kind == TRA_AST_LIST) lists++;
    for (int i = 1; i < lists; i++) s.column[s.n++] = call->kids[i];
    tra_ast **result = tra_news(a, tra_ast *, call->nkids + 1 + (w->in->type.columns ? w->in->type.columns->n : 0));
    bool window = w->op.op == TRA_TABLE_WINDOW;
    const tra_ast *keys = call->kids[1];
    for (int c = 0; window && c < w->in->type.columns->n; c++)
        result[nresults++] = tra_table_name_ast(a, w->in->type.columns->v[c].name, call->span);
    for (int k = 0; !window && k < keys->nkids; k++)
        if (keys->kids[k]->text) result[nresults++] = tra_table_name_ast(a, keys->kids[k]->text, keys->kids[k]->span);
    for (int i = lists; i < call->nkids; i++) {
        const tra_ast *x = call->kids[i], *f = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
        if (is_expression(&s, x)) {
            result[nresults++] = tra_derive_named(&s.d, x->text, of_columns(&s, f));
            continue;
        }
        s.column[s.n++] = (tra_ast *)x;
        if (!is_function(&s, f)) continue; /* a frame, or an error that the operator tells */
        const char *name = x->kind == TRA_AST_NAMED ? x->text
                           : f->nkids == 0          ? f->text
                                                    : tra_arena_printf(a, "%s_%s", f->text, f->kids[0]->text);
        result[nresults++] = tra_table_name_ast(a, name, x->span);
    }
    tra_node *n = tra_derive_op(&s.d, w->op.op, w->in, NULL, s.n, s.column);
    s.d.in_name = NULL; /* it is not the table that the program names */
    return tra_derive_op(&s.d, TRA_TABLE_PROJECT, n, NULL, nresults, result);
}
