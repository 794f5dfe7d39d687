/* stages.h - what the executor does with each operator; private to lib/run. */
#ifndef TRA_STAGES_H
#define TRA_STAGES_H

#include "comm.h"
#include "engine.h"
#include "files.h"
#include "../physical/needs.h"
#include "output.h"

#include <stdatomic.h>

/* What all stages of a run share. */
typedef struct tra_site {
    tra_comm comm;
    const tra_plan *plan;
    tra_engine *engine;
    tra_pool *pool;
    const struct tra_transport *transport; /* of exchanges */
    tra_files files;                       /* of transport files */
    int64_t sent, received;                /* array bytes */
    atomic_llong done;                     /* array pairs, or arrays, that the stage has dealt with, */
    int64_t all;                           /* of so many */
    bool stops;                            /* when it is asked to (tra_stop_asked) */
} tra_site;

/* JOIN, AGG, JOINAGG, MERGE: l and r (NULL for AGG and MERGE) are the local parts. Every result that this site holds
 * under op->place is emitted once. */
typedef struct tra_loop_stage {
    const tra_op *op;
    tra_part *l, *r;
    tra_outlet sink;
} tra_loop_stage;
/* n of them, of which those of one scan (scan.h) take each block of the input that they share one after the other.
 * scanned: its part; NULL where there is one stage. */
TRA_MUSTUSE tra_status tra_stage_loops(tra_site *site, int n, tra_loop_stage *v, const tra_part *scanned, tra_err *e);
/* MAP, TILE, CONCAT made into stored tuples or a file, and any part written to a file: local, one result at a time. in:
 * what is copied, the result itself where it is computed on the way. */
TRA_MUSTUSE tra_status tra_stage_concat(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *sink, tra_err *e);
TRA_MUSTUSE tra_status tra_stage_copy(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *sink, tra_err *e);
/* SHUF and BCAST: in is placed as the operator before, the result as op->place; a partial relation becomes a bag of its
 * summands. REPART: pieces of the blocks of in become blocks of the result. Collective. */
TRA_MUSTUSE tra_status tra_stage_exchange(tra_site *site, const tra_op *op, tra_part *in, tra_part *out, tra_err *e);

/* The same as tra_stage_exchange in three parts, so that other stages run between them: one that makes in, whose slots
 * are filled as it does, one that reads out, whose slots are filled as tuples come. begin is collective and does not
 * fail: the others would wait; the error is told by step, which sends and receives what there is (wanted: though for
 * what comes something must be spilled; *any: something was there; *done becomes false while there is more to come),
 * and by end. end is called by all ranks; s: of the stages since, in which case the others are told. */
typedef struct tra_exchange tra_exchange;
typedef struct tra_moved {
    int64_t sent, received; /* bytes */
    double seconds;         /* until the last */
} tra_moved;
tra_exchange *tra_exchange_begin(tra_site *site, const tra_op *op, tra_part *in, tra_part *out);
TRA_MUSTUSE tra_status tra_exchange_step(tra_exchange *x, bool wanted, bool *any, bool *done, tra_err *e);
TRA_MUSTUSE tra_status tra_exchange_end(tra_exchange *x, tra_status s, tra_moved *moved, tra_err *e);

/* Waits for the units of a stage whose maker ended with s; the first error, s or a worker's, goes to e. */
TRA_MUSTUSE tra_status tra_stage_end(tra_site *site, tra_status s, tra_err *e);
/* What becomes of the arrays of an input that are read once each. */
tra_after tra_stage_after(const tra_site *site, const tra_op *op, int side);
/* Bytes of worker scratch and of reading that the parts need. */
size_t tra_stage_io(const tra_part *const *parts, int n);
size_t tra_stage_scratch(const tra_part *const *parts, int n);

#endif
