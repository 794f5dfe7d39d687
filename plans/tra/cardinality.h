/* cardinality.h - how many rows, groups and entries are expected, and how many there are at most: what types, rules and
 * storel estimate by.
 *
 * Formulas of chance are in lib/base/chance.h; how many entries kernels make is in lib/kernel/entries.c; what rules
 * know of a group, and so expect of it, in rules/facts.h. */
#ifndef TRA_CARDINALITY_H
#define TRA_CARDINALITY_H

#include "../../lib/base/chance.h"
#include "../../lib/table/table.h"
#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/join.h"
#include "table_ops.h"

/* How many groups so many successive rows of table n (NULL: not told) are expected to have by the first nkeys columns
 * of s, which are these columns of n. x: the expressions that compute them, or NULL. */
double tra_table_groups_expected(const tra_schema *s, int nkeys, const tra_node *n, const int *column,
                                 const tra_colexpr *const *x, double rows);

/* The share of the rows of n that differ in keys x, columns of n, since one of them is what a window counts or adds up
 * in groups by others of them; 0: none is. */
double tra_table_counted_share(const tra_node *n, int nkeys, const tra_colexpr *const *x);

/* ---- what predicates and joins leave (table_estimates.c) -------------------------------------------------------- */

/* A value of the statistics of such a column as a number. */
double tra_table_number(tra_coltype t, int64_t bits);
/* The statistics of a column of a file; false if there are none. */
bool tra_table_facts(struct tra_rel *file, int number, tra_column_facts *out);

/* The share of rows for which a predicate is expected to be true. */
double tra_table_selectivity(const tra_colexpr *predicate);

/* The same of a predicate on table n, whose columns may be aggregates of groups. (table_having.c) */
double tra_table_selectivity_of(const tra_node *n, const tra_colexpr *predicate);
/* The share of rows whose value compares as `op` says with y, by the statistics of their column. */
double tra_table_share_compared(const tra_column_facts *f, tra_coltype t, tra_colop op, double y);
/* Does it compare a column *l, of no strings, by *op with a constant *r that is not NULL? */
bool tra_table_compares(const tra_colexpr *x, const tra_colexpr **l, tra_colop *op, const tra_colexpr **r);

/* The shares of rows for which a predicate is true and false, of rows that are drawn by the statistics of its columns.
 * False: of a column none are known, or it needs strings that no table has. (table_drawn.c) */
bool tra_table_drawn(const tra_colexpr *predicate, double *yes, double *no);
/* How many different values an expression is expected to have, NULL among them, by rows that are drawn so; -1: as
 * above. */
double tra_table_drawn_values(const tra_colexpr *x);
/* Rewrites x, which reads columns of n, to read those of the table that n is made of by passes that select and project.
 * In the arena. */
const tra_colexpr *tra_table_over_passes(tra_arena *a, const tra_node *n, const tra_colexpr *x);

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

/* ---- bounds of rows and groups by the statistics of files (table_bounds.c) -------------------------------------- */

/* All of these are INT64_MAX where nothing is known. */

/* How many rows of the table have the same value in a column, at most. nulls: NULL is a value too. */
int64_t tra_table_rows_per_value(const tra_node *n, int column, bool nulls);
/* Does no row of the table agree with another one in all of these n columns, since a group or distinct made them so? */
bool tra_table_keys_differ(const tra_node *t, int n, const int *column);
/* The operator whose result the node is, or whose result it selects or projects; NULL: none. */
const tra_table_op *tra_table_op_below_passes(const tra_node *n);
/* Has a column of the result the values of one of an operand, or NULL in rows that have no partner in this? *column
 * becomes its number there, and *side the operand's. Of a group: its keys. */
bool tra_table_passed(const tra_table_op *op, int *column, int *side);
/* The same of a join or cross; -1: it has not. */
int tra_join_operand_column(const tra_table_op *op, int c, int *side);
/* How many pairs of rows are equal in these columns, at most: counted by the frequencies of all values of the files
 * that the columns come from. nulls: NULLs are equal. */
int64_t tra_table_pairs_most(const tra_node *left, int lcolumn, const tra_node *right, int rcolumn, bool nulls);
/* How many different values a column has at most, NULL included. x: the expression that computes it, or NULL. */
int64_t tra_table_values_most(const tra_column *c, const tra_colexpr *x);
/* How many different combinations of values the columns x read of a table have, at most: as many as any table has rows
 * that all of these columns come from. */
int64_t tra_table_combinations_most(const tra_node *n, int nx, const tra_colexpr *const *x);
/* How many groups there are by the first nkeys columns of s, at most. x: the expressions over table n that compute
 * these columns. */
int64_t tra_table_groups_most(const tra_node *n, const tra_schema *s, int nkeys, const tra_colexpr *const *x);

#endif
