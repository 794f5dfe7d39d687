/* output_panels.c - outputs by levels whose arrays do not fit in memory: an array comes in panels, waits in scratch as
 * one block like any other, and is read from there some rows at a time. */
#include "../relation/rows.h"
#include "output_int.h"

#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

enum { LEAST_BUFFER = 64 << 10, MOST_BUFFER = 4 << 20, ENDS = 2048 };

bool tra_counted_takes_panels(const tra_outfile *o) {
    return o->levels && tra_levels_in_order(o->levels) && o->memory_type.layout == &tra_rows;
}

bool tra_counted_is_large(const tra_outfile *o, int64_t len) {
    int64_t entries = len / 5; /* at most: a column and a value each */
    if (!tra_counted_takes_panels(o)) return false;
    int64_t scratch = tra_block_footprint(tra_stored_scratch(o->levels, entries));
    return tra_block_footprint(len) + scratch > tra_pool_stat(o->pool).budget / 2;
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

static tra_status write_part(const tra_outfile *o, const tra_cell *whole, int64_t at, int part, int64_t first,
                             const void *v, int64_t n, tra_err *e) {
    const tra_cell_part *p = &whole->head->part[part];
    if (n == 0) return TRA_OK;
    return tra_pwrite(tra_spool_fd(o, o->comm.rank), v, (size_t)(n * p->each), at + p->offset + first * p->each,
                      "the scratch file", e);
}

/* Writes the rows of a panel to their place in the whole, after the nrows rows and n entries of the panels before it.
 */
static tra_status write_panel(const tra_outfile *o, const tra_cell *whole, int64_t at, int64_t nrows, int64_t n,
                              const tra_cell *panel, tra_err *e) {
    tra_rows_view v = tra_rows_of(panel);
    for (int64_t i = 0; i < v.nrows; i++) v.begin[i] += n;
    TRA_TRY(write_part(o, whole, at, TRA_ROWS_ROW, nrows, v.row, v.nrows, e));
    TRA_TRY(write_part(o, whole, at, TRA_ROWS_BEGIN, nrows, v.begin, v.nrows, e));
    TRA_TRY(write_part(o, whole, at, TRA_ROWS_COLUMN, n, v.column, v.n, e));
    return write_part(o, whole, at, TRA_ROWS_VALUE, n, v.value, v.n, e);
}

/* The checksum of an array that waits in scratch. buf: LEAST_BUFFER bytes. */
static tra_status sum_of(const tra_outfile *o, int64_t at, int64_t len, char *buf, uint64_t *sum, tra_err *e) {
    tra_status s = TRA_OK;
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (int64_t done = 0, n; done < len && s == TRA_OK; done += n) {
        n = tra_min64(LEAST_BUFFER, len - done);
        s = tra_pread(tra_spool_fd(o, o->comm.rank), buf, (size_t)n, at + done, "the scratch file", e);
        if (s == TRA_OK) XXH64_update(&state, buf, (size_t)n);
    }
    *sum = XXH64_digest(&state);
    return s;
}

/* Writes all panels of an array whose header has been written. */
static tra_status write_panels(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_panels *p, const tra_cell *whole,
                               tra_stored_counting *count, tra_err *e) {
    int64_t nrows = 0, n = 0;
    for (int i = 0; i < p->n; i++) {
        memory x = {.pool = o->pool, .block = p->v[i].block};
        TRA_TRY(tra_engine_retry(w, take_back, &x, e));
        tra_cell panel = tra_cell_new(&o->memory_type, rec->ordinal, x.block->ptr);
        if (o->digester) tra_digester_add(o->digester, &rec->digest, rec->ordinal, x.block->ptr);
        tra_stored_count_panel(count, &panel);
        tra_status s = write_panel(o, whole, rec->at, nrows, n, &panel, e);
        tra_panel_free(x.block, o->pool);
        p->v[i].block = NULL;
        TRA_TRY(s);
        nrows += p->v[i].nrows;
        n += p->v[i].n;
    }
    return write_part(o, whole, rec->at, TRA_ROWS_BEGIN, nrows, &n, 1, e);
}

tra_status tra_counted_put_panels(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_panels *p, tra_err *e) {
    int64_t t = rec->ordinal, nrows = 0, n = 0;
    tra_thread_tally *tally = &o->tallies[w->id];
    tra_cell_head head;
    tra_cell whole = tra_cell_new(&o->memory_type, t, &head);
    for (int i = 0; i < p->n; i++) nrows += p->v[i].nrows, n += p->v[i].n;
    (void)tra_rows_begin(&whole, nrows, n); /* its header */
    rec->len = tra_cell_bytes(&whole);
    rec->at = tra_spool_reserve(o, rec->len);
    TRA_TRY(tra_pwrite(tra_spool_fd(o, o->comm.rank), &head, sizeof head, rec->at, "the scratch file", e));
    tra_stored_counting *count = tra_stored_count_begin(o->levels, &o->file_type.cat->bound, &whole);
    tra_status s = write_panels(o, w, rec, p, &whole, count, e);
    tra_stored_count_end(count, o->counts + t * o->ncounts);
    TRA_TRY(s);
    TRA_TRY(
        sum_of(o, rec->at, rec->len, w->io, &rec->sum, e)); /* io is at least LEAST_BUFFER bytes: counting needs more */
    tally->arrays++;
    tally->bytes += rec->len;
    tra_digest_add(&tally->digest, &rec->digest);
    tra_spool_note(o, rec, rec->at, rec->len, rec->sum);
    return TRA_OK;
}

/* ---- from scratch ----------------------------------------------------------------------------------------------- */

/* Reads the rows of an array that waits in scratch, some at a time. */
typedef struct stream {
    tra_outfile *o;
    tra_worker *w;
    int fd;
    int64_t at;
    tra_cell_head head;
    tra_cell whole, some; /* `some`: the rows at hand */
    memory buffer;
    int64_t row, nrows;
} stream;

static tra_status open_stream(stream *x, tra_outfile *o, tra_worker *w, int64_t t, int fd, int64_t at, int64_t len,
                              tra_err *e) {
    int64_t room = tra_pool_stat(o->pool).budget / 16;
    *x = (stream){.o = o, .w = w, .fd = fd, .at = at, .some = tra_cell_new(&o->memory_type, t, NULL)};
    x->buffer = (memory){.pool = o->pool, .bytes = tra_min64(MOST_BUFFER, tra_max64(LEAST_BUFFER, room))};
    TRA_TRY(tra_pread(fd, &x->head, sizeof x->head, at, "the scratch file", e));
    if (tra_cell_of(&o->memory_type, t, &x->head, len, &x->whole, NULL) != TRA_OK)
        return tra_fail(e, TRA_RESOURCE, "the scratch file of the output is damaged; check the disk");
    x->nrows = tra_cell_count(&x->whole, TRA_ROWS_ROW);
    return tra_engine_take_block(w, x->buffer.bytes, &x->buffer.block, e);
}

static void close_stream(stream *x) { tra_block_free(x->o->pool, x->buffer.block); }

static tra_status read_part(const stream *x, int part, int64_t first, int64_t n, void *to, tra_err *e) {
    const tra_cell_part *p = &x->head.part[part];
    if (n == 0) return TRA_OK;
    return tra_pread(x->fd, to, (size_t)(n * p->each), x->at + p->offset + first * p->each, "the scratch file", e);
}

/* Reads the next rows into x->some. */
static tra_status next_rows(stream *x, bool *any, tra_err *e) {
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
    tra_status s = open_stream(&x, o, w, rec->ordinal, tra_log_fd(o->log, rec->file), rec->at, rec->len, e);
    tra_stored_counting *count = tra_stored_count_begin(o->levels, &o->file_type.cat->bound, &x.some);
    while (s == TRA_OK && (s = next_rows(&x, &any, e)) == TRA_OK && any) tra_stored_count_panel(count, &x.some);
    tra_stored_count_end(count, o->counts + rec->ordinal * o->ncounts);
    close_stream(&x);
    return s;
}

tra_status tra_counted_place_large(tra_outfile *o, tra_worker *w, int64_t t, tra_err *e) {
    int fd = tra_spool_fd(o, o->spool_file[t]);
    stream x;
    tra_block *scratch = NULL;
    bool any = true;
    if (!tra_file_matches(fd, o->spool_at[t], o->encoded[t].len, o->encoded[t].sum))
        return tra_fail(e, TRA_RESOURCE, "the scratch file of the output is damaged; check the disk");
    TRA_TRY(tra_engine_take_block(w, tra_stored_panels_scratch(o->writer, t), &scratch, e));
    tra_status s = open_stream(&x, o, w, t, fd, o->spool_at[t], o->encoded[t].len, e);
    tra_stored_putting *put = tra_stored_put_begin(o->writer, t, scratch->ptr);
    while (s == TRA_OK && (s = next_rows(&x, &any, e)) == TRA_OK && any) s = tra_stored_put_panel(put, &x.some, e);
    s = tra_stored_put_end(put, s, e);
    close_stream(&x);
    tra_block_free(o->pool, scratch);
    return s;
}
