/* panels.h - results that are held as rows of entries (lib/model/rows.h), cut along their first dimension, so that a
 * result that does not fit in memory is made, and written, panel by panel. */
#ifndef TRA_PANELS_H
#define TRA_PANELS_H

#include "../model/cell.h"
#include "pool.h"

/* The rows of a result at coordinates [from, to) of its first dimension. If panels share a block, rows outside of these
 * coordinates belong to the others. block NULL: no rows yet. */
typedef struct tra_panel {
    int64_t from, to;
    tra_block *block; /* not pinned */
    int64_t nrows, n; /* rows and entries of the block */
    int added;        /* of the terms at hand: how many it has already */
} tra_panel;

/* Copies of the operands of a term, in blocks that are not pinned. */
typedef struct tra_held_term {
    tra_cell cell[2];
    tra_block *block[2];
} tra_held_term;

/* In ascending order, without gaps; n 0: nothing yet. */
typedef struct tra_panels {
    tra_panel *v; /* from malloc */
    int n;
    tra_held_term *held; /* terms that are yet to be added, at once; from malloc */
    int nheld;
    int64_t reserved; /* of the pool: bytes in which the copies of one of them are sure to be pinned again */
} tra_panels;

/* Cuts panel i in two at the coordinate, which lies between its ends: both share its block. */
void tra_panels_cut(tra_panels *p, int i, int64_t at, tra_pool *pool);
/* Lets go of a block of a panel that the caller has pinned. */
void tra_panel_free(tra_block *b, tra_pool *pool);
/* Lets go of all: empty then. */
void tra_panels_free(tra_panels *p, tra_pool *pool);

/* Puts panels together, none of whose blocks is shared. tra_panels_bytes: bytes of the whole, for elements of that
 * type; tra_panels_gather lays out the cell `to`, and tra_gathering_add appends the panels in their order. */
typedef struct tra_gathering {
    tra_cell *to;
    int64_t nrows, n; /* so far */
} tra_gathering;
int64_t tra_panels_bytes(const tra_panels *p, tra_dtype t);
tra_gathering tra_panels_gather(const tra_panels *p, tra_cell *to);
void tra_gathering_add(tra_gathering *x, const tra_cell *panel);

/* The error of something that failed with s and *own: if the pool is exhausted, and a tuple of this relation, which is
 * held by its entries, needed `wanted` bytes at once, *e advises in which blocks its tensor would fit; else *e is *own.
 * place: the beginning of the message, or "". Returns s. */
tra_status tra_advise_blocks(tra_status s, const char *place, const tra_type *t, int64_t ordinal, int64_t wanted,
                             tra_pool *pool, const tra_err *own, tra_err *e);

#endif
