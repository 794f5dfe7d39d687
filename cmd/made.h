/* made.h - makes tables whose strings must be known before the program that reads them is planned. */
#ifndef TRA_CMD_MADE_H
#define TRA_CMD_MADE_H

#include "../lib/run/exec.h"
#include "../plans/search/job.h"

/* From now on programs that are loaded have the values of labels found that only a run tells, and (strings) their
 * strings made, by runs with these options on one site. */
void tra_made_begin(const tra_request *r, const tra_exec_options *how, bool strings);
/* The same of commands that only plan: with the options of planning. */
TRA_MUSTUSE tra_status tra_made_planning(const tra_request *r, bool strings, tra_err *e);

#endif
