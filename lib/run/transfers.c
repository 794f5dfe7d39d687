/* transfers.c - which transfers an exchange makes, and in what order: the same lists on all ranks. */
#include "exchange.h"
#include "../physical/memory.h"
#include "../physical/repart.h"

#include <stdlib.h>

static void list_add(tra_transfers *l, tra_transfer t) {
    TRA_ROOM(l->v, l->n, l->cap);
    l->v[l->n++] = t;
}

static void list_transfer(tra_exchange *x, tra_transfer t) {
    int me = x->site->comm.rank;
    if (t.from == me && t.to == me)
        list_add(&x->lists.local, t);
    else if (t.from == me)
        list_add(&x->lists.outgoing, t);
    else if (t.to == me)
        list_add(&x->lists.incoming[t.from], t);
    if (x->pieces && t.to == me) x->batch.missing[tra_part_find(x->out, t.out, 0)]++;
}

/* ---- whole tuples ----------------------------------------------------------------------------------------------- */

typedef struct read_order { /* of a tuple: sorted by it, tuples are in the order in which the next stage reads them */
    int64_t span, row, k, own, ordinal;
} read_order;

static int by_read_order(const void *a, const void *b) {
    const read_order *x = a, *y = b;
    if (x->span != y->span) return x->span < y->span ? -1 : 1;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->k != y->k) return x->k < y->k ? -1 : 1;
    if (x->own != y->own) return x->own < y->own ? -1 : 1;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* The ordinals of the tuples in the order in which the join or aggregation that overlaps the exchange reads them: by
 * super-blocks and steps (superblock.h). NULL: the order of keys. All ranks find the same order; where their block
 * loops differ, by the smallest. */
static int64_t *order_for(const tra_site *site, const tra_op *op, int64_t budget) {
    const tra_plan *p = site->plan;
    const tra_catalog *c = op->type.cat;
    const tra_op *to = &p->ops[op->method.ends];
    if (!tra_op_overlaps(op) || (!to->spec.join && !to->spec.agg) || (to->in[0] != op->id && to->in[1] != op->id))
        return NULL;
    int side = to->in[0] == op->id ? 0 : 1;
    tra_block_loop loop = tra_op_loop(p, to, tra_engine_threads(site->engine), budget);
    int64_t together = side == 0 ? loop.ci : loop.cj;
    tra_comm_min(&site->comm, &together, 1);
    read_order *v = tra_malloc((size_t)(c->n + 1) * sizeof *v);
    int64_t *order = tra_malloc((size_t)(c->n + 1) * sizeof *order);
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key;
        tra_catalog_key(c, t, &key);
        v[t] = (read_order){.ordinal = t};
        for (int d = 0; d < key.n; d++) {
            bool joined, grouped;
            tra_op_label(p, to, side, d, &joined, &grouped);
            int64_t *at = !grouped ? &v[t].k : joined ? &v[t].span : &v[t].own;
            *at = *at * c->frontier.v[d] + key.v[d];
        }
        v[t].row = v[t].own / together;
    }
    qsort(v, (size_t)c->n, sizeof *v, by_read_order);
    for (int64_t t = 0; t < c->n; t++) order[t] = v[t].ordinal;
    free(v);
    return order;
}

void tra_list_tuples(tra_exchange *x) {
    const tra_op *op = x->op;
    const tra_placement *from = &x->site->plan->ops[op->in[0]].place;
    int64_t *order = order_for(x->site, op, x->room.budget);
    tra_move *v = tra_malloc((size_t)from->sites * (size_t)op->place.sites * sizeof *v);
    for (int64_t i = 0; i < op->type.cat->n; i++) {
        int64_t t = order ? order[i] : i;
        int n = tra_place_moves(from, &op->place, op->type.cat, t, v);
        for (int j = 0; j < n; j++) list_transfer(x, (tra_transfer){i, t, t, v[j].summand, v[j].from, v[j].to});
    }
    free(v);
    free(order);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

/* Lists the transfers of pieces into one tuple of the result. */
static void list_pieces(const tra_op *from, const tra_op *op, int64_t out, tra_transfers *all, int *work) {
    const tra_type *ti = &from->type;
    tra_dims key, lo, box, at;
    if (!tra_repart_box(ti, op, out, &lo, &box)) return;
    tra_catalog_key(op->type.cat, out, &key);
    int *to = work, *holder = work + op->place.sites;
    int nto = tra_place_holders(&op->place, op->type.cat, out, &key, to);
    at = (tra_dims){.n = box.n};
    do {
        tra_dims k = {.n = box.n};
        for (int d = 0; d < box.n; d++) k.v[d] = lo.v[d] + at.v[d];
        int64_t t = tra_catalog_find(ti->cat, &k);
        if (t < 0) continue; /* a hole */
        int n = tra_place_holders(&from->place, ti->cat, t, &k, holder);
        for (int j = 0; j < nto; j++) {
            tra_transfer tr = {t, t, out, 0, holder[to[j] % n], to[j]};
            for (int i = 0; i < n; i++) {
                if (holder[i] == to[j]) tr.from = to[j];
            }
            list_add(all, tr);
        }
    } while (tra_next(&box, &at));
}

static int by_input(const void *a, const void *b) {
    const tra_transfer *x = a, *y = b;
    if (x->in != y->in) return x->in < y->in ? -1 : 1;
    if (x->out != y->out) return x->out < y->out ? -1 : 1;
    return x->to - y->to;
}

void tra_list_batch(tra_exchange *x) {
    const tra_op *op = x->op, *from = &x->site->plan->ops[op->in[0]];
    const tra_catalog *c = op->type.cat;
    int64_t t = x->batch.next, *load = tra_malloc((size_t)op->place.sites * sizeof *load);
    int *work = tra_malloc((size_t)(op->place.sites + from->place.sites) * sizeof *work);
    tra_transfers all = {0};
    int64_t end = x->batch.next = tra_repart_batch(op, t, x->batch.limit, work, load);
    bool only_batch = t == 0 && end == c->n; /* then no block of the input is read again */
    x->after = only_batch ? tra_stage_after(x->site, op, 0) : TRA_AFTER_KEEP;
    x->lists.outgoing.n = x->lists.local.n = 0;
    for (int p = 0; p < x->site->comm.size; p++) x->lists.incoming[p].n = 0;
    for (; t < end; t++) list_pieces(from, op, t, &all, work);
    if (all.n > 0) qsort(all.v, (size_t)all.n, sizeof *all.v, by_input);
    for (int64_t i = 0; i < all.n; i++) list_transfer(x, all.v[i]);
    tra_info(3, "  batch of %" PRId64 " pieces, results until tuple %" PRId64 " of %" PRId64, all.n, end, c->n);
    free(all.v);
    free(work);
    free(load);
}
