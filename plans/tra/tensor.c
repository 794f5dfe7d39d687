/* tensor.c - tensor statements: their names, their checks and their nodes. A sum of products over labels becomes an
 * EinSum statement (tensor_labels.c); for any other program.c makes nodes that run it as a program on blocks. */
#include "tensor_int.h"

#include <string.h>

/* ---- names of the program -------------------------------------------------------------------------------------- */

/* A relation as a name of a scope. */
static tra_calc_operand *describe(tra_build *b, const tra_node *node, tra_calc_name *n) {
    const tra_type *t = &node->type;
    tra_dims shape = {0};
    tra_calc_operand *o = tra_new(b->arena, tra_calc_operand);
    if (tra_type_is_tensor(t, NULL)) tra_type_shape(t, &shape);
    o->rank = shape.n;
    for (int d = 0; d < shape.n; d++) o->extent[d] = shape.v[d];
    n->relation = true;
    n->type = (tra_calc_type){tra_dtype_rows[t->dtype].class == TRA_CLASS_FLOAT, t->sparse, shape.n};
    o->real = n->type.real;
    o->sparse = n->type.sparse;
    return o;
}

/* The params and relations that are defined above, as the scope of a tensor statement. */
static void make_scope(converter *c) {
    tra_build *b = c->b;
    tra_calc_name *scope = tra_news(b->arena, tra_calc_name, b->symbols.n);
    c->free = tra_news(b->arena, tra_calc_free, b->symbols.n);
    c->node = tra_news(b->arena, const tra_node *, b->symbols.n);
    for (int i = 0; i < b->symbols.n; i++) {
        const tra_symbol *s = b->symbols.value[i];
        if (!s->seen || !s->ok || s->literal || (!s->param && !s->node)) continue;
        tra_calc_name *n = &scope[c->nfree];
        n->name = b->symbols.name[i];
        meaning *m = tra_tensor_bind(c, n->name, s->param ? IS_PARAM : IS_VIEW);
        if (s->param) {
            n->type.real = !s->exact;
            c->free[c->nfree++].number = s->exact ? tra_calc_int(s->whole) : tra_calc_real(s->value);
            continue;
        }
        tra_calc_operand *o = describe(b, s->node, n);
        m->rank = o->rank;
        m->relation = n->name;
        c->node[c->nfree] = s->node;
        c->free[c->nfree++].operand = o;
    }
    c->scope = scope;
    c->whole_scope = (tra_tensor_scope){c->nfree, scope, c->free, c->node};
}

/* Marks the names of a checked tree as used. */
static void mark_used(const converter *c, const tra_calc *x) {
    bool names = (x->kind == TRA_CALC_NAME && x->level < 0) || x->kind == TRA_CALC_EXTENT;
    int at = names ? tra_names_find(&c->b->symbols, c->scope[x->index].name) : -1;
    if (at >= 0) ((tra_symbol *)c->b->symbols.value[at])->used = true;
    for (int i = 0; i < x->nkids; i++) mark_used(c, x->kids[i]);
}

/* Finds the names and types of the tree, and marks the names as used; false after a diagnostic. */
static bool check_value(converter *c, const tra_calc *x) {
    tra_calc_error err;
    if (tra_calc_check(x, c->nfree, c->scope, c->b->arena, &err)) return mark_used(c, x), true;
    const char *advice = *err.advice ? tra_arena_strndup(c->b->arena, err.advice, strlen(err.advice)) : NULL;
    return tra_diag_error(c->b->d, (tra_span){err.at, err.len > 0 ? err.len : 1}, advice, "%s", err.msg);
}

/* Does a checked tree read elements of relations? Only their extents are known here. */
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

/* Evaluates an integer that the statement says, such as an extent; what: "an extent". False after a diagnostic. */
static bool whole_value(converter *c, const tra_calc *x, const char *what, int64_t *out) {
    tra_calc_number v;
    tra_err e = {0};
    if (!check_value(c, x)) return false;
    if (reads_elements(&c->whole_scope, x))
        return tra_diag_error(c->b->d, tra_calc_span(x), "write extent(A, 0) for how long a dimension is",
                              "%s follows from params and extents, not from elements", what);
    if (x->type.depth || x->type.real) return tra_diag_error(c->b->d, tra_calc_span(x), NULL, "%s is an integer", what);
    if (tra_calc_scalar(x, c->nfree, c->free, 100000, &v, &e) != TRA_OK)
        return tra_diag_error(c->b->d, tra_calc_span(x), NULL, "%s", e.msg);
    *out = v.i;
    return true;
}

/* ---- the statement --------------------------------------------------------------------------------------------- */

/* Gives the labels in the tree their names, now that it is known which are equal. */
static void name_labels(converter *c, tra_ast *x) {
    if (x->kind == TRA_AST_INDEX) {
        for (int i = 0; i < x->nkids; i++) x->kids[i]->text = c->label[tra_tensor_root(c, (int)x->kids[i]->value)].name;
        return;
    }
    for (int i = 0; i < x->nkids; i++) name_labels(c, x->kids[i]);
}

/* The extent of label l in the first reference that has it, or -1. */
static int64_t extent_of(const converter *c, const tra_ast *x, int l) {
    if (x->kind == TRA_AST_INDEX) {
        for (int i = 0; i < x->nkids; i++)
            for (int k = 0; k < c->nfree && tra_tensor_root(c, (int)x->kids[i]->value) == l; k++)
                if (strcmp(c->scope[k].name, x->text) == 0) return c->free[k].operand->extent[i];
        return -1;
    }
    for (int i = 0; i < x->nkids; i++) {
        int64_t n = extent_of(c, x->kids[i], l);
        if (n >= 0) return n;
    }
    return -1;
}

/* Do the loops and labels mean what they mean in an EinSum statement? Else it is refused. */
static bool check_labels(converter *c, const tra_calc *value_of, const tra_ast *value) {
    for (const loop_over *u = c->loops; u; u = u->next)
        if (!u->factor && u->x->type.sparse)
            return tra_tensor_refuse(c, u->x,
                                     "this loop visits the elements that are not 0, so its element must be a factor");
    for (int l = 0; l < c->nlabels; l++)
        if (tra_tensor_root(c, l) == l && !c->label[l].referenced)
            return tra_tensor_refuse(c, value_of, "a label that no element has");
    for (int i = 0; i < c->nlabels; i++) {
        int l = tra_tensor_root(c, i);
        const tra_calc *r = c->label[i].range;
        int64_t lo, hi, n = extent_of(c, value, l);
        if (!r) continue;
        bool known = tra_tensor_whole(c->b, &c->whole_scope, r->kids[0], &lo) &&
                     tra_tensor_whole(c->b, &c->whole_scope, r->kids[1], &hi);
        if (!known || lo != 0 || hi != n) return tra_tensor_refuse(c, r, "a loop that does not run over all positions");
    }
    return true;
}

/* Sets out->as to the storage that the statement names, with its arguments as numbers; false after a diagnostic. */
static bool read_storage(converter *c, const tra_tensor_decl *d, tra_stmt *out) {
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
        use->args[i] = tra_tensor_leaf(c, TRA_AST_NUMBER, d->args[i], tra_arena_strndup(c->b->arena, buf, strlen(buf)));
        use->args[i]->value = (double)v;
        use->args[i]->integer = true;
    }
    return true;
}

/* The EinSum statement that the statement means; NULL if there is none (is_no_einsum), or after a diagnostic. */
static const tra_stmt *einsum_of(converter *c, const tra_stmt *st) {
    const tra_tensor_decl *d = st->tensor;
    if (!check_value(c, d->value)) return NULL;
    if (d->nextents >= 0 && d->value->type.depth != d->nextents)
        return tra_diag_error(c->b->d, tra_calc_span(d->value), NULL,
                              "the tensor has %d dimensions, but its value %d keys", d->nextents, d->value->type.depth);
    tra_ast *value = tra_tensor_factor(c, d->value);
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
        int l = tra_tensor_root(c, c->out[i]);
        out->labels[i] = tra_tensor_leaf(c, TRA_AST_NAME, d->value, c->label[l].name);
        left[l] = true;
    }
    for (int l = 0; l < c->nlabels; l++)
        if (tra_tensor_root(c, l) == l && !left[l]) out->agg = "sum";
    out->agg_span = tra_calc_span(d->value);
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
        return tra_diag_error(c->b->d, tra_calc_span(d->extents[i]), NULL,
                              "dimension %d of %s has %" PRId64 " positions by its labels, not %" PRId64, i, d->name,
                              shape.v[i], v);
    }
    return true;
}

/* The node in the blocks that the statement asks for; NULL after a diagnostic. */
static tra_node *reblock(converter *c, const tra_tensor_decl *d, tra_node *n) {
    tra_dims block = {.n = d->nblock}, shape;
    tra_type_shape(&n->type, &shape);
    for (int i = 0; i < d->nblock; i++) {
        if (!whole_value(c, d->block[i], "a block extent", &block.v[i])) return NULL;
        if (block.v[i] < 1)
            return tra_diag_error(c->b->d, tra_calc_span(d->block[i]), NULL, "a block extent is at least 1");
        block.v[i] = tra_min64(block.v[i], tra_max64(shape.v[i], 1));
    }
    if (d->nblock < 0 || tra_dims_eq(&block, &n->type.cat->bound)) return n;
    tra_node fields = {.in = {n}, .block = block};
    return tra_build_made(c->b, TRA_OP_REPART, n->span, &fields);
}

bool tra_tensor_extent(tra_build *b, const tra_tensor_scope *s, const tra_calc *x, int64_t *out) {
    converter c = {.b = b, .nfree = s->n, .scope = s->name, .free = (tra_calc_free *)s->free, .whole_scope = *s};
    return whole_value(&c, x, "an extent", out);
}

bool tra_tensor_reads(const tra_calc *x, int i) {
    if (x->kind == TRA_CALC_NAME && x->level < 0 && x->index == i) return true;
    for (int k = 0; k < x->nkids; k++)
        if (tra_tensor_reads(x->kids[k], i)) return true;
    return false;
}

/* Sets read[i] for each name i of the scope that the value reads. */
static void mark_read(const tra_calc *x, bool *read) {
    if (x->kind == TRA_CALC_NAME && x->level < 0) read[x->index] = true;
    for (int i = 0; i < x->nkids; i++) mark_read(x->kids[i], read);
}

/* Adds the statement to the graph, with the relations whose elements it reads. */
static void add_tensor(converter *c, const tra_tensor_decl *d, const tra_node *n) {
    tra_graph *g = c->b->g;
    TRA_ARENA_DOUBLE(c->b->arena, g->tensors, g->ntensors);
    bool *read = tra_news(c->b->arena, bool, c->nfree);
    mark_read(d->value, read);
    for (int i = 0; i < c->nfree; i++)
        if (!read[i]) c->node[i] = NULL;
    g->tensors[g->ntensors++] = (tra_tensor){n, d->value, c->nfree, c->node, c->free};
}

/* Would EinSum compute with integers in a narrower type than i64? Tensor statements compute with i64; EinSum does where
 * it sums. */
static bool stays_narrow(const converter *c, const tra_calc *value, const tra_stmt *einsum) {
    bool narrow = false;
    for (int i = 0; i < c->nfree; i++)
        narrow = narrow || (c->node[i] && tra_tensor_reads(value, i) && c->node[i]->type.dtype != TRA_I64);
    return narrow && !value->type.real && !einsum->agg;
}

/* The node of the statement: that of its EinSum statement, or that of a program. NULL after a diagnostic. */
static tra_node *build_value(converter *c, const tra_stmt *st) {
    const tra_tensor_decl *d = st->tensor;
    const tra_stmt *einsum = einsum_of(c, st);
    if (einsum && stays_narrow(c, d->value, einsum)) c->is_no_einsum = true;
    if (einsum && !c->is_no_einsum) {
        tra_node *n = tra_build_einsum(c->b, einsum);
        return n && n->type.cat && check_extents(c, d, n) ? n : NULL;
    }
    if (!c->is_no_einsum || !check_value(c, d->value))
        return NULL; /* again: einsum_of may have written other types into parts of it */
    return tra_build_program(c->b, &c->whole_scope, st);
}

tra_node *tra_build_tensor(tra_build *b, const tra_stmt *st, tra_storage_choice *out) {
    converter c = {.b = b};
    tra_stmt as = *st;
    make_scope(&c);
    tra_node *n = build_value(&c, st);
    if (n) n = reblock(&c, st->tensor, n);
    if (!n || !read_storage(&c, st->tensor, &as)) return NULL;
    add_tensor(&c, st->tensor, n);
    if (!as.as.name) return n;
    return tra_build_stored(b, &as.as, &n->type, out) ? tra_build_as(b, n, out, st->span) : NULL;
}

tra_node *tra_build_of_text(tra_build *b, const tra_node *x, const char *text, const tra_dims *shape, tra_span span) {
    tra_calc_error err;
    tra_arena *a = b->arena;
    tra_calc_name *name = tra_new(a, tra_calc_name);
    const tra_calc *extent[TRA_MAXDIM];
    converter c = {.b = b, .nfree = 1, .free = tra_new(a, tra_calc_free), .node = tra_new(a, const tra_node *)};
    name->name = "x", c.scope = name, *c.node = x;
    c.free->operand = describe(b, x, name);
    c.whole_scope = (tra_tensor_scope){1, name, c.free, c.node};
    for (int d = 0; d < shape->n; d++) {
        const char *digits = tra_arena_printf(a, "%" PRId64, shape->v[d]);
        extent[d] = tra_calc_parse(digits, (int)strlen(digits), a, &err);
    }
    const tra_tensor_decl d = {
        .value = tra_calc_parse(text, (int)strlen(text), a, &err), .nextents = shape->n, .extents = extent};
    if (!d.value || !tra_calc_check((tra_calc *)d.value, 1, name, a, &err))
        return tra_diag_error(b->d, span, NULL, "%s", err.msg);
    tra_node *n = tra_build_program(b, &c.whole_scope, &(tra_stmt){.tensor = &d, .span = span});
    if (n) add_tensor(&c, &d, n);
    return n;
}
