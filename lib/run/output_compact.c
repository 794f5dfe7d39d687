/* output_compact.c - outputs of tensors of which only the run tells some extents: the rows that satisfy a predicate.
 *
 * The file has them without gaps, in blocks as large as those that they come in. So where the rows of a block go
 * follows from how many all blocks before it have: blocks wait in scratch until all are there (output_held.c), then
 * the file is made, and every rank writes the rows of its blocks, which may be parts of two chunks. Checksums and the
 * digest are of what is in the file then.
 *
 * Chunks that are compressed, or stored by levels or a mapping, are written as a whole. So they come together in a file
 * beside the output first, which is removed in the end: then all is known of the tensor, and its chunks are the results
 * of an output like any other.
 */
#include "output_int.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tra_status tra_compact_check(const tra_op *op, tra_err *e) {
    const char *why;
    char place[512];
    if (tra_type_is_blocked(&op->type, &why)) return TRA_OK;
    return tra_fail(e, TRA_PROGRAM, "%sonly the run tells its rows, and it cannot be written: %s",
                    tra_op_text(op, place, sizeof place), why);
}

/* ---- where blocks begin ------------------------------------------------------------------------------------------ */

/* Fills o->begins[d], by the counts number k of each tuple: where the blocks with key component b begin along dimension
 * d, and the whole extent at the end. */
static tra_status find_begins(tra_outfile *o, int d, int k, tra_err *e) {
    const tra_catalog *c = o->memory_type.cat;
    int64_t n = c->frontier.v[d], *begin = o->begins[d] = tra_calloc((size_t)n + 1, sizeof *begin);
    for (int64_t b = 1; b <= n; b++) begin[b] = -1;
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key;
        tra_catalog_key(c, t, &key);
        int64_t *extent = &begin[key.v[d] + 1], count = o->counts[t * o->ncounts + k];
        if (*extent >= 0 && *extent != count)
            return tra_fail(e, TRA_INTERNAL, "neighbouring blocks have different numbers of rows");
        *extent = count;
    }
    for (int64_t b = 0; b < n; b++) begin[b + 1] = begin[b] + tra_max64(0, begin[b + 1]);
    return TRA_OK;
}

/* The type of what is written, whose catalog is o's. */
static tra_status final_type(tra_outfile *o, tra_err *e) {
    const tra_catalog *c = o->memory_type.cat;
    tra_dims shape;
    int k = 0;
    tra_type_shape(&o->memory_type, &shape);
    for (int d = 0; d < shape.n; d++) {
        if (!(o->counted >> d & 1)) continue;
        TRA_TRY(find_begins(o, d, k++, e));
        shape.v[d] = o->begins[d][c->frontier.v[d]];
    }
    TRA_TRY(tra_catalog_blocks(&shape, &c->bound, &o->compact, e));
    o->file_type = o->memory_type;
    o->file_type.cat = &o->compact;
    o->file_type.layout = NULL;
    o->file_type.entries = NULL;
    o->file_type.bounded = 0;
    o->chunk_bytes = tra_store_chunk_bytes(&o->file_type);
    return TRA_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static tra_status create_joined(tra_outfile *o, tra_err *e) {
    tra_arena *a = tra_arena_new();
    const char *path, *name;
    tra_relspec(a, o->op->spec.path, &path, &name);
    tra_status s = tra_temp_create(path, NULL, false, &o->joined, e);
    if (s == TRA_OK) o->joined_fd = o->joined.fd;
    if (s == TRA_OK && ftruncate(o->joined_fd, o->compact.n * o->chunk_bytes) != 0)
        s = tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", o->joined.path);
    tra_arena_free(a);
    return s;
}

/* Opens the file of rank 0 on the other ranks. Collective. */
static tra_status share_joined(tra_outfile *o, tra_err *e) {
    int64_t n = o->joined.path ? (int64_t)strlen(o->joined.path) + 1 : 0;
    tra_comm_bcast(&o->comm, &n, sizeof n);
    char *path = o->comm.rank == 0 ? tra_strdup(o->joined.path) : tra_malloc((size_t)n);
    tra_comm_bcast(&o->comm, path, n);
    if (o->comm.rank != 0) o->joined_fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    tra_status s = o->joined_fd >= 0 ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", path);
    free(path);
    return tra_comm_agree(&o->comm, s, e);
}

/* Collective. */
static tra_status create(tra_outfile *o, tra_err *e) {
    bool join = o->op->spec.levels || o->op->spec.mapping || o->options.codec.zstd;
    tra_status s = final_type(o, e);
    if (s == TRA_OK && o->comm.rank == 0)
        s = join ? create_joined(o, e) : tra_writer_create(o->op->spec.path, &o->file_type, &o->options, &o->writer, e);
    s = tra_comm_agree(&o->comm, s, e);
    return s == TRA_OK && join ? share_joined(o, e) : s;
}

void tra_compact_free(tra_outfile *o) {
    for (int d = 0; d < TRA_MAXDIM; d++) free(o->begins[d]);
    if (o->joined.path)
        tra_temp_abort(&o->joined);
    else if (o->joined_fd >= 0)
        close(o->joined_fd);
}

/* ---- rows to their places ---------------------------------------------------------------------------------------- */

/* Extents of chunks: those of the first array. */
static tra_dims chunk_ext(const tra_outfile *o) {
    tra_dims ext;
    tra_catalog_ext(&o->compact, 0, &ext);
    return ext;
}

/* Writes bytes of chunk t, from `at` on. */
static tra_status write_at(tra_outfile *o, int64_t t, int64_t at, const void *bytes, int64_t n, tra_err *e) {
    if (o->joined_fd < 0) return tra_writer_write_at(o->writer, tra_writer_address(o->writer, t) + at, bytes, n, e);
    return tra_pwrite(o->joined_fd, bytes, (size_t)n, t * o->chunk_bytes + at, "the output", e);
}

/* Writes the box of an array that begins at `from`, with the extents `sub`, to the box of chunk t that begins at `to`.
 */
static tra_status write_part(tra_outfile *o, int64_t t, const tra_dims *chunk, const tra_dims *to, const tra_array *a,
                             const tra_dims *from, const tra_dims *sub, tra_err *e) {
    int64_t size = (int64_t)tra_dtype_size(a->dtype), run = sub->v[sub->n - 1];
    tra_dims outer = *sub, at = {.n = sub->n};
    int last = sub->n - 1; /* dimensions from here on are one run */
    while (last > 0 && sub->v[last] == chunk->v[last] && sub->v[last] == a->ext.v[last]) run *= sub->v[--last];
    outer.n = at.n = last;
    do {
        int64_t source = 0, target = 0;
        for (int d = 0; d < sub->n; d++) {
            int64_t i = d < last ? at.v[d] : 0;
            source = source * a->ext.v[d] + i + from->v[d];
            target = target * chunk->v[d] + i + to->v[d];
        }
        TRA_TRY(write_at(o, t, target * size, (char *)a->data + source * size, run * size, e));
    } while (tra_next(&outer, &at));
    return TRA_OK;
}

static tra_status put_block(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, void *ctx, tra_err *e) {
    tra_cell cell, *c = &cell;
    (void)w, (void)ctx;
    TRA_TRY(tra_cell_of(&o->memory_type, t, b->ptr, b->bytes, c, e));
    tra_dims key, begin, chunk, pieces = {.n = c->array.ext.n}, piece = pieces;
    int64_t elements;
    if (!tra_dims_product(&c->array.ext, &elements) || elements == 0) return TRA_OK;
    tra_catalog_key(o->memory_type.cat, t, &key);
    chunk = chunk_ext(o);
    for (int d = 0; d < pieces.n; d++) { /* along each dimension the block lies in so many chunks */
        begin.v[d] = o->counted >> d & 1 ? o->begins[d][key.v[d]] : key.v[d] * chunk.v[d];
        pieces.v[d] = (begin.v[d] + c->array.ext.v[d] - 1) / chunk.v[d] - begin.v[d] / chunk.v[d] + 1;
        piece.v[d] = 0;
    }
    do {
        tra_dims to = piece, from = piece, sub = piece, at = piece;
        for (int d = 0; d < piece.n; d++) {
            at.v[d] = begin.v[d] / chunk.v[d] + piece.v[d];
            int64_t low = tra_max64(begin.v[d], at.v[d] * chunk.v[d]);
            sub.v[d] = tra_min64(begin.v[d] + c->array.ext.v[d], (at.v[d] + 1) * chunk.v[d]) - low;
            to.v[d] = low % chunk.v[d];
            from.v[d] = low - begin.v[d];
        }
        TRA_TRY(write_part(o, tra_catalog_find(&o->compact, &at), &chunk, &to, &c->array, &from, &sub, e));
    } while (tra_next(&pieces, &piece));
    return TRA_OK;
}

static tra_status write_block(tra_outfile *o, tra_worker *w, tra_held *x, tra_err *e) {
    return tra_held_each(o, w, x, TRA_AFTER_DROP, put_block, NULL, e);
}

/* What the tuple has along each counted dimension. */
static tra_status count_block(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, tra_err *e) {
    tra_cell c;
    int64_t *counts = o->counts + t * o->ncounts;
    (void)w;
    TRA_TRY(tra_cell_of(&o->memory_type, t, b->ptr, b->bytes, &c, e));
    for (uint32_t dims = o->counted; dims; dims &= dims - 1) *counts++ = c.array.ext.v[__builtin_ctz(dims)];
    return TRA_OK;
}

const tra_output_sink tra_sink_compact = {
    .put = tra_held_put, .count = count_block, .place = create, .write = write_block};

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

/* ---- stored in another way ----------------------------------------------------------------------------------------
 */

typedef struct moving {
    tra_outfile *from;
    tra_outlet to;
} moving;

/* Reads chunk t, and hands it to the output if this rank is to store it. */
static tra_status move_chunk(void *ctx, int64_t t, tra_worker *w, tra_err *e) {
    moving *x = ctx;
    tra_outfile *o = x->from;
    tra_block *b = NULL;
    tra_dims ext, chunk = chunk_ext(o);
    if (tra_outlet_has(&x->to, t)) return TRA_OK;
    TRA_TRY(tra_engine_take_block(w, o->chunk_bytes, &b, e));
    tra_status s = tra_pread(o->joined_fd, b->ptr, (size_t)o->chunk_bytes, t * o->chunk_bytes, "the output", e);
    if (s != TRA_OK) {
        tra_block_free(o->pool, b);
        return s;
    }
    tra_catalog_ext(&o->compact, t, &ext);
    draw_together(b->ptr, &chunk, &ext, tra_dtype_size(o->file_type.dtype));
    return tra_outlet_emit(&x->to, w, t, 0, b, e);
}

tra_status tra_compact_rewrite(tra_outfile *o, tra_err *e) {
    tra_op op = *o->op;
    tra_mapping_use use;
    tra_outfile *to;
    tra_status s = TRA_OK;
    op.type = o->file_type;
    op.place = tra_place_part(o->comm.size, op.type.cat, 1, (const int8_t[]){0});
    if (op.spec.mapping) { /* its bytes by the extents as they are */
        use = (tra_mapping_use){.storage = op.spec.mapping->storage, .name = op.spec.mapping->name};
        op.spec.mapping = &use;
        s = tra_mapping_measure(&op.type, &use, e);
    }
    if (s == TRA_OK && fsync(o->joined_fd) != 0) s = tra_fail_errno(e, TRA_RESOURCE, "cannot write the output to disk");
    TRA_TRY(tra_comm_agree(&o->comm, s, e));
    TRA_TRY(tra_outfile_open(&o->comm, &op, NULL, &o->options, o->scratch, NULL, 0, o->engine, o->pool, &to, e));
    moving x = {o, {.file = to, .pool = o->pool, .engine = o->engine, .op = &op, .site = o->comm.rank}};
    s = tra_engine_each(o->engine, o->compact.n, tra_outlet_io(&x.to), move_chunk, &x, e);
    s = tra_outfile_finish(to, s, e);
    if (s != TRA_OK) return tra_outfiles_commit(&to, 1, s, false, NULL, e);
    o->tallies[0].digest = to->tallies[0].digest;
    o->writer = to->writer;
    to->writer = NULL;
    tra_outfile_free(to);
    return TRA_OK;
}
