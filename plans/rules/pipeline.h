/* pipeline.h - a table that selects, projections and joins make of another table, its source: each of its columns as an
 * expression over the columns of the source and of the joined tables. Rules that exchange operators read it. Private to
 * plans/rules.
 */
#ifndef TRA_PIPELINE_H
#define TRA_PIPELINE_H

#include "rules_int.h"

#include "../../lib/table/join.h"
#include "../../lib/table/table.h"

enum { TRA_PIPE_JOINS = 8, TRA_PIPE_SELECTS = 16 };

typedef struct tra_pipe_join {
    const tra_expr *x; /* the join in the memo; its right input is the whole table in one block */
    const tra_lookup *l;
    const tra_lookup_spec *s;
    const tra_colexpr *const *key; /* of its left side */
    int first;                     /* its right table's columns are first, first + 1, ... of all */
} tra_pipe_join;
typedef struct tra_pipe_select {
    const tra_colexpr *x;
    int joins; /* that come before it */
} tra_pipe_select;

/* Expressions are over `all`: the columns of the source, then those of the right table of each join. */
typedef struct tra_pipe {
    const tra_node *source; /* of the memo */
    const tra_schema *all;
    int njoins, nselects;
    tra_pipe_join join[TRA_PIPE_JOINS]; /* in the order in which they are done */
    tra_pipe_select select[TRA_PIPE_SELECTS];
    const tra_colexpr *const *column; /* of the table */
    int njoined;                      /* joins among the operators, whether or not all is as it should be */
    const char *refused;              /* why it is no such pipeline, though there are joins; NULL: it is one */
} tra_pipe;

/* The relation of a group as a pipeline, by the first expressions of groups; in the memo's arena. */
tra_pipe *tra_pipe_of(tra_rewriting *w, int group);
/* Have both tables the same rows, in one order? */
bool tra_pipe_same_rows(const tra_rewriting *w, const tra_pipe *x, const tra_pipe *y);
/* Does the expression read a column of the source (0), of a right table (1)? */
bool tra_pipe_reads(const tra_pipe *p, const tra_colexpr *x, int which);
bool tra_colexpr_eq(const tra_pipe *p, const tra_colexpr *x, const tra_colexpr *y);
/* The expression over all columns of one that is over the columns of the table. */
const tra_colexpr *tra_pipe_term(const tra_rewriting *w, const tra_pipe *p, const tra_colexpr *x);

/* The kernel of a pass over rows, of a lookup; NULL when the expression is none, or another one. */
const tra_rowwise *tra_rowwise_of_expr(const tra_expr *x);
const tra_lookup *tra_lookup_of_expr(const tra_expr *x);
/* NULL: the rows of the join are pairs of rows, or rows of the left table, as the keys have it, and nothing is checked.
 */
const char *tra_lookup_refused(const tra_lookup *l);
/* Has no left row of the join x more than one partner? As it is checked, or as the statistics of files say. */
bool tra_lookup_once(const tra_memo *m, const tra_expr *x, const tra_lookup_spec *s);

/* Rows that a table is expected to have. */
double tra_rows_expected(const tra_node *n);
/* Operations for each row of a join or pass that takes so many, with so many columns less. */
double tra_flops_of_columns(double flops, int fewer);

/* A pass over rows as a kernel in place of k, with the columns that the pass makes. */
const tra_kernel *tra_pass_kernel(tra_rewriting *w, const tra_rows_kernel *k, const tra_rowwise *r);
void tra_add_steps(tra_rowwise *to, int n, const tra_rowwise_step *v);
/* A join that a rule makes, with all that its columns and their bounds follow from besides its operands; k: what it is
 * to be. */
const char *tra_lookup_text(tra_arena *a, const tra_lookup_spec *s, const tra_rows_kernel *k);
/* May a value of the expression not be computed? */
bool tra_may_fail(const tra_colexpr *x);
/* Appends the predicates of which it is the conjunction to the *n that are there; as many as there is room for. */
void tra_predicate_parts(const tra_colexpr *x, int *n, const tra_colexpr **v, int most);

#endif
