/* asof.h - the partner of a left row in an as-of join. Private to lib/table.
 *
 * Times are words that compare as they do. Those of the right rows with one key stand in order, rows of one time in the
 * order of the table; rows without a time (NULL, NaN) are not among them.
 */
#ifndef TRA_TABLE_ASOF_H
#define TRA_TABLE_ASOF_H

#include "join_int.h"

/* Beside the index of a right table by keys, whose lists are now in the order of time. */
typedef struct tra_asof_index {
    uint64_t *time; /* of each row of the list */
} tra_asof_index;
int64_t tra_asof_bytes(const tra_lookup *l, int64_t rows); /* what it takes; 0 of joins that are none */
/* Makes it in room, of so many bytes. TRA_INPUT for a time that could not be computed. */
TRA_MUSTUSE tra_status tra_asof_open(const tra_lookup *l, const tra_batch *right, tra_finder *x, tra_asof_index *index,
                                     void *room, void *scratch, tra_err *e);
/* Puts the partners of the n left rows (at most a strip) from `row` on, -1: none, in place of the slots of their keys.
 * first: the number of the batch's first row. TRA_INPUT as above. */
TRA_MUSTUSE tra_status tra_asof_partners(const tra_lookup *l, const tra_batch *left, int64_t row, int n, int64_t first,
                                         const tra_finder *x, int32_t *found, const tra_asof_index *index,
                                         void *scratch, tra_err *e);

#endif
