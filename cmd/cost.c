/* cost.c - the alternatives of a program and their costs, a line each. */
#include <limits.h>

#include "../plans/explain/explain.h"
#include "made.h"
#include "planning.h"

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    tra_request r;
    tra_job job;
    tra_str out = {0};
    TRA_TRY(tra_planning_request(0, 0, &r, e));
    tra_made_how making = tra_made_by(&r, false);
    r.makes = &making.makes;
    r.options.first = 0; /* all */
    TRA_TRY(tra_job_load(argv[0], &r, &job, e));
    if (tra_common_opts.format == TRA_FORMAT_JSON)
        tra_explain_cost_json(&job, &out);
    else
        tra_explain_cost(&job, &out);
    tra_status s = tra_print_str(&out, e);
    tra_job_free(&job);
    return s;
}

const tra_cmd tra_cmd_cost = {
    .name = "cost",
    .group = "Programs",
    .brief = "print the alternatives of a program and their costs, a line each",
    .usage = "[options] PROGRAM|PLAN",
    .about =
        "Plans a program (- is standard input) and prints a table for scripts: a header, then a line for the cheapest "
        "plan of each strategy, cheapest first, with tabs between the columns: rank, strategy, cost by the model, "
        "floats and bytes on the network, bytes read and written, operations, peak memory of a site, seconds.",
    .opts = (const tra_opt[]){TRA_PLANNING_ROWS, {.name = NULL}},
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_DEFINE,
    .run = run,
};
