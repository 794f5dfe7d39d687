/* made.c - runs of parts of a program, before the rest of it is planned. */
#include "deadline.h"
#include "made.h"
#include "planning.h"
#include "run.h"

#include "../formats/first_rows.h"
#include "../formats/made_strings.h"
#include "../formats/stand_in.h"
#include "../lib/physical/memory.h"
#include "../lib/run/comm.h"
#include "../plans/tra/made.h"

#include <stdlib.h>

/* The part of a program that makes a node. loops: it runs those of the graph too. */
typedef struct part {
    const tra_made_how *making;
    const tra_graph *graph;
    const tra_node *node;
    bool loops;
} part;

static tra_status plan_part(const tra_graph *g, tra_plan_options o, tra_arena *a, const tra_plan **plan, tra_err *e) {
    tra_plans plans;
    o.sites = 1;
    o.first = 1;
    o.also = 0;
    o.fixed = NULL;
    o.compress = 0;
    TRA_TRY(tra_optimize(g, &o, a, &plans, e));
    *plan = plans.v[0];
    return TRA_OK;
}

static tra_status run_plan(const tra_made_how *m, const tra_graph *g, tra_arena *a, const char *history, tra_err *e) {
    const tra_plan *plan;
    tra_report r = {0};
    tra_comm self = tra_comm_self();
    TRA_TRY(plan_part(g, m->options, a, &plan, e));
    TRA_TRY(tra_memory_check(plan, 1, e));
    tra_exec_options x = m->how;
    x.memory = m->options.memory;
    x.threads = m->options.threads;
    x.history = history;
    x.alone = true;
    x.stops = true;
    tra_status s = tra_exec(plan, &self, &x, &r, e);
    tra_report_free(&r);
    return s;
}

/* What the part takes when it is planned as asked. */
static tra_status ask(tra_made_needs *n, const tra_graph *g, tra_arena *a, tra_err *e) {
    const tra_plan *plan;
    TRA_TRY(plan_part(g, n->options, a, &plan, e));
    n->least = tra_max64(n->least, tra_max64(plan->least_memory, plan->planning));
    n->seconds += plan->cost.seconds;
    return TRA_OK;
}

/* Runs the part of the graph that makes a node, which is the one output. to NULL: it is planned only. */
static tra_status run_part(void *ctx, const char *identity, const char *to, tra_err *e) {
    const part *p = ctx;
    tra_graph g = *p->graph;
    tra_arena *a = tra_arena_new();
    tra_output *v = tra_news(a, tra_output, g.noutputs + 1);
    int n = 0;
    for (int i = 0; i < g.noutputs && p->loops; i++)
        if (g.outputs[i].sink != TRA_SINK_FILE) v[n++] = g.outputs[i];
    v[n++] = (tra_output){.node = p->node, .name = "strings", .path = to ? to : "strings"};
    v[n - 1].stored = tra_storage_default(a, &p->node->type);
    g.outputs = v;
    g.noutputs = n;
    if (!p->loops) g.nloops = 0;
    ((tra_node *)p->node)->uses++;
    tra_status s = !to ? ask(p->making->asked, &g, a, e)
                   : p->making->makes.by_row
                       ? tra_run_with_reference(&g, a, &(tra_write_options){.history = identity}, 0, e)
                       : run_plan(p->making, &g, a, identity, e);
    ((tra_node *)p->node)->uses--;
    tra_arena_free(a);
    return s;
}

static const tra_made_how *making_of(const tra_makes *m) { return (const tra_made_how *)m; }

static tra_status make_table(const tra_makes *m, const tra_graph *g, const tra_node *n, bool loops,
                             const char *identity, const char **path, tra_err *e) {
    part p = {making_of(m), g, n, loops};
    if (p.making->asked) TRA_TRY(run_part(&p, identity, NULL, e));
    if (m->by_row) identity = tra_arena_printf(g->arena, "reference: %s", identity);
    return tra_stand_in_made(identity, run_part, &p, path, e);
}

/* Strings, or first rows, that are to be written. */
typedef struct writing {
    const tra_plan_options *options;
    const tra_made_strings *strings;
    const tra_first_rows *first;
} writing;

static tra_status write_made(void *ctx, const char *identity, const char *to, tra_err *e) {
    const writing *w = ctx;
    int64_t memory = w->options->memory ? w->options->memory : TRA_IMPORT_MEMORY;
    int threads = w->options->threads;
    tra_return_free_memory(); /* of the part before */
    if (w->first) return tra_first_rows_write(w->first, to, memory, threads, identity, e);
    tra_status s = tra_made_strings_write(w->strings, to, memory, threads, identity, e);
    tra_return_free_memory();
    return s;
}

static tra_status make_strings(const tra_makes *m, const tra_made_strings *of, const char *identity, const char **path,
                               tra_err *e) {
    return tra_stand_in_made(identity, write_made, &(writing){&making_of(m)->options, of, NULL}, path, e);
}

static tra_status make_first(const tra_makes *m, const tra_first_rows *of, const char *identity, const char **path,
                             tra_err *e) {
    return tra_stand_in_made(identity, write_made, &(writing){&making_of(m)->options, NULL, of}, path, e);
}

tra_made_how tra_made_by(const tra_request *r, bool strings) {
    tra_exec_options how = {.scratch = tra_stand_ins.scratch, .codegen = (tra_codegen_mode)tra_planning_opts.codegen};
    tra_made_how m = {{make_table, strings ? make_strings : NULL, make_first, false}, r->options, how, NULL};
    m.options.over = false;
    return m;
}
