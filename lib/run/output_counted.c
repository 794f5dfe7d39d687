/* output_counted.c - outputs of which all arrays must be counted before any has a place: tensors that are stored by
 * levels (stored.h), tables, and those of output_packed.c and output_compact.c.
 *
 * Where the slices of a tuple begin in the datasets follows from the positions, or rows, of all tuples before. So each
 * array is counted when it is made, and its block waits as it is: in memory while there is room (output_held.c), else
 * in scratch. When all are counted the datasets are allocated at once, and each rank writes the slices of its tuples.
 */
#include "../physical/needs.h"
#include "output_int.h"

#include <stdlib.h>
#include <string.h>

int64_t tra_held_entries(const tra_cell *c) {
    int64_t n;
    if (c->layout) return tra_cell_count(c, c->layout->nparts - 1); /* values come last */
    return tra_dims_product(&c->array.ext, &n) ? n : INT64_MAX;
}

/* ---- with as much scratch as an array needs --------------------------------------------------------------------- */

/* Allocates so many bytes of scratch memory for working on tuple t, whose array is in the cell. */
static tra_status find_scratch(tra_outfile *o, tra_worker *w, int64_t t, const tra_cell *c, int64_t bytes,
                               tra_block **out, tra_err *e) {
    tra_err own = {0};
    tra_status s = tra_engine_take_block(w, bytes, out, &own);
    return s == TRA_OK
               ? s
               : tra_advise_blocks(s, "", &o->memory_type, t, tra_add_most(tra_cell_bytes(c), bytes), o->pool, &own, e);
}

/* Counts the positions, or rows, of tuple t; of tensors, what they have along each counted dimension. */
static tra_status count(tra_outfile *o, tra_worker *w, int64_t t, const tra_cell *c, tra_err *e) {
    int64_t *counts = o->counts + t * o->ncounts;
    uint32_t dims = o->counted ? o->counted : 1;
    for (; !o->levels && dims; dims &= dims - 1) *counts++ = c->array.ext.v[__builtin_ctz(dims)];
    if (!o->levels) return TRA_OK;
    int64_t entries = tra_levels_in_order(o->levels) ? 0 : tra_held_entries(c); /* that are sorted */
    int64_t bytes = tra_stored_scratch(o->levels, entries);
    tra_block *own = NULL;
    bool has = bytes <= o->count_room;
    if (!has) TRA_TRY(find_scratch(o, w, t, c, bytes, &own, e));
    tra_status s = tra_stored_count(o->levels, &o->file_type.cat->bound, c, o->counts + t * o->levels->n,
                                    has ? w->io : own->ptr, e);
    tra_block_free(o->pool, own);
    return s;
}

/* ---- to scratch -------------------------------------------------------------------------------------------------- */

tra_status tra_counted_put(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *b, tra_err *e) {
    tra_cell c;
    tra_status s = tra_cell_of(&o->memory_type, rec->ordinal, b->ptr, b->bytes, &c, e);
    if (s == TRA_OK) s = count(o, w, rec->ordinal, &c, e);
    if (s == TRA_OK && tra_held_take(o, w, rec, b)) return TRA_OK;
    if (s == TRA_OK) s = tra_spool_block(o, rec, b, e);
    tra_block_free(o->pool, b);
    return s;
}

tra_status tra_counted_recount(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e) {
    tra_block *b = NULL;
    tra_cell c;
    if (tra_counted_is_large(o, s->mask, s->len)) return tra_counted_recount_large(o, w, s, e);
    TRA_TRY(tra_engine_take_block(w, s->len, &b, e));
    tra_status st = tra_pread(tra_log_fd(o->log, s->file), b->ptr, (size_t)s->len, s->at, "the scratch file", e);
    if (st == TRA_OK) st = tra_cell_of(&o->memory_type, s->ordinal, b->ptr, s->len, &c, e);
    if (st == TRA_OK) st = count(o, w, s->ordinal, &c, e);
    tra_block_free(o->pool, b);
    return st;
}

/* ---- from scratch to their places -------------------------------------------------------------------------------- */

/* Adds the rows of a block to the digest, and writes them to their places. */
static tra_status put_rows(tra_outfile *o, tra_worker *w, int64_t t, const tra_cell *c, tra_err *e) {
    tra_batch b = {.v = tra_calloc((size_t)o->file_type.columns->n + 1, sizeof *b.v)};
    int64_t first = o->rows_before[t];
    tra_status s = tra_columns_of(c, o->memory_type.columns, &b, e);
    tra_arena *a = tra_arena_new();
    if (s == TRA_OK) tra_strings_recode(o, &b, a);
    if (s == TRA_OK) s = tra_writer_put_rows(o->writer, first, &b, e);
    if (s == TRA_OK) tra_digest_rows(&o->tallies[w->id].digest, first, &b);
    tra_arena_free(a);
    free(b.v);
    if (s != TRA_OK && e->kind == TRA_KIND_OVERFLOW) {
        tra_err was = *e;
        char place[512];
        *e = (tra_err){0};
        tra_fail_kind(e, s, was.kind, "%s%s", tra_op_text(o->op, place, sizeof place), was.msg);
    }
    return s;
}

/* Writes the slices of a tuple's block, which waited in scratch, to their places. */
static tra_status run_put(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    tra_outfile *o = u->ctx;
    const tra_unit_input *in = &u->inputs[0];
    (void)task;
    if (o->log) TRA_TRY(tra_stop_check(e)); /* what waits is saved */
    if (o->counted) return tra_compact_put(o, in->part->ordinal[in->i], &in->cell, e);
    if (!o->levels) return put_rows(o, w, in->part->ordinal[in->i], &in->cell, e);
    int64_t bytes = tra_stored_scratch(o->levels, tra_held_entries(&in->cell));
    tra_block *scratch = NULL;
    TRA_TRY(find_scratch(o, w, in->part->ordinal[in->i], &in->cell, bytes, &scratch, e));
    tra_status s = tra_writer_put(o->writer, in->part->ordinal[in->i], tra_cell_block(&in->cell), scratch->ptr, e);
    tra_block_free(o->pool, scratch);
    return s;
}

/* The same for an array that is written some rows, or some elements, at a time. */
typedef struct large {
    tra_outfile *o;
    int64_t t;
} large;

static tra_status run_large(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    const large *x = u->ctx;
    (void)task;
    if (x->o->log) TRA_TRY(tra_stop_check(e)); /* what waits is saved */
    if (x->o->mapping) return tra_packed_place(x->o, x->t, e);
    return tra_counted_place_large(x->o, w, x->t, e);
}

static void end_large(tra_unit *u) { free(u->ctx); }

static tra_unit *large_unit(tra_outfile *o, int64_t t) {
    tra_unit *u = tra_unit_new(0, 1);
    large *x = tra_malloc(sizeof *x);
    *x = (large){o, t};
    u->run = run_large;
    u->end = end_large;
    u->ctx = x;
    return u;
}

/* The tuples of this rank as a part, whose blocks are those that wait, in memory or in scratch. */
static tra_part *waiting(tra_outfile *o) {
    int64_t n = 0, i = 0;
    for (int64_t t = 0; t < o->memory_type.cat->n; t++) n += o->encoded[t].len > 0;
    tra_part *p = tra_part_new(TRA_PART_STORED, &o->memory_type, n);
    for (int64_t t = 0; t < o->memory_type.cat->n; t++) {
        if (o->encoded[t].len == 0) continue;
        p->ordinal[i] = t;
        if (o->held && o->held[t].block) {
            p->block[i++] = o->held[t].block;
            o->held[t].block = NULL;
            continue;
        }
        p->block[i++] =
            tra_block_of_saved(tra_spool_fd(o, o->spool_file[t]), o->spool_at[t], o->encoded[t].len, o->encoded[t].sum);
    }
    return p;
}

static tra_status put_all(tra_outfile *o, tra_part *p, tra_err *e) {
    int64_t room = tra_block_footprint(o->count_room); /* for one worker, so that at least one can go on */
    tra_status s = tra_engine_begin_stage(o->engine, 0, 0, 0, 0, e);
    if (s == TRA_OK) s = tra_pool_reserve(o->pool, room, e);
    bool reserved = s == TRA_OK;
    for (int64_t i = 0; i < p->n && s == TRA_OK; i++) {
        const tra_encoded *enc = &o->encoded[p->ordinal[i]];
        bool in_memory = p->block[i]->state == TRA_BLOCK_HERE;
        bool apart = o->mapping || (o->levels && !in_memory && tra_counted_is_large(o, enc->mask, enc->len));
        tra_unit *u = apart ? large_unit(o, p->ordinal[i]) : tra_unit_new(1, 1);
        if (!apart) {
            u->inputs[0] = (tra_unit_input){.part = p, .i = i, .after = TRA_AFTER_DROP};
            u->run = run_put;
            u->ctx = o;
        }
        s = tra_engine_submit(o->engine, u, e);
    }
    tra_err drained = {0};
    tra_status end = tra_engine_drain(o->engine, &drained);
    if (end != TRA_OK) *e = drained, s = end;
    if (reserved) tra_pool_release(o->pool, room);
    return s;
}

tra_status tra_counted_place(tra_outfile *o, tra_err *e) {
    tra_comm_sum(&o->comm, o->counts, o->file_type.cat->n * o->ncounts);
    if (o->file_type.columns) {
        o->rows_before = tra_calloc((size_t)o->file_type.cat->n + 1, sizeof *o->rows_before);
        for (int64_t t = 0; t < o->file_type.cat->n; t++) o->rows_before[t + 1] = o->rows_before[t] + o->counts[t];
    }
    tra_part *p = waiting(o);
    tra_status s = o->file_type.columns ? tra_strings_cut(o, p, e) : TRA_OK;
    if (s == TRA_OK && !o->counted && o->comm.rank == 0)
        s = o->levels || o->mapping ? tra_writer_place(o->writer, o->counts, e)
                                    : tra_writer_place_rows(o->writer, o->counts, e);
    s = o->counted ? tra_compact_create(o, e) : tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK && o->comm.size > 1 && o->joined_fd < 0) s = tra_comm_agree(&o->comm, tra_outfile_share(o, e), e);
    if (s == TRA_OK) s = put_all(o, p, e);
    tra_part_release(p, o->pool);
    return tra_comm_agree(&o->comm, s, e);
}
