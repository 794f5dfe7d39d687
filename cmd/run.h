/* run.h - carrying out a program, for tra run and for tra eval. */
#ifndef TRA_RUN_H
#define TRA_RUN_H

#include "../plans/search/job.h"
#include "cmd.h"

typedef struct tra_run_source {
    const char *path; /* the program's name for messages, from whose folder its relative paths count */
    /* Brings the text, from malloc; rank 0 calls it. */
    tra_status (*read)(const char *path, char **text, size_t *n, tra_err *e);
    bool dry;   /* shows the plan, as --dry-run does */
    bool quiet; /* says neither what it will do nor what it did */
    /* Called by rank 0 when all outputs are in place, or NULL. */
    tra_status (*after)(const tra_job *job, tra_err *e);
} tra_run_source;

/* Plans and runs it in this process, under an mpirun that it starts, or as one rank. */
TRA_MUSTUSE tra_status tra_run_program(const tra_run_source *source, tra_err *e);

/* Computes the outputs of the program by the reference evaluator, and puts their files in place. step: its digest, of
 * which a record stays for tra_commit_end; 0: none does. */
TRA_MUSTUSE tra_status tra_run_with_reference(const tra_graph *g, tra_arena *a, const tra_write_options *o,
                                              uint64_t step, tra_err *e);

/* The rows of the options of tra run. */
extern const tra_opt tra_run_rows[];

#endif
