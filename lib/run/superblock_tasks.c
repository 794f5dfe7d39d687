/* superblock_tasks.c - the tasks of super-blocks: adding a term to an output, step by step, and emitting results. */
#include "../model/columns.h"
#include "superblock_int.h"

#include <stdlib.h>
#include <string.h>

tra_status tra_superblock_term_shape(const tra_joinagg *st, int64_t l, int64_t r, tra_dims *out, tra_err *e) {
    const tra_catalog *lc = st->pairs.l.part->type->cat;
    tra_dims a, b;
    tra_catalog_ext(lc, st->pairs.l.part->ordinal[l], &a);
    if (!st->join) return *out = a, TRA_OK;
    tra_catalog_ext(st->pairs.r.part->type->cat, st->pairs.r.part->ordinal[r], &b);
    return tra_kernel_shape2(st->join, &a, &b, &lc->bound, &st->pairs.r.part->type->cat->bound, out, NULL, e);
}

/* ---- emitting -------------------------------------------------------------------------------------------------- */

/* Finishes a state and emits the result. w NULL: on the thread that runs the plan, if results go to a part. */
static tra_status emit_one(tra_joinagg *st, output *c, tra_worker *w, tra_err *e) {
    tra_block *b = c->block;
    if (st->how.grows || st->how.counted) {
        tra_status s = tra_grow_emit(&(tra_grow){st, w, c->ordinal, &c->state}, &c->panels[0], e);
        tra_superblock_free_branches(st, c);
        return s;
    }
    if (st->agg && !st->op->spec.partial) {
        tra_cell out = tra_cell_new(&st->op->type, c->ordinal, c->result ? c->result->ptr : b->ptr);
        tra_cell state = {.sparse = out.sparse, .array = c->state};
        tra_cell_finish(st->agg, st->op->spec.term, &state, &out, (char *)w->scratch + st->kernel_scratch_at);
        TRA_TRY(tra_op_fits(st->op, &st->op->type, c->ordinal, e));
        if (c->result) {
            tra_block_free(st->site->pool, b);
            b = c->result;
            c->result = NULL;
        }
        tra_block_shrink(st->site->pool, b, tra_outlet_bytes(st->outlet, tra_cell_bytes(&out)));
    }
    c->block = NULL;
    tra_superblock_free_branches(st, c);
    return tra_outlet_emit(st->outlet, w, c->ordinal, st->how.summand, b, e);
}

/* Emits the results that an output is computed for: itself, its mirror image, or both. */
static tra_status emit_output(tra_joinagg *st, output *c, tra_worker *w, tra_err *e) {
    const int *dim = st->how.mirror.dim;
    if (c->diagonal) tra_kernel_mirror(&c->state, dim[0], dim[1]);
    if (c->twin) {
        tra_kernel_turn(&c->state, dim[0], dim[1], &c->twin->state);
        TRA_TRY(emit_one(st, c->twin, w, e));
    }
    if (!c->mirror_only) return emit_one(st, c, w, e);
    tra_block_free(st->site->pool, c->block);
    c->block = NULL;
    tra_superblock_free_branches(st, c);
    return TRA_OK;
}

/* ---- terms ----------------------------------------------------------------------------------------------------- */

/* Makes *a one of so many tiles of it, for aggregations that work element by element. */
static void slice(tra_array *a, int tile, int tiles) {
    int64_t n = (int64_t)(tra_array_bytes(a) / tra_dtype_size(a->dtype));
    int64_t from = n * tile / tiles, to = n * (tile + 1) / tiles;
    a->data = (char *)a->data + (size_t)from * tra_dtype_size(a->dtype);
    a->ext = (tra_dims){.n = 1, .v = {to - from}};
}

/* Adds a pair to an output that grows or is counted, which is one tile. */
static tra_status grow(tra_joinagg *st, output *c, int sum, bool last, const tra_unit_input *l, const tra_unit_input *r,
                       tra_worker *w, tra_err *e) {
    tra_grow g = {st, w, c->ordinal, &c->state};
    tra_dims ext;
    if (st->how.counted) {
        tra_cell right = r->cell;
        if (w->kept->room) right.kept = w->kept;
        if (!w->kept->lock && (w->kept_by != st || w->kept_tuple != r->i)) w->kept->of = NULL;
        w->kept_by = st, w->kept_tuple = r->i;
        return tra_grow_join(&g, &l->cell, &right, &c->panels[0], e);
    }
    TRA_TRY(tra_superblock_term_shape(st, l->i, r ? r->i : 0, &ext, e));
    return tra_grow_add(&g, &l->cell, r ? &r->cell : NULL, &ext, last, &c->panels[sum], e);
}

bool tra_superblock_makes_terms(const tra_joinagg *st) {
    return st->join && st->agg && !st->how.fused && !st->how.grows && !st->how.counted;
}

static bool same_shape(const tra_array *x, const tra_array *y) {
    bool same = x->dtype == y->dtype && x->ext.n == y->ext.n;
    for (int a = 0; same && a < x->ext.n; a++) same = x->ext.v[a] == y->ext.v[a];
    return same;
}

/* Does a fused statement add its terms in the aggregate's state itself? It does where to clear a term and to add it to
 * the state takes about as long as to compute it; otherwise several terms are computed at a time, each in scratch. The
 * sums of a term begin with +0, as the state does. The choice depends on the arrays alone, since the bits depend on it.
 */
static bool adds_in_place(const tra_joinagg *st, const tra_unit_input *l, const tra_unit_input *r, const tra_array *sum,
                          const tra_array *term) {
    enum { WORTH = 32 }; /* operations for each element from which a term of its own is worth its memory */
    const tra_dims *a = &l->cell.array.ext, *b = &r->cell.array.ext;
    double elements = (double)(tra_array_bytes(sum) / tra_dtype_size(sum->dtype));
    return tra_kernel_pace(st->join) > 0 && tra_kernel_is_sum(st->agg) && same_shape(sum, term) &&
           tra_kernel_flops(st->join, TRA_USE_JOIN, a, b) < WORTH * elements;
}

/* Computes a dense term in the worker's scratch; if it was added in place, the term's data is NULL. sum: the state to
 * which the term is added. starts_sum: it is the first term of the state, which nothing else uses yet: then it is
 * computed there if it is itself a sum that begins with +0, as of a fused statement. (Another term may have -0, which a
 * sum cannot.)
 */
static tra_status make_term(tra_joinagg *st, const tra_unit_input *l, const tra_unit_input *r, const tra_array *sum,
                            bool starts_sum, tra_worker *w, tra_cell *term, tra_err *e) {
    *term = (tra_cell){.array.data = w->scratch};
    TRA_TRY(tra_superblock_term_shape(st, l->i, r->i, &term->array.ext, e));
    term->array.dtype = tra_kernel_dtype(st->join, TRA_USE_JOIN, l->cell.array.dtype, r->cell.array.dtype);
    if (adds_in_place(st, l, r, sum, &term->array)) {
        term->array.data = NULL;
        return TRA_OK;
    }
    if (starts_sum && tra_kernel_pace(st->join) > 0 && same_shape(sum, &term->array)) term->array.data = sum->data;
    tra_cell_join(st->join, &l->cell, &r->cell, term, (char *)w->scratch + st->kernel_scratch_at);
    term->sparse = st->how.sparse;
    return TRA_OK;
}

/* Adds a term to a tile of one of the output's sums. first: it is the tile's first term; made: the term, if make_term
 * has computed it. */
static void add_term(tra_joinagg *st, const output *c, tra_array *sum, const tra_unit_input *l, const tra_unit_input *r,
                     const tra_cell *made, int tile, bool first, tra_worker *w) {
    char *scratch = w->scratch;
    if (st->how.fused) {
        if (first && st->pairs.tree.leaves > 1) { /* sums of a tree begin with +0, wherever it is cut */
            tra_kernel_tile_zero(st->join, sum, tile);
            first = false;
        }
        if (c->diagonal)
            tra_kernel_fma_triangle(st->join, &l->cell.array, l->cell.sparse, sum, tile, first);
        else
            tra_cell_fma(st->join, &(c->turned ? r : l)->cell, &(c->turned ? l : r)->cell, sum, tile, first,
                         scratch + st->kernel_scratch_at);
        return;
    }
    if (st->join && !st->agg) {
        tra_cell out = {.layout = st->op->type.layout, .array = *sum, .head = sum->data};
        tra_cell_join(st->join, &l->cell, &r->cell, &out, scratch + st->kernel_scratch_at);
        return;
    }
    if (r && !made->array.data) {
        tra_cell_fma(st->join, &l->cell, &r->cell, sum, 0, first, scratch + st->kernel_scratch_at);
        return;
    }
    tra_cell term = r ? *made : l->cell;
    tra_array state = *sum;
    if (st->how.tiles > 1) {
        slice(&state, tile, st->how.tiles);
        slice(&term.array, tile, st->how.tiles);
    }
    if (first) tra_agg_init(st->agg, &state);
    if (st->how.merges && !term.layout) { /* states that are not dense are sums, and are added like any term */
        tra_agg_merge(st->agg, &state, &term.array, st->how.sparse);
    } else if (tra_kernel_needs_tensor(st->agg)) {
        const tra_type *t = l->part->type;
        tra_agg_at at;
        tra_dims key;
        tra_catalog_key(t->cat, l->part->ordinal[l->i], &key);
        tra_type_offset(t, &key, &at.offset);
        tra_type_shape(t, &at.shape);
        tra_cell_fold(st->agg, &state, &term, &at);
    } else {
        tra_cell_fold(st->agg, &state, &term, NULL);
    }
}

/* Computes what a fused kernel adds to the state, into buf, before the task may touch the state. */
static tra_array sum_ahead(tra_joinagg *st, const output *c, const tra_unit_input *l, const tra_unit_input *r,
                           void *buf, tra_worker *w) {
    static const tra_cell none;
    tra_array own = c->state;
    own.data = memset(buf, 0, TRA_AHEAD); /* a triangle leaves the other half of buf as it is */
    add_term(st, c, &own, l, r, &none, 0, true, w);
    return own;
}

/* Adds what was computed ahead to a sum. first: it is the first term of the sum. */
static void add_ahead(tra_joinagg *st, tra_array *sum, const tra_array *own, bool first) {
    if (first && st->pairs.tree.leaves <= 1) {
        memcpy(sum->data, own->data, tra_array_bytes(own));
        return;
    }
    if (first) tra_kernel_tile_zero(st->join, sum, 0);
    tra_kernel_tile_add(st->join, sum, own, 0);
}

/* ---- sums of a tree -------------------------------------------------------------------------------------------- */

static tra_array *sum_of(output *c, int i) { return i == 0 ? &c->state : &c->branch[i - 1]; }

/* Adds one sum of an output to the sum before it, on one tile. */
static tra_status close_branch(superblock *s, output *c, int64_t task, int i, tra_worker *w, tra_err *e) {
    tra_joinagg *st = s->st;
    int64_t n = s->ni * s->nj * s->tiles;
    bool *to = &s->begun[(i - 1) * n + task], *from = &s->begun[i * n + task];
    int tile = (int)(task % s->tiles);
    tra_array a = *sum_of(c, i - 1), b = *sum_of(c, i);
    if (!*from) return TRA_OK;
    if (st->how.grows) {
        tra_grow g = {st, w, c->ordinal, &c->state};
        TRA_TRY(tra_grow_merge(&g, &c->panels[i - 1], &c->panels[i], e));
    } else if (st->how.fused) {
        if (!*to) tra_kernel_tile_zero(st->join, &a, tile);
        tra_kernel_tile_add(st->join, &a, &b, tile);
    } else {
        if (st->how.tiles > 1) slice(&a, tile, st->how.tiles), slice(&b, tile, st->how.tiles);
        if (!*to) tra_agg_init(st->agg, &a);
        tra_agg_merge(st->agg, &a, &b, st->how.sparse);
    }
    *to = true;
    *from = false;
    return TRA_OK;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------- */

static const tra_unit_input *input_of_line(const tra_unit *u, const step *x, int64_t from, int64_t to, int64_t line) {
    TRA_BISECT(from, to, mid, x->line[mid] < line);
    return from < to && x->line[from] == line ? &u->inputs[from] : NULL;
}

tra_status tra_superblock_task(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    step *x = u->ctx;
    superblock *s = x->s;
    int64_t at = task / s->tiles;
    output *c = &s->outputs[at];
    if (c->ordinal < 0) return TRA_OK;
    const tra_unit_input *l = input_of_line(u, x, 0, x->nl, at / s->nj), *r = NULL;
    if (s->st->pairs.r.part) r = input_of_line(u, x, x->nl, u->ninputs, at % s->nj);
    tra_cell term = {0};
    double buf[TRA_AHEAD / 8];
    tra_array ahead = {0};                                       /* what was computed before its turn, in buf */
    bool starts_sum = x->first && s->st->pairs.tree.leaves <= 1; /* nothing else touches the sum before this task */
    if (u->early && l && r && s->st->how.ahead)
        ahead = sum_ahead(s->st, c, l, r, buf, w);
    else if (u->early && l && r)
        TRA_TRY(make_term(s->st, l, r, sum_of(c, x->sum.sum), starts_sum, w, &term, e));
    if (u->early && !tra_engine_await_turn(w, u, task)) return TRA_OK;
    if (task % s->tiles < c->tiles) {
        bool *begun = &s->begun[(int64_t)x->sum.sum * s->ni * s->nj * s->tiles + task];
        for (int i = x->sum.top; i > x->sum.top - x->sum.closed; i--) TRA_TRY(close_branch(s, c, task, i, w, e));
        if (l && (r || !s->st->pairs.r.part)) {
            bool first = !*begun;
            *begun = true; /* before the next unit of the chain reads it */
            if (s->sums.n > 0)
                *begun = x->last && tra_worker_sums_close(&s->sums, s->st->agg);
            else if (s->st->how.grows || s->st->how.counted)
                TRA_TRY(grow(s->st, c, x->sum.sum, x->last, l, r, w, e));
            else if (ahead.data)
                add_ahead(s->st, sum_of(c, x->sum.sum), &ahead, first);
            else if (term.array.data == NULL || term.array.data != c->state.data)
                add_term(s->st, c, sum_of(c, x->sum.sum), l, r, &term, task % s->tiles, first, w);
        }
        for (int i = x->last ? x->sum.sum : 0; i > 0; i--) TRA_TRY(close_branch(s, c, task, i, w, e));
        TRA_TRY(tra_op_fits(s->st->op, &s->st->op->type, c->ordinal, e));
        tra_op_notes_collect(s->st->site->notes, s->st->op, c->ordinal, false);
    }
    if (l && task % s->tiles == 0) atomic_fetch_add(&s->st->site->done, c->twin && !c->turned ? 2 : 1);
    if (x->last && atomic_fetch_sub(&c->tiles_left, 1) == 1) {
        bool any = s->begun[at * s->tiles];
        if (!any && s->st->op->spec.partial) return TRA_OK; /* all its terms are on other sites */
        if (!any && s->st->agg && !s->st->how.grows) tra_agg_init(s->st->agg, &c->state);
        return emit_output(s->st, c, w, e);
    }
    return TRA_OK;
}

/* ---- identities ------------------------------------------------------------------------------------------------ */

static tra_status new_block(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    return tra_block_new(ctx, bytes, out, e);
}

/* Emits a sum without entries; where only the run counts the rows, a fold without rows, which takes those of others. */
static tra_status empty_sum(tra_joinagg *st, int64_t ordinal, tra_err *e) {
    tra_cell c = tra_cell_new(&st->op->type, ordinal, NULL);
    tra_making m;
    tra_block *b;
    tra_making_begin(&m, &c, new_block, st->site->pool);
    tra_cell_empty(&c, st->op->type.bounded);
    TRA_TRY(tra_making_end(&m, st->site->pool, &c, &b, e));
    return tra_outlet_emit(st->outlet, NULL, ordinal, st->how.summand, b, e);
}

tra_status tra_superblock_identity(tra_joinagg *st, int64_t ordinal, tra_err *e) {
    output c = {.ordinal = ordinal, .state.dtype = st->how.state_dtype};
    if (st->how.grows) return empty_sum(st, ordinal, e);
    tra_catalog_ext(st->op->type.cat, c.ordinal, &c.state.ext);
    TRA_TRY(tra_block_new(st->site->pool, (int64_t)tra_array_bytes(&c.state), &c.block, e));
    c.state.data = c.block->ptr;
    tra_agg_init(st->agg, &c.state);
    return emit_output(st, &c, NULL, e);
}
