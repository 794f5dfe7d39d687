/* label_ops.c - what the positions of a dimension stand for, said by the program: matrix(.., rows = key), label,
 * unlabel and align. */
#include <string.h>
#include <xxhash.h>

#include "../../lib/tablefile/table_file.h"
#include "lower.h"
#include "build.h"
#include "cardinality.h"
#include "table_build.h"

tra_find_values *tra_find_column_values;

/* ---- labels from a column ---------------------------------------------------------------------------------------- */

/* Finds the values of column c of a table in the order of its rows. TRA_NO: only a run tells them, and the files are
 * not there. */
static tra_status find_values(tra_build *b, tra_span at, const tra_node *t, int c, const tra_dim_labels **out,
                              tra_err *e) {
    if (t->op == TRA_OP_INPUT && !t->input.rel) return TRA_NO;
    if (t->op == TRA_OP_INPUT) return tra_rel_column_labels(t->input.rel, c, out, e);
    const tra_table_op *op = t->table;
    if (op && op->op == TRA_TABLE_TABLE && c == 0 && op->border->label[0]) return *out = op->border->label[0], TRA_OK;
    if (op && op->op == TRA_TABLE_PROJECT && op->term[c].ast->kind == TRA_AST_NAME) {
        int of = tra_schema_find(op->in[0]->type.columns, op->term[c].ast->text);
        if (of >= 0) return find_values(b, at, op->in[0], of, out, e);
    }
    const tra_ast call = {.kind = TRA_AST_CALL, .span = at};
    tra_table_builder w = {.b = b, .call = &call, .in = b->g->v[t->id]};
    tra_rel *rel;
    tra_status made = tra_table_made_column(&w, c, &rel, e);
    if (made == TRA_OK) return tra_rel_column_labels(rel, 0, out, e);
    if (made != TRA_NO) return made;
    return tra_find_column_values ? tra_find_column_values(b->g, t, c, b->arena, out, e) : TRA_NO;
}

bool tra_labels_of_column(tra_build *b, const tra_ast *at, const char *table, const tra_node *t, int c,
                          const tra_dim_labels **out) {
    tra_err e = {0};
    int64_t first, second;
    const char *name = t->type.columns->v[c].name;
    *out = NULL;
    tra_status s = find_values(b, at->span, t, c, out, &e);
    if (s == TRA_NO) return true;
    if (s == TRA_OK && tra_dim_labels_twice(*out, &first, &second))
        s = tra_fail(&e, TRA_INPUT,
                     "rows %" PRId64 " and %" PRId64 " of %s have the same value in column '%s', '%s': labels differ",
                     first, second, table ? table : "the table", name, tra_dim_labels_text(b->arena, *out, first));
    if (s == TRA_OK) *out = tra_dim_labels_named(b->arena, *out, name, false);
    if (s == TRA_INPUT)
        tra_build_unreadable(b, at->span, NULL, &e);
    else if (s != TRA_OK)
        tra_diag_error(b->d, at->span, NULL, "%s", e.msg);
    return s == TRA_OK;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* The same tensor under the same keys, as a node that may have labels of its own. */
static tra_node *same(tra_table_builder *w) {
    int arity = w->in->type.cat->frontier.n;
    const char *names[TRA_MAXDIM];
    const tra_keyexpr *key[TRA_MAXDIM];
    for (int d = 0; d < arity; d++) {
        names[d] = tra_arena_printf(w->b->arena, "k%d", d);
        key[d] = tra_keyexpr_component(w->b->arena, d);
    }
    return tra_build_rekey(w->b, w->call->span, w->in, names, arity, key);
}

/* Reads a dimension of a tensor x, whose shape is set too. */
static bool read_dimension(const tra_table_builder *w, int arg, const tra_node *x, tra_dims *shape, int *dim) {
    const char *why;
    int64_t d;
    const tra_ast *at = w->call->kids[arg];
    if (!tra_type_is_tensor(&x->type, &why))
        return tra_diag_error(w->b->d, at->span, NULL, "%s takes tensors; of this relation %s", w->call->text, why);
    tra_type_shape(&x->type, shape);
    if (!tra_build_int(w->b, at, "a dimension", 0, &d)) return false;
    *dim = (int)tra_min64(d, TRA_MAXDIM);
    if (d < shape->n) return true;
    return tra_diag_error(w->b->d, at->span, "dimensions are counted from 0", "dimension %" PRId64 " of a tensor of %d",
                          d, shape->n);
}

tra_node *tra_table_unlabel(tra_table_builder *w) {
    tra_dims shape;
    int d;
    if (w->call->nkids != 2) return tra_table_refuse(w, w->call, "unlabel has a tensor and a dimension");
    if (!read_dimension(w, 1, w->in, &shape, &d)) return NULL;
    tra_node *n = same(w);
    if (n) tra_set_dim(w->b, n, d, NULL, NULL);
    return n;
}

tra_node *tra_table_label(tra_table_builder *w) {
    const tra_ast *const *arg = (const tra_ast *const *)w->call->kids;
    const tra_dim_labels *labels;
    tra_dims shape;
    int d;
    if (w->call->nkids != 4)
        return tra_table_refuse(w, w->call, "label has a tensor, a dimension, a table and one of its columns");
    if (!read_dimension(w, 1, w->in, &shape, &d)) return NULL;
    tra_table_scope sc = {w->b, w->right->type.columns, arg[2]->kind == TRA_AST_NAME ? arg[2]->text : NULL, false};
    int c = arg[3]->kind == TRA_AST_NAME ? tra_table_find_column(&sc, arg[3]) : -2;
    if (c == -2) tra_table_refuse(w, arg[3], "labels are the values of a column, which stands here");
    if (c < 0 || !tra_labels_of_column(w->b, arg[3], sc.table, w->right, c, &labels)) return NULL;
    bool counted = w->in->type.bounded >> d & 1;
    const tra_node *rows = w->right->rows ? w->right->rows[0] : w->right;
    if (counted && !(w->in->rows && w->in->rows[d] == rows))
        return tra_diag_error(w->b->d, arg[2]->span,
                              "label it by a column of that table, as matrix(T, [..], rows = key) does",
                              "only the run tells how many rows of %s the dimension has", "a table");
    if (!counted && labels && labels->n != shape.v[d])
        return tra_diag_error(w->b->d, arg[2]->span, NULL,
                              "dimension %d has %" PRId64 " positions, and the table %" PRId64 " rows", d, shape.v[d],
                              labels->n);
    tra_node *n = same(w);
    if (n) tra_set_dim(w->b, n, d, labels, NULL);
    return n;
}

/* ---- align ------------------------------------------------------------------------------------------------------- */

/* The operand with dimension d whole in each block, so that arrays do not grow; NULL after a diagnostic. */
static tra_node *whole_along(tra_table_builder *w, int d, const tra_dims *shape) {
    tra_node *x = w->in;
    const tra_catalog *c = x->type.cat;
    tra_dims block = c->bound;
    int64_t room = 1; /* elements of the other dimensions */
    bool fits = c->grid && block.v[d] >= shape->v[d];
    if (fits) return x;
    if (x->type.bounded)
        return tra_diag_error(w->b->d, w->call->span, "write it to a file, and align what is read from that",
                              "of this tensor only the run tells how many rows it has, and it has several blocks along "
                              "dimension %d",
                              d);
    for (int i = 0; i < shape->n; i++) room = tra_mul_most(room, tra_max64(1, block.v[i]));
    room = x->type.sparse ? INT64_MAX : tra_max64(1, room / tra_max64(1, shape->v[d]));
    for (int i = shape->n - 1; i >= 0; i--) {
        block.v[i] = tra_max64(1, i == d ? shape->v[d] : tra_min64(block.v[i], room));
        if (i != d) room = tra_max64(1, room / block.v[i]);
    }
    return tra_build_made(w->b, TRA_OP_REPART, w->call->span, &(tra_node){.in = {x}, .block = block});
}

static const char *take_text(tra_build *b, const char *op, const tra_take *t, int64_t n) {
    uint64_t h = XXH64(t->from, (size_t)n * sizeof *t->from, (uint64_t)t->dim);
    return tra_arena_printf(b->arena, "%s(%d, %016" PRIx64 ", fill = %.17g%s)", op, t->dim, h, t->fill,
                            t->cut ? ", cut" : "");
}

/* By how much positions ascend; 0: not evenly. */
static int64_t step_of(const tra_take *t, int64_t n) {
    int64_t step = n > 1 ? t->from[1] - t->from[0] : 1;
    if (n == 0 || t->from[0] < 0 || step < 1) return 0;
    for (int64_t i = 2; i < n; i++)
        if (t->from[i] - t->from[i - 1] != step) return 0;
    return step;
}

/* The operand from the first position that is taken to the last, in blocks that have those of `block` positions of the
 * result, which are `step` apart. */
static tra_node *cut_as_taken(const tra_table_builder *w, const tra_take *t, int64_t n, int64_t block, int64_t step,
                              const tra_dims *shape) {
    tra_node *x = w->in;
    const tra_catalog *c = x->type.cat;
    tra_node fields = {.in = {x}, .block = c->bound, .slice = {.origin.n = shape->n, .extent = *shape}};
    int d = t->dim;
    fields.block.v[d] = block * step;
    if (t->from[0] == 0 && fields.block.v[d] == c->bound.v[d] && tra_ceil_div(n, block) == c->frontier.v[d]) return x;
    fields.slice.origin.v[d] = t->from[0];
    fields.slice.extent.v[d] = (n - 1) * step + 1;
    return tra_build_made(w->b, TRA_OP_REPART, w->call->span, &fields);
}

tra_node *tra_table_taken(tra_table_builder *w, const tra_take *t, int64_t n) {
    tra_build *b = w->b;
    tra_dims shape;
    int64_t missing = 0, most = 1;
    const char *names[TRA_MAXDIM];
    const tra_keyexpr *key[TRA_MAXDIM];
    tra_type_shape(&w->in->type, &shape);
    const tra_catalog *c = w->in->type.cat;
    int64_t step = c->grid && !w->in->type.bounded && c->frontier.v[t->dim] > 1 ? step_of(t, n) : 0;
    tra_take own = *t;
    own.cut = step > 0 && step <= c->bound.v[t->dim];
    int64_t block = tra_max64(1, tra_min64(n, c->bound.v[t->dim] / (own.cut ? step : 1)));
    tra_node *x = own.cut ? cut_as_taken(w, t, n, block, step, &shape) : whole_along(w, t->dim, &shape);
    int64_t *times = tra_news(b->arena, int64_t, shape.v[t->dim] + 1);
    for (int64_t i = 0; i < n; i++) {
        missing += t->from[i] < 0;
        if (t->from[i] >= 0) most = tra_max64(most, ++times[t->from[i]]);
    }
    tra_node *at = tra_positions(b, w->call->span, n, block);
    if (!x || !at) return NULL;
    tra_take *kept = tra_new(b->arena, tra_take);
    *kept = own;
    tra_rows_kernel k = tra_rows_op(&tra_take_ops, kept, NULL);
    k.label = take_text(b, tra_table_op_text(w->op.op), kept, n);
    k.use = TRA_USE_JOIN, k.dtype = w->in->type.dtype, k.width = t->dim, k.extent = TRA_ROWS_TAKEN, k.each = most;
    k.sparse = w->in->type.sparse && (missing == 0 || t->fill == 0), k.flops = 2;
    tra_node join = {.in = {x, at}, .kernel = tra_rows_kernel_of(b->arena, &k)};
    if (own.cut) join.join.l = (tra_dims){1, {t->dim}}, join.join.r = (tra_dims){1, {0}};
    tra_node *made = tra_build_made(b, TRA_OP_JOIN, w->call->span, &join);
    for (int d = 0; d <= shape.n; d++) names[d] = tra_arena_printf(b->arena, "k%d", d);
    for (int d = 0; d < shape.n; d++) key[d] = tra_keyexpr_component(b->arena, d == t->dim ? shape.n : d);
    if (!own.cut) made = tra_build_rekey(b, w->call->span, made, names, shape.n, key);
    for (int d = 0; made && d < shape.n; d++)
        tra_set_dim(b, made, d, d == t->dim ? NULL : tra_labels_of_dim(w->in, d),
                    d == t->dim ? NULL : tra_order_of_dim(w->in, d));
    if (made) made->rows = w->in->rows, made->units = w->in->units;
    w->op.take = t;
    w->op.taken = n;
    return tra_table_record(w, made);
}

/* Reads fill = v, a value of the tensor's type. */
static bool read_fill(const tra_table_builder *w, bool *said, double *fill) {
    static const char *const names[] = {"fill"};
    const tra_ast *value = NULL;
    tra_dtype t = w->in->type.dtype;
    *fill = 0;
    if (!tra_table_named_args(w, 4, 1, names, &value)) return false;
    *said = value != NULL;
    if (!value) return true;
    if (!tra_build_number(w->b, value, fill)) return false;
    if (tra_dtype_is_float(t)) return true;
    bool whole = *fill == (double)(int64_t)*fill && *fill >= -0x1p62 && *fill <= 0x1p62;
    if (whole && (t != TRA_BOOL || *fill == 0 || *fill == 1) && tra_dtype_holds(t, (int64_t)*fill)) return true;
    return tra_diag_error(w->b->d, value->span, NULL, "%g is no value of a tensor of %s", *fill, tra_dtype_name(t));
}

tra_node *tra_table_align(tra_table_builder *w) {
    const tra_ast *const *arg = (const tra_ast *const *)w->call->kids;
    const tra_node *of[2] = {w->in, w->right};
    const tra_dim_labels *l[2];
    const char *name[2];
    tra_dims shape[2];
    tra_take *t = tra_new(w->b->arena, tra_take);
    int dim[2];
    bool fill;
    if (w->call->nkids < 4) return tra_table_refuse(w, w->call, "align has two tensors, each with a dimension");
    for (int i = 0; i < 2; i++) {
        if (!read_dimension(w, 2 * i + 1, of[i], &shape[i], &dim[i])) return NULL;
        l[i] = tra_labels_of_dim(of[i], dim[i]);
        name[i] = arg[2 * i]->kind == TRA_AST_NAME ? arg[2 * i]->text : "the tensor";
        if (l[i]) continue;
        return tra_diag_error(w->b->d, arg[2 * i + 1]->span,
                              "label(X, d, T, column) and matrix(T, [..], rows = key) say what positions stand for",
                              "dimension %d of %s has no labels", dim[i], name[i]);
    }
    if (!read_fill(w, &fill, &t->fill)) return NULL;
    t->dim = dim[0];
    int64_t *from = tra_dim_labels_find(w->b->arena, l[0], l[1]), at = 0;
    t->from = from;
    while (at < l[1]->n && (fill || from[at] >= 0)) at++;
    if (at < l[1]->n)
        return tra_diag_error(w->b->d, w->call->span, "fill = v sets what stands there",
                              "%s has no position that stands for '%s', as position %" PRId64 " of %s does", name[0],
                              tra_dim_labels_text(w->b->arena, l[1], at), at, name[1]);
    bool already = l[0]->n == l[1]->n;
    for (int64_t i = 0; i < l[1]->n && already; i++) already = from[i] == i;
    tra_node *n = already ? same(w) : tra_table_taken(w, t, l[1]->n);
    if (n) tra_set_dim(w->b, n, dim[0], l[1], tra_order_of_dim(of[1], dim[1]));
    return n;
}
