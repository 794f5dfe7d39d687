/* exchange_dir.h - the directory in which the ranks of a run exchange files. */
#ifndef TRA_EXCHANGE_DIR_H
#define TRA_EXCHANGE_DIR_H

#include "comm.h"

typedef struct tra_exchange_dir {
    char dir[4096];
    int lock;     /* rank 0: held while the run goes on */
    int64_t made; /* segments that this rank has made so far */
} tra_exchange_dir;

/* Removes the directories in the scratch directory of runs that were killed. For one rank, whatever the transport. */
void tra_exchange_dir_reclaim(const char *scratch);
/* Makes a directory of this run's own in the scratch directory, which all ranks must share. Collective. */
TRA_MUSTUSE tra_status tra_exchange_dir_make(tra_exchange_dir *f, const tra_comm *comm, const char *scratch,
                                             tra_err *e);
/* Removes the directory, with what a failure left in it. After all ranks have agreed that they are done. */
void tra_exchange_dir_remove(tra_exchange_dir *f, const tra_comm *comm);

#endif
