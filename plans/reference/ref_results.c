/* ref_results.c - results of the reference evaluator: whether a file holds the same, and writing them to files. */
#include "ref_relations.h"
#include "ref_table.h"

#include "../../lib/kernel/program.h"
#include "../../lib/model/rows.h"
#include "../../lib/storage/mapped.h"
#include "../../lib/storage/stored.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

tra_status tra_reference_matches(const tra_ref_rel *r, const tra_type *type, tra_err *e) {
    char has[TRA_DIMTEXT], want[TRA_DIMTEXT], at[TRA_DIMTEXT];
    if (r->table || r->counted) return TRA_OK; /* how many rows there are no type says */
    if (r->dtype != type->dtype)
        return tra_fail(e, TRA_INTERNAL, "the result is %s, its type says %s", tra_dtype_name(r->dtype),
                        tra_dtype_name(type->dtype));
    if (r->sparse != type->sparse)
        return tra_fail(e, TRA_INTERNAL, "the result is %s by type, its type says otherwise",
                        r->sparse ? "sparse" : "dense");
    if (r->n != type->cat->n)
        return tra_fail(e, TRA_INTERNAL, "the result has %" PRId64 " tuples, its type says %" PRId64, r->n,
                        type->cat->n);
    if (r->k != type->cat->frontier.n || r->r != type->cat->bound.n)
        return tra_fail(e, TRA_INTERNAL, "the result has %d keys and rank %d, its type says %d and %d", r->k, r->r,
                        type->cat->frontier.n, type->cat->bound.n);
    for (int64_t i = 0; i < r->n; i++) { /* both ascend */
        tra_dims key, ext;
        tra_catalog_key(type->cat, i, &key);
        tra_catalog_ext(type->cat, i, &ext);
        if (ref_compare_keys(&key, &r->v[i].key))
            return tra_fail(e, TRA_INTERNAL, "tuple %" PRId64 " of the result has the key %s, its type says %s", i,
                            tra_key_text(&r->v[i].key, has), tra_key_text(&key, want));
        if (!tra_dims_eq(&ext, &r->v[i].ext))
            return tra_fail(e, TRA_INTERNAL, "the array of %s is %s, its type says %s", tra_key_text(&key, at),
                            tra_shape_text(&r->v[i].ext, has), tra_shape_text(&ext, want));
    }
    return TRA_OK;
}

/* What writes a result: its writer, the type of which that is, and room for an array and for writing. */
typedef struct filling {
    const tra_ref_rel *r;
    tra_type type;
    const tra_levels *levels;
    const tra_storage *mapping;
    tra_writer *w;
    char *buf;
    void *scratch;
} filling;

/* Of what is sparse by type no zero has a sign. */
static void fill_array(const filling *f, int64_t i) {
    for (int64_t j = 0, m = ref_count(&f->r->v[i].ext); j < m; j++) {
        ref_num v = f->r->v[i].data[j];
        ref_set_element(f->type.dtype, f->buf, j, f->type.sparse && v == 0 ? 0 : v);
    }
}

/* Places of what is stored by levels, which follow from the positions of all tuples. */
static tra_status place_all(const filling *f, tra_err *e) {
    int64_t *counts = tra_calloc((size_t)(f->r->n * f->levels->n) + 1, sizeof *counts);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < f->r->n && s == TRA_OK; i++) {
        tra_cell cell = tra_cell_new(&f->type, i, f->buf);
        fill_array(f, i);
        s = tra_stored_count(f->levels, &f->type.cat->bound, &cell, counts + i * f->levels->n, f->scratch, e);
    }
    if (s == TRA_OK) s = tra_writer_place(f->w, counts, e);
    free(counts);
    return s;
}

/* What is packed for a mapping: the sizes of all tuples, then each. */
static tra_status place_packed(const filling *f, tra_err *e) {
    int n = f->mapping->ncomponents;
    int64_t *sizes = tra_calloc((size_t)(f->r->n * n) + 1, sizeof *sizes);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < f->r->n && s == TRA_OK; i++)
        s = tra_mapping_sizes(f->mapping, &f->type, i, sizes + i * n, e);
    if (s == TRA_OK) s = tra_writer_place(f->w, sizes, e);
    free(sizes);
    return s;
}

static tra_status put_packed(const filling *f, int64_t i, tra_err *e) {
    tra_cell cell = tra_cell_new(&f->type, i, f->buf);
    int64_t entries;
    TRA_TRY(tra_mapping_pack(f->mapping, &f->type, i, &cell, f->scratch, &entries, e));
    return tra_mapping_put(f->w, i, f->scratch, tra_mapping_bytes(f->mapping, &f->type, i), entries, e);
}

static tra_status fill_all(const filling *f, tra_digest *digest, tra_err *e) {
    if (f->levels) TRA_TRY(place_all(f, e));
    if (f->mapping) TRA_TRY(place_packed(f, e));
    for (int64_t i = 0; i < f->r->n; i++) {
        fill_array(f, i);
        tra_digest_array(digest, &f->type, i, f->buf);
        TRA_TRY(f->mapping ? put_packed(f, i, e) : tra_writer_put(f->w, i, f->buf, f->scratch, e));
    }
    return TRA_OK;
}

/* Fills a relation of which only the run tells the rows, in blocks of the rows that there are. */
static tra_status fill_counted(const tra_ref_rel *r, const tra_type *type, const char *spec, const tra_write_options *o,
                               tra_arena *a, tra_writer **out, char digest_text[33], tra_err *e) {
    ref_array whole;
    tra_ref_rel cut;
    tra_type own;
    tra_dims block = type->cat->bound;
    for (int d = 0; d < block.n; d++) block.v[d] = tra_max64(1, block.v[d]);
    TRA_TRY(ref_assemble(r, a, &whole, e));
    if (r->n == 0) { /* no array tells the extents that are known before it runs */
        tra_type_shape(type, &whole.ext);
        for (int d = 0; d < whole.ext.n; d++)
            if (type->bounded & (1u << d)) whole.ext.v[d] = 0;
    }
    TRA_TRY(ref_counted_type(type, &whole.ext, a, &own, e));
    TRA_TRY(ref_in_blocks(&whole, &block, type->dtype, a, &cut, e));
    cut.sparse = r->sparse;
    return tra_reference_fill(&cut, &own, spec, o, a, out, digest_text, e);
}

tra_status tra_reference_fill(const tra_ref_rel *r, const tra_type *type, const char *spec, const tra_write_options *o,
                              tra_arena *a, tra_writer **out, char digest_text[33], tra_err *e) {
    filling f = {.r = r, .type = *type, .levels = o ? o->levels : NULL, .mapping = o ? o->mapping : NULL};
    if (r->table) return ref_table_fill(r->table, type, spec, o, a, out, digest_text, e);
    if (type->bounded) return fill_counted(r, type, spec, o, a, out, digest_text, e);
    f.type.layout = NULL;
    TRA_TRY(tra_reference_matches(r, type, e));
    TRA_TRY(tra_writer_create(spec, &f.type, o, &f.w, e));
    tra_mapping_use use = {.storage = f.mapping};
    if (f.mapping && tra_mapping_measure(type, &use, e) != TRA_OK) {
        tra_writer_abort(f.w);
        return e->status;
    }
    int64_t most = tra_catalog_elements_most(type->cat);
    size_t need = f.levels    ? (size_t)tra_stored_scratch(f.levels, most)
                  : f.mapping ? (size_t)tra_mapping_room(use.largest, most)
                              : tra_writer_scratch_bytes(f.w);
    f.buf = tra_malloc((size_t)tra_type_bytes_largest(&f.type).bound + 1);
    f.scratch = need ? aligned_alloc(4096, (need + 4095) / 4096 * 4096) : NULL;
    tra_status s = need && !f.scratch ? tra_fail(e, TRA_RESOURCE, "no memory to write %s", spec) : TRA_OK;
    tra_digest digest = {0};
    if (s == TRA_OK) s = fill_all(&f, &digest, e);
    free(f.buf);
    free(f.scratch);
    if (s != TRA_OK) {
        tra_writer_abort(f.w);
        return s;
    }
    tra_digest_text(&digest, &f.type, digest_text);
    *out = f.w;
    return TRA_OK;
}
