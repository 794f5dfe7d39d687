/* finish_loop.c - where the operators of loops stand: what each turn reads and none changes before the loop, then the
 * states, then the turns. */
#include "finish.h"

#include <assert.h>
#include <string.h>

static uint64_t bit(int loop) { return (uint64_t)1 << loop; }

/* The loop itself and those around it. */
static uint64_t around(const tra_graph *g, int loop) {
    uint64_t set = 0;
    for (; loop >= 0; loop = g->loops[loop]->outer) set |= bit(loop);
    return set;
}

static int deepest(uint64_t loops) { return loops ? 63 - __builtin_clzll(loops) : -1; }

static int group_of(const finish *f, const tra_node *n) {
    const tra_memo *m = f->s->m;
    return f->s->at[tra_memo_find(m, m->v[m->of_node[n->id]]->group)];
}

static const tra_node *leaf_of(const finish *f, int g) {
    const tra_node *n = &supply_at(f, g)->m->f->x->node;
    return n->op == TRA_OP_INPUT && n->input.leaf ? n : NULL;
}

/* Groups come after those of their inputs. */
void tra_finish_find_loops(finish *f) {
    const tra_graph *g = f->s->m->g;
    f->inside = tra_news(f->work, uint64_t, f->s->ngroups);
    f->begun = tra_news(f->work, bool, g->nloops);
    f->from = tra_news(f->work, int, g->nloops);
    f->to = tra_news(f->work, int, g->nloops);
    for (int l = 0; l < g->nloops; l++) f->to[l] = -1;
    for (int i = 0; i < f->s->ngroups && g->nloops > 0; i++) {
        if (!f->x->supply[i]) continue;
        const implementation *m = supply_at(f, i)->m;
        const tra_node *leaf = leaf_of(f, i);
        if (leaf) {
            bool turns = leaf->input.leaf == TRA_LEAF_STATE || leaf->input.leaf == TRA_LEAF_TURN;
            f->inside[i] = around(g, turns ? leaf->input.loop : g->loops[leaf->input.loop]->outer);
        }
        if (m->f->x->node.slice.turn) f->inside[i] |= around(g, m->f->x->node.slice.turn->input.loop);
        for (int j = 0; j < 2 && m->f->in[j] >= 0; j++) f->inside[i] |= f->inside[m->f->in[j]];
    }
}

/* The placement of a state's leaf. */
static int home(const finish *f, const tra_node *leaf) { return supply_at(f, group_of(f, leaf))->m->out; }

/* The operator that has the relation in the form in which a sink takes it: a state at its place. */
static int taken(finish *f, const tra_output *o) {
    int g = group_of(f, o->node);
    tra_finish_emit(f, g);
    if (o->sink != TRA_SINK_FIRST && o->sink != TRA_SINK_NEXT) return f->at[g][0];
    return tra_finish_bring(f, g, home(f, f->s->m->g->loops[o->loop]->states[o->item].state));
}

/* Makes what the turns read and do not change, and brings it to where they take it. */
static void hoist(finish *f, int loop) {
    const tra_graph *g = f->s->m->g;
    for (int k = 0; k < f->nsorted; k++) {
        int i = f->sorted[k];
        if (!(f->inside[i] & bit(loop))) continue;
        const implementation *m = supply_at(f, i)->m;
        for (int j = 0; j < 2 && m->f->in[j] >= 0; j++) {
            int in = m->f->in[j];
            if (f->inside[in] & bit(loop)) continue;
            tra_finish_emit(f, in);
            tra_finish_bring(f, in, m->in[j]);
        }
    }
    for (int i = 0; i < g->noutputs; i++) { /* also what the loops in this one take */
        const tra_output *o = &g->outputs[i];
        bool within = o->sink != TRA_SINK_FILE && o->sink != TRA_SINK_STATE && around(g, o->loop) & bit(loop);
        if (within && !(f->inside[group_of(f, o->node)] & bit(loop)) && !(o->sink == TRA_SINK_FIRST && o->loop == loop))
            taken(f, o);
    }
}

/* The operator of the leaf n, which makes group g. */
static int make_leaf(finish *f, int g, const tra_node *n, tra_plan_op op, int in) {
    const supply *x = supply_at(f, g);
    f->at[g] = tra_news(f->work, int, x->n + 1);
    for (int i = 0; i <= x->n; i++) f->at[g][i] = -1;
    f->order[f->norder++] = g;
    f->at[g][0] = tra_finish_push(f, (part){.op = op,
                                            .group = g,
                                            .node = &x->m->f->x->node,
                                            .in = {in, -1},
                                            .place = x->m->out,
                                            .name = n->name,
                                            .of_loop = n->input.loop,
                                            .item = n->input.item});
    tra_finish_outputs(f, g);
    return f->at[g][0];
}

/* The same for a leaf of the graph; -1: nothing reads it. */
static int add_leaf(finish *f, const tra_node *n, tra_plan_op op, int in) {
    int g = f->s->m->of_node[n->id] < 0 ? -1 : group_of(f, n);
    return g < 0 || !f->x->supply[g] ? -1 : make_leaf(f, g, n, op, in);
}

/* Adds the operators of a loop that stands in f->loop, with those that it needs before its turns. */
static void add_loop(finish *f, int loop);

bool tra_finish_leaf(finish *f, int g) {
    const tra_node *n = leaf_of(f, g);
    if (!n) return false;
    if (n->input.leaf == TRA_LEAF_EMPTY)
        make_leaf(f, g, n, TRA_PLAN_EMPTY, -1);
    else if (!f->begun[n->input.loop])
        add_loop(f, n->input.loop);
    return true;
}

void tra_finish_turn(finish *f, int loop) {
    static const tra_plan_op ops[] = {[TRA_SINK_NEXT] = TRA_PLAN_NEXT,
                                      [TRA_SINK_UNTIL] = TRA_PLAN_UNTIL,
                                      [TRA_SINK_TRACE] = TRA_PLAN_TRACE,
                                      [TRA_SINK_REQUIRE] = TRA_PLAN_REQUIRE};
    const tra_graph *g = f->s->m->g;
    int *in = tra_news(f->work, int, g->noutputs);
    for (int i = 0; i < g->noutputs; i++) {
        const tra_output *o = &g->outputs[i];
        if (o->sink >= TRA_SINK_NEXT && o->loop == loop) in[i] = taken(f, o);
        if (o->sink == TRA_SINK_NEXT && o->loop == loop)
            in[i] = tra_finish_as_state(f, in[i], g->loops[loop]->states[o->item].state);
    }
    for (int i = 0; i < g->noutputs; i++) {
        const tra_output *o = &g->outputs[i];
        if (o->sink < TRA_SINK_NEXT || o->loop != loop) continue;
        int group = group_of(f, o->node);
        tra_finish_push(f, (part){.op = ops[o->sink],
                                  .group = group,
                                  .node = &supply_at(f, group)->m->f->x->node,
                                  .in = {in[i], -1},
                                  .place = f->v[in[i]].place,
                                  .name = o->name,
                                  .of_loop = loop,
                                  .item = o->item,
                                  .column = o->column});
    }
}

static void add_loop(finish *f, int loop) {
    const tra_graph *g = f->s->m->g;
    const tra_repeat *l = g->loops[loop];
    int outer = f->loop, *state = tra_news(f->work, int, l->nstates);
    assert(outer == l->outer);
    f->begun[loop] = true;
    for (int i = 0; i < g->noutputs; i++)
        if (g->outputs[i].sink == TRA_SINK_FIRST && g->outputs[i].loop == loop)
            state[g->outputs[i].item] =
                tra_finish_as_state(f, taken(f, &g->outputs[i]), l->states[g->outputs[i].item].state);
    hoist(f, loop);
    for (int k = 0; k < l->nstates; k++) state[k] = add_leaf(f, l->states[k].state, TRA_PLAN_STATE, state[k]);
    if (l->turn) add_leaf(f, l->turn, TRA_PLAN_TURN, -1);
    f->loop = loop;
    f->from[loop] = f->n;
    for (int k = 0; k < f->nsorted; k++)
        if (deepest(f->inside[f->sorted[k]]) == loop) tra_finish_emit(f, f->sorted[k]);
    tra_finish_turn(f, loop);
    f->to[loop] = f->n - 1;
    f->loop = outer;
    for (int k = 0; k < l->nstates; k++) add_leaf(f, l->states[k].last, TRA_PLAN_LAST, state[k]);
    for (int k = 0; k < l->ntraces; k++) add_leaf(f, l->traces[k].table, TRA_PLAN_TRACED, -1);
}

void tra_finish_set_loops(finish *f) {
    const tra_graph *g = f->s->m->g;
    tra_plan *p = f->plan;
    p->nloops = g->nloops;
    p->loops = tra_news(p->arena, tra_plan_loop, g->nloops);
    for (int l = 0; l < g->nloops; l++) {
        const tra_repeat *r = g->loops[l];
        tra_plan_loop *x = &p->loops[l];
        *x = (tra_plan_loop){.first = f->from[l],
                             .last = f->to[l],
                             .outer = r->outer,
                             .most = r->most,
                             .nstates = r->nstates,
                             .ntraces = r->ntraces,
                             .turn = -1,
                             .until = -1,
                             .program = f->program,
                             .text_at = r->span.at,
                             .until_at = r->until_span.at};
        x->state = tra_news(p->arena, int, r->nstates);
        x->next = tra_news(p->arena, int, r->nstates);
        x->traced = tra_news(p->arena, const tra_type *, r->ntraces);
        for (int k = 0; k < r->nstates; k++) x->state[k] = x->next[k] = -1;
        for (int k = 0; k < r->ntraces; k++) x->traced[k] = &r->traces[k].table->type;
    }
    for (int i = 0; i < f->n; i++) {
        const part *v = &f->v[i];
        tra_plan_loop *x = &p->loops[v->of_loop];
        if (v->op == TRA_PLAN_STATE) x->state[v->item] = i;
        if (v->op == TRA_PLAN_NEXT) x->next[v->item] = i;
        if (v->op == TRA_PLAN_TURN) x->turn = i;
        if (v->op == TRA_PLAN_UNTIL) x->until = i;
    }
}
