/* comm_int.h - the MPI behind a tra_comm: for what calls MPI itself. */
#ifndef TRA_COMM_INT_H
#define TRA_COMM_INT_H

#include "comm.h"

#include <mpi.h>

#ifdef MPICH_VERSION /* its declarations let gcc take MPI_STATUSES_IGNORE for an array */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { TRA_ALARM = 512 }; /* bytes of such a message at most */

struct tra_comm_mpi {
    MPI_Comm all;
    MPI_Comm alarms;                        /* of messages that a rank has failed: which, where and why */
    char said[TRA_ALARM], heard[TRA_ALARM]; /* the first to the others, and from them; empty before */
    int64_t sent, received;                 /* alarms to each other rank, and from them */
};

#endif
