/* Products of rows by compiled loops: the bits of those of lib/sparse/product.c. */
#include "rows_util.h"

#include "../../lib/sparse/generated.h"

#include <unistd.h>

static char folder[256];

/* The product of two cells as rows; *kept: was it by compiled loops (they may count more than there is)? */
static tra_cell product(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_dims *ext) {
    tra_cell out = {.layout = &tra_rows, .sparse = true, .array = {.dtype = TRA_F64, .ext = *ext}};
    tra_type ta = {.dtype = TRA_F64, .layout = &tra_rows}, tb = ta;
    int64_t n = tra_cell_scratch(k, TRA_USE_JOIN, &ta, &a->array.ext, &tb, &b->array.ext, &tra_rows);
    void *scratch = aligned_alloc(64, (size_t)(n + 63) / 64 * 64 + 64);
    int64_t bytes = tra_cell_join_bytes(k, a, b, &out, scratch);
    out.head = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    tra_cell_join(k, a, b, &out, scratch);
    CHECK(tra_cell_bytes(&out) <= bytes);
    free(scratch);
    return out;
}

static tra_cell random_rows(const tra_dims *ext, int percent, bool wild) {
    int64_t box = tra_rows_box(ext), columns = ext->v[ext->n - 1];
    tra_cell c = {.layout = &tra_rows, .sparse = true, .array = {.dtype = TRA_F64, .ext = *ext}};
    c.head = aligned_alloc(64, (size_t)(tra_rows_room(TRA_F64, box, box * columns) + 63) / 64 * 64);
    tra_rows_maker m = tra_rows_make(&c, box, box * columns);
    for (int64_t r = 0; r < box; r++) {
        tra_rows_open(&m, r);
        for (int64_t j = 0; j < columns; j++)
            if (chance(percent))
                *(double *)tra_rows_next(&m, (uint32_t)j) = wild && chance(3)    ? (chance(50) ? NAN : INFINITY)
                                                            : wild && chance(10) ? 0
                                                                                 : (double)check_draw(1000) / 7 - 70;
        tra_rows_close(&m);
    }
    tra_rows_made(&m);
    return c;
}

static void same_cells(int line, const tra_cell *a, const tra_cell *b) {
    tra_rows_view x = tra_rows_of(a), y = tra_rows_of(b);
    bool same = x.nrows == y.nrows && x.n == y.n;
    same = same && memcmp(x.row, y.row, (size_t)x.nrows * 8) == 0;
    same = same && memcmp(x.begin, y.begin, (size_t)(x.nrows + 1) * 8) == 0;
    same = same && memcmp(x.column, y.column, (size_t)x.n * 4) == 0;
    for (int64_t i = 0; same && i < x.n; i++) {
        double u = ((double *)x.value)[i], v = ((double *)y.value)[i];
        same = isnan(u) ? isnan(v) : memcmp(&u, &v, 8) == 0;
    }
    if (!same)
        check_report("line %d: %" PRId64 " entries in %" PRId64 " rows, not %" PRId64 " in %" PRId64, line, x.n,
                     x.nrows, y.n, y.nrows);
}

/* rank: of the operands; which loops are to take it. */
static void compare(int line, const char *text, int na, const int64_t *a_ext, int nb, const int64_t *b_ext,
                    tra_generated wanted) {
    tra_arena *a = tra_arena_new();
    tra_dims ea = {.n = na}, eb = {.n = nb}, out;
    tra_type type = {.dtype = TRA_F64, .layout = &tra_rows};
    tra_err e = {0};
    const tra_kernel *k;
    memcpy(ea.v, a_ext, (size_t)na * 8);
    memcpy(eb.v, b_ext, (size_t)nb * 8);
    CHECK_INT(tra_kernel_einsum(a, text, &k, &e), TRA_OK);
    CHECK_INT(tra_kernel_shape2(k, &ea, &eb, &ea, &eb, &out, NULL, &e), TRA_OK);
    CHECK_INT(tra_generated_of(k, &type, &ea, &type, &eb, &type), wanted);
    for (int i = 0; i < 12; i++) {
        tra_cell x = random_rows(&ea, 5 + 30 * (i % 3), i % 2), y = random_rows(&eb, 5 + 25 * (i % 4), i % 2);
        tra_codegen *g = tra_codegen_open(TRA_CODEGEN_REQUIRE);
        tra_cell slow = product(k, &x, &y, &out);
        if (wanted != TRA_GENERATED_NONE) CHECK_INT(tra_generated_make(g, wanted, true, &e), TRA_OK);
        tra_cell fast = product(k, &x, &y, &out);
        same_cells(line, &fast, &slow);
        tra_generated_end();
        tra_codegen_close(g);
        free(x.head), free(y.head), free(slow.head), free(fast.head);
    }
    tra_arena_free(a);
}
#define COMPARE(text, a, b, form) compare(__LINE__, text, sizeof(a) / 8, a, sizeof(b) / 8, b, form)
#define EXT(...)                  ((const int64_t[]){__VA_ARGS__})

TEST(products_are_the_same) {
    snprintf(folder, sizeof folder, "%s/tra-generated-%ld", check_folder(), (long)getpid());
    setenv("TRA_CACHE", folder, 1);
    COMPARE("ik,kj->ij", EXT(9, 13), EXT(13, 70), TRA_GENERATED_ONE);
    COMPARE("ik,kj->ij", EXT(40, 5), EXT(5, 5000), TRA_GENERATED_ONE);
    COMPARE("aik,kj->aij", EXT(3, 4, 7), EXT(7, 11), TRA_GENERATED_ONE);
    COMPARE("ikl,klj->ij", EXT(5, 3, 4), EXT(3, 4, 9), TRA_GENERATED_SEVERAL);
    COMPARE("kj,ik->ij", EXT(13, 7), EXT(9, 13), TRA_GENERATED_ONE);
    COMPARE("k,kj->j", EXT(13), EXT(13, 9), TRA_GENERATED_ONE);
}

TEST(other_products_are_left_alone) {
    COMPARE("ki,kj->ij", EXT(13, 9), EXT(13, 7), TRA_GENERATED_NONE);
    COMPARE("ik,jk->ij", EXT(9, 13), EXT(7, 13), TRA_GENERATED_NONE);
    COMPARE("ikl,lkj->ij", EXT(5, 3, 4), EXT(4, 3, 9), TRA_GENERATED_NONE);
    COMPARE("ij,ij->ij", EXT(9, 13), EXT(9, 13), TRA_GENERATED_NONE);
}

TEST(their_source_is_shown) {
    tra_str plan = {0}, c = {0};
    tra_err e = {0};
    CHECK_INT(tra_generated_source(TRA_GENERATED_ONE, &plan, &c, &e), TRA_OK);
    CHECK(strstr(tra_str_get(&plan), "@dense k -> q + 1") != NULL);
    CHECK(strstr(tra_str_get(&c), "int tra_kernel(") != NULL);
    tra_str_free(&plan);
    tra_str_free(&c);
    tra_remove_files_of(folder);
}
