/* parallel.h - pieces of long work that workers without work of their own take over.
 *
 * Where one array is much of what there is to do its kernel would keep one worker busy and let the others wait. So
 * kernels cut long work in pieces: by their operands alone, never by threads or memory, so that who computes a piece
 * does not show in the bits. Pieces write to different places, or each has a sum of its own, and the sums are added in
 * the order of the pieces.
 */
#ifndef TRA_BASE_PARALLEL_H
#define TRA_BASE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

/* One piece. scratch: as large as what the kernel was given, and for as long as the piece runs its alone; if the kernel
 * gives none (NULL) the piece may not use it. */
typedef void tra_piece_fn(void *ctx, int piece, void *scratch);

/* Who runs kernels on several threads implements this: `run` has all n pieces run by any threads, the caller's among
 * them, and returns when all have ended. */
typedef struct tra_parallel_workers tra_parallel_workers;
struct tra_parallel_workers {
    void (*run)(tra_parallel_workers *s, int n, tra_piece_fn *fn, void *ctx, void *scratch);
};
/* Sets who shares out the pieces of kernels that the calling thread runs from now on. NULL, as at first: the thread
 * runs them itself. */
void tra_parallel_by(tra_parallel_workers *s);

/* Shares pieces out to so many threads, the caller's among them, which begin with the work and end with it: for what is
 * done before a run has workers. Pieces that take scratch, and those for which no thread can be started, are the
 * caller's. */
typedef struct tra_parallel_threads {
    tra_parallel_workers by;
    int threads;
} tra_parallel_threads;
tra_parallel_threads tra_parallel_on(int threads);

/* Runs pieces 0 to n - 1. An integer that does not fit in one of them is noted for the calling thread. A piece is not
 * cut further. */
void tra_parallel(int n, tra_piece_fn *fn, void *ctx, void *scratch);

/* In how many pieces, at most TRA_PIECES, work of so many steps of about a nanosecond is cut: none is so short that
 * handing it over matters. */
enum { TRA_PIECES = 16 };
int tra_parallel_pieces(int64_t steps);
/* Where piece p begins, of so many that n items are cut in, about evenly; of p = pieces: n. */
static inline int64_t tra_piece_begin(int64_t n, int pieces, int p) {
    int64_t longer = n % pieces; /* so many pieces have one item more */
    return n / pieces * p + (p < longer ? p : longer);
}

/* An integer of this thread did not fit since somebody asked. */
extern _Thread_local bool tra_overflow;

#endif
