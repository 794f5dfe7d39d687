/* table_stats.h - what operators on tables are expected to leave, by the statistics of files. */
#ifndef TRA_TABLE_STATS_H
#define TRA_TABLE_STATS_H

#include "../../lib/table/join.h"
#include "../../lib/table/table.h"

/* The share of rows for which a predicate is expected to be true. */
double tra_table_share(const tra_colexpr *predicate);

/* Of a join with all of the right table, each key by itself. */
typedef struct tra_partners {
    double has;   /* the share of the left rows that have a partner */
    double pairs; /* the share of all pairs of rows whose keys are equal */
} tra_partners;
/* False: the statistics of a key are not there. */
bool tra_table_partners(const tra_lookup_spec *s, tra_partners *out);
/* The pairs of rows of two files whose values in a column are equal, of which all are known. */
struct tra_column_facts;
int64_t tra_table_pairs(const tra_column *l, const tra_column *r, const struct tra_column_facts *x,
                        const struct tra_column_facts *y, tra_arena *a);

#endif
