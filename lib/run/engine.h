/* engine.h - the workers of a site and the queue of units of work.
 *
 * A unit has inputs (tuples of parts) and tasks. The thread that runs the plan makes units in order, pins their inputs
 * and queues them; workers load what is not in memory, compute derived inputs, then run the tasks. Units of one chain
 * run task t after task t of the unit before, so that what tasks add to the same output comes in order; all else runs
 * as it comes. Nothing about timing, threads or memory reaches the results.
 */
#ifndef TRA_ENGINE_H
#define TRA_ENGINE_H

#include "../physical/constants.h"
#include "part.h"

typedef struct tra_engine tra_engine;
typedef struct tra_unit tra_unit;

typedef struct tra_worker {
    int id;
    void *scratch; /* as much as the stage asked for (tra_engine_stage) */
    void *io;      /* for reading and writing */
    tra_engine *engine;
    tra_block *room[2]; /* private: scratch and io */
} tra_worker;

typedef struct tra_unit_input {
    tra_part *part; /* tuple i of part */
    int64_t i;
    tra_after after; /* of its stored block, when the unit has ended */
    int64_t room;    /* bytes that what is computed on the way takes at least */
    bool extra_pin;  /* its stored block is pinned once more, for the maker to give back */
    tra_cell cell;   /* ready when tasks run */
    /* private to the engine */
    tra_block *block, *derived;
    int64_t reserved; /* bytes for what is derived, which the worker takes */
    tra_part *via;
    int64_t via_at;
    bool load, direct, started;
} tra_unit_input;

/* Units with as many tasks, in the order in which they are queued. The maker's, and there until the last has ended. */
typedef struct tra_chain {
    tra_unit *last; /* queued last, NULL once it has ended; private to the engine */
} tra_chain;

struct tra_unit {
    int ninputs;
    tra_unit_input *inputs; /* from malloc; freed with the unit */
    int ntasks;
    tra_status (*run)(tra_unit *u, int task, tra_worker *w, tra_err *e);
    void (*end)(tra_unit *u); /* after the last task (or never started, on failure): frees ctx; may be NULL */
    void *ctx;
    tra_chain *chain; /* NULL: of none */
    bool early;       /* tasks begin as soon as those before them in the chain have begun: see tra_engine_turn */
    /* private to the engine */
    tra_unit *next, *before;
    int64_t bytes;
    int all_started, looked_at, read_ahead; /* inputs before these have been; the last is of those that are direct */
    int preps_started, preps_done, tasks_started, tasks_done;
    uint8_t *done;
};

tra_engine *tra_engine_new(tra_pool *pool, int threads, tra_err *e); /* NULL when threads cannot be started */
void tra_engine_free(tra_engine *g);
int tra_engine_threads(const tra_engine *g);
/* Seconds of the clock, so far, in which a worker ran a task or computed an input on the way: without reading. */
double tra_engine_computed(tra_engine *g);
/* By a task: what it does from now on (false: no longer) is writing of results, which is not counted there. */
void tra_engine_writes(tra_worker *w, bool begins);

/* Called about four times a second by the thread that runs the plan while it waits for the workers or for memory;
 * NULL: nothing. It may take its time: the workers go on. A status that is not TRA_OK is the failure of the stage: no
 * more tasks are begun. */
typedef tra_status tra_engine_tick_fn(void *ctx, tra_err *e);
void tra_engine_set_tick(tra_engine *g, tra_engine_tick_fn *fn, void *ctx);
/* Calls it when it is due: for a stage that waits for something else. */
TRA_MUSTUSE tra_status tra_engine_tick(tra_engine *g, tra_err *e);

/* A step of what overlaps the stages, on the thread that runs the plan while it waits for the workers or for
 * memory: called again at once while *any says that something happened, else soon. It may bring what parts lack;
 * wanted: the next unit waits for it. A status that is not TRA_OK is the failure of the stage, and it is not called any
 * more. NULL: nothing. */
typedef tra_status tra_engine_overlap_fn(void *ctx, bool wanted, bool *any, tra_err *e);
void tra_engine_set_overlap(tra_engine *g, tra_engine_overlap_fn *fn, void *ctx);
bool tra_engine_busy(tra_engine *g); /* is there something in flight whose end will give memory back? */

/* Begins a stage: every worker gets so many bytes of the pool, until the next stage begins or the queue is drained. */
TRA_MUSTUSE tra_status tra_engine_stage(tra_engine *g, size_t scratch, size_t io, tra_err *e);
tra_unit *tra_unit_new(int ninputs, int ntasks);
void tra_unit_drop(tra_engine *g, tra_unit *u); /* one that was not submitted */
/* Do parts have the inputs of a unit that is not submitted yet? */
bool tra_engine_has(const tra_unit *u);
/* Waits until they have: what units in flight make, and what comes from elsewhere. */
TRA_MUSTUSE tra_status tra_engine_await(tra_engine *g, const tra_unit *u, tra_err *e);
/* Waits until a unit has ended; at once where none is in flight, and then *any is false. */
TRA_MUSTUSE tra_status tra_engine_await_end(tra_engine *g, bool *any, tra_err *e);
/* Waits for the inputs, pins them and queues the unit; takes it over, also on failure. May wait for memory. So what is
 * queued can run, and its end does not depend on what comes from elsewhere. */
TRA_MUSTUSE tra_status tra_engine_submit(tra_engine *g, tra_unit *u, tra_err *e);
/* Runs fn(ctx) on a background thread, for what waits more than it computes; it is run also after a failure, so
 * that it can let go of what ctx holds. When too many wait it is run at once. By any thread. */
typedef tra_status tra_background_fn(void *ctx, tra_err *e);
void tra_engine_background(tra_engine *g, tra_background_fn *fn, void *ctx);
/* By a task of a unit that is early: waits until the one before it in the chain has ended. What it computed until then
 * is its own; from now on it may add that to what the chain makes. False: the stage has failed. */
bool tra_engine_turn(tra_worker *w, const tra_unit *u, int task);
/* By a worker: runs fn(ctx), which takes memory (tra_block_take), and when it fails for want of it has given all back
 * that it took. Then it is run again as others give theirs back, of one worker at a time; TRA_RESOURCE when there was
 * none while no other computed. Meanwhile nothing more is queued. */
TRA_MUSTUSE tra_status tra_engine_insist(tra_worker *w, tra_background_fn *fn, void *ctx, tra_err *e);
/* The same for one block of so many bytes. */
TRA_MUSTUSE tra_status tra_engine_insist_block(tra_worker *w, int64_t bytes, tra_block **out, tra_err *e);
/* Waits until all units, and background calls, are done. On failure of any, the first error; units not started are
 * dropped. */
TRA_MUSTUSE tra_status tra_engine_drain(tra_engine *g, tra_err *e);
/* Reads one tuple on the calling thread: pins it (give back with tra_engine_release). For stages that compute little.
 * scratch, io: bytes that this takes for the moment, as a worker would. */
TRA_MUSTUSE tra_status tra_engine_fetch(tra_engine *g, tra_unit_input *in, size_t scratch, size_t io, tra_err *e);
/* Bytes of the tuple's contents, once it is ready. */
int64_t tra_engine_bytes(const tra_unit_input *in);
void tra_engine_release(tra_engine *g, tra_unit_input *in);
/* What was computed on the way, of an input that is ready: its block, pinned, for the caller; what it was computed from
 * is let go. NULL: the array is that of a stored block, which others may read. */
tra_block *tra_engine_take(tra_engine *g, tra_unit_input *in);

#endif
