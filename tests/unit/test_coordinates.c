/* test_coordinates.c - readers of coordinate files on hand-made files, and blocks made of their entries. */
#include "../../formats/entries.h"
#include "../../lib/base/radix.h"
#include "../../lib/model/rows.h"
#include "formats_util.h"

#include <fcntl.h>

/* ---- mtx ------------------------------------------------------------------------------------------------------- */

TEST(mtx_kinds) {
    CHECK_OK(text(".mtx", MM "array real general\n% c\n\n2 3\n1\n2\n3\n4\n5\n6\n"), err);
    CHECK(shape.v[0] == 2 && shape.v[1] == 3 && got[1] == 2 && got[5] == 6); /* storage order */
    CHECK_OK(text(".mtx", MM "coordinate integer general\n2 2 2\n1 2 7\n2 1 -1\n"), err);
    CHECK(got[1] == 7 && got[2] == -1 && got[0] == 0);
    CHECK_OK(text(".mtx", MM "coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"), err);
    CHECK(got[1] == 1 && got[3] == 1 && got[8] == 1 && count == 3);
    CHECK_OK(text(".mtx", MM "COORDINATE Real Skew-Symmetric\r\n2 2 1\r\n2 1 4.5\r\n"), err);
    CHECK(got[2] == 4.5 && got[1] == -4.5);
    CHECK_OK(text(".mtx", MM "array real symmetric\n2 2\n1\n2\n3\n"), err);
    CHECK(got[0] == 1 && got[1] == 2 && got[2] == 2 && got[3] == 3);
    CHECK_OK(text(".mtx", MM "array real skew-symmetric\n3 3\n1\n2\n3\n"), err);
    CHECK(got[3] == 1 && got[6] == 2 && got[7] == 3 && got[1] == -1);
    CHECK_OK(text(".mtx", MM "coordinate real general\n5 0 0\n"), err);
}

TEST(mtx_of_graphblas_and_taco) {
    CHECK_OK(text(".mtx", MM "coordinate integer general\n%%GraphBLAS type uint8_t\n% c\n2 2 1\n1 2 7\n"), err);
    CHECK(got[1] == 7);
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n%%GraphBLAS type bool\n2 2 1\n1 2 7\n"), TRA_INPUT, err,
                "line 4: bool does not hold \"7\"");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n%%GraphBLAS type float complex\n2 2 1\n1 2 7\n"), TRA_INPUT,
                err, "line 2: \"float complex\" numbers have no place");
    const char *t = "%%MatrixMarket tensor coordinate real general\n%\n2 3 4 2\n2 3 4 1.5\n1 1 2 2\n";
    CHECK_OK(text(".ttx", t), err);
    CHECK(shape.n == 3 && shape.v[2] == 4 && got[23] == 1.5 && got[1] == 2 && count == 2);
}

/* ---- tns and edges --------------------------------------------------------------------------------------------- */

TEST(tns_headers) {
    CHECK_OK(text(".tns", "# c\n\n1 2 2 5\n2 1 1 -1e1\n"), err); /* FROSTT */
    CHECK(shape.n == 3 && shape.v[0] == 2 && shape.v[1] == 2 && got[3] == 5 && got[4] == -10 && count == 2);
    CHECK_OK(text(".tns", "# extended FROSTT format\n# c\n3 1\n2 3 4\n1 1 1 8"), err);
    CHECK(shape.n == 3 && shape.v[1] == 3 && got[0] == 8);
    CHECK_OK(text(".xyz", "sptensor\r\n3\r\n2 3 4\r\n1\r\n2 3 4 8\r\n"), err);
    CHECK(shape.n == 3 && shape.v[2] == 4 && got[23] == 8);
    CHECK_FAILS(text(".tns", "1 2 3\n0 1 1\n"), TRA_INPUT, err, "line 2: index 0 is below the first one, 1 (--base 0");
    CHECK_FAILS(text(".tns", "1 2 3\n1 1\n"), TRA_INPUT, err, "line 2 is not \"INDEX... VALUE\"");
    CHECK_FAILS(text(".tns", "1 2 3\n1 1 1 1\n"), TRA_INPUT, err, "line 2 is not");
    CHECK_FAILS(text(".tns", "1 2 x\n"), TRA_INPUT, err, "line 1: \"x\" is not a number");
    CHECK_FAILS(text(".tns", "# none\n"), TRA_INPUT, err, "has no entries");
    CHECK_FAILS(text(".tns", "7\n"), TRA_INPUT, err, "has 1 words");
    CHECK_FAILS(text(".tns", "99999999999999999999 1 1\n"), TRA_INPUT, err, "line 1 is not");
    CHECK_FAILS(text(".tns", "4000000000 4000000000 1\n"), TRA_INPUT, err, "more elements than any file can hold");
    CHECK_FAILS(text(".tns", "sptensor\n40\n"), TRA_INPUT, err, "a tensor of 40 dimensions");
    CHECK_FAILS(text(".tns", "sptensor\n3\n2 3\n"), TRA_INPUT, err, "ends in its header");
    CHECK_FAILS(text(".tns", "# extended FROSTT format\n2 2\n2 2\n1 1 1\n"), TRA_INPUT, err, "after 1 of 2 entries");
    CHECK_FAILS(text(".tns", "# extended FROSTT format\n2 1\n2 2\n1 3 1\n"), TRA_INPUT, err, "entry (1,3) is outside");
    tra_source_options o = defaults;
    const char *t = "0 0 3\n0 1 4\n";
    o.base = 0;
    CHECK_OK(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 1 && shape.v[1] == 2 && got[0] == 3 && got[1] == 4);
    o.has_shape = true;
    o.shape = (tra_dims){.n = 2, .v = {3, 3}};
    CHECK_OK(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 3 && shape.v[1] == 3 && got[1] == 4);
    o.shape = (tra_dims){.n = 2, .v = {3, 1}};
    CHECK_FAILS(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "line 2: entry (0,1) is outside the 3 x 1 matrix (indices begin at 0)");
}

/* They would be words of one line to who takes them for blanks. */
TEST(coordinates_in_lines_that_a_carriage_return_ends_alone) {
    static const struct {
        const char *suffix, *text;
    } lost[] = {{".tns", "1 1 5\r2 2 6\r"},
                {".tns", "1 1 5\n2 2 6\r3 3 7\n"},
                {".tns", "1 1 \r5\n"},
                {".tns", "# c\r1 1 5\n2 2 6\n"},
                {".tns", "1 1 5\n# c\r2 2 6\n"},
                {".edges", "0 1\r1 2\r"},
                {".edges", "0 1\r2\n"},
                {".mtx", MM "coordinate pattern general\n2 2 1\n1\r1\n"},
                {".mtx", MM "coordinate real general\n2 2 1\n1 1 5\r2 2 6\n"}};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        CHECK_FAILS(text(lost[i].suffix, lost[i].text), TRA_INPUT, err, "tr '\\r' '\\n'");
    CHECK_FAILS(text(".tns", "\r1 1 5\n2 2 6\n"), TRA_INPUT, err, "its first entry has 1 words");
    tra_source_options o = defaults;
    o.has_shape = true;
    o.shape = (tra_dims){.n = 2, .v = {3, 3}};
    const char *t = "# c\r1 1 5\r2 2 6\r"; /* nothing but a comment */
    CHECK_FAILS(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "tr '\\r' '\\n'");
    CHECK_OK(text(".tns", "\r\n1 1 5\r\r\n1 2 6 \r \r\n2 2 7\r"), err);
    CHECK(count == 3 && got[0] == 5 && got[1] == 6 && got[3] == 7);
    CHECK_FAILS(text(".tns", "sptensor\n2\n2 2\n1 1 1 5\n2 2 6\n"), TRA_INPUT, err, "line 4 goes on after the header");
}

TEST(edges_of_graphs) {
    CHECK_OK(text(".edges", "# c\n% c\n0\t2\n1 0 2.5\n"), err);
    CHECK(shape.n == 2 && shape.v[0] == 3 && shape.v[1] == 3 && got[2] == 1 && got[3] == 2.5);
    CHECK_FAILS(text(".edges", "0 1\n2\n"), TRA_INPUT, err, "line 2 is not \"FROM TO or FROM TO WEIGHT\"");
    CHECK_FAILS(text(".edges", "0 1 2 3\n"), TRA_INPUT, err, "line 1 is not");
    CHECK_FAILS(text(".edges", "-1 1\n"), TRA_INPUT, err, "index -1 is below");
    CHECK_STR(tra_format_sniff((const unsigned char *)"# FromNodeId ToNodeId\n", 22)->name, "edges");
}

TEST(mtx_refusals) {
    CHECK_FAILS(text(".mtx", MM "array complex general\n1 1\n1 0\n"), TRA_INPUT, err, "\"complex\"");
    CHECK_FAILS(text(".mtx", MM "coordinate real hermitian\n1 1 0\n"), TRA_INPUT, err, "\"hermitian\"");
    CHECK_FAILS(text(".mtx", "%%MatrixMarket vector array real general\n1\n1\n"), TRA_INPUT, err, "\"vector\"");
    CHECK_FAILS(text(".mtx", MM "array pattern general\n1 1\n"), TRA_INPUT, err, "coordinate files only");
    CHECK_FAILS(text(".mtx", "1 2 3\n"), TRA_INPUT, err, "line 1 is not");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2\n"), TRA_INPUT, err, "line 2 does not give the size");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n-2 2 0\n"), TRA_INPUT, err, "line 2 does not give the size");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n9999999999 9999999999 1\n"), TRA_INPUT, err, "too many");
    CHECK_FAILS(text(".mtx", MM "coordinate real symmetric\n2 3 0\n"), TRA_INPUT, err, "as many rows as columns");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n3 1 5\n"), TRA_INPUT, err,
                "line 3: entry (3,1) is outside");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n0 1 5\n"), TRA_INPUT, err,
                "line 3: entry (0,1) is outside");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 2\n1 1 5\n"), TRA_INPUT, err, "after 1 of 2 entries");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n1 1 5\n1 2 6\n"), TRA_INPUT, err, "line 4 goes on");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n1 1 x\n"), TRA_INPUT, err, "line 3: \"x\"");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n1 1\n"), TRA_INPUT, err, "line 3 is not");
    CHECK_FAILS(text(".mtx", MM "coordinate real skew-symmetric\n2 2 1\n1 1 3\n"), TRA_INPUT, err, "diagonal");
    CHECK_FAILS(text(".mtx", MM "array real general\n2 1\n1\n"), TRA_INPUT, err, "after 1 of 2 values");
    CHECK_FAILS(text(".mtx", MM "array real general\n2 1\n1\n2\n3\n"), TRA_INPUT, err, "goes on after the last");
}

/* ---- entries to blocks ----------------------------------------------------------------------------------------- */

static const tra_dims whole = {.n = 2, .v = {40, 30}};

/* Reads a file of the matrix `whole` by blocks of 7 x 4 to m, in little memory or in much; each block as rows too. */
static tra_status assemble(const char *file, int64_t size, const tra_entries_options *o, double m[40][30],
                           tra_sorter_counts *counts) {
    tra_source *s;
    tra_places p;
    tra_sorter *sorted = NULL;
    tra_dims block = {.n = 2, .v = {7, 4}}, key = {.n = 2}, ext;
    TRA_TRY(tra_source_open(file_of(".mtx", file, (size_t)size), NULL, &defaults, &s, &err));
    tra_places_of(&p, &whole, &block);
    tra_entries_options with = *o;
    with.memory += tra_entries_need(s, o->fine);
    tra_status status = tra_entries_sort(s, &p, &with, &sorted, &err);
    if (status == TRA_OK) status = tra_sorter_merge(sorted, with.memory, &err);
    do {
        double data[28];
        if (status == TRA_OK) status = tra_entries_dense(s, sorted, &p, &key, data, &err);
        if (status != TRA_OK) break;
        tra_place_block(&p, &key, &ext);
        for (int64_t i = 0; i < ext.v[0]; i++)
            for (int64_t j = 0; j < ext.v[1]; j++) m[key.v[0] * 7 + i][key.v[1] * 4 + j] = data[i * ext.v[1] + j];
    } while (tra_next(&p.frontier, &key));
    *counts = tra_sorter_counted(sorted);
    tra_sorter_free(sorted);
    tra_source_close(s);
    return status;
}

TEST(entries_spill_and_return) {
    tra_str t = {0};
    static double want[40][30], m[40][30];
    int n = 0, rounds = 100;
    tra_str_add(&t, MM "coordinate real general\n");
    for (int i = 0; i < 1200; i++) n += i % 3 != 1;
    tra_str_printf(&t, "40 30 %d\n", n * rounds);
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < 1200; k++) { /* in an order that has nothing to do with blocks */
            int i = (k + round) * 637 % 1200;
            if (i % 3 == 1) continue;
            want[i / 30][i % 30] += i + 0.5;
            tra_str_printf(&t, "%d %d %g\n", i / 30 + 1, i % 30 + 1, i + 0.5);
        }
    for (int spill = 0; spill < 2; spill++) {
        tra_sorter_counts c;
        memset(m, 0, sizeof m);
        CHECK_OK(
            assemble(t.s, (int64_t)t.n, &(tra_entries_options){.memory = spill ? 0 : 1 << 24, .output = path}, m, &c),
            err);
        CHECK_INT(c.spilled, spill ? n * rounds * 16 : 0);
        CHECK_INT(c.duplicates, n * (rounds - 1));
        CHECK_INT(c.kept, n);
        CHECK(memcmp(m, want, sizeof want) == 0);
    }
    tra_str_free(&t);
}

TEST(entries_twice_and_zeros) {
    const char *t = MM "coordinate real general\n40 30 5\n9 8 1\n2 2 2\n9 8 -1\n1 1 0\n40 30 3\n";
    double m[40][30];
    tra_sorter_counts c;
    int64_t n = (int64_t)strlen(t);
    CHECK_FAILS(assemble(t, n, &(tra_entries_options){.output = path, .no_duplicate = true}, m, &c), TRA_INPUT, err,
                "element (9,8) is given twice");
    CHECK_OK(assemble(t, n, &(tra_entries_options){.output = path}, m, &c), err);
    CHECK(c.kept == 4 && c.duplicates == 1 && m[8][7] == 0 && m[39][29] == 3);
    CHECK_OK(assemble(t, n, &(tra_entries_options){.output = path, .drop_zeros = true}, m, &c), err);
    CHECK(c.kept == 2 && c.dropped == 2);
}

TEST(places_are_the_order_of_blocks) {
    tra_dims shape3 = {.n = 3, .v = {5, 7, 9}}, block3 = {.n = 3, .v = {2, 3, 4}}, key = {.n = 3}, ext, at;
    tra_places p;
    uint64_t next = 0;
    tra_places_of(&p, &shape3, &block3);
    CHECK(!p.in_order);
    do {
        CHECK_INT((int64_t)tra_place_block(&p, &key, &ext), (int64_t)next);
        tra_dims in = {.n = 3};
        do {
            int64_t v[3];
            for (int d = 0; d < 3; d++) v[d] = key.v[d] * block3.v[d] + in.v[d];
            CHECK_INT((int64_t)tra_place_of(&p, v), (int64_t)next);
            tra_place_at(&p, next++, &at);
            CHECK(memcmp(at.v, v, sizeof v) == 0);
        } while (tra_next(&ext, &in));
    } while (tra_next(&p.frontier, &key));
    CHECK_INT((int64_t)next, 5 * 7 * 9);
}

TEST(items_are_sorted_by_place) {
    enum { N = 5000 };
    static tra_item a[N], b[N];
    for (uint64_t places = 1; places; places = places << 9 | 77) {
        for (int i = 0; i < N; i++) a[i] = (tra_item){random64() % places, {.whole = i}};
        tra_item *s = tra_radix_sort(a, b, N, sizeof *a, offsetof(tra_item, place));
        for (int i = 1; i < N; i++)
            CHECK(s[i - 1].place < s[i].place ||
                  (s[i - 1].place == s[i].place && s[i - 1].value.whole < s[i].value.whole));
        if (places >> 54) break;
    }
}

/* By two keys, few and many; digits that all have are left out, and what is in order stays where it is. */
TEST(items_are_sorted_by_several_keys) {
    enum { N = 3000 };
    typedef struct item {
        uint64_t high, low, i;
    } item;
    static item v[N], other[N];
    for (int n = 0; n <= N; n = n < 70 ? n + 1 : n * 3) {
        for (uint64_t i = 0; i < (uint64_t)n; i++)
            v[i] = (item){(random64() % 7) << 40 | 5, random64() % (1 + (uint64_t)n / 3), i};
        item *low = tra_radix_sort(v, other, n, sizeof *v, offsetof(item, low));
        item *s = tra_radix_sort(low, low == v ? other : v, n, sizeof *v, offsetof(item, high));
        for (int i = 1; i < n; i++) {
            const item *a = &s[i - 1], *b = &s[i];
            CHECK(a->high != b->high ? a->high < b->high : a->low != b->low ? a->low < b->low : a->i < b->i);
        }
        CHECK(tra_radix_sort(s, s == v ? other : v, n, sizeof *v, offsetof(item, high)) == s);
    }
}

/* Entries become rows: only those that have any, with their columns; blocks are chosen by where the entries are. */
TEST(entries_become_rows) {
    const char *t = MM "coordinate integer general\n40 30 4\n9 8 1\n2 2 2\n9 3 -4\n40 30 3\n";
    tra_source *s;
    tra_places p;
    tra_sorter *sorted;
    tra_dims block, key = {.n = 2};
    CHECK_OK(tra_source_open(file_of(".mtx", t, strlen(t)), NULL, &defaults, &s, &err), err);
    tra_places_of(&p, &whole, &whole);
    CHECK_OK(
        tra_entries_sort(s, &p, &(tra_entries_options){.memory = 1 << 20, .output = path, .fine = true}, &sorted, &err),
        err);
    tra_entries_block(sorted, &whole, false, &block);
    CHECK(block.v[0] == 40 && block.v[1] == 30);
    CHECK_INT(tra_sorter_count_in(sorted, 0, 1200), 4);
    CHECK_OK(tra_sorter_merge(sorted, 1 << 20, &err), err);
    tra_catalog cat;
    CHECK_OK(tra_catalog_blocks(&whole, &whole, &cat, &err), err);
    tra_type type = {.dtype = TRA_F64, .cat = &cat, .sparse = true, .layout = &tra_rows};
    int64_t room = tra_rows_room(TRA_F64, 4, 4), bytes;
    void *data = aligned_alloc(64, (size_t)(room + 63) / 64 * 64);
    tra_cell cell = tra_cell_new(&type, 0, data);
    CHECK_OK(tra_entries_rows(s, sorted, &p, &key, 4, &cell, &bytes, &err), err);
    CHECK_INT(bytes, tra_rows_room(TRA_F64, 3, 4));
    CHECK_OK(tra_rows_check(&cell, &err), err);
    tra_rows_view v = tra_rows_of(&cell);
    const double *x = (const double *)v.value;
    CHECK(v.nrows == 3 && v.n == 4 && v.row[0] == 1 && v.row[1] == 8 && v.row[2] == 39 && v.begin[1] == 1);
    CHECK(v.column[0] == 1 && v.column[1] == 2 && v.column[2] == 7 && v.column[3] == 29);
    CHECK(x[0] == 2 && x[1] == -4 && x[2] == 1 && x[3] == 3);
    free(data);
    tra_sorter_free(sorted);
    tra_source_close(s);
}

/* ---- which blocks ---------------------------------------------------------------------------------------------- */

/* Rows of which the first have most: n of 2^22 have a share of .76 to the power of how often 2^22 is halved to n. */
static int64_t most_crowded(const void *all, const tra_dims *block) {
    double share = 1;
    for (int64_t rows = 1 << 22; rows > block->v[0]; rows /= 2) share *= 0.76;
    return (int64_t)(*(const double *)all * share);
}

/* One row has them all. */
static int64_t most_alone(const void *all, const tra_dims *block) {
    return (int64_t)(*(const double *)all * (double)block->v[1] / (1 << 22));
}

static int64_t most_even(const void *all, const tra_dims *block) {
    return (int64_t)(*(const double *)all * (double)block->v[0] / (1 << 22));
}

TEST(blocks_go_by_where_entries_are) {
    tra_dims shape = {.n = 2, .v = {1 << 22, 1 << 22}}, b;
    double all = 2.79e8, few = 1e5, some = 3e7;
    tra_block_for_entries(&shape, (int64_t)all, true, most_even, &all, &b);
    CHECK_INT(b.v[0], 4096);
    CHECK_INT(b.v[1], 1 << 22);
    tra_block_for_entries(&shape, (int64_t)few, true, most_crowded, &few, &b);
    CHECK_INT(b.v[0], 1 << 22);
    tra_block_for_entries(&shape, (int64_t)all, false, most_crowded, &all, &b); /* none has more than four million */
    CHECK_INT(b.v[0], 64);
    CHECK(most_crowded(&all, &b) <= 1 << 22);
    tra_block_for_entries(&shape, (int64_t)all, true, most_crowded, &all, &b); /* or eight */
    CHECK_INT(b.v[0], 512);
    CHECK(most_crowded(&all, &b) <= 1 << 23);
    CHECK_INT(b.v[1], 1 << 22);
    tra_block_for_entries(&shape, (int64_t)some, true, most_crowded, &some, &b); /* which is no use to few blocks */
    CHECK(most_crowded(&some, &b) <= 1 << 22);
    /* a row that is too full by itself is no reason for millions of blocks; of a few rows each is cut */
    tra_block_for_entries(&shape, (int64_t)some, true, most_alone, &some, &b);
    CHECK(b.v[0] > 1 << 15 && b.v[1] == 1 << 22);
    shape.v[0] = 100;
    tra_block_for_entries(&shape, (int64_t)some, true, most_alone, &some, &b);
    CHECK_INT(b.v[0], 1);
    CHECK(most_alone(&some, &b) <= 1 << 22);
}
