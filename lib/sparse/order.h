/* order.h - entries of rows in another order: a sort by counting, in pieces that all threads share. */
#ifndef TRA_SPARSE_ORDER_H
#define TRA_SPARSE_ORDER_H

#include "../model/turn.h"
#include "project.h"

/* A cell whose entries are put in order, each row and column moved by so much. */
typedef struct tra_ordering {
    const tra_cell *in;
    tra_route route;
    int64_t row, column;
    const char *value; /* of its entries, of that type, instead of its own; NULL */
    tra_dtype type;
} tra_ordering;

/* Can entries of rows below row_box, in columns below column_box, be put in order by it? */
static inline bool tra_can_order(int64_t row_box, int64_t column_box) {
    return row_box <= (int64_t)1 << 32 && column_box <= (int64_t)1 << 32;
}
/* Sets *out to the entries of n cells that stay (project.h) and are not 0, with values of type t, in rows below
 * row_box: sorted by row, then by column. Entries that come to the same place keep their order, one after the other.
 * *out lies in room; room and scratch are as tra_turn_room and
 * tra_turn_scratch say. room NULL: *out has been laid out for all these entries and their rows. */
void tra_order_entries(const tra_ordering *in, int n, int64_t row_box, tra_dtype t, void *room, void *scratch,
                       tra_rows_view *out);
/* Counts the entries of one cell that stay, and the rows that they come to; scratch: a bit for each row of the box. */
int64_t tra_order_count(const tra_ordering *in, int64_t row_box, void *scratch, int64_t *rows);

#endif
