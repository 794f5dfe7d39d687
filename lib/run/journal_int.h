/* journal_int.h - what journal.c (entries) and journal_log.c (logs) share. */
#ifndef TRA_JOURNAL_INT_H
#define TRA_JOURNAL_INT_H

#include "journal.h"

#include <pthread.h>
#include <stdatomic.h>

struct tra_journal {
    tra_comm comm;
    const tra_plan *plan;
    const uint64_t *values;
    char *dir, *lock;   /* of the entry; the path that is locked (rank 0, else NULL) */
    uint64_t run;       /* identifies the first run of the entry; runs that resume keep it */
    uint64_t outputs;   /* digest of the paths of the outputs */
    bool resumed;       /* this run goes on from an earlier one */
    bool reported;      /* the user was told from how much */
    atomic_bool broken; /* could not be written: nothing is added any more */
    /* Of each operator, or NULL. Atomic: workers open logs while the main thread flushes those that are open. */
    tra_log *_Atomic *logs;
};

void tra_log_close(tra_log *l);
void tra_log_flush(tra_log *l);
bool tra_log_any(const tra_log *l); /* holds a record, or was given one */

#endif
