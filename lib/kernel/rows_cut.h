/* rows_cut.h - products of an array that is held as rows of entries with a dense one: how their results are cut into
 * tiles, and what that means for their time. */
#ifndef TRA_ROWS_CUT_H
#define TRA_ROWS_CUT_H

#include "kernel.h"

/* A kernel like this one whose tiles share out the entries of the operand that is rows: along its rows, where these are
 * rows of the result; along its columns, where a row has enough entries to be looked for in each tile. NULL: it is no
 * such product, and its own tiles will do. free() it. */
tra_kernel *tra_kernel_cut_rows(const tra_kernel *join, const tra_type *a, const tra_type *b);
/* The time of such a product of so many results, as a share of that of operations which read two elements and write
 * one. Of two threads, however many there are: plans, and so bits, do not depend on these. 1: it is no such product. */
double tra_kernel_rows_share(const tra_kernel *join, const tra_type *a, const tra_type *b, int64_t results);
/* Is the join a product that is added up, or folded to the largest or least, over labels that both operands have? */
bool tra_kernel_meets_entries(const tra_kernel *join);
/* In a product of rows with rows each entry of the outer operand looks for a row of the other, and an operand whose
 * entries are not in the order that is wanted is put in order: what that takes for two arrays, as operations. (In a
 * fused statement its plan has it.) */
double tra_kernel_rows_finding(const tra_kernel *join, const tra_type *a, const tra_type *b);
/* The share, as above, of a map of rows that brings entries into another order. */
double tra_kernel_order_share(const tra_kernel *map, const tra_type *in, const tra_type *out);

#endif
