/* codec.c - byte shuffle, zstd, and the choice between them for each chunk. */
#include "codec.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>
#define ZSTD_STATIC_LINKING_ONLY /* for sizes of contexts, and stable buffers */
#include <zstd.h>
#include <zstd_errors.h>

/* ---- shuffle ------------------------------------------------------------------------------------------------ */

#ifdef __clang__ /* clang unrolls small loops by itself */
#define UNROLLED
#else
#define UNROLLED __attribute__((optimize("O3")))
#endif

enum { LANES = 16 };
typedef unsigned char lanes __attribute__((vector_size(16)));

/* Interleaves the bytes of the two halves of v, `times` times. Number the bytes of v in binary: each time, the first
 * bit of a byte's number moves to the end. Before shuffling the number is (element, byte of it), after it (byte,
 * element). */
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

/* Both of the following treat elements 0 to LANES * k of n, for the largest k, and return their number. size: 4 or
 * 8. */
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

UNROLLED static void shuffle_to(char *dst, const char *src, size_t n, size_t size) {
    size_t i = size == 8 ? shuffle_lanes(dst, src, n, 8) : size == 4 ? shuffle_lanes(dst, src, n, 4) : 0;
    for (; i < n; i++)
        for (size_t b = 0; b < size; b++) dst[b * n + i] = src[i * size + b];
}

UNROLLED static void unshuffle_to(char *dst, const char *src, size_t n, size_t size) {
    size_t i = size == 8 ? unshuffle_lanes(dst, src, n, 8) : size == 4 ? unshuffle_lanes(dst, src, n, 4) : 0;
    for (; i < n; i++)
        for (size_t b = 0; b < size; b++) dst[i * size + b] = src[b * n + i];
}

/* In place, shuffling and unshuffling work on groups of elements that fit the cache. Within a group bytes are shuffled
 * through a buffer; then each byte plane of a group is a run of bytes, and runs are permuted so that those of a plane
 * are together (shuffling), or before it so that those of a group are (unshuffling). */
enum { GROUP = 64 << 10 };

/* Elements of a group: if possible a divisor of their number that is not small, so that there is no tail. */
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

/* Transposes a table of rows x cols runs of `run` bytes, which was cols x rows, in place. spare: room for a run. moved:
 * a bit for each run, all 0. */
static void transpose_runs(char *v, size_t rows, size_t cols, size_t run, char *spare, unsigned char *moved) {
    for (size_t first = 0; first < rows * cols; first++) {
        size_t hole = first, from;
        if (moved[first / 8] >> first % 8 & 1) continue;
        memcpy(spare, v + first * run, run);
        for (;; hole = from) { /* follow the cycle of the permutation */
            moved[hole / 8] |= (unsigned char)(1 << hole % 8);
            from = hole % cols * rows + hole / cols;
            if (from == first) break;
            memcpy(v + hole * run, v + from * run, run);
        }
        memcpy(v + hole * run, spare, run);
    }
}

void tra_chunk_unshuffle(void *chunk, size_t n, size_t size, void *scratch) {
    char *v = chunk, *spare = scratch;
    if (size <= 1 || n == 0) return;
    size_t run = group_of(n, size), m = n / run, tail = n % run, group = run * size;
    char *tails = spare + (run < n ? GROUP : 0);
    for (size_t b = 0; tail > 0 && b < size; b++) {
        memcpy(tails + b * tail, v + b * n + m * run, tail);
        memmove(v + b * m * run, v + b * n, m * run);
    }
    if (m > 1) transpose_runs(v, m, size, run, spare, memset(tails + GROUP, 0, m * size / 8 + 1));
    for (size_t i = 0; i < m; i++) {
        memcpy(spare, v + i * group, group);
        unshuffle_to(v + i * group, spare, run, size);
    }
    unshuffle_to(v + m * group, tails, tail, size);
}

void tra_chunk_shuffle(void *chunk, size_t n, size_t size, void *scratch) {
    char *v = chunk, *spare = scratch;
    if (size <= 1 || n == 0) return;
    size_t run = group_of(n, size), m = n / run, tail = n % run, group = run * size;
    char *tails = spare + (run < n ? GROUP : 0);
    for (size_t i = 0; i < m; i++) {
        memcpy(spare, v + i * group, group);
        shuffle_to(v + i * group, spare, run, size);
    }
    if (tail > 0) shuffle_to(tails, v + m * group, tail, size);
    if (m > 1) transpose_runs(v, size, m, run, spare, memset(tails + GROUP, 0, m * size / 8 + 1));
    for (size_t b = size; tail > 0 && b-- > 0;) {
        memmove(v + b * n, v + b * m * run, m * run);
        memcpy(v + b * n + m * run, tails + b * tail, tail);
    }
}

enum { BLOCK = 128 << 10, MARK = 3 }; /* RFC 8878: at most so many bytes in a block; bytes of its header */

static size_t block_of(size_t n) { return n < BLOCK ? n : BLOCK; }
/* Room for the encoded form of one block of a frame of n bytes, however little it shrinks, with headers. */
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
        ZSTD_DCtx_setParameter(d, ZSTD_d_stableOutBuffer, 1);               /* decodes to the buffer without a copy */
        ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX); /* and takes no memory for a window */
        pthread_setspecific(dctx_key, d);
    }
    return d;
}

/* Parameters of the search for repetitions: its tables are no larger than those of level 9, since those of level 19
 * would take as much memory as three large chunks and find little more. */
static ZSTD_compressionParameters search_in(int level, size_t n) {
    enum { HASH = 21, CHAIN = 20 };
    ZSTD_compressionParameters p = ZSTD_getCParams(level, n, 0);
    p.hashLog = p.hashLog < HASH ? p.hashLog : HASH;
    p.chainLog = p.chainLog < CHAIN ? p.chainLog : CHAIN;
    return p;
}

int64_t tra_codec_context(int level, int64_t chunk_bytes) {
    ZSTD_compressionParameters p = search_in(level, (size_t)chunk_bytes);
    size_t out = piece_of((size_t)1 << p.windowLog); /* the output buffer; input is not copied */
    return (int64_t)(ZSTD_estimateCCtxSize_usingCParams(p) + out);
}

uint64_t tra_chunk_sum(const void *p, size_t n) { return tra_chunk_sum_end(XXH64(p, n, 0)); }

/* ---- chunks ------------------------------------------------------------------------------------------------- */

/* Takes the pieces of an encoded chunk, which are made in `piece`, as long as they have no more than cap bytes in all:
 * more would not pay. */
typedef struct sink {
    char *piece;
    size_t room;
    tra_encoded_fn *put;
    void *ctx;
    int64_t len, cap;
    XXH64_state_t sum;
    tra_status status;
    tra_err *e;
} sink;

static bool emit(sink *o, const void *bytes, size_t n) {
    if (o->len + (int64_t)n > o->cap) return false;
    XXH64_update(&o->sum, bytes, n);
    o->status = o->put(o->ctx, o->len, bytes, (int64_t)n, o->e);
    o->len += (int64_t)n;
    return o->status == TRA_OK;
}

static bool check_code(sink *o, size_t code) {
    if (!ZSTD_isError(code)) return true;
    o->status = tra_fail(o->e, TRA_RESOURCE, "a block cannot be compressed: %s", ZSTD_getErrorName(code));
    return false;
}

enum { RAW, RUN, CODED_BLOCK }; /* RFC 8878: types of blocks */

/* Are the len bytes with this header one block of m bytes, entropy-coded or of one repeated byte? */
static bool whole_block(uint32_t mark, size_t len, size_t m) {
    switch (mark >> 1 & 3) {
    case CODED_BLOCK: return len == MARK + (mark >> 3);
    case RUN: return len == MARK + 1 && mark >> 3 == m;
    }
    return false;
}

/* Encodes the planes of a shuffled chunk as a frame whose blocks are only entropy-coded, without a search for
 * repetitions, or stored raw where that saves less than a quarter. No block has bytes of two planes or depends on
 * another block. Plain frames of the library are smaller by 2 to 7 % and decode at a third to a half of the speed,
 * whatever the level (1 to -20): 8 MB of uniform f64 at 6.3 GB/s on one core, not 10.4; of normal ones at 5.9, not
 * 20. */
static bool encode_entropy(ZSTD_CCtx *c, const char *planes, size_t n, size_t size, sink *o) {
    const uint32_t magic = ZSTD_MAGICNUMBER, total = (uint32_t)n;
    const char has[] = {(char)0x80, 7 << 3}; /* frame header: content size in 4 bytes; a window of BLOCK */
    char head[10];
    memcpy(head, &magic, 4);
    memcpy(head + 4, has, 2);
    memcpy(head + 6, &total, 4);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, 0); /* the level's own */
    ZSTD_CCtx_setParameter(c, ZSTD_c_chainLog, 0);
    if (!emit(o, head, sizeof head)) return false;
    for (size_t at = 0, m; at < n; at += m) {
        size_t left = n / size - at % (n / size);
        m = left < BLOCK ? left : BLOCK;
        ZSTD_Sequence all = {.litLength = (unsigned)m};
        size_t len = ZSTD_compressSequences(c, o->piece, o->room, &all, 1, planes + at, m);
        if (!check_code(o, len)) return false;
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
        if (!emit(o, block, len)) return false;
    }
    return true;
}

/* Encodes bytes as an ordinary frame of libzstd. */
static bool encode_search(ZSTD_CCtx *c, const void *src, size_t n, int level, sink *o) {
    ZSTD_inBuffer in = {src, n, 0};
    ZSTD_compressionParameters p = search_in(level, n);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, (int)p.hashLog);
    ZSTD_CCtx_setParameter(c, ZSTD_c_chainLog, (int)p.chainLog);
    for (size_t left = 1; left > 0;) {
        ZSTD_outBuffer out = {o->piece, o->room, 0};
        left = ZSTD_compressStream2(c, &out, &in, ZSTD_e_end);
        if (!check_code(o, left) || !emit(o, o->piece, out.pos)) return false;
    }
    return true;
}

typedef enum way { BARE, SHUFFLED, CODED } way;
enum { SAMPLE = 64 << 10, SAMPLES = 8 }; /* a chunk is judged by SAMPLE bytes in SAMPLES pieces */

static tra_status discard(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e) {
    (void)ctx, (void)at, (void)bytes, (void)len, (void)e;
    return TRA_OK;
}

/* Encodes n bytes in one way to find the length, *len. */
static tra_status measure(ZSTD_CCtx *c, way how, const char *src, size_t n, size_t size, int level, char *piece,
                          int64_t *len, tra_err *e) {
    sink o = {.piece = piece, .room = piece_of(n), .put = discard, .cap = INT64_MAX, .e = e};
    XXH64_reset(&o.sum, 0);
    (void)(how == CODED ? encode_entropy(c, src, n, size, &o) : encode_search(c, src, n, level, &o));
    ZSTD_CCtx_reset(c, ZSTD_reset_session_only);
    *len = o.len;
    return o.status;
}

/* How the chunk is to be encoded, judged by a sample of it, or by all of it when it is no larger: then, if the answer
 * is SHUFFLED, `piece` already has the frame of *len bytes. CODED decodes more than twice as fast as SHUFFLED, which is
 * worth some bytes at level 1, the one for speed. */
static tra_status choose(ZSTD_CCtx *c, const char *src, size_t n, size_t size, int level, char *piece, way *how,
                         int64_t *len, tra_err *e) {
    char plain[SAMPLE], mixed[SAMPLE];
    size_t all = n <= SAMPLE ? n : SAMPLE, runs = n <= SAMPLE ? 1 : SAMPLES, run = all / runs;
    size_t step = (n - run) / (SAMPLES - 1) / size * size;
    int64_t bare, quick = INT64_MAX;
    for (size_t i = 0; i < runs; i++) memcpy(plain + i * run, src + i * step, run);
    shuffle_to(mixed, plain, all / size, size);
    TRA_TRY(measure(c, BARE, plain, all, size, level, piece, &bare, e));
    if (level == 1 && n >= BLOCK) TRA_TRY(measure(c, CODED, mixed, all, size, level, piece, &quick, e));
    TRA_TRY(measure(c, SHUFFLED, mixed, all, size, level, piece, len, e));
    int64_t best = tra_min64(bare, *len);
    *how = quick <= best + best / 32 ? CODED : *len <= bare ? SHUFFLED : BARE;
    return TRA_OK;
}

size_t tra_encode_room(size_t n, size_t size) { /* the shuffle is over when pieces are made */
    size_t shuffle = tra_shuffle_room(n / size, size), piece = piece_of(n);
    return shuffle > piece ? shuffle : piece;
}

tra_status tra_chunk_encode(void *chunk, size_t n, size_t size, int level, void *scratch, tra_encoded_fn *put,
                            void *ctx, tra_encoded *enc, tra_err *e) {
    ZSTD_CCtx *c = cctx();
    int64_t tried;
    way how;
    assert(scratch); /* libzstd writes nothing to NULL and reports no error: the loop would never end */
    if (!c) return tra_fail(e, TRA_RESOURCE, "out of memory for a zstd context");
    TRA_TRY(choose(c, chunk, n, size, level, scratch, &how, &tried, e));
    sink o = {.piece = scratch, .room = piece_of(n), .put = put, .ctx = ctx, .e = e};
    o.cap = (int64_t)(n - n / 32); /* saving less is not worth the time of decoding */
    XXH64_reset(&o.sum, 0);
    bool made = how == SHUFFLED && n <= SAMPLE, moved = how != BARE && !made;
    if (moved) tra_chunk_shuffle(chunk, n / size, size, scratch);
    bool shrinks = made           ? emit(&o, scratch, (size_t)tried)
                   : how == CODED ? encode_entropy(c, chunk, n, size, &o)
                                  : encode_search(c, chunk, n, level, &o);
    ZSTD_CCtx_reset(c, ZSTD_reset_session_only);
    if (!shrinks && o.status == TRA_OK) {
        if (moved) tra_chunk_unshuffle(chunk, n / size, size, scratch);
        o.len = 0;
        o.cap = (int64_t)n;
        XXH64_reset(&o.sum, 0);
        emit(&o, chunk, n);
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
