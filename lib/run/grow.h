/* grow.h - how a worker makes a result of a join or aggregation whose size only the data tell, since its layout is not
 * dense (cell.h). Private to superblock.c and superblock_tasks.c.
 *
 * A sum grows: each term makes a new block of it, of the size that both together have, which was counted before. So
 * while it grows a worker holds the term, the sum as it was and the sum as it will be; between two terms nobody holds
 * it, and it may be spilled. Terms come in the order of the steps, so that neither the ceiling nor the threads reach
 * the bits. Memory is allocated without waiting, from what was reserved (tra_op_grown) or what is free besides.
 * Where memory is short a sum is cut in panels, ranges of coordinates of its first dimension, and these in smaller
 * ones. Each panel has a block of its own and grows by itself; they are worked on one after the other. An output that
 * is stored by levels in the order of the dimensions takes the panels as they are; elsewhere they are put together. If
 * there is no memory for that, or for a single coordinate, the statement fails with TRA_RESOURCE, and says which blocks
 * would fit.
 */
#ifndef TRA_GROW_H
#define TRA_GROW_H

#include "panels.h"
#include "superblock.h"

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
 * or l, where r is NULL. Terms of a sum of products of entries may be held, as copies, and added with later ones at
 * once, or with the last one; what the sum is to the bits does not depend on which. */
TRA_MUSTUSE tra_status tra_grow_add(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext,
                                    bool last, tra_panels *sum, tra_err *e);
/* Adds another sum, *from, which becomes empty. */
TRA_MUSTUSE tra_status tra_grow_merge(const tra_grow *g, tra_panels *sum, tra_panels *from, tra_err *e);
/* Makes the result of *sum, which becomes empty, and gives it to the stage's outlet. */
TRA_MUSTUSE tra_status tra_grow_emit(const tra_grow *g, tra_panels *sum, tra_err *e);

#endif
