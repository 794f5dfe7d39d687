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
/* The share of rows for which a predicate is expected to be true. */
double tra_table_share(const tra_ast *predicate);

/* ---- operators (table.c) ------------------------------------------------------------------------------------- */

bool tra_is_table_op(const char *name);
const char *tra_table_op_name(int i); /* of operator i; NULL after the last */
/* The call, whose first operands are built by `relation`; NULL after a diagnostic. */
tra_node *tra_build_table_op(tra_build *b, const tra_ast *call, tra_node *(*relation)(tra_build *, const tra_ast *));
/* input T : table [...] rows N by B; false after a diagnostic. */
bool tra_build_declared_table(tra_build *b, const tra_stmt *st, tra_node *n);

#endif
