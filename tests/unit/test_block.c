/* test_block.c - blocks chosen for a shape. */
#include "check.h"

#include "../../lib/model/block.h"

static const char *chosen(int n, const int64_t *v) {
    static char text[TRA_DIMTEXT];
    tra_dims shape = {.n = n}, block;
    for (int i = 0; i < n; i++) shape.v[i] = v[i];
    tra_block_choose(&shape, &block);
    return tra_shape_text(&block, text);
}
#define CHOSEN(...) chosen((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

TEST(known_shapes) {
    CHECK_STR(CHOSEN(16384, 16384), "1024 x 1024");
    CHECK_STR(CHOSEN(10000, 10000), "1000 x 1000");
    CHECK_STR(CHOSEN(3500, 3500), "875 x 875");
    CHECK_STR(CHOSEN(1025, 1025), "513 x 513");
    CHECK_STR(CHOSEN(1797, 64), "1797 x 64");
    CHECK_STR(CHOSEN(10000000, 10), "104167 x 10");
    CHECK_STR(CHOSEN(1 << 21), "1048576");
    CHECK_STR(CHOSEN(0, 5), "1 x 5");
    CHECK_STR(CHOSEN(11, 11, 11, 11, 11, 11), "6 x 6 x 6 x 6 x 6 x 10"); /* the last stays, for 512 KiB */
    CHECK_STR(CHOSEN(1, 1), "1 x 1");
    CHECK_STR(chosen(0, NULL), "");
}

TEST(bounds_hold_for_any_shape) {
    uint64_t h = 1;
    for (int i = 0; i < 20000; i++) {
        tra_dims shape = {.n = 1 + i % 6}, block;
        int64_t all = 1;
        for (int d = 0; d < shape.n; d++) {
            h = h * 6364136223846793005u + 1442695040888963407u;
            shape.v[d] = 1 + (int64_t)(h >> 40) % ((int64_t)1 << (4 + (h >> 33) % 18));
            if (!tra_mul(all, shape.v[d], &all)) all = INT64_MAX;
        }
        tra_block_choose(&shape, &block);
        int64_t n = 0;
        CHECK(tra_dims_product(&block, &n));
        CHECK(n <= 1 << 20 && n >= tra_min64(all, 1 << 16));
        for (int d = 0; d < shape.n; d++) CHECK(block.v[d] >= 1 && block.v[d] <= shape.v[d]);
    }
}

TEST(fits) {
    tra_dims shape = {2, {10, 0}}, block = {2, {20, 3}}, wrong = {1, {4}};
    tra_err e = {0};
    CHECK_OK(tra_block_fit(&shape, &block, &e), e);
    CHECK_INT(block.v[0], 10);
    CHECK_INT(block.v[1], 1);
    CHECK_FAILS(tra_block_fit(&shape, &wrong, &e), TRA_USAGE, e,
                "block 4 has 1 dimension, but the tensor 10 x 0 has 2");
}
