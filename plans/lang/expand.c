/* expand.c - macros: calls are replaced by right sides. */
#include "expand.h"

#include <string.h>

enum { MAX_MADE = 100000 };

void tra_expander_add(tra_expander *x, const tra_stmt *def) {
    if (tra_names_find(&x->defs, def->name) >= 0) return;
    tra_stmt *copy = tra_new(x->arena, tra_stmt);
    *copy = *def;
    tra_names_add(&x->defs, def->name, copy);
}

/* One call: its macro, its arguments. */
typedef struct expansion {
    tra_expander *x;
    const tra_stmt *def;
    const tra_ast *call;
    tra_names labels; /* of the body, with the names that they get */
} expansion;

static const tra_ast *argument(const expansion *s, const char *name) {
    for (int i = 0; i < s->def->nlabels; i++)
        if (strcmp(s->def->labels[i]->text, name) == 0) return s->call->kids[i];
    return NULL;
}

/* Names of the body with the names that they get; of a function also the functions around it. */
typedef struct renaming {
    int n;
    const char *const *from;
    const char **to;
    const struct renaming *outer;
} renaming;

static const char *renamed(const renaming *r, const char *name) {
    for (; r; r = r->outer)
        for (int i = 0; i < r->n; i++)
            if (strcmp(r->from[i], name) == 0) return r->to[i];
    return NULL;
}

static bool mentions(const tra_ast *x, const char *name) {
    if (x->text && strcmp(x->text, name) == 0) return true;
    for (int i = 0; i < x->nkids; i++)
        if (mentions(x->kids[i], name)) return true;
    return false;
}

static int size_of(const tra_ast *x) {
    int n = 1;
    for (int i = 0; i < x->nkids; i++) n += size_of(x->kids[i]);
    return n;
}

/* Counts n more nodes; false after a diagnostic if there are too many. */
static bool count_nodes(const expansion *s, int n) {
    bool had = s->x->made > MAX_MADE;
    s->x->made += n;
    if (s->x->made <= MAX_MADE) return true;
    if (!had)
        tra_diag_error(s->x->d, s->call->span, "name what is used often as a relation: X = ...",
                       "the macros of this program expand to more than %d operators and names", MAX_MADE);
    return false;
}

/* Checks the height of a tree. */
static bool is_low(tra_expander *x, const tra_ast *tree) {
    if (tree->depth <= MAX_HEIGHT) return true;
    return tra_diag_error(x->d, tree->span, "name parts of it",
                          "macros make an expression of more than %d operators in a row", MAX_HEIGHT);
}

static void note_name(tra_expander *x, const char *name) {
    if (name && tra_names_find(&x->used, name) < 0) tra_names_add(&x->used, name, NULL);
}

static void note_names(tra_expander *x, const tra_ast *tree) {
    note_name(x, tree->text);
    for (int i = 0; i < tree->nkids; i++) note_names(x, tree->kids[i]);
}

bool tra_is_label_place(const tra_ast *x, int i, bool label) {
    bool index = x->kind == TRA_AST_CALL && strcmp(x->text, "index") == 0;
    if (x->kind == TRA_AST_INDEX || index || (x->kind == TRA_AST_AGGREGATE && i + 1 < x->nkids)) return true;
    return label && x->kind == TRA_AST_CALL;
}

/* The labels of the body that are none of its parameters are the macro's own: each expansion gives them new names, so
 * that they never are labels of the statement or of an argument. */
static const char *own_label(expansion *s, const char *name) {
    int at = tra_names_find(&s->labels, name);
    if (at >= 0) return s->labels.value[at];
    const char *fresh = tra_names_fresh(&s->x->used, name);
    tra_names_add(&s->labels, name, (void *)(uintptr_t)fresh);
    return fresh;
}

/* The parameters of a function in the body, with new names where an argument of the macro has such a name. */
static renaming *function_names(const expansion *s, const tra_ast *lambda, const renaming *outer) {
    renaming *r = tra_new(s->x->arena, renaming);
    const char **from = tra_news(s->x->arena, const char *, lambda->nkids);
    *r = (renaming){.n = lambda->nkids - 1, .to = tra_news(s->x->arena, const char *, lambda->nkids), .outer = outer};
    for (int i = 0; i < r->n; i++) {
        from[i] = lambda->kids[i]->text;
        bool clash = false;
        for (int k = 0; k < s->call->nkids; k++) clash = clash || mentions(s->call->kids[k], from[i]);
        r->to[i] = clash ? tra_names_fresh(&s->x->used, from[i]) : from[i];
    }
    r->from = from;
    return r;
}

static tra_ast *substitute(expansion *s, const tra_ast *body, const renaming *bound, bool label);

/* The name as a tree: an argument, or a name of the body. */
static tra_ast *substitute_name(expansion *s, const tra_ast *body, const renaming *bound, bool label) {
    const char *to = body->quoted || label ? NULL : renamed(bound, body->text);
    const tra_ast *arg = body->quoted || to ? NULL : argument(s, body->text);
    if (arg) return count_nodes(s, size_of(arg)) ? (tra_ast *)arg : NULL;
    if (label) to = own_label(s, body->text);
    tra_ast *x = tra_new(s->x->arena, tra_ast);
    *x = *body;
    x->span = x->name_span = s->call->span;
    if (to) x->text = to;
    return x;
}

/* The body of the macro with its parameters replaced. bound: the parameters of functions that `body` is inside of. An
 * argument that is used several times is one tree in several places, and counts each time. */
static tra_ast *substitute(expansion *s, const tra_ast *body, const renaming *bound, bool label) {
    if (!count_nodes(s, 1)) return NULL;
    if (body->kind == TRA_AST_NAME) return substitute_name(s, body, bound, label);
    const tra_ast *arg = body->kind == TRA_AST_INDEX && !renamed(bound, body->text) ? argument(s, body->text) : NULL;
    tra_ast *x = tra_new(s->x->arena, tra_ast);
    *x = *body;
    x->span = x->name_span = s->call->span;
    x->depth = 0;
    if (arg && arg->kind == TRA_AST_NAME) {
        x->text = arg->text;
    } else if (arg)
        return tra_diag_error(s->x->d, arg->span, "name it before: X = ...",
                              "the macro %s puts indices on this argument, so that it must be the name of a relation",
                              s->def->name);
    bool lambda = body->kind == TRA_AST_LAMBDA;
    if (lambda) bound = function_names(s, body, bound);
    x->kids = tra_news(s->x->arena, tra_ast *, body->nkids);
    for (int i = 0; i < body->nkids; i++) {
        if (lambda && i + 1 < body->nkids) {
            x->kids[i] = tra_new(s->x->arena, tra_ast);
            *x->kids[i] = *body->kids[i];
            x->kids[i]->text = bound->to[i];
        } else {
            x->kids[i] = substitute(s, body->kids[i], bound, tra_is_label_place(body, i, label));
        }
        if (!x->kids[i]) return NULL;
        x->depth = x->kids[i]->depth >= x->depth ? x->kids[i]->depth + 1 : x->depth;
    }
    return is_low(s->x, x) ? x : NULL;
}

static tra_ast *expand(tra_expander *x, tra_ast *tree) {
    tree->depth = 0;
    for (int i = 0; i < tree->nkids; i++) {
        tree->kids[i] = expand(x, tree->kids[i]);
        if (!tree->kids[i]) return NULL;
        tree->depth = tree->kids[i]->depth >= tree->depth ? tree->kids[i]->depth + 1 : tree->depth;
    }
    if (!is_low(x, tree)) return NULL;
    int at = tree->kind == TRA_AST_CALL ? tra_names_find(&x->defs, tree->text) : -1;
    if (at < 0) return tree;
    const tra_stmt *def = x->defs.value[at];
    if (def->nlabels == tree->nkids) {
        expansion s = {.x = x, .def = def, .call = tree, .labels = {.arena = x->arena}};
        tra_ast *made = substitute(&s, def->value, NULL, false), *whole = made ? tra_new(x->arena, tra_ast) : NULL;
        if (whole) *whole = *made, whole->parentheses = tree->span; /* it is one term, as the call is */
        return whole;
    }
    tra_diag_error(x->d, tree->span, NULL, "the macro %s has %d parameter%s, not %d", def->name, def->nlabels,
                   def->nlabels == 1 ? "" : "s", tree->nkids);
    tra_diag_also(x->d, def->name_span, "defined here");
    return NULL;
}

static bool has_macro(const tra_expander *x, const tra_ast *tree) {
    if (tree->kind == TRA_AST_CALL && tra_names_find(&x->defs, tree->text) >= 0) return true;
    for (int i = 0; i < tree->nkids; i++)
        if (has_macro(x, tree->kids[i])) return true;
    return false;
}

tra_ast *tra_expand(tra_expander *x, const tra_stmt *st) {
    if (!has_macro(x, st->value)) return st->value;
    x->used = (tra_names){.arena = x->arena};
    note_names(x, st->value);
    for (int i = 0; i < st->nlabels; i++) note_name(x, st->labels[i]->text);
    return expand(x, st->value);
}
