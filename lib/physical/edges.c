/* edges.c - who reads each result of a plan, until when, and which results are computed by their reader. */
#include "memory_int.h"

#include <stdlib.h>

tra_edges tra_edges_find(const tra_plan *p) {
    size_t n = (size_t)p->nops + 1;
    tra_edges e = {.uses = tra_calloc(4 * n, sizeof *e.uses), .gathered = tra_calloc(n, sizeof *e.gathered)};
    e.first = e.uses + n, e.last = e.first + n, e.file = e.last + n;
    for (int i = 0; i < p->nops; i++) e.first[i] = e.last[i] = e.file[i] = -1;
    for (int i = p->nops - 1; i >= 0; i--) {
        const tra_op *op = &p->ops[i];
        for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
            int in = op->in[side];
            e.uses[in]++;
            e.first[in] = i;
            e.last[in] = e.last[in] < 0 ? i : e.last[in];
            e.gathered[in] |= tra_op_gathers(p, op) || (tra_op_is(op->op, TRA_RENAMES) && e.gathered[i]);
        }
    }
    for (int i = 0; i < p->nops; i++) { /* what each turn of a loop reads is held until the loop has ended */
        const tra_op *op = &p->ops[i];
        for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
            int until = op->op == TRA_PLAN_NEXT ? p->loops[op->spec.loop].last : tra_op_until(p, op->in[side], i);
            e.last[op->in[side]] = e.last[op->in[side]] < until ? until : e.last[op->in[side]];
        }
    }
    return e;
}

void tra_edges_free(tra_edges *e) {
    free(e->uses);
    free(e->gathered);
}

/* Is the map so much work that it must be computed once, rather than each time that a join reads its result? */
static bool is_made_once(const tra_plan *p, const tra_op *op, int user) {
    enum { MUCH = 20 }; /* operations for a row: kernels that sort have more */
    const tra_rows_kernel *rows = op->op == TRA_PLAN_MAP ? tra_kernel_rows(op->spec.map) : NULL;
    if (!rows || rows->flops < MUCH || user < 0 || p->ops[user].in[1] < 0) return false;
    const tra_op *join = &p->ops[user];
    int other = &p->ops[join->in[0]] == op ? 1 : 0;
    const tra_dims *frontier = &p->ops[join->in[other]].type.cat->frontier;
    const tra_dims *joined = other ? &join->spec.joinr : &join->spec.joinl;
    for (int d = 0; d < frontier->n; d++) {
        bool met_once = frontier->v[d] <= 1;
        for (int j = 0; j < joined->n; j++) met_once |= joined->v[j] == d;
        if (!met_once) return true;
    }
    return false;
}

static bool renames(const tra_op *op) { return tra_op_is(op->op, TRA_RENAMES); }

/* Must the result be stored: for other turns of a loop than the one that makes it, or since a loop takes it? One of
 * those that read it under other keys may do so. */
static bool is_kept(const tra_plan *p, int i) {
    for (tra_read r = {-1, 0}; p->nloops > 0 && tra_next_read(p, i, renames, &r);) {
        const tra_op *user = &p->ops[r.op];
        if (user->op == TRA_PLAN_STATE || tra_op_is_end_of_turn(user->op) || user->loop != p->ops[i].loop) return true;
    }
    return false;
}

enum { MOST_MAPS = 64 }; /* that are composed into one */

void tra_choose_fused(tra_plan *p, const tra_edges *e) {
    int *maps = tra_calloc((size_t)p->nops + 1, sizeof *maps); /* of a MAP: with those that are fused with it */
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->method.fused = false;
        if (!tra_op_is(op->op, TRA_FUSES)) continue;
        op->method.fused =
            !p->unfused && e->uses[i] == 1 && !e->gathered[i] && !is_made_once(p, op, e->first[i]) && !is_kept(p, i);
        int j = op->in[0];
        while (tra_op_is(p->ops[j].op, TRA_RENAMES)) j = p->ops[j].in[0];
        bool one = op->op == TRA_PLAN_MAP && p->ops[j].op == TRA_PLAN_MAP && maps[j] < MOST_MAPS &&
                   tra_kernel_composes(p->ops[j].spec.map, op->spec.map);
        if (!one) p->ops[j].method.fused = false;
        maps[i] = p->ops[j].method.fused ? maps[j] + 1 : 1;
    }
    free(maps);
}

void tra_edges_extend_by_views(const tra_plan *p, tra_edges *e) {
    for (int i = p->nops - 1; i >= 0; i--) {
        int in = p->ops[i].in[0];
        if (in >= 0 && tra_op_is_view(&p->ops[i]) && e->last[i] > e->last[in]) e->last[in] = e->last[i];
    }
}
