/* request.h - tra explain --request: what to ask a machine or a scheduler for, and job scripts that ask for it. */
#ifndef TRA_REQUEST_H
#define TRA_REQUEST_H

#include "cmd.h"
#include "machine.h"

typedef struct tra_request_options {
    const char *request;  /* NULL: not asked; "": all points; else the name of one */
    const char *deadline; /* NULL: any time will do */
    tra_strlist machines; /* files of rates; none: this machine */
    int job;              /* TRA_JOB_*, 0: none */
    bool job_given;
} tra_request_options;
extern tra_request_options tra_request_opts;

/* The rows of a command's table. */
/* clang-format off */
#define TRA_REQUEST_ROWS                                                                                               \
    {0, "request", TRA_OPT_OPTSTR, &tra_request_opts.request, "memory|time|hours",                                     \
     "what to ask for: the points of least memory, time, and machine-hours", NULL, NULL, NULL},                        \
    {0, "deadline", TRA_OPT_STR, &tra_request_opts.deadline, "TIME", "of these, points that take no longer (4h)",      \
     NULL, NULL, NULL},                                                                                                \
    {0, "machine", TRA_OPT_LIST, &tra_request_opts.machines, "FILE",                                                   \
     "a machine that may be asked for, as calibrate -o FILE measured it; may be repeated", NULL, NULL, NULL},          \
    {0, "job", TRA_OPT_ENUM, &tra_request_opts.job, NULL,                                                              \
     "print the job that asks for the point that --request names (default: hours)", "slurm|mpirun|cron", NULL,         \
     &tra_request_opts.job_given}
/* clang-format on */

/* A machine that sites may be put on. */
typedef struct tra_ask_machine {
    const char *name;
    const tra_machine *rates; /* NULL: built-in ones */
    int64_t cores, memory;    /* memory 0: not known */
} tra_ask_machine;

/* What can be asked for, and what the plan for it would take. */
typedef struct tra_point {
    const tra_ask_machine *on;
    int sites, threads, machines, here; /* here: sites of one machine, at most */
    int64_t memory, scratch;            /* of a site; the ceiling is a whole number of MiB */
    double seconds, hours;              /* hours: of machines, of each the part that the sites take */
} tra_point;

/* Is it asked for? Also by one of the other options, which mean nothing else. */
bool tra_request_wanted(void);
/* Plans the program at path for all of them, and prints the table, JSON, or the job. TRA_NO: none is done by the
 * deadline. */
TRA_MUSTUSE tra_status tra_request_run(const char *path, tra_err *e);

enum { TRA_JOB_SLURM, TRA_JOB_MPIRUN, TRA_JOB_CRON };
/* Writes the job: a script of bash, or for cron a line of a crontab. limit: seconds that it may take. */
TRA_MUSTUSE tra_status tra_job_script(int kind, const char *program, const tra_point *p, double limit, tra_str *out,
                                      tra_err *e);
/* Appends the command that runs the program so, each word after a blank. */
void tra_job_command(const char *program, const tra_point *p, tra_str *out);

/* The scripts of share/batch. */
typedef struct tra_job_template {
    const char *name, *text;
} tra_job_template;
extern const tra_job_template tra_job_templates[]; /* ends with name NULL */

#endif
