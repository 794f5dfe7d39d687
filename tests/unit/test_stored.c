/* test_stored.c - relations stored by levels: their files, written and read back. */
#include "../../lib/relation/rows.h"
#include "../../lib/relation/stored.h"
#include "check.h"
#include "store_util.h"

/* ---- sparse relations to test with --------------------------------------------------------------------------------
 */

/* An element in about `every` is not 0. */
static double sparse_value(int64_t ordinal, int64_t i, int every) {
    uint64_t x = (uint64_t)(ordinal * 1000003 + i) * 0x9e3779b97f4a7c15u;
    if ((x >> 40) % (unsigned)every != 0) return 0;
    return (double)((x >> 20) % 100) + 1;
}

static void make_sparse(const tra_type *t, int64_t ordinal, int every, void *buf) {
    int64_t n = tra_catalog_elements_of(t->cat, ordinal);
    for (int64_t i = 0; i < n; i++) {
        double v = sparse_value(ordinal, i, every);
        switch (t->dtype) {
        case TRA_F64: ((double *)buf)[i] = v; break;
        case TRA_F32: ((float *)buf)[i] = (float)v; break;
        case TRA_I64: ((int64_t *)buf)[i] = (int64_t)v; break;
        case TRA_I32: ((int32_t *)buf)[i] = (int32_t)v; break;
        case TRA_BOOL: ((uint8_t *)buf)[i] = v != 0; break;
        }
    }
}

/* The dense array of a cell of rows. */
static void spread(const tra_cell *c, void *out) {
    tra_rows_view v = tra_rows_of(c);
    int64_t n = 1, width = c->array.ext.v[c->array.ext.n - 1];
    CHECK(tra_dims_product(&c->array.ext, &n));
    memset(out, 0, (size_t)n * v.size);
    for (int64_t i = 0; i < v.nrows; i++)
        for (int64_t k = v.begin[i]; k < v.begin[i + 1]; k++)
            memcpy((char *)out + (size_t)(v.row[i] * width + v.column[k]) * v.size, v.value + (size_t)k * v.size,
                   v.size);
}

/* The cell of rows of a dense array, from malloc. */
static void *gather(const tra_type *rows, int64_t ordinal, const char *dense) {
    tra_dims ext;
    int64_t n, size = (int64_t)tra_dtype_size(rows->dtype);
    tra_catalog_ext(rows->cat, ordinal, &ext);
    CHECK(tra_dims_product(&ext, &n));
    int64_t width = ext.v[ext.n - 1];
    void *block = malloc((size_t)tra_rows_room(rows->dtype, n, n));
    tra_cell c = tra_cell_new(rows, ordinal, block);
    tra_rows_maker m = tra_rows_make(&c, n, n);
    for (int64_t i = 0; i < n; i++) {
        if (i % width == 0) tra_rows_open(&m, i / width);
        char zero[8] = {0};
        if (memcmp(dense + i * size, zero, (size_t)size) != 0)
            memcpy(tra_rows_next(&m, (uint32_t)(i % width)), dense + i * size, (size_t)size);
        if (i % width == width - 1) tra_rows_close(&m);
    }
    tra_rows_made(&m);
    return block;
}

static tra_codec codec; /* of what is written */

static tra_status write_stored(const char *spec, const tra_type *t, const char *levels, int every, bool rows,
                               tra_err *e) {
    tra_levels l;
    TRA_TRY(tra_levels_parse(levels, t->cat->bound.n, &l, e));
    tra_type held = *t;
    if (rows) held.layout = &tra_rows;
    tra_write_options o = {.levels = &l, .codec = codec, .history = "made by a test"};
    tra_writer *w;
    TRA_TRY(tra_writer_create(spec, &held, &o, &w, e));
    tra_digest d = {0};
    tra_digester *g = tra_digester_new(t);
    char *buf = room(t), text[33];
    int64_t most = tra_catalog_elements_most(t->cat);
    void *scratch = malloc((size_t)tra_stored_scratch(&l, most));
    int64_t *counts = calloc((size_t)(t->cat->n * l.n + 1), sizeof *counts);
    tra_status s = TRA_OK;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            s = tra_writer_place(w, counts, e);
            free(scratch);
            scratch = malloc(tra_writer_scratch_bytes(w));
        }
        for (int64_t k = 0; k < t->cat->n && s == TRA_OK; k++) {
            int64_t i = pass ? t->cat->n - 1 - k : k; /* in any order */
            make_sparse(t, i, every, buf);
            if (pass) tra_digester_add(g, &d, i, buf);
            void *block = rows ? gather(&held, i, buf) : buf;
            tra_cell cell = tra_cell_new(&held, i, block);
            s = pass ? tra_writer_put(w, i, block, scratch, e)
                     : tra_stored_count(&l, &t->cat->bound, &cell, counts + i * l.n, scratch, e);
            if (rows) free(block);
        }
    }
    tra_digest_text(&d, t, text);
    tra_digester_free(g);
    free(counts);
    free(buf);
    free(scratch);
    if (s == TRA_OK) return tra_writer_commit(w, text, e);
    tra_writer_abort(w);
    return s;
}

static bool any_digest; /* the one that a file carries may be damaged, and is not looked at */

/* Reads all, compares with what was written, and the digest with the one that the file carries. */
static tra_status read_stored(tra_rel *r, const tra_type *t, int every, tra_err *e) {
    const tra_type *have = tra_rel_type(r);
    size_t size = (size_t)tra_catalog_elements_most(t->cat) * tra_dtype_size(t->dtype);
    char *want = malloc(size + 8), *got = malloc(size + 8), *block = malloc(tra_rel_buffer_bytes(r) + 1);
    void *scratch = malloc(tra_rel_scratch_bytes(r) + 1);
    tra_digest d = {0};
    tra_digester *g = tra_digester_new(have);
    tra_status s = TRA_OK;
    char text[33];
    CHECK(have->sparse && have->layout == &tra_rows && have->dtype == t->dtype);
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        tra_cell c;
        s = tra_rel_read(r, i, block, scratch, e);
        if (s != TRA_OK) break;
        CHECK_OK(tra_cell_of(have, i, block, (int64_t)tra_rel_buffer_bytes(r), &c, e), *e);
        CHECK_OK(tra_rows_check(&c, e), *e);
        if (have->entries && have->entries->of) CHECK_INT(tra_cell_bytes(&c), tra_type_bytes(have, i).bound);
        CHECK(tra_cell_bytes(&c) <= tra_type_bytes(have, i).bound);
        make_sparse(t, i, every, want);
        spread(&c, got);
        CHECK(memcmp(want, got, (size_t)tra_catalog_elements_of(t->cat, i) * tra_dtype_size(t->dtype)) == 0);
        tra_digester_add(g, &d, i, block);
    }
    tra_digest_text(&d, have, text);
    tra_digester_free(g);
    if (s == TRA_OK && !any_digest && tra_rel_info(r)->digest) CHECK_STR(text, tra_rel_info(r)->digest);
    free(want);
    free(got);
    free(block);
    free(scratch);
    return s;
}

/* Written from dense arrays and from rows, the file is the same. */
static void round_trip_coded(const tra_type *t, const char *levels, int every) {
    size_t n[2];
    char *bytes[2];
    for (int rows = 0; rows < 2; rows++) {
        tra_err e = {0};
        tra_rel *r = NULL;
        const char *path = at("s.h5");
        int before = check_failures;
        CHECK_OK(write_stored(path, t, levels, every, rows, &e), e);
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        if (!r) return;
        CHECK(same_catalog(tra_rel_type(r)->cat, t->cat));
        CHECK_OK(read_stored(r, t, every, &e), e);
        tra_rel_close(r);
        if (check_failures > before) printf("# of %s of %s\n", levels, tra_dtype_name(t->dtype));
        bytes[rows] = slurp(path, &n[rows]);
    }
    CHECK(n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0);
    free(bytes[0]);
    free(bytes[1]);
}

static void round_trip(const tra_type *t, const char *levels, int every) {
    round_trip_coded(t, levels, every);
    codec = (tra_codec){.zstd = true, .level = 1};
    round_trip_coded(t, levels, every);
    codec = (tra_codec){0};
}

/* ---- levels -------------------------------------------------------------------------------------------------------
 */

TEST(levels_have_one_text_and_aliases) {
    tra_levels l, m;
    tra_err e = {0};
    char text[TRA_LEVELTEXT];
    CHECK_OK(tra_levels_parse("csc", 2, &l, &e), e);
    CHECK_STR(tra_levels_text(&l, text), "levels(dense, sparse) order [1, 0]");
    CHECK_OK(tra_levels_parse(" levels ( dense ,sparse)order[1,0] ", 2, &m, &e), e);
    CHECK(tra_levels_eq(&l, &m));
    CHECK_STR(tra_levels_alias(&m), "csc");
    CHECK_OK(tra_levels_parse("coo", 3, &l, &e), e);
    CHECK_STR(tra_levels_text(&l, text), "levels(sparse, singleton, singleton)");
    CHECK_OK(tra_levels_parse("coo", 1, &l, &e), e);
    CHECK_STR(tra_levels_text(&l, text), "levels(sparse)");
    CHECK_OK(tra_levels_parse("levels(dense, sparse)", 3, &l, &e), e);
    CHECK_STR(tra_levels_text(&l, text), "levels(dense, sparse, sparse)");
    CHECK(!tra_levels_alias(&l) && !tra_levels_dense(&l));
}

TEST(levels_that_are_none_are_refused) {
    static const char *const bad[] = {"",
                                      "nosuch",
                                      "levels()",
                                      "levels(dense",
                                      "levels(singleton)",
                                      "levels(dense, singleton)",
                                      "levels(dense, sparse, sparse)",
                                      "levels(dense, sparse) order [0, 0]",
                                      "levels(dense, sparse) order [0]",
                                      "levels(dense, sparse) order [2, 0]",
                                      "levels(dense, sparse) order [0, 1] x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tra_levels l;
        tra_err e = {0};
        if (tra_levels_parse(bad[i], 2, &l, &e) != TRA_PROGRAM) CHECK_STR(bad[i], "refused");
    }
}

/* ---- files --------------------------------------------------------------------------------------------------------
 */

static const char *const matrices[] = {
    "csr", "csc", "dcsr", "dcsc", "coo", "levels(sparse, singleton) order [1, 0]", "csf", "levels(sparse, dense)"};

TEST(matrices_come_back_as_they_were) {
    static const char *const blocks[][2] = {{"37x23", "37x23"}, {"37x23", "10x7"}, {"300x5", "64x5"}, {"1x1", "1x1"}};
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            tra_arena *a = tra_arena_new();
            tra_type t = blocked(a, blocks[b][0], blocks[b][1], TRA_F64);
            round_trip(&t, matrices[m], 7);
            tra_arena_free(a);
        }
    }
}

typedef struct reading {
    tra_rel *r;
    const tra_type *t;
    tra_status status;
} reading;

static void *read_again(void *p) {
    reading *x = p;
    tra_err e = {0};
    x->status = read_stored(x->r, x->t, 7, &e);
    return NULL;
}

/* Workers read blocks while others do: after the first time, which finds the chunks, HDF5 is not asked any more. */
TEST(blocks_are_read_beside_hdf5) {
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "370x230", "100x70", TRA_F64);
    for (int c = 0; c < 2; c++) {
        codec = (tra_codec){.zstd = c, .level = 1};
        for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
            tra_err e = {0};
            tra_rel *r;
            CHECK_OK(write_stored(at("s.h5"), &t, matrices[m], 7, true, &e), e);
            CHECK_OK(tra_rel_open(at("s.h5"), NULL, &r, &e), e);
            reading again = {r, &t, read_stored(r, &t, 7, &e)};
            any_digest = true; /* for which HDF5 is asked */
            if (!ends_beside_hdf5(read_again, &again)) check_report("%s waits for HDF5", matrices[m]);
            CHECK_INT(again.status, TRA_OK);
            any_digest = false;
            tra_rel_close(r);
        }
    }
    codec = (tra_codec){0};
    tra_arena_free(a);
}

TEST(all_element_types_come_back) {
    for (tra_dtype d = TRA_F64; d <= TRA_BOOL; d++) {
        tra_arena *a = tra_arena_new();
        tra_type t = blocked(a, "70x300", "32x300", d);
        round_trip(&t, "csr", 5);
        round_trip(&t, "csc", 5);
        tra_arena_free(a);
    }
}

TEST(tensors_of_any_rank_and_order_come_back) {
    static const char *const levels[] = {"csf",
                                         "coo",
                                         "levels(dense, sparse)",
                                         "levels(sparse, dense, sparse)",
                                         "levels(sparse, singleton, sparse)",
                                         "levels(sparse) order [2, 0, 1]",
                                         "levels(dense, sparse, sparse) order [1, 2, 0]",
                                         "levels(sparse, sparse, dense) order [1, 0, 2]"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        tra_arena *a = tra_arena_new();
        tra_type t = blocked(a, "9x11x13", "4x5x6", TRA_F32);
        round_trip(&t, levels[i], 9);
        tra_arena_free(a);
    }
    tra_arena *a = tra_arena_new();
    tra_type v = blocked(a, "1000", "300", TRA_F64);
    round_trip(&v, "csf", 3);
    tra_arena_free(a);
}

TEST(empty_ones_come_back) {
    tra_arena *a = tra_arena_new();
    tra_type none = blocked(a, "40x30", "16x8", TRA_F64);
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) round_trip(&none, matrices[m], 1 << 30);
    tra_type nothing = blocked(a, "0x30", "16x8", TRA_F64);
    round_trip(&nothing, "csr", 3);
    tra_arena_free(a);
}

TEST(holes_and_tuples_come_back) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_catbuilder *b = tra_catbuilder_new(2, 2);
    for (int64_t i = 0; i < 5; i++) {
        tra_dims key = {2, {i, (3 * i) % 5}}, ext = {2, {8, 6}};
        CHECK_OK(tra_catbuilder_add(b, &key, &ext, i, &e), e);
    }
    tra_catalog *c = tra_new(a, tra_catalog);
    CHECK_OK(tra_catbuilder_finish(b, a, c, NULL, NULL, &e), e);
    tra_type t = {.dtype = TRA_F64, .cat = c, .cut = {1, 2}};
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) round_trip(&t, matrices[m], 4);
    t.cut[0] = 3; /* no tensor */
    round_trip(&t, "csr", 4);
    int8_t by[] = {-1, 1};
    int64_t last[] = {4, 2};
    tra_type g = grid(a, "3x2x2", "4x5", by, last);
    round_trip(&g, "csr", 4);
    tra_arena_free(a);
}

TEST(statistics_are_kept) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    tra_type t = blocked(a, "60x20", "32x20", TRA_F64);
    CHECK_OK(write_stored(at("stat.h5"), &t, "csc", 3, true, &e), e);
    CHECK_OK(tra_rel_open(at("stat.h5"), NULL, &r, &e), e);
    double v[32 * 20];
    for (int64_t i = 0; i < t.cat->n; i++) {
        tra_statistics s;
        uint32_t want[20] = {0};
        int64_t m = i ? 28 : 32, entries = 0, squares = 0, column_squares = 0, most = 0;
        make_sparse(&t, i, 3, v);
        for (int64_t row = 0; row < m; row++) {
            int64_t n = 0;
            for (int64_t j = 0; j < 20; j++)
                if (v[row * 20 + j] != 0) n++, want[j]++;
            entries += n;
            squares += n * n;
            if (n > most) most = n;
        }
        for (int j = 0; j < 20; j++) column_squares += want[j] * want[j];
        CHECK_OK(tra_rel_statistics(r, i, &s, &e), e);
        CHECK_INT(s.rows.entries, entries);
        CHECK_INT(s.rows.squares, squares);
        CHECK_INT(s.rows.most, most);
        CHECK_INT(s.level[0].entries, 0);
        CHECK_INT(s.level[1].entries, entries);
        CHECK_INT(s.level[1].squares, column_squares);
        CHECK(s.finite);
    }
    tra_rel_close(r);
    tra_arena_free(a);
}

/* Blocks side by side have columns of their own, and the last ones are clipped. Of tuples that have fewer entries than
 * columns, the file has no counts: they are counted. */
TEST(columns_are_those_of_the_tensor) {
    static const char *const names[] = {"csr", "dcsr", "coo"};
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "60x50", "32x20", TRA_F64);
    for (int k = 0, every = 4; k < 6; k++, every = k < 3 ? 4 : 60) { /* more entries than columns, and fewer */
        tra_rel *r;
        double columns[TRA_LOGS], entries[TRA_LOGS], want[2][TRA_LOGS] = {{0}};
        int64_t n[50] = {0};
        CHECK_OK(write_stored(at("cut.h5"), &t, names[k % 3], every, true, &e), e);
        CHECK_OK(tra_rel_open(at("cut.h5"), NULL, &r, &e), e);
        for (int64_t i = 0; i < t.cat->n; i++) {
            double v[32 * 20];
            tra_dims key, ext;
            tra_catalog_key(t.cat, i, &key);
            tra_catalog_ext(t.cat, i, &ext);
            make_sparse(&t, i, every, v);
            for (int64_t x = 0; x < ext.v[0] * ext.v[1]; x++)
                if (v[x] != 0) n[20 * key.v[1] + x % ext.v[1]]++;
        }
        for (int c = 0; c < 50; c++) {
            if (n[c] == 0) continue;
            int log = 63 - __builtin_clzll((unsigned long long)n[c]);
            want[0][log]++;
            want[1][log] += (double)n[c];
        }
        CHECK_OK(tra_rel_line_histogram(r, 1, columns, entries, &e), e);
        CHECK(memcmp(columns, want[0], sizeof columns) == 0);
        CHECK(memcmp(entries, want[1], sizeof entries) == 0);
        tra_rel_close(r);
    }
    tra_arena_free(a);
}

/* Pairs of entries with the same coordinate in either dimension of two matrices that are cut differently. */
TEST(pairs_that_meet_are_counted) {
    static const char *const names[] = {"csr", "dcsr"};
    enum { N = 45 };
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t[2] = {blocked(a, "45x45", "32x20", TRA_F64), blocked(a, "45x45", "9x45", TRA_F64)};
    for (int k = 0; k < 2; k++) {
        tra_rel *r[2];
        double n[2][2][N] = {{{0}}}; /* of both, entries of each row and of each column */
        for (int m = 0; m < 2; m++) {
            char *path = strdup(at(m ? "met1.h5" : "met0.h5"));
            CHECK_OK(write_stored(path, &t[m], names[k], 3 + 4 * m, true, &e), e);
            CHECK_OK(tra_rel_open(path, NULL, &r[m], &e), e);
            free(path);
            for (int64_t i = 0; i < t[m].cat->n; i++) {
                double v[32 * 45];
                tra_dims key, ext;
                tra_catalog_key(t[m].cat, i, &key);
                tra_catalog_ext(t[m].cat, i, &ext);
                make_sparse(&t[m], i, 3 + 4 * m, v);
                for (int64_t x = 0; x < ext.v[0] * ext.v[1]; x++) {
                    if (v[x] == 0) continue;
                    n[m][0][key.v[0] * t[m].cat->bound.v[0] + x / ext.v[1]]++;
                    n[m][1][key.v[1] * t[m].cat->bound.v[1] + x % ext.v[1]]++;
                }
            }
        }
        for (int d = 0; d < 4; d++) {
            double pairs, own, want = 0, self = 0;
            for (int i = 0; i < N; i++)
                want += n[0][d / 2][i] * n[1][d % 2][i], self += n[0][d / 2][i] * n[0][d % 2][i];
            for (int twice = 0; twice < 2; twice++) { /* found, and kept */
                CHECK_OK(tra_rel_meeting_pairs(r[0], d / 2, r[1], d % 2, &pairs, &e), e);
                CHECK(pairs == want);
            }
            CHECK_OK(tra_rel_meeting_pairs(r[0], d / 2, r[0], d % 2, &own, &e), e);
            CHECK(own == self);
        }
        for (int d = 0; d < 2; d++) {
            double lines[TRA_LOGS], entries[TRA_LOGS], want[2][TRA_LOGS] = {{0}};
            for (int i = 0; i < N; i++) {
                if (n[0][d][i] == 0) continue;
                int log = 63 - __builtin_clzll((unsigned long long)n[0][d][i]);
                want[0][log]++;
                want[1][log] += n[0][d][i];
            }
            CHECK_OK(tra_rel_line_histogram(r[0], d, lines, entries, &e), e);
            CHECK(memcmp(lines, want[0], sizeof lines) == 0 && memcmp(entries, want[1], sizeof entries) == 0);
        }
        tra_rel_close(r[0]);
        tra_rel_close(r[1]);
    }
    tra_arena_free(a);
}

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

/* ---- other readers ------------------------------------------------------------------------------------------------
 */

/* A python with h5py; NULL: there is none. */
static const char *python(void) {
    static const char *const names[] = {"python3", "/usr/bin/python3"};
    for (int i = 0; i < 2; i++) {
        char *cmd = tra_asprintf("%s -c 'import h5py, numpy' >/dev/null 2>&1", names[i]);
        int status = system(cmd);
        free(cmd);
        if (status == 0) return names[i];
    }
    return NULL;
}

/* What a reader of binsparse that knows the specification alone makes of the file. */
static void judge(const char *py, const tra_type *t, const char *levels, int every) {
    tra_err e = {0};
    tra_dims shape;
    double sum = 0, places = 0, got[2] = {0}, x;
    double *v = room(t);
    CHECK_OK(write_stored(at("judge.h5"), t, levels, every, true, &e), e);
    tra_type_shape(t, &shape);
    for (int64_t i = 0; i < t->cat->n; i++) {
        tra_dims key, ext, from, in, place = {.n = shape.n};
        tra_catalog_key(t->cat, i, &key);
        tra_catalog_ext(t->cat, i, &ext);
        tra_type_offset(t, &key, &from);
        make_sparse(t, i, every, v);
        for (int64_t k = 0; k < tra_catalog_elements_of(t->cat, i); k++) {
            tra_unlinear(&ext, k, &in);
            for (int d = 0; d < in.n; d++) place.v[d] = from.v[d] + in.v[d];
            sum += v[k];
            places += v[k] * (double)(tra_linear(&shape, &place) % 8191);
        }
    }
    char *cmd = tra_asprintf("%s tests/cli/binsparse.py %s data", py, at("judge.h5"));
    FILE *f = popen(cmd, "r");
    for (int d = 0; d < shape.n; d++) CHECK(fscanf(f, "%lf", &x) == 1 && x == (double)shape.v[d]);
    CHECK(fscanf(f, "%lf %lf", &got[0], &got[1]) == 2);
    CHECK_INT(pclose(f), 0);
    if (got[0] != sum || got[1] != places) CHECK_STR(levels, "read by others as it was written");
    free(cmd);
    free(v);
}

TEST(others_read_binsparse) {
    const char *py = python();
    if (!py) {
        check_skipped = "no python with h5py";
        return;
    }
    tra_arena *a = tra_arena_new();
    tra_type one = blocked(a, "37x23", "37x23", TRA_F64), many = blocked(a, "37x23", "10x7", TRA_F64);
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        judge(py, &one, matrices[m], 5);
        judge(py, &many, matrices[m], 5);
    }
    tra_type cube = blocked(a, "9x11x13", "4x5x6", TRA_F64), vector = blocked(a, "700", "700", TRA_F64);
    judge(py, &cube, "levels(sparse, dense, sparse) order [2, 0, 1]", 6);
    judge(py, &cube, "coo", 6);
    judge(py, &vector, "csf", 6);
    tra_arena_free(a);
}
