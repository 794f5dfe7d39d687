/* grow.c - results whose size only the data tell. */
#include "grow_int.h"

#include <assert.h>
#include <stdlib.h>

/* ---- attempts ------------------------------------------------------------------------------------------------- */

tra_status grow_take_made(void *ctx, int64_t bytes, tra_block **b, tra_err *e) {
    attempt *x = ctx;
    x->wanted = x->pinned;
    return grow_take(x, bytes, b, e);
}

/* Makes the join of l and r, of that type and those extents. */
static tra_status join(attempt *x, tra_dtype t, const tra_dims *ext, tra_block **out, tra_err *e) {
    tra_cell c = grow_new_cell(x, t, ext);
    tra_making m;
    grow_begin(x, &m, &c);
    tra_cell_join(x->g->st->join, x->l, x->r, &c, grow_scratch(x));
    return tra_making_end(&m, grow_pool(x), &c, out, e);
}

/* Adds a term to the sum: makes a new block with both, which replaces the sum's. */
static tra_status add(attempt *x, const tra_cell *term, tra_err *e) {
    const tra_kernel *agg = x->g->st->agg;
    tra_block *old = x->p->block, *b = NULL;
    if (old) TRA_TRY(grow_take_back(x, old, e));
    tra_cell before = grow_state(x, old), after = grow_new_cell(x, x->g->state->dtype, &x->g->state->ext);
    tra_making m;
    grow_begin(x, &m, &after);
    tra_cell_merge(agg, old ? &before : NULL, term, &after);
    tra_status s = tra_making_end(&m, grow_pool(x), &after, &b, e);
    if (s != TRA_OK) {
        tra_block_free(grow_pool(x), b);
        if (old) tra_block_unpin(grow_pool(x), old);
        return s;
    }
    tra_panel_free(old, grow_pool(x));
    grow_set_block(x, b, &after);
    return TRA_OK;
}

static tra_status try_join(void *ctx, tra_err *e) {
    attempt *x = ctx;
    tra_block *b = NULL;
    x->wanted = 0;
    tra_status s = join(x, x->g->st->op->type.dtype, x->ext, &b, e);
    if (s != TRA_OK) return tra_block_free(grow_pool(x), b), s;
    tra_cell c = grow_cell(x, x->g->st->op->type.dtype, x->ext, b);
    grow_set_block(x, b, &c);
    return TRA_OK;
}

static tra_status try_add(void *ctx, tra_err *e) {
    attempt *x = ctx;
    x->wanted = 0;
    if (!x->r) return add(x, x->l, e);
    tra_dtype t = tra_kernel_dtype(x->g->st->join, TRA_USE_JOIN, x->l->array.dtype, x->r->array.dtype);
    tra_block *b = NULL;
    tra_status s = join(x, t, x->ext, &b, e);
    if (s == TRA_OK && !x->p->block && t == x->g->state->dtype && tra_dims_eq(x->ext, &x->g->state->ext)) {
        tra_cell first = grow_state(x, b);
        grow_set_block(x, b, &first); /* the first term is the sum so far */
        return TRA_OK;
    }
    tra_cell term = grow_cell(x, t, x->ext, b);
    if (s == TRA_OK) s = add(x, &term, e);
    tra_block_free(grow_pool(x), b);
    return s;
}

/* Adds the panel of the other sum that contains this panel. */
static tra_status try_merge(void *ctx, tra_err *e) {
    attempt *x = ctx;
    int i = 0;
    x->wanted = 0;
    while (x->other->v[i].to <= x->p->from) i++;
    tra_block *b = x->other->v[i].block;
    TRA_TRY(grow_take_back(x, b, e));
    tra_cell term = grow_state(x, b);
    tra_status s = add(x, &term, e);
    tra_block_unpin(grow_pool(x), b);
    return s;
}

bool grow_is_result(const tra_joinagg *st) {
    if (!st->agg || st->op->spec.partial) return true;
    return !st->how.composed && st->how.state_dtype == st->op->type.dtype;
}

/* Makes the result of the panel's state. */
static tra_status try_finish(void *ctx, tra_err *e) {
    attempt *x = ctx;
    const tra_joinagg *st = x->g->st;
    tra_cell out = tra_cell_new(&st->op->type, x->g->ordinal, NULL);
    tra_block *b = NULL, *old = x->p->block;
    x->wanted = 0;
    TRA_TRY(grow_take_back(x, old, e));
    tra_cell state = grow_state(x, old);
    tra_dtype t = st->op->spec.term;
    tra_making m;
    grow_begin(x, &m, &out);
    tra_cell_finish(st->agg, t, &state, &out, grow_scratch(x));
    tra_status s = tra_making_end(&m, grow_pool(x), &out, &b, e);
    if (s != TRA_OK) {
        tra_block_free(grow_pool(x), b);
        tra_block_unpin(grow_pool(x), old);
        return s;
    }
    tra_panel_free(old, grow_pool(x));
    grow_set_block(x, b, &out);
    return TRA_OK;
}

/* Puts the panels, of that type and these extents of the whole, together in one block. */
static tra_status gather(attempt *x, tra_dtype t, const tra_dims *ext, tra_err *e) {
    tra_block *whole = NULL;
    tra_cell to = grow_cell(x, t, ext, NULL);
    tra_status s = grow_take(x, tra_panels_bytes(x->sum, t), &whole, e);
    if (s != TRA_OK) return s;
    to.head = whole->ptr;
    tra_gathering into = tra_panels_gather(x->sum, &to);
    int64_t before = x->wanted;
    for (int i = 0; i < x->sum->n && s == TRA_OK; i++) {
        tra_block *b = x->sum->v[i].block;
        x->wanted = before;
        s = grow_take_back(x, b, e);
        if (s != TRA_OK) break;
        tra_cell part = grow_cell(x, t, ext, b);
        tra_gathering_add(&into, &part);
        tra_block_unpin(grow_pool(x), b);
    }
    if (s != TRA_OK) return tra_block_free(grow_pool(x), whole), s;
    tra_panels_free(x->sum, grow_pool(x)); /* no terms are held any more */
    x->sum->v = tra_malloc(sizeof *x->sum->v);
    x->sum->n = 1;
    x->sum->v[0] = (tra_panel){.to = ext->n ? ext->v[0] : 1};
    x->p = &x->sum->v[0];
    grow_set_block(x, whole, &to);
    return TRA_OK;
}

static tra_status try_gather_state(void *ctx, tra_err *e) {
    attempt *x = ctx;
    x->wanted = 0;
    return gather(x, x->g->state->dtype, &x->g->state->ext, e);
}

static tra_status try_gather_result(void *ctx, tra_err *e) {
    attempt *x = ctx;
    tra_cell out = tra_cell_new(&x->g->st->op->type, x->g->ordinal, NULL);
    x->wanted = 0;
    return gather(x, out.array.dtype, &out.array.ext, e);
}

/* Pins the whole result, for whoever takes it over. */
static tra_status try_hand_over(void *ctx, tra_err *e) {
    attempt *x = ctx;
    x->wanted = 0;
    TRA_TRY(grow_take_back(x, x->p->block, e));
    *x->out = x->p->block;
    x->p->block = NULL;
    return TRA_OK;
}

/* ---- what is said when there is no memory ----------------------------------------------------------------------- */

static tra_status say(const attempt *x, tra_status s, const tra_err *own, tra_err *e) {
    const tra_op *op = x->g->st->op;
    char place[512];
    return tra_advise_blocks(s, tra_op_text(op, place, sizeof place), &op->type, x->g->ordinal, x->wanted, grow_pool(x),
                             own, e);
}

tra_status grow_retry(attempt *x, tra_engine_fn *fn, tra_err *e) {
    tra_err own = {0};
    tra_status s = tra_engine_retry(x->g->w, fn, x, &own);
    return s == TRA_OK ? s : say(x, s, &own, e);
}

/* ---- panels ----------------------------------------------------------------------------------------------------- */

/* Gives an empty sum its first panel: all of it. */
static void begin(attempt *x) {
    const tra_dims *ext = &x->g->state->ext;
    if (x->sum->n > 0) return;
    x->sum->v = tra_malloc(sizeof *x->sum->v);
    x->sum->v[0] = (tra_panel){.to = ext->n ? ext->v[0] : 1};
    x->sum->n = 1;
}

static bool can_be_cut(const attempt *x) {
    const tra_dims *ext = &x->g->state->ext;
    if (x->g->st->op->type.layout != &tra_rows || ext->n < 2 || x->p->to - x->p->from < 2) return false;
    tra_cell term = grow_cell(x, x->g->state->dtype, x->ext ? x->ext : ext, NULL);
    return !x->r || tra_cell_join_by_panels(x->g->st->join, x->l, x->r, &term);
}

/* Calls fn for each panel of the sum. A panel for which memory is short is cut in two; at once, without waiting for
 * other workers, if it can never fit. */
tra_status grow_for_each(attempt *x, tra_engine_fn *fn, tra_err *e) {
    int64_t budget = tra_pool_stat(grow_pool(x)).budget;
    begin(x);
    for (int i = 0; i < x->sum->n;) {
        tra_err own = {0};
        x->p = &x->sum->v[i];
        tra_status s = fn(x, &own);
        bool can = s != TRA_OK && can_be_cut(x);
        if (s == TRA_RESOURCE && !(can && x->wanted > budget && tra_pool_is_exhausted(s, &own))) {
            own = (tra_err){0};
            s = tra_engine_retry(x->g->w, fn, x, &own);
        }
        if (can && tra_pool_is_exhausted(s, &own))
            tra_panels_cut(x->sum, i, x->p->from + (x->p->to - x->p->from) / 2, grow_pool(x));
        else if (s != TRA_OK)
            return say(x, s, &own, e);
        else
            i++;
    }
    return TRA_OK;
}

/* Cuts the panels of the sum where the other sum is cut. */
static void cut_as(attempt *x, const tra_panels *other) {
    for (int k = 1; k < other->n; k++) {
        int64_t at = other->v[k].from;
        int i = 0;
        while (x->sum->v[i].to <= at) i++;
        if (x->sum->v[i].from < at) tra_panels_cut(x->sum, i, at, grow_pool(x));
    }
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

tra_status tra_grow_join(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *out, tra_err *e) {
    return grow_for_each(&(attempt){.g = g, .l = l, .r = r, .ext = &g->state->ext, .sum = out}, try_join, e);
}

/* Holds the last term as it is, in blocks of the unit that emits the sum at its end. */
static bool keep_last(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum) {
    sum->held = tra_realloc(sum->held, (size_t)sum->nheld + 1, sizeof *sum->held);
    sum->held[sum->nheld++] = (tra_held_term){.cell = {*l, *r}};
    if (g->st->pairs.tree.leaves <= 1 && grow_makes_strips(g, sum)) return true;
    sum->nheld--;
    return false;
}

tra_status tra_grow_add(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext, bool last,
                        tra_panels *sum, tra_err *e) {
    if (r && grow_adds_at_once(g, l, r, ext))
        return (last ? keep_last(g, l, r, sum) : grow_hold(g, l, r, sum)) ? TRA_OK : grow_add_held(g, l, r, sum, e);
    TRA_TRY(grow_add_held(g, NULL, NULL, sum, e));
    return grow_for_each(&(attempt){.g = g, .l = l, .r = r, .ext = ext, .sum = sum}, try_add, e);
}

tra_status tra_grow_merge(const tra_grow *g, tra_panels *sum, tra_panels *from, tra_err *e) {
    attempt x = {.g = g, .sum = sum, .other = from};
    tra_status s = grow_add_held(g, NULL, NULL, sum, e);
    if (s == TRA_OK) s = grow_add_held(g, NULL, NULL, from, e);
    if (s != TRA_OK || from->n == 0) return s;
    if (sum->n > 0) {
        cut_as(&x, from);
        s = grow_for_each(&x, try_merge, e);
    } else {
        *sum = *from;
        *from = (tra_panels){0};
    }
    tra_panels_free(from, grow_pool(&x));
    return s;
}

static tra_status finish(attempt *x, tra_err *e) {
    const tra_joinagg *st = x->g->st;
    for (int i = 0; i < x->sum->n; i++) assert(x->sum->v[i].block->refs == 1); /* what cut it has added to each panel */
    if (grow_is_result(st)) return TRA_OK;
    if (x->sum->n > 1 && !tra_agg_finishes_by_panels(st->agg)) TRA_TRY(grow_retry(x, try_gather_state, e));
    for (int i = 0; i < x->sum->n; i++) {
        x->p = &x->sum->v[i];
        TRA_TRY(grow_retry(x, try_finish, e));
    }
    return TRA_OK;
}

tra_status tra_grow_emit(const tra_grow *g, tra_panels *sum, tra_err *e) {
    tra_joinagg *st = g->st;
    tra_block *b = NULL;
    attempt x = {.g = g, .sum = sum, .out = &b};
    if (grow_makes_strips(g, sum)) {
        bool emitted = false;
        TRA_TRY(grow_emit_strips(g, sum, &emitted, e));
        if (emitted) {
            tra_op_notes_collect(st->site->notes, st->op, g->ordinal, false);
            return TRA_OK;
        }
    }
    TRA_TRY(grow_add_held(g, NULL, NULL, sum, e));
    TRA_TRY(finish(&x, e));
    if (sum->n > 1 && tra_outlet_takes_panels(st->outlet)) {
        TRA_TRY(tra_op_fits(st->op, &st->op->type, g->ordinal, e));
        tra_op_notes_collect(st->site->notes, st->op, g->ordinal, false);
        return tra_outlet_emit_panels(st->outlet, g->w, g->ordinal, sum, e);
    }
    if (sum->n > 1) TRA_TRY(grow_retry(&x, try_gather_result, e));
    x.p = &sum->v[0];
    TRA_TRY(grow_retry(&x, try_hand_over, e));
    tra_panels_free(sum, grow_pool(&x));
    tra_status s = tra_op_fits(st->op, &st->op->type, g->ordinal, e);
    tra_op_notes_collect(st->site->notes, st->op, g->ordinal, false);
    if (s != TRA_OK) return tra_block_free(grow_pool(&x), b), s;
    tra_block_unreserve(grow_pool(&x), b);
    return tra_outlet_emit(st->outlet, g->w, g->ordinal, st->how.summand, b, e);
}
