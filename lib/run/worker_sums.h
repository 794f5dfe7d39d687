/* worker_sums.h - the sums of an aggregation whose terms are added while inputs are read (tra_op_adds): each worker
 * adds to one at a time, so that none waits, and the last task adds them up. The sums are exact, so it is all the same
 * which worker adds what to which.
 */
#ifndef TRA_WORKER_SUMS_H
#define TRA_WORKER_SUMS_H

#include "../kernel/kernel.h"

#include <pthread.h>

typedef struct tra_worker_sums {
    int n;
    tra_array *v; /* cleared when they are first taken */
    bool *taken, *begun;
    pthread_mutex_t lock;
    pthread_cond_t given;
} tra_worker_sums;

void tra_worker_sums_init(tra_worker_sums *s, int n); /* to arrays that the caller sets */
void tra_worker_sums_free(tra_worker_sums *s);
/* A sum that nobody else adds to, the first there is; waits where all are taken by others, who wait for nobody. */
tra_array *tra_worker_sums_take(tra_worker_sums *s);
void tra_worker_sums_give(tra_worker_sums *s, const tra_array *sum);
/* Adds all to the first one, when none is taken. false: nothing was added to any. */
bool tra_worker_sums_close(tra_worker_sums *s, const tra_kernel *agg);

#endif
