/* zfilter.c - the filter. */
#include "zfilter.h"

#include <stdlib.h>
#include <zstd.h>

enum { DEFAULT_LEVEL = 3 };                 /* what other writers mean when they give no level */
static const size_t MAX_CHUNK = UINT32_MAX; /* of HDF5 */

/* A frame that does not tell its size (streaming writers): decoded into a growing buffer. */
static void *inflate_unknown(const void *src, size_t n, size_t *out_n) {
    ZSTD_DStream *ds = ZSTD_createDStream();
    size_t cap = n > 0 && n < MAX_CHUNK / 4 ? 4 * n : 65536;
    char *out = ds ? malloc(cap) : NULL;
    ZSTD_inBuffer in = {src, n, 0};
    ZSTD_outBuffer to = {out, cap, 0};
    size_t left = out ? 1 : 0;
    while (out && left != 0) {
        left = ZSTD_decompressStream(ds, &to, &in);
        if (ZSTD_isError(left) || (left != 0 && in.pos == in.size && to.pos < to.size) || to.pos > MAX_CHUNK) {
            free(out);
            out = NULL;
        } else if (left != 0 && to.pos == to.size) {
            char *more = realloc(out, 2 * to.size);
            if (!more) free(out);
            out = more;
            to.dst = more;
            to.size *= 2;
        }
    }
    ZSTD_freeDStream(ds);
    *out_n = to.pos;
    return out;
}

static void *inflate(const void *src, size_t n, size_t *out_n) {
    unsigned long long size = ZSTD_getFrameContentSize(src, n);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN) return inflate_unknown(src, n, out_n);
    if (size == ZSTD_CONTENTSIZE_ERROR || size > MAX_CHUNK) return NULL;
    void *out = malloc(size > 0 ? (size_t)size : 1);
    if (!out) return NULL;
    *out_n = ZSTD_decompress(out, (size_t)size, src, n);
    if (ZSTD_isError(*out_n) || *out_n != size) {
        free(out);
        return NULL;
    }
    return out;
}

static void *deflate(const void *src, size_t n, int level, size_t *out_n) {
    size_t cap = ZSTD_compressBound(n);
    void *out = malloc(cap);
    if (!out) return NULL;
    *out_n = ZSTD_compress(out, cap, src, n, level); /* the frame carries its content size */
    if (ZSTD_isError(*out_n)) {
        free(out);
        return NULL;
    }
    return out;
}

static size_t zstd_filter(unsigned flags, size_t ncd, const unsigned cd[], size_t nbytes, size_t *buf_size,
                          void **buf) {
    size_t n = 0;
    int level = ncd > 0 ? (int)cd[0] : DEFAULT_LEVEL;
    void *out = flags & H5Z_FLAG_REVERSE ? inflate(*buf, nbytes, &n) : deflate(*buf, nbytes, level, &n);
    if (!out) return 0;
    free(*buf);
    *buf = out;
    *buf_size = n;
    return n;
}

const H5Z_class2_t tra_zstd_class = {
    .version = H5Z_CLASS_T_VERS,
    .id = TRA_ZSTD_FILTER,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "Zstandard compression: http://www.zstd.net",
    .filter = zstd_filter,
};
