/* output_compact.c - outputs of tensors of which only the run tells an extent: the rows that satisfy a predicate.
 *
 * The file has them without gaps, in blocks as large as those that they come in. So where the rows of a block go
 * follows from how many all blocks before it have: blocks wait in scratch until all are there (output_counted.c), then
 * the file is made, and every rank writes the rows of its blocks, which may be parts of two chunks. Checksums and the
 * digest are of what is in the file then.
 */
#include "output_int.h"

#include <stdlib.h>
#include <string.h>

/* The dimension whose extent is only bounded, or -1. */
int tra_compact_dim(const tra_type *held) {
    if (held->columns || !held->bounded) return -1;
    return __builtin_ctz(held->bounded);
}

tra_status tra_compact_check(const tra_op *op, tra_err *e) {
    const char *why;
    char place[512];
    if (tra_compact_dim(&op->type) < 0) return TRA_OK;
    if (op->type.bounded & (op->type.bounded - 1))
        return tra_fail(e, TRA_PROGRAM, "%sonly the run tells the extents of two of its dimensions; sum over one",
                        tra_op_text(op, place, sizeof place));
    if (tra_type_is_blocked(&op->type, &why)) return TRA_OK;
    return tra_fail(e, TRA_PROGRAM, "%sonly the run tells its rows, and it cannot be written: %s",
                    tra_op_text(op, place, sizeof place), why);
}

/* Fills begin[b]: where the rows of the blocks with key component b begin; and the number of all rows at the end. */
static tra_status begins(const tra_outfile *o, int64_t *begin, tra_err *e) {
    const tra_catalog *c = o->memory_type.cat;
    int64_t n = c->frontier.v[o->counted_dim];
    for (int64_t b = 0; b <= n; b++) begin[b] = b ? -1 : 0;
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key;
        tra_catalog_key(c, t, &key);
        int64_t *rows = &begin[key.v[o->counted_dim] + 1];
        if (*rows >= 0 && *rows != o->counts[t])
            return tra_fail(e, TRA_INTERNAL, "neighbouring blocks have different numbers of rows");
        *rows = o->counts[t];
    }
    for (int64_t b = 0; b < n; b++) begin[b + 1] = begin[b] + tra_max64(0, begin[b + 1]);
    return TRA_OK;
}

/* The type of what is written, whose catalog is o's. */
static tra_status final_type(tra_outfile *o, tra_err *e) {
    tra_dims shape;
    tra_type_shape(&o->memory_type, &shape);
    shape.v[o->counted_dim] = o->row_begin[o->memory_type.cat->frontier.v[o->counted_dim]];
    TRA_TRY(tra_catalog_blocks(&shape, &o->memory_type.cat->bound, &o->compact, e));
    o->file_type = o->memory_type;
    o->file_type.cat = &o->compact;
    o->file_type.layout = NULL;
    o->file_type.entries = NULL;
    o->file_type.bounded = 0;
    o->chunk_bytes = tra_store_chunk_bytes(&o->file_type);
    return TRA_OK;
}

tra_status tra_compact_create(tra_outfile *o, tra_err *e) {
    o->row_begin = tra_calloc((size_t)o->memory_type.cat->frontier.v[o->counted_dim] + 1, sizeof *o->row_begin);
    TRA_TRY(begins(o, o->row_begin, e));
    TRA_TRY(final_type(o, e));
    return o->comm.rank == 0 ? tra_writer_create(o->path, &o->file_type, &o->options, &o->writer, e) : TRA_OK;
}

/* ---- rows to their places ---------------------------------------------------------------------------------------- */

/* Extents of chunks: those of the first array. */
static tra_dims chunk_ext(const tra_outfile *o) {
    tra_dims ext;
    tra_catalog_ext(&o->compact, 0, &ext);
    return ext;
}

/* Writes the rows of an array that begin with `from`, as many as sub has along counted_dim, to row `to` of a chunk. */
static tra_status write_part(tra_outfile *o, int64_t address, const tra_dims *chunk, int64_t to, const tra_array *a,
                             int64_t from, const tra_dims *sub, tra_err *e) {
    int64_t size = (int64_t)tra_dtype_size(a->dtype), run = sub->v[sub->n - 1];
    tra_dims outer = *sub, at = {.n = sub->n};
    int last = sub->n - 1; /* dimensions from here on are one run */
    while (last > 0 && sub->v[last] == chunk->v[last] && sub->v[last] == a->ext.v[last]) run *= sub->v[--last];
    outer.n = at.n = last;
    do {
        int64_t source = 0, target = 0;
        for (int d = 0; d < sub->n; d++) {
            int64_t i = d < last ? at.v[d] : 0;
            source = source * a->ext.v[d] + i + (d == o->counted_dim ? from : 0);
            target = target * chunk->v[d] + i + (d == o->counted_dim ? to : 0);
        }
        TRA_TRY(
            tra_writer_write_at(o->writer, address + target * size, (char *)a->data + source * size, run * size, e));
    } while (tra_next(&outer, &at));
    return TRA_OK;
}

tra_status tra_compact_put(tra_outfile *o, int64_t t, const tra_cell *c, tra_err *e) {
    tra_dims key, sub = c->array.ext, chunk;
    int64_t elements, d = o->counted_dim;
    tra_catalog_key(o->memory_type.cat, t, &key);
    if (!tra_dims_product(&sub, &elements) || elements == 0) return TRA_OK;
    chunk = chunk_ext(o);
    int64_t begin = o->row_begin[key.v[d]], end = begin + c->array.ext.v[d];
    for (int64_t row = begin; row < end; row += sub.v[d]) {
        key.v[d] = row / chunk.v[d];
        sub.v[d] = tra_min64(end, (key.v[d] + 1) * chunk.v[d]) - row;
        int64_t address = tra_writer_address(o->writer, tra_catalog_find(&o->compact, &key));
        TRA_TRY(write_part(o, address, &chunk, row % chunk.v[d], &c->array, row - begin, &sub, e));
    }
    return TRA_OK;
}

/* ---- what is in the file ----------------------------------------------------------------------------------------- */

/* Moves the rows of an array in a padded chunk together; each moves down or stays. */
static void draw_together(char *data, const tra_dims *chunk, const tra_dims *ext, size_t size) {
    tra_dims outer = *ext, at = {.n = ext->n - 1};
    size_t row = (size_t)ext->v[ext->n - 1] * size;
    char *to = data;
    outer.n = at.n;
    do {
        int64_t from = 0;
        for (int d = 0; d < ext->n; d++) from = from * chunk->v[d] + (d < at.n ? at.v[d] : 0);
        memmove(to, data + (size_t)from * size, row);
        to += row;
    } while (tra_next(&outer, &at));
}

/* Computes the checksum of a chunk, and adds its array to the digest. */
static tra_status seal_one(tra_outfile *o, tra_digester *g, int64_t t, const tra_dims *chunk, void *data, tra_err *e) {
    tra_dims ext;
    tra_catalog_ext(&o->compact, t, &ext);
    TRA_TRY(tra_pread(tra_writer_fd(o->writer), data, (size_t)o->chunk_bytes, tra_writer_address(o->writer, t),
                      "the output", e));
    tra_writer_sums(o->writer)[t] = tra_chunk_sum(data, (size_t)o->chunk_bytes);
    draw_together(data, chunk, &ext, tra_dtype_size(o->file_type.dtype));
    tra_digester_add(g, &o->tallies[0].digest, t, data);
    return TRA_OK;
}

tra_status tra_compact_seal(tra_outfile *o, tra_err *e) {
    tra_block *b = NULL;
    tra_digester *g = tra_digester_new(&o->file_type);
    tra_dims chunk = {0};
    tra_status s = tra_block_new(o->pool, o->chunk_bytes, &b, e);
    if (o->compact.n > 0) chunk = chunk_ext(o);
    for (int64_t t = o->comm.rank; t < o->compact.n && s == TRA_OK; t += o->comm.size)
        s = seal_one(o, g, t, &chunk, b->ptr, e);
    tra_block_free(o->pool, b);
    tra_digester_free(g);
    return s;
}
