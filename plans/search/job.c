/* job.c - from a file to a plan. */
#include "../tra/load.h"
#include "search.h"
#include "job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/crew.h"
#include "../../lib/base/parallel.h"
#include "../../lib/h5/stand_in.h"
#include "../../lib/physical/memory.h"
#include "../ia/ia.h"
#include "cost.h"
#include "planfile.h"
#include "../rules/fused.h"

void tra_job_free(tra_job *job) {
    tra_program_free(&job->program);
    tra_arena_free(job->arena);
    *job = (tra_job){0};
}

static bool only_declared(const tra_graph *g) {
    for (int i = 0; i < g->n; i++) {
        if (g->v[i]->op == TRA_OP_INPUT && !g->v[i]->input.rel && !g->v[i]->input.leaf) return true;
    }
    return false;
}

static tra_status choose(tra_job *job, int64_t k, tra_err *e) {
    if (k > job->plans.n)
        return tra_fail(e, TRA_USAGE, "--plan %" PRId64 ": there %s %d plan%s", k, job->plans.n == 1 ? "is" : "are",
                        job->plans.n, job->plans.n == 1 ? "" : "s");
    job->plan = job->plans.v[k > 0 ? k - 1 : 0];
    return TRA_OK;
}

/* Finds all plans for the job's options; for reproducible ones also the cost of the best plan that is not. */
static tra_status plan_all(tra_job *job, tra_err *e) {
    tra_graph_leave_strings(job->program.graph);
    if (job->options.reproducible) {
        tra_plan_options o = job->options;
        tra_arena *a = tra_arena_new();
        tra_plans plans;
        o.reproducible = false;
        o.over = true; /* if no plan fits, the other search reports it */
        o.first = 1;
        o.also = 0;
        tra_status s = tra_optimize(job->program.graph, &o, a, &plans, e);
        if (s == TRA_OK) job->free_cost = tra_cost_scalar(&plans.v[0]->cost, o.cost);
        if (s == TRA_OK) job->options.planned = plans.planned;
        tra_arena_free(a);
        if (s != TRA_OK) return s;
    }
    tra_status s = tra_optimize(job->program.graph, &job->options, job->program.arena, &job->plans, e);
    tra_return_free_memory();
    return s;
}

/* J-1: right tables of joins that the ceiling has room for are not divided: what a whole one takes is spared many times
 * over, since parts of both tables are written and read. Computed tables have room for what is expected of them, since
 * their bounds are hardly ever reached; where a run finds more it is planned by these. */
static tra_tables_room room_of(const tra_plan_options *o) {
    int64_t whole = o->without_rules & TRA_WHOLE_BIT ? 0 : o->memory;
    return (tra_tables_room){whole, o->bounds ? 0 : whole};
}

/* The graphs that were planned so far, and the least ceiling of the plan of each. */
typedef struct tries {
    int n;
    struct {
        uint64_t graph;
        int64_t least;
    } v[8];
} tries;

static tra_status keep_try(tries *t, const tra_job *job, uint64_t graph, tra_status s, int64_t *least) {
    *least = s == TRA_OK ? job->plans.v[0]->least_memory : INT64_MAX;
    if (s != TRA_OK) return s;
    assert(t->n < (int)(sizeof t->v / sizeof *t->v));
    t->v[t->n].graph = graph;
    t->v[t->n++].least = *least;
    return s;
}

/* Builds the graph with that room, and plans it unless that graph was planned before. Then job has no plan of it.
 * *least: the least ceiling of its plan. */
static tra_status plan_with(tra_job *job, tra_tables_room room, tries *t, int64_t *least, tra_err *e) {
    *e = (tra_err){0};
    job->built.room = room;
    TRA_TRY(tra_program_rebuild(&job->program, &job->built, e));
    uint64_t graph = tra_graph_digest(job->program.graph);
    for (int i = 0; i < t->n; i++) {
        if (t->v[i].graph != graph) continue;
        *least = t->v[i].least;
        return TRA_OK;
    }
    return keep_try(t, job, graph, plan_all(job, e), least);
}

/* What several whole tables take adds up, and is not all that a join takes. So where the ceiling has no room for the
 * plan, only smaller ones stay whole, then small ones, then none; and if there is no room for that either, all, however
 * large. */
static tra_status plan_in_memory(tra_job *job, tra_err *e) {
    enum { SHARE = 4 }; /* whole tables may take 3, 2, and 1 of so many shares of the ceiling */
    const tra_tables_room first = job->built.room = room_of(&job->options), none = {1, 0}, all = {TRA_WHOLE_ANY, 0};
    int64_t memory = job->options.memory, divided = INT64_MAX, whole = INT64_MAX, least;
    bool over = job->options.over, tables = memory > 0 && job->program.graph->ntables > 0;
    tries t = {0};
    job->options.over |= tables; /* says what would do, and is no error */
    tra_status s = plan_all(job, e);
    bool fits = s == TRA_OK && job->plans.v[0]->least_memory <= memory;
    if (fits || !tables || (s != TRA_OK && s != TRA_RESOURCE)) {
        job->options.over = over;
        return s;
    }
    keep_try(&t, job, tra_graph_digest(job->program.graph), s, &least);
    least = INT64_MAX;
    for (int i = SHARE - 1; first.expected > SHARE && i > 0 && least > memory; i--) {
        s = plan_with(job, (tra_tables_room){first.whole / SHARE * i, first.expected}, &t, &least, e);
        if (s != TRA_OK && s != TRA_RESOURCE) break;
    }
    if ((s == TRA_OK || s == TRA_RESOURCE) && least > memory) s = plan_with(job, none, &t, &divided, e);
    if (s == TRA_OK && least > memory && divided > memory && first.whole) s = plan_with(job, all, &t, &whole, e);
    job->options.over = over;
    if (s != TRA_OK || least <= memory || divided <= memory || whole <= memory) return s;
    return plan_with(job, divided <= whole ? none : all, &(tries){0}, &least, e);
}

static tra_status no_output(const tra_program *p, tra_err *e) {
    int line, column;
    tra_script_place(&p->src, p->src.n > 0 ? p->src.n - 1 : 0, &line, &column);
    return tra_fail(e, TRA_PROGRAM,
                    "%s:%d: the program ends without an output, so there is nothing to do (add a line such as `output "
                    "C`)",
                    p->src.name, line);
}

static tra_status plan_program(const tra_request *r, tra_job *job, tra_err *e) {
    job->options = r->options;
    job->options.also = (int)tra_min64(r->plan, INT32_MAX);
    if (job->program.graph->noutputs == 0) return no_output(&job->program, e);
    if (!r->memory_given && only_declared(job->program.graph)) {
        job->options.memory = 0;
        job->built.room = (tra_tables_room){0};
        TRA_TRY(tra_program_rebuild(&job->program, &job->built, e));
    }
    TRA_TRY(plan_in_memory(job, e));
    return choose(job, r->plan, e);
}

/* ---- plan files --------------------------------------------------------------------------------------------- */

static tra_status fixed(const char *path, const char *option, tra_err *e) {
    return tra_fail(e, TRA_USAGE, "%s is fixed in the plan %s: compile the program again to change it", option, path);
}

static tra_status agree(const char *path, const tra_planfile *f, const tra_request *r, tra_err *e) {
    if (r->sites_given && r->options.sites != f->options.sites)
        return tra_fail(e, TRA_USAGE, "the plan %s is for %d site%s, not for %d: compile the program again for so many",
                        path, f->options.sites, f->options.sites == 1 ? "" : "s", r->options.sites);
    if (r->optimizer_given && r->options.optimizer != f->options.optimizer) return fixed(path, "--optimizer", e);
    if (r->cost_given && r->options.cost != f->options.cost) return fixed(path, "--cost", e);
    if (r->codec_given && r->options.compress != f->options.compress) return fixed(path, "--codec", e);
    if (r->options.reproducible && !f->options.reproducible) return fixed(path, "--reproducible", e);
    bool left_out = r->options.without || r->options.without_rules;
    if (left_out && (r->options.without != f->options.without || r->options.without_rules != f->options.without_rules))
        return fixed(path, "--without", e);
    if (r->plan && r->plan != f->rank) return fixed(path, "--plan", e);
    if (r->ndefines) return fixed(path, "-D", e);
    return TRA_OK;
}

/* Another ceiling than the plan was made for: other block loops, the same operators. */
static tra_status set_memory(tra_job *job, int64_t memory, tra_err *e) {
    char have[32], least[TRA_LEASTTEXT];
    tra_plan *p = job->plan;
    p->memory = job->options.memory = memory;
    p->least_memory = tra_plan_memory(p, job->options.threads);
    if (memory == 0 || p->least_memory <= memory || job->options.over) return TRA_OK;
    return tra_fail(e, TRA_RESOURCE,
                    "the plan does not fit in a memory ceiling of %s per site; the least that would do is %s%s",
                    tra_human(memory, have),
                    tra_least_text(p->least_memory, tra_memory_base(p, job->options.threads),
                                   tra_plan_memory_estimated(p), "", least),
                    tra_becomes_dense(job->program.graph, job->program.arena));
}

/* Is the plan made of the choices in the file? Of the other optimizers' plans much is shown that no choice says. */
static bool is_chosen(const tra_planfile *f, const tra_request *r) {
    return f->choices && r->options.first == 1 && f->options.optimizer == TRA_OPT_SEARCH;
}

/* Makes the plan of its choices; false: it has none that suit. */
static bool make_chosen(const tra_planfile *f, tra_job *job) {
    tra_arena *a = job->program.arena;
    tra_choices c;
    tra_err ignored = {0};
    int n = f->nplans > f->rank ? f->nplans : f->rank;
    job->free_cost = f->free_cost;
    bool ok = tra_planfile_choices(f, a, &c) &&
              tra_plan_again(job->program.graph, &job->options, &c, f->rank, n, a, &job->plans, &ignored) == TRA_OK;
    job->plans.bounded = f->bounded;
    if (ok) tra_plans_tell(&job->plans, &job->options);
    return ok;
}

static tra_status plan_again(const char *path, const tra_planfile *f, const tra_request *r, tra_job *job, tra_err *e) {
    bool ok = true;
    job->compiled = true;
    job->options = f->options;
    job->options.over = r->options.over;
    job->options.first = r->options.first;
    job->options.also = f->rank;
    if (is_chosen(f, r)) {
        ok = make_chosen(f, job);
    } else {
        job->options.planned = 0;
        TRA_TRY(plan_in_memory(job, e));
        ok = f->rank <= job->plans.n;
    }
    if (!ok || tra_plan_digest(job->plans.v[f->rank - 1]) != f->digest)
        return tra_fail(
            e, TRA_INPUT, "the plan %s is not what this tra makes of its program%s: compile the program again", path,
            strcmp(f->version, TRA_VERSION)
                ? tra_arena_printf(job->program.arena, " (tra %s compiled it, this is %s)", f->version, TRA_VERSION)
                : "");
    job->plan = job->plans.v[f->rank - 1];
    if (r->threads_given) job->options.threads = r->options.threads;
    if (r->memory_given || r->threads_given)
        return set_memory(job, r->memory_given ? r->options.memory : job->options.memory, e);
    return TRA_OK;
}

static tra_status load_plan(const char *path, const char *text, size_t n, const tra_request *r, tra_job *job,
                            tra_err *e) {
    tra_planfile f;
    TRA_TRY(tra_planfile_parse(path, text, n, job->arena, &f, e));
    TRA_TRY(agree(path, &f, r, e));
    TRA_TRY(tra_planfile_check(&f, e));
    job->built = (tra_building){f.dir, f.ndefines, f.defines, f.room, r->makes};
    if (!is_chosen(&f, r)) job->built.room = room_of(&f.options);
    TRA_TRY(tra_program_from_text(f.source, tra_strdup(f.program), f.size, &job->built, r->colour, &job->program, e));
    return plan_again(path, &f, r, job, e);
}

static tra_status check_digest(const tra_job *job, const tra_request *r, tra_err *e) {
    char text[17];
    if (!r->digest) return TRA_OK;
    if (strlen(r->digest) != 16 || strspn(r->digest, "0123456789abcdef") != 16)
        return tra_fail(e, TRA_USAGE,
                        "--plan-digest %s: the 16 hexadecimal digits that tra explain prints are expected", r->digest);
    snprintf(text, sizeof text, "%016" PRIx64, tra_plan_digest(job->plan));
    if (strcmp(text, r->digest) == 0) return TRA_OK;
    return tra_fail(e, TRA_INPUT,
                    "the plan of %s has the digest %s, not %s: the program, an input, an option or tra has changed "
                    "(tra explain shows the plan)",
                    job->program.src.name, text, r->digest);
}

tra_codec tra_job_codec(const tra_job *job) {
    return (tra_codec){.zstd = job->options.compress > 0, .level = job->options.compress};
}

tra_status tra_job_load_text(const char *path, const char *text, size_t n, const tra_request *r, tra_job *job,
                             tra_err *e) {
    tra_status s;
    tra_parallel_threads threads = tra_parallel_on((int)tra_min64(r->options.threads, tra_cores()));
    *job = (tra_job){.arena = tra_arena_new()};
    tra_parallel_by(&threads.by); /* tables of functions are made while the program is read */
    if (tra_planfile_sniff(text, n)) {
        s = load_plan(path, text, n, r, job, e);
    } else {
        char *copy = tra_malloc(n + 1);
        memcpy(copy, text, n);
        copy[n] = 0;
        job->built =
            (tra_building){tra_program_dir(job->arena, path), r->ndefines, r->defines, room_of(&r->options), r->makes};
        s = tra_program_from_text(path, copy, n, &job->built, r->colour, &job->program, e);
        if (s == TRA_OK) s = plan_program(r, job, e);
    }
    tra_parallel_by(NULL);
    if (s == TRA_OK) s = check_digest(job, r, e);
    if (s != TRA_OK) tra_job_free(job);
    return s;
}

tra_status tra_job_load(const char *path, const tra_request *r, tra_job *job, tra_err *e) {
    char *text;
    size_t n;
    *job = (tra_job){0};
    TRA_TRY(tra_program_read(path, &text, &n, e));
    tra_status s = tra_job_load_text(path, text, n, r, job, e);
    free(text);
    return s;
}

/* ---- what comes before --------------------------------------------------------------------------------------- */

double tra_job_seconds_before(const tra_job *job) {
    enum { ROW = 80, DIFFERENT = 90 };  /* steps for a string of a row, and of one that is new */
    enum { RESULT = 12, ORDERED = 20 }; /* of a result that planning computes, and of one that is put in order */
    static const double FOUND = 2.4, SORTED = 5, MOVED = 4; /* misses */
    const tra_graph *g = job->program.graph;
    const tra_rates *r = &job->options.rates;
    double step = tra_step_seconds(r), miss = tra_miss_seconds(r), seconds = 0;
    double threads = (double)tra_max64(1, job->options.threads);
    for (int i = 0; i < g->n; i++) {
        const tra_stand_in *s = g->v[i]->input.rel ? tra_rel_stand_in(g->v[i]->input.rel) : NULL;
        seconds += s ? s->seconds : 0;
    }
    seconds += g->tabulated[0] * RESULT * step / threads;
    seconds += g->tabulated[1] * (ORDERED * step + MOVED * miss) / threads;
    seconds += g->strings[0] * (ROW * step + FOUND * miss) / threads;
    return seconds + g->strings[1] * (DIFFERENT * step + SORTED * miss);
}
