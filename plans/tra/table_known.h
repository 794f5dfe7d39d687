/* table_known.h - what the statistics of files say of the rows of operators. Private to plans/tra. */
#ifndef TRA_TABLE_KNOWN_H
#define TRA_TABLE_KNOWN_H

#include "tables.h"

/* So many rows of the table have one value in that column, at most (nulls: or NULL); INT64_MAX: who knows. */
int64_t tra_table_repeats(const tra_graph *g, const tra_node *n, int column, bool nulls);
/* A bound of the pairs of rows that are equal in these columns, counted by the frequencies of all values of the files
 * that they are of; INT64_MAX where these are not known. nulls: NULLs are equal. */
int64_t tra_table_pairs_most(const tra_graph *g, const tra_node *left, int lcolumn, const tra_node *right, int rcolumn,
                             bool nulls);
/* So many groups at most by the first nkeys columns; INT64_MAX: who knows. x: what they are computed as; may be NULL.
 */
int64_t tra_table_groups_most(const tra_schema *s, int nkeys, const tra_colexpr *const *x);
/* So many groups are expected of so many rows. */
double tra_table_groups_about(const tra_schema *s, int nkeys, const tra_colexpr *const *x, double rows);

#endif
