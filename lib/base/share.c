/* share.c - pieces of long work, run by the thread that has it or shared with others. */
#include "share.h"

#include "base.h"

#include <stdatomic.h>

_Thread_local bool tra_overflow;

enum { STEPS = 1 << 17 }; /* of a piece at least: a hundred times what waking a thread takes */

static _Thread_local tra_sharer *sharer;

void tra_share_by(tra_sharer *s) { sharer = s; }

int tra_share_pieces(int64_t steps) { return (int)tra_max64(1, tra_min64(TRA_PIECES, steps / STEPS)); }

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

void tra_share(int n, tra_piece_fn *fn, void *ctx, void *scratch) {
    tra_sharer *by = sharer;
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
