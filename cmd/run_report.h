/* run_report.h - what `tra run` says of a plan before it runs, and of the run when it has ended. Rank 0 calls these. */
#ifndef TRA_RUN_REPORT_H
#define TRA_RUN_REPORT_H

#include "../lib/run/profile.h"
#include "../plans/search/job.h"

/* The plan that was chosen, what it takes, and advice. scratch_bytes: of the scratch that a site may need; limited: the
 * user has limited what may be saved for --resume. */
void tra_run_announce(const tra_job *job, int64_t scratch_bytes, bool limited);
/* Where the outputs are, and what the run took. */
void tra_run_report(const tra_job *job, const tra_profile *m);
/* Warns of values that are NULL because a number was divided by zero. */
void tra_run_warn_of_zeros(const tra_plan *p, const tra_report *r);

/* Of a run that failed with status s since sizes were estimated, and memory was not enough: adds to the message what
 * each site had, and the least ceiling that would do. Returns s. */
tra_status tra_run_say_least(const tra_job *job, int sites, int threads, tra_status s, tra_err *e);

/* Is a run that ended so to be planned again, since it found more rows than its plan expected? Says so; then r asks for
 * a plan by bounds, and e is empty. Each rank calls it, of a status that all agreed on. */
bool tra_run_plans_again(const tra_job *job, tra_request *r, tra_status s, tra_err *e);

#endif
