/* engine_int.h - what the files of the engine share: engine.c (the thread that makes units), engine_workers.c,
 * engine_inputs.c and engine_background.c. */
#ifndef TRA_ENGINE_INT_H
#define TRA_ENGINE_INT_H

#include "engine.h"
#include "op_notes.h"

#include "../base/crew.h"
#include "../kernel/program.h"
#include "../kernel/parallel_sums.h"

#include <stdatomic.h>

enum { TRA_BACKGROUND_THREADS = 2 }; /* a disk wants more than one request at a time */

/* Pieces of what a task computes, which workers that find nothing else to do take over (parallel.h). */
typedef struct tra_shared_work {
    tra_piece_fn *fn;
    void *ctx;
    int n, helpers;      /* pieces; workers that run some, beside the task's own */
    int op;              /* for which operator the task is; -1: for none */
    bool scratch;        /* pieces need the scratch of a worker that has a part in the stage */
    pthread_cond_t left; /* the last of these workers has left */
    atomic_int taken;
    struct tra_shared_work *next;
} tra_shared_work;

struct tra_engine {
    tra_pool *pool;
    tra_op_notes *notes; /* may be NULL */
    pthread_mutex_t lock;
    /* Each event wakes who waits for it, and no others: a worker without work is woken for work that it can take, and
     * wakes another when it has taken some and there is more. */
    pthread_cond_t ended;      /* a unit ended: for the producer */
    pthread_cond_t loaded;     /* a block was read: for the thread that runs the plan */
    pthread_cond_t freed;      /* memory may be free: for the worker that tries again, */
    pthread_cond_t next_retry; /* and no worker tries again now */
    int idle, waking;          /* workers that wait for work; that were woken and do not run yet */
    struct {                   /* work of the engine itself */
        int64_t wakes;         /* of workers that waited for work or for their turn */
        int64_t looks;         /* at units, by workers that looked for work */
    } counts;
    int threads;
    int at_work; /* workers with a number below that have a part in the stage */
    pthread_t *tid;
    tra_worker *workers;
    tra_kept kept; /* what all workers share (tra_engine_share_kept): its block, and its lock */
    tra_block *kept_block;
    pthread_mutex_t kept_lock;
    tra_shared_work *shared;         /* of which pieces may be left */
    tra_kernel_run kernels, *before; /* the run that its threads are of; that the producer was of before */
    bool stop;                       /* the threads are to end */
    bool starved;                    /* a task had no memory, and all others waited for memory too */
    atomic_bool failed;              /* the stage has failed; the pool asks without the lock */
    tra_err err;
    int64_t failed_at; /* when failed: units with a lesser number go on */
    struct {
        tra_unit *head, *tail; /* units in order */
        int64_t bytes;         /* of their inputs */
        int64_t units;         /* that have been queued so far */
        atomic_int inflight;   /* units that have not ended */
        bool held; /* one small unit, which no worker was woken for: the producer runs it, unless it has to wait */
    } queue;
    struct {
        pthread_t tid[TRA_BACKGROUND_THREADS]; /* started when first needed */
        int threads;
        pthread_cond_t more; /* a call, or something to be read ahead */
        struct tra_background *first, *newest;
        atomic_int calls; /* that have not ended */
    } background;
    struct {                 /* how many workers now .. */
        int occupied;        /* do something: prepare an input, run a task, or help with one */
        int computing;       /* run a task, or help with one */
        int waiting;         /* run a task, and wait for their turn (tra_engine_await_turn) */
        int ending;          /* free what a unit had that has ended */
        int short_of_memory; /* wait for memory (tra_engine_retry) */
        bool retrying;       /* one that waits for memory tries again now */
    } now;
    struct {
        int running;    /* tasks that run, and inputs that are being computed */
        double since;   /* when the first of these began */
        double seconds; /* in which anything ran before that */
    } clock;
    struct {
        int64_t loads;    /* queued inputs that can be read directly */
        int reading;      /* background threads that read one */
        int backoff;      /* blocks that are left to the workers after a late direct read */
        int backoff_left; /* of these, how many are still to come */
        bool late;        /* a worker waits for a direct read */
    } direct;
    struct {                 /* a time by which all is to have ended (tra_engine_until) */
        double until;        /* of tra_now; 0: there is none */
        double expected;     /* seconds of a task while none has ended; */
        double longest;      /* the most that one took since then; 0: none has ended */
        double longest_call; /* and a background call */
        double woken_late;   /* the most by which the producer woke up too late */
        bool late;           /* no task begins any more */
    } times;
    struct { /* the thread that makes units: what it does while it waits */
        tra_engine_tick_fn *tick;
        void *tick_ctx;
        double ticked; /* when tick was last called */
        tra_engine_overlap_fn *overlap;
        void *overlap_ctx;
        bool may_work; /* its stack is as large as a worker's */
        bool wanted;   /* the next unit waits for what the overlapping exchanges bring */
        tra_track *track;
        bool in_overlap; /* it is inside of `overlap`: memory that is waited for there comes from workers alone */
    } producer;
};

/* Functions that say so are called under the engine's lock. */

/* Under the lock: the stage has failed, for this reason unless there was one before. By: the unit, where it is one. */
void tra_engine_fail(tra_engine *g, const tra_unit *by, tra_err *e);
/* Has the stage failed, and is the unit not before the one that did? Under the lock. */
static inline bool tra_engine_gives_up(const tra_engine *g, const tra_unit *u) {
    return g->failed && u->number >= g->failed_at;
}
/* Takes a unit out of the queue. Under the lock. */
void tra_engine_dequeue(tra_engine *g, tra_unit *u);
/* A task, or an input that is computed on reading, begins and ends to run: its time is counted. Under the lock.
 * Returns the time, if the clock was asked; else 0. */
double tra_engine_begin_computing(tra_engine *g);
double tra_engine_end_computing(tra_engine *g);

/* Pins the stored block of an input, and allocates the block of an input that is computed on reading. reserve: where
 * only the data tell the size of the latter, memory is reserved, and the worker allocates the block when it knows. */
TRA_MUSTUSE tra_status tra_engine_pin(tra_engine *g, tra_unit_input *in, bool reserve, tra_err *e);
/* Reads a pinned input and computes it, on a worker. *computing: it has begun to compute, which the caller ends
 * (tra_engine_end_computing). */
TRA_MUSTUSE tra_status tra_engine_prepare(tra_engine *g, tra_unit_input *in, tra_worker *w, bool *computing,
                                          tra_err *e);
/* Gives back the pins, blocks and reservations of n inputs. */
void tra_engine_drop_inputs(tra_engine *g, tra_unit_input *in, int n);

/* Runs the unit that is held, on the calling thread in place of worker 0, which no worker is woken for. Under the lock,
 * which it releases meanwhile. */
void tra_engine_run_held(tra_engine *g);
/* Wakes a worker without work, if there is work that it can take. Under the lock. */
void tra_engine_wake(tra_engine *g);
/* Something ended that may have held memory, or kept a worker that needs some from giving up. Under the lock. */
void tra_engine_tell_memory(tra_engine *g);
/* The thread of a worker. */
void *tra_engine_run_worker(void *worker);
/* Marks input i of a queued unit as one that somebody has begun to prepare. Under the lock. */
tra_unit_input *tra_engine_start_input(tra_engine *g, tra_unit *u, int i);
/* Wakes a background thread if there is an input that it should read ahead. Under the lock. */
void tra_engine_wake_readers(tra_engine *g);

#endif
