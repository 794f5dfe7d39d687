/* table_matrix.c - matrix(T, [a, b = a + 1, onehot(city), *]): columns as a tensor. */
#include "build.h"
#include "table_build.h"

#include <stdlib.h>
#include <string.h>

bool tra_table_is_numbers(tra_build *b, const tra_node *n, const char *what, tra_span span) {
    const tra_column *other = tra_table_other_column(n);
    if (!other) return true;
    return tra_diag_error(b->d, span, "matrix(T, [a, b]) is a tensor of columns, project(T, c = a + b) a new column",
                          "%s takes tensors, and column '%s' of this table is no number but %s", what, other->name,
                          tra_coltype_name(other->type));
}

/* rows: the column that labels the rows; NULL: none does. */
static bool matrix_options(tra_table_builder *w, const tra_ast **rows) {
    static const char *const names[] = {"fill", "type", "rows"};
    const tra_ast *value[3] = {NULL, NULL, NULL};
    w->op.dtype = TRA_F64;
    if (!tra_table_named_args(w, 2, 3, names, value)) return false;
    *rows = value[2];
    if (value[0]) {
        double *fill = tra_new(w->b->arena, double);
        if (!tra_build_number(w->b, value[0], fill)) return false;
        w->op.fill = fill;
    }
    if (!value[1]) return true;
    if (value[1]->kind == TRA_AST_NAME && tra_dtype_parse(value[1]->text, &w->op.dtype)) return true;
    return tra_diag_error(w->b->d, value[1]->span, tra_arena_printf(w->b->arena, "types are %s", tra_dtype_choices()),
                          "an element type is expected here");
}

/* The labels of rows = column. */
static bool row_labels(const tra_table_builder *w, const tra_ast *x, const tra_dim_labels **out) {
    tra_table_scope sc = tra_table_scope_of(w);
    if (x->kind != TRA_AST_NAME) return tra_table_refuse(w, x, "rows are labelled by a column: rows = key");
    int c = tra_table_find_column(&sc, x);
    return c >= 0 && tra_labels_of_column(w->b, x, w->in_name, w->in, c, out);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static bool is_call(const tra_ast *x, const char *name) {
    return x->kind == TRA_AST_CALL && strcmp(x->text, name) == 0;
}

/* Notes the columns that x mentions. */
static void note_columns(const tra_schema *s, const tra_ast *x, bool *mentioned) {
    int at = x->kind == TRA_AST_NAME ? tra_schema_find(s, x->text) : -1;
    if (at >= 0) mentioned[at] = true;
    for (int i = 0; i < x->nkids; i++) note_columns(s, x->kids[i], mentioned);
}

/* Adds what * stands for: columns of numbers and bools that nothing else in the list names, nor onehot, nor `rows`. */
static bool add_numbers(tra_table_builder *w, const tra_ast *list, const tra_ast *x, const tra_ast *rows) {
    const tra_schema *s = w->in->type.columns;
    bool *without = is_call(x, "drop") ? tra_table_dropped(w, x) : tra_news(w->b->arena, bool, s->n + 1);
    if (!without) return false;
    if (is_call(x, "drop") && tra_table_has_star(list->nkids, list->kids)) return true;
    if (rows) note_columns(s, rows, without);
    for (int i = 0; i < list->nkids; i++) {
        const tra_ast *of = list->kids[i]->kind == TRA_AST_NAMED ? list->kids[i]->kids[0] : list->kids[i];
        if (is_call(of, "onehot")) note_columns(s, of, without);
    }
    for (int c = 0; c < s->n; c++) without[c] = without[c] || !tra_column_is_number(&s->v[c]);
    return tra_table_add_star(w, x, list->nkids, list->kids, without);
}

/* A node of the tree with up to two children. */
static tra_ast *tree(const tra_table_builder *w, tra_ast_kind kind, const char *text, const tra_ast *at,
                     const tra_ast *l, const tra_ast *r) {
    return tra_table_ast(w->b->arena, kind, text, at->span, !!l + !!r, (tra_ast *[]){(tra_ast *)l, (tra_ast *)r});
}

/* Adds what onehot(x) stands for: for each value that x may have a column that is 1 where x has it, else 0, NULL
 * included. */
static bool add_onehot(tra_table_builder *w, const tra_ast *arg) {
    enum { MOST = 4096, LONGEST = 1024 };
    const tra_ast *call = arg->kind == TRA_AST_NAMED ? arg->kids[0] : arg, *x = call->nkids ? call->kids[0] : NULL;
    if (call->nkids != 1) return tra_table_refuse(w, call, "onehot has one argument, a column");
    if (x->kind != TRA_AST_NAME && arg->kind != TRA_AST_NAMED)
        return tra_diag_error(w->b->d, call->span,
                              "write for instance m = onehot(month(day)): the columns are m_1, m_2, ..",
                              "onehot of what is computed has a name, with which its columns begin");
    const char *name = arg->kind == TRA_AST_NAMED ? arg->text : x->text;
    const tra_ast *key = x->kind == TRA_AST_NAME ? x : tree(w, TRA_AST_NAMED, name, call, x, NULL);
    const tra_dim_labels *l;
    tra_pivot_key values = {0};
    if (!tra_table_key_values(w, NULL, key, &values, &l)) return false;
    if (values.n > MOST)
        return tra_diag_error(w->b->d, call->span, "pivot(T, row, column, 1, count) makes a sparse matrix of them",
                              "onehot makes at most %d columns, and there are %" PRId64 " values", MOST, values.n);
    for (int64_t i = 0; i < values.n; i++) {
        const char *label = tra_dim_labels_text(w->b->arena, l, i);
        size_t bytes = strlen(label);
        if (bytes > LONGEST)
            return tra_diag_error(
                w->b->d, call->span, "write for instance m = onehot(substr(s, 1, 20)): the beginning of each",
                "onehot names columns after values, and one has %zu bytes, more than %d", bytes, LONGEST);
        const tra_ast *value = tra_table_literal_ast(w->b->arena, l->type, label, call->span),
                      *is = tree(w, TRA_AST_BINARY, "==", call, x, value);
        is = tree(w, TRA_AST_CALL, "ifnull", call, is, tree(w, TRA_AST_NAME, "false", call, NULL, NULL));
        const char *text = tra_arena_printf(w->b->arena, "%s_%s", name, label);
        if (!tra_table_add_term(w, tree(w, TRA_AST_NAMED, text, call, is, NULL))) return false;
    }
    return true;
}

static bool add_columns(tra_table_builder *w, const tra_ast *list, const tra_ast *x, const tra_ast *rows) {
    const tra_ast *of = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
    if (is_call(of, "onehot")) return add_onehot(w, x);
    if (x->kind == TRA_AST_STAR || is_call(x, "drop")) return add_numbers(w, list, x, rows);
    return tra_table_add_term(w, x);
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

tra_node *tra_table_matrix(tra_table_builder *w) {
    const char **names;
    const tra_colexpr **x;
    tra_err e = {0};
    const tra_ast *list = w->call->nkids > 1 ? w->call->kids[1] : NULL;
    if (!list || list->kind != TRA_AST_LIST)
        return tra_table_refuse(w, list ? list : w->call, "its columns stand in a list");
    const tra_ast *rows = NULL;
    const tra_dim_labels *labels = NULL;
    bool ok = matrix_options(w, &rows);
    if (ok && rows) ok = row_labels(w, rows, &labels);
    for (int i = 0; i < list->nkids; i++) ok = add_columns(w, list, list->kids[i], rows) && ok;
    if (!ok) return NULL;
    if (w->op.nterms == 0) return tra_table_refuse(w, list, "a matrix has columns, and this one would have none");
    tra_rowwise *r = tra_rowwise_new(w->b->arena, w->in->type.columns);
    tra_table_split_terms(w, &names, &x);
    if (tra_rowwise_matrix(r, w->op.nterms, names, x, w->op.dtype, w->op.fill, &e) != TRA_OK)
        return tra_diag_error(w->b->d, list->span, NULL, "%s", e.msg);
    tra_node *n = tra_table_rowwise(w, r, tra_table_call_text(w), false, 1);
    if (n) n = tra_table_add_column_key(w, n);
    if (!n) return NULL;
    tra_set_dim(w->b, n, 1, tra_dim_labels_of_texts(w->b->arena, "column", w->op.nterms, names), NULL);
    tra_set_dim(w->b, n, 0, labels, rows ? NULL : tra_dim_order_new(w->b, TRA_ORDER_ROWS, w->in_name));
    return tra_table_record(w, n);
}
