/* findings_int.h - what the sentences of findings.c and waits.c are made of. */
#ifndef TRA_FINDINGS_INT_H
#define TRA_FINDINGS_INT_H

#include "explain_int.h"

static const double TRA_SHORT_RUN = 0.2; /* seconds of a run, or of a wait, of which there is nothing to say */

typedef struct findings {
    const tra_job *job;
    const tra_shown_plan *s;
    const tra_profile *m;
    tra_shown_statements lines;
    tra_arena *a;
    double run; /* seconds of the whole process */
    /* Shares of it: what a worker did, on average, and how long a main thread exchanged data, and wrote. */
    double did[TRA_DOINGS_COUNT], exchanged, wrote;
    int n;
    const char **v;
} findings;

/* Adds a sentence. */
void tra_finding(findings *f, const char *fmt, ...) TRA_PRINTF(2, 3);
/* "3.2 s", in the arena. */
const char *tra_finding_seconds(const findings *f, double s);

/* waits.c: seconds in which threads of all sites, the main ones too, did this. */
double tra_finding_did(const findings *f, tra_doing what);
/* The run as a sum: what the workers did, on average, and the phases before and after, the longest first. True: other
 * processes had the processors while the workers would have computed. */
bool tra_find_shares(findings *f);
/* What workers of all sites did with their time. enough: there were blocks for all, or it was said that not. */
void tra_find_waits(findings *f, bool busy, bool enough);

#endif
