/* Files of tables as another program or a damaged file may have them: elements of their arrays and tables, and their
 * attributes, are changed, and sealed again. Opened, read to their end and checked. */
#include "../../lib/tablefile/tablefile_int.h"
#include "bytes.h"
#include "../../lib/relation/store.h"

#include <signal.h>

static const char *const words[] = {"", "a", "b\"c", "Zoë"};

static void write_table(fuzz_bytes *b, const char *path) {
    tra_arena *a = tra_arena_new();
    int64_t len[4];
    for (int i = 0; i < 4; i++) len[i] = (int64_t)strlen(words[i]);
    const tra_dictionary *d = tra_dictionary_new(a, 4, words, len);
    tra_column columns[9];
    uint8_t values[9][8 * 20], state[20];
    tra_vector v[9];
    int64_t rows = 1 + fuzz_below(b, 20);
    for (int i = 0; i < 20; i++) state[i] = i % 3 == 0;
    for (int c = 0; c < 9; c++) {
        columns[c] = (tra_column){.name = tra_arena_printf(a, "c%d", c),
                                  .type = (tra_coltype)c,
                                  .nullable = fuzz_byte(b) & 1,
                                  .dict = tra_coltype_is_coded((tra_coltype)c) ? d : NULL};
        memset(values[c], 0, sizeof values[c]);
        for (int i = 0; i < 20; i++) values[c][i * (int)tra_coltype_size((tra_coltype)c)] = (uint8_t)(i % 2);
        v[c] = (tra_vector){values[c], columns[c].nullable ? state : NULL};
    }
    tra_schema s = {9, columns};
    tra_dims shape = {1, {rows}}, block = {1, {tra_min64(rows, 1 + fuzz_below(b, 8))}};
    tra_catalog c;
    tra_err e = {0};
    tra_writer *w;
    if (tra_catalog_blocks(&shape, &block, &c, &e) != TRA_OK) abort();
    tra_type t = {.dtype = TRA_F64, .cat = &c, .layout = &tra_columns, .columns = &s, .cut = {1}};
    tra_batch batch = {.schema = &s, .rows = rows, .v = v};
    if (tra_writer_create(path, &t, &(tra_write_options){0}, &w, &e) != TRA_OK ||
        tra_writer_place_rows(w, NULL, &e) != TRA_OK || tra_writer_put_rows(w, 0, &batch, &e) != TRA_OK ||
        tra_writer_commit(w, NULL, &e) != TRA_OK) {
        fprintf(stderr, "%s\n", e.msg);
        abort();
    }
    tra_arena_free(a);
}

static void seal(hid_t obj, const int64_t *v, int64_t n) {
    if (H5Aexists(obj, "tra_seal") > 0) H5Adelete(obj, "tra_seal");
    tra_h5_put_seal(obj, v, n);
}

/* Changes some elements of a dataset. A seal (checksum) that it has is mostly made anew. */
static void change_elements(fuzz_bytes *b, hid_t file, const char *path) {
    if (!tra_h5_exists(file, path)) return;
    hid_t dset = H5Dopen2(file, path, H5P_DEFAULT), space = dset >= 0 ? H5Dget_space(dset) : -1;
    int64_t n = H5Sget_simple_extent_npoints(space), *v = tra_calloc((size_t)tra_max64(n, 0) + 1, sizeof *v);
    if (n > 0 && H5Dread(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0) {
        for (int i = fuzz_below(b, 4); i >= 0; i--) {
            int64_t *one = &v[(fuzz_byte(b) * 256 + fuzz_byte(b)) % n];
            *one = (int64_t)((uint64_t)*one + (uint64_t)fuzz_int(b));
        }
        H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
        if (H5Aexists(dset, "tra_seal") > 0 && fuzz_below(b, 8)) seal(dset, v, n);
    }
    free(v);
    if (space >= 0) H5Sclose(space);
    if (dset >= 0) H5Dclose(dset);
}

static void change_attribute(fuzz_bytes *b, hid_t file) {
    static const char *const objects[] = {"data", "data/c0", "data/c3", "data/c5", "data/c6", "data/c7", "data/c8"};
    static const char *const names[] = {"tra_shape",     "tra_block", "tra_format", "tra_type", "tra_nulls",   "units",
                                        "encoding-type", "tra_name",  "_index",     "tra_seal", "column-order"};
    static const char *const texts[] = {"dataframe",
                                        "categorical",
                                        "nullable-integer",
                                        ".tra/data/nulls/3",
                                        "text",
                                        "days since 1970-01-01",
                                        "c1",
                                        "data/c1",
                                        "",
                                        "."};
    const char *path = objects[fuzz_below(b, 7)], *name = names[fuzz_below(b, 11)];
    if (!tra_h5_exists(file, path)) return;
    hid_t obj = H5Oopen(file, path, H5P_DEFAULT);
    if (H5Aexists(obj, name) > 0) H5Adelete(obj, name);
    int64_t v = fuzz_int(b);
    int how = fuzz_below(b, 3);
    if (how == 1) tra_h5_put_ints(obj, name, 0, NULL, &v);
    if (how == 2) tra_h5_put_text(obj, name, texts[fuzz_below(b, 10)]);
    H5Oclose(obj);
}

static void change(fuzz_bytes *b, const char *path) {
    static const char *const arrays[] = {"data/c0",
                                         "data/c1",
                                         "data/c1/values",
                                         "data/c1/mask",
                                         "data/c3",
                                         "data/c7/codes",
                                         "data/c8/codes",
                                         ".tra/data/xxh64",
                                         ".tra/data/blocks",
                                         ".tra/data/statistics",
                                         ".tra/data/frequencies",
                                         ".tra/data/histograms",
                                         ".tra/data/string_ends",
                                         ".tra/data/strings",
                                         ".tra/data/nulls/3",
                                         "data/c5/mask"};
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    for (int i = fuzz_below(b, 4); i >= 0; i--) {
        int what = fuzz_below(b, 4);
        const char *which = arrays[fuzz_below(b, 16)];
        if (what == 0)
            change_attribute(b, file);
        else if (what == 1 && tra_h5_exists(file, which))
            H5Ldelete(file, which, H5P_DEFAULT);
        else
            change_elements(b, file, which);
    }
    if (fuzz_below(b, 4) == 0) H5Ldelete(file, ".tra", H5P_DEFAULT);
    if (fuzz_below(b, 4) == 0) { /* without these attributes it is taken for another program's */
        hid_t group = H5Oopen(file, "data", H5P_DEFAULT);
        if (H5Aexists(group, "tra_seal") > 0) H5Adelete(group, "tra_seal");
        if (H5Aexists(group, "tra_format") > 0) H5Adelete(group, "tra_format");
        H5Oclose(group);
    }
    H5Fclose(file);
}

static tra_status read_all(tra_rel *r, tra_err *e) {
    const tra_type *t = tra_rel_type(r);
    int64_t room = tra_type_bytes_largest(t).bound;
    tra_arena *a = tra_arena_new();
    tra_status s = TRA_OK;
    tra_digest d = {0};
    if (room < 1 << 22) {
        tra_vector *v = tra_calloc((size_t)t->columns->n + 1, sizeof *v);
        void *block = NULL;
        if (posix_memalign(&block, 64, (size_t)room + 64) != 0) abort();
        for (int64_t i = 0; i < t->cat->n && s == TRA_OK && i < 100; i++) {
            tra_batch b = {.v = v};
            tra_cell cell;
            s = tra_rel_read(r, i, block, NULL, e);
            if (s != TRA_OK) break;
            if (tra_cell_of(t, i, block, room, &cell, e) != TRA_OK ||
                tra_columns_of(&cell, t->columns, &b, e) != TRA_OK) {
                fprintf(stderr, "a block that was read: %s\n", e->msg);
                abort();
            }
            b.schema = t->columns;
            tra_digest_rows(&d, 0, &b);
        }
        free(block);
        free(v);
    }
    for (int c = 0; c < t->columns->n; c++) {
        tra_column_facts f;
        tra_block_facts g;
        (void)!tra_rel_column_facts(r, c, &f);
        if (t->cat->n > 0) (void)!tra_rel_block_facts(r, c, t->cat->n - 1, &g, NULL);
    }
    if (s == TRA_OK) s = tra_rel_check(r, e);
    tra_arena_free(a);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    static char *path;
    tra_rel *r;
    tra_err e = {0};
    if (size > 1 << 12) return 0;
    tra_log_level = -1;
    if (!path) {
        setenv("TRA_THREADS", "1", 1);
        path = tra_asprintf("%s/a.h5", fuzz_dir());
    }
    write_table(&b, path);
    tra_h5_enter();
    change(&b, path);
    tra_h5_leave();
    tra_status s = tra_rel_open(path, NULL, &r, &e);
    if (s == TRA_OK) {
        if (tra_rel_is_table(r)) s = read_all(r, &e);
        tra_rel_close(r);
    }
    if (s != e.status || (s != TRA_OK && s != TRA_INPUT && s != TRA_RESOURCE)) {
        fprintf(stderr, "status %d: %s\n", (int)s, e.msg);
        abort();
    }
    return 0;
}
