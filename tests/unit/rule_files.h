/* rule_files.h - files that cases of rules read: of rules that ask files. */
#ifndef TRA_RULE_FILES_H
#define TRA_RULE_FILES_H

#include "../../lib/storage/stored.h"
#include "../../lib/tablefile/table_file.h"
#include "check.h"

#include <unistd.h>

/* A table in a file, `log`: 10 blocks of 10 rows, t ascending, x anything, word "no" in the first half; for rules that
 * ask files. */
static char log_path[256];
static void remove_log(void) { (void)unlink(log_path); }

static const char *log_file(void) {
    enum { ROWS = 100, BLOCK = 10 };
    char *path = log_path;
    if (path[0]) return path;
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const tra_dictionary *d = tra_dictionary_new(a, 2, (const char *[]){"no", "yes"}, (int64_t[]){2, 3});
    tra_column c[] = {{.name = "t", .type = TRA_COL_I32},
                      {.name = "x", .type = TRA_COL_F64, .nullable = true},
                      {.name = "word", .type = TRA_COL_STRING, .dict = d}};
    int32_t t[ROWS], word[ROWS];
    double x[ROWS];
    uint8_t state[ROWS];
    for (int i = 0; i < ROWS; i++) {
        t[i] = i, word[i] = i >= ROWS / 2;
        x[i] = i % 7, state[i] = i % 5 == 0;
    }
    tra_schema s = {3, c};
    tra_dims shape = {1, {ROWS}}, block = {1, {BLOCK}};
    tra_catalog *cat = tra_new(a, tra_catalog);
    CHECK_OK(tra_catalog_blocks(&shape, &block, cat, &e), e);
    tra_type type = {.dtype = TRA_F64, .cat = cat, .layout = &tra_columns, .columns = &s, .cut = {1}};
    tra_vector v[] = {{t, NULL}, {x, state}, {word, NULL}};
    tra_writer *w;
    atexit(remove_log);
    snprintf(path, sizeof log_path, "%s/tra-rules-log-%d.h5", check_folder(), (int)getpid());
    CHECK_OK(tra_writer_create(path, &type, &(tra_write_options){0}, &w, &e), e);
    CHECK_OK(tra_writer_place_rows(w, NULL, &e), e);
    CHECK_OK(tra_writer_put_rows(w, 0, &(tra_batch){&s, ROWS, v}, &e), e);
    CHECK_OK(tra_writer_commit(w, NULL, &e), e);
    tra_arena_free(a);
    return path;
}

/* Matrices in files: `wide` by columns, `tall` by rows. */
static char matrix_path[2][256];
static void remove_matrices(void) {
    for (int i = 0; i < 2; i++) (void)unlink(matrix_path[i]);
}

static void write_matrix(const char *path, const char *storage) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_dims shape = {2, {2, 3}};
    tra_catalog *cat = tra_new(a, tra_catalog);
    CHECK_OK(tra_catalog_blocks(&shape, &shape, cat, &e), e);
    tra_type type = {.dtype = TRA_F64, .cat = cat, .sparse = true, .cut = {1, 2}};
    tra_levels levels;
    CHECK_OK(tra_levels_parse(storage, 2, &levels, &e), e);
    double v[] = {1, 0, 2, 0, 0, 3};
    int64_t counts[2];
    tra_cell cell = tra_cell_new(&type, 0, v);
    void *scratch = tra_malloc((size_t)tra_stored_scratch(&levels, 6));
    CHECK_OK(tra_stored_count(&levels, &shape, &cell, counts, scratch, &e), e);
    tra_writer *w;
    CHECK_OK(tra_writer_create(path, &type, &(tra_write_options){.levels = &levels}, &w, &e), e);
    CHECK_OK(tra_writer_place(w, counts, &e), e);
    void *more = tra_malloc(tra_writer_scratch_bytes(w));
    CHECK_OK(tra_writer_put(w, 0, v, more, &e), e);
    CHECK_OK(tra_writer_commit(w, NULL, &e), e);
    free(more);
    free(scratch);
    tra_arena_free(a);
}

static const char *matrix_files(tra_arena *a) {
    for (int i = 0; i < 2 && !matrix_path[i][0]; i++) {
        snprintf(matrix_path[i], sizeof *matrix_path, "%s/tra-rules-%d-%d.h5", check_folder(), i, (int)getpid());
        write_matrix(matrix_path[i], i ? "csr" : "csc");
        if (i == 0) atexit(remove_matrices);
    }
    return tra_arena_printf(a, "input wide from \"%s\"\ninput tall from \"%s\"\n", matrix_path[0], matrix_path[1]);
}

#endif
