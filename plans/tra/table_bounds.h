/* table_bounds.h - bounds of rows and groups by the statistics of files, whatever the program does with the rows
 * before. Private to plans/tra. */
#ifndef TRA_TABLE_BOUNDS_H
#define TRA_TABLE_BOUNDS_H

#include "table_ops.h"

/* All of these are INT64_MAX where nothing is known. */

/* How many rows of the table have the same value in a column, at most. nulls: NULL is a value too. */
int64_t tra_table_rows_per_value(const tra_graph *g, const tra_node *n, int column, bool nulls);
/* Does no row of the table agree with another one in all of these n columns, since a group or distinct made them so? */
bool tra_table_keys_differ(const tra_graph *g, const tra_node *t, int n, const int *column);
/* The operator on tables whose result the node is, or NULL. */
const tra_table_op *tra_table_op_of(const tra_graph *g, const tra_node *n);
/* How many pairs of rows are equal in these columns, at most: counted by the frequencies of all values of the files
 * that the columns come from. nulls: NULLs are equal. */
int64_t tra_table_pairs_most(const tra_graph *g, const tra_node *left, int lcolumn, const tra_node *right, int rcolumn,
                             bool nulls);
/* How many different values a column has at most, NULL included. x: the expression that computes it, or NULL. */
int64_t tra_table_values_most(const tra_column *c, const tra_colexpr *x);
/* How many different combinations of values the columns x read of a table have, at most: as many as any table has rows
 * that all of these columns come from. */
int64_t tra_table_combinations_most(const tra_graph *g, const tra_node *n, int nx, const tra_colexpr *const *x);
/* How many groups there are by the first nkeys columns of s, at most. x: the expressions over table n that compute
 * these columns. */
int64_t tra_table_groups_most(const tra_graph *g, const tra_node *n, const tra_schema *s, int nkeys,
                              const tra_colexpr *const *x);

#endif
