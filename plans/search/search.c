/* search.c - from the memo of a program to plans: the cheapest of each strategy, and the direct translation, ranked by
 * exact costs.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/run/memory.h"
#include "../../lib/run/needs.h"
#include "../rules/rules.h"
#include "search_int.h"

enum { VISITS = 20000000, VISITS_PER_GROUP = 200000, PLANNED = 20000 };

/* How much is tried: as many entries as make no more than so many visits of slots, by the sizes of the program
 * alone. */
static budget budget_of(const search *s) {
    static const int cells[] = {320, 200, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2};
    double most = VISITS + VISITS_PER_GROUP * s->ngroups;
    int k = 0;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        double visits = 0;
        k = cells[i];
        for (int g = 0; g < s->ngroups; g++) {
            for (int j = 0; j < s->group[g].nfamilies; j++) {
                const family *f = &s->group[g].f[j];
                double pairs = f->join ? s->ways[f->join->node.id].n : 1;
                for (int x = 0; x < 2 && f->in[x] >= 0; x++)
                    pairs *= s->group[f->in[x]].node->op == TRA_OP_INPUT ? 1 : k;
                visits += pairs * (g + 1);
            }
        }
        if (visits <= most) break;
    }
    return (budget){.entries = 6 * k,
                    .cell = k,
                    .targets = k >= 64 ? 24 : 8,
                    .plans = (int)tra_max64(4, tra_min64(256, PLANNED / tra_max64(1, s->ngroups)))};
}

typedef struct ranked {
    tra_plan *p;
    tra_choices c;
    const char **text; /* of the plan, once it was asked for */
} ranked;

static const char *text_of(const ranked *x, tra_arena *a) {
    tra_str s = {0};
    if (*x->text) return *x->text;
    tra_plan_print(x->p, &s);
    *x->text = tra_arena_strndup(a, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return *x->text;
}

typedef struct ranking {
    tra_cost_model model;
    tra_arena *a;
} ranking;

static int compare_ranked(const void *a, const void *b, void *of) {
    const ranking *r = of;
    const tra_cost *x = &((const ranked *)a)->p->cost, *y = &((const ranked *)b)->p->cost;
    double cx = tra_cost_scalar(x, r->model), cy = tra_cost_scalar(y, r->model);
    int64_t dx = x->disk_read + x->disk_write, dy = y->disk_read + y->disk_write;
    if (cx != cy) return cx < cy ? -1 : 1;
    if (x->flops != y->flops) return x->flops < y->flops ? -1 : 1;
    if (dx != dy) return dx < dy ? -1 : 1;
    if (x->peak_memory != y->peak_memory) return x->peak_memory < y->peak_memory ? -1 : 1;
    return strcmp(text_of(a, r->a), text_of(b, r->a));
}

/* The direct translation is always a candidate, but for reproducible sums, since it stores what joins give before it is
 * added; false when it cannot run. */
static bool add_direct(search *s, tra_plan **p, tra_choices *c) {
    int *making = tra_malloc(((size_t)s->ngroups + 1) * sizeof *making);
    for (int g = 0; g < s->ngroups; g++) making[g] = -1;
    bool ok = direct(s, NULL, making);
    if (ok) {
        entry x = assemble(s, making);
        *p = finish_plan(s, &x, c);
    }
    free(making);
    return ok;
}

static bool fits(const tra_plan *p) { return p->memory == 0 || p->least_memory <= p->memory; }

/* Does it have joins that the program does not have? */
static bool is_rewritten(const tra_plan *p) { return strchr(p->strategy, '*') != NULL; }

/* Those that fit, or all if none does, and of one strategy the cheapest; with other joins than the program's only what
 * costs less than the cheapest with these. Ranked. */
static void rank(tra_arena *a, tra_cost_model model, int n, ranked *v, tra_plans *out) {
    bool any = false;
    int m = 0;
    for (int i = 0; i < n; i++) any |= fits(v[i].p);
    for (int i = 0; i < n; i++) {
        if (any && !fits(v[i].p)) continue;
        if (!any) v[i].p->memory = 0;
        v[m++] = v[i];
    }
    const char **text = tra_news(a, const char *, m);
    for (int i = 0; i < m; i++) v[i].text = &text[i];
    qsort_r(v, (size_t)m, sizeof *v, compare_ranked, &(ranking){model, a});
    double as_written = INFINITY;
    for (int i = m - 1; i >= 0; i--) {
        if (!is_rewritten(v[i].p)) as_written = tra_cost_scalar(&v[i].p->cost, model);
    }
    tra_plan **p = tra_news(a, tra_plan *, m);
    tra_choices *c = tra_news(a, tra_choices, m);
    out->n = 0;
    for (int i = 0; i < m && out->n < TRA_MAXPLANS; i++) {
        bool seen = is_rewritten(v[i].p) && !(tra_cost_scalar(&v[i].p->cost, model) < as_written);
        for (int j = 0; j < out->n; j++) seen |= strcmp(p[j]->strategy, v[i].p->strategy) == 0;
        if (seen) continue;
        p[out->n] = v[i].p;
        c[out->n] = v[i].c;
        p[out->n]->rank = out->n + 1;
        out->n++;
    }
    out->v = p;
    out->choices = c;
}

static tra_status search_begin(search *s, tra_err *e) {
    s->work = tra_arena_new();
    TRA_TRY(prepare(s, e));
    s->b = budget_of(s);
    return TRA_OK;
}

static void search_end(search *s) {
    unprepare(s);
    free(s->making);
    free(s->slot);
    free(s->slotscore);
    free(s->slottable);
    free(s->memo);
    free(s->place);
    free(s->placetable);
    tra_arena_free(s->work);
}

/* Adds the plans that one search finds. */
static tra_status find_plans(search *s, bool with_direct, int *n, ranked **v, tra_err *e) {
    int found = 0;
    TRA_TRY(search_begin(s, e));
    entry *x = extract(s, &found);
    ranked *all = tra_news(s->a, ranked, *n + found + 1);
    if (*n) memcpy(all, *v, (size_t)*n * sizeof *all);
    for (int i = 0; i < found; i++) all[*n + i].p = finish_plan(s, &x[i], &all[*n + i].c);
    *n += found;
    if (with_direct && add_direct(s, &all[*n].p, &all[*n].c)) ++*n;
    *v = all;
    return TRA_OK;
}

/* What finding them took counts in what the plans take, as far as it is more than a small program takes. */
static void count_planning(const search *s, int n, const ranked *v) {
    enum { SMALL = 2 << 20 };
    int64_t bytes = (int64_t)(tra_arena_bytes(s->a) + tra_arena_bytes(s->work)) - SMALL;
    for (int i = 0; i < n && bytes > 0; i++) {
        v[i].p->planning = bytes;
        v[i].p->least_memory = tra_plan_memory(v[i].p, s->o->threads);
    }
}

tra_status tra_search(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out, tra_err *e) {
    assert(o->cost != TRA_COST_EINDECOMP);
    tra_memo *m = tra_memo_new(g, a);
    bool free_choice = !o->fixed && !o->reproducible; /* what rules make of a sum may have other bits */
    if (free_choice) tra_rules_apply(m, NULL, NULL);
    const tra_plan none = {.sites = o->sites, .compress = o->compress};
    int64_t least = INT64_MAX, base = tra_memory_base(&none, o->threads);
    tra_status st = TRA_OK;
    ranked *v = NULL;
    int n = 0;
    *out = (tra_plans){.memo = m, .bounded = m->bounded};
    /* When nothing fits: without what the bookkeeping of the plans found takes, then the least memory first. */
    for (int pass = 0; pass < 3 && st == TRA_OK && (pass == 0 || (o->memory > 0 && least > o->memory)); pass++) {
        search s = {.m = m, .o = o, .a = a, .by_memory = pass == 2};
        s.room = o->memory > 0 ? o->memory - base : INT64_MAX;
        st = find_plans(&s, pass == 0 && free_choice, &n, &v, e);
        out->bounded |= s.bounded;
        if (st == TRA_OK) count_planning(&s, n, v);
        search_end(&s);
        for (int i = 0; i < n; i++) {
            base = tra_max64(base, tra_memory_base(v[i].p, o->threads));
            least = tra_min64(least, v[i].p->least_memory);
        }
    }
    TRA_TRY(st);
    if (o->memory > 0 && least > o->memory && !o->over) {
        char have[32], want[32];
        return tra_fail(e, TRA_RESOURCE,
                        "no plan fits in a memory ceiling of %s per site; the least that would do is %s "
                        "(--memory %" PRId64 ")",
                        tra_human(o->memory, have), tra_human(least, want), least);
    }
    rank(a, o->cost, n, v, out);
    return TRA_OK;
}

/* ---- plans of choices ------------------------------------------------------------------------------------------- */

/* The making of a choice; -1. making: of the groups so far. */
static int make_choice(search *s, int g, const tra_choice *c, const int *making) {
    int in[2] = {-1, -1};
    for (int i = 0; i < s->group[g].nfamilies; i++) {
        const family *f = &s->group[g].f[i];
        int join = f->join && f->join != f->x ? f->join->node.id : -1;
        if (f->x->node.id != c->expr || join != c->join) continue;
        for (int j = 0; j < 2 && f->in[j] >= 0; j++) {
            /* what is placed tuple by tuple is taken where it is: nothing is brought to such a placement */
            int made = making[f->in[j]] < 0 ? -1 : s->making[making[f->in[j]]]->out;
            in[j] = c->in[j].owner && made >= 0 ? made : place_intern(s, &c->in[j]);
        }
        bool summands = c->between.sites > 0 && tra_place_is_partial(&c->between);
        if (c->between.sites > 0 && !summands) return make_stored(s, g, f, in[0], in[1]);
        bool targeted = summands || f->x->node.op == TRA_OP_REPART;
        return make_one(s, g, f, in[0], in[1], targeted ? place_intern(s, &c->out) : -1);
    }
    return -1;
}

tra_status tra_plan_of(const tra_memo *m, const tra_plan_options *o, int n, const tra_choice *v, const int *expr,
                       tra_arena *a, tra_plan **out, tra_err *e) {
    search s = {.m = m, .o = o, .a = a, .room = INT64_MAX};
    tra_status st = search_begin(&s, e);
    if (st == TRA_OK) {
        int *making = tra_news(s.work, int, s.ngroups + 1);
        for (int g = 0; g < s.ngroups; g++) making[g] = -1;
        for (int i = 0; i < n; i++) {
            int g = s.at[tra_memo_find(m, m->v[v[i].expr]->group)];
            making[g] = make_choice(&s, g, &v[i], making);
        }
        if (direct(&s, expr, making)) {
            entry x = assemble(&s, making);
            *out = finish_plan(&s, &x, NULL);
        } else {
            st = tra_fail(e, TRA_PROGRAM, "the direct translation stores a result that is too large");
        }
    }
    search_end(&s);
    return st;
}
