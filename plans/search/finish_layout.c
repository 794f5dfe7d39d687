/* finish_layout.c - the layouts in which a plan holds its results, where they are not those of their types. */
#include "../../lib/model/rows.h"
#include "../../lib/physical/needs.h"
#include "../../lib/storage/stored.h"
#include "finish.h"

/* Views, exchanges and outputs have the layout of their input; sums that are yet to be completed are dense. */
static const tra_layout *layout_for(tra_plan_op op, bool partial, const tra_layout *input, const tra_layout *own) {
    if (partial || op == TRA_PLAN_MERGE) return NULL;
    return op == TRA_PLAN_OUTPUT || tra_op_is(op, TRA_RENAMES | TRA_FORWARDS) ? input : own;
}

void tra_finish_hold(tra_plan *p, tra_op *o) {
    if (o->type.bounded || o->type.columns) return;
    const tra_layout *input = o->in[0] >= 0 ? p->ops[o->in[0]].type.layout : NULL;
    tra_type_set_layout(p->arena, &o->type, layout_for(o->op, o->spec.partial, input, o->type.layout));
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* The layout that an operator's result will have. */
static const tra_layout *layout_of(const finish *f, int id) {
    const part *x = &f->v[id];
    const tra_layout *input =
        x->in[0] >= 0 && tra_op_is(x->op, TRA_RENAMES | TRA_FORWARDS) ? layout_of(f, x->in[0]) : NULL;
    return layout_for(x->op, x->partial, input, x->node->type.layout);
}

int tra_finish_as_state(finish *f, int in, const tra_node *state) {
    static const char *const names[] = {"x"};
    if (!state->type.sparse || state->type.columns || layout_of(f, in) == state->type.layout) return in;
    part x = f->v[in];
    tra_node *n = tra_new(f->plan->arena, tra_node);
    *n = (tra_node){
        .id = -1, .op = TRA_OP_TRANSFORM, .in = {(tra_node *)x.node}, .type = x.node->type, .converts = true};
    tra_scalar *same = tra_new(f->plan->arena, tra_scalar);
    *same = (tra_scalar){.op = TRA_S_ARG};
    n->span = state->span;
    n->kernel = tra_kernel_lambda(f->plan->arena, same, 1, names);
    tra_type_set_layout(f->plan->arena, &n->type, state->type.layout);
    return tra_finish_push(f,
                           (part){.op = TRA_PLAN_MAP, .group = x.group, .node = n, .in = {in, -1}, .place = x.place});
}

/* ---- sums that are written by their entries ---------------------------------------------------------------------- */

/* How many operators read operator i? */
static int readers_of(const tra_plan *p, int i) {
    int n = 0;
    for (int j = 0; j < p->nops; j++) n += p->ops[j].in[0] == i || p->ops[j].in[1] == i;
    return n;
}

/* Is it a sum of products of matrices that are held as rows? No site has only a part of it, and no map follows it. */
static bool adds_rows(const tra_plan *p, const tra_op *o) {
    if (o->op != TRA_PLAN_JOINAGG || o->spec.partial || !o->type.sparse || o->type.layout) return false;
    if (tra_kernel_rest(o->spec.agg)) return false;
    const tra_type *l = &p->ops[o->in[0]].type, *r = &p->ops[o->in[1]].type;
    return l->layout == &tra_rows && r->layout == &tra_rows && tra_rows_can(&o->type.cat->bound);
}

void tra_finish_hold_rows(tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *output = &p->ops[i], *o = output->op == TRA_PLAN_OUTPUT ? &p->ops[output->in[0]] : NULL;
        if (!o || !output->spec.levels || readers_of(p, o->id) != 1 || !adds_rows(p, o)) continue;
        tra_type_set_layout(p->arena, &o->type, &tra_rows);
        if (!tra_op_panel(p, o, output)) {
            tra_type_set_layout(p->arena, &o->type, NULL);
            continue;
        }
        tra_type_set_layout(p->arena, &output->type, &tra_rows);
        o->holds = output->holds = NULL;
    }
}
