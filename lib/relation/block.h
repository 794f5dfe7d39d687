/* block.h - how a tensor is cut into blocks when nobody says how. */
#ifndef TRA_BLOCK_H
#define TRA_BLOCK_H

#include "relation.h"

/* Chooses the blocks of a tensor: one block holds at most 2^20 elements (8 MiB of f64, 1024 x 1024), as cubic as the
 * shape allows, and the blocks along a dimension are as equal as they can be, so that none at the edge is a sliver;
 * still at least 512 KiB of f64 where the tensor is that large. A small tensor is one block. Extents are at least 1. */
void tra_block_choose(const tra_dims *shape, tra_dims *block);

/* Fits a block that the user gave: TRA_USAGE unless it has as many dimensions as the shape; extents larger than the
 * tensor's are reduced to it (at least 1). */
TRA_MUSTUSE tra_status tra_block_fit(const tra_dims *shape, tra_dims *block, tra_err *e);

/* Where there is too little memory: halves the largest extent (false when all are 1), and adds to the message of e that
 * such blocks would fit. */
bool tra_block_halve(tra_dims *block);
void tra_block_would_fit(const tra_dims *block, tra_err *e);

#endif
