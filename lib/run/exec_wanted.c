/* exec_wanted.c - which rows of an input are read: what its readers want, and what has partners in joins whose right
 * tables are there when the first of them begins. */
#include "exec_int.h"

/* The only reader of operator i's result; -1: there are several. */
static int only_reader(const tra_plan *p, int i, int *side) {
    tra_read r = {.op = -1}, other;
    if (!tra_next_read(p, i, NULL, &r)) return -1;
    other = r;
    *side = r.side;
    return tra_next_read(p, i, NULL, &other) ? -1 : r.op;
}

/* The input whose rows operator i reads on its left, through passes; -1: it is none, or others read it too. */
static int input_of(const tra_execution *x, int i) {
    int side;
    do {
        int in = x->plan->ops[i].in[0];
        if (in < 0 || only_reader(x->plan, in, &side) != i || side != 0) return -1;
        i = in;
    } while (x->plan->ops[i].op == TRA_PLAN_MAP && x->plan->ops[i].method.fused);
    return x->rels[i] && x->plan->ops[i].type.columns ? i : -1;
}

static double rows_of(const tra_execution *x, int i) { return tra_type_entries(&x->plan->ops[i].type).expected; }

/* Goes along the operators that read rows of input i; without joins: up to the first. */
static tra_wanted *follow(tra_execution *x, int i, bool joins) {
    tra_wanted *w = tra_wanted_new(x->arena, x->plan->ops[i].type.columns);
    for (int side, reader; (reader = only_reader(x->plan, i, &side)) >= 0 && side == 0; i = reader) {
        const tra_op *op = &x->plan->ops[reader];
        bool map = op->op == TRA_PLAN_MAP;
        if (!map && (!joins || op->op != TRA_PLAN_JOIN)) break;
        double share = rows_of(x, reader) / (rows_of(x, i) + 1);
        if (!tra_wanted_then(w, tra_kernel_rows(map ? op->spec.map : op->spec.join), share, reader)) break;
    }
    return w;
}

const tra_row_filter *tra_exec_rows_wanted(tra_execution *x, int i) { return tra_wanted_filter(follow(x, i, false)); }

/* Lets the right table of a join say which rows are wanted, if it is there and memory is plenty. The block is what that
 * takes. */
static void meet(tra_execution *x, tra_wanted *w, int join, tra_block **room) {
    enum { PLENTY = 8 };
    const tra_op *op = &x->plan->ops[tra_wanted_join_op(w, join)];
    tra_part *right = x->parts[op->in[1]];
    tra_unit_input in = {.part = right, .after = TRA_AFTER_KEEP};
    tra_err e = {0};
    int64_t free = x->o->memory - x->plan->least_memory;
    *room = NULL;
    if (!right || right->n != 1 || right->type->cat->n != 1 ||
        tra_engine_fetch(x->site.engine, &in, (size_t)op->method.scratch_bytes, (size_t)op->method.io_bytes, &e)) {
        tra_wanted_meet(w, join, NULL, NULL);
        return;
    }
    int64_t bytes = tra_wanted_room(w, join, &in.cell);
    if (bytes > free / PLENTY || tra_block_new(x->site.pool, bytes, room, &e) != TRA_OK) *room = NULL;
    tra_wanted_meet(w, join, &in.cell, *room ? (*room)->ptr : NULL);
    tra_engine_release(x->site.engine, &in);
}

int tra_exec_want_partners(tra_execution *x, int i, tra_block **room) {
    static const double ENOUGH = 1.0 / 64;
    int input = x->noverlapping > 0 ? -1 : input_of(x, i), n = 0, join;
    if (input < 0) return -1;
    tra_wanted *w = follow(x, input, true);
    while (n < TRA_WANTED_JOINS && (join = tra_wanted_join(w, ENOUGH)) >= 0) meet(x, w, join, &room[n++]);
    const tra_row_filter *f = n > 0 ? tra_wanted_filter(w) : NULL;
    if (f) tra_rel_filter_rows(x->rels[input], f);
    return f ? input : -1;
}

void tra_exec_forget_partners(tra_execution *x, int input, tra_block **room) {
    if (input >= 0) tra_rel_filter_rows(x->rels[input], tra_exec_rows_wanted(x, input));
    for (int k = 0; k < TRA_WANTED_JOINS; k++) tra_block_free(x->site.pool, room[k]);
}
