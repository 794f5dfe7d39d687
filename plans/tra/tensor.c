/* tensor.c - tensor statements that are sums of products over labels: the EinSum statements that they mean.
 *
 * Each name that a sum binds to a key is a label; each loop over a relation, down to its elements, and each element
 * that is looked up is a reference. A sum of products is the same whether a loop visits all coordinates or those that
 * are not 0, if the element of each loop is a factor. A range 0:n gives a label whose extent must be n. */
#include "program.h"
#include "storage.h"

#include <string.h>

typedef enum meaning_kind { IS_LABEL, IS_VIEW, IS_PARAM } meaning_kind;

/* A loop over a relation or its rows. factor: its element, or one below it, is a factor of what is added up. */
typedef struct loop_over {
    bool factor;
    const tra_calc *x;
    struct loop_over *below, *next;
} loop_over;

/* What a name stands for: a label; a relation with labels for its first dimensions; a param. */
typedef struct meaning {
    const char *name;
    meaning_kind kind;
    int label;
    const char *relation;
    int rank, n, labels[TRA_MAXDIM];
    loop_over *loop; /* VIEW: the innermost loop that it was bound by, or NULL */
    struct meaning *outer;
} meaning;

typedef struct label {
    const char *name;
    int at;                /* where it is bound */
    int same;              /* another label that it is equal to, or -1 */
    const tra_calc *range; /* of a loop 0:n over it, or NULL */
    bool referenced;
} label;

typedef struct converter {
    tra_build *b;
    bool is_none;   /* the value is no sum of products over labels */
    meaning *names; /* innermost first */
    int nlabels;
    label label[TRA_MAXLABELS];
    int nout, out[TRA_MAXDIM];
    int inside; /* functions and sums of elements around: what is there is no factor */
    loop_over *loops;
    int nfree;
    const tra_calc_name *scope;
    tra_calc_free *free;
    const tra_node **node; /* of relations */
    tra_tensor_scope all;  /* these four */
} converter;

static tra_span span_of(const tra_calc *x) { return (tra_span){x->at, x->len > 0 ? x->len : 1}; }

/* It is none: why is for the reader of this file. */
static tra_ast *refuse(converter *c, const tra_calc *x, const char *why) {
    (void)x;
    (void)why;
    c->is_none = true;
    return NULL;
}

static int root(const converter *c, int l) {
    while (c->label[l].same >= 0) l = c->label[l].same;
    return l;
}

static void unify(converter *c, int k, int l) {
    k = root(c, k);
    l = root(c, l);
    if (k != l) c->label[k > l ? k : l].same = k > l ? l : k;
}

static meaning *bind(converter *c, const char *name, meaning_kind kind) {
    meaning *m = tra_new(c->b->arena, meaning);
    m->name = name ? name : "_";
    m->kind = kind;
    m->outer = c->names;
    return c->names = m;
}

static const meaning *find(const converter *c, const char *name) {
    for (const meaning *m = c->names; m; m = m->outer)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

/* A label for a binder of a key: a new one, or the one that it must be equal to. -1: too many. */
static int bind_label(converter *c, const tra_calc_binder *k) {
    const meaning *before = k->again ? find(c, k->name) : NULL;
    if (before && before->kind == IS_LABEL) return before->label;
    if (c->nlabels == TRA_MAXLABELS) return -1;
    int l = c->nlabels++;
    const char *name = k->name ? k->name : "l";
    bool taken = !k->name;
    for (int i = 0; i < l; i++) taken |= strcmp(c->label[i].name, name) == 0;
    c->label[l] = (label){taken ? tra_arena_printf(c->b->arena, "%s_%d", name, l) : name, k->at, -1, NULL, false};
    bind(c, k->name, IS_LABEL)->label = l;
    return l;
}

static tra_ast *leaf(converter *c, tra_ast_kind kind, const tra_calc *x, const char *text) {
    tra_ast *y = tra_new(c->b->arena, tra_ast);
    y->kind = kind;
    y->span = y->name_span = span_of(x);
    y->text = text;
    return y;
}

static tra_ast *node(converter *c, tra_ast_kind kind, const tra_calc *x, const char *text, int n, tra_ast **kids) {
    tra_ast *y = leaf(c, kind, x, text);
    y->nkids = n;
    y->kids = tra_news(c->b->arena, tra_ast *, n);
    for (int i = 0; i < n; i++) {
        if (!kids[i]) return NULL;
        y->kids[i] = kids[i];
        if (kids[i]->depth >= y->depth) y->depth = kids[i]->depth + 1;
    }
    return y;
}

/* The relation that x is, with the labels that it was applied to. */
static bool view_of(converter *c, const tra_calc *x, meaning *out) {
    if (x->kind == TRA_CALC_NAME) {
        const meaning *m = find(c, x->name);
        if (!m || m->kind != IS_VIEW) return false;
        *out = *m;
        return true;
    }
    if (x->kind != TRA_CALC_APPLY || !view_of(c, x->kids[0], out)) return false;
    for (int i = 1; i < x->nkids; i++) {
        const meaning *k = x->kids[i]->kind == TRA_CALC_NAME ? find(c, x->kids[i]->name) : NULL;
        if (!k || k->kind != IS_LABEL || out->n == out->rank) return false;
        out->labels[out->n++] = k->label;
    }
    return true;
}

static tra_ast *reference(converter *c, const tra_calc *x, const meaning *m) {
    tra_ast *kids[TRA_MAXDIM];
    for (int i = 0; i < m->n; i++) {
        int l = root(c, m->labels[i]);
        c->label[l].referenced = true;
        /* the name of the label is filled in at the end, when it is known which are equal */
        kids[i] = leaf(c, TRA_AST_NAME, x, NULL);
        kids[i]->value = l;
    }
    for (loop_over *u = m->loop; u && !c->inside; u = u->below) u->factor = true;
    return node(c, TRA_AST_INDEX, x, m->relation, m->n, kids);
}

static tra_ast *factor(converter *c, const tra_calc *x);

static bool bind_generator(converter *c, const tra_calc *x, int g, const tra_calc_binder *b) {
    const tra_calc *e = x->kids[g];
    meaning view = {0};
    int n = x->nnames[g];
    bool range = e->kind == TRA_CALC_RANGE;
    if (!range && !view_of(c, e, &view)) {
        refuse(c, e, "a loop of a tensor statement is over a relation, a part of one such as A(i), or a range");
        return false;
    }
    for (int i = 0; i < n; i++) {
        int l = bind_label(c, &b[i]);
        if (l < 0) {
            refuse(c, x, "too many labels");
            return false;
        }
        if (range)
            c->label[root(c, l)].range = e;
        else
            view.labels[view.n++] = l;
    }
    const tra_calc_binder *value = &b[n];
    if (value->again) {
        refuse(c, e, "elements that must be equal are no factors");
        return false;
    }
    if (range) {
        if (value->name) unify(c, bind(c, value->name, IS_LABEL)->label = bind_label(c, &b[0]), c->nlabels - 1);
        return true;
    }
    loop_over *u = tra_new(c->b->arena, loop_over);
    *u = (loop_over){false, e, view.loop, c->loops};
    view.loop = c->loops = u;
    meaning *m = bind(c, value->name, IS_VIEW);
    view.name = m->name;
    view.kind = IS_VIEW;
    view.outer = m->outer;
    *m = view;
    return true;
}

/* Labels that an if asks to be equal. */
static bool equalities(converter *c, const tra_calc *x) {
    if (x->kind == TRA_CALC_AND) return equalities(c, x->kids[0]) && equalities(c, x->kids[1]);
    const meaning *m[2] = {0};
    for (int i = 0; i < 2 && x->kind == TRA_CALC_EQ; i++)
        m[i] = x->kids[i]->kind == TRA_CALC_NAME ? find(c, x->kids[i]->name) : NULL;
    if (m[0] && m[1] && m[0]->kind == IS_LABEL && m[1]->kind == IS_LABEL) {
        unify(c, m[0]->label, m[1]->label);
        return true;
    }
    refuse(c, x, "in a sum of products an if compares labels: if (i == j)");
    return false;
}

static tra_ast *number(converter *c, const tra_calc *x) {
    char buf[32];
    if (!x->is_real) snprintf(buf, sizeof buf, "%" PRId64, x->whole);
    tra_ast *y = leaf(c, TRA_AST_NUMBER, x, NULL);
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
    tra_ast *y = factor(c, x->kids[x->nkids - 1]);
    c->names = outer;
    return y;
}

static tra_ast *dict(converter *c, const tra_calc *x) {
    for (int i = 0; i + 1 < x->nkids; i++) {
        const meaning *m = x->kids[i]->kind == TRA_CALC_NAME ? find(c, x->kids[i]->name) : NULL;
        if (!m || m->kind != IS_LABEL) return refuse(c, x->kids[i], "a key of the result is a name that a sum binds");
        c->out[c->nout++] = m->label; /* the check of types has bounded their number */
    }
    return factor(c, x->kids[x->nkids - 1]);
}

/* A function of elements: no factor is in it. */
static tra_ast *inside(converter *c, const tra_calc *x) {
    if (x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_DICT || x->kind == TRA_CALC_IF)
        return refuse(c, x, "a sum inside of a function of elements; give it a tensor statement of its own");
    c->inside++;
    tra_ast *y = factor(c, x);
    c->inside--;
    return y;
}

static tra_ast *operation(converter *c, const tra_calc *x) {
    bool product = x->kind == TRA_CALC_MUL, quotient = x->kind == TRA_CALC_DIV;
    if (quotient && !x->type.real)
        return refuse(c, x, "a quotient of integers floors, which EinSum has no function for");
    tra_ast *kids[2] = {product || quotient ? factor(c, x->kids[0]) : inside(c, x->kids[0])};
    if (!kids[0]) return NULL;
    kids[1] = product ? factor(c, x->kids[1]) : inside(c, x->kids[1]);
    const char *text = product ? "*" : quotient ? "/" : x->kind == TRA_CALC_ADD ? "+" : "-";
    return kids[1] ? node(c, TRA_AST_BINARY, x, text, 2, kids) : NULL;
}

static tra_ast *function(converter *c, const tra_calc *x) {
    switch (x->fn) {
    case TRA_CALC_FN_REAL: return inside(c, x->kids[0]);
    case TRA_CALC_FN_FLOOR:
    case TRA_CALC_FN_EVEN_BITS:
    case TRA_CALC_FN_ODD_BITS: return refuse(c, x, "EinSum has no such function");
    case TRA_CALC_FN_ABS:
    case TRA_CALC_FN_EXP:
    case TRA_CALC_FN_LOG:
    case TRA_CALC_FN_SQRT:
    case TRA_CALC_FN_MIN:
    case TRA_CALC_FN_MAX: break;
    }
    tra_ast *all = inside(c, x->kids[0]);
    if (x->nkids == 1) return all ? node(c, TRA_AST_CALL, x, x->name, 1, &all) : NULL;
    for (int i = 1; i < x->nkids && all; i++) {
        tra_ast *kids[2] = {all, inside(c, x->kids[i])};
        all = kids[1] ? node(c, TRA_AST_CALL, x, x->name, 2, kids) : NULL;
    }
    return all;
}

static tra_ast *factor(converter *c, const tra_calc *x) {
    const meaning *m;
    meaning view;
    tra_ast *kid;
    switch ((int)x->kind) {
    case TRA_CALC_NUMBER: return number(c, x);
    case TRA_CALC_SUM: return c->inside ? inside(c, x) : sum(c, x);
    case TRA_CALC_DICT: return dict(c, x);
    case TRA_CALC_IF: return equalities(c, x->kids[0]) ? factor(c, x->kids[1]) : NULL;
    case TRA_CALC_NEG: kid = factor(c, x->kids[0]); return kid ? node(c, TRA_AST_UNARY, x, "-", 1, &kid) : NULL;
    case TRA_CALC_CALL: return function(c, x);
    case TRA_CALC_ADD:
    case TRA_CALC_SUB:
    case TRA_CALC_MUL:
    case TRA_CALC_DIV:
        if (x->type.depth) break;
        return operation(c, x);
    case TRA_CALC_NAME:
        m = find(c, x->name);
        if (m && m->kind == IS_PARAM) return leaf(c, TRA_AST_NAME, x, x->name);
        if (m && m->kind == IS_LABEL) return refuse(c, x, "a position has no value here");
    }
    if (view_of(c, x, &view) && view.n == view.rank) return reference(c, x, &view);
    return refuse(c, x, "this is no function of elements, params and numbers");
}

/* ---- names of the program ------------------------------------------------------------------------------------- */

/* The params and relations that are defined above, as the scope of a tensor statement. */
static void make_scope(converter *c) {
    tra_build *b = c->b;
    tra_calc_name *scope = tra_news(b->arena, tra_calc_name, b->symbols.n);
    c->free = tra_news(b->arena, tra_calc_free, b->symbols.n);
    c->node = tra_news(b->arena, const tra_node *, b->symbols.n);
    for (int i = 0; i < b->symbols.n; i++) {
        const tra_symbol *s = b->symbols.value[i];
        if (!s->seen || !s->ok || (!s->param && !s->node)) continue;
        tra_calc_name *n = &scope[c->nfree];
        n->name = b->symbols.name[i];
        meaning *m = bind(c, n->name, s->param ? IS_PARAM : IS_VIEW);
        if (s->param) {
            n->type.real = !s->exact;
            c->free[c->nfree++].number = s->exact ? tra_calc_int(s->whole) : tra_calc_real(s->value);
            continue;
        }
        const tra_type *t = &s->node->type;
        tra_dims shape = {0};
        tra_calc_operand *o = tra_new(b->arena, tra_calc_operand);
        if (tra_type_is_tensor(t, NULL)) tra_type_shape(t, &shape);
        o->rank = m->rank = shape.n;
        m->relation = n->name;
        for (int d = 0; d < shape.n; d++) o->extent[d] = shape.v[d];
        n->relation = true;
        n->type = (tra_calc_type){tra_dtype_rows[t->dtype].class == TRA_CLASS_FLOAT, t->sparse, shape.n};
        o->real = n->type.real;
        o->sparse = n->type.sparse;
        c->node[c->nfree] = s->node;
        c->free[c->nfree++].operand = o;
    }
    c->scope = scope;
    c->all = (tra_tensor_scope){c->nfree, scope, c->free, c->node};
}

/* What a checked tree names is used. */
static void mark_used(const converter *c, const tra_calc *x) {
    bool names = (x->kind == TRA_CALC_NAME && x->level < 0) || x->kind == TRA_CALC_EXTENT;
    int at = names ? tra_names_find(&c->b->symbols, c->scope[x->index].name) : -1;
    if (at >= 0) ((tra_symbol *)c->b->symbols.value[at])->used = true;
    for (int i = 0; i < x->nkids; i++) mark_used(c, x->kids[i]);
}

static bool check(converter *c, const tra_calc *x) {
    tra_calc_error err;
    if (tra_calc_check(x, c->nfree, c->scope, c->b->arena, &err)) return mark_used(c, x), true;
    const char *advice = *err.advice ? tra_arena_strndup(c->b->arena, err.advice, strlen(err.advice)) : NULL;
    /* a name whose definition is wrong has its diagnostic already */
    tra_diag_error(c->b->d, (tra_span){err.at, err.len > 0 ? err.len : 1}, advice, "%s", err.msg);
    return false;
}

/* Of a checked tree: does it read elements of relations, which have none here but only extents? */
static bool reads_elements(const tra_tensor_scope *s, const tra_calc *x) {
    if (x->kind == TRA_CALC_NAME && x->level < 0 && s->free[x->index].operand) return true;
    for (int i = 0; i < x->nkids; i++)
        if (reads_elements(s, x->kids[i])) return true;
    return false;
}

bool tra_tensor_whole(tra_build *b, const tra_tensor_scope *s, const tra_calc *x, int64_t *out) {
    tra_calc_number v;
    tra_calc_error err;
    if (!tra_calc_check(x, s->n, s->name, b->arena, &err) || x->type.depth || x->type.real) return false;
    if (reads_elements(s, x) || tra_calc_scalar(x, s->n, s->free, 100000, &v, NULL) != TRA_OK) return false;
    *out = v.i;
    return true;
}

static bool whole_value(converter *c, const tra_calc *x, const char *what, int64_t *out) {
    tra_calc_number v;
    tra_err e = {0};
    if (!check(c, x)) return false;
    if (reads_elements(&c->all, x)) {
        tra_diag_error(c->b->d, span_of(x), "write extent(A, 0) for how long a dimension is",
                       "%s follows from params and extents, not from elements", what);
        return false;
    }
    if (x->type.depth || x->type.real) {
        tra_diag_error(c->b->d, span_of(x), NULL, "%s is an integer", what);
        return false;
    }
    if (tra_calc_scalar(x, c->nfree, c->free, 100000, &v, &e) != TRA_OK) {
        tra_diag_error(c->b->d, span_of(x), NULL, "%s", e.msg);
        return false;
    }
    *out = v.i;
    return true;
}

/* ---- the statement ---------------------------------------------------------------------------------------------- */

static void name_labels(converter *c, tra_ast *x) {
    if (x->kind == TRA_AST_INDEX) {
        for (int i = 0; i < x->nkids; i++) x->kids[i]->text = c->label[root(c, (int)x->kids[i]->value)].name;
        return;
    }
    for (int i = 0; i < x->nkids; i++) name_labels(c, x->kids[i]);
}

/* The extent of a label's dimension in the first reference that has it, or -1. */
static int64_t extent_of(const converter *c, const tra_ast *x, int l) {
    if (x->kind == TRA_AST_INDEX) {
        for (int i = 0; i < x->nkids; i++)
            for (int k = 0; k < c->nfree && root(c, (int)x->kids[i]->value) == l; k++)
                if (strcmp(c->scope[k].name, x->text) == 0) return c->free[k].operand->extent[i];
        return -1;
    }
    for (int i = 0; i < x->nkids; i++) {
        int64_t n = extent_of(c, x->kids[i], l);
        if (n >= 0) return n;
    }
    return -1;
}

static bool check_labels(converter *c, const tra_calc *value_of, const tra_ast *value) {
    for (const loop_over *u = c->loops; u; u = u->next)
        if (!u->factor && u->x->type.sparse)
            return refuse(c, u->x, "this loop visits the elements that are not 0, so its element must be a factor");
    for (int l = 0; l < c->nlabels; l++)
        if (root(c, l) == l && !c->label[l].referenced) return refuse(c, value_of, "a label that no element has");
    for (int i = 0; i < c->nlabels; i++) {
        int l = root(c, i);
        const tra_calc *r = c->label[i].range;
        int64_t lo, hi, n = extent_of(c, value, l);
        if (!r) continue;
        bool known =
            tra_tensor_whole(c->b, &c->all, r->kids[0], &lo) && tra_tensor_whole(c->b, &c->all, r->kids[1], &hi);
        if (!known || lo != 0 || hi != n) return refuse(c, r, "a loop that does not run over all positions");
    }
    return true;
}

static bool fill_storage(converter *c, const tra_tensor_decl *d, tra_stmt *out) {
    if (!d->storage) return true;
    tra_storage_use *use = &out->as;
    use->name = d->storage;
    use->span = use->name_span = (tra_span){d->storage_at, (int)strlen(d->storage)};
    use->nargs = d->nargs;
    use->args = tra_news(c->b->arena, tra_ast *, d->nargs);
    for (int i = 0; i < d->nargs; i++) {
        int64_t v;
        if (!whole_value(c, d->args[i], "an argument of a storage", &v)) return false;
        char buf[32];
        snprintf(buf, sizeof buf, "%" PRId64, v);
        use->args[i] = leaf(c, TRA_AST_NUMBER, d->args[i], tra_arena_strndup(c->b->arena, buf, strlen(buf)));
        use->args[i]->value = (double)v;
        use->args[i]->integer = true;
    }
    return true;
}

static const tra_stmt *convert(converter *c, const tra_stmt *st) {
    const tra_tensor_decl *d = st->tensor;
    if (!check(c, d->value)) return NULL;
    if (d->nextents >= 0 && d->value->type.depth != d->nextents) {
        tra_diag_error(c->b->d, span_of(d->value), NULL, "the tensor has %d dimensions, but its value %d keys",
                       d->nextents, d->value->type.depth);
        return NULL;
    }
    tra_ast *value = factor(c, d->value);
    if (!value || !check_labels(c, d->value, value)) return NULL;
    name_labels(c, value);
    tra_stmt *out = tra_new(c->b->arena, tra_stmt);
    *out = *st;
    out->kind = TRA_STMT_EINSUM;
    out->value = value;
    out->nlabels = c->nout;
    out->labels = tra_news(c->b->arena, tra_ast *, c->nout);
    bool left[TRA_MAXLABELS] = {0};
    for (int i = 0; i < c->nout; i++) {
        int l = root(c, c->out[i]);
        out->labels[i] = leaf(c, TRA_AST_NAME, d->value, c->label[l].name);
        left[l] = true;
    }
    for (int l = 0; l < c->nlabels; l++)
        if (root(c, l) == l && !left[l]) out->agg = "sum";
    out->agg_span = span_of(d->value);
    return out;
}

/* Has the result the extents that the statement says? */
static bool check_extents(converter *c, const tra_tensor_decl *d, const tra_node *n) {
    tra_dims shape;
    tra_type_shape(&n->type, &shape);
    for (int i = 0; i < d->nextents; i++) {
        int64_t v;
        if (!whole_value(c, d->extents[i], "an extent", &v)) return false;
        if (v == shape.v[i]) continue;
        tra_diag_error(c->b->d, span_of(d->extents[i]), NULL,
                       "dimension %d of %s has %" PRId64 " positions by its labels, not %" PRId64, i, d->name,
                       shape.v[i], v);
        return false;
    }
    return true;
}

static tra_node *cut(converter *c, const tra_tensor_decl *d, tra_node *n) {
    tra_dims block = {.n = d->nblock}, shape;
    tra_type_shape(&n->type, &shape);
    for (int i = 0; i < d->nblock; i++) {
        if (!whole_value(c, d->block[i], "a block extent", &block.v[i])) return NULL;
        if (block.v[i] < 1) {
            tra_diag_error(c->b->d, span_of(d->block[i]), NULL, "a block extent is at least 1");
            return NULL;
        }
        block.v[i] = tra_min64(block.v[i], tra_max64(shape.v[i], 1));
    }
    if (d->nblock < 0 || tra_dims_eq(&block, &n->type.cat->bound)) return n;
    tra_node *r = tra_build_node(c->b, TRA_OP_REPART, n->span);
    r->in[0] = n;
    r->block = block;
    return tra_build_finish(c->b, r);
}

bool tra_tensor_extent(tra_build *b, const tra_tensor_scope *s, const tra_calc *x, int64_t *out) {
    converter c = {.b = b, .nfree = s->n, .scope = s->name, .free = (tra_calc_free *)s->free, .all = *s};
    return whole_value(&c, x, "an extent", out);
}

bool tra_tensor_reads(const tra_calc *x, int i) {
    if (x->kind == TRA_CALC_NAME && x->level < 0 && x->index == i) return true;
    for (int k = 0; k < x->nkids; k++)
        if (tra_tensor_reads(x->kids[k], i)) return true;
    return false;
}

/* The relations whose elements the value reads. */
static void mark_read(const tra_calc *x, bool *read) {
    if (x->kind == TRA_CALC_NAME && x->level < 0) read[x->index] = true;
    for (int i = 0; i < x->nkids; i++) mark_read(x->kids[i], read);
}

/* Keeps the statement beside its node. */
static void add_tensor(converter *c, const tra_tensor_decl *d, const tra_node *n) {
    tra_graph *g = c->b->g;
    if ((g->ntensors & (g->ntensors - 1)) == 0) {
        tra_tensor *v = tra_news(c->b->arena, tra_tensor, g->ntensors ? 2 * g->ntensors : 1);
        if (g->ntensors) memcpy(v, g->tensors, (size_t)g->ntensors * sizeof *v);
        g->tensors = v;
    }
    bool *read = tra_news(c->b->arena, bool, c->nfree);
    mark_read(d->value, read);
    for (int i = 0; i < c->nfree; i++)
        if (!read[i]) c->node[i] = NULL;
    g->tensors[g->ntensors++] = (tra_tensor){n, d->value, c->nfree, c->node, c->free};
}

/* Does it compute with integers that EinSum leaves in a narrower type than i64, as it adds up none? */
static bool stays_narrow(const converter *c, const tra_calc *value, const tra_stmt *einsum) {
    bool narrow = false;
    for (int i = 0; i < c->nfree; i++)
        narrow = narrow || (c->node[i] && tra_tensor_reads(value, i) && c->node[i]->type.dtype != TRA_I64);
    return narrow && !value->type.real && !einsum->agg;
}

/* The node of its EinSum statement, or of the program that it is. */
static tra_node *build(converter *c, const tra_stmt *st) {
    const tra_tensor_decl *d = st->tensor;
    const tra_stmt *einsum = convert(c, st);
    if (einsum && stays_narrow(c, d->value, einsum)) c->is_none = true;
    if (einsum && !c->is_none) {
        tra_node *n = tra_build_einsum(c->b, einsum);
        return n && n->type.cat && check_extents(c, d, n) ? n : NULL;
    }
    if (!c->is_none || !check(c, d->value)) return NULL; /* parts of it may have been looked at by themselves */
    return tra_build_program(c->b, &c->all, st);
}

tra_node *tra_build_tensor(tra_build *b, const tra_stmt *st, tra_stored *out) {
    converter c = {.b = b};
    tra_stmt as = *st;
    make_scope(&c);
    tra_node *n = build(&c, st);
    if (n) n = cut(&c, st->tensor, n);
    if (!n || !fill_storage(&c, st->tensor, &as)) return NULL;
    add_tensor(&c, st->tensor, n);
    if (!as.as.name) return n;
    return tra_build_stored(b, &as.as, &n->type, out) ? tra_build_as(b, n, out, st->span) : NULL;
}
