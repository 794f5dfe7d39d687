/* crew.h - a crew of threads that work on numbered pieces of a job. */
#ifndef TRA_CREW_H
#define TRA_CREW_H

#include "base.h"

#include <pthread.h>

typedef struct tra_crew tra_crew;
/* Works on one piece. worker: number of the thread, from 0. */
typedef tra_status tra_work_fn(void *ctx, int worker, int64_t item, tra_err *e);

tra_crew *tra_crew_new(int workers);
/* Begins pieces from <= i < to of work; they are taken in ascending order. The work before must have been waited
 * for. */
void tra_crew_begin(tra_crew *c, tra_work_fn *fn, void *ctx, int64_t from, int64_t to);
/* Waits for the work begun last. After a failure pieces not yet taken are left out; of the failures that have a cause,
 * that of the lowest piece is handed on. */
TRA_MUSTUSE tra_status tra_crew_wait(tra_crew *c, tra_err *e);
/* From a piece: waits until all pieces before it have called tra_crew_passed; false after a failure elsewhere: the
 * piece then ends with TRA_INTERNAL and no cause. */
bool tra_crew_turn(tra_crew *c, int64_t item);
void tra_crew_passed(tra_crew *c);
void tra_crew_free(tra_crew *c); /* NULL allowed; waits */

/* Makes a crew, runs the pieces from <= i < to, and frees the crew. */
TRA_MUSTUSE tra_status tra_crew_run(int workers, int64_t from, int64_t to, tra_work_fn *fn, void *ctx, tra_err *e);

/* Initialises a condition for the two waits below, with the monotonic clock. */
void tra_cond_init(pthread_cond_t *cond);
/* Waits for cond, but at most a quarter of a second, so that the caller can check whether it should go on waiting. */
void tra_wait_briefly(pthread_cond_t *cond, pthread_mutex_t *lock);

void tra_wait_for(pthread_cond_t *cond, pthread_mutex_t *lock, long ns); /* the same, at most ns (under a second) */
/* Polling interval, 1 ms in ns, for a thread that also looks at the network: at 125 MB/s that is 125 KB, about a socket
 * buffer; each look costs some system calls. */
enum { TRA_SHORTLY = 1000000 };

/* Workers at most; memory of each: stack, malloc's arena, zstd's context for decoding. */
enum { TRA_MAXWORKERS = 512, TRA_WORKER_BYTES = 256 << 10 };
/* TRA_USAGE when TRA_THREADS is set to what is no number of workers: commands that take it from tra_cores check it. */
TRA_MUSTUSE tra_status tra_threads_check(tra_err *e);
/* Cores that this process may use, or TRA_THREADS; at most TRA_MAXWORKERS. */
int tra_cores(void);

#endif
