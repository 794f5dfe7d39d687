/* finish_rows.c - results of a plan that are held by their entries since they are written so. */
#include "../../lib/model/rows.h"
#include "../../lib/physical/needs.h"
#include "../../lib/storage/stored.h"
#include "search_int.h"

/* How many operators read operator i? */
static int readers_of(const tra_plan *p, int i) {
    int n = 0;
    for (int j = 0; j < p->nops; j++) n += p->ops[j].in[0] == i || p->ops[j].in[1] == i;
    return n;
}

/* Is it a sum of products of matrices that are held as rows, all of it made where it is, and nothing made of it? */
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
