/* test_columns.c - dictionaries, schemas, and blocks of rows: what is laid out is decoded, what is damaged is refused.
 */
#include "../../lib/model/columns.h"
#include "../../lib/model/string_set.h"
#include "check.h"

static tra_arena *arena;

static const tra_dictionary *dictionary(int n, const char *const *s) {
    int64_t len[16];
    for (int i = 0; i < n; i++) len[i] = (int64_t)strlen(s[i]);
    return tra_dictionary_new(arena, n, s, len);
}

TEST(types_have_names) {
    tra_coltype t;
    for (int i = TRA_COL_BOOL; i <= TRA_COL_TEXT; i++) {
        CHECK(tra_coltype_parse(tra_coltype_name((tra_coltype)i), &t));
        CHECK_INT(t, i);
        CHECK(strstr(tra_coltype_choices(), tra_coltype_name((tra_coltype)i)));
    }
    CHECK(!tra_coltype_parse("i16", &t));
    CHECK_INT(tra_coltype_size(TRA_COL_DATE), 4);
    CHECK_INT(tra_coltype_size(TRA_COL_TIMESTAMP), 8);
}

TEST(dictionaries_are_found_in_and_united) {
    arena = tra_arena_new();
    const tra_dictionary *a = dictionary(3, (const char *[]){"", "b", "\xc3\xa9"});
    const tra_dictionary *b = dictionary(3, (const char *[]){"zz", "b", "aa"}), *both[2] = {a, b};
    int32_t *map[2];
    CHECK(a->sorted);
    CHECK(!b->sorted);
    CHECK_INT(tra_dictionary_find(a, "b", 1), 1);
    CHECK_INT(tra_dictionary_find(a, "bb", 2), -1);
    CHECK_INT(tra_dictionary_find(b, "aa", 2), 2);
    const tra_dictionary *u = tra_dictionary_union(arena, 2, both, map);
    CHECK_INT(u->n, 5);
    CHECK(u->sorted);
    for (int i = 0; i < 2; i++) {
        for (int64_t c = 0; c < both[i]->n; c++) {
            int64_t n, m;
            const char *s = tra_dictionary_at(both[i], c, &n), *t = tra_dictionary_at(u, map[i][c], &m);
            CHECK_INT(tra_bytes_cmp(s, n, t, m), 0);
        }
    }
    tra_err e = {0};
    tra_dictionary wrong = *b;
    wrong.sorted = true;
    CHECK_OK(tra_dictionary_check(b, &e), e);
    CHECK_INT(tra_dictionary_check(&wrong, &e), TRA_INPUT);
    tra_arena_free(arena);
}

/* n strings of up to `most` values: in their order, or in any; as a sorted dictionary, and with one more as a union. */
static void check_distinct(int64_t n, int64_t most, bool up) {
    arena = tra_arena_new();
    const char **s = tra_news(arena, const char *, n + 1);
    int64_t *len = tra_news(arena, int64_t, n + 1), k, m;
    int32_t *code = tra_news(arena, int32_t, n + 1), *map[2];
    uint64_t chance = 17;
    int64_t v = 0;
    for (int64_t i = 0; i < n; i++) {
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (up || i % 5 != 3) v = up ? i * most / n : (int64_t)((chance >> 33) % (uint64_t)most); /* or as before */
        s[i] = v == 0 ? "" : tra_arena_printf(arena, up ? "a common beginning %09d" : "%d of a common end", (int)v);
        len[i] = (int64_t)strlen(s[i]) - (!up && v % 7 == 3);
    }
    const tra_dictionary *raw = tra_dictionary_new(arena, n, s, len);
    const tra_dictionary *d = tra_strings_distinct(arena, n, raw->begin, raw->bytes, code), *both[2] = {raw, d};
    tra_err e = {0};
    CHECK(d->sorted);
    CHECK_OK(tra_dictionary_check(d, &e), e);
    bool *used = tra_news(arena, bool, d->n + 1);
    int64_t wrong = 0, longest = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *t = tra_dictionary_at(d, code[i], &k);
        wrong += k != len[i] || memcmp(t, s[i], (size_t)k) != 0;
        used[code[i]] = true;
        longest = tra_max64(longest, k);
    }
    for (int64_t i = 0; i < d->n; i++) wrong += !used[i];
    CHECK_INT(wrong, 0);
    CHECK_INT(d->longest, longest);
    const tra_dictionary *u = tra_dictionary_union(arena, 2, both, map);
    CHECK(tra_dictionary_eq(u, d));
    for (int64_t i = 0; i < n; i++) wrong += map[0][i] != code[i];
    both[0] = dictionary(2, (const char *[]){"a common", "z"});
    u = tra_dictionary_union(arena, 2, both, map);
    CHECK_OK(tra_dictionary_check(u, &e), e);
    CHECK_INT(u->n, d->n + 2);
    for (int64_t i = 0; i < d->n; i++) {
        const char *t = tra_dictionary_at(d, i, &k), *v = tra_dictionary_at(u, map[1][i], &m);
        wrong += k != m || memcmp(t, v, (size_t)k) != 0;
    }
    CHECK_INT(wrong, 0);
    tra_arena_free(arena);
}

TEST(strings_in_any_order_become_a_sorted_dictionary) {
    static const int64_t n[] = {0, 1, 2, 25, 1000, 70000};
    for (int i = 0; i < 6; i++) {
        check_distinct(n[i], tra_max64(1, n[i]), true);
        check_distinct(n[i], tra_max64(1, n[i] / 3), true);
        check_distinct(n[i], 1 << 20, false);
        check_distinct(n[i], 50, false);
    }
}

/* Rows of three columns: i64, bool with NULLs, string. */
static tra_schema some_schema(void) {
    tra_column *c = tra_news(arena, tra_column, 3);
    c[0] = (tra_column){.name = "n", .type = TRA_COL_I64};
    c[1] = (tra_column){.name = "flag", .type = TRA_COL_BOOL, .nullable = true};
    c[2] = (tra_column){.name = "s", .type = TRA_COL_STRING, .dict = dictionary(2, (const char *[]){"left", "right"})};
    return (tra_schema){3, c};
}

static void fill(tra_batch *b) {
    for (int64_t r = 0; r < b->rows; r++) {
        ((int64_t *)b->v[0].values)[r] = r * r;
        ((uint8_t *)b->v[1].values)[r] = r % 3 == 0;
        b->v[1].state[r] = r % 3 == 1;
        ((int32_t *)b->v[2].values)[r] = r % 2;
    }
}

TEST(rows_are_decoded_also_after_they_were_cut) {
    arena = tra_arena_new();
    tra_schema s = some_schema();
    tra_catalog cat;
    tra_err e = {0};
    CHECK_OK(tra_catalog_blocks(&(tra_dims){1, {100}}, &(tra_dims){1, {100}}, &cat, &e), e);
    tra_type t = {.dtype = TRA_BOOL, .cat = &cat, .layout = &tra_columns, .columns = &s, .bounded = true, .cut = {1}};
    int64_t room = tra_columns_room(&s, 100), left[] = {100, 99, 64, 1, 0};
    CHECK_INT(tra_type_bytes(&t, 0).bound, room);
    CHECK(!tra_type_bytes(&t, 0).exact);
    void *block = aligned_alloc(64, (size_t)(room + 63) / 64 * 64);
    for (int i = 0; i < 5; i++) {
        tra_vector v[3];
        tra_batch b = {.v = v};
        tra_cell c = tra_cell_new(&t, 0, block), got;
        tra_columns_begin(&c, &s, 100, &b);
        CHECK_INT(tra_cell_bytes(&c), room);
        fill(&b);
        int64_t bytes = tra_columns_end(&c, &s, left[i], NULL);
        CHECK_INT(bytes, tra_columns_room(&s, left[i]));
        CHECK_OK(tra_cell_of(&t, 0, block, bytes, &got, &e), e);
        CHECK_INT(got.array.ext.v[0], left[i]);
        CHECK_OK(tra_columns_of(&got, &s, &b, &e), e);
        CHECK_INT(b.rows, left[i]);
        for (int64_t r = 0; r < b.rows; r++) {
            CHECK_INT(((int64_t *)b.v[0].values)[r], r * r);
            CHECK_INT(b.v[1].state[r], r % 3 == 1);
            CHECK_INT(((int32_t *)b.v[2].values)[r], r % 2);
        }
    }
    free(block);
    tra_arena_free(arena);
}

TEST(damaged_rows_are_refused) {
    arena = tra_arena_new();
    tra_schema s = some_schema();
    tra_catalog cat;
    tra_err e = {0};
    CHECK_OK(tra_catalog_blocks(&(tra_dims){1, {10}}, &(tra_dims){1, {10}}, &cat, &e), e);
    tra_type t = {.dtype = TRA_BOOL, .cat = &cat, .layout = &tra_columns, .columns = &s, .cut = {1}};
    int64_t room = tra_columns_room(&s, 10);
    CHECK(tra_type_bytes(&t, 0).exact);
    char *block = aligned_alloc(64, 4096);
    for (int what = 0; what < 6; what++) {
        tra_vector v[3];
        tra_batch b = {.v = v};
        tra_cell c = tra_cell_new(&t, 0, block), got;
        tra_columns_begin(&c, &s, 10, &b);
        fill(&b);
        int64_t *dir = tra_cell_data(&c, 0);
        if (what == 1) dir[0] = 11;
        if (what == 2) dir[3] = 1 << 20;
        if (what == 3) ((int32_t *)b.v[2].values)[9] = 2;
        if (what == 4) b.v[1].state[4] = 3;
        if (what == 5) ((uint8_t *)b.v[1].values)[0] = 2;
        tra_status st = tra_cell_of(&t, 0, block, room, &got, &e);
        if (st == TRA_OK) st = tra_columns_of(&got, &s, &b, &e);
        CHECK_INT(st, what == 0 ? TRA_OK : TRA_INPUT);
        e = (tra_err){0};
    }
    free(block);
    tra_arena_free(arena);
}

TEST(an_array_says_how_many_rows_it_has) {
    tra_catalog cat;
    tra_err e = {0};
    tra_cell got;
    CHECK_OK(tra_catalog_blocks(&(tra_dims){2, {8, 3}}, &(tra_dims){2, {8, 3}}, &cat, &e), e);
    tra_type t = {.dtype = TRA_F64, .cat = &cat, .layout = &tra_counted, .bounded = true, .cut = {1, 2}};
    void *block = aligned_alloc(64, 4096);
    tra_cell c = tra_cell_new(&t, 0, block);
    CHECK_INT(tra_type_bytes(&t, 0).bound, tra_counted_room(TRA_F64, &cat.bound));
    tra_counted_begin(&c, &(tra_dims){2, {5, 3}});
    for (int i = 0; i < 15; i++) ((double *)c.array.data)[i] = i;
    int64_t bytes = tra_cell_bytes(&c);
    CHECK_OK(tra_cell_of(&t, 0, block, bytes, &got, &e), e);
    CHECK_INT(got.array.ext.v[0], 5);
    CHECK_INT(((double *)got.array.data)[14], 14);
    *(int64_t *)tra_cell_data(&got, 0) = 6;
    CHECK_INT(tra_cell_of(&t, 0, block, bytes, &got, &e), TRA_INPUT);
    free(block);
}
