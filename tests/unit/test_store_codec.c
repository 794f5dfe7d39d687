/* test_store_codec.c - codecs of files: their names, and that HDF5 reads what they make. */
#include "store_util.h"

#include <hdf5.h>
#include <math.h>

TEST(codec_names) {
    tra_codec c;
    CHECK(tra_codec_parse("none", &c) && !c.zstd);
    CHECK(tra_codec_parse("zstd", &c) && c.zstd && c.level == 1);
    CHECK(tra_codec_parse("zstd:19", &c) && c.level == 19);
    static const char *const bad[] = {"", "gzip", "zstd:", "zstd:0", "zstd:20", "zstd:1x", "zstd1", "none:1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) CHECK(!tra_codec_parse(bad[i], &c));
}

/* Smooth, sparse and random chunks: each its own way through the filters; HDF5's own pipeline must read them all. */
TEST(codec_agrees_with_hdf5) {
    enum { N = 40000 };
    tra_arena *a = tra_arena_new();
    for (tra_dtype dt = TRA_F64; dt <= TRA_F32; dt++) {
        tra_err e = {0};
        const char *path = at("pipeline.h5");
        tra_type t = blocked(a, "159999", "40000", dt);
        tra_write_options o = {.codec = {.zstd = true, .level = 1}};
        tra_writer *w;
        double *v = calloc(4 * N, 8), *back = calloc(4 * N, 8);
        float *f = calloc(4 * N, 4);
        uint64_t x = 88172645463325252u;
        uint32_t masks[4];
        for (int i = 0; i < 4 * N - 1; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            if (i / N == 0 || i / N == 3)
                v[i] = sin(i * 1e-3);
            else if (i / N == 1)
                v[i] = x % 40 == 0 ? (double)(x >> 40) / 1024 : 0;
            else if (dt == TRA_F64)
                memcpy(&v[i], &(uint64_t){(x & ~(0x7ffULL << 52)) | 0x3ffULL << 52}, 8);
            f[i] = (float)v[i];
            if (i / N == 2 && dt == TRA_F32) memcpy(&f[i], &(uint32_t){(uint32_t)(x >> 16) & 0xbfffffff}, 4);
        }
        unlink(path);
        CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
        size_t max = (size_t)tra_store_chunk_bytes(&t);
        char *scratch = malloc((size_t)tra_codec_scratch(&t)), *chunk = malloc(max), *out = malloc(max);
        for (int64_t i = 0; i < 4; i++) {
            tra_encoded enc;
            int64_t addr;
            const void *data = dt == TRA_F64 ? (void *)(v + i * N) : (void *)(f + i * N);
            memcpy(chunk, data, max);
            CHECK_OK(tra_writer_encode(w, i, chunk, scratch, tra_encoded_keep, out, &enc, &e), e);
            CHECK(enc.len > 0 && (size_t)enc.len <= max);
            masks[i] = enc.mask;
            CHECK_OK(tra_writer_allocate(w, i, &enc, &addr, &e), e);
            CHECK_OK(tra_writer_write_at(w, addr, out, enc.len, &e), e);
        }
        CHECK_OK(tra_writer_commit(w, NULL, &e), e);
        CHECK_INT(masks[0], 0); /* shuffle and zstd */
        CHECK_INT(masks[1], 1); /* zstd alone */
        CHECK_INT(masks[3], 0);
        if (dt == TRA_F32) CHECK_INT(masks[2], 3); /* raw */
        tra_h5_enter();
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(file, "data", H5P_DEFAULT);
        CHECK(H5Dread(d, dt == TRA_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >=
              0);
        H5Dclose(d);
        H5Fclose(file);
        tra_h5_leave();
        CHECK(memcmp(back, dt == TRA_F64 ? (void *)v : (void *)f, (4 * N - 1) * tra_dtype_size(dt)) == 0);
        tra_rel *r;
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        char *rs = malloc(tra_rel_scratch_bytes(r));
        for (int64_t i = 0; i < 4; i++) {
            CHECK_OK(tra_rel_read(r, i, back, rs, &e), e);
            size_t n = (size_t)tra_catalog_elements_of(t.cat, i) * tra_dtype_size(dt);
            CHECK(memcmp(back, dt == TRA_F64 ? (char *)(v + i * N) : (char *)(f + i * N), n) == 0);
        }
        tra_rel_close(r);
        free(rs), free(scratch), free(chunk), free(out), free(v), free(f), free(back);
    }
    tra_arena_free(a);
}
