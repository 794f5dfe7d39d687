/* tables.h - operators on tables, as a program has them: what check prints, and what the reference evaluator runs.
 *
 * Expressions are syntax trees in which every name is settled: names of columns are quoted, params are numbers, and
 * what is left are null, true and false. Semantics: man tra-table.5.
 */
#ifndef TRA_TABLES_H
#define TRA_TABLES_H

#include "../../lib/table/border.h"
#include "../../lib/table/group.h"
#include "../../lib/table/join.h"
#include "../../lib/table/table.h"
#include "tra.h"

/* Name in C, name in the language. */
#define TRA_TABLE_OPS(X)                                                                                               \
    X(SELECT, "select")                                                                                                \
    X(PROJECT, "project")                                                                                              \
    X(JOIN, "join")                                                                                                    \
    X(CROSS, "cross")                                                                                                  \
    X(GROUP, "group")                                                                                                  \
    X(ORDER, "order")                                                                                                  \
    X(DISTINCT, "distinct")                                                                                            \
    X(LIMIT, "limit")                                                                                                  \
    X(UNION, "union")                                                                                                  \
    X(MATRIX, "matrix")                                                                                                \
    X(ROWS, "rows")                                                                                                    \
    X(PIVOT, "pivot")                                                                                                  \
    X(ENTRIES, "entries")                                                                                              \
    X(TABLE, "table")

typedef enum tra_table_opcode {
#define X(name, text) TRA_TABLE_##name,
    TRA_TABLE_OPS(X)
#undef X
} tra_table_opcode;
const char *tra_table_op_text(tra_table_opcode op);

/* name = expression, over the columns of the operand. */
typedef struct tra_table_term {
    const char *name;
    const tra_ast *ast;
    const tra_colexpr *x;
    bool desc;
} tra_table_term;

/* name = aggregate of an expression, or of none: count(). */
typedef struct tra_table_agg {
    const char *name;
    tra_aggregate f;
    const tra_ast *ast; /* NULL: none */
    double q;           /* quantile */
} tra_table_agg;

struct tra_table_op {
    tra_table_opcode op;
    const tra_node *node; /* the result, computed by the nodes before it */
    const tra_node *in[2];
    const tra_schema *columns; /* of the result; NULL: a tensor */
    int nterms;
    const tra_table_term *term; /* SELECT: the predicate; PROJECT, MATRIX: the columns; GROUP, ORDER, DISTINCT: keys */
    int naggs;
    const tra_table_agg *agg; /* GROUP */
    tra_lookup_spec lookup;   /* JOIN, CROSS: keys are columns of both operands */
    const tra_ast *where;     /* JOIN: further conditions on the pair, over both columns; NULL: none */
    const tra_schema *pair;   /* JOIN: these columns */
    int64_t from, count;      /* LIMIT */
    tra_dtype dtype;          /* MATRIX */
    const double *fill;       /* MATRIX: for NULLs; NULL: these are errors */
    const tra_pivot *pivot;   /* PIVOT: of the groups by row and column */
    const tra_border *border; /* ENTRIES, TABLE: the labels of the tensor, and the columns */
};

#endif
