/* test_stored.c - relations stored by levels: their files, written and read back. */
#include "stored_util.h"

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
    bool waits = false;
    for (int c = 0; c < 2; c++) {
        codec = (tra_codec){.zstd = c, .level = 1};
        for (size_t m = 0; m < sizeof matrices / sizeof *matrices && !waits; m++) {
            tra_err e = {0};
            tra_rel *r;
            CHECK_OK(write_stored(at("s.h5"), &t, matrices[m], 7, true, &e), e);
            CHECK_OK(tra_rel_open(at("s.h5"), NULL, &r, &e), e);
            reading again = {r, &t, read_stored(r, &t, 7, &e)};
            any_digest = true; /* for which HDF5 is asked */
            waits = !ends_beside_hdf5(read_again, &again);
            if (waits) check_report("%s waits for HDF5", matrices[m]);
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
    CHECK_OK(tra_catbuilder_finish(b, a, c, NULL, &e), e);
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
            int64_t most, fullest = 0;
            for (int i = 0; i < N; i++) fullest = tra_max64(fullest, (int64_t)n[0][d][i]);
            CHECK_OK(tra_rel_fullest_line(r[0], d, &most, &e), e);
            CHECK_INT(most, fullest);
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
