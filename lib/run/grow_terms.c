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
    tra_cell counted = *after;
    int64_t bytes = tra_cell_sum(k, a->cell[0], a->cell[1], n, state, &counted, true, false, room, scratch);
    tra_status s = grow_take(x, bytes, &a->made, e);
    if (s == TRA_RESOURCE && counted.loose) { /* memory is set aside for what there is, at most */
        *e = (tra_err){0};
        counted = *after;
        counted.tight = true;
        bytes = tra_cell_sum(k, a->cell[0], a->cell[1], n, state, &counted, true, true, room, scratch);
        s = grow_take(x, bytes, &a->made, e);
    }
    if (s != TRA_OK) return s;
    *after = counted;
    after->head = a->made->ptr;
    tra_cell_sum(k, a->cell[0], a->cell[1], n, state, after, false, true, room, scratch);
    return grow_made(x, a->made, after, e);
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
    if (atomic_load(&g->st->held) + bytes > tra_pool_stat(pool).budget / TRA_HELD_SHARE) return false;
    if (!tra_pool_has_room(pool, 4 * bytes, true)) return false;
    bool same = l->head == r->head;
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

void grow_release_held(const tra_grow *g, tra_panels *sum) {
    int64_t bytes = 0;
    for (int i = 0; i < sum->nheld; i++)
        for (int k = 0; k < 2; k++) {
            tra_block *b = sum->held[i].block[k];
            if (!b) continue;
            bytes += b->bytes;
            tra_block_release(g->st->site->pool, b);
        }
    atomic_fetch_sub(&g->st->held, bytes);
    free(sum->held);
    sum->held = NULL;
    sum->nheld = 0;
}

tra_status grow_add_held(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum, tra_err *e) {
    tra_held_term *all = tra_malloc((size_t)(sum->nheld + 1) * sizeof *all);
    attempt x = {.g = g, .l = l, .r = r, .ext = &g->state->ext, .sum = sum, .term = all, .nterms = sum->nheld};
    for (int i = 0; i < sum->nheld; i++) all[i] = sum->held[i];
    if (l) all[x.nterms++] = (tra_held_term){.cell = {*l, *r}};
    if (!l && x.nterms > 0) x.l = &all[0].cell[0], x.r = &all[0].cell[1]; /* their extents tell what can be cut */
    tra_status s = x.nterms > 0 ? grow_for_each(&x, try_terms, e) : TRA_OK;
    for (int i = 0; i < sum->n; i++) sum->v[i].added = 0;
    grow_release_held(g, sum);
    free(all);
    return s;
}

/* ---- in strips --------------------------------------------------------------------------------------------------- */

/* What strips are made of. */
typedef struct strips {
    attempt x;
    adding a;
    tra_cell out;
    int64_t rows;          /* coordinates of the first dimension */
    int64_t bytes, enough; /* of the strip at hand; of one, where a coordinate does not take more */
} strips;

/* Can the sum, of which there is nothing yet but terms, be made and written strip by strip? */
bool grow_makes_strips(const tra_grow *g, const tra_panels *sum) {
    const tra_joinagg *st = g->st;
    if (sum->n > 0 || sum->nheld == 0 || st->op->type.layout != &tra_rows || g->state->ext.n < 2) return false;
    tra_cell out = {.layout = st->op->type.layout, .array = *g->state};
    return grow_is_result(st) && tra_outlet_takes_panels(st->outlet) &&
           tra_cell_join_by_panels(st->join, &sum->held[0].cell[0], &sum->held[0].cell[1], &out);
}

/* Counts the strip that begins at a coordinate and has at most so many; a second time: not more than there is. */
static void count_strip(strips *s, int64_t from, int64_t most, bool again) {
    const tra_joinagg *st = s->x.g->st;
    bool tight = again && s->out.panel[0] == from;
    s->out = grow_cell(&s->x, s->x.g->state->dtype, &s->x.g->state->ext, NULL);
    s->out.panel[0] = from;
    s->out.panel[1] = tra_min64(s->rows, from + most);
    s->out.enough = tight ? 0 : s->enough;
    s->out.tight = tight;
    s->bytes = tra_cell_sum(st->join, s->a.cell[0], s->a.cell[1], s->x.nterms, NULL, &s->out, true, again,
                            s->a.room->ptr, grow_scratch(&s->x));
}

/* Takes a block for the strip at hand. */
static tra_status take_strip(strips *s, bool again, tra_err *e) {
    tra_pool *pool = grow_pool(&s->x);
    if (s->a.made && s->a.made->bytes >= s->bytes) return TRA_OK;
    tra_block_free(pool, s->a.made);
    s->a.made = NULL;
    tra_status status = grow_take(&s->x, tra_max64(s->bytes, again ? s->enough : 0), &s->a.made, e);
    if (status != TRA_RESOURCE || !s->out.loose || !again) return status;
    *e = (tra_err){0}; /* memory is set aside for what there is, at most */
    count_strip(s, s->out.panel[0], s->out.panel[1] - s->out.panel[0], true);
    return grow_take(&s->x, s->bytes, &s->a.made, e);
}

/* Brings the operands of all terms in order, counts the first strip, and takes memory for it. */
static tra_status begin_strips(strips *s, tra_err *e) {
    attempt *x = &s->x;
    const tra_joinagg *st = x->g->st;
    int n = x->nterms;
    tra_status status = pin_terms(x, n, &s->a, e);
    tra_cell out = grow_cell(x, x->g->state->dtype, &x->g->state->ext, NULL);
    int64_t bytes = status == TRA_OK ? tra_cell_sum_room(st->join, st->agg, s->a.cell[0], s->a.cell[1], n, &out) : 0;
    if (bytes < 0) status = tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_POOL, "too many terms at once");
    if (status == TRA_OK) status = grow_take(x, bytes, &s->a.room, e);
    if (status == TRA_OK) {
        count_strip(s, 0, s->rows, false);
        status = take_strip(s, s->out.panel[1] < s->rows, e);
    }
    unpin_terms(x, &s->a);
    return status;
}

static tra_status make_strip(void *ctx, tra_err *e) {
    strips *s = ctx;
    const tra_joinagg *st = s->x.g->st;
    s->x.wanted = tra_block_footprint(s->a.room->bytes);
    TRA_TRY(take_strip(s, true, e));
    s->out.head = s->a.made->ptr;
    (void)tra_cell_sum(st->join, s->a.cell[0], s->a.cell[1], s->x.nterms, NULL, &s->out, false, true, s->a.room->ptr,
                       grow_scratch(&s->x));
    return TRA_OK;
}

/* Writes the strip at hand and those after it. */
static tra_status write_strips(strips *s, tra_panels_writing *to, tra_err *e) {
    const tra_grow *g = s->x.g;
    for (int64_t from = 0, width;; from += width) {
        width = s->out.panel[1] - from;
        TRA_TRY(grow_retry(&s->x, make_strip, e));
        TRA_TRY(tra_op_fits(g->st->op, &g->st->op->type, g->ordinal, e));
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "the stage has failed");
        TRA_TRY(tra_outlet_put_panel(to, &s->out, e));
        if (from + width == s->rows) return TRA_OK;
        count_strip(s, from + width, 2 * width, true);
    }
}

tra_status grow_emit_strips(const tra_grow *g, tra_panels *sum, bool *emitted, tra_err *e) {
    int n = sum->nheld;
    int64_t room = tra_pool_stat(g->st->site->pool).budget / 8;
    strips s = {.x = {.g = g, .ext = &g->state->ext, .sum = sum, .term = sum->held, .nterms = n},
                .a.cell = {tra_malloc((size_t)n * sizeof(tra_cell)), tra_malloc((size_t)n * sizeof(tra_cell))},
                .rows = g->state->ext.v[0],
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
        if (n > 1) grow_release_held(g, sum);
        tra_panels_writing *to = tra_outlet_begin_panels(g->st->outlet, g->w, g->ordinal);
        status = tra_outlet_end_panels(to, write_strips(&s, to, e), e);
    } else if (begun && (status = make_strip(&s, e)) == TRA_OK &&
               (status = grow_made(&s.x, s.a.made, &s.out, e)) == TRA_OK) {
        sum->v = tra_malloc(sizeof *sum->v); /* one strip is the whole sum */
        sum->v[0] = whole;
        sum->n = 1;
        s.x.p = &sum->v[0];
        grow_set_block(&s.x, s.a.made, &s.out);
        s.a.made = NULL;
    }
    if (begun) grow_release_held(g, sum);
    tra_block_free(grow_pool(&s.x), s.a.room);
    tra_block_free(grow_pool(&s.x), s.a.made);
    free(s.a.cell[0]);
    free(s.a.cell[1]);
    return status;
}
