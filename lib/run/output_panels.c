/* output_panels.c - outputs by levels whose arrays are large: an array comes in panels, each of which waits in scratch,
 * and is read from there some rows at a time. */
#include "../model/rows.h"
#include "output_int.h"

#include "../physical/constants.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { LEAST_BUFFER = 64 << 10, MOST_BUFFER = 4 << 20, ENDS = 2048 };

bool tra_counted_takes_panels(const tra_outfile *o) {
    return o->levels && tra_levels_in_order(o->levels) && o->memory_type.layout == &tra_rows;
}

bool tra_counted_is_large(const tra_outfile *o, uint32_t mask, int64_t len) {
    int64_t entries = len / 5; /* at most: a column and a value each */
    if (!tra_counted_takes_panels(o)) return false;
    int64_t scratch = tra_block_footprint(tra_stored_scratch(o->levels, entries));
    return mask & TRA_SAVED_PANELS || len > TRA_STRIP_BYTES ||
           tra_block_footprint(len) + scratch > tra_pool_stat(o->pool).budget / 2;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

typedef struct memory {
    tra_pool *pool;
    int64_t bytes; /* of a buffer */
    tra_block *block;
} memory;

static tra_status take_back(void *ctx, tra_err *e) {
    memory *x = ctx;
    return tra_block_take_back(x->pool, x->block, e);
}

/* ---- to scratch ------------------------------------------------------------------------------------------------- */

/* Where a panel waits, and its checksum. An array of panels waits as the list of these. */
typedef struct waiting {
    int64_t at, len;
    uint64_t sum;
} waiting;

struct tra_panels_writing {
    tra_outfile *o;
    tra_worker *w;
    tra_saved rec;
    int n, cap;
    waiting *v;
    int64_t bytes;
    tra_stored_counting *count;
};

tra_panels_writing *tra_counted_begin_panels(tra_outfile *o, tra_worker *w, int64_t t) {
    tra_panels_writing *x = tra_calloc(1, sizeof *x);
    tra_cell whole = tra_cell_new(&o->memory_type, t, NULL);
    *x = (tra_panels_writing){.o = o, .w = w, .rec = {.ordinal = t, .mask = TRA_SAVED_PANELS}};
    x->count = tra_stored_count_begin(o->levels, &o->file_type.cat->bound, &whole);
    return x;
}

/* Copies bytes to scratch. */
static tra_status put_bytes(tra_outfile *o, const void *v, int64_t len, waiting *at, tra_err *e) {
    *at = (waiting){tra_spool_reserve(o, len), len, XXH64(v, (size_t)len, 0)};
    return tra_pwrite(tra_spool_fd(o, o->comm.rank), v, (size_t)len, at->at, "the scratch file", e);
}

tra_status tra_counted_put_panel(tra_panels_writing *x, const tra_cell *panel, tra_err *e) {
    TRA_ROOM(x->v, x->n, x->cap);
    if (x->o->digester) tra_digester_add(x->o->digester, &x->rec.digest, x->rec.ordinal, panel->head);
    tra_stored_count_panel(x->count, panel);
    x->bytes += tra_cell_bytes(panel);
    return put_bytes(x->o, panel->head, tra_cell_bytes(panel), &x->v[x->n++], e);
}

tra_status tra_counted_end_panels(tra_panels_writing *x, tra_status s, tra_err *e) {
    tra_outfile *o = x->o;
    tra_thread_tally *tally = &o->tallies[x->w->id];
    waiting list;
    tra_stored_count_end(x->count, o->counts + x->rec.ordinal * o->ncounts);
    if (s == TRA_OK) s = put_bytes(o, x->v, x->n * (int64_t)sizeof *x->v, &list, e);
    if (s == TRA_OK) {
        tally->arrays++;
        tally->bytes += x->bytes;
        tra_digest_add(&tally->digest, &x->rec.digest);
        tra_spool_note(o, &x->rec, list.at, list.len, list.sum);
    }
    free(x->v);
    free(x);
    return s;
}

tra_status tra_counted_put_panels(tra_outfile *o, tra_worker *w, int64_t t, tra_panels *p, tra_err *e) {
    tra_panels_writing *to = tra_counted_begin_panels(o, w, t);
    tra_status s = TRA_OK;
    for (int i = 0; i < p->n && s == TRA_OK; i++) {
        memory x = {.pool = o->pool, .block = p->v[i].block};
        s = tra_engine_retry(w, take_back, &x, e);
        if (s != TRA_OK) break;
        tra_cell panel = tra_cell_new(&o->memory_type, t, x.block->ptr);
        s = tra_counted_put_panel(to, &panel, e);
        tra_panel_free(x.block, o->pool);
        p->v[i].block = NULL;
    }
    return tra_counted_end_panels(to, s, e);
}

/* ---- from scratch ----------------------------------------------------------------------------------------------- */

/* Reads the rows of an array that waits in scratch, some at a time. */
typedef struct stream {
    tra_outfile *o;
    tra_worker *w;
    int fd, n, next; /* next: the panel after that at hand */
    waiting *v;
    tra_cell_head head;
    tra_cell whole, some; /* the panel at hand, and some rows of it */
    memory buffer;
    int64_t t, at, row, nrows;
} stream;

static tra_status damaged(tra_err *e) {
    return tra_fail(e, TRA_RESOURCE, "the scratch file of the output is damaged; check the disk");
}

/* Goes on to the next panel. */
static tra_status open_panel(stream *x, tra_err *e) {
    const waiting *p = &x->v[x->next++];
    if (!tra_file_matches(x->fd, p->at, p->len, p->sum)) return damaged(e);
    TRA_TRY(tra_pread(x->fd, &x->head, sizeof x->head, p->at, "the scratch file", e));
    if (tra_cell_of(&x->o->memory_type, x->t, &x->head, p->len, &x->whole, NULL) != TRA_OK) return damaged(e);
    x->at = p->at;
    x->row = 0;
    x->nrows = tra_cell_count(&x->whole, TRA_ROWS_ROW);
    return TRA_OK;
}

static tra_status open_stream(stream *x, tra_outfile *o, tra_worker *w, int fd, const tra_saved *rec, tra_err *e) {
    int64_t room = tra_pool_stat(o->pool).budget / 16;
    bool panels = rec->mask & TRA_SAVED_PANELS;
    *x = (stream){
        .o = o, .w = w, .fd = fd, .t = rec->ordinal, .some = tra_cell_new(&o->memory_type, rec->ordinal, NULL)};
    x->buffer = (memory){.pool = o->pool, .bytes = tra_min64(MOST_BUFFER, tra_max64(LEAST_BUFFER, room))};
    x->n = panels ? (int)(rec->len / (int64_t)sizeof *x->v) : 1;
    x->v = tra_calloc((size_t)x->n, sizeof *x->v);
    x->v[0] = (waiting){rec->at, rec->len, rec->sum};
    if (panels && !tra_file_matches(fd, rec->at, rec->len, rec->sum)) return damaged(e);
    if (panels) TRA_TRY(tra_pread(fd, x->v, (size_t)rec->len, rec->at, "the scratch file", e));
    return tra_engine_take_block(w, x->buffer.bytes, &x->buffer.block, e);
}

static void close_stream(stream *x) {
    tra_block_free(x->o->pool, x->buffer.block);
    free(x->v);
}

static tra_status read_part(const stream *x, int part, int64_t first, int64_t n, void *to, tra_err *e) {
    const tra_cell_part *p = &x->head.part[part];
    if (n == 0) return TRA_OK;
    return tra_pread(x->fd, to, (size_t)(n * p->each), x->at + p->offset + first * p->each, "the scratch file", e);
}

/* Reads the next rows into x->some. */
static tra_status next_rows(stream *x, bool *any, tra_err *e) {
    while (x->row == x->nrows && x->next < x->n) TRA_TRY(open_panel(x, e));
    int64_t ends[ENDS + 1], most = tra_min64(ENDS, x->nrows - x->row), n = 0;
    tra_dtype t = x->some.array.dtype;
    *any = most > 0;
    if (!*any) return TRA_OK;
    TRA_TRY(read_part(x, TRA_ROWS_BEGIN, x->row, most + 1, ends, e));
    while (n < most && tra_rows_room(t, n + 1, ends[n + 1] - ends[0]) <= x->buffer.bytes) n++;
    if (n == 0) { /* a single row is longer than the buffer */
        tra_block_free(x->o->pool, x->buffer.block);
        x->buffer.block = NULL;
        x->buffer.bytes = tra_rows_room(t, n = 1, ends[1] - ends[0]);
        TRA_TRY(tra_engine_take_block(x->w, x->buffer.bytes, &x->buffer.block, e));
    }
    x->some.head = x->buffer.block->ptr;
    tra_rows_view v = tra_rows_begin(&x->some, n, ends[n] - ends[0]);
    for (int64_t i = 0; i <= n; i++) v.begin[i] = ends[i] - ends[0];
    TRA_TRY(read_part(x, TRA_ROWS_ROW, x->row, n, v.row, e));
    TRA_TRY(read_part(x, TRA_ROWS_COLUMN, ends[0], ends[n] - ends[0], v.column, e));
    TRA_TRY(read_part(x, TRA_ROWS_VALUE, ends[0], ends[n] - ends[0], v.value, e));
    x->row += n;
    return TRA_OK;
}

tra_status tra_counted_recount_large(tra_outfile *o, tra_worker *w, const tra_saved *rec, tra_err *e) {
    stream x;
    bool any = true;
    tra_status s = open_stream(&x, o, w, tra_log_fd(o->log, rec->file), rec, e);
    tra_stored_counting *count = tra_stored_count_begin(o->levels, &o->file_type.cat->bound, &x.some);
    while (s == TRA_OK && (s = next_rows(&x, &any, e)) == TRA_OK && any) tra_stored_count_panel(count, &x.some);
    tra_stored_count_end(count, o->counts + rec->ordinal * o->ncounts);
    close_stream(&x);
    return s;
}

tra_status tra_counted_place_large(tra_outfile *o, tra_worker *w, int64_t t, tra_err *e) {
    const tra_encoded *enc = &o->encoded[t];
    tra_saved rec = {.ordinal = t, .mask = enc->mask, .at = o->spool_at[t], .len = enc->len, .sum = enc->sum};
    stream x;
    tra_block *scratch = NULL;
    bool any = true;
    TRA_TRY(tra_engine_take_block(w, tra_stored_panels_scratch(o->writer, t), &scratch, e));
    tra_status s = open_stream(&x, o, w, tra_spool_fd(o, o->spool_file[t]), &rec, e);
    tra_stored_putting *put = tra_stored_put_begin(o->writer, t, scratch->ptr);
    while (s == TRA_OK && (s = next_rows(&x, &any, e)) == TRA_OK && any) s = tra_stored_put_panel(put, &x.some, e);
    s = tra_stored_put_end(put, s, e);
    close_stream(&x);
    tra_block_free(o->pool, scratch);
    return s;
}
