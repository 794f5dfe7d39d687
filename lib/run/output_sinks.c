/* output_sinks.c - the sinks of arrays that are counted first: tensors by levels, tensors that a mapping packs, tables.
 * Tensors of which only the run tells the extents are in output_compact.c. */
#include "../model/rows.h"
#include "../physical/needs.h"
#include "output_int.h"

#include <stdlib.h>
#include <string.h>

/* Entries of the array in a cell; of a dense one, its elements. */
static int64_t entries_of(const tra_cell *c) {
    int64_t n;
    if (c->layout) return tra_cell_count(c, c->layout == &tra_rows ? TRA_ROWS_VALUE : c->layout->nparts - 1);
    return tra_dims_product(&c->array.ext, &n) ? n : INT64_MAX;
}

/* Allocates so many bytes of scratch memory for working on tuple t, whose array is in the cell. */
static tra_status find_scratch(tra_outfile *o, tra_worker *w, int64_t t, const tra_cell *c, int64_t bytes,
                               tra_block **out, tra_err *e) {
    tra_err own = {0};
    tra_status s = tra_engine_take_block(w, bytes, out, &own);
    return s == TRA_OK
               ? s
               : tra_advise_blocks(s, "", &o->memory_type, t, tra_add_most(tra_cell_bytes(c), bytes), o->pool, &own, e);
}

/* The error of something that failed with s and *own, with the statement that computes the result. */
static tra_status with_place(const tra_outfile *o, tra_status s, const tra_err *own, const char *more, tra_err *e) {
    char place[512];
    *e = (tra_err){0};
    return tra_fail_kind(e, s, more ? TRA_KIND_NONE : own->kind, "%s%s%s%s", tra_op_text(o->op, place, sizeof place),
                         own->msg, more ? ": the result cannot be stored as " : "", more ? more : "");
}

/* ---- by levels --------------------------------------------------------------------------------------------------- */

static tra_status count_levels(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, tra_err *e) {
    tra_cell c;
    tra_block *own = NULL;
    TRA_TRY(tra_cell_of(&o->memory_type, t, b->ptr, b->bytes, &c, e));
    int64_t entries = tra_levels_in_order(o->levels) ? 0 : entries_of(&c); /* that are sorted */
    int64_t bytes = tra_stored_rows_scratch(o->levels, entries, c.layout ? &c.array.ext : NULL);
    if (bytes > o->count_room) TRA_TRY(find_scratch(o, w, t, &c, bytes, &own, e));
    tra_status s = tra_stored_count(o->levels, &o->memory_type.cat->bound, &c, o->counts + t * o->levels->n,
                                    own ? own->ptr : w->io, e);
    tra_block_free(o->pool, own);
    return s;
}

static tra_status place_levels(tra_outfile *o, tra_err *e) { return tra_writer_place(o->writer, o->counts, e); }

typedef struct putting { /* of an array, panel by panel */
    tra_block *scratch;
    tra_stored_putting *put; /* NULL: before the first panel */
} putting;

static tra_status put_panel(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, void *ctx, tra_err *e) {
    putting *x = ctx;
    tra_cell c;
    TRA_TRY(tra_cell_of(&o->memory_type, t, b->ptr, b->bytes, &c, e));
    if (!x->put) {
        int64_t entries = entries_of(&c);
        bool turned = o->op->spec.turned;
        TRA_TRY(find_scratch(o, w, t, &c, tra_stored_put_room(o->writer, t, entries, turned), &x->scratch, e));
        x->put = tra_stored_put_begin(o->writer, t, entries, turned, x->scratch->ptr);
    }
    return tra_stored_put_panel(x->put, &c, e);
}

static tra_status write_levels(tra_outfile *o, tra_worker *w, tra_held *h, tra_err *e) {
    putting x = {0};
    tra_status s = tra_held_each(o, w, h, TRA_AFTER_DROP, put_panel, &x, e);
    if (x.put) s = tra_stored_put_end(x.put, s, e);
    tra_block_free(o->pool, x.scratch);
    return s;
}

const tra_output_sink tra_sink_levels = {
    .put = tra_held_put, .count = count_levels, .place = place_levels, .write = write_levels};

/* ---- by a mapping ------------------------------------------------------------------------------------------------ */

/* What each tuple has of each component follows from coordinates alone. But an array is packed when it is made, so that
 * an element which the mapping cannot hold is found then; what was packed waits in scratch, with the number of entries
 * that the mapping gives behind it. */

int64_t tra_packed_bytes(const tra_outfile *o, int64_t t) {
    return tra_mapping_bytes(o->mapping->storage, &o->memory_type, t);
}

static tra_status count_packed(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, tra_err *e) {
    (void)w, (void)b;
    return tra_mapping_sizes(o->mapping->storage, &o->memory_type, t, o->counts + t * o->ncounts, e);
}

static tra_status pack(tra_outfile *o, tra_saved *rec, const tra_cell *c, char *room, tra_err *e) {
    int64_t n = tra_packed_bytes(o, rec->ordinal), entries;
    tra_err own = {0};
    tra_status s = tra_mapping_pack(o->mapping->storage, &o->memory_type, rec->ordinal, c, room, &entries, &own);
    if (s != TRA_OK) return with_place(o, s, &own, o->mapping->name, e);
    memcpy(room + n, &entries, sizeof entries); /* the room goes on behind what was packed */
    return tra_held_write(o, rec, room, n + (int64_t)sizeof entries, e);
}

static tra_status put_packed(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *b, tra_err *e) {
    tra_cell c;
    tra_err own = {0};
    tra_block *room = NULL;
    tra_held x = {.rec = *rec, .v = tra_calloc(1, sizeof *x.v)};
    tra_status s = tra_cell_of(&o->memory_type, rec->ordinal, b->ptr, b->bytes, &c, e);
    if (s == TRA_OK) {
        int64_t bytes = tra_packed_bytes(o, rec->ordinal) + (int64_t)sizeof(int64_t);
        bytes = tra_mapping_room(bytes, entries_of(&c));
        s = bytes > o->count_room ? tra_engine_take_block(w, bytes, &room, &own) : TRA_OK;
        if (s != TRA_OK) s = with_place(o, s, &own, o->mapping->name, e);
    }
    if (s == TRA_OK) s = pack(o, &x.rec, &c, room ? room->ptr : w->io, e);
    if (s == TRA_OK) s = count_packed(o, w, rec->ordinal, b, e);
    if (s == TRA_OK) x.v[x.n++] = tra_block_of_saved(tra_spool_fd(o, x.rec.file), x.rec.at, x.rec.len, x.rec.sum);
    tra_block_free(o->pool, room);
    tra_block_free(o->pool, b);
    return tra_held_end(o, &x, s, e);
}

static tra_status write_packed(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, void *ctx, tra_err *e) {
    int64_t n = b->bytes - (int64_t)sizeof(int64_t), entries;
    (void)w, (void)ctx;
    memcpy(&entries, (char *)b->ptr + n, sizeof entries);
    return tra_mapping_put(o->writer, t, b->ptr, n, entries, e);
}

static tra_status write_mapped(tra_outfile *o, tra_worker *w, tra_held *h, tra_err *e) {
    return tra_held_each(o, w, h, TRA_AFTER_DROP, write_packed, NULL, e);
}

const tra_output_sink tra_sink_packed = {
    .put = put_packed, .count = count_packed, .place = place_levels, .write = write_mapped};

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static tra_status count_rows(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, tra_err *e) {
    tra_cell c;
    (void)w;
    TRA_TRY(tra_cell_of(&o->memory_type, t, b->ptr, b->bytes, &c, e));
    o->counts[t] = c.array.ext.v[0];
    return TRA_OK;
}

static tra_status place_rows(tra_outfile *o, tra_err *e) { return tra_writer_place_rows(o->writer, o->counts, e); }

/* Adds the rows of a block to the digest, and writes them to their places. */
static tra_status put_rows(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *block, void *ctx, tra_err *e) {
    tra_cell c;
    tra_batch b = {.v = tra_calloc((size_t)o->file_type.columns->n + 1, sizeof *b.v)};
    int64_t first = o->rows_before[t];
    (void)ctx;
    tra_status s = tra_cell_of(&o->memory_type, t, block->ptr, block->bytes, &c, e);
    if (s == TRA_OK) s = tra_columns_of(&c, o->memory_type.columns, &b, e);
    tra_arena *a = tra_arena_new();
    if (s == TRA_OK) tra_strings_recode(o, &b, a);
    if (s == TRA_OK) s = tra_writer_put_rows(o->writer, first, &b, e);
    if (s == TRA_OK) tra_digest_rows(&o->tallies[w->id].digest, first, &b);
    if (s == TRA_OK) s = tra_digest_away(&o->tallies[w->id].digest, first, &b, o->words, e);
    tra_arena_free(a);
    free(b.v);
    if (s == TRA_OK || e->kind != TRA_KIND_OVERFLOW) return s;
    tra_err was = *e;
    return with_place(o, s, &was, NULL, e);
}

static tra_status write_rows(tra_outfile *o, tra_worker *w, tra_held *h, tra_err *e) {
    return tra_held_each(o, w, h, TRA_AFTER_DROP, put_rows, NULL, e);
}

const tra_output_sink tra_sink_rows = {
    .put = tra_held_put, .count = count_rows, .place = place_rows, .write = write_rows};
