/* launch.h - `tra run --sites N` starts mpirun itself. */
#ifndef TRA_LAUNCH_H
#define TRA_LAUNCH_H

#include "../lib/base/base.h"

/* Runs this program again with the arguments argv[0..argc) on n ranks of this machine under mpirun and waits. *exit_status
 * is that of the ranks; the loss of one (mpirun's 137) is TRA_LOST. TRA_INTERNAL when mpirun cannot be started. */
TRA_MUSTUSE tra_status tra_launch(int n, int argc, char **argv, int *exit_status, tra_err *e);

#endif
