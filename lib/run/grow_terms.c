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
            if (!t->block[k]) continue; /* it belongs to the unit, which has it pinned */
            TRA_TRY(grow_take_back(x, t->block[k], e));
            a->pinned++;
            a->cell[k][i].head = t->block[k]->ptr;
        }
    }
    return TRA_OK;
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
    int64_t bytes = tra_cell_sum(k, a->cell[0], a->cell[1], n, state, &counted, true, room, scratch);
    tra_status s = grow_take(x, bytes, &a->made, e);
    if (s == TRA_RESOURCE && counted.loose) { /* memory is set aside for what there is, at most */
        *e = (tra_err){0};
        counted = *after;
        counted.tight = true;
        bytes = tra_cell_sum(k, a->cell[0], a->cell[1], n, state, &counted, true, room, scratch);
        s = grow_take(x, bytes, &a->made, e);
    }
    if (s != TRA_OK) return s;
    *after = counted;
    after->head = a->made->ptr;
    tra_cell_sum(k, a->cell[0], a->cell[1], n, state, after, false, room, scratch);
    return grow_made(x, a->made, after, e);
}

static tra_status add_at_once(attempt *x, int n, tra_err *e) {
    adding a = {.cell = {tra_malloc((size_t)n * sizeof(tra_cell)), tra_malloc((size_t)n * sizeof(tra_cell))}};
    tra_cell after;
    x->wanted = 0;
    tra_status s = make_sum(x, n, &a, &after, e);
    for (int i = 0; a.pinned > 0; i++)
        for (int k = 0; k < 2 && a.pinned > 0; k++) {
            tra_block *b = x->term[x->p->added + i].block[k];
            if (b) tra_block_unpin(grow_pool(x), b), a.pinned--;
        }
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

tra_status grow_add_held(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum, tra_err *e) {
    tra_held_term *all = tra_malloc((size_t)(sum->nheld + 1) * sizeof *all);
    attempt x = {.g = g, .l = l, .r = r, .ext = &g->state->ext, .sum = sum, .term = all, .nterms = sum->nheld};
    int64_t bytes = 0;
    for (int i = 0; i < sum->nheld; i++) all[i] = sum->held[i];
    if (l) all[x.nterms++] = (tra_held_term){.cell = {*l, *r}};
    if (!l && x.nterms > 0) x.l = &all[0].cell[0], x.r = &all[0].cell[1]; /* their extents tell what can be cut */
    tra_status s = x.nterms > 0 ? grow_for_each(&x, try_terms, e) : TRA_OK;
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
