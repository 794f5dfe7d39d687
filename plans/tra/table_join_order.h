/* table_join_order.h - joins in the cheapest order, below what does not see the order of rows. Private to plans/tra. */
#ifndef TRA_TABLE_JOIN_ORDER_H
#define TRA_TABLE_JOIN_ORDER_H

#include "table_build.h"

/* How many times cheaper another order has to be than the one that is written. */
#define TRA_JOIN_ORDER_TIMES 1.3

/* The rows of w->in, which is made by joins of three tables at least, in any order, by joins that are far cheaper; with
 * the same columns. NULL: there are none, or, after a diagnostic, an operator could not be built. */
tra_node *tra_table_join_order(tra_table_builder *w);

#endif
