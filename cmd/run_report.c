/* run_report.c - what `tra run` says of a plan and of a run. */
#include "run_files.h"
#include "run_report.h"
#include "common.h"

#include "../lib/kernel/kernel.h"
#include "../lib/physical/memory.h"
#include "../lib/physical/needs.h"
#include "../lib/run/pool.h"
#include "../plans/search/cost.h"

#include <string.h>

static const double BLAS_MATTERS = 1e10; /* flops below which its kernel is not worth a warning */

enum { STRATEGY_TEXT = 80 };
/* How the joins are placed, for a line of text: of many joins the first. On one site there is nothing to place. */
static const char *strategy_text(const char *strategy, int sites, char to[STRATEGY_TEXT]) {
    enum { ROOM = STRATEGY_TEXT - 20 };
    int joins = *strategy != 0;
    for (const char *p = strategy; *p; p++) joins += *p == ' ';
    if (joins == 0) return "no joins";
    size_t n = strlen(strategy);
    if (sites == 1)
        snprintf(to, STRATEGY_TEXT, "%d join%s", joins, joins == 1 ? "" : "s");
    else if (n < ROOM)
        return strategy;
    else {
        for (n = ROOM; n > 0 && strategy[n] != ' ';) n--;
        snprintf(to, STRATEGY_TEXT, "%.*s ... of %d joins", (int)n, strategy, joins);
    }
    return to;
}

void tra_run_announce(const tra_job *job, int64_t scratch_bytes, bool limited) {
    char strategy[STRATEGY_TEXT];
    char memory[32], ceiling[32], scratch[32];
    if (tra_common_opts.quiet) return;
    char sites[64] = "";
    bool one = job->options.sites == 1;
    if (!one) snprintf(sites, sizeof sites, "%d sites of ", job->options.sites);
    tra_info(0, "%s%d thread%s, plan %d (%s): %s %s of memory%s (ceiling %s), %s of scratch", sites,
             job->options.threads, job->options.threads == 1 ? "" : "s", job->plan->rank,
             strategy_text(job->plan->strategy, job->options.sites, strategy),
             tra_plan_memory_estimated(job->plan) ? "about" : "up to", tra_human(job->plan->cost.peak_memory, memory),
             one ? "" : " each", tra_human(job->options.memory, ceiling),
             scratch_bytes ? tra_human(scratch_bytes, scratch) : "none");
    if (job->plan->checkpointed > 0) /* only of runs that take longer than checkpoint_seconds */
        tra_info(1, "up to %s more of scratch for what --resume would go on from%s",
                 tra_human(job->plan->checkpointed, scratch), limited ? ", as far as --scratch-limit leaves it" : "");
    if (job->options.reproducible)
        tra_info(0, "reproducible sums: a cost of %.3g, %.3g without",
                 tra_cost_scalar(&job->plan->cost, job->options.cost), job->free_cost);
    char advice[256];
    if (job->plan->cost.flops > BLAS_MATTERS && tra_blas_advice(advice, sizeof advice)) tra_warn("%s", advice);
    tra_info(1, "BLAS kernel %s; about %.3g s predicted", tra_blas_kernel(), job->plan->cost.seconds);
}

void tra_run_report(const tra_job *job, const tra_profile *m) {
    char read[32], written[32], sent[32], memory[32];
    const tra_op_report *r = tra_profile_site(m, m->nops, 0);
    if (tra_common_opts.quiet) return;
    for (int i = 0; i < job->program.graph->noutputs; i++)
        if (job->program.graph->outputs[i].sink == TRA_SINK_FILE && !job->program.graph->outputs[i].target)
            tra_info(0, "%s written to %s", job->program.graph->outputs[i].name, job->program.graph->outputs[i].path);
    tra_info(0, "%.3f s;%s %s read, %s written%s%s, %s of memory at most; %.3f s with start-up", m->seconds,
             m->sites > 1 ? " of the first site:" : "", tra_human(r->disk_read, read),
             tra_human(r->disk_write, written), m->sites > 1 ? ", " : "",
             m->sites > 1 ? strcat(tra_human(r->sent, sent), " sent") : "", tra_human(r->peak_memory, memory),
             m->process_seconds);
}

void tra_run_warn_of_zeros(const tra_plan *p, const tra_report *r) {
    char place[512];
    for (int i = 0; i < p->nops; i++) {
        int64_t n = r->ops[i].by_zero;
        if (n == 0) continue;
        unsigned causes = r->ops[i].causes;
        bool date = causes & TRA_NULL_NO_DATE, floats = causes & TRA_NULL_DIVIDED_FLOAT;
        bool divided = floats || (causes & TRA_NULL_DIVIDED);
        tra_warn("%s%" PRId64 " value%s of %s %s NULL, since %s%s%s", tra_op_text(&p->ops[i], place, sizeof place), n,
                 n == 1 ? "" : "s", r->ops[i].where, n == 1 ? "is" : "are",
                 floats    ? "a number was divided by zero"
                 : divided ? "an integer was divided by zero"
                           : "",
                 divided && date ? ", or since " : "", date ? "there is no such date" : "");
    }
}

tra_status tra_run_say_least(const tra_job *job, int sites, int threads, tra_status s, tra_err *e) {
    const char *estimated = tra_plan_memory_estimated(job->plan); /* NULL: so much memory is enough */
    char has[32], least[TRA_LEASTTEXT];
    if (s != TRA_RESOURCE || !estimated || !strstr(e->msg, TRA_POOL_OUT)) return s;
    tra_err said = *e;
    *e = (tra_err){0};
    return tra_fail_kind(
        e, s, said.kind, "%s; %s has %s, and the least that would do is %s", said.msg,
        sites > 1 ? "each site" : "the run", tra_human(job->plan->memory, has),
        tra_least_text(job->plan->least_memory, tra_memory_base(job->plan, threads), estimated, "", least));
}

bool tra_run_plans_again(const tra_job *job, tra_request *r, tra_status s, tra_err *e) {
    if (s == TRA_OK || e->kind != TRA_KIND_OUTGROWN) return false;
    if (job->compiled || r->digest || r->plan > 1) { /* this plan is asked for, and no other */
        size_t n = strlen(e->msg);
        snprintf(e->msg + n, sizeof e->msg - n,
                 job->compiled ? "; run the program itself: then it is planned again with room for all rows"
                               : "; without --plan and --plan-digest it is planned again with room for all rows");
        return false;
    }
    if (!job->program.graph || !job->program.graph->expected_room) return false;
    tra_info(0, "%s; the run is planned again with room for all rows", e->msg);
    *e = (tra_err){0};
    tra_run_files_attempted();
    return r->options.bounds = true;
}
