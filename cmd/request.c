/* request.c - plans for many sites, threads and ceilings, and the best of them. */
#include "request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/base/crew.h"
#include "../lib/base/limits.h"
#include "../lib/physical/needs.h"
#include "../plans/tra/load.h"
#include "made.h"
#include "outputs.h"
#include "planning.h"

tra_request_options tra_request_opts;

enum { MIB = 1 << 20, MOST_SITES = 16 };

typedef struct asking {
    const char *path, *text;
    size_t size;
    tra_request base;
    tra_point *v;
    int n;
    bool several;    /* sites may be on several machines */
    int64_t least;   /* MiB that would do, of all that were tried; 0: none yet */
    double deadline; /* seconds; infinite: there is none */
} asking;

static const char *const goals[] = {"memory", "time", "hours"};
enum { MEMORY, TIME, HOURS, GOALS };

bool tra_request_wanted(void) {
    const tra_request_options *o = &tra_request_opts;
    return o->request || o->deadline || o->machines.n || o->job_given;
}

/* ---- machines --------------------------------------------------------------------------------------------------- */

/* Two machines that say they are one host are told apart by their files. */
static void name_by_files(tra_arena *a, tra_ask_machine *v, int n) {
    const tra_strlist *files = &tra_request_opts.machines;
    for (int i = 0; i < n && files->n; i++) {
        bool twice = false;
        for (int k = 0; k < n; k++) twice |= k != i && strcmp(v[i].rates->host, v[k].rates->host) == 0;
        if (twice) v[i].name = tra_arena_printf(a, "%s (%s)", v[i].rates->host, files->v[i]);
    }
}

static tra_status find_machines(tra_arena *a, tra_ask_machine **v, int *n, tra_err *e) {
    const tra_strlist *files = &tra_request_opts.machines;
    *n = files->n ? files->n : 1;
    *v = tra_news(a, tra_ask_machine, *n);
    for (int i = 0; i < *n; i++) {
        tra_machine *m = tra_new(a, tra_machine);
        char *path = NULL;
        if (files->n) TRA_TRY(tra_machine_read(files->v[i], m, e));
        bool known = files->n || tra_machine_load(m, &path);
        free(path);
        (*v)[i] = (tra_ask_machine){.name = known ? m->host : "this one",
                                    .rates = known ? m : NULL,
                                    .cores = known ? m->threads : tra_cores(),
                                    .memory = m->memory > 0 || files->n ? m->memory : tra_machine_memory(NULL)};
    }
    name_by_files(a, *v, *n);
    return TRA_OK;
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

/* What a plan says of ceilings. */
typedef struct ceilings {
    bool fits;     /* the one it was made for will do */
    int64_t least; /* one that is said to do */
    int64_t base;  /* what any plan takes before its blocks: none fits in less */
    int64_t peak;
} ceilings;

/* Plans for a ceiling (0: none). */
static tra_status plan(asking *x, tra_point *p, int64_t ceiling, ceilings *c, tra_err *e) {
    tra_request r = x->base;
    tra_made_needs made = {0};
    tra_job job;
    r.sites_given = r.memory_given = r.threads_given = true;
    r.options.sites = p->sites;
    r.options.threads = p->threads;
    r.options.memory = ceiling;
    r.options.over = true;
    r.options.rates = tra_planning_rates(p->on->rates, p->here, p->threads, (int)p->on->cores);
    made.options = r.options;
    tra_made_how making = tra_made_by(&x->base, true);
    making.asked = &made;
    r.makes = &making.makes;
    TRA_TRY(tra_job_load_text(x->path, x->text, x->size, &r, &job, e));
    tra_status s = TRA_OK;
    if (job.compiled) {
        s = tra_fail(e, TRA_USAGE, "%s is a plan, whose sites are settled: --request is for its program", x->path);
    } else {
        const tra_plan *q = job.plan;
        int64_t base = tra_memory_base(q, p->threads), of_plan = q->least_memory;
        if (tra_plan_memory_estimated(q)) /* results may be larger than what is reserved for them */
            of_plan = tra_least_with_margin(of_plan, base);
        int64_t checked = tra_planning_before(p->sites);
        int64_t least = tra_max64(tra_max64(of_plan, q->planning), tra_max64(made.least, checked));
        least = tra_max64(least, tra_outputs_least(job.program.graph, base));
        *c = (ceilings){ceiling == 0 || least <= ceiling, least, tra_max64(base, checked), q->cost.peak_memory};
        p->memory = ceiling;
        p->seconds = q->cost.seconds + made.seconds + tra_job_seconds_before(&job);
        p->scratch = q->scratch;
    }
    tra_job_free(&job);
    return s;
}

/* Puts the sites on machines. False: one does not hold a site, or it is over what the options allow. */
static bool place(const asking *x, tra_point *p) {
    const tra_ask_machine *m = p->on;
    int64_t here = m->cores / p->threads;
    if (m->memory > 0) here = tra_min64(here, m->memory / tra_max64(p->memory, 1));
    here = tra_min64(here, p->sites);
    if (here < 1 || (tra_planning_opts.memory > 0 && p->memory > tra_planning_opts.memory)) return false;
    p->machines = (int)tra_ceil_div(p->sites, here);
    if (p->machines > 1 && !x->several) return false;
    p->here = (int)tra_ceil_div(p->sites, p->machines);
    double part = (double)p->threads / (double)m->cores;
    if (m->memory > 0) part = fmax(part, (double)p->memory / (double)m->memory);
    p->hours = p->sites * part * p->seconds / 3600;
    return true;
}

/* Adds the point for a ceiling, in MiB, if the plan fits in it. */
static tra_status try_ceiling(asking *x, tra_point p, int64_t mib, ceilings *c, tra_err *e) {
    TRA_TRY(plan(x, &p, mib * MIB, c, e));
    int64_t least = tra_ceil_div(c->least, MIB);
    if (x->least == 0 || least < x->least) x->least = least;
    if (!c->fits || !place(x, &p)) return TRA_OK;
    x->v = tra_realloc(x->v, (size_t)x->n + 1, sizeof *x->v);
    x->v[x->n++] = p;
    return TRA_OK;
}

/* Tries ceilings, from large to small. The first holds all in memory, or is the most that the options and the machine
 * allow. The last is the least that is said to do. Where nothing fits, planning
 * tries everything and takes longest, but tells that least. So it is done once at most, and never just above c.base. */
static tra_status try_ceilings(asking *x, tra_point p, tra_err *e) {
    enum { STEP = 4, RAISES = 8, NEAR = 32 };
    int64_t mib, most = tra_planning_opts.memory;
    ceilings c;
    p.here = (int)tra_max64(1, tra_min64(p.sites, p.on->cores / p.threads));
    TRA_TRY(plan(x, &p, 0, &c, e));
    mib = tra_ceil_div(tra_max64(c.peak, c.least), MIB);
    if (most > 0) mib = tra_min64(mib, most / MIB);
    most = p.on->memory / (x->several ? 1 : p.here); /* sites of several machines may have one each */
    if (most > 0) mib = tra_min64(mib, most / MIB);
    mib = tra_max64(1, mib); /* 0 is no ceiling */
    int64_t base = tra_ceil_div(c.base, MIB);
    TRA_TRY(try_ceiling(x, p, mib, &c, e));
    while (c.fits && mib > base + base / NEAR) {
        mib = tra_max64(mib / STEP, base);
        TRA_TRY(try_ceiling(x, p, mib, &c, e));
    }
    for (int i = 0; i < RAISES && !c.fits; i++) {
        mib = i ? mib + tra_max64(1, mib / 16) : tra_ceil_div(c.least, MIB);
        TRA_TRY(try_ceiling(x, p, mib, &c, e));
    }
    return TRA_OK;
}

static tra_status find_points(asking *x, const tra_ask_machine *machines, int n, tra_err *e) {
    int64_t sites = tra_planning_opts.sites_given ? tra_planning_opts.sites : MOST_SITES;
    x->several = tra_planning_opts.sites_given || tra_request_opts.machines.n > 0;
    for (int i = 0; i < n; i++) {
        int64_t cores = machines[i].cores, most = tra_planning_opts.threads ? tra_planning_opts.threads : cores;
        for (int64_t s = 1; s <= sites; s = s < sites ? tra_min64(2 * s, sites) : s + 1)
            for (int64_t t = 1; t <= tra_min64(most, cores); t = t < most ? tra_min64(4 * t, most) : t + 1)
                if (x->several || s * t <= cores)
                    TRA_TRY(try_ceilings(x, (tra_point){.on = &machines[i], .sites = (int)s, .threads = (int)t}, e));
    }
    if (x->n > 0) return TRA_OK;
    char most[32], least[32];
    tra_human(x->least * MIB, least);
    if (tra_planning_opts.memory > 0 && x->least * MIB > tra_planning_opts.memory)
        return tra_fail(e, TRA_RESOURCE, "no plan fits in --memory %s: the least that a site needs is %s",
                        tra_human(tra_planning_opts.memory, most), least);
    return tra_fail(e, TRA_RESOURCE,
                    "no plan fits: the least that a site needs is %s; name a larger machine "
                    "(--machine FILE), or allow more --sites",
                    least);
}

/* ---- the best of them ------------------------------------------------------------------------------------------- */

/* Is a better by the goal? What makes less than a hundredth counts as equal: then the next figure decides. */
static bool better(const tra_point *a, const tra_point *b, int goal) {
    double va[GOALS] = {(double)a->memory * a->sites, a->seconds, a->hours};
    double vb[GOALS] = {(double)b->memory * b->sites, b->seconds, b->hours};
    static const int order[GOALS][GOALS] = {{MEMORY, TIME, HOURS}, {TIME, HOURS, MEMORY}, {HOURS, MEMORY, TIME}};
    for (int i = 0; i < GOALS; i++) {
        int k = order[goal][i];
        if (fabs(va[k] - vb[k]) > 0.01 * fmax(va[k], vb[k])) return va[k] < vb[k];
    }
    return false;
}

/* NULL: none is done by the deadline. */
static const tra_point *best(const asking *x, int goal) {
    const tra_point *found = NULL;
    for (int i = 0; i < x->n; i++)
        if (x->v[i].seconds <= x->deadline && (!found || better(&x->v[i], found, goal))) found = &x->v[i];
    return found;
}

static double fastest(const asking *x) {
    double s = INFINITY;
    for (int i = 0; i < x->n; i++) s = fmin(s, x->v[i].seconds);
    return s;
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

static void text_of(const asking *x, tra_str *out) {
    char memory[32], scratch[32], time[TRA_SPANTEXT], name[TRA_NAMETEXT];
    int within = 0, width = 16; /* of the names of machines */
    for (int g = 0; g < GOALS && best(x, g); g++)
        width = (int)tra_max64(width, (int64_t)strlen(tra_printable_name(best(x, g)->on->name, name)));
    for (int i = 0; i < x->n; i++) within += x->v[i].seconds <= x->deadline;
    tra_str_printf(out, "%d plans", x->n);
    if (isfinite(x->deadline)) tra_str_printf(out, ", %d done within %s", within, tra_span_text(x->deadline, time));
    tra_str_add(out, "\n\n");
    if (within == 0) return;
    tra_str_printf(out, "%-14s %-*s %5s %7s %11s %12s %8s %13s %13s\n", "least", width, "machine", "sites", "threads",
                   "memory each", "scratch each", "machines", "time", "machine-hours");
    for (int g = 0; g < GOALS; g++) {
        const tra_point *p = best(x, g);
        tra_str_printf(out, "%-14s %-*s %5d %7d %11s %12s %8d %13s %13.3g\n", g == HOURS ? "machine-hours" : goals[g],
                       width, tra_printable_name(p->on->name, name), p->sites, p->threads, tra_human(p->memory, memory),
                       p->scratch ? tra_human(p->scratch, scratch) : "none", p->machines,
                       tra_span_text(p->seconds, time), p->hours);
    }
    tra_str_add(out, "\n");
    for (int g = 0; g < GOALS; g++) {
        tra_str_printf(out, "%-14s", g == HOURS ? "machine-hours" : goals[g]);
        tra_job_command(x->path, best(x, g), out);
        tra_str_add(out, "\n");
    }
}

static void json_point(tra_json *j, const char *goal, const tra_point *p) {
    tra_json_begin(j, NULL, '{');
    if (goal) tra_json_str(j, "least", goal);
    tra_json_str(j, "machine", p->on->name);
    tra_json_int(j, "machines", p->machines);
    tra_json_int(j, "sites", p->sites);
    tra_json_int(j, "sites_per_machine", p->here);
    tra_json_int(j, "threads", p->threads);
    tra_json_int(j, "memory_bytes", p->memory);
    tra_json_int(j, "scratch_bytes", p->scratch);
    tra_json_num(j, "seconds", p->seconds);
    tra_json_num(j, "machine_hours", p->hours);
    tra_json_end(j, '}');
}

static void json_of(const asking *x, tra_str *out) {
    tra_json j = {0};
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "program", x->path);
    if (isfinite(x->deadline)) tra_json_num(&j, "deadline_seconds", x->deadline);
    tra_json_begin(&j, "points", '[');
    for (int g = 0; g < GOALS && best(x, g); g++) json_point(&j, goals[g], best(x, g));
    tra_json_end(&j, ']');
    tra_json_begin(&j, "plans", '[');
    for (int i = 0; i < x->n; i++) json_point(&j, NULL, &x->v[i]);
    tra_json_end(&j, ']');
    tra_json_end(&j, '}');
    tra_str_addn(out, tra_str_get(&j.out), j.out.n);
    tra_str_add(out, "\n");
    tra_json_free(&j);
}

/* A job is given time for what the prediction does not know. */
static double limit_of(const asking *x, const tra_point *p) {
    return isfinite(x->deadline) ? x->deadline : 1.5 * p->seconds + 300;
}

static tra_status answer(const asking *x, int goal, tra_err *e) {
    tra_str out = {0};
    tra_status s = TRA_OK;
    char have[TRA_SPANTEXT], need[TRA_SPANTEXT];
    const tra_point *p = best(x, goal < 0 ? HOURS : goal);
    if (!p)
        tra_warn("no plan is done within %s: the fastest takes %s", tra_span_text(x->deadline, have),
                 tra_span_text(fastest(x), need));
    if (tra_request_opts.job_given) {
        s = p ? tra_job_script(tra_request_opts.job, x->path, p, limit_of(x, p), &out, e) : TRA_NO;
        if (s == TRA_OK) fwrite(tra_str_get(&out), 1, out.n, stdout); /* file names as they are */
    } else {
        if (tra_common_opts.format == TRA_FORMAT_JSON)
            json_of(x, &out);
        else
            text_of(x, &out);
        s = tra_print(tra_str_get(&out), e);
        if (s == TRA_OK && !p) s = TRA_NO;
    }
    tra_str_free(&out);
    return s;
}

/* ---- command ---------------------------------------------------------------------------------------------------- */

static tra_status parse_options(asking *x, int *goal, tra_err *e) {
    const tra_request_options *o = &tra_request_opts;
    *goal = -1;
    x->deadline = INFINITY;
    for (int g = 0; g < GOALS; g++)
        if (o->request && strcmp(o->request, goals[g]) == 0) *goal = g;
    if (o->request && *o->request && *goal < 0)
        return tra_fail(e, TRA_USAGE, "--request=%s: memory, time or hours", o->request);
    if (o->deadline && (!tra_parse_span(o->deadline, &x->deadline) || !(x->deadline > 0)))
        return tra_fail(e, TRA_USAGE, "--deadline %s: a time such as 90s, 4h, 1h30m or 4:00:00", o->deadline);
    if (tra_planning_opts.plan_given)
        return tra_fail(e, TRA_USAGE, "--plan is one of the plans for some sites: --request looks for these");
    if (tra_common_opts.format == TRA_FORMAT_DOT)
        return tra_fail(e, TRA_USAGE, "--request has the formats text and json");
    return TRA_OK;
}

tra_status tra_request_run(const char *path, tra_err *e) {
    asking x = {.path = path};
    char *text = NULL;
    int goal, n;
    tra_ask_machine *machines;
    TRA_TRY(parse_options(&x, &goal, e));
    tra_arena *a = tra_arena_new();
    tra_status s = find_machines(a, &machines, &n, e);
    int level = tra_log_level;
    if (s == TRA_OK) s = tra_planning_request(0, 0, &x.base, e);
    if (s == TRA_OK) s = tra_program_read(path, &text, &x.size, e);
    x.text = text;
    if (s == TRA_OK) s = find_points(&x, machines, n, e);
    tra_log_level = level;
    if (s == TRA_OK) s = answer(&x, goal, e);
    free(text);
    free(x.v);
    tra_arena_free(a);
    return s;
}
