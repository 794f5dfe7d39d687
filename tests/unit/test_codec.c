/* test_codec.c - what happens to a chunk between memory and file, without a file. */
#include "../../lib/h5/codec.h"
#include "../../lib/h5/zfilter.h"
#include "check.h"

#include <dlfcn.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* ---- shuffle ------------------------------------------------------------------------------------------------ */

/* Are n elements shuffled in place, off bytes into a block, as HDF5 says, and given back by the reverse, and is nothing
 * beyond them and the scratch touched? */
static bool shuffles(const unsigned char *plain, size_t n, size_t size, size_t off) {
    size_t room = tra_shuffle_room(n, size), end = off + n * size;
    unsigned char *block = malloc(end + 1), *scratch = malloc(room + 1), *v = block + off;
    bool right = true;
    memset(block, 0xee, end + 1);
    memcpy(v, plain, n * size);
    scratch[room] = 0xee;
    tra_chunk_shuffle(v, n, size, scratch);
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < size; b++) right = right && v[b * n + i] == plain[i * size + b];
    tra_chunk_unshuffle(v, n, size, scratch);
    right = right && memcmp(v, plain, n * size) == 0 && block[end] == 0xee && scratch[room] == 0xee;
    for (size_t i = 0; i < off; i++) right = right && block[i] == 0xee;
    free(block);
    free(scratch);
    return right;
}

/* Elements of every size, in any number, anywhere in memory; nothing beyond them is touched. */
TEST(shuffle_and_back) {
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16};
    enum { MOST = 70, ROOM = 16 * MOST + 32 };
    unsigned char plain[ROOM];
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < ROOM; i++) plain[i] = (unsigned char)next_random(&x);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t n = 0; n <= MOST; n++) CHECK(shuffles(plain + 9 - (n + s) % 9, n, sizes[s], (n + s) % 9));
}

/* Groups of elements that change places: as many as fit, and some that are left. */
TEST(large_chunks_are_shuffled_in_place) {
    static const size_t sizes[] = {2, 3, 4, 8, 16}, counts[] = {1 << 17, 250000, 99991, 100003, 65537, 8193};
    enum { ROOM = 16 * 250000 };
    unsigned char *plain = malloc(ROOM);
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < ROOM; i++) plain[i] = (unsigned char)next_random(&x);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) CHECK(shuffles(plain, counts[i], sizes[s], 1));
    free(plain);
}

/* ---- chunks ------------------------------------------------------------------------------------------------- */

/* Blocks of a frame whose header takes 10 bytes: as they are, and coded without sequences; false: one is neither. */
static bool walk(const unsigned char *p, size_t len, int *as_they_are, int *coded) {
    *as_they_are = *coded = 0;
    for (size_t at = 10; at < len;) {
        uint32_t mark = p[at] | (uint32_t)p[at + 1] << 8 | (uint32_t)p[at + 2] << 16;
        size_t n = mark >> 3;
        at += 3 + n;
        if ((mark & 1) != (at == len)) return false;
        if ((mark >> 1 & 3) == 0)
            ++*as_they_are;
        else if ((mark >> 1 & 3) == 2 && p[at - 1] == 0)
            ++*coded; /* the number of sequences is the last byte then */
        else
            return false;
    }
    return true;
}

/* Pieces come in order, or all at once from the start, and are never more than a chunk. */
typedef struct kept {
    char *to;
    size_t n, done;
    int begun;
} kept;

static tra_status keep(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e) {
    kept *k = ctx;
    k->begun += at == 0;
    if (at == 0) k->done = 0;
    CHECK((size_t)at == k->done && k->done + (size_t)len <= k->n);
    k->done += (size_t)len;
    return tra_encoded_keep(k->to, at, bytes, len, e);
}

static const char *encode(const void *chunk, size_t n, size_t size, int level, tra_encoded *enc, void *back) {
    size_t need = tra_encode_room(n, size);
    unsigned char *copy = malloc(n), *tmp = malloc(need + 1), *room = malloc(tra_shuffle_room(n / size, size));
    static char stored[8 << 20];
    kept k = {stored, n, 0, 0};
    tra_err e = {0};
    memcpy(copy, chunk, n);
    tmp[need] = 0xee;
    CHECK_OK(tra_chunk_encode(copy, n, size, level, tmp, keep, &k, enc, &e), e);
    CHECK(tmp[need] == 0xee);
    CHECK_INT(k.done, enc->len);
    CHECK(k.begun == 1 || (k.begun == 2 && enc->mask == 3));
    CHECK(enc->sum == tra_chunk_sum(stored, k.done));
    if (enc->mask < 3) { /* as a reader does: piece by piece, in place */
        enum { PIECE = 70001 };
        tra_inflate x;
        tra_inflate_begin(&x, back, n);
        for (size_t i = 0, len = (size_t)enc->len; i < len; i += PIECE)
            tra_inflate_more(&x, stored + i, len - i < PIECE ? len - i : PIECE);
        const char *why = tra_inflate_end(&x);
        if (why) check_report("%s", why);
    } else {
        memcpy(back, stored, n);
    }
    if (enc->mask == 0) tra_chunk_unshuffle(back, n / size, size, room);
    free(copy), free(tmp), free(room);
    return stored;
}

/* Numbers of full entropy: planes of the mantissa as they are, those of sign and exponent coded. */
TEST(random_numbers_are_entropy_coded_alone) {
    static const size_t counts[] = {262144, 250000, 140000, 99991, 8191};
    static double v[262144], back[262144];
    static float f[262144];
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < 262144; i++) {
        double u = ((double)(next_random(&x) >> 11) + 1) / 9007199254740993.0, w = (double)(next_random(&x) >> 11);
        v[i] = sqrt(-2 * log(u)) * cos(w);
        f[i] = (float)v[i];
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t size = 4; size <= 8; size += 4) {
            size_t n = counts[i] * size, blocks = (counts[i] + (128 << 10) - 1) / (128 << 10);
            const void *chunk = size == 8 ? (void *)v : (void *)f;
            int as_they_are, coded;
            tra_encoded enc;
            const char *stored = encode(chunk, n, size, 1, &enc, back);
            CHECK(memcmp(back, chunk, n) == 0);
            CHECK_INT(enc.mask, 0);
            if (n < 128 << 10) continue; /* small ones are searched */
            CHECK_NEAR((double)n / (double)enc.len, size == 8 ? 1.11 : 1.2, 0.01);
            CHECK(walk((const unsigned char *)stored, (size_t)enc.len, &as_they_are, &coded));
            CHECK_INT(coded, blocks);
            CHECK_INT(as_they_are, blocks * (size - 1));
            encode(chunk, n, size, 3, &enc, back);
            CHECK(memcmp(back, chunk, n) == 0);
        }
    }
}

/* A later libzstd may make other blocks of the planes than entropy-coded ones: runs, or more than one. */
static enum { AS_IT_IS, RUNS, HALVES } later;
size_t ZSTD_compressSequences(ZSTD_CCtx *c, void *dst, size_t room, const ZSTD_Sequence *v, size_t n, const void *src,
                              size_t bytes) {
    size_t (*real)(ZSTD_CCtx *, void *, size_t, const ZSTD_Sequence *, size_t, const void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "ZSTD_compressSequences");
    const unsigned char *p = src;
    size_t len = real(c, dst, room, v, n, src, bytes), head = ZSTD_frameHeaderSize(dst, len), half = bytes / 2;
    bool same = memcmp(p, p + 1, bytes - 1) == 0;
    unsigned char *to = (unsigned char *)dst + head;
    uint32_t mark = (uint32_t)bytes << 3 | 1 << 1 | 1;
    if (later == AS_IT_IS || !same || bytes <= 8192) return len; /* samples decide the way */
    if (later == HALVES) mark = (uint32_t)half << 3 | 1 << 1;
    memcpy(to, &mark, 3);
    to[3] = *p;
    if (later == RUNS) return head + 4;
    mark = (uint32_t)(bytes - half) << 3 | 1 << 1 | 1;
    memcpy(to + 4, &mark, 3);
    to[7] = *p;
    return head + 8;
}

TEST(blocks_of_another_kind_are_decoded_too) {
    static uint64_t v[65536], back[65536];
    uint64_t x = 88172645463325252u;
    int64_t len[3];
    for (size_t i = 0; i < 65536; i++) /* a plane of the same byte, two of 16 values, five of any */
        v[i] = 0x4000000000000000 | (next_random(&x) & 0x000f0fffffffffff);
    for (later = AS_IT_IS; later <= HALVES; later++) {
        tra_encoded enc;
        encode(v, sizeof v, 8, 1, &enc, back);
        CHECK(memcmp(back, v, sizeof v) == 0);
        CHECK_INT(enc.mask, 0);
        len[later] = enc.len;
    }
    later = AS_IT_IS;
    CHECK(len[RUNS] <= len[AS_IT_IS]);          /* is taken */
    CHECK(len[HALVES] > len[AS_IT_IS] + 60000); /* is not: the plane is stored as it is */
}

/* A frame of which the last block, which is empty, or the checksum is cut off: all bytes are there, its end is not. */
TEST(a_frame_without_its_end_is_damaged) {
    for (int sum = 0; sum < 2; sum++) {
        unsigned char frame[] = {
            0x28, 0xb5, 0x2f, 0xfd, sum ? 0x24 : 0x20, 8, 8 << 3, 0, 0, 'e', 'i', 'g', 'h', 't', ' ', 'b', 'y', 1, 0, 0,
            0,    0,    0,    0};
        char back[8];
        uint32_t want = (uint32_t)tra_chunk_sum("eight by", 8);
        memcpy(frame + 20, &want, 4);
        size_t n = sum ? 24 : 20;
        for (size_t cut = 0; cut < n - 17; cut++) {
            tra_inflate x;
            tra_inflate_begin(&x, back, 8);
            tra_inflate_more(&x, frame, n - cut);
            const char *why = tra_inflate_end(&x);
            CHECK(cut == 0 ? !why : why && strcmp(why, "its end is missing") == 0);
            CHECK(memcmp(back, "eight by", 8) == 0);
        }
    }
}

/* What repeats is searched for repeats. */
TEST(smooth_numbers_are_searched) {
    static double v[65536], back[65536];
    for (int i = 0; i < 65536; i++) v[i] = i;
    tra_encoded enc;
    encode(v, sizeof v, 8, 1, &enc, back);
    CHECK(memcmp(back, v, sizeof v) == 0);
    CHECK_INT(enc.mask, 0);
    CHECK(enc.len < (int64_t)sizeof v / 20);
}

/* What shrinks where it is looked at, and nowhere else, is begun, given up and stored as it is. */
TEST(what_does_not_shrink_after_all) {
    enum { N = 1 << 21, RUN = 8192 };
    unsigned char *v = malloc(N), *back = malloc(N);
    uint64_t x = 88172645463325252u;
    tra_encoded enc;
    for (size_t i = 0; i < N; i++) v[i] = (unsigned char)next_random(&x);
    for (size_t i = 0; i < 8; i++) memset(v + i * ((N - RUN) / 7 / 8 * 8), 0, RUN);
    for (int level = 1; level <= 7; level += 3) {
        for (size_t size = 4; size <= 8; size += 4) {
            const char *stored = encode(v, N, size, level, &enc, back);
            CHECK_INT(enc.mask, 3);
            CHECK_INT(enc.len, N);
            CHECK(memcmp(stored, v, N) == 0);
        }
    }
    free(v);
    free(back);
}

/* A frame of no window but itself, however large: of blocks of zeros. */
TEST(a_frame_may_be_a_single_segment) {
    enum { N = 129 << 20, BLOCK = 128 << 10 };
    static const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, N >> 16 & 255, N >> 24};
    static unsigned char frame[sizeof head + N / BLOCK * 4];
    char *back = calloc(N, 1);
    size_t n = sizeof head;
    memcpy(frame, head, n);
    for (int i = 1; i <= N / BLOCK; i++) {
        uint32_t mark = (uint32_t)BLOCK << 3 | 1 << 1 | (i == N / BLOCK);
        memcpy(frame + n, &mark, 3);
        n += 4;
    }
    tra_inflate x;
    tra_inflate_begin(&x, back, N);
    tra_inflate_more(&x, frame, n);
    const char *why = tra_inflate_end(&x);
    if (why) check_report("%s", why);
    free(back);
}

/* Frames of streaming writers do not tell their size: the filter makes room as they are decoded. */
TEST(the_filter_decodes_frames_of_no_size) {
    enum { N = 300000 };
    static char plain[N];
    for (int n = N; n > 0; n -= N / 2) { /* both take more than four times the bytes of their frame */
        size_t cap = ZSTD_compressBound((size_t)n), room = cap, came = 0;
        for (int i = 0; i < n; i++) plain[i] = (char)(i / 1000);
        ZSTD_CCtx *c = ZSTD_createCCtx();
        ZSTD_outBuffer out = {malloc(cap), cap, 0};
        ZSTD_inBuffer in = {plain, (size_t)n, 0};
        while (in.pos < in.size) ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue);
        while (ZSTD_compressStream2(c, &out, &in, ZSTD_e_end)) {
        }
        ZSTD_freeCCtx(c);
        void *buf = out.dst;
        CHECK(ZSTD_getFrameContentSize(buf, out.pos) == ZSTD_CONTENTSIZE_UNKNOWN);
        CHECK(tra_zstd_class.filter(H5Z_FLAG_REVERSE, 0, NULL, out.pos - 1, &room, &buf) == 0); /* it is cut off */
        came = tra_zstd_class.filter(H5Z_FLAG_REVERSE, 0, NULL, out.pos, &room, &buf);
        CHECK_INT(came, n);
        CHECK(came == (size_t)n && memcmp(buf, plain, came) == 0);
        free(buf);
    }
}
