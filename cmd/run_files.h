/* run_files.h - what a run leaves beside its outputs: its profile, a report, metrics; and its events. */
#ifndef TRA_RUN_FILES_H
#define TRA_RUN_FILES_H

#include "../lib/run/profile.h"
#include "../plans/search/job.h"

typedef struct tra_run_files {
    const char *profile, *report, *metrics; /* NULL: none */
    bool events;                            /* --progress json */
} tra_run_files;
extern tra_run_files tra_run_files_opts;

/* Is what the run does to be recorded? And is anything of what it measures wanted, whatever becomes of it? */
bool tra_run_files_record(void);
bool tra_run_files_wanted(void);
/* A record of this site, to which what came before the plan is run is added; NULL where none is to be. begun: when the
 * run began, after all ranks had started. Collective. */
tra_record *tra_run_files_begin(const tra_job *job, const tra_comm *comm, double begun);
/* The run is planned again: what it has done until now was an attempt. */
void tra_run_files_attempted(void);
/* Before anything is computed, so that no run is lost to a wrong name: the files can be written, and none of them is
 * some other file. TRA_USAGE, TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_run_files_check(tra_err *e);
/* The plan is chosen: its figures are those of the metrics. */
void tra_run_files_planned(const tra_job *job);
/* The run has ended, whatever became of it: these figures are those of the metrics. */
void tra_run_files_measured(const tra_profile *m);
/* The plan has run, or ended early with status `ended`: writes profile and report. Returns `ended`, or TRA_RESOURCE if
 * that was TRA_OK and they cannot be written, with a message that says so. */
TRA_MUSTUSE tra_status tra_run_files_write(const tra_job *job, const tra_profile *m, tra_status ended, tra_err *e);
/* The run has ended so, whatever it was: writes the metrics, and the last event. Returns s, or TRA_RESOURCE if that was
 * TRA_OK and the metrics cannot be written. */
TRA_MUSTUSE tra_status tra_run_files_end(const char *program, tra_status s, tra_err *e);

/* The command, and the digests that its input files carry; from malloc. */
char *tra_run_history(const tra_graph *g);

#endif
