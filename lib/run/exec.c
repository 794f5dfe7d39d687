/* exec.c - runs a plan, operator by operator. */
#include "exec_int.h"
#include "../kernel/program.h"
#include "../physical/scan.h"
#include "../tablefile/table_file.h"
#include "compiled.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    STREAM = 16,           /* operations for each byte that is written: a plan with fewer is limited by the disk */
    LITTLE_FROM = 8 << 20, /* bytes of blocks of a plan whose page faults take a part of its time */
    LITTLE_TO = 1 << 30,
};

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* The outlet of operator i's stage: a part, or directly an output file. */
static tra_outlet outlet_of(tra_execution *x, int i) {
    const tra_op *op = &x->plan->ops[i];
    int to = tra_exec_direct_output(x, i);
    tra_outlet outlet = {.pool = x->site.pool, .engine = x->site.engine, .checkpoint = x->checkpoint, .op = op};
    outlet.site = x->site.comm.rank;
    outlet.counted = x->report->ops[i].counted;
    if (op->spec.partial) outlet.summand = tra_place_summand(&op->place, x->site.comm.rank);
    if (to < 0 && !x->parts[i]) x->parts[i] = tra_exec_new_part(x, i);
    if (to >= 0)
        outlet.file = x->files[to];
    else
        outlet.part = x->parts[i];
    return outlet;
}

static tra_status run_streaming(tra_execution *x, int i, tra_part *l, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    tra_outlet outlet = outlet_of(x, i);
    if (op->op == TRA_PLAN_CONCAT || op->method.gathers) return tra_stage_gather(&x->site, op, l, &outlet, e);
    tra_part *p = tra_exec_on_demand(x, op, l);
    tra_status s = tra_stage_copy(&x->site, op, p, &outlet, e);
    tra_part_release(p, x->site.pool);
    return s;
}

static tra_status run_op(tra_execution *x, int i, tra_err *e);

/* Runs an input or view that a later stage of a scan reads, and which comes after the first stage in the plan. */
static tra_status read_early(tra_execution *x, int i, tra_err *e) {
    if (i < 0 || x->parts[i]) return TRA_OK;
    TRA_TRY(read_early(x, x->plan->ops[i].in[0], e));
    x->ran[i] = true;
    return run_op(x, i, e);
}

/* The part whose tuples the stages of a scan read, be it through what is computed on reading; NULL: it is no scan. */
static const tra_part *scanned_by(const tra_execution *x, int n, const tra_loop_stage *v) {
    for (int k = 0; k < n; k++) {
        tra_part *in[2] = {v[k].l, v[k].r};
        for (int side = 0; side < 2; side++)
            if (in[side] && in[side]->n > 0 && tra_scan_reads(x->plan, v[k].op, side))
                return tra_part_resolve(in[side], 0).stored;
    }
    return NULL;
}

/* Runs the stage, together with all later stages of its scan. */
static tra_status run_loops(tra_execution *x, int i, tra_err *e) {
    const tra_op_scan *scan = &x->plan->ops[i].method.scan;
    tra_loop_stage *v = tra_calloc((size_t)tra_max64(1, scan->stages), sizeof *v);
    tra_status s = TRA_OK;
    int n = 0;
    for (int j = i; j >= 0 && s == TRA_OK; j = scan->stages ? x->plan->ops[j].method.scan.next : -1) {
        const tra_op *op = &x->plan->ops[j];
        if (j != i && (!x->needed[j] || x->complete[j])) continue;
        for (int side = 0; side < 2 && s == TRA_OK; side++) s = read_early(x, op->in[side], e);
        if (s != TRA_OK) break;
        x->ran[j] = j != i;
        v[n++] =
            (tra_loop_stage){op, x->parts[op->in[0]], op->in[1] >= 0 ? x->parts[op->in[1]] : NULL, outlet_of(x, j)};
    }
    tra_block *room[TRA_WANTED_JOINS] = {NULL};
    int filtered = s == TRA_OK && n == 1 && v->op->op == TRA_PLAN_JOIN ? tra_exec_want_partners(x, i, room) : -1;
    if (s == TRA_OK) s = tra_stage_loops(&x->site, n, v, scanned_by(x, n, v), e);
    tra_exec_forget_partners(x, filtered, room);
    free(v);
    return s;
}

/* ---- messages of -v and -vv ------------------------------------------------------------------------------------ */

static const char *title(const tra_op *op, char buf[96]) {
    snprintf(buf, 96, "#%d %s%s%.48s", op->id, tra_plan_op_text(op->op), op->spec.name ? " " : "",
             op->spec.name ? op->spec.name : "");
    return buf;
}

static void tell_begin(const tra_op *op) {
    char name[96], net[TRA_SIZETEXT], read[TRA_SIZETEXT];
    tra_info(2, "%s begins: %s to move, %s to read, %.3g flops, about %.3g s", title(op, name),
             tra_size_text(op->predicted.cost.network_bytes, net), tra_size_text(op->predicted.cost.disk_read, read),
             op->predicted.cost.flops, op->predicted.stage_seconds);
}

static void tell_end(const tra_op *op, const tra_op_report *r, int64_t past_cache) {
    char name[96], read[32], sent[32], got[32], out[32], back[32], past[64] = "", scratch[96] = "";
    if (!tra_op_is_stage(op)) return;
    if (past_cache) snprintf(past, sizeof past, " (%s past the page cache)", tra_human(past_cache, out));
    if (r->spilled || r->unspilled)
        snprintf(scratch, sizeof scratch, ", %s spilled, %s read back", tra_human(r->spilled, out),
                 tra_human(r->unspilled, back));
    tra_info(1, "%s: %.3f s; of the first site: %s read%s, %s sent, %s received%s", title(op, name), r->seconds,
             tra_human(r->disk_read, read), past, tra_human(r->sent, sent), tra_human(r->received, got), scratch);
}

/* ---- exchanges that overlap stages ----------------------------------------------------------------------------- */

static tra_status step_overlapped(void *ctx, bool wanted, bool *any, tra_err *e) {
    tra_execution *x = ctx;
    bool done = true;
    for (int i = 0; i < x->noverlapping; i++) TRA_TRY(tra_exchange_step(x->overlapping[i], wanted, any, &done, e));
    if (done) tra_engine_set_overlap(x->site.engine, NULL, NULL);
    return TRA_OK;
}

static void begin_overlapping(tra_execution *x, int i) {
    const tra_op *op = &x->plan->ops[i];
    x->overlapping_op[x->noverlapping] = i;
    x->overlapping[x->noverlapping++] = tra_exchange_begin(&x->site, op, x->parts[op->in[0]], x->parts[i]);
    tra_engine_set_overlap(x->site.engine, step_overlapped, x);
    char name[96], window[32];
    tra_info(2, "  %s overlaps the stages as far as #%d, %s on the way at once", title(op, name), op->method.ends,
             tra_human(op->method.window, window));
}

/* Ends the exchanges that end with this operator (all if with < 0), after a stage that ended with s. */
static tra_status end_overlapping(tra_execution *x, int with, tra_status s, tra_err *e) {
    int left = 0;
    if (x->noverlapping == 0) return s;
    tra_engine_set_overlap(x->site.engine, NULL, NULL);
    for (int k = 0; k < x->noverlapping; k++) {
        int i = x->overlapping_op[k];
        tra_op_report *rep = &x->report->ops[i];
        tra_moved m;
        if (with >= 0 && x->plan->ops[i].method.ends != with) {
            x->overlapping_op[left] = i;
            x->overlapping[left++] = x->overlapping[k];
            continue;
        }
        tra_status end = tra_exchange_end(x->overlapping[k], s, &m, e);
        rep->seconds += m.seconds;
        rep->sent += m.sent;
        rep->received += m.received;
        if (s == TRA_OK) s = end;
        if (s == TRA_OK) tell_end(&x->plan->ops[i], rep, 0);
    }
    x->noverlapping = left;
    if (left > 0) tra_engine_set_overlap(x->site.engine, step_overlapped, x);
    return s;
}

static tra_status run_op(tra_execution *x, int i, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    tra_part *l = op->in[0] >= 0 ? x->parts[op->in[0]] : NULL;
    switch (op->op) {
    case TRA_PLAN_INPUT:
    case TRA_PLAN_READALL: x->parts[i] = tra_exec_input_part(x, i); return TRA_OK;
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY: return tra_exec_view(op, l, &x->parts[i], e);
    case TRA_PLAN_MAP:
    case TRA_PLAN_TILE:
        if (!op->method.fused) return run_streaming(x, i, l, e);
        x->parts[i] = tra_exec_on_demand(x, op, l);
        return TRA_OK;
    case TRA_PLAN_JOIN:
    case TRA_PLAN_AGG:
    case TRA_PLAN_JOINAGG:
    case TRA_PLAN_MERGE: return run_loops(x, i, e);
    case TRA_PLAN_CONCAT: return run_streaming(x, i, l, e);
    case TRA_PLAN_BCAST:
    case TRA_PLAN_SHUF:
    case TRA_PLAN_REPART:
        if (op->method.gathers) return run_streaming(x, i, l, e);
        x->parts[i] = tra_exec_new_part(x, i);
        if (tra_op_overlaps(op)) return begin_overlapping(x, i), TRA_OK;
        return tra_stage_exchange(&x->site, op, l, x->parts[i], e);
    case TRA_PLAN_OUTPUT:
        if (!l) return TRA_OK; /* written as it was computed */
        tra_outlet outlet = {.file = x->files[i], .pool = x->site.pool, .engine = x->site.engine, .op = op};
        outlet.counted = x->report->ops[i].counted;
        return tra_stage_copy(&x->site, op, l, &outlet, e);
    case TRA_PLAN_LOOP_OPS: return tra_exec_loop_op(x, i, l, e);
    case TRA_PLAN_COUNT: break;
    }
    return tra_fail(e, TRA_INTERNAL, "operator %d is unknown", (int)op->op);
}

void tra_exec_release(tra_execution *x, int i) {
    if (i < 0 || --x->uses[i] > 0) return;
    tra_part_release(x->parts[i], x->site.pool);
    x->parts[i] = NULL;
}

/* TRA_STOPPED when the run is to stop, TRA_LOST when another rank has failed. */
static tra_status check_site(tra_site *site, tra_err *e) {
    if (site->can_stop) TRA_TRY(tra_stop_check(e));
    return tra_comm_alarmed(&site->comm, e);
}

static tra_status tick(void *ctx, tra_err *e) {
    tra_execution *x = ctx;
    if (x->progress.form != TRA_PROGRESS_NONE)
        tra_progress_show(&x->progress, atomic_load(&x->site.done), x->site.total);
    if (x->report->record && tra_record_wants_sample(x->report->record, tra_now())) tra_exec_sample(x);
    tra_journal_flush(x->journal);
    if (x->o->deadline > 0) tra_stop_at(x->o->deadline - tra_engine_ending(x->site.engine));
    return check_site(&x->site, e);
}

tra_status tra_exec_name_statement(const tra_op *op, tra_status s, tra_err *e) {
    char place[512];
    if (!tra_pool_is_exhausted(s, e)) return s;
    tra_err was = *e;
    *e = (tra_err){0};
    return tra_fail_kind(e, s, tra_op_may_outgrow(op) ? TRA_KIND_OUTGROWN : TRA_KIND_NONE, "%s%s",
                         tra_op_text(op, place, sizeof place), was.msg);
}

/* Runs operator i. After a failure it alarms the other ranks, which may still compute. But where inputs are at fault
 * they go on to the end of the operator, so that the error of the lowest rank is told, whichever failed first. */
static tra_status run_needed(tra_execution *x, int i, tra_err *e) {
    /* all ranks must begin an exchange, or none: it finds out about failures by itself */
    bool together = tra_op_exchanges(&x->plan->ops[i]);
    tra_exec_leave_time(x, i);
    tra_status s = together ? TRA_OK : check_site(&x->site, e);
    tra_doing what = x->site.comm.size > 1 ? TRA_DO_EXCHANGE : TRA_DO_READ; /* one site cuts what it reads */
    tra_doing before = together ? tra_engine_do(x->site.engine, what, i) : TRA_DO_COMPUTE;
    if (s == TRA_OK) s = run_op(x, i, e);
    if (together) (void)tra_engine_do(x->site.engine, before, -1);
    tra_journal_flush(x->journal);
    if (s != TRA_OK && s != TRA_INPUT) tra_comm_alarm(&x->site.comm, e);
    s = tra_exec_name_statement(&x->plan->ops[i], end_overlapping(x, i, s, e), e);
    if (x->site.comm.size == 1) return s;
    before = tra_engine_do(x->site.engine, TRA_DO_EXCHANGE, i); /* it waits for the sites that are later */
    s = tra_comm_agree(&x->site.comm, s, e);
    (void)tra_engine_do(x->site.engine, before, -1);
    return s;
}

/* Counts what an operator took since `before` until now, in addition to the turns before this one. */
static void add_report(tra_execution *x, int i, const tra_pool_stats *before, const tra_op_report *begun, double now,
                       bool reads_on) {
    const tra_op *op = &x->plan->ops[i];
    tra_op_report *rep = &x->report->ops[i];
    tra_pool_stats after = tra_pool_stat(x->site.pool);
    if (!tra_op_overlaps(op)) { /* what an exchange that overlaps stages took is known when it ends */
        rep->seconds += now - begun->seconds;
        rep->sent += x->site.sent - begun->sent;
        rep->received += x->site.received - begun->received;
    }
    rep->kernel_seconds += tra_engine_computed_seconds(x->site.engine) - begun->kernel_seconds;
    rep->disk_read += reads_on ? 0 : after.read - x->read_before;
    rep->spilled += after.spilled - before->spilled;
    rep->unspilled += after.unspilled - before->unspilled;
    rep->scratch_seconds += after.scratch_seconds - before->scratch_seconds;
    rep->scratch = after.scratch;
}

/* Runs operator i, if it is to run, and gives up what nothing else reads. *reads_on: bytes that are read count for the
 * stage which exchanges overlap. *now: when the step before ended; 0: no step was before; set to the end of this one.
 */
static tra_status run_step(tra_execution *x, int i, bool *reads_on, double *now, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    bool in_loop = x->plan->nloops > 0 && op->loop >= 0, again = in_loop && x->loops[op->loop].turns > 0;
    tra_pool_stats before = tra_pool_stat(x->site.pool);
    tra_op_report begun = {.seconds = *now > 0 ? *now : tra_now(),
                           .kernel_seconds = tra_engine_computed_seconds(x->site.engine),
                           .sent = x->site.sent,
                           .received = x->site.received};
    if (!*reads_on) x->read_before = before.read;
    x->site.total = 0;
    atomic_store(&x->site.done, 0);
    tra_progress_op(&x->progress, i);
    if (!x->ran[i] && !again) tell_begin(op);
    bool runs = x->needed[i] && !x->complete[i] && !x->ran[i];
    tra_status s = runs ? run_needed(x, i, e) : TRA_OK;
    if (!runs && x->noverlapping > 0) s = tra_comm_agree(&x->site.comm, end_overlapping(x, i, s, e), e);
    if (s != TRA_OK) s = end_overlapping(x, -1, s, e); /* all: nothing that they would bring will be read */
    for (int side = 0; side < 2; side++) /* what comes from outside of a loop is read in its next turn too */
        if (op->in[side] >= 0 && !tra_op_is_outside(x->plan, op->in[side], i)) tra_exec_release(x, op->in[side]);
    x->complete[i] |= op->op == TRA_PLAN_OUTPUT;
    if (s == TRA_OK && !in_loop) tra_checkpoint_stage_end(x->checkpoint, i, x->parts, x->complete);
    *reads_on = tra_op_overlaps(op) ||
                (*reads_on && !tra_op_is_stage(op)); /* bytes that it reads count for the join that it overlaps */
    *now = tra_now();
    add_report(x, i, &before, &begun, *now, *reads_on);
    if (runs) tra_exec_count_time(x, i, *now - begun.seconds);
    if (x->report->record && *now >= x->recorded) {
        x->recorded = tra_record_op(x->report->record, i, begun.seconds, *now);
        if (tra_record_wants_sample(x->report->record, *now)) tra_exec_sample(x);
    }
    if (!again) x->report->ops[i].peak_memory = tra_exec_see_peak(x->report);
    if (s == TRA_OK && !again && !tra_op_overlaps(op) && !x->ran[i])
        tell_end(op, &x->report->ops[i], tra_pool_stat(x->site.pool).past_cache - before.past_cache);
    return s;
}

/* The loop in the turns of `loop` that begins with operator i; -1: none. */
static int loop_at(const tra_execution *x, int loop, int i) {
    for (int l = 0; l < x->plan->nloops; l++) {
        const tra_plan_loop *p = &x->plan->loops[l];
        if (p->outer == loop && p->first == i && p->last >= i) return l;
    }
    return -1;
}

tra_status tra_exec_range(tra_execution *x, int loop, int from, int to, tra_err *e) {
    bool reads_on = false;
    double now = 0;
    for (int i = from; i <= to; i++) {
        int inner = loop_at(x, loop, i);
        if (inner < 0) {
            TRA_TRY(run_step(x, i, &reads_on, &now, e));
            continue;
        }
        int last = x->plan->loops[inner].last;
        if (x->needed[last]) TRA_TRY(tra_exec_loop(x, inner, e));
        for (int j = i; j <= last; j++) x->report->ops[j].peak_memory = tra_exec_see_peak(x->report);
        i = last;
        now = 0;
    }
    return TRA_OK;
}

/* Bytes that each thread is granted for the dictionaries that programs of the calculus build: together half of what the
 * ceiling leaves when the plan has all that it can use. */
static int64_t granted_dictionaries(const tra_plan *p, const tra_exec_options *o) {
    bool builds = false;
    for (int i = 0; i < p->nops; i++)
        builds = builds || (p->ops[i].spec.join && tra_program_builds(p->ops[i].spec.join));
    return builds ? tra_max64(0, o->memory - p->cost.peak_memory) / 2 / tra_max64(o->threads, 1) : 0;
}

/* Large pages spare faults. They are not for results that take gigabytes and are computed long, since there getting
 * them may take longer than it spares (pool.h), nor for where they would be given up again, since memory is short. How
 * much a plan will hold is told by the least that it needs: what it could use is a bound, of joins many times as
 * much. */
static bool wants_large_pages(const tra_plan *plan, int threads, int64_t budget) {
    int64_t base = tra_memory_base(plan, threads), least = plan->least_memory - base;
    bool little = plan->cost.peak_memory - base >= LITTLE_FROM && least <= LITTLE_TO && least <= budget / 4;
    return little || plan->cost.flops < STREAM * (double)plan->cost.disk_write.expected;
}

/* Frees the statistics of tables, which only planning needs: the memory that was predicted for the run does not include
 * them (tra_memory_base). */
static void drop_statistics(const tra_plan *plan) {
    for (int i = 0; i < plan->nops; i++) {
        const tra_schema *s = plan->ops[i].type.columns;
        for (int c = 0; s && c < s->n && tra_op_is(plan->ops[i].op, TRA_FILE); c++)
            if (s->v[c].file) tra_rel_drop_facts(s->v[c].file);
    }
}

/* A run that goes on opens the files of every rank of the one before, for each operator: as many as the system lets. */
static void raise_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

tra_status tra_exec(const tra_plan *plan, const tra_comm *comm, const tra_exec_options *o, tra_report *report,
                    tra_err *e) {
    double t0 = tra_now();
    int n = plan->nops;
    const char *why = NULL;
    tra_execution x = {.plan = plan, .o = o, .report = report, .place_op = -1};
    assert(comm->size == plan->sites && tra_plan_valid(plan, &why));
    drop_statistics(plan);
    raise_files();
    *report = (tra_report){.record = o->record,
                           .ops = tra_calloc((size_t)n + 1, sizeof *report->ops),
                           .loops = tra_calloc((size_t)plan->nloops + 1, sizeof *report->loops),
                           .heavy = tra_calloc((size_t)plan->nops + 1, sizeof *report->heavy)};
    x.arena = tra_arena_new();
    x.parts = tra_news(x.arena, tra_part *, n);
    x.uses = tra_news(x.arena, int, n);
    x.rels = tra_news(x.arena, tra_rel *, n);
    x.files = tra_news(x.arena, tra_outfile *, n);
    x.needed = tra_news(x.arena, bool, n);
    x.complete = tra_news(x.arena, bool, n);
    x.ran = tra_news(x.arena, bool, n);
    x.longest = tra_news(x.arena, double, n);
    x.all_uses = tra_news(x.arena, int, n);
    x.loops = tra_news(x.arena, tra_loop_run, plan->nloops);
    for (int l = 0; l < plan->nloops; l++) {
        x.loops[l].trace = tra_news(x.arena, tra_traced, plan->loops[l].ntraces);
        int most = plan->loops[l].last - plan->loops[l].first + 1;
        x.loops[l].reader = tra_news(x.arena, int, most < 0 ? 0 : most);
        x.loops[l].told = tra_news(x.arena, int64_t, most < 0 ? 0 : 2 * most);
    }
    x.overlapping = tra_news(x.arena, tra_exchange *, n);
    x.overlapping_op = tra_news(x.arena, int, n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 2; j++) {
            if (plan->ops[i].in[j] >= 0) x.all_uses[plan->ops[i].in[j]]++, x.uses[plan->ops[i].in[j]]++;
        }
    }
    tra_op_notes_init(&x.notes, plan);
    x.site.notes = &x.notes;
    x.site.comm = *comm;
    x.site.plan = plan;
    int64_t granted = granted_dictionaries(plan, o);
    int64_t budget = o->memory - tra_memory_base(plan, o->threads) - granted * o->threads;
    tra_status s = TRA_OK;
    if (budget < TRA_LEAST_BUDGET)
        s = tra_fail(e, TRA_RESOURCE, "a memory ceiling of %s leaves nothing for blocks",
                     tra_human(o->memory, (char[32]){0}));
    x.site.pool = tra_pool_new(tra_max64(budget, TRA_LEAST_BUDGET), o->scratch);
    if (s == TRA_OK && !(x.site.engine = tra_engine_new(x.site.pool, o->threads, e))) s = TRA_RESOURCE;
    if (x.site.engine) tra_engine_kernels(x.site.engine)->granted = granted;
    if (wants_large_pages(plan, o->threads, budget)) tra_pool_large_pages(x.site.pool);
    s = tra_comm_agree(comm, s, e);
    if (x.site.engine) tra_engine_set_notes(x.site.engine, &x.notes);
    x.site.can_stop = o->journal || o->stops;
    tra_progress_begin(&x.progress, plan, comm->rank == 0 ? o->progress : TRA_PROGRESS_NONE);
    if (s == TRA_OK && o->record) tra_engine_set_record(x.site.engine, o->record);
    bool ticks = o->record || o->journal || comm->size > 1 || x.progress.form != TRA_PROGRESS_NONE;
    if (s == TRA_OK && ticks) tra_engine_set_tick(x.site.engine, tick, &x);
    if (comm->rank == 0) tra_exchange_dir_reclaim(o->scratch);
    if (s == TRA_OK && o->transport == TRA_TRANSPORT_FILES && comm->size > 1)
        s = tra_exchange_dir_make(&x.site, o->scratch, e);
    double compiles = tra_now();
    if (s == TRA_OK) s = tra_compiled_begin(plan, comm, o->codegen, tra_engine_kernels(x.site.engine), &x.codegen, e);
    double opens = tra_now();
    (void)tra_record_op(o->record, tra_phase_op(TRA_PHASE_OPEN), t0, compiles);
    (void)tra_record_op(o->record, tra_phase_op(TRA_PHASE_COMPILE), compiles, opens);
    if (s == TRA_OK) s = tra_exec_open_inputs(&x, e);
    if (s == TRA_OK && o->journal) s = tra_journal_open(o->journal, plan, comm, &x.journal, e);
    if (s == TRA_OK) s = tra_exec_open_outputs(&x, e);
    x.checkpoint = tra_checkpoint_new(&x.site, x.journal, tra_checkpoint_seconds(o), o->checkpoint_limit);
    if (s == TRA_OK) s = tra_exec_list_needed(&x, e);
    (void)tra_record_op(o->record, tra_phase_op(TRA_PHASE_OPEN), opens, tra_now());
    if (s == TRA_OK) s = tra_exec_range(&x, -1, 0, n - 1, e);
    if (report->record) tra_exec_sample(&x);
    tra_exec_time_is_left(&x); /* what is left is to put outputs in place */
    report->resumed = tra_journal_has_reported(x.journal);
    double places = tra_now();
    tra_track *mine = tra_record_track(o->record, -1);
    (void)tra_track_do_for(mine, TRA_DO_WRITE, -1, places);
    s = tra_exec_commit(&x, s, e);
    (void)tra_track_do(mine, TRA_DO_COMPUTE);
    if (report->record) tra_exec_sample(&x);
    if (s == TRA_OK) tra_op_notes_gather(&x.notes, plan, comm, report);
    tra_progress_end(&x.progress);
    for (int i = n - 1; i >= 0; i--) tra_part_release(x.parts[i], x.site.pool);
    for (int l = 0; l < plan->nloops; l++)
        for (int k = 0; k < plan->loops[l].ntraces; k++) free(x.loops[l].trace[k].v);
    tra_exec_forget_turns(&x);
    for (int i = 0; i < n; i++) tra_rel_close(x.rels[i]);
    tra_checkpoint_free(x.checkpoint);
    tra_exchange_dir_remove(&x.site);
    report->starved = s == TRA_RESOURCE && x.site.engine && tra_engine_starved(x.site.engine);
    tra_engine_free(x.site.engine);
    if (report->record) tra_exec_share_seconds(&x);
    if (x.place_op >= 0) report->ops[x.place_op].seconds += x.place_seconds; /* not shared: they are the outputs' */
    tra_codegen_close(x.codegen);
    tra_pool_free(x.site.pool);
    tra_op_notes_free(&x.notes);
    tra_arena_free(x.arena);
    tra_op_report *t = &report->total;
    for (int i = 0; i < n; i++) {
        const tra_op_report *r = &report->ops[i];
        t->sent += r->sent;
        t->received += r->received;
        t->disk_read += r->disk_read;
        t->disk_write += r->disk_write;
        t->spilled += r->spilled;
        t->unspilled += r->unspilled;
        t->scratch_seconds += r->scratch_seconds;
        t->scratch = tra_max64(t->scratch, r->scratch);
        t->kernel_seconds += r->kernel_seconds;
    }
    tra_exec_see_peak(report);
    (void)tra_record_op(o->record, tra_phase_op(TRA_PHASE_PLACE), places, tra_now());
    t->seconds = tra_now() - t0;
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        t->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return s;
}
