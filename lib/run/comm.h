/* comm.h - the ranks of a run: one process alone without MPI, or the ranks that a launcher started.
 *
 * MPI is initialised only when a launcher started us (start-up costs 15 to 250 ms), and called by one thread only. What
 * includes this header does not depend on which MPI there is, or whether there is one: comm_int.h does.
 */
#ifndef TRA_COMM_H
#define TRA_COMM_H

#include "../base/base.h"

typedef struct tra_comm {
    int rank, size;
    struct tra_comm_mpi *mpi; /* NULL: alone */
} tra_comm;

/* The MPI library that this program was built with. */
typedef enum tra_mpi { TRA_MPI_NONE, TRA_MPI_OPEN, TRA_MPI_MPICH } tra_mpi;
tra_mpi tra_comm_built_with(void);
char *tra_comm_library(void); /* its name and version, as it is at run time. From malloc */

bool tra_comm_launched(int *size); /* did mpirun (or srun) start this process? *size: how many it says, or 0 */
int tra_comm_launched_rank(void);  /* this process's rank as its launcher tells, before MPI is begun; 0 without one */
/* Joins the ranks: MPI_Init_thread when several were launched. TRA_INTERNAL when the launcher says more ranks than MPI
 * sees (N singletons that would overwrite each other's output): each finds that, and the first is to say it. */
TRA_MUSTUSE tra_status tra_comm_init(tra_comm *c, tra_err *e);
bool tra_comm_is_unjoined(void); /* has it found that? */
void tra_comm_finish(void);      /* MPI_Finalize if initialised */
/* Ends all ranks at once with this exit status; for what cannot wait for the others. Does not return under MPI. */
void tra_comm_abort(int status);
tra_comm tra_comm_self(void);
/* The ranks of c on this machine, this one included; alone without MPI. End with tra_comm_free. Collective. */
tra_comm tra_comm_node(const tra_comm *c);
/* Those that run under one kernel, also where they have hosts (containers, namespaces) of their own. As above. */
tra_comm tra_comm_machine(const tra_comm *c);
/* The ranks of c that give the same color, which is not negative; alone where c is. As above. */
tra_comm tra_comm_split(const tra_comm *c, int color);
void tra_comm_free(tra_comm *part);
int tra_comm_node_size(const tra_comm *c); /* how many ranks tra_comm_node has */
/* Cores that these may use together, at least 1: what they share with ranks of other hosts counts in part. */
int tra_comm_cores(const tra_comm *c);
/* The same, given for each of n cores how many ranks of this host, and of all hosts of the machine, may use it. */
int tra_comm_share(int n, const int64_t *here, const int64_t *all);

/* Every rank calls it with its own status; all return the status, and get the message, of the lowest rank that
 * failed (of one that says TRA_LOST, a peer failed, only when no rank says more). */
TRA_MUSTUSE tra_status tra_comm_agree(const tra_comm *c, tra_status s, tra_err *e);
/* A rank that fails while the others compute alarms them, so that they come to tra_comm_agree soon. They look for
 * alarms about four times a second: then TRA_LOST, with the rank, its host and the error why. One thread of a rank does
 * both. */
void tra_comm_alarm(const tra_comm *c, const tra_err *why);
TRA_MUSTUSE tra_status tra_comm_alarmed(const tra_comm *c, tra_err *e);
void tra_comm_calm(const tra_comm *c);                        /* after a failure: all ranks forget the alarms */
void tra_comm_bcast(const tra_comm *c, void *buf, int64_t n); /* from rank 0 */
void tra_comm_sum(const tra_comm *c, int64_t *v, int64_t n);  /* to all, wrapping */
void tra_comm_max(const tra_comm *c, int64_t *v, int64_t n);
void tra_comm_min(const tra_comm *c, int64_t *v, int64_t n);
bool tra_comm_same(const tra_comm *c, uint64_t v); /* do all ranks have the same v? All ranks get the answer */
/* all: size * n, on every rank */
void tra_comm_gather(const tra_comm *c, const int64_t *mine, int64_t *all, int64_t n);
void tra_comm_barrier(const tra_comm *c);

#endif
