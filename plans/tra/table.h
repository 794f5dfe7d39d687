/* table.h - from the syntax of operators on tables to nodes. Private to plans/tra. */
#ifndef TRA_TABLE_BUILD_H
#define TRA_TABLE_BUILD_H

#include "build.h"
#include "tables.h"

/* ---- expressions (table_expr.c) ------------------------------------------------------------------------------ */

/* What names stand for. */
typedef struct tra_table_scope {
    tra_build *b;
    const tra_schema *columns;
    const char *of; /* for messages: "trip", or NULL */
    bool row;       /* may row() stand here? */
} tra_table_scope;

/* The expression, settled (tables.h) and typed; false after a diagnostic. */
bool tra_table_term_build(const tra_table_scope *sc, const char *name, const tra_ast *x, tra_table_term *out);
/* The same of a predicate, which must be a bool. */
bool tra_table_predicate(const tra_table_scope *sc, const tra_ast *x, tra_table_term *out);
/* The number of the column that a NAME names, or -1 after a diagnostic. */
int tra_table_column(const tra_table_scope *sc, const tra_ast *x);

/* The call of an operator, as far as it is built. */
typedef struct tra_table_builder {
    tra_build *b;
    const tra_ast *call;
    tra_node *in, *right;
    const char *of, *of_right; /* the names of the operands */
    int shown;                 /* PROJECT: so many columns of `in` are the program's own; 0: all */
    tra_table_op op;
} tra_table_builder;

/* table.c */
tra_table_scope tra_table_scope_of(const tra_table_builder *w);
void tra_table_refuse(const tra_table_builder *w, const tra_ast *at, const char *why);
bool tra_table_named(const tra_table_builder *w, int from, int n, const char *const *names, const tra_ast **value);
bool tra_table_add(tra_table_builder *w, const tra_ast *x); /* "col" or "name = expr", as a term */
const char *tra_table_text(const tra_table_builder *w);
/* A pass over rows of `in`; text: all that it does. */
tra_node *tra_table_rowwise(tra_table_builder *w, const tra_rowwise *r, const char *text, bool counts, double share);
/* i -> (i, 0): a key for the dimension of columns. */
tra_node *tra_table_column_key(tra_table_builder *w, tra_node *n);
/* The terms of w as the columns of a table. */
tra_node *tra_table_project(tra_table_builder *w);
/* One more statement on tables, of which the node is the result; NULL stays NULL. */
tra_node *tra_table_note(tra_table_builder *w, tra_node *n);
const tra_node *const *tra_table_rows_of(tra_build *b, const tra_node *n);
/* rows(T), for whoever needs it without having written it. */
tra_node *tra_table_count(tra_build *b, tra_span span, const tra_node *table);

/* table_group.c, table_join.c */
tra_node *tra_table_group(tra_table_builder *w);
tra_node *tra_table_order(tra_table_builder *w);
tra_node *tra_table_limit(tra_table_builder *w);
tra_node *tra_table_join(tra_table_builder *w);
/* table_pivot.c */
tra_node *tra_table_pivot(tra_table_builder *w);
/* table_border.c: entries(X) and table(X), of a tensor. */
tra_node *tra_table_of_tensor(tra_table_builder *w);
/* The rows of the left table with a column of that name: the number of the row of the right one, in which each has
 * exactly one partner, whose keys are the columns key of both. */
tra_node *tra_table_numbered(tra_table_builder *w, int nkeys, const int *lkey, const int *rkey, const char *name);
/* table_number.c: the call of a project, in which number(...) has become the name of a column that w->in has then;
 * false after a diagnostic. */
bool tra_table_number(tra_table_builder *w);
/* table_union.c: all rows of w->in, then all of w->right, whose syntax is `at`; columns by name. */
tra_node *tra_table_union(tra_table_builder *w, const tra_ast *at);
/* All rows of in[0], then all of in[1]: of each the columns x, or y, under these names, which it brings to one type. */
tra_node *tra_table_append(tra_table_builder *w, tra_node *const *in, int n, const char *const *names,
                           const tra_colexpr **x, const tra_colexpr **y);
/* All rows in one tuple, of key arity 0, or 1. */
tra_node *tra_table_whole(tra_table_builder *w, tra_node *n, int arity);
tra_node *tra_table_one(tra_table_builder *w, tra_node *n); /* the one tuple, of key arity 0, with the key 0 */

/* ---- operators (table.c) ------------------------------------------------------------------------------------- */

bool tra_is_table_op(const char *name);
const char *tra_table_op_name(int i); /* of operator i; NULL after the last */
/* The call, whose first operands are built by `relation`; NULL after a diagnostic. */
tra_node *tra_build_table_op(tra_build *b, const tra_ast *call, tra_node *(*relation)(tra_build *, const tra_ast *));
/* input T : table [...] rows N by B; false after a diagnostic. */
bool tra_build_declared_table(tra_build *b, const tra_stmt *st, tra_node *n);

#endif
