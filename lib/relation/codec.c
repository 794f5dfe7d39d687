/* codec.c - byte shuffle, zstd, and the choice between them for each chunk. */
#include "codec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#define ZSTD_STATIC_LINKING_ONLY /* for what contexts take, and stable buffers */
#include <zstd.h>

/* ---- shuffle ------------------------------------------------------------------------------------------------ */

#ifdef __clang__ /* which unrolls small loops without being told */
#define UNROLLED
#else
#define UNROLLED __attribute__((optimize("O3")))
#endif

enum { LANES = 16 };
typedef unsigned char lanes __attribute__((vector_size(16)));

/* Interleaves the bytes of the two halves of v, so many times. Each time moves the first bit of a byte's place to the
 * end. A place is a plane and an element of LANES before unshuffling, an element and a byte of it after. */
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

static inline __attribute__((always_inline)) size_t unshuffle_lanes(char *dst, const char *src, size_t n, int size) {
    lanes v[8];
    size_t i = 0, bytes = (size_t)size;
    for (; i + LANES <= n; i += LANES) {
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

UNROLLED static void unshuffle_apart(char *dst, const char *src, size_t n, size_t size) {
    size_t i = size == 8 ? unshuffle_lanes(dst, src, n, 8) : size == 4 ? unshuffle_lanes(dst, src, n, 4) : 0;
    for (; i < n; i++)
        for (size_t b = 0; b < size; b++) dst[i * size + b] = src[b * n + i];
}

/* Unshuffling in place goes by groups of elements, each of which fits the cache: the planes are runs of the groups'
 * bytes, which change places first, so that a group's are together. */
enum { GROUP = 64 << 10 };

/* Elements of a group: a divisor of their number, so that nothing has to move up, if there is one that is not small. */
static size_t group_of(size_t n, size_t size) {
    size_t most = GROUP / size;
    if (n <= most) return n;
    for (size_t m = most; m > most / 8; m--)
        if (n % m == 0) return m;
    return most;
}

size_t tra_unshuffle_room(size_t n, size_t size) {
    size_t group = group_of(n, size);
    return group == n ? n * size : 2 * GROUP + n / group * size / 8 + 1;
}

/* Runs of `run` bytes, run i of plane b of m, become run b of group i. moved: a bit for each, zero. */
static void gather_groups(char *v, size_t m, size_t planes, size_t run, char *aside, unsigned char *moved) {
    for (size_t first = 0; first < m * planes; first++) {
        size_t hole = first, from;
        if (moved[first / 8] >> first % 8 & 1) continue;
        memcpy(aside, v + first * run, run);
        for (;; hole = from) { /* round the cycle of the permutation */
            moved[hole / 8] |= (unsigned char)(1 << hole % 8);
            from = hole % planes * m + hole / planes;
            if (from == first) break;
            memcpy(v + hole * run, v + from * run, run);
        }
        memcpy(v + hole * run, aside, run);
    }
}

void tra_chunk_unshuffle(void *chunk, size_t n, size_t size, void *scratch) {
    char *v = chunk, *aside = scratch, *tails = aside + GROUP;
    if (size <= 1 || n == 0) return;
    size_t run = group_of(n, size), m = n / run, tail = n % run, group = run * size;
    for (size_t b = 0; tail > 0 && b < size; b++) {
        memcpy(tails + b * tail, v + b * n + m * run, tail);
        memmove(v + b * m * run, v + b * n, m * run);
    }
    if (m > 1) gather_groups(v, m, size, run, aside, memset(tails + GROUP, 0, m * size / 8 + 1));
    for (size_t i = 0; i < m; i++) {
        memcpy(aside, v + i * group, group);
        unshuffle_apart(v + i * group, aside, run, size);
    }
    unshuffle_apart(v + m * group, tails, tail, size);
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
    if (!c && (c = ZSTD_createCCtx())) { /* parameters: of coded(); the rest are given with each call */
        ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
        ZSTD_CCtx_setParameter(c, ZSTD_c_blockDelimiters, ZSTD_sf_explicitBlockDelimiters);
        ZSTD_CCtx_setParameter(c, ZSTD_c_stableInBuffer, 1); /* no copies of either */
        ZSTD_CCtx_setParameter(c, ZSTD_c_stableOutBuffer, 1);
        pthread_setspecific(cctx_key, c);
    }
    return c;
}

static ZSTD_DCtx *dctx(void) {
    pthread_once(&once, make_keys);
    ZSTD_DCtx *d = pthread_getspecific(dctx_key);
    if (!d && (d = ZSTD_createDCtx())) {
        ZSTD_DCtx_setParameter(d, ZSTD_d_stableOutBuffer, 1); /* no copy of what is decoded */
        pthread_setspecific(dctx_key, d);
    }
    return d;
}

int64_t tra_codec_context(int level, int64_t chunk_bytes) {
    return (int64_t)ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, (unsigned long long)chunk_bytes, 0));
}

uint64_t tra_chunk_sum(const void *p, size_t n) {
    return tra_chunk_sum_end(XXH64(p, n, 0));
}

/* ---- chunks ------------------------------------------------------------------------------------------------- */

enum { BLOCK = 128 << 10, MARK = 3 }; /* RFC 8878: bytes of a block at most, and of what stands before it */
enum { SAMPLE = 64 << 10, PIECES = 8 }; /* whether shuffle pays is judged by PIECES pieces of SAMPLE bytes in all */

static size_t squeezed(ZSTD_CCtx *c, const void *src, size_t n, int level, void *out, size_t cap) {
    size_t len = ZSTD_compressCCtx(c, out, cap, src, n, level);
    return ZSTD_isError(len) ? SIZE_MAX : len;
}

/* A frame of the planes of a shuffled chunk in blocks that search nothing: entropy-coded, or as they are where that
 * saves less than a quarter. No block is of two planes, nor needs one before it. SIZE_MAX: not in cap bytes. */
static size_t coded(ZSTD_CCtx *c, const char *planes, size_t n, size_t size, char *out, size_t cap) {
    enum { HEAD = 9, RAW = 0 };
    const uint32_t magic = ZSTD_MAGICNUMBER, total = (uint32_t)n;
    const char whole = (char)0xa0; /* a single segment, its size in 4 bytes */
    if (cap < HEAD) return SIZE_MAX;
    memcpy(out, &magic, 4);
    memcpy(out + 4, &whole, 1);
    memcpy(out + 5, &total, 4);
    size_t len = HEAD;
    for (size_t at = 0, m; at < n; at += m) {
        size_t left = n / size - at % (n / size);
        m = left < BLOCK ? left : BLOCK;
        ZSTD_Sequence all = {.litLength = (unsigned)m};
        size_t got = ZSTD_compressSequences(c, out + len, cap - len, &all, 1, planes + at, m);
        if (ZSTD_isError(got)) return SIZE_MAX;
        size_t head = ZSTD_frameHeaderSize(out + len, got), last = at + m == n;
        uint32_t mark = (uint32_t)(m << 3 | RAW << 1 | last);
        got -= head;
        if (got > m - m / 4) {
            if (MARK + m > cap - len) return SIZE_MAX;
            memcpy(out + len + MARK, planes + at, got = m);
            got += MARK;
        } else {
            memmove(out + len, out + len + head, got);
            mark = (uint32_t)((got - MARK) << 3 | 2 << 1 | last);
        }
        memcpy(out + len, &mark, MARK);
        len += got;
    }
    return len;
}

typedef enum way { BARE, SHUFFLED, CODED } way;

/* Which way the chunk is to go, judged by a sample of it. tmp holds at least 2 * SAMPLE bytes. CODED is decoded more
 * than twice as fast as SHUFFLED, which is worth some bytes at the level that asks for speed. */
static way choose(ZSTD_CCtx *c, const char *src, size_t n, size_t size, int level, char *tmp) {
    char out[2 * SAMPLE];
    size_t piece = SAMPLE / PIECES, step = (n - piece) / (PIECES - 1) / size * size;
    for (size_t i = 0; i < PIECES; i++) memcpy(tmp + i * piece, src + i * step, piece);
    size_t bare = squeezed(c, tmp, SAMPLE, level, out, sizeof out);
    tra_chunk_shuffle(tmp + SAMPLE, tmp, SAMPLE / size, size);
    size_t shuffled = squeezed(c, tmp + SAMPLE, SAMPLE, level, out, sizeof out);
    size_t best = bare < shuffled ? bare : shuffled;
    if (level == 1 && coded(c, tmp + SAMPLE, SAMPLE, size, out, sizeof out) <= best + best / 32) return CODED;
    return shuffled <= bare ? SHUFFLED : BARE;
}

tra_status tra_chunk_encode(void *chunk, size_t n, size_t size, int level, void *tmp, const void **out,
                            tra_encoded *enc, tra_err *e) {
    ZSTD_CCtx *c = cctx();
    if (!c) return tra_fail(e, TRA_RESOURCE, "out of memory for a zstd context");
    size_t cap = n - n / 32; /* less is not worth the time of decoding */
    bool large = n >= 2 * SAMPLE; /* of small ones both are tried */
    way how = large ? choose(c, chunk, n, size, level, tmp) : SHUFFLED;
    size_t bare = large ? SIZE_MAX : squeezed(c, chunk, n, level, tmp, cap), len = SIZE_MAX;
    if (how != BARE) {
        tra_chunk_shuffle(tmp, chunk, n / size, size);
        len = how == CODED ? coded(c, tmp, n, size, chunk, cap) : squeezed(c, tmp, n, level, chunk, cap);
        if (bare < len) how = BARE;
        if (how == BARE || len == SIZE_MAX) unshuffle_apart(chunk, tmp, n / size, size);
    }
    if (how == BARE) len = squeezed(c, chunk, n, level, tmp, cap);
    bool raw = len == SIZE_MAX;
    *out = how == BARE && !raw ? tmp : chunk;
    *enc = (tra_encoded){.len = (int64_t)(raw ? n : len), .mask = raw ? 3 : how == BARE ? 1 : 0};
    enc->sum = tra_chunk_sum(*out, (size_t)enc->len);
    return TRA_OK;
}

void tra_inflate_begin(tra_inflate *x, void *dst, size_t n) {
    ZSTD_DCtx *d = dctx();
    *x = (tra_inflate){.dst = dst, .n = n, .open = true, .why = d ? NULL : "out of memory for zstd"};
    if (d) ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
}

void tra_inflate_more(tra_inflate *x, const void *src, size_t len) {
    ZSTD_inBuffer in = {src, len, 0};
    ZSTD_outBuffer out = {x->dst, x->n, x->done};
    while (!x->why && in.pos < in.size) {
        size_t from = in.pos, to = out.pos, got = ZSTD_decompressStream(dctx(), &out, &in);
        x->open = got != 0;
        if (ZSTD_isError(got)) x->why = ZSTD_getErrorName(got);
        else if (in.pos == from && out.pos == to) x->why = "it does not end where a chunk does";
    }
    x->done = out.pos;
}

const char *tra_inflate_end(tra_inflate *x) {
    if (x->why) return x->why;
    if (x->open) return "its end is missing";
    return x->done == x->n ? NULL : "it decodes to fewer bytes than a chunk has";
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
