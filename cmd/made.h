/* made.h - makes tables whose strings must be known before the program that reads them is planned. */
#ifndef TRA_CMD_MADE_H
#define TRA_CMD_MADE_H

#include "../lib/run/exec.h"
#include "../plans/search/job.h"

/* What making parts takes where somebody asks for it: they are planned as `options` say, and made once as the command
 * runs programs. */
typedef struct tra_made_needs {
    tra_plan_options options; /* of the plans of parts, which have one site */
    int64_t least;            /* ceiling under which all of them run; */
    double seconds;           /* that they are predicted to take together */
} tra_made_needs;

/* How the command plans and runs its program, and so parts of it: on one site, by the process that plans. */
typedef struct tra_made_how {
    tra_makes makes; /* first, as a request has it */
    tra_plan_options options;
    tra_exec_options how;
    tra_made_needs *asked; /* NULL: nobody asks */
} tra_made_how;

/* Programs that are loaded with this in their request have the values of labels found that only a run tells, and
 * (strings) their strings made, by runs with its options on one site. Who sets makes.by_row has it done by the
 * reference evaluator, which needs only those of groups. */
tra_made_how tra_made_by(const tra_request *r, bool strings);

#endif
