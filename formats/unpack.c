/* unpack.c - streams that are compressed by gzip or zstd. */
#include "unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

struct tra_unpack {
    enum { GZIP, ZSTD, DEFLATED, STORED } kind;
    bool seekable;
    tra_file_part part; /* of the last two kinds */
    int64_t given;      /* that it unpacked to so far, */
    uint32_t crc;       /* and their sum */
    unsigned char *buf; /* compressed bytes: pos to len are not yet taken */
    size_t pos, len, cap;
    int64_t offset;  /* of the file behind them, from its base */
    bool eof, whole; /* whole: what was taken so far is complete members or frames */
    z_stream gzip;
    ZSTD_DCtx *dctx;
};

static const unsigned char gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

bool tra_is_compressed(const unsigned char *head, size_t n) {
    return (n >= sizeof gzip_magic && memcmp(head, gzip_magic, sizeof gzip_magic) == 0) ||
           (n >= sizeof zstd_magic && memcmp(head, zstd_magic, sizeof zstd_magic) == 0);
}

void tra_unpack_free(tra_unpack *u) {
    if (!u) return;
    if (u->gzip.state) inflateEnd(&u->gzip);
    ZSTD_freeDCtx(u->dctx);
    free(u->buf);
    free(u);
}

/* Logarithm, rounded up, of the window that the frame asks for (RFC 8878, 3.1.1.1); 0 where it does not tell. A frame
 * of a single segment has its content as window. */
static int window_of(const unsigned char *head, size_t n) {
    if (n < 6) return 0;
    bool single = head[4] >> 5 & 1;
    if (!single) return 11 + (head[5] >> 3);
    unsigned long long content = ZSTD_getFrameContentSize(head, n);
    int log = 0;
    if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR) return 0;
    while (log < 62 && (1ull << log) < content) log++;
    return log;
}

tra_status tra_unpack_rewind(tra_unpack *u, tra_stream *in, tra_err *e) {
    if (u->gzip.state) inflateEnd(&u->gzip);
    u->gzip = (z_stream){0};
    u->whole = u->eof = false;
    u->pos = u->len = 0;
    u->offset = 0;
    u->given = 0;
    u->crc = (uint32_t)crc32(0, NULL, 0);
    bool ok = true;
    switch (u->kind) {
    case ZSTD: ok = !ZSTD_isError(ZSTD_DCtx_reset(u->dctx, ZSTD_reset_session_only)); break;
    case GZIP: ok = inflateInit2(&u->gzip, 15 + 16) == Z_OK; break;
    case DEFLATED: ok = inflateInit2(&u->gzip, -15) == Z_OK; break;
    case STORED: u->whole = true; break;
    }
    return ok ? TRA_OK : tra_fail(e, TRA_RESOURCE, "%s: no memory to unpack it", in->name);
}

bool tra_unpack_can_rewind(const tra_unpack *u) { return u->seekable; }

tra_status tra_stream_unpack(tra_stream *in, int64_t memory, int64_t *held, tra_err *e) {
    enum { WINDOW = 23, LEAST = 20 }; /* where the first frame does not tell: what the levels up to 19 take at most */
    enum { ALWAYS = 32 << 20 };       /* bytes that it may keep whatever the memory is */
    const unsigned char *head = in->buf + in->pos;
    size_t n = in->len - in->pos;
    tra_unpack *u = tra_calloc(1, sizeof *u);
    u->kind = n >= sizeof zstd_magic && memcmp(head, zstd_magic, sizeof zstd_magic) == 0 ? ZSTD : GZIP;
    u->seekable = in->seekable;
    u->cap = in->cap;
    u->buf = tra_malloc(u->cap);
    *held = (int64_t)u->cap + (64 << 10);
    if (u->kind == ZSTD) {
        int window = window_of(head, n);
        if (window == 0) window = WINDOW;
        if (window < LEAST) window = LEAST;
        u->dctx = ZSTD_createDCtx();
        if (!u->dctx || ZSTD_isError(ZSTD_DCtx_setParameter(u->dctx, ZSTD_d_windowLogMax, window < 31 ? window : 31))) {
            tra_unpack_free(u);
            return tra_fail(e, TRA_RESOURCE, "%s: no memory to unpack it", in->name);
        }
        *held = (int64_t)u->cap + ((int64_t)1 << window) + (512 << 10);
    }
    tra_status s = TRA_OK;
    if (*held > tra_max64(memory, ALWAYS))
        s = tra_fail(e, TRA_RESOURCE, "%s: to unpack it takes a window of %" PRId64 " MiB: allow more --memory",
                     in->name, *held >> 20);
    if (s == TRA_OK) s = tra_unpack_rewind(u, in, e);
    if (s != TRA_OK) {
        tra_unpack_free(u);
        return s;
    }
    memcpy(u->buf, head, n); /* what was read to look at it */
    u->len = n;
    u->offset = (int64_t)n;
    in->unpack = u;
    in->seekable = false;
    in->pos = in->len = 0;
    in->offset = 0;
    in->eof = false;
    return TRA_OK;
}

static tra_status fill(tra_unpack *u, tra_stream *in, tra_err *e) {
    ssize_t r;
    size_t most = u->cap;
    if (u->kind == DEFLATED || u->kind == STORED) most = (size_t)tra_min64((int64_t)most, u->part.packed - u->offset);
    do r = u->seekable ? pread(in->fd, u->buf, most, in->base + u->offset) : read(in->fd, u->buf, most);
    while (r < 0 && errno == EINTR);
    if (r < 0) return tra_fail_errno(e, TRA_INPUT, "%s: cannot read", in->name);
    u->eof = r == 0;
    u->pos = 0;
    u->len = (size_t)r;
    u->offset += r;
    return TRA_OK;
}

static tra_status damaged(const tra_unpack *u, const tra_stream *in, const char *why, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: its %s data are damaged before byte %" PRId64 ": %s", in->name,
                    u->kind == ZSTD   ? "zstd"
                    : u->kind == GZIP ? "gzip"
                                      : "zip",
                    u->offset - (int64_t)(u->len - u->pos), why);
}

static tra_status gunzip(tra_unpack *u, tra_stream *in, void *to, size_t n, size_t *got, tra_err *e) {
    if (u->whole && u->kind == GZIP) { /* another member may follow, or zeros of a tape */
        while (u->pos < u->len && u->buf[u->pos] == 0) u->pos++;
        if (u->pos == u->len) return TRA_OK;
        if (inflateReset(&u->gzip) != Z_OK) return damaged(u, in, "it cannot be unpacked", e);
        u->whole = false;
    }
    u->gzip.next_in = u->buf + u->pos;
    u->gzip.avail_in = (uInt)(u->len - u->pos);
    u->gzip.next_out = to;
    u->gzip.avail_out = (uInt)n;
    int r = inflate(&u->gzip, Z_NO_FLUSH);
    u->pos = u->len - u->gzip.avail_in;
    *got = n - u->gzip.avail_out;
    u->whole = r == Z_STREAM_END;
    if (r == Z_MEM_ERROR) return tra_fail(e, TRA_RESOURCE, "%s: no memory to unpack it", in->name);
    if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
        return damaged(u, in, u->gzip.msg ? u->gzip.msg : "it cannot be unpacked", e);
    return TRA_OK;
}

static tra_status unzstd(tra_unpack *u, tra_stream *in, void *to, size_t n, size_t *got, tra_err *e) {
    ZSTD_inBuffer from = {.src = u->buf, .size = u->len, .pos = u->pos};
    ZSTD_outBuffer out = {.dst = to, .size = n};
    size_t r = ZSTD_decompressStream(u->dctx, &out, &from);
    u->pos = from.pos;
    *got = out.pos;
    if (ZSTD_isError(r)) return damaged(u, in, ZSTD_getErrorName(r), e);
    u->whole = r == 0;
    return TRA_OK;
}

static tra_status copy(tra_unpack *u, tra_stream *in, void *to, size_t n, size_t *got, tra_err *e) {
    (void)in;
    (void)e;
    *got = n < u->len - u->pos ? n : u->len - u->pos;
    memcpy(to, u->buf + u->pos, *got);
    u->pos += *got;
    return TRA_OK;
}

/* A part has come to its end. */
static tra_status check_part(const tra_unpack *u, const tra_stream *in, tra_err *e) {
    if (u->kind != DEFLATED && u->kind != STORED) return TRA_OK;
    if (u->given != u->part.size) return damaged(u, in, "they unpack to another length", e);
    return u->crc == u->part.crc ? TRA_OK : damaged(u, in, "their checksum differs", e);
}

tra_status tra_unpack_some(tra_unpack *u, tra_stream *in, void *to, size_t n, size_t *got, tra_err *e) {
    tra_status (*const unpack[])(tra_unpack *, tra_stream *, void *, size_t, size_t *,
                                 tra_err *) = {[GZIP] = gunzip, [ZSTD] = unzstd, [DEFLATED] = gunzip, [STORED] = copy};
    if (n > 1 << 30) n = 1 << 30; /* zlib counts in 32 bits */
    for (*got = 0; *got == 0;) {
        if (u->kind == DEFLATED && u->whole) return check_part(u, in, e);
        if (u->pos == u->len && !u->eof) TRA_TRY(fill(u, in, e));
        bool last = u->pos == u->len; /* it may still have something to give */
        if (last && u->whole) return check_part(u, in, e);
        TRA_TRY(unpack[u->kind](u, in, to, n, got, e));
        if (last && *got == 0 && !u->whole) return damaged(u, in, "they end too early", e);
    }
    u->given += (int64_t)*got;
    if (u->kind == DEFLATED || u->kind == STORED) u->crc = (uint32_t)crc32(u->crc, to, (uInt)*got);
    return TRA_OK;
}

tra_status tra_stream_part(int fd, const tra_file_part *part, const char *name, size_t cap, tra_stream *in,
                           tra_err *e) {
    tra_unpack *u = tra_calloc(1, sizeof *u);
    *in = (tra_stream){.fd = fd, .base = part->at, .name = name, .cap = cap, .unpack = u};
    in->buf = tra_malloc(cap);
    u->kind = part->deflated ? DEFLATED : STORED;
    u->part = *part;
    u->seekable = true;
    u->cap = cap;
    u->buf = tra_malloc(cap);
    return tra_unpack_rewind(u, in, e);
}
