/* outlet.c - outlets: the results of a stage go to a part, or to an output file: at once, in the background, or to
 * scratch until all have a place. */
#include "output_int.h"

#include "checkpoint.h"

#include <assert.h>
#include <stdlib.h>

/* ---- writing to an output file --------------------------------------------------------------------------------- */

/* Writes a padded chunk to its place. */
static tra_status write_chunk(tra_outfile *o, tra_saved *rec, const void *chunk, tra_err *e) {
    TRA_TRY(tra_writer_store(o->writer, rec->ordinal, chunk, e));
    rec->at = tra_writer_address(o->writer, rec->ordinal);
    rec->len = o->chunk_bytes;
    rec->sum = tra_writer_sums(o->writer)[rec->ordinal];
    tra_log_add(o->log, rec);
    return TRA_OK;
}

/* Where the pieces of an encoded chunk go while it waits. */
typedef struct spooling {
    int fd;
    int64_t at;
} spooling;

static tra_status spool_piece(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e) {
    const spooling *x = ctx;
    return tra_pwrite(x->fd, bytes, (size_t)len, x->at + at, "the scratch file", e);
}

static tra_status spool(tra_outfile *o, tra_saved *rec, void *data, void *scratch, tra_err *e) {
    int64_t t = rec->ordinal;
    spooling x = {tra_spool_fd(o, o->comm.rank),
                  tra_spool_reserve(o, o->chunk_bytes)}; /* what it does not fill stays a hole of the file */
    TRA_TRY(tra_writer_encode(o->writer, t, data, scratch, spool_piece, &x, &o->encoded[t], e));
    o->spool_file[t] = o->comm.rank;
    rec->at = o->spool_at[t] = x.at;
    rec->len = o->encoded[t].len;
    rec->mask = o->encoded[t].mask;
    rec->sum = o->encoded[t].sum;
    tra_log_add(o->log, rec);
    return TRA_OK;
}

/* A block to be written in the background. */
typedef struct pending {
    tra_outfile *o;
    tra_pool *pool;
    tra_block *block;
    tra_saved rec;
} pending;

static tra_status write_in_background(void *ctx, tra_err *e) {
    pending *x = ctx;
    tra_status s = write_chunk(x->o, &x->rec, x->block->ptr, e);
    tra_block_free(x->pool, x->block);
    free(x);
    return s;
}

/* Are arrays made dense before they are written, in the worker's io memory? */
static bool becomes_dense(const tra_outfile *o) { return o->memory_type.layout && !o->ncounts; }

static int64_t dense_room(const tra_outfile *o) { return becomes_dense(o) ? (o->chunk_bytes + 63) / 64 * 64 : 0; }

/* Writes an array that is not dense in memory as a dense chunk. */
static tra_status write_dense(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *block, tra_err *e) {
    tra_cell from = tra_cell_new(&o->memory_type, rec->ordinal, block->ptr),
             to = tra_cell_new(&o->file_type, rec->ordinal, w->io);
    tra_dims zero = {.n = to.array.ext.n};
    tra_cell_copy(&to, &zero, &from, &zero, &to.array.ext);
    if (o->zstd) return spool(o, rec, w->io, (char *)w->io + dense_room(o), e);
    tra_writer_pad(o->writer, rec->ordinal, w->io);
    return write_chunk(o, rec, w->io, e);
}

/* Makes every zero of a relation of sparse type +0, as are elements without an entry: so the bytes of the file do not
 * depend on whether arrays were dense in memory. */
static void clear_zero_signs(const tra_type *t, int64_t ordinal, void *data) {
    int64_t n = tra_catalog_elements_of(t->cat, ordinal);
    double *d = data;
    float *f = data;
    for (int64_t i = 0; i < n && t->dtype == TRA_F64; i++) d[i] = d[i] == 0 ? 0 : d[i];
    for (int64_t i = 0; i < n && t->dtype == TRA_F32; i++) f[i] = f[i] == 0 ? 0 : f[i];
}

/* Writes the array of a tuple, and frees its block. */
static tra_status write_tuple(const tra_outlet *outlet, tra_worker *w, int64_t ordinal, tra_block *block, tra_err *e) {
    tra_outfile *o = outlet->file;
    tra_thread_tally *tally = &o->tallies[w->id];
    tra_saved rec = {.ordinal = ordinal};
    if (o->digester) tra_digester_add(o->digester, &rec.digest, ordinal, block->ptr);
    tally->arrays++;
    tally->bytes += o->mapping ? tra_packed_bytes(o, ordinal) : block->bytes;
    tra_digest_add(&tally->digest, &rec.digest);
    if (o->ncounts && !o->mapping) return tra_counted_put(o, w, &rec, block, e);
    if (o->mapping || becomes_dense(o)) {
        tra_status s = o->mapping ? tra_packed_wait(o, w, &rec, block, e) : write_dense(o, w, &rec, block, e);
        tra_block_free(outlet->pool, block);
        return s;
    }
    assert(block->bytes >= o->chunk_bytes);
    if (o->memory_type.sparse) clear_zero_signs(&o->memory_type, ordinal, block->ptr);
    if (!o->zstd) {
        pending *x = tra_malloc(sizeof *x);
        *x = (pending){o, outlet->pool, block, rec};
        tra_writer_pad(o->writer, ordinal, block->ptr);
        tra_engine_background(outlet->engine, write_in_background, x);
        return TRA_OK;
    }
    tra_status s = spool(o, &rec, block->ptr, w->io, e);
    tra_block_free(outlet->pool, block);
    return s;
}

/* ---- outlets --------------------------------------------------------------------------------------------------- */

bool tra_outlet_has(const tra_outlet *s, int64_t ordinal) {
    if (s->file) return s->file->tuple_flags[ordinal] != TRA_TUPLE_MINE;
    int64_t i = tra_part_find(s->part, ordinal, s->summand);
    return i >= 0 && s->part->block[i];
}

int64_t tra_outlet_bytes(const tra_outlet *s, int64_t bytes) {
    bool chunk = s->file && !s->file->ncounts && !becomes_dense(s->file);
    return chunk ? tra_max64(bytes, s->file->chunk_bytes) : bytes;
}

size_t tra_outlet_io(const tra_outlet *s) {
    const tra_outfile *o = s->file;
    if (!o) return 0;
    return (size_t)(o->count_room + dense_room(o) + (o->zstd ? tra_codec_scratch(&o->file_type) : 0));
}

/* Counts the rows of a result of which only the run tells how many it has. Of copies that of the first site. */
static void count_rows(const tra_outlet *s, int64_t ordinal, const tra_block *b) {
    tra_cell c;
    tra_dims key;
    if (!s->counted || !s->op->type.columns || !s->op->type.bounded) return;
    if (s->part && tra_place_copies(&s->op->place) > 1) {
        int *holders = tra_malloc((size_t)s->op->place.sites * sizeof *holders);
        tra_catalog_key(s->op->type.cat, ordinal, &key);
        (void)tra_place_holders(&s->op->place, s->op->type.cat, ordinal, &key, holders);
        bool first = holders[0] == s->site;
        free(holders);
        if (!first) return;
    }
    if (tra_cell_of(&s->op->type, ordinal, b->ptr, b->bytes, &c, NULL) != TRA_OK) return;
    __atomic_fetch_add(&s->counted[0], c.array.ext.v[0], __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->counted[1], 1, __ATOMIC_RELAXED);
}

tra_status tra_outlet_emit(tra_outlet *s, tra_worker *w, int64_t ordinal, int summand, tra_block *block, tra_err *e) {
    if (tra_cancelled()) { /* it may be unfinished */
        tra_block_free(s->pool, block);
        return tra_fail(e, TRA_STOPPED, "the stage has failed");
    }
    if (s->part) {
        int64_t i = tra_part_find(s->part, ordinal, summand);
        if (i < 0 || s->part->block[i]) {
            tra_block_free(s->pool, block);
            return tra_fail(e, TRA_INTERNAL, "a result that the plan does not expect on this site");
        }
        count_rows(s, ordinal, block);
        __atomic_store_n(&s->part->block[i], block, __ATOMIC_RELEASE); /* tra_engine_has_inputs looks at it */
        tra_checkpoint_result(s->checkpoint, s->op, s->part, i);
        tra_block_unpin(s->pool, block);
        return TRA_OK;
    }
    if (!tra_outlet_has(s, ordinal)) {
        count_rows(s, ordinal, block);
        if (w) tra_engine_set_writing(w, true);
        tra_status st = write_tuple(s, w, ordinal, block, e);
        if (w) tra_engine_set_writing(w, false);
        return st;
    }
    tra_block_free(s->pool, block);
    return TRA_OK;
}

bool tra_outlet_takes_panels(const tra_outlet *s) { return s->file && tra_counted_takes_panels(s->file); }

tra_status tra_outlet_emit_panels(tra_outlet *s, tra_worker *w, int64_t ordinal, tra_panels *p, tra_err *e) {
    tra_status st = TRA_OK;
    if (tra_cancelled())
        st = tra_fail(e, TRA_STOPPED, "the stage has failed");
    else if (!tra_outlet_has(s, ordinal)) {
        tra_engine_set_writing(w, true);
        st = tra_counted_put_panels(s->file, w, ordinal, p, e);
        tra_engine_set_writing(w, false);
    }
    tra_panels_free(p, s->pool);
    return st;
}

tra_panels_writing *tra_outlet_begin_panels(tra_outlet *s, tra_worker *w, int64_t ordinal) {
    return tra_counted_begin_panels(s->file, w, ordinal);
}

tra_status tra_outlet_put_panel(tra_panels_writing *p, const tra_cell *panel, tra_err *e) {
    return tra_counted_put_panel(p, panel, e);
}

tra_status tra_outlet_end_panels(tra_panels_writing *p, tra_status s, tra_err *e) {
    return tra_counted_end_panels(p, s, e);
}
