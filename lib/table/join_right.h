/* join_right.h - the right table of a join, as left rows look it up. Private to lib/table. */
#ifndef TRA_JOIN_RIGHT_H
#define TRA_JOIN_RIGHT_H

#include "asof.h"
#include "band.h"

/* The index of the right table, at the beginning of what is kept. */
typedef struct tra_right {
    tra_finder finder;
    tra_asof_index asof;
    tra_band_index band;
} tra_right;

/* The index, which is made if it is not there. lists: with the rows of each key, not only whether there are some. */
TRA_MUSTUSE tra_status tra_right_index(const tra_lookup *l, const tra_batch *right, bool lists, tra_kept *kept,
                                       void *scratch, tra_right **out, tra_err *e);
/* Bytes that computing keys, times and what bounds them takes. */
int64_t tra_right_scratch(const tra_lookup *l);
/* What n left rows from `row` on ask for, at most as many as the query has room for. slot: room for
 * those of a strip. */
TRA_MUSTUSE tra_status tra_right_ask(const tra_lookup *l, const tra_batch *left, int64_t row, int64_t n, int64_t first,
                                     const tra_right *r, tra_band_query *q, int32_t *slot, void *scratch, tra_err *e);
/* How many right rows, of so many, row i of the query has met: tra_band_search has counted those in its box. */
int64_t tra_right_met(const tra_right *r, const tra_band_query *q, int64_t i, int64_t right_rows);

#endif
