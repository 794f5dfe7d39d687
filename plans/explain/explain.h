/* explain.h - plans for people and for programs: one walk describes a plan; text, JSON and dot render that. */
#ifndef TRA_EXPLAIN_H
#define TRA_EXPLAIN_H

#include "../../lib/run/profile.h"
#include "../search/derive.h"
#include "../search/job.h"
#include "../storel/kernels.h"

/* ---- what is explained besides the plan --------------------------------------------------------------------- */

/* The kernels of a program's statements, where the operands are stored in one way. */
typedef struct tra_kernel_set {
    const char *storages; /* "A as csr, B as csc"; "": as the program says */
    int n;
    const tra_storel_kernel *kernel;
} tra_kernel_set;
/* Sorts n sets by the predicted seconds of their kernels, the cheapest first. */
void tra_sort_storages(int n, tra_kernel_set *x);

/* The plan that a file of run --profile is of, and the options under which it was found. */
typedef struct tra_profiled_plan {
    int sites, threads;
    int64_t memory;
    tra_cost_model cost;
    tra_optimizer optimizer;
    bool reproducible, threads_given;
    uint64_t digest; /* of the plan */
} tra_profiled_plan;
/* A file of run --profile. */
typedef struct tra_measurement {
    char *file; /* its path */
    tra_profiled_plan of;
    tra_profile profile;
} tra_measurement;
/* Reads such a file; TRA_INPUT if it is something else. Free the profile with tra_profile_free. */
TRA_MUSTUSE tra_status tra_profile_read(const char *path, tra_profiled_plan *of, tra_profile *out, tra_err *e);

/* What explain shows besides the plan. Pointers are the caller's. */
typedef struct tra_explain_options {
    int alternatives; /* how many plans besides the chosen one; INT_MAX: all; 0: none in text, a few in JSON */
    bool operators;   /* the tree of operators; JSON always has them */
    bool rules;       /* the derivation of the plan */
    bool tra;         /* the typed graph */
    bool ia;          /* operators and placements before fusion */
    bool catalog;     /* the keys and extents of relations */
    bool kernels;     /* kernels that are compiled, in the calculus */
    bool code;        /* the same with their C */
    bool optimizers;  /* the program under each optimizer, side by side, */
    int nmeasurements;
    const tra_measurement *measurements; /* with these measurements */
    const tra_kernel_set *composed;      /* statements composed with storages; NULL: none */
    int nstorages;
    const tra_kernel_set *storages; /* storages of operands, side by side */
    const tra_profile *measured;    /* what was measured of the chosen plan; NULL: nothing */
    int nchanges;
    const char *const *changes; /* what would change the picture (tra_explain_changes) */
} tra_explain_options;

/* ---- the description of a plan ------------------------------------------------------------------------------ */

/* An operator as it is shown. */
typedef struct tra_shown_op {
    const tra_op *op;
    const char *label;    /* operator and arguments: "join-agg [1]=[0] matmul, group [0,2] matadd" */
    const char *relation; /* the name of its result in the program, or of the relation that it moves; NULL: none */
    const char *place;
    int64_t floats;             /* elements of one copy of the result */
    const char *storage;        /* of an output; else NULL */
    bool densifies;             /* it makes a dense result that takes more memory than its sparse inputs */
    int stage;                  /* in which it runs: itself, or another (tra_plan_runs_in) */
    int statement;              /* the EinDecomp vertex whose result it has; -1: none */
    const tra_rule_list *rules; /* that shaped it, once tra_explain_rules was called; else NULL */
} tra_shown_op;

/* A line of the operator tree, which has outputs as roots and below each operator its inputs. */
typedef struct tra_shown_line {
    int op;
    int depth;
    bool again; /* the operator was shown before with its inputs, which are left out here */
} tra_shown_line;

typedef struct tra_shown_plan {
    const tra_plan *plan;
    tra_shown_op *ops; /* plan->nops */
    int nlines;
    tra_shown_line *lines;
    double cost;                /* by the cost model of the job */
    int densifying;             /* how many operators densify */
    bool fits;                  /* within the memory ceiling of the job */
    const char *why_not;        /* why the plan is not the first choice; "" if it is */
    const tra_rule_list *rules; /* that shaped it, once tra_explain_rules was called; else NULL */
} tra_shown_plan;

/* Describes a plan of the job, in the arena. */
tra_shown_plan *tra_explain_plan(const tra_job *job, const tra_plan *p, tra_arena *a);
/* Names the rules that shaped the plan, whose choices are c. This searches the memo for each operator. */
void tra_explain_rules(const tra_job *job, tra_shown_plan *s, const tra_choices *c, tra_arena *a);
/* The steps from the direct translation to the job's plan, and the rules that were refused. Empty if the derivation
 * cannot be found. */
tra_derivation tra_explain_derivation(const tra_job *job, tra_arena *a);
/* The labelling that a plan follows; NULL: none. */
const tra_labelling *tra_explain_labelling(const tra_job *job, const tra_plan *p);

/* Rates of one of `here` sites of this machine with so many threads. */
typedef tra_rates tra_rates_fn(int here, int threads);
/* What other options, or other blocks of an input, would change, each in a sentence that was found by planning again:
 * by the first plan of the job and at most `seconds`. m: what was measured of it, or NULL. ndefines, defines: those of
 * the request. Returns how many, in the arena. */
int tra_explain_changes(const tra_job *job, const tra_profile *m, tra_rates_fn *rates, int ndefines,
                        const char *const *defines, double seconds, tra_arena *a, const char *const **out);

/* ---- rendering: each function appends to out ---------------------------------------------------------------- */

/* tra explain: as text as wide as the terminal (elsewhere 100 columns), as JSON, as a graph for graphviz. */
void tra_explain_text(const tra_job *job, const tra_explain_options *o, tra_str *out);
void tra_explain_json(const tra_job *job, const tra_explain_options *o, tra_str *out);
void tra_explain_dot(const tra_job *job, tra_str *out);
/* A page of HTML that needs nothing else; with what was measured, if anything was. It begins with a line that has
 * TRA_REPORT_MARK. And the drawing of the plan alone, as SVG. */
#define TRA_REPORT_MARK "<meta name=\"generator\" content=\"tra report\">"
void tra_explain_html(const tra_job *job, const tra_explain_options *o, tra_str *out);
void tra_explain_svg(const tra_job *job, const tra_profile *measured, tra_str *out);
/* What a run did over time, as Trace Event JSON: sites are processes, their threads are threads, operators and what the
 * threads did are complete events, memory, disk and network are counters. measured->timeline.buckets is not 0. */
void tra_explain_trace(const tra_job *job, const tra_profile *measured, tra_str *out);
/* What is known of a relation that the program names, as the JSON of explain and check have it: begins an object, which
 * the caller ends. */
void tra_explain_relation(const tra_named *r, tra_json *j);
/* tra cost: a line of names, then a line for each alternative, with tabs between columns; or explain's JSON of all
 * plans, without operators. */
void tra_explain_cost(const tra_job *job, tra_str *out);
void tra_explain_cost_json(const tra_job *job, tra_str *out);
/* run --profile: explain's JSON of the plan that was run, with what was measured beside each predicted figure. */
void tra_explain_profile(const tra_job *job, const tra_profile *measured, tra_str *out);
/* The operator tree alone, as plan files have it. */
void tra_explain_tree(const tra_job *job, const tra_plan *p, tra_str *out);

#endif
