/* panels.h - results that are held as rows of entries (lib/relation/rows.h), cut along their first dimension, so that
 * what has no room in memory as a whole is made, and written, one part after the other. */
#ifndef TRA_PANELS_H
#define TRA_PANELS_H

#include "../relation/cell.h"
#include "pool.h"

/* What a result has at coordinates [from, to) of its first dimension: a block that has rows there alone; or, if others
 * share it, rows elsewhere too, which do not count. NULL: nothing yet. */
typedef struct tra_panel {
    int64_t from, to;
    tra_block *block; /* not pinned */
    int64_t nrows, n; /* rows and entries of the block */
} tra_panel;

/* In ascending order, without gaps; n 0: nothing yet. */
typedef struct tra_panels {
    tra_panel *v; /* from malloc */
    int n;
} tra_panels;

/* Cuts panel i in two at the coordinate, which lies between its ends: both share its block. */
void tra_panels_cut(tra_panels *p, int i, int64_t at, tra_pool *pool);
/* Lets go of a block of a panel that the caller has pinned. */
void tra_panel_free(tra_block *b, tra_pool *pool);
/* Lets go of all: empty then. */
void tra_panels_free(tra_panels *p, tra_pool *pool);

/* Bytes of a panel's rows alone, whose block is pinned; cell: of the type and extents of the whole result, with the
 * block as its head. */
int64_t tra_panel_bytes(const tra_panel *p, const tra_cell *cell);
/* Makes the cell `to`, with a block of so many bytes, of these rows. */
void tra_panel_copy(const tra_panel *p, const tra_cell *cell, tra_cell *to);

/* What rows all panels have, none of whose blocks is shared, is put together: bytes that it takes, of elements of that
 * type; the cell `to` is laid out for it, then gets the panels in their order. */
typedef struct tra_gathering {
    tra_cell *to;
    int64_t nrows, n; /* so far */
} tra_gathering;
int64_t tra_panels_bytes(const tra_panels *p, tra_dtype t);
tra_gathering tra_panels_gather(const tra_panels *p, tra_cell *to);
void tra_gathering_add(tra_gathering *x, const tra_cell *panel);

/* Of what failed: where the ceiling leaves too little for a tuple of this relation, which is held by its entries, says
 * in *e in which blocks its tensor would fit; else what *own says. wanted: bytes that were to be had at once. place:
 * the beginning of the message, or "". Returns s. */
tra_status tra_say_blocks(tra_status s, const char *place, const tra_type *t, int64_t ordinal, int64_t wanted,
                          tra_pool *pool, const tra_err *own, tra_err *e);

#endif
