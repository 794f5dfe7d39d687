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
} expansion;

static const tra_ast *argument(const expansion *s, const char *name) {
    for (int i = 0; i < s->def->nlabels; i++)
        if (strcmp(s->def->labels[i]->text, name) == 0) return s->call->kids[i];
    return NULL;
}

/* Is this name a parameter of the function of keys or elements, and so none of the macro around it? */
static bool has_parameter(const tra_ast *lambda, const char *name) {
    for (int i = 0; i + 1 < lambda->nkids; i++)
        if (strcmp(lambda->kids[i]->text, name) == 0) return true;
    return false;
}

static bool any_has_parameter(const tra_ast *const *lambda, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (has_parameter(lambda[i], name)) return true;
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
    tra_diag_error(x->d, tree->span, "name parts of it", "macros make an expression of more than %d operators in a row",
                   MAX_HEIGHT);
    return false;
}

/* The body of the macro with its parameters replaced. lambda: the functions in the macro that `body` is inside of. An
 * argument that is used several times is one tree in several places, and counts each time. */
static tra_ast *substitute(const expansion *s, const tra_ast *body, const tra_ast **lambda, int nlambda) {
    if (!count_nodes(s, 1)) return NULL;
    bool free_name = !body->quoted && body->text && !any_has_parameter(lambda, nlambda, body->text);
    const tra_ast *arg =
        free_name && (body->kind == TRA_AST_NAME || body->kind == TRA_AST_INDEX) ? argument(s, body->text) : NULL;
    if (arg && body->kind == TRA_AST_NAME) return count_nodes(s, size_of(arg)) ? (tra_ast *)arg : NULL;
    tra_ast *x = tra_new(s->x->arena, tra_ast);
    *x = *body;
    x->span = x->name_span = s->call->span;
    x->depth = 0;
    if (arg && arg->kind == TRA_AST_NAME) {
        x->text = arg->text;
    } else if (arg) {
        tra_diag_error(s->x->d, arg->span, "name it before: X = ...",
                       "the macro %s puts indices on this argument, so that it must be the name of a relation",
                       s->def->name);
        return NULL;
    }
    x->kids = tra_news(s->x->arena, tra_ast *, body->nkids);
    const tra_ast *inside[64];
    if (nlambda) memcpy(inside, lambda, (size_t)nlambda * sizeof *inside);
    int n = nlambda;
    if (body->kind == TRA_AST_LAMBDA && n < 64) inside[n++] = body;
    for (int i = 0; i < body->nkids; i++) {
        bool parameter = body->kind == TRA_AST_LAMBDA && i + 1 < body->nkids;
        x->kids[i] = parameter ? body->kids[i] : substitute(s, body->kids[i], inside, n);
        if (!x->kids[i]) return NULL;
        x->depth = x->kids[i]->depth >= x->depth ? x->kids[i]->depth + 1 : x->depth;
    }
    return is_low(s->x, x) ? x : NULL;
}

tra_ast *tra_expand(tra_expander *x, tra_ast *tree) {
    tree->depth = 0;
    for (int i = 0; i < tree->nkids; i++) {
        tree->kids[i] = tra_expand(x, tree->kids[i]);
        if (!tree->kids[i]) return NULL;
        tree->depth = tree->kids[i]->depth >= tree->depth ? tree->kids[i]->depth + 1 : tree->depth;
    }
    if (!is_low(x, tree)) return NULL;
    int at = tree->kind == TRA_AST_CALL ? tra_names_find(&x->defs, tree->text) : -1;
    if (at < 0) return tree;
    const tra_stmt *def = x->defs.value[at];
    if (def->nlabels == tree->nkids) {
        expansion s = {x, def, tree};
        return substitute(&s, def->value, NULL, 0);
    }
    tra_diag_error(x->d, tree->span, NULL, "the macro %s has %d parameter%s, not %d", def->name, def->nlabels,
                   def->nlabels == 1 ? "" : "s", tree->nkids);
    tra_diag_also(x->d, def->name_span, "defined here");
    return NULL;
}
