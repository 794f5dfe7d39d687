/* engine.c - the executor against the reference, on one communicator. */
#include "engine.h"

#include "held.h"
#include "../../plans/rules/rules.h"
#include "tables.h"

#include "../../lib/physical/memory.h"
#include "../../lib/run/profile.h"
#include "../../lib/run/tuning.h"
#include "../../plans/search/cost.h"
#include "../../plans/search/derive.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One program on one communicator. */
typedef struct bench {
    const char *dir, *out; /* the program's folder; where its outputs go */
    tra_comm *c;
    tra_arena *a;    /* the same on all ranks: what it holds counts in plans */
    tra_arena *here; /* what a rank has for itself */
    tra_graph *g;
    expected want; /* rank 0 */
    rng r;         /* the same numbers on all ranks */
    bool all;      /* every plan that the search keeps is run */
    uint64_t seed;
    int64_t index;
    tally *t;
} bench;

static void failed(bench *b, const char *how, const char *what) {
    char *s = tra_asprintf("%s: %s", how, what);
    if (b->c->rank == 0) {
        b->t->failed++;
        report(b->dir, b->seed, b->index, b->c->size, s);
    }
    free(s);
}

/* ---- comparison --------------------------------------------------------------------------------------------- */

/* Rank 0: reads the outputs of a run and compares with the reference, and with the bits of an earlier run of the same
 * plan (before[k], kept there when it is NULL). */
static tra_status compare_outputs(bench *b, tra_ref_rel **before, tra_err *e) {
    for (int k = 0; k < b->g->noutputs; k++) {
        const tra_output *o = &b->g->outputs[k];
        const tra_ref_rel *want = b->want.v[o->node->id];
        tra_ref_rel *got = tra_new(b->here, tra_ref_rel);
        if (want->table) {
            TRA_TRY(read_table(o->path, b->here, got, e));
            TRA_TRY(same_table(o->name, got, want, false, e));
            if (before[k]) TRA_TRY(same_table("the run with more memory", got, before[k], true, e));
            before[k] = got;
            unlink(o->path);
            continue;
        }
        TRA_TRY(read_back(o->path, &o->node->type, b->here, got, e));
        TRA_TRY(compare_values(o->name, got, want, b->want.tol[o->node->id], e));
        if (before[k]) TRA_TRY(compare_bits(o->name, got, before[k], e));
        before[k] = got;
        unlink(o->path);
    }
    return TRA_OK;
}

/* ---- runs --------------------------------------------------------------------------------------------------- */

/* Does a count agree with the plan: equal to an exact figure, or no more than a bound? */
static tra_status compare_size(const char *what, const char *how, tra_size s, int64_t got, tra_err *e) {
    if (tra_size_known(s) ? got == s.bound && got == s.expected : got <= s.bound && s.expected <= s.bound)
        return TRA_OK;
    char text[TRA_SIZETEXT];
    return tra_fail(e, TRA_NO, "%s: %" PRId64 " bytes %s, the plan says %s%" PRId64 " (%s)", what, got, how,
                    s.exact ? "" : "at most ", s.bound, tra_size_text(s, text));
}

/* Compares the bytes that the plan predicts for each operator with those that the run counted, over all sites. Bytes
 * that are spilled are in neither. */
static tra_status compare_counts(const tra_plan *p, const tra_profile *m, tra_err *e) {
    for (int i = 0; i <= p->nops; i++) {
        const tra_cost *c = i < p->nops ? &p->ops[i].predicted.cost : &p->cost;
        const char *what = i < p->nops ? tra_plan_op_text(p->ops[i].op) : "all";
        tra_op_report r = tra_profile_sum(m, i);
        TRA_TRY(compare_size(what, "sent", c->network_bytes, r.sent, e));
        TRA_TRY(compare_size(what, "received", tra_size_exactly(r.sent), r.received, e));
        TRA_TRY(compare_size(what, "written", c->disk_write, r.disk_write, e));
        TRA_TRY(compare_size(what, "read", c->disk_read, r.disk_read, e));
    }
    return TRA_OK;
}

/* After a run that failed alarms and messages may still be on their way, which the next run would take for its own; in
 * tra itself a process makes one run only. */
static void forget_messages(bench *b) {
    tra_comm old = *b->c;
    *b->c = tra_comm_split(&old, 0);
    tra_comm_free(&old);
}

typedef enum ceiling { MUCH, LEAST, BETWEEN } ceiling;
enum { ROOM = 1 << 30 }; /* bytes of memory, where there is to be much */

/* Sometimes tuples are sent in pieces of a few bytes, few of them at a time: no figure depends on that. And new memory
 * is not 0. */
static void tune(bench *b) {
    static tra_tuning usual;
    if (usual.message == 0) usual = tra_tune;
    tra_tune = usual;
    tra_tune.fill = true;
    if (!rng_chance(&b->r, 50)) return;
    tra_tune = (tra_tuning){.message = rng_range(&b->r, 1, 100),
                            .sends = (int)rng_range(&b->r, 1, 8),
                            .file = rng_range(&b->r, 1, 1000),
                            .piece = rng_range(&b->r, 1, 100),
                            .fill = true};
}

/* How a plan is run. layouts: some of what it makes meanwhile is held as rows of
 * entries. */
typedef struct way {
    ceiling most;
    int threads, level; /* of zstd, 0: none */
    bool layouts;
} way;

static void run_way(bench *b, const char *by, const tra_plan *plan, way w, tra_ref_rel **before) {
    ceiling most = w.most;
    int threads = w.threads, level = w.level;
    tra_err e = {0};
    const char *why = NULL;
    char how[256], human[32];
    tra_transport_kind transport = rng_chance(&b->r, 30) ? TRA_TRANSPORT_FILES : TRA_TRANSPORT_MPI;
    tra_plan own = *plan, *p = &own;
    p->ops = memcpy(tra_news(b->a, tra_op, p->nops), p->ops, (size_t)p->nops * sizeof *p->ops);
    if (w.layouts && !hold_some(p, &b->r, b->a)) return;
    p->compress = level;
    p->memory = 0;
    p->least_memory = tra_plan_memory(p, threads);
    int64_t memory = most == MUCH ? ROOM : p->least_memory;
    if (most == BETWEEN) memory += rng_below(&b->r, tra_max64(0, p->cost.peak_memory - memory) + 1);
    if (most != MUCH) p->memory = memory, tra_plan_memory(p, threads);
    tune(b);
    snprintf(how, sizeof how, "%s plan %d (%s), %s, %d threads, transport %s in pieces of %" PRId64 ", zstd %d", by,
             p->rank, p->strategy, tra_human(memory, human), threads,
             transport == TRA_TRANSPORT_FILES ? "files" : "mpi", tra_tune.message, level);
    if (!tra_plan_valid(p, &why)) {
        failed(b, how, why);
        return;
    }
    if (!tra_comm_same(b->c, tra_plan_digest(p))) { /* ranks with different plans would wait for each other for ever */
        if (b->c->rank == 0) failed(b, how, "the ranks have different plans");
        return;
    }
    tra_exec_options o = {.memory = memory, .threads = threads, .scratch = b->out, .transport = transport};
    tra_report r = {0};
    o.codegen = rng_chance(&b->r, 25) ? TRA_CODEGEN_AUTO : TRA_CODEGEN_OFF; /* compiling takes long */
    o.codec = (tra_codec){.zstd = level > 0, .level = level};
    tra_status s = tra_exec(p, b->c, &o, &r, &e), agreed = s; /* by all ranks */
    tra_profile m;
    tra_profile_gather(b->c, &r, p, &m);
    free(r.ops);
    free(r.loops);
    if (b->c->rank == 0) {
        bool refused = s == TRA_INPUT && (b->index >= FIRST_OF_TABLES || strstr(e.msg, "does not fit"));
        b->t->runs++;
        b->t->fused += strstr(p->strategy, "fused") != NULL;
        if (b->want.overflow) {
            if (s == TRA_OK && !b->want.may) failed(b, how, "a value is refused by the reference, and nobody says so");
            if (s != TRA_OK && !refused) failed(b, how, e.msg);
        } else if (!(refused && b->want.loose)) {
            if (s == TRA_OK) s = compare_outputs(b, before, &e);
            if (s == TRA_OK) s = compare_counts(p, &m, &e);
            if (s != TRA_OK) failed(b, how, e.msg);
        }
    }
    tra_profile_free(&m);
    tra_comm_barrier(b->c);
    if (agreed != TRA_OK) forget_messages(b);
}

/* level: of zstd, 0: none. */
static void run_plan(bench *b, const char *by, const tra_plan *plan, ceiling most, int threads, int level,
                     tra_ref_rel **before) {
    run_way(b, by, plan, (way){.most = most, .threads = threads, .level = level}, before);
}

/* Runs a plan of EinDecomp, which follows a labelling. */
static void run_labelled(bench *b, tra_plan_options o) {
    static const tra_cost_model models[] = {TRA_COST_TIME, TRA_COST_TRA, TRA_COST_EINDECOMP};
    tra_plans plans;
    tra_err e = {0};
    o.optimizer = (tra_optimizer)rng_range(&b->r, TRA_OPT_EINDECOMP, TRA_OPT_DATA);
    o.cost = models[rng_below(&b->r, 3)];
    const char *by = tra_optimizer_text(o.optimizer);
    if (tra_optimize(b->g, &o, b->a, &plans, &e) != TRA_OK) {
        failed(b, by, e.msg);
        return;
    }
    run_plan(b, by, plans.v[rng_below(&b->r, plans.n)], MUCH, o.threads, 0,
             tra_news(b->a, tra_ref_rel *, b->g->noutputs));
}

static bool has_rule(const tra_rule_list *rules, const tra_rule *r) {
    int i = 0;
    while (i < rules->n && rules->v[i] != r) i++;
    return i < rules->n;
}

/* Checks a derivation: each step is a plan with costs, the last one is the plan itself, and the rules that are named
 * are those of the steps. One step is run. */
static void check_derivation(bench *b, const tra_plans *plans, int k, const tra_plan_options *o) {
    tra_derivation d;
    tra_err e = {0};
    const char *why = NULL;
    const tra_plan *p = plans->v[k];
    if (tra_derive(plans, k, o, b->a, &d, &e) != TRA_OK || d.n == 0) {
        failed(b, "derivation", e.msg);
        return;
    }
    const tra_rule_list *rules = tra_rules_of(plans->memo, p, &plans->choices[k], b->a).all;
    for (int i = 0; i < d.n; i++) {
        const tra_plan *q = d.v[i].plan;
        if (!tra_plan_valid(q, &why)) failed(b, "a step of the derivation", why);
        if (!isfinite(q->cost.seconds) || q->least_memory <= 0 || q->nops == 0)
            failed(b, "a step of the derivation", "no costs");
        for (int r = 0; r < d.v[i].rules.n; r++)
            if (!has_rule(rules, d.v[i].rules.v[r]))
                failed(b, "a rule of the derivation is not the plan's", d.v[i].rules.v[r]->name);
    }
    for (int r = 0; r < rules->n; r++) {
        bool found = false;
        for (int i = 0; i < d.n; i++) found = found || has_rule(&d.v[i].rules, rules->v[r]);
        if (!found) failed(b, "a rule of the plan is not in its derivation", rules->v[r]->name);
    }
    if (tra_plan_digest(d.v[d.n - 1].plan) != tra_plan_digest(p)) failed(b, "derivation", "it ends in another plan");
    if (k == 0 && tra_cost_scalar(&d.v[0].plan->cost, o->cost) < tra_cost_scalar(&p->cost, o->cost))
        failed(b, "search", "the direct translation costs less");
    tra_ref_rel **before = tra_news(b->a, tra_ref_rel *, b->g->noutputs);
    run_plan(b, "derivation", d.v[rng_below(&b->r, d.n)].plan, MUCH, o->threads, 0, before);
}

/* Checks that each plan is made again of its choices. */
static void check_again(bench *b, const tra_plans *plans, const tra_plan_options *o) {
    for (int k = 0; k < plans->n; k++) {
        tra_plans again;
        tra_err e = {0};
        if (tra_plan_again(b->g, o, &plans->choices[k], k + 1, plans->n, b->a, &again, &e) != TRA_OK)
            failed(b, "a plan from its choices", e.msg);
        else if (tra_plan_digest(again.v[k]) != tra_plan_digest(plans->v[k]))
            failed(b, "a plan from its choices", "it is another one");
    }
}

/* Checks that the conditions of the rules allow what the search has chosen, and that each plan fits some ceiling. */
static void check_conditions(bench *b, const tra_plans *plans) {
    char why[256];
    for (int k = 0; k < plans->n; k++) {
        if (plans->v[k]->least_memory >> 60) failed(b, "search", "no ceiling is enough for a plan that is offered");
        const char *no = NULL;
        for (int i = 0; i < plans->choices[k].n && !no; i++)
            no = choice_refused(plans->memo, &plans->choices[k].v[i], why);
        if (no) failed(b, "a choice that no rule allows", no);
    }
}

static bool on_tables(const bench *b) { return b->index >= FIRST_OF_TABLES; }

/* Draws which rules on tables are left out: none, one, or all. */
static uint64_t some_rules(bench *b) {
    uint64_t all = 0, one = 0;
    int n = 0, at = (int)rng_below(&b->r, 12);
    for (int i = 0; tra_rules[i]; i++) {
        if (tra_rules[i]->name[0] != 'Q') continue;
        all |= (uint64_t)1 << i;
        if (n++ == at) one = (uint64_t)1 << i;
    }
    return at == 11 ? all : one;
}

/* Of zstd; tables are written as they are. */
static int some_level(bench *b) { return !on_tables(b) && rng_chance(&b->r, 33); }

/* A digest of the bits of all outputs, in which all NaN are one: a plan that exchanges two operands may pass on the
 * other NaN. */
static uint64_t bits_of(const bench *b, tra_ref_rel *const *out) {
    uint64_t h = 14695981039346656037u;
    for (int k = 0; k < b->g->noutputs; k++)
        for (int64_t i = 0; out[k] && i < out[k]->n; i++)
            for (int64_t j = 0, n = elements_of(&out[k]->v[i].ext); j < n; j++) {
                uint64_t v;
                ref_num n = out[k]->v[i].data[j];
                double x = isnan(n) ? NAN : (double)n;
                memcpy(&v, &x, sizeof v);
                if (!isnan(n) && !isinf(n)) v += (uint64_t)(int64_t)(n - (ref_num)x); /* of large integers */
                h = (h ^ v) * 1099511628211u;
                h ^= h >> 29;
            }
    return h;
}

/* Rank 0: compares the bits with those that runs on other numbers of ranks gave, which are in a file. */
static void compare_sites(bench *b, tra_ref_rel *const *out) {
    char *path = tra_asprintf("%s/reproducible", b->dir), line[64] = "";
    uint64_t bits = bits_of(b, out), before = 0;
    FILE *f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f) && sscanf(line, "%" SCNx64, &before) == 1 && before != bits)
        failed(b, "reproducible", "not the bits that another number of ranks gave");
    if (!f && (f = fopen(path, "w"))) fprintf(f, "%016" PRIx64 "\n", bits);
    if (f) fclose(f);
    free(path);
}

/* Plans of reproducible sums, with much memory or little: the same bits, whatever the number of ranks. */
static void run_reproducible(bench *b, tra_plan_options o) {
    tra_plans plans;
    tra_err e = {0};
    o.reproducible = true;
    if (tra_search(b->g, &o, b->a, &plans, &e) != TRA_OK) {
        failed(b, "search for reproducible plans", e.msg);
        return;
    }
    check_conditions(b, &plans);
    tra_ref_rel **before = tra_news(b->a, tra_ref_rel *, b->g->noutputs);
    tra_plan *p = plans.v[rng_below(&b->r, plans.n)];
    run_plan(b, "reproducible", p, (ceiling)rng_below(&b->r, 3), o.threads, 0, before);
    if (b->c->rank == 0 && (b->g->noutputs == 0 || before[0])) compare_sites(b, before);
}

/* ---- fused statements ------------------------------------------------------------------------------------------- */

/* Runs all plans with fused statements, with every kernel that the optimizer of kernels finds for them: first the plans
 * of an ordinary search, then those of searches that leave out the best kernels, more and more of them. */
static void run_fused(bench *b, tra_plan_options o, const tra_plans *first) {
    enum { MOST = 6 };
    uint64_t seen[MOST * 8];
    int nseen = 0;
    for (o.from = 0; o.from < MOST; o.from++) {
        tra_plans plans = *first;
        tra_err e = {0};
        bool any = false;
        if (o.from > 0 && tra_search(b->g, &o, b->a, &plans, &e) != TRA_OK) {
            failed(b, "search for fused plans", e.msg);
            return;
        }
        if (o.from > 0) check_conditions(b, &plans);
        for (int k = 0; k < plans.n && nseen < MOST * 8; k++) {
            bool known = !strstr(plans.v[k]->strategy, "fused") || plans.v[k]->least_memory > ROOM; /* refused */
            uint64_t digest = tra_plan_digest(plans.v[k]);
            for (int i = 0; i < nseen; i++) known = known || seen[i] == digest;
            if (known) continue;
            any = true;
            seen[nseen++] = digest;
            tra_ref_rel **before = tra_news(b->a, tra_ref_rel *, b->g->noutputs);
            run_plan(b, "fused", plans.v[k], MUCH, o.threads, 0, before);
            if (rng_chance(&b->r, 30)) run_plan(b, "fused", plans.v[k], LEAST, o.threads, 0, before);
        }
        if (!any) return;
    }
}

/* ---- the same program on dense inputs --------------------------------------------------------------------------- */

/* Rank 0: does the reference give the same finite outputs for dense inputs as for stored ones? Where a 0 of sparse type
 * annihilates, or a loop leaves it out, they may differ, and then runs are not compared. */
static bool same_densely(const bench *b, const tra_graph *g, expected *dense, tra_err *e) {
    if (!b->want.finite || b->want.overflow || b->want.loose) return false;
    if (tra_reference_run(g, true, b->here, &dense->v, e) != TRA_OK) return false;
    for (int k = 0; k < g->noutputs; k++) {
        int was = b->g->outputs[k].node->id;
        const tra_ref_rel *r = dense->v[g->outputs[k].node->id], *w = b->want.v[was];
        if (r->n != w->n) return false; /* an input with holes has all of its tuples when it is dense */
        for (int64_t i = 0; i < w->n; i++)
            for (int64_t j = 0, n = elements_of(&w->v[i].ext); j < n; j++)
                if (!tra_dims_eq(&r->v[i].ext, &w->v[i].ext) || !isfinite(r->v[i].data[j]) ||
                    !close_enough(r->v[i].data[j], w->v[i].data[j], b->want.tol[was][i][j]))
                    return false;
    }
    return true;
}

/* With its inputs in dense storage the program gives what it gives with stored ones. One plan, on one of the
 * communicators that the program is run on. */
static void run_dense(bench *b, const tra_plan_options *o) {
    bench d = *b;
    tra_plans plans;
    tra_err e = {0};
    const char *dir = tra_arena_printf(b->a, "%s/dense", b->dir), *path = tra_arena_printf(b->a, "%s/prog.tra", dir);
    static const int on[] = {1, 2, 3, 5};
    if (b->c->size != on[b->index % 4] || access(path, R_OK) != 0) return;
    tra_status s = load(dir, b->a, &d.g, &e);
    int64_t fits = s == TRA_OK;
    if (fits && b->c->rank == 0) fits = same_densely(b, d.g, &d.want, &e);
    if (b->c->rank != 0) fits = 0;
    tra_comm_max(b->c, &fits, 1);
    if (fits) {
        for (int k = 0; k < d.g->noutputs; k++) d.g->outputs[k].path = b->g->outputs[k].path;
        d.want = b->want;
        d.want.v = tra_news(b->here, const tra_ref_rel *, d.g->n);
        d.want.tol = tra_news(b->here, double **, d.g->n);
        for (int k = 0; k < d.g->noutputs && b->c->rank == 0; k++) { /* nodes have other numbers in that graph */
            int id = d.g->outputs[k].node->id, was = b->g->outputs[k].node->id;
            d.want.v[id] = b->want.v[was];
            d.want.tol[id] = b->want.tol[was];
        }
        if (b->c->rank == 0) b->t->dense++;
        if (tra_search(d.g, o, b->a, &plans, &e) != TRA_OK)
            failed(b, "search with dense inputs", e.msg);
        else
            run_plan(&d, "with dense inputs,", plans.v[0], MUCH, o->threads, 0,
                     tra_news(b->a, tra_ref_rel *, b->g->noutputs));
    }
    if (s == TRA_OK) tra_graph_close(d.g);
}

static void run_program(bench *b) {
    tra_plan_options o = {.sites = b->c->size,
                          .cost = rng_chance(&b->r, 50) ? TRA_COST_TIME : TRA_COST_TRA,
                          .threads = (int)rng_range(&b->r, 1, 2),
                          .rates = tra_rates_builtin()};
    tra_plans plans;
    tra_err e = {0};
    if (on_tables(b)) o.without_rules = some_rules(b);
    if (tra_search(b->g, &o, b->a, &plans, &e) != TRA_OK) {
        failed(b, "search", e.msg);
        return;
    }
    check_conditions(b, &plans);
    check_again(b, &plans, &o);
    /* The chosen plan with much memory, with the least and with some; another plan with any of these. */
    tra_ref_rel **before = tra_news(b->a, tra_ref_rel *, b->g->noutputs);
    run_plan(b, "search", plans.v[0], MUCH, o.threads, some_level(b), before);
    check_derivation(b, &plans, rng_chance(&b->r, 50) ? 0 : (int)rng_below(&b->r, plans.n), &o);
    run_plan(b, "search", plans.v[0], LEAST, o.threads, some_level(b), before);
    run_plan(b, "search", plans.v[0], BETWEEN, o.threads, some_level(b), before);
    int other = (int)rng_below(&b->r, plans.n);
    if (other != 0) {
        memset(before, 0, (size_t)b->g->noutputs * sizeof *before);
        run_plan(b, "search", plans.v[other], (ceiling)rng_below(&b->r, 3), o.threads, some_level(b), before);
    }
    for (int k = 1; k < plans.n && b->all; k++) {
        memset(before, 0, (size_t)b->g->noutputs * sizeof *before);
        run_plan(b, "search", plans.v[k], MUCH, o.threads, 0, before);
    }
    for (ceiling c = MUCH; c <= BETWEEN && !on_tables(b); c++)
        run_way(b, "with rows,", plans.v[rng_below(&b->r, plans.n)], (way){c, o.threads, 0, true},
                tra_news(b->a, tra_ref_rel *, b->g->noutputs));
    run_labelled(b, o);
    run_reproducible(b, o);
    if (!on_tables(b)) run_fused(b, o, &plans);
    run_dense(b, &o);
}

/* Outputs go to a folder for each size of communicator. */
static tra_status place_outputs(bench *b, tra_err *e) {
    b->out = tra_arena_printf(b->a, "%s/on%d", b->dir, b->c->size);
    tra_status s = TRA_OK;
    if (b->c->rank == 0 && mkdir(b->out, 0777) && errno != EEXIST) s = tra_fail_errno(e, TRA_RESOURCE, "%s", b->out);
    for (int k = 0; k < b->g->noutputs; k++)
        b->g->outputs[k].path = tra_arena_printf(b->a, "%s/%s.h5", b->out, b->g->outputs[k].name);
    return s;
}

void check_engine(const char *dir, uint64_t seed, int64_t index, bool all, tra_comm *c, tally *t) {
    bench b = {.dir = dir, .all = all, .c = c, .seed = seed, .index = index, .t = t};
    tra_err e = {0};
    b.a = tra_arena_new();
    b.here = tra_arena_new();
    b.r = rng_seed(seed ^ 0x5eed, (uint64_t)(index * 8 + c->size));
    tra_status s = load(dir, b.a, &b.g, &e);
    if (s == TRA_OK) s = place_outputs(&b, &e);
    if (s == TRA_OK && c->rank == 0)
        s = index >= FIRST_OF_TABLES ? expect_tables(b.g, b.here, &b.want, &e)
                                     : expect(b.g, seed + (uint64_t)index, b.here, &b.want, &e);
    s = tra_comm_agree(c, s, &e);
    if (c->rank == 0) t->programs++;
    if (s == TRA_OK)
        run_program(&b);
    else
        failed(&b, "loading", e.msg);
    if (b.g) tra_graph_close(b.g);
    tra_arena_free(b.a);
    tra_arena_free(b.here);
}
