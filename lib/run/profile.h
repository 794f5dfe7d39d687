/* profile.h - what a run measured, of all its sites. */
#ifndef TRA_PROFILE_H
#define TRA_PROFILE_H

#include "exec.h"

enum { TRA_HOSTNAME = 64 };

typedef struct tra_profile {
    int sites, nops, nloops;
    tra_op_report *of;          /* [(nops + 1) * sites]: operator, then site; after the operators the whole run */
    char (*host)[TRA_HOSTNAME]; /* of each site */
    char kernel[32];            /* of BLAS, on site 0 */
    int processors;             /* of the machine of site 0; 0: an older tra did not say */
    tra_loop_report *loops;     /* of each loop, on the first site */
    tra_heavy_key (*heavy)[2];  /* of each operator and operand; all 0 on other ranks than the first */
    int status;                 /* exit status of a run that ended before its outputs were in place; else 0 */
    bool resumed;               /* it went on from what a run before had saved */
    double seconds;             /* of the run, from before planning until all outputs are in place */
    double process_seconds;     /* since the command was started */
    tra_timeline timeline;      /* buckets 0: nothing was recorded */
} tra_profile;

/* What every rank measured, brought together. Frees r->record. Collective; every rank gets it. seconds,
 * process_seconds and status are the caller's to set. Free with tra_profile_free. */
void tra_profile_gather(const tra_comm *comm, tra_report *r, const tra_plan *plan, tra_profile *out);
void tra_profile_free(tra_profile *p);

/* Of an operator, or of the whole run (op = nops): on one site; and over all sites, bytes and cpu_seconds added up, of
 * seconds, memory and scratch the most. */
const tra_op_report *tra_profile_site(const tra_profile *p, int op, int site);
tra_op_report tra_profile_sum(const tra_profile *p, int op);

#endif
