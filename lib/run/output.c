/* output.c - output files of several ranks: opening, resuming, placing what waits in scratch, committing. */
#include "checkpoint.h"
#include "output_int.h"

#include <stdlib.h>
#include <unistd.h>

void tra_outfile_free(tra_outfile *o) {
    tra_held_free(o);
    if (o->spool >= 0) close(o->spool);
    tra_digester_free(o->digester);
    pthread_mutex_destroy(&o->lock);
    free(o->counts);
    free(o->rows_before);
    tra_compact_free(o);
    tra_arena_free(o->strings);
    tra_string_words_free(o->words);
    free(o->spool_at);
    free(o->spool_file);
    free(o->encoded);
    free(o->tuple_flags);
    free(o->tallies);
    free(o);
}

static tra_status open_spool(tra_outfile *o, const char *scratch, tra_err *e) {
    int64_t n = o->file_type.cat->n;
    if (!o->log && (o->spool = tra_unnamed_file(scratch)) < 0)
        return tra_fail_errno(e, TRA_RESOURCE, "cannot make a scratch file in %s", scratch);
    o->spool_at = tra_calloc((size_t)n, sizeof *o->spool_at);
    o->spool_file = tra_calloc((size_t)n, sizeof *o->spool_file);
    o->encoded = tra_calloc((size_t)n, sizeof *o->encoded);
    if (o->ncounts) o->counts = tra_calloc((size_t)(n * o->ncounts), sizeof *o->counts);
    if (o->ncounts) o->held = tra_calloc((size_t)n + 1, sizeof *o->held);
    return TRA_OK;
}

/* Which tuples this rank writes. */
static void list_tuples(tra_outfile *o, const tra_placement *place) {
    const tra_catalog *c = o->file_type.cat;
    int *holders = tra_malloc((size_t)place->sites * sizeof *holders);
    o->tuple_flags = tra_calloc((size_t)c->n, sizeof *o->tuple_flags);
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key;
        tra_catalog_key(c, t, &key);
        if (tra_place_holders(place, c, t, &key, holders) > 0 && holders[0] == o->comm.rank)
            o->tuple_flags[t] = TRA_TUPLE_MINE;
    }
    free(holders);
}

/* ---- resuming -------------------------------------------------------------------------------------------------- */

/* Has the recorded array a length that it may have? A list of panels is looked at where it is read. */
static bool admits(const tra_outfile *o, const tra_saved *s) {
    if (!o->held || s->mask) return true;
    if (o->mapping) return s->len == tra_packed_bytes(o, s->ordinal) + (int64_t)sizeof(int64_t);
    return tra_size_admits(tra_type_bytes(&o->memory_type, s->ordinal), s->len);
}

/* Compares the checksum of a record with what is in the file, and takes the array over if they agree. */
static tra_status take(void *ctx, const tra_saved *s, int64_t slot, tra_worker *w, tra_err *e) {
    tra_outfile *o = ctx;
    bool waits = o->zstd || o->held, taken = true;
    (void)slot;
    int fd = waits ? -1 : tra_writer_fd(o->writer);
    if (waits) TRA_TRY(tra_log_open_saved(o->log, s->file, &fd, e));
    if (!admits(o, s) || !tra_file_matches(fd, s->at, s->len, s->sum)) return TRA_OK;
    if (o->held) TRA_TRY(tra_held_take(o, w, fd, s, &taken, e));
    pthread_mutex_lock(&o->lock);
    if (taken && (o->held || tra_chunks_take(o, s))) {
        o->tuple_flags[s->ordinal] |= TRA_TUPLE_WRITTEN;
        o->reused++;
        tra_digest_add(&o->tallies[0].digest, &s->digest);
    }
    pthread_mutex_unlock(&o->lock);
    return TRA_OK;
}

static int64_t slot_of(void *ctx, const tra_saved *s) {
    const tra_outfile *o = ctx;
    return s->ordinal < o->file_type.cat->n && o->tuple_flags[s->ordinal] & TRA_TUPLE_MINE ? s->ordinal : -1;
}

/* Takes over those of this rank's tuples that earlier runs wrote undamaged. */
static tra_status take_over(tra_outfile *o, tra_engine *engine, tra_err *e) {
    int64_t damaged = 0;
    tra_status s = tra_saved_take(&(tra_taking){o->log, o, slot_of, take}, engine, o->file_type.cat->n,
                                  (size_t)o->count_room, &damaged, e);
    damaged -= o->reused;
    if (damaged > 0)
        tra_warn("%" PRId64 " of the saved blocks of this output are damaged or gone; they are computed again",
                 damaged);
    return s;
}

static tra_status resume(tra_outfile *o, tra_engine *engine, tra_err *e) {
    int64_t reused = 0;
    tra_status s = TRA_OK;
    if (o->log && (o->zstd || o->ncounts || o->comm.rank != 0 || tra_writer_reused(o->writer)))
        s = take_over(o, engine, e);
    reused = o->reused;
    s = tra_comm_agree(&o->comm, s, e);
    tra_comm_sum(&o->comm, &reused, 1);
    o->reused = reused;
    return s;
}

int64_t tra_outfile_reused(const tra_outfile *o) { return o->reused; }

/* ---- opening --------------------------------------------------------------------------------------------------- */

tra_status tra_outfile_share(tra_outfile *o, tra_err *e) {
    tra_str blob = {0};
    tra_status s = TRA_OK;
    if (o->comm.rank == 0) tra_writer_describe(o->writer, &blob);
    int64_t n = (int64_t)blob.n;
    tra_comm_bcast(&o->comm, &n, sizeof n);
    char *bytes = o->comm.rank == 0 ? blob.s : tra_malloc((size_t)n + 1);
    tra_comm_bcast(&o->comm, bytes, n);
    if (o->comm.rank != 0) {
        s = tra_writer_attach(bytes, (size_t)n, &o->file_type, &o->writer, e);
        free(bytes);
    }
    tra_str_free(&blob);
    return s;
}

static const tra_output_sink *sink_of(const tra_op *op) {
    return op->type.columns   ? &tra_sink_rows
           : op->type.bounded ? &tra_sink_compact
           : op->spec.levels  ? &tra_sink_levels
           : op->spec.mapping ? &tra_sink_packed
                              : &tra_sink_chunks;
}

tra_status tra_outfile_open(const tra_comm *comm, const tra_op *op, const tra_layout *held, const tra_write_options *wo,
                            const char *scratch, tra_journal *journal, double seconds, tra_engine *engine,
                            tra_pool *pool, tra_outfile **out, tra_err *e) {
    tra_outfile *o = tra_calloc(1, sizeof *o);
    tra_status s = TRA_OK;
    tra_write_options w = *wo;
    char tag[64];
    uint32_t counted = op->type.columns ? 0 : op->type.bounded;
    const tra_levels *levels = counted ? NULL : op->spec.levels;
    const tra_turned_levels *turned = op->spec.turned;
    const tra_mapping_use *mapping = counted ? NULL : op->spec.mapping;
    *o = (tra_outfile){.comm = *comm, .file_type = op->type, .memory_type = op->type, .levels = levels, .spool = -1};
    if (turned) o->file_type = *turned->file_type;
    o->op = op;
    o->sink = sink_of(op);
    o->mapping = mapping;
    o->waits = op->method.waits;
    o->counted = counted;
    o->joined_fd = -1;
    o->scratch = scratch;
    o->ncounts = levels             ? levels->n
                 : mapping          ? mapping->storage->ncomponents
                 : op->type.columns ? 1
                                    : __builtin_popcount(counted);
    o->memory_type.layout = held;
    o->file_type.layout = o->ncounts ? held : NULL;
    o->zstd = wo->codec.zstd && !o->ncounts;
    o->due = tra_now() + seconds;
    o->engine = engine;
    o->pool = pool;
    if (levels || mapping) o->count_room = tra_stored_room(&o->memory_type, op);
    pthread_mutex_init(&o->lock, NULL);
    o->ntallies = tra_engine_threads(engine);
    o->tallies = tra_calloc((size_t)o->ntallies, sizeof *o->tallies);
    if (!op->type.columns && !counted)
        o->digester = turned ? tra_digester_of_turned(&o->file_type)
                             : tra_digester_new(&o->memory_type); /* else it is known in the end
                                                                     which rows these are */
    o->chunk_bytes = tra_store_chunk_bytes(&o->file_type);
    o->log = tra_log_open(journal, op->id, o->zstd || o->ncounts);
    list_tuples(o, &op->place);
    w.tag = tra_journal_tag(journal, tag);
    w.reuse = tra_journal_resumed(journal);
    w.levels = turned ? turned->file_levels : levels;
    w.labels = op->spec.labels;
    w.units = op->spec.units;
    w.mapping = mapping ? mapping->storage : NULL;
    if (counted) {
        o->options = *wo;
        o->options.labels = op->spec.labels;
        o->options.units = op->spec.units;
        s = tra_compact_check(op, e);
    } else if (comm->rank == 0)
        s = tra_writer_create(op->spec.path, &o->file_type, &w, &o->writer, e);
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK && comm->size > 1 && !o->ncounts) s = tra_outfile_share(o, e);
    if (s == TRA_OK && (o->zstd || o->ncounts)) s = open_spool(o, scratch, e);
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK && w.reuse) s = resume(o, engine, e);
    if (s != TRA_OK) {
        if (o->writer) (w.reuse ? tra_writer_leave : tra_writer_abort)(o->writer);
        tra_outfile_free(o);
        return s;
    }
    *out = o;
    return TRA_OK;
}

/* ---- scratch, where arrays wait for their places --------------------------------------------------------------- */

int tra_spool_fd(const tra_outfile *o, int file) { return o->log ? tra_log_fd(o->log, file) : o->spool; }

int64_t tra_spool_reserve(tra_outfile *o, int64_t len) {
    if (o->log) return tra_log_reserve(o->log, len);
    pthread_mutex_lock(&o->lock);
    int64_t at = o->spooled;
    o->spooled += len;
    pthread_mutex_unlock(&o->lock);
    return at;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* The checksums of all ranks' chunks, and the digest of all, at rank 0. */
static void gather(tra_outfile *o) {
    tra_digest *d = &o->tallies[0].digest;
    for (int i = 1; i < o->ntallies; i++) tra_digest_add(d, &o->tallies[i].digest);
    if (o->comm.size == 1) return;
    /* the checksum of a chunk stands at the rank that wrote it, zero elsewhere */
    if (!o->zstd) tra_comm_sum(&o->comm, (int64_t *)tra_writer_sums(o->writer), tra_writer_nsums(o->writer));
    int64_t mine[2] = {(int64_t)d->lo, (int64_t)d->hi};
    int64_t *all = tra_calloc(2 * (size_t)o->comm.size, sizeof *all);
    tra_comm_gather(&o->comm, mine, all, 2);
    *d = (tra_digest){0};
    for (int i = 0; i < o->comm.size; i++)
        tra_digest_add(d, &(tra_digest){.lo = (uint64_t)all[2 * i], .hi = (uint64_t)all[2 * i + 1]});
    free(all);
}

tra_status tra_outfile_finish(tra_outfile *o, tra_status s, tra_err *e) {
    if (s == TRA_STOPPED || s == TRA_RESOURCE) tra_held_save(o, NULL);
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK) s = o->held ? tra_held_place(o, e) : tra_chunks_place(o, e);
    if (s == TRA_OK && o->joined_fd >= 0) return tra_compact_rewrite(o, e);
    if (s == TRA_OK && o->comm.rank != 0) s = tra_writer_sync(o->writer, e);
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK && o->counted) s = tra_compact_seal(o, e);
    if (s == TRA_OK && (o->levels || o->mapping || o->file_type.columns) && o->comm.rank == 0)
        s = tra_writer_pack(o->writer, tra_engine_threads(o->engine), e);
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK) gather(o);
    return s;
}

static void digest_text(const tra_outfile *o, char text[33]) {
    if (o->file_type.columns)
        tra_digest_table_text(&o->tallies[0].digest, o->file_type.columns, o->rows_before[o->file_type.cat->n], text);
    else
        tra_digest_text(&o->tallies[0].digest, &o->file_type, text);
}

tra_status tra_outfiles_commit(tra_outfile *const *files, int n, tra_status s, bool keep, const tra_commit_note *note,
                               tra_err *e) {
    if (n == 0) return s;
    tra_comm comm = files[0]->comm;
    tra_writer **w = tra_calloc((size_t)n, sizeof *w);
    const char **digests = tra_calloc((size_t)n, sizeof *digests);
    char(*text)[33] = tra_calloc((size_t)n, sizeof *text);
    for (int i = 0; i < n; i++) {
        w[i] = files[i]->writer;
        digests[i] = text[i];
        if (!w[i]) continue; /* ranks other than 0 have no writer of an output whose arrays were not all counted */
        if (s != TRA_OK || comm.rank != 0)
            (keep ? tra_writer_leave : tra_writer_abort)(w[i]);
        else
            digest_text(files[i], text[i]);
    }
    if (s == TRA_OK && comm.rank == 0) s = tra_writers_commit(w, digests, n, note, keep, e);
    s = tra_comm_agree(&comm, s, e);
    for (int i = 0; i < n; i++) tra_outfile_free(files[i]);
    free(text);
    free(digests);
    free(w);
    return s;
}

int64_t tra_outfile_landed(const tra_outfile *o) { return atomic_load(&o->landed); }

int64_t tra_outfile_written(const tra_outfile *o) {
    int64_t arrays = 0, bytes = 0;
    for (int i = 0; i < o->ntallies; i++) arrays += o->tallies[i].arrays, bytes += o->tallies[i].bytes;
    if (o->writer && o->comm.rank == 0) bytes += tra_writer_strings_bytes(o->writer);
    return o->ncounts ? bytes : arrays * o->chunk_bytes;
}
