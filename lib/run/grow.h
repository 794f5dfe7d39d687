/* grow.h - results of joins and aggregations whose size only the data tell: how a worker makes one that is held in a
 * layout that is not dense (cell.h). Private to super.c.
 *
 * A sum grows: each term makes a new block of it, of the size that both together have, which was counted before. So
 * while it grows a worker holds the term, the sum as it was and the sum as it will be; between two terms nobody holds
 * it, and it may be spilled. Terms come in the order of the steps, so that neither the ceiling nor the threads reach
 * the bits. Memory is taken at once, of what was reserved (tra_op_grown) or is there besides.
 *
 * Where there is none a sum is cut in panels, ranges of coordinates of its first dimension, and these in smaller ones:
 * each is a block of its own, which grows for itself, and what is done to all of them is done to one after the other.
 * An output that is stored by levels in the order of the dimensions takes the panels as they are; elsewhere they are
 * put together. Where there is no memory for that, or for one coordinate, the statement fails with TRA_RESOURCE, and
 * says which blocks would do.
 */
#ifndef TRA_GROW_H
#define TRA_GROW_H

#include "panels.h"
#include "super.h"

/* One result under way, on a worker. */
typedef struct tra_grow {
    tra_joinagg *st;
    tra_worker *w;
    int64_t ordinal;        /* of the result */
    const tra_array *state; /* its type and extents while it grows */
} tra_grow;

/* Of a join without an aggregation: *out, which is empty, becomes the result of a pair. */
TRA_MUSTUSE tra_status tra_grow_join(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *out,
                                     tra_err *e);
/* Adds a term to a sum, none of whose blocks is pinned before or after: the join of l and r, an array of these extents;
 * or l, where r is NULL. */
TRA_MUSTUSE tra_status tra_grow_add(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext,
                                    tra_panels *sum, tra_err *e);
/* Adds another sum, *from, which becomes empty. */
TRA_MUSTUSE tra_status tra_grow_merge(const tra_grow *g, tra_panels *sum, tra_panels *from, tra_err *e);
/* Makes the result of *sum, which becomes empty, and hands it on to the stage's sink. */
TRA_MUSTUSE tra_status tra_grow_emit(const tra_grow *g, tra_panels *sum, tra_err *e);

#endif
