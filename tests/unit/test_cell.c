/* test_cell.c - blocks that are not dense: what they take, what is laid out is decoded, and what is damaged is refused.
 */
#include "../../lib/model/rows.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Entries of an array: how many there are depends on the data. */
static tra_size entries_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows) {
    int64_t n = entries.bound, each[2] = {4, (int64_t)tra_dtype_size(t->dtype)};
    (void)ext, (void)rows;
    int64_t none[2] = {0, 0}, all[2] = {n, n};
    return (tra_size){.expected = tra_cell_room(2, none, each), .bound = tra_cell_room(2, all, each)};
}
static const tra_layout entries = {.name = "entries", .id = 77, .nparts = 2, .bytes = entries_bytes};

static tra_catalog cat;
static tra_type type_of(int64_t rows, int64_t columns, int64_t r, int64_t c) {
    tra_err e = {0};
    CHECK_OK(tra_catalog_blocks(&(tra_dims){2, {rows, columns}}, &(tra_dims){2, {r, c}}, &cat, &e), e);
    return (tra_type){.dtype = TRA_F64, .cat = &cat, .layout = &entries, .cut = {1, 2}};
}

TEST(sizes_are_those_of_the_tuples) {
    for (int64_t rows = 1; rows < 9; rows++) {
        tra_type t = type_of(rows, 7, 3, 4);
        tra_size all = {.exact = true}, largest = {0};
        for (int64_t i = 0; i < cat.n; i++) {
            tra_size s = tra_type_bytes(&t, i);
            all = tra_size_add(all, s);
            if (s.bound > largest.bound) largest = s;
            CHECK(tra_type_bytes_of(&t, tra_catalog_elements_of(&cat, i)).bound >= s.bound);
        }
        CHECK_INT(tra_type_bytes_all(&t).bound, all.bound);
        CHECK_INT(tra_type_bytes_all(&t).expected, all.expected);
        CHECK(!tra_type_bytes_all(&t).exact);
        CHECK_INT(tra_type_bytes_largest(&t).bound, largest.bound);
        tra_size some = tra_type_bytes_of(&t, tra_catalog_elements(&cat));
        CHECK(some.bound >= all.bound);
        CHECK(some.expected <= some.bound);
        t.layout = NULL;
        CHECK_INT(tra_type_bytes_all(&t).bound, rows * 7 * 8);
        CHECK(tra_type_bytes_all(&t).exact);
    }
}

static const int64_t each[2] = {4, 8};

TEST(what_is_laid_out_is_decoded_also_after_it_was_trimmed) {
    tra_type t = type_of(3, 4, 3, 4);
    tra_err e = {0};
    tra_dims ext;
    tra_cell c, got;
    int64_t most[2] = {12, 12}, few[2] = {5, 5}, room = tra_cell_room(2, most, each);
    void *block = aligned_alloc(64, 4096);
    tra_catalog_ext(&cat, 0, &ext);
    CHECK(room <= 4096);
    c = tra_cell_new(&t, 0, block);
    tra_cell_begin(&c, most, each);
    CHECK_INT(tra_cell_bytes(&c), room);
    for (int i = 0; i < 12; i++)
        ((int32_t *)tra_cell_data(&c, 0))[i] = i, ((double *)tra_cell_data(&c, 1))[i] = i + 0.5;
    CHECK_OK(tra_cell_of(&t, 0, block, room, &got, &e), e);
    int64_t left = tra_cell_trim(&c, few);
    CHECK_INT(left, tra_cell_room(2, few, each));
    CHECK(left < room);
    CHECK_OK(tra_cell_of(&t, 0, block, left, &got, &e), e);
    CHECK_INT(tra_cell_count(&got, 1), 5);
    CHECK(tra_dims_eq(&got.array.ext, &ext));
    for (int i = 0; i < 5; i++) {
        CHECK_INT(((int32_t *)tra_cell_data(&got, 0))[i], i);
        CHECK(((double *)tra_cell_data(&got, 1))[i] == i + 0.5);
        CHECK((uintptr_t)tra_cell_data(&got, 1) % TRA_CELL_ALIGN == 0);
    }
    int64_t none[2] = {0, 0};
    left = tra_cell_trim(&c, none);
    CHECK_OK(tra_cell_of(&t, 0, block, left, &got, &e), e);
    free(block);
}

/* Whatever stands in a header, what is accepted lies in the block. */
TEST(damaged_headers_are_refused_or_harmless) {
    tra_type t = type_of(3, 4, 3, 4);
    tra_cell c, got;
    const int64_t count[2] = {5, 5};
    int64_t bytes = tra_cell_room(2, count, each), refused = 0;
    char *block = aligned_alloc(64, 4096), *copy = aligned_alloc(64, 4096);
    memset(block, 0, 4096);
    c = tra_cell_new(&t, 0, block);
    tra_cell_begin(&c, count, each);
    for (int64_t at = 0; at < (int64_t)offsetof(tra_cell_head, part[2]); at++) {
        for (int bit = 0; bit < 8; bit++) {
            tra_err e = {0};
            memcpy(copy, block, 4096);
            copy[at] ^= (char)(1 << bit);
            if (tra_cell_of(&t, 0, copy, bytes, &got, &e) != TRA_OK) {
                CHECK_INT(e.status, TRA_INPUT);
                CHECK(strstr(e.msg, "the block of <0,0>") != NULL);
                refused++;
                continue;
            }
            CHECK(tra_cell_bytes(&got) <= bytes);
            for (int i = 0; i < 2; i++) {
                const tra_cell_part *p = &got.head->part[i];
                CHECK(p->count >= 0 && p->each > 0 && p->offset % TRA_CELL_ALIGN == 0);
                CHECK(p->offset + p->count * p->each <= bytes);
            }
        }
    }
    CHECK(refused > 400); /* of 512; counts of less are possible ones */
    for (int64_t n = 0; n < bytes; n++) {
        tra_err e = {0};
        CHECK_INT(tra_cell_of(&t, 0, block, n, &got, &e), TRA_INPUT);
    }
    tra_err e = {0};
    t.layout = NULL;
    CHECK_OK(tra_cell_of(&t, 0, block, 96, &got, &e), e);
    CHECK_INT(tra_cell_of(&t, 0, block, 95, &got, &e), TRA_INPUT);
    free(block);
    free(copy);
}

TEST(rows_are_made_trimmed_and_checked) {
    tra_type t = type_of(4, 5, 4, 5);
    tra_err e = {0};
    t.layout = &tra_rows;
    int64_t room = tra_rows_room(TRA_F64, 4, 20);
    tra_cell c = tra_cell_new(&t, 0, aligned_alloc(64, (size_t)(room + 63) / 64 * 64));
    tra_rows_maker m = tra_rows_make(&c, 4, 20);
    for (int64_t r = 0; r < 4; r++) {
        tra_rows_open(&m, r);
        for (uint32_t k = 0; r != 2 && k <= r; k++) memcpy(tra_rows_next(&m, k), &(double){(double)(10 * r + k)}, 8);
        tra_rows_close(&m);
    }
    int64_t bytes = tra_rows_made(&m);
    CHECK_INT(bytes, tra_rows_room(TRA_F64, 3, 7));
    CHECK_INT(bytes, tra_cell_bytes(&c));
    CHECK_OK(tra_rows_check(&c, &e), e);
    tra_rows_view v = tra_rows_of(&c);
    CHECK_INT(v.nrows, 3);
    CHECK_INT(v.row[2], 3);
    CHECK_INT(v.begin[2], 3);
    CHECK_INT(v.begin[3], 7);
    CHECK(((double *)(void *)v.value)[6] == 33);
    v.column[4] = v.column[3];
    CHECK_INT(tra_rows_check(&c, &e), TRA_INPUT);
    v.column[4] = 5, v.column[5] = 6, v.column[6] = 7;
    CHECK_INT(tra_rows_check(&c, &e), TRA_INPUT);
    v.column[4] = 1, v.column[5] = 2, v.column[6] = 3, v.row[1] = 0;
    CHECK_INT(tra_rows_check(&c, &e), TRA_INPUT);
    free(c.head);
}

TEST(entries_that_are_known_tell_what_tuples_take) {
    tra_type t = type_of(7, 5, 4, 5);
    tra_arena *a = tra_arena_new();
    int64_t of[2] = {3, 0}, rows[2] = {2, 0};
    t.layout = &tra_rows;
    t.sparse = true;
    t.entries = tra_entries_exactly(a, &t, of, rows);
    CHECK_INT(tra_type_bytes(&t, 0).bound, tra_rows_room(TRA_F64, 2, 3));
    CHECK_INT(tra_type_bytes(&t, 1).bound, tra_rows_room(TRA_F64, 0, 0));
    CHECK_INT(tra_type_bytes_all(&t).bound, tra_rows_room(TRA_F64, 2, 3) + tra_rows_room(TRA_F64, 0, 0));
    CHECK_INT(tra_type_bytes_largest(&t).bound, tra_rows_room(TRA_F64, 2, 3));
    CHECK(tra_type_bytes_all(&t).exact);
    CHECK_INT(tra_type_entries(&t).bound, 3);
    t.entries = tra_entries_about(a, &t, 3.5, 6, 4);
    CHECK(!tra_type_bytes(&t, 0).exact);
    CHECK_INT(tra_type_bytes(&t, 0).bound, tra_rows_room(TRA_F64, 4, 4));
    CHECK(tra_type_bytes_all(&t).bound <= tra_rows_room(TRA_F64, 6, 6) + 2 * tra_rows_room(TRA_F64, 0, 0));
    CHECK(tra_type_bytes_all(&t).expected < tra_type_bytes_all(&t).bound);
    tra_arena_free(a);
}
