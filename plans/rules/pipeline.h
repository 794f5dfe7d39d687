/* pipeline.h - pipelines: a table that selections, projections and joins make of another table, its *source*. Each
 * column is an expression over the columns of the source and of the joined (right) tables, so that rules need not look
 * at the operators one by one. Private to plans/rules.
 */
#ifndef TRA_PIPELINE_H
#define TRA_PIPELINE_H

#include "facts.h"
#include "rules_int.h"

#include "../../lib/table/join.h"
#include "../../lib/table/table.h"

enum { TRA_PIPE_JOINS = 8, TRA_PIPE_SELECTS = 16 };

typedef struct tra_pipe_join {
    const tra_expr *x; /* the join in the memo; its right input is the whole table in one block */
    const tra_lookup *l;
    const tra_lookup_spec *s;
    const tra_colexpr *const *key; /* the keys of its left side, over all columns */
    int first;                     /* the columns of its right table are first, first + 1, ... of all */
} tra_pipe_join;
typedef struct tra_pipe_select {
    const tra_colexpr *x; /* the predicate, over all columns */
    int joins;            /* how many joins come before it */
} tra_pipe_select;

/* Its expressions are over `all` columns: those of the source, then those of the right table of each join. */
typedef struct tra_pipe {
    const tra_node *source; /* of the memo */
    const tra_schema *all;
    int njoins, nselects;
    tra_pipe_join join[TRA_PIPE_JOINS]; /* in the order in which they are done */
    tra_pipe_select select[TRA_PIPE_SELECTS];
    const tra_colexpr *const *column; /* the columns of the table that the pipeline makes */
    int njoined;                      /* how many of the operators are joins, also if `refused` */
    const char *refused;              /* why the rules cannot use it, though it has joins; NULL: they can */
} tra_pipe;

/* The pipeline that makes the relation of a group, read off the memo from there down; in the memo's arena. */
tra_pipe *tra_pipe_of(tra_rewriting *w, int group);
/* Do both pipelines make the same rows, in the same order? */
bool tra_pipe_same_rows(const tra_rewriting *w, const tra_pipe *x, const tra_pipe *y);
/* Does the expression, over all columns, read one of the source (which 0), or of a right table (which 1)? */
bool tra_pipe_reads(const tra_pipe *p, const tra_colexpr *x, int which);
/* Are two expressions over these columns equal, as text? */
bool tra_colexpr_same(const tra_schema *s, const tra_colexpr *x, const tra_colexpr *y);
/* x is an expression over the columns of the table: returns it over all columns. */
const tra_colexpr *tra_pipe_term(const tra_rewriting *w, const tra_pipe *p, const tra_colexpr *x);

/* The pass over rows, or the join, that an expression is; NULL: it is something else. */
const tra_rowwise *tra_rowwise_of_expr(const tra_expr *x);
const tra_lookup *tra_lookup_of_expr(const tra_expr *x);
/* Why rules may not change the rows of a join; NULL: they may, since its keys alone decide which rows, or pairs of
 * rows, there are, and it checks nothing that could fail. */
const char *tra_lookup_refused(const tra_lookup *l);

/* The column of the join's result that is column `pair` of its two inputs side by side; -1: there is none. */
int tra_lookup_place(const tra_lookup *l, int pair);

/* How many rows a table is expected to have. */
double tra_rows_expected(const tra_node *n);
/* Operations for each row of a join or pass that would take `flops`, if it makes so many fewer columns. */
double tra_flops_of_columns(double flops, int fewer);

/* The kernel of the pass r: as k, but with the columns that r makes. */
const tra_kernel *tra_pass_kernel(tra_rewriting *w, const tra_rows_kernel *k, const tra_rowwise *r);
/* The pass r over `in`, with what it is expected to leave and to take. */
tra_node tra_proto_pass(tra_rewriting *w, const tra_node *in, const tra_rowwise *r);
/* The columns that a pass makes, as expressions over its input. NULL: it makes none, but selects alone. */
const tra_colexpr *const *tra_pass_columns(tra_arena *a, const tra_rowwise *r);
/* Appends steps to a pass. */
void tra_add_steps(tra_rowwise *to, int n, const tra_rowwise_step *v);
/* May computing a value of the expression fail? */
bool tra_may_fail(const tra_colexpr *x);
/* The predicates that come first in a pass, of what && joins each by itself; r: NULL has none. *n: how many. */
const tra_colexpr *const *tra_first_predicates(tra_arena *a, const tra_rowwise *r, int *n);

#endif
