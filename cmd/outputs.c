/* outputs.c - outputs of programs in other formats: the run writes HDF5 in the scratch directory, which is exported. */
#include "outputs.h"

#include "../formats/stand_in.h"
#include "common.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Has the program such an output? */
static bool has_any(const tra_graph *g) {
    int i = 0;
    while (i < g->noutputs && !g->outputs[i].target) i++;
    return i < g->noutputs;
}

static tra_status job_of(const tra_output *o, tra_arena *a, tra_export_job *job, tra_err *e) {
    *job = (tra_export_job){.from = o->path};
    return tra_output_format(o->target, a, &job->format, &job->to, e);
}

tra_status tra_outputs_check(const tra_graph *g, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_status s = TRA_OK;
    for (int i = 0; i < g->noutputs && s == TRA_OK; i++) {
        const tra_output *o = &g->outputs[i];
        tra_export_job job;
        if (!o->target) continue;
        tra_cleanup_add(o->path);
        s = job_of(o, a, &job, e);
        if (s == TRA_OK) s = tra_export_check(&job, o->name, &o->node->type, e);
    }
    tra_arena_free(a);
    return s;
}

int64_t tra_outputs_least(const tra_graph *g, int64_t base) {
    tra_arena *a = tra_arena_new();
    tra_err e;
    int64_t most = 0;
    for (int i = 0; i < g->noutputs; i++) {
        const tra_output *o = &g->outputs[i];
        tra_export_job job;
        if (!o->target || job_of(o, a, &job, &e) != TRA_OK) continue;
        most = tra_max64(most,
                         tra_add_most(tra_export_needs(&job, &o->node->type), tra_max64(base, -tra_buffer_bytes(0))));
    }
    tra_arena_free(a);
    return most;
}

/* The seconds of an output as the plan numbers it. */
static double *seconds_of(const tra_plan *plan, tra_report *r, const char *target, double *none) {
    for (int i = 0; r && i < plan->nops; i++) {
        const tra_op *op = &plan->ops[i];
        if (op->op == TRA_PLAN_OUTPUT && op->spec.target && strcmp(op->spec.target, target) == 0)
            return &r->ops[i].seconds;
    }
    return none;
}

static tra_status export(const tra_graph *g, int64_t memory, int64_t base, const tra_plan *plan, tra_report *report,
                         tra_err *e) {
    double none = 0;
    tra_arena *a = tra_arena_new();
    tra_status s = TRA_OK;
    tra_return_free_memory();
    for (int i = 0; i < g->noutputs && s == TRA_OK; i++) {
        const tra_output *o = &g->outputs[i];
        tra_export_job job;
        tra_export_receipt r;
        if (!o->target) continue;
        double from = tra_now();
        tra_commit_end(o->path);
        int in_use = open(o->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* tra clean leaves it alone */
        if (in_use >= 0) (void)flock(in_use, LOCK_SH);
        s = job_of(o, a, &job, e);
        job.memory = memory ? tra_max64(1, memory - tra_max64(0, base + tra_buffer_bytes(0))) : 0;
        job.progress = tra_progress_here();
        if (s == TRA_OK) s = tra_print_flush(e);
        r.closed = false;
        if (s == TRA_OK) s = tra_export(&job, &r, e);
        tra_pipe_closed |= r.closed;
        if (in_use >= 0) close(in_use);
        *seconds_of(plan, report, o->target, &none) += tra_now() - from;
    }
    for (int i = 0; i < g->noutputs; i++) {
        if (!g->outputs[i].target) continue;
        (void)unlink(g->outputs[i].path);
        tra_cleanup_drop(g->outputs[i].path);
    }
    tra_arena_free(a);
    return s;
}

tra_status tra_outputs_export(const tra_graph *g, const tra_comm *comm, const tra_exec_options *o, int64_t base,
                              const tra_plan *plan, tra_report *report, tra_err *e) {
    tra_track *mine = tra_record_track(o->record, -1);
    double from = tra_now();
    if (!has_any(g)) return TRA_OK;
    (void)tra_track_do(mine, comm->rank == 0 ? TRA_DO_WRITE : TRA_DO_EXCHANGE);
    tra_status s = comm->rank == 0 ? export(g, o->memory, base, plan, report, e) : TRA_OK;
    s = tra_comm_agree(comm, s, e);
    (void)tra_track_do(mine, TRA_DO_COMPUTE);
    (void)tra_record_op(o->record, tra_phase_op(TRA_PHASE_EXPORT), from, tra_now());
    if (report) report->total.seconds += tra_now() - from;
    return s;
}
