/* stage.c - the simple local stages: one result from the inputs of one unit. */
#include "../model/rows.h"
#include "../physical/repart.h"
#include "stages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

tra_after tra_stage_after(const tra_site *site, const tra_op *op, int side) {
    if (tra_op_is_only_reader(site->plan, op, side, false)) return TRA_AFTER_DROP;
    return tra_op_is_only_block_reader(site->plan, op, side, false) ? TRA_AFTER_EVICT : TRA_AFTER_KEEP;
}

typedef struct result { /* of one unit */
    tra_outlet *outlet;
    const tra_op *op;
    tra_site *site;
    int64_t ordinal;
    int n; /* gather: so many results from that ordinal on, which lie beside each other; else 0 */
    tra_block *block;
    int64_t reserved; /* bytes, for blocks that the worker takes */
} result;

static void end_result(tra_unit *u) {
    result *x = u->ctx;
    tra_block_free(x->site->pool, x->block); /* only after a failure is it left */
    if (x->reserved > 0) tra_pool_release(x->site->pool, x->reserved);
    free(x);
}

static tra_status emit(result *x, tra_worker *w, tra_err *e) {
    tra_block *b = x->block;
    atomic_fetch_add(&x->site->done, 1);
    x->block = NULL;
    return tra_outlet_emit(x->outlet, w, x->ordinal, 0, b, e);
}

/* Workers get what they need to read a part and to write results. */
static tra_status begin(tra_site *site, const tra_op *op, tra_err *e) {
    int workers = tra_op_workers(site->plan, op, tra_engine_threads(site->engine));
    return tra_engine_begin_stage(site->engine, workers, (size_t)op->method.scratch_bytes, 0,
                                  (size_t)op->method.io_bytes, e);
}

/* Submits a unit. bytes: of the block for its result; -1: its input will be that. takes: the worker allocates the
 * block. */
static tra_status submit(result x0, int64_t bytes, bool takes, tra_unit *u,
                         tra_status (*run)(tra_unit *, int, tra_worker *, tra_err *), tra_err *e) {
    result *x = tra_malloc(sizeof *x);
    tra_site *site = x0.site;
    *x = x0;
    u->ctx = x;
    u->end = end_result;
    u->run = run;
    u->op = x->op->id;
    tra_status s = TRA_OK;
    if (takes) {
        s = tra_pool_reserve(site->pool, tra_block_footprint(bytes), e);
        x->reserved = s == TRA_OK ? tra_block_footprint(bytes) : 0;
    } else if (bytes >= 0)
        s = tra_block_new(site->pool, tra_outlet_bytes(x->outlet, bytes), &x->block, e);
    if (s != TRA_OK) {
        tra_unit_drop(site->engine, u);
        return s;
    }
    return tra_engine_submit(site->engine, u, e);
}

/* ---- copy: MAP, TILE and whatever is not stored, made stored or written ----------------------------------------- */

static tra_status run_copy(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    (void)task;
    int64_t bytes = tra_engine_bytes(&u->inputs[0]);
    if (x->block)
        memcpy(x->block->ptr, tra_cell_block(&u->inputs[0].cell), (size_t)bytes);
    else
        x->block = tra_engine_take_derived(w->engine, &u->inputs[0]);
    /* its size is known only now */
    if (u->inputs[0].cell.layout) tra_block_shrink(x->site->pool, x->block, bytes);
    return emit(x, w, e);
}

tra_status tra_stage_copy(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *outlet, tra_err *e) {
    tra_after after = tra_stage_after(site, op, 0);
    TRA_TRY(begin(site, op, e));
    tra_status s = TRA_OK;
    site->total = in->n;
    for (int64_t i = 0; i < in->n && s == TRA_OK; i++) {
        if (tra_outlet_has(outlet, in->ordinal[i])) continue;
        bool derived = tra_part_resolve(in, i).via;
        tra_unit *u = tra_unit_new(1, 1);
        u->inputs[0] = (tra_unit_input){.part = in, .i = i, .room = tra_outlet_bytes(outlet, 0), .after = after};
        result x = {.outlet = outlet, .op = op, .site = site, .ordinal = in->ordinal[i]};
        s = submit(x, derived ? -1 : tra_part_bytes(in, i), false, u, run_copy, e);
    }
    return tra_engine_end_stage(site->engine, s, e);
}

/* ---- gather: CONCAT, and REPART on one site ----------------------------------------------------------------- */

typedef struct gathering { /* of pieces into blocks that a worker takes */
    result *x;
    tra_cell_piece *pieces;
    int64_t npieces, bytes; /* bytes: of the blocks */
    tra_block **block;
} gathering;

static tra_status take_block(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    gathering *g = ctx;
    g->bytes = tra_add_most(g->bytes, bytes);
    return tra_block_take(g->x->site->pool, bytes, out, e);
}

static tra_status gather(void *ctx, tra_err *e) {
    gathering *g = ctx;
    const result *x = g->x;
    tra_pool *pool = x->site->pool;
    tra_cell *c = tra_calloc((size_t)x->n, sizeof *c);
    tra_making *m = tra_calloc((size_t)x->n, sizeof *m);
    tra_status s = TRA_OK;
    g->bytes = 0;
    for (int i = 0; i < x->n; i++) {
        c[i] = tra_cell_new(&x->op->type, x->ordinal + i, x->block ? x->block->ptr : NULL);
        if (!x->block) tra_making_begin(&m[i], &c[i], take_block, g);
    }
    tra_cell_gather(g->pieces, g->npieces, c, x->n);
    for (int i = x->n - 1; i >= 0 && !x->block; i--) { /* one that found no memory is the last that was begun */
        tra_block **b = &g->block[i];
        if (s == TRA_OK && (m[i].block || m[i].s != TRA_OK || i == 0)) s = tra_making_end(&m[i], pool, &c[i], b, e);
    }
    for (int i = 0; i < x->n && !x->block; i++) {
        if (s == TRA_OK) tra_block_unreserve(pool, g->block[i]);
        if (s == TRA_OK) continue;
        tra_block_free(pool, m[i].block);
        g->block[i] = NULL;
    }
    free(m);
    free(c);
    return s;
}

static tra_status run_gather(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    gathering g = {.x = x, .npieces = u->ninputs, .block = tra_calloc((size_t)x->n, sizeof *g.block)};
    tra_err own = {0};
    char place[512];
    tra_dims zero = {.n = x->op->type.cat->bound.n}, to = zero;
    (void)task;
    g.pieces = tra_calloc((size_t)u->ninputs + 1, sizeof *g.pieces);
    for (int i = 0; i < u->ninputs; i++) { /* of a CONCAT in ascending order of keydim */
        const tra_unit_input *in = &u->inputs[i];
        g.pieces[i] = (tra_cell_piece){.from = zero, .to = to, .ext = in->cell.array.ext};
        if (x->op->op == TRA_PLAN_REPART)
            tra_repart_piece(in->part->type, x->op, in->part->ordinal[in->i], x->ordinal, x->n, &g.pieces[i]);
        else
            to.v[x->op->spec.dim] += in->cell.array.ext.v[x->op->spec.dim];
        g.pieces[i].src = &in->cell;
    }
    int64_t rows = to.n == 1 ? to.v[0] : 0, most = x->op->spec.most_rows;
    if (most && rows > most) {
        free(g.pieces);
        free(g.block);
        return tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_OUTGROWN,
                             "%s%" PRId64 " rows come together, and by what was expected %" PRId64 " have room",
                             tra_op_text(x->op, place, sizeof place), rows, most);
    }
    tra_status s = tra_engine_retry(w, gather, &g, &own);
    free(g.pieces);
    if (s != TRA_OK) {
        s = tra_advise_blocks(s, tra_op_text(x->op, place, sizeof place), &x->op->type, x->ordinal, 2 * g.bytes,
                              x->site->pool, &own, e);
    }
    for (int i = 0; i < x->n; i++) {
        if (!x->block) x->block = g.block[i];
        if (s == TRA_OK) s = emit(x, w, e);
        x->ordinal++;
        tra_block_free(x->site->pool, x->block);
        x->block = NULL;
    }
    free(g.block);
    return s;
}

/* ---- append: CONCAT of tables whose rows are known -------------------------------------------------------------- */

/* A result of which each unit appends one input, at a place that is known beforehand. So an input that is computed is
 * freed when it was appended, where `gather` holds all of them. */
typedef struct appending {
    result x;
    tra_batch to;
    _Atomic int left, users; /* inputs that are to come; units, and the thread that submits them */
} appending;

typedef struct piece { /* of one unit */
    appending *a;
    int64_t at; /* the first of its rows in the result */
} piece;

static void end_appending(appending *a) {
    if (atomic_fetch_sub(&a->users, 1) > 1) return;
    tra_block_free(a->x.site->pool, a->x.block); /* only after a failure is it left */
    free(a->to.v);
    free(a);
}

static void end_piece(tra_unit *u) {
    piece *p = u->ctx;
    end_appending(p->a);
    free(p);
}

static tra_status run_append(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    const piece *p = u->ctx;
    const tra_schema *s = p->a->x.op->type.columns;
    tra_batch from = {.v = tra_calloc((size_t)s->n + 1, sizeof *from.v)};
    (void)task;
    tra_status status = tra_columns_view(&u->inputs[0].cell, s, &from, e);
    if (status == TRA_OK) tra_append_rows(s, &p->a->to, p->at, &from);
    free(from.v);
    if (status == TRA_OK && atomic_fetch_sub(&p->a->left, 1) == 1) status = emit(&p->a->x, w, e);
    return status;
}

static tra_status submit_pieces(const result *x, tra_part *in, int n, const int64_t *v, tra_after after, tra_err *e) {
    const tra_schema *s = x->op->type.columns;
    int64_t rows = 0, at = 0;
    tra_dims ext;
    for (int j = 0; j < n; j++) tra_catalog_ext(in->type->cat, in->ordinal[v[j]], &ext), rows += ext.v[0];
    appending *a = tra_calloc(1, sizeof *a);
    *a = (appending){*x, {.v = tra_calloc((size_t)s->n + 1, sizeof *a->to.v)}, n, 1};
    tra_status status = tra_block_new(x->site->pool, tra_outlet_bytes(x->outlet, tra_columns_room(s, rows)),
                                      &a->x.block, e);
    if (status == TRA_OK) {
        tra_cell c = tra_cell_new(&x->op->type, x->ordinal, a->x.block->ptr);
        tra_columns_begin(&c, s, rows, &a->to);
    }
    for (int j = 0; j < n && status == TRA_OK; j++) {
        tra_unit *u = tra_unit_new(1, 1);
        piece *p = tra_malloc(sizeof *p);
        *p = (piece){a, at};
        atomic_fetch_add(&a->users, 1);
        u->inputs[0] = (tra_unit_input){.part = in, .i = v[j], .after = after};
        u->ctx = p;
        u->end = end_piece;
        u->run = run_append;
        u->op = x->op->id;
        tra_catalog_ext(in->type->cat, in->ordinal[v[j]], &ext);
        at += ext.v[0];
        status = tra_engine_submit(x->site->engine, u, e);
    }
    end_appending(a);
    return status;
}

/* Is a result made on this site, and not there yet? */
static bool is_wanted(const tra_outlet *outlet, int64_t t) {
    bool mine = !outlet->part || tra_part_find(outlet->part, t, outlet->summand) >= 0;
    return mine && !tra_outlet_has(outlet, t);
}

/* Lists the tuples of `in` that a result is made of; returns how many. */
static int list_inputs(const tra_op *op, const tra_part *in, int64_t result, int64_t **v, int64_t *cap) {
    const tra_catalog *c = in->type->cat;
    tra_dims key, lo = {0}, box = {0}, at, k;
    int64_t n = 0;
    tra_catalog_key(op->type.cat, result, &key);
    if (op->op == TRA_PLAN_REPART) {
        if (!tra_repart_box(in->type, op, result, &lo, &box)) return 0;
    } else {
        for (int d = 0, from = 0; d < c->frontier.n; d++) {
            bool joined = d == op->spec.keydim;
            lo.v[lo.n++] = joined ? 0 : key.v[from++];
            box.v[box.n++] = joined ? c->frontier.v[d] : 1;
        }
    }
    at = (tra_dims){.n = box.n};
    do {
        k.n = box.n;
        for (int d = 0; d < k.n; d++) k.v[d] = lo.v[d] + at.v[d];
        int64_t t = tra_catalog_find(c, &k), i = t < 0 ? -1 : tra_part_find(in, t, 0);
        if (i < 0) continue; /* a hole */
        TRA_ROOM(*v, n, *cap);
        (*v)[n++] = i;
    } while (tra_next(&box, &at));
    return (int)n;
}

/* Leaves out pieces of a table that have no rows, but not all of them; returns how many are left. */
static int without_rowless(const tra_op *op, const tra_part *in, int n, int64_t *v) {
    int left = 0;
    for (int i = 0; i < n && op->op == TRA_PLAN_CONCAT && op->type.columns; i++) {
        tra_part_source x = tra_part_resolve((tra_part *)in, v[i]);
        const tra_block *b = x.via ? NULL : x.stored->block[x.at];
        if (i - left < n - 1 && b && b->rowless) continue;
        v[left++] = v[i];
    }
    return left > 0 ? left : n;
}

/* How many results from t on, which have their inputs in common with it, are made at once: a row of entries is then
 * read once for all of them. */
static int count_beside(const tra_op *op, const tra_part *in, const tra_outlet *outlet, int64_t t, const int64_t *v,
                        int nv, int64_t room) {
    enum { MOST = 256 };
    const tra_catalog *c = op->type.cat;
    int last = c->frontier.n - 1, n = 1;
    int64_t *w = NULL, cap = 0, width = last < 0 ? 0 : c->bound.v[last];
    tra_dims key, next;
    if (op->op != TRA_PLAN_REPART || op->type.layout != &tra_rows || last < 0 || nv == 0) return 1;
    tra_catalog_key(c, t, &key);
    for (; n < MOST && t + n < c->n && width * (n + 1) < UINT32_MAX; n++) {
        room -= tra_size_planned(tra_type_bytes(&op->type, t + n));
        key.v[last]++;
        tra_catalog_key(c, t + n, &next);
        if (room < 0 || !tra_dims_eq(&key, &next) || !is_wanted(outlet, t + n)) break;
        if (list_inputs(op, in, t + n, &w, &cap) != nv || memcmp(v, w, (size_t)nv * sizeof *v) != 0) break;
    }
    free(w);
    return n;
}

tra_status tra_stage_gather(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *outlet, tra_err *e) {
    tra_after after = tra_stage_after(site, op, 0);
    TRA_TRY(begin(site, op, e));
    tra_status s = TRA_OK;
    int64_t *last = tra_calloc((size_t)in->n + 1, sizeof *last), *v = NULL, cap = 0, n; /* last: its last reader */
    int64_t room = tra_pool_stat(site->pool).budget / 8;
    site->total = op->type.cat->n;
    for (int64_t t = 0; t < op->type.cat->n; t++)
        for (int i = is_wanted(outlet, t) ? list_inputs(op, in, t, &v, &cap) : 0; i > 0; i--) last[v[i - 1]] = t;
    for (int64_t t = 0; t < op->type.cat->n && s == TRA_OK; t += n) {
        int inputs = (n = is_wanted(outlet, t)) ? list_inputs(op, in, t, &v, &cap) : 0;
        if (n == 0 || (inputs == 0 && op->op == TRA_PLAN_CONCAT)) {
            n = 1;
            continue;
        }
        result x = {.outlet = outlet, .op = op, .site = site, .ordinal = t};
        if (tra_op_appends(site->plan, op)) {
            n = 1;
            s = submit_pieces(&x, in, inputs, v, after, e);
            continue;
        }
        n = count_beside(op, in, outlet, t, v, inputs, room);
        inputs = without_rowless(op, in, inputs, v);
        tra_unit *u = tra_unit_new(inputs, 1);
        for (int j = 0; j < inputs; j++) {
            tra_after now = last[v[j]] < t + n ? after : TRA_AFTER_KEEP;
            u->inputs[j] = (tra_unit_input){.part = in, .i = v[j], .after = now};
        }
        x.n = (int)n;
        int64_t bytes = tra_size_planned(tra_type_bytes(&op->type, t));
        for (int64_t i = t + 1; i < t + n; i++)
            bytes = tra_add_most(tra_block_footprint(bytes), tra_size_planned(tra_type_bytes(&op->type, i)));
        s = submit(x, bytes, op->type.layout, u, run_gather, e);
    }
    free(last);
    free(v);
    return tra_engine_end_stage(site->engine, s, e);
}
