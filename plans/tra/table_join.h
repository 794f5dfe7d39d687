/* table_join.h - joins (table_join.c): their columns (table_join_columns.c), as-of joins (table_asof.c), and selections
 * of all pairs (table_join_selected.c). Private to these, and to who selects. */
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

/* The join that s says; NULL after a diagnostic at `at`. */
tra_lookup *tra_join_lookup(tra_table_builder *w, const tra_lookup_spec *s, const tra_ast *at);
/* A join that kernels know, as a node. The right table is in one block, or divided if it has too many rows for that;
 * where all pairs are made of too many rows, both are. */
tra_node *tra_join_node(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                        tra_node *right);
/* The column that a key is: equal keys mean that it has equal values; -1: the key is computed otherwise. */
int tra_join_key_column(const tra_colexpr *x);
/* Does the result have column `right` of the right table only as a key, which is column *left of the left table? */
bool tra_join_shares_key(const tra_lookup_spec *s, int right, int *left);
/* Has a condition on pairs a part for which both tables count? */
bool tra_join_is_of_both(const tra_table_builder *w, const tra_colexpr *x);
/* If w selects by x of all pairs of two tables, and x says which rows can meet: their join, with the columns of all
 * pairs, and in *rest what of x remains to be selected by (NULL: nothing). NULL: it is something else. */
tra_node *tra_table_join_selected(tra_table_builder *w, const tra_colexpr *x, const tra_colexpr **rest);

#endif
