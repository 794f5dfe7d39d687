/* crew.h - a crew of threads that work on numbered pieces of a job. */
#ifndef TRA_CREW_H
#define TRA_CREW_H

#include "base.h"

#include <pthread.h>

typedef struct tra_crew tra_crew;
/* Works on one piece. worker: number of the thread, from 0. */
typedef tra_status tra_work_fn(void *ctx, int worker, int64_t item, tra_err *e);

tra_crew *tra_crew_new(int workers);
/* Begins work on the pieces from <= i < to, which are taken in ascending order. The work begun before must have been
 * waited for. */
void tra_crew_begin(tra_crew *c, tra_work_fn *fn, void *ctx, int64_t from, int64_t to);
/* Waits for the work begun last. After a failure no further pieces are taken; e gets the cause of the lowest piece that
 * failed with one. */
TRA_MUSTUSE tra_status tra_crew_wait(tra_crew *c, tra_err *e);
/* For work that has a part to be done in the order of the pieces. A piece calls tra_crew_turn before that part, which
 * waits until all pieces before it have called tra_crew_passed, and tra_crew_passed after it. False after a failure of
 * another piece: this one then ends with TRA_INTERNAL and no cause. */
bool tra_crew_turn(tra_crew *c, int64_t item);
void tra_crew_passed(tra_crew *c);
void tra_crew_free(tra_crew *c); /* NULL allowed; waits */

/* Makes a crew, runs the pieces 0 <= i < n, and frees the crew. */
TRA_MUSTUSE tra_status tra_crew_run(int workers, int64_t n, tra_work_fn *fn, void *ctx, tra_err *e);

/* Initialises a condition for the waits below, with the monotonic clock. */
void tra_cond_init(pthread_cond_t *cond);
/* Waits for cond, but at most until a time of tra_now, ns nanoseconds, or a quarter of a second, so that the caller can
 * check whether it should go on waiting. */
void tra_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, double when);
void tra_wait_for(pthread_cond_t *cond, pthread_mutex_t *lock, long ns);
void tra_wait_briefly(pthread_cond_t *cond, pthread_mutex_t *lock);
/* Polling interval of a thread that also receives messages, in ns: in 1 ms a network of 125 MB/s brings 125 KB, about a
 * socket buffer; each look costs some system calls. */
enum { TRA_SHORTLY = 1000000 };

/* The most workers, and bytes of memory for each: stack, malloc's arena, zstd's context for decoding. */
enum { TRA_MAXWORKERS = 512, TRA_WORKER_BYTES = 256 << 10 };
/* TRA_USAGE if TRA_THREADS in the environment is no number of workers. Commands that call tra_cores check it first. */
TRA_MUSTUSE tra_status tra_threads_check(tra_err *e);
/* TRA_THREADS of the environment, else the cores that this process may use; at most TRA_MAXWORKERS. */
int tra_cores(void);

#endif
