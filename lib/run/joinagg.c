/* joinagg.c - joins and aggregations on one site, fused, by output super-blocks.
 *
 * For each value of B (pairs.h) the output is a rectangle I x J. It is cut in super-blocks of ci x cj arrays that stay in
 * memory while, step by step in ascending (K, KL, KR), the column of L and the row of R that meet there stream past. So
 * each output receives its terms in ascending order of the aggregated key, whatever the memory, the threads or the timing.
 */
#include "pairs.h"
#include "stages.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct stage {
    tra_site *site;
    const tra_op *op;
    tra_sink *sink;
    const tra_kernel *join, *agg; /* NULL: none */
    bool fused;                   /* join and agg in one call */
    tra_pairs p;
    int summand;           /* that this site computes */
    tra_dtype state_dtype; /* of what is accumulated; without agg the result's */
    bool merges;           /* the terms are states */
    bool composed;         /* a map after agg: states have extents of their own */
    int tiles;             /* of one state, 0: as many as the fused kernel says */
    bool l_leaves, r_leaves; /* what the super-block under way reads will not be wanted again soon */
    tra_block **row;         /* blocks of L that stay, pinned, for a row of super-blocks */
    int64_t nrow, row_cap;
    size_t kernel_at;      /* in a worker's scratch: below the join's result, from here the kernels' scratch */
} stage;

/* One output array of a super-block. */
typedef struct cell {
    int64_t ordinal; /* -1: there is no such tuple */
    tra_block *block, *result; /* result: where the state cannot become it in place, since a map changes its extents */
    tra_array state;
    tra_array *branch;   /* of a tree: sums beside the state, and their blocks */
    tra_block **branches;
    int tiles;       /* that it is computed in */
    atomic_int left; /* tiles of the last step yet to end */
} cell;

typedef struct super {
    stage *st;
    atomic_int refs; /* units, and the maker */
    int64_t ni, nj;
    int tiles; /* of the cell that has the most */
    cell *cells;  /* ni * nj */
    bool *begun;  /* each tile of each cell, for each of its sums: it has been touched */
} super;

/* One step of a super-block: the context of a unit. Inputs [0, nl) are L's, the others R's. */
typedef struct step {
    super *s;
    bool last;
    int64_t nl;
    int64_t *rank; /* of each input's own value within the super-block, ascending on each side */
    int top, closed; /* of a tree: the last of a cell's sums before, of which so many are first added to the one below */
    int sum;         /* which the terms go to; without a tree all go to sum 0, the state */
} step;

static tra_status term_shape(const stage *st, int64_t l, int64_t r, tra_dims *out, tra_err *e) {
    const tra_catalog *lc = st->p.l.part->type->cat;
    tra_dims a, b;
    tra_catalog_ext(lc, st->p.l.part->ordinal[l], &a);
    if (!st->join) return *out = a, TRA_OK;
    tra_catalog_ext(st->p.r.part->type->cat, st->p.r.part->ordinal[r], &b);
    return tra_kernel_shape2(st->join, &a, &b, &lc->bound, &st->p.r.part->type->cat->bound, out, NULL, e);
}

/* ---- tasks -------------------------------------------------------------------------------------------------- */

static void free_branches(stage *st, cell *c) {
    int depth = tra_tree_depth(st->p.tree.leaves);
    for (int i = 0; c->branches && i < depth - 1; i++) tra_block_free(st->site->pool, c->branches[i]);
    free(c->branches);
    free(c->branch);
    c->branches = NULL;
    c->branch = NULL;
}

static void super_drop(super *s) {
    if (atomic_fetch_sub(&s->refs, 1) != 1) return;
    for (int64_t i = 0; i < s->ni * s->nj; i++) { /* only after a failure is anything left */
        tra_block_free(s->st->site->pool, s->cells[i].block);
        tra_block_free(s->st->site->pool, s->cells[i].result);
        free_branches(s->st, &s->cells[i]);
    }
    free(s->cells);
    free(s->begun);
    free(s);
}

/* Finishes a state and hands the result on. w NULL: of a part, on the thread that runs the plan. */
static tra_status emit_cell(stage *st, cell *c, tra_worker *w, tra_err *e) {
    tra_block *b = c->block;
    if (st->agg && !st->op->partial) {
        tra_array out = {.dtype = st->op->type.dtype, .data = c->result ? c->result->ptr : b->ptr};
        tra_catalog_ext(st->op->type.cat, c->ordinal, &out.ext);
        tra_agg_finish(st->agg, &c->state, &out, w->scratch); /* of which only a composed map needs any */
        if (c->result) {
            tra_block_free(st->site->pool, b);
            b = c->result;
            c->result = NULL;
        } else {
            tra_block_shrink(st->site->pool, b, tra_sink_bytes(st->sink, (int64_t)tra_array_bytes(&out)));
        }
    }
    c->block = NULL;
    free_branches(st, c);
    return tra_sink_emit(st->sink, w, c->ordinal, st->summand, b, e);
}

/* One piece of equal arrays, for aggregations that go element by element. */
static void slice(tra_array *a, int tile, int tiles) {
    int64_t n = (int64_t)(tra_array_bytes(a) / tra_dtype_size(a->dtype));
    int64_t from = n * tile / tiles, to = n * (tile + 1) / tiles;
    a->data = (char *)a->data + (size_t)from * tra_dtype_size(a->dtype);
    a->ext = (tra_dims){.n = 1, .v = {to - from}};
}

/* Adds a term to one of the cell's sums. first: nothing was added to the tile before. */
static tra_status add_term(stage *st, tra_array *sum, const tra_input *l, const tra_input *r, int tile, bool first,
                           tra_worker *w, tra_err *e) {
    char *scratch = w->scratch;
    if (st->fused) {
        if (first && st->p.tree.leaves > 1) { /* every sum of a tree begins with zero: -0 is nowhere a sum */
            tra_kernel_tile_zero(st->join, sum, tile);
            first = false;
        }
        tra_kernel_fma(st->join, &l->array, &r->array, sum, tile, first);
        return TRA_OK;
    }
    if (st->join && !st->agg) {
        tra_kernel_join(st->join, &l->array, &r->array, sum, scratch + st->kernel_at);
        return TRA_OK;
    }
    tra_array term = l->array;
    if (st->join) {
        TRA_TRY(term_shape(st, l->i, r->i, &term.ext, e));
        term.dtype = tra_dtype_join(l->array.dtype, r->array.dtype);
        term.data = scratch;
        tra_kernel_join(st->join, &l->array, &r->array, &term, scratch + st->kernel_at);
    }
    tra_array state = *sum;
    if (st->tiles > 1) {
        slice(&state, tile, st->tiles);
        slice(&term, tile, st->tiles);
    }
    if (first) tra_agg_init(st->agg, &state);
    if (st->merges) {
        tra_agg_merge(st->agg, &state, &term);
    } else if (tra_kernel_needs_tensor(st->agg)) {
        const tra_type *t = l->part->type;
        tra_agg_at at;
        tra_dims key;
        tra_catalog_key(t->cat, l->part->ordinal[l->i], &key);
        tra_type_offset(t, &key, &at.offset);
        tra_type_shape(t, &at.shape);
        tra_agg_fold(st->agg, &state, &term, &at);
    } else {
        tra_agg_fold(st->agg, &state, &term, NULL);
    }
    return TRA_OK;
}

static tra_array *sum_of(cell *c, int i) { return i == 0 ? &c->state : &c->branch[i - 1]; }

/* Adds one sum of a cell to the one before it, on a tile. */
static void close_branch(super *s, cell *c, int64_t task, int i) {
    stage *st = s->st;
    int64_t n = s->ni * s->nj * s->tiles;
    bool *to = &s->begun[(i - 1) * n + task], *from = &s->begun[i * n + task];
    int tile = (int)(task % s->tiles);
    tra_array a = *sum_of(c, i - 1), b = *sum_of(c, i);
    if (!*from) return;
    if (st->fused) {
        if (!*to) tra_kernel_tile_zero(st->join, &a, tile);
        tra_kernel_tile_add(st->join, &a, &b, tile);
    } else {
        if (st->tiles > 1) slice(&a, tile, st->tiles), slice(&b, tile, st->tiles);
        if (!*to) tra_agg_init(st->agg, &a);
        tra_agg_merge(st->agg, &a, &b);
    }
    *to = true;
    *from = false;
}

static const tra_input *input_of_rank(const tra_unit *u, const step *x, int64_t from, int64_t to, int64_t rank) {
    int64_t end = to;
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        if (x->rank[mid] < rank) from = mid + 1;
        else to = mid;
    }
    return from < end && x->rank[from] == rank ? &u->inputs[from] : NULL;
}

static tra_status run_task(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    step *x = u->ctx;
    super *s = x->s;
    int64_t at = task / s->tiles;
    cell *c = &s->cells[at];
    if (c->ordinal < 0) return TRA_OK;
    const tra_input *l = input_of_rank(u, x, 0, x->nl, at / s->nj), *r = NULL;
    if (s->st->p.r.part) r = input_of_rank(u, x, x->nl, u->ninputs, at % s->nj);
    if (task % s->tiles < c->tiles) {
        bool *begun = &s->begun[(int64_t)x->sum * s->ni * s->nj * s->tiles + task];
        for (int i = x->top; i > x->top - x->closed; i--) close_branch(s, c, task, i);
        if (l && (r || !s->st->p.r.part)) {
            bool first = !*begun;
            *begun = true; /* a unit that is chained to this one looks after it */
            TRA_TRY(add_term(s->st, sum_of(c, x->sum), l, r, task % s->tiles, first, w, e));
        }
        for (int i = x->last ? x->sum : 0; i > 0; i--) close_branch(s, c, task, i);
    }
    if (l && task % s->tiles == 0) atomic_fetch_add(&s->st->site->done, 1);
    if (x->last && atomic_fetch_sub(&c->left, 1) == 1) {
        if (s->st->agg && !s->begun[at * s->tiles]) tra_agg_init(s->st->agg, &c->state); /* nothing met here */
        return emit_cell(s->st, c, w, e);
    }
    return TRA_OK;
}

static void end_step(tra_unit *u) {
    step *x = u->ctx;
    super_drop(x->s);
    free(x->rank);
    free(x);
}

/* Of a super-block in which nothing meets. */
static tra_status run_empty(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    super *s = ((step *)u->ctx)->s;
    (void)task;
    for (int64_t c = 0; c < s->ni * s->nj; c++) {
        if (!s->cells[c].block) continue;
        if (s->st->agg) tra_agg_init(s->st->agg, &s->cells[c].state);
        TRA_TRY(emit_cell(s->st, &s->cells[c], w, e));
    }
    return TRA_OK;
}

/* ---- super-blocks ------------------------------------------------------------------------------------------- */

/* Largest extents of the terms of one cell: the state's, where a composed map hides them from the result's type. */
static tra_status state_shape(const stage *st, const tra_span *b, int64_t i, int64_t j, tra_dims *out, tra_err *e) {
    tra_walk w = tra_walk_begin(&st->p, b);
    tra_dims group = {.n = -1};
    while (tra_walk_next(&w)) {
        for (int64_t x = w.l0; x < w.l1; x++) {
            for (int64_t y = w.r0; y < (st->p.r.part ? w.r1 : w.r0 + 1); y++) {
                tra_dims term;
                if (st->p.l.v[x].rank != i || (st->p.r.part && st->p.r.v[y].rank != j)) continue;
                TRA_TRY(term_shape(st, st->p.l.v[x].tuple, st->p.r.part ? st->p.r.v[y].tuple : 0, &term, e));
                if (group.n < 0) group = term;
                for (int a = 0; a < term.n; a++) group.v[a] = tra_max64(group.v[a], term.v[a]);
            }
        }
    }
    assert(group.n >= 0);
    tra_agg_state_ext(st->agg, &group, out);
    return TRA_OK;
}

static tra_status new_cell(stage *st, cell *c, const tra_span *b, int64_t i, int64_t j, const tra_entry *l, const tra_entry *r,
                           tra_err *e) {
    const tra_op *op = st->op;
    tra_dims key;
    tra_pairs_key(&st->p, l, r, &key);
    c->ordinal = tra_catalog_find(op->type.cat, &key);
    if (c->ordinal >= 0 && tra_sink_has(st->sink, c->ordinal)) c->ordinal = -1; /* need not be computed */
    if (c->ordinal < 0) return TRA_OK;
    c->state.dtype = st->state_dtype;
    if (st->composed) TRA_TRY(state_shape(st, b, i, j, &c->state.ext, e));
    else tra_catalog_ext(op->type.cat, c->ordinal, &c->state.ext);
    int64_t state = (int64_t)tra_array_bytes(&c->state);
    TRA_TRY(tra_block_new(st->site->pool, st->composed ? state : tra_sink_bytes(st->sink, state), &c->block, e));
    c->state.data = c->block->ptr;
    int branches = tra_tree_depth(st->p.tree.leaves) - 1;
    if (branches > 0) {
        c->branch = tra_calloc((size_t)branches, sizeof *c->branch);
        c->branches = tra_calloc((size_t)branches, sizeof *c->branches);
    }
    for (int i = 0; i < branches; i++) {
        TRA_TRY(tra_block_new(st->site->pool, (int64_t)tra_array_bytes(&c->state), &c->branches[i], e));
        c->branch[i] = c->state;
        c->branch[i].data = c->branches[i]->ptr;
    }
    if (!st->composed) return TRA_OK;
    int64_t bytes = tra_catalog_floats1(op->type.cat, c->ordinal) * (int64_t)tra_dtype_size(op->type.dtype);
    return tra_block_new(st->site->pool, tra_sink_bytes(st->sink, bytes), &c->result, e);
}

/* The sums of a tree that are open in a super-block, as steps come. */
typedef struct open_sums {
    int top; /* -1: none */
    int leaf[TRA_TREE_LEAVES + 1];
} open_sums;

static void place_in_tree(const stage *st, open_sums *o, step *x, int leaf) {
    if (st->p.tree.leaves == 1) return;
    x->top = o->top;
    if (o->top < 0 || o->leaf[o->top] != leaf) {
        while (o->top > 0 && tra_tree_closed(o->leaf[o->top - 1], o->leaf[o->top], leaf)) o->top--, x->closed++;
        o->leaf[++o->top] = leaf;
    }
    x->sum = o->top;
}

/* The unit of one step, with the inputs that fall into the super-block; NULL when nothing meets. */
static tra_unit *new_step(stage *st, super *s, const tra_walk *w, int64_t i0, int64_t j0) {
    int64_t nl = 0, nr = 0;
    for (int64_t x = w->l0; x < w->l1; x++) nl += st->p.l.v[x].rank >= i0 && st->p.l.v[x].rank < i0 + s->ni;
    for (int64_t y = w->r0; y < w->r1; y++) nr += st->p.r.v[y].rank >= j0 && st->p.r.v[y].rank < j0 + s->nj;
    if (nl == 0 || (nr == 0 && st->p.r.part)) return NULL;
    tra_unit *u = tra_unit_new((int)(nl + nr), (int)(s->ni * s->nj * s->tiles));
    step *x = tra_calloc(1, sizeof *x);
    *x = (step){.s = s, .nl = nl, .rank = tra_calloc((size_t)(nl + nr), sizeof *x->rank)};
    int64_t n = 0;
    for (int64_t i = w->l0; i < w->l1; i++) {
        int64_t rank = st->p.l.v[i].rank - i0;
        if (rank < 0 || rank >= s->ni) continue;
        u->inputs[n] = (tra_input){.part = st->p.l.part, .i = st->p.l.v[i].tuple, .leaves = st->l_leaves};
        x->rank[n++] = rank;
    }
    for (int64_t i = w->r0; i < w->r1; i++) {
        int64_t rank = st->p.r.v[i].rank - j0;
        if (rank < 0 || rank >= s->nj) continue;
        u->inputs[n] = (tra_input){.part = st->p.r.part, .i = st->p.r.v[i].tuple, .leaves = st->r_leaves};
        x->rank[n++] = rank;
    }
    u->run = run_task;
    u->end = end_step;
    u->ctx = x;
    atomic_fetch_add(&s->refs, 1);
    return u;
}

/* Representative entries: first of each rank. */
static const tra_entry **first_of_rank(const tra_side *s, int64_t from, int64_t to, int64_t n) {
    const tra_entry **v = tra_calloc((size_t)n, sizeof(tra_entry *));
    for (int64_t i = from; i < to; i++) {
        if (!v[s->v[i].rank]) v[s->v[i].rank] = &s->v[i];
    }
    return v;
}

/* Queues a step; with `stays` its arrays of L get another pin each. */
static tra_status queue(stage *st, tra_unit *u, bool stays, tra_err *e) {
    int64_t n = stays ? ((const step *)u->ctx)->nl : 0, from = st->nrow;
    for (int64_t i = 0; i < n; i++) { /* before the unit may end */
        tra_part *stored, *via;
        int64_t at, via_at;
        tra_part_resolve(st->p.l.part, u->inputs[i].i, &stored, &at, &via, &via_at);
        if (st->nrow == st->row_cap)
            st->row = tra_realloc(st->row, (size_t)(st->row_cap = 2 * st->row_cap + 8), sizeof(tra_block *));
        st->row[st->nrow++] = stored->block[at];
        u->inputs[i].stays = true;
    }
    tra_status s = tra_engine_submit(st->site->engine, u, e);
    if (s != TRA_OK) st->nrow = from;
    return s;
}

static void release_row(stage *st, bool leaves) {
    while (st->nrow > 0) (leaves ? tra_block_leave : tra_block_unpin)(st->site->pool, st->row[--st->nrow]);
}

static tra_status run_super(stage *st, const tra_span *b, const tra_entry **li, const tra_entry **rj, int64_t i0, int64_t ni,
                            int64_t j0, int64_t nj, bool stays, tra_err *e) {
    tra_status status = TRA_OK;
    super *s = tra_calloc(1, sizeof *s);
    tra_info(3, "  super-block at %" PRId64 ",%" PRId64, i0, j0);
    *s = (super){.st = st, .refs = 1, .ni = ni, .nj = nj, .tiles = st->tiles ? st->tiles : 1};
    s->cells = tra_calloc((size_t)(ni * nj), sizeof *s->cells);
    int most = s->tiles;
    for (int64_t c = 0; c < ni * nj && status == TRA_OK; c++) {
        int64_t i = i0 + c / nj, j = j0 + c % nj;
        status = new_cell(st, &s->cells[c], b, i, j, li[i], rj ? rj[j] : NULL, e);
        s->cells[c].tiles = s->tiles;
        if (!st->fused || status != TRA_OK || !s->cells[c].block) continue;
        s->cells[c].tiles = tra_kernel_tiles(st->join, &s->cells[c].state.ext);
        most = (int)tra_max64(most, s->cells[c].tiles);
    }
    s->tiles = most;
    bool any = false;
    for (int64_t c = 0; c < ni * nj; c++) {
        atomic_init(&s->cells[c].left, s->tiles);
        any |= s->cells[c].block != NULL;
    }
    s->begun = tra_calloc((size_t)(ni * nj * s->tiles * tra_tree_depth(st->p.tree.leaves)), sizeof *s->begun);
    open_sums open = {.top = -1};
    tra_walk w = tra_walk_begin(&st->p, b);
    tra_unit *held = NULL; /* the step before is queued when the next is known, so that the last knows that it is */
    bool chained = false;
    while (any && status == TRA_OK && tra_walk_next(&w)) {
        tra_unit *u = new_step(st, s, &w, i0, j0);
        if (!u) continue;
        if (held) status = queue(st, held, stays, e);
        held = u;
        int left = st->p.l.v[w.l0].leaf, right = st->p.r.part ? st->p.r.v[w.r0].leaf : 0;
        place_in_tree(st, &open, u->ctx, left > right ? left : right);
        u->chained = chained;
        chained = true;
    }
    if (held && status == TRA_OK) {
        ((step *)held->ctx)->last = true;
        status = queue(st, held, stays, e);
    } else if (held) {
        tra_unit_drop(st->site->engine, held);
    } else if (any && status == TRA_OK) { /* what exists has terms on other sites only */
        tra_unit *u = tra_unit_new(0, 1);
        step *x = tra_calloc(1, sizeof *x);
        *x = (step){.s = s};
        u->run = run_empty;
        u->end = end_step;
        u->ctx = x;
        atomic_fetch_add(&s->refs, 1);
        status = tra_engine_submit(st->site->engine, u, e);
    }
    super_drop(s);
    return status;
}

/* Of the blocks that are held to read these: what a map on the way makes of one may be smaller. */
static int64_t bytes_of(const tra_side *s, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) {
        tra_part *stored, *via;
        int64_t at, via_at, bytes = tra_part_bytes(s->part, s->v[i].tuple);
        tra_part_resolve(s->part, s->v[i].tuple, &stored, &at, &via, &via_at);
        if (via && via->kind == TRA_PART_MAP) bytes = tra_max64(bytes, tra_part_bytes(stored, at));
        n += tra_block_footprint(bytes);
    }
    return n;
}

/* The most entries of one rank. */
static int64_t longest_row(const tra_side *s, int64_t from, int64_t to, int64_t ranks) {
    int64_t *n = tra_calloc((size_t)ranks + 1, sizeof *n), most = 0;
    for (int64_t i = from; i < to; i++) most = tra_max64(most, ++n[s->v[i].rank]);
    free(n);
    return most;
}

/* The operator whose blocks reading operator i's result reads: views, exchanges and what is computed on the way may share
 * them. *many: several of its results come from one block. */
static int holder(const tra_plan *p, int i, bool *many) {
    for (;; i = p->ops[i].in[0]) {
        const tra_op *op = &p->ops[i];
        bool view = op->op == TRA_PLAN_FILTER || op->op == TRA_PLAN_REKEY || op->fused;
        *many |= op->op == TRA_PLAN_TILE && op->fused;
        if (!view && op->op != TRA_PLAN_SHUF && op->op != TRA_PLAN_BCAST) return i;
    }
}

/* Does anything but this input of this operator, now or later, read the same blocks? */
static bool used_besides(const stage *st, int side) {
    const tra_plan *p = st->site->plan;
    int me = (int)(st->op - p->ops);
    bool many = false, other = false;
    int mine = holder(p, st->op->in[side], &many);
    for (int j = 0; j < p->nops; j++) {
        if (j < me && !p->ops[j].beside) continue; /* it has ended */
        for (int k = 0; k < 2; k++) {
            if (p->ops[j].in[k] < 0 || (j == me && k == side)) continue;
            if (holder(p, p->ops[j].in[k], &other) == mine) return true;
        }
    }
    return many;
}

/* Do several steps of one k differ on this side, so that those of the other side come again? */
static bool repeats(const tra_side *s, int64_t from, int64_t to) {
    for (int64_t i = from + 1; i < to; i++) {
        if (s->v[i].k == s->v[i - 1].k && s->v[i].contr != s->v[i - 1].contr) return true;
    }
    return false;
}

static tra_status run_span(stage *st, const tra_span *b, int64_t budget, tra_err *e) {
    tra_status s = TRA_OK;
    const tra_side *l = &st->p.l, *r = &st->p.r;
    int64_t ni = tra_side_ranks(l, b->l0, b->l1), nj = r->part ? tra_side_ranks(r, b->r0, b->r1) : 1;
    tra_block_loop loop = tra_loop_of(st->site->plan, st->op, ni, nj, longest_row(l, b->l0, b->l1, ni),
                                      tra_engine_threads(st->site->engine), budget);
    tra_info(2, "  %" PRId64 " x %" PRId64 " results in super-blocks of %" PRId64 " x %" PRId64 "%s", ni, nj, loop.ci, loop.cj,
             loop.stays ? ", of each row of which the left operand stays" : "");
    const tra_entry **li = first_of_rank(l, b->l0, b->l1, ni);
    const tra_entry **rj = r->part ? first_of_rank(r, b->r0, b->r1, nj) : NULL;
    /* What is read again, but later than memory lasts, need not stay; nor what is not read again. */
    int64_t result = tra_block_footprint(tra_catalog_maxfloats(st->op->type.cat) * 8);
    int64_t right = r->part ? bytes_of(r, b->r0, b->r1) : 0, left = bytes_of(l, b->l0, b->l1);
    int64_t other = 2 * loop.ci * loop.cj * result + (loop.stays ? tra_ceil_div(left * loop.ci, tra_max64(1, ni)) : 0);
    bool right_fits = right + other <= budget, fits = right + left + other <= budget;
    bool l_later = used_besides(st, 0) || repeats(r, b->r0, b->r1);
    bool r_later = r->part && (used_besides(st, 1) || repeats(l, b->l0, b->l1));
    for (int64_t i = 0; i < ni && s == TRA_OK; i += loop.ci) {
        for (int64_t j = 0; j < nj && s == TRA_OK; j += loop.cj) {
            bool l_again = l_later || j + loop.cj < nj, r_again = r_later || i + loop.ci < ni;
            st->l_leaves = !(l_again && fits);
            st->r_leaves = !(r_again && right_fits);
            s = run_super(st, b, li, rj, i, tra_min64(loop.ci, ni - i), j, tra_min64(loop.cj, nj - j), loop.stays && j == 0,
                          e);
        }
        release_row(st, !(l_later && fits));
    }
    free(li);
    free(rj);
    return s;
}

/* ---- the stage ------------------------------------------------------------------------------------------------ */

/* Summands of tuples that nothing on this site contributes to are the identity. */
static tra_status emit_identities(stage *st, tra_err *e) {
    tra_part *out = st->sink->part;
    for (int64_t i = 0; out && i < out->n; i++) {
        cell c = {.ordinal = out->ordinal[i], .state.dtype = st->state_dtype};
        if (out->block[i]) continue;
        tra_catalog_ext(st->op->type.cat, c.ordinal, &c.state.ext);
        TRA_TRY(tra_block_new(st->site->pool, (int64_t)tra_array_bytes(&c.state), &c.block, e));
        c.state.data = c.block->ptr;
        tra_agg_init(st->agg, &c.state);
        TRA_TRY(emit_cell(st, &c, NULL, e));
    }
    return TRA_OK;
}

/* What one pair needs: its array (when it is not accumulated at once) and the kernel's scratch. */
typedef struct pair_need {
    int64_t term;
    tra_dims ext; /* of these arrays, at most */
    size_t scratch;
} pair_need;

static tra_status need_of(const stage *st, const tra_dims *a, const tra_dims *b, pair_need *most, tra_err *e) {
    const tra_type *lt = st->p.l.part->type, *rt = st->p.r.part->type;
    tra_dtype t = tra_dtype_join(lt->dtype, rt->dtype);
    tra_dims out;
    int64_t n;
    TRA_TRY(tra_kernel_shape2(st->join, a, b, &lt->cat->bound, &rt->cat->bound, &out, NULL, e));
    if (!tra_dims_product(&out, &n)) return tra_fail(e, TRA_RESOURCE, "an array of the join is too large");
    most->term = tra_max64(most->term, n * (int64_t)tra_dtype_size(t));
    for (int d = 0; d < out.n; d++) most->ext.v[d] = tra_max64(d < most->ext.n ? most->ext.v[d] : 0, out.v[d]);
    most->ext.n = out.n;
    size_t scratch = tra_kernel_scratch(st->join, TRA_USE_JOIN, t, a, b);
    if (scratch > most->scratch) most->scratch = scratch;
    return TRA_OK;
}

/* The most that any pair needs: by the bounds, or where these do not fit together, of the pairs themselves. */
static tra_status pair_needs(const stage *st, pair_need *most, tra_err *e) {
    const tra_catalog *lc = st->p.l.part->type->cat, *rc = st->p.r.part->type->cat;
    tra_err none = {0};
    *most = (pair_need){0};
    if (need_of(st, &lc->bound, &rc->bound, most, &none) == TRA_OK) return TRA_OK;
    for (int64_t i = 0; i < st->p.l.n; i++) {
        for (int64_t j = 0; j < st->p.r.n; j++) {
            tra_dims a, b;
            if (st->p.l.v[i].b != st->p.r.v[j].b || st->p.l.v[i].k != st->p.r.v[j].k) continue;
            tra_catalog_ext(lc, st->p.l.part->ordinal[st->p.l.v[i].tuple], &a);
            tra_catalog_ext(rc, st->p.r.part->ordinal[st->p.r.v[j].tuple], &b);
            TRA_TRY(need_of(st, &a, &b, most, e));
        }
    }
    return TRA_OK;
}

/* In how many pieces an aggregation of whole arrays is folded, so that workers share it: where all are alike. */
static int fold_tiles(const stage *st) {
    const tra_catalog *c = st->p.l.part->type->cat;
    if (st->join || !st->agg || st->composed || tra_kernel_needs_tensor(st->agg) || !c->grid) return 1;
    for (int a = 0; a < c->bound.n; a++) {
        if (c->by[a] >= 0) return 1;
    }
    return (int)tra_max64(1, tra_min64(16, tra_catalog_maxfloats(c) >> 16));
}

static tra_status set_up(stage *st, tra_err *e) {
    const tra_op *op = st->op;
    const tra_type *lt = st->p.l.part->type;
    int64_t tmp = 0;
    size_t kernel = 0;
    const tra_part *parts[2] = {st->p.l.part, st->p.r.part};
    st->summand = op->partial ? tra_place_summand(&op->place, st->site->comm.rank) : 0;
    st->state_dtype = op->type.dtype;
    pair_need most = {.ext = lt->cat->bound};
    if (st->join) {
        TRA_TRY(pair_needs(st, &most, e));
        kernel = most.scratch;
        if (st->agg && !st->fused) tmp = most.term;
    }
    if (st->agg) {
        tra_dtype in = st->join ? tra_dtype_join(lt->dtype, st->p.r.part->type->dtype) : lt->dtype;
        if (op->op == TRA_PLAN_MERGE) in = op->type.dtype;
        /* of a tree all sums are of one type, that of the summands */
        bool as_summand = op->op == TRA_PLAN_MERGE && st->p.tree.leaves > 1;
        if (!st->fused && !op->partial) st->state_dtype = as_summand ? lt->dtype : tra_agg_state_dtype(st->agg, in);
        /* the summands of a fused kernel are f32 where the state of their sum is f64: these are terms, not states */
        st->merges = op->op == TRA_PLAN_MERGE && lt->dtype == st->state_dtype;
        st->composed = !op->partial && tra_kernel_rest(st->agg) != NULL;
        st->tiles = st->fused ? 0 : fold_tiles(st);
    } else {
        st->tiles = 1;
    }
    st->kernel_at = ((size_t)tmp + 63) / 64 * 64;
    size_t scratch = st->kernel_at + kernel, derive = tra_stage_scratch(parts, 2);
    size_t read = tra_stage_io(parts, 2), write = tra_sink_io(st->sink);
    if (st->composed) {
        tra_dims state;
        tra_agg_state_ext(st->agg, &most.ext, &state);
        size_t finish = tra_kernel_scratch(st->agg, TRA_USE_AGG, st->state_dtype, &state, NULL);
        if (finish > scratch) scratch = finish;
    }
    return tra_engine_stage(st->site->engine, scratch > derive ? scratch : derive, read > write ? read : write, e);
}

tra_status tra_stage_joinagg(tra_site *site, const tra_op *op, tra_part *l, tra_part *r, tra_sink *sink, tra_err *e) {
    stage st = {.site = site, .op = op, .sink = sink, .join = op->join, .agg = op->agg};
    int64_t budget = tra_pool_stat(site->pool).budget;
    tra_pairs_list(&st.p, op, l, r, site->plan->reproducible);
    st.fused = tra_op_accumulates(site->plan, op);
    site->all = tra_pairs_count(&st.p);
    tra_status s = set_up(&st, e);
    for (tra_span b = {0}; s == TRA_OK && tra_span_next(&st.p, &b);) s = run_span(&st, &b, budget, e);
    s = tra_stage_end(site, s, e);
    if (s == TRA_OK && op->partial) s = emit_identities(&st, e);
    tra_pairs_free(&st.p);
    free(st.row);
    return s;
}
