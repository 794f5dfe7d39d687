/* places.h - the place of an element in the order in which blocks are written: block by block in the order of ordinals,
 * each row by row.
 *
 * A tensor of N elements has the places 0 to N-1, and each block is a range of them. So entries are sorted by one
 * number, which tells block, row and column; and blocks that lie one after the other in row-major order (some rows by
 * all columns) have places that do not depend on how many rows a block has.
 */
#ifndef TRA_PLACES_H
#define TRA_PLACES_H

#include "../lib/model/relation.h"

typedef struct tra_places {
    tra_dims shape, block,
        frontier;               /* extents of the tensor and of a block (at least 1), blocks along each dimension */
    int64_t stride[TRA_MAXDIM]; /* row-major: elements of one index of a dimension */
    bool in_order;              /* the places are the row-major order of the tensor */
} tra_places;

/* The product of the shape must not overflow. */
void tra_places_of(tra_places *p, const tra_dims *shape, const tra_dims *block);
/* Do blocks of these extents lie one after the other in row-major order? */
bool tra_block_in_order(const tra_dims *shape, const tra_dims *block);
/* The place of the element at these coordinates, which are inside the shape. */
uint64_t tra_place_of(const tra_places *p, const int64_t *at);
/* The coordinates at a place. */
void tra_place_at(const tra_places *p, uint64_t place, tra_dims *at);
/* Where the block of a key begins; its extents. */
uint64_t tra_place_block(const tra_places *p, const tra_dims *key, tra_dims *ext);

#endif
