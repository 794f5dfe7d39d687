/* table_bounds.c - bounds by the statistics of files: how many rows have one value, how many groups there are. */
#include "table_bounds.h"
#include "table_estimates.h"

/* The statistics of a column; false if there are none. */
static bool facts_of(const tra_column *c, tra_arena *a, tra_column_facts *f) {
    return tra_table_facts(c->file, c->number, a, f);
}

/* ---- rows with one value ------------------------------------------------------------------------------------ */

/* How often any value occurs, at most. A value that is not listed occurs no more often than the last listed one, or, as
 * it may not have been a candidate for the list, than by how much the count that finds candidates is too low, which is
 * a 2^15th of the rows at most (lib/relation/table_facts.c). */
static int64_t most_frequent(const tra_column_facts *f) {
    int64_t most = 1;
    if (f->exact && f->distinct == f->rows - f->nulls) return 1;
    if (!f->whole) { /* the most frequent values are listed, the most frequent first */
        int64_t last = f->n == TRA_TOP_FREQUENCIES ? f->frequency[f->n - 1][1] : 0;
        return tra_max64(f->n > 0 ? f->frequency[0][1] : 1, tra_add_most(last, f->rows / (1 << 15) + 1));
    }
    for (int64_t i = 0; i < f->n; i++) most = tra_max64(most, f->frequency[i][1]);
    return most;
}

/* The operator on tables whose result the node is, or NULL. */
static const tra_table_op *op_of(const tra_graph *g, const tra_node *n) {
    for (int i = g->ntables - 1; i >= 0; i--)
        if (g->tables[i]->node == n) return g->tables[i];
    return NULL;
}

/* The column of the first operand that a column of the result is, if the result has each row of that operand once at
 * most; else -1. */
static int column_of_operand(const tra_table_op *op, int column) {
    const tra_schema *in = op->in[0]->type.columns;
    switch (op->op) {
    case TRA_TABLE_SELECT:
    case TRA_TABLE_ORDER:
    case TRA_TABLE_DISTINCT:
    case TRA_TABLE_LIMIT: return column;
    case TRA_TABLE_PROJECT: {
        const tra_colexpr *x = column < op->nterms ? op->term[column].x : NULL;
        return x && x->op == TRA_C_COLUMN ? x->column : -1;
    }
    case TRA_TABLE_JOIN: {
        tra_lookup_how how = op->lookup.how;
        bool no_pairs = how == TRA_LOOKUP_SEMI || how == TRA_LOOKUP_ANTI || how == TRA_LOOKUP_KEEP;
        bool one_partner = op->lookup.unique && (how == TRA_LOOKUP_INNER || how == TRA_LOOKUP_LEFT);
        return (no_pairs || one_partner) && column < in->n ? column : -1;
    }
    case TRA_TABLE_WINDOW: return column < in->n ? column : -1;
    case TRA_TABLE_CROSS:
    case TRA_TABLE_GROUP:
    case TRA_TABLE_UNION:
    case TRA_TABLE_MATRIX:
    case TRA_TABLE_ROWS:
    case TRA_TABLE_PIVOT:
    case TRA_TABLE_ENTRIES:
    case TRA_TABLE_TABLE:
    case TRA_TABLE_LABEL:
    case TRA_TABLE_UNLABEL:
    case TRA_TABLE_ALIGN: break;
    }
    return -1;
}

/* The column of an input whose values a column has, each row of the input being there once at most. NULL if there is
 * none; then *differ says whether all values of the column differ, since it is the only key of a group. */
static const tra_column *column_of_input(const tra_graph *g, const tra_node *n, int column, bool *differ) {
    const tra_table_op *op;
    *differ = false;
    while ((op = op_of(g, n))) {
        *differ = op->op == TRA_TABLE_GROUP && op->nterms == 1 && column == 0;
        column = column_of_operand(op, column);
        if (column < 0) return NULL;
        n = op->in[0];
    }
    return n->op == TRA_OP_INPUT ? &n->type.columns->v[column] : NULL;
}

int64_t tra_table_rows_per_value(const tra_graph *g, const tra_node *n, int column, bool nulls) {
    tra_column_facts f;
    bool differ;
    const tra_column *c = column_of_input(g, n, column, &differ);
    if (!c) return differ ? 1 : INT64_MAX;
    tra_arena *a = tra_arena_new();
    int64_t most = INT64_MAX;
    if (facts_of(c, a, &f)) most = tra_max64(most_frequent(&f), nulls ? f.nulls : 1);
    tra_arena_free(a);
    return most;
}

static bool is_whole(const tra_column *c) {
    return c->type == TRA_COL_BOOL || c->type == TRA_COL_I32 || c->type == TRA_COL_I64;
}

int64_t tra_table_pairs_most(const tra_graph *g, const tra_node *left, int lcolumn, const tra_node *right, int rcolumn,
                             bool nulls) {
    bool differ;
    const tra_column *l = column_of_input(g, left, lcolumn, &differ), *r = column_of_input(g, right, rcolumn, &differ);
    tra_column_facts x, y;
    int64_t most = INT64_MAX;
    if (!l || !r || tra_coltype_is_float(l->type) || !(l->type == r->type || (is_whole(l) && is_whole(r))))
        return INT64_MAX;
    if (tra_coltype_is_coded(l->type) && (!l->dict || !r->dict)) return INT64_MAX;
    tra_arena *a = tra_arena_new();
    if (facts_of(l, a, &x) && facts_of(r, a, &y) && x.whole && y.whole) {
        most = tra_table_count_pairs(l, r, &x, &y, a);
        if (nulls) most = tra_add_most(most, tra_mul_most(x.nulls, y.nulls));
    }
    tra_arena_free(a);
    return most;
}

/* ---- groups ------------------------------------------------------------------------------------------------- */

/* How many different whole numbers lie in the range that the expression is known to have. */
static int64_t values_in_range(const tra_colexpr *x) {
    if (!x || tra_coltype_is_float(x->type) || tra_coltype_is_coded(x->type)) return INT64_MAX;
    __int128 n = (__int128)x->most - x->least + 1;
    return n < 0 ? 0 : n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

int64_t tra_table_values_most(const tra_column *c, const tra_colexpr *x) {
    tra_column_facts f;
    int64_t most = c->type == TRA_COL_BOOL                    ? 2
                   : tra_coltype_is_coded(c->type) && c->dict ? c->dict->n
                                                              : values_in_range(x);
    tra_arena *a = tra_arena_new();
    if (facts_of(c, a, &f) && f.exact) most = tra_min64(most, f.distinct);
    tra_arena_free(a);
    return c->nullable ? tra_add_most(most, 1) : most;
}

int64_t tra_table_groups_most(const tra_schema *s, int nkeys, const tra_colexpr *const *x) {
    int64_t most = 1;
    for (int k = 0; k < nkeys; k++) most = tra_mul_most(most, tra_table_values_most(&s->v[k], x ? x[k] : NULL));
    return most;
}
