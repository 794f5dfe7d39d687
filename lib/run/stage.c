/* stage.c - the simple local stages: one result from the inputs of one unit. */
#include "stages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

tra_after tra_stage_after(const tra_site *site, const tra_op *op, int side) {
    if (tra_op_is_only_reader(site->plan, op, side)) return TRA_AFTER_DROP;
    return tra_op_is_only_block_reader(site->plan, op, side) ? TRA_AFTER_EVICT : TRA_AFTER_KEEP;
}

typedef struct result { /* of one unit */
    tra_outlet *outlet;
    const tra_op *op;
    tra_site *site;
    int64_t ordinal;
    tra_block *block;
    int64_t reserved; /* bytes, for a block that the worker takes */
} result;

static void end_result(tra_unit *u) {
    result *x = u->ctx;
    tra_block_free(x->site->pool, x->block); /* only after a failure is it left */
    if (x->reserved > 0) tra_pool_release(x->site->pool, x->reserved);
    free(x);
}

static tra_status emit(result *x, tra_worker *w, tra_err *e) {
    tra_block *b = x->block;
    atomic_fetch_add(&x->site->done, 1);
    x->block = NULL;
    return tra_outlet_emit(x->outlet, w, x->ordinal, 0, b, e);
}

/* Workers get what they need to read a part and to write results. */
static tra_status begin(tra_site *site, const tra_op *op, tra_err *e) {
    int workers = tra_op_workers(site->plan, op, tra_engine_threads(site->engine));
    return tra_engine_begin_stage(site->engine, workers, (size_t)op->orders.scratch_bytes, 0,
                                  (size_t)op->orders.io_bytes, e);
}

/* Submits a unit. bytes: of the block for its result; -1: its input will be that. takes: the worker allocates the
 * block. */
static tra_status submit(result x0, int64_t bytes, bool takes, tra_unit *u,
                         tra_status (*run)(tra_unit *, int, tra_worker *, tra_err *), tra_err *e) {
    result *x = tra_malloc(sizeof *x);
    tra_site *site = x0.site;
    *x = x0;
    u->ctx = x;
    u->end = end_result;
    u->run = run;
    tra_status s = TRA_OK;
    if (takes) {
        s = tra_pool_reserve(site->pool, tra_block_footprint(bytes), e);
        x->reserved = s == TRA_OK ? tra_block_footprint(bytes) : 0;
    } else if (bytes >= 0)
        s = tra_block_new(site->pool, tra_outlet_bytes(x->outlet, bytes), &x->block, e);
    if (s != TRA_OK) {
        tra_unit_drop(site->engine, u);
        return s;
    }
    return tra_engine_submit(site->engine, u, e);
}

/* ---- copy: MAP, TILE and whatever is not stored, made stored or written ----------------------------------------- */

static tra_status run_copy(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    (void)task;
    int64_t bytes = tra_engine_bytes(&u->inputs[0]);
    if (x->block)
        memcpy(x->block->ptr, tra_cell_block(&u->inputs[0].cell), (size_t)bytes);
    else
        x->block = tra_engine_take_derived(w->engine, &u->inputs[0]);
    /* its size is known only now */
    if (u->inputs[0].cell.layout) tra_block_shrink(x->site->pool, x->block, bytes);
    return emit(x, w, e);
}

tra_status tra_stage_copy(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *outlet, tra_err *e) {
    tra_after after = tra_stage_after(site, op, 0);
    TRA_TRY(begin(site, op, e));
    tra_status s = TRA_OK;
    site->total = in->n;
    for (int64_t i = 0; i < in->n && s == TRA_OK; i++) {
        if (tra_outlet_has(outlet, in->ordinal[i])) continue;
        bool derived = tra_part_resolve(in, i).via;
        tra_unit *u = tra_unit_new(1, 1);
        u->inputs[0] = (tra_unit_input){.part = in, .i = i, .room = tra_outlet_bytes(outlet, 0), .after = after};
        result x = {.outlet = outlet, .site = site, .ordinal = in->ordinal[i]};
        s = submit(x, derived ? -1 : tra_part_bytes(in, i), false, u, run_copy, e);
    }
    return tra_engine_end_stage(site->engine, s, e);
}

/* ---- concat ------------------------------------------------------------------------------------------------- */

typedef struct gathering { /* of pieces into a block that a worker takes */
    result *x;
    tra_cell_piece *pieces;
    int64_t n, bytes; /* bytes: of the block */
} gathering;

static tra_status take_block(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    gathering *g = ctx;
    g->bytes = bytes;
    return tra_block_take(g->x->site->pool, bytes, out, e);
}

static tra_status gather(void *ctx, tra_err *e) {
    gathering *g = ctx;
    tra_pool *pool = g->x->site->pool;
    tra_cell out = tra_cell_new(&g->x->op->type, g->x->ordinal, NULL);
    tra_making m;
    tra_making_begin(&m, &out, take_block, g);
    tra_cell_gather(g->pieces, g->n, &out);
    TRA_TRY(tra_making_end(&m, pool, &out, &g->x->block, e));
    tra_block_unreserve(pool, g->x->block);
    return TRA_OK;
}

/* Concatenates a result that is not dense. */
static tra_status gather_group(tra_unit *u, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    gathering g = {x, tra_calloc((size_t)u->ninputs, sizeof *g.pieces), u->ninputs, 0};
    tra_err own = {0};
    char place[512];
    tra_dims zero = {.n = x->op->type.cat->bound.n}, to = zero;
    for (int i = 0; i < u->ninputs; i++) {
        const tra_cell *c = &u->inputs[i].cell;
        g.pieces[i] = (tra_cell_piece){.src = c, .from = zero, .to = to, .ext = c->array.ext};
        to.v[x->op->what.dim] += c->array.ext.v[x->op->what.dim];
    }
    tra_status s = tra_engine_retry(w, gather, &g, &own);
    free(g.pieces);
    if (s == TRA_OK) return emit(x, w, e);
    return tra_advise_blocks(s, tra_op_text(x->op, place, sizeof place), &x->op->type, x->ordinal, 2 * g.bytes,
                             x->site->pool, &own, e);
}

static tra_status run_concat(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    if (x->op->type.layout) return gather_group(u, w, e);
    tra_cell out = tra_cell_new(&x->op->type, x->ordinal, x->block->ptr);
    tra_dims from = {.n = out.array.ext.n}, to;
    (void)task;
    to = from;
    for (int i = 0; i < u->ninputs; i++) { /* in ascending order of keydim */
        tra_cell_copy(&out, &to, &u->inputs[i].cell, &from, &u->inputs[i].cell.array.ext);
        to.v[x->op->what.dim] += u->inputs[i].cell.array.ext.v[x->op->what.dim];
    }
    return emit(x, w, e);
}

tra_status tra_stage_concat(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *outlet, tra_err *e) {
    const tra_catalog *ic = in->type->cat, *oc = op->type.cat;
    tra_after after = tra_stage_after(site, op, 0);
    TRA_TRY(begin(site, op, e));
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < in->n && s == TRA_OK; i++) {
        tra_dims key, k;
        tra_catalog_key(ic, in->ordinal[i], &key);
        if (key.v[op->what.keydim] != 0) continue; /* a group begins at 0, has no gaps, and is on one site */
        k.n = 0;
        for (int d = 0; d < key.n; d++) {
            if (d != op->what.keydim) k.v[k.n++] = key.v[d];
        }
        int64_t result = tra_catalog_find(oc, &k);
        int n = 0;
        if (tra_outlet_has(outlet, result)) continue;
        for (;; n++, key.v[op->what.keydim]++) {
            int64_t t = tra_catalog_find(ic, &key);
            if (t < 0 || tra_part_find(in, t, 0) < 0) break;
        }
        tra_unit *u = tra_unit_new(n, 1);
        for (int j = 0; j < n; j++) {
            key.v[op->what.keydim] = j;
            int64_t t = tra_part_find(in, tra_catalog_find(ic, &key), 0);
            u->inputs[j] = (tra_unit_input){.part = in, .i = t, .after = after};
        }
        struct result x = {.outlet = outlet, .op = op, .site = site, .ordinal = result};
        s = submit(x, tra_size_planned(tra_type_bytes(&op->type, result)), op->type.layout, u, run_concat, e);
    }
    return tra_engine_end_stage(site->engine, s, e);
}
