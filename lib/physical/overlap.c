/* overlap.c - which exchanges overlap stages. */
#include "memory_int.h"

#include "needs.h"
#include "scan.h"

void tra_overlap_none(tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->method.ends = i;
        op->method.window = op->method.reserved = 0;
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

/* The stage that exchange i may overlap: the next that is no exchange. i: none. */
static int may_end(const tra_plan *p, int i) {
    int to = i + 1;
    while (to < p->nops && (!tra_op_is_stage(&p->ops[to]) || tra_op_is(p->ops[to].op, TRA_EXCHANGES))) to++;
    bool alike = to < p->nops && (p->nloops == 0 || p->ops[to].loop == p->ops[i].loop) &&
                 tra_op_is(p->ops[to].op, TRA_MAKES | TRA_FILE);
    return alike && !sent_on(p, i, to) && p->ops[to].method.scan.stages < 2 ? to : i;
}

/* Bytes that an exchange which overlaps needs: two windows in flight (out and in), one tuple that is being read, and
 * two that are held. */
static int64_t room(const tra_plan *p, const tra_op *op) {
    if (!tra_op_overlaps(op)) return 0;
    return 2 * op->method.window + tra_exchange_memory(p, op).fetch + 2 * tra_op_read_room(p, &p->ops[op->in[0]]);
}

static void reserve(tra_plan *p, int i, int sign) {
    int64_t n = sign * room(p, &p->ops[i]);
    for (int j = i + 1; j <= p->ops[i].method.ends; j++) p->ops[j].method.reserved += n;
}

static void set_overlap(tra_plan *p, int i, int ends, int64_t window) {
    reserve(p, i, -1);
    p->ops[i].method.ends = ends;
    p->ops[i].method.window = window;
    reserve(p, i, 1);
}

/* Bytes that overlap adds: what is sent is held longer, and messages are in flight. */
static int64_t overlap_bytes(const tra_plan *p, const int64_t *held) {
    int64_t n = 0;
    bool many = false;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (tra_op_overlaps(op)) n += room(p, op) + held[tra_op_viewed(p, op->in[0], &many)];
    }
    return n;
}

/* Bytes that a site reads of the inputs of a stage. */
static double reads(const tra_plan *p, const tra_op *op, int threads, int64_t budget) {
    double n = 0;
    for (int side = 0; side < 2 && op->spec.join && op->in[side] >= 0; side++) {
        const tra_op *in = &p->ops[op->in[side]];
        double bytes = (double)tra_type_bytes_all(&in->type).expected;
        n += (double)tra_op_passes(p, op, side, threads, budget) * bytes * tra_place_copies(&in->place) / p->sites;
    }
    return n;
}

/* Do the stages from exchange i to the one that it overlaps still have their least memory beside what they reserve, and
 * are the bytes that they then read more often fewer than those that go over the wire meanwhile? */
static bool worth_it(tra_plan *p, int i, int threads, int64_t budget) {
    double more = 0, hidden = (double)p->ops[i].predicted.cost.network_bytes.expected / p->sites;
    for (int j = i + 1; j <= p->ops[i].method.ends; j++) {
        tra_op *op = &p->ops[j];
        if (!tra_op_is_stage(op) || tra_op_overlaps(op)) continue;
        if (tra_op_memory(p, op, threads) + op->method.reserved > budget) return false;
        int64_t reserved = op->method.reserved;
        more += reads(p, op, threads, budget);
        op->method.reserved = 0;
        more -= reads(p, op, threads, budget);
        op->method.reserved = reserved;
    }
    return more <= hidden;
}

/* Lets an exchange overlap if that is worth it, with the largest window that is. */
static void try_overlap(tra_plan *p, int i, int threads, int64_t budget) {
    int ends = may_end(p, i);
    for (int64_t transfers = ends > i ? TRA_TRANSFERS : 0; transfers > 0; transfers /= 2) {
        set_overlap(p, i, ends, tra_exchange_window(p, &p->ops[i], transfers));
        if (worth_it(p, i, threads, budget)) return;
    }
    set_overlap(p, i, i, 0);
}

int64_t tra_overlap_choose(tra_plan *p, const int64_t *held, int threads, int64_t peak, int64_t budget) {
    for (int i = 0; i < p->nops && p->sites > 1; i++) { /* on one site nothing moves, so that no time is saved */
        if (tra_op_is(p->ops[i].op, TRA_EXCHANGES))
            set_overlap(p, i, may_end(p, i), tra_exchange_window(p, &p->ops[i], INT64_MAX));
    }
    int64_t more = overlap_bytes(p, held);
    p->rereads = p->memory > 0 && peak + more > p->memory;
    if (!p->rereads) return more;
    tra_overlap_none(p);
    for (int i = 0; i < p->nops; i++) {
        if (tra_op_is(p->ops[i].op, TRA_EXCHANGES)) try_overlap(p, i, threads, budget);
    }
    return overlap_bytes(p, held);
}
