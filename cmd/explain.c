/* explain.c - the plan of a program, with sizes and costs. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/h5/stand_in.h"
#include "../plans/explain/explain.h"
#include "../plans/ia/ia.h"
#include "made.h"
#include "planning.h"
#include "request.h"

static tra_explain_options opts;
static const char *alternatives, *analyze, *optimizers, *storages;
static bool search; /* says what the search considers */

/* The plan that was measured, among those of the job. */
static tra_status find_measured(tra_job *job, const tra_profiled_plan *of, const tra_profile *m, tra_err *e) {
    for (int i = 0; i < job->plans.n; i++) {
        if (tra_plan_digest(job->plans.v[i]) != of->digest || job->plans.v[i]->nops != m->nops) continue;
        job->plan = job->plans.v[i];
        return TRA_OK;
    }
    return tra_fail(
        e, TRA_INPUT,
        "%s was measured of a plan that is none of these: has the program changed, or is an option other than "
        "in that run?",
        analyze);
}

/* What the command line leaves open is as in the run that was measured; the optimizer only if that run is analyzed. */
static void as_measured(const tra_profiled_plan *of, tra_request *r) {
    if (!r->memory_given) r->options.memory = of->memory, r->memory_given = true;
    if (!r->threads_given) {
        tra_planning_opts.threads_given = r->options.threads_given = of->threads_given;
        r->options.threads = of->threads;
        r->options.rates = tra_planning_rates_here(r->options.sites, r->options.threads);
    }
    if (!r->cost_given) r->options.cost = of->cost;
    if (!r->optimizer_given && analyze) r->options.optimizer = of->optimizer;
    r->options.reproducible |= of->reproducible;
}

/* A run also converts inputs and makes strings before it plans. The ceiling that is told holds these too. */
static void count_before(tra_job *job) {
    for (int i = 0; i < job->plans.n; i++) {
        tra_plan *p = job->plans.v[i];
        if (!p) continue; /* only the first ones were made */
        int64_t before = tra_planning_before(p->sites);
        p->least_memory = tra_max64(p->least_memory, before);
        if (before > 0) p->cost.peak_memory = tra_max64(p->cost.peak_memory, p->least_memory);
    }
}

/* out: gets what the search considers, if it is asked for. */
static tra_status load(const char *path, tra_made_how *making, tra_job *job, tra_profile *m, tra_str *out, tra_err *e) {
    tra_request r;
    tra_profiled_plan of;
    const tra_profiled_plan *as = opts.nmeasurements ? &opts.measurements[0].of : NULL;
    if (analyze) {
        TRA_TRY(tra_profile_read(analyze, &of, m, e));
        as = &of;
    }
    if (as && !tra_planning_opts.sites_given) tra_planning_opts.sites = as->sites;
    TRA_TRY(tra_planning_request(0, 0, &r, e));
    r.options.over = true;
    if (alternatives || analyze || tra_common_opts.format == TRA_FORMAT_JSON ||
        tra_common_opts.format == TRA_FORMAT_HTML)
        r.options.first = 0; /* all */
    if (as) as_measured(as, &r);
    *making = tra_made_by(&r, as != NULL);
    r.makes = &making->makes;
    if (search) r.options.trace = out;
    TRA_TRY(tra_job_load(path, &r, job, e));
    job->options.trace = NULL; /* what is planned besides is not traced */
    if (!analyze && !job->compiled) count_before(job);
    tra_status s = analyze ? find_measured(job, &of, m, e) : TRA_OK;
    if (s != TRA_OK) tra_job_free(job);
    return s;
}

/* The profiles named after --optimizers=, separated by commas. */
static tra_status read_measurements(tra_measurement **v, tra_err *e) {
    char *names = tra_strdup(optimizers);
    tra_status s = TRA_OK;
    for (char *rest = names, *name; s == TRA_OK && (name = strsep(&rest, ","));) {
        if (!*name) continue;
        *v = tra_realloc(*v, (size_t)opts.nmeasurements + 1, sizeof **v);
        tra_measurement *m = &(*v)[opts.nmeasurements];
        s = tra_profile_read(name, &m->of, &m->profile, e);
        if (s == TRA_OK && m->profile.status != 0)
            s = tra_fail(e, TRA_INPUT, "%s: its run ended with status %d, so it says nothing of a whole run", name,
                         m->profile.status);
        if (s == TRA_OK)
            m->file = tra_strdup(name), opts.nmeasurements++;
        else
            tra_profile_free(&m->profile);
    }
    opts.measurements = *v;
    free(names);
    return s;
}

static void free_measurements(tra_measurement *v) {
    for (int i = 0; i < opts.nmeasurements; i++) {
        tra_profile_free(&v[i].profile);
        free(v[i].file);
    }
    free(v);
}

/* ---- kernels -------------------------------------------------------------------------------------------------- */

enum { MOST_CHOSEN = 8, MOST_COMBINED = 256 };

/* --storages A=csr,csc,B=csr,dense: the storages of each relation, in the order of the text. */
typedef struct chosen {
    int n;
    const char *relation[MOST_CHOSEN];
    int nstorages[MOST_CHOSEN];
    const char *storage[MOST_CHOSEN][MOST_COMBINED];
} chosen;

/* The next choice of a list, and *rest after it. Commas inside of parentheses do not separate choices. */
static char *next_choice(char **rest) {
    char *from = *rest, *p = from;
    int open = 0;
    if (!from) return NULL;
    for (; *p && (*p != ',' || open); p++) open += (*p == '(') - (*p == ')');
    *rest = *p ? p + 1 : NULL;
    *p = 0;
    return from;
}

static tra_status read_choices(tra_arena *a, chosen *c, tra_err *e) {
    char *rest = tra_arena_strndup(a, storages, strlen(storages));
    for (char *word; (word = next_choice(&rest));) {
        char *equal = strchr(word, '=');
        if (equal) {
            if (c->n == MOST_CHOSEN) return tra_fail(e, TRA_USAGE, "--storages: at most %d relations", MOST_CHOSEN);
            *equal = 0;
            c->relation[c->n++] = word;
            word = equal + 1;
        }
        if (c->n == 0 || !*word) return tra_fail(e, TRA_USAGE, "--storages %s: write A=csr,csc,B=csr,dense", storages);
        if (c->nstorages[c->n - 1] == MOST_COMBINED)
            return tra_fail(e, TRA_USAGE, "--storages: at most %d storages of a relation", MOST_COMBINED);
        c->storage[c->n - 1][c->nstorages[c->n - 1]++] = word;
    }
    return TRA_OK;
}

static tra_status combine(const tra_job *job, const chosen *c, tra_storel_options *o, tra_arena *a, tra_err *e) {
    int64_t n = 1;
    for (int i = 0; i < c->n; i++) n = tra_mul_most(n, c->nstorages[i]);
    if (n > MOST_COMBINED)
        return tra_fail(e, TRA_USAGE, "--storages: %" PRId64 " combinations, at most %d", n, MOST_COMBINED);
    tra_kernel_set *all = tra_news(a, tra_kernel_set, n);
    for (int64_t i = 0; i < n; i++) {
        tra_storel_choice *choice = tra_news(a, tra_storel_choice, c->n);
        tra_storel_kernel *kernel;
        const char *text = "";
        int64_t left = i;
        for (int k = 0; k < c->n; left /= c->nstorages[k++]) {
            choice[k] = (tra_storel_choice){c->relation[k], c->storage[k][left % c->nstorages[k]]};
            text = tra_arena_printf(a, "%s%s%s as %s", text, *text ? ", " : "", choice[k].relation, choice[k].storage);
        }
        o->nchoices = c->n;
        o->choice = choice;
        all[i].storages = text;
        TRA_TRY(tra_storel_kernels(job->program.graph, o, a, &all[i].n, &kernel, e));
        all[i].kernel = kernel;
    }
    tra_sort_storages((int)n, all);
    opts.nstorages = (int)n;
    opts.storages = all;
    return TRA_OK;
}

static tra_status find_kernels(const tra_job *job, tra_arena *a, tra_err *e) {
    tra_storel_costs costs = tra_rates_kernels(&job->options.rates, job->options.threads);
    tra_storel_options o = {.plans = 5, .costs = &costs, .workers = job->options.sites * job->options.threads};
    o.without = job->options.without;
    if (opts.kernels) {
        tra_kernel_set *x = tra_new(a, tra_kernel_set);
        tra_storel_kernel *kernel;
        TRA_TRY(tra_storel_kernels(job->program.graph, &o, a, &x->n, &kernel, e));
        x->kernel = kernel;
        opts.composed = x;
    }
    if (!storages) return TRA_OK;
    chosen *c = tra_new(a, chosen);
    TRA_TRY(read_choices(a, c, e));
    o.plans = 1;
    return combine(job, c, &o, a, e);
}

/* Planning again, with other ceilings: not where one plan takes long to be found. */
static void find_changes(const tra_job *job, double planned, tra_arena *a) {
    enum { SECONDS = 1, TRIES = 4 };
    const tra_graph *g = job->program.graph;
    for (int i = 0; i < g->n; i++) { /* what was converted is there now */
        const tra_stand_in *s = g->v[i]->input.rel ? tra_rel_stand_in(g->v[i]->input.rel) : NULL;
        planned -= s ? s->seconds : 0;
    }
    opts.nchanges =
        tra_explain_changes(job, opts.measured, tra_planning_rates_here, tra_common_opts.define.n,
                            tra_common_opts.define.v, planned * TRIES < SECONDS ? SECONDS : 0, a, &opts.changes);
}

static void print_plan(const tra_job *job, tra_str *out) {
    switch (tra_common_opts.format) {
    case TRA_FORMAT_JSON: tra_explain_json(job, &opts, out); break;
    case TRA_FORMAT_DOT: tra_explain_dot(job, out); break;
    case TRA_FORMAT_SVG: tra_explain_svg(job, opts.measured, out); break;
    case TRA_FORMAT_HTML: tra_explain_html(job, &opts, out); break;
    case TRA_FORMAT_TRACE: tra_explain_trace(job, opts.measured, out); break;
    default: tra_explain_text(job, &opts, out);
    }
}

/* Explains a job that is loaded. */
static tra_status explain(const tra_job *job, double planned, tra_arena *a, tra_str *out, tra_err *e) {
    bool text = tra_common_opts.format == TRA_FORMAT_TEXT;
    if (tra_common_opts.format == TRA_FORMAT_TRACE && opts.measured->timeline.buckets == 0)
        return tra_fail(e, TRA_INPUT, "%s does not say what was done when: an older tra wrote it; run again", analyze);
    if (text || tra_common_opts.format == TRA_FORMAT_HTML) find_changes(job, planned, a);
    TRA_TRY(find_kernels(job, a, e));
    if (job->options.memory > 0 && job->plan->least_memory > job->options.memory) {
        char have[32], need[32];
        tra_warn("the plan does not fit in %s of memory per site, it needs %s: run would refuse it",
                 tra_human(job->options.memory, have), tra_human(job->plan->least_memory, need));
    }
    print_plan(job, out);
    return tra_print(tra_str_get(out), e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    tra_made_how making;
    tra_job job;
    tra_profile m = {0};
    tra_str out = {0};
    int64_t k;
    if (tra_request_wanted()) return tra_request_run(argv[0], e);
    if (alternatives && *alternatives) {
        if (!tra_parse_int(alternatives, &k) || k < 1)
            return tra_fail(e, TRA_USAGE, "--alternatives=%s: a number of plans, from 1", alternatives);
        opts.alternatives = (int)tra_min64(k, TRA_MAXPLANS);
    } else if (alternatives) {
        opts.alternatives = INT_MAX;
    }
    if (tra_common_opts.format == TRA_FORMAT_TRACE && !analyze)
        return tra_fail(e, TRA_USAGE,
                        "--format trace tells of a run: --analyze FILE names what run --profile FILE wrote");
    if (search && tra_common_opts.format != TRA_FORMAT_TEXT)
        return tra_fail(e, TRA_USAGE, "--search is text: leave out --format");
    opts.optimizers = optimizers != NULL;
    double begun = tra_now();
    tra_measurement *measurements = NULL;
    tra_status s = optimizers ? read_measurements(&measurements, e) : TRA_OK;
    if (s == TRA_OK) s = load(argv[0], &making, &job, &m, &out, e);
    if (s == TRA_OK) {
        tra_arena *a = tra_arena_new();
        if (analyze) opts.measured = &m;
        s = explain(&job, tra_now() - begun, a, &out, e);
        tra_job_free(&job);
        tra_arena_free(a);
    }
    tra_str_free(&out);
    free_measurements(measurements);
    tra_profile_free(&m);
    return s;
}

const tra_cmd tra_cmd_explain = {
    .name = "explain",
    .group = "Programs",
    .brief = "show what a program will take, statement by statement, and its plan",
    .usage = "[options] PROGRAM|PLAN",
    .about =
        "Plans a program (- is standard input), or reads a compiled plan, and prints a line for each statement: the "
        "seconds, memory and bytes that are expected of it; then what would change that. --operators adds the plan as "
        "a tree of operators. No data is read and inputs that are only declared will do. A plan that does not fit in "
        "the memory is marked as such, with the least that would do, and the status stays 0.",
    .opts =
        (const tra_opt[]){
            TRA_ROW(0, "alternatives", TRA_OPT_OPTSTR, &alternatives, "K",
                    "the K best plans side by side, and why they lost"),
            TRA_ROW(0, "operators", TRA_OPT_FLAG, &opts.operators, NULL,
                    "the tree of operators, with placements and strategies where there are several sites"),
            TRA_ROW(0, "rules", TRA_OPT_FLAG, &opts.rules, NULL, "the derivation of the plan, rule by rule"),
            TRA_ROW(0, "tra", TRA_OPT_FLAG, &opts.tra, NULL, "the typed graph of the program"),
            TRA_ROW(0, "ia", TRA_OPT_FLAG, &opts.ia, NULL, "the operators and placements before fusion"),
            TRA_ROW(0, "search", TRA_OPT_FLAG, &search, NULL,
                    "what the search of plans considered, for its developers: groups, variants, supplies, costs"),
            TRA_ROW(0, "catalog", TRA_OPT_FLAG, &opts.catalog, NULL, "keys and extents of each relation"),
            TRA_ROW(0, "kernels", TRA_OPT_FLAG, &opts.kernels, NULL,
                    "plans of kernels: those that are compiled, and statements with storages"),
            TRA_ROW(0, "code", TRA_OPT_FLAG, &opts.code, NULL, "what is compiled, and its C"),
            TRA_ROW(
                0, "analyze", TRA_OPT_STR, &analyze, "FILE",
                "put beside the plan what a run with --profile FILE measured; options not given are as in that run"),
            TRA_ROW(0, "optimizers", TRA_OPT_OPTSTR, &optimizers, "FILE,...",
                    "the program under each optimizer, side by side, with what runs with --profile FILE measured"),
            TRA_ROW(0, "storages", TRA_OPT_STR, &storages, "A=csr,csc,...",
                    "the kernels with operands stored in each way"),
            TRA_REQUEST_ROWS,
            TRA_PLANNING_ROW_PLAN,
            TRA_PLANNING_ROWS,
            {.name = NULL}},
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_DOT | TRA_TAKES_DEFINE,
    .run = run,
};
