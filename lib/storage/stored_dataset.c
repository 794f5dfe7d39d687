/* stored_dataset.c - elements of the datasets of stored relations: read where they are, decoded by tra from chunks, or
 * read by HDF5. */
#include "../h5/pack.h"
#include "stored_int.h"
#include "../h5/zfilter.h"

#include <stdlib.h>
#include <string.h>

/* ---- sources ---------------------------------------------------------------------------------------------------- */

static tra_status read_library(const tra_rel *r, const tra_dataset_reader *s, int64_t from, int64_t n, void *out,
                               tra_err *e) {
    hsize_t start[1] = {(hsize_t)from}, count[1] = {(hsize_t)n};
    tra_h5_enter();
    hid_t space = H5Dget_space(s->dset), memory = H5Screate_simple(1, count, NULL);
    memset(out, 0, (size_t)n * s->each); /* HDF5 may leave it as it is where nothing was written */
    bool ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(s->dset, s->memory, memory, space, H5P_DEFAULT, out) >= 0;
    tra_status st = ok ? TRA_OK : tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s cannot be read", r->path, r->name);
    H5Sclose(memory);
    H5Sclose(space);
    tra_h5_leave();
    return st;
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

static tra_status find_chunks(const tra_rel *r, tra_dataset_reader *s, tra_err *e) {
    int64_t n = tra_ceil_div(s->count, TRA_DATASET_CHUNK);
    tra_status st = TRA_OK;
    if (s->found) return st;
    tra_h5_enter();
    if (!s->found && !(s->chunk = malloc((size_t)n * sizeof *s->chunk)))
        st = tra_fail(e, TRA_RESOURCE, "out of memory for the chunks of %s:%s", r->path, r->name);
    for (int64_t i = 0; i < n && st == TRA_OK && !s->found; i++)
        (void)tra_vfd_find_chunk(r->vfd, s->dset, (hsize_t[]){(hsize_t)(i * TRA_DATASET_CHUNK)}, &s->chunk[i]);
    if (st == TRA_OK) s->found = true;
    tra_h5_leave();
    return st;
}

static tra_status damaged(const tra_rel *r, const char *why, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s:%s: a chunk of it is damaged: %s", r->path, r->name, why);
}

/* Reads a chunk, decodes and unshuffles it, to room for TRA_DATASET_CHUNK elements. */
static tra_status decode(const tra_rel *r, const tra_dataset_reader *s, const tra_chunkref *c, char *to, tra_err *e) {
    char piece[16 << 10];
    int64_t n = tra_dataset_chunk(s->count);
    size_t bytes = (size_t)n * s->each;
    bool coded = s->pipeline.zstd >= 0 && !(c->mask >> s->pipeline.zstd & 1);
    bool shuffled = s->pipeline.shuffle >= 0 && !(c->mask >> s->pipeline.shuffle & 1);
    if (!coded && c->len != bytes) return damaged(r, "it has not the length of a chunk", e);
    if (!coded) TRA_TRY(tra_pread(r->vfd->fd, to, bytes, c->addr, r->path, e));
    if (coded) {
        tra_inflate x;
        tra_inflate_begin(&x, to, bytes);
        for (int64_t at = 0; at < c->len; at += (int64_t)sizeof piece) {
            size_t m = (size_t)tra_min64((int64_t)sizeof piece, c->len - at);
            TRA_TRY(tra_pread(r->vfd->fd, piece, m, c->addr + at, r->path, e));
            tra_inflate_more(&x, piece, m);
        }
        const char *why = tra_inflate_end(&x);
        if (why && x.starved) return tra_fail(e, TRA_RESOURCE, "%s:%s: %s", r->path, r->name, why);
        if (why) return damaged(r, why, e);
    }
    if (shuffled) {
        char room[TRA_DATASET_CHUNK * 8];
        tra_chunk_unshuffle(to, (size_t)n, s->each, room);
    }
    return TRA_OK;
}

static tra_status read_packed(const tra_rel *r, tra_dataset_reader *s, int64_t from, int64_t n, char *out, tra_err *e) {
    int64_t size = tra_dataset_chunk(s->count);
    TRA_TRY(find_chunks(r, s, e));
    while (n > 0) {
        const tra_chunkref *c = &s->chunk[from / TRA_DATASET_CHUNK];
        int64_t skip = from % TRA_DATASET_CHUNK, m = tra_min64(n, size - skip);
        char all[TRA_DATASET_CHUNK * 8];
        if (c->addr < 0) {
            TRA_TRY(read_library(r, s, from, m, out, e)); /* never written, or the index is damaged: HDF5 says so */
        } else if (m == size) {
            TRA_TRY(decode(r, s, c, out, e));
        } else {
            TRA_TRY(decode(r, s, c, all, e));
            memcpy(out, all + (size_t)skip * s->each, (size_t)m * s->each);
        }
        out += (size_t)m * s->each;
        from += m;
        n -= m;
    }
    return TRA_OK;
}

void tra_dataset_find_access(tra_dataset_reader *s, hid_t type) {
    hid_t dcpl = H5Dget_create_plist(s->dset);
    hsize_t chunk = 0;
    bool same = H5Tequal(type, s->memory) > 0;
    haddr_t at = same ? H5Dget_offset(s->dset) : HADDR_UNDEF; /* which it is of what is not in one piece in this file */
    s->base = at == HADDR_UNDEF ? -1 : (int64_t)at;
    s->compressed = same && s->count > 0 && s->each <= 8 && H5Pget_layout(dcpl) == H5D_CHUNKED &&
                    H5Pget_chunk(dcpl, 1, &chunk) == 1 && chunk == (hsize_t)tra_dataset_chunk(s->count) &&
                    tra_pack_known(dcpl, &s->pipeline) &&
                    tra_ceil_div(s->count, TRA_DATASET_CHUNK) <= (int64_t)H5Dget_storage_size(s->dset);
    H5Pclose(dcpl);
}

void tra_dataset_close(tra_dataset_reader *s) {
    if (s->dset > 0) H5Dclose(s->dset);
    free(s->chunk);
    s->chunk = NULL;
    s->dset = 0;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

tra_status tra_dataset_read(const tra_rel *r, const tra_dataset_reader *s, int64_t from, int64_t n, void *out,
                            tra_err *e) {
    if (n == 0) return TRA_OK;
    if (s->compressed)
        return read_packed(r, (tra_dataset_reader *)(uintptr_t)s, from, n, out,
                           e); /* its chunks are found at the first read */
    if (s->base < 0) return read_library(r, s, from, n, out, e);
    return tra_pread(r->vfd->fd, out, (size_t)n * s->each, s->base + from * (int64_t)s->each, r->path, e);
}

void tra_dataset_widen(const tra_dataset_reader *s, const char *raw, int64_t n, int64_t *out) {
#define EACH(size, signed_type, unsigned_type)                                                                         \
    case size:                                                                                                         \
        for (int64_t i = 0; i < n; i++)                                                                                \
            out[i] = s->sign ? (int64_t)((const signed_type *)(const void *)raw)[i]                                    \
                             : (int64_t)((const unsigned_type *)(const void *)raw)[i];                                 \
        return;
    switch (s->each) {
        EACH(1, int8_t, uint8_t)
        EACH(2, int16_t, uint16_t)
        EACH(4, int32_t, uint32_t)
    default: memcpy(out, raw, (size_t)n * sizeof *out); /* numbers beyond 2^63 become negative, which no range allows */
    }
#undef EACH
}

tra_status tra_dataset_read_ints(const tra_rel *r, const tra_dataset_reader *s, int64_t from, int64_t n, int64_t *out,
                                 tra_err *e) {
    char *raw = (char *)out + (size_t)n * (sizeof *out - s->each);
    if (s->each == sizeof *out) return tra_dataset_read(r, s, from, n, out, e);
    TRA_TRY(tra_dataset_read(r, s, from, n, raw, e));
    char piece[1024 * 4];
    for (int64_t i = 0; i < n; i += 1024) { /* in place, from the first element on */
        int64_t m = tra_min64(1024, n - i);
        memcpy(piece, raw + (size_t)i * s->each, (size_t)m * s->each);
        tra_dataset_widen(s, piece, m, out + i);
    }
    return TRA_OK;
}
