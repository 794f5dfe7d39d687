/* codec.c - byte shuffle, zstd, and the choice between them for each chunk. */
#include "codec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#define ZSTD_STATIC_LINKING_ONLY /* for what contexts take, and how far decoding in place may go */
#include <zstd.h>

/* ---- shuffle ------------------------------------------------------------------------------------------------ */

#ifdef __clang__ /* which unrolls small loops without being told */
#define UNROLLED
#else
#define UNROLLED __attribute__((optimize("O3")))
#endif

enum { LANES = 16 };
typedef unsigned char lanes __attribute__((vector_size(16)));

/* Interleaves the bytes of the two halves of v, so many times. Each time moves the first bit of a byte's place to the end. A
 * place is a plane and an element of LANES before unshuffling, an element and a byte of it after. */
static inline __attribute__((always_inline)) void interleave(lanes *v, int size, int times) {
    lanes w[8];
    for (; times > 0; times--) {
        for (int i = 0; i < size / 2; i++) {
            lanes a = v[i], b = v[i + size / 2];
            w[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            w[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        for (int i = 0; i < size; i++) v[i] = w[i];
    }
}

/* Both of the following: elements 0 to LANES * k of n, for the largest k; returns their number. size: 4 or 8. */
static inline __attribute__((always_inline)) size_t shuffle_lanes(char *dst, const char *src, size_t n, int size) {
    lanes v[8];
    size_t i = 0, bytes = (size_t)size;
    for (; i + LANES <= n; i += LANES) {
        for (size_t b = 0; b < bytes; b++) memcpy(&v[b], src + i * bytes + b * LANES, LANES);
        interleave(v, size, 4);
        for (size_t b = 0; b < bytes; b++) memcpy(dst + b * n + i, &v[b], LANES);
    }
    return i;
}

static inline __attribute__((always_inline)) size_t unshuffle_lanes(char *dst, const char *src, size_t count, size_t n,
                                                                    int size) {
    lanes v[8];
    size_t i = 0, bytes = (size_t)size;
    for (; i + LANES <= count; i += LANES) {
        for (size_t b = 0; b < bytes; b++) memcpy(&v[b], src + b * n + i, LANES);
        interleave(v, size, size == 8 ? 3 : 2);
        for (size_t b = 0; b < bytes; b++) memcpy(dst + i * bytes + b * LANES, &v[b], LANES);
    }
    return i;
}

UNROLLED void tra_chunk_shuffle(void *dst, const void *src, size_t n, size_t size) {
    char *d = dst;
    const char *s = src;
    size_t i = size == 8 ? shuffle_lanes(d, s, n, 8) : size == 4 ? shuffle_lanes(d, s, n, 4) : 0;
    for (; i < n; i++)
        for (size_t b = 0; b < size; b++) d[b * n + i] = s[i * size + b];
}

UNROLLED void tra_chunk_unshuffle(void *dst, const void *src, size_t from, size_t count, size_t n, size_t size) {
    char *d = dst;
    const char *s = (const char *)src + from;
    size_t i = size == 8 ? unshuffle_lanes(d, s, count, n, 8) : size == 4 ? unshuffle_lanes(d, s, count, n, 4) : 0;
    for (; i < count; i++)
        for (size_t b = 0; b < size; b++) d[i * size + b] = s[b * n + i];
}

/* ---- zstd contexts: one of each per thread, since creating one costs more than a small chunk --------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t cctx_key, dctx_key;

static void free_cctx(void *p) { ZSTD_freeCCtx(p); }
static void free_dctx(void *p) { ZSTD_freeDCtx(p); }
static void make_keys(void) {
    pthread_key_create(&cctx_key, free_cctx);
    pthread_key_create(&dctx_key, free_dctx);
}

static ZSTD_CCtx *cctx(void) {
    pthread_once(&once, make_keys);
    ZSTD_CCtx *c = pthread_getspecific(cctx_key);
    if (!c) pthread_setspecific(cctx_key, c = ZSTD_createCCtx());
    return c;
}

static ZSTD_DCtx *dctx(void) {
    pthread_once(&once, make_keys);
    ZSTD_DCtx *d = pthread_getspecific(dctx_key);
    if (!d) pthread_setspecific(dctx_key, d = ZSTD_createDCtx());
    return d;
}

int64_t tra_codec_context(int level, int64_t chunk_bytes) {
    return (int64_t)ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, (unsigned long long)chunk_bytes, 0));
}

uint64_t tra_chunk_sum(const void *p, size_t n) {
    return tra_chunk_sum_end(XXH64(p, n, 0));
}

/* ---- chunks ------------------------------------------------------------------------------------------------- */

enum { SAMPLE = 64 << 10, PIECES = 8 }; /* whether shuffle pays is judged by PIECES pieces of SAMPLE bytes in all */

static size_t squeezed(ZSTD_CCtx *c, const void *src, size_t n, int level, void *out, size_t cap) {
    size_t len = ZSTD_compressCCtx(c, out, cap, src, n, level);
    return ZSTD_isError(len) ? SIZE_MAX : len;
}

/* tmp holds at least 2 * SAMPLE bytes. */
static bool shuffle_pays(ZSTD_CCtx *c, const char *src, size_t n, size_t size, int level, char *tmp) {
    char out[2 * SAMPLE];
    size_t piece = SAMPLE / PIECES, step = (n - piece) / (PIECES - 1) / size * size;
    for (size_t i = 0; i < PIECES; i++) memcpy(tmp + i * piece, src + i * step, piece);
    size_t plain = squeezed(c, tmp, SAMPLE, level, out, sizeof out);
    tra_chunk_shuffle(tmp + SAMPLE, tmp, SAMPLE / size, size);
    return squeezed(c, tmp + SAMPLE, SAMPLE, level, out, sizeof out) <= plain;
}

tra_status tra_chunk_encode(void *chunk, size_t n, size_t size, int level, void *tmp, const void **out, tra_encoded *enc,
                            tra_err *e) {
    ZSTD_CCtx *c = cctx();
    if (!c) return tra_fail(e, TRA_RESOURCE, "out of memory for a zstd context");
    size_t cap = n - n / 32; /* less is not worth the time of decoding */
    bool large = n >= 2 * SAMPLE; /* of small ones both are tried */
    bool shuffled = !large || shuffle_pays(c, chunk, n, size, level, tmp), bare = !shuffled;
    size_t plain = large ? SIZE_MAX : squeezed(c, chunk, n, level, tmp, cap), len = SIZE_MAX;
    if (shuffled) {
        tra_chunk_shuffle(tmp, chunk, n / size, size);
        len = squeezed(c, tmp, n, level, chunk, cap);
        bare = plain < len;
        shuffled = !bare && len != SIZE_MAX;
        if (!shuffled) tra_chunk_unshuffle(chunk, tmp, 0, n / size, n / size, size);
    }
    if (bare) len = squeezed(c, chunk, n, level, tmp, cap);
    bool raw = len == SIZE_MAX;
    *out = bare && !raw ? tmp : chunk;
    *enc = (tra_encoded){.len = (int64_t)(raw ? n : len), .mask = raw ? 3 : bare ? 1 : 0};
    enc->sum = tra_chunk_sum(*out, (size_t)enc->len);
    return TRA_OK;
}

size_t tra_inflate_room(size_t n) {
    enum { BLOCK = 128 << 10 };
    size_t block = n < BLOCK ? n + 1 : BLOCK, margin = ZSTD_DECOMPRESSION_MARGIN(n, block), bound = ZSTD_compressBound(n);
    return n + margin > bound ? n + margin : bound;
}

/* The frame where it does not stand in the way of what it becomes; NULL: out of memory. *copy: from malloc, or NULL. */
static const void *apart(const char *src, size_t len, const char *dst, size_t n, void **copy) {
    *copy = NULL;
    if (src < dst || src >= dst + tra_inflate_room(n)) return src;
    size_t margin = ZSTD_decompressionMargin(src, len); /* large where others wrote frames in small blocks */
    if (ZSTD_isError(margin) || dst + n + margin <= src + len) return src;
    *copy = malloc(len);
    return *copy ? memcpy(*copy, src, len) : NULL;
}

const char *tra_chunk_inflate(const void *src, size_t len, void *dst, size_t n) {
    void *copy;
    const void *from = apart(src, len, dst, n, &copy);
    ZSTD_DCtx *d = dctx();
    size_t got = d && from ? ZSTD_decompressDCtx(d, dst, n, from, len) : 0;
    free(copy);
    if (!d || !from) return "out of memory for zstd";
    if (ZSTD_isError(got)) return ZSTD_getErrorName(got);
    return got == n ? NULL : "it decodes to fewer bytes than a chunk has";
}

bool tra_codec_parse(const char *s, tra_codec *c) {
    int64_t level = 1;
    if (strcmp(s, "none") == 0) {
        *c = (tra_codec){.zstd = false, .level = 1};
        return true;
    }
    if (strncmp(s, "zstd", 4) != 0) return false;
    if (s[4] != '\0' && (s[4] != ':' || !tra_parse_int(s + 5, &level))) return false;
    if (level < 1 || level > 19) return false;
    *c = (tra_codec){.zstd = true, .level = (int)level};
    return true;
}
