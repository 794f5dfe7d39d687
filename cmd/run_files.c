/* run_files.c - the profile, the report and the metrics of a run. */
#include "run_files.h"

#include "../lib/durable/durable.h"
#include "../formats/stand_in.h"
#include "../plans/explain/explain.h"
#include "cmd.h"
#include "common.h"
#include "launch.h"
#include "planning.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

tra_run_files tra_run_files_opts;
#define opt tra_run_files_opts

static const char METRICS[] = "# HELP tra_run_", LAST_SUCCESS[] = "tra_run_last_success_timestamp_seconds";
enum { MOST_METRICS = 1 << 20 }; /* bytes of an older file */
static const double TRIES = 0.5; /* seconds of planning again, for what would change the run */

/* What is known of the run. */
static struct {
    bool planned, measured;
    int sites;
    int64_t ceiling;
    tra_cost predicted;
    tra_op_report all;
    double seconds;
} known;

bool tra_run_files_record(void) { return opt.profile || opt.report; }

bool tra_run_files_wanted(void) { return tra_run_files_record() || opt.metrics; }

/* ---- before the run ------------------------------------------------------------------------------------------ */

/* Does the file begin as one that `option` has written? An empty one may be replaced. */
static tra_status is_ours(const char *path, const char *option, const char *what, const char *mark, tra_err *e) {
    char text[512] = "";
    struct stat st;
    FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ? fopen(path, "r") : NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return tra_fail(e, TRA_USAGE, "%s %s: this is no file", option, path);
    if (stat(path, &st) != 0 || st.st_size == 0) return TRA_OK;
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    if (strstr(text, mark)) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "%s %s: this file is no %s that tra has written, so it is not replaced", option, path,
                    what);
}

static tra_status is_writable(const char *path, const char *option, tra_err *e) {
    const char *name;
    char *target = tra_resolve_links(path), *folder = tra_folder_of(target, &name);
    bool ok = *name && access(*folder ? folder : ".", W_OK | X_OK) == 0;
    tra_status s = ok ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "%s %s", option, path);
    free(folder);
    free(target);
    return s;
}

tra_status tra_run_files_check(tra_err *e) {
    if (opt.report) TRA_TRY(is_ours(opt.report, "--report", "report", TRA_REPORT_MARK, e));
    if (opt.report) TRA_TRY(is_writable(opt.report, "--report", e));
    if (opt.metrics) TRA_TRY(is_ours(opt.metrics, "--metrics", "file of metrics", METRICS, e));
    if (opt.metrics) TRA_TRY(is_writable(opt.metrics, "--metrics", e));
    if (!opt.profile || strcmp(opt.profile, "-") == 0) return TRA_OK;
    if (access(opt.profile, F_OK) != 0) return is_writable(opt.profile, "--profile", e);
    if (access(opt.profile, W_OK) == 0) return TRA_OK; /* the one before stays until this run has ended */
    return tra_fail_errno(e, TRA_RESOURCE, "--profile %s", opt.profile);
}

/* ---- what is recorded ---------------------------------------------------------------------------------------- */

static double attempted; /* when it was found that the run is to be planned again; 0: it was not */

void tra_run_files_attempted(void) { attempted = tra_now(); }

tra_record *tra_run_files_begin(const tra_job *job, const tra_comm *comm, double begun) {
    if (!tra_run_files_record()) return NULL;
    int64_t ns = (int64_t)((begun - tra_process_begin()) * 1e9);
    tra_comm_max(comm, &ns, 1); /* all records begin at the same time, as MPI starts all ranks */
    double first = begun - (double)ns * 1e-9, now = tra_now();
    /* who launches ranks has converted what they read */
    double converts = getenv("TRA_LAUNCHED") ? first : begun, until = fmin(converts + tra_stand_ins_seconds(), now);
    tra_record *r = tra_record_new(job->options.threads, job->plan->nops, first);
    (void)tra_record_op(r, tra_phase_op(TRA_PHASE_CONVERT), converts, until);
    (void)tra_record_op(r, tra_phase_op(TRA_PHASE_START), fmin(fmax(first, until), begun), begun);
    double plans = fmax(fmax(begun, until), attempted);
    if (attempted > 0) (void)tra_record_op(r, tra_phase_op(TRA_PHASE_ATTEMPT), fmax(begun, until), plans);
    (void)tra_record_op(r, tra_phase_op(TRA_PHASE_PLAN), plans, now);
    return r;
}

/* ---- profile and report -------------------------------------------------------------------------------------- */

static const char *in_place(const tra_profile *m) { return m->status == 0 ? "the outputs are in place, but " : ""; }

static tra_status write_profile(const tra_job *job, const tra_profile *m, tra_err *e) {
    tra_str text = {0};
    tra_status s = TRA_OK;
    bool out = strcmp(opt.profile, "-") == 0;
    FILE *f = out ? stdout : fopen(opt.profile, "w");
    tra_explain_profile(job, m, &text);
    errno = 0;
    if (!f || fputs(tra_str_get(&text), f) < 0 || fflush(f) != 0)
        s = tra_fail_errno(e, TRA_RESOURCE, "%s--profile %s", in_place(m), opt.profile);
    if (f && !out) fclose(f);
    tra_str_free(&text);
    return s;
}

static tra_status write_report(const tra_job *job, const tra_profile *m, tra_err *e) {
    tra_str text = {0};
    tra_err why = {0};
    tra_explain_options o = {.measured = m};
    tra_arena *a = tra_arena_new();
    tra_status s = is_ours(opt.report, "--report", "report", TRA_REPORT_MARK, e); /* the run may have taken hours */
    if (s == TRA_OK) {
        if (m->status == 0) /* who ended it early does not wait for other plans */
            o.nchanges = tra_explain_changes(job, m, tra_planning_rates_here, tra_common_opts.define.n,
                                             tra_common_opts.define.v, TRIES, a, &o.changes);
        tra_explain_html(job, &o, &text);
    }
    tra_arena_free(a);
    if (s != TRA_OK) return s;
    s = tra_replace_file(opt.report, tra_str_get(&text), text.n, false, &why);
    tra_str_free(&text);
    if (s == TRA_OK) return s;
    return tra_fail(e, TRA_RESOURCE, "%s--report %s was not written: %s", in_place(m), opt.report, why.msg);
}

void tra_run_files_planned(const tra_job *job) {
    if (!job->plan) return;
    known.planned = true;
    known.sites = job->options.sites;
    known.ceiling = job->options.memory;
    known.predicted = job->plan->cost;
}

void tra_run_files_measured(const tra_profile *m) {
    known.measured = true;
    known.all = tra_profile_sum(m, m->nops);
    known.seconds = m->seconds;
}

tra_status tra_run_files_write(const tra_job *job, const tra_profile *m, tra_status ended, tra_err *e) {
    tra_err why = {0};
    tra_status s = opt.profile ? write_profile(job, m, &why) : TRA_OK;
    if (opt.report && s == TRA_OK) s = write_report(job, m, &why);
    if (ended == TRA_OK)
        *e = why;
    else if (s != TRA_OK)
        tra_warn_always("%s", why.msg);
    return ended == TRA_OK ? s : ended;
}

/* ---- metrics ------------------------------------------------------------------------------------------------- */

/* The label of all metrics: {program="sales.tra"}. */
static void add_label(const char *program, tra_str *out) {
    tra_str_add(out, "{program=\"");
    for (const char *p = program; *p;) {
        int n = tra_utf8((const unsigned char *)p); /* of bytes that are no text the collector would take nothing */
        if (*p == '\n')
            tra_str_add(out, "\\n");
        else if (n == 0)
            tra_str_add(out, "\xef\xbf\xbd");
        else
            tra_str_printf(out, "%s%.*s", *p == '"' || *p == '\\' ? "\\" : "", n, p);
        p += n ? n : 1;
    }
    tra_str_add(out, "\"}");
}

static void add_metric(const char *name, const char *help, const char *program, double value, tra_str *out) {
    char text[32];
    tra_str_printf(out, "# HELP tra_run_%s %s\n# TYPE tra_run_%s gauge\ntra_run_%s", name, help, name, name);
    add_label(program, out);
    tra_str_printf(out, " %s\n", tra_exactly(value, text));
}

/* When the program succeeded last, by the file that is replaced; 0: never. */
static double last_success(void) {
    char *text;
    size_t n;
    tra_err ignored = {0};
    double when = 0;
    if (access(opt.metrics, R_OK) != 0 || tra_slurp(opt.metrics, MOST_METRICS, &text, &n, &ignored) != TRA_OK) return 0;
    for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, LAST_SUCCESS, strlen(LAST_SUCCESS))) continue;
        size_t length = strcspn(line, "\n");
        char *value = line + length;
        while (value > line && value[-1] != ' ') value--;
        when = strtod(value, NULL);
    }
    free(text);
    return when > 0 ? when : 0;
}

static void add_metrics(const char *program, tra_status s, tra_str *out) {
    const tra_op_report *r = &known.all;
    const tra_cost *c = &known.predicted;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, last = s == TRA_OK ? end : last_success();
    double process = tra_now() - tra_process_begin();
    add_metric("exit_status", "Exit status of the last run.", program, (double)tra_status_exit(s), out);
    add_metric("end_timestamp_seconds", "When the last run ended.", program, end, out);
    add_metric("last_success_timestamp_seconds", "When a run succeeded last; 0: never.", program, last, out);
    add_metric("process_seconds", "Seconds of the last run with its start-up.", program, process, out);
    if (known.planned) {
        add_metric("sites", "Sites of the last run.", program, known.sites, out);
        add_metric("memory_ceiling_bytes", "Memory ceiling of a site.", program, (double)known.ceiling, out);
        add_metric("predicted_seconds", "Seconds that were predicted.", program, c->seconds, out);
        add_metric("predicted_peak_memory_bytes", "Peak memory of a site that was predicted.", program,
                   (double)c->peak_memory, out);
        add_metric("predicted_disk_read_bytes", "Bytes read that were predicted.", program,
                   (double)c->disk_read.expected, out);
        add_metric("predicted_disk_write_bytes", "Bytes written that were predicted.", program,
                   (double)c->disk_write.expected, out);
        add_metric("predicted_network_bytes", "Bytes between sites that were predicted.", program,
                   (double)c->network_bytes.expected, out);
    }
    if (!known.measured) return;
    add_metric("seconds", "Seconds of the last run.", program, known.seconds, out);
    add_metric("peak_memory_bytes", "Peak memory of a site.", program, (double)r->peak_memory, out);
    add_metric("disk_read_bytes", "Bytes of inputs that were read.", program, (double)r->disk_read, out);
    add_metric("disk_write_bytes", "Bytes of outputs that were written.", program, (double)r->disk_write, out);
    add_metric("spilled_bytes", "Bytes that were spilled to scratch.", program, (double)r->spilled, out);
    add_metric("network_bytes", "Bytes that sites sent.", program, (double)r->sent, out);
}

static tra_status write_metrics(const char *program, tra_status s, tra_err *e) {
    tra_str text = {0};
    tra_err why = {0};
    if (is_ours(opt.metrics, "--metrics", "file of metrics", METRICS, &why) == TRA_OK) {
        add_metrics(program, s, &text);
        if (tra_replace_file(opt.metrics, tra_str_get(&text), text.n, false, &why) == TRA_OK) {
            tra_str_free(&text);
            return s;
        }
    }
    tra_str_free(&text);
    if (s == TRA_OK)
        return tra_fail(e, TRA_RESOURCE, "the outputs are in place, but --metrics %s was not written: %s", opt.metrics,
                        why.msg);
    tra_warn("--metrics %s was not written: %s", opt.metrics, why.msg);
    return s;
}

tra_status tra_run_files_end(const char *program, tra_status s, tra_err *e) {
    if (opt.metrics) s = write_metrics(program, s, e);
    if (!opt.events) return s;
    tra_json j = {0};
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "event", "end");
    tra_json_int(&j, "status", tra_status_exit(s));
    tra_json_num(&j, "seconds", tra_now() - tra_process_begin());
    if (*e->msg) tra_json_str(&j, "message", e->msg);
    tra_json_end(&j, '}');
    fprintf(stderr, "%s\n", tra_str_get(&j.out));
    tra_json_free(&j);
    return s;
}

char *tra_run_history(const tra_graph *g) {
    tra_str s = {0};
    int argc;
    char **argv = tra_own_arguments(&argc);
    tra_str_printf(&s, "tra %s: run", TRA_VERSION);
    for (int i = 2; i < argc; i++) tra_str_printf(&s, " %s", argv[i]); /* after program and command */
    free(argv);
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        if (n->op != TRA_OP_INPUT || !n->input.rel || !tra_rel_info(n->input.rel)->digest) continue;
        tra_str_printf(&s, "; %s %s", n->name, tra_rel_info(n->input.rel)->digest);
    }
    return s.s;
}
