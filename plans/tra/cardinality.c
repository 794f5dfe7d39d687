/* cardinality.c - how many groups are expected. */
#include "cardinality.h"

#include "../../lib/table/kernels.h"
#include "../../lib/table/window.h"

#include <math.h>

/* The different values among n rows of a column whose most frequent values are listed with their frequencies. */
static double distinct_of_column(const tra_column_facts *f, double n) {
    double sum = 0, listed = 0;
    for (int64_t i = 0; i < f->n; i++) {
        double p = (double)f->frequency[i][1] / (double)f->rows;
        sum += tra_any_of(p, n);
        listed += p;
    }
    double nulls = (double)f->nulls / (double)f->rows;
    listed += nulls, sum += tra_any_of(nulls, n);
    double rest = (double)(f->distinct - f->n);
    return sum + (rest > 0 && listed < 1 ? tra_distinct_after(rest, n * (1 - listed)) : 0);
}

/* Different values of a column that is computed; at most so many. */
static double computed_values(const tra_node *n, int column, int64_t most) {
    tra_arena *a = tra_arena_new();
    double values = tra_table_drawn_values(tra_table_over_passes(a, n, tra_colexpr_column(a, n->type.columns, column)));
    tra_arena_free(a);
    return values < 0 ? (double)most : fmin(values, (double)most);
}

/* Are the rows of n those of the file that the column comes from, in its order, but for those that passes left out? */
static bool is_in_file_order(const tra_node *n, const tra_column *c) {
    const tra_rows_kernel *k;
    while (n->op == TRA_OP_TRANSFORM && (k = tra_kernel_rows(n->kernel)) && k->ops == &tra_rowwise_ops) n = n->in[0];
    return n->op == TRA_OP_INPUT && n->input.rel == c->file;
}

/* The share of the values of a column that so many successive rows of n have: fewer than all where these are sorted. */
static double share_of_values(const tra_node *n, const tra_column *c, const tra_column_facts *f, double rows) {
    double all = n ? (double)tra_type_entries(&n->type).expected : 0;
    return all > rows && f->sorted && is_in_file_order(n, c) ? rows / all : 1;
}

/* Columns are taken to be independent of each other. */
double tra_table_groups_expected(const tra_schema *s, int nkeys, const tra_node *n, const int *column,
                                 const tra_colexpr *const *x, double rows) {
    static const double MANY = 1 << 20, ASSUMED = 0.1; /* of the rows, where nothing is known of a key */
    double values = 1;
    for (int k = 0; k < nkeys; k++) {
        tra_column_facts f;
        int64_t most = tra_table_values_most(&s->v[k], x ? x[k] : NULL);
        bool known = tra_table_facts(s->v[k].file, s->v[k].number, &f) && f.rows > 0;
        double share = known ? share_of_values(n, &s->v[k], &f, rows) : 1;
        if (known && nkeys == 1 && share == 1) return distinct_of_column(&f, rows);
        double expected = known ? fmax(1, share * (double)f.distinct) + (f.nulls > 0) : (double)most;
        if (!known && n) expected = computed_values(n, column[k], most);
        if (!known && expected == (double)most && expected > MANY) return ASSUMED * rows;
        values *= expected;
    }
    return nkeys ? tra_distinct_after(values, rows) : 1;
}

/* ---- keys that windows count ------------------------------------------------------------------------------------ */

/* The window that column *c of n comes from, by operators that keep or leave out rows, or the first operator that is no
 * more such; *c: the number there. */
static const tra_table_op *origin_of(const tra_node *n, int *c) {
    const tra_table_op *op;
    int side;
    while ((op = n->table) && tra_table_passed(op, c, &side)) {
        bool rows = op->op == TRA_TABLE_SELECT || op->op == TRA_TABLE_PROJECT || op->op == TRA_TABLE_WINDOW ||
                    op->op == TRA_TABLE_ORDER;
        if (!rows) return NULL;
        n = op->in[0];
    }
    return op;
}

/* The share of the rows of a group that differ in such a function of them. */
static double share_counted(const tra_table_around *f) {
    static const double SUMMED = 0.5; /* of ones and zeros perhaps, or of any numbers */
    if (f->f == TRA_WINDOW_ROW_NUMBER) return 1;
    if (f->f == TRA_WINDOW_RANK || f->f == TRA_WINDOW_DENSE_RANK) return SUMMED;
    bool grows = f->frame.open[0] && !f->frame.open[1];
    return grows && (f->f == TRA_WINDOW_COUNT || f->f == TRA_WINDOW_SUM) ? SUMMED : 0;
}

/* Does column c of the operand of the window reach one of the keys? */
static bool is_key(const tra_node *n, int nkeys, const tra_colexpr *const *x, const tra_node *in, int c) {
    for (int k = 0; k < nkeys; k++) {
        int at = x[k] && x[k]->op == TRA_C_COLUMN ? x[k]->column : -1;
        const tra_node *t = n;
        const tra_table_op *op;
        int side;
        while (at >= 0 && t != in && (op = t->table) && tra_table_passed(op, &at, &side)) t = op->in[side];
        if (t == in && at == c) return true;
    }
    return false;
}

double tra_table_counted_share(const tra_node *n, int nkeys, const tra_colexpr *const *x) {
    double most = 0;
    for (int k = 0; k < nkeys; k++) {
        int c = x[k] && x[k]->op == TRA_C_COLUMN ? x[k]->column : -1;
        const tra_table_op *op = c >= 0 ? origin_of(n, &c) : NULL;
        if (!op || op->op != TRA_TABLE_WINDOW || c < op->in[0]->type.columns->n) continue;
        double share = share_counted(&op->around[c - op->in[0]->type.columns->n]);
        for (int i = 0; i < op->nkeys && share > 0; i++) {
            const tra_colexpr *by = op->term[i].x;
            if (by->op != TRA_C_COLUMN || !is_key(n, nkeys, x, op->in[0], by->column)) share = 0;
        }
        most = fmax(most, share);
    }
    return most;
}
