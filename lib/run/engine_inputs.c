/* engine_inputs.c - inputs of units: pins their blocks, reads them, and computes those that are computed on reading. */
#include "engine_int.h"
#include "../physical/needs.h"
#include "panels.h"
#include "worker_sums.h"

#include <assert.h>

static void unpin_input(tra_engine *g, tra_unit_input *in) {
    if (in->block) tra_block_unpin_then(g->pool, in->block, in->after);
    in->block = NULL;
}

void tra_engine_drop_inputs(tra_engine *g, tra_unit_input *in, int n) {
    for (int i = 0; i < n; i++) {
        tra_block_free(g->pool, in[i].derived);
        in[i].derived = NULL;
        if (in[i].reserved > 0) tra_pool_release(g->pool, in[i].reserved);
        in[i].reserved = 0;
        unpin_input(g, &in[i]);
    }
}

/* The error of a block for tuple i of the part that could not be allocated. */
static tra_status no_room(tra_engine *g, tra_status s, const tra_part *p, int64_t i, int64_t bytes, const tra_err *own,
                          tra_err *e) {
    return tra_advise_blocks(s, "", p->type, p->ordinal[i], bytes, g->pool, own, e);
}

tra_status tra_engine_pin(tra_engine *g, tra_unit_input *in, bool reserve, tra_err *e) {
    tra_part_source from = tra_part_resolve(in->part, in->i);
    tra_block *stored = from.stored->block[from.at];
    assert(stored);
    in->via = from.via;
    in->via_at = from.via_at;
    tra_err own = {0};
    tra_status s = tra_block_pin(g->pool, stored, &in->load, &own);
    if (s != TRA_OK) return no_room(g, s, from.stored, from.at, stored->bytes, &own, e);
    in->block = stored;
    in->cell = tra_cell_new(in->part->type, in->part->ordinal[in->i], in->block->ptr);
    if (in->extra_pin) { /* now, since the unit may end, and its block be evicted, any time after it is queued */
        bool load;
        TRA_TRY(tra_block_pin(g->pool, in->block, &load, e));
    }
    if (!in->via || in->sums) return TRA_OK;
    if (in->part->type->layout) {
        in->cell = tra_cell_new(in->part->type, in->part->ordinal[in->i], NULL);
        int64_t n = tra_size_planned(tra_type_bytes(in->part->type, in->part->ordinal[in->i]));
        if (reserve) TRA_TRY(tra_pool_reserve(g->pool, tra_block_footprint(n), e));
        in->reserved = reserve ? tra_block_footprint(n) : 0;
        return TRA_OK;
    }
    int64_t bytes = tra_max64(in->room, tra_part_bytes(in->part, in->i));
    TRA_TRY(tra_block_new(g->pool, bytes, &in->derived, e));
    in->cell = tra_cell_new(in->part->type, in->part->ordinal[in->i], in->derived->ptr);
    return TRA_OK;
}

/* Takes the block of an input that is computed on reading and whose size the data tell. w: the worker; NULL: the thread
 * that runs the plan, which waits for memory. */
typedef struct taking {
    tra_engine *g;
    tra_unit_input *in;
    tra_worker *w;
} taking;

static tra_status take_derived(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    const taking *x = ctx;
    tra_err own = {0};
    tra_status s = x->w ? tra_engine_take_block(x->w, bytes, out, &own) : tra_block_new(x->g->pool, bytes, out, &own);
    return s == TRA_OK ? s : no_room(x->g, s, x->in->part, x->in->i, x->in->block->bytes + bytes, &own, e);
}

static tra_status derive(tra_engine *g, tra_unit_input *in, const tra_cell *base, tra_worker *w, void *scratch,
                         tra_err *e) {
    if (in->sums) {
        tra_array *sum = tra_worker_sums_take(in->sums);
        tra_status s = tra_part_add(in->via, in->via_at, base, sum, scratch, e);
        tra_worker_sums_give(in->sums, sum);
        if (s != TRA_OK) return s;
    } else {
        tra_making m;
        tra_making_begin(&m, &in->cell, take_derived, &(taking){g, in, w});
        tra_status s = tra_part_derive(in->via, in->via_at, base, &in->cell, scratch, e);
        tra_err own = {0};
        tra_status made = in->cell.layout ? tra_making_end(&m, g->pool, &in->cell, &in->derived, &own) : TRA_OK;
        if (s == TRA_OK && made != TRA_OK) *e = own;
        if (s != TRA_OK || made != TRA_OK) return s != TRA_OK ? s : made;
    }
    if (g->notes) tra_op_notes_collect(g->notes, in->via->op, in->via->ordinal[in->via_at], true);
    return TRA_OK;
}

/* Makes the cell of an input whose stored block has been read: checks the block's header, and computes the array where
 * it is computed on reading. *computing: it has begun to, which the caller ends. */
static tra_status decode(tra_engine *g, tra_unit_input *in, tra_worker *w, void *scratch, bool *computing, tra_err *e) {
    if (!in->via && !in->cell.layout) return TRA_OK;
    const tra_part *p = in->via ? in->via->base : in->part; /* views below only rename the tuple */
    int64_t ordinal = p->ordinal[in->via ? in->via->src[in->via_at] : in->i];
    if (!in->via) return tra_cell_of(p->type, ordinal, in->block->ptr, in->block->bytes, &in->cell, e);
    tra_cell base;
    TRA_TRY(tra_cell_of(p->type, ordinal, in->block->ptr, in->block->bytes, &base, e));
    pthread_mutex_lock(&g->lock);
    double now = tra_engine_begin_computing(g);
    *computing = true;
    (void)tra_track_do_for(w ? w->track : NULL, TRA_DO_COMPUTE, in->via->op->id, now);
    pthread_mutex_unlock(&g->lock);
    tra_status s = derive(g, in, &base, w, scratch, e);
    /* a kernel that is told to give up leaves its result unfinished: nobody may have it, least of all another rank */
    return s == TRA_OK && tra_cancelled() ? tra_fail(e, TRA_LOST, "a worker failed") : s;
}

static void loaded(tra_engine *g) { /* another unit may wait for it */
    pthread_mutex_lock(&g->lock);
    pthread_cond_broadcast(&g->loaded);
    tra_engine_wake(g);
    pthread_mutex_unlock(&g->lock);
}

/* Loads and derives one input. */
tra_status tra_engine_prepare(tra_engine *g, tra_unit_input *in, tra_worker *w, bool *computing, tra_err *e) {
    if (in->load) {
        tra_status s = tra_block_load(g->pool, in->block, w->io, e);
        loaded(g);
        if (s != TRA_OK) return s;
    }
    return decode(g, in, w, w->scratch, computing, e);
}

/* ---- inputs that are read by the thread that runs the plan ----------------------------------------------------- */

/* Waits while a worker reads the block. */
static tra_status wait_for_load(tra_engine *g, tra_unit_input *in, tra_err *e) {
    pthread_mutex_lock(&g->lock);
    while (in->block->state != TRA_BLOCK_HERE && !g->failed) pthread_cond_wait(&g->loaded, &g->lock);
    bool here = in->block->state == TRA_BLOCK_HERE;
    pthread_mutex_unlock(&g->lock);
    return here ? TRA_OK : tra_fail(e, TRA_LOST, "a worker failed"); /* which has the cause */
}

tra_status tra_engine_fetch(tra_engine *g, tra_unit_input *in, size_t scratch, size_t io, tra_err *e) {
    tra_block *room = NULL;
    in->block = in->derived = NULL;
    tra_status s = tra_engine_pin(g, in, false, e);
    if (s == TRA_OK && in->load && io > 0) s = tra_block_new(g->pool, (int64_t)io, &room, e);
    if (s == TRA_OK && in->load) s = tra_block_load(g->pool, in->block, room ? room->ptr : NULL, e), loaded(g);
    if (s == TRA_OK && !in->load) s = wait_for_load(g, in, e);
    tra_block_free(g->pool, room);
    room = NULL;
    if (s == TRA_OK && in->via && scratch > 0) s = tra_block_new(g->pool, (int64_t)scratch, &room, e);
    bool computing = false;
    tra_track *mine = in->via ? g->producer.track : NULL;
    int op = tra_track_op(mine);
    tra_doing before = tra_track_do_for(mine, TRA_DO_COMPUTE, in->via ? in->via->op->id : -1, 0);
    if (s == TRA_OK) s = decode(g, in, NULL, room ? room->ptr : NULL, &computing, e);
    pthread_mutex_lock(&g->lock);
    double now = computing ? tra_engine_end_computing(g) : 0;
    pthread_mutex_unlock(&g->lock);
    (void)tra_track_do_for(mine, before, op, now);
    tra_block_free(g->pool, room);
    if (s != TRA_OK) tra_engine_drop_inputs(g, in, 1);
    return s;
}

int64_t tra_engine_bytes(const tra_unit_input *in) {
    if (in->cell.layout) return tra_cell_bytes(&in->cell); /* which may be less than was known before it was read */
    tra_size s = tra_type_bytes(in->part->type, in->part->ordinal[in->i]);
    return s.exact ? s.bound : in->derived ? in->derived->bytes : in->block->bytes;
}

void tra_engine_release(tra_engine *g, tra_unit_input *in) { tra_engine_drop_inputs(g, in, 1); }

tra_block *tra_engine_take_derived(tra_engine *g, tra_unit_input *in) {
    tra_block *b = in->derived;
    if (!b) return NULL;
    in->derived = NULL;
    tra_block_unreserve(g->pool, b);
    tra_engine_drop_inputs(g, in, 1);
    return b;
}
