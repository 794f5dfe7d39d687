/* Keys, catalogs, types, functions of keys. */
#include "check.h"

#include "../../lib/model/keyfn.h"
#include "../../lib/model/relation.h"

static tra_dims dims(int n, int64_t a, int64_t b, int64_t c) { return (tra_dims){.n = n, .v = {a, b, c}}; }

TEST(keys_go_round) {
    tra_dims box = dims(3, 4, 5, 6), key = {.n = 3};
    int64_t pos = 0;
    do {
        tra_dims back;
        CHECK_INT(tra_linear(&box, &key), pos);
        tra_unlinear(&box, pos++, &back);
        CHECK(tra_dims_eq(&key, &back));
    } while (tra_next(&box, &key));
    CHECK_INT(pos, 120);
    box.n = 0;
    CHECK_INT(tra_linear(&box, &key), 0);
    CHECK(!tra_next(&box, &key)); /* the one key of arity 0 */
}

/* The i-th of elements of so many bytes: another one for the next, unless they are too small to tell. */
static uint64_t element(int64_t i, size_t size) { return (uint64_t)i * 2654435761u % (UINT64_C(1) << (4 * size)) + 7; }

TEST(strided_copies_permute) {
    /* Every order of the dimensions of src, over extents with ones and tiles that do not fit. */
    enum { N = 3 * 70 * 41 };
    tra_dims ext = {.n = 4, .v = {3, 70, 1, 41}};
    int order[4];
    static uint64_t from[N], to[N];
    unsigned char *src = (unsigned char *)from, *dst = (unsigned char *)to;
    int64_t ds[4], ss[4];
    tra_strides(&ext, ds);
    for (int p = 0; p < 256; p++) {
        int seen = 0;
        for (int d = 0; d < 4; d++) seen |= 1 << (order[d] = p >> 2 * d & 3);
        if (seen != 15) continue;
        int64_t s = 1;
        for (int d = 3; d >= 0; s *= ext.v[order[d]], d--) ss[order[d]] = s;
        for (size_t size = 1; size <= 8; size *= 2) {
            memset(dst, 0, sizeof to);
            for (int64_t i = 0; i < N; i++) memcpy(src + (size_t)i * size, &(uint64_t){element(i, size)}, size);
            tra_copy_strided(size, &ext, dst, ds, src, ss);
            tra_dims at = {.n = 4};
            int64_t i = 0, bad = 0;
            do {
                int64_t k = 0;
                for (int d = 0; d < 4; d++) k += at.v[d] * ss[d];
                bad += memcmp(dst + (size_t)i++ * size, &(uint64_t){element(k, size)}, size) != 0;
            } while (tra_next(&ext, &at));
            CHECK_INT(bad, 0);
            CHECK(size == 8 || dst[N * size] == 0); /* nothing behind it */
        }
    }
    ext.v[0] = 0;
    tra_copy_strided(8, &ext, NULL, ds, NULL, ss); /* no element: nothing is looked at */
}

TEST(products_do_not_overflow) {
    int64_t p;
    tra_dims d = dims(3, INT64_C(1) << 40, INT64_C(1) << 40, 0);
    CHECK(tra_dims_product(&d, &p));
    CHECK_INT(p, 0);
    d.v[2] = 1;
    CHECK(!tra_dims_product(&d, &p));
}

TEST(shapes_are_parsed) {
    tra_dims d;
    CHECK(tra_parse_dims("1000x7", 1, &d) && d.n == 2 && d.v[1] == 7);
    CHECK(tra_parse_dims("5,6", 1, &d) && d.n == 2);
    CHECK(tra_parse_dims("", 1, &d) && d.n == 0);
    static const char *const bad[] = {"x", "5x", "5xx6", "-1", "5x0", "1e3", "99999999999999999999", "5 6"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!tra_parse_dims(bad[i], 1, &d));
}

TEST(blocks_of_a_ragged_matrix) {
    tra_catalog c;
    tra_err e = {0};
    tra_dims shape = dims(2, 10, 7, 0), block = dims(2, 4, 7, 0), key, ext;
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    CHECK(c.grid);
    CHECK_INT(c.n, 3);
    CHECK_INT(c.frontier.v[0], 3);
    CHECK_INT(tra_catalog_elements(&c), 70);
    CHECK_INT(tra_catalog_elements_most(&c), 28);
    tra_catalog_ext(&c, 2, &ext);
    CHECK_INT(ext.v[0], 2);
    key = dims(2, 2, 0, 0);
    CHECK_INT(tra_catalog_find(&c, &key), 2);
    key = dims(2, 0, 1, 0);
    CHECK_INT(tra_catalog_find(&c, &key), -1);
    tra_type t = {.cat = &c, .cut = {1, 2}};
    tra_dims whole, off;
    CHECK(tra_type_is_blocked(&t, NULL));
    tra_type_shape(&t, &whole);
    CHECK(tra_dims_eq(&whole, &shape));
    key = dims(2, 2, 0, 0);
    tra_type_offset(&t, &key, &off);
    CHECK_INT(off.v[0], 8);
}

TEST(blocks_of_nothing_and_of_a_number) {
    tra_catalog c;
    tra_err e = {0};
    tra_dims shape = dims(2, 0, 5, 0), block = dims(2, 4, 4, 0), none = {.n = 0};
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    CHECK_INT(c.n, 0);
    CHECK_INT(c.bound.v[0], 1);
    CHECK_INT(tra_catalog_elements(&c), 0);
    CHECK_INT(tra_catalog_blocks(&none, &none, &c, &e), TRA_OK);
    CHECK_INT(c.n, 1);
    CHECK_INT(tra_catalog_elements(&c), 1);
}

/* Both forms of a catalog must say the same of every tuple; sums are closed forms for grids. */
TEST(grid_and_list_agree) {
    tra_arena *a = tra_arena_new();
    for (int round = 0; round < 200; round++) {
        tra_dims shape = {.n = 1 + round % 3}, block = {.n = shape.n};
        for (int d = 0; d < shape.n; d++) shape.v[d] = 1 + (round * 7 + d * 5) % 11, block.v[d] = 1 + (round + d) % 4;
        tra_catalog g, l;
        tra_err e = {0};
        CHECK_INT(tra_catalog_blocks(&shape, &block, &g, &e), TRA_OK);
        tra_catbuilder *b = tra_catbuilder_new(shape.n, shape.n);
        int64_t sum = 0, most = 0;
        for (int64_t t = g.n - 1; t >= 0; t--) {
            tra_dims key, ext;
            tra_catalog_key(&g, t, &key);
            tra_catalog_ext(&g, t, &ext);
            CHECK_INT(tra_catbuilder_add(b, &key, &ext, t, &e), TRA_OK);
            sum += tra_catalog_elements_of(&g, t);
            most = tra_max64(most, tra_catalog_elements_of(&g, t));
        }
        CHECK_INT(tra_catbuilder_finish(b, a, &l, NULL, &e), TRA_OK);
        CHECK(l.grid); /* recognised */
        for (int64_t t = 0; t < g.n; t++) {
            tra_dims x, y;
            tra_catalog_ext(&g, t, &x);
            tra_catalog_ext(&l, t, &y);
            CHECK(tra_dims_eq(&x, &y));
        }
        CHECK_INT(tra_catalog_elements(&g), sum);
        CHECK_INT(tra_catalog_elements(&l), sum);
        CHECK_INT(tra_catalog_elements_most(&g), most);
    }
    tra_arena_free(a);
}

/* A list may have as many extents as tuples. */
TEST(lists_of_many_extents) {
    enum { N = 1000000 };
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_catalog c;
    double begin = check_seconds();
    tra_catbuilder *b = tra_catbuilder_new(1, 2);
    for (int64_t i = 0; i < N; i++) { /* those of the first half come a second time */
        int64_t x = i % (N / 2);
        tra_dims key = dims(1, 2 * i, 0, 0), ext = dims(2, x % 1000 + 1, x / 1000 + 1, 0);
        CHECK_OK(tra_catbuilder_add(b, &key, &ext, i, &e), e);
    }
    CHECK_OK(tra_catbuilder_finish(b, a, &c, NULL, &e), e);
    CHECK(check_seconds() - begin < 3); /* about 0.2; a look at all extents for each tuple takes minutes */
    CHECK_INT(c.nclasses, N / 2);
    for (int64_t i = 0; i < N; i += 999) {
        tra_dims ext;
        int64_t x = i % (N / 2);
        tra_catalog_ext(&c, i, &ext);
        CHECK(ext.v[0] == x % 1000 + 1 && ext.v[1] == x / 1000 + 1);
    }
    tra_arena_free(a);
}

TEST(lists_have_holes_and_refuse_duplicates) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_catalog c;
    tra_catbuilder *b = tra_catbuilder_new(2, 1);
    tra_dims ext = dims(1, 3, 0, 0), short_ext = dims(1, 2, 0, 0), key = dims(2, 2, 1, 0), other = dims(2, 0, 0, 0);
    CHECK_INT(tra_catbuilder_add(b, &key, &short_ext, 7, &e), TRA_OK);
    CHECK_INT(tra_catbuilder_add(b, &other, &ext, 8, &e), TRA_OK);
    CHECK_INT(tra_catbuilder_finish(b, a, &c, NULL, &e), TRA_OK);
    CHECK(!c.grid);
    CHECK_INT(c.n, 2);
    CHECK_INT(tra_catalog_holes(&c), 4);
    CHECK_INT(tra_catalog_find(&c, &key), 1);
    CHECK_INT(tra_catalog_elements_of(&c, 1), 2);
    CHECK_INT(tra_catalog_elements(&c), 5);
    CHECK_INT(c.bound.v[0], 3);
    int64_t dup[2];
    b = tra_catbuilder_new(2, 1);
    for (int i = 0; i < 2; i++) CHECK_INT(tra_catbuilder_add(b, &key, &ext, 40 + i, &e), TRA_OK);
    CHECK_INT(tra_catbuilder_finish(b, a, &c, dup, &e), TRA_PROGRAM);
    CHECK_INT(dup[0], 40);
    CHECK_INT(dup[1], 41);
    CHECK(strstr(e.msg, "<2,1>") != NULL);
    tra_arena_free(a);
}

TEST(layouts_are_told_apart) {
    tra_catalog c;
    tra_err e = {0};
    const char *why = NULL;
    tra_dims shape = dims(2, 10, 10, 0), block = dims(2, 4, 4, 0);
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    tra_type t = {.cat = &c, .cut = {3, 0}};
    CHECK(!tra_type_is_tensor(&t, &why) && strstr(why, "more than one key"));
    t = (tra_type){.cat = &c, .cut = {1, 1}};
    CHECK(!tra_type_is_tensor(&t, &why) && strstr(why, "one key cuts two"));
    t = (tra_type){.cat = &c, .cut = {1, 0}};
    CHECK(!tra_type_is_tensor(&t, &why) && strstr(why, "no key cuts"));
    t = (tra_type){.cat = &c, .cut = {2, 1}}; /* clipped by the wrong keys */
    CHECK(!tra_type_is_tensor(&t, &why));
}

static tra_keyexpr var0 = {.op = TRA_KEY_VAR, .var = 0}, var1 = {.op = TRA_KEY_VAR, .var = 1};

static int64_t eval(tra_keyop op, int64_t a, int64_t b, tra_status want) {
    tra_keyexpr x = {.op = op, .a = &var0, .b = &var1};
    tra_dims key = dims(2, a, b, 0);
    tra_err e = {0};
    int64_t v = -99;
    CHECK_INT(tra_keyexpr_eval(&x, &key, &v, &e), want);
    if (want != TRA_OK) CHECK(strstr(e.msg, "key <") != NULL);
    return v;
}

TEST(integers_of_keys) {
    CHECK_INT(eval(TRA_KEY_DIV, -7, 2, TRA_OK), -4);
    CHECK_INT(eval(TRA_KEY_MOD, -7, 2, TRA_OK), 1);
    CHECK_INT(eval(TRA_KEY_MOD, 7, -2, TRA_OK), -1);
    CHECK_INT(eval(TRA_KEY_DIV, 7, -2, TRA_OK), -4);
    CHECK_INT(eval(TRA_KEY_MOD, INT64_MIN, -1, TRA_OK), 0);
    CHECK_INT(eval(TRA_KEY_AND, 0, 5, TRA_OK), 0);
    CHECK_INT(eval(TRA_KEY_OR, 3, 0, TRA_OK), 1);
    eval(TRA_KEY_DIV, 1, 0, TRA_PROGRAM);
    eval(TRA_KEY_MOD, 1, 0, TRA_PROGRAM);
    eval(TRA_KEY_DIV, INT64_MIN, -1, TRA_PROGRAM);
    eval(TRA_KEY_ADD, INT64_MAX, 1, TRA_PROGRAM);
    eval(TRA_KEY_MUL, INT64_MAX, 2, TRA_PROGRAM);
    eval(TRA_KEY_ABS, INT64_MIN, 0, TRA_PROGRAM);
}

TEST(new_keys_are_not_negative) {
    tra_keyexpr less = {.op = TRA_KEY_SUB, .a = &var0, .b = &var1};
    tra_keyfn f = {.arity = 2, .names = {"i", "j"}, .n = 1, .expr = {&less}};
    tra_dims key = dims(2, 1, 2, 0), out;
    tra_err e = {0};
    CHECK_INT(tra_keyfn_eval(&f, &key, &out, &e), TRA_PROGRAM);
    CHECK(strstr(e.msg, "<1,2>") != NULL);
    tra_str s = {0};
    tra_keyfn_print(&f, false, &s);
    CHECK_STR(tra_str_get(&s), "(i, j) -> (i - j)");
    tra_str_free(&s);
}
