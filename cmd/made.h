/* made.h - makes tables whose strings must be known before the program that reads them is planned. */
#ifndef TRA_CMD_MADE_H
#define TRA_CMD_MADE_H

#include "../lib/run/exec.h"
#include "../plans/search/job.h"

/* From now on programs that are loaded have the values of labels found that only a run tells, and (strings) their
 * strings made, by runs with these options on one site. by_row: by the reference evaluator, which needs only those of
 * groups. */
void tra_made_begin(const tra_request *r, const tra_exec_options *how, bool strings, bool by_row);
/* What making takes when this is given: the parts are planned as the options say, and made once with those of
 * tra_made_begin. */
typedef struct tra_made_needs {
    tra_plan_options options; /* of the plans of parts, which have one site */
    int64_t least;            /* ceiling under which all of them run; */
    double seconds;           /* that they are predicted to take together */
} tra_made_needs;
extern tra_made_needs *tra_made_asked; /* NULL: nobody asks */
/* The same of commands that only plan: with the options of planning. */
TRA_MUSTUSE tra_status tra_made_planning(const tra_request *r, bool strings, tra_err *e);

#endif
