/* crew.c - threads that share out numbered pieces of work. */
#include "crew.h"

#include "limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct tra_crew {
    pthread_mutex_t lock;
    pthread_cond_t change; /* something below has changed */
    tra_work_fn *fn;
    void *ctx;
    int64_t next, to;  /* the next piece to be taken; one more than the last */
    int64_t passed;    /* the piece whose turn it is (tra_crew_turn) */
    int workers, busy; /* threads; those that work on a piece */
    bool quit, failed;
    tra_err err; /* the cause of the lowest piece that failed with one */
    int64_t failed_at;
    pthread_t thread[];
};

typedef struct worker {
    tra_crew *crew;
    int number;
} worker;

/* Keeps the cause of a failure. A piece whose turn did not come after the failure of another one has none. */
static void note_failure(tra_crew *c, int64_t item, const tra_err *err) {
    if (err->status != TRA_OK && (c->err.status == TRA_OK || item < c->failed_at)) {
        c->err = *err;
        c->failed_at = item;
    }
    c->failed = true;
}

static void *work(void *arg) {
    worker self = *(worker *)arg;
    free(arg);
    tra_crew *c = self.crew;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->quit && (c->failed || c->next >= c->to)) pthread_cond_wait(&c->change, &c->lock);
        if (c->quit) break;
        int64_t item = c->next++;
        c->busy++;
        pthread_mutex_unlock(&c->lock);
        tra_err err = {0};
        tra_status s = c->fn(c->ctx, self.number, item, &err);
        pthread_mutex_lock(&c->lock);
        if (s != TRA_OK) note_failure(c, item, &err);
        c->busy--;
        pthread_cond_broadcast(&c->change);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

tra_crew *tra_crew_new(int workers) {
    tra_crew *c = tra_calloc(1, sizeof *c + (size_t)workers * sizeof c->thread[0]);
    pthread_mutex_init(&c->lock, NULL);
    tra_cond_init(&c->change);
    for (int i = 0; i < workers; i++) {
        worker *w = tra_malloc(sizeof *w);
        *w = (worker){c, i};
        if (tra_thread_start(&c->thread[i], work, w) != 0) {
            free(w);
            break;
        }
        c->workers++;
    }
    return c;
}

void tra_crew_begin(tra_crew *c, tra_work_fn *fn, void *ctx, int64_t from, int64_t to) {
    if (c->workers == 0) { /* no thread could be started: the caller works */
        c->to = 0;
        for (int64_t i = from; i < to && !c->failed; i++) {
            tra_err err = {0};
            c->passed = i;
            if (fn(ctx, 0, i, &err) != TRA_OK) note_failure(c, i, &err);
        }
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->fn = fn;
    c->ctx = ctx;
    c->next = c->passed = from;
    c->to = to;
    pthread_cond_broadcast(&c->change);
    pthread_mutex_unlock(&c->lock);
}

tra_status tra_crew_wait(tra_crew *c, tra_err *e) {
    pthread_mutex_lock(&c->lock);
    while (c->busy > 0 || (!c->failed && c->next < c->to)) pthread_cond_wait(&c->change, &c->lock);
    pthread_mutex_unlock(&c->lock);
    if (!c->failed) return TRA_OK;
    assert(c->err.status != TRA_OK);
    if (e && e->status == TRA_OK) *e = c->err;
    return c->err.status;
}

bool tra_crew_turn(tra_crew *c, int64_t item) {
    pthread_mutex_lock(&c->lock);
    while (c->passed != item && !c->failed) pthread_cond_wait(&c->change, &c->lock);
    bool mine = !c->failed;
    pthread_mutex_unlock(&c->lock);
    return mine;
}

void tra_crew_passed(tra_crew *c) {
    pthread_mutex_lock(&c->lock);
    c->passed++;
    pthread_cond_broadcast(&c->change);
    pthread_mutex_unlock(&c->lock);
}

void tra_crew_free(tra_crew *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    pthread_cond_broadcast(&c->change);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->workers; i++) pthread_join(c->thread[i], NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->change);
    free(c);
}

tra_status tra_crew_run(int workers, int64_t n, tra_work_fn *fn, void *ctx, tra_err *e) {
    tra_crew *c = tra_crew_new(workers < 2 ? 0 : (int)tra_min64(workers, n));
    tra_crew_begin(c, fn, ctx, 0, n);
    tra_status s = tra_crew_wait(c, e);
    tra_crew_free(c);
    return s;
}

tra_status tra_threads_check(tra_err *e) {
    const char *s = getenv("TRA_THREADS");
    int64_t n;
    if (!s || !*s || (tra_parse_int(s, &n) && n >= 1 && n <= TRA_MAXWORKERS)) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "TRA_THREADS: '%s' is not a number of threads, from 1 to %d", s, TRA_MAXWORKERS);
}

int tra_cores(void) {
    const char *s = getenv("TRA_THREADS");
    int64_t n;
    if (s && tra_parse_int(s, &n) && n > 0) return (int)tra_min64(n, TRA_MAXWORKERS);
    return (int)tra_min64(tra_machine_cores(), TRA_MAXWORKERS);
}

void tra_wait_briefly(pthread_cond_t *cond, pthread_mutex_t *lock) { tra_wait_for(cond, lock, 250000000); }

void tra_wait_for(pthread_cond_t *cond, pthread_mutex_t *lock, long ns) {
    tra_wait_until(cond, lock, tra_now() + 1e-9 * (double)ns);
}

void tra_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void tra_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, double when) {
    time_t seconds = (time_t)when;
    struct timespec until = {.tv_sec = seconds, .tv_nsec = (long)((when - (double)seconds) * 1e9)};
    pthread_cond_timedwait(cond, lock, &until);
}
