/* joinagg.c - joins and aggregations on one site, fused, by output super-blocks.
 *
 * Every key dimension of the join (those of L, then those of R that are not joined) is a label. By who has it and whether
 * it is grouped, a label is of class B (both, grouped), K (both, aggregated), I or KL (L alone), J or KR (R alone). For
 * each value of B the output is the rectangle I x J; it is cut in super-blocks of ci x cj arrays that stay in memory while,
 * step by step in ascending (K, KL, KR), the column of L and the row of R that meet there stream past. So each output
 * receives its terms in ascending order of the aggregated key, whatever the memory, the threads or the timing.
 */
#include "stages.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef enum label_class { CLASS_B, CLASS_K, CLASS_I, CLASS_J, CLASS_KL, CLASS_KR, CLASSES } label_class;

/* One local tuple: its label values linearised by class. own is I or J; contr is KL (and the summand) or KR. */
typedef struct entry {
    int64_t b, k, contr, own;
    int64_t tuple; /* index in the part */
    int64_t rank;  /* of own among the distinct ones of the same b */
} entry;

typedef struct side {
    tra_part *part; /* NULL: there is no R */
    int64_t n;
    entry *v; /* ascending in (b, k, contr, own) */
} side;

typedef struct stage {
    tra_site *site;
    const tra_op *op;
    tra_sink *sink;
    const tra_kernel *join, *agg; /* NULL: none */
    bool fused;                   /* join and agg in one call */
    int nlabels;
    label_class class[2 * TRA_MAXDIM];
    int64_t radix[2 * TRA_MAXDIM];
    side l, r;
    int summand;           /* that this site computes */
    tra_dtype state_dtype; /* of what is accumulated; without agg the result's */
    bool merges;           /* the terms are states */
    bool composed;         /* a map after agg: states have extents of their own */
    int tiles;             /* of one state, 0: as many as the fused kernel says */
    size_t kernel_at;      /* in a worker's scratch: below the join's result, from here the kernels' scratch */
} stage;

/* One output array of a super-block. */
typedef struct cell {
    int64_t ordinal; /* -1: there is no such tuple */
    tra_block *block, *result; /* result: where the state cannot become it in place */
    tra_array state;
    atomic_int left; /* tiles of the last step yet to end */
} cell;

typedef struct super {
    stage *st;
    atomic_int refs; /* units, and the maker */
    int64_t ni, nj;
    int tiles;
    cell *cells; /* ni * nj */
} super;

/* One step of a super-block: the context of a unit. Inputs [0, nl) are L's, the others R's. */
typedef struct step {
    super *s;
    bool last;
    int64_t nl;
    int64_t *rank; /* of each input's own value within the super-block, ascending on each side */
} step;

/* ---- labels and local tuples ---------------------------------------------------------------------------------- */

static int label_of_r(const tra_op *op, int kl, int d) {
    int before = 0;
    for (int i = 0; i < op->joinr.n; i++) {
        if (op->joinr.v[i] == d) return (int)op->joinl.v[i];
        before += op->joinr.v[i] < d;
    }
    return kl + d - before;
}

static int arity(const side *s) { return s->part ? s->part->type->cat->frontier.n : 0; }

/* Label values of a tuple of one side, where it has them. */
static void label_values(const stage *st, const side *s, int64_t tuple, int64_t *value, bool *has) {
    tra_dims key;
    tra_catalog_key(s->part->type->cat, s->part->ordinal[tuple], &key);
    for (int d = 0; d < key.n; d++) {
        int label = s == &st->l ? d : label_of_r(st->op, arity(&st->l), d);
        value[label] = key.v[d];
        if (has) has[label] = true;
    }
}

static void classify(stage *st) {
    const tra_op *op = st->op;
    int kl = arity(&st->l), kr = arity(&st->r);
    bool in_l[2 * TRA_MAXDIM] = {0}, in_r[2 * TRA_MAXDIM] = {0}, grouped[2 * TRA_MAXDIM] = {0};
    st->nlabels = kl + kr - (st->r.part ? op->joinr.n : 0);
    for (int d = 0; d < kl; d++) {
        in_l[d] = true;
        st->radix[d] = st->l.part->type->cat->frontier.v[d];
    }
    for (int d = 0; d < kr; d++) {
        int x = label_of_r(op, kl, d);
        int64_t f = st->r.part->type->cat->frontier.v[d];
        st->radix[x] = in_l[x] ? tra_min64(st->radix[x], f) : f; /* joined keys: the lesser frontier counts */
        in_r[x] = true;
    }
    for (int i = 0; i < st->nlabels; i++) grouped[i] = !st->agg;
    for (int i = 0; st->agg && i < op->group.n; i++) grouped[op->group.v[i]] = true;
    for (int x = 0; x < st->nlabels; x++) {
        if (in_l[x] && in_r[x]) st->class[x] = grouped[x] ? CLASS_B : CLASS_K;
        else if (in_l[x]) st->class[x] = grouped[x] ? CLASS_I : CLASS_KL;
        else st->class[x] = grouped[x] ? CLASS_J : CLASS_KR;
    }
}

static int compare(const void *x, const void *y) {
    const entry *a = x, *b = y;
    if (a->b != b->b) return a->b < b->b ? -1 : 1;
    if (a->k != b->k) return a->k < b->k ? -1 : 1;
    if (a->contr != b->contr) return a->contr < b->contr ? -1 : 1;
    return a->own < b->own ? -1 : a->own > b->own;
}

static int compare_own(const void *x, const void *y) {
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    if (a->b != b->b) return a->b < b->b ? -1 : 1;
    return a->own < b->own ? -1 : a->own > b->own;
}

/* Lists and sorts the local tuples of one side; those whose joined values the other side cannot have are left out. */
static void list_side(stage *st, side *s) {
    if (!s->part) return;
    int64_t summands = 1;
    for (int64_t t = 0; s->part->summand && t < s->part->n; t++)
        summands = tra_max64(summands, s->part->summand[t] + 1);
    s->v = tra_calloc((size_t)s->part->n, sizeof *s->v);
    for (int64_t t = 0; t < s->part->n; t++) {
        int64_t value[2 * TRA_MAXDIM], sum[CLASSES] = {0};
        bool has[2 * TRA_MAXDIM] = {0}, fits = true;
        label_values(st, s, t, value, has);
        for (int x = 0; x < st->nlabels; x++) {
            if (!has[x]) continue;
            fits &= value[x] < st->radix[x];
            sum[st->class[x]] = sum[st->class[x]] * st->radix[x] + value[x];
        }
        int64_t contr = sum[CLASS_KL] + sum[CLASS_KR]; /* a side has but one of the two, and of I and J */
        if (s->part->summand) contr = contr * summands + s->part->summand[t];
        if (fits)
            s->v[s->n++] = (entry){sum[CLASS_B], sum[CLASS_K], contr, sum[CLASS_I] + sum[CLASS_J], t, 0};
    }
    qsort(s->v, (size_t)s->n, sizeof *s->v, compare);
    entry **p = tra_calloc((size_t)s->n, sizeof(entry *));
    for (int64_t i = 0; i < s->n; i++) p[i] = &s->v[i];
    qsort(p, (size_t)s->n, sizeof *p, compare_own);
    for (int64_t i = 1; i < s->n; i++) {
        if (p[i]->b == p[i - 1]->b) p[i]->rank = p[i - 1]->rank + (p[i]->own != p[i - 1]->own);
    }
    free(p);
}

static int64_t ranks(const side *s, int64_t from, int64_t to) { /* distinct own values among the entries of one b */
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) n = tra_max64(n, s->v[i].rank + 1);
    return n;
}

static tra_status term_shape(const stage *st, int64_t l, int64_t r, tra_dims *out, tra_err *e) {
    const tra_catalog *lc = st->l.part->type->cat;
    tra_dims a, b;
    tra_catalog_ext(lc, st->l.part->ordinal[l], &a);
    if (!st->join) return *out = a, TRA_OK;
    tra_catalog_ext(st->r.part->type->cat, st->r.part->ordinal[r], &b);
    return tra_kernel_shape2(st->join, &a, &b, &lc->bound, &st->r.part->type->cat->bound, out, NULL, e);
}

/* ---- tasks -------------------------------------------------------------------------------------------------- */

static void super_drop(super *s) {
    if (atomic_fetch_sub(&s->refs, 1) != 1) return;
    for (int64_t i = 0; i < s->ni * s->nj; i++) { /* only after a failure is anything left */
        tra_block_free(s->st->site->pool, s->cells[i].block);
        tra_block_free(s->st->site->pool, s->cells[i].result);
    }
    free(s->cells);
    free(s);
}

/* Finishes a state and hands the result on. w NULL: on the thread that runs the plan. */
static tra_status emit_cell(stage *st, cell *c, tra_worker *w, tra_err *e) {
    tra_block *b = c->block;
    if (st->agg && !st->op->partial) {
        tra_array out = {.dtype = st->op->type.dtype, .data = c->result ? c->result->ptr : b->ptr};
        tra_catalog_ext(st->op->type.cat, c->ordinal, &out.ext);
        void *scratch = NULL; /* only a composed map needs any */
        if (st->composed) {
            size_t n = tra_kernel_scratch(st->agg, TRA_USE_AGG, st->state_dtype, &c->state.ext, NULL);
            scratch = aligned_alloc(64, (n + 64) / 64 * 64);
            if (!scratch) return tra_fail(e, TRA_RESOURCE, "out of memory to finish an aggregation");
        }
        tra_agg_finish(st->agg, &c->state, &out, scratch);
        free(scratch);
        if (c->result) {
            tra_block_free(st->site->pool, b);
            b = c->result;
            c->result = NULL;
        }
    }
    c->block = NULL;
    return tra_sink_emit(st->sink, w ? w->id : -1, c->ordinal, st->summand, b, e);
}

/* One piece of equal arrays, for aggregations that go element by element. */
static void slice(tra_array *a, int tile, int tiles) {
    int64_t n = (int64_t)(tra_array_bytes(a) / tra_dtype_size(a->dtype));
    int64_t from = n * tile / tiles, to = n * (tile + 1) / tiles;
    a->data = (char *)a->data + (size_t)from * tra_dtype_size(a->dtype);
    a->ext = (tra_dims){.n = 1, .v = {to - from}};
}

static tra_status add_term(stage *st, cell *c, const tra_input *l, const tra_input *r, int tile, tra_worker *w,
                           tra_err *e) {
    char *scratch = w->scratch;
    if (st->fused) {
        tra_kernel_fma(st->join, &l->array, &r->array, &c->state, tile);
        return TRA_OK;
    }
    if (st->join && !st->agg) {
        tra_kernel_join(st->join, &l->array, &r->array, &c->state, scratch + st->kernel_at);
        return TRA_OK;
    }
    tra_array term = l->array;
    if (st->join) {
        TRA_TRY(term_shape(st, l->i, r->i, &term.ext, e));
        term.dtype = tra_dtype_join(l->array.dtype, r->array.dtype);
        term.data = scratch;
        tra_kernel_join(st->join, &l->array, &r->array, &term, scratch + st->kernel_at);
    }
    tra_array state = c->state;
    if (st->tiles > 1) {
        slice(&state, tile, st->tiles);
        slice(&term, tile, st->tiles);
    }
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
    if (s->st->r.part) r = input_of_rank(u, x, x->nl, u->ninputs, at % s->nj);
    if (l && (r || !s->st->r.part)) TRA_TRY(add_term(s->st, c, l, r, task % s->tiles, w, e));
    if (l && task % s->tiles == 0) atomic_fetch_add(&s->st->site->done, 1);
    if (x->last && atomic_fetch_sub(&c->left, 1) == 1) return emit_cell(s->st, c, w, e);
    return TRA_OK;
}

static void end_step(tra_unit *u) {
    step *x = u->ctx;
    super_drop(x->s);
    free(x->rank);
    free(x);
}

/* ---- super-blocks ------------------------------------------------------------------------------------------- */

/* The entries of one value of B on each side. */
typedef struct span {
    int64_t l0, l1, r0, r1;
} span;

/* Walks the steps of a span in ascending (K, KL, KR): each is a run of L's entries with the same (k, contr) and one of
 * R's with the same k. */
typedef struct walk {
    const stage *st;
    span s;
    int64_t l0, l1, r0, r1; /* the current step */
    int64_t rk;             /* where R's entries of the current k begin */
} walk;

static int64_t run_end(const side *s, int64_t at, int64_t end) { /* of the entries with at's (k, contr) */
    int64_t i = at;
    while (i < end && s->v[i].k == s->v[at].k && s->v[i].contr == s->v[at].contr) i++;
    return i;
}

static bool walk_next(walk *w) {
    const side *l = &w->st->l, *r = &w->st->r;
    if (!r->part) {
        w->l0 = w->l1;
        if (w->l0 >= w->s.l1) return false;
        w->l1 = run_end(l, w->l0, w->s.l1);
        return true;
    }
    if (w->l1 > w->l0 && w->r1 < w->s.r1 && r->v[w->r1].k == l->v[w->l0].k) { /* the next KR of the same (k, KL) */
        w->r0 = w->r1;
        w->r1 = run_end(r, w->r0, w->s.r1);
        return true;
    }
    int64_t li = w->l1, ri = w->rk;
    while (li < w->s.l1) {
        /* R's first entry of the same k; k ascends on both sides but L may stay on one k for several KL */
        while (ri < w->s.r1 && r->v[ri].k < l->v[li].k) ri++;
        if (ri < w->s.r1 && r->v[ri].k == l->v[li].k) break;
        li = run_end(l, li, w->s.l1);
    }
    if (li >= w->s.l1) return false;
    w->l0 = li;
    w->l1 = run_end(l, li, w->s.l1);
    w->r0 = w->rk = ri;
    w->r1 = run_end(r, ri, w->s.r1);
    return true;
}

/* Largest extents of the terms of one cell: the state's, where a composed map hides them from the result's type. */
static tra_status state_shape(const stage *st, const span *b, int64_t i, int64_t j, tra_dims *out, tra_err *e) {
    walk w = {.st = st, .s = *b, .l0 = b->l0, .l1 = b->l0, .rk = b->r0};
    tra_dims group = {.n = -1};
    while (walk_next(&w)) {
        for (int64_t x = w.l0; x < w.l1; x++) {
            for (int64_t y = w.r0; y < (st->r.part ? w.r1 : w.r0 + 1); y++) {
                tra_dims term;
                if (st->l.v[x].rank != i || (st->r.part && st->r.v[y].rank != j)) continue;
                TRA_TRY(term_shape(st, st->l.v[x].tuple, st->r.part ? st->r.v[y].tuple : 0, &term, e));
                if (group.n < 0) group = term;
                for (int a = 0; a < term.n; a++) group.v[a] = tra_max64(group.v[a], term.v[a]);
            }
        }
    }
    assert(group.n >= 0);
    tra_agg_state_ext(st->agg, &group, out);
    return TRA_OK;
}

static tra_status new_cell(stage *st, cell *c, const span *b, int64_t i, int64_t j, const entry *l, const entry *r,
                           tra_err *e) {
    const tra_op *op = st->op;
    int64_t value[2 * TRA_MAXDIM] = {0};
    tra_dims key = {.n = st->agg ? op->group.n : st->nlabels};
    label_values(st, &st->l, l->tuple, value, NULL);
    if (r) label_values(st, &st->r, r->tuple, value, NULL);
    for (int d = 0; d < key.n; d++) key.v[d] = value[st->agg ? op->group.v[d] : d];
    c->ordinal = tra_catalog_find(op->type.cat, &key);
    if (c->ordinal < 0) return TRA_OK;
    c->state.dtype = st->state_dtype;
    if (st->composed) TRA_TRY(state_shape(st, b, i, j, &c->state.ext, e));
    else tra_catalog_ext(op->type.cat, c->ordinal, &c->state.ext);
    TRA_TRY(tra_block_new(st->site->pool, (int64_t)tra_array_bytes(&c->state), &c->block, e));
    c->state.data = c->block->ptr;
    if (!st->agg) return TRA_OK;
    tra_agg_init(st->agg, &c->state);
    if (op->partial || (!st->composed && op->type.dtype == st->state_dtype)) return TRA_OK;
    int64_t bytes = tra_catalog_floats1(op->type.cat, c->ordinal) * (int64_t)tra_dtype_size(op->type.dtype);
    return tra_block_new(st->site->pool, bytes, &c->result, e);
}

/* The unit of one step, with the inputs that fall into the super-block; NULL when nothing meets. */
static tra_unit *new_step(stage *st, super *s, const walk *w, int64_t i0, int64_t j0) {
    int64_t nl = 0, nr = 0;
    for (int64_t x = w->l0; x < w->l1; x++) nl += st->l.v[x].rank >= i0 && st->l.v[x].rank < i0 + s->ni;
    for (int64_t y = w->r0; y < w->r1; y++) nr += st->r.v[y].rank >= j0 && st->r.v[y].rank < j0 + s->nj;
    if (nl == 0 || (nr == 0 && st->r.part)) return NULL;
    tra_unit *u = tra_unit_new((int)(nl + nr), (int)(s->ni * s->nj * s->tiles));
    step *x = tra_calloc(1, sizeof *x);
    *x = (step){.s = s, .nl = nl, .rank = tra_calloc((size_t)(nl + nr), sizeof *x->rank)};
    int64_t n = 0;
    for (int64_t i = w->l0; i < w->l1; i++) {
        int64_t rank = st->l.v[i].rank - i0;
        if (rank < 0 || rank >= s->ni) continue;
        u->inputs[n] = (tra_input){.part = st->l.part, .i = st->l.v[i].tuple};
        x->rank[n++] = rank;
    }
    for (int64_t i = w->r0; i < w->r1; i++) {
        int64_t rank = st->r.v[i].rank - j0;
        if (rank < 0 || rank >= s->nj) continue;
        u->inputs[n] = (tra_input){.part = st->r.part, .i = st->r.v[i].tuple};
        x->rank[n++] = rank;
    }
    u->run = run_task;
    u->end = end_step;
    u->ctx = x;
    atomic_fetch_add(&s->refs, 1);
    return u;
}

/* Representative entries: first of each rank. */
static const entry **first_of_rank(const side *s, int64_t from, int64_t to, int64_t n) {
    const entry **v = tra_calloc((size_t)n, sizeof(entry *));
    for (int64_t i = from; i < to; i++) {
        if (!v[s->v[i].rank]) v[s->v[i].rank] = &s->v[i];
    }
    return v;
}

static tra_status run_super(stage *st, const span *b, const entry **li, const entry **rj, int64_t i0, int64_t ni,
                            int64_t j0, int64_t nj, tra_err *e) {
    tra_status status = TRA_OK;
    super *s = tra_calloc(1, sizeof *s);
    *s = (super){.st = st, .refs = 1, .ni = ni, .nj = nj, .tiles = st->tiles ? st->tiles : 1};
    s->cells = tra_calloc((size_t)(ni * nj), sizeof *s->cells);
    for (int64_t c = 0; c < ni * nj && status == TRA_OK; c++) {
        int64_t i = i0 + c / nj, j = j0 + c % nj;
        status = new_cell(st, &s->cells[c], b, i, j, li[i], rj ? rj[j] : NULL, e);
        if (st->fused && status == TRA_OK && s->cells[c].block)
            s->tiles = (int)tra_max64(s->tiles, tra_kernel_tiles(st->join, &s->cells[c].state.ext));
    }
    for (int64_t c = 0; c < ni * nj; c++) atomic_init(&s->cells[c].left, s->tiles);
    walk w = {.st = st, .s = *b, .l0 = b->l0, .l1 = b->l0, .rk = b->r0};
    tra_unit *held = NULL; /* the step before is queued when the next is known, so that the last knows that it is */
    bool chained = false;
    while (status == TRA_OK && walk_next(&w)) {
        tra_unit *u = new_step(st, s, &w, i0, j0);
        if (!u) continue;
        if (held) status = tra_engine_submit(st->site->engine, held, e);
        held = u;
        u->chained = chained;
        chained = true;
    }
    if (held && status == TRA_OK) {
        ((step *)held->ctx)->last = true;
        status = tra_engine_submit(st->site->engine, held, e);
    } else if (held) {
        tra_unit_drop(st->site->engine, held);
    } else { /* nothing meets: what exists has terms on other sites only */
        for (int64_t c = 0; c < ni * nj && status == TRA_OK; c++) {
            if (s->cells[c].block) status = emit_cell(st, &s->cells[c], NULL, e);
        }
    }
    super_drop(s);
    return status;
}

static tra_status run_span(stage *st, const span *b, const tra_block_loop *loop, tra_err *e) {
    tra_status s = TRA_OK;
    int64_t ni = ranks(&st->l, b->l0, b->l1), nj = st->r.part ? ranks(&st->r, b->r0, b->r1) : 1;
    const entry **li = first_of_rank(&st->l, b->l0, b->l1, ni);
    const entry **rj = st->r.part ? first_of_rank(&st->r, b->r0, b->r1, nj) : NULL;
    for (int64_t i = 0; i < ni && s == TRA_OK; i += loop->ci) {
        for (int64_t j = 0; j < nj && s == TRA_OK; j += loop->cj)
            s = run_super(st, b, li, rj, i, tra_min64(loop->ci, ni - i), j, tra_min64(loop->cj, nj - j), e);
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
    size_t scratch;
} pair_need;

static tra_status need_of(const stage *st, const tra_dims *a, const tra_dims *b, pair_need *most, tra_err *e) {
    const tra_type *lt = st->l.part->type, *rt = st->r.part->type;
    tra_dtype t = tra_dtype_join(lt->dtype, rt->dtype);
    tra_dims out;
    int64_t n;
    TRA_TRY(tra_kernel_shape2(st->join, a, b, &lt->cat->bound, &rt->cat->bound, &out, NULL, e));
    if (!tra_dims_product(&out, &n)) return tra_fail(e, TRA_RESOURCE, "an array of the join is too large");
    most->term = tra_max64(most->term, n * (int64_t)tra_dtype_size(t));
    size_t scratch = tra_kernel_scratch(st->join, TRA_USE_JOIN, t, a, b);
    if (scratch > most->scratch) most->scratch = scratch;
    return TRA_OK;
}

/* The most that any pair needs: by the bounds, or where these do not fit together, of the pairs themselves. */
static tra_status pair_needs(const stage *st, pair_need *most, tra_err *e) {
    const tra_catalog *lc = st->l.part->type->cat, *rc = st->r.part->type->cat;
    tra_err none = {0};
    *most = (pair_need){0};
    if (need_of(st, &lc->bound, &rc->bound, most, &none) == TRA_OK) return TRA_OK;
    for (int64_t i = 0; i < st->l.n; i++) {
        for (int64_t j = 0; j < st->r.n; j++) {
            tra_dims a, b;
            if (st->l.v[i].b != st->r.v[j].b || st->l.v[i].k != st->r.v[j].k) continue;
            tra_catalog_ext(lc, st->l.part->ordinal[st->l.v[i].tuple], &a);
            tra_catalog_ext(rc, st->r.part->ordinal[st->r.v[j].tuple], &b);
            TRA_TRY(need_of(st, &a, &b, most, e));
        }
    }
    return TRA_OK;
}

/* In how many pieces an aggregation of whole arrays is folded, so that workers share it: where all are alike. */
static int fold_tiles(const stage *st) {
    const tra_catalog *c = st->l.part->type->cat;
    if (st->join || !st->agg || st->composed || tra_kernel_needs_tensor(st->agg) || !c->grid) return 1;
    for (int a = 0; a < c->bound.n; a++) {
        if (c->by[a] >= 0) return 1;
    }
    return (int)tra_max64(1, tra_min64(16, tra_catalog_maxfloats(c) >> 16));
}

static tra_status set_up(stage *st, tra_err *e) {
    const tra_op *op = st->op;
    const tra_type *lt = st->l.part->type;
    int64_t tmp = 0;
    size_t kernel = 0;
    const tra_part *parts[2] = {st->l.part, st->r.part};
    classify(st);
    list_side(st, &st->l);
    list_side(st, &st->r);
    st->summand = op->partial ? tra_place_summand(&op->place, st->site->comm.rank) : 0;
    st->state_dtype = op->type.dtype;
    if (st->join) {
        pair_need most;
        TRA_TRY(pair_needs(st, &most, e));
        kernel = most.scratch;
        if (st->agg && !st->fused) tmp = most.term;
    }
    if (st->agg) {
        tra_dtype in = st->join ? tra_dtype_join(lt->dtype, st->r.part->type->dtype) : lt->dtype;
        if (op->op == TRA_PLAN_MERGE) in = op->type.dtype;
        if (!st->fused && !op->partial) st->state_dtype = tra_agg_state_dtype(st->agg, in);
        /* the summands of a fused kernel are f32 where the state of their sum is f64: these are terms, not states */
        st->merges = op->op == TRA_PLAN_MERGE && lt->dtype == st->state_dtype;
        st->composed = !op->partial && tra_kernel_rest(st->agg) != NULL;
        st->tiles = st->fused ? 0 : fold_tiles(st);
    } else {
        st->tiles = 1;
    }
    st->kernel_at = ((size_t)tmp + 63) / 64 * 64;
    size_t scratch = st->kernel_at + kernel, derive = tra_stage_scratch(parts, 2);
    return tra_engine_stage(st->site->engine, scratch > derive ? scratch : derive, tra_stage_io(parts, 2), e);
}

/* Pairs (without R: tuples) that the stage will see, for the progress it shows. */
static int64_t count_pairs(const stage *st) {
    int64_t n = 0;
    if (!st->r.part) return st->l.n;
    for (int64_t i = 0, j = 0; i < st->l.n && j < st->r.n;) {
        const entry *l = &st->l.v[i], *r = &st->r.v[j];
        int64_t nl = 0, nr = 0;
        if (l->b != r->b || l->k != r->k) {
            if (l->b < r->b || (l->b == r->b && l->k < r->k)) i++;
            else j++;
            continue;
        }
        while (i + nl < st->l.n && l[nl].b == l->b && l[nl].k == l->k) nl++;
        while (j + nr < st->r.n && r[nr].b == r->b && r[nr].k == r->k) nr++;
        n += nl * nr;
        i += nl;
        j += nr;
    }
    return n;
}

tra_status tra_stage_joinagg(tra_site *site, const tra_op *op, tra_part *l, tra_part *r, tra_sink *sink, tra_err *e) {
    stage st = {.site = site, .op = op, .sink = sink, .join = op->join, .agg = op->agg, .l.part = l, .r.part = r};
    st.fused = tra_op_accumulates(site->plan, op);
    tra_status s = set_up(&st, e);
    site->all = count_pairs(&st);
    for (int64_t i = 0, j = 0; i < st.l.n && s == TRA_OK;) {
        span b = {.l0 = i, .l1 = i, .r0 = j, .r1 = j};
        while (b.l1 < st.l.n && st.l.v[b.l1].b == st.l.v[i].b) b.l1++;
        while (b.r0 < st.r.n && st.r.v[b.r0].b < st.l.v[i].b) b.r0++;
        b.r1 = b.r0;
        while (b.r1 < st.r.n && st.r.v[b.r1].b == st.l.v[i].b) b.r1++;
        i = b.l1;
        j = b.r1;
        if (r && b.r0 == b.r1) continue;
        tra_block_loop loop = tra_loop_of(site->plan, op, ranks(&st.l, b.l0, b.l1), r ? ranks(&st.r, b.r0, b.r1) : 1,
                                    tra_engine_threads(site->engine), tra_pool_stat(site->pool).budget);
        s = run_span(&st, &b, &loop, e);
    }
    s = tra_stage_end(site, s, e);
    if (s == TRA_OK && op->partial) s = emit_identities(&st, e);
    free(st.l.v);
    free(st.r.v);
    return s;
}
