/* test_codec.c - what happens to a chunk between memory and file, without a file. */
#include "../../lib/relation/codec.h"
#include "check.h"

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* ---- shuffle ------------------------------------------------------------------------------------------------ */

/* Does the reverse give back n elements, in place, and touch nothing beyond them and its scratch? */
static bool unshuffles(const unsigned char *plain, size_t n, size_t size) {
    size_t room = tra_unshuffle_room(n, size);
    unsigned char *v = malloc(n * size + 2), *scratch = malloc(room + 1);
    memset(v, 0xee, n * size + 2);
    scratch[room] = 0xee;
    tra_chunk_shuffle(v + 1, plain, n, size);
    tra_chunk_unshuffle(v + 1, n, size, scratch);
    bool right = memcmp(v + 1, plain, n * size) == 0 && v[0] == 0xee && v[n * size + 1] == 0xee;
    right = right && scratch[room] == 0xee;
    free(v);
    free(scratch);
    return right;
}

/* Elements of every size, in any number, anywhere in memory; nothing beyond them is touched. */
TEST(shuffle_and_back) {
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16};
    enum { MOST = 70, ROOM = 16 * MOST + 32 };
    unsigned char plain[ROOM], shuffled[ROOM];
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < ROOM; i++) plain[i] = (unsigned char)next_random(&x);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t size = sizes[s];
        for (size_t n = 0; n <= MOST; n++) {
            size_t off = (n + s) % 9;
            bool right = true;
            memset(shuffled, 0xee, sizeof shuffled);
            tra_chunk_shuffle(shuffled + off, plain + 9 - off, n, size);
            for (size_t i = 0; i < n * size; i++)
                right = right && shuffled[off + i % size * n + i / size] == plain[9 - off + i];
            for (size_t i = 0; i < off; i++) right = right && shuffled[i] == 0xee;
            right = right && shuffled[off + n * size] == 0xee;
            CHECK(right);
            CHECK(unshuffles(plain + 9 - off, n, size));
        }
    }
}

/* Groups of elements that change places: as many as fit, and some that are left. */
TEST(large_chunks_are_unshuffled_in_place) {
    static const size_t sizes[] = {2, 3, 4, 8, 16}, counts[] = {1 << 17, 250000, 99991, 100003, 65537, 8193};
    enum { ROOM = 16 * 250000 };
    unsigned char *plain = malloc(ROOM);
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < ROOM; i++) plain[i] = (unsigned char)next_random(&x);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) CHECK(unshuffles(plain, counts[i], sizes[s]));
    free(plain);
}

/* ---- chunks ------------------------------------------------------------------------------------------------- */

/* Blocks of a frame whose header takes 9 bytes: as they are, and coded without sequences; false: one is neither. */
static bool walk(const unsigned char *p, size_t len, int *as_they_are, int *coded) {
    *as_they_are = *coded = 0;
    for (size_t at = 9; at < len;) {
        uint32_t mark = p[at] | (uint32_t)p[at + 1] << 8 | (uint32_t)p[at + 2] << 16;
        size_t n = mark >> 3;
        at += 3 + n;
        if ((mark & 1) != (at == len)) return false;
        if ((mark >> 1 & 3) == 0) ++*as_they_are;
        else if ((mark >> 1 & 3) == 2 && p[at - 1] == 0) ++*coded; /* the number of sequences is the last byte then */
        else return false;
    }
    return true;
}

static const char *encode(const void *chunk, size_t n, size_t size, int level, tra_encoded *enc, void *back) {
    char *copy = malloc(n), *tmp = malloc(n), *room = malloc(tra_unshuffle_room(n / size, size));
    static char stored[8 << 20];
    const void *out;
    tra_err e = {0};
    memcpy(copy, chunk, n);
    CHECK_OK(tra_chunk_encode(copy, n, size, level, tmp, &out, enc, &e), e);
    memcpy(stored, out, (size_t)enc->len);
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
