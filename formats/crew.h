/* crew.h - threads that share out numbered pieces of work. */
#ifndef TRA_CREW_H
#define TRA_CREW_H

#include "../lib/base/base.h"

typedef struct tra_crew tra_crew;
/* One piece; worker counts from 0. */
typedef tra_status tra_work_fn(void *ctx, int worker, int64_t item, tra_err *e);

tra_crew *tra_crew_new(int workers);
/* Begins pieces 0..n-1 of work; they are taken in ascending order. The work before must have been waited for. */
void tra_crew_begin(tra_crew *c, tra_work_fn *fn, void *ctx, int64_t n);
/* Waits for the work begun last. After a failure pieces not yet taken are left out; the first failure is handed on. */
TRA_MUSTUSE tra_status tra_crew_wait(tra_crew *c, tra_err *e);
/* From a piece: waits until all pieces before it have called tra_crew_passed; false after a failure elsewhere. */
bool tra_crew_turn(tra_crew *c, int64_t item);
void tra_crew_passed(tra_crew *c);
void tra_crew_free(tra_crew *c); /* NULL allowed; waits */

/* Cores that this process may use, or TRA_THREADS if that is less. */
int tra_crew_cores(void);

#endif
