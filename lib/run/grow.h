/* grow.h - results of joins and aggregations whose size only the data tell: how a worker makes one that is held in a
 * layout that is not dense (cell.h). Private to super.c.
 *
 * A sum grows: each term makes a new block of it, of the size that both together have, which was counted before. So
 * while it grows a worker holds the term, the sum as it was and the sum as it will be; between two terms nobody holds
 * it, and it may be spilled. Terms come in the order of the steps, so that neither the ceiling nor the threads reach
 * the bits. Memory is taken at once, of what was reserved (tra_op_grown) or is there besides; where there is none the
 * statement fails with TRA_RESOURCE, and says which blocks would do.
 */
#ifndef TRA_GROW_H
#define TRA_GROW_H

#include "super.h"

/* One result under way, on a worker. */
typedef struct tra_grow {
    tra_joinagg *st;
    tra_worker *w;
    int64_t ordinal;        /* of the result */
    const tra_array *state; /* its type and extents while it grows */
} tra_grow;

/* Of a join without an aggregation: the result of a pair, in a block that stays pinned. */
TRA_MUSTUSE tra_status tra_grow_join(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_block **out,
                                     tra_err *e);
/* Adds a term to *sum (NULL: there is none yet), which is not pinned before or after: the join of l and r, an array of
 * these extents; or l, where r is NULL. */
TRA_MUSTUSE tra_status tra_grow_add(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext,
                                    tra_block **sum, tra_err *e);
/* Adds another sum, *from, which becomes NULL. */
TRA_MUSTUSE tra_status tra_grow_merge(const tra_grow *g, tra_block **sum, tra_block **from, tra_err *e);
/* Makes the result of *sum, which becomes NULL, in a block that stays pinned. */
TRA_MUSTUSE tra_status tra_grow_finish(const tra_grow *g, tra_block **sum, tra_block **out, tra_err *e);

#endif
