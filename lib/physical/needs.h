/* needs.h - what operators need of memory, and the block loops that follow from it. Shared by the planner and the
 * executor, so that what was predicted is what happens. */
#ifndef TRA_NEEDS_H
#define TRA_NEEDS_H

#include "constants.h"
#include "plan.h"
#include "tree.h"

/* Bytes of the budget that a block of so many bytes takes: whole pages, or a slot of a page that small blocks share. */
enum { TRA_SMALL_BLOCK = (TRA_PAGE / TRA_CACHE_LINE - 1) * TRA_CACHE_LINE }; /* no block above shares a page */
int64_t tra_block_footprint(int64_t bytes);

/* What a site's process holds besides blocks: code, libraries, MPI, stacks and BLAS workspace of the workers, and for
 * every tuple its place, its key's bookkeeping and its entry in HDF5's index. */
int64_t tra_memory_base(const tra_plan *p, int threads);
/* What a process has before it plans: no workers yet. */
int64_t tra_memory_start(const tra_plan *p);

/* The block loop of a join and its aggregation on one site: ci x cj output arrays are held while the inputs stream
 * past. ni, nj: output rows and columns, distinct values of the grouped keys that only L, only R has (nj = 1 without
 * R); nk: arrays of L in one row. budget: bytes for blocks. Chosen so that L, read ceil(nj/cj) times, or once where
 * what a row of super-blocks reads of it stays in memory, and R, read ceil(ni/ci) times, cost the fewest bytes, with
 * something for the waiting where there is no room to read ahead; the least loop (1 x 1) if even that does not fit. */
typedef struct tra_block_loop {
    int64_t ci, cj;
    bool keeps_left; /* arrays of L stay in memory for a row of super-blocks */
} tra_block_loop;
tra_block_loop tra_loop_of(const tra_plan *p, const tra_op *op, int64_t ni, int64_t nj, int64_t nk, int threads,
                           int64_t budget);

/* The same on a site with an even share. budget: of all blocks. */
tra_block_loop tra_op_loop(const tra_plan *p, const tra_op *op, int threads, int64_t budget);
/* How often that loop reads the part of one site of its left or right input. */
int64_t tra_op_passes(const tra_plan *p, const tra_op *op, int side, int threads, int64_t budget);
/* How many arrays of the other input of a join each array of this side meets in turn for the same output and the same
 * joined key; 1 for an aggregation. */
int64_t tra_op_meets(const tra_plan *p, const tra_op *op, int side);

/* By which the operator of a reproducible plan adds; one leaf of one value where there is none. */
tra_tree tra_op_tree(const tra_plan *p, const tra_op *op);

/* Bytes for blocks without which the operator cannot run, besides the base. */
int64_t tra_op_memory(const tra_plan *p, const tra_op *op, int threads);

/* Of an exchange: bytes without which it cannot run; that one tuple, or piece of one, takes while it is read, cut and
 * put in place here; and the most that is held for a moment besides what is on its way. */
typedef struct tra_exchange_need {
    int64_t least, fetch, transient;
} tra_exchange_need;
tra_exchange_need tra_exchange_memory(const tra_plan *p, const tra_op *op);

/* Bytes that may be on their way from a site, and as many to it, of an exchange that overlaps other stages: no
 * more than so many of the largest transfers. */
int64_t tra_exchange_window(const tra_plan *p, const tra_op *op, int64_t transfers);

/* Bytes that are counted on for something of this size: all that it may take where that is little, or firm; else what
 * is expected, and as much again for the case that it is more. The ceiling holds whatever comes: what finds no memory
 * then fails. */
int64_t tra_size_planned(tra_size s);

/* Bytes of scratch that a worker needs to count the largest array for an output that is stored by levels, and to put it
 * there, or to pack it for a mapping; as far as one counts on it. Rows of tables take none. */
int64_t tra_stored_room(const tra_type *held, const tra_op *output);

/* Of a join or aggregation that grows or counts its results (grow.h): bytes that are reserved for each while it is
 * made, with the sums of its tree, and for each worker besides. */
typedef struct tra_grown {
    int64_t result, step;
} tra_grown;
tra_grown tra_op_grown(const tra_plan *p, const tra_op *op);
/* The element type of its states, or without an aggregation of its results. */
tra_dtype tra_op_state_dtype(const tra_plan *p, const tra_op *op);

/* Rooms, in bytes with all that a block takes (tra_block_footprint): of the largest array; */
int64_t tra_type_room(const tra_type *t);
/* of a chunk that is unpacked where the array will be that reading op's result reads, 0: none is; */
int64_t tra_op_unpacks(const tra_plan *p, const tra_op *op);
/* of what is stored of one array that reading op's result reads; */
int64_t tra_op_stored_room(const tra_plan *p, const tra_op *op);
/* that reading one tuple of op's result takes: of its array, and when it is computed on the way, of what it is computed
 * from; */
int64_t tra_op_read_room(const tra_plan *p, const tra_op *op);
/* of one output of a join or aggregation: its state, and its result where the state does not become it. */
int64_t tra_op_output_room(const tra_plan *p, const tra_op *op, int threads);

#endif
