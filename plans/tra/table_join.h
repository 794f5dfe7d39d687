/* table_join.h - the columns of a join (table_join_columns.c), as-of joins (table_asof.c). Private to these and to
 * table_join.c. */
#ifndef TRA_TABLE_JOIN_COLUMNS_H
#define TRA_TABLE_JOIN_COLUMNS_H

#include "table_build.h"

/* The number of the column of one table (0: the left one) that a side of a comparison names, or -1. */
int tra_join_column_of(const tra_table_builder *w, int side, const tra_ast *x);
/* How many conditions are joined by &&. */
int tra_join_count_conditions(const tra_ast *x);
/* Splits conditions that are joined by &&: equalities of columns become keys; *rest gets the others, joined by &&. */
void tra_join_split_conditions(tra_table_builder *w, const tra_ast *x, int *lkey, int *rkey, const tra_ast **rest);
/* Gives columns of the right table whose names the left one has other names: with that of the table, or r_, before
 * them. The table becomes a projection of itself. */
bool tra_join_rename_clashes(tra_table_builder *w);
/* The condition with "L.a" and "R.b" replaced by the names that these columns have in pairs; right: the columns of the
 * right table as the program has them. NULL after a diagnostic. */
const tra_ast *tra_join_without_tables(const tra_table_builder *w, const tra_schema *right, const tra_ast *x);
/* Advice where both tables are the same relation, so that "L.a" does not say whose column it is; NULL: they are not. */
const char *tra_join_of_one_name(const tra_table_builder *w);
/* "a, b, c" of the columns of a table. */
const char *tra_join_column_names(const tra_table_builder *w, const tra_schema *s);

/* Makes the join of w an as-of join: the times go behind the keys. within: NULL: there is none. False after a
 * diagnostic. */
bool tra_join_asof(tra_table_builder *w, const tra_ast *asof, const tra_ast *within, int *lkey, int *rkey);
/* "asof = t >= u, within = 5" of an as-of join, of others nothing. */
void tra_join_asof_print(const tra_lookup_spec *s, tra_str *out);

#endif
