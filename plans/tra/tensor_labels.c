/* tensor_labels.c - tensor statements that are sums of products over labels: the EinSum statements that they mean.
 *
 * Each name that a sum binds to a key is a label; each loop over a relation, down to its elements, and each element
 * that is looked up is a reference. A sum of products is the same whether a loop visits all coordinates or those that
 * are not 0, if the element of each loop is a factor. A range 0:n gives a label whose extent must be n. */
#include "tensor_int.h"

#include <string.h>

tra_ast *tra_tensor_refuse(converter *c, const tra_calc *x, const char *why) {
    (void)x;
    (void)why;
    c->is_no_einsum = true;
    return NULL;
}

int tra_tensor_root(const converter *c, int l) {
    while (c->label[l].same >= 0) l = c->label[l].same;
    return l;
}

/* Makes two labels one. */
static void unify(converter *c, int k, int l) {
    k = tra_tensor_root(c, k);
    l = tra_tensor_root(c, l);
    if (k != l) c->label[k > l ? k : l].same = k > l ? l : k;
}

meaning *tra_tensor_bind(converter *c, const char *name, meaning_kind kind) {
    meaning *m = tra_new(c->b->arena, meaning);
    m->name = name ? name : "_";
    m->kind = kind;
    m->outer = c->names;
    return c->names = m;
}

static const meaning *find_meaning(const converter *c, const char *name) {
    for (const meaning *m = c->names; m; m = m->outer)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

/* The label that a key is bound to: a new one, or, if the name is bound again, the one that it must be equal to. -1:
 * there are too many. */
static int bind_label(converter *c, const tra_calc_binder *k) {
    const meaning *before = k->again ? find_meaning(c, k->name) : NULL;
    if (before && before->kind == IS_LABEL) return before->label;
    if (c->nlabels == TRA_MAXLABELS) return -1;
    int l = c->nlabels++;
    const char *name = k->name ? k->name : "l";
    bool taken = !k->name;
    for (int i = 0; i < l; i++) taken |= strcmp(c->label[i].name, name) == 0;
    c->label[l] = (label){taken ? tra_arena_printf(c->b->arena, "%s_%d", name, l) : name, k->at, -1, NULL, false};
    tra_tensor_bind(c, k->name, IS_LABEL)->label = l;
    return l;
}

tra_ast *tra_tensor_leaf(converter *c, tra_ast_kind kind, const tra_calc *x, const char *text) {
    tra_ast *y = tra_new(c->b->arena, tra_ast);
    y->kind = kind;
    y->span = y->name_span = tra_calc_span(x);
    y->text = text;
    return y;
}

static tra_ast *tree_node(converter *c, tra_ast_kind kind, const tra_calc *x, const char *text, int n, tra_ast **kids) {
    tra_ast *y = tra_tensor_leaf(c, kind, x, text);
    y->nkids = n;
    y->kids = tra_news(c->b->arena, tra_ast *, n);
    for (int i = 0; i < n; i++) {
        if (!kids[i]) return NULL;
        y->kids[i] = kids[i];
        if (kids[i]->depth >= y->depth) y->depth = kids[i]->depth + 1;
    }
    return y;
}

/* Sets *out to the view that x is: a relation, applied to labels. False: it is none. */
static bool view_of(converter *c, const tra_calc *x, meaning *out) {
    if (x->kind == TRA_CALC_NAME) {
        const meaning *m = find_meaning(c, x->name);
        if (!m || m->kind != IS_VIEW) return false;
        *out = *m;
        return true;
    }
    if (x->kind != TRA_CALC_APPLY || !view_of(c, x->kids[0], out)) return false;
    for (int i = 1; i < x->nkids; i++) {
        const meaning *k = x->kids[i]->kind == TRA_CALC_NAME ? find_meaning(c, x->kids[i]->name) : NULL;
        if (!k || k->kind != IS_LABEL || out->n == out->rank) return false;
        out->labels[out->n++] = k->label;
    }
    return true;
}

/* The reference X[i,j] to an element of a view. */
static tra_ast *reference(converter *c, const tra_calc *x, const meaning *m) {
    tra_ast *kids[TRA_MAXDIM];
    for (int i = 0; i < m->n; i++) {
        int l = tra_tensor_root(c, m->labels[i]);
        c->label[l].referenced = true;
        /* the name of the label is filled in at the end, when it is known which are equal */
        kids[i] = tra_tensor_leaf(c, TRA_AST_NAME, x, NULL);
        kids[i]->value = l;
    }
    for (loop_over *u = m->loop; u && !c->in_function; u = u->below) u->factor = true;
    return tree_node(c, TRA_AST_INDEX, x, m->relation, m->n, kids);
}

/* Binds the names b of generator g of a sum. */
static bool bind_generator(converter *c, const tra_calc *x, int g, const tra_calc_binder *b) {
    const tra_calc *e = x->kids[g];
    meaning view = {0};
    int n = x->nnames[g];
    bool range = e->kind == TRA_CALC_RANGE;
    if (!range && !view_of(c, e, &view)) {
        tra_tensor_refuse(c, e,
                          "a loop of a tensor statement is over a relation, a part of one such as A(i), or a range");
        return false;
    }
    for (int i = 0; i < n; i++) {
        int l = bind_label(c, &b[i]);
        if (l < 0) {
            tra_tensor_refuse(c, x, "too many labels");
            return false;
        }
        if (range)
            c->label[tra_tensor_root(c, l)].range = e;
        else
            view.labels[view.n++] = l;
    }
    const tra_calc_binder *value = &b[n];
    if (value->again) {
        tra_tensor_refuse(c, e, "elements that must be equal are no factors");
        return false;
    }
    if (range) {
        if (value->name)
            unify(c, tra_tensor_bind(c, value->name, IS_LABEL)->label = bind_label(c, &b[0]), c->nlabels - 1);
        return true;
    }
    loop_over *u = tra_new(c->b->arena, loop_over);
    *u = (loop_over){false, e, view.loop, c->loops};
    view.loop = c->loops = u;
    meaning *m = tra_tensor_bind(c, value->name, IS_VIEW);
    view.name = m->name;
    view.kind = IS_VIEW;
    view.outer = m->outer;
    *m = view;
    return true;
}

/* Makes labels one that an if compares; false if it asks for anything else. */
static bool unify_equal(converter *c, const tra_calc *x) {
    if (x->kind == TRA_CALC_AND) return unify_equal(c, x->kids[0]) && unify_equal(c, x->kids[1]);
    const meaning *m[2] = {0};
    for (int i = 0; i < 2 && x->kind == TRA_CALC_EQ; i++)
        m[i] = x->kids[i]->kind == TRA_CALC_NAME ? find_meaning(c, x->kids[i]->name) : NULL;
    if (m[0] && m[1] && m[0]->kind == IS_LABEL && m[1]->kind == IS_LABEL) {
        unify(c, m[0]->label, m[1]->label);
        return true;
    }
    tra_tensor_refuse(c, x, "in a sum of products an if compares labels: if (i == j)");
    return false;
}

static tra_ast *number(converter *c, const tra_calc *x) {
    char buf[32];
    if (!x->is_real) snprintf(buf, sizeof buf, "%" PRId64, x->whole);
    tra_ast *y = tra_tensor_leaf(c, TRA_AST_NUMBER, x, NULL);
    const char *text = x->is_real ? tra_exactly(x->real, buf) : buf;
    y->text = tra_arena_strndup(c->b->arena, text, strlen(text));
    y->value = x->is_real ? x->real : (double)x->whole;
    y->integer = !x->is_real;
    return y;
}

static tra_ast *sum(converter *c, const tra_calc *x) {
    meaning *outer = c->names;
    const tra_calc_binder *b = x->binders;
    for (int g = 0; g + 1 < x->nkids; b += x->nnames[g++] + 1)
        if (!bind_generator(c, x, g, b)) return NULL;
    tra_ast *y = tra_tensor_factor(c, x->kids[x->nkids - 1]);
    c->names = outer;
    return y;
}

static tra_ast *dict(converter *c, const tra_calc *x) {
    for (int i = 0; i + 1 < x->nkids; i++) {
        const meaning *m = x->kids[i]->kind == TRA_CALC_NAME ? find_meaning(c, x->kids[i]->name) : NULL;
        if (!m || m->kind != IS_LABEL)
            return tra_tensor_refuse(c, x->kids[i], "a key of the result is a name that a sum binds");
        c->out[c->nout++] = m->label; /* the check of types has bounded their number */
    }
    return tra_tensor_factor(c, x->kids[x->nkids - 1]);
}

/* An operand of a function or sum of elements: what is in it is no factor. */
static tra_ast *operand_of_function(converter *c, const tra_calc *x) {
    if (x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_DICT || x->kind == TRA_CALC_IF)
        return tra_tensor_refuse(c, x, "a sum inside of a function of elements; give it a tensor statement of its own");
    c->in_function++;
    tra_ast *y = tra_tensor_factor(c, x);
    c->in_function--;
    return y;
}

static tra_ast *operation(converter *c, const tra_calc *x) {
    bool product = x->kind == TRA_CALC_MUL, quotient = x->kind == TRA_CALC_DIV;
    if (quotient && !x->type.real)
        return tra_tensor_refuse(c, x, "a quotient of integers floors, which EinSum has no function for");
    tra_ast *kids[2] = {product || quotient ? tra_tensor_factor(c, x->kids[0]) : operand_of_function(c, x->kids[0])};
    if (!kids[0]) return NULL;
    kids[1] = product ? tra_tensor_factor(c, x->kids[1]) : operand_of_function(c, x->kids[1]);
    const char *text = product ? "*" : quotient ? "/" : x->kind == TRA_CALC_ADD ? "+" : "-";
    return kids[1] ? tree_node(c, TRA_AST_BINARY, x, text, 2, kids) : NULL;
}

static tra_ast *function(converter *c, const tra_calc *x) {
    switch (x->fn) {
    case TRA_CALC_FN_REAL: return operand_of_function(c, x->kids[0]);
    case TRA_CALC_FN_FLOOR:
    case TRA_CALC_FN_EVEN_BITS:
    case TRA_CALC_FN_ODD_BITS: return tra_tensor_refuse(c, x, "EinSum has no such function");
    case TRA_CALC_FN_ABS:
    case TRA_CALC_FN_EXP:
    case TRA_CALC_FN_LOG:
    case TRA_CALC_FN_SQRT:
    case TRA_CALC_FN_MIN:
    case TRA_CALC_FN_MAX: break;
    }
    tra_ast *all = operand_of_function(c, x->kids[0]);
    if (x->nkids == 1) return all ? tree_node(c, TRA_AST_CALL, x, x->name, 1, &all) : NULL;
    for (int i = 1; i < x->nkids && all; i++) {
        tra_ast *kids[2] = {all, operand_of_function(c, x->kids[i])};
        all = kids[1] ? tree_node(c, TRA_AST_CALL, x, x->name, 2, kids) : NULL;
    }
    return all;
}

tra_ast *tra_tensor_factor(converter *c, const tra_calc *x) {
    const meaning *m;
    meaning view;
    tra_ast *kid;
    switch ((int)x->kind) {
    case TRA_CALC_NUMBER: return number(c, x);
    case TRA_CALC_SUM: return c->in_function ? operand_of_function(c, x) : sum(c, x);
    case TRA_CALC_DICT: return dict(c, x);
    case TRA_CALC_IF: return unify_equal(c, x->kids[0]) ? tra_tensor_factor(c, x->kids[1]) : NULL;
    case TRA_CALC_NEG:
        kid = tra_tensor_factor(c, x->kids[0]);
        return kid ? tree_node(c, TRA_AST_UNARY, x, "-", 1, &kid) : NULL;
    case TRA_CALC_CALL: return function(c, x);
    case TRA_CALC_ADD:
    case TRA_CALC_SUB:
    case TRA_CALC_MUL:
    case TRA_CALC_DIV:
        if (x->type.depth) break;
        return operation(c, x);
    case TRA_CALC_NAME:
        m = find_meaning(c, x->name);
        if (m && m->kind == IS_PARAM) return tra_tensor_leaf(c, TRA_AST_NAME, x, x->name);
        if (m && m->kind == IS_LABEL) return tra_tensor_refuse(c, x, "a position has no value here");
    }
    if (view_of(c, x, &view) && view.n == view.rank) return reference(c, x, &view);
    return tra_tensor_refuse(c, x, "this is no function of elements, params and numbers");
}
