/* exchange_pieces.c - the pieces of a repartition: where blocks of the input and of the result overlap, cutting pieces
 * out of arrays, and making results of their pieces. */
#include "exchange.h"
#include "../physical/repart.h"

#include <stdlib.h>
#include <string.h>

/* ---- which piece a transfer is --------------------------------------------------------------------------------- */

/* The box of a transfer. */
static tra_cell_piece box_of(const tra_exchange *x, const tra_transfer *t) {
    tra_cell_piece p = {0};
    tra_repart_piece(x->in->type, x->op, t->in, t->out, 1, &p);
    return p;
}

tra_size tra_exchange_size(const tra_exchange *x, const tra_transfer *t) {
    if (!x->pieces) return tra_type_bytes(x->in->type, t->in);
    tra_cell_piece p = box_of(x, t);
    return tra_piece_bytes(x->in->type, x->out->type, &p.ext);
}

/* The cell of a piece by itself, in the layout of the result, in that block. */
static tra_cell piece_of(const tra_exchange *x, const tra_dims *ext, void *block) {
    const tra_type *t = x->out->type;
    tra_cell c = {.layout = t->layout, .sparse = t->sparse, .array = {.dtype = t->dtype, .ext = *ext}};
    if (t->layout)
        c.head = block;
    else
        c.array.data = block;
    return c;
}

static tra_status slot_of(const tra_exchange *x, const tra_transfer *t, int64_t *slot) {
    *slot = tra_part_find(x->out, t->out, 0);
    if (*slot >= 0 && x->batch.missing[*slot] > 0) return TRA_OK;
    return tra_fail(x->e, TRA_INTERNAL, "a piece arrives that is not expected on this site");
}

/* ---- cutting pieces out ---------------------------------------------------------------------------------------- */

/* Takes the block of an array that is made of pieces. */
typedef struct taking {
    tra_exchange *x;
    int64_t ordinal;
} taking;

static tra_status take_block(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    const taking *t = ctx;
    tra_status s = tra_exchange_new_block(t->x, t->ordinal, bytes, out);
    if (s != TRA_OK) *e = *t->x->e;
    return s;
}

/* An array that is not dense, of pieces. */
static tra_status gather(tra_exchange *x, int64_t ordinal, tra_cell_piece *p, int64_t n, tra_cell *c, tra_block **out) {
    tra_making m;
    tra_making_begin(&m, c, take_block, &(taking){x, ordinal});
    tra_cell_gather(p, n, c, 1);
    return tra_making_end(&m, x->site->pool, c, out, x->e);
}

tra_status tra_piece_cut(tra_exchange *x, const tra_transfer *t, const tra_cell *src, tra_block **out) {
    tra_cell_piece p = box_of(x, t);
    tra_engine_share(x->site->engine, true);
    tra_cell c = piece_of(x, &p.ext, NULL);
    p.src = src, p.to = (tra_dims){.n = p.ext.n};
    tra_status s = c.layout ? gather(x, t->out, &p, 1, &c, out)
                            : tra_exchange_new_block(x, t->out, tra_dense_bytes(c.array.dtype, &p.ext), out);
    if (s == TRA_OK && !c.layout) {
        c.array.data = (*out)->ptr;
        tra_cell_copy(&c, &p.to, src, &p.from, &p.ext);
    }
    tra_engine_share(x->site->engine, false);
    return s;
}

/* ---- making results of pieces ---------------------------------------------------------------------------------- */

/* Pins the block of a dense result that receives pieces. The first piece allocates it, filled with zeros for holes. */
static tra_status result_block(tra_exchange *x, int64_t slot, tra_block **b) {
    bool load;
    if (!x->batch.assembling[slot]) {
        TRA_TRY(tra_block_new(x->site->pool, tra_part_bytes(x->out, slot), b, x->e));
        memset((*b)->ptr, 0, (size_t)(*b)->bytes);
        x->batch.assembling[slot] = *b;
        return TRA_OK;
    }
    *b = x->batch.assembling[slot];
    TRA_TRY(tra_block_pin(x->site->pool, *b, &load, x->e));
    return load ? tra_block_load(x->site->pool, *b, NULL, x->e) : TRA_OK;
}

/* A dense result has all its pieces: puts its block into the part. */
static void complete(tra_exchange *x, int64_t slot) {
    x->out->block[slot] = x->batch.assembling[slot];
    x->batch.assembling[slot] = NULL;
}

/* Makes a result that is not dense, of which all pieces have come, or which has none. */
static tra_status join_pieces(tra_exchange *x, int64_t slot, tra_block **out) {
    tra_pool *pool = x->site->pool;
    tra_pieces *p = &x->batch.pieces[slot];
    tra_cell_piece *pieces = tra_calloc((size_t)p->n + 1, sizeof *pieces);
    tra_cell *cells = tra_calloc((size_t)p->n + 1, sizeof *cells),
             c = tra_cell_new(x->out->type, x->out->ordinal[slot], NULL);
    tra_status s = TRA_OK;
    int64_t pinned = 0;
    for (; pinned < p->n && s == TRA_OK; pinned++) {
        const tra_waiting *w = &p->v[pinned];
        bool load;
        s = tra_block_pin(pool, w->block, &load, x->e);
        if (s != TRA_OK) break;
        if (load) s = tra_block_load(pool, w->block, NULL, x->e);
        cells[pinned] = piece_of(x, &w->ext, w->block->ptr);
        pieces[pinned] = (tra_cell_piece){.src = &cells[pinned], .from.n = w->ext.n, .to = w->to, .ext = w->ext};
    }
    tra_engine_share(x->site->engine, true);
    if (s == TRA_OK) s = gather(x, x->out->ordinal[slot], pieces, p->n, &c, out);
    tra_engine_share(x->site->engine, false);
    for (int64_t i = 0; i < pinned; i++) tra_block_unpin(pool, p->v[i].block);
    free(cells);
    free(pieces);
    return s;
}

void tra_pieces_drop(tra_exchange *x, int64_t slot) {
    tra_pieces *p = &x->batch.pieces[slot];
    for (int64_t i = 0; i < p->n; i++) tra_block_release(x->site->pool, p->v[i].block);
    free(p->v);
    *p = (tra_pieces){0};
}

/* Stores a piece of a result that is not dense, in a pinned block that it owns from then on; makes the result if that
 * was the last piece. One that is all of the result becomes it. */
static tra_status store_piece(tra_exchange *x, int64_t slot, const tra_dims *to, const tra_dims *ext, tra_block *b) {
    tra_pieces *p = &x->batch.pieces[slot];
    tra_dims whole;
    tra_catalog_ext(x->out->type->cat, x->out->ordinal[slot], &whole);
    tra_block_unpin(x->site->pool, b);
    if (tra_dims_eq(ext, &whole)) {
        x->batch.missing[slot] = 0;
        x->out->block[slot] = b;
        return TRA_OK;
    }
    TRA_ROOM(p->v, p->n, p->cap);
    p->v[p->n++] = (tra_waiting){b, *to, *ext};
    if (--x->batch.missing[slot] > 0) return TRA_OK;
    tra_block *out;
    TRA_TRY(join_pieces(x, slot, &out));
    x->out->block[slot] = out;
    tra_pieces_drop(x, slot);
    tra_block_unpin(x->site->pool, out);
    return TRA_OK;
}

/* Copies the box of a transfer into a dense result. from: where the box begins in src; NULL: where the transfer says.
 */
static tra_status place_piece(tra_exchange *x, const tra_transfer *t, const tra_cell *src, const tra_dims *from) {
    tra_cell_piece p = box_of(x, t);
    tra_block *b;
    int64_t slot;
    TRA_TRY(slot_of(x, t, &slot));
    TRA_TRY(result_block(x, slot, &b));
    tra_cell dst = tra_cell_new(x->out->type, t->out, b->ptr);
    tra_cell_copy(&dst, &p.to, src, from ? from : &p.from, &p.ext);
    tra_block_mark_dirty(x->site->pool, b);
    tra_block_unpin(x->site->pool, b);
    if (--x->batch.missing[slot] == 0) complete(x, slot);
    return TRA_OK;
}

tra_status tra_piece_place_local(tra_exchange *x, const tra_transfer *t) {
    bool whole = !x->out->type->layout; /* then the piece is copied without being cut out first */
    tra_cell_piece p = box_of(x, t);
    tra_unit_input in;
    tra_block *b = NULL;
    int64_t slot;
    TRA_TRY(slot_of(x, t, &slot));
    TRA_TRY(tra_exchange_fetch(x, t, &in));
    tra_status s = tra_exchange_keep_pinned(x, 1, t);
    if (s == TRA_OK) s = whole ? place_piece(x, t, &in.cell, NULL) : tra_piece_cut(x, t, &in.cell, &b);
    tra_engine_release(x->site->engine, &in);
    return s == TRA_OK && !whole ? store_piece(x, slot, &p.to, &p.ext, b) : s;
}

tra_status tra_piece_place_received(tra_exchange *x, const tra_transfer *t, tra_block *b) {
    tra_cell_piece p = box_of(x, t);
    tra_dims zero = {.n = p.ext.n};
    int64_t slot;
    tra_cell src = piece_of(x, &p.ext, b->ptr);
    tra_status s = slot_of(x, t, &slot);
    if (s == TRA_OK && src.layout) {
        tra_cell checked; /* it came from another site */
        s = tra_cell_of(x->out->type, t->out, b->ptr, b->bytes, &checked, x->e);
        if (s == TRA_OK) return store_piece(x, slot, &p.to, &p.ext, b);
    } else if (s == TRA_OK) {
        s = place_piece(x, t, &src, &zero);
    }
    tra_block_free(x->site->pool, b);
    return s;
}

void tra_pieces_make_empty(tra_exchange *x, int64_t slot) {
    tra_block *b;
    tra_exchange_fail(x, x->batch.pieces ? join_pieces(x, slot, &b) : result_block(x, slot, &b));
    if (x->status != TRA_OK) return;
    tra_block_unpin(x->site->pool, b);
    x->batch.assembling[slot] = b;
    complete(x, slot);
}
