/* zero_divisions.h - values of each operator that are NULL since an integer was divided by zero, or since there is no
 * such date. A
 * tuple counts once, however often it was computed, and on however many sites.
 */
#ifndef TRA_ZERO_DIVISIONS_H
#define TRA_ZERO_DIVISIONS_H

#include "comm.h"
#include "exec.h"

#include <pthread.h>

typedef struct tra_zero_divisions {
    pthread_mutex_t lock;
    int nops;
    int64_t **counts;         /* of each operator: how many values of each tuple; NULL: of none */
    char (*where)[TRA_WHERE]; /* of each operator: the column of the first of them */
    unsigned *causes;         /* of each operator: TRA_NULL_ bits */
} tra_zero_divisions;

void tra_zero_divisions_init(tra_zero_divisions *z, const tra_plan *p);
void tra_zero_divisions_free(tra_zero_divisions *z);
/* Collects what kernels on this thread noted (notes.c in lib/table) while they computed tuple `ordinal` of op. whole:
 * all of the tuple, which replaces what was collected of it before; else a part of it, which is added. For any thread.
 */
void tra_zero_divisions_collect(tra_zero_divisions *z, const tra_op *op, int64_t ordinal, bool whole);
/* Brings together what all sites took: by_zero and where of each operator in the report of rank 0. Collective. */
void tra_zero_divisions_gather(const tra_zero_divisions *z, const tra_plan *p, const tra_comm *comm, tra_report *r);

#endif
