/* table_derived.h - operators on tables that consist of other operators. Private to plans/tra.
 *
 * Each is written as calls of the operators that it stands for, over nodes that are there; these are recorded, so that
 * the rules, the plans and the reference evaluator know nothing of it.
 */
#ifndef TRA_TABLE_DERIVED_H
#define TRA_TABLE_DERIVED_H

#include "table_build.h"

/* Operator and how it is written. */
#define TRA_TABLE_DERIVED(X)                                                                                           \
    X(unpivot, "write unpivot(T, [a, b], name = month, value = sales)")                                                \
    X(explode, "write explode(T, tags, \";\")")                                                                        \
    X(sample, "write sample(T, 0.1, seed = 1), or sample(T, n = 100)")                                                 \
    X(ffill, "write ffill(T, [key], [order], a, b)")                                                                   \
    X(bfill, "write bfill(T, [key], [order], a, b)")                                                                   \
    X(series, "write series(1, 10), or series(date \"2024-01-01\", date \"2024-12-31\", days(1), name = day)")

bool tra_is_table_derived(const char *name);
const char *tra_table_derived_name(int i); /* of operator i; NULL after the last */
tra_node *tra_build_table_derived(tra_build *b, const tra_ast *call,
                                  tra_node *(*relation)(tra_build *, const tra_ast *));

/* A call that is being derived. */
typedef struct tra_deriving {
    tra_build *b;
    const tra_ast *call;
    tra_node *in; /* its table, and the name of that in the program; NULL: none */
    const char *in_name;
} tra_deriving;

/* Syntax with the place of the call. Names are those of columns. */
tra_ast *tra_derive_ast(const tra_deriving *d, tra_ast_kind kind, const char *text, int n, tra_ast *const *kids);
tra_ast *tra_derive_name(const tra_deriving *d, const char *column);
tra_ast *tra_derive_int(const tra_deriving *d, int64_t v);
tra_ast *tra_derive_named(const tra_deriving *d, const char *name, const tra_ast *x);
tra_ast *tra_derive_call(const tra_deriving *d, const char *f, int n, tra_ast *const *kids);
tra_ast *tra_derive_binary(const tra_deriving *d, const char *op, const tra_ast *l, const tra_ast *r);
/* The operator on the node `in`, and of two tables on `right`, with these arguments after them. NULL after a
 * diagnostic, or where an operand is NULL. */
tra_node *tra_derive_op(const tra_deriving *d, tra_table_opcode op, tra_node *in, tra_node *right, int n,
                        tra_ast *const *args);
/* The whole numbers from 0 on, n of them, in a column of that name. */
tra_node *tra_derive_numbers(const tra_deriving *d, int64_t n, const char *name);
void *tra_derive_refuse(const tra_deriving *d, const tra_ast *at, const char *why);

/* Finds the arguments that have a name, from number `from` on, which come last. *plain: how many come before these, the
 * table included. */
bool tra_derive_named_args(const tra_deriving *d, int from, int n, const char *const *names, const tra_ast **value,
                           int *plain);
/* The number of the column of the operand that x names; -1 after a diagnostic. */
int tra_derive_column(const tra_deriving *d, const tra_ast *x);
/* The text of a name, or `other` where there is none. NULL after a diagnostic. */
const char *tra_derive_word(const tra_deriving *d, const tra_ast *x, const char *other);

/* The operators: of d->call. */
#define X(name, form) tra_node *tra_derive_##name(tra_deriving *d);
TRA_TABLE_DERIVED(X)
#undef X
/* distinct(T, [a], order = [t desc], keep = last). */
tra_node *tra_table_distinct_of(tra_table_builder *w);
/* table_wide.c: pivot(T, [key], column, value, aggregate, values = [..], prefix = ".."), a table. */
tra_node *tra_table_wide(tra_table_builder *w);
/* Of rows of which each different one counts once, the groups by all columns: these need no order of rows, nor other
 * columns brought back. Of floats -0 and 0 are one key, for which the first row stands. NULL: w->in is no such rows, or
 * has floats. */
tra_node *tra_table_different_rows(tra_table_builder *w);

#endif
