/* output_chunks.c - outputs of dense arrays, each a chunk: written at once, in the background, or encoded. The place of
 * an encoded chunk follows from the lengths of all before it in key order, so that the file does not depend on timing:
 * it waits in scratch until these are known. */
#include "output_int.h"

#include <assert.h>
#include <stdlib.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

/* ---- at once ----------------------------------------------------------------------------------------------------- */

/* Writes a padded chunk to its place. */
static tra_status write_chunk(tra_outfile *o, tra_saved *rec, const void *chunk, tra_err *e) {
    TRA_TRY(tra_writer_store(o->writer, rec->ordinal, chunk, e));
    rec->at = tra_writer_address(o->writer, rec->ordinal);
    rec->len = o->chunk_bytes;
    rec->sum = tra_writer_sums(o->writer)[rec->ordinal];
    tra_log_add(o->log, rec);
    atomic_fetch_add(&o->landed, o->chunk_bytes);
    return TRA_OK;
}

/* A block to be written in the background. */
typedef struct pending {
    tra_outfile *o;
    tra_block *block;
    tra_saved rec;
} pending;

static tra_status write_in_background(void *ctx, tra_err *e) {
    pending *x = ctx;
    tra_status s = write_chunk(x->o, &x->rec, x->block->ptr, e);
    tra_block_free(x->o->pool, x->block);
    free(x);
    return s;
}

/* ---- encoded ----------------------------------------------------------------------------------------------------- */

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

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

int64_t tra_chunks_room(const tra_outfile *o) {
    return o->sink == &tra_sink_chunks && o->memory_type.layout ? (o->chunk_bytes + 63) / 64 * 64 : 0;
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

static tra_status put(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *block, tra_err *e) {
    void *data = block->ptr, *scratch = (char *)w->io + tra_chunks_room(o);
    bool dense = !o->memory_type.layout;
    if (!dense) { /* it is made dense before it is written */
        tra_cell from = tra_cell_new(&o->memory_type, rec->ordinal, block->ptr),
                 to = tra_cell_new(&o->file_type, rec->ordinal, data = w->io);
        tra_dims zero = {.n = to.array.ext.n};
        tra_cell_copy(&to, &zero, &from, &zero, &to.array.ext);
    } else {
        assert(block->bytes >= o->chunk_bytes);
        if (o->memory_type.sparse) clear_zero_signs(&o->memory_type, rec->ordinal, block->ptr);
    }
    if (!o->zstd) tra_writer_pad(o->writer, rec->ordinal, data);
    if (!o->zstd && dense) {
        pending *x = tra_malloc(sizeof *x);
        *x = (pending){o, block, *rec};
        tra_engine_background(o->engine, write_in_background, x);
        return TRA_OK;
    }
    tra_status s = o->zstd ? spool(o, rec, data, scratch, e) : write_chunk(o, rec, data, e);
    tra_block_free(o->pool, block);
    return s;
}

bool tra_chunks_take(tra_outfile *o, const tra_saved *s) {
    int64_t t = s->ordinal;
    if (o->zstd) {
        if (s->len > o->chunk_bytes) return false;
        o->encoded[t] = (tra_encoded){.len = s->len, .mask = s->mask, .sum = s->sum};
        o->spool_at[t] = s->at;
        o->spool_file[t] = s->file;
        return true;
    }
    if (s->at != tra_writer_address(o->writer, t) || s->len != o->chunk_bytes) return false;
    tra_writer_sums(o->writer)[t] = s->sum;
    return true;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Copies the encoded chunk of a tuple from where it waits to its place. */
static tra_status move(tra_outfile *o, int64_t t, int64_t to, tra_err *e) {
    const tra_encoded *enc = &o->encoded[t];
    char buf[64 << 10];
    XXH64_state_t sum;
    XXH64_reset(&sum, 0);
    for (int64_t at = 0, n; at < enc->len; at += n) {
        n = tra_min64((int64_t)sizeof buf, enc->len - at);
        TRA_TRY(
            tra_pread(tra_spool_fd(o, o->spool_file[t]), buf, (size_t)n, o->spool_at[t] + at, "the scratch file", e));
        XXH64_update(&sum, buf, (size_t)n);
        TRA_TRY(tra_writer_write_at(o->writer, to + at, buf, n, e));
    }
    if (tra_chunk_sum_end(XXH64_digest(&sum)) == enc->sum) return TRA_OK;
    return tra_fail(e, TRA_RESOURCE,
                    "the scratch file of the output is damaged: the %" PRId64 " bytes at %" PRId64
                    " are not those that were written there; check the disk",
                    enc->len, o->spool_at[t]);
}

/* Lengths to rank 0, addresses from it, then every rank moves its encoded chunks to their places. */
tra_status tra_chunks_place(tra_outfile *o, tra_err *e) {
    int64_t n = o->zstd ? o->file_type.cat->n : 0;
    tra_status s = TRA_OK;
    int64_t *v = tra_calloc((size_t)(4 * n) + 1, sizeof *v); /* length, mask, sum, address of each */
    for (int64_t t = 0; t < n; t++) {
        v[4 * t] = o->encoded[t].len;
        v[4 * t + 1] = o->encoded[t].mask;
        v[4 * t + 2] = (int64_t)o->encoded[t].sum;
    }
    tra_comm_sum(&o->comm, v, 4 * n);
    for (int64_t t = 0; t < n && s == TRA_OK && o->comm.rank == 0; t++) {
        tra_encoded enc = {.len = v[4 * t], .mask = (uint32_t)v[4 * t + 1], .sum = (uint64_t)v[4 * t + 2]};
        s = tra_writer_allocate(o->writer, t, &enc, &v[4 * t + 3], e);
    }
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK) tra_comm_bcast(&o->comm, v, 4 * n * (int64_t)sizeof *v);
    for (int64_t t = 0; t < n && s == TRA_OK; t++) {
        if (o->encoded[t].len == 0) continue;
        if (o->log) s = tra_stop_check(e); /* what is encoded is saved */
        if (s == TRA_OK) s = move(o, t, v[4 * t + 3], e);
    }
    free(v);
    return tra_comm_agree(&o->comm, s, e);
}

const tra_output_sink tra_sink_chunks = {.put = put};
