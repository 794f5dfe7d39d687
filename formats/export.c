/* export.c - from a relation to a file: which boxes are read so that the elements come in the order of the file.
 *
 * A piece is a run of the output: whole fast dimensions and as much of the next one as the memory holds. Where a piece
 * is lower than the blocks, blocks are read again for each of the pieces that they meet. */
#include "export_int.h"
#include "visit.h"

#include "../lib/physical/needs.h"

#include <stdlib.h>
#include <string.h>

/* The piece: extents in the order of the file, at most `limit` elements; a multiple of the blocks where it can be. */
static void choose_piece(const tra_dims *shape, const tra_dims *chunk, int64_t limit, tra_dims *piece) {
    int d = shape->n - 1;
    int64_t n = 1;
    *piece = *shape;
    for (; d >= 0 && shape->v[d] <= limit / n; d--) n *= tra_max64(1, shape->v[d]);
    if (d < 0) return;
    int64_t most = tra_max64(1, limit / n);
    piece->v[d] = most >= chunk->v[d] ? most / chunk->v[d] * chunk->v[d] : most;
    for (d--; d >= 0; d--) piece->v[d] = 1;
}

/* Elements to entries: *at is that of the first one. count: they are only counted. */
static tra_status put_entries(tra_sink *k, const void *data, int64_t n, bool count, tra_dims *at, tra_err *e) {
    size_t size = tra_dtype_size(k->dtype);
    for (int64_t i = 0; i < n; i++) {
        if (!tra_value_is_zero(k->dtype, data, i)) {
            if (count)
                k->count++;
            else
                TRA_TRY(k->format->entry(k, at, (const char *)data + (size_t)i * size, e));
        }
        tra_next(&k->shape, at);
    }
    return TRA_OK;
}

/* All elements, in the order of the file. only_count: entries are not put. */
static tra_status pass(tra_sink *k, tra_view *v, const tra_dims *piece, void *buf, bool only_count, tra_err *e) {
    int r = k->shape.n;
    tra_dims out = k->fortran ? tra_reversed(&k->shape) : k->shape, pieces = {.n = r}, at = {.n = r};
    bool empty = false;
    for (int d = 0; d < r; d++) {
        empty |= out.v[d] == 0;
        if (!empty) pieces.v[d] = tra_ceil_div(out.v[d], piece->v[d]);
    }
    tra_dims element = {.n = r};
    if (k->format->begin && !only_count) TRA_TRY(k->format->begin(k, e));
    if (empty) return TRA_OK;
    do {
        tra_dims start = {.n = r}, count = {.n = r};
        int64_t stride[TRA_MAXDIM], n = 1;
        for (int d = 0; d < r; d++) {
            start.v[d] = at.v[d] * piece->v[d];
            count.v[d] = tra_min64(piece->v[d], out.v[d] - start.v[d]);
            n *= count.v[d];
        }
        tra_strides(&count, stride);
        if (k->fortran) {
            start = tra_reversed(&start);
            count = tra_reversed(&count);
            for (int d = 0; d < r / 2; d++) {
                int64_t t = stride[d];
                stride[d] = stride[r - 1 - d];
                stride[r - 1 - d] = t;
            }
        }
        TRA_TRY(tra_view_box(v, &start, &count, buf, stride, e));
        TRA_TRY(k->entries ? put_entries(k, buf, n, only_count, &element, e) : k->format->put(k, buf, n, e));
        tra_meter_add(n);
    } while (tra_next(&pieces, &at));
    return TRA_OK;
}

/* Of a stored relation entries are what it has. How many they are is known of files that tra wrote; of others they are
 * counted. */
static tra_status write_entries(tra_sink *k, tra_view *v, int64_t memory, tra_err *e) {
    const tra_type *t = tra_rel_type(v->rel);
    int64_t fixed = tra_rel_held_bytes(v->rel) + (int64_t)(v->array_bytes + v->scratch_bytes);
    TRA_TRY(tra_buffer_check(memory, fixed + tra_visit_least(v), e));
    tra_view_room(v, NULL, NULL);
    for (int64_t i = 0; i < t->cat->n; i++) {
        bool known = t->entries && t->entries->of;
        if (!known) TRA_TRY(tra_view_load(v, i, e));
        tra_cell cell = known ? (tra_cell){0} : tra_view_cell(v);
        k->count += known ? t->entries->of[i] : tra_rows_of(&cell).n;
    }
    if (k->format->begin) TRA_TRY(k->format->begin(k, e));
    tra_visit w;
    tra_status s = tra_visit_in_order(v, tra_max64(tra_visit_least(v), tra_buffer_bytes(memory) - fixed), k->to, &w, e);
    if (s == TRA_OK) s = tra_visit_next(&w, e);
    while (s == TRA_OK && !w.end) {
        s = k->format->entry(k, tra_visit_at(&w), w.value, e);
        if (s == TRA_OK) s = tra_visit_next(&w, e);
    }
    tra_visit_end(&w);
    return s != TRA_OK || !k->format->end ? s : k->format->end(k, e);
}

static tra_status write_all(tra_sink *k, tra_view *v, int64_t memory, tra_err *e) {
    enum { GOOD_PIECE = 64 << 20 };
    if (k->entries && tra_view_sparse(v)) return write_entries(k, v, memory, e);
    int64_t size = (int64_t)tra_dtype_size(k->dtype), n = 1, all, most;
    int64_t fixed = tra_rel_held_bytes(v->rel) + (int64_t)(v->array_bytes + v->scratch_bytes);
    /* Pieces of a block at least: with smaller ones blocks would be read again and again. */
    tra_dims_product(&v->chunk, &n);
    tra_dims_product(&v->shape, &all);
    n = tra_min64(n, all);
    /* A block of entries may be very long: it is read once, and pieces of it are cut from it. */
    if (tra_view_sparse(v)) n = tra_min64(n, tra_min64(all, 4096));
    TRA_TRY(tra_buffer_check(memory, fixed + n * size, e));
    most = tra_max64(1, (tra_buffer_bytes(memory) - fixed) / size);
    tra_dims shape = k->fortran ? tra_reversed(&k->shape) : k->shape,
             chunk = k->fortran ? tra_reversed(&v->chunk) : v->chunk;
    tra_dims piece;
    choose_piece(&shape, &chunk, tra_min64(most, GOOD_PIECE / size), &piece);
    for (int d = 0; d < piece.n; d++)
        if (piece.v[d] < shape.v[d] &&
            piece.v[d] < chunk.v[d]) { /* too low to read each block once: take all there is */
            choose_piece(&shape, &chunk, most, &piece);
            break;
        }
    if (!tra_dims_product(&piece, &n)) n = 0;
    tra_view_room(v, NULL, NULL);
    void *buf = tra_malloc((size_t)(n * size) + 1);
    tra_status s = TRA_OK;
    if (k->entries) s = pass(k, v, &piece, buf, true, e);
    if (s == TRA_OK) s = pass(k, v, &piece, buf, false, e);
    if (s == TRA_OK && k->format->end) s = k->format->end(k, e);
    free(buf);
    return s;
}

static tra_status write_tensor(const tra_export_job *job, tra_rel *rel, tra_export_receipt *r, tra_err *e) {
    tra_view v;
    TRA_TRY(tra_view_open(&v, rel, job->from, e));
    tra_sink k = {
        .format = job->format, .o = job->sink, .shape = v.shape, .dtype = tra_rel_type(rel)->dtype, .to = job->to};
    if (tra_view_sparse(&v)) k.o.coordinate = true; /* of a stored tensor entries are the elements that it has */
    k.arena = tra_arena_new();
    r->shape = v.shape;
    tra_status s = tra_rel_labels(rel, &k.labels, e);
    if (s == TRA_OK && k.format->prepare) s = k.format->prepare(&k, job->to, e);
    size_t cap = (size_t)tra_max64(4096, tra_min64(256 << 10, tra_buffer_bytes(job->memory) / 16));
    if (s == TRA_OK) s = tra_newfile_open(k.to, k.format->binary, cap, &k.out, e);
    if (s == TRA_OK) {
        int64_t all = 1;
        tra_dims_product(&v.shape, &all);
        tra_meter_begin(job->progress, job->from, tra_mul_most(all, k.entries ? 2 : 1)); /* these are counted first */
        s = write_all(&k, &v, job->memory, e);
        tra_meter_end();
        if (s == TRA_OK)
            s = tra_newfile_commit(&k.out, e);
        else
            tra_newfile_abort(&k.out);
        r->bytes = k.out.bytes;
        r->closed = k.out.closed;
    }
    if (k.format->discard && k.state) k.format->discard(&k);
    tra_arena_free(k.arena);
    tra_view_close(&v);
    return s;
}

tra_status tra_export_check(const tra_export_job *job, const char *name, const tra_type *type, tra_err *e) {
    const tra_format *f = job->format;
    tra_sink k = {.format = f, .o = job->sink, .dtype = type->dtype, .to = job->to};
    if (type->columns && !f->tables)
        return tra_fail(e, TRA_INPUT, "%s is a table, which --to %s cannot hold: csv, npy and h5 can", name, f->name);
    if (type->columns || f->rewrite) return TRA_OK;
    if (!tra_type_is_tensor(type, NULL))
        return tra_fail(e, TRA_INPUT, "%s is in tuple layout, which only h5 can hold", name);
    if (!f->prepare) return TRA_OK;
    tra_type_shape(type, &k.shape);
    k.arena = tra_arena_new();
    tra_status s = f->prepare(&k, job->to, e);
    if (f->discard && k.state) f->discard(&k);
    tra_arena_free(k.arena);
    return s;
}

int64_t tra_export_needs(const tra_export_job *job, const tra_type *t) {
    enum { SORTED = 4 << 20, ROWS = 256 };
    int64_t array = tra_size_planned(tra_type_bytes_largest(t)), index = tra_store_index_bytes(t->cat), need = index;
    const tra_schema *s = t->columns;
    for (int c = 0; s && c < s->n; c++) {
        const tra_dictionary *d = s->v[c].dict;
        need = tra_add_most(need, d && d->begin ? d->begin[d->n] + 16 * d->n : 0);
    }
    if (s) return tra_add_most(need, ROWS * (tra_schema_row_bytes(s) + 1) + 128 * (s->n + 1));
    int64_t chunk = t->layout ? array : tra_store_chunk_bytes(t);
    if (job->format->rewrite) return tra_add_most(need, tra_add_most(index, tra_add_most(array, chunk)));
    return tra_add_most(need, tra_add_most(array, t->layout ? SORTED : tra_mul_most(2, array)));
}

tra_status tra_export(const tra_export_job *job, tra_export_receipt *r, tra_err *e) {
    tra_export_job j = *job;
    if (!j.memory) j.memory = TRA_IMPORT_MEMORY;
    *r = (tra_export_receipt){0};
    tra_rel *rel;
    TRA_TRY(tra_rel_open(j.from, NULL, &rel, e));
    const tra_type *t = tra_rel_type(rel);
    r->dtype = t->dtype;
    tra_status s;
    if (t->columns) {
        s = tra_export_table(&j, rel, r, e);
    } else if (j.format->rewrite) {
        tra_dims chunk;
        bool tuple;
        tra_store_layout(t, &r->shape, &chunk, &tuple);
        s = j.format->rewrite(rel, j.to, &j.sink, j.memory, &r->bytes, e);
    } else
        s = write_tensor(&j, rel, r, e);
    tra_rel_close(rel);
    return s;
}
