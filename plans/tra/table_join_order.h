/* table_join_order.h - rows for what does not see their order. Private to plans/tra. */
#ifndef TRA_TABLE_JOIN_ORDER_H
#define TRA_TABLE_JOIN_ORDER_H

#include "table_build.h"

/* How many times cheaper another order has to be than the one that is written. */
#define TRA_JOIN_ORDER_TIMES 1.3

/* The rows of w->in in any order, with the same columns, where that is far cheaper: those of joins, by joins in
 * another order; different rows, by groups. NULL: it is not, or, after a diagnostic, an operator
 * could not be built. */
tra_node *tra_table_in_any_order(tra_table_builder *w);

#endif
