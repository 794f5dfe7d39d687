/* scan.c - which stages read an input in one pass. */
#include "scan.h"

#include "needs.h"

#include <string.h>

enum { MOST = 16 }; /* stages of a scan */
static const tra_op_scan NO_SCAN = {.first = -1, .next = -1, .input = -1};

/* Is the operator a file, or what was computed before the loop of the reader? */
static bool is_there(const tra_plan *p, int i, const tra_op *reader) {
    if (tra_op_is(p->ops[i].op, TRA_READS)) return true;
    return reader->loop >= 0 && tra_op_is_stage(&p->ops[i]) && tra_op_is_outside(p, i, reader->id);
}

/* The input that this side reads, each of its tuples once and in the order of its keys; -1: none. */
static int input_of(const tra_plan *p, const tra_op *op, int side) {
    int i = op->in[side];
    while (i >= 0 && tra_op_is_view(&p->ops[i])) {
        if (p->ops[i].op != TRA_PLAN_FILTER && p->ops[i].op != TRA_PLAN_MAP) return -1;
        i = p->ops[i].in[0];
    }
    return i >= 0 && is_there(p, i, op) ? i : -1;
}

/* Can the stage take its inputs block by block, and make results that it need not count first? */
static bool is_fit(const tra_op *op) {
    return tra_op_is(op->op, TRA_LOOPS) && op->op != TRA_PLAN_MERGE && !op->type.layout;
}

/* The key dimension along which the blocks of the input are cut, if it is the only one: then there is but one order in
 * which a pass may go. -1: there is none. */
static int cut_of(const tra_catalog *c) {
    int cut = -1, n = 0;
    for (int d = 0; d < c->frontier.n; d++)
        if (c->frontier.v[d] > 1) cut = d, n++;
    return n == 1 ? cut : -1;
}

/* The stages of a scan, with what they need, and the key dimension of their results that counts the blocks of the
 * input; -1: their results are whole only when the scan has ended. */
typedef struct scan {
    int input, n, at[MOST], row[MOST];
    int64_t room[MOST], all;
} scan;

/* The key dimension of what this side reads that counts the blocks of the input; -1: it reads something else. *late
 * becomes true when that is a result which is whole only when the scan has ended, or comes later. */
static int row_of(const tra_plan *p, const scan *x, const tra_op *op, int side, bool *late) {
    int first = x->n > 0 ? x->at[0] : op->id, i = op->in[side];
    if (input_of(p, op, side) == x->input) return cut_of(p->ops[x->input].type.cat);
    bool renamed = false, many = false;
    for (int j = i; j >= 0 && tra_op_is_view(&p->ops[j]); j = p->ops[j].in[0])
        renamed |= p->ops[j].op != TRA_PLAN_FILTER && p->ops[j].op != TRA_PLAN_MAP;
    i = tra_op_viewed(p, i, &many);
    for (int k = 0; k < x->n; k++) {
        if (x->at[k] != i) continue;
        *late |= renamed || x->row[k] < 0;
        return renamed ? -1 : x->row[k];
    }
    *late |= i >= first && !is_there(p, i, op);
    return -1;
}

/* Where dimension d of what this side reads is in the key of the result; -1: it is aggregated. */
static int in_result(const tra_plan *p, const tra_op *op, int side, int d) {
    int kl = p->ops[op->in[0]].type.cat->frontier.n;
    int label = side == 0 ? d : tra_join_key(&op->spec.joinl, &op->spec.joinr, kl, d);
    if (!op->spec.agg) return label;
    for (int i = 0; i < op->spec.group.n; i++)
        if (op->spec.group.v[i] == label) return i;
    return -1;
}

/* Of a product of the input with itself: does each step read the same tuples on both sides? */
static bool steps_alike(const tra_op *op) { return op->spec.agg && tra_dims_eq(&op->spec.joinl, &op->spec.joinr); }

/* Does each step read the same block of both sides? */
static bool meet(const tra_op *op, int row_l, int row_r) {
    for (int i = 0; i < op->spec.joinl.n; i++)
        if (op->spec.joinl.v[i] == row_l && op->spec.joinr.v[i] == row_r) return true;
    return false;
}

static bool reads_once(const tra_plan *p, const tra_op *op, const bool *sides, int threads, int64_t budget) {
    for (int side = 0; side < 2; side++) {
        if (!sides[side]) continue;
        if (tra_op_passes(p, op, side, threads, budget) > 1 || tra_op_meets(p, op, side) > 1) return false;
    }
    return true;
}

/* Adds the stage to the scan if it can go along: it reads blocks of the input, or what others of the scan make of them,
 * each once and in order, and all else that it reads is there before. */
static void try_stage(const tra_plan *p, scan *x, int i, int threads, int64_t budget) {
    const tra_op *op = &p->ops[i];
    int row[2] = {-1, -1}, result = -1;
    bool late = false, in[2] = {false, false}, sides[2];
    if (x->n == MOST || !is_fit(op) || op->method.scan.first >= 0) return;
    if (x->n > 0 && p->nloops > 0 && op->loop != p->ops[x->at[0]].loop) return;
    for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
        row[side] = row_of(p, x, op, side, &late);
        in[side] = input_of(p, op, side) == x->input;
        if (row[side] >= 0) result = in_result(p, op, side, row[side]);
        sides[side] = in[side] || row[side] >= 0;
    }
    if (op->in[1] < 0) sides[1] = false;
    bool itself = in[0] && in[1];
    if (late || !(sides[0] || sides[1])) return;
    if (itself ? !steps_alike(op) : sides[0] && sides[1] && !meet(op, row[0], row[1])) return;
    tra_op own = *op;
    own.method.scan.stages = MOST; /* workers share no index where there are several stages (join_need) */
    if (!reads_once(p, &own, sides, threads, budget - x->all)) return; /* nor with less memory, which the loop tries */
    for (int64_t n = tra_op_memory(p, &own, threads); n <= budget - x->all; n += n / 4) {
        if (!reads_once(p, &own, sides, threads, n)) continue;
        x->at[x->n] = i, x->row[x->n] = result, x->room[x->n++] = n;
        x->all += n;
        return;
    }
}

static bool reads_twice(const tra_plan *p, const tra_op *op, int input) {
    return op->in[1] >= 0 && input_of(p, op, 0) == input && input_of(p, op, 1) == input;
}

/* Makes it a scan, with twice the memory that the stages need where there is as much. */
static void take(tra_plan *p, scan *x, int threads, int64_t budget) {
    double more = (double)tra_min64(x->all, budget - x->all) / (double)x->all;
    bool once = true;
    for (int k = 0; k < x->n; k++) x->room[k] += (int64_t)(more * (double)x->room[k]);
    for (int k = 0; k < x->n; k++) {
        tra_op *op = &p->ops[x->at[k]];
        op->method.scan = (tra_op_scan){x->at[0], k + 1 < x->n ? x->at[k + 1] : -1, x->n, x->input, 0};
        for (int j = 0; j < x->n; j++) op->method.scan.reserved += j != k ? x->room[j] : 0;
        bool sides[2] = {input_of(p, op, 0) == x->input, op->in[1] >= 0 && input_of(p, op, 1) == x->input};
        once &= reads_once(p, op, sides, threads, budget);
    }
    for (int k = 0; k < x->n && !once; k++) p->ops[x->at[k]].method.scan = NO_SCAN;
}

static int last_reader(const tra_plan *p, int i) {
    int last = -1;
    for (tra_read r = {-1, 0}; tra_next_read(p, i, tra_op_is_view, &r);) last = r.op > last ? r.op : last;
    return last;
}

void tra_scan_choose(tra_plan *p, int threads, int64_t budget) {
    for (int i = 0; i < p->nops; i++) p->ops[i].method.scan = NO_SCAN;
    for (int i = 0; i < p->nops; i++) {
        for (int side = 0; side < 2 && p->ops[i].in[side] >= 0 && p->ops[i].method.scan.first < 0; side++) {
            scan x = {.input = input_of(p, &p->ops[i], side)};
            if (x.input < 0) continue;
            try_stage(p, &x, i, threads, budget);
            bool alone = x.n == 0 || cut_of(p->ops[x.input].type.cat) < 0; /* then none goes along with it */
            int last = alone ? -1 : last_reader(p, x.input);
            for (int j = i + 1, n = 0; j <= last; j++) {
                for (; n < x.n; n++) last = (int)tra_max64(last, last_reader(p, x.at[n]));
                try_stage(p, &x, j, threads, budget);
            }
            if (x.n > 1 || (x.n == 1 && reads_twice(p, &p->ops[i], x.input))) take(p, &x, threads, budget);
        }
    }
}

bool tra_scan_reads(const tra_plan *p, const tra_op *op, int side) {
    return op->method.scan.first >= 0 && op->in[side] >= 0 && input_of(p, op, side) == op->method.scan.input;
}

bool tra_scan_is_whole(const tra_plan *p, int input) {
    int first = -1;
    for (tra_read r = {-1, 0}; tra_next_read(p, input, tra_op_shares_blocks, &r);) {
        const tra_op *op = &p->ops[r.op];
        if (tra_op_is_view(op)) continue;
        if (!tra_scan_reads(p, op, r.side)) return false;
        if (first >= 0 && op->method.scan.first != first) return false;
        first = op->method.scan.first;
    }
    return first >= 0;
}

int *tra_plan_runs_in(const tra_plan *p) {
    int *at = tra_malloc(((size_t)p->nops + 1) * sizeof *at);
    for (int i = 0; i < p->nops; i++) {
        int in = p->ops[i].in[0];
        at[i] = p->ops[i].op == TRA_PLAN_OUTPUT && tra_op_is_stage(&p->ops[in]) ? in : i;
    }
    for (int i = 0; i < p->nops; i++) { /* with the first of its scan */
        int first = p->ops[at[i]].method.scan.first;
        if (first >= 0) at[i] = first;
    }
    for (int j = p->nops - 1; j >= 0; j--) {
        for (int k = 0; k < 2; k++) {
            int i = p->ops[j].in[k];
            if (i >= 0 && p->ops[i].method.fused) at[i] = at[j];
        }
    }
    return at;
}
