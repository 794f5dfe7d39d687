/* beam.c - the state that is being extended, and which of the extended states are kept. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search_int.h"

enum { BEAM = 256, CHUNK = 4096 };

/* ---- the trial -------------------------------------------------------------------------------------------------- */

static step *new_step(search *s) {
    int64_t c = s->nsteps / CHUNK;
    if (c == s->nchunks) {
        s->chunk = tra_realloc(s->chunk, (size_t)(c + 1), sizeof *s->chunk);
        s->chunk[s->nchunks++] = tra_calloc(CHUNK, sizeof(step));
    }
    return &s->chunk[c][s->nsteps++ % CHUNK];
}

const step *trial_push(search *s, tra_plan_op op, const tra_node *n, const step *l, const step *r, int place,
                        bool partial) {
    step *x = new_step(s);
    *x = (step){.prev = s->trial.last, .op = op, .node = n, .in = {l, r}, .place = place, .partial = partial};
    return s->trial.last = x;
}

void trial_begin(search *s, const state *st) {
    avail *v = s->trial.v;
    if (s->captrial < st->n + 8) {
        s->captrial = 2 * (st->n + 8);
        v = tra_realloc(v, (size_t)s->captrial, sizeof *v);
    }
    if (st->n) memcpy(v, st->v, (size_t)st->n * sizeof *v);
    s->trial = *st;
    s->trial.v = v;
}

/* The entries are ordered by node and then by placement. */
void trial_offer(search *s, int node, int place, const step *by) {
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

void trial_traffic(search *s, tra_traffic t, tra_dtype dtype) {
    size_t size = tra_dtype_size(dtype);
    s->trial.cost.floats += t.floats;
    s->trial.cost.bytes += t.moved * (int64_t)size;
    s->trial.cost.seconds += (double)t.most * (double)size / s->o->rates.network;
}

void trial_work(search *s, tra_work w, const tra_kernel *k, tra_dtype dtype) {
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
    trial_push(s, (tra_plan_op)OWN, s->g->v[node], NULL, NULL, place, false);
    trial_offer(s, node, place, by);
    return by;
}

const step *trial_ensure(search *s, const tra_node *n, int place) {
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
    trial_traffic(s, least, n->type.dtype);
    bool all = tra_place_is_all(&s->place[place]);
    const step *by = trial_push(s, all ? TRA_PLAN_BCAST : TRA_PLAN_SHUF, n, from, NULL, place, false);
    trial_offer(s, n->id, place, by);
    return by;
}

/* ---- the beam --------------------------------------------------------------------------------------------------- */

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

void trial_commit(search *s, const tra_node *n, int64_t mark) {
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
        trial_push(s, TRA_PLAN_OUTPUT, n, by, NULL, place, false);
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

static int by_cost(const void *a, const void *b, void *s) { return compare(s, a, b); }

void beam_advance(search *s) {
    qsort_r(s->next, (size_t)s->nnext, sizeof *s->next, by_cost, s);
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
