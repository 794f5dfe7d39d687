/* scan.c - which stages read an input in one pass. */
#include "scan.h"

#include "needs.h"

#include <string.h>

enum { MOST = 16 }; /* stages of a scan */

/* The input that this side reads, each of its tuples once and in the order of its keys; -1: none. */
static int input_of(const tra_plan *p, const tra_op *op, int side) {
    int i = op->in[side];
    while (i >= 0 && tra_op_is_view(&p->ops[i])) {
        if (p->ops[i].op != TRA_PLAN_FILTER && p->ops[i].op != TRA_PLAN_MAP) return -1;
        i = p->ops[i].in[0];
    }
    return i >= 0 && p->ops[i].op == TRA_PLAN_INPUT ? i : -1;
}

/* Can the stage take its inputs block by block, and make results that it need not count first? */
static bool is_fit(const tra_op *op) {
    return tra_op_is(op->op, TRA_LOOPS) && op->op != TRA_PLAN_MERGE && !op->type.layout;
}

/* Is there only one order in which a pass may go: are the blocks cut along one dimension at most? */
static bool has_one_order(const tra_catalog *c) {
    int cut = 0;
    for (int d = 0; d < c->frontier.n; d++) cut += c->frontier.v[d] > 1;
    return cut <= 1;
}

/* Is all that the stage reads there when the first of a scan begins? */
static bool is_ready(const tra_plan *p, const tra_op *op, int first) {
    bool many = false;
    for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
        int i = tra_op_viewed(p, op->in[side], &many);
        if (i >= first && p->ops[i].op != TRA_PLAN_INPUT) return false;
    }
    return true;
}

/* Of a product of the input with itself: does each step read the same tuples on both sides? */
static bool steps_alike(const tra_op *op) {
    return op->what.agg && op->what.joinl.n == op->what.joinr.n && tra_dims_eq(&op->what.joinl, &op->what.joinr);
}

static bool reads_once(const tra_plan *p, const tra_op *op, int input, int threads, int64_t budget) {
    for (int side = 0; side < 2; side++) {
        if (op->in[side] < 0 || input_of(p, op, side) != input) continue;
        if (tra_op_passes(p, op, side, threads, budget) > 1 || tra_op_meets(p, op, side) > 1) return false;
    }
    return true;
}

/* The least bytes for blocks, of some that are tried, with which the stage reads the input once; -1: none. */
static int64_t room_for(const tra_plan *p, const tra_op *op, int input, int threads, int64_t budget) {
    for (int64_t n = tra_op_memory(p, op, threads); n <= budget; n += n / 4)
        if (reads_once(p, op, input, threads, n)) return n;
    return -1;
}

/* The stages of a scan with what they need, and twice as much where it is there. */
typedef struct scan {
    int input, n, at[MOST];
    int64_t room[MOST], all;
} scan;

static void add(scan *x, int op, int64_t room) {
    x->at[x->n] = op;
    x->room[x->n++] = room;
    x->all += room;
}

static void take(tra_plan *p, scan *x, int threads, int64_t budget) {
    int64_t more = tra_min64(x->all, budget - x->all);
    for (int k = 0; k < x->n; k++) x->room[k] += (int64_t)((double)more * ((double)x->room[k] / (double)x->all));
    for (int k = 0; k < x->n; k++) {
        tra_op *op = &p->ops[x->at[k]];
        op->orders.scan.first = x->at[0];
        op->orders.scan.input = x->input;
        for (int j = 0; j < x->n; j++) op->orders.scan.leaves += j != k ? x->room[j] : 0;
    }
    bool once = true;
    for (int k = 0; k < x->n; k++) once &= reads_once(p, &p->ops[x->at[k]], x->input, threads, budget);
    for (int k = 0; k < x->n && !once; k++) p->ops[x->at[k]].orders.scan = (tra_op_scan){-1, -1, 0};
}

static bool in_scan(const tra_op *op) { return op->orders.scan.first >= 0; }

/* The scan that begins with operator i. */
static void try_scan(tra_plan *p, int i, int input, int threads, int64_t budget) {
    scan x = {.input = input};
    const tra_op *first = &p->ops[i];
    bool twice = first->in[1] >= 0 && input_of(p, first, 0) == input_of(p, first, 1);
    int64_t room = room_for(p, first, input, threads, budget);
    if (room < 0 || (twice && !steps_alike(first))) return;
    add(&x, i, room);
    for (int j = i + 1; j < p->nops && x.n < MOST && has_one_order(p->ops[input].type.cat); j++) {
        const tra_op *op = &p->ops[j];
        if (in_scan(op) || !is_fit(op) || !is_ready(p, op, i)) continue;
        bool l = input_of(p, op, 0) == input, r = op->in[1] >= 0 && input_of(p, op, 1) == input;
        if ((!l && !r) || (l && r && !steps_alike(op))) continue;
        room = room_for(p, op, input, threads, budget);
        if (room >= 0 && x.all <= budget - room) add(&x, j, room);
    }
    if (x.n > 1 || twice) take(p, &x, threads, budget);
}

void tra_scan_choose(tra_plan *p, int threads, int64_t budget) {
    for (int i = 0; i < p->nops; i++) p->ops[i].orders.scan = (tra_op_scan){-1, -1, 0};
    for (int i = 0; i < p->nops; i++) {
        for (int side = 0; side < 2 && !in_scan(&p->ops[i]) && is_fit(&p->ops[i]); side++) {
            int input = input_of(p, &p->ops[i], side);
            if (input >= 0) try_scan(p, i, input, threads, budget);
        }
    }
}

bool tra_scan_reads(const tra_plan *p, const tra_op *op, int side) {
    return in_scan(op) && op->in[side] >= 0 && input_of(p, op, side) == op->orders.scan.input;
}

int tra_scan_stages(const tra_plan *p, const tra_op *op) {
    int n = 0;
    for (int i = 0; in_scan(op) && i < p->nops; i++) n += p->ops[i].orders.scan.first == op->orders.scan.first;
    return n;
}

bool tra_scan_is_whole(const tra_plan *p, int input) {
    int first = -1;
    bool many = false;
    for (int i = input + 1; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        for (int side = 0; side < 2 && op->in[side] >= 0 && !tra_op_is_view(op); side++) {
            if (tra_op_holder(p, op->in[side], &many) != input) continue;
            if (!tra_scan_reads(p, op, side)) return false;
            if (first >= 0 && op->orders.scan.first != first) return false;
            first = op->orders.scan.first;
        }
    }
    return first >= 0;
}
