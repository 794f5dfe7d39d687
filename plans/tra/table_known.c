/* table_known.c - what the statistics of files say of the rows of operators: how many have one value, how many groups
 * there are. Bounds hold whatever the program does with the rows before; estimates take columns for independent. */
#include "table_known.h"
#include "table_stats.h"

#include <math.h>
#include <string.h>

#include "../../lib/relation/table_file.h"

static bool facts_of(const tra_column *c, tra_arena *a, tra_column_facts *f) {
    return c->file && tra_rel_column_facts(c->file, c->number, a, f, NULL) == TRA_OK;
}

/* ---- rows with one value ----------------------------------------------------------------------------------------- */

/* How often a value may occur that is not among the listed ones. The count that finds candidates is too low by at most
 * a 2^15th of the rows, and a candidate that was counted exactly and is not listed is no more frequent than those that
 * are (lib/relation/table_facts.c). */
static int64_t most_repeated(const tra_column_facts *f) {
    int64_t most = f->n > 0 && !f->whole ? f->frequency[0][1] : 1;
    if (f->exact && f->distinct == f->rows - f->nulls) return 1;
    for (int64_t i = 0; f->whole && i < f->n; i++) most = tra_max64(most, f->frequency[i][1]);
    int64_t listed = f->n == TRA_TOP_FREQUENCIES ? f->frequency[f->n - 1][1] : 0;
    return f->whole ? most : tra_max64(most, tra_add_most(listed, f->rows / (1 << 15) + 1));
}

static const tra_table_op *op_of(const tra_graph *g, const tra_node *n) {
    for (int i = g->ntables - 1; i >= 0; i--)
        if (g->tables[i]->node == n) return g->tables[i];
    return NULL;
}

/* The column of the operand that a column of the result is, for operators whose result has each row of the operand once
 * at most; -1 for other operators and columns. */
static int column_before(const tra_table_op *op, int column) {
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
        bool some =
            op->lookup.how == TRA_LOOKUP_SEMI || op->lookup.how == TRA_LOOKUP_ANTI || op->lookup.how == TRA_LOOKUP_KEEP;
        bool one = op->lookup.unique && (op->lookup.how == TRA_LOOKUP_INNER || op->lookup.how == TRA_LOOKUP_LEFT);
        return (some || one) && column < in->n ? column : -1;
    }
    case TRA_TABLE_CROSS:
    case TRA_TABLE_GROUP:
    case TRA_TABLE_UNION:
    case TRA_TABLE_MATRIX:
    case TRA_TABLE_ROWS:
    case TRA_TABLE_PIVOT:
    case TRA_TABLE_ENTRIES:
    case TRA_TABLE_TABLE: break;
    }
    return -1;
}

/* The column of a file whose values this column has, each row of the file being there once at most. NULL: there is
 * none; then *groups says whether the column is the only key of a group, so that its values differ. */
static const tra_column *column_of_input(const tra_graph *g, const tra_node *n, int column, bool *groups) {
    const tra_table_op *op;
    *groups = false;
    while ((op = op_of(g, n))) {
        *groups = op->op == TRA_TABLE_GROUP && op->nterms == 1 && column == 0;
        column = column_before(op, column);
        if (column < 0) return NULL;
        n = op->in[0];
    }
    return n->op == TRA_OP_INPUT ? &n->type.columns->v[column] : NULL;
}

int64_t tra_table_repeats(const tra_graph *g, const tra_node *n, int column, bool nulls) {
    tra_column_facts f;
    bool groups;
    const tra_column *c = column_of_input(g, n, column, &groups);
    if (!c) return groups ? 1 : INT64_MAX;
    tra_arena *a = tra_arena_new();
    int64_t most = INT64_MAX;
    if (facts_of(c, a, &f)) most = tra_max64(most_repeated(&f), nulls ? f.nulls : 1);
    tra_arena_free(a);
    return most;
}

static bool is_whole(const tra_column *c) {
    return c->type == TRA_COL_BOOL || c->type == TRA_COL_I32 || c->type == TRA_COL_I64;
}

int64_t tra_table_pairs_most(const tra_graph *g, const tra_node *left, int lcolumn, const tra_node *right, int rcolumn,
                             bool nulls) {
    bool groups;
    const tra_column *l = column_of_input(g, left, lcolumn, &groups), *r = column_of_input(g, right, rcolumn, &groups);
    tra_column_facts x, y;
    int64_t most = INT64_MAX;
    if (!l || !r || tra_coltype_is_float(l->type) || !(l->type == r->type || (is_whole(l) && is_whole(r))))
        return INT64_MAX;
    if (tra_coltype_is_coded(l->type) && (!l->dict || !r->dict)) return INT64_MAX;
    tra_arena *a = tra_arena_new();
    if (facts_of(l, a, &x) && facts_of(r, a, &y) && x.whole && y.whole) {
        most = tra_table_pairs(l, r, &x, &y, a);
        if (nulls) most = tra_add_most(most, tra_mul_most(x.nulls, y.nulls));
    }
    tra_arena_free(a);
    return most;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* How many different whole numbers lie in the range that the expression is known to have. */
static int64_t range(const tra_colexpr *x) {
    if (!x || tra_coltype_is_float(x->type) || tra_coltype_is_coded(x->type)) return INT64_MAX;
    __int128 n = (__int128)x->most - x->least + 1;
    return n < 0 ? 0 : n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static int64_t values_most(const tra_column *c, const tra_colexpr *x) {
    tra_column_facts f;
    int64_t most = c->type == TRA_COL_BOOL ? 2 : tra_coltype_is_coded(c->type) && c->dict ? c->dict->n : range(x);
    tra_arena *a = tra_arena_new();
    if (facts_of(c, a, &f) && f.exact) most = tra_min64(most, f.distinct);
    tra_arena_free(a);
    return c->nullable ? tra_add_most(most, 1) : most;
}

int64_t tra_table_groups_most(const tra_schema *s, int nkeys, const tra_colexpr *const *x) {
    int64_t most = 1;
    for (int k = 0; k < nkeys; k++) most = tra_mul_most(most, values_most(&s->v[k], x ? x[k] : NULL));
    return most;
}

/* The expected number of different values among n draws from d equally frequent ones. */
static double differing(double d, double n) { return d < 1 ? 0 : -d * expm1(n * (d > 1 ? log1p(-1 / d) : -700)); }

/* The same for n rows of a column whose commonest values are listed with their frequencies. */
static double differing_of(const tra_column_facts *f, double n) {
    double sum = 0, listed = 0;
    for (int64_t i = 0; i < f->n; i++) {
        double p = (double)f->frequency[i][1] / (double)f->rows;
        sum += -expm1(n * log1p(p < 1 ? -p : -0.999999));
        listed += p;
    }
    if (f->nulls > 0) listed += (double)f->nulls / (double)f->rows, sum += 1;
    double rest = (double)(f->distinct - f->n);
    return sum + (rest > 0 && listed < 1 ? differing(rest, n * (1 - listed)) : 0);
}

double tra_table_groups_about(const tra_schema *s, int nkeys, const tra_colexpr *const *x, double rows) {
    double values = 1;
    for (int k = 0; k < nkeys; k++) {
        tra_column_facts f;
        tra_arena *a = tra_arena_new();
        int64_t most = values_most(&s->v[k], x ? x[k] : NULL);
        bool known = facts_of(&s->v[k], a, &f) && f.rows > 0;
        if (known && nkeys == 1) {
            double about = differing_of(&f, rows);
            tra_arena_free(a);
            return about;
        }
        tra_arena_free(a);
        if (!known && most > 1 << 20) return 0.1 * rows;
        values *= known ? (double)(f.distinct + (f.nulls > 0)) : (double)most;
    }
    return nkeys ? differing(values, rows) : 1;
}
