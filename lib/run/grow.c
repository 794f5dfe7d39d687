/* grow.c - results whose size only the data tell. */
#include "grow.h"

#include "../relation/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a worker tries, and tries again when memory was short (tra_engine_retry): a failed attempt changes nothing. */
typedef struct attempt {
    const tra_grow *g;
    const tra_cell *l, *r; /* operands; r NULL: l is the term */
    const tra_dims *ext;   /* of the term */
    tra_panels *sum;
    const tra_panels *other; /* a sum that is added */
    tra_panel *p;            /* the panel of the sum that is being made */
    tra_block **out;         /* where the finished block goes, pinned */
    const tra_held_term *term; /* what is added at once */
    int nterms;
    int64_t wanted;          /* bytes that the attempt needed at once, so far */
} attempt;

static tra_pool *pool_of(const attempt *x) { return x->g->st->site->pool; }

static void *scratch_of(const attempt *x) { return (char *)x->g->w->scratch + x->g->st->kernel_scratch_at; }

static tra_cell cell_of(const attempt *x, tra_dtype t, const tra_dims *ext, const tra_block *b) {
    const tra_type *type = &x->g->st->op->type;
    tra_cell c = {
        .layout = type->layout, .sparse = type->sparse, .array = {.dtype = t, .ext = *ext}, .head = b ? b->ptr : NULL};
    if (b && c.layout->adopt_extents) (void)c.layout->adopt_extents(&c); /* it was made here, so nothing is wrong */
    return c;
}

/* A cell that is yet to be made, for the panel at hand. */
static tra_cell new_cell(const attempt *x, tra_dtype t, const tra_dims *ext) {
    tra_cell c = cell_of(x, t, ext, NULL);
    if (x->sum->n > 1) c.panel[0] = x->p->from, c.panel[1] = x->p->to;
    return c;
}

static tra_cell state_of(const attempt *x, const tra_block *b) {
    return cell_of(x, x->g->state->dtype, &x->g->state->ext, b);
}

static tra_status take(attempt *x, int64_t bytes, tra_block **b, tra_err *e) {
    x->wanted += tra_block_footprint(bytes);
    return tra_block_take(pool_of(x), bytes, b, e);
}

static tra_status take_back(attempt *x, tra_block *b, tra_err *e) {
    x->wanted += tra_block_footprint(b->bytes);
    return tra_block_take_back(pool_of(x), b, e);
}

/* A cell was made in a block of at least as many bytes. */
static tra_status made(const attempt *x, tra_block *b, const tra_cell *c, tra_err *e) {
    if (tra_cell_bytes(c) > b->bytes) return tra_fail(e, TRA_INTERNAL, "a result is larger than was counted");
    tra_block_shrink(pool_of(x), b, tra_cell_bytes(c));
    return TRA_OK;
}

/* The panel's rows are now those of this cell, in block b. */
static void set_block(const attempt *x, tra_block *b, const tra_cell *c) {
    x->p->block = b;
    if (c->layout == &tra_rows) x->p->nrows = tra_rows_of(c).nrows, x->p->n = tra_rows_of(c).n;
    tra_block_unpin(pool_of(x), b);
}

/* ---- attempts ------------------------------------------------------------------------------------------------- */

/* Makes the join of l and r, of that type and those extents. */
static tra_status join(attempt *x, tra_dtype t, const tra_dims *ext, tra_block **out, tra_err *e) {
    tra_cell c = new_cell(x, t, ext);
    const tra_kernel *k = x->g->st->join;
    int64_t wanted = x->wanted;
    tra_status s = take(x, tra_cell_join_bytes(k, x->l, x->r, &c, scratch_of(x)), out, e);
    if (s == TRA_RESOURCE && c.loose) { /* memory is set aside for what there is, at most */
        *e = (tra_err){0};
        x->wanted = wanted;
        c.tight = true;
        s = take(x, tra_cell_join_bytes(k, x->l, x->r, &c, scratch_of(x)), out, e);
    }
    if (s != TRA_OK) return s;
    c.head = (*out)->ptr;
    tra_cell_join(k, x->l, x->r, &c, scratch_of(x));
    return made(x, *out, &c, e);
}

/* Adds a term to the sum: makes a new block with both, which replaces the sum's. */
static tra_status add(attempt *x, const tra_cell *term, tra_err *e) {
    const tra_kernel *agg = x->g->st->agg;
    tra_block *old = x->p->block, *b = NULL;
    if (old) TRA_TRY(take_back(x, old, e));
    tra_cell before = state_of(x, old), after = new_cell(x, x->g->state->dtype, &x->g->state->ext);
    tra_status s = take(x, tra_cell_merge_bytes(agg, old ? &before : NULL, term, &after), &b, e);
    if (s == TRA_OK) {
        after.head = b->ptr;
        tra_cell_merge(agg, old ? &before : NULL, term, &after);
        s = made(x, b, &after, e);
    }
    if (s != TRA_OK) {
        tra_block_free(pool_of(x), b);
        if (old) tra_block_unpin(pool_of(x), old);
        return s;
    }
    tra_panel_free(old, pool_of(x));
    set_block(x, b, &after);
    return TRA_OK;
}

static tra_status try_join(void *ctx, tra_err *e) {
    attempt *x = ctx;
    tra_block *b = NULL;
    x->wanted = 0;
    tra_status s = join(x, x->g->st->op->type.dtype, x->ext, &b, e);
    if (s != TRA_OK) return tra_block_free(pool_of(x), b), s;
    tra_cell c = cell_of(x, x->g->st->op->type.dtype, x->ext, b);
    set_block(x, b, &c);
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
        tra_cell first = state_of(x, b);
        set_block(x, b, &first); /* the first term is the sum so far */
        return TRA_OK;
    }
    tra_cell term = cell_of(x, t, x->ext, b);
    if (s == TRA_OK) s = add(x, &term, e);
    tra_block_free(pool_of(x), b);
    return s;
}

/* What an attempt to add n terms at once has pinned or made. */
typedef struct adding {
    tra_cell *cell[2];
    tra_block *old, *room, *made;
    int pinned; /* blocks of held terms */
} adding;

static tra_status pin_terms(attempt *x, int n, adding *a, tra_err *e) {
    for (int i = 0; i < n; i++) {
        const tra_held_term *t = &x->term[x->p->added + i];
        for (int k = 0; k < 2; k++) {
            a->cell[k][i] = t->cell[k];
            if (!t->block[k]) continue; /* it belongs to the unit, which has it pinned */
            TRA_TRY(take_back(x, t->block[k], e));
            a->pinned++;
            a->cell[k][i].head = t->block[k]->ptr;
        }
    }
    return TRA_OK;
}

/* Makes the sum of the panel and the next n terms: one term in the scratch that was planned for it. */
static tra_status make_sum(attempt *x, int n, adding *a, tra_cell *after, tra_err *e) {
    const tra_kernel *k = x->g->st->join, *agg = x->g->st->agg;
    void *scratch = scratch_of(x), *room = NULL;
    if (x->p->block) TRA_TRY(take_back(x, x->p->block, e));
    a->old = x->p->block;
    TRA_TRY(pin_terms(x, n, a, e));
    tra_cell before = state_of(x, a->old), *state = a->old ? &before : NULL;
    *after = new_cell(x, x->g->state->dtype, &x->g->state->ext);
    if (n > 1) {
        int64_t bytes = tra_cell_sum_room(k, agg, a->cell[0], a->cell[1], n, after);
        if (bytes < 0) return tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_POOL, "too many terms at once");
        TRA_TRY(take(x, bytes, &a->room, e));
        room = a->room->ptr;
    }
    tra_cell counted = *after;
    tra_status s = take(x, tra_cell_sum(k, a->cell[0], a->cell[1], n, state, &counted, true, room, scratch), &a->made, e);
    if (s == TRA_RESOURCE && counted.loose) { /* memory is set aside for what there is, at most */
        *e = (tra_err){0};
        counted = *after;
        counted.tight = true;
        s = take(x, tra_cell_sum(k, a->cell[0], a->cell[1], n, state, &counted, true, room, scratch), &a->made, e);
    }
    if (s != TRA_OK) return s;
    *after = counted;
    after->head = a->made->ptr;
    tra_cell_sum(k, a->cell[0], a->cell[1], n, state, after, false, room, scratch);
    return made(x, a->made, after, e);
}

static tra_status add_at_once(attempt *x, int n, tra_err *e) {
    adding a = {.cell = {tra_malloc((size_t)n * sizeof(tra_cell)), tra_malloc((size_t)n * sizeof(tra_cell))}};
    tra_cell after;
    x->wanted = 0;
    tra_status s = make_sum(x, n, &a, &after, e);
    for (int i = 0; a.pinned > 0; i++)
        for (int k = 0; k < 2 && a.pinned > 0; k++) {
            tra_block *b = x->term[x->p->added + i].block[k];
            if (b) tra_block_unpin(pool_of(x), b), a.pinned--;
        }
    tra_block_free(pool_of(x), a.room);
    if (s == TRA_OK) {
        tra_panel_free(a.old, pool_of(x));
        set_block(x, a.made, &after);
        x->p->added += n;
    } else {
        tra_block_free(pool_of(x), a.made);
        if (a.old) tra_block_unpin(pool_of(x), a.old);
    }
    free(a.cell[0]);
    free(a.cell[1]);
    return s;
}

/* Adds the terms that the panel does not have yet: all at once, or where memory is short for that one by one, which
 * makes the same bits. */
static tra_status try_terms(void *ctx, tra_err *e) {
    attempt *x = ctx;
    while (x->p->added < x->nterms) {
        int left = x->nterms - x->p->added;
        tra_status s = add_at_once(x, left, e);
        if (s == TRA_RESOURCE && left > 1) {
            *e = (tra_err){0};
            s = add_at_once(x, 1, e);
        }
        if (s != TRA_OK) return s;
    }
    return TRA_OK;
}

/* Adds the panel of the other sum that contains this panel. */
static tra_status try_merge(void *ctx, tra_err *e) {
    attempt *x = ctx;
    int i = 0;
    x->wanted = 0;
    while (x->other->v[i].to <= x->p->from) i++;
    tra_block *b = x->other->v[i].block;
    TRA_TRY(take_back(x, b, e));
    tra_cell term = state_of(x, b);
    tra_status s = add(x, &term, e);
    tra_block_unpin(pool_of(x), b);
    return s;
}

/* Is the state the result? */
static bool is_result(const tra_joinagg *st) {
    if (!st->agg || st->op->what.partial) return true;
    return !st->how.composed && st->how.state_dtype == st->op->type.dtype;
}

/* Makes the result of the panel's state. */
static tra_status try_finish(void *ctx, tra_err *e) {
    attempt *x = ctx;
    const tra_joinagg *st = x->g->st;
    tra_cell out = tra_cell_new(&st->op->type, x->g->ordinal, NULL);
    tra_block *b = NULL, *old = x->p->block;
    x->wanted = 0;
    TRA_TRY(take_back(x, old, e));
    tra_cell state = state_of(x, old);
    tra_dtype t = st->op->what.term;
    tra_status s = take(x, tra_cell_finish_bytes(st->agg, t, &state, &out, scratch_of(x)), &b, e);
    if (s == TRA_OK) {
        out.head = b->ptr;
        tra_cell_finish(st->agg, t, &state, &out, scratch_of(x));
        s = made(x, b, &out, e);
    }
    if (s != TRA_OK) {
        tra_block_free(pool_of(x), b);
        tra_block_unpin(pool_of(x), old);
        return s;
    }
    tra_panel_free(old, pool_of(x));
    set_block(x, b, &out);
    return TRA_OK;
}

/* Puts the panels, of that type and these extents of the whole, together in one block. */
static tra_status gather(attempt *x, tra_dtype t, const tra_dims *ext, tra_err *e) {
    tra_block *whole = NULL;
    tra_cell to = cell_of(x, t, ext, NULL);
    tra_status s = take(x, tra_panels_bytes(x->sum, t), &whole, e);
    if (s != TRA_OK) return s;
    to.head = whole->ptr;
    tra_gathering into = tra_panels_gather(x->sum, &to);
    int64_t before = x->wanted;
    for (int i = 0; i < x->sum->n && s == TRA_OK; i++) {
        tra_block *b = x->sum->v[i].block;
        x->wanted = before;
        s = take_back(x, b, e);
        if (s != TRA_OK) break;
        tra_cell part = cell_of(x, t, ext, b);
        tra_gathering_add(&into, &part);
        tra_block_unpin(pool_of(x), b);
    }
    if (s != TRA_OK) return tra_block_free(pool_of(x), whole), s;
    tra_panels_free(x->sum, pool_of(x)); /* no terms are held any more */
    x->sum->v = tra_malloc(sizeof *x->sum->v);
    x->sum->n = 1;
    x->sum->v[0] = (tra_panel){.to = ext->n ? ext->v[0] : 1};
    x->p = &x->sum->v[0];
    set_block(x, whole, &to);
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
    TRA_TRY(take_back(x, x->p->block, e));
    *x->out = x->p->block;
    x->p->block = NULL;
    return TRA_OK;
}

/* ---- what is said when there is no memory ----------------------------------------------------------------------- */

static tra_status say(const attempt *x, tra_status s, const tra_err *own, tra_err *e) {
    const tra_op *op = x->g->st->op;
    char place[512];
    return tra_advise_blocks(s, tra_op_text(op, place, sizeof place), &op->type, x->g->ordinal, x->wanted, pool_of(x),
                             own, e);
}

static tra_status retry(attempt *x, tra_engine_fn *fn, tra_err *e) {
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
    tra_cell term = cell_of(x, x->g->state->dtype, x->ext ? x->ext : ext, NULL);
    return !x->r || tra_cell_join_by_panels(x->g->st->join, x->l, x->r, &term);
}

/* Calls fn for each panel of the sum. A panel for which memory is short is cut in two; at once, without waiting for
 * other workers, if it can never fit. */
static tra_status for_each(attempt *x, tra_engine_fn *fn, tra_err *e) {
    int64_t budget = tra_pool_stat(pool_of(x)).budget;
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
            tra_panels_cut(x->sum, i, x->p->from + (x->p->to - x->p->from) / 2, pool_of(x));
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
        if (x->sum->v[i].from < at) tra_panels_cut(x->sum, i, at, pool_of(x));
    }
}

/* ---- terms that are added at once -------------------------------------------------------------------------------- */

static bool adds_at_once(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext) {
    tra_cell out = {.layout = g->st->op->type.layout, .array = {.dtype = g->state->dtype, .ext = *ext}};
    return tra_dims_eq(ext, &g->state->ext) && tra_cell_sum_room(g->st->join, g->st->agg, l, r, 1, &out) >= 0;
}

/* Copies a term, to be added with others; false: memory is short, or others hold a good part of it. */
static bool hold(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum) {
    enum { SHARE = 16 }; /* of all blocks' memory: what terms of all results under way take at most */
    tra_pool *pool = g->st->site->pool;
    tra_held_term t = {.cell = {*l, *r}};
    int64_t bytes = tra_cell_bytes(l) + tra_cell_bytes(r);
    if (atomic_load(&g->st->held) + bytes > tra_pool_stat(pool).budget / SHARE) return false;
    if (!tra_pool_has_room(pool, 4 * bytes, true)) return false;
    for (int k = 0; k < 2; k++) {
        tra_err own = {0};
        if (tra_block_take(pool, tra_cell_bytes(&t.cell[k]), &t.block[k], &own) == TRA_OK) continue;
        tra_block_free(pool, t.block[0]);
        return false;
    }
    for (int k = 0; k < 2; k++) {
        memcpy(t.block[k]->ptr, t.cell[k].head, (size_t)tra_cell_bytes(&t.cell[k]));
        t.cell[k].head = NULL;
        tra_block_unpin(pool, t.block[k]);
    }
    atomic_fetch_add(&g->st->held, bytes);
    sum->held = tra_realloc(sum->held, (size_t)sum->nheld + 1, sizeof *sum->held);
    sum->held[sum->nheld++] = t;
    return true;
}

/* Adds the terms that are held, and l and r (NULL: none). */
static tra_status add_held(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum, tra_err *e) {
    tra_held_term *all = tra_malloc((size_t)(sum->nheld + 1) * sizeof *all);
    attempt x = {.g = g, .l = l, .r = r, .ext = &g->state->ext, .sum = sum, .term = all, .nterms = sum->nheld};
    int64_t bytes = 0;
    for (int i = 0; i < sum->nheld; i++) all[i] = sum->held[i];
    if (l) all[x.nterms++] = (tra_held_term){.cell = {*l, *r}};
    if (!l && x.nterms > 0) x.l = &all[0].cell[0], x.r = &all[0].cell[1]; /* whose types and extents tell what can be cut */
    tra_status s = x.nterms > 0 ? for_each(&x, try_terms, e) : TRA_OK;
    for (int i = 0; i < sum->n; i++) sum->v[i].added = 0;
    for (int i = 0; i < sum->nheld; i++) {
        for (int k = 0; k < 2; k++) {
            bytes += sum->held[i].block[k]->bytes;
            tra_block_release(g->st->site->pool, sum->held[i].block[k]);
        }
    }
    atomic_fetch_sub(&g->st->held, bytes);
    free(sum->held);
    free(all);
    sum->held = NULL;
    sum->nheld = 0;
    return s;
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

tra_status tra_grow_join(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *out, tra_err *e) {
    return for_each(&(attempt){.g = g, .l = l, .r = r, .ext = &g->state->ext, .sum = out}, try_join, e);
}

tra_status tra_grow_add(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext, bool last,
                        tra_panels *sum, tra_err *e) {
    if (r && adds_at_once(g, l, r, ext))
        return !last && hold(g, l, r, sum) ? TRA_OK : add_held(g, l, r, sum, e);
    TRA_TRY(add_held(g, NULL, NULL, sum, e));
    return for_each(&(attempt){.g = g, .l = l, .r = r, .ext = ext, .sum = sum}, try_add, e);
}

tra_status tra_grow_merge(const tra_grow *g, tra_panels *sum, tra_panels *from, tra_err *e) {
    attempt x = {.g = g, .sum = sum, .other = from};
    tra_status s = add_held(g, NULL, NULL, sum, e);
    if (s == TRA_OK) s = add_held(g, NULL, NULL, from, e);
    if (s != TRA_OK || from->n == 0) return s;
    if (sum->n > 0) {
        cut_as(&x, from);
        s = for_each(&x, try_merge, e);
    } else {
        *sum = *from;
        *from = (tra_panels){0};
    }
    tra_panels_free(from, pool_of(&x));
    return s;
}

static tra_status finish(attempt *x, tra_err *e) {
    const tra_joinagg *st = x->g->st;
    for (int i = 0; i < x->sum->n; i++) assert(x->sum->v[i].block->refs == 1); /* what cut it has added to each panel */
    if (is_result(st)) return TRA_OK;
    if (x->sum->n > 1 && !tra_agg_finishes_by_panels(st->agg)) TRA_TRY(retry(x, try_gather_state, e));
    for (int i = 0; i < x->sum->n; i++) {
        x->p = &x->sum->v[i];
        TRA_TRY(retry(x, try_finish, e));
    }
    return TRA_OK;
}

tra_status tra_grow_emit(const tra_grow *g, tra_panels *sum, tra_err *e) {
    tra_joinagg *st = g->st;
    tra_block *b = NULL;
    attempt x = {.g = g, .sum = sum, .out = &b};
    TRA_TRY(add_held(g, NULL, NULL, sum, e));
    TRA_TRY(finish(&x, e));
    if (sum->n > 1 && tra_outlet_takes_panels(st->outlet)) {
        TRA_TRY(tra_op_fits(st->op, &st->op->type, g->ordinal, e));
        tra_zero_divisions_collect(st->site->zero_divisions, st->op, g->ordinal, false);
        return tra_outlet_emit_panels(st->outlet, g->w, g->ordinal, sum, e);
    }
    if (sum->n > 1) TRA_TRY(retry(&x, try_gather_result, e));
    x.p = &sum->v[0];
    TRA_TRY(retry(&x, try_hand_over, e));
    tra_panels_free(sum, pool_of(&x));
    tra_status s = tra_op_fits(st->op, &st->op->type, g->ordinal, e);
    tra_zero_divisions_collect(st->site->zero_divisions, st->op, g->ordinal, false);
    if (s != TRA_OK) return tra_block_free(pool_of(&x), b), s;
    tra_block_unreserve(pool_of(&x), b);
    return tra_outlet_emit(st->outlet, g->w, g->ordinal, st->how.summand, b, e);
}
