/* engine.h - the workers of a site and the queue of units of work.
 *
 * A unit has inputs (tuples of parts) and tasks. The thread that runs the plan (the producer) makes units in order,
 * pins their inputs and queues them; workers load inputs that are not in memory, compute derived ones, then run the
 * tasks. In a chain of units, task t of a unit runs after task t of the unit before it, so that the terms of one output
 * are added in order; everything else runs in any order. So results do not depend on timing, threads or memory.
 */
#ifndef TRA_ENGINE_H
#define TRA_ENGINE_H

#include "../physical/constants.h"
#include "part.h"
#include "record.h"

struct tra_op_notes;

typedef struct tra_engine tra_engine;
typedef struct tra_unit tra_unit;

typedef struct tra_worker {
    int id;              /* from 0 */
    void *scratch;       /* for computing: as much as the stage asked for (tra_engine_begin_stage) */
    void *io;            /* for reading and writing, likewise */
    tra_kept own;        /* what a join keeps of a right operand, as its index, for the next left block */
    tra_kept *kept;      /* the worker's own, or one that all workers share */
    const void *kept_by; /* own: of which kernel it is */
    int64_t kept_tuple;  /* own: of which tuple of the right part */
    tra_engine *engine;
    tra_track *track; /* where it records what it does, or NULL */
    double ended;     /* when it ended what it computed last, if it has hardly done anything since; else 0 */
    /* private to the engine */
    tra_block *memory[2];      /* the blocks of scratch and io */
    pthread_cond_t wake;       /* it has work, or its turn has come */
    bool idle;                 /* it waits for work, and nobody has woken it */
    const tra_unit *waits_for; /* the unit of which a task waits for its turn, */
    int waits_task;            /* and that task */
} tra_worker;

typedef struct tra_unit_input {
    tra_part *part; /* tuple i of part */
    int64_t i;
    tra_after after;              /* what becomes of its stored block when the unit has ended */
    int64_t room;                 /* least bytes of the block of an array that is computed on reading */
    bool extra_pin;               /* its stored block is pinned twice; the producer gives the second pin back */
    struct tra_worker_sums *sums; /* where what is computed on reading is added, without a block; NULL: nowhere */
    tra_cell cell;                /* ready when tasks run */
    /* private to the engine */
    tra_block *block, *derived;
    int64_t reserved; /* bytes for `derived`, which the worker allocates */
    tra_part *via;    /* the part that computes the array on reading, and the index of the tuple in it; NULL: none */
    int64_t via_at;
    bool load, direct, started; /* this unit must load the block; can do so directly; has begun to */
} tra_unit_input;

/* Units with equal numbers of tasks, which run in the order in which they are queued. Owned by the producer; must exist
 * until the last unit has ended. */
typedef struct tra_chain {
    tra_unit *last; /* queued last, NULL once it has ended; private to the engine */
} tra_chain;

struct tra_unit {
    int ninputs;
    tra_unit_input *inputs; /* behind the unit */
    int ntasks;
    tra_status (*run)(tra_unit *u, int task, tra_worker *w, tra_err *e);
    void (*end)(tra_unit *u); /* after the last task (or never started, on failure): frees ctx; may be NULL */
    void *ctx;
    int op;           /* for which operator it is; -1: for none */
    tra_chain *chain; /* NULL: of none */
    bool early;       /* a task may begin when the one before it in the chain has begun (tra_engine_await_turn) */
    /* private to the engine */
    tra_unit *next;   /* in the queue */
    tra_unit *before; /* in the chain; NULL: none, or it has ended */
    int64_t number;   /* of the unit in the order of the queue, from 1 */
    int64_t bytes;    /* of the blocks of its inputs */
    /* Inputs below these indices have begun to be prepared; workers, and background threads, have looked at them. */
    int all_started, looked_at, read_ahead;
    int preps_started, preps_done, tasks_started, tasks_done;
    uint8_t *done; /* of each task: it has ended */
};

tra_engine *tra_engine_new(tra_pool *pool, int threads, tra_err *e); /* NULL when threads cannot be started */
void tra_engine_free(tra_engine *g);
int tra_engine_threads(const tra_engine *g);
/* Has a task failed since it had no memory when no other task could give any back? Of fewer workers each has more. */
bool tra_engine_starved(const tra_engine *g);
/* Seconds of wall-clock time so far in which some worker computed: ran a task, or computed an input. Without reading.
 */
double tra_engine_computed_seconds(tra_engine *g);
/* Called by a task when it begins to write results (true), and when it has written them: that time is not counted. */
void tra_engine_set_writing(tra_worker *w, bool begins);

/* A function that the producer calls about four times a second while it waits for workers or for memory; NULL: none. It
 * may be slow: workers go on meanwhile. If it does not return TRA_OK the stage fails, and no more tasks are begun. */
typedef tra_status tra_engine_tick_fn(void *ctx, tra_err *e);
void tra_engine_set_tick(tra_engine *g, tra_engine_tick_fn *fn, void *ctx);
/* Calls it when it is due: for a stage that waits for something else. */
TRA_MUSTUSE tra_status tra_engine_tick(tra_engine *g, tra_err *e);

/* From now on nothing begins that would not have ended by `until` (of tra_now; 0: no such time): as long as what took
 * longest since this call, waiting included, or while nothing has ended so many seconds. What runs goes on to its end,
 * after which the stage fails as tra_stop_check does. */
void tra_engine_until(tra_engine *g, double until, double expected);
/* The most seconds that something took since; 0: nothing has ended. */
double tra_engine_longest(tra_engine *g);
/* Seconds that may pass until a stage that has failed has ended, without what workers do: the thread that runs the plan
 * wakes up late, and background calls wait. */
double tra_engine_ending(tra_engine *g);

/* A step of the exchanges that overlap the stage, which the producer calls while it waits for workers or for memory:
 * again at once after *any became true (something was sent or received), else after about a millisecond. It fills empty
 * slots of parts. wanted: the next unit waits for such a slot. If it does not return TRA_OK the stage fails, and it is
 * not called again. NULL: none. */
typedef tra_status tra_engine_overlap_fn(void *ctx, bool wanted, bool *any, tra_err *e);
void tra_engine_set_overlap(tra_engine *g, tra_engine_overlap_fn *fn, void *ctx);
/* Where it is noted which inputs that are computed on reading divided integers by zero; NULL: nowhere. */
void tra_engine_set_notes(tra_engine *g, struct tra_op_notes *notes);
/* Where workers and the producer record what they do. To be called before the first stage. */
void tra_engine_set_record(tra_engine *g, tra_record *r);
/* The producer does this now, for operator op (-1: for none); returns what it did. */
tra_doing tra_engine_do(tra_engine *g, tra_doing what, int op);
bool tra_engine_busy(tra_engine *g); /* is there something in flight whose end will give memory back? */

/* Begins a stage: so many workers (0: all) get so many bytes of the pool, until the next stage begins or the queue is
 * drained; the others rest. keep: bytes of kept.room, of each worker its own. */
TRA_MUSTUSE tra_status tra_engine_begin_stage(tra_engine *g, int workers, size_t scratch, size_t keep, size_t io,
                                              tra_err *e);
/* Gives all workers of the stage one room of so many bytes, instead of their own. */
TRA_MUSTUSE tra_status tra_engine_share_kept(tra_engine *g, size_t bytes, tra_err *e);
tra_unit *tra_unit_new(int ninputs, int ntasks);
void tra_unit_drop(tra_engine *g, tra_unit *u); /* one that was not submitted */
/* Do parts have the inputs of a unit that is not submitted yet? */
bool tra_engine_has_inputs(const tra_unit *u);
/* Waits until they have: for the exchanges that overlap the stage to bring them. */
TRA_MUSTUSE tra_status tra_engine_await_inputs(tra_engine *g, const tra_unit *u, tra_err *e);
/* Waits until a unit has ended; at once where none is in flight, and then *any is false. */
TRA_MUSTUSE tra_status tra_engine_await_end(tra_engine *g, bool *any, tra_err *e);
/* Waits for the inputs and for memory, pins the inputs and queues the unit; owns it from then on, also on failure. So a
 * queued unit can always run to its end without waiting for other sites. */
TRA_MUSTUSE tra_status tra_engine_submit(tra_engine *g, tra_unit *u, tra_err *e);
/* Runs fn(ctx) on a background thread: for calls that wait for the disk and hardly compute. It is called even after a
 * failure, so that it can free ctx. When too many calls wait it runs at once, on the calling thread. For any thread. */
typedef tra_status tra_engine_fn(void *ctx, tra_err *e);
void tra_engine_background(tra_engine *g, tra_engine_fn *fn, void *ctx);
/* For a task of a unit with `early`: waits until the same task of the unit before it in the chain has ended. Until then
 * the task may only compute on its own; afterwards it may change the output of the chain. False: the stage has failed.
 */
bool tra_engine_await_turn(tra_worker *w, const tra_unit *u, int task);
/* For workers: runs fn(ctx), which allocates by tra_block_take; when that returns TRA_RESOURCE, fn must have freed what
 * it allocated. It is then called again whenever others free memory, for one worker at a time, and no more units are
 * queued meanwhile. TRA_RESOURCE when memory was short although no other worker was computing. */
TRA_MUSTUSE tra_status tra_engine_retry(tra_worker *w, tra_engine_fn *fn, void *ctx, tra_err *e);
/* The same for allocating one block of so many bytes. */
TRA_MUSTUSE tra_status tra_engine_take_block(tra_worker *w, int64_t bytes, tra_block **out, tra_err *e);
/* Waits until all units, and background calls, are done. On failure of any, its error, and units not started are
 * dropped. Where inputs are at fault, that is the first unit in the order of the queue, whichever failed first: those
 * before it are run to their end. */
TRA_MUSTUSE tra_status tra_engine_drain(tra_engine *g, tra_err *e);
/* The end of a stage whose queueing ended with s: waits as drain does, and the first error goes to e. */
TRA_MUSTUSE tra_status tra_engine_end_stage(tra_engine *g, tra_status s, tra_err *e);
/* A stage of its own: fn(ctx, i) on workers with io bytes, for i from 0 to n - 1. */
typedef tra_status tra_each_fn(void *ctx, int64_t i, tra_worker *w, tra_err *e);
TRA_MUSTUSE tra_status tra_engine_each(tra_engine *g, int64_t n, size_t io, tra_each_fn *fn, void *ctx, tra_err *e);
/* The run of which all threads of the engine are, and the one that made it until it frees it. */
tra_kernel_run *tra_engine_kernels(tra_engine *g);
/* Kernels that the main thread runs are shared with the workers from when this begins until it ends. */
void tra_engine_share(tra_engine *g, bool begins);
/* Reads one tuple on the calling thread and pins it; unpin it with tra_engine_release. For exchanges, which compute
 * little. scratch, io: bytes of temporary memory for it, as a worker has (tra_engine_begin_stage). */
TRA_MUSTUSE tra_status tra_engine_fetch(tra_engine *g, tra_unit_input *in, size_t scratch, size_t io, tra_err *e);
/* Bytes of the tuple's contents, once it is ready. */
int64_t tra_engine_bytes(const tra_unit_input *in);
void tra_engine_release(tra_engine *g, tra_unit_input *in);
/* Takes the pinned block of an array that was computed on reading out of an input that is ready, and unpins what it was
 * computed from. NULL: the array is in a stored block, which others may read. */
tra_block *tra_engine_take_derived(tra_engine *g, tra_unit_input *in);

#endif
