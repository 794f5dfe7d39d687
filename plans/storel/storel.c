/* storel.c - the stages: the statement alone, then composed with the storages of its operands. */
#include "storel_int.h"

#include <math.h>
#include <string.h>
#include <time.h>

const tra_storel_costs tra_storel_default_costs = {.loop = 2,
                                                   .step = 0.3,
                                                   .hashed = 3,
                                                   .element = 0.25,
                                                   .lookup = 0.6,
                                                   .hash = 8,
                                                   .search = 3,
                                                   .insert = 0.6,
                                                   .row = 1.2,
                                                   .put = 10,
                                                   .clear = 0.15,
                                                   .sort = 20,
                                                   .list = 60,
                                                   .merge = 3,
                                                   .op = 0.25,
                                                   .branch = 0.8,
                                                   .vector = 0.15,
                                                   .far = 1,
                                                   .near = 1 << 17};

/* The rates of the machine on which the default costs were measured. */
static const tra_storel_rates reference = {
    .entries = 1.2e9, .gathers = 1.2e9, .inserts = 1.65e9, .merges = 4e8, .hashes = 6.8e8, .operations = 1.1e10};

tra_storel_costs tra_storel_costs_at(const tra_storel_rates *r) {
    tra_storel_costs c = tra_storel_default_costs;
#define SCALE(rate, cost)                                                                                              \
    if (r->rate > 0) c.cost *= reference.rate / r->rate
    SCALE(entries, loop);
    SCALE(entries, step);
    SCALE(entries, element);
    SCALE(entries, clear);
    SCALE(entries, branch);
    SCALE(gathers, lookup);
    SCALE(gathers, search);
    SCALE(inserts, insert);
    SCALE(merges, merge);
    SCALE(hashes, hashed);
    SCALE(hashes, hash);
    SCALE(hashes, put);
    SCALE(hashes, sort);
    SCALE(hashes, list);
    SCALE(inserts, row);
    SCALE(entries, op);
    SCALE(operations, vector);
#undef SCALE
    return c;
}

double tra_storel_seconds(double cost, double combinations, int threads) {
    return 1e-9 * cost * combinations / fmax(1, fmin(combinations, threads));
}

/* ---- are two trees the same ------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

bool tra_storel_same(const tra_calc *x, const tra_calc *y) {
    if (x->kind != y->kind || x->nkids != y->nkids || x->nbinders != y->nbinders || x->notes != y->notes ||
        x->is_real != y->is_real || x->whole != y->whole || x->real != y->real || x->level != y->level)
        return false;
    bool bound = x->kind == TRA_CALC_NAME && x->level >= 0;
    if (!bound && !same_text(x->name, y->name)) return false;
    for (int i = 0; i < x->nbinders; i++)
        if (x->binders[i].level != y->binders[i].level || x->binders[i].again != y->binders[i].again) return false;
    for (int g = 0; x->kind == TRA_CALC_SUM && g + 1 < x->nkids; g++)
        if (x->nnames[g] != y->nnames[g]) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!tra_storel_same(x->kids[i], y->kids[i])) return false;
    return true;
}

/* ---- one stage --------------------------------------------------------------------------------------------------- */

static void start(st_graph *g, const tra_storel_problem *p, tra_arena *a, int *applied) {
    *g = (st_graph){.p = p, .costs = p->costs ? p->costs : &tra_storel_default_costs, .arena = a, .applied = applied};
    g->most = p->plans > 1 ? (int)tra_min64(2 * p->plans, 2 * TRA_STOREL_MOSTPLANS) : 1;
}

/* Notes that the keys of the result are below the extents that the problem names. */
static void bound_keys(st_graph *g, int cls) {
    int node = st_first(g, cls, ST_NEST);
    if (node < 0) return;
    st_nest n;
    st_load(g, node, &n);
    for (int i = 0; i < n.nkeys && i < TRA_CALC_MAXRANK; i++) {
        int name = g->p->extent[i];
        st_class *key = st_at(g, n.key[i]);
        if (name && key->below < 0) {
            int below = st_make(g, ST_NAME, 1, (int64_t[]){name - 1}, 0, NULL);
            st_at(g, n.key[i])->below = below;
        }
    }
}

/* The ways to hold the result: a dense array, or entries row by row, of which a row is gathered densely or by hashing.
 */
static int hold_result(st_graph *g, int cls) {
    int depth = st_at(g, cls)->depth;
    if (depth == 0) return cls;
    bound_keys(g, cls);
    unsigned last = 1u << (depth - 1);
    if (g->p->dense) return st_annotate(g, cls, ~0u);
    int all = st_annotate(g, cls, st_on(g, ST_DENSE) ? last : 0);
    if (st_on(g, ST_HASH)) st_union(g, all, st_annotate(g, cls, 0));
    st_rebuild(g);
    return st_find(g, all);
}

static void count(const st_graph *g, double seconds, const char *name, tra_storel_stage *out) {
    *out = (tra_storel_stage){.name = name,
                              .iterations = g->iterations,
                              .nodes = g->nnodes,
                              .classes = g->live,
                              .milliseconds = 1e3 * seconds,
                              .limited = g->limited};
}

static double entries_of(st_graph *g, int cls) {
    const st_shape *s = st_at(g, cls)->shape;
    double n = 1;
    for (int i = 0; s && i < s->depth; i++) n *= s->n[i];
    return n;
}

/* Does the last variable that a loop binds ascend: over a range, or a part of a sorted array? */
static bool counts_up(const tra_storel_problem *p, const tra_calc *over) {
    if (over->kind == TRA_CALC_RANGE) return true;
    if (over->kind == TRA_CALC_SLICE) over = over->kids[0];
    return over->kind == TRA_CALC_NAME && over->level < 0 && p->about[over->index].ascending;
}

/* Does the plan make its result row by row, upwards: are the keys but the last what its outer loops count up, in their
 * order? */
static bool ascends(const tra_storel_problem *p, const tra_calc *x) {
    int rows = x->type.depth - 1, loops = 0, keys = 0, level[TRA_CALC_MAXRANK];
    if (p->ascends) return p->ascends(p->ctx, x);
    for (;; x = x->kids[x->nkids - 1]) {
        bool merge = x->kind == TRA_CALC_MERGE;
        if (x->kind == TRA_CALC_LET || x->kind == TRA_CALC_IF) continue;
        if (x->kind != TRA_CALC_SUM && !merge) break;
        if (loops >= rows) continue;
        const tra_calc *over = x->kids[0];
        if ((!merge && (x->nkids != 2 || x->nnames[0] != 1)) || !counts_up(p, over)) return false;
        level[loops++] = x->binders[merge ? 2 : over->kind != TRA_CALC_RANGE].level;
    }
    for (; keys < rows && x->kind == TRA_CALC_DICT; x = x->kids[x->nkids - 1])
        for (int i = 0; i + 1 < x->nkids && keys < rows; i++, keys++) {
            const tra_calc *key = x->kids[i];
            if (keys >= loops || key->kind != TRA_CALC_NAME || key->level < 0 || key->level != level[keys])
                return false;
        }
    return keys == rows;
}

/* Entries that do not come row by row are listed, and sorted. The ways of the root with what that takes, as plans. */
static tra_status rank_by_order(st_graph *g, int root, double turns, int n, tra_storel_plan *plan, tra_err *e) {
    for (int i = 0; i < n; i++) {
        const st_way way = st_at(g, root)->ways[i];
        plan[i] = (tra_storel_plan){.tree = st_extract(g, root, i, e), .cost = way.cost, .operations = way.operations};
        if (!plan[i].tree) return TRA_INTERNAL;
        if (!ascends(g->p, plan[i].tree)) plan[i].cost += g->costs->list * fmin(turns, fmax(way.operations, 1));
    }
    for (int i = 1; i < n; i++) /* stable */
        for (int k = i; k > 0 && plan[k - 1].cost > plan[k].cost; k--) {
            tra_storel_plan x = plan[k];
            plan[k] = plan[k - 1];
            plan[k - 1] = x;
        }
    return TRA_OK;
}

/* Distinct plans, the cheapest first; none where the graph holds no whole one. turns: contributions of the naive plan.
 */
static tra_status collect(st_graph *g, int root, double entries, double turns, tra_storel_result *out, tra_err *e) {
    enum { MORE = 16 };
    int wanted = (int)tra_min64(tra_max64(g->p->plans, 1), TRA_STOREL_MOSTPLANS);
    out->plan = tra_news(g->arena, tra_storel_plan, wanted);
    out->n = 0;
    if (g->full || !st_ways(g, root)) return TRA_OK;
    bool by_rows = !g->p->dense && st_at(g, root)->depth > 1;
    const tra_calc *first = by_rows && g->most < MORE ? st_extract(g, root, 0, e) : NULL;
    if (first && !ascends(g->p, first)) { /* a plan that costs more may need no sorting */
        g->most = MORE;
        for (int i = 0; i < g->nclasses; i++) g->class[i].state = g->class[i].nways = 0;
        if (!st_ways(g, root)) return TRA_OK;
    }
    int n = st_at(g, root)->nways;
    tra_storel_plan *plan = tra_news(g->arena, tra_storel_plan, n);
    TRA_TRY(rank_by_order(g, root, by_rows ? turns : 0, n, plan, e));
    for (int i = 0; i < n && out->n < wanted; i++) {
        bool again = false;
        for (int k = 0; k < out->n; k++) again |= tra_storel_same(plan[i].tree, out->plan[k].tree);
        plan[i].entries = entries;
        if (!again) out->plan[out->n++] = plan[i];
    }
    return TRA_OK;
}

/* Processor time of this thread. */
static double processor_seconds(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tra_status run_stage(const tra_storel_problem *p, const char *name, tra_arena *a, tra_storel_result *out,
                            tra_err *e) {
    double before = processor_seconds();
    st_graph g;
    start(&g, p, a, out->applied);
    int root = st_normal(&g, p->tree);
    double entries = 0, turns = 0;
    if (root >= 0) {
        int nest = st_first(&g, root, ST_NEST);
        st_nest n;
        if (nest >= 0) st_load(&g, nest, &n);
        entries = entries_of(&g, root);
        turns = nest >= 0 ? st_turns(&g, &n) : entries;
        root = hold_result(&g, root);
        st_saturate(&g);
    }
    if (root < 0) g.full = true;
    TRA_TRY(collect(&g, root, entries, turns, out, e));
    count(&g, processor_seconds() - before, name, &out->stage[out->nstages]);
    if (out->n) out->stage[out->nstages].program = out->plan[0].tree;
    out->nstages++;
    return TRA_OK;
}

/* ---- the stage without storages ---------------------------------------------------------------------------------- */

/* The statement over its operands as names, where the tree begins with lets of dictionaries; false where not. */
static bool without_storages(const tra_storel_problem *p, tra_arena *a, tra_storel_problem *out) {
    const tra_calc *x = p->tree;
    *out = *p;
    int n = p->n;
    for (const tra_calc *y = x; y->kind == TRA_CALC_LET; y = y->kids[y->nkids - 1]) n += y->nbinders;
    tra_calc_name *scope = tra_news(a, tra_calc_name, n);
    tra_storel_about *about = tra_news(a, tra_storel_about, n);
    memcpy(scope, p->scope, (size_t)p->n * sizeof *scope);
    memcpy(about, p->about, (size_t)p->n * sizeof *about);
    for (; x->kind == TRA_CALC_LET; x = x->kids[x->nkids - 1])
        for (int i = 0; i < x->nbinders; i++) {
            if (!x->binders[i].name || x->kids[i]->type.depth == 0) return false;
            scope[out->n] = (tra_calc_name){.name = x->binders[i].name, .type = x->binders[i].type};
            tra_storel_about *m = &about[out->n++];
            m->kind = TRA_STOREL_SORTED;
            m->value = NAN;
            for (int d = 0; d < TRA_CALC_MAXRANK; d++) m->n[d] = NAN;
        }
    if (out->n == p->n) return false;
    tra_str text = {0};
    tra_calc_error err;
    tra_calc_print(x, &text);
    char *kept = tra_arena_take(a, &text);
    const tra_calc *y = tra_calc_parse(kept, (int)strlen(kept), a, &err);
    out->tree = y;
    out->scope = scope;
    out->about = about;
    out->plans = 1;
    out->without |= (uint64_t)1 << ST_M2; /* M2: what is worth materialising depends on storages */
    return y && tra_calc_check(y, out->n, scope, a, &err);
}

/* Is a name that is bound outside of it, at a level before this one, in a tree? */
static bool refers_outside(const tra_calc *x, int level) {
    if (x->kind == TRA_CALC_NAME && x->level >= 0 && x->level < level) return true;
    for (int i = 0; i < x->nkids; i++)
        if (refers_outside(x->kids[i], level)) return true;
    return false;
}

/* Cardinalities of operands, of the mappings that they are the values of. */
static void find_cards(const tra_storel_problem *p, tra_arena *a, tra_storel_problem *alone) {
    int applied[TRA_STOREL_MAXRULES] = {0}, at = p->n;
    st_graph g;
    start(&g, p, a, applied);
    for (const tra_calc *x = p->tree; x->kind == TRA_CALC_LET; x = x->kids[x->nkids - 1])
        for (int i = 0; i < x->nbinders; i++, at++) {
            if (refers_outside(x->kids[i], x->binders[i].level)) continue;
            int cls = st_normal(&g, x->kids[i]);
            const st_shape *s = cls >= 0 ? st_at(&g, cls)->shape : NULL;
            tra_storel_about *about = (tra_storel_about *)&alone->about[at];
            for (int d = 0; s && d < s->depth; d++) about->n[d] = s->n[d];
        }
}

/* Plans from graphs with fewer nodes are not kept: finding them again is faster than reading them. */
enum { KEPT_NODES = 1000 };

tra_status tra_storel_optimize(const tra_storel_problem *given, tra_arena *a, tra_storel_result *out, tra_err *e) {
    tra_storel_problem rounded = *given, alone;
    const tra_storel_problem *p = &rounded;
    if (given->keep) rounded.about = st_rounded(given, a);
    *out = (tra_storel_result){0};
    const char *name = p->keep ? st_kept_name(p, a) : NULL;
    if (name && st_recall(p, name, a, out)) return TRA_OK;
    *out = (tra_storel_result){0};
    if (!name && without_storages(p, a, &alone)) {
        find_cards(p, a, &alone);
        int kept[TRA_STOREL_MAXRULES];
        memcpy(kept, out->applied, sizeof kept);
        TRA_TRY(run_stage(&alone, "the statement", a, out, e));
        memcpy(out->applied, kept, sizeof kept);
    }
    TRA_TRY(run_stage(p, "with storages", a, out, e));
    if (out->n) {
        if (name && out->stage[0].nodes >= KEPT_NODES) st_remember(name, a, out);
        return TRA_OK;
    }
    out->n = 1;
    out->plan[0] = (tra_storel_plan){p->tree, INFINITY, NAN, NAN};
    out->stage[out->nstages - 1].program = p->tree;
    return TRA_OK;
}
