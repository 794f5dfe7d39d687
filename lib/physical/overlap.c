/* overlap.c - which exchanges overlap stages. */
#include "overlap.h"

#include "needs.h"
#include "scan.h"

void tra_overlap_none(tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->orders.begins = op->orders.ends = i;
        op->orders.window = op->orders.reserved = 0;
    }
}

/* Does an exchange between i and stage `to` send on what exchange i brings? It would have to wait for i. */
static bool sent_on(const tra_plan *p, int i, int to) {
    bool many = false;
    for (int j = i + 1; j < to; j++) {
        if (tra_op_is(p->ops[j].op, TRA_EXCHANGES) && tra_op_viewed(p, p->ops[j].in[0], &many) == i) return true;
    }
    return false;
}

/* The last stage that exchange i may overlap: the next, if all before it are exchanges like this. */
static int may_end(const tra_plan *p, int i) {
    int to = i + 1;
    while (to < p->nops && (!tra_op_is_stage(&p->ops[to]) || tra_op_is(p->ops[to].op, TRA_EXCHANGES))) to++;
    return to < p->nops && !sent_on(p, i, to) && tra_scan_stages(p, &p->ops[to]) < 2 ? to : i;
}

/* The stage with which it may begin: the one before, if that makes what it sends and keeps it. */
static int may_begin(const tra_plan *p, int i) {
    int from = i - 1;
    while (from >= 0 && (!tra_op_is_stage(&p->ops[from]) || tra_op_is(p->ops[from].op, TRA_EXCHANGES))) from--;
    if (from < 0 || from != p->ops[i].in[0] || tra_scan_stages(p, &p->ops[from]) > 1) return i;
    return p->ops[from].orders.direct ? i : from;
}

/* Bytes that an exchange which overlaps stages needs: two windows in flight (out and in), one tuple that is being read,
 * and two that are held. */
static int64_t room(const tra_plan *p, const tra_op *op) {
    if (op->orders.begins == op->orders.ends) return 0;
    return 2 * op->orders.window + tra_exchange_memory(p, op).fetch + 2 * tra_op_read_room(p, &p->ops[op->in[0]]);
}

static void reserve_for_overlap(tra_plan *p, int i, int sign) {
    const tra_op *op = &p->ops[i];
    int64_t n = sign * room(p, op);
    for (int j = op->orders.begins; j <= op->orders.ends; j++) p->ops[j].orders.reserved += j != i ? n : 0;
}

static void set_overlap(tra_plan *p, int i, int begins, int ends, int64_t window) {
    tra_op *op = &p->ops[i];
    reserve_for_overlap(p, i, -1);
    op->orders.begins = begins;
    op->orders.ends = ends;
    op->orders.window = window;
    reserve_for_overlap(p, i, 1);
}

/* Bytes that overlapping takes in addition: results that are held longer, and messages in flight. */
static int64_t overlap_bytes(const tra_plan *p, const int64_t *held) {
    int64_t n = 0;
    bool many = false;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (op->orders.begins == op->orders.ends) continue;
        n += room(p, op);
        if (op->orders.ends > i) n += held[tra_op_viewed(p, op->in[0], &many)];
        if (op->orders.begins < i) n += held[i];
    }
    return n;
}

int64_t tra_overlap_all(tra_plan *p, const int64_t *held) {
    for (int i = 0; i < p->nops; i++) { /* on one site nothing moves, so that overlapping saves no time */
        const tra_op *op = &p->ops[i];
        if (!tra_op_is(op->op, TRA_EXCHANGES) || p->sites == 1) continue;
        set_overlap(p, i, may_begin(p, i), may_end(p, i), tra_exchange_window(p, op, INT64_MAX));
    }
    return overlap_bytes(p, held);
}

/* Bytes that a site reads of the inputs of a stage. */
static double reads(const tra_plan *p, const tra_op *op, int threads, int64_t budget) {
    double n = 0;
    for (int side = 0; side < 2 && op->what.join && op->in[side] >= 0; side++) {
        const tra_op *in = &p->ops[op->in[side]];
        double bytes = (double)tra_type_bytes_all(&in->type).expected;
        n += (double)tra_op_passes(p, op, side, threads, budget) * bytes * tra_place_copies(&in->place) / p->sites;
    }
    return n;
}

/* Do the stages from..to still have their least memory beside what they reserve, and are the bytes that they then read
 * more often fewer than the `hidden` bytes that go over the wire meanwhile? */
static bool worth_it(tra_plan *p, int from, int to, double hidden, int threads, int64_t budget) {
    double more = 0;
    for (int i = from; i <= to; i++) {
        tra_op *op = &p->ops[i];
        if (!tra_op_is_stage(op) || op->orders.begins < op->orders.ends) continue;
        if (tra_op_memory(p, op, threads) + op->orders.reserved > budget) return false;
        int64_t reserved = op->orders.reserved;
        more += reads(p, op, threads, budget);
        op->orders.reserved = 0;
        more -= reads(p, op, threads, budget);
        op->orders.reserved = reserved;
    }
    return more <= hidden;
}

/* Lets an exchange overlap the stages begins..ends if that is worth it, with the largest window that is. */
static void try_overlap(tra_plan *p, int i, int begins, int ends, int threads, int64_t budget) {
    const tra_op before = p->ops[i];
    double hidden = (double)before.predicted.cost.network_bytes.expected / p->sites;
    if (begins == before.orders.begins && ends == before.orders.ends) return;
    for (int64_t transfers = TRA_TRANSFERS; transfers > 0; transfers /= 2) {
        set_overlap(p, i, begins, ends, tra_exchange_window(p, &before, transfers));
        if (worth_it(p, begins, ends, hidden, threads, budget)) return;
    }
    set_overlap(p, i, before.orders.begins, before.orders.ends, before.orders.window);
}

int64_t tra_overlap_some(tra_plan *p, const int64_t *held, int threads, int64_t budget) {
    tra_overlap_none(p);
    for (int i = 0; i < p->nops; i++) {
        if (tra_op_is(p->ops[i].op, TRA_EXCHANGES)) try_overlap(p, i, i, may_end(p, i), threads, budget);
    }
    for (int i = 0; i < p->nops; i++) {
        if (tra_op_is(p->ops[i].op, TRA_EXCHANGES))
            try_overlap(p, i, may_begin(p, i), p->ops[i].orders.ends, threads, budget);
    }
    return overlap_bytes(p, held);
}
