/* prepare.c - what the search knows of a program before it starts: which nodes are needed, which joins are one operator
 * with their aggregation, and which placements the consumers of a relation could use. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "search_int.h"

/* ---- wants -------------------------------------------------------------------------------------------------- */

enum { MAXWANT = 64 };

static void want(search *s, const tra_node *n, const tra_placement *p) {
    places *w = &s->want[n->id];
    if (p->owner || tra_place_is_partial(p) || w->n == MAXWANT || !tra_place_offered(p, n->type.cat)) return;
    int id = place_intern(s, p);
    for (int i = 0; i < w->n; i++) {
        if (w->v[i] == id) return;
    }
    if (w->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 8;
        w->v = tra_realloc(w->v, (size_t)w->cap, sizeof *w->v);
    }
    w->v[w->n++] = id;
}

/* What n's consumers want of it, wanted of its input: output key dimension i is dimension dim[i] of the input. */
static void want_back(search *s, const tra_node *n, const int *dim) {
    for (int i = 0; i < s->want[n->id].n; i++) {
        tra_placement q = s->place[s->want[n->id].v[i]], p;
        if (tra_place_back(&q, n->type.cat->frontier.n, dim, &p)) want(s, n->in[0], &p);
    }
}

static void want_inputs(search *s, const tra_node *n) {
    int dim[TRA_MAXDIM], k = n->type.cat->frontier.n;
    tra_dims others = {0};
    tra_placement p;
    for (int d = 0; d < TRA_MAXDIM; d++) dim[d] = d;
    switch (n->op) {
    case TRA_OP_INPUT:
    case TRA_OP_REPART: return;
    case TRA_OP_JOIN:
        for (int i = 0; i < s->ways[n->id].n; i++) {
            want(s, n->in[0], &s->ways[n->id].v[i].l);
            want(s, n->in[1], &s->ways[n->id].v[i].r);
        }
        return;
    case TRA_OP_FILTER:
    case TRA_OP_TRANSFORM: break;
    case TRA_OP_TILE: dim[k - 1] = -1; break;
    case TRA_OP_AGG:
        for (int i = 0; i < k; i++) dim[i] = (int)n->group.v[i];
        want_back(s, n, dim);
        p = tra_place_within(n->in[0]->type.cat, s->o->sites, &n->group);
        want(s, n->in[0], &p);
        return;
    case TRA_OP_REKEY:
        for (int i = 0; i < k; i++) {
            if (!tra_keyexpr_is_var(n->keyfn->expr[i], &dim[i])) dim[i] = -1;
        }
        break;
    case TRA_OP_CONCAT:
        for (int i = 0; i < k; i++) dim[i] = i < n->keydim ? i : i + 1;
        want_back(s, n, dim);
        for (int i = 0; i < k; i++) others.v[others.n++] = dim[i];
        p = tra_place_within(n->in[0]->type.cat, s->o->sites, &others);
        want(s, n->in[0], &p);
        return;
    }
    want_back(s, n, dim);
}

/* ---- the graph ---------------------------------------------------------------------------------------------- */

static void mark(search *s, const tra_node *n) {
    if (s->needed[n->id]) return;
    s->needed[n->id] = true;
    for (int i = 0; i < 2 && n->in[i]; i++) {
        s->uses[n->in[i]->id]++;
        mark(s, n->in[i]);
    }
}

/* The needed consumer of a node that has one use, or NULL when that is an output. */
static const tra_node *only_consumer(const search *s, const tra_node *n) {
    if (s->uses[n->id] != 1) return NULL;
    for (int i = n->id + 1; i < s->g->n; i++) {
        const tra_node *c = s->g->v[i];
        if (s->needed[i] && (c->in[0] == n || c->in[1] == n)) return c;
    }
    return NULL;
}

/* Which output key dimensions of a join are aggregated by the aggregation that it flows into through maps. */
static uint32_t aggregated_later(const search *s, const tra_node *join) {
    int at[TRA_MAXDIM], k = join->type.cat->frontier.n; /* key dimension of the relation at hand, or -1 */
    for (int d = 0; d < k; d++) at[d] = d;
    for (const tra_node *n = only_consumer(s, join); n; n = only_consumer(s, n)) {
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

void prepare(search *s) {
    int n = s->g->n;
    s->needed = tra_news(s->work, bool, n);
    s->uses = tra_news(s->work, int, n);
    s->last_use = tra_news(s->work, int, n);
    s->fused = tra_news(s->work, int, n);
    s->later = tra_news(s->work, uint32_t, n);
    s->want = tra_news(s->work, places, n);
    s->labels = tra_news(s->work, tra_labels, n);
    s->ways = tra_news(s->work, tra_ways, n);
    s->partial = tra_news(s->work, tra_type, n);
    for (int i = 0; i < s->g->noutputs; i++) {
        s->uses[s->g->outputs[i].node->id]++;
        mark(s, s->g->outputs[i].node);
    }
    for (int i = 0; i < n; i++) {
        const tra_node *x = s->g->v[i];
        s->last_use[i] = s->fused[i] = -1;
        if (!s->needed[i] || x->op != TRA_OP_JOIN) continue;
        const tra_node *c = only_consumer(s, x);
        if (c && c->op == TRA_OP_AGG && !tra_kernel_needs_tensor(c->kernel)) s->fused[i] = c->id;
        s->later[i] = aggregated_later(s, x);
        tra_join_labels(x->in[0]->type.cat, x->in[1]->type.cat, &x->joinl, &x->joinr, &s->labels[i]);
        tra_join_ways(&s->labels[i], x->in[0]->type.cat, x->in[1]->type.cat, s->o->sites, &s->ways[i]);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; s->needed[i] && j < 2 && s->g->v[i]->in[j]; j++)
            s->last_use[s->g->v[i]->in[j]->id] =
                tra_max64(s->last_use[s->g->v[i]->in[j]->id], s->fused[i] >= 0 ? s->fused[i] : i);
    }
    for (int i = n - 1; i >= 0; i--) {
        tra_placement own[TRA_MAXDIM + 1];
        const tra_node *x = s->g->v[i];
        if (!s->needed[i]) continue;
        int m = tra_place_choices(x->type.cat, s->o->sites, own);
        for (int j = 0; j < m; j++) want(s, x, &own[j]);
        if (s->want[i].n == 0) { /* few tuples: some sites stay idle */
            s->want[i] = (places){.n = 1, .cap = 1, .v = tra_malloc(sizeof(int))};
            s->want[i].v[0] = place_intern(s, &own[0]);
        }
        want_inputs(s, x);
    }
}
