/* test_store_foreign.c - reading HDF5 files of other programs: their types, layouts, filters and links. */
#include "store_util.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <sys/wait.h>

/* ---- foreign files ----------------------------------------------------------------------------------------------- */

/* Writes v (9 x 10 doubles) as an HDF5 dataset, chunked (chunk > 0) or not, of the given type, perhaps gzipped. */
static void foreign_file(const char *path, hid_t type, int chunk, bool gzip, const double *v) {
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(fcpl, 512); /* as MATLAB does */
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, H5P_DEFAULT);
    H5Pclose(fcpl);
    hsize_t any[] = {H5S_UNLIMITED, H5S_UNLIMITED}; /* so that chunks may be larger */
    hid_t space = H5Screate_simple(2, (hsize_t[]){9, 10}, chunk ? any : NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk) H5Pset_chunk(p, 2, (hsize_t[]){(hsize_t)chunk, (hsize_t)chunk});
    if (gzip) H5Pset_deflate(p, 1);
    H5Pset_fill_value(p, H5T_NATIVE_DOUBLE, &(double){3.5});
    hid_t d = H5Dcreate2(f, "x", type, space, H5P_DEFAULT, p, H5P_DEFAULT);
    if (v) CHECK(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0);
    H5Dclose(d);
    H5Sclose(space);
    H5Pclose(p);
    H5Fclose(f);
}

TEST(store_foreign_datasets) {
    const char *path = at("foreign.h5");
    double v[90], scratch[1024];
    const unsigned char *used = (const unsigned char *)scratch;
    char buf[90 * sizeof(double)];
    tra_err e = {0};
    tra_dims block = {.n = 2, .v = {4, 3}};
    for (int i = 0; i < 90; i++) v[i] = i;
    tra_h5_enter();
    const struct {
        hid_t type;
        tra_dtype dtype;
    } cases[] = {
        {H5T_IEEE_F64LE, TRA_F64},     {H5T_IEEE_F64BE, TRA_F64}, {H5T_IEEE_F32LE, TRA_F32}, {H5T_IEEE_F32BE, TRA_F32},
        {H5T_NATIVE_LDOUBLE, TRA_F64}, {H5T_STD_I8LE, TRA_I32},   {H5T_STD_U8LE, TRA_I32},   {H5T_STD_I16BE, TRA_I32},
        {H5T_STD_U16LE, TRA_I32},      {H5T_STD_I32LE, TRA_I32},  {H5T_STD_I32BE, TRA_I32},  {H5T_STD_U32LE, TRA_I64},
        {H5T_STD_U32BE, TRA_I64},      {H5T_STD_I64LE, TRA_I64},  {H5T_STD_I64BE, TRA_I64},  {H5T_STD_U64LE, TRA_I64},
        {H5T_STD_U64BE, TRA_I64},
    };
    tra_h5_leave();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* contiguous, with blocks; chunked; chunk as large as the dataset in one dimension; gzip; larger in both */
        for (int how = 0; how < 5; how++) {
            tra_rel *r;
            tra_h5_enter();
            foreign_file(path, cases[i].type, how == 0 ? 0 : how == 2 ? 9 : how == 4 ? 12 : 4, how == 3, v);
            tra_h5_leave();
            CHECK_OK(tra_rel_open(path, how == 0 ? &block : NULL, &r, &e), e);
            const tra_type *t = tra_rel_type(r);
            CHECK_INT(t->dtype, cases[i].dtype);
            CHECK(tra_type_is_blocked(t, NULL));
            CHECK(tra_rel_info(r)->foreign && !tra_rel_info(r)->checksums);
            CHECK(tra_rel_scratch_bytes(r) <= sizeof scratch);
            size_t need = tra_rel_scratch_bytes(r);
            memset(scratch, 0xee, sizeof scratch);
            CHECK_INT(t->cat->n, how == 0 ? 12 : how == 2 ? 2 : how == 4 ? 1 : 9);
            for (int64_t o = 0; o < t->cat->n; o++) {
                tra_dims key, ext, off, x = {.n = 2};
                int64_t j = 0;
                tra_catalog_key(t->cat, o, &key);
                tra_catalog_ext(t->cat, o, &ext);
                tra_type_offset(t, &key, &off);
                CHECK_OK(tra_rel_read(r, o, buf, scratch, &e), e);
                do {
                    double got = 0;
                    switch (t->dtype) {
#define X(id, text, ctype, ...)                                                                                        \
    case TRA_##id: got = (double)((ctype *)(void *)buf)[j]; break;
                        TRA_DTYPES(X)
#undef X
                    }
                    CHECK_NEAR(got, v[(off.v[0] + x.v[0]) * 10 + off.v[1] + x.v[1]], 0);
                    j++;
                } while (tra_next(&ext, &x));
            }
            while (need < sizeof scratch && used[need] == 0xee) need++; /* nothing beyond what was asked for */
            CHECK_INT(need, sizeof scratch);
            tra_rel_close(r);
        }
    }
    /* what was never written holds the fill value: a chunk, raw or gzipped, or the whole of a contiguous dataset */
    for (int how = 0; how < 3; how++) {
        tra_rel *r;
        tra_h5_enter();
        foreign_file(path, H5T_IEEE_F64LE, how < 2 ? 4 : 0, how == 1, NULL);
        tra_h5_leave();
        CHECK_OK(tra_rel_open(path, &(tra_dims){.n = 2, .v = {4, 4}}, &r, &e), e);
        CHECK_INT(tra_rel_type(r)->cat->n, 9);
        CHECK_OK(tra_rel_read(r, 8, buf, scratch, &e), e);
        CHECK_NEAR(((double *)(void *)buf)[0], 3.5, 0);
        CHECK_NEAR(((double *)(void *)buf)[1], 3.5, 0);
        tra_rel_close(r);
    }
    /* the same of integers: 3.5 is 3 in them, whatever their width in the file */
    const hid_t whole[] = {H5T_STD_I32LE, H5T_STD_U8LE, H5T_STD_U64LE, H5T_STD_I64BE};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        tra_rel *r;
        tra_h5_enter();
        foreign_file(path, whole[i], 4, false, NULL);
        tra_h5_leave();
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        CHECK_OK(tra_rel_read(r, 8, buf, scratch, &e), e);
        bool small = tra_dtype_size(tra_rel_type(r)->dtype) == sizeof(int32_t);
        CHECK_INT(small ? ((int32_t *)(void *)buf)[1] : ((int64_t *)(void *)buf)[1], 3);
        tra_rel_close(r);
    }
    tra_rel *r;
    block.n = 1;
    tra_h5_enter();
    foreign_file(path, H5T_IEEE_F64LE, 0, false, v);
    tra_h5_leave();
    CHECK_FAILS(tra_rel_open(path, &block, &r, &e), TRA_USAGE, e, "block 4 has 1 dimension, but");
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), s = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Dclose(H5Dcreate2(f, "text", s, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(f, "null", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Tclose(s);
    H5Fclose(f);
    tra_h5_leave();
    char spec[300];
    snprintf(spec, sizeof spec, "%s:text", path);
    CHECK_FAILS(tra_rel_open(spec, NULL, &r, &e), TRA_INPUT, e, "string type");
    snprintf(spec, sizeof spec, "%s:null", path);
    CHECK_FAILS(tra_rel_open(spec, NULL, &r, &e), TRA_INPUT, e, "no elements");
    snprintf(spec, sizeof spec, "%s:nix", path);
    CHECK_FAILS(tra_rel_open(spec, NULL, &r, &e), TRA_INPUT, e, "has no dataset nix; it holds null, x");
}

/* 3 x 4 elements of a type, of which memory holds mem; contiguous or in chunks. */
static void small_file(const char *path, hid_t type, hid_t mem, bool chunked, const void *v) {
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), p = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, (hsize_t[]){3, 4}, NULL);
    if (chunked) H5Pset_chunk(p, 2, (hsize_t[]){2, 3});
    hid_t d = H5Dcreate2(f, "x", type, space, H5P_DEFAULT, p, H5P_DEFAULT);
    CHECK(H5Dwrite(d, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0);
    H5Dclose(d);
    H5Sclose(space);
    H5Pclose(p);
    H5Fclose(f);
}

/* All elements of its tuples, from path; the first failure ends it. */
static tra_status read_small(const char *path, bool keep_u64, uint64_t *sum, tra_err *e) {
    tra_rel *r;
    uint64_t buf[12];
    char scratch[512];
    *sum = 0;
    TRA_TRY(tra_rel_open(path, NULL, &r, e));
    if (keep_u64) CHECK(tra_rel_keep_u64(r));
    const tra_type *t = tra_rel_type(r);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        s = tra_rel_read(r, i, buf, scratch, e);
        int64_t n = tra_catalog_elements_of(t->cat, i);
        for (int64_t j = 0; j < n; j++)
            *sum += t->dtype == TRA_BOOL  ? ((unsigned char *)buf)[j]
                    : t->dtype == TRA_I32 ? ((uint32_t *)buf)[j]
                                          : buf[j];
    }
    tra_rel_close(r);
    return s;
}

/* Where i64 ends: in the file's own bytes, turned ones, and those the library reads; the element is named. */
TEST(store_unsigned_beyond_i64) {
    const char *path = at("u64.h5");
    tra_err e = {0};
    for (int big = 0; big < 2; big++) {
        for (int chunked = 0; chunked < 2; chunked++) {
            uint64_t v[12] = {[11] = INT64_MAX}, sum;
            for (int over = 0; over < 2; over++) {
                if (over) v[7] = (uint64_t)1 << 63 | 5;
                tra_h5_enter();
                small_file(path, big ? H5T_STD_U64BE : H5T_STD_U64LE, H5T_NATIVE_UINT64, chunked, v);
                tra_h5_leave();
                if (!over) CHECK_OK(read_small(path, false, &sum, &e), e);
                if (over)
                    CHECK_FAILS(read_small(path, false, &sum, &e), TRA_INPUT, e,
                                ":x: element [1,3] is 9223372036854775813");
                if (!over) CHECK(sum == INT64_MAX);
                CHECK_OK(read_small(path, true, &sum, &e), e);
                CHECK(sum == v[11] + v[7]);
            }
        }
    }
}

/* h5py's, with members in any order; other enumerations are numbers. A byte that is no member is none. */
TEST(store_booleans_of_others) {
    const char *path = at("bool.h5");
    static const struct {
        const char *name[3];
        int8_t value[3];
        int members;
    } cases[] = {{{"FALSE", "TRUE"}, {0, 1}, 2},
                 {{"TRUE", "FALSE"}, {1, 0}, 2},
                 {{"FALSE", "TRUE"}, {1, 0}, 2},
                 {{"NO", "YES"}, {0, 1}, 2},
                 {{"FALSE", "TRUE", "MAYBE"}, {0, 1, 2}, 3},
                 {{"FALSE"}, {0}, 1}};
    int8_t v[12] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    uint64_t sum;
    tra_err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tra_h5_enter();
        hid_t type = H5Tenum_create(i == 1 ? H5T_STD_U8BE : H5T_NATIVE_INT8);
        for (int m = 0; m < cases[i].members; m++) H5Tenum_insert(type, cases[i].name[m], &cases[i].value[m]);
        small_file(path, type, type, i % 2, v);
        H5Tclose(type);
        tra_h5_leave();
        CHECK_OK(read_small(path, false, &sum, &e), e);
        CHECK_INT(sum, 3);
    }
    v[6] = 2;
    for (int chunked = 0; chunked < 2; chunked++) {
        tra_h5_enter();
        hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
        for (int m = 0; m < 2; m++) H5Tenum_insert(type, cases[0].name[m], &cases[0].value[m]);
        small_file(path, type, type, chunked, v);
        H5Tclose(type);
        tra_h5_leave();
        CHECK_FAILS(read_small(path, false, &sum, &e), TRA_INPUT, e,
                    "element [1,2] of booleans is neither 0 nor 1 but 2");
    }
}

TEST(store_layout_of_an_extent_of_0) {
    tra_arena *a = tra_arena_new();
    tra_dims dims, chunk;
    bool tuple;
    tra_type t = grid(a, "0x3", "4x5", NULL, NULL);
    t.cut[0] = 1;
    t.cut[1] = 2;
    tra_store_layout(&t, &dims, &chunk, &tuple);
    CHECK(!tuple && dims.n == 2 && dims.v[0] == 0 && dims.v[1] == 15 && chunk.v[0] == 1 && chunk.v[1] == 5);
    tra_arena_free(a);
}

/* The part of an edge chunk that lies outside the tensor is zero, whatever was in the scratch memory. */
TEST(store_edge_chunks_are_padded_with_zeros) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const char *path = at("edge.h5");
    tra_type t = blocked(a, "5x4", "3x3", TRA_F64);
    tra_write_options o = {.codec = {.level = 1}};
    tra_writer *w;
    double buf[9], scratch[64];
    CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
    for (int64_t i = 0; i < 4; i++) {
        for (int j = 0; j < 9; j++) buf[j] = j + 1;
        memset(scratch, 0x77, sizeof scratch);
        CHECK(tra_writer_scratch_bytes(w) <= sizeof scratch);
        CHECK_OK(tra_writer_put(w, i, buf, scratch, &e), e);
    }
    CHECK_OK(tra_writer_commit(w, NULL, &e), e);
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, "data", H5P_DEFAULT);
    uint32_t mask;
    CHECK(H5Dread_chunk(d, H5P_DEFAULT, (hsize_t[]){3, 3}, &mask, buf) >= 0);
    H5Dclose(d);
    H5Fclose(f);
    tra_h5_leave();
    static const double want[9] = {1, 0, 0, 2, 0, 0, 0, 0, 0};
    CHECK(memcmp(buf, want, sizeof want) == 0);
    tra_arena_free(a);
}

TEST(store_names_of_relations) {
    tra_arena *a = tra_arena_new();
    const char *path, *name;
    write_bytes(at("x:y.h5"), "", 0);
    tra_relspec(a, at("x:y.h5"), &path, &name);
    CHECK(!name);
    tra_relspec(a, "a.h5", &path, &name);
    CHECK_STR(path, "a.h5");
    CHECK(!name);
    tra_relspec(a, "b:a.h5:g/n", &path, &name);
    CHECK_STR(path, "b:a.h5");
    CHECK_STR(name, "g/n");
    tra_relspec(a, "a.h5:", &path, &name);
    CHECK(!name);
    tra_arena_free(a);
}

TEST(store_identity_tells_files_apart) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    const char *path = at("identity.h5");
    tra_type t = blocked(a, "30x30", "8x8", TRA_F64);
    CHECK_OK(write_all(path, &t, "none", &e), e);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    const char *first = tra_rel_identity(r, a);
    CHECK_STR(tra_rel_identity(r, a), first);
    tra_rel_close(r);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK_STR(tra_rel_identity(r, a), first);
    tra_rel_close(r);
    t = blocked(a, "30x30", "8x7", TRA_F64);
    CHECK_OK(write_all(path, &t, "none", &e), e);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK(strcmp(tra_rel_identity(r, a), first) != 0);
    tra_rel_close(r);
    tra_arena_free(a);
}

/* Where nobody waits for orphans, as in containers, a rank that was killed stays a zombie. */
TEST(a_zombie_holds_no_lock) {
    const char *path = at("locked.h5");
    bool first;
    tra_err e = {0};
    pid_t pid = fork();
    if (pid == 0) _exit(tra_lock_take(path, path, &first, &e) == TRA_OK ? 0 : 1); /* and leaves the lock */
    siginfo_t end;
    CHECK(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) == 0 && end.si_status == 0);
    CHECK_OK(tra_lock_take(path, path, &first, &e), e);
    CHECK(first);
    tra_lock_drop(path);
    waitpid(pid, NULL, 0);
}
