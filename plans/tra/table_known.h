/* table_known.h - what the statistics of files say of the rows of operators. Private to plans/tra. */
#ifndef TRA_TABLE_KNOWN_H
#define TRA_TABLE_KNOWN_H

#include "tables.h"

/* How many rows of the table have the same value in that column at most, NULL being a value if `nulls`; INT64_MAX where
 * nothing is known. */
int64_t tra_table_repeats(const tra_graph *g, const tra_node *n, int column, bool nulls);
/* A bound of the pairs of rows that are equal in these columns, counted by the frequencies of all values of the files
 * that they are of; INT64_MAX where these are not known. nulls: NULLs are equal. */
int64_t tra_table_pairs_most(const tra_graph *g, const tra_node *left, int lcolumn, const tra_node *right, int rcolumn,
                             bool nulls);
/* How many groups there are at most by the first nkeys columns, INT64_MAX where nothing is known. x: the expressions
 * that these columns are computed by, or NULL. */
int64_t tra_table_groups_most(const tra_schema *s, int nkeys, const tra_colexpr *const *x);
/* How many groups are expected of so many rows. */
double tra_table_groups_about(const tra_schema *s, int nkeys, const tra_colexpr *const *x, double rows);

#endif
