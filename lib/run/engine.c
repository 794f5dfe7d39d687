/* engine.c - workers and the queue of units. */
#include "engine.h"
#include "../physical/needs.h"
#include "panels.h"

#include "../base/crew.h"
#include "../kernel/share.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    BACKGROUND = 2, /* background threads: a disk wants more than one request at a time */
    WAITING = 4     /* background calls that may wait for a thread */
};

/* Direct reads, past the page cache, leave the processor to the tasks; but they wait for the disk even where the page
 * cache has the block. So background threads read ahead directly while all workers compute. When a worker has to wait
 * for a direct read, the next 1, 3, 7, ... blocks are left to the workers, who read through the page cache: a back-off
 * that is halved by each direct read that was in time. */
enum { MOST_BACKOFF = 256 };

typedef struct background { /* a call for a background thread */
    struct background *next;
    tra_background_fn *fn;
    void *ctx;
} background;

/* Pieces of what a task computes, which workers that find nothing else to do take over (share.h). */
typedef struct shared_work {
    tra_piece_fn *fn;
    void *ctx;
    int n, helpers; /* pieces; workers that run some, beside the task's own */
    atomic_int taken;
    struct shared_work *next;
} shared_work;

/* What hands them on: one for each worker. */
typedef struct sharer {
    tra_sharer base;
    tra_engine *engine;
} sharer;

struct tra_engine {
    tra_pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t work, ended; /* something to do; a unit ended */
    int threads;
    pthread_t *tid;
    tra_worker *workers;
    shared_work *shared; /* of which pieces may be left */
    bool stop;           /* the threads are to end */
    atomic_bool failed;  /* the stage has failed; the pool asks without the lock */
    tra_err err;
    struct {
        tra_unit *head, *tail; /* units in order */
        int64_t bytes;         /* of their inputs */
        atomic_int inflight;   /* units that have not ended */
    } queue;
    struct {
        pthread_t tid[BACKGROUND]; /* started when first needed */
        int threads;
        pthread_cond_t more; /* a call, or something to be read ahead */
        background *first, *newest;
        atomic_int calls; /* that have not ended */
    } background;
    struct {
        int occupied, computing; /* workers that do something; that run tasks */
        int waiting;             /* of those that run tasks: that wait for their turn (tra_engine_turn) */
        int short_of_memory;     /* workers that wait for memory (tra_engine_retry) */
        bool retrying;           /* one of these tries again now */
    } now;
    struct {
        int running;           /* tasks, and inputs that are being computed */
        double since, seconds; /* when the first of them began; seconds in which any ran, before that */
    } clock;
    struct {
        int64_t loads;    /* queued inputs that can be read directly */
        int reading;      /* background threads that read one */
        int backoff;      /* blocks that are left to the workers after a late direct read */
        int backoff_left; /* of these, how many are still to come */
        bool late;        /* a worker waits for a direct read */
    } direct;
    struct { /* the thread that makes units: what it does while it waits */
        tra_engine_tick_fn *tick;
        void *tick_ctx;
        double ticked; /* when tick was last called */
        tra_engine_overlap_fn *overlap;
        void *overlap_ctx;
        bool wanted;     /* the next unit waits for what the overlapping exchanges bring */
        bool in_overlap; /* it is inside of `overlap`: memory that is waited for there comes from workers alone */
    } producer;
};

int tra_engine_threads(const tra_engine *g) { return g->threads; }

void tra_engine_set_tick(tra_engine *g, tra_engine_tick_fn *fn, void *ctx) {
    g->producer.tick = fn;
    g->producer.tick_ctx = ctx;
}

/* Under the lock. */
static void set_failed(tra_engine *g, bool failed) {
    g->failed = failed;
    atomic_store(&tra_cancel, failed); /* kernels that run may stop early */
}

static void fail(tra_engine *g, tra_err *e) { /* under the lock */
    if (!g->failed) g->err = *e;
    set_failed(g, true);
    pthread_cond_broadcast(&g->work);
    pthread_cond_broadcast(&g->ended);
}

tra_status tra_engine_tick(tra_engine *g, tra_err *e) {
    double now = tra_now();
    if (!g->producer.tick || now < g->producer.ticked + 0.25) return TRA_OK;
    g->producer.ticked = now;
    return g->producer.tick(g->producer.tick_ctx, e);
}

/* Called under the lock, which it releases meanwhile: the terminal may be blocked, the disk slow. */
static void tick(tra_engine *g) {
    tra_err e = {0};
    pthread_mutex_unlock(&g->lock);
    tra_status s = tra_engine_tick(g, &e);
    pthread_mutex_lock(&g->lock);
    if (s != TRA_OK) fail(g, &e);
}

/* A step of the exchanges that overlap the stage, under the lock; true: something happened, or it failed. */
static bool step_overlapped(tra_engine *g) {
    tra_err e = {0};
    bool any = false;
    if (g->producer.in_overlap || !g->producer.overlap) return false;
    g->producer.in_overlap = true;
    pthread_mutex_unlock(&g->lock);
    tra_status s = g->producer.overlap(g->producer.overlap_ctx, g->producer.wanted, &any, &e);
    pthread_mutex_lock(&g->lock);
    g->producer.in_overlap = false;
    if (s == TRA_OK) return any;
    tra_engine_set_overlap(g, NULL, NULL);
    fail(g, &e);
    return true;
}

static bool meanwhile(void *ctx, bool *soon) { /* the pool waits */
    tra_engine *g = ctx;
    pthread_mutex_lock(&g->lock);
    if (g->producer.tick) tick(g);
    bool any = step_overlapped(g);
    *soon = g->producer.overlap;
    pthread_mutex_unlock(&g->lock);
    return any;
}

void tra_engine_set_overlap(tra_engine *g, tra_engine_overlap_fn *fn, void *ctx) {
    g->producer.overlap = fn;
    g->producer.overlap_ctx = ctx;
}

/* Waits for cond under the lock: until it is signalled, at most a quarter of a second when there is a tick, and about a
 * millisecond when an exchange overlaps the stage. The caller must look again whether its condition holds. */
static void wait_for(tra_engine *g, pthread_cond_t *cond) {
    if (g->producer.overlap) {
        if (!step_overlapped(g)) tra_wait_for(cond, &g->lock, TRA_SHORTLY);
    } else if (!g->producer.tick) {
        pthread_cond_wait(cond, &g->lock);
    } else {
        tra_wait_briefly(cond, &g->lock);
    }
    if (g->producer.tick) tick(g);
}

tra_unit *tra_unit_new(int ninputs, int ntasks) {
    tra_unit *u = tra_calloc(1, sizeof *u);
    u->ninputs = ninputs;
    u->inputs = tra_calloc((size_t)ninputs + 1, sizeof *u->inputs);
    u->ntasks = ntasks;
    u->done = tra_calloc((size_t)ntasks + 1, 1);
    return u;
}

static void unpin_input(tra_engine *g, tra_unit_input *in) {
    if (in->block) tra_block_unpin_then(g->pool, in->block, in->after);
    in->block = NULL;
}

static void drop_inputs(tra_engine *g, tra_unit_input *in, int n) {
    for (int i = 0; i < n; i++) {
        tra_block_free(g->pool, in[i].derived);
        in[i].derived = NULL;
        if (in[i].reserved > 0) tra_pool_release(g->pool, in[i].reserved);
        in[i].reserved = 0;
        unpin_input(g, &in[i]);
    }
}

static void free_unit(tra_engine *g, tra_unit *u) {
    drop_inputs(g, u->inputs, u->ninputs);
    if (u->end) u->end(u);
    free(u->inputs);
    free(u->done);
    free(u);
}

void tra_unit_drop(tra_engine *g, tra_unit *u) { free_unit(g, u); }

/* ---- inputs ------------------------------------------------------------------------------------------------- */

/* The error of a block for tuple i of the part that could not be allocated. */
static tra_status no_room(tra_engine *g, tra_status s, const tra_part *p, int64_t i, int64_t bytes, const tra_err *own,
                          tra_err *e) {
    return tra_advise_blocks(s, "", p->type, p->ordinal[i], bytes, g->pool, own, e);
}

/* Pins the stored block of an input, and allocates the block of an input that is computed on reading. later: where only
 * the data tell the size of the latter, memory is reserved, and the worker allocates the block when it knows. */
static tra_status pin_input(tra_engine *g, tra_unit_input *in, bool later, tra_err *e) {
    tra_part *stored;
    int64_t at;
    tra_part_resolve(in->part, in->i, &stored, &at, &in->via, &in->via_at);
    assert(stored->block[at]);
    tra_err own = {0};
    tra_status s = tra_block_pin(g->pool, stored->block[at], &in->load, &own);
    if (s != TRA_OK) return no_room(g, s, stored, at, stored->block[at]->bytes, &own, e);
    in->block = stored->block[at];
    in->cell = tra_cell_new(in->part->type, in->part->ordinal[in->i], in->block->ptr);
    if (in->extra_pin) { /* now, since the unit may end, and its block be evicted, any time after it is queued */
        bool load;
        TRA_TRY(tra_block_pin(g->pool, in->block, &load, e));
    }
    if (!in->via) return TRA_OK;
    if (in->part->type->layout) {
        in->cell = tra_cell_new(in->part->type, in->part->ordinal[in->i], NULL);
        int64_t n = tra_size_planned(tra_type_bytes(in->part->type, in->part->ordinal[in->i]));
        if (later) TRA_TRY(tra_pool_reserve(g->pool, tra_block_footprint(n), e));
        in->reserved = later ? tra_block_footprint(n) : 0;
        return TRA_OK;
    }
    int64_t bytes = tra_max64(in->room, tra_part_bytes(in->part, in->i));
    TRA_TRY(tra_block_new(g->pool, bytes, &in->derived, e));
    in->cell = tra_cell_new(in->part->type, in->part->ordinal[in->i], in->derived->ptr);
    return TRA_OK;
}

/* Allocates the block of an input that is computed on reading and whose size the data tell. w: the worker; NULL: the
 * thread that runs the plan, which waits for memory. */
static tra_status find_block(tra_engine *g, tra_unit_input *in, const tra_cell *base, tra_worker *w, void *scratch,
                             tra_err *e) {
    int64_t bytes = tra_part_derive_bytes(in->via, in->via_at, base, &in->cell, scratch);
    tra_err own = {0};
    tra_status s =
        w ? tra_engine_take_block(w, bytes, &in->derived, &own) : tra_block_new(g->pool, bytes, &in->derived, &own);
    if (s != TRA_OK) return no_room(g, s, in->part, in->i, in->block->bytes + bytes, &own, e);
    in->cell.head = in->derived->ptr;
    return TRA_OK;
}

/* Under the lock. */
static void begin_computing(tra_engine *g) {
    if (g->clock.running++ == 0) g->clock.since = tra_now();
}

static void end_computing(tra_engine *g) {
    if (--g->clock.running == 0) g->clock.seconds += tra_now() - g->clock.since;
}

double tra_engine_computed(tra_engine *g) {
    pthread_mutex_lock(&g->lock);
    double s = g->clock.seconds + (g->clock.running > 0 ? tra_now() - g->clock.since : 0);
    pthread_mutex_unlock(&g->lock);
    return s;
}

void tra_engine_writes(tra_worker *w, bool begins) {
    tra_engine *g = w->engine;
    pthread_mutex_lock(&g->lock);
    if (begins)
        end_computing(g);
    else
        begin_computing(g);
    pthread_mutex_unlock(&g->lock);
}

static tra_status derive(tra_engine *g, tra_unit_input *in, const tra_cell *base, tra_worker *w, void *scratch,
                         tra_err *e) {
    if (in->cell.layout) TRA_TRY(find_block(g, in, base, w, scratch, e));
    TRA_TRY(tra_part_derive(in->via, in->via_at, base, &in->cell, scratch, e));
    if (in->cell.layout) tra_block_shrink(g->pool, in->derived, tra_cell_bytes(&in->cell));
    return TRA_OK;
}

/* Makes the cell of an input whose stored block has been read: checks the block's header, and computes the array where
 * it is computed on reading. */
static tra_status decode(tra_engine *g, tra_unit_input *in, tra_worker *w, void *scratch, tra_err *e) {
    if (!in->via && !in->cell.layout) return TRA_OK;
    const tra_part *p = in->via ? in->via->base : in->part; /* views below only rename the tuple */
    int64_t ordinal = p->ordinal[in->via ? in->via->src[in->via_at] : in->i];
    if (!in->via) return tra_cell_of(p->type, ordinal, in->block->ptr, in->block->bytes, &in->cell, e);
    tra_cell base;
    TRA_TRY(tra_cell_of(p->type, ordinal, in->block->ptr, in->block->bytes, &base, e));
    pthread_mutex_lock(&g->lock);
    begin_computing(g);
    pthread_mutex_unlock(&g->lock);
    tra_status s = derive(g, in, &base, w, scratch, e);
    pthread_mutex_lock(&g->lock);
    end_computing(g);
    pthread_mutex_unlock(&g->lock);
    return s;
}

static void loaded(tra_engine *g) { /* another unit may wait for it */
    pthread_mutex_lock(&g->lock);
    pthread_cond_broadcast(&g->work);
    pthread_mutex_unlock(&g->lock);
}

/* Loads and derives one input. */
static tra_status prepare(tra_engine *g, tra_unit_input *in, tra_worker *w, tra_err *e) {
    if (in->load) {
        tra_status s = tra_block_load(g->pool, in->block, w->io, e);
        loaded(g);
        if (s != TRA_OK) return s;
    }
    return decode(g, in, w, w->scratch, e);
}

/* ---- workers ------------------------------------------------------------------------------------------------ */

static void dequeue(tra_engine *g, tra_unit *u) {
    tra_unit **at = &g->queue.head, *last = NULL;
    while (*at != u) last = *at, at = &(*at)->next;
    *at = u->next;
    g->queue.bytes -= u->bytes;
    for (int i = 0; i < u->ninputs; i++)
        g->direct.loads -= u->inputs[i].direct && !u->inputs[i].started; /* of one that is dropped */
    if (g->queue.tail == u) g->queue.tail = last;
    if (u->chain && u->chain->last == u) u->chain->last = NULL;
    for (tra_unit *v = u->next; v; v = v->next) {
        if (v->before == u) v->before = NULL;
    }
}

/* An input of a unit that a worker can prepare now, or -1: one that this unit must load, or whose block is in memory.
 * Inputs that another unit is loading are looked at again, in order, when all others have been started. Under the lock.
 */
static int find_prep(tra_unit *u) {
    for (; u->looked_at < u->ninputs; u->looked_at++) {
        const tra_unit_input *in = &u->inputs[u->looked_at];
        if (!in->started && (in->load || in->block->state == TRA_BLOCK_HERE)) return u->looked_at;
    }
    while (u->all_started < u->ninputs && u->inputs[u->all_started].started) u->all_started++;
    bool any = u->all_started < u->ninputs && u->inputs[u->all_started].block->state == TRA_BLOCK_HERE;
    return any ? u->all_started : -1;
}

static tra_unit_input *start_prep(tra_engine *g, tra_unit *u, int i) {
    g->direct.loads -= u->inputs[i].direct;
    u->inputs[i].started = true;
    u->preps_started++;
    return &u->inputs[i];
}

/* Something to do, the earliest there is: an input to prepare (*task = -1 - input) or a task. Under the lock. */
static tra_unit *find_work(tra_engine *g, int *task) {
    if (g->failed) return NULL;
    for (tra_unit *u = g->queue.head; u; u = u->next) {
        int prep = find_prep(u);
        if (prep >= 0) {
            if (g->direct.backoff_left > 0) g->direct.backoff_left -= u->inputs[prep].direct;
            start_prep(g, u, prep);
            *task = -1 - prep;
            return u;
        }
        if (u->preps_done < u->ninputs || u->tasks_started == u->ntasks) continue;
        if (u->before && !u->before->done[u->tasks_started]) {
            /* a task that waits for its turn must wait for a running task, never for one that has no worker yet */
            if (!u->early || u->before->tasks_started <= u->tasks_started) continue;
        }
        *task = u->tasks_started++;
        return u;
    }
    return NULL;
}

/* Is there an input to read ahead directly, while all workers compute? Under the lock. */
static bool can_read(const tra_engine *g) {
    return g->direct.loads > 0 && g->direct.backoff_left == 0 && g->now.computing == g->threads && !g->failed;
}

static bool start_background(tra_engine *g);

static void wake_readers(tra_engine *g) {
    if (can_read(g) && start_background(g)) pthread_cond_signal(&g->background.more);
}

static void run_pieces(shared_work *x, void *scratch) {
    for (int i; (i = atomic_fetch_add(&x->taken, 1)) < x->n;) x->fn(x->ctx, i, scratch);
}

/* Under the lock. */
static shared_work *find_shared(tra_engine *g) {
    shared_work *x = g->shared;
    while (x && atomic_load(&x->taken) >= x->n) x = x->next;
    return x;
}

/* Under the lock, which it lets go meanwhile. The task of which they are does not end before. */
static void help(tra_engine *g, shared_work *x, const tra_worker *w) {
    x->helpers++;
    g->now.occupied++;
    g->now.computing++;
    wake_readers(g);
    pthread_mutex_unlock(&g->lock);
    run_pieces(x, w->scratch);
    pthread_mutex_lock(&g->lock);
    g->now.occupied--;
    g->now.computing--;
    if (--x->helpers == 0) pthread_cond_broadcast(&g->work);
}

static void share(tra_sharer *by, int n, tra_piece_fn *fn, void *ctx, void *scratch) {
    tra_engine *g = ((sharer *)(void *)by)->engine;
    shared_work x = {.fn = fn, .ctx = ctx, .n = n}, **at = &g->shared;
    atomic_init(&x.taken, 0);
    pthread_mutex_lock(&g->lock);
    x.next = g->shared;
    g->shared = &x;
    if (g->now.occupied < g->threads) pthread_cond_broadcast(&g->work);
    pthread_mutex_unlock(&g->lock);
    run_pieces(&x, scratch);
    pthread_mutex_lock(&g->lock);
    while (*at != &x) at = &(*at)->next;
    *at = x.next;
    while (x.helpers > 0) pthread_cond_wait(&g->work, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void *work(void *arg) {
    tra_worker *w = arg;
    tra_engine *g = w->engine;
    sharer mine = {{share}, g};
    tra_share_by(&mine.base);
    pthread_mutex_lock(&g->lock);
    for (;;) {
        int task;
        tra_unit *u;
        shared_work *x = NULL;
        while (!(u = find_work(g, &task)) && !(x = find_shared(g)) && !g->stop) {
            g->direct.late |= g->direct.reading > 0;
            pthread_cond_wait(&g->work, &g->lock);
        }
        if (!u && x) {
            help(g, x, w);
            continue;
        }
        if (!u) break;
        g->now.occupied++;
        if (task >= 0) g->now.computing++, begin_computing(g), wake_readers(g);
        pthread_mutex_unlock(&g->lock);
        tra_err e = {0};
        tra_status s = task < 0 ? prepare(g, &u->inputs[-1 - task], w, &e) : u->run(u, task, w, &e);
        pthread_mutex_lock(&g->lock);
        g->now.occupied--;
        if (s != TRA_OK) fail(g, &e);
        if (task < 0) {
            u->preps_done++;
        } else {
            g->now.computing--;
            end_computing(g);
            u->done[task] = 1;
            u->tasks_done++;
        }
        pthread_cond_broadcast(&g->work);
        if (task >= 0 && u->tasks_done == u->ntasks) {
            dequeue(g, u);
            pthread_mutex_unlock(&g->lock);
            free_unit(g, u);
            pthread_mutex_lock(&g->lock);
            atomic_fetch_sub(&g->queue.inflight, 1);
            pthread_cond_broadcast(&g->ended);
            pthread_mutex_unlock(&g->lock);
            tra_pool_wake(g->pool);
            pthread_mutex_lock(&g->lock);
        }
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

bool tra_engine_turn(tra_worker *w, const tra_unit *u, int task) {
    tra_engine *g = w->engine;
    pthread_mutex_lock(&g->lock);
    g->now.waiting++;
    while (u->before && !u->before->done[task] && !g->failed) pthread_cond_wait(&g->work, &g->lock);
    g->now.waiting--;
    bool ok = !g->failed;
    pthread_mutex_unlock(&g->lock);
    return ok;
}

tra_status tra_engine_retry(tra_worker *w, tra_background_fn *fn, void *ctx, tra_err *e) {
    tra_engine *g = w->engine;
    tra_err own = {0};
    tra_status s = fn(ctx, &own);
    pthread_mutex_lock(&g->lock);
    if (s == TRA_RESOURCE) g->now.short_of_memory++;
    bool needy = s == TRA_RESOURCE, last = false;
    while (needy && g->now.retrying && !g->failed) pthread_cond_wait(&g->work, &g->lock);
    bool mine = needy && !g->now.retrying;
    if (mine) g->now.retrying = true;
    while (mine && s == TRA_RESOURCE && !last && !g->failed) {
        last = g->now.occupied == g->now.short_of_memory + g->now.waiting && atomic_load(&g->background.calls) == 0;
        pthread_mutex_unlock(&g->lock);
        own = (tra_err){0};
        s = fn(ctx, &own);
        pthread_mutex_lock(&g->lock);
        if (s == TRA_RESOURCE && !last && !g->failed) tra_wait_briefly(&g->work, &g->lock);
    }
    if (mine) g->now.retrying = false;
    if (needy) {
        g->now.short_of_memory--;
        pthread_cond_broadcast(&g->work);
        pthread_cond_broadcast(&g->ended);
    }
    pthread_mutex_unlock(&g->lock);
    if (s != TRA_OK) *e = own;
    return s;
}

typedef struct one_block {
    tra_pool *pool;
    int64_t bytes;
    tra_block **out;
} one_block;

static tra_status take_block(void *ctx, tra_err *e) {
    one_block *x = ctx;
    return tra_block_take(x->pool, x->bytes, x->out, e);
}

tra_status tra_engine_take_block(tra_worker *w, int64_t bytes, tra_block **out, tra_err *e) {
    return tra_engine_retry(w, take_block, &(one_block){w->engine->pool, bytes, out}, e);
}

bool tra_engine_busy(tra_engine *g) {
    return (atomic_load(&g->queue.inflight) > 0 && !g->failed) || atomic_load(&g->background.calls) > 0;
}

static bool busy(void *ctx) { return tra_engine_busy(ctx); }

/* ---- background calls ------------------------------------------------------------------------------------------- */

static void call(tra_engine *g, background *b) {
    tra_err e = {0};
    tra_status s = b->fn(b->ctx, &e);
    free(b);
    pthread_mutex_lock(&g->lock);
    if (s != TRA_OK) fail(g, &e);
    atomic_fetch_sub(&g->background.calls, 1);
    pthread_cond_broadcast(&g->ended);
    pthread_mutex_unlock(&g->lock);
    tra_pool_wake(g->pool);
}

/* The earliest input to be read past the page cache, with its unit, or NULL. Under the lock. */
static tra_unit_input *find_load(tra_engine *g, tra_unit **of) {
    if (!can_read(g)) return NULL;
    for (tra_unit *u = g->queue.head; u; u = u->next) {
        for (; u->read_ahead < u->ninputs; u->read_ahead++) {
            if (u->inputs[u->read_ahead].started || !u->inputs[u->read_ahead].direct) continue;
            *of = u;
            return start_prep(g, u, u->read_ahead);
        }
    }
    return NULL;
}

static void read_ahead(tra_engine *g, tra_unit *u,
                       tra_unit_input *in) { /* under the lock, which it lets go meanwhile */
    tra_err e = {0};
    if (g->direct.reading++ == 0) g->direct.late = false;
    pthread_mutex_unlock(&g->lock);
    tra_status s = tra_block_load_direct(g->pool, in->block, &e);
    pthread_mutex_lock(&g->lock);
    g->direct.reading--;
    g->direct.backoff =
        g->direct.late ? (int)tra_min64(MOST_BACKOFF, 2 * g->direct.backoff + 1) : g->direct.backoff / 2;
    if (g->direct.late) g->direct.backoff_left = g->direct.backoff;
    g->direct.late = false;
    if (s != TRA_OK) fail(g, &e);
    u->preps_done++;
    pthread_cond_broadcast(&g->work);
}

static void *run_background(void *arg) {
    tra_engine *g = arg;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        tra_unit *u;
        tra_unit_input *in = NULL;
        while (!g->background.first && !(in = find_load(g, &u)) && !g->stop)
            pthread_cond_wait(&g->background.more, &g->lock);
        background *b = g->background.first;
        if (in) {
            read_ahead(g, u, in);
        } else if (b) {
            g->background.first = b->next;
            pthread_mutex_unlock(&g->lock);
            call(g, b);
            pthread_mutex_lock(&g->lock);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Starts one more background thread, up to BACKGROUND. True if there is any. Under the lock. */
static bool start_background(tra_engine *g) {
    if (g->background.threads < BACKGROUND &&
        pthread_create(&g->background.tid[g->background.threads], NULL, run_background, g) == 0)
        g->background.threads++;
    return g->background.threads > 0;
}

void tra_engine_background(tra_engine *g, tra_background_fn *fn, void *ctx) {
    background *b = tra_calloc(1, sizeof *b);
    *b = (background){.fn = fn, .ctx = ctx};
    pthread_mutex_lock(&g->lock);
    bool any = start_background(g);
    /* runs the call on this thread if there is no background thread, or too many calls wait for one */
    if (atomic_fetch_add(&g->background.calls, 1) >= WAITING || !any) {
        pthread_mutex_unlock(&g->lock);
        call(g, b);
        return;
    }
    if (g->background.first)
        g->background.newest->next = b;
    else
        g->background.first = b;
    g->background.newest = b;
    pthread_cond_signal(&g->background.more);
    pthread_mutex_unlock(&g->lock);
}

tra_engine *tra_engine_new(tra_pool *pool, int threads, tra_err *e) {
    tra_engine *g = tra_calloc(1, sizeof *g);
    g->pool = pool;
    pthread_mutex_init(&g->lock, NULL);
    tra_cond_init(&g->work);
    tra_cond_init(&g->ended);
    tra_cond_init(&g->background.more);
    g->tid = tra_calloc((size_t)threads, sizeof *g->tid);
    g->workers = tra_calloc((size_t)threads, sizeof *g->workers);
    tra_pool_set_busy(pool, busy, meanwhile, g);
    for (int i = 0; i < threads; i++) {
        g->workers[i] = (tra_worker){.id = i, .engine = g};
        if (pthread_create(&g->tid[i], NULL, work, &g->workers[i]) != 0) {
            tra_err dropped = {0};
            (void)tra_fail(e ? e : &dropped, TRA_RESOURCE, "cannot start worker thread %d of %d; lower --threads",
                           i + 1, threads);
            tra_engine_free(g);
            return NULL;
        }
        g->threads++;
    }
    return g;
}

static void free_room(tra_engine *g) {
    for (int i = 0; i < g->threads; i++) {
        tra_worker *w = &g->workers[i];
        for (int k = 0; k < 2; k++) {
            tra_block_free(g->pool, w->room[k]);
            w->room[k] = NULL;
        }
        w->scratch = w->io = NULL;
    }
}

void tra_engine_free(tra_engine *g) {
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_broadcast(&g->work);
    pthread_cond_broadcast(&g->background.more);
    pthread_mutex_unlock(&g->lock);
    for (int i = 0; i < g->threads; i++) pthread_join(g->tid[i], NULL);
    for (int i = 0; i < g->background.threads; i++) pthread_join(g->background.tid[i], NULL);
    free_room(g);
    free(g->tid);
    free(g->workers);
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->work);
    pthread_cond_destroy(&g->ended);
    pthread_cond_destroy(&g->background.more);
    free(g);
}

tra_status tra_engine_stage(tra_engine *g, size_t scratch, size_t io, tra_err *e) {
    assert(!g->queue.head);
    free_room(g);
    for (int i = 0; i < g->threads; i++) {
        tra_worker *w = &g->workers[i];
        if (scratch > 0) TRA_TRY(tra_block_new(g->pool, (int64_t)scratch, &w->room[0], e));
        if (io > 0) TRA_TRY(tra_block_new(g->pool, (int64_t)io, &w->room[1], e));
        w->scratch = scratch > 0 ? w->room[0]->ptr : NULL;
        w->io = io > 0 ? w->room[1]->ptr : NULL;
    }
    return TRA_OK;
}

/* ---- the thread that makes units ------------------------------------------------------------------------------ */

/* Has the block of the input been received, or made? */
static bool is_there(const tra_unit_input *in) {
    tra_part *stored, *via;
    int64_t at, via_at;
    tra_part_resolve(in->part, in->i, &stored, &at, &via, &via_at);
    return __atomic_load_n(&stored->block[at], __ATOMIC_ACQUIRE) != NULL;
}

bool tra_engine_has(const tra_unit *u) {
    for (int i = 0; i < u->ninputs; i++)
        if (!is_there(&u->inputs[i])) return false;
    return true;
}

tra_status tra_engine_await_end(tra_engine *g, bool *any, tra_err *e) {
    tra_status s = TRA_OK;
    pthread_mutex_lock(&g->lock);
    *any = atomic_load(&g->queue.inflight) > 0;
    if (*any && !g->failed) wait_for(g, &g->ended);
    if (g->failed) s = tra_fail(e, g->err.status, "%s", g->err.msg);
    pthread_mutex_unlock(&g->lock);
    return s;
}

tra_status tra_engine_await(tra_engine *g, const tra_unit *u, tra_err *e) {
    tra_status s = TRA_OK;
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < u->ninputs && !g->failed && s == TRA_OK;) {
        if (is_there(&u->inputs[i])) {
            i++;
        } else if (g->producer.overlap) {
            g->producer.wanted = true;
            wait_for(g, &g->ended);
            g->producer.wanted = false;
        } else {
            s = tra_fail(e, TRA_INTERNAL, "a unit waits for an array that no exchange will bring");
        }
    }
    if (g->failed) s = tra_fail(e, g->err.status, "%s", g->err.msg);
    pthread_mutex_unlock(&g->lock);
    return s;
}

tra_status tra_engine_submit(tra_engine *g, tra_unit *u, tra_err *e) {
    pthread_mutex_lock(&g->lock);
    while ((atomic_load(&g->queue.inflight) >= TRA_LOOKAHEAD ||
            (g->queue.bytes > TRA_LOOKAHEAD_BYTES && atomic_load(&g->queue.inflight) >= g->threads) ||
            g->now.short_of_memory > 0) &&
           !g->failed)
        wait_for(g, &g->ended);
    pthread_mutex_unlock(&g->lock);
    tra_status s = tra_engine_await(g, u, e);
    int pinned = 0;
    for (; s == TRA_OK && pinned < u->ninputs; pinned++) s = pin_input(g, &u->inputs[pinned], true, e);
    for (int i = 0; s != TRA_OK && i < pinned; i++) {
        if (u->inputs[i].extra_pin && u->inputs[i].block) tra_block_unpin(g->pool, u->inputs[i].block);
    }
    pthread_mutex_lock(&g->lock);
    if (s != TRA_OK) { /* if a worker has failed too, that was the cause */
        if (g->failed && e && g->err.status != TRA_OK) *e = g->err, s = g->err.status;
        set_failed(g, true);
        if (g->err.status == TRA_OK && e) g->err = *e;
        pthread_cond_broadcast(&g->work);
        pthread_mutex_unlock(&g->lock);
        free_unit(g, u);
        return s;
    }
    u->before = u->chain ? u->chain->last : NULL;
    assert(!u->before || u->before->ntasks == u->ntasks);
    for (int i = 0; i < u->ninputs; i++) {
        tra_unit_input *in = &u->inputs[i];
        u->bytes += in->block->bytes;
        in->direct = in->load && !in->via && !in->cell.layout && tra_block_direct(in->block);
        g->direct.loads += in->direct;
    }
    g->queue.bytes += u->bytes;
    if (g->queue.tail)
        g->queue.tail->next = u;
    else
        g->queue.head = u;
    g->queue.tail = u;
    if (u->chain) u->chain->last = u;
    atomic_fetch_add(&g->queue.inflight, 1);
    pthread_cond_broadcast(&g->work);
    wake_readers(g);
    pthread_mutex_unlock(&g->lock);
    return TRA_OK;
}

tra_status tra_engine_drain(tra_engine *g, tra_err *e) {
    pthread_mutex_lock(&g->lock);
    while (g->queue.head || atomic_load(&g->queue.inflight) > 0 ||
           atomic_load(&g->background.calls) > 0) { /* a unit has ended when what it held is given back */
        if (g->failed) {                            /* drop what has nothing running */
            tra_unit *u = g->queue.head;
            while (u && (u->preps_started != u->preps_done || u->tasks_started != u->tasks_done)) u = u->next;
            if (u) {
                dequeue(g, u);
                pthread_mutex_unlock(&g->lock);
                free_unit(g, u);
                pthread_mutex_lock(&g->lock);
                atomic_fetch_sub(&g->queue.inflight, 1);
                continue;
            }
        }
        wait_for(g, g->failed && g->queue.head ? &g->work : &g->ended);
    }
    tra_status s = TRA_OK;
    if (g->failed) {
        s = g->err.status ? g->err.status : TRA_INTERNAL;
        if (e && e->status == TRA_OK) *e = g->err;
        if (e && e->status == TRA_OK) (void)tra_fail(e, s, "a worker failed");
        set_failed(g, false);
        g->err = (tra_err){0};
    }
    pthread_mutex_unlock(&g->lock);
    free_room(g);
    return s;
}

/* Waits while a worker reads the block. */
static tra_status wait_for_load(tra_engine *g, tra_unit_input *in, tra_err *e) {
    pthread_mutex_lock(&g->lock);
    while (in->block->state != TRA_BLOCK_HERE && !g->failed) pthread_cond_wait(&g->work, &g->lock);
    bool here = in->block->state == TRA_BLOCK_HERE;
    pthread_mutex_unlock(&g->lock);
    return here ? TRA_OK : tra_fail(e, TRA_LOST, "a worker failed"); /* which has the cause */
}

tra_status tra_engine_fetch(tra_engine *g, tra_unit_input *in, size_t scratch, size_t io, tra_err *e) {
    tra_block *room = NULL;
    in->block = in->derived = NULL;
    tra_status s = pin_input(g, in, false, e);
    if (s == TRA_OK && in->load && io > 0) s = tra_block_new(g->pool, (int64_t)io, &room, e);
    if (s == TRA_OK && in->load) s = tra_block_load(g->pool, in->block, room ? room->ptr : NULL, e), loaded(g);
    if (s == TRA_OK && !in->load) s = wait_for_load(g, in, e);
    tra_block_free(g->pool, room);
    room = NULL;
    if (s == TRA_OK && in->via && scratch > 0) s = tra_block_new(g->pool, (int64_t)scratch, &room, e);
    if (s == TRA_OK) s = decode(g, in, NULL, room ? room->ptr : NULL, e);
    tra_block_free(g->pool, room);
    if (s != TRA_OK) drop_inputs(g, in, 1);
    return s;
}

int64_t tra_engine_bytes(const tra_unit_input *in) {
    if (in->cell.layout) return tra_cell_bytes(&in->cell); /* which may be less than was known before it was read */
    tra_size s = tra_type_bytes(in->part->type, in->part->ordinal[in->i]);
    return s.exact ? s.bound : in->derived ? in->derived->bytes : in->block->bytes;
}

void tra_engine_release(tra_engine *g, tra_unit_input *in) { drop_inputs(g, in, 1); }

tra_block *tra_engine_take(tra_engine *g, tra_unit_input *in) {
    tra_block *b = in->derived;
    if (!b) return NULL;
    in->derived = NULL;
    tra_block_unreserve(g->pool, b);
    drop_inputs(g, in, 1);
    return b;
}
