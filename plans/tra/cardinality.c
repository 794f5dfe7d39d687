/* cardinality.c - how many groups are expected. */
#include "cardinality.h"

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

/* Columns are taken to be independent of each other. */
double tra_table_groups_expected(const tra_schema *s, int nkeys, const tra_colexpr *const *x, double rows) {
    double values = 1;
    for (int k = 0; k < nkeys; k++) {
        tra_column_facts f;
        int64_t most = tra_table_values_most(&s->v[k], x ? x[k] : NULL);
        bool known = tra_table_facts(s->v[k].file, s->v[k].number, &f) && f.rows > 0;
        if (known && nkeys == 1) return distinct_of_column(&f, rows);
        if (!known && most > 1 << 20) return 0.1 * rows;
        values *= known ? (double)(f.distinct + (f.nulls > 0)) : (double)most;
    }
    return nkeys ? tra_distinct_after(values, rows) : 1;
}
