/* superblock.c - super-blocks: their outputs, and the units that add terms to these step by step. */
#include "grow.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One output array of a super-block. */
typedef struct output {
    int64_t ordinal;           /* -1: there is no such tuple */
    tra_block *block, *result; /* result: where the state cannot become the result in place, since a map changes its
                                  extents, or since the result is not dense */
    tra_array state;
    tra_panels
        *panels; /* in place of blocks, where results grow or are counted: the state's, then those of the branches */
    tra_array *branch;     /* sums of a tree besides the state, */
    tra_block **branches;  /* and their blocks */
    int tiles;             /* that it is computed in */
    atomic_int tiles_left; /* tiles of the last step that have not ended */
    /* If of two results that mirror each other only one is computed: */
    bool diagonal;       /* only one triangle of the array is computed */
    bool turned;         /* computed with its operands exchanged, in place of its mirror image, which is the result */
    bool mirror_only;    /* it is itself no result, but its twin is */
    struct output *twin; /* its mirror image: a copy of the state with two dimensions exchanged; NULL: none */
} output;

typedef struct superblock {
    tra_joinagg *st;
    atomic_int refs; /* its units, and the producer */
    tra_chain chain; /* of its units */
    struct {
        tra_superblock_bounds at;
        tra_walk walk;
        tra_tree_sums open; /* sums of the tree that are not added up yet */
        tra_unit *next;  /* the unit after the one that is being queued: made early, so that the last unit is known */
        bool any, ended; /* a unit was made; there are no more */
    } producer;
    int64_t ni, nj;
    int tiles;        /* of the output that has the most */
    output *outputs;  /* ni * nj */
    int64_t reserved; /* bytes of the pool, for outputs that grow or are counted */
    bool *begun;      /* for each sum, output and tile: was a term added? */
} superblock;

/* One step of a super-block: the context of a unit. Inputs [0, nl) are L's, the others R's. */
typedef struct step {
    superblock *s;
    bool first, last; /* of the super-block */
    int64_t nl;
    int64_t *rank;     /* row or column of each input in the super-block, ascending on each side */
    tra_tree_step sum; /* the sum to which terms are added; without a tree always 0, the state */
} step;

static tra_status term_shape(const tra_joinagg *st, int64_t l, int64_t r, tra_dims *out, tra_err *e) {
    const tra_catalog *lc = st->pairs.l.part->type->cat;
    tra_dims a, b;
    tra_catalog_ext(lc, st->pairs.l.part->ordinal[l], &a);
    if (!st->join) return *out = a, TRA_OK;
    tra_catalog_ext(st->pairs.r.part->type->cat, st->pairs.r.part->ordinal[r], &b);
    return tra_kernel_shape2(st->join, &a, &b, &lc->bound, &st->pairs.r.part->type->cat->bound, out, NULL, e);
}

/* ---- tasks -------------------------------------------------------------------------------------------------- */

static void free_branches(tra_joinagg *st, output *c) {
    int depth = tra_tree_depth(st->pairs.tree.leaves);
    for (int i = 0; c->branches && i < depth - 1; i++) tra_block_free(st->site->pool, c->branches[i]);
    for (int i = 0; c->panels && i < depth; i++) tra_panels_free(&c->panels[i], st->site->pool);
    free(c->panels);
    free(c->branches);
    free(c->branch);
    c->panels = NULL;
    c->branches = NULL;
    c->branch = NULL;
}

static void free_output(tra_joinagg *st, output *c) {
    tra_block_free(st->site->pool, c->block);
    tra_block_free(st->site->pool, c->result);
    free_branches(st, c);
    if (c->twin) free_output(st, c->twin);
    free(c->twin);
}

static void superblock_drop(superblock *s) {
    if (atomic_fetch_sub(&s->refs, 1) != 1) return;
    for (int64_t i = 0; i < s->ni * s->nj; i++) free_output(s->st, &s->outputs[i]); /* what a failure has left */
    if (s->reserved > 0) tra_pool_release(s->st->site->pool, s->reserved);
    free(s->outputs);
    free(s->begun);
    free(s);
}

/* Finishes a state and emits the result. w NULL: on the thread that runs the plan, if results go to a part. */
static tra_status emit_one(tra_joinagg *st, output *c, tra_worker *w, tra_err *e) {
    tra_block *b = c->block;
    if (st->how.grows || st->how.counted) {
        tra_status s = tra_grow_emit(&(tra_grow){st, w, c->ordinal, &c->state}, &c->panels[0], e);
        free_branches(st, c);
        return s;
    }
    if (st->agg && !st->op->what.partial) {
        tra_cell out = tra_cell_new(&st->op->type, c->ordinal, c->result ? c->result->ptr : b->ptr);
        tra_cell state = {.sparse = out.sparse, .array = c->state};
        tra_cell_finish(st->agg, st->op->what.term, &state, &out, (char *)w->scratch + st->kernel_at);
        TRA_TRY(tra_op_fits(st->op, &st->op->type, c->ordinal, e));
        if (c->result) {
            tra_block_free(st->site->pool, b);
            b = c->result;
            c->result = NULL;
        }
        tra_block_shrink(st->site->pool, b, tra_outlet_bytes(st->sink, tra_cell_bytes(&out)));
    }
    c->block = NULL;
    free_branches(st, c);
    return tra_outlet_emit(st->sink, w, c->ordinal, st->how.summand, b, e);
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
    free_branches(st, c);
    return TRA_OK;
}

/* Makes *a one of so many tiles of it, for aggregations that work element by element. */
static void slice(tra_array *a, int tile, int tiles) {
    int64_t n = (int64_t)(tra_array_bytes(a) / tra_dtype_size(a->dtype));
    int64_t from = n * tile / tiles, to = n * (tile + 1) / tiles;
    a->data = (char *)a->data + (size_t)from * tra_dtype_size(a->dtype);
    a->ext = (tra_dims){.n = 1, .v = {to - from}};
}

/* Adds a pair to an output that grows or is counted, which is one tile. */
static tra_status grow(tra_joinagg *st, output *c, int sum, const tra_unit_input *l, const tra_unit_input *r,
                       tra_worker *w, tra_err *e) {
    tra_grow g = {st, w, c->ordinal, &c->state};
    tra_dims ext;
    if (st->how.counted) return tra_grow_join(&g, &l->cell, &r->cell, &c->panels[0], e);
    TRA_TRY(term_shape(st, l->i, r ? r->i : 0, &ext, e));
    return tra_grow_add(&g, &l->cell, r ? &r->cell : NULL, &ext, &c->panels[sum], e);
}

/* Are terms arrays by themselves, which are added after the join made them? Then several may be computed at a time. */
static bool makes_terms(const tra_joinagg *st) {
    return st->join && st->agg && !st->how.fused && !st->how.grows && !st->how.counted;
}

static bool same_shape(const tra_array *x, const tra_array *y) {
    bool same = x->dtype == y->dtype && x->ext.n == y->ext.n;
    for (int a = 0; same && a < x->ext.n; a++) same = x->ext.v[a] == y->ext.v[a];
    return same;
}

/* Computes a dense term in the worker's scratch. sum: the state, if this is its first term; the term is then computed
 * in place if it is itself a sum that began with +0, as of a fused statement (other terms may have -0, which a sum has
 * not). */
static tra_status make_term(tra_joinagg *st, const tra_unit_input *l, const tra_unit_input *r, const tra_array *sum,
                            tra_worker *w, tra_cell *term, tra_err *e) {
    *term = (tra_cell){.array.data = w->scratch};
    TRA_TRY(term_shape(st, l->i, r->i, &term->array.ext, e));
    term->array.dtype = tra_kernel_dtype(st->join, TRA_USE_JOIN, l->cell.array.dtype, r->cell.array.dtype);
    if (sum && tra_kernel_pace(st->join) > 0 && same_shape(sum, &term->array)) term->array.data = sum->data;
    tra_cell_join(st->join, &l->cell, &r->cell, term, (char *)w->scratch + st->kernel_at);
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
                         scratch + st->kernel_at);
        return;
    }
    if (st->join && !st->agg) {
        tra_cell out = {.layout = st->op->type.layout, .array = *sum, .head = sum->data};
        tra_cell_join(st->join, &l->cell, &r->cell, &out, scratch + st->kernel_at);
        return;
    }
    tra_cell term = made->array.data ? *made : l->cell;
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

static const tra_unit_input *input_of_rank(const tra_unit *u, const step *x, int64_t from, int64_t to, int64_t rank) {
    TRA_BISECT(from, to, mid, x->rank[mid] < rank);
    return from < to && x->rank[from] == rank ? &u->inputs[from] : NULL;
}

static tra_status run_task(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    step *x = u->ctx;
    superblock *s = x->s;
    int64_t at = task / s->tiles;
    output *c = &s->outputs[at];
    if (c->ordinal < 0) return TRA_OK;
    const tra_unit_input *l = input_of_rank(u, x, 0, x->nl, at / s->nj), *r = NULL;
    if (s->st->pairs.r.part) r = input_of_rank(u, x, x->nl, u->ninputs, at % s->nj);
    tra_cell term = {0};
    double buf[TRA_AHEAD / 8];
    tra_array own = {0};
    bool alone = x->first && s->st->pairs.tree.leaves <= 1; /* nothing else touches the sum before this task */
    if (u->early && l && r && s->st->how.ahead)
        own = sum_ahead(s->st, c, l, r, buf, w);
    else if (u->early && l && r)
        TRA_TRY(make_term(s->st, l, r, alone ? &c->state : NULL, w, &term, e));
    if (u->early && !tra_engine_turn(w, u, task)) return TRA_OK;
    if (task % s->tiles < c->tiles) {
        bool *begun = &s->begun[(int64_t)x->sum.sum * s->ni * s->nj * s->tiles + task];
        for (int i = x->sum.top; i > x->sum.top - x->sum.closed; i--) TRA_TRY(close_branch(s, c, task, i, w, e));
        if (l && (r || !s->st->pairs.r.part)) {
            bool first = !*begun;
            *begun = true; /* before the next unit of the chain reads it */
            if (s->st->how.grows || s->st->how.counted)
                TRA_TRY(grow(s->st, c, x->sum.sum, l, r, w, e));
            else if (own.data)
                add_ahead(s->st, sum_of(c, x->sum.sum), &own, first);
            else if (term.array.data == NULL || term.array.data != c->state.data)
                add_term(s->st, c, sum_of(c, x->sum.sum), l, r, &term, task % s->tiles, first, w);
        }
        for (int i = x->last ? x->sum.sum : 0; i > 0; i--) TRA_TRY(close_branch(s, c, task, i, w, e));
        TRA_TRY(tra_op_fits(s->st->op, &s->st->op->type, c->ordinal, e));
    }
    if (l && task % s->tiles == 0) atomic_fetch_add(&s->st->site->done, c->twin && !c->turned ? 2 : 1);
    if (x->last && atomic_fetch_sub(&c->tiles_left, 1) == 1) {
        if (s->st->agg && !s->st->how.grows && !s->begun[at * s->tiles])
            tra_agg_init(s->st->agg, &c->state); /* nothing met here */
        return emit_output(s->st, c, w, e);
    }
    return TRA_OK;
}

static void end_step(tra_unit *u) {
    step *x = u->ctx;
    superblock_drop(x->s);
    free(x->rank);
    free(x);
}

/* The task of a super-block in which nothing meets. */
static tra_status run_empty(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    superblock *s = ((step *)u->ctx)->s;
    (void)task;
    for (int64_t c = 0; c < s->ni * s->nj; c++) {
        if (s->outputs[c].ordinal < 0) continue;
        if (s->st->agg && !s->st->how.grows) tra_agg_init(s->st->agg, &s->outputs[c].state);
        TRA_TRY(emit_output(s->st, &s->outputs[c], w, e));
    }
    return TRA_OK;
}

/* ---- super-blocks ------------------------------------------------------------------------------------------- */

/* The first entry of a step whose rank is not below this one. */
static int64_t at_rank(const tra_side *s, int64_t from, int64_t to, int64_t rank) {
    TRA_BISECT(from, to, mid, s->v[mid].rank < rank);
    return from;
}

/* The entries of a step that fall into the super-block. */
static tra_pairs_range within(const tra_joinagg *st, const tra_walk *w, const tra_superblock_bounds *at) {
    return (tra_pairs_range){
        at_rank(&st->pairs.l, w->l0, w->l1, at->i0), at_rank(&st->pairs.l, w->l0, w->l1, at->i0 + at->ni),
        at_rank(&st->pairs.r, w->r0, w->r1, at->j0), at_rank(&st->pairs.r, w->r0, w->r1, at->j0 + at->nj)};
}

/* The states of a composed aggregation are as large as their largest terms, which the result's type does not tell. */
static tra_status find_states(superblock *s, const tra_superblock_bounds *at, tra_err *e) {
    tra_joinagg *st = s->st;
    tra_status status = TRA_OK;
    tra_walk w = tra_walk_begin(&st->pairs, at->range);
    int64_t *seen = tra_calloc((size_t)(s->ni * s->nj),
                               sizeof *seen); /* of each output: number of the shapes of its last term, from 1 */
    while (status == TRA_OK && tra_walk_next(&w)) {
        tra_pairs_range x = within(st, &w, at);
        int64_t nr = st->pairs.r.part ? x.r1 - x.r0 : 1;
        for (int64_t i = 0; i < (x.l1 - x.l0) * nr && status == TRA_OK; i++) {
            const tra_pairs_entry *l = &st->pairs.l.v[x.l0 + i / nr],
                                  *r = st->pairs.r.part ? &st->pairs.r.v[x.r0 + i % nr] : NULL;
            int64_t c = (l->rank - at->i0) * s->nj + (r ? r->rank - at->j0 : 0);
            int64_t shapes = 1 + l->shape + (r ? (int64_t)r->shape * st->pairs.l.nshapes : 0);
            tra_dims *most = &s->outputs[c].state.ext, term;
            if (seen[c] == shapes) continue;
            status = term_shape(st, l->tuple, r ? r->tuple : 0, &term, e);
            if (status == TRA_OK && seen[c] == 0) *most = term;
            for (int a = 0; status == TRA_OK && a < term.n; a++) most->v[a] = tra_max64(most->v[a], term.v[a]);
            seen[c] = shapes;
        }
    }
    for (int64_t c = 0; c < s->ni * s->nj && status == TRA_OK; c++) {
        tra_dims group = s->outputs[c].state.ext;
        if (seen[c]) tra_agg_state_ext(st->agg, &group, &s->outputs[c].state.ext);
    }
    free(seen);
    return status;
}

/* Allocates the sums of an output, and its result where that needs a block of its own. */
static tra_status give_blocks(tra_joinagg *st, output *c, int branches, tra_err *e) {
    const tra_op *op = st->op;
    /* the state cannot become the result in place */
    bool apart = st->how.composed || (st->agg && !op->what.partial && op->type.layout);
    int64_t bytes = tra_type_bytes(&op->type, c->ordinal).bound; /* a bound, where the layout is not dense */
    int64_t state = st->agg ? (int64_t)tra_array_bytes(&c->state) : bytes;
    TRA_TRY(tra_block_new(st->site->pool, apart ? state : tra_outlet_bytes(st->sink, state), &c->block, e));
    c->state.data = c->block->ptr;
    for (int k = 0; k < branches; k++) {
        TRA_TRY(tra_block_new(st->site->pool, (int64_t)tra_array_bytes(&c->state), &c->branches[k], e));
        c->branch[k] = c->state;
        c->branch[k].data = c->branches[k]->ptr;
    }
    if (!apart || c->mirror_only) return TRA_OK;
    return tra_block_new(st->site->pool, tra_outlet_bytes(st->sink, bytes), &c->result, e);
}

static bool has_own(const tra_pairs_entry **v, int64_t n, int64_t own) {
    int64_t from = 0, to = n;
    TRA_BISECT(from, to, mid, v[mid]->own < own);
    return from < n && v[from]->own == own;
}

/* Do the operands of the mirror image of result (i, j) meet on this site too? */
static bool mirror_is_here(const tra_joinagg *st, int64_t i, int64_t j) {
    return i != j && has_own(st->span.li, st->span.ni, j) && has_own(st->span.rj, st->span.nj, i);
}

bool tra_superblock_is_copy(const tra_joinagg *st, int64_t i, int64_t j) {
    return st->how.triangle && i > j && mirror_is_here(st, i, j);
}

static void exchange(int64_t *v, const int *at) {
    int64_t x = v[at[0]];
    v[at[0]] = v[at[1]];
    v[at[1]] = x;
}

/* Decides for which results the output at key, of own values i and j, is computed: for itself, its mirror image, or
 * both. False: for none. */
static bool set_mirror(tra_joinagg *st, output *c, const tra_dims *key, int64_t i, int64_t j) {
    const tra_mirror *m = &st->how.mirror;
    tra_dims other = *key;
    bool here = mirror_is_here(st, i, j);
    exchange(other.v, m->key);
    c->diagonal = i == j;
    c->turned = i > j;
    if (i > j && here) return false;
    int64_t of_other = tra_catalog_find(st->op->type.cat, &other), twin = i > j ? c->ordinal : of_other;
    bool wants = i != j && (i > j || here) && twin >= 0 && !tra_outlet_has(st->sink, twin);
    c->mirror_only = i > j || tra_outlet_has(st->sink, c->ordinal);
    if (c->mirror_only && !wants) return false;
    if (!wants) return true;
    c->twin = tra_calloc(1, sizeof *c->twin);
    c->twin->ordinal = twin;
    return true;
}

static tra_status new_output(tra_joinagg *st, output *c, const tra_pairs_entry *l, const tra_pairs_entry *r,
                             tra_err *e) {
    const tra_op *op = st->op;
    tra_dims key;
    tra_pairs_key(&st->pairs, l, r, &key);
    c->ordinal = tra_catalog_find(op->type.cat, &key);
    bool wanted = c->ordinal >= 0;
    if (wanted && st->how.triangle)
        wanted = set_mirror(st, c, &key, l->own, r->own);
    else if (wanted)
        wanted = !tra_outlet_has(st->sink, c->ordinal);
    if (!wanted) c->ordinal = -1; /* not computed */
    if (c->ordinal < 0) return TRA_OK;
    c->state.dtype = st->how.state_dtype;
    if (!st->how.composed) tra_catalog_ext(op->type.cat, c->ordinal, &c->state.ext);
    if (c->turned) exchange(c->state.ext.v, st->how.mirror.dim);
    if (c->twin) {
        c->twin->state = c->state;
        exchange(c->twin->state.ext.v, st->how.mirror.dim);
    }
    int branches = tra_tree_depth(st->pairs.tree.leaves) - 1;
    if (branches > 0) {
        c->branch = tra_calloc((size_t)branches, sizeof *c->branch);
        c->branches = tra_calloc((size_t)branches, sizeof *c->branches);
    }
    if (st->how.grows || st->how.counted) {
        c->panels = tra_calloc((size_t)branches + 1, sizeof *c->panels);
        return TRA_OK;
    }
    TRA_TRY(give_blocks(st, c, branches, e));
    return c->twin ? give_blocks(st, c->twin, 0, e) : TRA_OK;
}

/* The unit of one step, with the inputs that fall into the super-block; NULL when nothing meets. */
static tra_unit *new_step(tra_joinagg *st, superblock *s, const tra_walk *w, const tra_superblock_bounds *at) {
    tra_pairs_range in = within(st, w, at);
    int64_t nl = in.l1 - in.l0, nr = in.r1 - in.r0;
    if (nl == 0 || (nr == 0 && st->pairs.r.part)) return NULL;
    tra_unit *u = tra_unit_new((int)(nl + nr), (int)(s->ni * s->nj * s->tiles));
    step *x = tra_calloc(1, sizeof *x);
    *x = (step){.s = s, .nl = nl, .rank = tra_calloc((size_t)(nl + nr), sizeof *x->rank)};
    for (int64_t i = 0; i < nl; i++) {
        const tra_pairs_entry *m = &st->pairs.l.v[in.l0 + i];
        u->inputs[i] = (tra_unit_input){.part = st->pairs.l.part, .i = m->tuple, .after = st->l_after};
        x->rank[i] = m->rank - at->i0;
    }
    for (int64_t i = 0; i < nr; i++) {
        const tra_pairs_entry *m = &st->pairs.r.v[in.r0 + i];
        u->inputs[nl + i] = (tra_unit_input){.part = st->pairs.r.part, .i = m->tuple, .after = st->r_after};
        x->rank[nl + i] = m->rank - at->j0;
    }
    u->run = run_task;
    u->end = end_step;
    u->ctx = x;
    atomic_fetch_add(&s->refs, 1);
    return u;
}

tra_status tra_superblock_queue(tra_joinagg *st, tra_unit *u, tra_err *e) {
    int64_t n = st->superblock->producer.at.extra_pins ? ((const step *)u->ctx)->nl : 0, from = st->row.n;
    tra_status s = tra_engine_await(st->site->engine, u, e);
    if (s != TRA_OK) {
        tra_unit_drop(st->site->engine, u);
        return s;
    }
    for (int64_t i = 0; i < n; i++) { /* pinned before the unit can end */
        tra_part *stored, *via;
        int64_t at, via_at;
        tra_part_resolve(st->pairs.l.part, u->inputs[i].i, &stored, &at, &via, &via_at);
        TRA_ROOM(st->row.v, st->row.n, st->row.cap);
        st->row.v[st->row.n++] = stored->block[at];
        u->inputs[i].extra_pin = true;
    }
    s = tra_engine_submit(st->site->engine, u, e);
    if (s != TRA_OK) st->row.n = from;
    return s;
}

void tra_superblock_release_row(tra_joinagg *st, tra_after after) {
    while (st->row.n > 0) tra_block_unpin_then(st->site->pool, st->row.v[--st->row.n], after);
}

/* *any: some output is to be computed. After a failure superblock_drop frees what there is. */
static tra_status make_outputs(superblock *s, const tra_superblock_bounds *at, bool *any, tra_err *e) {
    tra_joinagg *st = s->st;
    int64_t n = s->ni * s->nj;
    s->outputs = tra_calloc((size_t)n, sizeof *s->outputs);
    s->tiles = st->how.tiles ? st->how.tiles : 1;
    int most = s->tiles;
    if (st->how.grows || st->how.counted) {
        int64_t bytes = n * tra_op_grown(st->site->plan, st->op).result;
        TRA_TRY(tra_pool_reserve(st->site->pool, bytes, e));
        s->reserved = bytes;
    }
    if (st->how.composed) TRA_TRY(find_states(s, at, e));
    for (int64_t c = 0; c < n; c++) {
        output *x = &s->outputs[c];
        int64_t i = at->i0 + c / s->nj, j = at->j0 + c % s->nj;
        TRA_TRY(new_output(st, x, at->li[i], at->rj ? at->rj[j] : NULL, e));
        x->tiles = s->tiles;
        *any |= x->ordinal >= 0;
        if (!st->how.fused || !x->block) continue;
        x->tiles = tra_kernel_tiles(st->join, &x->state.ext);
        most = (int)tra_max64(most, x->tiles);
    }
    s->tiles = most;
    for (int64_t c = 0; c < n; c++) atomic_init(&s->outputs[c].tiles_left, s->tiles);
    s->begun = tra_calloc((size_t)(n * s->tiles * tra_tree_depth(st->pairs.tree.leaves)), sizeof *s->begun);
    return TRA_OK;
}

/* The unit of a super-block whose outputs have terms on other sites only. */
static tra_unit *empty_unit(superblock *s) {
    tra_unit *u = tra_unit_new(0, 1);
    step *x = tra_calloc(1, sizeof *x);
    *x = (step){.s = s};
    u->run = run_empty;
    u->end = end_step;
    u->ctx = x;
    atomic_fetch_add(&s->refs, 1);
    return u;
}

/* The next step of the walk in which something meets, or NULL. */
static tra_unit *walk_on(superblock *s) {
    tra_joinagg *st = s->st;
    tra_unit *u = NULL;
    while (!u && tra_walk_next(&s->producer.walk)) u = new_step(st, s, &s->producer.walk, &s->producer.at);
    if (!u) return NULL;
    const tra_walk *w = &s->producer.walk;
    int left = st->pairs.l.v[w->l0].leaf, right = st->pairs.r.part ? st->pairs.r.v[w->r0].leaf : 0;
    if (st->pairs.tree.leaves > 1) ((step *)u->ctx)->sum = tra_tree_add(&s->producer.open, left > right ? left : right);
    u->chain = &s->chain;
    ((step *)u->ctx)->first = !s->producer.any;
    s->producer.any = true;
    u->early = makes_terms(st) || st->how.ahead;
    return u;
}

tra_unit *tra_superblock_next(tra_joinagg *st) {
    superblock *s = st->superblock;
    if (s->producer.ended) return NULL;
    tra_unit *u = s->producer.next ? s->producer.next : walk_on(s);
    s->producer.next = u ? walk_on(s) : NULL;
    s->producer.ended = !s->producer.next;
    if (!u) return empty_unit(s);
    ((step *)u->ctx)->last = s->producer.ended;
    return u;
}

tra_status tra_superblock_begin(tra_joinagg *st, const tra_superblock_bounds *at, tra_err *e) {
    superblock *s = st->superblock = tra_calloc(1, sizeof *s);
    bool any = false;
    tra_info(3, "  super-block at %" PRId64 ",%" PRId64, at->i0, at->j0);
    *s = (superblock){.st = st, .refs = 1, .ni = at->ni, .nj = at->nj};
    s->producer.at = *at;
    s->producer.open.top = -1;
    TRA_TRY(make_outputs(s, at, &any, e));
    s->producer.walk = tra_walk_begin(&st->pairs, at->range);
    s->producer.ended = !any;
    return TRA_OK;
}

void tra_superblock_end(tra_joinagg *st) {
    if (!st->superblock) return;
    if (st->superblock->producer.next) tra_unit_drop(st->site->engine, st->superblock->producer.next);
    superblock_drop(st->superblock);
    st->superblock = NULL;
}

/* ---- identities --------------------------------------------------------------------------------------------- */

/* Emits a sum without entries. */
static tra_status empty_sum(tra_joinagg *st, int64_t ordinal, tra_err *e) {
    tra_cell c = tra_cell_new(&st->op->type, ordinal, NULL);
    tra_block *b;
    TRA_TRY(tra_block_new(st->site->pool, tra_cell_gather_bytes(NULL, 0, &c), &b, e));
    c.head = b->ptr;
    tra_cell_gather(NULL, 0, &c);
    tra_block_shrink(st->site->pool, b, tra_cell_bytes(&c));
    return tra_outlet_emit(st->sink, NULL, ordinal, st->how.summand, b, e);
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
