/* union.h - the blocks of two tables as those of one.
 *
 * A union has the blocks of its left table, then those of its right one, so key k of it is key k of the left or key
 * k - n of the right. A join of the positions k with each table brings every block to its key, and, where k is none of
 * that table, a block without rows (a part); a second join puts the two parts of each key together.
 */
#ifndef TRA_TABLE_UNION_H
#define TRA_TABLE_UNION_H

#include "../kernel/kernel.h"
#include "table.h"

/* Brings the columns x[i] and y[i] of two tables to one type; what is null alone gets the other's. TRA_PROGRAM, naming
 * the column, where these are of different kinds. */
TRA_MUSTUSE tra_status tra_union_columns(tra_arena *a, int n, const char *const *names, const tra_colexpr **x,
                                         const tra_colexpr **y, tra_err *e);

/* The rows of the operand on the right where the position on the left is from..to-1, else none. */
typedef struct tra_union_part {
    const tra_schema *in;
    int64_t from, to;
} tra_union_part;
extern const tra_rows_ops tra_union_part_ops;

/* All rows of the left operand, then all of the right: columns agree but for NULLs, of which `out` may have both's. */
typedef struct tra_union_both {
    const tra_schema *in[2], *out;
} tra_union_both;
extern const tra_rows_ops tra_union_both_ops;

#endif
