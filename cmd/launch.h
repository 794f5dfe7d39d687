/* launch.h - `tra run --sites N` starts the launcher of its MPI library itself. */
#ifndef TRA_LAUNCH_H
#define TRA_LAUNCH_H

#include "../lib/run/comm.h"

/* The command line of this process, as it was given: main's has lost its options. One allocation, to be freed with
 * free; NULL, and *argc 0, when it cannot be had. */
char **tra_own_arguments(int *argc);

/* Runs this program again with the same command line on n ranks of this machine, under mpirun or what TRA_MPIRUN names,
 * and waits. input (may be NULL) is what rank 0 gets on its standard input. *exit_status is that of the ranks; the loss
 * of one (mpirun's 137) is TRA_LOST. TRA_INTERNAL when mpirun cannot be started, TRA_USAGE when there is no MPI. The
 * ranks find TRA_LAUNCHED in their environment: what this process has said already they need not say again. Its value
 * is when this process began, its pid and its host. */
TRA_MUSTUSE tra_status tra_launch(int n, const char *input, size_t input_len, int *exit_status, tra_err *e);

/* Appends the launcher of the MPI library, as a job script starts n ranks by it, on_each of them on each machine (0: as
 * the launcher likes), each word after a blank. Nothing where there is no MPI. */
void tra_launch_words(int n, int on_each, tra_str *out);

/* Of a rank, before it says anything: takes the standard output and error that its launcher has kept for it. */
void tra_take_streams(void);

/* When the command was started (tra_now): this process (main calls this first), or that which launched it on this
 * machine. */
double tra_process_begin(void);
double tra_own_begin(void); /* when this process was */
/* Of a rank that `tra run --sites` launched on this host: counts as asked to stop once that has ended. A rank that was
 * still starting when its launcher was killed would else begin work that nobody waits for. */
void tra_end_with_launcher(void);

/* All ranks have agreed on the status of their work, of which nothing is left to do: rank 0 tells the launcher, if that
 * is on this machine. What becomes of them, or of mpirun, while MPI ends does not matter to it then. (Open MPI's issue
 * 10117: about one in a thousand MPI_Finalize crashes.) Returns the status with which each rank is to end: that of a
 * success if the launcher knows, since mpirun would else take one to two seconds to kill what has ended. Collective. */
TRA_MUSTUSE tra_status tra_ranks_over(const tra_comm *c, tra_status s);

#endif
