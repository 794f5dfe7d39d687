/* common.c - what several commands share: workers, and reading a whole relation with them. */
#include "common.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

int tra_cores(void) {
    const char *s = getenv("TRA_THREADS");
    int64_t n;
    if (s && tra_parse_int(s, &n) && n > 0) return (int)tra_min64(n, TRA_MAXWORKERS);
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (int)tra_min64(CPU_COUNT(&set), TRA_MAXWORKERS) : 1;
}

tra_status tra_workers(int64_t memory, int64_t fixed, int64_t each, int64_t jobs, int *n, tra_err *e) {
    int64_t room = tra_buffer_bytes(memory), fit = each > 0 ? (room - fixed) / each : TRA_MAXWORKERS;
    if (room < fixed || fit < 1) {
        char have[32], need[32];
        return tra_fail(e, TRA_RESOURCE, "--memory %s is too little: blocks of this size need %s",
                        tra_human(memory, have), tra_human(tra_buffer_ceiling(fixed + each), need));
    }
    *n = (int)tra_max64(1, tra_min64(tra_min64(fit, jobs), tra_cores()));
    return TRA_OK;
}

/* ---- parallel jobs ------------------------------------------------------------------------------------------ */

typedef struct pool {
    pthread_mutex_t lock;
    int64_t next, to;
    tra_job_fn *fn;
    void *ctx;
    tra_err first; /* of the lowest i that failed */
    int64_t failed_at;
} pool;

typedef struct worker {
    pool *pool;
    int id;
    pthread_t thread;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    pool *p = w->pool;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        int64_t i = p->first.status == TRA_OK && p->next < p->to ? p->next++ : -1;
        pthread_mutex_unlock(&p->lock);
        if (i < 0) return NULL;
        tra_err e = {0};
        tra_status s = p->fn(p->ctx, w->id, i, &e);
        if (s == TRA_OK) continue;
        pthread_mutex_lock(&p->lock);
        if (p->first.status == TRA_OK || i < p->failed_at) {
            p->first = e;
            p->first.status = s;
            p->failed_at = i;
        }
        pthread_mutex_unlock(&p->lock);
    }
}

tra_status tra_parallel(int workers, int64_t from, int64_t to, tra_job_fn *fn, void *ctx, tra_err *e) {
    pool p = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = from, .to = to, .fn = fn, .ctx = ctx};
    worker w[TRA_MAXWORKERS];
    int started = 1; /* this thread is worker 0; a thread that cannot be had is done without */
    w[0] = (worker){.pool = &p};
    while (started < workers && started < to - from) {
        w[started] = (worker){.pool = &p, .id = started};
        if (pthread_create(&w[started].thread, NULL, work, &w[started]) != 0) break;
        started++;
    }
    work(&w[0]);
    for (int i = 1; i < started; i++) pthread_join(w[i].thread, NULL);
    if (p.first.status != TRA_OK && e && e->status == TRA_OK) *e = p.first;
    return p.first.status;
}

/* ---- scanning ----------------------------------------------------------------------------------------------- */

typedef struct scan {
    tra_rel *rel;
    tra_scan_fn *fn;
    void *ctx;
    void *data[TRA_MAXWORKERS], *scratch[TRA_MAXWORKERS];
} scan;

static tra_status scan_one(void *ctx, int worker, int64_t ordinal, tra_err *e) {
    scan *s = ctx;
    tra_status read = tra_rel_read(s->rel, ordinal, s->data[worker], s->scratch[worker], e);
    return s->fn(s->ctx, worker, ordinal, read == TRA_OK ? s->data[worker] : NULL, e);
}

tra_status tra_scan(tra_rel *rel, int64_t memory, tra_scan_fn *fn, void *ctx, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    size_t bytes = (size_t)tra_catalog_maxfloats(t->cat) * tra_dtype_size(t->dtype), scratch = tra_rel_scratch(rel);
    int n = 0;
    TRA_TRY(tra_workers(memory, 0, (int64_t)(bytes + scratch), t->cat->n, &n, e));
    scan s = {.rel = rel, .fn = fn, .ctx = ctx};
    tra_status status = TRA_OK;
    for (int i = 0; i < n && status == TRA_OK; i++) {
        s.data[i] = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
        s.scratch[i] = aligned_alloc(64, (scratch + 64) & ~(size_t)63);
        if (!s.data[i] || !s.scratch[i]) status = tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    }
    if (status == TRA_OK) status = tra_parallel(n, 0, t->cat->n, scan_one, &s, e);
    for (int i = 0; i < n; i++) {
        free(s.data[i]);
        free(s.scratch[i]);
    }
    return status;
}
