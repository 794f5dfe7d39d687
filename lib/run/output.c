/* output.c - output files of several ranks. */
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct lane { /* what one thread of a rank has written */
    tra_digest digest;
    int64_t chunks;
} lane;

struct tra_outfile {
    tra_comm comm;
    const tra_type *type;
    tra_writer *w;
    tra_digester *digester;
    bool zstd;
    int64_t chunk_bytes;
    const tra_lanes *room;
    lane *lanes;
    /* zstd: addresses follow from the lengths of all chunks in key order, so that the file does not depend on timing.
     * Until they are known encoded chunks wait in a nameless scratch file. */
    int spool;
    pthread_mutex_t lock;
    int64_t spooled;
    int64_t *spool_at;
    tra_encoded *enc;
};

static void outfile_free(tra_outfile *o) {
    if (o->spool >= 0) close(o->spool);
    tra_digester_free(o->digester);
    pthread_mutex_destroy(&o->lock);
    free(o->spool_at);
    free(o->enc);
    free(o->lanes);
    free(o);
}

static tra_status open_spool(tra_outfile *o, const char *scratch, tra_err *e) {
    int64_t n = o->type->cat->n;
    o->spool = tra_unnamed_file(scratch);
    if (o->spool < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot make a scratch file in %s", scratch);
    o->spool_at = tra_calloc((size_t)n, sizeof *o->spool_at);
    o->enc = tra_calloc((size_t)n, sizeof *o->enc);
    return TRA_OK;
}

void tra_lanes_free(tra_lanes *l) {
    for (int i = 0; l->v && i < 2 * l->n; i++) free(l->v[i]);
    free(l->v);
    l->v = NULL;
    l->scratch = l->encoded = 0;
}

static tra_status grow_lanes(tra_lanes *l, size_t scratch, size_t encoded, tra_err *e) {
    if (l->v && scratch <= l->scratch && encoded <= l->encoded) return TRA_OK;
    if (scratch < l->scratch) scratch = l->scratch;
    if (encoded < l->encoded) encoded = l->encoded;
    tra_lanes_free(l);
    l->v = tra_calloc(2 * (size_t)l->n, sizeof *l->v);
    l->scratch = scratch;
    l->encoded = encoded;
    for (int i = 0; i < 2 * l->n; i++) {
        l->v[i] = malloc((i % 2 ? encoded : scratch) + 1);
        if (!l->v[i]) return tra_fail(e, TRA_RESOURCE, "out of memory for output buffers");
    }
    return TRA_OK;
}

static tra_status open_lanes(tra_outfile *o, tra_lanes *room, const char *scratch, tra_err *e) {
    TRA_TRY(grow_lanes(room, tra_writer_scratch(o->w), o->zstd ? tra_writer_encoded_max(o->w) : 0, e));
    o->room = room;
    o->lanes = tra_calloc((size_t)room->n, sizeof *o->lanes);
    return o->zstd ? open_spool(o, scratch, e) : TRA_OK;
}

tra_status tra_outfile_open(const tra_comm *comm, const char *spec, const tra_type *type, const tra_write_options *wo,
                            tra_lanes *lanes, const char *scratch, tra_outfile **out, tra_err *e) {
    tra_outfile *o = tra_calloc(1, sizeof *o);
    tra_status s = TRA_OK;
    *o = (tra_outfile){.comm = *comm, .type = type, .zstd = wo->codec.zstd, .spool = -1};
    pthread_mutex_init(&o->lock, NULL);
    o->digester = tra_digester_new(type);
    o->chunk_bytes = tra_store_chunk_bytes(type);
    if (comm->rank == 0) s = tra_writer_create(spec, type, wo, &o->w, e);
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK && comm->size > 1) {
        tra_str blob = {0};
        if (comm->rank == 0) tra_writer_describe(o->w, &blob);
        int64_t n = (int64_t)blob.n;
        tra_comm_bcast(comm, &n, sizeof n);
        char *bytes = comm->rank == 0 ? blob.s : tra_malloc((size_t)n + 1);
        tra_comm_bcast(comm, bytes, n);
        if (comm->rank != 0) {
            s = tra_writer_attach(bytes, (size_t)n, type, &o->w, e);
            free(bytes);
        }
        tra_str_free(&blob);
    }
    if (s == TRA_OK) s = open_lanes(o, lanes, scratch, e);
    s = tra_comm_agree(comm, s, e);
    if (s != TRA_OK) {
        if (o->w) tra_writer_abort(o->w);
        outfile_free(o);
        return s;
    }
    *out = o;
    return TRA_OK;
}

/* A block to be written behind. */
typedef struct pending {
    tra_writer *w;
    tra_pool *pool;
    tra_block *block;
    int64_t ordinal;
} pending;

static tra_status write_behind(void *ctx, tra_err *e) {
    pending *x = ctx;
    tra_status s = tra_writer_store(x->w, x->ordinal, x->block->ptr, e);
    tra_block_free(x->pool, x->block);
    free(x);
    return s;
}

/* Writes the array of a tuple, and takes over its block. worker: 0..threads-1, or -1 for the thread that runs the plan. */
static tra_status put(const tra_sink *sink, int worker, int64_t ordinal, tra_block *block, tra_err *e) {
    tra_outfile *o = sink->file;
    const void *data = block->ptr;
    int mine = worker < 0 ? o->room->n - 1 : worker;
    lane *l = &o->lanes[mine];
    void *scratch = o->room->v[2 * mine], *encoded = o->room->v[2 * mine + 1];
    tra_digester_add(o->digester, &l->digest, ordinal, data);
    l->chunks++;
    if (!o->zstd) {
        const void *chunk = tra_writer_chunk(o->w, ordinal, data, scratch);
        if (chunk == data) {
            pending *x = tra_malloc(sizeof *x);
            *x = (pending){o->w, sink->pool, block, ordinal};
            tra_engine_behind(sink->engine, write_behind, x);
            return TRA_OK;
        }
        tra_block_free(sink->pool, block); /* the lane's buffer has it, padded */
        return tra_writer_store(o->w, ordinal, chunk, e);
    }
    tra_status s = tra_writer_encode(o->w, ordinal, data, scratch, encoded, &o->enc[ordinal], e);
    tra_block_free(sink->pool, block);
    if (s != TRA_OK) return s;
    pthread_mutex_lock(&o->lock);
    int64_t at = o->spooled;
    o->spooled += o->enc[ordinal].len;
    pthread_mutex_unlock(&o->lock);
    o->spool_at[ordinal] = at;
    return tra_pwrite(o->spool, encoded, (size_t)o->enc[ordinal].len, at, "the scratch file", e);
}

/* Lengths to rank 0, addresses from it, then every rank moves its encoded chunks to their places. */
static tra_status place_encoded(tra_outfile *o, tra_err *e) {
    int64_t n = o->type->cat->n;
    tra_status s = TRA_OK;
    int64_t *v = tra_calloc((size_t)(4 * n), sizeof *v); /* length, mask, sum, address of each */
    for (int64_t t = 0; t < n; t++) {
        v[4 * t] = o->enc[t].len;
        v[4 * t + 1] = o->enc[t].mask;
        v[4 * t + 2] = (int64_t)o->enc[t].sum;
    }
    tra_comm_sum(&o->comm, v, 4 * n);
    for (int64_t t = 0; t < n && s == TRA_OK && o->comm.rank == 0; t++) {
        tra_encoded enc = {.len = v[4 * t], .mask = (uint32_t)v[4 * t + 1], .sum = (uint64_t)v[4 * t + 2]};
        s = tra_writer_allocate(o->w, t, &enc, &v[4 * t + 3], e);
    }
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK) tra_comm_bcast(&o->comm, v, 4 * n * (int64_t)sizeof *v);
    void *buf = o->room->v[1];
    for (int64_t t = 0; t < n && s == TRA_OK; t++) {
        if (o->enc[t].len == 0) continue;
        s = tra_pread(o->spool, buf, (size_t)o->enc[t].len, o->spool_at[t], "the scratch file", e);
        if (s == TRA_OK) s = tra_writer_write_at(o->w, v[4 * t + 3], buf, o->enc[t].len, e);
    }
    free(v);
    return tra_comm_agree(&o->comm, s, e);
}

tra_status tra_outfile_commit(tra_outfile *o, tra_status s, int64_t *written, tra_err *e) {
    int64_t chunks = 0, n = o->type->cat->n;
    tra_digest d = {0};
    for (int i = 0; i < o->room->n; i++) {
        tra_digest_add(&d, &o->lanes[i].digest);
        chunks += o->lanes[i].chunks;
    }
    *written = chunks * o->chunk_bytes;
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK && o->zstd) s = place_encoded(o, e);
    if (s == TRA_OK && o->comm.size > 1) {
        if (o->comm.rank != 0) s = tra_writer_sync(o->w, e);
        s = tra_comm_agree(&o->comm, s, e);
        /* the checksum of a chunk stands at the rank that wrote it, zero elsewhere */
        if (!o->zstd) tra_comm_sum(&o->comm, (int64_t *)tra_writer_sums(o->w), n);
        int64_t mine[2] = {(int64_t)d.lo, (int64_t)d.hi};
        int64_t *all = tra_calloc(2 * (size_t)o->comm.size, sizeof *all);
        tra_comm_gather(&o->comm, mine, all, 2);
        d = (tra_digest){0};
        for (int i = 0; i < o->comm.size; i++)
            tra_digest_add(&d, &(tra_digest){.lo = (uint64_t)all[2 * i], .hi = (uint64_t)all[2 * i + 1]});
        free(all);
    }
    if (s != TRA_OK || o->comm.rank != 0) {
        tra_writer_abort(o->w);
    } else {
        char text[33];
        tra_digest_text(&d, o->type, text);
        s = tra_writer_commit(o->w, text, e);
    }
    s = tra_comm_agree(&o->comm, s, e);
    outfile_free(o);
    return s;
}

tra_status tra_sink_emit(tra_sink *s, int worker, int64_t ordinal, int summand, tra_block *block, tra_err *e) {
    if (s->part) {
        int64_t i = tra_part_find(s->part, ordinal, summand);
        if (i < 0 || s->part->block[i]) {
            tra_block_free(s->pool, block);
            return tra_fail(e, TRA_INTERNAL, "a result that the plan does not expect on this site");
        }
        s->part->block[i] = block;
        tra_block_unpin(s->pool, block);
        return TRA_OK;
    }
    tra_dims key;
    int *holders = tra_malloc((size_t)s->op->place.sites * sizeof *holders);
    tra_catalog_key(s->op->type.cat, ordinal, &key);
    tra_place_holders(&s->op->place, s->op->type.cat, ordinal, &key, holders);
    bool mine = holders[0] == s->site;
    free(holders);
    if (mine) return put(s, worker, ordinal, block, e);
    tra_block_free(s->pool, block);
    return TRA_OK;
}
