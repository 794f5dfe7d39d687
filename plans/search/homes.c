/* homes.c - where the states of loops are from turn to turn. */
#include "../ia/ia.h"
#include "search_int.h"

/* A state of each loop whole on each site. */
static tra_placement **all_whole(const tra_graph *g, int sites, tra_arena *a) {
    tra_placement **v = tra_news(a, tra_placement *, g->nloops + 1);
    for (int l = 0; l < g->nloops; l++) {
        v[l] = tra_news(a, tra_placement, g->loops[l]->nstates + 1);
        for (int k = 0; k < g->loops[l]->nstates; k++) v[l][k] = tra_place_all(sites);
    }
    return v;
}

static bool differ(const tra_graph *g, tra_placement *const *x, tra_placement *const *y) {
    for (int l = 0; l < g->nloops; l++)
        for (int k = 0; k < g->loops[l]->nstates; k++)
            if (!tra_place_eq(&x[l][k], &y[l][k])) return true;
    return false;
}

tra_placement **tra_homes_divided(const search *s, tra_arena *a) {
    const tra_graph *g = s->m->g;
    tra_placement **v = all_whole(g, s->o->sites, a), own[TRA_MAXDIM + 1];
    bool any = false;
    for (int l = 0; l < g->nloops; l++)
        for (int k = 0; k < g->loops[l]->nstates; k++) {
            const tra_catalog *c = g->loops[l]->states[k].state->type.cat;
            if (c->n < 2 || tra_place_choices(c, s->o->sites, own) == 0) continue;
            v[l][k] = own[0];
            any = true;
        }
    return any ? v : NULL;
}

tra_placement **tra_homes_as_made(const search *s, const entry *x, tra_placement *const *tried, tra_arena *a) {
    const tra_graph *g = s->m->g;
    tra_placement **v = all_whole(g, s->o->sites, a), **was = s->home ? s->home : all_whole(g, s->o->sites, a);
    for (int i = 0; i < g->noutputs; i++) {
        const tra_output *o = &g->outputs[i];
        if (o->sink != TRA_SINK_NEXT) continue;
        int at = s->at[tra_memo_find(s->m, s->m->v[s->m->of_node[o->node->id]]->group)];
        const supply *y = &s->supplies.v[x->supply[at]];
        const tra_placement *p = y->m && y->m->out >= 0 ? &s->places.v[y->m->out] : NULL;
        bool once = p && !p->owner && !tra_place_is_partial(p) && tra_place_copies(p) == 1;
        v[o->loop][o->item] = once ? *p : was[o->loop][o->item];
    }
    return differ(g, v, was) && differ(g, v, tried) ? v : NULL;
}

tra_placement **tra_homes_chosen(const tra_memo *m, int n, const tra_choice *v, tra_arena *a) {
    tra_placement **home = NULL;
    for (int i = 0; i < n; i++) {
        const tra_node *leaf = &m->v[v[i].expr]->node;
        bool state =
            leaf->op == TRA_OP_INPUT && (leaf->input.leaf == TRA_LEAF_STATE || leaf->input.leaf == TRA_LEAF_LAST);
        if (!state || v[i].out.sites == 0) continue;
        if (!home) home = all_whole(m->g, v[i].out.sites, a);
        home[leaf->input.loop][leaf->input.item] = v[i].out;
    }
    return home;
}
