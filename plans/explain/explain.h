/* explain.h - plans for people and for programs: one walk describes a plan, text, JSON and dot render the
 * description. */
#ifndef TRA_EXPLAIN_H
#define TRA_EXPLAIN_H

#include "../../lib/run/profile.h"
#include "../search/derive.h"
#include "../search/job.h"
#include "../storel/kernels.h"

/* The kernels of a program whose operands are stored in one way. */
typedef struct tra_kernels_of {
    const char *storages; /* "A as csr, B as csc"; "" as the program says */
    int n;
    const tra_storel_kernel *kernel;
} tra_kernels_of;
void tra_sort_storages(int n, tra_kernels_of *x); /* the cheapest first */

typedef struct tra_explain_options {
    int alternatives; /* how many plans beside the chosen one: 0 none in text, a few in JSON; INT_MAX all */
    bool rules, tra, ia, catalog;
    bool kernels, code; /* those that are compiled, in the calculus, and in C; `composed` too */
    bool optimizers;    /* the program under each optimizer, side by side */
    int nmeasurements;
    const struct tra_measurement *measurements; /* to stand in that comparison */
    const tra_kernels_of *composed;             /* statements composed with storages; or NULL */
    int nstorages;                              /* storages of operands side by side */
    const tra_kernels_of *storages;
    const tra_profile *measured; /* of the chosen plan, to stand beside what was predicted; or NULL */
} tra_explain_options;

/* An operator as it is shown. */
typedef struct tra_shown_op {
    const tra_op *op;
    const char *label;    /* what it does: join-agg [1]=[0] matmul, group [0,2] matadd */
    const char *relation; /* its relation's name in the program, of exchanges the name of what they move; or NULL */
    const char *place;
    int64_t floats;      /* elements of the result, one copy */
    const char *storage; /* of an output; else NULL */
    bool densifies;      /* makes dense what is sparse by type */
    int statement;       /* of EinDecomp, whose result it has; -1 */
    const char *rules;   /* that shaped it, once tra_explain_rules was asked; else NULL */
} tra_shown_op;

/* A line of the operator tree: outputs are roots, inputs hang below. */
typedef struct tra_shown_line {
    int op;
    int depth;
    bool again; /* shown in full before: its inputs are not repeated */
} tra_shown_line;

typedef struct tra_shown_plan {
    const tra_plan *plan;
    tra_shown_op *ops; /* plan->nops */
    int nlines;
    tra_shown_line *lines;
    double cost;      /* by the cost model */
    int densify;      /* operators that make dense what is sparse */
    bool fits;        /* in the memory ceiling of the job */
    const char *note; /* why it is not the first choice; "" for that */
    const char *rules;
} tra_shown_plan;

/* Describes a plan of the job, in the arena. */
tra_shown_plan *tra_explain_plan(const tra_job *job, const tra_plan *p, tra_arena *a);

/* Names the rules that shaped the plan, which the choices give. Takes a search over the memo for each operator. */
void tra_explain_rules(const tra_job *job, tra_shown_plan *s, const tra_choices *c, tra_arena *a);
/* The steps from the direct translation to the job's plan, and the rules that were refused; empty if there are none. */
tra_derivation tra_explain_derivation(const tra_job *job, tra_arena *a);

/* Each appends to out. Text has lines of at most 100 columns. */
void tra_explain_text(const tra_job *job, const tra_explain_options *o, tra_str *out);
void tra_explain_json(const tra_job *job, const tra_explain_options *o, tra_str *out);
void tra_explain_dot(const tra_job *job, tra_str *out);
/* The table of `tra cost`: a header, then a line for each alternative; tabs between columns. And the same as JSON:
 * explain's object without operators. */
void tra_explain_cost(const tra_job *job, tra_str *out);
void tra_explain_cost_json(const tra_job *job, tra_str *out);
/* explain's object of the plan that was run, with what was measured beside each predicted figure: the file of run
 * --profile. */
void tra_explain_profile(const tra_job *job, const tra_profile *measured, tra_str *out);
/* The labelling that a plan follows; NULL: none. */
const tra_labelling *tra_explain_labelling(const tra_job *job, const tra_plan *p);
/* The tree alone, as in plan files. */
void tra_explain_tree(const tra_job *job, const tra_plan *p, tra_str *out);

/* A file that tra_explain_profile made: what was measured, and of what plan. TRA_INPUT when it is something else. Free
 * the profile with tra_profile_free. */
typedef struct tra_profile_of {
    int sites, threads;
    int64_t memory;
    tra_cost_model cost;
    tra_optimizer optimizer;
    bool reproducible;
    uint64_t digest; /* of the plan */
} tra_profile_of;
typedef struct tra_measurement {
    char *file; /* that it was read from */
    tra_profile_of of;
    tra_profile profile;
} tra_measurement;
TRA_MUSTUSE tra_status tra_profile_read(const char *path, tra_profile_of *of, tra_profile *out, tra_err *e);

#endif
