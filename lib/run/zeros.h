/* zeros.h - integers that were divided by zero: how many values of each operator are NULL because of it. A tuple counts
 * once, however often it was computed, and on however many sites.
 */
#ifndef TRA_ZEROS_H
#define TRA_ZEROS_H

#include "comm.h"
#include "exec.h"

#include <pthread.h>

typedef struct tra_zeros {
    pthread_mutex_t lock;
    int nops;
    int64_t **of;             /* [nops]: of each tuple; NULL: none */
    char (*where)[TRA_WHERE]; /* of each operator */
} tra_zeros;

void tra_zeros_init(tra_zeros *z, const tra_plan *p);
void tra_zeros_free(tra_zeros *z);
/* Takes what kernels on this thread noted as that of tuple `ordinal` of op. again: all of the tuple was computed, which
 * may have been so before; else a part of it. For any thread. */
void tra_zeros_take(tra_zeros *z, const tra_op *op, int64_t ordinal, bool again);
/* Brings together what all sites took: by_zero and where of each operator in the report of rank 0. Collective. */
void tra_zeros_gather(const tra_zeros *z, const tra_plan *p, const tra_comm *comm, tra_report *r);

#endif
