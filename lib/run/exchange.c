/* exchange.c - moving tuples, or pieces of them, between sites.
 *
 * A rank has a bounded number of bytes in flight, and receives what arrives from any rank, spilling when memory is
 * short; so no cycle of ranks can wait for one another. An exchange that overlaps a stage receives nothing while
 * workers use all the memory (their units end, and free it, without other ranks), and spills only for tuples that the
 * stage waits for. A rank that has failed sends refusals instead of data, and receives and drops what is sent to it;
 * all ranks reach the end of the exchange and agree on the error there.
 */
#include "exchange.h"
#include "../physical/memory.h"
#include "../physical/repart.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- giving and taking ----------------------------------------------------------------------------------------- */

void tra_exchange_fail(tra_exchange *x, tra_status s) {
    if (x->status == TRA_OK) x->status = s;
}

tra_status tra_exchange_new_block(tra_exchange *x, int64_t ordinal, int64_t bytes, tra_block **out) {
    tra_err own = {0};
    tra_status s = tra_block_new(x->site->pool, bytes, out, &own);
    return s == TRA_OK ? s : tra_advise_blocks(s, "", x->out->type, ordinal, bytes, x->site->pool, &own, x->e);
}

/* Is the next transfer of the list of the same tuple? */
static bool is_next(const tra_transfers *l, int64_t next, const tra_transfer *t) {
    return next < l->n && l->v[next].order == t->order;
}

/* Is the next transfer of the list of the same tuple or of an earlier one? */
static bool is_due(const tra_transfers *l, int64_t next, const tra_transfer *t) {
    return next < l->n && l->v[next].order <= t->order;
}

/* Is this the last transfer, in either list, of its tuple? It has been taken off its list. */
static bool is_last_read(const tra_exchange *x, const tra_transfer *t) {
    return !is_due(&x->lists.outgoing, x->lists.next_out, t) && !is_due(&x->lists.local, x->lists.next_local, t);
}

static int64_t find_sent(const tra_exchange *x, const tra_transfer *t) {
    return tra_part_find(x->in, t->in, x->in->summand ? t->summand : 0);
}

/* The stored block that a transfer reads; *via: the part that computes the array from it, or NULL. */
static tra_block *stored_of(const tra_exchange *x, const tra_transfer *t, tra_part **via) {
    tra_part_source from = tra_part_resolve(x->in, find_sent(x, t));
    *via = from.via;
    return from.stored->block[from.at];
}

/* Can the tuple of a transfer be read without waiting? If the exchange overlaps a stage, that may be loading it for a
 * unit that is not queued yet, because it waits for memory, and so for this exchange. */
static bool is_ready(const tra_exchange *x, const tra_transfer *t) {
    tra_part *via;
    if (!x->overlapping || x->status != TRA_OK || find_sent(x, t) < 0) return true; /* or a refusal is sent */
    return stored_of(x, t, &via)->state != TRA_BLOCK_LOADING;
}

tra_status tra_exchange_keep_pinned(tra_exchange *x, int list, const tra_transfer *t) {
    tra_part *via;
    bool load,
        more = is_next(&x->lists.outgoing, x->lists.next_out, t) || is_next(&x->lists.local, x->lists.next_local, t);
    if (!x->overlapping) return TRA_OK;
    for (int i = 0; i < 2; i++) {
        if (!x->pinned[i].block || (x->pinned[i].order == t->order ? more : i != list)) continue;
        tra_block_unpin(x->site->pool, x->pinned[i].block);
        x->pinned[i].block = NULL;
    }
    if (!more || x->pinned[list].block) return TRA_OK;
    tra_block *b = stored_of(x, t, &via);
    TRA_TRY(tra_block_pin(x->site->pool, b, &load, x->e));
    x->pinned[list].block = b;
    x->pinned[list].order = t->order;
    return TRA_OK;
}

tra_status tra_exchange_fetch(tra_exchange *x, const tra_transfer *t, tra_unit_input *in) {
    *in = (tra_unit_input){.part = x->in, .i = find_sent(x, t)};
    if (in->i < 0) return tra_fail(x->e, TRA_INTERNAL, "an exchange is to send a tuple that is not on this site");
    in->after = is_last_read(x, t) ? x->after : TRA_AFTER_KEEP;
    return tra_engine_fetch(x->site->engine, in, x->room.scratch, x->room.io, x->e);
}

static tra_status place_whole(tra_exchange *x, const tra_transfer *t, tra_block *b) {
    int64_t slot = tra_part_find(x->out, t->out, t->summand);
    if (slot < 0 || x->out->block[slot]) {
        tra_block_free(x->site->pool, b);
        return tra_fail(x->e, TRA_INTERNAL, "a tuple arrives that is not expected on this site");
    }
    x->out->block[slot] = b;
    return TRA_OK;
}

/* A tuple that stays on this site: both parts share its block, unless the array is computed on reading. */
static tra_status place_local(tra_exchange *x, const tra_transfer *t) {
    tra_part *via;
    tra_pool *pool = x->site->pool;
    if (find_sent(x, t) < 0)
        return tra_fail(x->e, TRA_INTERNAL, "an exchange is to leave a tuple where it is that is not on this site");
    tra_block *b = stored_of(x, t, &via);
    if (!via) {
        tra_block_share(pool, b);
        return place_whole(x, t, b);
    }
    tra_unit_input in;
    TRA_TRY(tra_exchange_fetch(x, t, &in));
    tra_status s = tra_exchange_keep_pinned(x, 1, t);
    b = tra_engine_take_derived(x->site->engine, &in);
    tra_block_unpin(pool, b);
    tra_status placed = place_whole(x, t, b);
    return s == TRA_OK ? placed : s;
}

static void count_done(tra_exchange *x) { /* of the stage, if it is one */
    if (!x->overlapping) atomic_fetch_add(&x->site->done, 1);
}

/* Deals with the next tuple, or piece of one, that stays here. */
static void next_local(tra_exchange *x) {
    const tra_transfer *t = &x->lists.local.v[x->lists.next_local++];
    tra_exchange_fail(x, x->pieces ? tra_piece_place_local(x, t) : place_local(x, t));
    count_done(x);
}

/* ---- going on -------------------------------------------------------------------------------------------------- */

/* Bound of the bytes of blocks that stay pinned while a transfer is sent: a piece; or the array, and what it is
 * computed from. */
static int64_t held_by(const tra_exchange *x, const tra_transfer *t) {
    int64_t i = x->pieces ? -1 : find_sent(x, t);
    if (i < 0) return tra_block_footprint(tra_exchange_size(x, t).bound);
    int64_t n = tra_block_footprint(tra_part_bytes(x->in, i));
    tra_part_source from = tra_part_resolve(x->in, i);
    return from.via ? n + tra_block_footprint(tra_part_bytes(from.stored, from.at)) : n;
}

/* May so many bytes be allocated now? If the exchange overlaps a stage: only if they are free (clean: without
 * spilling), or no unit is in flight that will free memory. */
static bool has_room(const tra_exchange *x, int64_t bytes, bool clean) {
    return !x->overlapping || tra_pool_has_room(x->site->pool, bytes, clean) || !tra_engine_busy(x->site->engine);
}

/* Is there room to read a tuple? If not, transfers in flight will free some: other ranks receive without waiting for
 * this one. */
static bool can_fetch(const tra_exchange *x) {
    int64_t held = tra_messages_held(x);
    return held == 0 || held + x->room.need.fetch <= x->room.budget;
}

void tra_payload_release(tra_exchange *x, tra_payload *s) {
    if (s->packed)
        tra_block_free(x->site->pool, s->packed);
    else
        tra_engine_release(x->site->engine, &s->input);
}

static tra_status make_payload(tra_exchange *x, const tra_transfer *t, tra_payload *s) {
    TRA_TRY(tra_exchange_fetch(x, t, &s->input));
    s->data = tra_cell_block(&s->input.cell);
    s->bytes = tra_engine_bytes(&s->input);
    tra_status st = tra_exchange_keep_pinned(x, 0, t);
    if (st == TRA_OK && x->pieces) {
        st = tra_piece_cut(x, t, &s->input.cell, &s->packed);
        if (st == TRA_OK) s->data = s->packed->ptr, s->bytes = s->packed->bytes;
    }
    if (x->pieces || st != TRA_OK) tra_engine_release(x->site->engine, &s->input);
    return st;
}

/* Starts the next transfer if there is one and room for it. */
static bool start_send(tra_exchange *x) {
    if (x->lists.next_out == x->lists.outgoing.n) return false;
    const tra_transfer *t = &x->lists.outgoing.v[x->lists.next_out];
    tra_payload s = {.held = held_by(x, t)};
    if (!tra_messages_room(x, s.held) || !can_fetch(x)) return false;
    if (!is_ready(x, t) || !has_room(x, x->room.need.fetch, false)) return false;
    while (x->status == TRA_OK && is_due(&x->lists.local, x->lists.next_local, t) &&
           is_ready(x, &x->lists.local.v[x->lists.next_local]))
        next_local(x); /* a tuple is read once for both lists */
    x->lists.next_out++;
    count_done(x);
    if (x->status == TRA_OK) tra_exchange_fail(x, make_payload(x, t, &s));
    if (x->status != TRA_OK) {
        tra_messages_refuse(x, t);
        return true;
    }
    int64_t bytes = s.bytes;
    tra_messages_send(x, t, &s);
    *x->count.sent += bytes;
    tra_info(4, "    %" PRId64 " bytes of tuple %" PRId64 " sent to site %d", bytes, t->in, t->to);
    return true;
}

/* Puts a received tuple, or piece of one, in its place. */
static tra_status place(tra_exchange *x, const tra_transfer *t, tra_block *b) {
    if (x->pieces) return tra_piece_place_received(x, t, b);
    tra_block_unpin(x->site->pool, b);
    return place_whole(x, t, b);
}

void tra_exchange_arrived(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes, tra_status s) {
    x->lists.received++;
    *x->count.arrived += bytes;
    tra_info(4, "    %" PRId64 " bytes of tuple %" PRId64 " received from site %d", bytes, t->in, t->from);
    tra_exchange_fail(x, s);
    if (x->status == TRA_OK)
        tra_exchange_fail(x, place(x, t, b));
    else
        tra_block_free(x->site->pool, b);
}

bool tra_exchange_receive(tra_exchange *x) {
    int64_t before = x->lists.received, bytes = 0;
    int src = tra_messages_next(x, &bytes);
    if (src < 0) return x->lists.received > before;
    const tra_transfer *t = &x->lists.incoming[src].v[x->lists.next_in[src]++];
    tra_size size = tra_exchange_size(x, t);
    tra_block *b = NULL;
    if (x->status == TRA_OK && !tra_size_admits(size, bytes))
        tra_exchange_fail(x,
                          tra_fail(x->e, TRA_INTERNAL, "site %d sends %" PRId64 " bytes of a tuple that has %s%" PRId64,
                                   src, bytes, size.exact ? "" : "at most ", size.bound));
    if (x->status == TRA_OK) tra_exchange_fail(x, tra_exchange_new_block(x, t->out, bytes, &b));
    tra_messages_take(x, t, b, bytes);
    return true;
}

static void begin_lists(tra_exchange *x) {
    if (!x->overlapping) x->site->total += x->lists.outgoing.n + x->lists.local.n;
    x->lists.next_out = x->lists.next_local = x->lists.received = x->lists.expected = 0;
    for (int p = 0; p < x->site->comm.size; p++) {
        x->lists.next_in[p] = 0;
        x->lists.expected += x->lists.incoming[p].n;
    }
}

/* Lists the pieces of the next batch, and makes the results that have none. */
static void begin_batch(tra_exchange *x) {
    int64_t t = x->batch.next, slot;
    tra_list_batch(x);
    begin_lists(x);
    for (; t < x->batch.next && x->status == TRA_OK; t++) {
        slot = tra_part_find(x->out, t, 0);
        if (slot >= 0 && x->batch.missing[slot] == 0) tra_pieces_make_empty(x, slot);
    }
}

/* Will the tuple of the next local transfer be sent to other sites as well? Then it waits for that, so that the tuple
 * is read only once for both. */
static bool is_sent_later(const tra_exchange *x) {
    const tra_transfer *t = &x->lists.local.v[x->lists.next_local];
    int64_t lo = x->lists.next_out;
    if (lo == x->lists.outgoing.n || x->lists.outgoing.v[lo].order >= t->order) return false;
    TRA_BISECT(lo, x->lists.outgoing.n, mid, x->lists.outgoing.v[mid].order < t->order);
    return is_next(&x->lists.outgoing, lo, t);
}

static bool has_local(const tra_exchange *x) { return x->status == TRA_OK && x->lists.next_local < x->lists.local.n; }

static bool lists_under_way(tra_exchange *x) {
    return x->lists.next_out < x->lists.outgoing.n || tra_messages_busy(x) || x->lists.received < x->lists.expected ||
           has_local(x);
}

static bool under_way(tra_exchange *x) {
    return lists_under_way(x) || (x->pieces && x->batch.next < x->op->type.cat->n);
}

static bool step(tra_exchange *x, bool wanted) {
    if (!lists_under_way(x) && x->pieces && x->batch.next < x->op->type.cat->n) begin_batch(x);
    bool any = tra_messages_progress(x);
    if (x->status != TRA_OK || has_room(x, x->room.receive, !wanted)) any |= tra_exchange_receive(x);
    any |= start_send(x);
    if (any || !has_local(x) || is_sent_later(x) || !can_fetch(x) ||
        !is_ready(x, &x->lists.local.v[x->lists.next_local]) || !has_room(x, x->room.need.fetch, !wanted))
        return any;
    next_local(x); /* while the wire is busy */
    return true;
}

/* One step; false: nothing happened. wanted: tuples are received even if blocks must be spilled for them. */
static bool step_once(tra_exchange *x, bool wanted) {
    assert(!x->stepping);
    x->stepping = true;
    bool any = step(x, wanted);
    x->stepping = false;
    return any;
}

void tra_exchange_idle(int idle) {
    if (idle > 64)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    else if (idle)
        sched_yield();
}

static void run_to_end(tra_exchange *x) {
    for (int idle = 0; under_way(x);) {
        idle = step_once(x, true) ? 0 : idle + 1;
        if (x->status == TRA_OK) tra_exchange_fail(x, tra_engine_tick(x->site->engine, x->e));
        tra_exchange_idle(idle);
    }
}

/* ---- from beginning to end ------------------------------------------------------------------------------------- */

static void begin(tra_exchange *x, tra_site *site, const tra_op *op, tra_part *in, tra_part *out, tra_err *e) {
    bool overlapping = tra_op_overlaps(op);
    *x = (tra_exchange){.site = site, .op = op, .in = in, .out = out, .overlapping = overlapping, .e = e};
    x->pieces = op->op == TRA_PLAN_REPART;
    x->room.budget = tra_pool_stat(site->pool).budget - op->method.reserved;
    x->count.sent = overlapping ? &x->count.moved.sent : &site->sent;
    x->count.arrived = overlapping ? &x->count.moved.received : &site->received;
    x->room.need = tra_exchange_memory(site->plan, op);
    x->room.window = overlapping
                         ? op->method.window
                         : tra_min64(x->room.budget / 4, tra_max64(0, x->room.budget - x->room.need.transient) / 2);
    x->room.receive = x->pieces ? x->room.need.fetch : tra_type_room(&op->type);
    if (!x->pieces && tra_op_is_only_reader(site->plan, op, 0, false)) x->after = TRA_AFTER_DROP;
    x->room.scratch = (size_t)op->method.scratch_bytes;
    x->room.io = (size_t)op->method.io_bytes;
    tra_messages_begin(x);
    x->lists.incoming = tra_calloc((size_t)site->comm.size, sizeof *x->lists.incoming);
    x->lists.next_in = tra_calloc((size_t)site->comm.size, sizeof *x->lists.next_in);
    if (x->pieces) {
        x->batch.assembling = tra_calloc((size_t)out->n + 1, sizeof *x->batch.assembling);
        x->batch.missing = tra_calloc((size_t)out->n + 1, sizeof *x->batch.missing);
        if (out->type->layout) x->batch.pieces = tra_calloc((size_t)out->n + 1, sizeof *x->batch.pieces);
        x->batch.limit = tra_repart_limit(site->plan, op, tra_pool_stat(site->pool).budget);
        tra_comm_min(&site->comm, &x->batch.limit, 1); /* every rank must cut the same batches */
    } else {
        tra_list_tuples(x);
    }
}

static tra_status end(tra_exchange *x) {
    tra_pool *pool = x->site->pool;
    for (int i = 0; i < 2; i++) {
        if (x->pinned[i].block) tra_block_unpin(pool, x->pinned[i].block);
    }
    for (int64_t i = 0; x->pieces && i < x->out->n; i++) { /* after a failure */
        tra_block_free(pool, x->batch.assembling[i]);
        if (x->batch.pieces) tra_pieces_drop(x, i);
    }
    tra_messages_end(x);
    for (int p = 0; p < x->site->comm.size; p++) free(x->lists.incoming[p].v);
    free(x->lists.incoming);
    free(x->lists.next_in);
    free(x->lists.outgoing.v);
    free(x->lists.local.v);
    free(x->batch.assembling);
    free(x->batch.missing);
    free(x->batch.pieces);
    return x->status;
}

tra_status tra_stage_exchange(tra_site *site, const tra_op *op, tra_part *in, tra_part *out, tra_err *e) {
    tra_exchange x;
    begin(&x, site, op, in, out, e);
    begin_lists(&x);
    run_to_end(&x);
    return end(&x);
}

/* Puts local tuples that are not computed on reading in place at once, before any stage runs. */
static void place_stored(tra_exchange *x) {
    int64_t left = 0;
    for (int64_t i = 0; i < x->lists.local.n; i++) {
        const tra_transfer t = x->lists.local.v[i];
        if (find_sent(x, &t) >= 0 && tra_part_resolve(x->in, find_sent(x, &t)).via)
            x->lists.local.v[left++] = t;
        else if (x->status == TRA_OK)
            tra_exchange_fail(x, place_local(x, &t));
    }
    x->lists.local.n = left;
}

tra_exchange *tra_exchange_begin(tra_site *site, const tra_op *op, tra_part *in, tra_part *out) {
    tra_exchange *x = tra_calloc(1, sizeof *x);
    begin(x, site, op, in, out, NULL);
    x->e = &x->own;
    x->count.begun = tra_now();
    tra_part_retain(in);
    if (!x->pieces) place_stored(x);
    begin_lists(x);
    return x;
}

tra_status tra_exchange_step(tra_exchange *x, bool wanted, bool *any, bool *done, tra_err *e) {
    if (under_way(x)) *any |= step_once(x, wanted);
    if (under_way(x))
        *done = false;
    else if (x->count.moved.seconds == 0)
        x->count.moved.seconds = tra_now() - x->count.begun;
    return x->status == TRA_OK ? TRA_OK : tra_fail_kind(e, x->status, x->own.kind, "%s", x->own.msg);
}

tra_status tra_exchange_end(tra_exchange *x, tra_status s, tra_moved *moved, tra_err *e) {
    tra_exchange_fail(x, s); /* has its message already */
    bool ours = s == TRA_OK;
    run_to_end(x);
    if (x->count.moved.seconds == 0) x->count.moved.seconds = tra_now() - x->count.begun;
    *moved = x->count.moved;
    if (ours && x->status != TRA_OK) *e = x->own, e->status = x->status;
    s = end(x);
    tra_part_release(x->in, x->site->pool);
    free(x);
    return s;
}
