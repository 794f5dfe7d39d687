/* table_build.h - from the syntax of operators on tables to nodes. Private to plans/tra.
 *
 * What returns a node returns NULL after a diagnostic, and takes NULL for a node where building that has failed. What
 * returns bool returns false after a diagnostic, unless another meaning is given. Everything is in the arena of the
 * program.
 */
#ifndef TRA_TABLE_BUILD_H
#define TRA_TABLE_BUILD_H

#include "../../lib/table/kernels.h"
#include "build.h"
#include "table_ops.h"

enum { TRA_TABLE_BLOCK_ROWS = 1 << 18 }; /* rows of a block of usual size, as import makes them */

/* What is assumed of kernels on rows: operations for each row that is sorted, and that is looked up; and the share of
 * rows that remain where only the first of equal rows does, or those that have a partner, and nothing is known. */
enum { TRA_SORT_FLOPS = 50, TRA_LOOKUP_FLOPS = 20 };
#define TRA_SHARE_ASSUMED 0.5

/* ---- expressions (table_expr.c) ----------------------------------------------------------------------------- */

/* What names in an expression stand for: params, and columns of a table. */
typedef struct tra_table_scope {
    tra_build *b;
    const tra_schema *columns;
    const char *table; /* what messages call the table; NULL: "this table" */
    bool row_allowed;  /* row() may stand here */
} tra_table_scope;

/* Resolves the names of an expression and types it: *out is name = x. */
bool tra_table_build_term(const tra_table_scope *sc, const char *name, const tra_ast *x, tra_table_term *out);
/* The same of a predicate, which has no name and must be a bool. */
bool tra_table_build_predicate(const tra_table_scope *sc, const tra_ast *x, tra_table_term *out);
/* The number of the column whose name x is; -1 after a diagnostic. */
int tra_table_find_column(const tra_table_scope *sc, const tra_ast *x);

/* ---- calls of operators (table.c) --------------------------------------------------------------------------- */

bool tra_is_table_op(const char *name);
const char *tra_table_op_name(int i); /* of operator i; NULL after the last */
/* Builds the call of an operator on tables; `relation` builds its operands. */
tra_node *tra_build_table_op(tra_build *b, const tra_ast *call, tra_node *(*relation)(tra_build *, const tra_ast *));
bool tra_column_is_number(const tra_column *c); /* of numbers or bools */
/* The first column that is neither of numbers nor of bools; NULL: there is none, or no table. */
const tra_column *tra_table_other_column(const tra_node *n);
/* Are all columns of the table numbers, so that `what` can take it as a tensor? True of tensors; false after a
 * diagnostic. */
bool tra_table_is_numbers(tra_build *b, const tra_node *n, const char *what, tra_span span);
/* n, or where it is a table of numbers and bools alone the matrix of all its columns (f64), x standing for it in the
 * program. */
tra_node *tra_table_as_matrix(tra_build *b, const tra_ast *x, tra_node *n);
/* n, or where it is a vector or a matrix the table of its columns. */
tra_node *tra_matrix_as_table(tra_build *b, const tra_ast *x, tra_node *n);
/* Sets the type of a table that the program declares: input T : table [...] rows N by B. */
bool tra_build_declared_table(tra_build *b, const tra_stmt *st, tra_node *n);
/* rows(x), for a statement whose operands are of type t: the number is f32 where these are, so that it leaves them as
 * they are, else i64. NULL after a diagnostic, as if x is no table. */
tra_node *tra_table_count_rows(tra_build *b, tra_span span, const tra_node *x, tra_dtype t);

/* An operator that is being built: its operands, and what of `op` is known so far. Operators that consist of others
 * have a builder for each. */
typedef struct tra_table_builder {
    tra_build *b;
    const tra_ast *call;
    const tra_ast *origin; /* the call as it stands in the program; NULL: the operator is part of another one */
    tra_node *in, *right;  /* the operands; right: NULL if there is one */
    const char *in_name;  /* the name of the first operand in the program; NULL: it has none */
    int own_columns;      /* PROJECT: the first so many columns of `in` are the program's; 0: all */
    int nadded;           /* columns of operands that are not the program's, and that the result may not have */
    const char **added;
    tra_names terms; /* the names of op.term */
    tra_table_op op;
} tra_table_builder;

/* The operator that w->op and w->call say, of the nodes w->in and w->right. */
tra_node *tra_table_built(tra_table_builder *w);

/* The scope of expressions over the columns of w->in. */
tra_table_scope tra_table_scope_of(const tra_table_builder *w);
/* Reports an error at `at`, and how the operator is written. */
void *tra_table_refuse(const tra_table_builder *w, const tra_ast *at, const char *why);
/* Finds arguments "name = value" among those of the call from number `from` on; any other argument is an error.
 * value[i] gets the value of names[i], and stays as it is if there is none. */
bool tra_table_named_args(const tra_table_builder *w, int from, int n, const char *const *names, const tra_ast **value);
/* Adds a column, or "name = expression", to the terms of the operator. */
bool tra_table_add_term(tra_table_builder *w, const tra_ast *x);
/* Adds what * stands for, which stands at x: the columns that none of the n arguments v names, without those of which
 * without[c] is set (NULL: none). */
bool tra_table_add_star(tra_table_builder *w, const tra_ast *x, int n, tra_ast *const *v, const bool *without);
/* Is * among the n arguments, so that drop(a, b) says what it leaves out? */
bool tra_table_has_star(int n, tra_ast *const *v);
/* The columns of w->in that x, drop(a, b), names. */
bool *tra_table_dropped(const tra_table_builder *w, const tra_ast *x);
/* The names and expressions of the terms, as arrays. */
void tra_table_split_terms(const tra_table_builder *w, const char ***names, const tra_colexpr ***x);
/* The call with resolved names, "project(a, b = a + 1)", without its operands: the text of kernels. */
const char *tra_table_call_text(const tra_table_builder *w);
/* Has the group or window w an argument that is an expression of functions? Then what computes it (table_within.c). */
bool tra_table_has_within(tra_table_builder *w);
tra_node *tra_table_within(tra_table_builder *w);
/* The group w, whose keys and aggregates are read (operand[2 * i]: what aggregate i is of), as a group of fewer columns
 * and a projection; NULL without a diagnostic: no columns follow from others (table_group_shared.c). */
tra_node *tra_table_group_shared(tra_table_builder *w, const tra_table_term *operand);
/* A table whose columns are the terms of w. */
tra_node *tra_table_project(tra_table_builder *w);
/* Adds the operator, whose result is n, to those of the graph. Returns n. */
tra_node *tra_table_record(tra_table_builder *w, tra_node *n);

/* ---- spans of time (table_durations.c) ----------------------------------------------------------------------- */

const char *tra_table_duration(int i); /* the name of the i-th: seconds, days, ...; NULL after the last */
/* Is x the call of one? Then its expression, of the typed operand k. x, which is resolved, becomes the product that it
 * stands for. */
bool tra_table_is_duration(const tra_ast *x);
const tra_colexpr *tra_table_type_duration(const tra_table_scope *sc, tra_ast *x, const tra_colexpr *k);
/* Brings operands that count days and microseconds to one unit, in kids and in x, which is the call of op. False after
 * a diagnostic: a time that would move by a number without unit. */
bool tra_table_match_units(const tra_table_scope *sc, tra_ast *x, tra_colop op, int n, const tra_colexpr **kids);
/* The result r of op, which counts what follows from its operands. */
const tra_colexpr *tra_table_set_units(const tra_table_scope *sc, tra_colop op, int n, const tra_colexpr *const *kids,
                                       const tra_colexpr *r);

/* ---- what operators are built of (table_nodes.c) ------------------------------------------------------------ */

/* Syntax with n children, which are copied; and a copy of x, whose list of children may be changed. */
tra_ast *tra_table_ast(tra_arena *a, tra_ast_kind kind, const char *text, tra_span span, int n, tra_ast *const *kids);
tra_ast *tra_table_ast_copy(tra_arena *a, const tra_ast *x);
/* The name of a column as syntax that is resolved already. */
tra_ast *tra_table_name_ast(tra_arena *a, const char *name, tra_span span);
/* The whole number that text says; the value of a type that text says: of a label, or of a column. */
tra_ast *tra_table_int_ast(tra_arena *a, const char *text, tra_span span);
tra_ast *tra_table_literal_ast(tra_arena *a, tra_coltype t, const char *text, tra_span span);
/* `name`, with apostrophes added until no column of s is called so. */
const char *tra_table_free_name(tra_arena *a, const tra_schema *s, const char *name);
/* Adds the names of the columns, for tra_names_fresh. */
void tra_table_note_columns(tra_names *t, const tra_schema *s);
/* These n columns of s (column NULL: the first ones), and more. */
const tra_schema *tra_table_schema(tra_arena *a, const tra_schema *s, int n, const int *column, int nmore,
                                   const tra_column *more);
/* These n columns of s, and, if `numbered`, a column of i64 for numbers of rows, with a name that s does not have. */
const tra_schema *tra_table_subschema(tra_arena *a, const tra_schema *s, int n, const int *column, bool numbered);
/* The numbers 0, 1, ... n - 1, and after them `last`. */
int *tra_table_counting(tra_arena *a, int n, int last);
/* The different ones among n columns, *m of them; returns of each of the n its place among these. */
int *tra_table_different(tra_arena *a, int n, const int *column, int *m, int **different);

/* Keys <i> as <i, 0>: a matrix needs a key for its columns too. */
tra_node *tra_table_add_column_key(tra_table_builder *w, tra_node *n);
/* The key <0> for the one tuple of a relation without keys. */
tra_node *tra_table_add_key(tra_table_builder *w, tra_node *n);

/* For tra_node.rows: a table whose rows only the run counts is its own first dimension. */
const tra_node *const *tra_table_own_rows(tra_build *b, const tra_node *n);
/* A kernel on rows: a transform of `left`, or, unless right is NULL, its join with `right` on these key dimensions (-1:
 * all tuples meet all). */
tra_node *tra_table_kernel(tra_table_builder *w, tra_node *left, tra_node *right, int lkey, int rkey,
                           const tra_rows_kernel *k);
/* Select, project or matrix of w->in, row by row; rules make one pass of several. label: how the program writes
 * it, or NULL; counts, share: is the number of rows that remain counted by the run, and what share of all is expected.
 */
tra_node *tra_table_rowwise(tra_table_builder *w, const tra_rowwise *r, const char *label, bool counts, double share);
/* A table of the columns that p makes of those of `in`. This is no operator of the program. */
tra_node *tra_table_columns(const tra_table_builder *w, tra_node *in, const tra_projection *p);
/* These n columns of `in`. */
tra_node *tra_table_pick(const tra_table_builder *w, tra_node *in, int n, const int *column);
/* Pieces that differ in key dimension keydim, put together in its order; no result has more than `most` rows (0: as
 * many as fit). */
tra_node *tra_table_concat(tra_table_builder *w, tra_node *pieces, int keydim, int64_t most);
/* All rows in one block, with keys of arity 0 or 1. */
tra_node *tra_table_one_block(tra_table_builder *w, tra_node *n, int arity);

/* ---- operators that have files of their own ----------------------------------------------------------------- */

/* table_group.c, table_order.c, table_join.c, table_pivot.c, table_matrix.c,
 * table_from_tensor.c: the operator that w->call is. */
tra_node *tra_table_group(tra_table_builder *w);
tra_node *tra_table_order(tra_table_builder *w);
tra_node *tra_table_limit(tra_table_builder *w);
tra_node *tra_table_window(tra_table_builder *w);
/* If w->in is a window of whose rows a predicate wants the first ones of each group alone: a window that has these rows
 * at least, and in *share how many of them the predicate is expected to leave. Else NULL, without a diagnostic. */
tra_node *tra_table_window_top(tra_table_builder *w, const tra_colexpr *predicate, double *share);
tra_node *tra_table_join(tra_table_builder *w);
tra_node *tra_table_pivot(tra_table_builder *w);
tra_node *tra_table_matrix(tra_table_builder *w);
/* Finds the values that a key may have, in their order, and the labels of a dimension that has them. `at` is the column
 * of w->in, or name = expression; c its column in a table made of w->in, NULL: there is none. */
bool tra_table_key_values(const tra_table_builder *w, const tra_column *c, const tra_ast *at, tra_pivot_key *key,
                          const tra_dim_labels **labels);
tra_node *tra_table_of_tensor(tra_table_builder *w);

/* label_ops.c: label(X, d, T, column), with T in w->right; unlabel(X, d); align(X, d, Y, e, fill = v), with Y there. */
tra_node *tra_table_label(tra_table_builder *w);
tra_node *tra_table_unlabel(tra_table_builder *w);
tra_node *tra_table_align(tra_table_builder *w);
/* w->in with other positions along one dimension, of which there are n. */
tra_node *tra_table_taken(tra_table_builder *w, const tra_take *t, int64_t n);
/* The values of column c of table t, which differ, as labels; what stands `at` asks for them. NULL: files that are not
 * there have them. */
bool tra_labels_of_column(tra_build *b, const tra_ast *at, const char *table, const tra_node *t, int c,
                          const tra_dim_labels **out);

/* table_join.c: w->in, where each row has exactly one partner in w->right, with the number of that row in a column of
 * this name. The columns lkey of w->in and rkey of w->right are equal; NULLs are equal too. */
tra_node *tra_table_join_row_number(tra_table_builder *w, int nkeys, const int *lkey, const int *rkey,
                                    const char *name);
/* table_number.c: replaces each number(...) in the call of a project by the name of a column that it adds to w->in. */
bool tra_table_build_numbers(tra_table_builder *w);
/* table_strings.c: the operator w, built by `build`; where it reads strings that only rows tell, these are made first
 * and stand in columns of w->in (made.h). */
tra_node *tra_table_with_strings(tra_table_builder *w, tra_node *(*build)(tra_table_builder *));
/* table_strings.c: w->in as a file, with the columns that are kept, of which the first *own are the program's (0: all),
 * computed now unless it is one. NULL after a diagnostic. */
tra_node *tra_table_in_file(const tra_table_builder *w, const bool *keep, int *own);
/* The columns of w->in that the operator may read; and a text for what is made of it now. */
bool *tra_table_read_columns(const tra_table_builder *w);
const char *tra_table_identity(tra_build *b, const char *what);
/* table_first.c: how many rows of the result the program reads, where they are the first ones in an order that rows of
 * w->in have; INT64_MAX: all. */
int64_t tra_table_first_wanted(const tra_table_builder *w);
/* Puts a table of these rows in the place of w->in. False: they are not found so, and w->in is as it was, or a file of
 * it, or (*failed) there is a diagnostic. */
bool tra_table_find_first(tra_table_builder *w, bool *failed);
/* The column of w->in, computed now, as the only one of a file. TRA_NO: only the run of the program can compute it.
 * Other failures have a diagnostic. */
tra_status tra_table_made_column(tra_table_builder *w, int column, tra_rel **out, tra_err *e);
/* The strings of each group of `in`, whose last column has them and is sorted by the others, put together: a table of
 * the groups, with the result in a column of this name. */
tra_node *tra_table_join_strings(tra_table_builder *w, tra_node *in, const char *name, const char *separator);
#define TRA_STRING_AGGREGATE "string_agg"
/* tra_table_order, whose keys may be computed. */
tra_node *tra_table_order_by(tra_table_builder *w);
/* table_counter.c: replaces each counter of a loop in the call by the name of a column that it adds to w->in, or, in
 * the condition of a join, to w->right where the other columns that are compared are of that. */
bool tra_table_build_counters(tra_table_builder *w);
/* Notes that an operand has a column of that name, which is not the program's. */
void tra_table_note_added(tra_table_builder *w, const char *name);
/* n, which may be NULL, without those of these columns that it has. */
tra_node *tra_table_without(const tra_table_builder *w, tra_node *n, int count, const char *const *name);
/* table_union.c: all rows of w->in, then all of w->right. Columns are matched by their names. */
tra_node *tra_table_union(tra_table_builder *w);
/* Has the other table the columns of w->in, of types that go together? False after a diagnostic at its syntax. */
bool tra_table_like_first(const tra_table_builder *w, const tra_node *other, const tra_ast *at);
/* All rows of in[0], then all of in[1]. The result has n columns: of the rows of in[0] expressions x, of those of in[1]
 * expressions y. These are brought to common types in place. */
tra_node *tra_table_append(tra_table_builder *w, tra_node *const *in, int n, const char *const *names,
                           const tra_colexpr **x, const tra_colexpr **y);

/* ---- joins: columns (table_join_columns.c), as-of joins (table_asof.c), selected pairs (table_join_selected.c) --- */

/* The syntax x with T.c replaced by the name that column c of table T has in w->in, which is made of T by operators
 * that pass it on; in arguments from number `from` on. */
const tra_ast *tra_table_unqualified(const tra_table_builder *w, const tra_ast *x, int from);
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
/* The right table of a join that is not divided, in one block. */
tra_node *tra_join_whole(tra_table_builder *w, const tra_lookup *l, tra_node *right);
/* The join op, which is inner or left, of other tables that have the columns of its own. */
tra_node *tra_join_again(tra_build *b, const tra_ast *call, const tra_table_op *op, tra_node *left, tra_node *right);
/* The column that a key is: equal keys mean that it has equal values; -1: the key is computed otherwise. */
int tra_join_key_column(const tra_colexpr *x);
/* Has a condition on pairs a part for which both tables count? */
bool tra_join_is_of_both(const tra_table_builder *w, const tra_colexpr *x);
/* If w selects by x of all pairs of two tables, and x says which rows can meet: their join, with the columns of all
 * pairs, and in *rest what of x remains to be selected by (NULL: nothing). NULL: it is something else. */
tra_node *tra_table_join_selected(tra_table_builder *w, const tra_colexpr *x, const tra_colexpr **rest);
/* If w selects by t of a join that consists of several nodes, or of joins of such a one: the join of the rows that can
 * be selected, of which the rest of t has selected. Rules do the same with joins that are one node. NULL: it is
 * something else. */
tra_node *tra_table_select_below(tra_table_builder *w, const tra_table_term *t);
/* May computing it, or a part of it, fail, or count rows? */
bool tra_table_may_fail(const tra_colexpr *x);
/* May several statements read the table, so that it is better made once? */
bool tra_table_is_shared(const tra_build *b, const tra_node *n);
/* The inner or left join that made n, which checks nothing of its rows and which nobody else reads; NULL: none did. */
const tra_table_op *tra_join_below_group(const tra_build *b, const tra_node *n);
/* If w groups, by the keys of a join that consists of several nodes, what is all of its right table: the same by groups
 * of the right rows, which are joined. operand: two terms of each aggregate. NULL: it is something else. */
tra_node *tra_table_group_joined(tra_table_builder *w, const tra_table_term *operand);

#endif
