/* test_store.c - relations in files: round trips of every layout and codec, digests. */
#include "store_util.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>

static char *digest_of(const char *spec) {
    static char text[33];
    tra_rel *r;
    tra_err e = {0};
    tra_digest d = {0}, part;
    CHECK_OK(tra_rel_open(spec, NULL, &r, &e), e);
    const tra_type *t = tra_rel_type(r);
    void *buf = malloc(tra_rel_buffer_bytes(r) + 64), *scratch = malloc(tra_rel_scratch_bytes(r) + 1);
    for (int64_t i = t->cat->n - 1; i >= 0; i--) { /* backwards: the order must not matter */
        CHECK_OK(tra_rel_read(r, i, buf, scratch, &e), e);
        part = (tra_digest){0};
        tra_digest_array(&part, t, i, buf);
        tra_digest_add(&d, &part);
    }
    tra_digest_text(&d, t, text);
    free(buf);
    free(scratch);
    tra_rel_close(r);
    return text;
}

static void round_trip(const char *what, const tra_type *t, const char *codec, const char *layout) {
    tra_err e = {0};
    tra_rel *r;
    int before = check_failures;
    const char *path = at("round.h5");
    unlink(path);
    CHECK_OK(write_all(path, t, codec, &e), e);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    if (!r) return;
    const tra_type *back = tra_rel_type(r);
    const tra_relinfo *info = tra_rel_info(r);
    CHECK(same_catalog(t->cat, back->cat));
    CHECK_INT(back->dtype, t->dtype);
    for (int a = 0; a < t->cat->bound.n; a++) CHECK_INT(back->cut[a], t->cut[a]);
    CHECK_STR(info->layout, layout);
    CHECK_STR(info->codec, codec[0] == 'z' ? "zstd" : "none");
    CHECK_STR(info->history, "made by a test");
    CHECK(info->checksums && !info->foreign);
    CHECK_OK(read_all(r, &e), e);
    CHECK_STR(digest_of(path), info->digest);
    tra_rel_close(r);
    if (check_failures != before) printf("# in the round trip of %s, codec %s\n", what, codec);
}

TEST(store_blocked_round_trips) {
    static const char *const cases[][2] = {{"10x7", "3x2"},
                                           {"100x100", "10x10"},
                                           {"1", "1"},
                                           {"17", "5"},
                                           {"0x5", "1x2"},
                                           {"5x6x7", "2x3x4"},
                                           {"300x301", "128x64"},
                                           {"1x1x1", "1x1x1"},
                                           {"5x0x4", "1x1x3"},
                                           {"211x13", "500x500"},
                                           {"130x97x30", "100x64x20"}, /* read in pieces that end within rows */
                                           {"3x120000", "2x70000"},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EACH_CODEC(c) {
            for (tra_dtype dtype = TRA_F64; dtype <= TRA_BOOL; dtype++) {
                tra_arena *a = tra_arena_new();
                tra_type t = blocked(a, cases[i][0], cases[i][1], dtype);
                round_trip(cases[i][0], &t, codecs[c], "tensor");
                tra_arena_free(a);
            }
        }
    }
    CHECK_INT(leftovers(), 0);
}

TEST(store_keys_that_block_nothing) {
    tra_arena *a = tra_arena_new();
    EACH_CODEC(c) {
        /* keys 0 and 2 block nothing, key 1 cuts dimension 1, key 3 dimension 0; dimension 2 is whole */
        tra_type t = grid(a, "2x3x4x2", "5x6x3", (int8_t[]){3, 1, -1}, (int64_t[]){4, 2, 3});
        t.cut[0] = 1u << 3;
        t.cut[1] = 1u << 1;
        round_trip("mixed keys", &t, codecs[c], "tensor");
        t = grid(a, "3x4", "", NULL, NULL);
        round_trip("rank 0", &t, codecs[c], "tensor");
        t = grid(a, "", "4x5", (int8_t[]){-1, -1}, (int64_t[]){4, 5});
        round_trip("no keys", &t, codecs[c], "tensor");
        t = grid(a, "0x3", "4", (int8_t[]){-1}, (int64_t[]){4});
        t.cut[0] = 2;
        round_trip("empty", &t, codecs[c], "tensor");
    }
    tra_arena_free(a);
}

TEST(store_tuple_layout) {
    tra_arena *a = tra_arena_new();
    EACH_CODEC(c) {
        tra_type t = grid(a, "3x2", "4x5", (int8_t[]){0, -1}, (int64_t[]){2, 5});
        t.cut[0] = 3; /* two keys cut dimension 0 */
        round_trip("two keys cut a dimension", &t, codecs[c], "tuple");
        t = grid(a, "3x2", "4x5", (int8_t[]){0, 1}, (int64_t[]){2, 5});
        t.cut[0] = t.cut[1] = 1;
        round_trip("a key cuts two dimensions", &t, codecs[c], "tuple");
    }
    tra_arena_free(a);
}

static tra_type listed(tra_arena *a, int k, int r, int n, const int64_t *keys, const int64_t *ext) {
    tra_catbuilder *b = tra_catbuilder_new(k, r);
    tra_catalog *c = tra_new(a, tra_catalog);
    tra_err e = {0};
    for (int i = 0; i < n; i++) {
        tra_dims key = {.n = k}, x = {.n = r};
        for (int d = 0; d < k; d++) key.v[d] = keys[i * k + d];
        for (int d = 0; d < r; d++) x.v[d] = ext[i * r + d];
        CHECK_OK(tra_catbuilder_add(b, &key, &x, i, &e), e);
    }
    CHECK_OK(tra_catbuilder_finish(b, a, c, NULL, &e), e);
    return (tra_type){.dtype = TRA_F64, .cat = c};
}

/* A table in which all extents differ, as a made-up file may have it. */
TEST(store_as_many_extents_as_tuples) {
    enum { N = 30000, RANK = 15 }; /* extents of 0 and 1: one element in a chunk */
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    tra_catalog *c = tra_new(a, tra_catalog);
    tra_catbuilder *b = tra_catbuilder_new(1, RANK);
    for (int64_t i = 0; i < N; i++) {
        tra_dims key = {1, {i}}, ext = {.n = RANK};
        for (int d = 0; d < RANK; d++) ext.v[d] = (i + 1) >> d & 1;
        CHECK_OK(tra_catbuilder_add(b, &key, &ext, i, &e), e);
    }
    CHECK_OK(tra_catbuilder_finish(b, a, c, NULL, &e), e);
    tra_type t = {.dtype = TRA_F64, .cat = c};
    CHECK_OK(write_all(at("extents.h5"), &t, "none", &e), e);
    double begin = check_seconds();
    CHECK_OK(tra_rel_open(at("extents.h5"), NULL, &r, &e), e);
    CHECK(check_seconds() - begin < 1); /* about 0.03; a look at all extents for each tuple takes 8 s */
    CHECK(same_catalog(tra_rel_type(r)->cat, c));
    tra_rel_close(r);
    tra_arena_free(a);
}

TEST(store_holes) {
    tra_arena *a = tra_arena_new();
    EACH_CODEC(c) {
        tra_type t = listed(a, 2, 2, 4, (int64_t[]){0, 0, 0, 2, 1, 1, 2, 0}, (int64_t[]){4, 3, 4, 2, 4, 3, 1, 3});
        t.cut[0] = 1;
        t.cut[1] = 2;
        round_trip("a tensor with holes", &t, codecs[c], "tensor");
        t = listed(a, 2, 2, 3, (int64_t[]){0, 1, 5, 0, 2, 2}, (int64_t[]){4, 3, 1, 7, 2, 2});
        round_trip("arrays of all sizes", &t, codecs[c], "tuple");
        t = listed(a, 2, 1, 3, (int64_t[]){0, 1, 5, 0, 2, 2}, (int64_t[]){4, 4, 0});
        round_trip("an empty array", &t, codecs[c], "tuple");
        t = listed(a, 1, 1, 3, (int64_t[]){7, 1000000, 50000000}, (int64_t[]){4, 4, 4});
        round_trip("far apart", &t, codecs[c], "tensor");
        t = listed(a, 2, 2, 0, NULL, NULL);
        t.cut[0] = 1;
        t.cut[1] = 2;
        tra_err e = {0};
        CHECK_OK(write_all(at("none.h5"), &t, codecs[c], &e), e);
    }
    CHECK_INT(leftovers(), 0);
    tra_arena_free(a);
}

/* Drops the tables; then the keys must be found by asking the index. */
TEST(store_holes_without_tables) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    const char *path = at("notables.h5");
    tra_type t = listed(a, 2, 2, 4, (int64_t[]){0, 0, 0, 2, 1, 1, 2, 0}, (int64_t[]){4, 3, 4, 2, 4, 3, 1, 3});
    t.cut[0] = 1;
    t.cut[1] = 2;
    CHECK_OK(write_all(path, &t, "none", &e), e);
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(H5Ldelete(f, ".tra", H5P_DEFAULT) >= 0);
    H5Fclose(f);
    tra_h5_leave();
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK(same_catalog(tra_rel_type(r)->cat, t.cat));
    CHECK(!tra_rel_info(r)->checksums);
    CHECK_OK(read_all(r, &e), e);
    tra_rel_close(r);
    tra_arena_free(a);
}

/* Drops the last of the `blocks` chunks of 4 doubles from the index of a dataset. */
static void drop_last(hid_t dset, hsize_t blocks) {
    CHECK(H5Dset_extent(dset, (hsize_t[]){4 * (blocks - 1)}) >= 0);
    CHECK(H5Dset_extent(dset, (hsize_t[]){4 * blocks}) >= 0);
}

/* Chunks of which the tables tell, and the index does not: neither holes nor zeros. */
TEST(store_chunks_that_are_gone) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    const char *path = at("gone.h5");
    double v[4] = {0};
    tra_type all = blocked(a, "12", "4", TRA_F64), holes = listed(a, 1, 1, 2, (int64_t[]){0, 2}, (int64_t[]){4, 4});
    holes.cut[0] = 1;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(write_all(path, i == 0 ? &all : &holes, "none", &e), e);
        tra_h5_enter();
        hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "data", H5P_DEFAULT);
        drop_last(d, 3);
        if (i == 1) /* as many as before: another one in the hole */
            CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, (hsize_t[]){4}, sizeof v, v) >= 0);
        H5Dclose(d), H5Fclose(f);
        tra_h5_leave();
        if (i == 0) {
            CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, "its chunk index is damaged: 2 chunks of 3");
            continue;
        }
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        CHECK_INT(tra_rel_type(r)->cat->n, 2);
        CHECK_OK(tra_rel_read(r, 0, v, NULL, &e), e);
        CHECK_FAILS(tra_rel_read(r, 1, v, NULL, &e), TRA_INPUT, e, "chunk <2> of ");
        CHECK(tra_rel_read(r, 1, v, NULL, &e) == TRA_INPUT && strstr(e.msg, "it is not in the file's index"));
        tra_rel_close(r);
    }
    tra_arena_free(a);
}

TEST(store_several_relations_in_a_file) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r, *q;
    const char *path = at("many.h5");
    char spec[4][300];
    tra_type t = blocked(a, "20x30", "7x8", TRA_F64), u = blocked(a, "9", "4", TRA_F32);
    snprintf(spec[0], 300, "%s:one", path);
    snprintf(spec[1], 300, "%s:g/two", path);
    snprintf(spec[2], 300, "%s:g/three", path);
    snprintf(spec[3], 300, "%s:g", path);
    CHECK_OK(write_all(spec[0], &t, "none", &e), e);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e); /* the only one */
    CHECK_STR(tra_rel_info(r)->name, "one");
    CHECK_OK(write_all(spec[1], &u, "zstd", &e), e);
    CHECK_OK(write_all(spec[2], &u, "none", &e), e);
    CHECK_OK(write_all(spec[1], &t, "none", &e), e); /* replaces */
    CHECK_OK(read_all(r, &e), e);                    /* the file that was opened is still whole */
    tra_rel_close(r);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tra_rel_open(spec[i], NULL, &r, &e), e);
        CHECK(same_catalog(tra_rel_type(r)->cat, i == 2 ? u.cat : t.cat));
        CHECK(tra_rel_info(r)->checksums);
        CHECK_OK(read_all(r, &e), e);
        tra_rel_close(r);
    }
    CHECK_FAILS(tra_rel_open(path, NULL, &q, &e), TRA_INPUT, e, "several relations: g/three, g/two, one");
    CHECK_FAILS(tra_rel_open(spec[3], NULL, &q, &e), TRA_INPUT, e, "neither a dataset nor");
    CHECK_FAILS(write_all(spec[3], &t, "none", &e), TRA_INPUT, e, "g is not a relation");
    snprintf(spec[3], 300, "%s:one/more", path);
    CHECK_FAILS(write_all(spec[3], &t, "none", &e), TRA_INPUT, e, "one is not a group");
    snprintf(spec[3], 300, "%s:.tra/x", path);
    CHECK_FAILS(write_all(spec[3], &t, "none", &e), TRA_INPUT, e, "cannot name a relation");
    CHECK_INT(leftovers(), 0);
    tra_arena_free(a);
}

/* Two outputs of one program to one file, written at the same time. */
TEST(store_two_writers_of_one_file) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    tra_writer *w[2];
    tra_write_options o = {.codec = {.level = 1}};
    const char *path = at("two.h5");
    char spec[2][300];
    tra_type t = blocked(a, "4", "2", TRA_F64);
    double buf[4], scratch[64];
    for (int i = 0; i < 2; i++) {
        snprintf(spec[i], 300, "%s:r%d", path, i);
        CHECK_OK(tra_writer_create(spec[i], &t, &o, &w[i], &e), e);
    }
    for (int i = 0; i < 2; i++) {
        for (int64_t j = 0; j < 2; j++) {
            make_array(&t, j, buf);
            CHECK_OK(tra_writer_put(w[i], j, buf, scratch, &e), e);
        }
    }
    for (int i = 0; i < 2; i++) CHECK_OK(tra_writer_commit(w[i], NULL, &e), e);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tra_rel_open(spec[i], NULL, &r, &e), e);
        CHECK_OK(read_all(r, &e), e);
        CHECK(!tra_rel_info(r)->history && !tra_rel_info(r)->digest);
        tra_rel_close(r);
    }
    CHECK_INT(leftovers(), 0);
    tra_arena_free(a);
}

TEST(store_same_calls_same_bytes) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    EACH_CODEC(c) {
        const char *path = at("bytes.h5");
        size_t n[2];
        char *s[2], spec[300];
        tra_type t = blocked(a, "70x90", "16x16", TRA_F64);
        snprintf(spec, sizeof spec, "%s:other", path);
        for (int i = 0; i < 2; i++) {
            unlink(path);
            CHECK_OK(write_all(path, &t, codecs[c], &e), e);
            CHECK_OK(write_all(spec, &t, "none", &e), e);
            s[i] = slurp(path, &n[i]);
            if (!i) sleep(1); /* times of day must not get in */
        }
        CHECK_INT(n[0], n[1]);
        CHECK(n[0] == n[1] && memcmp(s[0], s[1], n[0]) == 0);
        free(s[0]);
        free(s[1]);
    }
    tra_arena_free(a);
}

/* ---- digests ----------------------------------------------------------------------------------------------------- */

static void one_array(tra_arena *a, int n, const double *v, tra_dtype dtype, char text[33]) {
    char shape[16];
    float f[16];
    tra_digest d = {0};
    snprintf(shape, sizeof shape, "%d", n);
    tra_type t = blocked(a, shape, "100", dtype);
    for (int i = 0; i < n; i++) f[i] = (float)v[i];
    tra_digest_array(&d, &t, 0, dtype == TRA_F64 ? (const void *)v : f);
    tra_digest_text(&d, &t, text);
}

TEST(digest_of_values) {
    tra_arena *a = tra_arena_new();
    for (tra_dtype t = TRA_F64; t <= TRA_F32; t++) {
        char x[33], y[33];
        one_array(a, 4, (double[]){0.0, 1, NAN, -2}, t, x);
        one_array(a, 4, (double[]){-0.0, 1, -NAN, -2}, t, y);
        CHECK_STR(x, y);
        CHECK_INT(strlen(x), 32);
        one_array(a, 4, (double[]){0, 1, NAN, 2}, t, y);
        CHECK(strcmp(x, y) != 0);
        one_array(a, 4, (double[]){0, 1, INFINITY, -2}, t, y);
        CHECK(strcmp(x, y) != 0);
        one_array(a, 4, (double[]){1, 0, NAN, -2}, t, y);
        CHECK(strcmp(x, y) != 0);
        one_array(a, 5, (double[]){0, 1, NAN, -2, 0}, t, y);
        CHECK(strcmp(x, y) != 0);
        one_array(a, 4, (double[]){0, 1, NAN, -2}, 1 - t, y);
        CHECK(strcmp(x, y) != 0);
    }
    char x[33];
    one_array(a, 3, (double[]){1, 2, 3}, TRA_F64, x); /* the digest is a format: it must not change */
    CHECK_STR(x, "ec6d64b42b3c8e8ca99b609800e91917");
    tra_arena_free(a);
}

/* The same tensor in other blocks: every way to walk an array must count its elements alike. */
TEST(digest_is_independent_of_blocks) {
    static const char *const blocks[] = {"12x10x9", "5x10x9", "5x3x9", "5x3x2", "1x1x1", "12x1x9", "12x10x1"};
    char first[33], text[33];
    tra_arena *a = tra_arena_new();
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        for (int hole = 0; hole < 2; hole++) {
            tra_type t = blocked(a, "12x10x9", blocks[b], TRA_F64);
            tra_digest d = {0};
            double *buf = room(&t);
            for (int64_t i = t.cat->n - 1; i >= 0; i--) {
                tra_dims key, ext, off, x;
                int64_t j = 0;
                bool zero = true;
                tra_catalog_key(t.cat, i, &key);
                tra_catalog_ext(t.cat, i, &ext);
                tra_type_offset(&t, &key, &off);
                x = (tra_dims){.n = 3};
                do {
                    int64_t at = ((off.v[0] + x.v[0]) * 10 + off.v[1] + x.v[1]) * 9 + off.v[2] + x.v[2];
                    buf[j] = at < 500 ? 0 : (double)(at % 97) - 5;
                    zero = zero && buf[j] == 0;
                    j++;
                } while (tra_next(&ext, &x));
                if (!hole || !zero) tra_digest_array(&d, &t, i, buf);
            }
            free(buf);
            tra_digest_text(&d, &t, b + (size_t)hole ? text : first);
            if (b + (size_t)hole) CHECK_STR(text, first);
        }
    }
    tra_arena_free(a);
}

/* ---- past the page cache ----------------------------------------------------------------------------------------- */

TEST(large_chunks_can_be_read_past_the_page_cache) {
    tra_arena *a = tra_arena_new();
    const struct {
        const char *shape, *block, *codec;
        bool whole;                                    /* <0,0> can be read so */
    } cases[] = {{"600x500", "300x250", "none", true}, /* 600000 bytes: 146 pages and a part of one */
                 {"1024x512", "512x256", "none", true},
                 {"512x128", "256x64", "none", false}, /* small */
                 {"600x500", "300x250", "zstd", false}};
    void *buf = aligned_alloc(4096, 2 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tra_type t = blocked(a, cases[i].shape, cases[i].block, TRA_F64);
        tra_err e = {0};
        tra_rel *r;
        CHECK_OK(write_all(at("direct.h5"), &t, cases[i].codec, &e), e);
        CHECK_OK(tra_rel_open(at("direct.h5"), NULL, &r, &e), e);
        CHECK(!tra_rel_can_read_direct(r, 0)); /* where its chunks are is not known yet */
        CHECK_OK(read_all(r, &e), e);
        CHECK(!tra_rel_can_read_direct(r, 0)); /* the page cache has it */
        leave_page_cache(at("direct.h5"));
        int fd = open(at("direct.h5"), O_RDONLY | O_DIRECT); /* not all file systems do */
        for (int k = 0; k < 100 && cases[i].whole && fd >= 0 && !tra_rel_can_read_direct(r, 0); k++) {
            usleep(20000); /* pages that others use at the moment stay */
            leave_page_cache(at("direct.h5"));
        }
        CHECK(tra_rel_can_read_direct(r, 0) == (cases[i].whole && fd >= 0));
        if (fd >= 0) close(fd);
        for (int64_t o = 0; o < t.cat->n && tra_rel_can_read_direct(r, o); o++) {
            memset(buf, 0xff, 2 << 20);
            CHECK_OK(tra_rel_read_direct(r, o, buf, &e), e);
            CHECK(same_array(&t, o, buf));
            CHECK(((unsigned char *)buf)[tra_catalog_elements_of(t.cat, o) * 8] == 0xff); /* nothing beyond the array */
        }
        tra_rel_close(r);
    }
    /* of arrays that are smaller than their chunks, the whole ones alone; and damage is found this way too */
    tra_type t = blocked(a, "700x300", "300x300", TRA_F64);
    tra_err e = {0};
    tra_rel *r;
    CHECK_OK(write_all(at("direct.h5"), &t, "none", &e), e);
    CHECK_OK(tra_rel_open(at("direct.h5"), NULL, &r, &e), e);
    CHECK_OK(tra_rel_read(r, 0, buf, (char *)buf + (1 << 20), &e), e);
    leave_page_cache(at("direct.h5"));
    if (tra_rel_can_read_direct(r, 0)) {
        CHECK(tra_rel_can_read_direct(r, 1) && !tra_rel_can_read_direct(r, 2));
        int fd = open(at("direct.h5"), O_WRONLY);
        CHECK(pwrite(fd, "damaged", 7, lseek(fd, 0, SEEK_END) - 900000) == 7); /* the last two chunks take 1440000 */
        close(fd);
        e = (tra_err){0};
        CHECK_FAILS(tra_rel_read_direct(r, 1, buf, &e), TRA_INPUT, e, "checksum");
    }
    tra_rel_close(r);
    free(buf);
    tra_arena_free(a);
}
