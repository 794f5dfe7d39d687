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
    uint64_t run;       /* names the first of the runs that go on from one another */
    uint64_t outputs;   /* digest of where they go */
    bool resumed, told; /* on what the run goes on */
    atomic_bool broken; /* could not be written: nothing is added any more */
    tra_log *_Atomic
        *logs; /* of each operator, or NULL; workers open some while the maker flushes those that are open */
};

void tra_log_close(tra_log *l);
void tra_log_flush(tra_log *l);
bool tra_log_any(const tra_log *l); /* holds a record, or was given one */

#endif
