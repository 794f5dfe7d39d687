/* needs.h - private to memory.c: rooms, in bytes of blocks with all that a block takes (tra_block_footprint). */
#ifndef TRA_NEEDS_H
#define TRA_NEEDS_H

#include "memory.h"

static inline bool tra_op_renames(const tra_op *op) { return op->op == TRA_PLAN_FILTER || op->op == TRA_PLAN_REKEY; }

/* Of the largest array. */
int64_t tra_type_room(const tra_type *t);
/* Of what is stored of one array that reading op's result reads. */
int64_t tra_op_stored_room(const tra_plan *p, const tra_op *op);
/* That reading one tuple of op's result takes: of its array, and when it is computed on the way, of what it is computed
 * from. */
int64_t tra_op_read_room(const tra_plan *p, const tra_op *op);
/* Of one output of a join or aggregation: its state, and its result where the state does not become it. */
int64_t tra_op_output_room(const tra_plan *p, const tra_op *op, int threads);

#endif
