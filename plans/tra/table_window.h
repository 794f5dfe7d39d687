/* table_window.h - windows: what their builders share. Private to plans/tra. */
#ifndef TRA_TABLE_WINDOW_H
#define TRA_TABLE_WINDOW_H

#include "../../lib/table/window.h"
#include "table_parts.h"

/* By what the rows of a window are arranged. */
typedef struct tra_window_by {
    int nkeys, norder;    /* the terms of the operator */
    int from;             /* arguments from this number on are functions and the frame */
    const tra_ast *frame; /* of functions that have none of their own; NULL: there is none */
} tra_window_by;

/* table_window_nodes.c: the nodes of the window whose terms and functions w->op has. top: unless it is 0 only rows
 * whose `by` is at most this are wanted. */
tra_node *tra_table_window_nodes(tra_table_builder *w, int64_t top, tra_window_function by);
/* table_window_parts.c: the functions of `fields`, over the rows of `in` (which has their columns, and the blocks of
 * w->in), by numbers of rows that ascend, for each block. */
tra_node *tra_table_window_functions(tra_table_builder *w, tra_node *in, tra_window *fields);

#endif
