/* outputs.h - outputs of programs in other formats than HDF5. The run writes each as an intermediate HDF5 file in the
 * scratch directory, which is then exported. */
#ifndef TRA_OUTPUTS_H
#define TRA_OUTPUTS_H

#include "../lib/run/exec.h"
#include "../plans/search/job.h"

/* Checks, before anything is computed, that the formats can hold what the program writes in them. TRA_PROGRAM.
 * Intermediate files are removed when the process ends early. */
TRA_MUSTUSE tra_status tra_outputs_check(const tra_graph *g, tra_err *e);
/* The least ceiling under which a process that holds `base` bytes besides can write them in their formats; 0: there are
 * none. */
int64_t tra_outputs_least(const tra_graph *g, int64_t base);
/* Writes each in its format, and removes the intermediate files; the first rank does. Collective. o: the ceiling of
 * memory, and the record; base: bytes that the process holds besides. The seconds are added to the report of the plan
 * (NULL: there is none), and there to those of each output. */
TRA_MUSTUSE tra_status tra_outputs_export(const tra_graph *g, const tra_comm *comm, const tra_exec_options *o,
                                          int64_t base, const tra_plan *plan, tra_report *report, tra_err *e);

#endif
