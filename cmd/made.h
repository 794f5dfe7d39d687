/* made.h - makes tables whose strings must be known before the program that reads them is planned. */
#ifndef TRA_CMD_MADE_H
#define TRA_CMD_MADE_H

#include "../lib/run/exec.h"
#include "../plans/search/job.h"

/* From now on programs that are loaded have their strings made, by runs with these options on one site. how: scratch,
 * codegen and progress of these runs. Both must live as long as programs are loaded. */
void tra_made_begin(const tra_request *r, const tra_exec_options *how);

#endif
