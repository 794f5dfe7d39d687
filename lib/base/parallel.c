/* parallel.c - pieces of long work, run by the thread that has it or shared with others. */
#include "parallel.h"

#include "base.h"

#include <pthread.h>
#include <stdatomic.h>

_Thread_local bool tra_overflow;

enum { STEPS = 1 << 17 }; /* of a piece at least: a hundred times what waking a thread takes */

static _Thread_local tra_parallel_workers *sharer;

void tra_parallel_by(tra_parallel_workers *s) { sharer = s; }

int tra_parallel_pieces(int64_t steps) { return (int)tra_max64(1, tra_min64(TRA_PIECES, steps / STEPS)); }

typedef struct noted {
    tra_piece_fn *fn;
    void *ctx;
    atomic_bool overflow;
} noted;

/* Runs a piece, and passes on to the caller's thread that an integer did not fit, which each thread notes for itself.
 */
static void run_noted(void *ctx, int piece, void *scratch) {
    noted *x = ctx;
    bool before = tra_overflow;
    tra_overflow = false;
    x->fn(x->ctx, piece, scratch);
    if (tra_overflow) atomic_store(&x->overflow, true);
    tra_overflow = before;
}

void tra_parallel(int n, tra_piece_fn *fn, void *ctx, void *scratch) {
    tra_parallel_workers *by = sharer;
    if (!by || n < 2) {
        for (int i = 0; i < n; i++) fn(ctx, i, scratch);
        return;
    }
    noted x = {.fn = fn, .ctx = ctx};
    atomic_init(&x.overflow, false);
    sharer = NULL; /* the caller's thread also runs pieces, which are not cut further */
    by->run(by, n, run_noted, &x, scratch);
    sharer = by;
    tra_overflow |= atomic_load(&x.overflow);
}

/* ---- threads of their own ---------------------------------------------------------------------------------------- */

typedef struct shared {
    tra_piece_fn *fn;
    void *ctx;
    int n;
    atomic_int next;
} shared;

static void *run_some(void *of) {
    shared *x = of;
    for (int piece; (piece = atomic_fetch_add(&x->next, 1)) < x->n;) x->fn(x->ctx, piece, NULL);
    return NULL;
}

static void run_on_threads(tra_parallel_workers *by, int n, tra_piece_fn *fn, void *ctx, void *scratch) {
    int others = (int)tra_min64(TRA_PIECES, tra_min64(n, ((tra_parallel_threads *)by)->threads)) - 1, started = 0;
    pthread_t id[TRA_PIECES];
    shared x = {fn, ctx, n, 0};
    for (int i = 0; scratch && i < n; i++) fn(ctx, i, scratch);
    if (scratch) return;
    while (started < others && tra_thread_start(&id[started], run_some, &x) == 0) started++;
    run_some(&x);
    for (int i = 0; i < started; i++) pthread_join(id[i], NULL);
}

tra_parallel_threads tra_parallel_on(int threads) { return (tra_parallel_threads){{run_on_threads}, threads}; }
