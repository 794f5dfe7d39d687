/* test_codec.c - what happens to a chunk between memory and file, without a file. */
#include "../../lib/relation/codec.h"
#include "check.h"

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* ---- shuffle ------------------------------------------------------------------------------------------------ */

/* Elements of every size, in any number, anywhere in memory; nothing beyond them is touched. */
TEST(shuffle_and_back) {
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16};
    enum { MOST = 70, ROOM = 16 * MOST + 32 };
    unsigned char plain[ROOM], shuffled[ROOM], back[ROOM];
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
            for (size_t from = 0; from <= n; from += 1 + n / 7) { /* runs: of clipped arrays */
                size_t count = n - from - (n - from) / 3;
                memset(back, 0xee, sizeof back);
                tra_chunk_unshuffle(back + 3, shuffled + off, from, count, n, size);
                right = memcmp(back + 3, plain + 9 - off + from * size, count * size) == 0;
                right = right && back[2] == 0xee && back[3 + count * size] == 0xee;
                CHECK(right);
            }
        }
    }
}
