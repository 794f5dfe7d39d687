/* stored.c - inputs of random programs that are stored by levels, and levels by drawing. */
#include "generate.h"

#include "../../lib/relation/rows.h"
#include "../../lib/relation/stored.h"

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

/* The block of an array of which these elements are entries. */
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
    char *scratch = aligned_alloc(64, (size_t)tra_stored_scratch(l, tra_catalog_maxfloats(t.cat)) / 64 * 64 + 64);
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
