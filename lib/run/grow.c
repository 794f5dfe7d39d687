/* grow.c - results whose size only the data tell. */
#include "grow.h"

#include <assert.h>

/* What a worker tries, and if need be again (tra_engine_insist): after a failure nothing has changed. */
typedef struct attempt {
    const tra_grow *g;
    const tra_cell *l, *r; /* operands; r NULL: l is the term */
    const tra_dims *ext;   /* of the term */
    tra_block **sum, **from, **out;
    int64_t wanted; /* bytes that it had or wanted at once */
} attempt;

static tra_pool *pool_of(const attempt *x) { return x->g->st->site->pool; }

static void *scratch_of(const attempt *x) { return (char *)x->g->w->scratch + x->g->st->kernel_at; }

static tra_cell cell_of(const attempt *x, tra_dtype t, const tra_dims *ext, const tra_block *b) {
    const tra_type *type = &x->g->st->op->type;
    tra_cell c = {
        .layout = type->layout, .sparse = type->sparse, .array = {.dtype = t, .ext = *ext}, .head = b ? b->ptr : NULL};
    if (b && c.layout->look) (void)c.layout->look(&c); /* it was made here, so nothing is wrong */
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

/* ---- attempts ------------------------------------------------------------------------------------------------- */

/* The join of l and r, of that type and those extents. */
static tra_status join(attempt *x, tra_dtype t, const tra_dims *ext, tra_block **out, tra_err *e) {
    tra_cell c = cell_of(x, t, ext, NULL);
    const tra_kernel *k = x->g->st->join;
    TRA_TRY(take(x, tra_cell_join_bytes(k, x->l, x->r, &c, scratch_of(x)), out, e));
    c.head = (*out)->ptr;
    tra_cell_join(k, x->l, x->r, &c, scratch_of(x));
    return made(x, *out, &c, e);
}

/* The sum and a term, in a new block that takes its place. */
static tra_status add(attempt *x, const tra_cell *term, tra_err *e) {
    const tra_kernel *agg = x->g->st->agg;
    tra_block *old = *x->sum, *b = NULL;
    if (old) TRA_TRY(take_back(x, old, e));
    tra_cell before = state_of(x, old), after = state_of(x, NULL);
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
    tra_block_free(pool_of(x), old);
    *x->sum = b;
    tra_block_unpin(pool_of(x), b);
    return TRA_OK;
}

static tra_status try_join(void *ctx, tra_err *e) {
    attempt *x = ctx;
    tra_block *b = NULL;
    x->wanted = 0;
    tra_status s = join(x, x->g->st->op->type.dtype, x->ext, &b, e);
    if (s == TRA_OK)
        *x->out = b;
    else
        tra_block_free(pool_of(x), b);
    return s;
}

static tra_status try_add(void *ctx, tra_err *e) {
    attempt *x = ctx;
    x->wanted = 0;
    if (!x->r) return add(x, x->l, e);
    tra_dtype t = tra_kernel_dtype(x->g->st->join, TRA_USE_JOIN, x->l->array.dtype, x->r->array.dtype);
    tra_block *b = NULL;
    tra_status s = join(x, t, x->ext, &b, e);
    if (s == TRA_OK && !*x->sum && t == x->g->state->dtype && tra_dims_eq(x->ext, &x->g->state->ext)) {
        tra_block_unpin(pool_of(x), b); /* the first term is the sum so far */
        *x->sum = b;
        return TRA_OK;
    }
    tra_cell term = cell_of(x, t, x->ext, b);
    if (s == TRA_OK) s = add(x, &term, e);
    tra_block_free(pool_of(x), b);
    return s;
}

static tra_status try_merge(void *ctx, tra_err *e) {
    attempt *x = ctx;
    x->wanted = 0;
    TRA_TRY(take_back(x, *x->from, e));
    tra_cell term = state_of(x, *x->from);
    tra_status s = add(x, &term, e);
    if (s == TRA_OK) {
        tra_block_free(pool_of(x), *x->from);
        *x->from = NULL;
    } else {
        tra_block_unpin(pool_of(x), *x->from);
    }
    return s;
}

/* Nothing met: the state has no entries. */
static tra_status empty(attempt *x, tra_block **out, tra_err *e) {
    tra_cell c = state_of(x, NULL);
    TRA_TRY(take(x, tra_cell_gather_bytes(NULL, 0, &c), out, e));
    c.head = (*out)->ptr;
    tra_cell_gather(NULL, 0, &c);
    return made(x, *out, &c, e);
}

static tra_status try_finish(void *ctx, tra_err *e) {
    attempt *x = ctx;
    const tra_joinagg *st = x->g->st;
    tra_cell out = tra_cell_new(&st->op->type, x->g->ordinal, NULL);
    tra_block *b = NULL;
    x->wanted = 0;
    if (*x->sum)
        TRA_TRY(take_back(x, *x->sum, e));
    else
        TRA_TRY(empty(x, x->sum, e));
    tra_cell state = state_of(x, *x->sum);
    if (st->op->what.partial || (!st->how.composed && st->how.state_dtype == out.array.dtype)) { /* it is the result */
        *x->out = *x->sum;
        *x->sum = NULL;
        return TRA_OK;
    }
    tra_dtype t = st->op->what.term;
    tra_status s = take(x, tra_cell_finish_bytes(st->agg, t, &state, &out, scratch_of(x)), &b, e);
    if (s == TRA_OK) {
        out.head = b->ptr;
        tra_cell_finish(st->agg, t, &state, &out, scratch_of(x));
        s = made(x, b, &out, e);
    }
    if (s != TRA_OK) {
        tra_block_free(pool_of(x), b);
        tra_block_unpin(pool_of(x), *x->sum);
        return s;
    }
    tra_block_free(pool_of(x), *x->sum);
    *x->sum = NULL;
    *x->out = b;
    return TRA_OK;
}

/* ---- what is said when there is no memory ----------------------------------------------------------------------- */

/* Extents of results that would take so much less. */
static void smaller(const tra_dims *ext, double less, tra_dims *out) {
    *out = *ext;
    while (less < 1) {
        int longest = -1;
        for (int d = 0; d < out->n; d++) {
            if (out->v[d] > 1 && (longest < 0 || out->v[d] > out->v[longest])) longest = d;
        }
        if (longest < 0) return;
        out->v[longest] = (out->v[longest] + 1) / 2;
        less *= 2;
    }
}

static tra_status insist(attempt *x, tra_behind_fn *fn, tra_err *e) {
    const tra_joinagg *st = x->g->st;
    tra_err own = {0};
    tra_status s = tra_engine_insist(x->g->w, fn, x, &own);
    if (s == TRA_OK) return s;
    tra_dims key, ext, would;
    char place[512], keys[TRA_DIMTEXT], shape[TRA_DIMTEXT], less[TRA_DIMTEXT], want[32], budget[32];
    int64_t room = tra_pool_stat(pool_of(x)).budget;
    if (s != TRA_RESOURCE || x->wanted == 0) return *e = own, s;
    tra_catalog_key(st->op->type.cat, x->g->ordinal, &key);
    tra_catalog_ext(st->op->type.cat, x->g->ordinal, &ext);
    smaller(&ext, 0.5 * (double)room / (double)x->wanted, &would);
    return tra_fail(
        e, TRA_RESOURCE,
        "%sout of block memory: the tuple %s of the result, %s, is held by its entries, and making it takes "
        "%s at once, of %s for all blocks: raise --memory, or cut its tensor in blocks of %s",
        tra_op_text(st->op, place, sizeof place), tra_key_text(&key, keys), tra_shape_text(&ext, shape),
        tra_human(x->wanted, want), tra_human(room, budget), tra_shape_text(&would, less));
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

tra_status tra_grow_join(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_block **out, tra_err *e) {
    return insist(&(attempt){.g = g, .l = l, .r = r, .ext = &g->state->ext, .out = out}, try_join, e);
}

tra_status tra_grow_add(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext, tra_block **sum,
                        tra_err *e) {
    return insist(&(attempt){.g = g, .l = l, .r = r, .ext = ext, .sum = sum}, try_add, e);
}

tra_status tra_grow_merge(const tra_grow *g, tra_block **sum, tra_block **from, tra_err *e) {
    return insist(&(attempt){.g = g, .sum = sum, .from = from}, try_merge, e);
}

tra_status tra_grow_finish(const tra_grow *g, tra_block **sum, tra_block **out, tra_err *e) {
    return insist(&(attempt){.g = g, .sum = sum, .out = out}, try_finish, e);
}
