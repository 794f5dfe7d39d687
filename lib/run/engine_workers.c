/* engine_workers.c - the workers: which input or task is next, pieces of large tasks, waiting for turns and for memory.
 */
#include "engine_int.h"

#include <stdlib.h>

/* ---- what to do next ------------------------------------------------------------------------------------------- */

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

tra_unit_input *tra_engine_start_input(tra_engine *g, tra_unit *u, int i) {
    g->direct.loads -= u->inputs[i].direct;
    u->inputs[i].started = true;
    u->preps_started++;
    return &u->inputs[i];
}

/* Something to do, the earliest there is: an input to prepare (*task = -1 - input) or a task. Under the lock. */
static tra_unit *find_work(tra_engine *g, int *task) {
    for (tra_unit *u = g->times.late ? NULL : g->queue.head; u && !tra_engine_gives_up(g, u); u = u->next) {
        g->counts.looks++;
        int prep = find_prep(u);
        if (prep >= 0) {
            *task = -1 - prep;
            return u;
        }
        if (u->preps_done < u->ninputs || u->tasks_started == u->ntasks) continue;
        if (u->before && !u->before->done[u->tasks_started]) {
            /* a task that waits for its turn must wait for a running task, never for one that has no worker yet */
            if (!u->early || u->before->tasks_started <= u->tasks_started) continue;
        }
        *task = u->tasks_started;
        return u;
    }
    return NULL;
}

/* A worker that waits for work, or NULL. all: also one that has no part in the stage. */
static tra_worker *find_idle(tra_engine *g, bool all) {
    tra_worker *w = g->workers, *end = w + (all ? g->threads : g->at_work);
    if (g->idle == 0) return NULL;
    while (w < end && !w->idle) w++;
    return w < end ? w : NULL;
}

static void wake(tra_engine *g, tra_worker *w) {
    w->idle = false;
    g->idle--;
    g->waking++;
    pthread_cond_signal(&w->wake);
}

void tra_engine_wake(tra_engine *g) {
    int task;
    tra_worker *w = g->queue.held || g->waking > 0 ? NULL : find_idle(g, false); /* who wakes up looks for itself */
    if (w && find_work(g, &task)) wake(g, w);
}

/* ---- a time by which all is to have ended ---------------------------------------------------------------------- */

void tra_engine_until(tra_engine *g, double until, double expected) {
    pthread_mutex_lock(&g->lock);
    g->times.until = until;
    g->times.expected = expected;
    g->times.longest = 0;
    g->times.late = false;
    pthread_mutex_unlock(&g->lock);
}

double tra_engine_longest(tra_engine *g) {
    pthread_mutex_lock(&g->lock);
    double s = g->times.longest;
    pthread_mutex_unlock(&g->lock);
    return s;
}

static double ending(tra_engine *g) { /* under the lock */
    return g->times.woken_late + atomic_load(&g->background.calls) * g->times.longest_call / TRA_BACKGROUND_THREADS;
}

double tra_engine_ending(tra_engine *g) {
    pthread_mutex_lock(&g->lock);
    double s = ending(g);
    pthread_mutex_unlock(&g->lock);
    return s;
}

static tra_status fail_late(tra_err *e) {
    tra_stop_at(0);
    return tra_stop_check(e);
}

/* Fails the stage once nothing may begin any more and no task or input still runs. Under the lock. */
static void see_late(tra_engine *g) {
    tra_err e = {0};
    if (!g->times.late || g->failed || g->now.occupied > 0) return;
    (void)fail_late(&e);
    tra_engine_fail(g, NULL, &e);
}

/* Is there no time left for one more task? Under the lock. */
static bool is_late(tra_engine *g) {
    static const double VARIES = 1.25; /* the next may take so many times the longest one */
    if (g->times.until <= 0 || g->failed) return false;
    double next = g->times.longest > 0 ? VARIES * g->times.longest : g->times.expected;
    g->times.late = tra_now() + next + ending(g) > g->times.until;
    see_late(g);
    return g->times.late;
}

/* Counts the seconds of something that began then and has ended. Under the lock. */
static void count_seconds(tra_engine *g, double began) {
    double took = g->times.until > 0 ? tra_now() - began : 0;
    if (took > g->times.longest) g->times.longest = took;
}

/* Takes the earliest work there is, and wakes another worker if there is more. Under the lock. */
static tra_unit *take_work(tra_engine *g, const tra_worker *w, int *task) {
    tra_unit *u = w->id < g->at_work ? find_work(g, task) : NULL;
    if (!u || is_late(g)) return NULL;
    if (*task < 0) {
        int prep = -1 - *task;
        if (g->direct.backoff_left > 0) g->direct.backoff_left -= u->inputs[prep].direct;
        tra_engine_start_input(g, u, prep);
    } else {
        u->tasks_started++;
    }
    tra_engine_wake(g);
    return u;
}

void tra_engine_tell_memory(tra_engine *g) {
    if (g->now.short_of_memory > 0) pthread_cond_signal(&g->freed);
}

/* Wakes the workers that have waited for the end of this task of the unit. Under the lock. */
static void wake_next(tra_engine *g, const tra_unit *u, int task) {
    for (int i = 0, left = g->now.waiting; left > 0 && i < g->threads; i++) {
        tra_worker *w = &g->workers[i];
        left -= w->waits_for != NULL;
        if (w->waits_for && w->waits_for->before == u && w->waits_task == task) pthread_cond_signal(&w->wake);
    }
}

/* ---- pieces of a task, which workers without work take over ---------------------------------------------------- */

/* By which the task of a worker offers pieces to the others: one for each worker. */
typedef struct sharer {
    tra_parallel_workers base;
    tra_engine *engine;
    tra_track *const *track; /* where its thread records what it does */
} sharer;

static void run_pieces(tra_shared_work *x, void *scratch) {
    for (int i; (i = atomic_fetch_add(&x->taken, 1)) < x->n;) x->fn(x->ctx, i, scratch);
}

/* Work of which pieces are left, or NULL. Under the lock. The producer has the memory of worker 0 while it works. */
static tra_shared_work *find_shared(tra_engine *g, const tra_worker *w) {
    bool has_scratch = w->id < g->at_work && !(g->queue.held && w->id == 0);
    tra_shared_work *x = g->shared;
    while (x && (atomic_load(&x->taken) >= x->n || (x->scratch && !has_scratch))) x = x->next;
    return x;
}

/* Runs pieces of another worker's task, which does not end before they have. Under the lock, which it releases
 * meanwhile.
 */
static void help(tra_engine *g, tra_shared_work *x, tra_worker *w) {
    x->helpers++;
    g->now.occupied++;
    g->now.computing++;
    tra_engine_wake_readers(g);
    (void)tra_track_do_for(w->track, TRA_DO_COMPUTE, x->op, 0);
    w->ended = 0;
    pthread_mutex_unlock(&g->lock);
    run_pieces(x, w->scratch);
    pthread_mutex_lock(&g->lock);
    g->now.occupied--;
    g->now.computing--;
    see_late(g);
    if (--x->helpers == 0) pthread_cond_signal(&x->left);
}

/* Offers pieces of a task to workers without work, runs what they do not take, and waits for them. */
static void share(tra_parallel_workers *by, int n, tra_piece_fn *fn, void *ctx, void *scratch) {
    const sharer *mine = (sharer *)(void *)by;
    tra_engine *g = mine->engine;
    tra_shared_work x = {.fn = fn, .ctx = ctx, .n = n, .scratch = scratch != NULL, .op = tra_track_op(*mine->track)},
                    **at = &g->shared;
    atomic_init(&x.taken, 0);
    tra_cond_init(&x.left);
    pthread_mutex_lock(&g->lock);
    x.next = g->shared;
    g->shared = &x;
    for (tra_worker *w; --n > 0 && (w = find_idle(g, !x.scratch));) wake(g, w);
    pthread_mutex_unlock(&g->lock);
    run_pieces(&x, scratch);
    pthread_mutex_lock(&g->lock);
    while (*at != &x) at = &(*at)->next;
    *at = x.next;
    while (x.helpers > 0) pthread_cond_wait(&x.left, &g->lock);
    pthread_mutex_unlock(&g->lock);
    pthread_cond_destroy(&x.left);
}

void tra_engine_share(tra_engine *g, bool begins) {
    static _Thread_local sharer mine;
    mine = (sharer){{share}, g, &g->producer.track};
    tra_parallel_by(begins ? &mine.base : NULL);
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

/* Runs a task, or prepares an input (task < 0), that find_work has found. Under the lock, which it releases meanwhile.
 */
static void run_found(tra_engine *g, tra_worker *w, tra_unit *u, int task) {
    double now = w->ended;
    bool computes = task >= 0;
    double began = g->times.until > 0 ? tra_now() : 0;
    g->now.occupied++;
    if (task >= 0) g->now.computing++, now = tra_engine_begin_computing(g), tra_engine_wake_readers(g);
    if (task >= 0)
        (void)tra_track_do_for(w->track, TRA_DO_COMPUTE, u->op, now);
    else if (u->inputs[-1 - task].load)
        (void)tra_track_do_for(w->track, TRA_DO_READ, u->op, now);
    pthread_mutex_unlock(&g->lock);
    tra_err e = {0};
    tra_status s = task < 0 ? tra_engine_prepare(g, &u->inputs[-1 - task], w, &computes, &e) : u->run(u, task, w, &e);
    pthread_mutex_lock(&g->lock);
    g->now.occupied--;
    if (s != TRA_OK) tra_engine_fail(g, u, &e);
    count_seconds(g, began);
    see_late(g);
    w->ended = computes ? tra_engine_end_computing(g) : 0;
    if (task < 0) {
        u->preps_done++;
    } else {
        g->now.computing--;
        if (g->queue.held) (void)tra_track_do_at(w->track, TRA_DO_AWAIT_WORK, w->ended); /* it is not its thread */
        u->done[task] = 1;
        u->tasks_done++;
    }
    tra_engine_tell_memory(g);
    if (g->failed) pthread_cond_broadcast(&g->ended);
    if (task >= 0) wake_next(g, u, task);
    if (task < 0 || u->tasks_done < u->ntasks) return;
    tra_engine_dequeue(g, u);
    g->now.ending++;
    pthread_mutex_unlock(&g->lock);
    tra_unit_drop(g, u);
    pthread_mutex_lock(&g->lock);
    atomic_fetch_sub(&g->queue.inflight, 1);
    pthread_cond_broadcast(&g->ended);
    pthread_mutex_unlock(&g->lock);
    tra_pool_wake(g->pool);
    pthread_mutex_lock(&g->lock);
    g->now.ending--;
    tra_engine_tell_memory(g);
}

void tra_engine_run_held(tra_engine *g) {
    int task;
    tra_unit *u;
    tra_worker *w = &g->workers[0];
    sharer mine = {{share}, g, &w->track};
    w->ended = 0;
    tra_parallel_by(&mine.base);
    while ((u = take_work(g, w, &task))) run_found(g, w, u, task);
    w->ended = 0; /* what follows is not counted from there */
    tra_parallel_by(NULL);
}

void *tra_engine_run_worker(void *arg) {
    tra_worker *w = arg;
    tra_engine *g = w->engine;
    sharer mine = {{share}, g, &w->track};
    tra_parallel_by(&mine.base);
    (void)tra_kernel_enter(&g->kernels);
    pthread_mutex_lock(&g->lock);
    for (;;) {
        int task;
        tra_unit *u = NULL;
        tra_shared_work *x = NULL;
        while (!(!g->queue.held && (u = take_work(g, w, &task))) && !(x = find_shared(g, w)) && !g->stop) {
            tra_engine_wake(g); /* this worker was woken, but cannot take the work: another may */
            g->direct.late |= g->direct.reading > 0;
            if (!g->queue.held || w->id > 0) (void)tra_track_do_at(w->track, TRA_DO_AWAIT_WORK, w->ended);
            w->ended = 0;
            w->idle = true;
            g->idle++;
            while (w->idle && !g->stop) pthread_cond_wait(&w->wake, &g->lock);
            g->waking -= !w->idle;
            g->counts.wakes++;
        }
        if (u) {
            run_found(g, w, u, task);
        } else if (x) {
            tra_engine_wake(g); /* this worker helps instead: another may take the work */
            help(g, x, w);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* ---- what a task waits for ------------------------------------------------------------------------------------- */

bool tra_engine_await_turn(tra_worker *w, const tra_unit *u, int task) {
    tra_engine *g = w->engine;
    pthread_mutex_lock(&g->lock);
    g->now.waiting++;
    tra_engine_tell_memory(g);
    w->waits_for = u;
    w->waits_task = task;
    tra_doing before = tra_track_do(w->track, TRA_DO_AWAIT_TURN);
    while (u->before && !u->before->done[task] && !tra_engine_gives_up(g, u)) {
        pthread_cond_wait(&w->wake, &g->lock);
        g->counts.wakes++;
    }
    w->waits_for = NULL;
    g->now.waiting--;
    (void)tra_track_do(w->track, before);
    bool ok = !tra_engine_gives_up(g, u);
    pthread_mutex_unlock(&g->lock);
    return ok;
}

/* Will no worker give memory back, and nothing in the background? One that was woken is about to do something. Under
 * the lock. */
static bool none_goes_on(tra_engine *g) {
    int task, stuck = g->now.short_of_memory + g->now.waiting;
    if (g->now.occupied > stuck || g->now.ending > 0 || g->waking > 0) return false;
    if (atomic_load(&g->background.calls) > 0) return false;
    return g->queue.held || !find_idle(g, false) || !find_work(g, &task);
}

tra_status tra_engine_retry(tra_worker *w, tra_engine_fn *fn, void *ctx, tra_err *e) {
    tra_engine *g = w->engine;
    tra_err own = {0};
    tra_status s = fn(ctx, &own);
    pthread_mutex_lock(&g->lock);
    if (s == TRA_RESOURCE) g->now.short_of_memory++, tra_engine_tell_memory(g);
    bool needy = s == TRA_RESOURCE, last = false;
    tra_doing before = needy ? tra_track_do(w->track, TRA_DO_AWAIT_MEMORY) : TRA_DO_COMPUTE;
    while (needy && g->now.retrying && !g->failed) pthread_cond_wait(&g->next_retry, &g->lock);
    bool mine = needy && !g->now.retrying;
    if (mine) g->now.retrying = true;
    while (mine && s == TRA_RESOURCE && !last && !g->failed) {
        last = none_goes_on(g);
        pthread_mutex_unlock(&g->lock);
        own = (tra_err){0};
        s = fn(ctx, &own);
        pthread_mutex_lock(&g->lock);
        if (s == TRA_RESOURCE && !last && !g->failed) tra_wait_briefly(&g->freed, &g->lock);
    }
    if (mine) g->now.retrying = false;
    if (mine && last && s == TRA_RESOURCE && g->times.late) s = fail_late(&own); /* others begin nothing any more */
    g->starved |= mine && last && s == TRA_RESOURCE;
    if (needy) {
        (void)tra_track_do(w->track, before);
        g->now.short_of_memory--;
        pthread_cond_signal(&g->next_retry);
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

/* ---- numbered pieces of work ------------------------------------------------------------------------------------- */

typedef struct piece { /* context of a unit */
    tra_each_fn *fn;
    void *ctx;
    int64_t i;
} piece;

static tra_status run_piece(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    const piece *x = u->ctx;
    (void)task;
    return x->fn(x->ctx, x->i, w, e);
}

static void end_piece(tra_unit *u) { free(u->ctx); }

tra_status tra_engine_end_stage(tra_engine *g, tra_status s, tra_err *e) {
    tra_err drained = {0};
    tra_status end = tra_engine_drain(g, &drained);
    if (end == TRA_OK) return s;
    *e = drained; /* s is a consequence of it */
    return end;
}

tra_status tra_engine_each(tra_engine *g, int64_t n, size_t io, tra_each_fn *fn, void *ctx, tra_err *e) {
    tra_status s = tra_engine_begin_stage(g, 0, 0, 0, io, e);
    for (int64_t i = 0; i < n && s == TRA_OK; i++) {
        tra_unit *u = tra_unit_new(0, 1);
        piece *x = tra_malloc(sizeof *x);
        *x = (piece){fn, ctx, i};
        u->run = run_piece;
        u->end = end_piece;
        u->ctx = x;
        s = tra_engine_submit(g, u, e);
    }
    return tra_engine_end_stage(g, s, e);
}
