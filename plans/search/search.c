/* search.c - a beam search over the ways to place each operator of a program.
 *
 * Nodes are expanded in program order. A state is what is available where after the nodes so far, and what that cost.
 * Each node is expanded by every way to place it that ia.h offers; exchanges are enforcers, inserted when a placement
 * is needed that is not there, and what they bring stays available to later consumers. Of states that agree in what is
 * available and in the strategies of the joins, the cheapest stays. The beam keeps the cheapest states and, first of
 * all, the cheapest of each availability, so that small programs are searched exactly.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search_int.h"

enum { BEAM = 256, NARROW = 64, CHUNK = 4096, MAXTARGET = 24, FEWTARGETS = 8 };

/* ---- costs of steps ----------------------------------------------------------------------------------------- */

tra_traffic move_traffic(search *s, const tra_node *n, bool partial, int from, int to) {
    bool fresh;
    memo_entry *m = memo_find(s, partial ? MEMO_MOVE_PARTIAL : MEMO_MOVE, n->id, from, to, &fresh);
    const tra_catalog *c = partial ? s->partial[n->id].cat : n->type.cat;
    if (fresh) m->traffic = tra_traffic_exchange(&s->place[from], &s->place[to], c);
    return m->traffic;
}

tra_traffic repart_traffic(search *s, const tra_node *n, int from, int to) {
    bool fresh;
    memo_entry *m = memo_find(s, MEMO_REPART, n->id, from, to, &fresh);
    if (fresh) m->traffic = tra_traffic_repart(&s->place[from], &n->in[0]->type, &s->place[to], &n->type);
    return m->traffic;
}

tra_work step_work(search *s, tra_plan_op op, const tra_node *n, int p) {
    bool fresh;
    memo_entry *m = memo_find(s, op == TRA_PLAN_MERGE ? MEMO_MERGE : MEMO_WORK, n->id, p, 0, &fresh);
    if (!fresh) return m->work;
    tra_work w = {0};
    switch (op) {
    case TRA_PLAN_JOIN:
    case TRA_PLAN_JOINAGG:
        w = tra_work_join(n->kernel, &s->labels[n->id], n->in[0]->type.cat, n->in[1]->type.cat, n->type.cat,
                          &s->place[p]);
        break;
    case TRA_PLAN_AGG: w = tra_work_each(n->kernel, TRA_USE_AGG, n->in[0]->type.cat, &s->place[p]); break;
    case TRA_PLAN_MAP: w = tra_work_each(n->kernel, TRA_USE_MAP, n->in[0]->type.cat, &s->place[p]); break;
    case TRA_PLAN_MERGE: w = tra_work_each(n->kernel, TRA_USE_AGG, s->partial[n->id].cat, &s->place[p]); break;
    case TRA_PLAN_INPUT:
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY:
    case TRA_PLAN_TILE:
    case TRA_PLAN_CONCAT:
    case TRA_PLAN_REPART:
    case TRA_PLAN_BCAST:
    case TRA_PLAN_SHUF:
    case TRA_PLAN_OUTPUT:
    case TRA_PLAN_COUNT: break;
    }
    return m->work = w;
}

int map_place(search *s, const tra_node *n, int p) {
    bool fresh;
    memo_entry *m = memo_find(s, MEMO_MAP, n->id, p, 0, &fresh);
    if (!fresh) return m->place;
    tra_placement from = s->place[p], to;
    const tra_catalog *in = n->in[0]->type.cat, *out = n->type.cat;
    bool ok = false;
    switch (n->op) {
    case TRA_OP_TRANSFORM: to = from, ok = true; break;
    case TRA_OP_FILTER: ok = tra_place_filter(s->a, &from, in, out, &to); break;
    case TRA_OP_REKEY: ok = tra_place_rekey(s->a, &from, in, out, n->keyfn, &to); break;
    case TRA_OP_TILE: ok = tra_place_tile(s->a, &from, in, out, &to); break;
    case TRA_OP_CONCAT: ok = tra_place_concat(&from, n->keydim, &to); break;
    case TRA_OP_AGG: ok = tra_place_agg(&from, &n->group, &to); break;
    case TRA_OP_INPUT:
    case TRA_OP_JOIN:
    case TRA_OP_REPART: break;
    }
    return m->place = ok ? place_intern(s, &to) : -1;
}

/* ---- the trial: the state that is being extended ------------------------------------------------------------- */

static step *new_step(search *s) {
    int64_t c = s->nsteps / CHUNK;
    if (c == s->nchunks) {
        s->chunk = tra_realloc(s->chunk, (size_t)(c + 1), sizeof *s->chunk);
        s->chunk[s->nchunks++] = tra_calloc(CHUNK, sizeof(step));
    }
    return &s->chunk[c][s->nsteps++ % CHUNK];
}

static const step *push(search *s, tra_plan_op op, const tra_node *n, const step *l, const step *r, int place,
                        bool partial) {
    step *x = new_step(s);
    *x = (step){.prev = s->trial.last, .op = op, .node = n, .in = {l, r}, .place = place, .partial = partial};
    return s->trial.last = x;
}

static void begin(search *s, const state *st) {
    avail *v = s->trial.v;
    if (s->captrial < st->n + 8) {
        s->captrial = 2 * (st->n + 8);
        v = tra_realloc(v, (size_t)s->captrial, sizeof *v);
    }
    if (st->n) memcpy(v, st->v, (size_t)st->n * sizeof *v);
    s->trial = *st;
    s->trial.v = v;
}

/* Adds an entry, the entries ordered by node and then by placement. */
static void offer(search *s, int node, int place, const step *by) {
    state *t = &s->trial;
    if (t->n + 1 > s->captrial) {
        s->captrial *= 2;
        t->v = tra_realloc(t->v, (size_t)s->captrial, sizeof *t->v);
    }
    int at = t->n++;
    while (at > 0 && (t->v[at - 1].node > node || (t->v[at - 1].node == node && t->v[at - 1].place > place))) {
        t->v[at] = t->v[at - 1];
        at--;
    }
    t->v[at] = (avail){node, place, by};
}

static void spend_traffic(search *s, tra_traffic t, tra_dtype dtype) {
    size_t size = tra_dtype_size(dtype);
    s->trial.cost.floats += t.floats;
    s->trial.cost.bytes += t.moved * (int64_t)size;
    s->trial.cost.seconds += (double)t.most * (double)size / s->o->rates.network;
}

static void spend_work(search *s, tra_work w, const tra_kernel *k, tra_dtype dtype) {
    s->trial.cost.flops += w.total;
    s->trial.cost.seconds += tra_work_seconds(k, dtype, w.busiest, &s->o->rates);
}

static double scalar(const search *s, const spent *c) { return s->o->cost == TRA_COST_TRA ? c->floats : c->seconds; }

/* Less, more, or 0 for equal. */
static int compare(const search *s, const state *a, const state *b) {
    double x = scalar(s, &a->cost), y = scalar(s, &b->cost);
    if (x != y) return x < y ? -1 : 1;
    if (a->cost.flops != b->cost.flops) return a->cost.flops < b->cost.flops ? -1 : 1;
    if (a->cost.bytes != b->cost.bytes) return a->cost.bytes < b->cost.bytes ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static avail *entry(search *s, int node, int place) {
    for (int i = 0; i < s->trial.n; i++) {
        if (s->trial.v[i].node == node && s->trial.v[i].place == place) return &s->trial.v[i];
    }
    return NULL;
}

/* The input is from now on placed so of itself. */
static const step *own(search *s, avail *x, int place) {
    const step *by = x->by;
    int node = x->node;
    memmove(x, x + 1, (size_t)(s->trial.v + --s->trial.n - x) * sizeof *x);
    push(s, (tra_plan_op)OWN, s->g->v[node], NULL, NULL, place, false);
    offer(s, node, place, by);
    return by;
}

/* Brings node n to a placement, by the cheapest exchange if it is not there, and returns what made it. */
static const step *ensure(search *s, const tra_node *n, int place) {
    const tra_placement *q = &s->place[place];
    avail *there = entry(s, n->id, place), *any = entry(s, n->id, ANY);
    if (there) return there->by;
    if (any && tra_place_copies(q) == 1) return own(s, any, place);
    const step *from = NULL;
    tra_traffic least = {0};
    for (int i = 0; i < s->trial.n; i++) {
        const avail *x = &s->trial.v[i];
        tra_traffic t;
        if (x->node != n->id) continue;
        if (x->place == ANY) { /* of itself it will be where it saves one copy of each tuple */
            double f = (double)tra_catalog_floats(n->type.cat), c = tra_place_copies(q);
            t = (tra_traffic){c * f, (int64_t)(f * (c - 1)), (int64_t)(f * (c - 1) / q->sites)};
        } else {
            t = move_traffic(s, n, false, x->place, place);
        }
        if (from && (t.floats > least.floats || (t.floats == least.floats && t.moved >= least.moved))) continue;
        from = x->by;
        least = t;
    }
    assert(from);
    spend_traffic(s, least, n->type.dtype);
    bool all = tra_place_is_all(&s->place[place]);
    const step *by = push(s, all ? TRA_PLAN_BCAST : TRA_PLAN_SHUF, n, from, NULL, place, false);
    offer(s, n->id, place, by);
    return by;
}

/* ---- the beam ----------------------------------------------------------------------------------------------- */

static uint64_t hash_avail(const state *t) {
    uint64_t h = 0;
    for (int i = 0; i < t->n; i++) {
        int v[2] = {t->v[i].node, t->v[i].place};
        h = XXH64(v, sizeof v, h);
    }
    return h;
}

static void table_grow(search *s) {
    s->captable = s->captable ? 2 * s->captable : 1024;
    s->nexttable = tra_realloc(s->nexttable, (size_t)s->captable, sizeof *s->nexttable);
    for (int i = 0; i < s->captable; i++) s->nexttable[i] = -1;
    for (int i = 0; i < s->nnext; i++) {
        uint64_t at = s->next[i].avail_hash ^ s->next[i].strategy_hash;
        while (s->nexttable[at & (uint64_t)(s->captable - 1)] >= 0) at++;
        s->nexttable[at & (uint64_t)(s->captable - 1)] = i;
    }
}

/* Ends a trial: outputs, what no one needs any more, and into the next beam if it is the cheapest of its kind. Steps
 * made since mark are taken back when it is not. */
static void commit(search *s, const tra_node *n, int64_t mark) {
    state *t = &s->trial;
    for (int i = 0; i < s->g->noutputs; i++) {
        const step *by = NULL;
        int copies = 0, place = 0;
        if (s->g->outputs[i].node != n) continue;
        avail *any = entry(s, n->id, ANY);
        if (any) own(s, any, s->want[n->id].v[0]);
        for (int j = 0; j < t->n; j++) {
            if (t->v[j].node != n->id) continue;
            int c = tra_place_copies(&s->place[t->v[j].place]);
            if (!by || c < copies) by = t->v[j].by, copies = c, place = t->v[j].place;
        }
        push(s, TRA_PLAN_OUTPUT, n, by, NULL, place, false);
    }
    int m = 0;
    for (int i = 0; i < t->n; i++) {
        if (s->last_use[t->v[i].node] > n->id) t->v[m++] = t->v[i];
    }
    t->n = m;
    t->avail_hash = hash_avail(t);
    t->seq = s->seq++;
    if (2 * (s->nnext + 1) > s->captable) table_grow(s);
    uint64_t at = t->avail_hash ^ t->strategy_hash;
    for (;; at++) {
        int *slot = &s->nexttable[at & (uint64_t)(s->captable - 1)];
        if (*slot < 0) {
            if (s->nnext == s->capnext) {
                s->capnext = s->capnext ? 2 * s->capnext : 256;
                s->next = tra_realloc(s->next, (size_t)s->capnext, sizeof *s->next);
            }
            *slot = s->nnext++;
        } else {
            state *x = &s->next[*slot];
            if (x->avail_hash != t->avail_hash || x->strategy_hash != t->strategy_hash) continue;
            if (compare(s, t, x) >= 0) {
                s->nsteps = mark;
                return;
            }
        }
        avail *v = tra_news(s->work, avail, t->n);
        if (t->n) memcpy(v, t->v, (size_t)t->n * sizeof *v);
        s->next[*slot] = *t;
        s->next[*slot].v = v;
        return;
    }
}

static const search *sorting; /* for qsort; the search runs on one thread */
static int by_cost(const void *a, const void *b) { return compare(sorting, a, b); }

/* The next beam becomes the beam, cut to its width. */
static void advance(search *s) {
    sorting = s;
    qsort(s->next, (size_t)s->nnext, sizeof *s->next, by_cost);
    state *kept = tra_malloc((size_t)(s->nnext ? s->nnext : 1) * sizeof *kept);
    bool *in = tra_calloc((size_t)(s->nnext ? s->nnext : 1), sizeof *in);
    int n = 0;
    if (s->nnext <= BEAM) {
        for (; n < s->nnext; n++) in[n] = true;
    } else { /* up to half: the cheapest of each availability; then the cheapest */
        uint64_t seen[BEAM];
        for (int i = 0; i < s->nnext && n < BEAM / 2; i++) {
            bool old = false;
            for (int j = 0; j < n; j++) old |= seen[j] == s->next[i].avail_hash;
            if (!old) in[i] = true, seen[n++] = s->next[i].avail_hash;
        }
        for (int i = 0; i < s->nnext && n < BEAM; i++) {
            if (!in[i]) in[i] = true, n++;
        }
    }
    n = 0;
    for (int i = 0; i < s->nnext; i++) {
        if (in[i]) kept[n++] = s->next[i];
    }
    free(in);
    free(s->beam);
    s->beam = kept;
    s->nbeam = n;
    s->nnext = 0;
    for (int i = 0; i < s->captable; i++) s->nexttable[i] = -1;
}

/* ---- expanding nodes ---------------------------------------------------------------------------------------- */

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
    begin(s, st);
    offer(s, n->id, place, push(s, TRA_PLAN_INPUT, n, NULL, NULL, place, false));
    commit(s, n, mark);
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
    begin(s, st);
    const step *in = ensure(s, n->in[0], p);
    spend_work(s, step_work(s, op, n, p), NULL, n->type.dtype);
    offer(s, n->id, q, push(s, op, n, in, NULL, q, false));
    commit(s, n, mark);
    return true;
}

static void expand_map(search *s, const tra_node *n, const state *st) {
    places c = candidates(s, n->in[0], st);
    int ran = 0;
    for (int i = 0; i < c.n; i++) ran += run_at(s, n, st, c.v[i]);
    if (ran == 0 ||
        n->op == TRA_OP_CONCAT) { /* after an exchange: what is placed tuple by tuple, or by the key that goes */
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
    spend_traffic(s, move_traffic(s, n, true, p, q), s->partial[n->id].dtype);
    const step *bag = push(s, TRA_PLAN_SHUF, n, summands, NULL, q, true);
    tra_work w = step_work(s, TRA_PLAN_MERGE, n, q);
    double c = tra_place_summands(&s->place[p]);
    spend_work(s, (tra_work){c * w.total, c * w.busiest}, NULL, n->type.dtype);
    offer(s, n->id, q, push(s, TRA_PLAN_MERGE, n, bag, NULL, q, false));
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
        begin(s, st);
        const step *in = ensure(s, x, p);
        spend_work(s, step_work(s, TRA_PLAN_AGG, n, p), NULL, n->type.dtype);
        complete(s, n, push(s, TRA_PLAN_AGG, n, in, NULL, q, true), q, to[j]);
        commit(s, n, mark);
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
    tra_placement p = tra_place_within(x->type.cat, s->o->sites, &n->group); /* fewer groups than sites: some stay idle */
    run_at(s, n, st, place_intern(s, &p));
}

static void expand_repart(search *s, const tra_node *n, const state *st) {
    places c = candidates(s, n->in[0], st);
    for (int i = 0; i < c.n; i++) {
        for (int j = 0; j < s->want[n->id].n; j++) {
            int q = s->want[n->id].v[j];
            int64_t mark = s->nsteps;
            if (tra_place_copies(&s->place[q]) > 1) continue;
            begin(s, st);
            const step *in = ensure(s, n->in[0], c.v[i]);
            spend_traffic(s, repart_traffic(s, n, c.v[i], q), n->type.dtype);
            offer(s, n->id, q, push(s, TRA_PLAN_REPART, n, in, NULL, q, false));
            commit(s, n, mark);
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
    begin(s, st);
    in[0] = ensure(s, join->in[0], l);
    in[1] = ensure(s, join->in[1], r);
    spend_work(s, step_work(s, TRA_PLAN_JOIN, join, place_intern(s, &w->out)), join->kernel, join->type.dtype);
    add_strategy(s, join, w);
}

/* Bytes are counted in 63 bits, of all copies together. */
static bool countable(const search *s, const tra_type *t) {
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
        offer(s, join->id, out, push(s, TRA_PLAN_JOIN, join, in[0], in[1], out, false));
        commit(s, join, mark);
        return;
    }
    if (!tra_place_is_partial(&s->place[q])) {
        begin_join(s, join, w, st, in);
        offer(s, agg->id, q, push(s, TRA_PLAN_JOINAGG, agg, in[0], in[1], q, false));
        commit(s, agg, mark);
        return;
    }
    int m = targets(s, agg, q, to);
    for (int j = 0; j < m; j++) {
        mark = s->nsteps;
        begin_join(s, join, w, st, in);
        complete(s, agg, push(s, TRA_PLAN_JOINAGG, agg, in[0], in[1], q, true), q, to[j]);
        commit(s, agg, mark);
    }
    if (!countable(s, &join->type)) return;
    /* the join's output exchanged by the group, then aggregated once */
    tra_placement p = tra_place_within(join->type.cat, s->o->sites, &agg->group);
    int by_group = place_intern(s, &p), done = map_place(s, agg, by_group);
    mark = s->nsteps;
    begin_join(s, join, w, st, in);
    const step *x = push(s, TRA_PLAN_JOIN, join, in[0], in[1], out, false);
    spend_traffic(s, move_traffic(s, join, false, out, by_group), join->type.dtype);
    x = push(s, TRA_PLAN_SHUF, join, x, NULL, by_group, false);
    spend_work(s, step_work(s, TRA_PLAN_AGG, agg, by_group), NULL, agg->type.dtype);
    offer(s, agg->id, done, push(s, TRA_PLAN_AGG, agg, x, NULL, done, false));
    commit(s, agg, mark);
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

static void expand(search *s, const tra_node *n, const state *st) {
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

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static tra_status partial_types(search *s, tra_err *e) {
    for (int i = 0; i < s->g->n; i++) {
        const tra_node *n = s->g->v[i];
        const char *warn;
        if (!s->needed[i] || n->op != TRA_OP_AGG) continue;
        tra_node local = *n;
        local.kernel = tra_kernel_first(n->kernel);
        TRA_TRY(tra_node_type(s->a, &local, &warn, e));
        local.type.dtype = tra_agg_state_dtype(n->kernel, n->in[0]->type.dtype);
        /* a contraction that BLAS accumulates has its sums, and so its summands, in the type of its operands */
        const tra_node *j = n->in[0];
        if (j->op == TRA_OP_JOIN && s->fused[j->id] == n->id && j->in[0]->type.dtype == j->in[1]->type.dtype &&
            tra_kernel_fuses(j->kernel, local.kernel))
            local.type.dtype = j->type.dtype;
        s->partial[i] = local.type;
    }
    return TRA_OK;
}

static tra_status check_sizes(const search *s, tra_err *e) {
    for (int i = 0; i < s->g->n; i++) {
        const tra_node *n = s->g->v[i];
        if (!s->needed[i] || s->fused[i] >= 0 || countable(s, &n->type)) continue;
        return tra_fail(e, TRA_PROGRAM, "%s%s is too large to plan: on %d sites it may take more than 2^61 bytes",
                        n->name ? "relation " : "the result of ", n->name ? n->name : tra_opcode_text(n->op),
                        s->o->sites);
    }
    return TRA_OK;
}

static tra_status search_all(search *s, tra_err *e) {
    prepare(s);
    TRA_TRY(check_sizes(s, e));
    TRA_TRY(partial_types(s, e));
    s->beam = tra_calloc(1, sizeof *s->beam);
    s->nbeam = 1;
    table_grow(s);
    for (int i = 0; i < s->g->n; i++) {
        if (!s->needed[i] || s->fused[i] >= 0) continue;
        for (int j = 0; j < s->nbeam; j++) expand(s, s->g->v[i], &s->beam[j]);
        advance(s);
        assert(s->nbeam > 0);
    }
    return TRA_OK;
}

static int compare_plans(const void *a, const void *b) {
    const tra_plan *x = *(tra_plan *const *)a, *y = *(tra_plan *const *)b;
    double cx = tra_cost_scalar(&x->cost, sorting->o->cost), cy = tra_cost_scalar(&y->cost, sorting->o->cost);
    int64_t dx = x->cost.disk_read + x->cost.disk_write, dy = y->cost.disk_read + y->cost.disk_write;
    if (cx != cy) return cx < cy ? -1 : 1;
    if (x->cost.flops != y->cost.flops) return x->cost.flops < y->cost.flops ? -1 : 1;
    if (dx != dy) return dx < dy ? -1 : 1;
    if (x->cost.peak_memory != y->cost.peak_memory) return x->cost.peak_memory < y->cost.peak_memory ? -1 : 1;
    tra_str tx = {0}, ty = {0};
    tra_plan_print(x, &tx);
    tra_plan_print(y, &ty);
    int c = strcmp(tra_str_get(&tx), tra_str_get(&ty));
    tra_str_free(&tx);
    tra_str_free(&ty);
    return c;
}

/* The plans of the beam's states, those that fit if there are any, ranked. */
static tra_status rank(search *s, tra_plans *out, tra_err *e) {
    int n = 0;
    int64_t least = INT64_MAX;
    tra_plan **v = tra_news(s->a, tra_plan *, s->nbeam);
    for (int pass = 0; pass < 2 && n == 0; pass++) {
        for (int i = 0; i < s->nbeam; i++) {
            tra_plan *p = finish_plan(s, &s->beam[i]);
            least = tra_min64(least, p->least_memory);
            if (pass == 1 || p->memory == 0 || p->least_memory <= p->memory) {
                if (pass == 1) p->memory = 0;
                v[n++] = p;
            }
        }
        if (n == 0 && !s->o->over) break;
    }
    if (n == 0) {
        char have[32], want[32];
        return tra_fail(e, TRA_RESOURCE,
                        "no plan fits in a memory ceiling of %s per site; the least that would do is %s "
                        "(--memory %" PRId64 ")",
                        tra_human(s->o->memory, have), tra_human(least, want), least);
    }
    sorting = s;
    qsort(v, (size_t)n, sizeof *v, compare_plans);
    out->n = (int)tra_min64(n, TRA_MAXPLANS);
    out->v = v;
    for (int i = 0; i < out->n; i++) v[i]->rank = i + 1;
    return TRA_OK;
}

tra_status tra_search(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out, tra_err *e) {
    if (o->cost == TRA_COST_EINDECOMP)
        return tra_fail(e, TRA_USAGE, "the cost model eindecomp is not available yet; use time or tra");
    search s = {.g = g, .o = o, .a = a, .work = tra_arena_new()};
    tra_status st = search_all(&s, e);
    if (st == TRA_OK) st = rank(&s, out, e);
    for (int i = 0; s.want && i < g->n; i++) free(s.want[i].v), free(s.ways[i].v);
    for (int64_t i = 0; i < s.nchunks; i++) free(s.chunk[i]);
    free(s.chunk);
    free(s.trial.v);
    free(s.beam);
    free(s.next);
    free(s.nexttable);
    free(s.memo);
    free(s.place);
    free(s.placetable);
    tra_arena_free(s.work);
    return st;
}
