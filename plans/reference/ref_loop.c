/* ref_loop.c - loops: the body evaluated once for each turn. */
#include "ref_loop.h"

#include <math.h>

/* Which nodes of the body may have other values in other turns: those that read a leaf of this loop, or of one in it.
 */
static bool *find_changing(const ref_evaluation *x, const tra_repeat *l, int loop) {
    bool *changes = tra_news(x->a, bool, x->g->n);
    for (int i = l->begin; i < l->end; i++) {
        const tra_node *n = x->g->v[i];
        changes[i] = (n->input.leaf && n->input.loop >= loop) || (n->slice.turn && n->slice.turn->input.loop >= loop);
        for (int j = 0; j < 2; j++)
            if (n->in[j]) changes[i] |= changes[n->in[j]->id];
        for (int j = 0; x->defined[i] && j < x->defined[i]->nrefs; j++)
            if (x->defined[i]->ref[j].node) changes[i] |= changes[x->defined[i]->ref[j].node->id];
        for (int j = 0; x->table[i] && j < 2; j++)
            if (x->table[i]->in[j]) changes[i] |= changes[x->table[i]->in[j]->id];
        for (int j = 0; x->tensor[i] && j < x->tensor[i]->n; j++)
            if (x->tensor[i]->relation[j]) changes[i] |= changes[x->tensor[i]->relation[j]->id];
    }
    return changes;
}

/* The number that a relation of rank 0 is. */
static ref_num number_of(const tra_ref_rel *r) { return r->n ? r->v[0].data[0] : 0; }

static tra_ref_rel *relation_of_number(tra_arena *a, int64_t v) {
    tra_ref_rel *r = tra_new(a, tra_ref_rel);
    tra_ref_tuple *t = tra_new(a, tra_ref_tuple);
    t->data = tra_new(a, ref_num);
    *t->data = v;
    *r = (tra_ref_rel){.dtype = TRA_I64, .n = 1, .v = t};
    return r;
}

static tra_ref_rel *relation_of_table(tra_arena *a, ref_table *t) {
    tra_ref_rel *r = tra_new(a, tra_ref_rel);
    r->table = t;
    return r;
}

/* Adds the row of a turn to the table of a trace. */
static void add_row(const ref_evaluation *x, const tra_repeat_trace *t, int64_t turn, ref_table *to) {
    ref_at(to, to->rows, 0)->i = turn;
    for (int j = 0; j < t->n; j++) {
        ref_num v = number_of(x->v[t->value[j]->id]);
        ref_cell *c = ref_at(to, to->rows, j + 1);
        if (tra_coltype_is_float(to->column[j + 1].type))
            c->f = (double)v;
        else
            c->i = (int64_t)v;
    }
    to->rows++;
}

int64_t ref_turn_number(const ref_evaluation *x, int loop, int64_t count) {
    int64_t number = 0, unit = 1;
    for (int l = loop; unit < count; l = x->g->loops[l]->outer) {
        number += x->turn[l] * unit;
        unit *= tra_max64(1, x->g->loops[l]->most);
    }
    return number;
}

/* Checks what is required in each turn of the loop; -1: outside of loops. */
static tra_status check_required(const ref_evaluation *x, int loop, tra_err *e) {
    for (int i = 0; i < x->g->noutputs; i++) {
        const tra_output *o = &x->g->outputs[i];
        if (o->sink != TRA_SINK_REQUIRE || o->loop != loop) continue;
        ref_num v = number_of(x->v[o->node->id]);
        if (v != 0 && !isnan(v)) continue;
        int line, column;
        tra_script_place(x->g->src, o->item, &line, &column);
        return tra_fail(e, TRA_INPUT, "%s:%d: %s", x->g->src->name, line, o->name);
    }
    return TRA_OK;
}

static tra_status run_loop(ref_evaluation *x, int loop, tra_err *e) {
    const tra_repeat *l = x->g->loops[loop];
    bool *changes = find_changing(x, l, loop), ends = false;
    ref_table **rows = tra_news(x->a, ref_table *, l->ntraces);
    const tra_ref_rel **next = tra_news(x->a, const tra_ref_rel *, l->nstates);
    for (int k = 0; k < l->ntraces; k++) rows[k] = ref_table_new(x->a, l->traces[k].table->type.columns, l->most);
    for (int i = l->begin; i < l->end; i++)
        if (!changes[i]) TRA_TRY(ref_evaluate(x, i, e));
    for (int k = 0; k < l->nstates; k++) {
        const tra_node *first = l->states[k].first;
        if (first->input.leaf == TRA_LEAF_EMPTY)
            x->v[first->id] = relation_of_table(x->a, ref_table_new(x->a, first->type.columns, 0));
        x->v[l->states[k].state->id] = x->v[first->id];
    }
    bool *need = x->need, *of_body = tra_news(x->a, bool, x->g->n);
    for (int i = l->begin; i < l->end; i++) of_body[i] = need[i] && changes[i];
    for (int64_t t = 0; t < l->most && !ends; t++) {
        x->turn[loop] = t;
        if (l->turn) x->v[l->turn->id] = relation_of_number(x->a, t);
        x->need = of_body;
        tra_status s = ref_evaluate_body(x, loop, l->begin, l->end, e);
        x->need = need;
        if (s != TRA_OK) return s;
        TRA_TRY(check_required(x, loop, e));
        for (int k = 0; k < l->ntraces; k++) add_row(x, &l->traces[k], t, rows[k]);
        ref_num until = l->until ? number_of(x->v[l->until->id]) : 0;
        ends = until != 0 && !isnan(until);
        for (int k = 0; k < l->nstates; k++) next[k] = x->v[l->states[k].next->id];
        for (int k = 0; k < l->nstates; k++) x->v[l->states[k].state->id] = next[k];
    }
    for (int k = 0; k < l->nstates; k++) x->v[l->states[k].last->id] = x->v[l->states[k].state->id];
    for (int k = 0; k < l->ntraces; k++) x->v[l->traces[k].table->id] = relation_of_table(x->a, rows[k]);
    return TRA_OK;
}

tra_status ref_evaluate_body(ref_evaluation *x, int loop, int from, int to, tra_err *e) {
    for (int k = 0; k < x->g->nloops; k++) {
        const tra_repeat *l = x->g->loops[k];
        if (l->outer != loop) continue;
        for (; from < l->begin; from++) TRA_TRY(ref_evaluate(x, from, e));
        TRA_TRY(run_loop(x, k, e));
        from = l->end;
    }
    for (; from < to; from++) TRA_TRY(ref_evaluate(x, from, e));
    return loop < 0 ? check_required(x, loop, e) : TRA_OK;
}
