/* chunks_read.c - reading arrays that are chunks of a dataset, in any thread. */
#include "chunks.h"
#include "gen_values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

static size_t chunk_bytes(const tra_rel *r) { return (size_t)r->geom.chunk_elements * r->size; }

static bool filtered(const tra_rel *r) { return r->pipeline.zstd >= 0 || r->pipeline.shuffle >= 0; }

/* ---- what is loaded at the first read ---------------------------------------------------------------------------- */

static void chunk_offset(const tra_rel *r, const tra_dims *key, hsize_t at[TRA_MAXDIM]) {
    int64_t off[TRA_MAXDIM];
    tra_geom_offset(&r->geom, key, off);
    for (int d = 0; d < r->geom.dims.n; d++) at[d] = (hsize_t)off[d];
}

static void find_chunk(tra_rel *r, int64_t ordinal) {
    tra_dims key;
    hsize_t at[TRA_MAXDIM];
    tra_catalog_key(&r->cat, ordinal, &key);
    chunk_offset(r, &key, at);
    (void)tra_vfd_find_chunk(r->vfd, r->dset, at, &r->chunks[ordinal]); /* whoever reads it says that it is gone */
}

static tra_status load_sums(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, "xxh64");
    bool dense = tra_sums_over_grid(r->geom.nchunks, r->cat.n);
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT), space = H5Dget_space(dset);
    tra_dims expected = dense ? r->geom.grid : (tra_dims){.n = 1, .v = {r->cat.n}};
    hsize_t dims[H5S_MAX_RANK];
    bool ok = dset >= 0 && H5Sget_simple_extent_ndims(space) == expected.n &&
              H5Sget_simple_extent_dims(space, dims, NULL) >= 0;
    for (int i = 0; ok && i < expected.n; i++) ok = dims[i] == (hsize_t)expected.v[i];
    int64_t n = dense ? r->geom.nchunks : r->cat.n;
    uint64_t *table = ok ? malloc((size_t)n * sizeof *table + 1) : NULL;
    ok = table && (n == 0 || H5Dread(dset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, table) >= 0) &&
         tra_h5_sealed(dset, (const int64_t *)table, n);
    if (ok && dense) {
        r->sums = calloc((size_t)r->cat.n + 1, sizeof *r->sums);
        ok = r->sums;
        for (int64_t i = 0; ok && i < r->cat.n; i++) {
            tra_dims key;
            tra_catalog_key(&r->cat, i, &key);
            r->sums[i] = table[tra_geom_chunk_number(&r->geom, &key)];
        }
        free(table);
    } else if (ok) {
        r->sums = table;
    } else {
        free(table);
    }
    int64_t masks;
    r->has_mask_sum = ok && H5Aexists(dset, "tra_masks") > 0;
    if (r->has_mask_sum) ok = tra_h5_get_ints(dset, "tra_masks", &masks, 1) == 1;
    if (r->has_mask_sum && ok) r->mask_sum = (uint64_t)masks;
    H5Sclose(space);
    H5Dclose(dset);
    return ok ? TRA_OK : tra_h5_fail(e, TRA_INPUT, r->vfd, "%s: the table of checksums %s is damaged", r->path, path);
}

static tra_status load_all(tra_rel *r, tra_err *e) {
    if (r->has_sums && !r->sums) TRA_TRY(load_sums(r, e));
    if (r->how != TRA_BY_CHUNK) return TRA_OK;
    if (r->sums && !r->checked && !(r->checked = calloc((size_t)r->cat.n + 1, sizeof *r->checked)))
        return tra_fail(e, TRA_RESOURCE, "out of memory for the chunks of %s:%s", r->path, r->name);
    if (!r->chunks && !(r->chunks = calloc((size_t)r->cat.n + 1, sizeof *r->chunks)))
        return tra_fail(e, TRA_RESOURCE, "out of memory for the chunk addresses of %s:%s", r->path, r->name);
    uint64_t masks = 0;
    bool all = true;
    for (int64_t i = 0; i < r->cat.n; i++) {
        find_chunk(r, i);
        all = all && r->chunks[i].addr >= 0;
        masks += tra_mask_sum(i, r->chunks[i].mask);
    }
    if (r->has_mask_sum && all && masks != r->mask_sum) /* a missing chunk is reported when it is read */
        return tra_fail(e, TRA_INPUT,
                        "%s:%s: its chunk index is damaged: chunks went through other filters than it says", r->path,
                        r->name);
    if (filtered(r) || chunk_bytes(r) < TRA_DIRECT) return TRA_OK;
    char path[32]; /* the open file, even if its name is now that of another */
    snprintf(path, sizeof path, "/proc/self/fd/%d", r->vfd->fd);
    r->direct_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    return TRA_OK;
}

static tra_status load(tra_rel *r, tra_err *e) {
    tra_status s = TRA_OK;
    if (r->loaded) return s;
    tra_h5_enter();
    if (!r->loaded) {
        s = load_all(r, e);
        if (s == TRA_OK) r->loaded = true;
    }
    tra_h5_leave();
    return s;
}

uint64_t tra_chunks_identity(tra_rel *r) {
    tra_err e = {0};
    if (!r->has_sums || (!r->sums && load_sums(r, &e) != TRA_OK)) return r->parts_identity;
    return XXH64(r->sums, (size_t)r->cat.n * sizeof *r->sums, 0);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

enum { PIECE = 512 << 10 }; /* bytes that are read at a time */

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

/* Is some array smaller than its chunk? */
static bool ragged(const tra_rel *r) {
    if (!r->cat.grid) return true;
    for (int a = 0; a < r->cat.bound.n; a++) {
        if (r->cat.by[a] >= 0 || r->cat.bound.v[a] != r->geom.chunk.v[r->geom.lead + a]) return true;
    }
    return false;
}

size_t tra_rel_unpack_bytes(const tra_rel *r) {
    return !r->turned && !r->kind->is && r->how == TRA_BY_CHUNK && filtered(r) ? chunk_bytes(r) : 0;
}

/* Bytes that are read at a time, where they are copied from scratch. */
static size_t piece_of(const tra_rel *r) { return chunk_bytes(r) < PIECE ? align64(chunk_bytes(r)) : PIECE; }

/* Bytes for an array as the file has it, before it is turned. */
static size_t turning_bytes(const tra_rel *r) {
    size_t array = (size_t)tra_type_bytes_largest(&r->type).bound;
    return !r->turned ? 0 : align64(filtered(r) && chunk_bytes(r) > array ? chunk_bytes(r) : array);
}

/* Bytes of scratch for reading an array as the file has it. */
static size_t reading_bytes(const tra_rel *r) {
    if (r->how != TRA_BY_CHUNK || (!filtered(r) && !ragged(r))) return 0;
    size_t unshuffle = filtered(r) ? tra_shuffle_room((size_t)r->geom.chunk_elements, r->size) : 0;
    return align64(unshuffle > piece_of(r) ? unshuffle : piece_of(r));
}

size_t tra_chunks_read_scratch(const tra_rel *r) { return turning_bytes(r) + reading_bytes(r); }

static tra_status damaged(const tra_rel *r, int64_t ordinal, const char *why, tra_err *e) {
    char buf[TRA_DIMTEXT];
    tra_dims key;
    tra_catalog_key(&r->cat, ordinal, &key);
    return tra_fail(e, TRA_INPUT, "chunk %s of %s:%s is damaged: %s", tra_key_text(&key, buf), r->path, r->name, why);
}

/* Reads the whole pages of a chunk past the page cache. Returns the bytes read: fewer where the system refuses or the
 * file ends; the ordinary read that follows tells why. */
static size_t fetch_direct(const tra_rel *r, const tra_chunkref *c, char *to) {
    size_t done = 0, n = c->len / TRA_PAGE * TRA_PAGE;
    while (done < n) {
        ssize_t got = pread(r->direct_fd, to + done, n - done, c->addr + (int64_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || got % TRA_PAGE) break;
        done += (size_t)got;
    }
    return done;
}

/* How an array that is smaller than its chunk lies in it: as runs of contiguous bytes, each of which is the beginning
 * of a run of the chunk. */
typedef struct clip {
    tra_dims rows, of; /* numbers of runs in the array and in the chunk, by dimension */
    size_t run, of_run;
    char *to; /* the array */
} clip;

static clip clip_of(const tra_dims *ext, const tra_dims *chunk, size_t size, void *to) {
    clip c = {.rows = *ext, .of = *chunk, .run = size, .of_run = size, .to = to};
    while (c.rows.n > 0) { /* trailing dimensions that the array spans as a whole are one run */
        c.run *= (size_t)ext->v[--c.rows.n];
        c.of_run *= (size_t)chunk->v[c.rows.n];
        if (c.run != c.of_run) break;
    }
    c.of.n = c.rows.n;
    return c;
}

/* Copies what belongs to the array out of n bytes of the chunk, which begin at its byte `at`. From byte 0 on this works
 * in place. */
static void clip_piece(const clip *c, size_t at, const char *from, size_t n) {
    for (size_t row = at / c->of_run; row * c->of_run < at + n; row++) {
        size_t left = row, to = 0, step = 1, begin = row * c->of_run;
        bool in = true;
        for (int d = c->of.n - 1; d >= 0; d--) {
            size_t i = left % (size_t)c->of.v[d];
            left /= (size_t)c->of.v[d];
            in = in && i < (size_t)c->rows.v[d];
            to += i * step;
            step *= (size_t)c->rows.v[d];
        }
        size_t lo = at > begin ? at : begin, hi = at + n < begin + c->run ? at + n : begin + c->run;
        if (in && lo < hi) memmove(c->to + to * c->run + (lo - begin), from + (lo - at), hi - lo);
    }
}

/* Reads the stored bytes of a chunk and verifies its checksum. Without clip and z they go to `to`; else `to` is scratch
 * for pieces, from each of which clip takes what belongs to the array, or which z decodes. */
static tra_status fetch(const tra_rel *r, int64_t ordinal, char *to, const clip *clip, tra_inflate *z, bool direct,
                        tra_err *e) {
    const tra_chunkref *c = &r->chunks[ordinal];
    size_t have = direct ? fetch_direct(r, c, to) : 0;
    tra_err cause = {0};
    bool check = r->sums && r->sums[ordinal] && !atomic_load_explicit(&r->checked[ordinal], memory_order_relaxed);
    XXH64_state_t sum;
    XXH64_reset(&sum, 0);
    for (size_t at = 0, piece = piece_of(r); at < c->len;
         at += piece) { /* each piece is summed while it is in the processor's cache */
        size_t n = c->len - at < piece ? c->len - at : piece;
        size_t here = at >= have ? 0 : have - at < n ? have - at : n;
        char *part = clip || z ? to : to + at;
        if (tra_pread(r->vfd->fd, part + here, n - here, c->addr + (int64_t)(at + here), r->path, &cause) != TRA_OK)
            return damaged(r, ordinal, cause.msg, e);
        if (check) XXH64_update(&sum, part, n);
        if (clip) clip_piece(clip, at, part, n);
        if (z) tra_inflate_more(z, part, n);
    }
    if (!check) return TRA_OK;
    if (tra_chunk_sum_end(XXH64_digest(&sum)) != r->sums[ordinal])
        return damaged(r, ordinal, "its bytes do not have the checksum that was recorded", e);
    atomic_store_explicit(&r->checked[ordinal], true, memory_order_relaxed);
    return TRA_OK;
}

static void fill_array(const tra_rel *r, int64_t n, void *buf) {
    for (int64_t i = 0; i < n; i++) memcpy((char *)buf + (size_t)i * r->size, r->fill, r->size);
}

static tra_status read_chunk(const tra_rel *r, int64_t ordinal, const tra_dims *ext, void *buf, char *scratch,
                             bool direct, tra_err *e) {
    const tra_chunkref *c = &r->chunks[ordinal];
    size_t n = chunk_bytes(r);
    tra_dims chunk = {.n = ext->n};
    for (int a = 0; a < ext->n; a++) chunk.v[a] = r->geom.chunk.v[r->geom.lead + a];
    bool whole = tra_dims_eq(ext, &chunk);
    bool zstd = r->pipeline.zstd >= 0 && !(c->mask >> r->pipeline.zstd & 1);
    bool shuffled = r->pipeline.shuffle >= 0 && !(c->mask >> r->pipeline.shuffle & 1);
    clip cut = clip_of(ext, &chunk, r->size, buf);
    if (!zstd && c->len != n) return damaged(r, ordinal, "its stored length is not that of a chunk", e);
    if (!zstd && !shuffled)
        return whole ? fetch(r, ordinal, buf, NULL, NULL, direct, e) : fetch(r, ordinal, scratch, &cut, NULL, false, e);
    if (zstd) {
        tra_inflate z;
        tra_inflate_begin(&z, buf, n);
        TRA_TRY(fetch(r, ordinal, scratch, NULL, &z, false, e));
        const char *why = tra_inflate_end(&z);
        if (z.starved) return tra_fail(e, TRA_RESOURCE, "%s:%s: %s", r->path, r->name, why);
        if (why) return damaged(r, ordinal, why, e);
    } else {
        TRA_TRY(fetch(r, ordinal, buf, NULL, NULL, false, e));
    }
    if (shuffled) tra_chunk_unshuffle(buf, n / r->size, r->size, scratch);
    if (!whole) clip_piece(&cut, 0, buf, n);
    return TRA_OK;
}

/* Reads from a contiguous dataset, with one pread for each piece that is contiguous in the file. */
static tra_status read_rows(const tra_rel *r, int64_t ordinal, const tra_dims *ext, void *buf, tra_err *e) {
    tra_dims key, outer = *ext, at;
    int64_t off[TRA_MAXDIM];
    int n = ext->n;
    size_t piece = r->size;
    char *to = buf;
    tra_catalog_key(&r->cat, ordinal, &key);
    tra_geom_offset(&r->geom, &key, off);
    while (n > 0) {
        n--;
        piece *= (size_t)ext->v[n];
        if (ext->v[n] != r->geom.dims.v[n]) break;
    }
    outer.n = n;
    at = (tra_dims){.n = n};
    do {
        int64_t pos = 0;
        for (int d = 0; d < ext->n; d++) pos = pos * r->geom.dims.v[d] + off[d] + (d < n ? at.v[d] : 0);
        tra_err cause = {0};
        if (tra_pread(r->outside >= 0 ? r->outside : r->vfd->fd, to, piece, r->base + pos * (int64_t)r->size, r->path,
                      &cause) != TRA_OK)
            return damaged(r, ordinal, cause.msg, e);
        to += piece;
    } while (tra_next(&outer, &at));
    return TRA_OK;
}

static tra_status read_library(const tra_rel *r, int64_t ordinal, const tra_dims *ext, void *buf, tra_err *e) {
    char text[TRA_DIMTEXT];
    tra_dims key;
    hsize_t start[TRA_MAXDIM], count[TRA_MAXDIM];
    tra_catalog_key(&r->cat, ordinal, &key);
    size_t n = r->size;
    for (int a = 0; a < ext->n; a++) n *= (size_t)ext->v[a];
    memset(buf, 0, n); /* the library leaves buf as it is where no space is allocated and no fill value is set */
    tra_h5_enter();
    hid_t space = H5Dget_space(r->dset), mem = H5S_ALL;
    if (!r->scalar) {
        chunk_offset(r, &key, start);
        for (int d = 0; d < r->geom.dims.n; d++) count[d] = d < r->geom.lead ? 1 : (hsize_t)ext->v[d - r->geom.lead];
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        mem = H5Screate_simple(r->geom.dims.n, count, NULL);
    }
    herr_t got = H5Dread(r->dset, tra_rel_memory_type(r), mem, space, H5P_DEFAULT, buf);
    tra_status s = TRA_OK;
    if (got < 0)
        s = tra_h5_fail(e, TRA_INPUT, r->vfd, "chunk %s of %s:%s cannot be read", tra_key_text(&key, text), r->path,
                        r->name);
    if (mem != H5S_ALL) H5Sclose(mem);
    H5Sclose(space);
    tra_h5_leave();
    return s;
}

/* The error for element i of a tuple's array, which the relation's type cannot hold. */
static tra_status no_value(const tra_rel *r, int64_t ordinal, const tra_dims *ext, int64_t i, const char *v,
                           tra_err *e) {
    char buf[TRA_DIMTEXT];
    tra_dims key, in, at = {.n = r->geom.dims.n};
    tra_catalog_key(&r->cat, ordinal, &key);
    tra_geom_offset(&r->geom, &key, at.v);
    tra_unlinear(ext, i, &in);
    for (int a = 0; a < in.n; a++) at.v[r->geom.lead + a] += in.v[a];
    tra_dims_text(&at, "[", ",", "]", buf, sizeof buf);
    if (r->decode && r->type.dtype != TRA_BOOL)
        return tra_fail(e, TRA_INPUT,
                        "%s:%s: element %s is %s, which %s does not hold (raw:%s:%s reads the numbers as stored)",
                        r->path, r->name, buf, v, tra_dtype_name(r->type.dtype), r->path, r->name);
    if (r->u64)
        return tra_fail(e, TRA_INPUT, "%s:%s: element %s is %s, more than i64 holds (tra import --dtype f64 rounds it)",
                        r->path, r->name, buf, v);
    return tra_fail(e, TRA_INPUT, "%s:%s: element %s of booleans is neither 0 nor 1 but %s", r->path, r->name, buf, v);
}

/* The bits of n bytes that no bool has; eight at a time. */
static uint64_t more_than_bool(const unsigned char *v, int64_t n) {
    const uint64_t bits = UINT64_C(0xfefefefefefefefe);
    uint64_t all = 0, word;
    int64_t i = 0;
    for (; i + (int64_t)sizeof word <= n; i += (int64_t)sizeof word) {
        memcpy(&word, v + i, sizeof word);
        all |= word;
    }
    for (; i < n; i++) all |= v[i];
    return all & bits;
}

/* HDF5's types hold more values than those of relations: u64 beyond i64, and any byte as a bool. */
static tra_status check_values(const tra_rel *r, int64_t ordinal, const tra_dims *ext, int64_t n, const void *buf,
                               tra_err *e) {
    const uint64_t *words = buf;
    const unsigned char *bytes = buf;
    bool one_byte = tra_dtype_rows[r->type.dtype].class == TRA_CLASS_BOOL;
    uint64_t all = 0; /* the bits that any element has */
    if (r->u64 && !r->keep_u64)
        for (int64_t i = 0; i < n; i++) all |= words[i] >> 63;
    if (one_byte) all |= more_than_bool(bytes, n);
    if (all == 0) return TRA_OK;
    int64_t i = 0;
    while ((one_byte ? bytes[i] >> 1 : words[i] >> 63) == 0) i++;
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, one_byte ? bytes[i] : words[i]);
    return no_value(r, ordinal, ext, i, text, e);
}

static tra_status read_array(tra_rel *r, int64_t ordinal, void *buf, void *scratch, bool direct, tra_err *e) {
    tra_dims ext;
    int64_t n;
    if (r->how != TRA_BY_VALUES) TRA_TRY(load(r, e));
    tra_catalog_ext(&r->cat, ordinal, &ext);
    if (!tra_dims_product(&ext, &n) || n == 0) return TRA_OK;
    switch (r->how) {
    case TRA_BY_ROW: TRA_TRY(read_rows(r, ordinal, &ext, buf, e)); break;
    case TRA_BY_LIBRARY: TRA_TRY(read_library(r, ordinal, &ext, buf, e)); break;
    case TRA_BY_VALUES: gen_values_fill(r->values, &r->type, &r->info.dims, ordinal, buf); return TRA_OK;
    case TRA_BY_CHUNK:
        if (r->chunks[ordinal].addr >= 0)
            TRA_TRY(read_chunk(r, ordinal, &ext, buf, scratch, direct, e));
        else if (r->ours)
            return damaged(r, ordinal, "it is not in the file's index", e);
        else
            fill_array(r, n, buf);
    }
    if (r->decode) {
        char text[TRA_DIMTEXT];
        int64_t bad = tra_decode_run(r->decode, n, buf, text);
        if (bad >= 0) return no_value(r, ordinal, &ext, bad, text, e);
    }
    return check_values(r, ordinal, &ext, n, buf, e);
}

/* Reads an array whose dimensions the file has in the other order. */
static tra_status read_turned(tra_rel *r, int64_t ordinal, void *buf, char *scratch, tra_err *e) {
    tra_dims key, of_file, ext, stored;
    int64_t to[TRA_MAXDIM], in_file[TRA_MAXDIM], from[TRA_MAXDIM];
    tra_catalog_key(&r->shown, ordinal, &key);
    tra_catalog_ext(&r->shown, ordinal, &ext);
    of_file.n = key.n;
    for (int d = 0; d < key.n; d++) of_file.v[d] = key.v[key.n - 1 - d];
    int64_t there = tra_catalog_find(&r->cat, &of_file);
    TRA_TRY(read_array(r, there, scratch, scratch + turning_bytes(r), false, e));
    tra_catalog_ext(&r->cat, there, &stored);
    tra_strides(&ext, to);
    tra_strides(&stored, in_file);
    for (int d = 0; d < ext.n; d++) from[d] = in_file[ext.n - 1 - d];
    tra_copy_strided(tra_dtype_size(r->type.dtype), &ext, buf, to, scratch, from);
    return TRA_OK;
}

tra_status tra_chunks_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e) {
    return r->turned ? read_turned(r, ordinal, buf, scratch, e) : read_array(r, ordinal, buf, scratch, false, e);
}

/* Has the page cache the beginning and the end of a chunk? */
static bool is_cached(const tra_rel *r, const tra_chunkref *c) {
    char byte;
    struct iovec one = {&byte, 1};
    return preadv2(r->vfd->fd, &one, 1, c->addr, RWF_NOWAIT) == 1 &&
           preadv2(r->vfd->fd, &one, 1, c->addr + (int64_t)c->len - 1, RWF_NOWAIT) == 1;
}

bool tra_rel_can_read_direct(const tra_rel *r, int64_t ordinal) {
    if (r->turned || !r->loaded || r->direct_fd < 0 || r->chunks[ordinal].addr < 0 ||
        r->chunks[ordinal].addr % TRA_PAGE)
        return false;
    tra_dims ext;
    int64_t n;
    tra_catalog_ext(&r->cat, ordinal, &ext);
    return tra_dims_product(&ext, &n) && n == r->geom.chunk_elements && !is_cached(r, &r->chunks[ordinal]);
}

tra_status tra_rel_read_direct(tra_rel *r, int64_t ordinal, void *buf, tra_err *e) {
    return read_array(r, ordinal, buf, NULL, true, e);
}
