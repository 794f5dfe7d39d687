/* deadline.h - run --deadline: whether a run fits into its time, and its end before that is over. */
#ifndef TRA_DEADLINE_H
#define TRA_DEADLINE_H

#include "../plans/search/job.h"
#include "cmd.h"

typedef struct tra_deadline_options {
    const char *time; /* NULL: none */
    bool strict;
} tra_deadline_options;
extern tra_deadline_options tra_deadline_opts;

/* The rows of a command's table. */
/* clang-format off */
#define TRA_DEADLINE_ROWS                                                                                              \
    {0, "deadline", TRA_OPT_STR, &tra_deadline_opts.time, "TIME",                                                      \
     "the time that there is (4h, 1h30m, 4:00:00, or @SECONDS of the epoch): save progress and end with 75 before it", \
     NULL, NULL, NULL},                                                                                                \
    {0, "strict", TRA_OPT_FLAG, &tra_deadline_opts.strict, NULL,                                                       \
     "status 4 at once when the run is not expected to be done by --deadline", NULL, NULL, NULL}
/* clang-format on */

/* From now on the process ends with TRA_STOPPED before the time of the options, which is counted from its start. */
TRA_MUSTUSE tra_status tra_deadline_begin(tra_err *e);
/* Is the plan expected to be done by then? A warning if not, or TRA_RESOURCE if that was asked for and nothing of it is
 * saved (saved: bytes that an earlier run left). Leaves as much time for the end as the plan needs. */
TRA_MUSTUSE tra_status tra_deadline_check(const tra_job *job, int64_t saved, tra_err *e);
/* The moment (of tra_now) at which the run is to stop; 0: there is none. */
double tra_deadline_stop(void);
/* May the plan take more memory, on each of so many sites here, than the cgroup or the scheduler gives the job, which
 * would kill it without a word? TRA_RESOURCE then. */
TRA_MUSTUSE tra_status tra_memory_check(const tra_plan *p, int here, tra_err *e);

#endif
