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

/* Bytes that a site's process holds besides blocks: code, libraries, MPI, stacks and BLAS workspace of the workers, and
 * the bookkeeping of each tuple: its placement, its key, its entry in HDF5's index. */
int64_t tra_memory_base(const tra_plan *p, int threads);
/* How many units are in flight at once if each holds `bytes` bytes of stored inputs (engine.h). Units that have just
 * ended and still hold their blocks are included. */
int64_t tra_units_queued(int64_t bytes, int threads);
/* Bytes that a process holds while it plans, before it has workers. The plans themselves are not included. */
int64_t tra_memory_start(const tra_plan *p);

/* What a worker needs to compute a pair of arrays that meet, or to aggregate one, at most. */
typedef struct tra_pair_need {
    tra_dims ext, state; /* of the terms that are aggregated, of states of them */
    int64_t term;        /* bytes of a term that is not added to the state directly; */
    int64_t kernel;      /* scratch of the kernel that makes it, or the result; */
    int64_t finish;      /* of the kernel that makes the result of the state; */
    int64_t keep;        /* what is kept of the right array */
} tra_pair_need;
tra_pair_need tra_op_pair_need(const tra_plan *p, const tra_op *op);

/* The block loop of a join and its aggregation on one site: ci x cj output arrays are held while the inputs stream
 * past. ni, nj: output rows and columns, distinct values of the grouped keys that only L, only R has (nj = 1 without
 * R); nk: arrays of L in one row. budget: bytes for blocks. L is read ceil(nj/cj) times, or once where the
 * part that a row of super-blocks reads stays in memory; R is read ceil(ni/ci) times. The loop that reads the fewest
 * bytes is chosen, with a charge for waiting where there is no room to read ahead; 1 x 1 if nothing larger fits. */
typedef struct tra_block_loop {
    int64_t ci, cj;
    bool keeps_left; /* arrays of L stay in memory for a row of super-blocks */
} tra_block_loop;
tra_block_loop tra_loop_of(const tra_plan *p, const tra_op *op, int64_t ni, int64_t nj, int64_t nk, int threads,
                           int64_t budget);

/* The same for a site that has an even share of the inputs. budget: of the pool. */
tra_block_loop tra_op_loop(const tra_plan *p, const tra_op *op, int threads, int64_t budget);
/* How often that loop reads the part of one site of its left or right input. */
int64_t tra_op_passes(const tra_plan *p, const tra_op *op, int side, int threads, int64_t budget);
/* How many arrays of the other input of a join each array of this side meets in turn for the same output and the same
 * joined key; 1 for an aggregation. */
int64_t tra_op_meets(const tra_plan *p, const tra_op *op, int side);
/* How many pairs of arrays a result of that loop adds up at most, if sites have equal shares. */
int64_t tra_op_terms(const tra_plan *p, const tra_op *op);

/* The tree by which the operator of a reproducible plan adds (tree.h); a single leaf if there is none. */
tra_tree tra_op_tree(const tra_plan *p, const tra_op *op);

/* How many workers compute a stage that makes each result by itself. Where there are fewer results than workers the
 * others need no scratch: kernels of maps that share their work out, do that in pieces which need none. */
int tra_op_workers(const tra_plan *p, const tra_op *op, int threads);

/* Bytes of blocks that the operator needs at least, besides the base. */
int64_t tra_op_memory(const tra_plan *p, const tra_op *op, int threads);

/* Bytes that an exchange needs. */
typedef struct tra_exchange_need {
    int64_t least;     /* without which it cannot run */
    int64_t fetch;     /* to read one tuple, to cut a piece from it, and to put that in place on this site */
    int64_t transient; /* the most that is held for a moment besides what is in flight */
} tra_exchange_need;
tra_exchange_need tra_exchange_memory(const tra_plan *p, const tra_op *op);

/* Bytes that an exchange which overlaps other stages may have in flight from a site, and as many to it: at most so many
 * of the largest transfers. */
int64_t tra_exchange_window(const tra_plan *p, const tra_op *op, int64_t transfers);

/* Bytes that planning reserves for something of this size: the bound where that is small, exact or firm; else twice the
 * expected size. The ceiling holds in any case: a result that turns out larger and finds no memory fails. */
int64_t tra_size_planned(tra_size s);
/* Does the predicted peak of the plan rest on estimates: may an array be larger than what is reserved for it? Then the
 * ceiling is the only bound of its memory. Returns the name of the first statement of which this holds, "" if it has
 * none; NULL: the peak is a bound. */
const char *tra_plan_memory_estimated(const tra_plan *p);
/* A least ceiling with room for results that are larger than estimated. base: bytes of it that are no blocks. */
int64_t tra_least_with_margin(int64_t least, int64_t base);
/* "about 145.3 MiB WHAT (--memory 146M), by an estimate of the entries of C; smaller blocks (...) may need less": a
 * least ceiling, with a margin where a run may need more (estimated: as above), and what to do where
 * blocks are the larger part of it. base: bytes of it that are no blocks. Returns buf. */
enum { TRA_LEASTTEXT = 512 };
char *tra_least_text(int64_t least, int64_t base, const char *estimated, const char *what, char buf[TRA_LEASTTEXT]);

/* Bytes of scratch memory that a worker needs to count the largest array of an output that is stored by levels and to
 * write it, or to pack it for a mapping, planned as tra_size_planned does. 0 for tables. */
int64_t tra_stored_room(const tra_type *held, const tra_op *output);

/* Bytes of a block in which one panel of a result always fits (grow.h): one coordinate of its first dimension. 0: its
 * results are not made in panels, or `output` does not take these as they come. */
int64_t tra_op_panel(const tra_plan *p, const tra_op *op, const tra_op *output);
/* Of one that has panels: are its results sums of products of entries, which are made and written in strips of
 * TRA_STRIP_BYTES where memory is not short (grow.h)? */
bool tra_op_makes_strips(const tra_plan *p, const tra_op *op);
/* Bound of the bytes of panels that wait in scratch, of a stage whose results go to their file as they are made and may
 * grow beyond the memory that is planned for them. here: bound of the bytes of its results on a site. */
int64_t tra_op_panels_bound(const tra_plan *p, const tra_op *op, int64_t here, int threads, int64_t budget);
/* Bytes that a join or aggregation with sparse results has in memory besides its operands, where memory is not short.
 * These are the results that workers make at the moment, their workspace, and results that wait until all are counted.
 * output: the operator that writes the results as they come; NULL: they are held. *limits: how many bytes may wait. The
 * run leaves further results in scratch, and adds further terms one by one. -1: it is another kind of stage
 * (needs_entries.c). */
typedef struct tra_use_known {
    int64_t mine;   /* bytes of the stage's least memory, */
    int64_t here;   /* that are planned for all results of a site, */
    int64_t budget; /* and for blocks */
} tra_use_known;
typedef struct tra_use_limits {
    int64_t waits, terms; /* method.waits of the output, method.terms of the stage */
} tra_use_limits;
int64_t tra_op_use(const tra_plan *p, const tra_op *op, const tra_op *output, const tra_use_known *known, int threads,
                   tra_use_limits *limits);
/* The same of an output of such results, when all are counted: those that waited in memory, and what is read again. */
int64_t tra_output_use(const tra_plan *p, const tra_op *output, int threads);
/* Can the results of an aggregation be made of the panels of its states, each by itself? */
bool tra_agg_finishes_by_panels(const tra_kernel *agg);

/* Bytes that are reserved for a join or aggregation whose results grow or are counted, so that their size is only known
 * when they are made (grow.h). */
typedef struct tra_grown {
    int64_t result; /* for each result while it is made, with the sums of its tree */
    int64_t step;   /* for each result that grows at once: a term, and the sum that a worker makes with it */
} tra_grown;
tra_grown tra_op_grown(const tra_plan *p, const tra_op *op);
/* How many results grow at once: one for each worker, who takes the steps of a result in turn. */
int tra_op_grow_at_once(const tra_op *op, int threads);
/* What is reserved for n of these results together, which is no more than all results of the operator take, and two
 * pages for each. */
int64_t tra_op_grown_together(const tra_plan *p, const tra_op *op, int64_t n);
/* The element type of its states, or without an aggregation of its results. */
tra_dtype tra_op_state_dtype(const tra_plan *p, const tra_op *op);

/* Does an aggregation sum what a map makes of each tuple while it is read, without an array of its own: does the map
 * add to the sum? That is so where its sums are exact, and there is one result. */
bool tra_op_adds(const tra_plan *p, const tra_op *op);
/* How many such sums there are: each worker adds to one at a time, and at the end they are added up. There are as many
 * as workers if the budget of the pool has room for that, else fewer. */
int tra_op_sums(const tra_plan *p, const tra_op *op, int threads, int64_t budget);

/* Bytes of the pool (tra_block_footprint) that are needed for ... the largest array of a relation; */
int64_t tra_type_room(const tra_type *t);
static inline int64_t tra_op_room(const tra_op *op) { return op->holds ? op->holds->room : tra_type_room(&op->type); }
/* What results of this type that are placed so take. */
tra_op_holds tra_op_holds_of(const tra_type *t, const tra_placement *place);
/* the chunk that is unpacked in the block of an array when op's result is read; 0: none is unpacked; */
int64_t tra_op_unpacks(const tra_plan *p, const tra_op *op);
/* the stored block that one tuple of op's result is read from; */
int64_t tra_op_stored_room(const tra_plan *p, const tra_op *op);
/* computing one tuple of a MAP, fused or not, in scratch; fused maps are one composed kernel; 0 for what is no MAP; */
int64_t tra_op_derive_scratch(const tra_plan *p, const tra_op *op);
/* reading one tuple of op's result: its array and, when that is computed on reading, what it is computed from; */
int64_t tra_op_read_room(const tra_plan *p, const tra_op *op);
/* one output of a join or aggregation: its state, and its result where that needs a block of its own; */
int64_t tra_op_output_room(const tra_plan *p, const tra_op *op, int threads);
/* the part of that beside the block of the result: a dense state, or what sums that grow hold besides; 0: none. */
int64_t tra_op_state_room(const tra_plan *p, const tra_op *op);

#endif
