/* engine_background.c - background threads: calls that wait for the disk, and reading ahead past the page cache. */
#include "engine_int.h"

#include <stdlib.h>

/* Direct reads, past the page cache, leave the processor to the tasks, but wait for the disk. So background threads
 * read ahead directly, while all workers compute, what the page cache lacks (tra_rel_can_read_direct). When a worker
 * has to wait for a direct read, the next 1, 3, 7, ... blocks are left to the workers, who read through the page cache:
 * a back-off that is halved by each direct read that was in time. */
enum { MOST_BACKOFF = 256 };

enum { WAITING = 4 }; /* background calls that may wait for a thread */

typedef struct tra_background { /* a call for a background thread */
    struct tra_background *next;
    tra_engine_fn *fn;
    void *ctx;
} background;

/* Is there an input to read ahead directly, while all workers compute? Under the lock. */
static bool can_read(const tra_engine *g) {
    return g->direct.loads > 0 && g->direct.backoff_left == 0 && g->now.computing == g->threads && !g->failed;
}

static void call(tra_engine *g, background *b) {
    tra_err e = {0};
    double began = tra_now();
    tra_status s = b->fn(b->ctx, &e);
    free(b);
    pthread_mutex_lock(&g->lock);
    double took = tra_now() - began;
    if (took > g->times.longest_call) g->times.longest_call = took;
    if (s != TRA_OK) tra_engine_fail(g, NULL, &e);
    atomic_fetch_sub(&g->background.calls, 1);
    tra_engine_tell_memory(g);
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
            return tra_engine_start_input(g, u, u->read_ahead);
        }
    }
    return NULL;
}

/* Reads one input past the page cache. Under the lock, which it releases meanwhile. */
static void read_ahead(tra_engine *g, tra_unit *u, tra_unit_input *in) {
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
    if (s != TRA_OK) tra_engine_fail(g, u, &e);
    u->preps_done++;
    pthread_cond_broadcast(&g->loaded);
    if (g->failed) pthread_cond_broadcast(&g->ended);
    tra_engine_wake(g);
}

static void *run_background(void *arg) {
    tra_engine *g = arg;
    (void)tra_kernel_enter(&g->kernels);
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

/* Starts one more background thread, up to TRA_BACKGROUND_THREADS. True if there is any. Under the lock. */
static bool start_background(tra_engine *g) {
    if (g->background.threads < TRA_BACKGROUND_THREADS &&
        tra_thread_start(&g->background.tid[g->background.threads], run_background, g) == 0)
        g->background.threads++;
    return g->background.threads > 0;
}

void tra_engine_wake_readers(tra_engine *g) {
    if (can_read(g) && start_background(g)) pthread_cond_signal(&g->background.more);
}

void tra_engine_background(tra_engine *g, tra_engine_fn *fn, void *ctx) {
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
