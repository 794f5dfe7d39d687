/* Tables in files: rows that straddle blocks, put by several writers, and what is known of columns. */
#include "../../lib/tablefile/table_file.h"
#include "../../lib/tablefile/tablefile_int.h"
#include "check.h"
#include "../../lib/relation/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1000 };

static tra_dictionary *letters(tra_arena *a, int n) {
    const char **s = tra_news(a, const char *, n);
    int64_t *len = tra_news(a, int64_t, n);
    for (int i = 0; i < n; i++) s[i] = tra_arena_printf(a, "w%03d", i), len[i] = 4;
    return (tra_dictionary *)tra_dictionary_new(a, n, s, len);
}

typedef struct table {
    tra_schema schema;
    tra_column column[3];
    int64_t i[ROWS];
    double x[ROWS];
    int32_t code[ROWS];
    uint8_t null[ROWS];
} table;

static void make(tra_arena *a, table *t) {
    t->column[0] = (tra_column){.name = "i", .type = TRA_COL_I64};
    t->column[1] = (tra_column){.name = "x/y", .type = TRA_COL_F64, .nullable = true};
    t->column[2] = (tra_column){.name = "s", .type = TRA_COL_STRING, .nullable = true, .dict = letters(a, 200)};
    t->schema = (tra_schema){3, t->column};
    for (int k = 0; k < ROWS; k++) {
        t->i[k] = k * (INT64_C(1) << 33);
        t->null[k] = k % 7 == 0;
        t->x[k] = t->null[k] ? 0 : sin(k);
        t->code[k] = t->null[k] ? 0 : k * 31 % 200;
    }
}

static tra_batch rows_of(table *t, int64_t from, int64_t n, tra_vector v[3]) {
    v[0] = (tra_vector){t->i + from, NULL};
    v[1] = (tra_vector){t->x + from, t->null + from};
    v[2] = (tra_vector){t->code + from, t->null + from};
    return (tra_batch){.schema = &t->schema, .rows = n, .v = v};
}

/* Tuples of 100 rows at most, which have fewer: they straddle the blocks of the file. Two writers put them. */
static void write_in_parts(table *t, const char *path, tra_codec codec) {
    tra_err e = {0};
    tra_dims shape = {1, {1600}}, block = {1, {100}};
    tra_catalog c;
    CHECK_OK(tra_catalog_blocks(&shape, &block, &c, &e), e);
    tra_type type = {
        .dtype = TRA_F64, .cat = &c, .layout = &tra_columns, .columns = &t->schema, .cut = {1}, .bounded = true};
    tra_writer *w[2];
    int64_t rows[16], begin = 0;
    for (int i = 0; i < 16; i++) rows[i] = i == 3 ? 0 : i < 15 ? 67 : ROWS - 14 * 67;
    CHECK_OK(tra_writer_create(path, &type, &(tra_write_options){.codec = codec}, &w[0], &e), e);
    CHECK_OK(tra_writer_place_rows(w[0], rows, &e), e);
    tra_str blob = {0};
    tra_writer_describe(w[0], &blob);
    CHECK_OK(tra_writer_attach(blob.s, blob.n, &type, &w[1], &e), e);
    tra_str_free(&blob);
    void *room = NULL;
    CHECK(posix_memalign(&room, 64, (size_t)tra_columns_room(&t->schema, 100) + 64) == 0);
    for (int i = 0; i < 16; i++) {
        tra_vector v[3], to[3];
        tra_batch from = rows_of(t, begin, rows[i], v), out = {.v = to};
        tra_cell cell = tra_cell_new(&type, i, room);
        tra_columns_begin(&cell, &t->schema, rows[i], &out);
        for (int k = 0; k < 3; k++) {
            memcpy(to[k].values, v[k].values, (size_t)rows[i] * tra_coltype_size(t->column[k].type));
            if (to[k].state) memcpy(to[k].state, from.v[k].state, (size_t)rows[i]);
        }
        CHECK_OK(tra_writer_put(w[i % 2], i, room, NULL, &e), e);
        begin += rows[i];
    }
    free(room);
    tra_writer_abort(w[1]);
    CHECK_OK(tra_writer_commit(w[0], NULL, &e), e);
}

static void straddle(tra_codec codec) {
    tra_arena *a = tra_arena_new();
    table *t = tra_new(a, table);
    tra_err e = {0};
    tra_rel *r;
    make(a, t);
    char *path = tra_asprintf("%s/parts.h5", check_folder());
    write_in_parts(t, path, codec);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK(tra_rel_rows(r) == ROWS && tra_rel_type(r)->cat->bound.v[0] == 100 && tra_rel_type(r)->cat->n == 10);
    CHECK(tra_schema_eq(tra_rel_type(r)->columns, &t->schema));
    int64_t i[ROWS];
    double x[ROWS];
    int32_t code[ROWS];
    uint8_t null[2][ROWS];
    tra_vector v[3] = {{i, NULL}, {x, null[0]}, {code, null[1]}};
    CHECK_OK(tra_rel_read_rows(r, 5, &(tra_batch){.schema = &t->schema, .rows = ROWS - 5, .v = v}, &e), e);
    CHECK(memcmp(i, t->i + 5, (ROWS - 5) * sizeof *i) == 0);
    CHECK(memcmp(x, t->x + 5, (ROWS - 5) * sizeof *x) == 0);
    CHECK(memcmp(code, t->code + 5, (ROWS - 5) * sizeof *code) == 0);
    CHECK(memcmp(null[0], t->null + 5, ROWS - 5) == 0 && memcmp(null[1], t->null + 5, ROWS - 5) == 0);
    CHECK_OK(tra_rel_check(r, &e), e);
    tra_block_facts b;
    CHECK_OK(tra_rel_block_facts(r, 0, 3, &b, &e), e);
    CHECK(b.min == t->i[300] && b.max == t->i[399] && b.sorted && b.nulls == 0);
    tra_column_facts f;
    CHECK(tra_rel_column_facts(r, 2, &f));
    CHECK(f.rows == ROWS && f.nulls == 143 && f.distinct == 200 && f.exact && f.whole && f.n == 200 && !f.sorted);
    CHECK(tra_rel_is_coded(r) == codec.zstd);
    tra_rel_close(r);
    unlink(path);
    free(path);
    tra_arena_free(a);
}

TEST(rows_that_straddle_blocks_by_two_writers) {
    straddle((tra_codec){0});
    straddle((tra_codec){.zstd = true, .level = 1});
}

/* Counts n values in all passes. Returns how many further passes there were. */
static int count_facts(tra_facts_builder *c, tra_arena *a, const int64_t *v, int64_t n, tra_column_facts *f) {
    int64_t block[4];
    int again = 0;
    tra_facts_begin(c, TRA_COL_I64, n, 0);
    tra_facts_add(c, v, NULL, n, block, true);
    for (; tra_facts_begin_recount(c); again++) tra_facts_recount(c, v, NULL, n);
    tra_facts_end(c, a, f);
    return again;
}

/* Values of which many are common, the first 25 most: what shares a bucket with a common value is counted again, or of
 * too many half is dropped. Where none is common, nothing is counted again. */
TEST(more_common_values_than_are_counted) {
    enum { COMMON = 30000, EACH = 100, OTHERS = 250000, N = COMMON * EACH, TOP = 25, MORE = 400 };
    tra_arena *a = tra_arena_new();
    tra_facts_builder *c = tra_facts_new();
    tra_column_facts f;
    int64_t *v = tra_news(a, int64_t, N + TOP * MORE + OTHERS);
    for (int others = OTHERS / 5; others <= OTHERS; others *= 5) {
        int64_t n = 0;
        for (int64_t k = 0; k < N; k++) v[n++] = k % COMMON;
        for (int64_t k = 0; k < TOP * MORE; k++) v[n++] = k % TOP;
        for (int64_t k = 0; k < others; k++) v[n++] = k + N;
        CHECK_INT(count_facts(c, a, v, n, &f), others == OTHERS ? 2 : 1);
        CHECK(!f.whole && f.n == TRA_TOP_FREQUENCIES);
        for (int i = 0; i < TRA_TOP_FREQUENCIES; i++) {
            CHECK_INT(f.frequency[i][1], EACH + (i < TOP ? MORE : 0));
            CHECK(f.frequency[i][0] < (i < TOP ? TOP : COMMON));
        }
    }
    for (int64_t k = 0; k < N; k++) v[k] = k;
    CHECK_INT(count_facts(c, a, v, N, &f), 0);
    CHECK(!f.whole && f.n == 0 && f.distinct == N);
    tra_facts_free(c);
    tra_arena_free(a);
}

/* Of many values: the commonest are found and counted exactly, the others estimated. */
TEST(frequent_values_and_estimates) {
    enum { N = 400000 };
    tra_arena *a = tra_arena_new();
    tra_facts_builder *c = tra_facts_new();
    tra_column_facts f;
    int64_t *v = tra_news(a, int64_t, N), block[4];
    for (int64_t k = 0; k < N; k++)
        v[k] = k % 5 == 0 ? -7 : k % 50 == 1 ? 9 : (int64_t)((uint64_t)k * 0x9e3779b97f4a7c15 >> 8);
    tra_facts_begin(c, TRA_COL_I64, N, 0);
    for (int64_t k = 0; k < N; k += 1000) tra_facts_add(c, v + k, NULL, 1000, block, k == 0);
    CHECK(tra_facts_begin_recount(c));
    tra_facts_recount(c, v, NULL, N);
    CHECK(!tra_facts_begin_recount(c));
    tra_facts_end(c, a, &f);
    int64_t distinct = N - N / 5 - N / 50 + 2;
    CHECK(!f.whole && !f.exact && fabs((double)f.distinct / (double)distinct - 1) < 0.06);
    CHECK(f.n == TRA_TOP_FREQUENCIES && f.frequency[0][0] == -7 && f.frequency[0][1] == N / 5);
    CHECK(f.frequency[1][0] == 9 && f.frequency[1][1] == N / 50 && f.frequency[2][1] == 1);
    CHECK(f.min == -7 && f.histogram[0] == -7 && f.histogram[TRA_BUCKETS] == f.max && block[0] == -7);
    double x[] = {1.5, -0.0, NAN, -INFINITY, 0.0, NAN};
    memcpy(v, x, sizeof x);
    tra_facts_begin(c, TRA_COL_F64, 6, 0);
    tra_facts_add(c, v, (uint8_t[]){0, 0, 0, 0, 0, 1}, 6, block, true);
    CHECK(!tra_facts_begin_recount(c));
    tra_facts_end(c, a, &f);
    CHECK(f.nulls == 1 && f.distinct == 4 && f.nan && !f.sorted);
    memcpy(x, &f.min, 8);
    CHECK(x[0] == -INFINITY);
    tra_facts_free(c);
    tra_arena_free(a);
}
