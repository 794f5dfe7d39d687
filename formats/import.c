/* import.c - imports a source into a relation: which boxes are read, how they are cut into blocks, what is counted.
 *
 * The source is read by panels, boxes of whole blocks that are as long as memory allows along the source's fast
 * dimensions, so that what is read lies together in the file. Two panels take turns: while one is being read, the
 * blocks of the other are cut out, counted and written by a crew of threads. A stream whose blocks do not fit a panel
 * goes to a scratch file first. */

#include "import_dense_int.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- streams that must be kept --------------------------------------------------------------------------------- */

/* Chooses the blocks of a tensor of this shape, or takes those of the job; sets block, dtype, catalog and type. */
static tra_status choose_blocks(dense_import *m, const tra_dims *shape, tra_err *e) {
    if (m->job->block) {
        m->block = *m->job->block;
        TRA_TRY(tra_block_fit(shape, &m->block, e));
    } else
        tra_block_choose(shape, &m->block);
    m->dtype = m->job->source.has_dtype ? m->job->source.dtype : m->source->dtype;
    TRA_TRY(tra_catalog_blocks(shape, &m->block, &m->cat, e));
    m->type = (tra_type){.dtype = m->dtype, .cat = &m->cat};
    for (int d = 0; d < m->block.n; d++) m->type.cut[d] = 1u << d;
    return TRA_OK;
}

/* While the rows of a matrix are still counted, refuses blocks that the user asked for if they are too large already
 * for the rows that have come: more rows do not need less memory. The message says what whole blocks need. (Blocks that
 * are not asked for are chosen when the last row has come.) */
static tra_status check_rows(void *ctx, const tra_source *s, tra_err *e) {
    dense_import *m = ctx;
    tra_dims shape = s->shape;
    if (m->job->storage || !m->job->block || m->job->block->n != shape.n) return TRA_OK;
    m->source = (tra_source *)s;
    TRA_TRY(choose_blocks(m, &shape, e));
    import_needs n = tra_import_needs(m);
    tra_status status = tra_import_check_needs(m, &n, &shape, NULL);
    if (status != TRA_OK) {
        shape.v[0] = tra_max64(shape.v[0], m->job->block->v[0]);
        TRA_TRY(choose_blocks(m, &shape, e));
        n = tra_import_needs(m);
        status = tra_import_check_needs(m, &n, &shape, e);
    }
    m->source = NULL;
    return status;
}

/* Writes the whole stream to a scratch file, since it has to be read by boxes, or its rows have to be counted first. */
static tra_status spool(dense_import *m, tra_err *e) {
    tra_source *s = m->source;
    int64_t size = (int64_t)tra_dtype_size(s->dtype), cap = tra_max64(1024, tra_min64(1 << 20, m->memory / 16) / size),
            got;
    TRA_TRY(tra_scratch_open(m->job->to, &m->spool, &m->where, e));
    void *buf = tra_malloc((size_t)(cap * size));
    tra_status status;
    do {
        status = s->format->next(s, buf, cap, &got, e);
        if (status == TRA_OK && got > 0)
            status = tra_pwrite(m->spool, buf, (size_t)(got * size), m->spilled, m->where, e);
        m->spilled += got * size;
    } while (status == TRA_OK && got > 0);
    free(buf);
    return status;
}

static void read_spool_by_boxes(dense_import *m) {
    m->spooled = (tra_flat){.elem = tra_elem_of(m->source->dtype), .dims = m->storage};
    tra_flat_init(&m->spooled, m->arena, m->job->source.memory);
}

/* ---- the job --------------------------------------------------------------------------------------------------- */

/* Refuses an output that is the source: a text or npy file in its place would be lost. (Where the source is an HDF5
 * file the output is one relation in it among others; such a source has no open stream.) */
static tra_status refuse_itself(const dense_import *m, tra_err *e) {
    const char *path, *name;
    struct stat a, b;
    tra_relspec(m->arena, m->job->to, &path, &name);
    const tra_source *s = m->source;
    bool is = s->in.fd >= 0 ? fstat(s->in.fd, &a) == 0 : !s->format->opens_itself && stat(s->spec, &a) == 0;
    if (is && S_ISREG(a.st_mode) && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return tra_fail(e, TRA_USAGE, "%s is the source itself: give the relation a name of its own", path);
    return TRA_OK;
}

static tra_status read_and_store(dense_import *m, tra_err *e) {
    tra_source *s = m->source;
    const tra_import_job *job = m->job;
    TRA_TRY(choose_blocks(m, &s->shape, e));
    m->storage = s->fortran ? tra_reversed(&s->shape) : s->shape;
    TRA_TRY(tra_import_lay_out(m, e));
    TRA_TRY(tra_writer_create(job->to, &m->type,
                              &(tra_write_options){.codec = job->codec, .history = job->history, .labels = s->labels},
                              &m->writer, e));
    tra_meter_begin(job->progress, job->to, m->cat.n);
    if (s->access == TRA_ACCESS_ENTRIES) return tra_import_store_entries(m, e);
    if (s->access == TRA_ACCESS_STREAM && m->spool < 0 && m->cat.n > 0 && !tra_import_panels_contiguous(m))
        TRA_TRY(spool(m, e));
    if (m->spool >= 0) read_spool_by_boxes(m);
    m->crew = tra_crew_new(m->nworkers);
    return tra_import_run_panels(m, e);
}

static tra_status run(dense_import *m, tra_err *e) {
    tra_status s = read_and_store(m, e);
    tra_meter_end();
    return s;
}

/* Decides how the tensor is stored: as plain arrays (*dense), by a mapping (*mapped), or else by levels. */
static tra_status choose_storage(const dense_import *m, tra_levels *levels, bool *dense, bool *mapped, tra_err *e) {
    const tra_source *s = m->source;
    const char *text = m->job->storage;
    *dense = true;
    *mapped = false;
    if (text && strcmp(text, "auto") != 0) {
        tra_storage *storage;
        TRA_TRY(tra_storage_any(text, s->shape.n, !tra_dtype_is_float(s->dtype), m->arena, &storage, e));
        *mapped = !tra_storage_levels(storage, levels, dense);
        if (!*mapped && m->job->ncomponents)
            return tra_fail(e, TRA_USAGE, "--component: storage %s is by levels, and is made of entries alone", text);
        return TRA_OK;
    }
    if (m->job->ncomponents) return tra_fail(e, TRA_USAGE, "--component: say with --storage what it is a component of");
    if (s->access != TRA_ACCESS_ENTRIES) return TRA_OK;
    double entries = s->most_entries >= 0 ? (double)s->most_entries : 0;
    tra_storage_chosen(&s->shape, entries, levels, dense);
    char text_of[TRA_LEVELTEXT];
    const char *alias = tra_levels_alias(levels);
    double elements = 1;
    for (int d = 0; d < s->shape.n; d++) elements *= (double)s->shape.v[d];
    if (!*dense)
        tra_info(0, "%s: %.3g of the elements are entries: stored as %s (--storage changes it)", s->spec,
                 elements > 0 ? entries / elements : 0, alias ? alias : tra_levels_text(levels, text_of));
    return TRA_OK;
}

/* Fills in what the source tells when it has been read. */
static void fill_source(const tra_source *s, tra_import_receipt *r) {
    r->format = s->format->name;
    r->shape = s->shape;
    r->inexact += s->inexact;
    r->overflow += s->overflow;
    r->entries = s->entries;
    r->mirrored = s->mirrored;
    r->header_lines = s->header_lines;
    r->bytes_in = s->in.fd < 0 ? s->bytes_in : s->in.seekable ? s->in.size : tra_stream_position(&s->in);
    snprintf(r->source_type, sizeof r->source_type, "%s", s->type_text ? s->type_text : "");
}

/* Fills in what was written. */
static void fill_receipt(const dense_import *m, tra_import_receipt *r) {
    *r = (tra_import_receipt){.block = m->block,
                              .dtype = m->dtype,
                              .blocks = m->cat.n,
                              .elements = tra_catalog_elements(&m->cat),
                              .bytes_stored = tra_writer_stored(m->writer),
                              .duplicates = m->sorted.duplicates,
                              .zeros = m->sorted.dropped,
                              .spilled = m->spilled};
    for (int i = 0; i < m->nworkers; i++) {
        r->nan += m->workers[i].nan;
        r->inf += m->workers[i].inf;
        r->inexact += m->workers[i].loss.inexact;
        r->overflow += m->workers[i].loss.overflow;
    }
}

/* Makes *out the source of those elements of m->source that are not 0. */
static void as_nonzeros(dense_import *m, tra_source *out) {
    tra_source *s = m->source;
    m->dtype = m->job->source.has_dtype ? m->job->source.dtype : s->dtype;
    m->storage = s->fortran ? tra_reversed(&s->shape) : s->shape;
    tra_nonzeros_of(s, m->dtype, m->memory, m->arena, out);
}

/* Imports into a relation that is stored by levels, or, where levels is NULL, by a mapping. */
static tra_status import_stored(dense_import *m, const tra_levels *levels, tra_import_receipt *r, tra_err *e) {
    tra_source nonzeros, *s = m->source;
    if (s->access != TRA_ACCESS_ENTRIES) {
        as_nonzeros(m, &nonzeros);
        s = &nonzeros;
    }
    tra_status status = levels ? tra_import_sparse(m->job, s, levels, m->ceiling, m->memory, r, e)
                               : tra_import_mapped(m->job, s, m->ceiling, m->memory, r, e);
    r->spilled += m->spilled;
    return status;
}

/* Imports into a relation of plain arrays. */
static tra_status import_dense(dense_import *m, tra_import_receipt *r, tra_err *e) {
    tra_status status = run(m, e);
    tra_crew_free(m->crew);
    if (status == TRA_OK) {
        char digest[33];
        tra_digest sum = {0};
        for (int i = 0; i < m->nworkers; i++) tra_digest_add(&sum, &m->workers[i].digest);
        tra_digest_text(&sum, &m->type, digest);
        fill_receipt(m, r);
        status = tra_writer_commit(m->writer, digest, e);
    } else if (m->writer)
        tra_writer_abort(m->writer);
    for (int i = 0; i < m->nworkers && m->workers; i++) free(m->workers[i].room);
    free(m->box_room);
    for (int i = 0; i < 2; i++) free(m->panels[i].data);
    return status;
}

static tra_status import_table(dense_import *m, tra_arena *a, tra_import_receipt *r, tra_err *e) {
    tra_status s = tra_buffer_check(m->ceiling, tra_csv_table_needs(m->source->table), e);
    if (s == TRA_OK) s = refuse_itself(m, e);
    r->is_table = true;
    r->format = m->source->format->name;
    return s == TRA_OK ? tra_csv_import_table(m->source->table, m->job, a, &r->table, e) : s;
}

tra_status tra_import(const tra_import_job *job, tra_arena *a, tra_import_receipt *r, tra_err *e) {
    tra_import_job j = *job;
    dense_import m = {.job = &j, .spool = -1, .ceiling = j.source.memory ? j.source.memory : TRA_IMPORT_MEMORY};
    j.source.memory = tra_max64(0, tra_buffer_bytes(m.ceiling));
    j.source.scratch = j.to;
    j.source.more_rows = check_rows;
    j.source.ctx = &m;
    m.memory = j.source.memory - tra_min64(j.source.memory / 8, TRA_IMPORT_READERS);
    *r = (tra_import_receipt){0};
    if (!j.from) return tra_import_mapped(&j, NULL, m.ceiling, m.memory, r, e);
    TRA_TRY(tra_source_open(j.from, j.format, &j.source, &m.source, e));
    m.arena = tra_arena_new();
    tra_levels levels;
    bool dense, mapped, table = m.source->table != NULL;
    tra_status status = table ? import_table(&m, a, r, e) : choose_storage(&m, &levels, &dense, &mapped, e);
    if (status == TRA_OK && !table) status = refuse_itself(&m, e);
    if (status == TRA_OK && !table && dense && !mapped)
        status = import_dense(&m, r, e);
    else if (status == TRA_OK && !table)
        status = import_stored(&m, mapped ? NULL : &levels, r, e);
    if (status == TRA_OK && !table) fill_source(m.source, r);
    if (m.spool >= 0) close(m.spool);
    free(m.where);
    tra_source_close(m.source);
    tra_arena_free(m.arena);
    return status;
}
