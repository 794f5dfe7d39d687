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

#endif
