/* chunks_write.c - writing arrays: padding to chunks, encoding, and putting bytes at their addresses. */
#include "chunks.h"
#include "../h5/zfilter.h"
#include "dense.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* Are chunks stored as they are? Then all of them are allocated before anything is written. */
static bool plain(const tra_writer *w) { return !w->codec.zstd && !w->gzip; }

static tra_status make_tables(tra_writer *w, tra_err *e) {
    size_t n = (size_t)tra_max64(1, w->type.cat->n);
    w->chunk_bytes = w->geom.chunk_elements * (int64_t)w->size;
    w->sums = calloc(n, sizeof *w->sums);
    w->addr = plain(w) ? calloc(n, sizeof *w->addr) : NULL;
    if (!w->sums || (plain(w) && !w->addr))
        return tra_fail(e, TRA_RESOURCE, "out of memory for the chunk tables of %s", w->path);
    return TRA_OK;
}

tra_status tra_chunks_prepare(tra_writer *w, const tra_write_options *o, tra_err *e) {
    (void)o;
    TRA_TRY(tra_geom_fits(&w->type, &w->geom, e));
    return make_tables(w, e);
}

static tra_status create_dataset(tra_writer *w, tra_err *e) {
    hsize_t dims[TRA_MAXDIM], chunk[TRA_MAXDIM];
    int n = w->geom.dims.n;
    for (int i = 0; i < n; i++) {
        dims[i] = (hsize_t)w->geom.dims.v[i];
        chunk[i] = (hsize_t)w->geom.chunk.v[i];
    }
    hid_t space = H5Screate_simple(n, dims, NULL);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), lcpl = H5Pcreate(H5P_LINK_CREATE);
    unsigned level = (unsigned)w->codec.level;
    bool ok = H5Pset_chunk(dcpl, n, chunk) >= 0 && H5Pset_obj_track_times(dcpl, false) >= 0 &&
              H5Pset_create_intermediate_group(lcpl, 1) >= 0;
    if (ok && w->gzip) ok = H5Pset_shuffle(dcpl) >= 0 && H5Pset_deflate(dcpl, (unsigned)w->gzip) >= 0;
    if (ok && w->codec.zstd)
        ok = H5Pset_shuffle(dcpl) >= 0 && H5Pset_filter(dcpl, TRA_ZSTD_FILTER, H5Z_FLAG_MANDATORY, 1, &level) >= 0;
    if (ok) w->dset = H5Dcreate2(w->file, w->name, tra_h5_type(w->type.dtype), space, lcpl, dcpl, H5P_DEFAULT);
    tra_status s = TRA_OK;
    if (w->dset < 0) s = tra_h5_fail(e, TRA_INPUT, w->vfd, "cannot create the dataset %s in %s", w->name, w->temp);
    H5Pclose(lcpl);
    H5Pclose(dcpl);
    H5Sclose(space);
    return s;
}

/* Lets the library allocate and index the chunk of a tuple, of len bytes. Under the HDF5 lock. */
static tra_status new_chunk(tra_writer *w, int64_t ordinal, int64_t len, uint32_t mask, int64_t *addr, tra_err *e) {
    char buf[TRA_DIMTEXT];
    tra_dims key;
    int64_t off[TRA_MAXDIM];
    hsize_t at[TRA_MAXDIM];
    tra_catalog_key(w->type.cat, ordinal, &key);
    tra_geom_offset(&w->geom, &key, off);
    for (int i = 0; i < w->geom.dims.n; i++) at[i] = (hsize_t)off[i];
    if (!tra_vfd_allocate_chunk(w->vfd, w->dset, at, mask, len, addr))
        return tra_h5_fail(e, TRA_INTERNAL, w->vfd, "cannot allocate chunk %s of %s", tra_key_text(&key, buf), w->temp);
    w->stored += len;
    return TRA_OK;
}

/* Allocates all chunks of codec none, in the order of keys. */
static tra_status allocate_all(tra_writer *w, tra_err *e) {
    for (int64_t i = 0; i < w->type.cat->n; i++) TRA_TRY(new_chunk(w, i, w->chunk_bytes, 0, &w->addr[i], e));
    return tra_writer_reserve(w, w->fd, (int64_t)w->vfd->eof, e);
}

tra_status tra_chunks_create(tra_writer *w, tra_err *e) {
    TRA_TRY(create_dataset(w, e));
    if (!plain(w)) return TRA_OK;
    if (!tra_is_intermediate(w->path)) w->direct_fd = open(w->temp, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    return allocate_all(w, e);
}

/* Codec none: the addresses of all chunks. */
void tra_chunks_blob(const tra_writer *w, tra_str *blob) {
    if (w->addr) tra_str_addn(blob, (const char *)w->addr, (size_t)w->type.cat->n * sizeof *w->addr);
}

tra_status tra_chunks_attach(tra_writer *w, const char *blob, size_t n, tra_err *e) {
    TRA_TRY(tra_chunks_prepare(w, NULL, e));
    if (n != (w->addr ? (size_t)w->type.cat->n * sizeof *w->addr : 0))
        return tra_fail(e, TRA_INTERNAL, "the description of an output does not fit its type");
    if (w->addr) memcpy(w->addr, blob, n);
    return TRA_OK;
}

int tra_chunks_facts(const tra_writer *w) {
    (void)w;
    return 1;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

size_t tra_chunks_put_scratch(const tra_writer *w) {
    size_t n = align64((size_t)w->chunk_bytes);
    if (w->gzip) return 0;
    return w->codec.zstd ? 2 * n + tra_encode_room((size_t)w->chunk_bytes, w->size) : n;
}

static bool clipped(const tra_writer *w, int64_t ordinal, tra_dims *ext, tra_dims *chunk) {
    tra_catalog_ext(w->type.cat, ordinal, ext);
    chunk->n = ext->n;
    for (int a = 0; a < ext->n; a++) chunk->v[a] = w->geom.chunk.v[w->geom.lead + a];
    return !tra_dims_eq(ext, chunk);
}

/* Makes a chunk of an array in place, where the chunk is larger: moves rows from the last to the first, so that none
 * overwrites one that is yet to be moved, and fills the rest with zeros. */
static void pad(const tra_writer *w, int64_t ordinal, char *data) {
    tra_dims ext, chunk;
    if (!clipped(w, ordinal, &ext, &chunk)) return;
    int64_t rows = 1, end = w->chunk_bytes;
    size_t row = w->size;
    for (int d = 0; d < ext.n; d++) {
        if (d + 1 < ext.n)
            rows *= ext.v[d];
        else
            row *= (size_t)ext.v[d];
    }
    tra_dims outer = ext, at;
    outer.n = ext.n - 1;
    for (int64_t i = row > 0 ? rows : 0; i-- > 0;) {
        int64_t to = 0;
        tra_unlinear(&outer, i, &at);
        for (int d = 0; d < ext.n; d++) to = to * chunk.v[d] + (d < at.n ? at.v[d] : 0);
        to *= (int64_t)w->size;
        memmove(data + to, data + (size_t)i * row, row);
        memset(data + to + row, 0, (size_t)end - (size_t)to - row);
        end = to;
    }
    if (end > 0) memset(data, 0, (size_t)end);
}

int64_t tra_codec_scratch(const tra_type *t) {
    return (int64_t)tra_encode_room((size_t)tra_store_chunk_bytes(t), tra_dtype_size(t->dtype));
}

tra_status tra_writer_encode(const tra_writer *w, int64_t ordinal, void *data, void *scratch, tra_encoded_fn *put,
                             void *ctx, tra_encoded *enc, tra_err *e) {
    pad(w, ordinal, data);
    return tra_chunk_encode(data, (size_t)w->chunk_bytes, w->size, w->codec.level, scratch, put, ctx, enc, e);
}

tra_status tra_writer_allocate(tra_writer *w, int64_t ordinal, const tra_encoded *enc, int64_t *addr, tra_err *e) {
    tra_h5_enter();
    tra_status s = new_chunk(w, ordinal, enc->len, enc->mask, addr, e);
    tra_h5_leave();
    if (s != TRA_OK) return s;
    w->sums[ordinal] = enc->sum;
    w->mask_sum += tra_mask_sum(ordinal, enc->mask);
    return s;
}

static size_t array_bytes(const tra_writer *w, int64_t ordinal) {
    return (size_t)tra_type_bytes(&w->type, ordinal).bound;
}

/* Writes an array by HDF5 and its filters. */
static tra_status put_by_library(tra_writer *w, int64_t ordinal, const void *data, tra_err *e) {
    tra_dims key, ext;
    int64_t at[TRA_MAXDIM];
    hsize_t start[TRA_MAXDIM], count[TRA_MAXDIM];
    int n = w->geom.dims.n;
    tra_catalog_key(w->type.cat, ordinal, &key);
    tra_catalog_ext(w->type.cat, ordinal, &ext);
    tra_geom_offset(&w->geom, &key, at);
    for (int d = 0; d < n; d++) {
        int a = d - w->geom.lead;
        start[d] = (hsize_t)at[d];
        count[d] = a < 0 || a >= ext.n ? 1 : (hsize_t)ext.v[a];
    }
    tra_h5_enter();
    hid_t file = H5Dget_space(w->dset), memory = H5Screate_simple(n, count, NULL);
    bool ok = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dwrite(w->dset, tra_h5_type(w->type.dtype), memory, file, H5P_DEFAULT, data) >= 0 && !w->vfd->lost;
    tra_status s = ok ? TRA_OK : tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot write %s", w->temp);
    if (ok) w->stored = (int64_t)H5Dget_storage_size(w->dset);
    H5Sclose(memory);
    H5Sclose(file);
    tra_h5_leave();
    w->sums[ordinal] = 1; /* written, but without a checksum */
    return s;
}

tra_status tra_chunks_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e) {
    size_t n = (size_t)w->chunk_bytes;
    if (w->gzip) return put_by_library(w, ordinal, data, e);
    if (w->codec.zstd) {
        tra_encoded enc;
        int64_t addr;
        char *encoded = (char *)scratch + align64(n), *rest = encoded + align64(n);
        memcpy(scratch, data, array_bytes(w, ordinal));
        TRA_TRY(tra_writer_encode(w, ordinal, scratch, rest, tra_encoded_keep, encoded, &enc, e));
        TRA_TRY(tra_writer_allocate(w, ordinal, &enc, &addr, e));
        return tra_writer_write_at(w, addr, encoded, enc.len, e);
    }
    tra_dims ext, chunk;
    if (clipped(w, ordinal, &ext, &chunk)) {
        memcpy(scratch, data, array_bytes(w, ordinal));
        pad(w, ordinal, scratch);
        data = scratch;
    }
    w->sums[ordinal] = tra_chunk_sum(data, n);
    return tra_writer_store(w, ordinal, data, e);
}

void tra_writer_pad(tra_writer *w, int64_t ordinal, void *data) {
    pad(w, ordinal, data);
    w->sums[ordinal] = tra_chunk_sum(data, (size_t)w->chunk_bytes);
}

/* Writes the whole pages of a chunk past the page cache: no copy, and nothing left for fsync to wait for. Returns the
 * bytes written: fewer where the system refuses. */
static int64_t write_direct(tra_writer *w, int64_t addr, const char *chunk, int64_t n) {
    int64_t done = 0;
    int fd = w->direct_fd;
    while (fd >= 0 && done < n) {
        ssize_t put = pwrite(fd, chunk + done, (size_t)tra_min64(n - done, 1 << 30), addr + done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0 || put % TRA_PAGE) break; /* the ordinary write that follows tells why */
        done += put;
    }
    return done;
}

tra_status tra_writer_store(tra_writer *w, int64_t ordinal, const void *chunk, tra_err *e) {
    int64_t addr = w->addr[ordinal], n = w->chunk_bytes, done = 0;
    if (n >= TRA_DIRECT && (uintptr_t)chunk % TRA_PAGE == 0 && addr % TRA_PAGE == 0)
        done = write_direct(w, addr, chunk, n / TRA_PAGE * TRA_PAGE);
    TRA_TRY(tra_writer_write_at(w, addr + done, (const char *)chunk + done, n - done, e));
    /* begin writing to the disk now rather than at fsync */
    if (done == 0 && !tra_is_intermediate(w->path)) (void)sync_file_range(w->fd, addr, n, SYNC_FILE_RANGE_WRITE);
    return TRA_OK;
}

int64_t tra_writer_address(const tra_writer *w, int64_t ordinal) { return w->addr[ordinal]; }
