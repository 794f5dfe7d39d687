/* table_estimates.h - what operators on tables are expected to leave, by the statistics of files. */
#ifndef TRA_TABLE_ESTIMATES_H
#define TRA_TABLE_ESTIMATES_H

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/join.h"
#include "../../lib/table/table.h"

/* The statistics of a column of a file; false if there are none. */
bool tra_table_facts(struct tra_rel *file, int number, tra_column_facts *out);

/* The share of rows for which a predicate is expected to be true. */
double tra_table_selectivity(const tra_colexpr *predicate);

/* A join of all rows of two tables, as if its keys were independent of each other. */
typedef struct tra_join_selectivity {
    double matched; /* the share of left rows that have a partner */
    double pairs;   /* the share of all pairs of rows whose keys are equal */
} tra_join_selectivity;
/* False if the statistics of a key are not known; then *out says that every row meets every row. */
bool tra_table_join_selectivity(const tra_lookup_spec *s, tra_join_selectivity *out);
/* The share of these pairs that is expected to lie in what the condition bounds (lib/table/band.h); 1: it bounds
 * nothing. rows: of the right table. (table_band_estimates.c) */
double tra_table_band_selectivity(const tra_lookup *l, double rows);
/* How many pairs of rows have equal values in columns l and r of two files, of which x and y have all values. */
int64_t tra_table_count_pairs(const tra_column *l, const tra_column *r, const tra_column_facts *x,
                              const tra_column_facts *y, tra_arena *a);

#endif
