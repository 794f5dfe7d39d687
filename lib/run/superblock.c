/* superblock.c - super-blocks: their outputs, and the units that add terms to these step by step. */
#include "superblock_int.h"

#include <assert.h>
#include <stdlib.h>

/* ---- freeing --------------------------------------------------------------------------------------------------- */

/* Arrays of an output to which terms are added: of a tree, of workers, or one. */
static int sums_of(const tra_joinagg *st) {
    return st->how.sums ? st->how.sums : tra_tree_depth(st->pairs.tree.leaves);
}

void tra_superblock_free_branches(tra_joinagg *st, output *c) {
    int depth = sums_of(st);
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
    tra_superblock_free_branches(st, c);
    if (c->twin) free_output(st, c->twin);
    free(c->twin);
}

/* Gives back what is reserved beyond what n outputs take. Under the lock. */
static void release_outputs(tra_joinagg *st, int64_t n) {
    int64_t spare = st->outputs.reserved - (n > 0 ? tra_op_grown_together(st->site->plan, st->op, n) : 0);
    if (spare <= 0) return;
    tra_pool_release(st->site->pool, spare);
    st->outputs.reserved -= spare;
}

/* Reserves memory for n more outputs. Others may end meanwhile, and what they give back was counted for all. */
static tra_status reserve_outputs(tra_joinagg *st, int64_t n, tra_err *e) {
    int64_t more = 1;
    while (more > 0) {
        pthread_mutex_lock(&st->outputs.lock);
        more = tra_op_grown_together(st->site->plan, st->op, st->outputs.n + n) - st->outputs.reserved;
        if (more <= 0) st->outputs.n += n;
        pthread_mutex_unlock(&st->outputs.lock);
        if (more <= 0) break;
        TRA_TRY(tra_pool_reserve(st->site->pool, more, e));
        pthread_mutex_lock(&st->outputs.lock);
        st->outputs.reserved += more;
        pthread_mutex_unlock(&st->outputs.lock);
    }
    return TRA_OK;
}

static void superblock_drop(superblock *s) {
    if (atomic_fetch_sub(&s->refs, 1) != 1) return;
    for (int64_t i = 0; i < s->ni * s->nj; i++) free_output(s->st, &s->outputs[i]); /* what a failure has left */
    if (s->reserves) {
        pthread_mutex_lock(&s->st->outputs.lock);
        s->st->outputs.n -= s->ni * s->nj;
        release_outputs(s->st, s->st->outputs.n);
        pthread_mutex_unlock(&s->st->outputs.lock);
    }
    tra_worker_sums_free(&s->sums);
    free(s->outputs);
    free(s->begun);
    free(s);
}

static void end_step(tra_unit *u) {
    step *x = u->ctx;
    superblock_drop(x->s);
    free(x->line);
    free(x);
}

/* ---- outputs --------------------------------------------------------------------------------------------------- */

/* The first entry of a step whose line is not below this one. */
static int64_t at_line(const tra_side *s, int64_t from, int64_t to, int64_t line) {
    TRA_BISECT(from, to, mid, s->v[mid].line < line);
    return from;
}

/* The entries of a step that fall into the super-block. */
static tra_pairs_range within(const tra_joinagg *st, const tra_walk *w, const tra_superblock_bounds *at) {
    return (tra_pairs_range){
        at_line(&st->pairs.l, w->l0, w->l1, at->i0), at_line(&st->pairs.l, w->l0, w->l1, at->i0 + at->ni),
        at_line(&st->pairs.r, w->r0, w->r1, at->j0), at_line(&st->pairs.r, w->r0, w->r1, at->j0 + at->nj)};
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
            int64_t c = (l->line - at->i0) * s->nj + (r ? r->line - at->j0 : 0);
            int64_t shapes = 1 + l->shape + (r ? (int64_t)r->shape * st->pairs.l.nshapes : 0);
            tra_dims *most = &s->outputs[c].state.ext, term;
            if (seen[c] == shapes) continue;
            status = tra_superblock_term_shape(st, l->tuple, r ? r->tuple : 0, &term, e);
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
    bool apart = st->how.composed || (st->agg && !op->spec.partial && op->type.layout);
    int64_t bytes = tra_type_bytes(&op->type, c->ordinal).bound; /* a bound, where the layout is not dense */
    int64_t state = st->agg ? (int64_t)tra_array_bytes(&c->state) : bytes;
    TRA_TRY(tra_block_new(st->site->pool, apart ? state : tra_outlet_bytes(st->outlet, state), &c->block, e));
    c->state.data = c->block->ptr;
    for (int k = 0; k < branches; k++) {
        TRA_TRY(tra_block_new(st->site->pool, (int64_t)tra_array_bytes(&c->state), &c->branches[k], e));
        c->branch[k] = c->state;
        c->branch[k].data = c->branches[k]->ptr;
    }
    if (!apart || c->mirror_only) return TRA_OK;
    return tra_block_new(st->site->pool, tra_outlet_bytes(st->outlet, bytes), &c->result, e);
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

bool tra_superblock_is_mirrored(const tra_joinagg *st, int64_t i, int64_t j) {
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
    bool wants = i != j && (i > j || here) && twin >= 0 && !tra_outlet_has(st->outlet, twin);
    c->mirror_only = i > j || tra_outlet_has(st->outlet, c->ordinal);
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
        wanted = !tra_outlet_has(st->outlet, c->ordinal);
    if (!wanted) c->ordinal = -1; /* not computed */
    if (c->ordinal < 0) return TRA_OK;
    c->state.dtype = st->how.state_dtype;
    if (!st->how.composed) tra_catalog_ext(op->type.cat, c->ordinal, &c->state.ext);
    if (c->turned) exchange(c->state.ext.v, st->how.mirror.dim);
    if (c->twin) {
        c->twin->state = c->state;
        exchange(c->twin->state.ext.v, st->how.mirror.dim);
    }
    int branches = sums_of(st) - 1;
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

/* ---- units ------------------------------------------------------------------------------------------------------ */

/* The unit of one step, with the inputs that fall into the super-block; NULL when nothing meets. */
static tra_unit *new_step(tra_joinagg *st, superblock *s, const tra_walk *w, const tra_superblock_bounds *at) {
    tra_pairs_range in = within(st, w, at);
    int64_t nl = in.l1 - in.l0, nr = in.r1 - in.r0;
    if (nl == 0 || (nr == 0 && st->pairs.r.part)) return NULL;
    assert(nl + nr <= INT32_MAX && (int64_t)s->ni * s->nj * s->tiles <= INT32_MAX);
    tra_unit *u = tra_unit_new((int)(nl + nr), (int)(s->ni * s->nj * s->tiles));
    step *x = tra_calloc(1, sizeof *x);
    *x = (step){.s = s, .nl = nl, .line = tra_calloc((size_t)(nl + nr), sizeof *x->line)};
    for (int64_t i = 0; i < nl; i++) {
        const tra_pairs_entry *m = &st->pairs.l.v[in.l0 + i];
        u->inputs[i] = (tra_unit_input){.part = st->pairs.l.part, .i = m->tuple, .after = st->l_after};
        x->line[i] = m->line - at->i0;
        if (st->how.sums && s->outputs[0].ordinal >= 0) u->inputs[i].sums = &s->sums;
    }
    for (int64_t i = 0; i < nr; i++) {
        const tra_pairs_entry *m = &st->pairs.r.v[in.r0 + i];
        u->inputs[nl + i] = (tra_unit_input){.part = st->pairs.r.part, .i = m->tuple, .after = st->r_after};
        x->line[nl + i] = m->line - at->j0;
    }
    u->run = tra_superblock_task;
    u->op = st->op->id;
    u->end = end_step;
    u->ctx = x;
    atomic_fetch_add(&s->refs, 1);
    return u;
}

tra_status tra_superblock_queue(tra_joinagg *st, tra_unit *u, tra_err *e) {
    int64_t n = st->superblock->producer.at.extra_pins ? ((const step *)u->ctx)->nl : 0, pinned = st->pinned_row.n;
    tra_status s = tra_engine_await_inputs(st->site->engine, u, e);
    if (s != TRA_OK) {
        tra_unit_drop(st->site->engine, u);
        return s;
    }
    for (int64_t i = 0; i < n; i++) { /* pinned before the unit can end */
        tra_part_source from = tra_part_resolve(st->pairs.l.part, u->inputs[i].i);
        TRA_ROOM(st->pinned_row.v, st->pinned_row.n, st->pinned_row.cap);
        st->pinned_row.v[st->pinned_row.n++] = from.stored->block[from.at];
        u->inputs[i].extra_pin = true;
    }
    s = tra_engine_submit(st->site->engine, u, e);
    if (s != TRA_OK) st->pinned_row.n = pinned;
    return s;
}

void tra_superblock_release_row(tra_joinagg *st, tra_after after) {
    while (st->pinned_row.n > 0) tra_block_unpin_then(st->site->pool, st->pinned_row.v[--st->pinned_row.n], after);
}

/* *any: some output is to be computed. After a failure superblock_drop frees what there is. */
static tra_status make_outputs(superblock *s, const tra_superblock_bounds *at, bool *any, tra_err *e) {
    tra_joinagg *st = s->st;
    int64_t n = s->ni * s->nj;
    s->outputs = tra_calloc((size_t)n, sizeof *s->outputs);
    s->tiles = st->how.tiles ? st->how.tiles : 1;
    int most = s->tiles;
    if (st->how.grows || st->how.counted) {
        TRA_TRY(reserve_outputs(st, n, e));
        s->reserves = true;
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
    if (st->how.sums && *any) {
        output *x = &s->outputs[0];
        tra_worker_sums_init(&s->sums, st->how.sums);
        for (int i = 0; i < st->how.sums; i++) s->sums.v[i] = i == 0 ? x->state : x->branch[i - 1];
    }
    for (int64_t c = 0; c < n; c++) atomic_init(&s->outputs[c].tiles_left, s->tiles);
    s->begun = tra_calloc((size_t)(n * s->tiles * tra_tree_depth(st->pairs.tree.leaves)), sizeof *s->begun);
    return TRA_OK;
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
    u->early = tra_superblock_makes_terms(st) || st->how.ahead;
    return u;
}

tra_unit *tra_superblock_next(tra_joinagg *st) {
    superblock *s = st->superblock;
    if (s->producer.ended) return NULL;
    tra_unit *u = s->producer.next ? s->producer.next : walk_on(s);
    s->producer.next = u ? walk_on(s) : NULL;
    s->producer.ended = !s->producer.next;
    if (!u) return NULL; /* all terms of its outputs are on other sites */
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
