/* ref_table.h - tables of the reference evaluator: rows of cells, each with its own NULL. Private to plans/reference
 * and to the tests that compare with it.
 */
#ifndef TRA_REF_TABLE_H
#define TRA_REF_TABLE_H

#include "../../lib/model/columns.h"
#include "../tra/table_ops.h"
#include "reference_int.h"

/* A value of a column: whole numbers, bools, dates and timestamps in i, floats in f, strings by their bytes. */
typedef struct ref_cell {
    enum { REF_VALUE, REF_NULL, REF_ERROR } state; /* ERROR: an integer did not fit */
    int64_t i;
    double f;
    const char *s;
    int64_t len;
} ref_cell;

typedef struct ref_column {
    const char *name;
    tra_coltype type;
} ref_column;

struct tra_ref_table {
    int n; /* columns */
    const ref_column *column;
    int64_t rows;
    ref_cell *v; /* row by row */
};
typedef struct tra_ref_table ref_table;

static inline ref_cell *ref_at(const ref_table *t, int64_t row, int column) { return &t->v[row * t->n + column]; }

/* A value and its type; any: NULL without a type. */
typedef struct ref_item {
    tra_coltype type;
    bool any;
    ref_cell c;
} ref_item;

/* The resolved expression (table_ops.h) of that row. It has been typed: what does not fit cannot come. */
ref_item ref_column_value(const tra_ast *x, const ref_table *t, int64_t row, tra_arena *a);

/* A table of the columns of that schema, with room for so many rows, and none yet. */
ref_table *ref_table_new(tra_arena *a, const tra_schema *s, int64_t room);
/* pivot: of the groups by both keys (ref_border.c). */
TRA_MUSTUSE tra_status ref_table_pivot(const tra_table_op *op, const ref_table *x, tra_arena *a, tra_ref_rel *out,
                                       tra_err *e);
/* entries(X), table(X): *out is the table (ref_border.c). */
TRA_MUSTUSE tra_status ref_table_border(const tra_table_op *op, const tra_ref_rel *x, tra_arena *a, ref_table **out,
                                        tra_err *e);

/* align(X, d, Y, e), and lookups: positions of a tensor along one dimension (ref_border.c). */
TRA_MUSTUSE tra_status ref_table_align(const tra_table_op *op, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out,
                                       tra_err *e);

/* As tra_reference_fill, of a table (ref_table_write.c). */
TRA_MUSTUSE tra_status ref_table_fill(const ref_table *t, const tra_type *type, const char *spec,
                                      const tra_write_options *o, tra_arena *a, tra_writer **out, char digest_text[33],
                                      tra_err *e);

/* The rows of a file. */
TRA_MUSTUSE tra_status ref_table_input(tra_rel *rel, tra_arena *a, tra_ref_rel *out, tra_err *e);

/* Rows of a batch, appended to t, which has room for them from row `at` on. */
void ref_table_take(const tra_schema *s, const tra_batch *b, ref_table *t, int64_t at, tra_arena *a);

/* The order of keys: NULLs last, NaN greatest, -0 as 0, strings by bytes. */
int ref_key_order(tra_coltype t, const ref_cell *a, const ref_cell *b, bool desc);
ref_num ref_number(const ref_item *x); /* of a column of numbers */
/* The value as a column of the type holds it. */
ref_cell ref_stored(const ref_item *v, tra_coltype type);
/* Values that are not NULL, in the order of their rows, of so many rows in all; and an aggregate of them. */
typedef struct ref_values {
    int64_t n;
    const ref_item **v, **by; /* by: of two columns, the second */
} ref_values;
TRA_MUSTUSE tra_status ref_aggregate(const tra_table_agg *a, ref_values *g, int64_t rows, ref_cell *out, tra_err *e);

/* Into out, which has room for the rows of x (ref_group.c); a join makes its own (ref_join.c). */
TRA_MUSTUSE tra_status ref_table_group(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out,
                                       tra_err *e);
TRA_MUSTUSE tra_status ref_table_window(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out,
                                        tra_err *e);
void ref_table_sort(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out);
void ref_table_distinct(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out);
void ref_table_limit(const tra_table_op *op, const ref_table *x, ref_table *out);
TRA_MUSTUSE tra_status ref_table_join(const tra_table_op *op, const ref_table *x, const ref_table *y, tra_arena *a,
                                      ref_table *out, tra_err *e);

/* An operator: of the results v of the nodes it refers to. */
TRA_MUSTUSE tra_status ref_table_op(const tra_table_op *op, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out,
                                    tra_err *e);

#endif
