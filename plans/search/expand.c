/* expand.c - the ways to run one node in a state, each of which makes a state for the next beam. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search_int.h"

/* Placements tried for the completion of summands: fewer when the beam is wide. */
enum { NARROW = 64, MAXTARGET = 24, FEWTARGETS = 8 };

static void expand_input(search *s, const tra_node *n, const state *st) {
    tra_placement p = tra_place_all(s->o->sites);
    int64_t mark = s->nsteps;
    int8_t dims[TRA_MAXAXISDIMS];
    int place = ANY;
    if (s->o->sites > 1 && n->at == TRA_AT_PART) {
        int m = (int)tra_min64(n->at_dims.n, TRA_MAXAXISDIMS);
        for (int i = 0; i < m; i++) dims[i] = (int8_t)n->at_dims.v[i];
        p = tra_place_part(s->o->sites, n->type.cat, m, dims);
    }
    if (s->o->sites == 1 || n->at != TRA_AT_ANY) place = place_intern(s, &p);
    trial_begin(s, st);
    trial_offer(s, n->id, place, trial_push(s, TRA_PLAN_INPUT, n, NULL, NULL, place, false));
    trial_commit(s, n, mark);
}

/* The placements in which a consumer may take node n: those that are there; those that could be had at no charge;
 * when others need n too, those that an exchange for them brings. */
static places candidates(search *s, const tra_node *n, const state *st) {
    places c = {0};
    bool any = false;
    c.v = tra_malloc((size_t)(st->n + s->want[n->id].n) * sizeof *c.v);
    for (int i = 0; i < st->n; i++) {
        if (st->v[i].node != n->id) continue;
        if (st->v[i].place == ANY)
            any = true;
        else
            c.v[c.n++] = st->v[i].place;
    }
    for (int i = 0; i < s->want[n->id].n; i++) {
        int p = s->want[n->id].v[i];
        bool there = false;
        for (int j = 0; j < c.n; j++) there |= c.v[j] == p;
        if (!there && ((any && tra_place_copies(&s->place[p]) == 1) || s->uses[n->id] > 1)) c.v[c.n++] = p;
    }
    return c;
}

static tra_plan_op plan_op(tra_opcode op) {
    switch (op) {
    case TRA_OP_INPUT: return TRA_PLAN_INPUT;
    case TRA_OP_JOIN: return TRA_PLAN_JOIN;
    case TRA_OP_AGG: return TRA_PLAN_AGG;
    case TRA_OP_REKEY: return TRA_PLAN_REKEY;
    case TRA_OP_FILTER: return TRA_PLAN_FILTER;
    case TRA_OP_TRANSFORM: return TRA_PLAN_MAP;
    case TRA_OP_TILE: return TRA_PLAN_TILE;
    case TRA_OP_CONCAT: return TRA_PLAN_CONCAT;
    case TRA_OP_REPART: return TRA_PLAN_REPART;
    }
    return TRA_PLAN_COUNT;
}

/* Brings the input of a unary operator to p, runs it there and keeps the result; false if it cannot run there. */
static bool run_at(search *s, const tra_node *n, const state *st, int p) {
    int64_t mark = s->nsteps;
    int q = map_place(s, n, p);
    tra_plan_op op = plan_op(n->op);
    if (q < 0 || tra_place_is_partial(&s->place[q])) return false;
    trial_begin(s, st);
    const step *in = trial_ensure(s, n->in[0], p);
    trial_work(s, step_work(s, op, n, p), NULL, n->type.dtype);
    trial_offer(s, n->id, q, trial_push(s, op, n, in, NULL, q, false));
    trial_commit(s, n, mark);
    return true;
}

static void expand_map(search *s, const tra_node *n, const state *st) {
    places c = candidates(s, n->in[0], st);
    int ran = 0;
    for (int i = 0; i < c.n; i++) ran += run_at(s, n, st, c.v[i]);
    /* after an exchange: what is placed tuple by tuple, or by the key that goes */
    if (ran == 0 || n->op == TRA_OP_CONCAT) {
        for (int i = 0; i < s->want[n->in[0]->id].n; i++) ran += run_at(s, n, st, s->want[n->in[0]->id].v[i]);
    }
    if (ran == 0 && n->op == TRA_OP_CONCAT) { /* fewer groups than sites: some stay idle */
        const tra_catalog *in = n->in[0]->type.cat;
        tra_dims others = {.n = 0};
        for (int d = 0; d < in->frontier.n; d++) {
            if (d != n->keydim) others.v[others.n++] = d;
        }
        tra_placement p = tra_place_within(in, s->o->sites, &others);
        run_at(s, n, st, place_intern(s, &p));
    }
    free(c.v);
}

/* Where the summands of n, placed as p, may be completed. */
static int targets(search *s, const tra_node *n, int p, int *out) {
    tra_placement from = s->place[p], q;
    int m = 0, most = s->nbeam <= NARROW ? MAXTARGET : FEWTARGETS;
    if (tra_place_reduced(&from, &q) && tra_place_offered(&q, n->type.cat) && tra_place_copies(&q) == 1)
        out[m++] = place_intern(s, &q);
    for (int i = 0; i < s->want[n->id].n && m < most; i++) {
        int w = s->want[n->id].v[i];
        if (tra_place_copies(&s->place[w]) == 1 && !(m > 0 && out[0] == w)) out[m++] = w;
    }
    return m;
}

/* From a local aggregation that left summands at p: to q and completed. */
static void complete(search *s, const tra_node *n, const step *summands, int p, int q) {
    trial_traffic(s, move_traffic(s, n, true, p, q), s->partial[n->id].dtype);
    const step *bag = trial_push(s, TRA_PLAN_SHUF, n, summands, NULL, q, true);
    tra_work w = step_work(s, TRA_PLAN_MERGE, n, q);
    double c = tra_place_summands(&s->place[p]);
    trial_work(s, (tra_work){c * w.total, c * w.busiest}, NULL, n->type.dtype);
    trial_offer(s, n->id, q, trial_push(s, TRA_PLAN_MERGE, n, bag, NULL, q, false));
}

/* Aggregates what is placed as p: at once, or in two phases. Returns the number of ways. */
static int agg_at(search *s, const tra_node *n, const state *st, int p) {
    const tra_node *x = n->in[0];
    int q = map_place(s, n, p), to[MAXTARGET + 1];
    if (q < 0) return 0;
    if (run_at(s, n, st, p)) return 1;
    int m = targets(s, n, q, to);
    for (int j = 0; j < m; j++) {
        int64_t mark = s->nsteps;
        trial_begin(s, st);
        const step *in = trial_ensure(s, x, p);
        trial_work(s, step_work(s, TRA_PLAN_AGG, n, p), NULL, n->type.dtype);
        complete(s, n, trial_push(s, TRA_PLAN_AGG, n, in, NULL, q, true), q, to[j]);
        trial_commit(s, n, mark);
    }
    return m;
}

static void expand_agg(search *s, const tra_node *n, const state *st) {
    const tra_node *x = n->in[0];
    const places *want = &s->want[x->id];
    places c = candidates(s, x, st);
    int ran = 0;
    for (int i = 0; i < c.n; i++) ran += agg_at(s, n, st, c.v[i]);
    free(c.v);
    for (int i = 0; i < want->n; i++) { /* exchanged first */
        if (tra_place_copies(&s->place[want->v[i]]) == 1) ran += run_at(s, n, st, want->v[i]);
    }
    for (int i = 0; i < want->n && ran == 0; i++) ran += agg_at(s, n, st, want->v[i]);
    if (ran > 0) return;
    /* fewer groups than sites: some stay idle */
    tra_placement p = tra_place_within(x->type.cat, s->o->sites, &n->group);
    run_at(s, n, st, place_intern(s, &p));
}

static void expand_repart(search *s, const tra_node *n, const state *st) {
    places c = candidates(s, n->in[0], st);
    for (int i = 0; i < c.n; i++) {
        for (int j = 0; j < s->want[n->id].n; j++) {
            int q = s->want[n->id].v[j];
            int64_t mark = s->nsteps;
            if (tra_place_copies(&s->place[q]) > 1) continue;
            trial_begin(s, st);
            const step *in = trial_ensure(s, n->in[0], c.v[i]);
            trial_traffic(s, repart_traffic(s, n, c.v[i], q), n->type.dtype);
            trial_offer(s, n->id, q, trial_push(s, TRA_PLAN_REPART, n, in, NULL, q, false));
            trial_commit(s, n, mark);
        }
    }
    free(c.v);
}

static void add_strategy(search *s, const tra_node *join, const tra_way *w) {
    strategy *x = tra_new(s->work, strategy);
    x->prev = s->trial.strategies;
    x->join = join->id;
    tra_join_strategy(&s->labels[join->id], &w->l, &w->r, s->later[join->id], x->text, sizeof x->text);
    s->trial.strategies = x;
    s->trial.strategy_hash = XXH64(x->text, strlen(x->text), s->trial.strategy_hash);
}

/* Begins a trial in which both inputs of the join are where the way wants them. */
static void begin_join(search *s, const tra_node *join, const tra_way *w, const state *st, const step *in[2]) {
    int l = place_intern(s, &w->l), r = place_intern(s, &w->r);
    trial_begin(s, st);
    in[0] = trial_ensure(s, join->in[0], l);
    in[1] = trial_ensure(s, join->in[1], r);
    trial_work(s, step_work(s, TRA_PLAN_JOIN, join, place_intern(s, &w->out)), join->kernel, join->type.dtype);
    add_strategy(s, join, w);
}

bool countable(const search *s, const tra_type *t) {
    double bytes = (double)t->cat->n * (double)tra_dtype_size(t->dtype) * s->o->sites;
    for (int d = 0; d < t->cat->bound.n; d++) bytes *= (double)t->cat->bound.v[d];
    return bytes < 0x1p61;
}

static void expand_join(search *s, const tra_node *join, const tra_node *agg, const state *st, const tra_way *w) {
    const step *in[2];
    int64_t mark = s->nsteps;
    int out = place_intern(s, &w->out), q = agg ? map_place(s, agg, out) : out, to[MAXTARGET + 1];
    if (!agg) {
        begin_join(s, join, w, st, in);
        trial_offer(s, join->id, out, trial_push(s, TRA_PLAN_JOIN, join, in[0], in[1], out, false));
        trial_commit(s, join, mark);
        return;
    }
    if (!tra_place_is_partial(&s->place[q])) {
        begin_join(s, join, w, st, in);
        trial_offer(s, agg->id, q, trial_push(s, TRA_PLAN_JOINAGG, agg, in[0], in[1], q, false));
        trial_commit(s, agg, mark);
        return;
    }
    int m = targets(s, agg, q, to);
    for (int j = 0; j < m; j++) {
        mark = s->nsteps;
        begin_join(s, join, w, st, in);
        complete(s, agg, trial_push(s, TRA_PLAN_JOINAGG, agg, in[0], in[1], q, true), q, to[j]);
        trial_commit(s, agg, mark);
    }
    if (!countable(s, &join->type)) return;
    /* the join's output exchanged by the group, then aggregated once */
    tra_placement p = tra_place_within(join->type.cat, s->o->sites, &agg->group);
    int by_group = place_intern(s, &p), done = map_place(s, agg, by_group);
    mark = s->nsteps;
    begin_join(s, join, w, st, in);
    const step *x = trial_push(s, TRA_PLAN_JOIN, join, in[0], in[1], out, false);
    trial_traffic(s, move_traffic(s, join, false, out, by_group), join->type.dtype);
    x = trial_push(s, TRA_PLAN_SHUF, join, x, NULL, by_group, false);
    trial_work(s, step_work(s, TRA_PLAN_AGG, agg, by_group), NULL, agg->type.dtype);
    trial_offer(s, agg->id, done, trial_push(s, TRA_PLAN_AGG, agg, x, NULL, done, false));
    trial_commit(s, agg, mark);
}

/* Every site doing all of the work saves no work, but an exchange of a small result, or of none when both inputs are
 * everywhere anyway. Other ways are always worthwhile. */
static bool everywhere_worthwhile(const search *s, const tra_node *join, const tra_way *w, const state *st) {
    if (s->o->sites == 1 || !tra_place_is_all(&w->out) || s->ways[join->id].n == 1) return true;
    if (join->type.cat->n < s->o->sites) return true;
    if (tra_kernel_props(join->kernel) & TRA_P_CONTRACTION) return false;
    for (int side = 0; side < 2; side++) {
        bool there = false;
        for (int i = 0; i < st->n; i++) {
            there |= st->v[i].node == join->in[side]->id && st->v[i].place != ANY &&
                     tra_place_is_all(&s->place[st->v[i].place]);
        }
        if (!there) return false;
    }
    return true;
}

/* The ways of a join: those that were enumerated, and those that take an input as it is. */
static void expand_joins(search *s, const tra_node *join, const tra_node *agg, const state *st) {
    tra_ways ways = {0};
    const tra_ways *base = &s->ways[join->id];
    ways.n = ways.cap = base->n;
    ways.v = tra_malloc((size_t)base->n * sizeof *ways.v);
    memcpy(ways.v, base->v, (size_t)base->n * sizeof *ways.v);
    for (int i = 0; i < st->n; i++) {
        for (int side = 0; side < 2; side++) {
            if (st->v[i].place == ANY || st->v[i].node != join->in[side]->id) continue;
            tra_join_way_from(&s->labels[join->id], &s->place[st->v[i].place], side, &ways);
        }
    }
    for (int i = 0; i < ways.n; i++) {
        if (everywhere_worthwhile(s, join, &ways.v[i], st)) expand_join(s, join, agg, st, &ways.v[i]);
    }
    free(ways.v);
}

void expand_node(search *s, const tra_node *n, const state *st) {
    switch (n->op) {
    case TRA_OP_INPUT: expand_input(s, n, st); break;
    case TRA_OP_JOIN: expand_joins(s, n, NULL, st); break;
    case TRA_OP_AGG:
        if (n->in[0]->op == TRA_OP_JOIN && s->fused[n->in[0]->id] == n->id)
            expand_joins(s, n->in[0], n, st);
        else
            expand_agg(s, n, st);
        break;
    case TRA_OP_REPART: expand_repart(s, n, st); break;
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TRANSFORM:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT: expand_map(s, n, st); break;
    }
}
