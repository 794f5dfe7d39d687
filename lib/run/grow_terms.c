/* grow_terms.c - sums of products of entries to which several terms are added at once: an element is added up in the
 * order of the terms, however many come together, so that memory does not reach the bits. */
#include "grow_int.h"

#include <stdlib.h>
#include <string.h>

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
            if (!t->block[0]) continue; /* it belongs to the unit, which has it pinned */
            if (t->block[k]) TRA_TRY(grow_take_back(x, t->block[k], e));
            a->pinned += t->block[k] != NULL;
            a->cell[k][i].head = t->block[t->block[k] ? k : 0]->ptr;
        }
    }
    return TRA_OK;
}

static void unpin_terms(const attempt *x, adding *a) {
    for (int i = 0; a->pinned > 0; i++)
        for (int k = 0; k < 2 && a->pinned > 0; k++) {
            tra_block *b = x->term[x->p->added + i].block[k];
            if (b) tra_block_unpin(grow_pool(x), b), a->pinned--;
        }
}

/* Makes the sum of the panel and the next n terms: one term in the scratch that was planned for it. */
static tra_status make_sum(attempt *x, int n, adding *a, tra_cell *after, tra_err *e) {
    const tra_kernel *k = x->g->st->join, *agg = x->g->st->agg;
    void *scratch = grow_scratch(x), *room = NULL;
    if (x->p->block) TRA_TRY(grow_take_back(x, x->p->block, e));
    a->old = x->p->block;
    TRA_TRY(pin_terms(x, n, a, e));
    tra_cell before = grow_state(x, a->old), *state = a->old ? &before : NULL;
    *after = grow_new_cell(x, x->g->state->dtype, &x->g->state->ext);
    if (n > 1) {
        int64_t bytes = tra_cell_sum_room(k, agg, a->cell[0], a->cell[1], n, after);
        if (bytes < 0) return tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_POOL, "too many terms at once");
        TRA_TRY(grow_take(x, bytes, &a->room, e));
        room = a->room->ptr;
    }
    tra_making m;
    grow_begin(x, &m, after);
    tra_cell_sum(k, a->cell[0], a->cell[1], n, state, after, false, room, scratch);
    return tra_making_end(&m, grow_pool(x), after, &a->made, e);
}

static tra_status add_at_once(attempt *x, int n, tra_err *e) {
    adding a = {.cell = {tra_malloc((size_t)n * sizeof(tra_cell)), tra_malloc((size_t)n * sizeof(tra_cell))}};
    tra_cell after;
    x->wanted = 0;
    tra_status s = make_sum(x, n, &a, &after, e);
    unpin_terms(x, &a);
    tra_block_free(grow_pool(x), a.room);
    if (s == TRA_OK) {
        tra_panel_free(a.old, grow_pool(x));
        grow_set_block(x, a.made, &after);
        x->p->added += n;
    } else {
        tra_block_free(grow_pool(x), a.made);
        if (a.old) tra_block_unpin(grow_pool(x), a.old);
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

bool grow_adds_at_once(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext) {
    tra_cell out = {.layout = g->st->op->type.layout, .array = {.dtype = g->state->dtype, .ext = *ext}};
    return tra_dims_eq(ext, &g->state->ext) && tra_cell_sum_room(g->st->join, g->st->agg, l, r, 1, &out) >= 0;
}

bool grow_hold(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum) {
    tra_pool *pool = g->st->site->pool;
    tra_held_term t = {.cell = {*l, *r}};
    int64_t bytes = tra_cell_bytes(l) + (l->head == r->head ? 0 : tra_cell_bytes(r));
    int64_t most = tra_min64(tra_pool_stat(pool).budget / TRA_HELD_SHARE, g->st->op->method.terms);
    if (atomic_load(&g->st->held) + bytes > most) return false;
    if (!tra_pool_has_room(pool, 4 * bytes, true)) return false;
    bool same = l->head == r->head;
    int64_t again = tra_block_footprint(tra_cell_bytes(l)) + (same ? 0 : tra_block_footprint(tra_cell_bytes(r)));
    if (again > sum->reserved) { /* what is queued may take all other memory meanwhile */
        if (!tra_pool_reserve_now(pool, again - sum->reserved)) return false;
        sum->reserved = again;
    }
    for (int k = 0; k < 2 - same; k++) {
        tra_err own = {0};
        if (tra_block_take(pool, tra_cell_bytes(&t.cell[k]), &t.block[k], &own) == TRA_OK) continue;
        tra_block_free(pool, t.block[0]);
        return false;
    }
    for (int k = 0; k < 2 - same; k++) {
        memcpy(t.block[k]->ptr, t.cell[k].head, (size_t)tra_cell_bytes(&t.cell[k]));
        t.cell[k].head = NULL;
        tra_block_unpin(pool, t.block[k]);
    }
    if (same) t.cell[1].head = NULL;
    atomic_fetch_add(&g->st->held, bytes);
    sum->held = tra_realloc(sum->held, (size_t)sum->nheld + 1, sizeof *sum->held);
    sum->held[sum->nheld++] = t;
    return true;
}

static void release_held(const tra_grow *g, tra_panels *sum) {
    int64_t bytes = 0;
    for (int i = 0; i < sum->nheld; i++)
        for (int k = 0; k < 2; k++) {
            tra_block *b = sum->held[i].block[k];
            if (!b) continue;
            bytes += b->bytes;
            tra_block_release(g->st->site->pool, b);
        }
    atomic_fetch_sub(&g->st->held, bytes);
    if (sum->reserved > 0) tra_pool_release(g->st->site->pool, sum->reserved);
    free(sum->held);
    sum->held = NULL;
    sum->nheld = 0;
    sum->reserved = 0;
}

tra_status grow_add_held(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum, tra_err *e) {
    tra_held_term *all = tra_malloc((size_t)(sum->nheld + 1) * sizeof *all);
    attempt x = {.g = g, .l = l, .r = r, .ext = &g->state->ext, .sum = sum, .term = all, .nterms = sum->nheld};
    for (int i = 0; i < sum->nheld; i++) all[i] = sum->held[i];
    if (l) all[x.nterms++] = (tra_held_term){.cell = {*l, *r}};
    if (!l && x.nterms > 0) x.l = &all[0].cell[0], x.r = &all[0].cell[1]; /* their extents tell what can be cut */
    tra_status s = x.nterms > 0 ? grow_for_each(&x, try_terms, e) : TRA_OK;
    for (int i = 0; i < sum->n; i++) sum->v[i].added = 0;
    release_held(g, sum);
    free(all);
    return s;
}

/* ---- in strips --------------------------------------------------------------------------------------------------- */

/* What strips are made of. */
typedef struct strips {
    attempt x;
    adding a;
    tra_cell out;
    tra_making m;
    int64_t from, most;   /* the strip at hand: its first coordinate, and how many it has at most */
    int64_t rows, enough; /* coordinates of all; bytes of a strip where a coordinate does not take more */
    bool again;           /* the operands are in the room */
} strips;

/* Can the sum, of which there is nothing yet but terms, be made and written strip by strip? */
bool grow_makes_strips(const tra_grow *g, const tra_panels *sum) {
    const tra_joinagg *st = g->st;
    if (sum->n > 0 || sum->nheld == 0 || st->op->type.layout != &tra_rows || g->state->ext.n < 2) return false;
    tra_cell out = {.layout = st->op->type.layout, .array = *g->state};
    return grow_is_result(st) && tra_outlet_takes_panels(st->outlet) &&
           tra_cell_join_by_panels(st->join, &sum->held[0].cell[0], &sum->held[0].cell[1], &out);
}

static tra_status take_strip(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    strips *s = ctx;
    bool others = s->from > 0 || s->out.panel[1] < s->rows, tight = s->m.taker.refused;
    s->x.wanted = tra_block_footprint(s->a.room->bytes);
    return grow_take(&s->x, others && !tight ? tra_max64(bytes, s->enough) : bytes, out, e);
}

static tra_status make_strip(void *ctx, tra_err *e) {
    strips *s = ctx;
    s->out = grow_cell(&s->x, s->x.g->state->dtype, &s->x.g->state->ext, NULL);
    s->out.panel[0] = s->from;
    s->out.panel[1] = tra_min64(s->rows, s->from + s->most);
    s->out.enough = s->enough;
    tra_making_begin(&s->m, &s->out, take_strip, s);
    tra_cell_sum(s->x.g->st->join, s->a.cell[0], s->a.cell[1], s->x.nterms, NULL, &s->out, s->again, s->a.room->ptr,
                 grow_scratch(&s->x));
    s->again = true;
    tra_status made = tra_making_end(&s->m, grow_pool(&s->x), &s->out, &s->a.made, e);
    if (made != TRA_OK) tra_block_free(grow_pool(&s->x), s->a.made), s->a.made = NULL;
    return made;
}

/* Brings the operands of all terms in order, and makes the first strip. */
static tra_status begin_strips(strips *s, tra_err *e) {
    attempt *x = &s->x;
    const tra_joinagg *st = x->g->st;
    int n = x->nterms;
    tra_status status = pin_terms(x, n, &s->a, e);
    tra_cell out = grow_cell(x, x->g->state->dtype, &x->g->state->ext, NULL);
    int64_t bytes = status == TRA_OK ? tra_cell_sum_room(st->join, st->agg, s->a.cell[0], s->a.cell[1], n, &out) : 0;
    if (bytes < 0) status = tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_POOL, "too many terms at once");
    if (status == TRA_OK) status = grow_take(x, bytes, &s->a.room, e);
    if (status == TRA_OK) status = make_strip(s, e);
    unpin_terms(x, &s->a);
    return status;
}

/* Writes the strip at hand and those after it. */
static tra_status write_strips(strips *s, tra_panels_writing *to, tra_err *e) {
    const tra_grow *g = s->x.g;
    for (;;) {
        int64_t end = s->out.panel[1];
        TRA_TRY(tra_op_fits(g->st->op, &g->st->op->type, g->ordinal, e));
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "the stage has failed");
        tra_block *made = s->a.made;
        s->a.made = NULL;
        TRA_TRY(tra_outlet_put_panel(to, made, e));
        if (end == s->rows) return TRA_OK;
        s->most = 2 * (end - s->from);
        s->from = end;
        TRA_TRY(grow_retry(&s->x, make_strip, e));
    }
}

tra_status grow_emit_strips(const tra_grow *g, tra_panels *sum, bool *emitted, tra_err *e) {
    int n = sum->nheld;
    int64_t room = tra_pool_stat(g->st->site->pool).budget / 8;
    strips s = {.x = {.g = g, .ext = &g->state->ext, .sum = sum, .term = sum->held, .nterms = n},
                .a.cell = {tra_malloc((size_t)n * sizeof(tra_cell)), tra_malloc((size_t)n * sizeof(tra_cell))},
                .rows = g->state->ext.v[0],
                .most = g->state->ext.v[0],
                .enough = tra_max64(TRA_LITTLE, tra_min64(TRA_STRIP_BYTES, room))};
    tra_panel whole = {.to = s.rows};
    tra_err own = {0};
    s.x.p = &whole;
    tra_status status = begin_strips(&s, &own);
    bool begun = status == TRA_OK;
    *emitted = begun && s.out.panel[1] < s.rows;
    if (tra_pool_is_exhausted(status, &own)) /* it is made with less at once */
        status = TRA_OK;
    else if (status != TRA_OK)
        *e = own;
    if (*emitted) {
        if (n > 1) release_held(g, sum);
        tra_panels_writing *to = tra_outlet_begin_panels(g->st->outlet, g->w, g->ordinal);
        status = tra_outlet_end_panels(to, write_strips(&s, to, e), e);
    } else if (begun) {
        sum->v = tra_malloc(sizeof *sum->v); /* one strip is the whole sum */
        sum->v[0] = whole;
        sum->n = 1;
        s.x.p = &sum->v[0];
        grow_set_block(&s.x, s.a.made, &s.out);
        s.a.made = NULL;
    }
    if (begun) release_held(g, sum);
    tra_block_free(grow_pool(&s.x), s.a.room);
    tra_block_free(grow_pool(&s.x), s.a.made);
    free(s.a.cell[0]);
    free(s.a.cell[1]);
    return status;
}
