/* whole.c - functions and arithmetic of whole tensors, without labels: the EinSum statements that they stand for. */
#include "build.h"

#include "lower.h"
#include "table_build.h"

#include <string.h>

/* A statement whose labels and result are those of the dimensions of x, without an expression and with nrefs references
 * to be set. */
static tra_einsum *over_dimensions(tra_build *b, const tra_node *x, int nrefs) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w"};
    tra_einsum *s = tra_new(b->arena, tra_einsum);
    tra_dims shape;
    tra_type_shape(&x->type, &shape);
    s->nlabels = s->nout = shape.n;
    s->fold = TRA_S_ADD;
    for (int d = 0; d < shape.n; d++) {
        s->name[d] = names[d];
        s->extent[d] = shape.v[d];
        s->out[d] = d;
    }
    s->nrefs = nrefs;
    s->ref = tra_news(b->arena, tra_einsum_ref, nrefs);
    return s;
}

/* Makes reference i one to x, over the first labels. */
static void set_ref(tra_einsum *s, int i, const tra_node *x) {
    s->ref[i] = (tra_einsum_ref){.node = x, .n = x->type.cat->bound.n};
    for (int d = 0; d < s->ref[i].n; d++) s->ref[i].label[d] = d;
}

static bool check_blocked(tra_build *b, const tra_node *x, const char *name, tra_span span) {
    const char *why;
    if (!tra_table_is_numbers(b, x, name, span)) return false;
    if (tra_type_is_blocked(&x->type, &why)) return true;
    return tra_diag_error(b->d, span,
                          tra_arena_printf(b->arena, "transform(X, %s) works on each array by itself", name),
                          "%s needs a tensor in blocks; of this relation %s", name, why);
}

static tra_node *build_transpose(tra_build *b, tra_node *x, tra_span span) {
    if (!check_blocked(b, x, "transpose", span)) return NULL;
    tra_einsum *s = over_dimensions(b, x, 1);
    set_ref(s, 0, x);
    for (int d = 0; d < s->nout; d++) s->out[d] = s->nout - 1 - d;
    s->expr = tra_scalar_argument(b->arena, 0);
    return tra_statement(b, span, s);
}

/* The statement that folds x over its last dimension. */
static tra_node *fold_last(tra_build *b, const tra_node *x, tra_scalar_op fold, tra_span span) {
    tra_einsum *s = over_dimensions(b, x, 1);
    set_ref(s, 0, x);
    s->nout--;
    s->fold = fold;
    s->expr = tra_scalar_argument(b->arena, 0);
    return tra_statement(b, span, s);
}

/* The element-wise statement e of x (argument 0) and `of_rows` (argument 1), which lacks the last dimension of x. */
static tra_node *with_rows(tra_build *b, const tra_node *x, const tra_node *of_rows, const tra_scalar *e,
                           tra_span span) {
    tra_einsum *s = over_dimensions(b, x, 2);
    set_ref(s, 0, x);
    set_ref(s, 1, of_rows);
    s->expr = e;
    return tra_statement(b, span, s);
}

/* M[i] = max X[i,j]; E[i,j] = exp(X[i,j] - M[i]); S[i] = sum E[i,j]; E[i,j] / S[i]. Where each array has whole rows a
 * kernel does all that. */
static tra_node *build_softmax(tra_build *b, tra_node *x, tra_span span) {
    if (!check_blocked(b, x, "softmax", span)) return NULL;
    tra_arena *a = b->arena;
    const tra_catalog *c = x->type.cat;
    if (c->bound.n == 0)
        return tra_diag_error(b->d, span, NULL, "softmax works along the last dimension, and this tensor has none");
    if ((c->grid || c->n == 0) && c->frontier.v[c->frontier.n - 1] <= 1) {
        tra_lowering w = {.b = b, .span = span};
        const tra_kernel *k = tra_build_kernel_named(b, span, "softmax", TRA_USE_MAP, 0, 0);
        return tra_lower_node(&w, TRA_OP_TRANSFORM, &(tra_node){.in = {x}, .kernel = k});
    }
    tra_node *maximum = fold_last(b, x, TRA_S_MAX, span);
    if (!maximum) return NULL;
    const tra_scalar *element = tra_scalar_argument(a, 0), *greatest = tra_scalar_argument(a, 1);
    if (!tra_dtype_is_float(
            x->type.dtype)) { /* as the kernel does: the difference of integers may not fit their type */
        const tra_scalar *one = tra_scalar_number(a, 1);
        element = tra_scalar_of(a, TRA_S_DIV, element, one), greatest = tra_scalar_of(a, TRA_S_DIV, greatest, one);
    }
    const tra_scalar *difference = tra_scalar_of(a, TRA_S_SUB, element, greatest);
    tra_node *power = with_rows(b, x, maximum, tra_scalar_of(a, TRA_S_EXP, difference, NULL), span);
    tra_node *sum = power ? fold_last(b, power, TRA_S_ADD, span) : NULL;
    const tra_scalar *quotient = tra_scalar_of(a, TRA_S_DIV, tra_scalar_argument(a, 0), tra_scalar_argument(a, 1));
    return sum ? with_rows(b, power, sum, quotient, span) : NULL;
}

/* The matrix as far as both dimensions run. */
static tra_node *square_part(tra_build *b, tra_node *x, tra_span span) {
    tra_dims shape;
    tra_type_shape(&x->type, &shape);
    int64_t n = tra_min64(shape.v[0], shape.v[1]);
    if (shape.v[0] == shape.v[1]) return x;
    tra_node fields = {.in = {x}, .block = x->type.cat->bound, .slice = {.origin = {.n = 2}, .extent = {2, {n, n}}}};
    for (int d = 0; d < 2; d++) fields.block.v[d] = tra_max64(1, tra_min64(fields.block.v[d], n));
    return tra_build_made(b, TRA_OP_REPART, span, &fields);
}

/* Refuses what has another number of dimensions than 1 (where vectors are taken) and 2, and rows that only the run
 * counts. */
static bool check_diagonal(tra_build *b, const tra_node *x, const char *name, bool vectors, tra_span span) {
    int n = x->type.cat->bound.n;
    if (!check_blocked(b, x, name, span)) return false;
    if (n != 2 && !(vectors && n == 1))
        return tra_diag_error(b->d, span, NULL, "%s takes a matrix%s, not a tensor of %d dimensions", name,
                              vectors ? " or a vector" : "", n);
    if (!x->type.bounded) return true;
    return tra_diag_error(b->d, span, "a matrix product needs no diagonal: scale rows by D[i,j] = v[i] * X[i,j]",
                          "%s takes a known number of rows, which here only the run counts", name);
}

/* The statement that has the diagonal of a matrix, or sums it. */
static tra_node *of_diagonal(tra_build *b, tra_node *x, bool sum, tra_span span) {
    if (!(x = square_part(b, x, span))) return NULL;
    tra_einsum *s = over_dimensions(b, x, 1);
    s->ref[0] = (tra_einsum_ref){.node = x, .n = 2};
    s->nlabels = 1;
    s->nout = !sum;
    s->expr = tra_scalar_argument(b->arena, 0);
    return tra_statement(b, span, s);
}

/* The matrix with the entries of a sparse vector on its diagonal. */
static tra_node *entries_on_diagonal(tra_build *b, tra_node *v, tra_span span) {
    tra_dims shape;
    tra_type_shape(&v->type, &shape);
    int64_t block = v->type.cat->bound.v[0];
    tra_dims square = {2, {shape.v[0], shape.v[0]}}, blocks = {2, {block, block}};
    tra_node *d = tra_build_of_text(b, v, "sum(<i, a> in x) {@unique (i, i + 0) -> a}", &square, span);
    if (d && d->type.dtype != v->type.dtype) { /* the calculus has no narrow integers */
        tra_einsum *s = over_dimensions(b, d, 1);
        set_ref(s, 0, d);
        s->nout = 2;
        s->expr = tra_scalar_of(b->arena, (tra_scalar_op)tra_scalar_find(tra_dtype_name(v->type.dtype), 1),
                                tra_scalar_argument(b->arena, 0), NULL);
        d = tra_statement(b, span, s);
    }
    if (!d || tra_dims_eq(&d->type.cat->bound, &blocks)) return d;
    return tra_build_made(b, TRA_OP_REPART, span, &(tra_node){.in = {d}, .block = blocks});
}

/* D[i,j] = if(index(i) == index(j), v[i], 0) */
static tra_node *on_diagonal(tra_build *b, tra_node *v, tra_span span) {
    tra_arena *a = b->arena;
    tra_einsum *s = over_dimensions(b, v, 3);
    s->name[1] = "j";
    s->extent[1] = s->extent[0];
    s->block[1] = tra_max64(1, v->type.cat->bound.v[0]);
    s->nlabels = s->nout = 2;
    s->out[1] = 1;
    set_ref(s, 0, v);
    for (int l = 0; l < 2; l++) s->ref[1 + l] = (tra_einsum_ref){.n = 1, .label = {l}};
    const tra_scalar *same = tra_scalar_of(a, TRA_S_EQ, tra_scalar_argument(a, 1), tra_scalar_argument(a, 2));
    s->expr = tra_scalar_of3(a, TRA_S_IF, same, tra_scalar_argument(a, 0), tra_scalar_number(a, 0));
    return tra_statement(b, span, s);
}

static tra_node *build_diag(tra_build *b, tra_node *x, tra_span span) {
    if (!check_diagonal(b, x, "diag", true, span)) return NULL;
    if (x->type.cat->bound.n == 2) return of_diagonal(b, x, false, span);
    tra_node *d = x->type.sparse ? entries_on_diagonal(b, x, span) : on_diagonal(b, x, span);
    for (int i = 0; d && i < 2; i++) tra_set_dim(b, d, i, tra_labels_of_dim(x, 0), tra_order_of_dim(x, 0));
    return d;
}

static tra_node *build_trace(tra_build *b, tra_node *x, tra_span span) {
    return check_diagonal(b, x, "trace", false, span) ? of_diagonal(b, x, true, span) : NULL;
}

/* T[] = sum X[i,j]^2; sqrt(T[]). Squares are floats, which do not overflow as integers do. */
static tra_node *build_norm(tra_build *b, tra_node *x, tra_span span) {
    tra_arena *a = b->arena;
    if (!check_blocked(b, x, "norm", span)) return NULL;
    tra_einsum *s = over_dimensions(b, x, 1);
    const tra_scalar *element = tra_scalar_argument(a, 0);
    if (!tra_dtype_is_float(x->type.dtype)) element = tra_scalar_of(a, TRA_S_DIV, element, tra_scalar_number(a, 1));
    set_ref(s, 0, x);
    s->nout = 0;
    s->expr = tra_scalar_of(a, TRA_S_MUL, element, element);
    tra_node *squares = tra_statement(b, span, s);
    if (!squares) return NULL;
    tra_einsum *root = over_dimensions(b, squares, 1);
    set_ref(root, 0, squares);
    root->expr = tra_scalar_of(a, TRA_S_SQRT, tra_scalar_argument(a, 0), NULL);
    return tra_statement(b, span, root);
}

static const struct function {
    const char *name;
    tra_node *(*build)(tra_build *b, tra_node *x, tra_span span);
} functions[] = {{"softmax", build_softmax},
                 {"transpose", build_transpose},
                 {"diag", build_diag},
                 {"trace", build_trace},
                 {"norm", build_norm}};

enum { NFUNCTIONS = sizeof functions / sizeof functions[0] };

const char *tra_whole_name(int i) { return i < NFUNCTIONS ? functions[i].name : NULL; }

int tra_whole_find(const char *name) { return TRA_FIND_ROW(functions, name); }

tra_node *tra_build_whole_function(tra_build *b, int i, const tra_ast *x, tra_build_operand *operand) {
    const char *name = functions[i].name;
    if (x->nkids != 1)
        return tra_diag_error(b->d, x->span, tra_arena_printf(b->arena, "write %s(X)", name),
                              "%s has 1 argument, not %d", name, x->nkids);
    tra_node *in = operand(b, x->kids[0]);
    return in ? functions[i].build(b, in, x->span) : NULL;
}

bool tra_is_whole_aggregation(const tra_ast *x) {
    return x->kind == TRA_AST_CALL && x->nkids == 1 && tra_is_aggregation(x->text);
}

tra_node *tra_build_whole_aggregation(tra_build *b, const tra_ast *x, tra_build_operand *operand) {
    tra_node *in = operand(b, x->kids[0]);
    if (!in) return NULL;
    if (in->type.columns)
        return tra_diag_error(
            b->d, x->span,
            tra_arena_printf(b->arena,
                             "write group(T, [key], m = %s(x)), of all rows with [], or rows(T) for their number",
                             x->text),
            "%s(X) aggregates a tensor; of a table it is a column that is aggregated", x->text);
    if (!check_blocked(b, in, x->text, x->span)) return NULL;
    tra_einsum *s = over_dimensions(b, in, 1);
    set_ref(s, 0, in);
    s->nout = 0;
    s->expr = tra_scalar_argument(b->arena, 0);
    for (int d = 0; d < s->nlabels; d++) {
        if (s->extent[d] > 0) continue;
        return tra_diag_error(b->d, x->span, NULL, "%s aggregates dimension %d, which has the extent 0", x->text, d);
    }
    return tra_aggregation(b, x->span, s, x->text);
}

/* ---- arithmetic of whole tensors --------------------------------------------------------------------------------- */

/* An expression of elements, in which each relation has become a reference REFERENCE to a node. */
typedef struct whole {
    tra_build *b;
    tra_build_operand *operand;
    int n, cap;
    const tra_ast **at; /* where each relation stands */
    tra_node **node;
    tra_einsum *s;
    bool ok;
} whole;

static const char reference[] = "a whole tensor";

static bool is_scalar_call(const tra_ast *x) {
    if (x->kind != TRA_AST_CALL || tra_is_whole_aggregation(x)) return false;
    for (int arity = 1; arity <= 3; arity++)
        if (tra_scalar_find(x->text, arity) >= 0) return true;
    return strcmp(x->text, "clip") == 0;
}

bool tra_is_elementwise(const tra_ast *x) {
    return x->kind == TRA_AST_BINARY || x->kind == TRA_AST_UNARY || is_scalar_call(x);
}

static bool is_relation(const tra_build *b, const tra_ast *x) {
    if (x->kind == TRA_AST_CALL) return strcmp(x->text, "extent") != 0 && strcmp(x->text, "index") != 0;
    int at = x->kind == TRA_AST_NAME ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    if (at < 0 && x->kind == TRA_AST_NAME && tra_names_find(&b->gone, x->text) >= 0)
        return true;                    /* the operand tells */
    return s && (!s->param || s->node); /* the counter of a loop is of rank 0 */
}

/* The expression with a reference in place of each relation. */
static tra_ast *with_references(whole *w, const tra_ast *x) {
    tra_ast *y = tra_new(w->b->arena, tra_ast);
    *y = *x;
    if (!tra_is_elementwise(x) && is_relation(w->b, x)) {
        tra_node *n = w->operand(w->b, x);
        w->ok = w->ok && n;
        int cap = w->cap;
        TRA_ARENA_ROOM(w->b->arena, w->node, w->n, cap);
        TRA_ARENA_ROOM(w->b->arena, w->at, w->n, w->cap);
        w->at[w->n] = x;
        w->node[w->n] = n;
        y->kind = TRA_AST_INDEX;
        y->text = reference;
        y->value = w->n++;
        y->nkids = 0;
    } else if (tra_is_elementwise(x)) {
        y->kids = tra_news(w->b->arena, tra_ast *, x->nkids);
        for (int i = 0; i < x->nkids; i++) y->kids[i] = with_references(w, x->kids[i]);
    }
    return y;
}

/* The number of a reference as an argument of the statement; -1 after a diagnostic for any other one. */
static int take_reference(void *ctx, const tra_ast *x) {
    whole *w = ctx;
    if (x->kind == TRA_AST_INDEX && x->text == reference) return (int)x->value;
    if (x->kind == TRA_AST_INDEX && x->text == tra_of_node) { /* of rank 0 */
        tra_einsum_ref *all = tra_news(w->b->arena, tra_einsum_ref, w->s->nrefs + 1);
        memcpy(all, w->s->ref, (size_t)w->s->nrefs * sizeof *all);
        all[w->s->nrefs] = (tra_einsum_ref){.node = w->b->g->v[(int)x->value]};
        w->s->ref = all;
        return w->s->nrefs++;
    }
    tra_diag_error(w->b->d, x->span, "label the dimensions of all: C[i,j] = A[i,j] + sum[k](B[i,k])",
                   "indices stand only in EinSum statements, whose left side has them too");
    return -1;
}

/* Finds a relation that has dimensions, whose shape all of those have; NULL after a diagnostic. */
static const tra_node *common_shape(const whole *w) {
    const tra_node *first = NULL;
    const tra_ast *at = NULL;
    for (int i = 0; i < w->n; i++) {
        const tra_node *x = w->node[i];
        char shape[TRA_DIMTEXT], other[TRA_DIMTEXT];
        tra_dims own, all;
        if (!check_blocked(w->b, x, "arithmetic without labels", w->at[i]->span)) return NULL;
        tra_type_shape(&x->type, &own);
        if (!first || (own.n > 0 && first->type.cat->bound.n == 0)) {
            first = x;
            at = w->at[i];
            continue;
        }
        tra_type_shape(&first->type, &all);
        if (own.n == 0 || tra_dims_eq(&own, &all)) continue;
        tra_diag_error(w->b->d, w->at[i]->span, "say by labels what meets what: C[i,j] = A[i,j] + v[j]",
                       "without labels shapes must agree: %s here, %s before", tra_shape_text(&own, shape),
                       tra_shape_text(&all, other));
        tra_diag_also(w->b->d, at->span, "the other one");
        return NULL;
    }
    return first;
}

/* A relation with indices in the expression; NULL: there is none. */
static const tra_ast *first_indexed(const tra_ast *x) {
    const tra_ast *found = x->kind == TRA_AST_INDEX && x->text != reference ? x : NULL;
    for (int i = 0; i < x->nkids && !found; i++) found = first_indexed(x->kids[i]);
    return found;
}

tra_node *tra_build_elementwise(tra_build *b, const tra_ast *x, tra_build_operand *operand) {
    whole w = {.b = b, .operand = operand, .ok = true};
    tra_ast *y = with_references(&w, x);
    if (!w.ok) return NULL;
    const tra_ast *indexed = w.n == 0 ? first_indexed(x) : NULL;
    if (indexed)
        return tra_diag_error(b->d, indexed->span,
                              "label the result: C[i,j] = A[i,j] * 2, or t[] = sum A[i,j] * B[i,j]",
                              "indices stand only in EinSum statements, whose left side has them too");
    if (w.n == 0)
        return tra_diag_error(b->d, x->span, "numbers are named by: param eta = 0.01",
                              "a relation is expected here, and no relation stands in this");
    const tra_node *shape = common_shape(&w);
    if (!shape) return NULL;
    tra_einsum *s = w.s = over_dimensions(b, shape, w.n);
    for (int i = 0; i < w.n; i++) set_ref(s, i, w.node[i]);
    s->expr = tra_build_indexed(b, y, take_reference, &w);
    return s->expr ? tra_statement(b, x->span, s) : NULL;
}
