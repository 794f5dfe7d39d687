/* prepare.c - what the search knows before it starts: the groups in order, the operators that make them, who uses them,
 * and which placements consumers of a relation could demand. */
#include "search_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../../lib/physical/needs.h"

void tra_add_number(numbers *x, int v) {
    TRA_ROOM(x->v, x->n, x->cap);
    x->v[x->n++] = v;
}

/* ---- who uses what --------------------------------------------------------------------------------------------- */

/* The nearest group that all uses of both pass through. */
static int common(const search *s, int a, int b) {
    while (a != b) {
        if (a < b)
            a = s->group[a].idom;
        else
            b = s->group[b].idom;
    }
    return a;
}

static void use(search *s, int in, int by) {
    group *g = &s->group[in];
    g->shared |= g->last_use >= 0 && g->last_use != by;
    g->idom = g->last_use < 0 ? by : common(s, g->idom, by);
    g->last_use = by > g->last_use ? by : g->last_use;
}

/* Consumers come after what they use, so they are walked first; what nothing reaches has no last use. */
static void find_outputs(search *s) {
    for (int i = 0; i < s->m->g->noutputs; i++) {
        int g = s->at[s->m->v[s->m->of_node[tra_output_root(&s->m->g->outputs[i])->id]]->group];
        if (s->m->g->outputs[i].sink == TRA_SINK_FILE) tra_add_number(&s->group[g].outputs, i);
    }
}

static void find_uses(search *s) {
    int n = s->ngroups, *size = tra_calloc(2 * (size_t)n + 2, sizeof *size), *next = size + n + 1;
    for (int g = 0; g < n; g++) s->group[g].last_use = -1;
    for (int i = 0; i < s->m->g->noutputs; i++) {
        int g = s->at[s->m->v[s->m->of_node[tra_output_root(&s->m->g->outputs[i])->id]]->group];
        use(s, g, n);
    }
    for (int g = n - 1; g >= 0; g--) {
        for (int i = 0; i < s->group[g].nvariants && s->group[g].last_use >= 0; i++) {
            const variant *f = &s->group[g].f[i];
            for (int j = 0; j < 2 && f->in[j] >= 0; j++) use(s, f->in[j], g);
            if (f->in[0] >= 0 && f->in[0] == f->in[1]) s->group[f->in[0]].shared = true;
        }
    }
    for (int g = 0; g < n; g++) { /* subtrees of the tree of dominators as ranges */
        size[g]++;
        if (s->group[g].last_use >= 0) size[s->group[g].idom] += size[g];
    }
    next[n] = 1;
    s->dominated = tra_news(s->work, dominated, n + 1);
    for (int g = n - 1; g >= 0; g--) {
        group *x = &s->group[g];
        if (x->last_use < 0) continue;
        int from = next[x->idom];
        next[x->idom] += size[g];
        next[g] = from + 1;
        s->dominated[g] = (dominated){from, from + size[g]};
    }
    free(size);
}

/* The operator of the program that is the only consumer of the relation of group *g, which becomes the operator's
 * group; NULL: there is no consumer, or there are several. */
static const tra_node *only_consumer(const search *s, int *g) {
    const tra_expr *x = s->group[*g].consumer;
    if (!x || s->group[*g].nconsumers != 1) return NULL;
    *g = s->at[x->group];
    return &x->node;
}

static void find_consumers(search *s) {
    for (int i = 0; i < s->m->g->noutputs; i++)
        s->group[s->at[s->m->v[s->m->of_node[tra_output_root(&s->m->g->outputs[i])->id]]->group]].nconsumers++;
    for (int i = 0; i < s->m->n; i++) {
        const tra_expr *x = s->m->v[i];
        for (int j = 0; j < 2 && x->in[j] >= 0 && !x->rule; j++) {
            if (s->at[x->in[j]] < 0) continue;
            s->group[s->at[x->in[j]]].consumer = x;
            s->group[s->at[x->in[j]]].nconsumers++;
        }
    }
}

/* Which output key dimensions of a join are aggregated by the aggregation that it flows into through maps. */
static uint32_t aggregated_later(const search *s, int g, int k) {
    int at[TRA_MAXDIM]; /* key dimension of the relation at hand, or -1 */
    for (int d = 0; d < k; d++) at[d] = d;
    for (const tra_node *n = only_consumer(s, &g); n; n = only_consumer(s, &g)) {
        uint32_t grouped = 0, set = 0;
        switch (n->op) {
        case TRA_OP_FILTER:
        case TRA_OP_TRANSFORM:
        case TRA_OP_TILE: continue;
        case TRA_OP_REKEY:
            for (int d = 0; d < k; d++) {
                int to = -1, var;
                for (int i = n->keyfn->n - 1; i >= 0; i--) {
                    if (at[d] >= 0 && tra_keyexpr_is_var(n->keyfn->expr[i], &var) && var == at[d]) to = i;
                }
                at[d] = to;
            }
            continue;
        case TRA_OP_AGG:
            for (int i = 0; i < n->group.n; i++) grouped |= 1u << n->group.v[i];
            for (int d = 0; d < k; d++) {
                if (at[d] >= 0 && !(grouped >> at[d] & 1)) set |= 1u << d;
            }
            return set;
        case TRA_OP_INPUT:
        case TRA_OP_JOIN:
        case TRA_OP_CONCAT:
        case TRA_OP_REPART: return 0;
        }
    }
    return 0;
}

/* ---- demands --------------------------------------------------------------------------------------------------- */

enum { MAX_DEMANDS = 64 };

static void demand(search *s, int g, const tra_placement *p) {
    numbers *w = &s->group[g].demand;
    if (p->owner || tra_place_is_partial(p) || w->n == MAX_DEMANDS ||
        !tra_place_keeps_busy(p, s->group[g].node->type.cat))
        return;
    int id = tra_place_intern(s, p);
    for (int i = 0; i < w->n; i++) {
        if (w->v[i] == id) return;
    }
    tra_add_number(w, id);
}

/* What consumers of g demand of it, demanded of its input: output key dimension i is dimension dim[i] of the input. */
static void demand_back(search *s, int g, int in, const int *dim) {
    for (int i = 0; i < s->group[g].demand.n; i++) {
        tra_placement q = s->places.v[s->group[g].demand.v[i]], p;
        if (tra_place_back(&q, s->group[g].node->type.cat->frontier.n, dim, &p)) demand(s, in, &p);
    }
}

static void demand_inputs(search *s, int g, const variant *f) {
    const tra_node *n = &f->x->node;
    int dim[TRA_MAXDIM], k = n->type.cat->frontier.n;
    tra_dims others = {0};
    tra_placement p;
    if (f->join) {
        const ways *w = &s->ways[f->join->node.id];
        for (int i = 0; i < w->n; i++) {
            for (int side = 0; side < 2; side++) demand(s, f->in[side], &s->wayplaces.v[w->v[i][side]]);
        }
        return;
    }
    for (int d = 0; d < TRA_MAXDIM; d++) dim[d] = d;
    switch (n->op) {
    case TRA_OP_INPUT:
    case TRA_OP_REPART: return;
    case TRA_OP_JOIN: return;
    case TRA_OP_FILTER:
    case TRA_OP_TRANSFORM: break;
    case TRA_OP_TILE: dim[k - 1] = -1; break;
    case TRA_OP_AGG:
        for (int i = 0; i < k; i++) dim[i] = (int)n->group.v[i];
        demand_back(s, g, f->in[0], dim);
        p = tra_place_within(n->in[0]->type.cat, s->o->sites, &n->group);
        demand(s, f->in[0], &p);
        return;
    case TRA_OP_REKEY:
        for (int i = 0; i < k; i++) {
            if (!tra_keyexpr_is_var(n->keyfn->expr[i], &dim[i])) dim[i] = -1;
        }
        break;
    case TRA_OP_CONCAT:
        for (int i = 0; i < k; i++) dim[i] = i < n->keydim ? i : i + 1;
        demand_back(s, g, f->in[0], dim);
        for (int i = 0; i < k; i++) others.v[others.n++] = dim[i];
        p = tra_place_within(n->in[0]->type.cat, s->o->sites, &others);
        demand(s, f->in[0], &p);
        return;
    }
    demand_back(s, g, f->in[0], dim);
}

/* Is a placement without copies among them? */
static bool demands_one_copy(const search *s, const numbers *demand) {
    for (int i = 0; i < demand->n; i++)
        if (tra_place_copies(&s->places.v[demand->v[i]]) == 1) return true;
    return false;
}

static void find_demands(search *s) {
    for (int i = 0; i < s->m->g->noutputs; i++) { /* states are brought to where the turns take them */
        const tra_output *o = &s->m->g->outputs[i];
        if (!s->home || (o->sink != TRA_SINK_FIRST && o->sink != TRA_SINK_NEXT)) continue;
        demand(s, s->at[tra_memo_find(s->m, s->m->v[s->m->of_node[o->node->id]]->group)], &s->home[o->loop][o->item]);
    }
    for (int g = s->ngroups - 1; g >= 0; g--) {
        tra_placement own[TRA_MAXDIM + 1];
        group *x = &s->group[g];
        if (x->last_use < 0) continue;
        if (s->fixed_place && s->fixed_place[g]) demand(s, g, s->fixed_place[g]);
        int m = tra_place_choices(x->node->type.cat, s->o->sites, own);
        for (int j = 0; j < m; j++) demand(s, g, &own[j]);
        if (!demands_one_copy(s, &x->demand))
            tra_add_number(&x->demand, tra_place_intern(s, &own[0])); /* a placement that leaves some sites idle */
        for (int i = 0; i < x->nvariants; i++) demand_inputs(s, g, &x->f[i]);
    }
}

/* ---- what costs the same --------------------------------------------------------------------------------------- */

static bool same_size(tra_size a, tra_size b) {
    return a.expected == b.expected && a.bound == b.bound && a.exact == b.exact;
}

static bool types_alike(const tra_type *a, const tra_type *b) {
    const tra_entries *x = a->entries, *y = b->entries;
    if (!tra_type_eq(a, b, NULL) || a->layout != b->layout) return false;
    if (x == y) return true;
    return x && y && same_size(x->all, y->all) && x->most == y->most && x->of == y->of && x->rows == y->rows &&
           x->fullest == y->fullest && x->squares == y->squares && x->span == y->span;
}

static bool is_alike(const tra_expr *x, const tra_expr *y) {
    const tra_rows_kernel *k = tra_rows_op_of(&x->node), *l = tra_rows_op_of(&y->node);
    if (x->node.op != y->node.op || (x->node.op != TRA_OP_INPUT && strcmp(x->text, y->text) != 0)) return false;
    if (k && l && k->flops != l->flops) return false;
    for (int i = 0; i < 2 && x->node.in[i]; i++)
        if (!types_alike(&x->node.in[i]->type, &y->node.in[i]->type)) return false;
    return types_alike(&x->node.type, &y->node.type);
}

static uint64_t type_hash(const tra_type *t, uint64_t h) {
    const tra_dims *f = &t->cat->frontier;
    int64_t size[] = {t->columns ? t->columns->n : 0, t->entries ? t->entries->all.expected : 0,
                      t->entries ? t->entries->all.bound : 0};
    h = XXH64(size, sizeof size, XXH64(f->v, (size_t)f->n * sizeof f->v[0], h));
    for (int i = 0; i < size[0]; i++) h = XXH64(t->columns->v[i].name, strlen(t->columns->v[i].name), h);
    return h;
}

static uint64_t alike_hash(const tra_expr *x) {
    uint64_t h = type_hash(&x->node.type, (uint64_t)x->node.op);
    for (int i = 0; i < 2 && x->node.in[i]; i++) h = type_hash(&x->node.in[i]->type, h);
    return x->node.op == TRA_OP_INPUT ? h : XXH64(x->text, strlen(x->text), h);
}

/* Finds for each expression the first one that costs the same: layers of a model, say, repeat the same operators. */
static void find_alike(search *s) {
    uint64_t mask = 63;
    while (mask < 2 * (uint64_t)s->m->n) mask = 2 * mask + 1;
    int *table = tra_calloc((size_t)mask + 1, sizeof *table); /* by hash: the number of an expression + 1 */
    uint64_t *hash = tra_malloc(((size_t)s->m->n + 1) * sizeof *hash);
    s->alike = tra_news(s->work, int, s->m->n);
    for (int i = 0; i < s->m->n; i++) {
        uint64_t at = hash[i] = alike_hash(s->m->v[i]);
        for (int j; (j = table[at & mask] - 1) >= 0; at++)
            if (hash[j] == hash[i] && is_alike(s->m->v[j], s->m->v[i])) break;
        if (!table[at & mask]) table[at & mask] = i + 1;
        s->alike[i] = table[at & mask] - 1;
    }
    free(table);
    free(hash);
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static void keep_ways(search *s, const tra_ways *all, ways *w) {
    *w = (ways){.n = all->n, .v = tra_arena_array(s->work, (size_t)all->n, sizeof *w->v)};
    for (int i = 0; i < all->n; i++) {
        const tra_way *x = &all->v[i];
        const tra_placement *p[3] = {&x->l, &x->r, &x->out};
        for (int j = 0; j < 3; j++) w->v[i][j] = tra_places_add(&s->wayplaces, p[j]);
    }
}

static void find_ways(search *s, int g) {
    for (int i = 0; i < s->group[g].nvariants; i++) {
        variant *f = &s->group[g].f[i];
        const tra_node *n = f->join ? &f->join->node : NULL;
        if (!n) continue;
        if (f->x == f->join) f->later = aggregated_later(s, g, n->type.cat->frontier.n);
        if (s->labels[n->id]) continue;
        const tra_catalog *l = n->in[0]->type.cat, *r = n->in[1]->type.cat;
        s->labels[n->id] = tra_new(s->work, tra_labels);
        tra_join_labels(l, r, &n->join.l, &n->join.r, s->labels[n->id]);
        const tra_expr *like = s->m->v[s->alike[n->id]];
        if (s->labels[like->node.id] && like != f->join) {
            s->ways[n->id] = s->ways[like->node.id];
            continue;
        }
        tra_ways all = {0};
        tra_join_ways(s->labels[n->id], l, r, s->o->sites, &all);
        keep_ways(s, &all, &s->ways[n->id]);
        free(all.v);
    }
}

static void set_fixed(search *s) {
    const tra_fixed *fixed = s->o->fixed;
    if (!fixed) return;
    s->fixed_way = tra_news(s->work, const tra_way *, s->m->n);
    s->fixed_place = tra_news(s->work, const tra_placement *, s->ngroups);
    for (int i = 0; i < s->m->g->n; i++) {
        int x = s->m->of_node[i];
        if (x < 0) continue;
        int g = s->at[s->m->v[x]->group];
        if (fixed->way && !s->fixed_way[x]) s->fixed_way[x] = fixed->way[i];
        if (fixed->place && g >= 0 && !s->fixed_place[g]) s->fixed_place[g] = fixed->place[i];
    }
}

/* A join that only one aggregation consumes, and that can be one operator with it, gets no implementations of its own:
 * the aggregation's operators compute it. */
static void absorb(search *s) {
    /* of each join the only consumer; -1: none yet, -2: it is not absorbed */
    int *by = tra_malloc((size_t)s->ngroups * sizeof *by);
    for (int g = 0; g < s->ngroups; g++) {
        by[g] = s->group[g].nvariants > 0 ? -1 : -2;
        for (int i = 0; i < s->group[g].nvariants; i++) {
            if (s->group[g].f[i].x->node.op != TRA_OP_JOIN) by[g] = -2;
        }
    }
    for (int i = 0; i < s->m->g->noutputs; i++)
        by[s->at[s->m->v[s->m->of_node[tra_output_root(&s->m->g->outputs[i])->id]]->group]] = -2;
    for (int g = 0; g < s->ngroups; g++) {
        for (int i = 0; i < s->group[g].nvariants; i++) {
            const variant *f = &s->group[g].f[i];
            bool fusable = f->x->node.op == TRA_OP_AGG && !tra_kernel_needs_tensor(f->x->node.kernel);
            for (int j = 0; j < 2 && f->in[j] >= 0 && !(f->join && f->join != f->x); j++) {
                int *b = &by[f->in[j]];
                *b = fusable && (*b == -1 || *b == g) ? g : -2;
            }
        }
    }
    for (int g = 0; g < s->ngroups; g++) {
        group *x = &s->group[g];
        int n = 0;
        x->absorbed = by[g] >= 0;
        /* removes variants that aggregate the stored result of a join that is absorbed; in reproducible plans, also
         * those that compute a join which is not absorbed */
        for (int i = 0; i < x->nvariants; i++) {
            const variant *f = &x->f[i];
            bool other = s->o->reproducible && f->join && f->join != f->x && by[s->at[f->x->in[0]]] < 0;
            if (other) continue;
            if (f->join || f->in[0] < 0 || by[f->in[0]] < 0) x->f[n++] = *f;
        }
        x->nvariants = n;
    }
    for (int g = 0; g < s->ngroups; g++) {
        if (s->group[g].absorbed) s->group[g].nvariants = 0;
    }
    free(by);
}

/* Can every output be computed from what is small enough to be counted? */
static tra_status check_sizes(const search *s, tra_err *e) {
    bool *can = tra_calloc((size_t)s->ngroups + 1, sizeof *can), all = true;
    for (int g = 0; g < s->ngroups; g++) {
        for (int i = 0; i < s->group[g].nvariants; i++) {
            const int *in = s->group[g].f[i].in;
            can[g] |= (in[0] < 0 || can[in[0]]) && (in[1] < 0 || can[in[1]]);
        }
    }
    for (int i = 0; i < s->m->g->n; i++) {
        int x = s->m->of_node[i];
        if (x >= 0 && s->at[s->m->v[x]->group] >= 0)
            all &= can[s->at[s->m->v[x]->group]] || s->m->g->v[i]->op == TRA_OP_JOIN;
    }
    for (int i = 0; i < s->m->g->noutputs; i++)
        all &= can[s->at[s->m->v[s->m->of_node[tra_output_root(&s->m->g->outputs[i])->id]]->group]];
    tra_status st = TRA_OK;
    for (int i = 0; i < s->m->g->n && !all && st == TRA_OK; i++) {
        const tra_node *n = s->m->g->v[i];
        int x = s->m->of_node[i];
        if (x < 0 || s->at[s->m->v[x]->group] < 0 || tra_countable(s, &n->type)) continue;
        char human[32];
        int line, column;
        tra_script_place(s->m->g->src, n->span.at, &line, &column);
        st = tra_fail(e, TRA_PROGRAM, "%s:%d:%d: %s%s is too large to plan: on %d site%s it may take more than %s",
                      s->m->g->src->name, line, column, n->name ? "relation " : "the result of ",
                      n->name ? n->name : tra_opcode_text(n->op), s->o->sites, s->o->sites == 1 ? "" : "s",
                      tra_human((int64_t)1 << TRA_COUNTABLE_BITS, human));
    }
    free(can);
    return st;
}

/* How often each group is computed: the loops around it are those whose leaves its first expression reads. */
static void find_times(search *s) {
    const tra_graph *g = s->m->g;
    uint64_t *in = tra_calloc((size_t)s->ngroups + 1, sizeof *in);
    for (int i = 0; i < s->ngroups; i++) {
        const variant *f = s->group[i].nvariants ? &s->group[i].f[0] : NULL;
        const tra_node *n = s->group[i].node;
        if (n->op == TRA_OP_INPUT && n->input.leaf) {
            bool turns = n->input.leaf == TRA_LEAF_STATE || n->input.leaf == TRA_LEAF_TURN;
            for (int l = turns ? n->input.loop : g->loops[n->input.loop]->outer; l >= 0; l = g->loops[l]->outer)
                in[i] |= (uint64_t)1 << l;
        }
        for (int l = n->slice.turn ? n->slice.turn->input.loop : -1; l >= 0; l = g->loops[l]->outer)
            in[i] |= (uint64_t)1 << l;
        for (int j = 0; f && j < 2 && f->in[j] >= 0; j++) in[i] |= in[f->in[j]];
        s->group[i].times = 1;
        for (int l = 0; l < g->nloops; l++)
            if (in[i] >> l & 1) s->group[i].times *= (double)tra_max64(1, g->loops[l]->most);
    }
    free(in);
}

tra_status tra_prepare(search *s, tra_err *e) {
    bool *skip;
    int *order = tra_memo_order(s->m, &s->ngroups, &skip);
    s->group = tra_news(s->work, group, s->ngroups + 1);
    s->at = tra_news(s->work, int, s->m->ngroups);
    s->labels = tra_news(s->work, tra_labels *, s->m->n);
    s->ways = tra_news(s->work, ways, s->m->n);
    s->summands = tra_news(s->work, tra_type, s->m->n);
    s->agreed = tra_news(s->work, agreed *, s->m->n);
    for (int g = 0; g < s->m->ngroups; g++) s->at[g] = -1;
    for (int g = 0; g < s->ngroups; g++) s->at[order[g]] = g, s->group[g].canonical = order[g];
    find_outputs(s);
    for (int g = 0; g < s->ngroups; g++) TRA_TRY(tra_search_add_variants(s, g, skip, e));
    TRA_TRY(check_sizes(s, e));
    find_times(s);
    find_alike(s);
    absorb(s);
    set_fixed(s);
    find_uses(s);
    find_consumers(s);
    for (int g = 0; g < s->ngroups; g++) find_ways(s, g);
    find_demands(s);
    return TRA_OK;
}

void tra_unprepare(search *s) {
    for (int g = 0; g < s->ngroups && s->group; g++) {
        free(s->group[g].demand.v);
        free(s->group[g].implementations.v);
        free(s->group[g].outputs.v);
        tra_arena_free(s->group[g].room);
    }
}
