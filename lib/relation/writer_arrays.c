/* writer_arrays.c - writing arrays: padding to chunks, encoding, and putting bytes at their addresses. */
#include "../calculus/calculus.h"
#include "stored_int.h"
#include "table_hook.h"
#include "zfilter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

size_t tra_writer_scratch_bytes(const tra_writer *w) {
    if (w->table) return 0;
    if (!tra_writer_chunked(w)) return (size_t)tra_stored_put_scratch(w);
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
    tra_status s = tra_writer_new_chunk(w, ordinal, enc->len, enc->mask, addr, e);
    tra_h5_leave();
    if (s != TRA_OK) return s;
    w->sums[ordinal] = enc->sum;
    w->mask_sum += tra_mask_sum(ordinal, enc->mask);
    return s;
}

tra_status tra_writer_write_at(tra_writer *w, int64_t addr, const void *bytes, int64_t len, tra_err *e) {
    return tra_pwrite(w->fd, bytes, (size_t)len, addr, w->temp, e);
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

tra_status tra_writer_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e) {
    size_t n = (size_t)w->chunk_bytes;
    if (w->table) return tra_table_put(w, ordinal, data, e);
    if (!tra_writer_chunked(w)) return tra_stored_put(w, ordinal, data, scratch, e);
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

uint64_t *tra_writer_sums(tra_writer *w) { return w->sums; }

int64_t tra_writer_nsums(const tra_writer *w) {
    if (w->table) return 0; /* the commit reads all that was written for checksums */
    return w->type.cat->n * (tra_writer_chunked(w) ? 1 : tra_form_fact_words(&w->placing->form));
}

int64_t tra_writer_stored(const tra_writer *w) { return w->stored; }

int64_t tra_writer_address(const tra_writer *w, int64_t ordinal) { return w->addr[ordinal]; }

int tra_writer_fd(const tra_writer *w) { return w->fd; }

bool tra_writer_reused(const tra_writer *w) { return w->reused; }
