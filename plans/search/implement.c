/* implement.c - the ways to make a group: each operator at each placement of its inputs, with what that costs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../../lib/kernel/rows_cut.h"
#include "../../lib/physical/tree.h"
#include "search_int.h"

tra_plan_op tra_operator_of(tra_opcode op) {
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

static int add_implementation(search *s, int g, const implementation *m) {
    TRA_ROOM(s->implementations.v, s->implementations.n, s->implementations.cap);
    implementation *x = tra_new(s->kept, implementation);
    *x = *m;
    x->id = s->implementations.n;
    x->inlined_by = -1;
    s->implementations.v[s->implementations.n] = x;
    if (!x->inlined) tra_add_number(&s->group[g].implementations, s->implementations.n);
    return s->implementations.n++;
}

/* If f aggregates with a join of another group: the implementation of the join's group that says so, so that the join
 * is not computed by itself as well; else -1. */
static int inline_join(search *s, int g, const variant *f) {
    int h = f->join && f->join != f->x ? s->at[f->x->in[0]] : -1;
    const numbers *v = &s->group[g].implementations;
    if (h < 0 || s->group[h].absorbed) return -1;
    for (int i = v->n - 1; i >= 0; i--) {
        if (s->implementations.v[v->v[i]]->f == f && s->implementations.v[v->v[i]]->inlined_by >= 0)
            return s->implementations.v[v->v[i]]->inlined_by;
    }
    return add_implementation(
        s, h, &(implementation){.f = f, .group = h, .in = {-1, -1}, .between = -1, .out = ANY, .inlined = true});
}

/* Adds the second phase of an aggregation: its summands move to placement q, and are completed there. */
static void complete(search *s, implementation *m, int q) {
    const tra_node *n = &m->f->x->node;
    tra_add_traffic(s, &m->cost, tra_summands_traffic(s, n, m->between, q), &m->f->summand);
    tra_work w = tra_step_work(s, TRA_PLAN_MERGE, n, q);
    double c = tra_place_summands(&s->places.v[m->between]);
    tra_add_work(s, &m->cost, (tra_work){c * w.total, c * w.busiest, c * w.bound}, NULL, n);
    m->out = q;
    m->memory = m->f->memory[1];
}

int tra_place_of_input(search *s, const tra_node *n) {
    tra_placement p = tra_place_all(s->o->sites);
    int8_t dims[TRA_MAXAXISDIMS];
    bool state = n->input.leaf == TRA_LEAF_STATE || n->input.leaf == TRA_LEAF_LAST;
    if (s->o->sites > 1 && n->input.at == TRA_AT_ANY) return ANY;
    if (s->home && state) p = s->home[n->input.loop][n->input.item];
    if (s->o->sites > 1 && n->input.at == TRA_AT_PART) {
        int m = (int)tra_min64(n->input.at_dims.n, TRA_MAXAXISDIMS);
        for (int i = 0; i < m; i++) dims[i] = (int8_t)n->input.at_dims.v[i];
        p = tra_place_part(s->o->sites, n->type.cat, m, dims);
    }
    return tra_place_intern(s, &p);
}

/* Sets the place, strategy and cost of a join. stored: its result is stored, and aggregated by another operator. */
static void join_at(search *s, implementation *m, bool stored) {
    const tra_node *j = &m->f->join->node;
    const tra_placement *l = &s->places.v[m->in[0]], *r = &s->places.v[m->in[1]];
    uint64_t strategy = tra_join_strategy(s->labels[j->id], l, r, m->f->later);
    /* joins that rules made are candidates for their cost, not as strategies of their own; fused statements are both */
    bool fused = tra_kernel_pace(j->kernel) > 0;
    m->strategy = m->f->x->rule && !fused ? 0 : XXH64(&strategy, sizeof strategy, (uint64_t)j->id);
    tra_placement pairs = tra_join_place(s->labels[j->id], l, r);
    m->out = tra_place_intern(s, &pairs);
    tra_work w = stored ? tra_step_work(s, TRA_PLAN_JOIN, j, m->out) : tra_join_work(s, m->f, m->out);
    if (!stored)
        w.busiest *= tra_kernel_rows_share(j->kernel, &j->in[0]->type, &j->in[1]->type,
                                           tra_ceil_div(m->f->x->node.type.cat->n, s->o->sites));
    tra_add_work(s, &m->cost, w, j->kernel, j);
    const tra_type *made = stored ? &j->type : &m->f->x->node.type;
    m->cost.seconds += tra_entries_seconds(j->kernel, &j->in[0]->type, &j->in[1]->type, &j->join.l, made, s->o->sites,
                                           &s->o->rates);
}

/* May this aggregation leave summands on the sites? In a reproducible plan only branches of the tree of its sums. */
static bool reproducible(search *s, const variant *f, int l, int r) {
    const tra_node *n = &f->x->node, *j = f->join ? &f->join->node : NULL;
    if (!s->o->reproducible) return true;
    const tra_catalog *lc = (j ? j : n)->in[0]->type.cat, *rc = j ? j->in[1]->type.cat : NULL;
    tra_tree t = tra_tree_of(j, lc, rc, j ? &j->join.l : NULL, j ? &j->join.r : NULL, &n->group);
    tra_placement pairs = j ? tra_join_place(s->labels[j->id], &s->places.v[l], &s->places.v[r]) : s->places.v[l];
    return tra_tree_fits(&t, &pairs, &n->group);
}

/* Of two tables that differ in their columns alone the narrower one is read; entries of a file by columns are put in
 * order. */
static void add_reading(search *s, spent *c, const tra_node *n, int place) {
    const tra_kernel *turn = tra_reading_kernel(s, n);
    if (turn) {
        tra_work w = tra_reading_work(s, n, place);
        c->flops += w.total;
        w.busiest *= tra_kernel_order_share(turn, &n->type, &n->type);
        c->seconds += tra_work_seconds(turn, &n->type, NULL, &n->type, w.busiest, &s->o->rates);
    }
    if (!n->type.columns || !n->input.rel) return;
    c->bytes += tra_type_bytes_all(&n->type).expected;
    c->seconds += (double)c->bytes / s->o->sites / s->o->rates.disk_read;
}

/* Blocks of rows are added up entry by entry, each of which is compared and moved. */
static const double MERGED = 6; /* times what an element of dense blocks takes */

int tra_implement_one(search *s, int g, const variant *f, int l, int r, int to) {
    const tra_node *n = &f->x->node;
    implementation m = {.f = f, .group = g, .in = {l, r}, .between = -1, .out = -1, .memory = f->memory[0]};
    if (n->op == TRA_OP_INPUT) {
        m.out = tra_place_of_input(s, n);
        add_reading(s, &m.cost, n, m.out);
        return add_implementation(s, g, &m);
    }
    if (n->op == TRA_OP_REPART) {
        tra_add_traffic(s, &m.cost, tra_repart_traffic(s, n, l, to), &n->type);
        m.out = to;
        return add_implementation(s, g, &m);
    }
    if (f->join) {
        join_at(s, &m, false);
        if (f->join == f->x) return add_implementation(s, g, &m);
        m.out = tra_map_place(s, n, m.out);
    } else {
        m.out = tra_map_place(s, n, l);
        if (m.out < 0) return -1;
        tra_work w = tra_step_work(s, tra_operator_of(n->op), n, l);
        if (n->op == TRA_OP_AGG && tra_is_held(&n->type)) w.busiest *= MERGED;
        if (n->op == TRA_OP_TRANSFORM) w.busiest *= tra_kernel_order_share(n->kernel, &n->in[0]->type, &n->type);
        tra_add_work(s, &m.cost, w, n->op == TRA_OP_TRANSFORM ? n->kernel : NULL, n);
    }
    if (m.out < 0) return -1;
    if (tra_place_is_partial(&s->places.v[m.out])) {
        if (n->op != TRA_OP_AGG || to < 0 || !reproducible(s, f, l, r)) return -1;
        m.between = m.out;
        complete(s, &m, to);
    }
    return add_implementation(s, g, &m);
}

int tra_implement_stored(search *s, int g, const variant *f, int l, int r) {
    const tra_node *n = &f->x->node, *j = &f->join->node;
    implementation m = {.f = f, .group = g, .in = {l, r}, .memory = f->memory[2]};
    if (!tra_countable(s, &j->type)) return -1;
    tra_placement p = tra_place_within(j->type.cat, s->o->sites, &n->group);
    join_at(s, &m, true);
    m.between = tra_place_intern(s, &p);
    tra_add_move(s, &m.cost, j, m.out, m.between);
    tra_add_work(s, &m.cost, tra_step_work(s, TRA_PLAN_AGG, n, m.between), NULL, n);
    m.out = tra_map_place(s, n, m.between);
    return add_implementation(s, g, &m);
}

/* ---- where inputs are taken ------------------------------------------------------------------------------------- */

static void add_once(numbers *x, int v) {
    for (int i = 0; i < x->n; i++) {
        if (x->v[i] == v) return;
    }
    tra_add_number(x, v);
}

/* The placements at which a consumer may take the relation of group h: MADE: where it is made; UNMOVED: also, of an
 * input without a given place, any at which sites can read it from its file; MOVED: also all that an exchange could
 * bring it to. */
typedef enum taken { MADE, UNMOVED, MOVED } taken;
static numbers takes(const search *s, int h, taken how) {
    const group *x = &s->group[h];
    numbers v = {0};
    bool any = false, copies = tra_may_read_all(s, x->node);
    for (int i = 0; i < x->nentries; i++) {
        int p = s->supplies.v[x->entries[i].v[x->entries[i].n - 1].supply].m->out;
        any |= p == ANY;
        if (p != ANY) add_once(&v, p);
    }
    for (int i = 0; i < x->demand.n; i++) {
        if (how == MOVED || (how == UNMOVED && any && (copies || tra_place_copies(&s->places.v[x->demand.v[i]]) == 1)))
            add_once(&v, x->demand.v[i]);
    }
    return v;
}

/* The placements at which the summands of f, which are placed as p, may be completed. */
static numbers targets(search *s, int g, const variant *f, int p) {
    const tra_catalog *c = f->x->node.type.cat;
    const numbers *w = &s->group[g].demand;
    numbers to = {0};
    tra_placement from = s->places.v[p], q;
    if (s->fixed_place && s->fixed_place[g]) {
        tra_add_number(&to, tra_place_intern(s, s->fixed_place[g]));
        return to;
    }
    if (tra_place_reduced(&from, &q) && tra_place_keeps_busy(&q, c) && tra_place_copies(&q) == 1)
        tra_add_number(&to, tra_place_intern(s, &q));
    for (int i = 0; i < w->n && to.n < s->limits.kept.targets; i++) {
        if (tra_place_copies(&s->places.v[w->v[i]]) == 1) add_once(&to, w->v[i]);
    }
    return to;
}

/* The placement of the summands that a local aggregation of inputs at l and r leaves; -1: it leaves none, or the inputs
 * cannot be aggregated where they are. */
static int summands_of(search *s, const variant *f, int l, int r) {
    int p = l;
    if (f->join) {
        tra_placement pairs = tra_join_place(s->labels[f->join->node.id], &s->places.v[l], &s->places.v[r]);
        p = tra_place_intern(s, &pairs);
    }
    p = tra_map_place(s, &f->x->node, p);
    return p >= 0 && tra_place_is_partial(&s->places.v[p]) ? p : -1;
}

/* An aggregation of inputs at these places, at once or in two phases. Returns the number of ways. */
static int make_agg(search *s, int g, const variant *f, int l, int r) {
    int p = summands_of(s, f, l, r), made = 0;
    if (p < 0) return tra_implement_one(s, g, f, l, r, -1) >= 0;
    numbers to = targets(s, g, f, p);
    for (int i = 0; i < to.n; i++) made += tra_implement_one(s, g, f, l, r, to.v[i]) >= 0;
    free(to.v);
    if (f->join && s->group[s->at[f->x->in[0]]].absorbed && !s->o->reproducible)
        made += tra_implement_stored(s, g, f, l, r) >= 0;
    return made;
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* Is it worthwhile that every site does all of the work? That only saves the exchange of a small result, or of one
 * whose inputs are on all sites anyway. */
static bool everywhere_worthwhile(const search *s, const variant *f) {
    const tra_node *j = &f->join->node;
    if (s->o->sites == 1 || j->type.cat->n < s->o->sites) return true;
    if (tra_kernel_props(j->kernel) & TRA_P_CONTRACTION) return false;
    for (int side = 0; side < 2; side++) {
        numbers v = takes(s, f->in[side], MADE);
        bool all = false;
        for (int i = 0; i < v.n; i++) all |= tra_place_is_all(&s->places.v[v.v[i]]);
        free(v.v);
        if (!all) return false;
    }
    return true;
}

/* Does an axis cut this input by several key dimensions? Then the tuples on a site need not mirror each other. */
static bool is_mixed(const tra_placement *p) {
    bool mixed = p->owner;
    for (int a = 0; a < p->naxes; a++) mixed |= p->axis[a].kind == TRA_AXIS_PART && p->axis[a].n > 1;
    return mixed;
}

static void make_joins(search *s, int g, const variant *f) {
    const tra_node *j = &f->join->node;
    const tra_way *fixed = s->fixed_way ? s->fixed_way[j->id] : NULL;
    const tra_placement *p = s->wayplaces.v;
    tra_ways ways = {.n = fixed ? 1 : s->ways[j->id].n};
    ways.cap = ways.n;
    ways.v = tra_malloc((size_t)ways.n * sizeof *ways.v);
    for (int i = 0; i < ways.n; i++) {
        const int *way = s->ways[j->id].v[i];
        ways.v[i] = fixed ? *fixed : (tra_way){p[way[0]], p[way[1]], p[way[2]]};
    }
    for (int side = 0; side < 2 && !fixed; side++) { /* and those that take an input as it is */
        numbers v = takes(s, f->in[side], MADE);
        for (int i = 0; i < v.n; i++) tra_join_way_from(s->labels[j->id], &s->places.v[v.v[i]], side, &ways);
        free(v.v);
    }
    int ran = 0;
    for (int i = 0; i < ways.n; i++) {
        const tra_way *w = &ways.v[i];
        if (ways.n > 1 && tra_place_is_all(&w->out) && !everywhere_worthwhile(s, f)) continue;
        if (f->triangle && (is_mixed(&w->l) || is_mixed(&w->r))) continue;
        int l = tra_place_intern(s, &w->l), r = tra_place_intern(s, &w->r);
        ran += f->join == f->x ? tra_implement_one(s, g, f, l, r, -1) >= 0 : make_agg(s, g, f, l, r);
    }
    free(ways.v);
    if (ran > 0) return;
    tra_way first = tra_join_on_first(s->labels[j->id], s->o->sites); /* no other way is reproducible */
    make_agg(s, g, f, tra_place_intern(s, &first.l), tra_place_intern(s, &first.r));
}

static void make_aggs(search *s, int g, const variant *f) {
    numbers made = takes(s, f->in[0], UNMOVED);
    const numbers *demand = &s->group[f->in[0]].demand;
    int ran = 0;
    for (int i = 0; i < made.n; i++) ran += make_agg(s, g, f, made.v[i], -1);
    for (int i = 0; i < demand->n; i++) { /* exchanged first */
        bool there = false;
        for (int j = 0; j < made.n; j++) there |= made.v[j] == demand->v[i];
        if (!there && tra_place_copies(&s->places.v[demand->v[i]]) == 1)
            ran += tra_implement_one(s, g, f, demand->v[i], -1, -1) >= 0;
    }
    free(made.v);
    for (int i = 0; i < demand->n && ran == 0; i++) ran += make_agg(s, g, f, demand->v[i], -1);
    if (ran > 0) return;
    /* there may be fewer groups than sites: then some stay idle */
    tra_placement p = tra_place_within(f->x->node.in[0]->type.cat, s->o->sites, &f->x->node.group);
    tra_implement_one(s, g, f, tra_place_intern(s, &p), -1, -1);
}

/* A placement in which each group of a concatenation is whole on one site, though some sites stay idle. */
static int within_others(search *s, const tra_node *n) {
    const tra_catalog *in = n->in[0]->type.cat;
    tra_dims others = {.n = 0};
    for (int d = 0; d < in->frontier.n; d++) {
        if (d != n->keydim) others.v[others.n++] = d;
    }
    tra_placement p = tra_place_within(in, s->o->sites, &others);
    return tra_place_intern(s, &p);
}

/* Inputs are taken without an exchange, since the result can be exchanged instead; unless the result is larger, or
 * others need the input elsewhere too. */
static void make_maps(search *s, int g, const variant *f) {
    const group *in = &s->group[f->in[0]];
    bool grows = tra_catalog_elements(f->x->node.type.cat) > tra_catalog_elements(in->node->type.cat);
    numbers v = takes(s, f->in[0], grows || in->shared || f->x->node.op == TRA_OP_CONCAT ? MOVED : UNMOVED);
    int ran = 0;
    for (int i = 0; i < v.n; i++) ran += tra_implement_one(s, g, f, v.v[i], -1, -1) >= 0;
    free(v.v);
    if (ran > 0) return;
    v = takes(s, f->in[0], MOVED);
    for (int i = 0; i < v.n; i++) ran += tra_implement_one(s, g, f, v.v[i], -1, -1) >= 0;
    free(v.v);
    if (ran == 0 && f->x->node.op == TRA_OP_CONCAT) tra_implement_one(s, g, f, within_others(s, &f->x->node), -1, -1);
}

static void make_reparts(search *s, int g, const variant *f) {
    numbers v = takes(s, f->in[0], UNMOVED);
    const numbers *w = &s->group[g].demand;
    for (int i = 0; i < v.n; i++) {
        for (int j = 0; j < w->n; j++) tra_implement_one(s, g, f, v.v[i], -1, w->v[j]);
    }
    free(v.v);
}

/* If the placement of the result is given, keeps only the implementations that make it there; all if none does. */
static void keep_fixed(search *s, int g) {
    numbers *v = &s->group[g].implementations;
    int p = tra_place_intern(s, s->fixed_place[g]), n = 0;
    for (int i = 0; i < v->n; i++) {
        if (s->implementations.v[v->v[i]]->out == p) v->v[n++] = v->v[i];
    }
    if (n > 0) v->n = n;
}

static void make_variants(search *s, int g) {
    for (int i = 0; i < s->group[g].nvariants; i++) {
        const variant *f = &s->group[g].f[i];
        if ((f->in[0] >= 0 && s->group[f->in[0]].nentries == 0) || (f->in[1] >= 0 && s->group[f->in[1]].nentries == 0))
            continue; /* too large to be made */
        if (f->join) {
            make_joins(s, g, f);
            continue;
        }
        switch (f->x->node.op) {
        case TRA_OP_INPUT: tra_implement_one(s, g, f, -1, -1, -1); break;
        case TRA_OP_JOIN: break;
        case TRA_OP_AGG: make_aggs(s, g, f); break;
        case TRA_OP_REPART: make_reparts(s, g, f); break;
        case TRA_OP_REKEY:
        case TRA_OP_FILTER:
        case TRA_OP_TRANSFORM:
        case TRA_OP_TILE:
        case TRA_OP_CONCAT: make_maps(s, g, f); break;
        }
    }
}

void tra_implement_all(search *s, int g) {
    numbers *v = &s->group[g].implementations;
    make_variants(s, g);
    if (s->fixed_place && s->fixed_place[g]) keep_fixed(s, g);
    for (int i = 0; i < v->n; i++) {
        int inlined_by = inline_join(s, g, s->implementations.v[v->v[i]]->f);
        s->implementations.v[v->v[i]]->inlined_by = inlined_by;
    }
}

/* ---- the direct translation ------------------------------------------------------------------------------------- */

/* The placement of a relation that was made at p; an input without a given place (ANY) has the first of its choices. */
static int placed_at(const search *s, int g, int p) { return p == ANY ? s->group[g].demand.v[0] : p; }

int tra_implement_direct(search *s, int g, const variant *f, const int made[2]) {
    const tra_node *n = &f->x->node;
    tra_placement all = tra_place_all(s->o->sites), p;
    const tra_node *j = f->join ? &f->join->node : NULL;
    int l = made[0] < 0 && f->in[0] < 0 ? -1 : placed_at(s, f->in[0], made[0]), r, x;
    switch (j ? TRA_OP_JOIN : n->op) {
    case TRA_OP_INPUT: return tra_implement_one(s, g, f, -1, -1, -1);
    case TRA_OP_JOIN:
        r = placed_at(s, f->in[1], made[1]);
        if (s->places.v[r].owner || (tra_place_copies(&s->places.v[r]) > 1 && !tra_place_is_all(&s->places.v[r])))
            r = s->group[f->in[1]].demand.v[0];
        l = tra_place_intern(s, &all);
        return j == n ? tra_implement_one(s, g, f, l, r, -1) : tra_implement_stored(s, g, f, l, r);
    case TRA_OP_AGG:
        p = tra_place_within(n->in[0]->type.cat, s->o->sites, &n->group);
        return tra_implement_one(s, g, f, tra_place_intern(s, &p), -1, -1);
    case TRA_OP_CONCAT: return tra_implement_one(s, g, f, within_others(s, n), -1, -1);
    case TRA_OP_REPART: return tra_implement_one(s, g, f, l, -1, s->group[g].demand.v[0]);
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TRANSFORM:
    case TRA_OP_TILE: break;
    }
    x = tra_implement_one(s, g, f, l, -1, -1);
    for (int i = 0; x < 0 && i < s->group[f->in[0]].demand.n; i++)
        x = tra_implement_one(s, g, f, s->group[f->in[0]].demand.v[i], -1, -1);
    return x;
}
