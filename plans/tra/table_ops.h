/* table_ops.h - operators on tables as a program has them: what check prints, and what the reference evaluator runs.
 *
 * Expressions are syntax trees whose names are resolved: names of columns are quoted, params are numbers, and the only
 * other names are null, true and false. Semantics: man tra-table.5.
 */
#ifndef TRA_TABLE_OPS_H
#define TRA_TABLE_OPS_H

#include "../../lib/table/tensor_rows.h"
#include "../../lib/table/group.h"
#include "../../lib/table/join.h"
#include "../../lib/table/table.h"
#include "../../lib/table/window.h"
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
    X(WINDOW, "window")                                                                                                \
    X(MATRIX, "matrix")                                                                                                \
    X(ROWS, "rows")                                                                                                    \
    X(PIVOT, "pivot")                                                                                                  \
    X(ENTRIES, "entries")                                                                                              \
    X(TABLE, "table")                                                                                                  \
    X(LABEL, "label")                                                                                                  \
    X(UNLABEL, "unlabel")                                                                                              \
    X(ALIGN, "align")

typedef enum tra_table_opcode {
#define X(name, text) TRA_TABLE_##name,
    TRA_TABLE_OPS(X)
#undef X
} tra_table_opcode;
const char *tra_table_op_text(tra_table_opcode op);

/* name = expression over the columns of the operand. */
typedef struct tra_table_term {
    const char *name;     /* NULL: of a predicate */
    const tra_ast *ast;   /* the expression as syntax, with resolved names */
    const tra_colexpr *x; /* the same, typed; NULL: of a key of order or distinct, which is a column */
    bool desc;            /* ORDER: descending */
} tra_table_term;

/* name = function(expression), or count(). */
typedef struct tra_table_agg {
    const char *name;
    tra_aggregate f;
    const tra_ast *ast; /* the expression; NULL: none */
    const tra_ast *by;  /* of two columns: the second */
    double q;           /* QUANTILE: from 0, the least value, to 1, the greatest */
} tra_table_agg;

/* name = function(expression) over the rows around each one. */
typedef struct tra_table_around {
    const char *name;
    tra_window_function f;
    const tra_ast *ast;       /* the expression; NULL: none */
    const tra_colexpr *x;     /* the same, typed */
    int64_t n;                /* LAG, LEAD, NTH, NTILE */
    double q;                 /* QUANTILE */
    const tra_ast *otherwise; /* LAG, LEAD: where there is no such row; NULL: a NULL */
    const tra_colexpr *other; /* the same, typed */
    tra_window_frame frame;
} tra_table_around;

struct tra_table_op {
    tra_table_opcode op;
    const tra_node *node;      /* the result, which the nodes up to this one compute */
    const tra_node *in[2];     /* the operands; in[1]: NULL if there is one */
    const tra_schema *columns; /* of the result; NULL: a tensor */
    /* GROUP, ORDER, DISTINCT: the rows that it is of, with the keys among their columns; NULL: it is several operators.
     */
    const tra_node *rows;
    int64_t united; /* UNION: of how many tables */
    int nterms;
    const tra_table_term *term; /* SELECT: the predicate; PROJECT, MATRIX: the columns; GROUP, ORDER, DISTINCT: keys;
                                   WINDOW: nkeys keys, then the order */
    int nkeys, narounds;
    const tra_table_around *around; /* WINDOW */
    int naggs;
    const tra_table_agg *agg;           /* GROUP */
    const tra_group_column *aggregated; /* the same, over the columns of rows */
    tra_lookup_spec lookup;   /* JOIN, CROSS: the equalities, which are between columns of the operands, and options */
    const tra_ast *where;     /* JOIN: further conditions, over the columns of `pair`; NULL: none */
    const tra_schema *pair;   /* JOIN, CROSS: the columns of a pair of rows */
    bool divided;             /* JOIN, CROSS: its nodes are several, of parts of a table or slices of blocks */
    int64_t from, count;      /* LIMIT: rows [from, from + count) */
    tra_dtype dtype;          /* MATRIX, PIVOT: of the elements; ROWS: of the number */
    const double *fill;       /* MATRIX: the element for a NULL; NULL: a NULL is an error */
    const tra_pivot *pivot;   /* PIVOT: over the groups by row and column, which are in[0] */
    const tra_border *border; /* ENTRIES, TABLE: the labels of the tensor, and the columns */
    const tra_take *take;     /* ALIGN: which positions of the tensor the result has, */
    int64_t taken;            /* and how many */
};

/* The kernel of a join whose right table lost rows without partner: as many rows are met as before. times: how many
 * times larger the share of right rows was that are expected, of those that there is room for. */
void tra_rows_meet_as_many(tra_rows_kernel *k, double times);

#endif
