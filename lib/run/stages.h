/* stages.h - what the executor does with each operator; private to lib/run. */
#ifndef TRA_STAGES_H
#define TRA_STAGES_H

#include "comm.h"
#include "engine.h"
#include "../physical/needs.h"
#include "outlet.h"
#include "op_notes.h"

#include <stdatomic.h>

/* One rank while it runs a plan: what all stages share. */
typedef struct tra_site {
    tra_comm comm;
    const tra_plan *plan;
    tra_engine *engine;
    tra_pool *pool;
    char *exchange_dir;     /* of the files by which blocks are exchanged; NULL: they go by messages */
    int64_t handed;         /* files that this rank has made there so far, */
    int untried;            /* and pieces of the next that will not be compressed */
    int64_t sent, received; /* array bytes that stages by themselves have exchanged so far */
    atomic_llong done;      /* of the stage that runs: pairs of arrays, or arrays, that are done */
    int64_t total;          /* how many it has to do */
    tra_op_notes *notes;    /* what kernels note beside results */
    bool can_stop;          /* the run ends early when it is asked to (tra_stop_asked) */
} tra_site;

/* A JOIN, AGG, JOINAGG or MERGE: l and r (NULL for AGG and MERGE) are the local parts of its inputs. Every result that
 * this site holds under op->place is emitted once. */
typedef struct tra_loop_stage {
    const tra_op *op;
    tra_part *l, *r;
    tra_outlet outlet;
} tra_loop_stage;
/* Runs n such stages: one, or those of a scan (scan.h), which read each block of the input that they share together.
 * scanned: the part of that input; NULL if there is one stage. */
TRA_MUSTUSE tra_status tra_stage_loops(tra_site *site, int n, tra_loop_stage *v, const tra_part *scanned, tra_err *e);
/* Local stages, each result in a unit. gather: a CONCAT, or a REPART that gathers. copy: stores the tuples of part
 * `in`, or writes them to a file; for a MAP or TILE `in` is its own result, which is computed on reading. */
TRA_MUSTUSE tra_status tra_stage_gather(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *outlet, tra_err *e);
TRA_MUSTUSE tra_status tra_stage_copy(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *outlet, tra_err *e);
/* SHUF and BCAST: `in` is placed like the operator before, `out` by op->place; of a partial relation every summand
 * becomes a tuple by itself. REPART: pieces of the blocks of in become blocks of the result. Collective. */
TRA_MUSTUSE tra_status tra_stage_exchange(tra_site *site, const tra_op *op, tra_part *in, tra_part *out, tra_err *e);

/* An exchange that overlaps stages: tra_stage_exchange in three parts, between which these run. One may read `out`,
 * whose slots are filled as tuples arrive. begin is collective, and reports no error, since the other ranks would wait:
 * step and end do. step sends and receives what it can without waiting. wanted: it may spill blocks to receive; *any
 * becomes true if it did anything, *done false if it must be called again. end is collective; s: the status of the
 * stages since begin, which the other ranks are told if it is a failure. */
typedef struct tra_exchange tra_exchange;
typedef struct tra_moved {
    int64_t sent, received; /* bytes */
    double seconds;         /* from begin until the last tuple */
} tra_moved;
tra_exchange *tra_exchange_begin(tra_site *site, const tra_op *op, tra_part *in, tra_part *out);
TRA_MUSTUSE tra_status tra_exchange_step(tra_exchange *x, bool wanted, bool *any, bool *done, tra_err *e);
TRA_MUSTUSE tra_status tra_exchange_end(tra_exchange *x, tra_status s, tra_moved *moved, tra_err *e);

/* What is to be done with the blocks of an input whose tuples are read once each, after use. */
tra_after tra_stage_after(const tra_site *site, const tra_op *op, int side);
#endif
