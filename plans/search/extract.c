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
#include "search_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- memory ---------------------------------------------------------------------------------------------------- */

int64_t tra_search_bytes(const search *s) {
    const tra_arena *arenas[] = {s->work, s->kept, s->scratch, s->closed_room, s->samples};
    size_t n = (size_t)s->capclosed * sizeof *s->closed;
    for (int i = 0; i < 5; i++) n += arenas[i] ? tra_arena_bytes(arenas[i]) : 0;
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

/* ---- cells ----------------------------------------------------------------------------------------------------- */

/* Adds what the room of the group has become since it was counted. */
static void count_room(search *s, group *x) {
    size_t now = tra_arena_bytes(x->room);
    s->bytes.rooms += now - x->room_bytes;
    x->room_bytes = now;
}

/* The entries of a group that also bring its relation to the placement; -1: wherever they make it. Nothing is brought
 * to a placement that names an owner for each tuple: the entries are those that make it there, perhaps none. */
static const cell *cell_at(search *s, int g, int place) {
    group *x = &s->group[g];
    bool brings = place < 0 || !s->places.v[place].owner;
    for (int i = 0; i < x->ncells; i++) {
        if (x->cells[i].place == place) return &x->cells[i];
    }
    candidates c = {0};
    for (int i = 0; i < x->nentries; i++) {
        const set *e = &x->entries[i];
        int old = e->v[e->n - 1].supply;
        if (!brings && s->supplies.v[old].m->out != place) continue;
        int supply = place < 0 ? old : tra_supply_add_demand(s, old, place);
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
    *made = (cell){.place = place, .n = c.n, .v = tra_news(x->room, set, c.n)};
    for (int i = 0; i < c.n; i++) {
        int n = c.v[i].base->n;
        member *v = tra_news(x->room, member, n);
        memcpy(v, c.v[i].base->v, (size_t)n * sizeof *v);
        v[n - 1].supply = c.v[i].supply;
        made->v[i] = (set){.n = n, .v = v, .s = c.v[i].s};
    }
    free(c.v);
    count_room(s, x);
    return made;
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static set *copy_set(const set *x, tra_arena *a) {
    set *y = tra_new(a, set);
    *y = (set){.n = x->n, .v = tra_news(a, member, x->n), .s = x->s};
    memcpy(y->v, x->v, (size_t)x->n * sizeof *x->v);
    return y;
}

/* Unions of the entries of two cells, which provide the roots; the sets live in the arena. Of many pairs each is made
 * again once the best are chosen: until then the candidate has their numbers in place of supply and implementation. */
static candidates combine(search *s, const cell *l, const cell *r, int nroots, const root *roots, scope at, int most,
                          tra_arena *a) {
    enum { FEW = 4 };
    candidates c = {0};
    int room = 1, left = 0;
    if (l->n == 0 || r->n == 0) return c;
    for (int i = 0; i < l->n; i++) left = l->v[i].n > left ? l->v[i].n : left;
    for (int j = 0; j < r->n; j++) room = left + r->v[j].n > room ? left + r->v[j].n : room;
    set scratch = {.v = tra_calloc((size_t)room, sizeof *scratch.v)};
    for (int i = 0; i < l->n; i++) {
        for (int j = 0; j < r->n; j++) {
            if (!tra_sets_unite(s, &l->v[i], &r->v[j], at, &scratch)) continue;
            const set *base = l->n * r->n <= FEW ? copy_set(&scratch, a) : NULL;
            add_candidate(&c, (candidate){.s = scratch.s, .supply = i, .implementation = j, .base = base});
        }
    }
    const set *first[2] = {&l->v[0], &r->v[0]};
    for (int k = 0, n = c.n; k < 2 && n == 0; k++) { /* no pair agrees */
        tra_sets_reconcile(s, first[k], first[1 - k], nroots, roots, at, &scratch);
        add_candidate(&c, (candidate){.s = scratch.s, .base = copy_set(&scratch, a)});
        s->limits.bounded = true;
    }
    tra_search_prune(s, &c, most);
    for (int i = 0; i < c.n; i++) {
        candidate *x = &c.v[i];
        if (x->base) continue;
        tra_sets_unite(s, &l->v[x->supply], &r->v[x->implementation], at, &scratch);
        x->base = copy_set(&scratch, a);
    }
    free(scratch.v);
    return c;
}

/* The sets with which the implementation's inputs are where it takes them. */
static candidates inputs_of(search *s, const implementation *m, scope at, tra_arena *a) {
    candidates c = {0};
    const int *in = m->f->in;
    if (in[0] < 0) {
        add_candidate(&c, (candidate){.base = tra_new(a, set)});
        return c;
    }
    const cell *l = cell_at(s, in[0], m->in[0]);
    if (in[1] >= 0) {
        const root roots[2] = {{in[0], m->in[0]}, {in[1], m->in[1]}};
        cell left = *l; /* the next one may move it */
        return combine(s, &left, cell_at(s, in[1], m->in[1]), 2, roots, at, s->limits.kept.cell, a);
    }
    for (int i = 0; i < l->n; i++) {
        add_candidate(&c, (candidate){.s = tra_set_score(s, &l->v[i], at), .base = &l->v[i]});
    }
    return c;
}

static void keep_entries(search *s, int g, const candidates *c) {
    group *x = &s->group[g];
    int before = s->nclosed;
    x->nentries = c->n;
    x->entries = tra_news(x->room, set, c->n);
    for (int i = 0; i < c->n; i++) {
        const candidate *k = &c->v[i];
        int n = k->base->n, by = s->supplies.v[k->supply].m->inlined_by;
        member *v = tra_malloc((size_t)(n + 2) * sizeof *v);
        if (n) memcpy(v, k->base->v, (size_t)n * sizeof *v);
        if (by >= 0 && !tra_set_supply(k->base, s->implementations.v[by]->group)) {
            int h = s->implementations.v[by]->group, j = n++;
            for (; j > 0 && v[j - 1].group > h; j--) v[j] = v[j - 1];
            v[j] = (member){.group = h, .supply = tra_supply_of(s, by)};
        }
        closed *inside = tra_close_members(s, (scope){.g = g}, before, &n, v);
        v[n++] = (member){g, k->supply, inside};
        x->entries[i] = (set){.n = n, .v = tra_news(x->room, member, n), .s = k->s};
        memcpy(x->entries[i].v, v, (size_t)n * sizeof *v);
        free(v);
    }
}

static void extract_group(search *s, int g) {
    const scope at = {.g = g};
    group *x = &s->group[g];
    tra_arena *scratch = s->scratch = tra_arena_new();
    candidates all = {0}, c = {0};
    const implementation *last = NULL;
    x->room = tra_arena_new();
    tra_implement_all(s, g);
    for (int i = 0; i < x->implementations.n; i++) {
        const implementation *m = s->implementations.v[x->implementations.v[i]];
        bool again = last && last->f->in[0] == m->f->in[0] && last->f->in[1] == m->f->in[1] &&
                     last->in[0] == m->in[0] && last->in[1] == m->in[1];
        if (!again) {
            free(c.v);
            s->bytes.pending = all.cap * (int64_t)sizeof(candidate);
            c = inputs_of(s, m, at, scratch);
            last = m;
        }
        int supply = tra_supply_of(s, m->id), inlining = m->inlined_by < 0 ? 0 : tra_supply_of(s, m->inlined_by);
        for (int j = 0; j < c.n; j++) {
            const set *b = c.v[j].base;
            int h = inlining ? s->supplies.v[inlining].m->group : 0, there = inlining ? tra_set_supply(b, h) : 0;
            if (there && there != inlining) continue; /* the join would be done twice */
            candidate k = {.s = c.v[j].s, .place = m->out, .supply = supply, .base = b};
            tra_count_supply(s, supply, false, &k.s);
            if (inlining && !there) tra_count_supply(s, inlining, tra_is_open(s, at, h), &k.s);
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

typedef void visit_fn(int n, member *v, int *to);

static void mark(int n, member *v, int *to) {
    for (int i = 0; i < n; i++) {
        to[v[i].supply] = 1;
        if (v[i].inside) v[i].inside->live = true;
    }
}

static void renumber(int n, member *v, int *to) {
    for (int i = 0; i < n; i++) {
        v[i].supply = to[v[i].supply];
        if (v[i].inside) v[i].inside = v[i].inside->moved;
    }
}

/* Visits all sets of the groups. No two share an array. */
static void each_set(const search *s, visit_fn *visit, int *to) {
    for (int g = 0; g < s->ngroups; g++) {
        const group *x = &s->group[g];
        for (int i = 0; i < x->nentries; i++) visit(x->entries[i].n, x->entries[i].v, to);
        for (int i = 0; i < x->ncells; i++)
            for (int j = 0; j < x->cells[i].n; j++) visit(x->cells[i].v[j].n, x->cells[i].v[j].v, to);
    }
}

/* Copies what sets still have of what was chosen for good; to: as each_set. */
static void move_closed(search *s, int *to) {
    tra_arena *a = tra_arena_new();
    int n = 0;
    for (int i = 0; i < s->nclosed; i++) {
        closed *old = s->closed[i], *c;
        if (!old->live) continue;
        c = s->closed[n++] = old->moved = tra_new(a, closed);
        *c = *old;
        c->live = false;
        c->v = memcpy(tra_news(a, member, c->n), old->v, (size_t)c->n * sizeof *c->v);
        c->needs = tra_news(a, root, c->nneeds);
        if (c->nneeds) memcpy(c->needs, old->needs, (size_t)c->nneeds * sizeof *c->needs);
        renumber(c->n, c->v, to);
    }
    s->nclosed = n;
    each_set(s, renumber, to);
    tra_arena_free(s->closed_room);
    s->closed_room = a;
}

/* Frees the supplies that are in no set, nor in v[n]: most were made only to be compared. */
static void sweep(search *s, int n, const entry *v) {
    int *to = tra_calloc((size_t)s->supplies.n + 1, sizeof *to);
    each_set(s, mark, to);
    for (int i = s->nclosed - 1; i >= 0; i--)
        if (s->closed[i]->live) mark(s->closed[i]->n, s->closed[i]->v, to);
    for (int i = 0; i < n; i++)
        for (int g = 0; g < v[i].n; g++) to[v[i].supply[g]] = 1;
    tra_supplies_sweep(s, to);
    move_closed(s, to);
    for (int i = 0; i < n; i++)
        for (int g = 0; g < v[i].n; g++) v[i].supply[g] = to[v[i].supply[g]];
    free(to);
}

/* ---- outputs --------------------------------------------------------------------------------------------------- */

/* What outputs and loops take, each once, by group; a loop takes the first and the next values of its states where the
 * states are. */
static int find_roots(search *s, root *v) {
    const tra_graph *graph = s->m->g;
    int n = 0;
    for (int i = 0; i < graph->noutputs; i++) {
        const tra_output *o = &graph->outputs[i];
        bool placed = o->sink == TRA_SINK_FIRST || o->sink == TRA_SINK_NEXT;
        int place = placed ? tra_place_of_input(s, graph->loops[o->loop]->states[o->item].state) : -1;
        v[n++] = (root){s->at[s->m->v[s->m->of_node[tra_output_root(o)->id]]->group], place};
    }
    return tra_roots_once(n, v);
}

/* Of each group the last root that needs it; -1: none. */
static int *last_roots(const search *s, int n, const root *roots) {
    int *last = tra_malloc(((size_t)s->ngroups + 1) * sizeof *last);
    for (int g = 0; g < s->ngroups; g++) last[g] = -1;
    for (int i = 0; i < n; i++) last[roots[i].group] = i;
    for (int g = s->ngroups - 1; g >= 0; g--) {
        for (int i = 0; i < s->group[g].nvariants; i++) {
            const int *in = s->group[g].f[i].in;
            for (int j = 0; j < 2 && in[j] >= 0; j++) last[in[j]] = last[g] > last[in[j]] ? last[g] : last[in[j]];
        }
    }
    return last;
}

/* The sets of the outputs so far, of which what no later one needs is chosen for good. */
static cell close_outputs(search *s, scope at, const candidates *c) {
    cell have = {.place = -1, .n = c->n, .v = tra_news(s->work, set, c->n)};
    for (int j = 0; j < c->n; j++) {
        const set *b = c->v[j].base;
        int n = b->n;
        member *v = tra_news(s->work, member, n + 1);
        if (n) memcpy(v + 1, b->v, (size_t)n * sizeof *v);
        v[0] = (member){-1, 0, tra_close_members(s, at, s->nclosed, &n, v + 1)};
        if (n > 0 && v[1].group < 0) v[0] = (member){0}, v++, n--; /* only what was closed before */
        have.v[j] = (set){.n = n + 1, .v = v, .s = c->v[j].s};
    }
    return have;
}

static entry *combine_outputs(search *s, int *n) {
    root *roots = tra_calloc((size_t)s->m->g->noutputs + 1, sizeof *roots);
    int m = find_roots(s, roots), nopen = 0;
    int *last = last_roots(s, m, roots);
    cell have = {.place = -1, .n = 1, .v = tra_new(s->work, set)};
    for (int i = 0; i < m; i++) {
        const scope at = {.g = -1, .root = i, .last_root = last};
        const cell *c = cell_at(s, roots[i].group, roots[i].place);
        int still = 0;
        for (int j = 0; j < nopen; j++)
            if (last[roots[j].group] >= i) roots[still++] = roots[j]; /* in front: those whose groups are not closed */
        roots[still++] = roots[i];
        nopen = still;
        candidates v = combine(s, &have, c, nopen, roots, at, s->limits.kept.plans, s->work);
        have = close_outputs(s, at, &v);
        free(v.v);
    }
    free(roots);
    free(last);
    entry *out = tra_news(s->work, entry, have.n);
    for (int j = 0; j < have.n; j++) {
        out[j] = (entry){.n = s->ngroups, .supply = tra_news(s->work, int, s->ngroups + 1), .s = have.v[j].s};
        tra_set_spread(s, &have.v[j], out[j].supply);
    }
    *n = have.n;
    return out;
}

entry *tra_extract(search *s, int *n) {
    enum { FEW = 4096 };
    numbers *done = tra_calloc((size_t)s->ngroups + 1, sizeof *done); /* groups by their last use */
    s->supplies.sweep = FEW;
    for (int g = 0; g < s->ngroups; g++) {
        if (s->group[g].last_use >= 0) tra_add_number(&done[s->group[g].last_use], g);
    }
    for (int g = 0; g < s->ngroups; g++) {
        if (s->group[g].last_use < 0) continue;
        extract_group(s, g);
        tra_trace_group(s, g);
        for (int i = 0; i < done[g].n; i++) forget_group(s, &s->group[done[g].v[i]]);
        if (s->supplies.n < s->supplies.sweep) continue;
        sweep(s, 0, NULL);
        s->supplies.sweep = FEW + 2 * s->supplies.n;
    }
    entry *v = combine_outputs(s, n);
    tra_trace_sets(s, *n, v);
    for (int g = 0; g < s->ngroups; g++) forget_group(s, &s->group[g]);
    sweep(s, *n, v);
    tra_costs_forget(s);
    for (int g = 0; g <= s->ngroups; g++) free(done[g].v);
    free(done);
    return v;
}

/* ---- plans from implementations ---------------------------------------------------------------------------------- */

entry tra_assemble(search *s, const int *implementation) {
    root *roots = tra_calloc((size_t)s->m->g->noutputs + 1, sizeof *roots);
    int n = find_roots(s, roots), *v = tra_news(s->work, int, s->ngroups + 1);
    for (int i = 0; i < n; i++) {
        int *x = &v[roots[i].group];
        if (!*x) *x = tra_supply_of(s, implementation[roots[i].group]);
        if (roots[i].place >= 0) *x = tra_supply_add_demand(s, *x, roots[i].place);
    }
    entry e = {.n = s->ngroups, .supply = v};
    for (int g = s->ngroups - 1; g >= 0; g--) {
        if (!v[g]) continue;
        const struct implementation *m = s->supplies.v[v[g]].m;
        for (int i = 0; i < 2 && m->f->in[i] >= 0; i++) {
            int *x = &v[m->f->in[i]];
            if (!*x) *x = tra_supply_of(s, implementation[m->f->in[i]]);
            *x = tra_supply_add_demand(s, *x, m->in[i]);
        }
        tra_count_supply(s, v[g], false, &e.s);
    }
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
        int root = s->m->of_node[tra_output_root(&s->m->g->outputs[i])->id];
        if (implementation[s->at[s->m->v[root]->group]] < 0) return false;
    }
    return true;
}
