/* cardinality.c - how many groups are expected. */
#include "cardinality.h"

#include "../../lib/table/kernels.h"

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
