/* common.h - what several commands share: defaults, workers, and reading a whole relation with them. */
#ifndef TRA_COMMON_H
#define TRA_COMMON_H

#include "../lib/base/crew.h"
#include "../lib/base/meter.h"
#include "../lib/relation/store.h"
#include "cmd.h"

enum { TRA_SCAN_MEMORY = 256 << 20 }; /* --memory of commands that only stream, when not given */

/* The row of --memory in the table of such a command. */
#define TRA_OPT_MEMORY(var)                                                                                            \
    { 0, "memory", TRA_OPT_SIZE, &(var), NULL, "memory ceiling (default: 256M)", NULL, "TRA_MEMORY", NULL }

/* The row of --progress in the table of such a command, and where its value is. */
extern int tra_progress_option;
#define TRA_OPT_PROGRESS                                                                                               \
    {                                                                                                                  \
        0, "progress", TRA_OPT_ENUM, &tra_progress_option, NULL,                                                       \
            "say on standard error how far it is (auto: on a terminal)", "auto|always|never", NULL, NULL               \
    }
/* The form of tra_meter_begin that it asks for. */
tra_progress_form tra_progress_here(void);

/* The scratch directory: what --scratch or TRA_SCRATCH gave (NULL: nothing), else TMPDIR, else /var/tmp. */
const char *tra_scratch_dir(const char *given);

/* The directories in which a run leaves something when it is killed: the current one, and the scratch directory where
 * that is another. Their number, 1 or 2. */
int tra_work_dirs(const char *scratch, const char *dirs[2]);

/* How many workers of `each` bytes fit into memory, at most one per core and one per job. TRA_RESOURCE, with the least
 * memory that would do, when not even one does. */
TRA_MUSTUSE tra_status tra_workers(int64_t memory, int64_t fixed, int64_t each, int64_t jobs, int *n, tra_err *e);

/* Reads every array of a relation (`what` says so in the progress), on as many workers as tra_workers gives (at most
 * TRA_MAXWORKERS), and calls fn on each. data is NULL when the array cannot be read: then e tells why, and fn returns
 * TRA_OK to go on or the status to stop. */
typedef tra_status tra_scan_fn(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e);
TRA_MUSTUSE tra_status tra_scan(tra_rel *rel, const char *what, int64_t memory, tra_scan_fn *fn, void *ctx, tra_err *e);

#endif
