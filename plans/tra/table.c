/* table.c - calls of operators on tables: their arguments, and the operators that are a pass over rows. */
#include "build.h"
#include "table_build.h"
#include "table_derived.h"

#include "cardinality.h"

#include <string.h>

static const char *const texts[] = {
#define X(name, text) text,
    TRA_TABLE_OPS(X)
#undef X
};
enum { NOPS = sizeof texts / sizeof *texts };

const char *tra_table_op_text(tra_table_opcode op) { return texts[op]; }
const char *tra_table_op_name(int i) { return i < NOPS ? texts[i] : NULL; }

bool tra_is_table_op(const char *name) { return TRA_FIND_ROW(texts, name) >= 0; }

/* ---- arguments ---------------------------------------------------------------------------------------------- */

tra_table_scope tra_table_scope_of(const tra_table_builder *w) {
    bool one_row = tra_catalog_elements(w->in->type.cat) <= 1, counted = one_row || !w->in->type.bounded;
    return (tra_table_scope){w->b, w->in->type.columns, w->in_name, .row_allowed = counted};
}

void *tra_table_refuse(const tra_table_builder *w, const tra_ast *at, const char *why) {
    static const char *const forms[] = {
        [TRA_TABLE_SELECT] = "write select(T, duration > 0)",
        [TRA_TABLE_PROJECT] = "write project(T, a, b = a + 1, *)",
        [TRA_TABLE_MATRIX] = "write matrix(T, [a, b = a + 1, onehot(city), *], fill = 0, type = f64, rows = key)",
        [TRA_TABLE_JOIN] = "write join(L, R, a == b && c > 0, how = left), or join(L, R, a == b, asof = L.t >= R.t)",
        [TRA_TABLE_CROSS] = "write cross(L, R, prefix = \"p_\")",
        [TRA_TABLE_GROUP] = "write group(T, [a, k = b div 2], n = count(), m = mean(x))",
        [TRA_TABLE_ORDER] = "write order(T, [a, b desc])",
        [TRA_TABLE_DISTINCT] = "write distinct(T, [a, b]), or distinct(T, [a], order = [t desc], keep = last)",
        [TRA_TABLE_LIMIT] = "write limit(T, 10, from = 20)",
        [TRA_TABLE_UNION] = "write union(A, B, C)",
        [TRA_TABLE_WINDOW] = "write window(T, [k], [t, x desc], r = row_number(), s = sum(x), frame = rows(-2, 0))",
        [TRA_TABLE_ROWS] = "write rows(T)",
        [TRA_TABLE_PIVOT] =
            "write pivot(T, row, column, value, sum), a matrix, or pivot(T, [key], column, value, sum), a table",
        [TRA_TABLE_ENTRIES] = "write entries(X)",
        [TRA_TABLE_TABLE] = "write table(X)",
        [TRA_TABLE_LABEL] = "write label(X, 0, T, column)",
        [TRA_TABLE_UNLABEL] = "write unlabel(X, 0)",
        [TRA_TABLE_ALIGN] = "write align(X, 0, Y, 1), or align(X, 0, Y, 1, fill = 0)"};
    return tra_diag_error(w->b->d, at->span, forms[w->op.op], "%s", why);
}

bool tra_table_named_args(const tra_table_builder *w, int from, int n, const char *const *names,
                          const tra_ast **value) {
    bool ok = true;
    for (int i = from; i < w->call->nkids; i++) {
        const tra_ast *x = w->call->kids[i];
        int at = 0;
        while (at < n && (x->kind != TRA_AST_NAMED || strcmp(names[at], x->text) != 0)) at++;
        if (x->kind != TRA_AST_NAMED)
            tra_table_refuse(w, x, "this argument has no name, and is one too many");
        else if (at == n)
            tra_table_refuse(w, x, tra_arena_printf(w->b->arena, "%s has no argument '%s'", w->call->text, x->text));
        else if (value[at])
            tra_table_refuse(w, x, tra_arena_printf(w->b->arena, "the argument %s stands twice", x->text));
        else {
            value[at] = x->kids[0];
            continue;
        }
        ok = false;
    }
    return ok;
}

static int find_term(const tra_table_builder *w, const char *name) { return tra_names_find(&w->terms, name); }

static void add_term(tra_table_builder *w, const tra_table_term *t) {
    int n = w->op.nterms;
    if ((n & (n - 1)) == 0) { /* the room doubles when it is full */
        tra_table_term *v = tra_news(w->b->arena, tra_table_term, n ? 2 * n : 1);
        if (n) memcpy(v, w->op.term, (size_t)n * sizeof *v);
        w->op.term = v;
    }
    ((tra_table_term *)w->op.term)[w->op.nterms++] = *t;
    w->terms.arena = w->b->arena;
    if (t->name && find_term(w, t->name) < 0) tra_names_add(&w->terms, t->name, NULL);
}

bool tra_table_add_term(tra_table_builder *w, const tra_ast *x) {
    tra_table_scope sc = tra_table_scope_of(w);
    tra_table_term t;
    const tra_ast *value = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
    if (x->kind != TRA_AST_NAMED && x->kind != TRA_AST_NAME)
        return tra_table_refuse(w, x, "what is computed has a name: name = expression");
    if (x->kind == TRA_AST_NAME && tra_table_find_column(&sc, x) < 0) return false;
    if (!tra_table_build_term(&sc, x->text, value, &t)) return false;
    if (t.x->untyped)
        return tra_diag_error(w->b->d, value->span, "write if(false, 0, null) for a NULL among integers",
                              "null alone has no type");
    if (find_term(w, t.name) >= 0)
        return tra_diag_error(w->b->d, x->span, "give one of them another name", "there are two columns '%s'", t.name);
    add_term(w, &t);
    return true;
}

/* ---- calls as text ------------------------------------------------------------------------------------------ */

static void add_term_text(const tra_table_term *t, tra_str *s) {
    bool same = !t->name || (t->ast->kind == TRA_AST_NAME && strcmp(t->ast->text, t->name) == 0);
    if (!same) tra_name_print(t->name, s), tra_str_add(s, " = ");
    tra_ast_print(t->ast, s);
    if (t->desc) tra_str_add(s, " desc");
}

static void add_aggregate_text(const tra_table_agg *g, tra_str *s) {
    tra_str_add(s, ", ");
    tra_name_print(g->name, s);
    tra_str_printf(s, " = %s(", tra_aggregate_text(g->f));
    if (g->ast) tra_ast_print(g->ast, s);
    if (g->by) tra_str_add(s, ", "), tra_ast_print(g->by, s);
    if (g->f == TRA_AGGREGATE_QUANTILE) tra_str_printf(s, ", %.17g", g->q);
    tra_str_add(s, ")");
}

const char *tra_table_call_text(const tra_table_builder *w) {
    tra_str s = {0};
    bool list = w->op.op == TRA_TABLE_GROUP || w->op.op == TRA_TABLE_ORDER;
    tra_str_printf(&s, "%s(%s", texts[w->op.op], list ? "[" : "");
    for (int i = 0; i < w->op.nterms; i++) {
        if (i) tra_str_add(&s, ", ");
        add_term_text(&w->op.term[i], &s);
    }
    if (list) tra_str_add(&s, "]");
    for (int i = 0; i < w->op.naggs; i++) add_aggregate_text(&w->op.agg[i], &s);
    if (w->op.op == TRA_TABLE_LIMIT) tra_str_printf(&s, "%" PRId64 ", from = %" PRId64, w->op.count, w->op.from);
    if (w->op.op == TRA_TABLE_MATRIX) {
        if (w->op.fill) tra_str_printf(&s, ", fill = %.17g", *w->op.fill);
        if (w->op.dtype != TRA_F64) tra_str_printf(&s, ", type = %s", tra_dtype_name(w->op.dtype));
    }
    tra_str_add(&s, ")");
    return tra_arena_take(w->b->arena, &s);
}

/* ---- operators that are a pass over rows -------------------------------------------------------------------- */

tra_node *tra_table_record(tra_table_builder *w, tra_node *n) {
    tra_graph *g = w->b->g;
    if (!n) return NULL;
    if ((g->ntables & (g->ntables - 1)) == 0) { /* the room doubles when it is full */
        const tra_table_op **v = tra_news(w->b->arena, const tra_table_op *, g->ntables ? 2 * g->ntables : 1);
        if (g->ntables) memcpy(v, g->tables, (size_t)g->ntables * sizeof *v);
        g->tables = v;
    }
    tra_table_op *op = tra_new(w->b->arena, tra_table_op);
    *op = w->op;
    op->node = n;
    op->in[0] = w->in;
    op->in[1] = w->right;
    op->columns = n->type.columns;
    g->tables[g->ntables++] = n->table = op;
    return n;
}

static tra_node *build_select(tra_table_builder *w) {
    tra_table_scope sc = tra_table_scope_of(w);
    tra_table_term t;
    if (w->call->nkids != 2) return tra_table_refuse(w, w->call, "select has a table and a predicate");
    if (!tra_table_build_predicate(&sc, w->call->kids[1], &t)) return NULL;
    if (t.x->untyped && tra_colexpr_convert(w->b->arena, t.x, TRA_COL_BOOL, NULL, &t.x, NULL) != TRA_OK) return NULL;
    add_term(w, &t);
    tra_node *below = tra_table_select_below(w, &t);
    if (below) return tra_table_record(w, below);
    double share;
    tra_node *in = w->in, *top = tra_table_window_top(w, t.x, &share);
    const tra_colexpr *rest;
    tra_node *n = tra_table_join_selected(w, t.x, &rest);
    if (n || top) w->in = n ? n : top; /* it has the same columns */
    if (!n || rest) {
        tra_rowwise *r = tra_rowwise_new(w->b->arena, in->type.columns);
        const tra_colexpr *x = n ? rest : t.x;
        tra_rowwise_select(r, x);
        const char *text = tra_arena_printf(w->b->arena, "%s%s", tra_table_call_text(w), n ? ", joined" : "");
        n = tra_table_rowwise(w, r, text, true, top && x == t.x ? share : tra_table_selectivity_of(in, x));
    }
    w->in = in;
    return tra_table_record(w, n);
}

static bool is_drop(const tra_ast *x) { return x->kind == TRA_AST_CALL && strcmp(x->text, "drop") == 0; }

/* Does one of the n arguments name the column, or a new one that is called so, or drop it? */
static bool is_named(int n, tra_ast *const *v, const char *name) {
    for (int i = 0; i < n; i++) {
        bool named = v[i]->kind == TRA_AST_NAME || v[i]->kind == TRA_AST_NAMED;
        if (named && strcmp(v[i]->text, name) == 0) return true;
        if (is_drop(v[i]) && is_named(v[i]->nkids, v[i]->kids, name)) return true;
    }
    return false;
}

bool tra_table_has_star(int n, tra_ast *const *v) {
    int i = 0;
    while (i < n && v[i]->kind != TRA_AST_STAR) i++;
    return i < n;
}

bool tra_table_add_star(tra_table_builder *w, const tra_ast *x, int n, tra_ast *const *v, const bool *without) {
    const tra_schema *s = w->in->type.columns;
    for (int i = 0; i < (w->own_columns ? w->own_columns : s->n); i++) {
        if ((without && without[i]) || is_named(n, v, s->v[i].name)) continue;
        if (!tra_table_add_term(w, tra_table_name_ast(w->b->arena, s->v[i].name, x->span))) return false;
    }
    return true;
}

bool *tra_table_dropped(const tra_table_builder *w, const tra_ast *x) {
    tra_table_scope sc = tra_table_scope_of(w);
    bool *dropped = tra_news(w->b->arena, bool, w->in->type.columns->n);
    for (int i = 0; i < x->nkids; i++) {
        int at = tra_table_find_column(&sc, x->kids[i]);
        if (at < 0) return NULL;
        dropped[at] = true;
    }
    return dropped;
}

void tra_table_split_terms(const tra_table_builder *w, const char ***names, const tra_colexpr ***x) {
    *names = tra_news(w->b->arena, const char *, w->op.nterms);
    *x = tra_news(w->b->arena, const tra_colexpr *, w->op.nterms);
    for (int i = 0; i < w->op.nterms; i++) {
        (*names)[i] = w->op.term[i].name;
        (*x)[i] = w->op.term[i].x;
    }
}

tra_node *tra_table_project(tra_table_builder *w) {
    const char **names;
    const tra_colexpr **x;
    tra_rowwise *r = tra_rowwise_new(w->b->arena, w->in->type.columns);
    tra_table_split_terms(w, &names, &x);
    tra_rowwise_project(r, w->op.nterms, names, x);
    return tra_table_record(w, tra_table_rowwise(w, r, tra_table_call_text(w), false, 1));
}

static tra_node *build_project(tra_table_builder *w) {
    bool ok = true;
    if (!tra_table_build_numbers(w)) return NULL;
    for (int i = 1; i < w->call->nkids; i++) {
        const tra_ast *arg = w->call->kids[i];
        bool drop = is_drop(arg);
        const bool *dropped = drop ? tra_table_dropped(w, arg) : NULL;
        if (dropped && tra_table_has_star(w->call->nkids - 1, w->call->kids + 1)) continue; /* without these */
        if (drop || arg->kind == TRA_AST_STAR)
            ok =
                !(drop && !dropped) && tra_table_add_star(w, arg, w->call->nkids - 1, w->call->kids + 1, dropped) && ok;
        else
            ok = tra_table_add_term(w, arg) && ok;
    }
    if (!ok) return NULL;
    if (w->op.nterms == 0) return tra_table_refuse(w, w->call, "a table has columns, and this one would have none");
    return tra_table_project(w);
}

/* rows(T): the numbers of rows of all blocks, added up, in the type of the operator. */
static tra_node *count_rows(tra_table_builder *w) {
    tra_dtype t = w->op.dtype;
    tra_rows_kernel op = tra_rows_op(&tra_rows_count_ops, NULL, NULL);
    op.dtype = t, op.extent = TRA_ROWS_NONE;
    tra_node sum = {.in = {tra_table_kernel(w, w->in, NULL, 0, 0, &op)}};
    if (!sum.in[0]) return NULL;
    if (tra_kernel_named(w->b->arena, "matadd", TRA_USE_AGG, 0, NULL, &sum.kernel, NULL) != TRA_OK) return NULL;
    return tra_table_record(w, tra_build_made(w->b, TRA_OP_AGG, w->call->span, &sum));
}

static tra_node *build_rows(tra_table_builder *w) {
    w->op.dtype = TRA_I64;
    if (w->call->nkids == 1) return count_rows(w);
    return tra_table_refuse(w, w->call, "rows has one argument, a table");
}

tra_node *tra_table_count_rows(tra_build *b, tra_span span, const tra_node *x, tra_dtype t) {
    const tra_ast call = {.span = span};
    tra_table_builder w = {.b = b, .call = &call, .in = b->g->v[x->id], .op.op = TRA_TABLE_ROWS};
    w.op.dtype = t == TRA_F32 ? TRA_F32 : TRA_I64;
    if (x->type.columns) return count_rows(&w);
    return tra_diag_error(b->d, span, "make the matrix of a table here", "no table says how many rows there are");
}

/* ---- tables as matrices, and matrices as tables ------------------------------------------------------------------ */

bool tra_column_is_number(const tra_column *c) {
    return c->type == TRA_COL_BOOL || tra_coltype_is_integer(c->type) || tra_coltype_is_float(c->type);
}

const tra_column *tra_table_other_column(const tra_node *n) {
    const tra_schema *s = n->type.columns;
    for (int c = 0; s && c < s->n; c++)
        if (!tra_column_is_number(&s->v[c])) return &s->v[c];
    return NULL;
}

tra_node *tra_table_as_matrix(tra_build *b, const tra_ast *x, tra_node *n) {
    if (!n || !n->type.columns || tra_table_other_column(n)) return n;
    const tra_schema *s = n->type.columns;
    tra_ast **kids = tra_news(b->arena, tra_ast *, s->n + 1);
    for (int c = 0; c < s->n; c++) kids[c] = tra_table_ast(b->arena, TRA_AST_NAME, s->v[c].name, x->span, 0, NULL);
    tra_ast *args[] = {(tra_ast *)x, tra_table_ast(b->arena, TRA_AST_LIST, NULL, x->span, s->n, kids)};
    tra_ast *call = tra_table_ast(b->arena, TRA_AST_CALL, "matrix", x->span, 2, args);
    tra_table_builder w = {.b = b, .call = call, .in = n, .op.op = TRA_TABLE_MATRIX};
    return tra_table_matrix(&w);
}

tra_node *tra_matrix_as_table(tra_build *b, const tra_ast *x, tra_node *n) {
    if (!n || n->type.columns) return n;
    tra_table_builder w = {.b = b, .in = n, .op.op = TRA_TABLE_TABLE};
    w.call = tra_table_ast(b->arena, TRA_AST_CALL, "table", x->span, 1, (tra_ast *[]){(tra_ast *)x});
    return tra_table_of_tensor(&w);
}

typedef tra_node *relation_builder(tra_build *b, const tra_ast *x);

/* Operand i of the call as a table, or, if `tensor`, as a tensor. */
static tra_node *operand(const tra_table_builder *w, relation_builder *relation, int i, bool tensor) {
    const tra_ast *x = w->call->kids[i];
    tra_node *n = relation(w->b, x);
    if (!tensor) return tra_matrix_as_table(w->b, x, n);
    if (n && w->op.op != TRA_TABLE_TABLE) n = tra_table_as_matrix(w->b, x, n);
    if (!n || !n->type.columns) return n;
    return tra_diag_error(w->b->d, x->span, "matrix(T, [a, b]) makes a tensor of columns of a table T",
                          "this is a table already; a tensor is expected here");
}

/* How many tables are united in it. */
static int64_t united_in(const tra_node *n) {
    return n->table && n->table->op == TRA_TABLE_UNION ? n->table->united : 1;
}

/* Of n tables the last two become one, which takes the place of both. */
static bool unite_last(tra_table_builder *w, int n, tra_node **v) {
    w->in = v[n - 2], w->right = v[n - 1];
    w->op.united = united_in(w->in) + united_in(w->right);
    return (v[n - 2] = tra_table_union(w)) != NULL;
}

/* The union of tables, as a tree of unions of two: so each row passes few of them. Where the first is a union itself,
 * the tables are added to its tree, so that unions that grow one by one have the trees that they share once. */
static tra_node *unite(tra_table_builder *w, int n, tra_node *const *v) {
    int k = 0, depth = 0;
    for (const tra_node *x = v[0]; united_in(x) > 1; x = x->table->in[1]) depth++;
    tra_node **tree = tra_news(w->b->arena, tra_node *, depth + n), *at = v[0];
    for (; united_in(at) > 1 && united_in(at->table->in[1]) < united_in(at->table->in[0]);
         at = (tra_node *)at->table->in[1])
        tree[k++] = (tra_node *)at->table->in[0];
    tree[k++] = at;
    for (int i = 1; i < n; i++)
        for (tree[k++] = v[i]; k > 1 && 2 * united_in(tree[k - 1]) > united_in(tree[k - 2]); k--)
            if (!unite_last(w, k, tree)) return NULL;
    for (; k > 1; k--)
        if (!unite_last(w, k, tree)) return NULL;
    return tree[0];
}

static tra_node *build_union(tra_table_builder *w, relation_builder *relation) {
    int n = w->call->nkids;
    if (n < 2) return tra_table_refuse(w, w->call, "a union has two tables or more");
    tra_node **v = tra_news(w->b->arena, tra_node *, n);
    v[0] = w->in;
    for (int i = 1; i < n; i++) {
        v[i] = operand(w, relation, i, false);
        if (!v[i] || !tra_table_like_first(w, v[i], w->call->kids[i])) return NULL;
    }
    return unite(w, n, v);
}

/* label(X, d, T, column), align(X, d, Y, e): an operator on a tensor and what is its third argument. */
static tra_node *build_labels(tra_table_builder *w, relation_builder *relation) {
    bool align = w->op.op == TRA_TABLE_ALIGN;
    if (w->op.op == TRA_TABLE_UNLABEL) return tra_table_unlabel(w);
    if (w->call->nkids > 2 && !(w->right = operand(w, relation, 2, align))) return NULL;
    return align ? tra_table_align(w) : tra_table_label(w);
}

static tra_node *join_operand(const tra_table_builder *w, relation_builder *relation) {
    if (w->call->nkids >= 2) return operand(w, relation, 1, false);
    return tra_table_refuse(w, w->call, tra_arena_printf(w->b->arena, "%s has two tables", w->call->text));
}

tra_node *tra_build_table_op(tra_build *b, const tra_ast *call, tra_node *(*relation)(tra_build *, const tra_ast *)) {
    tra_table_builder w = {
        .b = b, .call = call, .origin = call, .op.op = (tra_table_opcode)TRA_FIND_ROW(texts, call->text)};
    bool tensor = w.op.op >= TRA_TABLE_ENTRIES; /* the operators on tensors are the last */
    if (call->nkids == 0)
        return tra_table_refuse(
            &w, call, tensor ? "its argument is missing, a tensor" : "its first argument is missing, a table");
    w.in = operand(&w, relation, 0, tensor);
    if (!w.in) return NULL;
    w.in_name = call->kids[0]->kind == TRA_AST_NAME ? call->kids[0]->text : NULL;
    switch (w.op.op) {
    case TRA_TABLE_JOIN:
    case TRA_TABLE_CROSS: w.right = join_operand(&w, relation); return w.right ? tra_table_built(&w) : NULL;
    case TRA_TABLE_UNION: return build_union(&w, relation);
    case TRA_TABLE_LABEL:
    case TRA_TABLE_UNLABEL:
    case TRA_TABLE_ALIGN: return build_labels(&w, relation);
    default:
        if (w.in->type.columns) w.call = tra_table_unqualified(&w, call, 1);
        return tra_table_built(&w);
    }
}

/* Does an argument of the call have that name? */
static bool has_named(const tra_ast *call) {
    bool any = false;
    for (int i = 1; i < call->nkids; i++) any = any || call->kids[i]->kind == TRA_AST_NAMED;
    return any;
}

static tra_node *build_call(tra_table_builder *w) {
    const tra_ast *call = w->call;
    bool list = call->nkids > 1 && call->kids[1]->kind == TRA_AST_LIST;
    bool functions = w->op.op == TRA_TABLE_GROUP || w->op.op == TRA_TABLE_WINDOW;
    if (list && functions && tra_table_has_within(w)) return tra_table_within(w);
    switch (w->op.op) {
    case TRA_TABLE_SELECT: return build_select(w);
    case TRA_TABLE_PROJECT: return build_project(w);
    case TRA_TABLE_JOIN:
    case TRA_TABLE_CROSS: return tra_table_join(w);
    case TRA_TABLE_GROUP: return tra_table_group(w);
    case TRA_TABLE_ORDER: return tra_table_order_by(w);
    case TRA_TABLE_DISTINCT: return has_named(call) ? tra_table_distinct_of(w) : tra_table_order_by(w);
    case TRA_TABLE_LIMIT: return tra_table_limit(w);
    case TRA_TABLE_WINDOW: return tra_table_window(w);
    case TRA_TABLE_MATRIX: return tra_table_matrix(w);
    case TRA_TABLE_ROWS: return build_rows(w);
    case TRA_TABLE_PIVOT: return list ? tra_table_wide(w) : tra_table_pivot(w);
    case TRA_TABLE_ENTRIES:
    case TRA_TABLE_TABLE: return tra_table_of_tensor(w);
    case TRA_TABLE_UNION: /* these have more operands, and are built above */
    case TRA_TABLE_LABEL:
    case TRA_TABLE_UNLABEL:
    case TRA_TABLE_ALIGN: break;
    }
    return NULL;
}

static tra_node *build_operator(tra_table_builder *w) {
    tra_node *n = tra_table_build_counters(w) ? build_call(w) : NULL;
    return tra_table_without(w, n, w->nadded, w->added);
}

tra_node *tra_table_built(tra_table_builder *w) { return tra_table_with_strings(w, build_operator); }

/* ---- declared tables ---------------------------------------------------------------------------------------- */

/* The columns of a table that the program declares. */
static const tra_schema *declared_columns(tra_build *b, const tra_stmt *st) {
    tra_column *v = tra_news(b->arena, tra_column, st->ncolumns);
    tra_schema *s = tra_new(b->arena, tra_schema);
    bool ok = true;
    *s = (tra_schema){st->ncolumns, v};
    for (int i = 0; i < st->ncolumns; i++) {
        const tra_column_decl *c = &st->columns[i];
        v[i].name = c->name;
        if (!tra_coltype_parse(c->type, &v[i].type)) {
            tra_diag_error(b->d, c->type_span, tra_arena_printf(b->arena, "types are %s", tra_coltype_choices()),
                           "there is no type '%s' of columns", c->type);
            ok = false;
        }
        for (int j = 0; j < i; j++)
            if (strcmp(v[j].name, c->name) == 0) {
                tra_diag_error(b->d, c->span, "give one of them another name", "there are two columns '%s'", c->name);
                ok = false;
                break;
            }
    }
    return ok ? s : NULL;
}

bool tra_build_declared_table(tra_build *b, const tra_stmt *st, tra_node *n) {
    tra_dims rows = {.n = 1}, block = {.n = 1};
    const tra_schema *s = declared_columns(b, st);
    bool ok = tra_build_int(b, st->rows, "a number of rows", 0, &rows.v[0]) && s;
    if (st->rows_block) ok = tra_build_int(b, st->rows_block, "the rows of a block", 1, &block.v[0]) && ok;
    if (!ok) return false;
    bool empty = rows.v[0] == 0;
    if (empty) rows.v[0] = block.v[0] = 1; /* it has one block, as one of a file has (lib/tablefile/table_open.c) */
    if (!st->rows_block) block.v[0] = tra_max64(1, tra_min64(rows.v[0], TRA_TABLE_BLOCK_ROWS));
    tra_catalog *c = tra_new(b->arena, tra_catalog);
    tra_err e = {0};
    if (tra_catalog_blocks(&rows, &block, c, &e) != TRA_OK)
        return tra_diag_error(b->d, st->rows->span, NULL, "%s", e.msg);
    n->type =
        (tra_type){.dtype = TRA_F64, .cat = c, .layout = &tra_columns, .columns = s, .bounded = empty, .cut = {1}};
    if (empty) n->rows = tra_table_own_rows(b, n);
    return true;
}
