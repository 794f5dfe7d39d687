/* codec.c - byte shuffle, zstd, and the choice between them for each chunk. */
#include "codec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>
#define ZSTD_STATIC_LINKING_ONLY /* for what contexts take, and stable buffers */
#include <zstd.h>
#include <zstd_errors.h>

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

UNROLLED static void shuffle_apart(char *dst, const char *src, size_t n, size_t size) {
    size_t i = size == 8 ? shuffle_lanes(dst, src, n, 8) : size == 4 ? shuffle_lanes(dst, src, n, 4) : 0;
    for (; i < n; i++)
        for (size_t b = 0; b < size; b++) dst[b * n + i] = src[i * size + b];
}

UNROLLED static void unshuffle_apart(char *dst, const char *src, size_t n, size_t size) {
    size_t i = size == 8 ? unshuffle_lanes(dst, src, n, 8) : size == 4 ? unshuffle_lanes(dst, src, n, 4) : 0;
    for (; i < n; i++)
        for (size_t b = 0; b < size; b++) dst[i * size + b] = src[b * n + i];
}

/* In place both go by groups of elements, each of which fits the cache: the planes are runs of the groups' bytes, which
 * change places so that a group's are together, or a plane's. */
enum { GROUP = 64 << 10 };

/* Elements of a group: a divisor of their number, so that nothing has to move up, if there is one that is not small. */
static size_t group_of(size_t n, size_t size) {
    size_t most = GROUP / size;
    if (n <= most) return n;
    for (size_t m = most; m > most / 8; m--)
        if (n % m == 0) return m;
    return most;
}

size_t tra_shuffle_room(size_t n, size_t size) {
    size_t group = group_of(n, size);
    return group == n ? n * size : 2 * GROUP + n / group * size / 8 + 1;
}

/* A table of runs of `run` bytes is transposed: that of `rows` rows and `cols` columns was of cols rows. moved: a bit
 * for each run, zero. */
static void transpose_runs(char *v, size_t rows, size_t cols, size_t run, char *aside, unsigned char *moved) {
    for (size_t first = 0; first < rows * cols; first++) {
        size_t hole = first, from;
        if (moved[first / 8] >> first % 8 & 1) continue;
        memcpy(aside, v + first * run, run);
        for (;; hole = from) { /* round the cycle of the permutation */
            moved[hole / 8] |= (unsigned char)(1 << hole % 8);
            from = hole % cols * rows + hole / cols;
            if (from == first) break;
            memcpy(v + hole * run, v + from * run, run);
        }
        memcpy(v + hole * run, aside, run);
    }
}

void tra_chunk_unshuffle(void *chunk, size_t n, size_t size, void *scratch) {
    char *v = chunk, *aside = scratch;
    if (size <= 1 || n == 0) return;
    size_t run = group_of(n, size), m = n / run, tail = n % run, group = run * size;
    char *tails = aside + (run < n ? GROUP : 0);
    for (size_t b = 0; tail > 0 && b < size; b++) {
        memcpy(tails + b * tail, v + b * n + m * run, tail);
        memmove(v + b * m * run, v + b * n, m * run);
    }
    if (m > 1) transpose_runs(v, m, size, run, aside, memset(tails + GROUP, 0, m * size / 8 + 1));
    for (size_t i = 0; i < m; i++) {
        memcpy(aside, v + i * group, group);
        unshuffle_apart(v + i * group, aside, run, size);
    }
    unshuffle_apart(v + m * group, tails, tail, size);
}

void tra_chunk_shuffle(void *chunk, size_t n, size_t size, void *scratch) {
    char *v = chunk, *aside = scratch;
    if (size <= 1 || n == 0) return;
    size_t run = group_of(n, size), m = n / run, tail = n % run, group = run * size;
    char *tails = aside + (run < n ? GROUP : 0);
    for (size_t i = 0; i < m; i++) {
        memcpy(aside, v + i * group, group);
        shuffle_apart(v + i * group, aside, run, size);
    }
    if (tail > 0) shuffle_apart(tails, v + m * group, tail, size);
    if (m > 1) transpose_runs(v, size, m, run, aside, memset(tails + GROUP, 0, m * size / 8 + 1));
    for (size_t b = size; tail > 0 && b-- > 0;) {
        memmove(v + b * n, v + b * m * run, m * run);
        memcpy(v + b * n + m * run, tails + b * tail, tail);
    }
}

enum { BLOCK = 128 << 10, MARK = 3 }; /* RFC 8878: bytes of a block at most, and of what stands before it */

static size_t block_of(size_t n) { return n < BLOCK ? n : BLOCK; }
/* A piece of a frame of so many bytes: a block of it, however little that shrinks, and its marks. */
static size_t piece_of(size_t n) { return ZSTD_compressBound(block_of(n)) + 64; }

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
    if (!c && (c = ZSTD_createCCtx())) {
        ZSTD_CCtx_setParameter(c, ZSTD_c_blockDelimiters, ZSTD_sf_explicitBlockDelimiters);
        ZSTD_CCtx_setParameter(c, ZSTD_c_stableInBuffer, 1); /* no copy of it */
        pthread_setspecific(cctx_key, c);
    }
    return c;
}

static ZSTD_DCtx *dctx(void) {
    pthread_once(&once, make_keys);
    ZSTD_DCtx *d = pthread_getspecific(dctx_key);
    if (!d && (d = ZSTD_createDCtx())) {
        ZSTD_DCtx_setParameter(d, ZSTD_d_stableOutBuffer, 1);               /* no copy of what is decoded */
        ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX); /* nor memory for a window */
        pthread_setspecific(dctx_key, d);
    }
    return d;
}

/* How chunks are searched: in tables no larger than those of level 9, since those of level 19 would take as much memory
 * as three large chunks, and find little more. */
static ZSTD_compressionParameters search_in(int level, size_t n) {
    enum { HASH = 21, CHAIN = 20 };
    ZSTD_compressionParameters p = ZSTD_getCParams(level, n, 0);
    p.hashLog = p.hashLog < HASH ? p.hashLog : HASH;
    p.chainLog = p.chainLog < CHAIN ? p.chainLog : CHAIN;
    return p;
}

int64_t tra_codec_context(int level, int64_t chunk_bytes) {
    ZSTD_compressionParameters p = search_in(level, (size_t)chunk_bytes);
    size_t out = piece_of((size_t)1 << p.windowLog); /* of a stream, whose input stays where it is */
    return (int64_t)(ZSTD_estimateCCtxSize_usingCParams(p) + out);
}

uint64_t tra_chunk_sum(const void *p, size_t n) { return tra_chunk_sum_end(XXH64(p, n, 0)); }

/* ---- chunks ------------------------------------------------------------------------------------------------- */

/* Where the pieces of an encoded chunk, made in `piece`, go as long as they are no more than cap bytes in all: more
 * does not pay. */
typedef struct outlet {
    char *piece;
    size_t room;
    tra_encoded_fn *put;
    void *ctx;
    int64_t len, cap;
    XXH64_state_t sum;
    tra_status status;
    tra_err *e;
} outlet;

static bool let_out(outlet *o, const void *bytes, size_t n) {
    if (o->len + (int64_t)n > o->cap) return false;
    XXH64_update(&o->sum, bytes, n);
    o->status = o->put(o->ctx, o->len, bytes, (int64_t)n, o->e);
    o->len += (int64_t)n;
    return o->status == TRA_OK;
}

static bool went(outlet *o, size_t code) {
    if (!ZSTD_isError(code)) return true;
    o->status = tra_fail(o->e, TRA_RESOURCE, "a block cannot be compressed: %s", ZSTD_getErrorName(code));
    return false;
}

enum { RAW, RUN, CODED_BLOCK }; /* RFC 8878: types of blocks */

/* Are the len bytes, of which these are the mark, one block of m bytes, coded or of the same byte? */
static bool whole_block(uint32_t mark, size_t len, size_t m) {
    switch (mark >> 1 & 3) {
    case CODED_BLOCK: return len == MARK + (mark >> 3);
    case RUN: return len == MARK + 1 && mark >> 3 == m;
    }
    return false;
}

/* A frame of the planes of a shuffled chunk in blocks that search nothing: entropy-coded, or as they are where that
 * saves less than a quarter. No block is of two planes, nor needs one before it. */
static bool coded(ZSTD_CCtx *c, const char *planes, size_t n, size_t size, outlet *o) {
    const uint32_t magic = ZSTD_MAGICNUMBER, total = (uint32_t)n;
    const char has[] = {(char)0x80, 7 << 3}; /* its size in 4 bytes; a window of BLOCK */
    char head[10];
    memcpy(head, &magic, 4);
    memcpy(head + 4, has, 2);
    memcpy(head + 6, &total, 4);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, 0); /* as the level has it */
    ZSTD_CCtx_setParameter(c, ZSTD_c_chainLog, 0);
    if (!let_out(o, head, sizeof head)) return false;
    for (size_t at = 0, m; at < n; at += m) {
        size_t left = n / size - at % (n / size);
        m = left < BLOCK ? left : BLOCK;
        ZSTD_Sequence all = {.litLength = (unsigned)m};
        size_t len = ZSTD_compressSequences(c, o->piece, o->room, &all, 1, planes + at, m);
        if (!went(o, len)) return false;
        size_t skip = ZSTD_frameHeaderSize(o->piece, len), last = at + m == n;
        char *block = o->piece + skip;
        uint32_t mark = 0;
        len -= skip;
        memcpy(&mark, block, MARK);
        mark = (mark & ~1u) | (uint32_t)last;
        if (!whole_block(mark, len, m) || len > m - m / 4) {
            mark = (uint32_t)(m << 3 | RAW << 1 | last);
            memcpy(block + MARK, planes + at, m);
            len = MARK + m;
        }
        memcpy(block, &mark, MARK);
        if (!let_out(o, block, len)) return false;
    }
    return true;
}

/* A frame as libzstd makes it. */
static bool searched(ZSTD_CCtx *c, const void *src, size_t n, int level, outlet *o) {
    ZSTD_inBuffer in = {src, n, 0};
    ZSTD_compressionParameters p = search_in(level, n);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, (int)p.hashLog);
    ZSTD_CCtx_setParameter(c, ZSTD_c_chainLog, (int)p.chainLog);
    for (size_t left = 1; left > 0;) {
        ZSTD_outBuffer out = {o->piece, o->room, 0};
        left = ZSTD_compressStream2(c, &out, &in, ZSTD_e_end);
        if (!went(o, left) || !let_out(o, o->piece, out.pos)) return false;
    }
    return true;
}

typedef enum way { BARE, SHUFFLED, CODED } way;
enum { SAMPLE = 64 << 10, SAMPLES = 8 }; /* the way is judged by SAMPLES pieces of SAMPLE bytes in all */

static tra_status forget(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e) {
    (void)ctx, (void)at, (void)bytes, (void)len, (void)e;
    return TRA_OK;
}

/* Of n bytes that go this way: *len. */
static tra_status try(ZSTD_CCtx *c, way how, const char *src, size_t n, size_t size, int level, char *piece,
                      int64_t *len, tra_err *e) {
    outlet o = {.piece = piece, .room = piece_of(n), .put = forget, .cap = INT64_MAX, .e = e};
    XXH64_reset(&o.sum, 0);
    (void)(how == CODED ? coded(c, src, n, size, &o) : searched(c, src, n, level, &o));
    ZSTD_CCtx_reset(c, ZSTD_reset_session_only);
    *len = o.len;
    return o.status;
}

/* Which way the chunk is to go, judged by a sample of it, or by all of it when that is no more: if it goes SHUFFLED
 * then, its frame of *len bytes is in piece. CODED is decoded more than twice as fast as SHUFFLED, which is worth some
 * bytes at the level that asks for speed. */
static tra_status choose(ZSTD_CCtx *c, const char *src, size_t n, size_t size, int level, char *piece, way *how,
                         int64_t *len, tra_err *e) {
    char plain[SAMPLE], mixed[SAMPLE];
    size_t all = n <= SAMPLE ? n : SAMPLE, runs = n <= SAMPLE ? 1 : SAMPLES, run = all / runs;
    size_t step = (n - run) / (SAMPLES - 1) / size * size;
    int64_t bare, quick = INT64_MAX;
    for (size_t i = 0; i < runs; i++) memcpy(plain + i * run, src + i * step, run);
    shuffle_apart(mixed, plain, all / size, size);
    TRA_TRY(try(c, BARE, plain, all, size, level, piece, &bare, e));
    if (level == 1 && n >= BLOCK) TRA_TRY(try(c, CODED, mixed, all, size, level, piece, &quick, e));
    TRA_TRY(try(c, SHUFFLED, mixed, all, size, level, piece, len, e));
    int64_t best = tra_min64(bare, *len);
    *how = quick <= best + best / 32 ? CODED : *len <= bare ? SHUFFLED : BARE;
    return TRA_OK;
}

size_t tra_encode_room(size_t n, size_t size) { /* first for the shuffle, then for pieces */
    size_t shuffle = tra_shuffle_room(n / size, size), piece = piece_of(n);
    return shuffle > piece ? shuffle : piece;
}

tra_status tra_chunk_encode(void *chunk, size_t n, size_t size, int level, void *scratch, tra_encoded_fn *put,
                            void *ctx, tra_encoded *enc, tra_err *e) {
    ZSTD_CCtx *c = cctx();
    int64_t tried;
    way how;
    if (!c) return tra_fail(e, TRA_RESOURCE, "out of memory for a zstd context");
    TRA_TRY(choose(c, chunk, n, size, level, scratch, &how, &tried, e));
    outlet o = {.piece = scratch, .room = piece_of(n), .put = put, .ctx = ctx, .e = e};
    o.cap = (int64_t)(n - n / 32); /* more is not worth the time of decoding */
    XXH64_reset(&o.sum, 0);
    bool made = how == SHUFFLED && n <= SAMPLE, moved = how != BARE && !made;
    if (moved) tra_chunk_shuffle(chunk, n / size, size, scratch);
    bool shrinks = made           ? let_out(&o, scratch, (size_t)tried)
                   : how == CODED ? coded(c, chunk, n, size, &o)
                                  : searched(c, chunk, n, level, &o);
    ZSTD_CCtx_reset(c, ZSTD_reset_session_only);
    if (!shrinks && o.status == TRA_OK) {
        if (moved) tra_chunk_unshuffle(chunk, n / size, size, scratch);
        o.len = 0;
        o.cap = (int64_t)n;
        XXH64_reset(&o.sum, 0);
        let_out(&o, chunk, n);
    }
    *enc = (tra_encoded){.len = o.len, .mask = !shrinks ? 3 : how == BARE ? 1 : 0};
    enc->sum = tra_chunk_sum_end(XXH64_digest(&o.sum));
    return o.status;
}

tra_status tra_encoded_keep(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e) {
    (void)e;
    memcpy((char *)ctx + at, bytes, (size_t)len);
    return TRA_OK;
}

void tra_inflate_begin(tra_inflate *x, void *dst, size_t n) {
    ZSTD_DCtx *d = dctx();
    *x = (tra_inflate){.dst = dst, .n = n, .open = true, .starved = !d, .why = d ? NULL : "out of memory for zstd"};
    if (d) ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
}

void tra_inflate_more(tra_inflate *x, const void *src, size_t len) {
    ZSTD_inBuffer in = {src, len, 0};
    ZSTD_outBuffer out = {x->dst, x->n, x->done};
    while (!x->why && in.pos < in.size) {
        size_t from = in.pos, to = out.pos, got = ZSTD_decompressStream(dctx(), &out, &in);
        x->open = got != 0;
        x->starved = ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation;
        if (ZSTD_isError(got))
            x->why = ZSTD_getErrorName(got);
        else if (in.pos == from && out.pos == to)
            x->why = "it does not end where a chunk does";
    }
    x->done = out.pos;
}

const char *tra_inflate_end(tra_inflate *x) {
    if (x->why) return x->why;
    if (x->open) return "its end is missing";
    return x->done == x->n ? NULL : "it decodes to fewer bytes than a chunk has";
}

size_t tra_frame_bound(size_t n) { return ZSTD_compressBound(n); }

size_t tra_frame_encode(void *to, size_t room, const void *bytes, size_t n) {
    size_t len = ZSTD_compress(to, room, bytes, n, 1);
    return ZSTD_isError(len) ? 0 : len;
}

bool tra_frame_decode(void *to, size_t n, const void *frame, size_t len) {
    return ZSTD_decompress(to, n, frame, len) == n;
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
