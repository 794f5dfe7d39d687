/* rows_op.h - operators on the rows of tables, as the graph and the memo have them: a kind (tra_rows_ops), its
 * arguments (data), and bounds of the result. This is the one place that says what an operator is called and which two
 * are equal: both follow from kind, arguments and bounds. Rules match on the kind and read the arguments.
 */
#ifndef TRA_ROWS_OP_H
#define TRA_ROWS_OP_H

#include "../../lib/kernel/kernel.h"
#include "../../lib/table/table.h"

struct tra_node;

/* An operator of one operand that keeps its rows, each once, and makes these columns; NULL: it makes a tensor, whose
 * dtype is to be set. What differs is set before tra_rows_kernel_of. */
tra_rows_kernel tra_rows_op(const tra_rows_ops *kind, const void *args, const tra_schema *columns);
/* A schema of the columns of s (NULL: none) and n more, which are to be set: returns those. */
tra_column *tra_schema_beside(tra_arena *a, const tra_schema *s, int n, const tra_schema **out);
/* The operator with its text: its label, or, without one, what its arguments say. */
const tra_kernel *tra_rows_kernel_of(tra_arena *a, const tra_rows_kernel *op);
/* The operator that a node or an expression applies; NULL: it is none on rows. */
const tra_rows_kernel *tra_rows_op_of(const struct tra_node *n);
/* Its arguments, if it is of that kind; else NULL. */
const void *tra_rows_args(const struct tra_node *n, const tra_rows_ops *kind);
/* All that the result depends on but the operands: equal texts are equal operators. */
void tra_rows_identity(const tra_rows_kernel *op, tra_str *out);

#endif
