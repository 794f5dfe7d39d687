/* exec.h - running a plan. */
#ifndef TRA_EXEC_H
#define TRA_EXEC_H

#include "comm.h"
#include "plan.h"

typedef struct tra_exec_options {
    int64_t memory;        /* ceiling of this process, bytes; > 0 */
    int threads;           /* workers */
    const char *scratch;   /* directory for spilling */
    tra_codec codec;       /* of the outputs */
    const char *history;   /* of the outputs, or NULL */
    int progress;          /* 0: none; 1: a line on stderr that rank 0 rewrites; 2: a plain line now and then */
} tra_exec_options;

/* What was measured, of this site. */
typedef struct tra_op_report {
    double seconds;
    int64_t sent, received, disk_read, disk_write, spilled;
} tra_op_report;
typedef struct tra_report {
    tra_op_report *ops; /* plan->nops, from malloc, the caller frees */
    tra_op_report total;
    int64_t peak_memory;  /* VmHWM of the process */
    double seconds;       /* from the call until all outputs are in place */
} tra_report;

/* Runs the plan on the ranks of comm, one site each (comm->size must be plan->sites). Collective: every rank calls it
 * with the same plan and returns the same status. All outputs appear when all is done, or none. */
TRA_MUSTUSE tra_status tra_exec(const tra_plan *plan, const tra_comm *comm, const tra_exec_options *o,
                                tra_report *report, tra_err *e);

#endif
