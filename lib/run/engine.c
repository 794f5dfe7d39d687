/* engine.c - the engine: its threads, and the thread that makes units, queues them and waits for them. */
#include "engine_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- what the thread that makes units does while it waits ------------------------------------------------------ */

void tra_engine_set_notes(tra_engine *g, tra_op_notes *notes) { g->notes = notes; }

bool tra_engine_starved(const tra_engine *g) { return g->starved; }

tra_kernel_run *tra_engine_kernels(tra_engine *g) { return &g->kernels; }

int tra_engine_threads(const tra_engine *g) { return g->threads; }

void tra_engine_set_tick(tra_engine *g, tra_engine_tick_fn *fn, void *ctx) {
    g->producer.tick = fn;
    g->producer.tick_ctx = ctx;
}

/* Under the lock. at: the units before this one go on. */
static void set_failed(tra_engine *g, bool failed, int64_t at) {
    g->failed = failed;
    g->failed_at = at;
    atomic_store(&g->kernels.stop, failed && at == 0); /* kernels that run may stop early */
}

void tra_engine_fail(tra_engine *g, const tra_unit *by, tra_err *e) {
    bool input = by && e->status == TRA_INPUT;
    if (!g->failed || (input && by->number < g->failed_at)) {
        g->err = *e;
        set_failed(g, true, input ? by->number : 0);
    } else if (!input) {
        set_failed(g, true, 0);
    }
    for (int i = 0; i < g->threads; i++)
        if (g->workers[i].waits_for) pthread_cond_signal(&g->workers[i].wake);
    pthread_cond_broadcast(&g->loaded);
    pthread_cond_broadcast(&g->freed);
    pthread_cond_broadcast(&g->next_retry);
    pthread_cond_broadcast(&g->ended);
}

static const double TICK = 0.25; /* seconds */

tra_status tra_engine_tick(tra_engine *g, tra_err *e) {
    double now = tra_now();
    bool over = g->times.until > 0 && now >= g->times.until;
    if (!g->producer.tick || (!over && now < g->producer.ticked + TICK)) return TRA_OK;
    g->producer.ticked = now;
    return g->producer.tick(g->producer.tick_ctx, e);
}

/* Called under the lock, which it releases meanwhile: the terminal may be blocked, the disk slow. */
static void tick(tra_engine *g) {
    tra_err e = {0};
    pthread_mutex_unlock(&g->lock);
    tra_status s = tra_engine_tick(g, &e);
    pthread_mutex_lock(&g->lock);
    if (s != TRA_OK) tra_engine_fail(g, NULL, &e);
}

/* Workers run what the producer has held back for itself. Under the lock. */
static void give_up_held(tra_engine *g) {
    if (!g->queue.held) return;
    g->queue.held = false;
    tra_engine_wake(g);
}

/* A step of the exchanges that overlap the stage, under the lock; true: something happened, or it failed. */
static bool step_overlapped(tra_engine *g) {
    tra_err e = {0};
    bool any = false;
    if (g->producer.in_overlap || !g->producer.overlap) return false;
    g->producer.in_overlap = true;
    pthread_mutex_unlock(&g->lock);
    tra_doing before = tra_track_do(g->producer.track, TRA_DO_EXCHANGE);
    tra_status s = g->producer.overlap(g->producer.overlap_ctx, g->producer.wanted, &any, &e);
    (void)tra_track_do(g->producer.track, before);
    pthread_mutex_lock(&g->lock);
    g->producer.in_overlap = false;
    if (s == TRA_OK) return any;
    tra_engine_set_overlap(g, NULL, NULL);
    tra_engine_fail(g, NULL, &e);
    return true;
}

static bool meanwhile(void *ctx, bool *soon) { /* the pool waits */
    tra_engine *g = ctx;
    pthread_mutex_lock(&g->lock);
    give_up_held(g);
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
    give_up_held(g);
    double now = g->producer.tick ? tra_now() : 0; /* who records something ticks */
    bool writes =
        atomic_load(&g->queue.inflight) == 0 && atomic_load(&g->background.calls) > 0; /* outputs, in the background */
    tra_doing before = tra_track_do_at(g->producer.track, writes ? TRA_DO_WRITE : TRA_DO_AWAIT_WORK, now);
    double until = now + TICK;
    if (g->times.until > now && g->times.until < until) until = g->times.until;
    if (g->producer.overlap) {
        if (!step_overlapped(g)) tra_wait_for(cond, &g->lock, TRA_SHORTLY);
    } else if (!g->producer.tick) {
        pthread_cond_wait(cond, &g->lock);
    } else {
        tra_wait_until(cond, &g->lock, until);
    }
    if (!g->producer.tick) return;
    now = tra_now();
    if (!g->producer.overlap && now - until > g->times.woken_late) g->times.woken_late = now - until;
    (void)tra_track_do_at(g->producer.track, before, now);
    bool over = g->times.until > 0 && now >= g->times.until && !g->failed;
    if (over || now >= g->producer.ticked + TICK) tick(g);
}

void tra_engine_set_record(tra_engine *g, tra_record *r) {
    pthread_mutex_lock(&g->lock);
    g->producer.track = tra_record_track(r, -1);
    for (int i = 0; i < g->threads; i++) g->workers[i].track = tra_record_track(r, i);
    pthread_mutex_unlock(&g->lock);
}

tra_doing tra_engine_do(tra_engine *g, tra_doing what, int op) {
    return tra_track_do_for(g->producer.track, what, op, 0);
}

/* ---- units ----------------------------------------------------------------------------------------------------- */

tra_unit *tra_unit_new(int ninputs, int ntasks) {
    size_t inputs = (size_t)ninputs * sizeof(tra_unit_input), bytes = sizeof(tra_unit) + inputs + (size_t)ntasks;
    tra_unit *u = memset(tra_malloc(bytes), 0, bytes);
    u->ninputs = ninputs;
    u->inputs = (tra_unit_input *)(void *)(u + 1);
    u->ntasks = ntasks;
    u->op = -1;
    u->done = (uint8_t *)(u->inputs + ninputs);
    return u;
}

void tra_unit_drop(tra_engine *g, tra_unit *u) {
    tra_engine_drop_inputs(g, u->inputs, u->ninputs);
    if (u->end) u->end(u);
    free(u);
}

/* ---- seconds in which some worker computes --------------------------------------------------------------------- */

double tra_engine_begin_computing(tra_engine *g) { return g->clock.running++ == 0 ? g->clock.since = tra_now() : 0; }

double tra_engine_end_computing(tra_engine *g) {
    double now = --g->clock.running == 0 ? tra_now() : 0;
    if (now > 0) g->clock.seconds += now - g->clock.since;
    return now;
}

double tra_engine_computed_seconds(tra_engine *g) {
    pthread_mutex_lock(&g->lock);
    double s = g->clock.seconds + (g->clock.running > 0 ? tra_now() - g->clock.since : 0);
    pthread_mutex_unlock(&g->lock);
    return s;
}

void tra_engine_set_writing(tra_worker *w, bool begins) {
    tra_engine *g = w->engine;
    pthread_mutex_lock(&g->lock);
    double now = begins ? tra_engine_end_computing(g) : tra_engine_begin_computing(g);
    pthread_mutex_unlock(&g->lock);
    (void)tra_track_do_at(w->track, begins ? TRA_DO_WRITE : TRA_DO_COMPUTE, now);
}

/* ---- the queue ------------------------------------------------------------------------------------------------- */

void tra_engine_dequeue(tra_engine *g, tra_unit *u) {
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

bool tra_engine_busy(tra_engine *g) {
    return (atomic_load(&g->queue.inflight) > 0 && !g->failed) || atomic_load(&g->background.calls) > 0;
}

static bool busy(void *ctx) { return tra_engine_busy(ctx); }

/* Kernels keep strips of values on the stack, of which threads of this program have enough whatever the limit says. */
static bool has_room_to_work(void) {
    enum { STACK = 8 << 20 };
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= STACK;
}

/* ---- threads and their memory ---------------------------------------------------------------------------------- */

tra_engine *tra_engine_new(tra_pool *pool, int threads, tra_err *e) {
    tra_engine *g = tra_calloc(1, sizeof *g);
    g->pool = pool;
    g->at_work = threads;
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->kept_lock, NULL);
    tra_cond_init(&g->ended);
    tra_cond_init(&g->loaded);
    tra_cond_init(&g->freed);
    tra_cond_init(&g->next_retry);
    tra_cond_init(&g->background.more);
    g->tid = tra_calloc((size_t)threads, sizeof *g->tid);
    g->workers = tra_calloc((size_t)threads, sizeof *g->workers);
    tra_pool_set_busy(pool, busy, meanwhile, g);
    g->before = tra_kernel_enter(&g->kernels);
    g->producer.may_work = has_room_to_work();
    for (int i = 0; i < threads; i++) {
        g->workers[i] = (tra_worker){.id = i, .engine = g};
        tra_cond_init(&g->workers[i].wake);
        if (tra_thread_start(&g->tid[i], tra_engine_run_worker, &g->workers[i]) != 0) {
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

static void free_worker_memory(tra_engine *g) {
    for (int i = 0; i < g->threads; i++) {
        tra_worker *w = &g->workers[i];
        for (int k = 0; k < 2; k++) {
            tra_block_free(g->pool, w->memory[k]);
            w->memory[k] = NULL;
        }
        w->scratch = w->io = NULL;
    }
    tra_block_free(g->pool, g->kept_block);
    g->kept_block = NULL;
}

void tra_engine_free(tra_engine *g) {
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    for (int i = 0; i < g->threads; i++) pthread_cond_signal(&g->workers[i].wake);
    pthread_cond_broadcast(&g->background.more);
    pthread_mutex_unlock(&g->lock);
    for (int i = 0; i < g->threads; i++) {
        pthread_join(g->tid[i], NULL);
        pthread_cond_destroy(&g->workers[i].wake);
    }
    for (int i = 0; i < g->background.threads; i++) pthread_join(g->background.tid[i], NULL);
    (void)tra_kernel_enter(g->before);
    tra_program_forget(&g->kernels);
    free_worker_memory(g);
    free(g->tid);
    free(g->workers);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->kept_lock);
    pthread_cond_destroy(&g->ended);
    pthread_cond_destroy(&g->loaded);
    pthread_cond_destroy(&g->freed);
    pthread_cond_destroy(&g->next_retry);
    pthread_cond_destroy(&g->background.more);
    free(g);
}

tra_status tra_engine_begin_stage(tra_engine *g, int workers, size_t scratch, size_t keep, size_t io, tra_err *e) {
    scratch = (scratch + 63) / 64 * 64;
    assert(!g->queue.head);
    free_worker_memory(g);
    pthread_mutex_lock(&g->lock);
    g->at_work = workers > 0 && workers < g->threads ? workers : g->threads;
    pthread_mutex_unlock(&g->lock);
    for (int i = 0; i < g->at_work; i++) {
        tra_worker *w = &g->workers[i];
        if (scratch + keep > 0) TRA_TRY(tra_block_new(g->pool, (int64_t)(scratch + keep), &w->memory[0], e));
        if (io > 0) TRA_TRY(tra_block_new(g->pool, (int64_t)io, &w->memory[1], e));
        w->scratch = scratch > 0 ? w->memory[0]->ptr : NULL;
        w->kept_by = NULL;
        w->own = (tra_kept){.room = keep > 0 ? (char *)w->memory[0]->ptr + scratch : NULL};
        w->kept = &w->own;
        w->io = io > 0 ? w->memory[1]->ptr : NULL;
    }
    return TRA_OK;
}

tra_status tra_engine_share_kept(tra_engine *g, size_t bytes, tra_err *e) {
    if (bytes == 0) return TRA_OK;
    TRA_TRY(tra_block_new(g->pool, (int64_t)bytes, &g->kept_block, e));
    g->kept.of = NULL;
    g->kept.room = g->kept_block->ptr;
    g->kept.lock = &g->kept_lock;
    for (int i = 0; i < g->at_work; i++) g->workers[i].kept = &g->kept;
    return TRA_OK;
}

/* ---- the thread that makes units ------------------------------------------------------------------------------- */

/* Has the block of the input been received, or made? */
static bool is_there(const tra_unit_input *in) {
    tra_part_source from = tra_part_resolve(in->part, in->i);
    return __atomic_load_n(&from.stored->block[from.at], __ATOMIC_ACQUIRE) != NULL;
}

bool tra_engine_has_inputs(const tra_unit *u) {
    for (int i = 0; i < u->ninputs; i++)
        if (!is_there(&u->inputs[i])) return false;
    return true;
}

tra_status tra_engine_await_end(tra_engine *g, bool *any, tra_err *e) {
    tra_status s = TRA_OK;
    pthread_mutex_lock(&g->lock);
    *any = atomic_load(&g->queue.inflight) > 0;
    if (*any && !g->failed) wait_for(g, &g->ended);
    if (g->failed) s = tra_fail_as(e, &g->err);
    pthread_mutex_unlock(&g->lock);
    return s;
}

tra_status tra_engine_await_inputs(tra_engine *g, const tra_unit *u, tra_err *e) {
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
    if (g->failed) s = tra_fail_as(e, &g->err);
    pthread_mutex_unlock(&g->lock);
    return s;
}

/* Is the unit, alone in the queue, so small that waking a worker would take longer? Under the lock. */
static bool is_small(const tra_engine *g, const tra_unit *u) {
    enum { SMALL = 1 << 15 }; /* bytes of its inputs */
    bool small = g->producer.may_work && !g->producer.overlap && u->ntasks == 1 && u->ninputs > 0 &&
                 g->queue.head == u && !g->failed && atomic_load(&g->queue.inflight) == 0 && u->bytes <= SMALL;
    for (int i = 0; i < u->ninputs && small; i++)
        small = !u->inputs[i].load && u->inputs[i].block->state == TRA_BLOCK_HERE;
    return small;
}

tra_status tra_engine_submit(tra_engine *g, tra_unit *u, tra_err *e) {
    /* queued units hold their inputs: results that grow beyond what was estimated find room in the rest */
    tra_pool_stats pool = tra_pool_stat(g->pool);
    int64_t most = tra_min64(TRA_LOOKAHEAD_BYTES, pool.budget / 4);
    pthread_mutex_lock(&g->lock);
    while ((atomic_load(&g->queue.inflight) >= TRA_LOOKAHEAD ||
            (g->queue.bytes > most && atomic_load(&g->queue.inflight) >= g->threads) || g->now.short_of_memory > 0) &&
           !g->failed)
        wait_for(g, &g->ended);
    pthread_mutex_unlock(&g->lock);
    tra_status s = tra_engine_await_inputs(g, u, e);
    int pinned = 0;
    bool slow = pool.used > pool.budget / 2; /* it may have to wait; else the clock is not asked */
    tra_doing before = slow ? tra_track_do(g->producer.track, TRA_DO_AWAIT_MEMORY) : TRA_DO_COMPUTE;
    for (; s == TRA_OK && pinned < u->ninputs; pinned++) s = tra_engine_pin(g, &u->inputs[pinned], true, e);
    if (slow) (void)tra_track_do(g->producer.track, before);
    for (int i = 0; s != TRA_OK && i < pinned; i++) {
        if (u->inputs[i].extra_pin && u->inputs[i].block) tra_block_unpin(g->pool, u->inputs[i].block);
    }
    pthread_mutex_lock(&g->lock);
    if (s != TRA_OK) { /* if a worker has failed too, that was the cause */
        if (g->failed && e && g->err.status != TRA_OK) *e = g->err, s = g->err.status;
        if (!g->failed) tra_engine_fail(g, NULL, e ? e : &(tra_err){.status = s});
        pthread_mutex_unlock(&g->lock);
        tra_unit_drop(g, u);
        return s;
    }
    u->before = u->chain ? u->chain->last : NULL;
    u->number = ++g->queue.units;
    assert(!u->before || u->before->ntasks == u->ntasks);
    for (int i = 0; i < u->ninputs; i++) {
        tra_unit_input *in = &u->inputs[i];
        u->bytes += in->block->bytes + (in->derived ? in->derived->bytes : 0);
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
    g->queue.held = is_small(g, u);
    atomic_fetch_add(&g->queue.inflight, 1);
    if (!g->queue.held) {
        tra_engine_wake(g);
        tra_engine_wake_readers(g);
    }
    pthread_mutex_unlock(&g->lock);
    return TRA_OK;
}

tra_status tra_engine_drain(tra_engine *g, tra_err *e) {
    pthread_mutex_lock(&g->lock);
    if (g->queue.held) {
        tra_engine_run_held(g);
        g->queue.held = false;                                                       /* nothing of it is left */
        if (g->producer.tick && g->clock.since > g->producer.ticked + TICK) tick(g); /* the clock was just asked */
    }
    while (g->queue.head || atomic_load(&g->queue.inflight) > 0 ||
           atomic_load(&g->background.calls) > 0) { /* a unit has ended when what it held is given back */
        if (g->failed) {                            /* drop what has nothing running */
            tra_unit *u = g->queue.head;
            while (u && (!tra_engine_gives_up(g, u) || u->preps_started != u->preps_done ||
                         u->tasks_started != u->tasks_done))
                u = u->next;
            if (u) {
                tra_engine_dequeue(g, u);
                pthread_mutex_unlock(&g->lock);
                tra_unit_drop(g, u);
                pthread_mutex_lock(&g->lock);
                atomic_fetch_sub(&g->queue.inflight, 1);
                continue;
            }
        }
        wait_for(g, &g->ended);
    }
    tra_status s = TRA_OK;
    if (g->failed) {
        s = g->err.status ? g->err.status : TRA_INTERNAL;
        if (e && e->status == TRA_OK) *e = g->err;
        if (e && e->status == TRA_OK) (void)tra_fail(e, s, "a worker failed");
        set_failed(g, false, 0);
        g->times.late = false;
        g->err = (tra_err){0};
    }
    pthread_mutex_unlock(&g->lock);
    free_worker_memory(g);
    return s;
}
