/* search.c - from the memo of a program to plans: the cheapest of each strategy, and the direct translation, ranked by
 * exact costs.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/kernel/program.h"
#include "../../lib/physical/memory.h"
#include "../../lib/physical/needs.h"
#include "../rules/rules.h"
#include "../rules/fused.h"
#include "search.h"
#include "search_int.h"

enum { VISITS = 20000000, VISITS_PER_GROUP = 200000, PLANNED = 20000, PLANNED_ALONE = 6000 };
enum { VISITS_LONG = 90000000, VISITS_PER_GROUP_LONG = 25000 }; /* of long programs: more sets gave no better plans */
enum { VISITS_ALONE = 2000000, VISITS_PER_GROUP_ALONE = 10000, FINISHED = 8 };

/* How much the search tries: as many entries as keep the visits of supplies below a limit. It depends on the sizes of
 * the program alone, so that the same plans come out each time. */
static budget budget_of(const search *s) {
    enum { SHARED = 200 }; /* sets of large programs are shorter than these: what one group alone needs is one member */
    static const int cells[] = {320, 200, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2};
    bool alone = s->o->sites == 1;
    double n = s->ngroups, most = alone ? VISITS_ALONE + VISITS_PER_GROUP_ALONE * n : VISITS + VISITS_PER_GROUP * n;
    if (!alone) most = fmin(most, VISITS_LONG + VISITS_PER_GROUP_LONG * n);
    int k = 0;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        double visits = 0;
        k = cells[i];
        for (int g = 0; g < s->ngroups; g++) {
            for (int j = 0; j < s->group[g].nvariants; j++) {
                const variant *f = &s->group[g].f[j];
                double pairs = f->join ? s->ways[f->join->node.id].n : 1;
                for (int x = 0; x < 2 && f->in[x] >= 0; x++)
                    pairs *= s->group[f->in[x]].node->op == TRA_OP_INPUT ? 1 : k;
                visits += pairs * (double)tra_min64(g + 1, SHARED + (g + 1) / 4);
            }
        }
        if (visits <= most) break;
    }
    int planned = s->o->sites == 1 ? PLANNED_ALONE : PLANNED;
    return (budget){.entries = 6 * k,
                    .cell = k,
                    .targets = k >= 64 ? 24 : 8,
                    .plans = (int)tra_max64(4, tra_min64(256, planned / tra_max64(1, s->ngroups)))};
}

/* ---- plans that were found -------------------------------------------------------------------------------------- */

/* A plan that a search found: its figures, and the set of supplies from which it can be made. Plans are large, and most
 * are never needed: so each is made once for its figures, and again only if it is to be run or shown. */
typedef struct found {
    search *s;
    entry chosen;
    tra_cost cost;
    int64_t least, base, start; /* bytes: its least ceiling; of that, what are no blocks; what a process has before it
                                 * plans */
    const char *strategy;
    const char *estimated; /* tra_plan_memory_estimated */
    const char **text;     /* of the plan, once it was asked for */
    int rank;              /* by the cost of the search */
    bool runs;
} found;

enum { HOMES = 3, PASSES = 3 + HOMES };
typedef struct finding {
    search pass[PASSES];
    int npasses;
    int n, cap;
    found *v;
    tra_arena *texts;
    int64_t most; /* peak of bytes */
} finding;

/* The most bytes that planning has held, with the program. */
static int64_t planning(const finding *f, const tra_plan_options *o) {
    const search *last = &f->pass[f->npasses - 1];
    return tra_max64(tra_max64(o->planned, f->most + last->bytes.program), (int64_t)tra_arena_most(last->a));
}

static int64_t least_of(const finding *f, const tra_plan_options *o, int i) {
    return tra_max64(f->v[i].least, f->v[i].start + planning(f, o));
}

/* Bytes that the passes (searches) so far hold. */
static int64_t held(const finding *f) {
    int64_t n = (int64_t)tra_arena_bytes(f->texts);
    for (int i = 0; i < f->npasses; i++) n += tra_search_bytes(&f->pass[i]);
    return n;
}

/* Do the compiled kernels of a plan take the layouts of their operands, and make that of their result? The expressions
 * of a group have one type, but their results may have different layouts. */
static bool kernels_run(const tra_plan *p) {
    bool runs = true;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        if (o->op != TRA_PLAN_JOIN || !tra_kernel_is_program(o->spec.join)) continue;
        const tra_type *l = &p->ops[o->in[0]].type, *r = &p->ops[o->in[1]].type;
        runs = runs && tra_program_runs(o->spec.join, l->layout, r->layout, o->type.layout);
    }
    return runs;
}

static void add_found(finding *f, search *s, const entry *x) {
    tra_arena *a = tra_arena_new();
    entry decided = *x;
    const tra_plan *p = tra_finish_plan(s, &decided, a, NULL);
    const char *estimated = tra_plan_memory_estimated(p);
    TRA_ROOM(f->v, f->n, f->cap);
    f->v[f->n++] = (found){.s = s,
                           .chosen = decided,
                           .cost = p->cost,
                           .least = p->least_memory,
                           .base = p->base_memory,
                           .runs = kernels_run(p),
                           .start = tra_memory_start(p),
                           .strategy = tra_arena_printf(f->texts, "%s", p->strategy),
                           .estimated = estimated ? tra_arena_printf(f->texts, "%s", estimated) : NULL};
    if (s->o->by_eindecomp) f->v[f->n - 1].cost.eindecomp = tra_ein_plan_cost(p);
    f->most = tra_max64(f->most, held(f) + (int64_t)tra_arena_bytes(a));
    tra_arena_free(a);
}

static const char *text_of(const found *x, tra_arena *texts) {
    if (*x->text) return *x->text;
    tra_str s = {0};
    tra_print_plan(x->s, &x->chosen, &s);
    *x->text = tra_arena_take(texts, &s);
    return *x->text;
}

typedef struct ranking {
    tra_cost_model model;
    tra_arena *texts;
    bool by_memory; /* no plan fits: the one that needs the least memory first */
} ranking;

static int compare_found(const void *a, const void *b, void *of) {
    const ranking *r = of;
    const tra_cost *x = &((const found *)a)->cost, *y = &((const found *)b)->cost;
    int64_t need = ((const found *)a)->least - ((const found *)b)->least;
    if (r->by_memory && need != 0) return need < 0 ? -1 : 1;
    double cx = tra_cost_scalar(x, r->model), cy = tra_cost_scalar(y, r->model);
    int64_t dx = x->disk_read.expected + x->disk_write.expected, dy = y->disk_read.expected + y->disk_write.expected;
    if (cx != cy) return cx < cy ? -1 : 1;
    if (x->flops != y->flops) return x->flops < y->flops ? -1 : 1;
    if (dx != dy) return dx < dy ? -1 : 1;
    if (x->peak_memory != y->peak_memory) return x->peak_memory < y->peak_memory ? -1 : 1;
    return strcmp(text_of(a, r->texts), text_of(b, r->texts));
}

/* Of plans that cost the same by that model, those that were ranked first stay first. */
static int compare_eindecomp(const void *a, const void *b) {
    const found *x = a, *y = b;
    if (x->cost.eindecomp != y->cost.eindecomp) return x->cost.eindecomp < y->cost.eindecomp ? -1 : 1;
    return x->rank - y->rank;
}

/* Does it have joins that the program does not have? */
static bool is_rewritten(const found *x) { return strchr(x->strategy, '*') != NULL; }

/* Ranks the plans that run and fit, or all if none does (then it returns false). Of each strategy only the cheapest
 * plan stays; plans with other joins than the program's stay if they cost less than the cheapest plan with the
 * program's joins. */
static bool rank(finding *f, const tra_plan_options *o) {
    bool any = false, runs = false;
    int m = 0, n = 0;
    for (int i = 0; i < f->n; i++) runs |= f->v[i].runs;
    for (int i = 0; i < f->n; i++)
        if (!runs || f->v[i].runs) f->v[n++] = f->v[i];
    f->n = n, n = 0;
    for (int i = 0; i < f->n; i++) any |= o->memory == 0 || least_of(f, o, i) <= o->memory;
    for (int i = 0; i < f->n; i++) {
        if (!any || o->memory == 0 || least_of(f, o, i) <= o->memory) f->v[m++] = f->v[i];
    }
    const char **text = tra_calloc((size_t)m + 1, sizeof *text);
    for (int i = 0; i < m; i++) f->v[i].text = &text[i];
    qsort_r(f->v, (size_t)m, sizeof *f->v, compare_found, &(ranking){o->cost, f->texts, !any});
    double as_written = INFINITY;
    for (int i = m - 1; i >= 0; i--) {
        if (!is_rewritten(&f->v[i])) as_written = tra_cost_scalar(&f->v[i].cost, o->cost);
    }
    for (int i = 0; i < m && n < TRA_MAXPLANS; i++) {
        bool seen = any && is_rewritten(&f->v[i]) && !(tra_cost_scalar(&f->v[i].cost, o->cost) < as_written);
        for (int j = 0; j < n; j++) seen |= strcmp(f->v[j].strategy, f->v[i].strategy) == 0;
        if (!seen) f->v[n++] = f->v[i];
    }
    free(text);
    f->n = n;
    for (int i = 0; i < n; i++) f->v[i].rank = i;
    if (o->by_eindecomp) qsort(f->v, (size_t)n, sizeof *f->v, compare_eindecomp);
    f->most = tra_max64(f->most, held(f));
    return any;
}

/* Makes the plans that the options demand. */
static void make_plans(finding *f, const tra_plan_options *o, bool fit, tra_arena *a, tra_plans *out) {
    tra_choices *choices = tra_news(a, tra_choices, f->n);
    out->n = f->n;
    out->v = tra_news(a, tra_plan *, f->n);
    out->choices = choices;
    out->planned = planning(f, o);
    for (int i = 0; i < f->npasses; i++) f->pass[i].bytes.all = out->planned;
    for (int i = 0; i < f->n; i++) tra_trace_plan(o, i, f->n, &f->v[i].cost, f->v[i].strategy);
    for (int i = 0; i < f->n; i++) {
        if (o->first > 0 && i >= o->first && i + 1 != o->also) continue;
        out->v[i] = tra_finish_plan(f->v[i].s, &f->v[i].chosen, a, &choices[i]);
        out->v[i]->rank = i + 1;
        if (o->by_eindecomp) out->v[i]->cost.eindecomp = f->v[i].cost.eindecomp;
        if (!fit) out->v[i]->memory = 0;
    }
}

/* ---- the search ------------------------------------------------------------------------------------------------- */

static tra_status search_begin(search *s, tra_err *e) {
    s->work = tra_arena_new();
    s->kept = tra_arena_new();
    s->closed_room = tra_arena_new();
    s->samples = tra_arena_new();
    TRA_TRY(tra_prepare(s, e));
    s->limits.kept = budget_of(s);
    if (s->o->trace)
        tra_str_printf(s->o->trace, "search: %d groups of %d expressions, at most %d sets of each\n", s->ngroups,
                       s->m->n, s->limits.kept.entries);
    return TRA_OK;
}

static void search_end(search *s) {
    tra_unprepare(s);
    free(s->implementations.v);
    free(s->supplies.v);
    free(s->supplies.score);
    free(s->supplies.table);
    free(s->costs.v);
    free(s->places.v);
    free(s->places.table);
    free(s->wayplaces.v);
    free(s->wayplaces.table);
    tra_arena_free(s->work);
    tra_arena_free(s->kept);
    tra_arena_free(s->closed_room);
    tra_arena_free(s->samples);
    free(s->closed);
}

/* Adds the direct translation, which is always a candidate if it can run. Only reproducible plans do without it, since
 * it stores the results of joins before they are added up. */
static void add_direct(finding *f, search *s) {
    int *implementation = tra_malloc(((size_t)s->ngroups + 1) * sizeof *implementation);
    for (int g = 0; g < s->ngroups; g++) implementation[g] = -1;
    if (tra_direct(s, NULL, implementation)) {
        entry x = tra_assemble(s, implementation);
        add_found(f, s, &x);
    }
    free(implementation);
}

/* The least of the plans' ceilings, without what planning itself takes. */
static int64_t least_to_run(const finding *f) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < f->n; i++) least = tra_min64(least, f->v[i].least);
    return least;
}

/* Adds the plans that one search finds. */
static tra_status find_plans(finding *f, search *s, bool with_direct, tra_err *e) {
    int n = 0;
    f->npasses++;
    TRA_TRY(search_begin(s, e));
    s->bytes.program = (int64_t)tra_arena_bytes(s->a);
    entry *x = tra_extract(s, &n);
    f->most = tra_max64(f->most, held(f) + s->bytes.most - tra_search_bytes(s));
    /* cheapest first; on one site their exact costs are in the same order but for little */
    bool few = s->o->sites == 1 && !s->o->by_eindecomp;
    for (int i = 0; i < n; i++) {
        if (few && i >= FINISHED && (s->o->memory == 0 || least_to_run(f) <= s->o->memory)) break;
        add_found(f, s, &x[i]);
    }
    if (with_direct) add_direct(f, s);
    return TRA_OK;
}

/* The plan that the least ceiling is for; its `least` includes what planning takes. */
static found least_found(const finding *f, const tra_plan_options *o) {
    found x = {.least = INT64_MAX};
    for (int i = 0; i < f->n; i++) {
        int64_t least = least_of(f, o, i);
        if (least >= x.least) continue;
        x = f->v[i];
        x.least = least;
    }
    return x;
}

/* The cheapest plan; while none fits, the one that takes the least memory. */
static const found *best_found(const finding *f, const tra_plan_options *o) {
    const found *x = NULL;
    bool fits = o->memory == 0 || least_to_run(f) <= o->memory;
    for (int i = 0; i < f->n; i++) {
        const found *y = &f->v[i];
        bool other = o->memory > 0 && y->least > o->memory;
        if (fits && other) continue;
        double cx = x ? tra_cost_scalar(&x->cost, o->cost) : INFINITY, cy = tra_cost_scalar(&y->cost, o->cost);
        if (!x || (fits ? cy < cx : y->least < x->least)) x = y;
    }
    return x;
}

/* Looks for plans with states at other places, as long as that gives better ones. */
static tra_status find_homes(finding *f, tra_err *e) {
    const search *first = &f->pass[0];
    tra_placement **home = tra_homes_divided(first, first->a);
    bool better = true;
    for (int i = 0; i < HOMES && home && (better || i == 1); i++) {
        int before = f->n;
        search *s = &f->pass[f->npasses];
        *s = (search){.m = first->m, .o = first->o, .a = first->a, .limits.room = first->limits.room, .home = home};
        TRA_TRY(find_plans(f, s, false, e));
        const found best = *best_found(f, first->o);
        better = best.s == s;
        home = tra_homes_as_made(best.s, &best.chosen, home, first->a);
        if (better) continue;
        search_end(s);
        f->n = before;
        f->npasses--;
    }
    return TRA_OK;
}

static tra_status find_all(finding *f, const tra_plan_options *o, tra_memo *m, tra_arena *a, tra_plans *out,
                           tra_err *e) {
    const tra_plan none = {.sites = o->sites, .compress = o->compress};
    int64_t base = tra_memory_base(&none, o->threads);
    bool free_choice =
        !o->fixed && !o->reproducible; /* reproducible plans are not rewritten: rules change the bits of sums */
    /* While no plan fits: a second search leaves room for the bookkeeping of the plans that the first one found, and a
     * third one looks for the least memory. */
    for (int i = 0; i < 3 && (i == 0 || (o->memory > 0 && least_to_run(f) > o->memory)); i++) {
        search *s = &f->pass[f->npasses];
        *s = (search){.m = m, .o = o, .a = a, .limits.by_memory = i == 2};
        if (i > 0) s->home = best_found(f, o)->s->home;
        s->limits.room = o->memory > 0 ? o->memory - base : INT64_MAX;
        TRA_TRY(find_plans(f, s, i == 0 && free_choice, e));
        out->bounded |= s->limits.bounded;
        if (i == 0 && o->sites > 1 && m->g->nloops > 0 && !o->fixed) TRA_TRY(find_homes(f, e));
        for (int j = 0; j < f->n; j++) base = tra_max64(base, f->v[j].base);
    }
    found least = least_found(f, o);
    bool fit = rank(f, o);
    if (!fit && !o->over) {
        char have[32], text[TRA_LEASTTEXT];
        return tra_fail(e, TRA_RESOURCE,
                        "no plan fits in a memory ceiling of %s per site; the least that would do is %s%s",
                        tra_human(o->memory, have), tra_least_text(least.least, least.base, least.estimated, "", text),
                        tra_becomes_dense(m->g, a));
    }
    make_plans(f, o, fit, a, out);
    return TRA_OK;
}

/* The memo of a program, with what the rules make of it. */
static tra_memo *memo_of(const tra_graph *g, const tra_plan_options *o, tra_arena *a) {
    tra_memo *m = o->fixed && o->fixed->memo ? o->fixed->memo : tra_memo_new(g, a);
    if (o->fixed || o->reproducible) return m;
    tra_storel_costs costs = tra_rates_kernels(&o->rates, o->threads);
    if (!(o->without_rules & TRA_FUSED_BIT))
        tra_fused_apply(m, &(tra_fused_options){o->without, &costs, o->threads, o->from}, NULL);
    tra_rules_apply(m, NULL, o->without_rules, NULL);
    return m;
}

tra_status tra_search(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out, tra_err *e) {
    assert(o->cost != TRA_COST_EINDECOMP);
    tra_memo *m = memo_of(g, o, a);
    *out = (tra_plans){.memo = m, .bounded = m->bounded};
    finding f = {.texts = tra_arena_new()};
    tra_status st = find_all(&f, o, m, a, out, e);
    for (int i = 0; i < f.npasses; i++) search_end(&f.pass[i]);
    tra_arena_free(f.texts);
    free(f.v);
    return st;
}

/* ---- plans of choices ------------------------------------------------------------------------------------------- */

/* Makes the implementation of a choice, and returns its number; -1: there is none. implementation: by group, those of
 * the groups so far. */
static int make_choice(search *s, int g, const tra_choice *c, const int *implementation) {
    int in[2] = {-1, -1};
    for (int i = 0; i < s->group[g].nvariants; i++) {
        const variant *f = &s->group[g].f[i];
        int join = f->join && f->join != f->x ? f->join->node.id : -1;
        if (f->x->node.id != c->expr || join != c->join) continue;
        for (int j = 0; j < 2 && f->in[j] >= 0; j++) {
            /* what is placed tuple by tuple is taken where it is: nothing is brought to such a placement */
            int made = implementation[f->in[j]] < 0 ? -1 : s->implementations.v[implementation[f->in[j]]]->out;
            in[j] = c->in[j].owner && made >= 0 ? made : tra_place_intern(s, &c->in[j]);
        }
        bool summands = c->between.sites > 0 && tra_place_is_partial(&c->between);
        if (c->between.sites > 0 && !summands) return tra_implement_stored(s, g, f, in[0], in[1]);
        bool targeted = summands || f->x->node.op == TRA_OP_REPART;
        return tra_implement_one(s, g, f, in[0], in[1], targeted ? tra_place_intern(s, &c->out) : -1);
    }
    return -1;
}

tra_status tra_plan_of(const tra_memo *m, const tra_plan_options *o, int n, const tra_choice *v, const int *expr,
                       tra_arena *a, tra_plan **out, tra_choices *made, tra_err *e) {
    search s = {.m = m, .o = o, .a = a, .limits.room = INT64_MAX, .home = tra_homes_chosen(m, n, v, a)};
    tra_status st = search_begin(&s, e);
    s.bytes.program = (int64_t)tra_arena_bytes(a);
    s.bytes.all = o->planned;
    if (st == TRA_OK) {
        int *implementation = tra_news(s.work, int, s.ngroups + 1);
        for (int g = 0; g < s.ngroups; g++) implementation[g] = -1;
        for (int i = 0; i < n; i++) {
            int g = s.at[tra_memo_find(m, m->v[v[i].expr]->group)];
            if (g >= 0) implementation[g] = make_choice(&s, g, &v[i], implementation);
        }
        if (tra_direct(&s, expr, implementation)) {
            entry x = tra_assemble(&s, implementation);
            *out = tra_finish_plan(&s, &x, s.a, made);
        } else {
            st = tra_fail(e, TRA_PROGRAM, "the direct translation stores a result that is too large");
        }
    }
    search_end(&s);
    return st;
}

/* Does the placement say nothing of keys that the relation does not have? */
static bool suits(const tra_placement *p, const tra_node *n) {
    for (int x = 0; x < p->naxes; x++)
        for (int d = 0; d < p->axis[x].n; d++)
            if (p->axis[x].dim[d] >= n->type.cat->frontier.n) return false;
    return true;
}

/* Is it of an expression, and its join of another one, whose relations can be placed so? */
static bool is_choice(const tra_memo *m, const tra_choice *c) {
    if (c->expr >= m->n || c->join >= m->n) return false;
    const tra_node *n = &m->v[c->expr]->node, *j = c->join >= 0 ? &m->v[c->join]->node : n;
    for (int i = 0; i < 2; i++)
        if ((c->in[i].sites > 0) != (j->in[i] != NULL) || (j->in[i] && !suits(&c->in[i], j->in[i]))) return false;
    return suits(&c->out, n);
}

tra_status tra_plan_again(const tra_graph *g, const tra_plan_options *o, const tra_choices *c, int rank, int n,
                          tra_arena *a, tra_plans *out, tra_err *e) {
    tra_memo *m = memo_of(g, o, a);
    tra_choices *choices = tra_news(a, tra_choices, n);
    *out = (tra_plans){.n = n, .v = tra_news(a, tra_plan *, n), .memo = m, .choices = choices, .planned = o->planned};
    for (int i = 0; i < c->n; i++)
        if (!is_choice(m, &c->v[i])) return TRA_INPUT;
    TRA_TRY(tra_plan_of(m, o, c->n, c->v, NULL, a, &out->v[rank - 1], &choices[rank - 1], e));
    out->v[rank - 1]->rank = rank;
    if (o->cost == TRA_COST_EINDECOMP) out->v[rank - 1]->cost.eindecomp = tra_ein_plan_cost(out->v[rank - 1]);
    return TRA_OK;
}
