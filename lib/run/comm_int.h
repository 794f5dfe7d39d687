/* comm_int.h - the MPI behind a tra_comm: for what calls MPI itself. */
#ifndef TRA_COMM_INT_H
#define TRA_COMM_INT_H

#include "comm.h"

#include <mpi.h>

#ifdef MPICH_VERSION /* its declarations let gcc take MPI_STATUSES_IGNORE for an array */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

struct tra_comm_mpi {
    MPI_Comm all;
    MPI_Comm alarms; /* of messages that a rank has failed */
};

#endif
