/* test_store_faults.c - files of relations that are damaged, or that another program has rewritten. */
#include "store_util.h"

#include <fcntl.h>
#include <hdf5.h>

/* ---- damage
 * -------------------------------------------------------------------------------------------------------------------
 */

static int64_t find_bytes(const char *s, size_t n, const void *what, size_t len) {
    const char *p = memmem(s, n, what, len);
    return p ? p - s : -1;
}

TEST(store_damaged_chunk_is_named) {
    tra_arena *a = tra_arena_new();
    EACH_CODEC(c) {
        tra_err e = {0};
        tra_rel *r;
        const char *path = at("damaged.h5");
        char spec[300];
        tra_type t = blocked(a, "64x64", "16x16", TRA_F64);
        unlink(path);
        snprintf(spec, sizeof spec, "%s:A", path);
        CHECK_OK(write_all(spec, &t, codecs[c], &e), e);
        /* the bytes of tuple 6, <1,2>, as they are stored */
        tra_writer *w;
        tra_write_options o = {0};
        tra_encoded enc;
        double buf[256];
        CHECK(tra_codec_parse(codecs[c], &o.codec));
        make_array(&t, 6, buf);
        CHECK_OK(tra_writer_create(at("other.h5"), &t, &o, &w, &e), e);
        char *scratch = malloc((size_t)tra_codec_scratch(&t)), coded[sizeof buf], *stored = (char *)buf;
        if (o.codec.zstd) {
            stored = coded;
            CHECK_OK(tra_writer_encode(w, 6, buf, scratch, tra_encoded_keep, coded, &enc, &e), e);
        } else {
            enc.len = sizeof buf;
        }
        tra_writer_abort(w);
        size_t n;
        char *s = slurp(path, &n);
        int64_t where = find_bytes(s, n, stored, (size_t)enc.len);
        CHECK(where > 0);
        s[where + enc.len - 9] ^= 4;
        write_bytes(path, s, n);
        CHECK_OK(tra_rel_open(spec, NULL, &r, &e), e);
        CHECK_FAILS(read_all(r, &e), TRA_INPUT, e, "chunk <1,2> of ");
        char *rs = malloc(tra_rel_scratch_bytes(r) + 1);
        CHECK_FAILS(tra_rel_read(r, 6, buf, rs, &e), TRA_INPUT, e, "damaged.h5:A is damaged");
        CHECK_OK(tra_rel_read(r, 7, buf, rs, &e), e);
        tra_rel_close(r);
        free(s), free(rs), free(scratch);
    }
    CHECK_INT(leftovers(), 0);
    tra_arena_free(a);
}

TEST(store_no_relation_at_all) {
    tra_err e = {0};
    tra_rel *r;
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "64x64", "16x16", TRA_F64);
    CHECK_FAILS(tra_rel_open(at("absent.h5"), NULL, &r, &e), TRA_INPUT, e, "No such file");
    CHECK_FAILS(tra_rel_open(dir, NULL, &r, &e), TRA_INPUT, e, "not a regular file");
    write_bytes(at("text.h5"), "1,2,3\n", 6);
    CHECK_FAILS(tra_rel_open(at("text.h5"), NULL, &r, &e), TRA_INPUT, e, "not an HDF5 file");
    CHECK_FAILS(write_all(at("text.h5:x"), &t, "none", &e), TRA_INPUT, e, "no HDF5 file; it is not replaced");
    CHECK_OK(write_all(at("text.h5"), &t, "none", &e), e); /* as a whole it is */
    write_bytes(at("zero.h5"), "", 0);
    CHECK_FAILS(tra_rel_open(at("zero.h5"), NULL, &r, &e), TRA_INPUT, e, "not an HDF5 file");
    CHECK_OK(write_all(at("zero.h5"), &t, "none", &e), e); /* what mktemp leaves is replaced */
    CHECK_FAILS(write_all(at("nowhere/x.h5"), &t, "none", &e), TRA_INPUT, e, "there is no directory");
    tra_h5_enter();
    H5Fclose(H5Fcreate(at("empty.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    tra_h5_leave();
    CHECK_FAILS(tra_rel_open(at("empty.h5"), NULL, &r, &e), TRA_INPUT, e, "holds no relation");
    tra_arena_free(a);
}

/* A file cut at any length is refused or lacks chunks that are then named. */
TEST(store_truncated) {
    tra_err e = {0};
    tra_rel *r;
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "20x20", "8x8", TRA_F64);
    const char *path = at("whole.h5"), *cut = at("cut.h5");
    size_t n;
    CHECK_OK(write_all(path, &t, "zstd", &e), e);
    char *s = slurp(path, &n);
    for (size_t len = 0; len < n; len += 97) {
        write_bytes(cut, s, len);
        e = (tra_err){0};
        CHECK_INT(tra_rel_open(cut, NULL, &r, &e), TRA_INPUT);
        CHECK(e.msg[0]);
    }
    write_bytes(cut, s, n - 100);
    e = (tra_err){0};
    CHECK_FAILS(tra_rel_open(cut, NULL, &r, &e), TRA_INPUT, e, "truncated");
    /* the file is cut behind our back after it was opened: no chunk table is read yet */
    write_bytes(cut, s, n);
    CHECK_OK(tra_rel_open(cut, NULL, &r, &e), e);
    CHECK(truncate(cut, 3000) == 0);
    CHECK_INT(read_all(r, &e), TRA_INPUT);
    tra_rel_close(r);
    free(s);
    tra_arena_free(a);
}

/* Without checksums any byte of a compressed chunk may be wrong: the decoder says so or gives other numbers. (Garbled
 * headers are another matter: HDF5 1.10 itself uses freed memory on some.) */
TEST(store_garbled_chunks_without_checksums) {
    tra_err e = {0};
    tra_rel *r;
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "64", "64", TRA_F64);
    const char *path = at("sumless.h5"), *bad = at("garbled.h5");
    tra_write_options o = {.codec = {.zstd = true, .level = 1}};
    tra_writer *w;
    tra_encoded enc;
    size_t n, told = 0;
    double v[64];
    int64_t addr;
    for (int i = 0; i < 64; i++) v[i] = i;
    CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
    char *scratch = malloc((size_t)tra_codec_scratch(&t)), out[sizeof v];
    CHECK_OK(tra_writer_encode(w, 0, v, scratch, tra_encoded_keep, out, &enc, &e), e);
    CHECK_OK(tra_writer_allocate(w, 0, &enc, &addr, &e), e);
    CHECK_OK(tra_writer_write_at(w, addr, out, enc.len, &e), e);
    CHECK_OK(tra_writer_commit(w, NULL, &e), e);
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(H5Ldelete(f, ".tra", H5P_DEFAULT) >= 0);
    H5Fclose(f);
    tra_h5_leave();
    char *s = slurp(path, &n);
    int level = tra_log_level;
    tra_log_level = -1; /* that its tables are gone is told each time */
    for (int64_t i = 0; i < enc.len; i++) {
        s[addr + i] ^= 0x55;
        write_bytes(bad, s, n);
        s[addr + i] ^= 0x55;
        CHECK_OK(tra_rel_open(bad, NULL, &r, &e), e);
        char *rs = malloc(tra_rel_scratch_bytes(r) + 1);
        tra_err damage = {0};
        if (tra_rel_read(r, 0, v, rs, &damage) != TRA_OK) {
            told++;
            CHECK(strstr(damage.msg, "chunk <0> of ") && damage.status == TRA_INPUT);
        }
        free(rs);
        tra_rel_close(r);
    }
    tra_log_level = level;
    CHECK(told > 0);
    free(s), free(scratch);
    tra_arena_free(a);
}

static void set_int(const char *path, const char *attr, int n, const int64_t *v, bool unseal) {
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "data", H5P_DEFAULT);
    hid_t s = H5Screate_simple(1, (hsize_t[]){(hsize_t)n}, NULL);
    if (H5Aexists(d, attr) > 0) H5Adelete(d, attr);
    if (unseal) H5Adelete(d, "tra_seal");
    hid_t at = H5Acreate2(d, attr, H5T_STD_I64LE, s, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(n == 0 || H5Awrite(at, H5T_NATIVE_INT64, v) >= 0);
    H5Aclose(at);
    H5Sclose(s);
    H5Dclose(d);
    H5Fclose(f);
    tra_h5_leave();
}

TEST(store_absurd_attributes) {
    static const struct {
        const char *attr;
        int n;
        int64_t v[4];
        const char *says;
    } cases[] = {
        {"tra_format", 1, {2}, "its format is 2; this tra reads format 1"},
        {"tra_format", 1, {-1}, "tra_format"},
        {"tra_format", 3, {1, 1, 1}, "tra_format"},
        {"tra_rank", 1, {1000}, "tra_rank"},
        {"tra_rank", 1, {-1}, "tra_rank"},
        {"tra_rank", 0, {0}, "tra_rank"},
        {"tra_rank", 1, {INT64_MAX}, "tra_rank"},
        {"tra_rank", 1, {1}, "tra_keys"},
        {"tra_keys", 2, {0, 0}, "tra_keys"},
        {"tra_keys", 2, {0, 7}, "tra_keys"},
        {"tra_keys", 2, {0, -2}, "tra_keys"},
        {"tra_keys", 3, {0, 1, -1}, "tra_keys"},
        {"tra_keys", 1, {0}, "rewritten with other chunks"},
        {"tra_keys", 0, {0}, "rewritten with other chunks"},
    };
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "20x20", "8x8", TRA_F64);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tra_err e = {0};
        tra_rel *r;
        const char *path = at("absurd.h5");
        unlink(path);
        CHECK_OK(write_all(path, &t, "none", &e), e);
        set_int(path, cases[i].attr, cases[i].n, cases[i].v, true);
        CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, cases[i].says);
    }
    tra_type u = grid(a, "3x2", "4x5", (int8_t[]){0, -1}, (int64_t[]){2, 5});
    u.cut[0] = 3;
    static const int64_t bad_ext[][6] = {
        {0, 4, -2, -1, 5, 5}, {0, 40, 2, -1, 5, 5}, {2, 4, 2, -1, 5, 5}, {-9, 4, 2, 0, 5, 5}, {0, 3, 4, -1, 5, 5}};
    for (int i = 0; i < 7; i++) {
        tra_err e = {0};
        tra_rel *r;
        const char *path = at("absurd.h5");
        unlink(path);
        CHECK_OK(write_all(path, &u, "none", &e), e);
        if (i < 5)
            set_int(path, "tra_extents", 6, bad_ext[i], true);
        else
            set_int(path, "tra_cuts", 2, i == 5 ? (int64_t[]){4, 0} : (int64_t[]){-1, 0}, true);
        CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, i < 5 ? "tra_extents" : "tra_cuts");
    }
    tra_arena_free(a);
}

static void set_element(const char *path, const char *table, hsize_t at, int64_t v) {
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, table, H5P_DEFAULT);
    hid_t from = H5Screate(H5S_SCALAR), to = H5Dget_space(d);
    CHECK(H5Sselect_elements(to, H5S_SELECT_SET, 1, (hsize_t[]){at, 0}) >= 0);
    CHECK(H5Dwrite(d, H5T_NATIVE_INT64, from, to, H5P_DEFAULT, &v) >= 0);
    H5Sclose(to), H5Sclose(from), H5Dclose(d), H5Fclose(f);
    tra_h5_leave();
}

/* Other values of attributes and tables that would do as well: another tensor, unless someone has sealed them. */
TEST(store_damaged_description) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    const char *path = at("described.h5");
    tra_type t = blocked(a, "20x20", "20x8", TRA_F64);
    CHECK_OK(write_all(path, &t, "none", &e), e);
    set_int(path, "tra_keys", 2, (int64_t[]){1, 0}, false);
    CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, "described.h5:data: its attributes, type or ");
    e = (tra_err){0};
    set_int(path, "tra_keys", 2, (int64_t[]){1, 0}, true); /* the seal is lost too: the tables have it */
    CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, "described.h5:data: its attributes, type or ");
    e = (tra_err){0};

    tra_catbuilder *b = tra_catbuilder_new(1, 1);
    tra_catalog *c = tra_new(a, tra_catalog);
    for (int64_t i = 0; i < 3; i++) { /* arrays of 1 to 3 elements, with holes between them */
        tra_dims key = {1, {2 * i}}, ext = {1, {1 + i}};
        CHECK_OK(tra_catbuilder_add(b, &key, &ext, i, &e), e);
    }
    CHECK_OK(tra_catbuilder_finish(b, a, c, NULL, &e), e);
    tra_type list = {.dtype = TRA_F64, .cat = c};
    unlink(path);
    CHECK_OK(write_all(path, &list, "none", &e), e);
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "data", H5P_DEFAULT);
    CHECK(H5Arename(d, "tra_extents", "tra_fxtents") >= 0); /* the text is gone */
    H5Dclose(d), H5Fclose(f);
    tra_h5_leave();
    CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, "described.h5:data: its attributes, type or ");
    e = (tra_err){0};
    tra_h5_enter();
    f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "data", H5P_DEFAULT);
    CHECK(H5Arename(d, "tra_fxtents", "tra_extents") >= 0);
    H5Dclose(d), H5Fclose(f);
    tra_h5_leave();
    set_element(path, ".tra/data/keys", 1, 3); /* the chunks themselves still tell */
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK(same_catalog(tra_rel_type(r)->cat, c));
    CHECK_OK(read_all(r, &e), e);
    tra_rel_close(r);
    set_element(path, ".tra/data/extents", 1, 1);
    CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, "the extents of its arrays are missing or damaged");
    tra_arena_free(a);
}

/* A bit of the dataset's type: integers without a sign, or of the other byte order, would be other numbers. */
TEST(store_damaged_type) {
    const char *path = at("typed.h5"), message[] = {0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0};
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "20x20", "8x8", TRA_I32);
    for (int bit = 1; bit <= 8; bit *= 8) { /* order, sign */
        tra_err e = {0};
        tra_rel *r;
        size_t n;
        CHECK_OK(write_all(path, &t, "none", &e), e);
        char *s = slurp(path, &n);
        int64_t where = find_bytes(s, n, message, sizeof message);
        CHECK(where > 0);
        s[where + 1] ^= (char)bit;
        write_bytes(path, s, n);
        CHECK_FAILS(tra_rel_open(path, NULL, &r, &e), TRA_INPUT, e, "typed.h5:data: its attributes, type or ");
        free(s);
    }
    tra_arena_free(a);
}

/* After another program rewrote the dataset the checksums are of other bytes: ignored, not reported as damage. */
static void rewrite_data(const char *path, bool gzip) {
    static const char *const attrs[] = {"tra_format", "tra_rank"};
    double v[400];
    tra_h5_enter();
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "data", H5P_DEFAULT);
    hid_t space = H5Dget_space(d), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 2, (hsize_t[]){8, 8});
    if (gzip) H5Pset_deflate(p, 1);
    hid_t copy = H5Dcreate2(f, "copy", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dwrite(copy, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    for (int i = 0; i < 2; i++) {
        hid_t x = H5Aopen(d, attrs[i], H5P_DEFAULT), s = H5Aget_space(x);
        int64_t n;
        H5Aread(x, H5T_NATIVE_INT64, &n);
        hid_t y = H5Acreate2(copy, attrs[i], H5T_STD_I64LE, s, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(y, H5T_NATIVE_INT64, &n);
        H5Aclose(x), H5Aclose(y), H5Sclose(s);
    }
    H5Dclose(d), H5Dclose(copy), H5Sclose(space), H5Pclose(p);
    H5Ldelete(f, "data", H5P_DEFAULT);
    H5Lmove(f, "copy", f, "data", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(f);
    tra_h5_leave();
}

TEST(store_rewritten_by_another_program) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "20x20", "8x8", TRA_F64);
    for (int gzip = 0; gzip < 2; gzip++) {
        tra_rel *r;
        const char *path = at("rewritten.h5");
        unlink(path);
        CHECK_OK(write_all(path, &t, "zstd", &e), e);
        rewrite_data(path, gzip);
        int level = tra_log_level;
        tra_log_level = -1;
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        tra_log_level = level;
        CHECK(!tra_rel_info(r)->checksums && !tra_rel_info(r)->foreign);
        CHECK_STR(tra_rel_info(r)->codec, gzip ? "gzip" : "none");
        CHECK(same_catalog(tra_rel_type(r)->cat, t.cat));
        CHECK_OK(read_all(r, &e), e);
        tra_rel_close(r);
    }
    tra_arena_free(a);
}
