/* einsum.c - EinSum statements: their labels and references, and what is wrong with them. einsum_nodes.c makes
 * nodes of them. */
#include "build.h"
#include "lower.h"
#include "table_build.h"

#include <math.h>
#include <string.h>

/* ---- statements ------------------------------------------------------------------------------------------------ */

/* A statement, or an aggregation inside of one, of which the right side is being read. */
typedef struct reading {
    tra_build *b;
    tra_einsum *s;
    const tra_ast *right_side;        /* of the whole statement */
    tra_span bound_at[TRA_MAXLABELS]; /* where each label stands first */
    int cap;                          /* of s->ref */
    bool ok, full;                    /* full: it was said that there are too many labels */
} reading;

static int find_label(const tra_einsum *s, const char *name) {
    for (int l = 0; l < s->nlabels; l++)
        if (strcmp(s->name[l], name) == 0) return l;
    return -1;
}

/* The number of the label x of a dimension of the given extent; -1 after a diagnostic. */
static int bind_label(reading *r, const tra_ast *x, int64_t extent) {
    tra_einsum *s = r->s;
    int l = find_label(s, x->text);
    if (l >= 0 && s->extent[l] != extent) {
        tra_diag_error(r->b->d, x->span, "a label binds one extent everywhere",
                       "label '%s' has the extent %" PRId64 " here, but %" PRId64 " before", x->text, extent,
                       s->extent[l]);
        tra_diag_also(r->b->d, r->bound_at[l], "bound here");
        return -1;
    }
    if (l >= 0) return l;
    if (s->nlabels == TRA_MAXLABELS) {
        if (!r->full)
            tra_diag_error(r->b->d, x->span, "make a part of it a statement of its own: B[i,k] = sum ...",
                           "a statement has at most %d labels", TRA_MAXLABELS);
        r->full = true;
        return -1;
    }
    r->bound_at[s->nlabels] = x->span;
    s->name[s->nlabels] = x->text;
    s->extent[s->nlabels] = extent;
    return s->nlabels++;
}

/* The number of the reference as an argument of the expression: that of an equal one, if there is one. */
static int add_ref(reading *r, const tra_einsum_ref *ref) {
    tra_einsum *s = r->s;
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node == ref->node && s->ref[i].n == ref->n &&
            memcmp(s->ref[i].label, ref->label, (size_t)ref->n * sizeof ref->label[0]) == 0)
            return i;
    TRA_ARENA_ROOM(r->b->arena, s->ref, s->nrefs, r->cap);
    s->ref[s->nrefs] = *ref;
    return s->nrefs++;
}

/* Are all relations that x refers to known? */
static bool all_known(const tra_build *b, const tra_ast *x) {
    int at = x->kind == TRA_AST_INDEX ? tra_names_find(&b->symbols, x->text) : -1;
    if (x->kind == TRA_AST_INDEX) return at >= 0 && ((const tra_symbol *)b->symbols.value[at])->node;
    for (int i = 0; i < x->nkids; i++)
        if (!all_known(b, x->kids[i])) return false;
    return true;
}

bool tra_find_extent(const tra_build *b, const tra_ast *x, const char *label, int64_t *extent, int64_t *block) {
    int at = x->kind == TRA_AST_INDEX ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *symbol = at >= 0 ? b->symbols.value[at] : NULL;
    tra_dims shape;
    if (symbol && symbol->node && symbol->ok && tra_type_is_blocked(&symbol->node->type, NULL)) {
        tra_type_shape(&symbol->node->type, &shape);
        for (int d = 0; d < x->nkids && d < shape.n; d++) {
            if (x->kids[d]->kind != TRA_AST_NAME || strcmp(x->kids[d]->text, label) != 0) continue;
            *extent = shape.v[d];
            *block = tra_max64(1, symbol->node->type.cat->bound.v[d]);
            return true;
        }
    }
    for (int i = 0; i < x->nkids && x->kind != TRA_AST_INDEX; i++)
        if (tra_find_extent(b, x->kids[i], label, extent, block)) return true;
    return false;
}

/* Reads index(i): the number of its argument, or -1 after a diagnostic. */
static int read_index(reading *r, const tra_ast *x) {
    tra_einsum_ref ref = {.n = 1};
    int64_t extent = 0, block = 1;
    r->ok = false;
    if (x->nkids != 1 || x->kids[0]->kind != TRA_AST_NAME) {
        tra_diag_error(r->b->d, x->span, "write index(i)", "index takes one label");
        return -1;
    }
    if (!tra_find_extent(r->b, r->right_side, x->kids[0]->text, &extent, &block)) {
        if (!all_known(r->b, r->right_side)) return -1; /* the unknown one has a diagnostic */
        tra_diag_error(r->b->d, x->kids[0]->span,
                       tra_arena_printf(r->b->arena,
                                        "index(%s) runs as far as a reference: where none is needed, add 0 * X[%s]",
                                        x->kids[0]->text, x->kids[0]->text),
                       "no reference of the statement has the label '%s'", x->kids[0]->text);
        return -1;
    }
    bool is_new = find_label(r->s, x->kids[0]->text) < 0;
    ref.label[0] = bind_label(r, x->kids[0], extent);
    if (ref.label[0] < 0) return -1;
    if (is_new) r->s->block[ref.label[0]] = block;
    r->ok = true;
    return add_ref(r, &ref);
}

static int read_aggregate(reading *r, const tra_ast *x);

/* y[n,0] for y[n], where y is a table of one column. */
static const tra_ast *of_one_column(tra_build *b, const tra_ast *x) {
    tra_ast *y = tra_new(b->arena, tra_ast), *zero = tra_new(b->arena, tra_ast);
    *y = *x;
    *zero = (tra_ast){.kind = TRA_AST_NUMBER, .span = x->span, .name_span = x->span, .text = "0", .integer = true};
    y->nkids = 2;
    y->kids = tra_news(b->arena, tra_ast *, 2);
    y->kids[0] = x->kids[0];
    y->kids[1] = zero;
    return y;
}

/* A reference X[i,j]: the number of its argument. Its labels are bound even if something else is wrong with it, so that
 * they get no diagnostics of their own. */
static int read_ref(void *ctx, const tra_ast *x) {
    reading *r = ctx;
    tra_build *b = r->b;
    if (x->kind == TRA_AST_CALL) return read_index(r, x);
    if (x->kind == TRA_AST_AGGREGATE) return read_aggregate(r, x);
    r->ok = false;
    bool named = x->text != tra_of_node;
    tra_symbol *symbol = named ? tra_build_relation_symbol(b, x->text, x->name_span) : NULL;
    if (named && !symbol) return -1;
    const tra_node *n = named ? tra_table_as_matrix(b, x, symbol->node) : b->g->v[(int)x->value];
    const tra_column *other = n ? tra_table_other_column(n) : NULL;
    const char *why;
    tra_dims shape;
    if (!n) return -1;
    if (other) {
        tra_diag_error(b->d, x->span, "matrix(T, [a, b]) makes a tensor of columns of a table T",
                       "'%s' is a table, which has no labels: its column '%s' is no number but %s", x->text,
                       other->name, tra_coltype_name(other->type));
        return -1;
    }
    if (!tra_type_is_blocked(&n->type, &why)) {
        tra_diag_error(b->d, x->span, "tra check prints the type of each relation",
                       "EinSum needs tensors in blocks; of '%s' %s", x->text, why);
        return -1;
    }
    tra_type_shape(&n->type, &shape);
    if (named && symbol->node->type.columns && shape.v[1] == 1 && x->nkids == 1) x = of_one_column(b, x);
    if (shape.n != x->nkids) {
        tra_diag_error(b->d, x->span, NULL, "%d label%s for '%s', a tensor of %d dimension%s", x->nkids,
                       x->nkids == 1 ? "" : "s", x->text, shape.n, shape.n == 1 ? "" : "s");
        return -1;
    }
    const tra_ast *label[TRA_MAXDIM];
    tra_einsum_ref ref = {.n = 0};
    ref.node = n = tra_looked_up(b, x, r->right_side, n, label, &ref.n);
    if (!n) return -1;
    tra_type_shape(&n->type, &shape);
    bool ok = true;
    for (int d = 0; d < ref.n; d++) {
        ref.label[d] = bind_label(r, label[d], shape.v[d]);
        ok = ok && ref.label[d] >= 0;
    }
    if (!ok) return -1;
    r->ok = true;
    return add_ref(r, &ref);
}

/* The expression with every part computed that has no reference. */
static const tra_scalar *fold_numbers(tra_arena *a, const tra_scalar *e) {
    if (e->op == TRA_S_ARG || e->op == TRA_S_CONST) return e;
    tra_scalar *s = tra_new(a, tra_scalar);
    *s = (tra_scalar){.op = e->op, .a = fold_numbers(a, e->a), .b = e->b ? fold_numbers(a, e->b) : NULL};
    s->c = e->c ? fold_numbers(a, e->c) : NULL;
    if (s->a->op == TRA_S_CONST && (!s->b || s->b->op == TRA_S_CONST) && (!s->c || s->c->op == TRA_S_CONST))
        tra_scalar_fold(&(tra_scalar){.op = s->op, .a = s->a, .b = s->b, .c = s->c}, s);
    return s;
}

/* Reads the labels of the left side. known: the right side could be read, so that it has bound all its labels. */
static bool check_left(reading *r, const tra_stmt *st, bool known) {
    tra_einsum *s = r->s;
    bool ok = true;
    if (st->nlabels > TRA_MAXDIM / 2)
        return tra_diag_error(r->b->d, st->labels[TRA_MAXDIM / 2]->span, NULL,
                              "a result of %d dimensions: with a key for each at most %d", st->nlabels, TRA_MAXDIM / 2);
    for (int d = 0; d < st->nlabels; d++) {
        const tra_ast *x = st->labels[d];
        for (int j = 0; j < d; j++) {
            if (strcmp(x->text, st->labels[j]->text) != 0) continue;
            tra_diag_error(r->b->d, x->span, "a diagonal can only be read, not written",
                           "label '%s' stands twice on the left", x->text);
            ok = false;
        }
        s->out[d] = find_label(s, x->text);
        if (s->out[d] >= 0 || !known) continue;
        bool of_macro = find_label(s, tra_arena_printf(r->b->arena, "%s'", x->text)) >= 0;
        tra_diag_error(r->b->d, x->span,
                       of_macro ? "labels of a macro are its own; make this one a parameter: def f(X, i) = X[i] ..."
                                : "each label of the result needs a dimension on the right; gen(0, [10]) is ten zeros",
                       "label '%s' is nowhere on the right", x->text);
        ok = false;
    }
    s->nout = st->nlabels;
    return ok;
}

static bool on_left(const tra_einsum *s, int label) {
    for (int d = 0; d < s->nout; d++)
        if (s->out[d] == label) return true;
    return false;
}

/* Does a loop around count its turns by that name? */
static bool is_counter(const tra_build *b, const char *name) {
    int at = tra_names_find(&b->symbols, name);
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    return s && s->param && s->node;
}

/* Checks that the labels which are not on the left are aggregated, and can be. */
static bool check_aggregation(reading *r, const tra_stmt *st) {
    tra_einsum *s = r->s;
    int aggregated = 0;
    for (int l = 0; l < s->nlabels; l++) {
        if (on_left(s, l)) continue;
        aggregated++;
        if (!st->agg) {
            const char *counted = "slice(X, [%s:%s+1]) is the part of X that the counter %s stands for: it is no label";
            const char *advice = "write sum, mean, max, min, prod, argmax or argmin after '=': %s[...] = sum ...";
            return tra_diag_error(r->b->d, r->bound_at[l],
                                  is_counter(r->b, s->name[l])
                                      ? tra_arena_printf(r->b->arena, counted, s->name[l], s->name[l], s->name[l])
                                      : tra_arena_printf(r->b->arena, advice, st->name),
                                  "label '%.*s'%s is not on the left, and nothing says how it is aggregated",
                                  (int)strcspn(s->name[l], "'"), s->name[l],
                                  strchr(s->name[l], '\'') ? " of a macro" : "");
        }
        if (s->extent[l] == 0)
            return tra_diag_error(r->b->d, r->bound_at[l], NULL, "label '%s' is aggregated, but has the extent 0",
                                  s->name[l]);
    }
    if (st->agg && !aggregated && r->right_side == st->value)
        tra_diag_warn(r->b->d, st->agg_span, NULL, "%s aggregates nothing: all labels are on the left", st->agg);
    return true;
}

/* Does the statement refer to any relation, and not only to positions? */
static bool has_reference(const tra_einsum *s) {
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node) return true;
    return false;
}

/* Reads an aggregation inside of an expression, as sum[k](X[i,k]), which becomes a statement of its own over labels of
 * this one and k. Returns the number of its result as an argument, or -1 after a diagnostic. */
static int read_aggregate(reading *r, const tra_ast *x) {
    tra_build *b = r->b;
    reading q = {.b = b, .s = tra_new(b->arena, tra_einsum), .right_side = r->right_side, .ok = true};
    tra_einsum *s = q.s;
    r->ok = false;
    const tra_scalar *e = tra_build_indexed(b, x->kids[x->nkids - 1], read_ref, &q);
    if (!e) return -1;
    uint64_t aggregated = 0; /* the set of labels */
    for (int i = 0; i < x->nkids - 1; i++) {
        int l = find_label(s, x->kids[i]->text);
        if (l < 0 || s->extent[l] == 0) {
            tra_diag_error(b->d, x->kids[i]->span, NULL,
                           l < 0 ? "label '%s' is nowhere in what is aggregated"
                                 : "label '%s' is aggregated, but has the extent 0",
                           x->kids[i]->text);
            return -1;
        }
        aggregated |= (uint64_t)1 << l;
    }
    if (!aggregated || !has_reference(s) || s->nlabels - __builtin_popcountll(aggregated) > TRA_MAXDIM / 2) {
        tra_diag_error(b->d, x->span, "write for instance sum[k](X[i,k])",
                       "an aggregation in an expression names labels of references in it, and keeps at most %d",
                       TRA_MAXDIM / 2);
        return -1;
    }
    for (int l = 0; l < s->nlabels; l++)
        if (!(aggregated >> l & 1)) s->out[s->nout++] = l;
    s->expr = fold_numbers(b->arena, e);
    s->shared = x->integer, s->q = x->value;
    tra_einsum_ref ref = {.n = s->nout, .node = tra_aggregation(b, x->span, s, x->text)};
    if (!ref.node) return -1;
    for (int d = 0; d < s->nout; d++) {
        const tra_ast label = {.kind = TRA_AST_NAME, .span = q.bound_at[s->out[d]], .text = s->name[s->out[d]]};
        ref.label[d] = bind_label(r, &label, s->extent[s->out[d]]);
        if (ref.label[d] < 0) return -1;
    }
    r->ok = true;
    return add_ref(r, &ref);
}

/* Warns of `sum (X[i,j]) + 1`, where the sum is not that of the parenthesis alone but of the whole right side. */
static void warn_of_parenthesis(const reading *r, const tra_stmt *st) {
    if (st->agg_parenthesis.len == 0) return;
    const char *text = r->b->g->src->text;
    tra_span part = st->agg_parenthesis;
    int from = part.at + part.len, end = st->value->span.at + st->value->span.len;
    tra_str labels = {0};
    for (int l = 0; l < r->s->nlabels; l++)
        if (!on_left(r->s, l)) tra_str_printf(&labels, "%s%s", labels.n ? "," : "", r->s->name[l]);
    tra_diag_warn(r->b->d, part,
                  tra_arena_printf(r->b->arena, "for the %s of the parenthesis alone write %s[%s]%.*s%.*s", st->agg,
                                   st->agg, tra_str_get(&labels), part.len, text + part.at, end > from ? end - from : 0,
                                   text + from),
                  "%s covers all that follows '=', also what comes after this parenthesis", st->agg);
    tra_str_free(&labels);
}

tra_node *tra_build_einsum(tra_build *b, const tra_stmt *st) {
    const tra_ast *value = tra_split_factors(b, st);
    reading r = {.b = b, .s = tra_new(b->arena, tra_einsum), .right_side = value, .ok = true};
    tra_einsum *s = r.s;
    const tra_scalar *e = tra_build_indexed(b, value, read_ref, &r);
    bool left = check_left(&r, st, e != NULL);
    if (!e || !left || !check_aggregation(&r, st)) return NULL;
    if (!has_reference(s))
        return tra_diag_error(b->d, st->value->span, "a number alone is a param",
                              "an EinSum statement needs a reference such as X[i,j]");
    if (!tra_check_terms(b, st)) return NULL;
    warn_of_parenthesis(&r, st);
    s->expr = fold_numbers(b->arena, e);
    return tra_aggregation(b, st->span, s, st->agg ? st->agg : "sum");
}
