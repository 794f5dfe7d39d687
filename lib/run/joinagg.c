/* joinagg.c - joins and aggregations on one site: what they need, in which super-blocks they run, and how the units of
 * the stages of a scan are interleaved. */
#include "../kernel/rows_cut.h"
#include "../physical/scan.h"
#include "rowless.h"
#include "superblock.h"

#include <stdlib.h>

/* ---- spans -------------------------------------------------------------------------------------------------- */

/* An entry of each line (pairs.h). */
static const tra_pairs_entry **first_of_line(const tra_side *s, int64_t from, int64_t to, int64_t n) {
    const tra_pairs_entry **v = tra_calloc((size_t)n, sizeof(tra_pairs_entry *));
    for (int64_t i = from; i < to; i++) {
        if (!v[s->v[i].line]) v[s->v[i].line] = &s->v[i];
    }
    return v;
}

/* Bytes of the blocks that are in memory while entries from..to are read. Of an array that a map computes on reading:
 * at least those of the array that it is computed from. */
static int64_t bytes_of(const tra_side *s, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t bytes = tra_part_bytes(s->part, s->v[i].tuple);
        tra_part_source x = tra_part_resolve(s->part, s->v[i].tuple);
        if (x.via && x.via->kind == TRA_PART_MAP) bytes = tra_max64(bytes, tra_part_bytes(x.stored, x.at));
        n += tra_block_footprint(bytes);
    }
    return n;
}

/* The most entries of one line. */
static int64_t longest_row(const tra_side *s, int64_t from, int64_t to, int64_t lines) {
    int64_t *n = tra_calloc((size_t)lines + 1, sizeof *n), most = 0;
    for (int64_t i = from; i < to; i++) most = tra_max64(most, ++n[s->v[i].line]);
    free(n);
    return most;
}

/* Are there several steps with the same k on this side? Then the entries of the other side are read again. */
static bool repeats(const tra_side *s, int64_t from, int64_t to) {
    for (int64_t i = from + 1; i < to; i++) {
        if (s->v[i].k == s->v[i - 1].k && s->v[i].contracted != s->v[i - 1].contracted) return true;
    }
    return false;
}

/* Does each tuple of one part meet itself alone, as in A'A by rows? Then both sides read it at the same time. */
static bool meets_itself(const tra_side *l, const tra_side *r, const tra_pairs_range *b) {
    if (b->l1 - b->l0 != b->r1 - b->r0) return false;
    for (int64_t i = 0; i < b->l1 - b->l0; i++) {
        const tra_pairs_entry *x = &l->v[b->l0 + i], *y = &r->v[b->r0 + i];
        tra_part_source from = tra_part_resolve(l->part, x->tuple), other = tra_part_resolve(r->part, y->tuple);
        if (x->k != y->k || (i > 0 && x->k == x[-1].k)) return false;
        if (from.stored != other.stored || from.at != other.at) return false;
    }
    return true;
}

/* What becomes of a block that was read. soon: it is read again, and there is memory for it until then; never: nothing
 * reads it again. */
static tra_after after(bool soon, bool never) {
    return never ? TRA_AFTER_DROP : soon ? TRA_AFTER_KEEP : TRA_AFTER_EVICT;
}

/* The block loop of a span of ni x nj results. */
static tra_block_loop loop_of(const tra_joinagg *st, const tra_pairs_range *b, int64_t *ni, int64_t *nj) {
    const tra_side *l = &st->pairs.l, *r = &st->pairs.r;
    *ni = tra_side_lines(l, b->l0, b->l1), *nj = r->part ? tra_side_lines(r, b->r0, b->r1) : 1;
    return tra_loop_of(st->site->plan, st->op, *ni, *nj, longest_row(l, b->l0, b->l1, *ni),
                       tra_engine_threads(st->site->engine), st->budget);
}

/* Begins the next span; false: there is none. */
static bool open_span(tra_joinagg *st) {
    const tra_side *l = &st->pairs.l, *r = &st->pairs.r;
    if (!tra_pairs_next_span(&st->pairs, &st->span.range)) return false;
    const tra_pairs_range *b = &st->span.range;
    int64_t ni, nj;
    tra_block_loop loop = loop_of(st, b, &ni, &nj);
    tra_info(2, "  %" PRId64 " x %" PRId64 " results in super-blocks of %" PRId64 " x %" PRId64 "%s", ni, nj, loop.ci,
             loop.cj, loop.keeps_left ? ", of each row of which the left operand stays" : "");
    st->span.open = true;
    st->span.ni = ni, st->span.nj = nj, st->span.i = st->span.j = 0;
    st->span.loop = loop;
    st->span.li = first_of_line(l, b->l0, b->l1, ni);
    st->span.rj = r->part ? first_of_line(r, b->r0, b->r1, nj) : NULL;
    /* Inputs stay in memory only if they are read again, and all fits until then. */
    tra_type state = st->op->type;
    state.dtype = st->how.state_dtype;
    int64_t result = tra_block_footprint(
        tra_max64(tra_type_bytes_largest(&state).bound, tra_type_bytes_largest(&st->op->type).bound));
    int64_t right = r->part ? bytes_of(r, b->r0, b->r1) : 0, left = bytes_of(l, b->l0, b->l1);
    int64_t other =
        2 * loop.ci * loop.cj * result + (loop.keeps_left ? tra_ceil_div(left * loop.ci, tra_max64(1, ni)) : 0);
    st->span.right_fits = right + other <= st->budget, st->span.fits = right + left + other <= st->budget;
    bool l_repeats = repeats(r, b->r0, b->r1), r_repeats = r->part && repeats(l, b->l0, b->l1);
    const tra_plan *p = st->site->plan;
    bool itself = r->part && meets_itself(l, r, b);
    st->span.l_read_again = !tra_op_is_only_block_reader(p, st->op, 0, itself) || l_repeats;
    st->span.r_read_again = r->part && (!tra_op_is_only_block_reader(p, st->op, 1, itself) || r_repeats);
    st->span.l_only_reader = tra_op_is_only_reader(p, st->op, 0, itself) && !l_repeats;
    st->span.r_only_reader = r->part && tra_op_is_only_reader(p, st->op, 1, itself) && !r_repeats;
    return true;
}

static void close_span(tra_joinagg *st) {
    free(st->span.li), free(st->span.rj);
    st->span.li = st->span.rj = NULL;
    st->span.open = false;
}

/* Are all results of the super-block at (i, j) mirror images of others? Then it reads nothing. */
static bool is_mirrored(const tra_joinagg *st, int64_t i, int64_t j) {
    int64_t i1 = tra_min64(i + st->span.loop.ci, st->span.ni), j1 = tra_min64(j + st->span.loop.cj, st->span.nj);
    bool copied = st->how.triangle && st->span.li[i]->own > st->span.rj[j1 - 1]->own;
    for (int64_t x = i; x < i1 && copied; x++)
        for (int64_t y = j; y < j1 && copied; y++)
            copied = tra_superblock_is_mirrored(st, st->span.li[x]->own, st->span.rj[y]->own);
    return copied;
}

/* Does no earlier super-block of the same row read this one's arrays of L? (And below: no later one; no later one of
 * the same column those of R?) */
static bool is_first_of_row(const tra_joinagg *st) {
    for (int64_t j = 0; j < st->span.j; j += st->span.loop.cj)
        if (!is_mirrored(st, st->span.i, j)) return false;
    return true;
}

static bool is_last_of_row(const tra_joinagg *st) {
    for (int64_t j = st->span.j + st->span.loop.cj; j < st->span.nj; j += st->span.loop.cj)
        if (!is_mirrored(st, st->span.i, j)) return false;
    return true;
}

static bool is_last_of_column(const tra_joinagg *st) {
    for (int64_t i = st->span.i + st->span.loop.ci; i < st->span.ni; i += st->span.loop.ci)
        if (!is_mirrored(st, i, st->span.j)) return false;
    return true;
}

static tra_status begin_superblock(tra_joinagg *st, tra_err *e) {
    int64_t i = st->span.i, j = st->span.j, ni = st->span.ni, nj = st->span.nj;
    tra_block_loop loop = st->span.loop;
    bool last_row = is_last_of_column(st), last_column = is_last_of_row(st);
    st->l_after =
        after((st->span.l_read_again || !last_column) && st->span.fits, st->span.l_only_reader && last_column);
    st->r_after =
        after((st->span.r_read_again || !last_row) && st->span.right_fits, st->span.r_only_reader && last_row);
    tra_superblock_bounds at = {&st->span.range,
                                st->span.li,
                                st->span.rj,
                                i,
                                tra_min64(loop.ci, ni - i),
                                j,
                                tra_min64(loop.cj, nj - j),
                                loop.keeps_left && is_first_of_row(st)};
    return tra_superblock_begin(st, &at, e);
}

static void end_superblock(tra_joinagg *st) {
    tra_superblock_end(st);
    st->span.j += st->span.loop.cj;
    if (st->span.j < st->span.nj) return;
    tra_superblock_release_row(st, after(st->span.l_read_again && st->span.fits, st->span.l_only_reader));
    st->span.j = 0;
    st->span.i += st->span.loop.ci;
    if (st->span.i >= st->span.ni) close_span(st);
}

/* The next unit of the stage; *u is NULL after the last. Waits where the engine does. */
static tra_status next_unit(tra_joinagg *st, tra_unit **u, tra_err *e) {
    *u = NULL;
    for (;;) {
        if (st->superblock) {
            *u = tra_superblock_next(st);
            if (*u) return TRA_OK;
            end_superblock(st);
        }
        if (!st->span.open && !open_span(st)) return TRA_OK;
        if (st->span.ni == 0 || st->span.nj == 0)
            close_span(st);
        else
            TRA_TRY(begin_superblock(st, e));
    }
}

/* ---- the stage ------------------------------------------------------------------------------------------------ */

/* The summand of a result to which nothing on this site contributes is the identity of the aggregation. */
static tra_status emit_identities(tra_joinagg *st, tra_err *e) {
    tra_part *out = st->outlet->part;
    for (int64_t i = 0; out && i < out->n; i++) {
        if (!out->block[i]) TRA_TRY(tra_superblock_identity(st, out->ordinal[i], e));
    }
    return TRA_OK;
}

/* In how many tiles an aggregation of whole arrays is computed, so that several workers share an output; 1 unless all
 * arrays have equal extents. */
static int fold_tiles(const tra_joinagg *st) {
    const tra_catalog *c = st->pairs.l.part->type->cat;
    if (st->join || !st->agg || st->how.composed || st->pairs.l.part->type->layout || st->op->type.layout ||
        tra_kernel_needs_tensor(st->agg) || !c->grid)
        return 1;
    for (int a = 0; a < c->bound.n; a++) {
        if (c->by[a] >= 0) return 1;
    }
    return (int)tra_max64(1, tra_min64(16, tra_catalog_elements_most(c) >> 16));
}

/* Are the states of a fused kernel small, compared with what one step reads? Then workers compute the terms of several
 * steps at the same time, although they are added in order; otherwise tiles and outputs give them enough to do. Decided
 * by the bounds of the catalogs alone, since the bits of the result depend on it. */
static bool goes_ahead(const tra_joinagg *st, const tra_dims *term) {
    const tra_type *l = st->pairs.l.part->type, *r = st->pairs.r.part->type;
    int64_t n = tra_dense_bytes(TRA_F64, term);
    int64_t read = tra_max64(tra_dense_bytes(TRA_F64, &l->cat->bound), tra_dense_bytes(TRA_F64, &r->cat->bound));
    return st->how.fused && !l->layout && !r->layout && n <= TRA_AHEAD && n <= read / 4;
}

/* Bytes that each worker needs. */
typedef struct worker_needs {
    size_t scratch, keep, io;
} worker_needs;

static tra_status set_up(tra_joinagg *st, worker_needs *workers, tra_err *e) {
    const tra_op *op = st->op;
    const tra_type *lt = st->pairs.l.part->type;
    tra_pair_need pair = tra_op_pair_need(st->site->plan, op);
    st->how.summand = op->spec.partial ? tra_place_summand(&op->place, st->site->comm.rank) : 0;
    st->how.state_dtype = tra_op_state_dtype(st->site->plan, op);
    if (pair.term >= TRA_SIZE_MOST || pair.kernel >= TRA_SIZE_MOST || pair.finish >= TRA_SIZE_MOST)
        return tra_fail(e, TRA_RESOURCE,
                        "a pair of blocks needs too much memory; import the inputs with smaller blocks (--block)");
    if (st->agg) {
        /* summands that a fused kernel left in f32, where states are f64, are added as terms */
        st->how.merges = op->op == TRA_PLAN_MERGE && lt->dtype == st->how.state_dtype;
        st->how.composed = !op->spec.partial && tra_kernel_rest(st->agg) != NULL;
        if (st->how.composed && !st->pairs.l.shape) tra_pairs_shapes(&st->pairs);
        st->how.sums =
            tra_op_sums(st->site->plan, op, tra_engine_threads(st->site->engine), tra_pool_stat(st->site->pool).budget);
        st->how.tiles = st->how.grows || st->how.sums ? 1 : st->how.fused ? 0 : fold_tiles(st);
        st->how.ahead = st->join && goes_ahead(st, &pair.ext);
        if (st->how.fused && !st->how.triangle) st->cut = tra_kernel_cut_rows(st->join, lt, st->pairs.r.part->type);
        if (st->cut) st->join = st->cut;
    } else {
        st->how.tiles = 1;
    }
    st->kernel_scratch_at = (size_t)pair.term;
    size_t scratch = st->kernel_scratch_at + (size_t)tra_max64(pair.kernel, pair.finish);
    size_t derive = (size_t)op->method.scratch_bytes;
    if (st->how.grows || st->how.counted) {
        int64_t step =
            tra_op_grown(st->site->plan, op).step * tra_op_grow_at_once(op, tra_engine_threads(st->site->engine));
        TRA_TRY(tra_pool_reserve(st->site->pool, step, e));
        st->reserved = step;
    }
    scratch = scratch > derive ? scratch : derive;
    if (scratch > workers->scratch) workers->scratch = scratch;
    if ((size_t)pair.keep > workers->keep) workers->keep = (size_t)pair.keep;
    if ((size_t)op->method.io_bytes > workers->io) workers->io = (size_t)op->method.io_bytes;
    return TRA_OK;
}

static tra_status begin(tra_joinagg *st, tra_site *site, tra_loop_stage *v, worker_needs *most, tra_err *e) {
    const tra_op *op = v->op;
    *st = (tra_joinagg){.site = site, .op = op, .outlet = &v->outlet, .join = op->spec.join, .agg = op->spec.agg};
    pthread_mutex_init(&st->outputs.lock, NULL);
    st->budget = tra_pool_stat(site->pool).budget - op->method.reserved - op->method.scan.reserved;
    tra_rowless none = {0};
    tra_status s = tra_rowless_make(site, v, &none, e);
    tra_pairs_list(&st->pairs, op, v->l, v->r, site->plan->reproducible, (const bool *const[]){none.v[0], none.v[1]});
    tra_rowless_free(&none);
    if (s != TRA_OK) return s;
    st->how.fused = tra_op_accumulates(site->plan, op);
    st->how.triangle = tra_op_mirror(site->plan, op, &st->how.mirror);
    st->how.grows = tra_op_grows(op);
    st->how.counted = !op->spec.agg && op->type.layout;
    st->how.sparse = op->spec.join
                         ? tra_kernel_sparse(op->spec.join, TRA_USE_JOIN, v->l->type->sparse, v->r->type->sparse)
                         : v->l->type->sparse;
    site->total += tra_pairs_count(&st->pairs);
    return set_up(st, most, e);
}

static void end(tra_joinagg *st) {
    tra_pool_release(st->site->pool, st->reserved + st->outputs.reserved);
    pthread_mutex_destroy(&st->outputs.lock);
    tra_pairs_free(&st->pairs);
    free(st->pinned_row.v);
    free(st->cut);
}

/* The tuple of the scanned part that holds tuple i of this one; -1: another part does. */
static int64_t scanned_tuple(tra_part *part, int64_t i, const tra_part *scanned) {
    tra_part_source from = tra_part_resolve(part, i);
    return from.stored == scanned ? from.at : -1;
}

/* How far a unit is in the scan: the last tuple of the scanned part that it reads; -1: it reads none. */
static int64_t scan_position(const tra_unit *u, const tra_part *scanned) {
    int64_t at = -1;
    for (int i = 0; scanned && i < u->ninputs; i++)
        at = tra_max64(at, scanned_tuple(u->inputs[i].part, u->inputs[i].i, scanned));
    return at;
}

static void count_side(const tra_side *s, int64_t from, int64_t to, int64_t times, const tra_part *scanned,
                       int64_t *reads) {
    for (int64_t i = from; i < to && s->part; i++) {
        int64_t at = scanned_tuple(s->part, s->v[i].tuple, scanned);
        if (at >= 0) reads[at] += times;
    }
}

/* Adds to reads[] how often the stage reads each tuple of the scanned part. */
static void count_reads(const tra_joinagg *st, const tra_part *scanned, int64_t *reads) {
    for (tra_pairs_range b = {0}; tra_pairs_next_span(&st->pairs, &b);) {
        int64_t ni, nj;
        tra_block_loop loop = loop_of(st, &b, &ni, &nj);
        tra_walk w = tra_walk_begin(&st->pairs, &b);
        while (tra_walk_next(&w)) {
            count_side(&st->pairs.l, w.l0, w.l1, tra_ceil_div(nj, loop.cj), scanned, reads);
            count_side(&st->pairs.r, w.r0, w.r1, tra_ceil_div(ni, loop.ci), scanned, reads);
        }
    }
}

typedef struct scan_reads {
    int64_t *v;   /* how often the stages will still read each tuple of the scanned part; NULL: there is no scan */
    bool whole;   /* nothing else, nor the next turn, reads it later */
    int64_t lead; /* how many of its blocks a stage may be ahead of another: half of those that fit */
} scan_reads;

static scan_reads count_scan(const tra_joinagg *st, int n, const tra_part *scanned) {
    const tra_plan *p = st->site->plan;
    int input = st->op->method.scan.input;
    int64_t most = 1;
    if (!scanned) return (scan_reads){0};
    scan_reads x = {.whole = tra_scan_is_whole(p, input) && !tra_op_is_outside(p, input, st->op->id)};
    x.v = tra_calloc((size_t)scanned->n + 1, sizeof *x.v);
    for (int k = 0; k < n; k++) count_reads(&st[k], scanned, x.v);
    for (int64_t i = 0; i < scanned->n; i++) most = tra_max64(most, tra_part_bytes(scanned, i));
    x.lead = tra_min64(tra_scan_lead(tra_engine_threads(st->site->engine)), tra_max64(1, st->budget / most / 2));
    return x;
}

/* The unit's blocks of the scanned part stay until the last stage has read them; then they leave, or what reads them
 * later decides. */
static void keep_until_last_read(tra_unit *u, const tra_part *scanned, const scan_reads *reads) {
    for (int i = 0; reads->v && i < u->ninputs; i++) {
        int64_t at = scanned_tuple(u->inputs[i].part, u->inputs[i].i, scanned);
        if (at < 0) continue;
        bool last = --reads->v[at] == 0;
        if (!last || reads->whole) u->inputs[i].after = last ? TRA_AFTER_EVICT : TRA_AFTER_KEEP;
    }
}

/* The stage whose next unit is furthest behind in the scan, the first of equal ones; -1: there is none. That stage goes
 * first, so that a block leaves memory as soon as all stages have read it. ready: only units whose inputs are there
 * count. *position: how far that unit is. */
static int furthest_behind(int n, tra_unit *const *next, const tra_part *scanned, bool ready, int64_t *position) {
    int least = -1;
    for (int k = 0; k < n; k++) {
        if (!next[k] || (ready && !tra_engine_has_inputs(next[k]))) continue;
        int64_t at = scan_position(next[k], scanned);
        if (least < 0 || at < *position) least = k, *position = at;
    }
    return least;
}

/* Queues the units of all stages. A stage that needs what another makes of the same block is some blocks behind it; the
 * others wait for it if it is far behind, since blocks must stay in memory until it has read them. */
static tra_status queue_all(tra_joinagg *st, int n, const tra_part *scanned, const scan_reads *reads, tra_unit **next,
                            tra_err *e) {
    int64_t hindmost = 0, position = 0;
    for (int k = 0; k < n; k++) TRA_TRY(next_unit(&st[k], &next[k], e));
    for (;;) {
        bool any = true;
        if (furthest_behind(n, next, scanned, false, &hindmost) < 0) return TRA_OK;
        int k = n == 1 ? 0 : furthest_behind(n, next, scanned, true, &position);
        bool too_far = k < 0 || position > hindmost + reads->lead;
        if (n > 1 && too_far) TRA_TRY(tra_engine_await_end(st->site->engine, &any, e));
        if (n > 1 && too_far && any) continue;
        if (k < 0 && (k = furthest_behind(n, next, scanned, true, &position)) < 0)
            return tra_fail(e, TRA_INTERNAL, "stages of a scan wait for each other");
        tra_unit *u = next[k];
        next[k] = NULL;
        keep_until_last_read(u, scanned, reads);
        TRA_TRY(tra_superblock_queue(&st[k], u, e));
        TRA_TRY(next_unit(&st[k], &next[k], e));
    }
}

tra_status tra_stage_loops(tra_site *site, int n, tra_loop_stage *v, const tra_part *scanned, tra_err *e) {
    tra_joinagg *st = tra_calloc((size_t)n, sizeof *st);
    tra_unit **next = tra_calloc((size_t)n, sizeof(tra_unit *));
    worker_needs most = {0};
    tra_status s = TRA_OK;
    int begun = 0;
    while (begun < n && s == TRA_OK) s = begin(&st[begun], site, &v[begun], &most, e), begun++;
    /* The plan has one index for all workers in just these cases (join_need in lib/physical/needs.c). */
    bool shared = n == 1 && st->pairs.r.part && st->pairs.r.part->type->cat->n == 1;
    if (s == TRA_OK) s = tra_engine_begin_stage(site->engine, 0, most.scratch, shared ? 0 : most.keep, most.io, e);
    if (s == TRA_OK && shared) s = tra_engine_share_kept(site->engine, most.keep, e);
    scan_reads reads = s == TRA_OK ? count_scan(st, n, scanned) : (scan_reads){0};
    if (s == TRA_OK) s = queue_all(st, n, scanned, &reads, next, e);
    free(reads.v);
    for (int k = 0; k < begun; k++) {
        if (next[k]) tra_unit_drop(site->engine, next[k]);
        tra_superblock_end(&st[k]);
        tra_superblock_release_row(&st[k], TRA_AFTER_KEEP); /* after a failure in the middle of a row */
        close_span(&st[k]);
    }
    s = tra_engine_end_stage(site->engine, s, e);
    for (int k = 0; k < begun; k++) {
        if (s == TRA_OK && st[k].op->spec.partial) s = emit_identities(&st[k], e);
        end(&st[k]);
    }
    free(st), free(next);
    return s;
}
