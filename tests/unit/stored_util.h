/* stored_util.h - sparse relations to store by levels: their values, writing them, reading them back. */
#ifndef TRA_STORED_UTIL_H
#define TRA_STORED_UTIL_H

#include "../../lib/model/rows.h"
#include "../../lib/storage/stored.h"
#include "store_util.h"

/* An element in about `every` is not 0. */
static inline double sparse_value(int64_t ordinal, int64_t i, int every) {
    uint64_t x = (uint64_t)(ordinal * 1000003 + i) * 0x9e3779b97f4a7c15u;
    if ((x >> 40) % (unsigned)every != 0) return 0;
    return (double)((x >> 20) % 100) + 1;
}

static inline void make_sparse(const tra_type *t, int64_t ordinal, int every, void *buf) {
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
static inline void spread(const tra_cell *c, void *out) {
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
static inline void *gather(const tra_type *rows, int64_t ordinal, const char *dense) {
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

static tra_codec codec; /* of files that are written */

static inline tra_status write_stored(const char *spec, const tra_type *t, const char *levels, int every, bool rows,
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

static bool any_digest; /* the digest in a file may be damaged, and is not compared */

/* Reads all, compares with what was written, and the digest with the one that the file carries. */
static inline tra_status read_stored(tra_rel *r, const tra_type *t, int every, tra_err *e) {
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

/* Writes from dense arrays and from rows, and checks that the files are the same and read back as written. */
static inline void round_trip_coded(const tra_type *t, const char *levels, int every) {
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

static inline void round_trip(const tra_type *t, const char *levels, int every) {
    round_trip_coded(t, levels, every);
    codec = (tra_codec){.zstd = true, .level = 1};
    round_trip_coded(t, levels, every);
    codec = (tra_codec){0};
}

#endif
