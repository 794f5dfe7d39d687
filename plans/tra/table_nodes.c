/* table_nodes.c - what operators on tables are built of: texts, columns, keys, and nodes with kernels on rows. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lower.h"
#include "table_build.h"

/* ---- texts and columns -------------------------------------------------------------------------------------- */

tra_ast *tra_table_ast(tra_arena *a, tra_ast_kind kind, const char *text, tra_span span, int n, tra_ast *const *kids) {
    tra_ast *x = tra_new(a, tra_ast);
    *x = (tra_ast){.kind = kind, .span = span, .name_span = span, .text = text, .nkids = n};
    x->kids = tra_news(a, tra_ast *, n + 1);
    if (n > 0) memcpy(x->kids, kids, (size_t)n * sizeof *kids);
    return x;
}

tra_ast *tra_table_ast_copy(tra_arena *a, const tra_ast *x) {
    tra_ast *y = tra_table_ast(a, x->kind, x->text, x->span, x->nkids, x->kids), **kids = y->kids;
    *y = *x;
    y->kids = kids;
    return y;
}

tra_ast *tra_table_name_ast(tra_arena *a, const char *name, tra_span span) {
    tra_ast *x = tra_table_ast(a, TRA_AST_NAME, name, span, 0, NULL);
    x->quoted = true;
    return x;
}

const char *tra_table_free_name(tra_arena *a, const tra_schema *s, const char *name) {
    while (tra_schema_find(s, name) >= 0) name = tra_arena_printf(a, "%s'", name);
    return name;
}

tra_ast *tra_table_int_ast(tra_arena *a, const char *text, tra_span span) {
    bool minus = *text == '-';
    tra_ast *x = tra_table_ast(a, TRA_AST_NUMBER, text + minus, span, 0, NULL);
    x->integer = true;
    x->value = strtod(x->text, NULL);
    return minus ? tra_table_ast(a, TRA_AST_UNARY, "-", span, 1, &x) : x;
}

tra_ast *tra_table_literal_ast(tra_arena *a, tra_coltype t, const char *text, tra_span span) {
    tra_ast *string = tra_table_ast(a, TRA_AST_STRING, text, span, 0, NULL);
    if (t == TRA_COL_DATE) return tra_table_ast(a, TRA_AST_LITERAL, "date", span, 1, &string);
    if (t == TRA_COL_TIMESTAMP) return tra_table_ast(a, TRA_AST_LITERAL, "timestamp", span, 1, &string);
    if (t == TRA_COL_BOOL)
        return tra_table_ast(a, TRA_AST_NAME, *text == 't' || *text == '1' ? "true" : "false", span, 0, NULL);
    return tra_coltype_is_coded(t) ? string : tra_table_int_ast(a, text, span);
}

void tra_table_note_columns(tra_names *t, const tra_schema *s) {
    for (int c = 0; c < s->n; c++) tra_names_add(t, s->v[c].name, NULL);
}

const tra_schema *tra_table_schema(tra_arena *a, const tra_schema *s, int n, const int *column, int nmore,
                                   const tra_column *more) {
    tra_schema *out = tra_new(a, tra_schema);
    tra_column *v = tra_news(a, tra_column, n + nmore + 1);
    for (int i = 0; i < n; i++) v[i] = s->v[column ? column[i] : i];
    for (int i = 0; i < nmore; i++) v[n + i] = more[i];
    *out = (tra_schema){n + nmore, v};
    return out;
}

const tra_schema *tra_table_subschema(tra_arena *a, const tra_schema *s, int n, const int *column, bool numbered) {
    const tra_column row = {.name = numbered ? tra_table_free_name(a, s, "row") : NULL, .type = TRA_COL_I64};
    return tra_table_schema(a, s, n, column, numbered, &row);
}

int *tra_table_counting(tra_arena *a, int n, int last) {
    int *v = tra_news(a, int, n + 1);
    for (int i = 0; i < n; i++) v[i] = i;
    v[n] = last;
    return v;
}

int *tra_table_different(tra_arena *a, int n, const int *column, int *m, int **different) {
    int *at = tra_news(a, int, n + 1), *v = *different = tra_news(a, int, n + 1);
    *m = 0;
    for (int i = 0; i < n; i++) {
        while (at[i] < *m && v[at[i]] != column[i]) at[i]++;
        if (at[i] == *m) v[(*m)++] = column[i];
    }
    return at;
}

/* ---- keys --------------------------------------------------------------------------------------------------- */

tra_node *tra_table_add_column_key(tra_table_builder *w, tra_node *n) {
    const tra_keyexpr *key[] = {tra_keyexpr_component(w->b->arena, 0), tra_keyexpr_int(w->b->arena, 0)};
    return tra_build_rekey(w->b, w->call->span, n, (const char *const[]){"i"}, 2, key);
}

tra_node *tra_table_add_key(tra_table_builder *w, tra_node *n) {
    const tra_keyexpr *key[] = {tra_keyexpr_int(w->b->arena, 0)};
    return tra_build_rekey(w->b, w->call->span, n, NULL, 1, key);
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

const tra_node *const *tra_table_own_rows(tra_build *b, const tra_node *n) {
    const tra_node **rows = tra_news(b->arena, const tra_node *, TRA_MAXDIM);
    rows[0] = n;
    return rows;
}

tra_node *tra_table_kernel(tra_table_builder *w, tra_node *left, tra_node *right, int lkey, int rkey,
                           const tra_rows_kernel *k) {
    if (!left) return NULL;
    tra_rows_kernel op = *k;
    op.use = right ? TRA_USE_JOIN : TRA_USE_MAP;
    tra_node fields = {.in = {left, right}, .kernel = tra_rows_kernel_of(w->b->arena, &op)};
    if (right && lkey >= 0) fields.join.l = (tra_dims){1, {lkey}}, fields.join.r = (tra_dims){1, {rkey}};
    tra_node *n = tra_build_made(w->b, right ? TRA_OP_JOIN : TRA_OP_TRANSFORM, w->call->span, &fields);
    if (n) n->rows = n->type.bounded ? tra_table_own_rows(w->b, n) : NULL;
    return n;
}

/* Operations of an expression for each row, roughly, by the classes of its operators. */
static double operations_of(const tra_colexpr *x) {
    static const uint8_t class[] = {
#define X(name, text, least, most, class) [TRA_C_##name] = 1 + TRA_COLCLASS_##class,
        TRA_COLOPS(X)
#undef X
    };
    static const double of[] = {[TRA_COLCLASS_QUOTIENT] = 4, [TRA_COLCLASS_REAL] = 10, [TRA_COLCLASS_CALENDAR] = 15,
                                [TRA_COLCLASS_MOMENT] = 15,  [TRA_COLCLASS_CALL] = 40, [TRA_COLCLASS_HASH] = 20};
    size_t c = (size_t)x->op < sizeof class ? class[x->op] : 0;
    double n = c > 0 && c <= sizeof of / sizeof *of ? fmax(1, of[c - 1]) : x->nkids > 0;
    for (int i = 0; i < x->nkids; i++) n += operations_of(x->kids[i]);
    return n;
}

static double operations(const tra_rowwise *r) {
    const tra_rowwise_step *step;
    double n = 0;
    for (int i = tra_rowwise_steps(r, &step); i-- > 0;)
        for (int k = 0; k < step[i].n; k++) n += 1 + operations_of(step[i].x[k]);
    return n;
}

tra_node *tra_table_rowwise(tra_table_builder *w, const tra_rowwise *r, const char *label, bool counts, double share) {
    tra_dims rows;
    tra_node *numbers = NULL; /* the number of the first row of each block; all of them are known before the run */
    bool numbered = tra_rowwise_uses_row(r), matrix = tra_rowwise_is_matrix(r, NULL);
    if (numbered) {
        tra_type_shape(&w->in->type, &rows);
        numbers = tra_positions(w->b, w->call->span, rows.v[0], w->in->type.cat->bound.v[0]);
        if (!numbers) return NULL;
    }
    tra_rows_kernel op = tra_rows_op(&tra_rowwise_ops, r, matrix ? NULL : tra_rowwise_out(r));
    op.dtype = matrix ? w->op.dtype : TRA_F64, op.width = matrix ? w->op.nterms : 0, op.counts = counts;
    op.share = share, op.flops = operations(r), op.label = label;
    tra_node *n = tra_table_kernel(w, w->in, numbers, 0, 0, &op);
    if (n) n->rows = counts && w->op.op == TRA_TABLE_SELECT ? tra_table_own_rows(w->b, n) : w->in->rows;
    return n;
}

tra_node *tra_table_columns(const tra_table_builder *w, tra_node *in, const tra_projection *p) {
    tra_table_builder project = {.b = w->b, .call = w->call, .in = in, .op.op = TRA_TABLE_PROJECT};
    return tra_table_rowwise(&project, tra_projection_pass(p, in->type.columns), NULL, false, 1);
}

tra_node *tra_table_pick(const tra_table_builder *w, tra_node *in, int n, const int *column) {
    tra_projection p = {.arena = w->b->arena};
    for (int i = 0; i < n; i++) tra_projection_keep(&p, in->type.columns, column[i]);
    return tra_table_columns(w, in, &p);
}

tra_node *tra_table_concat(tra_table_builder *w, tra_node *pieces, int keydim, int64_t most) {
    tra_node fields = {.in = {pieces}, .keydim = keydim, .most = most};
    tra_node *n = pieces ? tra_build_made(w->b, TRA_OP_CONCAT, w->call->span, &fields) : NULL;
    if (n) n->rows = n->type.bounded ? tra_table_own_rows(w->b, n) : NULL;
    return n;
}

int64_t tra_rows_together(const tra_graph *g, const tra_type *t) {
    enum { LEAST = 1 << 18, TIMES = 4, LARGE = 8 }; /* a LARGE one has room for half as much again */
    if (!t->columns) return 0;
    tra_size rows = tra_type_entries(t);
    int64_t most = tra_max64(1, rows.bound), row = tra_max64(1, tra_schema_row_bytes(t->columns));
    int64_t room = g->expected_room;
    int64_t likely = tra_min64(tra_mul_most(rows.expected, TIMES),
                               tra_max64(tra_add_most(rows.expected, rows.expected / 2), LARGE * room / row));
    if (room) most = tra_min64(most, tra_max64(tra_max64(LEAST, likely), room / row));
    return most < tra_catalog_elements(t->cat) ? most : 0;
}

tra_node *tra_table_one_block(tra_table_builder *w, tra_node *n, int arity) {
    if (!n || (arity == 1 && n->type.cat->frontier.v[0] == 1)) return n;
    tra_node fields = {.in = {n}, .most = tra_rows_together(w->b->g, &n->type)};
    tra_node *all = tra_build_made(w->b, TRA_OP_CONCAT, w->call->span, &fields);
    return arity == 0 ? all : tra_table_add_key(w, all);
}
