/* lookup.c - references whose indices are no labels: an element by what it stands for, X[i,"price"], and one by the
 * value of a function of a label, clim[month(t),y,x]. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/table/table.h"
#include "build.h"
#include "lower.h"
#include "table_build.h"

/* ---- one position ------------------------------------------------------------------------------------------------ */

/* The tensor without dimension d, of which it takes one position. */
static tra_node *at_position(tra_build *b, const tra_ast *x, const tra_node *n, int d, int64_t position) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w"};
    tra_dims shape;
    tra_type_shape(&n->type, &shape);
    tra_node part = {
        .in = {b->g->v[n->id]}, .block = n->type.cat->bound, .slice = {.origin = {.n = shape.n}, .extent = shape}};
    part.slice.origin.v[d] = position;
    part.slice.extent.v[d] = 1;
    for (int i = 0; i < shape.n; i++) part.block.v[i] = i == d ? 1 : tra_max64(1, part.block.v[i]);
    tra_node *slice = shape.v[d] == 1 ? part.in[0] : tra_build_made(b, TRA_OP_REPART, x->span, &part);
    if (!slice) return NULL;
    /* of one element the maximum is that element, of its type, whatever it is; a sum of entries stays sparse */
    bool sums = n->type.sparse && tra_dtype_rows[n->type.dtype].sum == n->type.dtype;
    tra_einsum *s = tra_new(b->arena, tra_einsum);
    *s = (tra_einsum){.nlabels = shape.n, .fold = sums ? TRA_S_ADD : TRA_S_MAX, .nrefs = 1};
    s->expr = tra_scalar_argument(b->arena, 0);
    s->ref = tra_new(b->arena, tra_einsum_ref);
    s->ref[0] = (tra_einsum_ref){.node = slice, .n = shape.n};
    for (int i = 0; i < shape.n; i++) {
        s->name[i] = names[i];
        s->extent[i] = i == d ? 1 : shape.v[i];
        s->ref[0].label[i] = i;
        if (i != d) s->out[s->nout++] = i;
    }
    return tra_statement(b, x->span, s);
}

/* The values of an expression for all labels, as labels; NULL after a diagnostic. */
static const tra_dim_labels *values_of(tra_build *b, const tra_ast *x, const tra_dim_labels *l, const char *label) {
    tra_column c = tra_dim_labels_column(l, label);
    tra_schema s = {1, &c};
    tra_table_scope sc = {b, &s, "the label", false};
    tra_table_term term;
    const char *name = "value";
    tra_table_notes notes = {0};
    tra_err e = {0};
    if (!tra_table_build_term(&sc, name, x, &term)) return NULL;
    tra_rowwise *r = tra_rowwise_new(b->arena, &s);
    tra_rowwise_project(r, 1, &name, &term.x);
    tra_vector in = {tra_arena_alloc(b->arena, (size_t)(l->n + 8) * 8), NULL};
    tra_vector out = {tra_arena_alloc(b->arena, (size_t)(l->n + 8) * 8), tra_arena_alloc(b->arena, (size_t)l->n + 64)};
    for (int64_t i = 0; i < l->n; i++) tra_dim_labels_put(l, i, in.values, i);
    memset(out.state, TRA_STATE_VALUE, (size_t)l->n);
    tra_batch from = {&s, l->n, &in}, to = {tra_rowwise_out(r), 0, &out};
    char *room = tra_malloc((size_t)tra_rowwise_scratch(r) + 128);
    tra_status status = tra_rowwise_run(r, &from, 0, &to, room + (64 - (uintptr_t)room % 64), &notes, &e);
    free(room);
    const tra_dim_labels *values = NULL;
    tra_column made = tra_rowwise_out(r)->v[0];
    if (status == TRA_OK) status = tra_dim_labels_of_column(b->arena, &made, &out, l->n, &values, &e);
    if (status != TRA_OK) tra_diag_error(b->d, x->span, NULL, "of the labels of '%s': %s", label, e.msg);
    return status == TRA_OK ? values : NULL;
}

/* Advice for a label that there is none of: "did you mean X?", or NULL. */
static const char *near_label(tra_build *b, const tra_dim_labels *l, const char *text) {
    enum { MOST = 10000 };
    if (l->type != TRA_COL_STRING || l->n > MOST || !text) return NULL;
    const char **all = tra_news(b->arena, const char *, l->n + 1);
    for (int64_t i = 0; i < l->n; i++) all[i] = tra_dim_labels_text(b->arena, l, i);
    const char *near = tra_nearest(text, (int)l->n, all);
    return near ? tra_arena_printf(b->arena, "did you mean \"%s\"?", near) : NULL;
}

/* The position that an index stands for along dimension d, -1 after a diagnostic. */
static int64_t position_of(tra_build *b, const tra_ast *x, const tra_ast *index, const tra_node *n, int d) {
    tra_dims shape;
    int64_t at;
    tra_type_shape(&n->type, &shape);
    if (index->kind == TRA_AST_NUMBER) {
        if (!tra_build_int(b, index, "a position", 0, &at)) return -1;
        if (at < shape.v[d]) return at;
        tra_diag_error(b->d, index->span, "positions are counted from 0",
                       "dimension %d of '%s' has %" PRId64 " positions", d, x->text, shape.v[d]);
        return -1;
    }
    const int64_t none = 0;
    const tra_dim_labels *l = tra_labels_of_dim(n, d), *one = NULL;
    if (l) one = values_of(b, index, tra_dim_labels_of_whole(b->arena, "index", TRA_COL_I64, 1, &none), "index");
    if (one && (at = tra_dim_labels_find(b->arena, l, one)[0]) >= 0) return at;
    if (!l)
        tra_diag_error(b->d, index->span, "a number is a position: X[i,0]; label(X, d, T, column) gives it labels",
                       "dimension %d of '%s' has no labels", d, x->text);
    else if (one)
        tra_diag_error(b->d, index->span, near_label(b, l, index->text),
                       "no position of dimension %d of '%s' stands for '%s'", d, x->text,
                       tra_dim_labels_text(b->arena, one, 0));
    return -1;
}

/* ---- the value of a function of a label ---------------------------------------------------------------------------
 */

/* The one name in the expression; NULL: it has none, or several. */
static const tra_ast *only_name(const tra_ast *x, bool *several) {
    const tra_ast *found = x->kind == TRA_AST_NAME ? x : NULL;
    for (int i = 0; i < x->nkids; i++) {
        const tra_ast *own = only_name(x->kids[i], several);
        if (own && found && strcmp(own->text, found->text) != 0) *several = true;
        if (own) found = own;
    }
    return found;
}

/* The labels of the dimension of another reference that the label stands for. *known: there is such a reference. */
static const tra_dim_labels *labels_elsewhere(const tra_build *b, const tra_ast *x, const char *label, bool *known) {
    int at = x->kind == TRA_AST_INDEX ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    const tra_dim_labels *l = NULL;
    for (int i = 0; i < x->nkids && !l; i++) {
        const tra_ast *kid = x->kids[i];
        if (x->kind != TRA_AST_INDEX) {
            l = labels_elsewhere(b, kid, label, known);
        } else if (kid->kind == TRA_AST_NAME && strcmp(kid->text, label) == 0 && s && s->node && s->ok) {
            *known = true;
            if (i < s->node->type.cat->bound.n) l = tra_labels_of_dim(s->node, i);
        }
    }
    return l;
}

/* How to write X[i-1] (back) or X[i+1] in dimension d: "slice(stack(gen(0, [1, 4]), X, 0), [:9, :])". */
static const char *shift_advice(tra_build *b, const char *name, const tra_node *n, int d, bool back) {
    tra_dims shape;
    tra_str rows = {0}, ranges = {0};
    tra_type_shape(&n->type, &shape);
    for (int i = 0; i < shape.n; i++) {
        tra_str_printf(&rows, "%s%" PRId64, i ? ", " : "", i == d ? 1 : shape.v[i]);
        tra_str_printf(&ranges, i == d ? back ? "%s:%" PRId64 : "%s1:" : "%s:", i ? ", " : "", shape.v[i]);
    }
    const char *text = tra_arena_printf(
        b->arena,
        back ? "shift it before, with 0 at the border: slice(stack(gen(0, [%s]), %s, %d), [%s])"
             : "shift it before, with 0 at the border: slice(stack(%2$s, gen(0, [%1$s]), %3$d), [%4$s])",
        tra_str_get(&rows), name, d, tra_str_get(&ranges));
    tra_str_free(&rows);
    tra_str_free(&ranges);
    return text;
}

/* The tensor whose dimension d has for each position of the label the position that stands for the value of the
 * function. *name: the label. */
static const tra_node *at_values(tra_build *b, const tra_ast *x, int d, const tra_node *n, const tra_ast *right_side,
                                 const tra_ast **name) {
    bool several = false, known = false;
    const tra_ast *index = x->kids[d], *label = only_name(index, &several);
    if (!label || several || index->kind != TRA_AST_CALL)
        return tra_diag_error(b->d, index->span,
                              index->kind == TRA_AST_BINARY && label
                                  ? shift_advice(b, x->text, n, d, index->text[0] == '-')
                                  : "write for instance clim[month(t),y,x], where X[t,y,x] stands beside it",
                              "an index is a label, a number, a string, or a function of one label");
    const tra_dim_labels *of = labels_elsewhere(b, right_side, label->text, &known), *l = tra_labels_of_dim(n, d);
    if (!of || !l)
        return tra_diag_error(b->d, index->span,
                              "label(X, d, T, column) says what the positions of a dimension stand for",
                              !of && !known ? "no reference of the statement has the label '%s' by itself"
                              : !of         ? "'%s' stands for positions without labels, so it has no such value"
                                            : "the dimension that '%s' is looked up in has no labels",
                              label->text);
    const tra_dim_labels *values = values_of(b, index, of, label->text);
    if (!values) return NULL;
    tra_take *t = tra_new(b->arena, tra_take);
    t->dim = d;
    t->from = tra_dim_labels_find(b->arena, l, values);
    for (int64_t i = 0; i < values->n; i++) {
        if (t->from[i] >= 0) continue;
        return tra_diag_error(
            b->d, index->span, NULL,
            "no position of '%s' stands for '%s', which '%s' gives: position %" PRId64 " of label '%s'", x->text,
            tra_dim_labels_text(b->arena, values, i), tra_dim_labels_text(b->arena, of, i), i, label->text);
    }
    tra_table_builder w = {.b = b, .call = index, .in = b->g->v[n->id], .op.op = TRA_TABLE_ALIGN};
    tra_node *made = tra_table_taken(&w, t, values->n);
    if (made) tra_set_dim(b, made, d, of, NULL);
    *name = label;
    return made;
}

const tra_node *tra_looked_up(tra_build *b, const tra_ast *x, const tra_ast *right_side, const tra_node *n,
                              const tra_ast **label, int *nlabels) {
    bool plain[TRA_MAXDIM];
    *nlabels = 0;
    for (int d = 0; d < x->nkids; d++) {
        plain[d] = x->kids[d]->kind == TRA_AST_NAME;
        label[d] = x->kids[d];
        const tra_ast_kind k = x->kids[d]->kind;
        if (!plain[d] && k != TRA_AST_NUMBER && k != TRA_AST_STRING && k != TRA_AST_LITERAL &&
            !(n = at_values(b, x, d, n, right_side, &label[d])))
            return NULL;
    }
    for (int d = x->nkids - 1; d >= 0; d--) {
        const tra_ast *index = x->kids[d];
        bool fixed = index->kind == TRA_AST_NUMBER || index->kind == TRA_AST_STRING || index->kind == TRA_AST_LITERAL;
        int64_t at = fixed ? position_of(b, x, index, n, d) : 0;
        if (at < 0 || (fixed && !(n = at_position(b, x, n, d, at)))) return NULL;
        if (fixed) label[d] = NULL;
    }
    for (int d = 0; d < x->nkids; d++)
        if (label[d]) label[(*nlabels)++] = label[d];
    return n;
}
