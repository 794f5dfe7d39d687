/* mpi.h - in place of an MPI library, for a program that is built without one (make MPI=no).
 *
 * Such a program is always one process: no tra_comm has an MPI, so nothing but the first three functions is called.
 */
#ifndef TRA_ALONE_MPI_H
#define TRA_ALONE_MPI_H

#include <stdint.h>
#include <stdio.h>

#define TRA_NO_MPI 1

typedef struct tra_no_comm *MPI_Comm;
typedef struct tra_no_request *MPI_Request;
typedef struct tra_no_message *MPI_Message;
typedef int MPI_Op, MPI_Datatype, MPI_Info, MPI_Status;
typedef void (*MPI_Errhandler)(MPI_Comm *, int *, ...);

enum { MPI_SUCCESS, MPI_ERR_OTHER, MPI_MAX_ERROR_STRING = 64, MPI_MAX_LIBRARY_VERSION_STRING = 64 };
enum { MPI_BYTE, MPI_INT64_T, MPI_SUM, MPI_MAX, MPI_MIN, MPI_INFO_NULL, MPI_COMM_TYPE_SHARED, MPI_THREAD_FUNNELED };
enum { MPI_ANY_SOURCE = -1 };
#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_COMM_WORLD ((MPI_Comm)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_IN_PLACE ((void *)-1)

static inline int MPI_Initialized(int *is) { return *is = 0; }
static inline int MPI_Finalized(int *is) { return *is = 0; }
static inline int MPI_Get_library_version(char *text, int *n) {
    *n = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "no MPI (built with MPI=no: one site)");
    return MPI_SUCCESS;
}

/* All others. The compiler cannot see that what they are given stays as it was. */
__attribute__((noipa, unused)) static int tra_no_mpi(int any, ...) {
    (void)any;
    return MPI_ERR_OTHER;
}
#define MPI_Abort(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_create_errhandler(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_dup(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_free(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_rank(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_set_errhandler(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_size(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_split(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Comm_split_type(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Errhandler_free(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Error_string(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Iallgather(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Iallreduce(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Ibarrier(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Ibcast(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Improbe(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Init_thread(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Iprobe(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Irecv(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Isend(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Mrecv(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Query_thread(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Recv(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Request_free(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Test(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Testall(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Testsome(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Waitall(...) tra_no_mpi(0, __VA_ARGS__)
#define MPI_Finalize() tra_no_mpi(0)

#endif
