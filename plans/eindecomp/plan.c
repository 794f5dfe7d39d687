/* plan.c - what a plan costs in the model of the paper, whichever optimizer found it. */
#include "eindecomp_int.h"

/* Sets parts[k] to the number of parts in which a placement cuts key dimension k. Of an axis over several dimensions
 * the first is cut in as many parts as it has values, then the next. */
static void parts_of(const tra_placement *p, int n, int *parts) {
    for (int k = 0; k < n; k++) parts[k] = 1;
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *x = &p->axis[i];
        int left = x->kind == TRA_AXIS_PART ? x->sites : 1;
        for (int j = 0; j < x->n && left > 1; j++) {
            int take = j == x->n - 1 ? left : (int)tra_min64(left, tra_max64(1, x->ext[j]));
            parts[(int)x->dim[j]] *= take;
            left = (int)tra_ceil_div(left, take);
        }
    }
}

/* The operator that computes input i of o, below exchanges, merges and repartitions. NULL: it comes from a file. */
static const tra_op *producer_of(const tra_plan *p, const tra_op *o, int i) {
    for (o = &p->ops[o->in[i]];; o = &p->ops[o->in[0]]) {
        if (tra_op_is(o->op, TRA_READS)) return NULL;
        if (!tra_op_is(o->op, TRA_EXCHANGES) && o->op != TRA_PLAN_MERGE) return o;
    }
}

/* How many summands of each result an aggregation leaves on different sites, by the placement of its input. */
static double summands_of(const tra_placement *in, const tra_dims *group) {
    tra_placement out;
    if (in->owner || !tra_place_agg(in, group, &out)) return 1;
    return tra_place_summands(&out);
}

static double op_cost(const tra_plan *p, const tra_op *o) {
    double floats = 0, summands = 1, cost = 0;
    int parts[TRA_MAXDIM], made[TRA_MAXDIM];
    for (int i = 0; i < 2 && o->in[i] >= 0; i++) {
        const tra_op *in = &p->ops[o->in[i]], *from = producer_of(p, o, i);
        tra_ein_rel r = tra_ein_rel_of(&in->type);
        parts_of(&in->place, r.n, parts);
        floats += tra_ein_part_floats(&r, parts, NULL);
        if (!from || from->place.owner || from->type.cat->frontier.n != r.n) continue;
        parts_of(&from->place, r.n, made);
        cost += tra_ein_repart_cost(&r, made, parts);
    }
    if (o->op == TRA_PLAN_AGG) summands = summands_of(&p->ops[o->in[0]].place, &o->spec.group);
    if (o->op == TRA_PLAN_JOINAGG) {
        tra_placement pairs = tra_op_pairs_place(p, o);
        summands = summands_of(&pairs, &o->spec.group);
    }
    if (summands > 1) {
        tra_ein_rel r = tra_ein_rel_of(&o->type);
        parts_of(&o->place, r.n, parts);
        cost += p->sites / summands * (summands - 1) * tra_ein_part_floats(&r, parts, NULL);
    }
    return cost + p->sites * floats;
}

double tra_ein_plan_cost(const tra_plan *p) {
    double cost = 0;
    for (int i = 0; i < p->nops; i++) {
        tra_plan_op op = p->ops[i].op;
        bool computes = tra_op_is(op, TRA_RENAMES | TRA_MAKES) && !tra_op_is(op, TRA_EXCHANGES);
        if (computes && op != TRA_PLAN_MERGE) cost += op_cost(p, &p->ops[i]);
    }
    return cost;
}
