/* crew.h - threads that share out numbered pieces of work. */
#ifndef TRA_CREW_H
#define TRA_CREW_H

#include "base.h"

#include <pthread.h>

typedef struct tra_crew tra_crew;
/* One piece; worker counts from 0. */
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

/* All of the above for one stretch of work. */
TRA_MUSTUSE tra_status tra_crew_run(int workers, int64_t from, int64_t to, tra_work_fn *fn, void *ctx, tra_err *e);

/* A condition whose timed waits go by a clock that nobody sets: the two waits below want one. */
void tra_cond_init(pthread_cond_t *cond);
/* Waits for cond, for a quarter of a second at most: who waits for long looks now and then whether he still should. */
void tra_wait_briefly(pthread_cond_t *cond, pthread_mutex_t *lock);

void tra_wait_for(pthread_cond_t *cond, pthread_mutex_t *lock, long ns); /* the same, for so long (under a second) */
/* Nanoseconds for who has something else to look at meanwhile: of 125 MB a second this is what a socket holds; each
 * look costs some calls of the system. */
enum { TRA_SHORTLY = 1000000 };

/* Workers at most; memory of each: stack, malloc's arena, zstd's context for decoding. */
enum { TRA_MAXWORKERS = 512, TRA_WORKER_BYTES = 256 << 10 };
/* TRA_USAGE when TRA_THREADS is set to what is no number of workers: commands that take it from tra_cores check it. */
TRA_MUSTUSE tra_status tra_threads_check(tra_err *e);
/* Cores that this process may use, or TRA_THREADS; at most TRA_MAXWORKERS. */
int tra_cores(void);

#endif
