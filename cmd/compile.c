/* compile.c - a program to a plan file. */
#include <string.h>

#include "../formats/io.h"
#include "../lib/h5/stand_in.h"
#include "../formats/stand_in.h"
#include "../plans/explain/explain.h"
#include "../plans/search/planfile.h"
#include "made.h"
#include "planning.h"

static const char *output;

static tra_status write_plan(const char *program, const tra_job *job, const tra_request *r, tra_err *e) {
    enum { BUFFER = 16 << 10 };
    tra_str tree = {0}, out = {0};
    tra_newfile file;
    tra_explain_tree(job, job->plan, &tree);
    tra_planfile_print(program, job, r, tra_str_get(&tree), &out);
    tra_status s = tra_newfile_open(output, false, BUFFER, &file, e); /* a device or a pipe is written to */
    if (s == TRA_OK && (s = tra_newfile_write(&file, tra_str_get(&out), out.n, e)) == TRA_OK)
        s = tra_newfile_commit(&file, e);
    else if (s != TRA_OK)
        tra_newfile_abort(&file);
    tra_str_free(&tree);
    tra_str_free(&out);
    return s;
}

/* A plan over a table that was made for this command alone could not be run later. */
static tra_status check_inputs(const tra_job *job, tra_err *e) {
    const tra_graph *g = job->program.graph;
    for (int i = 0; i < g->n; i++)
        if (g->v[i]->op == TRA_OP_INPUT && g->v[i]->uses > 0 && g->v[i]->input.path &&
            tra_is_intermediate(g->v[i]->input.path))
            return tra_fail(e, TRA_PROGRAM,
                            "%s makes strings that only a run tells, after which the rest is planned: run the program",
                            job->program.src.name);
    return TRA_OK;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    tra_request r;
    tra_job job;
    if (!output || !*output) return tra_fail(e, TRA_USAGE, "-o is missing: say where the plan goes, -o FILE");
    tra_stand_ins.whole = true; /* who runs the plan does not see the program */
    TRA_TRY(tra_planning_request(0, 0, &r, e));
    tra_made_how making = tra_made_by(&r, true);
    r.makes = &making.makes;
    TRA_TRY(tra_job_load(argv[0], &r, &job, e));
    tra_status s = check_inputs(&job, e);
    if (s == TRA_OK)
        s = job.compiled ? tra_fail(e, TRA_USAGE, "%s is a plan already", argv[0]) : write_plan(argv[0], &job, &r, e);
    if (s == TRA_OK)
        tra_info(1, "%s: plan %d of %d, %s, for %d sites", output, job.plan->rank, job.plans.n, job.plan->strategy,
                 job.options.sites);
    tra_job_free(&job);
    return s;
}

const tra_cmd tra_cmd_compile = {
    .name = "compile",
    .group = "Programs",
    .brief = "choose the plan of a program and write it to a file",
    .usage = "[options] PROGRAM -o PLAN",
    .about =
        "Plans a program (- is standard input) and writes the plan (- is standard output) for explain, cost and run, "
        "which make it of its choices, without a search. The file is text: the options, the program, the identities of "
        "the input files, the choices and, for people, the tree of operators. It is refused later when an input has "
        "changed since, or when this tra makes another plan of the same choices.",
    .opts = (const tra_opt[]){TRA_ROW('o', "output", TRA_OPT_STR, &output, "PLAN", "the file to write"),
                              TRA_PLANNING_ROW_PLAN,
                              TRA_PLANNING_ROWS,
                              {.name = NULL}},
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_DEFINE,
    .run = run,
};
