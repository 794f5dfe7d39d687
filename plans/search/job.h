/* job.h - a program or a plan file, loaded and planned: what compile, explain, cost and run begin with. */
#ifndef TRA_JOB_H
#define TRA_JOB_H

#include "../tra/load.h"
#include "../tra/made.h"
#include "search.h"

/* What the command line asked for. */
typedef struct tra_request {
    tra_plan_options options; /* complete; memory is the default where it was not given */
    bool sites_given, memory_given, cost_given, optimizer_given, codec_given, threads_given;
    int64_t plan;       /* --plan K, from 1; 0: not given */
    const char *digest; /* --plan-digest: of the only plan that will do; NULL: any */
    int ndefines;
    const char *const *defines; /* NAME=VALUE */
    bool colour;                /* of diagnostics */
    const tra_makes *makes;     /* as of tra_building; it outlives the job */
} tra_request;

typedef struct tra_job {
    tra_program program;
    tra_plan_options options; /* as planned; a plan file brings its own */
    tra_plans plans;
    tra_plan *plan;     /* the one to run */
    bool compiled;      /* path was a plan file */
    tra_arena *arena;   /* owns what `built` refers to */
    tra_building built; /* how the program was built last */
    double free_cost;   /* options.reproducible: of the best plan without it, by the cost model */
} tra_job;

/* Loads path ("-": standard input), a program or a plan file by its first line, and plans it. The plan of a plan file
 * is made of the choices that it holds; a search with its options finds the plans again where more than this one is
 * wanted, or the optimizer is another one. Its inputs and its plan must be what they were: else TRA_INPUT says what
 * changed. Of the request a plan file takes memory and threads, when given; other options given that differ are
 * TRA_USAGE. A plan of another digest than the one given is TRA_INPUT. Without a given memory, a program with an input
 * that is only declared has no ceiling. On failure job is freed. */
TRA_MUSTUSE tra_status tra_job_load(const char *path, const tra_request *r, tra_job *job, tra_err *e);
/* The same of a text that has been read already; path is its name and where its relative paths count from. */
TRA_MUSTUSE tra_status tra_job_load_text(const char *path, const char *text, size_t n, const tra_request *r,
                                         tra_job *job, tra_err *e);
/* Seconds before the first operator, besides those of the search: for strings that are made before (tra_graph.strings)
 * and the results of functions that planning itself computes (tabulated), by rates, and those that files of other
 * formats took. */
double tra_job_seconds_before(const tra_job *job);
tra_codec tra_job_codec(const tra_job *job); /* of its outputs */
void tra_job_free(tra_job *job);

#endif
