/* test_stored_faults.c - relations stored by levels that several processes write, and damaged ones. */
#include "stored_util.h"

/* ---- several processes --------------------------------------------------------------------------------------------
 */

TEST(an_attached_writer_puts_its_part) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "64x40", "16x40", TRA_F64);
    tra_levels l;
    CHECK_OK(tra_levels_parse("csr", 2, &l, &e), e);
    CHECK_OK(write_stored(at("one.h5"), &t, "csr", 5, false, &e), e);
    tra_writer *w[2];
    tra_write_options o = {.levels = &l, .history = "made by a test"};
    CHECK_OK(tra_writer_create(at("two.h5"), &t, &o, &w[0], &e), e);
    int64_t counts[8];
    double v[16 * 40];
    char *scratch = malloc((size_t)tra_stored_scratch(&l, 640) + tra_writer_scratch_bytes(w[0]));
    tra_digest d = {0};
    char text[33];
    for (int64_t i = 0; i < 4; i++) {
        make_sparse(&t, i, 5, v);
        tra_digest_array(&d, &t, i, v);
        tra_cell c = tra_cell_new(&t, i, v);
        CHECK_OK(tra_stored_count(&l, &t.cat->bound, &c, counts + 2 * i, scratch, &e), e);
    }
    CHECK_OK(tra_writer_place(w[0], counts, &e), e);
    tra_str blob = {0};
    tra_writer_describe(w[0], &blob);
    CHECK_INT(tra_writer_attach(blob.s, blob.n - 1, &t, &w[1], &e), TRA_INTERNAL);
    e = (tra_err){0};
    CHECK_OK(tra_writer_attach(blob.s, blob.n, &t, &w[1], &e), e);
    tra_str_free(&blob);
    for (int64_t i = 0; i < 4; i++) {
        make_sparse(&t, i, 5, v);
        CHECK_OK(tra_writer_put(w[i & 1], i, v, scratch, &e), e);
    }
    CHECK_OK(tra_writer_sync(w[1], &e), e);
    uint64_t *to = tra_writer_sums(w[0]), *from = tra_writer_sums(w[1]);
    CHECK_INT(tra_writer_nsums(w[0]), tra_writer_nsums(w[1]));
    for (int64_t i = 0; i < tra_writer_nsums(w[0]); i++) to[i] += from[i];
    tra_writer_abort(w[1]);
    tra_digest_text(&d, &t, text);
    CHECK_OK(tra_writer_commit(w[0], text, &e), e);
    size_t n, m;
    char *one = slurp(at("one.h5"), &n), *two = slurp(at("two.h5"), &m);
    CHECK(n == m && memcmp(one, two, n) == 0);
    CHECK_INT(leftovers(), 0);
    free(one);
    free(two);
    free(scratch);
    tra_arena_free(a);
}

TEST(relations_of_both_kinds_share_a_file) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    tra_type t = blocked(a, "20x10", "8x10", TRA_F64);
    char *sparse = tra_asprintf("%s:x/s", at("both.h5")), *dense = tra_asprintf("%s:d", at("both.h5"));
    CHECK_OK(write_stored(sparse, &t, "csr", 3, false, &e), e);
    CHECK_OK(write_all(dense, &t, "none", &e), e); /* the other is copied */
    CHECK_OK(tra_rel_open(sparse, NULL, &r, &e), e);
    CHECK_OK(read_stored(r, &t, 3, &e), e);
    tra_rel_close(r);
    CHECK_OK(write_stored(dense, &t, "csc", 4, false, &e), e); /* a dataset is replaced by a group, */
    CHECK_OK(write_all(sparse, &t, "none", &e), e);            /* and a group by a dataset */
    CHECK_OK(tra_rel_open(dense, NULL, &r, &e), e);
    CHECK_OK(read_stored(r, &t, 4, &e), e);
    tra_rel_close(r);
    CHECK_OK(tra_rel_open(sparse, NULL, &r, &e), e);
    CHECK_OK(read_all(r, &e), e);
    tra_rel_close(r);
    CHECK_INT(tra_rel_open(at("both.h5"), NULL, &r, &e), TRA_INPUT);
    CHECK(strstr(e.msg, "several relations: d, x/s;"));
    e = (tra_err){0};
    char *within = tra_asprintf("%s:d/values/x", at("both.h5"));
    CHECK_INT(write_all(within, &t, "none", &e), TRA_INPUT);
    free(within);
    free(sparse);
    free(dense);
    tra_arena_free(a);
}

/* ---- damage -------------------------------------------------------------------------------------------------------
 */

/* Reads what is there; TRA_OK only if all of it is what was written. */
static tra_status try_reading(const char *path, const tra_type *t, int every, tra_err *e) {
    tra_rel *r;
    tra_log_level = -1;
    any_digest = true;
    tra_status s = tra_rel_open(path, NULL, &r, e);
    if (s == TRA_OK) {
        if (same_catalog(tra_rel_type(r)->cat, t->cat))
            s = read_stored(r, t, every, e);
        else
            CHECK(!"damage gives another catalog");
        tra_rel_close(r);
    }
    tra_log_level = 0;
    any_digest = false;
    return s;
}

TEST(a_damaged_byte_is_found_and_named) {
    static const struct {
        const char *component;
        unsigned char bytes[24];
        size_t n;
    } parts[] = {{"values", {0, 0, 0, 0, 0, 0, 0x49, 0x40, 0, 0, 0, 0, 0, 0, 0x49, 0x40}, 16},
                 {"indices_3", {1, 3, 5, 7, 9, 11, 13, 15}, 8},
                 {"pointers_to_3", {8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0}, 16}};
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "16x32", "8x16", TRA_F64);
    tra_levels l;
    CHECK_OK(tra_levels_parse("csr", 2, &l, &e), e);
    for (int p = 0; p < 4; p++) {
        tra_writer *w;
        tra_write_options o = {.levels = &l};
        double v[8 * 16];
        int64_t counts[8];
        CHECK_OK(tra_writer_create(at("damage.h5"), &t, &o, &w, &e), e);
        for (int i = 0; i < 8 * 16; i++) v[i] = i % 2 ? 50 : 0;
        for (int i = 0; i < 4; i++) counts[2 * i] = 8, counts[2 * i + 1] = 64;
        CHECK_OK(tra_writer_place(w, counts, &e), e);
        void *scratch = malloc(tra_writer_scratch_bytes(w));
        for (int i = 0; i < 4; i++) CHECK_OK(tra_writer_put(w, i, v, scratch, &e), e);
        CHECK_OK(tra_writer_commit(w, NULL, &e), e);
        if (p < 3) {
            size_t n;
            char *file = slurp(at("damage.h5"), &n), *found = memmem(file, n, parts[p].bytes, parts[p].n);
            CHECK(found);
            if (found) found[parts[p].n - 1] ^= 2;
            write_bytes(at("damage.h5"), file, n);
            free(file);
        }
        tra_rel *r;
        CHECK_OK(tra_rel_open(at("damage.h5"), NULL, &r, &e), e);
        char *block = malloc(tra_rel_buffer_bytes(r)), *own = malloc(tra_rel_scratch_bytes(r));
        CHECK_INT(tra_rel_read(r, 0, block, own, &e), p < 3 ? TRA_INPUT : TRA_OK);
        if (p < 3 && !strstr(e.msg, parts[p].component)) CHECK_STR(e.msg, parts[p].component);
        if (p < 3) CHECK(strstr(e.msg, "block <0,0> of") && strstr(e.msg, "damage.h5:data is damaged"));
        e = (tra_err){0};
        CHECK_OK(tra_rel_read(r, 1, block, own, &e), e);
        if (p == 3) { /* what had its checksum is read again without; its ranges are checked each time */
            size_t n;
            char *file = slurp(at("damage.h5"), &n), *value = memmem(file, n, parts[0].bytes, parts[0].n);
            char *range = memmem(file, n, parts[2].bytes, parts[2].n);
            CHECK(value && range);
            if (value) value[parts[0].n - 1] ^= 2;
            write_bytes(at("damage.h5"), file, n);
            CHECK_OK(tra_rel_read(r, 0, block, own, &e), e);
            if (range) range[parts[2].n - 1] ^= 2;
            write_bytes(at("damage.h5"), file, n);
            CHECK_FAILS(tra_rel_read(r, 0, block, own, &e), TRA_INPUT, e, "pointers_to_3");
            free(file);
        }
        tra_rel_close(r);
        free(block);
        free(own);
        free(scratch);
    }
    tra_arena_free(a);
}

TEST(no_damaged_byte_gives_other_values) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "13x12", "6x5", TRA_F64);
    static const char *const levels[] = {"csr", "dcsc", "coo"};
    for (size_t l = 0; l < 3; l++) {
        size_t n, found = 0, tried = 0;
        CHECK_OK(write_stored(at("flip.h5"), &t, levels[l], 4, true, &e), e);
        char *file = slurp(at("flip.h5"), &n);
        for (size_t i = 96 + l; i < n; i += 7) {
            if (file[i] == 0 && i % 5) continue; /* most of these are holes */
            file[i] ^= (char)(1 << i % 8);
            write_bytes(at("flip.h5"), file, n);
            file[i] ^= (char)(1 << i % 8);
            tra_err why = {0};
            int before = check_failures;
            tra_status s = try_reading(at("flip.h5"), &t, 4, &why);
            CHECK(s == TRA_OK || s == TRA_INPUT || s == TRA_RESOURCE);
            if (check_failures > before) printf("# byte %zu of %s\n", i, levels[l]);
            found += s != TRA_OK;
            tried++;
        }
        CHECK(found > tried / 4);
        free(file);
    }
    tra_arena_free(a);
}

TEST(a_short_file_is_told) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "64x64", "16x64", TRA_F64);
    CHECK_OK(write_stored(at("short.h5"), &t, "csr", 3, false, &e), e);
    size_t n;
    char *file = slurp(at("short.h5"), &n);
    for (size_t cut = 1; cut < n; cut += 997) {
        tra_err why = {0};
        write_bytes(at("short.h5"), file, n - cut);
        CHECK(try_reading(at("short.h5"), &t, 3, &why) != TRA_OK);
    }
    free(file);
    tra_arena_free(a);
}
