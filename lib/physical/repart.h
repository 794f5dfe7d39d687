/* repart.h - a repartition: which blocks of its input meet which of its result, and in which batches it is made. Shared
 * by the planner and the executor, so that what was predicted is what happens. */
#ifndef TRA_REPART_H
#define TRA_REPART_H

#include "plan.h"

/* Bound of the number of pieces: boxes where a block of the input and a block of the result overlap. */
int64_t tra_repart_pieces(const tra_plan *p, const tra_op *op);

/* The keys of the blocks of `in` that overlap tuple `out` of op's result: from lo, box of them in each dimension;
 * false: none, since it is empty or beyond the input. */
bool tra_repart_box(const tra_type *in, const tra_op *op, int64_t out, tra_dims *lo, tra_dims *box);

/* Where tuple `in` of the input overlaps the n tuples from `out` on of op's result, which lie beside each other along
 * the last dimension: the origin of the box in each, and its extents. */
void tra_repart_piece(const tra_type *from, const tra_op *op, int64_t in, int64_t out, int n, tra_cell_piece *p);

/* End of the batch that begins with tuple t of the result: as many tuples as every site can hold in `limit` bytes. For
 * one batch each block of the input is read once. work, load: arrays with an element for each site. */
int64_t tra_repart_batch(const tra_op *op, int64_t t, int64_t limit, int *work, int64_t *load);

/* Bytes of a piece of these extents as a block of its own, in the layout of the result. */
tra_size tra_piece_bytes(const tra_type *in, const tra_type *out, const tra_dims *ext);

/* A bound of how many tuples of the input all batches together read when none stays in memory from batch to batch.
 * budget: bytes for blocks of the site that has the fewest. */
int64_t tra_repart_reads(const tra_plan *p, const tra_op *op, int64_t budget);

/* Bytes that the results of a batch may take on a site. Where everything fits and the exchange overlaps its reader
 * there are several batches nevertheless, so that the reader need not wait for the last piece of all results. */
int64_t tra_repart_limit(const tra_plan *p, const tra_op *op, int64_t budget);

#endif
