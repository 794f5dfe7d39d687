/* run.c - tra run: carries out a program or a compiled plan. */
#include "../plans/tra/load.h"
#include "cmd.h"
#include "common.h"
#include "deadline.h"
#include "launch.h"
#include "made.h"
#include "planning.h"
#include "outputs.h"
#include "resume.h"
#include "run.h"
#include "run_files.h"
#include "run_report.h"

#include "../formats/stand_in.h"
#include "../lib/codegen/codegen.h"
#include "../lib/run/exec.h"
#include "../lib/run/exchange.h"
#include "../lib/physical/memory.h"
#include "../lib/physical/needs.h"
#include "../lib/tablefile/table_file.h"
#include "../plans/explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ENGINE_TRA, ENGINE_REFERENCE };

static struct {
    int engine, progress, transport;
    bool dry, no_history, resume, keep_imports, require_convergence;
    const char *scratch, *checkpoint;
    double checkpoint_seconds;
    int64_t scratch_limit;
} opt;

static const tra_run_source *source;
static double begun;    /* before planning, after MPI has started */
static bool ranks_told; /* rank 0 of those that this process launched has written the metrics */

const tra_opt tra_run_rows[] = {
    TRA_PLANNING_ROWS,
    TRA_PLANNING_ROW_PLAN,
    {0, "scratch", TRA_OPT_STR, &opt.scratch, "DIR",
     "where blocks go that do not fit, and what --resume needs (default: TMPDIR, or /var/tmp)", NULL, "TRA_SCRATCH",
     NULL},
    TRA_ROW(0, "resume", TRA_OPT_FLAG, &opt.resume, NULL,
            "go on from what an earlier run of the same program saved, if it ended before it was done"),
    TRA_ROW(0, "checkpoint", TRA_OPT_STR, &opt.checkpoint, "SECONDS",
            "work that a killed run may lose; 0: the states of loops are saved at the end of each turn (default: 5, or "
            "more where saving takes long)"),
    TRA_DEADLINE_ROWS,
    TRA_ROW(0, "require-convergence", TRA_OPT_FLAG, &opt.require_convergence, NULL,
            "status 1 when a loop ends without its condition being met; outputs are written all the same"),
    TRA_ROW(0, "scratch-limit", TRA_OPT_SIZE, &opt.scratch_limit, "SIZE",
            "refuse to begin when a site may need more scratch; of what --resume could use, save no more"),
    {0, "transport", TRA_OPT_ENUM, &opt.transport, NULL,
     "how sites exchange blocks: messages (default), or files in the scratch directory, which all must share",
     "mpi|files", NULL, NULL},
    TRA_ROW(0, "no-history", TRA_OPT_FLAG, &opt.no_history, NULL, "leave the command out of the outputs"),
    TRA_ROW(0, "keep-imports", TRA_OPT_FLAG, &opt.keep_imports, NULL,
            "leave what was made of files that are not HDF5 in the scratch directory, for later runs"),
    TRA_ROW('n', "dry-run", TRA_OPT_FLAG, &opt.dry, NULL, "show the plan and what it needs, and do nothing"),
    {0, "engine", TRA_OPT_ENUM, &opt.engine, NULL,
     "tra, or the reference evaluator: one process, in memory, slow, for comparison", "tra|reference", NULL, NULL},
    TRA_ROW(0, "profile", TRA_OPT_STR, &tra_run_files_opts.profile, "FILE",
            "write what was measured, beside what was predicted, as JSON (see tra explain --analyze)"),
    TRA_ROW(0, "report", TRA_OPT_STR, &tra_run_files_opts.report, "FILE",
            "write what was planned and what was measured as one page of HTML"),
    TRA_ROW(0, "metrics", TRA_OPT_STR, &tra_run_files_opts.metrics, "FILE",
            "write seconds, bytes, memory and status for Prometheus, also of a run that fails"),
    {0, "progress", TRA_OPT_ENUM, &opt.progress, NULL, "say on standard error what is being done (auto: on a terminal)",
     "auto|always|never|json", NULL, NULL},
    {0},
};

/* ---- before the start -------------------------------------------------------------------------------------------- */

/* The text of the program, read by rank 0 for all. *text from malloc. */
static tra_status read_program(const tra_comm *comm, char **text, size_t *n, tra_err *e) {
    tra_status s = TRA_OK;
    *text = NULL;
    *n = 0;
    if (comm->rank == 0) s = source->read(source->path, text, n, e);
    s = tra_comm_agree(comm, s, e);
    if (s != TRA_OK) return s;
    int64_t len = (int64_t)*n;
    tra_comm_bcast(comm, &len, sizeof len);
    if (comm->rank != 0) *text = tra_calloc((size_t)len + 1, 1);
    tra_comm_bcast(comm, *text, len);
    *n = (size_t)len;
    return TRA_OK;
}

/* The request of the command line. here: ranks on this machine, 0: all. */
static tra_status request(int here, int cores, tra_request *r, tra_err *e) {
    TRA_TRY(tra_planning_request(here, cores, r, e));
    TRA_TRY(tra_deadline_begin(e));
    if (opt.checkpoint && (!tra_parse_num(opt.checkpoint, &opt.checkpoint_seconds) || !(opt.checkpoint_seconds >= 0)))
        return tra_fail(e, TRA_USAGE, "--checkpoint %s: a number of seconds is expected", opt.checkpoint);
    if (opt.dry) r->options.first = 0; /* JSON has the alternatives */
    if (tra_run_files_opts.report) r->options.first = 10;
    if (!opt.dry && tra_common_opts.format == TRA_FORMAT_JSON && !tra_run_files_opts.profile)
        tra_run_files_opts.profile = "-";
    tra_run_files_opts.events = opt.progress == TRA_PROGRESS_EVENTS;
    if (opt.dry && tra_run_files_opts.report)
        return tra_fail(e, TRA_USAGE, "--report tells of a run; of a plan tra explain --format html does");
    if (tra_run_files_record() && opt.engine == ENGINE_REFERENCE)
        return tra_fail(e, TRA_USAGE,
                        "--profile, --report and --format json tell of plans: --engine reference has none");
    return TRA_OK;
}

/* How strings are made that must be known before the program is planned. */
static void begin_making(tra_request *r, tra_made_how *m) {
    *m = tra_made_by(r, !opt.dry);
    m->makes.by_row = opt.engine == ENGINE_REFERENCE;
    r->makes = &m->makes;
}

/* All ranks must plan alike: with the least of what their machines offer. */
static void common_request(const tra_comm *comm, tra_request *r) {
    int64_t v[] = {r->options.memory, r->options.threads};
    tra_comm_min(comm, v, 2);
    r->options.memory = v[0];
    r->options.threads = (int)v[1];
    tra_rates_least(comm, &r->options.rates);
}

/* Work that may be lost before results that no output takes are saved: for those who pay for scratch by the byte. */
static double checkpoint_seconds(void) {
    const char *s = getenv("TRA_CHECKPOINT_SECONDS");
    double v;
    if (opt.checkpoint) return opt.checkpoint_seconds;
    if (!s || !*s) return 0;
    if (tra_parse_num(s, &v) && v > 0) return v;
    tra_warn("TRA_CHECKPOINT_SECONDS is '%s', no number above 0: it is ignored", s);
    return 0;
}

/* Bytes of scratch that a site may need: what it spills, and its share of the largest exchange by files. */
static int64_t scratch_of(const tra_plan *p) {
    return p->scratch + (opt.transport == TRA_TRANSPORT_FILES ? tra_exchange_scratch(p) : 0);
}

static tra_status check_room(const tra_job *job, int here, tra_err *e) {
    char most[32], have[32], likely[32];
    struct statvfs fs;
    const tra_plan *p = job->plan;
    const char *dir = tra_scratch_dir(opt.scratch);
    int64_t need = scratch_of(p), expected = p->scratch_expected + need - p->scratch;
    if (opt.engine != ENGINE_REFERENCE) TRA_TRY(tra_memory_check(p, here, e));
    if (!opt.dry) tra_make_directory(dir);
    if (need == 0) return TRA_OK;
    if (opt.scratch_limit > 0 && need > opt.scratch_limit)
        return tra_fail(e, TRA_RESOURCE, "a site may need %s of scratch, over --scratch-limit %s; %s needs less",
                        tra_human(need, most), tra_human(opt.scratch_limit, have),
                        p->compress  ? "--codec none"
                        : p->scratch ? "a higher --memory"
                                     : "--transport mpi");
    if (statvfs(dir, &fs) != 0)
        return tra_fail_errno(e, TRA_RESOURCE, "make the scratch directory %s, or choose another (--scratch)", dir);
    int64_t room = (int64_t)(fs.f_bavail * fs.f_frsize);
    if (need > room / here) {
        tra_journal_request saved = tra_resume_request(job, dir, opt.resume);
        room += tra_journal_bytes(&saved, p);
    }
    if (expected > room / here)
        return tra_fail(e, TRA_RESOURCE,
                        "the sites of this machine (%d) may each need %s of scratch, but %s has %s left; choose "
                        "another with --scratch, or raise --memory",
                        here, tra_human(need, most), dir, tra_human(room, have));
    if (need > room / here)
        tra_warn("a site is expected to need %s of scratch, and at most %s, but %s has %s left for each; should it not "
                 "do, the run ends with status 4 and leaves nothing behind",
                 tra_human(expected, likely), tra_human(need, most), dir, tra_human(room / here, have));
    return TRA_OK;
}

static tra_status check_runnable(const tra_job *job, tra_err *e) {
    TRA_TRY(tra_outputs_check(job->program.graph, e));
    for (int i = 0; i < job->plan->nops; i++) {
        const tra_op *op = &job->plan->ops[i];
        if (tra_op_is(op->op, TRA_READS) && !op->spec.path)
            return tra_fail(e, TRA_INPUT, "input %s is only declared: give it a file with -D %s=FILE%s", op->spec.name,
                            op->spec.name, job->compiled ? " when the plan is compiled" : "");
    }
    int64_t memory = job->options.memory, least = 0;
    char text[TRA_CEILINGTEXT], have[32];
    if (memory && opt.engine == ENGINE_TRA && !tra_plan_memory_estimated(job->plan))
        least = tra_outputs_least(job->program.graph, tra_memory_base(job->plan, job->options.threads));
    if (least > memory)
        return tra_fail(e, TRA_RESOURCE,
                        "--memory %s is too little: writing the outputs in their formats takes at least %s",
                        tra_human(memory, have), tra_ceiling_text(least, "", text));
    tra_journal_request saved = tra_resume_request(job, tra_scratch_dir(opt.scratch), false); /* all of it */
    return tra_deadline_check(job, opt.resume ? tra_journal_bytes(&saved, job->plan) : 0, e);
}

static void announce(const tra_job *job) {
    if (source->quiet) return;
    if (opt.engine != ENGINE_REFERENCE)
        tra_run_announce(job, scratch_of(job->plan), opt.scratch_limit > 0);
    else if (!tra_common_opts.quiet)
        tra_info(0, "the reference evaluator: one process, all of it in memory, no plan");
}

/* ---- running -------------------------------------------------------------------------------------------------- */

/* The terminal of ranks that `tra run --sites` launched is that of the launcher. */
static tra_progress_form wants_progress(void) {
    return tra_progress_wanted(opt.progress, tra_common_opts.quiet,
                               isatty(STDERR_FILENO) || getenv("TRA_TERMINAL") != NULL);
}

/* Runs the plan, and says and writes what was measured. */
static tra_status run_plan(const tra_job *job, const tra_comm *comm, const tra_exec_options *o, tra_err *e) {
    tra_report r = {0};
    const tra_graph *g = job->program.graph;
    for (int i = 0; g && i < g->n; i++) /* also of tables that the plan does not read */
        if (g->v[i]->input.rel && g->v[i]->type.columns) tra_rel_drop_facts(g->v[i]->input.rel);
    tra_return_free_memory();
    tra_status s = tra_exec(job->plan, comm, o, &r, e);
    if (r.starved && comm->size == 1 && o->threads > 1 && tra_plan_memory_estimated(job->plan)) {
        /* results are larger than was estimated: one worker has the memory of all */
        tra_info(0, "%s; one thread goes on, since what was estimated has more entries", e->msg);
        tra_exec_options alone = *o;
        alone.threads = 1;
        r.record = NULL; /* it goes on */
        tra_report_free(&r);
        *e = (tra_err){0};
        s = tra_exec(job->plan, comm, &alone, &r, e);
    }
    s = tra_run_say_least(job, comm->size, o->threads, s, e);
    if (s == TRA_OK) s = tra_outputs_export(g, comm, o, tra_memory_base(job->plan, o->threads), job->plan, &r, e);
    if (s == TRA_OK || tra_run_files_wanted()) {
        tra_profile m;
        tra_profile_gather(comm, &r, job->plan, &m);
        m.seconds = tra_now() - begun;
        m.process_seconds = tra_now() - tra_process_begin();
        m.status = tra_status_exit(s);
        tra_run_files_measured(&m);
        if (s == TRA_OK && comm->rank == 0) tra_run_warn_of_zeros(job->plan, &r);
        if (s == TRA_OK && comm->rank == 0 && !source->quiet) tra_run_report(job, &m);
        if (comm->rank == 0) s = tra_run_files_write(job, &m, s, e);
        tra_profile_free(&m);
        s = tra_comm_agree(comm, s, e);
    }
    tra_report_free(&r);
    if (s == TRA_OK && r.unconverged && opt.require_convergence)
        return tra_fail(e, TRA_NO, "a loop ended without its condition being met; the outputs are written");
    return s;
}

static tra_status execute(const tra_job *job, const tra_comm *comm, uint64_t step, tra_err *e) {
    TRA_TRY(tra_comm_agree(comm, comm->rank == 0 ? tra_run_files_check(e) : TRA_OK, e));
    tra_exec_options o = {.step = step,
                          .codec = tra_job_codec(job),
                          .memory = job->options.memory,
                          .threads = job->options.threads,
                          .scratch = tra_scratch_dir(opt.scratch),
                          .transport = (tra_transport_kind)opt.transport,
                          .progress = wants_progress(),
                          .deadline = tra_deadline_stop(),
                          .record = tra_run_files_begin(job, comm, begun),
                          .codegen = (tra_codegen_mode)tra_planning_opts.codegen};
    tra_run_files_planned(job);
    char *text = opt.no_history ? NULL : tra_run_history(job->program.graph);
    tra_journal_request saved = tra_resume_request(job, o.scratch, opt.resume);
    o.history = text, o.journal = &saved, o.settled = &tra_outputs_settled;
    o.checkpoint_seconds = checkpoint_seconds();
    o.checkpoint_turns = opt.checkpoint && opt.checkpoint_seconds == 0;
    if (opt.scratch_limit > 0)
        o.checkpoint_limit = tra_max64(1, opt.scratch_limit - (job->plan ? scratch_of(job->plan) : 0));
    tra_status s = opt.engine == ENGINE_TRA ? run_plan(job, comm, &o, e)
                   : comm->rank == 0
                       ? tra_run_with_reference(job->program.graph, job->program.arena,
                                                &(tra_write_options){.codec = o.codec, .history = text}, step, e)
                       : TRA_OK; /* one process, as it says */
    if (opt.engine == ENGINE_REFERENCE) s = tra_comm_agree(comm, s, e);
    if (opt.engine == ENGINE_REFERENCE && s == TRA_OK)
        s = tra_outputs_export(job->program.graph, comm, &o, 0, NULL, NULL, e);
    free(text);
    tra_status shown = TRA_OK;
    if (comm->rank == 0 && (s == TRA_OK || s == TRA_NO) && source->after) shown = source->after(job, e);
    shown = tra_comm_agree(comm, shown, e);
    return shown == TRA_OK ? s : shown;
}

static tra_status dry_run(const tra_job *job, tra_err *e) {
    tra_str out = {0};
    tra_explain_options o = {0};
    if (tra_common_opts.format == TRA_FORMAT_JSON)
        tra_explain_json(job, &o, &out);
    else
        tra_explain_text(job, &o, &out);
    return tra_print_str(&out, e);
}

/* Ranks that have other plans would wait for one another for ever. */
static tra_status agree_on_plan(const tra_job *job, const tra_comm *comm, tra_err *e) {
    if (tra_comm_same(comm, job->plan ? tra_plan_digest(job->plan) : 0)) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "the ranks do not have the same plan: do all nodes see the same files and tra?");
}

/* The outputs are what an earlier run of this text made of it, which was ended before it could say so. */
static tra_status is_done(const tra_comm *comm, const char *path, const char *text, size_t n, bool *done, tra_err *e) {
    tra_status s = TRA_OK;
    *done = false;
    if (opt.resume && comm->rank == 0) s = tra_resume_done(path, text, n, done, e);
    s = tra_comm_agree(comm, s, e);
    tra_comm_bcast(comm, done, sizeof *done);
    if (*done) tra_info(0, "--resume: the run that was ended had put all outputs in place: nothing is left to do");
    if (*done && comm->rank == 0) tra_exchange_dir_reclaim(tra_scratch_dir(opt.scratch));
    return s;
}

/* The commit record is the last to go: until then --resume knows that the outputs are there. */
static void forget(const char *path, const char *text, size_t n) {
    tra_arena *a = tra_arena_new();
    const char *output = text ? tra_resume_output(path, text, n, a) : NULL;
    if (output) tra_commit_end(output);
    tra_arena_free(a);
}

/* Rank 0 opens inputs first, and makes them readable: others find what stands in for them. */
static tra_status load_on_rank(const tra_comm *comm, const char *path, const char *text, size_t n, const tra_request *r,
                               tra_job *job, tra_err *e) {
    char word[64] = "";
    tra_status s = TRA_OK;
    if (comm->rank == 0) {
        s = tra_job_load_text(path, text, n, r, job, e);
        snprintf(word, sizeof word, "%s", tra_pipe_word());
    }
    s = tra_comm_agree(comm, s, e);
    tra_comm_bcast(comm, word, sizeof word);
    if (s != TRA_OK || comm->rank == 0) return s;
    tra_pipe_word_take(word);
    return tra_job_load_text(path, text, n, r, job, e);
}

/* Under mpirun: every rank is a site. *program, from malloc, is the text at path. */
static tra_status run_rank(const tra_comm *comm, const char *path, char **program, size_t *size, tra_err *e) {
    tra_request r;
    tra_made_how making;
    tra_job job = {0};
    bool done, again;
    int here = tra_comm_node_size(comm), level = tra_log_level;
    if (tra_planning_opts.sites_given && tra_planning_opts.sites != comm->size)
        return tra_fail(e, TRA_USAGE,
                        "--sites %" PRId64 " under an mpirun of %d ranks: every rank is a site; leave --sites out",
                        tra_planning_opts.sites, comm->size);
    tra_planning_opts.sites = comm->size;
    TRA_TRY(tra_comm_agree(comm, request(here, tra_comm_cores(comm), &r, e), e));
    common_request(comm, &r);
    TRA_TRY(read_program(comm, program, size, e));
    TRA_TRY(is_done(comm, path, *program, *size, &done, e));
    if (done) return TRA_OK;
    if (getenv("TRA_LAUNCHED")) tra_log_level = -1; /* warnings were given */
    begin_making(&r, &making);
    tra_status s;
    do {
        s = load_on_rank(comm, path, *program, *size, &r, &job, e);
        tra_log_level = level;
        if (s == TRA_OK && job.options.sites != comm->size)
            s = tra_fail(e, TRA_USAGE,
                         "the plan %s is for %d site%s, but mpirun started %d ranks: start as many, or compile again",
                         path, job.options.sites, job.options.sites == 1 ? "" : "s", comm->size);
        if (s == TRA_OK) s = check_runnable(&job, e);
        if (s == TRA_OK) s = check_room(&job, here, e);
        s = tra_comm_agree(comm, s, e);
        if (s == TRA_OK) s = agree_on_plan(&job, comm, e);
        bool runs = s == TRA_OK && !opt.dry;
        if (s == TRA_OK && opt.dry && comm->rank == 0) s = dry_run(&job, e);
        if (runs && comm->rank == 0) announce(&job);
        if (runs) s = execute(&job, comm, tra_resume_step(path, *program, *size), e);
        again = runs && tra_run_plans_again(&job, &r, s, e);
        if (again) tra_comm_calm(comm), tra_log_level = -1; /* warnings were given */
        tra_job_free(&job);
    } while (again);
    return s;
}

/* The ranks must plan as this process did, whatever their machine has left in a moment. */
static void fix_resources(const tra_job *job) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, job->options.memory);
    setenv("TRA_MEMORY", text, 1);
    snprintf(text, sizeof text, "%d", job->options.threads);
    setenv("TRA_THREADS", text, 1);
}

/* Without mpirun: in this process if there is one site, else under an mpirun that it starts. */
static tra_status run_or_launch(const char *path, tra_err *e) {
    tra_comm self = tra_comm_self();
    tra_request r;
    tra_made_how making;
    tra_job job = {0};
    char *text;
    size_t n;
    int status = 0, level = tra_log_level;
    bool done = false, again = true;
    TRA_TRY(request(0, 0, &r, e));
    TRA_TRY(source->read(path, &text, &n, e));
    tra_status s = opt.dry ? TRA_OK : is_done(&self, path, text, n, &done, e);
    begin_making(&r, &making);
    while (s == TRA_OK && !done && again) {
        again = false;
        s = tra_job_load_text(path, text, n, &r, &job, e);
        tra_log_level = level;
        if (s == TRA_OK) s = check_runnable(&job, e);
        if (opt.dry) break;
        if (s == TRA_OK) s = check_room(&job, job.options.sites, e);
        bool here = job.options.sites == 1 || opt.engine == ENGINE_REFERENCE;
        if (s == TRA_OK && here) {
            announce(&job);
            s = execute(&job, &self, tra_resume_step(path, text, n), e);
            again = tra_run_plans_again(&job, &r, s, e);
            if (again) tra_job_free(&job), tra_log_level = -1, s = TRA_OK;
        } else if (s == TRA_OK) {
            fix_resources(&job);
            tra_run_files_planned(&job);
            s = tra_launch(job.options.sites, strcmp(path, "-") == 0 ? text : NULL, n, &status, e);
            ranks_told = s == TRA_OK && status != tra_status_exit(TRA_INTERNAL); /* not where one was lost */
            if (s == TRA_OK && status) s = tra_status_of_exit(status);           /* the ranks have said why */
        }
    }
    if (s == TRA_OK && opt.dry) s = dry_run(&job, e);
    tra_job_free(&job);
    if ((s == TRA_OK || s == TRA_NO) && !opt.dry) forget(path, text, n);
    free(text);
    return s;
}

static void exit_all(int status) {
    tra_comm_abort(status);
    _exit(status);
}

tra_status tra_run_program(const tra_run_source *program, tra_err *e) {
    tra_comm comm;
    int size;
    const char *path = program->path;
    source = program;
    opt.dry |= program->dry;
    tra_stand_ins.keep = opt.keep_imports;
    begun = tra_now();
    tra_stop_catch();
    tra_end_with_launcher();
    if (!tra_comm_launched(&size) && size <= 1) {
        tra_status s = run_or_launch(path, e);
        return opt.dry || ranks_told ? s : tra_run_files_end(path, s, e);
    }
    TRA_TRY(tra_comm_init(&comm, e));
    begun = tra_now();
    tra_exit_now = exit_all;
    tra_log_mute = comm.rank != 0;
    char *text = NULL;
    size_t n = 0;
    tra_status s = run_rank(&comm, path, &text, &n, e);
    if (comm.rank == 0 && !opt.dry) s = tra_run_files_end(path, s, e);
    /* Rank 0 says it, before any rank may end: mpirun kills the others when the first ends with a status. */
    if (s != TRA_OK && comm.rank == 0) tra_say_error(e);
    *e->msg = 0;
    tra_status ends = tra_ranks_over(&comm, s);
    tra_comm_finish();
    if ((s == TRA_OK || s == TRA_NO) && comm.rank == 0 && !opt.dry && !getenv("TRA_LAUNCHED"))
        forget(path, text, n); /* else the launcher */
    free(text);
    return ends;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    return tra_run_program(&(tra_run_source){.path = argv[0], .read = tra_program_read}, e);
}

const tra_cmd tra_cmd_run = {
    .name = "run",
    .group = "Programs",
    .brief = "carry out a program or a compiled plan",
    .usage = "[options] PROGRAM|PLAN",
    .about =
        "Plans the program (- is standard input), or makes again the plan that `tra compile` chose, and computes its "
        "outputs. Memory stays under --memory per site, whatever the size of the data; what does not fit is read "
        "again or spilled to the scratch directory. A run that cannot fit is refused before anything is read, with "
        "the least ceiling that would do. Outputs appear when they are complete; a run that fails leaves earlier "
        "files as they were.\n\n"
        "--sites N starts N ranks on this machine. On a cluster start the ranks yourself: `mpirun -n N tra run "
        "PROGRAM`; every rank is then a site, and all need to see the same files.",
    .opts = tra_run_rows,
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_MPI | TRA_NEED_BLAS | TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_DEFINE,
    .run = run,
};
