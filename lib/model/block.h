/* block.h - how a tensor is cut into blocks when nobody says how. */
#ifndef TRA_BLOCK_H
#define TRA_BLOCK_H

#include "relation.h"

/* Chooses the blocks of a tensor: at most 2^20 elements each (8 MiB of f64, 1024 x 1024), as cubic as the shape allows.
 * Blocks along a dimension are made as equal as possible, so that the last is no sliver, as long as they keep 2^16
 * elements (512 KiB of f64). A small tensor is one block. Extents are at least 1. */
void tra_block_choose(const tra_dims *shape, tra_dims *block);

/* Fits the extents of a block that the user gave to a shape: extents larger than the tensor's are reduced to it (at
 * least 1). TRA_USAGE unless it has as many dimensions as the shape. */
TRA_MUSTUSE tra_status tra_block_fit(const tra_dims *shape, tra_dims *block, tra_err *e);

/* Where there is too little memory: halve reduces the largest extent (false when all are 1); would_fit adds to the
 * message of e that blocks of these extents would fit. */
bool tra_block_halve(tra_dims *block);
void tra_block_would_fit(const tra_dims *block, tra_err *e);

#endif
