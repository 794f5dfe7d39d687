/* optimize.c - plans by each optimizer: the search, or labellings of EinDecomp whose placements the search
 * completes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/relation/store.h"
#include "../lang/names.h"
#include "cost.h"
#include "search.h"

static const char *const optimizers[] = {"search", "eindecomp", "eindecomp-any", "sqrt", "data"};

const char *tra_optimizer_text(tra_optimizer x) { return optimizers[x]; }

bool tra_optimizer_parse(const char *s, tra_optimizer *x) {
    int i = TRA_FIND_ROW(optimizers, s);
    if (i >= 0) *x = (tra_optimizer)i;
    return i >= 0;
}

/* ---- the plans of labellings -------------------------------------------------------------------------------- */

typedef struct candidate {
    const tra_labelling *l;
    tra_plan *plan;
    tra_choices choices;
} candidate;

typedef struct candidates {
    int n;
    candidate v[4];
    tra_labellings l;
} candidates;

static void add(candidates *c, const tra_labelling *l) {
    if (l) c->v[c->n++].l = l;
}

/* The labelling for which the fewest floats move: an optimal one if it can be found, else that of the linearisation. */
static tra_labelling *moved(const tra_eingraph *g, int p, bool any, tra_arena *a) {
    tra_labelling *refined = NULL, *l = tra_ein_exact(g, TRA_EIN_MOVED, p, any, a);
    if (!l) l = tra_ein_label(g, TRA_EIN_MOVED, p, any, a, &refined);
    if (refined) l = refined;
    l->how = "moved";
    return l;
}

/* The labelling of the paper, what is better by its costs, and, unless these decide, what moves least. */
static void label(const tra_plan_options *o, tra_arena *a, candidates *c) {
    const tra_eingraph *g = c->l.graph;
    bool any = o->optimizer == TRA_OPT_EINDECOMP_ANY;
    tra_labelling *refined = NULL;
    const tra_labelling *best;
    switch (o->optimizer) {
    case TRA_OPT_SEARCH: break;
    case TRA_OPT_SQRT: add(c, tra_ein_sqrt(g, o->sites, a)); break;
    case TRA_OPT_DATA: add(c, tra_ein_data(g, o->sites, a)); break;
    case TRA_OPT_EINDECOMP:
    case TRA_OPT_EINDECOMP_ANY:
        add(c, c->l.paper = tra_ein_label(g, TRA_EIN_PAPER, o->sites, any, a, &refined));
        best = strcmp(c->l.paper->how, "tree") == 0 ? c->l.paper : tra_ein_exact(g, TRA_EIN_PAPER, o->sites, any, a);
        if (!best || best->cost < c->l.paper->cost) add(c, best ? best : refined);
        c->l.best = best && !best->cut_off ? best : NULL;
        if (o->cost != TRA_COST_EINDECOMP) add(c, moved(g, o->sites, any, a));
        break;
    }
}

static int compare(const void *x, const void *y, void *model) {
    const candidate *a = x, *b = y;
    double ca = tra_cost_scalar(&a->plan->cost, *(tra_cost_model *)model),
           cb = tra_cost_scalar(&b->plan->cost, *(tra_cost_model *)model);
    if (ca != cb) return ca < cb ? -1 : 1;
    return a->plan->rank - b->plan->rank;
}

static tra_status complete(const tra_graph *g, tra_memo *memo, const tra_plan_options *o, tra_arena *a, candidate *c,
                           const tra_eingraph *ein, tra_err *e) {
    tra_plan_options p = *o;
    tra_ein_places at;
    tra_plans plans;
    tra_ein_place(ein, g, c->l, o->sites, a, &at);
    tra_fixed fixed = {.memo = memo, .way = at.way, .place = at.place};
    p.fixed = &fixed;
    p.first = 1;
    p.also = 0;
    if (p.cost == TRA_COST_EINDECOMP) p.cost = TRA_COST_TIME;
    TRA_TRY(tra_search(g, &p, a, &plans, e));
    c->plan = plans.v[0];
    c->plan->cost.eindecomp = c->l->cost;
    c->choices = plans.choices[0];
    return TRA_OK;
}

/* Moves the candidates that fit the memory to the front, and returns their number; if none fits, all stay. */
static int those_that_fit(const tra_plan_options *o, int n, candidate *v) {
    int fit = 0;
    for (int i = 0; i < n; i++) {
        candidate x = v[i];
        if (o->memory > 0 && x.plan->least_memory > o->memory) continue;
        v[i] = v[fit];
        v[fit++] = x;
    }
    return fit > 0 ? fit : n;
}

static tra_status by_labels(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out, tra_err *e) {
    candidates c = {.l.graph = tra_eingraph_build(g, a)};
    tra_cost_model model = o->cost;
    tra_status s = TRA_OK;
    tra_memo *memo = tra_memo_new(g, a);
    int n = 0;
    label(o, a, &c);
    for (int i = 0; i < c.n; i++) {
        tra_err other = {0}; /* of a labelling without a plan, while another has one: not reported */
        tra_status one = complete(g, memo, o, a, &c.v[i], c.l.graph, n || s != TRA_OK ? &other : e);
        int same = 0;
        if (one != TRA_OK && s == TRA_OK) s = one;
        if (one != TRA_OK) continue;
        while (same < n && tra_plan_digest(c.v[same].plan) != tra_plan_digest(c.v[i].plan)) same++;
        if (same < n && c.v[i].l->cost >= c.v[same].l->cost)
            continue; /* several labellings can have the same plan: the cheapest is kept */
        c.v[same] = c.v[i];
        c.v[same].plan->rank = same;
        n += same == n;
    }
    if (n == 0) return s;
    n = those_that_fit(o, n, c.v);
    if (e) *e = (tra_err){0};
    qsort_r(c.v, (size_t)n, sizeof c.v[0], compare, &model);
    tra_choices *choices = tra_news(a, tra_choices, n);
    *out = (tra_plans){.n = n, .v = tra_news(a, tra_plan *, n), .memo = memo, .choices = choices};
    c.l.of = tra_news(a, const tra_labelling *, n);
    for (int i = 0; i < n; i++) {
        out->v[i] = c.v[i].plan;
        out->v[i]->rank = i + 1;
        choices[i] = c.v[i].choices;
        c.l.of[i] = c.v[i].l;
    }
    tra_labellings *kept = tra_new(a, tra_labellings);
    *kept = c.l;
    out->labellings = kept;
    return TRA_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

/* The share of the bytes that the plan reads which the page cache does not have: 1 where nothing is read. */
static double cold_share(const tra_plan *p, tra_arena *a) {
    double all = 0, cold = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        const char *path, *name;
        if (!tra_op_is(o->op, TRA_READS) || !o->spec.path || o->predicted.read <= 0) continue;
        tra_relspec(a, o->spec.path, &path, &name);
        all += (double)o->predicted.read;
        cold += (double)o->predicted.read * (1 - tra_cached_share(path));
    }
    return all > 0 ? cold / all : 1;
}

void tra_plans_tell(const tra_plans *plans, const tra_plan_options *o) {
    tra_arena *a = tra_arena_new();
    double least = 0;
    for (int i = 0; i < plans->n; i++) {
        tra_plan *p = plans->v[i];
        if (!p) continue;
        tra_plan_seconds(p, &o->rates, cold_share(p, a));
        if (o->cost == TRA_COST_TIME) least = p->cost.seconds = fmax(least, p->cost.seconds);
    }
    tra_arena_free(a);
}

tra_status tra_optimize(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out, tra_err *e) {
    *out = (tra_plans){0};
    tra_plan_options p = *o;
    p.by_eindecomp = o->cost == TRA_COST_EINDECOMP;
    if (p.by_eindecomp) p.cost = TRA_COST_TIME;
    TRA_TRY(o->optimizer != TRA_OPT_SEARCH ? by_labels(g, o, a, out, e) : tra_search(g, &p, a, out, e));
    tra_plans_tell(out, o);
    return TRA_OK;
}
