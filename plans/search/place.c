/* place.c - placements by number, and what operators cost and where they lead, computed once. */
#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

#include "../../lib/physical/needs.h"
#include "search_int.h"

static uint64_t place_hash(const tra_placement *p) {
    uint64_t h = XXH64(&p->owner, sizeof p->owner, (uint64_t)p->naxes);
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *x = &p->axis[i];
        int64_t head[3] = {x->kind, x->sites, x->n};
        h = XXH64(head, sizeof head, h);
        h = XXH64(x->dim, (size_t)x->n * sizeof x->dim[0], h);
        h = XXH64(x->ext, (size_t)x->n * sizeof x->ext[0], h);
    }
    return h;
}

static void normalise(const tra_placement *p, tra_placement *q) {
    *q = (tra_placement){.sites = p->sites, .owner = p->owner};
    for (int i = 0; i < p->naxes && !p->owner; i++) {
        tra_axis x = {.kind = p->axis[i].kind, .sites = p->axis[i].sites};
        if (x.sites == 1) continue;
        for (int j = 0; x.kind == TRA_AXIS_PART && j < p->axis[i].n; j++) {
            if (p->axis[i].ext[j] <= 1) continue;
            x.dim[x.n] = p->axis[i].dim[j];
            x.ext[x.n++] = p->axis[i].ext[j];
        }
        q->axis[q->naxes++] = x;
    }
    if (!p->owner && tra_place_copies(q) == p->sites) *q = tra_place_all(p->sites);
}

static void rehash(places *t) {
    free(t->table);
    t->ntable = t->ntable ? 2 * t->ntable : 256;
    t->table = tra_malloc((size_t)t->ntable * sizeof *t->table);
    for (int i = 0; i < t->ntable; i++) t->table[i] = -1;
    for (int i = 0; i < t->n; i++) {
        uint64_t at = place_hash(&t->v[i]);
        while (t->table[at & (uint64_t)(t->ntable - 1)] >= 0) at++;
        t->table[at & (uint64_t)(t->ntable - 1)] = i;
    }
}

int tra_places_add(places *t, const tra_placement *p) {
    if (2 * (t->n + 1) > t->ntable) rehash(t);
    uint64_t mask = (uint64_t)t->ntable - 1, at = place_hash(p);
    for (;; at++) {
        int i = t->table[at & mask];
        if (i < 0) break;
        if (tra_place_eq(&t->v[i], p)) return i;
    }
    TRA_ROOM(t->v, t->n, t->cap);
    t->v[t->n] = *p;
    return t->table[at & mask] = t->n++;
}

int tra_place_intern(search *s, const tra_placement *p) {
    tra_placement q;
    normalise(p, &q);
    return tra_places_add(&s->places, &q);
}

enum {
    MEMO_MOVE,
    MEMO_SUMMANDS,
    MEMO_EXACT,
    MEMO_EXACT_PARTIAL,
    MEMO_REPART,
    MEMO_WORK,
    MEMO_MAP,
    MEMO_MERGE,
    MEMO_TRIANGLE,
    MEMO_SAMPLE,
    MEMO_SAMPLE_PARTIAL
};

static bool is_map(const memo_entry *m) { return m->key >> 60 == MEMO_MAP + 1; }

/* Makes a new hash table of the costs. If `forget`, costs are dropped and only the placements of results are kept: a
 * placement with an owner for each tuple is known by its number, and would get another number if it were computed
 * again. */
static void copy_memo(search *s, int64_t cap, bool forget) {
    memo_entry *old = s->costs.v;
    int64_t n = s->costs.cap;
    s->costs.v = tra_calloc((size_t)cap, sizeof *s->costs.v);
    s->costs.cap = cap;
    s->costs.n = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!old[i].key || (forget && !is_map(&old[i]))) continue;
        uint64_t at = XXH64(&old[i].key, sizeof old[i].key, 0);
        while (s->costs.v[at & (uint64_t)(s->costs.cap - 1)].key) at++;
        s->costs.v[at & (uint64_t)(s->costs.cap - 1)] = old[i];
        s->costs.n++;
    }
    free(old);
    if (!forget) return;
    tra_arena_free(s->samples);
    s->samples = tra_arena_new();
    s->costs.forgotten++;
}

static int64_t count_maps(const search *s) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->costs.cap; i++) n += is_map(&s->costs.v[i]);
    return n;
}

static void make_room(search *s) {
    enum { LEAST = 1 << 10, LARGE = 1 << 18 };
    bool forget = s->costs.cap >= LARGE && 4 * count_maps(s) < s->costs.cap;
    copy_memo(s, forget ? s->costs.cap : tra_max64(LEAST, 2 * s->costs.cap), forget);
}

void tra_costs_forget(search *s) {
    int64_t cap = s->costs.cap, maps = count_maps(s);
    while (cap > 4 * (maps + 1)) cap /= 2;
    copy_memo(s, cap, true);
}

/* The entry for a question about an expression, or about one that is alike (search.alike): found, or new, and then
 * *fresh is true. Valid until the next call. */
static memo_entry *memo_find(search *s, int kind, const tra_node *n, int p, int q, bool *fresh) {
    int node = s->alike[n->id];
    assert(node < 1 << 20 && p >= 0 && p < 1 << 20 && q >= 0 && q < 1 << 20);
    uint64_t key = (uint64_t)(kind + 1) << 60 | (uint64_t)node << 40 | (uint64_t)p << 20 | (uint64_t)q;
    if (2 * (s->costs.n + 1) > s->costs.cap) make_room(s);
    uint64_t at = XXH64(&key, sizeof key, 0);
    for (;; at++) {
        memo_entry *m = &s->costs.v[at & (uint64_t)(s->costs.cap - 1)];
        if (m->key == key) return *fresh = false, m;
        if (m->key) continue;
        s->costs.n++;
        *fresh = true;
        *m = (memo_entry){.key = key};
        return m;
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static const tra_site_sample *sample(search *s, const tra_node *n, bool partial, int p) {
    bool fresh;
    memo_entry *m = memo_find(s, partial ? MEMO_SAMPLE_PARTIAL : MEMO_SAMPLE, n, p, 0, &fresh);
    const tra_catalog *c = partial ? s->summands[n->id].cat : n->type.cat;
    if (fresh) m->sample = tra_boxes_sample(&s->places.v[p], c, s->samples);
    return m->sample;
}

static tra_traffic estimate(search *s, const tra_node *n, bool partial, int from, int to) {
    const tra_catalog *c = partial ? s->summands[n->id].cat : n->type.cat;
    const tra_site_sample *p, *q;
    int64_t before;
    do { /* the second may make room by forgetting the first */
        before = s->costs.forgotten;
        p = sample(s, n, partial, from), q = sample(s, n, partial, to);
    } while (s->costs.forgotten != before);
    return tra_traffic_estimate(&s->places.v[from], &s->places.v[to], c, p, q);
}

tra_traffic tra_summands_traffic(search *s, const tra_node *n, int from, int to) {
    bool fresh;
    memo_entry *m = memo_find(s, MEMO_SUMMANDS, n, from, to, &fresh);
    if (!fresh) return m->traffic;
    tra_traffic t = estimate(s, n, true, from, to);
    return memo_find(s, MEMO_SUMMANDS, n, from, to, &fresh)->traffic = t;
}

int64_t tra_add_move(search *s, spent *c, const tra_node *n, int from, int to) {
    bool fresh;
    memo_entry *m = memo_find(s, MEMO_MOVE, n, from, to, &fresh);
    if (fresh) {
        spent x = {0};
        tra_traffic t = estimate(s, n, false, from, to);
        tra_add_traffic(s, &x, t, &n->type);
        m = memo_find(s, MEMO_MOVE, n, from, to, &fresh);
        m->move = (move_cost){x.floats, x.bytes, x.seconds, t.moved};
    }
    c->floats += m->move.floats;
    c->bytes += m->move.bytes;
    c->seconds += m->move.seconds;
    return m->move.moved;
}

tra_traffic tra_exact_traffic(search *s, const tra_node *n, bool partial, int from, int to) {
    bool fresh;
    memo_entry *m = memo_find(s, partial ? MEMO_EXACT_PARTIAL : MEMO_EXACT, n, from, to, &fresh);
    const tra_catalog *c = partial ? s->summands[n->id].cat : n->type.cat;
    if (fresh) m->traffic = tra_traffic_exchange(&s->places.v[from], &s->places.v[to], c);
    return m->traffic;
}

tra_traffic tra_repart_traffic(search *s, const tra_node *n, int from, int to) {
    bool fresh;
    memo_entry *m = memo_find(s, MEMO_REPART, n, from, to, &fresh);
    if (fresh)
        m->traffic =
            tra_traffic_repart(&s->places.v[from], &n->in[0]->type, &s->places.v[to], &n->type, &n->slice.origin);
    return m->traffic;
}

/* What a join does of a product whose pairs are counted: so many times that of entries whose places are independent. */
static double meets_more(search *s, const tra_node *n, int p, double independent) {
    bool entries = n->join.meeting_pairs > 0 && n->in[0]->type.layout && n->in[1]->type.layout;
    if (!entries || independent <= 0) return 1;
    return 2 * n->join.meeting_pairs * (double)tra_place_copies(&s->places.v[p]) / independent;
}

static tra_work times(tra_work w, double more) {
    w.total *= more, w.busiest *= more;
    w.bound = w.bound > w.total ? w.bound : w.total;
    return w;
}

tra_work tra_step_work(search *s, tra_plan_op op, const tra_node *n, int p) {
    bool fresh;
    memo_entry *m = memo_find(s, op == TRA_PLAN_MERGE ? MEMO_MERGE : MEMO_WORK, n, p, 0, &fresh);
    if (!fresh) return m->work;
    tra_work w = {0};
    switch (op) {
    case TRA_PLAN_JOIN:
    case TRA_PLAN_JOINAGG:
        w = tra_work_join(n->kernel, s->labels[n->id], &n->in[0]->type, &n->in[1]->type, n->type.cat, &s->places.v[p]);
        w = times(w, meets_more(s, n, p, w.total));
        w.busiest += tra_work_finding(n->kernel, &n->in[0]->type, &n->in[1]->type, n->type.cat, &s->places.v[p]);
        break;
    case TRA_PLAN_AGG: w = tra_work_each(n->kernel, TRA_USE_AGG, &n->in[0]->type, &s->places.v[p]); break;
    case TRA_PLAN_MAP: w = tra_work_each(n->kernel, TRA_USE_MAP, &n->in[0]->type, &s->places.v[p]); break;
    case TRA_PLAN_MERGE: w = tra_work_each(n->kernel, TRA_USE_AGG, &s->summands[n->id], &s->places.v[p]); break;
    case TRA_PLAN_INPUT:
    case TRA_PLAN_READALL:
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY:
    case TRA_PLAN_TILE:
    case TRA_PLAN_CONCAT:
    case TRA_PLAN_REPART:
    case TRA_PLAN_BCAST:
    case TRA_PLAN_SHUF:
    case TRA_PLAN_OUTPUT:
    case TRA_PLAN_LOOP_OPS:
    case TRA_PLAN_COUNT: break;
    }
    return m->work = w;
}

const tra_kernel *tra_reading_kernel(search *s, const tra_node *n) {
    const tra_kernel *turn = NULL;
    tra_err none = {0};
    if (n->input.transposed || !n->input.rel || !tra_rel_transposed(n->input.rel)) return NULL;
    return tra_kernel_named(s->a, "transpose", TRA_USE_MAP, 0, NULL, &turn, &none) == TRA_OK ? turn : NULL;
}

tra_work tra_reading_work(search *s, const tra_node *n, int p) {
    const tra_kernel *turn = tra_reading_kernel(s, n);
    if (!turn) return (tra_work){0};
    if (p >= 0) return tra_work_each(turn, TRA_USE_MAP, &n->type, &s->places.v[p]);
    tra_placement one = tra_place_all(1); /* it is read wherever it is wanted */
    tra_work w = tra_work_each(turn, TRA_USE_MAP, &n->type, &one);
    w.busiest /= s->o->sites;
    return w;
}

tra_work tra_join_work(search *s, const variant *f, int p) {
    const tra_node *j = &f->join->node;
    bool fresh;
    if (!f->triangle) return tra_step_work(s, TRA_PLAN_JOIN, j, p);
    memo_entry *m = memo_find(s, MEMO_TRIANGLE, j, p, 0, &fresh);
    if (!fresh) return m->work;
    const tra_placement *at = &s->places.v[p];
    const tra_type *t = &j->in[0]->type;
    tra_work w = tra_work_triangle(j->kernel, s->labels[j->id], t, j->type.cat, at, &f->mirror);
    double all =
        j->join.meeting_pairs > 0 ? tra_work_join(j->kernel, s->labels[j->id], t, t, j->type.cat, at).total : 0;
    return m->work = times(w, meets_more(s, j, p, all));
}

int tra_map_place(search *s, const tra_node *n, int p) {
    bool fresh;
    memo_entry *m = memo_find(s, MEMO_MAP, n, p, 0, &fresh);
    if (!fresh) return m->place;
    tra_placement from = s->places.v[p], to;
    const tra_catalog *in = n->in[0]->type.cat, *out = n->type.cat;
    bool ok = false;
    switch (n->op) {
    case TRA_OP_TRANSFORM: to = from, ok = true; break;
    case TRA_OP_REKEY: ok = tra_place_rekey(s->a, &from, in, out, n->keyfn, &to); break;
    case TRA_OP_FILTER:
    case TRA_OP_TILE: ok = tra_place_inherited(s->a, &from, in, out, &to); break;
    case TRA_OP_CONCAT: ok = tra_place_concat(&from, n->keydim, &to); break;
    case TRA_OP_AGG: ok = tra_place_agg(&from, &n->group, &to); break;
    case TRA_OP_INPUT:
    case TRA_OP_JOIN:
    case TRA_OP_REPART: break;
    }
    return m->place = ok ? tra_place_intern(s, &to) : -1;
}

void tra_add_traffic(const search *s, spent *c, tra_traffic t, const tra_type *type) {
    c->floats += t.floats * tra_type_held_share(type);
    c->bytes += (double)tra_type_bytes_of(type, t.moved).expected;
    c->seconds += tra_network_seconds(&s->o->rates, (double)tra_type_bytes_of(type, t.most).expected,
                                      (double)tra_type_bytes_of(type, t.both).expected);
}

void tra_add_work(const search *s, spent *c, tra_work w, const tra_kernel *k, const tra_node *n) {
    const tra_type *r = n->op == TRA_OP_JOIN ? &n->in[1]->type : NULL;
    c->flops += w.total;
    c->seconds += tra_work_seconds(k, &n->in[0]->type, r, &n->type, w.busiest, &s->o->rates);
}

agreed *tra_agreed_of(search *s, const tra_node *n, int from, int place, bool *fresh) {
    agreed *x = s->agreed[n->id];
    while (x && (x->place != place || x->from != from)) x = x->next;
    *fresh = !x;
    if (x) return x;
    x = tra_new(s->work, agreed);
    *x = (agreed){.from = from, .place = place, .next = s->agreed[n->id]};
    return s->agreed[n->id] = x;
}

const tra_op_holds *tra_holds_of(search *s, const tra_node *n, int place) {
    bool fresh;
    agreed *x = tra_agreed_of(s, n, -1, place, &fresh);
    if (fresh) x->holds = tra_op_holds_of(&n->type, &s->places.v[place]);
    return &x->holds;
}
