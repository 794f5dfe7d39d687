/* op_notes.h - what kernels note beside the results of an operator: values that are NULL since an integer was divided
 * by zero, or since there is no such date, and keys that many rows have. A tuple counts once, however often it was
 * computed, and on however many sites.
 */
#ifndef TRA_OP_NOTES_H
#define TRA_OP_NOTES_H

#include "comm.h"
#include "exec.h"

#include <pthread.h>

enum { TRA_KEYS_NOTED = 4 }; /* of an operand: keys that are kept, those that many rows have */

/* Keys of an operand that many rows have, in all its blocks together. */
typedef struct tra_noted_keys {
    int64_t rows, pairs, different; /* of all keys; different keys of a block, at most, as a sample tells */
    tra_heavy_key v[TRA_KEYS_NOTED];
} tra_noted_keys;

typedef struct tra_op_notes {
    pthread_mutex_t lock;
    int nops;
    int64_t **counts;           /* of each operator: how many values of each tuple; NULL: of none */
    char (*where)[TRA_WHERE];   /* of each operator: the column of the first of them */
    unsigned *causes;           /* of each operator: TRA_NULL_ bits */
    tra_noted_keys *(*keys)[2]; /* of each operator and operand; NULL: it has no keys */
} tra_op_notes;

void tra_op_notes_init(tra_op_notes *noted, const tra_plan *p);
void tra_op_notes_free(tra_op_notes *noted);
/* Collects what kernels on this thread noted (row_notes.c in lib/table) while they computed tuple `ordinal` of op.
 * whole: all of the tuple, which replaces what was collected of it before; else a part of it, which is added. For any
 * thread.
 */
void tra_op_notes_collect(tra_op_notes *noted, const tra_op *op, int64_t ordinal, bool whole);
/* Brings together what all sites took: by_zero, where and heavy in the report of rank 0. Collective. */
void tra_op_notes_gather(const tra_op_notes *noted, const tra_plan *p, const tra_comm *comm, tra_report *r);

#endif
