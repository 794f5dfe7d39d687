/* exec.h - running a plan. */
#ifndef TRA_EXEC_H
#define TRA_EXEC_H

#include <stdatomic.h>

#include "journal.h"
#include "../codegen/codegen.h"
#include "../physical/plan.h"
#include "../table/table.h"
#include "progress.h"
#include "record.h"

typedef enum tra_transport_kind { TRA_TRANSPORT_MPI, TRA_TRANSPORT_FILES } tra_transport_kind;

typedef struct tra_exec_options {
    int64_t memory;               /* ceiling of this process, bytes; > 0 */
    int threads;                  /* workers */
    const char *scratch;          /* directory for spilling; with TRA_TRANSPORT_FILES one that all ranks share */
    tra_transport_kind transport; /* how ranks exchange blocks */
    tra_codec codec;              /* of the outputs */
    const char *history;          /* of the outputs, or NULL */
    bool alone;                   /* no other program reads the outputs (tra_write_options) */
    tra_progress_form progress;   /* on rank 0 */
    uint64_t step; /* tra_commit_note.step of the outputs, whose record the caller ends; 0: there is none */
    const tra_journal_request *journal; /* NULL: nothing is saved, and signals stop the run only if it */
    bool stops;                         /* stops all the same */
    double deadline;                    /* of tra_now: when work is to have ended, and progress is saved; 0: none */
    double checkpoint_seconds;          /* seconds of work that a killed run may lose (checkpoint.h); 0: the default */
    tra_codegen_mode codegen;           /* of kernels that can be compiled */
    bool checkpoint_turns;              /* each turn of a loop is saved */
    tra_record *record;                 /* of what is done when; NULL: nothing is recorded */
    int64_t checkpoint_limit;           /* bytes that checkpoints may take in scratch; 0: no limit */
    /* becomes true when all outputs have appeared, from when on nothing that fails can undo them; NULL: nobody asks */
    atomic_bool *settled;
} tra_exec_options;

/* What this site measured while an operator ran, or a whole plan. */
typedef struct tra_op_report {
    double seconds;                /* of an output also those of putting its file in place */
    double cpu_seconds;            /* of a whole run: of the process, since it began; else 0 */
    double kernel_seconds;         /* those of them in which some worker computed, without reading inputs and writing */
    int64_t sent, received;        /* array bytes */
    int64_t disk_read, disk_write; /* whole uncompressed chunks of relations; written also strings of tables */
    int64_t spilled, unspilled;    /* to and from scratch */
    double scratch_seconds;        /* in which threads wrote to scratch and read from it */
    double read_seconds;           /* of an input: in which threads read blocks of it, where that was recorded */
    int64_t scratch;               /* the most that the scratch file has held until the end of it */
    int64_t counted[2];            /* of tables of which only the run tells the rows: rows, and tuples that have them */
    int64_t by_zero;               /* on rank 0: values of all sites that are NULL for these causes: */
    unsigned causes;               /* TRA_NULL_ bits (lib/table/table.h) */
    char where[TRA_WHERE];         /* the column of the first of them (op_notes.h) */
    int64_t peak_memory;           /* the most that the process has held until the end of it (VmHWM) */
} tra_op_report;
/* What this site measured of the turns of a loop that it did; of one in another, in all turns of that. */
typedef struct tra_loop_report {
    int64_t turns, done;             /* turns in the end, with those that a run before did; turns that were measured */
    bool converged;                  /* its condition was met, or it has none */
    double first, others;            /* seconds of the first of these, and of all others */
    int64_t first_read, others_read; /* disk_read, in the same way, */
    int64_t first_sent, others_sent; /* and sent */
} tra_loop_report;
typedef struct tra_report {
    tra_op_report *ops;        /* plan->nops, from malloc, the caller frees */
    tra_loop_report *loops;    /* plan->nloops, the same */
    tra_heavy_key (*heavy)[2]; /* plan->nops, the same: on rank 0 of each operand, on all sites, the heaviest key */
    tra_op_report total;       /* seconds: from the call until all outputs are in place */
    tra_record *record;        /* that of the options, for tra_profile_gather, which frees it */
    bool resumed;              /* something of it had been saved by a run before */
    bool unconverged;          /* the condition of a loop was never met */
    bool starved;              /* it failed since workers of this site had no memory beside each other */
} tra_report;

void tra_report_free(tra_report *r); /* what it points to, the record too */

/* Runs the plan on the ranks of comm, one site each (comm->size must be plan->sites). Collective: every rank calls it
 * with the same plan and returns the same status. All outputs appear when all is done, or none.
 * With a journal what is finished is saved as it is finished; after a failure the message says when there is something
 * to go on from. TRA_STOPPED soon after tra_stop_asked. */
TRA_MUSTUSE tra_status tra_exec(const tra_plan *plan, const tra_comm *comm, const tra_exec_options *o,
                                tra_report *report, tra_err *e);
#endif
