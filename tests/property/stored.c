/* stored.c - inputs of random programs that are stored by random levels and mappings. */
#include "generate.h"

#include "../../lib/storage/mapped.h"
#include "../../lib/model/rows.h"
#include "../../lib/storage/stored.h"

#include <stdlib.h>
#include <string.h>

bool draw_levels(rng *r, const tra_type *t, tra_levels *out) {
    int n = t->cat->bound.n;
    if (n == 0 || !tra_rows_can(&t->cat->bound)) return false;
    for (int d = 0; d < n; d++)
        if (t->cat->bound.v[d] == 0) return false;
    *out = (tra_levels){.n = n};
    for (int i = 0; i < n; i++) {
        bool below = i > 0 && out->kind[i - 1] != TRA_LEVEL_DENSE;
        out->kind[i] = rng_chance(r, 40) ? TRA_LEVEL_DENSE : TRA_LEVEL_SPARSE;
        if (below && rng_chance(r, 30)) out->kind[i] = TRA_LEVEL_SINGLETON;
        out->order[i] = (int8_t)i;
    }
    if (tra_levels_dense(out)) out->kind[n - 1] = TRA_LEVEL_SPARSE;
    for (int i = n - 1; i > 0 && rng_chance(r, 30); i--) {
        int j = (int)rng_below(r, i + 1);
        int8_t k = out->order[i];
        out->order[i] = out->order[j];
        out->order[j] = k;
    }
    return true;
}

/* The block (rows of entries) of an array, given which of its elements are entries. */
static void *rows_block(const tra_type *t, int64_t ordinal, const char *data, const bool *entry) {
    tra_cell c = tra_cell_new(t, ordinal, NULL);
    size_t size = tra_dtype_size(t->dtype);
    int64_t n, box = tra_rows_box(&c.array.ext), width = c.array.ext.v[c.array.ext.n - 1];
    if (!tra_dims_product(&c.array.ext, &n)) return NULL;
    c.head = aligned_alloc(64, (size_t)(tra_rows_room(t->dtype, box, n) + 63) / 64 * 64);
    tra_rows_maker m = tra_rows_make(&c, box, n);
    for (int64_t i = 0; i < box; i++) {
        tra_rows_open(&m, i);
        for (int64_t j = 0; j < width; j++)
            if (entry[i * width + j])
                memcpy(tra_rows_next(&m, (uint32_t)j), data + (size_t)(i * width + j) * size, size);
        tra_rows_close(&m);
    }
    tra_rows_made(&m);
    return c.head;
}

tra_status write_stored(const char *spec, const tra_type *type, const tra_levels *l, const char *const *data,
                        const bool *const *entry, tra_err *e) {
    tra_type t = *type;
    tra_write_options o = {.levels = l};
    int64_t tuples = t.cat->n, *counts = tra_calloc((size_t)(tuples * l->n) + 1, sizeof *counts);
    void **block = tra_calloc((size_t)tuples + 1, sizeof *block);
    tra_writer *w;
    t.layout = &tra_rows;
    t.sparse = true;
    tra_status s = tra_writer_create(spec, &t, &o, &w, e);
    bool made = s == TRA_OK;
    char *scratch = aligned_alloc(64, (size_t)tra_stored_scratch(l, tra_catalog_elements_most(t.cat)) / 64 * 64 + 64);
    for (int64_t i = 0; i < tuples && s == TRA_OK; i++) {
        block[i] = rows_block(&t, i, data[i], entry[i]);
        tra_cell c = tra_cell_new(&t, i, block[i]);
        s = tra_stored_count(l, &t.cat->bound, &c, counts + i * l->n, scratch, e);
    }
    if (s == TRA_OK) s = tra_writer_place(w, counts, e);
    for (int64_t i = 0; i < tuples && s == TRA_OK; i++) s = tra_writer_put(w, i, block[i], scratch, e);
    for (int64_t i = 0; i < tuples; i++) free(block[i]);
    free(scratch);
    free(block);
    free(counts);
    if (s == TRA_OK) return tra_writer_commit(w, NULL, e);
    if (made) tra_writer_abort(w);
    return s;
}

/* ---- mappings -------------------------------------------------------------------------------------------------- */

/* Entries by their row-major places, in a list of any order; of matrices row by row, or from the last column back;
 * by their coordinates in a hash map. */
static const char *const mappings[3][3] = {
    {"storage mine[m] { int scalar many\nint array at(many)\nreal array v(many)\n"
     "sum(<p, q> in at) {@unique q -> v(p)} }",
     "storage mine[m] { int scalar many\nint array at(many)\nreal array v(many)\n"
     "sum(<p, q> in at) let i = m - 1 - q in {@unique m - 1 - i -> v(p)} }",
     "storage mine[m] { real hashmap h(m)\nsum(<i, a> in h) {@unique i -> a} }"},
    {"storage mine[m, n] { int scalar many\nint array at(many)\nreal array v(many)\n"
     "sum(<p, q> in at) {@unique (q / n, q % n) -> v(p)} }",
     "storage mine[m, n] { int array pos(m + 1)\nint array idx(pos(m))\nreal array v(pos(m))\n"
     "sum(<i, _> in 0:m, <p, j> in idx(pos(i):pos(i + 1))) {@unique (i, n - 1 - j) -> v(p)} }",
     "storage mine[m, n] { real hashmap h(m, n)\nsum(<(i, j), a> in h) {@unique (i, j) -> a} }"},
    {"storage mine[m, n, o] { int scalar many\nint array at(many)\nreal array v(many)\n"
     "sum(<p, q> in at) {@unique (q / (n * o), q / o % n, q % o) -> v(p)} }",
     "storage mine[m, n, o] { int scalar many\nint array at(many)\nreal array v(many)\n"
     "sum(<p, q> in at) let j = q / o in {@unique (j / n, j % n, q % o) -> v(p)} }",
     "storage mine[m, n, o] { real hashmap h(m, n, o)\nsum(<(i, j, k), a> in h) {@unique (i, j, k) -> a} }"}};

typedef struct listing {
    int64_t n, *at; /* places of the entries */
    char *value;
} listing;

/* In row-major order, or from the last back; columns: from the last back in each row. */
static listing list_entries(rng *r, const tra_type *t, const char *data, const bool *entry, bool ordered, bool columns,
                            tra_arena *a) {
    int64_t all = tra_catalog_elements(t->cat), width = t->cat->bound.v[t->cat->bound.n - 1];
    size_t size = tra_dtype_size(t->dtype);
    bool back = !ordered && rng_chance(r, 50);
    listing l = {0, tra_news(a, int64_t, all + 1), tra_arena_alloc(a, (size_t)all * size + 8)};
    for (int64_t k = 0; k < all; k++) {
        int64_t i = back ? all - 1 - k : columns ? k / width * width + width - 1 - k % width : k;
        if (!entry[i]) continue;
        memcpy(l.value + (size_t)l.n * size, data + (size_t)i * size, size);
        l.at[l.n++] = i;
    }
    return l;
}

static tra_elements whole(int64_t n, const int64_t *v) { return (tra_elements){TRA_ELEMENT_I64, n, v}; }

tra_status write_mapped(rng *r, const char *spec, const tra_type *t, const char *data, const bool *entry, tra_arena *a,
                        tra_err *e) {
    const tra_dims *shape = &t->cat->bound;
    int which = (int)rng_below(r, 3), end = 0;
    const char *text = mappings[shape->n - 1][which];
    bool rows = shape->n == 2 && which == 1;
    tra_calc_error why = {0};
    const tra_storage_decl *d = tra_storage_parse(text, (int)strlen(text), 0, a, &end, &why);
    if (!d) return tra_fail(e, TRA_INTERNAL, "%s: %s", text, why.msg);
    tra_storage *s;
    TRA_TRY(tra_storage_make(d, shape->n, 0, NULL, !tra_dtype_is_float(t->dtype), a, &s, e));
    listing l = list_entries(r, t, data, entry, rows || which == 2, rows, a);
    tra_component_data *c = tra_news(a, tra_component_data, s->ncomponents);
    tra_elements value = {tra_element_of(t->dtype), l.n, l.value};
    int64_t *pos = tra_news(a, int64_t, shape->v[0] + 2), width = shape->v[shape->n - 1];
    if (which == 2) {
        for (int k = 0; k < shape->n; k++) {
            int64_t *key = tra_news(a, int64_t, l.n + 1);
            for (int64_t i = 0; i < l.n; i++) {
                tra_dims at;
                tra_unlinear(shape, l.at[i], &at);
                key[i] = at.v[k];
            }
            c[0].key[k] = whole(l.n, key);
        }
        c[0].value = value;
    } else {
        pos[0] = l.n;
        for (int64_t i = 0; i <= shape->v[0] && rows; i++) pos[i] = 0;
        for (int64_t i = 0; i < l.n && rows; i++) pos[l.at[i] / width + 1]++, l.at[i] = width - 1 - l.at[i] % width;
        for (int64_t i = 0; i < shape->v[0] && rows; i++) pos[i + 1] += pos[i];
        c[0].value = whole(rows ? shape->v[0] + 1 : 1, pos);
        c[1].value = whole(l.n, l.at);
        c[2].value = value;
    }
    tra_mapped made = {.storage = s, .component = c};
    tra_write_options o = {.mapped = &made};
    tra_writer *w;
    TRA_TRY(tra_writer_create(spec, t, &o, &w, e));
    return tra_writer_commit(w, NULL, e);
}
