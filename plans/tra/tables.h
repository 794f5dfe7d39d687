/* tables.h - operators on tables, as a program has them: what check prints, and what the reference evaluator runs.
 *
 * Expressions are syntax trees in which every name is settled: names of columns are quoted, params are numbers, and
 * what is left are null, true and false. Semantics: man tra-table.5.
 */
#ifndef TRA_TABLES_H
#define TRA_TABLES_H

#include "../../lib/table/table.h"
#include "tra.h"

/* Name in C, name in the language. */
#define TRA_TABLE_OPS(X)                                                                                               \
    X(SELECT, "select")                                                                                                \
    X(PROJECT, "project")                                                                                              \
    X(MATRIX, "matrix")                                                                                                \
    X(ROWS, "rows")

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

struct tra_table_op {
    tra_table_opcode op;
    const tra_node *node; /* the result, computed by the nodes before it */
    const tra_node *in[2];
    const tra_schema *columns; /* of the result; NULL: a tensor */
    int nterms;
    const tra_table_term *term; /* SELECT: the predicate; PROJECT, MATRIX: the columns */
    tra_dtype dtype;            /* MATRIX */
    const double *fill;         /* MATRIX: for NULLs; NULL: these are errors */
};

#endif
