/* hdf5.c - HDF5 datasets of any chunking as a source, and groups that are sparse tensors (of tra, binsparse, AnnData,
 * 10x); as a target, a relation rewritten for programs without zstd. */
#include "reading.h"
#include "formats.h"

#include "../lib/model/labels.h"
#include "hdf5_groups.h"
#include "settle.h"
#include "visit.h"

#include <stdlib.h>
#include <string.h>

static bool sniff(const unsigned char *head, size_t n) { return n >= 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0; }

/* ---- reading ------------------------------------------------------------------------------------------------- */

typedef struct h5_source {
    tra_view view;
    bool u64;       /* which are delivered as f64 */
    tra_visit walk; /* of blocks of entries */
} h5_source;

static tra_status open_h5(tra_source *s, tra_err *e) {
    if (strcmp(s->spec, "-") == 0)
        return tra_fail(e, TRA_INPUT, "an HDF5 file cannot be read from a stream: give its name");
    tra_rel *rel;
    TRA_TRY(tra_rel_open(s->spec, NULL, &rel, e));
    if (tra_rel_type(rel)->columns) {
        tra_rel_close(rel);
        return tra_fail(
            e, TRA_INPUT,
            "%s is a table, which programs read in place: input T from \"%s\"; output T to another file copies it",
            s->spec, s->spec);
    }
    h5_source *h = tra_new(s->arena, h5_source);
    tra_view *v = &h->view;
    tra_status status = tra_view_open(v, rel, s->spec, e);
    if (status != TRA_OK) {
        tra_rel_close(rel);
        return status;
    }
    s->state = h;
    s->shape = v->shape;
    h->u64 = s->o.has_dtype && tra_dtype_is_float(s->o.dtype) && tra_rel_keep_u64(rel);
    s->dtype = h->u64 ? TRA_F64 : tra_rel_type(rel)->dtype;
    s->access = TRA_ACCESS_BOX;
    s->grain = v->chunk;
    status = tra_rel_labels(rel, &s->labels, e);
    if (status != TRA_OK) {
        tra_view_close(v);
        tra_rel_close(rel);
        return status;
    }
    s->box_scratch = (v->array_bytes + 64) / 64 * 64 + v->scratch_bytes + 1;
    s->held = (size_t)tra_rel_held_bytes(rel);
    if (tra_view_sparse(v)) {
        s->access = TRA_ACCESS_ENTRIES;
        s->dtype = s->o.has_dtype ? s->o.dtype : tra_rel_type(rel)->dtype;
        s->most_entries = tra_rel_type(rel)->entries ? tra_type_entries(tra_rel_type(rel)).bound : -1;
        s->least_room = 1;
        s->entries = s->mirrored = 0;
        s->held += v->array_bytes + v->scratch_bytes;
        tra_view_room(v, NULL, NULL);
        h->walk = tra_visit_blocks(v);
    }
    return TRA_OK;
}

static tra_status entries(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e) {
    tra_visit *w = &((h5_source *)s->state)->walk;
    tra_dtype from = tra_rel_type(w->view->rel)->dtype;
    for (*got = 0; *got < room;) {
        char value[8];
        tra_losses loss = {0};
        TRA_TRY(tra_visit_next(w, e));
        if (w->end) return TRA_OK;
        const tra_dims *at = tra_visit_at(w);
        void *data = (void *)(uintptr_t)w->value;
        if (tra_elem_convert(tra_elem_of(from), false, data, s->dtype, value, 1, &loss) >= 0)
            return tra_elem_refuse(s->spec, at, tra_elem_of(from), data, s->dtype, e);
        s->inexact += loss.inexact;
        s->overflow += loss.overflow;
        to[(*got)++] = (tra_item){tra_place_of(p, at->v), tra_number_of(s->dtype, value, 0)};
        s->entries++;
    }
    return TRA_OK;
}

static void close_h5(tra_source *s) {
    h5_source *h = s->state;
    tra_view_close(&h->view);
    tra_rel_close(h->view.rel);
}

static tra_status box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e) {
    int64_t stride[TRA_MAXDIM], n = 0;
    h5_source *h = s->state;
    tra_view *v = &h->view;
    tra_strides(count, stride);
    tra_view_room(v, s->box_room, (char *)s->box_room + (v->array_bytes + 64) / 64 * 64);
    v->held = -1; /* others may have used the room since */
    TRA_TRY(tra_view_box(v, start, count, buf, stride, e));
    tra_losses loss = {0};
    if (h->u64 && tra_dims_product(count, &n))
        (void)!tra_elem_convert(TRA_ELEM_U64, false, buf, TRA_F64, buf, n, &loss);
    s->inexact += loss.inexact;
    return TRA_OK;
}

/* ---- rewriting ----------------------------------------------------------------------------------------------- */

static tra_status copy_arrays(tra_rel *rel, tra_writer *w, tra_err *e) {
    tra_status s = TRA_OK;
    void *array = tra_malloc(tra_rel_buffer_bytes(rel) + 1), *out = tra_malloc(tra_writer_scratch_bytes(w) + 1);
    for (int64_t i = 0; i < tra_rel_type(rel)->cat->n && s == TRA_OK; i++) {
        void *in = tra_malloc(tra_rel_scratch_bytes(rel) + 1); /* not kept: filters of HDF5 take as much */
        s = tra_rel_read(rel, i, array, in, e);
        free(in);
        if (s == TRA_OK) s = tra_writer_put(w, i, array, out, e);
    }
    free(array);
    free(out);
    return s;
}

/* A relation of entries: as it is stored. */
static tra_status rewrite_stored(tra_rel *rel, const char *to, const tra_sink_options *o, int64_t memory,
                                 int64_t *bytes, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    const char *storage = tra_rel_info(rel)->storage;
    tra_levels levels;
    if (o->gzip) return tra_fail(e, TRA_USAGE, "--gzip compresses plain arrays, and this relation is stored by levels");
    TRA_TRY(tra_levels_parse(storage ? storage : "coo", t->cat->bound.n, &levels, e));
    size_t bytes_held = tra_rel_buffer_bytes(rel), bytes_scratch = tra_rel_scratch_bytes(rel);
    int64_t room = (int64_t)(bytes_held + bytes_scratch);
    int64_t fixed = tra_rel_held_bytes(rel) + tra_store_index_bytes(t->cat) + tra_settle_held(t->cat->n, &levels);
    TRA_TRY(tra_buffer_check(memory, fixed + 2 * room, e));
    tra_settle *settle = NULL;
    tra_settled made;
    const tra_dim_labels *const *labels;
    TRA_TRY(tra_rel_labels(rel, &labels, e));
    TRA_TRY(tra_settle_begin(to, t, &levels, NULL, tra_rel_info(rel)->history, labels, 1, &settle, e));
    void *block = aligned_alloc(TRA_CELL_ALIGN, (bytes_held / TRA_CELL_ALIGN + 1) * TRA_CELL_ALIGN);
    void *scratch = aligned_alloc(TRA_CELL_ALIGN, (bytes_scratch / TRA_CELL_ALIGN + 1) * TRA_CELL_ALIGN);
    tra_status s = block && scratch ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        s = tra_rel_read(rel, i, block, scratch, e);
        if (s != TRA_OK) break;
        tra_cell cell = tra_cell_new(t, i, block);
        s = tra_settle_add(settle, 0, i, &cell, tra_cell_bytes(&cell), e);
    }
    free(block);
    free(scratch);
    if (s != TRA_OK) {
        tra_settle_abort(settle);
        return s;
    }
    TRA_TRY(tra_settle_commit(settle, tra_buffer_bytes(memory) - fixed, &made, e));
    *bytes = made.bytes;
    return TRA_OK;
}

static tra_status rewrite(tra_rel *rel, const char *to, const tra_sink_options *o, int64_t memory, int64_t *bytes,
                          tra_err *e) {
    if (strcmp(to, "-") == 0) return tra_fail(e, TRA_USAGE, "an HDF5 file cannot be written to a stream: use -o FILE");
    if (tra_rel_type(rel)->layout) return rewrite_stored(rel, to, o, memory, bytes, e);
    const tra_catalog *cat = tra_rel_type(rel)->cat;
    int64_t array = (int64_t)tra_rel_buffer_bytes(rel);
    int64_t chunk = tra_store_chunk_bytes(tra_rel_type(rel)), scratch = (int64_t)tra_rel_scratch_bytes(rel);
    /* the library holds a chunk, and what a filter makes of it; or a chunk that is padded */
    int64_t more = o->gzip ? tra_max64(scratch, 2 * chunk + chunk / 64) : scratch + chunk;
    more = tra_max64(more, tra_rel_library_bytes(rel)); /* which does not write meanwhile */
    TRA_TRY(tra_buffer_check(memory, 2 * tra_store_index_bytes(cat) + array + more, e));
    const tra_relinfo *info = tra_rel_info(rel);
    tra_writer *w;
    tra_write_options how = {.history = info->history, .gzip = o->gzip};
    TRA_TRY(tra_rel_labels(rel, &how.labels, e));
    TRA_TRY(tra_writer_create(to, tra_rel_type(rel), &how, &w, e));
    tra_status s = copy_arrays(rel, w, e);
    *bytes = tra_writer_stored(w);
    if (s == TRA_OK) return tra_writer_commit(w, info->digest, e);
    tra_writer_abort(w);
    return s;
}

static tra_status prepare_binsparse(tra_sink *k, const char *to, tra_err *e) {
    (void)to;
    return tra_hdf5_group_prepare(k, tra_new(k->arena, tra_hdf5_group_writer), &tra_binsparse_names, e);
}

#define READS                                                                                                          \
    .binary = true, .opens_itself = true, .reads = TRA_OPTIONS(TRA_READS_COMMON), .open = open_h5, .box = box,         \
    .entries = entries, .close = close_h5
const tra_format tra_format_h5ad = {
    .name = "h5ad",
    .says = "AnnData: X, FILE.h5ad:layers/NAME, obs, var, .., with the names of cells and genes",
    .suffixes = ".h5ad",
    READS,
    .prepare = tra_anndata_prepare,
    .begin = tra_anndata_begin,
    .put = tra_anndata_put,
    .entry = tra_hdf5_group_entry,
    .end = tra_anndata_end,
    .discard = tra_anndata_discard,
};

const tra_format tra_format_binsparse = {
    .name = "binsparse",
    .says = "a sparse matrix in HDF5, binsparse",
    .suffixes = ".bsp.h5",
    READS,
    .prepare = prepare_binsparse,
    .begin = tra_hdf5_group_begin,
    .entry = tra_hdf5_group_entry,
    .end = tra_hdf5_group_end,
    .discard = tra_hdf5_group_discard,
};

const tra_format tra_format_h5 = {
    .name = "h5",
    .says = "HDF5: relations of tra, netCDF-4, MATLAB 7.3, loom, 10x; FILE.h5:PATH names one of several",
    .suffixes = ".h5 .hdf5 .hdf .mat .nc .loom",
    READS,
    .sniff = sniff,
    .writes = TRA_OPTIONS(&tra_option_gzip),
    .tables = true,
    .rewrite = rewrite,
};
