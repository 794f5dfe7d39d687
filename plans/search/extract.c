/* extract.c - dynamic programming over (group, placement): the cheapest sets of supplies for each placement of each
 * group.
 *
 * Groups are taken inputs first. An entry of a group is a set of supplies that make it, with all that this needs; two
 * inputs are combined by the union of their sets, so that what both need is there once, and costs once. Two entries
 * whose supplies are the same wherever others may use them too are interchangeable, and the cheaper one stays: the
 * groups that others may use are those which the group does not dominate. With few of these the search is exact.
 * Otherwise the entries kept of a group, and of each of its placements, are as many as the budget says, which depends
 * on the sizes of the program alone: so the same plans come out each time.
 */
#include "extract_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- memory ---------------------------------------------------------------------------------------------------- */

int64_t tra_search_bytes(const search *s) {
    const tra_arena *arenas[] = {s->work, s->kept, s->scratch};
    size_t n = 0;
    for (int i = 0; i < 3; i++) n += arenas[i] ? tra_arena_bytes(arenas[i]) : 0;
    n += s->bytes.rooms;
    n += (size_t)s->supplies.cap * (sizeof *s->supplies.v + sizeof *s->supplies.score + 2 * sizeof *s->supplies.table);
    n += (size_t)s->implementations.cap * sizeof *s->implementations.v + (size_t)s->costs.cap * sizeof *s->costs.v;
    n += (size_t)(s->places.cap + s->wayplaces.cap) * sizeof *s->places.v;
    return (int64_t)n;
}

/* ---- choosing -------------------------------------------------------------------------------------------------- */

static void add_candidate(candidates *x, candidate c) {
    TRA_ROOM(x->v, x->n, x->cap);
    c.seq = x->n;
    x->v[x->n++] = c;
}

/* ---- sets of supplies -------------------------------------------------------------------------------------------- */

/* open[i] is all ones if group i may be used from outside of g, else 0. */
static void mark_open(const search *s, int g, uint64_t *open) {
    for (int i = 0; i < g; i++) {
        const group *x = &s->group[i];
        open[i] = x->pre >= s->group[g].pre && x->pre < s->group[g].post ? 0 : ~(uint64_t)0;
    }
}

static void count(const search *s, int supply, uint64_t open, score *t) {
    const score *c = &s->supplies.score[supply];
    t->scalar += c->scalar;
    t->flops += c->flops;
    t->bytes += c->bytes;
    t->memory = c->memory > t->memory ? c->memory : t->memory;
    t->open += c->open & open;
    t->strategy += c->strategy;
}

static score score_of(const search *s, int n, const int *supply, const uint64_t *open) {
    score t = {0};
    for (int i = n - 1; i >= 0; i--) {
        if (supply[i]) count(s, supply[i], open ? open[i] : 0, &t);
    }
    return t;
}

/* The union of two sets, in out (room for the longer one); false when they have different implementations of a group.
 */
static bool unite(search *s, const entry *a, const entry *b, const uint64_t *open, int *out, score *t) {
    int n = a->n > b->n ? a->n : b->n;
    *t = (score){0};
    /* from the end, where the groups are that both sets are about: so a difference is found soon */
    for (int i = n - 1; i >= 0; i--) {
        int x = i < a->n ? a->supply[i] : 0, y = i < b->n ? b->supply[i] : 0;
        if (x == 0) {
            x = y;
        } else if (y != 0 && x != y) {
            x = tra_supply_union(s, x, y);
            if (x < 0) return false;
        }
        out[i] = x;
        if (x) count(s, x, open ? open[i] : 0, t);
    }
    return true;
}

/* A group whose relation is wanted at a placement; -1: wherever it is made. */
typedef struct root {
    int group, place;
} root;

/* The supplies of what the roots need, each group made by implementation[group]; of n groups, into out. */
static void collect(search *s, const int *implementation, int nroots, const root *roots, int n, int *out) {
    memset(out, 0, (size_t)n * sizeof *out);
    for (int i = 0; i < nroots; i++) {
        int *x = &out[roots[i].group];
        if (!*x) *x = tra_supply_of(s, implementation[roots[i].group]);
        if (roots[i].place >= 0) *x = tra_supply_add_demand(s, *x, roots[i].place);
    }
    for (int g = n - 1; g >= 0; g--) {
        if (!out[g]) continue;
        const struct implementation *m = s->supplies.v[out[g]].m;
        for (int i = 0; i < 2 && m->f->in[i] >= 0; i++) {
            int *x = &out[m->f->in[i]];
            if (!*x) *x = tra_supply_of(s, implementation[m->f->in[i]]);
            *x = tra_supply_add_demand(s, *x, m->in[i]);
        }
    }
}

/* The union of two sets that have different implementations of a group: the first one's is taken. */
static void reconcile(search *s, const entry *a, const entry *b, int nroots, const root *roots, const uint64_t *open,
                      int *out, score *t) {
    int n = a->n > b->n ? a->n : b->n, *implementation = tra_calloc((size_t)n, sizeof *implementation);
    for (int i = 0; i < n; i++) {
        int x = i < a->n ? a->supply[i] : 0;
        if (i < b->n && (!x || s->supplies.v[x].m->inlined)) x = b->supply[i];
        implementation[i] = x ? s->supplies.v[x].m->id : -1;
    }
    collect(s, implementation, nroots, roots, n, out);
    *t = score_of(s, n, out, open);
    free(implementation);
}

/* ---- cells ----------------------------------------------------------------------------------------------------- */

/* Adds what the room of the group has become since it was counted. */
static void count_room(search *s, group *x) {
    size_t now = tra_arena_bytes(x->room);
    s->bytes.rooms += now - x->room_bytes;
    x->room_bytes = now;
}

/* The entries of a group that also bring its relation to the placement; -1: wherever they make it. */
static const cell *cell_at(search *s, int g, int place) {
    group *x = &s->group[g];
    for (int i = 0; i < x->ncells; i++) {
        if (x->cells[i].place == place) return &x->cells[i];
    }
    candidates c = {0};
    for (int i = 0; i < x->nentries; i++) {
        const entry *e = &x->entries[i];
        int old = e->supply[g], supply = place < 0 ? old : tra_supply_add_demand(s, old, place);
        const score *a = &s->supplies.score[old], *b = &s->supplies.score[supply];
        score t = e->s;
        t.scalar += b->scalar - a->scalar;
        t.bytes += b->bytes - a->bytes;
        t.memory = tra_max64(t.memory, b->memory);
        if (x->shared) t.open += b->open;
        add_candidate(&c, (candidate){.s = t, .base = e, .supply = supply});
    }
    tra_search_prune(s, &c, s->limits.kept.cell);
    TRA_ARENA_ROOM(x->room, x->cells, x->ncells, x->capcells);
    cell *made = &x->cells[x->ncells++];
    *made = (cell){.place = place, .n = c.n, .v = tra_news(x->room, entry, c.n)};
    for (int i = 0; i < c.n; i++) {
        int *v = tra_news(x->room, int, g + 1);
        memcpy(v, c.v[i].base->supply, (size_t)g * sizeof *v);
        v[g] = c.v[i].supply;
        made->v[i] = (entry){.n = g + 1, .supply = v, .s = c.v[i].s};
    }
    free(c.v);
    count_room(s, x);
    return made;
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

/* Unions of the entries of two cells, which provide the roots; the sets live in the arena. Until the best are chosen, a
 * candidate has the numbers of the two entries in the place of its supply and implementation. */
static candidates combine(search *s, const cell *l, const cell *r, int nroots, const root *roots, const uint64_t *open,
                          int most, tra_arena *a) {
    candidates c = {0};
    int n = l->v[0].n > r->v[0].n ? l->v[0].n : r->v[0].n, *scratch = tra_calloc((size_t)n + 1, sizeof *scratch);
    score t;
    for (int i = 0; i < l->n; i++) {
        for (int j = 0; j < r->n; j++) {
            if (unite(s, &l->v[i], &r->v[j], open, scratch, &t))
                add_candidate(&c, (candidate){.s = t, .supply = i, .implementation = j});
        }
    }
    bool agree = c.n > 0;
    const entry *first[2] = {&l->v[0], &r->v[0]};
    for (int k = 0; k < 2 && !agree; k++) {
        reconcile(s, first[k], first[1 - k], nroots, roots, open, scratch, &t);
        add_candidate(&c, (candidate){.s = t, .supply = k});
        s->limits.bounded = true;
    }
    tra_search_prune(s, &c, most);
    for (int i = 0; i < c.n; i++) {
        candidate *x = &c.v[i];
        entry *e = tra_new(a, entry);
        int *v = tra_news(a, int, n + 1);
        *e = (entry){.n = n, .supply = v};
        if (agree)
            unite(s, &l->v[x->supply], &r->v[x->implementation], open, v, &e->s);
        else
            reconcile(s, first[x->supply], first[1 - x->supply], nroots, roots, open, v, &e->s);
        x->base = e;
    }
    free(scratch);
    return c;
}

/* The sets with which the implementation's inputs are where it takes them. */
static candidates inputs_of(search *s, const implementation *m, const uint64_t *open, tra_arena *a) {
    candidates c = {0};
    const int *in = m->f->in;
    if (in[0] < 0) {
        add_candidate(&c, (candidate){.base = tra_new(a, entry)});
        return c;
    }
    const cell *l = cell_at(s, in[0], m->in[0]);
    if (in[1] >= 0) {
        const root roots[2] = {{in[0], m->in[0]}, {in[1], m->in[1]}};
        cell left = *l; /* the next one may move it */
        return combine(s, &left, cell_at(s, in[1], m->in[1]), 2, roots, open, s->limits.kept.cell, a);
    }
    for (int i = 0; i < l->n; i++) {
        score t = score_of(s, l->v[i].n, l->v[i].supply, open);
        add_candidate(&c, (candidate){.s = t, .base = &l->v[i]});
    }
    return c;
}

static void keep_entries(search *s, int g, const candidates *c) {
    group *x = &s->group[g];
    x->nentries = c->n;
    x->entries = tra_news(x->room, entry, c->n);
    for (int i = 0; i < c->n; i++) {
        const candidate *k = &c->v[i];
        int *v = tra_news(x->room, int, g + 1);
        if (k->base->n) memcpy(v, k->base->supply, (size_t)k->base->n * sizeof *v);
        v[g] = k->supply;
        int inlined_by = s->supplies.v[k->supply].m->inlined_by;
        if (inlined_by >= 0) v[s->implementations.v[inlined_by]->group] = tra_supply_of(s, inlined_by);
        x->entries[i] = (entry){.n = g + 1, .supply = v, .s = k->s};
    }
}

static void extract_group(search *s, int g, uint64_t *open) {
    group *x = &s->group[g];
    tra_arena *scratch = s->scratch = tra_arena_new();
    candidates all = {0}, c = {0};
    const implementation *last = NULL;
    x->room = tra_arena_new();
    tra_implement_all(s, g);
    mark_open(s, g, open);
    for (int i = 0; i < x->implementations.n; i++) {
        const implementation *m = s->implementations.v[x->implementations.v[i]];
        bool again = last && last->f->in[0] == m->f->in[0] && last->f->in[1] == m->f->in[1] &&
                     last->in[0] == m->in[0] && last->in[1] == m->in[1];
        if (!again) {
            free(c.v);
            s->bytes.pending = all.cap * (int64_t)sizeof(candidate);
            c = inputs_of(s, m, open, scratch);
            last = m;
        }
        int supply = tra_supply_of(s, m->id), inlining = m->inlined_by < 0 ? 0 : tra_supply_of(s, m->inlined_by);
        for (int j = 0; j < c.n; j++) {
            const entry *b = c.v[j].base;
            int h = inlining ? s->supplies.v[inlining].m->group : 0;
            if (inlining && h < b->n && b->supply[h] && b->supply[h] != inlining)
                continue; /* the join would be done twice */
            candidate k = {.s = c.v[j].s, .place = m->out, .supply = supply, .base = c.v[j].base};
            count(s, supply, 0, &k.s);
            if (inlining && !(h < b->n && b->supply[h])) count(s, inlining, open[h], &k.s);
            add_candidate(&all, k);
        }
    }
    s->bytes.pending = 0;
    tra_search_prune(s, &all, s->limits.kept.entries);
    keep_entries(s, g, &all);
    count_room(s, x);
    free(c.v);
    free(all.v);
    tra_arena_free(scratch);
    s->scratch = NULL;
    free(x->implementations.v);
    x->implementations = (numbers){0};
}

static void forget_group(search *s, group *x) {
    s->bytes.rooms -= x->room_bytes;
    x->room_bytes = 0;
    tra_arena_free(x->room);
    x->room = NULL;
    x->entries = NULL;
    x->cells = NULL;
    x->nentries = x->ncells = x->capcells = 0;
}

static void mark(int n, const entry *v, int *to) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < v[i].n; j++) to[v[i].supply[j]] = 1;
    }
}

static void renumber(int n, const entry *v, int *to) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < v[i].n; j++) v[i].supply[j] = to[v[i].supply[j]];
    }
}

/* Visits all sets of supplies: those of the groups, and n more. No two sets share an array of numbers. */
static void each_entry(const search *s, int n, const entry *v, void (*visit)(int n, const entry *v, int *to), int *to) {
    for (int g = 0; g < s->ngroups; g++) {
        const group *x = &s->group[g];
        visit(x->nentries, x->entries, to);
        for (int i = 0; i < x->ncells; i++) visit(x->cells[i].n, x->cells[i].v, to);
    }
    visit(n, v, to);
}

/* Frees the supplies that are in no set: most were made only to be compared. */
static void sweep(search *s, int n, const entry *v) {
    int *to = tra_calloc((size_t)s->supplies.n + 1, sizeof *to);
    each_entry(s, n, v, mark, to);
    tra_supplies_sweep(s, to);
    each_entry(s, n, v, renumber, to);
    free(to);
}

/* ---- outputs --------------------------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b) {
    const root *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                : (x->place > y->place) - (x->place < y->place);
}

/* What outputs and loops take, each once, by group; a loop takes the first and the next values of its states where the
 * states are. */
static int find_roots(search *s, root *v) {
    const tra_graph *graph = s->m->g;
    int n = 0, m = 0;
    for (int i = 0; i < graph->noutputs; i++) {
        const tra_output *o = &graph->outputs[i];
        bool placed = o->sink == TRA_SINK_FIRST || o->sink == TRA_SINK_NEXT;
        int place = placed ? tra_place_of_input(s, graph->loops[o->loop]->states[o->item].state) : -1;
        v[n++] = (root){s->at[s->m->v[s->m->of_node[o->node->id]]->group], place};
    }
    if (n) qsort(v, (size_t)n, sizeof *v, by_group);
    for (int i = 0; i < n; i++)
        if (m == 0 || by_group(&v[m - 1], &v[i])) v[m++] = v[i];
    return m;
}

/* Marks what the groups in mark[] need. */
static void mark_needed(const search *s, uint64_t *mark) {
    for (int g = s->ngroups - 1; g >= 0; g--) {
        for (int i = 0; i < s->group[g].nvariants && mark[g]; i++) {
            for (int j = 0; j < 2 && s->group[g].f[i].in[j] >= 0; j++) mark[s->group[g].f[i].in[j]] = ~(uint64_t)0;
        }
    }
}

static entry *combine_outputs(search *s, uint64_t *open, int *n) {
    root *roots = tra_calloc((size_t)s->m->g->noutputs + 1, sizeof *roots);
    int m = find_roots(s, roots);
    cell have = {.place = -1};
    for (int i = 0; i < m; i++) {
        memset(open, 0, (size_t)s->ngroups * sizeof *open);
        for (int j = i + 1; j < m; j++) open[roots[j].group] = ~(uint64_t)0;
        mark_needed(s, open);
        const cell *c = cell_at(s, roots[i].group, roots[i].place);
        candidates v = {0};
        if (i == 0) {
            for (int j = 0; j < c->n; j++) {
                score t = score_of(s, c->v[j].n, c->v[j].supply, open);
                add_candidate(&v, (candidate){.s = t, .base = &c->v[j]});
            }
            tra_search_prune(s, &v, s->limits.kept.plans);
        } else {
            v = combine(s, &have, c, i + 1, roots, open, s->limits.kept.plans, s->work);
        }
        have.n = v.n;
        have.v = tra_news(s->work, entry, v.n);
        for (int j = 0; j < v.n; j++)
            have.v[j] = (entry){.n = v.v[j].base->n, .supply = v.v[j].base->supply, .s = v.v[j].s};
        free(v.v);
    }
    free(roots);
    *n = have.n;
    return have.v;
}

entry *tra_extract(search *s, int *n) {
    enum { FEW = 4096 };
    uint64_t *open = tra_calloc((size_t)s->ngroups + 1, sizeof *open);
    numbers *done = tra_calloc((size_t)s->ngroups + 1, sizeof *done); /* groups by their last use */
    s->supplies.sweep = FEW;
    for (int g = 0; g < s->ngroups; g++) {
        if (s->group[g].last_use >= 0) tra_add_number(&done[s->group[g].last_use], g);
    }
    for (int g = 0; g < s->ngroups; g++) {
        if (s->group[g].last_use < 0) continue;
        extract_group(s, g, open);
        tra_trace_group(s, g);
        for (int i = 0; i < done[g].n; i++) forget_group(s, &s->group[done[g].v[i]]);
        if (s->supplies.n < s->supplies.sweep) continue;
        sweep(s, 0, NULL);
        s->supplies.sweep = FEW + 2 * s->supplies.n;
    }
    entry *v = combine_outputs(s, open, n);
    tra_trace_sets(s, *n, v);
    for (int i = 0; i < *n; i++) {
        int *own = tra_news(s->work, int, v[i].n);
        v[i].supply = memcpy(own, v[i].supply, (size_t)v[i].n * sizeof *own);
    }
    for (int g = 0; g < s->ngroups; g++) forget_group(s, &s->group[g]);
    sweep(s, *n, v);
    tra_costs_forget(s);
    for (int g = 0; g <= s->ngroups; g++) free(done[g].v);
    free(done);
    free(open);
    return v;
}

/* ---- plans from implementations ---------------------------------------------------------------------------------- */

entry tra_assemble(search *s, const int *implementation) {
    root *roots = tra_calloc((size_t)s->m->g->noutputs + 1, sizeof *roots);
    int n = find_roots(s, roots);
    int *v = tra_news(s->work, int, s->ngroups + 1);
    collect(s, implementation, n, roots, s->ngroups, v);
    entry e = {.n = s->ngroups, .supply = v, .s = score_of(s, s->ngroups, v, NULL)};
    free(roots);
    return e;
}

bool tra_direct(search *s, const int *expr, int *implementation) {
    for (int g = 0; g < s->ngroups; g++) {
        const group *x = &s->group[g];
        const variant *f = NULL;
        int made[2] = {-1, -1};
        for (int i = 0; i < x->nvariants && implementation[g] < 0; i++) {
            const variant *y = &x->f[i];
            bool wanted = expr && expr[x->canonical] >= 0 ? y->x->node.id == expr[x->canonical] : !f;
            if (wanted && (!y->join || y->join == y->x || s->group[s->at[y->x->in[0]]].absorbed)) f = y;
        }
        if (implementation[g] >= 0 || !f) continue;
        for (int i = 0; i < 2 && f->in[i] >= 0; i++) {
            if (implementation[f->in[i]] < 0) f = NULL;
            if (!f) break;
            made[i] = s->implementations.v[implementation[f->in[i]]]->out;
        }
        if (f) implementation[g] = tra_implement_direct(s, g, f, made);
    }
    for (int i = 0; i < s->m->g->noutputs; i++) {
        if (implementation[s->at[s->m->v[s->m->of_node[s->m->g->outputs[i].node->id]]->group]] < 0) return false;
    }
    return true;
}
